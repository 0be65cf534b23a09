"""Coefficients of agreement against statsmodels, krippendorff, irrCAC and numbers in print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import covering
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as their_fleiss

from d3stats.counts import ConfusionCounts
from d3stats.inference.judges.coefficients import (
    cohen_kappa,
    fleiss_cohen_everitt,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
)

# Fleiss (1971), table 1: 30 patients, 6 psychiatrists each, nobody the same, 5 diagnoses.
DIAGNOSES = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 "
    "224445 333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 "
    "133333 555555 "
)
# 10 subjects, 14 raters, 5 categories; kappa .210 (widely printed).
FOURTEEN = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
# Krippendorff (2011): 4 observers, 12 units, ratings missing; 0 stands for none.
OBSERVERS = ("123321412000", "123322412503", "033323422510", "123324412510")
# irrCAC 0.4.4 on these observers: coefficient with all units; then with units 2 to 9, where all four rated, its error.
IRRCAC = {
    ("ac", "identity"): (0.775444068127, 0.674300254453, 0.176844254174),
    ("fleiss", "identity"): (0.761169275422, 0.641456582633, 0.185571273266),
    ("ac", "linear"): (0.858739136433, None, None),
    ("fleiss", "linear"): (0.817944767097, None, None),
    ("ac", "quadratic"): (0.914000723552, 0.816820783796, 0.150630293449),
    ("fleiss", "quadratic"): (0.864935064935, 0.666666666667, 0.248976490373),
}


def observers(units: slice = slice(None)) -> pd.DataFrame:
    table = {f"observer {i}": [int(x) or None for x in row] for i, row in enumerate(OBSERVERS)}
    return pd.DataFrame(table, dtype=object)[units]


def of_counts(counts: Any) -> pd.DataFrame:
    rows = [np.repeat(np.arange(len(row)), row) for row in counts]
    return pd.DataFrame(np.array(rows))


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(4))
def test_kappa_and_both_of_its_errors_are_those_of_statsmodels(weights: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 2 + seed
    cells = rng.integers(1, 20, (k, k)) + 15 * np.eye(k, dtype=int)
    theirs = cohens_kappa(cells, wt=weights)
    made = cohen_kappa(
        ConfusionCounts(tuple("abcde"[:k]), cells.astype(float)), weights=weights, kind="classical"
    )
    assert made.estimate.value == pytest.approx(theirs.kappa, rel=1e-12)
    assert made.estimate.se == pytest.approx(theirs.std_kappa, rel=1e-9)
    assert (made.estimate.low, made.estimate.high) == pytest.approx(
        (theirs.kappa_low, theirs.kappa_upp), rel=1e-9
    )
    assert made.z == pytest.approx(theirs.z_value, rel=1e-9)
    assert made.p_independence == pytest.approx(theirs.pvalue_two_sided, rel=1e-6)


def test_custom_weights_are_statsmodels_turned_from_disagreement_to_agreement() -> None:
    cells = np.array([[20, 5, 1], [4, 15, 6], [2, 3, 12]])
    apart = np.array([[0, 0.2, 1], [0.2, 0, 0.5], [1, 0.5, 0]])
    theirs = cohens_kappa(cells, weights=apart)
    made = cohen_kappa(
        ConfusionCounts(("a", "b", "c"), cells.astype(float)), weights=1 - apart, kind="classical"
    )
    assert made.estimate.value == pytest.approx(theirs.kappa, rel=1e-12)
    assert made.estimate.se == pytest.approx(theirs.std_kappa, rel=1e-9)


def test_fleiss_on_thirty_patients_is_the_printed_kappa_and_z() -> None:
    table = pd.DataFrame([list(row) for row in DIAGNOSES.split()])
    made = fleiss_kappa(table)
    assert table.shape == (30, 6)
    assert made.estimate.value == pytest.approx(0.4302445, abs=5e-8)
    # R's package irr: z = 17.65183, the null error of Fleiss, Nee and Landis (1979).
    assert made.z == pytest.approx(17.65183, abs=5e-6)


def test_fleiss_on_fourteen_raters_is_210() -> None:
    made = fleiss_kappa(of_counts(FOURTEEN)).estimate.value
    assert made == pytest.approx(0.210, abs=5e-4)
    assert made == pytest.approx(their_fleiss(np.array(FOURTEEN)), rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_on_four_observers_is_the_printed_one(metric: Any, printed: float) -> None:
    assert krippendorff_alpha(observers(), metric=metric).estimate.value == pytest.approx(printed, abs=5e-4)


@covering(
    seed=range(3),
    metric=["nominal", "ordinal", "interval", "ratio"],
)
def test_alpha_is_that_of_the_peer_package(metric: Any, seed: int) -> None:
    peer = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, 40)
    data = np.where(rng.random((4, 40)) < 0.6, truth, rng.integers(1, 6, (4, 40))).astype(float)
    data[rng.random(data.shape) < 0.25] = np.nan
    theirs = peer.alpha(reliability_data=data, level_of_measurement=metric)
    assert krippendorff_alpha(pd.DataFrame(data.T), metric=metric).estimate.value == pytest.approx(
        theirs, rel=1e-9
    )


@pytest.mark.parametrize(("measure", "weights"), list(IRRCAC))
def test_gwet_and_fleiss_with_missing_ratings_are_those_of_irrcac(measure: str, weights: str) -> None:
    of = {"ac": gwet_ac, "fleiss": fleiss_kappa}[measure]
    everybody, whole, se = IRRCAC[measure, weights]
    assert of(observers(), weights=weights).estimate.value == pytest.approx(everybody, abs=1e-11)
    if whole is not None:
        made = of(observers(slice(1, 9)), weights=weights, kind="classical").estimate
        assert made.value == pytest.approx(whole, abs=1e-11)
        # Gwet (2008): with as many raters on every item his error is the linearised one.
        assert made.se == pytest.approx(se, rel=1e-7)


def test_the_errors_on_two_hundred_patients_with_three_diagnoses() -> None:
    p = np.array([[0.53, 0.05, 0.02], [0.11, 0.14, 0.05], [0.01, 0.06, 0.03]])
    plain = cohen_kappa(ConfusionCounts(("1", "2", "3"), np.round(200 * p)), kind="classical").estimate
    assert plain.value == pytest.approx(0.429, abs=5e-4)
    se, null = fleiss_cohen_everitt(200 * p)
    theirs = cohens_kappa(200 * p)
    assert (se, null) == pytest.approx((theirs.std_kappa, theirs.std_kappa0), rel=1e-9)
