"""The fast path for JSON lines: one scan in SQL that either finds a file surely clean or says "not sure".

How a scan can be sure. duckdb's JSON reader is lenient: it ignores unknown keys, reads ``"3"`` and ``2.7`` as
numbers and skips a line that holds a bare number. So the scan adds up how many bytes the records that it
understood need at least, each written as compactly as JSON can be. When this equals the size of the files, there
is no room for anything it did not understand: no unknown key, no second spelling, no lost line. Logs written
by :class:`d3stats.log.write.LogWriter`, and by ``json.dumps`` with its default spaces, pass this account. For all
other spellings each line is matched against the grammar of the schema (about one second per million turns more).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from d3stats.log.engine import quoted, text_list
from d3stats.log.files import LogFile
from d3stats.log.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    import duckdb

__all__ = ["Clean", "fill_seats", "is_one", "one", "scores_are_sound", "tally_lines", "view_lines"]

_TEXT = {
    "turn": ("debate", "agent", "role", "vote", "model", "text"),
    "item": ("debate", "question", "cluster", "label", "log", "protocol", "text"),
    "verdict": ("debate", "decision", "stop_reason"),
    "log": ("writer", "source"),
}
_WHOLE = {
    "turn": ("round", "tokens_in", "tokens_out"),
    "item": (),
    "verdict": ("round",),
    "log": ("schema_version",),
}
_JSON = {"turn": ("scores",), "item": ("answers",), "verdict": (), "log": ()}
_TEXT_COLUMNS = tuple(dict.fromkeys(name for names in _TEXT.values() for name in names))
_WHOLE_COLUMNS = tuple(dict.fromkeys(name for names in _WHOLE.values() for name in names))

SEATS = 62
"""Agents of a debate are bits of a 64-bit word; one bit says "seen an agent without a seat"."""

SAMPLE = 5000
"""Lines in which to look for the names of agents and models."""

_UNIT = 31  # the ASCII unit separator: JSON text never holds it unescaped


def _source(files: list[LogFile], *, text: str) -> str:
    columns = {"type": "VARCHAR"}
    columns |= dict.fromkeys(_TEXT_COLUMNS, text) | dict.fromkeys(_WHOLE_COLUMNS, "VARCHAR")
    columns |= {"scores": "JSON", "answers": "JSON"}
    listed = ", ".join(f"{name}: {quoted(kind)}" for name, kind in columns.items())
    paths = text_list(file.path for file in files)
    reader = f"read_json({paths}, columns={{{listed}}}, format='newline_delimited')"
    if text != "JSON":
        return reader
    # As text, a JSON value keeps its quotes: "3" and 3 stay apart. The cast costs nothing.
    casts = ", ".join(f"{name}::VARCHAR AS {name}" for name in (*_TEXT_COLUMNS, "scores"))
    return f"(SELECT * REPLACE ({casts}) FROM {reader})"


@dataclass(frozen=True)
class Clean:
    """What a scan that found nothing wrong says of the files."""

    coding: Literal["answers", "correctness"] = "answers"
    totals: bool = False
    """Whether tokens are recorded as totals only."""
    notes: tuple[str, ...] = ()


def tally_lines(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> Clean | None:
    """Fill the tables ``cells`` and ``debates`` (see ``tally.py``); None when the files are not surely clean.

    Raises
    ------
    duckdb.Error
        When a line cannot be parsed.
    """
    source = _source(files, text="JSON")
    sampled = con.execute(
        f"""SELECT list(DISTINCT agent), list(DISTINCT model)
        FROM (SELECT agent, model FROM {source} LIMIT {SAMPLE})"""
    ).fetchone()
    agents, models = (
        [str(name) for name in names or [] if name is not None] for names in sampled or ([], [])
    )
    if not all(map(_is_name, [*agents, *models])):
        return None
    _scan(con, source, seat_of(agents), models)
    if one(con, f"SELECT count(*) FROM scan WHERE round IS NOT NULL AND mask & (1::BIGINT << {SEATS}) > 0"):
        if not fill_seats(con, source, "type = 'turn'", _name_ok("agent")):
            return None
        _scan(
            con, f"(SELECT t.*, seat FROM {source} t LEFT JOIN seats USING (debate, agent))", "seat", models
        )
    return Clean() if _sound(con, files) and _split(con) else None


def seat_of(agents: list[str]) -> str:
    """Return SQL for the seat of an agent among those that a sample showed."""
    if not 0 < len(agents) <= SEATS:
        return "NULL::INT"
    return f"list_position({text_list(sorted(agents))}, agent) - 1"


def _is_name(text: str) -> bool:
    return text.startswith('"') and len(text) > 2


def fill_seats(con: duckdb.DuckDBPyConnection, source: str, where: str, valid: str) -> bool:
    """Seat the agents debate by debate, when there are too many names for one word of bits.

    Makes the table ``seats``; False when a name is not `valid` or a debate has too many agents.
    """
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE seats AS
        SELECT debate, agent, row_number() OVER (PARTITION BY debate ORDER BY agent) - 1 AS seat
        FROM (SELECT DISTINCT debate, agent FROM {source} WHERE {where})"""
    )
    return not one(con, f"SELECT count(*) FROM seats WHERE seat >= {SEATS} OR ({valid}) IS NOT TRUE")


def one(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    """Return the one number that a query gives, 0 for NULL."""
    row = con.execute(sql).fetchone()
    return int(row[0] or 0) if row else 0


def is_one(con: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Whether a query gives true."""
    row = con.execute(sql).fetchone()
    return row is not None and row[0] is True


def _name_ok(column: str) -> str:
    return f"(starts_with({column}, '\"') AND strlen({column}) > 2)"


def _pack(kind: str) -> str:
    names = [n for n in (*_TEXT[kind], *_WHOLE[kind], *_JSON[kind]) if n != "debate"]
    parts = ", ".join(f"coalesce({name}::VARCHAR, '~')" for name in names)
    return f"concat_ws(chr({_UNIT}), {parts})"


def _packed(kind: str, name: str) -> str:
    if name == "debate":
        return name
    names = [n for n in (*_TEXT[kind], *_WHOLE[kind], *_JSON[kind]) if n != "debate"]
    return f"nullif(parts[{names.index(name) + 1}], '~')"


def _scan(con: duckdb.DuckDBPyConnection, source: str, seat: str, models: list[str]) -> None:
    """Reduce the files to one row per debate, round, role and vote, and one per item, verdict and header.

    ``size`` is the least size of what the row's key does not say, NULL where a turn's fields are not typed right.
    """
    packs = " ".join(f"WHEN {quoted(kind)} THEN {_pack(kind)}" for kind in _TEXT if kind != "turn")
    inner = ("agent", "model", "text", "tokens_in", "tokens_out")
    size = " + ".join(
        [f"strlen(concat({', '.join(inner)}))", *(f"if({n} IS NULL, 0, {_key_size(n)})" for n in inner)]
    )
    few = f"list_contains({text_list(models[:20])}, model)" if models else "false"
    # Written as numbers, tokens are digits alone; floats come back with a point, or too large to be cast.
    tokens = "concat('0', tokens_in, tokens_out)"
    typed = f"""TRY_CAST({tokens} AS UBIGINT) IS NOT NULL AND NOT contains({tokens}, '.')
        AND coalesce({few} OR {_name_ok("model")}, true) AND coalesce({_name_ok("text")}, true)"""
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE scan AS
        SELECT debate, role, round, vote, count(*) AS n, bit_or(mask) AS mask, sum(size) AS size
        FROM (
            SELECT debate,
                CASE type WHEN 'turn' THEN role ELSE coalesce(type, '?') END AS role,
                CASE type WHEN 'turn' THEN coalesce(round, '?') END AS round,
                CASE type WHEN 'turn' THEN vote {packs} END AS vote,
                1::BIGINT << coalesce({seat}, {SEATS}) AS mask,
                CASE WHEN {typed} THEN ({size})::DOUBLE ELSE 'nan'::DOUBLE END AS size
            FROM {source}
        ) GROUP BY debate, role, round, vote"""
    )


_SHIFT = 1 << 32


def _key_size(name: str) -> int:
    """Bytes of a key with its quotes, colon and comma; above `_SHIFT`, the spaces of ``json.dumps``."""
    return len(name) + 4 + 2 * _SHIFT


def _line_size(kind: str) -> int:
    """Bytes of the braces, the line end and the type; one space is too many, since the last key has no comma."""
    return 2 + _key_size("type") + len(kind) + 2 - _SHIFT


def _sound(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> bool:
    """Whether every record is valid by itself and nothing in the files was passed over."""
    bad = f"""SELECT count(*) FROM scan WHERE (CASE WHEN round IS NULL THEN role IN ('item', 'verdict', 'log')
        ELSE NOT isnan(size) AND {_name_ok("debate")} AND (role IS NULL OR {_name_ok("role")})
            AND (vote IS NULL OR {_name_ok("vote")}) AND regexp_full_match(round, '[1-9][0-9]{{0,8}}')
        END) IS NOT TRUE"""
    if one(con, bad):
        return False
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE others AS
        SELECT debate, role AS kind, n, string_split(vote, chr({_UNIT})) AS parts FROM scan WHERE round IS NULL"""
    )
    keys = " + ".join(
        f"coalesce(strlen({name}) + {_key_size(name)}, 0)" for name in ("debate", "round", "role", "vote")
    )
    others = " ".join(f"WHEN {quoted(kind)} THEN {_packed_size(kind)}" for kind in _TEXT if kind != "turn")
    sizes = con.execute(
        f"""SELECT sum((size::BIGINT % {_SHIFT} + n * (key % {_SHIFT}))::DOUBLE)::BIGINT,
            sum((size::BIGINT // {_SHIFT} + n * (key // {_SHIFT}))::DOUBLE)::BIGINT
        FROM (
            SELECT n, size, {_line_size("turn")} + {keys} AS key FROM scan WHERE round IS NOT NULL
            UNION ALL SELECT n, 0, CASE kind {others} END FROM others
        )"""
    ).fetchone()
    # A score may be written shorter than it is written back (1e5), so its size is not known: the grammar decides.
    if sizes is not None and not any(file.compressed for file in files):
        compact, spaces = sizes
        if sum(_bytes(file) for file in files) in (compact, compact + spaces):
            return _packed_typed(con)
    return _grammatical(con, files) and scores_are_sound(con, _source(files, text="JSON"))


def _packed_size(kind: str) -> str:
    names = [*_TEXT[kind], *_WHOLE[kind], *_JSON[kind]]
    sizes = [f"coalesce(strlen({_packed(kind, name)}) + {_key_size(name)}, 0)" for name in names]
    if kind == "item":
        answers = f"coalesce(json_array_length({_packed(kind, 'answers')}) - 1, 0)"
        sizes.append(f"greatest({answers}, 0) * {_SHIFT}")
    return " + ".join([str(_line_size(kind)), *sizes])


def _packed_typed(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the fields of items, verdicts and headers are of their types."""
    rules = []
    for kind in _TEXT:
        if kind != "turn":
            typed = [f"coalesce({_name_ok(_packed(kind, name))}, true)" for name in _TEXT[kind]]
            typed += [
                f"coalesce(regexp_full_match({_packed(kind, name)}, '[0-9]{{1,9}}'), true)"
                for name in _WHOLE[kind]
            ]
            rules.append(f"WHEN {quoted(kind)} THEN {' AND '.join(typed)}")
    return not one(con, f"SELECT count(*) FROM others WHERE NOT CASE kind {' '.join(rules)} END")


def _bytes(file: LogFile) -> int:
    """Size of the file, with the line end that its last line may lack."""
    with file.path.open("rb") as handle:
        handle.seek(-1, os.SEEK_END)
        return handle.tell() + 1 + (handle.read(1) != b"\n")


def _grammatical(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> bool:
    paths = text_list(file.path for file in files)
    return not one(
        con,
        f"""SELECT count(*) FROM read_json_objects({paths}, format='newline_delimited')
        WHERE NOT regexp_full_match(json, {quoted(_grammar())})""",
    )


def _grammar() -> str:
    """Return what a line may be, as a regular expression: known keys in any order, each of its type."""
    s = r"[ \t\r\n]*"
    name, key = r'"(?:[^"\\]|\\.)+"', r'"(?:[^"\\]|\\.)*"'
    number = r"-?[0-9]{1,15}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?"

    def many(opening: str, one: str, closing: str) -> str:
        return rf"\{opening}{s}(?:{one}(?:{s},{s}{one})*)?{s}\{closing}"

    side = many("{", rf"{key}{s}:{s}{number}", "}")
    values = {
        "scores": many("{", rf"{key}{s}:{s}{side}", "}"),
        "answers": many("[", name, "]"),
        "round": "[1-9][0-9]{0,8}",
        "schema_version": "[0-9]{1,9}",
    }
    never_null = {
        "turn": "debate agent round",
        "item": "debate question",
        "verdict": "debate",
        "log": "writer",
    }
    kinds = []
    for kind in _TEXT:
        pairs = [rf'"type"{s}:{s}"{kind}"']
        for column in (*_TEXT[kind], *_WHOLE[kind], *_JSON[kind]):
            value = values.get(column, name if column in _TEXT[kind] else "[0-9]{1,15}")
            required = column in never_null[kind].split() or column == "schema_version"
            pairs.append(rf'"{column}"{s}:{s}(?:{value}{"" if required else "|null"})')
        one = f"(?:{'|'.join(pairs)})"
        kinds.append(rf"\{{{s}{one}(?:{s},{s}{one})*{s}\}}")
    return rf"(?s){s}(?:{'|'.join(kinds)}){s}"


def scores_are_sound(con: duckdb.DuckDBPyConnection, source: str) -> bool:
    """Whether no scores name a side or a criterion twice; looks at each distinct shape once."""
    from d3stats.log.reference import parse_json

    shapes = con.execute(
        f"""SELECT DISTINCT regexp_replace(scores::VARCHAR, ':\\s*-?[0-9.eE+-]+', ':0', 'g')
        FROM {source} WHERE scores IS NOT NULL"""
    ).fetchall()
    try:
        parsed = [parse_json(shape) for (shape,) in shapes]
    except ValueError:
        return False
    return all(
        isinstance(sides, dict)
        and all(isinstance(c, dict) and all(x == 0 for x in c.values()) for c in sides.values())
        for sides in parsed
    )


def _split(con: duckdb.DuckDBPyConnection) -> bool:
    """Check items, verdicts and headers; join the labels to the votes."""
    fields = ", ".join(f"{_packed('item', n)} AS {n}" for n in ("question", "label", "log", "answers"))
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE opened AS SELECT debate, {fields} FROM others WHERE kind = 'item'"""
    )
    # Few answer sets serve many debates: a number in place of each keeps the check of every vote small.
    con.execute(
        """CREATE OR REPLACE TEMP TABLE answer_sets AS
        SELECT answers, row_number() OVER () AS answer_set FROM (SELECT DISTINCT answers FROM opened)
        WHERE answers IS NOT NULL"""
    )
    con.execute(
        """CREATE OR REPLACE TEMP TABLE debates AS
        SELECT debate, label, log, answer_set FROM opened LEFT JOIN answer_sets USING (answers)"""
    )
    answer = r'"(?:[^"\\]|\\.)+"'
    answers = rf"\[(?:{answer}(?:,{answer})*)?\]"
    version = f"coalesce(try_cast({_packed('log', 'schema_version')} AS INT), 1)"
    bad = f"""SELECT
        (SELECT count(*) - count(DISTINCT debate)
            + count(*) FILTER (({_name_ok("debate")} AND {_name_ok("question")}) IS NOT TRUE) FROM opened)
        + (SELECT count(*) FROM answer_sets WHERE NOT regexp_full_match(answers, {quoted(answers)}))
        + (SELECT count(*) - count(DISTINCT debate) + count(*) FILTER ({_name_ok("debate")} IS NOT TRUE)
            FROM others WHERE kind = 'verdict')
        + (SELECT count(*) FROM others WHERE kind = 'log'
            AND (debate IS NOT NULL OR {version} > {SCHEMA_VERSION}))"""
    outside = """SELECT count(*) FROM (
        SELECT DISTINCT answer_set, vote FROM scan JOIN debates USING (debate)
        WHERE round IS NOT NULL AND vote IS NOT NULL AND answer_set IS NOT NULL
        UNION SELECT DISTINCT answer_set, label FROM debates WHERE label IS NOT NULL AND answer_set IS NOT NULL
    ) JOIN answer_sets USING (answer_set) WHERE NOT list_contains(json_extract(answers, '$[*]')::VARCHAR[], vote)"""
    strays = """SELECT count(*) FROM scan ANTI JOIN debates USING (debate)
        WHERE round IS NOT NULL OR role = 'verdict'"""
    if one(con, bad) or one(con, outside) or one(con, strays):
        return False
    con.execute(
        """CREATE OR REPLACE TEMP TABLE cells AS
        SELECT debate, round::INTEGER AS round, role, sum(n)::INTEGER AS n, bit_or(mask) AS mask,
            sum(if(vote IS NULL, 0, n))::INTEGER AS votes, sum(if(vote = label, n, 0))::INTEGER AS rights
        FROM scan JOIN debates USING (debate) WHERE round IS NOT NULL GROUP BY debate, round, role"""
    )
    return True


def view_lines(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> None:
    """Make the views ``turns``, ``items`` and ``verdicts`` of files that are known to be clean."""
    source = _source(files, text="VARCHAR")
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW turns AS SELECT debate, round::BIGINT AS round, agent, role, vote,
            scores::VARCHAR AS scores, tokens_in::BIGINT AS tokens_in, tokens_out::BIGINT AS tokens_out, model
        FROM {source} WHERE type = 'turn'"""
    )
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW items AS SELECT DISTINCT debate, question, cluster, label,
            answers::VARCHAR AS answers, log, protocol FROM {source} WHERE type = 'item'"""
    )
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW verdicts AS SELECT DISTINCT debate, decision, round::BIGINT AS round,
            stop_reason FROM {source} WHERE type = 'verdict'"""
    )
