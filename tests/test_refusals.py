"""What cannot be right is an error that names the argument, what it must be and what it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

import d3stats
from d3stats import Trajectories, correct, fit_rounds, planning
from d3stats.counts import ConfusionCounts, RoundCounts
from d3stats.inference import as_pairwise, as_ratings, cohen_kappa, effective_jurors
from d3stats.inference.bias.persona import subset_accuracy
from d3stats.inference.comparison.power import minimum_detectable_effect, plan_comparison, power, sample_size
from d3stats.inference.judges.coefficients import fleiss_cohen_everitt
from d3stats.inference.judges.prediction_powered import prediction_powered_mean
from d3stats.models.bayes.result import Sampling
from d3stats.models.chains.optimum import solve
from d3stats.models.chains.panel_chain import chain_laws, fit_panel_chains
from d3stats.models.chains.process import CountProcess, walk
from d3stats.models.mixtures.result import Information
from d3stats.models.mixtures.rounds import rounds_drift
from d3stats.planning.calibration.moments import check_statistics, moments
from d3stats.planning.calibration.parameters import observe
from d3stats.planning.exact import _copy, _key, evaluate
from d3stats.planning.ledger import audit_shares, over_budget
from d3stats.planning.prices import spending
from d3stats.stopping import Decision, ESCWindow, KSStability, Round, Stops, Unanimity, batch_rounds
from d3stats.worlds import Courtroom, Voter, count_process, simulate_debates

STEP = [[[1.0, 0.0], [0.0, 1.0]]]


def process(**changes: Any) -> CountProcess:
    given: dict[str, Any] = {
        "weights": [1.0],
        "a_is_right": np.array([True]),
        "initial": [[0.3, 0.7]],
        "steps": [STEP],
        "n_rounds": 3,
    }
    return CountProcess(**given | changes)


def votes(**columns: Any) -> pd.DataFrame:
    base = {"item": ["q", "q"], "rater": ["x", "y"], "vote": ["A", "B"]}
    return pd.DataFrame(base | columns)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "weights": (
        lambda: process(weights=[[1.0]]),
        r"weights must have shape \(classes,\); got shape \(1, 1\)",
    ),
    "initial": (lambda: process(initial=[0.3, 0.7]), r"initial must have shape \(1, panel \+ 1\)"),
    "steps": (lambda: process(steps=[[[[1.0]]]]), "steps must have shape"),
    "right": (lambda: process(a_is_right=np.array([1])), "a_is_right must be 1 booleans"),
    "names": (lambda: process(names=("a", "b")), "names must be 1 names; got 2"),
    "negative": (lambda: process(initial=[[-0.3, 1.3]]), "initial must be finite and >= 0; got -0.3"),
    "sum": (
        lambda: process(initial=[[0.3, 0.3]]),
        "initial must sum to 1 over its last axis; got a sum off by 0.4",
    ),
    "step": (lambda: process().step(3), "round_number must be below n_rounds=3; got 3"),
    "policy": (
        lambda: walk(
            count_process(Voter(panel=5), 3), solve(count_process(Voter(panel=3), 3), 0.01).controller
        ),
        "process must have the panel and rounds of the policy",
    ),
    "no process": (lambda: evaluate(Voter(), Unanimity()), "process must be a CountProcess"),
    "batch rule": (
        lambda: evaluate(count_process(Voter(panel=3), 3), KSStability(0.1)),
        "rule must decide each debate by itself",
    ),
    "tokens": (
        lambda: evaluate(count_process(Voter(panel=3), 3), Unanimity(), tokens=[1.0]),
        r"tokens must have one value per round \(3\); got 1",
    ),
    "windows": (
        lambda: evaluate(count_process(Voter(panel=3), 3), ESCWindow(3)),
        "rule must decide by counts to be evaluated exactly",
    ),
    "correlation alone": (
        lambda: power(0.1, 50, discordance=0.3, correlation=0.2),
        "correlation must come with",
    ),
    "correlation": (
        lambda: power(0.1, 50, accuracy=0.7, correlation=1.0),
        r"correlation must lie in \[-1, 1\)",
    ),
    "size_cv": (
        lambda: power(0.1, 50, sd=1.0, cluster_size=3, icc=0.1, size_cv=-1),
        "size_cv must be at least 0",
    ),
    "effect": (
        lambda: minimum_detectable_effect(50, sd=1.0, effect=0.1),
        "effect must be left out if the smallest",
    ),
    "margin": (
        lambda: minimum_detectable_effect(50, sd=1.0, goal="equivalence", margin=0.1),
        "margin must be left out",
    ),
    "small effect": (lambda: sample_size(1e-9, sd=1.0), "effect must be larger"),
    "paired cluster": (
        lambda: plan_comparison(_paired(), 0.1, cluster=[1, 2]),
        "cluster must be left out with paired runs",
    ),
    "pilot": (lambda: plan_comparison([], 0.1), "pilot must be differences, one per item"),
    "ratings round": (
        lambda: as_ratings(as_ratings(votes()), round_number=1),
        "round_number must be left out",
    ),
    "ratings by": (lambda: as_ratings(as_ratings(votes()), by="question"), "by must be left out for ratings"),
    "categories": (
        lambda: as_ratings(votes(vote=[None, None]), categories=[]),
        "categories must be at least one",
    ),
    "round": (
        lambda: as_ratings(Trajectories.from_arrays([[["A", "B"]]], ["A"]), round_number=2),
        "round_number must lie between 1 and 1; got 2",
    ),
    "wide": (
        lambda: as_ratings(pd.DataFrame({"item": ["a"], "label": ["A"]})),
        "a wide table must have a column per rater",
    ),
    "texts": (
        lambda: Round(1, (0, 1), 2, texts=("a",)),
        "texts must have one answer per seat; got 1 texts",
    ),
    "confidence": (lambda: Round(1, (0, 1), 2, confidence=(0.5,)), "confidence must have one value per seat"),
    "tokens of a round": (lambda: Round(1, (0, 1), 2, tokens=-1.0), "tokens must be finite and >= 0"),
    "reasons": (lambda: Stops(np.array([1, 2]), np.array(["a"])), r"reasons must have shape \(2,\)"),
    "batch number": (lambda: replace(batch(), number=0), "number must be >= 1; got number=0"),
    "batch votes": (
        lambda: replace(batch(), votes=np.zeros(2, np.int32)),
        r"votes must have shape \(debates, seats\)",
    ),
    "batch label": (
        lambda: replace(batch(), label=np.zeros(1, np.int32)),
        "label must have one value per debate",
    ),
    "shares": (
        lambda: over_budget([], 3),
        "shares must hold the audit share of at least one stage; got none",
    ),
    "share": (lambda: over_budget([1.5], 3), "shares must lie above 0 and at most at 1; got 1.5"),
    "stages": (
        lambda: d3stats.Ledger(n=1000, eps=0.05).shares,
        "stages must be given to know the audit shares",
    ),
    "powered kind": (
        lambda: prediction_powered_mean([1, 0, 1], [1, None, 0], chance=[0.5] * 3, kind="MOVER"),
        "kind must be left out with chances of labels",
    ),
    "powered MOVER": (
        lambda: prediction_powered_mean([3, 7, 5, 4, 2], [3, 6, 5, None, None], kind="MOVER"),
        "kind must not be 'MOVER' unless labels are 0 or 1",
    ),
    "sampling": (lambda: Sampling._of(None, {"nothing": 1}), "options of sampling must be among"),
    "no sampling": (lambda: Sampling._of(3, {}), "sampling must be a Sampling; got int"),
    "binomial": (
        lambda: Information(np.array([0.5, 0.0]), np.eye(2), 1).alpha_beta_covariance(),
        "alpha and beta need rho > 0 in every component",
    ),
    "rise": (lambda: audit_shares(5, 0.1, 3, rise=0.0), "rise must lie above 0 and at most at 1"),
    "chain votes": (lambda: fit_panel_chains([[1]]), r"votes must have shape \(debates, rounds, seats\)"),
    "chain values": (lambda: fit_panel_chains([[[2]]]), "votes must be 1, 0 or -1"),
    "chain debates": (
        lambda: fit_panel_chains([[[1], [1]]]),
        "votes must hold at least 2 debates with a vote; got 1",
    ),
    "chain moves": (
        lambda: fit_panel_chains([[[1]], [[0]]]),
        "a seat that votes in two successive rounds; got none",
    ),
    "theta": (lambda: chain_laws(np.zeros(5), panel=3, n_rounds=2), "theta must have"),
    "optimum cost": (lambda: solve(count_process(Voter(panel=3), 3), -0.1), "cost must be finite and >= 0"),
    "drift cluster": (
        lambda: rounds_drift(np.ones((3, 1), int), np.full((3, 1), 3), [1, 2]),
        r"cluster must have one value per debate \(3\); got 2",
    ),
    "drift questions": (
        lambda: rounds_drift(np.ones((3, 1), int), np.full((3, 1), 3), [1, 1, 1]),
        "cluster must hold at least 2 questions",
    ),
    "drift rounds": (
        lambda: rounds_drift(np.ones((3, 1), int), np.full((3, 1), 3), fit=fit_rounds(two_rounds())),
        r"fit must have one fit per round \(1\); got 2",
    ),
    "fit of an array": (
        lambda: fit_rounds(np.ones((3, 2))),
        "rounds must be a RoundCounts or a log; got ndarray",
    ),
    "pairs shape": (lambda: replace(pairs(), first=np.array([0])), "must have shape"),
    "pairs codes": (lambda: replace(pairs(), first=np.array([7, 0])), "must be codes into 2 names; got 7"),
    "pairs outcome": (lambda: replace(pairs(), outcome=np.array([5, 0])), "outcome must be 1, 0 or -1"),
    "pairs names": (lambda: pairs().of(["nil"]), "contestants must be among 'x', 'y'; got 'nil'"),
    "kappa b": (
        lambda: cohen_kappa(ConfusionCounts(("A", "B"), np.array([[3, 1], [1, 3]])), cluster=[1]),
        "b and cluster must be left out with ConfusionCounts",
    ),
    "cells": (
        lambda: fleiss_cohen_everitt([[0, 0], [0, 0]]),
        "cells must be a square table of counts, not all 0",
    ),
    "one cell": (lambda: fleiss_cohen_everitt([[3, 0], [0, 0]]), "cells must have chance agreement below 1"),
    "kappa cluster": (
        lambda: cohen_kappa(as_ratings(votes()), cluster=[1, 2]),
        "cluster must come with two vectors",
    ),
    "kappa clusters": (
        lambda: cohen_kappa(list("AABB"), list("ABAB"), cluster=[1, 2]),
        r"cluster must have one value per item \(4\); got 2",
    ),
    "strata": (lambda: d3stats.compare(log(), log(), strata=3), "strata must be the name of a column"),
    "no strata": (
        lambda: d3stats.compare(log(), log(), strata={}),
        "strata must give the stratum of some item",
    ),
    "margin and limit": (
        lambda: d3stats.compare(log(), log()).gate(at_least=0.1, at_most=0.2),
        "exactly one of at_least and at_most",
    ),
    "no labels": (lambda: effective_jurors(votes()), "ratings must have labels"),
    "courtroom": (
        lambda: simulate_debates(Courtroom(panel=3, protocol="d3"), 4, 1, rng=1),
        "n_rounds must be at least 2",
    ),
    "prices": (lambda: spending(log(), (1.0, 2.0)), "log must have tokens to compute its cost"),
    "personas": (lambda: subset_accuracy(np.zeros(3), 1), r"correct must have shape \(items, personas\)"),
    "correct": (lambda: subset_accuracy(np.full((2, 2), 0.5), 1), "correct must be 0 or 1 throughout"),
    "size": (
        lambda: subset_accuracy(np.ones((2, 2)), 3),
        r"size must be <= the number of personas \(2\); got 3",
    ),
}


def log() -> Trajectories:
    return Trajectories.from_arrays([[["A", "B"]], [["B", "B"]], [["A", "A"]]], ["A", "B", "A"])


def batch() -> Any:
    (first,) = batch_rounds(Trajectories.from_arrays([[["A", "B"]], [["B", "B"]]], ["A", "B"]))
    return first


def two_rounds() -> RoundCounts:
    return RoundCounts.from_columns([1, 1, 2, 2], [0, 1, 1, 2], [2] * 4)


def pairs() -> Any:
    rows = [("q1", "x", "y", "first"), ("q1", "y", "x", "tie")]
    return as_pairwise(pd.DataFrame(rows, columns=["item", "first", "second", "winner"]))


def _paired() -> Any:
    return SimpleNamespace(
        values=np.array([[0, 1, 1], [1, 1, 1]]), names=("a", "b"), cluster=[0, 1, 2], binary=True
    )


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_by_name(what: str) -> None:
    call, message = REFUSED[what]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_paired_runs_are_a_pilot_and_few_questions_say_little() -> None:
    plan = plan_comparison(_paired(), 0.1)
    notes = " ".join(plan.notes)
    assert "planned for b minus a" in notes
    assert "a pilot of 3 questions says little" in notes
    assert "only 1 item on which the runs differ" in notes


@dataclass
class Held:
    rule: Any
    seen: Any


def test_a_copied_state_is_apart_from_the_first_and_equal_in_what_it_remembers() -> None:
    state = Held(
        Unanimity(),
        {
            "array": np.arange(3),
            "queue": deque([1, 2]),
            "set": {1, 2},
            "fixed": (1, frozenset({2})),
            "said": Decision(True, "x"),
            "other": SimpleNamespace(n=1, flag=True, nothing=None),
        },
    )
    other = _copy(state)
    assert _key(other) == _key(state)
    other.seen["array"][0] = 9
    other.seen["queue"].append(3)
    other.seen["set"].add(3)
    other.seen["other"].n = 2
    assert state.seen["array"].tolist() == [0, 1, 2]
    assert (len(state.seen["queue"]), len(state.seen["set"]), state.seen["other"].n) == (2, 2, 1)
    assert _key(other) != _key(state)
    assert _key(1) != _key(True)
    alone = object()
    assert _key(alone) == id(alone)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("scored", [True, False])
def test_moments_without_labels_leave_out_what_needs_them(labelled: bool, scored: bool) -> None:
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 2, size=(20, 3, 5))
    log = Trajectories.from_arrays(
        drawn,
        rng.integers(0, 2, 20) if labelled else None,
        answers=["A", "B"],
        scores=rng.integers(1, 10, size=(20, 3, 2)) if scored else None,
        sides=("A", "B") if scored else (),
    )
    seen = observe(Courtroom(panel=5) if scored else Voter(panel=5), log)
    names = {key[0] for key in [*moments(seen, 5.0), *check_statistics(seen)]}
    assert ("mean share" in names) == ("majority" in names) == ("cubed share" in names) == labelled
    assert ("mean gap" in names) == ("mean score" in names) == scored
    assert ("gap towards the label" in names) == (labelled and scored)


def scored_log(aspects: bool, sides: bool) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    n = 24
    base = pd.DataFrame(
        {"debate": [f"d{k // 2}" for k in range(n)], "round": 1, "agent": ["x", "y"] * (n // 2)}
    )
    base = base.assign(vote="A", label="A")
    if not aspects:
        points = {f"score_{side}": rng.integers(1, 11, n) for side in ("AB" if sides else "A")}
        return base.assign(**points)
    two = [{"merit": float(rng.integers(1, 11)), "style": float(rng.integers(1, 11))} for _ in range(n)]
    return base.assign(
        scores=[{"A": one, "B": {"merit": 4.0, "style": 5.0}} if sides else {"A": one} for one in two]
    )


@pytest.mark.parametrize(("aspects", "sides"), [(True, True), (False, True), (True, False)])
def test_scores_of_every_form_have_a_figure(aspects: bool, sides: bool) -> None:
    assert isinstance(planning.scores(scored_log(aspects, sides)).plot(), Axes)


def judged(kind: str) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    truth = (
        rng.integers(1, 11, 400)
        if kind == "scores"
        else rng.choice(list("ABC" if kind == "three" else "AB"), 400)
    )
    wrong = rng.random(400) < 0.15
    judge = np.where(wrong, np.roll(truth, 1), truth)
    frame = pd.DataFrame({"judge": judge, "label": truth, "question": np.arange(400) // 2})
    frame["label"] = frame["label"].astype(object).where(np.arange(400) < 120, None)
    return frame if kind == "clusters" else frame.drop(columns="question")


@pytest.mark.parametrize("kind", ["scores", "three", "two", "clusters"])
@pytest.mark.parametrize("width", [None, 0.5, 0.05, 0.001])
def test_a_width_has_its_labels_in_the_headline_and_in_a_table(kind: str, width: float | None) -> None:
    found = correct(judged(kind), width=width)
    titles = list(found._shown())
    assert len(titles) == 1 if width is None else any("Labels for an interval" in title for title in titles)
    if width is None:
        assert "With the judge" in found.headline or "It rests on" in found.headline
    elif width == 0.5 and kind != "scores":
        assert "are there" in found.headline
    else:
        assert "more" in found.headline
    assert found.to_latex().startswith(r"\begin{tabular}")


def test_labels_of_some_verdicts_only_are_told() -> None:
    frame = judged("two")
    frame.loc[::7, "judge"] = None
    assert any("without a verdict of judge left out" in note for note in correct(frame).notes)
    with pytest.raises(ValueError, match="no right answer in 400 items"):
        correct(frame.assign(label=None))
