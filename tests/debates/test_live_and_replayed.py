"""Live and replayed are one: a run and its log give the same stops, the same verdicts and the same tokens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from random_debates import Played, Setting, Spoken, as_decided, play, rules, setting

from d3stats.agents.replay import ReplayAgent
from d3stats.debates.ahead import Cast, check_rule
from d3stats.debates.run import debate
from d3stats.log.records import iter_records
from d3stats.protocols.play import settled
from d3stats.stopping import BudgetedStopping, FullDepth, StoppingRule
from d3stats.stopping.parse import rule_names
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
        check_rule(where.protocol, rule, where.planned[0].case, Cast(where.agent), labelled)
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


def counted(known: Spoken) -> bool:
    """Whether the tokens of all replies are recorded."""
    return all(reply.tokens_in is not None for reply in known.values())


def unreadable(rule: StoppingRule, log: Trajectories) -> bool:
    """Whether the rule refuses a log in which no turn has what it reads; it says so."""
    absent = {"scores": log.scores is None, "tokens": log.tokens is None}
    if not any(absent[part] for part in rule.reads & absent.keys()):
        return False
    try:
        rule.stop_rounds(log)
    except ValueError as error:
        return str(error).startswith(("scores must be", "tokens must be"))
    return False


def compare(seed: int, every: int = 1) -> Counter[str]:
    """Play one random setting under all rules, or every so manyth; return how often each was compared and fired."""
    where, known, seen = setting(seed), Spoken(), Counter[str]()
    full = play(where, FullDepth(), known)
    whole = full.log(where)
    logs: dict[frozenset[tuple[str, int, str]], Trajectories] = {}
    for rule in RULES[seed % every :: every]:
        if not suits(where, rule):
            continue
        if not counted(known) and isinstance(rule, BudgetedStopping) and rule.budget is not None:
            # A token count that is not known cannot be held against a budget, live or replayed.
            with pytest.raises(ValueError, match=r"^(tokens|scores) must be"):
                rule.stop_rounds(whole)
            seen["refused"] += 1
            continue
        played = play(where, rule, known)
        # Runs in which the same turns were taken wrote the same log.
        taken = frozenset((turn["debate"], turn["round"], turn["agent"]) for turn in played.turns)
        own = logs[taken] = logs[taken] if taken in logs else played.log(where)
        for what, log, silent in (("full", whole, full.silent), ("own", own, played.silent)):
            if silent:
                seen["silent"] += 1
                continue
            if unreadable(rule, log):
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
    fitting = [rule for rule in RULES if suits(where, rule) and "budget" not in str(rule)]
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
    if not played.silent and not unreadable(rule, t):
        assert not (found := differences(where, played, rule, t)), f"seed {seed}, {rule}: {found}"
    debate(where.protocol, where.items, ReplayAgent(log), again, rule=rule, seed=seed, name="n")
    told = [{r.model_dump_json(exclude={"model"}) for r in iter_records(path)} for path in (log, again)]
    assert told[0] == told[1], f"seed {seed}, {where.protocol}, {rule}"


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


@fast_and_slow(200, 5000)
def test_a_rule_stops_a_random_run_where_it_stops_the_log_with_the_same_verdict_and_tokens(
    seeds: range,
) -> None:
    seen = Counter[str]()
    for seed in seeds:
        seen += compare(seed, 2 if len(seeds) < 1000 else 1)
    for rule in RULES:
        assert seen[str(rule)] > 0.05 * len(seeds), f"{rule} is hardly compared"
        assert seen[f"fired {rule}"] > 0 or rule == FullDepth(), f"{rule} never fires"


@fast_and_slow(10, 300)
def test_a_random_run_its_log_and_its_agents_played_again_are_one(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        run_of(seed, tmp_path)
