"""The same table gives the same array view and the same replay through every door, or the same refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layers import examples

from d3stats import Trajectories, as_trajectories, replay
from d3stats.log import DebateLog, LogWriter, read_log, write_csv, write_jsonl, write_parquet
from d3stats.log.schema import Item, Turn

VALUES: dict[str, list[Any]] = {
    "text": ["yes", "no", "d'accord, oui", 'a "b"'],
    "letters": ["A", "B", "C", "D"],
    "accents": ["é", "日本", "B", "naïve"],
    "integers": [0, 1, 2, 17],
    "floats": [0.5, 2.25, 3.0, -1.0],
    "booleans": [True, False],
}
"""Answers by type; all doors get the same Python values."""

ALIASES = {
    "debate": ["debate", "Debate", "qid", "item_id"],
    "round": ["round", "turn", "step", "Iteration"],
    "agent": ["agent", "model", "Speaker", "judge", "rater"],
    "vote": ["vote", "answer", "prediction", "Choice"],
    "label": ["label", "gold", "target", "reference", "ground_truth"],
}


@dataclass(frozen=True)
class Table:
    """Rows as Python values, one per turn, and how they are to be written."""

    rows: list[dict[str, Any]]
    names: dict[str, str]
    labelled: bool
    clustered: bool
    with_tokens: bool
    extra: bool
    defect: str | None

    def tidy(self) -> list[dict[str, Any]]:
        """Rows under the column names that were drawn."""
        found = []
        for i, row in enumerate(self.rows):
            cells = {self.names.get(name, name): value for name, value in row.items()}
            found.append(cells | ({"remark": f"row {i}"} if self.extra else {}))
        return found


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Draw a table: missing votes, ties, varying panels and depths, other names, shuffled rows, extra columns."""
    kind = draw(st.sampled_from(sorted(VALUES)))
    answer = st.sampled_from(VALUES[kind])
    n_agents = draw(st.integers(1, 4))
    labelled, clustered = draw(st.booleans()), draw(st.booleans())
    with_tokens = draw(st.booleans())
    varying = draw(st.booleans())
    rows = []
    for debate in range(draw(st.integers(1, 4))):
        panel = draw(st.integers(1, n_agents)) if varying else n_agents
        label = draw(answer)
        cluster = draw(st.integers(1, 2))
        for played in range(1, draw(st.integers(1, 3)) + 1):
            for agent in range(panel):
                row = {
                    "debate": f"d{debate}",
                    "round": played,
                    "agent": f"agent {agent}",
                    "vote": draw(st.one_of(answer, answer, answer, st.none())),
                }
                row |= {"label": label} if labelled else {}
                row |= {"cluster": f"c{cluster}"} if clustered else {}
                row |= {"tokens": draw(st.integers(0, 900))} if with_tokens else {}
                rows.append(row)
    defect = draw(st.sampled_from([None] * 6 + ["twice", "gap", "label"]))
    if defect == "twice":
        rows.append(dict(rows[draw(st.integers(0, len(rows) - 1))]))
    elif defect == "gap":
        rows = [row for row in rows if row["round"] != 2]
        defect = "gap" if any(row["round"] == 3 for row in rows) else None
    elif defect == "label":
        other = next(value for value in VALUES[kind] if value != rows[0].get("label"))
        if labelled and sum(row["debate"] == rows[0]["debate"] for row in rows) > 1:
            rows[0] = rows[0] | {"label": other}
        else:
            defect = None
    return Table(
        rows=draw(st.permutations(rows)),
        names={name: draw(st.sampled_from(ways)) for name, ways in ALIASES.items()},
        labelled=labelled,
        clustered=clustered,
        with_tokens=with_tokens,
        extra=draw(st.booleans()),
        defect=defect,
    )


# ------------------------------------------------------------------ doors


def text_of(value: Any) -> str:
    return "" if value is None else str(value)


def delimited(mark: str, name: str, *, bom: bool = False) -> Callable[[Table, Path], Any]:
    def door(table: Table, folder: Path) -> Path:
        rows = table.tidy()
        path = folder / name
        frame = pd.DataFrame([{k: text_of(v) for k, v in row.items()} for row in rows])
        frame.to_csv(path, sep=mark, index=False, encoding="utf-8-sig" if bom else "utf-8")
        return path

    return door


def workbook(table: Table, folder: Path) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    rows = table.tidy()
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    book.save(folder / "table.xlsx")
    return folder / "table.xlsx"


def flat_lines(table: Table, folder: Path) -> Path:
    path = folder / "flat.jsonl"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.tidy()), encoding="utf-8"
    )
    return path


def pandas_frame(table: Table, _: Path) -> pd.DataFrame:
    return pd.DataFrame(table.tidy())


def object_frame(table: Table, _: Path) -> pd.DataFrame:
    return pd.DataFrame(table.tidy(), dtype=object)


def category_frame(table: Table, _: Path) -> pd.DataFrame:
    frame = pd.DataFrame(table.tidy())
    return frame.astype(
        {name: "category" for name in frame.columns if name not in ("tokens", table.names["round"])}
    )


def polars_frame(table: Table, _: Path) -> pl.DataFrame:
    return pl.DataFrame(table.tidy(), infer_schema_length=None)


def parquet_of_polars(table: Table, folder: Path) -> Path:
    polars_frame(table, folder).write_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def log_records(table: Table, folder: Path) -> Path:
    """The table as records of a log; answers are written as Python writes them."""

    def written(value: Any) -> str | None:
        return None if value is None else str(value)

    path = folder / "log.jsonl"
    path.unlink(missing_ok=True)
    opened: dict[tuple[Any, ...], None] = {}
    with LogWriter(path, fsync="close") as log:
        for row in table.rows:
            item = (row["debate"], written(row.get("label")), row.get("cluster"))
            if item not in opened:
                opened[item] = None
                log.write(Item(debate=item[0], question=item[0], label=item[1], cluster=item[2]))
        for row in table.rows:
            log.write(
                Turn(debate=row["debate"], round=row["round"], agent=row["agent"], vote=written(row["vote"]))
            )
    return path


def read_here(table: Table, folder: Path) -> DebateLog:
    return read_log(delimited(",", "source.csv")(table, folder), columns=dict_of(table))


def package_parquet(table: Table, folder: Path) -> Path:
    return write_parquet(read_here(table, folder), folder / "package.parquet")


def package_csv(table: Table, folder: Path) -> Path:
    return write_csv(read_here(table, folder), folder / "package.csv")


def wide(table: Table, folder: Path) -> Path:
    """Write one column per agent, one row per debate and round; an empty cell is a missing vote."""
    path = folder / "wide.csv"
    agents = sorted({row["agent"] for row in table.rows})
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in table.rows:
        key = (row["debate"], row["round"], text_of(row.get("label")), text_of(row.get("cluster")))
        cells.setdefault(key, {})[row["agent"]] = "NA" if row["vote"] is None else str(row["vote"])
    lines = [
        dict(zip(("debate", "round", "label", "cluster"), key, strict=True)) | votes
        for key, votes in cells.items()
    ]
    frame = pd.DataFrame(lines, columns=["debate", "round", "label", "cluster", *agents])
    drop = [name for name, there in (("label", table.labelled), ("cluster", table.clustered)) if not there]
    frame.drop(columns=drop).to_csv(path, index=False)
    return path


def is_full(table: Table) -> bool:
    """Whether a wide table says the same: several agents with votes, all of them in every round that a debate has."""
    agents = {row["agent"] for row in table.rows}
    voting = {row["agent"] for row in table.rows if row["vote"] is not None}
    rounds = {(row["debate"], row["round"]) for row in table.rows}
    return len(agents) > 1 and voting == agents and len(table.rows) == len(agents) * len(rounds)


def dict_of(table: Table) -> dict[str, str] | None:
    """The mapping that says which column is which, where a name is no standard one."""
    return {name: given for name, given in table.names.items() if any(name in row for row in table.rows)}


TIDY: dict[str, Callable[[Table, Path], Any]] = {
    "comma": delimited(",", "comma.csv"),
    "semicolon": delimited(";", "semicolon.csv"),
    "byte order mark": delimited(",", "bom.csv", bom=True),
    "tab": delimited("\t", "table.tsv"),
    "workbook": workbook,
    "flat lines": flat_lines,
    "parquet": parquet_of_polars,
    "pandas": pandas_frame,
    "objects": object_frame,
    "categories": category_frame,
    "polars": polars_frame,
}
"""Doors that take the table as it is, with its own column names."""
WRITTEN: dict[str, Callable[[Table, Path], Any]] = {
    "package parquet": package_parquet,
    "package csv": package_csv,
}


def view_of(source: Any, **options: Any) -> tuple[str, Any]:
    """The array view as plain values, or the refusal."""
    try:
        t = as_trajectories(source, **options)
    except ValueError as error:
        refusal = str(error).strip()
    else:
        return "read", plain(t)
    assert "\n" not in refusal
    return "refused", None


def plain(t: Trajectories) -> dict[str, Any]:
    """Everything that an analysis reads, debates in the order of their names."""
    order = np.argsort(np.array(t.debates, dtype=object))
    t = t.select(order)
    names = np.array([*t.answers, None], dtype=object)
    return {
        "votes": names[t.votes].tolist(),
        "label": names[t.label].tolist(),
        "depth": t.depth.tolist(),
        "panel": t.panel.tolist(),
        "debates": t.debates,
        "cluster": [t.cluster_names[c] for c in t.cluster],
        "seats": t.seats,
        "tokens": None if t.tokens is None else np.nan_to_num(t.tokens, nan=-1.0).tolist(),
        "counts": t.counts().to_frame().to_dict("list"),
        "replay": replayed(t),
    }


def replayed(t: Trajectories) -> Any:
    if not (t.votes >= 0).any() or len(t.cluster_names) < 2:
        return None  # nothing to replay, or nothing to resample
    frame = replay(t, ["fixed:1", "unanimity"]).to_frame() if t.n_rounds else None
    return None if frame is None else frame.astype(object).where(frame.notna(), None).to_dict("records")


def agrees(table: Table, folder: Path) -> None:
    columns = dict_of(table)
    first = view_of(TIDY["comma"](table, folder), columns=columns)
    assert (first[0] == "refused") == (table.defect is not None), (first, table.defect)
    for name, door in TIDY.items():
        assert view_of(door(table, folder), columns=columns) == first, name
    if table.defect is None:
        # The names alone say which column is which.
        assert view_of(TIDY["comma"](table, folder)) == first
        for name, door in WRITTEN.items():
            assert view_of(door(table, folder)) == first, name
    if not table.with_tokens:
        assert view_of(log_records(table, folder)) == first, "records"
        if table.defect is None:
            log = read_log(TIDY["comma"](table, folder), columns=columns)
            assert view_of(write_jsonl(log, folder / "again.jsonl")) == first, "records written again"
            assert view_of(log) == first, "log in memory"
            if is_full(table):
                agents = sorted({row["agent"] for row in table.rows})
                assert view_of(wide(table, folder), columns={"votes": agents}) == first, "wide"
                # The names alone may leave a doubt, which is asked, never guessed away.
                assert view_of(wide(table, folder)) in (first, ("refused", None)), "wide, guessed"
            assert view_of(arrays_of(as_trajectories(log))) == first, "arrays"


def arrays_of(t: Trajectories) -> Trajectories:
    """The same debates from plain arrays of answers."""
    names = np.array([*t.answers, None], dtype=object)
    return Trajectories.from_arrays(
        names[t.votes],
        names[t.label],
        cluster=[t.cluster_names[c] for c in t.cluster],
        debates=t.debates,
        seats=t.seats,
        depth=t.depth,
        panel=t.panel,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doors")


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@examples(2, 40)
def test_one_table_is_one_array_view_through_every_door(n_examples: int, folder: Path) -> None:
    @settings(max_examples=n_examples, deadline=None, suppress_health_check=QUIET)
    @given(table=tables())
    def holds(table: Table) -> None:
        agrees(table, folder)

    holds()


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, suppress_health_check=QUIET)
@given(table=tables())
def test_two_thousand_tables_are_the_same_through_every_door(table: Table, folder: Path) -> None:
    agrees(table, folder)
