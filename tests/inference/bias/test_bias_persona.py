"""Persona audits: paired effects, whether personas differ, agreement, and the spread over subsets."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from d3stats.inference.bias import persona_effect, subset_accuracy
from d3stats.inference.bias.persona import AGREEMENT, BEYOND, HIGHEST, LOWEST, SET
from d3stats.trajectories import Trajectories


def verdicts(right: dict[str, np.ndarray], cluster: np.ndarray | None = None) -> pd.DataFrame:
    n = len(next(iter(right.values())))
    label = np.where(np.arange(n) % 2 == 0, "A", "B")
    other = np.where(label == "A", "B", "A")
    parts = [
        pd.DataFrame({"item": range(n), "persona": p, "label": label, "vote": np.where(r, label, other)})
        for p, r in right.items()
    ]
    owner = np.arange(n) if cluster is None else cluster
    return pd.concat([part.assign(cluster=owner) for part in parts])


def drawn(n: int = 200, seed: int = 2, **accuracy: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    return {p: hard + rng.normal(size=n) < stats.norm.ppf(a) * np.sqrt(2) for p, a in accuracy.items()}


def test_the_effect_is_the_paired_difference_with_its_t_interval() -> None:
    right = drawn(none=0.7, ethics=0.8)
    audit = persona_effect(verdicts(right))
    gain = right["ethics"].astype(float) - right["none"]
    theirs = stats.ttest_1samp(gain, 0).confidence_interval(0.95)
    assert audit[SET].value == pytest.approx(gain.mean())
    assert (audit[SET].low, audit[SET].high) == (pytest.approx(theirs.low), pytest.approx(theirs.high))
    assert audit[f"{SET}, ethics"].value == audit[SET].value


def test_the_set_is_the_mean_of_its_personas() -> None:
    audit = persona_effect(verdicts(drawn(none=0.7, a=0.8, b=0.75, c=0.6)))
    assert audit[SET].value == pytest.approx(np.mean([audit[f"{SET}, {p}"].value for p in "abc"]))


def test_personas_that_differ_are_found_and_equal_ones_are_not() -> None:
    differ = persona_effect(verdicts(drawn(n=600, none=0.7, a=0.85, b=0.6, c=0.7))).heterogeneity
    assert differ.p_value < 0.001
    assert (differ.df1, differ.df2) == (2, 598)
    alike = persona_effect(verdicts(drawn(n=600, none=0.7, a=0.75, b=0.75, c=0.75))).heterogeneity
    assert alike.p_value > 0.05


def test_two_personas_differ_as_a_paired_t_test_says() -> None:
    right = drawn(none=0.7, a=0.8, b=0.7)
    found = persona_effect(verdicts(right)).heterogeneity
    t = stats.ttest_rel(right["a"].astype(float), right["b"].astype(float))
    assert found.f == pytest.approx(t.statistic**2)
    assert found.p_value == pytest.approx(t.pvalue)


def test_agreement_is_the_mean_over_pairs_and_its_ends_are_pairs() -> None:
    right = drawn(a=0.8, b=0.7, c=0.9)
    audit = persona_effect(verdicts(right))
    pairs = [float((right[x] == right[y]).mean()) for x, y in combinations("abc", 2)]
    assert audit[AGREEMENT].value == pytest.approx(np.mean(pairs))
    assert (audit[LOWEST].value, audit[HIGHEST].value) == (
        pytest.approx(min(pairs)),
        pytest.approx(max(pairs)),
    )
    assert audit[LOWEST].low < audit[LOWEST].value
    assert any("no verdict of the plain juror" in note for note in audit.notes)


def test_agreement_beyond_chance_is_fleiss_kappa() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    table = verdicts(drawn(a=0.8, b=0.7, c=0.9, d=0.6))
    wide = table.pivot_table(index="item", columns="persona", values="vote", aggfunc="first")
    counts = np.stack([(wide == answer).sum(axis=1) for answer in "AB"], axis=1)
    assert persona_effect(table)[BEYOND].value == pytest.approx(fleiss_kappa(counts))


def test_copies_of_one_juror_agree_always_and_do_not_differ() -> None:
    right = drawn(none=0.7, a=0.8)
    audit = persona_effect(verdicts(right | {"b": right["a"]}))
    assert audit[AGREEMENT].value == 1
    assert audit.heterogeneity.p_value is None
    assert "differ in no cluster" in audit.heterogeneity.why
    json.dumps(audit.to_dict(), allow_nan=False)


def test_missing_votes_are_left_out_or_wrong_as_asked() -> None:
    table = verdicts(drawn(n=40, none=0.7, a=0.8)).reset_index(drop=True)
    rows = table.index[(table["persona"] == "a")][:10]
    table.loc[rows, "vote"] = None
    left_out = persona_effect(table)
    assert left_out[SET].n == 30
    assert any("10 missing votes were left out" in note for note in left_out.notes)
    assert persona_effect(table, missing="wrong")[SET].n == 40


def test_a_log_has_a_persona_per_seat() -> None:
    votes = [[["A", "A", "B"]], [["B", "A", "B"]], [["A", "A", "A"]]]
    log = Trajectories.from_arrays(votes, label=["A", "B", "A"])
    audit = persona_effect(log, baseline=log.seats[0])
    assert audit.judge == "2 personas"


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"label": None}, {}, "needs labels"),
        ({"persona": "none"}, {}, "personas must occur"),
        ({}, {"personas": ["nobody"]}, "personas must occur"),
    ],
)
def test_what_gives_no_effect_is_refused(changes: dict, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        persona_effect(verdicts(drawn(none=0.7, a=0.8)).assign(**changes), **options)


def test_the_mean_and_the_spread_over_all_subsets_are_those_of_enumeration() -> None:
    rng = np.random.default_rng(5)
    right = rng.random((60, 7)) < rng.beta(4, 2, size=(60, 1))
    for size in (3, 4):
        subsets = list(combinations(range(7), size))
        share = np.array([right[:, s].mean(axis=1) for s in subsets])
        accuracy = ((np.sign(share - 0.5) + 1) / 2).mean(axis=1)
        found = subset_accuracy(right, size)
        assert found.accuracy.value == pytest.approx(accuracy.mean())
        assert found.sd_between == pytest.approx(accuracy.std())
        assert found.n_subsets == len(subsets)
        assert found.exact


def test_drawing_every_subset_leaves_the_error_of_the_items() -> None:
    right = np.random.default_rng(6).random((60, 6)) < 0.7
    found = subset_accuracy(right, 3)
    assert found.se_of_mean(20) == pytest.approx(found.accuracy.se)
    assert found.se_of_mean(2) > found.se_of_mean(10) > found.accuracy.se
    with pytest.raises(ValueError, match="drawn must be <="):
        found.se_of_mean(21)


def test_the_spread_of_too_many_subsets_is_drawn_and_near_the_truth() -> None:
    rng = np.random.default_rng(7)
    right = rng.random((40, 22)) < rng.beta(4, 2, size=(40, 1))
    found = subset_accuracy(right, 5, rng=1)
    assert not found.exact
    again = subset_accuracy(right, 5, rng=2)
    assert found.sd_between == pytest.approx(again.sd_between, rel=0.05)
    assert subset_accuracy(right, 5, rng=1).sd_between == found.sd_between


def test_missing_votes_are_refused_in_subsets() -> None:
    with pytest.raises(ValueError, match="correct must be 0 or 1 throughout"):
        subset_accuracy([[1.0, np.nan], [0.0, 1.0]], 1)
