"""Calibrate a world to a pilot: which parameters make its debates look like these?

By likelihood where the count of votes is a finite mixture of Markov chains, so that the probability of every
path of counts is a sum; by simulated moments elsewhere. Then the calibrated world is made to draw pilots of the
same size, to see whether the real one could be among them, and what a pilot of its kind leaves open is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from d3stats._check import RngLike, as_rng, choice, integer
from d3stats.planning.calibration.observed import Observed, observe
from d3stats.planning.calibration.parameters import default_free
from d3stats.planning.calibration.path_likelihood import LikelihoodFit, fit_likelihood, is_exact
from d3stats.planning.calibration.pilot_check import template_for
from d3stats.planning.calibration.predictive import predictive_checks
from d3stats.planning.calibration.result import Calibration, JTest, Method, intervals
from d3stats.planning.calibration.simulated import MomentFit, fit_moments
from d3stats.planning.calibration.space import Space
from d3stats.planning.calibration.untold import untold_by_pilot, untold_by_search
from d3stats.trajectories import LogSource, Trajectories, as_trajectories
from d3stats.worlds import World

__all__ = ["Calibration", "JTest", "calibrate"]


def calibrate(
    world: World | type[World],
    pilot: LogSource,
    *,
    free: Sequence[str] | None = None,
    method: Method | Literal["auto"] = "auto",
    n_sim: int = 3_000,
    n_starts: int = 3,
    n_rep: int = 400,
    rng: RngLike = None,
) -> Calibration:
    """Fit the free parameters of a world to a pilot log.

    Parameters
    ----------
    world : World or type of World
        A template, which gives the parameters that are not free and where to start; or a family, for its
        defaults and the pilot's panel.
    pilot : Trajectories, or what :func:`d3stats.as_trajectories` takes
        At least two questions and two rounds, with the world's panel. With labels the paths of right votes are
        fitted, without them those of votes for A, over both truths.
    free : sequence of str, optional
        Parameters to estimate, by default those that such a log can tell. Vectors are freed as a whole:
        ``"means"`` makes ``means_1, means_2``. A courtroom's ``"mean_gap"`` stretches all its categories.
    method : {"auto", "likelihood", "simulated_moments"}
        "auto" takes the likelihood wherever :func:`~d3stats.simulate.count_process` gives the exact law.
    n_sim : int
        Debates simulated at each point of a fit by moments, rounded to a multiple of the pilot's; at least two
        for each of its debates.
    n_starts : int
        Climbs of the likelihood, from the template and from around it.
    n_rep : int
        Replicated pilots of the checks.
    rng : Generator, int or None

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        In one line: a parameter that the world does not have, a pilot of one question or one round, another
        panel, a world of scores and a pilot without, more answers than the world knows and no labels.

    Notes
    -----
    Likelihood: log P(counts s_1 .. s_T) = log sum_c w_c P(s_1 | c) prod_t P(s_{t+1} | s_t, c) over classes c.
    Missing votes are summed over, as missing at random. Standard errors come from the second derivatives, as a
    sandwich over questions where these repeat (White, 1982, Econometrica 50).

    Simulated moments (McFadden, 1989, Econometrica 57): shares, leads, unanimity, moves and products over
    rounds, and the same of score gaps. Weights and errors come from the covariance of the moments in the fitted
    world; where questions repeat, errors are a sandwich over questions. Both include the simulation error.

    Examples
    --------
    >>> from d3stats.simulate import simulate
    >>> from d3stats.worlds import Voter
    >>> pilot = simulate(Voter(panel=7, accuracy=0.7), n_debates=200, n_rounds=4, rng=1)
    >>> fit = calibrate(Voter, pilot, n_rep=40, rng=1)
    >>> fit.method, bool(abs(fit.params["accuracy"] - 0.7) < 3 * fit.bse["accuracy"])
    ('likelihood', True)
    """
    choice("method", method, ("auto", "likelihood", "simulated_moments"))
    integer("n_sim", n_sim, minimum=100)
    integer("n_starts", n_starts, minimum=1)
    integer("n_rep", n_rep, minimum=20)
    pilot = as_trajectories(pilot)
    stream = as_rng(rng)
    template = template_for(world, pilot)
    space = Space(template, default_free(template) if free is None else free)
    seen = observe(template, pilot)
    fit, remark = _fitted(space, pilot, seen, method, n_sim, n_starts, stream)
    return _result(space, pilot, seen, fit, remark, n_rep, stream)


def _fitted(
    space: Space,
    pilot: Trajectories,
    seen: Observed,
    method: str,
    n_sim: int,
    n_starts: int,
    rng: np.random.Generator,
) -> tuple[LikelihoodFit | MomentFit, list[str]]:
    remark: list[str] = []
    template: Any = space.template
    name, panel = type(template).__name__, int(template.panel)
    if method != "simulated_moments":
        if is_exact(space, pilot.n_rounds):
            fit = fit_likelihood(space, seen, panel, rng, n_starts)
            if not isinstance(fit, str):
                return fit, remark
            if method == "likelihood":
                raise ValueError(f"pilot must be possible in the world; got {fit} {name} never makes")
            remark.append(
                f"{fit} {name} never makes: it is fitted by moments, and it is not the pilot's world"
            )
        elif method == "likelihood":
            raise ValueError(
                f"method must be 'simulated_moments' for {name} with {', '.join(space.free)} free, whose count is "
                f"no finite mixture of Markov chains; got 'likelihood'"
            )
    if len(set(pilot.depth.tolist())) > 1:
        raise ValueError(
            f"pilot must be played to one depth for a fit by moments, or stopping shapes them; got depths from "
            f"{pilot.depth.min()} to {pilot.depth.max()}"
        )
    size = max(2, round(n_sim / pilot.n_debates)) * pilot.n_debates
    return fit_moments(space, pilot, seen, size, rng), remark


def _result(
    space: Space,
    pilot: Trajectories,
    seen: Observed,
    fit: LikelihoodFit | MomentFit,
    remark: list[str],
    n_rep: int,
    rng: np.random.Generator,
) -> Calibration:
    x, names = fit.x, list(space.names)
    jacobian = space.jacobian(x)
    cov = jacobian @ fit.covariance @ jacobian.T
    spread = np.sqrt(np.maximum(np.diag(cov), 0.0))
    correlation = cov / np.outer(np.where(spread > 0, spread, 1.0), np.where(spread > 0, spread, 1.0))
    cov = cov.copy()
    cov[fit.blind, fit.blind] = np.inf
    bse, sd = np.sqrt(np.diag(cov)), np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    held = space.on_bound(x)
    checks = predictive_checks(space, x, fit.covariance, pilot, seen, n_rep, rng)
    limits = intervals(space, x, sd, bse, 0.05)
    world = space.world(x)
    j_test = None
    if isinstance(fit, MomentFit):
        j_test = JTest(fit.statistic, fit.df, fit.p_value)
        if fit.df > 0 and fit.p_value < 0.01:
            remark = [
                *remark,
                f"no parameters give all moments of the pilot (J = {fit.statistic:.1f} on {fit.df} degrees of "
                f"freedom, p = {fit.p_value:.2g}): this is not the pilot's world",
            ]
    if not fit.converged:
        remark = [
            *remark,
            "the search has not settled: try another template, fewer free parameters, more debates",
        ]
    told = untold_by_search(space, space.values(x), limits, correlation, fit.blind, held)
    return Calibration(
        world=world,
        params=pd.Series(space.values(x), index=names, name="estimate"),
        bse=pd.Series(bse, index=names, name="bse"),
        cov=pd.DataFrame(cov, index=names, columns=names),
        method="likelihood" if isinstance(fit, LikelihoodFit) else "simulated_moments",
        converged=fit.converged,
        boundary=tuple(name for name, on in zip(names, held, strict=True) if on),
        llf=fit.llf if isinstance(fit, LikelihoodFit) else None,
        j_test=j_test,
        checks=checks,
        untold=(*remark, *told, *untold_by_pilot(world, space.free, pilot, seen, checks)),
        n_debates=pilot.n_debates,
        n_questions=len(np.unique(seen.cluster)),
        _space=space,
        _x=x,
        _sd=sd,
    )
