"""Stop when two agents' answers read alike, or when both agents only repeat themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import NonNegativeInt, PositiveInt, Probability
from d3stats.stopping.rule import Decision, ReasonedRule, Round
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["ExchangeOfThought"]


def alike(earlier: str | None, later: str | None, above: float) -> bool:
    """Say whether the ratio of two lower-cased answers, in this order, is above a number; never for None."""
    if earlier is None or later is None:
        return False
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, earlier.lower(), later.lower())
    # The two quick ratios are upper bounds: they spare the slow one for most answers that differ.
    bounds = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return all(bound() > above for bound in bounds)


class AlikeCodes:
    """The same for arrays of codes, each distinct pair of answers compared once."""

    def __init__(self, answers: tuple[str, ...], above: float) -> None:
        self._answers, self._above = answers, above
        self._known: dict[int, bool] = {}

    def __call__(self, earlier: NDArray[np.int32], later: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Compare code by code; a missing answer is like nothing."""
        size = len(self._answers)
        spoken = (earlier != MISSING) & (later != MISSING)
        pairs, at = np.unique(earlier[spoken].astype(np.int64) * size + later[spoken], return_inverse=True)
        for pair in pairs.tolist():
            if pair not in self._known:
                a, b = divmod(pair, size)
                self._known[pair] = alike(self._answers[a], self._answers[b], self._above)
        result = np.zeros(len(earlier), dtype=bool)
        result[spoken] = np.array([self._known[pair] for pair in pairs.tolist()], dtype=bool)[at]
        return result


@dataclass(frozen=True)
class ExchangeOfThought(ReasonedRule):
    """Stop when the answers of two agents are alike in words, when both have left, or at the round cap.

    Likeness is ``difflib.SequenceMatcher(None, a, b).ratio()`` of the lower-cased answers: twice the matching
    characters over all characters, with difflib's own settings. It depends on the order of its arguments, so
    the order is fixed: the agent `first` before the agent `second`, an earlier answer before a later one.

    Parameters
    ----------
    similarity : float
        The debate ends when the ratio of the two answers is above this.
    self_similarity : float
        An agent leaves when the ratio of its answers in the previous and in this round is above this.
    max_rounds : int
        The debate ends after this round at the latest.
    first, second : int
        Seats of the two agents, from 0; other seats (a third agent that sums up) are not compared.

    Notes
    -----
    An agent that has left keeps the answer it left with, is compared by it, and does not come back. It leaves
    after the round's answers are compared, so two agents that agree have a consensus, and do not leave. A
    missing answer, or a seat that the panel does not have, is like nothing.

    The answers are the votes of the log: whole solutions if it holds them, and else short ones, of which the
    ratio is a coarse measure: "1200" and "12000" read alike at .89.

    Three reasons, of which the first that holds is given: ``"consensus"``, ``"agents_left"``, ``"round_cap"``.

    Raises
    ------
    ValueError
        When played on a log that says only which votes were right (``coding="correctness"``), or online on
        rounds without texts.

    Examples
    --------
    >>> said = [("It is 12.", "The answer is 20."), ("It is 12!", "it is 12.")]
    >>> rounds = [Round(i + 1, (0, 1), 2, texts=texts) for i, texts in enumerate(said)]
    >>> ExchangeOfThought().run(rounds), ExchangeOfThought(similarity=0.95).run(rounds)
    ((2, 'consensus'), (2, 'exhausted'))
    """

    similarity: Probability = 0.85
    self_similarity: Probability = 0.9
    max_rounds: PositiveInt = 3
    first: NonNegativeInt = 0
    second: NonNegativeInt = 1

    name: ClassVar[str] = "eot"
    inputs: ClassVar[frozenset[str]] = frozenset({"votes", "texts"})
    citation: ClassVar[str] = (
        "Yin et al. (2023), arXiv 2312.01823 (Exchange-of-Thought), with the difflib thresholds of a later "
        "comparison of debate frameworks"
    )
    statistic: ClassVar[str] = "share of matching characters between two answers in words"
    guarantee: ClassVar[str] = (
        "at most max_rounds rounds; none on the verdict, because answers with similar words may differ"
    )
    reason: ClassVar[str] = "consensus"
    reasons: ClassVar[tuple[str, ...]] = ("consensus", "agents_left", "round_cap")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first == self.second:
            raise ValueError(f"second must be another seat than first; got seat {self.first} for both")

    def start(self) -> _State:
        """Open a debate."""
        return _State(self)

    def conditions(self, trajectories: Trajectories) -> tuple[NDArray[np.bool_], ...]:
        """Say where the two answers are alike, where both agents have left and where the cap is reached."""
        t = trajectories
        if t.coding == "correctness":
            raise ValueError(
                f"coding must be 'answers', because {self.name} compares answers in words; got 'correctness'"
            )
        between = AlikeCodes(t.answers, self.similarity)
        within = AlikeCodes(t.answers, self.self_similarity)
        consensus, both_left, capped = (np.zeros((len(t), t.n_rounds), dtype=bool) for _ in self.reasons)
        capped[:, self.max_rounds - 1 :] = True
        votes = [_votes_of(t, seat) for seat in (self.first, self.second)]
        kept = [np.full(len(t), MISSING, dtype=np.int32) for _ in votes]
        left = [np.zeros(len(t), dtype=bool) for _ in votes]
        for r in range(t.n_rounds):
            now = [np.where(left[i], kept[i], votes[i][:, r]) for i in (0, 1)]
            left = [left[i] | within(kept[i], now[i]) for i in (0, 1)]
            kept = now
            consensus[:, r] = between(now[0], now[1])
            both_left[:, r] = left[0] & left[1]
        return consensus, both_left, capped


@dataclass
class _State:
    rule: ExchangeOfThought
    kept: tuple[str | None, ...] = (None, None)
    left: tuple[bool, ...] = (False, False)

    def update(self, latest: Round, /) -> Decision:
        rule = self.rule
        if latest.texts is None:
            raise ValueError(
                f"texts must be given, because {rule.name} compares answers in words; got a round without"
            )
        said = [latest.texts[seat] if seat < latest.panel else None for seat in (rule.first, rule.second)]
        now = tuple(self.kept[i] if self.left[i] else said[i] for i in (0, 1))
        self.left = tuple(self.left[i] or alike(self.kept[i], now[i], rule.self_similarity) for i in (0, 1))
        self.kept = now
        capped = latest.number >= rule.max_rounds
        return rule.decision((alike(now[0], now[1], rule.similarity), all(self.left), capped), {})


def _votes_of(t: Trajectories, seat: int) -> NDArray[np.int32]:
    if seat >= t.votes.shape[2]:
        return np.full(t.votes.shape[:2], MISSING, dtype=np.int32)
    return t.votes[:, :, seat]
