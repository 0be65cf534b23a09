"""What a reader of a replay has to know before believing its table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from d3stats._words import counted
from d3stats.planning._measures import Outcomes
from d3stats.stopping import FixedRounds
from d3stats.stopping.rule import Rule, StoppingRule
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = ["FEW_CLUSTERS", "absent_note", "early_notes", "notes_on"]

FEW_CLUSTERS = 30
"""Below this many questions, bootstrap intervals are known to be too short."""


def absent_note(without: int, trajectories: Trajectories) -> list[str]:
    """Say how many debates without turns were left out of the debates that are analysed."""
    if not without:
        return []
    return [f"{without} of {without + trajectories.n_debates} debates have no turns and are left out."]


def early_notes(
    trajectories: Trajectories,
    without: int,
    rules: Sequence[StoppingRule],
    undecided: Mapping[str, int],
    baseline: str,
) -> list[str]:
    """Say what a log whose debates ended early cannot tell.

    Parameters
    ----------
    trajectories : Trajectories
        The debates with turns.
    without : int
        Debates without turns, which were left out.
    rules : sequence of StoppingRule
    undecided : mapping of str to int
        Rules that would have gone on after the end of a debate, and in how many debates.
    baseline : str
        The rule that savings are measured against.
    """
    notes = absent_note(without, trajectories)
    n, last = trajectories.n_debates, trajectories.n_rounds
    short = trajectories.depth < last
    stopped = int((trajectories.ended_early() & ~short).sum())
    if short.any() or stopped:
        before = f"{int(short.sum())} of {n} debates ended before round {last}, the last round of the log"
        at = f"a stopping rule ended {stopped} of {n} debates in round {last}, the last round of the log"
        said = (
            before
            if not stopped
            else at
            if not short.any()
            else f"{before}; a stopping rule ended {stopped} in it"
        )
        notes.append(
            f"{said[0].upper()}{said[1:]}: what full depth would have decided in them is unknown, so agreement, flips, "
            "gained, lost and savings against full depth are left out. To compare with full depth, play the debates "
            "without a stopping rule."
        )
    if undecided:
        listed = "; ".join(f"{name} ({counted(count, 'debate')})" for name, count in undecided.items())
        notes.append(
            f"Rules without numbers, because debates ended before the rule would have stopped: {listed}."
        )
    if baseline in undecided:
        notes.append(
            f"Savings against {baseline} are left out, because {counted(undecided[baseline], 'debate')} ended before "
            "it would have stopped."
        )
    longer = [
        str(rule)
        for rule in rules
        if isinstance(rule, FixedRounds) and rule.n > last and str(rule) not in undecided
    ]
    if longer:
        notes.append(
            f"Asks for more rounds than the log has and is cut at round {last}: {'; '.join(longer)}."
        )
    return notes


def _votes_at_the_end(trajectories: Trajectories) -> bool:
    """Whether votes come in the last round of debates of several rounds and never before."""
    t = trajectories
    voted = (t.votes != MISSING).any(axis=2)
    last = np.arange(t.n_rounds) == t.depth[:, None] - 1
    several = (t.depth > 1)[:, None]
    return bool((voted & last & several).any() and not (voted & ~last).any())


def notes_on(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    names: Sequence[str],
    results: Mapping[str, Outcomes],
    missing: Missing,
    shortened: Collection[str],
    level: float,
    undecided: Collection[str] = (),
) -> tuple[str, ...]:
    """Write one sentence for each thing in the data or the rules that limits what the table says.

    `results` are the outcomes by rule; `shortened` names the rules that stopped any debate short of its depth,
    `undecided` those without numbers, of which nothing is said.
    """
    n = trajectories.n_debates
    decided = [name for name in names if name not in undecided]
    notes = [*trajectories.notes]
    n_clusters = len(np.unique(trajectories.cluster))
    if n_clusters < FEW_CLUSTERS:
        notes.append(
            f"Only {n_clusters} questions: the intervals are too short with fewer than {FEW_CLUSTERS}."
        )
    if trajectories.coding == "correctness":
        notes.append(
            'Votes are coded right or wrong (coding="correctness"): two wrong votes look equal, so wrong '
            "unanimity and wrong pluralities are assumptions, not observations."
        )
    unlabelled = int((trajectories.label == MISSING).sum())
    if unlabelled:
        notes.append(f"{unlabelled} of {n} debates have no label: accuracy, gained and lost leave them out.")
    silent = {name: int((results[name].verdict == MISSING).sum()) for name in decided}
    if any(silent.values()):
        treatment = "left out of accuracy and agreement" if missing == "exclude" else "counted as not correct"
        worst = max(silent, key=lambda name: silent[name])
        notes.append(
            f'Debates without any vote at their stop are {treatment} (missing="{missing}"); '
            f"most under {worst}: {silent[worst]} of {n}."
        )
    tied = {name: int(results[name].tied.sum()) for name in decided}
    if any(tied.values()):
        worst = max(tied, key=lambda name: tied[name])
        notes.append(
            "A tied plurality goes to the tied answer in the lowest seat; "
            f"most ties under {worst}: {tied[worst]} of {n} debates."
        )
    remarks = (part.remarks(trajectories) for rule in rules for part in rule.parts())
    notes += dict.fromkeys(remark for each in remarks for remark in each)
    tokens = results[names[0]].tokens
    short = [name for name in decided if name in shortened]
    if short and tokens is not None and _votes_at_the_end(trajectories):
        notes.append(
            f"No debate has a vote before its last round, so what stops earlier has no verdict ({'; '.join(short)}); "
            "where the voters were asked only then, its tokens leave out what asking them costs."
        )
    if tokens is not None and np.isnan(tokens).any():
        notes.append(f"Tokens leave out {int(np.isnan(tokens).sum())} of {n} debates with unrecorded tokens.")
    steady = [
        name
        for name in decided
        if 0 < results[name].compared.sum() == results[name].agrees.sum() and name in shortened
    ]
    if steady:
        unseen = 1.0 - (1.0 - level) ** (1.0 / n_clusters)
        notes.append(
            f"No verdict flipped under {'; '.join(steady)}: up to "
            f"{unseen:.1%} of questions could flip unseen among {n_clusters} ({level:.0%} bound)."
        )
    batch = [str(name) for rule, name in zip(rules, names, strict=True) if not isinstance(rule, Rule)]
    if batch:
        notes.append(
            f"Decided for the whole batch: {'; '.join(batch)}. The batch's stop is held where it was, so the "
            "intervals leave out that another batch might have stopped in another round."
        )
    peeking = [
        name
        for rule, name in zip(rules, names, strict=True)
        if any(part.needs_labels for part in rule.parts())
    ]
    if peeking:
        notes.append(
            f"Looks at the right answers, which a running debate does not have: {'; '.join(peeking)}."
        )
    return tuple(notes)
