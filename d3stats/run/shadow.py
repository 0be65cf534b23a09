"""What would another stopping rule have done in the debates of a run?

The log has every round that was played, so a rule that would have stopped earlier can be followed exactly, at no
cost. If a rule would have continued, its cost is not known, because no later round was played.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from d3stats._words import counted, percent
from d3stats.planning.costs import bill, tokens_by_round, undecided, verdicts_at
from d3stats.stopping import Rule

if TYPE_CHECKING:
    from d3stats.stopping import StoppingRule

__all__ = ["Shadow", "refuse_batch", "shadow_of"]


@dataclass(frozen=True, kw_only=True)
class Shadow:
    """The savings and verdicts that a rule would have had in the closed debates of a run that another rule stopped.

    Attributes
    ----------
    rule : str
        The rule that was followed.
    file : Path
        Table with a row for each closed debate: ``debate, round, reason, verdict, decision, differs``. Round, reason
        and verdict are empty where the rule would have continued.
    debates, earlier, later : int
        Closed debates, and in how many of them the rule would have stopped before the end, or continued after it.
    differ : int
        Debates in which its verdict would have been another one than the decision of the run.
    rounds_saved, tokens_saved : float or None
        Share of the rounds and tokens of the run that it would have saved; None where they are not known. Debates in
        which it would have continued count with what the run spent, so the shares are then upper limits.
    """

    rule: str
    file: Path
    debates: int
    earlier: int
    later: int
    differ: int
    rounds_saved: float | None
    tokens_saved: float | None

    def __str__(self) -> str:
        if self.rounds_saved is None:
            return f"{self.rule} was followed in no debate, because none is closed."
        parts = [f"{percent(self.rounds_saved)} of the rounds"]
        if self.tokens_saved is not None:
            parts.append(f"{percent(self.tokens_saved)} of the tokens")
        most = "at most " if self.later else ""
        differ = f"{self.differ} of {counted(self.debates, 'verdict')} would differ"
        text = f"{self.rule} would have saved {most}{' and '.join(parts)}; {differ} ({self.file.name})."
        if self.later:
            text += (
                f" In {counted(self.later, 'debate')} it would have continued, at a cost that is not known."
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON can hold them."""
        names = ("rule", "debates", "earlier", "later", "differ", "rounds_saved", "tokens_saved")
        return {name: getattr(self, name) for name in names} | {"file": str(self.file)}


def refuse_batch(rule: StoppingRule) -> None:
    """Refuse a rule that decides for all debates together: what it does depends on debates that are still open."""
    if not isinstance(rule, Rule):
        raise ValueError(
            f"shadow must decide each debate by itself; got {rule}, which decides for a batch; replay it when the run "
            "is over (d3stats replay LOG --rule RULE)"
        )


def shadow_of(log: Path, rule: StoppingRule) -> Shadow:
    """Follow a rule through the closed debates of a log, write its stops beside the log, and add them up."""
    from d3stats.sources import open

    opened = open(str(log))
    recorded = opened.recorded()
    closed = set(opened.checked().verdicts.coded("debate").to_array())
    rows = np.array([name in closed for name in recorded.trajectories.debates]) & (
        recorded.trajectories.depth > 0
    )
    file = log.with_name(f"{log.stem}.shadow.csv")
    t, decision = recorded.trajectories.select(rows), recorded.decision[rows]
    if not len(t):
        _write(file, [])
        return Shadow(
            rule=str(rule),
            file=file,
            debates=0,
            earlier=0,
            later=0,
            differ=0,
            rounds_saved=None,
            tokens_saved=None,
        )
    stops = rule.stop_rounds(t)
    later = undecided(t, stops)
    verdict = np.array([*t.answers, None], dtype=object)[verdicts_at(t, stops.rounds)[0]]
    early = (stops.rounds < t.depth) & ~later
    differs = early & np.array(
        [one != other for one, other in zip(verdict, decision, strict=True)], dtype=bool
    )
    _write(
        file,
        [
            (
                name,
                *(("", "", "") if late else (int(at), str(why), "" if said is None else said)),
                "" if by_run is None else by_run,
                int(other),
            )
            for name, at, why, said, by_run, late, other in zip(
                t.debates, stops.rounds, stops.reasons, verdict, decision, later, differs, strict=True
            )
        ],
    )
    return Shadow(
        rule=str(rule),
        file=file,
        debates=len(t),
        earlier=int(early.sum()),
        later=int(later.sum()),
        differ=int(differs.sum()),
        rounds_saved=float(1 - np.where(later, t.depth, stops.rounds).sum() / t.depth.sum()),
        tokens_saved=_tokens_saved(t, rule, stops.rounds, later),
    )


def _tokens_saved(t: Any, rule: StoppingRule, rounds: Any, later: Any) -> float | None:
    """Return the share of the tokens of the run that a rule saves, over the debates whose tokens are known."""
    spent, paid = tokens_by_round(t), bill(t, rule)
    if spent is None or paid is None:
        return None
    row = np.arange(len(t))
    whole = spent[row, t.depth]
    own = np.where(later, whole, paid[row, rounds])
    known = ~np.isnan(whole + own)
    return float(1 - own[known].sum() / whole[known].sum()) if whole[known].sum() > 0 else None


def _write(file: Path, rows: list[tuple[Any, ...]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("debate", "round", "reason", "verdict", "decision", "differs"))
        writer.writerows(rows)
