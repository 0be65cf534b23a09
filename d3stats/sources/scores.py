"""Scores of single responses and of candidates, read from logs with records."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from d3stats._check import integer
from d3stats._words import counted
from d3stats.inputs.scores import CandidateScores, SingleScores
from d3stats.log.doctor import scales_beside
from d3stats.log.scores import scored_turns
from d3stats.sources.opened import Opened

__all__ = ["candidate_scores", "score_ranges", "single_scores"]


def single_scores(opened: Opened, side: str, round_number: int | None = None) -> SingleScores:
    """Return the scores of `side` in one round, by default in the last of each debate in which it was to be scored.

    Raises
    ------
    ValueError
        When nothing was scored, or not in this round.
    """
    log = opened.log()
    scales = scales_beside(log.files)
    if round_number is not None:
        round_number = integer("round", round_number, minimum=1)
    turns = log.turns
    asked = turns[[isinstance(given, Mapping) and side in given for given in turns["scores"]]]
    if asked.empty:
        raise ValueError(f"log must hold scores of {side!r}; got none in {counted(len(turns), 'turn')}")
    checked = log.to_checked()
    found = scored_turns(checked.items, checked.turns)
    notes: tuple[str, ...] = (*found.signs,)
    if len(asked["role"].unique()) > 1:
        asked, notes = (
            asked[asked.index.isin(turns.index[found.places[found.of_role]])],
            (*notes, *found.role_notes),
        )
        if asked.empty:
            why = found.role_notes[0]
            raise ValueError(f"log must hold scores of {side!r} by a role that counts; got none ({why})")
    last = asked.groupby("debate")["round"].transform("max") if round_number is None else round_number
    asked = asked[asked["round"] == last]
    if asked.empty:
        raise ValueError(f"round must be one in which {side!r} was scored; got round={round_number}")
    scores = pd.DataFrame([given[side] for given in asked["scores"]], index=asked.index, dtype=float)
    debates = log.items[["debate", "question", "cluster"]]
    return SingleScores(side, scores, asked["debate"], asked["role"], debates, scales, notes)


def score_ranges(opened: Opened) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and the greatest total and criterion that a log's roles could give; infinite where unknown."""
    unknown = (-np.inf, np.inf)
    log = opened.log() if opened.has_records else None
    scales = {} if log is None else scales_beside(log.files)
    if log is None or not scales:
        return unknown, unknown
    checked = log.to_checked()
    found = scored_turns(checked.items, checked.turns)
    of_role = found.of_role if found.of_role.any() else np.ones(len(found.places), dtype=np.bool_)
    roles = set(log.turns["role"].iloc[found.places[of_role]])
    sizes = [
        len(own) for code in np.unique(found.codes[of_role]) for own in found.scores[code].values() if own
    ]
    if not sizes or not roles <= set(scales):
        return unknown, unknown
    low, high = min(scales[role][0] for role in roles), max(scales[role][1] for role in roles)
    return (min(low * min(sizes), low * max(sizes)), max(high * min(sizes), high * max(sizes))), (low, high)


def candidate_scores(opened: Opened) -> CandidateScores:
    """Return each agent's totals of the candidates in a debate's last scored round.

    The turns are those of the means: a total over a part of the criteria is no total.
    """
    log = opened.log()
    checked = log.to_checked()
    found = scored_turns(checked.items, checked.turns)
    turns = log.turns.iloc[found.places].assign(whole=found.whole)[found.of_role]
    last = turns[turns["round"] == turns.groupby("debate")["round"].transform("max")]
    turns = last[last["whole"]]
    notes = []
    if lost := len(last) - len(turns):
        notes.append(
            f"ranks leave out {lost} of {counted(len(last), 'turn')} with scores in the last scored round, because "
            "a candidate or a criterion is missing"
        )
    rows = [
        (debate, agent, side, float(sum(points.values())) if points else np.nan)
        for debate, agent, given in turns[["debate", "agent", "scores"]].itertuples(index=False)
        for side, points in given.items()
    ]
    return CandidateScores(pd.DataFrame(rows, columns=["item", "agent", "candidate", "score"]), tuple(notes))
