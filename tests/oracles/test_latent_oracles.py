"""Section 4 of the audit, to the digits that it gives."""

from __future__ import annotations

import pytest

from d3stats.models.latent import (
    amplifies,
    consensus_probability,
    expected_belief,
    is_martingale,
    majority_accuracy,
    vote_or_consensus,
)

TABLE = [[0.8, 0.2], [0.2, 0.8]]


def test_fresh_evidence_takes_one_half_to_68_hundredths() -> None:
    assert expected_belief([0.5, 0.5], TABLE, 0, "fresh") == pytest.approx(0.68, abs=1e-15)


def test_ones_own_evidence_leaves_one_half_alone() -> None:
    assert expected_belief([0.5, 0.5], TABLE, 0, "self") == pytest.approx(0.5, abs=1e-15)


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
