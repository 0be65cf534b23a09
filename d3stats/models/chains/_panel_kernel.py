"""The compiled loops of the panel chain: its likelihood with the gradient, and its laws for many parameter vectors.

Compiled because a fit asks for the likelihood some hundred times and a plan for the laws of a thousand draws; in
numpy both are passes over arrays that hold every node and shock of every debate. Importing this module loads numba.
Parameters are the fourteen of ``FLICKER_NAMES``; a logit of minus infinity is a kind that never flickers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["laws", "terms"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@_compiled
def _log_one_plus(eta: float) -> tuple[float, float]:
    """Return log(1 + exp(eta)) and the logistic function of eta."""
    if eta >= 0.0:
        e = np.exp(-eta)
        return eta + np.log1p(e), 1.0 / (1.0 + e)
    e = np.exp(eta)
    return np.log1p(e), e / (1.0 + e)


@_compiled
def _log_sum(x: Floats) -> float:
    top = x.max()
    return float(top + np.log(np.exp(x - top).sum()))


@_compiled
def terms(
    theta: Floats,
    first_ones: Ints,
    first_cast: Ints,
    x1: Ints,
    n1: Ints,
    x0: Ints,
    n0: Ints,
    linear: Floats,
    logit: Floats,
    z: Floats,
    within: Floats,
    v: Floats,
    wv: Floats,
) -> tuple[Floats, Floats]:
    """Return each debate's log-likelihood and its gradient, shapes (debates,) and (debates, 14).

    Cells are rounds x kinds x nodes x shocks. In the first pass each round's likelihood is found for either kind;
    they are mixed by the kind that the debate has, and the second pass weighs every cell by its posterior.
    """
    debates, later = x1.shape
    nodes, shocks = len(z), len(v)
    spread_first, spread, shock = np.exp(theta[1]), np.exp(theta[3]), np.exp(theta[8])
    own, hardening = theta[4], theta[7]
    share = 1.0 / (1.0 + np.exp(-theta[11]))
    flick = 1.0 / (1.0 + np.exp(-theta[12:14]))
    log_kind = np.empty((2, 2))  # of the kind shown, given the debate's kind
    log_kind[0, 0], log_kind[0, 1] = np.log1p(-flick[0]), np.log(flick[0])
    log_kind[1, 0], log_kind[1, 1] = np.log(flick[1]), np.log1p(-flick[1])
    log_wv = np.log(wv)
    log_class = np.empty((2, nodes))
    log_class[0], log_class[1] = np.log((1.0 - share) * within), np.log(share * within)

    llf = np.empty(debates)
    gradient = np.zeros((debates, 14))
    cell = np.empty((later + 1, 2, nodes, shocks))  # log-likelihood, then posterior weight
    mean1 = np.empty((later + 1, 2, nodes, shocks))  # the residuals of the two groups of seats
    mean0 = np.empty((later + 1, 2, nodes, shocks))
    of_round = np.empty((later + 1, 2, nodes))
    mixed = np.empty((later + 1, 2, nodes))
    posterior = np.empty((2, nodes))
    for i in range(debates):
        for kind in range(2):
            for a in range(nodes):
                level = theta[0] + spread_first * z[a] - theta[9] * kind
                for b in range(shocks):
                    soft, p = _log_one_plus(level + shock * v[b])
                    cell[0, kind, a, b] = (
                        first_ones[i] * (level + shock * v[b]) - first_cast[i] * soft + log_wv[b]
                    )
                    mean1[0, kind, a, b] = first_ones[i] - first_cast[i] * p
                of_round[0, kind, a] = _log_sum(cell[0, kind, a])
        for t in range(1, later + 1):
            scale = float(t) ** hardening
            pulled = theta[2] + theta[5] * linear[i, t - 1] + theta[6] * logit[i, t - 1]
            for kind in range(2):
                for a in range(nodes):
                    middle = pulled + spread * z[a] - theta[10] * kind
                    for b in range(shocks):
                        found = log_wv[b]
                        mean1[t, kind, a, b] = mean0[t, kind, a, b] = 0.0
                        if n1[i, t - 1] > 0:
                            eta = scale * (middle + own) + shock * v[b]
                            soft, p = _log_one_plus(eta)
                            found += x1[i, t - 1] * eta - n1[i, t - 1] * soft
                            mean1[t, kind, a, b] = x1[i, t - 1] - n1[i, t - 1] * p
                        if n0[i, t - 1] > 0:
                            eta = scale * (middle - own) + shock * v[b]
                            soft, p = _log_one_plus(eta)
                            found += x0[i, t - 1] * eta - n0[i, t - 1] * soft
                            mean0[t, kind, a, b] = x0[i, t - 1] - n0[i, t - 1] * p
                        cell[t, kind, a, b] = found
                    of_round[t, kind, a] = _log_sum(cell[t, kind, a])
        for c in range(2):
            for a in range(nodes):
                total = log_class[c, a]
                for t in range(later + 1):
                    one, two = of_round[t, 0, a] + log_kind[c, 0], of_round[t, 1, a] + log_kind[c, 1]
                    top = max(one, two)
                    mixed[t, c, a] = top + np.log(np.exp(one - top) + np.exp(two - top))
                    total += mixed[t, c, a]
                posterior[c, a] = total
        llf[i] = _log_sum(posterior.ravel())
        posterior[:] = np.exp(posterior - llf[i])

        g = gradient[i]
        g[11] = posterior[1].sum() - share
        for t in range(later + 1):
            scale = 1.0 if t == 0 else float(t) ** hardening
            log_t = 0.0 if t == 0 else np.log(float(t))
            for kind in range(2):
                for a in range(nodes):
                    belongs = 0.0
                    for c in range(2):
                        shown = posterior[c, a] * np.exp(
                            of_round[t, kind, a] + log_kind[c, kind] - mixed[t, c, a]
                        )
                        belongs += shown
                        if kind != c:
                            g[12 + c] += shown - flick[c] * posterior[c, a]
                    if belongs == 0.0:
                        continue
                    middle = 0.0
                    if t > 0:
                        middle = theta[2] + theta[5] * linear[i, t - 1] + theta[6] * logit[i, t - 1]
                        middle += spread * z[a] - theta[10] * kind
                    for b in range(shocks):
                        weight = belongs * np.exp(cell[t, kind, a, b] - of_round[t, kind, a])
                        in_one = weight * mean1[t, kind, a, b]
                        if t == 0:
                            g[0] += in_one
                            g[1] += in_one * z[a] * spread_first
                            g[8] += in_one * v[b] * shock
                            g[9] -= in_one * kind
                            continue
                        in_zero = weight * mean0[t, kind, a, b]
                        both = in_one + in_zero
                        g[2] += both * scale
                        g[3] += both * scale * z[a] * spread
                        g[4] += (in_one - in_zero) * scale
                        g[5] += both * scale * linear[i, t - 1]
                        g[6] += both * scale * logit[i, t - 1]
                        g[7] += (in_one * (middle + own) + in_zero * (middle - own)) * scale * log_t
                        g[8] += both * v[b] * shock
                        g[10] -= both * scale * kind
    return llf, gradient


@_compiled
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


@_compiled
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
