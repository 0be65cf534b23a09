"""``d3stats panel``: what is a panel of judges worth, and which judges are the best for a price?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats._words import Advised, counted
from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Json, Latex, one_format
from d3stats.cli.output import print_document, print_latex, print_tables, tables_of, working

if TYPE_CHECKING:
    from d3stats.inference.judges.panel import Panel

Votes = Annotated[
    str,
    typer.Argument(
        autocompletion=completion.logs,
        help="Votes: a long table (columns item, agent or rater, vote), a wide one (a column per judge), a debate log, "
        "or a bundled log. A column 'label' has the right answers, where there are some.",
    ),
]
_MOST_ROWS = 12
"""So many judges and panels are shown without --all, so that the answer fits a screen."""


@derived("d3stats.inference.judges.panel:panel", {"votes": Votes})
def panel(
    given: Given,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            metavar="JUDGE=PRICE",
            help="Price of a vote of a judge, once for every judge; by default each vote costs 1.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Measure what a panel of judges is worth, with or without labels, and find the best panel for a price."""
    one_format(as_json, as_latex)
    with working("trying panels"):
        found = given(given.source, prices=_prices(prices or []))
    if as_json:
        print_document(found.to_dict(), found.notes)
    elif as_latex:
        print_latex(tables_of(found))
    else:
        tables = [_judges(found, everything)]
        more = [_frontier(found, everything)] if len(found.frontier) else []
        asked = more if found.chosen else []
        further = [] if asked else more
        print_tables(found._answer(), [*tables, *further], found.notes, everything=everything, asked=asked)


def _prices(given: list[str]) -> dict[str, float] | None:
    prices: dict[str, float] = {}
    for text in given:
        judge, found, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not found or judge in prices or number != number:
            step = "write it as --price NAME=0.5, once for every judge"
            raise ValueError(
                Advised("--price must be JUDGE=PRICE with a number, each judge once", step, got=repr(text))
            )
        prices[judge] = number
    return prices or None


def _limits(value: float, low: float, high: float, sign: str = "") -> str:
    form = f"{sign}z.3f"
    return f"{value:{form}}" + ("" if low != low else f" [{low:{form}}, {high:{form}}]")


def _judges(found: Panel, everything: bool) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    frame = found.judges.sort_values("accuracy", ascending=False, kind="stable")
    title = f"Judges, against {found.truth} ({counted(found.n_items, 'item')} in {counted(found.n_clusters, 'cluster')}"
    most = len(frame) if everything else _MOST_ROWS
    title += f"; the first {most} of {len(frame)})" if len(frame) > most else ")"
    rows: list[tuple[str, ...]] = [
        (
            str(row["judge"]),
            _limits(row["accuracy"], row["low"], row["high"]),
            f"{row['weight']:z.2f}",
            _limits(row["adds"], row["adds_low"], row["adds_high"], "+"),
            f"{row['price']:g}",
        )
        for row in frame.head(most).to_dict("records")
    ]
    known = "accuracy" if found.truth == "labels" else "estimated accuracy"
    return title, ("judge", known, "weight", "adds", "price"), rows


def _frontier(found: Panel, everything: bool) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    frame = found.frontier
    frame = frame if everything else frame.tail(_MOST_ROWS)
    rows: list[tuple[str, ...]] = [
        (
            f"{row['price']:g}",
            str(row["judges"]),
            f"{row['accuracy']:z.3f}",
            _limits(row["held_out"], row["low"], row["high"]),
        )
        for row in frame.to_dict("records")
    ]
    return "Best panel by price", ("price", "judges", "where chosen", "held-out clusters"), rows
