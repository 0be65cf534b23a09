"""The full panel is one number: every fit takes it from the counts, and ties go to the larger panel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats.counts import Counts, RoundCounts
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture
from d3stats.models.mixtures.rounds import fit_rounds

TIED = Counts.from_columns(
    [0, 1, 2, 3, 1, 2, 3, 4, 5], [3] * 4 + [5] * 5, weights=[5, 12, 10, 13, 3, 9, 11, 9, 8]
)
"""40 debates of 3 votes and 40 of 5."""


@given(debates=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=12))
def test_the_panel_is_the_number_of_votes_that_most_debates_have_and_the_larger_of_a_tie(
    debates: list[tuple[int, int]],
) -> None:
    trials, weights = zip(*debates, strict=True)
    counts = Counts.from_columns([0] * len(trials), trials, weights=weights)
    held = {n: sum(w for t, w in debates if t == n) for n in set(trials) if n > 0}
    if not held:
        with pytest.raises(ValueError, match="at least one debate with a vote"):
            counts.panel  # noqa: B018
        return
    assert counts.panel == max(held, key=lambda n: (held[n], n))
    # Thirds do not add up exactly, and a tie stays a tie.
    thirds = Counts.from_columns([0] * len(trials) * 3, trials * 3, weights=np.tile(weights, 3) / 3)
    assert thirds.panel == counts.panel


@settings(max_examples=10)
@given(
    rows=st.lists(st.tuples(st.integers(1, 2), st.integers(1, 5), st.integers(0, 5)), min_size=3, max_size=12)
)
def test_the_fit_of_a_round_and_of_all_rounds_take_the_panel_of_their_counts(
    rows: list[tuple[int, int, int]],
) -> None:
    columns = [(r, min(s, n), n) for r, n, s in rows]
    counts = RoundCounts.from_columns(*zip(*columns, strict=True))
    fit = fit_rounds(counts, n_components=1, n_starts=3)
    assert fit.panel == counts.pooled().panel
    for r in fit.rounds:
        assert fit[r].panel == counts[r].panel
        assert fit[r].prob_majority() == fit[r].prob_majority(counts[r].panel)


def test_the_posterior_takes_the_same_panel_as_the_maximum_likelihood_fit() -> None:
    pytest.importorskip("pymc")
    from d3stats.models.bayes.mixture import fit_mixture
    from d3stats.models.bayes.rounds import fit_rounds as posterior_of_rounds

    short = {"n_components": 1, "draws": 20, "tune": 20, "chains": 1, "rng": 1}
    fit = fit_beta_binomial_mixture(TIED, n_components=1)
    posterior = fit_mixture(TIED, **short)
    assert fit.panel == posterior.panel == TIED.panel == 5
    rounds = RoundCounts.from_rounds({1: TIED, 2: TIED})
    assert posterior_of_rounds(rounds, **short).panel == fit_rounds(rounds, n_components=1).panel == 5
