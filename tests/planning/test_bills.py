"""A rule costs what the protocol run with that rule costs, and decides what that run decides.

Debates are played with synthetic agents, once to their full depth with every vote that can be asked for, and once with
each rule. The same agent gives the same reply to the same request, so that a replay of the first log has to give the
tokens, the stop and the decision of the second, debate by debate. The simulator draws other debates of the same law.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats.planning import escalate, plan, replay, scan
from d3stats.planning.describe import fit
from d3stats.planning.prices import dollars_by_round, price_turns
from d3stats.planning.simulate import simulate
from d3stats.planning.study import Study
from d3stats.polling import OF_PROTOCOL, reads_votes
from d3stats.protocols import protocol_from_text
from d3stats.protocols.play import RuleBook
from d3stats.stopping import from_text
from d3stats.trajectories import Trajectories
from d3stats.worlds import (
    Assembly,
    Conformity,
    Courtroom,
    Lengths,
    PriceTable,
    Referees,
    Voter,
    World,
    simulate_debates,
    synthetic_agent,
    synthetic_items,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "worlds"))
from twins import step_through


@dataclass(frozen=True)
class Setting:
    """A protocol, with the setting that asks for every vote, two worlds that it is played in, and rules."""

    protocol: str
    worlds: tuple[World, ...]
    rules: tuple[str, ...]
    asks_all: str = ""

    def text(self, rule: str | None) -> str:
        """Return the protocol as it is run with a rule, or to full depth with all votes for None."""
        asks = rule is None or reads_votes(from_text(rule))
        return self.protocol + (f",{self.asks_all}" if asks and self.asks_all else "")


GAPS = ("d3_paper", "d3_code", "sign_agreement:2 | fixed:4", "budgeted:3.0,budget=7000,max_rounds=5")
TOKENS = ("token_budget:16000", "unanimity | token_budget:16000")
VOTES = ("unanimity", "supermajority:0.8", "ladder:5-4-3", "fixed:1", "fixed:2", "full")
OF_THREE, OF_TWO = ((*VOTES[:2], f"ladder:{steps}", *VOTES[3:]) for steps in ("3-2-1", "2-1"))
SHARES = ("supermajority:0.75", "supermajority:0.6,patience=2", "supermajority:1.0")
COURTS = (
    Courtroom(poll="every_round"),
    Courtroom(
        poll="every_round", hidden=0.8, decay=0.6, position_bias=3.0, rationale_words=300.0, juror_noise=4.0
    ),
)
DISCUSSIONS = tuple(
    Assembly(protocol="peer_discussion", **settings)
    for settings in ({}, {"conformity": 0.1, "reveals": "talk", "diversity": 0.5})
)
RANKS = tuple(
    Assembly(protocol="peer_rank", court=Courtroom(position_bias=bias, first=first))
    for bias, first in ((0.6, "A"), (5.0, "B"))
)
SETTINGS = {
    "samre": Setting("samre:memory=transcript", COURTS, (*GAPS, *TOKENS, *VOTES), "poll=every_round"),
    "samre, a jury of four": Setting(
        "samre:memory=transcript,jurors=4",
        tuple(replace(court, panel=4) for court in COURTS),
        ("d3_paper", "unanimity", "fixed:1", "full", *SHARES, "ladder:4-3-3"),
        "poll=every_round",
    ),
    "samre, a jury of six": Setting(
        "samre:memory=latest,jurors=6",
        tuple(replace(court, panel=6, memory="latest") for court in COURTS),
        ("unanimity", "full", *SHARES, "ladder:6-5-4"),
        "poll=every_round",
    ),
    "samre, short memory": Setting(
        "samre:memory=latest",
        tuple(replace(court, memory="latest") for court in COURTS),
        ("fixed:2", "fixed:3", "full", "supermajority:0.8"),
        "poll=every_round",
    ),
    "samre as it is by default": Setting(
        "samre:memory=algorithm",
        tuple(replace(court, memory="algorithm") for court in COURTS),
        ("d3_paper", "fixed:2", "full"),
        "poll=every_round",
    ),
    "samre of the advocates": Setting(
        "samre_advocates:memory=transcript,max_rounds=5", COURTS, (*GAPS[:3], *VOTES), "poll=every_round"
    ),
    "more, then samre": Setting(
        "d3:jurors=4",
        tuple(replace(court, protocol="d3", panel=4, advocates=3, memory="algorithm") for court in COURTS),
        ("wide_gap:15 | fixed:3", "fixed:1", "unanimity.after(2)", "full"),
        "poll=every_round",
    ),
    "more": Setting(
        "more",
        tuple(replace(court, protocol="more", advocates=3) for court in COURTS),
        ("unanimity", "full"),
    ),
    "chateval": Setting("chateval:max_rounds=3", (Referees(), Referees(conformity=0.9)), OF_THREE),
    "two referees": Setting(
        "chateval:max_rounds=3,referees=critic+scientist",
        (Referees(panel=2), Referees(panel=2, conformity=0.9)),
        OF_TWO,
    ),
    "stability": Setting(
        "stability:max_rounds=4,camp=none,panel=4",
        (Voter(panel=4), Conformity(panel=4)),
        (*VOTES[:2], *VOTES[3:]),
    ),
    "stability, short memory": Setting(
        "stability:max_rounds=4,camp=none,panel=4,sees=last_round",
        tuple(kind(panel=4, lengths=Lengths(sees="last_round")) for kind in (Voter, Conformity)),
        ("unanimity", "fixed:2", "full"),
    ),
    "samre, ties by the last scores": Setting(
        "samre:memory=transcript,jurors=4,tie_break=final",
        tuple(replace(court, panel=4) for court in COURTS),
        ("d3_paper", "fixed:3", "full", "supermajority:0.75"),
        "poll=every_round",
    ),
    "samre without a jury": Setting("samre:jurors=0", COURTS, ("d3_paper", "fixed:2", "unanimity", "full")),
    "more, then samre, without a jury": Setting("d3:jurors=0", COURTS, ("d3_paper", "fixed:1", "full")),
    "chateval, by means": Setting(
        "chateval:max_rounds=3,extraction=mean", (Referees(), Referees(conformity=0.9)), OF_THREE
    ),
    "chateval, by ranks": Setting(
        "chateval:max_rounds=3,extraction=borda,referees=public+critic+author+scientist",
        (Referees(panel=4), Referees(panel=4, conformity=0.9)),
        OF_THREE,
    ),
    "multi-persona": Setting(
        "multi_persona:max_rounds=4",
        (Assembly(), Assembly(decide_at=12.0, reveals="talk", diversity=0.4)),
        ("fixed:1", "fixed:2", "unanimity", "supermajority:0.6", "declaration:-1", "full"),
    ),
    "peer discussion": Setting(
        "peer_discussion:max_rounds=4", DISCUSSIONS, ("unanimity:missing=block", "fixed:1", "fixed:2", "full")
    ),
    "peer discussion, decided by the last": Setting(
        "peer_discussion:max_rounds=4,undecided=last_speaker", DISCUSSIONS, ("unanimity", "fixed:1", "full")
    ),
    "peer rank": Setting("peer_rank", RANKS, ("unanimity", "full")),
    "peer rank, weighted": Setting("peer_rank:weights=3+1+1+1+1", RANKS, ("full",)),
    "peer rank, both votes": Setting("peer_rank:weights=3+1+1+1+1,orders=each", RANKS, ("full",)),
}
SIMULATED = (
    *("samre", "samre, a jury of four", "samre, a jury of six", "samre, short memory"),
    *("samre as it is by default", "samre of the advocates", "more, then samre", "more"),
    *("chateval", "two referees", "chateval, by means", "stability"),
    "stability, short memory",
    *("multi-persona", "peer discussion", "peer rank"),
)
"""Settings of which worlds are drawn at once; the others differ from one of them in how debates are decided."""


@dataclass(frozen=True)
class Played:
    """Debates that were played: their arrays, decisions and turns."""

    log: Trajectories
    decision: list[str | None]
    turns: pd.DataFrame

    @property
    def tokens(self) -> np.ndarray:
        assert self.log.tokens is not None
        return np.nansum(self.log.tokens, axis=1)


@cache
def played(setting: str, world: int, rule: str | None, n: int, seed: int = 5) -> Played:
    """Play debates and read them as a log."""
    one = SETTINGS[setting]
    protocol, law = protocol_from_text(one.text(rule)), one.worlds[world]
    stop: Any = from_text("full" if rule is None else rule)
    agent: Any = synthetic_agent(law, seed)
    turns, items, decisions = [], [], []
    for i, item in enumerate(synthetic_items(law, n, seed)):
        case = item.case(f"debate {i:05d}", "A")
        book = RuleBook(case, stop, protocol.max_rounds)
        for request, reply in step_through(protocol.play(case), agent, book, lambda request: request):
            if request is None:
                decisions.append(reply.decision)
                break
            about = {
                "debate": case.debate,
                "round": request.round,
                "agent": request.agent,
                "role": request.role,
            }
            spent = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
            turns.append(about | {"vote": reply.vote, "scores": reply.scores} | spent)
        about = {
            "debate": case.debate,
            "question": case.question,
            "label": item.label,
            "protocol": protocol.name,
        }
        about |= {"polling": protocol.recorded(), "stop_reason": reply.reason}
        items.append(about | {"answers": case.answers})
    table = pd.DataFrame(turns)
    return Played(Trajectories.from_frame(table, pd.DataFrame(items)), decisions, table)


def equal_to_the_runs(setting: str, world: int, n: int) -> None:
    """Compare a replay with a run with each rule: stop, tokens and decision of every debate."""
    whole = played(setting, world, None, n)
    rules = SETTINGS[setting].rules
    found = replay(whole.log, rules)
    table = found.per_debate().set_index(["rule", "debate"])
    scanned = scan(whole.log, rules).set_index("rule")
    for rule in map(str, map(from_text, rules)):
        run = played(setting, world, rule, n)
        own = table.loc[rule].loc[list(run.log.debates)]
        assert own["round"].tolist() == run.log.depth.tolist(), rule
        np.testing.assert_allclose(own["tokens"].to_numpy(float), run.tokens, err_msg=rule)
        assert scanned.loc[rule, "tokens"] == pytest.approx(run.tokens.mean()), rule
        verdicts = own["verdict"].astype(object).where(own["verdict"].notna(), None)
        assert verdicts.tolist() == run.decision, rule


PLAYED = 6
"""Debates of the fast layer: one game with each rule serves the replay and the simulated costs."""
IN_TURN = {setting: k % 2 for k, setting in enumerate(SETTINGS)}
"""The world of each setting that is the fast layer."""


def in_turn(settings: Iterable[str]) -> list[Any]:
    """Every setting with both of its worlds, one of which is the fast layer."""
    return [
        pytest.param(setting, world, marks=() if world == IN_TURN[setting] else pytest.mark.slow)
        for setting in settings
        for world in (0, 1)
    ]


@pytest.mark.parametrize(("setting", "world"), in_turn(SETTINGS))
def test_a_replay_is_the_run_with_the_rule(setting: str, world: int) -> None:
    equal_to_the_runs(setting, world, PLAYED)


@pytest.mark.slow
@pytest.mark.parametrize("world", [0, 1])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_replay_of_two_thousand_debates_is_the_run_with_the_rule(setting: str, world: int) -> None:
    equal_to_the_runs(setting, world, 2000)


def apart(setting: str, world: int, rules: tuple[str, ...], n: int, drawn: int = 20_000) -> dict[str, float]:
    """Return by rule how far mean tokens and accuracy simulated and played are apart, in standard errors."""
    one = SETTINGS[setting]
    depth = protocol_from_text(one.text(None)).max_rounds
    study = Study(worlds=[one.worlds[world]], rules=rules, n_rounds=depth, debates=drawn, seeds=[11])
    table = simulate(study).to_frame().set_index("rule")
    found = {}
    for rule in map(str, map(from_text, rules)):
        run = played(setting, world, rule, n)
        tokens = run.tokens
        # The spread of the simulated debates, since few of the played ones may be long.
        error = table.loc[rule, "tokens_se"] * np.sqrt(1 + drawn / n)
        away = table.loc[rule, "tokens"] - tokens.mean()
        found[rule] = away / error if error > 0.01 else 0.0 if abs(away) < 0.5 else np.inf
        law, run_by = one.worlds[world].polling, protocol_from_text(one.text(None)).polling
        # Panels of no protocol leave a tie to the lowest seat, and ChatEval's means decide otherwise than its votes.
        if law is not None and replace(law, at_end=False, tie=False) == replace(run_by, at_end=False):
            names = [None if code < 0 else run.log.answers[code] for code in run.log.label]
            right = [a == b for a, b in zip(run.decision, names, strict=True) if a is not None]
            error = table.loc[rule, "accuracy_se"] * np.sqrt(1 + drawn / len(right))
            found[f"{rule}: right"] = (table.loc[rule, "accuracy"] - np.mean(right)) / error
    return found


QUICK = ("d3_paper", "unanimity", "full", "fixed:2", "fixed:3", SHARES[0], "unanimity:missing=block")


@pytest.mark.parametrize(("setting", "world"), in_turn(SIMULATED))
def test_a_simulated_rule_costs_what_its_run_costs(setting: str, world: int) -> None:
    rules = tuple(rule for rule in SETTINGS[setting].rules if rule in QUICK or "ladder:" in rule)
    assert {
        rule: z for rule, z in apart(setting, world, rules, PLAYED, drawn=2000).items() if abs(z) > 4
    } == {}


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "world"), [(name, world) for name in SIMULATED for world in (0, 1)])
def test_a_simulated_rule_costs_what_two_thousand_runs_cost(setting: str, world: int) -> None:
    found = apart(setting, world, SETTINGS[setting].rules, 2000)
    assert {rule: z for rule, z in found.items() if abs(z) > 4} == {}


@pytest.mark.parametrize("setting", SETTINGS)
def test_who_only_votes_is_asked_when_the_protocol_says(setting: str) -> None:
    one = SETTINGS[setting]
    for rule in (None, *one.rules):
        run = played(setting, IN_TURN[setting], rule, PLAYED)
        polling = protocol_from_text(one.text(rule)).polling
        asks = from_text("unanimity" if rule is None else rule)
        turns = run.turns[run.turns["role"] == polling.voters]
        there = set(zip(turns["debate"], turns["round"], strict=True))
        for debate, depth in zip(run.log.debates, run.log.depth.tolist(), strict=True):
            for r in range(1, depth + 1):
                asked = bool(polling.voters) and polling.asked(asks, r, stops=r == depth)
                assert ((debate, r) in there) == asked, (rule, debate, r)


def test_only_the_protocols_that_say_so_have_voters_whom_nobody_reads() -> None:
    assert {name for name, polling in OF_PROTOCOL.items() if polling.voters} == {
        "samre",
        "samre_advocates",
        "d3",
    }


def test_a_jury_asked_once_runs_no_rule_on_votes_and_tells_their_price() -> None:
    rules = ["d3_paper", "supermajority:0.8"]
    worlds = {"end": Courtroom(), "polled": Courtroom(poll="every_round")}
    done = simulate(Study(worlds=worlds, rules=rules, n_rounds=4, debates=2000))
    table = done.to_frame().set_index(["world", "rule"])
    d3 = str(from_text("d3_paper"))
    assert list(table.loc["end"].index) == [d3, "full"]
    assert list(table.loc["polled"].index) == [d3, "supermajority:0.8", "unanimity", "full"]
    assert table.loc[("end", d3), "tokens"] == table.loc[("polled", d3), "tokens"]
    assert table.loc["end", ["saved_tokens_vs_unanimity", "accuracy_minus_unanimity"]].isna().all(axis=None)
    assert table.loc[("end", d3), "accuracy_minus_full"] == pytest.approx(
        table.loc[("end", d3), "gained"] - table.loc[("end", d3), "lost"]
    )
    (note,) = done.notes
    prices = table.loc["polled", "tokens"]
    assert f"{prices['supermajority:0.8']:,.0f}, {prices['unanimity']:,.0f} tokens" in note
    assert "poll=every_round" in note
    assert set(done.recommend(max_loss=0.5)["world"]) == {"end", "polled"}
    assert set(done.stops()["rule"]) == {d3, "supermajority:0.8", "unanimity", "full"}


def test_a_log_with_votes_at_the_end_replays_no_rule_on_votes_and_prices_no_other_stop() -> None:
    run = played("samre", 0, "full", PLAYED)
    found = replay(run.log, ["d3_paper", "fixed:2", "supermajority:0.8"])
    d3 = str(from_text("d3_paper"))
    assert found.names == (d3, "fixed:2", "full")
    assert found.baseline is None
    table = found.to_frame().set_index("rule")
    assert table.loc[[d3, "fixed:2"], "tokens"].isna().all()
    assert table.loc["full", "tokens"] == pytest.approx(run.tokens.mean())
    assert table[["saved_rounds_vs_unanimity", "saved_tokens_vs_unanimity"]].isna().all(axis=None)
    assert found.cheapest().empty
    assert any("supermajority:0.8; unanimity" in note and "poll=every_round" in note for note in found.notes)
    assert any("Tokens are not known" in note and d3 in note for note in found.notes)
    scanned = scan(run.log, [d3, "unanimity"]).set_index("rule")
    assert np.isnan(scanned.loc["unanimity", "rounds"])
    assert scanned.loc[d3, "rounds"] == table.loc[d3, "rounds"]
    assert np.isnan(scanned.loc[d3, "tokens"])


def test_a_simulated_log_is_charged_as_the_simulation_is() -> None:
    for world in (Courtroom(), COURTS[0]):
        study = Study(worlds=[world], rules=["d3_paper"], n_rounds=4, debates=300)
        table = simulate(study).to_frame().set_index("rule")
        frame = replay(simulate_debates(world, 300, 4, rng=0), "d3_paper").to_frame().set_index("rule")
        assert list(frame.index) == list(table.index)
        np.testing.assert_allclose(frame["tokens"], table["tokens"], atol=0.5)


@pytest.mark.parametrize("setting", ["samre", "samre as it is by default"])
def test_the_saving_of_d3_is_that_of_two_runs(setting: str) -> None:
    d3, full = (played(setting, 0, rule, PLAYED).tokens.mean() for rule in ("d3_paper", "full"))
    table = replay(played(setting, 0, None, PLAYED).log, "d3_paper").to_frame().set_index("rule")
    assert table.loc[str(from_text("d3_paper")), "saved_tokens_vs_full"] == pytest.approx(1 - d3 / full)


def test_logs_of_several_protocols_in_one_are_charged_as_each_alone() -> None:
    court, panel = played("samre", 0, None, 24), played("stability", 0, None, 24)
    panel_log = replace(panel.log, debates=tuple(f"panel {name}" for name in panel.log.debates))
    both = Trajectories.concat(court.log, panel_log)
    for rule in ("fixed:1", "fixed:2"):
        alone = [
            replay(log, rule).per_debate().query("rule == @rule")["tokens"].to_numpy(float)
            for log in (court.log, panel_log)
        ]
        joined = replay(both, rule).per_debate().query("rule == @rule")["tokens"].to_numpy(float)
        np.testing.assert_allclose(joined, np.concatenate(alone))


def test_a_plan_charges_full_depth_for_one_poll_in_tokens_and_dollars() -> None:
    run = played("samre", 0, None, PLAYED)
    full = played("samre", 0, "full", PLAYED)
    prices = PriceTable("2025-01-01", {"judge": (1.0, 4.0), "jury": (2.0, 8.0)})
    roles = {"juror": "jury"}
    dollars, own = (
        price_turns(one.turns, one.log, prices, model="judge", role_models=roles) for one in (run, full)
    )
    for paid in ({"dollars": dollars}, {"price": (1.0, 4.0)}):
        table = plan(run.log, limit=False, n_draws=50, rng=1, **paid).to_frame().set_index("rule")
        assert table.loc["full", "tokens"] == pytest.approx(full.tokens.mean())
        assert table.loc["unanimity", "tokens"] == pytest.approx(
            played("samre", 0, "unanimity", PLAYED).tokens.mean()
        )
        cost = own.dollars if "dollars" in paid else dollars_by_round(full.log, (1.0, 4.0))
        assert table.loc["full", "dollars"] == pytest.approx(cost.sum(axis=1).mean())
        assert table.loc["full", "saved"] == pytest.approx(
            1 - table.loc["full", "dollars"] / table.loc["unanimity", "dollars"]
        )
    bare = plan(run.log, limit=False, n_draws=50, rng=1, dollars=dollars.dollars).to_frame().set_index("rule")
    assert np.isnan(bare.loc["full", ["dollars", "saved"]].astype(float)).all()


def test_a_pilot_with_votes_at_the_end_cannot_be_planned_and_is_described() -> None:
    run = played("samre", 0, "full", PLAYED)
    with pytest.raises(ValueError, match=r"votes after every round.*poll=every_round"):
        plan(run.log)
    report = fit(run.log, n_components=1, n_boot=10, rng=1)
    frame, counts = report.to_frame(), report.counts()
    assert frame["round"].tolist() == counts.index.tolist() == [run.log.n_rounds]
    assert frame["missing_votes"].tolist() == [0]
    assert int(counts.to_numpy().sum()) == len(run.log)
    assert len(report._shown()) == 3
    # A debate that a rule ended earlier has its votes there, and none is missing elsewhere.
    stopped = played("samre", 0, "d3_paper", PLAYED).log
    asked = stopped.successes_trials("wrong")[1]
    assert (asked.sum(axis=1) == stopped.panel).all()
    assert (np.argmax(asked, axis=1) == stopped.depth - 1).all()


def test_an_escalation_charges_a_polled_log_for_one_poll() -> None:
    first, run, alone = (
        played("more", 0, None, PLAYED),
        played("samre", 0, None, PLAYED),
        played("samre", 0, "full", PLAYED),
    )
    both = [escalate(first.log, second.log).pilot.tokens for second in (run, alone)]
    np.testing.assert_allclose(*both)


def test_a_debate_that_its_protocol_ended_is_whole() -> None:
    run = played("multi-persona", 0, None, PLAYED)
    assert (run.log.depth < run.log.n_rounds).any()
    assert not run.log.ended_early().any()
    found = replay(run.log, ["fixed:1", "fixed:3"])
    assert found.undecided == {}
    assert not any("full depth is unknown" in note for note in found.notes)
    assert found.to_frame()["agreement"].notna().all()
    # Another protocol that a rule of this name ended might have gone on.
    cut = replace(run.log, ended_itself=None)
    assert replay(cut, ["fixed:3"]).undecided


@pytest.mark.parametrize("setting", ["more", "peer rank"])
def test_a_protocol_of_one_round_has_no_rule_to_choose_and_says_so(setting: str) -> None:
    study = Study(worlds=[SETTINGS[setting].worlds[0]], rules=["unanimity"], n_rounds=1, debates=1000)
    done = simulate(study)
    assert len(set(done.to_frame()["tokens"])) == 1
    assert any("no stopping rule to choose" in note for note in done.notes)
