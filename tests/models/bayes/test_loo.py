"""Leave-one-out by ArviZ from a fit's draws is the fit's own, whoever asks, or ArviZ refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from layers import sampled
from scipy.integrate import quad
from scipy.stats import norm, t

from d3stats.counts import Counts, RoundCounts
from d3stats.models.bayes import stack
from d3stats.models.bayes.accuracy import fit_accuracy
from d3stats.models.bayes.mixture import fit_mixture
from d3stats.models.bayes.paired import ScorePosterior, fit_paired
from d3stats.models.bayes.rounds import fit_rounds

SHORT: dict[str, Any] = {"draws": 100, "tune": 100, "chains": 2, "rng": 1}
SEEN = [32, 103, 122, 80]
RNG = np.random.default_rng(1)
CLUSTER = np.repeat(np.arange(12), [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6])
A, B = RNG.integers(0, 2, (2, len(CLUSTER)))
SCORES = RNG.standard_normal(len(CLUSTER))


@cache
def mixture() -> Any:
    return fit_mixture(range(4), 3, SEEN, n_components=1, **SHORT)


@cache
def mixture_of_two() -> Any:
    return fit_mixture(range(4), 3, SEEN, n_components=2, **SHORT)


def rounds() -> Any:
    counts = Counts.from_columns(range(4), [3] * 4, weights=SEEN)
    return fit_rounds(RoundCounts.from_rounds({1: counts, 2: counts}), n_components=1, **SHORT)


def accuracy() -> Any:
    right = np.tile([3, 1, 4, 2, 0, 3, 2, 4], 3)
    return fit_accuracy(right, [4] * 24, np.repeat(np.arange(12), 2), ["A", "B"] * 12, **SHORT)


def table() -> Any:
    return fit_paired(A, B, **SHORT)


def tables() -> Any:
    return fit_paired(A, B, CLUSTER, **SHORT)


def scores() -> Any:
    return fit_paired(A, A + SCORES, **SHORT)


def scores_by_cluster() -> Any:
    return fit_paired(A, A + SCORES, CLUSTER, **SHORT)


OBSERVATIONS: dict[Callable[[], Any], int] = {
    mixture: 337, rounds: 674, accuracy: 12, table: 34, tables: 12, scores: 34, scores_by_cluster: 12,
}  # fmt: skip


@sampled("made", OBSERVATIONS, (0, 2, 3), ids=lambda made: made.__name__)  # each kind of observation once
def test_leave_one_out_by_arviz_is_the_fits_own(made: Callable[[], Any]) -> None:
    fit = made()
    own = fit.loo()
    with stack.quiet():
        found = stack.load("arviz").loo(fit.idata)
    elpd = found.elpd if stack.arviz_generation() else found.elpd_loo
    assert float(elpd) == pytest.approx(own.elpd, abs=1e-6)
    assert float(found.se) == pytest.approx(own.se, rel=1e-6)
    assert int(found.n_data_points) == own.n_obs == OBSERVATIONS[made]


@pytest.mark.slow
def test_comparing_by_arviz_gives_the_difference_of_the_fits_own() -> None:
    one, two = mixture(), mixture_of_two()
    # ArviZ 1 rounds its table to what the errors allow unless it is told not to.
    exact = {"round_to": "none"} if stack.arviz_generation() else {}
    with stack.quiet():
        table = stack.load("arviz").compare({"one": one.idata, "two": two.idata}, **exact)
    column = "elpd" if stack.arviz_generation() else "elpd_loo"
    gap = float(table.loc["one", column] - table.loc["two", column])
    assert gap == pytest.approx(one.loo().elpd - two.loo().elpd, abs=1e-6)


@sampled("weights", [[32.5, 103.25, 122, 80], [320_000, 1_030_000, 1_220_000, 800_000]], (0,))
def test_arviz_refuses_where_cells_cannot_be_told_apart_into_debates(weights: list[float]) -> None:
    fit = fit_mixture(range(4), 3, weights, n_components=1, **SHORT)
    assert fit.loo().n_obs == sum(weights)
    assert "log_likelihood" not in stack.groups(fit.idata)
    with pytest.raises(Exception, match=r"log[ _]likelihood"), stack.quiet():
        stack.load("arviz").loo(fit.idata)


def test_scores_by_cluster_leave_out_whole_clusters_with_their_effect_integrated_out() -> None:
    density = ScorePosterior(SCORES, CLUSTER, 2.0, 0.75)
    rng = np.random.default_rng(3)
    points = np.concatenate([[[0.2, -0.1, 1.5, 0.6]] * 40, rng.standard_normal((40, 12))], axis=1)
    points[:, 3] *= np.where(rng.random(40) < 0.5, -1, 1)
    found = density.marginal_log_likelihood(points, 2.5)
    np.testing.assert_allclose(found, np.tile(found[:1], (40, 1)), atol=1e-6)
    for c in (0, 5, 11):
        mine = SCORES[c == CLUSTER]
        scale, nu = math.exp(-0.1), 1 + math.exp(1.5)

        def density_at(z: float, mine: Any = mine, scale: float = scale, nu: float = nu) -> float:
            return float(norm.pdf(z) * np.prod(t.pdf((mine - 0.2 - 0.6 * z) / scale, nu) / scale / 2.5))

        assert found[0, c] == pytest.approx(math.log(quad(density_at, -12, 12, limit=200)[0]), abs=1e-5)
