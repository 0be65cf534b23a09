"""Rules as text, for the command line and for tables: ``from_text(str(rule)) == rule``.

::

    rule  := both ("|" both)*
    both  := part ("&" part)*
    part  := ( name [":" argument ("," argument)*] | "(" rule ")" ) ( ".after(" rounds ")" )*

An argument is ``key=value`` or, before any of those, a value in the order of the rule's parameters. A value
that is itself a rule is written in brackets when it is more than a name:
``ks:0.05,carry=(unanimity.after(2))``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from d3stats._check import meant
from d3stats.stopping.rule import StoppingRule

__all__ = ["from_text", "rule_names"]

_WORD = re.compile(r"(?:(?!\.after\()[^\s|&(),=])+")
_AFTER = re.compile(r"\.after\(\s*(\d+)\s*\)")


def rule_names() -> dict[str, Callable[..., StoppingRule]]:
    """Return every rule that can be written as text: what to call, by name."""
    import d3stats.stopping as folder

    found: dict[str, Callable[..., StoppingRule]] = {}
    for value in vars(folder).values():
        if inspect.isclass(value) and issubclass(value, StoppingRule) and value.name:
            found[value.name] = value
    d3 = folder.BudgetedStopping
    return {**found, "hu2025": folder.KSStability.hu2025, "d3_paper": d3.d3_paper, "d3_code": d3.d3_code}


def from_text(text: str) -> StoppingRule:
    """Read a rule from text.

    Parameters
    ----------
    text : str
        For example ``"fixed:2"``, ``"unanimity"``, ``"ks:0.05,patience=2"``, ``"unanimity|ks:.05"``,
        ``"(unanimity & fixed:2).after(2)"``, ``"hu2025"``.

    Raises
    ------
    ValueError
        When the text is not a rule; the message says where and what was expected.

    Examples
    --------
    >>> from_text("unanimity | fixed:3")
    Either(left=Unanimity(missing='exclude', min_votes=2), right=FixedRounds(n=3))
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a string; got {text!r}")
    reader = _Reader(text)
    rule = reader.rule()
    if not reader.done():
        raise reader.error("'|', '&', '.after(n)' or the end")
    return rule


class _Reader:
    """A recursive descent over one text; `at` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def error(self, expected: str) -> ValueError:
        rest = self.text[self.at :]
        got = repr(rest) if rest else "the end"
        return ValueError(f"rule must have {expected} at position {self.at} of {self.text!r}; got {got}")

    def done(self) -> bool:
        self._skip()
        return self.at == len(self.text)

    def rule(self) -> StoppingRule:
        result = self._both()
        while self._take("|"):
            result = result | self._both()
        return result

    def _both(self) -> StoppingRule:
        result = self._part()
        while self._take("&"):
            result = result & self._part()
        return result

    def _part(self) -> StoppingRule:
        if self._take("("):
            result = self.rule()
            self._need(")")
        else:
            result = self._atom()
        while match := _AFTER.match(self.text, self.at):
            self.at = match.end()
            result = result.after(int(match.group(1)))
        return result

    def _atom(self) -> StoppingRule:
        word = self._word("the name of a rule")
        # The colon is part of no name, so a value that holds one is still one word.
        name, colon, first = word.partition(":")
        known = rule_names()
        if name not in known:
            near = meant(name, known)
            listed = "those that `d3stats rules` lists" if near else ", ".join(sorted(known))
            raise ValueError(f"rule must be one of {listed}; got {name!r} in {self.text!r}{near}")
        make = known[name]
        parameters = list(inspect.signature(make).parameters)
        arguments: dict[str, Any] = {}
        if colon:
            self.at -= len(first)
            self._arguments(name, parameters, arguments)
        for parameter in inspect.signature(make).parameters.values():
            if parameter.default is inspect.Parameter.empty and parameter.name not in arguments:
                raise ValueError(f"{name} must be given {parameter.name}; got {self.text!r}")
        try:
            return make(**arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{error} (in the rule {self.text!r})") from None

    def _arguments(self, name: str, parameters: list[str], arguments: dict[str, Any]) -> None:
        position: int | None = 0
        while True:
            start = self.at
            key = "" if self._peek("(") else self._word(f"an argument of {name}")
            if key and self._take("="):
                position = None
                if key not in parameters:
                    raise ValueError(
                        f"argument of {name} must be one of {', '.join(parameters)}; "
                        f"got {key!r} in {self.text!r}{meant(key, parameters)}"
                    )
            elif position is not None and position < len(parameters):
                self.at, key, position = start, parameters[position], position + 1
            else:
                self.at = start
                raise self.error(f"key=value, or at most {len(parameters)} values, after {name}")
            if key in arguments:
                raise ValueError(f"{key} of {name} must be given once; got it twice in {self.text!r}")
            arguments[key] = self._value(key)
            if not self._take(","):
                return

    def _value(self, key: str) -> Any:
        if self._take("("):
            inner = self.rule()
            self._need(")")
            return inner
        word = self._word(f"a value of {key}")
        if key == "carry":
            return None if word == "None" else from_text(word)
        for kind in (int, float):
            try:
                return kind(word)
            except ValueError:
                continue
        return word

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _peek(self, token: str) -> bool:
        self._skip()
        return self.text.startswith(token, self.at)

    def _take(self, token: str) -> bool:
        found = self._peek(token)
        self.at += len(token) * found
        return found

    def _need(self, token: str) -> None:
        if not self._take(token):
            raise self.error(repr(token))

    def _word(self, expected: str) -> str:
        self._skip()
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self.error(expected)
        self.at = match.end()
        return match.group()
