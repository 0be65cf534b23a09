"""``d3stats confidence``: are judges as often right as they say?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats._words import percent, points
from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Json, Latex, one_format
from d3stats.cli.output import print_document, print_latex, print_tables, tables_of, working

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.inference.judges.confidence import Confidence
    from d3stats.report.tables import Table

Votes = Annotated[
    str,
    typer.Argument(
        autocompletion=completion.logs,
        help="A log or table of votes with labels and a column 'confidence' from 0 to 1 (in a wide table "
        "'x_confidence' beside the votes in 'x').",
    ),
]
_MOST_ROWS = 12
"""So many judges are shown without --all."""


@derived("d3stats.inference.judges.confidence:confidence", {"votes": Votes})
def confidence(
    given: Given,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Hold stated confidences against the right answers, recalibrate them, and weight the votes by them."""
    one_format(as_json, as_latex)
    with working("recalibrating"):
        found = given(given.source)
    if as_json:
        print_document(found.to_dict(), found.notes)
    elif as_latex:
        print_latex(tables_of(found))
    else:
        first = [_voters(found.rounds, "round", found, everything)] if len(found.rounds) else []
        judges = [_voters(found.judges, "judge", found, everything)] if len(found.judges) > 1 else []
        bins = [_bins(found)]
        tables, further = (
            (first or judges or bins),
            [*(judges if first else []), *(bins if first or judges else [])],
        )
        print_tables(found._answer(), [*tables, *further], found.notes, everything=everything, asked=[])


def _voters(frame: pd.DataFrame, key: str, found: Confidence, everything: bool) -> Table:
    title = f"By {key} ({found.n_votes:,} votes in {found.n_clusters:,} clusters"
    title = f"By {key}" if key == "round" else f"{title})"
    if key == "judge":
        frame = frame.sort_values("over", ascending=False, kind="stable")
    most = len(frame) if everything else _MOST_ROWS
    title += f", the first {most} of {len(frame)}" if len(frame) > most else ""
    rows: list[tuple[str, ...]] = [
        (
            str(row[key]),
            f"{row['n']:,}",
            percent(row["confidence"]),
            percent(row["right"]),
            points(row["over"], row["low"], row["high"]),
        )
        for row in frame.head(most).to_dict("records")
    ]
    return title, (key, "votes", "says", "right", "overconfident by"), rows


def _bins(found: Confidence) -> Table:
    rows: list[tuple[str, ...]] = [
        (
            percent(row["confidence"]),
            f"{row['n']:,}",
            percent(row["right"]),
            ""
            if row["band_low"] != row["band_low"]
            else f"{percent(row['band_low'])} to {percent(row['band_high'])}",
        )
        for row in found.bins.to_dict("records")
    ]
    return "By stated confidence", ("says", "votes", "right", "if calibrated"), rows
