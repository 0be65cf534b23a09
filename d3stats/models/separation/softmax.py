"""Which of k arguments speaks for a side: the one a softmax ranks first, one drawn, or their weighted score.

Weights are p_i = exp(g_i / tau) / sum_j exp(g_j / tau) with the temperature tau in points of the score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from d3stats._arrays import Floats
from d3stats._words import counted, percent
from d3stats.models.separation.laws import DiscreteLaw, ScoreLaw, as_count, as_law, mean_of_max, require_mean
from d3stats.models.separation.quadrature import integrate
from d3stats.result import Result

__all__ = [
    "SelectedScore",
    "WeightedScore",
    "softmax_law",
    "softmax_mean",
    "softmax_selected",
    "softmax_weighted",
    "softmax_weights",
    "temperature_of",
]


def softmax_mean(law: Any, k: int, temperature: float) -> float:
    """Compute the expected softmax-weighted score of k independent arguments, by quadrature.

    This is also the expected score of an argument drawn with softmax weights. The absolute error is near 1e-10 times
    the scale of the scores.

    Parameters
    ----------
    law : what :func:`~d3stats.models.separation.laws.as_law` takes
        The law of one argument's score.
    k : int
        Arguments of the side, at least 1.
    temperature : float
        In points, 0 and infinity allowed: the expected best, and the mean.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When the law has no finite mean, or the temperature of a law with a density is below 1/200 of the range
        of its scores, where the limit 0 is closer than the integral.

    Notes
    -----
    An argument drawn with softmax weights is the one with the greatest g + tau * Gumbel noise (Yellott, 1977,
    Journal of Mathematical Psychology 15). With Y that sum and F its distribution function,
    E A = k * integral of E[g; Y = y] F(y)^(k-1) dy.

    Examples
    --------
    >>> from scipy import stats
    >>> [round(softmax_mean(stats.uniform(), 3, tau), 4) for tau in (0.0, 0.1, 1.0)]
    [0.75, 0.7293, 0.5544]
    """
    one = as_law(law)
    k = as_count(k)
    tau = temperature_of(temperature)
    require_mean("law", one)
    if tau == np.inf or k == 1:
        return one.mean
    if tau == 0:
        return float(mean_of_max(one, np.array([k]))[0])
    points, masses = _nodes(one, tau)
    middle = float(points @ masses)

    def integrand(y: Floats) -> Floats:
        behind = (y[:, None] - points) / tau
        # exp(-exp(-x)) underflows to 0 well before exp(-x) overflows.
        decay = np.exp(-np.maximum(behind, -700.0))
        below = np.exp(-decay)
        rate = decay * below / tau
        chosen: Floats = (
            k * (rate @ (masses * (points - middle))) * np.minimum(below @ masses, 1.0) ** (k - 1)
        )
        return chosen[:, None]

    cuts = np.union1d(one.breakpoints(), one.support)
    cuts = cuts[np.isfinite(cuts)]
    edges = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 45.0]) * tau
    low, high = float(cuts[0]) - 4.0 * tau, float(cuts[-1]) + (45.0 + np.log(k)) * tau
    inside = np.unique(np.concatenate([(cuts[:, None] + edges).ravel(), [low, high]]))
    inside = inside[(inside >= low) & (inside <= high)]
    # Pieces far shorter than the noise add nodes and no accuracy.
    keep = np.append(np.diff(inside) > 0.25 * tau, True)
    return middle + float(integrate((integrand, inside[keep] if keep.sum() > 1 else inside))[0][0])


def _nodes(law: ScoreLaw, tau: float) -> tuple[Floats, Floats]:
    """Return points and masses whose sums are the law's integrals of functions smooth on the scale of tau."""
    points, masses = law.atoms
    if not law.is_discrete:
        x, w = special.roots_legendre(20)
        cuts = law.breakpoints()
        low, high = law.quantile(np.array([1e-9, 1 - 1e-9]))
        if tau < (high - low) / 200:
            raise ValueError(
                "temperature must be 0 or at least 1/200 of the range of a score with a density "
                f"({(high - low) / 200:.3g}); got temperature={tau!r}"
            )
        cuts = np.union1d(cuts, np.arange(low, high, 2 * tau))
        half, centre = 0.5 * np.diff(cuts), 0.5 * (cuts[1:] + cuts[:-1])
        inner = (centre[:, None] + half[:, None] * x).ravel()
        density = law.density(inner)
        # On a piece of rounding width a node can fall on an end where the density is infinite.
        inner_mass = (half[:, None] * w).ravel() * np.where(np.isfinite(density), density, 0.0)
        points, masses = np.concatenate([points, inner]), np.concatenate([masses, inner_mass])
    kept = masses > 1e-30
    return points[kept], masses[kept] / masses[kept].sum()


def temperature_of(temperature: float) -> float:
    """Return a temperature as a float; 0 and infinity are limits that are allowed."""
    try:
        tau = float(temperature)
    except (TypeError, ValueError):
        raise TypeError(f"temperature must be a number; got temperature={temperature!r}") from None
    if not tau >= 0:
        raise ValueError(f"temperature must be >= 0; got temperature={temperature!r}")
    return tau


_LARGEST = 1e100


def _by_side(result: WeightedScore | SelectedScore) -> dict[str, pd.DataFrame]:
    """Return one row per side, a column per array of the result."""
    columns = {name: np.ravel(values) for name, values in vars(result).items() if name != "temperature"}
    return {"sides": pd.DataFrame(columns)}


def softmax_weights(scores: ArrayLike, temperature: float) -> Floats:
    """Return the softmax weights of the arguments of each side, which sum to one over the last axis.

    Parameters
    ----------
    scores : array, shape (..., advocates)
        Missing scores are NaN and get weight 0.
    temperature : float
        In points. 0 is the limit from above: the best share the weight. Infinity: all weigh the same.

    Returns
    -------
    ndarray of float

    Raises
    ------
    ValueError
        When a side has no score at all, or a score is infinite.

    Examples
    --------
    >>> softmax_weights([1.0, 0.0, float("nan")], 1.0).round(4).tolist()
    [0.7311, 0.2689, 0.0]
    >>> softmax_weights([2.0, 2.0, 1.0], 0.0).tolist()
    [0.5, 0.5, 0.0]
    """
    values, seen = _scores("scores", scores)
    return _weights(values, seen, temperature_of(temperature))


@dataclass(frozen=True, eq=False)
class WeightedScore(Result):
    """The softmax-weighted score of each side, between the bounds that hold at every temperature.

    Attributes
    ----------
    value : array, shape (...)
        A = sum_i p_i g_i, in points.
    mean, best : array
        Lowest and highest it can be: its limits at an infinite and at a zero temperature.
    entropy : array
        H(p) in nats.
    entropy_bound, count_bound : array
        best - temperature * H(p), at most `value`; best - temperature * log(advocates), at most that.
    slope : array
        dA / d(1/temperature) = Var_p(g), in points squared: never negative.
    n_advocates : array of int
        Scores that are not missing.
    temperature : float

    Examples
    --------
    >>> found = softmax_weighted([0.9, 0.85, 0.4], 0.1)
    >>> found.value.round(3).item(), found.mean.round(3).item(), found.best.item(), found.entropy.round(3).item()
    (0.879, 0.717, 0.9, 0.687)
    >>> bool(found.count_bound <= found.entropy_bound <= found.value <= found.best)
    True
    """

    value: Floats
    mean: Floats
    best: Floats
    entropy: Floats
    entropy_bound: Floats
    count_bound: Floats
    slope: Floats
    n_advocates: NDArray[np.int64]
    temperature: float

    @property
    def headline(self) -> str:
        """The answer, how far the weighted score lies from the mean to the best."""
        room = np.ravel(self.best - self.mean)
        gained = np.ravel(self.value - self.mean)
        share = percent(gained.sum() / room.sum(), digits=1) if room.sum() > 0 else "not available:"
        return (
            f"Softmax-weighted score at temperature {self.temperature:g}: {share} of the way from the mean "
            f"({self.mean.mean():.4g}) to the best ({self.best.mean():.4g}), over {counted(room.size, 'side')}."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return _by_side(self)


def softmax_weighted(scores: ArrayLike, temperature: float) -> WeightedScore:
    """Average the scores of each side with softmax weights; the arguments are those of :func:`softmax_weights`.

    Parameters
    ----------
    scores : array of float, shape (..., arguments)
        The judge's scores of a side's arguments, in points; NaN is missing.
    temperature : float
        In points, above 0.

    Returns
    -------
    WeightedScore

    Notes
    -----
    A grows with 1/tau, for its derivative is Var_p(g): mean <= A <= max. And tau * log sum exp(g / tau) is at
    least the maximum and equals A + tau * H(p), so A >= max - tau * H(p) >= max - tau * log k.

    Examples
    --------
    >>> round(softmax_weighted([0.9, 0.85, 0.4], 0.1).value.item(), 6)
    0.879114
    """
    tau = temperature_of(temperature)
    values, seen = _scores("scores", scores)
    p = _weights(values, seen, tau)
    count = seen.sum(axis=-1)
    known = np.where(seen, values, 0.0)
    best = np.where(seen, values, -np.inf).max(axis=-1)
    lowest = np.where(seen, values, np.inf).min(axis=-1)
    # About the best: scores far from zero lose no digits, and rounding cannot pass a bound of its own.
    behind = np.where(seen, best[..., None] - known, 0.0)
    short = (p * behind).sum(axis=-1)
    value = np.clip(best - short, lowest, best)
    entropy = -np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0).sum(axis=-1)
    entropy = np.clip(entropy, 0.0, np.log(count))
    return WeightedScore(
        value=value,
        mean=best - behind.sum(axis=-1) / count,
        best=best,
        entropy=entropy,
        entropy_bound=best - _times(tau, entropy),
        count_bound=best - _times(tau, np.log(count)),
        slope=(p * (behind - short[..., None]) ** 2).sum(axis=-1),
        n_advocates=count,
        temperature=tau,
    )


@dataclass(frozen=True, eq=False)
class SelectedScore(Result):
    """The argument with the greatest inner score of each side, and the judge's score of it.

    Attributes
    ----------
    index : array of int, shape (...)
        The first argument with the greatest inner score.
    score, best : array
        The judge's score of it, and the judge's highest score among the side's arguments, in points.
    tied : array of int
        Arguments that share the greatest inner score; where it is above 1 the choice is arbitrary.
    lowest, highest : array
        The judge's scores over those tied arguments.
    is_best : array of bool
        Whether the score is the judge's best: whether the inner argmax is an argmax of the judge.

    Examples
    --------
    >>> found = softmax_selected([0.9, 0.85, 0.4], inner=[0.2, 0.7, 0.1])
    >>> found.index.item(), found.score.item(), found.best.item(), found.is_best.item()
    (1, 0.85, 0.9, False)
    """

    index: NDArray[np.int64]
    score: Floats
    best: Floats
    tied: NDArray[np.int64]
    lowest: Floats
    highest: Floats
    is_best: NDArray[np.bool_]

    @property
    def headline(self) -> str:
        """The answer, how often the judge's best argument was presented, and what was lost."""
        lost = np.ravel(self.best - self.score)
        return (
            f"The judge's best argument was presented on {percent(float(np.mean(self.is_best)), digits=1)} of "
            f"{counted(lost.size, 'side')}; "
            f"{lost.mean():.4g} points lost on average; ties on {percent(float(np.mean(self.tied > 1)), digits=1)}."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return _by_side(self)


def softmax_selected(
    scores: ArrayLike, temperature: float = 1.0, inner: ArrayLike | None = None
) -> SelectedScore:
    """Select the argument of each side to which a softmax of inner scores gives most weight.

    Parameters
    ----------
    scores : array, shape (..., advocates)
        The judge's scores; missing ones are NaN, and their arguments are left out.
    temperature : float
        Greater than 0. It changes nothing: a softmax keeps the order at every temperature. Inner scores are
        compared themselves, for their weights may round to a tie.
    inner : array, shape (..., advocates), optional
        The aggregator's own scores, by default the judge's. Missing ones are left out.

    Returns
    -------
    SelectedScore

    Examples
    --------
    The aggregator likes the second argument, the judge the first:

    >>> found = softmax_selected([0.9, 0.8], inner=[0.1, 0.7])
    >>> found.score.item(), found.best.item(), found.is_best.item()
    (0.8, 0.9, False)
    """
    tau = temperature_of(temperature)
    if not 0 < tau < np.inf:
        raise ValueError(
            f"temperature must be > 0 and finite for a selection; got temperature={temperature!r}"
        )
    values, own, seen = _both(scores, inner)
    judged, ranked = np.where(seen, values, -np.inf), np.where(seen, own, -np.inf)
    best = judged.max(axis=-1)
    top = seen & (ranked == ranked.max(axis=-1, keepdims=True))
    index = np.argmax(top, axis=-1)
    score = np.take_along_axis(judged, index[..., None], axis=-1)[..., 0]
    return SelectedScore(
        index=index,
        score=score,
        best=best,
        tied=top.sum(axis=-1),
        lowest=np.where(top, values, np.inf).min(axis=-1),
        highest=np.where(top, values, -np.inf).max(axis=-1),
        is_best=score == best,
    )


def softmax_law(scores: ArrayLike, temperature: float, inner: ArrayLike | None = None) -> DiscreteLaw:
    """Return the law of the judge's score when one argument is drawn with softmax weights.

    With the judge's own scores as inner ones its mean is the weighted score, between mean and best. With other
    inner scores it lies between the worst and the best only.

    Parameters
    ----------
    scores : array, shape (advocates,)
        The judge's scores of one side; missing ones are NaN, and their arguments are left out.
    temperature : float
        In points of the inner score, 0 and infinity allowed.
    inner : array, shape (advocates,), optional
        The scores that the weights are made of, by default the judge's.

    Returns
    -------
    DiscreteLaw

    Examples
    --------
    >>> softmax_law([3, 4, 4], 1.0).masses.round(4).tolist()
    [0.1554, 0.8446]
    """
    values, own, seen = _both(scores, inner)
    if values.ndim != 1:
        raise ValueError(f"scores must be those of one side; got an array of shape {values.shape}")
    p = _weights(own, seen, temperature_of(temperature))
    points, at = np.unique(values[seen], return_inverse=True)
    return DiscreteLaw(points, np.bincount(at, weights=p[seen], minlength=points.size))


def _scores(name: str, scores: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {scores!r}") from None
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(f"{name} must have a last axis of advocates; got shape {values.shape}")
    if np.isinf(values).any():
        raise ValueError(f"{name} must be finite, or NaN where missing; got an infinite score")
    # So that squares of differences stay finite.
    if (np.abs(values) > _LARGEST).any():
        size = float(np.nanmax(np.abs(values)))
        raise ValueError(f"{name} must be at most {_LARGEST:g} in size; got a score of size {size!r}")
    seen = ~np.isnan(values)
    _require_seen(name, seen)
    return values, seen


def _require_seen(name: str, seen: NDArray[np.bool_]) -> None:
    empty = ~seen.any(axis=-1)
    if empty.any():
        where = tuple(int(i) for i in np.argwhere(empty)[0])
        at = f" at {where[0] if len(where) == 1 else where}" if where else ""
        raise ValueError(f"{name} must hold at least one score a side; got none{at}")


def _both(scores: ArrayLike, inner: ArrayLike | None) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    values, seen = _scores("scores", scores)
    if inner is None:
        return values, values, seen
    own, known = _scores("inner", inner)
    if own.shape != values.shape:
        raise ValueError(f"inner must have the shape of scores {values.shape}; got {own.shape}")
    _require_seen("scores and inner together", seen & known)
    return values, own, seen & known


def _weights(values: Floats, seen: NDArray[np.bool_], tau: float) -> Floats:
    best = np.where(seen, values, -np.inf).max(axis=-1, keepdims=True)
    behind = np.where(seen, best - np.where(seen, values, 0.0), 0.0)
    # A tiny temperature overflows to an infinite distance, whose weight is 0 as it should be.
    with np.errstate(over="ignore", under="ignore"):
        raw = np.where(seen, np.exp(-behind / tau) if tau else behind == 0, 0.0)
    weights: Floats = raw / raw.sum(axis=-1, keepdims=True)
    return weights


def _times(tau: float, entropy: Floats) -> Floats:
    """Return tau * entropy, with no entropy costing nothing even at an infinite temperature."""
    return np.where(entropy > 0, tau * np.where(entropy > 0, entropy, 1.0), 0.0)
