"""Result of an audit of one judge, or of several, and the rates and differences of rates that audits are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import as_rng
from d3stats._words import counted, said_p, verb
from d3stats.estimate import Estimate, estimates_frame, estimates_latex, named_notes
from d3stats.inference.comparison.strata import Strata, by_stratum, families, plot_panels, strata_tables
from d3stats.inputs.labels import ItemStrata, Labels
from d3stats.inputs.verdicts import Judgments, Votes
from d3stats.note import around
from d3stats.resampling import FEW_CLUSTERS, cluster_totals, clustered_share, contrast_of_shares
from d3stats.resampling.contrasts import MOVER
from d3stats.resampling.proportions import EXACT
from d3stats.result import ByName, Gate, Result
from d3stats.sources import Reading
from d3stats.sources.verdicts import as_judgments

__all__ = [
    "Audit",
    "Audits",
    "audits_frame",
    "clustered_rate",
    "contrast_of_rates",
    "each_judge",
    "unlabelled_note",
]

Side = tuple[Floats, Ints]
"""Values in [0, 1], and the cluster of each."""


@dataclass(frozen=True, eq=False)
class Audit(ByName, Result):
    """Estimates of one judge's bias, the main effect first, and what must be known to read them.

    Attributes
    ----------
    judge : str
        Whose verdicts were audited.
    estimates : tuple of Estimate
        The main effect first.
    notes : tuple of str
        Omitted data, and limits of the data.
    strata : tuple of Strata
        Each estimate by stratum, where strata were asked for.

    Examples
    --------
    >>> rate = Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96)
    >>> audit = Audit("J", (rate,))
    >>> print(audit.effect)
    rate: 0.500 [0.400, 0.600] (95 % Wilson, n = 96)
    >>> audit["rate"].n, audit.find("another rate")
    (96, None)
    """

    judge: str
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...] = ()
    strata: tuple[Strata, ...] = ()
    _json: ClassVar[tuple[str, ...]] = ("judge", "estimates", "notes")

    def __post_init__(self) -> None:
        # Here, so that no audit can leave it out; once, also where an audit is made of another.
        notes = dict.fromkeys((*self.notes, *_few_clusters(self.estimates)))
        object.__setattr__(self, "notes", tuple(notes))

    @property
    def effect(self) -> Estimate:
        """The main effect."""
        return self.estimates[0]

    @property
    def p_value(self) -> float | None:
        """Two-sided p-value of the main effect, None where there is no test."""
        return self.effect.p_value

    def gate(self, *, at_least: float | None = None, at_most: float | None = None) -> Gate:
        """Say whether the data show that the size of the main effect is at most, or at least, so large.

        An effect is 0 where there is no bias; its sign does not count.

        Parameters
        ----------
        at_least, at_most : float
            One of them: the limit.

        Returns
        -------
        Gate
        """
        return Gate.of(self._gated(), at_least=at_least, at_most=at_most, absolute=True)

    def _gated(self) -> Sequence[Estimate]:
        return [self.effect]

    @property
    def headline(self) -> str:
        """The main effect with its interval, and its p-value."""
        tested = "" if self.p_value is None else f", {said_p(self.p_value)}"
        return f"{self.judge}: {self.effect}{tested}"

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per estimate: ``judge`` and the attributes of :class:`Estimate`."""
        frame = estimates_frame(self.estimates)
        frame.insert(0, "judge", self.judge)
        return {"estimates": frame, **strata_tables(self.strata)}

    def _document(self) -> dict[str, Any]:
        """Return judge, estimates and notes as JSON can hold them, and what there is by stratum."""
        return super()._document() | ({"strata": self.strata} if self.strata else {})

    def summary(self) -> str:
        """Return the judge, one line per estimate with its p-value, the notes, and each estimate by stratum as text."""
        tested = ("" if e.p_value is None else f", {said_p(e.p_value)}" for e in self.estimates)
        lines = [f"  {e}{p}" for e, p in zip(self.estimates, tested, strict=True)]
        whole = around([f"{self.judge}:", *lines], self.notes)
        return "\n".join([*whole, *(part.summary() for part in self.strata)])

    def plot(self, ax: Any = None) -> Any:
        """Draw every estimate by stratum, a panel each, or in given axes the first alone.

        Raises
        ------
        ValueError
            If there are no strata, or more than 7 estimates of one kind.

        Examples
        --------
        >>> import pandas as pd
        >>> from d3stats.inference.bias import position_bias
        >>> votes = {"item": [i // 2 for i in range(80)], "order": ["AB", "BA"] * 40, "vote": [*"AAAB"] * 20}
        >>> table = pd.DataFrame(votes | {"category": ["maths"] * 40 + ["law"] * 40})
        >>> ax = position_bias(table, strata="category").plot()
        >>> len(ax.figure.axes)
        3
        """
        return _panels(families(self.strata), ax)

    def _latex(self, digits: int) -> str:
        return estimates_latex(self.estimates, digits=digits)


def _few_clusters(estimates: tuple[Estimate, ...]) -> list[str]:
    """Say which intervals rest on few clusters; those that count each cluster once know it already."""
    few: dict[int, list[str]] = {}
    for e in estimates:
        if (
            e.low is not None
            and e.kind not in (EXACT, MOVER)
            and e.n_clusters
            and 1 < e.n_clusters < FEW_CLUSTERS
        ):
            few.setdefault(e.n_clusters, []).append(e.name)
    every = len(few) == 1 and estimates[0].name in next(iter(few.values()))
    return [
        f"only {counted(n, 'cluster')}, so the limits rest on {n - 1} degree{'s' * (n > 2)} of freedom and are rough"
        + ("" if every else f" ({', '.join(names)})")
        for n, names in few.items()
    ]


def _panels(panels: Mapping[str, Sequence[Strata]], ax: Any) -> Any:
    if not panels:
        raise ValueError("a figure of estimates by stratum must have strata; got an audit without strata")
    return plot_panels(panels, ax)


A = TypeVar("A", bound=Audit)


@dataclass(frozen=True, eq=False)
class Audits(Result, Mapping[str, A], Generic[A]):
    """The audits of several judges, by judge.

    Attributes
    ----------
    audits : dict of str to Audit
        By judge.
    not_audited : dict of str to str
        Judges whose rows are not sufficient for the audit, with the reason.

    Examples
    --------
    >>> rate = Estimate(name="rate", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96)
    >>> found = Audits({"J": Audit("J", (rate,))}, not_audited={"K": "no label"})
    >>> print(found)
    J:
      rate: 0.500 [0.400, 0.600] (95 % Wilson, n = 96)
    K was not audited: no label
    >>> found.to_frame()[["judge", "name", "value"]].values.tolist()
    [['J', 'rate', 0.5]]
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
        """The notes of the audits, each once, and which judges were not audited, and why."""
        return (
            *named_notes([(judge, audit.notes) for judge, audit in self.items()], "judges"),
            *self._absent(),
        )

    def _absent(self) -> list[str]:
        return [f"{judge} was not audited: {why}" for judge, why in self.not_audited.items()]

    @property
    def headline(self) -> str:
        """The judge with the smallest p-value, or the only one."""
        audits = list(self.values())
        if not audits:
            return f"None of {counted(len(self.not_audited), 'judge')} could be audited."
        first = min(audits, key=lambda one: 1.0 if one.p_value is None else one.p_value)
        if len(audits) == 1:
            return first.headline
        return f"The clearest effect of {counted(len(audits), 'judge')} is that of {first.headline} (not adjusted)"

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per judge and estimate, and per judge, estimate and stratum."""
        tables = {"estimates": audits_frame(self.audits)}
        parts = {judge: strata_tables(audit.strata) for judge, audit in self.items() if audit.strata}
        for name in ("strata", "equality") if parts else ():
            frames = [found[name].assign(judge=judge) for judge, found in parts.items()]
            tables[name] = pd.concat(frames, ignore_index=True)
        return tables

    def gate(self, *, at_least: float | None = None, at_most: float | None = None) -> Gate:
        """Say whether the data show that the size of every judge's main effect is at most, or at least, so large.

        Parameters
        ----------
        at_least, at_most : float
            One of them: the limit.

        Returns
        -------
        Gate
        """
        return Gate.of(self._gated(), at_least=at_least, at_most=at_most, absolute=True)

    def _gated(self) -> Sequence[Estimate]:
        several = len(self) > 1
        return [
            replace(e, name=f"{judge}: {e.name}") if several else e
            for judge, audit in self.items()
            for e in audit._gated()
        ]

    def summary(self) -> str:
        """Return every audit, then who was not audited, as text."""
        return "\n".join([*map(str, self.values()), *self._absent()])

    def _document(self) -> dict[str, Any]:
        """Return all audits as JSON can hold them."""
        return {
            "judges": [audit.to_dict() for audit in self.values()],
            "not_audited": self.not_audited,
            "notes": self.notes,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw every estimate of every judge by stratum, a panel each, or in given axes the first alone.

        Raises
        ------
        ValueError
            If there are no strata, or more than 7 estimates of one kind.

        Examples
        --------
        >>> import pandas as pd
        >>> from d3stats.inference.bias import each_judge, position_bias
        >>> votes = {"item": [i // 2 for i in range(80)], "order": ["AB", "BA"] * 40, "vote": [*"AAAB"] * 20}
        >>> table = pd.DataFrame(votes | {"category": ["maths"] * 40 + ["law"] * 40, "judge": "J"})
        >>> ax = each_judge(position_bias, table, strata="category").plot()
        >>> len(ax.figure.axes)
        3
        """
        several = len(self) > 1
        panels = {
            f"{judge}: {what}" if several else what: parts
            for judge, audit in self.items()
            for what, parts in families(audit.strata).items()
        }
        return _panels(panels, ax)

    def _latex(self, digits: int) -> str:
        """Return all estimates, named by their judges."""
        named = [replace(e, name=f"{a.judge}: {e.name}") for a in self.values() for e in a.estimates]
        return estimates_latex(named, digits=digits)


def each_judge(
    audit: Callable[..., Any],
    source: Any,
    judges: Sequence[str] | None = None,
    *,
    votes: Votes | None = None,
    personas: bool = False,
    **options: Any,
) -> Audits[Any]:
    """Run an audit (such as :func:`position_bias`) for every judge of a table, or for some.

    Judges whose rows are not sufficient for the audit are named in ``not_audited``.

    Parameters
    ----------
    audit : callable
        Takes a table and ``judge=``.
    source : DataFrame, str or Path
        As for the audit.
    judges : sequence of str, optional
        By default all.
    votes : {"answer", "slot"}, optional
        Whether votes name an answer or the place in which it was shown.
    personas : bool
        Whether votes may be for any answers, as :func:`persona_effect` takes them.
    **options
        Further settings of the audit, and how the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Audits

    Raises
    ------
    ValueError
        When no judge can be audited.

    Examples
    --------
    >>> from d3stats.inference.bias import position_bias
    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "judge": "J", "order": ["AB", "BA"] * 2, "vote": list("AAAB")})
    >>> each_judge(position_bias, table)["J"]["swap consistency"].value
    0.5
    """
    reading: Any = {name: options.pop(name) for name in Reading.__annotations__ if name in options}
    data = as_judgments(source, votes=votes, personas=personas, **reading)
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


def audited(
    audit: Callable[..., Any],
    data: Judgments,
    kinds: ItemStrata | None,
    judge: str | None,
    *,
    pooled: bool = False,
    again: Callable[[Any], Mapping[str, Any]] | None = None,
    **options: Any,
) -> Any:
    """Audit the verdicts of one judge, or of each, and those of each stratum where `kinds` says the items' strata.

    An audit takes verdicts, ``judge=`` and its settings. A `pooled` one takes all judges together. `again` tells the
    settings of the strata from the audit of the whole.
    """
    if kinds is not None and "rng" in options:
        options["rng"] = int(as_rng(options["rng"]).integers(2**62))  # a stratum draws what the whole draws
    several = judge is None and len(data.judges) > 1 and not pooled
    whole = each_judge(audit, data, **options) if several else audit(data, judge=judge, **options)
    if kinds is None:
        return whole
    if kinds.is_log:
        labels = kinds.labels(list(data.table.index), "debate", unit="debate")
    else:
        labels = kinds.labels([data.items[k] for k in data.item], unit="item")

    def with_strata(found: Any, name: str | None) -> Any:
        settings = {**options, **(again(found) if again else {})}

        def measure(rows: NDArray[np.bool_]) -> list[Estimate]:
            made = audit(data.rows(rows), judge=name, **settings)
            every = (*made.estimates, *getattr(made, "main_effects", ()))
            return [e for e in every if e.kind != "reference" and e.name not in (LOWEST, HIGHEST)]

        mine = labels if name is None else _of_judge(labels, data, name)
        parts = by_stratum(mine, data.cluster, measure, unit="cluster", names=data.clusters)
        return replace(found, strata=parts)

    if not isinstance(whole, Audits):
        return with_strata(whole, judge)
    return replace(whole, audits={name: with_strata(one, name) for name, one in whole.items()})


LOWEST, HIGHEST = "lowest pairwise agreement", "highest pairwise agreement"
"""Names of estimates that are about other pairs in every stratum."""


def _of_judge(labels: Labels, data: Judgments, judge: str) -> Labels:
    """Leave out strata in which a judge has no verdict, but keep the others' verdicts there."""
    here = np.unique(labels.codes[(data.judge == data.judges.index(judge)) & (labels.codes >= 0)])
    return replace(labels, codes=np.where(np.isin(labels.codes, here), labels.codes, -1))


def audits_frame(audits: Mapping[str, Audit] | Iterable[Audit]) -> pd.DataFrame:
    """Return the estimates of several audits, one row each, one under the other.

    Parameters
    ----------
    audits : mapping of str to Audit, or iterable of Audit
        In the order of the rows.

    Returns
    -------
    DataFrame
        The judge, then columns as of :class:`~d3stats.inference.Estimate`.

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


def contrast_of_rates(name: str, sides: Sequence[Side], weights: Sequence[float], level: float) -> Estimate:
    """Return a weighted sum of means of several sets of values in [0, 1], clusters shared or not, with MOVER limits.

    Weights add up to 0; the first two sides make up `n`.
    """
    parts = []
    for at, (values, _) in enumerate(sides):
        block = np.zeros((len(values), 2 * len(sides)))
        block[:, 2 * at], block[:, 2 * at + 1] = values, 1.0
        parts.append(block)
    totals = cluster_totals(np.concatenate(parts), np.concatenate([cluster for _, cluster in sides]))
    n = sum(len(values) for values, _ in sides[:2])
    return contrast_of_shares(name, totals, weights, n=n, level=level)


def unlabelled_note(count: int) -> str:
    """Say how many verdicts have no label that could be right or wrong."""
    return (
        f"{counted(count, 'verdict')} whose label is a tie or missing {verb(count, 'was', 'were')} left out"
    )
