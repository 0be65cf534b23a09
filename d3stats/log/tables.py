"""The fast path for tidy tables, CSV and Parquet: one row per turn, the item repeated on each row.

Fills the same tables as ``lines.py``, or says "not sure". A CSV is read as text and each cell is matched against
what it may be; a Parquet file brings its types along, so one in this package's own layout (see ``convert.py``) is
only checked for what types cannot say. A Parquet file with other types is left to the exact reader.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from typing import TYPE_CHECKING

from d3stats.log.engine import quoted, text_list
from d3stats.log.files import LogFile, open_bytes
from d3stats.log.lines import SAMPLE, SEATS, Clean, fill_seats, is_one, one, scores_are_sound, seat_of
from d3stats.log.reference import TABLE_COLUMNS, shifted, wrong_header

if TYPE_CHECKING:
    import duckdb

__all__ = ["tally_tables", "view_tables"]

_ITEM = ("question", "cluster", "log", "protocol", "label", "answers")
_CLOSING = ("closed", "decision", "stop_round", "stop_reason")
_WHOLE = ("round", "correct", "tokens", "tokens_in", "tokens_out", "stop_round")
_INTEGER = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")

_ANSWER = r'"(?:[^"\\]|\\.)+"'
_ANSWERS = rf"\[\s*(?:{_ANSWER}(?:\s*,\s*{_ANSWER})*)?\s*\]"


def tally_tables(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> Clean | None:
    """Fill ``cells`` and ``debates`` (see ``tally.py``); None when the files are not surely clean.

    Raises
    ------
    duckdb.Error
        When a file cannot be parsed.
    """
    opened = _open_parquet(con, files) if files[0].format == "parquet" else _open_csv(con, files)
    if opened is None:
        return None
    columns, notes = opened
    clean = Clean("answers" if "vote" in columns else "correctness", "tokens" in columns, notes)
    return clean if _cells(con, columns, clean.coding) else None


_Opened = tuple[set[str], tuple[str, ...]]


def _open_parquet(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> _Opened | None:
    """Make the view ``wide``, one typed row per table row; None when types or columns leave a doubt."""
    kinds: dict[str, str] | None = None
    # Each file by itself: one schema over all would let a column of the first stand for the others.
    for file in files:
        described = con.execute(
            f"SELECT name, type, converted_type, logical_type FROM parquet_schema({text_list([file.path])})"
        ).fetchall()
        these = {
            str(name): repr((kind, converted, logical)) for name, kind, converted, logical in described[1:]
        }
        if kinds is not None and these != kinds:
            return None
        kinds = these
    source = f"read_parquet({text_list(file.path for file in files)})"
    types = {str(n): str(t) for n, t, *_ in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    if set(types) - set(TABLE_COLUMNS) or wrong_header(list(types)) is not None:
        return None
    for name, kind in types.items():
        fits = kind in _INTEGER if name in _WHOLE else kind == ("BOOLEAN" if name == "closed" else "VARCHAR")
        if not fits and kind != '"NULL"':
            return None
    absent = "".join(f", NULL::{_type(n)} AS {n}" for n in TABLE_COLUMNS if n not in types)
    con.execute(f"CREATE OR REPLACE TEMP VIEW wide AS SELECT *{absent}, true AS sound FROM {source}")
    if one(con, "SELECT min(round) = 0 FROM wide"):
        return None
    return set(types), ()


def _type(name: str) -> str:
    return "BIGINT" if name in _WHOLE else "BOOLEAN" if name == "closed" else "VARCHAR"


def _open_csv(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> _Opened | None:
    by_header: dict[tuple[str, ...], list[LogFile]] = defaultdict(list)
    for file in files:
        with open_bytes(file) as handle:
            header = next(csv.reader(io.TextIOWrapper(handle, encoding="utf-8-sig", newline=""), strict=True))
        by_header[tuple(header)].append(file)
    codings, totals = set(), set()
    parts = []
    for names, group in by_header.items():
        if set(names) - set(TABLE_COLUMNS) or wrong_header(list(names)) is not None:
            return None
        codings.add("vote" in names)
        totals.add("tokens" in names)
        listed = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
        absent = "".join(f", NULL::VARCHAR AS {name}" for name in TABLE_COLUMNS if name not in names)
        parts.append(
            f"""SELECT *{absent} FROM read_csv({text_list(f.path for f in group)}, columns={{{listed}}},
            auto_detect=false, header=true, delim=',', quote='"', escape='"', nullstr='', filename=true,
            strict_mode=true, null_padding=false, max_line_size=16000000)"""
        )
    if len(codings) > 1 or len(totals) > 1:
        return None
    con.execute(f"CREATE OR REPLACE TEMP VIEW cells_of_text AS {' UNION ALL BY NAME '.join(parts)}")
    zero = con.execute(
        r"""SELECT DISTINCT filename FROM cells_of_text WHERE regexp_full_match(round, '0+(\.0+)?')"""
    ).fetchall()
    shift = (
        f"CASE WHEN filename IN ({', '.join(quoted(str(f)) for (f,) in zero)}) THEN 1 ELSE 0 END"
        if zero
        else "0"
    )
    typed, sound = [], []
    for name in TABLE_COLUMNS:
        if name in _WHOLE and name != "correct":
            moved = f" + {shift}" if name in ("round", "stop_round") else ""
            typed.append(f"TRY_CAST({name} AS DECIMAL(18, 0))::BIGINT{moved} AS {name}")
            sound.append(rf"({name} IS NULL OR regexp_full_match({name}, '[0-9]{{1,15}}(\.0+)?'))")
        elif name in ("correct", "closed"):
            kind = "TINYINT" if name == "correct" else "BOOLEAN"
            typed.append(f"(lower({name}) IN ('1', '1.0', 'true'))::{kind} AS {name}")
            sound.append(f"({name} IS NULL OR lower({name}) IN ('0', '0.0', 'false', '1', '1.0', 'true'))")
        else:
            typed.append(name)
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW wide AS
        SELECT {", ".join(typed)}, {" AND ".join(sound)} AS sound FROM cells_of_text"""
    )
    return {name for names in by_header for name in names}, tuple(shifted(str(file)) for (file,) in zero)


def _cells(con: duckdb.DuckDBPyConnection, columns: set[str], coding: str) -> bool:
    given = [name for name in (*_ITEM, *_CLOSING) if name in columns]
    texts = [n for n in columns if n not in _WHOLE and n != "closed"]
    wholes = [n for n in ("tokens", "tokens_in", "tokens_out") if n in columns]
    vote = "vote" if coding == "answers" else "correct"
    right = "vote = label" if coding == "answers" else "correct = 1"
    sample = f"SELECT DISTINCT agent FROM (SELECT agent FROM wide LIMIT {SAMPLE}) WHERE agent IS NOT NULL"
    seat = seat_of([str(agent) for (agent,) in con.execute(sample).fetchall()])
    silent = [n for n in ("role", vote, "scores", "model", *wholes) if n in columns]
    sound = [
        "sound",
        "(round IS NULL) = (agent IS NULL)",
        "coalesce(round BETWEEN 1 AND 999999999, true)",
        f"(round IS NOT NULL OR coalesce({', '.join(f'{n}::VARCHAR' for n in silent)}) IS NULL)",
        *(f"coalesce({n} BETWEEN 0 AND 999999999999999, true)" for n in wholes),
        *(f"({n} IS NULL OR {n} <> '')" for n in texts if n in ("role", "vote", "scores", "model")),
    ]
    if coding == "correctness":
        sound.append("coalesce(correct BETWEEN 0 AND 1, true)")
    same = f"hash({', '.join(given)})" if given else "0"
    plain = ", ".join(f"any_value({n}) AS {n}" for n in ("label", "log") if n in columns)

    def scan(source: str, seat: str) -> None:
        con.execute(
            f"""CREATE OR REPLACE TEMP TABLE scan AS
            SELECT debate, round, role, count(*) AS n, count({vote}) AS votes, count(*) FILTER ({right}) AS rights,
                bit_or(1::BIGINT << coalesce({seat}, {SEATS})) AS mask, min({same}) AS low, max({same}) AS high,
                count(*) FILTER (({" AND ".join(sound)}) IS NOT TRUE) AS bad{", " + plain if plain else ""}
            FROM {source} GROUP BY debate, round, role"""
        )

    scan("wide", seat)
    if one(con, f"SELECT count(*) FROM scan WHERE round IS NOT NULL AND mask & (1::BIGINT << {SEATS}) > 0"):
        if not fill_seats(con, "wide", "round IS NOT NULL", "agent <> ''"):
            return False
        scan("(SELECT t.*, seat FROM wide t LEFT JOIN seats USING (debate, agent))", "seat")
    if one(con, "SELECT count(*) FROM scan WHERE bad > 0 OR debate IS NULL OR debate = ''"):
        return False
    label = "label" if "label" in columns else "NULL::VARCHAR AS label"
    log = "log" if "log" in columns else "NULL::VARCHAR AS log"
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE debates AS
        SELECT debate, any_value(label) AS label, any_value(log) AS log, min(low) AS low, max(high) AS high
        FROM (SELECT debate, {label}, {log}, low, high FROM scan) GROUP BY debate"""
    )
    # Equal hashes of 64 bits stand for equal items.
    if not is_one(con, "SELECT count(*) = 0 FROM debates WHERE low <> high"):
        return False
    if not _item_values(con, columns) or not _answers(con, columns):
        return False
    if "scores" in columns and not scores_are_sound(con, "wide"):
        return False
    con.execute("CREATE OR REPLACE TEMP TABLE cells AS SELECT * FROM scan WHERE round IS NOT NULL")
    return True


def _item_values(con: duckdb.DuckDBPyConnection, columns: set[str]) -> bool:
    """Whether no text of an item is empty and a verdict's fields come with a verdict."""
    texts = [n for n in (*_ITEM, "decision", "stop_reason") if n in columns]
    rules = [f"coalesce(bool_and({n} <> ''), true)" for n in texts]
    if "stop_round" in columns:
        rules.append("coalesce(min(stop_round) >= 1 AND max(stop_round) <= 999999999, true)")
    fields = [f"{n}::VARCHAR" for n in ("decision", "stop_round", "stop_reason") if n in columns]
    if "closed" in columns and fields:
        rules.append(
            f"count(*) FILTER (closed IS NOT TRUE AND coalesce({', '.join(fields)}) IS NOT NULL) = 0"
        )
    return not rules or is_one(con, f"SELECT {' AND '.join(rules)} FROM wide")


def _answers(con: duckdb.DuckDBPyConnection, columns: set[str]) -> bool:
    """Whether answer sets are lists of names that hold every vote and label."""
    if "answers" not in columns:
        return True
    sets = "SELECT DISTINCT answers FROM wide WHERE answers IS NOT NULL"
    if one(con, f"SELECT count(*) FROM ({sets}) WHERE NOT regexp_full_match(answers, {quoted(_ANSWERS)})"):
        return False
    chosen = [n for n in ("vote", "label") if n in columns]
    pairs = " UNION ".join(f"SELECT DISTINCT answers, {n} AS chosen FROM wide" for n in chosen) or None
    return pairs is None or not one(
        con,
        f"""SELECT count(*) FROM ({pairs}) WHERE answers IS NOT NULL AND chosen IS NOT NULL
        AND NOT list_contains(from_json(answers, '["VARCHAR"]'), chosen)""",
    )


def view_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Make the views ``turns``, ``items`` and ``verdicts`` of the tables last opened, known to be clean."""
    con.execute("CREATE OR REPLACE TEMP VIEW turns AS SELECT * FROM wide WHERE round IS NOT NULL")
    con.execute(
        """CREATE OR REPLACE TEMP VIEW items AS SELECT DISTINCT debate, coalesce(question, debate) AS question,
            cluster, label, answers, log, protocol FROM wide"""
    )
    con.execute(
        """CREATE OR REPLACE TEMP VIEW verdicts AS SELECT DISTINCT debate, decision, stop_round AS round, stop_reason
        FROM wide WHERE coalesce(closed, coalesce(decision, stop_round::VARCHAR, stop_reason) IS NOT NULL)"""
    )
