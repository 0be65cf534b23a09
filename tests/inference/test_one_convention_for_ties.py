"""A tie that nothing decides is a missing verdict, and a tie that is an answer is one, whatever counts verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from layers import sampled

from d3stats.inference.judges import agreement
from d3stats.log import LogWriter
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.planning import replay
from d3stats.planning.describe import fit
from d3stats.report.in_short import _right
from d3stats.report.source import read_sources
from d3stats.sources.runs import as_run

WITH_TIE = ("A", "B", "tie")


def decided(votes: list[str], answers: tuple[str, ...]) -> str | None:
    """Count by hand: the answer of most votes; of both sides, "tie" where it may be voted for."""
    counts = {answer: votes.count(answer) for answer in answers}
    leading = [answer for answer, n in counts.items() if n == max(counts.values())]
    if len(leading) == 1:
        return leading[0]
    return "tie" if {"A", "B"} <= set(leading) and "tie" in answers else None


def log_of(
    path: Path, answers: tuple[str, ...], cast: tuple[str, ...], *, verdicts: bool
) -> tuple[Path, list[bool | None]]:
    """Write debates of four panelists; return the file, and for each debate whether its decision is right."""
    rng = np.random.default_rng(8)
    right: list[bool | None] = []
    with LogWriter(path) as log:
        for i in range(60):
            label = "AB"[i % 2]
            log.write(
                Item(debate=f"d{i}", question=f"q{i}", label=label, answers=answers, protocol="stability")
            )
            votes = [label if rng.random() < 0.6 else str(rng.choice(cast)) for _ in range(4)]
            for seat, vote in enumerate(votes, start=1):
                name = f"panelist {seat}"
                log.write(Turn(debate=f"d{i}", round=1, agent=name, role="panelist", vote=vote))
            decision = decided(votes, answers)
            right.append(None if decision is None else decision == label)
            if verdicts:
                log.write(Verdict(debate=f"d{i}", decision=decision, round=1, stop_reason="exhausted"))
    return path, right


@sampled(
    "answers, cast, verdicts",
    [
        (answers, cast, verdicts)
        for answers, cast in ((("A", "B"), ("A", "B")), (WITH_TIE, ("A", "B")), (WITH_TIE, WITH_TIE))
        for verdicts in (True, False)
    ],
    (0, 3),
)
def test_one_log_with_ties_has_one_accuracy(
    tmp_path: Path, answers: tuple[str, ...], cast: tuple[str, ...], verdicts: bool
) -> None:
    path, right = log_of(tmp_path / "log.jsonl", answers, cast, verdicts=verdicts)
    known = [one for one in right if one is not None]
    assert 0 < sum(known) < len(known)
    assert len(known) < 60 or answers != ("A", "B")
    for missing, accuracy in (("exclude", np.mean(known)), ("wrong", sum(known) / 60)):
        found: Any = missing
        table = replay(path, "full", missing=found).to_frame().set_index("rule")
        rounds = fit(path, n_components=1, n_boot=10, missing=found, rng=1)
        run = as_run(path, by="debate", missing=found)
        figure = _right(read_sources([path])[0], 0.95, found)
        seen = {
            "replay": table.loc["full", "accuracy"],
            "describe": rounds.to_frame()["accuracy"].iloc[-1],
            "compare": np.nanmean(run.value),
            "report": figure.value,
        }
        assert seen == pytest.approx(dict.fromkeys(seen, accuracy))
    pair = agreement(path, a="label", b="decision")
    assert pair.to_frame()["value"].iloc[0] == pytest.approx(np.mean(known))
    left_out = 60 - len(known)
    assert left_out == 0 or any(f"{left_out} of 60" in note for note in pair.notes)


def test_the_number_of_undecided_ties_is_said(tmp_path: Path) -> None:
    path, right = log_of(tmp_path / "log.jsonl", ("A", "B"), ("A", "B"), verdicts=False)
    undecided = right.count(None)
    notes = " ".join(replay(path, "full").notes)
    assert f"{undecided} of 60" in notes
    assert f"{undecided} debates without a decision" in " ".join(
        agreement(path, a="label", b="decision").notes
    )
