"""What does a rule cost and lose, exactly? No debate is drawn.

A rule that reads nothing but counts is played once, with its own live form, over every count that can occur;
equal states of the rule are merged. The result is a small graph
(:class:`~d3stats.models.chains.process.Controller`), kept per rule; evaluating a process on it is one forward
pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import nonnegative, number
from d3stats._words import percent, points
from d3stats.models.chains.process import PLURALITY, Controller, CountProcess, Layer, walk
from d3stats.result import Result
from d3stats.stopping import Decision, ESCWindow, Optimal, Round, Rule, RuleState, StoppingRule
from d3stats.stopping.optimal import OptimalState
from d3stats.stopping.text import short_name

__all__ = ["ExactResult", "controller_of", "evaluate"]

MAX_NODES = 100_000
"""Memories of a rule, all rounds together, beyond which it is not played exactly."""


def controller_of(rule: Rule, panel: int, n_rounds: int, tokens: NDArray[np.float64] | None) -> Controller:
    """Return the rule as a graph; the last hundreds asked for are remembered."""
    if isinstance(rule, Optimal) and rule.answer == 0:
        return rule.policy.controller
    spent = None if tokens is None else tuple(tokens.tolist())
    return _probed(rule, panel, n_rounds, spent)


@lru_cache(maxsize=1024)
def _probed(rule: Rule, panel: int, n_rounds: int, tokens: tuple[float, ...] | None) -> Controller:
    if any(isinstance(part, ESCWindow) for part in rule.parts()):
        raise ValueError(
            f"rule must decide by counts to be evaluated exactly; {rule} fills windows seat by seat"
        )
    known = {"votes"} if tokens is None else {"votes", "tokens"}
    for need in ("scores", "texts", "confidence", "tokens"):
        if need in rule.reads - known:
            hint = "; give tokens=" if need == "tokens" else ""
            raise ValueError(
                f"rule must decide by counts of votes to be evaluated exactly; {rule} needs {need}{hint}"
            )
    size = panel + 1
    opened: list[RuleState] = [rule.start()]
    targets: list[NDArray[np.int64]] = []
    layers: list[Layer] = []
    total = 0
    for t in range(1, n_rounds + 1):
        spent = None if tokens is None else tokens[t - 1]
        seen: dict[Hashable, int] = {}
        counts: list[int] = []
        stops: list[bool] = []
        ahead: list[RuleState] = []
        into = np.zeros((len(opened), size), dtype=np.int64)
        for i, state in enumerate(opened):
            for k in range(size):
                after, stop = _step(rule, state, t, k, panel, spent)
                stop = stop or t == n_rounds
                key = (k, stop) if stop else (k, _key(after))
                if key not in seen:
                    seen[key] = len(counts)
                    counts.append(k)
                    stops.append(stop)
                    if not stop:
                        ahead.append(after)
                into[i, k] = seen[key]
        total += len(counts)
        if total > MAX_NODES:
            raise ValueError(
                f"rule must have a small state to be evaluated exactly (at most {MAX_NODES} states); "
                f"got more by round {t} for {rule}"
            )
        targets.append(into)
        layers.append(
            Layer(
                np.array(counts, dtype=np.int64),
                np.array(stops, dtype=bool),
                np.full(len(counts), PLURALITY, dtype=np.int8),
                np.zeros((0, size), dtype=np.int64),
            )
        )
        opened = ahead
        if not ahead:
            break
    linked = [
        Layer(x.counts, x.stops, x.decisions, targets[t + 1] if t + 1 < len(targets) else x.successors)
        for t, x in enumerate(layers)
    ]
    nobody = Layer(
        np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, np.int8), np.zeros((0, size), np.int64)
    )
    return Controller(panel, targets[0][0], tuple(linked + [nobody] * (n_rounds - len(linked))))


def _step(
    rule: Rule, state: RuleState, t: int, count: int, panel: int, tokens: float | None
) -> tuple[RuleState, bool]:
    """Show the state one round, in two seatings; return what it became and whether it stops."""
    one, other = _copy(state), _copy(state)
    votes = (0,) * count + (1,) * (panel - count)
    first = one.update(Round(t, votes, panel, tokens)).stop
    second = other.update(Round(t, votes[::-1], panel, tokens)).stop
    if first != second or (not first and _key(one) != _key(other)):
        raise ValueError(
            f"rule must decide by counts of votes to be evaluated exactly; "
            f"{rule} looks at which seat said what"
        )
    return one, first


def _copy(value: Any) -> Any:
    """Copy a state to any depth; what cannot change is shared."""
    if isinstance(value, (StoppingRule, Decision, str, bytes, int, float, np.generic, type(None))):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (dict, list, deque)):
        changed: Any = copy(value)
        for place in list(value) if isinstance(value, dict) else range(len(value)):
            changed[place] = _copy(value[place])
        return changed
    if isinstance(value, set):
        return set(value)
    if isinstance(value, (tuple, frozenset, Mapping)):
        return value
    made = copy(value)
    names = [f.name for f in fields(value)] if is_dataclass(value) else list(vars(value))
    for name in names:
        object.__setattr__(made, name, _copy(getattr(value, name)))
    return made


def _key(value: Any) -> Hashable:
    """Say what a state remembers, so that two that remember the same are one."""
    if isinstance(value, StoppingRule) and not hasattr(value, "update"):
        return id(value)
    if isinstance(value, Decision):
        return (value.stop, value.reason)
    if isinstance(value, OptimalState):
        return (id(value.rule.policy), value.rule.answer, value.memory())
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value).__name__, *(_key(getattr(value, f.name)) for f in fields(value)))
    if isinstance(value, np.ndarray):
        return (value.shape, value.tobytes())
    if isinstance(value, Mapping):
        return frozenset((_key(k), _key(v)) for k, v in value.items())
    if isinstance(value, (list, tuple, deque)):
        return tuple(_key(v) for v in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(_key(v) for v in value)
    if isinstance(value, (int, float, str, bool, type(None), np.generic)):
        return (type(value).__name__, value) if isinstance(value, bool) else value
    if hasattr(value, "__dict__"):
        return (type(value).__name__, _key(vars(value)))
    return id(value)


@dataclass(frozen=True, eq=False)
class ExactResult(Result):
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
    premature : float
        P(more than half of the votes at the stop are for the wrong answer, which is the verdict, and full depth is
        right | the debate stops before the last round); NaN when none does.
    full_accuracy : float
        P(full depth's verdict is right).
    tokens : float or None
        Expected tokens up to the stop, when tokens per round were given.

    Examples
    --------
    >>> from d3stats.stopping import Unanimity
    >>> from d3stats.worlds import Voter, count_process
    >>> result = evaluate(count_process(Voter(panel=3), n_rounds=4), Unanimity())
    >>> [round(float(chance), 3) for chance in result.stops], round(float(result.flips), 4)
    ([0.454, 0.182, 0.121, 0.243], 0.0)
    >>> round(float(result.value(0.01)), 4), result.to_frame()["rule"].tolist()
    (0.3711, ['unanimity'])
    """

    rule: str
    stops: NDArray[Any]
    rounds: Any
    accuracy: Any
    agreement: Any
    gained: Any
    lost: Any
    premature: Any
    full_accuracy: Any
    tokens: float | None

    @property
    def headline(self) -> str:
        """Expected rounds and accuracy of the rule."""
        change = points(float(self.accuracy - self.full_accuracy))
        return (
            f"{short_name(self.rule)}: {float(self.rounds):.4g} rounds, right "
            f"{percent(float(self.accuracy), digits=1)}, {change} against all rounds, same verdict in "
            f"{percent(float(self.agreement), digits=1)}."
        )

    @property
    def flips(self) -> Any:
        """P(the verdict at the stop is not full depth's)."""
        return 1 - self.agreement

    def value(self, cost: float) -> Any:
        """Return P(wrong verdict) plus `cost` per round: what :func:`d3stats.models.chains.optimum.solve` minimises."""
        return 1 - self.accuracy + number("cost", cost, minimum=0) * self.rounds

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Return one row: ``rule, rounds, tokens, accuracy, agreement, flips, gained, lost, premature``."""
        row = {
            "rule": self.rule,
            "rounds": float(self.rounds),
            "tokens": np.nan if self.tokens is None else self.tokens,
            "accuracy": float(self.accuracy),
            "agreement": float(self.agreement),
            "flips": float(self.flips),
            "gained": float(self.gained),
            "lost": float(self.lost),
            "premature": float(self.premature),
        }
        return {"rule": pd.DataFrame([row])}


def evaluate(process: CountProcess, rule: Rule, tokens: ArrayLike | None = None) -> ExactResult:
    """Evaluate a per-debate rule on counts exactly.

    Parameters
    ----------
    process : CountProcess
        The law of the vote counts, round by round.
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
    >>> from d3stats.worlds import count_process
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
    total = dict.fromkeys(("accuracy", "agreement", "gained", "lost", "premature"), zero)
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
        held = (2 * k != process.panel) & (says_a == plurality[k])
        cut = np.where(held, lost, zero) if t < process.n_rounds - 1 else zero
        told = (correct, agrees, gained, lost, cut)
        for key, value in zip(total, told, strict=True):
            total[key] = total[key] + (stopped * value).sum()
    early = stops[:-1].sum()
    total["premature"] = total["premature"] / early if early > 0 else np.nan
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
