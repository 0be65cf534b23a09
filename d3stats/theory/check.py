"""Checks of claims by search with Hypothesis: counterexamples to false ones, many examples of true ones, all at once.

Instances come from the claim's own strategy, which satisfies the assumptions by construction; the assumptions are
checked on the instances all the same. Hypothesis's engine makes the first examples. It tries small and extreme ones,
varies them, and notices when there are no more. A large number is made from seeded random bytes, which Hypothesis turns
into instances of the same strategy (``fuzz_one_input``); this is faster and gives few repeats.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats._check import RngLike, as_rng, integer
from d3stats._latex import booktabs
from d3stats._parallel import run_tasks
from d3stats._words import counted, verb
from d3stats.result import Result
from d3stats.theory.claim import Claim, as_claim
from d3stats.theory.claim import claim as claim_named
from d3stats.theory.claim import claims as all_claims

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "RECORD_FILE",
    "Audit",
    "Broken",
    "NotRefuted",
    "Recorded",
    "Refutation",
    "Survival",
    "Unsound",
    "Verdict",
    "find_counterexample",
    "first_failure",
    "json_ready",
    "recorded",
    "seeded_draws",
    "survive",
    "verify",
]

VARIED = 1_000
"""Examples made by Hypothesis's engine; those beyond are made from seeded bytes."""
BATCH = 3_000
"""Examples from bytes that share a seed: a task of a worker. Both numbers are part of what a seed means."""
CHECKED = 10
"""One in this many of them is held against the assumptions; every instance of the engine is."""
SEARCHED = 2_000
"""Instances that a search for a counterexample looks at when all claims are verified."""
RECORD_FILE = Path(__file__).with_name("record.csv")
"""Written by ``simulations/theorem_audit/run.py``."""

_BYTES = 2**14
"""More than Hypothesis makes an instance of; those of the catalogue take up to a hundred or so."""


class NotRefuted(ValueError):
    """A search found no counterexample to a claim with a status that calls it false.

    Examples
    --------
    >>> try:
    ...     find_counterexample("sign-agreement-beats-three", max_examples=20)
    ... except NotRefuted as error:
    ...     print("no counterexample")
    no counterexample
    """


class Broken(ValueError):
    """A claim that should hold is false on `instance`, which is shrunk, with this `margin`.

    Parameters
    ----------
    message : str
        What was found.
    instance : object
        Where the claim fails, shrunk.
    margin : float
        Margin of that instance, below 0.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from d3stats.theory import claim
    >>> wrong = replace(claim("more-advocates-rank-better"), status="holds", counterexample=None)
    >>> try:
    ...     survive(wrong, 200, rng=1)
    ... except Broken as error:
    ...     print(error.margin < 0)
    True
    """

    def __init__(self, message: str, instance: Any, margin: float) -> None:
        super().__init__(message)
        self.instance = instance
        self.margin = margin

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.instance, self.margin)


class Unsound(ValueError):
    """An instance violates the claim's assumptions, or its margin is not a number: no verdict can be given.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from d3stats.theory import claim
    >>> unclear = replace(claim("sign-agreement-beats-three"), margin=lambda instance: float("nan"))
    >>> try:
    ...     survive(unclear, 20, rng=1)
    ... except Unsound:
    ...     print("no verdict")
    no verdict
    """


@dataclass(frozen=True)
class Refutation(Result):
    """A counterexample that a search found and shrank.

    Attributes
    ----------
    claim : str
    instance : object
        After shrinking.
    margin : float
        Below minus the claim's slack, in the claim's units.
    quantities : mapping of str to float
        The claim's numbers of this instance.
    n_examined, n_shrunk : int
        Instances looked at up to the first that failed, and afterwards, to make it smaller.

    Examples
    --------
    >>> found = find_counterexample("more-advocates-rank-better")
    >>> found.claim, found.margin < 0, found.n_examined > 0
    ('more-advocates-rank-better', True, True)
    """

    claim: str
    instance: Any
    margin: float
    quantities: Mapping[str, float]
    n_examined: int
    n_shrunk: int

    def __str__(self) -> str:
        return f"{self.claim} fails on {self.instance}: margin {self.margin:.6g}"

    @property
    def headline(self) -> str:
        """The claim, an instance on which it fails, and by how much."""
        return str(self)

    def _tables(self) -> dict[str, pd.DataFrame]:
        numbers = {**self.quantities, "margin (claimed >= 0)": self.margin}
        return {"numbers": pd.DataFrame(list(numbers.items()), columns=["quantity", "value"])}


@dataclass(frozen=True)
class Survival(Result):
    """Number of generated examples that a claim was true on, and its least margin.

    Attributes
    ----------
    claim : str
    n : int
        Examples looked at.
    n_distinct : int
        How many of them differ in their ``repr``: two draws may make one instance.
    least_margin : float
        The smallest margin, in the claim's units; a margin below 0 means that the claim fails.
    where : object
        The first instance with that margin.
    exhausted : bool
        Whether the strategy has no more instances; then `n` may be less than was asked for.
    corrected : bool
        Whether the missing assumptions were made.

    Examples
    --------
    >>> found = survive("sign-agreement-beats-three", 50, rng=1)
    >>> found.n <= 50, found.least_margin >= 0, found.corrected
    (True, True, False)
    """

    claim: str
    n: int
    n_distinct: int
    least_margin: float
    where: Any
    exhausted: bool
    corrected: bool

    def __str__(self) -> str:
        least = f"least margin {self.least_margin:.6g} at {self.where}"
        return f"{self.claim} survived {self.n:,} examples: {least}"

    @property
    def headline(self) -> str:
        """The claim, how many examples it survived, and the least margin."""
        return str(self)

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"survival": pd.DataFrame([vars(self) | {"where": str(self.where)}])}


def find_counterexample(claim: Claim | str, *, max_examples: int = 2000, rng: RngLike = 0) -> Refutation:
    r"""Search for a counterexample to a claim with Hypothesis, and shrink the first one found.

    A counterexample satisfies what the claim assumes and contradicts what it concludes; the claim's own one is not
    looked at. An int as `rng` gives the same instance each time.

    Parameters
    ----------
    claim : Claim or str
        A claim, or the name of one.
    max_examples : int
        Instances that are looked at, at most.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    Refutation

    Raises
    ------
    NotRefuted
        When none was found among `max_examples`.
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
        failed = _checked_margin(claim, instance, corrected=False) < -claim.slack
        if failed and not first:
            first = examined
        return failed

    seed = _seed_of(_root_seed(rng), claim.name)
    found = first_failure(claim.instances(), fails, n=max_examples, seed=seed)
    if found is None:
        got = f"no failure in {examined:,} examples"
        raise NotRefuted(f"{claim.name} must fail somewhere to be refuted; got {got}")
    margin = _checked_margin(claim, found, corrected=False)
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
    """Return the least margin of a claim over many generated instances; fail on the first that contradicts it.

    The first thousand are made by Hypothesis's engine, which varies them and tries extremes; the assumptions are
    checked on each. The rest are made by the same strategy from seeded bytes, and one in ten is checked.

    Parameters
    ----------
    claim : Claim or str
        The claim, or its name.
    n_examples : int
        Instances to look at; fewer are when the strategy has no more.
    rng : Generator, int or None
        An int gives the same instances each time, for any number of workers.
    corrected : bool, optional
        Whether to make the missing assumptions as well; by default where the claim has any.
    workers : int
        Processes; instances beyond the first thousand are shared out in batches of 3,000.
    progress : callable, optional
        Called with the examples done and asked for after each batch.

    Returns
    -------
    Survival

    Raises
    ------
    Broken
        When an instance fails; it is shrunk.
    Unsound
        When an instance violates the assumptions or its margin is not a number.

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
        raise ValueError(
            f"corrected must be False for a claim without a missing assumption; got {claim.name}"
        )
    root = _root_seed(rng)
    varied = min(VARIED, n_examples)
    sizes = [varied, *(min(BATCH, n_examples - start) for start in range(varied, n_examples, BATCH))]
    tasks = [(claim, corrected, size, _seed_of(root, claim.name, i), i == 0) for i, size in enumerate(sizes)]
    # Whether the space is small is known after the first batch, and a second would only repeat it.
    first = _batch(*tasks[0])
    more = [] if first.exhausted else run_tasks(_batch, tasks[1:], workers=workers, ordered=True)
    batches: list[_Batch] = []
    for batch in chain([first], more):
        batches.append(batch)
        if progress is not None:
            progress(sum(b.n for b in batches), n_examples)
    closest = min(batches, key=lambda b: b.margin)
    return Survival(
        claim=claim.name,
        n=sum(b.n for b in batches),
        n_distinct=len(set().union(*(b.seen for b in batches))),
        least_margin=closest.margin,
        where=closest.where,
        exhausted=first.exhausted,
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
    """Compute the margin of `n` instances, made by Hypothesis's engine or from seeded bytes."""
    done = _Batch()

    def fails(instance: Any) -> bool:
        # Assumptions hold by construction, and to check one can cost more than the claim.
        checked = varied or done.n % CHECKED == 0
        margin = _checked_margin(claim, instance, corrected=corrected, checked=checked)
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
        found = next((x for x in seeded_draws(strategy(), n=n, seed=seed) if fails(x)), None)
        if found is not None:
            # The engine may find a smaller one.
            found = first_failure(strategy(), fails, n=VARIED, seed=seed) or found
    if found is not None:
        margin = _checked_margin(claim, found, corrected=corrected)
        raise Broken(
            f"{claim.name} must hold on every instance; got margin {margin:.6g} on {found}", found, margin
        )
    return done


def _checked_margin(claim: Claim, instance: Any, *, corrected: bool, checked: bool = True) -> float:
    """Return the margin of an instance that the claim admits, and refuse any other, where it is checked."""
    for assumption in claim.assumptions + (claim.missing if corrected else ()):
        if checked and not assumption.holds(instance):
            raise Unsound(f"instances of {claim.name} must satisfy {assumption.words!r}; got {instance}")
    try:
        margin = float(claim.margin(instance))
    except Exception as error:  # what a user's claim computes may fail in any way
        raise Unsound(
            f"margin of {claim.name} must be a number; got {type(error).__name__}: {error}, on {instance}"
        ) from error
    if math.isnan(margin):
        raise Unsound(f"margin of {claim.name} must be a number; got nan on {instance}")
    return margin


def _root_seed(rng: RngLike) -> int:
    return int(as_rng(rng).integers(2**63))


def _seed_of(root: int, name: str, part: int = 0) -> int:
    """Return the seed of a part of a claim's examples: neither the order of claims nor the workers matter."""
    digest = hashlib.blake2b(f"{root}|{name}|{part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


class _FailureError(Exception):
    """The instance that was looked for."""


def _property(
    strategy: SearchStrategy[Any], fails: Callable[[Any], bool], failed: list[Any], *, n: int, seed: int
) -> Callable[[], None]:
    """Return the test that no instance fails; it leaves the last one that did in `failed`, and raises."""
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from hypothesis import seed as seeded

    def hold(instance: Any) -> None:
        if fails(instance):
            failed[:] = [instance]
            raise _FailureError

    # Nothing is kept between runs, and time does not matter; a slow machine is no fault of a strategy.
    as_set = settings(
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
        suppress_health_check=(HealthCheck.too_slow,),
    )
    return seeded(seed)(as_set(given(strategy)(hold)))


def first_failure(
    strategy: SearchStrategy[Any], fails: Callable[[Any], bool], *, n: int, seed: int
) -> Any | None:
    """Return the first failing instance among up to `n` of Hypothesis's engine, shrunk; None where none fails."""
    failed: list[Any] = []
    try:
        _property(strategy, fails, failed, n=n, seed=seed)()
    except _FailureError:
        return failed[0]  # Hypothesis ends by playing the smallest failure again.
    return None


def seeded_draws(strategy: SearchStrategy[Any], *, n: int, seed: int) -> Iterator[Any]:
    """Yield `n` instances made from seeded random bytes; an error where a draw is discarded, which none may be."""
    made: list[Any] = []

    def keep(instance: Any) -> bool:
        made.append(instance)
        return False

    test: Any = _property(strategy, keep, [], n=n, seed=seed)
    make_from_bytes = test.hypothesis.fuzz_one_input
    source = random.Random(seed)
    for i in range(n):
        if make_from_bytes(source.randbytes(_BYTES)) is None:
            raise RuntimeError(f"strategy must discard nothing; got a discarded draw, number {i + 1}")
        yield made.pop()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Result of the searches on one claim, beside its stated status.

    Attributes
    ----------
    claim, source, status : str
        As stated in the catalogue.
    verdict : str
        What was found: "survived 300", "refuted by search", "refuted by search; survived 300 with what is
        missing", or what went wrong.
    agrees : bool
        Whether that is the stated status.
    named : str
        The counterexample of the catalogue; empty for a claim that holds.
    named_margin : float or None
    found : str
        The counterexample that the search found by itself; empty when it found none.
    found_margin : float or None
    n_examined : int
        Instances looked at until the first that failed; 0 when none was looked for.
    n_survived : int
    least_margin : float or None
        Over the survived instances.
    seconds : float
        Not part of equality.

    Examples
    --------
    >>> (verdict,) = verify(["sign-agreement-beats-three"], n_examples=20, rng=1).verdicts
    >>> verdict.claim, verdict.status, verdict.agrees, verdict.n_survived
    ('sign-agreement-beats-three', 'holds', True, 20)
    """

    claim: str
    source: str
    status: str
    verdict: str
    agrees: bool
    named: str = ""
    named_margin: float | None = None
    found: str = ""
    found_margin: float | None = None
    n_examined: int = 0
    n_survived: int = 0
    least_margin: float | None = None
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Audit(Result):
    """Verdicts of the searches on each claim, in the order of the catalogue.

    Attributes
    ----------
    verdicts : tuple of Verdict
    n_examples : int
        Examples that a claim that holds had to survive.
    seed : int
        The seed that all searches follow from.

    Examples
    --------
    >>> audit = verify(["sign-agreement-beats-three"], n_examples=20, rng=1)
    >>> audit.agrees, audit.n_examples, len(audit.verdicts)
    (True, 20, 1)
    >>> json.loads(audit.to_json())["seed"]
    1
    """

    verdicts: tuple[Verdict, ...]
    n_examples: int
    seed: int

    @property
    def agrees(self) -> bool:
        """Whether every claim was found to be as the catalogue states."""
        return all(verdict.agrees for verdict in self.verdicts)

    @property
    def headline(self) -> str:
        """The answer, how many claims are as stated."""
        agree = sum(v.agrees for v in self.verdicts)
        return f"{agree} of {counted(len(self.verdicts), 'claim')} {verb(agree, 'is', 'are')} as stated."

    def _tables(self) -> dict[str, pd.DataFrame]:
        columns = [f.name for f in fields(Verdict)]
        return {"claims": pd.DataFrame(list(map(asdict, self.verdicts)), columns=columns)}

    def _document(self) -> dict[str, Any]:
        """Return everything as JSON-ready values; an infinite margin is text."""
        rows = [{name: json_ready(value) for name, value in asdict(v).items()} for v in self.verdicts]
        return {"agrees": self.agrees, "n_examples": self.n_examples, "seed": self.seed, "claims": rows}

    def to_json(self) -> str:
        """Return one JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)

    def _latex(self, digits: int) -> str:
        """Return claim, stated status, what was found, and the counterexample that was found."""
        rows = [(v.claim, v.status, v.verdict, v.found) for v in self.verdicts]
        head = ("claim", "stated", "found", "counterexample")
        return booktabs("llp{0.22\\linewidth}p{0.3\\linewidth}", head, rows)

    def summary(self) -> str:
        """Return the audit in a few lines: how many claims agree, and each that does not."""
        stated = [v.status for v in self.verdicts]
        counted = ", ".join(f"{stated.count(s)} {s}" for s in _STEPS if s in stated)
        agree = sum(v.agrees for v in self.verdicts)
        seconds = sum(v.seconds for v in self.verdicts)
        lines = [
            f"{agree} of {len(self.verdicts)} claims are as stated ({counted}); "
            f"{self.n_examples:,} examples each, seed {self.seed}, {seconds:.0f} s of search, all processes together"
        ]
        lines += [f"{v.claim}: stated '{v.status}', but {v.verdict}" for v in self.verdicts if not v.agrees]
        return "\n".join(lines)


def verify(
    claims: str | Claim | Iterable[str | Claim] | None = None,
    *,
    n_examples: int = 300,
    rng: RngLike = 0,
    workers: int = 1,
    progress: Callable[[int, int, str], None] | None = None,
) -> Audit:
    """Check every claim by search: one that holds must survive, one that is refuted must be refuted again.

    The search for a counterexample does not use the one of the catalogue.

    Parameters
    ----------
    claims : str, Claim or iterable of them, optional
        Names or claims; all of the catalogue by default.
    n_examples : int
        Instances that a claim must survive, where it holds.
    rng : Generator, int or None
        Source of the random draws; one seed gives one result.
    workers : int
        Processes. The result is the same for any number, seconds excepted.
    progress : callable, optional
        Called after each claim with how many are done, how many there are, and the name of this one.

    Returns
    -------
    Audit

    Raises
    ------
    KeyError
        For a name that no claim has.

    Examples
    --------
    >>> audit = verify(["sign-agreement-beats-three"], n_examples=20)
    >>> audit.agrees, audit.verdicts[0].verdict
    (True, 'survived 20')
    """
    n_examples = integer("n_examples", n_examples, minimum=1)
    # The seed is reported, so that a search can be repeated whatever it was drawn from.
    source = as_rng(rng)
    seed = int(rng) if isinstance(rng, (int, np.integer)) else int(source.integers(2**31))
    # A claim of the catalogue travels by its name: another process finds it there.
    asked = [claims] if isinstance(claims, (str, Claim)) else claims
    asked = all_claims() if asked is None else asked
    wanted = [c if isinstance(c, Claim) else claim_named(c).name for c in asked]
    tasks = [(c, n_examples, seed) for c in wanted]
    verdicts: list[Verdict] = []
    for verdict in run_tasks(_verdict_on, tasks, workers=workers, ordered=True):
        verdicts.append(verdict)
        if progress is not None:
            progress(len(verdicts), len(wanted), verdict.claim)
    return Audit(tuple(verdicts), n_examples, seed)


def _verdict_on(claim: str | Claim, n_examples: int, seed: int) -> Verdict:
    """Return the verdict on one claim."""
    claim = as_claim(claim)
    started = time.perf_counter()
    found: dict[str, Any] = {}
    good, bad = [], []
    for step in _STEPS[claim.status]:
        try:
            good.append(step(claim, n_examples, seed, found))
        except (Broken, NotRefuted, Unsound) as problem:
            bad.append(str(problem))
    return Verdict(
        claim=claim.name,
        source=str(claim.source),
        status=claim.status,
        verdict="; ".join(bad or [text for text in good if text]),
        agrees=not bad,
        seconds=time.perf_counter() - started,
        **found,
    )


def _check_named_counterexample(claim: Claim, n_examples: int, seed: int, found: dict[str, Any]) -> str:
    example = claim.counterexample
    found["named"], found["named_margin"] = str(example), float(claim.margin(example))
    if not claim.fails_on(example):
        raise NotRefuted(f"counterexample of {claim.name} must be admitted and fail; got {example}")
    if claim.missing and claim.admits(example, corrected=True):
        raise NotRefuted(f"counterexample of {claim.name} must lack what is missing; got {example}")
    return ""


def _refute(claim: Claim, n_examples: int, seed: int, found: dict[str, Any]) -> str:
    refutation = find_counterexample(claim, max_examples=SEARCHED, rng=seed)
    found["found"], found["found_margin"] = str(refutation.instance), refutation.margin
    found["n_examined"] = refutation.n_examined
    return "refuted by search"


def _survive(claim: Claim, n_examples: int, seed: int, found: dict[str, Any]) -> str:
    survival = survive(claim, n_examples, rng=seed)
    found["n_survived"], found["least_margin"] = survival.n, survival.least_margin
    whole = ", all there are" if survival.exhausted else ""
    added = " with what is missing" if survival.corrected else ""
    return f"survived {survival.n:,}{whole}{added}"


_STEPS: dict[str, tuple[Callable[[Claim, int, int, dict[str, Any]], str], ...]] = {
    "holds": (_survive,),
    "holds under": (_check_named_counterexample, _refute, _survive),
    "refuted": (_check_named_counterexample, _refute),
}


def json_ready(value: Any) -> Any:
    """Return a value as JSON can hold it; a number that is infinite or does not exist as text.

    Examples
    --------
    >>> json_ready(2.5), json_ready(float("-inf"))
    (2.5, '-inf')
    """
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Recorded:
    """Number of examples that a claim survived in the recorded long run, and how many of them differ.

    `exhausted` says that there are no more instances; `least_margin` is in the claim's units.

    Attributes
    ----------
    claim : str
        Name of the claim.
    examples, distinct : int
        Examples of the run, and how many of them differ.
    exhausted : bool
        Whether there are no more instances.
    least_margin : float
        In the claim's units.
    seed : int
        The seed of the run.

    Examples
    --------
    >>> run = recorded("sign-agreement-beats-three")
    >>> run.claim, run.least_margin >= 0
    ('sign-agreement-beats-three', True)
    """

    claim: str
    examples: int
    distinct: int
    exhausted: bool
    least_margin: float
    seed: int


def recorded(claim: str) -> Recorded | None:
    """Return how many examples the claim of a name survived in the recorded long run, or None without a record.

    The record is of the claim at the time of the run; a claim that changes must be run again.

    Parameters
    ----------
    claim : str
        Name of the claim.

    Returns
    -------
    Recorded or None

    Examples
    --------
    >>> recorded("a claim that nobody made") is None
    True
    """
    return _record().get(claim)


@cache
def _record() -> dict[str, Recorded]:
    with RECORD_FILE.open(encoding="utf-8", newline="") as lines:
        return {row["claim"]: _recorded_row(row) for row in csv.DictReader(lines)}


def _recorded_row(row: dict[str, str]) -> Recorded:
    examples, distinct, seed = (int(row[name]) for name in ("examples", "distinct", "seed"))
    exhausted, margin = row["exhausted"] == "True", float(row["least_margin"])
    return Recorded(row["claim"], examples, distinct, exhausted, margin, seed)
