"""Has the debate settled? A mixture in every round, and how far the fitted law moved between rounds.

The time-varying Beta-Binomial mixture and its Kolmogorov-Smirnov series (Hu et al., 2025, arXiv 2510.12697).
The distance comes on two scales. ``pmf``: between the distributions of counts, which the data determine.
``latent``: between the mixtures of Betas behind them, as the paper's released code takes it; it is not determined
by panels of a few votes and jumps (a component of precision 1e6 that moves from .80 to .81 has pmf distance .017
and latent distance .6). The default is the pmf scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.counts import RoundCounts
from d3stats.models._fit import Method
from d3stats.models.betabinom import BetaBinomialMixture
from d3stats.models.mixture import fit_beta_binomial_mixture_batch
from d3stats.models.result import MixtureFit
from d3stats.trajectories import LogSource, Trajectories, log_or_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RoundsFit", "Scale", "distance", "fit_rounds", "latent_ks", "pmf_ks"]

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
class RoundsFit:
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
        debates differ for that alone. :func:`~d3stats.models.drift.rounds_drift` takes the debates that both rounds
        have; counts alone do not say which those are.
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

    def to_frame(self) -> pd.DataFrame:
        """Return one row per round: debates, mean, spread, P(S > n/2), llf, both distances, boundary."""
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
        return frame

    def count_shares(self, *, level: float = 0.95, n_boot: int = 1000, rng: RngLike = None) -> pd.DataFrame:
        """Observed and fitted shares of each count, with parametric bootstrap bands: what the figure draws.

        Returns
        -------
        DataFrame
            ``round, successes, observed, fitted, lower, upper``: debates with the full panel only; the band
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
            lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
            parts.append(
                pd.DataFrame(
                    {
                        "round": r,
                        "successes": np.arange(n + 1),
                        "observed": observed,
                        "fitted": fitted,
                        "lower": lower,
                        "upper": upper,
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> str:
        """Return the per-round table as text."""
        table = self.to_frame().drop(columns="boundary")
        notes = [
            f"round {r}: {'; '.join(f.boundary)}"
            for r, f in zip(self.rounds, self.fits, strict=True)
            if f.boundary
        ]
        text = table.to_string(index=False, float_format=lambda v: f"{v:.4f}", na_rep="")
        if np.isnan(self.ks()).any():
            text += (
                "\n\nNo distance between rounds of different numbers of debates: rounds_drift takes the debates that "
                "have votes in both."
            )
        return text + ("\n\nOn the boundary:\n" + "\n".join(f"- {n}" for n in notes) if notes else "")

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the KS series on the pmf scale."""
        from d3stats.plotting import plot_ks_series

        frame = pd.DataFrame({"round": self.rounds[1:], "scale": "pmf", "ks": self.ks("pmf")})
        return plot_ks_series(frame.assign(noise=np.nan, lower=np.nan, upper=np.nan), ax=ax)


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
    """Fit the mixture in every round, all rounds in one batch.

    Parameters
    ----------
    rounds : RoundCounts, or a log as :func:`d3stats.as_trajectories` takes it
        Other parameters as in :func:`~d3stats.models.mixture.fit_beta_binomial_mixture`.

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
