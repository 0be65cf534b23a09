"""Cells of the calibration table: families of data sets, each with its known truth.

A cell is a family and a setting. :func:`draw` makes a data set of it: arrays by name, and the true value of each
quantity in ``truth``. Questions have given sizes, what happens within one is correlated by `icc`, and every marginal
probability is exact, whatever the correlation. Where no formula gives the truth it is computed from a sample of
400,000 by plain formulas that share no code with the package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betaincinv, expit, logsumexp, ndtr, ndtri
from scipy.stats import multivariate_normal

__all__ = ["CELLS", "FAMILIES", "Cell", "Data", "draw", "random_cell"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Data = SimpleNamespace
Setting = Mapping[str, Any]

POPULATION = 400_000
WIDE = [1, 2, 4, 8, 200] * 5
PAIRED_UP = [50, 50, *[2] * 18]
DOUBLING = [2**k for k in range(12)]


@dataclass(frozen=True)
class Cell:
    """A family, its setting, and the name of the cell in the table."""

    family: str
    name: str
    setting: Setting = field(hash=False)


def codes(sizes: Sequence[int]) -> Ints:
    """Return the question of each row."""
    return np.repeat(np.arange(len(sizes)), sizes)


def uniforms(question: Ints, icc: float, rng: np.random.Generator, columns: int = 1) -> Floats:
    """Return uniform numbers (rows, columns); those of one question and column are alike by a normal of `icc`."""
    own = rng.standard_normal((len(question), columns))
    if icc == 0:
        return np.asarray(ndtr(own))
    common = rng.standard_normal((int(question.max()) + 1, columns))[question]
    return np.asarray(ndtr(np.sqrt(icc) * common + np.sqrt(1 - icc) * own))


# One share


def draw_share(s: Setting, rng: np.random.Generator) -> Data:
    """Draw trials in questions; the chance of a question is Beta with the share as mean and exactly this ICC."""
    question, p, icc = codes(s["sizes"]), s["p"], s["icc"]
    chance = np.full(len(s["sizes"]), p)
    if icc > 0:
        precision = 1 / icc - 1
        chance = betaincinv(p * precision, (1 - p) * precision, rng.random(len(chance)))
    right = (rng.random(len(question)) < chance[question]).astype(np.int64)
    kept = rng.random(len(question)) >= s.get("missing", 0.0)
    kept[0] = True
    return Data(right=right[kept], question=question[kept], truth={"share": p}, null={})


# Means


def draw_mean(s: Setting, rng: np.random.Generator) -> Data:
    """Draw values in questions and strata; questions are dealt to the strata in turn."""
    question = codes(s["sizes"])
    u = uniforms(question, s["icc"], rng)[:, 0]
    z = ndtri(np.clip(u, 1e-12, 1 - 1e-12))
    noise = {"normal": z, "lognormal": np.exp(z) - np.exp(0.5), "exponential": -np.log1p(-u) - 1.0}[s["law"]]
    n_strata = s.get("strata", 4)
    effect = rng.normal(0.0, s["between"], n_strata) if s.get("between") else np.zeros(n_strata)
    stratum = (np.arange(len(s["sizes"])) % n_strata)[question]
    own = np.bincount(stratum, minlength=n_strata) / len(stratum)
    truth = {"mean": 0.3, "between": s.get("between", 0.0), "overall": 0.3 + float(own @ effect)}
    return Data(
        value=0.3 + effect[stratum] + noise * s.get("sd", 1.0),
        question=question,
        stratum=stratum,
        effect=0.3 + effect,
        truth=truth,
        null={"mean": 0.0},
        equal=not s.get("between"),
    )


# Two runs on the same items


def draw_paired(s: Setting, rng: np.random.Generator) -> Data:
    """Draw two runs on the same items, right or wrong or scores; their latent normals correlate by `alike`, or .5."""
    question, alike = codes(s["sizes"]), s.get("alike", 0.5)
    ua, ub = (uniforms(question, s["icc"], rng, 1)[:, 0] for _ in range(2))
    za, zb = (ndtri(np.clip(u, 1e-12, 1 - 1e-12)) for u in (ua, ub))
    zb = alike * za + np.sqrt(1 - alike**2) * zb
    if s.get("scores"):
        bent = np.exp if s["scores"] == "lognormal" else np.asarray
        a, b = bent(za), bent(zb) + s["b"] - s["a"]
    else:
        a, b = ((ndtr(z) < p).astype(float) for z, p in ((za, s["a"]), (zb, s["b"])))
    kept = rng.random(len(question)) >= s.get("missing", 0.0)
    kept[:2] = True
    truth = {"difference": s["b"] - s["a"], "a": s["a"], "b": s["b"]}
    return Data(
        a=a[kept],
        b=b[kept],
        question=question[kept],
        stratum=(question % 3)[kept],
        binary=not s.get("scores"),
        alone=max(s["sizes"]) == 1,
        icc=s["icc"],
        scores=s.get("scores"),
        truth=truth,
    )


# Verdicts of a judge on two sides


def draw_sides(s: Setting, rng: np.random.Generator) -> Data:
    """Draw what the audits of bias read: `share_a` of the items have the first side as the right one, exactly.

    `u` has four columns of uniform numbers per item, each correlated within a question and independent of the others.
    """
    question = codes(s["sizes"])
    n = len(question)
    right_a = rng.permutation(n) < round(s["share_a"] * n)
    u = uniforms(question, s["icc"], rng, 4)
    kept = rng.random((n, 4)) >= s.get("missing", 0.0)
    tie = rng.random((n, 2)) < s.get("ties", 0.0)
    spread = rng.standard_normal(n)
    return Data(
        question=question,
        right_a=right_a,
        u=u,
        kept=kept,
        tie=tie,
        spread=spread,
        effect=s["effect"],
        error=s["error"],
        share_a=float(right_a.mean()),
        tied=s.get("ties", 0.0),
        truth={},
    )


# Ratings


def ratings_law(s: Setting) -> tuple[Floats, Floats]:
    """Return the chances of each true category and of each rating of it."""
    share = np.asarray(s["shares"], dtype=float)
    share = share / share.sum()
    kinds = len(share)
    return share, s["reliability"] * np.eye(kinds) + (1 - s["reliability"]) * share


@cache
def _ratings_truth(key: str) -> dict[str, float]:
    s = json.loads(key)
    share, law = ratings_law(s)
    both = np.einsum("c,ca,cb->ab", share, law, law)
    marginal = both.sum(axis=0)
    kinds = len(share)
    found = {"percent": float(np.trace(both))}
    step = np.arange(kinds)
    square = 1 - (step[:, None] - step) ** 2 / max(kinds - 1, 1) ** 2
    for name, weight in (("", np.eye(kinds)), (" quadratic", square)):
        agreed = float((weight * both).sum())
        chance = float((weight * np.outer(marginal, marginal)).sum())
        found["kappa" + name] = (agreed - chance) / (1 - chance)
    chance = float((marginal * (1 - marginal)).sum()) / (kinds - 1)
    found["ac1"] = (found["percent"] - chance) / (1 - chance)
    return found


def draw_ratings(s: Setting, rng: np.random.Generator) -> Data:
    """Draw ratings; a question has one true category with chance `icc` and one per item otherwise."""
    question = codes(s["sizes"])
    share, law = ratings_law(s)
    own = rng.choice(len(share), len(question), p=share)
    common = rng.choice(len(share), len(s["sizes"]), p=share)[question]
    true = np.where(rng.random(len(s["sizes"]))[question] < s["icc"], common, own)
    at = (law.cumsum(axis=1)[true][:, None, :] < rng.random((len(question), s["raters"], 1))).sum(axis=2)
    ratings = np.minimum(at, len(share) - 1).astype(float)
    ratings[rng.random(ratings.shape) < s.get("missing", 0.0)] = np.nan
    return Data(ratings=ratings, question=question, truth=_ratings_truth(json.dumps(dict(s))))


# Juries


def _jury_right(s: Setting, question: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    accuracy = np.asarray(s["accuracies"], dtype=float)
    hard = ndtri(np.clip(uniforms(question, s["icc"], rng)[:, 0], 1e-12, 1 - 1e-12))
    own = rng.standard_normal((len(question), len(accuracy)))
    z = np.sqrt(s["shared"]) * hard[:, None] + np.sqrt(1 - s["shared"]) * own
    return np.asarray(ndtr(z) < accuracy)


def majority(votes: NDArray[np.bool_]) -> Floats:
    """Return the chance that a plurality is right, a tie as one half."""
    right = votes.sum(axis=1)
    return np.where(2 * right == votes.shape[1], 0.5, 2 * right > votes.shape[1]).astype(float)


@cache
def _jury_truth(key: str) -> dict[str, float]:
    s = json.loads(key)
    right = _jury_right(s, np.arange(POPULATION), np.random.default_rng(1))
    phi = np.corrcoef(right.T)
    n = right.shape[1]
    mean_phi = float((phi.sum() - n) / (n * (n - 1)))
    root = np.linalg.eigvalsh(phi)[-1]
    single = right.mean(axis=0)
    return {
        "accuracy": float(majority(right).mean()),
        "single": float(right.mean()),
        "gain": float(majority(right).mean() - right.mean()),
        "phi": mean_phi,
        "kish": n / (1 + (n - 1) * mean_phi),
        "eigenvalue": n / float(root),
        "first": float(s["accuracies"][0]),
        "best": float(single.max()),
        "over best": float(majority(right).mean() - single.max()),
        "subset": float(
            np.mean([majority(right[:, list(k)]).mean() for k in combinations(range(n), 3)] or [0.0])
        ),
        # the drift of the shared part alone: a juror's chance to be right, given how hard the item is
        "limit": _limit(s),
    }


def _limit(s: Setting) -> float:
    # A panel of very many jurors like these decides as the mean chance over jurors.
    hard = np.random.default_rng(2).standard_normal(POPULATION)
    z = np.sqrt(s["shared"]) * hard[:, None]
    chance = ndtr((ndtri(np.asarray(s["accuracies"])) - z) / np.sqrt(1 - s["shared"])).mean(axis=1)
    return float((chance > 0.5).mean())


def draw_jury(s: Setting, rng: np.random.Generator) -> Data:
    """Draw which jurors are right; how hard an item is correlates their errors."""
    question = codes(s["sizes"])
    right = _jury_right(s, question, rng)
    seen = rng.random(right.shape) >= s.get("missing", 0.0)
    return Data(right=right, seen=seen, question=question, truth=_jury_truth(json.dumps(dict(s))))


# Two scores per item


def cuts(levels: int, skew: float) -> Floats:
    """Return where a normal is cut into levels: equal chances, or rarer and rarer ones."""
    weight = skew ** np.arange(levels)
    return np.asarray(ndtri((weight / weight.sum()).cumsum()[:-1]))


@cache
def _correlation_truth(rho: float, levels: int, skew: float) -> dict[str, float]:
    if levels == 0:
        return {"spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}
    at = np.concatenate([[-9.0], cuts(levels, skew), [9.0]])
    law = multivariate_normal(cov=[[1, rho], [rho, 1]])
    below = np.array([[law.cdf([x, y]) for y in at] for x in at])
    cell = np.diff(np.diff(below, axis=0), axis=1)
    concordant = sum(
        cell[i, j] * (cell[:i, :j].sum() + cell[i + 1 :, j + 1 :].sum())
        - cell[i, j] * (cell[:i, j + 1 :].sum() + cell[i + 1 :, :j].sum())
        for i in range(levels)
        for j in range(levels)
    )
    own = cell.sum(axis=0)
    rank = own.cumsum() - own / 2
    mean = float(own @ rank)
    covariance = float(rank @ cell @ rank) - mean**2
    return {
        "kendall": float(concordant / (1 - own @ own)),
        "spearman": covariance / (float(own @ rank**2) - mean**2),
    }


def draw_scores(s: Setting, rng: np.random.Generator) -> Data:
    """Draw two scores per item, cut into levels; the part that a question has in common correlates alike."""
    question, rho = codes(s["sizes"]), s["rho"]
    ua, ub = (uniforms(question, s["icc"], rng)[:, 0] for _ in range(2))
    x, y = (ndtri(np.clip(u, 1e-12, 1 - 1e-12)) for u in (ua, ub))
    y = rho * x + np.sqrt(1 - rho**2) * y
    if s["levels"]:
        x, y = (np.searchsorted(cuts(s["levels"], s.get("skew", 1.0)), z).astype(float) for z in (x, y))
    return Data(
        x=x,
        y=y,
        question=question,
        truth=_correlation_truth(rho, s["levels"], s.get("skew", 1.0)),
        null=0.0,
        alone=max(s["sizes"]) == 1,
    )


# Few labels beside many verdicts of a judge


def draw_labelled(s: Setting, rng: np.random.Generator) -> Data:
    """Draw labels of a given prevalence and a judge of given sensitivity and specificity; few labels are known."""
    question = codes(s["sizes"])
    n = len(question)
    right, luck = uniforms(question, s["icc"], rng, 2).T
    label = (right < s["prevalence"]).astype(float)
    says = luck < np.where(label == 1, s["sensitivity"], 1 - s["specificity"])
    other = (rng.random(n) < np.where(label == 1, s["sensitivity"], 1 - s["specificity"])).astype(float)
    # whole questions are labelled, in random order, until there are as many labels as asked for
    order = rng.permutation(len(s["sizes"]))
    first = np.cumsum(np.asarray(s["sizes"])[order]) <= max(s["labels"], max(s["sizes"]))
    known = np.isin(question, order[first])
    return Data(
        judge=says.astype(float),
        judge_b=other,
        label=np.where(known, label, np.nan),
        known=known,
        question=question,
        alone=max(s["sizes"]) == 1,
        truth={
            "mean": s["prevalence"],
            "judge": s["prevalence"] * s["sensitivity"] + (1 - s["prevalence"]) * (1 - s["specificity"]),
            "sensitivity": s["sensitivity"],
            "specificity": s["specificity"],
        },
    )


# Votes with a stated confidence


def _stated(s: Setting, question: Ints, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return confidences, the chances of being right behind them, and which votes are right."""
    stated = rng.beta(5, 2, len(question))
    chance = np.clip(0.7 + s["slope"] * (stated - 0.7) - s["shift"], 0.0, 1.0)
    return stated, chance, uniforms(question, s["icc"], rng)[:, 0] < chance


@cache
def _stated_truth(key: str) -> dict[str, float]:
    s = json.loads(key)
    votes = max(s["sizes"])
    n = POPULATION // votes
    stated, chance, right = _stated(s, np.repeat(np.arange(n), votes), np.random.default_rng(1))
    tenth = np.searchsorted(np.quantile(stated, np.linspace(0.1, 0.9, 9)), stated)
    apart = np.bincount(tenth, stated - chance) / np.bincount(tenth)
    truth = {
        "slope": s["slope"],
        "shift": s["shift"],
        "stated": 5 / 7,
        "accuracy": float(chance.mean()),
        "over": float(5 / 7 - chance.mean()),
        "brier": float((chance * (1 - stated) ** 2 + (1 - chance) * stated**2).mean()),
        "calibrated": float(np.abs(stated - chance).max() < 1e-9),
        "error": float(np.sqrt((np.bincount(tenth) * apart**2).sum() / len(stated))),
    }
    if min(s["sizes"]) == votes:
        weight, votes_right = stated.reshape(n, votes), right.reshape(n, votes)
        verdicts = [
            np.sign((w * np.where(votes_right, 1, -1)).sum(axis=1)) for w in (weight, np.ones_like(weight))
        ]
        truth["weighted"] = float((verdicts[0] - verdicts[1]).mean() / 2)
    return truth


def draw_stated(s: Setting, rng: np.random.Generator) -> Data:
    """Draw votes with a confidence c that are right with chance .7 + slope (c - .7) - shift, one debate a question."""
    question = codes(s["sizes"])
    stated, _, right = _stated(s, question, rng)
    return Data(stated=stated, right=right, question=question, truth=_stated_truth(json.dumps(dict(s))))


# Debates over rounds


def _votes(s: Setting, question: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Votes (debates, rounds, seats): chances of a question first, then each seat may copy a random seat's vote.

    Copying leaves the expected share as it is, so that votes are a martingale; by `drift` a wrong vote turns right.
    """
    precision = s["precision"]
    chance = betaincinv(
        s["accuracy"] * precision, (1 - s["accuracy"]) * precision, rng.random(int(question.max()) + 1)
    )
    seats, rounds = s["seats"], s["rounds"]
    vote = rng.random((len(question), seats)) < chance[question, None]
    found = [vote]
    for _ in range(rounds - 1):
        copied = np.take_along_axis(vote, rng.integers(seats, size=vote.shape), axis=1)
        vote = np.where(rng.random(vote.shape) < s["copying"], copied, vote)
        vote = vote | (rng.random(vote.shape) < s.get("drift", 0.0))
        found.append(vote)
    return np.stack(found, axis=1)


@cache
def _rounds_truth(key: str) -> dict[str, float]:
    s = json.loads(key)
    rng = np.random.default_rng(3)
    votes = _votes(s, np.arange(POPULATION // 2), rng)
    seats, rounds = s["seats"], s["rounds"]
    right = votes.sum(axis=2)
    # Verdicts and unanimity are those of the votes cast; a tie goes to the vote of the lowest seat that voted.
    cast = rng.random(votes.shape) >= s.get("missing", 0.0)
    for_right, n_cast = (votes & cast).sum(axis=2), cast.sum(axis=2)
    first_cast = np.take_along_axis(votes, cast.argmax(axis=2)[:, :, None], axis=2)[:, :, 0]
    verdict = np.where(2 * for_right == n_cast, first_cast & (n_cast > 0), 2 * for_right > n_cast)
    unanimous = ((for_right == 0) | (for_right == n_cast)) & (n_cast >= 2)
    stop = np.where(unanimous.any(axis=1), unanimous.argmax(axis=1), rounds - 1)
    at = np.arange(len(votes))
    stopped, last = verdict[at, stop], verdict[:, -1]
    share = right / seats
    below = [np.bincount(right[:, t], minlength=seats + 1).cumsum() / len(right) for t in range(rounds)]
    distance = [float(np.abs(one - two).max()) for one, two in pairwise(below)]
    losses = {f"loss fixed:{k}": float((verdict[:, min(k, rounds) - 1] != last).mean()) for k in (1, 2, 3)}
    gap = 10 * np.abs(2 * right[:, 0] - seats)
    for threshold in (0, 20, 40, 60):
        chosen = np.where(gap >= threshold, verdict[:, 0], last)
        losses[f"loss below {threshold}"] = float(last.mean() - chosen.mean())
    return losses | {
        "accuracy": float(stopped.mean()),
        "rounds": float(stop.mean() + 1),
        "full": float(last.mean()),
        "first": float(verdict[:, 0].mean()),
        "majority": float((2 * right[:, 0] > seats).mean()),
        "change": float(verdict[:, 0].mean() - last.mean()),
        "change unanimity": float(stopped.mean() - last.mean()),
        "agreement": float((stopped == last).mean()),
        "first agreement": float((verdict[:, 0] == last).mean()),
        "lost": float((~stopped & last).mean()),
        "premature": float((verdict[:, 0] != last).mean()),
        "saved": 1 - float((stop + 1).mean()) / rounds,
        "mean": float(share[:, 0].mean()),
        "spread of chances": float(np.sqrt(s["accuracy"] * (1 - s["accuracy"]) / (s["precision"] + 1))),
        "ks": distance[0],
        "least ks": min(distance),
        "drift": float(np.diff(share, axis=1).mean()),
        "martingale": float(s.get("drift", 0.0) == 0),
    }


def draw_rounds(s: Setting, rng: np.random.Generator) -> Data:
    """Draw debates; those of one question share the chance of a right vote in the first round."""
    question = codes(s["sizes"])
    votes = _votes(s, question, rng)
    missing = rng.random(votes.shape) < s.get("missing", 0.0)
    coded = np.where(missing, -1, np.where(votes, 0, 1))
    return Data(votes=coded, question=question, setting=s, truth=_rounds_truth(json.dumps(dict(s))))


# Counts of votes from one Beta-Binomial, or two


def draw_counts(s: Setting, rng: np.random.Generator) -> Data:
    """Draw right votes of debates from a mixture of Beta-Binomials of given means and correlations."""
    weight, mean, rho = (np.asarray(s[name], dtype=float) for name in ("weights", "means", "rhos"))
    kind = rng.choice(len(weight), s["debates"], p=weight)
    precision = 1 / rho - 1
    chance = rng.beta((mean * precision)[kind], ((1 - mean) * precision)[kind])
    truth = {f"mean_{k + 1}": m for k, m in enumerate(mean)} | {f"rho_{k + 1}": r for k, r in enumerate(rho)}
    truth |= {f"weight_{k + 1}": w for k, w in enumerate(weight[:-1])}
    right = rng.binomial(s["seats"], chance)
    return Data(right=right, seats=s["seats"], kinds=len(weight), truth=truth)


# Judgments of pairs

RATINGS = np.array([0.8, 0.3, -0.2, -0.9])


def _compared(s: Setting, question: Ints, rng: np.random.Generator) -> Data:
    """Draw judgments of pairs of four contestants, whose ratings vary from question to question by `spread`."""
    own = RATINGS + s["spread"] * rng.standard_normal((int(question.max()) + 1, 4))
    first = rng.integers(0, 4, len(question))
    second = (first + rng.integers(1, 4, len(question))) % 4
    lead = own[question, first] - own[question, second] + s["order"]
    weights = np.exp(np.stack([lead / 2, np.full(len(lead), s["tie"]), -lead / 2]))
    below = np.cumsum(weights, axis=0) / weights.sum(axis=0)
    outcome = 1 - (rng.random(len(lead)) > below[:2]).sum(axis=0)
    return Data(first=first, second=second, outcome=outcome, question=question)


@cache
def _pairs_truth(key: str) -> dict[str, Any]:
    """Return what estimates tend to: the optimum over the judgments of a large sample, counted by pair and outcome."""
    s = json.loads(key)
    d = _compared(s, np.repeat(np.arange(POPULATION // 8), 8), np.random.default_rng(5))
    counts = np.bincount((d.first * 4 + d.second) * 3 + d.outcome + 1, minlength=48).reshape(4, 4, 3)

    def lost(x: Floats) -> float:
        rating = np.append(x[:3], -x[:3].sum())
        lead = rating[:, None] - rating[None, :] + x[3]
        logits = np.stack([-lead / 2, np.full_like(lead, x[4]), lead / 2], axis=-1)
        return -float((counts * (logits - logsumexp(logits, axis=-1, keepdims=True))).sum()) / len(d.first)

    best = minimize(lost, np.zeros(5), method="BFGS", options={"gtol": 1e-7}).x
    rating = [*best[:3], -best[:3].sum()]
    return {
        "ratings": rating,
        "first": float(expit(best[3])),
        "ties": float(np.exp(best[4]) / (2 + np.exp(best[4]))),
    }


def draw_pairs(s: Setting, rng: np.random.Generator) -> Data:
    """Draw judgments of pairs, with an order effect and ties, alike within a question."""
    found = _compared(s, codes(s["sizes"]), rng)
    found.truth = _pairs_truth(json.dumps({name: s[name] for name in ("spread", "order", "tie")}))
    found.fits = s["spread"] == 0
    return found


# Rationales


def draw_reasons(s: Setting, rng: np.random.Generator) -> Data:
    """Draw jurors' texts: each cites the debate with a given chance, alike within a question, and votes A or B."""
    question = codes(s["sizes"])
    row = np.repeat(np.arange(len(question)), s["jurors"])
    cites = uniforms(question[row], s["icc"], rng)[:, 0] < s["p"]
    other = uniforms(question[row], s["icc"], rng)[:, 0] < s["q"]
    vote = np.where(rng.random(len(row)) < 0.8, "A", "B")
    return Data(
        debate=row,
        question=question[row],
        juror=np.tile(np.arange(s["jurors"]), len(question)),
        cites=cites,
        other=other,
        vote=vote,
        truth={"cites": s["p"], "difference": s["q"] - s["p"]},
    )


FAMILIES: dict[str, Callable[[Setting, np.random.Generator], Data]] = {
    "share": draw_share,
    "mean": draw_mean,
    "paired": draw_paired,
    "sides": draw_sides,
    "ratings": draw_ratings,
    "jury": draw_jury,
    "scores": draw_scores,
    "labelled": draw_labelled,
    "rounds": draw_rounds,
    "counts": draw_counts,
    "reasons": draw_reasons,
    "stated": draw_stated,
    "pairs": draw_pairs,
}


def draw(cell: Cell, rng: np.random.Generator) -> Data:
    """Draw one data set of a cell."""
    return FAMILIES[cell.family](cell.setting, rng)


DESIGNS: dict[str, list[int]] = {
    "10 x 1": [1] * 10,
    "20 x 1": [1] * 20,
    "30 x 1": [1] * 30,
    "60 x 1": [1] * 60,
    "200 x 1": [1] * 200,
    "10 x 3": [3] * 10,
    "40 x 5": [5] * 40,
    "5 x [1, 2, 4, 8, 200]": WIDE,
    "2 x 50 + 18 x 2": PAIRED_UP,
    "100 + 9 x 1": [100, *[1] * 9],
    "1 x [1, 2, 4, ..., 2048]": DOUBLING,
    "12 x 12": [12] * 12,
    "30 x 12": [12] * 30,
    "20 x 3 + 20 x 24": [*[3] * 20, *[24] * 20],
}


def cell(family: str, design: str, **setting: Any) -> Cell:
    """Return a cell whose name says its design and setting."""
    words = [f"{name} {_written(value)}" for name, value in setting.items() if value not in (0.0, None)]
    named = ", ".join([design, *words])
    given: dict[str, Any] = {"icc": 0.0} | setting
    if design in DESIGNS:
        given["sizes"] = DESIGNS[design]
    return Cell(family, named, given)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return (
            f"{len(value)} x {value[0]:g}"
            if len(value) > 5 and len(set(value)) == 1
            else "/".join(map(str, value))
        )
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _cells() -> list[Cell]:
    out: list[Cell] = []
    for design, p, icc in [
        *(("10 x 1", 0.5, 0.0), ("30 x 1", 0.1, 0.0), ("30 x 1", 0.9, 0.0), ("60 x 1", 0.5, 0.0)),
        *(("200 x 1", 0.01, 0.0), ("200 x 1", 0.99, 0.0), ("200 x 1", 0.5, 0.0)),
        *(("40 x 5", p, icc) for p in (0.01, 0.1, 0.5, 0.9, 0.99) for icc in (0.0, 0.3)),
        *(("10 x 3", 0.5, 0.3), ("10 x 3", 0.9, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", p, icc) for p, icc in ((0.5, 0.1), (0.9, 0.5), (0.1, 0.1), (0.99, 0.1))),
        *(("2 x 50 + 18 x 2", p, icc) for p, icc in ((0.5, 0.3), (0.1, 0.3), (0.9, 0.1))),
        ("100 + 9 x 1", 0.5, 0.1),
    ]:
        out.append(cell("share", design, p=p, icc=icc))
    out.append(cell("share", "40 x 5", p=0.7, icc=0.3, missing=0.3))

    for design, law, icc, between in [
        *(
            ("20 x 1", "normal", 0.0, 0.0),
            ("20 x 1", "lognormal", 0.0, 0.0),
            ("60 x 1", "exponential", 0.0, 0.0),
        ),
        *(
            ("200 x 1", "lognormal", 0.0, 0.0),
            ("40 x 5", "normal", 0.3, 0.0),
            ("40 x 5", "lognormal", 0.3, 0.0),
        ),
        *(("10 x 3", "normal", 0.3, 0.0), ("10 x 3", "lognormal", 0.3, 0.0), ("40 x 5", "normal", 0.3, 0.3)),
        *(("60 x 1", "normal", 0.0, 0.3), ("60 x 1", "normal", 0.0, 1.0), ("200 x 1", "lognormal", 0.0, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", "normal", 0.1, 0.0), ("5 x [1, 2, 4, 8, 200]", "normal", 0.5, 0.0)),
        *(("2 x 50 + 18 x 2", "normal", 0.3, 0.0), ("2 x 50 + 18 x 2", "lognormal", 0.1, 0.0)),
        *(
            ("100 + 9 x 1", "normal", 0.1, 0.0),
            ("60 x 1", "normal", 0.0, 0.0),
            ("200 x 1", "normal", 0.0, 0.0),
        ),
    ]:
        out.append(cell("mean", design, law=law, icc=icc, between=between))

    for design, a, b, icc in [
        *(("20 x 1", 0.5, 0.5, 0.0), ("30 x 1", 0.9, 0.9, 0.0), ("60 x 1", 0.6, 0.7, 0.0)),
        *(("60 x 1", 0.95, 0.95, 0.0), ("200 x 1", 0.5, 0.5, 0.0), ("200 x 1", 0.99, 0.99, 0.0)),
        *(("200 x 1", 0.9, 0.95, 0.0), ("200 x 1", 0.02, 0.01, 0.0)),
        *(("40 x 5", 0.5, 0.5, 0.3), ("40 x 5", 0.9, 0.9, 0.3), ("40 x 5", 0.7, 0.8, 0.3)),
        *(("40 x 5", 0.99, 0.99, 0.3), ("10 x 3", 0.5, 0.5, 0.3), ("10 x 3", 0.9, 0.9, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", 0.5, 0.5, 0.1), ("5 x [1, 2, 4, 8, 200]", 0.9, 0.9, 0.5)),
        *(
            ("2 x 50 + 18 x 2", 0.5, 0.5, 0.3),
            ("2 x 50 + 18 x 2", 0.1, 0.1, 0.1),
            ("100 + 9 x 1", 0.5, 0.5, 0.1),
        ),
    ]:
        out.append(cell("paired", design, a=a, b=b, icc=icc))
    out.append(cell("paired", "40 x 5", a=0.7, b=0.7, icc=0.3, missing=0.3))
    # Nearly all changes are gains, and few large questions hold most items.
    out.append(cell("paired", "5 x [1, 2, 4, 8, 200]", a=0.95, b=0.98, icc=0.5, alike=0.97))
    out.append(cell("paired", "1 x [1, 2, 4, ..., 2048]", a=0.9, b=0.95, icc=0.7, alike=0.97))
    for design, law, icc in [
        *(("20 x 1", "normal", 0.0), ("60 x 1", "lognormal", 0.0), ("40 x 5", "normal", 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", "normal", 0.3), ("2 x 50 + 18 x 2", "normal", 0.3)),
    ]:
        out.append(cell("paired", design, a=0.5, b=0.5, icc=icc, scores=law))

    for design, share, effect, error, icc in [
        *(("200 x 1", share, effect, 0.2, 0.0) for share in (0.5, 0.9, 0.1) for effect in (0.0, 0.2)),
        *(("60 x 1", 0.5, 0.0, 0.2, 0.0), ("60 x 1", 0.9, 0.0, 0.2, 0.0), ("200 x 1", 0.9, 0.0, 0.02, 0.0)),
        *(("200 x 1", 0.5, 0.0, 0.02, 0.0), ("30 x 1", 0.5, 0.0, 0.3, 0.0), ("20 x 1", 0.8, 0.0, 0.1, 0.0)),
        *(("40 x 5", share, 0.0, 0.2, 0.3) for share in (0.5, 0.9, 0.1)),
        *(("10 x 3", 0.5, 0.0, 0.2, 0.3), ("40 x 5", 0.5, 0.2, 0.2, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", 0.5, 0.0, 0.2, 0.1), ("2 x 50 + 18 x 2", 0.5, 0.0, 0.2, 0.3)),
        *(("2 x 50 + 18 x 2", 0.9, 0.0, 0.2, 0.1), ("100 + 9 x 1", 0.5, 0.0, 0.2, 0.1)),
    ]:
        out.append(cell("sides", design, share_a=share, effect=effect, error=error, icc=icc))
    out.append(cell("sides", "60 x 1", share_a=0.5, effect=0.2, error=0.2, ties=0.3))
    out.append(cell("sides", "200 x 1", share_a=0.9, effect=0.0, error=0.2, missing=0.3))

    twenty = [1.0] * 20
    for design, shares, raters, reliability, icc in [
        *(("10 x 1", [0.5, 0.5], 3, 0.6, 0.0), ("15 x 1", [0.9, 0.1], 3, 0.6, 0.0)),
        *(("30 x 1", [0.9, 0.1], 3, 0.6, 0.0), ("30 x 1", [0.9, 0.1], 5, 0.8, 0.0)),
        *(("30 x 1", [0.5, 0.5], 3, 0.0, 0.0), ("60 x 1", [0.5, 0.5], 3, 0.6, 0.0)),
        *(("60 x 1", [0.9, 0.1], 3, 0.0, 0.0), ("60 x 1", [0.99, 0.01], 3, 0.6, 0.0)),
        *(("200 x 1", [0.9, 0.1], 3, 0.6, 0.0), ("200 x 1", [0.5, 0.5], 3, 0.95, 0.0)),
        *(("30 x 1", twenty, 3, 0.6, 0.0), ("200 x 1", twenty, 3, 0.6, 0.0)),
        *(("60 x 1", [5.0, 4.0, 3.0, 2.0, 1.0], 3, 0.6, 0.0), ("40 x 5", [0.5, 0.5], 3, 0.6, 0.3)),
        *(("40 x 5", [0.9, 0.1], 3, 0.6, 0.3), ("10 x 3", [0.5, 0.5], 3, 0.6, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", [0.5, 0.5], 3, 0.6, 0.1), ("2 x 50 + 18 x 2", [0.5, 0.5], 3, 0.6, 0.3)),
        *(("2 x 50 + 18 x 2", [0.9, 0.1], 3, 0.6, 0.1), ("100 + 9 x 1", [0.5, 0.5], 3, 0.6, 0.1)),
    ]:
        DESIGNS.setdefault(design, [1] * 15)
        out.append(cell("ratings", design, shares=shares, raters=raters, reliability=reliability, icc=icc))
    out.append(cell("ratings", "60 x 1", shares=[0.7, 0.3], raters=3, reliability=0.6, missing=0.3))

    for design, accuracies, shared, icc in [
        *(("30 x 1", [0.7] * 5, 0.0, 0.0), ("60 x 1", [0.7] * 5, 0.0, 0.0), ("200 x 1", [0.7] * 5, 0.0, 0.0)),
        *(("60 x 1", [0.95, 0.95, 0.95, 0.3, 0.3], 0.0, 0.0), ("60 x 1", [0.97, 0.8, 0.6], 0.0, 0.0)),
        *(("200 x 1", [0.95, 0.95, 0.95, 0.3, 0.3], 0.0, 0.0), ("60 x 1", [0.7] * 5, 0.3, 0.0)),
        *(
            ("200 x 1", [0.7] * 5, 0.3, 0.0),
            ("200 x 1", [0.7] * 5, 0.8, 0.0),
            ("200 x 1", [0.95] * 5, 0.3, 0.0),
        ),
        *(
            ("60 x 1", [0.99] * 5, 0.3, 0.0),
            ("200 x 1", [0.6] * 9, 0.3, 0.0),
            ("60 x 1", [0.7, 0.7], 0.3, 0.0),
        ),
        *(("40 x 5", [0.7] * 5, 0.3, 0.3), ("10 x 3", [0.7] * 5, 0.3, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", [0.7] * 5, 0.3, 0.1), ("2 x 50 + 18 x 2", [0.7] * 5, 0.3, 0.3)),
    ]:
        out.append(cell("jury", design, accuracies=accuracies, shared=shared, icc=icc))
    out.append(cell("jury", "60 x 1", accuracies=[0.7] * 5, shared=0.3, missing=0.2))

    for design, rho, levels, skew, icc in [
        *(("20 x 1", 0.0, 0, 1.0, 0.0), ("20 x 1", 0.8, 0, 1.0, 0.0), ("60 x 1", 0.5, 0, 1.0, 0.0)),
        *(("60 x 1", 0.0, levels, 1.0, 0.0) for levels in (0, 2, 3, 5, 20)),
        *(("60 x 1", 0.0, 2, 0.25, 0.0), ("60 x 1", 0.0, 5, 0.5, 0.0), ("30 x 1", 0.0, 2, 1.0, 0.0)),
        *(("60 x 1", 0.5, 2, 1.0, 0.0), ("60 x 1", 0.8, 5, 1.0, 0.0), ("60 x 1", 0.8, 5, 0.5, 0.0)),
        *(("200 x 1", 0.9, 2, 1.0, 0.0), ("200 x 1", 0.0, 3, 1.0, 0.0), ("200 x 1", 0.5, 5, 0.5, 0.0)),
        *(("40 x 5", 0.0, 5, 1.0, 0.3), ("40 x 5", 0.5, 5, 1.0, 0.3), ("40 x 5", 0.0, 2, 1.0, 0.3)),
        *(("10 x 3", 0.0, 5, 1.0, 0.3), ("10 x 3", 0.5, 0, 1.0, 0.3)),
        *(("5 x [1, 2, 4, 8, 200]", 0.0, 5, 1.0, 0.1), ("2 x 50 + 18 x 2", 0.0, 5, 1.0, 0.3)),
    ]:
        out.append(cell("scores", design, rho=rho, levels=levels, skew=skew, icc=icc))

    DESIGNS["1000 x 1"], DESIGNS["200 x 5"] = [1] * 1000, [5] * 200
    for design, labels, prevalence, sensitivity, specificity, icc in [
        *(("1000 x 1", labels, 0.5, 0.9, 0.9, 0.0) for labels in (20, 50, 200)),
        *(("1000 x 1", labels, 0.5, 0.98, 0.98, 0.0) for labels in (20, 50, 200)),
        *(("1000 x 1", 50, prevalence, 0.9, 0.9, 0.0) for prevalence in (0.1, 0.9, 0.95)),
        *(("1000 x 1", 50, 0.9, 0.98, 0.98, 0.0), ("1000 x 1", 50, 0.5, 1.0, 1.0, 0.0)),
        *(("1000 x 1", 50, 0.8, 1.0, 0.6, 0.0), ("1000 x 1", 50, 0.8, 0.6, 1.0, 0.0)),
        *(("1000 x 1", 200, 0.5, 0.6, 0.6, 0.0), ("1000 x 1", 200, 0.5, 0.8, 0.8, 0.0)),
        *(("200 x 5", 50, 0.5, 0.9, 0.9, 0.3), ("200 x 5", 200, 0.5, 0.9, 0.9, 0.3)),
        *(("200 x 5", 200, 0.9, 0.98, 0.98, 0.3), ("200 x 5", 100, 0.5, 0.98, 0.98, 0.3)),
    ]:
        out.append(
            cell(
                "labelled",
                design,
                labels=labels,
                prevalence=prevalence,
                sensitivity=sensitivity,
                specificity=specificity,
                icc=icc,
            )
        )

    for design, accuracy, precision, copying, drift in [
        *(("30 x 1", 0.7, 4.0, 0.5, 0.0), ("60 x 1", 0.7, 4.0, 0.5, 0.0), ("200 x 1", 0.7, 4.0, 0.5, 0.0)),
        *(
            ("200 x 1", 0.7, 4.0, 0.5, 0.05),
            ("200 x 1", 0.95, 4.0, 0.5, 0.0),
            ("60 x 1", 0.95, 4.0, 0.5, 0.0),
        ),
        *(
            ("200 x 1", 0.7, 100.0, 0.1, 0.0),
            ("200 x 1", 0.7, 1.0, 0.9, 0.0),
            ("60 x 1", 0.99, 4.0, 0.5, 0.0),
        ),
        *(("20 x 1", 0.5, 4.0, 0.5, 0.0), ("10 x 1", 0.7, 4.0, 0.5, 0.0), ("60 x 1", 0.7, 4.0, 0.0, 0.05)),
        *(("40 x 5", 0.7, 4.0, 0.5, 0.0), ("40 x 5", 0.9, 1.0, 0.5, 0.0), ("10 x 3", 0.7, 4.0, 0.5, 0.0)),
        *(("5 x [1, 2, 4, 8, 200]", 0.7, 4.0, 0.5, 0.0), ("2 x 50 + 18 x 2", 0.7, 4.0, 0.5, 0.0)),
        ("100 + 9 x 1", 0.7, 4.0, 0.5, 0.0),
    ]:
        out.append(
            cell(
                "rounds",
                design,
                accuracy=accuracy,
                precision=precision,
                copying=copying,
                drift=drift,
                seats=5,
                rounds=4,
            )
        )
    out.append(
        cell("rounds", "60 x 1", accuracy=0.7, precision=4.0, copying=0.5, seats=5, rounds=4, missing=0.1)
    )

    for debates, seats, weights, means, rhos in [
        *((debates, 7, [1.0], [0.7], [0.2]) for debates in (20, 50, 200)),
        *((100, 7, [1.0], [mean], [0.2]) for mean in (0.5, 0.9, 0.97)),
        *((100, 7, [1.0], [0.7], [rho]) for rho in (0.02, 0.6)),
        *((100, 3, [1.0], [0.7], [0.2]), (100, 15, [1.0], [0.7], [0.2])),
        *((debates, 7, [0.4, 0.6], [0.3, 0.9], [0.05, 0.05]) for debates in (100, 400)),
        *((400, 7, [0.1, 0.9], [0.3, 0.9], [0.05, 0.05]), (400, 7, [0.5, 0.5], [0.6, 0.8], [0.1, 0.1])),
        *((100, 7, [0.2, 0.8], [0.1, 0.8], [0.1, 0.2]), (400, 15, [0.4, 0.6], [0.3, 0.9], [0.05, 0.05])),
    ]:
        out.append(
            cell(
                "counts",
                f"{debates} debates",
                debates=debates,
                seats=seats,
                weights=weights,
                means=means,
                rhos=rhos,
            )
        )

    for design, p, q, jurors, icc in [
        *(("30 x 1", 0.5, 0.5, 3, 0.0), ("30 x 1", 0.1, 0.1, 3, 0.0), ("30 x 1", 0.9, 0.9, 3, 0.0)),
        *(("60 x 1", 0.5, 0.5, 1, 0.0), ("60 x 1", 0.3, 0.5, 3, 0.3), ("60 x 1", 0.99, 0.99, 3, 0.0)),
        *(("60 x 1", 0.01, 0.01, 3, 0.0), ("10 x 1", 0.5, 0.5, 3, 0.3), ("20 x 1", 0.5, 0.5, 5, 0.5)),
        *(("40 x 5", 0.5, 0.5, 3, 0.3), ("40 x 5", 0.9, 0.9, 3, 0.3), ("10 x 3", 0.5, 0.5, 3, 0.3)),
        *(("10 x 3", 0.9, 0.9, 3, 0.3), ("2 x 50 + 18 x 2", 0.5, 0.5, 3, 0.3)),
        *(("2 x 50 + 18 x 2", 0.9, 0.9, 3, 0.1), ("100 + 9 x 1", 0.5, 0.5, 3, 0.1)),
    ]:
        out.append(cell("reasons", design, p=p, q=q, jurors=jurors, icc=icc))

    for design, slope, shift, icc in [
        *(("40 x 5", 1.0, 0.0, 0.0), ("40 x 5", 1.0, 0.1, 0.0), ("40 x 5", 0.4, 0.1, 0.0)),
        *(("40 x 5", 1.0, 0.0, 0.3), ("40 x 5", 1.0, 0.1, 0.3), ("40 x 5", 0.4, 0.1, 0.3)),
        *(("200 x 5", 1.0, 0.0, 0.3), ("200 x 5", 1.0, 0.05, 0.3), ("200 x 5", 0.4, 0.1, 0.3)),
        *(("10 x 3", 1.0, 0.0, 0.3), ("10 x 3", 1.0, 0.1, 0.3), ("10 x 3", 0.4, 0.1, 0.3)),
        *(("60 x 1", 1.0, 0.0, 0.0), ("60 x 1", 1.0, 0.1, 0.0), ("200 x 1", 0.4, 0.1, 0.0)),
        *(("20 x 1", 1.0, 0.0, 0.0), ("40 x 5", 1.0, -0.15, 0.3), ("2 x 50 + 18 x 2", 1.0, 0.1, 0.3)),
    ]:
        out.append(cell("stated", design, slope=slope, shift=shift, icc=icc))
    for design, spread, order, tie in [
        *(("60 x 1", 0.0, 0.4, -0.5), ("200 x 1", 0.0, 0.4, -0.5), ("200 x 1", 0.7, 0.4, -0.5)),
        *(("200 x 1", 0.0, 1.5, -0.5), ("200 x 1", 0.0, 0.4, 1.0), ("200 x 1", 0.0, 0.0, -3.0)),
        *(("40 x 5", 0.0, 0.4, -0.5), ("40 x 5", 0.7, 0.4, -0.5), ("40 x 5", 1.5, 0.4, -0.5)),
        *(("40 x 5", 0.7, 1.5, -0.5), ("40 x 5", 0.7, 0.4, 1.0), ("12 x 12", 0.7, 0.4, -0.5)),
        *(("12 x 12", 0.7, 1.5, 1.0), ("30 x 12", 0.7, 0.4, -0.5), ("30 x 12", 1.5, 0.4, -0.5)),
        *(("5 x [1, 2, 4, 8, 200]", 0.7, 0.4, -0.5), ("2 x 50 + 18 x 2", 0.7, 0.4, -0.5)),
        ("20 x 3 + 20 x 24", 0.7, 0.4, -0.5),
    ]:
        out.append(cell("pairs", design, spread=spread, order=order, tie=tie))
    return out


CELLS: tuple[Cell, ...] = tuple(_cells())


# Cells that nobody chose


def _random_sizes(rng: np.random.Generator) -> list[int]:
    kind = rng.integers(5)
    n = int(rng.integers(10, 121))
    if kind == 0:
        return [1] * n
    if kind == 1:
        return [int(rng.integers(2, 8))] * n
    if kind == 2:
        return rng.integers(1, 13, n).tolist()
    if kind == 3:
        return (1 + rng.geometric(0.5, n) ** 3).tolist()
    return [int(rng.integers(20, 120)), *([int(rng.integers(1, 4))] * (n - 1))]


def random_cell(family: str, number: int, seed: int) -> Cell:
    """Return a cell of a family with a random setting; seed and number make it."""
    rng = np.random.default_rng([seed, number, sorted(FAMILIES).index(family)])
    sizes = _random_sizes(rng)
    icc = 0.0 if max(sizes) == 1 else float(rng.choice([0.0, 0.1, 0.3, 0.6]))
    share = round(float(expit(rng.normal(0, 2))), 3)
    share = min(max(share, 0.01), 0.99)
    s: dict[str, Any] = {"sizes": sizes, "icc": icc}
    if family == "share":
        s |= {"p": share, "missing": float(rng.choice([0.0, 0.2]))}
    elif family == "mean":
        s |= {
            "law": str(rng.choice(["normal", "lognormal", "exponential"])),
            "between": float(rng.choice([0.0, 0.3])),
        }
    elif family == "paired":
        other = share if rng.random() < 0.5 else min(max(round(share + rng.normal(0, 0.1), 3), 0.01), 0.99)
        s |= {"a": share, "b": other}
        if rng.random() < 0.3:
            s |= {"scores": str(rng.choice(["normal", "lognormal"]))}
    elif family == "sides":
        s |= {
            "share_a": round(float(rng.uniform(0.05, 0.95)), 2),
            "effect": float(rng.choice([0.0, 0.2])),
            "error": float(rng.choice([0.02, 0.1, 0.3])),
        }
    elif family == "ratings":
        kinds = int(rng.choice([2, 3, 5, 20]))
        s |= {
            "shares": rng.dirichlet(np.ones(kinds)).round(3).clip(0.01).tolist(),
            "raters": int(rng.integers(2, 6)),
            "reliability": round(float(rng.uniform(0, 0.95)), 2),
        }
    elif family == "jury":
        s |= {
            "accuracies": rng.uniform(0.4, 0.97, int(rng.integers(2, 8))).round(2).tolist(),
            "shared": round(float(rng.uniform(0, 0.8)), 2),
        }
    elif family == "scores":
        s |= {
            "rho": float(rng.choice([0.0, 0.0, 0.5, 0.8])),
            "levels": int(rng.choice([0, 2, 3, 5, 10])),
            "skew": float(rng.choice([1.0, 0.5])),
        }
    elif family == "labelled":
        s |= {
            "sizes": [1] * 600 if rng.random() < 0.5 else [5] * 120,
            "labels": int(rng.choice([20, 50, 100, 200])),
            "prevalence": round(float(rng.uniform(0.05, 0.95)), 2),
            "sensitivity": round(float(rng.uniform(0.6, 1.0)), 2),
            "specificity": round(float(rng.uniform(0.6, 1.0)), 2),
        }
        s["icc"] = 0.0 if max(s["sizes"]) == 1 else icc
    elif family == "rounds":
        s |= {
            "accuracy": round(float(rng.uniform(0.5, 0.97)), 2),
            "precision": float(rng.choice([1.0, 4.0, 20.0])),
            "copying": round(float(rng.uniform(0, 0.9)), 2),
            "drift": float(rng.choice([0.0, 0.05])),
            "seats": int(rng.choice([3, 5, 7])),
            "rounds": int(rng.integers(2, 6)),
        }
    elif family == "pairs":
        s |= {
            "spread": float(rng.choice([0.0, 0.5, 1.0])),
            "order": float(rng.choice([0.0, 0.5, 1.5])),
            "tie": float(rng.choice([-2.0, -0.5, 1.0])),
        }
    elif family == "counts":
        s = {
            "debates": int(rng.choice([30, 100, 300])),
            "seats": int(rng.choice([3, 7, 15])),
            "weights": [1.0],
            "means": [share],
            "rhos": [round(float(rng.uniform(0.02, 0.6)), 2)],
        }
    elif family == "stated":
        s |= {"slope": float(rng.choice([0.3, 1.0, 1.5])), "shift": float(rng.choice([0.0, 0.0, 0.1, 0.2]))}
    else:
        s |= {"p": share, "q": share, "jurors": int(rng.integers(1, 6))}
    return Cell(family, f"random {seed}/{number}", s)
