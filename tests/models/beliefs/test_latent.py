"""Beliefs over concepts, beliefs that count answers, and one vote against a debate to consensus."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import d3stats.worlds
from d3stats.models.beliefs import count_pmf, latent, majority_accuracy
from d3stats.models.beliefs.latent import (
    amplifies,
    belief_after,
    belief_from_counts,
    belief_law,
    consensus_probability,
    dirichlet_expected_belief,
    expected_belief,
    fresh_share_needed,
    is_martingale,
    panel_drift,
    panel_drift_complete,
    vote_or_consensus,
)
from d3stats.worlds import DirichletCompound, LatentConcept, Voter, simulate_debates


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """A prior above 0, likelihoods above 0, and which concept is true."""
    concepts, kinds = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    prior = rng.dirichlet(np.ones(concepts)) * 0.98 + 0.02 / concepts
    table = rng.dirichlet(np.ones(kinds), size=concepts) * 0.98 + 0.02 / kinds
    return prior, table / table.sum(axis=1, keepdims=True), draw(st.integers(0, concepts - 1))


def by_all_sequences(
    prior: np.ndarray, table: np.ndarray, truth: int, n: int, fresh: float, q: np.ndarray | None = None
) -> float:
    """The plain reference: every sequence of responses by itself, one update after the other."""
    mean = 0.0
    for sequence in product(range(table.shape[1]), repeat=n):
        belief, chance = prior.copy(), 1.0
        for z in sequence:
            law = belief @ table
            chance *= q[z] if q is not None else fresh * table[truth, z] + (1 - fresh) * law[z]
            belief = belief * table[:, z] / law[z]
        mean += chance * belief[truth]
    return mean


@given(tables(), st.integers(0, 4), st.sampled_from([0.0, 0.3, 1.0]))
def test_the_exact_sum_over_counts_is_the_sum_over_all_sequences(
    world: tuple[np.ndarray, np.ndarray, int], n: int, fresh: float
) -> None:
    prior, table, truth = world
    found = expected_belief(prior, table, truth, "mixed", n_responses=n, fresh_share=fresh)
    assert found == pytest.approx(by_all_sequences(prior, table, truth, n, fresh), abs=1e-12)
    q = np.full(table.shape[1], 1 / table.shape[1])
    third = expected_belief(prior, table, truth, q, n_responses=n)
    assert third == pytest.approx(by_all_sequences(prior, table, truth, n, 0.0, q), abs=1e-12)


@given(tables(), st.integers(1, 12))
def test_fresh_evidence_never_lowers_the_truth_on_average_and_ones_own_is_a_martingale(
    world: tuple[np.ndarray, np.ndarray, int], n: int
) -> None:
    prior, table, truth = world
    assert expected_belief(prior, table, truth, "fresh", n_responses=n) >= prior[truth] - 1e-12
    assert expected_belief(prior, table, truth, "self", n_responses=n) == pytest.approx(
        prior[truth], abs=1e-12
    )


@given(tables(), st.integers(0, 4))
def test_words_said_at_once_are_drawn_from_the_prediction_at_the_start(
    world: tuple[np.ndarray, np.ndarray, int], n: int
) -> None:
    prior, table, truth = world
    found = belief_law(prior, table, truth, "simultaneous", n_responses=n)
    assert found.evidence == "simultaneous"
    summed = by_all_sequences(prior, table, truth, n, 0.0, prior @ table)
    assert found.mean == pytest.approx(summed, abs=1e-12)
    if n <= 1:
        assert found.mean == pytest.approx(prior[truth], abs=1e-12)


@pytest.mark.parametrize("clarity", [0.55, 0.8, 0.99])
def test_words_said_at_once_push_a_belief_to_the_side_that_it_leans_to(clarity: float) -> None:
    table = [[clarity, 1 - clarity], [1 - clarity, clarity]]

    def after(prior: float, n: int) -> float:
        return expected_belief([prior, 1 - prior], table, 0, "simultaneous", n_responses=n)

    for n in (2, 3, 9):
        for prior in (0.51, 0.7, 0.95):
            assert after(prior, n) > prior + 1e-6
            assert after(1 - prior, n) == pytest.approx(1 - after(prior, n), abs=1e-12)
        assert after(0.5, n) == pytest.approx(0.5, abs=1e-12)


@given(tables())
def test_one_fresh_response_gives_the_closed_form(world: tuple[np.ndarray, np.ndarray, int]) -> None:
    prior, table, truth = world
    closed = prior[truth] * (table[truth] ** 2 / (prior @ table)).sum()
    assert expected_belief(prior, table, truth) == pytest.approx(closed, abs=1e-13)


@given(tables(), st.lists(st.integers(0, 1), max_size=30))
def test_the_belief_rises_exactly_when_the_margin_is_positive(
    world: tuple[np.ndarray, np.ndarray, int], heard: list[int]
) -> None:
    prior, table, truth = world
    found = amplifies(prior, table, truth, heard)
    after = belief_after(prior, table, heard)[truth]
    assert found.after == pytest.approx(after, rel=1e-9)
    assert found.margin == pytest.approx(np.log(after / prior[truth]), abs=1e-9)
    if abs(after - prior[truth]) > 1e-9:
        assert found.rises == (after > prior[truth])


def test_evidence_that_balances_does_not_count_as_a_rise() -> None:
    table = [[0.9, 0.1], [0.1, 0.9]]
    for n in (1, 7, 1000):
        assert not amplifies([0.5, 0.5], table, 0, counts=[n, n]).rises
        assert amplifies([0.5, 0.5], table, 0, counts=[n + 1, n]).rises


def test_many_sequences_at_once_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(3)
    prior, table = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4), size=3)
    heard = rng.integers(0, 4, size=(5, 2, 6))
    whole = belief_after(prior, table, heard)
    assert whole.shape == (5, 2, 3)
    for i, j in np.ndindex(5, 2):
        assert np.allclose(whole[i, j], belief_after(prior, table, heard[i, j]), rtol=1e-13)
    counts = (heard[..., None] == np.arange(4)).sum(axis=2)
    assert np.allclose(belief_from_counts(prior, table, counts), whole, rtol=1e-13)
    found = amplifies(prior, table, 1, heard)
    assert found.rises.shape == (5, 2)
    assert np.allclose(found.after, whole[..., 1], rtol=1e-12)


def test_a_thousand_responses_neither_overflow_nor_lose_mass() -> None:
    law = belief_law([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 0, "self", n_responses=400)
    assert law.chance.sum() == pytest.approx(1, abs=1e-12)
    assert law.mean == pytest.approx(0.5, abs=1e-12)
    # sure, and right only half of the time
    assert law.prob_rises == pytest.approx(0.5, abs=0.01)
    assert belief_from_counts([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], [100_000, 0]).tolist() == [1.0, 0.0]


def test_an_adversary_is_held_off_by_the_least_share_of_fresh_responses_and_no_less() -> None:
    prior, table, other = [0.3, 0.7], [[0.7, 0.3], [0.4, 0.6]], [0.0, 1.0]
    share = fresh_share_needed(prior, table, 0, other)
    fresh, harm = expected_belief(prior, table, 0), expected_belief(prior, table, 0, other)
    assert share * fresh + (1 - share) * harm == pytest.approx(0.3, abs=1e-13)
    assert 0 < share < 1
    assert fresh_share_needed(prior, table, 0, [1.0, 0.0]) == 0.0
    alike = [[0.5, 0.5], [0.5, 0.5]]
    assert fresh_share_needed(prior, alike, 0, other) == 0.0


def test_drawn_debates_move_the_belief_as_the_exact_law_says() -> None:
    """The panel's votes of round 2 are drawn by the belief after the responses of round 1."""
    n, clarity = 40_000, 0.8
    table = [[clarity, 1 - clarity], [1 - clarity, clarity]]
    for evidence in ("fresh", "self"):
        world = LatentConcept(panel=3, prior=0.4, clarity=clarity, evidence=evidence)
        s, _ = simulate_debates(world, n, 2, 11).successes_trials()
        first_of_round_2 = (
            simulate_debates(world, n, 2, 11).votes[:, 1, 0] == simulate_debates(world, n, 2, 11).label
        )
        law = expected_belief([0.4, 0.6], table, 0, evidence, n_responses=3)
        chance = clarity * law + (1 - clarity) * (1 - law)
        assert abs(first_of_round_2.mean() - chance) < 4 * np.sqrt(chance * (1 - chance) / n)
        assert s.shape == (n, 2)


# ---------------------------------------------------------------- beliefs that count answers


def test_the_next_belief_is_the_mean_over_every_answer_that_can_be_heard() -> None:
    rng = np.random.default_rng(5)
    alpha = rng.gamma(2.0, size=(3, 2))
    graph = np.array([[0, 1, 1], [1, 0, 0], [0, 2, 1]], float)
    mu = alpha / alpha.sum(axis=1, keepdims=True)
    mean = np.zeros_like(mu)
    for said in product(range(2), repeat=3):
        chance = np.prod([mu[i, said[i]] for i in range(3)])
        after = alpha + graph @ np.eye(2)[list(said)]
        mean += chance * after / after.sum(axis=1, keepdims=True)
    assert np.allclose(dirichlet_expected_belief(alpha, graph), mean, atol=1e-14)


def test_two_rounds_ahead_is_the_mean_over_both_rounds() -> None:
    alpha = np.array([[2.0, 1.0], [0.5, 3.0]])
    mean = np.zeros((2, 2))
    mu = alpha / alpha.sum(axis=1, keepdims=True)
    for said in product(range(2), repeat=2):
        chance = mu[0, said[0]] * mu[1, said[1]]
        mean += chance * dirichlet_expected_belief(alpha + np.eye(2)[list(said)][::-1])
    assert np.allclose(dirichlet_expected_belief(alpha, n_rounds=2), mean, atol=1e-14)


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_the_panel_drifts_by_the_closed_form_on_the_complete_graph(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    beliefs, strengths = rng.random(n), rng.gamma(1.0, size=n) + 0.1
    alpha = np.stack([strengths * beliefs, strengths * (1 - beliefs)], axis=1)
    assert float(panel_drift(alpha)) == pytest.approx(panel_drift_complete(beliefs, strengths), abs=1e-13)
    equal = panel_drift_complete(beliefs, np.full(n, 3.0))
    assert equal == pytest.approx(0, abs=1e-14)
    covariance = np.cov(beliefs, 1 / (strengths + n - 1), bias=True)[0, 1]
    assert panel_drift_complete(beliefs, strengths) == pytest.approx(-n * covariance, abs=1e-13)


def test_an_agent_is_a_martingale_iff_its_neighbours_believe_the_same_on_average() -> None:
    alpha = [[6.0, 4.0], [1.0, 1.0], [7.0, 3.0], [1.0, 0.0]]
    graph = [[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 0, 0]]
    found = is_martingale(alpha, graph)
    assert found.holds.tolist() == [True, True, False, False]  # .6 = (.5 + .7) / 2; and one who hears nobody
    assert np.sign(found.margin).tolist() == [0, 0, 1, -1]
    ahead = dirichlet_expected_belief(alpha, graph)[:, 0]
    assert np.allclose(found.drift, ahead - [0.6, 0.5, 0.7, 1.0], atol=1e-14)
    assert found.to_frame()["agent"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("degree", [None, 2])
def test_drawn_panels_follow_the_expected_belief_given_their_past(degree: int | None) -> None:
    """Rebuild every agent's counts from the votes, and predict its next vote."""
    n, panel, p, strength = 20_000, 5, 0.6, 3.0
    world = DirichletCompound(panel=panel, accuracy=p, precision=1e9, strength=strength, degree=degree)
    t = simulate_debates(world, n, 3, 17)
    right = (t.votes == t.label[:, None, None]).astype(float)
    graph = np.zeros((panel, panel))
    for i in range(panel):
        for step in range(1, (panel - 1 if degree is None else degree) + 1):
            graph[i, (i + step) % panel] = 1
    alpha = np.tile([strength * p, strength * (1 - p)], (n, panel, 1))
    for r in range(2):
        said = np.stack([right[:, r], 1 - right[:, r]], axis=-1)
        # E of the belief after round r given the counts before it, against the belief after it
        ahead = dirichlet_expected_belief(alpha, graph)[..., 0]
        alpha = alpha + graph @ said
        after = alpha[..., 0] / alpha.sum(axis=-1)
        for gap in ((after - ahead), right[:, r + 1] - after):
            means = gap.mean(axis=1)
            assert abs(means.mean()) < 4 * means.std() / np.sqrt(n)
    agents = is_martingale(alpha, graph)
    drift, share = agents.drift, alpha[..., 0] / alpha.sum(axis=-1)
    assert agents.holds.mean() < 0.5
    assert np.corrcoef(drift.ravel(), share.ravel())[0, 1] < 0
    assert agents.panel_drift.shape == (n,)


# ---------------------------------------------------------------- one vote or consensus


def test_the_law_of_the_count_is_the_sum_over_all_votes() -> None:
    p = np.array([0.9, 0.6, 0.55, 0.2])
    brute = np.zeros(5)
    for votes in product((0, 1), repeat=4):
        brute[sum(votes)] += np.prod(np.where(votes, p, 1 - p))
    assert np.allclose(count_pmf(p), brute, atol=1e-15)
    assert majority_accuracy(p) == pytest.approx(brute[3:].sum() + brute[2] / 2)
    assert majority_accuracy(p, ties=0.0) == pytest.approx(brute[3:].sum())


@given(st.floats(0.501, 0.999), st.integers(1, 30))
def test_a_vote_at_once_beats_consensus_wherever_condorcet_holds(p: float, half: int) -> None:
    panel = 2 * half + 1
    found = vote_or_consensus(p, panel)
    assert found.advantage > 0
    assert found.consensus == pytest.approx(p)
    assert vote_or_consensus(1 - p, panel).advantage == pytest.approx(-found.advantage, abs=1e-12)


def test_debates_of_unlike_difficulty_may_turn_the_advantage() -> None:
    """Half of the questions right by all, half by just a minority: the majority wastes the minority's votes."""
    assert vote_or_consensus(pmf=[0, 0, 0.5, 0, 0, 0.5]).advantage == pytest.approx(0.5 - 0.7)


def test_voters_drawn_to_consensus_end_right_as_often_as_theorem_d_says() -> None:
    world = Voter(panel=5, accuracy=0.64, precision=4.0)
    s, n = simulate_debates(world, 4000, 120, 23).successes_trials()
    end = s[:, -1] / n[:, -1]
    assert np.isin(end, (0, 1)).mean() > 0.999
    truth = consensus_probability(0.64)
    assert abs((end == 1).mean() - truth) < 4 * np.sqrt(truth * (1 - truth) / 4000)
    first = np.bincount(s[:, 0], minlength=6) / 4000
    assert vote_or_consensus(pmf=first).majority > (end == 1).mean()


# ---------------------------------------------------------------- bad input, in words


def test_the_simulator_and_the_model_share_one_bayes_rule() -> None:
    assert d3stats.worlds.belief_after is latent.belief_after


GOOD = [[0.8, 0.2], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: belief_after([0.5, 0.6], GOOD, [0]), "prior must be 2 weights that sum to 1"),
        (lambda: belief_after([0.5, np.nan], GOOD, [0]), "prior must be 2 weights"),
        (lambda: belief_after([0.5, 0.5], [[0.8, 0.1], [0.2, 0.8]], [0]), "sum to 1 in each row.*concept 0"),
        (lambda: belief_after([0.5, 0.5], [[1.0, 0.0], [0.2, 0.8]], [0]), "likelihoods must .* be > 0"),
        (lambda: belief_after([0.5, 0.5], [0.8, 0.2], [0]), r"got shape \(2,\)"),
        (lambda: belief_after([0.5, 0.5], [[0.8, 0.2], [1.0]], [0]), "rectangular"),
        (lambda: belief_after([0.5, 0.5], GOOD, [0, 2]), "responses must be below 2; got 2"),
        (lambda: belief_after([0.5, 0.5], GOOD, [0, -1]), "responses must be >= 0; got responses=-1"),
        (lambda: belief_after([0.5, 0.5], GOOD, 1), "responses must be a sequence"),
        (lambda: belief_from_counts([0.5, 0.5], GOOD, [1, 2, 3]), r"counts must have shape \(\.\.\., 2\)"),
        (
            lambda: belief_from_counts([0.5, 0.5], GOOD, [0.5, 1]),
            "counts must be whole numbers; got counts=0.5",
        ),
        (lambda: expected_belief([0.5, 0.5], GOOD, 2), "truth must be below 2"),
        (lambda: expected_belief([0.0, 1.0], GOOD, 0), "prior of the truth must be > 0"),
        (lambda: expected_belief([0.5, 0.5], GOOD, 0, "stale"), "evidence must be one of"),
        (lambda: expected_belief([0.5, 0.5], GOOD, 0, [0.5, 0.6]), "evidence must be 2 probabilities"),
        (lambda: expected_belief([0.5, 0.5], GOOD, 0, "mixed"), "fresh_share must be given"),
        (lambda: expected_belief([0.5, 0.5], GOOD, 0, fresh_share=0.5), "fresh_share must be given"),
        (
            lambda: expected_belief([0.5, 0.5], GOOD, 0, "mixed", fresh_share=1.5),
            "fresh_share must lie between",
        ),
        (lambda: expected_belief([0.5, 0.5], GOOD, 0, [0.5, 0.5], fresh_share=0.5), "must be left out"),
        (lambda: belief_law([1.0], np.full((1, 20), 0.05), 0, n_responses=30), "at most 2000000 counts"),
        (lambda: dirichlet_expected_belief([1.0, 2.0]), "alpha must have shape"),
        (lambda: dirichlet_expected_belief([[1.0, -2.0]]), "alpha must be finite and >= 0"),
        (lambda: dirichlet_expected_belief([[1.0, 1.0], [0.0, 0.0]]), "got 0 for agent 1"),
        (lambda: dirichlet_expected_belief([[1.0, 1.0]], [[0, 1]]), r"neighbours must have shape \(1, 1\)"),
        (lambda: is_martingale([[1.0, 1.0]], answer=2), "answer must be below 2"),
        (lambda: panel_drift_complete([0.5, 1.5], [1.0, 1.0]), "beliefs must be"),
        (lambda: panel_drift_complete([0.5, 0.5], [1.0, 0.0]), "strengths must be > 0"),
        (lambda: majority_accuracy(0.7), "panel must be given"),
        (lambda: majority_accuracy(1.7, 3), "accuracy must lie between 0 and 1"),
        (lambda: majority_accuracy([0.7, 0.8], 3), "panel must be the number of accuracies"),
        (lambda: vote_or_consensus(pmf=[0.5, 0.6]), "pmf must have a value for each count"),
    ],
)
def test_bad_input_is_refused_in_words(call: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call()  # type: ignore[operator]


def test_both_or_neither_of_two_inputs_is_refused() -> None:
    with pytest.raises(TypeError, match="one of responses and counts"):
        amplifies([0.5, 0.5], GOOD, 0)
    with pytest.raises(TypeError, match="one of accuracy and pmf"):
        vote_or_consensus(0.5, 3, pmf=[0.5, 0.5])
