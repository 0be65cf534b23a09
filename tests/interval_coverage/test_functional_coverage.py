"""Do 95 % intervals cover in 95 of 100 logs, and do estimates come to the truth as logs grow?

Truths: both components interior; one of two a Binomial; both Binomials; one component fitted with two. The fit
chooses its interval itself (``kind="auto"``): by normal theory where the optimum is interior, by parametric
bootstrap elsewhere. Coverage is reported for the choice as a whole, and within each of its two cases (which
cases occur is itself random, so only the whole has to reach 95 %).

The folder is not called ``coverage``: that name would hide the package of that name from those that look for it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from d3stats.models.mixtures.fit import fit_beta_binomial_mixture, fit_beta_binomial_mixture_batch
from d3stats.models.mixtures.law import BetaBinomialMixture

PANEL = 7
TRUTHS = {
    "interior": BetaBinomialMixture.from_alpha_beta([0.62, 0.38], [6, 1.5], [1.2, 3]),
    "BB + Binomial": BetaBinomialMixture([0.7, 0.3], [0.6, 0.8], [0.3, 0.0]),
    "two Binomials": BetaBinomialMixture([0.5, 0.5], [0.3, 0.85], [0.0, 0.0]),
    "one BB": BetaBinomialMixture.from_alpha_beta([1.0], [1.4], [0.9]),
}
HELD = ["mean", "P(S > n/2)"]


def coverage(truth: str, n_debates: int, n_logs: int, n_boot: int, seed: int) -> pd.DataFrame:
    """One row per interval: which log, which functional, which kind, whether it covers, how wide it is."""
    law = TRUTHS[truth]
    # a stream of its own for each cell: one seed for all would make their errors go together
    rng = np.random.default_rng([seed, n_debates, list(TRUTHS).index(truth)])
    pmf = law.pmf(PANEL)
    tables = rng.multinomial(n_debates, pmf / pmf.sum(), size=n_logs).astype(float)
    batch = fit_beta_binomial_mixture_batch(
        np.arange(PANEL + 1), np.full(PANEL + 1, PANEL), tables, n_starts=12
    )
    true = pd.Series(
        {"mean": float(law.mean), "spread": float(law.spread), "P(S > n/2)": float(law.prob_majority(PANEL))}
    )
    parts = []
    for i in range(n_logs):
        table = batch[i].functionals(n_boot=n_boot, rng=rng)
        parts.append(
            table.assign(
                log=i,
                covers=(table["low"] <= true) & (true <= table["high"]),
                width=table["high"] - table["low"],
                chosen=table["kind"].str.contains("bootstrap").map({True: "bootstrap", False: "wald"}),
            )
        )
    return pd.concat(parts).reset_index()


def report(frame: pd.DataFrame, title: str) -> pd.DataFrame:
    """Shares of intervals that cover, by functional: all of them, and by the kind that was chosen."""
    rows = {"auto": frame.groupby("functional")["covers"].agg(["mean", "size"])}
    rows |= {
        kind: part.groupby("functional")["covers"].agg(["mean", "size"])
        for kind, part in frame.groupby("chosen")
    }
    table = pd.concat(rows, names=["kind"])
    print(f"\ncoverage of 95 % intervals, {title}\n{table.to_string(float_format=lambda v: f'{v:.3f}')}")
    return table


@pytest.mark.slow
@pytest.mark.parametrize("n_debates", [200, 1000])
@pytest.mark.parametrize("truth", TRUTHS)
def test_intervals_of_the_mean_and_the_majority_cover_at_their_level(truth: str, n_debates: int) -> None:
    frame = coverage(truth, n_debates, n_logs=2000, n_boot=400, seed=2)
    table = report(frame, f"{truth}, N={n_debates}, 2000 logs")
    for name in HELD:
        # 94 to 96 %, give or take two standard errors of 2000 logs
        assert 0.93 <= table.loc[("auto", name), "mean"] <= 0.97, name


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["interior", "BB + Binomial"])
def test_bootstrap_intervals_cover_when_they_are_asked_for_everywhere(truth: str) -> None:
    law, rng = TRUTHS[truth], np.random.default_rng(5)
    pmf = law.pmf(PANEL)
    true = np.array([float(law.mean), float(law.prob_majority(PANEL))])
    covers = []
    for row in rng.multinomial(200, pmf / pmf.sum(), size=800):
        fit = fit_beta_binomial_mixture(np.arange(PANEL + 1), PANEL, row, n_starts=12)
        table = fit.functionals(kind="bootstrap", n_boot=400, rng=rng).loc[HELD]
        covers.append((table["low"].to_numpy() <= true) & (true <= table["high"].to_numpy()))
    share = np.mean(covers, axis=0)
    print(f"\ncoverage of 95 % bootstrap intervals everywhere, {truth}, N=200, 800 logs: {HELD} {share}")
    assert ((share >= 0.93) & (share <= 0.97)).all()


@pytest.mark.parametrize(
    ("n_logs", "low", "high"), [(40, 0.837, 1.0), pytest.param(200, 0.893, 0.985, marks=pytest.mark.slow)]
)
def test_intervals_cover_at_about_their_level_in_a_small_study(n_logs: int, low: float, high: float) -> None:
    frame = coverage("interior", 200, n_logs=n_logs, n_boot=60, seed=7)
    table = report(frame, f"interior, N=200, {n_logs} logs")
    for name in HELD:
        # three standard errors of so many logs, and a hundredth for only 60 replicates
        assert low <= table.loc[("auto", name), "mean"] <= high, name
    assert set(frame["chosen"]) == {"wald", "bootstrap"}


@pytest.mark.parametrize("truth", TRUTHS)
def test_estimates_come_to_the_truth_as_logs_grow(truth: str) -> None:
    law, rng = TRUTHS[truth], np.random.default_rng(3)
    pmf = law.pmf(PANEL)
    true = np.array([float(law.mean), float(law.spread), float(law.prob_majority(PANEL))])
    errors = []
    for n_debates in (100, 1600, 25_600):
        tables = rng.multinomial(n_debates, pmf / pmf.sum(), size=60).astype(float)
        batch = fit_beta_binomial_mixture_batch(
            np.arange(PANEL + 1), np.full(PANEL + 1, PANEL), tables, n_starts=12
        )
        fitted = batch.distribution
        values = np.stack([fitted.mean, fitted.spread, fitted.prob_majority(PANEL)], axis=1)
        errors.append(np.sqrt(((values - true) ** 2).mean(axis=0)))
        assert fitted.pmf(PANEL).mean(axis=0) == pytest.approx(pmf, abs=4 / np.sqrt(60 * n_debates))
    rates = np.array(errors)[:-1] / np.array(errors)[1:]
    # sixteen times the debates, a quarter of the error: root N, whatever the components do
    assert (rates > 2.5).all(), errors
    assert (rates < 6.5).all(), errors


def test_normal_theory_errors_are_the_spread_of_the_estimates() -> None:
    law, rng = TRUTHS["one BB"], np.random.default_rng(4)
    pmf = law.pmf(PANEL)
    tables = rng.multinomial(400, pmf / pmf.sum(), size=300).astype(float)
    batch = fit_beta_binomial_mixture_batch(
        np.arange(PANEL + 1), np.full(PANEL + 1, PANEL), tables, n_components=1, n_starts=3
    )
    estimates = np.stack([batch.distribution.mu[:, 0], batch.distribution.rho[:, 0]], axis=1)
    claimed = np.array([batch[i].bse.to_numpy() for i in range(len(batch))])
    assert claimed.mean(axis=0) / estimates.std(axis=0, ddof=1) == pytest.approx(1.0, abs=0.13)
