"""Choice of the cheapest stopping rule that provably loses little.

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei 2021, arXiv 2110.01052): every rule of a family
is a hypothesis "this rule loses more than allowed". A rule is certified when its hypothesis is rejected; the
probability of any wrong certificate is at most delta. The guarantee is for finite samples of independent
questions. It assumes nothing about the debates of one question, and says nothing about questions of another kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Unpack

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, choice, loss, probability
from d3stats._words import percent
from d3stats.note import Note
from d3stats.planning.cells import Write, amount, cells, rule_cell, state_cell
from d3stats.planning.costs import Target, absent_note, as_rules, outcomes, verdicts_at, with_turns
from d3stats.planning.scan import StopFinder
from d3stats.resampling import cluster_totals
from d3stats.resampling.bounded_means import betting_p
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.stopping import FullDepth, Rule, StoppingRule
from d3stats.trajectories import MISSING, Trajectories

__all__ = [
    "METHODS",
    "DebateLosses",
    "MeanOver",
    "Method",
    "Order",
    "RiskControlled",
    "Target",
    "Unit",
    "UnitLosses",
    "binomial_p",
    "certified_rules",
    "hoeffding_bentkus_p",
    "losses_of_debates",
    "losses_of_rules",
    "lowest_loss",
    "needed_debates",
    "p_values",
    "refuse_what_ended_early",
    "risk_controlled",
    "smallest_certifying",
]

MeanOver = Literal["debates", "units"]
Unit = Literal["question", "group"]


@dataclass(frozen=True, eq=False)
class DebateLosses:
    """Losses of several rules on the debates of a pilot.

    Attributes
    ----------
    losses : ndarray of float, shape (debates, rules)
        0 or 1 for agreement; 1, 0 or -1 for accuracy. They count where `counted` says so.
    counted : ndarray of bool, shape (debates,)
    rounds : ndarray of float, shape (rules,)
        Mean rounds played, over all debates.
    notes : tuple of str
        What was left out.
    """

    losses: Floats
    counted: NDArray[np.bool_]
    rounds: Floats
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class UnitLosses:
    """Losses of several rules on the independent units of a pilot.

    Attributes
    ----------
    sums : ndarray of float, shape (units, rules)
        Sum of the losses of a unit's debates, or their mean where units have equal weight.
    sizes : ndarray of float, shape (units,)
        Number of debates, or 1 where units have equal weight.
    single : bool
        Whether every unit is one debate.
    rounds : ndarray of float, shape (rules,)
        Mean rounds played, over all debates.
    notes : tuple of str
        What was left out.
    """

    sums: Floats
    sizes: Floats
    single: bool
    rounds: Floats
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.sums)


def losses_of_rules(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    target: Target,
    mean_over: MeanOver = "debates",
    unit: Unit = "question",
    *,
    gains: bool = True,
) -> UnitLosses:
    """Stop every debate by every rule and add up the losses of each unit; see ``risk_controlled``.

    Without `gains`, a verdict that only the stop has right counts 0 in place of -1.
    """
    choice("mean_over", mean_over, ("debates", "units"))
    choice("unit", unit, ("question", "group"))
    found = losses_of_debates(trajectories, rules, target, unit)
    units = _units(trajectories, rules, unit)[found.counted]
    losses = found.losses[found.counted]
    losses = losses if gains else np.maximum(losses, 0)
    totals = cluster_totals(np.column_stack([losses, np.ones(len(units))]), units)
    sums, sizes = totals[:, :-1], totals[:, -1]
    notes = list(found.notes)
    single = bool((sizes == 1).all())
    if not single and mean_over == "units":
        sums, sizes = sums / sizes[:, None], np.ones_like(sizes)
        notes.append(
            f"The loss is the mean over {unit}s, each with equal weight, of the mean of its debates."
        )
    elif not single:
        notes.append(
            f"The loss is the mean over debates; the debates of each {unit} are one independent unit, and no {unit} "
            f"to come is taken to have more of them than {sizes.max():g}, the most here."
        )
    return UnitLosses(sums, sizes, single, found.rounds, tuple(notes))


def losses_of_debates(
    trajectories: Trajectories, rules: Sequence[StoppingRule], target: Target, unit: Unit = "question"
) -> DebateLosses:
    """Stop every debate by every rule and compare its verdict with that of full depth."""
    t = trajectories
    if t.n_debates == 0:
        raise ValueError("trajectories must hold at least one debate; got none")
    units = _units(t, rules, unit)
    final, _ = verdicts_at(t, t.depth)
    counted = final != MISSING
    notes = []
    if not counted.all():
        notes.append(
            f"{int((~counted).sum())} of {len(t)} debates have no verdict at full depth and are left out."
        )
    if target == "accuracy":
        unlabelled = int((t.label == MISSING).sum())
        if unlabelled == len(t):
            raise ValueError("target must be 'agreement' on debates without labels; got target='accuracy'")
        if unlabelled:
            notes.append(f"{unlabelled} of {len(t)} debates have no label and are left out.")
        counted &= t.label != MISSING
    if not counted.any():
        raise ValueError("trajectories must hold a debate with a verdict at full depth; got none")
    stops = _stops(t, rules, units, unit)
    losses = np.empty((len(t), len(rules)))
    silent = 0
    for j, rounds in enumerate(stops):
        found = outcomes(t, rounds, "wrong")
        silent = max(silent, int((counted & (found.verdict == MISSING)).sum()))
        losses[:, j] = found.flips if target == "agreement" else found.column("lost") - found.column("gained")
    if silent:
        notes.append(
            f"Up to {silent} debates have no verdict at a rule's stop; they count as different and as not "
            "right."
        )
    if t.coding == "correctness" and target == "agreement":
        notes.append(
            'Votes are coded right or wrong (coding="correctness"), so changes between wrong answers are not visible.'
        )
    return DebateLosses(losses, counted, np.array([rounds.mean() for rounds in stops]), tuple(notes))


def _units(t: Trajectories, rules: Sequence[StoppingRule], unit: Unit) -> Ints:
    if unit == "group":
        if not t.groups:
            raise ValueError("trajectories must have groups for unit='group'; got none")
        return np.unique(np.array(t.groups), return_inverse=True)[1].astype(np.int64)
    batch = next((rule for rule in rules if not isinstance(rule, Rule)), None)
    if batch is not None:
        raise ValueError(
            "rules must decide each debate by itself, because the losses of one batch are not independent "
            f"(with several batches, name them as groups and give unit='group'); got {str(batch)!r}"
        )
    return t.cluster


def _stops(
    t: Trajectories, rules: Sequence[StoppingRule], units: Ints, unit: Unit
) -> list[NDArray[np.int64]]:
    if unit == "question" or all(isinstance(rule, Rule) for rule in rules):
        finder = StopFinder(t, rules)
        return [finder.rounds(rule).astype(np.int64) for rule in rules]
    stops = [np.empty(len(t), dtype=np.int64) for _ in rules]
    for group in np.unique(units):
        rows = np.flatnonzero(units == group)
        batch = t.select(rows)
        for rule, rounds in zip(rules, stops, strict=True):
            rounds[rows] = rule.stop_rounds(batch).rounds
    return stops


Method = Literal["auto", "binomial", "hoeffding_bentkus", "betting"]
Order = Literal["given", "split", "none"]

METHODS = ("binomial", "hoeffding_bentkus", "betting")


def binomial_p(losses: Floats, limit: float) -> Floats:
    """Return P(Bin(n, limit) <= k), exact for losses that are 0 or 1; k is how many are 1.

    Losses of -1 count as 0: E[loss] <= P(loss = 1), so a small P(loss = 1) is enough, if more than needed.
    """
    return _array(scipy.special.bdtr((losses == 1).sum(axis=0), len(losses), limit))


def hoeffding_bentkus_p(
    sums: Floats,
    limit: float,
    lowest: float = 0.0,
    sizes: Floats | None = None,
    largest: float | None = None,
) -> Floats:
    """Return the smaller of Hoeffding's and Bentkus's bounds for losses in [lowest, 1].

    With m the mean and h the Bernoulli divergence, min(exp(-n h(min(m, limit), limit)),
    e P(Bin(n, limit) <= ceil(n m))), after losses and limit are put on [0, 1]. Units of unequal sizes are n losses of
    their sum over the largest size, and the limit falls by the mean of the sizes over the largest. Source: Bates,
    Angelopoulos, Lei, Malik and Jordan (2021), Journal of the ACM 68, arXiv 2101.02703.
    """
    n = len(sums)
    span = 1.0 - lowest
    if sizes is not None:
        most = float(sizes.max()) if largest is None else largest
        sums, limit = sums / most, limit * float(sizes.mean() / most)
    at = (limit - lowest) / span
    # Rounding keeps a sum of means, 2.9999999999 or 3.0000000001, at the whole number that it is.
    total = np.round(((sums - lowest) / span).sum(axis=0), 9)
    mean = np.minimum(total / n, at)
    divergence = scipy.special.rel_entr(mean, at) + scipy.special.rel_entr(1 - mean, 1 - at)
    bentkus = np.e * scipy.special.bdtr(np.ceil(total), n, at)
    return _array(np.minimum(1.0, np.minimum(np.exp(-n * divergence), bentkus)))


def _array(values: object) -> Floats:
    return np.asarray(values, dtype=np.float64)


def lowest_loss(target: Target) -> float:
    """Return the smallest loss that a debate can have."""
    return -1.0 if target == "accuracy" else 0.0


def p_values(
    sums: Floats,
    max_loss_vs_full: float,
    method: Method,
    target: Target,
    sizes: Floats | None = None,
    largest: float | None = None,
) -> Floats:
    """Return the p-value of "the mean loss is above `max_loss_vs_full`" for each column of (units, rules) sums of it.

    `sizes` are the debates of each unit, by default 1; the binomial test takes units of one debate alone. `largest` is
    the most debates that a unit could have had, by default the largest size. Where only a part of the units is tested,
    it must be that of all units: a part without the large ones knows nothing of what these lose.
    """
    if method == "binomial":
        return binomial_p(sums, max_loss_vs_full)
    if method == "betting":
        return betting_p(sums, max_loss_vs_full, sizes, largest=largest)
    return hoeffding_bentkus_p(sums, max_loss_vs_full, lowest_loss(target), sizes, largest)


def certified_rules(
    p: Floats, delta: float, order: Order = "given"
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which hypotheses are tested and which rejected, with P(any false rejection) <= delta.

    Fixed-sequence testing continues to the first p-value above delta; ``order="none"`` is Holm's procedure.

    Examples
    --------
    >>> [x.tolist() for x in certified_rules(np.array([0.01, 0.2, 0.01]), 0.1)]
    [[True, True, False], [True, False, False]]
    """
    if order == "none":
        by_size = np.argsort(p, kind="stable")
        below = p[by_size] <= delta / np.arange(len(p), 0, -1)
        rejected = np.zeros(len(p), dtype=bool)
        rejected[by_size[np.logical_and.accumulate(below)]] = True
        return np.ones(len(p), dtype=bool), rejected
    rejected = np.logical_and.accumulate(p <= delta)
    return np.concatenate([[True], rejected[:-1]]), rejected


def smallest_certifying(limit: float, delta: float, method: str, lowest: float) -> int:
    """Return the smallest number of units, all of loss 0, whose p-value is at most delta."""

    def p_value(n: int) -> float:
        zeros = np.zeros(n)
        if method == "binomial":
            return float((1.0 - limit) ** n)
        p = betting_p(zeros, limit) if method == "betting" else hoeffding_bentkus_p(zeros, limit, lowest)
        return float(p)

    high = 1
    while p_value(high) > delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_value(middle) <= delta else (middle, high)
    return high


_LEARNING_SHARE = 1 / 3


@dataclass(frozen=True, eq=False, kw_only=True)
class RiskControlled(Result):
    """A stopping rule with a guarantee, or full depth when no rule has one.

    Attributes
    ----------
    rule : StoppingRule
        The certified rule with the fewest rounds on the pilot; ``FullDepth()`` when there is none.
    certified : bool
        Whether any rule was certified. Full depth loses nothing by definition.
    guarantee : str
        The guarantee, as a sentence.
    max_loss_vs_full, delta : float
        The limit (alpha), and the largest probability that a rule with a loss above the limit is certified.
    target, method, order, unit, mean_over : str
        As asked for; `method` is the one that was used.
    n_units : int
        Independent units that the tests rest on.
    notes : tuple of str
        Limits of the guarantee.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=7), n_debates=200, n_rounds=10, rng=1)
    >>> found = risk_controlled(pilot, ["supermajority:1.0", "supermajority:0.85"], max_loss_vs_full=0.15)
    >>> str(found.rule), found.certified, found.n_units
    ('supermajority:0.85', True, 200)
    >>> found.to_frame()[["rule", "certified"]].values.tolist()
    [['supermajority:1.0', True], ['supermajority:0.85', True]]
    >>> found.guarantee in found.summary()
    True
    """

    rule: StoppingRule
    certified: bool
    guarantee: str
    max_loss_vs_full: float
    delta: float
    target: Target
    method: Method
    order: Order
    unit: Unit
    mean_over: MeanOver
    n_units: int
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)

    @property
    def headline(self) -> str:
        """The answer, which rule is certified, or that none is."""
        return f"Run {self.guarantee}" if self.certified else self.guarantee

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"rules": self._table.copy()}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        columns: dict[str, Write] = {
            "rule": rule_cell,
            "rounds": amount("rounds", 2),
            "loss": lambda row: f"{100 * row['risk']:z.2f} %",
            "p": lambda row: f"{row['p_value']:z.4f}",
            "state": state_cell,
        }
        return {"Rules in the order of the tests; loss: on the tested units": cells(self._table, columns)}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per rule, in the order of the tests.

        Parameters
        ----------
        table : str, optional
            Title of the table, "rules".

        Returns
        -------
        DataFrame
            ``rule``; ``rounds``, the mean on the pilot; ``risk``, the mean loss on the tested units, over debates or,
            with ``mean_over="units"``, over units (the guarantee limits this mean); ``p_value``; ``tested`` (the
            sequence ends at the first rule that fails), ``certified``, ``chosen``; then ``n_units, max_loss_vs_full,
            delta, target, method``.
        """
        return super().to_frame(table)


def needed_debates(
    max_loss_vs_full: float,
    delta: float,
    *,
    method: Literal["binomial", "hoeffding_bentkus", "betting"] = "binomial",
    target: Target = "agreement",
) -> int:
    """Return the smallest number of debates at which a rule without any loss is certified.

    Parameters
    ----------
    max_loss_vs_full, delta : float
        In (0, 1).
    method : {"binomial", "hoeffding_bentkus", "betting"}
        With "binomial", the smallest n with (1 - max_loss_vs_full)^n <= delta.
    target : {"agreement", "accuracy"}
        Matters to "hoeffding_bentkus" alone, which puts losses from -1 to 1 on [0, 1].

    Returns
    -------
    int

    Examples
    --------
    >>> needed_debates(0.05, 0.1), needed_debates(0.01, 0.1)
    (45, 230)
    >>> needed_debates(0.05, 0.1, method="betting")
    59
    """
    loss("max_loss_vs_full", max_loss_vs_full, positive=True)
    probability("delta", delta, open_interval=True)
    choice("method", method, METHODS)
    choice("target", target, ("agreement", "accuracy"))
    return smallest_certifying(max_loss_vs_full, delta, method, lowest_loss(target))


def risk_controlled(
    trajectories: LogSource,
    rules: Sequence[StoppingRule | str],
    *,
    max_loss_vs_full: float,
    delta: float = 0.1,
    target: Target = "agreement",
    method: Method = "auto",
    order: Order = "given",
    mean_over: MeanOver = "debates",
    unit: Unit = "question",
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> RiskControlled:
    """Choose the cheapest rule of a family whose loss against full depth is at most `max_loss_vs_full`.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The pilot: debates played to full depth, drawn like those to come; those without turns are left out.
    rules : sequence of StoppingRule or text
        A family, from late to early stopping: shares of a supermajority from 1 down, say. It must be fixed
        before the pilot is looked at.
    max_loss_vs_full : float
        The limit alpha, in (0, 1), of the loss against full depth (:func:`~d3stats.planning.plan` has its limit against
        unanimity).
    delta : float
        In (0, 1): P(the chosen rule's true loss is above `max_loss_vs_full`) <= `delta`, over pilots of independent
        questions.
    target : {"agreement", "accuracy"}
        The loss of a debate. With "agreement" it is 1 when the verdict at the stop is not that of full depth, else 0.
        With "accuracy" it is (right at full depth) - (right at the stop), which is 1, 0 or -1, so that gains from
        early stopping offset losses; this needs labels.
    method : {"auto", "binomial", "hoeffding_bentkus", "betting"}
        The p-value; all three are valid in finite samples. The binomial one is exact for agreement with one debate
        per question; for accuracy it tests P(lost) and gives no credit for gains. That of Hoeffding and Bentkus is
        for any mean, with little power for accuracy. Betting is for any mean and adapts to the variance. With "auto"
        the method is "binomial" for agreement with one debate per question, else "betting".
    order : {"given", "split", "none"}
        "given": fixed-sequence testing, each rule at level `delta`, up to the first that fails. "split": a random
        third of the units finds the order, the others test. "none": Holm's correction (1979).
    mean_over : {"debates", "units"}
        The mean loss that is limited. With "debates", that of all debates, so that a question counts with its debates.
        Few large questions then carry most of the evidence, and no test can certify much. With "units", that of
        questions (or groups), each with equal weight for any number of debates.
    unit : {"question", "group"}
        What is independent. The debates of one question are not. "group" takes every log (``trajectories.groups``) as
        one unit, decided as one batch, and is the only one for batch rules.
    rng : Generator, int or None
        For ``order="split"``.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    RiskControlled

    Raises
    ------
    ValueError
        When a probability is outside (0, 1), labels or groups are needed and absent, or a batch rule is not given
        groups. Also when "binomial" is asked for questions of several debates, or a debate ended before the last round
        of the pilot.

    Notes
    -----
    The questions must be independent, and those to come drawn like those of the pilot. A pilot whose questions share an
    effect (one run in which every debate went well) breaks the guarantee, and nothing in the pilot shows it.

    A debate without a verdict at full depth cannot be judged and is left out for every rule; so is one
    without a label when accuracy is the target. A debate without a verdict at its stop counts as differing
    and as not right. All certified rules are valid at once, so any of them may be used, for any reason.

    Examples
    --------
    >>> from d3stats.worlds import simulate_debates
    >>> from d3stats.worlds import Voter
    >>> pilot = simulate_debates(Voter(panel=7), n_debates=200, n_rounds=10, rng=1)
    >>> family = ["supermajority:1.0", "supermajority:0.85", "supermajority:0.7", "supermajority:0.5"]
    >>> result = risk_controlled(pilot, family, max_loss_vs_full=0.15)
    >>> str(result.rule)
    'supermajority:0.85'
    >>> print(result.guarantee.split(", ")[-1])
    the verdict at the stop differs from that of full depth in at most 15 % of debates.
    """
    loss("max_loss_vs_full", max_loss_vs_full, positive=True)
    probability("delta", delta, open_interval=True)
    choice("target", target, ("agreement", "accuracy"))
    choice("method", method, ("auto", *METHODS))
    choice("order", order, ("given", "split", "none"))
    trajectories, absent = with_turns(as_trajectories(trajectories, **reading))
    every, repeated = as_rules(rules, panel=int(trajectories.panel.max()))
    refuse_what_ended_early(trajectories)
    random = as_rng(rng)
    units = losses_of_rules(trajectories, every, target, mean_over, unit)
    used = _method(method, target, units)
    largest = float(units.sizes.max())
    tested = np.arange(units.n)
    ranks = np.arange(len(every))
    if order == "split":
        shuffled = random.permutation(units.n)
        cut = int(np.ceil(units.n * _LEARNING_SHARE))
        part = shuffled[:cut]
        learned = p_values(units.sums[part], max_loss_vs_full, used, target, units.sizes[part], largest)
        ranks, tested = np.argsort(learned, kind="stable"), np.sort(shuffled[cut:])
    sums, sizes = units.sums[tested][:, ranks], units.sizes[tested]
    p = p_values(sums, max_loss_vs_full, used, target, sizes, largest)
    asked, passed = certified_rules(p, delta, order)
    rounds = units.rounds[ranks]
    chosen = int(np.where(passed, rounds, np.inf).argmin()) if passed.any() else None
    rule = FullDepth() if chosen is None else every[ranks[chosen]]
    table = pd.DataFrame(
        {
            "rule": [str(every[i]) for i in ranks],
            "rounds": rounds,
            "risk": sums.sum(axis=0) / sizes.sum(),
            "p_value": p,
            "tested": asked,
            "certified": passed,
            "chosen": np.arange(len(every)) == (-1 if chosen is None else chosen),
            "n_units": len(tested),
            "max_loss_vs_full": max_loss_vs_full,
            "delta": delta,
            "target": target,
            "method": used,
        }
    )
    return RiskControlled(
        rule=rule,
        certified=chosen is not None,
        guarantee=_promise(
            rule, chosen is not None, max_loss_vs_full, delta, target, unit, _equal(mean_over, units)
        ),
        max_loss_vs_full=max_loss_vs_full,
        delta=delta,
        target=target,
        method=used,
        order=order,
        unit=unit,
        mean_over=mean_over,
        n_units=len(tested),
        notes=(
            *trajectories.remarks(),
            *_notes(sizes, largest, max_loss_vs_full, delta, used, target, order, unit, rounds),
            *units.notes,
            *([] if chosen is None else _runs(trajectories, rule, target, unit)),
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
            "method must be 'hoeffding_bentkus' or 'betting' if a unit has several debates, because their "
            "mean is not 0 or 1; got method='binomial'"
        )
    return method


def _equal(mean_over: MeanOver, units: UnitLosses) -> bool:
    """Whether the loss is another one than that of all debates."""
    return mean_over == "units" and not units.single


def _promise(
    rule: StoppingRule,
    certified: bool,
    max_loss_vs_full: float,
    delta: float,
    target: Target,
    unit: Unit,
    equal: bool,
) -> str:
    if not certified:
        return (
            f"No rule is certified at a loss of {max_loss_vs_full:.3g} with delta={delta:.3g}, so play every "
            "debate to full depth."
        )
    share = f"{100 * max_loss_vs_full:.3g}"
    loses = (
        f"the verdict at the stop differs from that of full depth in at most {share} % of debates"
        if target == "agreement"
        else f"accuracy over debates is at most {share} points below that of full depth"
    )
    drawn = "questions" if unit == "question" else "batches"
    weighed = f" ({drawn} with equal weight)" if equal else ""
    return f"{rule}: with probability at least {1 - delta:.3g} over pilots of independent {drawn}, {loses}{weighed}."


def refuse_what_ended_early(log: Trajectories) -> None:
    """Refuse a pilot in which some loss against full depth is unknown."""
    ended = log.ended_early()
    if ended.any():
        short = int((log.depth < log.n_rounds).sum())
        stopped = int(ended.sum()) - short
        before = f"{short} of {log.n_debates} debates that ended before round {log.n_rounds}"
        at = f"{stopped} of {log.n_debates} that a stopping rule ended in round {log.n_rounds}, the last of the log"
        got = " and ".join([before] * (short > 0) + [at] * (stopped > 0))
        raise ValueError(
            "trajectories must be played to full depth, because the loss compares with the verdict at "
            f"full depth; got {got}. "
            "Play the pilot without a stopping rule, and leave out only debates that ended for an outside "
            "reason, such as an interrupted run"
        )


def _runs(t: Trajectories, rule: StoppingRule, target: Target, unit: Unit) -> list[Note]:
    """Say what the pilot shows of an effect that its runs share; runs that are the units are independent as such."""
    if unit == "group":
        return []
    found = losses_of_debates(t, [rule], target)
    return run_notes(found.losses[:, 0], found.counted, t, "loss")


_SHUFFLES = 999
_DIFFERENT = 0.01


def run_notes(values: Floats, counted: NDArray[np.bool_], t: Trajectories, what: str) -> list[Note]:
    """Say whether the logs or groups of a pilot differ by more than their questions do, by a permutation test.

    A guarantee takes questions as independent. The names of the groups are shuffled over the questions, or within them
    where groups share questions. The statistic is the sum over groups of the squared deviation of a group's losses from
    those that its debates would have at the mean, over its number of questions. `values` and `counted` have a value for
    each debate.
    """
    names, log = np.unique(np.array(t.groups or [""] * len(t)), return_inverse=True)
    if len(names) < 2:
        return [
            Note(
                "The guarantee takes the questions as independent. An effect that all debates of this one run share, "
                f"of a day or a version of the model, cannot be seen in it; the {what} of a later run may differ.",
                kind=ONE_RUN,
            )
        ]
    cells, at = np.unique(np.stack([t.cluster, log])[:, counted], axis=1, return_inverse=True)
    sums = np.bincount(at.reshape(-1), values[counted])
    sizes = np.bincount(at.reshape(-1)).astype(np.float64)
    rest = sums - sizes * (sums.sum() / sizes.sum())
    question, run = cells
    block = question if len(np.unique(question)) < len(question) else np.zeros_like(question)
    ordered = np.argsort(block, kind="stable")
    rest, run, block = rest[ordered], run[ordered], block[ordered]
    random = np.random.default_rng(0)

    def spread(of: Floats) -> float:
        each = np.bincount(run, of, minlength=len(names))
        return float((each**2 / np.maximum(np.bincount(run, minlength=len(names)), 1)).sum())

    seen = spread(rest) - 1e-9
    more = sum(spread(rest[np.lexsort((random.random(len(rest)), block))]) >= seen for _ in range(_SHUFFLES))
    p = (1 + more) / (_SHUFFLES + 1)
    if p > _DIFFERENT:
        return []
    each = [
        float(values[counted & (log == k)].mean()) for k in range(len(names)) if (counted & (log == k)).any()
    ]
    return [
        Note(
            f"The {what} differs between the {len(names)} logs or groups, from {percent(min(each))} to "
            f"{percent(max(each))} (p = {p:z.3f}). The guarantee is for new questions in this mix of them, not for a "
            "further log or group.",
            kind=RUNS_DIFFER,
            severity="warning",
            n=len(names),
        )
    ]


ONE_RUN, RUNS_DIFFER = "one run", "runs differ"


def _notes(
    sizes: Floats,
    largest: float,
    max_loss_vs_full: float,
    delta: float,
    method: Method,
    target: Target,
    order: Order,
    unit: Unit,
    rounds: Floats,
) -> list[str]:
    notes = []
    lossless = p_values(np.zeros((len(sizes), 1)), max_loss_vs_full, method, target, sizes, largest)[0]
    if lossless > delta:
        needed = smallest_certifying(max_loss_vs_full, delta, method, lowest_loss(target))
        worth, most = float(sizes.sum() / largest), float(sizes.max() / sizes.sum())
        count = f"{len(sizes)} {unit}s are too few"
        if worth < len(sizes):
            share = percent(most, digits=0)
            count += (
                f", because the largest has {share} of the debates and all count as {worth:.3g} equal ones"
            )
        notes.append(
            f"{count}; with {method} even a rule without a single loss needs {needed} to be "
            f"certified at max_loss_vs_full={max_loss_vs_full:g}, delta={delta:g}."
        )
    if order == "given" and (np.diff(rounds) > 1e-12).any():
        notes.append(
            "The rules are not in order from late to early stopping on this pilot; the guarantee holds, "
            "but the sequence may have ended early."
        )
    if method == "binomial" and target == "accuracy":
        notes.append(
            "The binomial test bounds P(lost) and gives no credit for debates gained, so it is conservative."
        )
    return notes
