"""The decision of a debate that stops after each of its rounds, as its protocol decides: arrays of votes and scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Bools, Floats
from d3stats.log.arrays import MISSING, tally_rounds
from d3stats.polling import Polling

__all__ = ["TIE", "Decided", "decided", "tie_rule"]

Codes = NDArray[np.int32]

TIE = "tie"
"""The answer that neither side is better, where that may be voted for."""

_CLOSE = 1e-12
"""Relative difference of sums of the same numbers in another order."""


class Decided(NamedTuple):
    """Decisions after each round, ``MISSING`` for none, and where two answers or more led; both (debates, rounds)."""

    verdict: Codes
    tied: Bools


def decided(
    polling: Polling, votes: Codes, answers: tuple[str, ...], sides: tuple[str, ...], scores: Floats | None
) -> Decided:
    """Return what debates of one protocol would decide after each round.

    Parameters
    ----------
    polling : Polling
        How the protocol decides.
    votes : ndarray of int32, shape (debates, rounds, seats)
        Codes of `answers`; ``MISSING`` where there is no vote.
    sides : tuple of str
        Names of the last axis of `scores`.
    scores : ndarray of float or None, shape (debates, rounds, sides)
        Raw points, NaN where missing.
    """
    case = _Case.of(answers, sides, tie=polling.tie)
    if polling.decides == "scores":
        return case.by_scores(*_points(polling, scores, votes.shape[:2]))
    if polling.decides == "latest":
        return _latest(votes)
    if polling.decides == "agreement":
        return _agreement(polling, votes, case)
    if polling.decides == "sides":
        cast = (votes != MISSING).any(axis=2)
        sides_cast = [(votes == side) & (votes != MISSING) for side in case.sides or (MISSING, MISSING)]
        counts = np.stack([each.sum(axis=2) for each in sides_cast], axis=2)
        return case.by_scores(counts.astype(np.float64), cast)
    if polling.decides == "pairs":
        votes = _of_reviewers(votes, case)
    return _plurality(polling, votes, case, scores)


def tie_rule(which: NDArray[np.int16] | None, pollings: tuple[Polling, ...]) -> str:
    """Say what a tie is in debates of these protocols; `which` is an index for each debate, -1 where unknown."""
    seat = "goes to the tied answer in the lowest seat (agents in the order of their names)"
    if which is None:
        return seat
    kinds = {
        3: "goes to the last seat",
        2: "goes to the answer that the judge's scores prefer, and is no decision without them",
        1: 'is no decision, or "tie" where that may be voted for',
        0: f"{seat}, where the log names no protocol of d3stats",
    }

    def kind(code: int) -> int:
        if code < 0:
            return 0
        polling = pollings[code]
        by_judge = polling.scored_from > 0 and polling.decides in ("plurality", "pairs")
        return 3 if polling.undecided == "last_seat" else 2 if by_judge else 1

    found = {kind(code) for code in np.unique(which).tolist()}
    return ", or ".join(kinds[k] for k in sorted(found, reverse=True))


class _Case(NamedTuple):
    """Codes of the two sides, None where there are not two of them, and of the answer "tie"."""

    n_answers: int
    sides: tuple[int, int] | None
    tie: int

    @classmethod
    def of(cls, answers: tuple[str, ...], sides: tuple[str, ...], *, tie: bool) -> _Case:
        code = {answer: i for i, answer in enumerate(answers)}
        named = [code.get(side, MISSING) for side in sides]
        if len(named) != 2:
            named = [i for answer, i in code.items() if answer != TIE]
        pair = (named[0], named[1]) if len(named) == 2 else None
        return cls(len(answers), pair, code.get(TIE, MISSING) if tie else MISSING)

    @property
    def level(self) -> int:
        """What it means that both sides lead."""
        return self.tie if self.sides is not None and MISSING not in self.sides else MISSING

    def by_scores(self, points: Floats, known: Bools) -> Decided:
        """Return the sides with more points; `points` has the two sides in its last axis."""
        a, b = points[..., 0], points[..., 1]
        level = np.isclose(a, b, rtol=_CLOSE, atol=_CLOSE)
        first, second = self.sides or (MISSING, MISSING)
        verdict = np.where(level, self.tie, np.where(a > b, first, second))
        return Decided(np.where(known, verdict, MISSING).astype(np.int32), level & known)


def _points(polling: Polling, scores: Floats | None, shape: tuple[int, ...]) -> tuple[Floats, Bools]:
    """Return the points that count after each round, and where there are some."""
    if scores is None or scores.shape[2] != 2 or polling.scored_from == 0:
        return np.zeros((*shape, 2)), np.zeros(shape, dtype=np.bool_)
    known: Bools = ~np.asarray(np.isnan(scores).any(axis=2), dtype=np.bool_)
    given = np.where(known[:, :, None], scores, 0.0)
    if polling.scored == "last":
        return given, known
    total: Floats = np.cumsum(given, axis=1)
    some: NDArray[np.int64] = np.cumsum(known, axis=1, dtype=np.int64)
    before = polling.scored_from - 1
    if 0 < before < shape[1]:
        # Scores of rounds before the first that counts are left out once it is reached.
        some[:, before:] -= some[:, [before - 1]]
        total[:, before:] -= total[:, [before - 1]].copy()
    return total, some > 0


def _latest(votes: Codes) -> Decided:
    n, rounds, seats = votes.shape
    verdict = np.full((n, rounds), MISSING, dtype=np.int32)
    standing = np.full((n, seats), MISSING, dtype=np.int32)
    for r in range(rounds):
        standing = np.where(votes[:, r] == MISSING, standing, votes[:, r])
        if seats:
            # What the last seat said in earlier rounds is no decision.
            standing[:, -1] = votes[:, r, -1]
        for seat in range(seats):
            np.copyto(verdict[:, r], standing[:, seat], where=standing[:, seat] != MISSING)
    return Decided(verdict, np.zeros((n, rounds), dtype=np.bool_))


def _agreement(polling: Polling, votes: Codes, case: _Case) -> Decided:
    winner, tied, lead, _, cast = tally_rounds(votes, case.n_answers)
    seats = votes.shape[2]
    agreed = (lead == seats) & (seats > 0)
    verdict = np.where(agreed, winner, MISSING).astype(np.int32)
    apart = ~agreed
    if polling.undecided == "last_seat" and seats:
        np.copyto(verdict, votes[:, :, -1], where=apart)
    elif case.level != MISSING and case.sides is not None:
        both = apart & (cast == seats)
        for side in case.sides:
            both &= (votes == side).any(axis=2)
        verdict[both] = case.level
    return Decided(verdict, tied)


def _of_reviewers(votes: Codes, case: _Case) -> Codes:
    """Return one vote per reviewer, whose two votes are next to each other: none where they differ, or a tie."""
    first, second = votes[:, :, 0::2], votes[:, :, 1::2]
    one: Codes = np.where(first == second, first, MISSING).astype(np.int32)
    if case.level != MISSING and case.sides is not None:
        a, b = case.sides
        one[((first == a) & (second == b)) | ((first == b) & (second == a))] = case.level
    return one


def _plurality(polling: Polling, votes: Codes, case: _Case, scores: Floats | None) -> Decided:
    if polling.weights:
        winner, tied, leads = _weighted(polling.weights, votes, case.n_answers)
    else:
        winner, tied, lead, _, _ = tally_rounds(votes, case.n_answers)
    at, r = np.nonzero(tied)
    verdict = winner.copy()
    if not len(at):
        return Decided(verdict, tied)
    verdict[at, r] = MISSING
    if polling.weights:
        leading = leads[at, r]
    else:
        size = np.stack([(votes[at, r] == i).sum(axis=1) for i in range(case.n_answers)], axis=1)
        leading = size == lead[at, r][:, None]
    if case.level != MISSING and case.sides is not None:
        both = leading[:, case.sides[0]] & leading[:, case.sides[1]]
        verdict[at[both], r[both]] = case.level
    if polling.scored_from:
        points, known = _points(polling, scores, votes.shape[:2])
        judge = case.by_scores(points[at, r], known[at, r]).verdict
        heard = (judge != MISSING) & leading[np.arange(len(at)), np.maximum(judge, 0)]
        verdict[at[heard], r[heard]] = judge[heard]
    return Decided(verdict, tied)


def _weighted(weights: tuple[float, ...], votes: Codes, n_answers: int) -> tuple[Codes, Bools, Bools]:
    """Return the answer with the most weight, where several have as much, and which have."""
    seats = votes.shape[2]
    # Where both votes of a voter count, they are next to each other. Other weights are not those of this panel.
    own = np.repeat(np.asarray(weights, dtype=np.float64), max(seats // len(weights), 1))
    if len(own) != seats:
        own = np.zeros(seats)
    size = np.stack([((votes == i) * own).sum(axis=2) for i in range(n_answers)], axis=2)
    top = size.max(axis=2, keepdims=True, initial=0.0)
    leads: Bools = np.isclose(size, top, rtol=_CLOSE, atol=_CLOSE) & (top > 0)
    count = leads.sum(axis=2)
    winner = np.where(count > 0, leads.argmax(axis=2), MISSING).astype(np.int32)
    return winner, count > 1, leads
