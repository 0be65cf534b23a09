"""What a Bayesian fit returns: estimates as any other fit's, and whether the sampler can be believed.

The thresholds are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Bayesian Analysis 16, 667:
rank-normalised R-hat below 1.01 and at least 400 effective draws, bulk and tail, of every parameter; and no
divergent transition. Divergences are acted on: the fit is drawn once more with smaller steps, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, probability
from d3stats.estimate import Estimate, estimates_latex
from d3stats.models.bayes import _stack
from d3stats.models.bayes._stack import Loo

__all__ = ["BayesFit", "BayesSettings", "drawn", "posterior_estimate", "predictive_table"]

RHAT_LIMIT = 1.01
ESS_LIMIT = 400.0
KIND_NAMES = {"equal-tailed": "equal-tailed posterior", "hdi": "highest-density posterior"}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BayesSettings:
    """How the posterior was drawn.

    Attributes
    ----------
    draws, tune, chains : int
        Of the chains that were kept.
    target_accept : float
        Of the last run; higher than what was asked for after a refit.
    priors : dict
        The priors, by parameter, in words or numbers.
    """

    draws: int
    tune: int
    chains: int
    target_accept: float
    priors: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BayesFit:
    """A posterior in the form of the frequentist fits.

    Attributes
    ----------
    model : str
        What was fitted.
    names : tuple of str
        The variables of the posterior that `params` reports.
    n_obs : float
        Observations (weights summed).
    n_clusters : int or None
        Clusters they come from; None where they are taken as independent.
    settings : BayesSettings
    notes : tuple of str
        What was done on the way, a refit for example.
    idata : InferenceData or DataTree
        The draws as ArviZ holds them, for its plots and tables.
        ``log_likelihood`` holds observations, so that ``az.loo`` and ``az.compare`` give what :meth:`loo` gives; it is
        absent where they cannot (see :func:`~d3stats.models.bayes._stack.pointwise`).
    cells : ndarray or None
        Log likelihood of one observation of each cell, shape (chains, draws, cells): what :meth:`loo` reads.
    weights : ndarray or None
        How many observations each cell stands for; None is one each.
    constants : tuple of str
        Parameters that cannot move by construction: the weight of a single component.
    observed : dict of str to float
        Statistics of the data.
    replicated, prior_replicated : dict of str to ndarray of shape (replicates,)
        The same statistics of data drawn from the posterior and from the prior.
    """

    model: str
    names: tuple[str, ...]
    n_obs: float
    settings: BayesSettings
    idata: Any
    n_clusters: int | None = None
    notes: tuple[str, ...] = ()
    cells: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    constants: tuple[str, ...] = ()
    observed: Mapping[str, float] = field(default_factory=dict)
    replicated: Mapping[str, Floats] = field(default_factory=dict)
    prior_replicated: Mapping[str, Floats] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = "converged" if self.converged else "not converged"
        return f"{type(self).__name__}({self.model}, n_obs={self.n_obs:g}, {said})"

    def __str__(self) -> str:
        return self.summary()

    @property
    def params(self) -> pd.Series:
        """Posterior means."""
        return self._rows["mean"].rename("params")

    @property
    def bse(self) -> pd.Series:
        """Posterior standard deviations."""
        return self._rows["sd"].rename("bse")

    def conf_int(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return the limits ``low, high`` of each parameter.

        Parameters
        ----------
        level : float
            Posterior probability inside.
        kind : {"equal-tailed", "hdi"}
            The same probability on either side, or the shortest interval.
        """
        rows = (
            self._rows
            if (level, kind) == (0.95, "equal-tailed")
            else _stack.summary_rows(self.idata, self.names, level, kind)
        )
        return rows[["low", "high"]]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """One estimate per parameter: posterior mean, sd and 95 % equal-tailed interval."""
        n = round(self.n_obs)
        return tuple(
            Estimate(
                name=str(label),
                value=float(row["mean"]),
                low=float(row["low"]),
                high=float(row["high"]),
                se=float(row["sd"]),
                kind=KIND_NAMES["equal-tailed"],
                n=n,
                n_clusters=self.n_clusters,
                note="" if self.converged else "the sampler did not converge",
            )
            for label, row in self._rows.iterrows()
        )

    @property
    def divergences(self) -> int:
        """Divergent transitions among the draws that were kept."""
        return _stack.divergences(self.idata)

    @property
    def converged(self) -> bool:
        """Whether R-hat < 1.01 and effective sample sizes > 400 for every parameter, without divergences."""
        return not self.problems

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the draws, a sentence each; empty when nothing is."""
        rows, found = self._rows, []
        moved = rows["ess_bulk"].notna()
        still = rows.index[~moved].difference(list(self.constants))
        if len(still):
            found.append(f"{_listed(still)} never moved")
        if (moved & rows["rhat"].isna()).any():
            found.append("chains must be >= 2 to be compared by R-hat; there is 1")
        high = rows["rhat"] >= RHAT_LIMIT
        if high.any():
            worst = rows["rhat"].max()
            found.append(
                f"R-hat must be < {RHAT_LIMIT}; it is up to {worst:.3f} for {_listed(rows.index[high])}: "
                "the chains disagree, draw more or fit fewer components"
            )
        few = rows[["ess_bulk", "ess_tail"]].min(axis=1)
        if (few <= ESS_LIMIT).any():
            found.append(
                f"effective draws must be > {ESS_LIMIT:g}; they are down to {few.min():.0f} for "
                f"{_listed(rows.index[few <= ESS_LIMIT])}: draw more"
            )
        if self.divergences:
            found.append(
                f"there must be no divergent transition; there are {self.divergences} at target_accept "
                f"{self.settings.target_accept:g}: parts of the posterior may be missed"
            )
        return tuple(found)

    def to_frame(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return one row per parameter: ``parameter, mean, sd, low, high, rhat, ess_bulk, ess_tail, level, kind``."""
        rows = self._rows.assign(**self.conf_int(level, kind))
        rows = rows.rename_axis("parameter").reset_index()
        return rows.assign(level=probability("level", level, open_interval=True), kind=KIND_NAMES[kind])

    def to_dict(self) -> dict[str, Any]:
        """Return model, estimates, diagnostics and settings as JSON can hold them."""
        return {
            "model": self.model,
            "n_obs": self.n_obs,
            "n_clusters": self.n_clusters,
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "diagnostics": {
                "converged": self.converged,
                "problems": list(self.problems),
                "divergences": self.divergences,
                "rhat_max": _number(self._rows["rhat"].max()),
                "ess_min": _number(self._rows[["ess_bulk", "ess_tail"]].min().min()),
            },
            "notes": list(self.notes),
            "settings": {
                "draws": self.settings.draws,
                "tune": self.settings.tune,
                "chains": self.settings.chains,
                "target_accept": self.settings.target_accept,
                "priors": {key: str(value) for key, value in self.settings.priors.items()},
            },
        }

    def to_latex(self, *, digits: int = 3) -> str:
        """Return the estimates as a booktabs tabular."""
        return estimates_latex(self.estimates, digits=digits)

    def summary(self) -> str:
        """Say in a few lines what was estimated and whether the draws can be believed."""
        kept = self.settings
        head = f"{self.model}, {self.n_obs:g} observations, {kept.chains} chains of {kept.draws} draws"
        table = self._rows.to_string(float_format=lambda value: f"{value:.3f}")
        ending = [f"problem: {text}" for text in self.problems] or [
            f"converged: R-hat up to {self._rows['rhat'].max():.4f}, at least "
            f"{self._rows[['ess_bulk', 'ess_tail']].min().min():.0f} effective draws, no divergence"
        ]
        return "\n".join([head, table, *ending, *(f"note: {text}" for text in self.notes)])

    def loo(self) -> Loo:
        """Return the leave-one-out log predictive density of single observations (Pareto-smoothed).

        Observations are debates, questions, pairs or clusters: what the model takes as independent.

        Raises
        ------
        ValueError
            When the fit kept no log likelihood.
        """
        if self.cells is None:
            raise ValueError("loo needs a fit that kept its log likelihood; this one kept none")
        names = [str(name) for name in self.idata["posterior"].data_vars]
        held = _stack.from_draws(
            {name: _stack.draws_of(self.idata, name) for name in names}, log_likelihood={"cells": self.cells}
        )
        return _stack.loo(held, self.weights)

    def posterior_check(self, level: float = 0.95) -> pd.DataFrame:
        """Compare statistics of the data with data drawn from the posterior; see :func:`predictive_table`."""
        return predictive_table(self.observed, self.replicated, level)

    def prior_check(self, level: float = 0.95) -> pd.DataFrame:
        """Compare statistics of the data with data drawn from the prior; see :func:`predictive_table`."""
        return predictive_table(self.observed, self.prior_replicated, level)

    @cached_property
    def _rows(self) -> pd.DataFrame:
        return _stack.summary_rows(self.idata, self.names)


def drawn(
    sampler: Callable[[float, np.random.Generator], Any],
    *,
    target_accept: float = 0.9,
    retry_accept: float = 0.99,
    rng: RngLike = None,
) -> tuple[Any, float, tuple[str, ...]]:
    """Draw, and draw once more with smaller steps when transitions diverge.

    Parameters
    ----------
    sampler : callable
        Takes ``target_accept`` and a Generator, returns draws as ArviZ holds them.
    target_accept, retry_accept : float
        First and, where higher, second try.
    rng : Generator, int or None

    Returns
    -------
    idata, float, tuple of str
        The draws of the last run, its ``target_accept``, and a note when there were two.
    """
    generator = as_rng(rng)
    first = probability("target_accept", target_accept, open_interval=True)
    idata = sampler(first, generator)
    before = _stack.divergences(idata)
    if not before or retry_accept <= first:
        return idata, first, ()
    again = sampler(retry_accept, generator)
    note = (
        f"{before} transitions diverged at target_accept {first:g}; drawn again at {retry_accept:g}, "
        f"with {_stack.divergences(again)}"
    )
    return again, retry_accept, (note,)


def posterior_estimate(
    name: str,
    draws: ArrayLike,
    *,
    n: float,
    level: float = 0.95,
    kind: str = "equal-tailed",
    n_clusters: int | None = None,
    note: str = "",
) -> Estimate:
    """Turn draws of one quantity into an estimate: posterior mean, sd and interval.

    Parameters
    ----------
    draws : array of float
        Any shape; all draws count the same.
    n : float
        Observations that went in, rounded.
    """
    values = np.asarray(draws, dtype=np.float64).ravel()
    choice("kind", kind, _stack.KINDS)
    low, high = _stack.interval(values, level, kind)
    return Estimate(
        name=name,
        value=float(values.mean()),
        low=float(low),
        high=float(high),
        se=float(values.std(ddof=1)),
        level=level,
        kind=KIND_NAMES[kind],
        n=round(n),
        n_clusters=n_clusters,
        note=note,
    )


def predictive_table(
    observed: Mapping[str, float], replicated: Mapping[str, Floats], level: float = 0.95
) -> pd.DataFrame:
    """Set observed statistics beside their predictive law.

    Returns
    -------
    DataFrame
        One row per statistic: ``statistic, observed, predicted`` (mean of the replicates), ``low, high``
        (predictive quantiles), ``p_value`` (two-sided: twice the smaller share of replicates at or beyond the
        observed value, at most 1), ``inside, level``.

    Raises
    ------
    ValueError
        When nothing was replicated.
    """
    level = probability("level", level, open_interval=True)
    if not replicated:
        raise ValueError("predictive checks need replicates; this fit kept none")
    rows = []
    for name, values in replicated.items():
        seen = float(observed[name])
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
        tail = min(float((values <= seen).mean()), float((values >= seen).mean()))
        rows.append(
            {
                "statistic": name,
                "observed": seen,
                "predicted": float(values.mean()),
                "low": low,
                "high": high,
                "p_value": min(1.0, 2 * tail),
                "inside": low <= seen <= high,
                "level": level,
            }
        )
    return pd.DataFrame(rows)


def _listed(labels: Any) -> str:
    names = [str(label) for label in labels]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
