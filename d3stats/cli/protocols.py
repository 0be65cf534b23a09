"""``d3stats protocols``: the debate protocols."""

from __future__ import annotations

from d3stats.cli.lists import Name, show_list
from d3stats.cli.options import Json


def protocols(name: Name = None, as_json: Json = False) -> None:
    """List the debate protocols, as debate --protocol takes them."""
    from d3stats.protocols import protocols as known

    show_list("protocol", known(), name, as_json)
