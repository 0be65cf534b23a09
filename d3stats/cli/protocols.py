"""``d3stats protocols``: the debate protocols."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.lists import show_list
from d3stats.cli.options import Figure, Json


def protocols(
    name: Annotated[
        str | None,
        typer.Argument(
            autocompletion=completion.listed,
            help="Show only this one, with all its parameters; or with values: samre:max_rounds=3.",
        ),
    ] = None,
    as_json: Json = False,
    figure: Figure = None,
) -> None:
    """List the debate protocols, for debate --protocol; --figure draws who speaks when and who reads whom."""
    from d3stats.protocols import protocol_from_text, schematic
    from d3stats.protocols import protocols as listed

    known: dict[str, Any] = {**listed()}
    if name is not None and ":" in name:
        known[name] = protocol_from_text(name)
    if figure is not None:
        if name is None:
            raise ValueError(
                "--figure draws one protocol; got no name: d3stats protocols samre --figure samre"
            )
        from d3stats.cli.output import save_figure

        save_figure(schematic(name).plot, figure)
    show_list("protocol", known, name, as_json)
