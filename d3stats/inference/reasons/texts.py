"""Which texts of a log are rationales: those of the roles that vote, in one round of each debate.

A rationale is what an agent wrote beside its vote. Advocates, judges beside a jury and others who never vote write no
rationales; what they said is what a rationale may refer to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import integer, meant
from d3stats._words import counted, setting, verb
from d3stats.log.column_names import Columns, to_type
from d3stats.log.consistency import check
from d3stats.log.contradictions import Told, told
from d3stats.log.files import as_frame, as_path, is_frame
from d3stats.log.reader import DebateLog, log_of, read_log, seated
from d3stats.log.tables import read_table
from d3stats.trajectories import Trajectories
from d3stats.values import missing_words

__all__ = ["SAID", "Texts", "as_texts", "rationale_texts"]

SAID = ("debate", "question", "round", "agent", "role", "vote", "text")
"""Columns of a table of rationales."""
CORRECTNESS = "votes are only right or wrong here: two wrong ones count as agreement, which is an assumption"


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of the debates of a log, and which of them are rationales.

    Attributes
    ----------
    turns : DataFrame
        All turns of the debates that have a rationale, sorted by debate, round and agent: ``debate, question, cluster,
        round, agent, role, vote, text, seated``. Missing are None.
    panel : ndarray of int
        Rows of the turns in which a vote with a rationale was asked for.
    rationales : ndarray of int
        Those of them that have a text.
    asked : dict of str to tuple of str
        By debate: the question and the candidates, where the log holds them.
    notes : tuple of str
    told : Told
        What the log says of its questions, to be held against another log.
    """

    turns: pd.DataFrame
    panel: NDArray[np.int64]
    rationales: NDArray[np.int64]
    asked: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    told: Told

    @property
    def table(self) -> pd.DataFrame:
        """One row per rationale: ``debate, question, round, agent, role, vote, text``."""
        return self.turns.iloc[self.rationales][list(SAID)].reset_index(drop=True)

    @property
    def texts(self) -> list[str]:
        """The rationales, in the order of the table."""
        return list(self.turns["text"].iloc[self.rationales])

    @property
    def clusters(self) -> NDArray[np.object_]:
        """The name of each rationale's cluster."""
        return self.turns["cluster"].iloc[self.rationales].to_numpy(dtype=object)


def rationale_texts(
    log: Any,
    *,
    role: str | Sequence[str] | None = None,
    round_number: int | None = None,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """Return the rationales of a log, one row each, sorted by debate and agent.

    This is the order in which :func:`rationales` takes vectors of sentences.

    Parameters
    ----------
    log, role, round_number, missing_values, columns, encoding
        As for :func:`rationales`.

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
    return as_texts(log, role, round_number, missing_values, columns, encoding).table


def as_texts(
    source: Any,
    role: str | Sequence[str] | None = None,
    round_number: int | None = None,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> Texts:
    """Read the texts of a log and choose the rationales; arguments as for :func:`rationale_texts`."""
    words = set(missing_words(missing_values))
    log, named = _log_with_texts(source, missing_values, columns, encoding)
    turns = log.turns
    text = _texts(turns["text"], words) if "text" in turns.columns else np.full(len(turns), None)
    has_text = np.array([one is not None for one in text], dtype=np.bool_)
    if not has_text.any():
        raise ValueError(
            "log must hold what was said, as the field text of its turns (JSON lines) or a column text; got "
            f"{counted(len(turns), 'turn')} of {named} without any: import with the option text, or name the column, "
            f"{to_type(text='COLUMN')}"
        )
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
    table["round"], table["seated"] = turns["round"].to_numpy(), seated(turns)
    taken, said = _of_roles(table, role)
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
    return Texts(table, panel, rationales, asked, (*log.notes, *notes), told(log))


def _log_with_texts(
    source: Any, missing_values: Iterable[str] | None, columns: Columns, encoding: str | None
) -> tuple[DebateLog, str]:
    """Return a log read with its texts, and what it is called."""
    reading: dict[str, Any] = {"columns": columns, "encoding": encoding, "texts": True}
    several = isinstance(source, (list, tuple)) and bool(source)
    if isinstance(source, (str, Path)) or (several and all(isinstance(one, (str, Path)) for one in source)):
        paths = [source] if isinstance(source, (str, Path)) else list(source)
        log = read_log(*map(as_path, paths), missing_values=missing_values, **reading)
        return log, ", ".join(map(str, paths[:3]))
    if is_frame(source):
        if encoding is not None:
            raise ValueError(f"encoding must be left out for a DataFrame; got encoding={encoding!r}")
        records = read_table(as_frame(source), columns=columns, texts=True)
        return log_of(check(records, missing_words(missing_values)).strictly()), "the table"
    if isinstance(source, DebateLog):
        given = {"missing_values": missing_values, "columns": columns, "encoding": encoding}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} must be left out for a DebateLog; got {name}={value!r}")
        if "text" not in source.turns.columns:
            raise ValueError(
                "log must hold what was said; got a DebateLog without texts: read it with read_log(..., texts=True)"
            )
        return source, "the log"
    if isinstance(source, Trajectories):
        raise TypeError(
            "log must hold what was said; got Trajectories, which hold votes alone: give the path or the table that "
            "they were read from"
        )
    raise TypeError(
        f"log must be a path, a list of paths, a DataFrame or a DebateLog; got {type(source).__name__}"
    )


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


def _of_roles(table: pd.DataFrame, role: str | Sequence[str] | None) -> tuple[NDArray[np.bool_], list[str]]:
    """Return the turns of the roles that are asked for, by default of those that vote."""
    known = [str(one) for one in pd.unique(table["role"].dropna())]
    if role is None:
        taken = table["seated"].to_numpy(dtype=np.bool_)
        if not known:
            return taken, []
        voting = [str(one) for one in pd.unique(table.loc[taken, "role"].dropna())]
        if table["vote"].isna().all():
            return taken, ["no agent votes in this log, so the texts of all roles count as rationales"]
        if taken.all() and len(known) == 1:
            return taken, []
        listed = " and ".join(voting) or "agents without a role"
        which = f"rationales are the texts of {listed}, the {verb(len(voting), 'role', 'roles')} that"
        say = f"{which} {verb(len(voting), 'votes', 'vote')}; for another, ask with {setting('role', '...')}"
        return taken, [say]
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
    debate, _ = pd.factorize(table["debate"].to_numpy()[at])
    last = np.zeros(debate.max(initial=-1) + 1, dtype=np.int64)
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
