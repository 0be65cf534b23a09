"""Judgments of two contestants, read from tables of pairs, tables of scores, and debate logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._words import Advised, counted, verb
from d3stats.inputs.lines import place_of
from d3stats.inputs.pairwise import FIRST, SECOND, TIED, Pairwise
from d3stats.inputs.verdicts import ONE_JUDGE, TIE, Judgments
from d3stats.log.column_names import choice_of, plain, to_choose, to_type
from d3stats.note import MISSING_VALUES, Note, kind_of, warning
from d3stats.plausibility import NO_SIDE
from d3stats.sources.item_tables import Fields, question_clusters, unread_note
from d3stats.sources.opened import Opened, Reading, open
from d3stats.sources.verdicts import as_judgments, judge_and_order
from d3stats.trajectories import MISSING
from d3stats.values import canonical, numbers_of

if TYPE_CHECKING:
    from d3stats.log.frames import DebateLog

__all__ = ["FIELDS", "as_pairwise"]


_PAIR = ("item", "first", "second", "winner")
_SCORED = ("item", "contestant", "score")
_MORE = ("judge", "cluster", "question")
FIELDS = Fields(("item", "judge", "cluster"), (), (*_PAIR[1:], *_SCORED[1:], "question"))

ROLES: Mapping[str, tuple[str, ...]] = {
    "first": ("first", "model_a", "model_1", "contestant_a", "contestant_1", "system_a", "system_1"),
    "second": ("second", "model_b", "model_2", "contestant_b", "contestant_2", "system_b", "system_2"),
    "winner": ("winner", "vote", "preference", "preferred", "verdict"),
    "contestant": ("contestant", "candidate", "model", "system"),
    "score": ("score", "rating", "points"),
}
"""Names of the columns by their roles, the standard one first; a note says where another one was taken."""

_WORDS = {"first": FIRST, "second": SECOND} | dict.fromkeys(sorted(NO_SIDE), TIED)
_LETTERS = {"a": FIRST, "b": SECOND}
"""Words for the outcome; letters only where no contestant is called so."""
_LOG = "judgments of a log"


def as_pairwise(source: Any, **reading: Unpack[Reading]) -> Pairwise:
    """Read judgments on pairs of contestants from a table of pairs, a table of scores, or a log of debates on two answers.

    Parameters
    ----------
    source : Pairwise, or what :func:`d3stats.open` takes
        A table of pairs has a row per judgment: ``item``, ``first`` and ``second`` (the contestants, as they were
        shown), and ``winner``: "first", "second", "tie", or the name of a contestant of the row. Columns ``model_a``
        and ``model_b`` are read as ``first`` and ``second``, with a note. A table of scores has ``item, contestant,
        score``, more being better: all pairs of an item that a judge scored are compared, equal scores are ties, and
        nothing is known of an order. Both may have ``judge`` and ``cluster``; without ``cluster``, items that share a
        ``question`` form one. In a log the contestants are the two answers of each debate, the judges are its agents,
        whose last votes count; in one that declares no
        answers they are A and B.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Pairwise

    Raises
    ------
    ValueError
        When a column is absent, a winner is neither a contestant of its row nor a word for the outcome, or a judge
        scored a contestant of an item twice.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> arena = pd.DataFrame({"question_id": [1, 2], "model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "x"]})
    >>> as_pairwise(arena).outcome.tolist()
    [1, -1]
    >>> scores = pd.DataFrame({"item": [1, 1, 1], "contestant": ["x", "y", "z"], "score": [3, 3, 5]})
    >>> as_pairwise(scores).outcome.tolist()
    [0, -1, -1]
    """  # noqa: E501  # what a table looks like
    if isinstance(source, Pairwise):
        open(source, **reading)  # refuses settings of reading, because these judgments were read already
        return source
    opened = open(source, **reading)
    opened, said = _with_roles(opened)
    if opened.is_log(FIELDS):
        if opened.has_records and (log := opened.log()).items["answers"].notna().any():
            return _of_table(*_from_log(log), opened.reading.get("missing_values"))
        return _of_judgments(as_judgments(opened))
    table = opened.items(FIELDS)
    frame = table.frame.reset_index(drop=True)
    frame.attrs = table.frame.attrs
    notes = [*said, *table.notes]
    names = set(map(str, frame.columns))
    missing_values = opened.reading.get("missing_values")
    if set(_PAIR) <= names:
        return _of_table(frame, notes, missing_values)
    if set(_SCORED) <= names and not {"first", "second"} & names:
        return _of_scores(frame, notes, missing_values)
    wanted = _SCORED if {"contestant", "score"} & names and not {"first", "second"} & names else _PAIR
    absent = [name for name in wanted if name not in names]
    needed = (
        "judgments of pairs must have the columns item, first, second and winner, or item, contestant and score; "
        f"{opened.name} lacks {', '.join(absent)}"
    )
    raise ValueError(Advised(needed, to_choose(*absent), got=", ".join(map(str, list(frame.columns)[:20]))))


def _with_roles(opened: Opened) -> tuple[Opened, list[Note]]:
    """Choose the columns of the roles by their known names, where the user chose none; say which were taken."""
    if opened.kind != "table":
        return opened, []
    names = list(dict.fromkeys(str(name) for sheet in opened.tables for name in sheet.names))
    if "debate" in map(plain, names):
        return opened, []
    chosen = choice_of(opened.columns)
    taken = {c for several in chosen.values() for c in ([several] if isinstance(several, str) else several)}
    found: dict[str, str] = {}
    for role, known in ROLES.items():
        if role in chosen:
            continue
        here = [name for name in names if plain(name) in map(plain, known) and name not in taken]
        standard = [name for name in here if plain(name) == role]
        if len(standard or here) > 1:
            several = standard or here
            step = f"choose one with {to_type(**{role: several[0]})}"
            raise ValueError(
                Advised(f"{role} must be one column", step, got=" and ".join(map(repr, several)))
            )
        if here:
            found[role] = (standard or here)[0]
    pairs = {"first", "second"} <= {*found, *chosen}
    unused = ("contestant", "score") if pairs else ("winner",)
    found = {role: name for role, name in found.items() if role not in unused}
    if not found:
        return opened, []
    said = [f"{role} is {name!r}" for role, name in found.items() if role != name]
    taken_note = Note(
        f"columns: {', '.join(said)}", kind="columns taken", n=len(said), examples=found.values()
    )
    return opened.choosing({**chosen, **found}), [taken_note] if said else []


def _of_judgments(data: Judgments) -> Pairwise:
    """Read the verdicts of a log that declares no answers: A against B."""
    data = data.rows(data.vote != MISSING)
    if not len(data):
        raise ValueError(
            "a log must hold a vote for A or B, or a tie, to be read as judgments of pairs; got none"
        )
    swapped = data.order == 1
    outcome = np.select([data.vote == TIE, data.vote == swapped.astype(np.int64)], [TIED, FIRST], SECOND)
    note = Note("contestants are the answers A and B of every debate, because none is declared", kind=_LOG)
    cluster, clusters = pd.factorize(np.array(data.clusters, dtype=object)[data.cluster], sort=True)
    judge, judges = pd.factorize(np.array(data.judges, dtype=object)[data.judge], sort=True)
    return Pairwise(
        swapped.astype(np.int64), 1 - swapped, outcome.astype(np.int64), judge, cluster, data.order != MISSING,
        ("A", "B"), tuple(map(str, judges)), tuple(map(str, clusters)), data.item,
        (*data.notes, note),
    )  # fmt: skip


def _from_log(log: DebateLog) -> tuple[pd.DataFrame, list[str]]:
    """Return a row per debate and voting agent: its last vote on the two answers of the debate."""
    from d3stats.log.frames import seated

    if log.coding != "answers":
        raise ValueError(
            "a log must say for which of two answers each vote is; got votes that are only right or wrong"
        )
    items = log.items.set_index("debate")
    sides: dict[str, tuple[str, str]] = {}
    strange: dict[str, tuple[str, ...]] = {}
    for debate, answers in items["answers"].items():
        given = () if answers is None or answers is pd.NA else tuple(map(str, answers))
        two = tuple(answer for answer in given if answer.casefold() not in NO_SIDE)
        if len(two) == 2:
            sides[str(debate)] = (two[0], two[1])
        else:
            strange[str(debate)] = two
    if strange:
        where, others = next(iter(strange.items()))
        raise ValueError(
            Advised(
                "a log must declare the two answers of each debate, besides a tie, to be read as judgments of pairs",
                "write a table with the columns item, judge, first, second, winner",
                got=f"{len(strange):,} of {counted(len(items), 'debate')} with others, such as {where!r} with "
                f"{', '.join(map(repr, others)) or 'none'}",
            )
        )
    turns = log.turns[seated(log.turns)]
    last = turns.sort_values("round", kind="stable").drop_duplicates(["debate", "agent"], keep="last")
    parts = [judge_and_order(str(agent)) for agent in last["agent"]]
    about = items.reindex(last["debate"])
    debates: list[str] = last["debate"].astype(str).tolist()
    rows = []
    for name, (judge, order), shown in zip(debates, parts, about["first"].tolist(), strict=True):
        one, other = sides[name]
        known = order is not None or shown in (one, other)
        swapped = order == "BA" if order is not None else shown == other
        rows.append((*((other, one) if swapped else (one, other)), judge or ONE_JUDGE, known))
    group = next((c for c in ("cluster", "question") if about[c].notna().all()), None)
    table = pd.DataFrame(rows, columns=["first", "second", "judge", "ordered"]).assign(
        item=about["question"].where(about["question"].notna(), about.index.to_series()).tolist(),
        winner=last["vote"].tolist(),
        cluster=debates if group is None else about[group].tolist(),
    )
    said = "contestants are the two answers of each debate, and judges its agents, whose last votes count"
    return table, [*log.notes, Note(said, kind=_LOG)]


def _of_table(table: pd.DataFrame, notes: Sequence[str], missing_values: Iterable[str] | None) -> Pairwise:
    """Read a table with ``item, first, second, winner``."""
    if table.empty:
        raise ValueError("a table of pairs must have rows; got none")
    table, said = _named(table, ("item", "first", "second", "judge", "cluster"))
    read = canonical(table["winner"], missing_values=missing_values, names=True)
    told = [*said, *(n for n in read.notes("winners", answers=True) if kind_of(n) == MISSING_VALUES)]
    winner = read.columns[0]
    one, two = (table[name].to_numpy(dtype=object) for name in ("first", "second"))
    same = one == two
    if same.any():
        row = int(np.argmax(same))
        raise ValueError(
            f"first and second must be two contestants; got {one[row]!r} twice {place_of(table, row)}"
        )
    outcome, meant = _outcomes(table, one, two, winner)
    known = np.array([x is not None for x in winner], dtype=np.bool_)
    if not known.any():
        raise ValueError(f"winner must be known in some row; got none in {counted(len(table), 'row')}")
    if not known.all():
        n = int((~known).sum())
        told.append(
            f"{n:,} of {counted(len(table), 'judgment')} {verb(n, 'has', 'have')} no winner: left out"
        )
    ordered = (
        table["ordered"].to_numpy(dtype=np.bool_)
        if "ordered" in table.columns
        else np.ones(len(table), dtype=np.bool_)
    )
    read_columns = {*_PAIR, *_MORE, "ordered"}
    return _coded(
        table, one, two, outcome, ordered, known, [*notes, *meant, *told, *unread_note(table, read_columns)]
    )


def _outcomes(
    table: pd.DataFrame, one: NDArray[np.object_], two: NDArray[np.object_], winner: NDArray[np.object_]
) -> tuple[Ints, list[str]]:
    """Return who won in each row, by the name of a contestant of the row or by a word; say what words meant."""
    contestants = {*one, *two}
    used = {str(x).casefold() for x in winner if x is not None}
    clash = sorted(name for name in contestants if str(name).casefold() in _WORDS and name.casefold() in used)
    if clash:
        step = "rename the contestant, or write the names of the winners"
        raise ValueError(Advised("no contestant must be called like an outcome", step, got=repr(clash[0])))
    words = dict(_WORDS)
    if not {str(name).casefold() for name in contestants} & set(_LETTERS):
        words |= _LETTERS
    sides = {plain(name): FIRST for name in ROLES["first"]} | {
        plain(name): SECOND for name in ROLES["second"]
    }
    outcome = np.zeros(len(winner), dtype=np.int64)
    doubt = _Positions({**_LETTERS, **sides})
    by_word: dict[str, int] = {}
    for row, (x, a, b) in enumerate(zip(winner, one, two, strict=True)):
        if x is None:
            continue
        if x in (a, b):
            outcome[row] = FIRST if x == a else SECOND
            doubt.see(x, outcome[row], row)
            continue
        code = words.get(str(x).casefold())
        code = sides.get(plain(x)) if code is None and x not in contestants else code
        doubt.certain |= code in (FIRST, SECOND)
        if code is None:
            step = "write first, second, tie, or the name of one of the two"
            got = f"{x!r} for {a!r} against {b!r} {place_of(table, row)}"
            raise ValueError(
                Advised("winner must be a contestant of its row or first, second or tie", step, got=got)
            )
        outcome[row] = code
        by_word[str(x)] = code
    meaning = {FIRST: "first", SECOND: "second", TIED: "a tie"}
    said = [
        f"{word!r} is {meaning[code]}"
        for word, code in by_word.items()
        if word not in ("first", "second", "tie")
    ]
    notes = [Note(f"winners: {', '.join(said)}", kind="meaning of winners", examples=by_word)] if said else []
    return outcome, [*doubt.notes(table, one, two, winner), *notes]


class _Positions:
    """Names of winners that are also words for the first and the second place, such as the contestants A and B."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self.places = places
        self.certain = False
        """Whether another winner shows that names are meant, or words are used for the places."""
        self.names: list[str] = []
        self.named = 0
        self.differ: list[int] = []

    def see(self, name: Any, outcome: int, row: int) -> None:
        """Count a winner that was read as a name."""
        code = self.places.get(plain(name))
        if code is None:
            self.certain = True
            return
        self.named += 1
        if str(name) not in self.names:
            self.names.append(str(name))
        if code != outcome:
            self.differ.append(row)

    def notes(
        self,
        table: pd.DataFrame,
        one: NDArray[np.object_],
        two: NDArray[np.object_],
        winner: NDArray[np.object_],
    ) -> list[Note]:
        """Say that names were read as names, where places would give other winners."""
        if not self.differ or self.certain:
            return []
        row = self.differ[0]
        text = (
            f"winners {' and '.join(map(repr, sorted(self.names)))} are read as names of contestants, not as the "
            f"places first and second; the two differ in {len(self.differ):,} of {counted(self.named, 'judgment')}, "
            f"such as {winner[row]!r} for {one[row]!r} shown before {two[row]!r} {place_of(table, row)}; if places are "
            "meant, write first and second"
        )
        return [warning(text, "names or places", n=len(self.differ), examples=self.names)]


def _of_scores(table: pd.DataFrame, notes: Sequence[str], missing_values: Iterable[str] | None) -> Pairwise:
    """Read a table with ``item, contestant, score`` as all pairs of each item and judge."""
    if table.empty:
        raise ValueError("a table of scores must have rows; got none")
    table, said = _named(table, ("item", "contestant", "judge", "cluster"))
    read = canonical(table["score"], missing_values=missing_values)
    told = [*said, *(n for n in read.notes("scores") if kind_of(n) == MISSING_VALUES)]
    score = numbers_of("score", pd.Series(read.columns[0], dtype=object))
    judge = table["judge"] if "judge" in table.columns else pd.Series(ONE_JUDGE, index=table.index)
    group = question_clusters(table) or "item"
    given = pd.DataFrame(
        {
            "item": table["item"],
            "judge": judge,
            "cluster": table[group],
            "contestant": table["contestant"],
            "score": score,
            "row": np.arange(len(table)),
        }
    )
    again = given.duplicated(["item", "judge", "contestant"])
    if again.any():
        row = int(np.argmax(again.to_numpy()))
        item, who, name = given.loc[row, ["item", "judge", "contestant"]]
        step = (
            "make the column in which the scores differ a part of the item and keep the column of the item as the "
            f"cluster, {to_type(item=['ITEM', 'COLUMN'], cluster='ITEM')}"
        )
        got = f"{name!r} of item {item!r} by {who!r} again {place_of(table, row)}"
        raise ValueError(Advised("a judge must score a contestant of an item once", step, got=got))
    lost = int(given["score"].isna().sum())
    if lost:
        told.append(f"{lost:,} of {counted(len(given), 'score')} {verb(lost, 'is', 'are')} missing: left out")
    given = given[given["score"].notna()]
    each = given.merge(given, on=["item", "judge", "cluster"], suffixes=("", "_2"))
    each = each[each["contestant"] < each["contestant_2"]].reset_index(drop=True)
    if each.empty:
        raise ValueError("a judge must score two contestants of an item, to compare them; got none who did")
    alone = len(given) - len(pd.unique(pd.concat([each["row"], each["row_2"]])))
    if alone:
        told.append(
            f"{alone:,} of {counted(len(given), 'score')} {verb(alone, 'has', 'have')} no other contestant's score of "
            "the same item and judge: left out"
        )
    outcome = np.sign(each["score"].to_numpy() - each["score_2"].to_numpy()).astype(np.int64)
    text = (
        f"{counted(len(given) - alone, 'score')} are read as {counted(len(each), 'judgment')} of pairs, equal scores "
        "as ties; no order is known, so none is estimated"
    )
    one, two = (each[name].to_numpy(dtype=object) for name in ("contestant", "contestant_2"))
    known = np.ones(len(each), dtype=np.bool_)
    more = unread_note(table, {*_SCORED, *_MORE})
    if "judge" not in table.columns:
        each = each.drop(columns="judge")
    return _coded(
        each, one, two, outcome, ~known, known, [*notes, Note(text, kind="pairs of scores"), *told, *more]
    )


def _named(table: pd.DataFrame, fields: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Write names in one form; refuse a missing one."""
    forms: dict[str, Any] = {}
    notes: list[str] = []
    both = [name for name in ("first", "second") if name in table.columns and name in fields]
    for names in ([both] if both else []) + [[n] for n in fields if n in table.columns and n not in both]:
        read = canonical(*(table[name] for name in names), missing_values=(), names=True)
        what = "contestants" if names == both else f"{names[0]}s"
        notes += read.notes(*([what] * len(names)))
        for name, column in zip(names, read.columns, strict=True):
            absent = np.array([x is None for x in column], dtype=np.bool_)
            if absent.any():
                where = place_of(table, int(np.argmax(absent)))
                raise ValueError(f"{name} must be named in every row; got a missing name {where}")
            forms[name] = column
    made = table.assign(**forms)
    made.attrs = table.attrs
    return made, notes


def _coded(
    table: pd.DataFrame,
    one: NDArray[np.object_],
    two: NDArray[np.object_],
    outcome: Ints,
    ordered: NDArray[np.bool_],
    known: NDArray[np.bool_],
    notes: Sequence[str],
) -> Pairwise:
    """Return the rows that are known as codes."""
    group = question_clusters(table) or "item"
    _same_cluster(table, group)
    cluster, clusters = pd.factorize(table[group][known].astype(str))
    names = tuple(sorted({*one[known], *two[known]}))
    code = {name: k for k, name in enumerate(names)}
    if "judge" in table.columns:
        judges = tuple(sorted(set(table["judge"][known].astype(str))))
        of = {name: k for k, name in enumerate(judges)}
        judge = np.array([of[str(name)] for name in table["judge"][known]], dtype=np.int64)
        alone = []
    else:
        judges, judge = (ONE_JUDGE,), np.zeros(int(known.sum()), dtype=np.int64)
        alone = [f"there is no column judge, so all judgments belong to one judge, called {ONE_JUDGE!r}"]
    first, second = (np.array([code[name] for name in side[known]], dtype=np.int64) for side in (one, two))
    found = Pairwise(
        first, second, outcome[known], judge, cluster.astype(np.int64), ordered[known], names, judges,
        tuple(map(str, clusters)), pd.factorize(table["item"][known].astype(str))[0].astype(np.int64), (),
    )  # fmt: skip
    return replace(found, notes=(*_copies(table, known), *notes, *alone))


def _same_cluster(table: pd.DataFrame, group: str) -> None:
    """Refuse an item in two clusters."""
    if group == "item":
        return
    several = table.groupby("item")[group].nunique()
    if (several > 1).any():
        item = several.index[int(np.argmax((several > 1).to_numpy()))]
        raise ValueError(f"{group} must be the same in all rows of an item; it changes in {item!r}")


def _copies(table: pd.DataFrame, known: NDArray[np.bool_]) -> list[Note]:
    """Count rows that are equal in every column."""
    again = int(table[known].astype(str).duplicated().sum())
    if not again:
        return []
    rows = counted(int(known.sum()), "judgment")
    text = f"{again:,} of {rows} {verb(again, 'is', 'are')} equal to another one in every column: remove them if copies"
    return [Note(text, kind="repeated judgments", n=again)]
