"""What does a rule cost and lose, exactly? No debate is drawn.

A rule that reads nothing but counts is played once through its own online face over every count it can meet,
states that remember the same taken as one. What comes out is a small graph
(:class:`~d3stats.models.chains.process.Controller`), kept per rule; evaluating a process on it is one forward
pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import nonnegative, number
from d3stats.models.chains.process import PLURALITY, Controller, CountProcess, walk
from d3stats.planning._probe import controller_of
from d3stats.stopping import Rule

__all__ = ["ExactResult", "evaluate"]


@dataclass(frozen=True, eq=False, repr=False)
class ExactResult:
    """A rule's exact cost and verdicts in a process; fractions where the process holds fractions.

    Attributes
    ----------
    rule : str
    stops : ndarray, shape (n_rounds,)
        P(the debate stops after this round); full depth counts as stopping in the last.
    rounds : float
        Expected number of rounds.
    accuracy : float
        P(the verdict at the stop is right).
    agreement : float
        P(the verdict at the stop is full depth's).
    gained, lost : float
        P(right at the stop and wrong at full depth), and the reverse.
    full_accuracy : float
        P(full depth's verdict is right).
    tokens : float or None
        Expected tokens up to the stop, when tokens per round were given.
    """

    rule: str
    stops: NDArray[Any]
    rounds: Any
    accuracy: Any
    agreement: Any
    gained: Any
    lost: Any
    full_accuracy: Any
    tokens: float | None

    def __repr__(self) -> str:
        return (
            f"ExactResult({self.rule}: {float(self.rounds):.4g} rounds, accuracy {float(self.accuracy):.4g}, "
            f"agreement {float(self.agreement):.4g})"
        )

    @property
    def flips(self) -> Any:
        """P(the verdict at the stop is not full depth's)."""
        return 1 - self.agreement

    def value(self, cost: float) -> Any:
        """Return P(wrong verdict) plus `cost` per round: what :func:`d3stats.models.chains.optimum.solve` minimises."""
        return 1 - self.accuracy + number("cost", cost, minimum=0) * self.rounds

    def to_frame(self) -> pd.DataFrame:
        """Return one row: ``rule, rounds, tokens, accuracy, agreement, flips, gained, lost``."""
        row = {
            "rule": self.rule,
            "rounds": float(self.rounds),
            "tokens": np.nan if self.tokens is None else self.tokens,
            "accuracy": float(self.accuracy),
            "agreement": float(self.agreement),
            "flips": float(self.flips),
            "gained": float(self.gained),
            "lost": float(self.lost),
        }
        return pd.DataFrame([row])


def evaluate(process: CountProcess, rule: Rule, tokens: ArrayLike | None = None) -> ExactResult:
    """Evaluate a per-debate rule on counts exactly.

    Parameters
    ----------
    process : CountProcess
    rule : Rule
        One that decides by the round number and the counts of votes, with memory or without, combinations
        included. For an :class:`~d3stats.stopping.Optimal` rule with ``verdict="posterior"`` the verdict is
        the policy's; for every other rule it is the plurality of the round, a tie being a fair coin.
    tokens : array, shape (n_rounds,), optional
        Tokens of each round; rules on tokens then see them.

    Returns
    -------
    ExactResult

    Raises
    ------
    ValueError
        When the rule needs scores, texts or tokens, decides by which seat said what, or needs a whole batch.

    Examples
    --------
    >>> from d3stats.simulate import count_process
    >>> from d3stats.stopping import Unanimity
    >>> from d3stats.worlds import Voter
    >>> result = evaluate(count_process(Voter(panel=3), n_rounds=4), Unanimity())
    >>> round(float(result.rounds), 4), round(float(result.accuracy), 4)
    (2.1527, 0.6504)
    """
    if not isinstance(process, CountProcess):
        raise TypeError(f"process must be a CountProcess; got {process!r}")
    if not isinstance(rule, Rule):
        raise ValueError(f"rule must decide each debate by itself to be evaluated exactly; got {rule}")
    spent = None if tokens is None else nonnegative("tokens", tokens)
    if spent is not None and spent.shape != (process.n_rounds,):
        raise ValueError(f"tokens must have one value per round ({process.n_rounds}); got {spent.size}")
    controller = controller_of(rule, process.panel, process.n_rounds, spent)
    return evaluate_controller(process, controller, str(rule), spent)


def evaluate_controller(
    process: CountProcess, controller: Controller, name: str, tokens: NDArray[np.float64] | None = None
) -> ExactResult:
    """Evaluate a policy that is given as a graph; see :func:`evaluate`."""
    final_a = process.final_verdict()
    plurality = process.majority()
    right = process.a_is_right
    zero = process.weights[0] * 0
    stops = np.repeat(np.asarray([zero]), process.n_rounds)
    total = {"accuracy": zero, "agreement": zero, "gained": zero, "lost": zero}
    for t, (mass, layer) in enumerate(zip(walk(process, controller), controller.layers, strict=True)):
        at = np.flatnonzero(layer.stops)
        if not at.size:
            continue
        stopped, k, decided = mass[:, at], layer.counts[at], layer.decisions[at]
        stops[t] = stopped.sum()
        says_a = np.where(decided == PLURALITY, plurality[k], 1 - decided)
        full_a = final_a[t][:, k]
        agrees = says_a * full_a + (1 - says_a) * (1 - full_a)
        correct = np.where(right[:, None], says_a, 1 - says_a)
        correct_full = np.where(right[:, None], full_a, 1 - full_a)
        gained, lost = correct * (1 - correct_full), (1 - correct) * correct_full
        if t == process.n_rounds - 1:
            # A stop in the last round with its plurality is full depth, tied or not.
            same = decided == PLURALITY
            agrees = np.where(same, zero + 1, agrees)
            gained, lost = np.where(same, zero, gained), np.where(same, zero, lost)
        for key, value in (("accuracy", correct), ("agreement", agrees), ("gained", gained), ("lost", lost)):
            total[key] = total[key] + (stopped * value).sum()
    start = process.weights[:, None] * process.initial
    first_final = np.where(right[:, None], final_a[0], 1 - final_a[0])
    return ExactResult(
        rule=name,
        stops=stops,
        rounds=(stops * np.arange(1, process.n_rounds + 1)).sum(),
        full_accuracy=(start * first_final).sum(),
        tokens=None if tokens is None else float((stops * np.cumsum(tokens)).sum()),
        **total,
    )
