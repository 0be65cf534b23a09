"""What do more referees, more turns, more samples and rankings gain, in worlds where it is known? (ChatEval, figure 3.)

Run: python simulations/chateval_sweeps/run.py [-o FOLDER]

Draws the same items for teams of 1 to 5 referees and for 1 to 5 turns, beside a single agent and a team of one role.
Plays a judge that is asked several times in both orders, and direct scores of single responses. Adds up rankings and
scores of several candidates. Writes a CSV per table and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.inference import aspect_correlations, borda_count, cohen_kappa
from d3stats.protocols import play_sync, protocol_from_text
from d3stats.protocols.chateval import TOPICAL_CHAT
from d3stats.resampling.proportions import share
from d3stats.trajectories import Trajectories
from d3stats.worlds import (
    Assembly,
    Courtroom,
    Referees,
    Responses,
    human_scores,
    simulate_debates,
    synthetic_agent,
    synthetic_items,
)

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # beside the studies, which are no package

Config = dict[str, Any]
Codes = NDArray[np.int64]

ANSWERS, NONE = ("A", "B", "tie"), -1
A, B, TIE = range(3)


def decided(votes: NDArray[Any]) -> Codes:
    """Return the majority of each item's votes; both candidates in front are a tie, a candidate and a tie none."""
    counts = np.stack([(votes == code).sum(axis=1) for code in range(len(ANSWERS))], axis=1)
    leads = counts == counts.max(axis=1, keepdims=True)
    found = np.where(leads.sum(axis=1) == 1, counts.argmax(axis=1), NONE)
    return np.where(leads[:, 0] & leads[:, 1], TIE, found)


def verdicts(drawn: Trajectories) -> dict[str, Codes]:
    """Return each item's verdict after the last turn, by how it is extracted."""
    votes = drawn.votes[:, -1]
    assert drawn.scores is not None
    lead = {
        "mean": drawn.scores[:, -1, 0] - drawn.scores[:, -1, 1],
        # One point for the higher score, half a point each for equal ones.
        "borda": ((votes == A).sum(axis=1) - (votes == B).sum(axis=1)).astype(float),
    }
    found = {"majority": decided(votes)}
    for name, ahead in lead.items():
        found[name] = np.where(np.isclose(ahead, 0), TIE, np.where(ahead > 0, A, B))
    return found


def _team(size: int, roles: str, turns: int, world: Mapping[str, Any]) -> tuple[Referees, int]:
    """Return the world of a team, and its turns; a single agent has one."""
    if roles == "single":
        return Referees(panel=1, **world), 1
    same = ("annotator",) * size if roles == "same" else ()
    return Referees(panel=size, roles=same, **world), turns


def sweeps(config: Config) -> pd.DataFrame:
    """Return accuracy, kappa and tokens by number of referees and by turns, on the same items."""
    settings = config["sweep"]
    rows = []
    for given in settings["worlds"]:
        world = {name: value for name, value in given.items() if name != "label"}
        teams = [("single agent", "single", 1, 1)]
        for roles in ("diverse", "same"):
            teams += [("referees", roles, size, settings["default_turns"]) for size in settings["referees"]]
        teams += [("turns", "diverse", n, t) for n in settings["turns_at"] for t in settings["turns"]]
        for sweep, roles, size, turns in teams:
            team, turns_played = _team(size, roles, turns, world)
            drawn = simulate_debates(team, settings["items"], turns_played, config["seed"])
            label = drawn.label.astype(np.int64)
            for extraction, verdict in verdicts(drawn).items():
                right = verdict == label
                whole = share(int(right.sum()), len(right), level=config["level"])
                batches = by_batch(right, settings["batch"])
                low, high = np.quantile(batches, [(1 - config["level"]) / 2, (1 + config["level"]) / 2])
                assert drawn.tokens is not None
                rows.append(
                    {
                        "world": given["label"],
                        "sweep": sweep,
                        "roles": roles,
                        "referees": size,
                        "turns": turns_played,
                        "extraction": extraction,
                        "accuracy": whole.value,
                        "low": whole.low,
                        "high": whole.high,
                        "batch_low": low,
                        "batch_high": high,
                        "kappa": cohen_kappa(verdict.astype(str), label.astype(str)).estimate.value,
                        "no_decision": (verdict == NONE).mean(),
                        "tokens": drawn.tokens.sum(axis=1).mean(),
                    }
                )
    return pd.DataFrame(rows)


def by_batch(right: NDArray[np.bool_], size: int) -> NDArray[np.float64]:
    """Return the accuracy of each batch of items; what does not fill a batch is left out."""
    n = len(right) // size * size
    found: NDArray[np.float64] = right[:n].reshape(-1, size).mean(axis=1)
    return found


def chances(config: Config) -> pd.DataFrame:
    """Say how often batches of the paper's size show a pattern of its figure 3, and how often it is true."""
    settings = config["sweep"]
    rows = []
    for given in settings["worlds"]:
        world = {name: value for name, value in given.items() if name != "label"}

        def right(size: int, turns: int, how: str, world: Mapping[str, Any] = world) -> NDArray[np.float64]:
            drawn = simulate_debates(Referees(panel=size, **world), settings["items"], turns, config["seed"])
            return by_batch(verdicts(drawn)[how] == drawn.label, settings["batch"])

        for how in ("majority", "mean"):
            sizes = {n: right(n, settings["default_turns"], how) for n in (2, 3, 4, 5)}
            turns = {t: right(settings["turns_at"][1], t, how) for t in (1, 5)}
            alone = right(1, 1, how)
            patterns = {
                "five referees below the better of three and four": (
                    sizes[5],
                    np.max([sizes[3], sizes[4]], axis=0),
                ),
                "five turns below one": (turns[5], turns[1]),
                "two referees below a single agent": (sizes[2], alone),
            }
            true = {
                "five referees below the better of three and four": sizes[5].mean()
                < max(sizes[3].mean(), sizes[4].mean()),
                "five turns below one": turns[5].mean() < turns[1].mean(),
                "two referees below a single agent": sizes[2].mean() < alone.mean(),
            }
            rows += [
                {
                    "world": given["label"],
                    "extraction": how,
                    "pattern": name,
                    "batches": len(below),
                    "seen": (below < above).mean(),
                    "true_of_all_items": "yes" if true[name] else "no",
                }
                for name, (below, above) in patterns.items()
            ]
    return pd.DataFrame(rows)


def calibrations(config: Config) -> pd.DataFrame:
    """Return the accuracy of a judge by the samples in each order, with one order and with both."""
    settings = config["calibration"]
    world = Assembly(court=Courtroom(**settings["court"]))
    agent = synthetic_agent(world, config["seed"])
    items = synthetic_items(world, settings["items"], config["seed"])
    rows = []
    for calibrate in (False, True):
        for samples in settings["samples"]:
            protocol = protocol_from_text(f"single_judge:calibrate={calibrate},samples={samples}")
            hits, first = [], []
            for i, item in enumerate(items):
                outcome = play_sync(protocol, item.case(item.question, "AB"[i % 2]), agent)
                hits.append(outcome.decision == item.label)
                first.append(outcome.decision == "AB"[i % 2])
            right = share(sum(hits), len(hits), level=config["level"])
            rows.append(
                {
                    "orders": "both" if calibrate else "one",
                    "samples": samples,
                    "calls": samples * (1 + calibrate),
                    "accuracy": right.value,
                    "low": right.low,
                    "high": right.high,
                    "for_the_first": np.mean(first),
                }
            )
    return pd.DataFrame(rows)


def direct(config: Config) -> pd.DataFrame:
    """Return mean correlations with people of a single agent and of teams of two, over repeats of the paper's size."""
    settings, world = config["direct"], Responses()
    arms = {
        "single agent": (world, "chateval:referees=none,max_rounds=1"),
        "two referees of one role": (
            Responses(roles=("annotator", "annotator")),
            "chateval:referees=annotator+annotator",
        ),
        "two referees, diverse roles": (world, "chateval:referees=public+critic"),
    }
    rows = []
    for name, (agents, text) in arms.items():
        protocol, found = protocol_from_text(text), []
        for repeat in range(settings["seeds"]):
            seed = config["seed"] + repeat
            agent = synthetic_agent(agents, seed)
            items = synthetic_items(agents, settings["dialogues"] * world.per_dialogue, seed)
            scores = [play_sync(protocol, item.case(item.question), agent).detail for item in items]
            table = pd.DataFrame(scores).assign(
                question=[item.question for item in items], cluster=[item.cluster for item in items]
            )
            people = human_scores(world, items, TOPICAL_CHAT, seed)
            found.append(aspect_correlations(table, people).average)
        for method in ("spearman", "kendall"):
            values = np.array([one[method] for one in found])
            rows.append(
                {
                    "arm": name,
                    "method": method,
                    "mean": values.mean(),
                    "se": values.std(ddof=1) / np.sqrt(len(values)),
                    "spread": values.std(ddof=1),
                }
            )
    return pd.DataFrame(rows)


def rankings(config: Config) -> pd.DataFrame:
    """Return how often the best candidate wins, by Borda count, majority and mean score, as scales differ more."""
    settings = config["rankings"]
    rng = np.random.default_rng([config["seed"], 7])
    n, j, m = settings["items"], settings["judges"], settings["candidates"]
    quality = rng.standard_normal((n, 1, m))
    read = quality + settings["error"] * rng.standard_normal((n, j, m))
    stretch = rng.standard_normal((n, j, 1))
    rows = []
    for spread in settings["spreads"]:
        scores = np.clip(np.rint(5.5 + 1.5 * np.exp(spread * stretch) * read), 1, 10)
        where = np.indices(scores.shape).reshape(3, -1)
        table = pd.DataFrame(dict(zip(("item", "agent", "candidate"), where, strict=True)))
        found = borda_count(table.assign(score=scores.ravel()))
        best = quality[:, 0].argmax(axis=1)
        for method in ("borda", "majority", "mean"):
            winner = found.winners[method]
            right = winner.to_numpy(dtype=float, na_value=-1) == best
            one = share(int(right.sum()), n, level=config["level"])
            rows.append(
                {
                    "spread": spread,
                    "method": method,
                    "right": one.value,
                    "low": one.low,
                    "high": one.high,
                    "no_winner": winner.isna().mean(),
                }
            )
    return pd.DataFrame(rows)


def study(config: Config) -> dict[str, pd.DataFrame]:
    """Return every table."""
    return {
        "sweeps": sweeps(config),
        "chances": chances(config),
        "calibrations": calibrations(config),
        "direct": direct(config),
        "rankings": rankings(config),
    }


def _three(value: float) -> str:
    return f"{value:.3f}"


def _interval(rows: pd.DataFrame, name: str) -> list[str]:
    return [
        f"{a:.3f} [{b:.3f}, {c:.3f}]" for a, b, c in zip(rows[name], rows["low"], rows["high"], strict=True)
    ]


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables as the findings have them."""
    sweep = tables["sweeps"]
    found = {}
    for name in ("referees", "turns"):
        rows = sweep[sweep["sweep"].isin([name, "single agent"])]
        keys = ["world", "roles", "referees", "turns"]
        parts = {how: part.set_index(keys) for how, part in rows.groupby("extraction", sort=False)}
        first = parts["majority"]
        columns = {how: part["accuracy"].map(_three) for how, part in parts.items()}
        found[f"by {name}"] = (
            pd.DataFrame(
                {
                    **columns,
                    "batches of 80, majority": [
                        f"{a:.2f} to {b:.2f}"
                        for a, b in zip(first["batch_low"], first["batch_high"], strict=True)
                    ],
                    "kappa, majority": first["kappa"].map(_three),
                    "no decision, majority": first["no_decision"].map(_three),
                    "tokens": first["tokens"].map("{:.0f}".format),
                }
            )
            .rename_axis(keys)
            .reset_index()
        )
    chance = tables["chances"]
    found["patterns"] = pd.DataFrame(
        {
            "world": chance["world"],
            "by": chance["extraction"],
            "pattern": chance["pattern"],
            "batches of 80 that show it": chance["seen"].map("{:.2f}".format),
            "true of all items": chance["true_of_all_items"],
        }
    )
    judged = tables["calibrations"]
    found["calibration"] = pd.DataFrame(
        {
            "orders": judged["orders"],
            "samples in each": judged["samples"],
            "calls": judged["calls"],
            "accuracy": _interval(judged, "accuracy"),
            "decided for the answer shown first in the case": judged["for_the_first"].map(_three),
        }
    )
    scored = tables["direct"]
    found["direct scores"] = pd.DataFrame(
        {
            "who": scored["arm"],
            "method": scored["method"],
            "mean over aspects": scored["mean"].map(_three),
            "standard error": scored["se"].map(_three),
            "spread of one experiment": scored["spread"].map(_three),
        }
    )
    ranked = tables["rankings"]
    found["rankings"] = pd.DataFrame(
        {
            "spread of scales": ranked["spread"],
            "method": ranked["method"],
            "best candidate wins": _interval(ranked, "right"),
            "no single winner": ranked["no_winner"].map(_three),
        }
    )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    settings = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    tables = write(HERE, out.resolve(), study(settings), shown)
    print(*(f"== {name}\n{frame.to_string(index=False)}\n" for name, frame in tables.items()), sep="\n")
