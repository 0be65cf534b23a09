"""McNemar's test: against another package, against every table, far into the tail, and on bad input."""

from __future__ import annotations

import json

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from d3stats.inference.comparison.mcnemar import METHODS, McNemar, discordant_pairs, mcnemar

counts = st.integers(0, 3000)


@given(counts, counts)
def test_exact_and_asymptotic_agree_with_statsmodels(b: int, c: int) -> None:
    if b + c == 0:
        return
    table = [[5, b], [c, 7]]
    exact = statsmodels_mcnemar(table, exact=True)
    assert mcnemar(b, c).p_value == pytest.approx(exact.pvalue, rel=1e-9, abs=1e-280)
    assert mcnemar(b, c).statistic == exact.statistic
    chi_square = statsmodels_mcnemar(table, exact=False, correction=False)
    found = mcnemar(b, c, method="asymptotic")
    assert found.statistic == pytest.approx(chi_square.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(chi_square.pvalue, rel=1e-9, abs=1e-280)


@given(counts, counts)
def test_corrected_agrees_with_statsmodels_unless_it_would_reach_past_the_centre(b: int, c: int) -> None:
    if b == c:
        return
    other = statsmodels_mcnemar([[5, b], [c, 7]], exact=False, correction=True)
    found = mcnemar(b, c, method="corrected")
    assert found.statistic == pytest.approx(other.statistic, rel=1e-12)
    assert found.p_value == pytest.approx(other.pvalue, rel=1e-9, abs=1e-280)


def test_corrected_gives_one_for_equal_counts() -> None:
    assert mcnemar(4, 4, method="corrected").p_value == 1.0


@pytest.mark.parametrize("n", [1, 2, 5, 12, 31])
def test_the_p_values_are_sums_over_tables_at_least_as_extreme(n: int) -> None:
    """Mid-p by its definition: what is more extreme, and half of what is as extreme."""
    law = stats.binom(n, 0.5).pmf(np.arange(n + 1))
    far = np.abs(2 * np.arange(n + 1) - n)
    for c in range(n + 1):
        gap = abs(2 * c - n)
        assert mcnemar(n - c, c).p_value == pytest.approx(law[far >= gap].sum(), rel=1e-12)
        half = law[far > gap].sum() + law[far == gap].sum() / 2
        assert mcnemar(n - c, c, method="mid-p").p_value == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize(
    ("b", "c"),
    [(99_000, 101_000), (95_000, 105_000), (90_000, 110_000), (3, 900), (3, 1_200), (100, 900), (0, 1_000)],
)
def test_the_tail_has_its_digits_down_to_the_smallest_float(b: int, c: int) -> None:
    n, k = b + c, min(b, c)
    with mpmath.workdps(40):
        term = mpmath.binomial(n, k) / mpmath.mpf(2) ** n
        tail, last = mpmath.mpf(0), term
        while k >= 0 and (tail == 0 or term > tail * mpmath.mpf(10) ** -25):
            tail += term
            term, k = term * k / (n - k + 1), k - 1
        exact, mid = float(2 * tail), float(2 * tail - last)
    assert mcnemar(b, c).p_value == pytest.approx(exact, rel=1e-9, abs=1e-305)
    assert mcnemar(b, c, method="mid-p").p_value == pytest.approx(mid, rel=1e-9, abs=1e-305)


def test_a_p_value_below_all_floats_is_not_said_to_be_zero() -> None:
    found = mcnemar(80_000, 120_000)
    assert found.p_value == 0.0
    assert str(found).endswith("p < 1e-300")


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=200))
def test_discordant_pairs_count_what_a_loop_counts(pairs: list[tuple[bool, bool]]) -> None:
    first, second = np.array([p[0] for p in pairs], dtype=bool), np.array([p[1] for p in pairs], dtype=bool)
    expected = sum(x and not y for x, y in pairs), sum(y and not x for x, y in pairs)
    for kind in (bool, np.uint8, np.int64, float):
        assert discordant_pairs(first.astype(kind), second.astype(kind)) == expected


def test_the_interval_of_the_share_leaves_out_a_half_where_the_exact_test_rejects() -> None:
    for b in range(60):
        found = mcnemar(b, 60 - b)
        assert found.share.excludes(0.5) == (found.p_value < 0.05)


@pytest.mark.parametrize("method", METHODS)
def test_no_discordance_is_refused_in_words(method: str) -> None:
    with pytest.raises(ValueError, match="so there is nothing to test"):
        mcnemar(0, 0, method=method)  # type: ignore[arg-type]


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="b must be >= 0"):
        mcnemar(-1, 2)
    with pytest.raises(ValueError, match="b must be an integer"):
        mcnemar(1.5, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="method must be one of"):
        mcnemar(1, 2, method="fisher")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"second must be 0 or 1; got .*nan.* at row 1"):
        discordant_pairs([1, 0], [1, float("nan")])
    with pytest.raises(ValueError, match=r"first must be 0 or 1; got .*2.* at row 0"):
        discordant_pairs([2, 0], [1, 1])
    with pytest.raises(ValueError, match=r"one value per item of first \(2\); got 3"):
        discordant_pairs([1, 0], [1, 1, 0])


def test_the_result_leads_with_the_effect_and_goes_to_json_and_latex() -> None:
    found = mcnemar(86, 150)
    assert isinstance(found, McNemar)
    assert list(found.to_dict())[:2] == ["headline", "share"]
    assert json.loads(json.dumps(found.to_dict()))["share"]["value"] == pytest.approx(150 / 236)
    assert found.to_frame().columns[0] == "share"
    assert found.to_latex().startswith("\\begin{tabular}")
