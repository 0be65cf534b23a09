"""The jury curve is exact, its rivals are Condorcet's, and the worth of a panel is what the world says."""

from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import examples, sampled
from scipy.stats import binom

from d3stats.inference.judges.jury import JuryCurve, best_juror, drawn_panels, jury_curve
from d3stats.models.beliefs.condorcet import condorcet, independent_plurality
from d3stats.models.mixtures.law import BetaBinomialMixture
from d3stats.plotting import intervals_drawn
from d3stats.resampling import share
from d3stats.worlds import MixturePanel, simulate_debates


def plurality_by_listing(votes: list[int], label: int, k: int) -> tuple[float, float, float]:
    """Right alone, right with a coin, decided: over every panel of k."""
    found = []
    for panel in combinations(votes, min(k, len(votes))):
        counts = np.bincount(panel, minlength=5)
        top = np.flatnonzero(counts == counts.max())
        found.append((len(top) == 1 and top[0] == label, (label in top) / len(top), len(top) == 1))
    return tuple(np.mean(found, axis=0))  # type: ignore[return-value]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(0, 3))
def test_the_algebra_counts_every_panel(votes: list[int], label: int) -> None:
    right, decided = drawn_panels(np.bincount(votes, minlength=4)[None], np.array([label]), 8)
    for k in range(1, 9):
        listed = plurality_by_listing(votes, label, k)
        assert np.allclose(listed, [*right[0, k - 1], decided[0, k - 1]])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_condorcet_with_own_competences_is_the_mean_over_panels_of_all_outcomes(p: list[float]) -> None:
    for k in range(1, len(p) + 1):
        total = []
        for panel in combinations(p, k):
            chance = 0.0
            for votes in product([0, 1], repeat=k):
                weight = np.prod([x if v else 1 - x for x, v in zip(panel, votes, strict=True)])
                chance += float(weight) * ((2 * sum(votes) > k) + 0.5 * (2 * sum(votes) == k))
            total.append(chance)
        assert condorcet(k, p) == pytest.approx(np.mean(total), abs=1e-12)


@pytest.mark.parametrize("p", [0.3, 0.5, 0.62, 0.9])
def test_condorcet_of_equals_is_the_binomial_and_an_even_panel_gains_nothing(p: float) -> None:
    for k in (1, 3, 7, 21):
        assert condorcet(k, p) == pytest.approx(binom.sf(k // 2, k, p))
        assert condorcet(k + 1, p) == pytest.approx(float(condorcet(k, p)))
        assert condorcet(k, [p] * k) == pytest.approx(float(condorcet(k, p)))


def test_independent_jurors_with_several_mistakes_match_all_outcomes() -> None:
    chances = np.array([0.5, 0.3, 0.2])
    for k in range(1, 6):
        found = np.zeros(3)
        for votes in product(range(3), repeat=k):
            counts = np.bincount(votes, minlength=3)
            top = np.flatnonzero(counts == counts.max())
            alone = len(top) == 1
            found += np.prod(chances[list(votes)]) * np.array(
                [alone and top[0] == 0, (0 in top) / len(top), alone]
            )
        parts = independent_plurality(k, chances[:1], chances[None, 1:])
        assert np.allclose([float(part[0]) for part in parts], found)


def binary(p: np.ndarray, jurors: int, rng: np.random.Generator) -> pd.DataFrame:
    """Votes A (right) or B: item i is voted right with chance p[i]."""
    votes = np.where(rng.random((len(p), jurors)) < p[:, None], "A", "B")
    return pd.DataFrame(votes, columns=[f"j{i}" for i in range(jurors)]).assign(label="A")


def test_independent_jurors_are_worth_their_number_and_pay_no_price() -> None:
    found = jury_curve(binary(np.full(1500, 0.65), 7, np.random.default_rng(1)), rng=1)
    assert found.effective is not None
    assert not found.effective.kish.excludes(7)
    assert found.curve["price"].abs().max() < 0.02
    assert np.allclose(found.curve["mixed"], found.curve["independent"], atol=2e-3)
    assert not found.effective.correlation.excludes(0)


def test_a_mixture_of_easy_and_hopeless_items_has_the_curve_limit_and_worth_of_its_law() -> None:
    law = BetaBinomialMixture([0.7, 0.3], [0.85, 0.3], [0.05, 0.05])
    rng = np.random.default_rng(3)
    which = rng.random(1000) < 0.3
    mean, precision = np.where(which, 0.3, 0.85), 1 / 0.05 - 1
    table = binary(rng.beta(mean * precision, (1 - mean) * precision), 9, rng)
    found = jury_curve(table, sizes=[1, 3, 5, 7, 9], rng=1)
    for k, low, high in found.curve[["k", "low", "high"]].itertuples(index=False):
        assert low - 0.01 <= float(law.prob_majority(int(k))) <= high + 0.01
    assert found.limit is not None
    assert not found.limit.excludes(1 - float(law.latent_cdf(0.5)))
    icc = float(law.spread**2 / (law.mean * (1 - law.mean)))
    assert found.effective is not None
    assert not found.effective.kish.excludes(9 / (1 + 8 * icc))


def test_a_simulated_log_reads_round_by_round() -> None:
    log = simulate_debates(MixturePanel(), 300, 2, rng=5)
    first = jury_curve(log, round_number=1, n_permutations=99, rng=0)
    votes, trials = log.successes_trials()
    assert first.single.value == pytest.approx((votes[:, 0] / trials[:, 0]).mean())
    assert first.n_items == 300


def test_all_jurors_alike_are_worth_one() -> None:
    rng = np.random.default_rng(0)
    one = np.where(rng.random(200) < 0.7, "A", "B")
    table = pd.DataFrame({"x": one, "y": one, "z": one, "label": "A"})
    found = jury_curve(table, n_permutations=99, rng=0)
    assert found.gain.value == 0
    assert found.gain.low is None
    assert "every cluster gives the same" in found.gain.note
    assert found.effective is not None
    assert found.effective.kish.value == pytest.approx(1)
    perfect = jury_curve(table.assign(x="A", y="A", z="A"), n_permutations=99, rng=0)
    assert perfect.effective is None
    assert any("effective jurors: none" in note for note in perfect.notes)
    assert perfect.limit is not None
    assert perfect.limit.high == 1.0


def small() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return binary(rng.beta(4, 2, 60), 5, rng).assign(cluster=np.repeat(np.arange(20), 3))


def test_ties_that_are_wrong_cost_and_ties_left_out_condition() -> None:
    coin, wrong, out = (
        jury_curve(small(), ties=ties, n_permutations=99, rng=0).curve  # type: ignore[arg-type]
        for ties in ("coin", "wrong", "exclude")
    )
    even = coin["k"] % 2 == 0
    assert (wrong["accuracy"][even] < coin["accuracy"][even]).all()
    assert np.allclose(out["accuracy"] * out["decided"], wrong["accuracy"])
    assert np.allclose(coin["accuracy"][~even], wrong["accuracy"][~even])
    assert (out["independent"][even] > coin["independent"][even]).all()


def test_missing_votes_make_the_panel_of_an_item_smaller_and_nothing_is_lost_silently() -> None:
    table = small()
    table.loc[0, ["j1", "j2", "j3", "j4"]] = None
    table.loc[1, ["j0", "j1", "j2", "j3", "j4"]] = None
    table.loc[2, "label"] = None
    found = jury_curve(table, n_permutations=99, rng=0)
    assert found.n_items == 58
    assert any("2 of 60 items left out" in note for note in found.notes)
    assert found.curve["n_short"].tolist() == [0, 1, 1, 1, 1]


@pytest.mark.slow
def test_the_best_of_equal_jurors_is_no_better_than_any_on_items_that_did_not_choose_it() -> None:
    rng = np.random.default_rng(4)
    honest, flattered = [], []
    for _ in range(300):
        right = (rng.random((40, 12)) < 0.6).astype(float)
        best, _ = best_juror(np.ones((40, 12)), right, right.mean(axis=1), np.arange(40), 0.95)
        honest.append(best.value)
        flattered.append(right.mean(axis=0).max())
    assert np.mean(honest) == pytest.approx(0.6, abs=4 * np.std(honest) / np.sqrt(300))
    assert np.mean(flattered) > 0.7


@sampled("p", [[0.6] * 7, [0.9, 0.8, 0.6], [0.95] * 3 + [0.3] * 2, [0.6] * 4 + [0.8], [0.7] * 2], (1,))
@examples(50, 200, "replicates")
def test_limits_of_the_best_juror_hold_whoever_is_the_best(p: list[float], replicates: int) -> None:
    rng, items = np.random.default_rng(8), 60
    big = rng.random((100_000, len(p))) < p
    # A tie is half a right verdict.
    truth = (
        np.max(p),
        float(np.where(2 * big.sum(1) == len(p), 0.5, 2 * big.sum(1) > len(p)).mean()) - np.max(p),
    )
    missed, shown = np.zeros(2), np.zeros(2)
    for _ in range(replicates):
        right = (rng.random((items, len(p))) < p).astype(float)
        votes = right.sum(axis=1)
        jury = np.where(2 * votes == len(p), 0.5, 2 * votes > len(p)).astype(float)
        found = best_juror(np.ones(right.shape), right, jury, np.arange(items), 0.95)
        for k, (one, true) in enumerate(zip(found, truth, strict=True)):
            if one.low is None or one.high is None:
                assert "the same result on every item" in one.note
                continue
            assert one.low <= one.value <= one.high
            shown[k] += 1
            missed[k] += one.excludes(true)
    # Without limits are the data in which all 60 items have the same result: 5.5 % of those of the third five jurors.
    assert (shown > 0.9 * replicates).all()
    assert (missed / shown <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / shown)).all()


def test_a_juror_who_is_clearly_best_has_nearly_the_limits_of_one_juror_alone() -> None:
    rng = np.random.default_rng(3)
    right = (rng.random((300, 4)) < [0.95, 0.6, 0.6, 0.6]).astype(float)
    best, _ = best_juror(np.ones((300, 4)), right, right.mean(axis=1), np.arange(300), 0.95)
    alone = share(int(right[:, 0].sum()), 300)
    widths = [float(e.high or 0) - float(e.low or 0) for e in (best, alone)]
    assert 1.0 <= widths[0] / widths[1] < 1.05


def test_the_best_juror_of_one_cluster_says_so() -> None:
    right = np.array([[1.0, 0.0], [1.0, 1.0]])
    best, over = best_juror(np.ones((2, 2)), right, right.mean(axis=1), np.zeros(2, dtype=np.int64), 0.95)
    assert "single cluster" in best.note
    assert "single cluster" in over.note


def test_a_guest_on_few_items_is_no_candidate_for_the_best_juror() -> None:
    table = binary(np.full(80, 0.6), 6, np.random.default_rng(4))
    alone = jury_curve(table, n_permutations=99, rng=0)
    table["guest"] = None
    table.loc[:4, "guest"] = "A"
    assert jury_curve(table, n_permutations=99, rng=0).best.value == pytest.approx(alone.best.value)


def test_a_far_better_juror_beats_the_jury() -> None:
    rng = np.random.default_rng(4)
    table = binary(np.full(300, 0.55), 4, rng)
    table["expert"] = np.where(rng.random(300) < 0.98, "A", "B")
    found = jury_curve(table, n_permutations=99, rng=0)
    assert found.over_best.high is not None
    assert found.over_best.high < 0
    assert found.best.value > 0.95


def test_the_gain_is_per_juror_and_per_thousand_tokens() -> None:
    found = jury_curve(
        small(), sizes=[1, 3, 5], tokens={f"j{i}": 400.0 + i for i in range(5)}, n_permutations=99, rng=0
    )
    curve = found.curve
    assert np.isnan(curve["gain"][0])
    assert curve["gain"][1] == pytest.approx((curve["accuracy"][1] - curve["accuracy"][0]) / 2)
    assert curve["gain_per_thousand_tokens"][2] == pytest.approx(curve["gain"][2] / 0.402)
    assert curve["gain_low"][1] < curve["gain"][1] < curve["gain_high"][1]


def test_one_cluster_has_estimates_and_no_interval() -> None:
    found = jury_curve(small().assign(cluster="q"), n_permutations=99, rng=0)
    for estimate in found.estimates:
        assert estimate.low is None
        assert "single cluster" in estimate.note
    assert found.curve["low"].isna().all()


def test_the_same_seed_gives_the_same_bits_and_everything_shows_itself() -> None:
    one, two = (jury_curve(small(), rng=7) for _ in range(2))
    assert one.to_frame().equals(two.to_frame())
    assert isinstance(one, JuryCurve)
    assert json.loads(json.dumps(one.to_dict(), allow_nan=False))["size"] == 5
    assert str(one).splitlines()[0] == one.headline
    shown = [line for line in str(one).splitlines() if not line.startswith("WARNING")]
    assert shown[1].startswith("plurality of 5 jurors: ")
    assert "toprule" in one.to_latex()
    assert one.estimates[0] is one.accuracy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": [3, 1]}, "sizes must ascend and lie between 1 and 5"),
        ({"sizes": [9]}, "sizes must ascend and lie between 1 and 5"),
        ({"tokens": [1.0, 2.0]}, r"tokens must be one number or one per juror \(5\); got 2"),
        ({"tokens": {"j0": 1.0}}, "tokens must have every juror; got none for 'j1'"),
        ({"ties": "half"}, "ties must be one of"),
        ({"level": 1.0}, "level must lie strictly between 0 and 1"),
    ],
)
def test_a_wrong_argument_is_refused_in_words(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jury_curve(small(), **change)  # type: ignore[arg-type]


def test_a_jury_without_labels_or_jurors_is_refused() -> None:
    with pytest.raises(ValueError, match="ratings must have labels"):
        jury_curve(small().drop(columns="label"))
    with pytest.raises(ValueError, match="at least two jurors; got 1"):
        jury_curve(small()[["j0", "label"]])
    with pytest.raises(ValueError, match="k must be at most the number of jurors"):
        condorcet(3, [0.5, 0.6])
    with pytest.raises(ValueError, match="p must lie between 0 and 1"):
        condorcet(3, 1.2)


@pytest.mark.parametrize("full", [0, 2, 20, 40])
def test_items_with_fewer_votes_than_the_largest_panel_are_counted_in_a_note(full: int) -> None:
    table = binary(np.full(40, 0.7), 5, np.random.default_rng(full))
    table.loc[full:, ["j3", "j4"]] = None
    if full == 0:
        table.loc[0, "j3"] = "A"
    found = jury_curve(table, rng=1)
    said = [note for note in found.notes if "n_short" in note]
    last = found.curve.iloc[-1]
    assert len(said) == (last["n_short"] > 0) == (full < 40)
    for note in said:
        have = int(table.drop(columns="label").notna().sum(axis=1).eq(last["k"]).sum())
        assert note.startswith(
            f"only {have} of 40 items {'has' if have == 1 else 'have'} {last['k']} votes: "
        )
        assert note.endswith("at k above 3 that is most items") == (2 * have < 40)


def test_every_limit_of_a_curve_names_its_kind_in_the_table_and_for_the_caption() -> None:
    votes = pd.DataFrame({name: list("AAAAABBBBB") for name in "xyz"})
    votes.loc[0, "x"] = "B"
    found = jury_curve(votes.assign(label=list("AAAAABBBBB")), rng=1)
    assert found.curve["kind"].tolist() == [
        "cluster Wilson",
        "cluster Wilson",
        "Clopper-Pearson over clusters",
    ]
    assert found.accuracy.kind == found.curve["kind"].iloc[-1]
    assert "95 % cluster Wilson or Clopper-Pearson over clusters" in intervals_drawn(found.plot())
