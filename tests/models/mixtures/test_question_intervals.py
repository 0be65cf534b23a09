"""Intervals of a fit are over questions where the questions are known; a fit to counts says that they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import examples, sampled
from numpy.typing import NDArray
from typer.testing import CliRunner

import d3stats
from d3stats import fit_beta_binomial
from d3stats.cli import app
from d3stats.models.mixtures.result import functional_values, percentiles
from d3stats.models.mixtures.rounds import fit_rounds, rounds_drift
from d3stats.resampling.bootstrap import expanded_level
from d3stats.resampling.proportions import share as share_of
from d3stats.trajectories import Trajectories

Ints = NDArray[np.int64]
LIMITS = ["low", "high"]


def table(copies: int, *, questions: int = 24, seed: int = 3) -> pd.DataFrame:
    """Two debates of each question, some votes missing, and so many copies of each debate."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(questions):
        chance = rng.beta(2, 1)
        for d in range(2):
            for r in (1, 2):
                votes = np.where(rng.random(5) < chance, "A", "B").astype(object)
                votes[rng.random(5) < 0.05] = None
                rows += [
                    (f"q{q}-{d}-{c}", f"q{q}", r, f"a{a}", vote, "A")
                    for c in range(copies)
                    for a, vote in enumerate(votes)
                ]
    return pd.DataFrame(rows, columns=["debate", "question", "round", "agent", "vote", "label"])


@pytest.fixture(scope="module")
def logs() -> tuple[Trajectories, Trajectories]:
    return Trajectories.from_frame(table(1)), Trajectories.from_frame(table(6))


def test_copies_of_debates_do_not_narrow_an_interval(logs: tuple[Trajectories, Trajectories]) -> None:
    one, many = (fit_rounds(log)[2] for log in logs)
    for of in ("functionals", "conf_int"):
        single, copied = (getattr(fit, of)(n_boot=100, rng=1) for fit in (one, many))
        assert single["kind"].str.startswith("question bootstrap").all()
        if of == "functionals":
            assert copied[LIMITS].to_numpy() == pytest.approx(single[LIMITS].to_numpy(), abs=2e-3)
    # The check can fail: with debates as independent, six copies are six times the data.
    alone, beside = (fit.functionals(kind="bootstrap", n_boot=100, rng=1) for fit in (one, many))
    width = [t.loc["mean", "high"] - t.loc["mean", "low"] for t in (alone, beside)]
    assert width[1] < 0.6 * width[0]


def test_the_fits_of_a_described_log_have_its_questions(logs: tuple[Trajectories, Trajectories]) -> None:
    report = d3stats.fit(logs[1], missing="wrong", n_components=1, n_boot=20, rng=1)
    for fit in (*report.fit.fits, *report.drift.fit.fits):
        cell, question = fit.questions
        assert np.array_equal(np.bincount(cell, minlength=len(fit.counts)), fit.counts.weights)
        assert len(np.unique(question)) == 24
        assert fit.functionals(n_boot=20, rng=1)["kind"].str.startswith("question bootstrap").all()


def test_the_command_shows_one_interval_for_one_quantity(tmp_path) -> None:
    path = tmp_path / "log.csv"
    table(4).to_csv(path, index=False)

    def documents(*more: str) -> dict:
        done = CliRunner().invoke(app, ["fit", str(path), "--json", *more])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    for more in (("--n-boot", "20", "--level", "0.8", "--seed", "4"),):
        for round_number, row in enumerate(documents(*more)["rounds"], start=1):
            whole = documents("--round", str(round_number), *more)
            for shown in whole["functionals"]:
                name = {"P(S > n/2)": "prob_majority"}.get(shown["functional"], shown["functional"])
                # One table is written with fifteen digits, the other with all.
                assert [shown["estimate"], shown["low"], shown["high"]] == pytest.approx(
                    [row[name + e] for e in ("", "_low", "_high")], rel=1e-12
                )
                assert shown["kind"] == f"question bootstrap percentile, refitted, {more[1]} replicates"
            assert not any("independent" in note["text"] for note in whole["notes"])


def test_one_round_lists_what_was_left_out_and_warns_as_all_rounds_do(tmp_path) -> None:
    path = tmp_path / "log.csv"
    rows = table(2)
    rows = rows[rows["debate"].str.contains("-0-")]
    pd.concat([rows, rows.iloc[:1]]).to_csv(path, index=False)
    done = [
        CliRunner().invoke(app, ["fit", str(path), "--n-boot", "10", "--lenient", *x])
        for x in ([], ["--round", "1"])
    ]
    for each in done:
        assert each.exit_code == 0, each.output
        assert "WARNING: " in each.stdout
        assert "left out" in each.stdout


def test_a_fit_to_counts_says_that_debates_are_taken_as_independent(
    logs: tuple[Trajectories, Trajectories],
) -> None:
    counts = logs[0].counts()
    for fit in (d3stats.fit_beta_binomial_mixture(counts[1]), fit_rounds(counts)[1]):
        assert fit.questions is None
        assert any("take debates as independent" in note for note in fit.notes)
        assert "take debates as independent" in fit.summary()
        with pytest.raises(ValueError, match="needs the fit of a log"):
            fit.functionals(kind="questions")
    test = d3stats.likelihood_ratio_test(counts[1], n_boot=2, rng=1)
    assert "takes debates as independent" in str(test.notes)
    fit = fit_rounds(logs[0])[1]
    assert not any("independent" in note for note in fit.notes)


def test_one_question_has_no_interval(logs: tuple[Trajectories, Trajectories]) -> None:
    one = fit_rounds(logs[1].select(np.flatnonzero(logs[1].cluster == 0)), n_components=1)[1]
    with pytest.raises(ValueError, match="at least 2 questions"):
        one.functionals(n_boot=10)
    assert "no intervals: " in one.summary()


def test_a_fit_of_other_debates_is_refused(logs: tuple[Trajectories, Trajectories]) -> None:
    successes, trials = logs[0].successes_trials()
    with pytest.raises(ValueError, match="fit must be of the debates"):
        rounds_drift(successes, trials, logs[0].cluster, fit=fit_rounds(logs[1]), n_boot=5)


def test_a_round_of_single_votes_has_no_spread() -> None:
    rows = table(1)
    single = Trajectories.from_frame(rows[(rows["round"] == 1) | (rows["agent"] == "a0")])
    report = d3stats.fit(single, n_components=1, n_boot=10, rng=1)
    shown = report.drift.functionals().groupby("round")["functional"].agg(list).to_dict()
    assert shown == {1: ["mean", "spread", "P(S > n/2)"], 2: ["mean", "P(S > n/2)"]}
    assert bool(report.to_frame()["spread"].isna().iloc[1])


@pytest.mark.parametrize(
    ("wrong", "sizes", "printed"),
    [
        (7, [1] * 60, False),
        (14, [1] * 60, True),
        (14, [47] + [1] * 13, False),
        (46, [1] * 60, True),
        (53, [1] * 60, False),
    ],
)
def test_limits_of_a_round_need_ten_questions_with_the_rarer_vote(
    wrong: int, sizes: list[int], printed: bool
) -> None:
    """With 7 of 60 questions, resampled ones covered .84 of the spreads of chances."""
    votes = np.full((60, 2), 5)
    votes[60 - wrong :] = 0
    drift = rounds_drift(
        votes, np.full((60, 2), 5), np.repeat(np.arange(len(sizes)), sizes), n_components=1, n_boot=39, rng=1
    )
    assert [not why for why in drift.without_limits] == [printed, printed]
    tables = drift.functionals()[["low", "high"]], drift.ks(("pmf",))[["low", "high"]]
    assert all(table.notna().all(axis=None) == printed for table in tables)
    assert drift.functionals()["estimate"].notna().all()


def test_rounds_that_no_debate_shares_are_fitted_apart_and_have_no_distance(tmp_path: Path) -> None:
    """Debates end in round 1, 2 or 3; votes are cast in the last round alone, but for five debates in 2 and 3."""
    rng = np.random.default_rng(2)
    ends = np.arange(60) % 3
    successes, trials = np.zeros((60, 3), dtype=int), np.zeros((60, 3), dtype=int)
    trials[np.arange(60), ends] = 5
    trials[np.flatnonzero(ends == 2)[:5], 1] = 5
    successes[trials > 0] = rng.integers(1, 6, int((trials > 0).sum()))
    drift = rounds_drift(successes, trials, n_components=1, n_boot=40, rng=1)
    assert [pair if pair is None else pair.debates for pair in drift.pairs] == [None, 5]
    moved = drift.ks(("pmf",))
    assert moved[["round", "debates"]].to_numpy().tolist() == [[3, 5]]
    assert 0 <= moved["ks"].item() <= 1
    alone = [fit_beta_binomial(successes[voted, r], 5).mean for r, voted in enumerate((trials > 0).T)]
    table = drift.functionals()
    assert table.loc[table["functional"] == "mean", "estimate"].to_numpy() == pytest.approx(alone, abs=1e-6)

    path = tmp_path / "last.csv"
    rows = [
        (d, r + 1, f"a{k}", "A", "AB"[int(k >= successes[d, r])] if trials[d, r] else None)
        for d in range(60)
        for r in range(ends[d] + 1)
        for k in range(5)
    ]
    pd.DataFrame(rows, columns=["debate", "round", "agent", "label", "vote"]).to_csv(path, index=False)
    report = d3stats.fit(path, n_components=1, n_boot=40, rng=1)
    frame = report.to_frame().set_index("round")
    assert frame["mean"].to_numpy() == pytest.approx(alone, abs=1e-6)
    assert frame["ks_pmf"].isna().tolist() == [True, True, False]
    assert frame["ks_debates"].isna().tolist() == [True, True, False]
    assert any("No debate has votes in both rounds 1 and 2, so" in note for note in report.notes)
    assert len(report.plot(n_boot=20, rng=1).axes) == 4


def test_a_log_whose_votes_are_all_cast_at_the_end_is_drawn_without_distances() -> None:
    votes = np.full((30, 2, 3), -1)
    votes[:15, 0] = votes[15:, 1] = np.arange(3) > 0
    t = d3stats.Trajectories.from_arrays(votes, [1] * 30, answers=["A", "B"])
    report = d3stats.fit(t, n_components=1, n_boot=20, rng=1)
    assert report.drift.ks().empty
    assert len(report.plot(n_boot=20, rng=1).axes) == 2


@pytest.fixture(scope="module")
def enough(logs: tuple[Trajectories, Trajectories]) -> Any:
    return d3stats.fit(logs[0], n_components=1, n_boot=39, rng=1)


@pytest.mark.parametrize("n_boot", [0, pytest.param(2, marks=pytest.mark.slow), 38])
def test_too_few_replicates_give_estimates_without_limits(
    logs: tuple[Trajectories, Trajectories], enough: Any, n_boot: int
) -> None:
    full = enough
    few = d3stats.fit(logs[0], n_components=1, n_boot=n_boot, rng=1)
    limits = ["mean_low", "mean_high", "prob_majority_low", "ks_pmf_low", "ks_pmf_high"]
    shown, hidden = full.to_frame().iloc[1], few.to_frame().iloc[1]
    assert shown[limits].notna().all()
    assert hidden[limits].isna().all()
    kept = ["mean", "spread", "ks_pmf", "accuracy", "accuracy_low", "accuracy_high"]
    assert hidden[kept].tolist() == shown[kept].tolist()
    assert any(f"need at least 39 bootstrap replicates; there are {n_boot}" in note for note in few.notes)
    assert not any("replicates; there are" in note for note in full.notes)
    fit = d3stats.fit_rounds(logs[0], n_components=1)[1]
    if n_boot:
        assert fit.functionals(n_boot=n_boot, rng=1)[["low", "high"]].isna().all(axis=None)


def test_limits_from_few_replicates_hold_as_often_as_they_say() -> None:
    """With 39 draws of what is estimated the ends are the least and the largest, which miss the next one in 1 of 20."""
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((2000, 60, 1))
    for n in (39, 59):
        low, high = np.array([percentiles(each[:n], 0.95)[:, 0] for each in draws]).T
        held = np.mean((low <= draws[:, -1, 0]) & (draws[:, -1, 0] <= high))
        assert abs(held - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / 2000)


def test_limits_of_a_distance_are_the_distance_and_how_far_both_laws_move_apart(
    logs: tuple[Trajectories, Trajectories],
) -> None:
    """A second way: distribution functions of every replicate, and a loop over replicates."""
    successes, trials = logs[0].successes_trials()
    drift = rounds_drift(successes, trials, logs[0].cluster, n_components=1, n_boot=79, rng=1)
    pair = drift.pairs[0]
    assert pair is not None
    panel = drift.fit.panel
    apart = np.cumsum(pair.before.pmf(panel)) - np.cumsum(pair.after.pmf(panel))
    away = []
    for k in range(79):
        one, other = (np.cumsum(law.pmf(panel)[k]) for law in pair.resampled)
        away.append(np.abs(one - other - apart).max())
    reach = np.sort(away)[75]  # the 76th of 79: 80 times .95
    row = drift.ks(("pmf",)).iloc[0]
    assert row["ks"] == pytest.approx(np.abs(apart).max())
    assert row["low"] == pytest.approx(max(row["ks"] - reach, 0.0))
    assert row["high"] == pytest.approx(min(row["ks"] + reach, 1.0))


def test_with_few_wrong_votes_limits_reach_further_on_the_long_side() -> None:
    """13 of 60 questions hold a wrong vote: percentiles of the spread cover .84 there."""
    votes = np.full((60, 1), 5)
    votes[:13, 0] = [4, 4, 4, 3, 3, 4, 2, 4, 1, 3, 4, 2, 4]
    drift = rounds_drift(votes, np.full((60, 1), 5), n_components=1, n_boot=199, rng=1)
    table = drift.functionals().set_index("functional")
    values = functional_values(drift.resampled[0], 5)
    low, high = percentiles(values, 0.95)
    assert table.loc["spread", "high"] > high[1]
    assert (table.loc["mean", "low"], table.loc["P(S > n/2)", "low"]) < (low[0], low[2])
    assert 0 <= table.loc["P(S > n/2)", "low"] < table.loc["P(S > n/2)", "high"] <= 1
    votes[:40, 0] = 3
    many = rounds_drift(votes, np.full((60, 1), 5), n_components=1, n_boot=199, rng=1)
    ends = percentiles(functional_values(many.resampled[0], 5), expanded_level(0.95, 40.0))
    found = many.functionals()[["low", "high"]].to_numpy().T
    assert found == pytest.approx(ends)


@sampled(
    "sizes, share, few",
    [([1] * 60, 0.0, True), ([1] * 60, 0.01, True), ([5] * 40, 0.01, True), ([1] * 60, 0.5, False)],
    (1, 3),
)
@examples(7, 20, "seeds")
def test_limits_of_a_distance_hold_it_where_hardly_any_debate_changed(
    sizes: list[int], share: float, few: bool, seeds: int
) -> None:
    """Where no debate of the sample changed, every replicate has distance 0: [0, 0] held .01 of changes in .41."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(4)

    def draw(question: Ints) -> Ints:
        before = rng.binomial(5, rng.beta(2.8, 1.2, size=question.max() + 1)[question])
        fewer = np.maximum(before - rng.integers(1, 3, len(before)), 0)
        return np.column_stack([before, np.where(rng.random(len(before)) < share, fewer, before)])

    below = [np.bincount(s, minlength=6).cumsum() / 100_000 for s in draw(np.arange(100_000)).T]
    true = float(np.abs(below[0] - below[1]).max())
    held, told = [], []
    for seed in range(seeds):
        votes = draw(cluster)
        drift = rounds_drift(votes, np.full(votes.shape, 5), cluster, n_components=1, n_boot=40, rng=seed)
        pmf, latent = drift.ks().to_dict("records")
        held.append(pmf["low"] <= true <= pmf["high"] and pmf["low"] <= pmf["ks"] <= pmf["high"])
        told.append(bool(drift.few_changed))
        changed = (votes[:, 0] != votes[:, 1]).astype(int)
        if drift.few_changed:
            upper = share_of(changed, np.ones(len(changed), int), cluster=cluster).high
            assert upper is not None
            assert (pmf["low"], pmf["high"]) == (0.0, pytest.approx(max(upper, pmf["ks"])))
            assert np.isnan([latent["low"], latent["high"]]).all()
        else:
            assert pmf["kind"] == latent["kind"] == drift.band
    assert np.mean(held) >= 0.93
    assert np.mean(told) > 0.9 if few else not any(told)
