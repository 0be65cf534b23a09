"""What every audit hands back: estimates first, in order; then notes; as text, table, dictionary and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import pandas as pd

from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.bias._rates import FEW_CLUSTERS
from d3stats.inference.shares.clusters import EXACT

__all__ = ["Audit", "Audits", "audits_frame", "by_judge", "each_judge"]


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
    from d3stats.inference.bias.reading import as_judgments

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
