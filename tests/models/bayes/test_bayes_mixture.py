"""The mixture's posterior: the density, what it finds, what it says."""

from __future__ import annotations

import json
import re
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from layers import sampled
from scipy import stats
from scipy.special import logsumexp

from d3stats.counts import Counts, RoundCounts
from d3stats.models.bayes import stack
from d3stats.models.bayes.kernel import MixtureDensity
from d3stats.models.bayes.mixture import MixturePriors, fit_mixture, mixture_model
from d3stats.models.bayes.rounds import rounds_model
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture
from d3stats.models.mixtures.law import BetaBinomialMixture, Cells, log_pmf

SLM7_FIRST = [14, 15, 9, 7, 14, 11, 10, 80]


def density_of(weights, k, priors=None, panel=7):
    priors = MixturePriors() if priors is None else priors
    table = np.atleast_2d(np.asarray(weights, dtype=float))
    spacing = np.sqrt(np.arange(1.0, len(table)))
    return MixtureDensity(Cells.all_of(panel), table, k, astuple(priors), spacing)


SHAPES = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 2)]


@pytest.mark.parametrize(("rounds", "k"), SHAPES)
def test_the_gradient_is_that_of_the_density(rounds, k):
    rng = np.random.default_rng(rounds + 10 * k)
    density = density_of(rng.integers(0, 40, (rounds, 8)), k, MixturePriors(2.0, 0.7, 1.5, 3.0, 0.4))
    # Steps of size exp(9) carry later rounds out of where the likelihood is smooth.
    for scale in (0.3, 1.0) if rounds > 1 else (0.3, 1.0, 3.0):
        x = rng.normal(0, scale, density.size)
        steps = 1e-6 * np.eye(density.size)
        numeric = [(density(x + h)[0] - density(x - h)[0]) / 2e-6 for h in steps]
        np.testing.assert_allclose(density(x)[1], numeric, rtol=1e-5, atol=1e-4)


def in_pymc(density, x, k):
    """A point of the kernel as the PyMC model holds it."""
    rounds = len(density.weights)
    first = {name: value[0] for name, value in density.natural(x).items() if name != "step"}
    gaps = np.diff(first["mean"], prepend=0.0, append=1.0)
    prefix = "first_" if rounds > 1 else ""
    point = {f"{prefix}rho_logodds__": np.log(first["rho"] / (1 - first["rho"]))}
    for name, share in (("weight", first["weight"]), ("gap", gaps)):
        log = np.log(share)
        point[f"{prefix}{name}_simplex__"] = (log - log.mean())[:-1]
    if k == 1:
        del point[f"{prefix}weight_simplex__"]
    if rounds > 1:
        point["step_log__"] = x[-2 if k == 1 else -3 :]
        point["innovation"] = x[density.width : -3].reshape(rounds - 1, density.width)
    return point


@sampled("rounds, k", SHAPES, slice(0, None, 2))
def test_the_compiled_density_is_that_of_the_pymc_model(rounds, k):
    rng = np.random.default_rng(rounds + 10 * k)
    priors = MixturePriors(1.5, 0.8, 1.5, 3.0, 0.4)
    weights = rng.integers(1, 40, (rounds, 8))
    density = density_of(weights, k, priors)
    counts = [Counts.from_columns(range(8), [7] * 8, weights=row) for row in weights]
    if rounds == 1:
        model = mixture_model(counts[0], n_components=k, priors=priors)
    else:
        # Steps of 1, sqrt(2), ... : rounds 1, 2, 4, ...
        numbers = np.cumsum([1, *range(1, rounds)]).tolist()
        both = RoundCounts.from_rounds(dict(zip(numbers, counts, strict=True)))
        model = rounds_model(both, n_components=k, priors=priors)
    with stack.quiet():
        log_density = model.compile_logp(mode="FAST_COMPILE")
    gaps = []
    for scale in (0.1, 0.5, 1.0, 1.5) if rounds > 1 else (0.1, 1.0, 3.0, 5.0):
        x = rng.normal(0, scale, density.size)
        value = density(x)[0]
        if rounds > 1 and k == 1:  # the step of a weight that cannot move is no variable of the model
            value -= x[-3] - 0.5 * (np.exp(x[-3]) / priors.step) ** 2
        gaps.append(value - float(log_density(in_pymc(density, x, k))))
    np.testing.assert_allclose(gaps, gaps[0], rtol=0, atol=1e-6)
    assert np.isfinite(density(rng.normal(0, 30.0, density.size))[0])


def test_the_density_is_prior_times_likelihood_times_jacobian():
    priors = MixturePriors(weight=1.5, gap=2.0, rho_a=2.0, rho_b=4.0)
    counts = np.array([3.0, 1, 0, 4, 2, 2, 1, 9])
    density = density_of(counts, 2, priors)

    def directly(x):
        v = {name: value[0] for name, value in density.natural(x).items()}
        gaps = np.diff(v["mean"], prepend=0.0, append=1.0)
        prior = (
            stats.dirichlet.logpdf(v["weight"] / v["weight"].sum(), [1.5] * 2)
            + stats.dirichlet.logpdf(gaps / gaps.sum(), [2.0] * 3)
            + stats.beta.logpdf(v["rho"], 2.0, 4.0).sum()
        )
        jacobian = np.log(v["weight"]).sum() + np.log(gaps).sum() + np.log(v["rho"] * (1 - v["rho"])).sum()
        precision = 1 / v["rho"] - 1
        log_f = [
            stats.betabinom.logpmf(np.arange(8), 7, m * c, (1 - m) * c)
            for m, c in zip(v["mean"], precision, strict=True)
        ]
        return prior + jacobian + counts @ logsumexp(log_f + np.log(v["weight"])[:, None], axis=0)

    rng = np.random.default_rng(1)
    points = rng.normal(size=(5, density.size))
    gaps = [density(x)[0] - directly(x) for x in points]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


def test_means_are_in_order_whatever_the_point():
    density = density_of(SLM7_FIRST, 3)
    means = density.natural(np.random.default_rng(1).normal(0, 10, (1000, density.size)))["mean"]
    assert (np.diff(means[:, 0], axis=-1) >= 0).all()
    drawn = MixturePriors().draw(3, 1000, np.random.default_rng(1))["mean"]
    assert (np.diff(drawn, axis=1) > 0).all()


def test_the_prior_of_precisions_is_what_its_documentation_says():
    precision = 1 / stats.beta(1, 3).ppf([0.95, 0.5, 0.05]) - 1
    np.testing.assert_allclose(precision, [0.58, 3.85, 58.0], rtol=0.02)
    rho = MixturePriors().draw(2, 20_000, np.random.default_rng(1))["rho"]
    assert (rho < 0.2063).mean() == pytest.approx(0.5, abs=0.01)


@pytest.fixture(scope="module")
def one():
    """One component and 100 debates of 7 votes."""
    weights = [5, 6, 8, 10, 12, 16, 18, 25]
    return fit_mixture(range(8), 7, weights, n_components=1, draws=500, tune=200, chains=2, rng=3)


def test_one_component_has_the_posterior_of_a_grid(one):
    mu, rho = np.meshgrid(np.linspace(0.005, 0.995, 199), np.linspace(0.0025, 0.9975, 200), indexing="ij")
    cells = Cells.all_of(7)
    logp = log_pmf(mu, rho, cells) @ one.counts.weights + stats.beta.logpdf(rho, 1, 3)
    p = np.exp(logp - logp.max())
    p /= p.sum()
    rows = one.to_frame().set_index("parameter")
    for name, values in (("mean[0]", mu), ("rho[0]", rho)):
        mean = float((p * values).sum())
        sd = float(np.sqrt((p * values**2).sum() - mean**2))
        error = sd / np.sqrt(rows.loc[name, "ess_bulk"])
        assert rows.loc[name, "mean"] == pytest.approx(mean, abs=4 * error), name
        assert rows.loc[name, "sd"] == pytest.approx(sd, rel=0.12), name


def test_a_fit_reads_like_any_other(one):
    assert list(one.params.index) == ["weight[0]", "mean[0]", "rho[0]", "accuracy", "spread", "majority"]
    assert one.params["accuracy"] == pytest.approx(one.params["mean[0]"])
    assert one.bse["accuracy"] > 0
    narrow, wide = one.conf_int(0.5), one.conf_int(0.95)
    assert (wide["low"] <= narrow["low"]).all()
    assert (wide["high"] >= narrow["high"]).all()
    shortest = one.conf_int(0.95, "hdi")
    assert (shortest.diff(axis=1)["high"] <= wide.diff(axis=1)["high"] + 1e-12).all()
    frame = one.to_frame(0.9, "hdi")
    assert set(frame["kind"]) == {"highest-density posterior"}
    assert set(frame["level"]) == {0.9}
    assert {e.kind for e in one.estimates} == {"equal-tailed posterior"}
    assert json.loads(json.dumps(one.to_dict()))["n_obs"] == 100
    assert one.to_latex().startswith(r"\begin{tabular}")
    assert "100 observations" in str(one)


def test_the_law_of_the_draws_is_a_batch(one):
    law = one.distribution
    assert isinstance(law, BetaBinomialMixture)
    assert law.weight.shape == (1000, 1)
    bands = one.pmf(5)
    assert bands["predicted"].sum() == pytest.approx(1.0)
    assert (bands["low"] < bands["predicted"]).all()
    assert one.prob_majority().value == pytest.approx(one.params["majority"])
    assert str(one.prob_majority(5)).startswith("P(S > 5/2)")


def test_predictive_checks_hold_for_data_of_the_model_and_fail_for_data_that_are_not(one):
    assert one.posterior_check(0.99)["inside"].all()
    # Half of all panels are unanimously wrong, the others split 4 to 3: no Beta-Binomial does that.
    odd = fit_mixture([0, 4], 7, [100, 100], n_components=1, draws=200, tune=200, chains=1, rng=1)
    checked = odd.posterior_check().set_index("statistic")
    assert not checked.loc["debates all right", "inside"]
    assert checked.loc["debates all right", "p_value"] < 0.02
    assert odd.loo().elpd < 200 * np.log(0.5)


def test_the_prior_predicts_anything(one):
    checked = one.prior_check().set_index("statistic")
    assert checked.loc["share of votes right", "low"] < 0.1
    assert checked.loc["share of votes right", "high"] > 0.9


def test_leaving_one_debate_out_costs_about_a_parameter_each(one):
    found = one.loo()
    fit = fit_beta_binomial_mixture(one.counts, n_components=1)
    assert found.n_obs == 100
    assert found.n_bad == 0
    assert 0.5 < found.p_loo < 4
    assert fit.llf - 5 < found.elpd < fit.llf


def test_two_components_have_the_posterior_of_the_reweighted_prior():
    """Prior draws weighted by their likelihood are the posterior, with no Jacobian and no sampler to be wrong."""
    counts = np.array([4.0, 9, 6, 12, 20, 9])
    prior = MixturePriors().draw(2, 100_000, np.random.default_rng(8))
    law = BetaBinomialMixture(prior["weight"], prior["mean"], prior["rho"])
    log = np.log(law.pmf(5)) @ counts
    share = np.exp(log - log.max())
    share /= share.sum()
    assert 1 / (share**2).sum() > 2000
    fit = fit_mixture(range(6), 5, counts, draws=250, tune=150, chains=2, rng=9)
    rows = fit.to_frame(0.8).set_index("parameter")
    for name, values in prior.items():
        for j, column in enumerate(values.T):
            row = rows.loc[f"{name}[{j}]"]
            mean = float(share @ column)
            sd = float(np.sqrt(share @ (column - mean) ** 2))
            assert row["mean"] == pytest.approx(mean, abs=4 * sd / np.sqrt(row["ess_bulk"])), (name, j)
            assert row["sd"] == pytest.approx(sd, rel=0.15), (name, j)
            assert share @ ((column > row["low"]) & (column < row["high"])) == pytest.approx(0.8, abs=0.08)


def test_without_data_the_posterior_is_the_prior():
    """Over a point's own coordinates the density without debates is that of the prior's draws."""
    priors = MixturePriors(weight=2.0, gap=1.5, rho_a=1.5, rho_b=3.0)
    density = density_of(np.zeros(8), 2, priors)
    z, y, t = np.linspace(-14, 14, 401), np.linspace(-14, 14, 61), np.linspace(-25, 14, 401)

    def on(axes):
        """Density over a grid of these coordinates, the others at 0."""
        points = np.zeros((*(len(a) for _, a in axes), density.size))
        for place, (i, a) in enumerate(axes):
            points[..., i] = a.reshape([-1 if k == place else 1 for k in range(len(axes))])
        flat = points.reshape(-1, density.size)
        log = np.array([density(x)[0] for x in flat])
        weight = np.exp(log - log.max())
        return {n: v[:, 0] for n, v in density.natural(flat).items()}, weight / weight.sum()

    drawn = priors.draw(2, 40_000, np.random.default_rng(3))
    for axes, name, columns in (
        ([(0, z)], "weight", [0]),
        ([(1, y), (2, y)], "mean", [0, 1]),
        ([(3, t)], "rho", [0]),
    ):
        values, weight = on(axes)
        for j in columns:
            for power in (1, 2):
                moment = float(weight @ values[name][:, j] ** power)
                sample = drawn[name][:, j] ** power
                assert moment == pytest.approx(sample.mean(), abs=4 * sample.std() / 200), (name, j, power)


@pytest.mark.parametrize("chains", [1, 2])
def test_one_chain_is_said_to_be_alone(chains):
    settings = {"n_components": 1, "draws": 20, "tune": 20, "chains": chains}
    said = " ".join(fit_mixture([1, 3], 5, [9, 9], **settings, rng=1).problems)
    assert ("chains must be >= 2" in said) == (chains == 1)
    assert "never moved" not in said


def test_the_weight_of_the_only_component_is_no_reason_to_doubt_the_sampler(one):
    assert one.params["weight[0]"] == 1.0
    assert one.converged, one.problems
    assert all(estimate.note == "" for estimate in one.estimates)


def test_short_chains_are_said_to_be_short():
    fit = fit_mixture(range(8), 7, SLM7_FIRST, n_components=1, draws=50, tune=50, chains=2, rng=1)
    assert not fit.converged
    assert any("effective draws must be > 400" in text for text in fit.problems)
    assert "problem: " in fit.summary()
    assert all(e.note == "the sampler did not converge" for e in fit.estimates)


def two_kinds(seed: int) -> np.ndarray:
    """Draw right votes of 100 debates of 5 votes, of two well separated Binomial kinds."""
    rng = np.random.default_rng(seed)
    return rng.binomial(5, np.where(rng.random(100) < 0.4, 0.25, 0.9))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_default_passes_its_own_checks_on_two_well_separated_kinds(seed: int) -> None:
    fit = fit_mixture(two_kinds(seed), 5, rng=seed)
    assert fit.converged, fit.problems


def test_the_number_of_draws_that_a_problem_asks_for_is_enough() -> None:
    settings = {"n_components": 1, "tune": 300, "rng": 1}
    few = fit_mixture(two_kinds(1), 5, draws=100, **settings)
    asked = {int(number) for text in few.problems for number in re.findall(r"ask with draws=(\d+)", text)}
    assert len(asked) == 1
    more = fit_mixture(two_kinds(1), 5, draws=asked.pop(), **settings)
    assert more.converged, more.problems


def test_weighted_cells_are_repeated_debates_and_a_seed_is_a_seed():
    settings = {"n_components": 1, "draws": 20, "tune": 20, "chains": 1}
    cells = fit_mixture([0, 2, 3], [3, 3, 3], [2, 1, 3], rng=5, **settings)
    rows = fit_mixture([0, 0, 2, 3, 3, 3], 3, rng=5, **settings)
    counts = fit_mixture(Counts.from_columns([0, 0, 2, 3, 3, 3], [3] * 6), rng=5, **settings)
    other = fit_mixture([0, 2, 3], 3, [2, 1, 3], rng=6, **settings)
    pd.testing.assert_series_equal(cells.params, rows.params)
    pd.testing.assert_series_equal(cells.params, counts.params)
    assert (cells.params["mean[0]"]) != other.params["mean[0]"]


def test_missing_votes_are_missing_and_not_wrong():
    """All votes that were cast are right: the mean says so, however few were cast."""
    fit = fit_mixture(
        [1, 2, 3], [1, 2, 3], [20, 20, 20], n_components=1, draws=200, tune=200, chains=1, rng=1
    )
    assert fit.params["mean[0]"] > 0.9
    assert fit.panel == 3


@pytest.fixture(scope="module")
def many():
    """A million debates of two well-separated kinds."""
    truth = BetaBinomialMixture(np.array([0.35, 0.65]), np.array([0.15, 0.85]), np.array([0.05, 0.1]))
    weights = np.random.default_rng(4).multinomial(1_000_000, truth.pmf(9))
    fit = fit_mixture(range(10), 9, weights, draws=120, tune=200, chains=2, rng=2)
    return truth, weights, fit


def test_a_million_debates_give_the_maximum_likelihood_fit(many):
    _, weights, fit = many
    best = fit_beta_binomial_mixture(range(10), 9, weights)
    rows = fit.to_frame().set_index("parameter")
    law = best.distribution
    for name, values in (("weight", law.weight), ("mean", law.mu), ("rho", law.rho)):
        for j, value in enumerate(values):
            row = rows.loc[f"{name}[{j}]"]
            assert row["mean"] == pytest.approx(value, abs=row["sd"]), (name, j)
    np.testing.assert_allclose(fit.pmf(9)["predicted"], law.pmf(9), atol=2e-4)


def test_two_kinds_are_recovered(many):
    truth, _, fit = many
    rows = fit.to_frame().set_index("parameter")
    for name, values in (("weight", truth.weight), ("mean", truth.mu), ("rho", truth.rho)):
        for j, value in enumerate(values):
            row = rows.loc[f"{name}[{j}]"]
            assert abs(row["mean"] - value) < 4 * row["sd"], (name, j)
            assert row["sd"] < 0.01
    table = fit.components()
    assert list(table["quantity"].unique()) == ["weight", "mean", "rho", "precision"]
    assert table.query("component == 2 and quantity == 'precision'")["median"].item() == pytest.approx(
        9, rel=0.1
    )


def test_the_figure_shows_observed_shares_and_components(many):
    _, weights, fit = many
    frame = fit.count_shares()
    np.testing.assert_allclose(frame["observed"], weights / weights.sum())
    ax = fit.plot()
    assert [text.get_text() for text in ax.texts] == ["mean of component 1", "mean of component 2"]


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "message"),
    [
        (([3], 2), {}, ValueError, "trials must be >= successes"),
        (([0], 0), {}, ValueError, "counts must hold at least one debate with a vote"),
        (([1], 2), {"n_components": 0}, ValueError, "n_components must be >= 1"),
        (([1], 2), {"priors": {"rho": 1}}, TypeError, "priors must be MixturePriors; got dict"),
        (([1], 2), {"chains": 0}, ValueError, "chains must be >= 1"),
        (([1], 2), {"draws": 1}, ValueError, "draws must be >= 4"),
        (([1], 2), {"target_accept": 1.0}, ValueError, "target_accept must lie strictly between"),
        (([1],), {}, TypeError, "trials must be given"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, settings, error, message):
    with pytest.raises(error, match=message):
        fit_mixture(*arguments, **settings)


@pytest.mark.parametrize("name", ["weight", "gap", "rho_a", "rho_b", "step"])
def test_priors_must_be_positive(name):
    with pytest.raises(ValueError, match=f"{name} must be > 0; got {name}=0"):
        MixturePriors(**{name: 0})


def test_the_model_says_what_it_observes_and_takes_other_priors():
    pm = stack.load("pymc")
    model = mixture_model(
        range(8), 7, SLM7_FIRST, priors={"gap": 2, "rho": lambda k: pm.Beta.dist(2, 5, shape=k)}
    )
    assert [v.name for v in model.free_RVs] == ["weight", "gap", "rho"]
    assert [v.name for v in model.observed_RVs] == ["votes"]
    drawn = stack.prior_draws(model, ["rho", "mean", "votes"], 4000, 1)
    np.testing.assert_allclose(drawn["rho"].mean(axis=0), 2 / 7, atol=0.01)
    # Gaps that are Dirichlet(2, 2, 2) put the first mean at 1/3 with variance (1/3)(2/3)/7.
    assert drawn["mean"][:, 0].var() == pytest.approx(2 / 63, rel=0.1)
    assert drawn["votes"].shape == (4000, 160)
    assert drawn["votes"].mean() / 7 == pytest.approx(0.5, abs=0.02)


@pytest.mark.slow
def test_priors_as_distributions_give_the_posterior_of_the_same_priors_as_numbers():
    pm = stack.load("pymc")
    settings = {"n_components": 1, "draws": 500, "tune": 500, "chains": 2, "rng": 4}
    counts = [5, 6, 8, 10, 12, 16, 18, 25]
    numbers = fit_mixture(range(8), 7, counts, priors=MixturePriors(rho_a=2, rho_b=9), **settings)
    laws = fit_mixture(range(8), 7, counts, priors={"rho": pm.Beta.dist(2, 9, shape=1)}, **settings)
    errors = np.hypot(*(fit.bse / np.sqrt(fit.to_frame()["ess_bulk"].to_numpy()) for fit in (numbers, laws)))
    moving = numbers.bse > 0
    assert ((numbers.params - laws.params).abs()[moving] < 4 * errors[moving]).all()
    assert laws.loo().elpd == pytest.approx(numbers.loo().elpd, abs=0.3)


def test_new_votes_are_drawn_from_the_model_with_the_draws_of_a_fit(one):
    with stack.quiet():
        drawn = stack.load("pymc").sample_posterior_predictive(
            one.idata, model=one.model, random_seed=1, progressbar=False
        )
    votes = np.asarray(drawn["posterior_predictive"]["votes"])
    assert votes.shape == (2, 500, 100)
    assert votes.mean() / 7 == pytest.approx(one.params["accuracy"], abs=0.01)
    assert (votes > 3).mean() == pytest.approx(one.params["majority"], abs=0.01)
