"""Profile likelihood limits of one Beta-Binomial: where the likelihood says, inside [0, 1], and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import betabinom, binom, t

from d3stats import fit_beta_binomial, fit_beta_binomial_mixture


def llf(counts: np.ndarray, n: int, mean: float, rho: float) -> float:
    s = np.arange(n + 1)
    a = 1 / rho - 1 if rho > 1e-9 else 0.0
    law = betabinom.logpmf(s, n, mean * a, (1 - mean) * a) if a else binom.logpmf(s, n, mean)
    return float(counts @ law)


@pytest.mark.parametrize(
    "counts", [[0, 0, 1, 2, 4, 9, 20, 64], [2, 1, 2, 3, 6, 9, 11, 6], [1, 5, 16, 27, 28, 16, 6, 1]]
)
def test_limits_are_where_the_profile_is_half_the_squared_quantile_below_the_maximum(
    counts: list[int],
) -> None:
    weights, n = np.array(counts), 7
    fit = fit_beta_binomial(np.arange(n + 1), n, weights=weights)
    table = fit.conf_int(0.9)
    assert set(table["kind"]) == {"profile likelihood"}
    drop = t.ppf(0.95, weights.sum() - 1) ** 2 / 2

    def profile(name: str, at: float) -> float:
        one = (lambda x: -llf(weights, n, at, x)) if name == "mean_1" else (lambda x: -llf(weights, n, x, at))
        return -float(
            minimize_scalar(one, bounds=(1e-7, 1 - 1e-7), method="bounded", options={"xatol": 1e-9}).fun
        )

    for name in ("mean_1", "rho_1"):
        for end in table.loc[name, ["low", "high"]]:
            inside = 1e-6 < end < 1 - 1e-6
            away = fit.llf - profile(name, float(np.clip(end, 1e-7, 1 - 1e-7))) - drop
            assert abs(away) < 2e-3 if inside else away < 0


def test_a_correlation_of_0_has_limits_that_begin_there() -> None:
    fit = fit_beta_binomial(np.arange(6), 5, weights=[1, 16, 50, 60, 30, 3])
    low, high = fit.conf_int().loc["rho_1", ["low", "high"]]
    assert low == 0
    assert 0 < high < 0.2


def test_several_components_have_no_profile_limits() -> None:
    fit = fit_beta_binomial_mixture(np.arange(6), 5, weights=[30, 20, 5, 5, 20, 40], rng=1)
    with pytest.raises(
        ValueError, match="kind must not be 'profile' unless one Beta-Binomial is fitted; got 2"
    ):
        fit.conf_int(kind="profile")


@pytest.mark.parametrize(("mean", "rho"), [(0.97, 0.2), (0.7, 0.02)])
@pytest.mark.parametrize(
    "replicates", [25, pytest.param(1000, marks=pytest.mark.slow)], ids=["quick", "full"]
)
def test_limits_hold_their_level_near_the_ends(mean: float, rho: float, replicates: int) -> None:
    rng, held, a = np.random.default_rng(7), np.zeros(2), 1 / rho - 1
    for _ in range(replicates):
        right = rng.binomial(7, rng.beta(mean * a, (1 - mean) * a, 100))
        table = fit_beta_binomial(right, 7).conf_int()
        held += (table["low"].to_numpy() <= [mean, rho]) & (table["high"].to_numpy() >= [mean, rho])
    print(mean, rho, held / replicates)
    assert (held / replicates >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / replicates)).all()
