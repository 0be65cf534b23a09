"""Adjusted p-values: against statsmodels and scipy, what holds for all of them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from d3stats.inference.comparison.multiplicity import FAMILIES, Family, adjust

OTHERS: dict[str, str] = {"holm": "holm", "bh": "fdr_bh", "bonferroni": "bonferroni"}
# Ties on purpose: sixteenths meet often.
p_values = st.lists(
    st.one_of(st.floats(0, 1), st.integers(0, 16).map(lambda k: k / 16)), min_size=1, max_size=40
)


@given(p_values, st.sampled_from(FAMILIES))
def test_adjusted_values_agree_with_statsmodels_and_scipy(values: list[float], method: Family) -> None:
    expected = multipletests(values, method=OTHERS[method])[1]
    np.testing.assert_allclose(adjust(values, method), expected, rtol=1e-12, atol=0)
    if method == "bh":
        np.testing.assert_allclose(adjust(values, method), false_discovery_control(values), rtol=1e-12)


@given(p_values)
def test_order_does_not_matter_and_ties_stay_tied(values: list[float]) -> None:
    order = np.random.default_rng(len(values)).permutation(len(values))
    for method in FAMILIES:
        adjusted = adjust(values, method)  # type: ignore[arg-type]
        np.testing.assert_array_equal(adjust(np.array(values)[order], method), adjusted[order])  # type: ignore[arg-type]
        for value in set(values):
            assert len(set(adjusted[np.array(values) == value])) == 1


@given(p_values)
def test_benjamini_hochberg_is_below_holm_and_holm_below_bonferroni(values: list[float]) -> None:
    bh, holm, bonferroni = (adjust(values, method) for method in ("bh", "holm", "bonferroni"))
    slack = 1 + 1e-12
    assert (np.array(values) <= bh * slack).all()
    assert (bh <= holm * slack).all()
    assert (holm <= bonferroni * slack).all()
    assert (bonferroni <= 1).all()


def test_holm_keeps_the_familywise_error_where_no_adjustment_does_not() -> None:
    """Ten true nulls that share a part, 4,000 families: P(any rejection) <= 5 % with Holm, far more without."""
    from scipy.special import ndtr

    rng = np.random.default_rng(5)
    z = np.sqrt(0.3) * rng.normal(size=(4000, 1)) + np.sqrt(0.7) * rng.normal(size=(4000, 10))
    p = 2 * ndtr(-np.abs(z))
    assert (p.min(axis=1) <= 0.05).mean() > 0.25
    any_rejected = np.mean([(adjust(row) <= 0.05).any() for row in p])
    assert any_rejected <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 4000)


def test_what_is_no_p_value_is_refused_by_row() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1; got .*nan.* at row 1"):
        adjust([0.1, float("nan")])
    with pytest.raises(ValueError, match=r"between 0 and 1; got .*1.2.* at row 0"):
        adjust([1.2])
    with pytest.raises(ValueError, match="at least one"):
        adjust([])
    with pytest.raises(ValueError, match="shape"):
        adjust([[0.1, 0.2]])
    with pytest.raises(ValueError, match="method must be one of"):
        adjust([0.1], "hochberg")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be numbers"):
        adjust(["a"])
