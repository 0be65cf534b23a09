"""A clustered share has one interval, whoever prints it, and never one of no width."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from d3stats.estimate import Estimate
from d3stats.inference import agreement, compare, jury_curve, paired_difference, share
from d3stats.inference.bias.audit import clustered_rate
from d3stats.models.separation.logged import separation_from_scores
from d3stats.planning.replay import replay
from d3stats.resampling.proportions import clustered_share
from d3stats.trajectories import Trajectories

Ends = tuple[float | None, float | None]


def ends(e: Estimate | None) -> Ends:
    assert e is not None
    return (None, None) if e.low is None or e.high is None else (round(e.low, 10), round(e.high, 10))


def everywhere(right: np.ndarray, cluster: np.ndarray) -> dict[str, Ends]:
    """Return the interval of one share by every way that prints it: three agents who always vote alike."""
    votes = np.where(right, "A", "B")
    log = Trajectories.from_arrays(
        np.repeat(votes[:, None, None], 3, axis=2).tolist(), ["A"] * len(right), cluster=cluster
    )
    table = pd.DataFrame({"x": votes, "y": votes, "label": "A", "cluster": cluster})
    runs = pd.DataFrame({"item": np.arange(len(right)), "cluster": cluster, "correct": right.astype(int)})
    found = {
        "share": ends(share(right.astype(int), np.ones(len(right), int), cluster=cluster)),
        "bias": ends(clustered_rate("", right.astype(float), cluster, 0.95)),
        "compare": ends(compare(runs, runs, names=("a", "b"), n_boot=2, rng=1).runs[0]),
        "agreement": ends(agreement(table, measures=["share"], raters=["x", "label"], rng=1).estimates[0]),
    }
    jury = jury_curve(table, rng=1)
    row = jury.curve.iloc[-1]
    found["jury"], found["one juror"] = ends(jury.accuracy), ends(jury.single)
    for name, limits in (("curve", row), ("jurors", jury.jurors.iloc[0])):
        low, high = limits["low"], limits["high"]
        found[name] = (None, None) if np.isnan(low) else (round(low, 10), round(high, 10))
    if len(np.unique(cluster)) > 1:
        row = replay(log, "fixed:1").to_frame().iloc[0]
        found["replay"] = (round(row["accuracy_low"], 10), round(row["accuracy_high"], 10))
    return found


def table(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if kind == "four misses in sixty":
        right, cluster = np.ones(60, bool), np.repeat(np.arange(20), 3)
        right[[0, 3, 30, 31]] = False
        return right, cluster
    n_clusters = 1 if kind == "one cluster" else int(rng.integers(2, 30))
    cluster = np.repeat(np.arange(n_clusters), rng.integers(1, 7, n_clusters))
    if kind == "all right":
        return np.ones(len(cluster), bool), cluster
    if kind == "all wrong":
        return np.zeros(len(cluster), bool), cluster
    if kind == "all clusters alike":
        return np.tile([True, False], n_clusters), np.repeat(np.arange(n_clusters), 2)
    return rng.random(len(cluster)) < rng.choice([0.5, 0.9, 0.97]), cluster


@pytest.mark.parametrize(
    "kind",
    ["four misses in sixty", "all right", "all wrong", "one cluster", "all clusters alike", "any"],
)
def test_the_same_clustered_share_has_the_same_interval_everywhere(kind: str) -> None:
    for seed in range(4 if kind == "any" else 1):
        right, cluster = table(kind, seed)
        found = everywhere(right, cluster)
        assert len(set(found.values())) == 1, (kind, found)
        low, high = found["share"]
        assert (low is None) == (kind == "one cluster")
        if low is not None and high is not None:
            assert 0 <= low < high <= 1
            assert low <= right.mean() <= high


def test_four_misses_in_twenty_clusters_of_three_have_one_interval_and_all_right_has_one() -> None:
    assert everywhere(*table("four misses in sixty", 0))["jury"] == pytest.approx((0.767, 0.983), abs=0.001)
    perfect = share(np.full(20, 3), np.full(20, 3), cluster=np.arange(20))
    assert (perfect.low, perfect.high) == (pytest.approx(0.025 ** (1 / 20)), 1.0)


def test_swapping_right_and_wrong_mirrors_the_interval() -> None:
    for seed in range(20):
        right, cluster = table("any", seed)
        one, other = (clustered_rate("", x.astype(float), cluster, 0.95) for x in (right, ~right))
        assert one.low is not None
        assert other.high is not None
        assert one.low == pytest.approx(1 - other.high, abs=1e-12)


def identical_runs() -> list[Estimate]:
    same = np.tile([1.0, 0.0, 1.0], 8)
    pair = paired_difference(same, same, np.repeat(np.arange(8), 3), n_boot=20, rng=1)
    return [pair.difference, pair.first, pair.second, *(pair.interval(k) for k in ("bca", "studentised"))]


def tied_jury() -> list[Estimate]:
    votes = pd.DataFrame({"x": ["A", "B"] * 10, "y": ["B", "A"] * 10, "label": "A"})
    return list(jury_curve(votes, rng=1).estimates)


def jury_of_equals() -> list[Estimate]:
    votes = np.where(np.arange(40) % 4 == 0, "B", "A")
    table_ = pd.DataFrame({"x": votes, "y": votes, "z": votes, "label": "A"})
    return list(jury_curve(table_, rng=1).estimates)


def two_of_three_everywhere() -> list[Estimate]:
    table_ = pd.DataFrame({"x": ["A"] * 30, "y": ["A"] * 30, "z": ["B"] * 30, "label": "A"})
    return [
        *jury_curve(table_, rng=1).estimates,
        *agreement(table_.drop(columns="label"), n_boot=50, rng=1).estimates,
    ]


@pytest.mark.parametrize(
    "made", [identical_runs, tied_jury, jury_of_equals, two_of_three_everywhere], ids=lambda f: f.__name__
)
def test_degenerate_data_have_no_interval_of_no_width(made: object) -> None:
    for e in made():  # type: ignore[operator]  # one of the functions above
        if e.low is None:
            assert e.note, e
        else:
            assert e.high - e.low > 1e-9, e


def test_scores_that_all_tie_have_estimates_a_reason_and_no_limits() -> None:
    rng = np.random.default_rng(1)
    tied = separation_from_scores(np.full((30, 3), 7.0), np.full((30, 3), 7.0), [1, 3], n_boot=50, rng=1)
    assert tied.table["low"].isna().all()
    assert "every resample of clusters gives the same value" in tied.notes[0]
    some = separation_from_scores(rng.normal(7, 1, (30, 3)), rng.normal(6, 1, (30, 3)), [1, 3], n_boot=50)
    given = some.table.dropna(subset="low")
    assert len(given) > 10
    assert ((given["high"] - given["low"]) > 1e-9).all()


# ------------------------------------------------------------------ the worth of jurors


def ragged_jury(seed: int, jurors: int = 12, items: int = 60) -> pd.DataFrame:
    """Return independent jurors, of whom each item has some."""
    rng = np.random.default_rng(seed)
    votes = np.where(rng.random((items, jurors)) < 0.7, "A", "B").astype(object)
    votes[rng.random(votes.shape) < 0.6] = None
    table_ = pd.DataFrame(votes, columns=[f"j{k}" for k in range(jurors)])
    return table_[table_.notna().sum(axis=1) > 1].assign(label="A")


def test_the_worth_of_jurors_lies_between_one_and_their_number() -> None:
    given = 0
    for seed in range(4):
        found = jury_curve(ragged_jury(seed), n_permutations=99, rng=seed)
        assert found.effective is not None
        worth = found.effective.kish
        assert 1 <= worth.value <= 12
        if worth.low is None:
            assert worth.note
        else:
            given += 1
            assert worth.high is not None
            assert 1 <= worth.low <= worth.value <= worth.high <= 12
        json.dumps(found.to_dict(), allow_nan=False, default=str)
    assert given < 4


@pytest.mark.parametrize("kind", ["cluster Wilson", "cluster t"])
def test_a_cluster_without_trials_counts_for_nothing(kind: str) -> None:
    x, n = np.array([3, 0, 2, 3, 1]), np.full(5, 3)
    cluster = np.array([0, 0, 1, 2, 3])
    alone = clustered_share(x, n, cluster, kind=kind)
    beside = clustered_share(np.append(x, 0), np.append(n, 0), np.append(cluster, 9), kind=kind)
    assert beside == alone
    assert beside.n_clusters == 4


def test_clusters_that_all_give_one_value_have_no_t_interval_and_say_so() -> None:
    found = clustered_share(np.array([1, 1]), np.array([2, 2]), np.array([0, 1]), kind="cluster t")
    assert (found.value, found.low, found.high) == (0.5, None, None)
    assert found.note is not None
    assert "every cluster gives the same value" in found.note
