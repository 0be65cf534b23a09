"""The referee team of ChatEval, drawn: the scores given, the votes they imply, the tokens they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.simulate.draw import Drawn, sample
from d3stats.worlds.referees import Referees

__all__ = ["sample_referees"]

Floats = NDArray[np.float64]

A, B, TIE = 0, 1, 2
LOWEST, HIGHEST = 1, 10
TOKENS_PER_WORD = 4 / 3


@sample.register
def sample_referees(world: Referees, n_debates: int, n_rounds: int, rng: np.random.Generator) -> Drawn:
    """Draw discussions of a team of referees; a round is a turn.

    Raises
    ------
    ValueError
        When asked for fewer than two turns: the protocol has at least two, so that words are answered.

    Examples
    --------
    >>> from d3stats.simulate import simulate
    >>> from d3stats.worlds import Referees
    >>> talks = simulate(Referees(panel=3), n_debates=100, n_rounds=2, rng=1)
    >>> talks.answers, talks.scores.shape
    (('A', 'B', 'tie'), (100, 2, 2))
    """
    if n_rounds < 2:
        raise ValueError(f"n_rounds must be >= 2 for a team of referees; got n_rounds={n_rounds}")
    quality, label = draw_pairs(world, n_debates, rng)
    # Whatever depends on the team has streams of its own, so that every team of a seed sees the same items.
    seed = int(rng.integers(2**63))
    standing = np.random.default_rng([seed, 0])
    talking, writing = np.random.default_rng([seed, 1 + world.run]).spawn(2)
    opinion = _opinions(world, quality, standing)
    level = world.base + world.level_sd * standing.standard_normal((n_debates, world.panel))
    given = _talk(world, opinion, level, n_rounds, talking)
    difference = given[..., 0] - given[..., 1]
    votes = np.where(difference > 0, A, np.where(difference < 0, B, TIE)).astype(np.int32)
    seats = tuple(f"referee {j + 1}" for j in range(world.panel))
    tokens, written = _tokens(world, n_debates, n_rounds, writing)
    sides, points = ("A", "B"), given.mean(axis=2)
    return Drawn(votes, label, ("A", "B", "tie"), tokens, points, sides, seats, tokens - written, written)


def draw_pairs(world: Referees, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int32]]:
    """Draw how much better A is, and the label."""
    quality: Floats = world.gap_sd * rng.standard_normal(n)
    judged = quality + world.label_noise * rng.standard_normal(n)
    label = np.where(np.abs(judged) < world.tie_margin, TIE, np.where(judged > 0, A, B)).astype(np.int32)
    return quality, label


def _opinions(world: Referees, quality: Floats, rng: np.random.Generator) -> Floats:
    """Return what each referee thinks A is better by, before a word is said; shape (debates, referees)."""
    n = len(quality)
    lean = np.asarray(world.lean) if world.lean else np.zeros(world.panel)
    shared, own = rng.standard_normal((n, 1)), rng.standard_normal((n, world.panel))
    opinions: Floats = opinion(world, quality[:, None], lean, shared, own, world.first)
    return opinions


def opinion(world: Referees, quality: Any, lean: Any, shared: Any, own: Any, first: str | None) -> Any:
    """Return what a referee thinks A is better by, from its two errors and what it reads first."""
    position = world.position_bias if first == "A" else -world.position_bias
    return quality + position + lean + world.shared_sd * shared + world.role_sd * own


def _talk(world: Referees, opinion: Floats, level: Floats, n_rounds: int, rng: np.random.Generator) -> Floats:
    """Return the scores given, shape (debates, turns, referees, sides)."""
    n, m = opinion.shape
    noise = rng.standard_normal((n, n_rounds, m))
    blur = world.summary_noise * rng.standard_normal((n, n_rounds))
    given = np.empty((n, n_rounds, m, 2))
    said = np.empty((n, n_rounds, m))
    for t in range(n_rounds):
        for j in range(m):
            heard = _heard(world.communication, said, t, j, blur)
            given[:, t, j, 0], given[:, t, j, 1] = spoken(
                world, opinion[:, j], heard, level[:, j], noise[:, t, j]
            )
            said[:, t, j] = given[:, t, j, 0] - given[:, t, j, 1]
    return given


def spoken(world: Referees, own: Any, heard: Any, level: Any, noise: Any) -> tuple[Any, Any]:
    """Return the scores of A and B that a referee gives, with what it has heard or None."""
    x = own if heard is None else (1 - world.conformity) * own + world.conformity * heard
    half = (x + world.talk_noise * noise) / 2
    a, b = np.rint(level + half), np.rint(level - half)
    return np.minimum(np.maximum(a, LOWEST), HIGHEST), np.minimum(np.maximum(b, LOWEST), HIGHEST)


def _heard(communication: str, said: Floats, t: int, j: int, blur: Floats) -> Floats | None:
    """Return what referee j has in the ear before speaking in turn t, None before anything was said."""
    if communication == "simultaneous_with_summarizer":
        return None if t == 0 else said[:, :t].mean(axis=(1, 2)) + blur[:, t]
    others = np.arange(said.shape[2]) != j
    if communication == "simultaneous":
        latest = said[:, t - 1, others] if t else said[:, 0, :0]
    else:
        after = said[:, t - 1, j + 1 :] if t else said[:, 0, :0]
        latest = np.concatenate([said[:, t, :j], after], axis=1)
    return latest.mean(axis=1) if latest.shape[1] else None


def case_words(world: Referees) -> float:
    """Return the words of a prompt that holds the role, the question and both answers."""
    return world.instruction_words + world.question_words + 2 * world.answer_words


def _tokens(world: Referees, n: int, n_rounds: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the tokens of a turn's calls, prompts and messages together and messages alone; (debates, turns)."""
    m = world.panel

    def written(longest: float, *shape: int) -> Floats:
        return longest * (1 - world.slack * rng.random((n, n_rounds, *shape)))

    reply, summary = written(world.reply_words, m), written(world.summary_words)
    turn = reply.sum(axis=2)
    before = np.cumsum(turn, axis=1) - turn
    case = case_words(world)
    if world.communication == "one_by_one":
        # Seat j reads this turn's messages of the seats before it, too.
        words = m * (case + before) + (np.cumsum(reply, axis=2) - reply).sum(axis=2) + turn
    elif world.communication == "simultaneous":
        words = m * (case + before) + turn
    else:
        summaries = np.cumsum(summary, axis=1) - summary
        summarizing = world.instruction_words + before + turn + summary
        words = m * (case + summaries) + turn + summarizing
    said = turn + summary if world.communication == "simultaneous_with_summarizer" else turn
    return TOKENS_PER_WORD * words, TOKENS_PER_WORD * said
