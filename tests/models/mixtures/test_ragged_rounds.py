"""Martingale test, drift noise and KS bootstrap on ragged logs: equal to loops over rows, in value and in law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import d3stats
from d3stats._words import percent
from d3stats.counts import Counts, RoundCounts
from d3stats.models.beliefs.martingale import martingale_test
from d3stats.models.mixtures.fit import fit_beta_binomial
from d3stats.models.mixtures.rounds import rounds_drift
from d3stats.resampling.degrees import item_error


def ragged(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Correct votes, votes and clusters of debates that miss votes and end in different rounds."""
    debates, rounds, panel = int(rng.integers(12, 60)), int(rng.integers(2, 6)), int(rng.integers(1, 8))
    n = rng.integers(0, panel + 1, (debates, rounds))
    n[np.arange(rounds) >= rng.integers(1, rounds + 1, debates)[:, None]] = 0
    n[:3] = panel
    return rng.binomial(n, 0.6), n, np.arange(debates) % max(3, debates // 2)


def test_the_martingale_test_of_a_ragged_log_is_that_of_a_loop_over_its_pairs_of_rounds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(25):
        s, n, cluster = ragged(rng)
        rows = [
            (r, cluster[d], s[d, r] / n[d, r], s[d, r + 1] / n[d, r + 1], n[d, r] == max(n[d]))
            for r in range(s.shape[1] - 1)
            for d in range(len(s))
            if n[d, r] > 0 and n[d, r + 1] > 0
        ]
        found = martingale_test(s, n, cluster=cluster)
        for drift, slope, ends in zip(
            found.drift.to_dict("records"), found.slope.to_dict("records"), found.boundary.to_dict("records"),
            strict=True,
        ):  # fmt: skip
            name = drift["transition"]
            mine = [row for row in rows if name == "pooled" or row[0] == int(name.split("-")[0]) - 1]
            _, group, start, end, whole = (np.array(column) for column in zip(*mine, strict=True))
            change = end - start
            # The jackknife about the mean, and Kish's number of equal clusters less one, at most
            # that of the clusters that moved, each from its definition.
            names = np.unique(group)
            without = np.array([change[group != g].mean() for g in names])
            sizes = np.array([(group == g).sum() for g in names])
            se = np.sqrt((len(names) - 1) / len(names) * ((without - change.mean()) ** 2).sum())
            away = np.array([change[group == g].sum() - change.mean() * (group == g).sum() for g in names])
            se = max(se, item_error(away, sizes, change.var()))
            kish = sizes.sum() ** 2 / (sizes**2).sum()
            moved = np.array([np.abs(change[group == g]).sum() > 1e-9 for g in names])
            df = min(kish - 1, max(min(kish * sizes[moved].sum() / sizes.sum(), moved.sum()), 2.0))
            assert drift["n_pairs"] == len(mine)
            assert abs(drift["drift"] - change.mean()) < 1e-12
            if se > 1e-12:
                assert abs(drift["se"] - se) < 1e-10
                assert abs(drift["high"] - change.mean() - stats.t.ppf(0.975, df) * se) < 1e-8
            start, end, change = start[whole], end[whole], change[whole]
            if np.isfinite(slope["slope"]):
                assert abs(slope["slope"] - np.polyfit(start, change, 1)[0]) < 1e-8
            assert ends["left_all_wrong"] == ((start == 0) & (end > 0)).sum()
            assert ends["left_all_right"] == ((start == 1) & (end < 1)).sum()


def test_the_noise_of_a_drift_has_the_law_of_swapping_the_rounds_of_whole_questions() -> None:
    rng = np.random.default_rng(2)
    cluster = rng.integers(0, 25, 60)
    n = rng.integers(0, 6, (60, 2))
    s = rng.binomial(n, rng.beta(2, 1, 60)[:, None])
    pair = rounds_drift(s, n, cluster, n_components=1, n_boot=250, rng=1).pairs[0]
    both = (n > 0).all(axis=1)
    s, n, cluster = s[both], n[both], cluster[both]
    assert pair.debates == both.sum()
    fast = np.asarray(pair.swapped[0].mean) - np.asarray(pair.swapped[1].mean)
    slow = []
    for _ in range(100):
        flip = rng.integers(0, 2, 25).astype(bool)[cluster][:, None]
        right, votes = np.where(flip, s[:, ::-1], s), np.where(flip, n[:, ::-1], n)
        before, after = (fit_beta_binomial(right[:, i], votes[:, i]).mean for i in (0, 1))
        slow.append(before - after)
    assert stats.ks_2samp(fast, slow).pvalue > 1e-3


def test_rounds_without_a_distance_have_no_figure_of_distances() -> None:
    fit = d3stats.fit_rounds(d3stats.datasets.load_slm7().counts(), rng=1)
    with pytest.raises(
        ValueError, match=r"got 159, 158, 157: rounds_drift takes the debates that have votes in both"
    ):
        fit.plot()
    whole = d3stats.fit_rounds(d3stats.datasets.load_slm7().counts("wrong"), rng=1)
    assert len(whole.plot().lines[0].get_xdata()) == 2


@pytest.mark.parametrize(("last", "said"), [(12, "in which only 12 of 40 debates have votes"), (40, "")])
def test_a_headline_tells_where_the_last_round_has_few_of_the_debates_of_the_first(
    last: int, said: str
) -> None:
    """The rounds between, which have nearly all debates, say nothing of the last."""
    rng = np.random.default_rng(4)
    votes = [rng.binomial(5, rng.beta(6, 3, size)) for size in (40, 39, last)]
    counts = RoundCounts.from_rounds(
        {r: Counts.from_columns(v, np.full(len(v), 5)) for r, v in enumerate(votes, 1)}
    )
    fit = d3stats.fit_rounds(counts, n_components=1)
    assert fit.headline.startswith(f"Votes are right {percent(fit[1].mean)} in round 1")
    assert f"{percent(fit[3].mean)} in round 3" in fit.headline
    assert said in fit.headline
    assert ("do not compare the same debates" in fit.headline) == bool(said)


def test_moves_are_corrected_for_the_number_of_pairs_of_rounds() -> None:
    """A pair of rounds alone moves at p = .025 (39 swaps); as one of three it would take 59 swaps to show a move."""
    rng = np.random.default_rng(0)
    before = rng.binomial(5, rng.beta(2, 1, size=60))
    right = np.column_stack([before, 5 - before, 5 - before, 5 - before])
    trials = np.full(right.shape, 5)
    alone = rounds_drift(right[:, :2], trials[:, :2], n_components=1, n_boot=39, rng=1)
    assert alone.moves().startswith("The counts moved from round 1 to 2 (")
    few = rounds_drift(right, trials, n_components=1, n_boot=39, rng=1)
    assert few.moves() == "Whether the counts moved is unknown: too few replicates for 3 pairs of rounds."
    enough = rounds_drift(right, trials, n_components=1, n_boot=99, rng=1)
    assert enough.moves().startswith("The counts moved from round 1 to 2 (")
    assert enough.moves().endswith("; no evidence of a move between the other rounds.")


def test_a_distance_above_its_noise_that_is_no_move_is_told() -> None:
    """Five pairs of rounds without drift, seed 6: one distance passes its own noise, and no pair passes Holm's."""
    rng = np.random.default_rng(6)
    right = rng.binomial(5, np.broadcast_to(rng.beta(2, 1, size=(30, 1)), (30, 6)))
    drift = rounds_drift(right, np.full(right.shape, 5), n_components=1, n_boot=199, rng=6)
    assert drift.ks(("pmf",)).eval("ks > noise").sum() == 1
    assert drift.moves().endswith("after Holm's correction, although 1 distance is above the noise.")


@pytest.mark.slow
def test_a_log_without_drift_shows_a_move_as_rarely_as_it_may() -> None:
    """120 logs of six rounds without drift: the chance of any move is at most .05, which single pairs exceed."""
    moved = single = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        chance = rng.beta(2, 1, size=(30, 1))
        right = rng.binomial(5, np.broadcast_to(chance, (30, 6)))
        drift = rounds_drift(right, np.full(right.shape, 5), n_components=1, n_boot=199, rng=seed)
        moved += drift.moves().startswith("The counts moved")
        single += bool((drift.ks(("pmf",)).eval("ks > noise")).any())
    assert stats.binomtest(moved, 120, 0.05, alternative="greater").pvalue > 0.01
    assert stats.binomtest(single, 120, 0.05, alternative="greater").pvalue < 0.01
