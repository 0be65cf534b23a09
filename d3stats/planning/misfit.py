"""How far the loss of a rule may be from what a fitted chain says of it.

A chain is an approximation of debates. What it misses is a bias that a larger pilot does not take away, and a rule
can lose only where its verdict is another one than unanimity's. The loss of a rule is therefore taken to be the
chain's plus N(0, (c D)^2), where D is the chain's share of debates in which the two verdicts differ: among verdicts
that differ, the chain's share of lost minus gained ones is off by a standard deviation of c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MISFIT", "ChainLoss"]

Floats = NDArray[np.float64]

MISFIT = 0.15
"""c: chosen by ``simulations/plans_elsewhere``."""
_POINTS = 201


class ChainLoss(NamedTuple):
    """What a rule loses against unanimity under draws of the chain, with an allowance for what the chain misses.

    Examples
    --------
    >>> one = ChainLoss(np.zeros(3), np.full(3, 0.1))
    >>> round(one.within(0.01), 3), [round(end, 3) for end in one.limits(0.9)]
    (0.748, [-0.025, 0.025])
    >>> ChainLoss(np.zeros(3), np.zeros(3)).within(0.0)
    1.0
    """

    loss: Floats
    """Verdicts kept by unanimity minus those kept by the rule, per debate, shape (draws,)."""
    differ: Floats
    """Share of debates in which the verdicts differ, shape (draws,)."""

    def within(self, max_loss: float, misfit: float = MISFIT) -> float:
        """Compute P(loss <= max_loss): the mean over draws of its normal probability given the draw."""
        from scipy.special import ndtr

        sd, room = misfit * self.differ, max_loss - self.loss
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(sd > 1e-12, ndtr(room / sd), room >= 0)
        return float(chance.mean())

    def limits(self, level: float, misfit: float = MISFIT) -> tuple[float, float]:
        """Compute the equal-tailed interval of the loss over draws and misfit."""
        from scipy.special import ndtri

        error = ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
        spread = self.loss[:, None] + (misfit * self.differ)[:, None] * error
        low, high = np.quantile(spread, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)
