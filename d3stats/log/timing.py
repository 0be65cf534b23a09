"""How long did the rounds of a run take? Times of calls in the journal beside a log.

Calls that a protocol makes at once take as long as the slowest of them, and calls one after another take their sum.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats.log.files import journal_path

__all__ = ["seconds_by_round", "seconds_of_rounds"]


def seconds_of_rounds(lines: Iterable[bytes]) -> dict[tuple[str, int], float]:
    """Return the seconds of each round, by debate and round, from the lines of a journal.

    A call begins with one line and ends with another. The calls of a debate that overlap count as made at once, and a
    run of such calls takes as long as its slowest. A round is the sum of these, so calls that waited for each other
    because the run allowed few at a time add up. Calls without a time, as those that a crash left open, make the time
    of their round unknown (NaN).

    Examples
    --------
    >>> call = '{"%s": ["d1", 1, "%s"]%s}'
    >>> at_once = [call % ("begun", "x", ""), call % ("begun", "y", "")]
    >>> ends = [call % ("ended", "x", ', "seconds": 2.0'), call % ("ended", "y", ', "seconds": 3.5')]
    >>> judge = [call % ("begun", "judge", ""), call % ("ended", "judge", ', "seconds": 1.0')]
    >>> seconds_of_rounds(line.encode() for line in [*at_once, *ends, *judge])
    {('d1', 1): 4.5}
    """
    total: dict[tuple[str, int], float] = {}
    open_: dict[str, set[tuple[int, str]]] = {}
    slowest: dict[str, float] = {}
    for line in lines:
        record = _record(line)
        if record is None:
            continue
        if "resumed" in record:
            for debate, calls in open_.items():
                total |= {(debate, played): np.nan for played, _ in calls}
            open_, slowest = {}, {}
            continue
        key = record.get("begun", record.get("ended"))
        if not isinstance(key, list) or len(key) != 3:
            continue
        debate, played, agent = str(key[0]), int(key[1]), str(key[2])
        if "begun" in record:
            open_.setdefault(debate, set()).add((played, agent))
            continue
        calls = open_.setdefault(debate, set())
        if (played, agent) not in calls:
            continue
        calls.remove((played, agent))
        took = record.get("seconds")
        took = float(took) if isinstance(took, (int, float)) else np.nan
        # maximum keeps an unknown time unknown.
        slowest[debate] = float(np.maximum(slowest.get(debate, 0.0), took))
        if not calls:
            total[debate, played] = total.get((debate, played), 0.0) + slowest.pop(debate)
    for debate, calls in open_.items():
        total |= {(debate, played): np.nan for played, _ in calls}
    return total


def seconds_by_round(log: str | Path, debates: Iterable[str], n_rounds: int) -> NDArray[np.float64] | None:
    """Return the seconds of each round, shape (debates, rounds), from the journal of a log; None without a journal.

    NaN where a round has no time.
    """
    path = journal_path(log)
    if not path.is_file():
        return None
    with path.open("rb") as file:
        found = seconds_of_rounds(file)
    seconds = np.array(
        [[found.get((debate, played), np.nan) for played in range(1, n_rounds + 1)] for debate in debates]
    ).reshape(-1, n_rounds)
    return None if np.isnan(seconds).all() else seconds


def _record(line: bytes) -> Mapping[str, Any] | None:
    if not any(word in line for word in (b'"begun"', b'"ended"', b'"resumed"')):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
