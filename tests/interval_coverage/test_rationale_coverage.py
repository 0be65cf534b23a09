"""Intervals of the measures of rationales cover 95 times of 100, on logs made with known truth.

Eighty questions of two debates of five jurors. How often a juror cites, how many words a debate's rationales share and
which reasons its sides name are drawn for the question, so that debates of one question are alike. The true values
follow from how the texts are made (``made_rationales``). At full size a coverage may differ from .95 by .015.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from made_rationales import (
    REASONS,
    cited_log,
    disputed_log,
    true_cosines,
    true_differences,
    true_traces,
    worded_log,
)

from d3stats.inference import compare_rationales, rationales
from d3stats.inference.reasons.rationales import (
    ACROSS,
    AXIS,
    AXIS_BEYOND,
    CITES,
    OWN,
    OWN_BEYOND,
    RATIO,
    SIMILARITY,
)

QUESTIONS = 80
TEXTS = QUESTIONS * 2 * 5
SHARE = 0.7
QUICK = 12
FULL = {"citing": 500, "alike": 500, "compared": 500, "traced": 1500, "by_chance": 500}
"""Logs that are drawn; more where the error of 500 would decide."""

Row = tuple[str, float, float | None, float | None]


def citing(rng: np.random.Generator) -> Iterator[Row]:
    found = rationales(cited_log(rng, QUESTIONS, share=SHARE), repeated_words=None)
    for name, truth in ((CITES, SHARE), ("that name a round", SHARE / 3)):
        yield name, truth, found[name].low, found[name].high


def alike(rng: np.random.Generator) -> Iterator[Row]:
    within, outside = true_cosines(TEXTS)
    found = rationales(worded_log(rng, QUESTIONS), repeated_words=None)
    for name, truth in ((SIMILARITY, within), (ACROSS, outside), (RATIO, within / outside)):
        yield name, truth, found[name].low, found[name].high


def compared(rng: np.random.Generator) -> Iterator[Row]:
    """Two logs over the same questions, drawn alike: no difference, and a ratio of 1."""
    one, other = (worded_log(rng, QUESTIONS) for _ in range(2))
    other["text"] = other["text"].str.replace("own", "mine").str.replace("shared", "together")
    found = compare_rationales(one, other, names=("a", "b"), repeated_words=None)
    for e in found.differences:
        if e.name.startswith(SIMILARITY):
            yield e.name, float(" / " in e.name), e.low, e.high


def traced(rng: np.random.Generator) -> Iterator[Row]:
    axis, own = true_traces()
    found = rationales(disputed_log(rng, QUESTIONS), reasons=REASONS, repeated_words=None)
    for name, truth in ((AXIS, axis), (OWN, own)):
        yield name, truth, found[name].low, found[name].high
    for row in found.reasons.itertuples():
        yield row.reason, true_differences()[row.reason], row.low, row.high


def by_chance(rng: np.random.Generator) -> Iterator[Row]:
    """Both sides name reasons alike: nothing is beyond chance."""
    found = rationales(disputed_log(rng, QUESTIONS, same=True), reasons=REASONS, repeated_words=None)
    for name in (AXIS_BEYOND, OWN_BEYOND):
        yield name, 0.0, found[name].low, found[name].high
    for row in found.reasons.itertuples():
        yield row.reason, 0.0, row.low, row.high


DRAWS = (citing, alike, compared, traced, by_chance)


def coverage(draw, n: int) -> dict[str, float]:
    hits: Counter[str] = Counter()
    for rng in np.random.default_rng(2026).spawn(n):
        for name, truth, low, high in draw(rng):
            assert low is not None, name
            assert high is not None, name
            hits[name] += low <= truth <= high
    return {name: hit / n for name, hit in hits.items()}


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS)
def test_intervals_cover_about_as_often_as_they_say(draw) -> None:
    for name, share in coverage(draw, QUICK).items():
        assert share >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / QUICK), name


@pytest.mark.slow
@pytest.mark.parametrize("draw", DRAWS)
def test_intervals_cover_as_often_as_they_say(draw) -> None:
    found = coverage(draw, FULL[draw.__name__])
    print({name: round(share, 3) for name, share in found.items()})
    for name, share in found.items():
        assert 0.935 <= share <= 0.965, name
