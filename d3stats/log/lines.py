"""The fast path for JSON lines: one scan in SQL that either finds a file surely clean or says "not sure".

How a scan can be sure. duckdb's JSON reader is lenient: it ignores unknown keys, reads ``"3"`` and ``2.7`` as
numbers and skips a line that holds a bare number. So the scan adds up how many bytes the records that it
understood need at least, each written as compactly as JSON can be. When this equals the size of the files, there
is no room for anything it did not understand: no unknown key, no second spelling, no lost line. Logs written
by :class:`d3stats.log.writer.LogWriter`, and by ``json.dumps`` with its default spaces, pass this account. For all
other spellings each line is matched against the grammar of the schema (about one second per million turns more).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from d3stats.log.engine import quoted, text_list
from d3stats.log.files import LogFile, text_size
from d3stats.log.forms import settled_notes
from d3stats.log.grammar import JSON, TEXT, VALUES, WHOLE, line_pattern, scores_are_sound
from d3stats.log.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    import duckdb

__all__ = ["Clean", "fill_seats", "is_one", "one", "seat_of", "tally_lines", "view_lines"]

_TEXT_COLUMNS = tuple(dict.fromkeys(name for names in TEXT.values() for name in names))
_WHOLE_COLUMNS = tuple(dict.fromkeys(name for names in WHOLE.values() for name in names))

SEATS = 62
"""Agents of a debate are bits of a 64-bit word; one bit says "seen an agent without a seat"."""

SAMPLE = 5000
"""Lines in which to look for the names of agents and models."""

_UNIT = 31  # the ASCII unit separator: JSON text never holds it unescaped


def _source(files: list[LogFile], *, text: str) -> str:
    columns = {"type": "VARCHAR"}
    columns |= dict.fromkeys(_TEXT_COLUMNS, text) | dict.fromkeys(_WHOLE_COLUMNS, "VARCHAR")
    columns |= {"scores": "JSON", "answers": "JSON", "candidates": "JSON"}
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


def tally_lines(
    con: duckdb.DuckDBPyConnection, files: list[LogFile], missing_values: Iterable[str] | None = None
) -> Clean | None:
    """Fill the tables ``cells`` and ``debates`` (see ``tally.py``); None when the files are not surely clean.

    Raises
    ------
    duckdb.Error
        When a line cannot be parsed.
    """
    source = _source(files, text="JSON")
    names = _sample(con, source)
    if not all(_is_name(name) for found in names.values() for name in found):
        return None
    seat = seat_of(names["agent"])
    _scan(con, source, seat, names)
    known = f"count(*) FILTER (mask & (1::BIGINT << {SEATS}) > 0)"
    unseated, uncounted = con.execute(
        f"""SELECT {known}, count(*) FILTER (n >= {1 << _BITS} OR tally >> {_BITS * _SLOTS} > 0)
        FROM scan WHERE round IS NOT NULL"""
    ).fetchall()[0]
    if unseated:
        if not fill_seats(con, source, "type = 'turn'", _name_ok("agent")):
            return None
        source, seat = f"(SELECT t.*, seat FROM {source} t LEFT JOIN seats USING (debate, agent))", "seat"
    if uncounted:
        names["vote"] = []
    if unseated or uncounted:
        _scan(con, source, seat, names)
    if not (_sound(con, files) and _split(con, names["vote"])):
        return None
    notes = settled_notes(con, _values(names, unseated), missing_values)
    return None if notes is None else Clean(notes=tuple(notes))


def _values(names: dict[str, list[str]], unseated: int) -> dict[str, str]:
    """Return a query for the values of each field of answers and names."""

    def one_of(kind: str, name: str) -> str:
        packed = _packed(kind, name)
        return _written(packed, f"FROM others WHERE kind = {quoted(kind)}")

    votes = f"(SELECT unnest({text_list(names['vote'])}) AS vote)" if names["vote"] else "scan"
    agents = "seats" if unseated else f"(SELECT unnest({text_list(names['agent'])}) AS agent)"
    turns = "FROM scan WHERE round IS NOT NULL"
    return {
        "vote": _written("vote", f"FROM {votes}" + (" WHERE round IS NOT NULL" if votes == "scan" else "")),
        "answers": "SELECT answers AS v FROM answer_sets",
        "decision": one_of("verdict", "decision"),
        "role": _written("role", turns),
        "agent": _written("agent", f"FROM {agents}"),
    } | {name: one_of("item", name) for name in ("label", "first", "debate", "question", "cluster", "log")}


def _written(column: str, source: str) -> str:
    """Return SQL for the texts that JSON texts stand for."""
    plain = (
        f"CASE WHEN contains({column}, '\\') THEN json_extract_string({column}, '$') ELSE {column}[2:-2] END"
    )
    return f"SELECT {plain} AS v {source}"


def _sample(con: duckdb.DuckDBPyConnection, source: str) -> dict[str, list[str]]:
    """Look into the first lines for the names that occur; too many votes to count in one word are none."""
    found = con.execute(
        f"""SELECT list(DISTINCT agent), list(DISTINCT model), list(DISTINCT vote), list(DISTINCT label)
        FROM (SELECT agent, model, vote, label FROM {source} LIMIT {SAMPLE})"""
    ).fetchall()[0]
    agents, models, votes, labels = (
        {str(name) for name in names or [] if name is not None} for names in found
    )
    votes |= labels
    return {
        "agent": sorted(agents),
        "model": sorted(models)[:20],
        "vote": sorted(votes) if len(votes) <= _SLOTS else [],
    }


def seat_of(agents: list[str]) -> str:
    """Return SQL for the seat of an agent among those that a sample showed."""
    if not 0 < len(agents) <= SEATS:
        return "NULL::INT"
    return f"nullif(list_position({text_list(sorted(agents))}, agent), 0) - 1"


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


def _text_ok(column: str) -> str:
    """Return SQL for "is a text", which may be empty as a name may not."""
    return f"starts_with({column}, '\"')"


_STRING = r'"(?:[^"\\]|\\.)*"'
_LONG = {
    "text": _text_ok("text"),
    "candidates": rf"regexp_full_match(candidates::VARCHAR, '\[(?:{_STRING}(?:,{_STRING})*)?\]', 's')",
}
"""Fields of an item that may be long, and when they are of their types; their sizes stand for them in a scan."""


def _pack(kind: str) -> str:
    names = [n for n in (*TEXT[kind], *WHOLE[kind], *JSON[kind]) if n != "debate"]
    parts = ", ".join(
        f"CASE WHEN {name} IS NULL THEN '~' WHEN {_LONG[name]} THEN {_long_size(name)} ELSE '!' END"
        if name in _LONG
        else f"coalesce({name}::VARCHAR, '~')"
        for name in names
    )
    return f"concat_ws(chr({_UNIT}), {parts})"


def _packed(kind: str, name: str) -> str:
    if name == "debate":
        return name
    names = [n for n in (*TEXT[kind], *WHOLE[kind], *JSON[kind]) if n != "debate"]
    return f"nullif(parts[{names.index(name) + 1}], '~')"


def _scan(con: duckdb.DuckDBPyConnection, source: str, seat: str, names: dict[str, list[str]]) -> None:
    """Reduce the files to one row per debate, round and role, and one per item, verdict and header.

    ``tally`` holds how often each of the votes in `names` was cast, `_BITS` each; with no votes in `names` the vote
    is part of the key instead. ``size`` is the least size of what the key does not say, NaN where a turn's
    fields are not of their types.
    """
    few = len(names["vote"]) > 0
    packs = " ".join(f"WHEN {quoted(kind)} THEN {_pack(kind)}" for kind in TEXT if kind != "turn")
    slot = f"coalesce(nullif(list_position({text_list(names['vote'])}, vote), 0) - 1, {_SLOTS})"
    cast = f"CASE WHEN vote IS NOT NULL THEN 1::BIGINT << ({_BITS} * {slot}) END" if few else "NULL::BIGINT"
    vote = ("vote",) if few else ()
    inner = ("agent", "model", "text", "tokens_in", "tokens_out", "tokens_source", "error", *vote)
    size = " + ".join(
        [f"strlen(concat({', '.join(inner)}))", *(f"if({n} IS NULL, 0, {_key_size(n)})" for n in inner)]
    )
    known = f"list_contains({text_list(names['model'])}, model)" if names["model"] else "false"
    # Written as numbers, tokens are digits alone; floats come back with a point, or too large to be cast.
    tokens = "concat('0', tokens_in, tokens_out)"
    typed = f"""TRY_CAST({tokens} AS UBIGINT) IS NOT NULL AND NOT contains({tokens}, '.')
        AND coalesce({known} OR {_name_ok("model")}, true) AND coalesce({_text_ok("text")}, true)
        AND coalesce({_name_ok("tokens_source")}, true) AND coalesce({_name_ok("error")}, true)"""
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE scan AS
        SELECT debate, role, round, vote, count(*) AS n, bit_or(mask) AS mask, sum(size) AS size,
            sum(cast_vote) AS tally, count(cast_vote) AS votes
        FROM (
            SELECT debate,
                CASE type WHEN 'turn' THEN role ELSE coalesce(type, '?') END AS role,
                CASE type WHEN 'turn' THEN coalesce(round, '?') END AS round,
                CASE type WHEN 'turn' THEN {"NULL" if few else "vote"} {packs} END AS vote,
                1::BIGINT << coalesce({seat}, {SEATS}) AS mask,
                {cast} AS cast_vote,
                CASE WHEN {typed} THEN ({size})::DOUBLE ELSE 'nan'::DOUBLE END AS size
            FROM {source}
        ) GROUP BY debate, role, round, vote"""
    )


_SLOTS = 8
"""Votes that are counted without being part of the key; the slot above says "another"."""
_BITS = 7
"""Bits of a slot: nine of them fill a word, and a round of less than 128 turns cannot overflow one."""

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
            AND (vote IS NULL OR {_name_ok("vote")}) AND regexp_full_match(round, {quoted(VALUES["round"])})
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
    others = " ".join(f"WHEN {quoted(kind)} THEN {_packed_size(kind)}" for kind in TEXT if kind != "turn")
    sizes = con.execute(
        f"""SELECT sum((size::BIGINT % {_SHIFT} + n * (key % {_SHIFT}))::DOUBLE)::BIGINT,
            sum((size::BIGINT // {_SHIFT} + n * (key // {_SHIFT}))::DOUBLE)::BIGINT
        FROM (
            SELECT n, size, {_line_size("turn")} + {keys} AS key FROM scan WHERE round IS NOT NULL
            UNION ALL SELECT n, 0, CASE kind {others} END FROM others
        )"""
    ).fetchone()
    # A score may be written shorter than it is written back (1e5), so its size is not known: the grammar decides.
    if sizes is not None and sizes[0] is not None:
        compact, spaces = sizes
        if sum(map(text_size, files)) in (compact, compact + spaces):
            return _packed_typed(con)
    return _grammatical(con, files) and scores_are_sound(con, _source(files, text="JSON"))


def _packed_size(kind: str) -> str:
    names = [*TEXT[kind], *WHOLE[kind], *JSON[kind]]
    sizes = [f"coalesce({_packed_length(kind, name)} + {_key_size(name)}, 0)" for name in names]
    if kind == "item":
        answers = f"coalesce(json_array_length({_packed(kind, 'answers')}) - 1, 0)"
        sizes.append(f"greatest({answers}, 0) * {_SHIFT}")
    return " + ".join([str(_line_size(kind)), *sizes])


def _long_size(name: str) -> str:
    """Return SQL for the bytes of a long field; above `_SHIFT`, the spaces between the parts of a list."""
    spaces = (
        f" + greatest(json_array_length({name})::BIGINT - 1, 0) * {_SHIFT}" if name in JSON["item"] else ""
    )
    return f"(strlen({name}::VARCHAR)::BIGINT{spaces})::VARCHAR"


def _packed_length(kind: str, name: str) -> str:
    packed = _packed(kind, name)
    return f"TRY_CAST({packed} AS BIGINT)" if name in _LONG else f"strlen({packed})"


def _packed_typed(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the fields of items, verdicts and headers are of their types."""
    rules = []
    for kind in TEXT:
        if kind != "turn":
            typed = [
                f"coalesce({_name_ok(_packed(kind, name))}, true)" for name in TEXT[kind] if name not in _LONG
            ]
            long = [name for name in (*TEXT[kind], *JSON[kind]) if name in _LONG]
            typed += [f"coalesce({_packed(kind, name)} <> '!', true)" for name in long]
            typed += [
                f"coalesce(regexp_full_match({_packed(kind, name)}, {quoted(VALUES[name])}), true)"
                for name in WHOLE[kind]
            ]
            rules.append(f"WHEN {quoted(kind)} THEN {' AND '.join(typed)}")
    return not one(con, f"SELECT count(*) FROM others WHERE NOT CASE kind {' '.join(rules)} END")


def _grammatical(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> bool:
    paths = text_list(file.path for file in files)
    return not one(
        con,
        f"""SELECT count(*) FROM read_json_objects({paths}, format='newline_delimited')
        WHERE NOT regexp_full_match(json, {quoted(line_pattern())})""",
    )


def _split(con: duckdb.DuckDBPyConnection, votes: list[str]) -> bool:
    """Check items, verdicts and headers; join the labels to the votes, `votes` being the names of the slots."""
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
    slots = range(len(votes))
    count = "(tally >> {0})::BIGINT & {1}".format
    if votes:
        cast = f"""SELECT answer_set, unnest({text_list(votes)}) AS vote, unnest([{
            ", ".join(f"bool_or({count(_BITS * k, (1 << _BITS) - 1)} > 0)" for k in slots)
        }]) AS seen FROM scan JOIN debates USING (debate)
        WHERE votes > 0 AND round IS NOT NULL AND answer_set IS NOT NULL GROUP BY answer_set"""
        right = " ".join(
            f"WHEN {quoted(name)} THEN {count(_BITS * k, (1 << _BITS) - 1)}" for k, name in enumerate(votes)
        )
        cells = f"""SELECT debate, round::INTEGER AS round, role, n::INTEGER AS n, mask, votes::INTEGER AS votes,
            coalesce(CASE label {right} ELSE 0 END, 0)::INTEGER AS rights
        FROM scan JOIN debates USING (debate) WHERE round IS NOT NULL"""
    else:
        cast = """SELECT DISTINCT answer_set, vote, true AS seen FROM scan JOIN debates USING (debate)
        WHERE round IS NOT NULL AND vote IS NOT NULL AND answer_set IS NOT NULL"""
        cells = """SELECT debate, round::INTEGER AS round, role, sum(n)::INTEGER AS n, bit_or(mask) AS mask,
            sum(if(vote IS NULL, 0, n))::INTEGER AS votes, sum(if(vote = label, n, 0))::INTEGER AS rights
        FROM scan JOIN debates USING (debate) WHERE round IS NOT NULL GROUP BY debate, round, role"""
    outside = f"""SELECT count(*) FROM (
        {cast} UNION SELECT DISTINCT answer_set, label, true FROM debates WHERE label IS NOT NULL
    ) JOIN answer_sets USING (answer_set)
    WHERE seen AND NOT list_contains(json_extract(answers, '$[*]')::VARCHAR[], vote)"""
    strays = """SELECT count(*) FROM scan ANTI JOIN debates USING (debate)
        WHERE round IS NOT NULL OR role = 'verdict'"""
    if one(con, bad) or one(con, outside) or one(con, strays):
        return False
    con.execute(f"CREATE OR REPLACE TEMP TABLE cells AS {cells}")
    return True


def view_lines(con: duckdb.DuckDBPyConnection, files: list[LogFile]) -> None:
    """Make the views ``turns``, ``items`` and ``verdicts`` of files that are known to be clean."""
    source = _source(files, text="VARCHAR")
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW turns AS SELECT debate, round::BIGINT AS round, agent, role, vote,
            scores::VARCHAR AS scores, tokens_in::BIGINT AS tokens_in, tokens_out::BIGINT AS tokens_out,
            tokens_source, model, error
        FROM {source} WHERE type = 'turn'"""
    )
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW items AS SELECT DISTINCT debate, question, cluster, label,
            answers::VARCHAR AS answers, log, protocol, first FROM {source} WHERE type = 'item'"""
    )
    con.execute(
        f"""CREATE OR REPLACE TEMP VIEW verdicts AS SELECT DISTINCT debate, decision, round::BIGINT AS round,
            stop_reason FROM {source} WHERE type = 'verdict'"""
    )
