"""When is one more round worth its price? The exact optimum for a known count process.

The hidden class (which answer is right, how hard the item is) is never seen, so the state is the round, the
count and the posterior of the class given the *whole path* of counts. Dropping the path is over-optimistic:
see :func:`d3stats.models.forgetful.forgetful_table`.

Method: every belief that the process can lead to is listed forward; backward, each gets the best plan from
there on, kept as its expected loss by class (an alpha vector: Smallwood and Sondik 1973, Operations Research
21, 1071-1088). A value is therefore always attained by a plan that can be carried out. Where there are too
many beliefs, near ones share a plan, and a lower bound says what that can have cost at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from d3stats._check import choice, integer
from d3stats.models._beliefs import Beliefs, explore
from d3stats.models._lower import class_known, lower_bound
from d3stats.models._revealed import Revealed
from d3stats.models.controller import PLURALITY, Controller, Layer, walk
from d3stats.models.losses import Verdict, error_loss
from d3stats.models.process import CountProcess

__all__ = ["OptimalPolicy", "checked_losses", "checked_prices", "solve"]


@dataclass(frozen=True, eq=False, repr=False)
class OptimalPolicy:
    """The best stopping policy for a process, and what it is worth there.

    Attributes
    ----------
    process : CountProcess
    cost : ndarray, shape (n_rounds,)
        Price of each round in units of loss; the first is always paid.
    loss : ndarray, shape (classes, n_rounds, panel + 1, choices)
        Expected loss of stopping.
    verdict : {"majority", "posterior"}
        What a stop commits to.
    value : float or Fraction
        Expected loss plus expected cost, attained by `controller`.
    lower : float or Fraction
        No policy has a smaller value; equal to `value` when `exact`.
    exact : bool
        Whether only equal beliefs were taken together.
    controller : Controller
        The policy as a graph.
    plans : tuple of ndarray, each of shape (nodes, classes)
        Expected loss and further cost of the plan of each node of a round, by class.

    Notes
    -----
    The policy knows the process. On a path that the process calls impossible it stops.
    """

    process: CountProcess
    cost: NDArray[Any]
    loss: NDArray[Any]
    verdict: Verdict
    value: Any
    lower: Any
    exact: bool
    controller: Controller
    plans: tuple[NDArray[Any], ...]

    def __post_init__(self) -> None:
        for array in (self.cost, self.loss, *self.plans):
            array.setflags(write=False)

    def __repr__(self) -> str:
        bound = "exact" if self.exact else f"at least {float(self.lower):.6g}"
        return (
            f"OptimalPolicy(value={float(self.value):.6g} ({bound}), {self.controller.n_nodes} nodes, "
            f"{self.process})"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimalPolicy:
        return self

    def stop_rounds_law(self) -> NDArray[Any]:
        """Return P(the debate stops after this round), shape (n_rounds,)."""
        masses = walk(self.process, self.controller)
        layers = self.controller.layers
        return np.array([m[:, x.stops].sum() for m, x in zip(masses, layers, strict=True)])

    @property
    def rounds(self) -> Any:
        """Expected number of rounds."""
        return _plain((self.stop_rounds_law() * np.arange(1, self.process.n_rounds + 1)).sum())

    @property
    def expected_loss(self) -> Any:
        """Expected loss at the stop, without the cost of rounds."""
        return _plain(self.value - (self.stop_rounds_law() * np.cumsum(self.cost)).sum())

    def best_node(self, round_number: int, count: int, joint: NDArray[Any]) -> int:
        """Return the node of a round whose plan is best for a belief that came by another way.

        Parameters
        ----------
        round_number, count : int
        joint : ndarray, shape (classes,)
            Probability of each class, up to a factor.
        """
        layer = self.controller.layers[round_number - 1]
        nodes = np.flatnonzero(layer.counts == count)
        return int(nodes[np.argmin(self.plans[round_number - 1][nodes] @ joint)])


def solve(
    process: CountProcess,
    cost: ArrayLike,
    *,
    verdict: Verdict = "majority",
    loss: NDArray[Any] | None = None,
    max_beliefs: int = 2_000,
) -> OptimalPolicy:
    """Find the policy that minimises expected loss plus expected cost.

    Parameters
    ----------
    process : CountProcess
        With fractions inside (and `cost` a fraction) the arithmetic is exact.
    cost : float, Fraction or array of shape (n_rounds,)
        Price of buying a round in units of loss, >= 0: 0.01 says that one round is worth one point of
        accuracy. The first round is always bought.
    verdict : {"majority", "posterior"}
        What a stop commits to: the round's plurality (a tie is a fair coin), or the answer with the smaller
        expected loss given the whole path.
    loss : array, shape (classes, n_rounds, panel + 1, 1 for "majority" or 2 for "posterior"), optional
        Expected loss of stopping; by default the probability of a wrong verdict
        (:func:`~d3stats.models.losses.error_loss`). Must be >= 0.
    max_beliefs : int
        Beliefs kept per round, at least panel + 1; beyond that near ones share a plan and the result is not
        `exact`.

    Returns
    -------
    OptimalPolicy

    Raises
    ------
    ValueError
        When the cost or the loss has another shape or is negative, or when a process of fractions has more
        beliefs than `max_beliefs`.

    Examples
    --------
    A panel of one who is right with probability .7, afresh in each round:

    >>> fresh = [[0.3, 0.7]]
    >>> p = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> policy = solve(p, 0.01, verdict="posterior")
    >>> round(policy.value, 4), policy.exact, round(policy.rounds, 4)
    (0.2402, True, 2.42)
    """
    integer("max_beliefs", max_beliefs, minimum=process.panel + 1)
    prices = checked_prices(cost, process)
    losses = checked_losses(loss, verdict, process)
    known = class_known(process, prices, losses)
    by_round = losses.transpose(1, 2, 0, 3)
    revealed = None if process.exact else Revealed(process, prices, by_round)

    def settled(t: int, counts: NDArray[np.int64], belief: NDArray[Any]) -> NDArray[np.bool_]:
        now = (belief[:, :, None] * by_round[t - 1][counts]).sum(axis=1).min(axis=1)
        if revealed is not None:
            told: NDArray[np.bool_] = now <= revealed.onward(t, counts, belief)
            return told
        ahead = (process.step(t) * known[t][:, None, :]).sum(axis=2)
        result: NDArray[np.bool_] = now <= prices[t] + (belief * ahead[:, counts].T).sum(axis=1)
        return result

    beliefs, exact = explore(process, settled, max_beliefs)
    layers: list[Layer] = []
    plans: list[NDArray[Any]] = []
    for t in range(process.n_rounds, 0, -1):
        layer, plan = _back_up(
            process, t, beliefs[t - 1], by_round[t - 1], prices, plans[-1] if plans else None
        )
        layers.append(layer)
        plans.append(plan)
    layers.reverse()
    plans.reverse()
    first = np.arange(process.panel + 1)
    first[beliefs[0].counts] = process.panel + 1 + np.arange(len(beliefs[0].counts))
    starts = process.weights * process.initial.T
    value = prices[0] + (starts * plans[0][first]).sum()
    lower = value
    if not exact and revealed is not None:
        lower = min(value, lower_bound(process, prices, by_round, beliefs, known, revealed))
    return OptimalPolicy(
        process=process,
        cost=prices,
        loss=losses,
        verdict=verdict,
        value=_plain(value),
        lower=_plain(lower),
        exact=exact,
        controller=Controller(process.panel, first, tuple(layers)),
        plans=tuple(plans),
    )


def _plain(value: Any) -> Any:
    """Return a numpy scalar as Python's own number; a fraction as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _back_up(
    process: CountProcess,
    t: int,
    beliefs: Beliefs,
    losses: NDArray[Any],
    prices: NDArray[Any],
    ahead: NDArray[Any] | None,
) -> tuple[Layer, NDArray[Any]]:
    """Choose between stopping and going on for every belief of a round.

    The first ``panel + 1`` nodes stop whatever is believed: they catch paths that the process calls
    impossible.
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
        moves = process.step(t)[:, beliefs.counts[grown]].transpose(1, 2, 0)
        onward = prices[t] + (moves * ahead[children]).sum(axis=1)
        nodes = grown + size
        gains = (belief[nodes] * onward).sum(axis=1) < at_stop[nodes].min(axis=1)
        plan[nodes[gains]] = onward[gains]
        stops[nodes[gains]] = False
        successors = children[gains]
    decisions = best if losses.shape[-1] == 2 else np.full(len(best), PLURALITY)
    return Layer(counts, stops, decisions.astype(np.int8), successors), plan


def checked_prices(cost: ArrayLike, process: CountProcess) -> NDArray[Any]:
    """Return one price per round."""
    given = np.asarray(cost)
    if given.ndim > 1 or (given.ndim == 1 and given.shape != (process.n_rounds,)):
        raise ValueError(f"cost must be a number or one per round ({process.n_rounds}); got {given.shape}")
    values = given.astype(np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"cost must be finite and >= 0; got cost={cost!r}")
    exact = process.exact and given.dtype.kind in "Oiu"
    return np.array(np.broadcast_to(given, process.n_rounds), dtype=object if exact else np.float64)


def checked_losses(loss: NDArray[Any] | None, verdict: Verdict, process: CountProcess) -> NDArray[Any]:
    """Return the loss of stopping, by class, round, count and choice."""
    choice("verdict", verdict, ("majority", "posterior"))
    if loss is None:
        return np.array(error_loss(process, verdict))
    shape = (process.n_classes, process.n_rounds, process.panel + 1, 1 if verdict == "majority" else 2)
    if loss.shape != shape:
        raise ValueError(f"loss must have shape {shape} for verdict={verdict!r}; got {loss.shape}")
    values = loss.astype(np.float64)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"loss must be finite and >= 0; got {values.min():g} among its values")
    return np.array(loss)
