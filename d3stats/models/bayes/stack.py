"""The one file that knows PyMC, PyTensor and ArviZ, in both of their generations.

PyMC 5 with ArviZ 0.23 (Python 3.11) and PyMC 6 with ArviZ 1 (3.12 and newer) differ in names and in arguments that the
older one ignores without a word, such as ``az.hdi(prob=...)``. The rest of the package calls these functions, which
take and return numpy arrays. All imports are lazy.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import logging
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng
from d3stats._words import missing_extra

LogDensity = Callable[[Floats], tuple[float, Floats]]
"""Point of shape (size,) to log density (``-inf`` is allowed) and gradient of shape (size,)."""


def load(name: str) -> Any:
    """Import one of the extra's modules, or say what to install."""
    try:
        with quiet():  # ArviZ 0.23 announces its successor at every import
            return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(missing_extra("a Bayesian fit needs PyMC and ArviZ", "bayes", error)) from error


def arviz_generation() -> int:
    """Return 0 for ArviZ 0.x and 1 for 1.x and newer."""
    return 0 if str(load("arviz").__version__).startswith("0.") else 1


@contextmanager
def quiet() -> Iterator[None]:
    """Silence these packages' messages and warnings here and only here; what they say is measured and reported."""
    loggers = [logging.getLogger(name) for name in ("pymc", "pytensor", "arviz")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def sample(model: Any, *, chains: int = 4, sampler: str = "auto", rng: RngLike = None, **options: Any) -> Any:
    """Draw from the posterior of a PyMC model by ``pm.sample``; the same seed gives the same draws.

    `sampler` "auto" is nutpie where it is installed; `options` (draws, tune, ...) go to ``pm.sample``. Returns
    ``arviz.InferenceData`` of ArviZ 0.23, ``xarray.DataTree`` of ArviZ 1.
    """
    if sampler == "auto":
        sampler = "nutpie" if importlib.util.find_spec("nutpie") else "pymc"
    seeds = [int(seed) for seed in as_rng(rng).integers(2**31 - 1, size=chains)]
    with quiet():
        return load("pymc").sample(
            chains=chains,
            cores=1,
            model=model,
            nuts_sampler=sampler,
            random_seed=seeds if sampler == "pymc" else seeds[0],
            progressbar=False,
            compute_convergence_checks=False,
            **options,
        )


def sample_density(
    log_density: LogDensity, starts: ArrayLike, *, rng: RngLike = None, **settings: Any
) -> Any:
    """Draw ``x`` of shape (chains, draws, size) from a density on R^size that is given as a function.

    The function is one operation of a PyMC model, so that PyTensor compiles nothing; PyMC's NUTS samples it, with the
    settings of :func:`sample`.
    """
    at = np.array(starts, dtype=np.float64)
    if at.ndim != 2 or not at.size or not np.isfinite(at).all():
        raise ValueError(f"starts must be finite, of shape (chains, size); got shape {at.shape}")
    pm, tensor = load("pymc"), load("pytensor.tensor")
    with quiet(), pm.Model() as model:
        x = pm.Flat("x", shape=at.shape[1])
        pm.Potential("log_density", _operation()(log_density)(tensor.as_tensor_variable(x))[0])
    fixed = {"chains": len(at), "sampler": "pymc", "init": "adapt_diag"}
    modes = {"initvals": [{"x": row} for row in at], "compile_kwargs": {"mode": "FAST_COMPILE"}}
    return sample(model, rng=rng, **settings | fixed | modes)


@functools.cache
def _operation() -> Any:
    operation, apply = load("pytensor.graph.op").Op, load("pytensor.graph.basic").Apply
    tensor = load("pytensor.tensor")

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


def prior_draws(model: Any, names: Sequence[str], size: int, rng: RngLike = None) -> dict[str, Floats]:
    """Draw named variables of a PyMC model from its prior; arrays of shape (size, ...)."""
    pm = load("pymc")
    seed = int(as_rng(rng).integers(2**31 - 1))
    with quiet():
        found = pm.draw([model[name] for name in names], draws=size, random_seed=seed)
    return {name: np.asarray(values, dtype=np.float64) for name, values in zip(names, found, strict=True)}


def from_draws(posterior: Mapping[str, ArrayLike], **others: Mapping[str, ArrayLike] | None) -> Any:
    """Pack draws as ArviZ holds them, by group; every array has shape (chains, draws, ...), observed data excepted."""
    given = {"posterior": posterior, **others}
    packed = {
        group: {name: np.asarray(values) for name, values in variables.items()}
        for group, variables in given.items()
        if variables is not None
    }
    az = load("arviz")
    with quiet():
        return az.from_dict(packed) if arviz_generation() else az.from_dict(**packed)


def groups(idata: Any) -> tuple[str, ...]:
    """Return the names of the groups: posterior, sample_stats and so on."""
    return tuple(map(str, idata.children)) if arviz_generation() else tuple(idata.groups())


def draws_of(idata: Any, name: str, group: str = "posterior") -> Any:
    """Return one variable as an array of shape (chains, draws, ...)."""
    return np.asarray(idata[group][name])


def shortest(draws: Floats, level: float) -> Floats:
    """Return the limits of the shortest interval between two draws, shape (2,)."""
    name = "prob" if arviz_generation() else "hdi_prob"
    with quiet():
        return np.asarray(load("arviz").hdi(np.ascontiguousarray(draws), **{name: level}), dtype=np.float64)


def diagnostics(chains: Floats) -> tuple[float, float, float]:
    """Return R-hat and effective draws, bulk and tail, of (chains, draws); missing for what never moves."""
    if np.ptp(chains) == 0 or not np.isfinite(chains).all():
        return math.nan, math.nan, math.nan
    az = load("arviz")
    with quiet():
        tail = az.ess(chains, method="tail", prob=(0.05, 0.95))
        return float(az.rhat(chains)), float(az.ess(chains, method="bulk")), float(tail)


def leave_one_out(idata: Any, name: str) -> tuple[Floats, Floats]:
    """Return log predictive density and Pareto k of each observation when it is left out (Pareto-smoothed)."""
    with quiet():
        found = load("arviz").loo(idata, pointwise=True, var_name=name)
    elpd = found.elpd_i if arviz_generation() else found.loo_i
    return np.asarray(elpd, dtype=np.float64).ravel(), np.asarray(found.pareto_k, dtype=np.float64).ravel()
