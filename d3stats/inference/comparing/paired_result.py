"""What a paired difference holds, how it is shown, and what else can be asked of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from d3stats._check import RngLike, as_rng, choice, probability
from d3stats._words import counted
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.comparing.pair_intervals import KINDS, PairData
from d3stats.inference.comparing.pair_tests import PairTest, said_p

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from d3stats.inference.margins import Better, MarginTest
    from d3stats.models.bayes.paired import PairedFit

__all__ = ["PairedDifference"]


@dataclass(frozen=True, eq=False)
class PairedDifference:
    """How much better the second run is than the first, on the same items.

    Attributes
    ----------
    difference : Estimate
        Mean of second - first over items (large clusters count by their items), in the units of the values, with its
        interval. Its `p_value` is that of `test`.
    first, second : Estimate
        The runs' own means, with cluster Wilson intervals where values are 0 or 1, else cluster t.
    gained, lost, unchanged : int
        Items on which the second run has the larger value, the smaller one, the same.
    correlation : float or None
        Pearson's, over items; None where a run gives every item the same value.
    tests : tuple of PairTest
        All tests, made or refused.
    test : str
        The one that speaks for this pair in a family.
    binary : bool
        Whether all values are 0 or 1.
    kind : str
        The kind of interval asked for.
    notes : tuple of str
        What a reader must know.
    """

    difference: Estimate
    first: Estimate
    second: Estimate
    gained: int
    lost: int
    unchanged: int
    correlation: float | None
    tests: tuple[PairTest, ...]
    test: str
    binary: bool
    kind: str
    notes: tuple[str, ...]
    data: PairData = field(repr=False)

    @property
    def name(self) -> str:
        """Second - first, by their names."""
        return self.difference.name

    @property
    def p_value(self) -> float | None:
        """The p-value of `test`; None where no test can be made."""
        return self.difference.p_value

    def p(self, test: str) -> float | None:
        """Return the p-value of a test by its name; None where it was refused."""
        found = {t.name: t.p_value for t in self.tests}
        return found[choice("test", test, tuple(found))]

    def interval(self, kind: str = "cluster t", *, level: float | None = None) -> Estimate:
        """Return the difference with another kind of interval.

        Parameters
        ----------
        kind : {"cluster t", "percentile", "basic", "bca", "studentised", "Tango"}
            Student's t with the degrees of freedom of the clusters that changed, a bootstrap of clusters, or
            Tango's score limits, which only right or wrong items that are their own clusters carry.
        level : float, optional
            By default that of `difference`.
        """
        at = self.difference.level if level is None else probability("level", level, open_interval=True)
        return self.data.interval(kind, at)

    def intervals(self, *, level: float | None = None) -> pd.DataFrame:
        """Return a table of all kinds of interval that fit, columns as of :class:`~d3stats.estimate.Estimate`."""
        score = self.binary and self.data.alone
        return estimates_frame(
            [self.interval(kind, level=level) for kind in KINDS if score or kind != "Tango"]
        )

    def noninferior(self, margin: float, *, alpha: float = 0.05, better: Better = "higher") -> MarginTest:
        """Ask whether the second run is worse by less than a margin; see :mod:`d3stats.inference.margins`."""
        from d3stats.inference.margins import noninferiority

        return noninferiority(self, margin, alpha=alpha, better=better)

    def equivalent(self, margin: float, *, alpha: float = 0.05) -> MarginTest:
        """Ask whether the runs differ by less than a margin; see :mod:`d3stats.inference.margins`."""
        from d3stats.inference.margins import equivalence

        return equivalence(self, margin, alpha=alpha)

    def detectable(self, power: float = 0.8, *, alpha: float = 0.05) -> float | None:
        """Return the smallest true difference that a t test with this error finds with a given power.

        It asks what the data could have found, not what they did: the noncentral t law with the error and the degrees
        of freedom that were observed, those of :meth:`interval`. So it is optimistic where values are 0 or 1: a
        difference larger than the one seen changes more items, and then the error is larger too. To plan a
        comparison give :func:`~d3stats.inference.power.sample_size` the discordance that you expect.

        Parameters
        ----------
        power : float
            Above `alpha`.
        alpha : float
            Of the two-sided test.

        Returns
        -------
        float or None
            None where nothing says how clusters vary, and where values are 0 or 1 and not even a difference of 1
            would be found so often.
        """
        from d3stats.inference.design.laws import rising_root, t_power

        alpha = probability("alpha", alpha, open_interval=True)
        if probability("power", power, open_interval=True) <= alpha:
            raise ValueError(f"power must be > alpha; got power={power}, alpha={alpha}")
        spread = self.data.interval("cluster t", 0.95).se
        if not spread:
            return None
        errors = rising_root(lambda shift: t_power(shift, self.data.df, alpha, 2), power, 0.0, None)
        if errors is None or (self.binary and errors * spread > 1):
            return None
        return errors * spread

    def bayes(self, *, rng: RngLike = None, **settings: Any) -> PairedFit:
        """Fit the Bayesian twin, :func:`d3stats.models.bayes.paired.fit_paired`; its `difference` is an Estimate.

        Parameters
        ----------
        rng : Generator, int or None
        **settings
            Passed on: prior, draws, chains and so on.

        Raises
        ------
        ImportError
            When the extra is not installed.
        """
        try:
            from d3stats.models.bayes.paired import fit_paired

            return fit_paired(
                self.data.first,
                self.data.second,
                cluster=self.data.cluster,
                names=self.data.names,
                rng=as_rng(rng),
                **settings,
            )
        except ImportError as error:
            raise ImportError(
                f"bayes() needs PyMC and ArviZ: pip install 'd3stats[bayes]' (in a checkout '.[bayes]'); got {error}"
            ) from error

    def to_frame(self) -> pd.DataFrame:
        """Return the difference and both runs' means, one row each."""
        return estimates_frame([self.difference, self.first, self.second])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold, the effect first."""
        return {
            "difference": self.difference.to_dict(),
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "gained": self.gained,
            "lost": self.lost,
            "unchanged": self.unchanged,
            "correlation": self.correlation,
            "test": self.test,
            "tests": [test.to_dict() for test in self.tests],
            "binary": self.binary,
            "notes": list(self.notes),
        }

    def to_latex(self, *, digits: int = 3) -> str:
        """Return a booktabs tabular of the difference and both runs' means."""
        return estimates_latex([self.difference, self.first, self.second], digits=digits)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all kinds of interval of the difference about zero."""
        from d3stats.plotting.forest import plot_forest

        table = self.intervals().rename(columns={"kind": "label", "value": "difference"})
        return plot_forest(table[["label", "difference", "low", "high", "level"]], xlabel=self.name, ax=ax)

    def __str__(self) -> str:
        return "\n".join([str(self.difference), *self.details()])

    def details(self, omit: Collection[str] = ()) -> list[str]:
        """Return what stands below the effect: both runs, what changed, the tests, the notes (less those to omit)."""
        own = "; ".join(
            f"{e.name} {e.value:.3f}" + ("" if e.low is None else f" [{e.low:.3f}, {e.high:.3f}]")
            for e in (self.first, self.second)
        )
        related = "" if self.correlation is None else f"; correlation of the runs {self.correlation:.2f}"
        changed = (
            f"{counted(self.gained, 'item')} gained, {self.lost} lost, {self.unchanged} unchanged{related}"
        )
        made = [f"{t.name} {said_p(t.p_value)}" for t in self.tests if t.p_value is not None]
        lines = [f"  {own}", f"  {changed}", *([f"  {', '.join(made)}"] if made else [])]
        return [*lines, *(f"  note: {note}" for note in self.notes if note not in omit)]
