"""Does a Bayesian fit mean what it says? Simulation-based calibration.

Draw parameters from the prior, draw data from the parameters, fit the data: over many rounds the rank of the true
value among the posterior draws is uniform, whatever the model, if the fit is right (Talts et al. 2018, theorem 1).
A prior that the fit does not share, a wrong likelihood and a sampler that does not arrive all bend the ranks:
too many at both ends, the posterior is too narrow; too many in the middle, too wide; a slope, it is biased.

Two things to know before the ranks are read.

- Draws of a Markov chain are dependent, and dependent draws pile ranks up at the ends. Fit longer and let the
  ranks be taken of draws far apart: `n_draws` of them are kept, evenly spaced.
- Ranks of parameters cannot see a fit that ignores the data, for the prior is itself calibrated. A quantity that
  reads the data, such as the log-likelihood, can (Modrák et al. 2023); `quantities` is there for that.

References
----------
Cook, Gelman and Rubin (2006), Journal of Computational and Graphical Statistics 15, 675. Talts, Betancourt,
Simpson, Vehtari and Gelman (2018), arXiv 1804.06788 (algorithms 1 and 2). Modrák et al. (2023), Bayesian Analysis,
arXiv 2211.02383 (quantities of parameters and data).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, probability
from d3stats._latex import booktabs
from d3stats.estimate import Estimate

__all__ = ["SimulationRanks", "simulation_ranks"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Values = Mapping[str, ArrayLike]
Data = TypeVar("Data")

MOST_TABLES = 100_000
"""Up to how many tables of counts the law of the chi-square statistic is summed exactly."""

_FITS_PER_BIN = 20
_LEAST_BINS = 5
_MOST_BINS = 20


@dataclass(frozen=True, eq=False, repr=False)
class SimulationRanks:
    """Ranks of true values among posterior draws, and how far from uniform they are.

    Attributes
    ----------
    names : tuple of str
        What was ranked; the parts of an array are ``name[0]``, ``name[1]``, ...
    ranks : ndarray of int, shape (fits, names)
        How many of the kept draws lie below the true value, in 0..`n_draws`.
    n_draws : int
        Posterior draws kept of each fit.
    """

    names: tuple[str, ...]
    ranks: Ints
    n_draws: int

    def __repr__(self) -> str:
        return f"SimulationRanks({self.n_fits} fits, {len(self.names)} quantities, {self.n_draws} draws each)"

    def __str__(self) -> str:
        table = self.to_frame()[["quantity", "mean_rank", "coverage_90", "p_value", "p_holm"]]
        said = "uniform" if self.uniform() else "not uniform"
        head = f"{self.n_fits} fits, {self.n_draws} draws each: ranks {said} (smallest p, Holm: {self.p_holm:.3g})"
        return f"{head}\n{table.to_string(index=False, float_format=lambda v: f'{v:.3f}')}"

    def __add__(self, other: SimulationRanks) -> SimulationRanks:
        """Put the fits of two runs together: parts of a long run, made in different places."""
        if (self.names, self.n_draws) != (other.names, other.n_draws):
            raise ValueError(f"runs must rank the same with as many draws; got {self!r} and {other!r}")
        return SimulationRanks(self.names, np.vstack([self.ranks, other.ranks]), self.n_draws)

    @property
    def n_fits(self) -> int:
        """Number of fits."""
        return len(self.ranks)

    @property
    def n_bins(self) -> int:
        """Bins of the test: one per 20 fits, at least 5 and at most 20."""
        return min(max(self.n_fits // _FITS_PER_BIN, _LEAST_BINS), _MOST_BINS, self.n_draws + 1)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Measured coverage of 90 % posterior intervals, one per quantity."""
        return self.coverage()

    @cached_property
    def p_values(self) -> Floats:
        """p-value of uniformity of each quantity: chi-square, its exact law where fits are few; shape (names,)."""
        return np.array([_uniformity(column, self.n_draws, self.n_bins) for column in self.ranks.T])

    @cached_property
    def p_adjusted(self) -> Floats:
        """The same, adjusted over all quantities by Holm's method; shape (names,)."""
        order = np.argsort(self.p_values)
        times = np.arange(len(order), 0, -1)  # the smallest p-value times their number, and so on
        adjusted = np.empty(len(order))
        adjusted[order] = np.minimum(np.maximum.accumulate(times * self.p_values[order]), 1.0)
        return adjusted

    @property
    def p_holm(self) -> float:
        """Smallest adjusted p-value: small where some quantity is not calibrated."""
        return float(self.p_adjusted.min())

    def uniform(self, alpha: float = 0.01) -> bool:
        """Say whether no quantity is refuted at family-wise error `alpha`."""
        return self.p_holm > probability("alpha", alpha, open_interval=True)

    def coverage(self, level: float = 0.9) -> tuple[Estimate, ...]:
        """Return how often equal-tailed posterior intervals held the true value, with Clopper-Pearson limits.

        The level is the nearest that `n_draws` ranks can tell, and the name of the estimate says it.
        """
        from scipy.special import betaincinv

        level = probability("level", level, open_interval=True)
        cut = round((self.n_draws + 1) * (1 - level) / 2)
        if 2 * cut >= self.n_draws + 1:
            raise ValueError(f"level must leave ranks inside with n_draws={self.n_draws}; got level={level}")
        told = 1 - 2 * cut / (self.n_draws + 1)
        inside = ((self.ranks >= cut) & (self.ranks <= self.n_draws - cut)).sum(axis=0)
        n = self.n_fits
        return tuple(
            Estimate(
                name=f"coverage of the {100 * told:.4g} % interval of {name}",
                value=hits / n,
                low=0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, 0.025)),
                high=1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 0.975)),
                kind="Clopper-Pearson",
                n=n,
            )
            for name, hits in zip(self.names, inside.tolist(), strict=True)
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per quantity.

        Columns: ``quantity, n_fits, mean_rank`` (of 1, where calibrated .5), ``coverage_90, p_value, p_holm, bins,
        law`` ("chi-square" or "exact").
        """
        exact = _tables(self.n_fits, self.n_bins) <= MOST_TABLES
        return pd.DataFrame(
            {
                "quantity": self.names,
                "n_fits": self.n_fits,
                "mean_rank": (self.ranks.mean(axis=0) + 0.5) / (self.n_draws + 1),
                "coverage_90": [e.value for e in self.coverage(0.9)],
                "p_value": self.p_values,
                "p_holm": self.p_adjusted,
                "bins": self.n_bins,
                "law": "exact" if exact else "chi-square",
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table and the ranks as a dictionary that JSON can hold."""
        return {
            "n_fits": self.n_fits,
            "n_draws": self.n_draws,
            "p_holm": self.p_holm,
            "quantities": self.to_frame().to_dict(orient="records"),
            "ranks": {name: column.tolist() for name, column in zip(self.names, self.ranks.T, strict=True)},
        }

    def to_latex(self, *, digits: int = 3) -> str:
        """Return a booktabs table of coverage, mean rank and p-values."""
        shown = ("quantity", "mean_rank", "coverage_90", "p_value", "p_holm")
        rows = [
            (str(name), *(f"{value:.{digits}f}" for value in values))
            for name, *values in self.to_frame()[list(shown)].itertuples(index=False)
        ]
        return booktabs("lrrrr", ("", "mean rank", "coverage at 90 %", "p", "p (Holm)"), rows)


def simulation_ranks(
    draw_prior: Callable[[np.random.Generator], Values],
    simulate: Callable[[Values, np.random.Generator], Data],
    fit: Callable[[Data, np.random.Generator], Values],
    *,
    n_fits: int,
    n_draws: int = 99,
    quantities: Callable[[Values, Data], Values] | None = None,
    first: int = 0,
    rng: RngLike = None,
) -> SimulationRanks:
    """Rank true values among posterior draws, over data simulated from the prior.

    Each fit has its own child of `rng`, so that the first fits are the same however many follow.

    Parameters
    ----------
    draw_prior : callable
        ``draw_prior(rng)`` gives parameters by name: numbers or arrays.
    simulate : callable
        ``simulate(parameters, rng)`` gives data.
    fit : callable
        ``fit(data, rng)`` gives posterior draws by name, draws along the first axis, at least `n_draws` of them
        and far enough apart to be nearly independent. Names that it leaves out are not ranked.
    n_fits : int
        How many data sets are drawn and fitted.
    n_draws : int
        Draws kept of each fit, evenly spaced.
    quantities : callable, optional
        ``quantities(parameters, data)`` gives further numbers by name, ranked as the parameters are; it is called
        with the true values and with every kept draw.
    first : int
        How many fits are passed over, to make a long run in parts: with one seed, the parts add up to the whole.
    rng : Generator, int or None

    Returns
    -------
    SimulationRanks

    Raises
    ------
    ValueError
        When a fit gives too few draws, a draw is not finite, a name is unknown to the prior, or names or shapes
        change between fits.

    Examples
    --------
    A share with a uniform prior, seen through 20 votes, and its posterior, which is a Beta:

    >>> ranks = simulation_ranks(
    ...     lambda rng: {"share": rng.uniform()},
    ...     lambda truth, rng: rng.binomial(20, truth["share"]),
    ...     lambda votes, rng: {"share": rng.beta(1 + votes, 21 - votes, size=99)},
    ...     n_fits=400,
    ...     rng=1,
    ... )
    >>> ranks.uniform(), ranks.to_frame()["coverage_90"].round(2).tolist()
    (True, [0.9])
    """
    n_fits = integer("n_fits", n_fits, minimum=1)
    n_draws = integer("n_draws", n_draws, minimum=1)
    names: tuple[str, ...] = ()
    rows: list[Ints] = []
    first = integer("first", first, minimum=0)
    for number, child in enumerate(as_rng(rng).spawn(first + n_fits)[first:], start=first):
        truth = draw_prior(child)
        data = simulate(truth, child)
        kept = _thinned(fit(data, child), n_draws, number)
        unknown = [name for name in kept if name not in truth]
        if unknown:
            raise ValueError(f"fit must name parameters of draw_prior, {list(truth)}; got {unknown}")
        flat = dict(_flat({name: truth[name] for name in kept}, kept, number))
        if quantities is not None:
            flat |= _of_quantities(quantities, truth, kept, data, number)
        if rows and tuple(flat) != names:
            raise ValueError(
                f"every fit must rank the same; got {list(flat)} in fit {number}, {list(names)} before"
            )
        names = tuple(flat)
        rows.append(np.array([_rank(value, draws, child) for value, draws in flat.values()], dtype=np.int64))
    return SimulationRanks(names=names, ranks=np.vstack(rows), n_draws=n_draws)


def _thinned(draws: Values, n_draws: int, number: int) -> dict[str, Floats]:
    if not draws:
        raise ValueError(f"fit must give draws of at least one parameter; got none in fit {number}")
    kept = {}
    for name, values in draws.items():
        array = np.asarray(values, dtype=np.float64)
        if array.ndim == 0 or len(array) < n_draws:
            got = "a number" if array.ndim == 0 else len(array)
            raise ValueError(f"fit must give at least {n_draws} draws; got {got} of {name} in fit {number}")
        # Midpoints of equal stretches: as far apart as they can be.
        at = ((np.arange(n_draws) + 0.5) * len(array) / n_draws).astype(np.int64)
        kept[name] = array[at]
    return kept


def _flat(truth: Values, kept: Mapping[str, Floats], number: int) -> list[tuple[str, tuple[float, Floats]]]:
    out: list[tuple[str, tuple[float, Floats]]] = []
    for name, draws in kept.items():
        value = np.asarray(truth[name], dtype=np.float64)
        if draws.shape[1:] != value.shape:
            raise ValueError(
                f"draws of {name} must have shape (draws, *{value.shape}); got {draws.shape} in fit {number}"
            )
        if not (np.isfinite(value).all() and np.isfinite(draws).all()):
            raise ValueError(
                f"true values and draws must be finite; got a value of {name} that is not, fit {number}"
            )
        columns = draws.reshape(len(draws), -1)
        labels = [name] if value.ndim == 0 else [f"{name}[{i}]" for i in range(value.size)]
        out += [(label, (float(v), c)) for label, v, c in zip(labels, value.ravel(), columns.T, strict=True)]
    return out


def _of_quantities(
    quantities: Callable[[Values, Any], Values],
    truth: Values,
    kept: Mapping[str, Floats],
    data: Any,
    number: int,
) -> dict[str, tuple[float, Floats]]:
    true = quantities(truth, data)
    n_draws = len(next(iter(kept.values())))
    each = [quantities({name: draws[i] for name, draws in kept.items()}, data) for i in range(n_draws)]
    return dict(
        _flat(true, {name: np.array([e[name] for e in each], dtype=np.float64) for name in true}, number)
    )


def _rank(value: float, draws: Floats, rng: np.random.Generator) -> int:
    below, equal = int((draws < value).sum()), int((draws == value).sum())
    # Ties come from parameters that are counts; breaking them at random keeps the ranks uniform.
    return below + (int(rng.integers(equal + 1)) if equal else 0)


def _uniformity(ranks: Ints, n_draws: int, n_bins: int) -> float:
    """Chi-square test that ranks are uniform on 0..n_draws, by the exact multinomial law where it can be listed."""
    from scipy.special import chdtrc

    n_fits = len(ranks)
    sizes = np.array([len(part) for part in np.array_split(np.arange(n_draws + 1), n_bins)])
    counts = np.bincount(np.repeat(np.arange(n_bins), sizes)[ranks], minlength=n_bins)
    expected = n_fits * sizes / (n_draws + 1)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    if _tables(n_fits, n_bins) > MOST_TABLES:
        return float(chdtrc(n_bins - 1, statistic))
    values, chances = _exact_law(n_fits, tuple((sizes / (n_draws + 1)).tolist()))
    return min(1.0, float(chances[values >= statistic - 1e-9].sum()))


def _tables(n: int, bins: int) -> int:
    return math.comb(n + bins - 1, bins - 1)


@lru_cache(maxsize=8)
def _exact_law(n: int, shares: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Values of the chi-square statistic over all tables of `n` counts, and their multinomial chances."""
    from scipy.special import gammaln

    bins = len(shares)
    bars = np.array(list(itertools.combinations(range(n + bins - 1), bins - 1)), dtype=np.int64)
    ends = np.hstack(
        [np.full((len(bars), 1), -1), bars.reshape(len(bars), -1), np.full((len(bars), 1), n + bins - 1)]
    )
    counts = np.diff(ends, axis=1) - 1
    share = np.array(shares)
    log_chance = gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(share)
    expected = n * share
    return ((counts - expected) ** 2 / expected).sum(axis=1), np.exp(log_chance)
