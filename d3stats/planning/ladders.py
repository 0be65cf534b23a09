"""Every ladder of stopping thresholds, evaluated exactly under many parameter draws at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats
from d3stats._check import choice
from d3stats._words import counted
from d3stats.models.chains.panel_chain import ChainLaws
from d3stats.planning.costs import Target
from d3stats.stopping import Either, FixedRounds, FullDepth, Ladder, Rule, Supermajority, Unanimity
from d3stats.trajectories import MISSING, Trajectories, tally_rounds

__all__ = [
    "Coded",
    "Evaluated",
    "code_votes",
    "evaluate_ladders",
    "evaluate_thresholds",
    "in_words",
    "one_camp",
    "rule_of",
    "thresholds_of",
]


@dataclass(frozen=True, eq=False)
class Coded:
    """A pilot as ones and zeros.

    Attributes
    ----------
    votes : ndarray of int8, shape (debates, rounds, seats)
        1, 0, or -1 for no vote.
    target : {"accuracy", "agreement"}
        What a lost debate is: a wrong verdict, or one that is not full depth's.
    used : ndarray of bool, shape (debates,)
        Debates that the target can be told of.
    others : ndarray of float, shape (seats + 1, seats + 1)
        ``others[k, m]``: share of full rounds with k ones in which the largest camp of the other votes has m.
    notes : tuple of str
    """

    votes: NDArray[np.int8]
    target: Target
    used: NDArray[np.bool_]
    others: NDArray[np.float64]
    notes: tuple[str, ...]


def one_camp(seats: int) -> NDArray[np.float64]:
    """Return `Coded.others` for two answers: what is not a one is of one camp."""
    return np.eye(seats + 1)[::-1].copy()


def _largest_other(coded: NDArray[np.int8], votes: NDArray[np.int32], n_answers: int) -> NDArray[np.float64]:
    """Count the largest other camp in rounds in which every seat voted, given the number of ones."""
    seats = votes.shape[2]
    if n_answers <= 2:
        return one_camp(seats)
    full = (coded != -1).all(axis=2)
    rest = np.where(coded == 0, votes, MISSING)[full]
    ones = (coded == 1).sum(axis=2)[full]
    size = tally_rounds(np.ascontiguousarray(rest[:, None, :], dtype=np.int32), n_answers)[2][:, 0]
    found = np.zeros((seats + 1, seats + 1))
    np.add.at(found, (ones, size), 1.0)
    for k in range(seats + 1):
        # One round's worth of doubt, spread over what is possible: m from 1 to all others.
        found[k, min(1, seats - k) : seats - k + 1] += 1.0 / max(seats - k, 1)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def code_votes(pilot: Trajectories, target: Target | Literal["auto"]) -> Coded:
    """Choose the target, when asked to, and code the votes for it.

    Right votes are ones under "accuracy". Under "agreement" ones are votes for the first of two answers, or,
    with more answers, for the one that leads in the first round.
    """
    choice("target", target, ("auto", "accuracy", "agreement"))
    labelled = pilot.label != MISSING
    share = float(labelled.mean())
    if target == "accuracy" and not labelled.any():
        raise ValueError("target 'accuracy' must have labels in the pilot; got none")
    notes: list[str] = []
    if target == "auto":
        target = "accuracy" if share == 1.0 else "agreement"
        if 0.0 < share < 1.0:
            notes.append(
                f"{int(labelled.sum())} of {pilot.n_debates} debates have a label; the choice uses "
                "agreement with the full-depth verdict over all debates, and accuracy is over the labelled "
                "ones"
            )
        elif share == 0.0:
            notes.append(
                "no debate has a label, so the plan controls agreement with the full-depth verdict and "
                "does not know whether that verdict is right"
            )
    elif target == "accuracy" and share < 1.0:
        notes.append(f"debates without a label are left out: {int((~labelled).sum())} of {pilot.n_debates}")
    cast = pilot.votes != MISSING
    if target == "accuracy":
        one = pilot.votes == pilot.label[:, None, None]
        used = labelled
        if len(pilot.answers) > 2:
            notes.append(
                f"{len(pilot.answers)} answers occur, but the chain models right and wrong only; the "
                "agreement of wrong votes comes from the pilot, separately for each round, so the chain "
                "does not follow a wrong camp over rounds"
            )
    else:
        used = np.ones(pilot.n_debates, dtype=bool)
        if len(pilot.answers) <= 2:
            one = pilot.votes == 0
        else:
            leader = pilot.verdicts()[:, 0] if pilot.n_rounds else np.zeros(pilot.n_debates, np.int32)
            one = (pilot.votes == leader[:, None, None]) & cast
            used = leader != MISSING
            notes.append(
                f"{len(pilot.answers)} answers occur, but the chain models only the camp that leads in "
                "round 1 against all others, so it misses changes between two other answers"
            )
    if pilot.coding == "correctness":
        notes.append("the log holds only right and wrong, so two wrong votes count as the same answer")
    votes = np.where(cast, one, -1).astype(np.int8)
    others = _largest_other(votes[used], pilot.votes[used], len(pilot.answers))
    return Coded(votes, target, used, others, tuple(notes))


Thresholds = tuple[int, ...]

_LEVELS = 4
_CHANGES = 12
"""At most so many thresholds, and rounds in which they may fall: some 1,800 ladders."""


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Exact expectations of one rule, one value per draw.

    Attributes
    ----------
    rounds, cost, kept : ndarray of float, shape (draws,)
        Expected rounds, expected cost, and the probability that the verdict is right (target "accuracy") or
        full depth's ("agreement").
    differ : ndarray of float, shape (draws,)
        Probability that the verdict is a one where that of unanimity is none, or the reverse (or of another rule).
    """

    rounds: Floats
    cost: Floats
    kept: Floats
    differ: Floats


@dataclass(frozen=True, eq=False)
class _Stops:
    """What a threshold does with a count of ones: stop, and stop with ones ahead; each of shape (n + 1,)."""

    stop: Floats
    ahead: Floats


def _stops(level: int, others: Floats) -> _Stops:
    """Return P(the largest camp reaches the level) and P(it does, and ones lead; a tie is a fair coin)."""
    k = np.arange(len(others))[:, None]
    m = np.arange(len(others))[None, :]
    reached = others * (np.maximum(k, m) >= level)
    lead = np.where(k > m, 1.0, np.where(k == m, 0.5, 0.0))
    return _Stops(reached.sum(axis=1), (reached * lead).sum(axis=1))


class _Kept:
    """P(stopping here keeps the verdict), by round, count and class."""

    def __init__(self, laws: ChainLaws, target: Target, others: Floats) -> None:
        n_rounds = laws.steps.shape[1] + 1
        self._finals: list[Floats] | None = None
        if target == "agreement":
            every = _stops(0, others)
            final = np.broadcast_to(every.ahead, laws.initial.shape)
            finals = [final]
            for t in range(n_rounds - 1, 0, -1):
                final = np.matmul(laws.steps[:, t - 1], final[..., None])[..., 0]
                finals.append(final)
            self._finals = finals[::-1]

    def mass(self, alive: Floats, t: int, stops: _Stops) -> Floats:
        """Return the mass that stops after round t + 1 with its verdict kept, shape (draws,)."""
        if self._finals is None:
            kept = alive * stops.ahead
        elif t == len(self._finals) - 1:
            # A tie at full depth is one coin, tossed once: stopping there keeps its verdict.
            kept = alive * stops.stop
        else:
            final = self._finals[t]
            kept = alive * (final * stops.ahead + (1.0 - final) * (stops.stop - stops.ahead))
        total: Floats = kept.sum(axis=(1, 2))
        return total


class _Differ:
    """P(stopping here gives another verdict than a later rule), by round, count and class.

    The later rule stops at so many votes: the panel for unanimity, one more for full depth.
    """

    def __init__(self, laws: ChainLaws, others: Floats, later: int) -> None:
        n_rounds = laws.steps.shape[1] + 1
        self._all, every = _stops(later, others), _stops(0, others)
        # Where the later rule goes on after a round: the chance that it ends with ones ahead.
        self._onward: list[Floats] = []
        ends: Floats = np.broadcast_to(every.ahead, laws.initial.shape)
        for t in range(n_rounds - 1, 0, -1):
            onward = np.matmul(laws.steps[:, t - 1], ends[..., None])[..., 0]
            self._onward.append(onward)
            ends = self._all.ahead + (1.0 - self._all.stop) * onward
        self._onward.reverse()

    def mass(self, alive: Floats, t: int, stops: _Stops) -> Floats:
        """Return the mass that stops after round t + 1 with the other verdict, where the later rule has not stopped."""
        if t == len(self._onward):
            return np.zeros(len(alive))
        ahead = np.maximum(stops.ahead - self._all.ahead, 0.0)
        behind = np.maximum(stops.stop - self._all.stop - ahead, 0.0)
        onward = self._onward[t]
        total: Floats = (alive * (ahead * (1.0 - onward) + behind * onward)).sum(axis=(1, 2))
        return total


def _moved(mass: Floats, step: Floats) -> Floats:
    """Return where the mass, of shape (draws, classes, counts), is one step later."""
    return np.asarray(np.matmul(mass[:, :, None, :], step)[:, :, 0, :])


def _levels(n: int) -> list[int]:
    """Return the thresholds tried on a panel, falling: unanimity first, none that every count reaches."""
    every = list(range(n, (n + 1) // 2, -1))
    if len(every) <= _LEVELS:
        return every
    picked = np.unique(np.round(np.linspace(0, len(every) - 1, _LEVELS)).astype(int))
    return [every[i] for i in picked]


def evaluate_ladders(
    laws: ChainLaws, cost: ArrayLike, target: Target, others: Floats | None = None
) -> Iterator[tuple[Thresholds, Evaluated]]:
    """Walk the tree of ladders, sharing what ladders with the same beginning have in common.

    Parameters
    ----------
    laws : ChainLaws
    cost : array, shape (rounds,)
        Cost of each round.
    target : {"accuracy", "agreement"}
    others : ndarray, shape (panel + 1, panel + 1), optional
        Law of the largest other camp given the ones; by default others are one camp.

    Yields
    ------
    (thresholds, Evaluated)
        Votes needed after rounds 1, 2, ...; the last is 1, where the debate ends with any count.
    """
    price = np.asarray(cost, dtype=np.float64)
    draws, _, size = laws.initial.shape
    n, n_rounds = size - 1, laws.steps.shape[1] + 1
    camps = one_camp(n) if others is None else others
    kept_by, differ_by = _Kept(laws, target, camps), _Differ(laws, camps, n)
    changes = {round(float(x)) for x in np.linspace(0, n_rounds - 1, min(n_rounds, _CHANGES))}
    levels = [*_levels(n), 1]
    stops_at = {level: _stops(level if level > 1 else 0, camps) for level in levels}
    nothing = np.zeros(draws)

    def climb(
        alive: Floats, so_far: Thresholds, rounds: Floats, spent: Floats, kept: Floats, differ: Floats
    ) -> Iterator[tuple[Thresholds, Evaluated]]:
        t = len(so_far)
        mass = alive.sum(axis=(1, 2))
        rounds, spent = rounds + mass, spent + mass * price[t]
        for level in levels:
            if so_far and (level > so_far[-1] or (level < so_far[-1] and t not in changes)):
                continue
            if t == n_rounds - 1 and level != 1:
                continue
            stops = stops_at[level]
            here = kept + kept_by.mass(alive, t, stops)
            apart = differ + differ_by.mass(alive, t, stops)
            path = (*so_far, level)
            if level == 1:
                yield path, Evaluated(rounds, spent, here, apart)
                continue
            going = _moved(alive * (1.0 - stops.stop), laws.steps[:, t])
            yield from climb(going, path, rounds, spent, here, apart)

    yield from climb(laws.initial * laws.weight[:, :, None], (), nothing, nothing, nothing, nothing)


def evaluate_thresholds(
    laws: ChainLaws,
    thresholds: Mapping[str, Thresholds],
    cost: ArrayLike,
    target: Target,
    others: Floats | None = None,
    *,
    against: Literal["unanimity", "full depth"] = "unanimity",
) -> dict[str, Evaluated]:
    """Evaluate named ladders; the last threshold holds for all later rounds. `against` is the rule of `differ`."""
    price = np.asarray(cost, dtype=np.float64)
    n, n_rounds = laws.initial.shape[2] - 1, laws.steps.shape[1] + 1
    later = n if against == "unanimity" else n + 1
    camps = one_camp(n) if others is None else others
    kept_by, differ_by = _Kept(laws, target, camps), _Differ(laws, camps, later)
    unanimous = _stops(later, camps)
    found = {}
    for name, steps in thresholds.items():
        alive = laws.initial * laws.weight[:, :, None]
        # Debates that go on although unanimity has stopped: it decided for ones, or against.
        with_ones, without = np.zeros_like(alive), np.zeros_like(alive)
        rounds = np.zeros(len(alive))
        spent, kept, differ = np.zeros_like(rounds), np.zeros_like(rounds), np.zeros_like(rounds)
        for t in range(n_rounds):
            every = alive + with_ones + without
            mass = every.sum(axis=(1, 2))
            rounds, spent = rounds + mass, spent + mass * price[t]
            stops = _stops(steps[min(t, len(steps) - 1)] if t < n_rounds - 1 else 0, camps)
            kept = kept + kept_by.mass(every, t, stops)
            differ = differ + differ_by.mass(alive, t, stops)
            differ = differ + (with_ones * (stops.stop - stops.ahead) + without * stops.ahead).sum(
                axis=(1, 2)
            )
            if t == n_rounds - 1:
                break
            on = 1.0 - stops.stop
            late = np.maximum(unanimous.stop - stops.stop, 0.0)
            ahead = np.maximum(unanimous.ahead - stops.ahead, 0.0)
            step = laws.steps[:, t]
            if late.any() or with_ones.any() or without.any():
                with_ones = _moved(with_ones * on + alive * ahead, step)
                without = _moved(without * on + alive * (late - ahead), step)
            alive = _moved(alive * np.minimum(on, 1.0 - unanimous.stop), step)
        found[name] = Evaluated(rounds, spent, kept, differ)
    return found


def rule_of(thresholds: Thresholds, missing: bool = False) -> Rule:
    """Return the ladder as a rule; a debate that ends in round 1 is a fixed round.

    Where votes go missing, unanimity of the votes that were cast stops as well: a full camp is then out of
    reach, and a ladder alone would cost more than unanimity.
    """
    if thresholds == (1,):
        return FixedRounds(1)
    ladder = Ladder("-".join(map(str, thresholds)))
    return Unanimity() | ladder if missing else ladder


def in_words(rule: Rule, panel: int) -> str:
    """Say when a ladder stops, to those who run it."""
    steps = thresholds_of(rule, panel)
    if steps is None:
        return "stop when the rule says so"
    if set(steps) == {panel}:
        return f"stop as soon as all {panel} agents agree"
    runs: list[list[int]] = []
    for number, needed in enumerate(steps, start=1):
        if runs and runs[-1][2] == needed:
            runs[-1][1] = number
        else:
            runs.append([number, number, needed])
    ends = steps[-1] <= 1  # the largest camp of any vote has one
    said: list[str] = []
    for first, last, needed in runs[:-1] if ends else runs:
        where = f"in round {first}" if first == last else f"in rounds {first} to {last}"
        if not ends and last == len(steps):
            where = "in any round" if first == 1 else f"from round {first} on"
        if needed <= panel:
            said.append(f"{where} if {needed} {'do' if said else f'of {panel} agents agree'}")
    last = runs[-1][0]
    if not said:
        return f"stop every debate after {counted(last, 'round')}" if ends else "play every round"
    return f"stop {', '.join(said)}{f', else in round {last}' if ends else ''}"


def thresholds_of(rule: object, panel: int) -> Thresholds | None:
    """Return a rule as thresholds when it is a ladder in other words, else None."""
    if isinstance(rule, Either) and isinstance(rule.left, Unanimity):
        # A ladder with unanimity beside it, as recommended where votes go missing.
        inner = thresholds_of(rule.right, panel)
        return None if inner is None else tuple(min(step, panel) for step in inner)
    if isinstance(rule, Ladder):
        return rule.votes
    if isinstance(rule, Unanimity):
        return (panel,)
    if isinstance(rule, Supermajority) and rule.patience == 1:
        return (rule.needed(panel),)
    if isinstance(rule, FixedRounds):
        return (*[panel + 1] * (rule.n - 1), 1)
    if isinstance(rule, FullDepth):
        return (panel + 1,)
    return None
