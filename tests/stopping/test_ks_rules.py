"""The KS rules: the published stop rounds, the lemma, and what a threshold without a level does."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import examples
from stopping_strategies import logs

from d3stats.models.mixtures.ks import empirical_ks
from d3stats.resampling.bounded_means import betting_p
from d3stats.stopping import (
    KSStability,
    NoiseAwareKS,
    Unanimity,
    batch_rounds,
    stop_round_of_series,
)
from d3stats.trajectories import Trajectories

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "hu2025.json").read_text())
needs_fits = pytest.mark.skipif(
    importlib.util.find_spec("d3stats.models.mixtures.rounds") is None,
    reason="d3stats.models.mixtures.rounds is not there",
)


def right_or_wrong(counts: np.ndarray, n: int) -> Trajectories:
    """Debates x rounds of correct votes out of n, as a log."""
    votes = (np.arange(n) < counts[:, :, None]).astype(int)
    return Trajectories.from_arrays(votes, [1] * len(votes), answers=["wrong", "right"], coding="correctness")


def two_regimes(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Counts of 7 votes, most debates easy and some hard."""
    easy = rng.random(size) < 0.62
    return rng.binomial(7, np.where(easy, rng.beta(6, 1.2, size), rng.beta(1.5, 3, size)))


def plain_distance(x: np.ndarray, y: np.ndarray) -> float:
    """The definition, point by point."""
    return max(abs((x <= point).mean() - (y <= point).mean()) for point in [*x, *y])


# ------------------------------------------------------------------ the published series


@pytest.mark.parametrize("threshold", list(ORACLE["rounds_processed_at_stop"]["by_threshold"]))
def test_the_published_series_stop_where_the_authors_table_says(threshold: str) -> None:
    table = ORACLE["rounds_processed_at_stop"]
    stopped = [
        stop_round_of_series(ORACLE["ks_statistics"][model], float(threshold), table["patience"])
        for model in table["models"]
    ]
    assert stopped == table["by_threshold"][threshold]


def test_the_published_table_is_eight_thresholds_by_four_models() -> None:
    by_threshold = ORACLE["rounds_processed_at_stop"]["by_threshold"]
    assert (len(by_threshold), {len(row) for row in by_threshold.values()}) == (8, {4})


def test_a_distance_at_the_threshold_is_not_below_it() -> None:
    assert stop_round_of_series([None, 0.05, 0.05, 0.05], 0.05, 2) is None
    assert stop_round_of_series([None, 0.04, 0.05, 0.04, 0.04], 0.05, 2) == 5


def test_an_undefined_distance_breaks_the_streak() -> None:
    assert stop_round_of_series([None, 0.0, None, 0.0, 0.0], 0.05, 2) == 5


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.2])
def test_a_series_with_impossible_distances_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match=r"series must hold distances in \[0, 1\] or None; got .* at"):
        stop_round_of_series([None, bad])


@given(logs(min_rounds=1), st.floats(0, 1), st.integers(1, 3))
def test_the_rule_stops_where_its_own_series_says(t: Trajectories, threshold: float, patience: int) -> None:
    rule = KSStability(threshold, patience)
    expected = stop_round_of_series(rule.distances(t), threshold, patience)
    stops = rule.stop_rounds(t)
    played = t.n_rounds if expected is None else expected
    assert stops.rounds.tolist() == np.minimum(t.depth, played).tolist()


# ------------------------------------------------------------------ what D is and is not


@given(logs(min_debates=2, min_rounds=2))
def test_the_rules_distance_is_the_plain_one_on_the_debates_seen_in_both_rounds(t: Trajectories) -> None:
    successes, trials = t.successes_trials()
    for r, distance in enumerate(KSStability().distances(t)):
        if r == 0:
            assert distance is None
            continue
        both = (trials[:, r - 1] > 0) & (trials[:, r] > 0)
        if not both.any():
            assert distance is None
            continue
        rates = successes[both][:, [r - 1, r]] / trials[both][:, [r - 1, r]]
        assert distance == pytest.approx(plain_distance(rates[:, 0], rates[:, 1]), abs=1e-12)


@given(logs(min_debates=2, min_rounds=2))
def test_the_distance_is_at_most_the_share_of_debates_whose_count_changed(t: Trajectories) -> None:
    successes, trials = t.successes_trials()
    for r, distance in enumerate(KSStability().distances(t)):
        if distance is not None:
            both = (trials[:, r - 1] > 0) & (trials[:, r] > 0)
            changed = (successes[:, r] != successes[:, r - 1]) | (trials[:, r] != trials[:, r - 1])
            assert distance <= changed[both].mean() + 1e-12


def test_a_distance_of_zero_can_flip_every_verdict() -> None:
    counts = np.array([[0, 7], [7, 0]] * 50)
    t = right_or_wrong(counts, 7)
    assert KSStability().distances(t) == (None, 0.0)
    verdicts = t.verdicts()
    assert (verdicts[:, 0] != verdicts[:, 1]).all()


def test_carrying_finished_debates_makes_the_distance_fall() -> None:
    rng = np.random.default_rng(5)
    counts = two_regimes(rng, (400, 8))
    counts[:, 4:] = np.minimum(counts[:, 4:] + 2, 7)
    t = right_or_wrong(counts, 7)
    free, carried = KSStability().distances(t), KSStability(carry=Unanimity()).distances(t)
    assert carried[4] < free[4]


@pytest.mark.slow  # 750 batches; what the rule computes is compared with scipy elsewhere
def test_the_threshold_has_no_level_false_stops_come_with_more_debates() -> None:
    rng = np.random.default_rng(11)
    reps = 250
    rule = KSStability(0.05, patience=2)
    measured = {}
    for n in (50, 200, 800):
        fired = sum(
            rule.stop_rounds(right_or_wrong(two_regimes(rng, (n, 3)), 7)).reasons[0] == "ks_stable"
            for _ in range(reps)
        )
        measured[n] = fired / reps
    oracle = ORACLE["false_stop_without_drift"]["by_n_debates"]
    for n, share in measured.items():
        assert share == pytest.approx(oracle[str(n)], abs=0.08)
    assert measured[50] < 0.05 < measured[200] < 0.5 < measured[800]


# ------------------------------------------------------------------ the fitted distance


@needs_fits
def test_the_preset_of_the_released_code_stops_a_settled_batch() -> None:
    counts = two_regimes(np.random.default_rng(3), (150, 1)).repeat(4, axis=1)
    t = right_or_wrong(counts, 7)
    stops = KSStability.hu2025().stop_rounds(t)
    assert (set(stops.rounds.tolist()), set(stops.reasons.tolist())) == ({3}, {"ks_stable"})


@needs_fits
def test_the_fitted_distance_sees_a_batch_that_moves_and_gives_the_same_answer_twice() -> None:
    rng = np.random.default_rng(3)
    counts = np.column_stack([rng.binomial(7, 0.3, 150), rng.binomial(7, 0.7, 150)])
    t = right_or_wrong(counts, 7)
    for scale in ("pmf", "latent"):
        rule = KSStability(source="fitted", scale=scale)
        first, second = rule.distances(t), rule.distances(t)
        assert first == second
        assert first[1] > 0.5
    empirical = KSStability().distances(t)[1]
    assert KSStability(source="fitted").distances(t)[1] == pytest.approx(empirical, abs=0.12)


@needs_fits
def test_the_fitted_rule_stops_online_where_it_stops_vectorised() -> None:
    counts = two_regimes(np.random.default_rng(8), (80, 1)).repeat(4, axis=1)
    counts[:40, 1] = 0
    t = right_or_wrong(counts, 7)
    rule = KSStability.hu2025()
    state = rule.start()
    fired = next(b.number for b in batch_rounds(t) if state.update(b).stop)
    assert set(rule.stop_rounds(t).rounds.tolist()) == {fired} == {4}


# ------------------------------------------------------------------ the bound


def drifting(
    rng: np.random.Generator, reps: int, sizes: np.ndarray, drift: float, *, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of the sums of clusters, (questions, batches), and how often a batch changed.

    A share `drift` of the questions changes from 0 to 3 of 3 votes in all its debates; of the others a share `noise`
    changes up, and as many change down. The true distance is `drift`.
    """
    u = rng.random((len(sizes), reps))
    up = u < drift + (1 - drift) * noise / 2
    down = ~up & (u < drift + (1 - drift) * noise)
    return (up.astype(float) - down) * sizes[:, None]


TEN = np.where(np.arange(300) % 10 == 0, 20, 1)
"""One question in ten has 20 debates."""


@pytest.mark.parametrize(
    ("sizes", "noise"),
    [
        pytest.param(np.ones(61), 0.0, marks=pytest.mark.slow),
        pytest.param(np.ones(101), 0.0, marks=pytest.mark.slow),
        pytest.param(np.ones(300), 0.0, marks=pytest.mark.slow),
        pytest.param(np.ones(300), 0.3, marks=pytest.mark.slow),
        pytest.param(TEN[:60], 0.0, marks=pytest.mark.slow),
        (TEN, 0.0),
        pytest.param(2 ** (np.arange(60) % 6), 0.1, marks=pytest.mark.slow),
    ],
    ids=["61", "101", "300", "300, noisy", "60, unequal", "300, unequal", "60, doubling"],
)
@examples(1000, 3000, "reps")
def test_the_bound_seldom_stops_a_batch_that_drifts_by_epsilon(
    sizes: np.ndarray, noise: float, reps: int
) -> None:
    """The error over ten independent looks, each at the limit, and at the first look alone."""
    rng, epsilon, level = np.random.default_rng(21), 0.1, 0.9
    stopped = np.zeros(reps, dtype=bool)
    for look in range(1, 11):
        alpha = (1 - level) / (look * (look + 1))
        fired = betting_p(drifting(rng, reps, sizes, epsilon, noise=noise), epsilon, sizes) <= alpha
        assert fired.mean() <= alpha + 3 * np.sqrt(alpha / reps)
        stopped |= fired
    assert stopped.mean() <= 1 - level


def steady_drift(rng: np.random.Generator, n: int, drift: float, n_rounds: int) -> np.ndarray:
    """Counts of 3 votes; in every round a share `drift` of all questions leaves 0 for 3, so D(t, t - 1) is `drift`."""
    leaves = np.floor(rng.random(n) / drift).astype(int)
    return np.where(np.arange(n_rounds) > leaves[:, None], 3, 0)


@examples(10, 40, "reps")
def test_the_rule_seldom_stops_in_ten_rounds_of_steady_drift(reps: int) -> None:
    rng, rule = np.random.default_rng(3), NoiseAwareKS(0.08, level=0.8, window=1)
    fired = sum(
        rule.stop_rounds(right_or_wrong(steady_drift(rng, 61, 0.08, 10), 3)).reasons[0] == "ks_equivalent"
        for _ in range(reps)
    )
    assert fired / reps <= 0.2


def test_the_bound_stops_a_large_settled_batch_and_no_small_one() -> None:
    rng = np.random.default_rng(2)
    settled = two_regimes(rng, (200, 1)).repeat(6, axis=1)
    rule = NoiseAwareKS(0.05, window=2)
    # Without any change 89 questions are enough at the first look; later looks need more.
    assert set(rule.stop_rounds(right_or_wrong(settled[:89], 7)).rounds.tolist()) == {3}
    assert set(rule.stop_rounds(right_or_wrong(settled[:88], 7)).reasons.tolist()) == {"exhausted"}
    moved = settled.copy()
    moved[:, 0] = 7 - moved[:, 0]
    moved[:, 1] = 7 - moved[:, 1]
    for n, stop in ((127, "exhausted"), (128, "ks_equivalent")):
        stops = rule.stop_rounds(right_or_wrong(moved[:n, :5], 7))
        assert (set(stops.rounds.tolist()), set(stops.reasons.tolist())) == ({5}, {stop})


def test_the_bound_stops_where_the_drift_is_far_below_it() -> None:
    rng = np.random.default_rng(4)
    powers = [
        (betting_p(drifting(rng, 500, np.ones(n), 0.0, noise=noise), 0.1) <= 0.025).mean()
        for n, noise in ((300, 0.05), (300, 0.2), (1000, 0.4), (100, 0.2))
    ]
    assert powers[0] > 0.95
    assert powers[1] > 0.3
    assert powers[2] > 0.6
    assert powers[3] < 0.2


def test_the_bound_reports_the_distance_and_the_bound() -> None:
    rng = np.random.default_rng(2)
    t = right_or_wrong(two_regimes(rng, (200, 2)), 7)
    state = NoiseAwareKS(window=1).start()
    first, second = (state.update(latest) for latest in batch_rounds(t))
    assert dict(first.detail) == {}
    assert 0 < second.detail["ks"] < second.detail["upper"] < 1
    successes, trials = t.successes_trials()
    expected = empirical_ks(successes[:, 0], trials[:, 0], successes[:, 1], trials[:, 1])
    assert second.detail["ks"] == expected


def test_a_cumulative_window_sees_the_drift_that_neighbouring_rounds_hide() -> None:
    base = np.arange(2000) % 8
    shifted = [np.where(np.arange(2000) % 100 < 4 * r, 7, base) for r in range(6)]
    t = right_or_wrong(np.column_stack(shifted), 7)
    assert max(KSStability(window=1).distances(t)[1:]) < 0.05
    assert min(KSStability(window=3).distances(t)[3:]) > 0.05


def test_one_question_debated_many_times_is_no_evidence_of_stability() -> None:
    counts = np.full((500, 4), 3)
    votes = (np.arange(7) < counts[:, :, None]).astype(int)
    t = Trajectories.from_arrays(votes, [1] * 500, answers=["wrong", "right"], cluster=[0] * 500)
    assert set(NoiseAwareKS(0.1).stop_rounds(t).reasons.tolist()) == {"exhausted"}


# ------------------------------------------------------------------ refusals


def test_rules_that_compare_correct_votes_refuse_a_log_without_labels() -> None:
    t = Trajectories.from_arrays([[["A"], ["B"]]])
    for rule in (KSStability(), NoiseAwareKS(), Unanimity().after(2) | KSStability()):
        with pytest.raises(ValueError, match=r"label must be known for at least one debate.*got no label"):
            rule.stop_rounds(t)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": -0.1}, r"threshold must be >= 0"),
        ({"threshold": float("nan")}, r"threshold must be finite"),
        ({"patience": 0}, r"patience must be >= 1"),
        ({"window": 1.5}, r"window must be an integer"),
        ({"scale": "latent"}, r"scale must be 'pmf' with source='empirical'"),
        ({"missing": "block"}, r"missing must be one of 'exclude', 'wrong'"),
    ],
)
def test_a_ks_rule_names_what_is_wrong_with_it(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KSStability(**arguments)


def test_only_a_per_debate_rule_can_say_who_is_finished() -> None:
    with pytest.raises(TypeError, match=r"carry must be a per-debate Rule or None"):
        KSStability(carry=KSStability())
    with pytest.raises(TypeError, match=r"carry must be a per-debate Rule or None"):
        NoiseAwareKS(carry="unanimity")


@needs_fits
def test_rules_that_differ_in_threshold_and_patience_share_their_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from d3stats.models.mixtures import rounds
    from d3stats.stopping import ks

    fit, fitted = rounds.fit_rounds, []

    def counted(*given: object, **how: object) -> object:
        fitted.append(how["rng"])
        return fit(*given, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(rounds, "fit_rounds", counted)
    ks._fitted_ks.cache_clear()
    log = right_or_wrong(two_regimes(np.random.default_rng(3), (60, 3)), 7)
    rules = [KSStability(x, patience=k, source="fitted") for x, k in ((0.3, 1), (0.1, 2), (0.01, 2))]
    found = [rule.distances(log) for rule in rules]
    assert found[0] == found[1] == found[2]
    assert fitted == [0, 0]
    ks._fitted_ks.cache_clear()
    assert rules[0].distances(log) == found[0]
    other = log.select(np.arange(1, 60))
    assert rules[0].distances(other) != found[0]  # other counts have fits of their own
    assert len(fitted) == 6
