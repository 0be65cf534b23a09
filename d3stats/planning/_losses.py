"""What stopping early loses against full depth, one number per independent unit and rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats.planning._masks import StopFinder
from d3stats.planning._measures import verdicts_at
from d3stats.stopping import Rule, StoppingRule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["PerQuestion", "Target", "Unit", "UnitLosses", "losses_of_rules"]

Target = Literal["agreement", "accuracy"]
PerQuestion = Literal["mean", "one"]
Unit = Literal["question", "group"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class UnitLosses:
    """Losses of several rules on the independent units of a pilot.

    Attributes
    ----------
    losses : ndarray of float, shape (units, rules)
        In [0, 1] for agreement, in [-1, 1] for accuracy.
    rounds : ndarray of float, shape (rules,)
        Mean rounds played, over all debates.
    single : bool
        Whether every unit is one debate.
    notes : tuple of str
        What was left out.
    """

    losses: FloatArray
    rounds: FloatArray
    single: bool
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.losses)


def losses_of_rules(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    target: Target,
    per_question: PerQuestion,
    unit: Unit,
    rng: np.random.Generator,
) -> UnitLosses:
    """Stop every debate by every rule and reduce the losses to one per unit; see ``risk_controlled``."""
    choice("per_question", per_question, ("mean", "one"))
    choice("unit", unit, ("question", "group"))
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
        raise ValueError("trajectories must hold a debate with a verdict at full depth; got none that counts")
    stops = _stops(t, rules, units, unit)
    losses = np.empty((len(t), len(rules)))
    silent = 0
    for j, rounds in enumerate(stops):
        verdict, _ = verdicts_at(t, rounds)
        silent = max(silent, int((counted & (verdict == MISSING)).sum()))
        if target == "agreement":
            losses[:, j] = verdict != final
        else:
            losses[:, j] = (final == t.label) * 1.0 - (verdict == t.label)
    if silent:
        notes.append(
            f"Up to {silent} debates have no verdict at a rule's stop; they count as differing and as not right."
        )
    if t.coding == "correctness" and target == "agreement":
        notes.append(
            'Votes are coded right or wrong (coding="correctness"): a change between two wrong answers is not seen.'
        )
    rows = np.flatnonzero(counted)
    _, index, sizes = np.unique(units[rows], return_inverse=True, return_counts=True)
    single = bool((sizes == 1).all())
    if not single and per_question == "one":
        # The first of a random order is a uniform draw from each unit.
        shuffled = rng.permutation(len(rows))
        _, first = np.unique(index[shuffled], return_index=True)
        drawn = rows[shuffled[first]]
        notes.append(f"One debate drawn at random from each {unit}.")
        reduced, single = losses[drawn], True
    else:
        reduced = np.zeros((len(sizes), len(rules)))
        np.add.at(reduced, index, losses[rows])
        reduced /= sizes[:, None]
        if not single:
            notes.append(f"Each {unit} is one unit: the mean of its debates, {unit}s with equal weight.")
    return UnitLosses(reduced, np.array([rounds.mean() for rounds in stops]), single, tuple(notes))


def _units(t: Trajectories, rules: Sequence[StoppingRule], unit: Unit) -> IntArray:
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
    t: Trajectories, rules: Sequence[StoppingRule], units: IntArray, unit: Unit
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
