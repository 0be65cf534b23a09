"""Which protocols are there, and how is one written as text?

::

    protocol := name [":" argument ("," argument)*]
    argument := key "=" value
    value    := text ("+" text)*

``protocol_from_text(str(protocol)) == protocol`` for every protocol. A value with several parts, as
``referees=critic+scientist``, joins them with a plus.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import types
import typing
from dataclasses import fields
from typing import Any

from d3stats._check import meant
from d3stats.protocols.play import DebateProtocol

__all__ = ["protocol_from_text", "protocols"]


@functools.cache
def _found() -> dict[str, type[DebateProtocol]]:
    import d3stats.protocols as folder

    found: dict[str, type[DebateProtocol]] = {}
    for info in pkgutil.iter_modules(folder.__path__, folder.__name__ + "."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if not inspect.isclass(value) or not issubclass(value, DebateProtocol):
                continue
            if value.__module__ != info.name or inspect.isabstract(value) or not value.name:
                continue
            if value.name in found:
                raise ValueError(
                    f"name of a protocol must be unique; got {value.name!r} in "
                    f"{found[value.name].__module__} and in {info.name}"
                )
            found[value.name] = value
    return dict(sorted(found.items()))


def protocols() -> dict[str, type[DebateProtocol]]:
    """Return every protocol by its name: each class of this folder that can be played and has a name.

    Examples
    --------
    >>> "samre" in protocols(), protocols()["single_judge"].__name__
    (True, 'SingleJudge')
    """
    return dict(_found())


def protocol_from_text(text: str) -> DebateProtocol:
    """Read a protocol and its parameters from text, as the command line gives it.

    Parameters
    ----------
    text : str
        For example ``"more"``, ``"samre:jurors=3,poll=every_round"``.

    Raises
    ------
    ValueError
        When there is no such protocol or parameter, or its value cannot be.

    Examples
    --------
    >>> protocol_from_text("single_judge:calibrate=True")
    SingleJudge(max_rounds=1, calibrate=True, words=150)
    >>> str(protocol_from_text("single_judge"))
    'single_judge'
    """
    if not isinstance(text, str):
        raise TypeError(f"protocol must be a string; got {text!r}")
    name, colon, rest = (part.strip() for part in text.partition(":"))
    known = _found()
    if name not in known:
        near = meant(name, known)
        listed = "those that `d3stats protocols` lists" if near else ", ".join(known)
        raise ValueError(f"protocol must be one of {listed}; got {name!r} in {text!r}{near}")
    kind = known[name]
    hints = typing.get_type_hints(kind)
    parameters = [parameter.name for parameter in fields(kind)]
    arguments: dict[str, Any] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            raise ValueError(f"{name} must be given key=value after the colon; got {part!r} in {text!r}")
        if key not in parameters:
            raise ValueError(
                f"parameter of {name} must be one of {', '.join(parameters)}; got {key!r} in {text!r}"
                f"{meant(key, parameters)}"
            )
        if key in arguments:
            raise ValueError(f"{key} of {name} must be given once; got it twice in {text!r}")
        arguments[key] = _value(key, hints[key], value)
    try:
        return kind(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{error} (in the protocol {text!r})") from None


def _value(key: str, hint: Any, text: str) -> Any:
    """Return a value of the parameter's type; what reads as none of them is left to the protocol to refuse."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if text == "None" and types.NoneType in inner:
            return None
        for one in (one for one in inner if one is not types.NoneType):
            value = _value(key, one, text)
            if not isinstance(value, str) or one is str:
                return value
        return text
    if origin is tuple:
        return tuple(_value(key, inner[0], part) for part in text.split("+")) if text else ()
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{key} must be True or False; got {key}={text!r}")
        return text.lower() == "true"
    for kind in (int, float):
        # An int where a float is meant stays one, so that both write the same text.
        if hint in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text
