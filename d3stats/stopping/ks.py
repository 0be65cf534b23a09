"""Stop a whole batch when the distribution of correct votes stops moving: the published KS rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from d3stats._check import choice, integer, number
from d3stats.counts import Counts, RoundCounts
from d3stats.models.mixtures.ks import empirical_ks
from d3stats.stopping._counts import CountWindow, PairedCounts
from d3stats.stopping.batch import (
    CAMPS,
    BatchRound,
    BatchRule,
    Camp,
    LiveWatcher,
    LoggedWatcher,
    Watch,
    batch_rounds,
)
from d3stats.stopping.rule import Decision, Rule, StopReason
from d3stats.stopping.unanimity import Unanimity
from d3stats.trajectories import LogSource, Missing, as_trajectories

__all__ = ["KSStability", "stop_round_of_series"]


@dataclass(frozen=True)
class KSStability(BatchRule):
    """Stop all debates once D(t, t - window) < threshold for `patience` rounds in a row.

    D is the Kolmogorov-Smirnov distance between the distributions of correct votes of two rounds, over the
    debates that have a vote in both. Without labels it can follow the votes for the first answer or for the
    largest camp instead.

    Parameters
    ----------
    threshold : float
        The paper's epsilon; D must be strictly below it.
    patience : int
        For how many rounds in a row.
    scale : {"pmf", "latent"}
        Distance between the distributions of counts, or between the fitted distributions of the latent
        accuracy. The latent scale is discontinuous and n votes do not identify it (with 7 votes, moving one
        tight component from .80 to .81 gives .017 on the pmf scale and .60 on the latent one).
    source : {"empirical", "fitted"}
        The counts themselves, or a two-component Beta-Binomial mixture fitted to each round; the fitted
        distance of counts is taken at the full panel.
    carry : Rule, optional
        Debates that this per-debate rule stopped keep their count from then on. D is at most the share of
        debates whose count changed, so carrying makes D fall by itself as debates finish.
    window : int
        The lag m of D(t, t - m); 1 compares neighbouring rounds and is blind to slow drift.
    missing : {"exclude", "wrong"}
        Leave a missing vote out (trials vary) or count it as not correct.
    seed : int
        Seeds the starts of the fits, so that the rule gives the same answer twice.
    camp : {"right", "first", "largest"}
        Whose votes are counted. "right" needs labels; debates without one are left out. "first" is one answer
        for the whole batch: of all answers voted in the first round with a vote, the one whose text sorts first
        (A of a pair A and B). It depends on votes alone, not on the answers that an item lists and not on
        answers that come up later, so a run and its log agree. It is blind to verdicts for A that become B as
        often as the reverse, and needs items that share their answers: for open questions take "largest", the
        round's largest camp, which is blind to every change of who leads.

    Notes
    -----
    The threshold has no level. Without any drift, P(D < .05 twice) is .001 for 50 debates and .98 for 1600:
    see :class:`NoiseAwareKS` for a rule that takes the noise into account.

    Examples
    --------
    >>> import numpy as np
    >>> from d3stats import Trajectories
    >>> rng = np.random.default_rng(1)
    >>> votes = rng.integers(0, 2, size=(4000, 6, 5))
    >>> t = Trajectories.from_arrays(votes, label=[1] * 4000, answers=["wrong", "right"])
    >>> KSStability(0.05, patience=2).stop_rounds(t).rounds[:3].tolist()
    [3, 3, 3]
    """

    threshold: float = 0.05
    patience: int = 2
    scale: Literal["pmf", "latent"] = "pmf"
    source: Literal["empirical", "fitted"] = "empirical"
    carry: Rule | None = None
    window: int = 1
    missing: Missing = "exclude"
    seed: int = 0
    camp: Camp = "right"

    name: ClassVar[str] = "ks"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697, adaptive stability detection"
    statistic: ClassVar[str] = "Kolmogorov-Smirnov distance between rounds of the counts of a camp's votes"
    guarantee: ClassVar[str] = "none: a false stop grows likelier with the number of debates"
    reason: ClassVar[str] = StopReason.KS_STABLE

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", number("threshold", self.threshold, minimum=0.0))
        for name in ("patience", "window"):
            object.__setattr__(self, name, integer(name, getattr(self, name), minimum=1))
        object.__setattr__(self, "seed", integer("seed", self.seed, minimum=0))
        choice("scale", self.scale, ("pmf", "latent"))
        choice("source", self.source, ("empirical", "fitted"))
        choice("missing", self.missing, ("exclude", "wrong"))
        choice("camp", self.camp, CAMPS)
        if self.scale == "latent" and self.source == "empirical":
            raise ValueError("scale must be 'pmf' with source='empirical'; got scale='latent'")
        if self.carry is not None and not isinstance(self.carry, Rule):
            raise TypeError(f"carry must be a per-debate Rule or None; got carry={self.carry!r}")

    @property
    def needs_labels(self) -> bool:
        """Whether correct votes are counted."""
        return self.camp == "right"

    @classmethod
    def hu2025(cls, threshold: float = 0.05, patience: int = 2) -> KSStability:
        """Return the rule of the paper's released code, up to its two known defects in the fit.

        Fitted two-component mixtures, distance on the latent scale, debates that reached unanimity carried
        forward, one stop round for the batch, labels needed. Not copied: a step that orders components by
        replacing (a, b) with (b^2/a, a), and a constant inside the logarithm of the likelihood.
        """
        return cls(threshold, patience, scale="latent", source="fitted", carry=Unanimity())

    def start(self, watch: Watch = LiveWatcher) -> _KSState:
        """Open a batch."""
        return _KSState(self, CountWindow(self.window, self.missing, self.carry, watch, self.camp))

    def distances(self, trajectories: LogSource) -> tuple[float | None, ...]:
        """Return D(t, t - window) of every round of a log, None where it is not defined.

        The series that :func:`stop_round_of_series` takes.
        """
        trajectories = as_trajectories(trajectories)
        counts = CountWindow(
            self.window,
            self.missing,
            self.carry,
            lambda rule, book: LoggedWatcher(rule, book, trajectories),
            self.camp,
        )
        return tuple(self._distance(counts.step(latest)) for latest in batch_rounds(trajectories))

    def _distance(self, pair: PairedCounts | None) -> float | None:
        if pair is None or len(pair.cluster) == 0:
            return None
        if self.source == "empirical":
            return empirical_ks(pair.successes_a, pair.trials_a, pair.successes_b, pair.trials_b)
        from d3stats.models.mixtures.rounds import fit_rounds

        rounds = RoundCounts.from_rounds(
            {
                1: Counts.from_columns(pair.successes_a, pair.trials_a),
                2: Counts.from_columns(pair.successes_b, pair.trials_b),
            }
        )
        return float(fit_rounds(rounds, n_components=2, rng=self.seed).ks(scale=self.scale)[0])


@dataclass
class _KSState:
    rule: KSStability
    counts: CountWindow
    streak: _Streak = field(init=False)

    def __post_init__(self) -> None:
        self.streak = _Streak(self.rule.threshold, self.rule.patience)

    def update(self, latest: BatchRound, /) -> Decision:
        distance = self.rule._distance(self.counts.step(latest))
        stop = self.streak.extend(distance)
        detail = {} if distance is None else {"ks": distance}
        return Decision(stop, str(self.rule.reason) if stop else None, detail)


@dataclass
class _Streak:
    """How many distances in a row were below the threshold; an undefined one breaks the streak."""

    threshold: float
    patience: int
    length: int = 0

    def extend(self, distance: float | None) -> bool:
        self.length = self.length + 1 if distance is not None and distance < self.threshold else 0
        return self.length >= self.patience


def stop_round_of_series(
    series: Sequence[float | None], threshold: float = 0.05, patience: int = 2
) -> int | None:
    """Return how many rounds were processed when a series of distances first stayed below the threshold.

    Parameters
    ----------
    series : sequence of (float or None)
        The distance of every round to the one before; None for the first round, which has none before it.
    threshold : float
        Distances must be strictly below it.
    patience : int
        For how many rounds in a row.

    Returns
    -------
    int or None
        Rounds processed, the first included; None when the series never settled.

    Raises
    ------
    ValueError
        When a distance is not finite or outside [0, 1].

    Examples
    --------
    >>> stop_round_of_series([None, 0.23, 0.12, 0.03, 0.01, 0.01])
    5
    """
    streak = _Streak(number("threshold", threshold, minimum=0.0), integer("patience", patience, minimum=1))
    for at, distance in enumerate(series):
        if distance is not None and not 0.0 <= distance <= 1.0:
            raise ValueError(
                f"series must hold distances in [0, 1] or None; got {distance!r} at position {at}"
            )
        if streak.extend(distance):
            return at + 1
    return None
