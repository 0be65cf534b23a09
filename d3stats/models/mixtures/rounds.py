"""A Beta-Binomial mixture fitted in every round, and the Kolmogorov-Smirnov distance between rounds.

The time-varying Beta-Binomial mixture and its Kolmogorov-Smirnov series (Hu et al., 2025, arXiv 2510.12697).
The distance comes on two scales. ``pmf``: between the distributions of counts, which the data determine.
``latent``: between the mixtures of Betas behind them, as the paper's released code takes it; it is not determined
by panels of a few votes and jumps (a component of precision 1e6 that moves from .80 to .81 has pmf distance .017
and latent distance .6). The default is the pmf scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability, whole_numbers
from d3stats.counts import RoundCounts
from d3stats.models.mixtures.climb import Method
from d3stats.models.mixtures.fit import fit_beta_binomial_mixture_batch
from d3stats.models.mixtures.law import CLOSED, BetaBinomialMixture, Cells, _latent_component
from d3stats.models.mixtures.result import MixtureFit, percentile_table, refit
from d3stats.resampling.clusters import cluster_totals, resampled_totals, swapped_totals
from d3stats.result import Result
from d3stats.trajectories import LogSource, Trajectories, log_or_array

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

Floats = NDArray[np.float64]
Scale = Literal["pmf", "latent"]
SCALES: tuple[Scale, ...] = ("pmf", "latent")


def pmf_ks(a: BetaBinomialMixture, b: BetaBinomialMixture, trials: int) -> Floats:
    """Return ``max_s |P_a(S <= s) - P_b(S <= s)|`` for a panel of `trials`; batches broadcast.

    Examples
    --------
    >>> a = BetaBinomialMixture.from_alpha_beta([0.62, 0.38], [6, 1.5], [1.2, 3])
    >>> b = BetaBinomialMixture.from_alpha_beta([0.60, 0.40], [5, 1.6], [1.1, 3.1])
    >>> round(float(pmf_ks(a, b, 7)), 10), round(latent_ks(a, b), 6)
    (0.0277268702, 0.038309)
    """
    gap = np.cumsum(a.pmf(trials) - b.pmf(trials), axis=-1)
    result: Floats = np.abs(gap).max(axis=-1)
    return result


def latent_ks(a: BetaBinomialMixture, b: BetaBinomialMixture) -> float:
    """Return ``sup_x |F_a(x) - F_b(x)|`` between two latent mixtures of Betas, to about 1e-10.

    Both one-sided limits are taken at the steps that Binomial components make.
    """
    grid = _latent_grid(a, b)
    best = 0.0
    for side in ("left", "right"):
        gap = np.abs(a.latent_cdf(grid, side=side) - b.latent_cdf(grid, side=side))
        at = int(gap.argmax())
        best = max(best, float(gap[at]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        for _ in range(5):
            fine = np.linspace(low, high, 41)
            gap = np.abs(a.latent_cdf(fine, side=side) - b.latent_cdf(fine, side=side))
            at = int(gap.argmax())
            best = max(best, float(gap[at]))
            low, high = fine[max(at - 1, 0)], fine[min(at + 1, 40)]
    return best


def distance(a: BetaBinomialMixture, b: BetaBinomialMixture, scale: Scale, panel: int) -> float:
    """Return the distance of two laws on a scale, at a panel of so many votes."""
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


@dataclass(frozen=True, eq=False, repr=False)
class RoundsFit(Result):
    """A mixture per round.

    Attributes
    ----------
    rounds : tuple of int
    fits : tuple of MixtureFit
    panel : int
        The number of votes at which distances and majorities are taken: the full panel of all rounds together
        (:attr:`d3stats.counts.Counts.panel`).
    """

    rounds: tuple[int, ...]
    fits: tuple[MixtureFit, ...]
    panel: int

    def __repr__(self) -> str:
        return f"RoundsFit(rounds={list(self.rounds)}, panel={self.panel}, K={self.fits[0].settings.n_components})"

    def __getitem__(self, round_number: int) -> MixtureFit:
        if round_number not in self.rounds:
            raise KeyError(f"round must be one of {list(self.rounds)}; got {round_number!r}")
        return self.fits[self.rounds.index(round_number)]

    def ks(self, scale: Scale = "pmf", *, lag: int = 1) -> Floats:
        """Return the distance of each round from the one `lag` fitted rounds before, shape (rounds - lag,).

        Rounds without any vote have no fit and are passed over; ``rounds`` says which there are. NaN where the two
        rounds have different numbers of debates: some stopped early or have no vote, and the laws of different
        debates differ for that alone. :func:`~d3stats.rounds_drift` takes the debates that both rounds have; counts
        alone do not say which those are.
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
        """Which rounds have no distance, and which fits lie on the boundary."""
        found = [
            f"round {r}: on the boundary, {'; '.join(f.boundary)}"
            for r, f in zip(self.rounds, self.fits, strict=True)
            if f.boundary
        ]
        if np.isnan(self.ks()).any():
            apart = "no distance between rounds of different numbers of debates"
            found.append(f"{apart}: rounds_drift takes the debates that have votes in both")
        return tuple(found)

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
        """Observed and fitted shares of each count, with parametric bootstrap bands: what the figure draws.

        Returns
        -------
        DataFrame
            ``round, successes, observed, fitted, low, high``: debates with the full panel only; the band
            is where the observed share of as many debates would fall if the fit were true.
        """
        probability("level", level, open_interval=True)
        generator = as_rng(rng)
        n = self.panel
        parts = []
        for r, fit in zip(self.rounds, self.fits, strict=True):
            here = fit.counts.trials == n
            total = fit.counts.weights[here].sum()
            if total == 0:
                continue
            fitted = fit.pmf(n)
            observed = np.zeros(n + 1)
            observed[fit.counts.successes[here]] = fit.counts.weights[here] / total
            whole = max(round(total), 1)
            draws = generator.multinomial(whole, fitted / fitted.sum(), size=n_boot) / whole
            low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            part = {"round": r, "successes": np.arange(n + 1), "observed": observed, "fitted": fitted}
            parts.append(pd.DataFrame({**part, "low": low, "high": high}))
        return pd.concat(parts, ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the KS series on the pmf scale."""
        from d3stats.plotting import plot_ks_series

        frame = pd.DataFrame({"round": self.rounds[1:], "scale": "pmf", "ks": self.ks("pmf")})
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
) -> RoundsFit:
    """Fit the mixture in every round by maximum likelihood, each round by itself, all in one batch.

    For rounds that share information through a random walk see :func:`d3stats.models.bayes.fit_rounds`.

    Parameters
    ----------
    rounds : RoundCounts, or a log as :func:`d3stats.as_trajectories` takes it
        Other parameters as in :func:`~d3stats.models.mixtures.fit.fit_beta_binomial_mixture`.

    Raises
    ------
    ValueError
        When no round has a vote.

    Examples
    --------
    >>> from d3stats.counts import RoundCounts
    >>> seen = [9, 4, 5, 9, 11, 2, 3, 11]
    >>> rc = RoundCounts.from_columns([1] * 4 + [2] * 4, [0, 1, 2, 3] * 2, [3] * 8, weights=seen)
    >>> fit_rounds(rc, n_components=1).ks().round(4).tolist()
    [0.0755]
    """
    if not isinstance(rounds, RoundCounts):
        log = log_or_array(rounds)
        if not isinstance(log, Trajectories):
            raise TypeError(f"rounds must be a RoundCounts or a log; got {type(rounds).__name__}")
        rounds = log.counts()
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
    return RoundsFit(tuple(int(r) for r in numbers), fits, rounds.pooled().panel)


@dataclass(frozen=True, eq=False)
class Pair:
    """Fits of two successive rounds to the debates that have votes in both, and of their replicates.

    Attributes
    ----------
    debates : int
        How many debates have votes in both rounds.
    before, after : BetaBinomialMixture
        The fitted laws.
    resampled : pair of BetaBinomialMixture
        Batches of laws of the two rounds, fitted to the same resampled questions.
    swapped : pair of BetaBinomialMixture
        Batches of laws fitted after each question's two rounds were swapped with probability 1/2: what the pair looks
        like when nothing drifts.
    """

    debates: int
    before: BetaBinomialMixture
    after: BetaBinomialMixture
    resampled: tuple[BetaBinomialMixture, BetaBinomialMixture]
    swapped: tuple[BetaBinomialMixture, BetaBinomialMixture]


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Result):
    """The rounds' fits with the refits that say how sure they are.

    Attributes
    ----------
    fit : RoundsFit
    resampled : tuple of BetaBinomialMixture
        One batch of laws per round, fitted to the debates of that round in resampled questions.
    pairs : tuple of Pair
        One per two successive rounds.
    level : float
    n_boot : int
    """

    fit: RoundsFit
    resampled: tuple[BetaBinomialMixture, ...]
    pairs: tuple[Pair, ...]
    level: float
    n_boot: int

    def __repr__(self) -> str:
        return f"Drift({self.fit!r}, level={self.level}, n_boot={self.n_boot})"

    def _title(self) -> str:
        return f"How far {len(self.fit.rounds)} rounds moved, panel of {self.fit.panel}; {self.level:.0%} {self.kind}"

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"distances": self.ks(), "functionals": self.functionals()}

    @property
    def kind(self) -> str:
        """What kind of interval the tables hold."""
        return f"question bootstrap percentile, refitted, {self.n_boot} replicates"

    def functionals(self) -> pd.DataFrame:
        """Mean, spread and majority probability of every round, with question-bootstrap intervals.

        Returns
        -------
        DataFrame
            ``round, functional, estimate, se, low, high, level, kind``.
        """
        parts = []
        for r, fit, draws in zip(self.fit.rounds, self.fit.fits, self.resampled, strict=True):
            table = percentile_table(fit.distribution, draws, self.fit.panel, self.level)
            parts.append(table.reset_index().assign(round=r, kind=self.kind))
        frame = pd.concat(parts, ignore_index=True)
        return frame[["round", "functional", "estimate", "se", "low", "high", "level", "kind"]]

    def ks(self, scales: tuple[Scale, ...] = SCALES) -> pd.DataFrame:
        """Distance of each round from the one before, over the debates with votes in both.

        Returns
        -------
        DataFrame
            ``round, debates, scale, ks, noise, low, high, level, kind``. ``debates`` is how many have votes in
            both rounds. ``noise`` is the `level` quantile of the
            distance when nothing drifts; ``low, high`` are percentiles when questions are resampled. A
            distance below its noise shows no drift; only an upper bound below a margin shows there is none.
        """
        tail = (1 - self.level) / 2
        rows = []
        for scale in scales:
            for later, pair in zip(self.fit.rounds[1:], self.pairs, strict=True):
                null = _distances(*pair.swapped, scale, self.fit.panel)
                boot = _distances(*pair.resampled, scale, self.fit.panel)
                low, high = np.quantile(boot, [tail, 1 - tail])
                rows.append(
                    {
                        "round": later,
                        "debates": pair.debates,
                        "scale": scale,
                        "ks": distance(pair.before, pair.after, scale, self.fit.panel),
                        "noise": float(np.quantile(null, self.level)),
                        "low": float(low),
                        "high": float(high),
                        "level": self.level,
                        "kind": self.kind,
                    }
                )
        columns = ["round", "debates", "scale", "ks", "noise", "low", "high", "level", "kind"]
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
    """Compute the distances between successive fitted rounds, with bootstrap intervals and permutation noise.

    Questions are resampled for the intervals, all rounds of a question together; for the noise the two rounds of each
    question are swapped with probability 1/2. Every replicate is refitted.

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
    laws, in_pairs = _shared_debates(s, n, fit)
    resampled, moved = _resampled(s, n, codes, fit, laws, in_pairs, n_boot, generator)
    pairs = []
    for r, (before, after) in enumerate(laws):
        swapped = _swapped(s[:, r : r + 2], n[:, r : r + 2], codes, before, after, n_boot, generator)
        pairs.append(
            Pair(int(in_pairs[:, r].sum()), before.distribution, after.distribution, moved[r], swapped)
        )
    return Drift(fit, resampled, tuple(pairs), level, n_boot)


def _shared_debates(
    successes: NDArray[np.int64], trials: NDArray[np.int64], fit: RoundsFit
) -> tuple[list[tuple[MixtureFit, MixtureFit]], NDArray[np.bool_]]:
    """Fit every two successive rounds to the debates with votes in both; return these debates beside the fits.

    A round whose debates are all in the pair keeps the fit that it has.
    """
    voted = trials > 0
    both = voted[:, :-1] & voted[:, 1:]
    laws: list[list[MixtureFit]] = [[fit.fits[r], fit.fits[r + 1]] for r in range(both.shape[1])]
    partial = [
        (r, side) for r in range(both.shape[1]) for side in (0, 1) if (voted[:, r + side] & ~both[:, r]).any()
    ]
    if partial:
        settings = fit.fits[0].settings
        pairs = np.stack([successes[voted], trials[voted]], axis=1)
        cells, cell = np.unique(pairs, axis=0, return_inverse=True)
        at = np.full(voted.shape, -1)
        at[voted] = cell.ravel()
        table = [np.bincount(at[both[:, r], r + side], minlength=len(cells)) for r, side in partial]
        batch = fit_beta_binomial_mixture_batch(
            cells[:, 0],
            cells[:, 1],
            np.array(table, dtype=np.float64),
            n_components=settings.n_components,
            n_binomial=settings.n_binomial,
            n_starts=settings.n_starts,
            penalty=settings.penalty,
            tol=settings.tol,
        )
        for i, (r, side) in enumerate(partial):
            laws[r][side] = batch[i]
    return [(before, after) for before, after in laws], both


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
    laws: list[tuple[MixtureFit, MixtureFit]],
    both: NDArray[np.bool_],
    n_boot: int,
    rng: np.random.Generator,
) -> tuple[tuple[BetaBinomialMixture, ...], list[tuple[BetaBinomialMixture, BetaBinomialMixture]]]:
    """Refit every round and every pair of rounds to the same resampled questions."""
    cells, marks = _one_hot(successes, trials)
    width = len(cells.trials)
    one_round = [marks[:, r * width : (r + 1) * width] for r in range(successes.shape[1])]
    partial = [r for r, (a, b) in enumerate(laws) if a is not fit.fits[r] or b is not fit.fits[r + 1]]
    shared = [one_round[r + side] * both[:, r, None] for r in partial for side in (0, 1)]
    totals = resampled_totals(cluster_totals(np.hstack([marks, *shared]), cluster), n_boot, rng)
    drawn = np.split(totals, range(width, totals.shape[1], width), axis=1)
    n = len(one_round)
    rounds = tuple(_refitted([one], [sets], cells)[0] for one, sets in zip(fit.fits, drawn[:n], strict=True))
    moved = [(rounds[r], rounds[r + 1]) for r in range(n - 1)]
    for i, r in enumerate(partial):
        before, after = _refitted(list(laws[r]), drawn[n + 2 * i : n + 2 * i + 2], cells)
        moved[r] = (before, after)
    return rounds, moved


def _refitted(fits: list[MixtureFit], sets: list[Floats], cells: Cells) -> list[BetaBinomialMixture]:
    """Refit to resampled questions; a replicate without any debate of a round says nothing and is left out."""
    told = np.all([one.sum(axis=1) > 0 for one in sets], axis=0)
    return [refit(fit, cells, one[told]) for fit, one in zip(fits, sets, strict=True)]


def _swapped(
    successes: NDArray[np.int64],
    trials: NDArray[np.int64],
    cluster: NDArray[np.int64],
    first: MixtureFit,
    second: MixtureFit,
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
        refit(first, cells, np.maximum(half_sum + half_gap, 0.0)),
        refit(second, cells, np.maximum(half_sum - half_gap, 0.0)),
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
