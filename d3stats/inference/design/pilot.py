"""From a pilot: how many questions a comparison takes, and how sure that number is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import integer, number, probability
from d3stats.estimate import Estimate, estimates_frame, estimates_latex
from d3stats.inference.design.laws import rising_root
from d3stats.inference.design.pilot_spread import intraclass, sd_limits
from d3stats.inference.design.plan import Alternative, Goal, Target, target
from d3stats.inference.shares.clusters import FEW

if TYPE_CHECKING:
    from d3stats.inference.runs import PairedRuns

__all__ = ["PilotPlan", "plan_comparison"]

Floats = NDArray[np.float64]
KIND = "chi-square of the variance, kurtosis-adjusted"


@dataclass(frozen=True, kw_only=True)
class PilotPlan:
    """What a pilot says about the size of a comparison.

    Attributes
    ----------
    questions : Estimate or None
        Questions needed for `effect`, rounded up, with limits; None without an effect.
    detectable : Estimate
        Smallest effect (or margin, where the goal has one) that `n_questions` questions show, with limits.
    found : Estimate
        The pilot's own difference; it is not the effect to plan for.
    sd : Estimate
        Standard deviation of a question's mean difference, from which the others follow, with its limits.
    effect, margin : float or None
    n_questions : int
        Questions that `detectable` is for.
    items_per_question : float
        Mean over the pilot; a comparison with more items to a question needs fewer questions.
    icc : float or None
        Correlation of the differences of two items of one question; None where a question is one item.
    discordance : float or None
        Share of items on which the runs differ; None unless all are right or wrong.
    goal, alternative : str
    power, alpha, level : float
    notes : tuple of str
    """

    questions: Estimate | None
    detectable: Estimate
    found: Estimate
    sd: Estimate
    effect: float | None
    margin: float | None
    n_questions: int
    items_per_question: float
    icc: float | None
    discordance: float | None
    goal: str
    alternative: str
    power: float
    alpha: float
    level: float
    notes: tuple[str, ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The questions needed, if an effect was given, what can be detected, the noise, and what was found."""
        first = () if self.questions is None else (self.questions,)
        return (*first, self.detectable, self.sd, self.found)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate, columns as of :class:`~d3stats.estimate.Estimate`."""
        return estimates_frame(self.estimates)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        names = ("effect", "margin", "n_questions", "items_per_question", "icc", "discordance", "goal")
        rest = {name: getattr(self, name) for name in (*names, "alternative", "power", "alpha", "level")}
        questions = None if self.questions is None else self.questions.to_dict()
        parts = {"detectable": self.detectable, "sd": self.sd, "found": self.found}
        estimates = {name: value.to_dict() for name, value in parts.items()}
        return {"questions": questions, **estimates, **rest, "notes": list(self.notes)}

    def to_latex(self) -> str:
        """Return a booktabs tabular of the estimates."""
        return estimates_latex(self.estimates)

    def __str__(self) -> str:
        lines = []
        shown = f"with power {self.power:.3g} ({self.goal}, alpha {self.alpha:g})"
        if self.questions is not None:
            q, room = self.questions, "" if self.margin is None else f" and a margin of {self.margin:.4g}"
            lines.append(
                f"{q.value:.0f} [{q.low:.0f}, {q.high:.0f}] questions for "
                f"a difference of {self.effect:.4g}{room} {shown}"
            )
        d = self.detectable
        lines.append(
            f"{self.n_questions} questions: {d.name} {d.value:.4g} [{d.low:.4g}, {d.high:.4g}] {shown}"
        )
        lines.append(
            f"from a pilot of {self.found.n_clusters} questions of {self.items_per_question:.3g} items; "
            f"limits: {100 * self.level:.6g} % {KIND}"
        )
        lines.append(str(self.found))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def plan_comparison(
    pilot: PairedRuns | ArrayLike,
    effect: float | None = None,
    *,
    cluster: ArrayLike | None = None,
    n_questions: int | None = None,
    goal: Goal = "difference",
    margin: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
) -> PilotPlan:
    """Return how many questions a comparison needs, with the noise of a pilot and how sure that is.

    The noise is the variance of questions' mean differences, with everything that hangs together in a question in it:
    no discordance, correlation or design effect has to be assumed. It is an estimate too; its limits are those of a
    chi-square whose degrees of freedom are lowered where the differences have heavy tails (as few discordant items
    among many have), and every number of questions follows from them.

    Parameters
    ----------
    pilot : PairedRuns or array of float, shape (items,)
        Two runs side by side (the second less the first is planned for), or their differences by item.
    effect : float, optional
        Difference to plan for, in the units of the values. Not the one that the pilot found, which is noisy and, in
        pilots that lead to something, too large; without one, only what can be detected is said.
    cluster : array, shape (items,), optional
        Question of each difference, with arrays only; by default each item is its own.
    n_questions : int, optional
        Questions for which to say what can be detected; by default the pilot's.
    goal, margin, power, alpha, alternative
        What is to be shown, as for :func:`~d3stats.inference.power.sample_size`.
    level : float
        Of the limits.

    Returns
    -------
    PilotPlan

    Raises
    ------
    ValueError
        When the pilot has fewer than three questions, or every question shows the same difference.

    Notes
    -----
    With influence values e_g the variance is sum(e_g^2)/(G - 1), and its degrees of freedom are
    2G / (kurtosis - (G - 3)/(G - 1)), at most G - 1, which they are for normal e (after Bonett 2006, Computational
    Statistics and Data Analysis 50, 775).

    Examples
    --------
    >>> import numpy as np
    >>> differences = np.repeat([1.0, -1.0, 0.0], [14, 6, 60])
    >>> print(plan_comparison(differences, 0.1))
    193 [138, 291] questions for a difference of 0.1 with power 0.8 (difference, alpha 0.05)
    80 questions: smallest effect 0.1563 [0.1317, 0.1923] with power 0.8 (difference, alpha 0.05)
    from a pilot of 80 questions of 1 items; limits: 95 % chi-square of the variance, kurtosis-adjusted
    pilot's difference: 0.100 [-0.010, 0.210] (95 % cluster t, n = 80 in 80 clusters)
    """
    level = probability("level", level, open_interval=True)
    chance = probability("power", power, open_interval=True)
    asks_margin = goal != "difference" and effect is None
    wanted = target(goal, margin, alpha, alternative, asks_margin=asks_margin)
    if chance <= alpha:
        raise ValueError(f"power must be > alpha; got power={power}, alpha={alpha}")
    if effect is not None:
        effect = number("effect", effect)
        wanted.refuse_hopeless(effect)
    diff, codes, n_runs_note, binary = _differences(pilot, cluster)
    size = np.bincount(codes)
    n_clusters = len(size)
    if n_clusters < 3:
        raise ValueError(
            "a pilot must have at least three questions, for nothing says how questions vary in fewer; "
            f"got {n_clusters}"
        )
    mean = float(diff.mean())
    influence = (np.bincount(codes, weights=diff) - size * mean) * n_clusters / len(diff)
    variance = float(influence @ influence) / (n_clusters - 1)
    if variance <= 1e-24 * max(float(np.abs(diff).max()) ** 2, 1e-300):
        raise ValueError(
            f"the pilot's questions must differ; got the same difference, {mean:.4g}, in all {n_clusters}: "
            "nothing says how questions vary"
        )
    sds = sd_limits(variance, influence, level)
    at = n_clusters if n_questions is None else integer("n_questions", n_questions, minimum=2)
    shared: dict[str, Any] = {"kind": KIND, "n": len(diff), "n_clusters": n_clusters, "level": level}
    needed = None
    if effect is not None:
        low, value, high = (float(math.ceil(_needed(effect, sd, wanted, chance) - 1e-9)) for sd in sds)
        needed = Estimate(name="questions", value=value, low=low, high=high, **shared)
    low, value, high = (_detectable(at, sd, wanted, chance, 0.0 if effect is None else effect) for sd in sds)
    what = "smallest effect" if goal == "difference" else "smallest margin"
    return PilotPlan(
        questions=needed,
        detectable=Estimate(name=what, value=value, low=low, high=high, **shared),
        found=_found(diff, codes, level),
        sd=Estimate(name="sd of a question", value=sds[1], low=sds[0], high=sds[2], **shared),
        effect=effect,
        margin=margin,
        n_questions=at,
        items_per_question=len(diff) / n_clusters,
        icc=intraclass(diff, codes, size),
        discordance=float(np.mean(diff != 0)) if binary else None,
        goal=goal,
        alternative=alternative,
        power=chance,
        alpha=alpha,
        level=level,
        notes=_notes(n_clusters, diff, binary, n_runs_note),
    )


def _differences(pilot: Any, cluster: ArrayLike | None) -> tuple[Floats, NDArray[np.int64], str, bool]:
    if hasattr(pilot, "values") and hasattr(pilot, "names") and hasattr(pilot, "cluster"):
        if cluster is not None:
            raise ValueError("cluster must be left out with paired runs, which bring their own; got both")
        first, second, *more = pilot.names
        note = f"planned for {second} less {first}"
        note += f"; {len(more)} more runs were not looked at" if more else ""
        values = np.asarray(pilot.values, dtype=np.float64)
        return values[1] - values[0], _coded(pilot.cluster), note, bool(pilot.binary)
    diff = np.asarray(pilot, dtype=np.float64)
    if diff.ndim != 1 or diff.size == 0:
        raise ValueError(f"pilot must be differences, one per item; got an array of shape {diff.shape}")
    if not np.isfinite(diff).all():
        raise ValueError(
            f"pilot must be finite; got {diff[row := int(np.argmin(np.isfinite(diff)))]!r} at row {row}"
        )
    codes = np.arange(diff.size) if cluster is None else _coded(cluster)
    if codes.size != diff.size:
        raise ValueError(f"cluster must have one name per difference ({diff.size}); got {codes.size}")
    return diff, codes, "", bool(np.isin(diff, (-1.0, 0.0, 1.0)).all())


def _coded(cluster: ArrayLike) -> NDArray[np.int64]:
    codes, _ = pd.factorize(np.asarray(cluster))
    if (codes < 0).any():
        raise ValueError(f"cluster must name every item; got a missing name at row {int(np.argmin(codes))}")
    return codes.astype(np.int64)


def _needed(effect: float, sd: float, wanted: Target, chance: float) -> float:
    found = rising_root(lambda n: wanted.t_power(effect, sd, n), chance, 2.0, None)
    if found is None:
        raise ValueError(
            f"effect must be larger: more than 10^15 questions would be needed at effect={effect}"
        )
    return found


def _detectable(n: int, sd: float, wanted: Target, chance: float, effect: float) -> float:
    if wanted.goal == "difference":
        found = rising_root(lambda d: wanted.t_power(d * sd, sd, n), chance, 0.0, None)
    else:
        found = rising_root(lambda d: wanted.t_power(effect, sd, n, d * sd), chance, 0.0, None)
    assert found is not None
    return found * sd


def _found(diff: Floats, codes: NDArray[np.int64], level: float) -> Estimate:
    from d3stats.resampling import cluster_t, cluster_totals, ratios

    totals = cluster_totals(np.column_stack([diff, np.ones(len(diff))]), codes)
    t = cluster_t(totals, ratios((0, 1)), level=level)
    low, high = t.interval()
    return Estimate(
        name="pilot's difference",
        value=float(t.estimate[0]),
        low=low,
        high=high,
        se=float(t.se[0]),
        kind="cluster t",
        n=len(diff),
        n_clusters=len(totals),
        level=level,
        note=t.reasons[0],
    )


def _notes(n_clusters: int, diff: Floats, binary: bool, first: str) -> tuple[str, ...]:
    notes = [first] if first else []
    if n_clusters < FEW:
        notes.append(f"a pilot of {n_clusters} questions hardly says how questions vary")
    if binary and (discordant := int(np.count_nonzero(diff))) < FEW:
        notes.append(f"only {discordant} items on which the runs differ: the limits are rough")
    return tuple(notes)
