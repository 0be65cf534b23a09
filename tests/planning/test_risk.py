"""The promise of a risk-controlled rule: exact p-values, and pilots drawn where breaking it is easiest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from layers import covering, examples, sampled
from scipy import special, stats

from d3stats.planning.risk import (
    Method,
    Order,
    Target,
    binomial_p,
    certified_rules,
    hoeffding_bentkus_p,
    losses_of_rules,
    needed_debates,
    p_values,
    risk_controlled,
)
from d3stats.resampling.bounded_means import betting_p
from d3stats.stopping import FullDepth, Supermajority, from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import (
    Conformity,
    Courtroom,
    DirichletCompound,
    LatentConcept,
    MixturePanel,
    Voter,
    World,
    simulate_debates,
)

FAMILY = tuple(Supermajority(share / 7, patience) for share in (7, 6, 5, 4) for patience in (2, 1))
"""From late to early stopping: every rule stops no later than the one before it, or close to that."""

WORLDS: dict[str, World] = {
    "voter": Voter(lengths=None),
    "conformity": Conformity(lengths=None),
    "dirichlet": DirichletCompound(lengths=None),
    "latent": LatentConcept(lengths=None),
    "mixture": MixturePanel(lengths=None),
}
"""Where verdicts change after a stop: the hard cases for agreement."""

LATE: dict[str, World] = {
    "crowd": Conformity(
        difficulties=[(1.0, 0.5)], conformity=2.5, stubbornness=0.2, shared_sd=0.0, lengths=None
    ),
    "two classes": Conformity(
        difficulties=[(0.5, 1.0), (0.5, 0.3)], conformity=2.0, stubbornness=0.6, shared_sd=0.0, lengths=None
    ),
    "latent": LatentConcept(lengths=None),
    "drift": MixturePanel(mean_drift=(0.2, 0.2), lengths=None),
    "courtroom": Courtroom(panel=7, poll="every_round", hidden=0.8, decay=0.6),
}
"""Where the truth comes out late, so that stopping early loses accuracy: the hard cases for accuracy."""

METHODS: tuple[Method, ...] = ("binomial", "hoeffding_bentkus", "betting")


def losses_of(world: World, target: Target, n: int, seed: int = 1) -> np.ndarray:
    t = simulate_debates(world, n, 8, seed)
    return losses_of_rules(t, FAMILY, target).sums


def p_values_of_pilots(
    losses: np.ndarray, max_loss_vs_full: float, method: Method, target: Target, n: int, replicates: int
) -> np.ndarray:
    """Draw pilots of n rows of a population, with replacement: p-values of shape (pilots, rules).

    A p-value is a function of how many debates a rule loses and gains, so it is worked out once for each pair.
    """
    patterns, often = np.unique(losses, axis=0, return_counts=True)
    drawn = np.random.default_rng(7).multinomial(n, often / len(losses), size=replicates)
    lost, gained = drawn @ (patterns == 1), drawn @ (patterns == -1)
    pairs, index = np.unique(np.stack([lost.ravel(), gained.ravel()]), axis=1, return_inverse=True)
    pilots = [np.repeat([1.0, -1.0, 0.0], [i, j, n - i - j]) for i, j in pairs.T.tolist()]
    p: np.ndarray = p_values(np.column_stack(pilots), max_loss_vs_full, method, target)[index.ravel()]
    return p.reshape(lost.shape)


def violations(p: np.ndarray, too_much: np.ndarray, order: Order = "given", delta: float = 0.1) -> float:
    """Say in which share of the pilots a rule that loses too much is certified."""
    assert too_much.any()
    return float(np.mean([(certified_rules(row, delta, order)[1] & too_much).any() for row in p]))


def hard_limits(losses: np.ndarray) -> list[float]:
    """Return limits that some rule misses by a hair: just below the risk of each rule, where it is positive."""
    risks = np.unique(losses.mean(axis=0).round(12))
    return [float(risk) - 1e-6 for risk in risks if risk > 0.004]


# ---------------------------------------------------------------- p-values, by exact enumeration


@pytest.mark.parametrize("n", [5, 40, 150])
@pytest.mark.parametrize("limit", [0.02, 0.1, 0.4])
def test_binary_p_values_are_valid_at_every_level(n: int, limit: float) -> None:
    pilots = [np.repeat([1.0, 0.0], [k, n - k]) for k in range(n + 1)]
    for method in METHODS:
        p = np.array([p_values(x[:, None], limit, method, "agreement")[0] for x in pilots])
        assert (np.diff(p) >= -1e-12).all()
        for true in (limit, limit + 0.05):
            law = stats.binom.pmf(np.arange(n + 1), n, true)
            for level in np.unique(p):
                assert law[p <= level].sum() <= level + 1e-9, (method, true, level)


@pytest.mark.parametrize("limit", [0.03, 0.1])
def test_p_values_of_an_accuracy_loss_are_valid_whatever_is_gained(limit: float) -> None:
    n = 30
    cells = [(lost, gained) for lost in range(n + 1) for gained in range(n + 1 - lost)]
    counts = np.array([(lost, gained, n - lost - gained) for lost, gained in cells])
    pilots = [np.repeat([1.0, -1.0, 0.0], row) for row in counts]
    for method in METHODS:
        p = np.array([p_values(x[:, None], limit, method, "accuracy")[0] for x in pilots])
        for gained in (0.0, 0.05, 0.2, (1 - limit) / 2):
            law = np.exp(
                special.gammaln(n + 1)
                - special.gammaln(counts + 1).sum(axis=1)
                + special.xlogy(counts, [limit + gained, gained, 1 - limit - 2 * gained]).sum(axis=1)
            )
            assert law.sum() == pytest.approx(1)
            for level in (0.01, 0.05, 0.1, 0.2, 0.5):
                assert law[p <= level].sum() <= level + 1e-9, (method, gained, level)


def test_the_binomial_p_value_is_the_exact_tail() -> None:
    losses = np.repeat([1.0, 0.0], [3, 97])
    assert binomial_p(losses, 0.08) == pytest.approx(stats.binom.cdf(3, 100, 0.08), rel=1e-12)


def test_hoeffding_bentkus_is_the_smaller_of_its_two_bounds() -> None:
    losses = np.array([0.5, 0.0, 0.25, 0.0] * 25)
    mean, limit, n = losses.mean(), 0.3, 100
    divergence = mean * np.log(mean / limit) + (1 - mean) * np.log((1 - mean) / (1 - limit))
    bentkus = np.e * stats.binom.cdf(np.ceil(losses.sum()), n, limit)
    expected = min(np.exp(-n * divergence), bentkus)
    assert hoeffding_bentkus_p(losses, limit) == pytest.approx(expected, rel=1e-12)
    # A mean above the limit is no evidence against H, and not evidence for it either.
    assert hoeffding_bentkus_p(np.ones(50), 0.3) == 1.0


def test_betting_wealth_is_a_fair_game_at_the_limit() -> None:
    n, limit = 12, 0.2
    wealth = [1 / betting_p(np.repeat([1.0, 0.0], [k, n - k]), limit) for k in range(n + 1)]
    # Capped at 1 below, so the fair game's mean of 1 can only be exceeded by the cap's share.
    law = stats.binom.pmf(np.arange(n + 1), n, limit)
    assert (law * np.where(np.array(wealth) > 1, wealth, 0)).sum() < 1


def test_betting_needs_far_fewer_debates_than_hoeffding_for_accuracy() -> None:
    betting = needed_debates(0.02, 0.1, method="betting", target="accuracy")
    hoeffding = needed_debates(0.02, 0.1, method="hoeffding_bentkus", target="accuracy")
    assert (betting, hoeffding) == (148, 8102)


@pytest.mark.parametrize(("limit", "delta", "n"), [(0.05, 0.1, 45), (0.01, 0.1, 230), (0.01, 0.05, 299)])
def test_the_needed_debates_are_the_smallest_that_certify(limit: float, delta: float, n: int) -> None:
    assert needed_debates(limit, delta) == n
    assert (1 - limit) ** n <= delta < (1 - limit) ** (n - 1)
    for method in METHODS:
        least = needed_debates(limit, delta, method=method)  # type: ignore[arg-type]
        for size, passes in ((least, True), (least - 1, False)):
            assert (p_values(np.zeros((size, 1)), limit, method, "agreement")[0] <= delta) == passes


def test_fixed_sequence_ends_at_the_first_failure_and_holm_does_not() -> None:
    p = np.array([0.001, 0.3, 0.002])
    assert [x.tolist() for x in certified_rules(p, 0.1)] == [[True, True, False], [True, False, False]]
    assert certified_rules(p, 0.1, "none")[1].tolist() == [True, False, True]
    # Holm: .04 must be below .1 / 2 when one of two is already rejected, and .06 is not below .1 / 2.
    assert certified_rules(np.array([0.06, 0.04]), 0.1, "none")[1].tolist() == [True, True]
    assert certified_rules(np.array([0.06, 0.06]), 0.1, "none")[1].tolist() == [False, False]


# ---------------------------------------------------------------- the promise


@sampled(
    "world, target",
    [("voter", "agreement"), ("conformity", "agreement"), ("crowd", "accuracy"), ("courtroom", "accuracy")],
    (1, 3),
)
def test_the_promise_is_kept_in_hard_cases(world: str, target: Target) -> None:
    losses = losses_of((WORLDS if target == "agreement" else LATE)[world], target, 20_000)
    method: Method = "binomial" if target == "agreement" else "betting"
    for limit in hard_limits(losses)[::3]:
        p = p_values_of_pilots(losses, limit, method, target, 200, 400)
        assert violations(p, losses.mean(axis=0) > limit) <= 0.1 + 3 * 0.015


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "target"),
    [(world, "agreement") for world in WORLDS] + [(world, "accuracy") for world in LATE],
)
def test_the_promise_is_kept_over_two_thousand_pilots(world: str, target: Target) -> None:
    losses = losses_of((WORLDS if target == "agreement" else LATE)[world], target, 200_000)
    limits = hard_limits(losses)
    assert len(limits) >= 3, "the world must hold rules that lose, or nothing can be broken"
    allowed = 0.1 + 2 * np.sqrt(0.1 * 0.9 / 2000)
    risks = losses.mean(axis=0)
    cases = list(zip((limits[0], limits[len(limits) // 2], limits[-1]), (1000, 400, 100), strict=True))
    for method in METHODS:
        rates: dict[str, list[float]] = {"fixed sequence": [], "Holm": [], "alone": []}
        for limit, n in cases:
            p = p_values_of_pilots(losses, limit, method, target, n, 2000)
            rates["fixed sequence"].append(violations(p, risks > limit))
            rates["Holm"].append(violations(p, risks > limit, "none"))
            # The rule at the limit by itself: what its test's delta of .1 really is.
            rates["alone"].append(float((p[:, np.abs(risks - limit).argmin()] <= 0.1).mean()))
        print(f"{world:11s} {target:9s} {method:17s}", rates)
        assert max(map(max, rates.values())) <= allowed, (world, target, method, rates)


def test_a_test_without_correction_would_break_it() -> None:
    # The same hard case, had the first rule below the limit on the pilot been taken at its word.
    losses = losses_of(WORLDS["voter"], "agreement", 20_000)
    limit = hard_limits(losses)[1]
    too_much = losses.mean(axis=0) > limit
    rng = np.random.default_rng(1)
    naive = [losses[rng.integers(0, len(losses), 200)].mean(axis=0) <= limit for _ in range(300)]
    assert np.mean([(passed & too_much).any() for passed in naive]) > 0.4


def broken_promises(world: World, target: Target, n: int, replicates: int) -> tuple[float, float]:
    """Return how often ``risk_controlled`` names a rule above the limit on fresh pilots, and any rule at all."""
    every = simulate_debates(world, n * replicates, 8, 3)
    population = losses_of(world, target, 200_000, 9)
    risks = dict(zip(map(str, FAMILY), population.mean(axis=0), strict=True))
    at = int(np.argsort(list(risks.values()))[len(FAMILY) * 3 // 4])
    # Two standard errors below the estimate of a rule's risk: that rule breaks the promise.
    limit = float(population[:, at].mean() - 2 * population[:, at].std() / np.sqrt(len(population)))
    results = [
        risk_controlled(
            every.select(np.arange(i * n, (i + 1) * n)), FAMILY, max_loss_vs_full=limit, target=target
        )
        for i in range(replicates)
    ]
    broken = [result.certified and risks[str(result.rule)] > limit for result in results]
    return float(np.mean(broken)), float(np.mean([result.certified for result in results]))


@pytest.mark.slow
@pytest.mark.parametrize(("world", "target"), [("conformity", "agreement"), ("crowd", "accuracy")])
def test_the_whole_function_keeps_its_promise_on_fresh_pilots(world: str, target: Target) -> None:
    broken, certified = broken_promises((WORLDS if target == "agreement" else LATE)[world], target, 80, 150)
    assert broken <= 0.1 + 3 * np.sqrt(0.09 / 150)
    assert certified > 0


@pytest.mark.slow
@pytest.mark.parametrize("world", list(LATE))
def test_the_whole_function_keeps_its_promise_about_accuracy_on_two_thousand_fresh_pilots(world: str) -> None:
    broken, certified = broken_promises(LATE[world], "accuracy", 200, 2000)
    print(f"{world:11s} fresh pilots: broken {broken:.4f}, a rule certified in {certified:.4f}")
    assert broken <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / 2000)


def test_more_debates_certify_more_rules() -> None:
    certified = []
    for n in (20, 100, 2000):
        t = simulate_debates(WORLDS["conformity"], n, 8, 5)
        certified.append(int(risk_controlled(t, FAMILY, max_loss_vs_full=0.08).to_frame()["certified"].sum()))
    assert certified[0] == 0
    assert certified[0] < certified[1] < certified[2]


# ---------------------------------------------------------------- what a pilot may look like


def pilot(n: int = 200, seed: int = 1) -> Trajectories:
    return simulate_debates(WORLDS["conformity"], n, 8, seed)


def test_nothing_certified_is_full_depth_and_says_so() -> None:
    result = risk_controlled(pilot(20), FAMILY, max_loss_vs_full=0.05)
    assert result.rule == FullDepth()
    assert not result.certified
    assert "play every debate to full depth" in result.guarantee
    assert any("20 questions are too few" in note and "needs 45" in note for note in result.notes)
    assert not result.to_frame()["chosen"].any()


def test_full_depth_itself_loses_nothing() -> None:
    table = risk_controlled(pilot(50), ["full"], max_loss_vs_full=0.05).to_frame()
    assert table.loc[0, ["risk", "p_value"]].tolist() == [0.0, pytest.approx(0.95**50)]


def test_the_table_and_the_summary_say_the_same() -> None:
    result = risk_controlled(pilot(), FAMILY, max_loss_vs_full=0.1)
    table = result.to_frame()
    assert table["rule"].tolist() == [str(rule) for rule in FAMILY]
    chosen = table[table["chosen"]]
    assert chosen["rule"].tolist() == [str(result.rule)]
    assert chosen["certified"].all()
    assert chosen["rounds"].item() == table.loc[table["certified"], "rounds"].min()
    assert result.guarantee in result.summary()
    assert str(result.rule) in result.summary()
    assert repr(result).startswith(f"<RiskControlled: Run {result.rule}: with probability at least ")


@pytest.mark.parametrize("unequal", [False, True])
def test_the_risk_is_that_of_a_replay(unequal: bool) -> None:
    from d3stats.planning.scan import scan

    t = pilot(300)
    if unequal:
        t = replace(t, cluster=np.arange(300) ** 2 // 3000, cluster_names=tuple(map(str, range(30))))
    table = scan(t, FAMILY)
    for target, expected in (
        ("agreement", 1 - table["agreement"]),
        ("accuracy", table["lost"] - table["gained"]),
    ):
        result = risk_controlled(t, FAMILY, max_loss_vs_full=0.05, target=target)  # type: ignore[arg-type]
        assert result.to_frame()["risk"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-12)
        assert result.to_frame()["rounds"].to_numpy() == pytest.approx(table["rounds"].to_numpy())


def clustered(n: int = 240, per: int = 4) -> Trajectories:
    t = pilot(n)
    names = tuple(map(str, range(n // per)))
    return replace(t, cluster=np.arange(n) // per, cluster_names=names)


def test_debates_of_one_question_count_as_one() -> None:
    t = clustered()
    result = risk_controlled(t, FAMILY, max_loss_vs_full=0.1)
    assert (result.n_units, result.method) == (60, "betting")
    assert any("the debates of each question are one independent unit" in note for note in result.notes)
    copied = pilot(60).select(np.repeat(np.arange(60), 10))
    once = risk_controlled(pilot(60), FAMILY, max_loss_vs_full=0.1, method="hoeffding_bentkus").to_frame()
    again = risk_controlled(copied, FAMILY, max_loss_vs_full=0.1, method="hoeffding_bentkus").to_frame()
    assert again["p_value"].to_numpy() == pytest.approx(once["p_value"].to_numpy())


def test_binomial_refuses_questions_of_several_debates() -> None:
    with pytest.raises(
        ValueError, match=r"method must be 'hoeffding_bentkus' or 'betting' if a unit has several"
    ):
        risk_controlled(clustered(), FAMILY, max_loss_vs_full=0.1, method="binomial")


def few_large_questions() -> Trajectories:
    """200 questions with one debate whose verdict stays, and two with 100 debates whose verdict changes."""
    votes = np.zeros((400, 2, 1), dtype=int)
    votes[200:, 1] = 1
    cluster = np.concatenate([np.arange(200), np.repeat([200, 201], 100)])
    return Trajectories.from_arrays(votes, [1] * 400, answers=["A", "B"], cluster=cluster.tolist())


@pytest.mark.parametrize("method", ["betting", "hoeffding_bentkus"])
@pytest.mark.parametrize("target", ["agreement", "accuracy"])
def test_debates_that_are_promised_are_the_debates_that_are_limited(method: Method, target: Target) -> None:
    t = few_large_questions()
    found = risk_controlled(t, ["fixed:1"], max_loss_vs_full=0.05, method=method, target=target)
    assert found.to_frame()[["risk", "p_value"]].values.tolist() == [[0.5, 1.0]]
    assert not found.certified
    lossless = risk_controlled(t, ["full"], max_loss_vs_full=0.05, method=method, target=target)
    assert not lossless.certified
    assert any("the largest has 25 % of the debates and all count as 4 equal" in n for n in lossless.notes)
    once = risk_controlled(
        t, ["fixed:1"], max_loss_vs_full=0.05, method="betting", target=target, mean_over="units"
    )
    assert once.to_frame()["risk"].item() == pytest.approx(2 / 202)
    assert once.certified
    assert once.guarantee.endswith("(questions with equal weight).")


@covering(method=["betting", "hoeffding_bentkus"], shared=[False, True])
@examples(500, 1500, "reps")
def test_the_promise_about_debates_holds_for_questions_of_unequal_sizes(
    method: Method, shared: bool, reps: int
) -> None:
    """Large questions lose, small ones do not, and the loss over debates is the limit."""
    rng = np.random.default_rng(5)
    sizes = np.array([5] * 40 + [1] * 100)
    chance = np.where(sizes == 5, 0.15, 0.0)
    limit, broken, strayed = float(chance @ sizes / sizes.sum()), 0, 0
    for _ in range(reps):
        sums = sizes * (rng.random(140) < chance) if shared else rng.binomial(sizes, chance)
        broken += bool(p_values(sums[:, None].astype(float), limit, method, "agreement", sizes)[0] <= 0.1)
        means = (sums / sizes)[:, None]
        strayed += bool(p_values(means, limit, method, "agreement")[0] <= 0.1)
    assert broken / reps <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / reps)
    # The mean over questions is another quantity: its test certifies several times as often as .1.
    assert strayed / reps > 0.3


def test_questions_of_one_size_give_one_answer_whatever_is_averaged() -> None:
    t = clustered()
    tables = [
        risk_controlled(t, FAMILY, max_loss_vs_full=0.1, method=method, mean_over=over).to_frame()
        for method in ("betting", "hoeffding_bentkus")
        for over in ("debates", "units")
    ]
    for first, second in (tables[:2], tables[2:]):
        assert first[["risk", "p_value"]].to_numpy() == pytest.approx(second[["risk", "p_value"]].to_numpy())


def test_an_effect_that_a_pilot_shares_breaks_the_promise() -> None:
    """The questions must be independent; where a pilot loses nothing or everything, half of the pilots certify."""
    votes = np.zeros((60, 2, 1), dtype=int)
    certified = []
    for changed in (0, 1):
        votes[:, 1] = changed
        t = Trajectories.from_arrays(votes, answers=["A", "B"])
        certified.append(risk_controlled(t, ["fixed:1"], max_loss_vs_full=0.1).certified)
    assert certified == [True, False]


def test_a_split_pilot_orders_on_one_part_and_tests_on_the_other() -> None:
    shuffled = [FAMILY[i] for i in (7, 0, 4, 2, 6, 1, 5, 3)]
    result = risk_controlled(pilot(600), shuffled, max_loss_vs_full=0.1, order="split", rng=1)
    given = risk_controlled(pilot(600), shuffled, max_loss_vs_full=0.1)
    assert (result.certified, given.certified) == (True, False)
    assert result.n_units == 400
    assert sorted(result.to_frame()["rule"]) == sorted(map(str, shuffled))
    assert any("not in order from late to early" in note for note in given.notes)
    assert risk_controlled(pilot(600), shuffled, max_loss_vs_full=0.1, order="none").certified


def test_a_batch_rule_needs_batches() -> None:
    family = ["ks:0.01", "ks:0.05", "ks:0.5,patience=1"]
    with pytest.raises(ValueError, match=r"rules must decide each debate by itself.*got 'ks:0.01'"):
        risk_controlled(pilot(), family, max_loss_vs_full=0.1)
    with pytest.raises(ValueError, match="trajectories must have groups"):
        risk_controlled(pilot(), family, max_loss_vs_full=0.1, unit="group")
    t = pilot(600)
    batches = replace(t, groups=tuple(f"run {i // 20}" for i in range(600)))
    result = risk_controlled(batches, family, max_loss_vs_full=0.3, unit="group")
    assert (result.n_units, result.method) == (30, "betting")
    alone = from_text("ks:0.5,patience=1").stop_rounds(t.select(np.arange(20))).rounds
    verdicts = t.verdicts()[:20]
    differs = (verdicts[np.arange(20), alone - 1] != verdicts[:, -1]).mean()
    every = losses_of_rules(batches, [from_text("ks:0.5,patience=1")], "agreement", "debates", "group")
    assert set(every.sizes) == {20}
    assert every.sums[np.flatnonzero(np.unique(batches.groups) == "run 0")[0], 0] == pytest.approx(
        20 * differs
    )


def test_missing_verdicts_and_labels_are_neither_guessed_nor_lost_in_silence() -> None:
    votes = [
        [["A", "A"], ["A", "A"]],
        [[None, None], ["A", "A"]],
        [["A", "A"], [None, None]],
        [["B", "B"], ["A", "A"]],
    ]
    t = Trajectories.from_arrays(votes, ["A", "A", "A", None])
    agreement = risk_controlled(t, ["fixed:1"], max_loss_vs_full=0.5)
    assert (agreement.n_units, agreement.to_frame()["risk"].item()) == (3, pytest.approx(2 / 3))
    assert any("1 of 4 debates have no verdict at full depth" in note for note in agreement.notes)
    assert any("no verdict at a rule's stop" in note for note in agreement.notes)
    accuracy = risk_controlled(t, ["fixed:1"], max_loss_vs_full=0.5, target="accuracy")
    assert (accuracy.n_units, accuracy.to_frame()["risk"].item()) == (2, 0.5)
    assert any("1 of 4 debates have no label" in note for note in accuracy.notes)


def test_bad_input_gets_one_clear_line() -> None:
    t = pilot(10)
    for arguments, message in (
        ({"max_loss_vs_full": 0.0}, r"max_loss_vs_full must be > 0; got max_loss_vs_full=0.0"),
        ({"max_loss_vs_full": 0.1, "delta": 1.0}, r"delta must lie strictly between 0 and 1"),
        ({"max_loss_vs_full": 0.1, "method": "normal"}, r"method must be one of 'auto', 'binomial'"),
        ({"max_loss_vs_full": 0.1, "order": "best"}, r"order must be one of"),
        ({"max_loss_vs_full": 0.1, "unit": "debate"}, r"unit must be one of"),
        ({"max_loss_vs_full": 0.1, "mean_over": "questions"}, r"mean_over must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            risk_controlled(t, FAMILY, **arguments)  # type: ignore[arg-type]
    unlabelled = replace(t, label=np.full(10, -1, np.int32))
    with pytest.raises(ValueError, match="target must be 'agreement' on debates without labels"):
        risk_controlled(unlabelled, FAMILY, max_loss_vs_full=0.1, target="accuracy")
    with pytest.raises(ValueError, match="at least one debate"):
        risk_controlled(t.select([]), FAMILY, max_loss_vs_full=0.1)
    with pytest.raises(ValueError, match="at least one rule"):
        risk_controlled(t, [], max_loss_vs_full=0.1)
    with pytest.raises(ValueError, match="delta must lie strictly"):
        needed_debates(0.1, 0.0)
