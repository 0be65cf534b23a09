"""Debates played with synthetic agents beside the same number drawn by the simulator, and how far apart they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.agent import Request
from d3stats.planning.costs import bill
from d3stats.protocols.play import DebateProtocol, Play, RoundOver, RuleBook, Speak, complete
from d3stats.stopping import FullDepth, Rule
from d3stats.trajectories import MISSING
from d3stats.worlds import World, simulate_debates
from d3stats.worlds.streams import SyntheticAgent, synthetic_agent, synthetic_items

Floats = NDArray[np.float64]
Wiring = Callable[[Request], Request]


@dataclass(frozen=True)
class Batch:
    """Debates as arrays: votes and scores are missing (-1, NaN) in rounds that were not played.

    `tokens` are a debate's total, `spent` those of each round.
    """

    votes: NDArray[np.int64]
    scores: Floats | None
    spent: Floats | None
    tokens: Floats | None
    label: NDArray[np.int64]
    depth: NDArray[np.int64]
    decision: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.label)


def step_through(
    play: Play, agent: SyntheticAgent[Any], book: RuleBook, wiring: Wiring
) -> Iterator[tuple[Any, Any]]:
    """Play one debate without an event loop: what the engine does, for agents that answer at once."""
    send: Any = None
    since: list[tuple[Any, Any]] = []
    while True:
        try:
            step = play.send(send)
        except StopIteration as end:
            yield None, end.value
            return
        if isinstance(step, Speak):
            asked = [wiring(request) for request in step.requests]
            send = tuple(complete(request, agent.reply(request)) for request in asked)
            since += zip(asked, send, strict=True)
            yield from zip(asked, send, strict=True)
        else:
            assert isinstance(step, RoundOver)
            send, since = book.decide(step, tuple(since)), []


def played(
    protocol: DebateProtocol,
    world: World,
    n: int,
    seed: int,
    *,
    rule: Rule | None = None,
    first: str | None = None,
    wiring: Wiring = lambda request: request,
) -> Batch:
    """Play n debates of a protocol with the world's agents; to full depth without a rule."""
    agent: Any = synthetic_agent(world, seed)
    items = synthetic_items(world, n, seed)
    answers, sides = items[0].answers, ("A", "B")
    voting = {"vote", "answer", "referee"}
    rounds, votes, scores, spent, rest = protocol.max_rounds, [], [], [], []
    for item in items:
        book = RuleBook(item.case("d"), rule or FullDepth(), rounds)
        cast: list[list[int]] = [[] for _ in range(rounds)]
        given: list[list[list[float]]] = [[] for _ in range(rounds)]
        cost: list[float | None] = [0.0] * rounds
        for request, reply in step_through(
            protocol.play(item.case(f"debate {item.question}", first)), agent, book, wiring
        ):
            if request is None:
                outcome = reply
                break
            r = request.round - 1
            if request.act in voting:
                cast[r].append(MISSING if reply.vote is None else answers.index(reply.vote))
            if reply.scores is not None:
                given[r].append([sum(reply.scores[side].values()) for side in sides])
            before = cost[r]
            both = None if reply.tokens_in is None or before is None else reply.tokens_in + reply.tokens_out
            cost[r] = None if both is None or before is None else before + both
        votes.append(cast)
        scores.append(given)
        spent.append(cost)
        code = MISSING if outcome.decision is None else answers.index(outcome.decision)
        rest.append((answers.index(item.label), outcome.round, code))
    label, depth, decision = np.array(rest).T
    seats = max(len(row) for cast in votes for row in cast)
    table = np.full((n, rounds, seats), MISSING)
    points = np.full((n, rounds, 2), np.nan)
    for i in range(n):
        for r in range(rounds):
            if votes[i][r]:
                table[i, r, : len(votes[i][r])] = votes[i][r]
            if scores[i][r]:
                points[i, r] = np.mean(scores[i][r], axis=0)
    known = spent[0][0] is not None
    by_round = np.array(spent, dtype=float) if known else None
    return Batch(
        votes=table,
        scores=None if np.isnan(points).all() else points,
        spent=by_round,
        tokens=None if by_round is None else by_round.sum(axis=1),
        label=label,
        depth=depth,
        decision=decision,
    )


def twin(world: World, n: int, n_rounds: int, seed: int, *, rule: Rule | None = None) -> Batch:
    """Draw n debates at once, and cut them where the rule stops them."""
    t = simulate_debates(world, n, n_rounds, seed)
    depth = (rule or FullDepth()).stop_rounds(t).rounds
    # Without a rule the votes of all rounds are asked for, as far as the world has them.
    paid = None if rule is None else bill(t, rule)
    reached = np.arange(n_rounds) < depth[:, None]
    spent = None if t.tokens is None else np.where(reached, t.tokens, 0.0)
    last = np.take_along_axis(t.votes, (depth - 1)[:, None, None], axis=1)[:, 0]
    return Batch(
        votes=np.where(reached[:, :, None], t.votes, MISSING).astype(np.int64),
        scores=None if t.scores is None else np.where(reached[:, :, None], t.scores, np.nan),
        spent=spent,
        tokens=None if spent is None else spent.sum(axis=1) if paid is None else paid[np.arange(n), depth],
        label=t.label.astype(np.int64),
        depth=depth,
        decision=(
            plurality(last, t.answers or ())
            if t.polling is None
            else t.verdicts()[np.arange(n), depth - 1].astype(np.int64)
        ),
    )


def plurality(votes: NDArray[Any], answers: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the answer that leads; of both sides, "tie" where there is one; ``MISSING`` where others lead."""
    counts = np.stack([(votes == a).sum(axis=1) for a in range(len(answers))], axis=1)
    leads = counts == counts.max(axis=1, keepdims=True)
    decision = np.where(leads.sum(axis=1) == 1, counts.argmax(axis=1), MISSING)
    if "tie" in answers:
        decision = np.where(leads[:, 0] & leads[:, 1], answers.index("tie"), decision)
    return decision


def at_the_end(batch: Batch) -> Batch:
    """Keep the votes of each debate's last round alone, as where the jury is asked once; and no costs by round."""
    last = np.take_along_axis(batch.votes, (batch.depth - 1)[:, None, None], axis=1)
    return replace(batch, votes=last, spent=None)


def statistics_of(batch: Batch) -> dict[str, Floats]:
    """Return every number by which the two are compared, one value per debate."""
    out: dict[str, Floats] = {}
    _, rounds, seats = batch.votes.shape
    right = (batch.votes == batch.label[:, None, None]).sum(axis=2)
    for r in range(rounds):
        cast = (batch.votes[:, r] != MISSING).any(axis=1)
        for k in range(seats + 1):
            out[f"round {r + 1}: {k} right votes"] = cast & (right[:, r] == k)
        for a in range(int(batch.label.max()) + 1):
            out[f"round {r + 1}: votes for answer {a}"] = (batch.votes[:, r] == a).sum(axis=1)
        for j in range(seats):
            out[f"round {r + 1}: seat {j + 1} is right"] = batch.votes[:, r, j] == batch.label
        if r:
            out[f"rounds {r} and {r + 1}: product of right votes"] = right[:, r - 1] * right[:, r]
            out[f"rounds {r} and {r + 1}: votes kept"] = (
                (batch.votes[:, r] == batch.votes[:, r - 1]) & (batch.votes[:, r] != MISSING)
            ).sum(axis=1)
    if batch.scores is not None:
        out |= _scores(np.nan_to_num(batch.scores), batch.label)
        gap = np.nan_to_num(batch.scores[:, :, 0] - batch.scores[:, :, 1])
        for r in range(gap.shape[1]):
            out[f"last votes for A times the gap of round {r + 1}"] = gap[:, r] * _last_votes_for_a(batch)
    if batch.spent is not None:
        out |= {f"round {r + 1}: tokens": batch.spent[:, r] for r in range(batch.spent.shape[1])}
    if batch.tokens is not None:
        out["tokens"] = batch.tokens
        out["tokens squared"] = (batch.tokens / batch.tokens.mean()) ** 2
    for r in range(1, int(batch.depth.max()) + 1):
        out[f"stopped after round {r}"] = batch.depth == r
    for a in range(-1, int(batch.label.max()) + 1):
        out[f"decision {a}"] = batch.decision == a
    out["decision is right"] = batch.decision == batch.label
    out["label is 0"] = batch.label == 0
    return {name: np.asarray(values, dtype=np.float64) for name, values in out.items()}


def _last_votes_for_a(batch: Batch) -> NDArray[np.int64]:
    last = np.minimum(batch.depth, batch.votes.shape[1]) - 1
    return (np.take_along_axis(batch.votes, last[:, None, None], axis=1) == 0).sum(axis=(1, 2))


def _scores(scores: Floats, label: NDArray[np.int64]) -> dict[str, Floats]:
    out: dict[str, Floats] = {}
    gap = scores[:, :, 0] - scores[:, :, 1]
    for r in range(scores.shape[1]):
        a, b = scores[:, r, 0], scores[:, r, 1]
        at = f"round {r + 1}: "
        out |= {at + "score of A": a, at + "score of B": b, at + "gap": gap[:, r]}
        out |= {at + "gap squared": gap[:, r] ** 2, at + "sum squared": (a + b) ** 2}
        out[at + "gap towards the label"] = np.where(
            label == 0, gap[:, r], np.where(label == 1, -gap[:, r], 0)
        )
        if r:
            out[f"rounds {r} and {r + 1}: product of gaps"] = gap[:, r - 1] * gap[:, r]
    return out


def distances(first: Batch, second: Batch, *, skip: tuple[str, ...] = ()) -> dict[str, float]:
    """Return the difference of each mean in standard errors; events that hardly occur are left out.

    Both have to have the same statistics, but for those with a word of `skip` in their name.
    """
    one, two = (
        {name: x for name, x in statistics_of(batch).items() if not any(word in name for word in skip)}
        for batch in (first, second)
    )
    assert one.keys() == two.keys(), f"only one side has {sorted(one.keys() ^ two.keys())}"
    out = {}
    for name, x in one.items():
        y = two[name]
        events = set(np.unique(y)) <= {0.0, 1.0}
        if events and min(y.mean(), 1 - y.mean()) * len(x) < 10:
            continue
        error = np.sqrt(x.var() / len(x) + y.var() / len(y))
        if error < 1e-9 * (1 + abs(y.mean())):
            # A number without spread has to be equal, rounding of tokens aside.
            out[name] = 0.0 if abs(x.mean() - y.mean()) < 1e-6 * (1 + abs(y.mean())) else np.inf
        else:
            out[name] = float((x.mean() - y.mean()) / error)
    return out


def far(apart: dict[str, float]) -> dict[str, float]:
    """Return the distances of 4 standard errors or more."""
    return {name: round(z, 1) for name, z in apart.items() if abs(z) >= 4}
