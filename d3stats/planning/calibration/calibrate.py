"""Calibrate a world to a pilot: which parameters make its debates look like these?

By likelihood where the count of votes is a finite mixture of Markov chains, so that the probability of every
path of counts is a sum; by simulated moments elsewhere. Then pilots of the same size are drawn from the
calibrated world, to check whether the real one could be among them. The notes list what such a pilot leaves
open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import percent
from d3stats.planning.calibration.moments import fit_moments, n_replicates, predictive_checks
from d3stats.planning.calibration.parameters import Fit, JTest, Observed, Space, default_free, observe
from d3stats.planning.calibration.path_likelihood import fit_likelihood, is_exact
from d3stats.planning.study import Study
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.stopping import StoppingRule
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import World
from d3stats.worlds.base import to_toml, world_types

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Calibration", "JTest", "Method", "calibrate"]

Method = Literal["likelihood", "simulated_moments"]

_METHOD = {"likelihood": "by maximum likelihood", "simulated_moments": "by simulated moments"}
_FEW_QUESTIONS = 30
_COLLINEAR = 0.95
_OFF = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Result):
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
        What its log says of the pilot, and its limits.
    n_debates, n_questions, n_rounds : int
        Numbers of debates, questions and rounds of the pilot.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=7, accuracy=0.7), n_debates=200, n_rounds=4, rng=1)
    >>> fit = calibrate(Voter, pilot, n_rep=40, rng=1)
    >>> fit.params.index.tolist(), fit.converged, fit.conf_int().columns.tolist()
    (['accuracy', 'precision'], True, ['low', 'high'])
    >>> fit.study().names[:2], "[[worlds]]" in fit.to_toml()
    (('fixed:1', 'fixed:2'), True)
    >>> fit.plot().get_xlabel()
    'pilot minus prediction, in half bands'
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
    n_rounds: int
    _space: Space = field(repr=False)
    _x: Floats = field(repr=False)
    _sd: Floats = field(repr=False)

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

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Return Wald intervals, made on the real line (log-odds, log) and mapped back.

        Returns
        -------
        DataFrame
            ``low, high`` by parameter; the whole range for a parameter without a standard error.
        """
        probability("level", level, open_interval=True)
        limits = _intervals(self._space, self._x, self._sd, np.asarray(self.bse, dtype=np.float64), level)
        return pd.DataFrame(limits, index=self.params.index, columns=["low", "high"])

    def to_frame(self, table: str | None = None, *, level: float = 0.95) -> pd.DataFrame:
        """Return one row per parameter, or another table ("checks").

        Returns
        -------
        DataFrame
            ``parameter, estimate, bse, low, high, level, template, decided_by``. The last says whether the value is
            the ``"pilot"``'s, ``"pilot, hardly"`` (the 95 % interval is wide), the ``"template"``'s
            (the pilot does not determine it) or a ``"bound"``.
        """
        if table is not None:
            return super().to_frame(table)
        limits = self.conf_int(level)
        columns = {
            "parameter": list(self.params.index),
            "estimate": self.params.to_numpy(),
            "bse": self.bse.to_numpy(),
            "low": limits["low"].to_numpy(),
            "high": limits["high"].to_numpy(),
            "level": level,
            "template": self._space.given(),
            "decided_by": self._decided_by(),
        }
        return pd.DataFrame(columns)

    def _decided_by(self) -> list[str]:
        known = np.isfinite(self.bse.to_numpy())
        wide = _wide(self._space, self.conf_int().to_numpy())
        return [
            "bound"
            if name in self.boundary
            else "template"
            if not told
            else "pilot, hardly"
            if w
            else "pilot"
            for name, told, w in zip(self.params.index, known, wide, strict=True)
        ]

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # untold, as every result names them
        """Limits of the pilot."""
        return self.untold

    @property
    def headline(self) -> str:
        """The fitted parameters with their standard errors, and whether the search ended."""
        pairs = zip(self.params.items(), self.bse, strict=True)
        numbers = ", ".join(
            f"{name} {value:z.3g} ({f'{se:z.2g}' if np.isfinite(se) else 'no error'})"
            for (name, value), se in pairs
        )
        done = "" if self.converged else " did not converge:"
        return f"{type(self.world).__name__}{done} {numbers} (standard errors in brackets)."

    def _title(self) -> str:
        title = (
            f"{type(self.world).__name__} calibrated {_METHOD[self.method]} to {self.n_debates} debates on "
            f"{self.n_questions} questions{'' if self.converged else ', NOT CONVERGED'}; "
        )
        if self.llf is not None:
            title += f"log-likelihood {self.llf:z.2f}, AIC {self.aic:z.2f}, BIC {self.bic:z.2f}"
        if self.j_test is not None:
            j, df, p = self.j_test
            title += f"overidentification J = {j:z.2f} on {df} degrees of freedom, p = {p:z.3f}"
        return f"{title}. The notes list what this pilot does not determine."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"parameters": self.to_frame(), "checks": self.checks}

    def study(
        self, rules: Sequence[StoppingRule | str] | None = None, *, debates: int = 10_000, seed: int = 0
    ) -> Study:
        """Return the study of stopping rules in this world, in debates as long as the pilot's.

        A panel's tokens, which are not matched, are left out of it.

        Parameters
        ----------
        rules : sequence of rule or text, optional
            By default the first rounds, and every share of the panel that a majority does not have anyway.
        debates, seed : int
            How many to simulate, and which stream of debates.

        Examples
        --------
        >>> from d3stats.worlds import Voter, simulate_debates
        >>> fit = calibrate(Voter, simulate_debates(Voter(panel=5), 50, 3, rng=1), n_rep=20, rng=1)
        >>> fit.study().names
        ('fixed:1', 'fixed:2', 'supermajority:0.8', 'unanimity', 'full')
        """
        if rules is None:
            n = int(self.world.panel)
            # Of two answers one always has half of the votes, so a camp of that size says nothing.
            least = (n + 1) // 2 + 1 if len(self.world.answers) == 2 else n // 2 + 1
            camps = [f"supermajority:{np.floor(100 * k / n) / 100:g}" for k in range(least, n)]
            rules = [*(f"fixed:{r}" for r in range(1, min(3, self.n_rounds))), *camps]
        world = replace(self.world, lengths=None) if hasattr(self.world, "lengths") else self.world
        return Study(
            worlds={f"{self.world.name} like the pilot": world},
            rules=rules,
            n_rounds=self.n_rounds,
            debates=debates,
            seeds=[seed],
        )

    def to_toml(self) -> str:
        """Return :meth:`study` as the file that ``d3stats simulate`` reads."""
        study = self.study()
        ((label, world),) = study.worlds.items()
        lines = [f"# {line}" for line in (self._title(), *self.untold)]
        lines.append(f"rules = {json.dumps(study.names)}")
        lines += [
            f"n_rounds = {study.n_rounds}",
            f"debates = {study.debates}",
            f"seeds = {list(study.seeds)}",
        ]
        return "\n".join([*lines, "", "[[worlds]]", f'label = "{label}"', to_toml(world)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the pilot against what the calibrated world predicts."""
        from d3stats.plotting import plot_predictive_check

        return plot_predictive_check(self.checks, ax=ax)


def _intervals(space: Space, x: Floats, sd: Floats, bse: Floats, level: float) -> Floats:
    """Return limits on the parameters' own scale, shape (parameters, 2); the whole range without an error."""
    known = np.isfinite(bse)
    limits = space.limits(x, sd, np.where(known, bse, 0.0), float(scipy.special.ndtri((1 + level) / 2)))
    result: Floats = np.where(known[:, None], limits, np.column_stack([space.low, space.high]))
    return result


def _wide(space: Space, intervals: Floats) -> NDArray[np.bool_]:
    """Say which intervals are so wide that the pilot says little."""
    return np.array(
        [_why_wide(space, i, *limits) is not None for i, limits in enumerate(intervals)], dtype=np.bool_
    )


def _why_wide(space: Space, i: int, low: float, high: float) -> str | None:
    """Return why an interval of one parameter is wide, by the kind of its range; None where it is not."""
    least, most, width = float(space.low[i]), float(space.high[i]), float(space.width[i])
    low, high = float(low), float(high)
    if np.isfinite(most):
        wide = high - low > 0.5 * (most - least)
        return f"covers more than half of the possible values, {least:g} to {most:g}" if wide else None
    if np.isfinite(least):
        wide = high - least > 10 * (low - least)
        above = "" if least == 0 else f", both counted from {least:g}"
        return f"has an upper limit above ten times the lower one{above}" if wide else None
    wide = high - low > 2 * width
    return f"is longer than {2 * width:g}, twice a large difference of such a parameter" if wide else None


def _template(world: World | type[World], pilot: Trajectories) -> Any:
    """Return the template world, after refusing what does not go together."""
    family: Any = world
    if isinstance(world, type) and issubclass(world, World):
        if not world.free:
            fitted = ", ".join(name for name, kind in world_types().items() if kind.free)
            raise TypeError(
                f"world must be one that can be calibrated; got {world.__name__}; choose among {fitted}"
            )
        family = family(panel=max(1, int(pilot.panel.max(initial=1))))
    if not isinstance(family, World):
        got = family.__name__ if isinstance(family, type) else repr(family)
        raise TypeError(f"world must be a World or a type of World; got {got}")
    _refuse(family, pilot)
    return family


def _refuse(world: Any, pilot: Trajectories) -> None:
    name, known = type(world).__name__, world.answers
    if pilot.n_rounds < 2:
        raise ValueError(f"pilot must have at least two rounds; got {pilot.n_rounds}")
    if (questions := len(np.unique(pilot.cluster))) < 2:
        raise ValueError(f"pilot must have at least two questions; got {questions}")
    if not (pilot.votes != MISSING).any():
        raise ValueError("pilot must hold at least one vote; got none")
    panels = sorted({int(n) for n in pilot.panel})
    if panels != [int(world.panel)]:
        raise ValueError(
            f"pilot must have the world's panel of {world.panel}; got panels of {', '.join(map(str, panels))}"
        )
    unlabelled = int((pilot.label == MISSING).sum())
    if world.points is None:
        if len(pilot.answers) > len(known) and unlabelled:
            raise ValueError(
                f"pilot must have a label in every debate, or at most the {len(known)} answers that {name} knows; "
                f"got {len(pilot.answers)} answers and {unlabelled} debates without a label"
            )
        return
    if pilot.scores is None or not np.isfinite(pilot.scores).any():
        raise ValueError(f"pilot must have scores, which {name} is fitted to; got none")
    if set(pilot.sides) != {"A", "B"}:
        raise ValueError(f"pilot must have scores of the sides A and B for {name}; got {pilot.sides}")
    if not set(pilot.answers) <= set(known):
        raise ValueError(f"pilot must have votes for {', '.join(known)} only; got {pilot.answers}")
    low, high = world.points
    lowest, highest = float(np.nanmin(pilot.scores)), float(np.nanmax(pilot.scores))
    if lowest < low or highest > high:
        raise ValueError(
            f"pilot must have scores in raw points from {low} to {high} for {name}; got {lowest:g} to {highest:g}"
        )


def _untold_by_search(
    space: Space, intervals: Floats, correlation: Floats, blind: NDArray[np.bool_], held: Any
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
            f"{', '.join(names[held])} ended at a bound, so there is no standard error and the interval is "
            "the whole range"
        )
    flat = blind & ~held
    if flat.any():
        notes.append(
            f"the pilot does not determine {', '.join(names[flat])}, neither alone nor separately; their "
            "values are near the start of the search"
        )
    weak = np.flatnonzero(~blind & _wide(space, intervals))
    if len(weak):
        by_reason: dict[str, list[str]] = {}
        for i in weak:
            low, high = intervals[i]
            by_reason.setdefault(str(_why_wide(space, int(i), low, high)), []).append(
                f"{names[i]} ({low:.3g} to {high:.3g})"
            )
        notes += [
            f"the pilot says little about {', '.join(listed)}, because {'its' if len(listed) == 1 else 'each'} 95 % "
            f"interval {reason}"
            for reason, listed in by_reason.items()
        ]
    alike = np.tril(np.abs(correlation) > _COLLINEAR, -1) & ~blind & ~blind[:, None]
    for i, j in np.argwhere(alike):
        notes.append(
            f"{names[j]} and {names[i]} are hard to separate, because their errors correlate "
            f"{correlation[i, j]:+z.2f}"
        )
    return notes


def _untold_by_pilot(
    world: Any, free: tuple[str, ...], pilot: Trajectories, seen: Observed, checks: pd.DataFrame, n_rep: int
) -> list[str]:
    """Say what logs of this kind, and this one, leave open."""
    notes = []
    labelled, questions = int(seen.labelled.sum()), len(np.unique(seen.cluster))
    if labelled == 0:
        notes.append(
            "no debate has a label, so a world with right and wrong exchanged fits as well; the estimates "
            "stay on the template's side, and accuracy is an assumption of the world"
        )
    elif labelled < pilot.n_debates:
        notes.append(f"{pilot.n_debates - labelled} of {pilot.n_debates} debates have no label")
    if questions < _FEW_QUESTIONS:
        notes.append(
            f"{questions} questions are few; standard errors and intervals assume many questions and are "
            "too small here"
        )
    if questions < pilot.n_debates:
        notes.append(
            f"{pilot.n_debates} debates are on {questions} questions; errors are clustered by question, "
            "while the world draws a new question for each debate"
        )
    if len(pilot.answers) > len(world.answers):
        notes.append(
            f"{len(pilot.answers)} answers occur and the world has {len(world.answers)}; wrong votes are "
            "treated as one camp"
        )
    missing = 1 - seen.cast.sum() / (pilot.panel * pilot.depth).sum()
    if missing > 0:
        notes.append(
            f"{percent(missing, digits=1)} of the votes are missing and assumed to be missing at random"
        )
    least = 2 / (n_replicates(n_rep) + 1)
    if least >= _OFF:
        needed = next(n for n in range(n_rep, 3 + round(2 / _OFF)) if 2 / (n_replicates(n) + 1) < _OFF)
        notes.append(
            f"with n_rep={n_rep} no p-value of the checks can be below {least:z.3f}, so no check can fail "
            f"(p < {_OFF:g}); take n_rep={needed} or more"
        )
    off = checks[checks["p_value"] < _OFF]
    if len(off):
        worst = ", ".join(f"{s} in round {r}" for s, r in zip(off["statistic"], off["round"], strict=True))
        notes.append(f"this world does not reproduce the pilot's {worst}, so do not plan with it")
    notes += world.untold(free, labelled > 0)
    return notes


def calibrate(
    world: World | type[World],
    pilot: LogSource,
    *,
    free: Sequence[str] | None = None,
    method: Literal["auto"] | Method = "auto",
    n_sim: int = 3_000,
    n_starts: int = 3,
    n_rep: int = 400,
    rng: RngLike = None,
    **reading: Unpack[Reading],
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
        Parameters to fit in place of the default ones, which are those that such a log determines. Vectors are freed as
        a whole: ``"means"`` makes ``means_1, means_2``. A courtroom's ``"mean_gap"`` scales the gaps of all its
        categories.
    method : {"auto", "likelihood", "simulated_moments"}
        Method of the fit; "auto" takes the likelihood wherever the exact law of the counts is known. See
        :func:`~d3stats.worlds.count_process`.
    n_sim : int
        Debates simulated at each point of a fit by moments, rounded to a multiple of the pilot's; at least two
        for each of its debates.
    n_starts : int
        Climbs of the likelihood, from the template and from around it.
    n_rep : int
        Replicated pilots of the checks, rounded up to a multiple of 4. A check fails at p < .01, so it cannot fail with
        fewer than 200 (the notes then say so).
    rng : Generator, int or None
        Source of the random draws; one seed gives one result.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        For a parameter that the world does not have, a pilot of one question or one round, or a panel of another
        size. Also for a world of scores and a pilot without scores, or more answers than the world has and no labels.

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
    >>> from d3stats.worlds import simulate_debates
    >>> from d3stats.worlds import Voter
    >>> pilot = simulate_debates(Voter(panel=7, accuracy=0.7), n_debates=200, n_rounds=4, rng=1)
    >>> fit = calibrate(Voter, pilot, n_rep=40, rng=1)
    >>> fit.method, bool(abs(fit.params["accuracy"] - 0.7) < 3 * fit.bse["accuracy"])
    ('likelihood', True)
    """
    choice("method", method, ("auto", "likelihood", "simulated_moments"))
    integer("n_sim", n_sim, minimum=100)
    integer("n_starts", n_starts, minimum=1)
    integer("n_rep", n_rep, minimum=20)
    pilot = as_trajectories(pilot, **reading)
    stream = as_rng(rng)
    template = _template(world, pilot)
    space = Space(template, default_free(template) if free is None else free)
    seen = observe(template, pilot)
    fit, remarks = _fitted(space, pilot, seen, method, n_sim, n_starts, stream)
    return _result(space, pilot, seen, fit, remarks, n_rep, stream)


def _fitted(
    space: Space,
    pilot: Trajectories,
    seen: Observed,
    method: str,
    n_sim: int,
    n_starts: int,
    rng: np.random.Generator,
) -> tuple[Fit, list[str]]:
    remarks: list[str] = []
    name = type(space.template).__name__
    if method != "simulated_moments":
        if is_exact(space, pilot.n_rounds):
            fit = fit_likelihood(space, seen, rng, n_starts)
            if isinstance(fit, Fit):
                return fit, remarks
            if method == "likelihood":
                raise ValueError(f"pilot must be possible in the world; got {fit} {name} never makes")
            remarks.append(f"{fit} {name} never makes; it is fitted by moments and is not the pilot's world")
        elif method == "likelihood":
            raise ValueError(
                f"method must be 'simulated_moments' for {name} with {', '.join(space.free)} free, whose "
                "count is not a finite mixture of Markov chains; got 'likelihood'"
            )
    if len(set(pilot.depth.tolist())) > 1:
        raise ValueError(
            "pilot must have one depth for a fit by moments, because stopping changes the moments; got "
            "depths from "
            f"{pilot.depth.min()} to {pilot.depth.max()}"
        )
    size = max(2, round(n_sim / pilot.n_debates)) * pilot.n_debates
    return fit_moments(space, pilot, seen, size, rng), remarks


def _result(
    space: Space,
    pilot: Trajectories,
    seen: Observed,
    fit: Fit,
    remarks: list[str],
    n_rep: int,
    rng: np.random.Generator,
) -> Calibration:
    x, names, world, held = fit.x, list(space.names), space.world(fit.x), space.on_bound(fit.x)
    jacobian = space.jacobian(x)
    cov = jacobian @ fit.covariance @ jacobian.T
    spread = np.sqrt(np.maximum(np.diag(cov), 0.0))
    spread = np.where(spread > 0, spread, 1.0)
    correlation = cov / np.outer(spread, spread)
    cov[fit.blind, fit.blind] = np.inf
    bse, sd = np.sqrt(np.diag(cov)), np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    checks = predictive_checks(space, x, fit.covariance, pilot, seen, n_rep, rng)
    if fit.j_test is not None and fit.j_test.df > 0 and fit.j_test.p_value < 0.01:
        j, df, p = fit.j_test
        remarks.append(
            f"no parameters give all moments of the pilot (J = {j:z.1f} on {df} degrees of "
            f"freedom, p = {p:.2g}), so this is not the pilot's world"
        )
    if not fit.converged:
        remarks.append(
            "the search did not converge; try another template, fewer free parameters or more debates"
        )
    limits = _intervals(space, x, sd, bse, 0.95)
    remarks += _untold_by_search(space, limits, correlation, fit.blind, held)
    return Calibration(
        world=world,
        params=pd.Series(space.values(x), index=names, name="estimate"),
        bse=pd.Series(bse, index=names, name="bse"),
        cov=pd.DataFrame(cov, index=names, columns=names),
        method="simulated_moments" if fit.llf is None else "likelihood",
        converged=fit.converged,
        boundary=tuple(name for name, on in zip(names, held, strict=True) if on),
        llf=fit.llf,
        j_test=fit.j_test,
        checks=checks,
        untold=(
            *pilot.remarks(),
            *remarks,
            *_untold_by_pilot(world, space.free, pilot, seen, checks, n_rep),
        ),
        n_debates=pilot.n_debates,
        n_questions=len(np.unique(seen.cluster)),
        n_rounds=pilot.n_rounds,
        _space=space,
        _x=x,
        _sd=sd,
    )
