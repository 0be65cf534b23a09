"""Follow a stopping rule through a running debate."""

from __future__ import annotations

from collections.abc import Sequence

from d3stats.agents.request import Case, Reply, Request
from d3stats.protocols.play import RoundOver
from d3stats.stopping import Decision, Round, Rule, StoppingRule, StopReason
from d3stats.trajectories import MISSING

__all__ = ["RuleBook", "round_seen"]


class RuleBook:
    """One debate's rule: turns what was said in a round into what the rule may see, and asks it.

    Raises
    ------
    TypeError
        When the rule decides for a whole batch; a run of many debates follows those.
    """

    def __init__(self, case: Case, rule: StoppingRule, max_rounds: int) -> None:
        if not isinstance(rule, Rule):
            raise TypeError(f"rule must decide debate by debate; got {rule}, which needs a whole batch")
        self.max_rounds = max_rounds
        self._state = rule.start()
        self._codes: dict[str, int] = {answer: i for i, answer in enumerate(case.answers or ())}

    def decide(self, step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> Decision:
        """Say whether to stop after this round: the protocol's own end first, then the rule, then the cap."""
        if step.ends is not None:
            return Decision(stop=True, reason=step.ends)
        decision = self._state.update(round_seen(step, since, self._codes))
        if decision.stop or step.number < self.max_rounds:
            return decision
        return Decision(stop=True, reason=str(StopReason.EXHAUSTED))


def round_seen(step: RoundOver, since: Sequence[tuple[Request, Reply]], codes: dict[str, int]) -> Round:
    """Return what a rule may see of a round; `codes` gives answers their numbers and learns new ones."""
    votes = tuple(MISSING if vote is None else codes.setdefault(vote, len(codes)) for vote in step.votes)
    spent = [(reply.tokens_in, reply.tokens_out) for _, reply in since]
    counts = [count for pair in spent for count in pair if count is not None]
    known = len(counts) == 2 * len(spent)
    return Round(
        number=step.number,
        votes=votes,
        panel=len(votes),
        tokens=float(sum(counts)) if known else None,
        scores=_scores(step, since),
        texts=step.votes,
    )


def _scores(step: RoundOver, since: Sequence[tuple[Request, Reply]]) -> tuple[float | None, ...] | None:
    """Return the points of what was to be scored in the round, missing ones as None; None if nothing was."""
    given = step.scores or {}
    rubrics = [request.slot.rubric for request, _ in since if request.slot.rubric is not None]
    scored = {*given, *(side for rubric in rubrics for side in rubric.sides)}
    # In the order of their names, as in a log, whatever order the item lists its answers in.
    return tuple(given.get(side) for side in sorted(scored)) if scored else None
