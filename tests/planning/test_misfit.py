"""The allowance for what a chain misses, and the share of verdicts that it is a share of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from d3stats.models.chains.panel_chain import PRIOR_MEAN, chain_laws
from d3stats.planning.ladders import evaluate_ladders, evaluate_thresholds
from d3stats.planning.misfit import FEW, MISFIT, ChainLoss, PilotLosses, misfit_sd
from d3stats.planning.plan import draw_counts, plan
from d3stats.stopping import FixedRounds, Ladder, StoppingRule, Unanimity
from d3stats.trajectories import MISSING
from d3stats.worlds import Conformity, simulate_debates


def test_the_probability_and_the_limits_are_those_of_drawn_errors() -> None:
    rng = np.random.default_rng(1)
    loss, differ = rng.normal(0.0, 0.01, 300), rng.uniform(0, 0.1, 300)
    one = ChainLoss.allowing(loss, differ)
    pick = rng.integers(0, 300, 400_000)
    shares, few = MISFIT * differ[pick], np.minimum(FEW, differ[pick])
    drawn = loss[pick] + shares * rng.standard_normal(len(pick)) + few * rng.standard_normal(len(pick))
    assert one.within(0.01) == pytest.approx((drawn <= 0.01).mean(), abs=0.004)
    assert one.limits(0.9) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=4e-4)
    assert ChainLoss.allowing(loss, differ, misfit=0.0, few=0.0).within(0.01) == (loss <= 0.01).mean()


def test_few_verdicts_that_differ_may_all_be_lost() -> None:
    """Where few differ, the error is all of them; where many do, it is a share."""
    few, many = misfit_sd(np.array([0.0, 0.004])), misfit_sd(np.array([0.5]))
    assert few == pytest.approx([0.0, 0.004 * np.hypot(1, MISFIT)])
    assert many == pytest.approx([np.hypot(0.5 * MISFIT, FEW)])


def test_with_more_than_two_answers_a_gain_comes_from_the_pilots_count_alone() -> None:
    """The chain says a gain of .05; without a count it is no change, and a count of many debates is believed."""
    loss, differ = np.full(5, -0.05), np.full(5, 0.1)
    assert ChainLoss.allowing(loss, differ, answers=2).mean == pytest.approx(-0.05)
    alone = ChainLoss.allowing(loss, differ, answers=3)
    assert alone.mean == pytest.approx(0.0)
    assert alone.sd == pytest.approx(np.hypot(0.1 * MISFIT, FEW))
    assert alone.within(0.01) < 0.9
    seen = ChainLoss.allowing(loss, differ, counted=(-0.05, 2000), answers=3)
    assert -0.05 < seen.mean[0] < -0.045
    assert seen.within(0.01) > 0.99
    lost = ChainLoss.allowing(-loss, differ, answers=3)
    assert lost.mean == pytest.approx(0.05)


def test_a_count_moves_the_error_as_bayes_says() -> None:
    """Of drawn errors and counts, those with the count that was seen."""
    rng = np.random.default_rng(2)
    loss, differ, n, seen = 0.01, 0.2, 400, 0.03
    error = misfit_sd(np.array(differ)) * rng.standard_normal(2_000_000)
    count = loss + error + np.sqrt((differ - loss**2) / n) * rng.standard_normal(len(error))
    near = loss + error[np.abs(count - seen) < 5e-4]
    found = ChainLoss.allowing(np.array([loss]), np.array([differ]), counted=(seen, n))
    assert found.mean[0] == pytest.approx(near.mean(), abs=4 * near.std() / np.sqrt(len(near)))
    assert found.sd[0] == pytest.approx(near.std(), rel=0.02)
    assert ChainLoss.allowing(np.array([loss]), np.array([0.0]), counted=(0.0, n)).sd[0] == 0.0


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_pilots_count_is_that_of_its_stops(missing: float) -> None:
    log = simulate_debates(Conformity(), n_debates=80, n_rounds=5, rng=4)
    votes = np.where(np.random.default_rng(1).random(log.votes.shape) < missing, MISSING, log.votes)
    log = replace(
        log, votes=votes.astype(np.int32), cluster=np.arange(80) // 2, cluster_names=tuple("q" * 40)
    )
    row = np.arange(80)

    def kept(rule: StoppingRule) -> np.ndarray:
        return np.asarray(log.verdicts()[row, rule.stop_rounds(log).rounds - 1] == log.label)

    counts = PilotLosses(log, "accuracy")
    for steps in [(6, 5, 1), (7, 6), (4, 1)]:
        rule = Unanimity() | Ladder("-".join(map(str, steps)))
        found = counts.of(steps)
        assert found is not None
        assert found[0] == pytest.approx(
            (kept(Unanimity()).astype(float) - kept(rule)).mean(), abs=0.02 * (missing > 0)
        )
        assert found[1] == 40
    late = counts.of((8, 1))
    assert late is not None
    assert late[0] == pytest.approx(
        (kept(Unanimity()).astype(float) - kept(FixedRounds(2))).mean(), abs=0.02 * (missing > 0)
    )


@pytest.mark.parametrize("steps", [(1,), (5, 4), (4, 4, 1), (6, 1), (6,), (6, 6, 4, 1)])
def test_the_share_of_verdicts_that_differ_is_that_of_simulated_debates(steps: tuple[int, ...]) -> None:
    """Also for rules that go on where unanimity has stopped."""
    theta = PRIOR_MEAN + 0.3 * np.random.default_rng(3).normal(size=14)
    laws, rounds, n = chain_laws(theta, 5, 5), 5, 60_000
    counts = draw_counts(laws, n, np.random.default_rng(4))[0]
    lead = np.maximum(counts, 5 - counts)

    def verdicts(needs: tuple[int, ...]) -> np.ndarray:
        need = [needs[min(t, len(needs) - 1)] if t < rounds - 1 else 0 for t in range(rounds)]
        return np.asarray(2 * counts[np.arange(n), (lead >= need).argmax(axis=1)] > 5)

    apart = (verdicts(steps) != verdicts((5,))).mean()
    for target in ("accuracy", "agreement"):
        found = evaluate_thresholds(laws, {"": steps}, np.ones(rounds), target)[""]  # type: ignore[arg-type]
        assert found.differ[0] == pytest.approx(apart, abs=4 * np.sqrt(0.25 / n))


def test_both_walks_over_ladders_give_the_same_share() -> None:
    laws = chain_laws(PRIOR_MEAN[:12], 4, 4)
    for steps, found in evaluate_ladders(laws, np.ones(4), "accuracy"):
        again = evaluate_thresholds(laws, {"": steps}, np.ones(4), "accuracy")[""]
        assert found.differ[0] == pytest.approx(again.differ[0], abs=1e-12)
        assert (
            again.differ[0]
            >= abs(again.kept[0] - evaluate_thresholds(laws, {"": (4,)}, np.ones(4), "accuracy")[""].kept[0])
            - 1e-12
        )


def test_no_rule_is_promised_where_the_chain_has_another_accuracy_than_the_pilot() -> None:
    """Debates that end unanimously and wrong only if their first round was split: no chain of counts does that."""
    rng = np.random.default_rng(0)
    log = simulate_debates(Conformity(), n_debates=200, n_rounds=6, rng=3)
    votes = log.votes.copy()
    label = np.zeros(200, dtype=np.int32)
    votes[:] = 0
    votes[:100, 0, :3] = 1
    votes[:100, 1:] = 1
    votes[100:, :, 0] = rng.integers(0, 2, (100, 6))
    made = plan(replace(log, votes=votes, label=label), limit=False, n_draws=60, rng=1)
    table = made.to_frame()
    if isinstance(made.rule, Unanimity) and "does not describe" in made.reason:
        assert table["p_within"].isna().all()
    else:
        kept = table.set_index("rule").loc["unanimity"]
        assert kept["kept_low"] <= kept["kept"] <= kept["kept_high"]


def test_a_pilot_that_is_stopped_at_unanimity_counts_the_losses_of_the_same_pilot_played_on() -> None:
    log = simulate_debates(Conformity(panel=5, conformity=0.5), n_debates=80, n_rounds=6, rng=4)
    ends = Unanimity().stop_rounds(log).rounds
    rounds = np.arange(log.n_rounds)
    votes = np.where((rounds < ends[:, None])[:, :, None], log.votes, MISSING)
    stopped = replace(log, votes=votes, depth=ends)
    assert (stopped.depth < log.depth).any()
    for ladder in ((3,), (4, 3), (5, 4, 3), (5, 5, 1)):
        whole = PilotLosses(log, "accuracy").of(ladder)
        assert whole == PilotLosses(stopped, "accuracy").of(ladder)
        assert whole is not None
