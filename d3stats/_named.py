"""Values with a name and parameters that are checked, written as text and read from it: stopping rules and protocols.

::

    value    := name [":" argument ("," argument)*]
    argument := [key "="] word ("+" word)*

Several words joined by ``+`` are a tuple, as in ``referees=critic+scientist``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pkgutil
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from d3stats._check import choice, flag, meant

__all__ = ["Reader", "Value", "named", "stated", "written"]

T = TypeVar("T")
Check = Callable[[str, Any], Any]


class Value:
    """A frozen dataclass whose fields are checked, and put in their type, as their annotations say.

    An annotation with a check (``PositiveInt``, ``OpenProbability``), a ``Literal`` and ``bool`` are checked; any of
    these ``| None`` is also None; every other annotation checks nothing. A subclass with more to check calls
    ``super().__post_init__()`` first.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Counted(Value):
    ...     votes: Literal["all", "latest"] = "all"
    >>> Counted("last")
    Traceback (most recent call last):
    ...
    ValueError: votes must be one of 'all', 'latest'; got votes='last'; did you mean 'latest'?
    """

    def __post_init__(self) -> None:
        kind: Any = type(self)  # a class with __hash__ is hashable, which type checkers doubt
        for name, check in _checks(kind).items():
            object.__setattr__(self, name, check(name, getattr(self, name)))


@functools.cache
def _checks(kind: Any) -> dict[str, Check]:
    hints = typing.get_type_hints(kind, include_extras=True)
    found = {f.name: _check_of(hints[f.name]) for f in fields(kind)}
    return {name: check for name, check in found.items() if check is not None}


def _check_of(hint: Any) -> Check | None:
    kind, inner = typing.get_origin(hint), typing.get_args(hint)
    if kind is Annotated:
        check: Check = hint.__metadata__[0]
        return check
    if kind is Literal:
        return lambda name, value: choice(name, value, inner)
    if kind in (typing.Union, types.UnionType) and len(inner) == 2 and types.NoneType in inner:
        some = _check_of(inner[0] if inner[1] is types.NoneType else inner[1])
        return None if some is None else lambda name, value: None if value is None else some(name, value)
    return flag if hint is bool else None


def written(value: Any, *, positional: bool = False) -> str:
    """Return a named dataclass as text: what differs from its defaults.

    Parameters
    ----------
    positional : bool
        Write the first parameter without its key where it is a number or has no default.
    """
    shown = []
    for at, parameter in enumerate(fields(value)):
        given, default = getattr(value, parameter.name), parameter.default
        keyless = positional and at == 0 and (isinstance(given, (int, float)) or default is MISSING)
        if not keyless and default is not MISSING and given == default:
            continue
        text = "+".join(map(str, given)) if isinstance(given, tuple) else str(given)
        text = f"({text})" if isinstance(given, Value) else text
        shown.append(text if keyless else f"{parameter.name}={text}")
    return f"{value.name}:{','.join(shown)}" if shown else str(value.name)


@functools.cache
def named(package: str, kind: type[T]) -> Mapping[str, type[T]]:
    """Return every class of a kind by its name: those that the modules of a package define and that can be made."""
    found: dict[str, type[T]] = {}
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            if not inspect.isclass(value) or not issubclass(value, kind) or value.__module__ != info.name:
                continue
            name = getattr(value, "name", "")
            if inspect.isabstract(value) or not name:
                continue
            if name in found:
                raise ValueError(
                    f"name must be unique; got {name!r} in {found[name].__module__} and in {info.name}"
                )
            found[name] = value
    return types.MappingProxyType(dict(sorted(found.items())))


_STATED = re.compile(
    r"^    (?:name(?:: ClassVar\[str\])?(?: = reason)?|presets: ClassVar\[tuple\[str, ...\]\]) = (.+)$",
    re.MULTILINE,
)


def stated(package: str) -> tuple[str, ...]:
    """Return the names and presets that a folder's classes state in their source, without importing it.

    :func:`named` imports every module of the folder, which takes a second; a shell that completes a word waits less.
    """
    spec = importlib.util.find_spec(package)
    folders = [] if spec is None else spec.submodule_search_locations or []
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in Path(folder).glob("*.py")]
    return tuple(
        sorted({name for text in texts for part in _STATED.findall(text) for name in _QUOTED.findall(part)})
    )


_QUOTED = re.compile(r'"([^"]+)"')

_WORD = re.compile(r"(?:(?!\.after\()[^\s|&(),=])+")


class Reader:
    """A recursive descent over one text; `at` is the current position.

    Parameters
    ----------
    text : str
    what : str
        What the text is of, for messages; as a class attribute `part`, what its parameters are called.
    known : mapping
        What to call, by name.
    positional : bool
        Whether values may be given without keys, in the order of the parameters, before those with keys.
    """

    part = "parameter"

    def __init__(
        self, text: str, what: str, known: Mapping[str, Callable[..., Any]], *, positional: bool
    ) -> None:
        self.text, self.at, self.what, self.known, self.positional = text, 0, what, known, positional

    def whole(self, read: Callable[[], T], expected: str) -> T:
        """Read the whole text."""
        result = read()
        self._skip()
        if self.at < len(self.text):
            raise self.error(expected)
        return result

    def error(self, expected: str) -> ValueError:
        """Return the error for the text at this position."""
        got = repr(self.text[self.at :]) if self.at < len(self.text) else "the end"
        return ValueError(
            f"{self.what} must have {expected} at position {self.at} of {self.text!r}; got {got}"
        )

    def call(self) -> Any:
        """Read a name with its arguments and make the object that they describe."""
        word = self.word(f"the name of a {self.what}", optional=not self.positional)
        # The colon is part of no name, so a value that holds one is still one word.
        name, colon, first = word.partition(":")
        if name not in self.known:
            near = meant(name, self.known)
            listed = f"the names that `d3stats {self.what}s` lists" if near else ", ".join(sorted(self.known))
            raise ValueError(f"{self.what} must be one of {listed}; got {name!r} in {self.text!r}{near}")
        make = self.known[name]
        parameters, hints = _signature(make)
        arguments: dict[str, Any] = {}
        if colon:
            self.at -= len(first)
            self._arguments(name, hints, list(parameters), arguments)
        for parameter in parameters.values():
            if parameter.default is inspect.Parameter.empty and parameter.name not in arguments:
                raise ValueError(f"{name} must be given {parameter.name}; got {self.text!r}")
        try:
            return make(**arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{error} (in the {self.what} {self.text!r})") from None

    def _arguments(
        self, name: str, hints: Mapping[str, Any], parameters: list[str], arguments: dict[str, Any]
    ) -> None:
        position = 0 if self.positional else len(parameters)
        while True:
            start = self.at
            key = (
                "" if self.peek("(") else self.word(f"an {self.part} of {name}", optional=not self.positional)
            )
            if key and self.take("="):
                position = len(parameters)
                if key not in parameters:
                    raise ValueError(
                        f"{self.part} of {name} must be one of {', '.join(parameters)}; "
                        f"got {key!r} in {self.text!r}{meant(key, parameters)}"
                    )
            elif position < len(parameters):
                self.at, key, position = start, parameters[position], position + 1
            else:
                self.at = start
                values = f", or at most {len(parameters)} values," if self.positional else ""
                got = self.text[start:].strip()
                raise ValueError(
                    f"{name} must be given key=value{values} after the colon; got {got!r} in {self.text!r}"
                )
            if key in arguments:
                raise ValueError(f"{key} of {name} must be given once; got it twice in {self.text!r}")
            arguments[key] = self.value(key, hints[key])
            if not self.take(","):
                return

    def value(self, key: str, hint: Any) -> Any:
        """Read one value of a type."""
        return typed(key, hint, self.word(f"a value of {key}", optional=typing.get_origin(hint) is tuple))

    def peek(self, token: str) -> bool:
        """Say whether a token comes next."""
        self._skip()
        return self.text.startswith(token, self.at)

    def take(self, token: str) -> bool:
        """Pass over a token where it comes next."""
        found = self.peek(token)
        self.at += len(token) * found
        return found

    def need(self, token: str) -> None:
        """Pass over a token that must come next."""
        if not self.take(token):
            raise self.error(repr(token))

    def word(self, expected: str, *, optional: bool = False) -> str:
        """Read a word."""
        self._skip()
        match = _WORD.match(self.text, self.at)
        if match is None:
            if optional:
                return ""
            raise self.error(expected)
        self.at = match.end()
        return match.group()

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1


@functools.cache
def _signature(make: Callable[..., Any]) -> tuple[Mapping[str, inspect.Parameter], Mapping[str, Any]]:
    return inspect.signature(make).parameters, typing.get_type_hints(make)


def typed(key: str, hint: Any, text: str) -> Any:
    """Return a value of the parameter's type; what reads as none of them is left to its class to refuse."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if text == "None" and types.NoneType in inner:
            return None
        for one in (one for one in inner if one is not types.NoneType):
            value = typed(key, one, text)
            if not isinstance(value, str) or one is str:
                return value
        return text
    if origin is tuple:
        return tuple(typed(key, inner[0], part) for part in text.split("+")) if text else ()
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{key} must be True or False; got {key}={typed(key, float, text)!r}")
        return text.lower() == "true"
    for kind in (int, float) if hint in (int, float) else ():
        # An int where a float is meant stays one, so that both write the same text.
        try:
            return kind(text)
        except ValueError:
            continue
    return text
