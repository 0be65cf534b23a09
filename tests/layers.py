"""Which cases of a test belong to the fast layer; all others are marked slow."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest

__all__ = ["covering", "dealt", "examples", "sampled"]


def _param(case: Any, single: bool, fast: bool) -> Any:
    return pytest.param(*((case,) if single else case), marks=() if fast else pytest.mark.slow)


def sampled(
    names: str, cases: Iterable[Any], fast: Collection[int] | slice, **how: Any
) -> pytest.MarkDecorator:
    """Return the mark of a test over all cases, of which those at the places in ``fast`` are the fast layer."""
    given = list(cases)
    kept = set(range(len(given))[fast] if isinstance(fast, slice) else fast)
    single = "," not in names
    return pytest.mark.parametrize(
        names, [_param(case, single, k in kept) for k, case in enumerate(given)], **how
    )


def covering(**factors: Iterable[Any]) -> pytest.MarkDecorator:
    """Return the mark of a test over a product of factors; the fast layer has every value of every factor once.

    Case k of the fast layer has the k-th value of each factor, counted round.
    """
    values = [list(given) for given in factors.values()]
    most = max(map(len, values))
    kept = {tuple(k % len(one) for one in values) for k in range(most)}
    places = itertools.product(*(range(len(one)) for one in values))
    cases = [
        _param(tuple(one[k] for one, k in zip(values, at, strict=True)), False, at in kept) for at in places
    ]
    return pytest.mark.parametrize(tuple(factors), cases)


def dealt(things: Mapping[str, Iterable[str]], every: int = 4) -> dict[str, set[str]]:
    """Return what the fast layer tries of what each thing has: a part that several have, with every fourth of them.

    Each part is tried at least once, by turns beginning with the first, second, third and fourth that has it.
    """
    having: dict[str, list[str]] = {}
    for thing, parts in things.items():
        for part in parts:
            having.setdefault(part, []).append(thing)
    found: dict[str, set[str]] = {thing: set() for thing in things}
    for k, (part, those) in enumerate(having.items()):
        for thing in those[k % min(every, len(those)) :: every]:
            found[thing].add(part)
    return found


def examples(fast: int, slow: int, name: str = "n_examples") -> pytest.MarkDecorator:
    """Return the mark of a test with few examples, seeds or replicates in the fast layer and more in the slow one."""
    return pytest.mark.parametrize(name, [fast, pytest.param(slow, marks=pytest.mark.slow)])
