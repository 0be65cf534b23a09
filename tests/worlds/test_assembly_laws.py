"""What agents of an assembly say, by second implementations: exact readings, and normal laws of votes and marks."""

from __future__ import annotations

import asyncio
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
from layers import covering
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from d3stats.agent import Refused, Reply, Request
from d3stats.protocols import play_sync, protocol_from_text
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, drive
from d3stats.stopping import Decision
from d3stats.worlds import Assembly, Courtroom
from d3stats.worlds.assembly import AssemblyAgent
from d3stats.worlds.streams import SyntheticItem, synthetic_agent, synthetic_items

Floats = NDArray[np.float64]
Spoken = list[tuple[Request, Reply]]


@pytest.fixture(params=[40, pytest.param(1500, marks=pytest.mark.slow)])
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


PROTOCOLS = (
    "majority:judges=3",
    "stability:camp=none,panel=3,max_rounds=3",
    "stability:camp=none,panel=3,max_rounds=3,sees=last_round",
    "chateval:max_rounds=3",
    "chateval:communication=simultaneous",
    "chateval:communication=simultaneous_with_summarizer,max_rounds=3",
    "chateval_open:max_rounds=3",
    "eot",
    "eot_network:communication=relay",
    "multi_persona",
    "agentverse:recruit=every_round",
    "peer_discussion",
    "peer_rank:reviewers=2",
    "samre:jurors=3",
    "samre:jurors=3,poll=every_round,memory=latest",
    "samre:jurors=3,poll=every_round,memory=transcript",
    "samre_advocates:jurors=3,last_round=unread",
    "more:jurors=3",
    "more:jurors=3,advocates=1",
)


def played(agent: AssemblyAgent, text: str, item: SyntheticItem, first: str) -> Spoken:
    heard: Spoken = []
    play_sync(protocol_from_text(text), item.case(item.question, first), agent, heard=heard)
    return heard


# ---------------------------------------------------------------- exact readings


def numbers(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"([a-z]+) (-?[\d.e+-]+);", text)}


def softmax_mean(x: Iterable[float], temperature: float) -> float:
    at = np.array(list(x))
    weight = np.exp((at - at.max()) / temperature)
    return float(weight @ at / weight.sum())


def errors_of_readings(world: Assembly, agent: AssemblyAgent, spoken: Spoken) -> list[tuple[str, int, float]]:
    """Take from every reading what the documented law says of it; what is left is the agent's error."""
    court, state = world.court, agent.item(spoken[0][0].case.question)
    wrote = {line: (q, numbers(line)) for q, r in spoken for line in (r.text or "").splitlines()}
    left = []
    for request, reply in spoken:
        said = numbers(reply.text or "")
        if "lean" not in said:
            continue
        authors = [(*wrote[m.text], m.round) for m in request.seen]
        leans = {q.agent: f["lean"] for q, f, _ in authors if "lean" in f and q.agent != request.agent}
        if request.act == "summarise":
            assert said["lean"] == pytest.approx(np.mean(list(leans.values())))
            continue
        talked = max((r for _, f, r in authors if "lean" in f), default=0) if world.reveals == "talk" else 0

        single: Any = defaultdict(lambda: defaultdict(list))
        joint: Any = defaultdict(dict)
        for q, f, r in authors:
            if "strength" in f:
                single[r][q.side].append(f["strength"])
            if "joint" in f:
                joint[r][q.side] = f["joint"]
        rounds = sorted(single.keys() | joint.keys())
        seen = [state.gap * (1 - court.hidden * court.decay ** max(r, talked)) for r in rounds or [0]]
        for i, r in enumerate(rounds):
            a, b = (
                joint[r][s] if s in joint[r] else softmax_mean(single[r][s], court.temperature) for s in "AB"
            )
            seen[i] += a - b
        bias = court.verbosity_bias * state.ratio + court.self_preference * state.own_family
        bias += court.position_bias if request.shown_first == "A" else -court.position_bias
        y = x = said["lean"]
        if request.act == "oppose":
            x += world.contrariness * np.sign(leans["debater, affirmative"])
        if leans and request.act not in ("vote", "review"):
            x = (x - world.conformity * np.mean(list(leans.values()))) / (1 - world.conformity)
        left.append((re.sub(", [AB] first$", "", request.agent), request.round, x - np.mean(seen) - bias))
        if request.slot.wants_vote:
            passed = request.slot.may_pass and abs(y) < world.decide_at
            assert reply.vote == (None if passed else "A" if y > 0 else "B")
    return left


@pytest.mark.parametrize("reveals", ["argument", "talk"])
def test_every_reading_in_every_protocol_is_the_documented_one_and_an_error_of_the_agent(
    reveals: Any,
) -> None:
    """Without an error of the call, what is left belongs to the item and the agent in all its calls."""
    court = Courtroom(hidden=0.6, decay=0.5, temperature=0.7, juror_noise=0.0)
    world = Assembly(court=court, reveals=reveals, diversity=0.3)
    agent, count = AssemblyAgent(world, 3), 0
    for i, item in enumerate(synthetic_items(world, 6, 3)):
        of_agent: dict[str, list[float]] = defaultdict(list)
        for text in PROTOCOLS:
            for name, _, error in errors_of_readings(world, agent, played(agent, text, item, "AB"[i % 2])):
                of_agent[name].append(error)
                count += 1
        for name, errors in of_agent.items():
            assert np.ptp(errors) < 1e-8, name
        assert len({round(errors[0], 6) for errors in of_agent.values()}) == len(of_agent)
    assert count > 500


@pytest.mark.parametrize("diversity", [0.0, 0.3, 1.0])
def test_errors_have_the_documented_variance_and_are_shared_as_documented(
    diversity: float, size: int
) -> None:
    court = Courtroom(juror_shared=1.5, juror_persona=2.0, juror_noise=1.2)
    world = Assembly(court=court, diversity=diversity)
    again = replace(world, court=replace(court, run=1))
    found = []
    for agent in (AssemblyAgent(world, 4), AssemblyAgent(again, 4)):
        for item in synthetic_items(world, size, 4):
            spoken = played(agent, "majority:judges=2", item, "A")
            found.append([error for _, _, error in errors_of_readings(world, agent, spoken)])
    one, two = np.split(np.array(found), 2)
    shared, own, call = court.juror_shared**2, court.juror_persona**2, court.juror_noise**2
    common = shared + (1 - diversity) * own
    products = {
        "mean": (one[:, 0], 0.0),
        "total": (one[:, 0] ** 2, shared + own + call),
        "one agent, two runs": (one[:, 0] * two[:, 0], shared + own),
        "two agents": (one[:, 0] * one[:, 1], common),
        "two agents, two runs": (one[:, 0] * two[:, 1], common),
    }
    for name, (values, expected) in products.items():
        assert abs(values.mean() - expected) < 4 * values.std() / math.sqrt(size), name


# ---------------------------------------------------------------- normal laws of votes

Reading = dict[tuple[Any, ...], float]
"""A reading of a pair that nobody argues about, beside gap and bias: its weight on each standard normal number."""


def normal_reading(world: Assembly, agent: int, number: int) -> Reading:
    court, d = world.court, world.diversity
    return {
        ("item",): court.juror_shared,
        ("persona",): court.juror_persona * math.sqrt(1 - d),
        ("own", agent): court.juror_persona * math.sqrt(d),
        ("call", agent, number): court.juror_noise,
    }


def mixed(*parts: tuple[float, Reading]) -> Reading:
    total: Reading = defaultdict(float)
    for weight, part in parts:
        for name, value in part.items():
            total[name] += weight * value
    return dict(total)


def mean_of(readings: list[Reading]) -> Reading:
    return mixed(*((1 / len(readings), reading) for reading in readings))


def said_by_round(world: Assembly, talk: str, panel: int, rounds: int) -> list[list[Reading]]:
    """Say what each agent says in each round, when all hear what `talk` lets them hear."""
    w, out = world.conformity, list[list[Reading]]()
    latest: dict[int, Reading] = {}
    summary: Reading | None = None
    for r in range(rounds):
        now: list[Reading] = []
        before = dict(latest)
        for j in range(panel):
            source = latest if talk == "one_by_one" else before
            others = [reading for i, reading in source.items() if i != j]
            if talk == "summarizer":
                others = [] if summary is None else [summary]
            x = normal_reading(world, j, r)
            now.append(mixed((1 - w, x), (w, mean_of(others))) if others else x)
            if talk == "one_by_one":
                latest[j] = now[-1]
        latest |= dict(enumerate(now))
        summary = mean_of(list(latest.values()))
        out.append(now)
    return out


def orthant(mean: float, readings: list[Reading]) -> float:
    """Return the probability that all readings, each with this mean, are above 0."""
    names = sorted({name for reading in readings for name in reading}, key=str)
    load = np.array([[reading.get(name, 0.0) for name in names] for reading in readings])
    cov = load @ load.T
    if len(readings) == 1:
        return float(ndtr(mean / math.sqrt(cov[0, 0])))
    # An error of 1e-4 is small beside the least standard error that it is compared with, .03 (slow: .005).
    law = multivariate_normal(
        np.zeros(len(readings)), cov, allow_singular=True, seed=1, abseps=1e-4, releps=1e-4
    )
    return float(law.cdf(np.full(len(readings), mean)))


TALKS = {
    "one_by_one": "chateval:referees=public+critic+scientist,max_rounds=2",
    "simultaneous": "chateval:communication=simultaneous,max_rounds=2",
    "summarizer": "chateval:communication=simultaneous_with_summarizer,max_rounds=2",
}
CLOSE = Courtroom(
    categories=[("close", 1, 3.0, 0.0)],
    label_noise=0.0,
    length_sd=0.0,
    own_family=0.0,
    hidden=0.3,
    position_bias=0.8,
)
SETTINGS: dict[str, dict[str, Any]] = {
    "as given": {},
    "all alike": {"diversity": 0.0, "conformity": 0.9},
    "nothing shared": {"diversity": 1.0, "conformity": 0.4, "juror_shared": 0.0},
    "nearly all shared": {"diversity": 0.5, "juror_shared": 8.0, "juror_noise": 0.3, "juror_persona": 0.3},
    "nobody listens": {"conformity": 0.0, "diversity": 0.5},
}


@covering(talk=TALKS, setting=SETTINGS)
def test_leans_are_right_and_agree_as_often_as_the_normal_law_says(
    talk: str, setting: str, size: int
) -> None:
    given = dict(SETTINGS[setting])
    court = replace(CLOSE, **{name: given.pop(name) for name in list(given) if name.startswith("juror")})
    world = Assembly(court=court, **given)
    agent, n = AssemblyAgent(world, 6), size
    right = np.empty((n, 2, 3))
    for i, item in enumerate(synthetic_items(world, n, 6)):
        for request, reply in played(agent, TALKS[talk], item, "A"):
            if request.act == "referee":
                lean = numbers(str(reply.text))["lean"]
                right[i, request.round - 1, int(request.agent[-1]) - 1] = (lean > 0) == (item.label == "A")
    law = said_by_round(world, talk, 3, 2)
    means = (0.7 * 3.0 + 0.8, 0.7 * 3.0 - 0.8)

    def check(found: Floats, expected: float, what: str) -> None:
        error = math.sqrt(max(expected * (1 - expected), 1 / n) / n)
        assert abs(found.mean() - expected) < 4 * error, (what, found.mean(), expected)

    for r in range(2):
        for j in range(3):
            check(right[:, r, j], float(np.mean([orthant(m, [law[r][j]]) for m in means])), f"{r} {j}")
        pair = [law[r][0], law[r][2]]
        agree = np.mean([orthant(m, pair) + orthant(-m, pair) for m in means])
        check(right[:, r, 0] == right[:, r, 2], float(agree), f"agreement in round {r}")
        # Two of three: the pairs, less twice all three.
        triples = [[law[r][i] for i in s] for s in ((0, 1), (0, 2), (1, 2))]
        two = [sum(orthant(m, t) for t in triples) - 2 * orthant(m, law[r]) for m in means]
        check(right[:, r].sum(axis=1) >= 2, float(np.mean(two)), f"majority in round {r}")
    kept = np.mean([orthant(m, [law[0][1], law[1][1]]) + orthant(-m, [law[0][1], law[1][1]]) for m in means])
    check(right[:, 0, 1] == right[:, 1, 1], float(kept), "vote kept")


def test_a_reviewer_asked_in_both_orders_agrees_with_itself_as_often_as_the_normal_law_says(
    size: int,
) -> None:
    world = Assembly(court=replace(CLOSE, position_bias=2.0))
    agent, found = AssemblyAgent(world, 8), []
    for item in synthetic_items(world, 3 * size, 8):
        votes = [reply.vote for _, reply in played(agent, "peer_rank:reviewers=1", item, "A")]
        found.append([votes == [item.label] * 2, votes[0] != votes[1]])
    both, differ = np.mean(found, axis=0)
    shown, total = 0.7 * 3.0, world.court.juror_shared**2 + world.court.juror_persona**2
    cov = np.full((2, 2), total) + np.eye(2) * world.court.juror_noise**2
    law = multivariate_normal(np.zeros(2), cov)
    right = float(law.cdf(np.array([shown + 2.0, shown - 2.0])))
    wrong = float(law.cdf(-np.array([shown + 2.0, shown - 2.0])))
    assert abs(both - right) < 4 * math.sqrt(right * (1 - right) / (3 * size))
    split = 1 - right - wrong
    assert abs(differ - split) < 4 * math.sqrt(split * (1 - split) / (3 * size))


def to_the_end(protocol: DebateProtocol, item: SyntheticItem, agent: AssemblyAgent) -> Outcome:
    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        return Decision(stop=step.number == protocol.max_rounds, reason="exhausted")

    return asyncio.run(drive(protocol.play(item.case(item.question, "A")), agent.act, settle))


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_juror_who_read_arguments_is_right_as_often_as_the_normal_law_says(rounds: int, size: int) -> None:
    """One advocate a side: the strengths add their difference, of which a share comes back in every round."""
    court = replace(CLOSE, advocate_sd=2.0, advocate_correlation=0.6, decay=0.5, juror_shared=1.0)
    world = Assembly(court=court)
    protocol = protocol_from_text(f"samre:jurors=1,max_rounds={rounds}")
    agent, items, right = AssemblyAgent(world, 9), synthetic_items(world, size, 9), []
    for item in items:
        right.append(to_the_end(protocol, item, agent).decision == item.label)
    shown = np.mean([1 - 0.3 * 0.5**r for r in range(1, rounds + 1)])
    variance = 2 * 2.0**2 * (0.6 + 0.4 / rounds) + 1.0 + court.juror_persona**2 + court.juror_noise**2
    p = float(np.mean(ndtr((3.0 * shown + np.array([0.8, -0.8])) / math.sqrt(variance))))
    assert abs(np.mean(right) - p) < 4 * math.sqrt(p * (1 - p) / len(right))


# ---------------------------------------------------------------- exact laws of marks


def law_of_mark(mean: Floats, sd: float, low: int, high: int) -> Floats:
    """Return the law of a rounded and clipped normal mark, shape (means, marks from low to high)."""
    edges = np.arange(low, high) + 0.5
    below = np.column_stack([np.zeros(len(mean)), ndtr((edges - mean[:, None]) / sd), np.ones(len(mean))])
    return np.diff(below, axis=1)


def decided(a: Floats, b: Floats, criteria: int) -> Floats:
    """Return P(total of A higher), P(of B higher), P(equal), from the laws of one mark of each."""
    of_a, of_b = (reduce(np.convolve, [law] * criteria) for law in (a, b))
    both = np.outer(of_a, of_b)
    return np.array([np.tril(both, -1).sum(), np.triu(both, 1).sum(), np.trace(both)])


POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()

MARKED: Mapping[str, tuple[str, dict[str, Any], Callable[[Assembly, Floats], Floats]]] = {
    "six criteria of a judge": (
        "single_judge",
        {"base": 18.7, "noise": 0.5},
        lambda w, y: w.court.base + y / 12,
    ),
    "a ceiling below the base": (
        "single_judge",
        {"base": 14.5, "ceiling": 15, "noise": 0.9},
        lambda w, y: w.court.base + y / 12,
    ),
    "one mark of a referee": (
        "chateval:referees=public,max_rounds=2",
        {"base": 14.0},
        lambda w, y: 1 + 9 * 13 / 19 + y / (2 * w.points_per_mark),
    ),
}


@pytest.mark.parametrize("case", MARKED)
def test_totals_decide_for_each_side_as_often_as_the_law_of_the_marks_says(case: str, size: int) -> None:
    text, settings, mark = MARKED[case]
    world = Assembly(court=replace(CLOSE, **settings), conformity=0.0)
    court, judge = world.court, text == "single_judge"
    criteria, low, high = (6, 1, court.ceiling) if judge else (1, 1, 10)
    sd = math.sqrt(court.juror_shared**2 + court.juror_persona**2 + court.juror_noise**2)
    expected = np.zeros(3)
    for sign in (1, -1):
        y = sign * 0.7 * 3.0 + 0.8 + sd * POINTS
        noise = court.noise if judge else world.mark_noise
        a, b = (law_of_mark(mark(world, way * y), noise, low, high) for way in (1, -1))
        laws = np.array([decided(i, j, criteria) for i, j in zip(a, b, strict=True)])
        expected += (WEIGHTS @ laws)[[0, 1, 2] if sign > 0 else [1, 0, 2]] / 2
    agent, n = AssemblyAgent(world, 10), 4 * size
    found = []
    for item in synthetic_items(world, n, 10):
        _, reply = played(agent, text, item, "A")[0]
        scores = reply.scores or {}
        a, b = (sum(scores[side].values()) for side in "AB")
        better, worse = (a, b) if item.label == "A" else (b, a)
        found.append([better > worse, worse > better, better == worse])
    for share, p in zip(np.mean(found, axis=0), expected, strict=True):
        assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / n)


# ---------------------------------------------------------------- messages too short for their numbers


@pytest.mark.parametrize(
    ("world", "text"),
    [
        (Assembly(), "samre:defence_words=3"),
        (Courtroom(), "samre:defence_words=3"),
        (Courtroom(), "samre:feedback_words=1"),
        (Assembly(), "chateval_open:words=1"),
    ],
)
def test_a_protocol_whose_messages_would_lose_their_numbers_is_refused(world: Any, text: str) -> None:
    """Cut off, a strength or a lean would silently count as nothing said."""
    item = synthetic_items(world, 1, 1)[0]
    with pytest.raises(Refused, match=r"^words must be at least 5 for a message .*; got [123] for "):
        play_sync(protocol_from_text(text), item.case("d", "A"), synthetic_agent(world, 1))


@pytest.mark.parametrize("text", PROTOCOLS)
def test_no_number_is_cut_off_a_message(text: str) -> None:
    world = Assembly(reply_words=1234.5678, summary_words=1e-7)
    agent = AssemblyAgent(world, 2)
    for item in synthetic_items(world, 5, 2):
        spoken = played(agent, text, item, "B")
        lines = {line for _, reply in spoken for line in (reply.text or "").splitlines()}
        assert {message.text for request, _ in spoken for message in request.seen} <= lines
