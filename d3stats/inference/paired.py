"""Is run B better than run A on the same items, and by how much?

The difference is the mean over items of B's value less A's. Pairing takes out what makes items easy or hard: the
error is that of the differences, not of two means. Items of one question (cluster) hang together, so the error is
clustered: each cluster's sum of differences varies, not each item's. Assumptions: clusters are a sample of those that
the claim is about, and independent of each other.

References
----------
Student (1908), Biometrika 6, 1 (paired t). Liang and Zeger (1986), Biometrika 73, 13 (clusters). Miller (2024), arXiv
2411.00640 (clustered paired errors for evaluations of language models).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference._pair_intervals import KINDS, Kind, PairData, checked_kind
from d3stats.inference._pair_notes import notes_on
from d3stats.inference._pair_tests import TESTS, PairTest, Test, paired_tests, said_p

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from d3stats.inference.margins import Better, MarginTest

__all__ = ["Kind", "PairTest", "PairedDifference", "Test", "paired_difference"]

_BOOTSTRAP_TEST, _SIGN_FLIP = "sign flip", 1


@dataclass(frozen=True, eq=False)
class PairedDifference:
    """How much better the second run is than the first, on the same items.

    Attributes
    ----------
    difference : Estimate
        Mean of second - first over items, in the units of the values, with its interval. Its `p_value` is that of
        `test`.
    first, second : Estimate
        The runs' own means, with cluster t intervals.
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
        kind : {"cluster t", "percentile", "basic", "bca", "studentised"}
            Student's t with clusters - 1 degrees of freedom, or a bootstrap of clusters.
        level : float, optional
            By default that of `difference`.
        """
        at = self.difference.level if level is None else probability("level", level, open_interval=True)
        return self.data.interval(kind, at)

    def intervals(self, *, level: float | None = None) -> pd.DataFrame:
        """Return a table of all kinds of interval, columns as of :class:`~d3stats.estimate.Estimate`."""
        return estimates_frame([self.interval(kind, level=level) for kind in KINDS])

    def noninferior(self, margin: float, *, alpha: float = 0.05, better: Better = "higher") -> MarginTest:
        """Ask whether the second run is worse by less than a margin; see :mod:`d3stats.inference.margins`."""
        from d3stats.inference.margins import noninferiority

        return noninferiority(self, margin, alpha=alpha, better=better)

    def equivalent(self, margin: float, *, alpha: float = 0.05) -> MarginTest:
        """Ask whether the runs differ by less than a margin; see :mod:`d3stats.inference.margins`."""
        from d3stats.inference.margins import equivalence

        return equivalence(self, margin, alpha=alpha)

    def detectable(self, power: float = 0.8, *, alpha: float = 0.05) -> float | None:
        """Return the smallest true difference that so many clusters, as noisy as these, find with a given power.

        It asks what the data could have found, not what they did; None where nothing says how clusters vary.
        """
        from d3stats.inference.power import minimum_detectable_effect

        spread = self.data.interval("cluster t", 0.95).se
        if not spread:
            return None
        n = self.data.n_clusters
        return minimum_detectable_effect(n, sd=spread * n**0.5, power=power, alpha=alpha).effect

    def bayes(self, *, rng: RngLike = None, **settings: Any) -> Any:
        """Fit the Bayesian twin, ``d3stats.models.bayes.fit_paired``; its `difference` is an Estimate.

        Parameters
        ----------
        rng : Generator, int or None
        **settings
            Passed on: draws, chains and so on.

        Raises
        ------
        ImportError
            When the extra is not installed.
        """
        try:
            fit = import_module("d3stats.models.bayes").fit_paired
            return fit(
                self.data.first, self.data.second, cluster=self.data.cluster, rng=as_rng(rng), **settings
            )
        except ImportError as error:
            raise ImportError(
                f"bayes() needs PyMC and ArviZ: pip install 'd3stats[bayes]'; got {error}"
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
        return plot_forest(table[["label", "difference", "low", "high"]], xlabel=self.name, ax=ax)

    def __str__(self) -> str:
        return "\n".join([str(self.difference), *self.details()])

    def details(self, omit: Collection[str] = ()) -> list[str]:
        """Return what stands below the effect: both runs, what changed, the tests, the notes (less those to omit)."""
        own = "; ".join(
            f"{e.name} {e.value:.3f}" + ("" if e.low is None else f" [{e.low:.3f}, {e.high:.3f}]")
            for e in (self.first, self.second)
        )
        related = "" if self.correlation is None else f"; correlation of the runs {self.correlation:.2f}"
        changed = f"{self.gained} items gained, {self.lost} lost, {self.unchanged} unchanged{related}"
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
    """Compare two columns of values of the same items; second - first.

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
    kind : {"cluster t", "percentile", "basic", "bca", "studentised"}
        The interval of `difference`.
    test : {"cluster t", "sign flip", "McNemar exact", "McNemar mid-p"}, optional
        Which p-value speaks for the pair; by default the t where the interval is a t, else the sign flip.
    n_boot : int
    rng : Generator, int or None
        Of bootstrap draws, and of sign flips where they cannot all be counted.

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
    codes = np.arange(len(a)) if cluster is None else pd.factorize(np.asarray(cluster))[0]
    if len(codes) != len(a) or (codes < 0).any():
        raise ValueError(f"cluster must name one cluster per item ({len(a)}); got {cluster!r}")
    seed = (int(as_rng(rng).integers(2**62)),)
    data = PairData(names, a, b, codes.astype(np.int64), integer("n_boot", n_boot, minimum=2), seed)
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
    binary = bool(np.isin(data.first, (0, 1)).all() and np.isin(data.second, (0, 1)).all())
    found = data.t(level)
    why = data.why_no_spread()
    t = None
    if not why and found is not None:
        t = (float(found.estimate[2] / found.se[2]), float(found.p_value[2]), found.df)
    tests = paired_tests(
        change,
        data.cluster,
        binary=binary,
        repeated=repeated,
        t=t,
        why_no_t=why,
        rng=data.generator(_SIGN_FLIP),
    )
    by_name = {made.name: made for made in tests}
    usual = "cluster t" if kind == "cluster t" else _BOOTSTRAP_TEST
    chosen = usual if test is None else test
    notes = notes_on(data, tests, repeated=repeated)
    if by_name[chosen].p_value is None and change.any():
        if test is not None and test.startswith("McNemar"):
            raise ValueError(
                f"test must be one that these runs can carry; got {test!r}: {by_name[chosen].note}"
            )
        if by_name[_BOOTSTRAP_TEST].p_value is not None:
            notes.append(
                f"{chosen} cannot be made ({by_name[chosen].note}); the sign flip speaks for this pair"
            )
            chosen = _BOOTSTRAP_TEST
    return PairedDifference(
        difference=data.interval(kind, level, by_name[chosen].p_value),
        first=data.own(0, level),
        second=data.own(1, level),
        gained=int((change > 0).sum()),
        lost=int((change < 0).sum()),
        unchanged=int((change == 0).sum()),
        correlation=data.correlation(),
        tests=tests,
        test=chosen,
        binary=binary,
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
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite; got {name}={array[row]!r} at row {row}")
    return array
