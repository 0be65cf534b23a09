"""The optimal stopping policy of a known count process, computed exactly or with a bound.

The hidden class (which answer is right, how hard the item is) is never seen, so the state is the round, the
count and the posterior of the class given the *whole path* of counts. Dropping the path is over-optimistic: the value
of a table over (round, count) is better than the table attains.

Method: every belief that the process can lead to is listed forward. Backward, each gets the best plan from
there on, kept as its expected loss by class (an alpha vector: Smallwood and Sondik 1973, Operations Research
21, 1071-1088). A value is therefore always attained by a plan that can be carried out. Where there are too
many beliefs, near ones share a plan, and a lower bound limits the loss that this can cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import choice, integer, nonnegative, probability
from d3stats.models.chains.process import (
    PLURALITY,
    Controller,
    CountProcess,
    Layer,
    Verdict,
    error_loss,
    walk,
)
from d3stats.result import Result

__all__ = ["OptimalPolicy", "cheapest", "checked_losses", "checked_prices", "frontier", "solve"]


_MOST_STEPS = 60
_SAME = 1e-10
_FIRST_WIDTH = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class OptimalPolicy(Result):
    """The stopping policy with the least expected loss plus cost for a process, and that value.

    The policy knows the process. On a path that the process calls impossible it stops.

    Attributes
    ----------
    process : CountProcess
    cost : ndarray, shape (n_rounds,)
        Price of each round in units of loss; the first is always paid.
    loss : ndarray, shape (classes, n_rounds, panel + 1, choices)
        Expected loss of stopping.
    verdict : {"majority", "posterior"}
        What a stop commits to.
    value : float
        Expected loss plus expected cost, attained by `controller`.
    lower : float
        No policy has a smaller value; equal to `value` when `exact`.
    exact : bool
        Whether only equal beliefs were taken together.
    controller : Controller
        The policy as a graph.
    plans : tuple of ndarray, each of shape (nodes, classes)
        Expected loss and further cost of the plan of each node of a round, by class.

    Examples
    --------
    >>> fresh = [[0.3, 0.7]]
    >>> process = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> policy = solve(process, 0.01, verdict="posterior")
    >>> policy.stop_rounds_law().round(2).tolist(), round(policy.expected_loss, 3)
    ([0.0, 0.58, 0.42], 0.216)
    >>> policy.best_node(1, 1, np.array([0.7, 0.3]))
    3
    """

    process: CountProcess
    cost: Floats
    loss: Floats
    verdict: Verdict
    value: float
    lower: float
    exact: bool
    controller: Controller
    plans: tuple[Floats, ...]

    def __post_init__(self) -> None:
        for array in (self.cost, self.loss, *self.plans):
            array.setflags(write=False)

    @property
    def headline(self) -> str:
        """The least expected loss plus cost, and whether it is exact."""
        bound = "the exact optimum" if self.exact else f"no policy is below {self.lower:.6g}"
        return (
            f"Optimal stopping of {self.process!r}: expected loss plus cost {self.value:.6g} ({bound}), "
            f"{self.rounds:.4g} rounds, expected loss {self.expected_loss:.4g}."
        )

    def _tables(self) -> dict[str, pd.DataFrame]:
        rounds = np.arange(1, self.process.n_rounds + 1)
        return {"rounds": pd.DataFrame({"round": rounds, "cost": self.cost, "stops": self.stop_rounds_law()})}

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimalPolicy:
        return self

    def stop_rounds_law(self) -> Floats:
        """Return P(the debate stops after this round), shape (n_rounds,)."""
        masses = walk(self.process, self.controller)
        layers = self.controller.layers
        return np.array([m[:, x.stops].sum() for m, x in zip(masses, layers, strict=True)])

    @property
    def rounds(self) -> float:
        """Expected number of rounds."""
        return float((self.stop_rounds_law() * np.arange(1, self.process.n_rounds + 1)).sum())

    @property
    def expected_loss(self) -> float:
        """Expected loss at the stop, without the cost of rounds."""
        return float(self.value - (self.stop_rounds_law() * np.cumsum(self.cost)).sum())

    def best_node(self, round_number: int, count: int, joint: Floats) -> int:
        """Return the node of a round whose plan is best for a belief, the probability of each class up to a factor."""
        layer = self.controller.layers[round_number - 1]
        nodes = np.flatnonzero(layer.counts == count)
        return int(nodes[np.argmin(self.plans[round_number - 1][nodes] @ joint)])


def solve(
    process: CountProcess,
    cost: ArrayLike,
    *,
    verdict: Verdict = "majority",
    loss: Floats | None = None,
    max_beliefs: int = 2_000,
) -> OptimalPolicy:
    """Compute the stopping policy that minimises expected loss plus expected cost, by backward induction on beliefs.

    Parameters
    ----------
    process : CountProcess
        The law of the vote counts, round by round.
    cost : float or array of shape (n_rounds,)
        Price of buying a round in units of loss, >= 0: 0.01 says that one round is worth one point of
        accuracy. The first round is always bought.
    verdict : {"majority", "posterior"}
        What a stop commits to: the round's plurality (a tie is a fair coin), or the answer with the smaller
        expected loss given the whole path.
    loss : array, shape (classes, n_rounds, panel + 1, 1 for "majority" or 2 for "posterior"), optional
        Expected loss of stopping; by default the probability of a wrong verdict
        (:func:`~d3stats.models.chains.process.error_loss`). Must be >= 0.
    max_beliefs : int
        Beliefs kept per round, at least panel + 1; beyond that near ones share a plan and the result is not
        `exact`.

    Returns
    -------
    OptimalPolicy

    Examples
    --------
    A panel of one who is right with probability .7, afresh in each round:

    >>> fresh = [[0.3, 0.7]]
    >>> p = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> policy = solve(p, 0.01, verdict="posterior")
    >>> round(policy.value, 4), policy.exact, round(policy.rounds, 4)
    (0.2402, True, 2.42)
    """
    return _solved(process, cost, verdict, loss, max_beliefs, bounded=True)


def _solved(
    process: CountProcess,
    cost: ArrayLike,
    verdict: Verdict,
    loss: Floats | None,
    max_beliefs: int,
    *,
    bounded: bool,
    paired: PairSteps | None = None,
) -> OptimalPolicy:
    """Solve; without `bounded` no lower bound is computed where beliefs were merged, and it is minus infinity."""
    integer("max_beliefs", max_beliefs, minimum=process.panel + 1)
    prices = checked_prices(cost, process)
    losses = checked_losses(loss, verdict, process)
    by_round = losses.transpose(1, 2, 0, 3)
    bound = PairBound(process, prices, by_round, paired)

    def settled(t: int, counts: Ints, belief: Floats) -> NDArray[np.bool_]:
        now = (belief[:, :, None] * by_round[t - 1][counts]).sum(axis=1).min(axis=1)
        result: NDArray[np.bool_] = now <= bound.onward(t, counts, belief)
        return result

    beliefs, exact = explore(process, settled, max_beliefs)
    layers: list[Layer] = []
    plans: list[Floats] = []
    for t in range(process.n_rounds, 0, -1):
        ahead = plans[0] if plans else None
        layer, plan = _back_up(process, t, beliefs[t - 1], by_round[t - 1], prices, ahead)
        layers.insert(0, layer)
        plans.insert(0, plan)
    first = np.arange(process.panel + 1)
    first[beliefs[0].counts] = process.panel + 1 + np.arange(len(beliefs[0].counts))
    starts = process.weights * process.initial.T
    value = float(prices[0] + (starts * plans[0][first]).sum())
    lower = value if exact else -np.inf
    if bounded and not exact:
        lower = min(value, lower_bound(process, prices, losses, beliefs, bound))
    return OptimalPolicy(
        process=process,
        cost=prices,
        loss=losses,
        verdict=verdict,
        value=value,
        lower=lower,
        exact=exact,
        controller=Controller(process.panel, first, tuple(layers)),
        plans=tuple(plans),
    )


def frontier(
    process: CountProcess,
    costs: ArrayLike,
    *,
    tokens: ArrayLike | None = None,
    verdict: Verdict = "majority",
    loss: Floats | None = None,
    max_beliefs: int = 2_000,
) -> pd.DataFrame:
    """Compute the least expected loss at each price of a round, by solving for every price.

    The columns are ``cost, rounds, tokens`` (when given), ``loss, value, lower, exact``, one row per price, in order
    of price. Each row is a corner of the limit; between two corners the limit is the chord, reached by drawing one of
    the two policies at random for each debate.

    Parameters
    ----------
    costs : array, shape (points,)
        Prices in units of loss: of a round, or of a token when `tokens` is given.
    tokens : array, shape (n_rounds,), optional
        Tokens of each round.
    process, verdict, loss, max_beliefs
        As in :func:`~d3stats.models.chains.optimum.solve`.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> fresh = [[0.3, 0.7]]
    >>> p = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> frontier(p, [0.01, 0.1], verdict="posterior")[["cost", "rounds", "loss"]].round(3)
       cost  rounds   loss
    0  0.01    2.42  0.216
    1  0.10    1.00  0.300
    """
    prices = np.sort(nonnegative("costs", np.atleast_1d(np.asarray(costs, dtype=float))))
    spent = _tokens(tokens, process)
    policies = [
        solve(process, price * spent, verdict=verdict, loss=loss, max_beliefs=max_beliefs) for price in prices
    ]
    table = {"cost": prices, "rounds": [policy.rounds for policy in policies]}
    if tokens is not None:
        table["tokens"] = [_spent(policy, spent) for policy in policies]
    table["loss"] = [policy.expected_loss for policy in policies]
    return pd.DataFrame(
        table | {name: [getattr(p, name) for p in policies] for name in ("value", "lower", "exact")}
    )


def cheapest(
    process: CountProcess,
    max_expected_loss: float,
    *,
    tokens: ArrayLike | None = None,
    verdict: Verdict = "majority",
    loss: Floats | None = None,
    max_beliefs: int = 2_000,
) -> OptimalPolicy:
    """Compute the cheapest policy whose expected loss is small enough, by bisection over the corners of the frontier.

    No policy with at most its expected loss is cheaper. A mixture with the next corner can be cheaper
    still and just meet `max_expected_loss`; this policy draws nothing at random.

    Parameters
    ----------
    max_expected_loss : float
        Largest expected loss allowed (by default the loss is the probability of a wrong verdict).
    tokens : array, shape (n_rounds,), optional
        Tokens of each round; by default rounds are what is to be saved.
    process, verdict, loss, max_beliefs
        As in :func:`~d3stats.models.chains.optimum.solve`.

    Returns
    -------
    OptimalPolicy

    Raises
    ------
    ValueError
        When no policy reaches `max_expected_loss`; the message says what can be reached.

    Examples
    --------
    >>> fresh = [[0.3, 0.7]]
    >>> p = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> policy = cheapest(p, 0.25, verdict="posterior")
    >>> round(policy.rounds, 3), round(policy.expected_loss, 3)
    (2.42, 0.216)
    """
    probability("max_expected_loss", max_expected_loss)
    spent = _tokens(tokens, process)
    paired = pair_steps(process)

    def at(price: float) -> tuple[OptimalPolicy, float, float]:
        policy = _solved(process, price * spent, verdict, loss, max_beliefs, bounded=False, paired=paired)
        return policy, policy.expected_loss, _spent(policy, spent)

    def bounded(policy: OptimalPolicy) -> OptimalPolicy:
        if policy.exact:
            return policy
        return solve(process, policy.cost, verdict=verdict, loss=loss, max_beliefs=max_beliefs)

    good = at(0.0)
    if good[1] > max_expected_loss + 1e-12:
        raise ValueError(
            f"max_expected_loss must be at least {good[1]:.6g}, the least that any policy reaches here; "
            f"got max_expected_loss={max_expected_loss!r}"
        )
    # No round can save more than the whole loss, so at this price the first is the last.
    later = spent[1:][spent[1:] > 0]
    bad = at(2.0 * (1.0 + good[1]) / float(later.min())) if later.size else good
    if bad[1] <= max_expected_loss:
        return bounded(bad[0])
    for _ in range(_MOST_STEPS):
        saved = good[2] - bad[2]
        if saved <= 0:
            break
        # At the price of the chord both corners cost the same; a better policy there is a corner between.
        price = (bad[1] - good[1]) / saved
        middle = at(price)
        if middle[1] + price * middle[2] >= good[1] + price * good[2] - 1e-7:
            break
        good, bad = (middle, bad) if middle[1] <= max_expected_loss else (good, middle)
    return bounded(good[0])


def _tokens(tokens: ArrayLike | None, process: CountProcess) -> Floats:
    spent = nonnegative("tokens", np.ones(process.n_rounds) if tokens is None else tokens)
    if spent.shape != (process.n_rounds,):
        raise ValueError(f"tokens must have one value per round ({process.n_rounds}); got {spent.size}")
    return spent


def _spent(policy: OptimalPolicy, tokens: Floats) -> float:
    """Return the expected number of tokens."""
    return float((policy.stop_rounds_law() * np.cumsum(tokens)).sum())


def checked_prices(cost: ArrayLike, process: CountProcess) -> Floats:
    """Return one price per round."""
    given = np.asarray(cost, dtype=np.float64)
    if given.ndim > 1 or (given.ndim == 1 and given.shape != (process.n_rounds,)):
        raise ValueError(f"cost must be a number or one per round ({process.n_rounds}); got {given.shape}")
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(f"cost must be finite and >= 0; got cost={cost!r}")
    return np.array(np.broadcast_to(given, process.n_rounds))


def checked_losses(loss: Floats | None, verdict: Verdict, process: CountProcess) -> Floats:
    """Return the loss of stopping, by class, round, count and choice."""
    choice("verdict", verdict, ("majority", "posterior"))
    if loss is None:
        return np.array(error_loss(process, verdict))
    shape = (process.n_classes, process.n_rounds, process.panel + 1, 1 if verdict == "majority" else 2)
    if loss.shape != shape:
        raise ValueError(f"loss must have shape {shape} for verdict={verdict!r}; got {loss.shape}")
    values = np.array(loss, dtype=np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"loss must be finite and >= 0; got {values.min():g} among its values")
    return values


@dataclass
class Beliefs:
    """The beliefs after one round, and from which of them the next round was explored."""

    counts: Ints
    """Shape (n,)."""
    belief: Floats
    """Posterior of the class, (n, classes); where near beliefs were taken together, their mean."""
    reach: Floats
    """Probability of the paths that lead here, if every open debate continued, (n,)."""
    grown: Ints
    """The beliefs from which the next round was explored, (m,)."""
    children: Ints
    """By the next count, the belief of the next round, (m, panel + 1); -1 where it has no probability."""

    def moves(self, process: CountProcess, t: int) -> Floats:
        """Return P(next count) of the explored beliefs, shape (m, panel + 1, classes)."""
        return process.step(t)[:, self.counts[self.grown]].transpose(1, 2, 0)


def explore(
    process: CountProcess, settled: Callable[[int, Ints, Floats], NDArray[np.bool_]], max_beliefs: int
) -> tuple[list[Beliefs], bool]:
    """Follow the process forward from its prior; return every round's beliefs, and whether only equal ones are one.

    ``settled(round, counts, belief)`` says where stopping is best for certain; the process is not followed from there.
    Where more than `max_beliefs` would be kept in a round, near ones are merged.
    """
    start = (process.weights[:, None] * process.initial).T
    reach = start.sum(axis=1)
    counts = np.flatnonzero(reach > 0)
    weight = reach[counts]
    belief = start[counts] / weight[:, None]
    layers: list[Beliefs] = []
    width = 0.0
    for t in range(1, process.n_rounds + 1):
        layer = Beliefs(counts, belief, weight, np.zeros(0, np.int64), np.zeros((0, process.panel + 1), int))
        layers.append(layer)
        if t == process.n_rounds:
            break
        layer.grown = np.flatnonzero(~settled(t, counts, belief))
        joint = belief[layer.grown][:, None, :] * layer.moves(process, t)
        chance = joint.sum(axis=2)
        row, count = np.nonzero(chance > 0)
        chances = chance[row, count]
        posterior = joint[row, count] / chances[:, None]
        into, width = _groups(count, posterior, max_beliefs, width)
        layer.children = np.full(chance.shape, -1, dtype=np.int64)
        layer.children[row, count] = into
        counts, belief, weight = _merged(into, count, posterior, weight[layer.grown][row] * chances)
    return layers, width == 0.0


def _groups(counts: Ints, posterior: Floats, max_beliefs: int, width: float) -> tuple[Ints, float]:
    """Number the groups of beliefs that are one, and return the width of a cell (0: equal ones only)."""
    if width == 0.0:
        into = _numbered(counts, np.rint(posterior / _SAME).astype(np.int64))
        if into.max(initial=-1) < max_beliefs:
            return into, 0.0
        width = _FIRST_WIDTH
    # The angle whose squared sine is the probability: fine near 0 and 1, where odds move fastest.
    angle = np.arcsin(np.sqrt(np.clip(posterior, 0.0, 1.0)))
    free = angle[:, :-1] if angle.shape[1] == 2 else angle
    while True:
        into = _numbered(counts, np.floor(free / width).astype(np.int64))
        if into.max(initial=-1) < max_beliefs:
            return into, width
        width *= 1.5


def _numbered(counts: Ints, keys: Ints) -> Ints:
    """Number the distinct rows of (count, key)."""
    rows = np.column_stack([counts, keys])
    # One mixed number per row sorts much faster than whole rows; should two rows ever share one, rows are sorted.
    mixers = np.random.default_rng(0).integers(1, 2**63, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
    mixed = (rows.astype(np.uint64) * mixers).sum(axis=1, dtype=np.uint64)
    _, first, into = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first][into], rows):
        _, into = np.unique(rows, axis=0, return_inverse=True)
    return into.astype(np.int64).ravel()


def _merged(into: Ints, counts: Ints, posterior: Floats, arrives: Floats) -> tuple[Ints, Floats, Floats]:
    n = int(into.max(initial=-1)) + 1
    at = np.zeros(n, dtype=np.int64)
    at[into] = counts
    total = np.bincount(into, weights=arrives, minlength=n).astype(np.float64)
    # A floor keeps the mean defined for paths whose probability is too small for a float.
    weighed = np.maximum(arrives, np.finfo(float).tiny)
    columns = [np.bincount(into, weights=weighed * c, minlength=n) for c in posterior.T]
    belief = np.column_stack(columns) if columns else np.zeros((n, 0))
    return at, belief / belief.sum(axis=1, keepdims=True), total


_POINTS = 513
_ANGLES = np.linspace(0.0, np.pi / 2, _POINTS)
# Fine near 0 and 1, where the odds move fastest; the ends are exactly 0 and 1.
_GRID: Floats = np.sin(_ANGLES) ** 2
_GRID[-1] = 1.0


class PairSteps(NamedTuple):
    """Pairs of classes, and where a step from each point of the grid leads; the same at every price."""

    pairs: list[tuple[int, int]]
    steps: list[list[tuple[Floats, Ints, Floats]]]
    """By pair and round: mass, cell of the grid and place in it, each of shape (points, counts, next counts)."""


def pair_steps(process: CountProcess) -> PairSteps:
    """Pair the classes, one in which A is right with one in which B is, and follow every step."""
    side_a, side_b = (np.flatnonzero(process.a_is_right == a).tolist() for a in (True, False))
    paired = min(len(side_a), len(side_b))
    alone = side_a[paired:] + side_b[paired:]
    # A class without a partner is its own: any grouping that is revealed gives a bound.
    pairs = [*zip(side_a[:paired], side_b[:paired], strict=True), *((c, c) for c in alone)]
    shares = np.stack([_GRID, 1 - _GRID], axis=1)
    steps = []
    for pair in pairs:
        mine = []
        for t in range(1, process.n_rounds):
            # (points, class, count, next count)
            joint = shares[:, :, None, None] * process.step(t)[list(pair)]
            mine.append(_placed(joint[:, 0], joint[:, 1]))
        steps.append(mine)
    return PairSteps(pairs, steps)


class PairBound:
    """Lower bounds on continuing and on the value at any belief: their values if the pair of classes were known.

    Classes are paired, one in which A is right with one in which B is; within a pair the optimum is a table over
    round, count and one probability. `losses` has the shape (n_rounds, panel + 1, classes, choices).
    """

    def __init__(
        self, process: CountProcess, prices: Floats, losses: Floats, paired: PairSteps | None = None
    ) -> None:
        moves = pair_steps(process) if paired is None else paired
        self._pairs = moves.pairs
        shares = np.stack([_GRID, 1 - _GRID], axis=1)
        size, depth = process.panel + 1, process.n_rounds
        nexts = np.arange(size)
        self._value = np.empty((depth, len(self._pairs), size, _POINTS))
        self._onward = np.full((depth, len(self._pairs), size, _POINTS), np.inf)
        for p, pair in enumerate(self._pairs):
            members = list(pair)
            for t in range(depth, 0, -1):
                now = (shares @ losses[t - 1][:, members]).min(axis=2)
                if t < depth:
                    mass, at, weight = moves.steps[p][t - 1]
                    table = self._value[t, p]
                    later = mass * (table[nexts, at] * (1 - weight) + table[nexts, at + 1] * weight)
                    self._onward[t - 1, p] = prices[t] + later.sum(axis=2).T
                self._value[t - 1, p] = np.minimum(now.reshape(size, _POINTS), self._onward[t - 1, p])

    def onward(self, t: int, counts: Ints, joint: Floats) -> Floats:
        """Bound from below what continuing after round `t` costs and loses; `joint` has shape (n, classes)."""
        return self._read(self._onward[t - 1], counts, joint)

    def value(self, t: int, counts: Ints, joint: Floats) -> Floats:
        """Bound from below what is still to come in round `t`, its own price paid."""
        return self._read(self._value[t - 1], counts, joint)

    def _read(self, tables: Floats, counts: Ints, joint: Floats) -> Floats:
        total = np.zeros(len(joint))
        for table, (a, b) in zip(tables, self._pairs, strict=True):
            other = np.zeros(len(joint)) if a == b else joint[:, b]
            total += _chord(table, counts, joint[:, a], other)
        return total


def _placed(a: Floats, b: Floats) -> tuple[Floats, Ints, Floats]:
    """Return the mass of a pair, its cell of the grid, and the place in it from 0 to 1."""
    mass = a + b
    x = np.divide(a, mass, out=np.zeros_like(mass), where=mass > 0)
    at = np.clip(np.searchsorted(_GRID, x, side="right") - 1, 0, _POINTS - 2)
    return mass, at, (x - _GRID[at]) / (_GRID[at + 1] - _GRID[at])


def _chord(table: Floats, counts: Ints, a: Floats, b: Floats) -> Floats:
    """Interpolate a table of (count, point) at the masses (a, b) of a pair; linear in their scale."""
    mass, at, weight = _placed(a, b)
    result: Floats = mass * (table[counts, at] * (1 - weight) + table[counts, at + 1] * weight)
    return result


def value_if_known(process: CountProcess, prices: Floats, losses: Floats, pick: np.ufunc) -> list[Floats]:
    """Return the value from each round and count on if the class were known, each (classes, panel + 1).

    `pick` is ``np.minimum`` for the best course of action and ``np.maximum`` for the worst.
    """
    now = pick.reduce(losses, axis=-1)
    values = [now[:, -1]]
    for t in range(process.n_rounds - 1, 0, -1):
        onward = prices[t] + (process.step(t) * values[-1][:, None, :]).sum(axis=2)
        values.append(pick(now[:, t - 1], onward))
    return values[::-1]


def lower_bound(
    process: CountProcess, prices: Floats, losses: Floats, beliefs: list[Beliefs], bound: PairBound
) -> float:
    """Bound the value from below on the beliefs that were kept.

    The value is concave in the belief. With two classes it lies above the chord between the kept beliefs on
    either side. With more, it is the least of many plans' linear losses. Each of them charges a class at least
    what is lost when the class is known, and at most the most expensive course. That bounds how far the value
    can fall from a kept belief nearby (a sawtooth bound, Hauskrecht 2000, JAIR 13, with a second side).
    """
    known, dearest = (value_if_known(process, prices, losses, pick) for pick in (np.minimum, np.maximum))
    by_round = losses.transpose(1, 2, 0, 3)
    ahead: Floats = np.zeros(0)
    for t in range(process.n_rounds, 0, -1):
        here = beliefs[t - 1]
        value = (here.belief[:, :, None] * by_round[t - 1][here.counts]).sum(axis=1).min(axis=1)
        if t < process.n_rounds and here.grown.size:
            onward = _onward(process, t, here, beliefs[t], ahead, known[t], dearest[t], bound)
            value[here.grown] = np.minimum(value[here.grown], prices[t] + onward)
        ahead = value
    return float(prices[0] + (beliefs[0].reach * ahead).sum())


def _onward(
    process: CountProcess,
    t: int,
    here: Beliefs,
    then: Beliefs,
    values: Floats,
    known: Floats,
    dearest: Floats,
    bound: PairBound,
) -> Floats:
    """Bound from below what going on after round `t` loses, without its price."""
    joint = here.belief[here.grown][:, None, :] * here.moves(process, t)
    total = np.zeros(len(here.grown))
    for j in range(process.panel + 1):
        mass = joint[:, j].sum(axis=1)
        open_ = np.flatnonzero((mass > 0) & (here.children[:, j] >= 0))
        if process.n_classes == 2:
            mine = np.flatnonzero(then.counts == j)
            order = mine[np.argsort(then.belief[mine, 0])]
            at = np.concatenate([[0.0], then.belief[order, 0], [1.0]])
            chord = np.concatenate([[known[1, j]], values[order], [known[0, j]]])
            total[open_] += mass[open_] * np.interp(joint[open_, j, 0] / mass[open_], at, chord)
        else:
            child = here.children[open_, j]
            centre, u = then.belief[child], joint[open_, j]
            chord = _sawtooth(u, centre, values[child], known[:, j], dearest[:, j])
            told = bound.value(t + 1, np.full(len(open_), j), u)
            total[open_] += np.maximum(chord, told)
    return total


def _sawtooth(joint: Floats, centre: Floats, value: Floats, least: Floats, most: Floats) -> Floats:
    """Bound the value at `joint` by the value at `centre`, scaled as suits best; all of shape (n, classes)."""
    best = np.full(len(joint), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(centre > 0, joint / centre, 0.0)
    # The bound is concave and piecewise linear in the scale, so its top is at one of the ratios.
    for scale in np.where(np.isfinite(ratios), ratios, 0.0).T:
        gap = joint - scale[:, None] * centre
        bound = scale * value + np.maximum(gap, 0.0) @ least - np.maximum(-gap, 0.0) @ most
        best = np.maximum(best, bound)
    return best


def _back_up(
    process: CountProcess, t: int, beliefs: Beliefs, losses: Floats, prices: Floats, ahead: Floats | None
) -> tuple[Layer, Floats]:
    """Choose between stopping and going on for every belief of a round.

    The first ``panel + 1`` nodes stop whatever is believed: they catch paths that the process calls impossible.
    """
    size = process.panel + 1
    fallback = process.by_class()[t - 1].T * process.weights
    counts = np.concatenate([np.arange(size), beliefs.counts])
    belief = np.concatenate([fallback, beliefs.belief])
    options = losses[counts]
    at_stop = (belief[:, :, None] * options).sum(axis=1)
    best = at_stop.argmin(axis=1)
    plan = np.take_along_axis(options, best[:, None, None], axis=2)[:, :, 0]
    stops = np.ones(len(counts), dtype=bool)
    successors = np.zeros((0, size), dtype=np.int64)
    if ahead is not None and beliefs.grown.size:
        grown = beliefs.grown
        children = np.where(beliefs.children < 0, np.arange(size), beliefs.children + size)
        onward = prices[t] + (beliefs.moves(process, t) * ahead[children]).sum(axis=1)
        nodes = grown + size
        gains = (belief[nodes] * onward).sum(axis=1) < at_stop[nodes].min(axis=1)
        plan[nodes[gains]] = onward[gains]
        stops[nodes[gains]] = False
        successors = children[gains]
    decisions = best if losses.shape[-1] == 2 else np.full(len(best), PLURALITY)
    return Layer(counts, stops, decisions.astype(np.int8), successors), plan
