"""What does a log cost, as it was run, and what for one point of accuracy? Accuracy, tokens and their ratio.

A verdict is the decision that the log records, or the plurality of the last votes where it records none; the tokens are
those of all calls. Unlike :func:`~d3stats.planning.replay`, nothing is stopped earlier, so that logs of protocols whose
decision is no plurality can be compared.

References
----------
D3, section 5.4 and table 2 (tokens per accuracy point: mean tokens over the accuracy in percentage points).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import probability
from d3stats._words import counted
from d3stats.estimate import Estimate
from d3stats.planning.costs import RatioColumns
from d3stats.planning.prices import RoundDollars
from d3stats.resampling import clustered_share, item_ratio
from d3stats.result import EstimatesResult
from d3stats.sources import LogSource, Opened, Reading, open
from d3stats.sources.runs import as_run

__all__ = ["LogCost", "log_cost"]


@dataclass(frozen=True, kw_only=True)
class LogCost(EstimatesResult):
    """Accuracy, tokens of a debate, and tokens for one percentage point of accuracy: the result of :func:`log_cost`.

    Attributes
    ----------
    accuracy, tokens : Estimate
        Share of right verdicts, and mean tokens of a debate.
    dollars : Estimate or None
        Mean dollars of a debate; None without prices.
    per_point : Estimate or None
        Mean tokens over the accuracy in percentage points; None where no verdict is right.

    Examples
    --------
    >>> found = log_cost("gemma-votes")
    >>> [each.name for each in found.estimates]
    ['accuracy', 'tokens of a debate', 'tokens per accuracy point']
    """

    accuracy: Estimate
    tokens: Estimate
    per_point: Estimate | None
    dollars: Estimate | None = None
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates that the log gives."""
        return tuple(e for e in (self.accuracy, self.tokens, self.per_point, self.dollars) if e is not None)


def log_cost(
    source: LogSource,
    *,
    dollars: RoundDollars | None = None,
    level: float = 0.95,
    **reading: Unpack[Reading],
) -> LogCost:
    """Estimate the accuracy, the mean tokens and the tokens per accuracy point of a log as it was run, by cluster.

    Parameters
    ----------
    source : any source of debates
        With right answers and tokens.
    dollars : RoundDollars, optional
        What each round cost, as ``d3stats.planning.prices.price_turns`` gives it: also the mean dollars of a debate.
    level : float
        Level of the intervals over questions.
    **reading
        How the source is read, as for ``d3stats.open``.

    Returns
    -------
    LogCost

    Raises
    ------
    ValueError
        When no debate has tokens, none has both a verdict and a right answer, or `dollars` are of another log.

    Notes
    -----
    The accuracy has cluster Wilson limits and the tokens have the cluster t. The tokens per point have the
    cluster t on the reciprocal scale: the limits are one over those of the points per token, because an accuracy near 0
    leaves no upper limit. It takes the debates that have tokens and are scored.

    Examples
    --------
    >>> print(log_cost("gemma-votes").per_point)
    tokens per accuracy point: 120.787 [117.429, 124.395] (95 % cluster t, reciprocal scale, n = 2179 in 1,907 clusters)
    """
    level = probability("level", level, open_interval=True)
    opened = open(source, **reading)
    right, spent = (as_run(opened, value=value, by="debate") for value in ("verdict", "tokens"))
    both = pd.Series(spent.value, index=list(spent.items)).reindex(list(right.items))
    tokens = both.to_numpy(dtype=np.float64)
    cluster = pd.factorize(np.asarray(right.cluster, dtype=object))[0].astype(np.int64)
    scored, known = ~np.isnan(right.value), ~np.isnan(tokens)
    if not known.any():
        raise ValueError(
            "some debate must have tokens; got none: the fields tokens_in and tokens_out of turns"
        )
    if not scored.any():
        raise ValueError("some debate must have a verdict and a right answer; got none")
    notes = [*dict.fromkeys((*right.notes, *spent.notes))]
    if lost := int((~known).sum()):
        notes.append(f"{lost} of {counted(len(known), 'debate')} without tokens left out of the tokens")
    accuracy = clustered_share(
        right.value[scored], np.ones(int(scored.sum())), cluster[scored], level=level, name="accuracy"
    )
    mean = item_ratio(
        *("tokens of a debate", tokens[known], np.ones(int(known.sum())), cluster[known]),
        level=level,
        tested=False,
    )
    shared = scored & known
    per_point = None
    if shared.any() and right.value[shared].any():
        columns = RatioColumns()
        columns.add("tokens", np.where(shared, np.nan_to_num(tokens), 0.0))
        columns.add("points", np.where(shared, 100 * np.nan_to_num(right.value), 0.0))
        columns.measure("log", "per point", "tokens", "points", may_vanish=True, bounds=(0.0, np.inf))
        limits = columns.limits(cluster, level)
        low, high = float(limits.low[0]), float(limits.high[0])
        bounded = low == low
        per_point = Estimate(
            name="tokens per accuracy point", value=float(limits.estimate[0]), low=low if bounded else None,
            high=high if bounded else None, kind="cluster t, reciprocal scale", n=int(shared.sum()), level=level,
            n_clusters=len(np.unique(cluster[shared])),
            note="" if bounded else "so few verdicts are right that there is no upper limit",
        )  # fmt: skip
    else:
        notes.append("no tokens per accuracy point, because no verdict is right")
    paid = None if dollars is None else _paid(opened, dollars, cluster, list(map(str, right.items)), level)
    if paid is not None and (unpaid := len(known) - paid.n):
        notes.append(f"{unpaid} of {counted(len(known), 'debate')} without a price left out of the dollars")
    told = () if dollars is None else (dollars.note, *dollars.warnings)
    return LogCost(accuracy=accuracy, tokens=mean, per_point=per_point, dollars=paid, notes=(*notes, *told))


def _paid(
    opened: Opened, dollars: RoundDollars, cluster: NDArray[np.int64], items: list[str], level: float
) -> Estimate:
    """Return the mean dollars of a debate; one with a round of unknown price does not count."""
    t = opened.trajectories()
    if dollars.dollars.shape != t.reached().shape:
        shape, wanted = dollars.dollars.shape, t.reached().shape
        raise ValueError(f"dollars must have a row per debate and a column per round {wanted}; got {shape}")
    spent = np.where(t.reached(), dollars.dollars, 0.0).sum(axis=1)
    each = pd.Series(spent, index=list(map(str, t.debates))).reindex(items).to_numpy(dtype=np.float64)
    priced = ~np.isnan(each)
    return item_ratio(
        *("dollars of a debate", each[priced], np.ones(int(priced.sum())), cluster[priced]),
        level=level,
        tested=False,
    )
