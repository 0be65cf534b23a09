"""Calibrate a world to a pilot: which parameters make its debates look like these?

By likelihood where the count of votes is a finite mixture of Markov chains, so that the probability of every
path of counts is a sum; by simulated moments elsewhere. Then the calibrated world is made to draw pilots of the
same size, to see whether the real one could be among them, and what a pilot of its kind leaves open is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats.planning.calibration.moments import MomentFit, fit_moments, predictive_checks
from d3stats.planning.calibration.parameters import (
    Observed,
    Space,
    default_free,
    observe,
)
from d3stats.planning.calibration.path_likelihood import LikelihoodFit, fit_likelihood, is_exact
from d3stats.trajectories import MISSING, LogSource, Trajectories, as_trajectories
from d3stats.worlds import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Calibration",
    "JTest",
    "Method",
    "calibrate",
    "calibration_text",
    "intervals",
    "template_for",
    "untold_by_pilot",
    "untold_by_search",
]

_METHOD = {"likelihood": "by maximum likelihood", "simulated_moments": "by simulated moments"}


def calibration_text(fit: Calibration) -> str:
    """Return the whole calibration as text."""
    lines = [
        f"{type(fit.world).__name__} calibrated {_METHOD[fit.method]} to {fit.n_debates} debates on "
        f"{fit.n_questions} questions" + ("." if fit.converged else "; NOT CONVERGED."),
    ]
    if fit.llf is not None:
        lines.append(f"log-likelihood {fit.llf:.2f}, AIC {fit.aic:.2f}, BIC {fit.bic:.2f}")
    if fit.j_test is not None:
        j = fit.j_test
        lines.append(
            f"overidentification J = {j.statistic:.2f} on {j.df} degrees of freedom, p = {j.p_value:.3f}"
        )
    lines += ["", f"{'parameter':22} {'estimate':>10} {'std. error':>10} {'95 % interval':>24}"]
    for row in fit.to_frame().to_dict("records"):
        interval = f"[{row['low']:.4g}, {row['high']:.4g}]"
        lines.append(f"{row['parameter']:22} {row['estimate']:10.4g} {row['bse']:10.3g} {interval:>24}")
    lines += ["", f"{'check':34} {'round':>5} {'pilot':>8} {'predicted':>9} {'90 % band':>20} {'p':>6}"]
    for row in fit.checks.to_dict("records"):
        band = f"[{row['low']:.3f}, {row['high']:.3f}]"
        lines.append(
            f"{row['statistic']:34} {row['round']:5d} {row['pilot']:8.3f} {row['predicted']:9.3f} {band:>20} "
            f"{row['p_value']:6.3f}"
        )
    lines += ["", "What this pilot cannot tell:", *(f"- {note}" for note in fit.untold)]
    return "\n".join(lines)


Floats = NDArray[np.float64]
Method = Literal["likelihood", "simulated_moments"]


class JTest(NamedTuple):
    """The test of overidentification (Hansen, 1982, Econometrica 50).

    Attributes
    ----------
    statistic : float
        Distance of the pilot's moments from the world's that no parameters close.
    df : int
        Moments less parameters.
    p_value : float
        Under a chi-squared law: right for many questions.
    """

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """A world fitted to a pilot.

    Attributes
    ----------
    world : World
        The template with the free parameters at their estimates.
    params, bse : Series
        Estimates and standard errors by parameter, on the world's own scale. An error is infinite for a
        parameter on its bound and for one that the pilot says nothing about.
    cov : DataFrame
        Covariance of the estimates; infinite on the diagonal where `bse` is.
    method : {"likelihood", "simulated_moments"}
    converged : bool
        Whether the search ended where no small step helps.
    boundary : tuple of str
        Parameters that ended on a bound.
    llf : float or None
        Log-likelihood of the pilot's paths of counts; None with moments.
    j_test : JTest or None
        None with a likelihood.
    checks : DataFrame
        Predictive checks: ``statistic, round, pilot, predicted, low, high, p_value``. Limits hold 90 % of the
        pilots of the same size drawn from the calibrated world. The parameters were fitted to the same pilot,
        so these p-values tend to be too large: a small one means more than a large one.
    untold : tuple of str
        What the pilot cannot tell.
    n_debates, n_questions : int
    """

    world: Any
    params: pd.Series[float]
    bse: pd.Series[float]
    cov: pd.DataFrame
    method: Method
    converged: bool
    boundary: tuple[str, ...]
    llf: float | None
    j_test: JTest | None
    checks: pd.DataFrame
    untold: tuple[str, ...]
    n_debates: int
    n_questions: int
    _space: Space = field(repr=False)
    _x: Floats = field(repr=False)
    _sd: Floats = field(repr=False)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value:.3g}" for name, value in self.params.items())
        return f"Calibration({type(self.world).__name__}, {numbers}; {self.method})"

    @property
    def aic(self) -> float:
        """Akaike's criterion; asked of a fit by moments it is an error."""
        return 2 * len(self.params) - 2 * self._likelihood()

    @property
    def bic(self) -> float:
        """Schwarz's criterion, with the number of questions as the sample size."""
        return float(np.log(self.n_questions)) * len(self.params) - 2 * self._likelihood()

    def _likelihood(self) -> float:
        if self.llf is None:
            raise ValueError(
                "method must be 'likelihood' for aic and bic; got 'simulated_moments': see j_test"
            )
        return self.llf

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return Wald intervals, made on the real line (log-odds, log) and mapped back.

        Returns
        -------
        DataFrame
            ``low, high`` by parameter; the whole range for a parameter without a standard error.
        """
        probability("alpha", alpha, open_interval=True)
        bse: Floats = np.asarray(self.bse, dtype=np.float64)
        limits = intervals(self._space, self._x, self._sd, bse, alpha)
        return pd.DataFrame(limits, index=self.params.index, columns=["low", "high"])

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return one row per parameter: ``parameter, estimate, bse, low, high, level, template``."""
        limits = self.conf_int(alpha)
        return pd.DataFrame(
            {
                "parameter": list(self.params.index),
                "estimate": self.params.to_numpy(),
                "bse": self.bse.to_numpy(),
                "low": limits["low"].to_numpy(),
                "high": limits["high"].to_numpy(),
                "level": 1 - alpha,
                "template": self._space.given(),
            }
        )

    def summary(self) -> str:
        """Return the calibration as plain text."""
        return calibration_text(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the pilot against what the calibrated world predicts."""
        from d3stats.plotting import plot_predictive_check

        return plot_predictive_check(self.checks, ax=ax)


def intervals(space: Space, x: Floats, sd: Floats, bse: Floats, alpha: float) -> Floats:
    """Return limits on the parameters' own scale, shape (parameters, 2)."""
    z = float(special.ndtri(1 - alpha / 2))
    limits = space.limits(x, sd, np.where(np.isfinite(bse), bse, 0.0), z)
    whole = np.column_stack([space.low, space.high])
    result: Floats = np.where(np.isfinite(bse)[:, None], limits, whole)
    return result


def template_for(world: World | type[World], pilot: Trajectories) -> Any:
    """Return the template world, after refusing what does not go together."""
    if not isinstance(pilot, Trajectories):
        raise TypeError(f"pilot must be a Trajectories; got {type(pilot).__name__}")
    if isinstance(world, type):
        if not issubclass(world, World):
            raise TypeError(f"world must be a World or a type of World; got {world.__name__}")
        family: Any = world
        voting = sum(name != "tie-break" for name in pilot.seats)
        return _checked(family(panel=max(1, min(voting, int(pilot.panel.max(initial=1))))), pilot)
    if not isinstance(world, World):
        raise TypeError(f"world must be a World or a type of World; got {world!r}")
    return _checked(world, pilot)


def _checked(world: Any, pilot: Trajectories) -> Any:
    name = type(world).__name__
    if pilot.n_rounds < 2:
        raise ValueError(f"pilot must have at least two rounds; got {pilot.n_rounds}")
    questions = len(np.unique(pilot.cluster))
    if questions < 2:
        raise ValueError(f"pilot must have at least two questions; got {questions}")
    if not (pilot.votes != MISSING).any():
        raise ValueError("pilot must hold at least one vote; got none")
    panels = sorted({int(n) for n in pilot.panel})
    if not set(panels) <= {int(world.panel), world.seats}:
        raise ValueError(
            f"pilot must have the world's panel of {world.panel}; got panels of {', '.join(map(str, panels))}"
        )
    known = len(world.answers)
    if world.points is not None:
        _check_scores(world, name, pilot)
    elif len(pilot.answers) > known and (pilot.label == MISSING).any():
        raise ValueError(
            f"pilot must have a label in every debate, or at most the {known} answers that {name} "
            f"knows; got {len(pilot.answers)} answers and {int((pilot.label == MISSING).sum())} debates without "
            f"a label"
        )
    return world


def _check_scores(world: Any, name: str, pilot: Trajectories) -> None:
    if pilot.scores is None or not np.isfinite(pilot.scores).any():
        raise ValueError(f"pilot must have scores, which {name} is fitted to; got none")
    if set(pilot.sides) != {"A", "B"}:
        raise ValueError(f"pilot must have scores of the sides A and B for {name}; got {pilot.sides}")
    if not set(pilot.answers) <= set(world.answers):
        raise ValueError(f"pilot must have votes for {', '.join(world.answers)} only; got {pilot.answers}")
    low, high = world.points
    lowest, highest = float(np.nanmin(pilot.scores)), float(np.nanmax(pilot.scores))
    if lowest < low or highest > high:
        raise ValueError(
            f"pilot must have scores in raw points from {low} to {high} for {name}; got {lowest:g} to {highest:g}"
        )


_FEW_QUESTIONS = 30
_COLLINEAR = 0.95
_OFF = 0.01


def untold_by_search(
    space: Space, params: Floats, intervals: Floats, correlation: Floats, blind: NDArray[np.bool_], held: Any
) -> list[str]:
    """Say which parameters the pilot does not, or hardly, inform; intervals of 95 %, shape (parameters, 2)."""
    notes, names = [], np.array(space.names)
    rest = [name for name in sorted(space.template.groups()) if name not in space.free]
    if rest:
        notes.append(
            f"not estimated: {', '.join(rest)}; they stay as given, and the standard errors take them as known"
        )
    if held.any():
        notes.append(
            f"{', '.join(names[held])} ended on a bound: no standard error, and the interval is the whole range"
        )
    flat = blind & ~held
    if flat.any():
        notes.append(
            f"nothing in the pilot tells {', '.join(names[flat])}, alone or apart from one another: "
            f"their values are those that the search began near"
        )
    weak = [
        f"{names[i]} ({intervals[i, 0]:.3g} to {intervals[i, 1]:.3g})"
        for i in range(len(names))
        if not blind[i] and _wide(space, i, intervals[i])
    ]
    if weak:
        notes.append(f"the pilot hardly informs {', '.join(weak)}: the 95 % interval is most of the range")
    for i in range(len(names)):
        for j in range(i):
            if not blind[i] and not blind[j] and abs(correlation[i, j]) > _COLLINEAR:
                notes.append(
                    f"{names[j]} and {names[i]} are hardly told apart: their errors correlate "
                    f"{correlation[i, j]:+.2f}"
                )
    return notes


def _wide(space: Space, i: int, interval: Floats) -> bool:
    low, high = interval
    if np.isfinite(space.high[i]):
        return bool(high - low > 0.5 * (space.high[i] - space.low[i]))
    if np.isfinite(space.low[i]):
        return bool(high - space.low[i] > 10 * (low - space.low[i]))
    return bool(high - low > 2 * space.width[i])


def untold_by_pilot(
    world: Any, free: tuple[str, ...], pilot: Trajectories, seen: Observed, checks: pd.DataFrame
) -> list[str]:
    """Say what logs of this kind, and this one, leave open."""
    notes = []
    labelled = int(seen.labelled.sum())
    if labelled == 0:
        notes.append(
            "no debate has a label: a world with right and wrong exchanged fits as well, so the estimates stay "
            "on the template's side, and accuracy is the world's word"
        )
    elif labelled < pilot.n_debates:
        notes.append(f"{pilot.n_debates - labelled} of {pilot.n_debates} debates have no label")
    questions = len(np.unique(seen.cluster))
    if questions < _FEW_QUESTIONS:
        notes.append(
            f"{questions} questions are few: standard errors and intervals are for many, and here too small"
        )
    if questions < pilot.n_debates:
        notes.append(
            f"{pilot.n_debates} debates are on {questions} questions: errors are clustered by question, and the "
            f"world draws a new question each time"
        )
    if len(pilot.answers) > len(world.answers):
        notes.append(
            f"{len(pilot.answers)} answers occur and the world knows {len(world.answers)}: "
            f"wrong votes are taken as one camp"
        )
    # A seat that breaks ties is mostly empty, and counts for nothing here.
    missing = 1 - seen.cast.sum() / (np.minimum(pilot.panel, world.panel) * pilot.depth).sum()
    if missing > 0:
        notes.append(f"{missing:.1%} of the votes are missing: taken as missing at random")
    off = checks[checks["p_value"] < _OFF]
    if len(off):
        worst = ", ".join(f"{s} in round {r}" for s, r in zip(off["statistic"], off["round"], strict=True))
        notes.append(f"this world does not reproduce the pilot's {worst}: do not plan with it")
    notes += world.untold(free, labelled > 0)
    notes.append(f"nothing is known of rounds beyond {pilot.n_rounds}: there the world's equations speak")
    if pilot.tokens is not None:
        notes.append("tokens are not matched: what a debate costs is the template's")
    return notes


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
    >>> from d3stats.worlds import simulate
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
