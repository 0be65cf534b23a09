"""How accurate can a debate be at a given cost? The exact limit of a process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import nonnegative, probability
from d3stats.models.losses import Verdict
from d3stats.models.optimum import OptimalPolicy, solve
from d3stats.models.process import CountProcess

__all__ = ["cheapest", "frontier"]

_MOST_STEPS = 60


def frontier(
    process: CountProcess,
    costs: ArrayLike,
    *,
    tokens: ArrayLike | None = None,
    verdict: Verdict = "majority",
    loss: NDArray[Any] | None = None,
    max_beliefs: int = 2_000,
) -> pd.DataFrame:
    """Trace the least loss that any policy on counts reaches at each expected cost.

    Parameters
    ----------
    process : CountProcess
    costs : array, shape (points,)
        Prices in units of loss: of a round, or of a token when `tokens` is given.
    tokens : array, shape (n_rounds,), optional
        Tokens of each round.
    verdict, loss, max_beliefs
        As in :func:`~d3stats.models.optimum.solve`.

    Returns
    -------
    DataFrame
        ``cost, rounds, tokens`` (when given), ``loss, value, lower, exact``, one row per price, in order of
        price. Each row is a corner of the limit; between two corners the limit is the chord, reached by
        drawing one of the two policies at random for each debate.

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
    rows = []
    for price in prices:
        policy = _solve(process, price, spent, verdict, loss, max_beliefs)
        law = policy.stop_rounds_law()
        row = {"cost": price, "rounds": float(policy.rounds)}
        if tokens is not None:
            row["tokens"] = float((law * np.cumsum(spent)).sum())
        row |= {
            "loss": float(policy.expected_loss),
            "value": float(policy.value),
            "lower": float(policy.lower),
        }
        rows.append({**row, "exact": policy.exact})
    return pd.DataFrame(rows)


def cheapest(
    process: CountProcess,
    max_loss: float,
    *,
    tokens: ArrayLike | None = None,
    verdict: Verdict = "majority",
    loss: NDArray[Any] | None = None,
    max_beliefs: int = 2_000,
) -> OptimalPolicy:
    """Find the cheapest corner of the limit whose expected loss is small enough.

    Parameters
    ----------
    process : CountProcess
    max_loss : float
        Largest expected loss allowed (by default the loss is the probability of a wrong verdict).
    tokens : array, shape (n_rounds,), optional
        Tokens of each round; by default rounds are what is to be saved.
    verdict, loss, max_beliefs
        As in :func:`~d3stats.models.optimum.solve`.

    Returns
    -------
    OptimalPolicy
        Of all policies with at most its own expected loss, none is cheaper. A mixture with the next corner
        can be cheaper still and just meet `max_loss`; this policy draws nothing at random.

    Raises
    ------
    ValueError
        When no policy reaches `max_loss`; the message says what can be reached.

    Examples
    --------
    >>> fresh = [[0.3, 0.7]]
    >>> p = CountProcess.symmetric(fresh, [[fresh[0], fresh[0]]], n_rounds=3)
    >>> policy = cheapest(p, 0.25, verdict="posterior")
    >>> round(policy.rounds, 3), round(policy.expected_loss, 3)
    (2.42, 0.216)
    """
    probability("max_loss", max_loss)
    spent = _tokens(tokens, process)

    def at(price: float) -> tuple[OptimalPolicy, float, float]:
        policy = _solve(process, price, spent, verdict, loss, max_beliefs)
        paid = float((policy.stop_rounds_law() * np.cumsum(spent)).sum())
        return policy, float(policy.expected_loss), paid

    good = at(0.0)
    if good[1] > max_loss + 1e-12:
        raise ValueError(
            f"max_loss must be at least {good[1]:.6g}, the least that any policy reaches here; "
            f"got max_loss={max_loss!r}"
        )
    # No round can save more than the whole loss, so at this price the first is the last.
    later = spent[1:][spent[1:] > 0]
    bad = at(2.0 * (1.0 + good[1]) / float(later.min())) if later.size else good
    if bad[1] <= max_loss:
        return bad[0]
    for _ in range(_MOST_STEPS):
        saved = good[2] - bad[2]
        if saved <= 0:
            break
        # At the price of the chord both corners cost the same; a better policy there is a corner between.
        middle = at((bad[1] - good[1]) / saved)
        price = (bad[1] - good[1]) / saved
        if middle[1] + price * middle[2] >= good[1] + price * good[2] - 1e-7:
            break
        good, bad = (middle, bad) if middle[1] <= max_loss else (good, middle)
    return good[0]


def _tokens(tokens: ArrayLike | None, process: CountProcess) -> NDArray[np.float64]:
    spent = nonnegative("tokens", np.ones(process.n_rounds) if tokens is None else tokens)
    if spent.shape != (process.n_rounds,):
        raise ValueError(f"tokens must have one value per round ({process.n_rounds}); got {spent.size}")
    return spent


def _solve(
    process: CountProcess,
    price: float,
    spent: NDArray[np.float64],
    verdict: Verdict,
    loss: NDArray[Any] | None,
    max_beliefs: int,
) -> OptimalPolicy:
    return solve(process, price * spent, verdict=verdict, loss=loss, max_beliefs=max_beliefs)
