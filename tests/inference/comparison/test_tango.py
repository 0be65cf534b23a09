"""Tango's score limits, and margin tests by them: published numbers, a second writing, and exact sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from layers import covering
from scipy import optimize, stats

from d3stats.inference import (
    MarginTest,
    PairedDifference,
    compare,
    equivalence,
    noninferiority,
    paired_difference,
)
from d3stats.inference.comparison.pair_data import score_limits, score_z
from d3stats.resampling import cluster_t, ratios


def changed(n: int, gained: int, lost: int, size: int = 1, kind: str = "cluster t") -> PairedDifference:
    """Return two runs on n clusters of `size` items, of which the first item of some is gained or lost."""
    first, second = (np.ones((n, size)) for _ in range(2))
    first[:gained, 0] = 0
    second[gained : gained + lost, 0] = 0
    cluster = np.repeat(np.arange(n), size)
    return paired_difference(first.ravel(), second.ravel(), cluster, kind=kind, n_boot=200, rng=1)


# ------------------------------------------------------------------ the limits


def test_the_limits_are_those_of_two_r_packages() -> None:
    """PropCIs 0.3-0, scoreci.mp(25, 28, 618, .9); ratesci, pairbinci(c(1, 1, 7, 12)), the data of Bentur (2009)."""
    assert score_limits(28, 25, 618, 0.9) == pytest.approx((-0.0148, 0.0247), abs=5e-5)
    assert score_limits(1, 7, 21, 0.95) == pytest.approx((-0.517, -0.026), abs=5e-4)


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(3, 11, 90), (11, 3, 90), (0, 4, 50), (2, 0, 30), (20, 25, 60)]
)
@pytest.mark.parametrize("difference", [-0.3, -0.1, -0.01, 0.0, 0.04, 0.25])
def test_the_score_takes_its_error_from_the_likeliest_shares(
    gained: int, lost: int, n: int, difference: float
) -> None:
    def unlikeliness(q: float) -> float:
        shares = np.array([q + difference, q, 1 - 2 * q - difference])
        counts = np.array([gained, lost, n - gained - lost])
        return -float(np.sum(counts[counts > 0] * np.log(np.maximum(shares[counts > 0], 1e-300))))

    room = (max(0.0, -difference), (1 - difference) / 2)
    q = optimize.minimize_scalar(unlikeliness, bounds=room, method="bounded", options={"xatol": 1e-12}).x
    error = math.sqrt(n * (2 * q + difference * (1 - difference)))
    expected = (gained - lost - n * difference) / error if error > 1e-3 else 0.0
    assert score_z(gained, lost, n, difference) == pytest.approx(expected, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(
    ("gained", "lost", "n"), [(0, 3, 300), (7, 2, 40), (0, 0, 25), (0, 9, 9), (9, 0, 9), (4, 4, 8)]
)
def test_limits_are_where_the_score_is_the_quantile_and_swapping_the_runs_mirrors_them(
    gained: int, lost: int, n: int
) -> None:
    low, high = score_limits(gained, lost, n, 0.95)
    assert -1 <= low <= (gained - lost) / n <= high <= 1
    assert (-high, -low) == pytest.approx(score_limits(lost, gained, n, 0.95))
    if low > -1:
        assert score_z(gained, lost, n, low) == pytest.approx(1.959964, abs=1e-5)
    if high < 1:
        assert score_z(gained, lost, n, high) == pytest.approx(-1.959964, abs=1e-5)


def test_without_a_difference_to_test_it_is_the_asymptotic_mcnemar_test() -> None:
    assert score_z(18, 7, 100, 0.0) == pytest.approx((18 - 7) / math.sqrt(25))


def test_the_limits_can_be_asked_for_by_name_where_items_are_right_or_wrong_and_independent() -> None:
    pair = changed(100, 12, 5)
    found = pair.interval("tango")
    assert (found.kind, found.low, found.high) == ("Tango", *score_limits(12, 5, 100, 0.95))
    assert paired_difference(pair.data.first, pair.data.second, kind="Tango").difference.low == found.low
    assert "Tango" in pair.intervals()["kind"].tolist()
    clustered, scores = changed(50, 12, 5, size=2), paired_difference([1.5, 2, 3], [2.0, 2, 1])
    assert "some items share a cluster" in clustered.interval("Tango").note
    assert "of right and wrong" in scores.interval("Tango").note
    for other in (clustered, scores):
        assert other.interval("Tango").low is None
        assert "Tango" not in other.intervals()["kind"].tolist()


# ------------------------------------------------------------------ the size of margin tests


def claims(found: MarginTest) -> bool:
    return found.holds is True


@pytest.mark.parametrize(
    ("n", "margin"), [(300, 0.02), (156, 0.05), (100, 0.10), (80, 0.05), (300, 0.10), (20, 0.2)]
)
def test_losses_alone_are_called_non_inferior_as_the_exact_test_of_their_share_says(
    n: int, margin: float
) -> None:
    """Losses alone, the truth on the margin: all counts added up, nothing simulated."""
    most = 0
    while claims(noninferiority(changed(n, 0, most), margin)):
        most += 1
    assert not any(claims(noninferiority(changed(n, 0, most + k), margin)) for k in range(1, 4))
    assert stats.binom.cdf(most - 1, n, margin) < 0.05 <= stats.binom.cdf(most, n, margin)


@covering(n=[1, 2, 3, 6, 20], margin=[0.02, 0.1, 0.2, 0.5])
def test_no_small_number_of_items_claims_too_often(n: int, margin: float) -> None:
    """The truth on the margin, any share of gains: every table of gains and losses, weighted by its chance."""
    tables = [(g, k) for g in range(n + 1) for k in range(n + 1 - g) if (g - k) / n > -margin]
    kept = np.array([t for t in tables if claims(noninferiority(changed(n, *t), margin))]).reshape(-1, 2)
    rest = n - kept.sum(axis=1)
    for gain in np.linspace(0, (1 - margin) / 2, 9):
        law = stats.multinomial(n, [gain, gain + margin, max(1 - 2 * gain - margin, 0.0)])
        assert law.pmf(np.column_stack([kept, rest])).sum() <= 0.05 + 1e-9


def test_a_t_that_counts_unchanged_items_would_claim_it_three_times_as_often() -> None:
    n, margin, counting, chosen = 300, 0.02, 0.0, 0.0
    for lost in range(1, 15):
        pair, chance = changed(n, 0, lost), stats.binom.pmf(lost, n, margin)
        low = pair.interval("cluster t", level=0.9).low
        usual = cluster_t(pair.data.totals, ratios((2, 3)), level=0.9, symmetric=True).low[0]
        counting += chance * (usual > -margin)
        chosen += chance * (low is not None and low > -margin)
    assert counting > 0.14
    assert chosen < 0.05


@pytest.mark.parametrize("gain", [0.0, 0.02, 0.1, 0.25])
@pytest.mark.parametrize(("n", "margin"), [(60, 0.1), (80, 0.05)])
def test_the_exact_size_with_gains_and_losses_is_close_to_alpha(n: int, margin: float, gain: float) -> None:
    size, reach = 0.0, stats.norm.ppf(0.95)
    for gained in range(n + 1):
        lost = np.arange(n + 1 - gained)
        rest = gain / (1 - gain)
        chance = stats.binom.pmf(gained, n, gain) * stats.binom.pmf(
            lost, n - gained, rest + margin / (1 - gain)
        )
        size += sum(
            p for p, k in zip(chance, lost, strict=True) if score_z(gained, int(k), n, -margin) > reach
        )
    assert size <= 0.07


def test_three_items_lost_of_300_show_nothing_at_two_points() -> None:
    found = noninferiority(changed(300, 0, 3), 0.02)
    assert (found.holds, found.difference.kind) == (False, "Tango and cluster t")
    assert found.p_value == pytest.approx(stats.binom.cdf(3, 300, 0.02))
    assert found.p_value == pytest.approx(0.1485, abs=0.001)


@pytest.mark.parametrize(("gained", "lost"), [(0, 3), (5, 5), (30, 12), (0, 40), (2, 9)])
@pytest.mark.parametrize("margin", [0.02, 0.06, 0.2, 0.9, 0.999])
def test_the_score_limits_and_the_p_value_never_disagree(gained: int, lost: int, margin: float) -> None:
    pair = changed(150, gained, lost)
    for found in (
        noninferiority(pair, margin),
        noninferiority(pair, margin, better="lower"),
        equivalence(pair, margin),
    ):
        assert found.difference.kind == "Tango and cluster t"
        assert found.p_value is not None
        assert found.holds is (found.p_value < 0.05)


# ------------------------------------------------------------------ where nothing decides


@pytest.mark.parametrize("kind", ["cluster t", "bca"])
def test_with_fewer_than_ten_changed_clusters_no_margin_is_decided(kind: str) -> None:
    nine, ten = changed(100, 0, 9, size=3, kind=kind), changed(100, 0, 10, size=3, kind=kind)
    for found in (noninferiority(nine, 0.2), equivalence(nine, 0.2)):
        assert (found.holds, found.p_value) == (None, None)
        start = f"{found.question}: not decided, because the sums of only 9 of 100 clusters changed"
        assert found.conclusion.startswith(start)
    assert noninferiority(ten, 0.2).holds is True


def test_few_scores_that_mostly_change_are_left_to_the_t_and_rare_changes_are_not() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=8)
    assert noninferiority(paired_difference(a, a + rng.normal(0, 0.1, 8)), 2.0).holds is True
    rare = np.zeros(60)
    rare[:4] = [0.5, -0.25, 0.75, 1]
    assert noninferiority(paired_difference(np.zeros(60), rare), 0.5).holds is None


def test_runs_that_agree_everywhere_are_decided_by_the_chance_of_that() -> None:
    pair = changed(80, 0, 0)
    shown, unsure = noninferiority(pair, 0.05), equivalence(pair, 0.02)
    assert (shown.holds, shown.p_value) == (True, pytest.approx(0.95**80))
    assert shown.difference.low is None
    assert "agree on all 80 items" in shown.conclusion
    assert (unsure.holds, unsure.p_value) == (None, None)
    assert noninferiority(changed(40, 0, 0, size=2), 0.2).holds is None


@pytest.mark.parametrize(
    ("n", "size", "words"),
    [
        (100, 1, "items on which they differ are at most 2.95 %"),
        (30, 2, "clusters with any item on which they differ are at most 9.5 %"),
    ],
)
def test_runs_that_agree_everywhere_are_bounded_in_words(n: int, size: int, words: str) -> None:
    found = changed(n, 0, 0, size=size)
    assert found.difference.low is None
    assert any(words in note for note in found.notes)
    assert 100 * (1 - 0.05 ** (1 / n)) == pytest.approx(float(words.split()[-2]), abs=0.01)


def test_limits_of_a_difference_of_shares_are_cut_at_one_and_say_so() -> None:
    found = paired_difference([0, 0, 1, 0], [1, 1, 1, 1])
    assert found.difference.high == 1.0
    assert "cut" in found.difference.note
    assert found.difference.note in found.notes
    free = paired_difference([0.0, 0.0, 1.0, 0.5], [3, 1, 1, 1])
    assert free.difference.high is not None
    assert free.difference.high > 1
    assert not free.difference.note


def test_questions_can_count_alike_whatever_their_size() -> None:
    import pandas as pd

    a = pd.DataFrame({"item": range(12), "cluster": [0] * 9 + [1, 2, 3], "correct": 0})
    b = a.assign(correct=[1] * 9 + [0] * 3)
    assert compare(a, b).difference.value == 0.75
    found = compare(a, b, weights="question")
    means = [run.groupby("cluster")["correct"].mean() for run in (a, b)]
    wanted = paired_difference(*means, repeated=True).difference
    assert (found.difference.value, found.difference.high) == (0.25, wanted.high)
    assert (found.n_items, found.n_clusters) == (4, 4)
    assert any("each question counts once" in note for note in found.notes)
    with pytest.raises(ValueError, match="weights must be one of 'item', 'question'"):
        compare(a, b, weights="cluster")  # type: ignore[arg-type]  # that is the test
