"""Which numbers of a world a pilot can be asked for.

A *group* is what a user names in `free`; a vector group (one number per class) makes several parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

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

__all__ = ["Group", "completed", "default_free", "groups_of"]

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
