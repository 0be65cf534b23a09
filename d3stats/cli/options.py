"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from d3stats.cli import completion
from d3stats.log.column_names import parse_columns, reading_options
from d3stats.note import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from d3stats.log.problems import Problem

Logs = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completion.logs,
        help="Logs or tables (JSONL, CSV, TSV, XLSX, Parquet, Inspect's .eval; globs in quotes), or a bundled "
        "log: slm7, gemma-reasons, gemma-votes, gemma-alone.",
    ),
]
Everything = Annotated[
    bool,
    typer.Option("--all", help="Print every table and every note, not only those that answer the question."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print LaTeX tables (booktabs).")]
Seed = Annotated[
    int,
    typer.Option("--seed", help="Seed of all random numbers; methods that draw none do not depend on it."),
]
Level = Annotated[float, typer.Option("--level", help="Level of the intervals.")]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="d3stats.trajectories:Missing",
        help="A missing vote is left out (the number of votes then varies) or counts as wrong.",
    ),
]
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="Leave out defective records and list them; default: stop with an error."),
]
Roles = Annotated[list[str] | None, typer.Option("--role", help="Keep only turns of this role; repeatable.")]
MissingValues = Annotated[
    str | None,
    typer.Option(
        "--missing-values",
        help="Words that mean 'missing', separated by commas; default: NA, N/A, None, NaN, null and "
        "similar; '' for none.",
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="Price table (TOML): a date, and [models.NAME] with input and output in dollars per million tokens "
        "(prompt and completion).",
    ),
]
PricedAs = Annotated[
    str | None,
    typer.Option(
        "--model",
        help="The model whose prices to use; default: the only model in the table, or the logged model of each turn.",
    ),
]
RoleModels = Annotated[
    list[str] | None,
    typer.Option(
        "--role-model", metavar="ROLE=NAME", help="The model whose prices to use for a role; repeatable."
    ),
]
OutputShare = Annotated[
    float | None,
    typer.Option("--output-share", help="Completion tokens as a share of all tokens; default: from the log."),
]
Strata = Annotated[
    str | None,
    typer.Option(
        "--strata",
        metavar="COLUMN",
        help="Also estimate by kind of question: the column that names it, such as category or difficulty.",
    ),
]


READING_OPTIONS = (
    "--lenient",
    "--role",
    "--missing-values",
    "--columns",
    "--encoding",
    "--sheet",
    "--scorer",
    "--read",
)
"""The options that say how a source is read."""


def typed(context: typer.Context, *options: str) -> list[str]:
    """Return which of these options were given, as they were typed."""
    given = []
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if source is not None and source.name == "COMMANDLINE" and max(option.opts, key=len) in options:
            off = option.secondary_opts and context.params.get(str(option.name)) is False
            given.append(max(option.secondary_opts if off else option.opts, key=len))
    return given


def refuse_unused(context: typer.Context, why: str, *options: str) -> None:
    """Refuse options that were given although this mode of the command does not use them; `why` says what is needed."""
    for name in typed(context, *options):
        raise ValueError(f"{name} {why}; got {name}")


def refuse_replicates(context: typer.Context, kind: str) -> None:
    """Refuse a number of replicates where the interval of this kind has none."""
    from d3stats.resampling.bootstrap import LimitsKind

    kinds = get_args(LimitsKind)
    if kind not in kinds:
        named = ", ".join(kinds)
        refuse_unused(
            context, f"must come with a --kind that is a bootstrap ({named}), not with {kind!r}", "--n-boot"
        )


def one_format(as_json: bool, as_latex: bool) -> None:
    """Refuse two output formats at once."""
    if as_json and as_latex:
        raise ValueError("only one of --json and --latex may be given; got both")


def models_by_role(
    prices: Path | None, model: str | None, role_models: list[str] | None, output_share: float | None
) -> dict[str, str]:
    """Return whose prices each role has; refuse what says something of prices where there are none."""
    if prices is None:
        given = {"--model": model, "--role-model": role_models or None, "--output-share": output_share}
        for option, value in given.items():
            if value is not None:
                raise ValueError(f"{option} must come with --prices; got {option} alone")
    by_role: dict[str, str] = {}
    for text in role_models or []:
        role, found, name = text.partition("=")
        if not found or role in by_role:
            raise ValueError(f"--role-model must be ROLE=NAME, each role once; got {text!r}")
        by_role[role] = name
    return by_role


def checked_figure(path: Path | None) -> Path | None:
    """Refuse a path that no figure can be written to, before the computation starts."""
    if path is None:
        return None
    from d3stats.plotting.style import figure_stem

    return figure_stem(path)


Figure = Annotated[
    Path | None,
    typer.Option(
        "--figure", callback=checked_figure, help="Also write the figure to this path, as PDF and PNG."
    ),
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
    str | None,
    typer.Option("--encoding", help="Encoding of CSV and TSV files, such as latin-1; UTF-8 by default."),
]

SheetName = Annotated[
    str | None, typer.Option("--sheet", help="Sheet of an Excel workbook; the first by default.")
]

ScorerName = Annotated[
    str | None,
    typer.Option(
        "--scorer", metavar="NAME", help="The scorer that is read of a log of Inspect with several."
    ),
]

ReadAs = Annotated[
    str | None,
    typer.Option(
        "--read",
        metavar="d3stats.sources.opened:Read",
        help="Read a vote as the answer that it states: 'The answer is B.' as B.",
    ),
]


READING: dict[str, tuple[Any, Any]] = {
    "lenient": (Lenient, False),
    "roles": (Roles, None),
    "missing_values": (MissingValues, None),
    "columns": (Columns, None),
    "encoding": (Encoding, None),
    "sheet": (SheetName, None),
    "scorer": (ScorerName, None),
    "read": (ReadAs, None),
}
"""The fields of :class:`d3stats.sources.Reading` as a terminal has them, with their defaults."""


def reading_of(typed: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed of a reading, as arguments of the library; what was not given is left out."""
    named = ("missing_values", "columns", "encoding", "read", "sheet", "scorer")
    how = reading(**{name: typed[name] for name in named if name in typed})
    return how | {name: typed[name] for name in ("lenient", "roles") if typed.get(name)}


def choices(metavar: str | None) -> str | None:
    """Return ``[one|other]`` where an option names the place in the library that lists its words.

    Examples
    --------
    >>> choices("d3stats.trajectories:Missing"), choices("ROLE=NAME")
    ('[exclude|wrong]', 'ROLE=NAME')
    """
    words = completion.words(metavar)
    return metavar if words is None else f"[{'|'.join(words)}]"


def paths_of(logs: list[str]) -> list[str]:
    """Replace the name of a bundled log by its file; for an unknown name the error suggests the nearest one."""
    from d3stats.log.files import as_path

    return [as_path(log) for log in logs]


def reading(
    missing_values: str | None = None,
    columns: list[str] | None = None,
    encoding: str | None = None,
    read: str | None = None,
    sheet: str | None = None,
    scorer: str | None = None,
) -> dict[str, Any]:
    """Return the options for reading sources, as arguments of the library; what was not given is left out."""
    from d3stats._check import choice

    words = None if missing_values is None else [word for word in missing_values.split(",") if word.strip()]
    how = {"missing_values": words, "columns": parse_columns(",".join(columns or [])), "encoding": encoding}
    how |= {name: given for name, given in (("sheet", sheet), ("scorer", scorer)) if given is not None}
    return how if read is None else {**how, "read": choice("read", read, ("answer",))}


def read_as(context: Any) -> tuple[str, ...]:
    """Return the options of a command that say how files are read, as they are typed for another command."""
    given = context.params
    try:
        how = reading(
            **{name: given.get(name) for name in ("missing_values", "columns", "encoding", "sheet", "scorer")}
        )
    except ValueError:  # the command itself refuses it
        return ()
    return reading_options(**how)


def left_out(problems: Iterable[Problem]) -> list[Note]:
    """Return one sentence for each problem that omitted data; an absent agent omits none."""
    return [
        Note(str(problem), kind=problem.kind, about=problem.place)
        for problem in problems
        if problem.left_out != "nothing"
    ]


def omitted_notes(lines: Sequence[Note]) -> list[str]:
    """Return each omitted record as a note; the source counts them in a warning.

    Examples
    --------
    >>> omitted_notes([Note("a.csv, line 3: no round", kind="no round", about="a.csv, line 3")])
    ['left out: a.csv, line 3: no round']
    """
    return [f"left out: {line}" for line in lines]
