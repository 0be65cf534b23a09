"""Who spoke before whom: stages of the protocols as they are played, the journal beside a log, and own tables."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_rationales import COLUMNS

from d3stats import read_log
from d3stats.agent import Reply, Request
from d3stats.inference import compare_rationales, rationale_texts, rationales
from d3stats.inference.reasons.rationales import BESIDE, CITES, REPEATS
from d3stats.protocols import protocol_from_text, protocols, schematic
from d3stats.run import DebateItem, run_debates
from d3stats.sources.texts import SPEAKING, as_texts, stages_of

SPOKE = "that name who spoke before"
VARIANTS = [
    *(f"{name}:" for name in protocols()),
    *(f"chateval:communication={c}" for c in ("simultaneous", "simultaneous_with_summarizer")),
    "chateval:max_rounds=1,referees=public+critic+scientist+psychologist",
    "agentverse:recruit=every_round",
    "eot_network:communication=relay",
    "samre:poll=every_round",
    "d3:poll=every_round",
    "more:jurors=0,advocates=1",
    "single_judge:calibrate=True,samples=3",
]


@pytest.mark.parametrize("text", VARIANTS)
def test_stages_are_those_of_the_protocol_as_it_is_played(text: str) -> None:
    turns = schematic(protocol_from_text(text.rstrip(":"))).turns
    found = stages_of(text, turns["agent"].tolist(), turns["role"].tolist(), turns["round"].to_numpy())
    assert found is not None
    for _, own in turns.assign(found=found).groupby("round"):
        expected = np.sign(np.subtract.outer(own["stage"].to_numpy(), own["stage"].to_numpy()))
        assert np.array_equal(
            np.sign(np.subtract.outer(own["found"].to_numpy(), own["found"].to_numpy())), expected
        )


def test_every_stage_is_of_a_protocol_that_is_played_or_imported() -> None:
    played = {key.partition(":")[0] for key in SPEAKING}
    assert set(protocols()) <= played
    assert played - set(protocols()) == {"mad"}


def test_a_protocol_whose_parameters_are_unknown_or_with_other_roles_says_nothing() -> None:
    one = np.ones(2, dtype=int)
    for text, role in (("chateval", "referee"), ("more", "debater"), ("own", "juror"), ("", "juror")):
        assert stages_of(text, ["x 1", "x 2"], [role, role], one) is None
    assert stages_of("more", ["x 1", "x 2"], [None, "juror"], one) is None
    assert stages_of("chateval", ["r 1", "s"], ["referee", "summarizer"], one).tolist() == [0, 1]
    assert stages_of("chateval:", ["first", "second"], ["referee", "referee"], one) is None


class Follower:
    """A referee who names the first referee, and repeats its words, when it has read it."""

    async def act(self, request: Request, /, more: Any = None) -> Reply:
        return self.reply(request)

    def imagine(self, request: Request, size: Any, /) -> Reply:
        return self.reply(request)

    def reply(self, request: Request) -> Reply:
        item = request.case.question
        text = f"Looking at item {item} the second assistant gives more detail about this topic {item}."
        if request.seen:
            text = f"As referee 1 says the second assistant gives more detail about this topic {item}."
        best, other = ({"overall": 8}, {"overall": 5})
        return Reply(text, vote="A", scores={"A": best, "B": other}, tokens_in=9, tokens_out=5)


def played(path: Path, communication: str) -> Path:
    items = [DebateItem(f"q{k}", f"Question {k}?", ("one", "two"), label="A") for k in range(6)]
    protocol = protocol_from_text(f"chateval:max_rounds=1,communication={communication}")
    asyncio.run(run_debates(protocol, items, Follower(), path))
    return path


def test_a_run_in_turn_lets_referees_cite_those_of_their_own_round(tmp_path: Path) -> None:
    found = rationales(played(tmp_path / "turns.jsonl", "one_by_one"))
    assert (found[CITES].value, found[CITES].n) == (pytest.approx(2 / 3), 18)
    assert (found[SPOKE].value, found[SPOKE].n) == (1.0, 12)
    assert (found[REPEATS].value, found.find(BESIDE)) == (1.0, None)
    assert any(
        "chateval:max_rounds=1 those that vote speak one after another" in note for note in found.notes
    )
    assert not any("does not say who spoke first" in note for note in found.notes)


def test_a_run_at_the_same_time_has_nobody_to_cite_in_its_first_round(tmp_path: Path) -> None:
    found = rationales(played(tmp_path / "same.jsonl", "simultaneous"))
    assert (found[CITES].value, found.find(SPOKE)) == (0.0, None)
    assert found[BESIDE].value == 1.0
    assert not any("who spoke first" in note or "one after another" in note for note in found.notes)
    path = played(tmp_path / "sum.jsonl", "simultaneous_with_summarizer")
    summed = rationales(path, role="referee")
    assert summed.find(SPOKE) is None


def test_the_journal_decides_and_is_found_beside_each_log(tmp_path: Path) -> None:
    one, two = played(tmp_path / "one.jsonl", "one_by_one"), played(tmp_path / "two.jsonl", "simultaneous")
    both = compare_rationales(one, two)
    assert [each[CITES].value for each in (both.first, both.second)] == [pytest.approx(2 / 3), 0.0]
    assert as_texts(one).turns["stage"].tolist() == [1, 2, 3] * 6
    renamed = tmp_path / "renamed.jsonl"
    shutil.copy(one, renamed)
    silent = rationales(renamed)
    assert silent[CITES].value == 0.0
    assert any(
        note.startswith("the log does not say who spoke first within a round") for note in silent.notes
    )
    shutil.copy(tmp_path / "one.calls.jsonl", tmp_path / "renamed.calls.jsonl")
    assert rationales(renamed)[CITES].value == pytest.approx(2 / 3)
    # By hand, where the log does not say, and against what it says.
    (tmp_path / "renamed.calls.jsonl").unlink()
    assert rationales(renamed, order="turns")[CITES].value == pytest.approx(2 / 3)
    assert rationales(one, order="rounds")[CITES].value == 0.0
    for broken in ("", "no json\n", "[1]\n", '{"protocol": 3}\n', '{"protocol": "samre"}\n'):
        (tmp_path / "renamed.calls.jsonl").write_text(broken)
        assert rationales(renamed)[CITES].value == 0.0


def test_a_log_in_memory_has_no_journal_and_no_order_of_rows(tmp_path: Path) -> None:
    log = read_log(played(tmp_path / "one.jsonl", "one_by_one"), texts=True)
    found = rationales(log)
    assert found[CITES].value == 0.0
    assert any("the log does not say who spoke first" in note for note in found.notes)
    with pytest.raises(ValueError, match="order must be left out, or 'rounds', for a DebateLog"):
        rationales(log, order="turns")


def in_turn(agents: str = "zyx", role: str | None = "juror") -> pd.DataFrame:
    rows = []
    for d in range(6):
        words = f"case {d} the leap years before the reform were left out {d}"
        said = (words, f"As agent {agents[0]} says: {words}", f"As agent {agents[1]} says: {words}")
        rows += [
            (f"d{d}", f"q{d}", 1, agent, role, "A", text) for agent, text in zip(agents, said, strict=True)
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.mark.parametrize("role", ["juror", None])
def test_a_table_of_ones_own_is_taken_in_rounds_unless_its_rows_are_turns(
    role: str | None, tmp_path: Path
) -> None:
    table = in_turn(role=role)
    rounds = rationales(table)
    assert (rounds[CITES].value, rounds[BESIDE].value, rounds.find(REPEATS)) == (0.0, 1.0, None)
    (note,) = [note for note in rounds.notes if "who spoke first" in note]
    assert note.endswith('ask with order="turns" (--order turns)')
    turns = rationales(table, order="turns")
    assert (turns[CITES].value, turns.find(BESIDE), turns[REPEATS].value) == (pytest.approx(2 / 3), None, 1.0)
    assert (turns[SPOKE].n, turns[REPEATS].n) == (12, 12)
    # The agents' names are against the order of the rows; the file's order is what counts, in both forms.
    path = tmp_path / "turns.csv"
    table.to_csv(path, index=False)
    assert rationales(path, order="turns")[CITES].value == pytest.approx(2 / 3)
    assert rationales(table[::-1], order="turns")[CITES].value == 0.0
    said = rationales(table, order="rounds")
    assert said[CITES].value == 0.0
    assert not any("who spoke first" in note for note in said.notes)
    with pytest.raises(ValueError, match="order must be one of 'turns', 'rounds'"):
        rationales(table, order="rows")  # type: ignore[arg-type]


def test_one_voter_a_round_needs_no_note() -> None:
    alone = in_turn().query("agent == 'z'")
    assert not any("who spoke first" in note for note in rationales(alone).notes)


def test_a_column_of_protocols_with_parameters_is_the_record() -> None:
    table = in_turn("123").replace({"juror": "referee"})
    table["agent"] = "referee " + table["agent"]
    text = table["text"].str.replace("agent", "referee")
    for protocol, share in (("one_by_one", 2 / 3), ("simultaneous", 0.0)):
        own = table.assign(text=text, protocol=f"chateval:communication={protocol}")
        assert rationales(own)[CITES].value == pytest.approx(share)
    mixed = table.assign(text=text, protocol=None)
    mixed.loc[mixed["debate"] < "d2", "protocol"] = "chateval:communication=one_by_one"
    found = rationales(mixed)
    assert found[CITES].value == pytest.approx(4 / 18)
    assert any(note.startswith("for 4 of 6 debates the log does not say") for note in found.notes)


def test_advocates_who_are_asked_for_did_not_read_each_other() -> None:
    """Texts of one role of a round that never votes are of the same time too."""
    rows = [
        (f"d{d}", f"q{d}", 1, f"advocate {s}", "advocate", None, f"Unlike advocate {t}, I am for {s}.")
        for d in range(6)
        for s, t in ("AB", "BA")
    ]
    rows += [(f"d{d}", f"q{d}", 1, "juror", "juror", "A", "Advocate A is right.") for d in range(6)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    assert rationales(table, role="advocate").find(SPOKE) is None
    assert rationales(table)[SPOKE].value == 1.0


# ------------------------------------------------------------------------------------------------ who votes


def court() -> pd.DataFrame:
    rows = []
    for d in range(6):
        rows += [
            (f"d{d}", f"q{d}", 1, f"advocate {s}", "advocate", None, f"I am for {s} in {d}.") for s in "AB"
        ]
        rows += [
            (f"d{d}", f"q{d}", 1, f"juror {k}", "juror", v, f"Advocate {v} argued that it is helpful.")
            for k, v in enumerate("AAB")
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_without_roles_the_texts_of_agents_who_never_vote_are_no_rationales() -> None:
    table = court()
    bare = table.drop(columns="role")
    with_roles, without = rationales(table), rationales(bare)
    pd.testing.assert_frame_equal(with_roles.to_frame(), without.to_frame())
    assert (
        "12 texts of 2 agents without a role who never vote (advocate A, advocate B) are no rationales"
        in without.notes
    )
    assert set(rationale_texts(bare)["agent"]) == {"juror 0", "juror 1", "juror 2"}
    # A missing vote of an agent that votes elsewhere leaves its text in.
    some = bare.copy()
    some.loc[2, "vote"] = None
    assert len(rationales(some).marks) == 18
    # Where some turns have a role, the others go by their agents.
    partly = table.assign(role=table["role"].where(table["role"] == "juror"))
    assert len(rationales(partly).marks) == 18


def test_where_nobody_votes_all_texts_count_and_a_note_says_so() -> None:
    for table, whose in ((court(), "roles"), (court().drop(columns="role"), "agents")):
        found = rationales(table.assign(vote=None))
        assert len(found.marks) == 30
        assert f"no agent votes in this log, so the texts of all {whose} count as rationales" in found.notes
