"""Which numbers of a world a pilot can be asked for.

A *group* is what a user names in `free`; a vector group (one number per class) makes several parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import (
    Conformity,
    Courtroom,
    DirichletCompound,
    LatentConcept,
    MixturePanel,
    Referees,
    Voter,
    World,
)

__all__ = [
    "Group",
    "Observed",
    "Space",
    "answers_of",
    "completed",
    "default_free",
    "groups_of",
    "observe",
    "seats_of",
]

INF = float("inf")


@dataclass(frozen=True)
class Group:
    """One name of `free`.

    Attributes
    ----------
    read : callable
        From a world to its values.
    write : callable
        From a world and new values to a new world.
    low, high : float
        Range of a value.
    width : float
        What counts as a large difference, for a number without bounds.
    simplex : bool
        Whether the values are all weights but the last.
    closed : bool
        Whether a value may be `low` itself, as a standard deviation may be 0 and a precision may not.
    """

    read: Callable[[Any], tuple[float, ...]]
    write: Callable[[Any, tuple[float, ...]], Any]
    low: float = -INF
    high: float = INF
    width: float = 2.0
    simplex: bool = False
    closed: bool = False


def scalar(
    name: str, low: float = -INF, high: float = INF, width: float = 2.0, closed: bool = False
) -> Group:
    """Return the group of a field that is one number."""
    return Group(
        lambda world: (float(getattr(world, name)),),
        lambda world, values: replace(world, **{name: values[0]}),
        low,
        high,
        width,
        closed=closed,
    )


@singledispatch
def groups_of(world: World) -> dict[str, Group]:
    """Return what can be free in a world; each family registers its own."""
    raise TypeError(f"world must be one that can be calibrated; got {type(world).__name__}")


@groups_of.register
def _voter(world: Voter) -> dict[str, Group]:
    return {"accuracy": scalar("accuracy", 0, 1), "precision": scalar("precision", 0)}


@groups_of.register
def _dirichlet(world: DirichletCompound) -> dict[str, Group]:
    return {
        "accuracy": scalar("accuracy", 0, 1),
        "precision": scalar("precision", 0),
        "strength": scalar("strength", 0),
    }


@groups_of.register
def _latent(world: LatentConcept) -> dict[str, Group]:
    # Beliefs mirrored in clarity and prior vote alike, so clarity stays on the template's side.
    middle = 1 / world.n_concepts
    low, high = (middle, 1.0) if world.clarity >= middle else (0.0, middle)
    return {"prior": scalar("prior", 0, 1), "clarity": scalar("clarity", low, high)}


@groups_of.register
def _conformity(world: Conformity) -> dict[str, Group]:
    classes = len(world.difficulties)

    def weigh(given: Conformity, values: tuple[float, ...]) -> Conformity:
        pairs = zip(completed(values), (e for _, e in given.difficulties), strict=True)
        return replace(given, difficulties=tuple(pairs))

    def ease(given: Conformity, values: tuple[float, ...]) -> Conformity:
        pairs = zip((w for w, _ in given.difficulties), values, strict=True)
        return replace(given, difficulties=tuple(pairs))

    groups = {
        "stubbornness": scalar("stubbornness", 0, 1),
        "conformity": scalar("conformity"),
        "shared_sd": scalar("shared_sd", 0, closed=True),
        "easiness": Group(lambda w: tuple(e for _, e in w.difficulties), ease),
    }
    if not isinstance(world.skill, tuple):
        groups["skill"] = scalar("skill")
    if classes > 1:
        groups["weights"] = Group(
            lambda w: tuple(s for s, _ in w.difficulties[:-1]), weigh, 0, 1, simplex=True
        )
    return groups


@groups_of.register
def _mixture(world: MixturePanel) -> dict[str, Group]:
    size = len(np.asarray(world.weights)[0])
    groups = {"persistence": scalar("persistence", 0, 1)}
    # Several rows are a given course of rounds; only one row with a drift has few enough parameters.
    for name, low, high in (("means", 0.0, 1.0), ("precisions", 0.0, INF)):
        if len(getattr(world, name)) == 1:
            groups[name] = _row(name, low, high)
    if len(world.weights) == 1 and size > 1:
        groups["weights"] = Group(
            lambda w: tuple(w.weights[0][:-1]),
            lambda w, values: replace(w, weights=(tuple(completed(values)),)),
            0,
            1,
            simplex=True,
        )
    for name in ("mean_drift", "precision_drift"):
        groups[name] = _drift(name, size, size)
    if size > 1:  # weights are normalised, so one drift of the log weights is no parameter
        groups["weight_drift"] = _drift("weight_drift", size, size - 1)
    return groups


def _row(name: str, low: float, high: float) -> Group:
    return Group(
        lambda world: tuple(getattr(world, name)[0]),
        lambda world, values: replace(world, **{name: (values,)}),
        low,
        high,
    )


def _drift(name: str, size: int, free: int) -> Group:
    def read(world: Any) -> tuple[float, ...]:
        return tuple((getattr(world, name) or (0.0,) * size)[:free])

    def write(world: Any, values: tuple[float, ...]) -> Any:
        rest = (getattr(world, name) or (0.0,) * size)[free:]
        return replace(world, **{name: (*values, *rest)})

    return Group(read, write, width=0.5)


@groups_of.register
def _courtroom(world: Courtroom) -> dict[str, Group]:
    def stretch(given: Courtroom, values: tuple[float, ...]) -> Courtroom:
        # The scale is the mean size of the categories' gaps; spreads go along.
        factor = values[0] / _mean_gap(given)
        rows = [c._replace(gap=c.gap * factor, spread=c.spread * factor) for c in given.categories]
        return replace(given, categories=rows)

    groups = {
        name: scalar(name, 0, closed=True)
        for name in (
            *("improvement", "advocate_sd", "upside", "noise", "label_noise"),
            *("juror_shared", "juror_persona", "juror_noise"),
        )
    }
    groups |= {name: scalar(name, 0, 1) for name in ("hidden", "decay", "advocate_correlation", "halo")}
    groups |= {name: scalar(name, width=4.0) for name in ("skill", "position_bias")}
    groups["base"] = scalar("base", 1, 20)
    if _mean_gap(world) > 0:
        groups["mean_gap"] = Group(lambda w: (_mean_gap(w),), stretch, 0)
    return groups


def _mean_gap(world: Courtroom) -> float:
    share = np.array([c.share for c in world.categories])
    return float(share @ np.array([c.gap for c in world.categories]) / share.sum())


@groups_of.register
def _referees(world: Referees) -> dict[str, Group]:
    positive = ("gap_sd", "label_noise", "tie_margin", "shared_sd", "role_sd", "talk_noise", "level_sd")
    groups = {name: scalar(name, 0, closed=True) for name in positive}
    groups["conformity"] = scalar("conformity", 0, 1)
    groups["position_bias"] = scalar("position_bias")
    groups["base"] = scalar("base", 1, 10)
    if world.communication == "simultaneous_with_summarizer":
        groups["summary_noise"] = scalar("summary_noise", 0, closed=True)
    zeros = (0.0,) * world.panel
    groups["lean"] = Group(lambda w: tuple(w.lean) or zeros, lambda w, values: replace(w, lean=values))
    return groups


_DEFAULT: dict[type[World], tuple[str, ...]] = {
    Voter: ("accuracy", "precision"),
    DirichletCompound: ("accuracy", "precision", "strength"),
    LatentConcept: ("prior", "clarity"),
    Conformity: ("skill", "stubbornness", "conformity", "shared_sd"),
    MixturePanel: ("weights", "means", "precisions", "persistence"),
    Courtroom: ("mean_gap", "improvement", "advocate_sd", "base", "noise", "position_bias", "juror_noise"),
    Referees: ("gap_sd", "shared_sd", "role_sd", "talk_noise", "conformity", "position_bias", "base"),
}


def default_free(world: World) -> tuple[str, ...]:
    """Return what is free when nothing is said: what counts, or scores, can tell apart."""
    allowed = groups_of(world)
    return tuple(name for name in _DEFAULT[type(world)] if name in allowed)


def completed(values: Sequence[float]) -> tuple[float, ...]:
    """Return weights with the last one, which the others leave."""
    return (*values, max(0.0, 1.0 - sum(values)))


Floats = NDArray[np.float64]
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
        allowed = groups_of(world)
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
                out.append(special.softmax(np.append(part, 0.0))[:-1])
            elif np.isfinite(group.high):
                out.append(group.low + (group.high - group.low) * special.expit(part))
            elif np.isfinite(group.low):
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
                whole = np.maximum(completed(values.tolist()), 1e-3)
                out.append(np.log(whole[:-1] / whole[-1]))
            elif np.isfinite(group.high):
                share = (values - group.low) / (group.high - group.low)
                out.append(special.logit(np.clip(share, 0.02, 0.98)))
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

        A weight's limits are made on its own log-odds, as its log ratio depends on the other weights; those of
        a number that may well be 0 on its own scale, cut at 0, as its log runs off to minus infinity.
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
                odds = special.logit(share)
                limits[part] = special.expit(np.column_stack([odds - reach, odds + reach]))
            at += size
        return limits

    def on_bound(self, x: Floats) -> NDArray[np.bool_]:
        """Say which parameters ended on the edge of what is searched."""
        result: NDArray[np.bool_] = (x < self.box_low + 0.05) | (x > self.box_high - 0.05)
        return result


Coding = Literal["right", "first"]


def seats_of(world: World) -> int:
    """Return how many seats a debate of this world has in a log."""
    panel = int(getattr(world, "panel", 0))
    return panel + 1 if isinstance(world, Courtroom) and panel % 2 == 0 else panel


def answers_of(world: World) -> int:
    """Return how many answers a world knows."""
    if isinstance(world, DirichletCompound):
        return world.n_answers
    if isinstance(world, LatentConcept):
        return world.n_concepts
    return 3 if isinstance(world, Referees) else 2


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
    template: Any = world
    panel = int(template.panel)
    votes = log.votes[:, :, :panel]
    if present is not None:
        votes = np.where(present, votes, MISSING)
    seen = votes != MISSING
    cast = seen.sum(axis=2)
    labelled = log.label != MISSING
    a, b = sides_of(log)
    for_a, for_b = (votes == a).sum(axis=2), (votes == b).sum(axis=2)
    right = ((votes == log.label[:, None, None]) & seen).sum(axis=2)
    two = answers_of(world) == 2
    ones = np.where(labelled[:, None], right, for_a)
    # Referees may vote for a tie: their lead is that of A over B, whatever is right.
    ties = isinstance(world, Referees)
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
    if log.scores is not None and isinstance(world, (Courtroom, Referees)):
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
        np.where(labelled, toward == 0, np.nan) if isinstance(world, Referees) else None,
    )


def sides_of(log: Trajectories) -> tuple[int, int]:
    """Return the codes of the two answers: those named A and B, else the first two."""
    if {"A", "B"} <= set(log.answers):
        return log.answers.index("A"), log.answers.index("B")
    return 0, 1
