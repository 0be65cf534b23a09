"""Logs of real Inspect runs become debate logs: what is a vote, what is missing, and why."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from d3stats.bridges.inspect import read_inspect_log, write_debate_log
from d3stats.log import doctor
from d3stats.log.importers.answers import canonical_number
from d3stats.log.importers.inspect_logs import grade_of, vote_of
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.trajectories import Trajectories


def turns_of(where: str, **options: Any) -> list[Turn]:
    return [record for record in read_inspect_log(where, **options) if isinstance(record, Turn)]


def items_of(where: str, **options: Any) -> list[Item]:
    return [record for record in read_inspect_log(where, **options) if isinstance(record, Item)]


def test_epochs_become_the_votes_of_one_debate(full: Any, tmp_path: Path) -> None:
    assert full.status == "success"
    summary = write_debate_log(full.location, tmp_path / "log.jsonl")
    assert (summary.n_debates, summary.n_turns, summary.n_missing_votes) == (3, 18, 1)
    assert doctor(tmp_path / "log.jsonl").exit_code == 0
    t = Trajectories.from_log(tmp_path / "log.jsonl")
    said = [[t.answers[v] if v >= 0 else None for v in row[:, 0]] for row in t.votes]
    # The scorer accepted "$18.00", so it is the same vote as 18; "no idea" is none.
    assert said == [["18", "20", "18", "18", "18", "18"], ["4"] * 6, ["6", "9", "6", "9", None, "6"]]
    assert [t.answers[v] for v in t.label] == ["18", "4", "9"]
    np.testing.assert_array_equal(t.tokens, np.full((3, 6), 11 + 7))


def test_both_formats_of_inspect_say_the_same(run: Any) -> None:
    one, other = (
        list(read_inspect_log(run(log_format=kind).location, text=True)) for kind in ("eval", "json")
    )
    assert one == other
    assert one[0].text == "What is 9 + 9?"


def test_a_vote_equals_the_label_exactly_where_the_scorer_said_correct(full: Any) -> None:
    accepted = {(s.id, s.epoch): s.scores["number"].value == "C" for s in full.samples}
    label = {item.debate: item.label for item in items_of(full.location)}
    seen = {
        (turn.debate.rpartition(": ")[2], turn.round): turn.vote == label[turn.debate]
        for turn in turns_of(full.location)
    }
    assert seen == accepted


def test_an_answer_as_it_stands_may_differ_from_a_target_that_it_equals(full: Any) -> None:
    where = full.location
    assert turns_of(where, votes="answer")[2].vote == "$18.00"
    assert turns_of(where, votes="answer", canonical=canonical_number)[2].vote == "18"


def test_a_panel_of_epochs_is_a_round(full: Any) -> None:
    where = full.location
    places = [(turn.round, turn.agent) for turn in turns_of(where, panel=3)[:6]]
    assert places == [(r, f"seat {s}") for r in (1, 2) for s in (1, 2, 3)]
    together = turns_of(where, panel=None)[:6]
    assert {turn.round for turn in together} == {1}
    assert len({turn.agent for turn in together}) == 6


def test_epochs_can_be_debates_that_share_their_question(full: Any, tmp_path: Path) -> None:
    where = full.location
    write_debate_log(where, tmp_path / "log.jsonl", epochs="debates", cluster="topic")
    assert Trajectories.from_log(tmp_path / "log.jsonl").votes.shape == (18, 1, 1)
    report = doctor(tmp_path / "log.jsonl")
    assert not report.problems
    assert {f.kind for f in report.findings} == {"debates without a vote"}
    items = items_of(where, epochs="debates", cluster="topic")
    assert len({item.debate for item in items}) == 18
    assert {item.question for item in items} == {"q1", "q2", "q3"}
    assert {item.cluster for item in items} == {"sums"}
    with pytest.raises(
        ValueError, match="cluster must be a key of every sample's metadata; got cluster='tpoic'"
    ):
        items_of(where, cluster="tpoic")


def test_grades_are_votes_where_the_scorer_leaves_no_answer(run: Any) -> None:
    where = run(scorers=[run.number(answered=False)]).location
    assert {turn.error for turn in turns_of(where)} == {"no_answer"}
    assert {item.label for item in items_of(where, votes="grade")} == {"correct"}
    votes = [turn.vote for turn in turns_of(where, votes="grade") if turn.debate.endswith("q3")]
    assert votes == ["incorrect", "correct", "incorrect", "correct", "incorrect", "incorrect"]


def test_the_scorer_has_to_be_clear(run: Any) -> None:
    where = run(scorers=[run.number("first"), run.number("second")]).location
    with pytest.raises(ValueError, match=r"scorer must be given .*'first', 'second'"):
        turns_of(where)
    with pytest.raises(ValueError, match=r"scorer must be one of .*got scorer='third'"):
        turns_of(where, scorer="third")
    assert len(turns_of(where, scorer="second")) == 18


def test_a_sample_that_failed_is_a_missing_vote_with_its_reason(run: Any) -> None:
    replies = {"q1": ("What is 9 + 9?", "18", ["18", None, "18"])}
    turns = turns_of(run(replies, epochs=3, fail_on_error=False).location)
    assert [(turn.vote, turn.error) for turn in turns] == [
        ("18", None),
        (None, "sample_error"),
        ("18", None),
    ]
    assert [turn.tokens_in for turn in turns] == [11, None, 11]


def test_a_run_that_broke_off_is_read_as_far_as_it_went_and_not_closed(run: Any) -> None:
    replies = {"q1": ("What is 9 + 9?", "18", ["18", "18", None, "18"])}
    log = run(replies, epochs=4, at_once=1)
    assert log.status == "error"
    records = list(read_inspect_log(log.location))
    votes = [turn.vote for turn in records if isinstance(turn, Turn)]
    # Older versions of Inspect do not log an epoch that never began.
    assert (votes[:3], votes[3:]) in [(["18", "18", None], [None]), (["18", "18", None], [])]
    assert not [record for record in records if isinstance(record, Verdict)]
    assert len(list(read_inspect_log(run(replies, epochs=2).location))) == 4


def test_letters_are_a_closed_set_and_anything_else_is_no_choice(run: Any) -> None:
    replies = {"q": ("Which is red?", "B", ["A", "B", "A, B"])}
    where = run(replies, epochs=3, choices=["sky", "rose"], scorers=[run.letter()]).location
    (item,) = items_of(where, text=True)
    assert item.answers == ("A", "B")
    assert item.text == "Which is red?\nA) sky\nB) rose"
    assert [(turn.vote, turn.error) for turn in turns_of(where)] == [
        ("A", None),
        ("B", None),
        (None, "not_a_choice"),
    ]


def test_several_logs_become_one_with_names_of_their_own(run: Any, full: Any, tmp_path: Path) -> None:
    first, second = full.location, run(epochs=2).location
    out = tmp_path / "both.jsonl"
    summary = write_debate_log({"first run": first, "second run": second}, out)
    assert (summary.n_debates, summary.n_turns) == (6, 24)
    assert doctor(out).exit_code == 0
    with pytest.raises(FileExistsError, match="destination must not exist"):
        write_debate_log(first, out)


def test_what_is_no_log_is_one_clear_line_and_leaves_no_file(run: Any, tmp_path: Path) -> None:
    for name, content in (("broken.eval", b"PK not a zip"), ("other.json", b'{"a": 1}'), ("empty.eval", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="path must be an Inspect log") as caught:
            write_debate_log(tmp_path / name, tmp_path / "log.jsonl")
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match="path must exist"):
        write_debate_log(tmp_path / "nowhere.eval", tmp_path / "log.jsonl")
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_log_is_read_without_inspect_and_what_cannot_be_unpacked_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, full: Any, tmp_path: Path
) -> None:
    votes = [turn.vote for turn in turns_of(full.location)]
    plain = tmp_path / "plain.eval"
    import zipfile_zstd  # noqa: F401  (with which zipfile unpacks the log)

    with zipfile.ZipFile(full.location) as packed, zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as other:
        for name in packed.namelist():
            other.writestr(name, packed.read(name))
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    assert [turn.vote for turn in turns_of(full.location)] == votes
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert [turn.vote for turn in turns_of(str(plain))] == votes
    with pytest.raises(ImportError, match=r'pip install "d3stats\[inspect\]"'):
        turns_of(full.location)


def test_importing_the_bridge_loads_nothing_of_inspect() -> None:
    code = (
        "import sys, d3stats.bridges.inspect\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('inspect_ai', 'anyio', 'openai')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("value", "answer", "reading", "vote"),
    [
        ("C", "$18.00", "accepted", ("18", None)),
        ("I", "18", "accepted", (None, "contradiction")),
        ("I", "18", "answer", ("18", None)),
        (1, "eighteen", "accepted", ("18", None)),
        (0.5, "17", "accepted", ("17", None)),
        (float("nan"), "17", "accepted", (None, "no_grade")),
        (float("nan"), "17", "answer", ("17", None)),
        ("C", "  ", "accepted", (None, "no_answer")),
        ("P", None, "grade", ("partial", None)),
        ("N", None, "grade", (None, "no_grade")),
        ({"a": 1}, "17", "grade", (None, "no_grade")),
    ],
)
def test_a_score_is_a_vote_or_a_reason_never_a_guess(
    value: Any, answer: str | None, reading: Any, vote: tuple[str | None, str | None]
) -> None:
    scorer = pytest.importorskip("inspect_ai.scorer", reason="INSPECT BRIDGE NOT CHECKED: no inspect_ai")
    assert vote_of(scorer.Score(value=value, answer=answer), reading=reading, label="18") == vote


@pytest.mark.parametrize("value", ["C", "I", "P", "N", 1, 0, 0.5, 0.999, True, False, "yes", ["C"], {"a": 1}])
@pytest.mark.parametrize("answer", ["18", "17", " 18 "])
def test_an_accepted_vote_equals_the_label_exactly_where_the_scorer_calls_it_correct(
    value: Any, answer: str
) -> None:
    scorer = pytest.importorskip("inspect_ai.scorer", reason="INSPECT BRIDGE NOT CHECKED: no inspect_ai")
    vote, error = vote_of(scorer.Score(value=value, answer=answer), label="18")
    assert (vote == "18") == (grade_of(value) == "correct")
    assert (vote is None) == (error is not None)


def test_the_scorers_own_reason_is_kept() -> None:
    scorer = pytest.importorskip("inspect_ai.scorer", reason="INSPECT BRIDGE NOT CHECKED: no inspect_ai")
    if "reason" not in scorer.Score.model_fields:
        pytest.skip("the scores of this version of Inspect carry no reason")
    score = scorer.Score(value=float("nan"), answer=None, reason="grader_refused")
    assert vote_of(score, label="18") == (None, "grader_refused")
