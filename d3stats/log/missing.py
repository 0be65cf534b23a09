"""Why votes are missing: how many of them, by which errors, what the server said last, and what to do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ADVICE", "JournalWords", "MissingVotes", "count_missing", "journal_path", "read_journals"]

SAID_FROM = 0.1
"""A larger share of missing votes is said before anything else."""

FEWEST = 10
"""Of fewer votes no share is looked at."""

ADVICE = {
    "context_full": "give the server a larger context window (slots share llama-server's -c), or debate shorter items",
    "length": "raise --tokens-per-word or --reasoning-tokens",
    "unreadable": "see whether the server keeps to a JSON schema, or try --structured text",
    "empty": "raise --reasoning-tokens, or try --structured text",
    "timeout": "raise --timeout, or lower --concurrency",
    "connection": "look into the log of the server: it breaks connections off",
    "server_error": "look into the log of the server",
    "rate_limited": "lower --rpm or --concurrency, or raise --retries",
    "bad_request": "the server refuses these calls: change the setting that it names",
    "refused_content": "the model refuses these items: try another model",
    "budget": "raise --budget-tokens or --max-usd",
}
"""What to do about an error, by its name in the log."""


@dataclass(frozen=True)
class MissingVotes:
    r"""Votes, or scores that decide, that were asked for and are not there.

    Attributes
    ----------
    asked : int
    reasons : mapping of str to int
        How many are missing, by error; ``"no reason recorded"`` where the log does not say.
    words : mapping of str to str
        The latest words of a server by error.

    Examples
    --------
    >>> missing = MissingVotes(40, {"timeout": 3, "length": 9}, {"length": "cut off at the 336 that were allowed"})
    >>> print("\n".join(missing.sentences()))
    12 of 40 votes are missing (30.0 %): 9 length, 3 timeout.
    length: the last time "cut off at the 336 that were allowed"; raise --tokens-per-word or --reasoning-tokens.
    timeout: raise --timeout, or lower --concurrency.
    """

    asked: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many are missing."""
        return sum(self.reasons.values())

    @property
    def share(self) -> float | None:
        """Of those that were asked for; None when there were none."""
        return self.total / self.asked if self.asked else None

    @property
    def said_first(self) -> bool:
        """Whether so many are missing that a report must begin with it."""
        return self.asked >= FEWEST and (self.share or 0.0) > SAID_FROM

    def sentences(self) -> list[str]:
        """Say how many votes are missing and why, and of each error what was said last and what to do."""
        ordered = sorted(self.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        counted = ", ".join(f"{count} {kind}" for kind, count in ordered)
        lines = [
            f"{self.total:,} of {self.asked:,} votes are missing ({100 * (self.share or 0.0):.1f} %): {counted}."
        ]
        for kind, _ in ordered:
            words, advice = self.words.get(kind), ADVICE.get(kind)
            parts = [part for part in (words and f'the last time "{words}"', advice) if part]
            if parts:
                lines.append(f"{kind}: {'; '.join(parts)}.")
        return lines


@dataclass
class JournalWords:
    """What the journals of runs say besides what calls cost.

    Attributes
    ----------
    words : dict of str to str
        The latest words of a server by error.
    dropped : dict of str to None
        Parameters that servers did not take, in the order in which that was found out.
    voters : set of str
        Roles that are asked for votes, or for scores that decide.
    """

    words: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, None] = field(default_factory=dict)
    voters: set[str] = field(default_factory=set)

    def read(self, record: Mapping[str, Any]) -> None:
        """Take up a line of a journal."""
        if isinstance(said := record.get("words"), dict):
            self.words.update({str(kind): str(text) for kind, text in said.items()})
        if isinstance(dropped := record.get("dropped"), list):
            self.dropped.update(dict.fromkeys(map(str, dropped)))
        if isinstance(voters := record.get("voters"), list):
            self.voters.update(map(str, voters))


def journal_path(log: str | Path) -> Path:
    """Return where the journal of a log lies: ``runs/a.jsonl`` has ``runs/a.calls.jsonl``."""
    path = Path(log)
    return path.with_name(f"{path.stem}.calls.jsonl")


def read_journals(logs: Iterable[Path]) -> JournalWords | None:
    """Read the journals that lie beside logs; None where there is none. A line that is none is passed over."""
    found: JournalWords | None = None
    for path in map(journal_path, logs):
        if not path.is_file():
            continue
        found = JournalWords() if found is None else found
        with path.open("rb") as file:
            for line in file:
                if not any(name in line for name in (b'"words"', b'"dropped"', b'"voters"')):
                    continue
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                if isinstance(record, dict):
                    found.read(record)
    return found


def count_missing(turns: pd.DataFrame, journals: JournalWords | None) -> MissingVotes:
    """Count the votes that are missing from a table of turns.

    With a journal the roles that vote are known, and a vote that is missing without an error was withheld on purpose.
    """
    from d3stats.log.frames import seated

    vote = turns["vote" if "vote" in turns.columns else "correct"]
    if journals is not None and journals.voters:
        asked = turns["role"].isin(journals.voters).to_numpy(dtype=bool)
        missing = asked & vote.isna().to_numpy() & turns["error"].notna().to_numpy()
    else:
        asked = seated(turns)
        missing = asked & vote.isna().to_numpy()
    reasons = Counter(turns["error"][missing].fillna("no reason recorded").map(str))
    return MissingVotes(int(asked.sum()), dict(reasons), {} if journals is None else journals.words)
