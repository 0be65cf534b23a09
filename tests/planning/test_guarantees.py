"""A loss means the same in every function that limits it, and guarantees hold where debates share a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import covering, examples, sampled

from d3stats.planning import abstain, escalate, plan, replay, risk_controlled
from d3stats.planning.risk import ONE_RUN, RUNS_DIFFER, p_values
from d3stats.planning.simulate import simulate
from d3stats.planning.study import Study
from d3stats.stopping import Unanimity
from d3stats.trajectories import Trajectories
from d3stats.worlds import Conformity, Voter, simulate_debates

# ---------------------------------------------------------------- one meaning of a loss

Stop = Callable[[list[list[int]]], int]


def decided(votes: list[int]) -> int:
    """Return the answer with the most votes, by ties the one in the lowest seat."""
    count = Counter(votes)
    return next(vote for vote in votes if count[vote] == max(count.values()))


def all_agree(rounds: list[list[int]]) -> int:
    return next((r for r, votes in enumerate(rounds, 1) if len(set(votes)) == 1), len(rounds))


def first(rounds: list[list[int]]) -> int:
    return 1


def last(rounds: list[list[int]]) -> int:
    return len(rounds)


def loss_by_hand(votes: Any, label: Any, rule: Stop, reference: Stop) -> float:
    """Count the right verdicts that a rule loses against another one, less those that it gains, over all debates."""
    lost = 0
    for rounds, right in zip(votes.tolist(), label.tolist(), strict=True):
        kept, usual = (decided(rounds[stop(rounds) - 1]) == right for stop in (rule, reference))
        lost += int(usual) - int(kept)
    return lost / len(votes)


@st.composite
def small_logs(draw: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, answers = draw(st.sampled_from((12, 40))), draw(st.sampled_from((2, 3)))
    return rng.integers(0, answers, (n, 2, 3)), rng.integers(0, answers, n)


@examples(5, 15)
def test_every_function_limits_the_loss_that_is_counted_by_hand(n_examples: int) -> None:
    settings(max_examples=n_examples, deadline=None)(given(small_logs())(losses_are_those_counted_by_hand))()


def losses_are_those_counted_by_hand(drawn: tuple[Any, Any]) -> None:
    votes, label = drawn
    log = Trajectories.from_arrays(votes, label, answers=["A", "B", "C"])
    against_unanimity = loss_by_hand(votes, label, first, all_agree)
    against_full = loss_by_hand(votes, label, first, last)

    change = replay(log, ["fixed:1"]).to_frame().set_index("rule").loc["fixed:1", "change"]
    assert change == pytest.approx(-against_unanimity, abs=1e-12)
    # A limit at the loss takes the rule, and a limit just below does not.
    for limit in (against_unanimity, against_unanimity - 1e-6):
        if 0 <= limit < 1:
            named = replay(log, ["fixed:1"]).cheapest(max_loss=limit)["rule"].tolist()
            saves = any(all_agree(rounds) > 1 for rounds in votes.tolist())
            assert named == (["fixed:1"] if limit == against_unanimity and saves else [])

    found = risk_controlled(log, ["fixed:1"], max_loss_vs_full=0.2, target="accuracy")
    assert found.to_frame()["risk"].item() == pytest.approx(against_full, abs=1e-12)

    # Two protocols: a gap of 0 or 40 points in the first one; the choice is the first verdict where the gap is 40.
    wide = (np.arange(len(votes)) % 2).astype(bool)
    gaps = np.repeat(np.where(wide, 40.0, 0.0)[:, None, None] * [1.0, 0.0], 2, axis=1)
    scored = Trajectories.from_arrays(votes, label, answers=["A", "B", "C"], scores=gaps, sides=("A", "B"))
    table = escalate(scored, max_loss_vs_second=0.2, thresholds=[20.0]).to_frame()
    by_hand = sum(
        loss_by_hand(votes[i : i + 1], label[i : i + 1], first if wide[i] else last, last)
        for i in range(len(votes))
    ) / len(votes)
    assert table["loss"].item() == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("target", ["accuracy", "agreement"])
def test_the_plan_counts_the_loss_by_hand_against_unanimity(target: Any) -> None:
    log = simulate_debates(Voter(panel=3), n_debates=40, n_rounds=3, rng=2)
    label = log.label if target == "accuracy" else log.verdicts()[:, -1]
    found = plan(log, target=target, rules=["token_budget:1.0"], limit=False, n_draws=20, rng=1).to_frame()
    row = found.set_index("rule").loc["token_budget:1.0"]
    expected = loss_by_hand(log.votes, label, first, all_agree)
    assert expected != 0
    assert row["loss_from"] == "pilot"
    assert [row["loss"], -row["change"]] == pytest.approx([expected] * 2, abs=1e-12)


def test_a_simulation_recommends_by_the_loss_counted_by_hand_against_unanimity() -> None:
    world = Voter(panel=3)
    done = simulate(Study(worlds={"w": world}, rules=["fixed:1"], n_rounds=3, debates=500, seeds=[7]))
    log = simulate_debates(world, n_debates=500, n_rounds=3, rng=7)
    expected = loss_by_hand(log.votes, log.label, first, all_agree)
    row = done.to_frame().set_index("rule").loc["fixed:1"]
    assert -row["accuracy_minus_unanimity"] == pytest.approx(expected, abs=1e-12)
    for limit, rule in ((0.99, "fixed:1"), (max(expected, 0.0), "unanimity")):
        assert done.recommend(max_loss=limit, confidence=0.999)["rule"].tolist() == [rule] or expected < -0.05


# ---------------------------------------------------------------- questions of several debates

SIZES = {
    "one debate a question": np.ones(120, int),
    "equal": np.full(60, 5),
    "geometric": 2 ** np.arange(9),
    "one question has half of the debates": np.r_[np.ones(99, int), 99],
}


@covering(
    kind=list(SIZES),
    method=["betting", "hoeffding_bentkus"],
)
def test_the_level_holds_where_a_question_loses_all_or_nothing(kind: str, method: Any) -> None:
    rng, reps = np.random.default_rng(11), 1000
    sizes = SIZES[kind].astype(float)
    for chance in (0.02, 0.1, 0.4):
        lost = rng.random((len(sizes), reps)) < chance
        for target in ("agreement", "accuracy"):
            # The loss of the rule is above the limit by a hair, so every certificate is wrong.
            over_debates = p_values(lost * sizes[:, None], chance - 1e-9, method, target, sizes)  # type: ignore[arg-type]
            over_questions = p_values(lost * 1.0, chance - 1e-9, method, target)  # type: ignore[arg-type]
            for p in (over_debates, over_questions):
                assert (p <= 0.1).mean() <= 0.1 + 3 * np.sqrt(0.09 / reps)


def half_of_the_debates() -> Trajectories:
    """Return 120 questions of one debate that lose nothing, and one of 120 debates that all lose in round 1."""
    question = np.repeat(np.arange(121), [1] * 120 + [120])
    votes = np.zeros((240, 2, 3), int)
    votes[question == 120, 0] = 1
    return Trajectories.from_arrays(votes, np.zeros(240, int), answers=["A", "B"], cluster=question)


@pytest.mark.parametrize("order", ["given", "split", "none"])
def test_a_large_question_counts_also_where_it_is_not_among_those_that_are_tested(order: Any) -> None:
    """With ``order="split"`` one log in three tests without the large question, which has half of all debates."""
    log = half_of_the_debates()
    found = [
        risk_controlled(log, ["fixed:1"], max_loss_vs_full=0.1, order=order, rng=seed) for seed in range(12)
    ]
    assert not any(one.certified for one in found)
    # Had a part been taken for the whole, its small questions alone would have certified the rule.
    small = p_values(np.zeros((80, 1)), 0.1, "betting", "agreement", np.ones(80))
    assert (
        small.item()
        <= 0.1
        < p_values(np.zeros((80, 1)), 0.1, "betting", "agreement", np.ones(80), 120.0).item()
    )


def test_the_largest_question_is_named_where_the_guarantee_is_over_debates() -> None:
    log = simulate_debates(Conformity(), n_debates=400, n_rounds=3, rng=1)
    twice = replace(log, cluster=np.arange(400) // 2, cluster_names=tuple(map(str, range(200))))
    found = risk_controlled(twice, ["fixed:2"], max_loss_vs_full=0.3)
    assert found.certified
    assert any("to have more of them than 2, the most here" in note for note in found.notes)
    assert not any(
        "the most here" in note for note in risk_controlled(log, ["fixed:2"], max_loss_vs_full=0.3).notes
    )
    kept = abstain(twice, max_error=0.4)
    assert kept.threshold is not None
    assert any("at most 2 of each. The guarantee takes" in note for note in kept.notes)


# ---------------------------------------------------------------- an effect that a run shares


def runs(losses: list[float], per_run: int, seed: int, questions: str = "own") -> Trajectories:
    """Return logs whose first rounds differ from the last with their own probability, and are then also wrong."""
    rng = np.random.default_rng(seed)
    n = len(losses) * per_run
    run = np.repeat(np.arange(len(losses)), per_run)
    votes = np.zeros((n, 2, 3), int)
    votes[rng.random(n) < np.array(losses)[run], 0] = 1
    log = Trajectories.from_arrays(votes, np.zeros(n, int), answers=["A", "B"])
    if questions == "shared":
        names = tuple(map(str, range(per_run)))
        log = replace(log, cluster=np.tile(np.arange(per_run), len(losses)), cluster_names=names)
    return replace(log, groups=tuple(f"run {k}" for k in run))


def kinds(found: Any) -> list[str]:
    return [getattr(note, "kind", "") for note in found.notes]


def test_a_guarantee_from_one_run_says_that_the_run_may_share_an_effect() -> None:
    one = replace(runs([0.0], 100, 1), groups=())
    assert ONE_RUN in kinds(risk_controlled(one, ["fixed:1"], max_loss_vs_full=0.1))
    assert ONE_RUN in kinds(abstain(one, max_error=0.1))
    # Where nothing is guaranteed, nothing is taken as given.
    assert ONE_RUN not in kinds(risk_controlled(one.select(np.arange(9)), ["fixed:1"], max_loss_vs_full=0.1))
    # Runs as units need no such note: they are what is independent.
    batches = runs([0.0] * 60, 1, 1)
    found = risk_controlled(batches, ["fixed:1"], max_loss_vs_full=0.1, unit="group")
    assert found.certified
    assert not {ONE_RUN, RUNS_DIFFER} & set(kinds(found))


@sampled("questions", ["own", "shared"], (1,))
@examples(12, 60, "n")
def test_runs_that_differ_are_found_and_runs_that_do_not_are_rarely_accused(questions: str, n: int) -> None:
    asked: dict[str, Any] = {"max_loss_vs_full": 0.4}
    differ = [
        risk_controlled(runs([0.0, 0.3], 60, s, questions), ["fixed:1"], **asked) for s in range(n // 3)
    ]
    assert all(RUNS_DIFFER in kinds(one) for one in differ)
    text = next(note for note in differ[0].notes if "differs between the 2 logs" in note)
    assert text.startswith("WARNING: The loss differs")
    alike = [risk_controlled(runs([0.15] * 3, 40, s, questions), ["fixed:1"], **asked) for s in range(n)]
    assert all(one.certified for one in alike)
    accused = np.mean([RUNS_DIFFER in kinds(one) for one in alike])
    assert accused <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / n)


def test_errors_that_differ_between_logs_are_said_beside_a_threshold() -> None:
    log = runs([0.0, 0.3], 60, 1)
    found = abstain(log, max_error=0.4, rule="fixed:1")
    assert found.threshold is not None
    assert RUNS_DIFFER in kinds(found)
    assert RUNS_DIFFER not in kinds(abstain(runs([0.15, 0.15], 60, 1), max_error=0.4, rule="fixed:1"))


def debates_of_questions(rng: Any, questions: int, each: int) -> Trajectories:
    """Debates whose questions differ in difficulty, with agents who copy, and a late insight in some questions."""
    chance, late = rng.beta(1.3, 0.7, questions), rng.random(questions) < 0.15
    question = np.repeat(np.arange(questions), each)
    n, rounds, panel = len(question), 6, 5
    votes = np.empty((n, rounds, panel), dtype=int)
    votes[:, 0] = rng.random((n, panel)) < chance[question, None]
    for r in range(1, rounds):
        share = votes[:, r - 1].mean(axis=1, keepdims=True)
        hears, heard = rng.random((n, panel)) < 0.45, rng.random((n, panel)) < share
        again, own = rng.random((n, panel)) < 0.1, rng.random((n, panel)) < chance[question, None]
        said = np.where(again, own, np.where(hears, heard, votes[:, r - 1]))
        votes[:, r] = said | (late[question, None] & (rng.random((n, panel)) < 0.04))
    return Trajectories.from_arrays(votes, np.ones(n, int), answers=["A", "B"], cluster=list(question))


@pytest.mark.slow
@pytest.mark.parametrize(("questions", "each"), [(50, 1), (13, 4), (10, 20)])
def test_a_plan_keeps_its_probability_and_intervals_where_debates_share_a_question(
    questions: int, each: int
) -> None:
    campaign = debates_of_questions(np.random.default_rng(99), 20_000, 1)

    def accuracy(rule: Any) -> float:
        at = rule.stop_rounds(campaign).rounds - 1
        return float((campaign.verdicts()[np.arange(len(campaign)), at] == 1).mean())

    kept, said, loss_held, accuracy_held = [], [], [], []
    for seed in range(40):
        pilot = debates_of_questions(np.random.default_rng([seed, questions, each]), questions, each)
        made = plan(pilot, max_loss=0.01, n_draws=200, limit=False, rng=1)
        row, true = made.to_frame().iloc[0], accuracy(made.rule)
        accuracy_held.append(row["accuracy_low"] <= true <= row["accuracy_high"])
        if not isinstance(made.rule, Unanimity):
            lost = accuracy(Unanimity()) - true
            kept.append(lost <= 0.01)
            said.append(made.probability)
            loss_held.append(row["loss_low"] <= lost <= row["loss_high"])
    assert len(kept) >= 20
    assert np.mean(kept) >= np.mean(said) - 0.1
    assert np.mean(loss_held) >= 0.85
    assert np.mean(accuracy_held) >= 0.85
