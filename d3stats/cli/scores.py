"""``d3stats scores``: what do the scores of a log say, by round, by aspect and by candidate?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, Logs, left_out, omitted_notes, one_format
from d3stats.cli.output import (
    print_document,
    print_latex,
    print_tables,
    save_figure,
    working,
)
from d3stats.report.tables import score_tables

if TYPE_CHECKING:
    import pandas as pd


@derived("d3stats.planning.scores:scores", {"logs": Logs})
def scores(
    given: Given,
    human: Annotated[
        Path | None,
        typer.Option(
            "--human",
            metavar="TABLE",
            help="Scores by people of single responses: a column 'question' and a column per aspect (CSV, TSV, XLSX, "
            "Parquet); shows their correlations with the scores of the log.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Show mean scores and gaps by round, aspects of single responses, and ranks of three or more candidates."""
    one_format(as_json, as_latex)
    people = None if human is None else human_table(human)
    with working("reading scores"):
        opened = given.open()
        found = given(opened, human=people)
    if figure is not None:
        save_figure(found.plot, figure)
    passed_over = left_out(opened.checked().problems)
    omitted = omitted_notes(passed_over)
    if as_json:
        print_document(found.to_dict(), omitted, left_out=passed_over)
        return
    tables = score_tables(found)
    if as_latex:
        print_latex(tables)
        return
    print_tables(found._answer(), tables, [*found.notes, *omitted], everything=everything)


def human_table(path: Path) -> pd.DataFrame:
    """Read a table of people's scores; cells that are words for missing are missing."""
    from d3stats.sources import open
    from d3stats.sources.item_tables import Fields

    class People(Fields):
        """A table of responses with any further columns: a column 'debate' makes no log of it."""

        def is_log(self, *_: Any) -> bool:
            return False

    if not path.is_file():
        raise ValueError(f"--human must be a table of scores; got no file {str(path)!r}")
    try:
        opened = open(path)
    except ValueError as error:
        raise ValueError(f"--human must be a table (CSV, TSV, XLSX or Parquet); {error}") from None
    if opened.kind != "table":
        raise ValueError(f"--human must be a table (CSV, TSV, XLSX or Parquet); got {str(path)!r}")
    read = opened.items(People((), ()), texts=("question", "debate", "cluster"))
    if "question" not in read.frame.columns:
        raise ValueError(
            f"--human must have the column 'question'; got {', '.join(map(str, read.frame.columns))}"
        )
    frame: pd.DataFrame = read.frame
    return frame
