"""One side of an audit without a single error: each audit says what few trials leave open."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from layers import examples, sampled
from scipy import stats

from d3stats.estimate import Estimate
from d3stats.inference import compare_rationales, paired_difference
from d3stats.inference.bias import length_bias, persona_effect, position_bias, self_preference
from d3stats.inference.bias.length import PULL
from d3stats.inference.bias.position import RIGHT_GAP
from d3stats.inference.bias.self_preference import GAP
from d3stats.inference.reasons.rationales import CITES

Audited = Callable[[pd.DataFrame], Estimate | None]


def verdicts(wrong: int, many: int, wrong_of_few: int, few: int) -> pd.DataFrame:
    """Labels B with so many wrong votes for A, and few labels A; A is shown first, longer and the judge's own."""
    rng = np.random.default_rng(1)
    label = np.repeat(["B", "A"], [many, few])
    right = np.r_[np.arange(many) >= wrong, np.arange(few) >= wrong_of_few]
    table = pd.DataFrame({"item": range(many + few), "judge": "j", "order": "AB", "label": label})
    return table.assign(
        vote=np.where(right, label, np.where(label == "A", "B", "A")),
        length_a=200 + rng.integers(0, 90, many + few),
        length_b=100 + rng.integers(0, 90, many + few),
        family_a="x",
        family_b="y",
        judge_family="x",
    )


def _own(table: pd.DataFrame) -> Estimate | None:
    return self_preference(table, judge="j").find(GAP)


def _place(table: pd.DataFrame) -> Estimate | None:
    return position_bias(table, judge="j").find(RIGHT_GAP)


def _longer(table: pd.DataFrame) -> Estimate | None:
    return length_bias(table, judge="j").find(PULL)


def _cited(table: pd.DataFrame) -> Estimate | None:
    """Rationales of two logs without a question in common, that cite the debate where the vote is wrong."""
    cites = np.where(
        table["vote"] == table["label"], "Better words.", "As the first advocate said in round 1."
    )
    log = pd.DataFrame(
        {
            "debate": table["item"],
            "round": 1,
            "agent": "j",
            "role": "juror",
            "vote": table["vote"],
            "text": cites,
        }
    )
    few = table["label"] == "A"
    found = compare_rationales(log[few], log[~few])
    return next(e for e in found.differences if e.quantity == CITES)


@pytest.mark.parametrize(("audited", "unit"), [(_own, 1.0), (_place, 1.0), (_longer, 0.5), (_cited, 1.0)])
@sampled("wrong, many, few", [(9, 180, 20), (9, 90, 10), (13, 270, 30)], (1,))
def test_a_side_without_an_error_does_not_make_a_bias(
    audited: Audited, unit: float, wrong: int, many: int, few: int
) -> None:
    found = audited(verdicts(wrong, many, 0, few))
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.value == pytest.approx(unit * wrong / many)
    barnard = stats.barnard_exact([[wrong, 0], [many - wrong, few]]).pvalue
    assert found.p_value == pytest.approx(barnard, abs=0.05)
    assert found.low < 0 < found.value < found.high
    # What none of few leaves open: Clopper and Pearson's limit of 0 of few bounds the interval's length below 0.
    assert unit * wrong / many - found.low > 0.5 * unit * (1 - 0.05 ** (1 / few))


@pytest.mark.parametrize("audited", [_own, _place, _longer, _cited])
def test_a_bias_that_is_there_is_seen(audited: Audited) -> None:
    found = audited(verdicts(90, 180, 0, 20))
    assert found is not None
    assert found.p_value is not None
    assert found.p_value < 0.001


def leaning(n: int, toward_first: int, back: int = 0) -> pd.DataFrame:
    """Return verdicts in both orders on n items: so many pairs lean to the first place, so many to the second."""
    votes = ["AB" if i < toward_first else "BA" if i < toward_first + back else "AA" for i in range(n)]
    return pd.DataFrame(
        [
            (i, order, vote)
            for i, pair in enumerate(votes)
            for order, vote in zip(("AB", "BA"), pair, strict=True)
        ],
        columns=["item", "order", "vote"],
    ).assign(label="A")


@examples(12, 60, "n")
def test_the_excess_of_rare_leanings_covers_at_every_share_of_them(n: int) -> None:
    """Leanings to one side alone, all counts added up."""
    found = [position_bias(leaning(n, k))["first-slot excess"] for k in range(n + 1)]
    for share in np.linspace(0.01, 0.99, 50):
        chance = stats.binom.pmf(np.arange(n + 1), n, share)
        printed = np.array([e.low is not None for e in found])
        held = np.array([e.low is not None and e.low <= share / 2 <= (e.high or 0.0) for e in found])
        assert chance[held].sum() / chance[printed].sum() >= 0.93


@sampled("n", [10, 14, 24], (0,))
def test_accuracy_by_place_of_pairs_is_tested_at_its_level(n: int) -> None:
    """Every pair leans, by a fair coin: the share of all outcomes that are called different."""
    gaps = [position_bias(leaning(n, k, n - k))["accuracy, first minus second"] for k in range(n + 1)]
    rejects = np.array([g.p_value is not None and g.p_value <= 0.05 for g in gaps])
    assert stats.binom.pmf(np.arange(n + 1), n, 0.5)[rejects].sum() <= 0.05


def test_a_persona_gains_what_the_comparison_of_two_runs_says() -> None:
    for wrong, n in ((5, 100), (3, 40), (12, 30)):
        rows = [
            (i, who, "B" if who == "none" and i < wrong else "A", "A")
            for i in range(n)
            for who in ("none", "nurse")
        ]
        audit = persona_effect(pd.DataFrame(rows, columns=["item", "persona", "vote", "label"])).effect
        run = paired_difference([float(i >= wrong) for i in range(n)], [1.0] * n).difference
        assert (audit.value, audit.low, audit.high) == pytest.approx((run.value, run.low, run.high))
        assert audit.p_value == pytest.approx(run.p_value)
