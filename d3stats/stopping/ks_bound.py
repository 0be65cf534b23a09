"""Stop a whole batch when the drift is shown to be small, not merely seen to be: an equivalence test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from d3stats._check import choice, integer, probability
from d3stats.models.mixtures.ks import empirical_ks, paired_bootstrap_ks
from d3stats.stopping._counts import CountWindow, PairedCounts
from d3stats.stopping.batch import CAMPS, BatchRound, BatchRule, Camp, LiveWatcher, Watch
from d3stats.stopping.rule import CONTINUE, Decision, Rule, StopReason
from d3stats.trajectories import Missing

__all__ = ["NoiseAwareKS"]


@dataclass(frozen=True)
class NoiseAwareKS(BatchRule):
    """Stop all debates once an upper bound of D(t, t - window) falls below `epsilon`.

    The bound is the larger of two: the `level` quantile of a paired bootstrap of D that draws whole clusters
    (questions), and 1 - (1 - level)**(1/G) for G clusters, what "no change in any of G clusters" still
    allows. So the rule cannot stop with fewer than log(1 - level) / log(1 - epsilon) clusters (59 at .05 and
    level .95).

    Parameters
    ----------
    epsilon : float
        The drift that one is willing to call none, in (0, 1).
    level : float
        Confidence of the upper bound, in (0, 1), one look at a time.
    window : int
        The lag m of D(t, t - m). The default 2 sees drift that neighbouring rounds hide.
    n_boot : int
        Bootstrap replicates.
    seed : int
        Seeds the bootstrap, together with the round number, so that the rule gives the same answer twice.
    carry, missing, camp
        As in :class:`KSStability`.

    Examples
    --------
    >>> from d3stats.trajectories import Trajectories
    >>> votes = np.random.default_rng(1).integers(0, 2, size=(50, 4, 5))
    >>> t = Trajectories.from_arrays(votes, label=[1] * 50, answers=["wrong", "right"])
    >>> set(NoiseAwareKS(0.05).stop_rounds(t).reasons.tolist())
    {'exhausted'}
    """

    epsilon: float = 0.05
    level: float = 0.95
    window: int = 2
    n_boot: int = 1000
    seed: int = 0
    carry: Rule | None = None
    missing: Missing = "exclude"
    camp: Camp = "right"

    name: ClassVar[str] = "ks_bound"
    citation: ClassVar[str] = (
        "equivalence test (Schuirmann 1987; Wellek 2010) on the distance of Hu et al. (2025)"
    )
    statistic: ClassVar[str] = "paired cluster-bootstrap upper bound of the Kolmogorov-Smirnov distance"
    guarantee: ClassVar[str] = (
        "at each look, P(stop) <= 1 - level when the true distance over the window is >= epsilon, "
        "asymptotically in the number of clusters; not adjusted for repeated looks"
    )
    reason: ClassVar[str] = StopReason.KS_EQUIVALENT

    def __post_init__(self) -> None:
        for name in ("epsilon", "level"):
            object.__setattr__(self, name, probability(name, getattr(self, name), open_interval=True))
        for name, minimum in (("window", 1), ("n_boot", 1), ("seed", 0)):
            object.__setattr__(self, name, integer(name, getattr(self, name), minimum=minimum))
        choice("missing", self.missing, ("exclude", "wrong"))
        choice("camp", self.camp, CAMPS)
        if self.carry is not None and not isinstance(self.carry, Rule):
            raise TypeError(f"carry must be a per-debate Rule or None; got carry={self.carry!r}")

    @property
    def needs_labels(self) -> bool:
        """Whether correct votes are counted."""
        return self.camp == "right"

    def start(self, watch: Watch = LiveWatcher) -> _BoundState:
        """Open a batch."""
        return _BoundState(self, CountWindow(self.window, self.missing, self.carry, watch, self.camp))

    def upper_bound(self, pair: PairedCounts, number: int) -> float:
        """Return the upper bound of D for the counts of two rounds; 1 with fewer than two clusters."""
        n_clusters = len(np.unique(pair.cluster))
        if n_clusters < 2:
            return 1.0
        rng = np.random.default_rng([self.seed, number])
        replicates = paired_bootstrap_ks(*pair[:4], cluster=pair.cluster, n_boot=self.n_boot, rng=rng)
        unseen = 1.0 - (1.0 - self.level) ** (1.0 / n_clusters)
        return float(max(np.quantile(replicates, self.level), unseen))


@dataclass
class _BoundState:
    rule: NoiseAwareKS
    counts: CountWindow

    def update(self, latest: BatchRound, /) -> Decision:
        pair = self.counts.step(latest)
        if pair is None or len(pair.cluster) == 0:
            return CONTINUE
        upper = self.rule.upper_bound(pair, latest.number)
        detail = {"ks": empirical_ks(*pair[:4]), "upper": upper}
        stop = upper < self.rule.epsilon
        return Decision(stop, str(self.rule.reason) if stop else None, detail)
