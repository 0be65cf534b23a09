"""Seeded changes of small true inputs: of their bytes, of the values in them, and of their rows.

Every function takes a ``random.Random``, so one number says which change is made.
"""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

__all__ = ["JUNK", "Changed", "bytes_changed", "rows_changed", "toml", "value_changed"]

JUNK: tuple[str, ...] = (
    *("", " ", "NaN", "None", "null", "NA", "-1", "0", "1", "1.0", "6.0", "1e9", "1e999", "9" * 400, "inf"),
    *(
        "1,5",
        "=1+1",
        "\x00",
        "é",
        "\ufeff",
        "true",
        "False",
        '"',
        ",",
        ";",
        "\t",
        "[",
        "{}",
        "[1]",
        "'",
        "\\",
    ),
    *(
        "2020-01-01",
        "d1",
        "agent 0",
        "A",
        "B",
        "a",
        " A ",
        "label",
        "vote",
        "x" * 5000,
        "\u202e",
        "\U0001f600",
    ),
    *("1_000", "٣", "NULL\n", "\r", "tie", "-0", "0x10", "1/2", "50%", "ERROR", "\\u0000", "\ud800", "Ａ"),
)
"""Cells that people and programs write, and cells that are written to break a reader."""

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        -1,
        0,
        1,
        2.5,
        1e308,
        10**30,
        10**400,
        -(2**63),
        float("nan"),
        float("inf"),
        "",
        "text",
        "A",
    ),
    *([], [None], [[]], {}, {"a": 1}, {"": None}, [1, 2, 3], "\x00", "\u202e", "\ud800", "1", "x" * 5000),
)
"""Values of JSON and TOML in the place of others."""


def bytes_changed(data: bytes, rng: random.Random, times: int) -> bytes:
    """Return bytes after so many changes: cut, flipped, put in, taken out, repeated, recoded."""
    for _ in range(times):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(13):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
            case 2:
                data = data[:at] + rng.choice(JUNK).encode(errors="surrogatepass") + data[at:]
            case 3:
                data = data[:at] + data[at + rng.randint(1, 40) :]
            case 4:
                data = data[:at] + data[at : at + rng.randint(1, 200)] + data[at:]
            case 5:
                data = data.replace(b"\n", b"\r\n" if rng.random() < 0.7 else b"\r")
            case 6:
                data = b"\xef\xbb\xbf" + data
            case 7:
                data = data.replace(b"\n", b"\n\n", 3)
            case 8:
                data += bytes(rng.randrange(256) for _ in range(rng.randint(1, 20)))
            case 9:
                data = (
                    data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
                    if at < len(data)
                    else data
                )
            case 10:
                code = rng.choice(("utf-16", "utf-16-le", "latin-1", "utf-32", "cp1252"))
                data = data.decode(errors="ignore").encode(code, errors="replace")
            case 11:
                data = data.rstrip(b"\n")
            case 12:
                one, other = sorted((at, rng.randrange(len(data) + 1)))
                data = data[:one] + data[one:other][::-1] + data[other:]
    return data


def value_changed(value: Any, rng: random.Random, times: int) -> Any:
    """Return a nested value after so many changes, each in one place of it."""
    value = deepcopy(value)
    for _ in range(times):
        places = list(_places(value))
        if not places:
            return deepcopy(rng.choice(VALUES))
        inside, key = rng.choice(places)
        match rng.randrange(8):
            case 0 | 1 | 2:
                inside[key] = deepcopy(rng.choice(VALUES))
            case 3:
                del inside[key]
            case 4 if isinstance(inside, dict):
                renamed = rng.choice((str(key).upper(), str(key)[:-1], rng.choice(JUNK), f"{key} "))
                inside[renamed] = inside.pop(key)
            case 5:
                other, there = rng.choice(places)
                inside[key] = deepcopy(other[there]) if there in _keys(other) else None
            case 6:
                for _ in range(rng.choice((1, 3, 200))):
                    inside[key] = [inside[key]] if rng.random() < 0.5 else {"a": inside[key]}
            case 7 if isinstance(inside, list):
                inside.insert(key, deepcopy(inside[key]))
            case _:
                found = inside[key]
                near = (f"{found}", f" {found} ", -found if isinstance(found, int | float) else found)
                inside[key] = rng.choice(near)
    return value


def _keys(inside: Any) -> Any:
    return range(len(inside)) if isinstance(inside, list) else inside


def _places(value: Any) -> Any:
    """Yield every place of a nested value: the object or list, and the key."""
    stack = [value]
    while stack:
        inside = stack.pop()
        if isinstance(inside, dict | list):
            for key in list(_keys(inside)):
                yield inside, key
                stack.append(inside[key])


class Changed:
    """A table after changes: its header, its rows, the rows that no change touched, and whether the rest is alike.

    ``origin`` has for each row its place in the true table when all its cells are as they were there, else None;
    ``alike`` is False when a change may give every row another meaning, as that of a header does.
    """

    def __init__(self, header: list[str], rows: list[list[str]]) -> None:
        self.header = list(header)
        self.rows = [list(row) for row in rows]
        self.origin: list[int | None] = list(range(len(rows)))
        self.alike = True


def rows_changed(header: list[str], rows: list[list[str]], rng: random.Random, times: int) -> Changed:
    """Return a table after so many changes of cells, rows or columns."""
    new = Changed(header, rows)
    for _ in range(times):
        if not new.rows:
            break
        at, column = rng.randrange(len(new.rows)), rng.randrange(len(header))
        row = new.rows[at]
        match rng.randrange(15):
            case 0 | 1 | 2 | 3:
                new.rows[at] = [rng.choice(JUNK) if k == column else cell for k, cell in enumerate(row)]
                new.origin[at] = None
            case 4:
                new.rows.insert(at, list(row))
                new.origin.insert(at, new.origin[at])
            case 5:
                del new.rows[at], new.origin[at]
            case 6:
                order = rng.sample(range(len(new.rows)), len(new.rows))
                new.rows = [new.rows[k] for k in order]
                new.origin = [new.origin[k] for k in order]
            case 7:
                name = header[column]
                new.header[column] = rng.choice((*JUNK, *header, name.upper(), name[:-1], "gold", "qid"))
                new.alike = False
            case 8:
                new.rows[at], new.origin[at] = row[:column], None
            case 9:
                new.rows[at], new.origin[at] = [*row, rng.choice(JUNK)], None
            case 10:
                new.rows.insert(at, [""] * len(header))
                new.origin.insert(at, None)
            case 11:
                new.rows.insert(at, list(header))
                new.origin.insert(at, None)
            case 12:
                new.header.append(rng.choice((*JUNK, "comment", "Unnamed: 0")))
                new.rows = [[*one, rng.choice(JUNK[:12])] for one in new.rows]
                new.alike = False
            case 13:
                new.rows[at] = [f" {cell} " if k == column else cell for k, cell in enumerate(row)]
                new.origin[at] = None
            case 14:
                other = rng.choice(rows)
                new.rows[at] = [other[k] if k == column else cell for k, cell in enumerate(row)]
                new.origin[at] = None
    return new


def toml(value: dict[str, Any]) -> str:
    """Return a nested value as TOML; what TOML has no form for becomes a text."""
    tops = [f"{_key(k)} = {_inline(v)}" for k, v in value.items() if not _is_tables(v)]
    tables = [
        f"[[{_key(k)}]]\n" + "\n".join(f"{_key(n)} = {_inline(v)}" for n, v in one.items())
        for k, listed in value.items()
        if _is_tables(listed)
        for one in listed
    ]
    return "\n".join([*tops, *tables]) + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _key(key: Any) -> str:
    return json.dumps(str(key))


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps("" if value is None else str(value))
