"""Expectation-maximisation for the mixture, accelerated and monotone, compiled.

One map: posterior shares (E), then new weights and *one* Newton step per component (M), halved until the
component's expected log-likelihood rises, so each map is a generalised EM step (Dempster, Laird and Rubin, 1977).
Two maps give a squared extrapolation (SQUAREM; Varadhan and Roland, 2008), taken only when it beats the second
map: the likelihood never falls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.models._kernel import Floats, _compiled, _hold, _newton_step, _tables, derivatives

LONGEST_LEAP = 1e4
"""Bound on the extrapolation, in EM steps: where two maps hardly bend, the ratio means nothing."""


@_compiled
def _expected(
    mu: float,
    rho: float,
    share: Floats,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    penalty: float,
    free_rho: bool,
    work: Floats,
    out: Floats,
) -> float:
    """Return the component's expected log-likelihood; write (g_mu, g_rho, h_mumu, h_murho, h_rhorho) to out."""
    _tables(mu, rho, work[0:6], work[6:12], work[12:15])
    out[:] = 0.0
    value = 0.0
    for c in range(len(successes)):
        p = share[c]
        if p == 0.0:
            continue
        s, n = successes[c], trials[c]
        f = n - s
        value += p * (work[0, s] + work[6, f] - work[12, n])
        out[0] += p * (work[1, s] - work[7, f])
        out[1] += p * (work[2, s] + work[8, f] - work[13, n])
        out[2] += p * (-work[3, s] - work[9, f])
        out[3] += p * (-work[4, s] + work[10, f])
        out[4] += p * (work[14, n] - work[5, s] - work[11, f])
    if penalty > 0.0:
        value += penalty * (np.log(mu) + np.log1p(-mu))
        out[0] += penalty * (1.0 / mu - 1.0 / (1.0 - mu))
        out[2] -= penalty * (1.0 / mu**2 + 1.0 / (1.0 - mu) ** 2)
        if free_rho:
            r = max(rho, 1e-12)
            value += penalty * (np.log(r) + np.log1p(-r))
            out[1] += penalty * (1.0 / r - 1.0 / (1.0 - r))
            out[4] -= penalty * (1.0 / r**2 + 1.0 / (1.0 - r) ** 2)
    return value


@_compiled
def _component_step(
    mu: float,
    rho: float,
    share: Floats,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    penalty: float,
    low: Floats,
    high: Floats,
    work: Floats,
) -> tuple[float, float]:
    """Take one safeguarded Newton step on the component's expected log-likelihood."""
    local = np.empty(5)
    scratch = np.empty(5)
    free_rho = high[1] > low[1]
    value = _expected(mu, rho, share, successes, trials, penalty, free_rho, work, local)
    grad = np.array([local[0], local[1]])
    hess = np.array([[local[2], local[3]], [local[3], local[4]]])
    held = np.empty(2, dtype=np.bool_)
    _hold(np.array([mu, rho]), grad, low, high, held)
    step, lower = np.zeros(2), np.zeros((2, 2))
    damping = 0.0
    while not _newton_step(hess, grad, held, damping, step, lower):
        damping = max(4.0 * damping, 1e-3)
        if damping > 1e20:
            return mu, rho
    length = 1.0
    for _ in range(40):
        new_mu = mu if held[0] else min(max(mu + length * step[0], low[0]), high[0])
        new_rho = rho if held[1] else min(max(rho + length * step[1], low[1]), high[1])
        new_value = _expected(new_mu, new_rho, share, successes, trials, penalty, free_rho, work, scratch)
        if new_value >= value:
            return new_mu, new_rho
        length *= 0.5
    return mu, rho


@_compiled
def _em_map(
    x: Floats,
    k: int,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    weights: Floats,
    penalty: float,
    low: Floats,
    high: Floats,
    work: Floats,
    share: Floats,
    out: Floats,
) -> None:
    """Write the point after one E-step and one M-step to `out`."""
    for j in range(k):
        t = work[j]
        _tables(x[k - 1 + j], x[2 * k - 1 + j], t[0:6], t[6:12], t[12:15])
    for c in range(len(successes)):
        s, n = successes[c], trials[c]
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
        out[m], out[r] = _component_step(
            x[m],
            x[r],
            share[j],
            successes,
            trials,
            penalty,
            np.array([low[m], low[r]]),
            np.array([high[m], high[r]]),
            work[j],
        )


@_compiled
def climb_em(
    starts: Floats,
    which: NDArray[np.int64],
    weights: Floats,
    k: int,
    n_binomial: int,
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    log_choose: Floats,
    penalty: float,
    low: Floats,
    high: Floats,
    max_iter: int,
    tol: float,
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Climb by accelerated EM; same arguments and returns as :func:`d3stats.models._kernel.climb`.

    `n_iter` counts EM maps. The climb ends where a Newton step would promise less than ``tol * (1 + |value|)``: small
    EM steps alone prove nothing, EM is slow near its limit.
    """
    rows, size = starts.shape
    top = 0
    for c in range(len(trials)):
        top = max(top, trials[c])
    work = np.zeros((k, 15, top + 1))
    share = np.zeros((k, len(trials)))
    grad, hess = np.empty(size), np.empty((size, size))
    step, lower = np.empty(size), np.empty((size, size))
    held = np.empty(size, dtype=np.bool_)
    first, second, leap = np.empty(size), np.empty(size), np.empty(size)
    out = starts.copy()
    values = np.empty(rows)
    n_iter = np.zeros(rows, dtype=np.int64)
    for row in range(rows):
        data = weights[which[row]]
        x = out[row]
        for a in range(size):
            x[a] = min(max(x[a], low[a]), high[a])
        value = derivatives(x, k, n_binomial, successes, trials, log_choose, data, penalty, work, grad, hess)
        while n_iter[row] < max_iter:
            _hold(x, grad, low, high, held)
            if _newton_step(hess, grad, held, 0.0, step, lower):
                promise = 0.0
                for a in range(size):
                    if not held[a]:
                        promise += grad[a] * step[a]
                if promise <= tol * (1.0 + abs(value)):
                    break
            _em_map(x, k, successes, trials, data, penalty, low, high, work, share, first)
            _em_map(first, k, successes, trials, data, penalty, low, high, work, share, second)
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
                leap[a] = min(max(x[a] + 2.0 * length * r + length * length * v, low[a]), high[a])
            # The map after the leap pulls it back towards the ridge that EM follows.
            _em_map(leap, k, successes, trials, data, penalty, low, high, work, share, first)
            n_iter[row] += 1
            leap_value = derivatives(
                first, k, n_binomial, successes, trials, log_choose, data, penalty, work, grad, hess
            )
            if leap_value >= value:
                x[:] = first
                value = leap_value
            else:
                x[:] = second
                value = derivatives(
                    x, k, n_binomial, successes, trials, log_choose, data, penalty, work, grad, hess
                )
        values[row] = value
    return out, values, n_iter
