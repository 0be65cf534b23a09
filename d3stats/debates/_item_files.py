"""Where items come from: a table in some format, or a public file that an importer knows, told by what is in it."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from d3stats.debates._item_columns import Found, Rows, items_of_rows, with_ties
from d3stats.debates.items import DebateItem
from d3stats.log.importers import load
from d3stats.log.importers._source import files, json_lines, json_of, sheet, text_of

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.log.schema import AnyRecord, Item

__all__ = ["found_items"]

_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".csv.gz", ".jsonl.gz", ".xlsx")
_FOLDERS = {"pandalm": "*testset-v1.json", "llmbar": "*__*__*.json", "eot": "Sample_*_EoT_*.jsonl"}
"""Public folders, by the names of their files."""


def found_items(
    source: str | Path | pd.DataFrame | Iterable[DebateItem],
    format: str | None,
    ties: bool | None,
    limit: int | None = None,
) -> Found:
    """Return items with the place where each stands; see :func:`d3stats.debates.items.read_items`."""
    if not isinstance(source, (str, Path)):
        # Asked by its shape, so that a list of items does not load pandas.
        if hasattr(source, "to_dict") and hasattr(source, "columns"):
            records = cast("list[dict[str, Any]]", cast("pd.DataFrame", source).to_dict("records"))
            return items_of_rows(
                [(f"row {i}", row) for i, row in enumerate(records)], "the table", ties, limit
            )
        return [(f"item {i}", _known(item)) for i, item in enumerate(source, start=1)]
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"source must exist; got source={str(path)!r}")
    if path.is_dir():
        return _of_importer(format or _folder(path), path, ties)
    if not path.name.lower().endswith(_ENDINGS):
        raise ValueError(f"source must end in {', '.join(_ENDINGS)}; got source={str(path)!r}")
    rows: Rows | None = None
    if format is None or format == "table":
        rows, known = _rows(path)
        format = format or known
    if format == "table":
        assert rows is not None
        return items_of_rows(rows, path.name, ties, limit)
    if format == "log":
        from d3stats.log.reader import iter_records

        return _of_records(iter_records(path), str(path), ties)
    return _of_importer(format, path, ties)


def _known(item: Any) -> DebateItem:
    if not isinstance(item, DebateItem):
        raise TypeError(f"source must be a path, a DataFrame or DebateItems; got {type(item).__name__}")
    return item


def _folder(path: Path) -> str:
    for name, pattern in _FOLDERS.items():
        if any(path.rglob(pattern)):
            return name
    raise ValueError(
        f"source must be a file, or a folder of {', '.join(_FOLDERS)}; got the folder {str(path)!r} "
        "(name one of its files)"
    )


def _rows(path: Path) -> tuple[Rows | None, str]:
    """Read a file's rows and tell its format; the rows are None where they are no table's."""
    ((_, content),) = files(path, "*")
    ending = path.name.lower()
    if ending.endswith(".gz"):
        content, ending = _unzipped(path.name, content), ending.removesuffix(".gz")
    if ending.endswith(".xlsx"):
        header, cells = sheet(path.name, content)
        return [
            (f"row {i}", dict(zip(header, row, strict=False))) for i, row in enumerate(cells, start=2)
        ], "table"
    if ending.endswith(".csv"):
        return _csv_rows(path.name, content), "table"
    if ending.endswith(".json"):
        data = json_of(path.name, content)
        if isinstance(data, dict):
            first = next(iter(data.values()), None)
            return None, "critic-actor" if isinstance(first, dict) else "gsm-nested"
        return _objects(path.name, data, "row"), _shape_of(data)
    lines = json_lines(path.name, content)
    return _objects(path.name, lines, "record"), _shape_of(lines)


def _unzipped(name: str, content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise ValueError(f"{name} must be complete gzipped text; got {error}") from None


def _csv_rows(name: str, content: bytes) -> Rows:
    reader = csv.DictReader(io.StringIO(text_of(name, content), newline=""), strict=True)
    rows: list[tuple[str, Mapping[str, Any]]] = []
    try:
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row or None in row.values():
                raise ValueError(
                    f"{name} must have {len(reader.fieldnames or ())} cells a row; got others in {where}"
                )
            rows.append((where, row))
    except csv.Error as error:
        raise ValueError(f"{name} must be CSV; got {error} after line {reader.line_num}") from None
    return rows


def _objects(name: str, data: Any, unit: str) -> Rows:
    if not isinstance(data, list):
        raise ValueError(f"{name} must hold a list of objects; got {type(data).__name__}")
    for i, row in enumerate(data, start=1):
        if not isinstance(row, dict):
            raise ValueError(f"{name} must hold objects; got {row!r:.60} as {unit} {i}")
    return [(f"{unit} {i}", row) for i, row in enumerate(data, start=1)]


def _shape_of(rows: list[Any]) -> str:
    """Tell a format by the keys of the first object."""
    keys = set(rows[0]) if rows and isinstance(rows[0], dict) else set()
    for name, needed in (
        ("log", {"type"}),
        ("pandalm", {"annotator1", "response1"}),
        ("llmbar", {"output_1", "results"}),
        ("eot", {"question", "response_list"}),
    ):
        if needed <= keys and (name != "log" or rows[0]["type"] in ("log", "item")):
            return name
    return "table"


def _of_importer(name: str, path: Path, ties: bool | None) -> Found:
    if name in ("table", "log"):
        raise ValueError(f"format={name!r} must be a file; got the folder {str(path)!r}")
    records = load(name).records(path, text=True)
    # Some of PandaLM's pairs are alike in every word and were judged more than once.
    return _of_records(records, str(path), ties, by_debate=name == "pandalm")


def _of_records(
    records: Iterable[AnyRecord], source: str, ties: bool | None, *, by_debate: bool = False
) -> Found:
    """Return the items of debates, one per content or per debate; answers are A and B whatever the log says."""
    from d3stats.log.schema import Item

    found: dict[str, tuple[str, DebateItem, str | None]] = {}
    named: dict[str, str] = {}
    for record in records:
        if not isinstance(record, Item):
            continue
        where = f"debate {record.debate!r}"
        if record.text is None or (record.candidates is None and record.protocol == "pairwise"):
            raise ValueError(f"{source} must hold the texts of questions and candidates; got none in {where}")
        item, outcome = _of_item(record, by_debate=by_debate)
        known = found.setdefault(item.question, (where, item, outcome))
        if known[1:] != (item, outcome):
            raise ValueError(
                f"an item must have one label and cluster; got others for {item.question!r} in {where}, "
                f"first in {known[0]}"
            )
        named.setdefault(item.question, record.question)
    # Where each question is one item the log's own names stay; else the question is what its pairs share.
    own = len(set(named.values())) == len(named)
    kept = (
        (where, _named(item, named[name]) if own else item, outcome)
        for name, (where, item, outcome) in found.items()
    )
    return with_ties(kept, ties)


def _named(item: DebateItem, question: str) -> DebateItem:
    return replace(item, question=question, cluster=None if item.cluster == question else item.cluster)


def _of_item(record: Item, *, by_debate: bool) -> tuple[DebateItem, str | None]:
    assert record.text is not None
    if not record.candidates:
        item = DebateItem("", record.text, (), record.answers, record.label, record.cluster)
        return item, None
    names = dict(zip(record.answers or (), ("A", "B", "tie"), strict=False))
    pair = DebateItem(
        record.debate if by_debate else "",
        record.text,
        record.candidates,
        cluster=record.cluster or record.question,
        allow_empty=True,
    )
    return pair, None if record.label is None else names.get(record.label)
