"""One debate of a log, whole, for people: what was asked, who said what in which round, and what was decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from d3stats._words import Advised, visible
from d3stats.log.column_names import command_on
from d3stats.log.files import LogFile, find_files, journal_path
from d3stats.log.opening import open_bytes, unusable
from d3stats.log.problems import Problem
from d3stats.values import name_text

if TYPE_CHECKING:
    from d3stats.log.schema import AnyRecord, Item, Turn, Verdict

__all__ = ["DebateLine", "Transcript", "list_debates", "read_transcript", "read_transcripts"]


@dataclass(frozen=True)
class Transcript:
    r"""The records of one debate.

    Attributes
    ----------
    item : Item
    turns : tuple of Turn
        By round, and within a round in the order of the log.
    verdict : Verdict or None
        None while the debate is open, and where the log records no verdicts.
    passed_over : tuple of Problem
        Lines of the file that could not be read; one of them may belong here.
    totals : mapping of (round, agent) to int
        Tokens of a turn, of tables that do not tell prompts from completions.
    has_verdicts : bool
        Whether the log records the verdict of any debate, or has a journal, so that a debate without one has not ended.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,x,A,A\nd,1,y,B,A\nd,2,x,A,A\nd,2,y,A,A\n")
    >>> read = read_transcript(path, "d")
    >>> [[turn.vote for turn in turns] for turns in read.rounds.values()]
    [['A', 'B'], ['A', 'A']]
    >>> len(read.only(2).turns)
    2
    """

    item: Item
    turns: tuple[Turn, ...]
    verdict: Verdict | None
    passed_over: tuple[Problem, ...] = ()
    totals: Mapping[tuple[int, str], int] = field(default_factory=dict)
    has_verdicts: bool = True

    @property
    def rounds(self) -> dict[int, tuple[Turn, ...]]:
        """The turns of each round."""
        numbers = sorted({turn.round for turn in self.turns})
        return {n: tuple(turn for turn in self.turns if turn.round == n) for n in numbers}

    def only(self, number: int) -> Transcript:
        """Keep one round.

        Raises
        ------
        ValueError
            When the debate has no such round.
        """
        if number not in self.rounds:
            played = ", ".join(map(str, self.rounds)) or "none"
            raise ValueError(f"round must be one of the debate's ({played}); got round={number}")
        return replace(self, turns=self.rounds[number])


@dataclass(frozen=True, slots=True)
class DebateLine:
    """One debate in a list.

    Attributes
    ----------
    debate : str
    rounds, turns : int
        Rounds played and turns taken.
    decision, reason : str or None
        None while the debate is open, and where none was recorded.
    closed : bool

    Examples
    --------
    >>> DebateLine("q1/AB", rounds=2, turns=6, decision="A", reason="unanimity", closed=True).closed
    True
    """

    debate: str
    rounds: int = 0
    turns: int = 0
    decision: str | None = None
    reason: str | None = None
    closed: bool = False


def read_transcript(
    path: str | Path,
    debate: str,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
) -> Transcript:
    r"""Read one debate.

    Texts are kept in JSON lines only; a CSV or Parquet log has votes, scores and tokens.

    Parameters
    ----------
    path : path
        One file.
    debate : str
        Its name in the log.
    columns, encoding, sheet
        As for :func:`d3stats.read_log`.
    scorer : str, optional
        The scorer that is read of a log of Inspect with several, of which all are raters by default.

    Returns
    -------
    Transcript

    Raises
    ------
    ValueError
        When no such debate is in the log; names near matches. When the log records only correctness, or has no sheets
        or scorers to choose from.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"type":"item","debate":"q1/AB","question":"q1","text":"Why?"}\n')
    >>> read_transcript(path, "q1/AB").item.text
    'Why?'
    >>> read_transcript(path, "q1")
    Traceback (most recent call last):
    ...
    ValueError: debate must be in the log; got 'q1' (near: 'q1/AB')
    """
    item: Item | None = None
    verdict: Verdict | None = None
    turns: list[Turn] = []
    names: dict[str, None] = {}
    passed: list[Problem] = []
    records, totals = _records(path, passed, columns, encoding, sheet, scorer)
    ends = journal_path(path).exists()
    for record in records:
        if record.type == "log":
            continue
        if record.type == "item":
            names[record.debate] = None
        ends = ends or record.type == "verdict"
        if record.debate != debate:
            continue
        if record.type == "item":
            item = item or record
        elif record.type == "turn":
            turns.append(record)
        else:
            verdict = verdict or record
    if item is None:
        near = ", ".join(f"'{visible(name, one_line=True)}'" for name in _near(debate, list(names)))
        hint = f" (near: {near})" if near else f" ({len(names)} debates; without a name they are listed)"
        raise ValueError(f"debate must be in the log; got '{visible(debate, one_line=True)}'{hint}")
    turns.sort(key=lambda turn: turn.round)
    told = {key[1:]: tokens for key, tokens in totals.items() if key[0] == debate}
    return Transcript(item, tuple(turns), verdict, tuple(passed), told, ends)


class _Debate(msgspec.Struct, gc=False):
    """The part of a record that says which debate it is about."""

    debate: str = ""


_DEBATE = msgspec.json.Decoder(_Debate)


def _debate_of(line: bytes) -> str | None:
    try:
        return _DEBATE.decode(line).debate
    except (ValueError, RecursionError):
        return None


def _some_lines(file: LogFile, named: Callable[[str], str | None]) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers: those around every line that is about a debate with a name."""
    first = 1
    with open_bytes(file) as handle:
        while lines := handle.readlines(1 << 17):
            try:
                debates = {record.debate for record in _DEBATE.decode_lines(b"".join(lines))}
            except (ValueError, RecursionError):
                debates = {name for name in map(_debate_of, lines) if name is not None}
            if any(named(debate) is not None for debate in debates):
                yield from enumerate(lines, first)
            first += len(lines)


def read_transcripts(*paths: str | Path, debates: Collection[str]) -> dict[str, Transcript]:
    r"""Read some debates of a log of JSON lines, in one pass that looks only at names.

    Files of other formats hold no texts and are passed over; so are lines that cannot be read.

    Parameters
    ----------
    *paths : str or Path
        Files and globs.
    debates : collection of str
        Names as :func:`d3stats.read_log` gives them.

    Returns
    -------
    dict of str to Transcript
        Those debates that an item opens, in the order of `debates`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text('{"type":"item","debate":"d 1","question":"q","text":"Why?"}\n')
    >>> read_transcripts(path, debates=["d 1", "d 2"])["d 1"].item.text
    'Why?'
    """
    from d3stats.log.lines import read_line

    items: dict[str, Item] = {}
    turns: dict[str, list[Turn]] = {}
    verdicts: dict[str, Verdict] = {}
    known = set(debates)
    wanted: dict[str, str | None] = {name: name for name in known}

    def named(written: str) -> str | None:
        """Return the debate that goes by this name, where it is one of those to be read."""
        if written not in wanted:
            tidy = name_text(written)
            wanted[written] = tidy if tidy in known else None
        return wanted[written]

    for file in find_files(paths):
        if file.format != "jsonl" or unusable(file) is not None:
            continue
        for number, line in _some_lines(file, named):
            written = _debate_of(line)
            name = None if written is None else named(written)
            record = None if name is None else read_line(file, number, line)
            if name is None or record is None or isinstance(record, Problem):
                continue
            if record.type == "item":
                items.setdefault(name, record)
            elif record.type == "turn":
                turns.setdefault(name, []).append(record)
            elif record.type == "verdict":
                verdicts.setdefault(name, record)
    return {
        name: Transcript(
            items[name], tuple(sorted(turns.get(name, []), key=lambda turn: turn.round)), verdicts.get(name)
        )
        for name in debates
        if name in items
    }


def list_debates(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
) -> list[DebateLine]:
    r"""List the debates of a log in the order in which they were opened.

    Parameters
    ----------
    path : path
        One file.
    columns, encoding, sheet, scorer
        As for :func:`read_transcript`.

    Returns
    -------
    list of DebateLine

    Raises
    ------
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("debate,round,agent,vote,label\nd,1,x,A,A\ne,1,x,A,A\ne,2,x,A,A\n")
    >>> [(line.debate, line.rounds, line.turns) for line in list_debates(path)]
    [('d', 1, 1), ('e', 2, 2)]
    """
    found: dict[str, DebateLine] = {}
    for record in _records(path, [], columns, encoding, sheet, scorer)[0]:
        if record.type == "log":
            continue
        line = found.get(record.debate) or DebateLine(record.debate)
        if record.type == "turn":
            line = replace(line, rounds=max(line.rounds, record.round), turns=line.turns + 1)
        elif record.type == "verdict":
            line = replace(line, decision=record.decision, reason=record.stop_reason, closed=True)
        found[record.debate] = line
    return list(found.values())


def _records(
    path: str | Path,
    passed: list[Problem],
    columns: Mapping[str, str] | None,
    encoding: str | None,
    sheet: str | None,
    scorer: str | None,
) -> tuple[Iterator[AnyRecord], dict[tuple[str, int, str], int]]:
    """Return the records of a log, and the token totals by debate, round and agent, which no record says."""
    (file,) = find_files([path], sheet, scorer)
    if file.format == "jsonl":
        from d3stats.log.reader import iter_records, unread

        for name, value in (("columns", columns), ("encoding", encoding), ("sheet", sheet)):
            if value:
                raise unread([file], name, value)
        return iter_records(path, strict=False, problems=passed, scorer=scorer), {}
    from d3stats.log.copies import records_of
    from d3stats.log.reader import read_log

    log = read_log(path, columns=columns, encoding=encoding, sheet=sheet)
    if log.coding != "answers":
        step = f"{command_on('fit', path, columns=columns, encoding=encoding, sheet=sheet)} shows its counts"
        raise ValueError(
            Advised("log must hold votes to be shown", step, got=f"{path} with correctness only")
        )
    totals: dict[tuple[str, int, str], int] = {}
    if "tokens" in log.turns.columns:
        named = log.turns[["debate", "round", "agent", "tokens"]].dropna()
        totals = {(str(d), int(r), str(a)): int(n) for d, r, a, n in named.itertuples(index=False)}
        log = replace(log, turns=log.turns.drop(columns="tokens"))
    return records_of(log), totals


def _near(debate: str, names: list[str]) -> list[str]:
    """Return up to five names that hold what was asked for, or are spelt like it."""
    folded = debate.casefold()
    holding = [name for name in names if folded in name.casefold()][:5]
    # Comparing letter by letter takes a while; ten thousand names are done at once.
    return holding or get_close_matches(debate, names[:10_000], n=5)
