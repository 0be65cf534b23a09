"""What a comparison of runs holds: pairs, their family, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from d3stats._check import choice
from d3stats._latex import booktabs
from d3stats._words import counted
from d3stats.estimate import Estimate, estimates_frame, interval_kind
from d3stats.inference.comparing.pair_tests import said_p
from d3stats.inference.comparing.paired_result import PairedDifference
from d3stats.inference.margins import Better, MarginTests, equivalence, noninferiority

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs compared in pairs; what :func:`d3stats.compare` found.

    Attributes
    ----------
    differences : tuple of PairedDifference
        One per pair, second - first; the earlier run (or the baseline) is first.
    runs : tuple of Estimate
        Each run's own mean.
    adjusted : tuple of float or None
        p-values adjusted over all pairs; None where a pair has none. Such a pair still counts in the family, with 1.
    family : {"holm", "bh", "bonferroni"}
        How they were adjusted.
    baseline : str or None
        The run that all others were compared with; None when all pairs were.
    margin : float or None
        The largest difference that nobody minds, in units of the difference.
    n_items, n_clusters : int
        Items that all runs scored, and the clusters that they come from.
    left_out, unscored : dict of str to tuple of str
        Items that other runs lack, and items that a run could not score, by run.
    notes : tuple of str
        What was done to the runs, and what the data cannot carry.
    """

    differences: tuple[PairedDifference, ...]
    runs: tuple[Estimate, ...]
    adjusted: tuple[float | None, ...]
    family: str
    baseline: str | None
    margin: float | None
    n_items: int
    n_clusters: int
    left_out: dict[str, tuple[str, ...]]
    unscored: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def __iter__(self) -> Iterator[PairedDifference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def __getitem__(self, name: str | int) -> PairedDifference:
        if isinstance(name, int):
            return self.differences[name]
        found = {d.name: d for d in self.differences}
        return found[choice("name", name, tuple(found))]

    @property
    def only(self) -> PairedDifference:
        """The pair, where there is one.

        Raises
        ------
        ValueError
            When there are several.
        """
        if len(self.differences) > 1:
            names = [d.name for d in self.differences]
            raise ValueError(f"a comparison must have one pair for this, or say which; got {names}")
        return self.differences[0]

    @property
    def difference(self) -> Estimate:
        """The difference of the only pair."""
        return self.only.difference

    @property
    def p_value(self) -> float | None:
        """The p-value of the only pair."""
        return self.only.p_value

    def interval(self, kind: str = "cluster t", *, level: float | None = None) -> Estimate:
        """Return the only pair's difference with another kind of interval."""
        return self.only.interval(kind, level=level)

    def intervals(self, *, level: float | None = None) -> pd.DataFrame:
        """Return a table of every pair's difference with every kind of interval."""
        return pd.concat([d.intervals(level=level) for d in self.differences], ignore_index=True)

    def noninferior(self, margin: float, *, alpha: float = 0.05, better: Better = "higher") -> MarginTests:
        """Ask of every pair whether the second run is worse by less than a margin."""
        return MarginTests(
            tuple(noninferiority(d, margin, alpha=alpha, better=better) for d in self.differences)
        )

    def equivalent(self, margin: float, *, alpha: float = 0.05) -> MarginTests:
        """Ask of every pair whether the runs differ by less than a margin."""
        return MarginTests(tuple(equivalence(d, margin, alpha=alpha) for d in self.differences))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: the difference as of :class:`~d3stats.estimate.Estimate`, then the rest.

        After the columns of an Estimate come ``p_adjusted, family, test, first, second, first_value,
        second_value, gained, lost, unchanged, correlation`` and one ``p_...`` per test; missing where refused.
        """
        table = estimates_frame([d.difference for d in self.differences])
        rest = pd.DataFrame(
            [
                {
                    "p_adjusted": adjusted,
                    "family": self.family,
                    "test": d.test,
                    "first": d.first.name,
                    "second": d.second.name,
                    "first_value": d.first.value,
                    "second_value": d.second.value,
                    "gained": d.gained,
                    "lost": d.lost,
                    "unchanged": d.unchanged,
                    "correlation": d.correlation,
                    **{f"p_{t.name.replace(' ', '_').replace('-', '_').lower()}": t.p_value for t in d.tests},
                }
                for d, adjusted in zip(self.differences, self.adjusted, strict=True)
            ]
        )
        numbers = {c: "float64" for c in map(str, rest) if c.startswith("p_") or c == "correlation"}
        return pd.concat([table, rest.astype(numbers)], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold, the effects first."""
        margins = {} if self.margin is None else self._margins_dict(self.margin)
        return {
            "differences": [
                d.to_dict() | {"p_adjusted": p} for d, p in zip(self.differences, self.adjusted, strict=True)
            ],
            "runs": [run.to_dict() for run in self.runs],
            "family": self.family,
            "baseline": self.baseline,
            "margin": self.margin,
            **margins,
            "n_items": self.n_items,
            "n_clusters": self.n_clusters,
            "left_out": {name: list(items) for name, items in self.left_out.items()},
            "unscored": {name: list(items) for name, items in self.unscored.items()},
            "notes": list(self.notes),
        }

    def _margins_dict(self, margin: float) -> dict[str, Any]:
        return {
            "noninferior": self.noninferior(margin).to_dict(),
            "equivalent": self.equivalent(margin).to_dict(),
        }

    def to_latex(self, *, digits: int = 3) -> str:
        """Return a booktabs tabular: difference, interval, its kind (or why there is none), items in clusters, gained
        and lost, p, and adjusted p of several pairs.
        """
        several = len(self) > 1
        rows = []
        for d, adjusted in zip(self.differences, self.adjusted, strict=True):
            effect = d.difference
            limits = "-" if effect.low is None else f"[{effect.low:.{digits}f}, {effect.high:.{digits}f}]"
            cells = (
                effect.name,
                f"{effect.value:.{digits}f}",
                limits,
                interval_kind(effect),
                f"{effect.n} in {effect.n_clusters}",
                f"{d.gained} / {d.lost}",
                _short(effect.p_value),
            )
            rows.append((*cells, _short(adjusted)) if several else cells)
        head = ("", "difference", "interval", "kind", "n", "gained / lost", "p")
        return booktabs("lrrllrr" + "r" * several, (*head, f"p, {self.family}") if several else head, rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the differences with their intervals about zero, and the margin where there is one."""
        from d3stats.plotting.forest import plot_forest

        table = self.to_frame()[["name", "value", "low", "high", "level", "kind"]]
        frame = table.rename(columns={"name": "label", "value": "difference"})
        return plot_forest(frame, margin=self.margin, ax=ax)

    def __str__(self) -> str:
        against = f"against {self.baseline}" if self.baseline else "the later run less the earlier"
        family = f"; p adjusted over {len(self)} pairs ({self.family})" if len(self) > 1 else ""
        size = f"{counted(self.n_items, 'item')} in {counted(self.n_clusters, 'cluster')}"
        lines = [f"{size}; {against}, above 0 where it has more{family}"]
        several = len(self) > 1
        for d, adjusted in zip(self.differences, self.adjusted, strict=True):
            # Of several pairs the notes stand at the end, each once with its pairs.
            lines += [str(d.difference), *d.details(omit=d.notes if several else ())]
            if len(self) > 1 and adjusted is not None:
                lines.append(f"  {self.family}: {said_p(adjusted)} by {d.test}")
        if self.margin is not None:
            results = (*self.noninferior(self.margin), *self.equivalent(self.margin))
            lines += [result.conclusion for result in results]
        shown = () if several else self.differences[0].notes
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes if note not in shown)])


def _short(p: float | None) -> str:
    return "-" if p is None else f"{p:.3f}" if p >= 0.0005 else "< .001"
