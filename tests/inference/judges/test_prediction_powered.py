"""Prediction-powered means: the published estimator, what tuning promises, clusters, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import examples, sampled
from scipy.special import ndtr

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
    thrice = prediction_powered_mean(
        np.tile(judge, 3), np.tile(label, 3), cluster=np.tile(np.arange(32), 3), kind="t"
    )
    once = prediction_powered_mean(judge, label, kind="t")
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
    assert any("1 item with a label of one system alone" in note for note in one_lost.notes)


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


def test_a_judge_whom_no_label_contradicts_may_still_err() -> None:
    found = prediction_powered_mean([1] * 30, [1] * 25 + [None] * 5)
    assert found.mean.value == found.mean.high == 1
    assert found.mean.low is not None
    assert 0.8 < found.mean.low < 0.95
    assert found.mean.se is None
    judge = np.arange(400) % 2.0
    label = np.where(np.arange(400) < 50, judge, np.nan)
    share = prediction_powered_mean(judge, label)
    # Of 25 labels each where the judge says 1 and 0, none differs: up to .096 may (Jeffreys), half of it in the mean.
    assert share.mean.high - share.mean.value > 0.045
    assert share.bias.low is not None
    assert share.bias.low < -0.04
    assert share.bias.high > 0.04
    assert share.bias.value == 0
    for kind in ("t", "percentile"):
        none = prediction_powered_mean(judge, label, kind=kind, n_boot=50, rng=1).mean  # type: ignore[arg-type]
        assert none.low is None
        assert none.note.startswith("no interval, because only 0 of 50 labelled items differ from the judge")
    points = prediction_powered_mean(1 + 4 * judge, 1 + 4 * label)
    assert points.mean.low is points.bias.low is None
    assert points.mean.note.startswith("no interval, because only 0 of 50")


def test_labels_where_the_judge_says_no_are_said_to_be_no_random_part() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(1000) < 0.8
    judge = np.where(rng.random(1000) < 0.9, truth, ~truth).astype(float)
    chosen = np.flatnonzero(judge == 0)[:100]
    label = np.full(1000, np.nan)
    label[chosen] = truth[chosen]
    found = prediction_powered_mean(judge, label)
    (note,) = (note for note in found.notes if note.startswith("WARNING"))
    assert (
        f"the judge's mean is 0.000 on labelled and {judge[np.isnan(label)].mean():.3f} on unlabelled" in note
    )
    assert found.mean.high is not None
    assert found.mean.high > 0.8  # what it would be if every unlabelled 1 were right
    for cluster in (None, np.arange(1000) // 5):
        at_random = np.where(rng.permutation(1000) < 100, truth, np.nan)
        assert not any(
            "WARNING" in note for note in prediction_powered_mean(judge, at_random, cluster=cluster).notes
        )
    by_question = np.where(judge.reshape(200, 5).mean(axis=1) < 0.5, 1.0, np.nan).repeat(5) * truth
    told = prediction_powered_mean(judge, by_question, cluster=np.arange(1000) // 5).notes
    assert any("no random part" in note for note in told)


@pytest.mark.parametrize("seed", range(3))
def test_where_errors_are_many_the_parts_give_the_interval_of_the_linearised_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random(6000) < 0.5).astype(float)
    judge = np.where(rng.random(6000) < 0.75, truth, 1 - truth)
    label = np.where(np.arange(6000) < 1500, truth, np.nan)
    scores = np.clip(judge * 0.6 + 0.4 * rng.random(6000), 0, 1)
    cluster = np.arange(6000) // 3
    for f, how in (
        (judge, {}),
        (scores, {}),
        (judge, {"cluster": cluster}),
        (scores, {"cluster": cluster}),
    ):
        parts = prediction_powered_mean(f, label, **how).mean  # type: ignore[arg-type]
        plain = prediction_powered_mean(f, label, kind="t", **how).mean  # type: ignore[arg-type]
        assert (parts.kind, parts.value, parts.se) == ("MOVER", plain.value, plain.se)
        assert (parts.low, parts.high) == pytest.approx((plain.low, plain.high), abs=0.0015)
    other = (rng.random(6000) < 0.5).astype(float)
    second = np.where(rng.random(6000) < 0.75, other, 1 - other)
    both = (judge, label, second, np.where(np.arange(6000) < 1500, other, np.nan))
    parts, plain = (prediction_powered_difference(*both, kind=kind).mean for kind in ("MOVER", "t"))
    assert (parts.low, parts.high) == pytest.approx((plain.low, plain.high), abs=0.003)
    assert parts.p_value == pytest.approx(plain.p_value, abs=0.02)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_limits_lie_in_the_range_and_agree_with_the_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, right = int(rng.integers(8, 60)), rng.uniform(0.5, 1)
    cluster = rng.integers(0, 12, n) if rng.random() < 0.5 else None
    known = np.arange(n) < max(4, int(rng.uniform(0.2, 0.9) * n))
    if cluster is not None:
        cluster[:4] = np.arange(4)
    columns = []
    for _ in range(2):
        truth = rng.random(n) < rng.uniform(0, 1)
        judge = np.where(rng.random(n) < right, truth, ~truth).astype(float)
        columns += [judge, np.where(known, truth, np.nan)]
    found = prediction_powered_difference(*columns, cluster=cluster)
    low, high, p = found.mean.low, found.mean.high, found.mean.p_value
    assert low is not None
    assert high is not None
    assert p is not None
    assert -1 <= low <= found.mean.value <= high <= 1
    assert (p > 0.05) == (low <= 0 <= high) or abs(p - 0.05) < 1e-6
    for at in (0, 2):
        mean = prediction_powered_mean(columns[at], columns[at + 1], cluster=cluster).mean
        assert mean.low is not None
        assert mean.high is not None
        assert 0 <= mean.low <= mean.high <= 1
        assert mean.high > mean.low
        # Exchanging right and wrong turns the interval round.
        turned = prediction_powered_mean(1 - columns[at], 1 - columns[at + 1], cluster=cluster).mean
        assert (1 - turned.high, 1 - turned.low) == pytest.approx((mean.low, mean.high), abs=1e-9)


def _draw(
    rng: np.random.Generator, right: tuple[float, float], share: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    truth = rng.random(1000) < share
    judge = np.where(rng.random(1000) < np.where(truth, *right), truth, ~truth)
    return judge.astype(float), np.where(np.arange(1000) < n, truth, np.nan)


CELLS = [
    (n, right, share)
    for n in (20, 50, 200)
    for right in ((0.6, 0.6), (0.9, 0.9), (0.98, 0.98), (1.0, 1.0), (0.98, 0.7))
    for share in (0.1, 0.5, 0.95)
]


@sampled("n, right, share", [CELLS[i] for i in (3, 9, 21)], (1,))
def test_the_interval_covers_whether_or_not_labels_contradict_the_judge(
    n: int, right: tuple[float, float], share: float
) -> None:
    _covers(n, right, share, 150)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "right", "share"), CELLS)
def test_the_interval_covers_in_every_cell(n: int, right: tuple[float, float], share: float) -> None:
    _covers(n, right, share, 2000)


def _covers(n: int, right: tuple[float, float], share: float, replicates: int) -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(replicates):
        mean = prediction_powered_mean(*_draw(rng, right, share, n)).mean
        assert mean.low is not None
        assert mean.high is not None
        hits += mean.low <= share <= mean.high
    assert hits / replicates >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / replicates)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("right", [0.6, 0.9, 0.98, 1.0])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_difference_of_equal_systems_is_rejected_as_often_as_said(
    n: int, right: float, share: float
) -> None:
    rng = np.random.default_rng(2)
    replicates = 1000
    rejected = 0
    for _ in range(replicates):
        a, b = (_draw(rng, (right, right), share, n) for _ in range(2))
        p = prediction_powered_difference(*a, *b).mean.p_value
        assert p is not None
        rejected += p <= 0.05
    assert rejected / replicates <= 0.065 + 3 * np.sqrt(0.065 * 0.935 / replicates)


def test_a_result_shows_itself_with_the_effect_first() -> None:
    found = prediction_powered_mean(*joined())
    assert str(found).startswith("prediction-powered mean: ")
    assert found.to_frame()["name"].tolist()[-1] == "judge - label"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n_labelled"] == 12
    assert "toprule" in found.to_latex()


@examples(250, 400, "draws")
def test_a_judge_that_errs_on_one_side_has_its_bias_covered(draws: int) -> None:
    # Limits put together from the shares of labels held .89 here.
    rng, held = np.random.default_rng(8), 0
    for _ in range(draws):
        truth = rng.random(60) < 0.9
        judge = np.where(rng.random(60) < 0.9, truth, ~truth)
        bias = prediction_powered_mean(judge, np.where(np.arange(60) < 50, truth, np.nan)).bias
        assert bias.kind == "Tango"
        held += not bias.excludes(-0.08)
    assert held / draws >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / draws)


@pytest.mark.parametrize(
    ("labelled", "accuracy", "alike", "widest"),
    [(40, 0.9, False, 1.08), (20, 0.98, False, np.inf), (10, 0.9, True, np.inf)],
)
@examples(25, 60, "n")
def test_few_labels_over_clusters_hold_their_level_and_many_are_hardly_wider_than_a_t(
    labelled: int,
    accuracy: float,
    alike: bool,
    widest: float,
    n: int,
) -> None:
    """200 clusters of five; a judge whose luck is alike within clusters, or who errs on whole ones."""
    rng, held, ratios = np.random.default_rng(31), 0, []
    cluster = np.repeat(np.arange(200), 5)
    for _ in range(n):
        # Two normals per item with a correlation of .3 within a cluster: the label, and the judge's luck.
        drawn = np.sqrt(0.3) * rng.normal(size=(200, 2))[cluster] + np.sqrt(0.7) * rng.normal(size=(1000, 2))
        label, luck = (drawn[:, 0] < 0).astype(float), ndtr(drawn[:, 1])
        missed = np.where(label, luck > accuracy, luck < 1 - accuracy)
        wrong = rng.random(200)[cluster] > accuracy if alike else missed
        judge = np.where(wrong, 1 - label, label)
        known = np.where(cluster < labelled, label, np.nan)
        found = prediction_powered_mean(judge, known, cluster=cluster).mean
        linear = prediction_powered_mean(judge, known, cluster=cluster, kind="t").mean
        held += not found.excludes(0.5)
        assert found.low is not None
        assert found.high is not None
        if linear.low is not None and linear.high is not None:
            ratios.append((found.high - found.low) / (linear.high - linear.low))
    assert held / n >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / n)
    assert not ratios or np.mean(ratios) < widest
