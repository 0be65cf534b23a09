"""Verdicts on pairs out of a debate log: a judge is an agent, or the protocol; the last vote counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats.trajectories import Trajectories

if TYPE_CHECKING:
    from d3stats.log.reader import DebateLog

__all__ = ["DECISION", "from_log", "from_trajectories"]

DECISION = "decision"
"""What the protocol as a judge is called: what its debates decided."""

_ORDER_OF = {"A": "AB", "B": "BA", "1": "AB", "2": "BA"}
_FIRST_IN_NAME = re.compile(r"^(?P<judge>.*), (?P<side>[AB12]) first$")
_ORDER_IN_NAME = re.compile(r"^(?P<judge>.*?)\s*\(?(?:order )?(?P<order>1-2|2-1)\)?(?P<again> again)*$")


def from_log(
    log: DebateLog,
    answers: Iterable[str],
    *,
    decisions: bool = False,
) -> pd.DataFrame:
    """Return a row per debate and voting agent; with `decisions` also one for what each debate decided.

    The order is what an agent's name tells, or else which candidate the debate showed first. Where debates say that, an
    item is the question, so that its debates in either order meet; else it is the debate.
    """
    from d3stats.log.reader import seated

    voted = (
        {str(vote) for vote in log.turns["vote"].dropna()} if log.coding == "answers" else {"right or wrong"}
    )
    _refuse(voted, answers)
    turns = log.turns[seated(log.turns)]
    last = turns.sort_values("round", kind="stable").drop_duplicates(["debate", "agent"], keep="last")
    parts = [_named(str(agent)) for agent in last["agent"]]
    seats = pd.DataFrame(
        {
            "debate": last["debate"].to_numpy(),
            "judge": [name for name, _ in parts],
            "order": pd.Series([order for _, order in parts], dtype=object),
            "vote": last["vote"].to_numpy(),
        }
    )
    items = log.items.set_index("debate")
    known = bool(items["first"].notna().any())
    if decisions and known and log.verdicts["decision"].notna().any():
        decided = log.verdicts[["debate", "decision"]].rename(columns={"decision": "vote"})
        # First, because it is what the protocol stands for.
        seats = pd.concat([decided.assign(judge=DECISION, order=None), seats], ignore_index=True)
    return _about(seats, items.reindex(seats["debate"]), known)


def _about(seats: pd.DataFrame, items: pd.DataFrame, known: bool) -> pd.DataFrame:
    """Add to every verdict what its debate says; `known` is whether debates say what was shown first."""
    run = items["log"].to_numpy(dtype=object)
    several = known and len(set(items["log"].dropna())) > 1
    judge = [
        name or (str(of) if pd.notna(of) else "judge") for name, of in zip(seats["judge"], run, strict=True)
    ]
    shown = items["first"].map(_ORDER_OF).to_numpy(dtype=object)
    debate = seats["debate"].to_numpy(dtype=object)
    asked = np.where(items["first"].notna().to_numpy(), items["question"].to_numpy(dtype=object), debate)
    group = next((items[c] for c in ("cluster", "question") if items[c].notna().all()), None)
    return pd.DataFrame(
        {
            "item": asked,
            "debate": debate,
            "judge": [f"{of}: {name}" for name, of in zip(judge, run, strict=True)] if several else judge,
            "order": np.where(
                seats["order"].notna().to_numpy(), seats["order"].to_numpy(dtype=object), shown
            ),
            "vote": seats["vote"].to_numpy(),
            "label": items["label"].to_numpy(),
            "cluster": debate if group is None else group.to_numpy(),
        }
    )


def from_trajectories(t: Trajectories, answers: Iterable[str]) -> pd.DataFrame:
    """Return a row per debate and taken seat, named as the seats are."""
    _refuse(set(t.answers) if t.coding == "answers" else {"right or wrong"}, answers)
    names = np.array([*t.answers, None], dtype=object)  # MISSING, -1, is the last
    spoke = t.had_turns()
    # The last turn of each seat by itself, as of a file: a jury may have voted before the debate's last round.
    at = spoke.shape[1] - 1 - np.argmax(spoke[:, ::-1], axis=1)
    last = np.take_along_axis(t.votes, at[:, None], axis=1)[:, 0]
    debate, seat = np.nonzero(spoke.any(axis=1))
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
    side = _FIRST_IN_NAME.match(agent)
    if side is not None:
        return side["judge"].strip(), _ORDER_OF[side["side"]]
    found = _ORDER_IN_NAME.match(agent)
    return (agent, None) if found is None else (found["judge"].strip(), found["order"])


def _refuse(voted: set[str], answers: Iterable[str]) -> None:
    known = set(answers)
    strange = sorted(vote for vote in voted if vote.upper() not in known)
    if strange:
        shown = [vote[:60] for vote in strange[:5]]
        raise ValueError(f"a log must hold votes for A, B or tie (or 1, 2, tie); got votes for {shown}")
