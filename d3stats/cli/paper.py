"""``d3stats paper``: the tables and figures of the papers, from own logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import (
    Everything,
    Figure,
    Json,
    Latex,
    Prices,
    RoleModels,
    models_by_role,
    paths_of,
)
from d3stats.cli.output import (
    csv_text,
    print_document,
    print_latex,
    print_result,
    save_figure,
    say,
    tables_of,
    working,
)
from d3stats.cli.scores import human_table

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="ITEM [LOG]...",
        autocompletion=completion.paper_items,
        help="A paper (d3, chateval, advocates, stability, frameworks), whose items are listed, or an item such as "
        "d3:table-1 and the logs that it is made from, in the order of its rows.",
    ),
]


@derived("d3stats.report.paper:paper", {"words": Words}, completes={"rules": completion.rules})
def paper(
    given: Given,
    human: Annotated[
        Path | None,
        typer.Option(
            "--human",
            metavar="TABLE",
            help="People's scores of single responses, for chateval:table-2: a column 'question' and a column per "
            "aspect (CSV, TSV, XLSX, Parquet).",
        ),
    ] = None,
    prices: Prices = None,
    role_models: RoleModels = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the numbers as CSV.")] = False,
    figure: Figure = None,
) -> None:
    """Make a table or figure of a paper from own logs, in the paper's layout; a paper's name lists its items."""
    from d3stats.report.paper import PaperIndex
    from d3stats.report.paper import paper as function

    if as_json + as_latex + as_csv > 1:
        raise ValueError("only one of --json, --latex and --csv may be given; got several")
    item, *logs = given.source
    more: dict[str, Any] = {} if human is None else {"human": human_table(human)}
    settings = given.settings
    by_role = models_by_role(prices, settings.get("model"), role_models, settings.get("output_share"))
    more |= {"prices": prices, "role_models": by_role or None}
    with working("reading logs"):
        found = function(item, *paths_of(logs), **given.settings, **given.reading, **more)
    if figure is not None:
        if isinstance(found, PaperIndex):
            raise ValueError(f"--figure must come with an item, as {item}:table-1; got {item}")
        save_figure(found.plot, figure)
    if as_json:
        print_document(found.to_dict(), found.notes)
    elif as_csv:
        say(csv_text(found.to_frame()), nl=False)
    elif as_latex:
        print_latex(tables_of(found))
    else:
        print_result(found, everything=everything)
