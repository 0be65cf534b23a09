"""The parametric bootstrap and the test of K: reproducible, independent of threads, right under the null."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from d3stats.counts import Counts
from d3stats.models.mixtures import climb as _fit
from d3stats.models.mixtures.fit import (
    fit_beta_binomial,
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
    likelihood_ratio_test,
)
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.models.mixtures.result import refit, simulate_counts

BIMODAL = [96, 58, 41, 38, 45, 62, 98, 182]


def sampled(law: BetaBinomialMixture, n_debates: int, rng: np.random.Generator, panel: int = 7) -> Counts:
    pmf = law.pmf(panel)
    weights = rng.multinomial(n_debates, pmf / pmf.sum())
    return Counts.from_columns(np.arange(panel + 1), np.full(panel + 1, panel), weights=weights)


# ---------------------------------------------------------------- the same bits


def test_the_same_seed_gives_the_same_bits() -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, BIMODAL)
    one, two, other = (fit.bootstrap(50, rng=seed) for seed in (1, 1, 2))
    assert one.mu.tobytes() == two.mu.tobytes()
    assert one.weight.tobytes() == two.weight.tobytes()
    assert one.mu.tobytes() != other.mu.tobytes()
    tables = [fit.functionals(kind="bootstrap", n_boot=50, rng=1) for _ in range(2)]
    assert tables[0].equals(tables[1])
    counts = Counts.from_columns(range(8), [7] * 8, weights=BIMODAL)
    tests = [likelihood_ratio_test(counts, n_boot=19, rng=np.random.default_rng(4)) for _ in range(2)]
    assert tests[0].draws.tobytes() == tests[1].draws.tobytes()


@pytest.mark.parametrize("method", ["newton", "em"])
def test_results_do_not_depend_on_the_number_of_threads(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    weights = rng.multinomial(80, np.array(BIMODAL) / sum(BIMODAL), size=23).astype(float)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(_fit, "_n_threads", lambda n=threads: n)
        batch = fit_beta_binomial_mixture_batch(
            range(8), [7] * 8, weights, method=method, n_starts=12, max_iter=300 if method == "em" else None
        )
        law = batch.distribution
        found.append((law.weight.tobytes(), law.mu.tobytes(), law.rho.tobytes(), batch.llf.tobytes(),
                      batch.n_iter.tobytes(), batch.n_reached_best.tobytes()))  # fmt: skip
    assert found[0] == found[1] == found[2]


# ---------------------------------------------------------------- what is drawn


def test_bootstrap_data_keep_the_panels_of_the_log() -> None:
    counts = Counts.from_columns([0, 2, 3, 1, 4], [3, 3, 3, 5, 5], weights=[10, 20, 30, 5, 9])
    law = fit_beta_binomial(counts).distribution
    cells, weights = simulate_counts(law, counts, 40, rng=1)
    for panel, total in ((3, 60), (5, 14)):
        assert (weights[:, cells.trials == panel].sum(axis=1) == total).all()
    share = weights[:, cells.trials == 3].mean(axis=0) / 60
    assert share == pytest.approx(law.pmf(3), abs=0.06)


def test_bootstrap_laws_surround_the_fit() -> None:
    fit = fit_beta_binomial(range(8), 7, BIMODAL)
    draws = fit.bootstrap(400, rng=3)
    assert draws.mean.mean() == pytest.approx(fit.mean, abs=4 * draws.mean.std() / 20)
    # where normal theory holds both errors are one
    wald, boot = fit.functionals(kind="wald"), fit.functionals(kind="bootstrap", n_boot=400, rng=3)
    assert (boot["se"] / wald["se"]).to_numpy() == pytest.approx(1.0, abs=0.15)
    widths = [(table["high"] - table["low"]).to_numpy() for table in (boot, wald)]
    assert widths[0] / widths[1] == pytest.approx(1.0, abs=0.15)
    assert boot["low"].to_numpy() == pytest.approx(wald["low"].to_numpy(), abs=0.01)


def test_normal_theory_intervals_are_symmetric_on_the_scales_that_they_are_made_on() -> None:
    table = fit_beta_binomial_mixture(range(8), 7, BIMODAL).functionals(0.9, kind="wald")
    z = stats.norm.ppf(0.95)
    for name, row in table.iterrows():
        to_line, slope = (
            (np.log, 1 / row["estimate"])
            if name == "spread"
            else (stats.logistic.ppf, 1 / (row["estimate"] * (1 - row["estimate"])))
        )
        for end, sign in (("low", -1), ("high", 1)):
            expected = to_line(row["estimate"]) + sign * z * slope * row["se"]
            assert to_line(row[end]) == pytest.approx(expected, rel=1e-9), (name, end)


def test_components_of_every_replicate_are_ordered_by_mean() -> None:
    draws = fit_beta_binomial_mixture(range(8), 7, BIMODAL, n_components=3).bootstrap(40, rng=1)
    assert (np.diff(draws.mu, axis=1) >= 0).all()
    assert draws.weight.sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_intervals_say_their_level_and_kind_and_grow_with_the_level() -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, BIMODAL)
    narrow, wide = fit.functionals(0.8), fit.functionals(0.99)
    assert (narrow["kind"] == "wald").all()
    assert set(narrow["level"]) == {0.8}
    assert (wide["low"] < narrow["low"]).all()
    assert (wide["high"] > narrow["high"]).all()
    held = fit_beta_binomial_mixture(range(8), 7, BIMODAL, n_binomial=2)
    assert (
        held.functionals(kind="bootstrap", n_boot=30, rng=1)["kind"]
        == "parametric bootstrap percentile, 30 replicates"
    ).all()


@pytest.mark.parametrize("seen", [BIMODAL, [31, 42, 52, 58, 66, 74, 83, 94]], ids=["interior", "boundary"])
def test_a_handful_of_starts_per_replicate_gives_the_intervals_of_a_full_search(seen: list[int]) -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, seen)
    cells, weights = simulate_counts(fit.distribution, fit.counts, 120, rng=2)
    quick, full = refit(fit, cells, weights), refit(fit, cells, weights, n_starts=30)
    gap = (weights * np.log(full.pmf(7) / quick.pmf(7))).sum(axis=1)
    assert gap.min() >= -0.5  # a full search may itself miss once in some hundreds
    assert (gap > 1e-3).mean() <= 0.15
    for name in ("mean", "spread"):
        ends = [np.quantile(getattr(law, name), [0.025, 0.975]) for law in (quick, full)]
        assert np.abs(ends[0] - ends[1]).max() <= 0.1 * np.std(getattr(full, name)), name
    ends = [np.quantile(law.prob_majority(7), [0.025, 0.975]) for law in (quick, full)]
    assert np.abs(ends[0] - ends[1]).max() <= 0.1 * np.std(full.prob_majority(7))


# ---------------------------------------------------------------- the test of K


def test_two_kinds_of_debate_are_told_from_one() -> None:
    law = BetaBinomialMixture([0.5, 0.5], [0.25, 0.85], [0.0, 0.0])
    test = likelihood_ratio_test(sampled(law, 300, np.random.default_rng(1)), n_boot=199, rng=1)
    assert test.p_value == pytest.approx(1 / 200)  # the smallest that 199 draws can give
    assert test.statistic > test.draws.max()
    frame = test.to_frame()
    assert frame[["k_null", "k_alternative", "n_boot"]].iloc[0].tolist() == [1, 2, 199]


def test_one_kind_of_debate_is_left_alone() -> None:
    law = BetaBinomialMixture.from_alpha_beta([1.0], [2], [1])
    test = likelihood_ratio_test(sampled(law, 300, np.random.default_rng(2)), n_boot=99, rng=1)
    assert test.p_value > 0.05
    assert (test.draws >= 0).all()


def test_three_components_are_not_found_where_there_are_two() -> None:
    law = BetaBinomialMixture([0.5, 0.5], [0.2, 0.85], [0.0, 0.0])
    test = likelihood_ratio_test(sampled(law, 400, np.random.default_rng(3)), k_null=2, n_boot=49, rng=1)
    assert (test.k_null, test.k_alternative) == (2, 3)
    assert test.p_value > 0.02


def test_one_binomial_is_refuted_where_debates_differ_and_kept_where_they_do_not() -> None:
    mixed = BetaBinomialMixture.from_alpha_beta([1.0], [6], [3])
    test = likelihood_ratio_test(
        sampled(mixed, 300, np.random.default_rng(4)), null_family="binomial", n_boot=99, rng=1
    )
    assert (test.k_null, test.k_alternative, test.p_value) == (1, 1, 0.01)
    assert test.null.distribution.rho.tolist() == [0.0]
    assert "1 Binomial against 1 Beta-Binomial" in test.summary()
    plain = BetaBinomialMixture([1.0], [0.7], [0.0])
    kept = likelihood_ratio_test(
        sampled(plain, 300, np.random.default_rng(5)), null_family="binomial", n_boot=99, rng=1
    )
    assert kept.p_value > 0.05


def test_the_binomial_null_has_the_likelihood_of_the_pooled_share() -> None:
    counts = Counts.from_columns([0, 2, 5, 7, 3], [7, 7, 7, 7, 4], weights=[3, 4, 9, 5, 2])
    test = likelihood_ratio_test(counts, null_family="binomial", n_boot=9, rng=1)
    s, n, w = (np.asarray(column, float) for column in (*counts.keys.T, counts.weights))
    share = (w @ s) / (w @ n)
    assert test.null.llf == pytest.approx(float(w @ stats.binom.logpmf(s, n, share)), rel=1e-9)


def test_the_statistic_under_one_binomial_is_half_a_chi_square() -> None:
    """Self and Liang (1987), case 5: one parameter on its boundary, half of the law at 0 and half chi-square(1)."""
    plain = BetaBinomialMixture([1.0], [0.6], [0.0])
    test = likelihood_ratio_test(
        sampled(plain, 2000, np.random.default_rng(6)), null_family="binomial", n_boot=800, rng=2
    )
    assert (test.draws < 1e-6).mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(800))
    limit = stats.chi2(1).ppf(0.9)  # exceeded by half of a tenth
    assert (test.draws > limit).mean() == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 800))


def test_a_test_between_models_in_the_wrong_order_is_refused() -> None:
    counts = Counts.from_columns(range(8), [7] * 8, weights=BIMODAL)
    with pytest.raises(ValueError, match="k_alternative must be > k_null; got 2 and 2"):
        likelihood_ratio_test(counts, k_null=2, k_alternative=2)
    with pytest.raises(ValueError, match="n_boot must be >= 1"):
        likelihood_ratio_test(counts, n_boot=0)
    with pytest.raises(ValueError, match="k_alternative must be >= k_null; got 1 and 2"):
        likelihood_ratio_test(counts, k_null=2, k_alternative=1, null_family="binomial")
    with pytest.raises(ValueError, match="null_family must be 'beta-binomial' or 'binomial'; got 'normal'"):
        likelihood_ratio_test(counts, null_family="normal")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("n_debates", [100, 400])
def test_the_p_value_is_uniform_where_one_component_is_true(n_debates: int) -> None:
    law = BetaBinomialMixture.from_alpha_beta([1.0], [2], [1])
    rng = np.random.default_rng(n_debates)
    p = np.array(
        [likelihood_ratio_test(sampled(law, n_debates, rng), n_boot=99, rng=rng).p_value for _ in range(300)]
    )
    size = float((p <= 0.05).mean())
    print(f"size at 5 %: {size:.3f}; deciles {np.quantile(p, np.arange(1, 10) / 10).round(2).tolist()}")
    assert size <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    # ties at a statistic of 0 make the law of p stop short of uniform only near 1
    below = p[p < 0.5]
    assert abs(len(below) / 300 - 0.5) < 0.1
    assert stats.kstest(below / 0.5, "uniform").pvalue > 1e-3
