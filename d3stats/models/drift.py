"""How far did the fitted law move from round to round, how much of that is noise, and how large may it truly be?

Questions are resampled, not debates, and every replicate is refitted: all rounds of a question go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, probability, whole_numbers
from d3stats.counts import RoundCounts
from d3stats.models import _functionals as functionals_of
from d3stats.models._likelihood import Cells
from d3stats.models.betabinom import CLOSED, BetaBinomialMixture, _latent_component
from d3stats.models.bootstrap import refit
from d3stats.models.rounds import SCALES, RoundsFit, Scale, fit_rounds, pmf_ks
from d3stats.resampling.totals import cluster_totals, resampled_totals, swapped_totals

__all__ = ["Drift", "rounds_drift"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Drift:
    """The rounds' fits with the refits that say how sure they are.

    Attributes
    ----------
    fit : RoundsFit
    resampled : tuple of BetaBinomialMixture
        One batch of laws per round: the same resampled questions in every round.
    swapped : tuple of pair of BetaBinomialMixture
        For each pair of successive rounds, laws fitted after each question's two rounds were swapped with
        probability 1/2: what the pair looks like when nothing drifts.
    level : float
    n_boot : int
    """

    fit: RoundsFit
    resampled: tuple[BetaBinomialMixture, ...]
    swapped: tuple[tuple[BetaBinomialMixture, BetaBinomialMixture], ...]
    level: float
    n_boot: int

    def __repr__(self) -> str:
        return f"Drift({self.fit!r}, level={self.level}, n_boot={self.n_boot})"

    @property
    def kind(self) -> str:
        """What kind of interval the tables hold."""
        return f"question bootstrap percentile, refitted, {self.n_boot} replicates"

    def functionals(self) -> pd.DataFrame:
        """Mean, spread and majority probability of every round, with question-bootstrap intervals.

        Returns
        -------
        DataFrame
            ``round, functional, estimate, se, lower, upper, level, kind``.
        """
        parts = []
        for r, fit, draws in zip(self.fit.rounds, self.fit.fits, self.resampled, strict=True):
            table = functionals_of.percentile_table(fit.distribution, draws, self.fit.panel, self.level)
            parts.append(table.reset_index().assign(round=r, kind=self.kind))
        frame = pd.concat(parts, ignore_index=True)
        return frame[["round", "functional", "estimate", "se", "lower", "upper", "level", "kind"]]

    def ks(self, scales: tuple[Scale, ...] = SCALES) -> pd.DataFrame:
        """Distance of each round from the one before.

        Returns
        -------
        DataFrame
            ``round, scale, ks, noise, lower, upper, level, kind``. ``noise`` is the `level` quantile of the
            distance when nothing drifts; ``lower, upper`` are percentiles when questions are resampled. A
            distance below its noise shows no drift; only an upper bound below a margin shows there is none.
        """
        tail = (1 - self.level) / 2
        rows = []
        for scale in scales:
            observed = self.fit.ks(scale)
            for i, (a, b) in enumerate(self.swapped):
                null = _distances(a, b, scale, self.fit.panel)
                boot = _distances(self.resampled[i], self.resampled[i + 1], scale, self.fit.panel)
                lower, upper = np.quantile(boot, [tail, 1 - tail])
                rows.append(
                    {
                        "round": self.fit.rounds[i + 1],
                        "scale": scale,
                        "ks": float(observed[i]),
                        "noise": float(np.quantile(null, self.level)),
                        "lower": float(lower),
                        "upper": float(upper),
                        "level": self.level,
                        "kind": self.kind,
                    }
                )
        columns = ["round", "scale", "ks", "noise", "lower", "upper", "level", "kind"]
        return pd.DataFrame(rows, columns=columns)


def rounds_drift(
    successes: ArrayLike,
    trials: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    fit: RoundsFit | None = None,
    n_components: int = 2,
    level: float = 0.95,
    n_boot: int = 500,
    rng: RngLike = None,
) -> Drift:
    """Fit every round and refit it to resampled and to swapped questions.

    Parameters
    ----------
    successes, trials : array of int, shape (debates, rounds)
        As :meth:`d3stats.trajectories.Trajectories.successes_trials` gives them; 0 trials is no vote.
    cluster : array of int, shape (debates,), optional
        The question of each debate; by default each debate is its own.
    fit : RoundsFit, optional
        The fits of the same rounds, when they exist already.
    level : float
        Of the intervals and of the noise quantile.
    n_boot : int
        Replicates of each kind; each is refitted.

    Raises
    ------
    ValueError
        When shapes disagree, there are fewer than two questions, or some round has no vote.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before = rng.binomial(7, rng.beta(2, 1, size=80))
    >>> drift = rounds_drift(np.column_stack([before, before]), np.full((80, 2), 7), n_boot=20, rng=1)
    >>> drift.ks(("pmf",))[["round", "ks"]].round(6).values.tolist()
    [[2.0, 0.0]]
    """
    s, n = np.asarray(successes), np.asarray(trials)
    if s.ndim != 2 or s.shape != n.shape:
        raise ValueError(
            f"successes and trials must share a shape (debates, rounds); got {s.shape}, {n.shape}"
        )
    codes = np.arange(len(s)) if cluster is None else whole_numbers("cluster", cluster)
    if codes.size != len(s):
        raise ValueError(f"cluster must have one value per debate ({len(s)}); got {codes.size}")
    if len(np.unique(codes)) < 2:
        raise ValueError(f"cluster must hold at least 2 questions to resample; got {len(np.unique(codes))}")
    silent = np.flatnonzero((n > 0).sum(axis=0) == 0)
    if silent.size:
        raise ValueError(
            f"trials must be positive for some debate in every round; got none in round {silent[0] + 1}"
        )
    apart = np.flatnonzero(((n[:, 1:] > 0) & (n[:, :-1] > 0)).sum(axis=0) == 0)
    if apart.size:
        raise ValueError(
            "trials must be positive for some debate in every two successive rounds; got no debate with votes in "
            f"both columns {apart[0] + 1} and {apart[0] + 2}, so that no drift can be seen"
        )
    probability("level", level, open_interval=True)
    n_boot = integer("n_boot", n_boot, minimum=2)
    generator = as_rng(rng)
    if fit is None:
        parts = [
            RoundCounts.from_columns(np.full(len(s), r + 1), s[:, r], n[:, r]) for r in range(s.shape[1])
        ]
        fit = fit_rounds(sum(parts, start=RoundCounts.empty()), n_components=n_components)
    if len(fit.rounds) != s.shape[1]:
        raise ValueError(f"fit must have one fit per round ({s.shape[1]}); got {len(fit.rounds)}")
    resampled = _resampled(s, n, codes, fit, n_boot, generator)
    swapped = tuple(
        _swapped(s[:, r : r + 2], n[:, r : r + 2], codes, fit, r, n_boot, generator)
        for r in range(s.shape[1] - 1)
    )
    return Drift(fit, resampled, swapped, level, n_boot)


def _one_hot(successes: NDArray[np.int64], trials: NDArray[np.int64]) -> tuple[Cells, Floats]:
    """Mark each debate's cell in each round, shape (debates, rounds * cells); no vote, no mark."""
    pairs = np.stack([successes.ravel(), trials.ravel()], axis=1)
    distinct, cell = np.unique(pairs[pairs[:, 1] > 0], axis=0, return_inverse=True)
    debates, rounds = successes.shape
    row, column = np.nonzero(trials > 0)
    marks = np.zeros((debates, rounds * len(distinct)))
    marks[row, column * len(distinct) + cell.ravel()] = 1.0
    return Cells.of(distinct[:, 0], distinct[:, 1]), marks


def _resampled(
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    cluster: NDArray[np.int64],
    fit: RoundsFit,
    n_boot: int,
    rng: np.random.Generator,
) -> tuple[BetaBinomialMixture, ...]:
    cells, marks = _one_hot(successes, trials)
    totals = resampled_totals(cluster_totals(marks, cluster), n_boot, rng)
    width = len(cells.trials)
    return tuple(refit(one, cells, totals[:, r * width : (r + 1) * width]) for r, one in enumerate(fit.fits))


def _swapped(
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    cluster: NDArray[np.int64],
    fit: RoundsFit,
    r: int,
    n_boot: int,
    rng: np.random.Generator,
) -> tuple[BetaBinomialMixture, BetaBinomialMixture]:
    both = (trials > 0).all(axis=1)
    cells, marks = _one_hot(successes[both], trials[both])
    totals = cluster_totals(marks, cluster[both])
    width = len(cells.trials)
    before, after = totals[:, :width], totals[:, width:]
    # A swap keeps the sum of the two rounds and negates their difference.
    half_sum = 0.5 * (before + after).sum(axis=0)
    half_gap = 0.5 * swapped_totals(before - after, n_boot, rng)
    return (
        refit(fit.fits[r], cells, np.maximum(half_sum + half_gap, 0.0)),
        refit(fit.fits[r + 1], cells, np.maximum(half_sum - half_gap, 0.0)),
    )


def _distances(a: BetaBinomialMixture, b: BetaBinomialMixture, scale: Scale, panel: int) -> Floats:
    if scale == "pmf":
        return pmf_ks(a, b, panel)
    # A grid shared by all replicates is enough for quantiles; exact steps matter only for the estimate.
    grid = np.linspace(0.0, 1.0, 401)
    gap = np.abs(a.latent_cdf(grid) - b.latent_cdf(grid)).max(axis=-1)
    steps = np.concatenate([x for law in (a, b) for x in (law.mu, law.mu * (1 - CLOSED))], axis=-1)
    for x in steps.T:
        gap = np.maximum(gap, np.abs(_at(a, x) - _at(b, x)))
    return cast(Floats, gap)


def _at(law: BetaBinomialMixture, x: Floats) -> Floats:
    """Evaluate each law of a batch at its own point."""
    result: Floats = (law.weight * _latent_component(x[:, None], law.mu, law.rho, "right")).sum(axis=1)
    return result
