"""Two columns of values by cluster, and every interval of their means and of the mean difference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats.estimate import Estimate
from d3stats.inference.comparing.tango import score_limits
from d3stats.inference.shares.clusters import share_limits
from d3stats.resampling import (
    Bootstrap,
    ClusterT,
    bootstrap,
    cluster_t,
    cluster_totals,
    ratios,
    student_limits,
)

__all__ = ["CUT", "KINDS", "SAME", "Kind", "PairData", "checked_kind"]

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
