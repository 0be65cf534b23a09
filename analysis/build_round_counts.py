"""Rebuild ``round_counts.csv``: right answers per round of the logs, missing votes excluded.

``python analysis/build_round_counts.py SRC [-o FOLDER]``, where SRC holds one folder per repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from d3stats.log.importers import critic_actor, eot, gsm_nested, slm_multiagent
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.trajectories import Trajectories

_NESTED = "nilgeoutim__CS546_MajorityErrorDebate"
_SLM = "lferreiraMD__slm_multiagent_debate"
_EOT = "yinzhangyue__EoT"

FOLDER = Path(__file__).resolve().parents[1] / "d3stats" / "datasets"
"""Where the package has its tables."""


def build(source: Path) -> str:
    """Return the text of the table.

    Raises
    ------
    ValueError
        When a log does not have its format's shape.
    """
    lines = ["log,round,successes,trials,weight"]
    items, turns = [], []
    for record in _records(source):
        if isinstance(record, Item):
            items.append((record.debate, record.question, record.label, _name(record.log or "", record)))
        elif isinstance(record, Turn):
            turns.append((record.debate, record.round, record.agent, record.vote))
    debates = pd.DataFrame(items, columns=["debate", "question", "label", "log"])
    votes = pd.DataFrame(turns, columns=["debate", "round", "agent", "vote"])
    trajectories = Trajectories.from_frame(votes, debates)
    groups = pd.Series(trajectories.groups)
    for log in sorted(set(groups)):
        counts = trajectories.select((groups == log).to_numpy()).counts().to_frame()
        for row in counts.itertuples(index=False):
            lines.append(f"{log},{row.round},{row.successes},{row.trials},{row.weight:g}")
    return "\n".join(lines) + "\n"


def _records(source: Path) -> Iterator[Item | Turn | Verdict]:
    for pattern in ("gsm_[0-9]*.json", "gsm_v*.json"):
        yield from gsm_nested.records(source / _NESTED, pattern=pattern)
    yield from critic_actor.records(source / _NESTED)
    for archive in sorted((source / _SLM).glob("*.tar.gz")):
        yield from slm_multiagent.records(archive)
    yield from eot.records(source / _EOT)


def _name(log: str, item: Item) -> str:
    if item.protocol == "eot":
        return f"eot/{log}"
    if "_persona_" in log:
        run = slm_multiagent.parts(log)
        return f"slm/{run['benchmark']}/{run['model']}/agents{run['agents']}"
    return log


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python analysis/build_round_counts.py", description=__doc__)
    parser.add_argument("source", type=Path, help="the folder with one folder per repository")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="where to write")
    options = parser.parse_args(arguments)
    (options.output / "round_counts.csv").write_text(build(options.source), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
