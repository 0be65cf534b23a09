"""``d3stats compare``: is one run better than another on the same items, and by how much?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, one_format, paths_of, refuse_replicates
from d3stats.cli.output import leave, print_document, print_latex, print_tables, save_figure, say, working
from d3stats.report.tables import comparison_tables, strata_notes, strata_of

if TYPE_CHECKING:
    from d3stats.inference import Comparison

LAST = "last"

Runs = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completion.logs,
        help="Two or more runs: tables with a column 'item' and 'correct' or 'score' (CSV, Parquet), debate "
        "logs, or bundled logs. The first is the reference.",
    ),
]


@derived("d3stats.inference.comparison.compare:compare", {"runs": Runs})
def compare(
    context: typer.Context,
    given: Given,
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="[COLUMN|verdict|plurality|votes|tokens|score:SIDE]",
            help="The column of a table, or the value to take from a log; default: the verdict.",
        ),
    ] = None,
    round_number: Annotated[
        list[str] | None,
        typer.Option(
            "--round",
            metavar="[ROUND|last]",
            help="The round of a log; give it once for all runs, or once per run.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Compare runs over the same items: the difference with its interval, then the tests."""
    one_format(as_json, as_latex)
    runs = given.source
    if len(runs) < 2:
        raise ValueError(f"runs must be at least two; got {runs}")
    refuse_replicates(context, given.settings["kind"])
    with working("comparing"):
        found = given(*paths_of(runs), value=value, round_number=_rounds(round_number))
    if figure is not None:
        save_figure(found.plot, figure)
    gate = None if found.margin is None else found.gate()
    if as_json:
        print_document(found.to_dict(), _notes(found))
    elif as_latex:
        say(found.to_latex())
        print_latex(strata_of(found.strata))
    else:
        _show(found, everything)
    if gate is not None:
        leave(gate)


def _rounds(given: list[str] | None) -> int | list[int | None] | None:
    if not given:
        return None
    rounds = [None if word == LAST else _whole(word) for word in given]
    return rounds[0] if len(rounds) == 1 else rounds


def _whole(word: str) -> int:
    if not word.isdecimal():
        raise ValueError(f"--round must be a round or 'last'; got {word!r}")
    return int(word)


def _show(found: Comparison, everything: bool) -> None:
    print_tables(
        found._answer(),
        comparison_tables(found),
        _notes(found),
        everything=everything,
        asked=strata_of(found.strata),
    )


def _notes(found: Comparison) -> list[str]:
    equal = [] if found.margin is None else [result.conclusion for result in found.equivalent(found.margin)]
    return [*_without_limits(found), *equal, *found.notes, *strata_notes(found.strata)]


def _without_limits(found: Comparison) -> list[str]:
    """Say why a run or a difference has no interval, where no note of a pair does."""
    from d3stats.estimate import named_notes

    told = [note for pair in found.differences for note in pair.notes]
    bare = [e for e in (*(d.difference for d in found.differences), *found.runs) if e.low is None and e.note]
    reasons = [(e.name, [f"no interval: {e.note}"]) for e in bare if not any(e.note in note for note in told)]
    return named_notes(reasons, "runs and differences")
