"""Any source of a run, as one table: a row per try with its item, value, cluster and whether it has a label."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, meant
from d3stats._words import Advised, setting
from d3stats.inputs.items import ItemIs
from d3stats.inputs.lines import place_of
from d3stats.inputs.questions import Questions
from d3stats.inputs.recorded import RecordedLog
from d3stats.log.cells import truths, truths_advice, truths_note
from d3stats.log.column_names import maybe_label, other_names, plain, to_choose
from d3stats.note import MISSING_VALUES, Note, kind_of, warning
from d3stats.plausibility import MUCH_MISSING, OF_NUMBERS, judged, name_signs, number_signs, warnings_of
from d3stats.sources.item_tables import (
    Fields,
    TableFile,
    beside_items,
    question_clusters,
    unread_note,
    with_parts,
    without_words,
)
from d3stats.sources.opened import Opened
from d3stats.sources.recorded import questions_of
from d3stats.trajectories import MISSING, Missing, Trajectories
from d3stats.values import canonical, is_missing_word

__all__ = ["NO_ROUNDS", "ONE_COLUMN", "UNNAMED", "RunOf", "RunTable", "missing_as_wrong", "run_table"]


_TEXTS = ("item", "cluster", "question", "vote", "label")
_COLUMNS = "a column 'item' and 'correct', 'score', or 'vote' and 'label' (or be a debate log)"
_VALUES = ("correct", "score", "vote")
UNNAMED = "run"
"""Name of a run that has no name."""
NO_ROUNDS = "round_number must be left out where a run has no rounds; got {} for a table"
ONE_COLUMN = "value must be left out where a run has one column; got {!r}"
_OF_A_LOG = "'verdict', 'plurality', 'votes', 'tokens' or 'score:SIDE'"


@dataclass(frozen=True)
class RunTable:
    """A row per try, what its values are called where that says something, and what a reader must know.

    Columns: ``item, value, labelled``, and where known ``cluster`` and ``label`` (the text that decides the value).
    ``questions`` is what a log says of its questions; without labels where these do not decide the values.
    """

    rows: pd.DataFrame
    name: str | None = None
    notes: list[str] = field(default_factory=list)
    questions: Questions | None = None
    copies: int = 0
    """Rows that are equal to an earlier one in every column of the source."""


@dataclass(frozen=True)
class RunOf:
    """The values of a run: of a table its column, of a log a measure of each question or debate.

    Attributes
    ----------
    value : str or None
    by : {"question", "debate"}
    missing : {"exclude", "wrong"}
        As for :func:`~d3stats.inference.as_run`.
    """

    value: str | None = None
    by: ItemIs = "question"
    missing: Missing = "exclude"

    def __post_init__(self) -> None:
        choice("missing", self.missing, ("exclude", "wrong"))
        choice("by", self.by, ("question", "debate"))

    @property
    def fields(self) -> Fields:
        """The columns of a table of a run."""
        wanted = ("item", "cluster", *(("vote", "label", "correct") if self.value is None else ()))
        values = ("correct", "score") if self.value is None else (self.value,)
        return Fields(wanted, ("item",), ("question", *values), one_round=True)


_MODELS = frozenset(("model", *other_names("model"), "system"))


def run_table(opened: Opened, of: RunOf, round_number: int | None, called: str | None) -> RunTable:
    """Return the tries of a run that an opened source holds; messages name the run as `called`."""
    given = opened.value
    array = isinstance(given, (list, tuple, np.ndarray))
    one_column = isinstance(given, pd.Series) or (opened.kind == "values" and array and np.ndim(given) == 1)
    if not one_column and opened.is_log(of.fields):
        if opened.kind == "values" and not isinstance(given, (np.ndarray, Mapping)):
            kinds = "a Run, Trajectories, DebateLog, DataFrame, Series, array or a path"
            raise TypeError(f"a run must be {kinds}; got {type(given).__name__}")
        return _of_log(opened, of, round_number, called)
    if round_number is not None:
        raise ValueError(NO_ROUNDS.format(round_number))
    if of.value is not None and one_column:
        raise ValueError(ONE_COLUMN.format(of.value))
    words = opened.missing_words
    table = _of_column(pd.Series(given), words) if one_column else _of_items(opened, of, called or UNNAMED)
    return replace(table, notes=[*_doubts(table.rows, of.missing), *table.notes])


def _several_models(opened: Opened, t: Trajectories) -> list[Note]:
    """Warn of debates of one question that were played by other models: its value is their mean."""
    if not opened.has_records or len(np.unique(t.cluster)) == len(t):
        return []
    turns = opened.checked().turns
    model, debate = turns.coded("model"), turns.coded("debate")
    width, spoke = max(len(model.values), 1), model.codes >= 0
    by_debate: dict[str, list[str]] = {}
    for pair in np.unique(debate.codes[spoke].astype(np.int64) * width + model.codes[spoke]).tolist():
        by_debate.setdefault(debate.values[pair // width], []).append(model.values[pair % width])
    names = [" and ".join(sorted(by_debate.get(name, ()))) or None for name in t.debates]
    return _averaged(t.cluster, names, "debates")


def _averaged(items: Any, models: Any, rows: str) -> list[Note]:
    """Warn where most items have rows of several models, whose mean is taken."""
    model = pd.Series(np.asarray(models, dtype=object))
    several = model.groupby(np.asarray(items)).nunique()
    n = int((several > 1).sum())
    if 2 * n <= len(several):
        return []
    names = sorted(map(str, model.dropna().unique()))
    text = (
        f"{n:,} of {len(several):,} items have {rows} of several models ({', '.join(names[:3])}"
        f"{', ...' * (len(names) > 3)}), of which the mean is taken; keep the rows of one model in each file"
    )
    return [warning(text, "several models", n=n, examples=names[:3])]


def _of_column(values: pd.Series, missing: Collection[str]) -> RunTable:
    """Return a row per value; the index names the items."""
    (items,) = canonical(values.index.to_series(), missing_values=(), names=True).columns
    rows = pd.DataFrame({"item": items, "value": values.to_numpy(), "labelled": True})
    read = without_words(TableFile(rows), ("item",), missing)
    return RunTable(read.frame, None if values.name is None else str(values.name), list(read.cells.values()))


def _doubts(rows: pd.DataFrame, missing: Missing) -> list[str]:
    """Warn of values that can hardly be meant: all wrong, or many missing."""
    values = pd.to_numeric(rows["value"], errors="coerce").to_numpy(dtype=np.float64)
    values = values[rows["labelled"].to_numpy()]
    n, known = len(values), values[~np.isnan(values)]
    absent = n - len(known)
    doubts: list[str] = []
    if len(known) >= 8 and not known.any():
        text = f"every one of {len(known)} values is 0; check that the column marks right answers with 1"
        doubts.append(warning(text, "all wrong", n=len(known)))
    if missing == "exclude" and n >= 8 and absent > MUCH_MISSING * n:
        text = f"{absent} of {n} values are missing; the others may not be representative"
        doubts.append(warning(text, MISSING_VALUES, n=absent))
    return doubts


def _items_of(opened: Opened, of: RunOf) -> TableFile:
    """Return a table of items, one row per try, with the standard names of its columns."""
    read = with_parts(opened.items(of.fields, texts=_TEXTS))
    if opened.paths and "item" not in read.frame.columns:
        raise ValueError(_needs_columns(", ".join(opened.paths), read.frame))
    _one_filter(read.frame)
    return read


def _one_filter(table: pd.DataFrame) -> None:
    """Refuse several filters of one answer as repeats of its item: an evaluation harness writes a row for each."""
    name = next((name for name in table.columns if str(name).casefold() == "filter"), None)
    if name is None or "item" not in table.columns:
        return
    several = table[name].groupby(table["item"]).nunique()
    if len(several) and several.max() > 1:
        found = sorted(map(str, table[name].dropna().unique()))
        got = f"{', '.join(map(repr, found[:6]))} in the column {str(name)!r}"
        raise ValueError(Advised("a run must have one filter", "keep the rows of one of them", got=got))


def _needs_columns(what: str, frame: pd.DataFrame) -> Advised:
    """Say which columns a table of a run needs, and how to choose those that it lacks."""
    names = [str(name) for name in frame.columns]
    absent = ("item",) if {*_VALUES} & {*names} else ("item", "correct")
    return Advised(f"{what} must have {_COLUMNS}", to_choose(*absent), got=str(names))


def _of_log(opened: Opened, of: RunOf, round_number: int | None, called: str | None) -> RunTable:
    """Return a row per debate.

    The verdict is the decision that the log records, where it records any and no round is asked for.
    """
    recorded = opened.recorded()
    t, value, missing = recorded.trajectories, of.value, of.missing
    if t.n_debates == 0:
        raise ValueError(f"a run must have debates; got none in {t!r}")
    if round_number is not None and not 1 <= round_number <= t.n_rounds:
        raise ValueError(f"round_number must lie between 1 and {t.n_rounds}; got {round_number}")
    deepest = np.maximum(t.depth, 1)
    at = (deepest if round_number is None else np.minimum(round_number, deepest)) - 1
    what = "verdict" if value is None else value
    decided = what == "verdict" and round_number is None and recorded.usable
    if decided:
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
        notes += _answers_met(t, set(recorded.decision[recorded.known]) if decided else None)
    if of.by == "question":
        notes += _several_models(opened, t)
    if what in ("verdict", "plurality") and recorded.usable:
        notes.append(_what_was_read(recorded, decided, round_number))
    if not labelled.any():
        whose = f" of {called!r}" if called else ""
        needed = "a run must have labels, which tell the right verdicts"
        step = f"name their column, or compare something else, as {setting('value', 'tokens')}"
        raise ValueError(Advised(needed, step, got=f"none in {t!r}{whose}"))
    cluster = np.asarray(t.cluster_names, dtype=object)[t.cluster]
    item = cluster if of.by == "question" else np.asarray(t.debates, dtype=object)
    rows = pd.DataFrame({"item": item, "value": values, "cluster": cluster, "labelled": labelled})
    if judged and of.by == "debate" and t.coding == "answers":
        # Where debates of a question have several labels, a finding of the log says so; of a debate the label is one.
        rows["label"] = pd.Series(np.array([*t.answers, None], dtype=object)[t.label], dtype=object)
    said = questions_of(t) if recorded.questions is None else recorded.questions
    # That no vote is a label is said in words of its own.
    apart = {"no vote is a label"} | (set() if what.startswith("score:") else OF_NUMBERS)
    doubts = [*warnings_of(t.findings()), *notes, *t.notes]
    return RunTable(
        rows,
        notes=[note for note in doubts if kind_of(note) not in apart or note in notes],
        questions=said if judged else replace(said, label=()),
    )


def _of_items(opened: Opened, of: RunOf, called: str) -> RunTable:
    """Return a row per row of a table of items; messages name the run as `called`."""
    read = _items_of(opened, of)
    source, value, missing_values = read.frame, of.value, opened.reading.get("missing_values")
    if "item" not in source.columns:
        raise ValueError(_needs_columns("a run", source))
    usual = (c for c in ("correct", "score") if c in source.columns)
    named = next(usual, None) if value is None else value
    items = canonical(source["item"], missing_values=(), names=True)
    table = pd.DataFrame({"item": items.columns[0], "labelled": True})
    table.attrs = source.attrs
    notes = items.notes("items")
    used = {"item", named}
    if named is None and {"vote", "label"} <= set(source.columns):
        votes, said = _votes_right(table["item"], source, called, missing_values)
        for column, cells in votes.items():
            table[column] = cells
        notes += said
        used |= {"vote", "label"}
    elif named is None or named not in source.columns:
        wanted = "'correct', 'score', or 'vote' and 'label'" if named is None else repr(named)
        advice = to_choose("correct") if named is None else ""
        gold = maybe_label(source.columns) if named is None and "vote" in source.columns else None
        if gold is not None:
            advice = f"if {gold!r} holds the right answers, add label={gold} to columns= (--columns)"
        needed = f"a table of a run must have the column {wanted}"
        raise ValueError(Advised(needed, advice, got=str(list(source.columns))))
    else:
        table["value"] = source[named].to_numpy()
        if named == "correct":
            table["value"], read_words = _words_as_truths(table["value"])
            notes += read_words
            _only_right_or_wrong(table, called)
        else:
            numbers = pd.to_numeric(table["value"], errors="coerce")
            notes += warnings_of(number_signs(numbers, f"values in the column {named!r}"))
    notes = [*warnings_of(name_signs(table["item"])), *notes]
    grouped = question_clusters(source)
    if grouped:
        clusters = canonical(source[grouped], missing_values=missing_values, names=True)
        table["cluster"] = clusters.columns[0]
        notes += [f"clusters are those of the column {grouped!r}"] if grouped != "cluster" else []
        notes += clusters.notes("clusters")
    for model in (name for name in source.columns if plain(str(name)) in _MODELS and name not in used):
        notes += _averaged(table["item"], source[model], "rows")
    notes += beside_items(source, used, "vote" if named is None else named)
    notes += unread_note(source, used | {grouped, "question"})
    name = None if named in ("correct", "score", None) else named
    cells = [read.cells[named]] if named in read.cells else []
    copies = int(source.astype(str).duplicated().sum())
    return RunTable(table, name, [*read.notes, *notes, *cells], copies=copies)


def _votes_right(
    items: pd.Series, source: pd.DataFrame, called: str, missing_values: Iterable[str] | None
) -> tuple[dict[str, Any], list[str]]:
    """Return value, label and whether there is one, and what strikes in how votes and labels are spelt."""
    read = canonical(source["vote"], source["label"], missing_values=missing_values)
    vote, label = read.columns
    known, cast = (~pd.isna(column) for column in (label, vote))
    if not known.any():
        got = f"none in {len(known)} rows of {called!r}"
        needed = "a run must have labels, which tell the right votes"
        raise ValueError(Advised(needed, to_choose("label"), got=got))
    columns = {
        "value": np.where(known & cast, (vote == label).astype(float), np.nan),
        "labelled": known,
        "label": pd.Series(label, dtype=object),
    }
    labels, cast_votes = set(label[known]), list(vote[known & cast])
    seen = judged(items, ["run"] * len(vote), vote, label)
    spelt = _spelling(labels, cast_votes, called) if cast_votes else []
    kinds = _OF_VALUES if spelt else (*_OF_VALUES, "answers in several spellings")
    doubts = warnings_of(each for each in seen if each.kind in kinds)
    return columns, [*doubts, *read.notes("votes", "labels", answers=True), *spelt]


_OF_VALUES = (
    "votes that are dates", "votes that state an answer", "votes like missing values", "votes that are no label",
    "one label only", "votes with several answers", "answers in several ways",
)  # fmt: skip
"""Signs in votes that are no label; of spelling and of votes without any label :func:`_spelling` tells more."""


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
        text = f"{few} equal a label only in another spelling ({said}); they count as wrong"
        return [warning(text, "answers in several spellings", n=len(misspelt), examples=misspelt[:3])]
    if len(strange) == len(votes):
        said = f"votes {_some(set(votes))}; labels {_some(labels)}"
        text = f"no vote equals any label ({said}); all count as wrong"
        return [warning(text, "no vote is a label", n=len(votes))]
    return []


def _folded(text: str) -> str:
    """Return a text without case and without signs around it, but for numbers, whose signs mean something."""
    bare = re.sub(r"^\W+|\W+$", "", text).casefold()
    return text.strip().casefold() if not bare or bare[0].isdigit() else bare


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
    numbers = pd.to_numeric(values, errors="coerce")  # one word leaves all cells of a column texts
    wrong = (values.notna() & ~numbers.isin([0, 1])).to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        first = values.astype(object).iloc[row]
        got = f"{first!r} {place_of(table, row)} of {called!r}"
        raise ValueError(Advised("correct must be 0, 1 or missing", truths_advice([first]), got=got))


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
    if 2 * missing > all_of_them:
        return [warning(f"{said}, which is more than half", MISSING_VALUES, n=missing)]
    return [Note(said, kind=MISSING_VALUES, n=missing)]


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
