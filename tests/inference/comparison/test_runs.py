"""A run is read from whatever holds one, and runs are put side by side or refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import d3stats
from d3stats import LogWriter, Trajectories
from d3stats.inference import ItemMismatch, Run, as_run, pair
from d3stats.log.schema import Item, Turn


def table(correct: list[float | None], **columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"q{k + 1}" for k in range(len(correct))], "correct": correct, **columns})


def trajectories() -> Trajectories:
    votes = [
        [["A", "A", "B"], ["A", "B", "B"]],
        [["B", "A", "B"], ["A", "A", "B"]],
        [["A", None, None], [None, None, None]],
    ]
    return Trajectories.from_arrays(
        votes, ["A", "A", "A"], cluster=["q1", "q1", "q2"], debates=["d1", "d2", "d3"],
        tokens=[[10, 20], [10, 30], [5, np.nan]], scores=[[[1, 2], [3, 4]]] * 3, sides=["pro", "con"],
        depth=[2, 2, 2],
    )  # fmt: skip


def test_a_table_a_series_and_a_file_hold_the_same_run(tmp_path: Path) -> None:
    frame = table([1, 0, 1], cluster=["c1", "c1", "c2"])
    frame.to_csv(tmp_path / "run.csv", index=False)
    series = frame.set_index("item")["correct"]
    for source in (frame, tmp_path / "run.csv", str(tmp_path / "run.csv")):
        run = as_run(source)
        assert (run.items, run.cluster, run.binary) == (("q1", "q2", "q3"), ("c1", "c1", "c2"), True)
        assert run.value.tolist() == [1, 0, 1]
    assert as_run(tmp_path / "run.csv").name == "run"
    assert as_run(series).cluster == ("q1", "q2", "q3")
    assert not as_run(series).clustered
    assert as_run(series).name == "correct"


def test_a_parquet_table_is_read_as_a_table(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "run.parquet"
    duckdb.sql(
        f"COPY (SELECT * FROM (VALUES ('q1', 1, 'c'), ('q2', 0, 'c')) t(item, correct, cluster)) TO '{path}'"
    )
    run = as_run(path)
    assert (run.value.tolist(), run.cluster) == ([1.0, 0.0], ("c", "c"))


def test_a_table_of_text_keeps_its_words(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,vote,label\n007,none,none\n08,A,B\n9,,A\nNA,A,A\n")
    run = as_run(path, missing_values=["unparsed"])
    assert run.items == ("007", "08", "9", "NA")
    np.testing.assert_array_equal(run.value, [1, 0, np.nan, 1])


def test_a_word_for_missing_is_missing_with_a_note_in_every_column_but_names(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,vote,label,cluster\nq1,A,A,c\nq2,NA,A,c\nq3,A,NA,NA\nq4,None,A,d\n")
    run = as_run(path)
    np.testing.assert_array_equal(run.value, [1, np.nan, np.nan, np.nan])
    assert (run.unlabelled, run.cluster) == (("q3",), ("c", "c", "q3", "d"))
    assert run.notes[0].startswith(
        "WARNING: 2 votes and 1 label are read as missing: 'NA' (2), 'None' (1); if"
    )
    assert "1 item without a cluster, while others have one, forms a cluster of its own" in run.notes
    path.write_text("item,score\nq1,0.5\nq2,NA\n")
    np.testing.assert_array_equal(as_run(path).value, [0.5, np.nan])


@pytest.mark.parametrize("votes", [[1, 2, 1], ["1", "2", "1"], [1.0, 2.0, 1.0], ["1.0", "2", "1"]])
@pytest.mark.parametrize("labels", [[1, 2, 2], ["1", "2", "2"], [1.0, 2.0, 2.0], ["1", "2.0", "2"]])
def test_votes_and_labels_meet_as_text_however_they_are_typed(
    votes: list[object], labels: list[object]
) -> None:
    run = as_run(pd.DataFrame({"item": ["q1", "q2", "q3"], "vote": votes, "label": labels}))
    assert (run.value.tolist(), run.label) == ([1, 1, 0], ("1", "2", "2"))
    several = any(x == "1.0" or x == "2.0" for x in (*votes, *labels) if isinstance(x, str))
    assert len(run.notes) == several, run.notes


def voted(votes: list[str], labels: list[str | None], **columns: list[str]) -> pd.DataFrame:
    items = [f"q{k + 1}" for k in range(len(votes))]
    return pd.DataFrame({"item": items, "vote": votes, "label": labels, **columns})


def test_votes_that_are_never_a_label_are_refused_or_told_loudly() -> None:
    with pytest.raises(
        ValueError,
        match=r"votes and labels must be spelled alike; got 'a' and 'A', .* in "
        r"'one'",
    ):
        as_run(voted(["a", "b", "a"], ["A", "B", "B"]), name="one")
    (some,) = as_run(voted(["A", "b", "A"], ["A", "B", "B"])).notes
    assert some.startswith("WARNING: 1 of 3 votes equal a label only in another spelling ('b', 'B')")
    (none,) = as_run(voted(["tie", "tie"], ["A", "B"])).notes
    assert none == "WARNING: no vote equals any label (votes 'tie'; labels 'A', 'B'); all count as wrong"
    assert as_run(voted(["tie", "A"], ["A", "A"])).notes == ()
    with pytest.raises(ValueError, match="votes and labels must be spelled alike; got 'a' and 'A'"):
        as_run(Trajectories.from_arrays([[["a", "b"]]], ["A"]))
    (none,) = as_run(Trajectories.from_arrays([[["b", "b"]]], ["A"])).notes
    assert none.startswith("WARNING: no vote equals any label (votes 'b'; labels 'A')")


def test_signs_around_a_word_are_its_spelling_and_a_sign_before_a_number_is_not() -> None:
    with pytest.raises(ValueError, match=r"votes and labels must be spelled alike; got '\(A\)' and 'A'"):
        as_run(voted(["(A)", "(B)"], ["A", "B"]))
    (some,) = as_run(voted(["**B**", "A"], ["B", "A"])).notes
    assert "1 of 2 votes equal a label only in another spelling ('**B**', 'B')" in some
    assert (some.kind, some.n, some.examples) == ("answers in several spellings", 1, ("**B**",))
    (none,) = as_run(voted(["-7", "-8", "-9"], ["7", "8", "9"])).notes
    assert "no vote equals any label" in none
    assert (none.kind, none.n) == ("no vote is a label", 3)


@pytest.mark.parametrize("as_arrays", [False, True])
def test_logs_that_mark_a_question_by_different_labels_are_refused(as_arrays: bool, tmp_path: Path) -> None:
    def run(name: str, labels: str) -> Run:
        path = tmp_path / f"{name}.csv"
        rows = [f"{name}{k},1,x,A,{label},q{k}" for k, label in enumerate(labels)]
        path.write_text("\n".join(["debate,round,agent,vote,label,question", *rows]) + "\n")
        return as_run(Trajectories.from_log(path) if as_arrays else path, name=name)

    assert pair([run("one", "AAB"), run("two", "AAB")]).n_items == 3
    with pytest.raises(ValueError, match=r"got 'A' \(one\) and 'B' \(two\) on 'q1'; labels differ on 1 of 3"):
        pair([run("one", "AAB"), run("two", "ABB")])


def test_runs_marked_by_different_labels_are_refused_by_item() -> None:
    a = as_run(voted(["A", "B", "A"], ["A", "A", "B"]), name="one")
    b = as_run(voted(["A", "B", "A"], ["B", "A", "A"]), name="two")
    with pytest.raises(
        ValueError,
        match=r"got 'A' \(one\) and 'B' \(two\) on 'q1'; labels differ on 2 of 3 items \('q1', 'q3'\)",
    ):
        pair([a, b])
    unknown = as_run(voted(["A", "B", "A"], ["A", None, "B"]), name="three")
    assert pair([a, unknown]).n_items == 2
    assert pair([a, as_run(table([1, 0, 1]), name="four")]).n_items == 3
    twice = pd.DataFrame({"item": ["q", "q"], "vote": ["A", "A"], "label": ["A", "B"]})
    with pytest.raises(ValueError, match="an item must have one label; got 'A' and 'B' on 'q'"):
        as_run(twice)


def test_missing_values_that_count_as_wrong_are_counted_and_loudly_above_one_half() -> None:
    some = table([1, 1, None, 0])
    assert as_run(some, missing="wrong").notes == ("1 of 4 values are missing and count as wrong",)
    (loud,) = as_run(table([1, None, None]), missing="wrong").notes
    assert loud == "WARNING: 2 of 3 values are missing and count as wrong, which is more than half"
    assert as_run(as_run(some), missing="wrong").notes == ("1 of 4 values are missing and count as wrong",)
    assert as_run(some).notes == ()
    both = pair([as_run(some, name="A", missing="wrong"), as_run(table([1, 1, 0, 0]), name="B")])
    assert "A: 1 of 4 values are missing and count as wrong" in both.notes
    verdicts = as_run(trajectories(), by="debate", missing="wrong").notes
    assert verdicts[0].startswith("WARNING: 5 of 18 votes are missing (28%")
    assert verdicts[1:] == ("1 of 3 values are missing and count as wrong",)
    votes = as_run(trajectories(), by="debate", value="votes", round_number=1, missing="wrong").notes
    assert votes[1:] == ("2 of 9 votes are missing and count as wrong",)


def test_a_question_of_several_items_is_their_cluster_where_no_cluster_is_stated() -> None:
    run = as_run(table([1, 0, 1], question=["x", "x", "y"]))
    assert (run.cluster, run.notes) == (("x", "x", "y"), ("clusters are those of the column 'question'",))
    both = as_run(table([1, 0, 1], question=["x", "x", "y"], cluster=["c", "d", "d"]))
    assert (both.cluster, both.notes) == (("c", "d", "d"), ())
    assert not as_run(table([1, 0], question=["what?", "who?"])).clustered


def test_files_that_hold_no_run_are_named_with_what_is_wanted(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(ValueError, match=r"empty\.csv must be a table with a line of column names"):
        as_run(empty)
    other = tmp_path / "other.csv"
    other.write_text("key,correct\nq1,1\n")
    with pytest.raises(
        ValueError, match=r"must have a column 'item' and 'correct', 'score'.*got \['key', 'correct'\]"
    ):
        as_run(other)
    words = tmp_path / "words.csv"
    words.write_text("item,score\nq1,1\nq2,high\n")
    with pytest.raises(
        TypeError, match=r"must be numbers; got 'high' in .*words\.csv, line 3, item 'q2' of 'words'"
    ):
        as_run(words)


def test_a_file_whose_name_looks_like_a_pattern_is_read_as_that_file(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "[br]_a.csv"
    table([1, 0]).to_csv(path, index=False)
    assert as_run(path).value.tolist() == [1, 0]
    assert as_run(str(path)).name == "[br]_a"
    duckdb.sql(f"COPY (SELECT 'q1' AS item, 1 AS correct) TO '{tmp_path}/[br]*.parquet'")
    assert as_run(tmp_path / "[br]*.parquet").value.tolist() == [1]


def test_true_and_false_in_a_file_are_right_and_wrong(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("item,correct\nq1,True\nq2,false\nq3,\n")
    np.testing.assert_array_equal(as_run(path).value, [1, 0, np.nan])


def test_a_log_is_read_from_its_file_by_question_and_by_debate(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with LogWriter(path) as log:
        for k, votes in enumerate(("AAB", "BBA", "AAA")):
            log.write(Item(debate=f"d{k}", question=f"q{k // 2}", label="A"))
            for agent, vote in enumerate(votes):
                log.write(Turn(debate=f"d{k}", round=1, agent=f"a{agent}", vote=vote))
    by_question = as_run(path)
    assert (by_question.name, by_question.items, by_question.value.tolist()) == (
        "log",
        ("q0", "q1"),
        [0.5, 1],
    )
    assert by_question.repeats.tolist() == [2, 1]
    by_debate = as_run(path, by="debate")
    assert (by_debate.items, by_debate.cluster) == (("d0", "d1", "d2"), ("q0", "q0", "q1"))
    assert by_debate.value.tolist() == [1, 0, 1]


def test_the_round_and_the_value_of_a_log_can_be_chosen() -> None:
    t = trajectories()
    first = as_run(t, by="debate", round_number=1)
    assert first.value.tolist() == [1, 0, 1]
    last = as_run(t, by="debate")
    np.testing.assert_array_equal(last.value, [0, 1, np.nan])
    votes = as_run(t, by="debate", value="votes", round_number=1)
    np.testing.assert_allclose(votes.value, [2 / 3, 1 / 3, 1])
    wrong = as_run(t, by="debate", value="votes", round_number=1, missing="wrong")
    np.testing.assert_allclose(wrong.value, [2 / 3, 1 / 3, 1 / 3])
    np.testing.assert_array_equal(as_run(t, by="debate", value="tokens").value, [30, 40, np.nan])
    assert as_run(t, by="debate", value="score:con", round_number=1).value.tolist() == [2, 2, 2]


def test_what_a_log_lacks_is_said_in_a_line() -> None:
    bare = Trajectories.from_arrays([[["A", "B"]]], ["A"])
    for value, line in (
        ("tokens", "tokens must be logged to be compared; got none"),
        ("score:pro", "scores must be logged to be compared; got none"),
        (
            "speed",
            "value of a log must be 'verdict', 'plurality', 'votes', 'tokens' or 'score:SIDE'; got 'speed'",
        ),
    ):
        with pytest.raises(ValueError, match=line):
            as_run(bare, value=value)
    with pytest.raises(ValueError, match=r"the side of a score must be one of \['pro', 'con'\]; got 'judge'"):
        as_run(trajectories(), value="score:judge")
    with pytest.raises(ValueError, match="round_number must lie between 1 and 1; got 2"):
        as_run(bare, round_number=2)
    with pytest.raises(ValueError, match="must have labels"):
        as_run(Trajectories.from_arrays([[["A", "B"]]]))


def test_a_missing_value_is_missing_or_wrong_as_asked_and_an_unlabelled_item_is_never_wrong() -> None:
    frame = pd.DataFrame({"item": ["q1", "q2", "q3"], "vote": ["A", None, "B"], "label": ["A", "A", None]})
    np.testing.assert_array_equal(as_run(frame).value, [1, np.nan, np.nan])
    wrong = as_run(frame, missing="wrong")
    np.testing.assert_array_equal(wrong.value, [1, 0, np.nan])
    assert wrong.unlabelled == ("q3",)
    np.testing.assert_array_equal(as_run(as_run(frame), missing="wrong").value, [1, 0, np.nan])
    assert "1 of 3 tries have no label" in wrong.notes[0]


def test_a_missing_score_is_never_counted_as_zero() -> None:
    frame = pd.DataFrame({"item": ["q1", "q2"], "score": [7.0, None]})
    with pytest.raises(ValueError, match="missing must be 'exclude' where values are not right or wrong"):
        as_run(frame, missing="wrong")


def test_repeats_of_an_item_count_with_their_mean() -> None:
    frame = pd.DataFrame({"item": ["q1", "q1", "q1", "q2"], "correct": [1, 0, None, 1]})
    run = as_run(frame)
    assert (run.value.tolist(), run.repeats.tolist(), run.binary) == ([0.5, 1.0], [2, 1], False)
    assert "items run several times (2 at most) count with their mean" in run.notes


@pytest.mark.parametrize(
    ("source", "error", "line"),
    [
        (pd.DataFrame({"q": [1]}), ValueError, "must have a column 'item'"),
        (pd.DataFrame({"item": ["q1"]}), ValueError, "'correct', 'score', or 'vote' and 'label'"),
        (pd.DataFrame({"item": ["q1"], "correct": [2]}), ValueError, "correct must be 0, 1 or missing; got"),
        (pd.DataFrame({"item": ["q1"], "correct": ["A"]}), ValueError, r"got 'A' .*--columns label=correct\)"),
        (pd.DataFrame({"item": ["q1"], "score": [np.inf]}), ValueError, r"infinite one at row 1 \(counted"),
        (pd.DataFrame({"item": ["q1"], "score": [-1e308]}), ValueError, r"at most 1e\+50 in size; got -1e\+308"),
        (
            pd.DataFrame({"item": ["q1"], "score": ["high"]}),
            TypeError,
            r"must be numbers; got 'high' at row 1 \(counted from 1\), item 'q1'",
        ),
        (pd.DataFrame({"item": [None], "score": [1.0]}), ValueError, r"missing name at row 1 \(counted"),
        (pd.DataFrame({"item": [], "score": []}), ValueError, "must have items; got none"),
        (
            pd.DataFrame({"item": ["q", "q"], "score": [1, 2], "cluster": ["a", "b"]}),
            ValueError,
            "an item must be in one cluster; got 'q' in 'a' and 'b'",
        ),
        (pd.DataFrame({"item": ["q"], "vote": ["A"], "label": [None]}), ValueError, "must have labels"),
        (3, TypeError, "a run must be a Run, Trajectories, DebateLog, DataFrame, Series, array or a path; got int"),
    ],
)  # fmt: skip
def test_a_source_that_holds_no_run_says_why(source: object, error: type[Exception], line: str) -> None:
    with pytest.raises(error, match=line):
        as_run(source)


def test_a_setting_that_a_source_cannot_heed_is_refused_and_not_ignored() -> None:
    frame = table([1, 0])
    for source in (frame, frame.set_index("item")["correct"], as_run(frame)):
        with pytest.raises(
            ValueError, match="round_number must be left out where a run has no rounds; got 2"
        ):
            as_run(source, round_number=2)
    with pytest.raises(ValueError, match="value must be left out where a run has one column; got 'score'"):
        as_run(frame.set_index("item")["correct"], value="score")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        as_run(tmp_path / "nothing.csv")


def named(values: dict[str, float | None], name: str, clusters: dict[str, str] | None = None) -> Run:
    frame = pd.DataFrame({"item": list(values), "correct": list(values.values())})
    if clusters:
        frame["cluster"] = frame["item"].map(clusters)
    return as_run(frame, name=name)


def test_items_that_only_some_runs_have_are_counted_and_named_and_too_few_in_common_are_refused() -> None:
    a = named(dict.fromkeys([f"q{k}" for k in range(9)], 1), "A")
    b = named(dict.fromkeys(["q0", "x"], 0), "B")
    both = pair([a, b])
    assert (both.items, both.left_out["B"]) == (("q0",), ("x",))
    (said,) = (note for note in both.notes if "paired by item" in note)
    assert said == (
        "WARNING: paired by item: 1 is in both runs; left out are "
        "8 of A ('q1', 'q2', 'q3', 'q4', 'q5' and 3 more), 1 of B ('x')"
    )
    assert any(note.startswith("WARNING: more than half") and "9 of 10" in note for note in both.notes)
    with pytest.raises(ItemMismatch, match="got 1 of 3") as caught:
        pair([a, named(dict.fromkeys(["q0", "x", "y"], 0), "B")])
    assert caught.value.only == {"A": tuple(f"q{k}" for k in range(1, 9)), "B": ("x", "y")}
    with pytest.raises(ItemMismatch, match="got none of 1"):
        pair([a, named({"z": 1}, "C")])


def test_the_order_of_items_does_not_matter() -> None:
    both = pair([named({"a": 1, "b": 0, "c": 1}, "A"), named({"c": 0, "a": 1, "b": 0}, "B")])
    assert both.values.tolist() == [[1, 0, 1], [1, 0, 0]]


def test_a_run_that_states_no_clusters_takes_those_of_the_other() -> None:
    clusters = {"a": "x", "b": "x", "c": "y"}
    both = pair([named({"a": 1, "b": 0, "c": 1}, "A"), named({"a": 1, "b": 1, "c": 1}, "B", clusters)])
    assert (both.cluster_names, both.cluster.tolist()) == (("x", "y"), [0, 0, 1])
    assert "clusters are those of B; none stated by A" in both.notes
    other = named({"a": 1, "b": 1, "c": 1}, "C", {"a": "y", "b": "x", "c": "y"})
    with pytest.raises(ValueError, match=r"got 'a' in 'x' \(B\) and 'y' \(C\)"):
        pair([named({"a": 1, "b": 1, "c": 1}, "B", clusters), other])


def test_labels_missing_for_half_the_items_are_counted_and_for_more_loudly() -> None:
    def judged(n_labelled: int, name: str) -> Run:
        labels = (["A", "B"] * 10)[:n_labelled] + [None] * (20 - n_labelled)
        return as_run(pd.DataFrame({"item": range(20), "vote": ["A", "B"] * 10, "label": labels}), name=name)

    half = pair([judged(10, "A"), judged(10, "B")])
    assert half.n_items == 10
    assert any("10 of 20 items left out as not scored: 10 by A, 10 by B" in note for note in half.notes)
    assert any(note.startswith("both runs: 10 of 20 tries have no label") for note in half.notes)
    assert not any("WARNING" in note for note in half.notes)
    less = pair([judged(9, "A"), judged(9, "B")])
    assert any("WARNING: more than half of the items are left out (11 of 20)" in note for note in less.notes)


def test_runs_that_scored_no_item_together_and_runs_of_one_name_are_refused() -> None:
    a, b = named({"p": 1, "q": None}, "A"), named({"p": None, "q": 1}, "B")
    with pytest.raises(
        ValueError, match=r"all of them scored; got none \(1 of 2 not by A, 1 of 2 not by B\)"
    ):
        pair([a, b])
    with pytest.raises(ValueError, match="different names"):
        pair([a, a])
    with pytest.raises(ValueError, match="at least two; got 1"):
        pair([a])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("pass", "fail"),
        ("Passed", "FAILED"),
        ("C", "I"),
        ("ja", "nein"),
        ("oui", "non"),
        ("\u2713", "\u2717"),
    ],
)
def test_words_for_right_and_wrong_are_read_alike_in_runs_and_in_logs_and_are_said(
    right: str, wrong: str, tmp_path: Path
) -> None:
    truth = np.random.default_rng(1).integers(0, 2, 20)
    words = [right if one else wrong for one in truth]
    run = as_run(pd.DataFrame({"item": range(20), "correct": words}))
    assert run.value.tolist() == truth.tolist()
    assert any(f"{right!r} is 1" in note and f"{wrong!r} is 0" in note for note in run.notes)
    log = pd.DataFrame({"debate": range(20), "round": 1, "agent": "x", "correct": words})
    log.to_csv(tmp_path / "log.csv", index=False)
    for source in (log, tmp_path / "log.csv"):
        read = d3stats.as_trajectories(source)
        assert read.successes_trials()[0][:, 0].sum() == truth.sum()
    mixed = [*words[:-1], "B"]
    for table in (log.assign(correct=mixed), pd.DataFrame({"item": range(20), "correct": mixed})):
        with pytest.raises(ValueError, match="write 1 for right and 0 for wrong"):
            as_run(table)


def test_a_column_answer_beside_predictions_is_never_dropped_without_a_word(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    gold, said = (rng.choice(list("ABC"), 30) for _ in range(2))
    items = pd.DataFrame({"id": range(30), "prediction": said, "answer": gold})
    log = pd.DataFrame({"question": range(30), "round": 1, "agent": "x", "prediction": said, "answer": gold})
    log = pd.concat([log, log.assign(agent="y")])
    for table in (items, log):
        path = tmp_path / "table.csv"
        table.to_csv(path, index=False)
        for source in (table, path):
            with pytest.raises(
                ValueError, match=r"holds the right answers with .*vote=prediction,label=answer"
            ):
                as_run(source)
            both = as_run(source, columns={"vote": "prediction", "label": "answer"})
            assert np.nanmean(both.value) == pytest.approx((said == gold).mean())
    with pytest.raises(ValueError, match="'answer' holds the right answers, add label=answer"):
        as_run(items, columns={"vote": "prediction"})
    with pytest.raises(ValueError, match="add label=answer to columns="):
        d3stats.fit(log, columns={"vote": "prediction"})
    read = d3stats.as_trajectories(log, columns={"vote": "prediction"})
    assert any(note.startswith("WARNING: 'answer' was not read") for note in read.notes)
    varied = log.assign(answer=rng.choice(list("ABC"), 60))
    assert not any(
        "'answer' was not read" in note
        for note in d3stats.as_trajectories(varied, columns={"vote": "prediction"}).notes
    )
