"""The Beta posterior of how often answer 1 wins a vote, by juror or by criterion.

Unlike the posterior of a growing gap (:mod:`~d3stats.models.gaps.beta`), this one shows which answer leads. The
parameter theta is the chance that one juror, or one criterion, prefers answer 1. P(theta > 1/2) is the probability that
answer 1 is better in the sense that most such votes would be for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, number, refuse_first
from d3stats.models.gaps.posterior import BetaPosterior, floats, prior
from d3stats.sources import LogSource, Reading, as_trajectories

__all__ = ["WinPosterior", "score_wins", "vote_wins", "win_posterior"]

TiesAs = Literal["half", "excluded"]
"""The meanings of a tie: half a win for each answer, or no trial."""


@dataclass(frozen=True, eq=False, repr=False)
class WinPosterior(BetaPosterior):
    """Beta(alpha, beta) posterior of theta, the chance that a vote is for answer 1, of any one shape.

    Made by :func:`win_posterior`. It has the means, probabilities and intervals of every Beta posterior here.

    Attributes
    ----------
    alpha, beta : ndarray of float, any one shape
        The posterior is Beta(alpha, beta), element by element.

    Examples
    --------
    >>> win_posterior(5, 0).prob_better.round(4).item()
    0.9844
    >>> share = win_posterior(5, 1)
    >>> share.prob_at_least(0.5).round(4).item(), share.prob_between(0.5, 0.9).round(4).item()
    (0.9375, 0.7878)
    >>> share.prob_near_mean(0.1).round(4).item(), [end.round(3).item() for end in share.interval(0.95)]
    (0.4828, [0.421, 0.963])
    >>> share.to_frame()[["mean", "low", "high"]].round(3).values.tolist()
    [[0.75, 0.421, 0.963]]
    """

    _besides = ("prob_better",)

    @property
    def prob_better(self) -> Floats:
        """P(theta > 1/2): the probability that answer 1 is better."""
        return self.prob_at_least(0.5)


def win_posterior(
    wins: ArrayLike,
    losses: ArrayLike,
    ties: ArrayLike | None = None,
    *,
    a0: float = 1.0,
    b0: float = 1.0,
    ties_as: TiesAs = "half",
    axis: int | tuple[int, ...] | None = None,
    design_effect: float = 1.0,
) -> WinPosterior:
    """Compute the Beta posterior of the chance that answer 1 wins a vote, for any number of debates at once.

    Parameters
    ----------
    wins, losses : arrays of counts >= 0, one shape
        Votes for answer 1 and for answer 2; fractions are taken (a weighted vote).
    ties : array of counts >= 0, same shape, optional
        Votes for neither.
    a0, b0 : float
        Prior, above 0. ``a0 = b0`` favours neither answer.
    ties_as : {"half", "excluded"}
        A tie is half a win for each answer, or no trial. Halves pull theta towards 1/2 and count as evidence that it
        is there; excluding them makes theta the chance among decided votes. The sign of theta - 1/2 is the same
        question under both, the certainty is not.
    axis : int or tuple of int, optional
        Add the counts up over these axes first: rounds of a debate, or debates of one pool.
    design_effect : float
        All counts are divided by it, >= 1: how many votes are worth one independent vote.

    Returns
    -------
    WinPosterior

    Notes
    -----
    The posterior takes votes as independent given theta. Votes of one juror in successive rounds, of copies of one
    model, and of several debates of one question are not; pooled without correction they make the posterior too narrow.
    Pool one round, not all; or give the design effect, 1 + (m - 1) rho for m votes per question with correlation rho
    (Kish 1965, *Survey Sampling*); or leave the pooling to a bootstrap over questions.

    Examples
    --------
    >>> post = win_posterior([3, 1], [0, 2], [0, 1])
    >>> post.alpha.tolist(), post.beta.tolist()
    ([4.0, 2.5], [1.0, 3.5])
    >>> post.prob_better.round(4).tolist()
    [0.9375, 0.3302]
    """
    a, b = prior("a0", a0), prior("b0", b0)
    choice("ties_as", ties_as, ("half", "excluded"))
    effect = number("design_effect", design_effect, minimum=1.0)
    won, lost = _counts("wins", wins), _counts("losses", losses)
    tied = np.zeros_like(won) if ties is None else _counts("ties", ties)
    if not won.shape == lost.shape == tied.shape:
        raise ValueError(
            f"wins, losses and ties must have one shape; got {won.shape}, {lost.shape} and {tied.shape}"
        )
    if axis is not None:
        won, lost, tied = won.sum(axis=axis), lost.sum(axis=axis), tied.sum(axis=axis)
    if ties_as == "half":
        won, lost = won + tied / 2, lost + tied / 2
    return WinPosterior(a + won / effect, b + lost / effect)


def vote_wins(
    trajectories: LogSource,
    answers: tuple[str, str] | None = None,
    *,
    tie: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[Ints, Ints, Ints]:
    """Count votes for answer 1, for answer 2 and for a tie in each round.

    Parameters
    ----------
    trajectories : what :func:`d3stats.as_trajectories` takes
        The log whose votes are counted.
    answers : (str, str), optional
        Names of answer 1 and answer 2; by default the log's first and second answer, when it has no other.
    tie : str, optional
        The answer that means a tie.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    wins, losses, ties : ndarray of int, each of shape (debates, rounds)
        A missing vote is none of the three.

    Examples
    --------
    >>> from d3stats.trajectories import Trajectories
    >>> t = Trajectories.from_arrays([[["A", "A", "B"], ["A", None, "A"]]])
    >>> wins, losses, _ = vote_wins(t, ("A", "B"))
    >>> wins.tolist(), losses.tolist()
    ([[2, 2]], [[1, 0]])
    """
    trajectories = as_trajectories(trajectories, **reading)
    known = trajectories.answers
    if answers is None:
        rest = tuple(name for name in known if name != tie)
        if len(rest) != 2:
            raise ValueError(
                f"answers must be named unless the log has two of them; got {len(rest)}: {list(rest)[:6]}"
            )
        answers = (rest[0], rest[1])
    if len(answers) != 2 or answers[0] == answers[1] or tie in answers:
        raise ValueError(
            f"answers must be two different names, neither the tie; got {answers!r}, tie={tie!r}"
        )
    named = [*answers] if tie is None else [*answers, tie]
    for name in named:
        if name not in known:
            raise ValueError(f"answers must occur in the log, which has {list(known)[:6]}; got {name!r}")
    codes = [known.index(name) for name in named]
    votes = trajectories.votes
    other = (votes >= 0) & ~np.isin(votes, codes)
    if other.any():
        debate, round_, _ = np.unravel_index(int(np.argmax(other)), votes.shape)
        raise ValueError(
            f"votes must be for {' or '.join(map(repr, named))}; got {known[votes[other][0]]!r} in debate "
            f"{trajectories.debates[int(debate)]!r}, round {int(round_) + 1}"
        )
    counted = [(votes == code).sum(axis=2, dtype=np.int64) for code in codes]
    ties = counted[2] if tie is not None else np.zeros_like(counted[0])
    return counted[0], counted[1], ties


def score_wins(scores: ArrayLike) -> tuple[Ints, Ints, Ints]:
    """Count the criteria (or jurors) that score answer 1 above, below and level with answer 2.

    Parameters
    ----------
    scores : array, shape (..., criteria, 2)
        Points of the two answers by each criterion, NaN where missing.

    Returns
    -------
    wins, losses, ties : ndarray of int, each of shape (...)
        A criterion with a missing score is none of the three.

    Examples
    --------
    >>> [int(n) for n in score_wins([[8, 6], [7, 7], [9, 4], [float("nan"), 3]])]
    [2, 0, 1]
    """
    points = floats("scores", scores)
    if points.ndim < 2 or points.shape[-1] != 2:
        raise ValueError(f"scores must have shape (..., criteria, 2); got shape {points.shape}")
    refuse_first("scores", "must be finite, or NaN where missing", points, np.isinf(points))
    first, second = points[..., 0], points[..., 1]
    met = (first > second, first < second, first == second)
    wins, losses, ties = (np.asarray(each.sum(axis=-1), dtype=np.int64) for each in met)
    return wins, losses, ties


def _counts(name: str, values: ArrayLike) -> Floats:
    array = floats(name, values)
    refuse_first(name, "must be finite and >= 0", array, ~(np.isfinite(array) & (array >= 0)))
    return array
