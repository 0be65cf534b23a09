"""The martingale test: its size under the voter model, its power, its arithmetic, and what it refuses."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from layers import sampled
from scipy import stats

from d3stats import Trajectories
from d3stats.models.beliefs.martingale import (
    MartingaleTest,
    clustered_mean,
    clustered_slope,
    martingale_test,
)
from d3stats.resampling import hotelling
from d3stats.worlds import Conformity, DirichletCompound, Voter, simulate_debates

SIZE_WORLDS = [(3, 40), (5, 60), (7, 100)]


def copied(panel: int, n_questions: int, replicates: int, seed: int) -> list[MartingaleTest]:
    """Test voter panels, each debate logged one to three times: questions of unlike size, wholly dependent."""
    log = simulate_debates(
        Voter(panel=panel, accuracy=0.65, precision=3.0), n_questions * replicates, 4, seed
    ).successes_trials()[0]
    rng = np.random.default_rng(seed)
    found = []
    for r in range(replicates):
        question = np.repeat(np.arange(n_questions), rng.integers(1, 4, size=n_questions))
        found.append(martingale_test(log[r * n_questions + question], panel, cluster=question))
    return found


def sizes(found: list[MartingaleTest]) -> dict[str, float]:
    """Return how often each test rejects at 5 %; a joint test that cannot be made does not reject."""
    mean = np.array([f.p_value for f in found], float)
    given = np.array([1.0 if f.p_conditional is None else f.p_conditional for f in found])
    # Where nearly no panel is split there is no slope among them, and nothing to reject.
    slopes = [np.array([f.slope[name].iloc[-1] for f in found], float) for name in ("p_value", "p_inside")]
    named = zip(("mean", "given", "slope", "slope_inside"), (mean, given, *slopes), strict=True)
    return {name: float((p < 0.05).mean()) for name, p in named}


@pytest.mark.slow
def test_the_tests_keep_their_size_under_the_voter_model_with_dependent_debates() -> None:
    found = copied(5, 60, 300, seed=7)
    allowed = 0.055 + 2 * np.sqrt(0.05 * 0.95 / 300)
    measured = sizes(found)
    assert max(measured.values()) <= allowed, measured
    assert min(measured["mean"], measured["given"]) > 0.01  # nor is any of them asleep


@pytest.mark.slow
@pytest.mark.parametrize(("panel", "n_questions"), SIZE_WORLDS)
def test_the_tests_keep_their_size_and_the_intervals_their_level_over_two_thousand_replicates(
    panel: int, n_questions: int
) -> None:
    found = copied(panel, n_questions, 2000, seed=31)
    allowed = 0.055 + 2 * np.sqrt(0.05 * 0.95 / 2000)
    measured = sizes(found)
    assert max(measured.values()) <= allowed, measured
    inside = np.mean([(f.drift["low"].iloc[-1] <= 0) & (f.drift["high"].iloc[-1] >= 0) for f in found])
    assert 0.94 <= inside <= 0.96


@pytest.mark.slow
def test_taking_copies_for_debates_of_their_own_would_reject_far_too_often() -> None:
    """What the clusters are for: the same replicates, each copy counted as an independent debate."""
    s = simulate_debates(Voter(panel=5), 60 * 200, 3, 5).successes_trials()[0]
    naive = [martingale_test(np.repeat(s[60 * r : 60 * r + 60], 4, axis=0), 5).p_value for r in range(200)]
    assert np.mean(np.array(naive, float) < 0.05) > 0.2


def test_conformity_is_found_not_to_be_a_martingale() -> None:
    found = martingale_test(simulate_debates(Conformity(panel=7, conformity=3.0), 300, 4, 3))
    assert found.p_conditional is not None
    assert found.p_conditional < 1e-6
    assert found.boundary["left_all_wrong"].iloc[-1] > 0
    assert found.slope["low_inside"].iloc[-1] > 0  # split panels go to the side of their majority


def test_steady_beliefs_with_noisy_votes_have_no_mean_drift_and_return_to_the_middle() -> None:
    found = martingale_test(simulate_debates(DirichletCompound(panel=5), 2000, 3, 4))
    assert found.p_value is not None
    assert found.p_value > 0.01
    assert found.slope[["high", "high_inside"]].iloc[-1].max() < 0
    assert found.p_conditional is not None
    assert found.p_conditional < 1e-6


def test_choosing_debates_by_a_bad_first_vote_makes_them_seem_to_learn_unless_the_count_is_a_martingale() -> (
    None
):
    for world, moves in ((DirichletCompound(panel=3), True), (Voter(panel=3), False)):
        t = simulate_debates(world, 4000, 2, 6)
        s = t.successes_trials()[0]
        found = martingale_test(t.select(s[:, 0] < 2))
        assert (found.drift["low"].iloc[0] > 0.05) == moves
        assert found.p_value is not None
        assert (found.p_value < 0.001) == moves


def test_under_the_voter_model_nobody_leaves_either_end_and_the_ends_are_not_tested() -> None:
    found = martingale_test(simulate_debates(Voter(panel=5), 400, 4, 8))
    edge = found.boundary.iloc[-1]
    assert edge["all_right"] > 0
    assert edge["left_all_right"] == edge["left_all_wrong"] == 0
    ends = found.conditional[found.conditional["count"].isin([0, 5])]
    assert not ends["tested"].any()
    assert (ends["drift"] == 0).all()
    assert set(ends["why"]) <= {"no panel moved"} | {w for w in ends["why"] if "fewer than" in w}


def test_one_departure_from_an_end_is_said_to_refute_the_strict_null() -> None:
    s = np.array([[0, 1], [1, 1], [2, 1], [3, 3], [1, 2], [0, 0]] * 3)
    found = martingale_test(s, 3)
    assert found.boundary.loc[0, ["all_wrong", "left_all_wrong"]].tolist() == [6, 3]
    assert any("3 of 9 rounds that ended all wrong or all right" in note for note in found.notes)


# ---------------------------------------------------------------- arithmetic against plain loops


def test_a_clustered_mean_with_one_debate_per_question_is_students() -> None:
    y = np.random.default_rng(1).normal(0.1, 1, 30)
    found = clustered_mean(y, np.arange(30), 0.9)
    student = stats.ttest_1samp(y, 0)
    assert found.p_value == pytest.approx(student.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(student.confidence_interval(0.9)))


def test_the_slope_is_least_squares_with_the_error_of_leaving_out_each_question() -> None:
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    x = rng.random(len(cluster))
    y = 0.3 * x + rng.normal(size=12)[cluster] + rng.normal(size=len(x))
    found = clustered_slope(x, y, cluster, 0.95)
    left_out = np.array([np.polyfit(x[cluster != g], y[cluster != g], 1)[0] for g in range(12)])
    assert found is not None
    assert found.value == pytest.approx(np.polyfit(x, y, 1)[0])
    assert found.se == pytest.approx(np.sqrt(11 / 12 * ((left_out - left_out.mean()) ** 2).sum()))
    spread = np.array([((x[cluster == g] - x.mean()) ** 2).sum() for g in range(12)])
    assert found.df == pytest.approx(spread.sum() ** 2 / (spread**2).sum() - 1)


def test_a_cluster_with_most_of_the_weight_leaves_no_error() -> None:
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(10), [100] + 9 * [1])
    n = np.full((len(cluster), 2), 7)
    found = martingale_test(rng.integers(0, 8, n.shape), n, cluster=cluster)
    assert found.drift[["se", "low", "high", "p_value"]].isna().all(axis=None)
    assert any("one cluster has 100 of 109 debates" in note for note in found.notes)
    sizes = np.repeat(np.arange(20), [50, 50] + 18 * [2])
    uneven = clustered_mean(rng.normal(size=136), sizes, 0.95)
    assert uneven.df == pytest.approx(136**2 / (2 * 50**2 + 18 * 2**2) - 1)


def test_the_joint_test_of_one_column_is_the_square_of_students() -> None:
    y = np.random.default_rng(3).normal(0.2, 1, 25)
    student = stats.ttest_1samp(y, 0)
    found = hotelling(y[:, None])
    assert (found.f, found.p_value) == pytest.approx((student.statistic**2, student.pvalue))
    assert (found.df1, found.df2) == (1, 24)


def test_the_joint_test_does_not_see_the_scale_or_a_mixing_of_its_columns() -> None:
    rng = np.random.default_rng(4)
    totals = rng.normal(size=(40, 3))
    mixed = totals @ rng.normal(size=(3, 3)) * 1e-6
    assert hotelling(mixed).f == pytest.approx(hotelling(totals).f, rel=1e-6)
    assert hotelling(totals[:, [0, 0]]).p_value is None
    assert hotelling(totals[:3]).p_value is None


def test_drifts_by_cell_are_the_means_by_starting_count() -> None:
    rng = np.random.default_rng(5)
    s = rng.integers(0, 5, size=(200, 3))
    question = rng.integers(0, 60, size=200)
    found = martingale_test(s, 4, cluster=question)
    long = pd.DataFrame({"a": s[:, :-1].T.ravel(), "d": np.diff(s, axis=1).T.ravel() / 4})
    cells = found.conditional[found.conditional["transition"] == "pooled"].set_index("count")["drift"]
    assert cells.to_numpy() == pytest.approx(long.groupby("a")["d"].mean().to_numpy())
    by_round = found.drift.set_index("transition")["drift"]
    assert by_round["1-2"] == pytest.approx((s[:, 1] - s[:, 0]).mean() / 4)
    assert by_round["pooled"] == pytest.approx(long["d"].mean())


def test_a_log_and_its_arrays_give_the_same_table_in_any_order_of_debates() -> None:
    t = simulate_debates(Conformity(panel=5), 80, 3, 9)
    s, n = t.successes_trials()
    question = np.arange(80) % 30
    order = np.random.default_rng(1).permutation(80)
    one = martingale_test(s, n, cluster=question).to_frame()
    names = np.array([f"q{c}" for c in question])
    other = martingale_test(s[order], n[order], cluster=names[order]).to_frame()
    pd.testing.assert_frame_equal(one, other, rtol=1e-9)
    pd.testing.assert_frame_equal(martingale_test(t).to_frame(), martingale_test(s, n).to_frame())


def test_a_missing_vote_is_left_out_or_counted_as_wrong_as_told() -> None:
    votes = [
        [["A", "A", "B"], ["A", None, "B"]],
        [["B", "B", "A"], [None, None, None]],
        [["A"] * 3, ["A"] * 3],
    ]
    t = Trajectories.from_arrays(votes, ["A", "A", "A"])
    left_out, wrong = martingale_test(t), martingale_test(t, missing="wrong")
    assert left_out.drift["n_pairs"].iloc[0] == 2
    assert left_out.drift["drift"].iloc[0] == pytest.approx((1 / 2 - 2 / 3) / 2)
    assert "1 pair of rounds left out because one of them has no vote" in left_out.notes
    assert wrong.drift["drift"].iloc[0] == pytest.approx((1 / 3 - 2 / 3 - 1 / 3) / 3)


def test_a_round_without_votes_between_two_others_is_said_to_be_left_out() -> None:
    s, n = [[1, 0, 2], [1, 1, 1], [2, 1, 2]], [[3, 0, 3], [3, 3, 3], [3, 3, 3]]
    found = martingale_test(s, n)
    assert found.drift["n_pairs"].tolist() == [2, 2, 4]
    assert "2 pairs of rounds left out because one of them has no vote" in found.notes


def test_cells_of_smaller_panels_are_the_nearest_counts_of_the_largest() -> None:
    s, n = np.array([[0, 1], [1, 1], [3, 3], [2, 2], [5, 5]]), np.array([4, 2, 4, 2, 5])
    cells = martingale_test(s, np.column_stack([n, n])).conditional
    # 1/2 and 3/4 of 5; 2 of 2
    assert cells[cells["transition"] == "pooled"]["count"].tolist() == [0, 3, 4, 5]
    assert cells["panel"].unique().tolist() == [5]


def test_the_drift_given_the_start_takes_whole_panels_and_says_how_many_are_left_out() -> None:
    t = simulate_debates(Voter(panel=5, accuracy=0.65, precision=3.0), 300, 4, 3)
    rng = np.random.default_rng(3)
    votes = np.where(rng.random(t.votes.shape) < 0.2, -1, t.votes)
    holed = Trajectories.from_arrays(votes, label=t.label, answers=list(t.answers))
    found = martingale_test(holed)
    s, n = holed.successes_trials()
    pairs = (n[:, :-1] > 0) & (n[:, 1:] > 0)
    whole = pairs & (n[:, :-1] == 5)
    start = (s[:, :-1] / np.maximum(n[:, :-1], 1))[whole]
    change = (s[:, 1:] / np.maximum(n[:, 1:], 1))[whole] - start
    assert found.slope["slope"].iloc[-1] == pytest.approx(np.polyfit(start, change, 1)[0])
    assert found.conditional.query("transition == 'pooled'")["n_pairs"].sum() == whole.sum()
    assert found.drift["n_pairs"].iloc[-1] == pairs.sum()
    assert any(f"{(pairs & ~whole).sum()} of {pairs.sum()} pairs" in note for note in found.notes)
    assert not any("missing" in note for note in martingale_test(t).notes)
    # Nobody leaves the ends of a voter model; the votes that were cast seem to.
    assert found.boundary[["left_all_wrong", "left_all_right"]].sum().sum() == 0


@pytest.mark.slow
def test_with_missing_votes_the_slope_and_the_cells_keep_their_size() -> None:
    """On all shares the slope rejected 16 % of these true nulls."""
    rng = np.random.default_rng(8)
    slopes, cells = [], []
    t = simulate_debates(Voter(panel=5, accuracy=0.65, precision=3.0), 60 * 150, 4, 8)
    votes = np.where(rng.random(t.votes.shape) < 0.1, -1, t.votes)
    for k in range(150):
        at = slice(60 * k, 60 * (k + 1))
        log = Trajectories.from_arrays(votes[at], label=t.label[at], answers=list(t.answers))
        found = martingale_test(log)
        slopes.append(found.slope["p_value"].iloc[-1] < 0.05)
        cells.append(found.joint["p_value"].iloc[-1] < 0.05)
    assert np.mean(slopes) <= 0.065 + 1.5 * np.sqrt(0.05 * 0.95 / 150)
    assert np.mean(cells) <= 0.065 + 1.5 * np.sqrt(0.05 * 0.95 / 150)


def test_few_questions_and_thin_cells_are_said_in_words() -> None:
    found = martingale_test(np.array([[1, 2], [2, 1], [1, 1], [2, 3]]), 3)
    assert any("4 clusters are too few" in note for note in found.notes)
    assert any("cells shown but not tested" in note for note in found.notes)
    assert found.p_conditional is None
    assert "no joint test, no cell can be tested" in found.summary()


def test_what_has_no_number_says_why() -> None:
    """One question reaches round 3; all split panels start alike."""
    s = np.array([[1, 2, 1], [1, 0, 0], [3, 3, 0], [1, 1, 0]] * 4)
    n = np.full_like(s, 3)
    n[1:, 2] = 0
    s[1:, 2] = 0
    found = martingale_test(s, n)
    late = found.drift.set_index("transition").loc["2-3"]
    assert late[["se", "low", "high", "p_value"]].isna().all()
    assert "no error can be estimated in transitions 2-3: there is one cluster" in found.notes
    slope = found.slope.set_index("transition")
    assert slope.loc["1-2", "why"] == "slope_inside: the starts of split panels do not vary enough"
    assert slope.loc["2-3", "why"] == "the starts do not vary enough"
    for table, columns in ((found.joint, ["p_value", "p_inside"]), (found.slope, ["p_value", "p_inside"])):
        without = table[columns].isna().any(axis=1)
        assert (table.loc[without, "why"] != "").all()


@pytest.mark.parametrize(
    ("counts", "drift"), [([[1, 2]] * 3, 1 / 3), ([[1, 1], [2, 2]] * 20, 0.0), ([[2, 1]] * 12, -1 / 3)]
)
def test_where_every_cluster_moves_alike_there_is_no_p_value_and_no_interval_and_a_note_says_so(
    counts: list[list[int]], drift: float
) -> None:
    found = martingale_test(counts, trials=3)
    assert found.p_value is None
    assert found.drift["drift"].to_numpy() == pytest.approx([drift, drift])
    assert found.drift["se"].tolist() == [0.0, 0.0]
    assert found.drift[["low", "high", "p_value"]].isna().all(axis=None)
    assert found.conditional[["low", "high"]].isna().all(axis=None)
    assert any("no error can be estimated" in note and "1-2, pooled" in note for note in found.notes)
    assert not any("could not be detected" in note for note in found.notes)
    assert (found.slope["why"] != "").all()
    said = found.summary()
    assert "no error can be estimated" in said
    assert "nan" not in said.lower()
    found.plot()


def test_one_transition_in_which_all_move_alike_is_named() -> None:
    found = martingale_test([[1, 2, 2], [1, 2, 3], [1, 2, 1], [2, 3, 3]], 3)
    rows = found.drift.set_index("transition")
    assert rows.loc["1-2", ["low", "high", "p_value"]].isna().all()
    assert rows.loc[["2-3", "pooled"], ["low", "high", "p_value"]].notna().all(axis=None)
    assert any(note.endswith("no limits and no p-value; transitions 1-2") for note in found.notes)


def test_an_increment_that_follows_its_start_exactly_has_a_slope_without_an_interval() -> None:
    found = martingale_test([[0, 0], [1, 2], [2, 4], [3, 6]] * 5, 6)
    slope = found.slope.iloc[-1]
    assert slope["slope"] == pytest.approx(1.0)
    assert slope[["low", "high", "p_value"]].isna().all()
    assert "every cluster moved by the same amount" in slope["why"]


def test_the_result_says_level_and_kind_and_draws_itself() -> None:
    found = martingale_test(simulate_debates(Conformity(panel=5), 200, 3, 2), level=0.9)
    frame = found.to_frame()
    assert frame["level"].unique().tolist() == [0.9]
    assert frame["interval"].unique().tolist() == ["cluster t"]
    assert "90 %, cluster t" in found.summary()
    _, ax = plt.subplots()
    assert found.plot(ax) is ax
    labels = found.plot(by="transition").get_legend_handles_labels()[1]
    assert labels == ["rounds 1-2", "rounds 2-3"]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: martingale_test([[1], [2]], 3), ValueError, "at least two rounds"),
        (lambda: martingale_test([[1, 2]], 3), ValueError, "cluster must have at least 2 values"),
        (lambda: martingale_test([[1, 2]] * 3, 3, cluster=[1, 1, 1]), ValueError, "at least 2 values.*got 1"),
        (lambda: martingale_test([[0, 0], [1, 0]], [[0, 3], [3, 0]]), ValueError, "two successive rounds"),
        (lambda: martingale_test([[1, 4], [1, 1]], 3), ValueError, "got trials=3, successes=4 at debate 0"),
        (lambda: martingale_test([[1, 2], [1, 1]]), TypeError, "trials must be given"),
        (lambda: martingale_test([[1, 2], [1, 1]], [3, 3]), ValueError, "trials must be one number or"),
        (lambda: martingale_test([[1.5, 2], [1, 1]], 3), ValueError, "successes must be whole numbers"),
        (lambda: martingale_test([1, 2], 3), ValueError, "successes must have shape"),
        (lambda: martingale_test([[1, 2], [1, 1]], 3, cluster=[1]), ValueError, "one name per debate"),
        (lambda: martingale_test([[1, 2], [1, 1]], 3, level=1.0), ValueError, "level must lie strictly"),
        (lambda: martingale_test([[1, 2], [1, 1]], 3, min_cell_clusters=1), ValueError, "must be >= 2"),
        (lambda: martingale_test([[1, 2], [1, 1]], 3, missing="skip"), ValueError, "missing must be one of"),
        # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused_in_words(call: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()  # type: ignore[operator]


def test_a_log_brings_its_own_trials_and_an_unlabelled_one_is_refused() -> None:
    t = simulate_debates(Voter(panel=3), 10, 2, 1)
    with pytest.raises(TypeError, match="it brings its own"):
        martingale_test(t, 3)
    unlabelled = Trajectories.from_arrays([[["A", "B"], ["A", "A"]]] * 3)
    with pytest.raises(ValueError, match="votes in two successive rounds"):
        martingale_test(unlabelled)


@sampled("sizes", [[5] * 20, [2] * 60, [1, 2, 4, 8, 30] * 8, [*range(1, 13)] * 2], (0, 2))
def test_a_mean_drift_holds_its_level_where_few_questions_have_a_wrong_vote(sizes: list[int]) -> None:
    """Most clusters never move, so they say nothing of how far a cluster moves."""
    rng, held = np.random.default_rng(5), []
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(600):
        wrong = rng.binomial(5, rng.beta(0.07, 0.93, len(sizes))[cluster])
        found = clustered_mean(rng.binomial(wrong, 0.2) / 5, cluster, 0.95)
        if found.low is not None and found.high is not None:
            held.append(found.low <= 0.07 * 0.2 <= found.high)
    assert len(held) > 500
    assert np.mean(held) >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / len(held)), np.mean(held)
