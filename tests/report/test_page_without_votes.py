"""What a page and its command say where no agent votes, or votes come only at the end of a debate."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import LogWriter
from d3stats.log.schema import Item, Turn, Verdict


def log_of(path: Path, votes: str) -> Path:
    """Write SAMRE debates of two rounds; the jury votes never, at the end, or in every round."""
    with LogWriter(path) as log:
        for i in range(24):
            label = "AB"[i % 2]
            log.write(
                Item(debate=f"d{i}", question=f"q{i}", label=label, answers=("A", "B"), protocol="samre")
            )
            for r in (1, 2):
                scores = {"A": {"all": 60.0 + i % 5}, "B": {"all": 61.0}}
                log.write(Turn(debate=f"d{i}", round=r, agent="judge", role="judge", scores=scores))
                if votes == "every round" or (votes == "end" and r == 2):
                    for j in (1, 2, 3):
                        vote = label if (i + j) % 3 else "A"
                        name = f"juror {j}"
                        log.write(Turn(debate=f"d{i}", round=r, agent=name, role="juror", vote=vote))
            log.write(Verdict(debate=f"d{i}", decision=label, round=2, stop_reason="exhausted"))
    return path


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize("votes", ["never", "end", "every round"])
def test_the_page_warns_of_no_votes_and_advises_a_plan_only_where_one_can_be_made(
    tmp_path: Path, votes: str
) -> None:
    log, page = log_of(tmp_path / "log.jsonl", votes), tmp_path / "page.html"
    done = CliRunner().invoke(app, ["report", str(log), "-o", str(page), "--n-boot", "20"])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.stdout.split())
    above = page.read_text(encoding="utf-8").split("<table", 1)[0]
    assert ("No debate has a vote" in above) == ("No debate has a vote" in shown) == (votes == "never")
    assert shown.startswith("Run ") == (votes == "every round")
    assert ("poll=every_round" in shown.partition("Next:")[2]) == (votes == "end")
    planned = CliRunner().invoke(app, ["plan", str(log), "--n-draws", "50"])
    assert (planned.exit_code == 0) == (votes == "every round")
