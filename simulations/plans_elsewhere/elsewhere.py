"""Families of debates that the planner's chain was not made for, and two that it was.

Each family is a function of a panel, a number of rounds and debates, parameters and a generator. It returns answers,
0 the right one, of shape (debates, rounds, seats). All seats speak at once unless a family says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.trajectories import Trajectories

Votes = NDArray[np.int32]
Floats = NDArray[np.float64]
Drawn = Mapping[str, float]


@dataclass(frozen=True)
class Family:
    """How a family's parameters are drawn, how its debates go, and whether a campaign has other questions."""

    draw: Callable[[np.random.Generator], dict[str, Any]]
    play: Callable[[Any, int, int, int, np.random.Generator], Votes]
    answers: int = 2
    shift: bool = False


def logistic(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def uniform(**ends: tuple[float, float]) -> Callable[[np.random.Generator], dict[str, float]]:
    """Return a function that draws each parameter uniformly between its ends."""
    return lambda rng: {name: float(np.round(rng.uniform(*pair), 3)) for name, pair in ends.items()}


def wrong(right: NDArray[np.bool_]) -> Votes:
    """Return answers from right and wrong, where there is one wrong answer."""
    return np.where(right, 0, 1).astype(np.int32)


def by_round(
    first: NDArray[np.bool_], rounds: int, step: Callable[[NDArray[np.bool_], int], NDArray[np.bool_]]
) -> Votes:
    """Play right and wrong round by round."""
    found = [first]
    for t in range(1, rounds):
        found.append(step(found[-1], t))
    return wrong(np.stack(found, axis=1))


def copying(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """In each round a seat copies a seat drawn at random, or thinks again by the question's easiness."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        copied = np.take_along_axis(last, rng.integers(0, panel, (n, panel)), axis=1)
        return np.where(rng.random((n, panel)) < x["copies"], copied, rng.random((n, panel)) < easy)

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def biases(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Four answers; each seat has its own lasting taste on a question, and the last round's shares attract."""
    taste = rng.normal(0, x["taste"], (n, panel, 4)) + rng.normal(0, x["shared"], (n, 1, 4))
    taste[:, :, 0] += x["level"]
    found = []
    pull = np.zeros((n, 1, 4))
    for _ in range(rounds):
        said = (taste + x["pull"] * pull + rng.gumbel(size=taste.shape)).argmax(axis=2)
        found.append(said)
        pull = np.stack([(said == a).mean(axis=1) for a in range(4)], axis=1)[:, None, :]
    return np.stack(found, axis=1).astype(np.int32)


def influencer(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """One seat, no better than the others, is followed; it seldom changes its own mind."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        fresh = rng.random((n, panel)) < easy
        u = rng.random((n, panel))
        others = np.where(u < x["follow"], last[:, :1], np.where(u < x["follow"] + x["rethink"], fresh, last))
        others[:, 0] = np.where(u[:, 0] < x["wavers"], fresh[:, 0], last[:, 0])
        return others

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def adversarial(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """On a share of the questions a wrong answer is more convincing the longer it is argued."""
    trap = rng.random((n, 1)) < x["traps"]
    level = rng.normal(x["level"], x["spread"], (n, 1))
    first = rng.random((n, panel)) < logistic(np.where(trap, level - x["dent"], level))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        convinced = np.where(trap, -x["gain"] * t, 0.5 * level)
        push = 2.0 * last - 1.0
        share = 2.0 * last.mean(axis=1, keepdims=True) - 1.0
        return rng.random((n, panel)) < logistic(convinced + x["own"] * push + x["pull"] * share)

    return by_round(first, rounds, step)


def cyclic(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Three answers, each of which an argument of the next one refutes; only the right one is sometimes kept."""
    level = rng.normal(x["level"], x["spread"], n)
    right = logistic(level)[:, None]
    u = rng.random((n, panel))
    last = np.where(u < right, 0, np.where(u < right + 0.6 * (1 - right), 1, 2))
    found = [last]
    for _ in range(1, rounds):
        refuted = (last + 1) % 3
        there = np.stack([(last == a).mean(axis=1) for a in range(3)], axis=1)
        strength = np.take_along_axis(there, refuted, axis=1)
        moves = rng.random((n, panel)) < x["moves"] * strength * np.where(last == 0, 1 - x["firm"], 1.0)
        returns = rng.random((n, panel)) < x["returns"] * right
        last = np.where(returns, 0, np.where(moves, refuted, last))
        found.append(last)
    return np.stack(found, axis=1).astype(np.int32)


def mixture(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Nobody listens: the panel's ability jumps between two levels, all seats together."""
    good = rng.random(n) < x["weight"]
    found = []
    for _ in range(rounds):
        jumps = rng.random(n) < x["jumps"]
        good = np.where(jumps, rng.random(n) < x["weight"], good)
        p = np.where(
            good,
            rng.beta(x["good"] * 8, (1 - x["good"]) * 8, n),
            rng.beta(x["bad"] * 8, (1 - x["bad"]) * 8, n),
        )
        found.append(rng.random((n, panel)) < p[:, None])
    return wrong(np.stack(found, axis=1))


def topics(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Five topics of their own difficulty and their own effect of debating; a campaign may have other shares."""
    shares = np.array([0.35, 0.25, 0.2, 0.12, 0.08])
    shares = shares[::-1] if x.get("campaign") else shares
    topic = rng.choice(5, n, p=shares)
    level = (x["level"] + x["easier"] * np.array([1.2, 0.6, 0.0, -0.5, -1.0]))[topic][:, None]
    drift = (x["drift"] * np.array([0.3, 1.0, -0.5, 0.2, -1.0]))[topic][:, None]
    level = level + rng.normal(0, 0.6, (n, 1))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        push, share = 2.0 * last - 1.0, 2.0 * last.mean(axis=1, keepdims=True) - 1.0
        return rng.random((n, panel)) < logistic(0.4 * level + drift + x["own"] * push + x["pull"] * share)

    return by_round(rng.random((n, panel)) < logistic(level), rounds, step)


def bounded(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Bounded confidence: beliefs between 0 and 1 move to the mean of those near them; a vote says which side."""
    belief = np.clip(
        rng.normal(0.5 + rng.normal(x["level"], x["spread"], (n, 1)), x["apart"], (n, panel)), 0, 1
    )
    found = []
    for _ in range(rounds):
        slip = rng.random((n, panel)) < x["slips"]
        found.append((belief > 0.5) ^ slip)
        near = np.abs(belief[:, :, None] - belief[:, None, :]) < x["near"]
        mean = (near * belief[:, None, :]).sum(axis=2) / near.sum(axis=2)
        belief = np.clip(belief + x["speed"] * (mean - belief) + rng.normal(0, x["noise"], (n, panel)), 0, 1)
    return wrong(np.stack(found, axis=1))


def cascade(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Seats speak in turn: each follows a lead of two in what was said last, else its own signal of the round."""
    easy = logistic(rng.normal(x["level"], x["spread"], n))
    now = np.zeros((n, panel), dtype=bool)
    spoke = np.zeros((n, panel), dtype=bool)
    found = []
    for _ in range(rounds):
        for seat in range(panel):
            lead = np.where(spoke, 2 * now - 1, 0).sum(axis=1)
            signal = rng.random(n) < easy
            follows = (np.abs(lead) >= 2) & (rng.random(n) < x["follow"])
            keeps = spoke[:, seat] & (rng.random(n) < x["keeps"])
            now[:, seat] = np.where(follows, lead > 0, np.where(keeps, now[:, seat], signal))
            spoke[:, seat] = True
        found.append(now.copy())
    return wrong(np.stack(found, axis=1))


def threshold(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """A seat changes sides when at least its own share of the others is against it, and slips now and then."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))
    needs = rng.uniform(x["least"], 1.05, (n, panel))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        right = last.sum(axis=1, keepdims=True)
        against = np.where(last, panel - right, right) / max(panel - 1, 1)
        moved = np.where(against >= needs, ~last, last)
        slips = rng.random((n, panel)) < x["slips"]
        return np.where(slips, rng.random((n, panel)) < easy, moved)

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def truth_wins(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """A right answer that anyone holds can be shown to be right; who is shown it keeps it, mostly."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))
    shown = rng.beta(2 * x["shown"], 2 * (1 - x["shown"]), (n, 1))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        holders = last.sum(axis=1, keepdims=True)
        learns = rng.random((n, panel)) < 1 - (1 - 0.5 * shown) ** holders
        misled = rng.random((n, panel)) < x["misled"] * (panel - holders) / panel
        return np.where(last, ~misled, learns)

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def tired(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Agents think again less and less: the chance falls by a factor in every round."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        awake = rng.random((n, panel)) < x["awake"] * x["fades"] ** (t - 1)
        share = last.mean(axis=1, keepdims=True)
        p = (1 - x["social"]) * easy + x["social"] * share
        return np.where(awake, rng.random((n, panel)) < p, last)

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def alternating(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Even rounds are of critics, in which wrong and right are doubted, odd ones of defence."""
    level = rng.normal(x["level"], x["spread"], (n, 1))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        push, share = 2.0 * last - 1.0, 2.0 * last.mean(axis=1, keepdims=True) - 1.0
        if t % 2 == 1:
            return rng.random((n, panel)) < logistic(0.6 * level - x["doubt"] + x["own"] * push)
        return rng.random((n, panel)) < logistic(0.6 * level + x["own"] * push + x["pull"] * share)

    return by_round(rng.random((n, panel)) < logistic(level), rounds, step)


def factions(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """A share of the seats never moves on a question; the others follow the majority or think again."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))
    stubborn = rng.random((n, panel)) < x["stubborn"]

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        majority = 2 * last.sum(axis=1, keepdims=True) > panel
        u = rng.random((n, panel))
        fresh = rng.random((n, panel)) < easy
        moved = np.where(u < x["follow"], majority, np.where(u < x["follow"] + x["rethink"], fresh, last))
        return np.where(stubborn, last, moved)

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def insight(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """In some round, if ever, somebody finds the decisive argument; from then on seats convert one by one."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))
    arrives = rng.geometric(x["arrives"], (n, 1))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        majority = 2 * last.sum(axis=1, keepdims=True) > panel
        u = rng.random((n, panel))
        moved = np.where(u < x["follow"], majority, last)
        moved = np.where(u > 1 - x["rethink"], rng.random((n, panel)) < easy, moved)
        return moved | ((t >= arrives) & (rng.random((n, panel)) < x["converts"]))

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def voters(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """The voter model: a seat votes for an answer with the share that it had in the last round."""
    first = rng.beta(x["accuracy"] * x["precision"], (1 - x["accuracy"]) * x["precision"], (n, 1))
    return by_round(
        rng.random((n, panel)) < first,
        rounds,
        lambda last, t: rng.random((n, panel)) < last.mean(axis=1, keepdims=True),
    )


def conformers(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Two kinds of questions, a common shock in every round, own votes and the share of others: the chain's own law."""
    hard = rng.random((n, 1)) < x["hard"]
    level = x["level"] - x["gap"] * hard + rng.normal(0, x["spread"], (n, 1))

    def shock() -> Floats:
        return rng.normal(0, x["shock"], (n, 1))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        push, share = 2.0 * last - 1.0, 2.0 * last.mean(axis=1, keepdims=True) - 1.0
        return rng.random((n, panel)) < logistic(0.5 * level + x["own"] * push + x["pull"] * share + shock())

    return by_round(rng.random((n, panel)) < logistic(level + shock()), rounds, step)


def improving(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Everybody gets better with every round."""
    level = rng.normal(x["level"], x["spread"], (n, 1))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        push, share = 2.0 * last - 1.0, 2.0 * last.mean(axis=1, keepdims=True) - 1.0
        return rng.random((n, panel)) < logistic(level + x["learn"] * t + x["own"] * push + x["pull"] * share)

    return by_round(rng.random((n, panel)) < logistic(level), rounds, step)


def expert(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """On a share of the questions one seat checks the facts in some round; others then believe it by chance."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))
    when = 1 + rng.integers(0, rounds, (n, 1))
    able = rng.random((n, 1)) < x["able"]

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        u = rng.random((n, panel))
        fresh = rng.random((n, panel)) < easy
        majority = 2 * last.sum(axis=1, keepdims=True) > panel
        now = np.where(u < x["follow"], majority, np.where(u < x["follow"] + x["rethink"], fresh, last))
        told = able & (t >= when)
        now = now | (told & (rng.random((n, panel)) < x["trust"]))
        now[:, 0] = np.where(told[:, 0], True, now[:, 0])
        return now

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def urn(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Three answers: a vote is drawn from the votes of all rounds so far and the question's own shares."""
    level = rng.normal(x["level"], x["spread"], (n, 1))
    weight = np.exp(np.concatenate([level, rng.normal(0, x["spread"], (n, 2))], axis=1))
    heap = x["own"] * weight / weight.sum(axis=1, keepdims=True)
    found = []
    for _ in range(rounds):
        edges = np.cumsum(heap / heap.sum(axis=1, keepdims=True), axis=1)
        said = (rng.random((n, panel, 1)) > edges[:, None, :2]).sum(axis=2)
        found.append(said)
        heap = heap + np.stack([(said == a).sum(axis=1) for a in range(3)], axis=1)
    return np.stack(found, axis=1).astype(np.int32)


def corruption(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Long debates lose the thread: in each round a seat may be confused for good, and then votes by a coin."""
    easy = logistic(rng.normal(x["level"], x["spread"], (n, 1)))
    lost = np.zeros((n, panel), dtype=bool)

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        nonlocal lost
        lost = lost | (rng.random((n, panel)) < x["confused"])
        majority = 2 * last.sum(axis=1, keepdims=True) > panel
        u = rng.random((n, panel))
        fresh = rng.random((n, panel)) < easy
        now = np.where(u < x["follow"], majority, np.where(u < x["follow"] + x["rethink"], fresh, last))
        return np.where(lost, rng.random((n, panel)) < 0.5, now)

    return by_round(rng.random((n, panel)) < easy, rounds, step)


def persuaders(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Seats have weights, some large; each has its own leaning, and the weighted share of the last round attracts."""
    weight = np.exp(rng.normal(0, x["tail"], (n, panel)))
    weight /= weight.sum(axis=1, keepdims=True)
    own = rng.normal(x["level"], x["spread"], (n, 1)) + rng.normal(0, x["apart"], (n, panel))

    def step(last: NDArray[np.bool_], t: int) -> NDArray[np.bool_]:
        share = 2 * (weight * last).sum(axis=1, keepdims=True) - 1
        return rng.random((n, panel)) < logistic(own + x["pull"] * share)

    return by_round(rng.random((n, panel)) < logistic(own), rounds, step)


def herd(x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator) -> Votes:
    """Four answers: a seat copies a seat or thinks again, and one wrong answer gains appeal with the rounds."""
    level = rng.normal(0, x["spread"], (n, 4))
    level[:, 0] += x["level"]

    def fresh(t: int) -> NDArray[np.int64]:
        appeal = level.copy()
        appeal[:, 1] += x["tempts"] * t
        return np.asarray((appeal[:, None, :] + rng.gumbel(size=(n, panel, 4))).argmax(axis=2))

    last = fresh(0)
    found = [last]
    for t in range(1, rounds):
        copied = np.take_along_axis(last, rng.integers(0, panel, (n, panel)), axis=1)
        last = np.where(rng.random((n, panel)) < x["copies"], copied, fresh(t))
        found.append(last)
    return np.stack(found, axis=1).astype(np.int32)


FAMILIES: dict[str, Family] = {
    "conformers": Family(
        uniform(
            hard=(0.2, 0.6),
            level=(0.5, 2),
            gap=(0.5, 2.5),
            spread=(0.3, 1),
            shock=(0.1, 0.7),
            own=(0.3, 1.5),
            pull=(0.3, 2),
        ),
        conformers,
    ),
    "voters": Family(uniform(accuracy=(0.55, 0.85), precision=(1.5, 8)), voters),
    "biases of four answers": Family(
        uniform(taste=(0.5, 1.5), shared=(0.5, 1.5), level=(0.3, 1.8), pull=(0, 3)), biases, answers=4
    ),
    "influencer": Family(
        uniform(level=(0, 1.5), spread=(0.3, 1.5), follow=(0.1, 0.5), rethink=(0.05, 0.4), wavers=(0, 0.3)),
        influencer,
    ),
    "adversarial": Family(
        uniform(
            traps=(0.1, 0.4),
            level=(0.3, 1.5),
            spread=(0.3, 1),
            dent=(0, 1),
            gain=(0.05, 0.5),
            own=(0.3, 1.5),
            pull=(0.3, 2),
        ),
        adversarial,
    ),
    "cyclic": Family(
        uniform(level=(-0.5, 1), spread=(0.3, 1.2), moves=(0.1, 0.6), firm=(0.2, 0.8), returns=(0, 0.3)),
        cyclic,
        answers=3,
    ),
    "mixture": Family(
        uniform(weight=(0.5, 0.8), jumps=(0.02, 0.6), good=(0.7, 0.95), bad=(0.2, 0.5)), mixture
    ),
    "topics": Family(
        uniform(level=(0, 1.2), easier=(0.3, 1.2), drift=(0, 0.8), own=(0.3, 1.5), pull=(0.3, 1.5)), topics
    ),
    "topics, shifted": Family(
        uniform(level=(0, 1.2), easier=(0.3, 1.2), drift=(0, 0.8), own=(0.3, 1.5), pull=(0.3, 1.5)),
        topics,
        shift=True,
    ),
    "bounded confidence": Family(
        uniform(
            level=(0, 0.2),
            spread=(0.05, 0.2),
            apart=(0.1, 0.3),
            near=(0.15, 0.5),
            speed=(0.2, 0.8),
            slips=(0, 0.1),
            noise=(0, 0.06),
        ),
        bounded,
    ),
    "cascade": Family(
        uniform(level=(0, 1.2), spread=(0.3, 1.2), follow=(0.3, 0.95), keeps=(0.2, 0.9)), cascade
    ),
    "copying": Family(uniform(level=(0, 1.5), spread=(0.3, 1.5), copies=(0.3, 0.95)), copying),
    "threshold": Family(
        uniform(level=(0, 1.5), spread=(0.3, 1.2), least=(0.2, 0.8), slips=(0.01, 0.2)), threshold
    ),
    "truth wins": Family(
        uniform(level=(-1, 1), spread=(0.3, 1.2), shown=(0.1, 0.7), misled=(0, 0.2)), truth_wins
    ),
    "tired": Family(
        uniform(level=(0, 1.5), spread=(0.3, 1.2), awake=(0.3, 0.9), fades=(0.4, 0.9), social=(0.2, 0.9)),
        tired,
    ),
    "alternating": Family(
        uniform(level=(0.2, 1.5), spread=(0.3, 1), doubt=(-0.2, 1), own=(0.3, 1.5), pull=(0.3, 2)),
        alternating,
    ),
    "factions": Family(
        uniform(
            level=(0, 1.5), spread=(0.3, 1.2), stubborn=(0.05, 0.35), follow=(0.1, 0.6), rethink=(0.05, 0.3)
        ),
        factions,
    ),
    "insight": Family(
        uniform(
            level=(-0.5, 1),
            spread=(0.3, 1.2),
            arrives=(0.05, 0.4),
            converts=(0.2, 0.8),
            follow=(0.05, 0.4),
            rethink=(0.05, 0.2),
        ),
        insight,
    ),
    "improving": Family(
        uniform(level=(-0.5, 1), spread=(0.3, 1.2), learn=(0.05, 0.4), own=(0.3, 1.5), pull=(0.3, 1.5)),
        improving,
    ),
    "expert": Family(
        uniform(
            level=(-0.3, 1),
            spread=(0.3, 1.2),
            able=(0.2, 0.8),
            follow=(0.1, 0.5),
            rethink=(0.05, 0.2),
            trust=(0.2, 0.8),
        ),
        expert,
    ),
    "urn of three answers": Family(uniform(level=(0.2, 1.2), spread=(0.3, 1.2), own=(2, 20)), urn, answers=3),
    "corruption": Family(
        uniform(
            level=(0, 1.5), spread=(0.3, 1.2), confused=(0.01, 0.12), follow=(0.1, 0.5), rethink=(0.05, 0.3)
        ),
        corruption,
    ),
    "persuaders": Family(
        uniform(tail=(0.3, 1.5), level=(0, 1.2), spread=(0.3, 1.2), apart=(0.3, 1.5), pull=(1, 4)), persuaders
    ),
    "herd of four answers": Family(
        uniform(level=(0.3, 1.5), spread=(0.3, 1.2), copies=(0.3, 0.9), tempts=(0, 0.25)), herd, answers=4
    ),
}


def debates(
    family: Family, x: Drawn, panel: int, rounds: int, n: int, rng: np.random.Generator
) -> Trajectories:
    """Play debates and count their tokens: every prompt holds all earlier rounds, and debates differ in length."""
    said = family.play(x, panel, rounds, n, rng)
    label = rng.integers(0, family.answers, n).astype(np.int32)
    votes = ((said + label[:, None, None]) % family.answers).astype(np.int32)
    length = np.exp(rng.normal(0, 0.2, (n, 1)))
    per_round = panel * (250 + 60 * panel * np.arange(rounds))
    tokens = np.rint(per_round * length)
    return Trajectories(
        votes=votes,
        answers=tuple("ABCD"[: family.answers]),
        label=label,
        cluster=np.arange(n),
        cluster_names=tuple(map(str, range(n))),
        debates=tuple(map(str, range(n))),
        depth=np.full(n, rounds),
        panel=np.full(n, panel),
        seats=tuple(f"s{i}" for i in range(panel)),
        tokens=tokens,
    )
