"""How many questions does a comparison take, and what can so many find?

Two protocols run on the same questions. The noise is that of the *difference*: with right-or-wrong items its variance
is discordance - effect^2, so that two protocols that fail on the same items need few of them, however hard the items
are. Three questions, one law:

- :func:`sample_size`: questions for an effect;
- :func:`power`: the chance to find an effect with so many questions;
- :func:`minimum_detectable_effect`: the smallest effect, or margin, that so many can show.

Right-or-wrong items, one to a question, use McNemar's unconditional power (Miettinen 1968; Connor 1987) and say what
the exact and mid-p tests really have, added up over all tables (:func:`mcnemar_power`). Everything else uses the t
test of questions' mean differences with questions - 1 degrees of freedom and the noncentral t law. Several items to a
question multiply the variance by 1 + (cluster_size - 1) icc, repeats likewise.

:func:`plan_comparison` takes the noise from a pilot and gives the number of questions with an interval, for a pilot's
variance is an estimate too.

References
----------
Miettinen (1968), Biometrics 24, 339. Connor (1987), Biometrics 43, 207. Schuirmann (1987), Journal of
Pharmacokinetics and Biopharmaceutics 15, 657 (equivalence). Kish (1965), Survey Sampling (design effect).
"""

from __future__ import annotations

import math

from d3stats._check import integer, number, probability
from d3stats.inference.design.design import Design, design
from d3stats.inference.design.exact import mcnemar_power
from d3stats.inference.design.laws import connor_size, rising_root
from d3stats.inference.design.pilot import PilotPlan, plan_comparison
from d3stats.inference.design.plan import Alternative, Goal, PowerPlan, planned, target
from d3stats.inference.design.plan import Target as _Target

__all__ = [
    "Design",
    "PilotPlan",
    "PowerPlan",
    "mcnemar_power",
    "minimum_detectable_effect",
    "plan_comparison",
    "power",
    "sample_size",
]


def sample_size(
    effect: float,
    *,
    sd: float | None = None,
    discordance: float | None = None,
    accuracy: float | None = None,
    correlation: float | None = None,
    icc: float | None = None,
    cluster_size: int = 1,
    repeats: int = 1,
    repeat_icc: float | None = None,
    goal: Goal = "difference",
    margin: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> PowerPlan:
    """Return how many questions a comparison needs.

    Parameters
    ----------
    effect : float
        True difference, second protocol less first, in the units of the noise (accuracy: 0.012 is 1.2 points). For
        non-inferiority and equivalence often 0.
    sd : float, optional
        Standard deviation of one paired difference (scores); or else
    discordance : float, optional
        Share of items that exactly one protocol gets right (right-or-wrong items); or else
    accuracy, correlation : float, optional
        Accuracy of the first protocol, and correlation between the two of being right (0 unless given), from which
        the discordance follows. With `discordance`, `accuracy` checks that both are possible together.
    icc : float, optional
        Correlation of the differences of two items of one question, in [0, 1]; needed with several.
    cluster_size : int
        Items to a question.
    repeats : int
        Runs of every item by both protocols.
    repeat_icc : float, optional
        Correlation of the differences of two repeats of one item; `icc` where a question is one item.
    goal : {"difference", "non-inferiority", "equivalence"}
        Non-inferiority: not worse by `margin` or more. Equivalence: neither worse nor better by it (two one-sided
        tests).
    margin : float, optional
        Greater than 0, in the units of the effect.
    power : float
        Chance to show it.
    alpha : float
        Size of each test: an equivalence at 0.05 goes with a 90 % interval.
    alternative : {"two-sided", "one-sided"}
        Of a difference; the other goals test one side at a time.

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
    Power of the test itself, added up over all tables: exact 0.783, mid-p 0.802.
    >>> sample_size(0.03, discordance=0.15, cluster_size=5, icc=0.2).n_questions
    471
    """
    plan = design(
        sd=sd,
        discordance=discordance,
        accuracy=accuracy,
        correlation=correlation,
        icc=icc,
        cluster_size=cluster_size,
        repeats=repeats,
        repeat_icc=repeat_icc,
    )
    wanted = target(goal, margin, alpha, alternative)
    chance = probability("power", power, open_interval=True)
    if chance <= alpha:
        raise ValueError(f"power must be > alpha; got power={power}, alpha={alpha}")
    effect = number("effect", effect)
    plan.check(effect)
    wanted.refuse_hopeless(effect)
    unrounded = _questions(effect, plan, wanted, chance)
    n = max(math.ceil(unrounded - 1e-9), 1)
    return planned("sample size", effect, n, unrounded, plan, wanted, power=chance)


def power(
    effect: float,
    n_questions: int,
    *,
    sd: float | None = None,
    discordance: float | None = None,
    accuracy: float | None = None,
    correlation: float | None = None,
    icc: float | None = None,
    cluster_size: int = 1,
    repeats: int = 1,
    repeat_icc: float | None = None,
    goal: Goal = "difference",
    margin: float | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> PowerPlan:
    """Return the chance that a comparison of so many questions shows an effect.

    Parameters
    ----------
    effect : float
        True difference, as for :func:`sample_size`; with 0 the answer is the size of the test.
    n_questions : int
        Questions, at least 2; the items are `cluster_size` times as many.
    sd, discordance, accuracy, correlation : float, optional
        The noise, as for :func:`sample_size`.
    icc, cluster_size, repeats, repeat_icc
        Clusters and repeats, as for :func:`sample_size`.
    goal, margin, alpha, alternative
        What is to be shown, as for :func:`sample_size`.

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
    The exact test has power 0.014; the normal formula says 0.072.
    note: about 4.8 discordant items: the normal formula is more than 0.02 off the mid-p test's 0.036
    """
    plan = design(
        sd=sd,
        discordance=discordance,
        accuracy=accuracy,
        correlation=correlation,
        icc=icc,
        cluster_size=cluster_size,
        repeats=repeats,
        repeat_icc=repeat_icc,
    )
    wanted = target(goal, margin, alpha, alternative)
    n = integer("n_questions", n_questions, minimum=2)
    effect = number("effect", effect)
    plan.check(effect)
    return planned("power", effect, n, float(n), plan, wanted, power=wanted.power(effect, n, plan))


def minimum_detectable_effect(
    n_questions: int,
    *,
    sd: float | None = None,
    discordance: float | None = None,
    accuracy: float | None = None,
    correlation: float | None = None,
    icc: float | None = None,
    cluster_size: int = 1,
    repeats: int = 1,
    repeat_icc: float | None = None,
    goal: Goal = "difference",
    effect: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> PowerPlan:
    """Return the smallest effect that so many questions find, or the smallest margin that they can show.

    Parameters
    ----------
    n_questions : int
        Questions, at least 2; the items are `cluster_size` times as many.
    sd, discordance, accuracy, correlation : float, optional
        The noise, as for :func:`sample_size`.
    icc, cluster_size, repeats, repeat_icc
        Clusters and repeats, as for :func:`sample_size`.
    goal : {"difference", "non-inferiority", "equivalence"}
        With the last two the answer is a margin.
    effect : float
        True difference at which the margin is to be shown; 0 with a difference, which is what is looked for.
    power, alpha, alternative
        As for :func:`sample_size`.

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
    plan = design(
        sd=sd,
        discordance=discordance,
        accuracy=accuracy,
        correlation=correlation,
        icc=icc,
        cluster_size=cluster_size,
        repeats=repeats,
        repeat_icc=repeat_icc,
    )
    wanted = target(goal, None, alpha, alternative, asks_margin=True)
    n = integer("n_questions", n_questions, minimum=2)
    chance = probability("power", power, open_interval=True)
    effect = number("effect", effect)
    if chance <= alpha:
        raise ValueError(f"power must be > alpha; got power={power}, alpha={alpha}")
    plan.check(effect)
    if goal != "difference":
        margin = rising_root(lambda room: wanted.power(effect, n, plan, room), chance, 0.0, None)
        assert margin is not None
        return planned("smallest margin", effect, n, float(n), plan, wanted, power=chance, margin=margin)
    if effect != 0:
        raise ValueError(f"effect must be left out where the smallest one is asked for; got effect={effect}")
    most = plan.largest_effect()
    found = rising_root(lambda d: wanted.power(d, n, plan), chance, 0.0, most)
    if found is None:
        raise ValueError(
            f"n_questions must be larger: with {n} even the largest possible difference, {most:.4g}, "
            f"is found with power {wanted.power(most or 0.0, n, plan):.3g} < {chance:g}"
        )
    return planned("minimum detectable effect", found, n, float(n), plan, wanted, power=chance)


def _questions(effect: float, plan: Design, wanted: _Target, chance: float) -> float:
    if wanted.test(plan) == "McNemar":
        return connor_size(effect, plan.discordance_at(effect), wanted.alpha, chance, wanted.sides)
    found = rising_root(lambda n: wanted.power(effect, n, plan), chance, 2.0, None)
    if found is None:
        raise ValueError(
            f"effect must be larger: more than 10^15 questions would be needed at effect={effect}"
        )
    return found
