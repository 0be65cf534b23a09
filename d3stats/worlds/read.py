"""A world from the table that a study file writes it as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from d3stats._check import choice, meant
from d3stats.worlds.base import World

__all__ = ["from_table", "world_types"]


def from_table(table: Mapping[str, Any]) -> World:
    """Build a world from a table of its parameters.

    Parameters
    ----------
    table : mapping
        ``name`` says which world; every other key is a parameter of it. A parameter that is itself a value
        with parameters, such as ``lengths``, is a table again.

    Raises
    ------
    ValueError, TypeError
        One line: an unknown world or key names what is allowed, a bad value is named with its requirement.

    Examples
    --------
    >>> from_table({"name": "voter", "panel": 5, "lengths": {"message_words": 80}}).panel
    5
    >>> from_table({"name": "voter", "seats": 5})
    Traceback (most recent call last):
    ValueError: world 'voter' must have keys among 'panel', 'lengths', 'accuracy', 'precision'; got 'seats'
    """
    if not isinstance(table, Mapping):
        raise TypeError(f"world must be a table of its name and parameters; got {table!r}")
    kinds = world_types()
    if "name" not in table:
        raise ValueError(f"world must have a name, one of {', '.join(map(repr, kinds))}; got none")
    kind = kinds[choice("world", table["name"], tuple(kinds))]
    given = {key: value for key, value in table.items() if key != "name"}
    world: World = _build(kind, given, f"world {kind.name!r}")
    return world


def world_types() -> dict[str, type[World]]:
    """Return every world that a table can name, by its name.

    Examples
    --------
    >>> "voter" in world_types()
    True
    """
    return {kind.name: kind for kind in _below(World) if kind.name}


def _below(kind: type[World]) -> Iterator[type[World]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


def _build(kind: type[Any], given: Mapping[str, Any], what: str) -> Any:
    allowed = {parameter.name: parameter for parameter in fields(kind) if parameter.init}
    for key in given:
        if key not in allowed:
            listed = ", ".join(map(repr, allowed))
            raise ValueError(f"{what} must have keys among {listed}; got {key!r}{meant(key, allowed)}")
    for key, parameter in allowed.items():
        if key not in given and parameter.default is MISSING and parameter.default_factory is MISSING:
            raise ValueError(f"{what} must have {key!r}; got none")
    values = {key: _value(allowed[key], value, f"{what}, {key}") for key, value in given.items()}
    return kind(**values)


def _value(parameter: Field[Any], value: Any, what: str) -> Any:
    default = parameter.default
    if parameter.default_factory is not MISSING:
        default = parameter.default_factory()
    if isinstance(value, Mapping) and is_dataclass(default):
        return _build(type(default), value, what)
    return value
