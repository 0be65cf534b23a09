"""Simulated moments: the world whose debates have the pilot's moments.

The estimate minimises d' W d, d the pilot's moments minus those of `n_sim` debates drawn with the same seed
at every parameter. W is the inverse of the covariance of the moments in the world itself, with a small share
of the pilot's own covariance. Weights taken from the pilot depend on the moments that they weigh, so they
bias the estimate and make its standard errors too small. With D the derivative of the simulated moments and B
= (D' W D)^-1 D' W, the covariance is B S B'. S is the covariance of the moments in the world, or clustered by
question if questions repeat, plus the simulation error. D is a regression, and its noise is taken off D' W D.
The minimum over its mean per degree of freedom is chi-squared with moments - parameters degrees of freedom
when the world is right. Source: McFadden (1989), Econometrica 57; Pakes and Pollard (1989), Econometrica 57.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats.planning.calibration.parameters import Fit, JTest, Observed, Space, observe
from d3stats.planning.calibration.path_likelihood import inverted
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import simulate_debates

__all__ = ["fit_moments", "predictive_checks", "two_sided"]

Key = tuple[str, int]
Columns = dict[Key, Floats]
"""One value per debate, NaN where the debate does not have it, by name and round."""


def shown_rounds(n_rounds: int) -> list[int]:
    """Return the rounds (from 1) that are looked at one by one: the first two, the middle, the last."""
    return sorted({1, 2, n_rounds // 2 + 1, n_rounds})


def moments(seen: Observed, centre: float) -> Columns:
    """Return what simulated moments match.

    Votes come as the lead y of one answer, -1 to 1. Its even moments need no label. `centre` is the pilot's
    mean level of scores, which the spread of the level is taken about.
    """
    y, n_rounds = seen.lead, seen.lead.shape[1]
    last = n_rounds - 1
    rounds = shown_rounds(n_rounds)
    columns: Columns = {}
    if seen.labelled.any():
        columns |= {("mean share", t): seen.right[:, t - 1] for t in rounds}
    columns |= {("squared lead", t): y[:, t - 1] ** 2 for t in rounds}
    columns |= {("unanimous", t): _where(seen.unanimous[:, t - 1], y[:, t - 1]) for t in rounds}
    columns["squared first move", 2] = (y[:, 1] - y[:, 0]) ** 2
    columns["mean change in a round", n_rounds] = _row_mean(np.abs(np.diff(y, axis=1)))
    columns["squared change in a round", n_rounds] = _row_mean(np.diff(y, axis=1) ** 2)
    columns["product of neighbouring leads", n_rounds] = _row_mean(y[:, 1:] * y[:, :-1])
    columns["product of first and last lead", n_rounds] = y[:, 0] * y[:, last]
    columns["majority changed since round 1", n_rounds] = _where(
        np.sign(y[:, 0]) != np.sign(y[:, last]), y[:, 0] + y[:, last]
    )
    if seen.labelled.any():
        columns |= {("cubed share", t): (seen.right[:, t - 1] - 0.5) ** 3 for t in (1, n_rounds)}
    if seen.gap is not None and seen.level is not None:
        columns |= _of_scores(seen, seen.gap, seen.level, centre)
    return columns


def _of_scores(seen: Observed, gap: Floats, level: Floats, centre: float) -> Columns:
    n_rounds = gap.shape[1]
    rounds = sorted({1, 2, n_rounds})
    columns: Columns = {("mean gap", n_rounds): _row_mean(gap)}
    columns["share of votes for A", n_rounds] = _row_mean(seen.first)
    if seen.labelled.any():
        columns |= {("gap towards the label", t): gap[:, t - 1] * seen.toward for t in rounds}
    columns |= {("size of the gap", t): np.abs(gap[:, t - 1]) for t in rounds}
    columns |= {("squared gap", t): gap[:, t - 1] ** 2 for t in (1, n_rounds)}
    columns["squared change of the gap", n_rounds] = _row_mean(np.diff(gap, axis=1) ** 2)
    columns["product of first and last gap", n_rounds] = gap[:, 0] * gap[:, -1]
    columns["scores tied", n_rounds] = _row_mean(np.where(np.isnan(gap), np.nan, gap == 0))
    columns |= {("mean score", t): level[:, t - 1] for t in rounds}
    columns |= {("spread of the score", t): (level[:, t - 1] - centre) ** 2 for t in (1, n_rounds)}
    columns["product of gap and lead", n_rounds] = gap[:, -1] * seen.lead[:, -1]
    if seen.tie_label is not None and seen.labelled.any():
        columns["label is a tie", n_rounds] = seen.tie_label
    return columns


def check_statistics(seen: Observed) -> Columns:
    """Return what predictive checks compare: plain numbers that a reader of the log knows."""
    y, n_rounds = seen.lead, seen.lead.shape[1]
    columns: Columns = {}
    for t in shown_rounds(n_rounds):
        if seen.labelled.any():
            columns["mean share", t] = seen.right[:, t - 1]
            columns["majority", t] = _where(
                (y[:, t - 1] > 0) if seen.tie_label is None else seen.right[:, t - 1] > 0.5,
                seen.right[:, t - 1],
            )
        columns["unanimous", t] = _where(seen.unanimous[:, t - 1], y[:, t - 1])
        columns["largest camp's lead", t] = np.abs(y[:, t - 1])
    moved = np.sign(y[:, 0]) != np.sign(y[:, -1])
    columns["majority changed since round 1", n_rounds] = _where(moved, y[:, 0] + y[:, -1])
    columns["mean change in a round", n_rounds] = _row_mean(np.abs(np.diff(y, axis=1))) / 2
    # A world whose agents copy each other never leaves unanimity.
    left = seen.unanimous[:, :-1] & (np.diff(y, axis=1) != 0) & ~np.isnan(np.diff(y, axis=1))
    columns["left unanimity", n_rounds] = left.any(axis=1) * 1.0
    if seen.gap is not None and seen.level is not None:
        for t in sorted({1, 2, n_rounds}):
            columns["size of the gap", t] = np.abs(seen.gap[:, t - 1])
            columns["mean score", t] = seen.level[:, t - 1]
        columns["mean gap", n_rounds] = _row_mean(seen.gap)
        columns["change of the gap", n_rounds] = _row_mean(np.abs(np.diff(seen.gap, axis=1)))
        columns["scores tied", n_rounds] = _row_mean(np.where(np.isnan(seen.gap), np.nan, seen.gap == 0))
        agree = np.sign(seen.gap[:, -1]) == np.sign(seen.lead[:, -1])
        columns["votes agree with scores", n_rounds] = _where(agree, seen.gap[:, -1] + seen.lead[:, -1])
    return columns


def _where(flag: NDArray[np.bool_], known: Floats) -> Floats:
    result: Floats = np.where(np.isnan(known), np.nan, flag)
    return result


def _row_mean(values: Floats) -> Floats:
    """Return the mean over known rounds of each debate; NaN for a debate without any."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    result: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result


def means(table: Floats) -> Floats:
    """Return the mean of the known values of each column; NaN for a column without any."""
    return _row_mean(table.T)


def clustered_covariance(table: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Return the covariance of :func:`means`, debates of one question taken as one draw."""
    known = ~np.isnan(table)
    share = np.maximum(known.sum(axis=0), 1)
    influence = np.where(known, table - means(table), 0.0) / share
    groups, at = np.unique(cluster, return_inverse=True)
    total = np.zeros((len(groups), table.shape[1]))
    np.add.at(total, at, influence)
    result: Floats = total.T @ total * (len(groups) / max(len(groups) - 1, 1))
    return result


_STEP = 0.05
"""Step of a difference, as a share of a log-odds, a log, or half a parameter's width."""
_MOST_STEPS = 10
_MOST_REGRESSIONS = 4
_POINTS_PER_PARAMETER = 4
"""Pairs of points of a regression."""
_MOST_PAIRS = 32
_NOISE_OF_SLOPE = 0.05
"""The last regression has so many pairs that noise is at most this share of the information, or the most pairs."""
_PILOT_IN_SEARCH = 0.5
"""The pilot's share of the weights while the world is still far from it."""
_PILOT_IN_WEIGHTS = 0.05
"""The pilot's share of the last weights: more biases the estimate, none hides what the world never does."""
_SETTLED = 0.5
"""How far, in standard errors, the last step of a search that has settled may have gone."""


def drawn_like(world: Any, pilot: Trajectories, n_debates: int, seed: int) -> Observed:
    """Draw debates and leave out the labels, votes and scores that the pilot lacks, debate for debate."""
    log = simulate_debates(world, n_debates, pilot.n_rounds, seed)
    at = np.arange(n_debates) % pilot.n_debates
    present = (pilot.votes != MISSING)[at]
    label = np.where(pilot.label[at] == MISSING, MISSING, log.label).astype(np.int32)
    scores = log.scores
    if pilot.scores is None:
        scores = None
    elif scores is not None and np.isnan(pilot.scores).any():
        gone: NDArray[np.bool_] = np.isnan(pilot.scores).max(axis=2)
        scores = np.where(gone[at][:, :, None], np.nan, scores)
    return observe(world, _with(log, label, scores), present)


def _with(log: Trajectories, label: NDArray[np.int32], scores: Floats | None) -> Trajectories:
    return replace(log, label=label, scores=scores, sides=log.sides if scores is not None else ())


def fit_moments(
    space: Space, pilot: Trajectories, seen: Observed, n_sim: int, rng: np.random.Generator
) -> Fit:
    """Find the world with the pilot's moments."""
    ratio = n_sim / pilot.n_debates
    centre = 0.0 if seen.level is None else float(np.nanmean(seen.level))
    # What fewer than two debates show is no moment.
    columns = {k: v for k, v in moments(seen, centre).items() if (~np.isnan(v)).sum() > 1}
    keys = list(columns)
    table = np.stack(list(columns.values()), axis=1)
    target, of_pilot = means(table), clustered_covariance(table, seen.cluster)
    groups = len(np.unique(seen.cluster))

    def simulated(x: Floats, seed: int) -> Floats:
        drawn = drawn_like(space.world(x), pilot, n_sim, seed)
        found = moments(drawn, centre)
        return np.stack([found[key] for key in keys], axis=1)

    seed = int(rng.integers(2**62))
    x = _screened(space, lambda z: means(simulated(z, seed)), target, of_pilot, rng)
    repeated = groups < len(table)
    for share in (_PILOT_IN_SEARCH, _PILOT_IN_WEIGHTS):
        # The search finds where the world's own covariance is to be taken.
        law = _covariance_of_one(simulated(x, seed)) / len(table)
        weighing = _mixed(of_pilot, law, share, repeated)
        kept = independent(weighing)
        if len(kept) < len(space):
            raise ValueError(
                f"free must name at most {len(kept)} parameters for this pilot, as many as it has moments; "
                f"got {len(space)}"
            )
        root = np.linalg.cholesky(weighing[np.ix_(kept, kept)]).astype(np.float64)

        def residual(
            z: Floats, seed: int = seed, root: Floats = root, kept: NDArray[np.int64] = kept
        ) -> Floats:
            off = (means(simulated(z, seed)) - target)[kept]
            return np.asarray(np.linalg.solve(root, off), dtype=np.float64)

        if share == _PILOT_IN_SEARCH:
            x = _descend(space, residual, x)
    found = _refined(space, residual, x, rng)
    own = of_pilot if repeated else law
    whole = (own + found.noise / ratio * law)[np.ix_(kept, kept)]
    errors = np.asarray(np.linalg.solve(root, np.linalg.solve(root, whole).T), dtype=np.float64)
    covariance, df, scale = _law_of_fit(found.slope, found.inverse, errors)
    statistic = float(found.rest @ found.rest) / scale
    p_value = float(scipy.special.chdtrc(df, statistic)) if df > 0 else 1.0
    return Fit(found.x, covariance, found.blind, found.settled, j_test=JTest(statistic, df, p_value))


def _law_of_fit(slope: Floats, inverse: Floats, errors: Floats) -> tuple[Floats, int, float]:
    """Return the covariance of the parameters, the degrees of freedom, and the mean of the minimum per degree.

    `slope` and `errors`, the derivative and the covariance of the moments, are in units of the weights' root;
    `inverse` is that of ``slope' slope``.
    """
    influence = inverse @ slope.T
    rest = np.eye(len(slope)) - slope @ influence
    df = round(float(np.trace(rest)))
    scale = float(np.trace(rest @ errors)) / df if df > 0 else 1.0
    return influence @ errors @ influence.T, df, scale


def _descend(space: Space, residual: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Take damped Gauss-Newton steps, all with one seed, until one is small beside the standard errors."""
    damping = 1e-3
    rest = residual(x)
    for _ in range(_MOST_STEPS):
        slope = _slope(residual, x, space)
        normal = slope.T @ slope
        scale = np.maximum(np.diag(normal), 1e-12)
        for _ in range(4):
            move = -np.linalg.solve(normal + damping * np.diag(scale), slope.T @ rest)
            move = np.clip(move, -1.5 * _reach(space), 1.5 * _reach(space))
            trial = np.clip(x + move, space.box_low, space.box_high)
            there = residual(trial)
            if there @ there < rest @ rest:
                break
            damping = max(10 * damping, 1e-2)
        else:
            return x
        small = bool((np.abs(trial - x) < 0.5 / np.sqrt(scale)).all())
        x, rest, damping = trial, there, damping / 10
        if small:
            break
    return x


def _slope(residual: Callable[[Floats], Floats], x: Floats, space: Space) -> Floats:
    """Differentiate by central differences, wide enough that votes flip."""
    columns = []
    for at in np.diag(_STEP * _reach(space)):
        high, low = np.minimum(x + at, space.box_high), np.maximum(x - at, space.box_low)
        columns.append((residual(high) - residual(low)) / (high - low).sum())
    return np.stack(columns, axis=1)


class _Found(NamedTuple):
    """Where the regressions ended.

    Attributes
    ----------
    x : ndarray, shape (parameters,)
    rest : ndarray, shape (moments,)
        What stays of the moments at `x`.
    slope : ndarray, shape (moments, parameters)
    inverse : ndarray, shape (parameters, parameters)
        Inverse of ``slope' slope``.
    blind : ndarray of bool, shape (parameters,)
    settled : bool
    noise : float
        Variance of the simulation error of `rest`, in units of that of one point.
    """

    x: Floats
    rest: Floats
    slope: Floats
    inverse: Floats
    blind: NDArray[np.bool_]
    settled: bool
    noise: float


def _refined(space: Space, residual: Callable[..., Floats], x: Floats, rng: np.random.Generator) -> _Found:
    """Regress moments on parameters about one standard error around, each point with its own seed; step; repeat.

    A difference of two simulations shows single votes; the regression shows the slope, and its noise is that of
    all its points together, also in a world whose random numbers do not stay put when a parameter moves.
    """
    slope = _slope(residual, x, space)
    covariance, _ = inverted(slope.T @ slope, space.on_bound(x))
    pairs = _POINTS_PER_PARAMETER * len(space)
    for _ in range(_MOST_REGRESSIONS):
        found, share = _regressed(space, residual, x, covariance, pairs, rng)
        x, covariance = found.x, found.inverse
        if found.settled:
            break
    # The slopes of the last regression make the errors: it has points enough for them.
    wanted = math.ceil(pairs * share / _NOISE_OF_SLOPE)
    pairs = max(pairs, min(wanted, _MOST_PAIRS))
    last, _ = _regressed(space, residual, x, covariance, pairs, rng, exact=True)
    return last._replace(settled=last.settled or found.settled)


def _regressed(
    space: Space,
    residual: Callable[..., Floats],
    x: Floats,
    covariance: Floats,
    pairs: int,
    rng: np.random.Generator,
    *,
    exact: bool = False,
) -> tuple[_Found, float]:
    """Regress once at that many pairs of points, and step; say what share of the information is noise.

    With `exact` that share is taken off the information, for which there have to be points enough.
    """
    sd = np.sqrt(np.diag(covariance))
    shrink = np.minimum(1.0, 0.5 * _reach(space) / np.maximum(sd, 1e-12))
    values, vectors = np.linalg.eigh(covariance * np.outer(shrink, shrink))
    good = values > 1e-10 * max(float(values.max()), 1e-12)
    root = vectors[:, good] * np.sqrt(values[good])
    back = np.linalg.pinv(root)
    half = rng.standard_normal((pairs, root.shape[1]))
    points = np.clip(x + np.concatenate([half, -half]) @ root.T, space.box_low, space.box_high)
    z = (points - x) @ back.T
    found = np.stack([residual(at, seed=int(rng.integers(2**62))) for at in points])
    design = np.column_stack([np.ones(len(z)), z, z**2])
    fitted = np.linalg.lstsq(design, found, rcond=None)[0]
    scatter = np.linalg.pinv(design.T @ design)
    slopes = slice(1, 1 + z.shape[1])
    slope, start = fitted[slopes].T @ back, fitted[0]
    information = slope.T @ slope
    # Squares of noisy slopes are too large by their variance.
    off = found - design @ fitted
    variance = float((off**2).sum()) / (len(z) - design.shape[1])
    excess = variance * back.T @ scatter[slopes, slopes] @ back
    inverse, blind = inverted(information - excess if exact else information, space.on_bound(x))
    move = -inverse @ (slope.T @ start)
    move = np.clip(move, -1.5 * _reach(space), 1.5 * _reach(space))
    move = np.clip(x + move, space.box_low, space.box_high) - x
    error = np.sqrt(np.maximum(np.diag(inverse), 1e-30))
    settled = bool((np.abs(move[~blind]) < _SETTLED * error[~blind]).all())
    share = float(np.diag(inverse @ excess).max())
    return _Found(x + move, start + slope @ move, slope, inverse, blind, settled, float(scatter[0, 0])), share


def _covariance_of_one(table: Floats) -> Floats:
    """Return the covariance of a single debate's moments."""
    result: Floats = clustered_covariance(table, np.arange(len(table))) * len(table)
    return result


def _screened(
    space: Space,
    moments_at: Callable[[Floats], Floats],
    target: Floats,
    cov: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return the best of the template and some worlds around it, each moment in units of its own error."""
    unit = np.sqrt(np.diag(cov))
    unit = np.maximum(unit, 0.02 * np.maximum(np.abs(target), 0.1))
    first = space.start()
    spread = np.where(np.isfinite(space.box_high), 0.8, 0.5 * space.width)
    trials = [first, *(first + rng.uniform(-1, 1, (12, len(space))) * spread)]
    trials = [np.clip(x, space.box_low + 0.1, space.box_high - 0.1) for x in trials]
    off = [float((((moments_at(x) - target) / unit) ** 2).sum()) for x in trials]
    best: Floats = trials[int(np.argmin(off))]
    return best


def _mixed(of_pilot: Floats, law: Floats, share: float, repeated: bool) -> Floats:
    """Mix the covariance of the pilot's means with the world's own, `share` of the pilot's."""
    # Clustering makes the pilot's means vary more than debates that are all questions of their own.
    known = np.diag(law) > 0
    ratio = np.diag(of_pilot)[known] / np.diag(law)[known]
    design = max(1.0, float(np.median(ratio))) if repeated else 1.0
    mixed: Floats = share * of_pilot + (1 - share) * design * law
    return mixed


def independent(cov: Floats) -> NDArray[np.int64]:
    """Return the moments that are not next to a linear combination of those before them (R squared < .9)."""
    sd = np.sqrt(np.diag(cov))
    kept: list[int] = []
    for i in range(len(cov)):
        if sd[i] <= 1e-9:
            continue
        if kept:
            inside = cov[np.ix_(kept, kept)]
            across = cov[kept, i]
            if across @ np.linalg.solve(inside, across) > 0.9 * cov[i, i]:
                continue
        kept.append(i)
    return np.array(kept, dtype=np.int64)


def _reach(space: Space) -> Floats:
    result: Floats = np.where(np.isfinite(space.box_high), 1.0, 0.5 * space.width)
    return result


COLUMNS = ("statistic", "round", "pilot", "predicted", "low", "high", "p_value")
_PER_DRAW = 4
"""Pilots drawn at each draw of the parameters: a block of debates holds several."""


def predictive_checks(
    space: Space,
    x: Floats,
    covariance: Floats,
    pilot: Trajectories,
    seen: Observed,
    n_rep: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Compare the pilot with replicates, over parameters drawn from their estimated law.

    Returns
    -------
    DataFrame
        ``statistic, round, pilot, predicted, low, high, p_value``: limits hold 90 % of the replicates, and the
        p-value is the two-sided share of replicates at least as far out, the pilot counted among them.
    """
    here = {k: v for k, v in check_statistics(seen).items() if (~np.isnan(v)).sum() > 1}
    keys: list[Key] = list(here)
    table = np.stack(list(here.values()), axis=1)
    at_pilot = means(table)
    widen = np.sqrt(_design_effect(table, seen.cluster))
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    draws = n_replicates(n_rep) // _PER_DRAW
    # Not every covariance is a sum of squares to the last digit; eigenvalues below 0 are 0.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    size = pilot.n_debates
    found = np.empty((draws, _PER_DRAW, len(keys)))
    for i in range(draws):
        at = space.drawn(x, root, sd, rng)
        drawn = drawn_like(space.world(at), pilot, _PER_DRAW * size, int(rng.integers(2**62)))
        columns = check_statistics(drawn)
        whole = np.stack([columns[key] for key in keys], axis=1)
        for j, part in enumerate(np.split(whole, _PER_DRAW)):
            found[i, j] = means(part)
    replicate = found.reshape(-1, len(keys))
    centre = replicate.mean(axis=0)
    replicate = centre + (replicate - centre) * widen
    low, high = np.quantile(replicate, [0.05, 0.95], axis=0)
    p = [two_sided(replicate[:, k], float(at_pilot[k])) for k in range(len(keys))]
    rows = zip((k[0] for k in keys), (k[1] for k in keys), at_pilot, centre, low, high, p, strict=True)
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def n_replicates(n_rep: int) -> int:
    """Return how many pilots are replicated where so many are asked for.

    Examples
    --------
    >>> n_replicates(197)
    200
    """
    return _PER_DRAW * max(1, -(-n_rep // _PER_DRAW))


def two_sided(replicates: Floats, value: float) -> float:
    """Return the share of replicates as far out as a value, on either side; the value counts as one of them.

    Examples
    --------
    >>> two_sided(np.arange(99.0), 200.0)
    0.02
    """
    above = 1 + int((replicates >= value - 1e-12).sum())
    below = 1 + int((replicates <= value + 1e-12).sum())
    return min(1.0, 2 * min(above, below) / (1 + len(replicates)))


def _design_effect(table: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Return how many times repeated questions multiply the variance of each mean; at least 1."""
    if len(np.unique(cluster)) == len(cluster):
        return np.ones(table.shape[1])
    alone = np.diag(clustered_covariance(table, np.arange(len(table))))
    together = np.diag(clustered_covariance(table, cluster))
    result: Floats = np.maximum(1.0, np.where(alone > 0, together / np.where(alone > 0, alone, 1.0), 1.0))
    return result
