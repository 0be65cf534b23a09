"""Hierarchical accuracy: the integral, the sampler and what is read off the draws."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import expit, gammaln
from scipy.stats import binom, norm

from d3stats.models.bayes import stack
from d3stats.models.bayes.accuracy import (
    AccuracyFit,
    AccuracyPriors,
    Cells,
    Posterior,
    accuracy_at_hand,
    accuracy_model,
    cells_of,
    collapsed,
    contrasts,
    fit_accuracy,
    pattern_log_likelihood,
    population_accuracy,
    value_and_gradient,
)

ALPHA = np.array([0.4, 0.8, 1.2])
RUNS = {"draws": 250, "tune": 200, "chains": 2}


def rows(n_questions: int, effects: Any, trials: int, seed: int, sd: float = 1.2) -> pd.DataFrame:
    """Answers to questions of varying difficulty, one row per question and protocol."""
    rng = np.random.default_rng(seed)
    effects = np.asarray(effects, dtype=float)
    logits = effects + sd * rng.standard_normal((n_questions, 1))
    right = rng.binomial(trials, expit(logits))
    q, p = np.meshgrid(range(n_questions), range(len(effects)), indexing="ij")
    names = np.array(list("ABCDE"))[p.ravel()]
    return pd.DataFrame(
        {"correct": right.ravel(), "trials": trials, "question": q.ravel(), "protocol": names}
    )


def as_cells(table: pd.DataFrame) -> Cells:
    return cells_of(table["correct"], table["trials"], table["question"], table["protocol"])


def with_holes() -> Cells:
    table = rows(30, ALPHA, 4, seed=1)
    table.loc[::7, ["correct", "trials"]] = 0
    return as_cells(table)


@pytest.fixture(scope="module")
def fit() -> AccuracyFit:
    table = rows(40, [0.2, 1.0], 3, seed=5)
    return fit_accuracy(
        table["correct"], table["trials"], table["question"], table["protocol"], **RUNS, rng=7
    )


@pytest.fixture(scope="module")
def grid() -> tuple[np.ndarray, np.ndarray, np.ndarray, Cells]:
    """The posterior of `fit` without a sampler: points, weights, log-likelihoods by pattern."""
    cells = as_cells(rows(40, [0.2, 1.0], 3, seed=5))
    density = Posterior(cells, AccuracyPriors(), interaction=False)
    axes = (np.linspace(-0.8, 2.2, 11), np.linspace(-2.0, 0.9, 11), np.linspace(0.01, 3.2, 15))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    log = np.array([density(point)[0] for point in points])
    weight = np.exp(log - log.max())
    like = np.array([pattern_log_likelihood(cells, density.basis @ x[:2], x[2]) for x in points])
    return points, weight / weight.sum(), like, cells


@pytest.mark.parametrize("sd", [0.3, 1.2, 3.0])
def test_the_sum_over_nodes_is_the_integral(sd: float) -> None:
    cells = with_holes()
    found = pattern_log_likelihood(cells, ALPHA, sd)
    for s, n, value in list(zip(cells.successes, cells.trials, found, strict=True))[::4]:

        def integrand(z: float, s: Any = s, n: Any = n) -> float:
            eta = ALPHA + sd * z
            log = -(s * np.logaddexp(0, -eta)).sum() - ((n - s) * np.logaddexp(0, eta)).sum()
            return float(np.exp(log - z**2 / 2) / np.sqrt(2 * np.pi))

        exact = quad(integrand, -9, 9, epsabs=0, epsrel=1e-11, limit=300, points=[0.0])[0]
        assert value == pytest.approx(np.log(exact), abs=2e-6)


@pytest.mark.parametrize("interaction", [False, True])
def test_the_gradient_is_that_of_the_density(interaction: bool) -> None:
    density = Posterior(with_holes(), AccuracyPriors(), interaction)
    x = np.array([0.7, -0.2, 0.4, 1.1, 0.5])[: 5 if interaction else 4]
    numeric = approx_fprime(x, lambda v: density(v)[0], 1e-7)
    assert density(x)[1] == pytest.approx(numeric, abs=2e-4)


def test_a_spread_and_its_negative_are_one_model() -> None:
    cells = with_holes()
    up = value_and_gradient(cells, ALPHA, 0.9, 0.4)
    down = value_and_gradient(cells, ALPHA, -0.9, -0.4)
    assert up[0] == pytest.approx(down[0], rel=1e-12)
    assert up[1][-2:] == pytest.approx(-down[1][-2:], rel=1e-9)


def test_an_interaction_without_spread_is_none() -> None:
    cells = with_holes()
    assert value_and_gradient(cells, ALPHA, 0.9, 0.0)[0] == pytest.approx(
        value_and_gradient(cells, ALPHA, 0.9)[0]
    )


def test_an_interaction_with_one_answer_a_cell_is_only_more_spread() -> None:
    # One answer of one protocol cannot tell a question's effect from its interaction.
    cells = cells_of([1, 0, 1], [1, 1, 1], ["a", "b", "c"], ["A"] * 3)
    split = value_and_gradient(cells, np.array([0.5]), 0.6, 0.8)[0]
    assert split == pytest.approx(value_and_gradient(cells, np.array([0.5]), 1.0)[0], abs=1e-8)


def test_the_population_average_is_the_integral() -> None:
    alpha, sd = np.array([[0.3, 2.0], [-1.0, 0.0]]), np.array([0.5, 2.5])
    found = population_accuracy(alpha, sd)
    for i, j in np.ndindex(2, 2):

        def integrand(z: float, a: float = alpha[i, j], s: float = sd[i]) -> float:
            return float(expit(a + s * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi))

        assert found[i, j] == pytest.approx(quad(integrand, -9, 9)[0], abs=1e-8)


def population_by_quadrature(alpha: float, sd: float) -> float:
    """Piece by piece around the effect at which an answer is as often right as wrong."""
    ends = np.clip([-40, *((np.array([-40, -5, 0, 5, 40]) - alpha) / sd), 40], -40, 40)

    def density(z: float) -> float:
        return float(expit(alpha + sd * z) * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))

    # Where the piece is wide, the normal's own bulk needs breaks of its own.
    edges = np.unique(np.concatenate([ends, np.arange(-10, 11, 2)]))
    return float(sum(quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(edges)))


@pytest.mark.parametrize("sd", [0.01, 0.5, 0.99, 1.0, 3.0, 8.0, 20.0, 100.0])
def test_population_accuracy_is_exact_at_every_spread(sd: float) -> None:
    alpha = np.array([[-3.0 * sd, -1.0, 0.0, 0.3 * sd, 1.0, 2.5]])
    found = population_accuracy(alpha, np.array([sd]))[0]
    exact = [population_by_quadrature(a, sd) for a in alpha[0]]
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12)
    assert found[2] == pytest.approx(0.5, abs=1e-14)
    # Whole numbers are effects too.
    assert population_accuracy(np.array([[1]]), np.array([sd]))[0, 0] == pytest.approx(found[4], abs=1e-14)


def log_of_sum(rows: np.ndarray) -> np.ndarray:
    top = rows.max(axis=-1)
    return np.asarray(top + np.log(np.exp(rows - top[..., None]).sum(axis=-1)))


def pattern_by_brute_force(
    s: np.ndarray, n: np.ndarray, alpha: np.ndarray, sd: float, extra: float | None
) -> float:
    """The likelihood of one question as a sum over a fine grid of its effect, and of each cell's."""
    z = np.linspace(-40, 40, 80_001 if extra is None else 3_001)
    total = -0.5 * z**2 + np.log((z[1] - z[0]) / np.sqrt(2 * np.pi))
    for k, m, a in zip(s, n, alpha, strict=True):
        eta = a + sd * z
        if extra is None:
            total = total + k * eta - m * np.logaddexp(0, eta)
            continue
        w = np.linspace(-12, 12, 1_201)
        logits = eta[:, None] + extra * w
        each = k * logits - m * np.logaddexp(0, logits) - 0.5 * w**2
        total = total + log_of_sum(each + np.log((w[1] - w[0]) / np.sqrt(2 * np.pi)))
    return float(log_of_sum(total[None])[0])


SPREADS = [(0.1, None), (0.5, None), (3.0, None), (8.0, None), (20.0, None), (60.0, None),
           (0.3, 0.3), (1.5, 0.75), (3.0, 2.0), (8.0, 4.0)]  # fmt: skip


QUICK = ((0.1, None), (3.0, None), (60.0, None), (1.5, 0.75))
"""The least spread, a usual one and the largest, and one of two spreads, in the fast layer."""


@pytest.mark.parametrize(
    ("sd", "extra"), [pytest.param(*at, marks=() if at in QUICK else pytest.mark.slow) for at in SPREADS]
)
def test_the_likelihood_of_a_question_is_that_of_a_fine_grid_at_every_spread(
    sd: float, extra: float | None
) -> None:
    rng = np.random.default_rng(8)
    # The sum over two effects of each of several cells is long.
    for size in (1, 2) if (sd, extra) in QUICK and extra is not None else (1, 2, 3):
        n = rng.integers(1, 30, size)
        # Answers that the parameters expect, and answers that they do not.
        for s in (rng.binomial(n, 0.6), np.zeros_like(n), n):
            alpha = rng.normal(0, 1.5, size)
            cells = collapsed(np.stack([s, s]), np.stack([n, n]), tuple("ABC"[:size]))
            exact = pattern_by_brute_force(s, n, alpha, sd, extra)
            found = pattern_log_likelihood(cells, alpha, sd, extra)
            near = 1e-5 if extra is None else 1e-4
            assert found == pytest.approx(exact, abs=near)
            value, gradient = value_and_gradient(cells, alpha, -sd, extra)
            assert value == pytest.approx(2 * exact, abs=2 * near)
            step = 1e-4
            numeric = [
                (pattern_log_likelihood(cells, alpha + step * e, -sd, extra)[0]
                 - pattern_log_likelihood(cells, alpha - step * e, -sd, extra)[0]) / step
                for e in np.eye(size)
            ]  # fmt: skip
            np.testing.assert_allclose(gradient[:size], numeric, atol=2e-3)


def test_a_spread_that_no_sum_can_hold_is_refused() -> None:
    cells = collapsed(np.array([[900], [20]]), np.array([[1000], [1000]]), ("A",))
    with pytest.raises(ValueError, match=r"too wide for questions of 1000 trials.*smaller spread"):
        pattern_log_likelihood(cells, np.zeros(1), 1e4)
    with pytest.raises(ValueError, match="at most 10000; got 20000"):
        pattern_log_likelihood(
            collapsed(np.array([[9], [9]]), np.array([[20_000], [9]]), ("A",)), np.zeros(1), 1.0
        )


def test_contrasts_are_orthonormal_and_sum_to_zero() -> None:
    for n in (1, 2, 5):
        c = contrasts(n)
        assert c.T @ c == pytest.approx(np.eye(n - 1))
        assert c.sum(axis=0) == pytest.approx(np.zeros(n - 1))


def test_rows_of_one_cell_add_up_in_any_order() -> None:
    table = rows(12, ALPHA, 3, seed=2)
    single = table.loc[table.index.repeat(table["trials"])].reset_index(drop=True)
    place = single.groupby(["question", "protocol"]).cumcount()
    single = single.assign(correct=(place < single["correct"]).astype(int), trials=1)
    shuffled = single.sample(frac=1, random_state=1)
    a, b = as_cells(table), as_cells(shuffled)
    order = [b.protocols.index(name) for name in a.protocols]
    assert sorted(map(tuple, np.hstack([a.successes, a.trials])[a.pattern].tolist())) == sorted(
        map(tuple, np.hstack([b.successes[:, order], b.trials[:, order]])[b.pattern].tolist())
    )


def test_questions_alike_are_one_row_with_a_weight() -> None:
    many = rows(5000, [0.0, 1.0], 2, seed=3)
    cells = as_cells(many)
    assert len(cells.weight) == 9
    assert cells.weight.sum() == 5000


def test_the_effect_of_a_question_is_drawn_from_its_posterior() -> None:
    cells = cells_of([3, 0], [4, 1], ["q", "r"], ["A", "A"])
    alpha, sd = np.array([0.2]), 1.5
    drawn = accuracy_at_hand(
        cells, np.tile(alpha, (1500, 1)), np.full(1500, sd), None, np.random.default_rng(1)
    )[:, 0]
    means = []
    for s, n in ((3, 4), (0, 1)):
        z = np.linspace(-8, 8, 4001)
        p = expit(alpha + sd * z)
        w = p**s * (1 - p) ** (n - s) * np.exp(-z * z / 2)
        means.append((w @ p) / w.sum())
    assert drawn.mean() == pytest.approx(np.mean(means), abs=4 * drawn.std() / np.sqrt(len(drawn)))


def test_an_interaction_of_no_size_changes_no_accuracy_at_hand() -> None:
    cells = with_holes()
    alpha, sd = np.tile(ALPHA, (150, 1)), np.full(150, 1.0)
    plain = accuracy_at_hand(cells, alpha, sd, None, np.random.default_rng(1))
    tiny = accuracy_at_hand(cells, alpha, sd, np.full(150, 1e-9), np.random.default_rng(2))
    assert plain.mean(axis=0) == pytest.approx(tiny.mean(axis=0), abs=4 * 0.035 / np.sqrt(75))


def test_the_sampler_finds_the_posterior_that_a_grid_finds(fit: AccuracyFit, grid: Any) -> None:
    points, weight, _, _ = grid
    alpha = points[:, :2] @ np.hstack([np.ones((2, 1)), contrasts(2)]).T
    accuracy = population_accuracy(alpha, points[:, 2])
    for draws, values in (
        (fit._flat(["effect[A]"])[:, 0], alpha[:, 0]),
        (fit._flat(["sd_question"])[:, 0], points[:, 2]),
        (fit._flat(["accuracy[B]"])[:, 0], accuracy[:, 1]),
    ):
        mean = weight @ values
        sd = np.sqrt(weight @ (values - mean) ** 2)
        assert draws.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(300))
        assert draws.std() == pytest.approx(sd, rel=0.15)


def test_leaving_out_a_question_agrees_with_the_grid(fit: AccuracyFit, grid: Any) -> None:
    _, weight, like, cells = grid
    assert fit.loo().n_bad == 0
    choices = (gammaln(cells.trials + 1) - gammaln(cells.successes + 1)).sum(axis=1)
    choices -= gammaln(cells.trials - cells.successes + 1).sum(axis=1)
    exact = cells.weight @ (choices - np.log(weight @ np.exp(-like)))
    assert fit.loo().elpd == pytest.approx(exact, abs=0.3)


def test_the_fit_converges_and_says_so(fit: AccuracyFit) -> None:
    assert fit.divergences == 0
    assert all("effective" in problem for problem in fit.problems), fit.problems
    assert fit.n_clusters == 40
    assert fit.posterior_check()["inside"].all()
    assert {"share right, A", "sd of questions' shares"} <= set(fit.prior_check()["statistic"])


def test_the_better_protocol_is_probably_found(fit: AccuracyFit) -> None:
    assert fit.probability_better("B", "A") > 0.95
    assert fit.probability_better("A", "B") == pytest.approx(1 - fit.probability_better("B", "A"))
    ranks = fit.rank_probabilities()
    assert ranks.loc["B", 1] == pytest.approx(fit.probability_better("B", "A"))
    assert ranks.sum(axis=0).tolist() == pytest.approx([1, 1])
    (gain,) = fit.differences()
    assert gain.name == "B - A, population"
    assert not gain.excludes(0.17)
    assert "P(> 0)" in gain.note


def test_the_questions_at_hand_are_known_better_than_their_population(fit: AccuracyFit) -> None:
    for here, everywhere in zip(fit.accuracy("at hand"), fit.accuracy(), strict=True):
        assert (here.se or 1) < (everywhere.se or 0)


def test_variance_shares_sum_to_one(fit: AccuracyFit) -> None:
    *shares, icc = fit.variance_shares()
    assert sum(share.value for share in shares) == pytest.approx(1.0)
    assert not icc.excludes(1.2**2 / (1.2**2 + np.pi**2 / 3))


def test_the_result_is_json_ready_and_leads_with_estimates(fit: AccuracyFit) -> None:
    held = json.loads(json.dumps(fit.to_dict()))
    assert held["estimates"][0]["name"] == "accuracy of A, population"
    assert held["estimates"][0]["kind"] == "equal-tailed posterior"
    assert fit.to_latex().startswith("\\begin{tabular}")
    assert "hierarchical accuracy" in str(fit)


def test_the_same_seed_gives_the_same_bits() -> None:
    table = rows(10, [0.2, 1.0], 2, seed=5)
    short = {"draws": 40, "tune": 40, "chains": 1, "rng": 3}
    columns = [table[name] for name in ("correct", "trials", "question", "protocol")]
    one, other = (fit_accuracy(*columns, **short) for _ in range(2))
    assert np.array_equal(one._accuracies("at hand"), other._accuracies("at hand"))


def test_few_questions_are_noted() -> None:
    fit = fit_accuracy(
        [1, 0, 1], [1, 1, 1], ["a", "b", "b"], ["A", "A", "B"], draws=40, tune=40, chains=1, rng=1
    )
    assert any("2 questions say little" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([2], [1], ["q"], ["A"]), "trials must be >= correct; got trials=1, correct=2 at row 0"),
        (([1, 0], [1, 1], ["q", None], ["A", "A"]), "question must be named; got a missing name at row 1"),
        (([1, 0], [1, 1], ["q", "q"], ["A", "B"]), "at least 2 with trials; got 1"),
        (([1, 0], [1, 1], ["q"], ["A", "B"]), "must have one length"),
        (([0, 0], [0, 0], ["q", "r"], ["A", "B"]), "at least 2 with trials; got 0"),
        (([0.5, 0], [1, 1], ["q", "r"], ["A", "B"]), "correct must be whole numbers"),
    ],
)
def test_bad_rows_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit_accuracy(*arguments)


def test_an_interaction_without_repeats_is_refused() -> None:
    with pytest.raises(ValueError, match="interaction needs repeats"):
        fit_accuracy([1, 0], [1, 1], ["q", "r"], ["A", "B"], interaction=True)


def test_priors_must_be_positive() -> None:
    with pytest.raises(ValueError, match="question_sd must be > 0"):
        AccuracyPriors(question_sd=0.0)


@pytest.mark.slow
def test_an_interaction_is_found_where_there_is_one() -> None:
    rng = np.random.default_rng(12)
    logits = np.array([0.0, 0.8]) + rng.standard_normal((60, 1)) + 1.2 * rng.standard_normal((60, 2))
    right = rng.binomial(8, expit(logits)).ravel()
    question, protocol = np.repeat(np.arange(60), 2), np.tile(["A", "B"], 60)
    fit = fit_accuracy(right, np.full(120, 8), question, protocol, interaction=True, **RUNS, rng=1)
    low, high = fit.conf_int().loc["sd_interaction"]
    assert 0.25 < low < 1.2 < high
    plain = fit_accuracy(right, np.full(120, 8), question, protocol, **RUNS, rng=1)
    assert fit.loo().elpd > plain.loo().elpd + 5


def log_density_of(interaction: bool) -> tuple[Any, Cells]:
    rows = ([3, 1, 4, 2], [4] * 4, ["q", "q", "r", "r"], ["A", "B"] * 2)
    with stack.quiet():
        return accuracy_model(*rows, interaction=interaction).compile_logp(mode="FAST_COMPILE"), cells_of(
            *rows
        )


def test_the_pymc_model_with_its_questions_integrated_out_is_the_density_that_is_sampled() -> None:
    log_density, cells = log_density_of(interaction=False)
    density = Posterior(cells, AccuracyPriors(), interaction=False)
    z = np.linspace(-8, 8, 65)
    gaps = []
    for x in np.array([[0.3, -0.4, 0.7], [-1.0, 0.8, 1.6]]):
        point = {"mean": x[0], "contrast": x[1:2], "sd_question_log__": np.log(x[2])}

        def at(a: float, b: float, point: Any = point) -> float:
            return float(log_density({**point, "z": np.array([a, b])}))

        # Given the other parameters the questions are independent: two integrals over lines.
        lines = [np.array([at(v, 0.0) for v in z]), np.array([at(0.0, v) for v in z])]
        whole = sum(log_of_sum(line[None])[0] + np.log(z[1] - z[0]) for line in lines) - at(0.0, 0.0)
        gaps.append(whole - np.log(x[2]) - density(x)[0])
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-6)


def test_the_pymc_model_with_an_interaction_is_the_binomial_law_given_its_effects() -> None:
    log_density, cells = log_density_of(interaction=True)
    rng = np.random.default_rng(4)
    gaps = []
    for _ in range(3):
        mean, contrast, z, w = rng.normal(), rng.normal(size=1), rng.normal(size=2), rng.normal(size=(2, 2))
        sds = rng.uniform(0.2, 2, size=2)
        logit = mean + contrasts(2) @ contrast + sds[0] * z[:, None] + sds[1] * w
        expected = binom.logpmf(cells.successes[cells.pattern], 4, expit(logit)).sum()
        expected += norm.logpdf([mean / 1.5, contrast[0], *(sds / (1.5, 0.75)), *z, *w.ravel()]).sum()
        point = {"mean": mean, "contrast": contrast, "z": z, "w": w}
        names = {"sd_question_log__": np.log(sds[0]), "sd_interaction_log__": np.log(sds[1])}
        gaps.append(float(log_density(point | names)) - expected - np.log(sds).sum())
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)


@pytest.mark.slow
def test_priors_as_distributions_give_the_posterior_of_the_same_priors_as_numbers() -> None:
    table = rows(40, [0.2, 1.0], 3, seed=5)
    columns = [table[name] for name in ("correct", "trials", "question", "protocol")]
    law = {"sd_question": stack.load("pymc").HalfNormal.dist(0.5)}
    numbers = fit_accuracy(*columns, priors={"question_sd": 0.5}, draws=1500, tune=500, chains=2, rng=7)
    laws = fit_accuracy(*columns, priors=law, draws=1500, tune=500, chains=2, rng=7)
    errors = np.hypot(*(fit.bse / np.sqrt(fit.to_frame()["ess_bulk"].to_numpy()) for fit in (numbers, laws)))
    assert ((numbers.params - laws.params).abs() < 4 * errors).all()
    assert laws.loo().elpd == pytest.approx(numbers.loo().elpd, abs=0.2)
