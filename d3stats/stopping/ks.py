"""Stop a whole batch when the distribution of correct votes stops moving: the published KS rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._check import NonNegativeFloat, NonNegativeInt, OpenProbability, PositiveInt, integer, number
from d3stats.counts import Counts, RoundCounts
from d3stats.models.mixtures.ks import empirical_ks, ks_upper
from d3stats.sources import LogSource, as_trajectories
from d3stats.stopping.rule import (
    CONTINUE,
    BatchRound,
    BatchRule,
    Camp,
    Decision,
    LiveWatcher,
    LoggedWatcher,
    ReasonBook,
    Rule,
    StopReason,
    Watch,
    Watcher,
    batch_rounds,
)
from d3stats.stopping.votes import Unanimity
from d3stats.trajectories import MISSING, Missing

__all__ = ["KSStability", "NoiseAwareKS", "stop_round_of_series"]


class PairedCounts(NamedTuple):
    """The camp's votes and all votes in two rounds, of the debates that have a vote in both; cluster beside them."""

    successes_a: Ints
    trials_a: Ints
    successes_b: Ints
    trials_b: Ints
    cluster: Ints


class CountWindow:
    """Remember the counts of the last ``window + 1`` rounds.

    With `carry`, a debate that this rule stopped keeps the count that it had then; without, a debate that
    plays no more has no count. With ``camp="first"`` the answer that is counted is found once, in the first round
    with a vote, and stays the same.
    """

    def __init__(
        self, window: int, missing: Missing, carry: Rule | None, watch: Watch, camp: Camp = "right"
    ) -> None:
        self._size = window + 1
        self._missing: Missing = missing
        self._camp: Camp = camp
        self._first = MISSING
        self._carry: Watcher | None = None if carry is None else watch(carry, ReasonBook())
        self._finished: NDArray[np.bool_] | None = None
        self._past: list[tuple[Ints, Ints]] = []
        self._number = 0

    def step(self, latest: BatchRound) -> PairedCounts | None:
        """Take a round; return the counts `window` rounds ago and now, None while there are too few."""
        self._check(latest)
        if self._camp == "first" and self._first == MISSING:
            self._first = latest.first_answer()
        successes, trials = latest.camp_trials(self._camp, self._missing, self._first)
        if self._carry is not None:
            if self._finished is None:
                self._finished = np.zeros(len(latest), dtype=bool)
            if self._past:
                before_s, before_t = self._past[-1]
                successes = np.where(self._finished, before_s, successes)
                trials = np.where(self._finished, before_t, trials)
            self._finished = self._finished | (self._carry.update(latest) > 0)
        self._past = [*self._past[1 - self._size :], (successes, trials)]
        if len(self._past) < self._size:
            return None
        first_s, first_t = self._past[0]
        both = (first_t > 0) & (trials > 0)
        return PairedCounts(first_s[both], first_t[both], successes[both], trials[both], latest.cluster[both])

    def _check(self, latest: BatchRound) -> None:
        if latest.number != self._number + 1:
            raise ValueError(f"number must be {self._number + 1}, the next round; got number={latest.number}")
        self._number = latest.number
        if self._past and len(latest) != len(self._past[-1][0]):
            raise ValueError(
                f"votes must hold the same debates every round ({len(self._past[-1][0])}); got {len(latest)}"
            )
        if self._camp == "right" and len(latest) and (latest.label == MISSING).all():
            raise ValueError(
                "label must be known for at least one debate, because this rule compares counts of correct "
                "votes (camp=first and camp=largest need no label); got no label"
            )


@dataclass(frozen=True)
class KSStability(BatchRule):
    """Stop all debates once two rounds hardly differ: KS distance < threshold for `patience` rounds in a row.

    The distance D(t, t - window) is the Kolmogorov-Smirnov distance between the distributions of correct votes of two
    rounds, over the debates that have a vote in both. Without labels it can follow the votes for the first answer
    or for the largest camp instead.

    Parameters
    ----------
    threshold : float
        The epsilon of Hu et al. (2025); D must be strictly below it.
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
        The lag m of D(t, t - m); 1 compares neighbouring rounds and does not detect slow drift.
    missing : {"exclude", "wrong"}
        Leave a missing vote out (trials vary) or count it as not correct.
    seed : int
        Seeds the starts of the fits, so that the rule gives the same answer twice.
    camp : {"right", "first", "largest"}
        Whose votes are counted. With "right", the correct votes, which needs labels; debates without one are
        left out. With "first", the votes for one answer in the whole batch: of all answers voted in the first
        round with a vote, the one whose text sorts first (A of a pair A and B). This answer depends on votes
        alone, not on the answers that an item lists or that come up later, so a run and its log agree. With
        "first" the rule does not detect verdicts that change from A to B as often as from B to A, and items
        must share their answers. For open questions take "largest", the round's largest camp; the rule then
        does not detect that another answer leads.

    Notes
    -----
    The threshold is no test at a level. Without any drift, P(D < .05 twice) is .001 for 50 debates and .98 for 1600:
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
    >>> [round(d, 3) for d in KSStability(0.05).distances(t.select(range(400)))[1:3]], str(KSStability.hu2025())
    ([0.077, 0.033], 'ks:0.05,scale=latent,source=fitted,carry=(unanimity)')
    """

    threshold: NonNegativeFloat = 0.05
    patience: PositiveInt = 2
    scale: Literal["pmf", "latent"] = "pmf"
    source: Literal["empirical", "fitted"] = "empirical"
    carry: Rule | None = None
    window: PositiveInt = 1
    missing: Missing = "exclude"
    seed: NonNegativeInt = 0
    camp: Camp = "right"

    name: ClassVar[str] = "ks"
    citation: ClassVar[str] = "Hu et al. (2025), arXiv 2510.12697, adaptive stability detection"
    statistic: ClassVar[str] = "Kolmogorov-Smirnov distance between rounds of the counts of a camp's votes"
    guarantee: ClassVar[str] = "none; the probability of a false stop grows with the number of debates"
    reason: ClassVar[str] = StopReason.KS_STABLE
    presets: ClassVar[tuple[str, ...]] = ("hu2025",)

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """Return the stability rule of Hu et al. (2025) as their code has it, without two defects of its fit.

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
        before = Counts.from_columns(pair.successes_a, pair.trials_a)
        after = Counts.from_columns(pair.successes_b, pair.trials_b)
        return _fitted_ks(_cells_of(before), _cells_of(after), self.scale, self.seed)


_Cells = tuple[bytes, bytes]
"""Keys and weights of counts, as a value that can be compared."""


def _cells_of(counts: Counts) -> _Cells:
    return counts.keys.tobytes(), counts.weights.tobytes()


@lru_cache(maxsize=256)
def _fitted_ks(before: _Cells, after: _Cells, scale: Literal["pmf", "latent"], seed: int) -> float:
    """Return the distance of two fitted rounds; rules that differ in threshold or patience share the fit."""
    from d3stats.models.mixtures.rounds import fit_rounds

    counts = [
        Counts(np.frombuffer(keys, np.int64).reshape(-1, 2), np.frombuffer(weights, np.float64))
        for keys, weights in (before, after)
    ]
    rounds = RoundCounts.from_rounds({1: counts[0], 2: counts[1]})
    return float(fit_rounds(rounds, n_components=2, rng=seed).ks(scale=scale)[0])


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


@dataclass(frozen=True)
class NoiseAwareKS(BatchRule):
    """Stop all debates once an upper confidence limit of D(t, t - window) falls below `epsilon`.

    The limit is that of :func:`~d3stats.models.mixtures.ks_upper`, which takes questions as independent and debates of
    one question as one cluster. The first round that can be compared is look 1. Look k has the error
    (1 - level) / (k (k + 1)), and these add up to 1 - level. So the probability that the rule ever stops at a look
    where the true distance is `epsilon` or more is at most 1 - level, for any number of rounds. At .05 and level .95,
    a batch without any change stops at look 1 if it has 89 questions of one debate each, and at look 3 if it has 128.

    Parameters
    ----------
    epsilon : float
        The drift that one is willing to call none, in (0, 1).
    level : float
        One minus the probability of a wrong stop, over all looks together, in (0, 1).
    window : int
        The lag m of D(t, t - m). The default 2 sees drift that neighbouring rounds hide.
    carry, missing, camp
        As in :class:`KSStability`.

    Examples
    --------
    >>> from d3stats.trajectories import Trajectories
    >>> votes = np.random.default_rng(1).integers(0, 2, size=(50, 4, 5))
    >>> t = Trajectories.from_arrays(votes, label=[1] * 50, answers=["wrong", "right"])
    >>> set(NoiseAwareKS(0.05).stop_rounds(t).reasons.tolist())
    {'exhausted'}
    >>> from d3stats.stopping.ks import PairedCounts
    >>> counts, panel = np.repeat([0, 2, 5], 30), np.full(90, 5)
    >>> same = PairedCounts(counts, panel, counts, panel, np.arange(90))
    >>> [round(NoiseAwareKS(0.05).upper_bound(same, number), 3) for number in (3, 4)]
    [0.049, 0.062]
    """

    epsilon: OpenProbability = 0.05
    level: OpenProbability = 0.95
    window: PositiveInt = 2
    carry: Rule | None = None
    missing: Missing = "exclude"
    camp: Camp = "right"

    name: ClassVar[str] = "ks_bound"
    citation: ClassVar[str] = (
        "equivalence test (Schuirmann 1987; Wellek 2010) on the distance of Hu et al. (2025), by betting "
        "(Waudby-Smith and Ramdas 2024)"
    )
    statistic: ClassVar[str] = "upper confidence limit of the Kolmogorov-Smirnov distance, over questions"
    guarantee: ClassVar[str] = (
        "P(ever stop at a look where the true distance over the window is >= epsilon) <= 1 - level, for any number of "
        "independent questions; look k has the share 1 / (k (k + 1)) of 1 - level"
    )
    reason: ClassVar[str] = StopReason.KS_EQUIVALENT

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """Return the upper limit of D for the counts of two rounds, the later one of which has this number."""
        look = number - self.window
        error = (1.0 - self.level) / (look * (look + 1))
        return ks_upper(*pair[:4], cluster=pair.cluster, level=1.0 - error)


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
