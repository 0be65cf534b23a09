"""The base of all worlds: checked parameters, those that a calibration may vary, and a name in study files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from math import inf
from typing import Any, ClassVar, NamedTuple, get_type_hints

from d3stats._check import (
    Finite,
    NonNegativeFloat,
    OpenProbability,
    PositiveFloat,
    PositiveInt,
    Probability,
    choice,
    meant,
    number,
    shown,
)
from d3stats._named import Value, named
from d3stats.polling import Polling
from d3stats.worlds.tokens import Lengths

__all__ = [
    "Group",
    "PanelWorld",
    "World",
    "completed",
    "from_table",
    "letters",
    "scalar",
    "simplex",
    "to_toml",
    "vector",
    "world_types",
]


class Group(NamedTuple):
    """Parameters that a calibration varies under one name; a vector makes several parameters.

    Attributes
    ----------
    read : callable
        From a world to its values.
    write : callable
        From a world and new values to a new world.
    low, high : float
        Range of a value.
    width : float
        What counts as a large difference, for a number without bounds.
    simplex : bool
        Whether the values are all weights but the last.
    closed : bool
        Whether a value may be `low` itself, as a standard deviation may be 0 and a precision may not.
    """

    read: Callable[[Any], tuple[float, ...]]
    write: Callable[[Any, tuple[float, ...]], Any]
    low: float = -inf
    high: float = inf
    width: float = 2.0
    simplex: bool = False
    closed: bool = False


_RANGES: dict[Any, tuple[float, float, bool]] = {
    Finite: (-inf, inf, False),
    NonNegativeFloat: (0.0, inf, True),
    PositiveFloat: (0.0, inf, False),
    Probability: (0.0, 1.0, False),
    OpenProbability: (0.0, 1.0, False),
}


def scalar(name: str, low: float, high: float, closed: bool = False, width: float = 2.0) -> Group:
    """Return the group of a field that is one number."""
    return Group(
        lambda world: (float(getattr(world, name)),),
        lambda world, values: replace(world, **{name: values[0]}),
        low,
        high,
        width,
        closed=closed,
    )


def completed(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return weights with the last one, which the others leave."""
    return (*values, max(0.0, 1.0 - sum(values)))


def simplex(read: Callable[[Any], tuple[float, ...]], write: Callable[[Any, Any], Any]) -> Group:
    """Return the group of weights that sum to 1, from functions that read and write all of them."""
    return Group(
        lambda w: tuple(read(w)[:-1]), lambda w, values: write(w, completed(values)), 0, 1, simplex=True
    )


def vector(name: str, given: Any, size: int, per: str) -> tuple[float, ...]:
    """Return a list as one finite number per seat, component and the like; or empty."""
    if isinstance(given, (int, float, str)):
        raise ValueError(
            f"{name} must be a list with one number per {per} ({size}); got {name}={shown(given)}"
        )
    values = tuple(number(name, value) for value in given)
    if len(values) not in (0, size):
        raise ValueError(f"{name} must have one number per {per} ({size}); got {len(values)}")
    return values


def letters(n_answers: int) -> tuple[str, ...]:
    """Return the names of that many answers: A, B, C and on to Z."""
    return tuple(chr(ord("A") + i) for i in range(n_answers))


@dataclass(frozen=True, kw_only=True)
class World(Value):
    """A frozen set of parameters from which debates can be drawn.

    A new family defines in its own file the attributes and methods below, and the functions that it registers for
    :func:`~d3stats.worlds.simulate_debates`, :func:`~d3stats.worlds.count_process`
    and :func:`~d3stats.worlds.synthetic_agent`.

    Attributes
    ----------
    name : str
        How a study file names the world.
    citation : str
        Where its equations are from.
    free : tuple of str
        The groups of parameters that a calibration varies by default.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> world = Voter(panel=5)
    >>> world.answers, world.points
    (('A', 'B'), None)
    >>> list(world.groups()), list(world.scalars("accuracy"))
    (['accuracy', 'precision'], ['accuracy'])
    >>> world.untold(("accuracy",), labelled=False)
    []
    """

    name: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    free: ClassVar[tuple[str, ...]] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers that may be voted for."""
        return ("A", "B")

    @property
    def polling(self) -> Polling | None:
        """Polls and decisions of the protocol that is drawn; None where no protocol is meant."""
        return None

    @property
    def points(self) -> tuple[int, int] | None:
        """The least and the greatest score of a side in raw points; None without scores."""
        return None

    def groups(self) -> dict[str, Group]:
        """Return what a calibration may vary, by name."""
        raise TypeError(f"world must be one that can be calibrated; got {type(self).__name__}")

    def untold(self, free: tuple[str, ...], labelled: bool) -> list[str]:
        """Say what no log of this family shows when these groups are varied, with labels or without."""
        return []

    def scalars(self, *names: str, width: float = 2.0) -> dict[str, Group]:
        """Return the groups of fields that are one number, with the ranges of their annotations."""
        hints = get_type_hints(type(self), include_extras=True)
        return {name: scalar(name, *_RANGES[hints[name]], width) for name in names}


@dataclass(frozen=True, kw_only=True)
class PanelWorld(World):
    """A panel of agents that vote once a round.

    Parameters
    ----------
    panel : int
        Seats on the panel.
    lengths : Lengths or None
        What the tokens of a round are made of; None records no tokens.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> Voter(panel=3, lengths=None).panel, isinstance(Voter(), PanelWorld)
    (3, True)
    """

    panel: PositiveInt = 7
    lengths: Lengths | None = field(default_factory=Lengths)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lengths is not None and not isinstance(self.lengths, Lengths):
            raise TypeError(f"lengths must be a Lengths or None; got {shown(self.lengths)}")


def from_table(table: Mapping[str, Any]) -> World:
    """Build a world from the table of its parameters in a study file.

    Parameters
    ----------
    table : mapping
        ``name`` says which world; every other key is a parameter of it. A parameter that is itself a value
        with parameters, such as ``lengths``, is a table again, or false for None.

    Returns
    -------
    World

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
        raise TypeError(f"world must be a table of its name and parameters; got {shown(table)}")
    kinds = world_types()
    if "name" not in table:
        raise ValueError(f"world must have a name, one of {', '.join(map(repr, kinds))}; got none")
    kind = kinds[choice("world", table["name"], tuple(kinds))]
    given = {key: value for key, value in table.items() if key != "name"}
    world: World = _build(kind, given, f"world {kind.name!r}")
    return world


def world_types() -> Mapping[str, type[World]]:
    """Return every world that a table can name, by its name; each file of this folder may hold some.

    Examples
    --------
    >>> "voter" in world_types()
    True
    """
    return named("d3stats.worlds", World)


def _build(kind: type[Any], given: Mapping[str, Any], what: str) -> Any:
    allowed = {parameter.name: parameter for parameter in fields(kind) if parameter.init}
    for key in given:
        if key not in allowed:
            listed = ", ".join(map(repr, allowed))
            raise ValueError(f"{what} must have keys among {listed}; got {shown(key)}{meant(key, allowed)}")
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
    return None if value is False and is_dataclass(default) else value


def to_toml(world: World) -> str:
    """Return the table of a study file that :func:`from_table` reads this world from.

    Examples
    --------
    >>> from d3stats.worlds import Voter
    >>> print(to_toml(Voter(panel=5, lengths=None)).splitlines()[:2])
    ['name = "voter"', 'panel = 5']
    """
    lines = [f'name = "{world.name}"']
    for given in fields(world):
        value = getattr(world, given.name)
        if value is not None or given.default is not None:
            lines.append(f"{given.name} = {_in_toml(value)}")
    return "\n".join(lines) + "\n"


def _in_toml(value: Any) -> str:
    if is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in fields(value)}
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_in_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_in_toml, value))}]"
    return json.dumps(False if value is None else value)
