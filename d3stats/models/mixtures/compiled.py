"""The mixture log-likelihood with gradient and Hessian in machine code, and the two climbs that maximise it.

Compiled because a fit is a few hundred dependent steps on eight numbers: a numpy step costs its call overhead
each time. Importing this module loads numba; :mod:`d3stats.models.mixtures.climb` does so when a fit begins.

The climbs are Newton's method with damping inside a box, and accelerated EM. A Newton step that does not raise the
likelihood is refused and damped more (Levenberg, 1944; Marquardt, 1963), so the accepted sequence is monotone.
Parameters that are on a bound with the gradient pointing out are held there (projected Newton; Bertsekas, 1982). A
Binomial component, a supremum on the boundary, is therefore reached exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._compiled import compiled


class Problem(NamedTuple):
    """The constants of a search: the model, the cells and the box of the parameters."""

    n_components: int
    n_binomial: int
    penalty: float
    successes: Ints
    trials: Ints
    log_choose: Floats
    low: Floats
    high: Floats


@compiled
def _tables(mu: float, rho: float, table: Floats) -> None:
    """Fill prefix sums over ``i``, shape (15, trials + 1), that cells' log pmf and derivatives are differences of.

    Rows 0 to 5 are read at the successes, 6 to 11 at the failures, 12 to 14 at the trials.
    """
    keep = 1.0 - rho
    for i in range(table.shape[1] - 1):
        for side in range(2):
            at = 6 * side
            mean = mu if side == 0 else 1.0 - mu
            u = mean * keep + i * rho
            by_mean = keep / u
            by_rho = (i - mean) / u
            table[at, i + 1] = table[at, i] + np.log(u)
            table[at + 1, i + 1] = table[at + 1, i] + by_mean
            table[at + 2, i + 1] = table[at + 2, i] + by_rho
            table[at + 3, i + 1] = table[at + 3, i] + by_mean * by_mean
            table[at + 4, i + 1] = table[at + 4, i] + by_mean * by_rho + 1.0 / u
            table[at + 5, i + 1] = table[at + 5, i] + by_rho * by_rho
        d = keep + i * rho
        by_d = (i - 1.0) / d
        table[12, i + 1] = table[12, i] + np.log(d)
        table[13, i + 1] = table[13, i] + by_d
        table[14, i + 1] = table[14, i] + by_d * by_d


@compiled
def derivatives(
    x: Floats, problem: Problem, weights: Floats, work: Floats, grad: Floats, hess: Floats
) -> float:
    """Write gradient and Hessian at one point into `grad` and `hess`; return the objective.

    `work` has shape (k, 15, max trials + 1): prefix sums by component.
    """
    k, successes, trials = problem.n_components, problem.successes, problem.trials
    size = 3 * k - 1
    top = 0.0
    for j in range(k - 1):
        top = max(top, x[j])
    log_weight = np.empty(k)
    total_weight = 0.0
    for j in range(k):
        log_weight[j] = (x[j] if j < k - 1 else 0.0) - top
        total_weight += np.exp(log_weight[j])
    log_total = np.log(total_weight)
    w = np.empty(k)
    for j in range(k):
        log_weight[j] -= log_total
        w[j] = np.exp(log_weight[j])
        _tables(x[k - 1 + j], x[2 * k - 1 + j], work[j])
    for a in range(size):
        grad[a] = 0.0
        for b in range(size):
            hess[a, b] = 0.0

    value = 0.0
    posterior = np.empty(k)
    score = np.empty(size)
    local = np.empty((k, 5))
    for c in range(len(successes)):
        weight = weights[c]
        if weight == 0.0:
            continue
        s, n = successes[c], trials[c]
        f = n - s
        highest = -np.inf
        for j in range(k):
            t = work[j]
            log_f = log_weight[j] + t[0, s] + t[6, f] - t[12, n]
            local[j, 0] = t[1, s] - t[7, f]
            local[j, 1] = t[2, s] + t[8, f] - t[13, n]
            local[j, 2] = -t[3, s] - t[9, f]
            local[j, 3] = -t[4, s] + t[10, f]
            local[j, 4] = t[14, n] - t[5, s] - t[11, f]
            posterior[j] = log_f
            highest = max(highest, log_f)
        total = 0.0
        for j in range(k):
            posterior[j] = np.exp(posterior[j] - highest)
            total += posterior[j]
        value += weight * (highest + np.log(total) + problem.log_choose[c])
        for j in range(k):
            p = posterior[j] / total
            posterior[j] = p
            if j < k - 1:
                score[j] = p - w[j]
            score[k - 1 + j] = p * local[j, 0]
            score[2 * k - 1 + j] = p * local[j, 1]
        for a in range(size):
            weighted = weight * score[a]
            grad[a] += weighted
            for b in range(a + 1):
                hess[a, b] -= weighted * score[b]
        for j in range(k):
            p = weight * posterior[j]
            m, r = k - 1 + j, 2 * k - 1 + j
            by_m, by_r = local[j, 0], local[j, 1]
            hess[m, m] += p * (local[j, 2] + by_m * by_m)
            hess[r, m] += p * (local[j, 3] + by_m * by_r)
            hess[r, r] += p * (local[j, 4] + by_r * by_r)
            for a in range(k - 1):
                own = (1.0 if a == j else 0.0) - w[a]
                hess[m, a] += p * own * by_m
                hess[r, a] += p * own * by_r
                for b in range(a + 1):
                    hess[a, b] += p * own * ((1.0 if b == j else 0.0) - w[b])
                    hess[a, b] -= p * ((w[a] if a == b else 0.0) - w[a] * w[b])
    if problem.penalty > 0.0:
        value += _add_prior(x, problem, log_weight, w, grad, hess)
    for a in range(size):
        for b in range(a):
            hess[b, a] = hess[a, b]
    return value


@compiled
def _add_prior(
    x: Floats, problem: Problem, log_weight: Floats, w: Floats, grad: Floats, hess: Floats
) -> float:
    k, penalty = problem.n_components, problem.penalty
    value = 0.0
    for j in range(k):
        value += log_weight[j]
        if j < k - 1:
            grad[j] += penalty * (1.0 - k * w[j])
            for b in range(j + 1):
                hess[j, b] += penalty * k * (w[j] * w[b] - (w[j] if j == b else 0.0))
        for block in range(2):
            if block == 1 and j < problem.n_binomial:
                continue
            at = (k - 1 if block == 0 else 2 * k - 1) + j
            v = max(x[at], 1e-12)
            value += np.log(v) + np.log1p(-v)
            grad[at] += penalty * (1.0 / v - 1.0 / (1.0 - v))
            hess[at, at] -= penalty * (1.0 / v**2 + 1.0 / (1.0 - v) ** 2)
    return penalty * value


@compiled
def _newton_step(
    hess: Floats, grad: Floats, held: NDArray[np.bool_], damping: float, step: Floats, factor: Floats
) -> bool:
    """Solve (-H + damping |diag H|) step = grad on the free parameters by Cholesky; False if not definite."""
    size = len(grad)
    for a in range(size):
        for b in range(a + 1):
            if held[a] or held[b]:
                value = 1.0 if a == b else 0.0
            else:
                value = -hess[a, b]
                if a == b:
                    value += damping * max(abs(hess[a, a]), 1e-8)
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                if not value > 1e-14 * max(abs(hess[a, a]), 1e-8):
                    return False
                factor[a, a] = np.sqrt(value)
            else:
                factor[a, b] = value / factor[b, b]
    for a in range(size):
        value = 0.0 if held[a] else grad[a]
        for c in range(a):
            value -= factor[a, c] * step[c]
        step[a] = value / factor[a, a]
    for a in range(size - 1, -1, -1):
        value = step[a]
        for c in range(a + 1, size):
            value -= factor[c, a] * step[c]
        step[a] = value / factor[a, a]
    return True


@compiled
def _hold(x: Floats, grad: Floats, low: Floats, high: Floats, held: NDArray[np.bool_]) -> None:
    """Mark the parameters that sit on a bound with the gradient pointing out."""
    for a in range(len(x)):
        held[a] = (x[a] <= low[a] and grad[a] <= 0.0) or (x[a] >= high[a] and grad[a] >= 0.0)


@compiled
def _clip(x: Floats, problem: Problem) -> None:
    """Move a point into the box, in place."""
    for a in range(len(x)):
        x[a] = min(max(x[a], problem.low[a]), problem.high[a])


@compiled
def _work(problem: Problem) -> Floats:
    top = 0
    for n in problem.trials:
        top = max(top, n)
    return np.zeros((problem.n_components, 15, top + 1))


@compiled
def evaluate(points: Floats, weights: Floats, problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Return value (points,), gradient (points, p) and Hessian (points, p, p) of ``weights[i]`` at ``points[i]``."""
    rows, size = points.shape
    work = _work(problem)
    value, grad, hess = np.empty(rows), np.empty((rows, size)), np.empty((rows, size, size))
    for row in range(rows):
        value[row] = derivatives(points[row], problem, weights[row], work, grad[row], hess[row])
    return value, grad, hess


@compiled
def climb(
    starts: Floats, which: Ints, weights: Floats, problem: Problem, max_iter: int, tol: float
) -> tuple[Floats, Floats, Ints]:
    """Climb by damped Newton steps from every row of `starts` on the data set ``weights[which[row]]``.

    Returns the ends, shape (rows, parameters), their values, and the evaluations of the derivatives. A climb ends
    when the predicted gain of the next Newton step is below ``tol * (1 + |value|)``, when no step of any size helps, or
    after `max_iter` evaluations. The caller has to check whether the end is a maximum.
    """
    rows, size = starts.shape
    work = _work(problem)
    out = starts.copy()
    values = np.empty(rows)
    n_iter = np.zeros(rows, dtype=np.int64)
    grad, new_grad = np.empty(size), np.empty(size)
    hess, new_hess = np.empty((size, size)), np.empty((size, size))
    step, trial = np.empty(size), np.empty(size)
    factor = np.empty((size, size))
    held = np.empty(size, dtype=np.bool_)
    for row in range(rows):
        data = weights[which[row]]
        x = out[row]
        _clip(x, problem)
        value = derivatives(x, problem, data, work, grad, hess)
        n_iter[row] = 1
        damping = 1e-2
        while n_iter[row] < max_iter:
            _hold(x, grad, problem.low, problem.high, held)
            while not _newton_step(hess, grad, held, damping, step, factor) and damping < 1e20:
                damping = max(damping * 4.0, 1e-3)
            if damping >= 1e20:
                break
            promise = 0.0
            for a in range(size):
                if not held[a]:
                    promise += grad[a] * step[a]
                trial[a] = x[a] + (0.0 if held[a] else step[a])
            _clip(trial, problem)
            new_value = derivatives(trial, problem, data, work, new_grad, new_hess)
            n_iter[row] += 1
            small = promise <= tol * (1.0 + abs(value))
            # A last tiny step may move the value by rounding alone; it still sharpens the parameters.
            slack = 1e-13 * (1.0 + abs(value)) if small else 0.0
            if new_value > value - slack:
                x[:], grad[:], hess[:, :] = trial, new_grad, new_hess
                value = new_value
                if small and damping < 1e-4:
                    break
                # Falling by a tenth, it is too small for the next step on a ridge, and has to rise again.
                damping = max(damping * 0.3, 1e-14)
            else:
                damping = max(damping * 10.0, 1e-3)
                if (small and damping > 1e3) or damping > 1e16:
                    break
        values[row] = value
    return out, values, n_iter


LONGEST_LEAP = 1e4
"""Bound on the extrapolation, in EM steps: where two maps hardly bend, the ratio means nothing."""


@compiled
def _expected(
    x: Floats, share: Floats, problem: Problem, free_rho: bool, work: Floats, grad: Floats, hess: Floats
) -> float:
    """Return a component's expected log-likelihood up to a constant; write gradient and Hessian in (mu, rho)."""
    mu, rho = x[0], x[1]
    _tables(mu, rho, work)
    value, by_m, by_r, mm, mr, rr = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(len(problem.successes)):
        p = share[c]
        if p == 0.0:
            continue
        s, n = problem.successes[c], problem.trials[c]
        f = n - s
        value += p * (work[0, s] + work[6, f] - work[12, n])
        by_m += p * (work[1, s] - work[7, f])
        by_r += p * (work[2, s] + work[8, f] - work[13, n])
        mm += p * (-work[3, s] - work[9, f])
        mr += p * (-work[4, s] + work[10, f])
        rr += p * (work[14, n] - work[5, s] - work[11, f])
    grad[0], grad[1] = by_m, by_r
    hess[0, 0], hess[0, 1], hess[1, 0], hess[1, 1] = mm, mr, mr, rr
    if problem.penalty > 0.0:
        for a in range(2 if free_rho else 1):
            v = max(x[a], 1e-12)
            value += problem.penalty * (np.log(v) + np.log1p(-v))
            grad[a] += problem.penalty * (1.0 / v - 1.0 / (1.0 - v))
            hess[a, a] -= problem.penalty * (1.0 / v**2 + 1.0 / (1.0 - v) ** 2)
    return value


@compiled
def _component_step(
    mu: float, rho: float, share: Floats, problem: Problem, j: int, work: Floats
) -> tuple[float, float]:
    """Take one safeguarded Newton step on the expected log-likelihood of component `j`."""
    k = problem.n_components
    low, high = np.empty(2), np.empty(2)
    for a in range(2):
        low[a], high[a] = problem.low[(a + 1) * k - 1 + j], problem.high[(a + 1) * k - 1 + j]
    free_rho = high[1] > low[1]
    x, trial, step = np.array([mu, rho]), np.empty(2), np.zeros(2)
    grad, hess, factor = np.empty(2), np.empty((2, 2)), np.zeros((2, 2))
    value = _expected(x, share, problem, free_rho, work, grad, hess)
    held = np.empty(2, dtype=np.bool_)
    _hold(x, grad, low, high, held)
    damping = 0.0
    while not _newton_step(hess, grad, held, damping, step, factor):
        damping = max(4.0 * damping, 1e-3)
        if damping > 1e20:
            return mu, rho
    length = 1.0
    for _ in range(40):
        for a in range(2):
            trial[a] = x[a] if held[a] else min(max(x[a] + length * step[a], low[a]), high[a])
        if _expected(trial, share, problem, free_rho, work, grad, hess) >= value:
            return trial[0], trial[1]
        length *= 0.5
    return mu, rho


@compiled
def _em_map(x: Floats, problem: Problem, weights: Floats, work: Floats, share: Floats, out: Floats) -> None:
    """Write the point after one E-step and one M-step to `out`."""
    k, low, high, penalty = problem.n_components, problem.low, problem.high, problem.penalty
    for j in range(k):
        _tables(x[k - 1 + j], x[2 * k - 1 + j], work[j])
    for c in range(len(problem.successes)):
        s, n = problem.successes[c], problem.trials[c]
        highest = -np.inf
        for j in range(k):
            t = work[j]
            share[j, c] = (x[j] if j < k - 1 else 0.0) + t[0, s] + t[6, n - s] - t[12, n]
            highest = max(highest, share[j, c])
        total = 0.0
        for j in range(k):
            share[j, c] = np.exp(share[j, c] - highest)
            total += share[j, c]
        for j in range(k):
            share[j, c] *= weights[c] / total
    last = np.log(max(share[k - 1].sum() + penalty, 1e-300))
    for j in range(k):
        if j < k - 1:
            z = np.log(max(share[j].sum() + penalty, 1e-300)) - last
            out[j] = min(max(z, low[j]), high[j])
        m, r = k - 1 + j, 2 * k - 1 + j
        out[m], out[r] = _component_step(x[m], x[r], share[j], problem, j, work[j])


@compiled
def climb_em(
    starts: Floats, which: Ints, weights: Floats, problem: Problem, max_iter: int, tol: float
) -> tuple[Floats, Floats, Ints]:
    """Climb by EM with squared extrapolation; same arguments and returns as :func:`climb`.

    `n_iter` counts EM maps. The climb ends where the predicted gain of a Newton step is below ``tol * (1 + |value|)``.
    Small EM steps alone prove nothing, because EM is slow near its limit (Varadhan and Roland, 2008, Scand. J. Stat.
    35, 335).
    """
    rows, size = starts.shape
    work = _work(problem)
    share = np.zeros((problem.n_components, len(problem.trials)))
    grad, hess = np.empty(size), np.empty((size, size))
    step, factor = np.empty(size), np.empty((size, size))
    held = np.empty(size, dtype=np.bool_)
    first, second, leap = np.empty(size), np.empty(size), np.empty(size)
    out = starts.copy()
    values = np.empty(rows)
    n_iter = np.zeros(rows, dtype=np.int64)
    for row in range(rows):
        data = weights[which[row]]
        x = out[row]
        _clip(x, problem)
        value = derivatives(x, problem, data, work, grad, hess)
        while n_iter[row] < max_iter:
            _hold(x, grad, problem.low, problem.high, held)
            if _newton_step(hess, grad, held, 0.0, step, factor):
                promise = 0.0
                for a in range(size):
                    if not held[a]:
                        promise += grad[a] * step[a]
                if promise <= tol * (1.0 + abs(value)):
                    break
            _em_map(x, problem, data, work, share, first)
            _em_map(first, problem, data, work, share, second)
            n_iter[row] += 2
            change, bend = 0.0, 0.0
            for a in range(size):
                r = first[a] - x[a]
                v = second[a] - first[a] - r
                change += r * r
                bend += v * v
            length = min(max(np.sqrt(change / bend), 1.0), LONGEST_LEAP) if bend > 0.0 else 1.0
            for a in range(size):
                r = first[a] - x[a]
                v = second[a] - first[a] - r
                leap[a] = x[a] + 2.0 * length * r + length * length * v
            _clip(leap, problem)
            # The map after the leap pulls it back towards the ridge that EM follows.
            _em_map(leap, problem, data, work, share, first)
            n_iter[row] += 1
            leap_value = derivatives(first, problem, data, work, grad, hess)
            if leap_value >= value:
                x[:] = first
                value = leap_value
            else:
                x[:] = second
                value = derivatives(x, problem, data, work, grad, hess)
        values[row] = value
    return out, values, n_iter
