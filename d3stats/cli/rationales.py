"""``d3stats rationales``: do rationales cite the debate, how alike are they, which reasons go with dissent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import (
    Columns,
    Encoding,
    Everything,
    Figure,
    Json,
    Latex,
    Level,
    MissingValues,
    ReadAs,
    Seed,
    SheetName,
    one_format,
    paths_of,
    reading,
)
from d3stats.cli.output import (
    print_json,
    print_latex,
    print_tables,
    save_figure,
    working,
)
from d3stats.report.tables import rationale_comparison_tables, rationale_tables

if TYPE_CHECKING:
    from d3stats.inference.reasons import RationaleComparison, Rationales


def rationales(
    logs: Annotated[
        list[str],
        typer.Argument(
            help="A log with texts, or two to compare: JSON lines whose turns have a text, or a table with a row per "
            "turn and a column 'text' (CSV, TSV, XLSX, Parquet). The first is the reference."
        ),
    ],
    names: Annotated[
        list[str] | None, typer.Option("--name", help="Name of a log; give it once per log.")
    ] = None,
    roles: Annotated[
        list[str] | None,
        typer.Option(
            "--role", help="Role whose texts are rationales; repeatable; default: all roles that vote."
        ),
    ] = None,
    round_number: Annotated[
        int | None,
        typer.Option("--round", help="The round whose texts are taken; each debate's last by default."),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="d3stats.sources.texts:Order",
            help="Order of speaking in a round: one after another in the order of the rows (turns), or all that vote "
            "at the same time (rounds); default: that of the log's protocol, else rounds.",
        ),
    ] = None,
    cites: Annotated[
        Path | None,
        typer.Option(
            "--cites",
            metavar="FILE.toml",
            help="Patterns that count as a citation: lines NAME = 'regular expression' or NAME = ['word', "
            "'word'].",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="PHRASE",
            help="Words that do not count as a citation, because the prompt has them; repeatable.",
        ),
    ] = None,
    reasons: Annotated[
        Path | None,
        typer.Option("--reasons", metavar="FILE.toml", help="The reasons to look for, written like --cites."),
    ] = None,
    repeated_words: Annotated[
        int, typer.Option("--words", help="So many words in a row of another turn are repeated; 0: none.")
    ] = 6,
    embed: Annotated[
        list[Path] | None,
        typer.Option(
            "--embed",
            metavar="FILE.npy",
            help="Vectors of sentences in place of TF-IDF, a row per line of --table; once per log.",
        ),
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(
            "--table",
            metavar="FILE.csv",
            help="Also write every rationale here and what was found in it; once per log.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            "--family",
            metavar="d3stats.inference.comparison.multiplicity:Family",
            help="Adjustment of p-values for the number of reasons.",
        ),
    ] = "holm",
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    sheet: SheetName = None,
    read: ReadAs = None,
    level: Level = 0.95,
    seed: Seed = 0,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Measure rationales: how many cite the debate, how alike they are, and which reasons go with dissent."""
    one_format(as_json, as_latex)
    if len(logs) > 2:
        raise ValueError(f"logs must be one or two; got {len(logs)}")
    for option, given in (("--name", names), ("--embed", embed), ("--table", table)):
        if given and len(given) != len(logs):
            raise ValueError(f"{option} must be given once per log ({len(logs)}); got it {len(given)} times")
    if names and len(logs) == 1:
        raise ValueError(f"--name must come with two logs; got one, named {names[0]!r}")
    from d3stats.inference import compare_rationales
    from d3stats.inference import rationales as measured

    settings: dict[str, Any] = {"role": roles, "round_number": round_number, "level": level, "rng": seed}
    settings |= {
        "order": order,
        "cites": _patterns("--cites", cites),
        "reasons": _patterns("--reasons", reasons),
    }
    settings |= {"ignore": ignore, "repeated_words": repeated_words or None, "family": family}
    settings |= reading(missing_values, columns, encoding, read, sheet)
    found: Rationales | RationaleComparison
    with working("reading rationales"):
        if len(logs) == 1:
            found = measured(paths_of(logs)[0], embed=embed[0] if embed else None, **settings)
            each = [found]
        else:
            settings |= {"embed": tuple(embed) if embed else None, "names": tuple(names) if names else None}
            found = compare_rationales(*paths_of(logs), **settings)
            each = [found.first, found.second]
    for path, one in zip(table or (), each, strict=False):
        one.marks.to_csv(path, index=False)
        typer.echo(f"table: {path}", err=True)
    if figure is not None:
        save_figure(found.plot, figure)
    if as_json:
        print_json(found.to_dict())
    elif as_latex:
        print_latex(_tables(found))
    else:
        _show(found, everything)


def _tables(found: Any) -> list[Any]:
    return rationale_comparison_tables(found) if hasattr(found, "differences") else rationale_tables(found)


def _show(found: Any, everything: bool) -> None:
    from d3stats.estimate import named_notes

    notes = list(found.notes)
    if hasattr(found, "differences"):
        own = zip(found.names, (found.first.notes, found.second.notes), strict=True)
        notes += named_notes(own, "logs")
    bare: dict[str, list[str]] = {}
    for e in found.estimates:
        if e.low is None and e.note:
            bare.setdefault(e.note, []).append(e.name)
    said = [f"no interval for {'; '.join(names)}: {note}" for note, names in bare.items()]
    print_tables(found._answer(), _tables(found), [*notes, *said], everything=everything)


def _patterns(option: str, path: Path | None) -> dict[str, Any] | None:
    """Read names and patterns from a TOML file."""
    from d3stats.sources import read_toml

    if path is None:
        return None
    found = read_toml(path, option, "write lines NAME = 'pattern'")
    if not found:
        raise ValueError(
            f"{option} must hold at least one pattern; got none in {path}; write lines NAME = 'pattern'"
        )
    return found
