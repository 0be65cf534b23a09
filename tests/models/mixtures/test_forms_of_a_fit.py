"""The tables and intervals of a fit are those of its draws, and what cannot be a law or a log is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats import BetaBinomialMixture, fit_beta_binomial_mixture
from d3stats.counts import Counts
from d3stats.models.mixtures import rounds
from d3stats.models.mixtures.fit import likelihood_ratio_test
from d3stats.models.mixtures.result import MixtureFit, refit
from d3stats.models.mixtures.rounds import rounds_drift


@pytest.fixture(scope="module")
def fitted() -> MixtureFit:
    rng = np.random.default_rng(5)
    chance = np.where(rng.random(300) < 0.5, 0.85, 0.35)
    return fit_beta_binomial_mixture(rng.binomial(7, chance), np.full(300, 7))


def test_limits_of_a_bootstrap_are_percentiles_of_its_draws(fitted: MixtureFit) -> None:
    draws = fitted.bootstrap(200, rng=3)
    limits = fitted.conf_int(0.9, kind="bootstrap", n_boot=200, rng=3)
    columns = {
        "weight_1": draws.weight[:, 0],
        **{f"mean_{k + 1}": draws.mu[:, k] for k in range(2)},
        **{f"rho_{k + 1}": draws.rho[:, k] for k in range(2)},
    }
    assert limits.index.tolist() == list(columns)
    for name, values in columns.items():
        assert limits.loc[name, ["low", "high"]].tolist() == pytest.approx(
            np.quantile(values, [0.05, 0.95]), abs=0.02
        )


def test_the_tables_of_a_fit_are_those_of_its_methods(fitted: MixtureFit) -> None:
    shown = fitted.to_frame("functionals")
    assert shown.equals(fitted.functionals(rng=0)[shown.columns])
    assert fitted.to_frame("components").equals(fitted.components)


def test_laws_are_numbers_with_a_point() -> None:
    law = BetaBinomialMixture(np.array([1]), np.array([1]), np.array([0]))
    assert {part.dtype for part in (law.weight, law.mu, law.rho)} == {np.dtype(np.float64)}


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((4, 2), (4, 3))])
def test_drift_is_of_two_tables_of_one_shape(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match=r"must share a shape \(debates, rounds\)"):
        rounds_drift(np.ones(shapes[0], dtype=int), np.full(shapes[1], 3), n_boot=0)


def test_a_test_of_one_binomial_speaks_of_debates_that_differ() -> None:
    counts = Counts.from_columns([0, 1, 2, 3], [3] * 4, weights=[9, 4, 5, 9])
    binomial = likelihood_ratio_test(counts, null_family="binomial", n_boot=19, rng=1)
    two = likelihood_ratio_test(counts, n_boot=19, rng=1)
    assert binomial.headline.startswith("Debates that differ in their chance of a right vote")
    assert two.headline.startswith("A second kind of debates")


@pytest.mark.parametrize(("debates", "panel"), [(60, 5), (60, 7), (40, 9)])
def test_limits_of_refits_from_two_points_are_those_of_nine(
    debates: int, panel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(debates + panel)
    high = rng.random(debates) < 0.6
    chance = np.where(high, rng.beta(9, 2, debates), rng.beta(2, 5, debates))
    right = np.stack([rng.binomial(panel, chance) for _ in range(2)], axis=1)

    def limits() -> pd.DataFrame:
        drift = rounds_drift(right, np.full_like(right, panel), n_boot=200, rng=1)
        return drift.functionals().set_index("functional")[["low", "high"]]

    few = limits()
    monkeypatch.setattr(rounds, "refit", lambda fit, cells, sets, **_: refit(fit, cells, sets, n_starts=8))
    many = limits()
    width = (many["high"] - many["low"]).to_numpy()
    assert (np.abs(few - many).max(axis=1).to_numpy() <= 0.03 * width).all()
