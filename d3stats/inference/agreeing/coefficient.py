"""A coefficient of agreement with its interval: one shape and one way to the limits for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, choice, integer, probability
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.shares.clusters import share_limits
from d3stats.resampling import bootstrap_limits, cluster_t, cluster_totals, jackknife
from d3stats.resampling.bootstrap import FEW_CLUSTERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
Kind = Literal["cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical"]

KINDS = ("cluster t", "jackknife t", "percentile", "basic", "bca", "studentised", "classical")
_WORDS = {
    "cluster t": "cluster t",
    "jackknife t": "cluster jackknife t",
    "percentile": "bootstrap percentile",
    "basic": "bootstrap basic",
    "bca": "bootstrap BCa",
    "studentised": "bootstrap studentised",
    "classical": "t, items independent",
}
_WIDTH = 1e-10
"""What rounding leaves of no difference at all."""
ONE_CLUSTER = "one cluster: nothing says how clusters vary"


@dataclass(frozen=True, slots=True)
class How:
    """How an interval is to be made."""

    kind: Kind = "cluster t"
    level: float = 0.95
    n_boot: int = 10_000
    rng: RngLike = None

    def __post_init__(self) -> None:
        choice("kind", self.kind, KINDS)
        probability("level", self.level, open_interval=True)
        integer("n_boot", self.n_boot, minimum=1)


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """A coefficient of agreement, and the share of agreement that it corrects.

    Attributes
    ----------
    estimate : Estimate
        The coefficient: 1 is perfect agreement, 0 what chance gives. Its p-value tests 0.
    share : Estimate
        Observed agreement in [0, 1]: mean over items of the share of their pairs of raters that agree (of the
        weight of these pairs, when weighted).
    chance : float or None
        The agreement that the coefficient expects by chance; None where it has no such number.
    measure : str
    raters : tuple of str
    categories : tuple of str
    weights : str
        "identity", "linear", "quadratic", "custom" or, for alpha, the metric.
    z : float or None
        Distance from 0 in standard errors under independence (items independent), where there is such a
        formula; its p-value is `p_independence`.
    p_independence : float or None
    notes : tuple of str
    """

    estimate: Estimate
    share: Estimate
    chance: float | None
    measure: str
    raters: tuple[str, ...]
    categories: tuple[str, ...]
    weights: str = "identity"
    z: float | None = None
    p_independence: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> tuple[Estimate, Estimate]:
        """The coefficient and the share of agreement."""
        return self.estimate, self.share

    def __str__(self) -> str:
        lines = [str(self.estimate), str(self.share)]
        if self.chance is not None:
            lines.append(f"expected by chance: {self.chance:.3f}")
        if self.z is not None and self.p_independence is not None:
            lines.append(f"test of 0, items independent: z = {self.z:.2f}, p = {self.p_independence:.3g}")
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate, as :func:`~d3stats.estimate.estimates_frame`."""
        return estimates_frame(self.estimates)

    def to_latex(self) -> str:
        """Return a booktabs tabular of the estimates."""
        return estimates_latex(self.estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return {
            "measure": self.measure,
            "estimate": self.estimate.to_dict(),
            "share": self.share.to_dict(),
            "chance": self.chance,
            "weights": self.weights,
            "raters": list(self.raters),
            "categories": list(self.categories),
            "z": self.z,
            "p_independence": self.p_independence,
            "notes": list(self.notes),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficient with its interval."""
        from d3stats.plotting.kappa_forest import plot_agreement

        return plot_agreement(self.to_frame().iloc[:1], ax=ax)


def limits(
    names: tuple[str, ...],
    columns: Floats,
    statistic: Statistic,
    cluster: Codes,
    how: How,
    *,
    classical: bool = True,
    unlimited: str = "",
    share: tuple[int, Floats, Floats],
) -> tuple[Estimate, ...]:
    """Return a coefficient and shares, the first values of a statistic of sums over items, one Estimate per name.

    Parameters
    ----------
    names : tuple of str
        What the first values of the statistic are; values beyond the names are not reported.
    columns : ndarray of float, shape (items, q)
        What is summed.
    cluster : ndarray of int64, shape (items,)
    how : How
        With "classical" every item is its own cluster.
    classical : bool
        Whether "classical" limits are made here; otherwise the caller makes those of the first value.
    unlimited : str
        Why the first value has no interval whatever its clusters say; "" when it may have one.
    share : tuple of int, ndarray, ndarray
        Which name is the share of agreement, and by item its numerator and denominator: with "cluster t" its interval
        is that of every share, :func:`~d3stats.inference.shares.clusters.share_limits`.
    """
    n = len(columns)
    alone = how.kind == "classical"
    totals = columns if alone else cluster_totals(columns, cluster)
    n_clusters = None if alone else len(totals)
    p = len(names)

    def first(sums: Floats) -> Floats:
        return statistic(sums)[:, :p]

    values = first(columns.sum(axis=0, keepdims=True))[0]
    shape: dict[str, Any] = {"n": n, "level": how.level, "kind": _WORDS[how.kind], "n_clusters": n_clusters}
    if len(totals) < 2:
        return tuple(
            Estimate(name=name, value=float(v), low=None, high=None, note=ONE_CLUSTER, **shape)
            for name, v in zip(names, values, strict=True)
        )
    linear = cluster_t(totals, first, level=how.level)
    se, low, high, why, note = linear.se, linear.low, linear.high, linear.reasons, ""
    if how.kind == "jackknife t":
        se, low, high = _jackknife_t(totals, first, values, linear.df, how.level)
    elif how.kind != "cluster t" and how.kind != "classical":
        drawn = bootstrap_limits(
            totals, first, kind=how.kind, level=how.level, n_boot=how.n_boot, rng=how.rng
        )
        se, low, high, why, note = drawn.se, drawn.low, drawn.high, drawn.reasons, drawn.note
    if not note and n_clusters is not None and n_clusters < FEW_CLUSTERS:
        note = f"only {n_clusters} clusters"
    found = []
    for j, name in enumerate(names):
        reason = (unlimited if j == 0 else "") or why[j]
        if not reason and not (np.isfinite(low[j]) and np.isfinite(high[j])):
            reason = "undefined when a cluster is left out"
        elif not reason and high[j] - low[j] < _WIDTH:
            reason = "every cluster gives the same: nothing says how clusters vary"
        some = not reason
        found.append(
            Estimate(
                name=name,
                value=float(values[j]) if abs(values[j]) > _WIDTH else 0.0,
                # Limits on the line may leave the range of a coefficient or of a share.
                low=float(max(low[j], min(-1.0, values[j]) if j == 0 else 0.0)) if some else None,
                high=float(min(high[j], 1.0)) if some else None,
                se=float(se[j]) if some and np.isfinite(se[j]) else None,
                p_value=float(linear.p_value[j]) if some and j == 0 else None,
                note=reason or note,
                **shape,
            )
        )
    if how.kind == "cluster t":
        at, above, below = share
        of_clusters = cluster_totals(np.column_stack([above, below]), cluster)
        own = share_limits(of_clusters[:, 0], of_clusters[:, 1], how.level)
        found[at] = replace(
            found[at], p_value=None, low=own.low, high=own.high, se=own.se, kind=own.kind, note=own.note
        )
    return tuple(found)


def _jackknife_t(
    totals: Floats, statistic: Statistic, values: Floats, df: int, level: float
) -> tuple[Floats, Floats, Floats]:
    from scipy import special

    without = jackknife(totals, statistic)
    n = len(totals)
    se = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    half = float(special.stdtrit(df, (1 + level) / 2)) * se
    return se, values - half, values + half


def normal_limits(made: Estimate, se: float, level: float, kind: str) -> Estimate:
    """Put limits by a standard error and the normal law in an estimate."""
    from scipy import special

    half = float(special.ndtri((1 + level) / 2)) * se
    low, high = max(made.value - half, -1.0), min(made.value + half, 1.0)
    return replace(made, se=se, low=low, high=high, kind=kind)


def two_sided(z: float) -> float:
    """Return the two-sided p-value of a standard normal."""
    from scipy import special

    return float(2 * special.ndtr(-abs(z)))
