"""The tables that both sides of a row read: bundled logs, seeded numbers, and public crowd data."""

from __future__ import annotations

import runpy
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import d3stats
from d3stats.inference import as_run

HERE = Path(__file__).resolve().parent
PANELS = HERE.parent / "panel_without_gold"

__all__ = ["MADE", "table"]


def slm7() -> pd.DataFrame:
    """Return the first and the last vote of the bundled log, right or wrong, with its question."""
    log = d3stats.datasets.load_slm7()
    both = []
    for name, number in (("first", 1), ("last", 3)):
        run = as_run(log, name=name, by="debate", round_number=number)
        both.append(pd.DataFrame({"item": run.items, "cluster": run.cluster, name: run.value}))
    made = both[0].merge(both[1], on=["item", "cluster"]).dropna()
    return made.astype({"first": int, "last": int})


def runs() -> pd.DataFrame:
    """Return two runs on 60 independent items."""
    rng = np.random.default_rng(7)
    first = rng.integers(0, 2, 60)
    return pd.DataFrame({"first": first, "last": np.where(rng.random(60) < 0.7, first, 1 - first)})


def clustered() -> pd.DataFrame:
    """Return two runs of scores on 200 items of 40 questions of equal size."""
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(40), 5)
    ease = rng.normal(0, 1, 40)[cluster]
    made = {"cluster": cluster}
    for name, shift in (("first", 0.0), ("last", 0.4)):
        made[name] = (ease + shift + rng.normal(0, 1, 200) > -0.5).astype(int)
    return pd.DataFrame(made)


def stated() -> pd.DataFrame:
    """Return the 400 votes of the page on stated confidence: `right` is 0 or 1."""
    rng = np.random.default_rng(1)
    chance = rng.beta(3, 2, size=(80, 5))
    votes = pd.DataFrame({"item": np.repeat(range(80), 5), "judge": list("abcde") * 80})
    votes["label"] = np.where(votes["item"] < 40, "A", "B")
    other = np.where(votes["label"] == "A", "B", "A")
    votes["vote"] = np.where(rng.random(400) < chance.ravel(), votes["label"], other)
    votes["confidence"] = (0.5 + 0.5 * chance.ravel()).round(2)
    votes["right"] = (votes["vote"] == votes["label"]).astype(int)
    return votes


def judgments(n: int = 20_000, ties: float = 0.0) -> pd.DataFrame:
    """Return judgments of pairs of ten contestants; a share of them becomes ties."""
    rng = np.random.default_rng(1)
    first = rng.integers(0, 10, n)
    second = (first + rng.integers(1, 10, n)) % 10
    strength = np.linspace(1, -1, 10)
    lead = strength[first] - strength[second] + rng.logistic(size=n)
    winner = np.where(lead > 0, "first", "second")
    if ties:
        winner[np.abs(lead) < ties] = "tie"
    names = np.array(list("abcdefghij"))
    return pd.DataFrame(
        {"item": np.arange(n) // 20, "first": names[first], "second": names[second], "winner": winner}
    )


def observers() -> pd.DataFrame:
    """Return the 12 units of Krippendorff (2011), which four observers rated in part."""
    rows = ("123321412000", "123322412503", "033323422510", "123324412510")
    made = {f"observer{i}": [int(x) or None for x in row] for i, row in enumerate(rows)}
    return pd.DataFrame(made, dtype="Int64")


def raters() -> pd.DataFrame:
    """Return 90 items that three raters put into four ordered categories, none missing."""
    rng = np.random.default_rng(3)
    true = rng.choice(4, 90, p=[0.4, 0.3, 0.2, 0.1])
    made = {}
    for name, right in (("x", 0.8), ("y", 0.7), ("z", 0.6)):
        near = np.clip(true + rng.choice([-1, 1], 90), 0, 3)
        made[name] = np.where(rng.random(90) < right, true, near) + 1
    return pd.DataFrame(made)


def labelled() -> pd.DataFrame:
    """Return a judge's scores of 1,200 items, of which 200 have a label."""
    rng = np.random.default_rng(11)
    truth = (rng.random(1200) < 0.6).astype(float)
    judge = truth + rng.normal(0, 0.5, 1200)
    return pd.DataFrame({"judge": judge, "label": np.where(np.arange(1200) < 200, truth, np.nan)})


def counts() -> pd.DataFrame:
    """Return how many of seven votes were right in 300 debates."""
    rng = np.random.default_rng(5)
    return pd.DataFrame({"right": rng.binomial(7, rng.beta(5, 2, 300)), "votes": 7})


def verdicts() -> pd.DataFrame:
    """Return a judge's verdicts, 0 or 1, on 1,000 items, of which 120 have a label."""
    rng = np.random.default_rng(13)
    truth = (rng.random(1000) < 0.7).astype(int)
    judge = np.where(truth == 1, rng.random(1000) < 0.9, rng.random(1000) < 0.25).astype(int)
    return pd.DataFrame({"judge": judge, "label": np.where(np.arange(1000) < 120, truth, np.nan)})


def orders() -> pd.DataFrame:
    """Return 80 pairs judged in both orders, as the answer that won; the answer shown first has an advantage."""
    rng = np.random.default_rng(14)
    item, order = np.repeat(np.arange(80), 2), np.tile(["AB", "BA"], 80)
    lead = np.repeat(rng.normal(0, 1.5, 80), 2) + np.where(order == "AB", 0.5, -0.5)
    vote = np.where(lead + rng.logistic(size=160) > 0, "A", "B")
    return pd.DataFrame({"item": item, "order": order, "vote": vote})


def few() -> pd.DataFrame:
    """Return the scores of two runs on 12 items."""
    rng = np.random.default_rng(15)
    first = rng.normal(5, 1, 12)
    return pd.DataFrame({"first": first.round(2), "last": (first + rng.normal(0.4, 0.6, 12)).round(2)})


def advocates() -> pd.DataFrame:
    """Return the scores that four advocates got on 60 items."""
    rng = np.random.default_rng(16)
    scores = rng.normal(6, 1, (60, 1)) + rng.normal(0, 1.2, (60, 4))
    return pd.DataFrame(scores.round(2), columns=list("abcd"))


def chains() -> pd.DataFrame:
    """Return four chains of 500 correlated draws of one parameter, one chain on another level."""
    rng = np.random.default_rng(18)
    x = np.zeros((4, 500))
    x[:, 0] = rng.normal(size=4)
    for t in range(1, 500):
        x[:, t] = 0.6 * x[:, t - 1] + 0.8 * rng.normal(size=4)
    x[3] += 0.15
    chain = np.repeat(np.arange(4), 500)
    return pd.DataFrame({"chain": chain, "draw": np.tile(np.arange(500), 4), "x": np.exp(x.ravel() / 4)})


def densities() -> pd.DataFrame:
    """Return the log-likelihoods of 25 observations, one far off, under 4 chains of 500 draws of a normal law."""
    rng = np.random.default_rng(19)
    y = rng.normal(0, 1, 25)
    y[0] = 4.0
    mean = y.mean() + rng.normal(0, 1, 2000) / 5
    sd = y.std(ddof=1) * np.sqrt(24 / rng.chisquare(24, 2000))
    z = (y - mean[:, None]) / sd[:, None]
    found = -0.5 * z**2 - np.log(sd)[:, None] - 0.5 * np.log(2 * np.pi)
    return pd.DataFrame(found, columns=[f"y{i}" for i in range(25)])


def p_values() -> pd.DataFrame:
    """Return the p-values of twelve tests."""
    return pd.DataFrame({"p": np.random.default_rng(6).uniform(0, 1, 12).round(3) ** 3})


def crowd(name: str) -> pd.DataFrame:
    """Return public votes of a crowd with right answers: item, worker, vote, label."""
    return pd.read_csv(HERE / "crowd" / f"{name}.csv.gz")


@cache
def _panels() -> dict[str, pd.DataFrame]:
    module = runpy.run_path(str(PANELS / "run.py"))
    config = tomllib.loads((PANELS / "config.toml").read_text(encoding="utf-8"))
    found = {}
    for place, cell in enumerate(config["cells"]):
        wide, _ = module["drawn"](cell, config["items"], np.random.default_rng([config["seed"], place, 0]))
        found[cell["name"]] = wide.reset_index(names="item")
    return found


def simulated(name: str) -> pd.DataFrame:
    """Return the first panel of a cell of the study of panels without right answers, as a long table."""
    wide = _panels()[name]
    long = wide.melt(["item", "label"], var_name="worker", value_name="vote").dropna(subset="vote")
    return long[["item", "worker", "vote", "label"]].reset_index(drop=True)


def answers() -> pd.DataFrame:
    """Return how many of 5 answers of two protocols to each of 60 questions were right."""
    rng = np.random.default_rng(17)
    ease = np.repeat(rng.normal(0.6, 1, 60), 2)
    protocol = np.tile(["one", "two"], 60)
    chance = 1 / (1 + np.exp(-(ease + np.where(protocol == "two", 0.5, 0.0))))
    made = {"question": np.repeat(np.arange(60), 2), "protocol": protocol, "right": rng.binomial(5, chance)}
    return pd.DataFrame(made)


MADE: dict[str, Callable[[], pd.DataFrame]] = {
    "slm7": slm7,
    "runs": runs,
    "clustered": clustered,
    "stated": stated,
    "judgments": judgments,
    "ties": lambda: judgments(4000, 0.6),
    "observers": observers,
    "raters": raters,
    "labelled": labelled,
    "counts": counts,
    "verdicts": verdicts,
    "orders": orders,
    "few": few,
    "advocates": advocates,
    "answers": answers,
    "chains": chains,
    "densities": densities,
    "p_values": p_values,
    "none": lambda: pd.DataFrame({"none": [0]}),
    **{name: (lambda name=name: crowd(name)) for name in ("duck", "face", "dog")},
}
"""What makes each table, by its name. Any other name is a cell of the study of panels without right answers."""


@cache
def table(name: str) -> pd.DataFrame:
    """Return a table by its name."""
    return MADE[name]() if name in MADE else simulated(name)
