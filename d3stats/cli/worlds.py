"""``d3stats worlds``: the synthetic worlds."""

from __future__ import annotations

from d3stats.cli.lists import Name, show_list
from d3stats.cli.options import Json


def worlds(name: Name = None, as_json: Json = False) -> None:
    """List the synthetic worlds, for study files and debate --synthetic."""
    from d3stats.worlds.base import world_types

    show_list("world", world_types(), name, as_json)
