"""Any source of a run, as one table: a row per try with its item, value, cluster and whether it has a label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import meant
from d3stats._words import setting
from d3stats.inference.tables import (
    Fields,
    TableFile,
    is_table,
    place_of,
    question_clusters,
    read_table,
    unread_note,
)
from d3stats.log.column_names import Columns, to_choose
from d3stats.log.contradictions import Told, told
from d3stats.log.files import as_frame, as_path, is_frame
from d3stats.log.tables import read_table as read_log_table
from d3stats.log.tables import truths, truths_note
from d3stats.trajectories import MISSING, LogSource, Missing, Trajectories, as_trajectories
from d3stats.values import canonical, is_missing_word, missing_words

if TYPE_CHECKING:
    from d3stats.log.consistency import Checked
    from d3stats.log.problems import Problem
    from d3stats.log.reader import DebateLog

__all__ = [
    "RecordedLog",
    "RunTable",
    "as_recorded",
    "decided_in",
    "fields_of",
    "from_frame",
    "from_path",
    "from_trajectories",
    "read_recorded",
    "recorded_of",
]


@dataclass(frozen=True, eq=False, repr=False)
class RecordedLog:
    """A log as arrays, with the decision that each debate recorded.

    Attributes
    ----------
    decision : ndarray of object, shape (debates,)
        What each debate's verdict record says; None where it has none, or says nothing.
    roles : tuple of str
        The roles that vote somewhere in the log.
    problems : tuple of Problem
        What is wrong with the files; empty when they were read strictly.
    told : Told or None
        What the log says of its questions, to be held against other logs.
    """

    trajectories: Trajectories
    decision: NDArray[np.object_]
    roles: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    told: Told | None = None

    def __repr__(self) -> str:
        return f"RecordedLog({self.trajectories!r}, {int(self.known.sum())} decisions)"

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Which debates have a recorded decision, shape (debates,)."""
        return np.array([d is not None for d in self.decision], dtype=np.bool_)

    @cached_property
    def differs(self) -> NDArray[np.bool_]:
        """Which decisions are another answer than the plurality of the debate's last round, shape (debates,)."""
        t = self.trajectories
        if t.n_rounds == 0:
            return np.zeros(len(t), dtype=np.bool_)
        last = t.verdicts()[np.arange(len(t)), np.maximum(t.depth, 1) - 1]
        plurality = np.array([*t.answers, None], dtype=object)[last]  # MISSING, -1, is the last
        other: NDArray[np.bool_] = self.known & (last != MISSING) & (plurality != self.decision)
        return other

    @cached_property
    def usable(self) -> bool:
        """Whether there are decisions, and they can be held against labels: votes are not just right or wrong."""
        return self.trajectories.coding == "answers" and bool(self.known.any())

    def note(self) -> str | None:
        """Say in how many debates votes and decisions part, for readers of votes; None where nowhere."""
        other = int(self.differs.sum()) if self.usable else 0
        if not other:
            return None
        said = f" (here: {', '.join(self.roles)})" if self.roles else ""
        return (
            f"The recorded decision is not the plurality of the last votes in {other} of {len(self.decision)} "
            "debates, so results from votes may differ from the decisions. Select the voting agents by "
            f"role{said}."
        )

    def right(self) -> NDArray[np.float64]:
        """Return 1 where the decision is the label, 0 where it is not, NaN where either is unknown."""
        t = self.trajectories
        label = np.array([*t.answers, None], dtype=object)[t.label]
        unknown = ~self.known | (t.label == MISSING)
        return np.where(unknown, np.nan, (self.decision == label).astype(float))


def read_recorded(
    *paths: str | Path,
    strict: bool = True,
    roles: Iterable[str] | None = None,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> RecordedLog:
    """Read log files with their decisions; the parameters are those of :meth:`Trajectories.from_log`."""
    from d3stats.log.reader import read_log

    log = read_log(*paths, strict=strict, missing_values=missing_values, columns=columns, encoding=encoding)
    return recorded_of(log, roles)


def recorded_of(log: DebateLog, roles: Iterable[str] | None = None) -> RecordedLog:
    """Return a log that was read as arrays, with its decisions."""
    t = as_trajectories(log, roles=roles)
    said: dict[Any, Any] = dict(zip(log.verdicts["debate"], log.verdicts["decision"], strict=True))
    decision = np.array([said.get(name) for name in t.debates], dtype=object)
    cast = log.turns["vote" if "vote" in log.turns.columns else "correct"].notna()
    voting = tuple(sorted(set(log.turns.loc[cast, "role"].dropna())))
    return RecordedLog(t, decision, voting, log.problems, told(log))


def decided_in(checked: Checked, roles: Iterable[str] | None = None) -> RecordedLog:
    """Return what :func:`recorded_of` does, from the columns of a log and without what it says of its questions."""
    t = Trajectories._from_checked(checked, roles)
    said = dict(
        zip(
            checked.verdicts.coded("debate").to_array(),
            checked.verdicts.coded("decision").to_array(),
            strict=True,
        )
    )
    decision = np.array([said.get(name) for name in t.debates], dtype=object)
    answers = checked.coding == "answers"
    cast = checked.turns.coded("vote").codes >= 0 if answers else checked.turns.numbers("correct") >= 0
    voting = checked.turns.coded("role")[cast].occurring()
    return RecordedLog(t, decision, tuple(sorted(voting)), checked.problems)


def as_recorded(
    source: LogSource | RecordedLog,
    *,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> RecordedLog:
    """Read debates as :func:`d3stats.as_trajectories` does, with the decisions of a file, a table or a ``DebateLog``.

    Arrays and ``Trajectories`` have none. The other parameters are those of :meth:`Trajectories.from_log`.
    """
    from d3stats.log.consistency import check
    from d3stats.log.reader import read_checked

    if isinstance(source, RecordedLog):
        return source
    paths = [source] if isinstance(source, (str, Path)) else source
    if isinstance(paths, (list, tuple)) and paths and all(isinstance(one, (str, Path)) for one in paths):
        how: dict[str, Any] = {"missing_values": missing_values, "columns": columns, "encoding": encoding}
        return decided_in(read_checked([as_path(one) for one in paths], **how))
    if is_frame(source):
        read = read_log_table(as_frame(source), None, columns=columns)
        return decided_in(check(read, missing_words(missing_values)).strictly())
    if hasattr(source, "verdicts") and hasattr(source, "turns"):
        return recorded_of(source)
    t = as_trajectories(source)
    return RecordedLog(t, np.full(len(t), None, dtype=object))


_TEXTS = ("item", "cluster", "question", "vote", "label")
_COLUMNS = "a column 'item' and 'correct', 'score', or 'vote' and 'label' (or be a debate log)"
_VALUES = ("correct", "score", "vote")
_OF_A_LOG = "'verdict', 'plurality', 'votes', 'tokens' or 'score:SIDE'"


@dataclass(frozen=True)
class RunTable:
    """A row per try, what its values are called where that says something, and what a reader must know.

    Columns: ``item, value, labelled``, and where known ``cluster`` and ``label`` (the text that decides the value).
    ``told`` is what a log says of its questions; without labels where these do not decide the values.
    """

    rows: pd.DataFrame
    name: str | None = None
    notes: list[str] = field(default_factory=list)
    told: Told | None = None


def fields_of(value: str | None) -> Fields:
    """Return the columns of a table of a run; `value` names the column of values."""
    wanted = ("item", "cluster", *(("vote", "label", "correct") if value is None else ()))
    values = ("correct", "score") if value is None else (value,)
    return Fields(wanted, ("item",), ("question", *values), one_round=True)


def from_path(
    path: str | Path,
    value: str | None = None,
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> TableFile | RecordedLog:
    """Read a debate log where the file has columns of one, else a tidy table."""
    text = as_path(path)
    reading: dict[str, Any] = {"columns": columns, "encoding": encoding}
    if not is_table(text):
        return read_recorded(text, missing_values=missing_values, **reading)
    read = read_table(text, fields_of(value), texts=_TEXTS, **reading)
    if read is None:
        return read_recorded(text, missing_values=missing_values, **reading)
    if "item" not in read.frame.columns:
        raise ValueError(f"{text} {_needs_columns(read.frame)}")
    return read


def _needs_columns(frame: pd.DataFrame) -> str:
    """Say which columns a table of a run needs, and how to choose those that it lacks."""
    names = [str(name) for name in frame.columns]
    absent = ("item",) if {*_VALUES} & {*names} else ("item", "correct")
    return f"must have {_COLUMNS}; got {names}{to_choose(*absent)}"


def from_trajectories(
    t: Trajectories,
    value: str | None,
    by: str,
    round_number: int | None,
    missing: Missing,
    recorded: RecordedLog | None = None,
    called: str | None = None,
) -> RunTable:
    """Return a row per debate; `value` says what of a debate is compared, and `called` names the run in messages.

    The verdict is the decision that `recorded` holds, where it holds any and no round is asked for.
    """
    if t.n_debates == 0:
        raise ValueError(f"a run must have debates; got none in {t!r}")
    if round_number is not None and not 1 <= round_number <= t.n_rounds:
        raise ValueError(f"round_number must lie between 1 and {t.n_rounds}; got {round_number}")
    deepest = np.maximum(t.depth, 1)
    at = (deepest if round_number is None else np.minimum(round_number, deepest)) - 1
    what = "verdict" if value is None else value
    decided = what == "verdict" and round_number is None and recorded is not None and recorded.usable
    if decided and recorded is not None:
        values = recorded.right()
    elif what in ("verdict", "plurality"):
        values = _verdicts(t, at)
    elif what == "votes":
        values = _votes(t, at, missing)
    elif what == "tokens":
        values = _tokens(t, at)
    elif what.startswith("score:"):
        values = _points(t, at, what.removeprefix("score:"))
    else:
        raise ValueError(f"value of a log must be {_OF_A_LOG}; got {value!r}")
    judged = what in ("verdict", "plurality", "votes")
    labelled = (t.label != MISSING) if judged else np.ones(len(t), dtype=bool)
    notes = []
    if what == "votes" and missing == "wrong":
        values = np.where(labelled & np.isnan(values), 0.0, values)
        notes = _counted_wrong(t, at, labelled)
    if judged and t.coding == "answers":
        notes += _answers_met(t, set(recorded.decision[recorded.known]) if decided and recorded else None)
    if what in ("verdict", "plurality") and recorded is not None and recorded.usable:
        notes.append(_what_was_read(recorded, decided, round_number))
    if not labelled.any():
        of = f" of {called!r}" if called else ""
        raise ValueError(f"a run must have labels, which tell the right verdicts; got none in {t!r}{of}")
    cluster = np.asarray(t.cluster_names, dtype=object)[t.cluster]
    item = cluster if by == "question" else np.asarray(t.debates, dtype=object)
    rows = pd.DataFrame({"item": item, "value": values, "cluster": cluster, "labelled": labelled})
    if judged and by == "debate" and t.coding == "answers":
        # Where debates of a question have several labels, a finding of the log says so; of a debate the label is one.
        rows["label"] = pd.Series(np.array([*t.answers, None], dtype=object)[t.label], dtype=object)
    said = told(t) if recorded is None or recorded.told is None else recorded.told
    return RunTable(rows, notes=notes, told=said if judged else replace(said, label=()))


def from_frame(
    source: pd.DataFrame, value: str | None, called: str, missing_values: Iterable[str] | None = None
) -> RunTable:
    """Return a row per row of a table with `value` or the usual columns; messages name the run as `called`."""
    if "item" not in source.columns:
        raise ValueError(f"a run {_needs_columns(source)}")
    usual = (c for c in ("correct", "score") if c in source.columns)
    named = next(usual, None) if value is None else value
    items = canonical(source["item"], missing_values=(), names=True)
    table = pd.DataFrame({"item": items.columns[0], "labelled": True})
    table.attrs = source.attrs
    notes = items.notes("items")
    read = {"item", named}
    if named is None and {"vote", "label"} <= set(source.columns):
        notes += _votes_right(table, source, called, missing_values)
        read |= {"vote", "label"}
    elif named is None or named not in source.columns:
        wanted = "'correct', 'score', or 'vote' and 'label'" if named is None else repr(named)
        advice = to_choose("correct") if named is None else ""
        raise ValueError(
            f"a table of a run must have the column {wanted}; got {list(source.columns)}{advice}"
        )
    else:
        table["value"] = source[named].to_numpy()
        if named == "correct":
            table["value"], read_words = _words_as_truths(table["value"])
            notes += read_words
            _only_right_or_wrong(table, called)
    grouped = question_clusters(source)
    if grouped:
        clusters = canonical(source[grouped], missing_values=missing_values, names=True)
        table["cluster"] = clusters.columns[0]
        notes += [f"clusters are those of the column {grouped!r}"] if grouped != "cluster" else []
        notes += clusters.notes("clusters")
    notes += unread_note(source, read | {grouped, "question"})
    name = None if named in ("correct", "score", None) else named
    return RunTable(table, name, notes)


def _votes_right(
    table: pd.DataFrame, source: pd.DataFrame, called: str, missing_values: Iterable[str] | None
) -> list[str]:
    """Add value, label and whether there is one, and return what strikes in how votes and labels are spelt."""
    read = canonical(source["vote"], source["label"], missing_values=missing_values)
    vote, label = read.columns
    known, cast = (~pd.isna(column) for column in (label, vote))
    if not known.any():
        got = f"none in {len(known)} rows of {called!r}"
        raise ValueError(f"a run must have labels, which tell the right votes; got {got}")
    table["value"] = np.where(known & cast, (vote == label).astype(float), np.nan)
    table["labelled"], table["label"] = known, pd.Series(label, dtype=object)
    labels, cast_votes = set(label[known]), list(vote[known & cast])
    return [*read.notes("votes", "labels"), *(_spelling(labels, cast_votes, called) if cast_votes else [])]


def _spelling(labels: set[str], votes: list[str], called: str) -> list[str]:
    """Refuse votes that can be right in another spelling alone; warn of some such, and of votes that are no label."""
    folded = {_folded(label): label for label in labels}
    strange = [v for v in votes if v not in labels]
    misspelt = [v for v in strange if _folded(v) in folded]
    if len(strange) == len(votes) and misspelt:
        raise ValueError(
            f"votes and labels must be spelled alike; got {misspelt[0]!r} and "
            f"{folded[_folded(misspelt[0])]!r}, and no vote equals any label in {called!r}"
        )
    if misspelt:
        said = f"{misspelt[0]!r}, {folded[_folded(misspelt[0])]!r}"
        few = f"{len(misspelt)} of {len(votes)} votes"
        return [f"WARNING: {few} equal a label only in another spelling ({said}); they count as wrong"]
    if len(strange) == len(votes):
        said = f"votes {_some(set(votes))}; labels {_some(labels)}"
        return [f"WARNING: no vote equals any label ({said}); all count as wrong"]
    return []


def _folded(text: str) -> str:
    return text.strip().casefold()


def _some(words: set[str]) -> str:
    return ", ".join(map(repr, sorted(words)[:3])) + (" ..." if len(words) > 3 else "")


def _words_as_truths(values: pd.Series) -> tuple[pd.Series, list[str]]:
    """Read words such as yes and no as the log's reader does, all of them or none."""
    said = [v for v in values.dropna().unique() if isinstance(v, str)]
    known = truths(said)
    if not said or known is None:
        return values, []
    meant = known | {t: np.nan for t in said if is_missing_word(t)}
    return values.map(lambda v: meant.get(v, v) if isinstance(v, str) else v), truths_note(said)


def _only_right_or_wrong(table: pd.DataFrame, called: str) -> None:
    values = table["value"]
    wrong = (values.notna() & ~values.isin([0, 1])).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        got = f"{values.astype(object).iloc[row]!r} {place_of(table, row)} of {called!r}"
        raise ValueError(f"correct must be 0, 1 or missing; got {got}; for points name the column score")


def _verdicts(t: Trajectories, at: NDArray[np.int64]) -> NDArray[np.float64]:
    verdict = t.verdicts()[np.arange(len(t)), at]
    unknown = (verdict == MISSING) | (t.label == MISSING)
    return np.where(unknown, np.nan, (verdict == t.label).astype(float))


def _what_was_read(log: RecordedLog, decided: bool, round_number: int | None) -> str:
    """Say whether verdicts are recorded decisions or pluralities, and how often that is not the same."""
    differs, none = (
        f"differs in {int(log.differs.sum())} of {len(log.decision)} debates",
        int((~log.known).sum()),
    )
    if round_number is not None:
        return f"verdicts are the pluralities of the votes up to round {round_number}, not recorded decisions"
    if not decided:
        return f"verdicts are pluralities of the votes; the recorded decision {differs}"
    gone = f"; {none} without a decision are missing" if none else ""
    return (
        f"verdicts are the recorded decisions; the plurality of the votes, {setting('value', 'plurality')}, "
        f"{differs}{gone}"
    )


def _votes(t: Trajectories, at: NDArray[np.int64], missing: Missing) -> NDArray[np.float64]:
    right, cast = (counts[np.arange(len(t)), at].astype(float) for counts in t.successes_trials(missing))
    share = np.full(len(t), np.nan)
    np.divide(right, cast, out=share, where=cast > 0)
    return share


def _answers_met(t: Trajectories, decided: set[str] | None) -> list[str]:
    """Return what :func:`_spelling` says of a log in which no vote, or no decision, is any label."""
    cast, right = ({t.answers[k] for k in np.unique(x[x != MISSING])} for x in (t.votes, t.label))
    said = cast if decided is None else decided
    return _spelling(right, sorted(said), "the log") if said and right and not said & right else []


def _counted_wrong(t: Trajectories, at: NDArray[np.int64], labelled: NDArray[np.bool_]) -> list[str]:
    rows = np.flatnonzero(labelled)
    cast, seats = (int(t.successes_trials(how)[1][rows, at[rows]].sum()) for how in ("exclude", "wrong"))
    return missing_as_wrong(seats - cast, seats, "votes")


def missing_as_wrong(missing: int, all_of_them: int, what: str) -> list[str]:
    """Say how many missing values count as wrong, loudly where they are most."""
    if not missing:
        return []
    said = f"{missing} of {all_of_them} {what} are missing and count as wrong"
    return [f"WARNING: {said}, which is more than half" if 2 * missing > all_of_them else said]


def _tokens(t: Trajectories, at: NDArray[np.int64]) -> NDArray[np.float64]:
    if t.tokens is None:
        raise ValueError(f"tokens must be logged to be compared; got none in {t!r}")
    # A round without a count makes the sum unknown, and NaN says so.
    spent: NDArray[np.float64] = np.cumsum(t.tokens, axis=1)[np.arange(len(t)), at]
    return spent


def _points(t: Trajectories, at: NDArray[np.int64], side: str) -> NDArray[np.float64]:
    if t.scores is None:
        raise ValueError(f"scores must be logged to be compared; got none in {t!r}")
    if side not in t.sides:
        got = f"{side!r}{meant(side, t.sides)}"
        raise ValueError(f"the side of a score must be one of {list(t.sides)}; got {got}")
    points: NDArray[np.float64] = t.scores[np.arange(len(t)), at, t.sides.index(side)]
    return points
