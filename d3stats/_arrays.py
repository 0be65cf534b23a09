"""Arrays into the array view, for :meth:`d3stats.trajectories.Trajectories.from_arrays`, and what every view obeys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import whole_numbers
from d3stats._codes import MISSING, encode, refuse_repeats
from d3stats.values import canonical

if TYPE_CHECKING:
    from d3stats.trajectories import Trajectories

_LEAST = np.iinfo(np.int32).min


def _refuse_codes(name: str, values: NDArray[Any]) -> None:
    """Refuse arrays of whole numbers from -1 on: -1 is the code of a missing vote, and would be taken for an answer."""
    if values.dtype.kind == "i" and values.size and values.min() == MISSING and (values >= 0).any():
        raise ValueError(
            f"{name} must be answers where answers= is not given; got -1 in an array of integers, the code of a "
            "missing vote: give answers= for codes, None for a missing vote, or the text '-1' for that answer"
        )


def fields_from_arrays(
    votes: ArrayLike,
    label: ArrayLike | None,
    cluster: Sequence[Any] | None,
    answers: Sequence[str] | None,
    tokens: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    debates: Sequence[str] | None,
    groups: Sequence[str],
    missing_values: Iterable[str] | None,
) -> dict[str, Any]:
    """Return codes and names in canonical form; `tokens` are all, prompt and completion."""
    # A list of values of several types would become text; the type of an array says more than its values.
    typed = answers is not None or hasattr(votes, "dtype")
    array = np.asarray(votes, dtype=None if typed else object)
    if array.ndim != 3:
        raise ValueError(f"votes must have shape (debates, rounds, seats); got shape {array.shape}")
    n = len(array)
    truth: Any = label
    if not hasattr(label, "dtype"):
        truth = np.full(n, None, dtype=object) if label is None else np.asarray(label, dtype=object)
    if truth.shape != (n,):
        raise ValueError(f"label must have one value per debate ({n}); got shape {truth.shape}")
    notes: list[str] = []
    if answers is None:
        _refuse_codes("votes", array)
        _refuse_codes("label", truth)
        (codes, label_codes, names), notes = encode(array.ravel(), truth, missing_values=missing_values)
    else:
        names = _named("answers", list(answers))
        codes = whole_numbers("votes", array.ravel(), minimum=_LEAST).astype(np.int32)
        known = [MISSING if pd.isna(x) else x for x in truth]
        label_codes = whole_numbers("label", np.array(known), minimum=_LEAST).astype(np.int32)
    of_debates = _named("debates", range(1, n + 1) if debates is None else debates, names=True)
    refuse_repeats("debates", of_debates)
    clusters: NDArray[np.object_] = np.full(n, None, dtype=object)
    if cluster is not None:
        grouped = canonical(cluster, missing_values=missing_values, names=True)
        (clusters,) = grouped.columns
        notes += grouped.notes("clusters")
    if len(clusters) != n:
        raise ValueError(f"cluster must have one value per debate ({n}); got {len(clusters)}")
    # A debate whose cluster is unknown is alone in its own.
    alone = [f"debate {d}" if c is None else c for c, d in zip(clusters, of_debates, strict=False)]
    cluster_codes, cluster_names = pd.factorize(np.array(alone, dtype=object))
    (runs,) = canonical(groups, missing_values=missing_values, names=True).columns
    total, sent, written = (None if x is None else np.array(x, dtype=np.float64) for x in tokens)
    if total is None and sent is not None and written is not None and sent.shape == written.shape:
        total = sent + written
    return {
        "votes": codes.reshape(array.shape).astype(np.int32, copy=False),
        "label": label_codes,
        "cluster": cluster_codes.astype(np.int64),
        "answers": names,
        "debates": of_debates,
        "cluster_names": tuple(map(str, cluster_names)),
        "tokens": total,
        "tokens_in": sent,
        "tokens_out": written,
        "groups": tuple("" if run is None else run for run in runs),
        "notes": tuple(notes),
    }


def _named(what: str, given: Any, *, names: bool = False) -> tuple[str, ...]:
    (named,) = canonical(given, missing_values=(), names=names).columns
    if any(name is None for name in named):
        raise ValueError(f"{what} must have a name each; got {list(given)[:8]}")
    return tuple(named)


def refuse_contradictions(t: Trajectories) -> None:
    """Raise where shapes, codes, depths or tokens of a view contradict each other."""
    n, rounds, seats = t.votes.shape
    for name, array, shape in (
        ("label", t.label, (n,)),
        ("depth", t.depth, (n,)),
        ("panel", t.panel, (n,)),
        ("cluster", t.cluster, (n,)),
        ("stopped_by_rule", t.stopped_by_rule, (n,)),
        ("scores", t.scores, (n, rounds, len(t.sides))),
        ("tokens", t.tokens, (n, rounds)),
        ("tokens_in", t.tokens_in, (n, rounds)),
        ("tokens_out", t.tokens_out, (n, rounds)),
    ):
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}; got {array.shape}")
    if t.speakers is not None and t.speakers.shape[:1] != (n,):
        raise ValueError(f"speakers must have one row per debate ({n}); got shape {t.speakers.shape}")
    for name, names, size in (
        ("debates", t.debates, n),
        ("seats", t.seats, seats),
        ("groups", t.groups, n),
    ):
        if len(names) != size and not (name == "groups" and not names):
            raise ValueError(f"{name} must have {size} names; got {len(names)}")
    for name, codes in (("votes", t.votes), ("label", t.label)):
        if codes.size and (codes.max() >= len(t.answers) or codes.min() < MISSING):
            raise ValueError(
                f"{name} must be codes from {MISSING} to {len(t.answers) - 1}; "
                f"got codes from {codes.min()} to {codes.max()}"
            )
    if n and (t.depth.min() < 0 or t.depth.max() > rounds):
        raise ValueError(f"depth must lie between 0 and {rounds}; got {t.depth.min()} to {t.depth.max()}")
    if n and (t.panel.min() < 0 or t.panel.max() > seats):
        raise ValueError(f"panel must lie between 0 and {seats}; got {t.panel.min()} to {t.panel.max()}")
    # Whole debates on full panels, the usual case, can break neither rule.
    if n and t.depth.min() < rounds:
        late = ((t.votes != MISSING) & ~t.reached()[:, :, None]).any(axis=(1, 2))
        if late.any():
            debate = t.debates[int(late.argmax())]
            raise ValueError(f"votes must be missing after a debate's depth; got one in {debate!r}")
    if n and t.panel.min() < seats:
        empty = (np.arange(seats) >= t.panel[:, None])[:, None, :]
        beyond = ((t.votes != MISSING) & empty).any(axis=(1, 2))
        if beyond.any():
            debate = t.debates[int(beyond.argmax())]
            raise ValueError(f"votes must be missing on seats beyond a debate's panel; got one in {debate!r}")
    refuse_repeats("answers", t.answers)
    if n and (t.cluster.min() < 0 or t.cluster.max() >= len(t.cluster_names)):
        raise ValueError(
            f"cluster must be codes from 0 to {len(t.cluster_names) - 1}; "
            f"got codes from {t.cluster.min()} to {t.cluster.max()}"
        )
    for name, tokens in (
        ("tokens", t.tokens),
        ("tokens_in", t.tokens_in),
        ("tokens_out", t.tokens_out),
    ):
        if tokens is not None and (tokens < 0).any():
            raise ValueError(f"{name} must be >= 0; got {np.nanmin(tokens):g}")
    _refuse_tokens_that_do_not_add_up(t)


def _refuse_tokens_that_do_not_add_up(t: Trajectories) -> None:
    if t.tokens_in is None and t.tokens_out is None:
        return
    if t.tokens_in is None or t.tokens_out is None or t.tokens is None:
        absent = next(n for n in ("tokens_in", "tokens_out", "tokens") if getattr(t, n) is None)
        raise ValueError(f"tokens, tokens_in and tokens_out must be given together; got no {absent}")
    both = t.tokens_in + t.tokens_out
    off = np.abs(both - t.tokens) > 1e-6 + 1e-9 * both
    if off.any():
        debate, played = np.argwhere(off)[0]
        raise ValueError(
            f"tokens must be the sum of tokens_in and tokens_out; got {t.tokens[debate, played]:g} and "
            f"{both[debate, played]:g} in debate {t.debates[debate]!r}, round {played + 1}"
        )
