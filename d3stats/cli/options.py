"""Options that several commands share, declared once."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from d3stats.log.column_names import parse_columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from d3stats.log.problems import Problem
    from d3stats.trajectories import Trajectories

Logs = Annotated[
    list[str],
    typer.Argument(help="Logs and tables (JSONL, CSV, TSV, XLSX, Parquet; globs in quotes), or 'slm7'."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print LaTeX tables (booktabs).")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]
Level = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="d3stats.trajectories:Missing",
        help="What a missing vote counts as: left out, so that the number of votes varies, or wrong.",
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Leave out defective records and list them, instead of stopping.")
]
Roles = Annotated[list[str] | None, typer.Option("--role", help="Keep only turns of this role; repeatable.")]
MissingValues = Annotated[
    str | None,
    typer.Option(
        "--missing-values",
        help="Words that mean missing, with commas, in place of NA, N/A, None, NaN, null and the like; '' for none.",
    ),
]
Boot = Annotated[int, typer.Option("--n-boot", help="Bootstrap replicates.")]


def one_format(as_json: bool, as_latex: bool) -> None:
    """Refuse two formats at once."""
    if as_json and as_latex:
        raise ValueError("format must be one of --json and --latex; got both")


def checked_figure(path: Path | None) -> Path | None:
    """Refuse a place where no figure can be written, before anything is computed."""
    if path is None:
        return None
    from d3stats.plotting.style import figure_stem

    return figure_stem(path)


Figure = Annotated[
    Path | None,
    typer.Option("--figure", callback=checked_figure, help="Also write the figure here, as PDF and PNG."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAME=OWN,...",
        help="Own names of a table's columns, as debate=qid,round=turn or votes=gpt+claude; repeatable.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", help="Encoding of text files, such as latin-1; UTF-8 by default.")
]


def choices(metavar: str | None) -> str | None:
    """Return ``[one|other]`` where an option names the place in the library that lists its words.

    A place is ``module:name``, of a Literal or of a collection of names; words may stand before it, with ``|``.

    Examples
    --------
    >>> choices("d3stats.trajectories:Missing"), choices("ROLE=NAME")
    ('[exclude|wrong]', 'ROLE=NAME')
    """
    if metavar is None or "d3stats." not in metavar:
        return metavar
    words: list[str] = []
    for part in metavar.split("|"):
        module, _, name = part.partition(":")
        found = getattr(import_module(module), name) if name else [part]
        words += get_args(found) or found
    return f"[{'|'.join(words)}]"


def paths_of(logs: list[str]) -> list[str]:
    """Put a bundled log's file where its name stands; a name that is no file names the nearest."""
    from d3stats.log.files import as_path

    return [as_path(log) for log in logs]


def reading(
    missing_values: str | None = None, columns: list[str] | None = None, encoding: str | None = None
) -> dict[str, Any]:
    """Return the options that say how tables are read, as the library takes them."""
    words = None if missing_values is None else [word for word in missing_values.split(",") if word.strip()]
    return {"missing_values": words, "columns": parse_columns(",".join(columns or [])), "encoding": encoding}


def read_trajectories(
    logs: list[str], lenient: bool, roles: list[str] | None, how: dict[str, Any]
) -> tuple[Trajectories, list[str]]:
    """Read logs; return them with a line per record that was left out."""
    from d3stats.log.reader import read_log
    from d3stats.trajectories import as_trajectories

    log = read_log(*paths_of(logs), strict=not lenient, **how)
    return as_trajectories(log, roles=roles), left_out(log.problems)


def left_out(problems: Iterable[Problem]) -> list[str]:
    """Return in words the problems that left something out, and rounds that were interrupted.

    An absent agent leaves nothing out.
    """
    told = ("interrupted round",)
    return [str(problem) for problem in problems if problem.left_out != "nothing" or problem.kind in told]
