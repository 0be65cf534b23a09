"""Does a gap that grows mean a large gap, or a right leader? The gap posteriors on real critics' scores.

Run: D3STATS_DATA=FOLDER python analysis/gap_reading/run.py [-o FOLDER]

Writes a CSV per question and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import import_log
from d3stats.log import read_log
from d3stats.models.gaps.beta import gap_posterior
from d3stats.models.gaps.signed import signed_gap_posterior
from d3stats.models.gaps.wins import score_wins, win_posterior

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import run_on_data  # noqa: E402  # beside the studies, which are no package

SOURCE = "nilgeoutim__CS546_MajorityErrorDebate"
CRITERIA = ("logic", "computation")
SCALE = 20.0
"""Two criteria of 0 to 10 points each."""
LEVEL, REPLICATES, SEED = 0.95, 2000, 1

Floats = NDArray[np.float64]
Statistic = Callable[[NDArray[np.int64]], dict[str, float]]


@dataclass(frozen=True)
class Pairs:
    """Pairs of sides over their rounds; a pair belongs to a question, which is what is resampled.

    points : (pairs, rounds, criteria, 2), NaN where a side has no score
    right : (pairs, rounds, 2), whether a side's answer is right, NaN where it has none
    question : (pairs,)
    """

    points: Floats
    right: Floats
    question: NDArray[np.int64]

    @property
    def scores(self) -> Floats:
        """Sum of the criteria, (pairs, rounds, 2)."""
        total: Floats = self.points.sum(axis=2)
        return total

    @property
    def lead(self) -> Floats:
        """Side 0 less side 1 in points, (pairs, rounds)."""
        return self.scores[:, :, 0] - self.scores[:, :, 1]

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Where exactly one side is known to be right, the other wrong, and both have scores, (pairs, rounds)."""
        known: NDArray[np.bool_] = (self.right.sum(axis=2) == 1) & ~np.isnan(self.lead)
        return known


def turns(folder: Path) -> pd.DataFrame:
    """Return a row per solution: question, debate, round, agent, vote, right, and points by criterion."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        import_log("critic-actor", folder / SOURCE, path)
        log = read_log(path)
    items = log.items.set_index("debate")
    table = log.turns[["debate", "round", "agent", "vote"]].copy()
    for name in CRITERIA:
        given = [(scores or {}).get("solution", {}).get(name, np.nan) for scores in log.turns["scores"]]
        table[name] = np.array(given, dtype=float)
    label = table["debate"].map(items["label"])
    table["right"] = np.where(table["vote"].isna(), np.nan, (table["vote"] == label).astype(float))
    table["question"] = pd.factorize(table["debate"].map(items["question"]))[0]
    return table.sort_values(["debate", "round", "agent"], ignore_index=True)


def by_agents(table: pd.DataFrame) -> Pairs:
    """Take two agents of a debate as its two sides, all pairs: sides that last, whatever they come to say."""
    debates, rounds, agents = (table[name].nunique() for name in ("debate", "round", "agent"))
    shape = (debates, rounds, agents)
    if len(table) != np.prod(shape):
        raise ValueError(f"every agent must have a turn in every round; got {len(table)} turns for {shape}")
    points = np.stack([table[name].to_numpy().reshape(shape) for name in CRITERIA], axis=2)
    right = table["right"].to_numpy().reshape(shape)
    pairs = [list(pair) for pair in combinations(range(agents), 2)]
    question = table["question"].to_numpy().reshape(shape)[:, 0, 0]
    return Pairs(
        np.concatenate([points[..., pair] for pair in pairs]),
        np.concatenate([right[..., pair] for pair in pairs]),
        np.tile(question, len(pairs)),
    )


def by_answers(table: pd.DataFrame) -> Pairs:
    """Take the two answers that round 1 scores highest as the sides, each with its supporters' mean points.

    Debates of one answer in round 1 have no pair. A side without supporters has no score in that round.
    """
    known = table.dropna(subset=["vote"])
    held = known.groupby(["debate", "round", "vote"], as_index=False).agg(
        **{name: (name, "mean") for name in (*CRITERIA, "right")}, question=("question", "first")
    )
    # Means of thirds: rounding must not make a gap of two equal means.
    held[list(CRITERIA)] = held[list(CRITERIA)].round(9)
    held["score"] = held[list(CRITERIA)].sum(axis=1)
    first = held[held["round"] == 1].sort_values(["debate", "score", "vote"], ascending=[True, False, True])
    first = first[first.groupby("debate")["vote"].transform("size") >= 2]
    top = first.groupby("debate").head(2)
    names = list(dict.fromkeys(top["debate"]))
    n_rounds = int(table["round"].max())
    points = np.full((len(names), n_rounds, len(CRITERIA), 2), np.nan)
    right = np.full((len(names), n_rounds, 2), np.nan)
    # By the answer's text, so that the order of the sides says nothing about their scores.
    sides = {debate: sorted(rows["vote"]) for debate, rows in top.groupby("debate")}
    for row in held.to_dict("records"):
        side = sides.get(row["debate"], [])
        if row["vote"] in side:
            at = (names.index(row["debate"]), int(row["round"]) - 1)
            points[at[0], at[1], :, side.index(row["vote"])] = [row[name] for name in CRITERIA]
            right[at[0], at[1], side.index(row["vote"])] = row["right"]
    question = top.drop_duplicates("debate").set_index("debate")["question"]
    return Pairs(points, right, question.loc[names].to_numpy())


def with_intervals(question: NDArray[np.int64], statistic: Statistic) -> pd.DataFrame:
    """Estimate each number and its percentile interval, questions resampled; without an interval if undefined."""
    rows_of = [np.flatnonzero(question == q) for q in np.unique(question)]
    rng = np.random.default_rng(SEED)
    drawn = []
    for _ in range(REPLICATES):
        picked = rng.integers(len(rows_of), size=len(rows_of))
        drawn.append(statistic(np.concatenate([rows_of[i] for i in picked])))
    found = statistic(np.arange(len(question)))
    tail = (1 - LEVEL) / 2
    rows = []
    for name, value in found.items():
        values = np.array([replicate[name] for replicate in drawn])
        values = values[~np.isnan(values)]
        enough = len(values) > 0.99 * REPLICATES
        low, high = np.quantile(values, [tail, 1 - tail]) if enough else (np.nan, np.nan)
        rows.append({"name": name, "estimate": value, "low": low, "high": high})
    return pd.DataFrame(rows).assign(level=LEVEL, kind="bootstrap percentile, questions")


def _mean(values: NDArray[Any], where: NDArray[np.bool_]) -> float:
    return float(values[where].mean()) if where.any() else np.nan


def _area(said: Floats, happened: NDArray[np.bool_]) -> float:
    """Return P(said of one that happened > said of one that did not), ties halved: .5 is no information."""
    from scipy.stats import rankdata

    n = int(happened.sum())
    if n in (0, len(happened)):
        return np.nan
    ranks = rankdata(said)
    return float((ranks[happened].sum() - n * (n + 1) / 2) / (n * (len(happened) - n)))


def _rank_correlation(x: Floats, y: Floats) -> float:
    from scipy.stats import rankdata

    x, y = rankdata(x), rankdata(y)
    return float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else np.nan


def reading(pairs: Pairs) -> pd.DataFrame:
    """Say what goes with a high posterior mean: size, growth, or a right leader; rounds 2 and later together."""
    gap, first = np.abs(pairs.lead), np.abs(pairs.lead[:, :1])
    mean, sure = gap_posterior(pairs.lead).mean, signed_gap_posterior(pairs.lead, scale=SCALE).prob_better
    right = (pairs.lead > 0) == (pairs.right[:, :, 0] == 1)
    judged = pairs.decided & (pairs.lead != 0)

    def statistic(rows: NDArray[np.int64]) -> dict[str, float]:
        later = np.s_[rows, 1:]
        m, g, grown = mean[later].ravel(), gap[later].ravel(), (gap - first)[later].ravel()
        # both gaps must be there for growth to be
        seen, j, ok = ~np.isnan(grown), judged[later].ravel(), right[later].ravel()
        found = {}
        for name, here in (
            ("below", m < 0.5 - 1e-9),
            ("at", np.abs(m - 0.5) < 1e-9),
            ("above", m > 0.5 + 1e-9),
        ):
            found[f"share, mean {name} 1/2"] = float((here & seen).sum() / seen.sum())
            found[f"gap, mean {name} 1/2"] = _mean(g, here & seen)
            found[f"growth since round 1, mean {name} 1/2"] = _mean(grown, here & seen)
            found[f"leader right, mean {name} 1/2"] = _mean(ok, here & j)
        found["rank correlation with the gap"] = _rank_correlation(m[seen], g[seen])
        found["rank correlation with growth"] = _rank_correlation(m[seen], grown[seen])
        found["area for a right leader"] = _area(m[j], ok[j])
        found["area of the gap itself"] = _area(g[j], ok[j])
        found["area of the signed posterior"] = _area(np.abs(sure[later].ravel() - 0.5)[j], ok[j])
        return found

    counts = {"records": int((~np.isnan(gap[:, 1:] - first)).sum()), "judged": int(judged[:, 1:].sum())}
    return with_intervals(pairs.question, statistic).assign(**counts)


def trials(pairs: Pairs) -> pd.DataFrame:
    """Set growth against independent trials with one chance, and against gaps in random order."""
    gap = np.abs(pairs.lead)
    complete = ~np.isnan(gap).any(axis=1)
    gap, question = gap[complete], pairs.question[complete]
    n_trials = gap.shape[1] - 1
    grown, tied = gap[:, 1:] > gap[:, :-1], gap[:, 1:] == gap[:, :-1]
    won = grown.sum(axis=1)
    orders = [gap[:, list(order)] for order in permutations(range(gap.shape[1]))]
    shuffled = np.stack([(g[:, 1:] > g[:, :-1]).sum(axis=1) for g in orders])
    free = ~tied.any(axis=1)

    def statistic(rows: NDArray[np.int64]) -> dict[str, float]:
        up, w, mixed = grown[rows], won[rows], shuffled[:, rows]
        before, after = up[:, :-1].ravel(), up[:, 1:].ravel()
        rate, clear = float(up.mean()), free[rows]
        chance, mixing = n_trials * rate * (1 - rate), float(mixed.var())
        return {
            "growths per comparison": rate,
            "ties per comparison": float(tied[rows].mean()),
            "growths per comparison without ties": _mean(up.ravel(), ~tied[rows].ravel()),
            "first comparison": float(up[:, 0].mean()),
            "last comparison": float(up[:, -1].mean()),
            "after a growth": _mean(after, before),
            "after no growth": _mean(after, ~before),
            "mean of w": float(w.mean()),
            "mean of w, own gaps in random order": float(mixed.mean()),
            "variance of w": float(w.var()),
            "variance of w, independent trials of this rate": chance,
            "variance of w, own gaps in random order": mixing,
            "variance minus that of independent trials": float(w.var()) - chance,
            "variance minus that of random order": float(w.var()) - mixing,
            "variance of w without ties": float(w[clear].var()) if clear.sum() > 1 else np.nan,
        }

    table = with_intervals(question, statistic)
    return table.assign(pairs=len(gap), trials=n_trials, pairs_without_ties=int(free.sum()))


def calibration(pairs: Pairs) -> pd.DataFrame:
    """Set what each posterior says of its leader beside how often that leader is right, round by round."""
    wins, losses, ties = score_wins(pairs.points)
    so_far = [np.cumsum(x, axis=1) for x in (wins, losses, ties)]
    alone = signed_gap_posterior(pairs.lead.reshape(-1, 1), scale=SCALE)
    said = {
        "signed gap": signed_gap_posterior(pairs.lead, scale=SCALE).prob_better,
        "signed gap, this round alone": alone.prob_better.reshape(pairs.lead.shape),
        "wins by criterion": win_posterior(*so_far).prob_better,
    }
    parts = []
    for method, prob in said.items():
        for r in range(prob.shape[1]):
            here = pairs.decided[:, r] & (np.abs(prob[:, r] - 0.5) > 1e-9)
            # of the side that the posterior favours
            sure = np.maximum(prob[:, r], 1 - prob[:, r])
            right = (prob[:, r] > 0.5) == (pairs.right[:, r, 0] == 1)

            def statistic(
                rows: NDArray[np.int64],
                here: NDArray[np.bool_] = here,
                sure: Floats = sure,
                right: NDArray[np.bool_] = right,
            ) -> dict[str, float]:
                at = rows[here[rows]]
                high = at[sure[at] >= 0.8]
                return {
                    "said": float(sure[at].mean()) if at.size else np.nan,
                    "right": float(right[at].mean()) if at.size else np.nan,
                    "said less right": float((sure - right)[at].mean()) if at.size else np.nan,
                    "Brier": float(((sure - right)[at] ** 2).mean()) if at.size else np.nan,
                    "said, where at least .8": float(sure[high].mean()) if high.size else np.nan,
                    "right, where at least .8": float(right[high].mean()) if high.size else np.nan,
                }

            table = with_intervals(pairs.question, statistic)
            n_high = int((here & (sure >= 0.8)).sum())
            parts.append(table.assign(method=method, round=r + 1, judged=int(here.sum()), judged_high=n_high))
    return pd.concat(parts, ignore_index=True)


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return all tables."""
    table = turns(folder)
    sides = {"agents": by_agents(table), "answers": by_answers(table)}
    kinds = {"reading": reading, "trials": trials, "calibration": calibration}
    found = {
        name: pd.concat([make(pairs).assign(sides=side) for side, pairs in sides.items()], ignore_index=True)
        for name, make in kinds.items()
    }
    rows = []
    for side, pairs in sides.items():
        gap = np.abs(pairs.lead)
        rows += [
            {
                "sides": side,
                "round": r + 1,
                "pairs": len(gap),
                "questions": len(np.unique(pairs.question)),
                "with_gap": int((~np.isnan(gap[:, r])).sum()),
                "mean_gap": float(np.nanmean(gap[:, r])),
                "zero_gap": float((gap[:, r] == 0).sum() / (~np.isnan(gap[:, r])).sum()),
                "one_right": int(pairs.decided[:, r].sum()),
                "leader_tied": int((pairs.decided[:, r] & (gap[:, r] == 0)).sum()),
            }
            for r in range(gap.shape[1])
        ]
    return {"sides": pd.DataFrame(rows), **found}


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    seen = {"sides": tables["sides"].round({"mean_gap": 2, "zero_gap": 2})}
    for name, digits in (("reading", 2), ("trials", 2)):
        table = tables[name].assign(
            text=lambda t, d=digits: [_interval(row, d) for row in t.to_dict("records")]
        )
        wide = table.pivot_table(index="name", columns="sides", values="text", aggfunc="first", sort=False)
        seen[name] = wide.reset_index().rename_axis(columns=None)
    table = tables["calibration"].assign(text=lambda t: [_interval(row, 2) for row in t.to_dict("records")])
    table = table[table["sides"] == "agents"]
    index = ["method", "round", "judged", "judged_high"]
    wide = table.pivot_table(index=index, columns="name", values="text", aggfunc="first", sort=False)
    columns = ["judged", "said", "right", "Brier", "judged_high", "right, where at least .8"]
    seen["calibration"] = wide.reset_index().rename_axis(columns=None)[["method", "round", *columns]]
    return seen


def _interval(row: Mapping[Any, Any], digits: int) -> str:
    if np.isnan(row["estimate"]):
        return ""
    text = f"{row['estimate']:.{digits}f}"
    return text if np.isnan(row["low"]) else f"{text} [{row['low']:.{digits}f}, {row['high']:.{digits}f}]"


if __name__ == "__main__":
    run_on_data(HERE, __doc__ or "", study, shown)
