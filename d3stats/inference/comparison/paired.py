"""Is run B better than run A on the same items, and by how much?

The difference is the mean over items of B's value less A's, so that a question of many items counts by their number:
with nine of twelve items in one question, all nine gained, and three questions of one item unchanged, it is .75, where
the mean over questions is .25. Pairing takes out what makes items easy or hard: the
error is that of the differences, not of two means. Items of one question (cluster) hang together, so the error is
clustered: each cluster's sum of differences varies, not each item's. Assumptions: clusters are a sample of those that
the claim is about, and independent of each other.

Interval and p-value are one method: Student's t with the clustered error and as many degrees of freedom as the
clusters that changed are worth, counted in clusters of equal size (Kish, 1965). The usual clusters - 1 counts clusters
that say nothing of how large changes are: with 5 items gained of 100 and none lost its interval is .050 [.007, .093],
where flipping signs gives p = .0625. With 5 degrees of freedom it is [-.006, .106] and p = .071. Where every cluster
changed it is the usual t of clusters - 1. ``simulations/interval_coverage`` has its coverage and size.

References
----------
Kish (1965), Survey Sampling (clusters of unequal size). Student (1908), Biometrika 6, 1 (paired t). Liang and
Zeger (1986), Biometrika 73, 13 (clusters). Miller (2024), arXiv 2411.00640 (clustered paired errors for
evaluations of language models).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import counted
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.comparison.mcnemar import mcnemar
from d3stats.resampling import (
    Bootstrap,
    ClusterT,
    bootstrap,
    cluster_t,
    cluster_totals,
    ratios,
    student_limits,
)
from d3stats.resampling.proportions import share_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from d3stats.inference.comparison.margins import Better, MarginTest
    from d3stats.models.bayes.paired import PairedFit

__all__ = [
    "CUT",
    "FEW_CLUSTERS",
    "KINDS",
    "SAME",
    "TESTS",
    "Kind",
    "PairData",
    "PairTest",
    "PairedDifference",
    "Test",
    "checked_kind",
    "disagreements",
    "notes_on",
    "paired_difference",
    "paired_tests",
    "score_limits",
    "score_z",
]

_HALVINGS = 60


def score_z(gained: int, lost: int, n: int, difference: float) -> float:
    """Return how many standard errors the observed difference lies above a tested one.

    Parameters
    ----------
    gained, lost : int
        Items that the second run alone has right, and the first alone.
    n : int
        Items.
    difference : float
        The tested difference, second less first, in [-1, 1].

    Returns
    -------
    float
        Falls from infinity at -1 to minus infinity at 1; 0 where the difference is the observed one.

    Examples
    --------
    >>> round(score_z(0, 3, 300, -0.02), 3)
    1.237
    """
    if difference < 0:
        return -score_z(lost, gained, n, -difference)
    above = gained - lost - n * difference
    # The likelihood of the share lost, given the difference, is largest at the root of a q^2 + b q - c.
    a, b = 2.0 * n, (2 * n - gained + lost) * difference - gained - lost
    c = lost * difference * (1 - difference)
    root = math.sqrt(b * b + 4 * a * c)
    # Of two equal forms, the one that does not subtract near-equal numbers.
    q = (root - b) / (2 * a) if b <= 0 else 2 * c / (root + b)
    variance = n * (2 * q + difference * (1 - difference))
    if variance <= 0:
        return 0.0 if above == 0 else math.copysign(math.inf, above)
    return above / math.sqrt(variance)


def score_limits(gained: int, lost: int, n: int, level: float) -> tuple[float, float]:
    """Return the differences that the two-sided score test at 1 - level does not reject, lowest and highest.

    Examples
    --------
    >>> [round(limit, 4) for limit in score_limits(28, 25, 618, 0.9)]
    [-0.0148, 0.0247]
    """
    from scipy.special import ndtri

    reach = float(ndtri((1 + level) / 2))
    return -_highest(lost, gained, n, reach), _highest(gained, lost, n, reach)


def _highest(gained: int, lost: int, n: int, reach: float) -> float:
    if gained == n:
        return 1.0
    inside, outside = (gained - lost) / n, 1.0
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        if score_z(gained, lost, n, middle) >= -reach:
            inside = middle
        else:
            outside = middle
    return inside


Floats = NDArray[np.float64]
Kind = Literal["cluster t", "percentile", "basic", "bca", "studentised", "Tango"]
KINDS: tuple[str, ...] = get_args(Kind)
SAME = "the runs gave the same result on every item"
CUT = "limits beyond -1 or 1 are cut there, for no difference of shares is larger"
ONE_CLUSTER = "all items belong to one cluster: nothing says how clusters vary"
_FIRST, _SECOND, _CHANGE, _ITEMS = range(4)
_SAID = {"bca": "bootstrap BCa"}
_ROUNDING = 1e-12
"""A change below this share of what was added up is rounding."""
_LEAST_DF = 2
"""With one degree of freedom, t limits are wider than any count of changes can be."""


def checked_kind(kind: str) -> str:
    """Return a kind of interval; "BCa" is "bca" too."""
    known = {name.lower(): name for name in KINDS}
    return choice("kind", known.get(kind.lower(), kind) if isinstance(kind, str) else kind, KINDS)


@dataclass(frozen=True, eq=False)
class PairData:
    """Values of two runs on the same items, and how they are drawn.

    Attributes
    ----------
    names : tuple of str
        First and second run.
    first, second : ndarray of float, shape (items,)
    cluster : ndarray of int, shape (items,)
        Codes from 0.
    n_boot : int
    seed : tuple of int
        What every draw of this pair starts from, so that the order of questions changes no answer.
    """

    names: tuple[str, str]
    first: Floats
    second: Floats
    cluster: NDArray[np.int64]
    n_boot: int
    seed: tuple[int, ...]

    @cached_property
    def totals(self) -> Floats:
        """Sums by cluster: first, second, second less first, items."""
        columns = [self.first, self.second, self.second - self.first, np.ones_like(self.first)]
        totals = cluster_totals(np.column_stack(columns), self.cluster)
        size = np.abs(totals[:, _FIRST]) + np.abs(totals[:, _SECOND])
        totals[np.abs(totals[:, _CHANGE]) <= _ROUNDING * size, _CHANGE] = 0.0
        return totals

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.first)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.totals)

    @cached_property
    def binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return bool(np.isin(self.first, (0, 1)).all() and np.isin(self.second, (0, 1)).all())

    @property
    def alone(self) -> bool:
        """Whether every item is its own cluster."""
        return self.n_clusters == self.n_items

    @property
    def agree(self) -> bool:
        """Whether the runs gave the same result on every item."""
        return not (self.first != self.second).any()

    @property
    def changed(self) -> int:
        """Number of clusters whose sums differ between the runs."""
        return int((self.totals[:, _CHANGE] != 0).sum())

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of the difference's t: how many clusters of equal size those that changed are worth.

        A cluster that did not change says nothing of how large changes are, so that it is not counted. At least 2,
        at most clusters - 1, and that is the number where every cluster changed, as with most scores.
        """
        if self.changed == self.n_clusters:
            return float(self.n_clusters - 1)
        items = self.totals[self.totals[:, _CHANGE] != 0, _ITEMS]
        worth = float(items.sum() ** 2 / (items**2).sum()) if len(items) else 0.0
        return min(self.n_clusters - 1.0, max(worth, _LEAST_DF))

    def change_t(self, level: float) -> tuple[float, float, float]:
        """Return the t limits of the difference and the p-value of 0: one method, so that they never disagree.

        Raises
        ------
        ValueError
            Where :meth:`why_no_spread` says that there are none.
        """
        found = self.t(level)
        if found is None or self.why_no_spread():
            raise ValueError(f"there must be a spread over clusters; got none: {self.why_no_spread()}")
        return student_limits(float(found.estimate[_CHANGE]), float(found.se[_CHANGE]), self.df, level)

    def generator(self, purpose: int) -> np.random.Generator:
        """Return the draws of one purpose."""
        return np.random.default_rng([*self.seed, purpose])

    def t(self, level: float) -> ClusterT | None:
        """Return the cluster-robust t of first, second and difference; None with a single cluster."""
        if self.n_clusters < 2:
            return None
        if level not in self._found:
            pairs = ((_FIRST, _ITEMS), (_SECOND, _ITEMS), (_CHANGE, _ITEMS))
            self._found[level] = cluster_t(self.totals, ratios(*pairs), level=level)
        return self._found[level]

    @cached_property
    def _found(self) -> dict[float, ClusterT]:
        return {}

    @cached_property
    def draws(self) -> Bootstrap:
        """Replicates of the mean difference, each with its own error."""
        return bootstrap(
            self.totals, ratios((_CHANGE, _ITEMS)), n_boot=self.n_boot, rng=self.generator(0), errors=True
        )

    def why_no_spread(self) -> str:
        """Say why no interval of the difference can be had; "" when one can."""
        change = self.totals[:, _CHANGE]
        if self.agree:
            return SAME
        if self.n_clusters < 2:
            return ONE_CLUSTER
        found = next(iter(self._found.values()), None) or self.t(0.95)
        assert found is not None
        if found.reasons[_CHANGE]:
            each = change[0] / self.totals[0, _ITEMS]
            return f"every cluster changed by the same {each:+.4g}: nothing says how clusters vary"
        return ""

    def own(self, which: int, level: float) -> Estimate:
        """Return a run's own mean with its interval: a share's is the cluster Wilson, else the cluster t."""
        found = self.t(level)
        value = float(self.totals[:, which].sum() / self.n_items)
        reason = ONE_CLUSTER if found is None else found.reasons[which]
        low, high = (None, None) if found is None else found.interval(which)
        values = self.first if which == _FIRST else self.second
        kind = "cluster t"
        se = None if found is None or reason else float(found.se[which])
        if np.isin(values, (0, 1)).all():
            low, high, se, kind, few = share_limits(self.totals[:, which], self.totals[:, _ITEMS], level)
            # How few clusters there are is said once, of the difference.
            reason = few if low is None else ""
        return Estimate(
            name=self.names[which],
            value=value,
            low=low,
            high=high,
            se=se,
            level=level,
            kind=kind,
            n=self.n_items,
            n_clusters=self.n_clusters,
            note=reason,
        )

    def interval(self, kind: str, level: float, p_value: float | None = None, note: str = "") -> Estimate:
        """Return the mean difference with an interval of one kind, or with the reason why it has none."""
        kind = checked_kind(kind)
        reason = self._why_no_tango() if kind == "Tango" else self.why_no_spread()
        low: float | None = None
        high: float | None = None
        se: float | None = None
        if not reason and kind == "Tango":
            low, high = score_limits(*self.gained_lost, self.n_items, level)
        elif not reason and kind == "cluster t":
            found = self.t(level)
            assert found is not None
            (low, high, _), se = self.change_t(level), float(found.se[_CHANGE])
        elif not reason:
            limits = self.draws.limits(kind, level=level)  # type: ignore[arg-type]  # checked above
            reason, note = limits.reasons[0], "; ".join(filter(None, (note, limits.note)))
            low, high = limits.interval()
            se = float(limits.se[0])
        if self.binary and low is not None and high is not None and (low < -1 or high > 1):
            low, high, note = max(low, -1.0), min(high, 1.0), "; ".join(filter(None, (note, CUT)))
        return Estimate(
            name=f"{self.names[1]} - {self.names[0]}",
            # Zero stays zero, whatever rounding leaves of a sum of equal and opposite changes.
            value=round(float(self.totals[:, _CHANGE].sum()), 12) / self.n_items + 0.0,
            low=low,
            high=high,
            se=se,
            level=level,
            kind=kind if kind in ("cluster t", "Tango") else _SAID.get(kind, f"bootstrap {kind}"),
            n=self.n_items,
            n_clusters=self.n_clusters,
            p_value=p_value,
            note="; ".join(filter(None, (reason, note))),
        )

    @property
    def gained_lost(self) -> tuple[int, int]:
        """Items that the second run alone has right (or larger), and the first alone."""
        return int((self.second > self.first).sum()), int((self.second < self.first).sum())

    def _why_no_tango(self) -> str:
        if not self.binary:
            return "Tango's limits are of right and wrong, and values are others"
        if not self.alone:
            return "Tango's limits take items as independent, and some share a cluster"
        return SAME if self.agree else ""

    def correlation(self) -> float | None:
        """Return Pearson's correlation over items; None where a run gives every item the same value."""
        if self.n_items < 2 or np.ptp(self.first) == 0 or np.ptp(self.second) == 0:
            return None
        value: Any = np.corrcoef(self.first, self.second)[0, 1]
        # A run with itself is 1, whatever rounding leaves of it.
        return round(float(value), 12)


Test = Literal["cluster t", "sign flip", "McNemar exact", "McNemar mid-p"]
TESTS: tuple[str, ...] = get_args(Test)
N_DRAWS = 100_000
"""Random sign flips where all of them are too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTest:
    """A test that two runs do equally well.

    Attributes
    ----------
    name : str
    p_value : float or None
        Two-sided; None where the test cannot be made, and then `note` says why.
    detail : str
        The statistic, or how the p-value was computed.
    note : str
        What the test takes for granted here and should not, or why it was not made.
    """

    name: str
    p_value: float | None
    detail: str = ""
    note: str = ""

    def __str__(self) -> str:
        if self.p_value is None:
            return f"{self.name}: not made ({self.note})"
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.name}: {said_p(self.p_value)}{detail}" + (f" - {self.note}" if self.note else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dictionary that JSON can hold."""
        return asdict(self)


def said_p(p: float | None) -> str:
    """Write a p-value, or a dash."""
    if p is None:
        return "-"
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.01 else f"p = {p:.3f}"


def paired_tests(
    change: Floats,
    cluster: NDArray[np.int64],
    *,
    binary: bool,
    repeated: bool,
    t: tuple[float, float, float] | None,
    why_no_t: str,
    rng: np.random.Generator,
) -> tuple[PairTest, ...]:
    """Make every test that the data carry.

    Parameters
    ----------
    change : ndarray of float, shape (items,)
        Second run less first.
    cluster : ndarray of int, shape (items,)
    binary, repeated : bool
        Whether both runs are right or wrong, and whether values are means over tries.
    t : tuple of float, float, float, or None
        Statistic, p-value and degrees of freedom of the cluster-robust t; None where it has no error, and
        `why_no_t` says why.
    """
    sizes = np.bincount(cluster)
    alone = bool((sizes <= 1).all())
    tests = [_t("cluster t", t, why_no_t)]
    if alone and t is not None and t[2] == len(sizes) - 1:
        tests.append(
            PairTest(
                name="paired t",
                p_value=t[1],
                detail=_student(t),
                note="the cluster t of single items",
            )
        )
    tests.append(_sign_flip(change, cluster, rng))
    return (*tests, *_mcnemar(change, binary, repeated, sizes))


def _t(name: str, t: tuple[float, float, float] | None, why: str) -> PairTest:
    if t is None:
        return PairTest(name=name, p_value=None, note=why)
    return PairTest(name=name, p_value=t[1], detail=_student(t))


def _student(t: tuple[float, float, float]) -> str:
    df = f"{t[2]:.1f}".removesuffix(".0")
    return f"t({df}) = {t[0]:.3f}"


def _sign_flip(change: Floats, cluster: NDArray[np.int64], rng: np.random.Generator) -> PairTest:
    from d3stats.resampling import sign_flip_p

    sums = np.bincount(cluster, weights=change)
    if len(sums) < 2:
        return PairTest(name="sign flip", p_value=None, note="one cluster can be swapped in two ways only")
    if not change.any():
        return PairTest(name="sign flip", p_value=None, note="the runs gave the same result on every item")
    found = sign_flip_p(sums, n_draws=N_DRAWS, rng=rng)
    return PairTest(name="sign flip", p_value=float(found.p_value), detail=f"{found.how}, clusters swapped")


def _mcnemar(change: Floats, binary: bool, repeated: bool, sizes: NDArray[np.int64]) -> list[PairTest]:
    why = ""
    if repeated:
        why = "items were run several times: their means are no right or wrong"
    elif not binary:
        why = "values are not right or wrong"
    elif len(sizes) == 1 and len(change) > 1:
        why = "all items belong to one cluster, and the test takes items as independent"
    lost, gained = int((change < 0).sum()), int((change > 0).sum())
    if not why and lost + gained == 0:
        why = "no discordance: there is no item on which the runs differ"
    if why:
        return [PairTest(name=name, p_value=None, note=why) for name in ("McNemar exact", "McNemar mid-p")]
    note, largest = "", int(sizes.max())
    if largest > 1:
        note = (
            f"McNemar takes items as independent, and a cluster holds up to {largest}: for reference only, "
            "it rejects too often where items of a cluster go together"
        )
    detail = f"{gained} gained, {lost} lost"
    return [
        PairTest(
            name=f"McNemar {method}",
            p_value=mcnemar(lost, gained, method=method).p_value,
            detail=detail,
            note=note,
        )
        for method in ("exact", "mid-p")
    ]


FEW_CLUSTERS = 10
"""Below so many clusters an interval carries a note."""


def disagreements(difference: Estimate, tests: Sequence[PairTest], chosen: str) -> list[str]:
    """Name the tests that fall on the other side of 1 - level than the interval, for they are other methods."""
    if difference.low is None:
        return []
    apart = [
        test
        for test in tests
        # A test with a note of its own is for reference only, and that note says why.
        if test.p_value is not None
        and (test.name == chosen or not test.note)
        and (test.p_value <= 1 - difference.level) != difference.excludes(0.0)
    ]
    if not apart:
        return []
    *most, last = (f"{test.name} {said_p(test.p_value)}" for test in apart)
    named = f"{', '.join(most)} and {last} say" if most else f"{last} says"
    said = "leaves out 0" if difference.excludes(0.0) else "holds 0"
    percent = f"{100 * difference.level:.6g} %"
    return [
        f"the {percent} {difference.kind} interval {said}, and {named} otherwise: these are different methods; "
        "the cluster t is the test that always agrees with its own interval"
    ]


def _rests_on_few(data: PairData) -> bool:
    """Say whether fewer than ten clusters changed, and fewer than half of them all."""
    return data.n_clusters >= FEW_CLUSTERS and 0 < data.changed < min(FEW_CLUSTERS, data.n_clusters / 2)


def notes_on(data: PairData, tests: Sequence[PairTest], *, repeated: bool, level: float) -> list[str]:
    """Return what the data cannot carry, in words; `level` is that of the bound where the runs agree everywhere."""
    notes = []
    n_clusters = data.n_clusters
    if data.agree:
        notes.append(f"{SAME}: a difference of 0 without an interval, and no test{_bound(data, level)}")
    elif data.n_items == 1:
        notes.append(
            "a single item: no interval, and no test of one item can say anything, McNemar's neither"
        )
    elif n_clusters == 1:
        notes.append(
            "all items belong to one cluster: no interval and no test; the claim needs items of more questions"
        )
    elif 1 < n_clusters < FEW_CLUSTERS:
        flips = max(data.changed, 1)
        changed_too = "" if flips == n_clusters else f", of which {flips} changed"
        df = f"{data.df:.1f}".removesuffix(".0")
        degrees = "degree" if df == "1" else "degrees"
        notes.append(
            f"only {n_clusters} clusters{changed_too}: the interval rests on {df} {degrees} of freedom, and no "
            f"sign-flip p can be below {2.0 ** (1 - flips):.2g}"
        )
    changed = data.changed
    if _rests_on_few(data):
        df = f"{data.df:.1f}".removesuffix(".0")
        notes.append(
            f"the sums of only {changed} of {n_clusters} clusters changed: interval and p-value rest on these, with "
            f"{df} degrees of freedom"
        )
    sizes = data.totals[:, -1]
    equal = float(sizes.sum() ** 2 / (sizes**2).sum())
    if n_clusters >= FEW_CLUSTERS and equal < n_clusters / 2:
        notes.append(
            f"clusters are of very unequal size ({int(sizes.max())} of {data.n_items} items in the largest): "
            f"they are worth {equal:.0f} equal ones, and the interval is rough"
        )
    exact = next(test for test in tests if test.name == "McNemar exact")
    if exact.p_value is not None and exact.note:
        notes.append(exact.note)
    elif repeated:
        notes.append(f"McNemar was not made: {exact.note}")
    return notes


def _bound(data: PairData, level: float) -> str:
    """Say on how large a share of items (or of clusters) runs may differ that agreed on every one seen."""
    n = data.n_clusters
    if n == 1:
        return ""
    # No change in n draws has probability (1 - share)^n: the "rule of three", exactly.
    most = 1 - (1 - level) ** (1 / n)
    unit = "items" if data.alone else "clusters with any item"
    return (
        f"; after {n} {'items' if data.alone else 'clusters'} alike, {unit} on which they differ are at most "
        f"{100 * most:.3g} % (one-sided level {100 * level:.6g} %)"
    )


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
        """Ask whether the second run is worse by less than a margin; see :func:`~d3stats.inference.noninferiority`."""
        from d3stats.inference.comparison.margins import noninferiority

        return noninferiority(self, margin, alpha=alpha, better=better)

    def equivalent(self, margin: float, *, alpha: float = 0.05) -> MarginTest:
        """Ask whether the runs differ by less than a margin; see :mod:`d3stats.inference.comparison.margins`."""
        from d3stats.inference.comparison.margins import equivalence

        return equivalence(self, margin, alpha=alpha)

    def detectable(self, power: float = 0.8, *, alpha: float = 0.05) -> float | None:
        """Return the smallest true difference that a t test with this error finds with a given power.

        It asks what the data could have found, not what they did: the noncentral t law with the error and the degrees
        of freedom that were observed, those of :meth:`interval`. So it is optimistic where values are 0 or 1: a
        difference larger than the one seen changes more items, and then the error is larger too. To plan a
        comparison give :func:`~d3stats.inference.comparison.power.sample_size` the discordance that you expect.

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
        from d3stats.inference.comparison.power_laws import rising_root, t_power

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


_BOOTSTRAP_TEST, _SIGN_FLIP = "sign flip", 1


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
    kind : {"cluster t", "percentile", "basic", "bca", "studentised", "Tango"}
        The interval of `difference`; the t has the degrees of freedom of the clusters that changed. Of right
        and wrong its limits are cut at -1 and 1. Tango's score limits are for right or wrong items that are
        their own clusters.
    test : {"cluster t", "sign flip", "McNemar exact", "McNemar mid-p"}, optional
        Which p-value speaks for the pair; by default the t where the interval is a t, which leaves out 0 exactly
        where p < 1 - level, else the sign flip. A note names the tests that fall on the other side than the interval.
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
    found = data.t(level)
    why = data.why_no_spread()
    t = None
    if not why and found is not None:
        t = (float(found.estimate[2] / found.se[2]), data.change_t(level)[2], data.df)
    tests = paired_tests(
        change,
        data.cluster,
        binary=data.binary,
        repeated=repeated,
        t=t,
        why_no_t=why,
        rng=data.generator(_SIGN_FLIP),
    )
    by_name = {made.name: made for made in tests}
    usual = "cluster t" if kind == "cluster t" else _BOOTSTRAP_TEST
    chosen = usual if test is None else test
    notes = notes_on(data, tests, repeated=repeated, level=level)
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
    difference = data.interval(kind, level, by_name[chosen].p_value)
    notes += disagreements(difference, tests, chosen)
    if CUT in difference.note:
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
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} must be finite; got {name}={array[row]!r} at row {row}")
    return array
