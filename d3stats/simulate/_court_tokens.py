"""What a courtroom debate costs in tokens: every call's prompt and message."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.worlds.courtroom import Courtroom

Floats = NDArray[np.float64]

TOKENS_PER_WORD = 4 / 3


def case_words(world: Courtroom, log_length_ratio: Floats) -> Floats:
    """Return the words of a prompt that holds the role, the question and both answers."""
    # Both answers together: their mean length is kept, their ratio is the item's.
    answers = 2 * world.answer_words * np.cosh(log_length_ratio / 2)
    words: Floats = world.instruction_words + world.question_words + answers
    return words


def court_tokens(
    world: Courtroom, n_rounds: int, log_length_ratio: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the tokens sent and the tokens written in each round, both of shape (debates, rounds)."""
    n, k, m = len(log_length_ratio), world.advocates, world.panel

    def written(longest: float, *shape: int) -> Floats:
        return longest * (1 - world.slack * rng.random((n, n_rounds, *shape)))

    case = case_words(world, log_length_ratio)[:, None]
    own = written(world.defence_words, 2, k).sum(axis=(2, 3))
    defence = written(world.aggregate_words, 2).sum(axis=2) if k > 1 else own
    feedback = written(world.feedback_words, 2).sum(axis=2)
    if world.protocol == "more":
        feedback = np.zeros_like(feedback)
    reasons = written(world.reasons_words)
    rationales = written(world.rationale_words, m).sum(axis=2)

    after = np.cumsum(defence + feedback, axis=1)
    if world.memory == "transcript":
        # Two sides, each of which reads all that both have said.
        to_advocates, to_judge = 2 * (after - defence - feedback), after - feedback
    else:
        # Both sides together: all own defences so far, the other's last one, the last feedback.
        last = np.pad((defence + feedback)[:, :-1], ((0, 0), (1, 0)))
        to_advocates, to_judge = np.cumsum(defence, axis=1) - defence + last, defence
    sent = k * (2 * case + to_advocates) + case + to_judge
    said = own + feedback + reasons
    if k > 1:
        # Each side's aggregator reads its own k defences.
        sent, said = sent + 2 * case + own, said + defence
    to_jury = m * (case + after)
    if world.poll == "end":
        # A jury is paid once: what it costs more than a jury after the round before.
        to_jury = np.diff(to_jury, axis=1, prepend=0.0)
        # One rationale per juror, counted where the jury would first be asked.
        rationales[:, 1:] = 0.0
    return TOKENS_PER_WORD * (sent + to_jury), TOKENS_PER_WORD * (said + rationales)
