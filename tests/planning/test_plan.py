"""What a plan promises, what it refuses, and that its arithmetic is that of the other rooms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from d3stats.models.chains.panel_chain import chain_laws, fit_panel_chain
from d3stats.note import severity_of
from d3stats.planning.costs import log_ratio, ratio, share
from d3stats.planning.exact import evaluate
from d3stats.planning.ladders import evaluate_ladders, evaluate_thresholds, rule_of, thresholds_of
from d3stats.planning.plan import Plan, draw_counts, plan
from d3stats.planning.replay import replay
from d3stats.resampling import clustered_share
from d3stats.stopping import FixedRounds, FullDepth, Ladder, Supermajority, Unanimity
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Conformity, Voter, simulate_debates


@pytest.fixture(scope="module")
def pilot() -> Trajectories:
    return simulate_debates(Conformity(), n_debates=50, n_rounds=6, rng=3)


@pytest.fixture(scope="module")
def made(pilot: Trajectories) -> Plan:
    return plan(pilot, rng=1, limit=False, n_draws=100, price=2.0, debates=500, rules=["sprt"])


def unlabelled(log: Trajectories, share_kept: float = 0.0) -> Trajectories:
    label = log.label.copy()
    label[int(share_kept * len(label)) :] = MISSING
    return replace(log, label=label)


def test_the_chain_evaluates_ladders_as_the_exact_evaluation_does(pilot: Trajectories) -> None:
    fit = fit_panel_chain((pilot.votes == pilot.label[:, None, None]).astype(int))
    process = fit.process(7, 6, nodes=5)
    laws = chain_laws(fit.params.to_numpy(), 7, 6)
    tokens = np.arange(1.0, 7.0)
    for target in ("accuracy", "agreement"):
        for n, (steps, found) in enumerate(evaluate_ladders(laws, tokens, target)):  # type: ignore[arg-type]
            if n % 7:
                continue
            exact = evaluate(process, rule_of(steps), tokens)
            kept = exact.accuracy if target == "accuracy" else exact.agreement
            assert found.rounds[0] == pytest.approx(float(exact.rounds), abs=1e-10)
            assert found.cost[0] == pytest.approx(float(exact.tokens), abs=1e-9)
            assert found.kept[0] == pytest.approx(float(kept), abs=1e-10)


def test_a_rule_that_is_a_ladder_in_other_words_is_evaluated_the_same(pilot: Trajectories) -> None:
    fit = fit_panel_chain((pilot.votes == pilot.label[:, None, None]).astype(int))
    process = fit.process(7, 6, nodes=5)
    laws = chain_laws(fit.params.to_numpy(), 7, 6)
    rules = [Unanimity(), FixedRounds(1), FixedRounds(3), FullDepth(), Supermajority(0.8), Ladder("7-6-5")]
    steps = {str(rule): thresholds_of(rule, 7) for rule in rules}
    found = evaluate_thresholds(laws, steps, np.ones(6), "accuracy")  # type: ignore[arg-type]
    for rule in rules:
        exact = evaluate(process, rule)
        assert found[str(rule)].kept[0] == pytest.approx(float(exact.accuracy), abs=1e-10)
        assert found[str(rule)].rounds[0] == pytest.approx(float(exact.rounds), abs=1e-10)
    assert thresholds_of(Supermajority(0.8, patience=2), 7) is None


def test_the_likelihoods_gradient_is_its_derivative() -> None:
    from scipy.optimize import approx_fprime

    from d3stats.models.chains import panel_chain as chain

    rng = np.random.default_rng(5)
    data = chain.ChainData.from_votes(rng.integers(-1, 2, size=(12, 4, 5)).astype(np.int8))
    for theta in (chain.PRIOR_MEAN, chain.PRIOR_MEAN[:12], np.abs(rng.normal(0, 0.5, 12))):
        numeric = approx_fprime(theta, lambda x: chain.minus_log_posterior(x, data)[0], 1e-6)
        np.testing.assert_allclose(chain.minus_log_posterior(theta, data)[1], numeric, atol=2e-3)


@pytest.mark.slow
def test_the_chain_recovers_what_its_own_votes_cost_and_keep() -> None:
    from d3stats.models.chains import panel_chain as chain

    truth = np.array([1.2, -0.3, 0.6, -0.6, 1.2, 0.6, 0.8, 0.1, -1.0, 2.0, 1.0, -0.5])
    rng = np.random.default_rng(7)
    laws = chain_laws(truth, 5, 6, nodes=25)
    counts = draw_counts(laws, 1500, rng)[0]
    # Exchangeable seats: which of them voted what does not matter, but who repeats does, so seats are drawn.
    votes = np.zeros((1500, 6, 5), dtype=int)
    z = rng.normal(size=1500)
    v = rng.normal(size=(1500, 6))
    shock, spread = np.exp(truth[8]), np.exp(truth[3])
    hard = rng.random(1500) < 1 / (1 + np.exp(0.5))
    eta = truth[0] - truth[9] * hard + np.exp(truth[1]) * z + shock * v[:, 0]
    votes[:, 0] = rng.random((1500, 5)) < 1 / (1 + np.exp(-eta[:, None]))
    for t in range(1, 6):
        ones = votes[:, t - 1].sum(axis=1)
        linear, logit = chain.features(ones, np.full(1500, 5))
        middle = truth[2] - truth[10] * hard + spread * z + truth[5] * linear + truth[6] * logit
        own = truth[4] * (2 * votes[:, t - 1] - 1)
        eta_t = t ** truth[7] * (middle[:, None] + own) + shock * v[:, t, None]
        votes[:, t] = rng.random((1500, 5)) < 1 / (1 + np.exp(-eta_t))
    fit = fit_panel_chain(votes)
    assert fit.converged
    # Two kinds and a spread describe nearly the same laws in many ways; what rules do is determined.
    near = fit.params.index.isin(["own_vote", "hardening", "log_shock"])
    assert np.all(np.abs(fit.params.to_numpy() - truth)[near] < 4 * fit.bse.to_numpy()[near])
    found = chain_laws(fit.params.to_numpy(), 5, 6)
    for (_, true), (_, fitted) in zip(
        evaluate_ladders(laws, np.ones(6), "accuracy"),
        evaluate_ladders(found, np.ones(6), "accuracy"),
        strict=True,
    ):
        assert fitted.kept[0] == pytest.approx(true.kept[0], abs=0.04)
        assert fitted.rounds[0] == pytest.approx(true.rounds[0], rel=0.05)
    # Its count laws are those of the votes that it was drawn as.
    for t in range(6):
        seen = np.bincount(votes[:, t].sum(axis=1), minlength=6) / 1500
        drawn = np.bincount(counts[:, t], minlength=6) / 1500
        assert np.abs(seen - drawn).max() < 4 * np.sqrt(2 * 0.25 / 1500)


def test_the_recommended_rule_keeps_its_probability_and_saves(made: Plan) -> None:
    table = made.to_frame()
    first = table.iloc[0]
    assert (first["role"], first["rule"]) == ("recommended", str(made.rule))
    assert made.probability >= made.confidence
    assert first["p_within"] == made.probability
    assert first["saved"] > 0.2
    assert set(table["rule"]) >= {"unanimity", "fixed:1", "full"}


def test_levels_are_counted_on_the_pilot(made: Plan, pilot: Trajectories) -> None:
    first = made.to_frame().iloc[0]
    stops = made.rule.stop_rounds(pilot).rounds
    row = np.arange(50)
    assert first["rounds"] == pytest.approx(stops.mean())
    tokens = np.cumsum(pilot.tokens, axis=1)[row, stops - 1]  # type: ignore[arg-type]
    assert first["tokens"] == pytest.approx(tokens.mean())
    assert first["dollars"] == pytest.approx(tokens.mean() * 2e-6)
    assert first["total"] == pytest.approx(500 * tokens.mean() * 2e-6)
    assert first["accuracy"] == pytest.approx((pilot.verdicts()[row, stops - 1] == pilot.label).mean())


def test_a_rule_that_is_no_ladder_is_compared_on_the_pilots_own_debates(made: Plan) -> None:
    row = made.to_frame().set_index("rule").loc["sprt:0.7"]
    assert row["loss_from"] == "pilot"


def test_plan_and_replay_compare_rules_on_the_debates_that_count_under_both(pilot: Trajectories) -> None:
    votes = pilot.votes.copy()
    votes[:3, -1] = MISSING  # no decision after all rounds
    holed = replace(pilot, votes=votes)
    planned = plan(holed, limit=False, n_draws=20, rng=1).to_frame().set_index("rule")
    played = replay(holed, ["fixed:1", "fixed:2"])
    replayed = played.to_frame().set_index("rule")
    names = ["change", "change_low", "change_high"]
    for rule in ("fixed:1", "fixed:2", "full", "unanimity"):
        assert planned.loc[rule, names].tolist() == pytest.approx(
            replayed.loc[rule, names].tolist(), nan_ok=True
        )
    per = played.per_debate().pivot(index="debate", columns="rule", values="correct").dropna()
    by_hand = (per["full"].astype(float) - per["unanimity"].astype(float)).mean()
    assert len(per) == 47
    assert planned.loc["full", "change"] == pytest.approx(by_hand)


def test_without_labels_the_target_is_agreement_and_the_plan_says_so(pilot: Trajectories) -> None:
    blind = plan(unlabelled(pilot), rng=1, limit=False, n_draws=60)
    assert blind.target == "agreement"
    assert blind.to_frame()["accuracy"].isna().all()
    assert any("does not know whether that verdict is right" in note for note in blind.notes)
    full = blind.to_frame().set_index("rule").loc["full"]
    assert full["kept"] == 1.0


def test_with_a_few_labels_both_are_shown_and_the_plan_says_which(pilot: Trajectories) -> None:
    some = plan(unlabelled(pilot, 0.4), rng=1, limit=False, n_draws=60)
    assert some.target == "agreement"
    assert some.to_frame()["accuracy"].notna().all()
    assert any("20 of 50 debates have a label" in note for note in some.notes)


@pytest.fixture(scope="module")
def of_seed_2(pilot: Trajectories) -> Plan:
    return plan(pilot, rng=2, limit=False, n_draws=40)


def test_the_same_seed_gives_the_same_plan(pilot: Trajectories, of_seed_2: Plan) -> None:
    assert plan(pilot, rng=2, limit=False, n_draws=40).to_frame().equals(of_seed_2.to_frame())


def test_naming_the_answers_the_other_way_round_changes_nothing(pilot: Trajectories, of_seed_2: Plan) -> None:
    swapped = replace(
        pilot,
        votes=(1 - pilot.votes).astype(np.int32),
        label=(1 - pilot.label).astype(np.int32),
        answers=pilot.answers[::-1],
    )
    one, two = of_seed_2, plan(swapped, rng=2, limit=False, n_draws=40)
    assert str(one.rule) == str(two.rule)
    np.testing.assert_allclose(one.to_frame()["loss"], two.to_frame()["loss"], atol=1e-9)


def test_a_plan_that_may_lose_nothing_keeps_unanimity(pilot: Trajectories) -> None:
    strict = plan(unlabelled(pilot), rng=1, max_loss=0.0, confidence=0.999, limit=False, n_draws=60)
    assert strict.probability >= 0.999


def test_the_exact_optimum_is_never_dearer_than_the_recommended_ladder(pilot: Trajectories) -> None:
    small = simulate_debates(Conformity(panel=3), n_debates=40, n_rounds=4, rng=5)
    whole = plan(small, rng=1, max_loss=0.02, n_draws=60)
    limit = whole.to_frame().set_index("role").loc["limit"]
    process = whole.fit.process(3, 4, nodes=2)
    cost = small.tokens.mean(axis=0)  # type: ignore[union-attr]
    ladder = evaluate(process, whole.rule, cost)
    if 1 - float(ladder.accuracy) >= 1 - limit["kept"] - 1e-12:
        assert limit["tokens"] <= float(ladder.tokens) + 1e-6  # type: ignore[arg-type]
    assert limit["loss"] <= 0.02 + 1e-9


def test_questions_debated_twice_widen_the_errors() -> None:
    log = simulate_debates(Voter(), n_debates=40, n_rounds=5, rng=1)
    twice = Trajectories.concat(log, replace(log, debates=tuple(f"again {d}" for d in log.debates)))
    one, two = plan(log, rng=1, limit=False, n_draws=40), plan(twice, rng=1, limit=False, n_draws=40)
    assert two.fit.n_clusters == 40
    assert two.fit.design_effect > 1.5
    rows = [p.to_frame().set_index("rule").loc["unanimity"] for p in (one, two)]
    half = [float(row["rounds_high"] - row["rounds_low"]) for row in rows]
    assert half[1] == pytest.approx(half[0], rel=0.02)


def test_the_fan_holds_the_pilots_error_and_the_debates_own_spread(made: Plan) -> None:
    fan = made.fan(points=5)
    last = fan[(fan["debates"] == 500) & (fan["role"] == "recommended")].sort_values("level")
    width = (last["high"] - last["low"]).to_numpy()
    assert (np.diff(width) > 0).all()
    assert last["cost"].iloc[0] == pytest.approx(made.to_frame()["total"][0])


def test_checks_find_nothing_in_the_chains_own_world_and_much_in_a_foreign_one() -> None:
    log = simulate_debates(Conformity(), n_debates=60, n_rounds=5, rng=8)
    fine = plan(log, rng=1, limit=False, n_draws=200).checks
    assert fine["p_value"].min() > 0.005
    # Rounds that alternate between unanimous right and wrong are nothing that a chain with habits can do.
    odd = log.votes.copy()
    odd[:, 1::2] = 1 - odd[:, :1]
    strange = plan(replace(log, votes=odd), rng=1, limit=False, n_draws=200)
    assert strange.checks["p_value"].min() < 0.02
    assert any("does not reproduce" in note for note in strange.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.select([0]), r"pilot must hold at least 2 debates; got 1"),
        (lambda t: t.select([0, 1]), None),
        (
            lambda t: replace(
                t,
                votes=t.votes[:, :1],
                depth=np.ones(50, int),
                tokens=t.tokens[:, :1],
                tokens_in=t.tokens_in[:, :1],
                tokens_out=t.tokens_out[:, :1],
            ),
            r"pilot must be played for at least 2 rounds, or there is nothing to stop; got 1",
        ),
        (
            lambda t: replace(t, cluster=np.zeros(50, int), cluster_names=("one",)),
            r"pilot must hold at least 2 questions; got 1",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(pilot, change, message) -> None:  # type: ignore[no-untyped-def]
    if message is None:
        plan(change(pilot), rng=1, limit=False, n_draws=20)
        return
    with pytest.raises(ValueError, match=message) as caught:
        plan(change(pilot), rng=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_loss": -0.1}, r"max_loss must be >= 0"),
        ({"confidence": 1.0}, r"confidence must lie strictly between 0 and 1"),
        ({"target": "truth"}, r"target must be one of 'auto', 'accuracy', 'agreement'"),
        ({"debates": 0}, r"debates must be >= 1"),
        ({"price": -1.0}, r"price must be >= 0"),
        ({"rules": ["sign_agreement"]}, r"score"),
    ],
)
def test_bad_arguments_are_refused(pilot: Trajectories, arguments: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=message):
        plan(pilot, **{"limit": False, "n_draws": 20, "rng": 1, **arguments})


def test_student_intervals_cover_a_mean_of_clustered_debates() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        level = np.repeat(rng.normal(3, 1, 25), 2)
        found = ratio(level + rng.normal(0, 0.5, 50), np.ones(50), np.repeat(np.arange(25), 2), 0.9)
        hits += found.low <= 3 <= found.high
    assert abs(hits / 400 - 0.9) < 4 * np.sqrt(0.09 / 400)


def test_a_share_in_a_plan_has_the_interval_of_every_share() -> None:
    rng = np.random.default_rng(1)
    for easiness in (0.5, 0.9, 0.98, 1.0):
        cluster = rng.integers(0, 20, 60)
        hits = (rng.random(60) < easiness) * 1.0
        counted = (rng.random(60) < 0.9) * 1.0
        found = share(hits * counted, counted, cluster, 0.9)
        theirs = clustered_share(hits * counted, counted, cluster, level=0.9)
        assert (found.value, found.low, found.high) == pytest.approx((theirs.value, theirs.low, theirs.high))


def test_a_share_of_one_still_has_an_interval() -> None:
    found = share(np.ones(50), np.ones(50), np.arange(50), 0.9)
    assert found.value == 1.0
    assert 0.9 < found.low < 0.97
    assert found.high == 1.0


def test_a_saving_is_one_minus_the_ratio_of_the_sums() -> None:
    found = log_ratio([1.0, 2.0, 3.0], [2.0, 4.0, 7.0], np.arange(3), 0.9)
    assert found.value == pytest.approx(1 - 6 / 13)
    assert found.low < found.value < found.high


def test_a_pilot_with_most_debates_on_one_question_promises_no_loss() -> None:
    """Of 125 debates 100 are on one question: nothing says how questions differ."""
    log = simulate_debates(Conformity(), n_debates=125, n_rounds=5, rng=3)
    names = tuple(map(str, range(26)))
    pilot = replace(log, cluster=np.repeat(np.arange(26), [100] + [1] * 25), cluster_names=names)
    found = plan(pilot, max_loss=0.2, n_draws=50)
    assert isinstance(found.rule, Unanimity)
    assert "one cluster has 100 of 125 debates" in found.reason
    assert found.to_frame()["p_within"].isna().all()
    assert "'0' has 100 of 125 debates" in found.notes[0]
    assert severity_of(found.notes[0]) == "warning"


def test_no_accuracy_is_promised_where_no_vote_can_be_right(pilot: Trajectories) -> None:
    labels = [f"{name}." for name in ("A", "B", "C")]
    log = Trajectories.from_arrays(
        [[["A", "B", "A"], ["A", "A", "A"]], [["B", "B", "A"], ["B", "B", "B"]], [["C"] * 3, ["C"] * 3]] * 20,
        label=labels * 20,
    )
    with pytest.raises(ValueError, match=r"no vote ever equals its label.*--target agreement"):
        plan(log)
    assert plan(log, target="agreement").target == "agreement"


def test_a_plan_names_the_columns_to_compare_with_a_campaign() -> None:
    """Those of the pilot's source that say of what kind its debates are; arrays have none."""
    log = simulate_debates(Voter(panel=3, accuracy=0.7), n_debates=30, n_rounds=3, rng=3)
    rows = [
        {
            "debate": f"d{i}",
            "question": f"q{i}",
            "round": t + 1,
            "agent": f"s{k}",
            "vote": log.answers[log.votes[i, t, k]],
            "label": log.answers[log.label[i]],
            "category": "law" if i % 2 else "physics",
        }
        for i in range(30)
        for t in range(3)
        for k in range(3)
    ]
    asked = {"limit": False, "n_draws": 20, "rng": 1}
    said = [note for note in plan(rows, **asked).notes if "the campaign's" in note]
    assert said == ["the plan holds for debates like the pilot's: compare category with the campaign's"]
    assert not any("the campaign's" in note for note in plan(log, **asked).notes)
