"""The mixture panel, drawn, and exact where a debate keeps everything or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.models.chains.process import CountProcess
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.simulate.binomial import binomial_rows
from d3stats.simulate.draw import Drawn, answers_from_correctness, count_process, sample
from d3stats.worlds.mixture_panel import MixturePanel

__all__ = ["mixture_panel_process", "mixtures_by_round", "sample_mixture_panel"]

Floats = NDArray[np.float64]


def mixtures_by_round(world: MixturePanel, n_rounds: int) -> BetaBinomialMixture:
    """Return the mixture of each round, a batch of shape (n_rounds, components).

    Examples
    --------
    >>> world = MixturePanel(weights=[1.0], means=[0.5], precisions=[4], mean_drift=[0.5])
    >>> mixtures_by_round(world, 3).mean.round(3).tolist()
    [0.5, 0.622, 0.731]
    """
    weight = _with_drift(np.log, world.weights, world.weight_drift, n_rounds)
    mean = _with_drift(special.logit, world.means, world.mean_drift, n_rounds)
    precision = _with_drift(np.log, world.precisions, world.precision_drift, n_rounds)
    return BetaBinomialMixture(
        special.softmax(weight, axis=1), special.expit(mean), 1 / (np.exp(precision) + 1)
    )


def _with_drift(scale: np.ufunc, rows: object, drift: tuple[float, ...], n_rounds: int) -> Floats:
    given = np.asarray(rows, dtype=np.float64)
    rounds = np.arange(n_rounds)
    with np.errstate(divide="ignore"):
        start: Floats = scale(given[np.minimum(rounds, len(given) - 1)])
    moved: Floats = np.multiply.outer(rounds, np.array(drift)) if drift else np.zeros_like(start)
    return start + moved


@sample.register
def sample_mixture_panel(
    world: MixturePanel, n_debates: int, n_rounds: int, rng: np.random.Generator
) -> Drawn:
    """Draw debates of the mixture panel."""
    law = mixtures_by_round(world, n_rounds)
    which = _persistent(world.persistence, n_debates, n_rounds, rng)
    quantile = _persistent(world.persistence, n_debates, n_rounds, rng)
    ability = np.empty((n_debates, n_rounds))
    for t in range(n_rounds):
        if t > 0 and world.persistence == 1 and not world.drifts:
            ability[:, t] = ability[:, 0]
            continue
        ability[:, t] = ability_in_round(law, t, which[:, t], quantile[:, t])
    correct = rng.random((n_debates, n_rounds, world.panel)) < ability[:, :, None]
    votes, label = answers_from_correctness(correct, rng)
    return Drawn(votes, label, ("A", "B"))


def ability_in_round(law: BetaBinomialMixture, t: int, which: Floats, quantile: Floats) -> Floats:
    """Return abilities in round t (from 0): the Normals' component, and their quantile within it."""
    cut = special.ndtri(np.minimum(np.cumsum(law.weight[t]), 1.0))[:-1]
    k = (which[:, None] > cut).sum(axis=1)
    ability: Floats = special.betaincinv(law.alpha[t, k], law.beta[t, k], special.ndtr(quantile))
    return ability


def _persistent(share: float, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Floats:
    """Draw standard Normals, shape (debates, rounds), whose correlation between rounds is `share`."""
    kept = rng.standard_normal((n_debates, 1))
    fresh = rng.standard_normal((n_debates, n_rounds))
    result: Floats = persistent(share, kept, fresh)
    return result


def persistent(share: float, kept: Any, fresh: Any) -> Any:
    """Mix the Normal that a debate keeps with that of a round."""
    return float(np.sqrt(share)) * kept + float(np.sqrt(1 - share)) * fresh


@count_process.register
def mixture_panel_process(world: MixturePanel, n_rounds: int) -> CountProcess:
    """Return the exact law of the count when a debate keeps all or nothing between rounds.

    With persistence 0 rounds are independent. With persistence 1 and no drift they are independent given the
    ability p, and the probability of a path of counts is a polynomial in p of degree panel * n_rounds: a
    Gauss-Jacobi rule with (panel * n_rounds + 1) / 2 points or more per component integrates it exactly, so
    its points are the classes.

    Raises
    ------
    TypeError
        For other persistence, or persistence 1 with drift: no finite number of classes gives that law.
    """
    n = world.panel
    if world.persistence == 0:
        laws = mixtures_by_round(world, n_rounds).pmf(n)
        laws = laws / laws.sum(axis=1, keepdims=True)
        steps = np.repeat(laws[1:, None, :], n + 1, axis=1) if n_rounds > 1 else np.eye(n + 1)[None]
        return CountProcess.symmetric(laws[:1], steps[None], n_rounds=n_rounds)
    if world.persistence < 1 or world.drifts:
        raise TypeError(
            "world must have persistence 0, or persistence 1 without drift, or its count is not Markov within "
            f"a class; got persistence={world.persistence:g}{' with drift' if world.drifts else ''}"
        )
    law = mixtures_by_round(world, 1)
    points, weights = _gauss(law, n * n_rounds // 2 + 1)
    rows = binomial_rows(np.array([n]), points[:, None])[:, 0]
    return CountProcess.symmetric(
        rows,
        np.repeat(rows[:, None, :], n + 1, axis=1),
        n_rounds=n_rounds,
        weights=weights / weights.sum(),
        names=tuple(f"ability {p:.4f}" for p in points),
    )


def _gauss(law: BetaBinomialMixture, size: int) -> tuple[Floats, Floats]:
    """Return abilities and weights that integrate polynomials of degree 2 size - 1 exactly."""
    rules = [beta_rule(a, b, size) for a, b in zip(law.alpha[0], law.beta[0], strict=True)]
    points = np.concatenate([points for points, _ in rules])
    return points, np.concatenate([w * mass for w, (_, mass) in zip(law.weight[0], rules, strict=True)])


def beta_rule(alpha: float, beta: float, size: int) -> tuple[Floats, Floats]:
    """Return the Gauss rule of the Beta(alpha, beta) law: points in [0, 1] and weights that sum to 1.

    By the eigenvectors of the Jacobi matrix (Golub and Welsch, 1969), whose entries stay finite where the
    gamma functions of a closed form overflow and at alpha + beta = 1, where its recurrence divides by zero.
    """
    a, b = beta - 1, alpha - 1
    k = np.arange(1, size)
    twice = 2 * k + a + b
    centre = np.concatenate([[(b - a) / (a + b + 2)], (b - a) * (b + a) / (twice * (twice + 2))])
    square = 4 * (1 + a) * (1 + b) / ((2 + a + b) ** 2 * (3 + a + b)) * np.ones(size - 1)
    k, twice = k[1:], twice[1:]
    square[1:] = 4 * k * (k + a) * (k + b) * (k + a + b) / (twice**2 * (twice + 1) * (twice - 1))
    side = np.sqrt(square)
    points, vectors = np.linalg.eigh(np.diag(centre) + np.diag(side, 1) + np.diag(side, -1))
    return np.clip((points + 1) / 2, 0.0, 1.0), vectors[0] ** 2
