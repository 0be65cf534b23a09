"""A Beta-Binomial mixture fitted in every round, and the Kolmogorov-Smirnov distance between rounds.

The time-varying Beta-Binomial mixture and its Kolmogorov-Smirnov series (Hu et al., 2025, arXiv 2510.12697).
The distance has two scales. The ``pmf`` scale is between the distributions of counts, which the data determine. The
``latent`` scale is between the mixtures of Betas behind them, as in the paper's released code. Panels of a few votes do
not determine it, and it jumps: a component of precision 1e6 that moves from .80 to .81 has pmf distance .017 and latent
distance .6. The default is the pmf scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, integer, probability, whole_numbers
from d3stats._words import counted, percent, verb
from d3stats.counts import RoundCounts
from d3stats.models.mixtures.climb import Method
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture_batch
from d3stats.models.mixtures.law import CLOSED, BetaBinomialMixture, Cells, _latent_component
from d3stats.models.mixtures.result import (
    MixtureFit,
    observed_shares,
    percentile_table,
    question_kind,
    refit,
    worth_of_questions,
    worth_of_rarer_votes,
)
from d3stats.resampling.bootstrap import least_replicates, too_few_replicates
from d3stats.resampling.clusters import FEW_CLUSTERS, cluster_totals, resampled_totals, swapped_totals
from d3stats.resampling.degrees import effective_clusters
from d3stats.resampling.proportions import ShareLimits, share_limits
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, log_or_array, open
from d3stats.trajectories import Trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Drift",
    "Pair",
    "RoundsFit",
    "Scale",
    "distance",
    "fit_rounds",
    "latent_ks",
    "pmf_ks",
    "rounds_drift",
]

Scale = Literal["pmf", "latent"]
"""Between what the distance of two rounds is taken: distributions of counts, or the mixtures of Betas behind them."""
SCALES: tuple[Scale, ...] = ("pmf", "latent")


def pmf_ks(a: BetaBinomialMixture, b: BetaBinomialMixture, trials: int) -> Floats:
    """Return the KS distance ``max_s |P_a(S <= s) - P_b(S <= s)|`` of counts in a panel of `trials`; batches broadcast.

    Parameters
    ----------
    a, b : BetaBinomialMixture
        Laws, or batches of them.
    trials : int
        Votes of the panel.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> a = BetaBinomialMixture.from_alpha_beta([0.62, 0.38], [6, 1.5], [1.2, 3])
    >>> b = BetaBinomialMixture.from_alpha_beta([0.60, 0.40], [5, 1.6], [1.1, 3.1])
    >>> round(float(pmf_ks(a, b, 7)), 10), round(latent_ks(a, b), 6)
    (0.0277268702, 0.038309)
    """
    gap = np.cumsum(a.pmf(trials) - b.pmf(trials), axis=-1)
    return cast(Floats, np.abs(gap).max(axis=-1))


def latent_ks(a: BetaBinomialMixture, b: BetaBinomialMixture) -> float:
    """Return the KS distance ``sup_x |F_a(x) - F_b(x)|`` of two latent mixtures of Betas, to about 1e-10.

    Both one-sided limits are taken at the steps that Binomial components make.

    Parameters
    ----------
    a, b : BetaBinomialMixture
        One law each.

    Returns
    -------
    float

    Examples
    --------
    >>> a = BetaBinomialMixture.from_alpha_beta([1.0], [6.0], [4.0])
    >>> b = BetaBinomialMixture.from_alpha_beta([1.0], [8.0], [4.0])
    >>> round(latent_ks(a, b), 3)
    0.188
    """
    whole, best = _latent_grid(a, b), 0.0
    for side in ("left", "right") if a._has_steps or b._has_steps else ("right",):
        grid = whole
        for _ in range(6):
            gap = np.abs(a.latent_cdf(grid, side=side) - b.latent_cdf(grid, side=side))
            at = int(gap.argmax())
            best = max(best, float(gap[at]))
            grid = np.linspace(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)], 41)
    return best


def distance(a: BetaBinomialMixture, b: BetaBinomialMixture, scale: Scale, panel: int) -> float:
    """Return the KS distance of two laws on the pmf or the latent scale, for a panel of so many votes.

    Parameters
    ----------
    a, b : BetaBinomialMixture
        One law each.
    scale : {"pmf", "latent"}
        Between what the distance is taken.
    panel : int
        Votes of the panel, for the pmf scale.

    Returns
    -------
    float

    Examples
    --------
    >>> a = BetaBinomialMixture.from_alpha_beta([1.0], [6.0], [4.0])
    >>> b = BetaBinomialMixture.from_alpha_beta([1.0], [8.0], [4.0])
    >>> round(distance(a, b, "pmf", 7), 3), round(distance(a, b, "latent", 7), 3)
    (0.121, 0.188)
    """
    return float(pmf_ks(a, b, panel)) if scale == "pmf" else latent_ks(a, b)


def _latent_grid(*laws: BetaBinomialMixture) -> Floats:
    """Cover [0, 1], and each component over nine of its standard deviations, however narrow it is."""
    offsets = np.linspace(-9, 9, 181)
    points = [np.linspace(0.0, 1.0, 1001)]
    for law in laws:
        sd = np.sqrt(law.rho * law.mu * (1 - law.mu))
        points.append((law.mu[..., None] + sd[..., None] * offsets).ravel())
        points.append(law.mu.ravel())
    return np.unique(np.clip(np.concatenate(points), 0.0, 1.0))


SAME_DEBATES = 0.9
"""Where fewer of the first round's debates are in the last, the two rounds are not compared without saying so."""


@dataclass(frozen=True, eq=False, repr=False)
class RoundsFit(Result):
    """A Beta-Binomial mixture fitted in each round.

    Attributes
    ----------
    rounds : tuple of int
    fits : tuple of MixtureFit
    panel : int
        The number of votes at which distances and majorities are taken: the full panel of all rounds together
        (:attr:`d3stats.counts.Counts.panel`).
    log_notes : tuple of str
        What the log says of itself, above all warnings of votes that were not read as they were meant.

    Examples
    --------
    >>> from d3stats.counts import RoundCounts
    >>> seen = [9, 4, 5, 9, 11, 2, 3, 11]
    >>> rounds = RoundCounts.from_columns([1] * 4 + [2] * 4, [0, 1, 2, 3] * 2, [3] * 8, weights=seen)
    >>> fit = fit_rounds(rounds, n_components=1)
    >>> fit.rounds, fit.panel, round(fit[2].mean, 3)
    ((1, 2), 3, 0.502)
    >>> fit.ks().round(3).tolist(), fit.ks("latent").round(3).tolist()
    ([0.076], [0.151])
    >>> fit.count_shares(n_boot=20, rng=1)[["round", "successes", "observed"]].head(2).round(3).values.tolist()
    [[1.0, 0.0, 0.333], [1.0, 1.0, 0.148]]
    >>> fit.plot().get_xlabel()
    'round, compared with the previous one'
    """

    rounds: tuple[int, ...]
    fits: tuple[MixtureFit, ...]
    panel: int
    log_notes: tuple[str, ...] = ()

    def __getitem__(self, round_number: int) -> MixtureFit:
        if round_number not in self.rounds:
            raise KeyError(f"round must be one of {list(self.rounds)}; got {round_number!r}")
        return self.fits[self.rounds.index(round_number)]

    def ks(self, scale: Scale = "pmf", *, lag: int = 1) -> Floats:
        """Return the KS distance of each round from the one `lag` fitted rounds before, shape (rounds - lag,).

        Rounds without any vote have no fit and are passed over. NaN where the two rounds have different numbers of
        debates, because the laws of different debates differ for that alone; :func:`~d3stats.rounds_drift` takes the
        debates that both rounds have.
        """
        choice("scale", scale, SCALES)
        integer("lag", lag, minimum=1)
        values = [
            distance(a.distribution, b.distribution, scale, self.panel)
            if np.isclose(a.n_obs, b.n_obs)
            else np.nan
            for a, b in zip(self.fits[:-lag], self.fits[lag:], strict=True)
        ]
        return np.array(values, dtype=np.float64)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # derived from the fits
        """Notes on the log, the rounds that have no distance, and the fits that lie on the boundary."""
        fits = zip(self.rounds, self.fits, strict=True)
        found = [f"round {r}: on the boundary, {'; '.join(f.boundary)}" for r, f in fits if f.boundary]
        if np.isnan(self.ks()).any():
            apart = "no distance between rounds with different numbers of debates"
            found.append(f"{apart}; rounds_drift uses the debates with votes in both")
        return (*self.log_notes, *found)

    @property
    def headline(self) -> str:
        """The chance of a right vote in the first and in the last round."""
        means = [percent(fit.mean) for fit in self.fits]
        if len(means) == 1:
            return f"Votes are right {means[0]} in round {self.rounds[0]}."
        first, last = self.fits[0].n_obs, self.fits[-1].n_obs
        if last < SAME_DEBATES * first:
            return (
                f"Votes are right {means[0]} in round {self.rounds[0]}, and {means[-1]} in round {self.rounds[-1]}, in "
                f"which only {last:g} of {first:g} debates have votes: the two do not compare the same debates."
            )
        return f"Votes are right {means[0]} in round {self.rounds[0]} and {means[-1]} in round {self.rounds[-1]}."

    def _title(self) -> str:
        k = self.fits[0].settings.n_components
        return f"Mixture of {k} Beta-Binomials in each of {len(self.rounds)} rounds, panel of {self.panel}"

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Give one row per round: debates, mean, spread, P(S > n/2), llf, both distances, boundary."""
        frame = pd.DataFrame(
            {
                "round": self.rounds,
                "debates": [f.n_obs for f in self.fits],
                "mean": [f.mean for f in self.fits],
                "spread": [f.spread for f in self.fits],
                "prob_majority": [f.prob_majority(self.panel) for f in self.fits],
                "llf": [f.llf for f in self.fits],
                "converged": [f.converged for f in self.fits],
                "boundary": ["; ".join(f.boundary) for f in self.fits],
            }
        )
        for scale in SCALES:
            known = [None if np.isnan(value) else value for value in self.ks(scale)]
            frame[f"ks_{scale}"] = pd.array([None, *known], dtype="Float64")
        return {"rounds": frame}

    def count_shares(self, *, level: float = 0.95, n_boot: int = 1000, rng: RngLike = None) -> pd.DataFrame:
        """Return observed and fitted shares of each count, with parametric bootstrap bands: what the figure draws.

        Columns ``round, successes, observed, fitted, low, high, level``: debates with the full panel only; the band is
        where the observed share of as many independent debates would fall if the fit were true.
        """
        probability("level", level, open_interval=True)
        generator = as_rng(rng)
        n = self.panel
        parts = []
        for r, fit in zip(self.rounds, self.fits, strict=True):
            total = fit.counts.weights[fit.counts.trials == n].sum()
            if total == 0:
                continue
            fitted, whole = fit.pmf(n), max(round(total), 1)
            draws = generator.multinomial(whole, fitted / fitted.sum(), size=n_boot) / whole
            low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            part = pd.DataFrame({"round": r, "successes": np.arange(n + 1)})
            parts.append(
                part.assign(observed=observed_shares(fit.counts, n), fitted=fitted, low=low, high=high)
            )
        return pd.concat(parts, ignore_index=True).assign(level=level)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the KS series on the pmf scale; rounds without a distance are left out.

        Raises
        ------
        ValueError
            When there is no distance, because there is one round or the rounds have different numbers of debates.
        """
        from d3stats.plotting import plot_ks_series

        frame = pd.DataFrame({"round": self.rounds[1:], "scale": "pmf", "ks": self.ks("pmf")}).dropna()
        if frame.empty:
            numbers = ", ".join(f"{fit.n_obs:g}" for fit in self.fits)
            raise ValueError(
                f"rounds must have as many debates as the round before, for a distance to draw; got {numbers}: "
                "rounds_drift takes the debates that have votes in both, and count_shares is for plot_counts_by_round"
            )
        return plot_ks_series(frame.assign(noise=np.nan, low=np.nan, high=np.nan), ax=ax)


def fit_rounds(
    rounds: RoundCounts | LogSource,
    *,
    n_components: int = 2,
    n_binomial: int = 0,
    method: Method = "newton",
    n_starts: int = 30,
    penalty: float = 0.0,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> RoundsFit:
    """Fit the mixture in every round by maximum likelihood, each round by itself, all in one batch.

    For rounds that share information through a random walk see :func:`d3stats.models.bayes.fit_rounds`.

    Intervals of a round, ``fit_rounds(log)[1].functionals()``, resample questions if `rounds` is a log. Counts do not
    tell which debates share a question, so with a RoundCounts they take debates as independent.

    Parameters
    ----------
    rounds : RoundCounts, or a source as :func:`d3stats.open` takes it
        A log, or counts of logs in memory or in a file (``d3stats count``). At least one round has a vote. Other
        parameters as in :func:`~d3stats.models.mixtures.fit.fit_beta_binomial_mixture`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    RoundsFit

    Examples
    --------
    >>> from d3stats.counts import RoundCounts
    >>> seen = [9, 4, 5, 9, 11, 2, 3, 11]
    >>> rc = RoundCounts.from_columns([1] * 4 + [2] * 4, [0, 1, 2, 3] * 2, [3] * 8, weights=seen)
    >>> fit_rounds(rc, n_components=1).ks().round(4).tolist()
    [0.0755]
    """
    log: Trajectories | None = None
    log_notes: tuple[str, ...] = ()
    if not isinstance(rounds, RoundCounts):
        source = open(rounds, **reading)
        if source.kind == "counts":
            rounds, log_notes = source.counts(source.value.missing), source.value.notes
        else:
            log = log_or_array(source if source.kind != "values" else rounds)
            if not isinstance(log, Trajectories):
                raise TypeError(f"rounds must be a RoundCounts or a log; got {type(rounds).__name__}")
            rounds, log_notes = log.counts(), log.remarks()
    else:
        open(rounds, **reading)  # refuses settings of reading, because counts are not read
    cast = rounds.keys[:, 2] > 0
    keys, weights = rounds.keys[cast], rounds.weights[cast]
    if not len(keys):
        raise ValueError("rounds must hold at least one debate with a vote; got none")
    numbers, at = np.unique(keys[:, 0], return_inverse=True)
    cells, cell = np.unique(keys[:, 1:], axis=0, return_inverse=True)
    table = np.zeros((len(numbers), len(cells)))
    np.add.at(table, (at, cell.ravel()), weights)
    batch = fit_beta_binomial_mixture_batch(
        cells[:, 0],
        cells[:, 1],
        table,
        n_components=n_components,
        n_binomial=n_binomial,
        method=method,
        n_starts=n_starts,
        penalty=penalty,
        rng=rng,
    )
    fits = tuple(batch[i] for i in range(len(batch)))
    fit = RoundsFit(tuple(int(r) for r in numbers), fits, rounds.pooled().panel, log_notes)
    if log is None:
        return fit
    successes, trials = (votes[:, numbers - 1] for votes in log.successes_trials())
    return _with_questions(fit, successes, trials, log.cluster)


def _with_questions(fit: RoundsFit, successes: Ints, trials: Ints, cluster: Ints) -> RoundsFit:
    """Let the intervals of each round resample questions; columns are the rounds of the fit."""
    told = []
    for r, one in enumerate(fit.fits):
        voted = trials[:, r] > 0
        base = int(one.counts.trials.max()) + 1
        keys = one.counts.successes * base + one.counts.trials
        order = np.argsort(keys)
        sought = successes[voted, r] * base + trials[voted, r]
        cell = order[np.minimum(np.searchsorted(keys[order], sought), len(order) - 1)]
        if (keys[cell] != sought).any() or not np.isclose(one.n_obs, voted.sum()):
            raise ValueError(
                f"fit must be of the debates in successes and trials; got a fit of {one.n_obs:g} debates beside "
                f"{voted.sum()} debates with a vote, or of other votes, in round {fit.rounds[r]}"
            )
        told.append(replace(one, questions=(cell, np.asarray(cluster)[voted])))
    return replace(fit, fits=tuple(told))


@dataclass(frozen=True, eq=False)
class Pair:
    """Fits of two successive rounds to the debates that have votes in both, and of their replicates.

    ``before, after`` are the laws fitted to these debates. The batch ``resampled`` is fitted to the same resampled
    questions. The batch ``swapped`` is fitted after each question's two rounds were swapped with probability 1/2, which
    gives pairs without any drift.

    Attributes
    ----------
    debates : int
        Debates with votes in both rounds.
    before, after : BetaBinomialMixture
        The laws of both rounds.
    resampled, swapped : tuple of BetaBinomialMixture
        Batches of the replicates, before and after.
    few_changed : ShareLimits or None
        Limits of the share of debates whose count changed, where questions that hold one are worth fewer than ten.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before = rng.binomial(7, rng.beta(2, 1, size=80))
    >>> votes = np.column_stack([before, 7 - before])
    >>> drift = rounds_drift(votes, np.full((80, 2), 7), n_components=1, n_boot=20, rng=1)
    >>> (pair,) = drift.pairs
    >>> pair.debates, pair.before.mean.round(2).item(), pair.after.mean.round(2).item(), pair.swapped[0].mean.shape
    (80, 0.64, 0.36, (20,))
    """

    debates: int
    before: BetaBinomialMixture
    after: BetaBinomialMixture
    resampled: tuple[BetaBinomialMixture, BetaBinomialMixture]
    swapped: tuple[BetaBinomialMixture, BetaBinomialMixture]
    few_changed: ShareLimits | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Result):
    """KS distances of successive rounds with bootstrap intervals and permutation noise, made by :func:`rounds_drift`.

    Attributes
    ----------
    fit : RoundsFit
    resampled : tuple of BetaBinomialMixture
        One batch of laws per round, fitted to the debates of that round in resampled questions.
    pairs : tuple of Pair or None
        One per two successive rounds; None where no debate has votes in both, so that there is no distance.
    level, n_boot
        Level of the intervals, and the number of replicates behind them; with 0 there are no limits.
    without_limits : tuple of str
        "" or why there are no limits, one per round.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before = rng.binomial(7, rng.beta(2, 1, size=80))
    >>> votes = np.column_stack([before, 7 - before])
    >>> drift = rounds_drift(votes, np.full((80, 2), 7), n_components=1, n_boot=20, rng=1)
    >>> drift.ks(("pmf",))[["round", "ks"]].round(2).values.tolist()
    [[2.0, 0.37]]
    >>> drift.functionals()[["round", "functional", "estimate"]].head(2).round(2).values.tolist()
    [[1, 'mean', 0.64], [1, 'spread', 0.24]]
    >>> print(drift.moves())
    The counts moved from round 1 to 2 (KS 0.375, noise 0.187).
    """

    fit: RoundsFit
    resampled: tuple[BetaBinomialMixture, ...]
    pairs: tuple[Pair | None, ...]
    level: float
    n_boot: int
    without_limits: tuple[str, ...]

    @property
    def headline(self) -> str:
        """The answer, between which rounds the counts moved by more than chance."""
        return self.moves()

    def moves(self) -> str:
        """Return in words between which rounds the counts moved by more than chance, by KS distances.

        A move has a permutation p-value of at most 1 - `level` after Holm's correction for the pairs of rounds.
        """
        rows = [row for row in self.ks(("pmf",)).to_dict("records") if row["noise"] == row["noise"]]
        before = dict(zip(self.fit.rounds[1:], self.fit.rounds, strict=False))
        if rows and self.n_boot < least_replicates(1 - (1 - self.level) / len(rows), sides=1):
            return f"Whether the counts moved is unknown: too few replicates for {len(rows)} pairs of rounds."
        rejected = self._moved()
        moved = [row for row in rows if row["round"] in rejected]
        still = [f"from round {before[row['round']]} to {row['round']}" for row in rows if row not in moved]
        if len(still) > 1:
            still = ["between the other rounds" if moved else "between successive rounds"]
        said = [
            f"from round {before[row['round']]} to {row['round']} (KS {row['ks']:z.3f}, noise {row['noise']:z.3f})"
            for row in moved
        ]
        parts = [f"The counts moved {' and '.join(said)}"] if said else []
        above = sum(row["ks"] > row["noise"] for row in rows if row not in moved)
        passed = f"{counted(above, 'distance')} {verb(above, 'is', 'are')} above the noise"
        though = f" after Holm's correction, although {passed}"
        parts += (
            [f"{'no' if said else 'No'} evidence of a move {still[0]}{though if above else ''}"]
            if still
            else []
        )
        return f"{'; '.join(parts)}." if parts else "Whether the counts moved is unknown."

    def _moved(self) -> set[int]:
        """Return the rounds whose counts moved since the round before (Holm's correction for the pairs of rounds)."""
        p_values = {}
        for later, pair in zip(self.fit.rounds[1:], self.pairs, strict=True):
            if pair is not None:
                swapped = _distances(*pair.swapped, "pmf", self.fit.panel)
                ks = distance(pair.before, pair.after, "pmf", self.fit.panel)
                p_values[later] = (1 + np.count_nonzero(swapped >= ks)) / (1 + len(swapped))
        found = set()
        for at, (later, p) in enumerate(sorted(p_values.items(), key=lambda one: one[1])):
            if p * (len(p_values) - at) > 1 - self.level:
                break
            found.add(later)
        return found

    def _title(self) -> str:
        return (
            f"Change between {len(self.fit.rounds)} rounds, panel of {self.fit.panel}; "
            f"{100 * self.level:g} % {self.kind}"
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"distances": self.ks(), "functionals": self.functionals()}

    @property
    def kind(self) -> str:
        """The kind of the intervals in the tables."""
        return question_kind(self.n_boot)

    @property
    def band(self) -> str:
        """The kind of the limits of the distances."""
        return f"question bootstrap band, refitted, {self.n_boot} replicates"

    @property
    def too_few(self) -> str:
        """The reason for no limits in any round, too few replicates for the level; "" where there are enough."""
        return too_few_replicates(self.n_boot, self.level)

    @property
    def few_changed(self) -> tuple[int, ...]:
        """The rounds whose distances have limits from the share of debates that changed since the round before."""
        last, pairs = self.fit.rounds[1:], self.pairs
        apart = [any(self.without_limits[at : at + 2]) for at in range(len(last))]
        return tuple(
            r
            for r, pair, bare in zip(last, pairs, apart, strict=True)
            if pair is not None and pair.few_changed is not None and not bare
        )

    def functionals(self) -> pd.DataFrame:
        """Return mean, spread and majority probability of every round, with question-bootstrap intervals.

        Columns ``round, functional, estimate, se, low, high, level, kind``. A round without two votes in any debate
        has no spread. Limits and errors are missing in rounds of `without_limits`.
        """
        parts = []
        for r, fit, draws in zip(self.fit.rounds, self.fit.fits, self.resampled, strict=True):
            worth = worth_of_questions(fit)
            table = percentile_table(fit.distribution, draws, self.fit.panel, self.level, self.kind, worth)
            if fit.counts.trials.max() < 2:
                table = table.drop(index="spread")
            parts.append(table.reset_index().assign(round=r))
        frame = pd.concat(parts, ignore_index=True)
        return frame[["round", "functional", "estimate", "se", "low", "high", "level", "kind"]]

    def ks(self, scales: tuple[Scale, ...] = SCALES) -> pd.DataFrame:
        """Return the KS distance of each round from the one before, over the debates with votes in both.

        Columns ``round, debates, scale, ks, noise, low, high, level, kind``; no row for a round that shares no debate
        with the round before. ``noise`` is the `level` quantile of the distance when nothing drifts. A distance below
        its noise shows no drift; only an upper bound below a margin shows there is none.

        ``low, high`` are the distance less and plus c, cut at 0 and 1. Let d be the difference of the two distribution
        functions and d* that of a replicate; c is the `level` quantile of ``max |d* - d|`` over replicates. Where the
        true difference lies within c of d everywhere, its maximum lies within c of the maximum of d. Percentiles of the
        replicates' own distances miss distances near 0, because the maximum of noise is above 0: with 20 questions they
        cover .70. Limits are missing where one of the rounds is in `without_limits`.

        Where questions with a debate whose count changed are worth fewer than ten, resampled questions do not show how
        many change: if none did, every replicate has distance 0. A distance of counts is at most the share of debates
        whose count changed. So on the pmf scale the limits are 0 and the upper limit of that share
        (:func:`~d3stats.resampling.share_limits`). The latent scale has none.
        """
        for scale in scales:
            if scale not in self._by_scale:
                self._by_scale[scale] = self._distances(scale)
        columns = ["round", "debates", "scale", "ks", "noise", "low", "high", "level", "kind"]
        return pd.DataFrame([row for scale in scales for row in self._by_scale[scale]], columns=columns)

    @cached_property
    def _by_scale(self) -> dict[Scale, list[tuple[Any, ...]]]:
        """The rows of :meth:`ks` that were asked for already."""
        return {}

    def _distances(self, scale: Scale) -> list[tuple[Any, ...]]:
        panel, rows = self.fit.panel, []
        for at, (later, pair) in enumerate(zip(self.fit.rounds[1:], self.pairs, strict=True)):
            if pair is None:
                continue
            ks = distance(pair.before, pair.after, scale, panel)
            noise = low = high = np.nan
            swapped = _distances(*pair.swapped, scale, panel)
            if len(swapped) >= least_replicates(self.level, sides=1):
                noise = np.quantile(swapped, self.level, method="weibull")
            away = _distances(*pair.resampled, scale, panel, (pair.before, pair.after))
            few, kind = pair.few_changed, self.band
            printed = not any(self.without_limits[at : at + 2])
            printed = printed and not too_few_replicates(len(away), self.level)
            if printed and few is None:
                reach = np.quantile(away, self.level, method="weibull")
                low, high = max(ks - reach, 0.0), min(ks + reach, 1.0)
            elif printed and few is not None and few.high is not None and scale == "pmf":
                # The fitted laws can lie further apart than the counts do.
                low, high, kind = (
                    0.0,
                    max(few.high, ks),
                    f"{few.kind} upper limit of the debates that changed",
                )
            rows.append((later, pair.debates, scale, ks, noise, low, high, self.level, kind))
        return rows


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
    """Compute KS distances between successive fitted rounds, with bootstrap intervals and permutation noise.

    Questions are resampled for the intervals, all rounds of a question together; for the noise the two rounds of
    each question are swapped with probability 1/2. Every replicate is refitted, from the fit and one other start
    (four, where a debate has fewer votes than the mixture has parameters).

    A round has no limits where fewer than ten questions' worth of debates hold a wrong vote (or a right one, if
    most are wrong): with one or two, percentiles of the spread cover .25. With fewer than 30, limits reach further
    on the long side of each quantity, towards one half for a chance and up for the spread. 95 % limits then cover
    .94 with 13 of 60 and with 24 of 200, percentiles .84 and .88. Where fewer than ten questions' worth of debates
    changed their count, a distance has the limits of :meth:`Drift.ks`.

    Parameters
    ----------
    successes, trials : array of int, shape (debates, rounds)
        As :meth:`d3stats.trajectories.Trajectories.successes_trials` gives them; 0 trials is no vote.
    cluster : array of int, shape (debates,), optional
        The question of each debate; by default each debate is its own.
    fit : RoundsFit, optional
        The fits of the same rounds, when they exist already.
    n_components : int
        Components of each round's mixture, where there is no `fit`.
    level : float
        Level of the intervals and of the noise quantile.
    n_boot : int
        Replicates of each kind. With fewer than 2 / (1 - level) - 1 (39 at 95 %) there are no limits; 0 fits alone.
    rng : Generator, int or None
        Source of randomness.

    Returns
    -------
    Drift
        Without a distance where no debate has votes in both of two successive rounds.

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
        got = f"{s.shape}, {n.shape}"
        raise ValueError(f"successes and trials must share a shape (debates, rounds); got {got}")
    codes = np.arange(len(s)) if cluster is None else whole_numbers("cluster", cluster)
    if codes.size != len(s):
        raise ValueError(f"cluster must have one value per debate ({len(s)}); got {codes.size}")
    if len(np.unique(codes)) < 2:
        raise ValueError(f"cluster must hold at least 2 questions to resample; got {len(np.unique(codes))}")
    silent = np.flatnonzero((n > 0).sum(axis=0) == 0)
    if silent.size:
        got = f"none in round {silent[0] + 1}"
        raise ValueError(f"trials must be positive for some debate in every round; got {got}")
    probability("level", level, open_interval=True)
    n_boot = integer("n_boot", n_boot, minimum=0)
    generator = as_rng(rng)
    if fit is None:
        rounds = np.tile(np.arange(1, s.shape[1] + 1), len(s))
        fit = fit_rounds(RoundCounts.from_columns(rounds, s.ravel(), n.ravel()), n_components=n_components)
    if len(fit.rounds) != s.shape[1]:
        raise ValueError(f"fit must have one fit per round ({s.shape[1]}); got {len(fit.rounds)}")
    fit = _with_questions(fit, s, n, codes)
    cells, marks = _one_hot(s, n)
    laws, in_pairs = _shared_debates(cells, marks, n > 0, fit)
    resampled, moved = _resampled(cells, marks, codes, fit, laws, in_pairs, n_boot, generator)
    pairs: list[Pair | None] = []
    for r, two in enumerate(laws):
        if two is None:
            pairs.append(None)
            continue
        swapped = _swapped(s[:, r : r + 2], n[:, r : r + 2], codes, two, n_boot, generator)
        before, after = (one.distribution for one in two)
        few = _few_changed(s[:, r : r + 2], n[:, r : r + 2], codes, level)
        pairs.append(Pair(int(in_pairs[:, r].sum()), before, after, moved[r], swapped, few))
    why = tuple(_without_limits(s[:, r], n[:, r], codes) for r in range(s.shape[1]))
    return Drift(fit, resampled, tuple(pairs), level, n_boot, why)


def _without_limits(successes: Ints, trials: Ints, cluster: Ints) -> str:
    """Say why resampled questions do not show how the votes of a round vary, "" where they do."""
    rare, worth = worth_of_rarer_votes(successes, trials, cluster)
    if worth >= FEW_CLUSTERS:
        return ""
    return f"the questions with a {rare} vote are worth {worth:z.1f} equal ones, fewer than ten"


def _few_changed(successes: Ints, trials: Ints, cluster: Ints, level: float) -> ShareLimits | None:
    """Limit the share of debates whose count changed, if so few changed that resampled questions do not show it."""
    both = (trials > 0).all(axis=1)
    s, n, codes = successes[both], trials[both], np.unique(cluster[both], return_inverse=True)[1]
    changed = (s[:, 0] != s[:, 1]) | (n[:, 0] != n[:, 1])
    held, debates = np.bincount(codes, changed).astype(np.float64), np.bincount(codes).astype(np.float64)
    worth = effective_clusters(debates) * float(debates[held > 0].sum()) / float(debates.sum())
    return share_limits(held, debates, level) if worth < FEW_CLUSTERS else None


def _shared_debates(
    cells: Cells, marks: Floats, voted: NDArray[np.bool_], fit: RoundsFit
) -> tuple[list[tuple[MixtureFit, MixtureFit] | None], NDArray[np.bool_]]:
    """Fit every two successive rounds to the debates with votes in both; return these debates beside the fits.

    A round whose debates are all in the pair keeps the fit that it has; None where no debate has votes in both.
    """
    both = voted[:, :-1] & voted[:, 1:]
    some = np.asarray(both.any(axis=0))
    laws: list[list[MixtureFit]] = [[fit.fits[r], fit.fits[r + 1]] for r in range(both.shape[1])]
    partial = [
        (r, side)
        for r in np.flatnonzero(some).tolist()
        for side in (0, 1)
        if (voted[:, r + side] & ~both[:, r]).any()
    ]
    if partial:
        table = np.array([marks[both[:, r], r + side].sum(axis=0) for r, side in partial])
        shared = ("n_components", "n_binomial", "n_starts", "penalty", "tol")
        options = {name: getattr(fit.fits[0].settings, name) for name in shared}
        batch = fit_beta_binomial_mixture_batch(cells.successes, cells.trials, table, **options)
        for i, (r, side) in enumerate(partial):
            laws[r][side] = batch[i]
    pairs = zip(laws, some, strict=True)
    return [(before, after) if shared else None for (before, after), shared in pairs], both


def _one_hot(successes: Ints, trials: Ints) -> tuple[Cells, Floats]:
    """Mark each debate's cell in each round, shape (debates, rounds, cells); no vote, no mark."""
    voted = trials > 0
    base = int(trials.max(initial=0)) + 1
    # One number for each pair, in the order of the pairs; sorting numbers is many times faster.
    keys, cell = np.unique(successes[voted] * np.int64(base) + trials[voted], return_inverse=True)
    marks = np.zeros((*trials.shape, len(keys)))
    marks[(*np.nonzero(voted), cell.ravel())] = 1.0
    return Cells.of(keys // base, keys % base), marks


def _resampled(
    cells: Cells,
    marks: Floats,
    cluster: Ints,
    fit: RoundsFit,
    laws: list[tuple[MixtureFit, MixtureFit] | None],
    both: NDArray[np.bool_],
    n_boot: int,
    rng: np.random.Generator,
) -> tuple[tuple[BetaBinomialMixture, ...], list[tuple[BetaBinomialMixture, BetaBinomialMixture]]]:
    """Refit every round and every pair of rounds to the same resampled questions."""
    n, width = marks.shape[1:]
    partial = {
        r: two
        for r, two in enumerate(laws)
        if two is not None and (two[0] is not fit.fits[r] or two[1] is not fit.fits[r + 1])
    }
    shared = [marks[:, r + side] * both[:, r, None] for r in partial for side in (0, 1)]
    one_round = np.moveaxis(marks, 1, 0)
    whole = cluster_totals(np.hstack([*one_round, *shared]), cluster)
    totals = resampled_totals(whole, n_boot, rng) if n_boot else whole[:0]
    drawn = np.split(totals, range(width, totals.shape[1], width), axis=1)
    rounds = tuple(_refitted([one], [sets], cells)[0] for one, sets in zip(fit.fits, drawn[:n], strict=True))
    moved = [(rounds[r], rounds[r + 1]) for r in range(n - 1)]
    for i, (r, two) in enumerate(partial.items()):
        before, after = _refitted(list(two), drawn[n + 2 * i : n + 2 * i + 2], cells)
        moved[r] = (before, after)
    return rounds, moved


def _refitted(fits: list[MixtureFit], sets: list[Floats], cells: Cells) -> list[BetaBinomialMixture]:
    """Refit to resampled questions; a replicate without any debate of a round is left out."""
    told = np.all([one.sum(axis=1) > 0 for one in sets], axis=0)
    return [_refit(fit, cells, one[told]) for fit, one in zip(fits, sets, strict=True)]


def _refit(fit: MixtureFit, cells: Cells, sets: Floats) -> BetaBinomialMixture:
    """Refit to data sets; of none an empty batch."""
    if len(sets):
        # With fewer votes than parameters many laws are equally good, and the starts decide how far apart they lie.
        determined = fit.counts.trials.max() >= fit.settings.space.size
        return refit(fit, cells, sets, n_starts=1 if determined else 4)
    none = np.empty((0, fit.distribution.n_components))
    return BetaBinomialMixture(none, none, none)


def _swapped(
    successes: Ints,
    trials: Ints,
    cluster: Ints,
    fits: tuple[MixtureFit, MixtureFit],
    n_boot: int,
    rng: np.random.Generator,
) -> tuple[BetaBinomialMixture, BetaBinomialMixture]:
    both = (trials > 0).all(axis=1)
    cells, marks = _one_hot(successes[both], trials[both])
    before, after = (cluster_totals(one, cluster[both]) for one in np.moveaxis(marks, 1, 0))
    # A swap keeps the sum of the two rounds and negates their difference.
    half_sum = 0.5 * (before + after).sum(axis=0)
    gap = before - after
    half_gap = 0.5 * (swapped_totals(gap, n_boot, rng) if n_boot else gap[:0])
    return _refit(fits[0], cells, half_sum + half_gap), _refit(fits[1], cells, half_sum - half_gap)


def _distances(
    a: BetaBinomialMixture,
    b: BetaBinomialMixture,
    scale: Scale,
    panel: int,
    less: tuple[BetaBinomialMixture, BetaBinomialMixture] | None = None,
) -> Floats:
    """Return ``max |F_a - F_b|`` of each pair of two batches; with the pair `less` the maximum of what is beyond it."""
    if scale == "pmf":
        gap = np.cumsum(a.pmf(panel) - b.pmf(panel), axis=-1)
        if less is not None:
            gap = gap - np.cumsum(less[0].pmf(panel) - less[1].pmf(panel))
        return cast(Floats, np.abs(gap).max(axis=-1))

    def beyond(x: Floats) -> Floats | float:
        return 0.0 if less is None else less[0].latent_cdf(x) - less[1].latent_cdf(x)

    # A grid shared by all replicates is enough for quantiles; exact steps matter only for the estimate.
    points = [np.linspace(0.0, 1.0, 401), *(law.mu for law in less or ())]
    grid = np.unique(np.concatenate(points))
    gap = np.abs(a.latent_cdf(grid) - b.latent_cdf(grid) - beyond(grid)).max(axis=-1)
    steps = np.concatenate([x for law in (a, b) for x in (law.mu, law.mu * (1 - CLOSED))], axis=-1)
    for x in steps.T:
        gap = np.maximum(gap, np.abs(_at(a, x) - _at(b, x) - beyond(x)))
    return cast(Floats, gap)


def _at(law: BetaBinomialMixture, x: Floats) -> Floats:
    """Evaluate each law of a batch at its own point."""
    return np.asarray((law.weight * _latent_component(x[:, None], law.mu, law.rho, "right")).sum(axis=1))
