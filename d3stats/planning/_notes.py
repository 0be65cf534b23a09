"""What a reader of a replay has to know before believing its table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from d3stats.planning._measures import Outcomes
from d3stats.stopping.rule import Rule, StoppingRule
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = ["FEW_CLUSTERS", "notes_on"]

FEW_CLUSTERS = 30
"""Below this many questions, bootstrap intervals are known to be too short."""


def notes_on(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    names: Sequence[str],
    results: Mapping[str, Outcomes],
    missing: Missing,
    shortened: Collection[str],
    level: float,
) -> tuple[str, ...]:
    """Write one sentence for each thing in the data or the rules that limits what the table says.

    `results` are the outcomes by rule; `shortened` names the rules that stopped any debate short of its depth.
    """
    n = trajectories.n_debates
    notes = []
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
    silent = {name: int((results[name].verdict == MISSING).sum()) for name in names}
    if any(silent.values()):
        treatment = "left out of accuracy and agreement" if missing == "exclude" else "counted as not correct"
        worst = max(silent, key=lambda name: silent[name])
        notes.append(
            f'Debates without any vote at their stop are {treatment} (missing="{missing}"); '
            f"most under {worst}: {silent[worst]} of {n}."
        )
    tied = {name: int(results[name].tied.sum()) for name in names}
    if any(tied.values()):
        worst = max(tied, key=lambda name: tied[name])
        notes.append(
            "A tied plurality goes to the tied answer in the lowest seat; "
            f"most ties under {worst}: {tied[worst]} of {n} debates."
        )
    remarks = (part.remarks(trajectories) for rule in rules for part in rule.parts())
    notes += dict.fromkeys(remark for each in remarks for remark in each)
    tokens = results[names[0]].tokens
    if tokens is not None and np.isnan(tokens).any():
        notes.append(f"Tokens leave out {int(np.isnan(tokens).sum())} of {n} debates with unrecorded tokens.")
    steady = [
        name
        for name in names
        if results[name].agrees.sum() == results[name].compared.sum() and name in shortened
    ]
    if steady:
        unseen = 1.0 - (1.0 - level) ** (1.0 / n_clusters)
        notes.append(
            f"No verdict flipped under {'; '.join(steady)}: the bootstrap then has no width, but up to "
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
