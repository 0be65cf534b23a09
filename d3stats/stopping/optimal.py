"""Stop where one more round is not worth its price: the exact optimum for a known process, as a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from d3stats._check import NonNegativeInt
from d3stats.models.chains.optimum import OptimalPolicy
from d3stats.models.chains.process import Layer
from d3stats.stopping.rule import CONTINUE, Decision, Round, Rule
from d3stats.trajectories import MISSING, Trajectories

__all__ = ["Optimal"]


@dataclass(frozen=True)
class Optimal(Rule):
    """Stop as the optimal policy of a count process stops.

    Made from a policy, so it has no text form. It fires from its stopping round on.

    Parameters
    ----------
    policy : OptimalPolicy
        From :func:`d3stats.models.chains.optimum.solve`.
    answer : int
        Code of the answer that the process calls A.

    Notes
    -----
    The debate must have the policy's panel and at most two answers. After the process's last round it stops.

    A missing vote hides the count: the rule never stops in such a round. It weighs every count that the
    votes cast leave possible (seats missing at random), and at the next complete round takes the best of its
    plans for the belief that this gives.

    A rule says when to stop, not what to answer: a replay scores the plurality of the round, so for a replay
    solve with ``verdict="majority"``, the default. A policy with ``verdict="posterior"`` answers otherwise at
    some stops, which only :func:`d3stats.planning.evaluate` scores.

    Examples
    --------
    >>> from d3stats.models.chains.optimum import solve
    >>> from d3stats.worlds import count_process
    >>> from d3stats.worlds import Voter
    >>> rule = Optimal(solve(count_process(Voter(panel=3), n_rounds=4), cost=0.01))
    >>> str(rule), rule.run([Round(1, (0, 1, 0), 3), Round(2, (0, 0, 0), 3)])
    ('optimal(cost=0.01)', (1, 'optimal'))
    """

    policy: OptimalPolicy
    answer: NonNegativeInt = 0

    name: ClassVar[str] = ""
    citation: ClassVar[str] = "Smallwood and Sondik (1973), Operations Research 21: hidden Markov classes"
    statistic: ClassVar[str] = "round, count of votes and posterior of the class given all counts so far"
    guarantee: ClassVar[str] = "no rule on counts is better in the process that it was solved for"
    reason: ClassVar[str] = "optimal"

    def __post_init__(self) -> None:
        if not isinstance(self.policy, OptimalPolicy):
            raise TypeError(f"policy must be an OptimalPolicy, from solve(); got {self.policy!r}")
        super().__post_init__()

    def __str__(self) -> str:
        later = {f"{float(c):g}" for c in self.policy.cost[1:]} or {f"{float(self.policy.cost[0]):g}"}
        goal = "" if self.policy.verdict == "majority" else f", verdict={self.policy.verdict}"
        side = f", answer={self.answer}" if self.answer else ""
        return f"optimal(cost={later.pop() if len(later) == 1 else 'by round'}{goal}{side})"

    def start(self) -> OptimalState:
        """Open a debate."""
        return OptimalState(self)

    def fires(self, trajectories: Trajectories) -> NDArray[np.bool_]:
        """Fire from the policy's stopping round on."""
        panel = self.policy.process.panel
        if len(trajectories.answers) > 2:
            raise ValueError(
                f"answers must be at most two for the rule {self}; got {len(trajectories.answers)}: "
                f"{', '.join(trajectories.answers[:5])}"
            )
        played = trajectories.depth > 0
        if (trajectories.panel[played] != panel).any():
            got = trajectories.panel[played & (trajectories.panel != panel)][0]
            raise ValueError(f"panel must be {panel} for the rule {self}; got a debate with panel={got}")
        votes = trajectories.votes[:, :, :panel]
        counts = np.zeros(votes.shape[:2], dtype=np.int64)
        cast = np.zeros(votes.shape[:2], dtype=np.int64)
        for seat in range(votes.shape[2]):
            counts += votes[:, :, seat] == self.answer
            cast += votes[:, :, seat] != MISSING
        reached = trajectories.reached()
        # Rounds that were not played have count 0: what the walk makes of them is never read.
        stopped = self.policy.controller.stop_rounds(counts)
        for row in np.flatnonzero(((cast < panel) & reached).any(axis=1)).tolist():
            stopped[row] = self._stop_with_gaps(counts[row], cast[row], int(trajectories.depth[row]))
        result: NDArray[np.bool_] = (stopped > 0)[:, None] & (
            np.arange(1, trajectories.n_rounds + 1) >= stopped[:, None]
        )
        return result

    def _stop_with_gaps(self, counts: NDArray[np.int64], cast: NDArray[np.int64], depth: int) -> int:
        state = OptimalState(self)
        for t in range(depth):
            if state.see(int(counts[t]), int(cast[t])):
                return t + 1
        return 0


@dataclass
class OptimalState:
    """The state of one debate: a node of the policy, or after a gap the odds of (class, count)."""

    rule: Optimal
    round: int = 0
    node: int = 0
    stopped: bool = False
    path: list[tuple[int, int]] = field(default_factory=list)

    def memory(self) -> tuple[int, int, bool]:
        """Return the values that determine all later decisions while no vote is missing."""
        return (0, 0, True) if self.stopped else (self.round, self.node, False)

    def update(self, latest: Round, /) -> Decision:
        process = self.rule.policy.process
        if latest.panel != process.panel:
            raise ValueError(
                f"panel must be {process.panel} for the rule {self.rule}; got panel={latest.panel}"
            )
        cast = [vote for vote in latest.votes if vote != MISSING]
        others = {vote for vote in cast if vote != self.rule.answer}
        if len(others) > 1:
            raise ValueError(
                f"answers must be at most two for the rule {self.rule}; got votes={latest.votes}"
            )
        return self.rule.stop() if self.see(cast.count(self.rule.answer), len(cast)) else CONTINUE

    def see(self, count: int, cast: int) -> bool:
        """Take a round's votes for A among the votes cast; say whether to stop."""
        if self.stopped:
            return True
        controller, process = self.rule.policy.controller, self.rule.policy.process
        self.round += 1
        self.path.append((count, cast))
        complete = cast == process.panel
        if self.round > process.n_rounds:
            self.stopped = True
        elif complete:
            self.node = self._next_node(count)
            self.stopped = bool(controller.layers[self.round - 1].stops[self.node])
        return self.stopped

    def _next_node(self, count: int) -> int:
        controller, process = self.rule.policy.controller, self.rule.policy.process
        if self.round == 1:
            return int(controller.first[count])
        if any(cast < process.panel for _, cast in self.path[-2:]):
            joint = _filtered(self.rule.policy, self.path)[:, count]
            return self.rule.policy.best_node(self.round, count, joint)
        before: Layer = controller.layers[self.round - 2]
        return int(before.successors[before.row[self.node], count])


def _filtered(policy: OptimalPolicy, path: list[tuple[int, int]]) -> NDArray[Any]:
    """Return the odds of (class, count) after a path with gaps, shape (classes, panel + 1)."""
    from scipy.special import comb

    process = policy.process
    n = process.panel
    counts = np.arange(n + 1)
    odds: NDArray[Any] = process.weights[:, None] * process.initial
    for t, (count, cast) in enumerate(path):
        if t:
            odds = (odds[:, :, None] * process.step(t)).sum(axis=1)
        # Hypergeometric: the seats that voted are a draw without replacement from the panel.
        odds = odds * comb(counts, count) * comb(n - counts, cast - count)
        total = odds.sum()
        odds = odds / total if total > 0 else odds
    return odds
