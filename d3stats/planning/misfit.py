"""The loss of a rule under a fitted chain, with an allowance for the misfit of the chain.

A chain is an approximation of debates, and a larger pilot does not take its bias away by itself. A rule can lose only
where its verdict is another one than unanimity's. So the loss of a rule is taken to be the chain's plus an error
e ~ N(0, s^2) with

    s^2 = (c D)^2 + min(f, D)^2,

where D is the chain's share of debates in which the two verdicts differ. Among many verdicts that differ, the chain's
share of lost minus gained ones is then off by a standard deviation of c. A few of them may all be lost: a share f of
all verdicts, however few differ.

The pilot's own count of verdicts lost tells of that error. With m the count's mean over n questions, which has a
variance of (D - loss^2) / n, the error given the count is normal with

    mean k (m - loss), variance (1 - k) s^2, k = s^2 / (s^2 + (D - loss^2) / n).

In fifty debates k is near 0, in some thousand near 1, and the loss is then the count's.

With more than two answers the chain does not follow which wrong answer leads. Its gains are then taken as no change, so
that a gain comes from the pilot's count alone.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from d3stats._arrays import Floats
from d3stats.planning.costs import Target
from d3stats.stopping import Unanimity
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["FEW", "MISFIT", "ChainLoss", "PilotLosses", "misfit_sd"]


MISFIT = 0.3
"""c; ``simulations/plans_elsewhere`` has what this and other values give."""
FEW = 0.01
"""f, the share of all verdicts that may differ on one side only."""
_HALVINGS = 50


def misfit_sd(differ: Floats, misfit: float = MISFIT, few: float = FEW) -> Floats:
    """Compute the standard deviation of what the chain misses of a loss, from the share of verdicts that differ.

    Parameters
    ----------
    differ : ndarray of float
        D.
    misfit, few : float
        c and f.
    """
    return np.asarray(np.hypot(misfit * differ, np.minimum(few, differ)))


class ChainLoss(NamedTuple):
    """The loss of a rule against unanimity under draws of the chain, with an allowance for what the chain misses.

    Examples
    --------
    >>> one = ChainLoss.allowing(np.zeros(3), np.full(3, 0.1))
    >>> round(one.within(0.01), 3), [round(end, 3) for end in one.limits(0.9)]
    (0.624, [-0.052, 0.052])
    >>> many = ChainLoss.allowing(np.zeros(3), np.full(3, 0.1), counted=(0.02, 4000))
    >>> many.mean.round(4).tolist(), many.sd.round(4).tolist()
    ([0.0195, 0.0195, 0.0195], [0.0049, 0.0049, 0.0049])
    """

    mean: Floats
    """Verdicts kept by unanimity minus those kept by the rule, per debate, shape (draws,)."""
    sd: Floats
    """Standard deviation of what the chain misses, shape (draws,)."""

    @classmethod
    def allowing(
        cls,
        loss: Floats,
        differ: Floats,
        counted: tuple[float, int] | None = None,
        answers: int = 2,
        *,
        misfit: float = MISFIT,
        few: float = FEW,
    ) -> ChainLoss:
        """Add the misfit to the chain's loss, given the pilot's count where there is one.

        Parameters
        ----------
        loss, differ : ndarray of float, shape (draws,)
            The chain's loss, and its share of verdicts that differ from unanimity's.
        counted : (float, int), optional
            Mean loss on the pilot, and the number of questions.
        answers : int
            Answers that occur.
        misfit, few : float
            c and f, see :func:`misfit_sd`.
        """
        loss = loss if answers <= 2 else np.maximum(loss, 0.0)
        variance = misfit_sd(differ, misfit, few) ** 2
        if counted is None:
            return cls(loss, np.sqrt(variance))
        seen, n = counted
        noise = np.maximum(differ - loss**2, 0.0) / n
        with np.errstate(invalid="ignore"):
            k = np.where(variance > 0, variance / (variance + noise), 0.0)
        return cls(loss + k * (seen - loss), np.sqrt((1.0 - k) * variance))

    def within(self, max_loss: float) -> float:
        """Compute P(loss <= max_loss): the mean over draws of its normal probability given the draw."""
        from scipy.special import ndtr

        room = max_loss - self.mean
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(self.sd > 1e-12, ndtr(room / self.sd), room >= 0)
        return float(chance.mean())

    def limits(self, level: float) -> tuple[float, float]:
        """Compute the equal-tailed interval of the loss over draws and misfit, by bisection of its distribution."""
        far = 9.0 * self.sd
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            low, high = float((self.mean - far).min()), float((self.mean + far).max())
            for _ in range(_HALVINGS):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if self.within(middle) >= tail else (middle, high)
            ends.append(high)
        return ends[0], ends[1]


class PilotLosses:
    """The loss of ladders against unanimity, or on a pilot that was played to full depth against that."""

    def __init__(self, log: Trajectories, target: Target) -> None:
        verdicts = log.verdicts()
        right = log.label if target == "accuracy" else verdicts[:, -1]
        self._known = (right != MISSING)[:, None] & (verdicts != MISSING)
        self._kept = verdicts == right[:, None]
        self._lead = log.camps()[0]
        self._panel = int(log.panel.max())
        self._all = Unanimity().stop_rounds(log).rounds - 1
        self._cluster = log.cluster

    def of(
        self, thresholds: tuple[int, ...], against: Literal["unanimity", "full depth"] = "unanimity"
    ) -> tuple[float, int] | None:
        """Return the mean loss over debates and the number of questions; None where none counts under both rules."""
        rounds = self._lead.shape[1]
        need = np.array([thresholds[min(t, len(thresholds) - 1)] for t in range(rounds)])
        stops = self._lead >= need
        stops[:, -1] = True
        at = stops.argmax(axis=1)
        if max(thresholds) <= self._panel:
            # Where votes are missing, unanimity of those cast stops as well.
            at = np.minimum(at, self._all)
        row = np.arange(len(at))
        later = self._all if against == "unanimity" else np.full_like(self._all, rounds - 1)
        both = self._known[row, at] & self._known[row, later]
        if not both.any():
            return None
        lost = self._kept[row, later].astype(float) - self._kept[row, at]
        return float(lost[both].mean()), len(np.unique(self._cluster[both]))
