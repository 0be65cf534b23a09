"""Verdicts on pairs out of a debate log: an item is a debate, a judge is an agent, the last vote counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from d3stats.trajectories import Trajectories

__all__ = ["from_log", "from_trajectories"]

_ORDER_IN_NAME = re.compile(r"^(?P<judge>.*?)\s*\(?(?:order )?(?P<order>1-2|2-1)\)?(?P<again> again)*$")


def from_log(path: Path, answers: Iterable[str]) -> pd.DataFrame:
    """Return a row per debate and agent; an agent whose name ends in (1-2) or (2-1) says the order."""
    from d3stats.log.read import read_log

    log = read_log(path)
    voted = (
        {str(vote) for vote in log.turns["vote"].dropna()} if log.coding == "answers" else {"right or wrong"}
    )
    _refuse(voted, answers)
    last = log.turns.sort_values("round", kind="stable").drop_duplicates(["debate", "agent"], keep="last")
    items = log.items.set_index("debate").reindex(last["debate"])
    parts = [_named(str(agent)) for agent in last["agent"]]
    run = items["log"] if "log" in items else pd.Series([None] * len(last))
    judge = [name or (str(of) if pd.notna(of) else "judge") for (name, _), of in zip(parts, run, strict=True)]
    group = next((items[c] for c in ("cluster", "question") if c in items and items[c].notna().all()), None)
    return pd.DataFrame(
        {
            "item": last["debate"].to_numpy(),
            "judge": judge,
            "order": [order for _, order in parts],
            "vote": last["vote"].to_numpy(),
            "label": items["label"].to_numpy() if "label" in items else None,
            "cluster": last["debate"].to_numpy() if group is None else group.to_numpy(),
        }
    )


def from_trajectories(t: Trajectories, answers: Iterable[str]) -> pd.DataFrame:
    """Return a row per debate and taken seat, named as the seats are."""
    _refuse(set(t.answers) if t.coding == "answers" else {"right or wrong"}, answers)
    names = np.array([*t.answers, None], dtype=object)  # MISSING, -1, is the last
    last = t.votes[np.arange(t.n_debates), np.maximum(t.depth, 1) - 1]
    debate, seat = np.nonzero(np.arange(last.shape[1]) < t.panel[:, None])
    parts = [_named(name) for name in t.seats]
    judge = np.array([name or "judge" for name, _ in parts], dtype=object)
    order = np.array([order for _, order in parts], dtype=object)
    return pd.DataFrame(
        {
            "item": np.asarray(t.debates, dtype=object)[debate],
            "judge": judge[seat],
            "order": order[seat],
            "vote": names[last[debate, seat]],
            "label": names[t.label[debate]],
            "cluster": np.asarray(t.cluster_names, dtype=object)[t.cluster[debate]],
        }
    )


def _named(agent: str) -> tuple[str, str | None]:
    """Return the judge ("" where the name is all order) and the order that an agent's name tells."""
    found = _ORDER_IN_NAME.match(agent)
    return (agent, None) if found is None else (found["judge"].strip(), found["order"])


def _refuse(voted: set[str], answers: Iterable[str]) -> None:
    known = set(answers)
    strange = sorted(vote for vote in voted if vote.upper() not in known)
    if strange:
        raise ValueError(f"a log must hold votes for A, B or tie (or 1, 2, tie); got votes for {strange[:5]}")
