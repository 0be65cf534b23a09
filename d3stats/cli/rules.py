"""``d3stats rules``: the stopping rules."""

from __future__ import annotations

from d3stats.cli.lists import Name, show_list
from d3stats.cli.options import Json


def rules(name: Name = None, as_json: Json = False) -> None:
    """List the stopping rules, for --rule and --stop."""
    from d3stats.stopping.text import rule_names

    show_list("rule", rule_names(), name, as_json)
