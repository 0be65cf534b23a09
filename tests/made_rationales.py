"""Rationales made with known truth: who cites, which words two of them share, and which reasons go with dissent.

Every question has several debates, and what is drawn is drawn for the question, so that debates of one question are
alike. The true values follow from how the texts are made, not from what the package computes.
"""

from __future__ import annotations

from itertools import count
from math import log, prod, sqrt

import numpy as np
import pandas as pd

JURORS = 5
COLUMNS = ["debate", "question", "round", "agent", "role", "vote", "text"]
CITING = (
    "Advocate A argued that it holds.",
    "In round 1 the case was made.",
    "The rebuttal was weak.",
)
"""One text for each of the kinds speaker, round and argument."""
PLAIN = "The first answer is the better one."


def debates(n_questions: int, per_question: int) -> list[tuple[str, str, int]]:
    """Return the names of debates and questions, and the number of the question."""
    return [(f"d{q:04d}.{k}", f"q{q:04d}", q) for q in range(n_questions) for k in range(per_question)]


def cited_log(
    rng: np.random.Generator, n_questions: int, *, per_question: int = 2, share: float = 0.7, sd: float = 0.2
) -> pd.DataFrame:
    """Draw jurors who cite the debate with a chance that differs by question: mean `share`, standard deviation `sd`."""
    size = share * (1 - share) / sd**2 - 1
    chance = rng.beta(share * size, (1 - share) * size, n_questions)
    rows = []
    for debate, question, q in debates(n_questions, per_question):
        for side in "AB":
            said = f"Answer {side} is right about case {debate}."
            rows.append((debate, question, 1, f"advocate {side}", "advocate", None, said))
        for j in range(JURORS):
            text = CITING[rng.integers(len(CITING))] if rng.random() < chance[q] else PLAIN
            rows.append((debate, question, 2, f"juror {j + 1}", "juror", "A", text))
    return pd.DataFrame(rows, columns=COLUMNS)


SHARED = (2, 6, 12)
"""How many words all rationales of a debate share, equally often each; their own words fill up to `LENGTH`."""
COMMON, LENGTH = 3, 20
"""Words that every text has, and words of a text besides."""


def worded_log(rng: np.random.Generator, n_questions: int, *, per_question: int = 2) -> pd.DataFrame:
    """Draw texts of words that are common to all, shared by the debate (how many, by question), or their own."""
    own = count()
    everywhere = " ".join(f"common{k}" for k in range(COMMON))
    shared = rng.choice(SHARED, n_questions)
    rows = []
    for debate, question, q in debates(n_questions, per_question):
        together = " ".join(f"shared{debate.replace('.', 'x')}x{k}" for k in range(shared[q]))
        for j in range(JURORS):
            mine = " ".join(f"own{next(own)}" for _ in range(LENGTH - shared[q]))
            rows.append(
                (debate, question, 1, f"juror {j + 1}", "juror", "A", f"{everywhere} {together} {mine}")
            )
    return pd.DataFrame(rows, columns=COLUMNS)


def true_cosines(n_texts: int, shared: tuple[int, ...] = SHARED) -> tuple[float, float]:
    """Return the mean cosine within debates and across questions of :func:`worded_log`, by TF-IDF of so many texts.

    A word of d of n texts weighs 1 + ln((1 + n) / (1 + d)) (scikit-learn's smooth idf): 1 where d = n.
    """
    of_debate, alone = (1 + log((1 + n_texts) / (1 + d)) for d in (JURORS, 1))
    square = [COMMON + s * of_debate**2 + (LENGTH - s) * alone**2 for s in shared]
    within = [(COMMON + s * of_debate**2) / each for s, each in zip(shared, square, strict=True)]
    across = COMMON * (sum(1 / sqrt(each) for each in square) / len(square)) ** 2
    return sum(within) / len(within), across


REASONS = {"accuracy": "accuracy", "depth": "depth", "safety": "safety"}
CHANCES = (
    {"dissent": (0.3, 0.3, 0.7), "majority": (0.5, 0.3, 0.1)},
    {"dissent": (0.2, 0.6, 0.2), "majority": (0.4, 0.4, 0.2)},
)
"""How often each side names each of the three reasons, for two kinds of questions that are equally common."""


def disputed_log(
    rng: np.random.Generator, n_questions: int, *, per_question: int = 2, same: bool = False
) -> pd.DataFrame:
    """Draw juries with one dissent, whose sides name reasons as CHANCES says; with `same`, both as the majority."""
    kind = rng.integers(len(CHANCES), size=n_questions)
    rows = []
    for debate, question, q in debates(n_questions, per_question):
        dissents = rng.integers(JURORS)
        for j in range(JURORS):
            side = "dissent" if j == dissents and not same else "majority"
            named = rng.random(len(REASONS)) < CHANCES[kind[q]][side]
            words = [name for name, one in zip(REASONS, named, strict=True) if one]
            text = f"I look at {' and '.join(words)}." if words else "I have no reason."
            rows.append((debate, question, 1, f"juror {j + 1}", "juror", "B" if j == dissents else "A", text))
    return pd.DataFrame(rows, columns=COLUMNS)


def true_traces() -> tuple[float, float]:
    """Return the share of disagreements with an axis, and of dissents with a reason of their own, of disputed_log.

    A reason is the dissent's alone with chance a, the majority's alone with chance b; reasons are independent.
    """
    axis, own = [], []
    for chances in CHANCES:
        sides = zip(chances["dissent"], chances["majority"], strict=True)
        a, b = zip(*((d * (1 - m) ** 4, (1 - d) * (1 - (1 - m) ** 4)) for d, m in sides), strict=True)
        none_alone = prod(1 - x for x in a), prod(1 - x for x in b)
        axis.append(1 - sum(none_alone) + prod(1 - x - y for x, y in zip(a, b, strict=True)))
        own.append(1 - none_alone[0])
    return sum(axis) / len(axis), sum(own) / len(own)


def true_differences() -> dict[str, float]:
    """Return how much more often the dissent names each reason than the majority does."""
    return {
        name: sum(kind["dissent"][k] - kind["majority"][k] for kind in CHANCES) / len(CHANCES)
        for k, name in enumerate(REASONS)
    }
