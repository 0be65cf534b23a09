"""Stated confidence against right answers: every number by a second way, and recovery where the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri

import d3stats
from d3stats.inference.judges.calibration_error import (
    bins_of,
    calibration_error,
    decomposition,
    reliability_bins,
)
from d3stats.inference.judges.recalibration import BetaMap, cross_fitted, fit_beta, fit_isotonic
from d3stats.resampling import cluster_t, ratios
from d3stats.sources.confidences import as_confidences


def drawn(
    rng: np.random.Generator, clusters: int, votes: int, icc: float = 0.0, truth: Any = lambda c: c
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return confidences, right votes and clusters; votes of a cluster are alike by a normal of `icc`."""
    cluster = np.repeat(np.arange(clusters), votes)
    stated = rng.beta(5, 2, clusters * votes)
    z = np.sqrt(icc) * rng.standard_normal(clusters)[cluster]
    z = z + np.sqrt(1 - icc) * rng.standard_normal(clusters * votes)
    return stated, (z < ndtri(np.clip(truth(stated), 0, 1))).astype(float), cluster


def table(
    stated: np.ndarray, right: np.ndarray, cluster: np.ndarray, judges: int = 5, answers: str = "AB"
) -> pd.DataFrame:
    k = len(answers) - 1
    label = np.array([answers[c % (k + 1)] for c in cluster])
    wrong = np.array([answers[(c + 1 + i % k) % (k + 1)] for i, c in enumerate(cluster)])
    return pd.DataFrame(
        {
            "item": [f"q{c}" for c in cluster],
            "judge": [f"j{i % judges}" for i in range(len(cluster))],
            "vote": np.where(right == 1, label, wrong),
            "label": label,
            "confidence": stated,
        }
    )


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stated, right, cluster = drawn(np.random.default_rng(3), 60, 5, 0.3, lambda c: 0.25 + 0.5 * c)
    return np.round(stated, 2), right, cluster


@pytest.fixture(scope="module")
def of_data(data: Any) -> Any:
    """The confidence of the data, which tests only look at."""
    return d3stats.confidence(table(*data), rng=1)


def test_the_first_numbers_are_plain_means_with_the_t_interval_of_clusters(data: Any) -> None:
    c, y, g = data
    found = d3stats.confidence(table(c, y, g), rng=1)
    assert found.stated.value == pytest.approx(c.mean())
    assert found.accuracy.value == pytest.approx(y.mean())
    assert found.overconfidence.value == pytest.approx(c.mean() - y.mean())
    assert found.brier.value == pytest.approx(((c - y) ** 2).mean())
    assert found.plain_error == pytest.approx(
        sum(
            abs((c - y)[b].mean()) * b.mean() for k in range(10) for b in [bins_of(c, 10, "equal_count") == k]
        )
    )
    sums = np.column_stack([np.bincount(g, c - y), np.bincount(g)])
    plain = cluster_t(sums, ratios((0, 1)))
    assert (found.overconfidence.low, found.overconfidence.high) == pytest.approx(plain.interval())
    assert found.overconfidence.low > 0
    assert found.headline.startswith("Judges say 71 % and are right in 60 % [")
    assert "overconfident by" in found.headline
    assert (found.n_votes, found.n_clusters) == (300, 60)


def test_the_decomposition_adds_up_and_is_that_of_pooled_violators(data: Any) -> None:
    c, y, _ = data
    found = decomposition(c, y)
    assert found.miscalibration - found.discrimination + found.uncertainty == pytest.approx(
        ((c - y) ** 2).mean()
    )
    assert found.uncertainty == pytest.approx(y.var())

    # Pool adjacent violators by hand, on the sorted different confidences.
    blocks: list[list[float]] = []
    for value in np.unique(c):
        blocks.append([y[c == value].sum(), float((c == value).sum())])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            hits, n = blocks.pop()
            blocks[-1] = [blocks[-1][0] + hits, blocks[-1][1] + n]
    best = sum(n * (hits / n) * (1 - hits / n) for hits, n in blocks) / len(y)
    assert found.discrimination == pytest.approx(y.var() - best)
    assert found.miscalibration >= 0
    assert found.discrimination >= 0


def test_the_squared_error_is_the_mean_over_pairs_of_different_clusters(data: Any) -> None:
    c, y, g = (x[:80] for x in data)
    b = bins_of(c, 4, "equal_count")
    value = 0.0
    for k in range(4):
        rows = np.flatnonzero(b == k)
        pairs = [(c[i] - y[i]) * (c[j] - y[j]) for i in rows for j in rows if g[i] != g[j]]
        value += len(rows) / len(c) * float(np.mean(pairs))
    error, squared, left_out = calibration_error(c, y, g, b)
    assert squared == pytest.approx(value)
    assert left_out == 0
    assert error.value == pytest.approx(np.sqrt(max(value, 0.0)))
    assert error.low is not None
    assert error.low <= error.value <= error.high


def test_calibrated_votes_have_no_error_on_average_however_alike_those_of_a_cluster_are() -> None:
    rng = np.random.default_rng(8)
    for icc in (0.0, 0.5):
        squares, plain, rejected = [], [], 0
        for _ in range(200):
            c, y, g = drawn(rng, 40, 5, icc)
            b = bins_of(c, 10, "equal_count")
            error, squared, _ = calibration_error(c, y, g, b)
            d = np.bincount(b, c - y)
            plain.append(float((d**2 / np.bincount(b)).sum() / len(c)))
            squares.append(squared)
            rejected += error.p_value < 0.05
            assert error.low >= 0
        noise = np.std(squares) / np.sqrt(len(squares))
        assert abs(np.mean(squares)) < 3 * noise
        assert np.mean(plain) > 10 * noise
        assert rejected / 200 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("clusters", [15, pytest.param(60, marks=pytest.mark.slow)])
def test_a_known_distortion_is_covered_with_few_and_many_clusters(clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    held = {"error": 0, "over": 0}
    for _ in range(150):
        c, y, g = drawn(rng, clusters, 5, 0.3, lambda c: 0.1 + 0.7 * c)
        b = bins_of(c, 10, "equal_count")
        gap = np.bincount(b, 0.3 * c - 0.1) / np.bincount(b)
        true = np.sqrt((np.bincount(b) * gap**2).sum() / len(c))
        error, _, _ = calibration_error(c, y, g, b)
        held["error"] += error.low <= true <= error.high
        if clusters == 60:
            found = d3stats.confidence(as_confidences(table(c, y, g)), rng=1).overconfidence
            held["over"] += found.low <= 0.3 * 5 / 7 - 0.1 <= found.high
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / 150)
    assert held["error"] / 150 > least
    assert clusters == 15 or held["over"] / 150 > least


def test_bins_are_those_of_quantiles_and_of_equal_width() -> None:
    c = np.array([0.05, 0.1, 0.5, 0.5, 0.95, 1.0])
    assert bins_of(c, 10, "equal_width").tolist() == [0, 0, 1, 1, 2, 2]
    assert bins_of(c, 2, "equal_count").tolist() == [0, 0, 0, 0, 1, 1]
    assert bins_of(np.full(7, 0.8), 10, "equal_count").tolist() == [0] * 7


def test_calibrated_votes_lie_in_the_band() -> None:
    rng = np.random.default_rng(4)
    inside, n = 0, 0
    for _ in range(40):
        c, y, g = drawn(rng, 60, 5, 0.4)
        frame = reliability_bins(c, y, g, bins_of(c, 5, "equal_count"))
        inside += int(((frame["right"] >= frame["band_low"]) & (frame["right"] <= frame["band_high"])).sum())
        n += len(frame)
    assert inside / n > 0.95 - 3 * np.sqrt(0.05 * 0.95 / n)


def test_isotonic_is_monotone_and_beta_is_the_logistic_fit_of_two_logs(data: Any) -> None:
    c, y, _ = data
    shares = fit_isotonic(c, y)(np.linspace(0, 1, 101))
    assert (np.diff(shares) >= 0).all()
    found = fit_beta(c, y)
    x = np.clip(c, 1e-6, 1 - 1e-6)

    def loss(theta: np.ndarray) -> float:
        p = expit(theta[0] ** 2 * np.log(x) - theta[1] ** 2 * np.log(1 - x) + theta[2])
        return -float(np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))

    other = minimize(
        loss, [1.0, 1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 5000}
    )
    own = loss(np.array([np.sqrt(found.a), np.sqrt(found.b), found.m]))
    assert own <= other.fun + 1e-8
    np.testing.assert_allclose(
        found(c), expit(found.a * np.log(x) - found.b * np.log(1 - x) + found.m), rtol=1e-12
    )


def test_other_packages_give_the_same_numbers() -> None:
    """scikit-learn 1.9.1, netcal 1.4.0 and betacal on the votes of the method page."""
    rng = np.random.default_rng(1)
    chance = rng.beta(3, 2, size=400)
    y = (rng.random(400) < chance).astype(float)
    c = (0.5 + 0.5 * chance).round(2)
    found = d3stats.confidence(table(c, y, np.arange(400) // 5), rng=1)
    assert found.brier.value == pytest.approx(0.24888199999999996, abs=1e-14)
    assert found.plain_error == pytest.approx(0.2036499999, abs=1e-9)
    right = [0.227273, 0.361111, 0.489362, 0.461538, 0.6875, 0.7, 0.695652, 0.787879, 0.871795, 0.868421]
    said = [0.624773, 0.698333, 0.743617, 0.78, 0.815625, 0.844333, 0.871087, 0.896061, 0.92, 0.959474]
    np.testing.assert_allclose(found.bins["right"], right, atol=1e-6)
    np.testing.assert_allclose(found.bins["confidence"], said, atol=1e-6)
    at = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
    isotonic = [0.0, 0.1875, 0.357143, 0.625, 0.767442, 0.87037, 1.0]
    np.testing.assert_allclose(fit_isotonic(c, y)(at), isotonic, atol=1e-6)
    beta = [0.075412, 0.187835, 0.370489, 0.589596, 0.790574, 0.877808]
    np.testing.assert_allclose(fit_beta(c, y)(at[:-1]), beta, atol=1e-4)


def test_a_known_distortion_is_recovered() -> None:
    rng = np.random.default_rng(5)
    true = BetaMap(0.6, 0.3, -0.4)
    c, y, _ = drawn(rng, 20_000, 2, 0.0, true)
    at = np.linspace(0.3, 0.95, 14)
    assert np.abs(fit_beta(c, y)(at) - true(at)).max() < 0.01
    assert np.abs(fit_isotonic(c, y)(at) - true(at)).max() < 0.05


@pytest.mark.parametrize("right", [np.ones(40), np.zeros(40), (np.arange(40) >= 20).astype(float)])
def test_votes_that_a_confidence_separates_have_a_finite_fit(right: np.ndarray) -> None:
    c = np.repeat([0.6, 0.9], 20)
    for fit in (fit_beta, fit_isotonic):
        again = fit(c, right)([0.0, 0.6, 0.9, 1.0])
        assert np.isfinite(again).all()
        assert ((again >= 0) & (again <= 1)).all()
        assert np.abs(again[1:3] - [right[:20].mean(), right[20:].mean()]).max() < 0.02


def test_no_vote_is_recalibrated_by_its_own_cluster(data: Any) -> None:
    c, y, g = data
    fold = g % 5
    again = cross_fitted(fit_beta, c, y, fold)
    others = cross_fitted(fit_beta, c, np.where(fold == 2, 1 - y, y), fold)
    np.testing.assert_array_equal(again[fold == 2], others[fold == 2])
    assert (again[fold != 2] != others[fold != 2]).any()


def test_recalibration_gains_where_there_is_something_to_gain_and_not_elsewhere() -> None:
    c, y, g = drawn(np.random.default_rng(6), 150, 4, 0.2, lambda c: 0.1 + 0.6 * c)
    found = d3stats.confidence(table(c, y, g, 4), rng=1)
    assert [gain.low > 0 for gain in found.gains] == [True, True]
    c, y, g = drawn(np.random.default_rng(6), 150, 4, 0.2)
    calibrated = d3stats.confidence(table(c, y, g, 4), rng=1)
    assert [gain.low < 0 for gain in calibrated.gains] == [True, True]
    assert "neither over- nor underconfidence is shown" in calibrated.headline
    assert calibrated.calibration_error.low == 0


def by_hand(frame: pd.DataFrame, weight: np.ndarray) -> np.ndarray:
    shares = []
    for _, rows in frame.assign(w=weight).groupby("item", sort=False):
        sums = rows.groupby("vote")["w"].sum()
        best = sums[sums >= sums.max() - 1e-9].index
        shares.append((rows["label"].iloc[0] in best) / len(best))
    return np.array(shares)


def test_verdicts_are_those_of_summed_weights(data: Any) -> None:
    c, y, g = data
    frame = table(c, y, g, answers="ABC")
    found = d3stats.confidence(frame, rng=2)
    plain, stated, again = found.verdicts
    assert plain.value == pytest.approx(by_hand(frame, np.ones(len(c))).mean())
    assert stated.value == pytest.approx(by_hand(frame, c).mean())
    assert found.weighted[0].value == pytest.approx(stated.value - plain.value)
    assert found.weighted[1].value == pytest.approx(again.value - plain.value)
    # The folds are of clusters in the order of their names.
    given = as_confidences(frame)
    fold = np.random.default_rng(2).permutation(np.arange(60) % 5)[given.cluster]
    p = np.clip(cross_fitted(fit_beta, given.confidence, given.right, fold), 1e-3, 1 - 1e-3)
    k = np.array([max(len(np.unique(given.vote[given.debate == d])), 2) for d in given.debate])
    total = 0.0
    for d in np.unique(given.debate):
        rows = np.flatnonzero(given.debate == d)
        sums = pd.Series((logit(p) + np.log(k - 1))[rows]).groupby(given.vote[rows]).sum()
        right = set(given.vote[rows][given.right[rows] == 1])
        best = sums[sums >= sums.max() - 1e-9].index
        total += len(right & set(best)) / len(best)
    assert again.value == pytest.approx(total / 60)


def test_informative_confidence_decides_better_than_the_plurality() -> None:
    rng = np.random.default_rng(7)
    n = 400
    sure = rng.random((n, 3)) < 0.4
    p = np.where(sure, 0.95, 0.55)
    right = (rng.random((n, 3)) < p).astype(float)
    stated = np.where(sure, 0.99, 0.9)
    frame = table(stated.ravel(), right.ravel(), np.repeat(np.arange(n), 3), 3)
    found = d3stats.confidence(frame, rng=1)
    assert found.weighted[1].low > 0.03
    assert found.weighted[0].value < found.weighted[1].value


def test_judges_and_rounds_have_rows_of_their_own(data: Any, of_data: Any) -> None:
    c, y, g = data
    frame, found = table(c, y, g), of_data
    one = frame[frame["judge"] == "j2"]
    row = found.judges.set_index("judge").loc["j2"]
    assert row["n"] == len(one) == 60
    assert row["confidence"] == pytest.approx(one["confidence"].mean())
    assert row["over"] == pytest.approx(one["confidence"].mean() - (one["vote"] == one["label"]).mean())
    early = frame.assign(round=1, confidence=np.round(1 - c, 2))
    both = pd.concat([early, frame.assign(round=2)])
    last = d3stats.confidence(both, by_round=True, rng=1)
    assert last.stated.value == found.stated.value
    assert last.rounds["round"].tolist() == [1, 2]
    assert last.rounds["confidence"].tolist() == pytest.approx([1 - c.mean(), c.mean()])
    first = d3stats.confidence(both, round_number=1, rng=1)
    assert first.stated.value == pytest.approx(1 - c.mean())
    assert found.rounds.empty


def test_right_or_wrong_votes_and_one_judge_are_enough(data: Any, of_data: Any) -> None:
    c, y, g = data
    frame = table(c, y, g)
    right = frame.assign(correct=y.astype(int)).drop(columns=["vote", "label"])
    found, whole = d3stats.confidence(right, rng=1), of_data
    assert found.brier.value == pytest.approx(whole.brier.value)
    assert any("right or wrong" in note for note in found.notes)
    alone = d3stats.confidence(frame[frame["judge"] == "j0"], rng=1)
    assert alone.weighted == ()
    assert any("no verdicts to weight" in note for note in alone.notes)
    assert alone.headline.startswith("The judge says")


def test_what_is_left_out_is_counted(data: Any) -> None:
    c, y, g = data
    frame = table(c, y, g)
    frame.loc[0:9, "confidence"] = np.nan
    frame.loc[frame["item"] == "q50", "label"] = None
    found = d3stats.confidence(frame, rng=1)
    assert any("10 of 300 votes have no confidence and are left out" in note for note in found.notes)
    assert any("5 of 290 votes with a confidence have no right answer" in note for note in found.notes)
    assert found.n_votes == 285


def test_few_clusters_have_no_recalibration_and_one_has_no_interval() -> None:
    c, y, g = drawn(np.random.default_rng(1), 6, 5)
    found = d3stats.confidence(table(c, y, g), rng=1)
    assert found.gains == found.weighted == found.verdicts == ()
    assert any("6 clusters: recalibration and weights need at least 10" in note for note in found.notes)
    one = d3stats.confidence(table(c[:5], y[:5], g[:5]), rng=1)
    assert one.overconfidence.low is None
    assert one.calibration_error.low is None
    assert "unknown" in one.headline
    assert "not corrected" in "\n".join(one._answer())


def test_all_votes_right_leave_an_interval_that_holds_more_than_a_point() -> None:
    g = np.repeat(np.arange(20), 5)
    c = np.round(np.random.default_rng(1).uniform(0.85, 0.95, 100), 2)
    found = d3stats.confidence(table(c, np.ones(100), g), rng=1)
    assert found.overconfidence.value == pytest.approx(c.mean() - 1)
    assert found.overconfidence.high - found.overconfidence.low > 0.01
    assert found.calibration_error.high > found.calibration_error.low
    alike = d3stats.confidence(table(np.full(100, 0.9), np.ones(100), g), rng=1)
    assert alike.overconfidence.low is None
    assert "every cluster gives the same value" in alike.headline


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bins": 1}, "bins must be >= 2"),
        ({"binning": "equal"}, "binning must be one of"),
        ({"level": 1.0}, "level must lie strictly between 0 and 1"),
        ({"round_number": 3}, "round_number must be a round with confidences, one of 1; got 3"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], words: str, data: Any) -> None:
    with pytest.raises(ValueError, match=words):
        d3stats.confidence(table(*data), **settings)


def test_a_log_without_confidence_or_label_is_refused_with_the_reason(data: Any) -> None:
    frame = table(*data)
    with pytest.raises(ValueError, match=r"must have votes with a confidence.*columns=.*confidence.*COLUMN"):
        d3stats.confidence(frame.drop(columns="confidence"))
    with pytest.raises(
        ValueError, match=r"such as '[0-9.]+'; if they are per cents, add .*confidence_percent"
    ):
        d3stats.confidence(frame.assign(confidence=frame["confidence"] * 100))
    with pytest.raises(
        ValueError, match="must have a right answer; got 300 votes with a confidence and no label"
    ):
        d3stats.confidence(frame.drop(columns="label"))
    log = d3stats.datasets.load_slm7()
    with pytest.raises(
        ValueError, match=r"must have a confidence, from 0 to 1, for the rule confidence:0\.8"
    ):
        d3stats.replay(log, ["confidence:0.8"])


def test_one_seed_gives_one_result_and_another_only_other_folds(data: Any, of_data: Any) -> None:
    frame = table(*data)
    first, again, other = of_data.to_dict(), *(d3stats.confidence(frame, rng=k).to_dict() for k in (1, 2))
    assert first == again
    assert first["bins"] == other["bins"]
    assert first["estimates"] != other["estimates"]


def test_the_picture_has_the_bins_the_bands_and_both_curves(of_data: Any) -> None:
    found = of_data
    ax = found.plot()
    (points,) = [c for c in ax.collections if c.get_label() == "bin"]
    np.testing.assert_allclose(
        np.asarray(points.get_offsets()), found.bins[["confidence", "right"]].to_numpy()
    )
    assert {line.get_label() for line in ax.lines} >= {"isotonic", "Beta"}


@pytest.mark.slow
def test_the_gain_of_recalibration_is_covered() -> None:
    """The truth of a run is the mean gain of its own fits on very many new votes."""
    held = {"isotonic": 0, "Beta": 0}
    rng = np.random.default_rng(11)
    truth = lambda c: 0.1 + 0.7 * c  # noqa: E731
    fresh = rng.beta(5, 2, 20_000)
    for _ in range(200):
        c, y, g = drawn(rng, 60, 5, 0.3, truth)
        fold = rng.permutation(np.arange(60) % 5)[g]
        data = as_confidences(table(c, y, g))
        assert len(data) == 300
        for name, fit in (("isotonic", fit_isotonic), ("Beta", fit_beta)):
            again = cross_fitted(fit, c, y, fold)
            saved = (c - y) ** 2 - (again - y) ** 2
            sums = np.column_stack([np.bincount(g, saved), np.bincount(g)])
            low, high = cluster_t(sums, ratios((0, 1)), symmetric=True).interval()
            p = truth(fresh)
            gains = []
            for k in range(5):
                m = fit(c[fold != k], y[fold != k])(fresh)
                gains.append(float(((fresh - p) ** 2 - (m - p) ** 2).mean()))
            held[name] += low <= np.mean(gains) <= high
    assert min(held.values()) / 200 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
