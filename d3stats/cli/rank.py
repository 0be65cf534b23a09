"""``d3stats rank``: who is better than whom, from judgments of two at a time?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, one_format
from d3stats.cli.output import print_document, print_latex, print_tables, save_figure, tables_of, working

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.report.tables import Table

Judgments = Annotated[
    list[str],
    typer.Argument(
        autocompletion=completion.logs,
        help="Judgments: a table with the columns item, judge, first, second, winner (first, second, tie, or a name), "
        "a table with item, judge, contestant, score, or a debate log on two answers. Several files are one table.",
    ),
]
_MOST_ROWS = 15
"""So many contestants and pairs are shown without --all, so that the answer fits a screen."""


@derived("d3stats.inference.judges.bradley_terry:rank", {"judgments": Judgments})
def rank(
    given: Given,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Rank contestants from judgments of pairs, with ties, the order effect and clustered intervals."""
    from d3stats.inference.judges.bradley_terry import (
        effects_table,
        misfit_table,
        ranking_table,
        shares_table,
    )

    one_format(as_json, as_latex)
    with working("ranking"):
        found = given(given.source)
    if as_json:
        print_document(found.to_dict(), found.notes)
    elif as_latex:
        print_latex(tables_of(found))
    else:
        size = f"{found.n_judgments:,} judgments, {found.n_items:,} items in {found.n_clusters:,} clusters"
        unit = "Elo points" if found.scale == "elo" else "log-odds"
        tables = [
            _table(f"Ranking, in {unit} ({size})", ranking_table(found), everything),
            _table(
                "Predicted shares of the first of each pair, over both orders",
                shares_table(found),
                everything,
            ),
            _table("Effects, between equals", effects_table(found), everything),
            _table("Fit: share of the first of each pair, ties as half", misfit_table(found), everything),
        ]
        print_tables(found._answer(), tables, found.notes, everything=everything)
    if figure is not None:
        save_figure(found.plot, figure)


def _table(title: str, frame: pd.DataFrame, everything: bool) -> Table:
    """Return a table of text cells, cut to the first rows unless all are asked for."""
    most = len(frame) if everything else _MOST_ROWS
    title += f"; the first {most} of {len(frame)}" if len(frame) > most else ""
    rows = [tuple(map(str, row)) for row in frame.head(most).itertuples(index=False)]
    return title, tuple(map(str, frame.columns)), rows
