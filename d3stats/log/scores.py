"""Points of the sides by round: whose scores count, and which turns have all the scores that a mean needs.

A mean over agents compares sides only if the same agents scored all of them. An agent with points for one side alone
would move the mean of that side, and with it the gap, in a way that no agent's scores say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._words import counted, verb
from d3stats.log.columns import Coded
from d3stats.note import UNREAD_SCORES, Note
from d3stats.plausibility import score_signs, warnings_of

__all__ = ["SCORING_ROLES", "Scored", "Scores", "scored_turns", "side_scores", "whole"]

Scores = Mapping[str, Mapping[str, float]]
"""An agent's points by side and criterion."""

SCORING_ROLES = ("judge", "evaluator", "referee")
"""Roles whose scores the protocols show to stopping rules, in the order in which a log's scores are taken."""


def whole(given: Iterable[tuple[str, Scores]]) -> list[bool]:
    """Return which agents of a round scored every side on the same criteria, so that their totals compare sides.

    An agent that is a side itself need not score itself. An agent that left out a criterion that another agent scored
    has a lower total, so it is not whole either.

    Examples
    --------
    >>> both, one = {"A": {"c": 5.0}, "B": {"c": 6.0}}, {"A": {"c": 9.0}, "B": {}}
    >>> whole([("judge 1", both), ("judge 2", one)])
    [True, False]
    """
    rows = list(given)
    sides = {side for _, scores in rows for side in scores}
    criteria = [frozenset(name for points in scores.values() for name in points) for _, scores in rows]
    kinds = set(criteria)
    return [
        bool(of)
        and all(
            of == scores.get(side, {}).keys() or (side == agent and not scores.get(side)) for side in sides
        )
        and not any(of < other for other in kinds)
        for (agent, scores), of in zip(rows, criteria, strict=True)
    ]


@dataclass(frozen=True)
class Scored:
    r"""The turns with scores, and which of them count.

    Attributes
    ----------
    places : ndarray of int
        Places of the turns in the table of turns, in the order of debate, round and agent.
    scores : list of dict
        Their different scores.
    codes : ndarray of int
        Which of `scores` each turn has.
    of_role : ndarray of bool
        Whether the turn's role is one whose scores count.
    whole : ndarray of bool
        Whether the turn counts: its role does, and it has all scores that a mean needs; see :func:`whole`.
    role_notes : tuple of str
        Which roles' scores were left out.
    n_in_part, n_scored : int
        Turns of a role that counts that have only a part of the scores, among those that have any.

    Examples
    --------
    >>> from d3stats import read_log
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "own.csv"
    >>> _ = path.write_text("debate,round,agent,score_A,score_B,label\nd,1,x,5,6,A\nd,1,y,9,,A\n")
    >>> checked = read_log(path).to_checked()
    >>> scored_turns(checked.items, checked.turns).whole.tolist()
    [True, False]
    """

    places: Ints
    scores: list[dict[str, dict[str, float]]]
    codes: Ints
    of_role: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    role_notes: tuple[str, ...] = ()
    n_in_part: int = 0
    n_scored: int = 0

    def by_criterion(self) -> dict[str, NDArray[np.float64]]:
        """Return the scores of each criterion that count, of all sides, each as often as an agent gave it."""
        times = np.bincount(self.codes[self.of_role], minlength=len(self.scores))
        found: dict[str, list[tuple[float, int]]] = {}
        for points, n in zip(self.scores, times.tolist(), strict=True):
            for criteria in points.values() if n else ():
                for name, value in criteria.items():
                    found.setdefault(name, []).append((float(value), n))
        return {name: np.repeat(*map(np.array, zip(*each, strict=True))) for name, each in found.items()}

    @property
    def signs(self) -> list[Note]:
        """Signs that scores were not read as they were meant."""
        return warnings_of(score_signs(self.by_criterion()))

    @property
    def notes(self) -> tuple[str, ...]:
        """Signs that scores were not read as they were meant, the turns that were left out, and the reasons."""
        if not self.n_in_part:
            return (*self.signs, *self.role_notes)
        part = Note(
            f"{self.n_in_part:,} of {counted(self.n_scored, 'turn')} with scores "
            f"{verb(self.n_in_part, 'has', 'have')} only a part of them (a side or a criterion is missing), and means "
            "over agents leave these turns out",
            kind=UNREAD_SCORES,
            n=self.n_in_part,
        )
        return (*self.signs, *self.role_notes, part)


def scored_turns(items: Any, turns: Any) -> Scored:
    """Find the turns whose scores count."""
    given, agent, debate = turns.coded("scores"), turns.coded("agent"), turns.coded("debate")
    at = np.flatnonzero(given.codes >= 0)
    name = np.argsort(sorted(range(len(agent.values)), key=agent.values.__getitem__))
    played, row = turns.numbers("round").astype(np.int64), debate.codes.astype(np.int64)
    at = at[np.lexsort((name[agent.codes[at]], played[at], row[at]))]
    codes, where = np.unique(given.codes[at], return_inverse=True)
    scores: list[dict[str, dict[str, float]]] = [json.loads(given.values[code]) for code in codes.tolist()]
    of_role, notes = _of_a_role(items, turns, at)
    place = np.unique(row[at] * (int(played.max(initial=0)) + 1) + played[at], return_inverse=True)[1]
    kept = _whole_turns(scores, where, place, agent, at, of_role)
    some = np.array([any(points.values()) for points in scores], dtype=np.bool_)[where]
    return Scored(
        at,
        scores,
        where,
        of_role,
        kept,
        tuple(notes),
        int((of_role & ~kept & some).sum()),
        int((of_role & some).sum()),
    )


def _whole_turns(
    scores: Sequence[Scores],
    where: Ints,
    place: Ints,
    agent: Coded,
    at: Ints,
    of_role: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which turns are whole; rounds in which all turns were scored alike need no closer look."""
    forms: dict[Any, int] = {}
    form, sound = np.zeros(len(scores), dtype=np.int64), np.zeros(len(scores), dtype=np.bool_)
    for code, sides in enumerate(scores):
        shape = frozenset((side, frozenset(points)) for side, points in sides.items())
        form[code] = forms.setdefault(shape, len(forms))
        sound[code] = len({criteria for _, criteria in shape}) == 1 and all(criteria for _, criteria in shape)
    kept = of_role & sound[where] if len(at) else np.zeros(0, dtype=np.bool_)
    rows = np.flatnonzero(of_role)
    if not len(rows):
        return kept
    n = int(place.max()) + 1
    least, most = np.full(n, len(forms)), np.full(n, -1)
    np.minimum.at(least, place[rows], form[where[rows]])
    np.maximum.at(most, place[rows], form[where[rows]])
    mixed = rows[(least < most)[place[rows]]]
    # The turns are in the order of rounds.
    for of_round in np.split(mixed, np.flatnonzero(np.diff(place[mixed])) + 1):
        names = [agent.values[code] for code in agent.codes[at[of_round]]]
        kept[of_round] = whole(
            (who, scores[code]) for who, code in zip(names, where[of_round].tolist(), strict=True)
        )
    return kept


def _of_a_role(items: Any, turns: Any, at: Ints) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which turns' roles count: where several roles score the debates of a run, the first that decides.

    Scores of different roles may be on different scales. Without a role that decides none of them counts.
    """
    role, debate = turns.coded("role"), turns.coded("debate")
    who, row = role.codes[at].astype(np.int64) + 1, debate.codes[at].astype(np.int64)
    kept = np.ones(len(at), dtype=np.bool_)
    n_roles = len(role.values) + 1
    pairs = np.unique(row * n_roles + who)
    several = np.bincount(pairs // n_roles, minlength=len(debate.values)) > 1
    if not several.any():
        return kept, []
    run, protocol = items.coded("log"), items.coded("protocol")
    of_item = (run.codes.astype(np.int64) + 1) * (len(protocol.values) + 1) + protocol.codes + 1
    group = np.zeros(len(debate.values), dtype=np.int64)
    by_name = {name: code for code, name in enumerate(debate.values)}
    own = items.coded("debate")
    order = np.array([by_name.get(name, -1) for name in own.values], dtype=np.int64)[own.codes]
    group[order[order >= 0]] = of_item[order >= 0]
    notes: dict[str, int] = {}
    for one in np.unique(group[several]):
        here = group[row] == one
        names = sorted(
            (role.values[code - 1] if code else None for code in np.unique(who[here]).tolist()),
            key=lambda name: name or "",
        )
        best = next((name for name in SCORING_ROLES if name in names), None)
        counts = here & (who == (role.values.index(best) + 1 if best is not None else -1))
        kept &= ~here | counts
        others = " and ".join(name or "no role" for name in names if name != best)
        text = (
            f"the scores are those of the role {best}; those of {others} are left out"
            if best is not None
            else f"agents of several roles ({others}) gave scores, perhaps on different scales, so none of them count"
        )
        notes[text] = notes.get(text, 0) + int((here & ~counts).sum())
    return kept, [
        Note(f"{text} ({counted(n, 'turn')}); choose a role with roles= (--role)", kind=UNREAD_SCORES, n=n)
        for text, n in notes.items()
    ]


def side_scores(
    items: Any, turns: Any, row: Ints, played: Ints, shape: tuple[int, int]
) -> tuple[NDArray[np.float64] | None, tuple[str, ...], tuple[str, ...]]:
    """Total a side's criteria within a turn, then average over the agents of the round that scored all sides.

    A side without any criterion was to be scored: its points are missing, and the log still has that side.

    Parameters
    ----------
    items, turns : columns
        The items and the turns of checked records.
    row, played : ndarray of int
        The debate and the round, from 0, of each turn.
    shape : tuple of int
        Debates and rounds.

    Returns
    -------
    tuple
        The points by debate, round and side, None where there are none; the sides; and what was left out.
    """
    found = scored_turns(items, turns)
    counting = np.unique(found.codes[found.of_role] if found.of_role.any() else found.codes)
    sides = sorted({side for code in counting.tolist() for side in found.scores[code]})
    if not sides:
        return None, (), ()
    points = np.full((len(found.scores), len(sides)), np.nan)
    for code in counting.tolist():
        for side, criteria in found.scores[code].items():
            if criteria:
                points[code, sides.index(side)] = float(sum(map(float, criteria.values())))
    turn = found.places[found.whole]
    at = row[turn] * shape[1] + played[turn]
    size = shape[0] * shape[1]
    total = np.full((size, len(sides)), np.nan)
    for s, own in enumerate(points[found.codes[found.whole]].T):
        known = ~np.isnan(own)
        scorers = np.bincount(at[known], minlength=size)
        summed = np.bincount(at[known], own[known], minlength=size)
        np.divide(summed, scorers, out=total[:, s], where=scorers > 0)
    return total.reshape(*shape, len(sides)), tuple(sides), found.notes
