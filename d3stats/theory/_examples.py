"""How instances of a claim are made and looked at, the same bits for the same seed.

A run of hypothesis's engine tries small and extreme instances, varies them, and shrinks what fails; an instance
costs it some milliseconds, many of them variations that were seen before. Plain draws of the same strategy cost a
tenth, and make the bulk of a large number.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["first_failure", "plain_draws", "seed_of"]


class _FoundError(Exception):
    """The instance that was looked for."""


def first_failure(
    strategy: SearchStrategy[Any], fails: Callable[[Any], bool], *, n: int, seed: int
) -> Any | None:
    """Look at up to `n` instances; return the shrunk one for which `fails`, or None.

    Nothing is kept between runs: no database, no deadline, and no constants from the source of modules that
    happen to be loaded.
    """
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from hypothesis import seed as seeded

    last: list[Any] = []

    def look(instance: Any) -> None:
        if fails(instance):
            last[:] = [instance]
            raise _FoundError

    run = seeded(seed)(
        settings(
            max_examples=n,
            phases=(Phase.generate, Phase.shrink),
            database=None,
            deadline=None,
            derandomize=False,
            backend="hypothesis",
            print_blob=False,
            report_multiple_bugs=False,
            stateful_step_count=1,
            verbosity=Verbosity.quiet,
            # A slow machine is no fault of a strategy; every other check stays on.
            suppress_health_check=(HealthCheck.too_slow,),
        )(given(strategy)(look))
    )
    with _no_constants():
        try:
            run()
        except _FoundError:
            # Hypothesis ends by playing the smallest failure again.
            return last[0]
    return None


def plain_draws(strategy: SearchStrategy[Any], *, n: int, seed: int) -> Iterator[Any]:
    """Draw `n` instances one after another, none varied and none shrunk.

    Raises
    ------
    RuntimeError
        When a draw is given up: instances satisfy their assumptions by construction, so none may be discarded.
    """
    from hypothesis.control import BuildContext
    from hypothesis.errors import StopTest, UnsatisfiedAssumption
    from hypothesis.internal.conjecture.data import ConjectureData

    source = random.Random(seed)
    for i in range(n):
        # Around the draw only: the caller may run the engine between two of them.
        with _no_constants():
            data = ConjectureData(random=source)
            try:
                with BuildContext(data, is_final=False, wrapped_test=plain_draws):
                    instance = data.draw(strategy)
            except (StopTest, UnsatisfiedAssumption):
                raise RuntimeError(
                    f"strategy must discard nothing; got a draw given up, number {i + 1}"
                ) from None
        yield instance


def seed_of(root: int, name: str, part: int = 0) -> int:
    """Return the seed of a part of a claim's examples: neither the order of claims nor the workers matter."""
    digest = hashlib.blake2b(f"{root}|{name}|{part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


@contextmanager
def _no_constants() -> Iterator[None]:
    """Draw no constants, which hypothesis reads off the source of loaded modules: those differ between processes."""
    from hypothesis.internal.conjecture.providers import HypothesisProvider

    # Hypothesis has no setting for it, and its tree of draws makes its own provider: so the class it is.
    name = "_maybe_draw_constant"
    usual = getattr(HypothesisProvider, name)
    setattr(HypothesisProvider, name, lambda *args, **kwargs: None)
    try:
        yield
    finally:
        setattr(HypothesisProvider, name, usual)
