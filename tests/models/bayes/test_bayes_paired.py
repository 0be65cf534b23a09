"""The paired posterior: exact tables, clusters, scores, and how each is checked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.stats import beta, betabinom, dirichlet, dirichlet_multinomial, multinomial, t
from simulation_ranks import simulation_ranks

from d3stats.models.bayes import stack
from d3stats.models.bayes.discordance import Discordance
from d3stats.models.bayes.paired import (
    PairedFit,
    ScorePosterior,
    TablePosterior,
    draw_tables,
    fit_paired,
    paired_model,
    table_log_likelihood,
)

RUNS: dict[str, Any] = {"draws": 150, "tune": 120, "chains": 2}
POINT = np.array([-1.0, 0.3, 0.8, 0.5, 0.7])


def pairs(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a, b and cluster that have these tables."""
    kinds = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    cluster = np.repeat(np.arange(len(tables)), tables.sum(axis=1))
    rows = np.concatenate([np.repeat(kinds, row, axis=0) for row in tables])
    return rows[:, 0], rows[:, 1], cluster


@pytest.fixture(scope="module")
def clustered() -> tuple[PairedFit, np.ndarray]:
    rng = np.random.default_rng(3)
    tables = draw_tables(rng.integers(2, 6, size=40), POINT, rng)
    a, b, cluster = pairs(tables)
    return fit_paired(a, b, cluster, **RUNS, rng=1), tables


@pytest.fixture(scope="module")
def scored() -> tuple[PairedFit, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(40), 5)
    gain = 0.3 + 0.4 * rng.standard_normal(40)[cluster] + rng.standard_normal(200)
    base = rng.standard_normal(200)
    return fit_paired(base, base + gain, cluster, **RUNS, rng=2), gain, cluster


def test_the_exact_law_is_that_of_dirichlet_draws() -> None:
    law = Discordance(3.0, 10.0, 30.0)
    draws = np.random.default_rng(1).dirichlet([3, 10, 15, 15], size=400_000)
    gain = draws[:, 1] - draws[:, 0]
    assert law.mean == pytest.approx(gain.mean(), abs=6e-4)
    assert law.sd == pytest.approx(gain.std(), rel=6e-3)
    for value in (-0.05, 0.0, 0.1, 0.3):
        assert law.cdf(value) == pytest.approx((gain <= value).mean(), abs=4e-3)


def test_the_exact_law_is_an_integral_over_the_chance_to_differ() -> None:
    law = Discordance(2.0, 5.0, 7.0)
    for value in (-0.1, 0.1, 0.3):
        exact = quad(lambda s, v=value: beta.pdf(s, 7, 7) * beta.cdf((v / s + 1) / 2, 5, 2), 0, 1, limit=200)[
            0
        ]
        assert law.cdf(value) == pytest.approx(exact, abs=1e-6)
    # At 0 only the direction counts, and that law is a Beta.
    assert law.cdf(0.0) == pytest.approx(beta.cdf(0.5, 5, 2), abs=1e-12)


def test_quantiles_invert_the_exact_law() -> None:
    law = Discordance(1.0, 1.0, 2.0)
    for p in (0.025, 0.5, 0.9):
        assert law.cdf(law.quantile(p)) == pytest.approx(p, abs=1e-10)
    assert law.quantile(0.975) == pytest.approx(-law.quantile(0.025), abs=1e-10)


def exact_by_mpmath(law: Discordance, value: float) -> float:
    """The law at a value below 0, with the singular ends of both Betas put into the variable of integration."""
    with mpmath.workdps(25):
        a, b, c = (mpmath.mpf(x) for x in (law.only_a, law.only_b, law.same))
        size, constant = mpmath.mpf(-value), mpmath.beta(a + b, c)

        def direction(s: Any) -> Any:
            return mpmath.betainc(b, a, 0, (1 - size / s) / 2, regularized=True)

        def upper(y: Any) -> Any:  # y = (1 - s)**c
            s = 1 - y ** (1 / c)
            return s ** (a + b - 1) / c * direction(s) if s > size else mpmath.mpf(0)

        top = (1 - size) ** c
        return float(
            mpmath.quad(upper, [0, top / 4, top / 2, top * 9 / 10, top * 999 / 1000, top]) / constant
        )


@pytest.mark.parametrize(
    "prior", [0.02, 1.0, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-3, 0.1, 0.5, 3.0))]
)
@pytest.mark.parametrize(
    "pairs_that_differ",
    [(0, 0), *(pytest.param(x, marks=pytest.mark.slow) for x in ((0, 1), (5, 2), (0, 30)))],
)
def test_the_exact_law_is_that_of_arbitrary_precision_for_every_prior(
    prior: float, pairs_that_differ: tuple[int, int]
) -> None:
    a, b = (n + prior for n in pairs_that_differ)
    for same in (2 * prior, 40 + 2 * prior):
        law = Discordance(a, b, same)
        for value in (-0.3, -0.05, -0.001):
            assert law.cdf(value) == pytest.approx(exact_by_mpmath(law, value), abs=1e-9)
            # The difference of A to B has the mirrored law.
            assert law.cdf(value) == pytest.approx(1 - Discordance(b, a, same).cdf(-value), abs=1e-12)


@settings(max_examples=40)
@given(
    parameters=st.tuples(*[st.floats(-3, 4).map(lambda e: 10**e)] * 3),
    chance=st.floats(0.001, 0.999),
)
@example(parameters=(0.1, 0.1, 10**0.015625), chance=0.3)  # scipy has no quantile of some of its tail
def test_quantiles_invert_the_exact_law_of_all_sizes(
    parameters: tuple[float, float, float], chance: float
) -> None:
    law = Discordance(*parameters)
    value = law.quantile(chance)
    assert -1 <= value <= 1
    if 1e-290 < abs(value) < 1 - 1e-12:
        assert law.cdf(value) == pytest.approx(chance, abs=1e-9)
    assert law.cdf(-2.0) == law.cdf(-1.0) == 0.0
    assert law.cdf(1.0) == law.cdf(2.0) == 1.0


@pytest.mark.parametrize("prior", [0.02, 0.1, 1.0])
def test_limits_are_those_of_dirichlet_draws_where_no_pair_differs(prior: float) -> None:
    fit = fit_paired([1] * 40, [1] * 40, prior=prior, rng=1)
    draws = np.random.default_rng(1).dirichlet([prior, prior, 40 + 2 * prior], size=400_000)
    gain = draws[:, 1] - draws[:, 0]
    d = fit.difference
    for limit, chance in ((d.low, 0.025), (d.high, 0.975)):
        assert (gain <= limit).mean() == pytest.approx(chance, abs=1.5e-3)
    assert fit.probability_within(0.05) == pytest.approx((np.abs(gain) < 0.05).mean(), abs=1.5e-3)
    assert any("limits depend on the prior" in note for note in fit.notes)


def test_a_small_prior_gives_checks_without_a_warning_in_clusters_too() -> None:
    rng = np.random.default_rng(2)
    density = TablePosterior(np.array([[0, 1, 3, 2]] * 4), 0.01, 0.75)
    for _ in range(200):
        point = density.draw_prior(rng)
        assert np.isfinite(point).all()
        assert (draw_tables(np.array([3, 3]), point, rng).sum(axis=1) == 3).all()


def test_pairs_without_clusters_have_the_exact_posterior() -> None:
    a = [1] * 20 + [0] * 9 + [1] * 2 + [0] * 9
    b = [1] * 20 + [1] * 9 + [0] * 2 + [0] * 9
    fit = fit_paired(a, b, rng=1)
    assert fit.difference.value == pytest.approx((10 - 3) / 44)
    assert fit.probability_above() == pytest.approx(1 - beta.cdf(0.5, 10, 3), abs=1e-10)
    assert fit.draws.mean() == pytest.approx(fit.difference.value, abs=0.006)
    assert fit.difference.low == pytest.approx(np.quantile(fit.draws, 0.025), abs=0.015)
    assert fit.probability_within(0.05) == pytest.approx((np.abs(fit.draws) < 0.05).mean(), abs=0.02)
    assert fit.converged
    assert fit.posterior_check()["inside"].all()
    assert fit.loo().n_bad == 0


def test_one_item_in_each_cluster_is_no_cluster() -> None:
    a, b = [1, 0, 1, 0, 1, 1], [1, 1, 1, 0, 0, 1]
    plain, each = fit_paired(a, b, rng=1), fit_paired(a, b, list("uvwxyz"), rng=1)
    assert plain.difference == each.difference


def test_swapping_the_runs_mirrors_the_difference() -> None:
    a, b = [1, 0, 1, 0, 0, 1], [1, 1, 1, 0, 1, 0]
    there, back = fit_paired(a, b, rng=1), fit_paired(b, a, names=("B", "A"), rng=1)
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert there.difference.low == pytest.approx(-(back.difference.high or 0))
    assert (there.difference.name, back.difference.name) == ("B - A", "A - B")


def test_identical_answers_leave_the_difference_at_zero_with_its_uncertainty() -> None:
    fit = fit_paired([1, 0, 1, 1], [1, 0, 1, 1], rng=1)
    assert fit.difference.value == pytest.approx(0.0, abs=1e-12)
    assert (fit.difference.high or 0) > 0.1
    assert fit.probability_above() == pytest.approx(0.5)


def test_a_table_of_a_cluster_has_the_dirichlet_multinomial_law() -> None:
    tables = np.array([[2, 1, 3, 0], [0, 0, 4, 1], [1, 0, 0, 0]])
    discordant, direction, right = 1 / (1 + np.exp(-POINT[:3]))
    mean = np.array([discordant * (1 - direction), discordant * direction, 1 - discordant])
    kinds = np.column_stack([tables[:, :2], tables[:, 2:].sum(axis=1)])
    spread, spread_same = POINT[3:]
    expected = [dirichlet_multinomial.logpmf(k, mean / spread**2, k.sum()) for k in kinds] + betabinom.logpmf(
        tables[:, 2], kinds[:, 2], right / spread_same**2, (1 - right) / spread_same**2
    )
    assert table_log_likelihood(tables, POINT) == pytest.approx(expected, rel=1e-10)


def test_without_spread_a_table_is_multinomial() -> None:
    tables = np.array([[2, 1, 3, 0], [0, 0, 4, 1]])
    discordant, direction, right = 1 / (1 + np.exp(-POINT[:3]))
    same = 1 - discordant
    chance = [discordant * (1 - direction), discordant * direction, same * right, same * (1 - right)]
    found = table_log_likelihood(tables, np.array([*POINT[:3], 0.0, 0.0]))
    assert found == pytest.approx(
        [float(multinomial.logpmf(row, row.sum(), chance)) for row in tables], rel=1e-10
    )


def test_tables_are_drawn_from_their_law() -> None:
    rng = np.random.default_rng(5)
    drawn = draw_tables(np.full(40_000, 2), POINT, rng)
    rows, counts = np.unique(drawn, axis=0, return_counts=True)
    chance = np.exp(table_log_likelihood(rows, POINT))
    assert chance.sum() == pytest.approx(1.0)
    statistic = ((counts - 40_000 * chance) ** 2 / (40_000 * chance)).sum()
    assert statistic < 30  # chi-square with 9 degrees of freedom


def test_the_density_is_likelihood_and_prior_with_its_gradient() -> None:
    rng = np.random.default_rng(6)
    tables = draw_tables(rng.integers(1, 7, size=30), POINT, rng)
    density = TablePosterior(tables, 1.0, 0.75)
    assert density(POINT)[1] == pytest.approx(approx_fprime(POINT, lambda v: density(v)[0], 1e-7), abs=2e-4)

    def rest(x: np.ndarray) -> float:
        share = 1 / (1 + np.exp(-x[:3]))
        prior = beta.logpdf(share, [2, 1, 1], [2, 1, 1]) + np.log(share * (1 - share))
        return float(table_log_likelihood(tables, x).sum() + prior.sum() - 0.5 * ((x[3:] / 0.75) ** 2).sum())

    other = POINT + np.array([0.3, -0.2, 0.1, 0.2, -0.3])
    assert density(POINT)[0] - density(other)[0] == pytest.approx(rest(POINT) - rest(other), abs=1e-9)


def on_a_grid(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Difference and its weight over a grid of (discordant, direction, spread): the posterior with no sampler."""
    density = TablePosterior(tables, 1.0, 0.75)
    a, b, *_ = (tables.sum(axis=0) + 1).tolist()
    n = tables.sum() + 4
    centre = np.log((a + b) / (n - a - b)), np.log(b / a)
    reach = 5.0 * np.sqrt(1 / (a + b) + 1 / (n - a - b)) + 0.5, 5.0 * np.sqrt(1 / a + 1 / b) + 0.5
    axes = [np.linspace(c - r, c + r, 13) for c, r in zip(centre, reach, strict=True)]
    points = np.stack(np.meshgrid(*axes, np.linspace(0.01, 2.2, 8), indexing="ij"), axis=-1).reshape(-1, 3)
    log = np.array([density(np.array([x[0], x[1], 0.0, x[2], 0.5]))[0] for x in points])
    share = 1 / (1 + np.exp(-points[:, :2]))
    weight = np.exp(log - log.max())
    return share[:, 0] * (2 * share[:, 1] - 1), weight / weight.sum()


def test_the_sampler_finds_the_posterior_that_a_grid_finds(clustered: Any) -> None:
    fit, tables = clustered
    values, weight = on_a_grid(tables)
    mean = weight @ values
    sd = np.sqrt(weight @ (values - mean) ** 2)
    assert fit.difference.value == pytest.approx(mean, abs=4 * sd / np.sqrt(250))
    assert fit.difference.se == pytest.approx(sd, rel=0.15)


@pytest.mark.slow  # the fast layer compares one posterior with its grid
def test_intervals_of_clustered_pairs_cover_the_difference() -> None:
    """Without a sampler: sets of tables from the prior, each with its posterior on a grid."""
    density = TablePosterior(np.ones((1, 4), dtype=np.int64), 1.0, 0.75)

    def prior(rng: np.random.Generator) -> dict[str, Any]:
        x = density.draw_prior(rng)
        discordant, direction = 1 / (1 + np.exp(-x[:2]))
        return {"difference": discordant * (2 * direction - 1), "x": x}

    def simulate(truth: Any, rng: np.random.Generator) -> np.ndarray:
        return draw_tables(np.full(25, 4), truth["x"], rng)

    def fit(tables: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        values, weight = on_a_grid(tables)
        return {"difference": rng.choice(values, p=weight, size=99) + 1e-3 * rng.standard_normal(99)}

    ranks = simulation_ranks(prior, simulate, fit, n_fits=200, n_draws=99, rng=7)
    cover = ranks.coverage(0.9)[0]
    assert not cover.excludes(0.9), str(cover)
    assert ranks.uniform()


def test_clusters_that_go_one_way_widen_the_interval(clustered: Any) -> None:
    fit, tables = clustered
    a, b, _ = pairs(tables)
    alone = fit_paired(a, b, rng=1)
    assert (fit.difference.se or 0) > (alone.difference.se or 1)
    assert fit.difference.n_clusters == 40
    assert fit.probability_above() == pytest.approx((fit.draws > 0).mean())
    assert fit.posterior_check()["inside"].all()
    assert fit.loo().n_obs == 40


def test_scores_agree_with_the_clustered_t_where_the_prior_is_weak(scored: Any) -> None:
    fit, gain, _ = scored
    means = gain.reshape(40, 5).mean(axis=1)
    se = means.std(ddof=1) / np.sqrt(40)
    low, high = t.interval(0.95, 39, means.mean(), se)
    # Student's t discounts tails that are not there: the locations agree to a small part of the error.
    assert fit.difference.value == pytest.approx(means.mean(), abs=0.35 * se)
    assert fit.difference.se == pytest.approx(se, rel=0.15)
    assert fit.difference.low == pytest.approx(low, abs=0.5 * se)
    assert fit.difference.high == pytest.approx(high, abs=0.5 * se)


def test_the_parts_of_a_score_difference_are_recovered(scored: Any) -> None:
    fit, _, _ = scored
    limits = fit.conf_int()
    for name, true in (("difference", 0.3), ("sigma", 1.0), ("sd_cluster", 0.4)):
        low, high = limits.loc[name]
        assert low < true < high, name
    assert fit.divergences == 0
    assert fit.posterior_check()["inside"].all()


def test_the_unit_of_scores_changes_nothing_but_the_unit() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal(30), rng.standard_normal(30) + 0.5
    small = fit_paired(a, b, draws=30, tune=30, chains=1, rng=1)
    large = fit_paired(1000 * a, 1000 * b, draws=30, tune=30, chains=1, rng=1)
    assert large.difference.value == pytest.approx(1000 * small.difference.value, rel=1e-6)


@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(10), 3)])
def test_the_density_of_scores_is_likelihood_and_prior_with_its_gradient(cluster: Any) -> None:
    rng = np.random.default_rng(9)
    density = ScorePosterior(rng.standard_normal(30), cluster, 2.0, 0.75)
    x, other = rng.standard_normal((2, density.free))
    assert density(x)[1] == pytest.approx(approx_fprime(x, lambda v: density(v)[0], 1e-7), abs=5e-4)

    def plain(v: np.ndarray) -> float:
        sigma, nu = np.exp(v[1]), 1 + np.exp(v[2])
        place = v[0] if cluster is None else v[0] + v[3] * v[4:][cluster]
        like = t.logpdf(density.d, nu, place, sigma).sum()
        prior = -0.5 * (v[0] / 2) ** 2 - 0.5 * sigma**2 + v[1] - (nu - 1) / 29 + v[2]
        spread = 0.0 if cluster is None else -0.5 * ((v[3] / 0.75) ** 2 + (v[4:] ** 2).sum())
        return float(like + prior + spread)

    assert density(x)[0] - density(other)[0] == pytest.approx(plain(x) - plain(other), abs=1e-8)


def test_another_interval_says_which_it_is(clustered: Any) -> None:
    fit, _ = clustered
    hdi = fit.interval(0.9, "hdi")
    assert hdi.kind == "highest-density posterior"
    assert hdi.level == 0.9
    assert (hdi.high or 0) - (hdi.low or 0) <= np.ptp(np.quantile(fit.draws, [0.05, 0.95])) + 2e-3


def test_the_same_seed_gives_the_same_bits() -> None:
    a, b, cluster = pairs(draw_tables(np.full(12, 3), POINT, np.random.default_rng(2)))
    short: dict[str, Any] = {"draws": 30, "tune": 30, "chains": 1, "rng": 5}
    one, other = (fit_paired(a, b, cluster, **short) for _ in range(2))
    assert np.array_equal(one.draws, other.draws)


def test_the_result_leads_with_the_difference(clustered: Any) -> None:
    fit, _ = clustered
    assert str(fit).startswith("B - A: ")
    held = json.loads(json.dumps(fit.to_dict()))
    assert held["estimates"][0]["name"] == "B - A"
    assert 0 <= held["probability_above_0"] <= 1
    assert fit.to_latex().startswith("\\begin{tabular}")
    assert fit.to_frame()["parameter"].iloc[0] == "difference"


def test_every_table_of_a_posterior_can_be_asked_for_by_its_title() -> None:
    fit = fit_paired([1, 0, 1, 0], [1, 1, 1, 0], rng=1)
    for title, table in fit._tables().items():
        assert fit.to_frame(title).equals(table)
        assert fit.to_latex(title).count(r"\\") == len(table) + 1
    with pytest.raises(ValueError, match="table must be one of 'parameters', 'diagnostics'; got 'x'"):
        fit.to_latex("x")


REFUSALS: list[tuple[Callable[[], Any], str]] = [
    (lambda: fit_paired([1, 0], [1]), "one value per item; got 2 and 1"),
    (lambda: fit_paired([], []), "must have items; got none"),
    (lambda: fit_paired([1, np.nan], [1, 0]), "a must be finite .* got nan at row 1"),
    (lambda: fit_paired([1, 0], [1, 1], ["q", "q"]), "at least 2 values: one cluster"),
    (lambda: fit_paired([1, 0], [1, 1], ["q"]), r"one value per item \(2\); got 1"),
    (lambda: fit_paired([1, 0], [1, 1], ["q", None]), "missing name at row 1"),
    (lambda: fit_paired([0.5, 0.2], [1.5, 1.2]), "differences must vary to have an error"),
    (lambda: fit_paired([1, 0], [1, 1], prior=0), "prior must be > 0"),
    (lambda: fit_paired([0.5, 0.2], [1, 2], scale=-1.0), "scale must be > 0"),
    (lambda: fit_paired([1, 0], [1, 1], rng=1).probability_within(0), "margin must be > 0"),
]


@pytest.mark.parametrize(("call", "said"), REFUSALS)
def test_what_the_data_cannot_carry_is_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_few_clusters_are_noted() -> None:
    fit = fit_paired([1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 2, 2], draws=30, tune=30, chains=1, rng=1)
    assert any("2 clusters say little" in note for note in fit.notes)


def test_the_pymc_model_of_tables_has_the_density_that_is_sampled() -> None:
    tables = draw_tables(np.array([1, 2, 3, 5, 5]), POINT, np.random.default_rng(4))
    density = TablePosterior(tables, 1.5, 0.6)
    model = paired_model(*pairs(tables), prior=1.5, spread=0.6)
    with stack.quiet():
        log_density = model.compile_logp(mode="FAST_COMPILE")
    gaps = []
    for x in np.random.default_rng(5).normal(size=(4, 5)):
        spreads = np.abs(x[3:])
        point = dict(zip(("discordant_logodds__", "direction_logodds__", "right_logodds__"), x, strict=False))
        point |= {"spread_log__": np.log(spreads[0]), "spread_same_log__": np.log(spreads[1])}
        gaps.append(float(log_density(point)) - np.log(spreads).sum() - density(x)[0])
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


@pytest.mark.parametrize("cluster", [None, np.repeat(np.arange(10), 3)])
def test_the_pymc_model_of_scores_has_the_density_that_is_sampled(cluster: Any) -> None:
    rng = np.random.default_rng(9)
    gain = rng.standard_normal(30)
    model = paired_model(np.zeros(30), gain, cluster, scale=2.0)
    density = ScorePosterior(gain / 2.0, cluster, 2.0, 0.75)
    with stack.quiet():
        log_density = model.compile_logp(mode="FAST_COMPILE")
    gaps = []
    for x in rng.standard_normal((3, density.free)):
        point = {"mean": 2.0 * x[0], "sigma_log__": x[1] + np.log(2.0), "nu_above_1_log__": x[2]}
        jacobian = 0.0
        if cluster is not None:
            x[3] = abs(x[3])
            jacobian = np.log(x[3])
            point |= {"sd_cluster_log__": np.log(2.0 * x[3]), "z": x[4:]}
        gaps.append(float(log_density(point)) - jacobian - density(x)[0])
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_the_pymc_model_of_one_table_has_the_exact_posterior() -> None:
    tables = np.array([[2, 9, 20, 9]])
    a, b, _ = pairs(tables)
    with stack.quiet():
        log_density = paired_model(a, b, prior=0.5).compile_logp(mode="FAST_COMPILE")
    gaps = []
    for log in np.random.default_rng(3).normal(size=(3, 4)):
        share = np.exp(log) / np.exp(log).sum()
        coordinates = (np.log(share) - np.log(share).mean())[:-1]
        value = float(log_density({"kinds_simplex__": coordinates})) - np.log(share).sum()
        gaps.append(value - dirichlet.logpdf(share, tables[0] + 0.5))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tables", "scores", "one table"])
def test_priors_as_distributions_give_the_posterior_of_the_same_priors_as_numbers(kind: str) -> None:
    pm = stack.load("pymc")
    a, b, cluster = pairs(draw_tables(np.full(20, 4), POINT, np.random.default_rng(3)))
    law: dict[str, Any] = {"spread": pm.HalfNormal.dist(0.4), "spread_same": pm.HalfNormal.dist(0.4)}
    numbers: dict[str, Any] = {"spread": 0.4}
    runs: tuple[Any, ...] = (a, b, cluster)
    if kind == "scores":
        runs = (a, b + np.random.default_rng(1).standard_normal(80), cluster)
        law = {"sd_cluster": pm.HalfNormal.dist(0.8)}
        numbers = {"spread": 0.4, "scale": 2.0}
        law |= {"mean": pm.Normal.dist(0, 4), "sigma": pm.HalfNormal.dist(2)}
    if kind == "one table":
        runs, law, numbers = (a, b), {"kinds": pm.Dirichlet.dist(np.full(4, 2.0))}, {"prior": 2.0}
    short: dict[str, Any] = {"draws": 500, "tune": 500, "chains": 2, "rng": 4}
    one, other = fit_paired(*runs, **numbers, **short), fit_paired(*runs, priors=law, **short)
    errors = np.hypot(*(fit.bse / np.sqrt(fit.to_frame()["ess_bulk"].to_numpy()) for fit in (one, other)))
    assert ((one.params - other.params).abs() < 4 * errors).all()
    assert one.probability_above() == pytest.approx(other.probability_above(), abs=0.1)


def test_a_prior_of_an_unknown_variable_is_refused() -> None:
    with pytest.raises(TypeError, match="must name variables among kinds; got 'spread'"):
        fit_paired([1, 0], [1, 1], priors={"spread": 1})
    with pytest.raises(TypeError, match="prior of kinds must be a PyMC distribution"):
        fit_paired([1, 0], [1, 1], priors={"kinds": 1.0})
