"""Intervals over clusters cover 95 times of 100 and 5 % tests reject 5 times, or it is said where they do not.

The world is that of ``simulations/interval_coverage``: two judges on questions of one to twelve items, with the
correlation of a Beta-Binomial within a question. The fast layer holds the study's tables to the claims and its code
to a small run; the slow layer draws other data sets, twice as many. Two methods fall short and are held to that: BCa
limits of differences that most questions do not show, and the test that asks whether a studentised interval leaves
out 0.
"""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "simulations" / "interval_coverage"
STUDY = runpy.run_path(str(FOLDER / "run.py"))
CONFIG: dict[str, Any] = tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8"))
VOTES = ["accuracy", "difference", "kappa"]
ICC = [0.0, 0.1, 0.3]
FRESH = 9001
"""A seed that the study does not use."""


def table(stem: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"{stem}.csv")


def coverage_holds(found: pd.DataFrame, methods: tuple[str, ...]) -> None:
    """Coverage within [94, 96] %, up to two Monte Carlo errors."""
    part = found[found["method"].isin(methods) & found["statistic"].isin(VOTES)]
    assert len(part) >= 2 * len(methods)
    slack = 2 * np.sqrt(0.95 * 0.05 / part["replicates"])
    bad = part[(part["coverage"] < 0.94 - slack) | (part["coverage"] > 0.96 + slack)]
    assert bad.empty, bad
    assert (part["refused"] == 0).all()


def size_holds(found: pd.DataFrame) -> None:
    """The clustered t and the sign flip at 5 % reject at most 5.5 %, up to two Monte Carlo errors."""
    part = found[found["test"].isin(["cluster t", "sign flip"])]
    assert len(part) >= 2
    slack = 2 * np.sqrt(0.055 * 0.945 / part["replicates"])
    bad = part[part["rejected"] > 0.055 + slack]
    assert bad.empty, bad


def mean_coverage(clusters: int) -> pd.Series:
    found = table("coverage").query("clusters == @clusters and statistic in @VOTES")
    return found.groupby("method")["coverage"].mean()


def test_cluster_t_and_expanded_limits_cover_at_80_clusters() -> None:
    found = table("coverage").query("clusters == 80")
    assert sorted(found["icc"].unique()) == ICC
    assert (found["replicates"] + found["refused"] >= 2000).all()
    coverage_holds(found, ("cluster t", "percentile", "percentile expanded", "bca expanded"))


def test_plain_bca_limits_are_short_and_expanded_ones_less_so() -> None:
    """Normal quantiles, in effect, where a t quantile is due: the fewer the clusters the worse."""
    few, many = mean_coverage(20), mean_coverage(80)
    assert few["bca"] < 0.925
    assert few["percentile"] < 0.93
    assert few["bca expanded"] > 0.935
    assert few["percentile expanded"] > 0.94
    assert many["bca"] < 0.943 < many["bca expanded"] < 0.95


def test_clustered_tests_keep_their_size_at_80_clusters() -> None:
    found = table("sizes").query("clusters == 80")
    assert sorted(found["icc"].unique()) == ICC
    assert (found["replicates"] >= 2000).all()
    size_holds(found)


def test_the_sign_flip_keeps_its_size_with_20_clusters_and_the_studentised_interval_does_not() -> None:
    found = table("sizes").query("clusters == 20").set_index(["test", "icc"])["rejected"]
    assert (found["sign flip"] <= 0.055).all()
    assert found["studentised", 0.3] > 0.055 + 2 * np.sqrt(0.055 * 0.945 / 2000)


def test_naive_intervals_fail_on_clustered_data() -> None:
    """Taking items for independent: all is well without correlation, and far from it with."""
    naive = table("coverage").query("method == 'naive t' and clusters == 80")
    naive = naive.set_index(["statistic", "icc"])["coverage"]
    for statistic in ("accuracy", "score"):
        assert naive[statistic, 0.0] > 0.935
        assert naive[statistic, 0.1] < 0.90
        assert naive[statistic, 0.3] < 0.80


def test_naive_tests_reject_far_too_often_on_clustered_data() -> None:
    found = table("sizes").query("clusters == 80").set_index(["test", "icc"])["rejected"]
    for test in ("naive t", "naive sign flip"):
        assert found[test, 0.0] < 0.065
        assert found[test, 0.1] > 0.07
        assert found[test, 0.3] > 0.10


def test_the_findings_hold_the_tables_that_the_study_wrote() -> None:
    stems = ("coverage", "sizes", "changes", "again", "shares")
    tables = STUDY["shown"]({stem: table(stem) for stem in stems})
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(FOLDER.parent / "findings_tables.py"))["filled"]
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


def test_the_true_values_are_those_of_a_large_draw() -> None:
    accuracy = (0.7, 0.6)
    for icc in ICC:
        rng = np.random.default_rng([1, round(1000 * icc)])
        rows, cluster = STUDY["draw"](CONFIG["world"], accuracy, 5_000, icc, rng)
        found = STUDY["cluster_t"](STUDY["cluster_totals"](rows, cluster), STUDY["statistics"])
        away = np.abs(found.estimate - STUDY["truth"](CONFIG["world"], accuracy, icc)) / found.se
        assert (away < 4.5).all(), (icc, away)


def test_the_world_has_the_correlation_that_it_says() -> None:
    """The correlation of two items of one question: of right answers and of scores."""
    world = CONFIG["world"] | {"sizes": [2, 2]}
    for icc in ICC:
        rng = np.random.default_rng([2, round(1000 * icc)])
        rows, _ = STUDY["draw"](world, (0.7, 0.6), 40_000, icc, rng)
        for column in (1, 2, 4):
            pairs = rows[:, column].reshape(-1, 2)
            assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(icc, abs=0.02)


def test_a_small_run_agrees_with_the_study() -> None:
    small, runs = CONFIG | {"n_boot": 200}, 40
    found = STUDY["coverage_cell"](small, 80, 0.3, runs).set_index(["statistic", "method"])
    full = table("coverage").query("clusters == 80 and icc == 0.3").set_index(["statistic", "method"])
    away = (found["coverage"] - full["coverage"]).abs()
    assert (away < 4 * np.sqrt(0.95 * 0.05 / runs) + 0.03).all(), away
    assert found.loc[("accuracy", "naive t"), "coverage"] < 0.85
    sizes = STUDY["size_cell"](small, 80, 0.3, runs).set_index("test")["rejected"]
    assert sizes["cluster t"] < 0.055 + 4 * np.sqrt(0.055 * 0.945 / runs)


def test_a_cell_does_not_depend_on_what_else_is_run() -> None:
    small = CONFIG | {"n_boot": 50}
    first, again = (STUDY["size_cell"](small, 20, 0.1, 5) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


@pytest.mark.slow
@pytest.mark.parametrize("icc", ICC)
def test_fresh_data_sets_are_covered_too(icc: float) -> None:
    """Four thousand data sets of another seed than the study's, at 80 clusters."""
    found = STUDY["coverage_cell"](
        CONFIG | {"seed": FRESH}, 80, icc, 4000, ("bca", "bca expanded", "cluster t")
    )
    print(found.pivot_table(index="statistic", columns="method", values="coverage").to_string())
    coverage_holds(found, ("cluster t",))
    short = (found["statistic"] == "difference") & (icc == 0.3)
    coverage_holds(found[~short], ("bca", "bca expanded"))
    if short.any():
        share = found[short].set_index("method")["coverage"]
        assert 0.91 < share["bca"] < 0.94
        assert share["bca"] < share["bca expanded"] < 0.96


@pytest.mark.slow
@pytest.mark.parametrize("icc", ICC)
def test_clustered_tests_keep_their_size_on_fresh_data_sets(icc: float) -> None:
    found = STUDY["size_cell"](CONFIG | {"seed": FRESH}, 80, icc, 4000)
    print(found.to_string())
    size_holds(found)
    if icc == 0.3:
        rejected = found.set_index("test")["rejected"]
        assert rejected["studentised"] > 0.055
