"""Live and replayed are one: a run and its log give the same stops, the same verdicts and the same tokens."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from random_debates import Hashed, Played, Setting, Spoken, as_decided, play, rules, setting

from d3stats import replay
from d3stats.agent import More, Reply, Request, Size, always
from d3stats.log.copies import write_csv, write_parquet
from d3stats.log.reader import iter_records
from d3stats.protocols import protocol_from_text
from d3stats.protocols.play import RoundOver, drive, settled
from d3stats.protocols.recorded import ReplayAgent, as_reply
from d3stats.run.forecast import Cast, check_rule
from d3stats.run.items import DebateItem
from d3stats.run.run import debate
from d3stats.stopping import Decision, Declaration, FullDepth, Rule, StoppingRule, from_text
from d3stats.stopping.text import rule_names
from d3stats.trajectories import MISSING, Trajectories

RULES = rules()
PLURALITY = ("stability", "majority", "chateval")
"""Protocols whose decision is the plurality of the last votes."""

JURIES = ("samre", "samre_advocates", "more")
"""Protocols whose decision is that too, except that a judge's points settle the ties of an even jury."""


def suits(where: Setting, rule: StoppingRule) -> bool:
    """Whether a run under the rule begins at all."""
    try:
        labelled = any(item.label is not None for item in where.items)
        check_rule(where.protocol, rule, [one.case for one in where.planned], Cast(where.agent), labelled)
    except ValueError:
        return False
    return True


def differences(where: Setting, played: Played, rule: StoppingRule, t: Trajectories) -> list[str]:
    """Return how a run differs from the replay of a log under the same rule."""
    stops = rule.stop_rounds(t)
    found = []
    for row, name in enumerate(t.debates):
        live = as_decided(played, name)
        logged = int(stops.rounds[row]), str(stops.reasons[row])
        # A protocol that ends a debate asks no rule; a jury's tokens come after the rule has spoken.
        ended = live[1] == "exhausted" and live[0] == int(t.depth[row])
        if live != logged and not (
            live[0] == logged[0] and (name in played.ended or (ended and played.late))
        ):
            found.append(f"{name}: live {live}, replayed {logged}")
        spent = [turn for turn in played.turns if turn["debate"] == name]
        counts = [turn[key] for turn in spent for key in ("tokens_in", "tokens_out")]
        if t.tokens is None or name in played.late:
            continue
        tokens = float(t.tokens[row, : live[0]].sum())
        if (None in counts) != np.isnan(tokens) or (None not in counts and tokens != sum(counts)):
            found.append(f"{name}: live {counts} tokens, replayed {tokens}")
    return found


def verdict_differs(where: Setting, played: Played, t: Trajectories) -> list[str]:
    """Return how the decisions differ from the plurality of the log's last votes, ties as the protocols have them.

    A tie is marked as tied in the log; its decision is one of the leading answers, "tie" or none.
    """
    found = []
    for row, name in enumerate(t.debates):
        last = t.votes[row, int(t.depth[row]) - 1]
        votes = Counter(t.answers[code] for code in last[last != MISSING].tolist())
        leading = [answer for answer, n in votes.items() if n == max(votes.values())]
        case = where.planned[row].case
        verdict = int(t.verdicts()[row, int(t.depth[row]) - 1])
        live = played.outcomes[name].decision
        if bool(t.tied()[row, int(t.depth[row]) - 1]) != (len(leading) > 1):
            found.append(f"{name}: tied")
        if where.protocol.name in JURIES and len(leading) > 1:
            if live not in (*leading, "tie", None):
                found.append(f"{name}: live {live}, votes {votes}")
        elif live != settled(leading, case.sides, case.answers):
            found.append(f"{name}: live {live}, votes {votes}")
        if len(leading) == 1 and t.answers[verdict] != live:
            found.append(f"{name}: live {live}, replayed {t.answers[verdict]}")
    return found


def refused(rule: StoppingRule, log: Trajectories) -> bool:
    """Whether the rule refuses a log that cannot tell what it reads; it says so.

    That is a log without any token count or any confidence, and one in which somebody who casts no vote may be the last
    one's judge.
    """
    try:
        rule.stop_rounds(log)
    except ValueError as error:
        no_tokens = log.tokens is None and str(error).startswith("tokens must be")
        no_judge = log.speakers is not None and str(error).startswith("seat must count from the front")
        unsure = log.confidence is None and str(error).startswith("votes must have a confidence")
        if not (no_tokens or no_judge or unsure):
            raise
        return True
    return False


def told(rule: StoppingRule, silent: set[str]) -> bool:
    """Whether a log can tell who has a seat; a declaration from the last seat refuses it where it cannot."""
    return not silent or (isinstance(rule, Declaration) and rule.seat < 0)


def compare(seed: int, every: int = 1) -> Counter[str]:
    """Play one random setting under all rules, or every so manyth; return how often each was compared and fired."""
    where, known, seen = setting(seed), Spoken(), Counter[str]()
    full = play(where, FullDepth(), known)
    whole = full.log(where)
    logs: dict[frozenset[tuple[str, int, str]], Trajectories] = {}
    for rule in RULES[seed % every :: every]:
        if not suits(where, rule):
            continue
        played = play(where, rule, known)
        # Runs in which the same turns were taken wrote the same log.
        taken = frozenset((turn["debate"], turn["round"], turn["agent"]) for turn in played.turns)
        own = logs[taken] = logs[taken] if taken in logs else played.log(where)
        for what, log, silent in (("full", whole, full.silent), ("own", own, played.silent)):
            if not told(rule, silent):
                seen["silent"] += 1
                continue
            if refused(rule, log):
                seen["refused"] += 1
                continue
            found = differences(where, played, rule, log)
            assert not found, f"seed {seed}, {where.protocol}, {rule}, {what} log: {found}"
            seen[str(rule)] += 1
        by_votes = not any(part in str(where.protocol) for part in ("extraction=mean", "jurors=0"))
        if where.protocol.name in PLURALITY + JURIES and by_votes and not played.silent:
            assert not (found := verdict_differs(where, played, own)), f"seed {seed}, {rule}: {found}"
        seen[f"fired {rule}"] += any(as_decided(played, name)[1] != "exhausted" for name in played.outcomes)
    return seen


def run_of(seed: int, folder: Path) -> None:
    """Play one random setting for real under one rule; replay its log by arrays and by agents."""
    where = setting(seed)
    fitting = [rule for rule in RULES if suits(where, rule)]
    rule = fitting[seed % len(fitting)]
    log, again = folder / f"{seed}.jsonl", folder / f"{seed}-again.jsonl"
    report = debate(
        where.protocol, where.items, where.agent, log, rule=rule, seed=seed, name="n", concurrency=3
    )
    played = play(where, rule, Spoken())
    verdicts = {record.debate: record for record in iter_records(log) if record.type == "verdict"}
    assert {name: (v.decision, v.round, v.stop_reason) for name, v in verdicts.items()} == {
        name: (outcome.decision, outcome.round, outcome.reason) for name, outcome in played.outcomes.items()
    }
    counts = [turn[key] or 0 for turn in played.turns for key in ("tokens_in", "tokens_out")]
    assert report.tokens_in + report.tokens_out == sum(counts)
    t = Trajectories.from_log(log)
    t = t.select([t.debates.index(one.debate) for one in where.planned])
    if told(rule, played.silent) and not refused(rule, t):
        assert not (found := differences(where, played, rule, t)), f"seed {seed}, {rule}: {found}"
    debate(where.protocol, where.items, ReplayAgent(log), again, rule=rule, seed=seed, name="n")
    # The first line tells the settings of the run, of which the agents are a part.
    records = [
        {str({**r.to_dict(), "model": None}) for r in iter_records(path) if r.type != "log"}
        for path in (log, again)
    ]
    assert records[0] == records[1], f"seed {seed}, {where.protocol}, {rule}"


def test_every_rule_that_can_be_written_is_among_those_that_are_compared() -> None:
    assert set(rule_names()) - {rule.name for rule in RULES if rule.name} <= {"hu2025", "d3_paper", "d3_code"}
    assert len(RULES) >= 25


def fast_and_slow(fast: int, slow: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "seeds",
        [
            pytest.param(range(fast), id=str(fast)),
            pytest.param(range(slow), id=str(slow), marks=pytest.mark.slow),
        ],
    )


@fast_and_slow(70, 5000)
def test_a_rule_stops_a_random_run_where_it_stops_the_log_with_the_same_verdict_and_tokens(
    seeds: range,
) -> None:
    seen = Counter[str]()
    for seed in seeds:
        seen += compare(seed, 8 if len(seeds) < 1000 else 1)
    for rule in RULES:
        assert seen[str(rule)] > 0.01 * len(seeds), f"{rule} is hardly compared"
        assert seen[f"fired {rule}"] > 0 or rule == FullDepth(), f"{rule} never fires"


@fast_and_slow(5, 1000)
def test_the_order_of_the_debates_in_a_log_changes_no_stop_of_a_whole_batch(seeds: range) -> None:
    # One replicate, so that another draw is seen as another stop.
    chancy = [from_text(f"ks_bound:{epsilon},level=0.3,window=1,camp=largest") for epsilon in (0.4, 0.6)]
    for seed in seeds:
        where = setting(seed)
        full = play(where, FullDepth(), Spoken())
        order = np.random.default_rng(seed).permutation(len(where.planned))
        log = full.log(where)
        shuffled = log.select(order)
        for rule in (*chancy, *RULES):
            if isinstance(rule, Rule) or not suits(where, rule):
                continue
            one, other = rule.stop_rounds(log), rule.stop_rounds(shuffled)
            assert one.rounds[order].tolist() == other.rounds.tolist(), f"seed {seed}, {rule}"
            assert one.reasons[order].tolist() == other.reasons.tolist(), f"seed {seed}, {rule}"


@fast_and_slow(6, 300)
def test_a_random_run_its_log_and_its_agents_played_again_are_one(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        run_of(seed, tmp_path)


class Counted(Hashed):
    """Says how often it was asked; with `uncounted=1` no reply has tokens, imagined ones neither."""

    asked = 0

    async def act(self, request: Request, /, more: More = always) -> Reply:
        self.asked += 1
        return await super().act(request, more)

    def imagine(self, request: Request, size: Size, /) -> Reply:
        tokens = (None, None) if self.uncounted else (25, 9)
        return Reply("x" * 5, tokens_in=tokens[0], tokens_out=tokens[1])


PAIR = [DebateItem(f"q{i}", "?", ("this", "that"), ("A", "B"), "A") for i in range(2)]


@pytest.mark.parametrize(
    ("protocol", "rule", "uncounted", "message"),
    [
        ("majority:judges=3", "budgeted:2", 0.0, "protocol must score every round for the rule budgeted:2"),
        ("majority:judges=3", "score_declaration:0", 0.0, "protocol must score every round"),
        ("samre:jurors=3,personas=none", "unanimity", 0.0, "protocol must poll its voters every round"),
        (
            "samre:jurors=0",
            "budgeted:2,budget=9",
            1.0,
            "agents must count their tokens for the rule budgeted",
        ),
        (
            "samre:jurors=0",
            "token_budget:9 | fixed:2",
            1.0,
            "agents must count their tokens for the rule token",
        ),
    ],
)
def test_a_rule_that_reads_what_nobody_will_give_is_refused_before_the_first_call(
    protocol: str, rule: str, uncounted: float, message: str, tmp_path: Path
) -> None:
    agent, log = Counted(1, uncounted=uncounted), tmp_path / "log.jsonl"
    with pytest.raises(ValueError, match=f"^{message}"):
        debate(protocol_from_text(protocol), PAIR, agent, log, rule=from_text(rule))
    assert agent.asked == 0
    assert not log.exists()


@pytest.mark.parametrize("rule", ["token_budget:9000", "budgeted:2,budget=9000"])
def test_a_count_that_is_not_known_beforehand_to_be_missing_ends_debates_in_words(
    rule: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    report = debate(
        protocol_from_text("samre:jurors=0,max_rounds=3"),
        PAIR,
        Hashed(1, uncounted=0.5),
        log,
        rule=from_text(rule),
    )
    assert report.stops == {"tokens_unknown": 2}
    assert set(from_text(rule).stop_rounds(Trajectories.from_log(log)).reasons.tolist()) == {"tokens_unknown"}


def test_a_log_whose_scores_are_all_missing_still_has_its_sides_in_every_format(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    agent = Hashed(1, failing=1.0)
    items = [DebateItem(f"p{i}", "?", ("this", "that"), ("A", "B"), "A") for i in range(2)]
    protocol, rule = protocol_from_text("samre:jurors=0,max_rounds=3"), from_text("budgeted:2,max_rounds=2")
    debate(protocol, items, agent, log, rule=rule)
    for path in (log, write_csv(log, tmp_path / "log.csv"), write_parquet(log, tmp_path / "log.parquet")):
        t = Trajectories.from_log(path)
        assert t.sides == ("A", "B")
        assert t.scores is not None
        assert np.isnan(t.scores).all()
        assert rule.stop_rounds(t).reasons.tolist() == ["round_cap"] * 2
    judged = [r for r in iter_records(log) if r.type == "turn" and r.role == "judge"]
    assert all(turn.scores == {"A": {}, "B": {}} and as_reply(turn).scores is None for turn in judged)


def test_a_run_that_breaks_off_leaves_no_call_behind_that_was_never_begun() -> None:
    where = Setting(1, protocol_from_text("majority:judges=3"), PAIR, Hashed(1))

    async def settle(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        raise AssertionError("no round ends here")

    begun = []

    async def broken() -> None:
        begun.append(
            asyncio.ensure_future(drive(where.protocol.play(where.planned[0].case), where.agent.act, settle))
        )
        raise LookupError("broken off")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with suppress(LookupError):
            asyncio.run(broken())
        begun.clear()
        gc.collect()
    assert [str(one.message) for one in said if issubclass(one.category, RuntimeWarning)] == []


def test_a_replay_does_not_price_an_earlier_stop_where_a_jury_is_asked_at_the_end(tmp_path: Path) -> None:
    notes, tokens = {}, {}
    for poll in ("end", "every_round"):
        log, agent = tmp_path / f"{poll}.jsonl", Hashed(1)
        protocol = protocol_from_text(f"samre:jurors=3,poll={poll},max_rounds=3,personas=none")
        debate(protocol, PAIR, agent, log)
        found = replay(Trajectories.from_log(log), ["fixed:1", "fixed:3"])
        notes[poll], tokens[poll] = found.notes, found.to_frame().set_index("rule")["tokens"]
    (note,) = (note for note in notes["end"] if "No debate has a vote before its last round" in note)
    assert "(fixed:1)" in note
    assert np.isnan(tokens["end"]["fixed:1"])
    assert tokens["every_round"]["fixed:1"] > 0
    assert any("Tokens are not known" in note and "fixed:1" in note for note in notes["end"])
    assert not any("before its last round" in note for note in notes["every_round"])
