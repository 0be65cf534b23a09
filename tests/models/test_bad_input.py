"""Bad and thin data: a clear error or a right answer, and never a NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from layers import covering

from d3stats.counts import Counts
from d3stats.models.mixtures.fit import (
    fit_beta_binomial,
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
    likelihood_ratio_test,
)
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.models.mixtures.result import ConvergenceError, MixtureFit
from d3stats.models.mixtures.rounds import fit_rounds

NAN, INF = float("nan"), float("inf")


# ---------------------------------------------------------------- refused, in words


@pytest.mark.parametrize(
    ("successes", "trials", "weights", "message"),
    [
        ([], [], None, "at least one debate with a vote; got none"),
        ([0, 0], [0, 0], None, "at least one debate with a vote; got none"),
        ([1, 2], [3, 3], [0, 0], "at least one debate with a vote; got none"),
        ([1, 4], [3, 3], None, r"trials must be >= successes; got trials=3, successes=4 at row 1"),
        ([1, -1], [3, 3], None, r"successes must be >= 0; got successes=-1 at row 1"),
        ([1, 1], [3, -3], None, r"trials must be >= 0; got trials=-3 at row 1"),
        ([1, NAN], [3, 3], None, r"successes must be whole numbers; got successes=nan at row 1"),
        ([1, 1], [3, INF], None, r"trials must be whole numbers; got trials=inf at row 1"),
        ([1, 1.5], [3, 3], None, r"successes must be whole numbers; got successes=1.5 at row 1"),
        ([1, 1], [3, 2.5], None, r"trials must be whole numbers; got trials=2.5 at row 1"),
        ([1, 2], [3, 3], [1, -2], r"weights must be finite and >= 0; got weights=-2.0 at row 1"),
        ([1, 2], [3, 3], [1, NAN], r"weights must be finite and >= 0; got weights=nan at row 1"),
        ([1, 2], [3, 3], [1, INF], r"weights must be finite and >= 0; got weights=inf at row 1"),
        ([1, 2], [3, 3, 3], None, r"must be as long as successes \(2\); got 3"),
        ([1, 2], [3, 3], [1], r"weights must have one value per row \(2\); got 1"),
        ([[1, 2]], [[3, 3]], None, r"successes must be one-dimensional; got an array of shape \(1, 2\)"),
    ],
)
def test_data_that_cannot_be_are_refused_by_name_requirement_and_value(
    successes: Any, trials: Any, weights: Any, message: str
) -> None:
    for fit in (fit_beta_binomial, fit_beta_binomial_mixture):
        with pytest.raises(ValueError, match=message):
            fit(successes, trials, weights)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be >= 1"),
        ({"n_components": 1.5}, ValueError, "n_components must be an integer"),
        ({"n_components": True}, TypeError, "n_components must be an integer"),
        ({"n_binomial": 3}, ValueError, "n_binomial must be <= n_components"),
        ({"n_binomial": -1}, ValueError, "n_binomial must be >= 0"),
        ({"method": "magic"}, ValueError, "method must be one of 'newton', 'em'"),
        ({"n_starts": 0}, ValueError, "n_starts must be >= 1"),
        ({"max_iter": 0}, ValueError, "max_iter must be >= 1"),
        ({"tol": -1.0}, ValueError, "tol must be >= 0"),
        ({"tol": NAN}, ValueError, "tol must be finite"),
        ({"penalty": -0.1}, ValueError, "penalty must be >= 0"),
        ({"rng": "seed"}, TypeError, "rng must be a numpy Generator"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fit_beta_binomial_mixture([0, 1, 2], 3, **options)


def test_trials_are_asked_for_and_not_given_twice() -> None:
    with pytest.raises(TypeError, match="trials must be given"):
        fit_beta_binomial([1, 2])
    with pytest.raises(TypeError, match="must be left out when successes is a Counts"):
        fit_beta_binomial(Counts.from_columns([1], [2]), [2])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0, 3.0], r"must have shape \(data sets, cells\)"),
        ([[1.0, 2.0]], r"weights must have one value per row \(3\); got 2"),
        ([[1.0, NAN, 2.0]], "weights must be finite and >= 0"),
        ([[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]], "got none in row 1"),
        (np.empty((0, 3)), "must have shape"),
    ],
)
def test_a_batch_refuses_tables_that_do_not_fit_its_cells(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_beta_binomial_mixture_batch([0, 1, 2], [2, 2, 2], weights)


@pytest.mark.parametrize(
    ("weight", "mu", "rho", "message"),
    [
        ([0.5, 0.4], [0.1, 0.2], [0.1, 0.1], "weight must sum to 1"),
        ([0.5, 0.5], [0.1, 1.2], [0.1, 0.1], "mu must lie between 0 and 1"),
        ([0.5, 0.5], [0.1, NAN], [0.1, 0.1], "mu must lie between 0 and 1"),
        ([0.5, 0.5], [0.1, 0.2], [0.1], "must have one shape"),
        (1.0, 0.5, 0.5, "must have one shape"),
    ],
)
def test_a_law_refuses_parameters_out_of_range(weight: Any, mu: Any, rho: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BetaBinomialMixture(weight, mu, rho)
    with pytest.raises(ValueError, match="alpha must be finite and > 0"):
        BetaBinomialMixture.from_alpha_beta([1.0], [0.0], [1.0])


def test_debates_in_parts_are_not_resampled() -> None:
    fit = fit_beta_binomial_mixture([0, 1, 2, 3], 3, [1.5, 2.25, 3.5, 1.0])
    assert fit.boundary
    with pytest.raises(ValueError, match="weights must add up to whole debates"):
        fit.bootstrap(10)
    assert "no intervals: weights must add up to whole debates" in fit.summary()
    many = fit_beta_binomial([0, 1, 2, 3], 3, [1e5, 2e5 + 0.25, 3e5, 1e5])
    with pytest.raises(ValueError, match="weights must add up to whole debates"):
        many.bootstrap(10)


def test_a_page_about_a_fit_on_the_boundary_reads_the_same_twice() -> None:
    fit = fit_beta_binomial_mixture(range(8), 7, [31, 42, 52, 58, 66, 74, 83, 94])
    assert fit.boundary
    assert fit.summary() == fit.summary()


# ---------------------------------------------------------------- thin data, right answers


def test_one_debate_is_fitted_and_said_to_be_on_the_boundary() -> None:
    fit = fit_beta_binomial_mixture([2], [3])
    assert fit.llf == pytest.approx(np.log(3 * (2 / 3) ** 2 / 3))  # the Binomial at 2/3 does best
    assert fit.boundary
    says_no_nan(fit)


@covering(of=[(0, 0.0), (4, 0.5), (8, 1.0)], k=[1, 2])
def test_equal_counts_give_a_binomial_at_their_share(of: tuple[int, float], k: int) -> None:
    seen, mean = of
    fit = fit_beta_binomial_mixture([seen] * 20, 8, n_components=k)
    assert fit.mean == pytest.approx(mean, abs=1e-6)
    assert fit.spread == pytest.approx(0.0, abs=1e-4)
    assert fit.boundary
    binomial = 20 * (np.log(70 / 256) if seen == 4 else 0.0)
    assert fit.llf == pytest.approx(binomial, abs=1e-6)
    says_no_nan(fit)


def test_unanimous_data_say_what_they_cannot_rule_out() -> None:
    fit = fit_beta_binomial([5] * 40, 5)
    assert f"{1 - 0.05 ** (1 / 40):.3g}" in fit.summary()


def test_one_vote_per_debate_determines_the_mean_and_says_so() -> None:
    fit = fit_beta_binomial_mixture([0, 1], 1, [30, 70])
    assert fit.mean == pytest.approx(0.7, abs=1e-6)
    assert fit.llf == pytest.approx(30 * np.log(0.3) + 70 * np.log(0.7), abs=1e-8)
    assert any("rho is undetermined" in place for place in fit.boundary)
    assert "only the mean is determined" in fit.summary()
    says_no_nan(fit)


def test_data_of_one_binomial_leave_the_second_component_empty_or_alike() -> None:
    rng = np.random.default_rng(8)
    s = rng.binomial(9, 0.7, size=500)
    fit = fit_beta_binomial_mixture(s, 9)
    one = fit_beta_binomial(s, 9)
    assert fit.llf >= one.llf - 1e-8
    assert fit.mean == pytest.approx(s.mean() / 9, abs=2e-3)
    assert fit.spread < 0.08
    says_no_nan(fit)


def test_a_component_of_weight_zero_adds_nothing_to_a_law() -> None:
    one = BetaBinomialMixture.from_alpha_beta([1.0], [2], [3])
    two = BetaBinomialMixture.from_alpha_beta([1.0, 0.0], [2, 50], [3, 1])
    assert two.pmf(6) == pytest.approx(one.pmf(6), abs=1e-15)
    assert float(two.spread) == pytest.approx(float(one.spread), abs=1e-15)
    assert two.latent_cdf([0.2, 0.9]) == pytest.approx(one.latent_cdf([0.2, 0.9]), abs=1e-15)
    assert (two.sample([6] * 50, rng=1) <= 6).all()


def test_a_binomial_with_two_components_where_one_is_enough_flags_it() -> None:
    # exact shares of one Binomial: any second component is redundant
    law = BetaBinomialMixture([1.0], [0.7], [0.0])
    fit = fit_beta_binomial_mixture(range(8), 7, 1000 * law.pmf(7))
    assert fit.boundary
    assert fit.llf == pytest.approx(fit.saturated_llf, abs=1e-6)
    says_no_nan(fit)


def test_all_or_none_debates_are_fitted_on_that_boundary() -> None:
    fit = fit_beta_binomial([0, 7], 7, [30, 70])
    assert fit.boundary == ("the component is all-or-none (rho = 1)",)
    assert fit.prob_majority() == pytest.approx(0.7, abs=1e-6)
    assert fit.spread == pytest.approx(np.sqrt(0.21), abs=1e-6)
    says_no_nan(fit)


# ---------------------------------------------------------------- not converged


@pytest.mark.parametrize("method", [pytest.param("newton", marks=pytest.mark.slow), "em"])
def test_a_fit_cut_short_says_so_and_refuses_to_stand_for_more(method: str) -> None:
    seen = [96, 58, 41, 38, 45, 62, 98, 182]
    fit = fit_beta_binomial_mixture(range(8), 7, seen, method=method, max_iter=1, n_starts=3)
    assert not fit.converged
    with pytest.raises(ConvergenceError) as caught:
        fit.require_convergence()
    message = str(caught.value)
    for number in range(1, 6):
        assert f"\n{number}. " in message
    assert "raise max_iter (now 1)" in message
    assert message in fit.summary()
    assert "converged: NO" in fit.summary()


def test_a_fit_that_converged_hands_itself_on() -> None:
    fit = fit_beta_binomial([0, 1, 2, 3], 3, [3, 5, 9, 4])
    assert fit.require_convergence() is fit


# ---------------------------------------------------------------- no NaN escapes


def says_no_nan(fit: MixtureFit, n_boot: int = 40) -> None:
    law = fit.distribution
    for name, value in (
        ("weight", law.weight), ("mu", law.mu), ("rho", law.rho), ("pmf", fit.pmf()), ("cdf", fit.cdf()),
        ("params", fit.params), ("llf", fit.llf), ("aic", fit.aic), ("bic", fit.bic), ("mean", fit.mean),
        ("spread", fit.spread), ("majority", fit.prob_majority()), ("saturated", fit.saturated_llf),
        ("latent", law.latent_cdf(np.linspace(0, 1, 7))),
    ):  # fmt: skip
        assert np.isfinite(value).all(), name
    for name, value in (("alpha", law.alpha), ("beta", law.beta), ("precision", law.precision)):
        assert not np.isnan(value).any(), name  # infinite for a Binomial, by definition
    assert fit.pmf().sum() == pytest.approx(1.0, abs=1e-9)
    assert 0 <= fit.prob_majority() <= 1 + 1e-12
    whole = np.allclose(fit.counts.weights, np.rint(fit.counts.weights))
    if whole:
        for table in (fit.functionals(n_boot=n_boot, rng=1), fit.conf_int(n_boot=n_boot, rng=1)):
            numbers = table.select_dtypes("number")
            assert np.isfinite(numbers.to_numpy()).all(), table
            assert (table["low"] <= table["high"]).all()
    assert np.isfinite(fit.to_frame().to_numpy()).all()
    assert not fit.components.isna().to_numpy().any()
    assert "nan" not in repr(fit)


tables = st.lists(
    st.tuples(st.integers(0, 9), st.floats(0, 1), st.integers(0, 30)), min_size=1, max_size=10
).filter(lambda rows: any(n and w for n, _, w in rows))


@pytest.mark.parametrize("table", [[(1, 0.0, 1)], [(9, 1.0, 1), (9, 0.0, 1)], [(1, 1.0, 5), (9, 0.5, 30)]])
def test_no_table_of_few_rows_lets_a_nan_out_or_breaks_the_order_of_models(
    table: list[tuple[int, float, int]],
) -> None:
    nested_fits_are_sound(table)


@pytest.mark.slow
@settings(max_examples=20)
@given(table=tables)
@example(table=[(7, k / 7, 10) for k in range(8)])
def test_no_small_table_lets_a_nan_out_or_breaks_the_order_of_models(
    table: list[tuple[int, float, int]],
) -> None:
    nested_fits_are_sound(table)


def nested_fits_are_sound(table: list[tuple[int, float, int]]) -> None:
    trials = np.array([n for n, _, _ in table])
    successes = np.array([round(p * n) for n, p, _ in table])
    weights = np.array([w for _, _, w in table], dtype=float)
    llf = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (1, 2, 3):
            fit = fit_beta_binomial_mixture(successes, trials, weights, n_components=k, n_starts=12)
            says_no_nan(fit, n_boot=40)
            assert fit.llf <= fit.saturated_llf + 1e-6
            llf.append(fit.llf)
        if k == 1:  # a page of text takes a thousand refits where normal theory fails
            assert "Quantities that the data determine" in fit.summary()
    assert llf[1] >= llf[0] - 1e-8
    assert llf[2] >= llf[1] - 1e-8


@pytest.mark.parametrize("scale", [1e-6, 1e9])
def test_weights_of_any_size_give_the_same_law(scale: float) -> None:
    seen = np.array([96, 58, 41, 38, 45, 62, 98, 182], dtype=float)
    plain = fit_beta_binomial_mixture(range(8), 7, seen)
    scaled = fit_beta_binomial_mixture(range(8), 7, scale * seen)
    assert scaled.pmf() == pytest.approx(plain.pmf(), abs=1e-4)
    assert scaled.llf / scale == pytest.approx(plain.llf, rel=1e-7)


def test_a_large_panel_and_tiny_counts_do_not_overflow() -> None:
    fit = fit_beta_binomial_mixture([0, 3, 997, 1000], 1000, [5, 1, 2, 9])
    says_no_nan(fit)


def test_rounds_and_tests_of_components_stand_thin_data() -> None:
    from d3stats.counts import RoundCounts

    rounds = RoundCounts.from_columns([1, 1, 2, 2], [0, 3, 3, 3], [3, 3, 3, 3])
    frame = fit_rounds(rounds, n_components=1).to_frame()
    assert np.isfinite(frame[["mean", "spread", "prob_majority", "llf"]].to_numpy()).all()
    assert pd.isna(frame["ks_pmf"].iloc[0])
    assert frame["ks_pmf"].iloc[1] >= 0
    test = likelihood_ratio_test(Counts.from_columns([3, 3, 2], [3, 3, 3]), n_boot=9, rng=1)
    assert 0 < test.p_value <= 1
    with pytest.raises(ValueError, match="at least one debate with a vote"):
        fit_rounds(RoundCounts.empty())
