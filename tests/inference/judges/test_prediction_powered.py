"""Prediction-powered means: the published estimator, what tuning promises, clusters, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.inference.judges.prediction_powered import prediction_powered_difference, prediction_powered_mean

# Twelve labelled and twenty unlabelled items, and what ppi-python 0.2.3 gives for them at alpha .05.
LABEL = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1]
SEEN = [0.09, 0.24, 0.8, 0.58, 0.09, 0.43, 0.48, 0.16, 0.73, 0.11, 0.39, 0.52]
UNSEEN = [0.89, 0.59, 0.47, 0.77, 0.03, 0.71, 0.37, 0.09, 0.66, 0.93,
          0.21, 0.63, 0.3, 0.74, 0.72, 0.22, 0.83, 0.66, 0.68, 0.82]  # fmt: skip
PEER = {0.0: (0.33333333, 0.06661602, 0.60005065), 0.5: (0.42383333, 0.1892493, 0.65841736),
        1.0: (0.51433333, 0.28040487, 0.7482618)}  # fmt: skip
PEER_TUNED = (0.63567106, 0.58373664, 0.68760548)
PEER_SUM = 740.5734190604


def joined() -> tuple[list[float], list[float | None]]:
    return [*SEEN, *UNSEEN], [*LABEL, *[None] * len(UNSEEN)]


@pytest.mark.parametrize("tuning", PEER)
def test_the_untuned_mean_is_the_one_of_ppi_python_but_for_its_small_sample_error(tuning: float) -> None:
    value, low, high = PEER[tuning]
    found = prediction_powered_mean(*joined(), tuning=tuning)
    assert found.mean.value == pytest.approx(value, abs=1e-8)
    # The peer divides by n where this divides by n - 1, and takes a normal quantile.
    own = np.var(np.array(LABEL) - tuning * np.array(SEEN)) / 11 + tuning**2 * np.var(UNSEEN) / 19
    assert found.mean.se == pytest.approx(np.sqrt(own))
    theirs = np.var(np.array(LABEL) - tuning * np.array(SEEN)) / 12 + tuning**2 * np.var(UNSEEN) / 20
    assert 2 * 1.959963984540054 * np.sqrt(theirs) == pytest.approx(high - low, abs=1e-7)


def test_the_tuned_mean_is_near_that_of_ppi_python() -> None:
    rng = np.random.default_rng(11)
    truth = (rng.random(1200) < 0.6).astype(float)
    judge = truth + rng.normal(0, 0.5, 1200)
    found = prediction_powered_mean(judge, np.where(np.arange(1200) < 200, truth, np.nan))
    assert judge.sum() == pytest.approx(PEER_SUM)
    # The same lambda but for the judge's variance, which is pooled there and taken in its parts here.
    assert (found.mean.value, found.mean.low, found.mean.high) == pytest.approx(PEER_TUNED, abs=1.5e-3)
    assert any("only 12 items are labelled" in note for note in prediction_powered_mean(*joined()).notes)


def test_no_lambda_has_a_smaller_error_than_the_tuned_one() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(800) < 0.6
    judge = np.where(rng.random(800) < 0.8, truth, ~truth)
    label = np.where(np.arange(800) < 150, truth, np.nan)
    tuned = prediction_powered_mean(judge, label)
    ends = (
        prediction_powered_mean(judge, label, tuning=0).mean.se,
        prediction_powered_mean(judge, label, tuning=1).mean.se,
    )
    assert tuned.mean.se is not None
    assert tuned.mean.se < min(x for x in ends if x is not None) + 1e-3
    assert 0 < tuned.tuning < 1
    assert tuned.width_ratio is not None
    assert tuned.width_ratio < 1
    assert tuned.worth_labels is not None
    assert tuned.worth_labels > 150


def test_without_tuning_by_the_judge_it_is_the_mean_of_the_labels() -> None:
    found = prediction_powered_mean(*joined(), tuning=0)
    assert found.mean.value == pytest.approx(found.labels_only.value) == pytest.approx(np.mean(LABEL))
    assert found.mean.se == pytest.approx(np.std(LABEL, ddof=1) / np.sqrt(12))
    assert (found.mean.low, found.mean.high) == pytest.approx((found.labels_only.low, found.labels_only.high))


def test_a_judge_who_knows_nothing_costs_nothing() -> None:
    rng = np.random.default_rng(5)
    found = prediction_powered_mean(
        rng.random(2000), np.where(np.arange(2000) < 200, rng.random(2000), np.nan)
    )
    assert found.tuning < 0.15
    assert found.width_ratio == pytest.approx(1, abs=0.02)
    backwards = prediction_powered_mean(
        -np.arange(100.0), np.where(np.arange(100) % 2 == 0, np.arange(100.0), np.nan)
    )
    assert backwards.tuning == 0
    assert any("lambda of least variance is -" in note for note in backwards.notes)


def test_a_biased_judge_is_unbiased_by_labels() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(5, 1, 5000)
    judge = truth + 2 + rng.normal(0, 0.3, 5000)
    found = prediction_powered_mean(judge, np.where(np.arange(5000) < 100, truth, np.nan))
    assert found.naive.excludes(5)
    assert not found.mean.excludes(5)
    assert not found.bias.excludes(2)
    assert found.width_ratio is not None
    assert found.width_ratio < 0.4


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_the_clustered_error_is_a_plain_sum_over_clusters(n_clusters: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = np.concatenate([np.arange(n_clusters + 2), rng.integers(0, n_clusters + 2, 80)])
    f = rng.random(cluster.size)
    y = np.where(rng.random(cluster.size) < 0.6, f + rng.normal(0, 0.2, cluster.size), np.nan)
    y[: n_clusters + 2], f[-1], y[-1] = 0.5, 0.2, np.nan
    found = prediction_powered_mean(f, y, cluster=cluster, tuning=0.7)
    known = ~np.isnan(y)
    n, m = known.sum(), (~known).sum()
    total = 0.0
    for g in np.unique(cluster):
        mine, other = (cluster == g) & known, (cluster == g) & ~known
        part = (y[mine] - 0.7 * f[mine] - (y[known] - 0.7 * f[known]).mean()).sum() / n
        total += (part + 0.7 * (f[other] - f[~known].mean()).sum() / m) ** 2
    assert found.mean.se == pytest.approx(np.sqrt(total * (n_clusters + 2) / (n_clusters + 1)), rel=1e-9)


def test_clusters_repeated_word_for_word_give_the_error_of_one_copy() -> None:
    judge, label = (np.array(part, dtype=float) for part in joined())
    thrice = prediction_powered_mean(np.tile(judge, 3), np.tile(label, 3), cluster=np.tile(np.arange(32), 3))
    once = prediction_powered_mean(judge, label)
    assert thrice.mean.value == pytest.approx(once.mean.value)
    assert (thrice.mean.low, thrice.mean.high) == pytest.approx((once.mean.low, once.mean.high))


@pytest.mark.parametrize("kind", ["percentile", "basic", "bca", "studentised"])
def test_bootstraps_that_tune_anew_agree_with_the_linearised_interval(kind: str) -> None:
    rng = np.random.default_rng(6)
    truth = rng.random(600) < 0.6
    judge = np.where(rng.random(600) < 0.85, truth, ~truth)
    label = np.where(np.arange(600) < 200, truth, np.nan)
    boot = prediction_powered_mean(judge, label, kind=kind, n_boot=1000, rng=1)  # type: ignore[arg-type]
    plain = prediction_powered_mean(judge, label)
    assert boot.mean.value == plain.mean.value
    assert (boot.mean.low, boot.mean.high) == pytest.approx((plain.mean.low, plain.mean.high), abs=0.015)
    assert boot.mean.se == pytest.approx(plain.mean.se, rel=0.1)
    again = prediction_powered_mean(judge, label, kind=kind, n_boot=1000, rng=1)  # type: ignore[arg-type]
    assert again.mean == boot.mean


def test_the_difference_of_two_systems_is_the_mean_of_differences_and_has_a_test() -> None:
    rng = np.random.default_rng(7)
    hard = rng.normal(0, 1, 1500)
    a, b = hard + rng.normal(0, 0.5, 1500), hard + 0.2 + rng.normal(0, 0.5, 1500)
    judge_a, judge_b = a + rng.normal(0.3, 0.2, 1500), b + rng.normal(0.5, 0.2, 1500)
    shown = np.arange(1500) < 150
    label_a, label_b = np.where(shown, a, np.nan), np.where(shown, b, np.nan)
    found = prediction_powered_difference(judge_a, label_a, judge_b, label_b)
    same = prediction_powered_mean(judge_b - judge_a, label_b - label_a)
    assert found.mean.value == same.mean.value
    assert not found.mean.excludes(0.2)
    assert found.naive.excludes(0.2)
    assert found.mean.p_value is not None
    assert (found.mean.p_value < 0.05) == found.mean.excludes(0)
    assert same.mean.p_value is None
    label_a[3] = np.nan
    one_lost = prediction_powered_difference(judge_a, label_a, judge_b, label_b)
    assert one_lost.n_labelled == 149
    assert any("1 items with a label of one system alone" in note for note in one_lost.notes)


def test_missing_scores_are_left_out_and_counted() -> None:
    judge, label = joined()
    found = prediction_powered_mean([*judge, None, None], [*label, 1, None])
    assert found.mean == prediction_powered_mean(judge, label).mean
    assert any(
        note.startswith(f"2 of {len(judge) + 2} items have no judge's score and were left out, 1 of")
        for note in found.notes
    )


@pytest.mark.parametrize(
    ("judge", "label", "options", "message"),
    [
        ([1, 0, 1, 1], [1, 0, None, None], {}, "labels must be known for at least three items and unknown"),
        ([1, 0, 1, 1], [1, 0, 1, 0], {}, "labels must be known for at least three items and unknown"),
        ([1, 0, 1, 1], [1, 0, 1], {}, r"label must have one value per item \(4\); got 3"),
        ([1, 0, np.inf, 1], [1, 0, 1, None], {}, "judge must be finite or missing; got an infinity at row 2"),
        ([1, 0, 1, 1], [1, 0, 1, None], {"tuning": 2}, "tuning must lie between 0 and 1"),
        ([1, 0, 1, 1], [1, 0, 1, None], {"cluster": [1, 1, 1, 2]}, "at least three clusters.*got 1"),
        ([1, 0, 1, 1], [1, 0, 1, None], {"kind": "wald"}, "kind must be one of"),
        (
            [1, 0, 1, 1],
            [1, 0, 1, None],
            {"cluster": [1, 2, 3, None]},
            "cluster must name every item; got a missing name",
        ),
    ],
)
def test_bad_input_is_refused_in_words(
    judge: list[float], label: list[float], options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        prediction_powered_mean(judge, label, **options)  # type: ignore[arg-type]


def test_data_without_spread_have_no_interval() -> None:
    found = prediction_powered_mean([1] * 30, [1] * 25 + [None] * 5)
    assert found.mean.value == 1
    assert found.mean.low is None
    assert found.mean.note == "no spread in the data"
    assert found.width_ratio is None


def test_a_result_shows_itself_with_the_effect_first() -> None:
    found = prediction_powered_mean(*joined())
    assert str(found).startswith("prediction-powered mean: ")
    assert found.to_frame()["name"].tolist()[-1] == "judge - label"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_labelled"] == 12
    assert "toprule" in found.to_latex()
