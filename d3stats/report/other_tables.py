"""Tables that are no log of debates: what each is, whether it can be read, and the command that reads it.

The columns tell what a table is. Then the function that reads such tables reads it, and its notes are the report.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from d3stats._words import counted
from d3stats.log.column_names import command_on, other_names, plain
from d3stats.log.doctor import wrapped
from d3stats.note import UNREAD_CONFIDENCE, kind_of, severity_of
from d3stats.resampling.degrees import unequal_clusters
from d3stats.result import json_value
from d3stats.sources import open
from d3stats.trajectories import MISSING

__all__ = ["OtherTable", "other_table"]

_OF_TURNS = ("debate", "round")
_VALUES = ("correct", "iscorrect", "score")


@dataclass(frozen=True)
class OtherTable:
    """The kind of a table, the notes of its reader, and the command that reads it.

    Attributes
    ----------
    kind : str
        "verdicts", "ratings", "a run", "items to debate" or "prices".
    size : str
        How much it holds, in words.
    command : str
    notes : tuple of str
    error : str or None
        Why it could not be read.
    """

    kind: str
    size: str
    command: str
    notes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def exit_code(self) -> int:
        """0 when nothing is wrong, 2 when a warning was given or the table could not be read."""
        return 2 if self.error is not None or any(_warns(n) for n in self.notes) else 0

    @property
    def headline(self) -> str:
        """The kind of table, its fitness for use, and how much it holds."""
        kind = self.kind if self.kind != "a run" else "one run of an evaluation"
        if self.error is not None:
            return f"A table of {kind} that cannot be read: {self.error}"
        warned = sum(map(_warns, self.notes))
        ending = f"; {counted(warned, 'warning')}." if warned else ". Nothing is wrong."
        return f"A table of {kind}, fit for use{' with care' * bool(warned)}: {self.size}{ending}"

    def to_text(self, width: int | None = None) -> str:
        """Return the report for a reader, wrapped to `width` characters."""
        top = [*wrapped([self.headline], width), f"The command that reads it: {self.command}"]
        ordered = sorted(self.notes, key=lambda note: not _warns(note))
        lines = [f"{note}." if _warns(note) else f"Note: {note}." for note in ordered]
        return "\n".join([*top, *wrapped(lines, width)])

    def to_json(self) -> str:
        """Return the report for a program."""
        content = {
            "headline": self.headline,
            **{name: getattr(self, name) for name in self.__dataclass_fields__},
        }
        return json.dumps(json_value(content) | {"exit_code": self.exit_code}, ensure_ascii=False, indent=2)


def _warns(note: str) -> bool:
    return severity_of(note) == "warning"


def other_table(paths: Sequence[str | Path], how: Mapping[str, Any]) -> OtherTable | None:
    """Return what a table is that is no log of debates; None for logs and for what has the columns of one."""
    if len(paths) == 1 and str(paths[0]).endswith(".toml"):
        return _read("prices", paths, how)
    try:
        opened = open(list(paths), **how)
        names = [name for sheet in opened.tables for name in sheet.names]
    except (OSError, ValueError):
        return None  # the report on a log says why
    kind = _kind(names, how.get("columns") or {}) if opened.kind == "table" else None
    return None if kind is None else _read(kind, paths, how)


def _kind(names: Sequence[str], columns: Mapping[str, Any]) -> str | None:
    """Tell a table by its columns; None for those of a log, and where nothing tells."""
    known = set(map(plain, names))
    fields = ("debate", "item", "round", "agent", "rater", "vote", "label", "correct")
    has = {field: bool(known & {plain(field), *other_names(field)}) or field in columns for field in fields}
    if known & {plain(name) for name in _OF_TURNS} or {"debate", "round", "votes", "rounds"} & set(columns):
        return None
    pairs = (
        {"modela", "modelb"} <= known or {"lengtha", "lengthb"} <= known or {"familya", "familyb"} <= known
    )
    if has["vote"] and has["item"] and (pairs or "order" in known):
        return "verdicts" if "order" in known or not {"modela", "modelb"} <= known else "ratings"
    raters = known & {"rater", "judge", "annotator", "coder", "reviewer", "evaluator", "judgeid", "raterid"}
    if has["item"] and has["vote"] and raters and not has["round"]:
        return "ratings"
    if not has["agent"] and not has["round"] and has["item"] and known & set(_VALUES):
        return "a run"
    if not has["agent"] and not has["round"] and has["item"] and has["vote"] and has["label"]:
        return "a run"
    texts = {"prompt", "questiontext", "question", "instruction"} & known
    answers = {"answers", "options", "choices", "answera", "responsea", "candidatea"} & known
    return "items to debate" if texts and answers and not has["agent"] and not has["round"] else None


def _read(kind: str, paths: Sequence[str | Path], how: Mapping[str, Any]) -> OtherTable:
    before, after, function = _READERS[kind]
    first, *more = before.split(" ")
    typed = command_on(first, *more, *paths, **_typed(how))
    command = f"{typed} {after}" if after else typed
    try:
        size, notes = function(paths, how)
    except (OSError, ValueError, TypeError) as error:
        return OtherTable(kind, "not read", command, error=str(error))
    return OtherTable(kind, size, command, tuple(notes))


def _typed(how: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in how.items()
        if name in ("missing_values", "columns", "encoding", "sheet", "scorer")
    }


def _verdicts(paths: Sequence[str | Path], how: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    from d3stats.inference.bias import as_judgments

    read = as_judgments(list(paths), **how)
    size = f"{counted(len(read), 'verdict')} of {counted(len(read.judges), 'judge')}"
    size += f" on {counted(len(read.items), 'item')}"
    clusters = [read.clusters[code] for code in read.cluster.tolist()]
    return size, [*read.doubts(), *read.notes, *unequal_clusters(clusters, "question", "verdict")]


def _ratings(paths: Sequence[str | Path], how: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    from d3stats.inference.judges import as_ratings

    read = as_ratings(list(paths), **how)
    size = f"{counted(read.n_items, 'item')} by {counted(read.n_raters, 'rater')}, "
    size += f"{counted(len(read.categories), 'category', 'categories')}"
    clusters = [read.cluster_names[code] for code in read.cluster.tolist()]
    return size, [*_stated(paths, how), *read.notes, *unequal_clusters(clusters, "question", "item")]


def _stated(paths: Sequence[str | Path], how: Mapping[str, Any]) -> list[str]:
    """Say how many votes of a table of ratings have a confidence, and what reading them remarks."""
    from d3stats.log.confidences import FIELDS

    opened = open(list(paths), **how)
    names = {plain(str(name)) for sheet in opened.tables for name in sheet.names}
    if not names & {plain(word) for field in FIELDS for word in (field, *other_names(field))}:
        return []
    t = opened.trajectories()
    if t.confidence is None:
        return [note for note in t.notes if kind_of(note) == UNREAD_CONFIDENCE]
    known = ~np.isnan(t.confidence) & (t.votes != MISSING)
    if not known.any():
        return []
    some = t.confidence[known]
    about = [note for note in t.notes if kind_of(note).startswith("per cent")]
    command = command_on("confidence", *paths, **_typed(how))
    return [
        f"{counted(int(known.sum()), 'vote')} have a confidence, from {some.min():.2g} to {some.max():.2g}; "
        f"{command} compares them with the labels",
        *about,
    ]


def _run(paths: Sequence[str | Path], how: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    from d3stats.sources.runs import as_run

    read = as_run(list(paths) if len(paths) > 1 else paths[0], **how)
    size = f"{counted(len(read), 'item')} in {counted(len(set(read.cluster)), 'cluster')}"
    return size, [*read.notes, *unequal_clusters(read.cluster, "question", "item")]


def _items(paths: Sequence[str | Path], how: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    from d3stats.run.items import read_items

    settings = {name: value for name, value in how.items() if name in ("columns", "encoding")}
    read = [read_items(path, **settings) for path in paths]
    return counted(sum(map(len, read)), "item"), [note for items in read for note in items.notes]


def _price_table(paths: Sequence[str | Path], how: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    from d3stats.worlds import PriceTable

    read = PriceTable.read(paths[0])
    return f"prices of {counted(len(read.models), 'model')} on {read.date}", []


_READERS: dict[
    str, tuple[str, str, Callable[[Sequence[str | Path], Mapping[str, Any]], tuple[str, Sequence[str]]]]
] = {
    "verdicts": ("bias", "", _verdicts),
    "ratings": ("agreement", "", _ratings),
    "a run": ("compare", "OTHER_RUN", _run),
    "items to debate": ("debate PROTOCOL", "", _items),
    "prices": ("plan LOG --prices", "", _price_table),
}
"""By kind the command before and after the files, and what reads such tables."""
