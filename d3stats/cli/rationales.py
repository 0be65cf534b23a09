"""``d3stats rationales``: do rationales cite the debate, how alike are they, which reasons go with dissent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, one_format, paths_of
from d3stats.cli.output import csv_text, print_document, print_latex, print_tables, save_figure, say, working
from d3stats.report.tables import rationale_comparison_tables, rationale_tables

if TYPE_CHECKING:
    pass


Texts = Annotated[
    list[str],
    typer.Argument(
        help="A log with texts, or two to compare: JSON lines whose turns have a text, or a table with a row per "
        "turn and a column 'text' (CSV, TSV, XLSX, Parquet). The first is the reference."
    ),
]


@derived("d3stats.inference.reasons.rationales:rationales", {"logs": Texts})
def rationales(
    given: Given,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role", help="Role whose texts are rationales; repeatable; default: all roles that vote."
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
    reasons: Annotated[
        Path | None,
        typer.Option("--reasons", metavar="FILE.toml", help="The reasons to look for, written like --cites."),
    ] = None,
    repeated_words: Annotated[
        int,
        typer.Option(
            "--repeated-words", help="So many words in a row of another turn are repeated; 0: none."
        ),
    ] = 6,
    embed: Annotated[
        list[Path] | None,
        typer.Option(
            "--embed",
            metavar="FILE.npy",
            help="Vectors of sentences in place of TF-IDF, a row per line of --table; once per log.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="Name of a log; give it once per log.")
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(
            "--table",
            metavar="FILE.csv",
            help="Also write every rationale here and what was found in it; once per log.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Measure rationales: how many cite the debate, how alike they are, and which reasons go with dissent."""
    one_format(as_json, as_latex)
    logs = given.source
    if len(logs) > 2:
        raise ValueError(f"logs must be one or two; got {len(logs)}")
    for option, typed in (("--name", names), ("--embed", embed), ("--table", table)):
        if typed and len(typed) != len(logs):
            raise ValueError(f"{option} must be given once per log ({len(logs)}); got it {len(typed)} times")
    if names and len(logs) == 1:
        raise ValueError(f"--name must come with two logs; got one, named {names[0]!r}")
    from d3stats.inference import compare_rationales

    own: dict[str, Any] = {"role": role, "repeated_words": repeated_words or None}
    own |= {"cites": _patterns("--cites", cites), "reasons": _patterns("--reasons", reasons)}
    found: Any
    with working("reading rationales"):
        if len(logs) == 1:
            found = given(paths_of(logs)[0], embed=embed[0] if embed else None, **own)
            each = [found]
        else:
            own |= {"embed": tuple(embed) if embed else None, "names": tuple(names) if names else None}
            first, second = paths_of(logs)
            found = compare_rationales(first, second, **given.settings, **given.reading, **own)
            each = [found.first, found.second]
    for path, one in zip(table or (), each, strict=False):
        path.write_text(csv_text(one.marks), encoding="utf-8")
        say(f"table: {path}", err=True)
    if figure is not None:
        save_figure(found.plot, figure)
    if as_json:
        print_document(found.to_dict(), _notes(found))
    elif as_latex:
        print_latex(_tables(found))
    else:
        _show(found, everything)


def _tables(found: Any) -> list[Any]:
    return rationale_comparison_tables(found) if hasattr(found, "differences") else rationale_tables(found)


def _show(found: Any, everything: bool) -> None:
    print_tables(found._answer(), _tables(found), _notes(found), everything=everything)


def _notes(found: Any) -> list[str]:
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
    return [*notes, *said]


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
