"""The result of every Bayesian fit: estimates, the PyMC model, its draws, and checks of the sampler.

The thresholds are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Bayesian Analysis 16, 667:
rank-normalised R-hat below 1.01 and at least 400 effective draws, bulk and tail, of every parameter; and no
divergent transition. A fit that diverges is drawn once more with smaller steps, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, choice, integer, number, probability
from d3stats.estimate import Estimate, estimates_latex
from d3stats.models.bayes import stack
from d3stats.result import Result

__all__ = ["BayesFit", "BayesSettings", "Loo", "Sampling"]

RHAT_LIMIT = 1.01
ESS_LIMIT = 400.0
PARETO_BAD = 0.7
"""Pareto k above which an importance-sampled leave-one-out value is not to be trusted (Vehtari et al. 2024)."""
MOST_POINTWISE = 20_000_000
"""Values of a log likelihood by draw and observation that are held in the draws (160 MB)."""
KIND_NAMES = {"equal-tailed": "equal-tailed posterior", "hdi": "highest-density posterior"}
P = TypeVar("P")


class SamplingOptions(TypedDict, total=False):
    """The fields of :class:`Sampling`, as keywords of a fit."""

    draws: int
    tune: int
    chains: int
    target_accept: float
    sampler: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Settings of the No-U-Turn sampler, which every fit accepts as a value or as keywords.

    Attributes
    ----------
    draws, tune : int
        Draws kept (at least 4) and draws to adapt, of each chain.
    chains : int
        Two or more can be compared by R-hat.
    target_accept : float
        Acceptance rate that the step size is adapted to; higher is slower and diverges less. A fit that diverges is
        drawn once more at .99.
    sampler : {"auto", "pymc", "nutpie"}
        Which program samples a model whose priors are PyMC distributions; "auto" is nutpie where it is installed.
        With priors given as numbers, PyMC samples one compiled function.

    Examples
    --------
    >>> Sampling(draws=500).chains
    4
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    target_accept: float = 0.9
    sampler: str = "auto"

    def __post_init__(self) -> None:
        integer("draws", self.draws, minimum=4)
        integer("tune", self.tune, minimum=0)
        integer("chains", self.chains, minimum=1)
        probability("target_accept", self.target_accept, open_interval=True)
        choice("sampler", self.sampler, ("auto", "pymc", "nutpie"))

    @classmethod
    def _of(
        cls, given: Sampling | None, options: SamplingOptions, **default: Unpack[SamplingOptions]
    ) -> Sampling:
        """Return `given`, or the default, with these options."""
        known = [f.name for f in fields(Sampling)]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise TypeError(f"options of sampling must be among {', '.join(known)}; got {unknown[0]!r}")
        if not isinstance(given, Sampling | None):
            raise TypeError(f"sampling must be a Sampling; got {type(given).__name__}")
        return replace(cls(**default) if given is None else given, **options)

    def _with_priors(self, numbers: Mapping[str, Any], laws: Mapping[str, Any]) -> BayesSettings:
        """Return these settings with the priors that they were used with."""
        return BayesSettings(**asdict(self), priors={**numbers, **laws})


@dataclass(frozen=True, slots=True)
class BayesSettings(Sampling):
    """The settings of a fit: the fields of :class:`Sampling`, of the run that was kept, and the priors.

    Attributes
    ----------
    priors : mapping of str to object
        The priors by name.

    Examples
    --------
    >>> BayesSettings(draws=500).chains
    4
    """

    priors: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Loo:
    """Leave-one-out expected log predictive density, by Pareto-smoothed importance sampling.

    Attributes
    ----------
    elpd, se, p_loo : float
        Sum over observations (higher is better), its standard error, and the effective number of parameters.
    k_max, n_bad
        Largest Pareto k, and how many cells have one above 0.7.
    n_obs : float
        Observations (weights summed).
    pointwise, pareto_k : ndarray, shape (cells,)
        Log predictive density of one observation in each cell when it is left out.
    """

    elpd: float
    se: float
    p_loo: float
    k_max: float
    n_bad: int
    n_obs: float
    pointwise: Floats
    pareto_k: Floats


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BayesFit(Result):
    """A posterior in the form of the frequentist fits: estimates, diagnostics, predictive checks and leave-one-out.

    Attributes
    ----------
    title : str
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
        The draws as ArviZ holds them. ``log_likelihood`` holds observations, so that ``az.loo`` and ``az.compare`` give
        what :meth:`loo` gives; it is absent with fractional weights, or where it would be too large.
    cells, weights : ndarray or None
        Log likelihood of one observation of each cell, shape (chains, draws, cells), and the number of observations
        in each cell (None is one each), as :meth:`loo` reads them.
    constants : tuple of str
        Parameters that cannot move by construction: the weight of a single component.
    observed, replicated, prior_replicated : dict
        Statistics of the data, and of data drawn from the posterior and from the prior, shape (replicates,).
    build : callable
        Makes the PyMC model; :attr:`model` calls it once.

    Examples
    --------
    >>> from d3stats.models.bayes import fit_mixture
    >>> fit = fit_mixture(range(4), 3, [32, 103, 122, 80], n_components=1, draws=300, tune=300, chains=2, rng=1)
    >>> fit.n_obs, fit.divergences
    (337.0, 0)
    >>> fit.conf_int().columns.tolist(), fit.to_frame().columns.tolist()[:4]
    (['low', 'high'], ['parameter', 'mean', 'sd', 'low'])
    >>> fit.loo().elpd < 0
    True
    >>> fit.posterior_check().columns.tolist()[:2], len(fit.prior_check()) == len(fit.posterior_check())
    (['statistic', 'observed'], True)
    """

    title: str
    names: tuple[str, ...]
    n_obs: float
    settings: BayesSettings
    idata: Any
    build: Callable[[], Any]
    n_clusters: int | None = None
    notes: tuple[str, ...] = ()
    cells: Floats | None = None
    weights: Floats | None = None
    constants: tuple[str, ...] = ()
    observed: Mapping[str, float] = field(default_factory=dict)
    replicated: Mapping[str, Floats] = field(default_factory=dict)
    prior_replicated: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def model(self) -> Any:
        """The ``pm.Model`` whose posterior was drawn, to read, change or extend."""
        return self.build()

    @property
    def params(self) -> pd.Series:
        """Posterior means."""
        return self._rows["mean"].rename("params")

    @property
    def bse(self) -> pd.Series:
        """Posterior standard deviations."""
        return self._rows["sd"].rename("bse")

    def conf_int(self, level: float = 0.95, kind: str = "equal-tailed") -> pd.DataFrame:
        """Return the limits ``low, high`` of each parameter, with posterior probability `level` inside.

        `kind` is "equal-tailed" (the same probability on either side) or "hdi" (the shortest interval).
        """
        standard = (level, kind) == (0.95, "equal-tailed")
        rows = self._rows if standard else summary_rows(self.idata, self.names, level, kind)
        return rows[["low", "high"]]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """One estimate per parameter: posterior mean, sd and 95 % equal-tailed interval."""
        note = "" if self.converged else "the sampler did not converge"
        return tuple(
            posterior_estimate(label, chains, n=self.n_obs, n_clusters=self.n_clusters, note=note)
            for label, chains in _scalars(self.idata, self.names)
        )

    @property
    def divergences(self) -> int:
        """Divergent transitions among the draws that were kept."""
        return divergences(self.idata)

    @property
    def converged(self) -> bool:
        """Whether R-hat < 1.01 and effective sample sizes > 400 for every parameter, without divergences."""
        return not self.problems

    def _more(self, times: float) -> int:
        """Return so many times the draws, at most ten times, in hundreds."""
        return 100 * math.ceil(self.settings.draws * min(max(times, 2.0), 10.0) / 100)

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """The defects of the draws, a sentence each; empty when there are none."""
        rows, found = self._rows, []
        moved = rows["ess_bulk"].notna()
        if len(still := rows.index[~moved].difference(list(self.constants))):
            found.append(f"{_listed(still)} never moved")
        if (moved & rows["rhat"].isna()).any():
            found.append("chains must be >= 2 for R-hat; there is 1: ask with chains=4")
        high = rows["rhat"] >= RHAT_LIMIT
        few = rows[["ess_bulk", "ess_tail"]].min(axis=1)
        ask = f"ask with draws={self._more(1.5 * ESS_LIMIT / max(few.min(), 1.0))}"
        if high.any():
            found.append(
                f"R-hat must be < {RHAT_LIMIT}; it is up to {rows['rhat'].max():z.3f} for "
                f"{_listed(rows.index[high])}; the chains disagree: {ask} or fit fewer components"
            )
        if (few <= ESS_LIMIT).any():
            found.append(
                f"effective draws must be > {ESS_LIMIT:g}; they are down to {few.min():z.0f} for "
                f"{_listed(rows.index[few <= ESS_LIMIT])}: {ask}"
            )
        if self.divergences:
            accept = self.settings.target_accept
            found.append(
                f"there must be no divergent transition; there are {self.divergences} at target_accept {accept:g}; the "
                f"draws may miss parts of the posterior: ask with target_accept={1 - (1 - accept) / 10:.6g}"
            )
        return tuple(found)

    def to_frame(  # type: ignore[override]  # an interval is chosen here
        self, level: float | str = 0.95, kind: str = "equal-tailed"
    ) -> pd.DataFrame:
        """Return one row per parameter: ``parameter, mean, sd, low, high, rhat, ess_bulk, ess_tail, level, kind``.

        In place of a level, the title of a table gives that table: "parameters" or "diagnostics".
        """
        if isinstance(level, str):
            return super().to_frame(level)
        rows = self._rows.assign(**self.conf_int(level, kind), level=level, kind=KIND_NAMES[kind])
        return rows.rename_axis("parameter").reset_index()

    def _document(self) -> dict[str, Any]:
        """Return model, estimates, diagnostics and settings as JSON can hold them."""
        settings = asdict(self.settings)
        return {
            "model": self.title,
            "n_obs": self.n_obs,
            "n_clusters": self.n_clusters,
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "diagnostics": {
                **self._tables()["diagnostics"].iloc[0].to_dict(),
                "problems": list(self.problems),
            },
            "notes": self.notes,
            "settings": settings | {"priors": {k: str(v) for k, v in settings["priors"].items()}},
        }

    def _latex(self, digits: int) -> str:
        return estimates_latex(self.estimates, digits=digits)

    @property
    def headline(self) -> str:
        """The first parameter with its interval, and whether the draws converged."""
        done = "converged" if self.converged else "NOT CONVERGED"
        return f"{self.estimates[0]}; {done}"

    def _title(self) -> str:
        kept = self.settings
        return f"{self.title}, {self.n_obs:g} observations, {kept.chains} chains of {kept.draws} draws"

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        found = {
            "converged": self.converged,
            "divergences": self.divergences,
            "rhat_max": self._rows["rhat"].max(),
            "ess_min": self._ess_min,
        }
        return {"parameters": self.to_frame(), "diagnostics": pd.DataFrame([found])}

    @property
    def _ess_min(self) -> float:
        return float(self._rows[["ess_bulk", "ess_tail"]].min().min())

    def summary(self) -> str:
        """Say in a few lines what was estimated and whether the draws can be believed."""
        table = self._rows.to_string(float_format=lambda value: f"{value:z.3f}")
        ending = [f"problem: {text}" for text in self.problems] or [
            f"converged: R-hat up to {self._rows['rhat'].max():z.4f}, at least {self._ess_min:z.0f} effective draws, "
            "no divergence"
        ]
        return "\n".join([self._title(), table, *ending, *(f"note: {text}" for text in self.notes)])

    def loo(self) -> Loo:
        """Return the leave-one-out log predictive density of single observations (Pareto-smoothed importance sampling).

        Observations are debates, questions, pairs or clusters: what the model takes as independent. A fit that kept
        no log likelihood is refused.
        """
        if self.cells is None:
            raise ValueError("loo needs a fit with a stored log likelihood; this fit has none")
        draws = {str(name): stack.draws_of(self.idata, name) for name in self.idata["posterior"].data_vars}
        return leave_one_out(stack.from_draws(draws, log_likelihood={"cells": self.cells}), self.weights)

    def posterior_check(self, level: float = 0.95) -> pd.DataFrame:
        """Compare statistics of the data with those of data drawn from the posterior, one row per statistic.

        Columns: ``statistic, observed, predicted`` (mean of the replicates), ``low, high`` (predictive quantiles),
        ``p_value`` (two-sided: twice the smaller share of replicates at or beyond the observed value, at most 1),
        ``inside, level``.
        """
        return _predictive_table(self.observed, self.replicated, level)

    def prior_check(self, level: float = 0.95) -> pd.DataFrame:
        """Compare statistics of the data with data drawn from the prior; columns as :meth:`posterior_check`."""
        return _predictive_table(self.observed, self.prior_replicated, level)

    @cached_property
    def _rows(self) -> pd.DataFrame:
        return summary_rows(self.idata, self.names)


def read_priors(
    given: P | Mapping[str, Any] | None, default: P, variables: tuple[str, ...]
) -> tuple[P, dict[str, Any]]:
    """Split what a user gives as priors into numbers (the fields of `default`) and PyMC distributions, by variable.

    Examples
    --------
    >>> read_priors({"tune": 5}, Sampling(), ("rho",))[0].tune
    5
    """
    kind = type(default)
    if given is None or isinstance(given, kind):
        return default if given is None else given, {}
    if not isinstance(given, Mapping):
        raise TypeError(f"priors must be {kind.__name__}; got {type(given).__name__}")
    numbers = [f.name for f in fields(kind)]  # type: ignore[arg-type]  # every default is a dataclass
    plain = {k: v for k, v in given.items() if isinstance(v, int | float | np.number)}
    laws = {k: v for k, v in given.items() if k not in plain}
    wrong = [k for k in plain if k not in numbers] + [k for k in laws if k not in variables]
    if wrong:
        raise TypeError(
            f"priors must be {kind.__name__}; got {type(given).__name__} with {wrong[0]}={given[wrong[0]]!r}. A dict "
            f"may hold numbers under {', '.join(numbers)} and PyMC distributions under {', '.join(variables)}"
        )
    return replace(default, **plain), laws  # type: ignore[type-var]  # likewise


def variable(name: str, given: Mapping[str, Any], default: Callable[[], Any], shape: tuple[int, ...]) -> Any:
    """Add a free variable to the model at hand: with the distribution that a user gave, or with the default one.

    A distribution is what ``pm.Beta.dist(2, 5, shape=2)`` returns, or a function of the shape that returns one.
    """
    chosen = given.get(name)
    made = default() if chosen is None else chosen(shape) if callable(chosen) else chosen
    if not hasattr(made, "owner"):
        need = "a PyMC distribution, such as pm.Beta.dist(2, 5)"
        raise TypeError(f"the prior of {name} must be {need}; got {made!r}")
    return stack.load("pymc").modelcontext(None).register_rv(made, name)


def positive(**values: float) -> None:
    """Refuse a number that is not above 0, by its name."""
    for name, value in values.items():
        if number(name, value) <= 0:
            raise ValueError(f"{name} must be > 0; got {name}={value!r}")


def drawn(
    sampler: Callable[[float, np.random.Generator], Any],
    *,
    target_accept: float = 0.9,
    retry_accept: float = 0.99,
    rng: RngLike = None,
) -> tuple[Any, float, tuple[str, ...]]:
    """Draw, and draw once more at `retry_accept`, with smaller steps, when transitions diverge.

    `sampler` takes ``target_accept`` and a Generator. Returns the draws of the last run, its ``target_accept``, and a
    note when there were two runs.
    """
    generator = as_rng(rng)
    first = probability("target_accept", target_accept, open_interval=True)
    idata = sampler(first, generator)
    before = divergences(idata)
    if not before or retry_accept <= first:
        return idata, first, ()
    again = sampler(retry_accept, generator)
    note = f"{before} transitions diverged at target_accept {first:g}; drawn again at {retry_accept:g}"
    return again, retry_accept, (f"{note}, with {divergences(again)}",)


def posterior(
    sampling: Sampling,
    rng: np.random.Generator,
    *,
    model: Callable[[], Any] | None = None,
    density: stack.LogDensity | None = None,
    starts: Callable[[int, np.random.Generator], Floats] | None = None,
) -> tuple[Any, Sampling, tuple[str, ...]]:
    """Draw from a PyMC model, or from a density given as a function and its starting points.

    Returns the draws (of ``x`` for a density), the settings of the run that was kept, and notes.
    """
    settings = asdict(sampling)
    made = None if model is None else model()

    def run(accept: float, generator: np.random.Generator) -> Any:
        now = settings | {"target_accept": accept}
        if made is not None:
            return stack.sample(made, rng=generator, **now)
        assert density is not None
        assert starts is not None
        return stack.sample_density(density, starts(sampling.chains, generator), rng=generator, **now)

    idata, accept, notes = drawn(run, target_accept=sampling.target_accept, rng=rng)
    return idata, replace(sampling, target_accept=accept), notes


def kept_stats(idata: Any) -> dict[str, Any]:
    """Return what the sampler said of each draw: whether it diverged, energy and log density."""
    held = [name for name in ("diverging", "energy", "lp") if name in idata["sample_stats"]]
    return {name: stack.draws_of(idata, name, "sample_stats") for name in held}


def divergences(idata: Any) -> int:
    """Count divergent transitions after tuning."""
    return int(np.asarray(idata["sample_stats"]["diverging"]).sum())


def pointwise(name: str, cells: Floats, weights: ArrayLike | None) -> dict[str, Floats] | None:
    """Return the log likelihood of every observation `name`, as ArviZ counts them, from that of cells of equal ones.

    `cells` has shape (chains, draws, cells); `weights` counts the observations of each cell (None: one each). The
    result has shape (chains, draws, observations); it is None where a cell holds parts of observations, or there
    would be more than ``MOST_POINTWISE`` values, because cells would be taken for observations.
    """
    if weights is None:
        return {name: cells}
    w = np.asarray(weights, dtype=np.float64)
    if cells.shape[0] * cells.shape[1] * w.sum() > MOST_POINTWISE or not (w == np.rint(w)).all():
        return None
    return {name: np.repeat(cells, w.astype(np.int64), axis=2)}


def leave_one_out(idata: Any, weights: ArrayLike | None = None) -> Loo:
    """Return leave-one-out cross-validation of the group ``log_likelihood`` by Pareto-smoothed importance sampling.

    `weights`, shape (cells,), is the number of equal observations that each column represents. One of them is left out
    at a time, so a cell of weight w counts w times.
    """
    if "log_likelihood" not in stack.groups(idata):
        raise ValueError(f"idata must have a group log_likelihood; got {list(stack.groups(idata))}")
    name = str(next(iter(idata["log_likelihood"].data_vars)))
    values = stack.draws_of(idata, name, "log_likelihood")
    elpd, pareto_k = stack.leave_one_out(idata, name)
    flat = values.reshape(values.shape[0] * values.shape[1], -1)
    top = flat.max(axis=0)
    lppd = top + np.log(np.exp(flat - top).mean(axis=0))
    w = np.ones(elpd.size) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if w.shape != elpd.shape:
        raise ValueError(f"weights must have one value per cell ({elpd.size}); got {w.size}")
    total, n = float(w @ elpd), float(w.sum())
    # ArviZ 1 divides by n - 1, ArviZ 0.23 by n: the error is that of the one that is installed.
    spread = float(w @ (elpd - total / n) ** 2) / max(n - stack.arviz_generation(), 1.0)
    return Loo(
        elpd=total,
        se=math.sqrt(n * spread),
        p_loo=float(w @ (lppd - elpd)),
        k_max=float(pareto_k.max()),
        n_bad=int((pareto_k > PARETO_BAD).sum()),
        n_obs=n,
        pointwise=elpd,
        pareto_k=pareto_k,
    )


def interval(draws: ArrayLike, level: float = 0.95, kind: str = "equal-tailed") -> Floats:
    """Return the limits of an equal-tailed interval, or of the shortest one between two draws (``kind="hdi"``).

    For draws of shape (draws,) or (draws, columns) the result has shape (2,) or (2, columns).
    """
    level = probability("level", level, open_interval=True)
    choice("kind", kind, tuple(KIND_NAMES))
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim not in (1, 2) or not len(values):
        raise ValueError(f"draws must have shape (draws,) or (draws, columns); got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("draws must be finite; got a value that is not")
    if kind == "equal-tailed":
        tails = [(1 - level) / 2, 1 - (1 - level) / 2]
        return np.asarray(np.quantile(values, tails, axis=0), dtype=np.float64)
    if values.ndim == 1:
        return stack.shortest(values, level)
    return np.array([stack.shortest(column, level) for column in values.T]).reshape(-1, 2).T


def summary_rows(
    idata: Any, names: Iterable[str], level: float = 0.95, kind: str = "equal-tailed"
) -> pd.DataFrame:
    """Return one row per scalar: ``mean, sd, low, high, rhat, ess_bulk, ess_tail``, indexed by its name.

    R-hat (rank-normalised, split) and the effective sample sizes are missing for a quantity that never moves.
    """
    rows = {}
    for label, chains in _scalars(idata, names):
        low, high = interval(chains.ravel(), level, kind).tolist()
        moments = (float(chains.ravel().mean()), float(chains.ravel().std(ddof=1)))
        rows[label] = (*moments, low, high, *stack.diagnostics(chains))
    columns = ["mean", "sd", "low", "high", "rhat", "ess_bulk", "ess_tail"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _scalars(idata: Any, names: Iterable[str]) -> Iterator[tuple[str, Floats]]:
    """Give each scalar's name and its chains, shape (chains, draws)."""
    for name in names:
        values = stack.draws_of(idata, name).astype(np.float64)
        for index in np.ndindex(values.shape[2:]):
            label = name + (f"[{', '.join(map(str, index))}]" if index else "")
            yield label, np.ascontiguousarray(values[(slice(None), slice(None), *index)])


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
    """Turn draws of one quantity, of any shape, into an estimate: posterior mean, sd and interval."""
    values = np.asarray(draws, dtype=np.float64).ravel()
    low, high = interval(values, level, kind).tolist()
    return Estimate(
        name=name,
        value=float(values.mean()),
        low=low,
        high=high,
        se=float(values.std(ddof=1)),
        level=level,
        kind=KIND_NAMES[kind],
        n=round(n),
        n_clusters=n_clusters,
        note=note,
    )


def some_of(draws: NDArray[Any], size: int) -> NDArray[Any]:
    """Return at most `size` draws, evenly spaced along the first axis."""
    at = np.linspace(0, len(draws) - 1, min(size, len(draws))).astype(np.int64)
    return draws[at]


def columns_of(rows: Iterable[Mapping[str, float]]) -> dict[str, Floats]:
    """Turn the statistics of many replicates into one column each."""
    table = list(rows)
    return {name: np.array([row[name] for row in table]) for name in table[0]}


def _predictive_table(
    observed: Mapping[str, float], replicated: Mapping[str, Floats], level: float
) -> pd.DataFrame:
    level = probability("level", level, open_interval=True)
    if not replicated:
        raise ValueError("predictive checks need replicates; this fit has none")
    rows = []
    for name, values in replicated.items():
        seen = float(observed[name])
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
        tail = min(float((values <= seen).mean()), float((values >= seen).mean()))
        rows.append(
            (name, seen, float(values.mean()), low, high, min(1.0, 2 * tail), low <= seen <= high, level)
        )
    columns = ["statistic", "observed", "predicted", "low", "high", "p_value", "inside", "level"]
    return pd.DataFrame(rows, columns=columns)


def _listed(labels: Any) -> str:
    names = [str(label) for label in labels]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
