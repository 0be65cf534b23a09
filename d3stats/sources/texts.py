"""Which texts of a log are rationales, and which turns came before each.

A rationale is what an agent wrote beside its vote, in one round of each debate. Advocates, judges beside a jury and
others who never vote write no rationales; what they said is what a rationale may refer to.

The protocol decides who speaks before whom within a round. Where it is known, ``SPEAKING`` has its stages;
parameters of a run are in the journal beside its log. Where it is not known, those of a round that vote are taken to
speak at the same time, after those that never vote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Unpack, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, integer, meant
from d3stats._words import Advised, counted, cut, setting, verb, visible
from d3stats.inputs.texts import Texts
from d3stats.log.column_names import to_type
from d3stats.log.files import LogFile, journal_path
from d3stats.log.frames import DebateLog, in_order, seated
from d3stats.sources.opened import Opened, Reading, open
from d3stats.sources.recorded import questions_of

__all__ = ["SPEAKING", "Order", "Speaking", "as_texts", "rationale_texts", "stages_of"]

Order = Literal["turns", "rounds"]
"""The order in a round: one after another in the order of the rows, or all that vote at the same time."""

CORRECTNESS = "votes are only right or wrong here: two wrong ones count as agreement, which is an assumption"


@dataclass(frozen=True)
class Speaking:
    """The order of speaking in a round of a protocol.

    Attributes
    ----------
    stages : tuple of str
        Regular expressions for the names of agents or, where none fits, of roles; turns of one stage are at the same
        time, a stage follows the one before it.
    in_turn : bool
        Whether agents of a stage speak one after another, by the numbers at the end of their names.
    rounds : int
        In the rounds before this one all stages are one.
    """

    stages: tuple[str, ...]
    in_turn: bool = False
    rounds: int = 1


_COURT = Speaking(("advocate( 2)?", "aggregator", "judge", "juror"))

SPEAKING: dict[str, Speaking] = {
    "agentverse": Speaking(("assigner", "solver", "critic", "evaluator")),
    "chateval:communication=one_by_one": Speaking(("referee",), in_turn=True),
    "chateval:communication=simultaneous": Speaking(("referee",)),
    "chateval:communication=simultaneous_with_summarizer": Speaking(("referee", "summarizer")),
    "chateval_open": Speaking(("public", "critic", "scientist")),
    "d3": _COURT,
    "eot": Speaking((r"leaf \d+", "synthesizer")),
    "eot_network": Speaking(("solver",)),
    "mad": Speaking(("affirmative", "negative", "moderator", "judge")),
    "majority": Speaking(("panelist",)),
    "more": _COURT,
    "more_advocates": _COURT,
    "multi_persona": Speaking(("affirmative", "negative", "moderator")),
    "peer_discussion": Speaking(("reviewer 1", "reviewer 2"), rounds=2),
    "peer_rank": Speaking((r"reviewer \d+",)),
    "samre": _COURT,
    "samre_advocates": _COURT,
    "single_judge": Speaking(("judge",)),
    "stability": Speaking(("panelist",)),
}
"""By the name of a protocol, or by its name and the parameter that matters: the protocols that d3stats plays, and those
of its importers that are known. ``mad`` is the importer's debate of two sides, a moderator and at times a judge."""
_TOGETHER = {"pairwise", "rating", "simultaneous"}
"""Names that importers give to logs in which those that vote do so at the same time."""
_MATTERS = {"chateval": ("communication", "one_by_one")}
"""Parameters on which the order depends, with their defaults."""
_SHOWS = {("chateval", "summarizer"): "chateval:communication=simultaneous_with_summarizer"}
"""Roles that show the parameter."""


def stages_of(protocol: str, agents: Sequence[str], roles: Sequence[str | None], rounds: Any) -> Any:
    """Return the stage in which each turn is made within its round, or None where the protocol does not say.

    Examples
    --------
    >>> names, together = ["referee 1", "referee 2", "referee 10"], "chateval:communication=simultaneous"
    >>> [stages_of(p, names, ["referee"] * 3, np.ones(3)) for p in ("chateval:", together, "chateval", "own")]
    [array([ 1,  2, 10]), array([0, 0, 0]), None, None]
    """
    name, has_parameters, parameters = protocol.partition(":")
    key = next((key for (of, role), key in _SHOWS.items() if of == name and role in roles), name)
    if name in _MATTERS and key == name:
        parameter, default = _MATTERS[name]
        given = re.search(rf"(?:^|,)\s*{parameter}\s*=\s*(\w+)", parameters)
        if not has_parameters:
            return None
        key = f"{name}:{parameter}={given[1] if given else default}"
    known = SPEAKING.get(key)
    if known is None:
        return None
    of: dict[tuple[str, str | None], int | None] = dict.fromkeys(zip(agents, roles, strict=True))
    for agent, role in of:
        names = (agent, *([role] if role is not None else []))
        fits = (k for one in names for k, pattern in enumerate(known.stages) if re.fullmatch(pattern, one))
        of[agent, role] = next(fits, None)
        if known.in_turn and of[agent, role] is not None:
            number = re.search(r"\d+$", agent)
            of[agent, role] = int(number[0]) if number else None
    if None in of.values():
        return None
    found = np.array([of[one] for one in zip(agents, roles, strict=True)], dtype=np.int64)
    return np.where(np.asarray(rounds) < known.rounds, 0, found)


def rationale_texts(
    log: Any,
    *,
    role: str | Sequence[str] | None = None,
    round_number: int | None = None,
    **reading: Unpack[Reading],
) -> pd.DataFrame:
    """Return the rationales of a log, one row each, sorted by debate and agent.

    This is the order in which :func:`rationales` takes vectors of sentences.

    Parameters
    ----------
    log, role, round_number
        As for :func:`rationales`.
    **reading : Reading
        How the log is read, see :func:`d3stats.open`.

    Returns
    -------
    DataFrame
        Columns ``debate, question, round, agent, role, vote, text``.

    Raises
    ------
    ValueError
        When the log holds no texts, or none of this role and round.

    Examples
    --------
    >>> said = {"debate": ["d", "d"], "round": [1, 1], "agent": ["x", "y"], "vote": ["A", "B"]}
    >>> rationale_texts(pd.DataFrame(said | {"rationale": ["A is right.", "B is clearer."]}))["text"].tolist()
    ['A is right.', 'B is clearer.']
    """
    return as_texts(open(log, **reading), role, round_number).table


def as_texts(
    source: Any,
    role: str | Sequence[str] | None = None,
    round_number: int | None = None,
    order: Order | None = None,
) -> Texts:
    """Read the texts of a log and choose the rationales; arguments as for :func:`rationales`."""
    if order is not None:
        choice("order", order, get_args(Order))
    opened = open(source)
    words = set(opened.missing_words)
    log, named, rows, journals = _log_with_texts(opened)
    turns = log.turns
    text = _texts(turns["text"], words) if "text" in turns.columns else np.full(len(turns), None)
    has_text = np.array([one is not None for one in text], dtype=np.bool_)
    if not has_text.any():
        needed = "log must hold what was said, as the field text of its turns (JSON lines) or a column text"
        step = f"import with the option text, or name the column, {to_type(text='COLUMN')}"
        got = f"{counted(len(turns), 'turn')} of {named} without any"
        raise ValueError(Advised(needed, step, ": ", got=got))
    vote = "vote" if log.coding == "answers" else "correct"
    notes = [CORRECTNESS] if log.coding != "answers" else []
    about = log.items.set_index("debate")
    cluster = about["cluster"].where(about["cluster"].notna(), about["question"])
    columns_of: dict[str, Any] = {
        "debate": turns["debate"],
        "question": about["question"].reindex(turns["debate"]),
        "cluster": cluster.reindex(turns["debate"]),
        "agent": turns["agent"],
        "role": turns["role"],
        "vote": [None if pd.isna(one) else str(one) for one in turns[vote]],
        "text": text,
    }
    # As objects, so that missing stays None.
    table = pd.DataFrame({name: pd.Series(list(each), dtype="object") for name, each in columns_of.items()})
    table["round"], table["seated"] = turns["round"].to_numpy(), _votes(turns, table)
    taken, said = _of_roles(table, role, has_text)
    notes += said
    table["stage"], said = _stages(table, log.items, order, rows, journals)
    notes += said
    at, said = _in_round(table, taken, round_number)
    notes += said
    kept = at[has_text[at]]
    if not len(kept):
        raise ValueError(f"rationales must have texts; got {_where(table, has_text, at)}")
    if len(kept) < len(at):
        n = len(at) - len(kept)
        notes.append(
            f"{n:,} of {counted(len(at), 'turn')} {verb(n, 'has', 'have')} no text: left out, not taken as empty"
        )
    used = np.flatnonzero(table["debate"].isin(table["debate"].iloc[kept].unique()))
    table = table.iloc[used].reset_index(drop=True)
    panel, rationales = (np.searchsorted(used, rows) for rows in (at[np.isin(at, used)], kept))
    asked = _asked(log.items, set(table["debate"]))
    return Texts(table, panel, rationales, asked, (*log.notes, *notes), questions_of(log))


def _log_with_texts(
    opened: Opened,
) -> tuple[DebateLog, str, NDArray[np.int64] | None, dict[str, str]]:
    """Return a log read with its texts, what it is called, the row of each turn, and the protocols of its journals."""
    if opened.kind == "values":
        raise TypeError(f"log must be a path, a list of paths, a DataFrame or a DebateLog; got {opened.name}")
    if not opened.has_records:
        raise TypeError(
            f"log must hold what was said; got {opened.name}, which hold votes alone: give the path or the table that "
            "they were read from"
        )
    log = opened.log(texts=True)
    if opened.kind == "log":
        if "text" not in log.turns.columns:
            raise ValueError(
                "log must hold what was said; got a DebateLog without texts: read it with read_log(..., texts=True)"
            )
        return log, "the log", None, {}
    rows = in_order(opened.checked(texts=True)).turns.row
    return log, opened.name, rows, _journals(opened.files, log.items["log"])


def _journals(logs: Sequence[LogFile], runs: pd.Series) -> dict[str, str]:
    """Return the protocol with its parameters of each run that has a journal beside its log."""
    files = [file.path for file in logs]
    known = [str(run) for run in pd.unique(runs.dropna())]
    found = {}
    for path in files:
        with suppress(OSError, ValueError), journal_path(path).open("rb") as file:
            first = json.loads(file.readline())
            if isinstance(first, dict) and isinstance(first.get("protocol"), str):
                # A log that was renamed keeps the name of its run.
                found[known[0] if len(files) == len(known) == 1 else path.stem] = first["protocol"]
    return found


def _stages(
    table: pd.DataFrame,
    items: pd.DataFrame,
    order: Order | None,
    rows: NDArray[np.int64] | None,
    journals: Mapping[str, str],
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the stage of each turn within its round, by the protocol's record or as asked, and notes."""
    stage: NDArray[np.int64] = table["seated"].to_numpy().astype(np.int64)
    if order == "turns":
        if rows is None:
            raise ValueError(
                "order must be left out, or 'rounds', for a DebateLog, whose turns are sorted by agent; got 'turns': "
                "give the path or the table that it was read from"
            )
        return rows.astype(np.int64), []
    if order == "rounds":
        return stage, []
    notes, silent = [], np.zeros(len(table), dtype=np.bool_)
    about = items.set_index("debate")
    recorded = zip(about["protocol"], about["log"], strict=True)
    protocol = pd.Series([_protocol(name, journals.get(run)) for name, run in recorded], index=about.index)
    of = protocol.reindex(table["debate"]).to_numpy(dtype=object)
    for text in pd.unique(of):
        own = of == text
        turns = table[own]
        agents, roles = (turns[name].tolist() for name in ("agent", "role"))
        found = stages_of(text, agents, roles, turns["round"].to_numpy())
        if found is None:
            silent |= own & (text not in _TOGETHER)
            continue
        stage[own] = found
        voting = turns.assign(stage=found)[turns["seated"]].groupby(["debate", "round"])["stage"]
        if (voting.min() < voting.max()).any():
            which = cut(visible(text.rstrip(":"), one_line=True), 60)
            notes.append(
                f"in a round of {which} those that vote speak one after another, so that a rationale can refer to "
                "earlier turns of its own round"
            )
    voting = table[silent & table["seated"]].groupby(["debate", "round"]).size()
    if (voting > 1).any():
        n, debates = table["debate"][silent].nunique(), len(items)
        where = "the log" if n == debates else f"for {n:,} of {counted(debates, 'debate')} the log"
        notes.append(
            f"{where} does not say who spoke first within a round: those that vote are taken to speak at the same "
            "time, after those that never vote. For one after another, in the order of the rows, ask with "
            + setting("order", "turns")
        )
    return stage, notes


def _protocol(name: Any, journal: str | None) -> str:
    """Return a protocol with the parameters of its journal, if that is of this protocol; "" where none is recorded."""
    if not isinstance(name, str):
        return ""
    if journal is not None and journal.partition(":")[0] == name:
        return journal if ":" in journal else f"{journal}:"
    return name


def _votes(turns: pd.DataFrame, table: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which turns are of roles that vote in the log or, without a role, of agents that do; all if none does."""
    voted = table["vote"].notna()
    alone = table["role"].isna().to_numpy()
    found = seated(turns)
    if voted.any() and alone.any():
        found = np.where(alone, voted.groupby(table["agent"]).transform("any").to_numpy(), found)
    return np.asarray(found, dtype=np.bool_)


def _texts(column: pd.Series, words: set[str]) -> NDArray[np.object_]:
    """Return texts, None where there is none: blank, or a word that means missing."""
    found = np.empty(len(column), dtype=object)
    found[:] = [
        one if isinstance(one, str) and one.strip() and one.strip().casefold() not in words else None
        for one in column
    ]
    return found


def _asked(items: pd.DataFrame, debates: set[str]) -> dict[str, tuple[str, ...]]:
    empty = [None] * len(items)
    columns = (items["debate"], items.get("text", empty), items.get("candidates", empty))
    found = {}
    for debate, text, candidates in zip(*columns, strict=True):
        parts = (*([text] if isinstance(text, str) else []), *(candidates or ()))
        if parts and debate in debates:
            found[debate] = parts
    return found


def _of_roles(
    table: pd.DataFrame, role: str | Sequence[str] | None, has_text: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the turns of the roles that are asked for, by default of those that vote; without roles, of agents."""
    known = [str(one) for one in pd.unique(table["role"].dropna())]
    if role is None:
        taken = table["seated"].to_numpy(dtype=np.bool_)
        if table["vote"].isna().all():
            whose = "of all roles" if known else "of all agents"
            return taken, [f"no agent votes in this log, so the texts {whose} count as rationales"]
        left = ~taken & has_text & table["role"].isna().to_numpy()
        silent = [str(one) for one in pd.unique(table.loc[left, "agent"])]
        notes = []
        if silent:
            more = f" and {len(silent) - 3} more" if len(silent) > 3 else ""
            named = ", ".join(cut(visible(one, one_line=True), 40) for one in silent[:3])
            verdict = verb(int(left.sum()), "is no rationale", "are no rationales")
            notes.append(
                f"{counted(int(left.sum()), 'text')} of {counted(len(silent), 'agent')} without a role who never "
                f"{verb(len(silent), 'votes', 'vote')} ({named}{more}) {verdict}"
            )
        if not known:
            return taken, notes
        voting = [str(one) for one in pd.unique(table.loc[taken, "role"].dropna())]
        if taken.all() and len(known) == 1:
            return taken, notes
        listed = " and ".join(voting) or "agents without a role"
        which = f"rationales are the texts of {listed}, the {verb(len(voting), 'role', 'roles')} that"
        say = f"{which} {verb(len(voting), 'votes', 'vote')}; for another, ask with {setting('role', '...')}"
        return taken, [say, *notes]
    wanted = [role] if isinstance(role, str) else [str(one) for one in role]
    for one in wanted:
        if one not in known:
            listed = ", ".join(map(repr, known)) or "none: the turns have no roles"
            raise ValueError(f"role must be one of the log's ({listed}); got role={one!r}{meant(one, known)}")
    return table["role"].isin(wanted).to_numpy(dtype=np.bool_), []


def _in_round(
    table: pd.DataFrame, taken: NDArray[np.bool_], round_number: int | None
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the rows of one round of each debate, by default its last one."""
    at = np.flatnonzero(taken)
    played = table["round"].to_numpy()[at]
    known = np.unique(played)
    if round_number is not None:
        number = integer("round_number", round_number)
        if number not in known:
            listed = ", ".join(map(str, known[:12].tolist()))
            raise ValueError(f"round_number must be a round in which they spoke ({listed}); got {number}")
        return at[played == number], []
    debate, debates = pd.factorize(table["debate"].to_numpy()[at])
    last = np.zeros(len(debates), dtype=np.int64)
    np.maximum.at(last, debate, played)
    if len(known) < 2:
        return at[played == last[debate]], []
    which = f"round {last[0]}" if np.ptp(last) == 0 else f"rounds {last.min()} to {last.max()}, by debate"
    note = f"rationales are those of each debate's last round ({which}); for another, ask with "
    return at[played == last[debate]], [note + setting("round_number", "...", "round")]


def _where(table: pd.DataFrame, has_text: NDArray[np.bool_], at: NDArray[np.int64]) -> str:
    """Say that the chosen turns have no texts, and which do."""
    found = (
        table[has_text]
        .groupby([table["role"].fillna("no role"), table["round"]])
        .size()
        .reset_index(name="n")
    )
    rows = found.head(6).itertuples(index=False)
    listed = ", ".join(f"{one.n:,} of {one.role} in round {one.round}" for one in rows)
    more = " and elsewhere" if len(found) > 6 else ""
    return f"none in the {counted(len(at), 'turn')} chosen; the log has texts: {listed}{more}"
