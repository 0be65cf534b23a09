"""The free parameters of a world, on their own scale and on the real line, where they are searched.

Bounded numbers are searched as log-odds, positive ones as logs, weights as log ratios to the last weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from d3stats.planning.calibration.parameters import completed, groups_of
from d3stats.worlds import World

__all__ = ["Space"]

Floats = NDArray[np.float64]
INF = float("inf")
_EDGE = 9.0
"""How far log-odds and log ratios may go: a probability of .0001."""
_LOWEST, _HIGHEST = 1e-2, 1e3
"""Where positive numbers end: below and above, no pilot tells them from 0 and infinity."""


class Space:
    """The free parameters of a world, on their own scale and on the real line.

    Parameters
    ----------
    world : World
        The template; what is not free stays as it is here.
    free : sequence of str
    """

    def __init__(self, world: World, free: Sequence[str]) -> None:
        allowed = groups_of(world)
        unknown = [name for name in free if name not in allowed]
        if isinstance(free, str) or unknown or not free:
            listed = ", ".join(sorted(allowed))
            got = repr(free) if isinstance(free, str) or not free else ", ".join(map(repr, unknown))
            raise ValueError(f"free must be names out of {listed} for {type(world).__name__}; got {got}")
        if len(set(free)) < len(free):
            raise ValueError(f"free must name each parameter once; got {tuple(free)!r}")
        self.template = world
        self.free = tuple(free)
        self._groups = [allowed[name] for name in self.free]
        self._sizes = [len(g.read(world)) for g in self._groups]
        self._cuts = np.cumsum(self._sizes)[:-1].tolist()
        parts = list(zip(self.free, self._groups, self._sizes, strict=True))
        self.names = tuple(
            name if size == 1 and not group.simplex else f"{name}_{i + 1}"
            for name, group, size in parts
            for i in range(size)
        )
        self.low = np.array([g.low for _, g, n in parts for _ in range(n)])
        self.high = np.array([g.high for _, g, n in parts for _ in range(n)])
        self.width = np.array([g.width for _, g, n in parts for _ in range(n)])
        self.closed = np.array([g.closed for _, g, n in parts for _ in range(n)])
        positive = np.isinf(self.high) & np.isfinite(self.low)
        both = np.isfinite(self.high) & np.isfinite(self.low)
        self.box_low: Floats = np.where(positive, np.log(_LOWEST), np.where(both, -_EDGE, -INF))
        self.box_high: Floats = np.where(positive, np.log(_HIGHEST), np.where(both, _EDGE, INF))

    def __len__(self) -> int:
        return len(self.names)

    def values(self, x: Floats) -> Floats:
        """Return the parameters on their own scale."""
        out = []
        for group, part in zip(self._groups, np.split(x, self._cuts), strict=True):
            if group.simplex:
                out.append(special.softmax(np.append(part, 0.0))[:-1])
            elif np.isfinite(group.high):
                out.append(group.low + (group.high - group.low) * special.expit(part))
            elif np.isfinite(group.low):
                out.append(group.low + np.exp(part))
            else:
                out.append(part)
        return np.concatenate(out)

    def start(self) -> Floats:
        """Return the template's parameters on the real line, moved off the bounds."""
        out = []
        for group in self._groups:
            values = np.array(group.read(self.template))
            if group.simplex:
                whole = np.maximum(completed(values.tolist()), 1e-3)
                out.append(np.log(whole[:-1] / whole[-1]))
            elif np.isfinite(group.high):
                share = (values - group.low) / (group.high - group.low)
                out.append(special.logit(np.clip(share, 0.02, 0.98)))
            elif np.isfinite(group.low):
                out.append(np.log(np.clip(values - group.low, 0.05, 0.5 * _HIGHEST)))
            else:
                out.append(values)
        return np.concatenate(out)

    def world(self, x: Floats) -> Any:
        """Return the template with these parameters."""
        made: Any = self.template
        for group, part in zip(self._groups, np.split(self.values(x), self._cuts), strict=True):
            made = group.write(made, tuple(part.tolist()))
        return made

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivative of :meth:`values`, by central differences."""
        h = 1e-6
        columns = [(self.values(x + h * e) - self.values(x - h * e)) / (2 * h) for e in np.eye(len(x))]
        return np.stack(columns, axis=1)

    def given(self) -> Floats:
        """Return the template's own values."""
        return np.concatenate([group.read(self.template) for group in self._groups])

    def near_zero(self, sd: Floats) -> NDArray[np.bool_]:
        """Say which parameters may be 0 and are less than two errors of their log away from it."""
        result: NDArray[np.bool_] = self.closed & (sd > 0.5)
        return result

    def drawn(self, x: Floats, root: Floats, sd: Floats, rng: np.random.Generator) -> Floats:
        """Draw parameters from their estimated law, on the real line; `root` is a root of the covariance."""
        z = root @ rng.standard_normal(len(x))
        plain = self.near_zero(sd)
        # 1 + z instead of exp(z): symmetric on the parameter's own scale, and cut at 0.
        z = np.where(plain, np.log(np.maximum(1 + z, 1e-6)), z)
        drawn: Floats = np.clip(x + z, self.box_low, self.box_high)
        return drawn

    def limits(self, x: Floats, sd: Floats, bse: Floats, z: float) -> Floats:
        """Return ``z`` errors either way, made on the real line and mapped back, shape (parameters, 2).

        A weight's limits are made on its own log-odds, as its log ratio depends on the other weights; those of
        a number that may well be 0 on its own scale, cut at 0, as its log runs off to minus infinity.
        """
        values = self.values(x)
        limits = np.column_stack([self.values(x - z * sd), self.values(x + z * sd)])
        plain = self.near_zero(sd)
        limits[plain] = np.maximum(
            (values[:, None] + np.outer(z * bse, [-1.0, 1.0]))[plain], self.low[plain, None]
        )
        at = 0
        for group, size in zip(self._groups, self._sizes, strict=True):
            if group.simplex:
                part = slice(at, at + size)
                share = values[part]
                reach = z * bse[part] / (share * (1 - share))
                odds = special.logit(share)
                limits[part] = special.expit(np.column_stack([odds - reach, odds + reach]))
            at += size
        return limits

    def on_bound(self, x: Floats) -> NDArray[np.bool_]:
        """Say which parameters ended on the edge of what is searched."""
        result: NDArray[np.bool_] = (x < self.box_low + 0.05) | (x > self.box_high - 0.05)
        return result
