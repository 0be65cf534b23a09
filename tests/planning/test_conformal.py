"""Conformal risk control: its guarantee is a mean over an exchangeable bag, so a bag can be gone through whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats.planning import conformal_risk_control
from d3stats.planning.risk import losses_of_rules
from d3stats.stopping import FullDepth, from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, Voter, simulate_debates

FAMILY = ["supermajority:1.0", "supermajority:0.85", "supermajority:0.7", "supermajority:0.5"]


def of_questions(log: Trajectories, questions: np.ndarray) -> Trajectories:
    """Return a log whose debates belong to the questions given."""
    numbered = np.unique(questions, return_inverse=True)[1].astype(np.int64)
    names = tuple(f"{k}" for k in range(numbered.max() + 1))
    return replace(log, cluster=numbered, cluster_names=names, questions=())


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 20),
    limit=st.sampled_from([0.05, 0.1, 0.25, 0.5]),
    target=st.sampled_from(["agreement", "accuracy"]),
    family=st.permutations(FAMILY),
    shared=st.booleans(),
)
def test_the_mean_over_every_question_of_a_bag_as_the_next_one_is_within_the_limit(
    seed: int, n: int, limit: float, target: str, family: list[str], shared: bool
) -> None:
    """Whatever the bag, the order of the family, ties and questions of several debates: this is the theorem."""
    rng = np.random.default_rng(seed)
    log = simulate_debates(Voter(panel=5), n_debates=n, n_rounds=5, rng=rng)
    if shared:
        log = of_questions(log, np.concatenate([[0, 1], rng.integers(0, max(2, n // 2), n - 2)]))
    questions = np.unique(log.cluster)
    lost = []
    for one in questions:
        found = conformal_risk_control(
            log.select(np.flatnonzero(log.cluster != one)),
            family,
            max_loss_vs_full=limit,
            target=target,  # type: ignore[arg-type]
        )
        rest = log.select(np.flatnonzero(log.cluster == one))
        losses = losses_of_rules(rest, [found.rule], target, "units", gains=False)  # type: ignore[arg-type]
        lost.append(losses.sums.mean())
    assert np.mean(lost) <= limit + 1e-12


def test_the_bound_is_that_of_the_theorem_computed_from_votes() -> None:
    log = simulate_debates(Conformity(panel=5), n_debates=120, n_rounds=6, rng=4)
    table = conformal_risk_control(log, FAMILY, max_loss_vs_full=0.2).to_frame()
    final = log.verdicts()[:, -1]
    worst = np.zeros(len(log))
    for j, name in enumerate(FAMILY):
        at = from_text(name).stop_rounds(log).rounds - 1
        flips = (log.verdicts()[np.arange(len(log)), at] != final).astype(float)
        worst = np.maximum(worst, flips)
        assert table["risk"][j] == pytest.approx(flips.mean())
        assert table["bound"][j] == pytest.approx((worst.sum() + 1) / (len(log) + 1))
    assert table["chosen"].sum() == 1
    assert table["within"].tolist() == sorted(table["within"], reverse=True)


def test_gained_verdicts_do_not_make_up_for_lost_ones() -> None:
    log = simulate_debates(Voter(panel=5), n_debates=150, n_rounds=6, rng=7)
    table = conformal_risk_control(log, ["fixed:1"], max_loss_vs_full=0.5, target="accuracy").to_frame()
    right = log.verdicts() == log.label[:, None]
    assert table["risk"][0] == pytest.approx((right[:, -1] & ~right[:, 0]).mean())
    assert (right[:, 0] & ~right[:, -1]).any()


def test_too_few_questions_are_said_and_nothing_is_chosen() -> None:
    log = simulate_debates(Voter(panel=3), n_debates=18, n_rounds=3, rng=1)
    found = conformal_risk_control(log, ["fixed:3"], max_loss_vs_full=0.05)
    assert isinstance(found.rule, FullDepth)
    assert found.bound == 0
    assert any("needs at least 19 questions" in note for note in found.notes)
    enough = simulate_debates(Voter(panel=3), n_debates=19, n_rounds=3, rng=1)
    assert str(conformal_risk_control(enough, ["fixed:3"], max_loss_vs_full=0.05).rule) == "fixed:3"


def test_what_cannot_be_judged_is_refused() -> None:
    log = simulate_debates(Voter(panel=3), n_debates=20, n_rounds=3, rng=1)
    unlabelled = replace(log, label=np.full_like(log.label, -1))
    with pytest.raises(ValueError, match="target must be 'agreement' on debates without labels"):
        conformal_risk_control(unlabelled, ["fixed:1"], max_loss_vs_full=0.2, target="accuracy")
    with pytest.raises(ValueError, match="must decide each debate by itself"):
        conformal_risk_control(log, ["ks"], max_loss_vs_full=0.2)
    for limit in (0.0, 1.0, -0.1, np.nan):
        with pytest.raises(ValueError, match="max_loss_vs_full must"):
            conformal_risk_control(log, ["fixed:1"], max_loss_vs_full=limit)


def test_a_family_that_goes_from_early_to_late_is_warned_of() -> None:
    pilot = simulate_debates(Voter(panel=7), n_debates=200, n_rounds=10, rng=1)
    family = ["supermajority:1.0", "supermajority:0.85", "supermajority:0.7"]
    right, turned = (
        conformal_risk_control(pilot, rules, max_loss_vs_full=0.15) for rules in (family, family[::-1])
    )
    assert not any("from late to early" in note for note in right.notes)
    said = next(note for note in turned.notes if "from late to early" in note)
    assert said.startswith("WARNING: 2 rules of the family stop later")
    assert "supermajority:0.85" in said
    table = turned.to_frame()
    chosen = table[table["chosen"]]
    # The limit holds all the same.
    assert chosen.empty or (chosen["bound"] <= 0.15).all()
