"""Do scores rise together? Spearman's and Kendall's correlation with ties, missing scores and clusters.

Scores of several turns of one dialogue, or of several answers to one question, are not independent: give them as
`cluster`. Two questions are told apart. *Over all turns*: does a higher score go with a higher score, whatever dialogue
a turn is from? *Within dialogues* (`within`): is the better turn of a dialogue scored higher? The first mixes the
second with how dialogues differ. "Turn-level" in ChatEval (Chan et al., 2023, section 3.5), after Zhong et al. (2022),
is the first: one correlation over all turns.

References: Spearman (1904); Kendall (1945), tau-b; Bonett and Wright (2000), Psychometrika 65, 23-28; Fieller, Hartley
and Pearson (1957) for tau.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, choice, integer, probability
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.agreeing.correlation_limits import KINDS, fisher, over_clusters, over_groups
from d3stats.inference.agreeing.rank_sums import Cells, rank_statistic

__all__ = ["Correlation", "correlation", "kendall", "spearman"]

Floats = NDArray[np.float64]
Method = Literal["spearman", "kendall"]
CorrelationKind = Literal["fisher", "cluster t", "jackknife t", "percentile", "basic", "bca"]
_NAMES = {"spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A rank correlation with its interval.

    Attributes
    ----------
    estimate : Estimate
        Its p-value tests 0.
    method : {"spearman", "kendall"}
    over : str
        "all pairs", or "groups" for the mean of correlations within groups.
    n_groups, n_groups_undefined : int or None
        Groups that went in, and those left out because a score does not vary in them.
    notes : tuple of str
    """

    estimate: Estimate
    method: str
    over: str
    n_groups: int | None = None
    n_groups_undefined: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The correlation."""
        return (self.estimate,)

    def __str__(self) -> str:
        return "\n".join([str(self.estimate), *(f"- {note}" for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row, as :func:`~d3stats.estimate.estimates_frame`."""
        return estimates_frame(self.estimates)

    def to_latex(self) -> str:
        """Return a booktabs tabular."""
        return estimates_latex(self.estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dictionary that JSON can hold."""
        return {
            "method": self.method,
            "over": self.over,
            "estimate": self.estimate.to_dict(),
            "n_groups": self.n_groups,
            "n_groups_undefined": self.n_groups_undefined,
            "notes": list(self.notes),
        }


def correlation(
    x: ArrayLike,
    y: ArrayLike,
    *,
    method: Method = "spearman",
    within: Sequence[Any] | None = None,
    cluster: Sequence[Any] | None = None,
    kind: CorrelationKind | None = None,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> Correlation:
    """Return a rank correlation of two scores, with its interval.

    Ties get their mean rank (Spearman) or are corrected for (tau-b). Pairs with a missing score are left out.

    Parameters
    ----------
    x, y : array_like of float, shape (n,)
        Scores; NaN or None is missing.
    method : {"spearman", "kendall"}
    within : sequence, shape (n,), optional
        The dialogue (or question) of each pair: the correlation is taken within each and averaged. Groups in which
        a score does not vary have none and are left out.
    cluster : sequence, shape (n,), optional
        What pairs are resampled with; with `within` by default the group. A group must lie in one cluster.
    kind : {"fisher", "cluster t", "jackknife t", "percentile", "basic", "bca"}, optional
        "fisher" takes pairs as independent: limits on Fisher's z, with the variance (1 + r^2 / 2) / (n - 3) for
        Spearman (Bonett and Wright, 2000) and .437 / (n - 4) for Kendall (Fieller, Hartley and Pearson, 1957). The
        two t kinds are made on Fisher's z as well, except with `within`. By default "fisher" without `within` and
        `cluster`, else "cluster t".
    level : float
        Coverage aimed at.
    n_boot : int
        Replicates of the bootstrap kinds.
    rng : Generator, int or None
        Of the bootstrap kinds.

    Raises
    ------
    ValueError
        When lengths differ, a score is infinite, fewer than three pairs are complete, a score does not vary, or the
        kind takes pairs as independent and `cluster` or `within` says that they are not.

    Examples
    --------
    >>> result = correlation([1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4, 3, 6, 8, 5, 7])
    >>> print(result)
    Spearman's rho: 0.833 [0.180, 0.977] (95 % Fisher z, n = 8)
    """
    choice("method", method, _NAMES)
    level = probability("level", level, open_interval=True)
    integer("n_boot", n_boot, minimum=2)
    dependent = within is not None or cluster is not None
    chosen = ("cluster t" if dependent else "fisher") if kind is None else choice("kind", kind, KINDS)
    if chosen == "fisher" and dependent:
        raise ValueError("kind must not be 'fisher' with cluster= or within=: it takes pairs as independent")
    first, second = _scores("x", x), _scores("y", y)
    if len(first) != len(second):
        raise ValueError(f"x and y must be as long as each other; got {len(first)} and {len(second)}")
    group = _codes("within", within, len(first))
    owner = _codes("cluster", cluster, len(first))
    complete = ~(np.isnan(first) | np.isnan(second))
    notes = []
    if not complete.all():
        notes.append(f"{int((~complete).sum())} of {len(first)} pairs left out: a score is missing")
    first, second = first[complete], second[complete]
    if len(first) < 3:
        raise ValueError(f"a correlation needs three complete pairs; got {len(first)}")
    for name, values in (("x", first), ("y", second)):
        if np.ptp(values) == 0:
            raise ValueError(f"{name} must vary to correlate with anything; got only {values[0]:g}")
    label = _NAMES[method]
    if group is not None:
        group = group[complete]
        owner = group if owner is None else _nested(group, owner[complete])
        made, used, undefined = over_groups(
            f"{label} within groups", first, second, group, owner, method, chosen, level, n_boot, rng
        )
        if undefined:
            notes.append(f"{undefined} of {used + undefined} groups left out: a score does not vary there")
        return Correlation(
            estimate=made, method=method, over="groups", n_groups=used, n_groups_undefined=undefined,
            notes=tuple(notes),
        )  # fmt: skip
    cells = Cells.of(first, second)
    owner = np.arange(len(first)) if owner is None else owner[complete]
    value = float(rank_statistic(cells, method)(cells.totals(np.zeros(len(first), dtype=np.int64)))[0, 0])
    if chosen == "fisher":
        made = fisher(label, value, len(first), method, level)
    else:
        made = over_clusters(label, value, cells, owner, method, chosen, level, n_boot, rng)
    return Correlation(estimate=made, method=method, over="all pairs", notes=tuple(notes))


def spearman(x: ArrayLike, y: ArrayLike, **settings: Any) -> Correlation:
    """Return Spearman's rho; settings as for :func:`correlation`.

    Examples
    --------
    >>> round(spearman([1, 2, 2, 4], [1, 3, 2, 4]).estimate.value, 4)
    0.9487
    """
    return correlation(x, y, method="spearman", **settings)


def kendall(x: ArrayLike, y: ArrayLike, **settings: Any) -> Correlation:
    """Return Kendall's tau-b; settings as for :func:`correlation`.

    Examples
    --------
    >>> round(kendall([1, 2, 2, 4, 5], [1, 3, 2, 4, 5]).estimate.value, 4)
    0.9487
    """
    return correlation(x, y, method="kendall", **settings)


def _scores(name: str, values: ArrayLike) -> Floats:
    try:
        array = np.asarray(pd.Series(np.asarray(values, dtype=object)).astype("float64"), dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be one row of numbers; got {values!r}") from None
    if np.isinf(array).any():
        raise ValueError(
            f"{name} must be finite or missing; got an infinite score at row {np.isinf(array).argmax()}"
        )
    return array


def _codes(name: str, values: Sequence[Any] | None, n: int) -> NDArray[np.int64] | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=object)
    if array.shape != (n,):
        raise ValueError(f"{name} must have one value per pair ({n}); got shape {array.shape}")
    if pd.isna(array).any():
        raise ValueError(
            f"{name} must be known for every pair; got none at row {int(pd.isna(array).argmax())}"
        )
    return pd.factorize(array)[0].astype(np.int64)


def _nested(group: NDArray[np.int64], cluster: NDArray[np.int64]) -> NDArray[np.int64]:
    pairs = pd.DataFrame({"group": group, "cluster": cluster}).drop_duplicates()
    if pairs["group"].duplicated().any():
        raise ValueError("a group of within= must lie in one cluster; got one in two clusters")
    return cluster
