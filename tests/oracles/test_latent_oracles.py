"""Section 4 of the audit, to the digits that it gives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from d3stats.models.beliefs import majority_accuracy
from d3stats.models.beliefs.latent import (
    amplifies,
    consensus_probability,
    expected_belief,
    is_martingale,
    vote_or_consensus,
)
from d3stats.worlds import Voter, simulate_debates

TABLE = [[0.8, 0.2], [0.2, 0.8]]


def test_fresh_evidence_takes_one_half_to_68_hundredths() -> None:
    assert expected_belief([0.5, 0.5], TABLE, 0, "fresh") == pytest.approx(0.68, abs=1e-15)


def test_ones_own_evidence_leaves_one_half_alone() -> None:
    assert expected_belief([0.5, 0.5], TABLE, 0, "self") == pytest.approx(0.5, abs=1e-15)


@pytest.mark.parametrize(
    ("prior", "n", "value"),
    [
        (0.7, 1, Fraction(7, 10)),
        (0.7, 2, Fraction(571298, 790625)),
        (0.7, 7, 0.78488),
        (0.3, 2, 1 - Fraction(571298, 790625)),
        (0.3, 7, 0.21512),
        (0.5, 7, Fraction(1, 2)),
    ],
)
def test_a_round_of_ones_own_words_taken_for_independent_makes_surer_and_not_right(
    prior: float, n: int, value: Fraction | float
) -> None:
    tolerance = 1e-14 if isinstance(value, Fraction) else 5e-6
    found = expected_belief([prior, 1 - prior], TABLE, 0, "simultaneous", n_responses=n)
    assert found == pytest.approx(float(value), abs=tolerance)
    one_by_one = expected_belief([prior, 1 - prior], TABLE, 0, "self", n_responses=n)
    assert one_by_one == pytest.approx(prior, abs=1e-14)


def test_one_strong_match_does_not_suffice_against_six() -> None:
    found = amplifies([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 0, [0, 1, 1, 1, 1, 1, 1])
    assert f"{found.after:.5e}" == "1.69348e-05"
    assert found.after == pytest.approx(1 / (1 + 9**5), rel=1e-13)
    assert not found.rises


def test_majority_of_three_at_seven_tenths() -> None:
    assert majority_accuracy(0.7, 3) == pytest.approx(0.784, abs=1e-15)
    assert vote_or_consensus(0.7, 3).advantage == pytest.approx(0.084, abs=1e-15)


def test_consensus_ends_right_as_often_as_the_mean_agent() -> None:
    assert consensus_probability([0.9, 0.6, 0.6]) == pytest.approx(0.7, abs=1e-15)


def test_an_agent_among_agents_of_its_mean_belief_is_a_martingale() -> None:
    assert is_martingale([[5.0, 5.0], [9.0, 1.0], [1.0, 9.0]]).holds.tolist() == [True, False, False]


# Two kinds of debates, (.62; 6, 1.2; 1.5, 3): 7 voters of whom each is right with chance p ~ Beta(a, b).
KINDS = ((0.62, 6.0, 1.2), (0.38, 1.5, 3.0))
PUBLISHED = {"first": 0.6797066666666665, "after ten": 0.64406}
"""Share of right majorities in round 1 and ten rounds on, of 200 batches of 3000 voter debates."""


def _voters(n: int) -> np.ndarray:
    """Return the chance of s right of `n` given s right before, shape (s before, s)."""
    return stats.binom.pmf(np.arange(n + 1), n, np.arange(n + 1)[:, None] / n)


def test_voters_of_two_kinds_have_a_better_first_majority_and_end_as_right_as_one_of_them() -> None:
    start = sum(w * stats.betabinom.pmf(np.arange(8), 7, a, b) for w, a, b in KINDS)
    found = vote_or_consensus(pmf=start)
    truth = Fraction(62, 100) * Fraction(60, 72) + Fraction(38, 100) * Fraction(15, 45)
    assert found.consensus == pytest.approx(float(truth), abs=1e-14)
    assert f"{found.consensus:.4f}" == "0.6433"
    assert f"{found.majority:.2f}" == "0.68"
    step = _voters(7)
    end = start @ np.linalg.matrix_power(step, 400)
    assert end[7] == pytest.approx(found.consensus, abs=1e-12)
    assert end[1:7].sum() < 1e-12
    after_ten = vote_or_consensus(pmf=start @ np.linalg.matrix_power(step, 10)).majority
    for ours, published in ((found.majority, PUBLISHED["first"]), (after_ten, PUBLISHED["after ten"])):
        assert abs(ours - published) < 4 * np.sqrt(ours * (1 - ours) / 600_000)


def test_three_thousand_drawn_voter_debates_begin_and_end_as_the_law_says() -> None:
    rng = np.random.default_rng(3)
    of_first = int(rng.binomial(3000, KINDS[0][0]))
    counts = [
        simulate_debates(
            Voter(panel=7, accuracy=a / (a + b), precision=a + b), n, 60, rng
        ).successes_trials()[0]
        for n, (_, a, b) in zip((of_first, 3000 - of_first), KINDS, strict=True)
    ]
    s = np.concatenate(counts)
    start = sum(w * stats.betabinom.pmf(np.arange(8), 7, a, b) for w, a, b in KINDS)
    law = vote_or_consensus(pmf=start)
    for majority, truth in ((s[:, 0] >= 4, law.majority), (s[:, -1] >= 4, law.consensus)):
        assert abs(majority.mean() - truth) < 4 * np.sqrt(truth * (1 - truth) / 3000)
    # The same debates lose by talking: paired, far beyond error.
    lost = (s[:, 0] >= 4).astype(float) - (s[:, -1] >= 4)
    assert lost.mean() > 2 * lost.std() / np.sqrt(3000)
