"""Is a claim false somewhere, or does it survive: search for a counterexample, and many examples without one.

Instances come from the claim's own strategy, which satisfies the assumptions by construction. Each is held to
the assumptions all the same, so that a strategy that breaks them is an error and no evidence.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from d3stats._check import RngLike, as_rng, integer
from d3stats._parallel import run_tasks
from d3stats.theory._examples import first_failure, plain_draws, seed_of
from d3stats.theory.catalogue import as_claim
from d3stats.theory.claim import Claim

__all__ = ["Broken", "NotRefuted", "Refutation", "Survival", "Unsound", "find_counterexample", "survive"]

VARIED = 1_000
"""Examples made by hypothesis's engine, which varies them and tries extremes; those beyond are drawn plainly."""
BATCH = 3_000
"""Plain draws that share a seed: a task of a worker. Both numbers are part of what a seed means."""
CHECKED = 10
"""One in this many plain draws is held against the assumptions; every instance of the engine is."""


class NotRefuted(ValueError):
    """No counterexample was found."""


class Broken(ValueError):
    """A claim that should hold failed.

    Attributes
    ----------
    instance : object
        The shrunk instance.
    margin : float
    """

    def __init__(self, message: str, instance: Any, margin: float) -> None:
        super().__init__(message)
        self.instance = instance
        self.margin = margin

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.instance, self.margin)


class Unsound(ValueError):
    """A strategy drew what the claim does not assume, or a margin is not a number: no verdict can be given."""


@dataclass(frozen=True)
class Refutation:
    """A counterexample that was found by search.

    Attributes
    ----------
    claim : str
    instance : object
        After shrinking.
    margin : float
        Below minus the claim's slack, in the claim's units.
    quantities : mapping of str to float
        The claim's numbers of this instance.
    n_examined : int
        Instances looked at up to the first that failed.
    n_shrunk : int
        Instances looked at afterwards, to make it smaller.
    """

    claim: str
    instance: Any
    margin: float
    quantities: Mapping[str, float]
    n_examined: int
    n_shrunk: int

    def __str__(self) -> str:
        return f"{self.claim} fails on {self.instance}: margin {self.margin:.6g}"


@dataclass(frozen=True)
class Survival:
    """Examples on which a claim was true.

    Attributes
    ----------
    claim : str
    n : int
        Examples looked at.
    n_distinct : int
        How many of them differ in their ``repr``: two draws may make one instance.
    least_margin : float
        In the claim's units.
    where : object
        The first instance with that margin.
    exhausted : bool
        Whether the strategy has no more instances; then `n` may be less than was asked for.
    corrected : bool
        Whether the missing assumptions were made.
    """

    claim: str
    n: int
    n_distinct: int
    least_margin: float
    where: Any
    exhausted: bool
    corrected: bool

    def __str__(self) -> str:
        return (
            f"{self.claim} survived {self.n:,} examples: least margin {self.least_margin:.6g} at {self.where}"
        )


def find_counterexample(claim: Claim | str, *, max_examples: int = 2000, rng: RngLike = 0) -> Refutation:
    r"""Search for an instance that satisfies what a claim assumes and contradicts it, and shrink it.

    Parameters
    ----------
    claim : Claim or str
        A claim or its name; its own counterexample is not looked at.
    max_examples : int
        Instances to look at before giving up.
    rng : Generator, int or None
        An int gives the same instance each time.

    Raises
    ------
    NotRefuted
        When none was found.
    Unsound
        When an instance violates the assumptions or its margin is not a number.

    Examples
    --------
    >>> from d3stats.theory import Assumption, Claim, Source, find_counterexample
    >>> from hypothesis import strategies as st
    >>> squares = Claim(
    ...     name="squares-are-larger", title="A square exceeds its root", source=Source("folklore", "anywhere"),
    ...     statement="x^2 >= x for every x >= 0", latex="x^2 \\ge x", status="refuted", counterexample=0.5,
    ...     assumptions=(Assumption("x >= 0", lambda x: x >= 0),),
    ...     quantities=lambda x: {"x^2": x * x}, margin=lambda x: x * x - x, instances=lambda: st.floats(0, 9),
    ... )
    >>> found = find_counterexample(squares)
    >>> found.instance, found.margin
    (0.5, -0.25)
    """
    claim = as_claim(claim)
    max_examples = integer("max_examples", max_examples, minimum=1)
    examined, first = 0, 0

    def fails(instance: Any) -> bool:
        nonlocal examined, first
        examined += 1
        failed = _margin(claim, instance, corrected=False) < -claim.slack
        if failed and not first:
            first = examined
        return failed

    found = first_failure(claim.instances(), fails, n=max_examples, seed=seed_of(_root(rng), claim.name))
    if found is None:
        raise NotRefuted(
            f"{claim.name} must fail somewhere to be refuted; got no failure in {examined:,} examples"
        )
    margin = _margin(claim, found, corrected=False)
    return Refutation(claim.name, found, margin, dict(claim.quantities(found)), first, examined - first)


def survive(
    claim: Claim | str,
    n_examples: int = 300,
    *,
    rng: RngLike = 0,
    corrected: bool | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Survival:
    """Hold a claim to many generated instances.

    The first thousand are made by hypothesis's engine, which varies them and tries extremes, and each is held
    against the assumptions; the rest are plain draws of the same strategy, of which one in ten is.

    Parameters
    ----------
    claim : Claim or str
        A claim or its name.
    n_examples : int
        Instances to look at; fewer are when the strategy has no more.
    rng : Generator, int or None
        An int gives the same instances each time, whatever the workers.
    corrected : bool, optional
        Whether to make the missing assumptions as well; by default where the claim has any.
    workers : int
        Processes; plain draws are shared out in batches of 3,000.
    progress : callable, optional
        Called with the examples done and asked for after each batch.

    Raises
    ------
    Broken
        When an instance fails; it is shrunk.
    Unsound
        When an instance violates the assumptions or its margin is not a number.
    ValueError
        When `corrected` is asked of a claim that misses nothing.

    Examples
    --------
    >>> from d3stats.theory import claim, survive
    >>> found = survive(claim("sign-agreement"), 50)
    >>> found.n, found.least_margin > -1e-12
    (50, True)
    """
    claim = as_claim(claim)
    n_examples = integer("n_examples", n_examples, minimum=1)
    corrected = claim.rescued is not None if corrected is None else corrected
    if corrected and claim.rescued is None:
        raise ValueError(f"corrected must be False for a claim that misses no assumption; got {claim.name}")
    root = _root(rng)
    varied = min(VARIED, n_examples)
    sizes = [varied, *(min(BATCH, n_examples - start) for start in range(varied, n_examples, BATCH))]
    tasks = [(claim, corrected, size, seed_of(root, claim.name, i), i == 0) for i, size in enumerate(sizes)]
    # Whether the space is small is known after the first batch, and a second would only repeat it.
    batches = [_batch(*tasks[0])]
    _report(progress, batches[0].n, n_examples)
    if not batches[0].exhausted:
        for batch in run_tasks(_batch, tasks[1:], workers=workers, ordered=True):
            batches.append(batch)
            _report(progress, sum(b.n for b in batches), n_examples)
    least = min(batches, key=lambda b: b.margin)
    return Survival(
        claim=claim.name,
        n=sum(b.n for b in batches),
        n_distinct=len(set().union(*(b.seen for b in batches))),
        least_margin=least.margin,
        where=least.where,
        exhausted=batches[0].exhausted,
        corrected=corrected,
    )


@dataclass
class _Batch:
    n: int = 0
    margin: float = math.inf
    where: Any = None
    exhausted: bool = False
    seen: set[bytes] = field(default_factory=set)


def _batch(claim: Claim, corrected: bool, n: int, seed: int, varied: bool) -> _Batch:
    """Look at `n` instances, by hypothesis's engine or drawn plainly."""
    done = _Batch()

    def fails(instance: Any) -> bool:
        # Assumptions hold by construction, and to check one can cost more than the claim.
        checked = varied or done.n % CHECKED == 0
        margin = _margin(claim, instance, corrected=corrected, checked=checked)
        done.n += 1
        done.seen.add(hashlib.blake2b(repr(instance).encode(), digest_size=8).digest())
        if margin < done.margin or done.n == 1:
            done.margin, done.where = margin, instance
        return margin < -claim.slack

    strategy = claim.rescued if corrected and claim.rescued is not None else claim.instances
    if varied:
        found = first_failure(strategy(), fails, n=n, seed=seed)
        done.exhausted = done.n < n
    else:
        found = next((x for x in plain_draws(strategy(), n=n, seed=seed) if fails(x)), None)
        if found is not None:
            # The engine may find a smaller one.
            found = first_failure(strategy(), fails, n=VARIED, seed=seed) or found
    if found is not None:
        margin = _margin(claim, found, corrected=corrected)
        raise Broken(
            f"{claim.name} must hold on every instance; got margin {margin:.6g} on {found}", found, margin
        )
    return done


def _margin(claim: Claim, instance: Any, *, corrected: bool, checked: bool = True) -> float:
    """Return the margin of an instance that the claim admits, and refuse any other, where it is checked."""
    for assumption in claim.assumptions + (claim.missing if corrected else ()):
        if checked and not assumption.holds(instance):
            raise Unsound(f"instances of {claim.name} must satisfy {assumption.words!r}; got {instance}")
    margin = float(claim.margin(instance))
    if math.isnan(margin):
        raise Unsound(f"margin of {claim.name} must be a number; got nan on {instance}")
    return margin


def _report(progress: Callable[[int, int], None] | None, done: int, asked: int) -> None:
    if progress is not None:
        progress(done, asked)


def _root(rng: RngLike) -> int:
    return int(as_rng(rng).integers(2**63))
