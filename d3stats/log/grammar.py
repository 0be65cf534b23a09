"""What a line of a log may look like: the fields of each record by type, and a regular expression for all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["JSON", "TEXT", "VALUES", "WHOLE", "line_pattern", "scores_are_sound"]

TEXT = {
    "turn": ("debate", "agent", "role", "vote", "tokens_source", "model", "text", "error"),
    "item": ("debate", "question", "cluster", "label", "log", "protocol", "text", "first"),
    "verdict": ("debate", "decision", "stop_reason"),
    "log": ("writer", "source"),
}
WHOLE = {
    "turn": ("round", "tokens_in", "tokens_out"),
    "item": (),
    "verdict": ("round",),
    "log": ("schema_version",),
}
JSON = {"turn": ("scores",), "item": ("answers", "candidates"), "verdict": (), "log": ()}
"""Fields by type of record: text, whole numbers, and nested JSON."""

VALUES = {"round": "[1-9][0-9]{0,8}", "schema_version": "[0-9]{1,9}"}
"""How whole numbers are written whose range is not that of tokens."""


def line_pattern() -> str:
    """Return what a line may be, as a regular expression: known keys in any order, each of its type."""
    s = r"[ \t\r\n]*"
    name, key = r'"(?:[^"\\]|\\.)+"', r'"(?:[^"\\]|\\.)*"'
    number = r"-?[0-9]{1,15}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?"

    def many(opening: str, one: str, closing: str) -> str:
        return rf"\{opening}{s}(?:{one}(?:{s},{s}{one})*)?{s}\{closing}"

    side = many("{", rf"{key}{s}:{s}{number}", "}")
    values = VALUES | {
        "scores": many("{", rf"{key}{s}:{s}{side}", "}"),
        "answers": many("[", name, "]"),
        "candidates": many("[", key, "]"),
        "text": key,
    }
    never_null = {
        "turn": "debate agent round",
        "item": "debate question",
        "verdict": "debate",
        "log": "writer",
    }
    kinds = []
    for kind in TEXT:
        pairs = [rf'"type"{s}:{s}"{kind}"']
        for column in (*TEXT[kind], *WHOLE[kind], *JSON[kind]):
            value = values.get(column, name if column in TEXT[kind] else "[0-9]{1,15}")
            required = column in never_null[kind].split() or column == "schema_version"
            pairs.append(rf'"{column}"{s}:{s}(?:{value}{"" if required else "|null"})')
        one = f"(?:{'|'.join(pairs)})"
        kinds.append(rf"\{{{s}{one}(?:{s},{s}{one})*{s}\}}")
    return rf"(?s){s}(?:{'|'.join(kinds)}){s}"


def scores_are_sound(con: duckdb.DuckDBPyConnection, source: str) -> bool:
    """Whether no scores name a side or a criterion twice; looks at each distinct shape once."""
    from d3stats.log.reference import parse_json

    number = r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?"
    shapes = con.execute(
        rf"""SELECT DISTINCT regexp_replace(scores::VARCHAR, ':\s*{number}\s*([,}}])', ':0\1', 'g')
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
