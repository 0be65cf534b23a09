"""How instances of a claim are made and looked at: one run of hypothesis, the same bits for the same seed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["first_failure", "seed_of"]


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
