"""PRD: peer rank, a weighted vote of models on each other, and peer discussion until two agree (Li et al. 2023)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from d3stats._arrays import Floats
from d3stats._check import PositiveInt, choice, integer, nonnegative, number
from d3stats.agent import Case, Message, Request, Slot
from d3stats.polling import Polling
from d3stats.protocols.play import DebateProtocol, Outcome, Play, plurality, round_over, said, settled, speak
from d3stats.stopping import StoppingRule, Unanimity
from d3stats.values import numbers_of

__all__ = ["PeerDiscussion", "PeerRank", "PeerWeights", "peer_weights"]

REVIEW = (
    "You are {name}. Review two answers to one question: compare them, whatever the order in which they "
    "are shown, explain what decides, and vote for the better answer."
)
DISCUSS = (
    "You are {name} and talk with {other} about your reviews of two answers to one question. The reviews "
    "and the talk so far are shown. Decide whether to keep or change your vote, and explain it; reply to "
    "what {other} has said."
)


@dataclass(frozen=True, kw_only=True)
class PeerDiscussion(DebateProtocol):
    """Two reviewers vote apart; while they differ, each in turn reads all that was said and votes again.

    Round 1 is the two reviews, made at the same time. In each later round reviewer 1 speaks, who leads, then
    reviewer 2; both have read the reviews and every message before theirs.

    Parameters
    ----------
    max_rounds : int
        The reviews and then the rounds of the talk; the paper's 4 turns are two of them, so 3.
    undecided : {"none", "last_speaker"}
        The decision when they still differ. With "none" there is none, or ``"tie"`` where that may be voted for and
        each candidate has one vote. With "last_speaker" it is the vote of reviewer 2, who spoke last.

    Notes
    -----
    The paper's aim is an agreed preference, and its released code always plays four turns. Here the debate
    ends with the first round, the reviews included, after which both votes are there and equal, because then
    the reviewers agree. Agreement is checked after both have spoken, so that a log has both in every round. A
    reviewer whose reply is missing has not agreed. The paper discusses each pair with either reviewer leading
    and each answer first; that is two runs in both orders. The reviewers have a role each ("reviewer 1",
    "reviewer 2"), so that they may be two models.

    Examples
    --------
    >>> str(PeerDiscussion().rule()), PeerDiscussion().max_rounds
    ('unanimity:missing=block', 3)
    """

    max_rounds: int = 3
    undecided: Literal["none", "last_speaker"] = "none"

    name: ClassVar[str] = "peer_discussion"
    citation: ClassVar[str] = "Li et al. (2023), arXiv 2307.02762 (PRD), peer discussion"

    @property
    def polling(self) -> Polling:
        """The agreement of both, or what the last speaker votes for."""
        last = self.undecided == "last_speaker"
        return replace(super().polling, undecided="last_seat" if last else "none")

    def rule(self) -> StoppingRule:
        """Return agreement of both."""
        return Unanimity(missing="block")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        talk: list[Message] = []
        number = 0
        while True:
            number += 1
            votes: list[str | None] = []
            stages = ((0, 1),) if number == 1 else ((0,), (1,))
            for seats in stages:
                asked = [self._reviewer(case, number, seat, tuple(talk)) for seat in seats]
                replies = yield from speak(*asked)
                for request, reply in zip(asked, replies, strict=True):
                    talk += said(request, reply, request.agent, show=True)
                    votes.append(reply.vote)
            decision = yield from round_over(number, votes=votes)
            if decision.stop:
                both = {vote for vote in votes if vote is not None}
                agreed = None if None in votes else settled(both, case.sides, case.answers)
                if len(both) != 1 or None in votes:
                    agreed = votes[1] if self.undecided == "last_speaker" else agreed
                return Outcome(agreed, number, str(decision.reason), decision.detail)

    def _reviewer(self, case: Case, number: int, seat: int, seen: tuple[Message, ...]) -> Request:
        name, other = f"reviewer {seat + 1}", f"reviewer {2 - seat}"
        act, instruction = ("review", REVIEW) if number == 1 else ("discuss", DISCUSS)
        text = instruction.format(name=name, other=other)
        slot = Slot(case.answers, words=150)
        return self.request(case, number, name, name, act, text, slot, seen)


INSTRUCTION = (
    "You review two answers to one question. Compare them, free of any leaning towards the one that comes "
    "first, the longer one or one that sounds like your own; explain what decides, and vote for the "
    "better answer."
)


@dataclass(frozen=True, kw_only=True)
class PeerRank(DebateProtocol):
    """Each reviewer compares the candidates twice, once with each shown first; a weighted majority decides.

    Parameters
    ----------
    reviewers : int
        The paper's panel has 5: the models whose answers are compared review each other.
    weights : tuple of float
        One per reviewer, from 0; empty for equal weights.
        :func:`~d3stats.protocols.prd.peer_weights` finds the paper's weights from finished
        reviews.
    orders : {"agree", "each"}
        "agree": a reviewer has one vote, and only if both of its votes are equal; if they differ it
        abstains, or votes "tie" where the case has that answer. "each": both votes count, as in the paper's
        win rates.

    Raises
    ------
    ValueError
        When there are weights, but not one per reviewer, or all are 0.

    Notes
    -----
    A reviewer with one missing vote has, under "agree", no vote. Equal weight on both candidates is "tie"
    where the case has it, else no decision. The log has two turns per reviewer, with votes by candidate.
    Reviewers have a role each ("reviewer 1", ...), so that each may be another model; the paper's reviewers
    are never told which model wrote an answer.

    Examples
    --------
    >>> str(PeerRank(reviewers=2, weights=(2, 1)))
    'peer_rank:reviewers=2,weights=2.0+1.0'
    """

    reviewers: PositiveInt = 5
    weights: tuple[float, ...] = ()
    orders: Literal["agree", "each"] = "agree"

    name: ClassVar[str] = "peer_rank"
    citation: ClassVar[str] = "Li et al. (2023), arXiv 2307.02762 (PRD), peer rank"

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = tuple(nonnegative("weights", self.weights).tolist())
        if weights and (len(weights) != self.reviewers or not any(weights)):
            raise ValueError(
                f"weights must be one per reviewer ({self.reviewers}) and not all 0; got weights={weights!r}"
            )
        object.__setattr__(self, "weights", weights)

    @property
    def polling(self) -> Polling:
        """The weights of the reviewers, each of whom has one vote or two."""
        usual = replace(super().polling, weights=self.weights)
        return usual if self.orders == "agree" else replace(usual, decides="plurality")

    def play(self, case: Case) -> Play:
        """Play one debate."""
        slot = Slot(case.answers, words=150)
        # In the order of the log's seats, which a rule sees.
        asked = sorted(
            (self._reviewer(case, seat, side, slot) for seat in range(self.reviewers) for side in case.sides),
            key=lambda request: request.agent,
        )
        replies = yield from speak(*asked)
        votes = {request.agent: reply.vote for request, reply in zip(asked, replies, strict=True)}
        given: list[str | None] = []
        weights: list[float] = []
        for seat in range(self.reviewers):
            both = [votes[_name(seat, side)] for side in case.sides]
            kept = both if self.orders == "each" else [_agreed(case, both)]
            given += kept
            weights += [self.weights[seat] if self.weights else 1.0] * len(kept)
        worth = {
            side: sum(weight for vote, weight in zip(given, weights, strict=True) if vote == side)
            for side in case.sides
        }
        yield from round_over(1, votes=votes.values(), ends="one_round")
        return Outcome(plurality(case, given, weights), 1, "one_round", worth)

    def _reviewer(self, case: Case, seat: int, side: str, slot: Slot) -> Request:
        name, role = _name(seat, side), f"reviewer {seat + 1}"
        return self.request(case, 1, name, role, "review", INSTRUCTION, slot, first=side)


def _name(seat: int, side: str) -> str:
    return f"reviewer {seat + 1}, {side} first"


def _agreed(case: Case, both: list[str | None]) -> str | None:
    """Return the vote of a reviewer who was asked twice."""
    if None in both:
        return None
    if len(set(both)) == 1:
        return both[0]
    # One vote for each candidate is a tie; a candidate and a tie are no vote.
    return settled({vote for vote in both if vote is not None}, case.sides, case.answers)


COLUMNS = ("reviewer", "model", "opponent", "score")


@dataclass(frozen=True, eq=False)
class PeerWeights:
    """Win rates of models, and the weights of those of them that review.

    Attributes
    ----------
    table : DataFrame
        ``model, win_rate, weight``, best first; the weight is missing (NaN) for a model that reviews no model.
    n_iter : int
        Times that the win rates were computed.
    converged : bool
        Whether the last iteration moved no weight by more than the tolerance.
    scale : str
        How win rates became weights.

    Examples
    --------
    >>> rows = [("x", "x", "y", 1.0), ("y", "x", "y", 0.0), ("y", "x", "y", 1.0), ("x", "x", "y", 1.0)]
    >>> found = peer_weights(pd.DataFrame(rows, columns=["reviewer", "model", "opponent", "score"]), scale="share")
    >>> found.converged, [round(weight, 3) for weight in found.weights(["y", "x"])]
    (True, [0.0, 1.0])
    """

    table: pd.DataFrame
    n_iter: int
    converged: bool
    scale: str

    def weights(self, reviewers: list[str]) -> tuple[float, ...]:
        """Return the weights in the order of the reviewers, as ``PeerRank(weights=)`` takes them.

        Raises
        ------
        ValueError
            When one of them has no weight, because it has reviewed no model.
        """
        known = self.table.set_index("model")["weight"].dropna()
        for reviewer in reviewers:
            if reviewer not in known.index:
                raise ValueError(f"reviewers must be among {sorted(known.index)}; got {reviewer!r}")
        return tuple(float(known[reviewer]) for reviewer in reviewers)


def peer_weights(
    reviews: pd.DataFrame,
    *,
    scale: Literal["minmax", "share"] = "minmax",
    max_iter: int = 1000,
    tolerance: float = 1e-12,
) -> PeerWeights:
    """Find weights of reviewers and win rates of models that agree with each other.

    A model's win rate is the mean of its scores, each weighted by the reviewer's weight; a reviewer's
    weight is its own win rate, normalised. Both are computed in turn, from equal weights, until the weights
    stay.

    Parameters
    ----------
    reviews : DataFrame
        One row per review of a pair: ``reviewer``, ``model``, ``opponent`` and ``score``, what the model
        got: 1 for a win, 0.5 for a tie, 0 for a loss. The opponent gets the rest. Every reviewer must be
        among the models.
    scale : {"minmax", "share"}
        "minmax": the best reviewer's win rate becomes 1, the worst's 0, then all are divided by their sum
        (the paper's); so the worst reviewer is not heard. "share": win rates divided by their sum.
    max_iter : int
        The paper's released code takes 5.
    tolerance : float
        The largest change of a weight that counts as none.

    Returns
    -------
    PeerWeights
        The win rates, and the weights that follow from them.

    Raises
    ------
    ValueError
        When a column is missing, a score is none of 1, 0.5 and 0, a model meets itself, a reviewer is no
        model, or only reviewers without weight have reviewed a model.

    Notes
    -----
    With "minmax" the map from weights to weights is not continuous where the order of the reviewers
    changes, so it need not settle; ``converged`` says whether it did. When all win rates are equal, so are
    the weights. The released code weighs a review by the reviewer's weight and counts every review as one.
    Here the weights are also in the denominator, so a win rate is never above 1. The two are the same when all
    reviewers review equally often.

    References
    ----------
    Li, R., Patel, T. and Du, X. (2023), arXiv 2307.02762, after Walsh, T. (2014), The PeerRank Method for
    Peer Assessment.

    Examples
    --------
    >>> rows = [("x", "x", "y", 1.0), ("y", "x", "y", 0.0), ("y", "x", "y", 1.0), ("x", "x", "y", 1.0)]
    >>> found = peer_weights(pd.DataFrame(rows, columns=["reviewer", "model", "opponent", "score"]))
    >>> found.table.round(3).to_dict("list")
    {'model': ['x', 'y'], 'win_rate': [1.0, 0.0], 'weight': [1.0, 0.0]}
    """
    choice("scale", scale, ("minmax", "share"))
    max_iter = integer("max_iter", max_iter, minimum=1)
    tolerance = number("tolerance", tolerance, minimum=0.0)
    models, reviewers, won, met = _tables(reviews)
    seat = pd.Index(models).get_indexer(pd.Index(reviewers))
    weights = np.full(len(reviewers), 1.0 / len(reviewers))
    converged, n_iter = False, 0
    rates = np.zeros(len(models))
    while not converged and n_iter < max_iter:
        n_iter += 1
        heard = weights @ met
        if (heard <= 0).any():
            silent = models[int(np.argmax(heard <= 0))]
            raise ValueError(
                f"every model must be reviewed by a reviewer with weight; got none for {silent!r}"
            )
        rates = weights @ won / heard
        latest = _normalised(rates[seat], scale)
        converged = bool(np.abs(latest - weights).max() <= tolerance)
        weights = latest
    table = pd.DataFrame({"model": models, "win_rate": rates, "weight": np.nan})
    table.loc[seat, "weight"] = weights
    table = table.sort_values("win_rate", ascending=False, kind="stable", ignore_index=True)
    return PeerWeights(table, n_iter, converged, scale)


def _normalised(rates: Floats, scale: str) -> Floats:
    above = rates - rates.min() if scale == "minmax" else rates
    # Equal reviewers are worth the same; so are reviewers who never win.
    return above / above.sum() if above.sum() > 0 else np.full(len(rates), 1.0 / len(rates))


def _tables(reviews: pd.DataFrame) -> tuple[list[str], list[str], Floats, Floats]:
    """Return models, reviewers, and by reviewer and model the points won and the pairs met."""
    absent = [column for column in COLUMNS if column not in reviews.columns]
    if absent:
        raise ValueError(f"reviews must have the columns {list(COLUMNS)}; got none named {absent}")
    if len(reviews) == 0:
        raise ValueError("reviews must have at least one row; got none")
    names = reviews[["reviewer", "model", "opponent"]]
    if names.isna().to_numpy().any():
        raise ValueError("reviews must name who reviewed whom in every row; got missing values")
    score = numbers_of("score", reviews["score"])
    bad = ~np.isin(score, (0.0, 0.5, 1.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"score must be 1, 0.5 or 0; got score={score[row]} at row {row}")
    reviewer, model, opponent = (names[column].astype(str).to_numpy() for column in names)
    if (model == opponent).any():
        raise ValueError(f"opponent must be another model; got {model[model == opponent][0]!r} twice")
    models, reviewers = sorted({*model, *opponent}), sorted(set(reviewer))
    strangers = [name for name in reviewers if name not in models]
    if strangers:
        raise ValueError(f"reviewer must be one of the models {models}; got reviewer={strangers[0]!r}")
    won, met = np.zeros((2, len(reviewers), len(models)))
    rows = pd.Index(reviewers).get_indexer(pd.Index(reviewer))
    for side, points in ((model, score), (opponent, 1.0 - score)):
        columns = pd.Index(models).get_indexer(pd.Index(side))
        np.add.at(won, (rows, columns), points)
        np.add.at(met, (rows, columns), 1.0)
    return models, reviewers, won, met
