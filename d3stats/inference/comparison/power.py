"""Size and power of a comparison of two protocols on the same questions.

The noise is that of the *difference*: with right-or-wrong items its variance is discordance - effect^2, so that two
protocols that fail on the same items need few of them, however hard the items are. Right-or-wrong items, one to a
question, use McNemar's unconditional power, and say what the exact and mid-p tests really have, added up over all
tables (:func:`mcnemar_power`). Everything else uses the t test of questions' mean differences with questions - 1
degrees of freedom and the noncentral t law. Several items to a question multiply the variance by
1 + (cluster_size - 1) icc, repeats likewise. Questions of unequal size count as fewer equal ones.

References
----------
Miettinen (1968), Biometrics 24, 339; Connor (1987), Biometrics 43, 207 (McNemar). Schuirmann (1987), Journal of
Pharmacokinetics and Biopharmaceutics 15, 657 (equivalence). Kish (1965), Survey Sampling (design effect).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import as_share, choice, integer, number, positive, probability, refuse_infinite
from d3stats._words import counted, setting
from d3stats.estimate import Estimate
from d3stats.inference.comparison.pair_data import changes_of
from d3stats.inference.comparison.power_laws import (
    connor_power,
    connor_size,
    mcnemar_power,
    rising_root,
    t_power,
    tost_power,
)
from d3stats.note import around
from d3stats.resampling.clusters import FEW_CLUSTERS, anova_sums, cluster_codes, intraclass, mean_squares
from d3stats.resampling.degrees import LEAST_EFFECTIVE, effective_clusters, too_unequal
from d3stats.result import EstimatesResult, Result

if TYPE_CHECKING:
    from d3stats.inputs.runs import PairedRuns

__all__ = [
    "Alternative",
    "Design",
    "Goal",
    "PilotPlan",
    "PowerPlan",
    "mcnemar_power",
    "minimum_detectable_effect",
    "plan_comparison",
    "power",
    "sample_size",
]

Goal = Literal["difference", "non-inferiority", "equivalence"]
Alternative = Literal["two-sided", "one-sided"]
_NOISE = (
    "sd",
    "discordance",
    "accuracy",
    "correlation",
    "icc",
    "cluster_size",
    "size_cv",
    "repeats",
    "repeat_icc",
)
_ROUNDING = 1e-9
"""By how much shares and correlations may pass their bounds before they are taken as impossible."""
_APART = 0.02
"""How far the formula's power may lie from the mid-p test's without a note."""
_ENUMERATED = 1_000_000
"""Items up to which exact power is added up."""


class DesignSettings(TypedDict, total=False):
    """The keywords of :class:`Design`, as the functions of this module take them."""

    sd: float | None
    discordance: float | None
    accuracy: float | None
    correlation: float | None
    icc: float | None
    cluster_size: int
    size_cv: float
    repeats: int
    repeat_icc: float | None
    goal: Goal
    margin: float | None
    alpha: float
    alternative: Alternative


@dataclass(frozen=True, kw_only=True)
class Design:
    """A planned comparison: the noise of its differences, the correlations of items and repeats, and the goal.

    Parameters
    ----------
    sd : float, optional
        Standard deviation of one paired difference (one item, one repeat), in the units of the effect.
    discordance : float, optional
        Share of items that exactly one of the two protocols gets right, in place of `sd` (right-or-wrong items).
    accuracy : float, optional
        Accuracy of the first protocol, in place of `discordance`, which follows from it and `correlation`. With
        `discordance` it checks that both are possible together.
    correlation : float, optional
        With `accuracy`: correlation between the two protocols of being right; 0 unless given.
    icc : float, optional
        Correlation of the differences of two items of one question, in [0, 1]; needed with several.
    cluster_size : int
        Items to a question, on average.
    size_cv : float
        Standard deviation of the number of items to a question over its mean; 0 where all have as many. G questions
        then count as G / (1 + size_cv^2) equal ones (Kish, 1965).
    repeats : int
        Runs of every item by both protocols.
    repeat_icc : float, optional
        Correlation of the differences of two repeats of one item; `icc` where a question is one item.
    goal : {"difference", "non-inferiority", "equivalence"}
        What is to be shown: a difference, that the second is not worse by `margin` or more, or that it is neither worse
        nor better by it (two one-sided tests).
    margin : float, optional
        Margin of non-inferiority or equivalence, above 0 and in the units of the effect; left out where
        :meth:`detectable` looks for the smallest.
    alpha : float
        Size of each test: an equivalence at 0.05 goes with a 90 % interval.
    alternative : {"two-sided", "one-sided"}
        Alternative hypothesis of the test of a difference; the other goals test one side at a time.

    Raises
    ------
    ValueError
        When the noise is not given in one way, or parts contradict each other.

    Examples
    --------
    >>> design = Design(discordance=0.15, cluster_size=5, icc=0.2)
    >>> design.sample_size(0.03).n_questions, round(design.detectable(471).effect, 3)
    (471, 0.03)
    >>> round(design.power(0.03, 200).power, 3)
    0.445
    >>> once = Design(discordance=0.15)
    >>> round(once.questions(0.05, 0.8), 1), round(once.power_at(0.05, 472), 3), round(once.smallest(472, 0.8), 4)
    (468.6, 0.803, 0.0498)
    >>> round(once.variance(0.05), 4), round(once.question_variance(0.05), 4), once.largest_effect()
    (0.1475, 0.1475, 0.15)
    >>> rated = Design(accuracy=0.8, correlation=0.5)
    >>> round(rated.discordance_at(0.05), 4), [round(r, 3) for r in rated.correlations_at(0.05)]
    (0.1472, [-0.21, 0.84])
    """

    sd: float | None = None
    discordance: float | None = None
    accuracy: float | None = None
    correlation: float | None = None
    icc: float | None = None
    cluster_size: int = 1
    size_cv: float = 0.0
    repeats: int = 1
    repeat_icc: float | None = None
    goal: Goal = "difference"
    margin: float | None = None
    alpha: float = 0.05
    alternative: Alternative = "two-sided"

    def __post_init__(self) -> None:
        self._check_noise()
        self._set_correlations()
        choice("goal", self.goal, ("difference", "non-inferiority", "equivalence"))
        choice("alternative", self.alternative, ("two-sided", "one-sided"))
        probability("alpha", self.alpha, open_interval=True)
        if self.goal == "difference" and self.margin is not None:
            wanted = f"{setting('goal', 'non-inferiority')} or {setting('goal', 'equivalence')}"
            raise ValueError(f"margin must come with {wanted}; got margin={self.margin} for a difference")

    def _check_noise(self) -> None:
        sd, discordance, accuracy, correlation = self.sd, self.discordance, self.accuracy, self.correlation
        if (sd is None) == (discordance is None and accuracy is None):
            raise ValueError(
                "the noise must be given as sd= (of one paired difference), as discordance= or as accuracy=, "
                f"and scores by sd= alone; got sd={sd}, discordance={discordance}, accuracy={accuracy}"
            )
        if sd is not None:
            positive("sd", sd)
        if discordance is not None and not 0 < number("discordance", discordance) <= 1:
            raise ValueError(f"discordance must lie in (0, 1]; got discordance={discordance}")
        if accuracy is not None:
            probability("accuracy", accuracy)
        if correlation is not None:
            if accuracy is None or discordance is not None:
                wanted = "accuracy= and without discordance=, because accuracy= determines the discordance"
                raise ValueError(f"correlation must come with {wanted}")
            if not -1 <= number("correlation", correlation) < 1:
                raise ValueError(f"correlation must lie in [-1, 1); got correlation={correlation}")

    def _set_correlations(self) -> None:
        """Check the correlations of items and of repeats; one that was left out, or plays no part, counts as 0."""
        icc, repeat_icc = self.icc, self.repeat_icc
        m = integer("cluster_size", self.cluster_size, minimum=1)
        r = integer("repeats", self.repeats, minimum=1)
        if number("size_cv", self.size_cv) < 0:
            raise ValueError(f"size_cv must be at least 0; got {self.size_cv}")
        if m > 1 and icc is None:
            raise ValueError(
                f"icc must be given with cluster_size={m}; it is the correlation between differences of "
                "one question (0: another item of the question counts fully, 1: not at all)"
            )
        if r > 1 and repeat_icc is None and (m > 1 or icc is None):
            raise ValueError(
                f"repeat_icc must be given with repeats={r}; it is the correlation between repeats of one "
                "item (0: a repeat counts like a new item, 1: not at all)"
            )
        between = 0.0 if icc is None else probability("icc", icc)
        if m == 1 and r == 1 and between > 0:
            got = "got one item per question, run once"
            raise ValueError(f"icc must come with cluster_size > 1 or repeats > 1; {got}")
        again = between if repeat_icc is None else probability("repeat_icc", repeat_icc)
        if r > 1 and m > 1 and again < between:
            why = "because repeats of an item belong to one question"
            raise ValueError(f"repeat_icc must be >= icc, {why}; got {again} < {between}")
        object.__setattr__(self, "icc", between if m > 1 else 0.0)
        object.__setattr__(self, "repeat_icc", again if r > 1 else 0.0)

    def sample_size(self, effect: float, *, power: float = 0.8) -> PowerPlan:
        """Return how many questions show a true difference with a given power; see :func:`sample_size`."""
        chance, effect = self._chance(power), self._checked(effect)
        self._refuse_hopeless(effect)
        unrounded = self.questions(effect, chance)
        return self._plan("sample size", effect, max(math.ceil(unrounded - 1e-9), 1), chance, unrounded)

    def power(self, effect: float, n_questions: int) -> PowerPlan:
        """Return the chance that so many questions show a true difference; see :func:`power`."""
        n, effect = integer("n_questions", n_questions, minimum=2), self._checked(effect)
        return self._plan("power", effect, n, self.power_at(effect, n))

    def detectable(self, n_questions: int, *, power: float = 0.8, effect: float = 0.0) -> PowerPlan:
        """Return the smallest effect or margin that so many questions show; see :func:`minimum_detectable_effect`."""
        self._refuse_margin()
        n, chance = integer("n_questions", n_questions, minimum=2), self._chance(power)
        effect = number("effect", effect)
        self._check(effect)
        if self.goal == "difference" and effect != 0:
            where = "if the smallest one is requested"
            raise ValueError(f"effect must be left out {where}; got effect={effect}")
        found = self.smallest(n, chance, effect)
        if found is None:
            most = self.largest_effect() or 0.0
            raise ValueError(
                f"n_questions must be larger: with {n} even the largest possible difference, {most:.4g}, "
                f"is found with power {self.power_at(most, n):.3g} < {chance:g}"
            )
        if self.goal == "difference":
            return self._plan("minimum detectable effect", found, n, chance)
        return replace(self, margin=found)._plan("smallest margin", effect, n, chance)

    @property
    def simple(self) -> bool:
        """Whether every question is one item, run once: McNemar's setting when items are right or wrong."""
        return self.cluster_size == 1 and self.repeats == 1 and self.size_cv == 0

    @property
    def sides(self) -> int:
        """Tails of the test."""
        return 2 if self.goal == "difference" and self.alternative == "two-sided" else 1

    @property
    def test(self) -> str:
        """The name of the test that is planned for."""
        if self.goal == "difference" and self.sd is None and self.simple:
            return "McNemar"
        return "paired t" if self.simple else "cluster t"

    @property
    def design_effect(self) -> float:
        """By how much the variance of the mean exceeds that of as many independent differences."""
        m, r = self.cluster_size * (1 + self.size_cv**2), self.repeats
        return 1 + (r - 1) * (self.repeat_icc or 0.0) + r * (m - 1) * (self.icc or 0.0)

    def power_at(self, effect: float, n_questions: float, margin: float | None = None) -> float:
        """Return the power of the test at a size and an effect; with `margin` in place of the design's own."""
        if self.test == "McNemar":
            return connor_power(effect, self.discordance_at(effect), n_questions, self.alpha, self.sides)
        equal = n_questions / (1 + self.size_cv**2)
        if equal < LEAST_EFFECTIVE * (1 - _ROUNDING):
            # Such a comparison prints no test.
            return 0.0
        df, se = max(equal - 1, 1.0), math.sqrt(self.question_variance(effect) / n_questions)
        if self.goal == "difference":
            reach = abs(effect) if self.sides == 2 else effect
            return float(reach > 0) if se == 0 else t_power(reach / se, df, self.alpha, self.sides)
        room = self.margin if margin is None else margin
        assert room is not None
        above, below = effect + room, room - effect
        if se == 0:
            return float(above > 0 and (self.goal == "non-inferiority" or below > 0))
        if self.goal == "non-inferiority":
            return t_power(above / se, df, self.alpha, 1)
        return tost_power(above / se, below / se, df, self.alpha)

    def questions(self, effect: float, chance: float) -> float:
        """Return how many questions give the test this chance, not rounded."""
        if self.test == "McNemar":
            return connor_size(effect, self.discordance_at(effect), self.alpha, chance, self.sides)
        found = rising_root(lambda n: self.power_at(effect, n), chance, 2.0)
        if found is None:
            needed = "more than 10^15 questions would be needed"
            raise ValueError(f"effect must be larger: {needed} at effect={effect}")
        return found

    def smallest(self, n_questions: int, chance: float, effect: float = 0.0) -> float | None:
        """Return the smallest effect, or the smallest margin at an effect, that is shown with this chance."""
        scale = self.sd or 1.0
        if self.goal == "difference":
            most = self.largest_effect()
            return rising_root(lambda d: self.power_at(d, n_questions), chance, 0.0, most, start=scale)
        return rising_root(lambda m: self.power_at(effect, n_questions, m), chance, 0.0, start=scale)

    def discordance_at(self, effect: float) -> float:
        """Return the discordance when the second protocol is better by `effect`."""
        if self.discordance is not None:
            return max(self.discordance, abs(effect))
        assert self.accuracy is not None
        a, b = self.accuracy, min(max(self.accuracy + effect, 0.0), 1.0)
        covariance = (self.correlation or 0.0) * math.sqrt(a * (1 - a) * b * (1 - b))
        # At the largest correlation that can be, the discordance is |effect|, which rounding must not undercut.
        return max(a * (1 - b) + b * (1 - a) - 2 * covariance, abs(effect))

    def correlations_at(self, effect: float) -> tuple[float, float]:
        """Return the least and largest correlation of two runs so far apart; both 0 where one is constant."""
        assert self.accuracy is not None
        a, b = self.accuracy, min(max(self.accuracy + effect, 0.0), 1.0)
        scale = math.sqrt(a * (1 - a) * b * (1 - b))
        if scale == 0:
            return 0.0, 0.0
        # No share of items (both right, both wrong, one right) can be below 0.
        return -min(a * b, (1 - a) * (1 - b)) / scale, min(a * (1 - b), b * (1 - a)) / scale

    def variance(self, effect: float) -> float:
        """Return the variance of one paired difference."""
        if self.sd is not None:
            return self.sd**2
        return max(self.discordance_at(effect) - effect**2, 0.0)

    def question_variance(self, effect: float) -> float:
        """Return the variance of one question's mean difference."""
        return self.variance(effect) * self.design_effect / (self.cluster_size * self.repeats)

    def largest_effect(self) -> float | None:
        """Return the largest effect that there can be; None when there is no bound."""
        if self.sd is not None:
            return None
        room = 1.0 if self.accuracy is None else 1.0 - self.accuracy
        a, rho = self.accuracy, self.correlation
        if a is not None and rho:
            # Where correlations_at reaches rho: further up no two runs are so much, or so little, alike.
            most = a / (a + rho**2 * (1 - a)) if rho > 0 else (1 - a) / (1 - a + rho**2 * a)
            room = min(room, most - a)
        return room if self.discordance is None else min(self.discordance, room)

    def _check(self, effect: float) -> None:
        """Refuse an effect that the discordance or the accuracy cannot have."""
        if self.sd is not None:
            return
        a = self.accuracy
        if a is not None and not 0 <= a + effect <= 1:
            raise ValueError(
                f"accuracy + effect must lie between 0 and 1; got accuracy={a}, effect={effect}{as_share(effect)}"
            )
        psi = self.discordance
        if psi is None:
            self._check_correlation(effect)
            return
        if abs(effect) > psi + _ROUNDING:
            raise ValueError(
                "discordance must be >= |effect|, because only discordant items make a difference; got "
                f"discordance={psi}, effect={effect}"
            )
        if a is not None:
            b = a + effect
            most = min(a + b, 2 - a - b)
            if psi > most + 1e-12:
                raise ValueError(
                    f"discordance must be <= {most:.6g} at accuracies {a:.6g} and {b:.6g}; got {psi}"
                )

    def _check_correlation(self, effect: float) -> None:
        rho = self.correlation
        if not rho:
            return
        assert self.accuracy is not None
        at = f"at accuracies {self.accuracy:.6g} and {self.accuracy + effect:.6g}"
        least, most = self.correlations_at(effect)
        if least - _ROUNDING <= rho <= most + _ROUNDING:
            return
        if least == most:
            raise ValueError(
                f"correlation must be left out {at}, because a run that is always right or always wrong "
                f"has no correlation; got correlation={rho:g}"
            )
        raise ValueError(f"correlation must lie in [{least:.4g}, {most:.4g}] {at}; got correlation={rho:g}")

    def _refuse_hopeless(self, effect: float) -> None:
        """Refuse an effect that no number of items can show."""
        if self.goal == "difference":
            if effect == 0:
                raise ValueError("effect must not be 0, because no number of items detects a difference of 0")
            if self.alternative == "one-sided" and effect < 0:
                raise ValueError(f"effect must be > 0 for a one-sided test; got effect={effect}")
            return
        margin = self._needed_margin()
        if effect <= -margin or (self.goal == "equivalence" and effect >= margin):
            inside = "inside the margin, because otherwise the statement is false"
            raise ValueError(f"effect must lie {inside}; got effect={effect}, margin={margin}")

    def _refuse_margin(self) -> None:
        """Refuse a margin where the smallest one is looked for."""
        if self.margin is not None:
            raise ValueError(f"margin must be left out if the smallest one is requested; got {self.margin}")

    def _needed_margin(self) -> float:
        if self.margin is None or number("margin", self.margin) <= 0:
            raise ValueError(f"margin must be > 0 for {self.goal}; got margin={self.margin}")
        return self.margin

    def _checked(self, effect: float) -> float:
        """Return an effect that there can be, of a design that is complete."""
        if self.goal != "difference":
            self._needed_margin()
        effect = number("effect", effect)
        self._check(effect)
        return effect

    def _chance(self, power: float) -> float:
        """Return a power that is more than the size of the test."""
        chance = probability("power", power, open_interval=True)
        if chance <= self.alpha:
            raise ValueError(f"power must be > alpha; got power={power}, alpha={self.alpha}")
        return chance

    def _plan(
        self, asked: str, effect: float, n: int, power: float, unrounded: float | None = None
    ) -> PowerPlan:
        """Put an answer together, with the exact power of McNemar's test where that is the test."""
        enumerated: dict[str, float] = {}
        notes: tuple[str, ...] = ()
        psi = 0.0 if self.sd is not None else self.discordance_at(effect)
        if self.sd is None and self.discordance is None:
            how = (
                "taken as independent" if self.correlation is None else f"correlated by {self.correlation:g}"
            )
            notes = (f"runs {how}, which makes their discordance {psi:.4g}; a pilot would give an estimate",)
        if self.test == "McNemar" and n <= _ENUMERATED:
            test: dict[str, Any] = {"alpha": self.alpha, "alternative": self.alternative}
            for method in ("exact", "mid-p"):
                enumerated[method] = mcnemar_power(effect, n, discordance=psi, method=method, **test)
            if abs(power - enumerated["mid-p"]) > _APART:
                notes += (
                    f"about {psi * n:.3g} discordant items; the normal formula differs by more than "
                    f"{_APART:g} from the mid-p test's {enumerated['mid-p']:z.3f}",
                )
        items = n * self.cluster_size
        return PowerPlan(
            asked=asked,
            effect=effect,
            margin=self.margin,
            goal=self.goal,
            power=power,
            alpha=self.alpha,
            alternative=self.alternative,
            test=self.test,
            n_questions=n,
            n_items=items,
            n_runs=items * self.repeats,
            unrounded=float(n) if unrounded is None else unrounded,
            design_effect=self.design_effect,
            design=self,
            enumerated=enumerated,
            notes=notes,
        )


@dataclass(frozen=True, kw_only=True)
class PowerPlan(Result):
    """A planned size, power, effect or margin of a comparison, with the design that it follows from.

    Attributes
    ----------
    asked : {"sample size", "power", "minimum detectable effect", "smallest margin"}
    effect : float
        Second protocol minus first, in the units of the noise (accuracy: 0.012 is 1.2 points).
    margin, goal, alpha, alternative, design
        As planned for.
    power : float
        For McNemar's test that of the normal formula; `enumerated` holds the tests' own.
    test : str
        "McNemar" for right-or-wrong items, one to a question; else "paired t" or "cluster t".
    n_questions, n_items, n_runs : int
        Questions, items (questions x cluster_size), and runs of each protocol (items x repeats).
    unrounded : float
        Questions before rounding up; equal to `n_questions` where they were given.
    design_effect : float
        By how much the variance of the mean exceeds that of as many independent differences.
    enumerated : dict of str to float
        For McNemar's test: the power of the exact and mid-p tests at `n_questions`, added up over all tables.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> from d3stats import sample_size
    >>> plan = sample_size(0.05, discordance=0.2)
    >>> plan.n_questions, plan.test
    (626, 'McNemar')
    >>> print(plan.summary())
    626 items find a difference of 0.05 with power 0.8 (McNemar, two-sided alpha 0.05, discordance 0.2).
    Exact power of the test, summed over all tables: exact 0.779, mid-p 0.803.
    >>> plan.rows()[0]
    ('questions', '626')
    """

    asked: str
    effect: float
    margin: float | None
    goal: str
    power: float
    alpha: float
    alternative: str
    test: str
    n_questions: int
    n_items: int
    n_runs: int
    unrounded: float
    design_effect: float
    design: Design
    enumerated: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def _document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; of the design its noise, clusters and repeats."""
        noise = {name: getattr(self.design, name) for name in _NOISE}
        return {**asdict(self), "design": noise}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row with every number; the parts of the noise and the enumerated powers as columns."""
        if table is not None:
            return super().to_frame(table)
        row = self._document()
        noise, added = row.pop("design"), row.pop("enumerated")
        row["notes"] = "; ".join(row["notes"])
        return pd.DataFrame([{**row, **noise, **{f"power_{key}": value for key, value in added.items()}}])

    @property
    def headline(self) -> str:
        """The answer, with the test and the noise that it rests on."""
        return f"{self._sentence()} ({self.test}, {self._sides()} alpha {self.alpha:g}, {self._noise()})."

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {"plan": pd.DataFrame(self.rows(), columns=["", self.asked])}

    def rows(self) -> list[tuple[str, str]]:
        """Return what a table of the plan shows: names and values, the answer first."""
        answer = {
            "sample size": "questions",
            "power": "power, mid-p test" if self.enumerated else "power",
            "minimum detectable effect": "smallest effect",
            "smallest margin": "smallest margin",
        }[self.asked]
        rows = {
            "questions": f"{self.n_questions}",
            "items": f"{self.n_items}",
            "runs of each protocol": f"{self.n_runs}",
            "power, normal formula" if self._enumerates else "power": f"{self.power:.4g}",
            answer if answer == "smallest margin" else "margin": f"{self.margin or 0.0:.4g}",
            answer if answer == "smallest effect" else "effect": f"{self.effect:.4g}",
            "goal": self.goal,
            "test": f"{self.test}, {self._sides()}, alpha {self.alpha:g}",
            "noise": self._noise(),
            "design effect": f"{self.design_effect:.4g}",
            **{f"power, {key} test": f"{value:z.4f}" for key, value in self.enumerated.items()},
        }
        if self.margin is None:
            del rows["margin"]
        first = f"{self.power:z.4f}" if answer == "power" else rows[answer]
        return [(answer, first), *((name, text) for name, text in rows.items() if name != answer)]

    def summary(self) -> str:
        """Return the answer as a sentence, the tests' own power and the notes."""
        lines = [self.headline]
        if self._enumerates:
            exact = self.enumerated["exact"]
            lines.append(
                f"The exact test has power {exact:z.3f}; the normal formula gives {self.power:z.3f}."
            )
        elif self.enumerated:
            said = ", ".join(f"{key} {value:z.3f}" for key, value in self.enumerated.items())
            lines.append(f"Exact power of the test, summed over all tables: {said}.")
        return "\n".join(around(lines, self.notes))

    @property
    def _enumerates(self) -> bool:
        """Whether the answer is a power that was added up over all tables."""
        return self.asked == "power" and bool(self.enumerated)

    def _sentence(self) -> str:
        size, chance = self._size(), f"power {self.power:.3g}"
        if self._enumerates:
            chance = f"mid-p power {self.enumerated['mid-p']:z.3f}"
        room, truth = self.margin or 0.0, f"when the true difference is {self.effect:.4g}"
        shown = {
            "difference": f"find a difference of {self.effect:.4g}",
            "non-inferiority": f"show at most {room:.4g} worse {truth}",
            "equivalence": f"show within {room:.4g} {truth}",
        }[self.goal]
        if self.asked == "minimum detectable effect":
            return f"The smallest difference that {size} find with {chance} is {self.effect:.4g}"
        if self.asked == "smallest margin":
            return f"The smallest margin that {size} show with {chance} is {self.margin:.4g}"
        return f"{size} {shown} with {chance}"

    def _size(self) -> str:
        m, r = self.design.cluster_size, self.design.repeats
        if m == 1 and r == 1:
            return f"{self.n_questions} items"
        varied = (
            f" (on average, coefficient of variation {self.design.size_cv:g})" if self.design.size_cv else ""
        )
        each = ([f"{m} items{varied}"] if m > 1 else []) + ([f"{r} repeats"] if r > 1 else [])
        return f"{self.n_questions} questions of {' x '.join(each)} ({self.n_runs} runs of each protocol)"

    def _sides(self) -> str:
        return self.alternative if self.goal == "difference" else "one-sided"

    def _noise(self) -> str:
        d = self.design
        noise = f"sd {d.sd:g}" if d.sd is not None else f"discordance {d.discordance_at(self.effect):.4g}"
        noise += f", icc {d.icc:g}" if d.cluster_size > 1 else ""
        return noise + (f", repeat icc {d.repeat_icc:g}" if d.repeats > 1 else "")


def sample_size(effect: float, *, power: float = 0.8, **design: Unpack[DesignSettings]) -> PowerPlan:
    """Return how many questions a comparison needs, by McNemar's or the noncentral t law.

    Parameters
    ----------
    effect : float
        True difference, second protocol minus first, in the units of the noise (accuracy: 0.012 is 1.2 points); for
        non-inferiority and equivalence often 0.
    power : float
        Chance to show it.
    **design
        The noise (`sd`, or `discordance`, or `accuracy` with `correlation`), clusters and repeats (`cluster_size`,
        `icc`, `repeats`, `repeat_icc`) and what is to be shown (`goal`, `margin`, `alpha`, `alternative`), all as for
        :class:`Design`.

    Returns
    -------
    PowerPlan

    Raises
    ------
    ValueError
        When the noise is not given in one way, parts contradict each other, or no number of questions shows it.

    Examples
    --------
    >>> print(sample_size(0.012, discordance=0.06))
    3269 items find a difference of 0.012 with power 0.8 (McNemar, two-sided alpha 0.05, discordance 0.06).
    Exact power of the test, summed over all tables: exact 0.783, mid-p 0.802.
    >>> sample_size(0.03, discordance=0.15, cluster_size=5, icc=0.2).n_questions
    471
    """
    return Design(**design).sample_size(effect, power=power)


def power(effect: float, n_questions: int, **design: Unpack[DesignSettings]) -> PowerPlan:
    """Return the chance that so many questions show an effect, by McNemar's or the noncentral t law.

    Parameters
    ----------
    effect : float
        True difference, as for :func:`sample_size`; with 0 the answer is the size of the test.
    n_questions : int
        At least 2; the items are `cluster_size` times as many.
    **design
        As for :class:`Design`.

    Returns
    -------
    PowerPlan

    Raises
    ------
    ValueError
        When the noise is not given in one way, or parts contradict each other.

    Examples
    --------
    >>> print(power(0.012, 80, discordance=0.06))
    80 items find a difference of 0.012 with mid-p power 0.036 (McNemar, two-sided alpha 0.05, discordance 0.06).
    The exact test has power 0.014; the normal formula gives 0.072.
    note: about 4.8 discordant items; the normal formula differs by more than 0.02 from the mid-p test's 0.036
    """
    return Design(**design).power(effect, n_questions)


def minimum_detectable_effect(
    n_questions: int, *, effect: float = 0.0, power: float = 0.8, **design: Unpack[DesignSettings]
) -> PowerPlan:
    """Return the smallest effect, or smallest margin, that so many questions show with a given power.

    Parameters
    ----------
    n_questions : int
        At least 2; the items are `cluster_size` times as many.
    effect : float
        True difference at which the margin is to be shown; 0 with a difference, which is what is looked for.
    power : float
        Chance to show it.
    **design
        As for :class:`Design`; with the goals "non-inferiority" and "equivalence" the answer is a margin.

    Returns
    -------
    PowerPlan

    Raises
    ------
    ValueError
        When even the largest difference that the discordance allows is not found so often.

    Examples
    --------
    >>> round(minimum_detectable_effect(80, discordance=0.25).effect, 4)
    0.1543
    >>> print(minimum_detectable_effect(80, sd=2.0, goal="equivalence"))
    The smallest margin that 80 items show with power 0.8 is 0.6601 (paired t, one-sided alpha 0.05, sd 2).
    """
    return Design(**design).detectable(n_questions, power=power, effect=effect)


UNCERTAIN = "the pilot's spread is itself uncertain, and no limits of it hold where few or far-off differences make it"
"""The reason that a plan from a pilot has no limits."""


@dataclass(frozen=True, kw_only=True)
class PilotPlan(EstimatesResult):
    """Questions and smallest effect of a comparison, from the variance of a pilot.

    Attributes
    ----------
    questions : Estimate or None
        Questions needed for `effect`, rounded up; None without an effect.
    detectable : Estimate
        Smallest effect (or margin, where the goal has one) that `n_questions` questions show.
    sd : Estimate
        Standard deviation of a question's mean difference, from which the others follow. None of the three has an
        interval, since none holds its level.
    found : Estimate
        The pilot's own difference with its interval at `level`; it is not the effect to plan for.
    effect, margin, goal, alternative, power, alpha, level
        As planned for.
    n_questions : int
        Questions that `detectable` is for.
    items_per_question : float
        Mean over the pilot; a comparison with more items to a question needs fewer questions.
    icc : float or None
        Correlation of the differences of two items of one question; None where a question is one item.
    discordance : float or None
        Share of items on which the runs differ; None unless all are right or wrong.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> import numpy as np
    >>> from d3stats import plan_comparison
    >>> plan = plan_comparison(np.repeat([1.0, -1.0, 0.0], [14, 6, 60]), 0.1)
    >>> plan.questions.value, round(plan.sd.value, 3)
    (193.0, 0.493)
    >>> plan.n_questions, round(plan.discordance, 2)
    (80, 0.25)
    >>> plan.summary().splitlines()[1]
    '80 questions: smallest effect 0.1563 with power 0.8 (difference, alpha 0.05)'
    """

    questions: Estimate | None
    detectable: Estimate
    sd: Estimate
    found: Estimate
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

    @property
    def headline(self) -> str:
        """The answer, how many questions are needed, or what the pilot's questions can show."""
        return f"{self._lines()[0]}."

    def _document(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return asdict(self)

    def summary(self) -> str:
        """Return the answers in sentences, where the noise comes from, and the notes."""
        return "\n".join(around([*self._lines(), str(self.found)], self.notes))

    def _lines(self) -> list[str]:
        """Return how many questions are needed where that was asked, what the given number shows, and the pilot."""
        q, d, n = self.questions, self.detectable, self.found.n_clusters
        shown = f"with power {self.power:.3g} ({self.goal}, alpha {self.alpha:g})"
        lines = [f"{self.n_questions} questions: {d.name} {d.value:.4g} {shown}"]
        if q is not None:
            room = "" if self.margin is None else f" and a margin of {self.margin:.4g}"
            planned = f"questions for a difference of {self.effect:.4g}{room} {shown}"
            lines.insert(0, f"{q.value:z.0f} {planned}")
        return [*lines, f"from a pilot of {n} questions of {self.items_per_question:.3g} items"]


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
    """Return how many questions a comparison needs, from the variance of questions in a pilot.

    No discordance, correlation or design effect has to be assumed. The variance is an estimate too, so plan for more
    questions than it says. It has no limits, because none hold their level where few or far-off differences make it.

    Parameters
    ----------
    pilot : PairedRuns or array of float, shape (items,)
        Two runs side by side (the effect is the second minus the first), or their differences by item.
    effect : float, optional
        Difference to plan for, not the one that the pilot found, which is noisy and, in pilots that lead to something,
        too large; without one, the result only holds the detectable difference.
    cluster : array, shape (items,), optional
        Question of each difference, with arrays only; by default each item is its own.
    n_questions : int, optional
        Questions for which to say what can be detected; by default the pilot's.
    goal, margin, power, alpha, alternative
        What is to be shown, as for :class:`Design`.
    level : float
        Level of the interval of the pilot's own difference, in (0, 1).

    Returns
    -------
    PilotPlan

    Raises
    ------
    ValueError
        When the pilot has fewer than three questions, or every question shows the same difference.

    Notes
    -----
    With influence values e_g of G questions the variance is sum(e_g^2)/(G - 1). Limits by a chi-square, with degrees of
    freedom lowered by the kurtosis (Bonett, 2006, Computational Statistics and Data Analysis 50, 775), were measured
    and left out. At 95 % they cover .73 of the standard deviations of 60 log-normal differences, and .86 of 40
    questions of 5 items with accuracies of .99.

    Examples
    --------
    >>> import numpy as np
    >>> differences = np.repeat([1.0, -1.0, 0.0], [14, 6, 60])
    >>> print(plan_comparison(differences, 0.1))
    193 questions for a difference of 0.1 with power 0.8 (difference, alpha 0.05)
    80 questions: smallest effect 0.1563 with power 0.8 (difference, alpha 0.05)
    from a pilot of 80 questions of 1 items
    pilot's difference: 0.100 [-0.015, 0.215] (95 % cluster t, n = 80 in 80 clusters)
    note: the pilot's spread is itself uncertain, and no limits of it hold where few or far-off differences make it
    """
    level = probability("level", level, open_interval=True)
    wanted = Design(sd=1.0, goal=goal, margin=margin, alpha=alpha, alternative=alternative)
    chance = wanted._chance(power)
    if effect is None:
        wanted._refuse_margin()
    else:
        effect = number("effect", effect)
        wanted._refuse_hopeless(effect)
    diff, codes, n_runs_note, binary = _differences(pilot, cluster)
    size = np.bincount(codes)
    n_clusters = len(size)
    if n_clusters < 3:
        why = "because fewer do not show the variation between questions"
        raise ValueError(f"a pilot must have at least three questions, {why}; got {n_clusters}")
    if why := too_unequal(size):
        raise ValueError(f"a pilot must say how questions vary; got none: {why}")
    mean = float(diff.mean())
    influence = (np.bincount(codes, weights=diff) - size * mean) * n_clusters / len(diff)
    variance = float(influence @ influence) / (n_clusters - 1)
    if variance <= 1e-24 * max(float(np.abs(diff).max()) ** 2, 1e-300):
        got = f"the same difference, {mean:.4g}, in all {n_clusters}, so how questions vary is unknown"
        raise ValueError(f"the pilot's questions must differ; got {got}")
    sd = math.sqrt(variance)
    spread = math.sqrt(max(n_clusters / effective_clusters(size) - 1, 0.0))
    planned = replace(wanted, sd=sd, size_cv=0.0 if spread < 1e-6 else spread)
    at = n_clusters if n_questions is None else integer("n_questions", n_questions, minimum=2)
    shared: dict[str, Any] = {"low": None, "high": None, "level": level, "note": UNCERTAIN}
    shared |= {"kind": "plug-in", "n": len(diff), "n_clusters": n_clusters}
    needed = None
    if effect is not None:
        value = float(math.ceil(planned.questions(effect, chance) - 1e-9))
        needed = Estimate(name="questions", value=value, **shared)
    what = "smallest effect" if goal == "difference" else "smallest margin"
    smallest = planned.smallest(at, chance, effect or 0.0)
    if smallest is None:
        equal = at / (1 + planned.size_cv**2)
        why = f"because questions as unequal as the pilot's then count as {equal:z.1f} equal ones, which carry no test"
        raise ValueError(f"n_questions must be larger, {why}; got {at}")
    own = changes_of(diff, codes).interval("cluster t", level)
    icc = intraclass(*mean_squares(anova_sums(diff, codes).sum(axis=0, keepdims=True)))[0]
    return PilotPlan(
        questions=needed,
        detectable=Estimate(name=what, value=smallest, **shared),
        found=replace(own, name="pilot's difference"),
        sd=Estimate(name="sd of a question", value=sd, **shared),
        effect=effect,
        margin=margin,
        n_questions=at,
        items_per_question=len(diff) / n_clusters,
        icc=None if np.isnan(icc) else float(icc),
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
            raise ValueError("cluster must be left out with paired runs, which have their own; got both")
        first, second, *more = pilot.names
        note = f"planned for {second} minus {first}"
        note += f"; {len(more)} more runs were not used" if more else ""
        values = np.asarray(pilot.values, dtype=np.float64)
        return values[1] - values[0], cluster_codes(pilot.cluster, values.shape[1]), note, bool(pilot.binary)
    diff = np.asarray(pilot, dtype=np.float64)
    if diff.ndim != 1 or diff.size == 0:
        raise ValueError(f"pilot must be differences, one per item; got an array of shape {diff.shape}")
    refuse_infinite("pilot", diff)
    codes = cluster_codes(cluster, diff.size, unit="difference")
    return diff, codes, "", bool(np.isin(diff, (-1.0, 0.0, 1.0)).all())


def _notes(n_clusters: int, diff: Floats, binary: bool, first: str) -> tuple[str, ...]:
    notes = [first] if first else []
    if n_clusters < FEW_CLUSTERS:
        notes.append(
            f"a pilot of {counted(n_clusters, 'question')} says little about the variation between questions"
        )
    if binary and (discordant := int(np.count_nonzero(diff))) < FEW_CLUSTERS:
        notes.append(f"only {counted(discordant, 'item')} on which the runs differ")
    return (*notes, UNCERTAIN)
