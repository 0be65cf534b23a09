"""The compiled loops of the panel chain: its likelihood with the gradient, and its laws for many parameter vectors.

Compiled because a fit asks for the likelihood some hundred times and a plan for the laws of a thousand draws. In
numpy both are passes over arrays that hold every node and shock of every debate. Importing this module loads numba.
Parameters are the fourteen of ``FLICKER_NAMES``; a logit of minus infinity is a kind that never flickers.
"""

from __future__ import annotations

import numpy as np

from d3stats._arrays import Floats, Ints
from d3stats._compiled import compiled

__all__ = ["each", "laws", "total"]


@compiled
def _log_one_plus(eta: float) -> tuple[float, float]:
    """Return log(1 + exp(eta)) and the logistic function of eta."""
    if eta >= 0.0:
        e = np.exp(-eta)
        return eta + np.log1p(e), 1.0 / (1.0 + e)
    e = np.exp(eta)
    return np.log1p(e), e / (1.0 + e)


@compiled
def _log_sum(x: Floats) -> float:
    top = x.max()
    return float(top + np.log(np.exp(x - top).sum()))


@compiled
def total(
    theta: Floats,
    first: Ints,
    moves: Ints,
    pulls: Floats,
    paths: Ints,
    times: Ints,
    z: Floats,
    within: Floats,
    v: Floats,
    wv: Floats,
) -> tuple[float, Floats]:
    """Return the log-likelihood of all debates and its gradient, shape (14,).

    First each distinct round's likelihood is found for either kind, node and shock. Debates mix them by the kind that
    they have, which weighs every round by its posterior; the gradient sums over the distinct rounds again.

    Parameters
    ----------
    first : ndarray of int, shape (distinct first rounds, 2)
        Ones and votes cast.
    moves : ndarray of int, shape (distinct later rounds, 5)
        Round, then ones and votes of the seats that cast a 1 before, then of those that cast a 0.
    pulls : ndarray of float, shape (distinct later rounds, 2)
        The earlier round's features.
    paths : ndarray of int, shape (distinct debates, rounds)
        Which first round, and which later ones.
    times : ndarray of int, shape (distinct debates,)
        How many debates are alike.
    """
    nodes, shocks, depth = len(z), len(v), paths.shape[1]
    spread_first, spread, shock = np.exp(theta[1]), np.exp(theta[3]), np.exp(theta[8])
    own, hardening = theta[4], theta[7]
    share = 1.0 / (1.0 + np.exp(-theta[11]))
    flick = 1.0 / (1.0 + np.exp(-theta[12:14]))
    flickers = flick[0] > 0.0 or flick[1] > 0.0
    log_kind = np.empty((2, 2))  # of the kind that shows, given the debate's kind
    log_kind[0, 0], log_kind[0, 1] = np.log1p(-flick[0]), np.log(flick[0])
    log_kind[1, 0], log_kind[1, 1] = np.log(flick[1]), np.log1p(-flick[1])
    log_wv = np.log(wv)
    log_class = np.empty((2, nodes))
    log_class[0], log_class[1] = np.log((1.0 - share) * within), np.log(share * within)

    begun, later = len(first), len(moves)
    rounds = np.empty((begun + later, 2, nodes))
    cells = np.empty((begun + later, 2, nodes, shocks))
    rest1 = np.zeros((begun + later, 2, nodes, shocks))  # votes beyond expectation, of either group of seats
    rest0 = np.zeros((begun + later, 2, nodes, shocks))
    for u in range(begun + later):
        for kind in range(2):
            for a in range(nodes):
                if u < begun:
                    level = theta[0] + spread_first * z[a] - theta[9] * kind
                    for b in range(shocks):
                        eta = level + shock * v[b]
                        soft, p = _log_one_plus(eta)
                        cells[u, kind, a, b] = first[u, 0] * eta - first[u, 1] * soft + log_wv[b]
                        rest1[u, kind, a, b] = first[u, 0] - first[u, 1] * p
                else:
                    move = moves[u - begun]
                    scale = float(move[0]) ** hardening
                    level = theta[2] + theta[5] * pulls[u - begun, 0] + theta[6] * pulls[u - begun, 1]
                    level += spread * z[a] - theta[10] * kind
                    for b in range(shocks):
                        found = log_wv[b]
                        if move[2] > 0:
                            eta = scale * (level + own) + shock * v[b]
                            soft, p = _log_one_plus(eta)
                            found += move[1] * eta - move[2] * soft
                            rest1[u, kind, a, b] = move[1] - move[2] * p
                        if move[4] > 0:
                            eta = scale * (level - own) + shock * v[b]
                            soft, p = _log_one_plus(eta)
                            found += move[3] * eta - move[4] * soft
                            rest0[u, kind, a, b] = move[3] - move[4] * p
                        cells[u, kind, a, b] = found
                rounds[u, kind, a] = _log_sum(cells[u, kind, a])

    llf = 0.0
    g = np.zeros(14)
    belongs = np.zeros((begun + later, 2, nodes))
    posterior = np.empty((2, nodes))
    mixed = np.empty((depth, 2, nodes))
    for i in range(len(paths)):
        for c in range(2):
            for a in range(nodes):
                joint = log_class[c, a]
                for t in range(depth):
                    u = paths[i, t] if t == 0 else begun + paths[i, t]
                    if flickers:
                        one, two = rounds[u, 0, a] + log_kind[c, 0], rounds[u, 1, a] + log_kind[c, 1]
                        top = max(one, two)
                        mixed[t, c, a] = top + np.log1p(np.exp(min(one, two) - top))
                    else:
                        mixed[t, c, a] = rounds[u, c, a]
                    joint += mixed[t, c, a]
                posterior[c, a] = joint
        here = _log_sum(posterior.ravel())
        llf += times[i] * here
        posterior[:] = times[i] * np.exp(posterior - here)
        g[11] += posterior[1].sum() - times[i] * share
        for t in range(depth):
            u = paths[i, t] if t == 0 else begun + paths[i, t]
            for c in range(2):
                for a in range(nodes):
                    if not flickers:
                        belongs[u, c, a] += posterior[c, a]
                        continue
                    other = posterior[c, a] * np.exp(
                        rounds[u, 1 - c, a] + log_kind[c, 1 - c] - mixed[t, c, a]
                    )
                    belongs[u, 1 - c, a] += other
                    belongs[u, c, a] += posterior[c, a] - other
                    g[12 + c] += other - flick[c] * posterior[c, a]

    for u in range(begun + later):
        for kind in range(2):
            for a in range(nodes):
                in_cell = belongs[u, kind, a]
                if in_cell == 0.0:
                    continue
                if u < begun:
                    for b in range(shocks):
                        over = (
                            in_cell * np.exp(cells[u, kind, a, b] - rounds[u, kind, a]) * rest1[u, kind, a, b]
                        )
                        g[0] += over
                        g[1] += over * z[a] * spread_first
                        g[8] += over * v[b] * shock
                        g[9] -= over * kind
                    continue
                at = float(moves[u - begun, 0])
                scale = at**hardening
                level = theta[2] + theta[5] * pulls[u - begun, 0] + theta[6] * pulls[u - begun, 1]
                level += spread * z[a] - theta[10] * kind
                one, two = 0.0, 0.0
                for b in range(shocks):
                    weight = in_cell * np.exp(cells[u, kind, a, b] - rounds[u, kind, a])
                    one += weight * rest1[u, kind, a, b]
                    two += weight * rest0[u, kind, a, b]
                    g[8] += weight * (rest1[u, kind, a, b] + rest0[u, kind, a, b]) * v[b] * shock
                both = (one + two) * scale
                g[2] += both
                g[3] += both * z[a] * spread
                g[4] += (one - two) * scale
                g[5] += both * pulls[u - begun, 0]
                g[6] += both * pulls[u - begun, 1]
                g[7] += (one * (level + own) + two * (level - own)) * scale * np.log(at)
                g[10] -= both * kind
    return llf, g


@compiled
def each(
    theta: Floats,
    first: Ints,
    moves: Ints,
    pulls: Floats,
    paths: Ints,
    z: Floats,
    within: Floats,
    v: Floats,
    wv: Floats,
) -> tuple[Floats, Floats]:
    """Return the log-likelihood of every distinct debate and its gradient, shapes (debates,) and (debates, 14)."""
    llf, gradient = np.empty(len(paths)), np.empty((len(paths), 14))
    order = np.arange(paths.shape[1]).reshape(1, -1) - 1
    order[0, 0] = 0
    once = np.ones(1, dtype=np.int64)
    for i in range(len(paths)):
        mine = paths[i, 1:]
        begin = first[paths[i, 0] : paths[i, 0] + 1]
        llf[i], gradient[i] = total(theta, begin, moves[mine], pulls[mine], order, once, z, within, v, wv)
    return llf, gradient


@compiled
def _binomial(n: int, eta: float, choose: Floats, out: Floats) -> None:
    """Write the law of the number of successes of n trials with this logit."""
    e = np.exp(-abs(eta))
    large, small = 1.0 / (1.0 + e), e / (1.0 + e)
    p, q = (large, small) if eta >= 0.0 else (small, large)
    power = 1.0
    for k in range(n + 1):
        out[k] = choose[n, k] * power
        power *= p
    power = 1.0
    for k in range(n, -1, -1):
        out[k] *= power
        power *= q


@compiled
def laws(
    theta: Floats, choose: Floats, rounds: int, z: Floats, v: Floats, wv: Floats
) -> tuple[Floats, Floats]:
    """Return the laws of round 1 and of every step, shapes (draws, 2 nodes, n + 1) and (draws, rounds - 1, ..., n + 1).

    `choose` holds the binomial coefficients up to the panel's size. The easy kind's nodes come first.
    """
    draws, nodes, shocks = len(theta), len(z), len(v)
    n = choose.shape[0] - 1
    initial = np.zeros((draws, 2 * nodes, n + 1))
    steps = np.zeros((draws, rounds - 1, 2 * nodes, n + 1, n + 1))
    share = np.empty(n + 1)
    keep, gain = np.empty(n + 1), np.empty(n + 1)
    shown = np.empty((2, n + 1, n + 1))
    for d in range(draws):
        x = theta[d]
        spread_first, spread, shock = np.exp(x[1]), np.exp(x[3]), np.exp(x[8])
        flick = 1.0 / (1.0 + np.exp(-x[12:14]))
        for a in range(nodes):
            shown[:] = 0.0
            for kind in range(2):
                level = x[0] + spread_first * z[a] - x[9] * kind
                for b in range(shocks):
                    _binomial(n, level + shock * v[b], choose, share)
                    shown[kind, 0] += wv[b] * share
                shown[kind, 0] /= shown[kind, 0].sum()
            initial[d, a] = (1.0 - flick[0]) * shown[0, 0] + flick[0] * shown[1, 0]
            initial[d, nodes + a] = flick[1] * shown[0, 0] + (1.0 - flick[1]) * shown[1, 0]
        for t in range(1, rounds):
            scale = float(t) ** x[7]
            for a in range(nodes):
                shown[:] = 0.0
                for kind in range(2):
                    for i in range(n + 1):
                        middle = x[2] + spread * z[a] - x[10] * kind
                        middle += x[5] * (2.0 * i / n - 1.0) + x[6] * 0.5 * np.log((i + 0.5) / (n - i + 0.5))
                        for b in range(shocks):
                            _binomial(i, scale * (middle + x[4]) + shock * v[b], choose, keep)
                            _binomial(n - i, scale * (middle - x[4]) + shock * v[b], choose, gain)
                            for j in range(i + 1):
                                for k in range(n - i + 1):
                                    shown[kind, i, j + k] += wv[b] * keep[j] * gain[k]
                        shown[kind, i] /= shown[kind, i].sum()
                steps[d, t - 1, a] = (1.0 - flick[0]) * shown[0] + flick[0] * shown[1]
                steps[d, t - 1, nodes + a] = flick[1] * shown[0] + (1.0 - flick[1]) * shown[1]
    return initial, steps
