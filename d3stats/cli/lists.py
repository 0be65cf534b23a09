"""``d3stats rules``, ``worlds``, ``protocols``, ``formats``: what there is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any

import typer

from d3stats.cli.options import Json
from d3stats.cli.output import print_json, print_text

Name = Annotated[str | None, typer.Argument(help="Only this one, with all its parameters.")]
_READ = {
    "jsonl": "the log that d3stats writes: a header, then items, turns and verdicts, one JSON object a line; or flat "
    "lines, one object per turn; also .ndjson, .jsonl.gz",
    "csv": "one row per turn: debate, round, agent, vote, label, and more if known; or a wide table, one column per "
    "agent or per round; with commas, semicolons, tabs or |; also .csv.gz",
    "tsv": "the same tables with tabs; also .tsv.gz",
    "xlsx": "the same tables, on the first sheet of a workbook",
    "parquet": "the same tables as Parquet",
}
"""Forms of logs that every command reads without an import."""


def rules(name: Name = None, as_json: Json = False) -> None:
    """List the stopping rules, as --rule and --stop take them."""
    from d3stats.stopping.text import rule_names

    _show("rule", rule_names(), name, as_json)


def worlds(name: Name = None, as_json: Json = False) -> None:
    """List the synthetic worlds, as a study file and debate --synthetic take them."""
    from d3stats.worlds.base import world_types

    _show("world", world_types(), name, as_json)


def protocols(name: Name = None, as_json: Json = False) -> None:
    """List the debate protocols, as debate --protocol takes them."""
    from d3stats.protocols.catalogue import protocols as known

    _show("protocol", known(), name, as_json)


def formats(as_json: Json = False) -> None:
    """List the forms of logs that are read as they are, and those that d3stats import turns into logs."""
    from d3stats.log.importers import available

    imported = {name: module.title for name, module in available().items()}
    if as_json:
        print_json({"read": _READ, "import": imported})
        return
    typer.echo("Read as they are by every command:")
    _print([(f".{name}", text, "") for name, text in _READ.items()])
    typer.echo("\nImported first, with d3stats import FORMAT SRC -o LOG.jsonl:")
    _print([(name, text, "") for name, text in imported.items()])


# ------------------------------------------------------------------------------------------ lists


def _show(what: str, known: Mapping[str, Callable[..., Any]], name: str | None, as_json: bool) -> None:
    from d3stats._check import choice

    chosen = known if name is None else {name: known[choice(what, name, tuple(known))]}
    if as_json:
        print_json([{"name": n, "parameters": _parameters(f), "about": _about(f)} for n, f in chosen.items()])
        return
    if name is not None:
        _print([(name, _about(known[name]), "")])
        for parameter, default in _parameters(known[name]).items():
            typer.echo(f"  {parameter}" + ("" if default is None else f" = {default}"))
        return
    _print([(n, _about(f), _listed(_parameters(f))) for n, f in sorted(chosen.items())])
    typer.echo(f"\nAll parameters of one: d3stats {what}s NAME")


def _about(make: Callable[..., Any]) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(make) or "").split("\n\n")[0]
    said = " ".join(first.split()).replace("`", "").removeprefix("Return ").strip()
    return said[:1].upper() + said[1:]


def _parameters(make: Callable[..., Any]) -> dict[str, str | None]:
    """Return what can be given, with the default as text; None where there is none and it must be given."""
    if is_dataclass(make):
        return {f.name: _default(f) for f in fields(make) if f.init}
    return {
        p.name: None if p.default is inspect.Parameter.empty else _text(p.default)
        for p in inspect.signature(make).parameters.values()
    }


def _default(parameter: Field[Any]) -> str | None:
    if parameter.default is not MISSING:
        return _text(parameter.default)
    return None if parameter.default_factory is MISSING else _text(parameter.default_factory())


def _text(value: Any) -> str:
    if is_dataclass(value):
        return f"[{type(value).__name__}]"
    if isinstance(value, (tuple, list)):
        return f"[{len(value)} values]" if any(map(is_dataclass, value)) else repr(value)
    return str(value) or "''"


def _listed(parameters: Mapping[str, str | None]) -> str:
    return ", ".join(name if default is None else f"{name}={default}" for name, default in parameters.items())


def _print(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print names with a sentence each, and below it their parameters."""
    lines = list(rows)
    indent = max((len(name) for name, *_ in lines), default=0) + 2
    for name, about, more in lines:
        print_text(about, f"{name:<{indent}}", " " * indent)
        if more:
            print_text(more, " " * indent, " " * indent)
