"""Wald's test on a judge's score, and routing by agreement: laws, errors, and when the test cannot decide."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from d3stats import Trajectories, replay
from d3stats.stopping import AgreementRouting, JudgeSPRT, Round, Supermajority, from_text

USEFUL, OTHER = (6.0, 3.0), (3.0, 4.0)


def log_of(scores: np.ndarray) -> Trajectories:
    """Return debates of one seat in which a judge gave these scores, shape (debates, rounds)."""
    votes = np.zeros((*scores.shape, 1), dtype=np.int64)
    return Trajectories.from_arrays(votes, scores=scores[:, :, None], sides=("judge",))


def drawn(law: tuple[float, float], debates: int, rounds: int, seed: int) -> Trajectories:
    return log_of(np.random.default_rng(seed).beta(*law, size=(debates, rounds)))


def test_the_ratio_is_that_of_two_beta_densities() -> None:
    rule = JudgeSPRT(*USEFUL, *OTHER)
    x = np.array([0.05, 0.3, 0.6, 0.97])
    expected = beta.logpdf(x, *USEFUL) - beta.logpdf(x, *OTHER)
    np.testing.assert_allclose(rule._ratio(x), expected, rtol=1e-10)
    on_a_scale = JudgeSPRT(*USEFUL, *OTHER, low=1, high=11)
    np.testing.assert_allclose(on_a_scale._ratio(1 + 10 * x), expected, rtol=1e-10)


def test_swapping_the_two_laws_turns_every_ratio_and_both_decisions_round() -> None:
    """Either law may be the one with the smaller parameters."""
    rule, swapped = JudgeSPRT(*USEFUL, *OTHER), JudgeSPRT(*OTHER, *USEFUL)
    x = np.array([0.0, 0.05, 0.3, 0.6, 0.97, 1.0])
    np.testing.assert_allclose(swapped._ratio(x), -rule._ratio(x), rtol=1e-12)
    log = drawn(USEFUL, 200, 8, 5)
    one, other = rule.stop_rounds(log), swapped.stop_rounds(log)
    np.testing.assert_array_equal(one.rounds, other.rounds)
    turned = {"sprt_converged": "sprt_rejected", "sprt_rejected": "sprt_converged", "round_cap": "round_cap"}
    assert other.reasons.tolist() == [turned[reason] for reason in one.reasons]
    for first in (0, 1):
        same = (3.0, 3.0) if first else (3.0, 4.0)
        with pytest.raises(ValueError, match="the two laws must differ"):
            JudgeSPRT(*same, *same)


@pytest.mark.parametrize("outside", [-0.01, 1.01])
def test_a_score_on_either_side_of_the_scale_is_refused(outside: float) -> None:
    rule = JudgeSPRT(*USEFUL, *OTHER)
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        rule.stop_rounds(log_of(np.array([[0.5, outside]])))


@pytest.mark.parametrize("laws", [(4.25, 0.75, 4.2, 0.8), (0.4, 0.7, 2.0, 0.5), (90.0, 40.0, 300.0, 20.0)])
def test_a_score_near_an_end_counts_by_the_chance_of_one(laws: tuple[float, float, float, float]) -> None:
    rule = JudgeSPRT(*laws)
    useful, other = beta(*laws[:2]), beta(*laws[2:])
    low, high = rule._ratio(np.array([0.0, 1.0]))
    with mpmath.workdps(60):
        chances = [mpmath.betainc(a, b, 0, 0.001, regularized=True) for a, b in (laws[:2], laws[2:])]
        near_0 = [float(mpmath.log(chance)) for chance in chances]
    assert low == pytest.approx(near_0[0] - near_0[1], rel=1e-9)
    assert high == pytest.approx(useful.logsf(0.999) - other.logsf(0.999), rel=1e-6)
    np.testing.assert_array_equal(rule._ratio(np.array([0.0005, 0.9999])), [low, high])
    # Likelihood ratios have the mean 1 under the other law: so Wald's bounds hold, whatever the laws have at the ends.
    inner, _ = quad(
        lambda x: np.exp(rule._ratio(np.array([x]))[0] + other.logpdf(x)), 0.001, 0.999, limit=200
    )
    mean = inner + np.exp(low + near_0[1]) + np.exp(high) * other.sf(0.999)
    assert mean == pytest.approx(1, abs=1e-6)


def test_the_divergence_is_the_integral() -> None:
    rule = JudgeSPRT(*USEFUL, *OTHER)
    found, _ = quad(lambda x: beta.pdf(x, *USEFUL) * (beta.logpdf(x, *USEFUL) - beta.logpdf(x, *OTHER)), 0, 1)
    assert rule.divergence == pytest.approx(found, rel=1e-8)


def test_errors_and_rounds_are_those_of_walds_test() -> None:
    """Without a cap that binds: both errors stay below Wald's bounds, and the mean rounds near his approximation."""
    rule = JudgeSPRT(*USEFUL, *OTHER, alpha=0.1, beta=0.1, max_rounds=200)
    wrong = {}
    for case, law, reason in (("useful", USEFUL, "sprt_rejected"), ("other", OTHER, "sprt_converged")):
        stops = rule.stop_rounds(drawn(law, 4000, 200, 1))
        wrong[case] = float((stops.reasons == reason).mean())
        assert not (stops.reasons == "round_cap").any()
        expected = rule.expected_rounds[0 if case == "useful" else 1]
        # Wald neglects how far the sum jumps over a bound, which adds about a round.
        assert expected - 0.1 <= stops.rounds.mean() <= expected + 1.5
    assert 0 < wrong["other"] <= rule.alpha / (1 - rule.beta)
    assert 0 < wrong["useful"] <= rule.beta / (1 - rule.alpha)


def test_laws_that_are_nearly_alike_play_to_the_cap_and_are_named() -> None:
    rule = JudgeSPRT(9.0, 1.2, 9.0, 1.3)
    log = drawn((9.0, 1.2), 500, 8, 2)
    assert rule.divergence < 0.01
    stops = rule.stop_rounds(log)
    assert (stops.rounds == 8).mean() > 0.99
    assert (stops.reasons == "round_cap").mean() > 0.99
    (said,) = rule.remarks(log)
    assert "too alike (divergence 0.00" in said
    assert JudgeSPRT(9.0, 1.2, 2.0, 3.0).remarks(log) == ()


def test_laws_that_are_far_apart_decide_in_the_first_round() -> None:
    rule = JudgeSPRT(40.0, 2.0, 2.0, 6.0)
    stops = rule.stop_rounds(drawn((40.0, 2.0), 2000, 8, 3))
    assert stops.rounds.mean() < 1.05
    assert (stops.reasons == "sprt_converged").mean() > 0.99


def test_a_calibration_has_the_moments_of_the_scores_and_refuses_what_has_none() -> None:
    rng = np.random.default_rng(4)
    rule = JudgeSPRT.calibrated(10 * rng.beta(8, 2, 20_000), 10 * rng.beta(2, 4, 20_000), low=0, high=10)
    found = (rule.useful_a, rule.useful_b, rule.other_a, rule.other_b)
    np.testing.assert_allclose(found, (8, 2, 2, 4), rtol=0.05)
    for scores, message in (([0.5], "two or more"), ([0.5, 0.5], "that vary"), ([0.5, 1.5], "in \\[0, 1\\]")):
        with pytest.raises(ValueError, match=message):
            JudgeSPRT.calibrated(scores, [0.1, 0.2])


def test_missing_scores_are_no_evidence_and_ends_of_the_scale_are_finite() -> None:
    rule = JudgeSPRT(8, 2, 2, 4)
    scores = np.array([[np.nan, 1.0], [0.0, np.nan]])
    assert rule.stop_rounds(log_of(scores)).reasons.tolist() == ["sprt_converged", "sprt_rejected"]
    assert rule.run([Round(1, (), 0, scores=(None,)), Round(2, (), 0, scores=(1.0,))]) == (
        2,
        "sprt_converged",
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: JudgeSPRT(2, 2, 2, 2), "the two laws must differ"),
        (lambda: JudgeSPRT(8, 2, 2, 4, alpha=0.6, beta=0.6), "alpha \\+ beta must be below 1"),
        (lambda: JudgeSPRT(8, 2, 2, 4, low=1, high=1), "low must be below high"),
        (
            lambda: JudgeSPRT(8, 2, 2, 4).stop_rounds(log_of(np.array([[7.0]]))),
            "must lie in \\[0, 1\\].*got 7",
        ),
        (lambda: JudgeSPRT(8, 2, 2, 4, side=1).stop_rounds(log_of(np.array([[0.5]]))), "given for side 1"),
        (lambda: JudgeSPRT(8, 2, 2, 4).run([Round(1, (0,), 1)]), "scores must be given for side 0"),
        (lambda: AgreementRouting(0.0), "share must be above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(made, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        made()


def test_routing_looks_at_the_first_answers_alone() -> None:
    votes = [
        [["A", "A", "B"], ["A", "A", "A"]],
        [["A", "B", "C"], ["A", "A", "A"]],
        [["A", None, "A"], ["B", "B", "B"]],
    ]
    log = Trajectories.from_arrays(votes)
    assert AgreementRouting().stop_rounds(log).rounds.tolist() == [1, 2, 1]
    assert AgreementRouting(1.0).stop_rounds(log).rounds.tolist() == [2, 2, 2]
    after = from_text("agreement_routing | unanimity").stop_rounds(log)
    assert after.reasons.tolist() == ["agreement_routing", "unanimity", "agreement_routing"]
    # In the first round it is a supermajority, where rounding the threshold changes nothing.
    assert [AgreementRouting().needed(n) for n in (3, 4, 5, 6)] == [2, 3, 4, 4]
    assert [Supermajority(2 / 3).needed(n) for n in (3, 4, 5, 6)] == [2, 3, 4, 4]


@pytest.mark.parametrize("log", ["slm7", "gemma-votes"])
def test_routing_is_replayed_on_real_logs(log: str) -> None:
    table = replay(log, ["agreement_routing", "agreement_routing | unanimity", "fixed:1"]).to_frame()
    routed, both, first = table["rounds"][:3]
    assert table["rule"][1] == f"{AgreementRouting()} | unanimity"
    assert first == 1 < both <= routed
