"""The Beta posterior of wins: who wins more votes, and how surely."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from d3stats.models.gaps.wins import score_wins, vote_wins, win_posterior
from d3stats.trajectories import Trajectories

COUNTS = st.integers(0, 60)


@given(COUNTS, COUNTS, st.floats(0.1, 10), st.floats(0.1, 10))
def test_prob_better_is_the_upper_half_of_a_beta(wins: int, losses: int, a0: float, b0: float) -> None:
    post = win_posterior(wins, losses, a0=a0, b0=b0)
    assert post.prob_better == pytest.approx(stats.beta.sf(0.5, a0 + wins, b0 + losses), rel=1e-9, abs=1e-300)


@given(COUNTS, COUNTS, COUNTS, st.sampled_from(["half", "excluded"]))
def test_exchanging_the_answers_exchanges_the_verdict(wins: int, losses: int, ties: int, how: Any) -> None:
    one = win_posterior(wins, losses, ties, ties_as=how)
    other = win_posterior(losses, wins, ties, ties_as=how)
    assert one.prob_better + other.prob_better == pytest.approx(1, abs=1e-12)
    assert (one.prob_better > 0.5) == (wins > losses)


def test_ties_as_halves_make_less_sure_than_ties_left_out() -> None:
    half = win_posterior(5, 2, 10, ties_as="half")
    out = win_posterior(5, 2, 10, ties_as="excluded")
    np.testing.assert_array_equal([half.alpha, half.beta], [11, 8])
    np.testing.assert_array_equal([out.alpha, out.beta], [6, 3])
    assert 0.5 < half.prob_better < out.prob_better


def test_the_posterior_is_the_likelihood_times_the_prior() -> None:
    """By quadrature over theta, with nothing conjugate in it."""

    def weight(theta: float) -> float:
        return float(theta**4 * (1 - theta) ** 2 * stats.beta.pdf(theta, 2, 3))

    above, _ = integrate.quad(weight, 0.5, 1)
    total, _ = integrate.quad(weight, 0, 1)
    assert win_posterior(4, 2, a0=2, b0=3).prob_better == pytest.approx(above / total, rel=1e-9)


@pytest.mark.parametrize("kind", ["equal-tailed", "hdi"])
def test_intervals_cover_drawn_chances_at_their_level(kind: Any) -> None:
    """Chances drawn from the prior are in the interval with its probability, exactly."""
    drawn, level = 20_000, 0.95
    rng = np.random.default_rng(1)
    theta = rng.beta(2, 3, drawn)
    wins = rng.binomial(12, theta)
    low, high = win_posterior(wins, 12 - wins, a0=2, b0=3).interval(level, kind)
    covered = ((low <= theta) & (theta <= high)).mean()
    assert abs(covered - level) < 4 * np.sqrt(level * (1 - level) / drawn)


def test_prob_better_is_calibrated_under_the_prior() -> None:
    drawn = 20_000
    rng = np.random.default_rng(2)
    theta = rng.beta(1, 1, drawn)
    wins = rng.binomial(7, theta)
    said = win_posterior(wins, 7 - wins).prob_better
    for value in np.unique(said):
        here = said == value
        error = np.sqrt(value * (1 - value) / here.sum())
        assert abs((theta[here] > 0.5).mean() - value) < 4 * error + 1 / here.sum()


def test_pooling_adds_up_and_a_design_effect_divides() -> None:
    wins, losses = np.array([[3, 1], [2, 2]]), np.array([[0, 2], [1, 1]])
    pooled = win_posterior(wins, losses, axis=0)
    assert pooled.alpha.tolist() == [6, 4]
    assert win_posterior(wins, losses, axis=(0, 1)).beta == 5
    worth_half = win_posterior(8, 4, design_effect=2)
    assert worth_half.prob_better == win_posterior(4, 2).prob_better


def test_copied_votes_make_the_pooled_posterior_too_sure_and_the_design_effect_mends_it() -> None:
    """Questions of five identical votes: 95 % intervals of the pool cover far less, with deff 5 at least 95 %."""
    rng, drawn, questions, copies, theta = np.random.default_rng(3), 4000, 40, 5, 0.6
    wins = copies * rng.binomial(questions, theta, drawn)
    losses = copies * questions - wins
    covered = {}
    for effect in (1.0, float(copies)):
        low, high = win_posterior(wins, losses, design_effect=effect).interval(0.95)
        covered[effect] = ((low <= theta) & (theta <= high)).mean()
    assert covered[1.0] < 0.7
    assert covered[5.0] > 0.93


def test_a_table_holds_the_probability_and_its_interval() -> None:
    post = win_posterior([[3, 1]], [[0, 2]])
    table = post.to_frame(0.8)
    assert table["prob_better"].tolist() == post.prob_better.ravel().tolist()
    assert table[["debate", "round", "level", "kind"]].to_numpy().tolist() == [
        [0, 1, 0.8, "equal-tailed"],
        [0, 2, 0.8, "equal-tailed"],
    ]


# ------------------------------------------------------------------ where wins come from


def test_votes_of_a_round_are_wins_of_the_first_answer() -> None:
    log = Trajectories.from_arrays([[["A", "B", "tie", None], ["A", "A", "A", "B"]]])
    wins, losses, ties = vote_wins(log, ("A", "B"), tie="tie")
    assert (wins.tolist(), losses.tolist(), ties.tolist()) == ([[1, 3]], [[1, 1]], [[1, 0]])
    back, forth, _ = vote_wins(log, ("B", "A"), tie="tie")
    np.testing.assert_array_equal([back, forth], [losses, wins])
    assert vote_wins(log, tie="tie")[0].tolist() in (wins.tolist(), losses.tolist())


def test_rounds_that_were_not_reached_hold_no_votes() -> None:
    log = Trajectories.from_arrays([[["A", "B"], [None, None]]], depth=[1])
    post = win_posterior(*vote_wins(log))
    assert post.prob_better.tolist() == [[0.5, 0.5]]
    assert post.alpha.tolist() == [[2, 1]]


def test_a_criterion_without_a_score_is_no_trial() -> None:
    scores = np.array([[[8, 6], [7, 7], [4, 9], [np.nan, 3]], [[1, 2], [2, 3], [3, 4], [4, 5]]])
    wins, losses, ties = score_wins(scores)
    assert (wins.tolist(), losses.tolist(), ties.tolist()) == ([1, 0], [1, 4], [1, 0])


def _log() -> Trajectories:
    return Trajectories.from_arrays([[["A", "B", "C"]]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: win_posterior(-1, 2), "wins must be finite and >= 0; got wins=-1.0"),
        (lambda: win_posterior([1, np.nan], [2, 2]), "wins must be finite and >= 0; got wins=nan at row 1"),
        (lambda: win_posterior(1, 2, [1, 2]), "must have one shape"),
        (lambda: win_posterior(1, 2, a0=0), "a0 must be > 0"),
        (lambda: win_posterior(1, 2, b0=np.inf), "b0 must be finite"),
        (lambda: win_posterior(1, 2, ties_as="loss"), "ties_as must be one of"),  # type: ignore[arg-type]  # what is tested
        (lambda: win_posterior(1, 2, design_effect=0.5), "design_effect must be >= 1"),
        (lambda: vote_wins(_log()), "answers must be named unless the log has two of them; got 3"),
        (
            lambda: vote_wins(_log(), ("A", "B")),
            "votes must be for 'A' or 'B'; got 'C' in debate '1', round 1",
        ),
        (lambda: vote_wins(_log(), ("A", "D")), "answers must occur in the log"),
        (lambda: vote_wins(_log(), ("A", "A")), "answers must be two different names"),
        (lambda: score_wins([1.0, 2.0]), "scores must have shape"),
        (lambda: score_wins([[1.0, np.inf]]), "scores must be finite, or NaN where missing"),
    ],
)
def test_bad_input_is_refused_in_words(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
