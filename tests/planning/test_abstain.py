"""Verdicts with weak majorities are withheld: the frontier is the exact one, and the guarantee holds."""

from __future__ import annotations

import json
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from layers import covering, examples, sampled
from scipy.special import bdtr
from scipy.stats import betabinom, binom, multinomial
from typer.testing import CliRunner

import d3stats
from d3stats.cli import app
from d3stats.planning.abstain import Abstention, abstain, p_values
from d3stats.planning.risk import certified_rules
from d3stats.trajectories import Trajectories
from d3stats.worlds import Voter, simulate_debates

RIGHT, WRONG = 0, 1


def log_of(right: Any, panel: int, cluster: Any = None, **more: Any) -> Trajectories:
    """Make debates of one round in which so many of the panel vote for the right answer."""
    votes = np.where(np.arange(panel) < np.asarray(right)[:, None], RIGHT, WRONG)[:, None, :]
    label = more.pop("label", np.zeros(len(votes), int))
    return Trajectories.from_arrays(votes, label, answers=["right", "wrong"], cluster=cluster, **more)


def exact(panel: int, accuracy: float, precision: float) -> dict[int, tuple[float, float]]:
    """Return share kept and error at each number of votes, from the Beta-Binomial law of the right ones."""
    right = np.arange(panel + 1)
    law = betabinom(panel, accuracy * precision, (1 - accuracy) * precision).pmf(right)
    lead = np.maximum(right, panel - right)
    kept = {k: law[lead >= k].sum() for k in range(panel // 2 + 1, panel + 1)}
    return {k: (kept[k], law[(lead >= k) & (right < panel - right)].sum() / kept[k]) for k in kept}


@sampled("panel, accuracy, precision", [(7, 0.8, 4.0), (5, 0.65, 2.0), (3, 0.95, 8.0)], (1,))
def test_coverage_and_error_of_50000_debates_are_those_of_the_exact_law(
    panel: int, accuracy: float, precision: float
) -> None:
    n = 50_000
    world = Voter(panel=panel, accuracy=accuracy, precision=precision)
    table = abstain(simulate_debates(world, n, 1, rng=3)).to_frame().set_index("votes")
    for k, (kept, error) in exact(panel, accuracy, precision).items():
        row = table.loc[f"{k} of {panel}"]
        assert abs(row["kept"] - kept) <= 4 * np.sqrt(kept * (1 - kept) / n) + 1e-12
        assert abs(row["error"] - error) <= 4 * np.sqrt(error * (1 - error) / (n * kept))


@covering(
    law=[
        (0.30, 0.0335, 0.55, 0.1165),
        (0.50, 0.10, 0.35, 0.05),
        (0.05, 0.006, 0.80, 0.144),
        (0.89, 0.0, 0.0, 0.11),
        (0.0, 0.0, 0.89, 0.11),
    ],
    order=["given", "none"],
)
def test_the_guarantee_is_broken_with_at_most_its_probability_by_enumeration(
    law: tuple[float, ...], order: Any
) -> None:
    """Panels of three: unanimous and right, unanimous and wrong, two of three and right, two of three and wrong."""
    n, max_error, delta = 40, 0.1, 0.1
    true = np.array([law[1] / max(law[0] + law[1], 1e-12), law[1] + law[3]])
    every = np.indices((n + 1,) * 3).reshape(3, -1).T
    every = every[every.sum(axis=1) <= n]
    counts = np.column_stack([every, n - every.sum(axis=1)])
    chance = multinomial.pmf(counts, n, law)
    counts, chance = counts[chance > 1e-9], chance[chance > 1e-9]
    p = bdtr(
        np.column_stack([counts[:, 1], counts[:, 1] + counts[:, 3]]),
        np.column_stack([counts[:, 0] + counts[:, 1], np.full(len(counts), n)]),
        max_error,
    )
    broken = sum(
        weight
        for each, weight in zip(p, chance, strict=True)
        if (certified_rules(each, delta, order)[1] & (true > max_error)).any()
    )
    assert broken <= delta
    # What is enumerated is what the package computes.
    at = int(np.argmax(chance))
    kinds = np.repeat(np.arange(4), counts[at])
    wrong, kept = (kinds % 2 == 1)[:, None], np.column_stack([kinds < 2, kinds < 4])
    method, _, of_package = p_values(wrong & kept, kept, np.arange(n), max_error)
    assert method == "binomial"
    assert of_package == pytest.approx(p[at], abs=1e-12)


def hostile(kind: str, rng: np.random.Generator) -> tuple[Any, Any, float]:
    """Return which labelled debates are wrong, their questions, and a limit just below the true error."""
    if kind == "ten debates a question, all alike":
        return np.repeat(rng.random(70) < 0.21, 10), np.repeat(np.arange(70), 10), 0.2
    if kind == "one question has most of the debates":
        question = np.repeat(np.arange(100), [400, *[1] * 99])
        return (rng.random(100) < 0.21)[question], question, 0.2
    if kind == "rare errors":
        return rng.random(300) < 0.0105, np.arange(300), 0.01
    question = np.repeat(np.arange(5), rng.permutation([1, 1, 2, 3, 8]))
    return (rng.random(5) < 0.41)[question], question, 0.4


def broken(kind: str, order: Any, *, clustered: bool = True, n: int = 1000) -> float:
    """Return how often a threshold is certified although none should be; wrong verdicts are kept at both or at one."""
    count = 0
    for seed in range(n):
        rng = np.random.default_rng([7, seed])
        wrong, question, limit = hostile(kind, rng)
        # Which verdicts the stricter threshold keeps is a coin for each question.
        strict = (rng.random(question.max() + 1) < 0.6)[question]
        kept = np.column_stack([strict, np.ones(len(wrong), bool)])
        p = p_values(wrong[:, None] & kept, kept, question if clustered else np.arange(len(wrong)), limit)[2]
        count += bool(certified_rules(p, 0.1, order)[1].any())
    return count / n


@covering(kind=[
    "ten debates a question, all alike", "one question has most of the debates", "rare errors", "five questions",
], order=["given", "none"])  # fmt: skip
@examples(150, 1000, "n")
def test_the_guarantee_holds_in_hostile_cells(kind: str, order: Any, n: int) -> None:
    assert broken(kind, order, n=n) <= 0.1 + 3 * np.sqrt(0.09 / n)


def test_a_test_that_takes_debates_as_independent_would_break_the_guarantee() -> None:
    assert broken("ten debates a question, all alike", "given", clustered=False, n=300) > 0.2


def test_ties_are_verdicts_of_half_of_the_panel() -> None:
    rng = np.random.default_rng(2)
    votes = np.zeros((120, 1, 4), int)
    votes[rng.random(120) < 0.1] = WRONG
    # A tie goes to the lowest seat.
    votes[60:, 0, 2:] = 1 - votes[60:, 0, :1]
    found = abstain(
        Trajectories.from_arrays(votes, np.zeros(120, int), answers=["right", "wrong"]), max_error=0.3
    )
    assert found.to_frame()[["votes", "kept"]].values.tolist() == [["4 of 4", 0.5], ["2 of 4", 1.0]]


@examples(30, 150, "reps")
def test_the_guarantee_holds_where_many_debates_are_tied(reps: int) -> None:
    """Panels of four whose votes are right with .6: ties are three in ten debates, and half of them are wrong."""
    strictest = 0.4**4 / (0.4**4 + 0.6**4)
    broken = 0
    for seed in range(reps):
        rng = np.random.default_rng([3, seed])
        votes = (rng.random((100, 1, 4)) < 0.4).astype(int)
        log = Trajectories.from_arrays(votes, np.zeros(100, int), answers=["right", "wrong"])
        found = abstain(log, max_error=strictest - 1e-6)
        broken += found.threshold is not None
    assert broken / reps <= 0.1 + 3 * np.sqrt(0.09 / reps)
    assert found.to_frame()["votes"].tolist() == ["4 of 4", "3 of 4", "2 of 4"]
    assert found.to_frame()["kept"].iloc[-1] == 1.0


def test_verdicts_are_withheld_as_the_headline_says() -> None:
    right = np.repeat([7, 6, 5, 4, 3, 0], [300, 100, 40, 30, 20, 2])
    found = abstain(log_of(right, 7))
    assert found.method == "binomial"
    rows = found.to_frame()
    assert rows["votes"].tolist() == ["7 of 7", "6 of 7", "5 of 7", "4 of 7"]
    assert rows["n_wrong"].tolist() == [2, 2, 2, 22]
    # 22 of 492 are wrong, and P(Bin(492, .05) <= 22) = .33.
    assert rows["p_value"].iloc[-1] == pytest.approx(binom.cdf(22, 492, 0.05))
    assert rows["certified"].tolist() == [True, True, True, False]
    assert found.threshold == pytest.approx(5 / 7)
    assert found.headline == (
        "Withhold verdicts with fewer than 5 of 7 votes: 90 % of verdicts kept, error at most 5 % with 90 % confidence "
        "(estimate 0.5 %)."
    )
    assert abstain(log_of(right, 7), max_error=0.1).headline.startswith(
        "Withhold no verdict: 100 % of verdicts kept, "
    )


def test_what_withheld_debates_cost_is_paid_by_the_verdicts_that_are_kept() -> None:
    right = np.repeat([3, 2, 1], [60, 30, 10])
    tokens = np.where(right == 3, 100.0, 1000.0)[:, None]
    row = abstain(log_of(right, 3, tokens=tokens), max_error=0.2).to_frame().iloc[0]
    assert row["tokens"] == pytest.approx(tokens.sum() / 60)
    assert row["tokens_low"] < row["tokens"] < row["tokens_high"]
    assert row["rounds"] == pytest.approx(100 / 60)


def test_debates_without_label_count_in_what_is_kept_alone() -> None:
    right = np.repeat([3, 2, 3], [60, 30, 10])
    label = np.repeat([0, -1], [90, 10])
    found = abstain(log_of(right, 3, label=label), max_error=0.2)
    row = found.to_frame().iloc[0]
    assert (row["kept"], row["n_kept"], found.n_labelled) == (pytest.approx(0.7), 60, 90)
    assert any("10 of 100 debates have no label" in note for note in found.notes)


def test_a_missing_vote_is_no_vote_for_the_verdict() -> None:
    votes = [[["A", "A", None]], [["A", "A", "A"]], [["A", "B", "A"]], [[None, None, None]]]
    found = abstain(Trajectories.from_arrays(votes, ["A"] * 4), max_error=0.5)
    assert found.to_frame()[["votes", "kept"]].values.tolist() == [["3 of 3", 0.25], ["2 of 3", 0.75]]
    assert any("1 of 4 debates have no verdict by votes; they count as withheld." in x for x in found.notes)


def test_panels_of_several_sizes_have_thresholds_in_percent() -> None:
    votes = np.full((60, 1, 5), RIGHT)
    votes[30:, :, 3:] = -1
    log = Trajectories.from_arrays(
        votes, np.zeros(60, int), answers=["right", "wrong"], panel=np.repeat([5, 3], 30)
    )
    assert abstain(log).to_frame()["votes"].tolist() == ["100 %"]


def test_a_rule_s_verdicts_are_those_at_its_stop() -> None:
    log = simulate_debates(Voter(panel=5, accuracy=0.9), 200, 3, rng=1)
    first = abstain(log, rule="fixed:1").to_frame()
    alone = abstain(Trajectories.from_arrays(log.votes[:, :1], log.label, answers=log.answers)).to_frame()
    columns = ["votes", "kept", "error", "n_wrong"]
    assert first[columns].equals(alone[columns])
    assert abstain(log, rule="full").to_frame()[columns].equals(abstain(log).to_frame()[columns])
    assert "under fixed:1" in abstain(log, rule="fixed:1").summary()


@pytest.mark.slow
def test_the_number_of_labels_that_would_do_gives_the_guarantee_in_four_of_five_logs() -> None:
    limit = 0.04
    found = abstain(log_of(np.repeat([3, 0, 2], [88, 2, 10]), 3), max_error=limit)
    assert found.threshold is None
    assert found.needed is not None
    assert "labelled debates of as many questions would do" in found.headline

    def chance(n: int) -> float:
        """The chance of the guarantee with so many kept verdicts, of which 2 in 90 are wrong."""
        allowed = [k for k in range(n) if binom.cdf(k, n, limit) <= 0.1]
        return float(binom.cdf(max(allowed), n, 2 / 90)) if allowed else 0.0

    needed = round(0.9 * found.needed)
    assert chance(needed) >= 0.79
    assert max(map(chance, range(1, int(0.9 * needed)))) < 0.8


def test_what_cannot_be_guaranteed_is_said_with_its_reason() -> None:
    weak = abstain(log_of(np.repeat([3, 0], [80, 20]), 3))
    assert weak.threshold is None
    assert weak.needed is None
    assert weak.headline == (
        "An error of at most 5 % cannot be guaranteed with 90 % confidence: at 3 of 3 votes it is 20 % [13, 29], and "
        "more such debates would not help."
    )
    few = abstain(log_of(np.repeat([3, 2], [10, 200]), 3))
    assert any('order="none"' in note and "45 are needed" in note for note in few.notes)
    assert abstain(log_of(np.repeat([3, 2], [10, 200]), 3), order="none").threshold == pytest.approx(
        2 / 3, abs=1e-9
    )


@pytest.mark.parametrize(("asked", "message"), [
    ({"max_error": 0.0}, "max_error"), ({"max_error": 5}, "max_error"), ({"confidence": 1.0}, "confidence"),
    ({"level": 0.0}, "level"), ({"order": "split"}, "order"), ({"rule": "hu2025"}, "decide each debate by itself"),
    ({"rule": "ladder:9-9"}, "ladder"),
])  # fmt: skip
def test_what_cannot_be_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        abstain(simulate_debates(Voter(panel=3), 30, 2, rng=1), **asked)


def test_logs_without_labels_votes_or_ends_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0 labels in 2 debates"):
        abstain(Trajectories.from_arrays([[["A", "A"]], [["A", "B"]]]))
    with pytest.raises(ValueError, match="a debate with a verdict by votes; got none"):
        abstain(Trajectories.from_arrays([[[None, None]]], ["A"]))
    short = Trajectories.from_arrays(
        np.zeros((3, 2, 2), int),
        np.zeros(3, int),
        answers=["A", "B"],
        depth=[2, 2, 2],
        stopped_by_rule=[True, False, False],
    )
    with pytest.raises(ValueError, match="would continue in 1 of 3 debates"):
        abstain(short, rule="full")
    assert isinstance(abstain(short), Abstention)


@pytest.mark.usefixtures("computed_once")
def test_the_command_says_what_the_function_says() -> None:
    done = CliRunner().invoke(app, ["abstain", "gemma-alone", "--max-error", "0.2", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    found = d3stats.abstain("gemma-alone", max_error=0.2)
    assert document["headline"] == found.headline
    assert document["threshold"] == found.threshold
    assert len(document["tables"]["thresholds"]) == 4
    assert "chosen" in CliRunner().invoke(app, ["abstain", "gemma-alone", "--max-error", "0.2"]).stdout


def test_the_figure_has_the_curve_the_limit_and_what_a_verdict_costs() -> None:
    found = abstain("gemma-alone", max_error=0.2)
    ax = found.plot()
    beside = ax.figure.axes[1]
    kept = found.to_frame()["kept"].tolist()
    assert any(line.get_xdata().tolist() == kept for line in ax.lines if hasattr(line.get_xdata(), "tolist"))
    assert beside.get_ylabel() == "tokens for a kept verdict"
    assert found.plot(plt.subplots()[1]).get_ylabel() == "wrong among the kept"
