"""``d3stats abstain``: which verdicts should be withheld, so that few of the others are wrong?"""

from __future__ import annotations

from typing import Annotated

import typer

from d3stats.cli import completion
from d3stats.cli.derive import Given, derived
from d3stats.cli.options import Everything, Figure, Json, Latex, Logs, left_out, omitted_notes, one_format
from d3stats.cli.output import (
    print_document,
    print_latex,
    print_result,
    save_figure,
    tables_of,
    working,
)


@derived("d3stats.planning.abstain:abstain", {"logs": Logs})
def abstain(
    given: Given,
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            "-r",
            autocompletion=completion.rules,
            help="The stopping rule whose verdicts these are; by default each debate's last votes decide.",
        ),
    ] = None,
    everything: Everything = False,
    as_json: Json = False,
    as_latex: Latex = False,
    figure: Figure = None,
) -> None:
    """Choose which verdicts to withhold for their weak majorities, so that few of the others are wrong."""
    one_format(as_json, as_latex)
    with working("testing thresholds"):
        opened = given.open()
        omitted = left_out(opened.checked().problems)
        found = given(opened, rule=rule)
    if figure is not None:
        save_figure(found.plot, figure)
    notes = omitted_notes(omitted)
    if as_json:
        print_document(found.to_dict(), notes, left_out=omitted)
    elif as_latex:
        print_latex(tables_of(found))
    else:
        print_result(found, everything=everything, notes=notes)
