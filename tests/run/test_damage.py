"""Whatever happens to the files of a run, the same command pays for nothing that was answered."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from chancy import Chancy, as_set, defects, of_type, pairs
from layers import covering

from d3stats.agent import Refused, Reply, Request
from d3stats.log import appended
from d3stats.protocols import protocol_from_text
from d3stats.run.record import journal_path
from d3stats.run.run import debate

MAJORITY = protocol_from_text("majority:judges=3")
ITEMS = pairs(4)


def files(log: Path) -> tuple[Path, Path]:
    return log, journal_path(log)


def cut(path: Path, share: float, whole: bool) -> None:
    text = path.read_bytes()
    size = int(len(text) * share)
    path.write_bytes(text[: text.rfind(b"\n", 0, size) + 1 if whole else size])


def lines(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def garble(path: Path, at: int) -> None:
    lines(
        path,
        lambda all: [line if k != at else line[:9] + b"\x00}{" + line[20:] for k, line in enumerate(all)],
    )


ONE: dict[str, Callable[[Path], None]] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "cut at a line": lambda path: cut(path, 0.5, True),
    "cut in a line": lambda path: cut(path, 0.5, False),
    "cut to its first line": lambda path: lines(path, lambda all: all[:1]),
    "without its first line": lambda path: lines(path, lambda all: all[1:]),
    "without lines in the middle": lambda path: lines(path, lambda all: all[:4] + all[9:]),
    "a garbled first line": lambda path: garble(path, 0),
    "a garbled line": lambda path: garble(path, 5),
    "a garbled last line": lambda path: garble(path, -1 + len(path.read_bytes().splitlines())),
    "a line twice": lambda path: lines(path, lambda all: [*all[:6], all[5], *all[6:]]),
    "zeros at its end": lambda path: path.write_bytes(path.read_bytes() + bytes(64)),
}


@covering(kind=ONE, which=["log", "journal"])
def test_a_damaged_file_is_made_whole_from_the_other(kind: str, which: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = debate(MAJORITY, ITEMS, Chancy(), log, name="n")
    whole = as_set(log)
    ONE[kind](log if which == "log" else journal_path(log))
    agent = Chancy()
    for _ in range(2):
        report = debate(MAJORITY, ITEMS, agent, log, name="n")
        assert (agent.calls, report.closed, report.charged) == (0, 4, first.charged)
        assert as_set(log) == whole
        assert defects(log) == []


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("resumed", [False, True])
def test_a_vote_that_was_changed_in_one_of_the_files_is_said(
    resumed: bool, which: int, tmp_path: Path
) -> None:
    """The line is still sound, so nothing else can show it."""
    log = tmp_path / "log.jsonl"

    def stop(number: int, request: Request) -> Reply | None:
        if resumed and number == 8:
            raise Refused("enough")
        return None

    if resumed:
        with pytest.raises(Refused):
            debate(MAJORITY, ITEMS, Chancy(before=stop), log, concurrency=1, name="n")
    else:
        debate(MAJORITY, ITEMS, Chancy(), log, name="n")
    untouched = [path.read_bytes() for path in files(log)]
    assert said_of_changes(log) == []
    for path, text in zip(files(log), untouched, strict=True):
        path.write_bytes(text)
    other = {b'"vote":"A"': b'"vote":"B"', b'"vote":"B"': b'"vote":"A"'}
    changed, done = files(log)[which], list[bytes]()

    def swap(all: list[bytes]) -> list[bytes]:
        found = []
        for line in all:
            vote = next((vote for vote in other if vote in line and b'"turn"' in line), None)
            found.append(line.replace(vote, other[vote]) if vote is not None and not done else line)
            done.extend([line] if vote is not None else [])
        return found

    lines(changed, swap)
    (note,) = said_of_changes(log)
    assert note.startswith(
        "WARNING: log.jsonl must have the votes and scores of log.calls.jsonl; got other ones in 1 turn"
    )
    assert "'panelist" in note


def said_of_changes(log: Path) -> list[str]:
    """Run again, and return what is said of changed votes."""
    report = debate(MAJORITY, ITEMS, Chancy(), log, name="n")
    return [note for note in report.notes if getattr(note, "kind", "") == "changed votes"]


def test_a_vote_that_was_asked_for_again_is_no_change(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"

    def outage(number: int, request: Request) -> Reply | None:
        return Reply(None, tokens_in=10, tokens_out=1, error="timeout") if number == 2 else None

    debate(MAJORITY, ITEMS, Chancy(before=outage), log, concurrency=1, name="n")
    debate(MAJORITY, ITEMS, Chancy(), log, name="n", retry_missing=True)
    assert said_of_changes(log) == []


def made(path: Path) -> Path:
    other = path.with_name("made.jsonl")
    other.write_bytes(b"{}\n")
    return other


UNDER: dict[str, Callable[[Path], None]] = {
    "deleted": lambda path: path.unlink(),
    "replaced": lambda path: os.replace(made(path), path),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
}


@covering(
    call=[5, 12],
    kind=UNDER,
    which=[0, 1],
    both=[False, True],
)
def test_a_file_that_is_taken_from_a_run_ends_it_in_one_line(
    kind: str, which: int, both: bool, call: int, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    if both and kind == "cut":
        return  # nothing has what both have lost

    def before(number: int, request: Request) -> Reply | None:
        if number == call:
            for path in files(log) if both else files(log)[which : which + 1]:
                UNDER[kind](path)
        return None

    agent = Chancy(before=before)
    with pytest.raises(Refused, match="the same command resumes the run") as caught:
        debate(MAJORITY, ITEMS, agent, log, concurrency=2, name="n")
    assert str(files(log)[which]) in str(caught.value) or both
    assert "\n" not in str(caught.value)
    report = debate(MAJORITY, ITEMS, agent, log, concurrency=2, name="n")
    assert report.closed == 4
    assert agent.calls == len(of_type(log, "turn")) == 12
    assert defects(log) == []


@pytest.mark.parametrize("at", [3, 8, 21, 34])
def test_a_full_disk_ends_the_run_in_one_line_and_leaves_whole_lines(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, write, written = tmp_path / "log.jsonl", os.write, 0

    def full(fd: int, data: bytes) -> int:
        nonlocal written
        written += 1
        if written == at:
            return write(fd, bytes(data)[: len(data) // 2])
        if written > at:
            raise OSError(28, "No space left on device")
        return write(fd, data)

    agent = Chancy()
    with monkeypatch.context() as patched:
        patched.setattr(appended.os, "write", full)
        with pytest.raises(Refused, match=r"log.*jsonl.*No space left.*the same command resumes the run"):
            debate(MAJORITY, ITEMS, agent, log, concurrency=1, name="n")
    for path in files(log):
        assert not path.exists() or path.read_bytes().endswith(b"\n") or not path.stat().st_size
    report = debate(MAJORITY, ITEMS, agent, log, concurrency=1, name="n")
    assert report.closed == 4
    assert sum(asked - 1 for asked in agent.asked.values()) <= 1, "only the call in flight is made again"
    assert report.charged >= agent.tokens
    assert defects(log) == []


def test_only_votes_that_no_model_gave_are_asked_for_again(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    errors = {2: "timeout", 5: "unreadable", 7: "server_error"}

    def outage(number: int, request: Request) -> Reply | None:
        error = errors.get(number)
        return None if error is None else Reply(None, tokens_in=10, tokens_out=1, error=error)

    first = debate(MAJORITY, ITEMS, Chancy(before=outage), log, concurrency=1, name="n")
    before = of_type(log, "turn")
    lost = [turn for turn in before if turn.get("error") in ("timeout", "server_error")]
    assert len(lost) == 2
    agent = Chancy()
    assert debate(MAJORITY, ITEMS, agent, log, name="n").charged == first.charged
    assert agent.calls == 0
    report = debate(MAJORITY, ITEMS, agent, log, name="n", retry_missing=True)
    assert set(agent.asked) == {(turn["debate"], turn["round"], turn["agent"]) for turn in lost}
    assert (agent.calls, report.closed, dict(report.votes_missing)) == (2, 4, {"unreadable": 1})
    assert report.charged == first.charged + agent.tokens
    # The turn that takes the place of another holds what both cost.
    assert report.charged == sum(turn["tokens_in"] + turn["tokens_out"] for turn in of_type(log, "turn"))
    kept = [turn for turn in before if turn not in lost]
    assert all(turn in of_type(log, "turn") for turn in kept)
    assert defects(log) == []
    again = debate(MAJORITY, ITEMS, agent, log, name="n", retry_missing=True)
    assert (agent.calls, again.charged) == (2, report.charged)


def test_the_disk_is_waited_for_once_a_second_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, fsync, now, synced = tmp_path / "log.jsonl", os.fsync, 0.0, list[float]()

    def counted(fd: int) -> None:
        synced.append(now)
        fsync(fd)

    def tick() -> float:
        nonlocal now
        now += 0.01
        return now

    monkeypatch.setattr(appended.os, "fsync", counted)
    monkeypatch.setattr(appended.time, "monotonic", tick)
    debate(MAJORITY, pairs(300), Chancy(), log, name="n")
    between = [b - a for a, b in pairwise(synced)]
    assert 0.3 * now < len(synced) < 3 * now
    assert max(between) < 2
    assert synced[-1] > now - 0.2
