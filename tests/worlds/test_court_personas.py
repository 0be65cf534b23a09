"""Personas of a courtroom: effects by category, diversity, wording of prompts, and the exact law of the votes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from d3stats.agent import Case, Refused, Request, Slot
from d3stats.worlds import (
    Assembly,
    Courtroom,
    JurorPersona,
    courtroom_items,
    from_table,
    jury_law,
    simulate_debates,
)
from d3stats.worlds.base import to_toml
from d3stats.worlds.courtroom import CourtAgent

TWO = [("ethics", 1, 6.0, 3.0), ("math", 2, 3.0, 2.0)]
POOL = [
    JurorPersona("nurse", 1.0, (2.0, 0.0)),
    JurorPersona("judge", -1.0),
    JurorPersona("actuary", 0.0, (-1.0, 1.5)),
    JurorPersona("teacher", 0.5, (0.0, 0.0)),
    JurorPersona("mediator", 0.2, (1.0, -1.0)),
]


def court(**settings: Any) -> Courtroom:
    return Courtroom(**({"categories": TWO, "personas": POOL, "panel": len(POOL)} | settings))


def right(world: Courtroom, n: int, rounds: int, seed: int) -> np.ndarray:
    t = simulate_debates(world, n, rounds, seed)
    return np.asarray(t.votes[:, rounds - 1, : world.panel] == t.label[:, None])


# ---------------------------------------------------------------- the world


def test_personas_without_effect_who_share_nothing_change_no_vote() -> None:
    plain = simulate_debates(Courtroom(), 1500, 3, 7)
    named = simulate_debates(Courtroom(personas=[(f"role {i}",) for i in range(5)]), 1500, 3, 7)
    np.testing.assert_array_equal(plain.votes, named.votes)
    np.testing.assert_array_equal(plain.scores, named.scores)


@pytest.mark.parametrize("sizes", [[1100, 900], [1, 1999], [500] * 4])
def test_debates_with_personas_are_the_same_however_they_are_cut(sizes: list[int]) -> None:
    world = court(persona_diversity=0.5, prompt_sd=1.0)
    whole, first = simulate_debates(world, 2000, 2, 5), 0
    for size in sizes:
        part = simulate_debates(world, size, 2, 5, first=first)
        np.testing.assert_array_equal(part.votes, whole.votes[first : first + size])
        np.testing.assert_array_equal(part.scores, whole.scores[first : first + size])
        first += size


def test_an_effect_helps_in_its_category_alone() -> None:
    one = [JurorPersona("nurse", 0.0, (5.0, 0.0)), JurorPersona("judge")]
    base = court(personas=[("a",), ("b",)], panel=2)
    ethics = courtroom_items(base, 4000, 3)["category"].to_numpy() == "ethics"
    before, after = (right(replace(base, personas=p), 4000, 1, 3) for p in (base.personas, one))
    assert after[ethics, 0].mean() > before[ethics, 0].mean() + 0.1
    np.testing.assert_array_equal(after[~ethics], before[~ethics])
    np.testing.assert_array_equal(after[:, 1], before[:, 1])


def test_diversity_changes_how_often_jurors_agree_and_no_jurors_own_accuracy() -> None:
    laws = [jury_law(court(persona_diversity=d)) for d in (0.0, 0.5, 1.0)]
    for law in laws[1:]:
        np.testing.assert_allclose(law.accuracy(), laws[0].accuracy(), atol=1e-9)
    agreement = [law.agreement()[0, 1] for law in laws]
    assert agreement[0] > agreement[1] + 0.02 > agreement[2] + 0.04


QUIET: dict[str, Any] = {
    "noise": 0.0,
    "advocate_sd": 0.0,
    "base": 10.0,
    "improvement": 0.0,
    "position_bias": 0.0,
}


def test_a_wording_moves_all_scores_of_an_answer_alike_in_every_round_and_run() -> None:
    world = Courtroom(prompt_sd=6.0, hidden=0.0, categories=[("x", 1, 0, 0)], **QUIET)
    wordings = [simulate_debates(replace(world, wording=w), 3000, 2, 5).scores for w in range(4)]
    np.testing.assert_array_equal(wordings[0][:, 0], wordings[0][:, 1])
    # Six marks move alike, each by a sixth, and are rounded: a variance of 6^2 + 6^2 / 12 for each answer.
    moved = np.stack(wordings)[:, :, 0, 0]
    assert moved.var(axis=0, ddof=1).mean() == pytest.approx(36 + 36 / 12, rel=0.05)
    np.testing.assert_array_equal(simulate_debates(replace(world, run=3), 3000, 2, 5).scores, wordings[0])
    assert abs(np.corrcoef(wordings[0][:, 0, 0], wordings[0][:, 0, 1])[0, 1]) < 0.05


def test_advocates_with_a_wording_each_are_moved_by_the_best_of_them() -> None:
    """The largest of three standard normal variables has the variance .5595."""
    world = Courtroom(
        prompt_sd=12.0,
        prompt_alike=0.0,
        advocates=3,
        hidden=0.0,
        protocol="more",
        categories=[("x", 1, 0, 0)],
        **QUIET,
    )
    moved = np.stack(
        [simulate_debates(replace(world, wording=w), 3000, 1, 5).scores[:, 0, 0] for w in range(6)]
    )
    assert moved.var(axis=0, ddof=1).mean() == pytest.approx(0.5595 * 144 + 36 / 12, rel=0.05)
    one_for_all = replace(world, prompt_alike=1.0)
    alone = replace(one_for_all, advocates=1)
    np.testing.assert_array_equal(
        simulate_debates(one_for_all, 50, 1, 5).scores, simulate_debates(alone, 50, 1, 5).scores
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"panel": 3}, r"personas must be none or one per juror \(3\); got 5; give the world panel=5"),
        (
            {"personas": [("a", 1.0, (1.0,))], "panel": 1},
            r"by_category must have one number per category \(2\)",
        ),
        ({"personas": [("a",), ("a",)], "panel": 2}, "personas must have distinct names"),
        ({"personas": "nurse"}, "personas must be rows of"),
        ({"personas": ["nurse"], "panel": 1}, "personas must be rows of"),
        ({"personas": [("a", float("nan"))], "panel": 1}, "skill must be finite"),
        ({"personas": [("a", 0.0, (1.0, "b"))], "panel": 1}, "by_category|personas must be rows"),
        ({"persona_diversity": 1.5}, "persona_diversity"),
        ({"prompt_sd": -1.0}, "prompt_sd"),
    ],
)
def test_personas_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        court(**settings)


def test_personas_come_back_from_a_file() -> None:
    world = court(persona_diversity=0.3)
    import tomllib

    assert from_table(tomllib.loads(to_toml(world))) == world
    rows = [{"name": "nurse", "skill": 1.0, "by_category": [2.0, 0.0]}]
    assert from_table({"name": "courtroom", "panel": 1, "categories": TWO, "personas": rows}) == court(
        personas=POOL[:1], panel=1
    )


def test_an_assembly_refuses_a_court_whose_personas_it_does_not_read() -> None:
    for settings in ({"personas": [("a",)], "panel": 1}, {"plain_diversity": 0.5}):
        with pytest.raises(ValueError, match="must have neither personas nor plain_diversity"):
            Assembly(court=Courtroom(**settings))


# ---------------------------------------------------------------- agents


def vote(agent: CourtAgent, persona: str | None, question: str, name: str = "juror 1") -> Any:
    case = Case(f"d{question}", question, "2 or 3?", ("A", "B"), ("2", "3"), "A")
    slot = Slot(("A", "B"))
    return agent.reply(Request(case, 1, name, "juror", "vote", "", slot, persona=persona)).vote


def test_a_juror_has_the_effect_of_the_persona_that_it_is_given_and_none_without() -> None:
    sure = [JurorPersona("nurse", 500.0), JurorPersona("judge", -500.0)]
    agent = CourtAgent(court(personas=sure, panel=2), 3)
    for question in map(str, range(30)):
        better = "A" if agent.item(question).better[0] else "B"
        assert vote(agent, "nurse", question) == better != vote(agent, "judge", question)
    plain = CourtAgent(court(personas=(), panel=5), 3)
    for question in map(str, range(30)):
        assert vote(agent, None, question) == vote(plain, None, question) == vote(plain, "nurse", question)


def test_a_persona_sees_a_question_alike_in_whatever_seat_it_sits() -> None:
    agent = CourtAgent(court(juror_noise=0.0), 3)
    for question in map(str, range(40)):
        assert vote(agent, "nurse", question, "juror 1") == vote(agent, "nurse", question, "juror 9")


def test_a_persona_that_the_world_does_not_know_is_refused() -> None:
    with pytest.raises(Refused, match=r"persona must be one of the world's \('nurse', .*got persona='pilot'"):
        vote(CourtAgent(court(), 3), "pilot", "1")


# ---------------------------------------------------------------- the exact law


def test_independent_jurors_of_one_accuracy_have_condorcets_majority() -> None:
    """p = Phi(5 / 3); three jurors: 3 p^2 - 2 p^3; a tie of two counts half, so two are as good as one."""
    bare = {
        "hidden": 0.0,
        "label_noise": 0.0,
        "position_bias": 0.0,
        "verbosity_bias": 0.0,
        "self_preference": 0.0,
    }
    world = Courtroom(
        categories=[("x", 1, 5.0, 0.0)],
        advocate_sd=0.0,
        juror_shared=0.0,
        juror_persona=0.0,
        juror_noise=3.0,
        **bare,
    )
    law, p = jury_law(world), NormalDist().cdf(5 / 3)
    np.testing.assert_allclose(law.accuracy(), p, atol=1e-12)
    three = ["juror 1", "juror 2", "juror 3"]
    assert law.majority(three) == pytest.approx(3 * p**2 - 2 * p**3, abs=1e-12)
    assert law.majority(three[:2]) == pytest.approx(p, abs=1e-12)
    assert law.agreement()[0, 1] == pytest.approx(p**2 + (1 - p) ** 2, abs=1e-12)


def test_an_error_that_all_share_adds_to_the_spread_of_each_juror() -> None:
    """With q = 5 and errors of 2, 1 and 2 points a juror is right with Phi(5 / 3), as the errors add in squares."""
    bare = {
        "hidden": 0.0,
        "label_noise": 0.0,
        "position_bias": 0.0,
        "verbosity_bias": 0.0,
        "self_preference": 0.0,
    }
    world = Courtroom(
        categories=[("x", 1, 5.0, 0.0)],
        advocate_sd=0.0,
        juror_shared=2.0,
        juror_persona=1.0,
        juror_noise=2.0,
        **bare,
    )
    np.testing.assert_allclose(jury_law(world).accuracy(), NormalDist().cdf(5 / 3), atol=1e-10)


@pytest.mark.parametrize(
    ("settings", "rounds"),
    [
        ({}, 1),
        ({"persona_diversity": 0.3, "prompt_sd": 1.5}, 3),
        ({"protocol": "more", "advocates": 3, "upside": 1.7, "advocate_correlation": 0.2}, 1),
        pytest.param(
            {"protocol": "more", "advocates": 5, "advocate_correlation": 0.0, "verbosity_bias": 0, "juror_shared": 0,
             "juror_noise": 2.0}, 1, marks=pytest.mark.slow,
        ),
        ({"protocol": "more", "advocates": 3, "prompt_sd": 4.0, "prompt_alike": 0.3, "upside": 0.5}, 1),
        ({"label_noise": 0.3, "categories": [("ethics", 1, 1.0, 4.0), ("math", 1, 0.0, 0.0)]}, 2),
    ],
)  # fmt: skip
def test_the_law_of_the_votes_is_that_of_the_drawn_ones(settings: dict[str, Any], rounds: int) -> None:
    world, n = court(**settings), 12_000
    law, drawn = jury_law(world, rounds), right(world, n, rounds, 11)
    assert law.weight.sum() == pytest.approx(1)

    def near(value: float, sample: np.ndarray) -> bool:
        return bool(abs(value - sample.mean()) < 4 * sample.std() / np.sqrt(n))

    for j, accuracy in enumerate(law.accuracy()):
        assert near(accuracy, drawn[:, j])
    for i, j in combinations(range(5), 2):
        assert near(law.agreement()[i, j], drawn[:, i] == drawn[:, j])
    assert near(law.majority(), drawn.sum(axis=1) > 2.5)
    four = [p.name for p in POOL[1:]]
    assert near(law.majority(four), (np.sign(drawn[:, 1:].sum(axis=1) - 2) + 1) / 2)
    kinds = courtroom_items(world, n, 11)["category"].to_numpy()
    for kind in ("ethics", "math"):
        here = drawn[kinds == kind]
        apart = abs(law.of(kind).accuracy() - here.mean(axis=0))
        assert (apart < 4 * here.std(axis=0) / np.sqrt(len(here))).all()


def test_a_random_jury_is_the_mean_over_all_of_its_size() -> None:
    law = jury_law(court())
    for size in (1, 2, 3, 5):
        each = [law.majority(jury) for jury in combinations(law.jurors, size)]
        assert law.random_majority(size) == pytest.approx(np.mean(each), abs=1e-13)
    three = law.jurors[:3]
    assert law.random_majority(3, three) == pytest.approx(law.majority(three), abs=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jury_law(Courtroom(juror_noise=0.0, plain_diversity=0.0)),
            "jurors must have an error of their own",
        ),
        (
            lambda: jury_law(Courtroom(advocates=2), 2),
            "several advocates that differ must have temperature=0",
        ),
        (lambda: jury_law(Courtroom(protocol="more"), 2), "round_number"),
        (lambda: jury_law(court()).majority(["nurse", "nurse"]), "jurors must be different jurors"),
        (lambda: jury_law(court()).majority(["nurs"]), "did you mean 'nurse'"),
        (lambda: jury_law(court()).random_majority(6), "size"),
        (lambda: jury_law(court()).of("law"), "category must be one of 'ethics', 'math'"),
    ],
)
def test_what_has_no_law_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
