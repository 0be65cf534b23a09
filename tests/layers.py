"""Which cases of a test belong to the fast layer; all others are marked slow."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pytest

__all__ = ["covering", "dealt", "examples", "for_each", "sampled"]


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


def for_each(
    name: str, cases: Iterable[Any] | Callable[[], Iterable[Any]], text: Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what makes one test of all cases of an argument, for cases of milliseconds.

    A function gives them when the test runs. All cases are tried; the test fails with what each failed for, by its
    text. They share the fixtures, but each has a folder of its own in ``tmp_path``.
    """

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        def every_case(**fixtures: Any) -> None:
            failed = []
            given = list(cases() if callable(cases) else cases)
            for k, case in enumerate(given):
                own = {"tmp_path": fixtures["tmp_path"] / str(k)} if "tmp_path" in fixtures else {}
                for folder in own.values():
                    folder.mkdir()
                try:
                    test(**(fixtures | own), **{name: case})
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"with {name}: {text(case)}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(given)} cases", failed)

        whole = inspect.signature(test)
        rest = [p.replace(kind=p.KEYWORD_ONLY) for p in whole.parameters.values() if p.name != name]
        every_case.__signature__ = whole.replace(parameters=rest)  # type: ignore[attr-defined]
        every_case.__name__, every_case.__doc__, every_case.__module__ = (
            test.__name__,
            test.__doc__,
            test.__module__,
        )
        return every_case

    return mark
