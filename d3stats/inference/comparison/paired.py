"""Difference of two runs on the same items, with a clustered paired error.

The difference is the mean over items of B's value minus A's, so that a question of many items counts by their number.
Pairing removes the difficulty of items from the error, which is that of the differences. The error is clustered,
because items of one question are correlated. Assumptions: clusters are a sample of those that the claim is about, and
independent of each other.

Interval and p-value are one method: Student's t with the clustered error. Its degrees of freedom are what the clusters
are worth that changed, and changed otherwise than most items did, counted in equal clusters (Kish, 1965). The usual
clusters - 1 counts clusters that say nothing of how large changes are: with 5 items gained of 100 and none lost its
interval is .050 [.007, .093], where flipping signs gives p = .0625. With 5 degrees of freedom it is [-.006, .106] and
p = .071.
``simulations/interval_coverage`` has its coverage and size.

References
----------
Kish (1965), Survey Sampling (clusters of unequal size). Student (1908), Biometrika 6, 1 (paired t). Liang and
Zeger (1986), Biometrika 73, 13 (clusters). Miller (2024), arXiv 2411.00640 (clustered paired errors for
evaluations of language models).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability, refuse_infinite
from d3stats._words import counted, points
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.comparison.margins import Better, MarginTest, equivalence, noninferiority
from d3stats.inference.comparison.pair_data import (
    CUT,
    KINDS,
    TESTS,
    PairData,
    PairTest,
    checked_kind,
    disagreements,
    notes_on,
    paired_tests,
    said_p,
)
from d3stats.inference.comparison.power_laws import rising_root, t_power
from d3stats.note import kind_of
from d3stats.resampling.cluster_t import item_ratio, student_limits
from d3stats.resampling.clusters import cluster_codes
from d3stats.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from d3stats.models.bayes.paired import PairedFit

__all__ = ["PairTest", "PairedDifference", "difference_of", "paired_difference"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PairedDifference(Result):
    r"""Mean difference of two runs on the same items, second minus first, with its tests.

    Attributes
    ----------
    difference : Estimate
        Mean of second - first over items, in the units of the values, with its interval; its `p_value` is that of
        `test`.
    first, second : Estimate
        The runs' own means, with cluster Wilson intervals where values are 0 or 1, else cluster t.
    gained, lost, unchanged : int
        Items on which the second run has the larger value, the smaller one, the same.
    correlation : float or None
        Pearson's, over items; None where a run gives every item the same value.
    tests : tuple of PairTest
        All tests, made or refused.
    test : str
        The test whose p-value counts for this pair in a family of comparisons.
    binary : bool
        Whether all values are 0 or 1.
    kind : str
        The kind of interval asked for.
    notes : tuple of str
        What a reader must know.
    data : PairData
        The values and cluster sums from which other intervals and tests are computed.

    Examples
    --------
    >>> from d3stats.inference import paired_difference
    >>> old, new = [1, 0, 1, 1] * 25, [1, 0, 1, 1] * 15 + [1, 1, 1, 1] * 10
    >>> found = paired_difference(old, new, names=("old", "new"), rng=1)
    >>> print(found.difference)
    new - old: 0.100 [0.033, 0.167] (95 % cluster t, n = 100 in 100 clusters)
    >>> found.gained, found.lost, found.unchanged
    (10, 0, 90)
    >>> print(found.relative())
    new - old, relative: 0.133 [0.033, 0.233] (95 % cluster t, n = 100 in 100 clusters)
    >>> print(found.interval("bca"))
    new - old: 0.100 [0.050, 0.170] (95 % bca, n = 100 in 100 clusters)
    >>> found.intervals()["kind"].tolist()
    ['cluster t', 'percentile', 'basic', 'bca', 'studentised', 'Tango']
    >>> round(found.p("McNemar exact"), 4)
    0.002
    >>> found.noninferior(0.02).holds, found.equivalent(0.02).holds
    (True, False)
    >>> round(found.detectable(0.8), 3)
    0.094
    >>> found.details()[0]
    '  old 0.750 [0.655, 0.826]; new 0.850 [0.765, 0.908]'
    >>> found.plot().get_xlabel()
    'new - old'
    >>> print(found.bayes(rng=1).difference)
    new - old: 0.096 [0.040, 0.164] (95 % equal-tailed posterior, n = 100)
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

    _json: ClassVar[tuple[str, ...]] = (
        *("difference", "first", "second", "gained", "lost", "unchanged", "correlation"),
        *("test", "tests", "binary", "notes"),
    )

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
        """Return the difference with another kind of interval, as of :func:`paired_difference`."""
        at = self.difference.level if level is None else probability("level", level, open_interval=True)
        return self.data.interval(kind, at)

    def intervals(self, *, level: float | None = None) -> pd.DataFrame:
        """Return a table of all kinds of interval that fit, columns as of :class:`~d3stats.estimate.Estimate`."""
        kinds = KINDS if self.binary and self.data.alone else [kind for kind in KINDS if kind != "Tango"]
        return estimates_frame([self.interval(kind, level=level) for kind in kinds])

    def noninferior(self, margin: float, *, alpha: float = 0.05, better: Better = "higher") -> MarginTest:
        """Ask whether the second run is worse by less than a margin; see :func:`~d3stats.inference.noninferiority`."""
        return noninferiority(self, margin, alpha=alpha, better=better)

    def equivalent(self, margin: float, *, alpha: float = 0.05) -> MarginTest:
        """Ask whether the runs differ by less than a margin; see :mod:`d3stats.inference.comparison.margins`."""
        return equivalence(self, margin, alpha=alpha)

    def detectable(self, power: float = 0.8, *, alpha: float = 0.05) -> float | None:
        """Return the smallest true difference that a two-sided t test with this error finds with a given power.

        By the noncentral t law with the observed error and degrees of freedom. It is optimistic where values are 0 or
        1: a difference larger than the one seen changes more items, and then the error is larger too; to plan a
        comparison give :func:`~d3stats.inference.comparison.power.sample_size` the discordance that you expect. None
        where nothing says how clusters vary, and where values are 0 or 1 and not even a difference of 1 would be found
        so often.
        """
        alpha = probability("alpha", alpha, open_interval=True)
        if probability("power", power, open_interval=True) <= alpha:
            raise ValueError(f"power must be > alpha; got power={power}, alpha={alpha}")
        spread = self.data.interval("cluster t", 0.95).se
        if not spread:
            return None
        errors = rising_root(lambda shift: t_power(shift, self.data.df, alpha, 2), power, 0.0)
        if errors is None or (self.binary and errors * spread > 1):
            return None
        return errors * spread

    def relative(self) -> Estimate:
        """Return the difference as a part of the first run's mean, with the degrees of freedom of the difference.

        The error is that of a ratio of sums over clusters (delta method; the advocates paper, table 2, prints the value
        alone). Raises ValueError where the first run's mean is not above 0.
        """
        data = self.data
        if not self.first.value > 0:
            raise ValueError(f"the mean of {self.first.name} must be above 0; got {self.first.value:g}")
        name = f"{self.name}, relative"
        found = item_ratio(
            name,
            data.second - data.first,
            data.first,
            data.cluster,
            level=self.difference.level,
            tested=False,
        )
        if self.difference.low is None or not found.se:
            note = found.note or self.difference.note
            return replace(found, low=None, high=None, kind="none", note=note)
        low, high, _ = student_limits(found.value, found.se, data.df, found.level)
        return replace(found, low=low, high=high, kind="cluster t")

    def bayes(self, *, rng: RngLike = None, **settings: Any) -> PairedFit:
        """Fit :func:`d3stats.models.bayes.paired.fit_paired` with these settings; it needs the extra ``bayes``."""
        data = self.data
        settings |= {"cluster": data.cluster, "names": data.names, "rng": as_rng(rng)}
        from d3stats.models.bayes.paired import fit_paired

        return fit_paired(data.first, data.second, **settings)

    def _latex(self, digits: int) -> str:
        """Return the difference and both runs' means."""
        return estimates_latex([self.difference, self.first, self.second], digits=digits)

    @property
    def headline(self) -> str:
        """The answer, whether a difference is shown, and how large it may be."""
        shown = self.p_value is not None and self.p_value < 1 - self.difference.level
        verdict = "A difference is shown" if shown else "No difference shown"
        return f"{verdict}: {self.name} {self._in_units()}."

    def _in_units(self) -> str:
        """Return the difference and its limits in points where the values are shares, else as they are."""
        e = self.difference
        ends = self.first.value, self.second.value, *self.data.first, *self.data.second
        if min(ends) >= 0 and max(ends) <= 1:
            return points(e.value, e.low, e.high) + ("" if e.low is not None else ", no interval")
        limits = "no interval" if e.low is None else f"[{e.low:+z.4g}, {e.high:+z.4g}]"
        return f"{e.value:+z.4g} {limits}"

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {
            "difference and runs": estimates_frame([self.difference, self.first, self.second]),
            "tests": pd.DataFrame([test.to_dict() for test in self.tests]),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all kinds of interval of the difference about zero."""
        from d3stats.plotting.intervals import plot_forest

        table = self.intervals().rename(columns={"kind": "label", "value": "difference"})
        return plot_forest(table[["label", "difference", "low", "high", "level"]], xlabel=self.name, ax=ax)

    def summary(self) -> str:
        """Return the difference, both runs, what changed, the tests and the notes."""
        return "\n".join([str(self.difference), *self.details()])

    def details(self, omit: Collection[str] = ()) -> list[str]:
        """Return the lines below the effect: both runs, what changed, the tests, the notes (without those to omit)."""
        own = "; ".join(f"{e.name} {e._text()}" for e in (self.first, self.second))
        related = "" if self.correlation is None else f"; correlation of the runs {self.correlation:z.2f}"
        changed = (
            f"{counted(self.gained, 'item')} gained, {self.lost} lost, {self.unchanged} unchanged{related}"
        )
        made = [f"{t.name} {said_p(t.p_value)}" for t in self.tests if t.p_value is not None]
        lines = [f"  {own}", f"  {changed}", *([f"  {', '.join(made)}"] if made else [])]
        return [*lines, *(f"  note: {note}" for note in self.notes if note not in omit)]


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
    repeated: bool = False,
    level: float = 0.95,
    kind: str = "cluster t",
    test: str | None = None,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> PairedDifference:
    """Estimate the mean difference of two columns of values of the same items, with a clustered paired t.

    Parameters
    ----------
    first, second : array of float, shape (items,)
        One value per item, none missing: 0/1 or scores.
    cluster : array, shape (items,), optional
        The question of each item; by default each item is its own.
    names : tuple of str
        What the columns are called.
    repeated : bool
        Whether values are means over several tries, which McNemar's test cannot take.
    level : float
        Level of the intervals.
    kind : {"cluster t", "percentile", "basic", "bca", "studentised", "Tango"}
        Student's t with the degrees of freedom of the clusters that changed, a bootstrap of clusters, or Tango's score
        limits, which need right or wrong items that are their own clusters. For right or wrong values, limits are cut
        at -1 and 1.
    test : {"cluster t", "sign flip", "McNemar exact", "McNemar mid-p"}, optional
        Which p-value is reported as that of the pair. By default the t where the interval is a t, so that the
        interval leaves out 0 exactly where p < 1 - level, else the sign flip. A note names the tests that disagree
        with the interval.
    n_boot : int
        Bootstrap replicates.
    rng : Generator, int or None
        Random numbers of bootstrap draws, and of sign flips where they cannot all be counted.

    Returns
    -------
    PairedDifference

    Raises
    ------
    ValueError
        When shapes differ, a value is missing, there is no item, or the asked test cannot be made on such values.

    Examples
    --------
    >>> drug = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    >>> other = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    >>> found = paired_difference(other, drug, names=("hyoscyamine", "hyoscine"))
    >>> print(found.difference)
    hyoscine - hyoscyamine: 1.580 [0.700, 2.460] (95 % cluster t, n = 10 in 10 clusters)
    >>> found.p("sign flip")
    0.00390625
    """
    a, b = _values("first", first), _values("second", second)
    if len(a) != len(b):
        raise ValueError(f"second must have one value per item of first ({len(a)}); got {len(b)}")
    codes = cluster_codes(cluster, len(a), unit="item")
    seed = (int(as_rng(rng).integers(2**62)),)
    data = PairData(names, a, b, codes, integer("n_boot", n_boot, minimum=2), seed)
    return difference_of(
        data,
        repeated=repeated,
        level=probability("level", level, open_interval=True),
        kind=checked_kind(kind),
        test=test if test is None else choice("test", test, TESTS),
    )


def difference_of(
    data: PairData, *, repeated: bool, level: float, kind: str, test: str | None
) -> PairedDifference:
    """Return the paired difference of checked data; settings are checked too."""
    change = data.second - data.first
    tests = paired_tests(data, repeated=repeated, level=level)
    by_name = {made.name: made for made in tests}
    chosen = test or ("cluster t" if kind == "cluster t" else "sign flip")
    notes = notes_on(data, tests, repeated=repeated, level=level)
    if by_name[chosen].p_value is None and change.any() and not data.too_unequal:
        if test in ("McNemar exact", "McNemar mid-p"):
            why = by_name[chosen].note
            raise ValueError(f"test must be possible for these runs; got {test!r}: {why}")
        if by_name["sign flip"].p_value is not None:
            notes.append(
                f"{chosen} is not possible ({by_name[chosen].note}); the sign-flip test is used for this pair"
            )
            chosen = "sign flip"
    difference = data.interval(kind, level, by_name[chosen].p_value)
    notes += disagreements(difference, tests, chosen)
    if kind_of(difference.note) == "cut limits":
        notes.append(CUT)
    return PairedDifference(
        difference=difference,
        first=data.own(0, level),
        second=data.own(1, level),
        gained=int((change > 0).sum()),
        lost=int((change < 0).sum()),
        unchanged=int((change == 0).sum()),
        correlation=data.correlation(),
        tests=tests,
        test=chosen,
        binary=data.binary,
        kind=kind,
        notes=tuple(notes),
        data=data,
    )


def _values(name: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers; got {values!r}") from None
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} must be one value per item, at least one; got shape {array.shape}")
    refuse_infinite(name, array)
    return array
