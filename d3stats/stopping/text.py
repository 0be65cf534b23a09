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
import typing
from collections.abc import Callable
from functools import cache
from typing import Any

from d3stats._named import Reader, named
from d3stats.stopping.rule import StoppingRule

__all__ = ["from_text", "rule_names", "short_name"]

_AFTER = re.compile(r"\.after\(\s*(\d+)\s*\)")


@cache
def _known() -> dict[str, Callable[..., StoppingRule]]:
    found: dict[str, Callable[..., StoppingRule]] = {}
    for name, kind in named("d3stats.stopping", StoppingRule).items():
        found |= {name: kind, **{preset: getattr(kind, preset) for preset in kind.presets}}
    return found


def rule_names() -> dict[str, Callable[..., StoppingRule]]:
    """Return every rule that can be written as text: what to call, by name.

    A rule is found by its name in whichever module of this folder defines it.
    """
    return dict(_known())


@cache
def _published() -> dict[str, str]:
    return {str(make()): name for name, make in _known().items() if not inspect.isclass(make)}


def short_name(rule: StoppingRule | str) -> str:
    """Return the short name of a published rule, and any other rule as its text.

    Parameters
    ----------
    rule : StoppingRule or str
        A rule or its text.

    Returns
    -------
    str
        :func:`from_text` reads it.

    Examples
    --------
    >>> short_name("ks:0.05,scale=latent,source=fitted,carry=(unanimity)"), short_name(from_text("fixed:2"))
    ('hu2025', 'fixed:2')
    """
    return _published().get(str(rule), str(rule))


def from_text(text: str) -> StoppingRule:
    """Read a rule from text.

    Parameters
    ----------
    text : str
        For example ``"fixed:2"``, ``"unanimity"``, ``"ks:0.05,patience=2"``, ``"unanimity|ks:.05"``,
        ``"(unanimity & fixed:2).after(2)"``, ``"hu2025"``.

    Returns
    -------
    StoppingRule

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
    reader = _RuleReader(text, "rule", _known(), positional=True)
    return reader.whole(reader.rule, "'|', '&', '.after(n)' or the end")


class _RuleReader(Reader):
    part = "argument"

    def rule(self) -> StoppingRule:
        result = self._both()
        while self.take("|"):
            result = result | self._both()
        return result

    def _both(self) -> StoppingRule:
        result = self._part()
        while self.take("&"):
            result = result & self._part()
        return result

    def _part(self) -> StoppingRule:
        result: StoppingRule = self._inner() if self.peek("(") else self.call()
        while match := _AFTER.match(self.text, self.at):
            self.at = match.end()
            result = result.after(int(match.group(1)))
        return result

    def _inner(self) -> StoppingRule:
        self.need("(")
        result = self.rule()
        self.need(")")
        return result

    def value(self, key: str, hint: Any) -> Any:
        if self.peek("("):
            return self._inner()
        if not any(inspect.isclass(one) and issubclass(one, StoppingRule) for one in typing.get_args(hint)):
            return super().value(key, hint)
        word = self.word(f"a value of {key}")
        return None if word == "None" else from_text(word)
