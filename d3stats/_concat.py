"""Several array views as one, for :meth:`d3stats.trajectories.Trajectories.concat`.

Floor 3, beside ``trajectories.py``: translating codes, padding axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from d3stats._codes import MISSING, refuse_repeats, seat_names
from d3stats.values import shared_spelling

if TYPE_CHECKING:
    from d3stats.trajectories import Trajectories


def concatenated(parts: Sequence[Trajectories]) -> dict[str, Any]:
    """Return the fields of the stacked view: names are matched, shorter axes are padded as missing."""
    if len(parts) == 1 and isinstance(parts[0], (list, tuple)):
        raise TypeError("concat takes the parts one by one; got a list: write concat(*parts)")
    if not parts:
        raise ValueError("concat needs at least one Trajectories; got none")
    codings = {p.coding for p in parts}
    if len(codings) > 1:
        raise ValueError(f"coding must be the same in all parts; got {sorted(codings)}")
    names = [name for p in parts for name in p.debates]
    refuse_repeats("debates", names)
    spelling = shared_spelling(answer for p in parts for answer in p.answers)
    spelt = [tuple(spelling[answer] for answer in p.answers) for p in parts]
    answers = _union(spelt)
    clusters = _union(p.cluster_names for p in parts)
    sides = _union(p.sides for p in parts)
    n_rounds = max(p.n_rounds for p in parts)
    n_seats = max(len(p.seats) for p in parts)
    seats = {p.seats for p in parts if len(p.seats) == n_seats}
    alike = len(seats) == 1 and all(p.seats == next(iter(seats))[: len(p.seats)] for p in parts)
    return {
        "votes": np.concatenate(
            [
                _padded(_recoded(p.votes, own, answers), (n_rounds, n_seats), MISSING)
                for p, own in zip(parts, spelt, strict=True)
            ]
        ),
        "label": np.concatenate(
            [_recoded(p.label, own, answers) for p, own in zip(parts, spelt, strict=True)]
        ),
        "depth": np.concatenate([p.depth for p in parts]),
        "panel": np.concatenate([p.panel for p in parts]),
        "cluster": np.concatenate([_recoded(p.cluster, p.cluster_names, clusters) for p in parts]),
        "answers": answers,
        "debates": tuple(names),
        "seats": next(iter(seats)) if alike else seat_names(n_seats),
        "cluster_names": clusters,
        "scores": _scores(parts, sides, n_rounds),
        "sides": sides,
        "tokens": _tokens([p.tokens for p in parts], parts, n_rounds),
        "spoke": _spoke(parts, n_rounds, n_seats),
        "tokens_in": _tokens([p.tokens_in for p in parts], parts, n_rounds),
        "tokens_out": _tokens([p.tokens_out for p in parts], parts, n_rounds),
        "groups": tuple(g for p in parts for g in (p.groups or ("",) * len(p)))
        if any(p.groups for p in parts)
        else (),
        "coding": parts[0].coding,
        "speakers": _speakers(parts),
        "notes": _union(p.notes for p in parts),
        "stopped_by_rule": _stopped_by_rule(parts),
    }


def _speakers(parts: Sequence[Trajectories]) -> NDArray[np.int8] | None:
    """Stack who spoke with and without a seat; where a part does not say so, those on its panels have one."""
    if all(p.speakers is None for p in parts):
        return None
    each = [
        np.where(np.arange(len(p.seats)) < p.panel[:, None], 1, -1).astype(np.int8)
        if p.speakers is None
        else p.speakers
        for p in parts
    ]
    width = max(one.shape[1] for one in each)
    return np.concatenate([_padded(one, (width,), -1) for one in each])


def _stopped_by_rule(parts: Sequence[Trajectories]) -> NDArray[np.bool_] | None:
    """Stack which debates a rule ended; of a part that does not say so, none."""
    if all(p.stopped_by_rule is None for p in parts):
        return None
    return np.concatenate(
        [np.zeros(len(p), np.bool_) if p.stopped_by_rule is None else p.stopped_by_rule for p in parts]
    )


def _union(tuples: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in tuples for name in names))


def _recoded(codes: NDArray[Any], old: tuple[str, ...], new: tuple[str, ...]) -> NDArray[Any]:
    place = {name: i for i, name in enumerate(new)}
    table = np.array([*[place[name] for name in old], MISSING], dtype=codes.dtype)
    recoded: NDArray[Any] = table[codes]
    return recoded


def _padded(array: NDArray[Any], shape: tuple[int, ...], fill: float) -> NDArray[Any]:
    wider = np.full((len(array), *shape), fill, dtype=array.dtype)
    wider[(slice(None), *[slice(size) for size in array.shape[1:]])] = array
    return wider


def _tokens(
    given: Sequence[NDArray[np.float64] | None], parts: Sequence[Trajectories], n_rounds: int
) -> NDArray[np.float64] | None:
    """Stack one kind of tokens; where a part has none they are unknown."""
    if all(tokens is None for tokens in given):
        return None
    return np.concatenate(
        [
            _padded(np.full(p.votes.shape[:2], np.nan) if tokens is None else tokens, (n_rounds,), np.nan)
            for tokens, p in zip(given, parts, strict=True)
        ]
    )


def _spoke(parts: Sequence[Trajectories], n_rounds: int, n_seats: int) -> NDArray[np.bool_] | None:
    if all(p.spoke is None for p in parts):
        return None
    return np.concatenate([_padded(p.had_turns(), (n_rounds, n_seats), False) for p in parts])


def _scores(
    parts: Sequence[Trajectories], sides: tuple[str, ...], n_rounds: int
) -> NDArray[np.float64] | None:
    if not sides:
        return None
    stacked = []
    for p in parts:
        wide = np.full((len(p), n_rounds, len(sides)), np.nan)
        if p.scores is not None:
            wide[:, : p.n_rounds, [sides.index(side) for side in p.sides]] = p.scores
        stacked.append(wide)
    return np.concatenate(stacked)
