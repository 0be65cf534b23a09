"""``d3stats correct``: what is true of all items, where a judge saw all and people labelled some?"""

from __future__ import annotations

from typing import Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Json, Latex, one_format
from d3stats.cli.output import print_document, print_latex, print_result, tables_of, working

Judged = Annotated[
    str,
    typer.Argument(
        autocompletion=completion.logs,
        help="A table with a row per item (columns of the judge and 'label', empty where unknown) as CSV, XLSX or "
        "Parquet, a debate log, or a bundled log.",
    ),
]


@derived("d3stats.inference.judges.correct:correct", {"file": Judged})
def correct(
    given: Given,
    chance: Annotated[
        str | None,
        typer.Option(
            "--chance",
            help="The column with the probability with which each item was chosen for a label; labels then count as "
            "1 / chance items.",
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories",
            help="All categories in order, separated by commas; default: the categories in the data.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
) -> None:
    """Correct what a judge says of all items by the labels of some, and plan how many labels an interval takes."""
    one_format(as_json, as_latex)
    order = None if categories is None else [x.strip() for x in categories.split(",")]
    with working("correcting"):
        found = given(given.source, chance=chance, categories=order)
    if as_json:
        print_document(found.to_dict(), [])
    elif as_latex:
        print_latex(tables_of(found))
    else:
        print_result(found, everything=everything)
