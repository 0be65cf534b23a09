"""Ranks of true values are uniform for a right fit, and only for a right one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, multinomial
from simulation_ranks import SimulationRanks, simulation_ranks

from d3stats.models.bayes import stack
from d3stats.models.bayes.accuracy import (
    AccuracyPriors,
    Cells,
    Posterior,
    collapsed,
    pattern_log_likelihood,
    population_accuracy,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]

N_SEEN = 4


def prior_mean(rng: np.random.Generator) -> dict[str, float]:
    return {"mean": rng.normal()}


def seen(truth: Mapping[str, Any], rng: np.random.Generator) -> Floats:
    return truth["mean"] + rng.normal(size=N_SEEN)


def normal_fit(data: Floats, rng: np.random.Generator, prior_sd: float = 1.0) -> dict[str, Floats]:
    """The posterior of a normal mean, with the prior that the fit believes in."""
    precision = N_SEEN + prior_sd**-2
    return {"mean": data.sum() / precision + rng.normal(size=99) / np.sqrt(precision)}


def test_a_conjugate_fit_is_calibrated() -> None:
    ranks = simulation_ranks(prior_mean, seen, normal_fit, n_fits=1000, n_draws=99, rng=1)
    assert ranks.uniform()
    cover = ranks.coverage(0.9)[0]
    assert not cover.excludes(0.9), str(cover)


def test_a_fit_with_half_the_prior_sd_is_refuted() -> None:
    ranks = simulation_ranks(
        prior_mean, seen, lambda d, rng: normal_fit(d, rng, prior_sd=0.5), n_fits=200, n_draws=99, rng=2
    )
    assert not ranks.uniform()
    assert ranks.p_holm < 1e-4
    assert ranks.coverage(0.9)[0].excludes(0.9)


@pytest.mark.slow  # the fast layer refutes another wrong fit
def test_dependent_draws_are_refuted_and_thinning_mends_them() -> None:
    def sticky(data: Floats, rng: np.random.Generator, size: int) -> dict[str, Floats]:
        # An autoregressive chain of lag-one correlation .9 with the right stationary law.
        noise = rng.normal(size=size)
        chain = np.empty(size)
        chain[0] = noise[0]
        for i in range(1, size):
            chain[i] = 0.9 * chain[i - 1] + np.sqrt(1 - 0.81) * noise[i]
        return {"mean": data.sum() / (N_SEEN + 1) + chain / np.sqrt(N_SEEN + 1)}

    raw = simulation_ranks(prior_mean, seen, lambda d, r: sticky(d, r, 19), n_fits=300, n_draws=19, rng=3)
    far = simulation_ranks(
        prior_mean, seen, lambda d, r: sticky(d, r, 19 * 40), n_fits=300, n_draws=19, rng=3
    )
    assert not raw.uniform()
    assert far.uniform()


def test_a_fit_that_ignores_the_data_is_seen_by_a_quantity_that_reads_them() -> None:
    def ignore(data: Floats, rng: np.random.Generator) -> dict[str, Floats]:
        return {"mean": rng.normal(size=99)}

    def likelihood(values: Mapping[str, Any], data: Floats) -> dict[str, float]:
        return {"log_likelihood": float(-0.5 * ((data - values["mean"]) ** 2).sum())}

    ranks = simulation_ranks(prior_mean, seen, ignore, n_fits=200, n_draws=99, quantities=likelihood, rng=4)
    blind, reading = ranks.p_values
    assert blind > 0.01
    assert reading < 1e-4


def test_counts_tie_and_their_ranks_are_still_uniform() -> None:
    def flip(rng: np.random.Generator) -> dict[str, int]:
        return {"side": int(rng.integers(2))}

    def fit(data: None, rng: np.random.Generator) -> dict[str, Any]:
        return {"side": rng.integers(2, size=19)}

    ranks = simulation_ranks(flip, lambda truth, rng: None, fit, n_fits=1000, n_draws=19, rng=5)
    assert ranks.uniform()


def test_parts_of_a_run_add_up_to_the_whole() -> None:
    whole = simulation_ranks(prior_mean, seen, normal_fit, n_fits=7, rng=6)
    parts = simulation_ranks(prior_mean, seen, normal_fit, n_fits=3, rng=6) + simulation_ranks(
        prior_mean, seen, normal_fit, n_fits=4, first=3, rng=6
    )
    assert np.array_equal(whole.ranks, parts.ranks)


def test_the_exact_law_is_the_multinomial_sum() -> None:
    ranks = SimulationRanks(("x",), np.array([[0], [0], [0], [1], [4]]), 4)
    expected = 1.0
    counts = np.array([3, 1, 0, 0, 1])
    total = 0.0
    for table in np.ndindex(6, 6, 6, 6, 6):
        if sum(table) == 5 and ((np.array(table) - expected) ** 2).sum() >= ((counts - expected) ** 2).sum():
            total += float(multinomial.pmf(table, 5, [0.2] * 5))
    assert ranks.p_values[0] == pytest.approx(total, rel=1e-10)
    assert ranks.to_frame()["law"].tolist() == ["exact"]


def test_the_test_is_chi_square_where_fits_are_many() -> None:
    rng = np.random.default_rng(7)
    ranks = SimulationRanks(("x",), rng.integers(100, size=(400, 1)), 99)
    counts = np.bincount(ranks.ranks[:, 0] // 5, minlength=20)
    statistic = ((counts - 20) ** 2 / 20).sum()
    assert ranks.p_values[0] == pytest.approx(chi2.sf(statistic, 19), rel=1e-10)


def test_uniform_ranks_are_refuted_as_often_as_promised() -> None:
    rng = np.random.default_rng(8)
    ranks = SimulationRanks(tuple(map(str, range(2000))), rng.integers(100, size=(100, 2000)), 99)
    share = (ranks.p_values <= 0.05).mean()
    assert 0.035 < share < 0.065


def test_results_are_json_ready_and_read_well() -> None:
    import json

    ranks = simulation_ranks(prior_mean, seen, normal_fit, n_fits=20, rng=9)
    assert json.loads(json.dumps(ranks.to_dict()))["n_fits"] == 20
    assert "20 fits, 99 draws each" in str(ranks)
    assert ranks.to_latex().startswith("\\begin{tabular}")
    assert ranks.estimates[0].kind == "Clopper-Pearson"


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (lambda d, rng: {"mean": np.zeros(5)}, "at least 99 draws; got 5 of mean in fit 0"),
        (lambda d, rng: {"slope": np.zeros(99)}, r"got \['slope'\]"),
        (lambda d, rng: {"mean": np.zeros((99, 2))}, "must have shape"),
        (lambda d, rng: {"mean": np.full(99, np.nan)}, "must be finite"),
        (lambda d, rng: {}, "at least one parameter"),
    ],
)
def test_a_fit_that_gives_something_else_is_refused(fit: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        simulation_ranks(prior_mean, seen, fit, n_fits=2, rng=1)


# The hierarchy over questions and protocols: 10 questions, 2 protocols, 3 answers each.
QUESTIONS, PROTOCOLS, TRIALS = 10, 2, 3
PRIORS = AccuracyPriors()
N_RANKED = 29


def hierarchy_prior(rng: np.random.Generator) -> dict[str, Any]:
    return _with_accuracies(PRIORS.draw(PROTOCOLS, rng))


def _with_accuracies(parameters: dict[str, Any]) -> dict[str, Any]:
    alpha, sd = np.asarray(parameters["alpha"]), np.asarray(parameters["sd_question"])
    rows = population_accuracy(np.atleast_2d(alpha), np.atleast_1d(sd))
    found = rows if alpha.ndim == 2 else rows[0]
    return {**parameters, "accuracy": found, "difference": found[..., 1] - found[..., 0]}


def answers(truth: Mapping[str, Any], rng: np.random.Generator) -> Cells:
    trials = np.full((QUESTIONS, PROTOCOLS), TRIALS)
    logits = truth["alpha"] + truth["sd_question"] * rng.standard_normal((QUESTIONS, 1))
    return collapsed(rng.binomial(trials, expit(logits)), trials, ("A", "B"))


def hierarchy_fit(
    cells: Cells,
    rng: np.random.Generator,
    priors: AccuracyPriors = PRIORS,
    draws: int = 6 * N_RANKED,
    tune: int = 150,
) -> dict[str, Any]:
    density = Posterior(cells, priors, interaction=False)
    idata = stack.sample_density(
        density, density.starts(1, rng), draws=draws, tune=tune, target_accept=0.8, rng=rng
    )
    x = stack.draws_of(idata, "x").reshape(-1, PROTOCOLS + 1)
    return _with_accuracies(
        {"alpha": x[:, :PROTOCOLS] @ density.basis.T, "sd_question": np.abs(x[:, PROTOCOLS])}
    )


def data_likelihood(values: Mapping[str, Any], cells: Cells) -> dict[str, float]:
    log = pattern_log_likelihood(cells, np.asarray(values["alpha"]), float(values["sd_question"]))
    return {"log_likelihood": float(cells.weight @ log)}


def hierarchy_ranks(n_fits: int, n_draws: int = N_RANKED, tune: int = 150) -> SimulationRanks:
    return simulation_ranks(
        hierarchy_prior,
        answers,
        lambda cells, rng: hierarchy_fit(cells, rng, draws=6 * n_draws, tune=tune),
        n_fits=n_fits,
        n_draws=n_draws,
        quantities=data_likelihood,
        rng=2026,
    )


@pytest.mark.slow  # ten fits; test_bayes_accuracy compares one with a grid
def test_the_hierarchy_ranks_every_quantity_over_its_whole_range() -> None:
    ranks = hierarchy_ranks(10, n_draws=9, tune=70)
    assert ranks.names == (
        "alpha[0]",
        "alpha[1]",
        "sd_question",
        "accuracy[0]",
        "accuracy[1]",
        "difference",
        "log_likelihood",
    )
    assert ranks.p_holm > 1e-4
    assert ranks.ranks.min() < 4 < 5 < ranks.ranks.max()


@pytest.mark.slow
def test_the_hierarchy_is_calibrated() -> None:
    ranks = hierarchy_ranks(210)
    assert ranks.uniform(0.01), str(ranks)


@pytest.mark.slow
def test_a_hierarchy_with_a_quarter_of_the_prior_sd_is_refuted() -> None:
    narrow = AccuracyPriors(mean_sd=0.375, protocol_sd=0.25, question_sd=0.375)
    ranks = simulation_ranks(
        hierarchy_prior,
        answers,
        lambda cells, rng: hierarchy_fit(cells, rng, narrow),
        n_fits=60,
        n_draws=N_RANKED,
        rng=11,
    )
    assert not ranks.uniform(0.01), str(ranks)
