"""The logs of other people that show votes round by round, and why the others cannot be used."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from d3stats import Trajectories, import_log

__all__ = ["LOGS", "RoundLog", "read", "readable"]

_GSM = "nilgeoutim__CS546_MajorityErrorDebate"
_SLM = "lferreiraMD__slm_multiagent_debate"


@dataclass(frozen=True)
class RoundLog:
    """One log: where it lies, how it is read, and whether its questions were picked for a failed majority."""

    label: str
    importer: str
    folder: str
    selected: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    roles: tuple[str, ...] | None = None


LOGS = (
    RoundLog("GSM8K, 3 seats, two runs", "gsm-nested", _GSM, options={"pattern": "gsm_3_3_top100*.json"}),
    RoundLog("small models, 3 seats", "slm-multiagent", _SLM, options={"agents": 3}),
    RoundLog("small models, 5 seats", "slm-multiagent", _SLM, options={"agents": 5}),
    RoundLog("small models, 7 seats", "slm-multiagent", _SLM, options={"agents": 7}),
    RoundLog(
        "GSM8K, 3 seats, majority wrong", "gsm-nested", _GSM, True, {"pattern": "gsm_v4_stateful_3_4*.json"}
    ),
    RoundLog(
        "GSM8K, 4 seats, majority wrong", "gsm-nested", _GSM, True, {"pattern": "gsm_v4_stateful_4_4*.json"}
    ),
    RoundLog("GSM8K, critic and actors, two runs", "critic-actor", _GSM, True),
    RoundLog("translation, moderator", "mad", "Skytliang__Multi-Agents-Debate", roles=("moderator",)),
    RoundLog("Exchange-of-Thought samples", "eot", "yinzhangyue__EoT"),
    RoundLog("truthification games", "truthification", "derived/truthification_rounds.csv"),
)


def read(log: RoundLog, folder: Path, **options: Any) -> Trajectories:
    """Import one log; `options` go to its importer on top of its own."""
    source = folder / log.folder
    archives = sorted(source.glob("*.tar.gz")) if source.is_dir() else []
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "log.jsonl"
        import_log(log.importer, archives[0] if archives else source, path, **(log.options | options))
        return Trajectories.from_log(path, roles=log.roles)


def why_not(t: Trajectories) -> str:
    """Say why a log shows no change of correct votes from round to round; empty when it does."""
    if t.n_rounds < 2:
        return "with one round nothing can change"
    if not (t.votes >= 0).any():
        return "no votes: the judge's accuracy over many items is logged, and no vote of an item"
    if not (t.label >= 0).any():
        return "no right answers: whether a vote is correct is unknown"
    return ""


def readable(folder: Path) -> Iterator[tuple[RoundLog, Trajectories | str]]:
    """Yield each log with its debates, or with the reason why it cannot be used."""
    for log in LOGS:
        t = read(log, folder)
        yield log, why_not(t) or t
