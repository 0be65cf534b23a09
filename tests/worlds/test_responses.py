"""The world of single responses: its equations, drawn anew with numpy, against what is played."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from d3stats.agent import RESPONSE, Refused, Reply, Request
from d3stats.inference import aspect_correlations
from d3stats.protocols import play_sync
from d3stats.protocols.chateval import ChatEval
from d3stats.worlds import Responses, from_table, human_scores, synthetic_agent, synthetic_items

ASPECTS = ("coherence", "engagingness")


def played(world: Responses, n: int, seed: int, **settings: Any) -> np.ndarray:
    """Scores that were given, shape (items, turns, referees, aspects)."""
    protocol = ChatEval(aspects=ASPECTS, **settings)
    agent, rows = synthetic_agent(world, seed), []
    for item in synthetic_items(world, n, seed):
        heard: list[tuple[Request, Reply]] = []
        play_sync(protocol, item.case(f"d{item.question}"), agent, heard=heard)
        given = [reply.scores[RESPONSE] for _, reply in heard if reply.scores is not None]
        rows.append([[points[a] for a in ASPECTS] for points in given])
    shape = (n, protocol.max_rounds, len(protocol.referees), len(ASPECTS))
    return np.array(rows).reshape(shape)


def twin(world: Responses, n: int, turns: int, seats: int, mode: str, rng: np.random.Generator) -> np.ndarray:
    """The equations of the docstring, written once more; responses to dialogues of their own."""
    k = len(ASPECTS)
    z = rng.standard_normal
    own = np.sqrt(world.halo) * z((n, 1)) + np.sqrt(1 - world.halo) * z((n, k))
    share = world.dialogue_share
    quality = world.quality_sd * (np.sqrt(share) * z((n, k)) + np.sqrt(1 - share) * own)
    opinion = quality[:, None] + world.shared_sd * z((n, 1, k)) + world.role_sd * z((n, seats, k))
    level = world.base + world.level_sd * z((n, seats, 1))
    said = np.full((n, turns, seats, k), np.nan)
    for t in range(turns):
        for j in range(seats):
            latest = said[:, t].copy() if mode == "one_by_one" else np.full((n, seats, k), np.nan)
            if t:
                latest = np.where(np.isnan(latest), said[:, t - 1], latest)
            latest[:, j] = np.nan
            x = opinion[:, j]
            if not np.isnan(latest).all():
                heard = np.nanmean(latest, axis=1) - world.base
                x = (1 - world.conformity) * x + world.conformity * heard
            said[:, t, j] = np.clip(np.rint(level[:, j] + x + world.talk_noise * z((n, k))), 1, 10)
    return said


def moments(given: np.ndarray) -> dict[str, np.ndarray]:
    """Numbers by which two batches are compared, one value per item."""
    n, _, seats, _ = given.shape
    flat = given.reshape(n, -1)
    found = {f"score {i}": flat[:, i] for i in range(flat.shape[1])}
    found |= {f"square {i}": flat[:, i] ** 2 for i in range(flat.shape[1])}
    found |= {f"product of {i} and {i + 1}": flat[:, i] * flat[:, i + 1] for i in range(flat.shape[1] - 1)}
    found |= {
        f"first and last turn of seat {j}": given[:, 0, j, 0] * given[:, -1, j, 0] for j in range(seats)
    }
    return found


@pytest.mark.parametrize("mode", ["one_by_one", "simultaneous"])
def test_played_scores_have_the_law_of_the_equations(mode: str) -> None:
    world = Responses(per_dialogue=1)
    ours = moments(played(world, 250, 5, communication=mode, referees=("critic", "scientist")))
    other = moments(twin(world, 20_000, 2, 2, mode, np.random.default_rng(6)))
    assert ours.keys() == other.keys()
    far = {}
    for name, x in ours.items():
        y = other[name]
        z = (x.mean() - y.mean()) / np.sqrt(x.var() / len(x) + y.var() / len(y))
        if abs(z) >= 4:
            far[name] = round(float(z), 1)
    assert len(ours) > 20
    assert not far


def test_a_summary_is_what_referees_hear_next() -> None:
    silent = {"talk_noise": 0.0, "summary_noise": 0.0, "level_sd": 0.0, "conformity": 1.0, "human_sd": 0.0}
    given = played(Responses(**silent), 40, 3, communication="simultaneous_with_summarizer")
    means = given[:, 0].mean(axis=1)
    np.testing.assert_array_equal(given[:, 1], np.repeat(np.rint(means)[:, None], 3, axis=1))


def test_referees_of_one_role_say_the_same_before_they_hear_each_other() -> None:
    world = Responses(roles=("annotator",) * 2, talk_noise=0)
    given = played(world, 40, 3, referees=("annotator",) * 2, communication="simultaneous", max_rounds=1)
    np.testing.assert_array_equal(given[:, 0, 0], given[:, 0, 1])
    apart = played(
        Responses(talk_noise=0), 40, 3, referees=("critic", "public"), communication="simultaneous"
    )
    assert (apart[:, 0, 0] != apart[:, 0, 1]).any()


def test_referees_without_error_and_people_without_error_agree_fully() -> None:
    exact = Responses(shared_sd=0, role_sd=0, talk_noise=0, level_sd=0, human_sd=0)
    items = synthetic_items(exact, 60, 3)
    people = human_scores(exact, items, ASPECTS, 3)
    given = played(exact, 60, 3, referees=("none",), max_rounds=1)[:, 0, 0]
    np.testing.assert_array_equal(people[list(ASPECTS)].to_numpy(), given)


def test_people_spread_as_the_world_says() -> None:
    world = Responses(per_dialogue=1, base=50, lowest=1, highest=100, quality_sd=6, human_sd=4, annotators=3)
    people = human_scores(world, synthetic_items(world, 2000, 3), ASPECTS, 3)
    assert people["coherence"].mean() == pytest.approx(50, abs=4 * 6.5 / np.sqrt(2000))
    assert people["coherence"].var() == pytest.approx(36 + (16 + 1 / 12) / 3, rel=4 * np.sqrt(2 / 2000))
    shared = np.cov(people["coherence"], people["engagingness"])[0, 1]
    assert shared == pytest.approx((1 - world.dialogue_share) * world.halo * 36, abs=4 * 41 / np.sqrt(2000))


def test_a_team_of_several_roles_is_closer_to_people_than_one_referee() -> None:
    world = Responses(shared_sd=0.2, role_sd=2.0)
    items = synthetic_items(world, 240, 3)
    people = human_scores(world, items, ASPECTS, 3)
    found = []
    for settings in (
        {"referees": ("none",), "max_rounds": 1},
        {"referees": ("public", "critic", "scientist")},
    ):
        given = played(world, 240, 3, **settings)[:, -1].mean(axis=1)
        model = people.assign(**dict(zip(ASPECTS, given.T, strict=True)))
        found.append(aspect_correlations(model, people).average["spearman"])
    assert found[1] > found[0] + 0.05


def test_replies_do_not_depend_on_the_order_of_asking_and_another_run_is_said_anew() -> None:
    items = synthetic_items(Responses(), 5, 3)
    protocol = ChatEval(max_rounds=1, referees=("none",))
    first, again = (synthetic_agent(Responses(), 3) for _ in range(2))
    forward = [play_sync(protocol, item.case(item.question), first).detail for item in items]
    backward = [play_sync(protocol, item.case(item.question), again).detail for item in reversed(items)]
    assert forward == backward[::-1]
    anew = synthetic_agent(Responses(run=1), 3)
    assert [play_sync(protocol, item.case(item.question), anew).detail for item in items] != forward


def test_the_world_is_read_from_a_table_and_refuses_what_cannot_be() -> None:
    assert from_table({"name": "responses", "per_dialogue": 3, "roles": ["a", "b"]}) == Responses(
        per_dialogue=3, roles=("a", "b")
    )
    for given, message in (
        ({"lowest": 5, "highest": 5}, "lowest must be below highest"),
        ({"roles": "critic"}, "roles must be a list of names"),
        ({"halo": 2}, "halo must lie between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            Responses(**given)  # type: ignore[arg-type]
    with pytest.raises(Refused, match="one name per referee of the protocol; got 1 and 'referee 2'"):
        played(Responses(roles=("critic",)), 1, 1)


def test_no_reply_is_longer_than_imagined() -> None:
    agent = synthetic_agent(Responses(slack=1.0), 3)
    item = synthetic_items(Responses(), 1, 3)[0]
    heard: list[tuple[Request, Reply]] = []
    protocol = ChatEval(communication="simultaneous_with_summarizer", max_rounds=3)
    play_sync(protocol, item.case("d"), agent, heard=heard)
    for request, reply in heard:
        longest = agent.imagine(request, "longest")
        assert (reply.tokens_out or 0) <= (longest.tokens_out or 0)
        assert (reply.tokens_in or 0) <= (longest.tokens_in or 0)
    assert asyncio.run(agent.act(heard[0][0])).error is None
