"""Votes with a confidence, read from logs and tables of any kind."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from d3stats._words import Advised, counted, verb
from d3stats.inputs.confidences import Confidences
from d3stats.log.column_names import to_type
from d3stats.note import UNREAD_CONFIDENCE, kind_of, sentence_of
from d3stats.sources.opened import Reading, as_trajectories
from d3stats.trajectories import MISSING

__all__ = ["as_confidences"]


def as_confidences(source: Any, **reading: Unpack[Reading]) -> Confidences:
    """Read votes with a confidence and whether they are right.

    Parameters
    ----------
    source : Confidences, or any source that :func:`d3stats.open` takes
        A log or table with a column ``confidence``, in a wide table one like ``x_confidence`` beside votes in ``x``.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Confidences

    Raises
    ------
    ValueError
        When no vote has a confidence, or none of these has a right answer to be held against.

    Examples
    --------
    >>> import pandas as pd
    >>> wide = pd.DataFrame({"item": [1, 2], "x": ["A", "B"], "y": ["B", "B"], "label": "B"})
    >>> found = as_confidences(wide.assign(x_confidence=[0.5, 0.7]))
    >>> found.confidence.tolist(), found.right.tolist(), found.notes[-1]
    ([0.5, 0.7], [0.0, 1.0], '2 of 4 votes have no confidence and are left out')
    """
    if isinstance(source, Confidences):
        if reading:
            raise ValueError(f"settings of reading must be left out for confidences; got {sorted(reading)}")
        return source
    t = as_trajectories(source, **reading)
    if t.confidence is None:
        why = "; ".join(sentence_of(note) for note in t.notes if kind_of(note) == UNREAD_CONFIDENCE)
        step = why or f"name the column of confidences with {to_type(confidence='COLUMN')}"
        needed = "the log must have votes with a confidence, a number from 0 to 1"
        raise ValueError(Advised(needed, step, got="none"))
    cast = t.votes != MISSING
    stated = cast & ~np.isnan(t.confidence)
    known = stated & (t.label != MISSING)[:, None, None]
    notes = list(t.remarks())
    silent, unlabelled = int((cast & ~stated).sum()), int((stated & ~known).sum())
    alone = int((~np.isnan(t.confidence) & ~cast).sum())
    if alone:
        notes.append(
            f"{counted(alone, 'confidence')} {verb(alone, 'comes', 'come')} without a vote and are left out"
            if alone > 1
            else "1 confidence comes without a vote and is left out"
        )
    if not known.any():
        got = f"{counted(int(stated.sum()), 'vote')} with a confidence and no label"
        raise ValueError(
            Advised("votes with a confidence must have a right answer", "add a column label", got=got)
        )
    for gone, whole, lack in ((silent, cast, "no confidence"), (unlabelled, stated, "no right answer")):
        if gone:
            of = counted(int(whole.sum()), "vote") + (" with a confidence" if whole is stated else "")
            notes.append(
                f"{gone:,} of {of} {verb(gone, 'has', 'have')} {lack} and {verb(gone, 'is', 'are')} left out"
            )
    debate, played, seat = np.nonzero(known)
    vote = t.votes[debate, played, seat]
    return Confidences(
        confidence=t.confidence[debate, played, seat],
        right=(vote == t.label[debate]).astype(np.float64),
        vote=vote.astype(np.int64),
        debate=debate.astype(np.int64),
        cluster=np.unique(t.cluster[debate], return_inverse=True)[1].astype(np.int64),
        judge=seat.astype(np.int64),
        round=played.astype(np.int64) + 1,
        last=played + 1 == t.depth[debate],
        judges=t.seats,
        by_correctness=t.coding == "correctness",
        notes=tuple(notes),
    )
