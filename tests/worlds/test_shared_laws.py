"""Equations that the simulators and the synthetic agents share, worked out again from the worlds' docstrings.

Played and drawn debates come from the same functions, so comparing the two cannot see a wrong sign in one of them.
Here every such function meets numbers worked out by hand, or a second implementation in plain Python.
"""

from __future__ import annotations

import math
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
import pytest

from d3stats.agent import Message
from d3stats.worlds import (
    Conformity,
    Courtroom,
    DirichletCompound,
    LatentConcept,
    MixturePanel,
    Referees,
    Voter,
    courtroom,
    referees,
    simulate_debates,
)
from d3stats.worlds.conformity import chance_again, chance_decided, chances, draw_classes, shared_error
from d3stats.worlds.courtroom import case_words as court_words
from d3stats.worlds.latent_concept import log_gain, log_prior, predictive
from d3stats.worlds.mixture_panel import ability_in_round, mixtures_by_round, persistent
from d3stats.worlds.referees import heard_difference
from d3stats.worlds.streams import tell
from d3stats.worlds.voter import draw_ability, first_counts


def expit(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softmax(values: list[float]) -> list[float]:
    heap = [math.exp(v) for v in values]
    return [h / sum(heap) for h in heap]


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


# Referees: o(j) = q + b + lean(j) + shared_sd Z + role_sd Z(j)


TEAM = Referees(position_bias=0.25, shared_sd=2.0, role_sd=0.5, talk_noise=0.4, conformity=0.3)


@pytest.mark.parametrize(("first", "expected"), [("A", 4.3), ("B", 3.8)])
def test_an_opinion_is_quality_bias_lean_and_two_errors(first: str, expected: float) -> None:
    # 1 + lean 0.8 + 2 * 1.5 - 0.5 * 1.5 = 4.05, and 0.25 toward what is read first
    assert referees.opinion(TEAM, 1.0, 0.8, 1.5, -1.5, first) == pytest.approx(expected)


@pytest.mark.parametrize("term", ["quality", "lean", "shared", "own"])
def test_an_opinion_rises_with_each_of_its_terms(term: str) -> None:
    at: dict[str, Any] = {"quality": 0.0, "lean": 0.0, "shared": 0.0, "own": 0.0}
    low = referees.opinion(TEAM, *at.values(), "A")
    assert referees.opinion(TEAM, *(at | {term: 1.0}).values(), "A") > low


def test_who_is_read_first_gains_and_by_twice_the_bias_between_the_orders() -> None:
    for bias in (0.7, -0.7):
        world = Referees(position_bias=bias)
        a, b = (referees.opinion(world, 0.0, 0.0, 0.0, 0.0, first) for first in "AB")
        assert (a, b) == (bias, -bias)


@pytest.mark.parametrize(
    ("own", "heard", "level", "noise", "scores"),
    [
        (3.0, None, 7.0, 0.0, (8, 6)),  # x = 3: 8.5 and 5.5, to the even number
        (3.0, -2.0, 7.0, 0.0, (8, 6)),  # x = 0.7 * 3 - 0.3 * 2 = 1.5: 7.75 and 6.25
        (-3.0, 2.0, 7.0, 0.0, (6, 8)),
        (3.0, None, 7.0, -5.0, (8, 6)),  # x = 3 - 0.4 * 5 = 1: 7.5 and 6.5
        (3.0, None, 7.0, 5.0, (10, 4)),  # x = 5: 9.5 and 4.5
        (40.0, None, 7.0, 0.0, (10, 1)),
        (0.0, 10.0, 5.0, 0.0, (6, 4)),  # x = 3: 6.5 and 3.5
        (2.0, None, 4.2, 0.0, (5, 3)),
    ],
)
def test_scores_are_the_level_and_half_the_difference_each_way(
    own: float, heard: float | None, level: float, noise: float, scores: tuple[int, int]
) -> None:
    assert referees.spoken(TEAM, own, heard, level, noise) == scores


def test_who_hears_more_for_a_scores_a_higher() -> None:
    world = Referees(conformity=0.8, talk_noise=0)
    gaps = [a - b for a, b in (referees.spoken(world, 0.0, heard, 5.5, 0.0) for heard in (-6, -2, 2, 6))]
    assert gaps == sorted(gaps)
    assert gaps[0] < 0 < gaps[-1]


SAID = np.array([[[4.0, -2.0, 1.0], [3.0, 5.0, -8.0]]])
"""Differences by debate, turn and seat."""


@pytest.mark.parametrize(
    ("mode", "turn", "seat", "expected"),
    [
        ("one_by_one", 0, 0, None),
        ("one_by_one", 0, 2, (4 - 2) / 2),
        ("one_by_one", 1, 0, (-2 + 1) / 2),
        ("one_by_one", 1, 1, (3 + 1) / 2),
        ("one_by_one", 1, 2, (3 + 5) / 2),
        ("simultaneous", 0, 2, None),
        ("simultaneous", 1, 0, (-2 + 1) / 2),
        ("simultaneous", 1, 2, (4 - 2) / 2),
        ("simultaneous_with_summarizer", 0, 1, None),
        ("simultaneous_with_summarizer", 1, 1, (4 - 2 + 1) / 3 + 0.25),
    ],
)
def test_what_is_heard_is_the_mean_of_those_who_are_heard(
    mode: str, turn: int, seat: int, expected: float | None
) -> None:
    heard = referees._heard(mode, SAID, turn, seat, np.array([[9.0, 0.25]]))
    if expected is None:
        assert heard is None
    else:
        assert heard is not None
        assert heard == pytest.approx([expected])
    if mode == "one_by_one":
        order = [(t, j) for t in range(turn + 1) for j in range(3) if (t, j) < (turn, seat)]
        scores = {(t, j): {"A": {"x": 5 + SAID[0, t, j]}, "B": {"x": 5.0}} for t, j in order}
        seen = [Message(f"referee {j + 1}", t + 1, tell(9.0), scores=scores[t, j]) for t, j in order]
        assert heard_difference(seen, ("A", "B"), f"referee {seat + 1}") == expected


def test_the_label_of_a_pair_is_the_side_it_points_to_or_a_tie() -> None:
    exact = Referees(label_noise=0, gap_sd=2.0, tie_margin=0.5)
    quality, label = referees.draw_pairs(exact, 20_000, rng())
    assert [("A", "B", "tie")[x] for x in label] == [
        "tie" if abs(q) < 0.5 else "A" if q > 0 else "B" for q in quality
    ]
    assert quality.std() == pytest.approx(2.0, rel=0.03)
    assert (label == 2).mean() == pytest.approx(2 * NormalDist(0, 2).cdf(0.5) - 1, abs=0.015)
    quality, label = referees.draw_pairs(Referees(gap_sd=3.0, label_noise=4.0, tie_margin=0), 20_000, rng())
    # Two Normals of which one is part of the other agree in sign by the arc sine law.
    agree = 0.5 + math.asin(3 / 5) / math.pi
    assert ((label == 0) == (quality > 0)).mean() == pytest.approx(agree, abs=0.015)


def test_a_drawn_vote_is_for_the_answer_that_the_referee_scored_higher() -> None:
    talks = simulate_debates(Referees(panel=1), 300, 2, 3)
    assert talks.scores is not None
    gap = talks.scores[..., 0] - talks.scores[..., 1]
    assert (talks.votes[..., 0] == np.where(gap > 0, 0, np.where(gap < 0, 1, 2))).all()
    assert len(np.unique(talks.votes)) == 3


def test_a_prompt_of_a_referee_has_role_question_and_both_answers() -> None:
    world = Referees(instruction_words=100, question_words=20, answer_words=3)
    assert referees.case_words(world) == 126


# Courtroom


COURT = Courtroom(
    position_bias=1.5,
    verbosity_bias=2.0,
    self_preference=0.25,
    hidden=0.6,
    decay=0.5,
    improvement=4.0,
    skill=10.0,
    advocate_sd=3.0,
    advocate_correlation=0.36,
    base=12.0,
    noise=2.0,
    halo=0.64,
    ceiling=20,
    juror_shared=1.0,
    juror_persona=2.0,
    juror_noise=3.0,
)


@pytest.mark.parametrize(
    ("ratio", "own", "first", "expected"),
    [
        (0.0, False, "A", 1.5),
        (0.0, False, "B", -1.5),
        (0.5, False, "A", 2.5),
        (-0.5, False, "B", -2.5),
        (0.0, True, "B", -1.25),
        (0.5, True, "A", 2.75),
    ],
)
def test_the_reading_is_tilted_by_place_length_and_family(
    ratio: float, own: bool, first: str, expected: float
) -> None:
    assert courtroom.reading_bias(COURT, ratio, own, first) == pytest.approx(expected)


def test_feedback_brings_the_gap_to_light_and_adds_to_arguments() -> None:
    # 1 - 0.6 / 2^h, and 4 + 2 + 1 + ... points
    assert [courtroom.shown_share(COURT, h) for h in range(4)] == pytest.approx([0.4, 0.7, 0.85, 0.925])
    assert [courtroom.gain(COURT, h) for h in range(4)] == pytest.approx([0, 4, 6, 7])
    frozen = Courtroom(hidden=0.6, decay=0.0, improvement=4.0)
    assert [courtroom.shown_share(frozen, h) for h in range(3)] == pytest.approx([0.4, 1, 1])
    assert [courtroom.gain(frozen, h) for h in range(3)] == pytest.approx([0, 4, 4])


@pytest.mark.parametrize(
    ("scale", "side", "own", "expected"),
    [(1, 0, 0, 10), (1, 1, 0, 11.8), (1, 0, 1, 12.4), (1, 1, 1, 14.2), (2, 1, -1, 8.8), (1, -1, -1, 5.8)],
)
def test_an_argument_is_skill_and_two_errors_that_share_the_variance(
    scale: float, side: float, own: float, expected: float
) -> None:
    assert courtroom.argued(COURT, scale, side, own) == pytest.approx(expected)


def test_advocates_of_a_side_are_correlated_as_the_world_says() -> None:
    side, one, two = rng().standard_normal((3, 40_000))
    first, second = (courtroom.argued(COURT, 1.0, side, own) for own in (one, two))
    assert first.std() == pytest.approx(3.0, rel=0.02)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.36, abs=0.02)


@pytest.mark.parametrize("temperature", [0.5, 2.0, 50.0])
def test_several_arguments_become_one_by_the_softmax(temperature: float) -> None:
    x = [3.0, -1.0, 2.5]
    weights = softmax([v / temperature for v in x])
    joint = float(courtroom.aggregate(np.array(x), temperature))
    assert joint == pytest.approx(sum(w * v for w, v in zip(weights, x, strict=True)))
    assert fmean(x) < joint < max(x)
    assert float(courtroom.aggregate(np.array(x), 0)) == 3.0


@pytest.mark.parametrize(
    ("merit", "halo", "own", "mark"),
    [
        (0, 0, 0, 12),
        (9, 0, 0, 14),  # 13.5, to the even number
        (10, 0, 0, 14),  # 13.67
        (-10, 0, 0, 10),  # 10.33
        (0, 1, 0, 14),  # 12 + 2 * 0.8
        (0, 0, 1, 13),  # 12 + 2 * 0.6
        (0, -1, -1, 9),  # 12 - 2.8
        (0, 9, 9, 20),
        (0, -9, -9, 1),
        (60, 0, 0, 20),
    ],
)
def test_a_mark_is_the_level_a_sixth_of_the_merit_and_two_errors(
    merit: float, halo: float, own: float, mark: int
) -> None:
    assert courtroom.marks(COURT, merit, halo, own) == mark


def test_the_judge_gives_half_the_gap_to_each_side_and_the_argument_to_its_own() -> None:
    exact = Courtroom(noise=0, base=10.0, ceiling=20)
    gap = np.array([[12.0], [-12.0], [0.0], [0.0]])
    strength = np.array([[[0.0, 0.0]], [[0.0, 0.0]], [[18.0, 0.0]], [[0.0, 18.0]]])
    totals = courtroom._judge(exact, gap, strength, rng())
    # +-6 points of merit are one mark on each of six criteria; 18 points are three.
    assert totals[:, 0].tolist() == [[66, 54], [54, 66], [78, 60], [60, 78]]


def test_a_juror_misreads_by_three_errors() -> None:
    assert courtroom.juror_error(COURT, 1, 0, 0) == 1
    assert courtroom.juror_error(COURT, 0, 1, 0) == 2
    assert courtroom.juror_error(COURT, 0, 0, 1) == 3
    assert courtroom.juror_error(COURT, -1, -1, 1) == 0


def test_jurors_vote_for_what_they_read_as_better_on_the_mean_of_the_rounds() -> None:
    sure = Courtroom(panel=3, juror_shared=0, juror_persona=0, juror_noise=0)
    seen = np.array([[1.0, -3.0, 4.0], [-1.0, 3.0, -4.0]])
    errors = courtroom._standing_errors(sure, 2, rng())
    votes = courtroom._jury(sure, seen, np.zeros(2), errors, rng())
    # Means so far: 1, -1, 2/3; and the other way round.
    assert votes.tolist() == [[[0] * 3, [1] * 3, [0] * 3], [[1] * 3, [0] * 3, [1] * 3]]
    tilted = courtroom._jury(sure, np.zeros((2, 1)), np.array([0.5, -0.5]), errors, rng())
    assert tilted[:, 0, 0].tolist() == [0, 1]


def test_only_the_better_answer_has_the_upside() -> None:
    world = Courtroom(upside=0.0, skill=2.0, improvement=0.0, advocate_sd=5.0)
    strength = courtroom._arguments(world, np.ones((2, 2)), np.array([True, False]), 3, rng())
    assert (strength[0, :, 0] == 2).all()
    assert (strength[1, :, 1] == 2).all()
    assert not (strength[0, :, 1] == 2).any()
    assert not (strength[1, :, 0] == 2).any()


def test_jurors_and_judge_lean_to_the_same_arguments() -> None:
    quiet: dict[str, Any] = dict.fromkeys(
        ("position_bias", "length_sd", "own_family", "juror_shared", "juror_persona", "juror_noise", "noise"),
        0,
    )
    debates = simulate_debates(Courtroom(categories=[("x", 1, 0, 0)], advocate_sd=8, **quiet), 300, 1, 3)
    assert debates.scores is not None
    gap = debates.scores[:, 0, 0] - debates.scores[:, 0, 1]
    assert (debates.votes[gap > 0, 0] == 0).all()
    assert (debates.votes[gap < 0, 0] == 1).all()
    assert min((gap > 0).sum(), (gap < 0).sum()) > 50


def test_an_item_is_labelled_by_its_gap_and_the_error_of_who_labels_it() -> None:
    one: Any = [("only", 1, 6.0, 2.0)]
    exact = courtroom.draw_items(Courtroom(categories=one, label_noise=0), 20_000, rng())
    assert ((exact.label == 0) == (exact.quality_gap > 0)).all()
    assert (exact.label == 0).mean() == pytest.approx(0.5, abs=0.015)
    assert abs(exact.quality_gap).mean() == pytest.approx(6.0, abs=0.06)
    noisy = courtroom.draw_items(Courtroom(categories=[("x", 1, 2.0, 0.0)], label_noise=4.0), 20_000, rng())
    right = ((noisy.label == 0) == (noisy.quality_gap > 0)).mean()
    assert right == pytest.approx(NormalDist().cdf(2 / 4), abs=0.015)
    level = courtroom.draw_items(Courtroom(categories=[("x", 1, 0.0, 0.0)], label_noise=0), 4_000, rng())
    assert ((level.label == 0) == ~np.signbit(level.quality_gap)).all()


def test_items_have_the_categories_lengths_and_families_of_the_world() -> None:
    rows: Any = [("rare", 1, 1.0, 0.0), ("often", 3, 9.0, 0.0)]
    items = courtroom.draw_items(Courtroom(categories=rows, length_sd=0.7, own_family=0.2), 20_000, rng())
    assert (items.category == 1).mean() == pytest.approx(0.75, abs=0.015)
    assert set(abs(items.quality_gap[items.category == 1])) == {9.0}
    assert items.log_length_ratio.std() == pytest.approx(0.7, rel=0.03)
    assert items.own_family.mean() == pytest.approx(0.2, abs=0.015)


def test_a_prompt_of_the_court_has_role_question_and_two_answers_of_unequal_length() -> None:
    world = Courtroom(instruction_words=80, question_words=40, answer_words=120)
    assert float(court_words(world, 0.0)) == pytest.approx(80 + 40 + 240)
    for ratio in (-0.8, 0.8):
        long, short = 120 * math.exp(0.4), 120 * math.exp(-0.4)
        assert float(court_words(world, ratio)) == pytest.approx(80 + 40 + long + short)


# Conformity


PANEL = Conformity(
    panel=4,
    difficulties=((0.75, 1.0), (0.25, -2.0)),
    skill=(0.0, 0.0, 0.5, 0.5),
    stubbornness=0.4,
    conformity=2.0,
    shared_sd=0.0,
)


def test_an_opening_is_right_by_skill_and_easiness() -> None:
    of = chances(PANEL)
    for d, easiness in enumerate((1.0, -2.0)):
        for k, skill in enumerate((0.0, 0.5)):
            assert of.opening[d, 0, k] == pytest.approx(expit(easiness + skill))


@pytest.mark.parametrize("right", range(5))
@pytest.mark.parametrize("own", [0, 1])
def test_an_agent_keeps_its_vote_or_decides_again_with_the_crowd(right: int, own: int) -> None:
    of = chances(PANEL)
    for d, easiness in enumerate((1.0, -2.0)):
        for k, skill in enumerate((0.0, 0.5)):
            again = expit(easiness + skill + 2.0 * (2 * right / 4 - 1))
            expected = 0.4 * own + 0.6 * again
            assert chance_decided(PANEL, easiness + skill, right / 4) == pytest.approx(again)
            assert chance_again(PANEL, easiness + skill, right / 4, own) == pytest.approx(expected)
            assert of.again[d, 0, k, right, own] == pytest.approx(expected)


def test_a_crowd_pulls_its_way_and_contrarians_go_the_other() -> None:
    shares = [0.0, 0.25, 0.5, 1.0]
    with_it = [chance_decided(PANEL, 0.0, share) for share in shares]
    against = [chance_decided(Conformity(conformity=-2.0), 0.0, share) for share in shares]
    assert with_it == sorted(with_it)
    assert against == sorted(against, reverse=True)
    assert with_it[2] == against[2] == 0.5


def test_the_shared_error_has_the_moments_of_its_normal_and_is_symmetric() -> None:
    points, mass = shared_error(Conformity(shared_sd=0.7, shared_points=5))
    assert mass.sum() == pytest.approx(1)
    assert [float((mass * points**k).sum()) for k in (1, 2, 3, 4)] == pytest.approx(
        [0, 0.49, 0, 3 * 0.49**2], abs=1e-12
    )
    assert [x.tolist() for x in shared_error(Conformity(shared_sd=0))] == [[0.0], [1.0]]
    of = chances(Conformity(shared_sd=0.7, shared_points=3, difficulties=((1.0, 0.3),)))
    points, _ = shared_error(Conformity(shared_sd=0.7, shared_points=3))
    assert of.opening[0, :, 0] == pytest.approx([expit(0.3 + u) for u in points])


def test_classes_come_as_often_as_the_world_says() -> None:
    of = chances(Conformity(panel=4, difficulties=((0.75, 1.0), (0.25, -2.0)), shared_points=3))
    d, u = draw_classes(of, 20_000, rng())
    assert (d == 0).mean() == pytest.approx(0.75, abs=0.015)
    assert [(u == q).mean() for q in range(3)] == pytest.approx(of.shared.tolist(), abs=0.015)


# Voter, Dirichlet, latent concept, mixture


@pytest.mark.parametrize(
    "world", [Voter(accuracy=0.7, precision=3), DirichletCompound(accuracy=0.7, precision=3)]
)
def test_abilities_follow_a_beta_law_with_the_accuracy_as_mean(world: Voter | DirichletCompound) -> None:
    ability = draw_ability(world, 40_000, rng())
    assert ability.mean() == pytest.approx(0.7, abs=0.01)
    assert ability.var() == pytest.approx(0.7 * 0.3 / (3 + 1), rel=0.05)


def test_everybody_starts_with_counts_by_ability_the_right_answer_first() -> None:
    world = DirichletCompound(n_answers=4, strength=6.0)
    counts = first_counts(world, np.array([0.5, 1.0, 0.1]))
    assert counts == pytest.approx(np.array([[3, 1, 1, 1], [6, 0, 0, 0], [0.6, 1.8, 1.8, 1.8]]))


def posterior(world: LatentConcept, heard: list[int]) -> list[float]:
    """Bayes' rule, one response after the other."""
    m, own = world.n_concepts, world.clarity
    belief = [world.prior] + [(1 - world.prior) / (m - 1)] * (m - 1)
    for z in heard:
        belief = [b * (own if k == z else (1 - own) / (m - 1)) for k, b in enumerate(belief)]
        belief = [b / sum(belief) for b in belief]
    return belief


@pytest.mark.parametrize("heard", [[], [0], [1], [0, 0, 2], [2, 1, 1, 0]])
@pytest.mark.parametrize(("prior", "clarity"), [(0.5, 0.8), (0.2, 0.6), (0.7, 0.2)])
def test_a_latent_belief_is_bayes_rule_and_a_response_its_predictive(
    heard: list[int], prior: float, clarity: float
) -> None:
    world = LatentConcept(n_concepts=3, prior=prior, clarity=clarity)
    log_belief = np.array([log_prior(world), 0.0, 0.0])
    for z in heard:
        log_belief[z] += log_gain(world)
    belief = posterior(world, heard)
    assert softmax(log_belief.tolist()) == pytest.approx(belief)
    expected = [
        sum(b * (clarity if k == z else (1 - clarity) / 2) for k, b in enumerate(belief)) for z in range(3)
    ]
    assert predictive(world, log_belief) == pytest.approx(expected)


def test_a_mixture_drifts_in_log_odds_log_weights_and_log_precisions() -> None:
    world = MixturePanel(
        weights=(0.75, 0.25),
        means=(0.8, 0.3),
        precisions=(7.0, 4.0),
        weight_drift=(-0.5, 0.5),
        mean_drift=(0.4, -0.2),
        precision_drift=(0.1, -0.3),
    )
    law = mixtures_by_round(world, 3)
    for t in range(3):
        heap = [0.75 * math.exp(-0.5 * t), 0.25 * math.exp(0.5 * t)]
        assert law.weight[t] == pytest.approx([h / sum(heap) for h in heap])
        means = [expit(math.log(4) + 0.4 * t), expit(math.log(3 / 7) - 0.2 * t)]
        precisions = [7 * math.exp(0.1 * t), 4 * math.exp(-0.3 * t)]
        assert law.alpha[t] == pytest.approx([m * r for m, r in zip(means, precisions, strict=True)])
        assert law.beta[t] == pytest.approx([(1 - m) * r for m, r in zip(means, precisions, strict=True)])


def test_an_ability_is_its_quantile_in_its_component() -> None:
    # Beta(2, 1) has the distribution function p^2, Beta(1, 2) has 1 - (1 - p)^2.
    law = mixtures_by_round(MixturePanel(weights=(0.75, 0.25), means=(2 / 3, 1 / 3), precisions=(3, 3)), 1)
    cut = NormalDist().inv_cdf(0.75)
    which = np.array([cut - 0.01, cut - 2.0, cut + 0.01, cut + 1.0])
    quantile = np.array([NormalDist().inv_cdf(u) for u in (0.25, 0.81, 0.36, 0.75)])
    found = ability_in_round(law, 0, which, quantile)
    assert found == pytest.approx([0.5, 0.9, 1 - math.sqrt(0.64), 1 - math.sqrt(0.25)])


def test_what_persists_is_the_correlation_between_rounds() -> None:
    assert persistent(0.64, 1.0, 0.0) == pytest.approx(0.8)
    assert persistent(0.64, 0.0, 1.0) == pytest.approx(0.6)
    assert persistent(1.0, -1.5, 7.0) == -1.5
    assert persistent(0.0, 7.0, -1.5) == -1.5
    kept, one, two = rng().standard_normal((3, 40_000))
    first, second = persistent(0.3, kept, one), persistent(0.3, kept, two)
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.3, abs=0.02)
    assert first.std() == pytest.approx(1.0, rel=0.02)
