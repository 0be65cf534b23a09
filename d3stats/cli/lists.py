"""Lists of rules, worlds and protocols: each name with one sentence and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any

import typer

from d3stats.cli import completion
from d3stats.cli.output import print_json, print_text, say

Name = Annotated[
    str | None,
    typer.Argument(autocompletion=completion.listed, help="Show only this one, with all its parameters."),
]


def show_list(what: str, known: Mapping[str, Any], name: str | None, as_json: bool) -> None:
    """Print all rules, worlds or protocols, or one with its parameters: defaults of a class, values of an object."""
    from d3stats._check import choice

    chosen = known if name is None else {name: known[choice(what, name, tuple(known))]}
    if as_json:
        print_json([{"name": n, "parameters": _parameters(f), "about": _about(f)} for n, f in chosen.items()])
        return
    if name is not None:
        print_list([(name, _about(known[name]), "")])
        for parameter, default in _parameters(known[name]).items():
            say(f"  {parameter}" + ("" if default is None else f" = {default}"))
        return
    print_list([(n, _about(f), _listed(_parameters(f))) for n, f in sorted(chosen.items())])
    say(f"\nAll parameters of one: d3stats {what}s NAME")


def _about(make: Any) -> str:
    """Return the first sentence of a docstring."""
    first = (inspect.getdoc(make) or "").split("\n\n")[0]
    said = " ".join(first.split()).replace("`", "").removeprefix("Return ").strip()
    return said[:1].upper() + said[1:]


def _parameters(make: Any) -> dict[str, str | None]:
    """Return what can be given, with the default as text; None where there is none and it must be given."""
    if is_dataclass(make) and not isinstance(make, type):
        return {f.name: _text(getattr(make, f.name)) for f in fields(make) if f.init}
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
        return f"{type(value).__name__}(...)"
    if isinstance(value, (tuple, list)):
        if any(is_dataclass(part) or hasattr(part, "_fields") for part in value):
            return f"({len(value)} of {type(value[0]).__name__})"
        return f"({', '.join(map(_part, value))}{',' if len(value) == 1 else ''})"
    return str(value) or "''"


def _part(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else _text(value) if value != "" else "''"


def _listed(parameters: Mapping[str, str | None]) -> str:
    return ", ".join(name if default is None else f"{name}={default}" for name, default in parameters.items())


def print_list(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print each name with one sentence, and its parameters below."""
    lines = list(rows)
    indent = max((len(name) for name, *_ in lines), default=0) + 2
    for name, about, more in lines:
        print_text(about, f"{name:<{indent}}", " " * indent)
        if more:
            print_text(more, " " * indent, " " * indent)
