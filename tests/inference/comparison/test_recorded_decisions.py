"""Runs read from a log: what was decided, not what the plurality of the votes would have decided."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from d3stats import Trajectories
from d3stats.inference import agreement, as_ratings, as_run, compare, jury_curve
from d3stats.inference.bias import as_judgments, persona_effect, position_bias
from d3stats.log import Item, LogWriter, Turn, Verdict
from d3stats.sources import open as open_source

PAIR = ("A", "B")
SEATS = {"moderator": "moderator", "debater, affirmative": "affirmative", "debater, negative": "negative"}

DEBATES = {
    # debate: label, votes of moderator and both debaters, decision
    "q1": ("A", "ABB", "A"),  # right, though the plurality is wrong
    "q2": ("B", "AAB", "A"),  # wrong, and so is the plurality
    "q3": ("B", "ABB", "A"),  # wrong, though the plurality is right
    "q4": ("A", "AAA", "A"),  # right, and so is the plurality
    "q5": ("A", "-AA", None),  # nothing was decided, though a plurality is there
}


def write(path: Path, *, verdicts: bool = True, open_debate: str = "") -> Path:
    with LogWriter(path, fsync="never") as log:
        for debate, (label, votes, decision) in DEBATES.items():
            log.write(Item(debate=debate, question=debate, label=label, answers=PAIR))
            for (agent, role), said in zip(SEATS.items(), votes, strict=True):
                vote = None if said == "-" else said
                log.write(Turn(debate=debate, round=1, agent=agent, role=role, vote=vote))
            if verdicts and debate != open_debate:
                log.write(Verdict(debate=debate, decision=decision, round=1, stop_reason="declaration"))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "moderated.jsonl")


def values(run: object) -> dict[str, float]:
    return dict(zip(run.items, run.value.tolist(), strict=True))  # type: ignore[attr-defined]  # a Run


def test_a_log_is_read_by_its_decisions(path: Path) -> None:
    run = as_run(path)
    np.testing.assert_equal(values(run), {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 1.0, "q5": np.nan})
    assert run.notes[0] == (
        'verdicts are the recorded decisions; the plurality of the votes, value="plurality" (--value plurality), '
        "differs in 2 of 5 debates; 1 without a decision are missing"
    )


def test_verdict_is_the_default(path: Path) -> None:
    np.testing.assert_equal(values(as_run(path, value="verdict")), values(as_run(path)))


def test_the_plurality_can_be_asked_for(path: Path) -> None:
    run = as_run(path, value="plurality")
    assert values(run) == {"q1": 0.0, "q2": 0.0, "q3": 1.0, "q4": 1.0, "q5": 1.0}
    said = "verdicts are pluralities of the votes; the recorded decision differs in 2 of 5 debates"
    assert said in run.notes


def test_a_round_that_is_asked_for_is_read_by_its_votes(path: Path) -> None:
    run = as_run(path, round_number=1)
    assert values(run) == values(as_run(path, value="plurality"))
    assert "verdicts are the pluralities of the votes up to round 1, not recorded decisions" in run.notes


def test_trajectories_know_votes_only(path: Path) -> None:
    run = as_run(Trajectories.from_log(path))
    assert values(run) == values(as_run(path, value="plurality"))
    assert run.notes == ()


def test_a_log_without_verdict_records_keeps_the_plurality_without_a_word(tmp_path: Path) -> None:
    run = as_run(write(tmp_path / "votes.jsonl", verdicts=False))
    assert values(run) == {"q1": 0.0, "q2": 0.0, "q3": 1.0, "q4": 1.0, "q5": 1.0}
    assert run.notes == ()


def test_a_debate_that_was_never_closed_is_missing(tmp_path: Path) -> None:
    run = as_run(write(tmp_path / "open.jsonl", open_debate="q4"))
    assert np.isnan(values(run)["q4"])
    assert "2 without a decision are missing" in run.notes[0]


def test_no_decision_is_wrong_only_where_missing_is_asked_to_be(path: Path) -> None:
    assert values(as_run(path, missing="wrong"))["q5"] == 0.0


def test_shares_of_votes_are_as_they_were(path: Path) -> None:
    np.testing.assert_allclose(as_run(path, value="votes").value, [1 / 3, 1 / 3, 2 / 3, 1, 1])


def test_a_comparison_has_the_accuracy_that_the_debates_had(path: Path) -> None:
    found = compare(path, path, names=("a", "b"), missing="wrong", rng=1)
    assert found.runs[0].value == pytest.approx(2 / 5)
    assert any(note.startswith("both runs: verdicts are the recorded decisions") for note in found.notes)
    by_votes = compare(path, path, names=("a", "b"), value="plurality", rng=1)
    assert by_votes.runs[0].value == pytest.approx(3 / 5)


def test_a_table_of_a_log_has_its_decisions_too(tmp_path: Path) -> None:
    table = tmp_path / "debates.csv"
    rows = [
        "debate,round,agent,vote,label,closed,decision",
        "d1,1,x,A,A,1,B",
        "d1,1,y,A,A,1,B",
        "d2,1,x,A,A,1,A",
    ]
    table.write_text("\n".join([*rows, "d2,1,y,A,A,1,A", ""]))
    assert values(as_run(table)) == {"d1": 0.0, "d2": 1.0}


def test_votes_that_are_only_right_or_wrong_cannot_be_held_against_decisions(tmp_path: Path) -> None:
    table = tmp_path / "debates.csv"
    table.write_text(
        "debate,round,agent,correct,closed,decision\nd1,1,x,1,1,B\nd1,1,y,1,1,B\nd2,1,x,0,1,B\nd2,1,y,0,1,B\n"
    )
    run = as_run(table)
    assert values(run) == {"d1": 1.0, "d2": 0.0}
    assert run.notes == ()


def test_decisions_in_another_spelling_than_the_labels_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "spelt.jsonl"
    with LogWriter(path, fsync="never") as log:
        for k in range(4):
            log.write(Item(debate=f"d{k}", question=f"d{k}", label="yes"))
            log.write(Turn(debate=f"d{k}", round=1, agent="x", vote="yes"))
            log.write(Verdict(debate=f"d{k}", decision="Yes", round=1, stop_reason="moderator"))
    with pytest.raises(ValueError, match="must be spelled alike; got 'Yes' and 'yes'"):
        as_run(path)


def test_what_differs_is_counted_by_roles(path: Path) -> None:
    everybody, one = open_source(path).recorded(), open_source(path, roles=["moderator"]).recorded()
    assert everybody.differs.tolist() == [True, False, True, False, False]
    said = everybody.note()
    assert said is not None
    assert "in 2 of 5 debates" in said
    assert "(here: affirmative, moderator, negative)" in said
    assert one.note() is None


# ------------------------------------------------------------------ both orders


def both_orders(path: Path, *, first: bool = True, runs: tuple[str, ...] = ("",)) -> Path:
    """Ten questions in both orders; the judge is swayed on the first four, the jury decides for A throughout."""
    with LogWriter(path, fsync="never") as log:
        for run in runs:
            for k in range(10):
                for shown in PAIR:
                    debate = f"{run}q{k}/{shown}"
                    log.write(
                        Item(
                            debate=debate,
                            question=f"q{k}",
                            label="A",
                            answers=PAIR,
                            log=run or None,
                            first=shown if first else None,
                        )
                    )
                    log.write(Turn(debate=debate, round=1, agent="advocate A", role="advocate"))
                    vote = shown if k < 4 else "A"
                    log.write(Turn(debate=debate, round=1, agent="juror 1", role="juror", vote=vote))
                    log.write(Turn(debate=debate, round=1, agent="juror 2", role="juror", vote="A"))
                    log.write(Verdict(debate=debate, decision="A", round=1, stop_reason="one_round"))
    return path


def test_both_orders_of_a_question_are_paired_by_what_was_shown_first(tmp_path: Path) -> None:
    path = both_orders(tmp_path / "log.jsonl")
    swayed = position_bias(path, judge="juror 1")
    assert (swayed.consistent, swayed.first, swayed.second) == (6, 4, 0)
    assert swayed["swap consistency"].value == pytest.approx(0.6)
    assert swayed["swap consistency"].n_clusters == 10


def test_the_protocol_is_a_judge_by_what_it_decided(tmp_path: Path) -> None:
    audit = position_bias(both_orders(tmp_path / "log.jsonl"), judge="decision")
    assert audit["swap consistency"].value == 1.0
    assert audit.n_pairs == 10


def test_who_never_votes_is_no_judge(tmp_path: Path) -> None:
    path = both_orders(tmp_path / "log.jsonl")
    assert as_judgments(path).judges == ("juror 1", "juror 2")
    assert as_judgments(path, decisions=True).judges == ("decision", "juror 1", "juror 2")


def test_decisions_are_no_persona(tmp_path: Path) -> None:
    audit = persona_effect(both_orders(tmp_path / "log.jsonl"))
    assert "accuracy, juror 1" in {e.name for e in audit.estimates}
    assert not any("decision" in e.name for e in audit.estimates)


def test_judges_of_several_runs_in_one_file_are_kept_apart(tmp_path: Path) -> None:
    found = as_judgments(both_orders(tmp_path / "log.jsonl", runs=("r", "s")), decisions=True)
    assert set(found.judges) == {
        f"{run}: {who}" for run in "rs" for who in ("decision", "juror 1", "juror 2")
    }


def test_a_log_that_does_not_say_what_was_shown_first_is_refused_in_a_line(tmp_path: Path) -> None:
    path = both_orders(tmp_path / "log.jsonl", first=False)
    with pytest.raises(
        ValueError,
        match=r"got none of 'juror 1'; .* in a debate log the field first of an "
        r"item",
    ):
        position_bias(path, judge="juror 1")


def test_the_order_in_a_seats_name_goes_before_the_debates(tmp_path: Path) -> None:
    path = tmp_path / "calibrated.jsonl"
    with LogWriter(path, fsync="never") as log:
        for k in range(3):
            log.write(Item(debate=f"q{k}", question=f"q{k}", label="A", answers=PAIR, first="A"))
            for side in PAIR:
                seat = f"judge, {side} first"
                log.write(Turn(debate=f"q{k}", round=1, agent=seat, role="judge", vote=side))
    audit = position_bias(path)
    assert (audit.judge, audit.first, audit.n_pairs) == ("judge", 3, 3)


# ------------------------------------------------------------------ raters


def test_raters_of_a_log_are_those_who_vote(tmp_path: Path) -> None:
    path = both_orders(tmp_path / "log.jsonl")
    ratings = as_ratings(path)
    assert ratings.raters == ("juror 1", "juror 2")
    assert not (ratings.codes < 0).any()
    assert agreement(path, n_boot=50, rng=1).refused == {}
    assert jury_curve(path, rng=1).curve["k"].tolist() == [1, 2]


def test_a_debate_in_which_no_rater_spoke_is_told_of(tmp_path: Path) -> None:
    path = both_orders(tmp_path / "log.jsonl")
    with LogWriter(path, fsync="never") as log:
        log.write(Item(debate="cut", question="cut", label="A", answers=PAIR))
        log.write(Turn(debate="cut", round=1, agent="advocate A", role="advocate"))
    assert "in 1 debate no rater had a turn, so they are left out" in as_ratings(path).notes
