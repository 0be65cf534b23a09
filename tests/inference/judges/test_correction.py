"""A judge's share corrected for its errors: the textbook equation, its limits, its refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import examples, sampled

from d3stats.inference.judges.correction import (
    FEW_LABELS,
    Rates,
    correct_counts,
    correct_rate,
    correct_shares,
)
from d3stats.inference.judges.labelled import fieller
from d3stats.resampling.contrasts import contrast_of_shares
from d3stats.resampling.proportions import proportion_interval


def arrays(x: int, n: int, tp: int, n1: int, tn: int, n0: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    judge = np.repeat([1.0, 0.0], [x, n - x])
    seen = np.repeat([1.0, 0.0, 1.0, 0.0], [tp, n1 - tp, n0 - tn, tn])
    return judge, seen, np.repeat([1.0, 0.0], [n1, n0])


def test_the_corrected_share_is_rogan_and_gladens() -> None:
    found = correct_counts(130, 400, 85, 100, 92, 100)
    assert found.untruncated == pytest.approx((0.325 + 0.92 - 1) / (0.85 + 0.92 - 1))
    assert found.naive.value == pytest.approx(0.325)
    assert (found.naive.low, found.naive.high) == pytest.approx(proportion_interval(130, 400))
    assert found.youden == pytest.approx(0.77)
    assert found.rate is found.estimates[0]


def test_lang_reiczigel_limits_match_a_second_writing_of_their_formula() -> None:
    z, (x, n, tp, n1, tn, n0) = 1.959963984540054, (27, 650, 50, 100, 199, 200)
    p, se, sp = (x + z * z / 2) / (n + z * z), (tp + 1) / (n1 + 2), (tn + 1) / (n0 + 2)
    theta = (p + sp - 1) / (se + sp - 1)
    v_se, v_sp = se * (1 - se) / (n1 + 2), sp * (1 - sp) / (n0 + 2)
    error = np.sqrt(p * (1 - p) / (n + z * z) + theta**2 * v_se + (1 - theta) ** 2 * v_sp) / (se + sp - 1)
    centre = theta + 2 * z * z * (theta * v_se - (1 - theta) * v_sp)
    found = correct_counts(x, n, tp, n1, tn, n0).rate
    assert (found.low, found.high) == pytest.approx((centre - z * error, centre + z * error))


def test_the_error_is_that_of_all_three_rates() -> None:
    found = correct_counts(130, 400, 85, 100, 92, 100).rate
    counts = np.array([130.0, 85.0, 92.0])
    trials = np.array([400.0, 100.0, 100.0])

    def theta(c: np.ndarray) -> float:
        p, se, sp = c / trials
        return float((p + sp - 1) / (se + sp - 1))

    slope = [(theta(counts + h) - theta(counts - h)) / 2e-4 for h in 1e-4 * np.eye(3)]
    variance = sum(s**2 * t * c / t * (1 - c / t) for s, c, t in zip(slope, counts, trials, strict=True))
    assert found.se == pytest.approx(np.sqrt(variance), rel=1e-6)


@given(
    st.floats(0.01, 0.99),
    st.floats(0.2, 1.0),
    st.floats(1e-4, 1e-2),
    st.floats(1e-4, 1e-2),
    st.floats(-0.9, 0.9),
)
def test_fieller_limits_are_where_the_test_turns(a: float, b: float, aa: float, bb: float, r: float) -> None:
    ab, t = r * np.sqrt(aa * bb), 1.9
    for end in fieller(a, b, aa, ab, bb, t):
        assert (a - end * b) ** 2 == pytest.approx(
            t**2 * (aa - 2 * end * ab + end**2 * bb), rel=1e-6, abs=1e-12
        )


def test_truncation_is_said_and_the_untruncated_share_is_kept() -> None:
    found = correct_counts(18, 300, 80, 100, 93, 100)
    assert found.rate.value == 0
    assert found.untruncated < 0
    assert "truncated to 0" in found.rate.note
    assert found.rate.low == 0
    assert found.rate.high is not None
    assert found.rate.high > 0


def test_an_interval_outside_of_the_shares_says_that_the_calibration_does_not_fit() -> None:
    found = correct_counts(3, 300, 80, 100, 90, 100)
    assert found.rate.value == 0
    assert found.rate.low is None
    assert "cannot be those of the calibration set" in found.rate.note


def test_a_judge_without_error_is_not_corrected_but_less_sure() -> None:
    found = correct_counts(130, 400, 100, 100, 100, 100)
    assert found.rate.value == pytest.approx(found.naive.value)
    assert found.rate.low is not None
    assert found.naive.low is not None
    assert found.rate.low < found.naive.low


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((30, 100, 52, 100, 50, 100), "must separate positives from negatives.*Se = 0.520 of 100"),
        ((30, 100, 6, 12, 8, 12), "more calibration labels"),
        ((30, 100, 10, 100, 20, 100), "must separate"),
        ((30, 100, 0, 0, 90, 100), "must hold positives, because otherwise the sensitivity is unknown"),
        ((30, 100, 90, 100, 0, 0), "must hold negatives, because otherwise the specificity is unknown"),
        ((130, 100, 90, 100, 90, 100), "n must be >= positive; got n=100, positive=130"),
        ((0, 0, 90, 100, 90, 100), "the study must have a judged item"),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_words(counts: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        correct_counts(*counts)


def test_arrays_and_counts_agree_and_missing_verdicts_are_counted() -> None:
    counts = (130, 400, 85, 100, 92, 100)
    judge, seen, label = arrays(*counts)
    one, two = correct_counts(*counts), correct_rate(judge, seen, label)
    assert one == two
    holes = correct_rate([*judge, None, np.nan], [*seen, None], [*label, 1])
    assert holes.rate == one.rate
    assert holes.notes[:2] == (
        "2 of 402 study items left out: no verdict",
        "1 of 201 calibration items left out: no verdict or no label",
    )


def test_items_as_their_own_clusters_give_nearly_the_independent_limits() -> None:
    judge, seen, label = arrays(130, 400, 85, 100, 92, 100)
    own = correct_rate(
        judge, seen, label, cluster=np.arange(400), calibration_cluster=np.arange(1000, 1200)
    ).rate
    plain = correct_rate(judge, seen, label).rate
    assert own.n_clusters == 600
    assert own.kind == "MOVER"
    assert (own.low, own.high) == pytest.approx((plain.low, plain.high), abs=0.02)
    boot = correct_rate(judge, seen, label, kind="bca", n_boot=2000, rng=0).rate
    assert (boot.low, boot.high) == pytest.approx((plain.low, plain.high), abs=0.015)
    assert boot.kind == "bca"


def test_clusters_widen_the_interval_when_items_of_a_question_hang_together() -> None:
    judge, seen, label = arrays(130, 400, 85, 100, 92, 100)
    coarse = correct_rate(
        judge, seen, label, cluster=np.arange(400) // 10, calibration_cluster=1000 + np.arange(200) % 40
    ).rate
    plain = correct_rate(judge, seen, label).rate
    # The judge's 15 and 8 errors in 3 and 2 clusters say less of how it errs in others.
    few = correct_rate(
        judge, seen, label, cluster=np.arange(400) // 10, calibration_cluster=1000 + np.arange(200) // 5
    ).rate
    assert few.low is not None
    assert coarse.low is not None
    assert plain.low is not None
    assert few.low < coarse.low < plain.low
    assert coarse.n_clusters == 80


def test_limits_over_clusters_are_the_shares_whose_contrast_has_0_in_its_own_limits() -> None:
    """A second way to the limits: the contrast p - theta Se + (1 - theta) Sp, each theta for itself."""
    judge, seen, label = arrays(130, 400, 85, 100, 92, 100)
    cluster, other = np.arange(400) // 4, 1000 + np.arange(200) % 40
    rate = correct_rate(judge, seen, label, cluster=cluster, calibration_cluster=other).rate
    totals = np.zeros((140, 6))
    for at, code in ((judge, cluster), (1 - judge, cluster)):
        np.add.at(totals, (code, 1), at)
    np.add.at(totals, (cluster, 0), judge)
    for column, which, right in ((2, label, seen), (4, 1 - label, 1 - seen)):
        np.add.at(totals, (other - 900, column), which * right)
        np.add.at(totals, (other - 900, column + 1), which)
    assert rate.low is not None
    assert rate.high is not None
    for theta in (
        *np.linspace(0, 1, 11),
        rate.low - 1e-3,
        rate.low + 1e-3,
        rate.high - 1e-3,
        rate.high + 1e-3,
    ):
        found = contrast_of_shares("", totals, (1, -theta, 1 - theta))
        assert found.low is not None
        assert found.high is not None
        assert (found.low <= 1 - theta <= found.high) == (rate.low <= theta <= rate.high)


@pytest.mark.parametrize(("n1", "n0"), [(FEW_LABELS - 1, 40), (40, FEW_LABELS - 1), (FEW_LABELS, 40)])
def test_few_labels_of_one_kind_take_limits_that_hold(n1: int, n0: int) -> None:
    counts = (260, 400, n1 - 1, n1, n0 - 1, n0)
    found, asked = correct_counts(*counts).rate, correct_counts(*counts, kind="Lang-Reiczigel").rate
    enough = min(n1, n0) >= FEW_LABELS
    assert found.kind == ("Lang-Reiczigel" if enough else "MOVER")
    assert found.low is not None
    assert (asked.low is None) == (not enough)
    assert ("this kind needs 10" in asked.note) == (not enough)
    judge, seen, label = arrays(*counts)
    assert correct_rate(judge, seen, label).rate == found


@sampled("theta, se, sp", [(0.9, 0.9, 0.9), (0.5, 0.98, 0.98), (0.1, 0.7, 0.7)], (0,))
@examples(80, 200, "draws")
def test_few_calibration_labels_are_covered(theta: float, se: float, sp: float, draws: int) -> None:
    # Lang and Reiczigel's limits hold .86 to .93 here.
    rng, held = np.random.default_rng(3), []
    p = theta * se + (1 - theta) * (1 - sp)
    for _ in range(draws):
        counts = (rng.binomial(400, p), 400, rng.binomial(40, se), 40, rng.binomial(4, sp), 4)
        try:
            rate = correct_counts(*map(int, counts)).rate
        except ValueError:
            continue
        if rate.low is not None:
            held.append(not rate.excludes(theta))
    print(theta, se, sp, np.mean(held), len(held) / draws)
    assert len(held) > 0.8 * draws
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / len(held))


def test_wrong_arguments_are_refused() -> None:
    judge, seen, label = arrays(130, 400, 85, 100, 92, 100)
    with pytest.raises(ValueError, match=r"judge must be 0, 1 or missing; got judge=0\.5 at row 0"):
        correct_rate([0.5, 1], seen, label)
    with pytest.raises(ValueError, match="calibration_cluster must be given as well"):
        correct_rate(judge, seen, label, cluster=np.arange(400))
    with pytest.raises(ValueError, match="kind must not be 'Lang-Reiczigel' with clusters"):
        correct_rate(
            judge,
            seen,
            label,
            cluster=np.arange(400),
            calibration_cluster=np.arange(200),
            kind="Lang-Reiczigel",
        )
    with pytest.raises(ValueError, match=r"calibration_label must have one value per item \(200\); got 3"):
        correct_rate(judge, seen, [1, 0, 1])


def test_a_result_shows_itself_with_the_effect_first() -> None:
    found = correct_counts(18, 300, 80, 100, 93, 100)
    assert str(found).splitlines()[0].startswith("corrected rate: 0.000 [0.000, ")
    assert found.to_frame()["name"].tolist()[:2] == ["corrected rate", "judge alone"]
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["untruncated"] < 0
    assert "bottomrule" in found.to_latex()
    assert Rates(18, 300, 80, 100, 93, 100).corrected == pytest.approx(found.untruncated)


def test_two_categories_are_corrected_as_by_sensitivity_and_specificity() -> None:
    for confusion in ([[85, 15], [8, 92]], [[85, 15], [1, 6]]):
        many = correct_shares([130, 270], confusion)
        (tp, fn), (fp, tn) = confusion
        two = correct_counts(130, 400, tp, tp + fn, tn, fp + tn)
        other = correct_counts(270, 400, tn, fp + tn, tp, tp + fn)
        assert many.untruncated[0] == pytest.approx(two.untruncated)
        assert many.shares[0].se == pytest.approx(two.rate.se, rel=0.01)
        for found, wanted in zip(many.shares, (two.rate, other.rate), strict=True):
            assert (found.low, found.high, found.kind) == (wanted.low, wanted.high, wanted.kind)
        low, high = 1 - np.array([many.shares[1].high, many.shares[1].low], dtype=float)
        assert (many.shares[0].low, many.shares[0].high) == pytest.approx((low, high), abs=1e-6)
    with pytest.raises(ValueError, match="must separate the labels"):
        correct_shares([30, 70], [[52, 48], [50, 50]])


def test_few_labels_of_one_of_three_categories_give_no_interval() -> None:
    found = correct_shares([50, 40, 10], [[40, 5, 5], [4, 40, 6], [1, 1, 7]])
    assert all(share.low is None and "9 calibration items" in share.note for share in found.shares)
    more = correct_shares([50, 40, 10], [[40, 5, 5], [4, 40, 6], [1, 1, 8]])
    assert all(share.low is not None and share.low <= share.value <= share.high for share in more.shares)  # type: ignore[operator]


@examples(250, 600, "draws")
def test_rare_categories_are_covered_by_adjusted_counts(draws: int) -> None:
    # The plain delta method holds the rarest share in .72 of these.
    rng, hits = np.random.default_rng(4), np.zeros(3)
    theta, said = np.array([0.9, 0.08, 0.02]), 0.94 * np.eye(3) + 0.02
    for _ in range(draws):
        confusion = np.array([rng.multinomial(20, row) for row in said])
        found = correct_shares(rng.multinomial(400, theta @ said), confusion)
        hits += [not share.excludes(x) for share, x in zip(found.shares, theta, strict=True)]
    assert (hits / draws >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / draws)).all()


@examples(400, 1000, "replicates")
def test_three_corrected_shares_cover_and_the_judges_do_not(replicates: int) -> None:
    rng = np.random.default_rng(9)
    theta = np.array([0.5, 0.35, 0.15])
    said = np.array([[0.85, 0.1, 0.05], [0.15, 0.8, 0.05], [0.3, 0.2, 0.5]])
    hits, naive = np.zeros(3), np.zeros(3)
    for _ in range(replicates):
        confusion = np.array([rng.multinomial(150, row) for row in said])
        found = correct_shares(rng.multinomial(800, theta @ said), confusion)
        hits += [not share.excludes(x) for share, x in zip(found.shares, theta, strict=True)]
        naive += [not share.excludes(x) for share, x in zip(found.naive, theta, strict=True)]
        assert sum(found.untruncated) == pytest.approx(1)
    band = 2 * np.sqrt(0.95 * 0.05 / replicates)
    assert (hits / replicates > 0.94 - band).all()
    assert (hits / replicates < 0.97 + band).all()
    assert naive.min() / replicates < 0.5


@pytest.mark.parametrize(
    ("judged", "confusion", "message"),
    [
        ([1, 2], [[1, 2, 3]], r"confusion must have shape \(2, 2\)"),
        ([10, 20], [[9, 1], [0, 0]], "calibration items of every label; got none of '2'"),
        ([0, 0], [[90, 10], [10, 90]], "judged must hold an item"),
        ([1, -2], [[9, 1], [1, 9]], "judged must be >= 0"),
    ],
)
def test_a_wrong_table_of_confusions_is_refused(
    judged: list[int], confusion: list[list[int]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        correct_shares(judged, confusion)


def test_shares_outside_are_truncated_in_words() -> None:
    found = correct_shares([90, 10, 1], [[90, 10, 0], [10, 80, 10], [2, 8, 90]], categories=["A", "B", "tie"])
    assert min(found.untruncated) < 0
    assert any("truncated to 0" in note for note in found.notes)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["covariance"]
    assert found.to_frame()["name"][0] == "corrected share of A"
