"""Is what the catalogue says of each claim what a search finds today?"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from d3stats._check import RngLike, as_rng, integer
from d3stats._latex import booktabs
from d3stats._parallel import run_tasks
from d3stats.theory.catalogue import as_claim
from d3stats.theory.catalogue import claim as claim_of
from d3stats.theory.catalogue import claims as all_claims
from d3stats.theory.claim import Claim
from d3stats.theory.search import Broken, NotRefuted, Unsound, find_counterexample, survive

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audit", "Verdict", "verify"]

SEARCHED = 2000
"""Instances that a search for a counterexample may look at."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found out about one claim.

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
        The counterexample that the search found without being told; empty when it found none.
    found_margin : float or None
    n_examined : int
        Instances looked at until the first that failed; 0 when none was looked for.
    n_survived : int
    least_margin : float or None
        Over the survived instances.
    seconds : float
        Not part of equality.
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
class Audit:
    """The verdict on each claim, in the order of the catalogue.

    Attributes
    ----------
    verdicts : tuple of Verdict
    n_examples : int
        What a claim that holds had to survive.
    seed : int
        The root of every search.
    """

    verdicts: tuple[Verdict, ...]
    n_examples: int
    seed: int

    @property
    def agrees(self) -> bool:
        """Whether every live verdict is the stated one."""
        return all(verdict.agrees for verdict in self.verdicts)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per claim, one column per attribute of :class:`Verdict`."""
        import pandas as pd

        names = [f.name for f in fields(Verdict)]
        return pd.DataFrame([[getattr(v, name) for name in names] for v in self.verdicts], columns=names)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values; an infinite margin is text."""
        rows = [{name: _json(value) for name, value in asdict(v).items()} for v in self.verdicts]
        return {"agrees": self.agrees, "n_examples": self.n_examples, "seed": self.seed, "claims": rows}

    def to_json(self) -> str:
        """Return one JSON document."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)

    def to_latex(self) -> str:
        """Return a booktabs table: claim, stated status, live verdict, counterexample found."""
        rows = [(v.claim, v.status, v.verdict, v.found) for v in self.verdicts]
        head = ("claim", "stated", "found", "counterexample")
        return booktabs("llp{0.22\\linewidth}p{0.3\\linewidth}", head, rows)

    def summary(self) -> str:
        """Return the audit in a few lines: how many claims agree, and each that does not."""
        by_status = {
            s: sum(v.status == s for v in self.verdicts) for s in ("holds", "holds under", "refuted")
        }
        counted = ", ".join(f"{n} {status}" for status, n in by_status.items() if n)
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
    """Check every claim live: what holds must survive, what is refuted must be refuted without being told how.

    Parameters
    ----------
    claims : str, Claim or iterable of them, optional
        Names or claims; all of the catalogue by default.
    n_examples : int
        Instances that a claim must survive, where it holds.
    rng : Generator, int or None
    workers : int
        Processes. The result is the same for any number, seconds excepted.
    progress : callable, optional
        Called after each claim with how many are done, how many there are, and the name of this one.

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
    # The root is told, so that a search can be repeated whatever it was drawn from.
    source = as_rng(rng)
    seed = int(rng) if isinstance(rng, (int, np.integer)) else int(source.integers(2**31))
    # A claim of the catalogue travels by its name: another process finds it there.
    asked = [claims] if isinstance(claims, (str, Claim)) else claims
    wanted = (
        list(all_claims())
        if asked is None
        else [c if isinstance(c, Claim) else claim_of(c).name for c in asked]
    )
    tasks = [(c, n_examples, seed) for c in wanted]
    verdicts: list[Verdict] = []
    for verdict in run_tasks(check, tasks, workers=workers, ordered=True):
        verdicts.append(verdict)
        if progress is not None:
            progress(len(verdicts), len(wanted), verdict.claim)
    return Audit(tuple(verdicts), n_examples, seed)


def check(claim: str | Claim, n_examples: int, seed: int) -> Verdict:
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


def _named(claim: Claim, n_examples: int, seed: int, found: dict[str, Any]) -> str:
    example = claim.counterexample
    found["named"], found["named_margin"] = str(example), float(claim.margin(example))
    if not claim.fails_on(example):
        raise NotRefuted(f"counterexample of {claim.name} must be admitted and fail; got {example}")
    if claim.missing and claim.admits(example, corrected=True):
        raise NotRefuted(f"counterexample of {claim.name} must lack what is missing; got {example}")
    return ""


def _searched(claim: Claim, n_examples: int, seed: int, found: dict[str, Any]) -> str:
    refutation = find_counterexample(claim, max_examples=SEARCHED, rng=seed)
    found["found"], found["found_margin"] = str(refutation.instance), refutation.margin
    found["n_examined"] = refutation.n_examined
    return "refuted by search"


def _survived(claim: Claim, n_examples: int, seed: int, found: dict[str, Any]) -> str:
    survival = survive(claim, n_examples, rng=seed)
    found["n_survived"], found["least_margin"] = survival.n, survival.least_margin
    whole = ", all there are" if survival.exhausted else ""
    added = " with what is missing" if survival.corrected else ""
    return f"survived {survival.n:,}{whole}{added}"


_STEPS: dict[str, tuple[Callable[[Claim, int, int, dict[str, Any]], str], ...]] = {
    "holds": (_survived,),
    "refuted": (_named, _searched),
    "holds under": (_named, _searched, _survived),
}


def _json(value: Any) -> Any:
    # JSON has no infinities.
    return repr(value) if isinstance(value, float) and value in (float("inf"), float("-inf")) else value
