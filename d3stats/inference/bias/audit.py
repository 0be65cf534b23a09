"""Result of an audit of one judge, or of several, and the rates and differences of rates that audits are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._words import counted, verb
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.bias.verdicts import Votes, as_judgments
from d3stats.resampling import FEW_CLUSTERS, cluster_estimate, cluster_totals, clustered_share
from d3stats.resampling.proportions import EXACT
from d3stats.result import Result

__all__ = [
    "Audit",
    "Audits",
    "audits_frame",
    "clustered_rate",
    "contrast_of_rates",
    "each_judge",
    "unlabelled_note",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Side = tuple[Floats, Ints]
"""Values in [0, 1], and the cluster of each."""


@dataclass(frozen=True, eq=False)
class Audit(Result):
    """Estimates of one judge's bias, the main effect first, and what must be known to read them.

    Attributes
    ----------
    estimates : tuple of Estimate
        The main effect first.
    notes : tuple of str
        What was left out, and what the data cannot tell.
    """

    judge: str
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...] = ()
    _json: ClassVar[tuple[str, ...]] = ("judge", "estimates", "notes")

    def __post_init__(self) -> None:
        # Here, so that no audit can leave it out.
        object.__setattr__(self, "notes", (*self.notes, *_few_clusters(self.estimates)))

    @property
    def effect(self) -> Estimate:
        """The main effect."""
        return self.estimates[0]

    @property
    def p_value(self) -> float | None:
        """Two-sided p-value of the main effect, None where there is no test."""
        return self.effect.p_value

    def find(self, name: str) -> Estimate | None:
        """Return the estimate of this name, or None where the data do not give it."""
        return next((e for e in self.estimates if e.name == name), None)

    def __getitem__(self, name: str) -> Estimate:
        found = self.find(name)
        if found is None:
            raise KeyError(f"no estimate {name!r}; there are {[e.name for e in self.estimates]}")
        return found

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per estimate: ``judge`` and the attributes of :class:`Estimate`."""
        frame = estimates_frame(self.estimates)
        frame.insert(0, "judge", self.judge)
        return {"estimates": frame}

    def summary(self) -> str:
        """Return the judge, one line per estimate with its p-value, and the notes as text."""
        tested = ("" if e.p_value is None else f", p = {e.p_value:.3g}" for e in self.estimates)
        lines = [f"  {e}{p}" for e, p in zip(self.estimates, tested, strict=True)]
        return "\n".join([f"{self.judge}:", *lines, *(f"  note: {note}" for note in self.notes)])

    def to_latex(self, table: str | None = None, *, digits: int = 3) -> str:
        """Return a booktabs tabular of the estimates."""
        self.to_frame(table)
        return estimates_latex(self.estimates, digits=digits)


def _few_clusters(estimates: tuple[Estimate, ...]) -> list[str]:
    """Say which intervals rest on few clusters; those that count each cluster once know it already."""
    few: dict[int, list[str]] = {}
    for e in estimates:
        if e.low is not None and e.kind != EXACT and e.n_clusters and 1 < e.n_clusters < FEW_CLUSTERS:
            few.setdefault(e.n_clusters, []).append(e.name)
    every = len(few) == 1 and estimates[0].name in next(iter(few.values()))
    return [
        f"only {n} clusters: limits rest on {n - 1} degree{'s' * (n > 2)} of freedom and are rough"
        + ("" if every else f" ({', '.join(names)})")
        for n, names in few.items()
    ]


A = TypeVar("A", bound=Audit)


@dataclass(frozen=True, eq=False)
class Audits(Result, Mapping[str, A], Generic[A]):
    """The audits of several judges, by judge.

    Attributes
    ----------
    not_audited : dict of str to str
        Judges whose rows do not carry the audit, with the reason.
    """

    audits: dict[str, A]
    not_audited: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, judge: str) -> A:
        return self.audits[judge]

    def __iter__(self) -> Iterator[str]:
        return iter(self.audits)

    def __len__(self) -> int:
        return len(self.audits)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # of the judges, not stored
        """Which judges were not audited, and why."""
        return tuple(f"{judge} was not audited: {why}" for judge, why in self.not_audited.items())

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per judge and estimate."""
        return {"estimates": audits_frame(self.audits)}

    def summary(self) -> str:
        """Return every audit, then who was not audited, as text."""
        return "\n".join([*map(str, self.values()), *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return all audits as JSON can hold them."""
        return {"judges": [audit.to_dict() for audit in self.values()], "not_audited": self.not_audited}

    def to_latex(self, table: str | None = None, *, digits: int = 3) -> str:
        """Return a booktabs tabular of all estimates, named by their judges."""
        self.to_frame(table)
        named = [replace(e, name=f"{a.judge}: {e.name}") for a in self.values() for e in a.estimates]
        return estimates_latex(named, digits=digits)


def each_judge(
    audit: Callable[..., Any],
    source: Any,
    judges: Sequence[str] | None = None,
    *,
    votes: Votes = "answer",
    **options: Any,
) -> Audits[Any]:
    """Run an audit (such as :func:`position_bias`) for every judge of a table, or for some.

    Judges whose rows do not carry the audit are named in ``not_audited``; ValueError when no judge can be audited.
    `source` and `votes` are as for the audits, `options` are passed on.

    Examples
    --------
    >>> from d3stats.inference.bias import position_bias
    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "judge": "J", "order": ["AB", "BA"] * 2, "vote": list("AAAB")})
    >>> each_judge(position_bias, table)["J"]["swap consistency"].value
    0.5
    """
    data = as_judgments(source, votes=votes)
    wanted = list(judges or data.judges)
    found: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for judge in wanted:
        try:
            found[judge] = audit(data, judge=judge, **options)
        except ValueError as error:
            if len(wanted) == 1:
                raise
            refused[judge] = str(error)
    if not found:
        raise ValueError(f"no judge could be audited; {next(iter(refused.values()))}")
    return Audits(found, refused)


def audits_frame(audits: Mapping[str, Audit] | Iterable[Audit]) -> pd.DataFrame:
    """Return the estimates of several audits, one row each, one under the other.

    Examples
    --------
    >>> rate = Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96)
    >>> audits_frame([Audit("J", (rate,), ()), Audit("K", (rate,), ())])["judge"].tolist()
    ['J', 'K']
    """
    values = audits.values() if isinstance(audits, Mapping) else audits
    frames: list[pd.DataFrame] = [audit.to_frame() for audit in values]
    return pd.concat(frames, ignore_index=True)


def clustered_rate(name: str, hits: Floats, cluster: Ints, level: float, *, note: str = "") -> Estimate:
    """Return the mean of values in [0, 1] with the limits over clusters of ``clustered_share``."""
    found = clustered_share(hits, np.ones(len(hits)), cluster, level=level, name=name)
    # How few clusters there are is said once, for the whole audit.
    why = found.note if found.low is None else ""
    return replace(found, note="; ".join(part for part in (note, why) if part))


def contrast_of_rates(
    name: str, sides: Sequence[Side], weights: Sequence[float], level: float, *, left_out: bool = False
) -> Estimate:
    """Return a weighted sum of means of several sets of values, clusters shared or not, with t limits over clusters.

    Weights add up to 0; the first two sides make up `n`. With `left_out` the error is the jackknife's (CR3; Bell and
    McCaffrey, 2002), which is larger where few clusters carry a rate.
    """
    parts = []
    for at, (values, _) in enumerate(sides):
        block = np.zeros((len(values), 2 * len(sides)))
        block[:, 2 * at], block[:, 2 * at + 1] = values, 1.0
        parts.append(block)
    totals = cluster_totals(np.concatenate(parts), np.concatenate([cluster for _, cluster in sides]))

    def statistic(sums: Floats) -> Floats:
        return np.asarray((sums[:, ::2] / sums[:, 1::2]) @ np.array(weights))

    most = sum(weight for weight in weights if weight > 0)
    n = sum(len(values) for values, _ in sides[:2])
    error: Any = "CR3" if left_out else "linearised"
    return cluster_estimate(name, totals, statistic, n, level=level, bounds=(-most, most), error=error)


def unlabelled_note(count: int) -> str:
    """Say how many verdicts have no label that could be right or wrong."""
    return (
        f"{counted(count, 'verdict')} whose label is a tie or missing {verb(count, 'was', 'were')} left out"
    )
