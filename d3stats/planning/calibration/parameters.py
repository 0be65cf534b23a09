"""The free parameters of a world as points of the real line, and a log reduced to what worlds are compared by.

Each world's own file lists the parameters that may be free (:meth:`~d3stats.worlds.World.groups`). A *group*
is what a user names in `free`; a vector group (one number per class) makes several parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import World
from d3stats.worlds.base import completed

__all__ = ["Fit", "JTest", "Observed", "Space", "default_free", "observe"]

INF = float("inf")


def default_free(world: World) -> tuple[str, ...]:
    """Return the parameters that are free by default, because counts or scores can separate them."""
    allowed = world.groups()
    return tuple(name for name in world.free if name in allowed)


_EDGE = 9.0
"""How far log-odds and log ratios may go: a probability of .0001."""
_LOWEST, _HIGHEST = 1e-2, 1e3
"""Where positive numbers end: below and above, no pilot tells them from 0 and infinity."""


class Space:
    """The free parameters of a world, on their own scale and on the real line.

    Parameters
    ----------
    world : World
        The template; what is not free stays as it is here.
    free : sequence of str
    """

    def __init__(self, world: World, free: Sequence[str]) -> None:
        allowed = world.groups()
        unknown = [name for name in free if name not in allowed]
        if isinstance(free, str) or unknown or not free:
            listed = ", ".join(sorted(allowed))
            got = repr(free) if isinstance(free, str) or not free else ", ".join(map(repr, unknown))
            raise ValueError(f"free must be names out of {listed} for {type(world).__name__}; got {got}")
        if len(set(free)) < len(free):
            raise ValueError(f"free must name each parameter once; got {tuple(free)!r}")
        self.template = world
        self.free = tuple(free)
        self._groups = [allowed[name] for name in self.free]
        self._sizes = [len(g.read(world)) for g in self._groups]
        self._cuts = np.cumsum(self._sizes)[:-1].tolist()
        parts = list(zip(self.free, self._groups, self._sizes, strict=True))
        self.names = tuple(
            name if size == 1 and not group.simplex else f"{name}_{i + 1}"
            for name, group, size in parts
            for i in range(size)
        )
        self.low = np.array([g.low for _, g, n in parts for _ in range(n)])
        self.high = np.array([g.high for _, g, n in parts for _ in range(n)])
        self.width = np.array([g.width for _, g, n in parts for _ in range(n)])
        self.closed = np.array([g.closed for _, g, n in parts for _ in range(n)])
        positive = np.isinf(self.high) & np.isfinite(self.low)
        both = np.isfinite(self.high) & np.isfinite(self.low)
        self.box_low: Floats = np.where(positive, np.log(_LOWEST), np.where(both, -_EDGE, -INF))
        self.box_high: Floats = np.where(positive, np.log(_HIGHEST), np.where(both, _EDGE, INF))

    def __len__(self) -> int:
        return len(self.names)

    def values(self, x: Floats) -> Floats:
        """Return the parameters on their own scale."""
        out = []
        for group, part in zip(self._groups, np.split(x, self._cuts), strict=True):
            if group.simplex:
                out.append(scipy.special.softmax(np.append(part, 0.0))[:-1])
            elif np.isfinite(group.high):
                out.append(group.low + (group.high - group.low) * scipy.special.expit(part))
            elif np.isfinite(group.low):
                with np.errstate(over="ignore"):  # an upper limit beyond all numbers is infinite
                    out.append(group.low + np.exp(part))
            else:
                out.append(part)
        return np.concatenate(out)

    def start(self) -> Floats:
        """Return the template's parameters on the real line, moved off the bounds."""
        out = []
        for group in self._groups:
            values = np.array(group.read(self.template))
            if group.simplex:
                whole = np.maximum(completed(tuple(values.tolist())), 1e-3)
                out.append(np.log(whole[:-1] / whole[-1]))
            elif np.isfinite(group.high):
                share = (values - group.low) / (group.high - group.low)
                out.append(scipy.special.logit(np.clip(share, 0.02, 0.98)))
            elif np.isfinite(group.low):
                out.append(np.log(np.clip(values - group.low, 0.05, 0.5 * _HIGHEST)))
            else:
                out.append(values)
        return np.concatenate(out)

    def world(self, x: Floats) -> Any:
        """Return the template with these parameters."""
        made: Any = self.template
        for group, part in zip(self._groups, np.split(self.values(x), self._cuts), strict=True):
            made = group.write(made, tuple(part.tolist()))
        return made

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivative of :meth:`values`, by central differences."""
        h = 1e-6
        columns = [(self.values(x + h * e) - self.values(x - h * e)) / (2 * h) for e in np.eye(len(x))]
        return np.stack(columns, axis=1)

    def given(self) -> Floats:
        """Return the template's own values."""
        return np.concatenate([group.read(self.template) for group in self._groups])

    def near_zero(self, sd: Floats) -> NDArray[np.bool_]:
        """Say which parameters may be 0 and are less than two errors of their log away from it."""
        result: NDArray[np.bool_] = self.closed & (sd > 0.5)
        return result

    def drawn(self, x: Floats, root: Floats, sd: Floats, rng: np.random.Generator) -> Floats:
        """Draw parameters from their estimated law, on the real line; `root` is a root of the covariance."""
        z = root @ rng.standard_normal(len(x))
        plain = self.near_zero(sd)
        # 1 + z instead of exp(z): symmetric on the parameter's own scale, and cut at 0.
        z = np.where(plain, np.log(np.maximum(1 + z, 1e-6)), z)
        drawn: Floats = np.clip(x + z, self.box_low, self.box_high)
        return drawn

    def limits(self, x: Floats, sd: Floats, bse: Floats, z: float) -> Floats:
        """Return ``z`` errors either way, made on the real line and mapped back, shape (parameters, 2).

        A weight's limits are made on its own log-odds, because its log ratio depends on the other weights. Limits of
        a number that may be 0 are made on its own scale and cut at 0, because its log tends to minus infinity.
        """
        values = self.values(x)
        limits = np.column_stack([self.values(x - z * sd), self.values(x + z * sd)])
        plain = self.near_zero(sd)
        limits[plain] = np.maximum(
            (values[:, None] + np.outer(z * bse, [-1.0, 1.0]))[plain], self.low[plain, None]
        )
        at = 0
        for group, size in zip(self._groups, self._sizes, strict=True):
            if group.simplex:
                part = slice(at, at + size)
                share = values[part]
                reach = z * bse[part] / (share * (1 - share))
                odds = scipy.special.logit(share)
                limits[part] = scipy.special.expit(np.column_stack([odds - reach, odds + reach]))
            at += size
        return limits

    def on_bound(self, x: Floats) -> NDArray[np.bool_]:
        """Say which parameters ended on the edge of what is searched."""
        result: NDArray[np.bool_] = (x < self.box_low + 0.05) | (x > self.box_high - 0.05)
        return result


class JTest(NamedTuple):
    """The test of overidentification (Hansen, 1982, Econometrica 50).

    Attributes
    ----------
    statistic : float
        Distance of the pilot's moments from the world's that no parameters close.
    df : int
        Number of moments minus number of parameters.
    p_value : float
        Under a chi-squared law: right for many questions.
    """

    statistic: float
    df: int
    p_value: float


class Fit(NamedTuple):
    """Where a search ended.

    Attributes
    ----------
    x : ndarray, shape (parameters,)
    covariance : ndarray, shape (parameters, parameters)
        Covariance of the parameters on the real line.
    blind : ndarray of bool, shape (parameters,)
        Parameters that the pilot says nothing about, alone or with others.
    converged : bool
    llf : float or None
    j_test : JTest or None
    """

    x: Floats
    covariance: Floats
    blind: NDArray[np.bool_]
    converged: bool
    llf: float | None = None
    j_test: JTest | None = None


@dataclass(frozen=True, eq=False)
class Observed:
    """A log reduced to what worlds are compared by.

    Attributes
    ----------
    ones, cast : ndarray of int, shape (debates, rounds)
        Right votes, or votes for the first answer where there is no label; votes cast.
    lead : ndarray of float, shape (debates, rounds)
        -1 to 1: right votes minus others, or first answer minus second, over votes cast; NaN without votes.
    labelled : ndarray of bool, shape (debates,)
    right : ndarray of float, shape (debates, rounds)
        Share of right votes; NaN without a label.
    unanimous : ndarray of bool, shape (debates, rounds)
    toward : ndarray of float, shape (debates,)
        1 when the first side is right, -1 when the second is, 0 for a tie, NaN without a label.
    first : ndarray of float, shape (debates, rounds)
        Share of votes for the first answer.
    depth, cluster : ndarray of int, shape (debates,)
    gap, level : ndarray of float or None, shape (debates, rounds)
        Score of side A minus that of side B, and their mean, raw points.
    tie_label : ndarray of float or None, shape (debates,)
        Whether the label is neither A nor B, for worlds whose labels may be.
    """

    ones: NDArray[np.int64]
    cast: NDArray[np.int64]
    lead: Floats
    labelled: NDArray[np.bool_]
    right: Floats
    unanimous: NDArray[np.bool_]
    toward: Floats
    first: Floats
    depth: NDArray[np.int64]
    cluster: NDArray[np.int64]
    gap: Floats | None
    level: Floats | None
    tie_label: Floats | None


def observe(world: World, log: Trajectories, present: NDArray[np.bool_] | None = None) -> Observed:
    """Reduce a log, that of a pilot or one drawn from `world`.

    Parameters
    ----------
    present : ndarray of bool, shape (debates, rounds, seats), optional
        Votes to keep; those of a simulated log are masked like the pilot's.
    """
    votes = log.votes
    if present is not None:
        votes = np.where(present, votes, MISSING)
    seen = votes != MISSING
    cast = seen.sum(axis=2)
    labelled = log.label != MISSING
    a, b = sides_of(log)
    for_a, for_b = (votes == a).sum(axis=2), (votes == b).sum(axis=2)
    right = ((votes == log.label[:, None, None]) & seen).sum(axis=2)
    two = len(world.answers) == 2
    ones = np.where(labelled[:, None], right, for_a)
    # Referees may vote for a tie: their lead is that of A over B, whatever is right.
    ties = "tie" in world.answers
    ahead = for_a if ties else ones
    behind = for_b if ties else np.where(labelled[:, None], cast - right, for_b)
    none = cast == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        lead = np.where(none, np.nan, (ahead - behind) / np.maximum(cast, 1))
        share = np.where(none | ~labelled[:, None], np.nan, right / np.maximum(cast, 1))
        first = np.where(none, np.nan, for_a / np.maximum(cast, 1))
    if two:
        # Two wrong answers of many are one camp to a world that knows right and wrong.
        unanimous = (ones == 0) | (ones == cast)
    else:
        high = votes.max(axis=2, initial=MISSING)
        low = np.where(seen, votes, np.iinfo(np.int32).max).min(axis=2, initial=np.iinfo(np.int32).max)
        unanimous = high == low
    toward = np.where(labelled, (log.label == a) * 1.0 - (log.label == b), np.nan)
    gap = level = None
    if log.scores is not None and world.points is not None:
        pair: Any = log.scores[:, :, [log.sides.index("A"), log.sides.index("B")]]
        gap, level = pair[:, :, 0] - pair[:, :, 1], pair.mean(axis=2)
    return Observed(
        ones,
        cast,
        lead,
        labelled,
        share,
        unanimous & ~none,
        toward,
        first,
        log.depth,
        log.cluster,
        gap,
        level,
        np.where(labelled, toward == 0, np.nan) if ties else None,
    )


def sides_of(log: Trajectories) -> tuple[int, int]:
    """Return the codes of the two answers: those named A and B, else the first two."""
    if {"A", "B"} <= set(log.answers):
        return log.answers.index("A"), log.answers.index("B")
    return 0, 1
