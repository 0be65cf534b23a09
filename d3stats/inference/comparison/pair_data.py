"""Two columns of values of the same items: cluster sums, intervals of the difference, and tests that it is zero.

Intervals are Student's t with a clustered error, bootstraps of clusters, or Tango's score limits (right or wrong items,
each its own cluster). Tests are the t, the sign flip of cluster sums, McNemar's, and for reference the t over items
that papers print.

References
----------
Tango (1998), Statistics in Medicine 17, 891 (score limits). Kish (1965), Survey Sampling (clusters of unequal size).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import choice
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.inference.comparison.mcnemar import mcnemar
from d3stats.note import Note
from d3stats.resampling.bootstrap import Bootstrap, bootstrap
from d3stats.resampling.cluster_t import ClusterT, cluster_t, item_ratio, student_limits
from d3stats.resampling.clusters import FEW_CLUSTERS, ONE_CLUSTER, cluster_totals, ratios
from d3stats.resampling.degrees import changed_degrees, effective_clusters, mean_error, too_unequal
from d3stats.resampling.proportions import clustered_share
from d3stats.resampling.sign_flip import sign_flip_p

__all__ = [
    "CUT",
    "KINDS",
    "TESTS",
    "Kind",
    "PairData",
    "PairTest",
    "Test",
    "changes_of",
    "checked_kind",
    "disagreements",
    "mean_change",
    "notes_on",
    "paired_tests",
    "said_p",
    "score_limits",
    "score_z",
]

_HALVINGS = 60


def score_z(gained: int, lost: int, n: int, difference: float) -> float:
    """Return Tango's score: how many standard errors the observed difference lies above a tested one in [-1, 1].

    Among `n` items the second run alone has `gained` right, and the first alone `lost`. The score falls from
    infinity at -1 to minus infinity at 1, and is 0 where the difference is the observed one.

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
    """Return Tango's score limits: the lowest and highest difference that the two-sided test does not reject.

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


Kind = Literal["cluster t", "percentile", "basic", "bca", "studentised", "Tango"]
KINDS: tuple[str, ...] = get_args(Kind)
SAME = "the runs gave the same result on every item"
CUT_SHARE = "limits below 0 or above 1 are cut there, because no share is outside"
CUT = "limits beyond -1 or 1 are cut at -1 or 1, because no difference of shares is larger"
_FIRST, _SECOND, _CHANGE, _ITEMS = range(4)
_ROUNDING = 1e-12
"""A change below this share of what was added up is rounding."""


def checked_kind(kind: str) -> str:
    """Return a kind of interval; "BCa" is "bca" too."""
    known = {name.lower(): name for name in KINDS}
    return choice("kind", known.get(kind.lower(), kind) if isinstance(kind, str) else kind, KINDS)


def _shares(values: NDArray[np.float64]) -> bool:
    """Whether values are shares, as the means of right and wrong answers are: from 0 to 1, with one of these ends."""
    return bool(((values >= 0) & (values <= 1)).all() and np.isin(values, (0, 1)).any())


@dataclass(frozen=True, eq=False)
class PairData:
    """Values of two runs on the same items, with their clusters and the seed of all draws.

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
    _found: dict[float, ClusterT] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def totals(self) -> Floats:
        """Sums by cluster: first, second, second minus first, items."""
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

    @cached_property
    def too_unequal(self) -> str:
        """The reason for no interval and no test of clusters of these sizes; "" where they have both."""
        return too_unequal(self.totals[:, _ITEMS]) if self.n_clusters > 1 else ""

    @property
    def changed(self) -> int:
        """Number of clusters whose sums differ between the runs."""
        return int((self.totals[:, _CHANGE] != 0).sum())

    @cached_property
    def df(self) -> float:
        """Degrees of freedom of the difference's t, by :func:`~d3stats.resampling.degrees.changed_degrees`.

        Right or wrong items also count by the distance from the usual change. Without that, 95 % limits cover .87
        between accuracies of .02 and .92 in 20 questions of five (ICC .9).
        """
        items, change = self.totals[:, _ITEMS], self.totals[:, _CHANGE]
        apart = [np.abs(change - value * items) for value in self._usual_changes]
        unchanged = [np.abs(change)]
        if self.binary:
            return changed_degrees(items, unchanged, apart)
        return changed_degrees(items, unchanged + apart)

    @cached_property
    def _usual_changes(self) -> list[float]:
        """The commonest changes of right or wrong items; of other values the one that over half of the items have."""
        values, times = np.unique(self.second - self.first, return_counts=True)
        least = 0.0 if self.binary else self.n_items / 2
        found: list[float] = values[(times == times.max()) & (times > least)].tolist()
        return found

    @cached_property
    def se(self) -> float:
        """Standard error of the difference, by :func:`~d3stats.resampling.degrees.mean_error`."""
        items, change = self.totals[:, _ITEMS], self.totals[:, _CHANGE]
        each = self.second - self.first
        mean = float(change.sum() / items.sum())
        return mean_error(change - mean * items, items, float(np.mean((each - mean) ** 2)))

    def change_t(self, level: float) -> tuple[float, float, float]:
        """Return the t limits of the difference and the p-value of 0; refused where :meth:`why_no_spread` says why."""
        if why := self.why_no_spread():
            raise ValueError(f"there must be variation between clusters; got none, because {why}")
        return student_limits(self.mean_change, self.se, self.df, level)

    @property
    def mean_change(self) -> float:
        """Mean of second minus first over items."""
        return float(self.totals[:, _CHANGE].sum() / self.totals[:, _ITEMS].sum())

    def _rounded_sum(self) -> float:
        # Zero stays zero, whatever rounding leaves of a sum of equal and opposite changes, in any unit.
        size = float(np.abs(self.totals[:, _CHANGE]).sum())
        finer = max(0, -math.floor(math.log10(size))) if size else 0
        return round(float(self.totals[:, _CHANGE].sum()), 12 + finer)

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
    def draws(self) -> Bootstrap:
        """Replicates of the mean difference, each with its own error."""
        return bootstrap(
            self.totals, ratios((_CHANGE, _ITEMS)), n_boot=self.n_boot, rng=self.generator(0), errors=True
        )

    @cached_property
    def alike(self) -> bool:
        """Whether several clusters changed alike, so that the error is 0."""
        if self.n_clusters < 2 or self.too_unequal:
            return False
        found = next(iter(self._found.values()), None) or self.t(0.95)
        return self.agree or (found is not None and bool(found.reasons[_CHANGE]))

    def why_no_spread(self) -> str:
        """Say why no interval of the difference can be had; "" when one can."""
        change = self.totals[:, _CHANGE]
        if self.agree:
            return SAME
        if self.n_clusters < 2:
            return ONE_CLUSTER
        found = next(iter(self._found.values()), None) or self.t(0.95)
        assert found is not None
        if self.too_unequal:
            return self.too_unequal
        if found.reasons[_CHANGE]:
            each = change[0] / self.totals[0, _ITEMS]
            return (
                f"every cluster changed by the same {each:+.4g}, so the variation between clusters is unknown"
            )
        return ""

    def own(self, which: int, level: float) -> Estimate:
        """Return a run's own mean with its interval: a share's is the cluster Wilson, else the cluster t."""
        values, name = (self.first, self.second)[which], self.names[which]
        if np.isin(values, (0, 1)).all():
            made = clustered_share(values, np.ones_like(values), self.cluster, level=level, name=name)
            # How few clusters there are is said once, of the difference.
            return made if made.low is None else replace(made, note="")
        made = item_ratio(name, values, np.ones(len(values)), self.cluster, level=level, tested=False)
        if made.low is None or made.high is None or not _shares(values) or (made.low >= 0 and made.high <= 1):
            return made
        note = Note("; ".join(filter(None, (made.note, CUT_SHARE))), kind="cut limits")
        return replace(made, low=max(made.low, 0.0), high=min(made.high, 1.0), note=note)

    def interval(self, kind: str, level: float, p_value: float | None = None, note: str = "") -> Estimate:
        """Return the mean difference with an interval of one kind, or with the reason why it has none."""
        kind = checked_kind(kind)
        reason = self._why_no_tango() if kind == "Tango" else self.why_no_spread()
        low, high, se = None, None, None
        if reason and self.alike:
            se = 0.0
        elif not reason and kind == "Tango":
            low, high = score_limits(*self.gained_lost, self.n_items, level)
        elif not reason and kind == "cluster t":
            (low, high, _), se = self.change_t(level), self.se
        elif not reason:
            limits = self.draws.limits(kind, level=level)  # type: ignore[arg-type]  # checked above
            reason, note = limits.reasons[0], "; ".join(filter(None, (note, limits.note)))
            low, high = limits.interval()
            se = float(limits.se[0])
        shares = _shares(self.first) and _shares(self.second)
        if shares and low is not None and high is not None and (low < -1 or high > 1):
            low, high = max(low, -1.0), min(high, 1.0)
            note = Note("; ".join(filter(None, (note, CUT))), kind="cut limits")
        return Estimate(
            name=f"{self.names[1]} - {self.names[0]}",
            value=self._rounded_sum() / self.n_items + 0.0,
            low=low,
            high=high,
            se=se,
            level=level,
            kind=kind,
            n=self.n_items,
            n_clusters=self.n_clusters,
            p_value=p_value,
            note=note if not reason else "; ".join(filter(None, (reason, note))),
        )

    @property
    def gained_lost(self) -> tuple[int, int]:
        """Items that the second run alone has right (or larger), and the first alone."""
        return int((self.second > self.first).sum()), int((self.second < self.first).sum())

    def _why_no_tango(self) -> str:
        if not self.binary:
            return "Tango's limits need values of right and wrong; these values are others"
        if not self.alone:
            return "Tango's limits assume independent items, but some items share a cluster"
        return SAME if self.agree else ""

    def correlation(self) -> float | None:
        """Return Pearson's correlation over items; None where a run gives every item the same value."""
        if self.n_items < 2 or np.ptp(self.first) == 0 or np.ptp(self.second) == 0:
            return None
        value: Any = np.corrcoef(self.first, self.second)[0, 1]
        # A run with itself is 1, whatever rounding leaves of it.
        return round(float(value), 12)


def changes_of(change: Floats, cluster: NDArray[np.int64]) -> PairData:
    """Return the changes of items as two runs; changes of -1, 0 and 1 are those of right or wrong items."""
    codes = np.unique(cluster, return_inverse=True)[1]
    return PairData(("", ""), np.maximum(-change, 0.0), np.maximum(change, 0.0), codes, 2, (0,))


def mean_change(
    name: str, change: Floats, cluster: NDArray[np.int64], level: float, *, scale: float = 1.0
) -> Estimate:
    """Return `scale` times the mean change of items, with limits and p-value as a paired difference has them."""
    data = changes_of(change, cluster)
    found = data.interval("cluster t", level)
    ends: dict[str, Any] = {
        end: None if (x := getattr(found, end)) is None else scale * x for end in ("low", "high", "se")
    }
    p_value = None if found.low is None else data.change_t(level)[2]
    return replace(found, name=name, value=scale * found.value, p_value=p_value, **ends)


Test = Literal["cluster t", "sign flip", "McNemar exact", "McNemar mid-p"]
TESTS: tuple[str, ...] = get_args(Test)
_ONE_WAY = 0.9
"""Changes in one direction from which on few large clusters make the limits too short (docs/calibration.md)."""
N_DRAWS = 100_000
"""Random sign flips where all of them are too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTest:
    """A two-sided test that two runs do equally well.

    Attributes
    ----------
    name : str
    p_value : float or None
        None where the test cannot be made, and then `note` says why.
    detail : str
        The statistic, or how the p-value was computed.
    note : str
        An assumption of the test that does not hold here, or the reason why the test was not made.

    Examples
    --------
    >>> from d3stats.inference import paired_difference
    >>> test = paired_difference([1, 0, 1, 1] * 25, [1, 0, 1, 1] * 15 + [1, 1, 1, 1] * 10).tests[0]
    >>> test.name, round(test.p_value, 4)
    ('cluster t', 0.0078)
    >>> sorted(test.to_dict())
    ['detail', 'name', 'note', 'p_value']
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
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}" if p < 0.01 else f"p = {p:z.3f}"


def counted_df(df: float) -> str:
    """Write degrees of freedom, with a digit after the point where they are not whole."""
    return f"{df:z.1f}".removesuffix(".0")


def paired_tests(data: PairData, *, repeated: bool, level: float) -> tuple[PairTest, ...]:
    """Make every test that the data carry; `repeated` says that values are means over tries."""
    change, sizes, why = data.second - data.first, np.bincount(data.cluster), data.why_no_spread()
    if why:
        tests = [PairTest(name="cluster t", p_value=None, note=why)]
    else:
        p = data.change_t(level)[2]
        detail = f"t({counted_df(data.df)}) = {data.mean_change / data.se:z.3f}"
        tests = [PairTest(name="cluster t", p_value=p, detail=detail)]
    if data.too_unequal and not data.agree:
        names = ("sign flip", "McNemar exact", "McNemar mid-p", "paired t")
        return (*tests, *(PairTest(name=name, p_value=None, note=data.too_unequal) for name in names))
    tests.append(_sign_flip(change, data.cluster, data.generator(1)))
    return (*tests, *_mcnemar(change, data.binary, repeated, sizes), _paired_t(change, sizes, why))


def _paired_t(change: Floats, sizes: NDArray[np.int64], why: str) -> PairTest:
    """Make the t of items with n - 1 degrees of freedom that papers print, for reference beside the cluster t."""
    if why:
        return PairTest(name="paired t", p_value=None, note=why)
    n = len(change)
    mean, se = float(change.mean()), float(change.std(ddof=1)) / math.sqrt(n)
    p = student_limits(mean, se, n - 1, 0.95)[2]
    note = "the test of published tables: items count as independent, also those that did not change"
    if sizes.max() > 1:
        note = _dependent("the paired t over items assumes", sizes)
    return PairTest(
        name="paired t", p_value=p, detail=f"t({n - 1}) = {mean / se:z.3f}, over items, n - 1", note=note
    )


def _dependent(test: str, sizes: NDArray[np.int64]) -> str:
    return (
        f"{test} independent items, but a cluster has up to {int(sizes.max())}; for reference only, because it "
        "rejects too often if items of a cluster are correlated"
    )


def _sign_flip(change: Floats, cluster: NDArray[np.int64], rng: np.random.Generator) -> PairTest:
    sums = np.bincount(cluster, weights=change)
    if len(sums) < 2:
        return PairTest(name="sign flip", p_value=None, note="one cluster allows only two sign flips")
    if not change.any():
        return PairTest(name="sign flip", p_value=None, note=SAME)
    found = sign_flip_p(sums, n_draws=N_DRAWS, rng=rng)
    return PairTest(name="sign flip", p_value=float(found.p_value), detail=f"{found.how}, clusters swapped")


def _mcnemar(change: Floats, binary: bool, repeated: bool, sizes: NDArray[np.int64]) -> list[PairTest]:
    why = ""
    if repeated:
        why = "items were run several times, so their means are not right or wrong"
    elif not binary:
        why = "values are not right or wrong"
    elif len(sizes) == 1 and len(change) > 1:
        why = "all items belong to one cluster, but the test assumes independent items"
    lost, gained = int((change < 0).sum()), int((change > 0).sum())
    if not why and lost + gained == 0:
        why = "the runs differ on no item"
    if why:
        return [PairTest(name=name, p_value=None, note=why) for name in ("McNemar exact", "McNemar mid-p")]
    note = _dependent("McNemar's test assumes", sizes) if sizes.max() > 1 else ""
    made: dict[str, Any] = {"detail": f"{gained} gained, {lost} lost", "note": note}
    return [
        PairTest(name=f"McNemar {how}", p_value=mcnemar(lost, gained, method=how).p_value, **made)
        for how in ("exact", "mid-p")
    ]


def disagreements(difference: Estimate, tests: Sequence[PairTest], chosen: str) -> list[str]:
    """Return a note on tests that reject 0 where the interval of another method holds it, or the reverse."""
    out, percent = difference.excludes(0.0), f"{100 * difference.level:.6g} %"
    # A test with a note of its own is for reference only, and that note says why.
    asked = [t for t in tests if t.p_value is not None and (t.name == chosen or not t.note)]
    apart = [t for t in asked if t.p_value is not None and (t.p_value <= 1 - difference.level) != out]
    if difference.low is None or not apart:
        return []
    *most, last = (f"{test.name} {said_p(test.p_value)}" for test in apart)
    named = f"{', '.join(most)} and {last} say" if most else f"{last} says"
    said = "leaves out 0" if out else "holds 0"
    return [
        f"the {percent} {difference.kind} interval {said}, and {named} otherwise; interval and test use "
        "different methods, and only the cluster t always agrees with its interval"
    ]


def notes_on(data: PairData, tests: Sequence[PairTest], *, repeated: bool, level: float) -> list[str]:
    """Return notes on what is too few; `level` is that of the bound where the runs agree everywhere."""
    notes = []
    n_clusters, changed, df = data.n_clusters, data.changed, counted_df(data.df)
    if data.agree:
        notes.append(f"{SAME}, so there is no interval and no test{_bound(data, level)}")
    elif data.n_items == 1:
        notes.append("there is only one item, so there is no interval and no test")
    elif n_clusters == 1:
        notes.append(f"{ONE_CLUSTER}: no interval and no test; add items of other questions")
    elif n_clusters < FEW_CLUSTERS and not data.too_unequal:
        flips = max(changed, 1)
        changed_too = "" if flips == n_clusters else f", of which {flips} changed"
        degrees = "degree" if df == "1" else "degrees"
        notes.append(
            f"only {counted(n_clusters, 'cluster')}{changed_too}, so the interval rests on {df} {degrees} of freedom, "
            "and no "
            f"sign-flip p can be below {2.0 ** (1 - flips):.2g}"
        )
    if (
        not data.too_unequal
        and n_clusters >= FEW_CLUSTERS
        and 0 < changed < min(FEW_CLUSTERS, n_clusters / 2)
    ):
        notes.append(
            f"the sums of only {changed} of {n_clusters} clusters changed; interval and p-value rest on "
            "these alone, with "
            f"{df} degrees of freedom"
        )
    sizes = data.totals[:, _ITEMS]
    equal = effective_clusters(sizes)
    if data.too_unequal and not data.agree:
        notes.append(f"{data.too_unequal}, so there is no interval and no test")
    elif n_clusters >= FEW_CLUSTERS and equal < n_clusters / 2 and not data.agree:
        width = "the interval is as wide as these warrant"
        if data.binary and max(data.gained_lost) >= _ONE_WAY * sum(data.gained_lost):
            width = (
                "as nearly all changes go one way, the interval may be too short: "
                "95 % limits held .90 to .95 of such differences in simulations"
            )
        notes.append(
            f"clusters have very unequal sizes ({int(sizes.max())} of {data.n_items} items in the "
            f"largest); they count as {equal:z.1f} equal clusters, and {width}"
        )
    exact = next(test for test in tests if test.name == "McNemar exact")
    published = next(test for test in tests if test.name == "paired t")
    if published.p_value is not None and not data.alone:
        both = "McNemar's test and the paired t over items assume"
        which = both if exact.p_value is not None else "the paired t over items assumes"
        notes.append(_dependent(which, np.bincount(data.cluster)))
    if exact.p_value is None and repeated:
        notes.append(f"McNemar's test was left out, because {exact.note}")
    return notes


def _bound(data: PairData, level: float) -> str:
    """Say on how large a share of items (or of clusters) runs may differ that agreed on every one seen."""
    n = data.n_clusters
    if n == 1:
        return ""
    # No change in n draws has probability (1 - share)^n: the "rule of three", exactly.
    most = 1 - (1 - level) ** (1 / n)
    seen, unit = ("items", "items") if data.alone else ("clusters", "clusters with any item")
    return (
        f"; after {n} {seen} alike, {unit} on which they differ are at most "
        f"{100 * most:.3g} % (one-sided level {100 * level:.6g} %)"
    )
