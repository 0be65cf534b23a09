"""What do rationales of real debates refer to, how alike are they, and can their dissent be traced to reasons?

Run: D3STATS_DATA=FOLDER python analysis/rationales/run.py [-o FOLDER]

Writes a CSV per table and, into this folder only, the tables of ``findings.md``. Texts are read and not kept.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from d3stats import import_log
from d3stats.estimate import Estimate, estimates_frame
from d3stats.inference import Rationales, rationales
from d3stats.inference.reasons.rationales import (
    ACROSS,
    AXIS,
    AXIS_BEYOND,
    AXIS_CHANCE,
    BESIDE,
    CITES,
    OWN,
    OWN_BEYOND,
    OWN_CHANCE,
    RATIO,
    REPEATS,
    SIMILARITY,
)

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import run_on_data  # noqa: E402  # studies are no package

SEED = 20261
FEWEST_HITS = 10
"""Rationales with a phrase, below which it is not shown; the note of ``rationales`` has the same limit."""
GSM = "nilgeoutim__CS546_MajorityErrorDebate"


class Log(NamedTuple):
    """One log: what it is called, how it is read, whose texts in which rounds are rationales (None: the last).

    And `prompt`: words for arguing that its prompts have, as the files show.
    """

    label: str
    importer: str
    folder: str
    options: Mapping[str, Any] = {}
    role: str | None = None
    rounds: tuple[int | None, ...] = (None,)
    prompt: tuple[str, ...] = ()


LOGS = (
    Log(
        "translation, moderator",
        "mad",
        "Skytliang__Multi-Agents-Debate",
        role="moderator",
        prompt=("both sides", "debate", "debaters"),
    ),
    Log("GSM8K, critic and actors", "critic-actor", GSM, rounds=(1, 4)),
    Log(
        "GSM8K, 3 agents",
        "gsm-nested",
        GSM,
        {"pattern": "gsm_3_3_top100*.json"},
        rounds=(1, 3),
        prompt=("other agents",),
    ),
    Log(
        "small models",
        "slm-multiagent",
        "lferreiraMD__slm_multiagent_debate",
        rounds=(1, 3),
        prompt=("other agents",),
    ),
    Log("independent judges (PRD)", "prd", "bcdnlp__PRD", role="judge"),
)
KINDS = (
    "that name who spoke before",
    "that name a round",
    "with a word for arguing",
    "that quote an earlier turn",
)


WITHOUT = "cite the debate, without words of the prompt"
MOST_PHRASES = 3


def measured(folder: Path) -> Iterator[tuple[str, str, Rationales, Estimate | None]]:
    """Yield each log and round with the measures of its rationales, and who cites without the words of its prompt."""
    for log in LOGS:
        source = folder / log.folder
        archives = sorted(source.glob("*.tar.gz"))
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "log.jsonl"
            import_log(log.importer, archives[0] if archives else source, path, text=True, **log.options)
            for number in log.rounds:
                found = rationales(path, role=log.role, round_number=number, rng=SEED)
                bare = None
                if log.prompt:
                    without = rationales(
                        path, role=log.role, round_number=number, ignore=log.prompt, repeated_words=None
                    )
                    bare = replace(without[CITES], name=WITHOUT)
                yield log.label, "last" if number is None else str(number), found, bare


def study(folder: Path) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    measures, phrases, reasons, agents = [], [], [], []
    for label, number, found, bare in measured(folder):
        estimates = found.estimates if bare is None else (*found.estimates, bare)
        parts = (
            (estimates_frame(estimates), measures),
            (found.phrases.groupby("kind", sort=False).head(MOST_PHRASES), phrases),
            (found.reasons, reasons),
            (found.agents, agents),
        )
        for table, rows in parts:
            rows.append(table.assign(log=label, round=number))
    kept = ["log", "round", "name", "value", "low", "high", "kind", "n", "n_clusters", "note"]
    of_reasons = [
        "log",
        "round",
        "reason",
        "dissent",
        "majority",
        "difference",
        "low",
        "high",
        "p_value",
        "p_adjusted",
    ]
    return {
        "measures": pd.concat(measures)[kept],
        "phrases": pd.concat(phrases)[["log", "round", "kind", "phrase", "rationales", "alone"]],
        "reasons": pd.concat(reasons)[[*of_reasons, "n", "n_clusters"]],
        "agents": pd.concat(agents)[
            ["log", "round", "agent", "rationales", "cites", "cosine", "votes", "dissents"]
        ],
    }


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings, with the digits that they show."""
    measures = tables["measures"]
    table = tables["reasons"]
    judges = table[table["log"] == "independent judges (PRD)"]
    phrases = tables["phrases"]
    arguing = phrases[(phrases["kind"] == "argument") & (phrases["rationales"] >= FEWEST_HITS)]
    return {
        "citing": _wide(measures, (CITES, *KINDS)),
        "phrases": arguing.drop(columns="kind"),
        "without": _wide(measures, (CITES, WITHOUT), every=True),
        "repeated": _wide(measures, (REPEATS, BESIDE)),
        "alike": _wide(measures, (SIMILARITY, ACROSS, RATIO)),
        "axes": _wide(measures, (AXIS, AXIS_CHANCE, AXIS_BEYOND)),
        "own": _wide(measures, (OWN, OWN_CHANCE, OWN_BEYOND)),
        "judges": pd.DataFrame(
            {
                "reason": judges["reason"],
                "dissent": judges["dissent"].map("{:.3f}".format),
                "majority": judges["majority"].map("{:.3f}".format),
                "difference": [
                    _limits(row, "+")
                    for row in judges.rename(columns={"difference": "value"}).to_dict("records")
                ],
                "p, Holm": judges["p_adjusted"].map("{:.3f}".format),
            }
        ),
    }


def _wide(measures: pd.DataFrame, names: tuple[str, ...], every: bool = False) -> pd.DataFrame:
    """Return one row per log and round, one column per measure; with `every`, only where all are known."""
    rows = []
    for (log, number), own in measures.groupby(["log", "round"], sort=False):
        by_name = {row["name"]: row for row in own.to_dict("records")}
        if (set(names) <= set(by_name)) if every else (set(names) & set(by_name)):
            size = next(by_name[name] for name in names if name in by_name)
            counted = f"{size['n']:,} ({size['n_clusters']:,})"
            cells = {name: _limits(by_name[name]) if name in by_name else "-" for name in names}
            rows.append({"log": log, "round": number, "n (questions)": counted} | cells)
    return pd.DataFrame(rows)


def _limits(row: Mapping[str, Any], sign: str = "") -> str:
    bare = f"{row['value']:{sign}.3f}"
    return bare if pd.isna(row["low"]) else f"{bare} [{row['low']:{sign}.3f}, {row['high']:{sign}.3f}]"


if __name__ == "__main__":
    run_on_data(HERE, __doc__, study, shown)
