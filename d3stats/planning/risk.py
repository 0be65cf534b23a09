"""Which is the boldest stopping rule that provably loses little?

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei 2021, arXiv 2110.01052): every rule of a family is a
hypothesis "this rule loses more than allowed", and a rule is certified when its hypothesis is rejected, with the
errors of all tests together held at delta. The guarantee is for finite samples of exchangeable questions, assumes
nothing about the debates, and says nothing about questions of another kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng, choice, loss, probability
from d3stats.planning._losses import PerQuestion, Target, Unit, UnitLosses, losses_of_rules
from d3stats.planning._measures import with_turns
from d3stats.planning._notes import absent_note
from d3stats.planning._pvalues import (
    METHODS,
    Method,
    Order,
    certified_rules,
    lowest_loss,
    p_values,
    smallest_certifying,
)
from d3stats.planning.scan import as_rules
from d3stats.stopping import FullDepth, StoppingRule
from d3stats.trajectories import LogSource, Trajectories, as_trajectories

__all__ = ["RiskControlled", "needed_debates", "risk_controlled"]

FloatArray = NDArray[np.float64]

_LEARNING_SHARE = 1 / 3


@dataclass(frozen=True, eq=False, repr=False)
class RiskControlled:
    """A stopping rule with a promise, or full depth when none could be given.

    Attributes
    ----------
    rule : StoppingRule
        Of the certified rules the one with the fewest rounds on the pilot; ``FullDepth()`` when there is none.
    certified : bool
        Whether any rule was certified. Full depth loses nothing by definition.
    guarantee : str
        What is promised, in words.
    max_loss, delta : float
        The limit (alpha) and the probability with which a rule above it may slip through.
    target, method, order, unit, per_question : str
        As asked for; `method` is the one that was used.
    n_units : int
        Independent units that the tests rest on.
    notes : tuple of str
        What limits the promise.
    """

    rule: StoppingRule
    certified: bool
    guarantee: str
    max_loss: float
    delta: float
    target: Target
    method: Method
    order: Order
    unit: Unit
    per_question: PerQuestion
    n_units: int
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)

    def __repr__(self) -> str:
        state = "certified" if self.certified else "none certified"
        return f"RiskControlled({self.rule}, {state}, max_loss={self.max_loss:g}, delta={self.delta:g})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rule, in the order of the tests.

        Returns
        -------
        DataFrame
            ``rule``; ``rounds``, the mean on the pilot; ``risk``, the mean loss of the tested units;
            ``p_value``; ``tested`` (the sequence ends at the first rule that fails), ``certified``, ``chosen``;
            then ``n_units, max_loss, delta, target, method``.
        """
        return self._table.copy()

    def summary(self) -> str:
        """Return the promise, the table and the notes as plain text."""
        shown = self._table[["rule", "rounds", "risk", "p_value", "tested", "certified", "chosen"]]
        shown = shown.assign(
            **{name: shown[name].map({True: "yes", False: ""}) for name in ("tested", "certified", "chosen")}
        )
        text = shown.to_string(
            index=False,
            formatters={"rounds": "{:.2f}".format, "risk": "{:.4f}".format, "p_value": "{:.4f}".format},
        )
        return "\n".join([self.guarantee, "", text, "", *(f"- {note}" for note in self.notes)]).rstrip()


def needed_debates(
    max_loss: float,
    delta: float,
    *,
    method: Literal["binomial", "hoeffding_bentkus", "betting"] = "binomial",
    target: Target = "agreement",
) -> int:
    """Return the smallest number of debates at which a rule without any loss is certified.

    Parameters
    ----------
    max_loss, delta : float
        In (0, 1).
    method : {"binomial", "hoeffding_bentkus", "betting"}
        With "binomial", the smallest n with (1 - max_loss)^n <= delta.
    target : {"agreement", "accuracy"}
        Matters to "hoeffding_bentkus" alone, which puts losses from -1 to 1 on [0, 1].

    Examples
    --------
    >>> needed_debates(0.05, 0.1), needed_debates(0.01, 0.1)
    (45, 230)
    >>> needed_debates(0.05, 0.1, method="betting")
    59
    """
    loss("max_loss", max_loss, positive=True)
    probability("delta", delta, open_interval=True)
    choice("method", method, METHODS)
    choice("target", target, ("agreement", "accuracy"))
    return smallest_certifying(max_loss, delta, method, lowest_loss(target))


def risk_controlled(
    trajectories: LogSource,
    rules: Sequence[StoppingRule | str],
    *,
    max_loss: float,
    delta: float = 0.1,
    target: Target = "agreement",
    method: Method = "auto",
    order: Order = "given",
    per_question: PerQuestion = "mean",
    unit: Unit = "question",
    rng: RngLike = None,
) -> RiskControlled:
    """Choose the boldest rule of a family whose loss against full depth is at most `max_loss`.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The pilot: debates played to full depth, drawn like those to come; those without turns are left out.
    rules : sequence of StoppingRule or text
        A family, from late to early stopping: shares of a supermajority from 1 down, say. It must be fixed
        before the pilot is looked at.
    max_loss : float
        The limit alpha, in (0, 1).
    delta : float
        In (0, 1): P(the chosen rule's true loss is above `max_loss`) <= `delta`, over pilots.
    target : {"agreement", "accuracy"}
        The loss of a debate. "agreement": 1 when the verdict at the stop is not that of full depth, else 0.
        "accuracy": (right at full depth) - (right at the stop), which is 1, 0 or -1, so that what stopping early
        gains pays for what it loses; needs labels.
    method : {"auto", "binomial", "hoeffding_bentkus", "betting"}
        The p-value; all three are valid in finite samples. "binomial": exact for agreement with one debate per
        question; for accuracy it tests P(lost) and gives no credit for gains. "hoeffding_bentkus": any mean, weak
        for accuracy. "betting": any mean, adapts to the variance. "auto": binomial for agreement with one debate
        per question, else betting.
    order : {"given", "split", "none"}
        "given": fixed-sequence testing, each rule at level `delta`, up to the first that fails. "split": a random
        third of the units finds the order, the others test. "none": Holm's correction (1979).
    per_question : {"mean", "one"}
        Debates of one question are not independent: reduce them to their mean, or to one drawn at random. The loss
        that is controlled gives questions equal weight either way.
    unit : {"question", "group"}
        What is exchangeable. "group" takes every log (``trajectories.groups``) as one unit, decided as one batch,
        and is the only one for batch rules.
    rng : Generator, int or None
        For ``order="split"`` and ``per_question="one"``.

    Returns
    -------
    RiskControlled

    Raises
    ------
    ValueError
        When a probability is outside (0, 1), labels or groups are needed and absent, a batch rule is not given
        groups, "binomial" is asked for means, or a debate ended before the last round of the pilot.

    Notes
    -----
    A debate without a verdict at full depth cannot be judged and is left out, whatever the rule; so is one without
    a label when accuracy is the target. A debate without a verdict at its stop counts as differing and as not right.
    All certified rules hold at once, so any of them may be used, for whatever reason.

    Examples
    --------
    >>> from d3stats.simulate import simulate
    >>> from d3stats.worlds import Voter
    >>> pilot = simulate(Voter(panel=7), n_debates=200, n_rounds=10, rng=1)
    >>> family = ["supermajority:1.0", "supermajority:0.85", "supermajority:0.7", "supermajority:0.5"]
    >>> result = risk_controlled(pilot, family, max_loss=0.15)
    >>> str(result.rule)
    'supermajority:0.85'
    >>> print(result.guarantee.split(", ")[-1])
    the verdict at the stop differs from that of full depth in at most 15% of debates.
    """
    loss("max_loss", max_loss, positive=True)
    probability("delta", delta, open_interval=True)
    choice("target", target, ("agreement", "accuracy"))
    choice("method", method, ("auto", *METHODS))
    choice("order", order, ("given", "split", "none"))
    every, repeated = as_rules(rules)
    trajectories, absent = with_turns(as_trajectories(trajectories))
    _refuse_what_ended_early(trajectories)
    random = as_rng(rng)
    units = losses_of_rules(trajectories, every, target, per_question, unit, random)
    used = _method(method, target, units)
    tested = np.arange(units.n)
    ranks = np.arange(len(every))
    if order == "split":
        shuffled = random.permutation(units.n)
        cut = int(np.ceil(units.n * _LEARNING_SHARE))
        learned = p_values(units.losses[shuffled[:cut]], max_loss, used, target)
        ranks, tested = np.argsort(learned, kind="stable"), np.sort(shuffled[cut:])
    losses = units.losses[tested][:, ranks]
    p = p_values(losses, max_loss, used, target)
    asked, passed = certified_rules(p, delta, order)
    rounds = units.rounds[ranks]
    chosen = int(np.where(passed, rounds, np.inf).argmin()) if passed.any() else None
    rule = FullDepth() if chosen is None else every[ranks[chosen]]
    table = pd.DataFrame(
        {
            "rule": [str(every[i]) for i in ranks],
            "rounds": rounds,
            "risk": losses.mean(axis=0),
            "p_value": p,
            "tested": asked,
            "certified": passed,
            "chosen": np.arange(len(every)) == (-1 if chosen is None else chosen),
            "n_units": len(tested),
            "max_loss": max_loss,
            "delta": delta,
            "target": target,
            "method": used,
        }
    )
    return RiskControlled(
        rule=rule,
        certified=chosen is not None,
        guarantee=_promise(rule, chosen is not None, max_loss, delta, target, unit),
        max_loss=max_loss,
        delta=delta,
        target=target,
        method=used,
        order=order,
        unit=unit,
        per_question=per_question,
        n_units=len(tested),
        notes=(
            *trajectories.remarks(),
            *_notes(len(tested), max_loss, delta, used, target, order, unit, rounds),
            *units.notes,
            *absent_note(absent, trajectories),
            *repeated,
        ),
        _table=table,
    )


def _method(method: Method, target: Target, units: UnitLosses) -> Method:
    if method == "auto":
        return "binomial" if target == "agreement" and units.single else "betting"
    if method == "binomial" and not units.single:
        raise ValueError(
            "method must be 'hoeffding_bentkus' or 'betting' where a unit has several debates, because their mean "
            "is not 0 or 1 (or draw one: per_question='one'); got method='binomial'"
        )
    return method


def _promise(
    rule: StoppingRule, certified: bool, max_loss: float, delta: float, target: Target, unit: Unit
) -> str:
    if not certified:
        return (
            f"No rule is certified at a loss of {max_loss:.3g} with delta={delta:.3g}: "
            "play every debate to full depth."
        )
    share = f"{100 * max_loss:.3g}"
    loses = (
        f"the verdict at the stop differs from that of full depth in at most {share}% of debates"
        if target == "agreement"
        else f"accuracy is at most {share} points below that of full depth"
    )
    drawn = "questions" if unit == "question" else "batches"
    return f"{rule}: with probability at least {1 - delta:.3g} over pilots of exchangeable {drawn}, {loses}."


def _refuse_what_ended_early(log: Trajectories) -> None:
    """Refuse a pilot in which some loss against full depth is unknown."""
    ended = log.ended_early()
    if ended.any():
        short = int((log.depth < log.n_rounds).sum())
        stopped = int(ended.sum()) - short
        before = f"{short} of {log.n_debates} debates that ended before round {log.n_rounds}"
        at = f"{stopped} of {log.n_debates} that a stopping rule ended in round {log.n_rounds}, the last of the log"
        got = " and ".join([before] * (short > 0) + [at] * (stopped > 0))
        raise ValueError(
            f"trajectories must be played to full depth, because the loss is against full depth's verdict; got {got} "
            "(play the pilot without a stopping rule; leave these debates out only if they ended for a reason outside "
            "the debate, such as an interrupted run)"
        )


def _notes(
    n: int,
    max_loss: float,
    delta: float,
    method: Method,
    target: Target,
    order: Order,
    unit: Unit,
    rounds: FloatArray,
) -> list[str]:
    notes = []
    needed = smallest_certifying(max_loss, delta, method, lowest_loss(target))
    if n < needed:
        notes.append(
            f"{n} {unit}s are too few: with {method} even a rule without a single loss needs {needed} to be "
            f"certified at max_loss={max_loss:g}, delta={delta:g}."
        )
    if order == "given" and (np.diff(rounds) > 1e-12).any():
        notes.append(
            "The rules are not in order from late to early stopping on this pilot: the promise holds, but the "
            "sequence may have ended early."
        )
    if method == "binomial" and target == "accuracy":
        notes.append(
            "The binomial test bounds P(lost) and gives no credit for debates gained: it is conservative."
        )
    return notes
