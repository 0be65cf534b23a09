"""Any rule plugs in: rules for a batch decide online as they do on the finished log, and say what they read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chancy import Chancy, as_set, defects, of_type, pairs
from layers import covering

from d3stats.agent import More, Reply, Request, Size, always
from d3stats.protocols import protocol_from_text
from d3stats.run.items import DebateItem
from d3stats.run.report import RunReport
from d3stats.run.run import debate, run_debates
from d3stats.stopping import FullDepth, Round, Rule, from_text
from d3stats.stopping.text import rule_names
from d3stats.trajectories import Trajectories

STABILITY = protocol_from_text("stability:max_rounds=6")

BATCH = [
    "ks:0.5,patience=1,camp=largest",
    "ks:0.6,patience=1",
    "unanimity | ks:0.4,patience=1,camp=first",
    "supermajority:0.7 & ks:0.9,patience=1,camp=largest",
    "(ks:0.9,patience=1,camp=largest).after(4)",
    "token_budget:9000 | ks:0.3,camp=largest",
]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Trajectories:
    path = tmp_path_factory.mktemp("full") / "full.jsonl"
    debate(STABILITY, pairs(24), Chancy(failing=0.1), path, rule=FullDepth())
    return Trajectories.from_log(path)


@pytest.mark.parametrize("text", BATCH)
def test_a_batch_rule_stops_a_run_where_it_stops_the_finished_log(
    text: str, full: Trajectories, tmp_path: Path
) -> None:
    rule = from_text(text)
    expected = rule.stop_rounds(full)
    log = tmp_path / "log.jsonl"
    debate(STABILITY, pairs(24), Chancy(failing=0.1, pause=0.001), log, rule=rule, concurrency=5)
    got = {v["debate"]: (v["round"], v["stop_reason"]) for v in of_type(log, "verdict")}
    wanted = zip(expected.rounds.tolist(), expected.reasons.tolist(), strict=True)
    assert got == dict(zip(full.debates, wanted, strict=True))
    assert len(set(got.values())) > 1 or "ks" in next(iter(got.values()))[1]
    assert defects(log) == []


def test_a_ladder_beyond_the_panel_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got ladder:99-1"):
        debate(STABILITY, pairs(2), Chancy(), tmp_path / "log.jsonl", rule=from_text("ladder:99-1"))


def test_with_a_batch_rule_all_debates_play_a_round_before_any_plays_the_next(tmp_path: Path) -> None:
    rounds = []

    def before(number: int, request: Request) -> None:
        rounds.append(request.round)

    agent = Chancy(pause=0.001, before=before)
    debate(
        STABILITY, pairs(9), agent, tmp_path / "log.jsonl", rule=from_text("ks:0,camp=largest"), concurrency=3
    )
    assert rounds == sorted(rounds)
    assert agent.most_at_once == 3


def test_a_batch_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    rule = from_text("unanimity | ks:0.4,patience=1,camp=largest")
    whole, log = tmp_path / "whole.jsonl", tmp_path / "log.jsonl"
    debate(STABILITY, pairs(12), Chancy(0.1), whole, rule=rule, name="n")
    kills = 0
    for call in (50, 20, 15, 10):

        def before(number: int, request: Request, call: int = call) -> None:
            if number >= call:
                raise RuntimeError("killed")

        try:
            debate(STABILITY, pairs(12), Chancy(0.1, 0.001, before), log, rule=rule, name="n", concurrency=4)
        except RuntimeError:
            kills += 1
    assert kills > 1
    debate(STABILITY, pairs(12), Chancy(0.1), log, rule=rule, name="n")
    assert as_set(log) == as_set(whole)


def test_a_batch_rule_and_a_budget_end_every_debate_that_has_begun(tmp_path: Path) -> None:
    log, agent = tmp_path / "log.jsonl", Chancy(0.2)
    rule = from_text("ks:0,camp=largest")
    report = debate(STABILITY, pairs(20), agent, log, rule=rule, budget_tokens=9_000, concurrency=4)
    assert agent.tokens == report.charged <= 9_000
    assert len(of_type(log, "item")) == report.closed == len(of_type(log, "verdict"))
    assert report.stops["budget"] > 0
    assert 1 < report.closed < 20
    # A larger budget later: the batch is whole again, with those who are done in it.
    more = debate(STABILITY, pairs(20), agent, log, rule=rule, budget_tokens=10_000_000)
    assert more.closed == 20
    assert max(agent.asked.values()) == 1


def test_a_rule_on_right_answers_needs_labels_and_says_what_does_not(tmp_path: Path) -> None:
    agent = Chancy()
    with pytest.raises(ValueError, match="camp=largest") as caught:
        debate(STABILITY, pairs(3, labelled=False), agent, tmp_path / "log.jsonl", rule=from_text("ks:0.05"))
    assert "\n" not in str(caught.value)
    assert agent.calls == 0


@pytest.mark.parametrize(
    "text", ["ks:0.05 | unanimity", "unanimity & ks:0.05", "ks:0.05.after(2)", "(ks:0.05).after(2)"]
)
def test_a_combination_needs_labels_when_a_part_does(text: str) -> None:
    assert from_text(text).needs_labels
    assert not from_text(text.replace("0.05", "0.05,camp=largest")).needs_labels


def test_a_batch_in_free_words_is_followed_too(tmp_path: Path) -> None:
    items = [DebateItem(f"q{i}", f"{i}?", label="x") for i in range(8)]
    report = debate(STABILITY, items, Chancy(), tmp_path / "log.jsonl", rule=from_text("ks:1.5,patience=1"))
    assert report.stops == {"ks_stable": 8}


class Says:
    """Votes what a function of question number and round returns."""

    def __init__(self, what: Callable[[int, int], str]) -> None:
        self.what = what

    async def act(self, request: Request, /, more: More = always) -> Reply:
        vote = self.what(int(request.case.question[1:]), request.round)
        return Reply("x", vote, tokens_in=10, tokens_out=10)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        return Reply("x", "5", tokens_in=10, tokens_out=10)


def test_a_part_of_a_batch_decides_nothing_when_a_run_is_interrupted(tmp_path: Path) -> None:
    """Three debates agree twice and would stop; the fourth has not voted in the second round, and has changed."""
    rule, items = from_text("ks:0.05,patience=1"), pairs(4)

    def votes(question: int, number: int) -> str:
        return "BA"[number % 2] if question == 2 else "A"

    whole, log = tmp_path / "whole.jsonl", tmp_path / "log.jsonl"
    debate(STABILITY, items, Says(votes), whole, rule=rule, name="n")

    asked: list[tuple[int, int]] = []

    async def interrupted() -> RunReport:
        halt = asyncio.Event()

        def halting(question: int, number: int) -> str:
            asked.append((question, number))
            # A panel has seven; the debate that changes is asked last.
            if asked.count((1, 2)) == 7:
                halt.set()
            return votes(question, number)

        return await run_debates(
            STABILITY, items, Says(halting), log, rule=rule, name="n", concurrency=1, halt=halt
        )

    report = asyncio.run(interrupted())
    assert (2, 2) not in asked
    assert (report.stopped, report.closed, of_type(log, "verdict")) == ("interrupted", 0, [])
    debate(STABILITY, items, Says(votes), log, rule=rule, name="n")
    assert as_set(log) == as_set(whole)


@covering(
    what=[
        lambda n, r: "no idea",
        lambda n, r: str(2 * n) if r <= n <= 4 else "no idea",
        lambda n, r: f"{2 * n}.0" if r >= n else f" {2 * n + 1} ",
    ],
    camp=["right", "first", "largest"],
)
def test_open_questions_are_right_or_wrong_before_anybody_has_voted_their_label(
    what: Callable[[int, int], str], camp: str, tmp_path: Path
) -> None:
    items = [DebateItem(f"q{n}", f"What is {n} + {n}?", label=str(2 * n)) for n in range(1, 9)]
    rule = from_text(f"ks:0.2,patience=1,camp={camp}")
    log = tmp_path / "log.jsonl"
    report = debate(STABILITY, items, Says(what), log, rule=rule)
    stops = rule.stop_rounds(Trajectories.from_log(log))
    verdicts = of_type(log, "verdict")
    assert {v["round"] for v in verdicts} == set(stops.rounds.tolist())
    assert set(report.stops) == set(stops.reasons.tolist()) == {"ks_stable"}
    assert {v["round"] for v in verdicts} == {2}


@pytest.mark.parametrize("answers", [("A", "B"), ("B", "A"), ("B", "A", "tie")])
def test_the_first_camp_of_a_run_is_that_of_its_log_in_whatever_order_items_list_their_answers(
    answers: tuple[str, ...], tmp_path: Path
) -> None:
    items = [DebateItem(f"q{i}", f"{i}?", ("this", "that"), answers) for i in range(1, 5)]
    rule = from_text("ks:0.3,patience=1,camp=first")
    log = tmp_path / "log.jsonl"
    # Two votes in seven are for A in round 1; from round 2 on they are for "tie", which moves A and not B.
    seats = Says(lambda n, r: "B")

    async def act(request: Request, /, more: More = always) -> Reply:
        late = "tie" if "tie" in answers and request.round > 1 else "B" if request.round > 2 else "A"
        vote = late if request.agent in ("panelist 1", "panelist 2") else "B"
        return Reply("x", vote, tokens_in=10, tokens_out=10)

    seats.act = act  # type: ignore[method-assign]
    report = debate(STABILITY, items, seats, log, rule=rule)
    stops = rule.stop_rounds(Trajectories.from_log(log))
    assert {v["round"] for v in of_type(log, "verdict")} == set(stops.rounds.tolist())
    assert set(report.stops) == {"ks_stable"}


def test_a_rule_that_refuses_the_rounds_of_a_protocol_refuses_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    agent = Chancy()
    one_mark = protocol_from_text("agentverse:max_rounds=3")
    with pytest.raises(ValueError, match=r"two sides, because sign_agreement .*; got scores of 1 side"):
        debate(one_mark, pairs(2), agent, tmp_path / "log.jsonl", rule=from_text("sign_agreement"))
    assert agent.calls == 0
    assert not (tmp_path / "log.jsonl").exists()


ONE_OF_EACH = {
    "ladder": "ladder:3-3-2-1",
    "supermajority": "supermajority:0.7",
    "confidence": "confidence:0.7",
    "sprt": "sprt:0.8",
    "declaration": "declaration:1,undecided=b",
    "score_declaration": "score_declaration:1,at_least=14",
    "look_ahead": "look_ahead:2,p=0.6,cost=0.02",
    "token_budget": "token_budget:150",
    "gap_posterior": "gap_posterior:0.6,width=0.2",
    "budgeted": "budgeted:2.5,budget=120,max_rounds=4",
    "agreement_routing": "agreement_routing:1.0",
    "commit_walls": "commit_walls:2,cost=0.4",
    "judge_sprt": "judge_sprt:6,useful_b=2,other_a=2,other_b=6,low=0,high=50",
}


def per_debate_rules() -> Iterator[Rule]:
    for name in rule_names():
        try:
            rule = from_text(ONE_OF_EACH.get(name, name))
        except (TypeError, ValueError):
            rule = from_text(f"{name}:2")
        if isinstance(rule, Rule):
            yield rule


def played(rng: np.random.Generator, n: int) -> list[Round]:
    """Draw the rounds of a debate with everything in them."""
    rounds = []
    for number in range(1, n + 1):
        votes = tuple(rng.integers(0, 2, size=3).tolist())
        rounds.append(
            Round(
                number,
                votes,
                3,
                tokens=float(rng.integers(10, 60)),
                scores=tuple(rng.integers(5, 45, size=2).astype(float).tolist()),
                texts=tuple("ab"[vote] for vote in votes),
                confidence=tuple((rng.integers(0, 11, size=3) / 10).tolist()),
            )
        )
    return rounds


@pytest.mark.parametrize("rule", list(per_debate_rules()), ids=str)
def test_a_rule_looks_at_what_it_says_it_reads_and_at_nothing_else(rule: Rule) -> None:
    rng = np.random.default_rng(3)
    changed = dict.fromkeys(("votes", "texts", "scores", "tokens", "confidence"), False)
    for _ in range(40):
        rounds, others = played(rng, 6), played(rng, 6)
        before = rule.run(rounds)
        for part in changed:
            given = [
                replace(one, **{part: getattr(two, part)}) for one, two in zip(rounds, others, strict=True)
            ]
            changed[part] |= rule.run(given) != before
    found = {part for part, moved in changed.items() if moved}
    assert found <= rule.reads
    assert rule.reads - found <= {"texts", "votes", "tokens"}
    # What is read matters; words matter where a rule compares them, and then the codes are their shadow.
    assert bool(found) == bool(rule.reads) or rule.reads <= {"tokens"}


def test_a_combination_reads_what_its_parts_read() -> None:
    assert from_text("(unanimity & d3_paper).after(2) | token_budget:100").reads == {
        "votes",
        "scores",
        "tokens",
    }
    assert from_text("fixed:2").reads == frozenset()
    assert from_text("ks:0.05").reads == {"votes", "labels"}
    assert from_text("ks:0.05,camp=first,carry=unanimity").reads == {"votes"}
