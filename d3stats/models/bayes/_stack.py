"""The one module that knows PyMC, PyTensor and ArviZ, in both of their generations.

PyMC 5 with ArviZ 0.23 (Python 3.11) and PyMC 6 with ArviZ 1 (3.12 and newer) differ in names, results and, worst,
in arguments that the older one swallows: ``az.hdi(prob=...)`` is ignored by 0.23. So the rest of the package
calls these functions, which take and return numpy arrays, and nothing else. All imports are lazy.

Two ways to sample, both by PyMC's NUTS, one chain after another in this process:

- :func:`sample` takes a PyMC model; its graph is compiled first, which costs half a minute or more;
- :func:`sample_density` takes a numpy function that returns a log density and its gradient. It stands in the
  graph as one operation, so nothing of note is compiled (about 1 s) and new data cost nothing.
"""

from __future__ import annotations

import importlib
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, choice, integer, probability

Idata = Any
"""``arviz.InferenceData`` of ArviZ 0.23, ``xarray.DataTree`` of ArviZ 1; groups are read by ``idata[group]``."""
Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], tuple[float, Floats]]
"""Point of shape (size,) to log density and gradient of shape (size,)."""
Kind = Literal["equal-tailed", "hdi"]
KINDS = ("equal-tailed", "hdi")
PARETO_BAD = 0.7
"""Pareto k above which an importance-sampled leave-one-out value is not to be trusted (Vehtari et al. 2024)."""

MOST_POINTWISE = 20_000_000
"""Values of a log likelihood by draw and observation that are held in the draws (160 MB)."""


@dataclass(frozen=True, slots=True)
class Loo:
    """Leave-one-out expected log predictive density, from importance sampling.

    Attributes
    ----------
    elpd, se : float
        Sum over observations and its standard error; higher is better.
    p_loo : float
        Effective number of parameters.
    k_max : float
        Largest Pareto k.
    n_bad : int
        Cells with a Pareto k above 0.7.
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


def pm() -> Any:
    """Return the module pymc."""
    return _load("pymc")


def pt() -> Any:
    """Return the module pytensor.tensor."""
    return _load("pytensor.tensor")


def az() -> Any:
    """Return the module arviz."""
    return _load("arviz")


def arviz_generation() -> int:
    """Return 0 for ArviZ 0.x and 1 for 1.x and newer."""
    return 0 if str(az().__version__).startswith("0.") else 1


def sample(
    model: Any,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    target_accept: float = 0.9,
    rng: RngLike = None,
    progress: bool = False,
    starts: Sequence[Mapping[str, Any]] | None = None,
    mode: str | None = None,
) -> Idata:
    """Draw from the posterior of a PyMC model by NUTS; the same seed gives the same draws.

    Parameters
    ----------
    model : pymc.Model
    draws, tune, chains : int
        Draws kept and draws to adapt, of each chain.
    target_accept : float
        Higher is slower and has fewer divergences.
    starts : sequence of dict, optional
        One starting point per chain, by variable name; by default jittered.
    mode : str, optional
        PyTensor's compilation mode. "FAST_COMPILE" compiles nothing and evaluates some ten times slower.

    Returns
    -------
    InferenceData or DataTree
    """
    draws, tune, chains = _lengths(draws, tune, chains)
    settings: dict[str, Any] = {} if mode is None else {"compile_kwargs": {"mode": mode}}
    if starts is not None:
        settings |= {"initvals": [dict(start) for start in starts], "init": "adapt_diag"}
    with quiet():
        return pm().sample(
            draws,
            tune=tune,
            chains=chains,
            cores=1,
            model=model,
            target_accept=probability("target_accept", target_accept, open_interval=True),
            random_seed=seeds(rng, chains),
            progressbar=bool(progress),
            compute_convergence_checks=False,
            **settings,
        )


def sample_density(
    log_density: LogDensity,
    starts: ArrayLike,
    *,
    draws: int = 1000,
    tune: int = 1000,
    target_accept: float = 0.9,
    rng: RngLike = None,
    progress: bool = False,
) -> Idata:
    """Draw from an unnormalised density on R^size by PyMC's NUTS, without compiling it.

    Parameters
    ----------
    log_density : callable
        Takes a point of shape (size,), returns the log density (``-inf`` is allowed) and its gradient.
    starts : array of float, shape (chains, size)
        Where the chains start.

    Returns
    -------
    InferenceData or DataTree
        The posterior has one variable ``x`` of shape (chains, draws, size).
    """
    at = np.array(starts, dtype=np.float64)
    if at.ndim != 2 or not at.size or not np.isfinite(at).all():
        raise ValueError(f"starts must be finite, of shape (chains, size); got shape {at.shape}")
    with quiet():
        model = density_model(log_density, at.shape[1])
    return sample(
        model,
        draws=draws,
        tune=tune,
        chains=len(at),
        target_accept=target_accept,
        rng=rng,
        progress=progress,
        starts=[{"x": row} for row in at],
        mode="FAST_COMPILE",
    )


def density_model(log_density: LogDensity, size: int) -> Any:
    """Return a PyMC model of one flat vector ``x`` whose log density is a numpy function."""
    modelling, tensor = pm(), pt()
    with modelling.Model() as model:
        x = modelling.Flat("x", shape=size)
        modelling.Potential("log_density", _operation()(log_density)(tensor.as_tensor_variable(x))[0])
    return model


def prior_predictive(
    model: Any, names: Sequence[str], *, draws: int = 1000, rng: RngLike = None
) -> dict[str, Floats]:
    """Draw the named variables of a PyMC model from its prior; arrays of shape (draws, ...).

    Potentials are no part of what is drawn, and neither are ordering transforms.
    """
    draws = integer("draws", draws, minimum=1)
    with quiet():
        idata = pm().sample_prior_predictive(
            draws=draws, model=model, var_names=list(names), random_seed=seeds(rng, 1)[0]
        )
    found: dict[str, Floats] = {}
    for group in ("prior", "prior_predictive"):
        if group in groups(idata):
            found |= {str(name): np.asarray(values)[0] for name, values in idata[group].data_vars.items()}
    return {name: found[name] for name in names}


def posterior_predictive(
    idata: Idata, model: Any, names: Sequence[str], *, rng: RngLike = None
) -> dict[str, Floats]:
    """Draw the named variables of a PyMC model given each posterior draw; shape (chains, draws, ...)."""
    with quiet():
        drawn = pm().sample_posterior_predictive(
            idata, model=model, var_names=list(names), random_seed=seeds(rng, 1)[0], progressbar=False
        )
    return {name: np.asarray(drawn["posterior_predictive"][name]) for name in names}


def from_draws(
    posterior: Mapping[str, ArrayLike],
    *,
    sample_stats: Mapping[str, ArrayLike] | None = None,
    log_likelihood: Mapping[str, ArrayLike] | None = None,
    prior: Mapping[str, ArrayLike] | None = None,
    posterior_predictive: Mapping[str, ArrayLike] | None = None,
    observed_data: Mapping[str, ArrayLike] | None = None,
) -> Idata:
    """Pack draws as ArviZ holds them; every array has shape (chains, draws, ...), observed data excepted."""
    given = {
        "posterior": posterior,
        "sample_stats": sample_stats,
        "log_likelihood": log_likelihood,
        "prior": prior,
        "posterior_predictive": posterior_predictive,
        "observed_data": observed_data,
    }
    packed = {
        group: {name: np.asarray(values) for name, values in variables.items()}
        for group, variables in given.items()
        if variables is not None
    }
    with quiet():
        return az().from_dict(packed) if arviz_generation() else az().from_dict(**packed)


def pointwise(name: str, cells: Floats, weights: ArrayLike) -> dict[str, Floats] | None:
    """Return the log likelihood of every observation, as ArviZ counts them, from that of cells of equal ones.

    Parameters
    ----------
    name : str
        What an observation is.
    cells : ndarray, shape (chains, draws, cells)
    weights : array of float, shape (cells,)
        Observations in each cell.

    Returns
    -------
    dict of str to ndarray of shape (chains, draws, observations), or None
        None where a cell holds parts of observations, or there would be more than ``MOST_POINTWISE`` values: cells
        would be taken for observations.
    """
    w = np.asarray(weights, dtype=np.float64)
    if cells.shape[0] * cells.shape[1] * w.sum() > MOST_POINTWISE or not (w == np.rint(w)).all():
        return None
    return {name: np.repeat(cells, w.astype(np.int64), axis=2)}


def groups(idata: Idata) -> tuple[str, ...]:
    """Return the names of the groups: posterior, sample_stats and so on."""
    if arviz_generation():
        return tuple(str(name) for name in idata.children)
    return tuple(idata.groups())


def draws_of(idata: Idata, name: str, group: str = "posterior") -> Any:
    """Return one variable as an array of shape (chains, draws, ...)."""
    return np.asarray(idata[group][name])


def divergences(idata: Idata) -> int:
    """Count divergent transitions after tuning."""
    return int(np.asarray(idata["sample_stats"]["diverging"]).sum())


def interval(draws: ArrayLike, level: float = 0.95, kind: str = "equal-tailed") -> Floats:
    """Return the limits of a central or of a shortest interval, as ArviZ computes them.

    Parameters
    ----------
    draws : array of float, shape (draws,) or (draws, columns)
    level : float
    kind : {"equal-tailed", "hdi"}
        Quantiles (linear between order statistics), or the shortest interval between two draws.

    Returns
    -------
    ndarray of float, shape (2,) or (2, columns)
    """
    level = probability("level", level, open_interval=True)
    choice("kind", kind, KINDS)
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim not in (1, 2) or not len(values):
        raise ValueError(f"draws must have shape (draws,) or (draws, columns); got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("draws must be finite; got a value that is not")
    find = _hdi if kind == "hdi" else _equal_tailed
    with quiet():
        if values.ndim == 1:
            return find(values, level)
        columns = [find(np.ascontiguousarray(column), level) for column in values.T]
    return np.stack(columns, axis=1) if columns else np.empty((2, 0))


def summary_rows(
    idata: Idata, names: Sequence[str], level: float = 0.95, kind: str = "equal-tailed"
) -> pd.DataFrame:
    """Return one row per scalar: ``mean, sd, low, high, rhat, ess_bulk, ess_tail``, indexed by its name.

    R-hat (rank-normalised, split) and the effective sample sizes are missing for a quantity that never moves.
    """
    rows: dict[str, dict[str, float]] = {}
    for name in names:
        values = draws_of(idata, name).astype(np.float64)
        for index in np.ndindex(values.shape[2:]):
            label = name + (f"[{', '.join(map(str, index))}]" if index else "")
            rows[label] = _row(values[(slice(None), slice(None), *index)], level, kind)
    return pd.DataFrame.from_dict(rows, orient="index")


def diagnostics(chains: Floats) -> tuple[float, float, float]:
    """Return R-hat, bulk and tail effective sample size of draws of shape (chains, draws)."""
    if np.ptp(chains) == 0 or not np.isfinite(chains).all():
        return math.nan, math.nan, math.nan
    module = az()
    with quiet():
        return (
            float(module.rhat(chains)),
            float(module.ess(chains, method="bulk")),
            float(module.ess(chains, method="tail", prob=(0.05, 0.95))),
        )


def loo(idata: Idata, weights: ArrayLike | None = None, *, name: str | None = None) -> Loo:
    """Return leave-one-out cross-validation of the group ``log_likelihood``.

    Parameters
    ----------
    weights : array of float, shape (cells,), optional
        How many equal observations each column of the log likelihood stands for: one of them is left out at a
        time, so a cell of weight w counts w times.
    name : str, optional
        Which log likelihood, where there are several.
    """
    if "log_likelihood" not in groups(idata):
        raise ValueError(f"idata must have a group log_likelihood; got {list(groups(idata))}")
    held = idata["log_likelihood"]
    chosen = str(next(iter(held.data_vars))) if name is None else name
    values = np.asarray(held[chosen])
    with quiet():
        found = az().loo(idata, pointwise=True, var_name=chosen)
    new = arviz_generation() > 0
    elpd = np.asarray(found.elpd_i if new else found.loo_i, dtype=np.float64).ravel()
    pareto_k = np.asarray(found.pareto_k, dtype=np.float64).ravel()
    flat = values.reshape(values.shape[0] * values.shape[1], -1)
    top = flat.max(axis=0)
    lppd = top + np.log(np.exp(flat - top).mean(axis=0))
    w = np.ones(elpd.size) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if w.shape != elpd.shape:
        raise ValueError(f"weights must have one value per cell ({elpd.size}); got {w.size}")
    total, n = float(w @ elpd), float(w.sum())
    spread = float(w @ (elpd - total / n) ** 2) / n
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


def seeds(rng: RngLike, size: int) -> list[int]:
    """Return seeds for PyMC, one per chain, from the one generator that the caller gave."""
    return [int(seed) for seed in as_rng(rng).integers(2**31 - 1, size=size)]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the stack's messages and warnings here and only here; what they say is measured and reported."""
    loggers = [logging.getLogger(name) for name in ("pymc", "pytensor", "arviz")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            for category in (FutureWarning, DeprecationWarning, UserWarning, RuntimeWarning):
                warnings.simplefilter("ignore", category)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _load(name: str) -> Any:
    try:
        with quiet():  # ArviZ 0.23 announces its successor at every import
            return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            "Bayesian fits need PyMC and ArviZ; install them with: pip install 'd3stats[bayes]' "
            "(in a checkout '.[bayes]')"
        ) from error


def _lengths(draws: int, tune: int, chains: int) -> tuple[int, int, int]:
    return (
        integer("draws", draws, minimum=4),
        integer("tune", tune, minimum=0),
        integer("chains", chains, minimum=1),
    )


def _row(chains: Floats, level: float, kind: str) -> dict[str, float]:
    flat = chains.ravel()
    low, high = interval(flat, level, kind)
    rhat, bulk, tail = diagnostics(chains)
    return {
        "mean": float(flat.mean()),
        "sd": float(flat.std(ddof=1)),
        "low": float(low),
        "high": float(high),
        "rhat": rhat,
        "ess_bulk": bulk,
        "ess_tail": tail,
    }


def _hdi(values: Floats, level: float) -> Floats:
    found = az().hdi(values, prob=level) if arviz_generation() else az().hdi(values, hdi_prob=level)
    return np.asarray(found, dtype=np.float64)


def _equal_tailed(values: Floats, level: float) -> Floats:
    if arviz_generation():
        return np.asarray(az().eti(values, prob=level), dtype=np.float64)
    # 0.23 has no function for it; this is the line of its summary.
    held = az().convert_to_dataset({"x": values[None]})["x"]
    tails = ((1 - level) / 2, 1 - (1 - level) / 2)
    return np.asarray(held.quantile(tails, dim=("chain", "draw")), dtype=np.float64)


_made: list[Any] = []


def _operation() -> Any:
    """Return the class of the operation; it is made once, when PyTensor is first needed."""
    if not _made:
        _made.append(_operation_class())
    return _made[0]


def _operation_class() -> Any:
    operation, apply, tensor = (
        _load("pytensor.graph.op").Op,
        _load("pytensor.graph.basic").Apply,
        pt(),
    )

    class Density(operation):  # type: ignore[misc, valid-type]  # the base class is known at run time only
        """Value and gradient at once; PyTensor merges the two askings into one evaluation."""

        def __init__(self, function: LogDensity) -> None:
            self.function = function

        def make_node(self, x: Any) -> Any:
            return apply(self, [tensor.as_tensor_variable(x)], [tensor.dscalar(), tensor.dvector()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            value, gradient = self.function(inputs[0])
            outputs[0][0] = np.asarray(value, dtype=np.float64)
            outputs[1][0] = gradient

        def L_op(self, inputs: Any, outputs: Any, above: Any) -> Any:
            return [above[0] * outputs[1]]

        # PyTensor 3 asks for it under this name.
        pullback = L_op

    return Density
