"""Every result of the models shows itself as text, table, dictionary, LaTeX and HTML from one description."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from d3stats.counts import Counts
from d3stats.models.beliefs import martingale_test
from d3stats.models.beliefs.latent import is_martingale, vote_or_consensus
from d3stats.models.chains import fit_panel_chain, optimal_votes, solve
from d3stats.models.mixtures import (
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
    fit_rounds,
    likelihood_ratio_test,
    rounds_drift,
)
from d3stats.result import Result
from d3stats.worlds import Conformity, Voter, count_process, simulate_debates

LOG = simulate_debates(Conformity(panel=5), 40, 3, 1)
SEEN = [96, 58, 41, 38, 45, 62, 98, 182]
COUNTS = Counts.from_columns(range(8), [7] * 8, weights=SEEN)

RESULTS: dict[str, Callable[[], Result]] = {
    "mixture": lambda: fit_beta_binomial_mixture(COUNTS, n_starts=5),
    "mixture on the boundary": lambda: fit_beta_binomial_mixture(range(3), 2, [40, 0, 1], n_starts=5),
    "batch": lambda: fit_beta_binomial_mixture_batch(range(8), [7] * 8, [SEEN, SEEN[::-1]], n_starts=5),
    "likelihood ratio": lambda: likelihood_ratio_test(COUNTS, n_boot=5, n_starts=2, rng=1),
    "rounds": lambda: fit_rounds(LOG, n_starts=5),
    "drift": lambda: rounds_drift(*LOG.successes_trials(), LOG.cluster, n_boot=3, rng=1),
    "martingale": lambda: martingale_test(LOG),
    "martingale without an error": lambda: martingale_test([[1, 2]] * 3, 3),
    "optimum": lambda: solve(count_process(Voter(panel=3), 3), 0.01),
    "votes": lambda: optimal_votes(0.7, 0.01, 5),
    "panel chain": lambda: fit_panel_chain((LOG.votes == LOG.label[:, None, None]).astype(int)),
    "neighbours": lambda: is_martingale([[9.0, 0.0], [0.5, 0.5]]),
    "vote or consensus": lambda: vote_or_consensus(0.7, 5),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_itself_in_every_form_and_names_its_limits_low_and_high(name: str) -> None:
    found = RESULTS[name]()
    said, page = found.summary(), found._repr_html_()
    assert str(found) == said
    assert len(found.headline) > 20
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["headline"] == found.headline
    assert found.to_latex().startswith(r"\begin{tabular}")
    for note in found.notes:
        assert note in said
    for title, table in found._tables().items():
        shown = found.to_frame(title)
        assert shown.columns.tolist() == table.columns.tolist()
        assert not {"lower", "upper", "alpha"} & set(shown.columns) or "beta" in shown.columns
        assert all(str(column) in page for column in shown.columns)
        numbers = shown.select_dtypes("number").to_numpy(dtype=float, na_value=0.0)
        assert np.isfinite(numbers).all() or name in (
            "martingale without an error",
            "mixture on the boundary",
        )
