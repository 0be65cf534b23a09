"""A log says how its protocol decides, and whatever reads the log decides as the run did.

Debates are played by scripts that draw votes, ties, missing replies and scores at random.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from golden import FAILED, Script, pair, plays, points
from layers import covering

from d3stats.agent import Reply, Request
from d3stats.log import LogWriter, read_log, write_csv, write_jsonl, write_parquet
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.polling import OF_PROTOCOL, Polling
from d3stats.protocols import protocol_from_text
from d3stats.run import DebateItem, run_debates
from d3stats.stopping import from_text
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Courtroom, Referees, simulate_debates, synthetic_agent, synthetic_items

WITH_TIE = ("A", "B", "tie")
PROTOCOLS = [
    *(
        "majority:judges=4",
        "stability:panel=4,camp=none,max_rounds=2",
        "chateval",
        "chateval:extraction=mean",
    ),
    *("chateval:extraction=borda,referees=public+critic", "peer_rank:reviewers=3", "peer_discussion"),
    *("peer_rank:reviewers=3,orders=each,weights=2+1+1", "peer_rank:reviewers=3,weights=3+1+1"),
    *("peer_discussion:undecided=last_speaker", "multi_persona", "more:jurors=4", "more:jurors=0"),
    *(
        "more_advocates",
        "samre:jurors=4",
        "samre:jurors=4,tie_break=final",
        "samre:jurors=4,poll=every_round",
    ),
    *(
        "samre:jurors=0",
        "samre:jurors=0,tie_break=final",
        "samre_advocates:jurors=4",
        "samre_advocates:jurors=0",
    ),
    *("d3:jurors=4", "d3:jurors=4,tie_break=final", "d3:jurors=0", "eot_network"),
]


def at_random(rng: np.random.Generator, *, failing: bool) -> Script:
    """Votes for either side, sometimes a tie or nothing; scores of which many are equal."""

    def script(request: Request) -> Reply:
        slot = request.slot
        if failing and rng.random() < 0.15 and request.role not in ("advocate", "advocate 2", "aggregator"):
            return FAILED
        scores = None
        if slot.rubric is not None and slot.rubric.sides == ("A", "B"):
            a, b = rng.choice([1, 1, 2], 2) * len(slot.rubric.criteria)
            scores = points(request, A=float(a), B=float(b))
        vote = None
        if slot.wants_vote and slot.answers is not None and not (slot.may_pass and rng.random() < 0.7):
            vote = str(rng.choice(slot.answers))
        return Reply("said", vote=vote, scores=scores, tokens_in=3, tokens_out=1)

    return script


def played(
    text: str, answers: tuple[str, ...], n: int, *, failing: bool
) -> tuple[Trajectories, list[str | None]]:
    """Play debates to a random depth; return the log, and what each run decided."""
    rng = np.random.default_rng(11)
    protocol, turns, items, decisions = protocol_from_text(text), [], [], []
    for i in range(n):
        rule = from_text(f"fixed:{rng.integers(1, protocol.max_rounds + 1)}")
        debate = plays(protocol, pair(answers=answers), at_random(rng, failing=failing), rule)
        for (agent, number), reply in debate.replies.items():
            role = debate.request(agent, number).role
            about = {"debate": f"d{i:03d}", "round": number, "agent": agent, "role": role}
            turns.append(about | {"vote": reply.vote, "scores": reply.scores})
        stated = {"protocol": protocol.name, "polling": protocol.recorded(), "answers": answers}
        about = {"debate": f"d{i:03d}", "label": "AB"[i % 2], "stop_reason": debate.outcome.reason}
        items.append(about | stated)
        decisions.append(debate.outcome.decision)
    return Trajectories.from_frame(pd.DataFrame(turns), pd.DataFrame(items)), decisions


@covering(text=PROTOCOLS, answers=[("A", "B"), WITH_TIE], failing=[False, True])
def test_the_arrays_of_a_log_decide_as_the_protocol_did(
    text: str, answers: tuple[str, ...], failing: bool
) -> None:
    log, decisions = played(text, answers, 30, failing=failing)
    codes = log.verdicts()[np.arange(len(log)), log.depth - 1]
    assert [None if code == MISSING else log.answers[code] for code in codes] == decisions


@pytest.mark.parametrize("text", PROTOCOLS)
def test_every_setting_is_read_back_as_it_was_written(text: str) -> None:
    protocol = protocol_from_text(text)
    said = protocol.recorded()
    assert said is not None
    assert Polling.from_text(said) == protocol.polling


def test_a_text_that_is_none_is_refused_and_in_a_log_noted() -> None:
    for text, words in (("votes", "polling must be one of"), ("plurality:votes=1", "a setting of polling")):
        with pytest.raises(ValueError, match=words):
            Polling.from_text(text)
    turns = pd.DataFrame(
        {"debate": ["d", "e"], "round": 1, "agent": "x", "vote": "A", "polling": "every day"}
    )
    log = Trajectories.from_frame(turns)
    assert log.polling is None
    assert any("every day" in note for note in log.notes)


def test_a_log_keeps_it_in_every_format_and_an_older_one_has_the_usual_settings(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    own = protocol_from_text("chateval:extraction=mean").recorded()
    with LogWriter(path) as log:
        for debate, polling in (("new", own), ("old", None)):
            log.write(
                Item(debate, debate, label="A", answers=("A", "B"), protocol="chateval", polling=polling)
            )
            for seat, (a, b) in enumerate([(9.0, 1.0), (5.0, 6.0), (5.0, 6.0)], start=1):
                scores = {"A": {"overall": a}, "B": {"overall": b}}
                vote, name = ("A" if a > b else "B"), f"referee {seat}"
                log.write(Turn(debate, 1, name, role="referee", vote=vote, scores=scores))
            log.write(Verdict(debate, "A" if polling else "B", 1, "exhausted"))
    for copy in (
        path,
        write_csv(path, tmp_path / "log.csv"),
        write_parquet(path, tmp_path / "log.parquet"),
        write_jsonl(path, tmp_path / "again.jsonl"),
    ):
        assert read_log(copy).items["polling"].tolist() == [own, None]
        log = Trajectories.from_log(copy)
        assert set(log.pollings) == {OF_PROTOCOL["chateval"], Polling.from_text(str(own))}
        assert [log.answers[code] for code in log.verdicts()[:, 0]] == ["A", "B"]
        assert log.select([1, 0]).verdicts()[:, 0].tolist() == log.verdicts()[::-1, 0].tolist()
    # Whose votes count is chosen, so their number decides.
    assert Trajectories.from_log(path, roles=["referee"]).verdicts()[:, 0].tolist() == [1, 1]


def test_logs_of_several_settings_in_one_decide_as_each_alone() -> None:
    parts = [
        played(text, ("A", "B"), 20, failing=False)[0] for text in ("chateval", "chateval:extraction=mean")
    ]
    named = [
        Trajectories(**{**_fields(part), "debates": tuple(f"{i} {d}" for d in part.debates)})
        for i, part in enumerate((*parts, simulate_debates(Referees(), 5, 2, rng=1)))
    ]
    joined = Trajectories.concat(*named)
    row = 0
    for part in named:
        for mine, theirs in zip(part.verdicts(), joined.verdicts()[row : row + len(part)], strict=True):
            alone = [None if code < 0 else part.answers[code] for code in mine]
            assert alone == [None if code < 0 else joined.answers[code] for code in theirs[: len(mine)]]
        row += len(part)


def _fields(log: Trajectories) -> dict[str, Any]:
    return {name: getattr(log, name) for name in log.__dataclass_fields__ if name != "_cache"}


def test_a_run_records_it_and_an_older_log_is_resumed(tmp_path: Path) -> None:
    world = Courtroom()
    items = [
        DebateItem(each.question, each.text, each.candidates, label=each.label)
        for each in synthetic_items(world, 3, seed=4)
    ]
    protocol, path = protocol_from_text("samre:jurors=4,tie_break=final"), tmp_path / "run.jsonl"
    asyncio.run(run_debates(protocol, items, synthetic_agent(world, 4), path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    said = {line["polling"] for line in lines if line["type"] == "item"}
    assert said == {"plurality:voters=juror,at_end=True,scored_from=1,scored=last"}
    for line in lines:
        line.pop("polling", None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    asyncio.run(run_debates(protocol, items, synthetic_agent(world, 4), path))
    assert len(path.read_text().splitlines()) == len(lines)
