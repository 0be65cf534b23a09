"""``d3stats compare``: is one run better than another on the same items, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.options import (
    Boot,
    Columns,
    Encoding,
    Figure,
    Json,
    Latex,
    Level,
    Missing,
    MissingValues,
    Seed,
    one_format,
    paths_of,
    reading,
)
from d3stats.cli.output import (
    print_json,
    print_notes,
    print_table,
    print_warnings,
    save_figure,
    without_warnings,
    working,
)
from d3stats.report.tables import comparison_tables

if TYPE_CHECKING:
    from d3stats.inference import Comparison

LAST = "last"


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Two or more runs: tables with a column 'item' and 'correct' or 'score' (CSV, Parquet), debate "
            "logs, or 'slm7'. The first is the reference."
        ),
    ],
    names: Annotated[
        list[str] | None, typer.Option("--name", help="What a run is called; once per run.")
    ] = None,
    items: Annotated[
        str,
        typer.Option(
            "--items",
            metavar="d3stats.inference.comparison.runs:Items",
            help="Refuse runs over different items, or keep the common items.",
        ),
    ] = "same",
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="d3stats.inference.comparison.runs:ItemIs",
            help="What an item is in a log; with question, its debates are averaged.",
        ),
    ] = "question",
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="[COLUMN|verdict|plurality|votes|tokens|score:SIDE]",
            help="A table's column, or what is read from a log; its verdict by default.",
        ),
    ] = None,
    rounds: Annotated[
        list[str] | None,
        typer.Option(
            "--round", metavar="[ROUND|last]", help="The round of a log; once for all runs or once per run."
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Compare all runs with this one (a name), not all pairs.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin", help="Largest difference that nobody minds: adds non-inferiority, equivalence."
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="d3stats.inference.comparison.pair_data:Kind",
            help="Kind of interval.",
        ),
    ] = "cluster t",
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            metavar="d3stats.inference.comparison.pair_data:Test",
            help="Whose p is shown; by default the test of the interval.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            "--family",
            metavar="d3stats.inference.comparison.multiplicity:Family",
            help="How p is adjusted over the pairs.",
        ),
    ] = "holm",
    missing: Missing = "exclude",
    missing_values: MissingValues = None,
    columns: Columns = None,
    encoding: Encoding = None,
    level: Level = 0.95,
    n_boot: Boot = 10_000,
    seed: Seed = 0,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Compare runs over the same items: the difference with its interval first, then the tests."""
    one_format(as_json, as_latex)
    if len(runs) < 2:
        raise ValueError(f"runs must be at least two; got {runs}")
    from d3stats.inference import compare as compare_runs

    settings: dict[str, Any] = {"items": items, "by": by, "value": value, "missing": missing, "kind": kind}
    settings |= {"test": test, "family": family, "baseline": baseline, "margin": margin, "level": level}
    settings |= {
        "round_number": _rounds(rounds),
        "names": names,
        **reading(missing_values, columns, encoding),
        "n_boot": n_boot,
        "rng": seed,
    }
    with working("comparing"):
        first, second, *more = paths_of(runs)
        found = compare_runs(first, second, *more, **settings)
    if figure is not None:
        save_figure(found.plot, figure)
    if as_json:
        print_json(found.to_dict())
    elif as_latex:
        typer.echo(found.to_latex())
    else:
        _show(found)


def _rounds(given: list[str] | None) -> int | list[int | None] | None:
    if not given:
        return None
    rounds = [None if word == LAST else _whole(word) for word in given]
    return rounds[0] if len(rounds) == 1 else rounds


def _whole(word: str) -> int:
    if not word.isdecimal():
        raise ValueError(f"--round must be a round or 'last'; got {word!r}")
    return int(word)


def _show(found: Comparison) -> None:
    print_warnings(found.notes)
    for table in comparison_tables(found):
        print_table(*table)
    if found.margin is not None:
        results = (*found.noninferior(found.margin), *found.equivalent(found.margin))
        print_notes([result.conclusion for result in results])
    print_notes([*_without_limits(found), *without_warnings(found.notes)])


def _without_limits(found: Comparison) -> list[str]:
    """Say why a run or a difference has no interval, where no note of a pair does."""
    from d3stats.estimate import named_notes

    bare = [d.difference for d in found.differences if not any(d.difference.note in note for note in d.notes)]
    reasons = [(e.name, [f"no interval: {e.note}"]) for e in (*bare, *found.runs) if e.low is None and e.note]
    return named_notes(reasons, "runs and differences")
