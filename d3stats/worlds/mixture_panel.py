"""The mixture panel: a law of the count that drifts from round to round."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from d3stats._arrays import Floats
from d3stats._check import Probability, probability
from d3stats.agent import Request
from d3stats.models.chains.process import CountProcess
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.worlds.base import Group, PanelWorld, simplex, vector
from d3stats.worlds.draw import Drawn, answers_from_correctness, binomial_rows, count_process, sample
from d3stats.worlds.panel import PanelAgent
from d3stats.worlds.streams import Stream, synthetic_agent

__all__ = ["MixturePanel", "mixtures_by_round"]

Rows = tuple[tuple[float, ...], ...]


def _rows(name: str, given: Any) -> Rows:
    try:
        table = np.atleast_2d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be K numbers, or rows of K numbers; got {given!r}") from None
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise ValueError(f"{name} must be K finite numbers, or rows of them; got {given!r}")
    return tuple(tuple(row) for row in table.tolist())


@dataclass(frozen=True, kw_only=True)
class MixturePanel(PanelWorld):
    """A panel whose number of right votes follows a Beta-Binomial mixture in every round.

    In round t a debate has ability p_t from the mixture ``sum_k w_tk Beta(m_tk r_tk, (1 - m_tk) r_tk)``, and
    each agent is right with probability p_t, given p_t independently. The rounds of a debate are
    correlated by a Gaussian copula: its component and its quantile within the component are each ``Phi(z_t)`` with
    ``z_t = sqrt(h) z + sqrt(1 - h) e_t``, z and e_t standard Normal, for h the `persistence`. The law of each round is
    exactly the mixture, for every h. With h = 1 a debate keeps its component and quantile; with h = 0 rounds are
    independent.

    The mixture of round t is given by rows, or by a first row and a drift per round, or both. A drift adds
    ``(t - 1)`` times to the log weights (then normalised), to the log-odds of the means, and to the log
    precisions.

    Parameters
    ----------
    weights, means, precisions : sequence of K numbers, or one such sequence per round
        Means strictly between 0 and 1, precisions (alpha + beta) above 0. The last row holds for all later
        rounds; a single row holds for all rounds.
    weight_drift, mean_drift, precision_drift : sequence of K numbers, optional
        Per round.
    persistence : float
        In [0, 1].

    Notes
    -----
    A mixture for each round is the description of debates in Hu et al. (2025), who leave open how the rounds
    of one debate depend on one another; the copula here is this library's choice.

    Examples
    --------
    >>> world = MixturePanel(weights=[0.6, 0.4], means=[0.8, 0.3], precisions=[7, 4], mean_drift=[0.1, 0])
    >>> world.means, world.mean_drift
    (((0.8, 0.3),), (0.1, 0.0))
    """

    weights: Annotated[Any, _rows] = (0.62, 0.38)
    means: Annotated[Any, _rows] = (5 / 6, 1 / 3)
    precisions: Annotated[Any, _rows] = (7.2, 4.5)
    weight_drift: tuple[float, ...] = ()
    mean_drift: tuple[float, ...] = ()
    precision_drift: tuple[float, ...] = ()
    persistence: Probability = 0.8

    name: ClassVar[str] = "mixture_panel"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697, time-varying Beta-Binomial mixture"
    free: ClassVar[tuple[str, ...]] = ("weights", "means", "precisions", "persistence")

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = {len(row) for name in ("weights", "means", "precisions") for row in getattr(self, name)}
        if len(sizes) != 1:
            raise ValueError(
                f"weights, means and precisions must have one length; got lengths {sorted(sizes)}"
            )
        size = sizes.pop()
        for row in self.weights:
            if min(row) < 0 or abs(sum(row) - 1) > 1e-9:
                raise ValueError(f"weights must be >= 0 and sum to 1; got weights={row}")
        for value in chain(*self.means):
            probability("means", value, open_interval=True)
        for row in self.precisions:
            if min(row) <= 0:
                raise ValueError(f"precisions must be > 0; got precisions={row}")
        for name in ("weight_drift", "mean_drift", "precision_drift"):
            object.__setattr__(self, name, vector(name, getattr(self, name), size, "component"))

    @property
    def drifts(self) -> bool:
        """Whether any round's mixture differs from another's."""
        rows = (self.weights, self.means, self.precisions)
        moved = (*self.weight_drift, *self.mean_drift, *self.precision_drift)
        return any(len(set(given)) > 1 for given in rows) or any(moved)

    def groups(self) -> dict[str, Group]:
        size = len(self.weights[0])
        groups = self.scalars("persistence")
        # Several rows are a given course of rounds; only one row with a drift has few enough parameters.
        for name, high in (("means", 1.0), ("precisions", inf)):
            if len(getattr(self, name)) == 1:
                groups[name] = Group(partial(_row, name=name), partial(_with_row, name=name), 0.0, high)
        if len(self.weights) == 1 and size > 1:
            groups["weights"] = simplex(partial(_row, name="weights"), partial(_with_row, name="weights"))
        # Weights are normalised, so one drift of the log weights is no parameter.
        for name, n in (("mean_drift", size), ("precision_drift", size), ("weight_drift", size - 1)):
            if n:
                groups[name] = _drift(name, size, n)
        return groups

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        return ["the dependence between rounds is this world's copula, fitted to pairs of rounds"]


def _row(world: MixturePanel, name: str) -> tuple[float, ...]:
    return tuple(getattr(world, name)[0])


def _with_row(world: MixturePanel, values: tuple[float, ...], name: str) -> MixturePanel:
    changed: dict[str, Any] = {name: (values,)}
    return replace(world, **changed)


def _drift(name: str, size: int, n: int) -> Group:
    def whole(world: Any) -> tuple[float, ...]:
        return getattr(world, name) or (0.0,) * size

    return Group(
        lambda world: whole(world)[:n],
        lambda world, values: replace(world, **{name: (*values, *whole(world)[n:])}),
        width=0.5,
    )


def mixtures_by_round(world: MixturePanel, n_rounds: int) -> BetaBinomialMixture:
    """Return the mixture of each round, a batch of shape (n_rounds, components).

    Parameters
    ----------
    world : MixturePanel
        The parameters.
    n_rounds : int
        Rounds of a debate.

    Returns
    -------
    BetaBinomialMixture

    Examples
    --------
    >>> world = MixturePanel(weights=[1.0], means=[0.5], precisions=[4], mean_drift=[0.5])
    >>> mixtures_by_round(world, 3).mean.round(3).tolist()
    [0.5, 0.622, 0.731]
    """
    weight = _with_drift(np.log, world.weights, world.weight_drift, n_rounds)
    mean = _with_drift(scipy.special.logit, world.means, world.mean_drift, n_rounds)
    precision = _with_drift(np.log, world.precisions, world.precision_drift, n_rounds)
    return BetaBinomialMixture(
        scipy.special.softmax(weight, axis=1), scipy.special.expit(mean), 1 / (np.exp(precision) + 1)
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
    cut = scipy.special.ndtri(np.minimum(np.cumsum(law.weight[t]), 1.0))[:-1]
    k = (which[:, None] > cut).sum(axis=1)
    ability: Floats = scipy.special.betaincinv(law.alpha[t, k], law.beta[t, k], scipy.special.ndtr(quantile))
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
    ability p, and the probability of a path of counts is a polynomial in p of degree panel * n_rounds. A
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


class MixtureAgent(PanelAgent[MixturePanel]):
    """An agent that is right with the ability of the debate in this round, and reads no messages."""

    def __init__(self, world: MixturePanel, seed: int = 0) -> None:
        super().__init__(world, seed)
        self._law = lru_cache(maxsize=256)(partial(mixtures_by_round, world))
        self._ability = lru_cache(maxsize=4096)(self._ability_of)

    def _item(self, question: str) -> list[float]:
        """Return the Normals that the item keeps, of its component and of its quantile."""
        return self.streams.of("item", question).normals(2)

    def _ability_of(self, question: str, debate: str, number: int) -> float:
        kept, fresh = self.item(question), self.streams.of("round", debate, number).normals(2)
        mixed = [
            np.array([persistent(self.world.persistence, *pair)]) for pair in zip(kept, fresh, strict=True)
        ]
        return float(ability_in_round(self._law(number), number - 1, *mixed)[0])

    def _said(self, request: Request, stream: Stream) -> int:
        case = request.case
        return int(stream.uniform() >= self._ability(case.question, case.debate, request.round))


synthetic_agent.register(MixturePanel, MixtureAgent)
