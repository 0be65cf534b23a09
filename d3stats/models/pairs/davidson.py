r"""The Bradley-Terry model with ties and an order effect, by maximum likelihood or with a weak penalty.

With ratings l, the advantage b of the contestant shown first and a readiness t to call a tie, a judgment has
``d = l_first - l_second + b`` and the chances

``P(first) = exp(d / 2) / Z,  P(tie) = exp(t) / Z,  P(second) = exp(-d / 2) / Z,  Z`` their sum.

The model is Davidson's (1970) with nu = exp(t), with the order effect of Davidson and Beaver (1977), whose nu is
``exp(t + b / 2)``. Without ties (t = -infinity) the model is Bradley and Terry's. Rao and Kupper (1967) model ties by a
threshold instead; the two fit alike in practice. The log-likelihood is concave.

The estimate exists only if no direction of the parameters improves some judgments and worsens none (Albert and
Anderson, 1984). For ratings alone this is Ford's (1957) condition: contestants cannot be split into two groups of
which one wins every time.

References
----------
Bradley and Terry (1952), Biometrika 39, 324. Ford (1957), American Mathematical Monthly 64 (8), 28. Rao and Kupper
(1967), JASA 62, 194. Davidson (1970), JASA 65, 317, eq. 2.3. Davidson and Beaver (1977), Biometrics 33, 693. Albert and
Anderson (1984), Biometrika 71, 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from d3stats._arrays import Bools, Floats, Ints

__all__ = [
    "Comparisons",
    "Davidson",
    "Separated",
    "cluster_parts",
    "fit_davidson",
    "is_identified",
    "outcome_chances",
    "separated",
]


_FAR = 12.0
"""Log-odds beyond which the search is stopped once, to look for a direction without a limit."""
_STEPS = 200
_TOLERANCE = 1e-9
_NULL = 1e-9


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Judgments as arrays, for the likelihood.

    Attributes
    ----------
    first, second : ndarray of int64, shape (rows,)
        Codes of the contestants.
    outcome : ndarray of int64, shape (rows,)
        1 where the first won, 0 for a tie, -1 where the second won.
    group : ndarray of int64, shape (rows,)
        Code of the judges who share an order effect and a readiness to call ties.
    ordered : ndarray of bool, shape (rows,)
        Where the order effect counts.
    n, groups : int
        Numbers of contestants and groups.
    order : bool
        Whether there is an order effect.
    """

    first: Ints
    second: Ints
    outcome: Ints
    group: Ints
    ordered: Bools
    n: int
    groups: int = 1
    order: bool = True

    @property
    def ties(self) -> Bools:
        """Which groups have a tie; the others' readiness is none."""
        found = np.zeros(self.groups, dtype=np.bool_)
        found[self.group[self.outcome == 0]] = True
        return found

    @property
    def shown(self) -> Bools:
        """Which groups have an order effect."""
        found = np.zeros(self.groups, dtype=np.bool_)
        if self.order:
            found[self.group[self.ordered]] = True
        return found

    @property
    def columns(self) -> tuple[Ints, Ints]:
        """The column of each group's order effect and readiness among the parameters; -1 for none."""
        order, tie = (np.full(self.groups, -1, dtype=np.int64) for _ in range(2))
        order[self.shown] = self.n + np.arange(self.shown.sum())
        tie[self.ties] = self.n + self.shown.sum() + np.arange(self.ties.sum())
        return order, tie

    @property
    def size(self) -> int:
        """Number of parameters: ratings, order effects, readinesses."""
        return self.n + int(self.shown.sum()) + int(self.ties.sum())


class _Law(NamedTuple):
    """Chances of a judgment's outcomes and their derivatives in d and t."""

    log: Floats
    mean: Floats
    variance: Floats
    tie: Floats


def _law(d: Floats, t: Floats, outcome: Ints) -> _Law:
    parts = np.stack([d / 2, -d / 2, t])
    top = parts.max(axis=0)
    total = np.log(np.exp(parts - top).sum(axis=0)) + top
    first, second, tie = np.exp(parts - total)
    mean = first - second
    chosen = np.where(outcome == 1, d / 2, np.where(outcome == -1, -d / 2, t))
    return _Law(chosen - total, mean, first + second - mean**2, tie)


def outcome_chances(d: Floats, t: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return the chances that the first wins, that there is a tie, and that the second wins (Davidson, 1970, eq. 2.3).

    Parameters
    ----------
    d : ndarray of float
        Advantage of the first in log-odds, the order effect included.
    t : ndarray of float
        Log of the readiness to call a tie, -inf for none.

    Returns
    -------
    tuple of ndarray of float

    Examples
    --------
    >>> [float(p) for p in outcome_chances(np.array(0.0), np.log(2.0))]
    [0.25, 0.5, 0.25]
    """
    d, t = np.broadcast_arrays(np.asarray(d, dtype=np.float64), np.asarray(t, dtype=np.float64))
    law = _law(d, t, np.zeros(d.shape, dtype=np.int64))
    decided = 1 - law.tie
    return (decided + law.mean) / 2, law.tie, (decided - law.mean) / 2


@dataclass(frozen=True, eq=False)
class Davidson:
    """A fit of :func:`fit_davidson`.

    Attributes
    ----------
    ratings : ndarray of float, shape (n,)
        Log-odds, with mean zero.
    order : ndarray of float, shape (groups,)
        Advantage of the first in log-odds; 0 where there is none.
    tie : ndarray of float, shape (groups,)
        Log of the readiness to call a tie; -inf in groups without a tie.
    llf : float
        Log-likelihood, without the penalty.
    information : ndarray of float, shape (size, size)
        Minus the second derivatives of what is maximised, made invertible along the sum of the ratings.
    penalty : float
        Judgments of the penalty.
    steps : int
        Newton steps.
    data : Comparisons
    """

    ratings: Floats
    order: Floats
    tie: Floats
    llf: float
    information: Floats
    penalty: float
    steps: int
    data: Comparisons

    @property
    def params(self) -> Floats:
        """All parameters that were estimated, in one array."""
        return np.concatenate([self.ratings, self.order[self.data.shown], self.tie[self.data.ties]])


class Separated(ValueError):
    """The likelihood has no maximum; `direction` is how ratings, and `effects` how other parameters, grow for ever."""

    def __init__(self, direction: Floats, effects: Floats) -> None:
        super().__init__("the likelihood has no maximum")
        self.direction, self.effects = direction, effects


def fit_davidson(data: Comparisons, penalty: float = 0.0) -> Davidson:
    """Fit ratings, order effects and readiness to call ties by Newton's method on the (penalised) likelihood.

    Parameters
    ----------
    data : Comparisons
    penalty : float
        Wins and losses that are added to each contestant against one with the mean rating, and to each order effect
        between equals; 0 is maximum likelihood.

    Returns
    -------
    Davidson

    Raises
    ------
    Separated
        When the likelihood has no maximum; only without a penalty.

    Examples
    --------
    >>> first, second, outcome = np.array([0] * 9 + [1] * 3), np.array([1] * 9 + [0] * 3), np.ones(12, dtype=np.int64)
    >>> one = np.zeros(12, dtype=np.int64)
    >>> found = fit_davidson(Comparisons(first, second, outcome, one, one == 1, 2))
    >>> round(float(np.exp(found.ratings[0] - found.ratings[1])), 6)
    3.0
    """
    cells, weight = _cells(data)
    params = np.zeros(cells.size)
    value, gradient, information = _objective(cells, weight, params, penalty)
    steps, scale, checked = 0, float(weight.sum()), False
    while steps < _STEPS:
        step = np.linalg.solve(information, gradient)
        largest = float(np.abs(step).max(initial=0.0))
        if largest <= _TOLERANCE and float(np.abs(gradient).max(initial=0.0)) <= _TOLERANCE * scale:
            break
        step *= min(1.0, 4.0 / max(largest, 1e-300))
        size = 1.0
        while size > 1e-8:
            tried = _objective(cells, weight, params + size * step, penalty)
            if tried[0] >= value - 1e-12 * abs(value):
                break
            size /= 2
        params, (value, gradient, information) = params + size * step, tried
        steps += 1
        if penalty == 0 and not checked and float(np.abs(params).max()) > _FAR:
            if (endless := separated(data)) is not None:
                raise endless
            checked = True
    order, tie = np.zeros(data.groups), np.full(data.groups, -np.inf)
    at = data.n + int(data.shown.sum())
    order[data.shown], tie[data.ties] = params[data.n : at], params[at:]
    ratings = params[: data.n] - params[: data.n].mean()
    llf = value - _penalty(params, data, penalty)[0]
    return Davidson(ratings, order, tie, float(llf), information, penalty, steps, data)


def _cells(data: Comparisons) -> tuple[Comparisons, Floats]:
    """Return each different judgment once, with how often it occurs."""
    keys = np.stack([data.first, data.second, data.outcome, data.group, data.ordered.astype(np.int64)])
    each, times = np.unique(keys, axis=1, return_counts=True)
    first, second, outcome, group, ordered = each
    cells = replace(
        data, first=first, second=second, outcome=outcome, group=group, ordered=ordered.astype(np.bool_)
    )
    return cells, times.astype(np.float64)


def _predictors(data: Comparisons, params: Floats) -> tuple[Floats, Floats, Ints, Ints]:
    """Return d and t of each row, and the columns of its order effect and readiness (-1 for none)."""
    order, tie = data.columns
    b, t = np.where(data.ordered, order[data.group], -1), tie[data.group]
    d = params[data.first] - params[data.second] + np.where(b >= 0, params[b], 0.0)
    return d, np.where(t >= 0, params[t], -np.inf), b, t


def _objective(
    data: Comparisons, weight: Floats, params: Floats, penalty: float
) -> tuple[float, Floats, Floats]:
    """Return the (penalised) log-likelihood, its gradient, and its information made invertible."""
    d, t, b, tie = _predictors(data, params)
    law = _law(d, t, data.outcome)
    size, n = data.size, data.n
    # Each row's design: +1/2 first, -1/2 second, +1/2 order (on d); +1 readiness (on t).
    index = np.stack([data.first, data.second, b, tie])
    slope = np.stack([np.full(len(d), 0.5), np.full(len(d), -0.5), np.full(len(d), 0.5), np.ones(len(d))])
    slope = np.where(index >= 0, slope, 0.0)
    index = np.maximum(index, 0)
    away = np.stack([data.outcome - law.mean] * 3 + [(data.outcome == 0) - law.tie])
    gradient = np.bincount(index.ravel(), weights=(slope * away * weight).ravel(), minlength=size)
    information = np.zeros((size, size))
    for k in range(4):
        for m in range(4):
            both = _second(law, k, m) * slope[k] * slope[m] * weight
            np.add.at(information, (index[k], index[m]), both)
    extra, of_gradient, of_information = _penalty(params, data, penalty)
    information += of_information
    information[:n, :n] += max(float(np.trace(information)) / size, 1e-12) / n
    return float(weight @ law.log) + extra, gradient + of_gradient, information


def _second(law: _Law, k: int, m: int) -> Floats:
    """Return the covariance of the sufficient statistics of two design columns; the last one counts ties."""
    if k < 3 and m < 3:
        return law.variance
    if k == 3 and m == 3:
        return law.tie * (1 - law.tie)
    return -law.mean * law.tie


def _penalty(params: Floats, data: Comparisons, penalty: float) -> tuple[float, Floats, Floats]:
    """Return the penalty, its gradient and its information: wins and losses against the mean, and between equals."""
    n, size = data.n, data.size
    to = n + int(data.shown.sum())
    gradient, information = np.zeros(size), np.zeros((size, size))
    if penalty == 0:
        return 0.0, gradient, information
    away = params[:to].copy()
    away[:n] -= away[:n].mean()
    value = -penalty * float((np.logaddexp(0, away) + np.logaddexp(0, -away)).sum())
    slope = -penalty * np.tanh(away / 2)
    bend = penalty * 0.5 / np.cosh(np.minimum(np.abs(away) / 2, 300.0)) ** 2
    gradient[:to] = slope
    gradient[:n] -= slope[:n].mean()
    information[range(to), range(to)] = bend
    centre = np.eye(n) - 1 / n
    information[:n, :n] = centre @ np.diag(bend[:n]) @ centre
    return value, gradient, information


def cluster_parts(
    fit: Davidson, cluster: Ints, n_clusters: int, rows: Ints | None = None
) -> tuple[Floats, Floats]:
    """Return each cluster's gradient, shape (clusters, size), and its information, shape (clusters, size, size).

    Both are of the likelihood, without the penalty.

    Parameters
    ----------
    fit : Davidson
    cluster : ndarray of int64, shape (rows,)
        Codes of the clusters of the rows, below `n_clusters`.
    n_clusters : int
    rows : ndarray of int64, optional
        Some of the rows that were fitted; by default all.

    Returns
    -------
    tuple of ndarray of float

    Examples
    --------
    >>> first, second, outcome = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), np.array([1, 1, 1, -1])
    >>> data = Comparisons(first, second, outcome, np.zeros(4, dtype=np.int64), np.zeros(4, dtype=bool), 2)
    >>> gradient, information = cluster_parts(fit_davidson(data), np.array([0, 0, 1, 1]), 2)
    >>> gradient.shape, information.shape, bool(abs(gradient.sum(axis=0)).max() < 1e-8)
    ((2, 2), (2, 2, 2), True)
    """
    whole = fit.data
    d, t, b, tie = _predictors(whole, fit.params)
    first, second, outcome = whole.first, whole.second, whole.outcome
    if rows is not None:
        d, t, b, tie = d[rows], t[rows], b[rows], tie[rows]
        first, second, outcome = first[rows], second[rows], outcome[rows]
    law = _law(d, t, outcome)
    size = whole.size
    gradient, information = np.zeros(n_clusters * size), np.zeros(n_clusters * size * size)
    index = np.stack([first, second, b, tie])
    slope = np.where(index >= 0, np.array([0.5, -0.5, 0.5, 1.0])[:, None], 0.0)
    index = np.maximum(index, 0)
    for k in range(4):
        away = (outcome == 0) - law.tie if k == 3 else outcome - law.mean
        gradient += np.bincount(cluster * size + index[k], weights=slope[k] * away, minlength=len(gradient))
        for m in range(4):
            at = (cluster * size + index[k]) * size + index[m]
            both = _second(law, k, m) * slope[k] * slope[m]
            information += np.bincount(at, weights=both, minlength=len(information))
    return gradient.reshape(n_clusters, size), information.reshape(n_clusters, size, size)


def is_identified(data: Comparisons) -> bool:
    """Return whether the judgments tell all parameters from each other: whether the information has full rank.

    Parameters
    ----------
    data : Comparisons

    Returns
    -------
    bool

    Examples
    --------
    >>> one_order = Comparisons(*(np.array(x) for x in ([0, 0], [1, 1], [1, -1], [0, 0], [True, True])), n=2)
    >>> is_identified(one_order), is_identified(replace(one_order, order=False))
    (False, True)
    """
    cells, weight = _cells(data)
    information = _objective(cells, weight, np.zeros(cells.size), 0.0)[2]
    values = np.linalg.eigvalsh(information)
    return bool(values[0] > _NULL * values[-1])


def separated(data: Comparisons) -> Separated | None:
    """Return a direction in which the likelihood grows for ever, None where it has a maximum (linear programming).

    The direction improves as many kinds of judgments as any does (Albert and Anderson, 1984).

    Parameters
    ----------
    data : Comparisons

    Returns
    -------
    Separated or None

    Examples
    --------
    >>> won = Comparisons(*(np.array(x) for x in ([0, 0, 1], [1, 2, 2], [1, 1, 1], [0] * 3, [False] * 3)), n=3)
    >>> separated(won).direction.round(6).tolist()
    [2.0, 1.0, 0.0]
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity

    cells, _ = _cells(data)
    order, tie = cells.columns
    b, t = np.where(cells.ordered, order[cells.group], -1), tie[cells.group]
    rows: list[dict[int, float]] = []
    for i, j, won, of_order, of_tie in zip(
        *(x.tolist() for x in (cells.first, cells.second, cells.outcome, b, t)), strict=True
    ):
        lead = {i: 1.0, j: -1.0} | ({of_order: 1.0} if of_order >= 0 else {})
        for sign in (1.0, -1.0) if won == 0 else (float(won),):
            if won:
                rows.append({k: sign * x for k, x in lead.items()})
            if of_tie >= 0:
                half = {k: sign * x / 2 for k, x in lead.items()}
                rows.append({**half, of_tie: 1.0 if won == 0 else -1.0})
    at = [(r, k, x) for r, row in enumerate(rows) for k, x in row.items()]
    which, column, entry = zip(*at, strict=True)
    design = csr_matrix((entry, (which, column)), shape=(len(rows), cells.size))
    cost = np.concatenate([np.zeros(cells.size), -np.ones(len(rows))])
    bounds = [(0.0, 0.0)] + [(None, None)] * (cells.size - 1) + [(0.0, 1.0)] * len(rows)
    found = linprog(
        cost,
        A_ub=hstack([-design, identity(len(rows))], format="csr"),
        b_ub=np.zeros(len(rows)),
        bounds=bounds,
    )
    if found.x is None:
        raise RuntimeError(f"the linear program of separation must have a solution; got {found.message}")
    solution: Floats = np.asarray(found.x, dtype=np.float64)
    if solution[cells.size :].sum() < 0.5:
        return None
    direction = solution[: cells.n]
    return Separated(direction - direction.min(), solution[cells.n : cells.size])
