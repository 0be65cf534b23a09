"""Costs of stopping rules: one table of measures, each a ratio of two sums over debates.

Replays and plans put intervals around them, scans and simulations standard errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Bools, Floats, Ints
from d3stats._words import counted, percent, setting
from d3stats.inference.comparison.pair_data import changes_of
from d3stats.note import Note
from d3stats.plausibility import MUCH_MISSING
from d3stats.polling import reads_votes
from d3stats.resampling import (
    cluster_t,
    cluster_totals,
    item_ratio_error,
    ratios,
)
from d3stats.resampling.cluster_t import ALIKE
from d3stats.resampling.proportions import share_limits
from d3stats.stopping import (
    FixedRounds,
    FullDepth,
    Rule,
    StoppingRule,
    StopReason,
    Stops,
    Unanimity,
    from_text,
)
from d3stats.stopping.votes import refuse_steps
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = [
    "LABELLED",
    "MEASURES",
    "PER_POINT",
    "SHARES",
    "Limits",
    "Measured",
    "Outcomes",
    "RatioColumns",
    "Target",
    "absent_note",
    "as_rules",
    "bill",
    "bill_of",
    "can_run",
    "early_notes",
    "log_ratio",
    "measure_columns",
    "measure_table",
    "notes_on",
    "outcomes",
    "paired_change",
    "paired_table",
    "point_notes",
    "ratio",
    "refuse_votes_at_the_end",
    "refused_note",
    "share",
    "spent_by_round",
    "tokens_by_round",
    "tokens_missing",
    "uncounted",
    "undecided",
    "unpriced",
    "verdicts_at",
    "votes_at_the_end",
    "with_turns",
]


Target = Literal["accuracy", "agreement"]
"""The meanings of a kept verdict: a right one, or that of full depth."""

MEASURES = {
    "rounds": ("rounds", "debates"),
    "tokens": ("tokens", "known_tokens"),
    "dollars": ("dollars", "known_dollars"),
    "seconds": ("seconds", "known_seconds"),
    "accuracy": ("correct", "scored"),
    "agreement": ("agrees", "compared"),
    "flips": ("flips", "compared"),
    "gained": ("gained", "judged"),
    "lost": ("lost", "judged"),
    "premature": ("premature", "early"),
    "tied": ("tied", "debates"),
    "tokens_per_point": ("scored_tokens", "points"),
}
"""Every measure of a rule is the sum of one column of :class:`Outcomes` over the sum of another.

Savings against another rule are one minus the ratio of both rules' rounds, tokens, dollars or seconds. Replays alone
have the tokens per point.
"""

SHARES = ("accuracy", "agreement", "flips", "gained", "lost", "premature")
"""Measures in which the first column is a part of the second."""

PER_POINT = "tokens_per_point"
"""Mean tokens of a debate for one percentage point of accuracy, over the debates that have tokens and are scored."""

LABELLED = ("accuracy", "gained", "lost", "premature")
"""Measures that need right answers."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The results of one rule's stops, one value per debate.

    Attributes
    ----------
    rounds : ndarray of int64
        Rounds played.
    verdict : ndarray of int32
        Plurality answer at the stop, ``MISSING`` without one.
    tied : ndarray of bool
        Whether two answers led at the stop.
    scored, correct : ndarray of bool
        Whether the debate counts in the accuracy, and whether its verdict is right.
    compared, agrees, flips : ndarray of bool
        Whether the debate counts in the agreement with full depth, whether the verdicts are the same, and whether they
        differ. None counts when some debate ended early: its verdict at full depth is unknown.
    judged, gained, lost : ndarray of bool
        Whether the debate is labelled and compared; right at the stop and not at full depth; the reverse.
    early, premature : ndarray of bool
        Whether the debate is judged and stopped before full depth; whether, besides, more than half of the votes cast
        at its stop are for one wrong answer while the verdict at full depth is right.
    spent : dict of str to ndarray of float
        "tokens", "dollars" or another cost up to the stop, NaN where that of some round is not recorded.
    """

    rounds: Ints
    verdict: NDArray[np.int32]
    tied: Bools
    scored: Bools
    correct: Bools
    compared: Bools
    agrees: Bools
    flips: Bools
    judged: Bools
    gained: Bools
    lost: Bools
    early: Bools
    premature: Bools
    spent: dict[str, Floats]

    def column(self, name: str) -> Floats:
        """Return a column of numbers: a flag, "rounds", "debates", a cost (0 where unknown) or "known_" and a cost.

        "scored_tokens" are the tokens of scored debates, and "points" is 100 where the verdict of one is right; both
        are 0 where the tokens are unknown.
        """
        if name == "scored_tokens":
            return self.column("tokens") * self.scored
        if name == "points":
            return 100.0 * self.column("known_tokens") * self.correct * self.scored
        kind = name.removeprefix("known_")
        if kind in self.spent:
            amount = self.spent[kind]
            known = ~np.isnan(amount)
            return np.where(known, amount, 0.0) if name == kind else known.astype(np.float64)
        values = np.ones(len(self.rounds)) if name == "debates" else getattr(self, name)
        return np.asarray(values, dtype=np.float64)

    def of(self, measure: str) -> tuple[Floats, Floats]:
        """Return the two columns of a measure."""
        above, below = MEASURES[measure]
        return self.column(above), self.column(below)


def with_turns(trajectories: Trajectories) -> tuple[Trajectories, int]:
    """Leave out debates without turns; return the others and how many were left out.

    Raises
    ------
    ValueError
        When no debate has turns.
    """
    n = trajectories.n_debates
    if n == 0:
        raise ValueError("trajectories must hold at least one debate; got none")
    played = trajectories.depth > 0
    if not played.any():
        raise ValueError(f"trajectories must hold at least one debate with turns; got {n} without any turn")
    return (trajectories if played.all() else trajectories.select(played)), int((~played).sum())


def undecided(trajectories: Trajectories, stops: Stops) -> NDArray[np.bool_]:
    """Return which debates ended early, before the rule would have stopped them.

    The cost and decision of the rule in these debates are unknown; see :meth:`Trajectories.ended_early`.
    """
    went_on = stops.reasons == str(StopReason.EXHAUSTED)
    return np.asarray(went_on & trajectories.ended_early())


def verdicts_at(
    trajectories: Trajectories, rounds: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the verdict after so many rounds of each debate, and whether it was a tie."""
    played = rounds > 0
    if trajectories.n_rounds == 0:
        return np.full(len(rounds), MISSING, np.int32), np.zeros(len(rounds), dtype=bool)
    row, column = np.arange(len(rounds)), np.maximum(rounds - 1, 0)
    verdict = np.where(played, trajectories.verdicts()[row, column], MISSING).astype(np.int32)
    return verdict, trajectories.tied()[row, column] & played


def can_run(trajectories: Trajectories, rule: StoppingRule) -> bool:
    """Return whether the protocol of these debates can be run with a rule: votes that it reads are cast in time."""
    if not reads_votes(rule):
        return True
    if trajectories.polled is not None:
        return bool((trajectories.polled | ~trajectories.reached()).all())
    asked: Bools = np.any(trajectories.had_turns(), axis=2)
    return not _at_the_end(trajectories, asked)


def refuse_votes_at_the_end(pilot: Trajectories) -> None:
    """Refuse a pilot from which no rule on votes can be chosen, because votes were cast only at its end."""
    if not can_run(pilot, Unanimity()) or votes_at_the_end(pilot):
        raise ValueError(
            "pilot must have votes after every round, because a plan is a rule on votes; got votes at the end "
            "alone; play it with poll=every_round, or replay rules that read no votes"
        )


def bill(trajectories: Trajectories, rule: StoppingRule, kind: str = "tokens") -> Floats | None:
    """Return the cost of a run under a rule that stops after each round, a first column of 0; None when none is known.

    Agents that only vote are paid after every round where the rule reads votes, and else once, at the stop; see
    ``d3stats.polling``. A poll that was not made has no known cost. A debate with any other unrecorded round is NaN
    throughout, so that every rule is charged on the same debates.
    """
    t = trajectories
    cost, polls = getattr(t, kind), getattr(t, f"poll_{kind}")
    return None if cost is None else bill_of(t, rule, cost, polls)


def bill_of(
    trajectories: Trajectories, rule: StoppingRule, cost: Floats, polls: Floats | None
) -> Floats | None:
    """Return what :func:`bill` does for any cost of a round, `polls` being the part of it that a poll costs."""
    t = trajectories
    if t.polled is None:
        return spent_by_round(t, cost)
    polls = np.full_like(cost, np.nan) if polls is None else polls
    asked = np.where(t.polled, polls, 0.0)
    if reads_votes(rule):
        # Where the votes come too late for the rule, this is what it would take.
        return spent_by_round(t, cost - asked + polls)
    found = spent_by_round(t, cost - asked)
    if found is not None:
        found[:, 1:] += polls
    return found


def unpriced(rounds: NDArray[np.integer[Any]], bills: Floats | None) -> bool:
    """Return whether a debate stops after a round without a poll, at a cost not known."""
    if bills is None:
        return False
    at_stop = bills[np.arange(len(bills)), rounds]
    return bool((np.isnan(at_stop) & ~np.isnan(bills[:, 0])).any())


def tokens_by_round(trajectories: Trajectories) -> Floats | None:
    """Return tokens spent by the end of each round, a first column of 0 before it; None when none is known.

    A debate with any unrecorded round is NaN throughout, so that every rule is charged on the same debates.
    """
    return None if trajectories.tokens is None else spent_by_round(trajectories, trajectories.tokens)


def spent_by_round(trajectories: Trajectories, cost: Floats) -> Floats | None:
    """Return what was spent by the end of each round, as :func:`tokens_by_round` does, for any cost of a round."""
    spent = np.where(trajectories.reached(), cost, 0.0)
    known = ~np.isnan(spent).any(axis=1)
    if not known.any():
        return None
    total = np.zeros((len(spent), trajectories.n_rounds + 1))
    total[known, 1:] = np.cumsum(spent[known], axis=1)
    total[~known] = np.nan
    return total


def outcomes(
    trajectories: Trajectories,
    rounds: NDArray[np.integer[Any]],
    missing: Missing = "exclude",
    **spent: Floats | None,
) -> Outcomes:
    """Compare the verdicts after so many rounds with the labels and with the verdicts at full depth.

    Parameters
    ----------
    rounds : ndarray of int, shape (debates,)
        Where each debate stopped.
    missing : {"exclude", "wrong"}
        What a debate without a verdict counts as.
    **spent : ndarray of float, shape (debates, rounds + 1), or None
        Costs by their name, as :func:`bill` returns them; None is left out. A cost that is not known in a debate whose
        rounds are all recorded is unknown in every debate: the others alone would be another sample.
    """
    played: Ints = np.asarray(rounds, dtype=np.int64)
    verdict, tied = verdicts_at(trajectories, played)
    final, _ = verdicts_at(trajectories, trajectories.depth)
    label = trajectories.label
    labelled = label != MISSING
    correct, final_correct = (verdict == label) & labelled, (final == label) & labelled
    voted = (verdict != MISSING) | (missing == "wrong")
    compared = voted & ((final != MISSING) | (missing == "wrong")) & (not trajectories.ended_early().any())
    judged = labelled & compared
    same, row = verdict == final, np.arange(len(label))
    lost, early = judged & ~correct & final_correct, judged & (played < trajectories.depth)
    return Outcomes(
        rounds=played,
        verdict=verdict,
        tied=tied,
        scored=labelled & voted,
        correct=correct,
        compared=compared,
        agrees=compared & same,
        flips=compared & ~same,
        judged=judged,
        gained=judged & correct & ~final_correct,
        lost=lost,
        early=early,
        premature=early & lost & _held_by_a_majority(trajectories, played),
        spent={
            name: np.full(len(row), np.nan) if unpriced(played, cost) else cost[row, played]
            for name, cost in spent.items()
            if cost is not None
        },
    )


def uncounted(result: Outcomes) -> Outcomes:
    """Return the outcomes with no debate counted in accuracy and agreement, where those that could are a selection."""
    none = np.zeros(len(result.rounds), dtype=bool)
    return replace(
        result,
        scored=none,
        correct=none,
        compared=none,
        agrees=none,
        flips=none,
        judged=none,
        gained=none,
        lost=none,
        early=none,
        premature=none,
    )


def _held_by_a_majority(trajectories: Trajectories, played: Ints) -> Bools:
    """Return whether more than half of the votes cast in the last of so many rounds are for one answer."""
    if trajectories.n_rounds == 0:
        return np.zeros(len(played), dtype=bool)
    row, column = np.arange(len(played)), np.maximum(played - 1, 0)
    lead, _, cast = (counts[row, column] for counts in trajectories.camps())
    majority: Bools = (2 * lead > cast) & (played > 0)
    return majority


def as_rules(
    rules: StoppingRule | str | Iterable[StoppingRule | str],
    *,
    baselines: bool = False,
    panel: int | None = None,
) -> tuple[tuple[StoppingRule, ...], list[str]]:
    """Return rules, or their text, as rules with different names, and a note on those that came twice.

    Raises
    ------
    ValueError
        When two different rules have one name, or a ladder asks for more votes than the `panel` has.
    """
    given = [rules] if isinstance(rules, (StoppingRule, str)) else list(rules)
    once: dict[str, StoppingRule] = {}
    repeated = []
    for one in given:
        rule = from_text(one) if isinstance(one, str) else one
        if not isinstance(rule, StoppingRule):
            raise TypeError(f"rules must be stopping rules or their text; got {rule!r}")
        name = str(rule)
        if once.setdefault(name, rule) is rule:
            continue
        if once[name] != rule:
            raise ValueError(f"rules must have different names; got two different rules named {name!r}")
        repeated.append(name)
    if not once and not baselines:
        raise ValueError("rules must hold at least one rule; got none")
    for kind in (Unanimity, FullDepth) if baselines else ():
        if not any(isinstance(rule, kind) for rule in once.values()):
            once[str(kind())] = kind()
    if panel is not None:
        refuse_steps(once.values(), panel)
    named = "; ".join(dict.fromkeys(repeated))
    return tuple(once.values()), [f"Named more than once and used once: {named}."] if repeated else []


@dataclass(frozen=True, eq=False)
class Limits:
    """Estimates and limits, one per ratio; NaN where the denominator is 0 in the data themselves.

    Limits are NaN too where every question gives the same value, as the rounds of a rule that always stops in one.

    Attributes
    ----------
    estimate, low, high : ndarray of float, shape (ratios,)
    sizes : ndarray of float, shape (ratios,)
        The denominators in the data.
    """

    estimate: Floats
    low: Floats
    high: Floats
    sizes: Floats


class RatioColumns:
    """Named columns over debates, and the measures that are ratios of the sums of two of them."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._columns: list[Floats] = []
        self.measures: list[tuple[str, str]] = []
        self._ratios: list[tuple[int, int]] = []
        self._shares: list[bool] = []
        self._changes: list[bool] = []
        self._reciprocal: list[bool] = []
        self._bounds: list[tuple[float, float]] = []
        self._saved: list[bool] = []

    def add(self, key: str, values: NDArray[np.float64] | NDArray[np.bool_] | NDArray[np.int64]) -> str:
        """Add a column under a key and return the key; a key that is there already is kept as it is."""
        if key not in self._index:
            self._index[key] = len(self._columns)
            self._columns.append(np.asarray(values, dtype=np.float64))
        return key

    def measure(
        self,
        of: str,
        name: str,
        above: str,
        below: str,
        *,
        share: bool = False,
        change: bool = False,
        may_vanish: bool = False,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        saved: bool = False,
    ) -> None:
        """Say that a measure is the sum of one column over the sum of another; of a share the first is a part of it.

        The first column of a `change` has the differences of right and wrong by debate; it has the paired t.
        A denominator that `may_vanish` can be near 0 where the numerator is not, so that the measure has no bound. The
        limits are then made on the reciprocal scale: one over those of the reciprocal. A part that is `saved` of the
        second column has limits on the log scale of what is left. Limits are cut at `bounds`.
        """
        self._saved.append(saved)
        self._bounds.append(bounds)
        self._shares.append(share)
        self._changes.append(change)
        self._reciprocal.append(may_vanish)
        self.measures.append((of, name))
        pair = (self._index[above], self._index[below])
        self._ratios.append(pair[::-1] if may_vanish else pair)

    def limits(self, cluster: NDArray[np.int64], level: float) -> Limits:
        """Return every measure with its limits over questions: a share's, those of a change, else the cluster t."""
        totals = cluster_totals(np.column_stack(self._columns), cluster)
        whole = totals.sum(axis=0)
        estimate, low, high, sizes = np.full((4, len(self._ratios)), np.nan)
        for i, (above, below) in enumerate(self._ratios):
            sizes[i] = whole[below]
            if whole[below] <= 0:
                continue
            estimate[i] = whole[above] / whole[below]
            if self._shares[i]:
                found = share_limits(totals[:, above], totals[:, below], level)
                low[i], high[i] = (np.nan if x is None else x for x in (found.low, found.high))
            elif self._changes[i]:
                change, counted = (self._columns[at] for at in (above, below))
                low[i], high[i] = change_limits(change[counted > 0], cluster[counted > 0], level)
            else:
                of, per = (self._columns[at] for at in (above, below))
                measured = (
                    log_ratio(per - of, per, cluster, level)
                    if self._saved[i]
                    else ratio(of, per, cluster, level)
                )
                if measured.high > measured.low:
                    least, most = self._bounds[i]
                    low[i], high[i] = max(measured.low, least), min(measured.high, most)
        for i, turned in enumerate(self._reciprocal):
            if not turned:
                continue
            estimate[i], low[i], high[i] = (_turned(x) for x in (estimate[i], high[i], low[i]))
            if np.isnan(low[i] + high[i]):  # no right verdict at all is within the limits
                low[i] = high[i] = np.nan
        return Limits(estimate, low, high, sizes)


def change_limits(change: Floats, cluster: Ints, level: float) -> tuple[float, float]:
    """Return the paired t limits of a mean change of right and wrong by debate, NaN where there are none.

    Student's limits of the mean would miss where few debates changed.
    """
    found = changes_of(change, cluster).interval("cluster t", level)
    return (np.nan, np.nan) if found.low is None or found.high is None else (found.low, found.high)


def paired_change(
    one: Outcomes, other: Outcomes, cluster: Ints, level: float, target: Target = "accuracy"
) -> Measured:
    """Return how many more verdicts one rule keeps than another on the debates that count under both.

    The one column by which rules are compared: accuracies of different debates can differ where no debate does.
    """
    (mine, counted), (theirs, also) = (each.of(target) for each in (one, other))
    both = (counted * also) > 0
    if not both.any():
        return Measured()
    change = (mine - theirs)[both]
    return Measured(float(change.mean()), *change_limits(change, cluster[both], level))


def _turned(ratio: float) -> float:
    """Return one over a ratio, NaN where that has no value."""
    return 1.0 / ratio if ratio > 0 else np.nan


class Measured(NamedTuple):
    """A value with its limits, standard error and degrees of freedom; all NaN where nothing could be measured."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    se: float = np.nan
    df: float = np.nan


def _totals(above: ArrayLike, below: ArrayLike, cluster: Ints) -> Floats:
    columns = np.column_stack([np.asarray(above, np.float64), np.asarray(below, np.float64)])
    return cluster_totals(columns, cluster)


def ratio(
    above: ArrayLike, below: ArrayLike, cluster: Ints, level: float, *, symmetric: bool = False
) -> Measured:
    """Return the ratio of two sums over debates with its interval over questions, see :func:`item_ratio`."""
    of, per = np.asarray(above, np.float64), np.asarray(below, np.float64)
    totals = _totals(of, per, cluster)
    totals = totals[totals[:, 1] > 0]
    value = float(totals[:, 0].sum() / totals[:, 1].sum()) if len(totals) else np.nan
    if len(totals) < 2:
        return Measured(value)
    least = item_ratio_error(of, per, cluster)
    found = cluster_t(totals, ratios((0, 1)), level=level, symmetric=symmetric, least=least)
    df = float(found.df[0])
    if found.reasons[0] == ALIKE:
        return Measured(value, value, value, 0.0, df)
    low, high = found.interval()
    if low is None or high is None:
        return Measured(value)
    return Measured(value, low, high, float(found.se[0]), df)


def share(hits: ArrayLike, counted: ArrayLike, cluster: Ints, level: float) -> Measured:
    """Return a share with its cluster Wilson interval over questions, see :func:`share_limits`."""
    above, below = _totals(hits, counted, cluster).T
    value = float(above.sum() / below.sum()) if below.any() else np.nan
    found = share_limits(above, below, level)
    return Measured(value, *(np.nan if x is None else x for x in (found.low, found.high, found.se)))


def log_ratio(above: ArrayLike, below: ArrayLike, cluster: Ints, level: float) -> Measured:
    """Return one minus the ratio of two sums, its interval made on the log scale of the ratio."""
    return _less(ratio(above, below, cluster, level))


def _less(found: Measured) -> Measured:
    """Return one minus a ratio, its limits those of the ratio's logarithm."""
    if not found.value > 0:
        return Measured(1 - found.value)
    more, less = (float(np.exp((end - found.value) / found.value)) for end in (found.high, found.low))
    return Measured(1 - found.value, 1 - found.value * more, 1 - found.value * less, found.se, found.df)


def measure_columns(
    results: Mapping[str, Outcomes],
    references: Mapping[str, str | None],
    *,
    labelled: bool,
    undecided: Collection[str] = (),
    unusable: Collection[str] = (),
) -> RatioColumns:
    """Say what every measure of every rule is a ratio of."""
    first = next(iter(results.values()))
    columns = RatioColumns()
    nothing = columns.add("nothing", np.zeros(len(first.rounds)))
    unknown = {
        cost: {rule for rule, result in results.items() if np.isnan(result.spent[cost]).all()}
        for cost in first.spent
    }

    def column(name: str, rule: str) -> str:
        # All rules are charged on the same debates; a rule whose bill is not known is charged on none.
        common = name == "debates" or name.startswith("known_")
        return columns.add(name if common else f"{name} {rule}", results[rule].column(name))

    costs = ["rounds", *(cost for cost in ("tokens", "dollars", "seconds") if cost in first.spent)]
    deepest = float(max(result.rounds.max() for result in results.values()))
    bounds = {"rounds": (1.0, deepest)} | dict.fromkeys(("tokens", "dollars", "seconds"), (0.0, np.inf))
    told = [*costs, *(m for m in SHARES if labelled or m not in LABELLED)]
    told += [PER_POINT] if labelled and "tokens" in costs else []
    for rule in results:
        for measure in told:
            cost = "tokens" if measure == PER_POINT else measure
            known = rule not in undecided and rule not in unknown.get(cost, ())
            above, below = (column(c, rule) for c in MEASURES[measure]) if known else (nothing, nothing)
            columns.measure(
                rule,
                measure,
                above,
                below,
                share=known and measure in SHARES,
                may_vanish=known and measure == PER_POINT,
                bounds=bounds.get(measure, (-np.inf, np.inf)),
            )
    for rule, result in results.items():
        for word, reference in references.items():
            for cost in costs:
                saved, of = nothing, nothing
                gone = {*undecided, *unusable, *unknown.get(cost, ())}
                if (
                    reference is not None
                    and rule not in {*undecided, *unknown.get(cost, ())}
                    and reference not in gone
                ):
                    less = results[reference].column(cost) - result.column(cost)
                    saved, of = columns.add(f"saved {cost} {word} {rule}", less), column(cost, reference)
                columns.measure(rule, f"saved_{cost}_vs_{word}", saved, of, saved=True)
    return columns


def measure_table(about: pd.DataFrame, columns: RatioColumns, limits: Limits, level: float) -> pd.DataFrame:
    """Put the measures and their limits beside what is known `about` each rule, then the level."""
    rows: dict[str, dict[str, float]] = {}
    for i, (name, measure) in enumerate(columns.measures):
        found = {"": limits.estimate[i], "_low": limits.low[i], "_high": limits.high[i]}
        rows.setdefault(name, {}).update({measure + end: float(x) for end, x in found.items()})
    measured = pd.DataFrame([rows[name] for name in about["rule"]])
    return pd.concat([about, measured], axis=1).assign(level=level)


def point_notes(
    table: pd.DataFrame, results: Mapping[str, Outcomes], undecided: Collection[str]
) -> list[str]:
    """Say where tokens for one point of accuracy are not defined, have no interval, or are of other debates."""
    if PER_POINT not in table.columns:
        return []
    rows = [row for row in table.to_dict("records") if row["rule"] not in undecided]
    named, notes = "Tokens per accuracy point", []
    absent = [str(row["rule"]) for row in rows if np.isnan(row[PER_POINT])]
    if absent:
        notes.append(
            f"{named} are not defined where no debate with tokens has a right verdict, or no token was spent: "
            f"{'; '.join(absent)}."
        )
    bare = [
        str(row["rule"])
        for row in rows
        if row["rule"] not in absent and np.isnan(row[f"{PER_POINT}_high"]) and row["accuracy"] < 1
    ]
    if bare:
        notes.append(
            f"{named} have no interval where so few right verdicts leave no upper limit, or all questions give one "
            f"value: {'; '.join(bare)}."
        )
    other = {}
    for row in rows:
        (tokens, scored), rule = (
            (results[row["rule"]].column(x) for x in ("known_tokens", "scored")),
            row["rule"],
        )
        if rule not in absent and (tokens != scored).any():
            other[rule] = int((tokens * scored).sum())
    if other:
        fewest = min(other, key=lambda rule: other[rule])
        notes.append(
            f"{named} take the debates that have tokens and are scored, so they need not be tokens over accuracy of "
            f"the table; fewest under {fewest}: {other[fewest]} of {len(results[fewest].rounds)} debates."
        )
    return notes


def paired_table(
    pairs: Sequence[tuple[str, str]],
    results: Mapping[str, Outcomes],
    cluster: Ints,
    level: float,
) -> pd.DataFrame:
    """Return the difference of every pair of rules in every measure that both have."""
    if not pairs:
        names = ["rule", "against", "measure", "difference", "low", "high", "n_debates"]
        return pd.DataFrame(columns=names).assign(level=level)
    columns = RatioColumns()
    by_key = {f"{first} / {second}": (first, second) for first, second in pairs}
    for key, (first, second) in by_key.items():
        a, b = results[first], results[second]
        for measure in ("accuracy", "rounds", *(["tokens"] if "tokens" in a.spent else [])):
            (mine, counted), (theirs, also) = a.of(measure), b.of(measure)
            both = counted * also
            if both.any():
                of = columns.add(f"{measure} counts {key}", both)
                above = columns.add(f"{measure} {key}", (mine - theirs) * both)
                columns.measure(key, measure, above, of, change=measure == "accuracy")
    limits = columns.limits(cluster, level)
    frame = pd.DataFrame(
        [(*by_key[key], measure) for key, measure in columns.measures],
        columns=["rule", "against", "measure"],
    )
    frame = frame.assign(
        difference=limits.estimate, low=limits.low, high=limits.high, n_debates=limits.sizes.astype(np.int64)
    )
    return frame.assign(level=level)


def absent_note(without: int, trajectories: Trajectories) -> list[str]:
    """Say how many debates without turns were left out of the debates that are analysed."""
    if not without:
        return []
    return [f"{without} of {without + trajectories.n_debates} debates have no turns and are left out."]


def early_notes(
    trajectories: Trajectories,
    without: int,
    rules: Sequence[StoppingRule],
    undecided: Mapping[str, int],
    baseline: str,
) -> list[str]:
    """Return the limits of a log whose debates ended early."""
    notes = absent_note(without, trajectories)
    n, last = trajectories.n_debates, trajectories.n_rounds
    ended = trajectories.ended_early()
    short = ended & (trajectories.depth < last)
    stopped = int((ended & ~short).sum())
    if short.any() or stopped:
        before = f"{int(short.sum())} of {n} debates ended before round {last}, the last round of the log"
        at = f"a stopping rule ended {stopped} of {n} debates in round {last}, the last round of the log"
        said = (
            before
            if not stopped
            else at
            if not short.any()
            else f"{before}; a stopping rule ended {stopped} in it"
        )
        notes.append(
            f"{said[0].upper()}{said[1:]}. The decision at full depth is unknown in them, so agreement, "
            "flips, gained, lost, premature stops and savings against full depth are left out. To compare with "
            "full depth, play the debates without a stopping rule."
        )
    if undecided:
        listed = "; ".join(f"{name} ({counted(count, 'debate')})" for name, count in undecided.items())
        notes.append(
            f"Rules without numbers, because debates ended before the rule would have stopped: {listed}."
        )
    if baseline in undecided:
        notes.append(
            f"Savings against {baseline} are left out, because {counted(undecided[baseline], 'debate')} ended before "
            "it would have stopped."
        )
    longer = [
        str(rule)
        for rule in rules
        if isinstance(rule, FixedRounds) and rule.n > last and str(rule) not in undecided
    ]
    if longer:
        notes.append(f"Needs more rounds than the log has and is cut at round {last}: {'; '.join(longer)}.")
    return notes


def votes_at_the_end(trajectories: Trajectories) -> bool:
    """Whether votes come in the last round of debates of several rounds and never before."""
    return _at_the_end(trajectories, (trajectories.votes != MISSING).any(axis=2))


def _at_the_end(t: Trajectories, voted: Bools) -> bool:
    last = np.arange(t.n_rounds) == t.depth[:, None] - 1
    several = (t.depth > 1)[:, None]
    return bool((voted & last & several).any() and not (voted & ~last).any())


def _polls_paid(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    names: Sequence[str],
    decided: Sequence[str],
    unknown: Collection[str],
) -> list[str]:
    """Say which rules are charged for one poll, and of which it is not known what one would cost."""
    if trajectories.polled is None or trajectories.tokens is None or trajectories.n_rounds < 2:
        return []
    once = [
        name for rule, name in zip(rules, names, strict=True) if name in decided and not reads_votes(rule)
    ]
    notes = []
    paid = [name for name in once if name not in unknown]
    if paid:
        notes.append(
            "Jurors who only vote are charged after every round to rules that read votes, and once, at the stop, to "
            f"the others ({'; '.join(paid)}), as in a run with each rule."
        )
    bare = [name for name in once if name in unknown]
    if bare:
        notes.append(
            f"Tokens are not known of rules that stop where the jurors were not asked: {'; '.join(bare)}. A run with "
            "poll=every_round records what asking costs after each round."
        )
    return notes


def tokens_missing(text: str, gone: int, n: int) -> Note:
    """Return a note that costs are those of a part of the debates, a warning where it is not most of them.

    Examples
    --------
    >>> print(tokens_missing("Tokens leave out 33 of 40 debates.", 33, 40))
    WARNING: Tokens leave out 33 of 40 debates.
    """
    return Note(
        text, kind="tokens missing", severity="warning" if gone > MUCH_MISSING * n else "note", n=gone
    )


def refused_note(trajectories: Trajectories, refused: Sequence[StoppingRule]) -> list[str]:
    """Say which rules cannot be run with the protocol of the log, and what would make it possible."""
    if not refused:
        return []
    remedy = (
        "with poll=every_round"
        if trajectories.polled is not None
        else "that asks for votes after every round"
    )
    return [
        "Left out, because they read votes after every round and the log has votes only at the end of a debate: "
        f"{'; '.join(map(str, refused))}. They can be replayed on a run {remedy}."
    ]


def _missing_votes(trajectories: Trajectories) -> list[str]:
    """Say how many votes are missing, and what that means for the rules; nothing where no vote is cast."""
    asked, cast = trajectories.had_turns(), trajectories.votes != MISSING
    n, gone = int(asked.sum()), int((asked & ~cast).sum())
    if not gone or not cast.any():
        return []
    return [
        f"{gone:,} of {n:,} votes are missing ({percent(gone / n, digits=1)}). Unanimity and pluralities take the "
        "votes cast; a share of the panel takes all seats."
    ]


def _no_flip(steady: Mapping[str, Outcomes], cluster: Ints, level: float) -> list[str]:
    """Say how many flips rules without one may have: the upper limit of the table, and what it rests on."""
    found: dict[tuple[float, int, int], list[str]] = {}
    for name, result in steady.items():
        limit = share(result.column("flips"), result.column("compared"), cluster, level)
        key = (limit.high, len(np.unique(cluster[result.compared])), int(result.compared.sum()))
        found.setdefault(key, []).append(name)
    notes = []
    for (high, questions, debates), names in found.items():
        bound = (
            "no limit can be given"
            if np.isnan(high)
            else f"the {100 * level:g} % interval reaches {percent(high, digits=1)} flips"
        )
        notes.append(
            f"No verdict flipped under {'; '.join(names)}, in {counted(debates, 'compared debate')} of "
            f"{counted(questions, 'question')}: {bound}."
        )
    return notes


def notes_on(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    names: Sequence[str],
    results: Mapping[str, Outcomes],
    missing: Missing,
    shortened: Collection[str],
    level: float,
    undecided: Collection[str] = (),
) -> tuple[str, ...]:
    """Write one sentence for each thing in the data or the rules that limits what the table says.

    `results` are the outcomes by rule; `shortened` names the rules that stopped any debate short of its depth,
    `undecided` those without numbers, which have no row.
    """
    n = trajectories.n_debates
    decided = [name for name in names if name not in undecided]
    notes = [*trajectories.notes]
    if trajectories.coding == "correctness":
        notes.append(
            'Votes are coded right or wrong (coding="correctness"), so two wrong votes look equal, and wrong '
            "unanimity and wrong pluralities are assumptions, not observations."
        )
    unlabelled = int((trajectories.label == MISSING).sum())
    if unlabelled:
        notes.append(
            f"{unlabelled} of {n} debates have no label: accuracy, gained, lost and premature "
            "stops leave them out."
        )
    notes += _missing_votes(trajectories)
    silent = {name: int((results[name].verdict == MISSING).sum()) for name in decided}
    if any(silent.values()):
        treatment = "left out of accuracy and agreement" if missing == "exclude" else "counted as not correct"
        most = sorted((name for name in decided if silent[name]), key=lambda name: -silent[name])
        listed = "; ".join(
            f"{'most under ' * (k == 0)}{name}: {silent[name]} of {n}" for k, name in enumerate(most)
        )
        open_ties = any(((results[name].verdict == MISSING) & results[name].tied).any() for name in decided)
        level_votes = ", or with a tie that is no decision," if open_ties else ""
        notes.append(
            f"Debates without any vote{level_votes} at their stop are {treatment}, {setting('missing', missing)}; "
            f"{listed}."
        )
    tied = {name: int(results[name].tied.sum()) for name in decided}
    if any(tied.values()):
        worst = max(tied, key=lambda name: tied[name])
        notes.append(
            f"A tied plurality {trajectories.tie_rule()}; most ties under {worst}: {tied[worst]} of {n} debates."
        )
    remarks = (part.remarks(trajectories) for rule in rules for part in rule.parts())
    notes += dict.fromkeys(remark for each in remarks for remark in each)
    tokens = tokens_by_round(trajectories)
    unknown = {name for name in decided if np.isnan(results[name].spent.get("tokens", np.zeros(1))).all()}
    short = [name for name in decided if name in shortened]
    if short and votes_at_the_end(trajectories):
        late = (
            " If the voters were asked only in the last round, the tokens of these rules leave out the cost of "
            "asking."
        )
        bare = " and no accuracy, because only debates that ended there by themselves have a verdict"
        notes.append(
            "No debate has a vote before its last round, so rules that stop earlier have no verdict in the debates "
            f"that they shorten{bare if missing == 'exclude' else ''} ({'; '.join(short)})."
            f"{'' if tokens is None or set(short) <= unknown else late}"
        )
    notes += _polls_paid(trajectories, rules, names, decided, unknown)
    if tokens is not None and np.isnan(tokens[:, 0]).any():
        gone = int(np.isnan(tokens[:, 0]).sum())
        notes.append(
            tokens_missing(f"Tokens leave out {gone} of {n} debates with unrecorded tokens.", gone, n)
        )
    steady = [
        name
        for name in decided
        if 0 < results[name].compared.sum() == results[name].agrees.sum() and name in shortened
    ]
    if steady:
        notes += _no_flip({name: results[name] for name in steady}, trajectories.cluster, level)
    batch = [str(name) for rule, name in zip(rules, names, strict=True) if not isinstance(rule, Rule)]
    if batch:
        notes.append(
            f"Decided for the whole batch: {'; '.join(batch)}. The stop of the batch is fixed, so the "
            "intervals do not include that another batch might stop in another round."
        )
    peeking = [
        name
        for rule, name in zip(rules, names, strict=True)
        if any(part.needs_labels for part in rule.parts())
    ]
    if peeking:
        notes.append(f"Uses the right answers, which a running debate does not have: {'; '.join(peeking)}.")
    return tuple(notes)
