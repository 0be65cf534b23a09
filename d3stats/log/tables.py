"""The fast path for tidy tables, CSV and Parquet: one row per turn, the item repeated on each row.

Fills the same tables as ``lines.py``, or says "not sure". A CSV is read as text and each cell is matched against
what it may be; a Parquet file brings its types along, so one in this package's own layout (see ``convert.py``) is
only checked for what types cannot say. A Parquet file with other types is left to the exact reader.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from d3stats.log.engine import quoted, text_list
from d3stats.log.files import LogFile, open_bytes, text_size
from d3stats.log.forms import ANSWERS, NAMES, settled_notes
from d3stats.log.frames import TABLE_COLUMNS
from d3stats.log.grammar import scores_are_sound
from d3stats.log.lines import SAMPLE, SEATS, Clean, fill_seats, is_one, one, seat_of
from d3stats.log.reference import parse_json, shifted, wrong_header

if TYPE_CHECKING:
    import duckdb

__all__ = ["tally_tables", "view_tables"]

_ITEM = ("question", "cluster", "log", "protocol", "label", "answers", "first")
_CLOSING = ("closed", "decision", "stop_round", "stop_reason")
_WHOLE = ("round", "correct", "tokens", "tokens_in", "tokens_out", "stop_round")
_INTEGER = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_TOKENS = ("tokens", "tokens_in", "tokens_out")
_SAID = ("agent", "role", "vote", "correct", "scores", "model", "error", "tokens_source", *_TOKENS)


def tally_tables(
    con: duckdb.DuckDBPyConnection, files: list[LogFile], missing_values: Iterable[str] | None = None
) -> Clean | None:
    """Fill ``cells`` and ``debates`` (see ``tally.py``); None when the files are not surely clean.

    Raises
    ------
    duckdb.Error
        When a file cannot be parsed.
    """
    parquet = files[0].format == "parquet"
    opened = _open_parquet(con, files) if parquet else _open_csv(con, files)
    if opened is None:
        return None
    columns, notes = opened
    known = _metadata(con, files, columns) if parquet else None
    if known is None and _values_are_sound(con, columns):
        known = columns, {}
    coding: Literal["answers", "correctness"] = "answers" if "vote" in columns else "correctness"
    if known is None or not _cells(con, *known, coding):
        return None
    said = settled_notes(con, _values(con, columns), missing_values)
    return None if said is None else Clean(coding, "tokens" in columns, (*notes, *said))


def _values(con: duckdb.DuckDBPyConnection, columns: set[str]) -> dict[str, str]:
    """Return a query for the values of each field of answers and names; the table is read once for all of them."""
    names = [name for name in ("debate", "agent", *NAMES, *ANSWERS) if name in columns]
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE found AS SELECT {", ".join(names)} FROM wide
        GROUP BY GROUPING SETS ({", ".join(f"({name})" for name in names)})"""
    )
    return {name: f"SELECT {name} AS v FROM found" for name in names}


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
    return set(types), ()


def _type(name: str) -> str:
    return "BIGINT" if name in _WHOLE else "BOOLEAN" if name == "closed" else "VARCHAR"


def _open_csv(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> _Opened | None:
    by_header: dict[tuple[str, ...], list[LogFile]] = defaultdict(list)
    size = sum(map(text_size, files))
    for file in files:
        try:
            with open_bytes(file) as handle:
                size -= len(handle.readline())
                handle.seek(0)
                rows = csv.reader(io.TextIOWrapper(handle, encoding="utf-8-sig", newline=""), strict=True)
                by_header[tuple(next(rows))].append(file)
        except (csv.Error, UnicodeDecodeError, EOFError, StopIteration):
            return None
    codings, totals = set(), set()
    parts = []
    for names, group in by_header.items():
        if set(names) - set(TABLE_COLUMNS) or wrong_header(list(names)) is not None:
            return None
        codings.add("vote" in names)
        totals.add("tokens" in names)
        listed = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
        absent = "".join(f", NULL::VARCHAR AS {name}" for name in TABLE_COLUMNS if name not in names)
        paths = text_list(file.path for file in group)
        parts.append(
            f"""SELECT *{absent}, {_row_size(names)} AS size FROM read_csv({paths}, columns={{{listed}}},
            auto_detect=false, header=true, delim=',', quote='"', escape='"', nullstr='', filename=true,
            strict_mode=true, null_padding=false, max_line_size=16000000)"""
        )
    if len(codings) > 1 or len(totals) > 1:
        return None
    con.execute(f"CREATE OR REPLACE TEMP VIEW cells_of_text AS {' UNION ALL BY NAME '.join(parts)}")
    # duckdb lets a superfluous comma at the end of a row pass, so each byte must be accounted for. Line ends of
    # two bytes would hide one, and are left to the exact reader.
    if one(con, "SELECT sum(size) FROM cells_of_text") != size:
        return None
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


def _row_size(names: tuple[str, ...]) -> str:
    """Return SQL for the bytes of a row in which only the cells that need quotes have them.

    duckdb's own writer quotes a "#" too, since some readers take it for a comment.
    """
    cells = [
        f"""coalesce(strlen({name}) + CASE WHEN contains({name}, ',') OR contains({name}, '"')
        OR contains({name}, chr(10)) OR contains({name}, chr(13)) OR contains({name}, '#')
        THEN 2 + strlen({name}) - strlen(replace({name}, '"', '')) ELSE 0 END, 0)"""
        for name in names
    ]
    return f"{len(names)} + {' + '.join(cells)}"


_LEAST = {"round": 1, "stop_round": 1}
_MOST = {"round": 999_999_999, "stop_round": 999_999_999, "correct": 1}


def _metadata(
    con: duckdb.DuckDBPyConnection, files: list[LogFile], columns: set[str]
) -> tuple[set[str], dict[str, str]] | None:
    """Return the columns that hold values, and the texts of those that hold one and the same on every row.

    Columns without a value, and those with one value, need not be read at all. None when the smallest and largest
    value of each row group do not say that all is well.
    """
    stats = con.execute(
        f"""SELECT path_in_schema, bool_and(stats_null_count = num_values), bool_and(stats_null_count = num_values
            OR CASE WHEN path_in_schema IN {_WHOLE} THEN TRY_CAST(stats_min_value AS BIGINT) IS NOT NULL
                ELSE stats_min_value <> '' END),
            min(TRY_CAST(stats_min_value AS BIGINT)), max(TRY_CAST(stats_max_value AS BIGINT)),
            CASE WHEN bool_and(stats_null_count = 0 AND stats_min_value = stats_max_value)
                AND min(stats_min_value) = max(stats_max_value) THEN min(stats_min_value) END
        FROM parquet_metadata({text_list(file.path for file in files)}) GROUP BY path_in_schema"""
    ).fetchall()
    if {name for name, *_ in stats} != columns:
        return None
    for name, empty, known, low, high, _ in stats:
        inside = (
            empty
            or name not in _WHOLE
            or (low >= _LEAST.get(name, 0) and high <= _MOST.get(name, 10**15 - 1))
        )
        if not (empty or known) or not inside:
            return None
    constants = {name: text for name, *_, text in stats if text is not None and name in _ITEM}
    return {name for name, empty, *_ in stats if not empty} | (columns & _KEYS), constants


_KEYS = {"debate", "round", "agent", "vote", "correct", "closed"}


def _values_are_sound(con: duckdb.DuckDBPyConnection, columns: set[str]) -> bool:
    """Whether each cell by itself is what its column may hold."""
    texts = [name for name in columns if name not in _WHOLE and name != "closed"]
    rules = ["bool_and(sound)", *(f"coalesce(bool_and({name} <> ''), true)" for name in texts)]
    for name in _WHOLE:
        if name in columns:
            low, high = _LEAST.get(name, 0), _MOST.get(name, 10**15 - 1)
            rules.append(f"coalesce(min({name}) >= {low} AND max({name}) <= {high}, true)")
    return is_one(con, f"SELECT {' AND '.join(rules)} FROM wide")


def _cells(con: duckdb.DuckDBPyConnection, columns: set[str], constants: dict[str, str], coding: str) -> bool:
    """Fill the tables and apply what concerns several cells.

    `columns` are those that hold values, `constants` the texts of those that hold only one.
    """
    given = [name for name in (*_ITEM, *_CLOSING) if name in columns and name not in constants]
    vote, right = ("vote", "vote = label") if coding == "answers" else ("correct", "correct = 1")
    role = "role" if "role" in columns else "NULL::VARCHAR"
    same = f"hash({', '.join(given)})" if given else "0"
    sets = coding == "answers" and "answers" in columns
    found = con.execute(
        f"""SELECT list(DISTINCT agent), list(DISTINCT {vote if sets else "NULL"})
        FROM (SELECT agent, {vote} FROM wide LIMIT {SAMPLE})"""
    ).fetchall()[0]
    agents, votes = (sorted(str(name) for name in names or [] if name is not None) for names in found)
    seat = seat_of(agents)
    # Which votes occur, one bit each: a small set to hold against the answers of the debate.
    few = sets and 0 < len(votes) <= SEATS
    slot = f"coalesce(nullif(list_position({text_list(votes)}, vote), 0) - 1, {SEATS})"
    cast = f"bit_or(1::BIGINT << {slot}) FILTER (vote IS NOT NULL)" if few else "NULL::BIGINT"

    def scan(source: str, seat: str) -> None:
        once = ", ".join(
            f"{quoted(constants[n])} AS {n}"
            if n in constants
            else f"any_value({n}) AS {n}"
            if n in columns
            else f"NULL::VARCHAR AS {n}"
            for n in ("label", "log", "answers")
        )
        con.execute(
            f"""CREATE OR REPLACE TEMP TABLE scan AS
            SELECT debate, round, {role} AS role, count(*) AS n, count({vote}) AS votes,
                count(*) FILTER ({right if vote == "correct" or "label" in columns else "false"}) AS rights,
                bit_or(1::BIGINT << coalesce({seat}, {SEATS})) AS mask, {cast} AS votes_cast,
                min({same}) AS low, max({same}) AS high, {once}
            FROM {source} GROUP BY debate, round, {role}"""
        )

    unseated = f"SELECT count(*) FROM scan WHERE round IS NOT NULL AND mask & (1::BIGINT << {SEATS}) > 0"
    scan("wide", seat)
    if one(con, unseated):
        if not fill_seats(con, "wide", "round IS NOT NULL", "agent <> ''"):
            return False
        scan("(SELECT t.*, seat FROM wide t LEFT JOIN seats USING (debate, agent))", "seat")
    con.execute(
        """CREATE OR REPLACE TEMP TABLE debates AS
        SELECT debate, any_value(label) AS label, any_value(log) AS log, any_value(answers) AS answers,
            bit_or(votes_cast) AS votes_cast, min(low) AS low, max(high) AS high, bool_or(round IS NULL) AS silent
        FROM scan GROUP BY debate"""
    )
    # Equal hashes of 64 bits stand for equal items.
    unlike, silent = con.execute(
        "SELECT count(*) FILTER (low <> high OR debate IS NULL), coalesce(bool_or(silent), false) FROM debates"
    ).fetchall()[0]
    if (
        unlike
        or (silent and not _silent_rows_are_sound(con, columns))
        or not _verdicts_are_sound(con, columns)
    ):
        return False
    if sets and not _answers_are_sound(con, votes if few else []):
        return False
    if "scores" in columns and not scores_are_sound(con, "wide"):
        return False
    con.execute("""CREATE OR REPLACE TEMP VIEW cells AS
        SELECT debate, round, role, n, votes, rights, mask FROM scan WHERE round IS NOT NULL""")
    return True


def _silent_rows_are_sound(con: duckdb.DuckDBPyConnection, columns: set[str]) -> bool:
    """Whether rows without a round say nothing that a turn would say."""
    said = [n for n in _SAID if n in columns]
    cells = ", ".join(f"{name}::VARCHAR" for name in said)
    return not one(con, f"SELECT count(*) FROM wide WHERE round IS NULL AND coalesce({cells}) IS NOT NULL")


def _verdicts_are_sound(con: duckdb.DuckDBPyConnection, columns: set[str]) -> bool:
    """Whether the fields of a verdict come with a verdict."""
    fields = [f"{name}::VARCHAR" for name in ("decision", "stop_round", "stop_reason") if name in columns]
    if "closed" not in columns or not fields:
        return True
    open_ones = f"SELECT count(*) FROM wide WHERE NOT closed AND coalesce({', '.join(fields)}) IS NOT NULL"
    return not one(con, open_ones)


def _answers_are_sound(con: duckdb.DuckDBPyConnection, votes: list[str]) -> bool:
    """Whether answer sets are lists of names that hold every vote and label; `votes` name the bits."""
    found = con.execute(
        """SELECT answers, bit_or(votes_cast), list(DISTINCT label) FROM debates
        WHERE answers IS NOT NULL GROUP BY answers"""
    ).fetchall()
    every: dict[str, set[str]] = {}
    if not votes or any(bits is not None and bits >> SEATS & 1 for _, bits, _ in found):
        pairs = con.execute(
            "SELECT DISTINCT answers, vote FROM wide WHERE answers IS NOT NULL AND vote IS NOT NULL"
        )
        for text, vote in pairs.fetchall():
            every.setdefault(text, set()).add(vote)
    for text, bits, labels in found:
        try:
            answers = parse_json(text)
        except ValueError:
            return False
        if not isinstance(answers, list) or not all(isinstance(name, str) and name for name in answers):
            return False
        cast = every.get(text, set()) or {
            votes[k] for k in range(len(votes)) if bits is not None and bits >> k & 1
        }
        if not (cast | {name for name in labels if name is not None}) <= set(answers):
            return False
    return True


def view_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Make the views ``turns``, ``items`` and ``verdicts`` of the tables last opened, known to be clean."""
    con.execute("CREATE OR REPLACE TEMP VIEW turns AS SELECT * FROM wide WHERE round IS NOT NULL")
    con.execute(
        """CREATE OR REPLACE TEMP VIEW items AS SELECT DISTINCT debate, coalesce(question, debate) AS question,
            cluster, label, answers, log, protocol, first FROM wide"""
    )
    con.execute(
        """CREATE OR REPLACE TEMP VIEW verdicts AS SELECT DISTINCT debate, decision, stop_round AS round, stop_reason
        FROM wide WHERE coalesce(closed, coalesce(decision, stop_round::VARCHAR, stop_reason) IS NOT NULL)"""
    )
