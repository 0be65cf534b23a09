"""Published and recomputed numbers of max-of-k separation, to every digit given.

Where a fraction is given it is exact; decimals are rounded or cut at the last digit shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from d3stats.models.separation.best_of_k import separation
from d3stats.models.separation.laws import DiscreteLaw, beta, exponential, normal, uniform, weibull

UNIFORM = (stats.uniform(0.5, 0.5), stats.uniform())
NORMAL = (stats.norm(1), stats.norm())
WIDER = (stats.uniform(0, 1.1), stats.uniform())
WEIBULL = (stats.weibull_min(0.7, scale=2), stats.weibull_min(0.7))
NARROW_BETA = (stats.beta(6, 3), stats.beta(4, 3))
HIGH_BETA = (stats.beta(8, 2), stats.beta(2, 2))
LOW_BETA = (stats.beta(2, 8), stats.beta(1, 8))
EXPONENTIAL = (stats.expon(scale=2), stats.expon())

GIVEN: list[tuple[str, tuple[Any, Any], str, dict[int, str]]] = [
    (
        "uniform",
        UNIFORM,
        "expected_gap",
        {1: "1/3", 2: ".241666666667", 3: ".188392857143", 5: ".130219606782"},
    ),
    ("uniform", UNIFORM, "mean_gap", {1: "1/4", 2: "1/6", 3: "1/8", 5: "1/12"}),
    (
        "uniform",
        UNIFORM,
        "prob_first",
        {1: "3/4", 2: ".7083333333", 3: ".69375", 5: ".6824156746", 10: ".674316401"},
    ),
    (
        "normal",
        NORMAL,
        "expected_gap",
        {1: "1.399282457", 2: "1.253656774", 3: "1.195283838", 5: "1.141555445"},
    ),
    ("normal", NORMAL, "mean_gap", {1: "1/1", 2: "1/1", 3: "1/1", 5: "1/1"}),
    (
        "normal",
        NORMAL,
        "prob_first",
        {1: ".7602499389", 2: ".8048586229", 3: ".8290601035", 5: ".8566853707", 10: ".8883310616"},
    ),
    ("wider uniform", WIDER, "mean_gap", {1: "1/20", 2: "1/15", 3: "3/40", 5: "1/12"}),
    (
        "wider uniform",
        WIDER,
        "expected_gap",
        {1: ".353030303", 2: ".2870523416", 3: ".2359960288", 5: ".1774123217"},
    ),
    (
        "weibull",
        WEIBULL,
        "mean_gap",
        {1: "1.265823506", 2: "2.061395387", 3: "2.650210027", 5: "3.515068032"},
    ),
    (
        "weibull",
        WEIBULL,
        "expected_gap",
        {1: "2.521636884", 2: "3.497871409", 3: "4.107061038", 5: "4.914767082"},
    ),
    ("beta(6,3)", NARROW_BETA, "expected_gap", {1: ".2004662", 3: ".131567519"}),
    ("beta(6,3)", NARROW_BETA, "mean_gap", {1: ".0952380952", 3: ".0705749278"}),
    ("beta(8,2)", HIGH_BETA, "expected_gap", {1: ".329370629", 3: ".215255518"}),
    ("beta(8,2)", HIGH_BETA, "mean_gap", {1: ".3", 3: ".202087912"}),
    ("beta(2,8)", LOW_BETA, "expected_gap", {1: ".141176471", 3: ".153445395"}),
    ("beta(2,8)", LOW_BETA, "mean_gap", {1: ".0888888889", 3: ".108811395"}),
    ("exponential", EXPONENTIAL, "expected_gap", {1: "5/3", 3: "2.355555556"}),
    ("exponential", EXPONENTIAL, "mean_gap", {1: "1/1", 2: "3/2", 3: "11/6", 5: "137/60"}),
]


def value_and_slack(text: str) -> tuple[float, float]:
    """Return the number and how far off a number with these digits may be."""
    if "/" in text:
        above, below = text.split("/")
        return int(above) / int(below), 1e-12
    digits = len(text.split(".")[1])
    return float(text), (1.0 if digits > 6 else 1e-6) * 10.0**-digits


@pytest.mark.parametrize(("name", "pair", "quantity", "given"), GIVEN, ids=[f"{g[0]} {g[2]}" for g in GIVEN])
def test_every_number_given_comes_out(
    name: str, pair: tuple[Any, Any], quantity: str, given: dict[int, str]
) -> None:
    del name
    found = getattr(separation(*pair, list(given)), quantity)
    for i, text in enumerate(given.values()):
        value, slack = value_and_slack(text)
        assert found[i] == pytest.approx(value, abs=slack), f"k={list(given)[i]}"


def test_named_laws_give_the_same_numbers_as_those_of_scipy() -> None:
    named = {
        UNIFORM: (uniform(0.5, 1), uniform()),
        NORMAL: (normal(1), normal()),
        WEIBULL: (weibull(0.7, 2), weibull(0.7)),
        EXPONENTIAL: (exponential(2), exponential()),
        HIGH_BETA: (beta(8, 2), beta(2, 2)),
    }
    for theirs, ours in named.items():
        a, b = separation(*theirs, [1, 3, 20]), separation(*ours, [1, 3, 20])
        np.testing.assert_allclose(a.expected_gap, b.expected_gap, rtol=1e-12)
        np.testing.assert_allclose(a.prob_first, b.prob_first, rtol=1e-11)


def test_a_perfect_answer_against_uniform_scores_is_one_over_k_plus_one_ahead() -> None:
    k = np.arange(1, 51)
    found = separation(DiscreteLaw([1], [1]), stats.uniform(), k)
    np.testing.assert_allclose(found.expected_gap, 1 / (k + 1), rtol=1e-12)
    np.testing.assert_allclose(found.mean_gap, 1 / (k + 1), rtol=1e-12)


def test_at_a_common_ceiling_the_ranking_tends_to_two_thirds_and_the_gap_to_nothing() -> None:
    k = np.array([10, 10**3, 10**4])
    found = separation(*UNIFORM, k)
    # Both are within a term of the order 1 / k of their limits.
    assert (np.abs(found.prob_first - 2 / 3) < 0.1 / k).all()
    assert (np.diff(found.prob_first) < 0).all()
    assert found.expected_gap[-1] < 1 / k[-1]


@pytest.mark.parametrize(
    ("pair", "grows"),
    [
        (UNIFORM, False),
        (NARROW_BETA, False),
        (HIGH_BETA, False),
        (NORMAL, False),
        (WIDER, False),
        (EXPONENTIAL, True),
        (LOW_BETA, True),
        (WEIBULL, True),
    ],
)
def test_the_claim_that_more_advocates_separate_more_holds_for_three_of_these_pairs(
    pair: tuple[Any, Any], grows: bool
) -> None:
    gap = separation(*pair, [1, 3]).expected_gap
    assert (gap[1] > gap[0]) == grows
