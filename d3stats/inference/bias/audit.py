"""What every audit hands back: estimates first, in order; then notes; as text, table, dictionary and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._words import counted, verb
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.resampling import cluster_t, cluster_totals, jackknife, student_limits
from d3stats.resampling.proportions import EXACT, ONE_CLUSTER, share_limits

__all__ = [
    "Audit",
    "Audits",
    "audits_frame",
    "by_judge",
    "clustered_rate",
    "each_judge",
    "effect",
    "gap_of_rates",
    "ratio",
    "unlabelled_note",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]

EFFECT = "cluster t"
JACKKNIFE = "jackknife over clusters, t"
FEW_CLUSTERS = 10
"""Below so many clusters limits carry a note."""


def ratio(sums: Floats) -> Floats:
    """Return the first column over the second."""
    return np.asarray(sums[:, 0] / sums[:, 1])


def clustered_rate(name: str, hits: Floats, cluster: Ints, level: float, *, note: str = "") -> Estimate:
    """Return the mean of values in [0, 1] with limits over clusters, by the rule of every share."""
    totals = cluster_totals(np.stack([hits, np.ones_like(hits)], axis=1), cluster)
    found = share_limits(totals[:, 0], totals[:, 1], level)
    return Estimate(
        name=name,
        value=float(hits.mean()),
        se=found.se,
        low=found.low,
        high=found.high,
        kind="none" if found.low is None else found.kind,
        n=len(hits),
        n_clusters=len(totals),
        level=level,
        # How few clusters there are is said once, for the whole audit.
        note=_joined(note, found.note if found.low is None else ""),
    )


def effect(
    name: str,
    totals: Floats,
    statistic: Statistic,
    n: int,
    level: float,
    *,
    note: str = "",
    bounds: tuple[float, float] = (-1.0, 1.0),
    left_out: bool = False,
) -> Estimate:
    """Return a smooth function of cluster sums with cluster-robust t limits, cut at what is possible.

    With `left_out` the error is the jackknife's (CR3; Bell and McCaffrey, 2002), which is larger where few clusters
    carry a rate.
    """
    n_clusters = len(totals)
    if n_clusters < 2:
        value = float(statistic(totals.sum(axis=0, keepdims=True)).ravel()[0])
        reason = _joined(note, ONE_CLUSTER)
        shape: dict[str, Any] = {"n": n, "n_clusters": n_clusters, "level": level, "note": reason}
        return Estimate(name=name, value=value, low=None, high=None, kind="none", **shape)
    found = cluster_t(totals, statistic, level=level)
    value, se = float(found.estimate[0]), float(found.se[0])
    low, high = found.interval()
    p_value, why = float(found.p_value[0]), found.reasons[0]
    if left_out and not why:
        changes = jackknife(totals, statistic)[:, 0] - value
        if np.isfinite(changes).all():
            se = math.sqrt((n_clusters - 1) / n_clusters * float((changes**2).sum()))
            low, high, p_value = student_limits(value, se, found.df, level)
        else:
            low, high, why = None, None, "without one cluster nothing is left to compare: no error"
    return Estimate(
        name=name,
        value=value,
        se=None if why else se,
        low=None if low is None else max(low, bounds[0]),
        high=None if high is None else min(high, bounds[1]),
        kind="none" if why else JACKKNIFE if left_out else EFFECT,
        n=n,
        n_clusters=n_clusters,
        level=level,
        p_value=None if why else p_value,
        note=_joined(note, why),
    )


def gap_of_rates(
    name: str,
    one: tuple[Floats, Ints],
    other: tuple[Floats, Ints],
    level: float,
    *,
    half: bool = False,
    note: str = "",
    left_out: bool = False,
) -> Estimate:
    """Return the mean of one set of values less that of another (halved with `half`), clusters shared or not."""
    parts = []
    for at, (values, cluster) in enumerate((one, other)):
        block = np.zeros((len(values), 4))
        block[:, 2 * at], block[:, 2 * at + 1] = values, 1.0
        parts.append((block, cluster))
    totals = cluster_totals(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
    scale = 0.5 if half else 1.0

    def statistic(sums: Floats) -> Floats:
        return np.asarray(scale * (sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]))

    bounds = (-scale, scale)
    n = len(one[0]) + len(other[0])
    return effect(name, totals, statistic, n, level, note=note, bounds=bounds, left_out=left_out)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def unlabelled_note(count: int) -> str:
    """Say how many verdicts have no label that could be right or wrong."""
    return (
        f"{counted(count, 'verdict')} whose label is a tie or missing {verb(count, 'was', 'were')} left out"
    )


@dataclass(frozen=True, eq=False)
class Audit:
    """Estimates of one judge and what must be known to read them.

    Attributes
    ----------
    judge : str
    estimates : tuple of Estimate
        The main effect first.
    notes : tuple of str
        What was left out, and what the data cannot tell.
    """

    judge: str
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...]

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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate: ``judge`` and the attributes of :class:`Estimate`."""
        frame = estimates_frame(self.estimates)
        frame.insert(0, "judge", self.judge)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return judge, estimates and notes as JSON can hold them."""
        return {
            "judge": self.judge,
            "estimates": [e.to_dict() for e in self.estimates],
            "notes": list(self.notes),
        }

    def to_latex(self) -> str:
        """Return a booktabs tabular of the estimates."""
        return estimates_latex(self.estimates)

    def __str__(self) -> str:
        lines = [f"{self.judge}:"]
        for e in self.estimates:
            tested = "" if e.p_value is None else f", p = {e.p_value:.3g}"
            lines.append(f"  {e}{tested}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


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
class Audits(Mapping[str, A], Generic[A]):
    """The audits of several judges, by judge.

    Attributes
    ----------
    audits : dict of str to Audit
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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per judge and estimate."""
        return audits_frame(self.audits)

    def to_dict(self) -> dict[str, Any]:
        """Return all audits as JSON can hold them."""
        return {"judges": [audit.to_dict() for audit in self.values()], "not_audited": self.not_audited}

    def to_latex(self) -> str:
        """Return a booktabs tabular of all estimates, named by their judges."""
        return estimates_latex(
            [replace(e, name=f"{a.judge}: {e.name}") for a in self.values() for e in a.estimates]
        )

    def __str__(self) -> str:
        refused = [f"{judge} was not audited: {why}" for judge, why in self.not_audited.items()]
        return "\n".join([*map(str, self.values()), *refused])


def each_judge(
    audit: Callable[..., Any], data: Any, judges: Sequence[str] | None = None, **options: Any
) -> Audits[Any]:
    """Run an audit for every judge, or for some, and name those whose rows do not carry it.

    Parameters
    ----------
    audit : callable
        :func:`position_bias`, :func:`length_bias`, :func:`self_preference` or :func:`persona_effect`.
    data : Judgments
    judges : sequence of str, optional
        These alone; by default all.
    **options
        Passed on to the audit.

    Raises
    ------
    ValueError
        When none does.
    """
    wanted = list(data.judges) if not judges else list(judges)
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


def by_judge(audit: Callable[..., A], source: Any, *, votes: Any = "answer", **options: Any) -> dict[str, A]:
    """Run an audit for every judge of a table.

    Parameters
    ----------
    audit : callable
        :func:`position_bias`, :func:`length_bias` or :func:`self_preference`.
    source : Judgments, DataFrame, Trajectories, str or Path
    votes : {"answer", "slot"}
    **options
        Passed on to the audit.

    Returns
    -------
    dict of str to Audit
        Judges in order of appearance. A judge whose rows do not carry the audit raises; name those that do.

    Examples
    --------
    >>> from d3stats.inference.bias import position_bias
    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "judge": "J", "order": ["AB", "BA"] * 2, "vote": list("AAAB")})
    >>> by_judge(position_bias, table)["J"]["swap consistency"].value
    0.5
    """
    from d3stats.inference.bias.verdicts import as_judgments

    data = as_judgments(source, votes=votes)
    return {judge: audit(data, judge=judge, **options) for judge in data.judges}


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
