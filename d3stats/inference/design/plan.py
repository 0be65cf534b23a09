"""What the faces of `power` share: the question asked, the law that answers it, and the answer in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from d3stats._check import choice, number, probability
from d3stats.inference.design.design import Design
from d3stats.inference.design.laws import connor_power, t_power, tost_power

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Alternative", "Goal", "PowerPlan", "Target", "target"]

Goal = Literal["difference", "non-inferiority", "equivalence"]
Alternative = Literal["two-sided", "one-sided"]
_APART = 0.02
"""How far the formula's power may lie from the mid-p test's without a note."""
_ENUMERATED = 1_000_000
"""Items up to which exact power is added up."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a comparison is to show, and at what size of test."""

    goal: Goal
    margin: float | None
    alpha: float
    alternative: Alternative

    @property
    def sides(self) -> int:
        """Tails of the test."""
        return 2 if self.goal == "difference" and self.alternative == "two-sided" else 1

    def test(self, plan: Design) -> str:
        """Return the name of the test that is planned for."""
        if self.goal == "difference" and plan.binary and plan.simple:
            return "McNemar"
        return "paired t" if plan.simple else "cluster t"

    def power(self, effect: float, n_questions: float, plan: Design, margin: float | None = None) -> float:
        """Return the power at a size and an effect; with `margin` in place of the target's own."""
        if self.test(plan) == "McNemar":
            return connor_power(effect, plan.discordance_at(effect), n_questions, self.alpha, self.sides)
        return self.t_power(effect, math.sqrt(plan.question_variance(effect)), n_questions, margin)

    def t_power(self, effect: float, sd: float, n_questions: float, margin: float | None = None) -> float:
        """Return the power of the t test of questions' means, which have standard deviation `sd`."""
        df = max(n_questions - 1, 1e-9)
        se = sd / math.sqrt(n_questions)
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

    def refuse_hopeless(self, effect: float) -> None:
        """Refuse an effect that no number of items can show."""
        if self.goal == "difference":
            if effect == 0:
                raise ValueError(
                    "effect must not be 0: no number of items finds a difference that is not there"
                )
            if self.alternative == "one-sided" and effect < 0:
                raise ValueError(f"effect must be > 0 for a one-sided test; got effect={effect}")
            return
        assert self.margin is not None
        if effect <= -self.margin or (self.goal == "equivalence" and effect >= self.margin):
            raise ValueError(
                "effect must lie inside the margin, or there is nothing to show; "
                f"got effect={effect}, margin={self.margin}"
            )


def target(
    goal: Goal, margin: float | None, alpha: float, alternative: Alternative, *, asks_margin: bool = False
) -> Target:
    """Check what is asked for; with `asks_margin` the margin is what is looked for."""
    choice("goal", goal, ("difference", "non-inferiority", "equivalence"))
    choice("alternative", alternative, ("two-sided", "one-sided"))
    alpha = probability("alpha", alpha, open_interval=True)
    if goal == "difference":
        if margin is not None:
            raise ValueError(
                f"margin must come with goal='non-inferiority' or 'equivalence'; got margin={margin} for a difference"
            )
    elif asks_margin:
        if margin is not None:
            raise ValueError(f"margin must be left out where the smallest one is asked for; got {margin}")
    elif margin is None or number("margin", margin) <= 0:
        raise ValueError(f"margin must be > 0 for {goal}; got margin={margin}")
    return Target(goal, margin, alpha, alternative)


@dataclass(frozen=True, kw_only=True)
class PowerPlan:
    """The answer to one question of planning; everything that it hangs on is in it.

    Attributes
    ----------
    asked : {"sample size", "power", "minimum detectable effect", "smallest margin"}
    effect : float
        Second protocol less first, in the units of the noise (accuracy: 0.012 is 1.2 points).
    margin : float or None
        Of non-inferiority or equivalence.
    goal : str
    power, alpha : float
        For McNemar's test `power` is that of the normal formula; `enumerated` holds the tests' own.
        `alpha` is the size of each test; non-inferiority and equivalence test one side at a time.
    alternative : str
    test : str
        "McNemar" for right-or-wrong items, one to a question; else "paired t" or "cluster t".
    n_questions, n_items, n_runs : int
        Questions, items (questions x cluster_size), and runs of each protocol (items x repeats).
    unrounded : float
        Questions before rounding up; equal to `n_questions` where they were given.
    design_effect : float
        By how much the variance of the mean exceeds that of as many independent differences.
    design : Design
        Noise, clusters and repeats.
    enumerated : dict of str to float
        For McNemar's test: the power of the exact and mid-p tests at `n_questions`, added up over all tables.
    notes : tuple of str
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {**asdict(self), "notes": list(self.notes)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row with every number; the parts of the noise and the enumerated powers as columns."""
        import pandas as pd

        row = self.to_dict()
        noise, added = row.pop("design"), row.pop("enumerated")
        row["notes"] = "; ".join(row["notes"])
        return pd.DataFrame([{**row, **noise, **{f"power_{key}": value for key, value in added.items()}}])

    def rows(self) -> list[tuple[str, str]]:
        """Return what a table of the plan shows: names and values, the answer first."""
        answers = {
            "sample size": ("questions", f"{self.n_questions}"),
            "power": (
                ("power, mid-p test", f"{self.enumerated['mid-p']:.4f}")
                if self.enumerated
                else ("power", f"{self.power:.4f}")
            ),
            "minimum detectable effect": ("smallest effect", f"{self.effect:.4g}"),
            "smallest margin": ("smallest margin", f"{self.margin or 0.0:.4g}"),
        }
        given = [
            ("questions", f"{self.n_questions}"),
            ("items", f"{self.n_items}"),
            ("runs of each", f"{self.n_runs}"),
            ("power, normal formula" if self._enumerates else "power", f"{self.power:.4g}"),
            ("smallest margin" if self.asked == "smallest margin" else "margin", f"{self.margin or 0.0:.4g}"),
            (
                "smallest effect" if self.asked == "minimum detectable effect" else "effect",
                f"{self.effect:.4g}",
            ),
            ("goal", self.goal),
            ("test", f"{self.test}, {self._sides()}, alpha {self.alpha:g}"),
            ("noise", self._noise()),
            ("design effect", f"{self.design_effect:.4g}"),
        ]
        first = answers[self.asked]
        added = [(f"power, {key} test", f"{v:.4f}") for key, v in self.enumerated.items()]
        rest = [
            row
            for row in (*given, *added)
            if row[0] != first[0] and not (row[0] == "margin" and self.margin is None)
        ]
        return [first, *rest]

    def to_latex(self) -> str:
        """Return a booktabs tabular, one row per number, the answer first."""
        from d3stats._latex import booktabs

        return booktabs("ll", ("", self.asked), self.rows())

    def __str__(self) -> str:
        lines = [f"{self._sentence()} ({self.test}, {self._sides()} alpha {self.alpha:g}, {self._noise()})."]
        if self._enumerates:
            exact = self.enumerated["exact"]
            lines.append(f"The exact test has power {exact:.3f}; the normal formula says {self.power:.3f}.")
        elif self.enumerated:
            said = ", ".join(f"{key} {value:.3f}" for key, value in self.enumerated.items())
            lines.append(f"Power of the test itself, added up over all tables: {said}.")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    @property
    def _enumerates(self) -> bool:
        """Whether the answer is a power that was added up over all tables."""
        return self.asked == "power" and bool(self.enumerated)

    def _sentence(self) -> str:
        size, chance = self._size(), f"power {self.power:.3g}"
        if self._enumerates:
            chance = f"mid-p power {self.enumerated['mid-p']:.3f}"
        room, truth = self.margin or 0.0, f"when the true difference is {self.effect:.4g}"
        shown = {
            "difference": f"find a difference of {self.effect:.4g}",
            "non-inferiority": f"show at most {room:.4g} worse {truth}",
            "equivalence": f"show within {room:.4g} {truth}",
        }[self.goal]
        if self.asked == "minimum detectable effect":
            return f"The smallest difference that {size} find with {chance} is {self.effect:.4g}"
        if self.asked == "smallest margin":
            return (
                f"The smallest margin that {size} {shown.split(' ', 1)[0]} with {chance} is {self.margin:.4g}"
            )
        return f"{size} {shown} with {chance}"

    def _size(self) -> str:
        m, r = self.design.cluster_size, self.design.repeats
        if m == 1 and r == 1:
            return f"{self.n_questions} items"
        each = ([f"{m} items"] if m > 1 else []) + ([f"{r} repeats"] if r > 1 else [])
        return f"{self.n_questions} questions of {' x '.join(each)} ({self.n_runs} runs of each protocol)"

    def _sides(self) -> str:
        return self.alternative if self.goal == "difference" else "one-sided"

    def _noise(self) -> str:
        d = self.design
        noise = f"sd {d.sd:g}" if d.sd is not None else f"discordance {d.discordance_at(self.effect):.4g}"
        parts = [noise]
        if d.cluster_size > 1:
            parts.append(f"icc {d.icc:g}")
        if d.repeats > 1:
            parts.append(f"repeat icc {d.repeat_icc:g}")
        return ", ".join(parts)


def planned(
    asked: str,
    effect: float,
    n_questions: int,
    unrounded: float,
    plan: Design,
    goal: Target,
    *,
    power: float,
    margin: float | None = None,
    notes: tuple[str, ...] = (),
) -> PowerPlan:
    """Put an answer together, with the exact power of McNemar's test where that is the test."""
    test = goal.test(plan)
    enumerated = {}
    if test == "McNemar" and n_questions <= _ENUMERATED:
        from d3stats.inference.design.exact import mcnemar_power

        psi = plan.discordance_at(effect)
        for method in ("exact", "mid-p"):
            enumerated[method] = mcnemar_power(
                effect,
                n_questions,
                discordance=psi,
                method=method,
                alpha=goal.alpha,
                alternative=goal.alternative,
            )
        if abs(power - enumerated["mid-p"]) > _APART:
            notes += (
                f"about {psi * n_questions:.3g} discordant items: the normal formula is more than {_APART:g} off "
                f"the mid-p test's {enumerated['mid-p']:.3f}",
            )
    items = n_questions * plan.cluster_size
    return PowerPlan(
        asked=asked,
        effect=effect,
        margin=goal.margin if margin is None else margin,
        goal=goal.goal,
        power=power,
        alpha=goal.alpha,
        alternative=goal.alternative,
        test=test,
        n_questions=n_questions,
        n_items=items,
        n_runs=items * plan.repeats,
        unrounded=unrounded,
        design_effect=plan.design_effect,
        design=plan,
        enumerated=enumerated,
        notes=(*plan.notes(effect), *notes),
    )
