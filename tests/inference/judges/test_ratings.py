"""Votes of any source become one table of items and raters, and nothing is guessed on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from layers import covering

import d3stats
from d3stats.inputs.ratings import Ratings
from d3stats.sources.ratings import as_ratings
from d3stats.trajectories import Trajectories


@pytest.fixture
def long() -> pd.DataFrame:
    rows = [("q1", "x", "A"), ("q1", "y", "B"), ("q2", "x", "tie"), ("q2", "y", "tie"), ("q3", "y", "A")]
    return pd.DataFrame(rows, columns=["item", "rater", "vote"])


def same(a: Ratings, b: Ratings) -> bool:
    return (a.items, a.raters, a.categories) == (b.items, b.raters, b.categories) and np.array_equal(
        a.codes, b.codes
    )


def test_a_long_and_a_wide_table_are_the_same_ratings(long: pd.DataFrame) -> None:
    wide = long.pivot_table(index="item", columns="rater", values="vote", aggfunc="first")
    assert same(as_ratings(long), as_ratings(wide))
    assert same(as_ratings(long), as_ratings(wide.reset_index()))


def test_a_missing_vote_is_missing_and_a_tie_is_a_category(long: pd.DataFrame) -> None:
    ratings = as_ratings(long)
    assert ratings.categories == ("A", "B", "tie")
    assert ratings.codes.tolist() == [[0, 1], [2, 2], [-1, 0]]
    assert ratings.counts.tolist() == [[1, 1, 0], [0, 0, 2], [1, 0, 0]]
    assert ratings.label is None


def test_a_table_read_from_a_file_is_the_table(long: pd.DataFrame, tmp_path: Path) -> None:
    long.to_csv(tmp_path / "votes.csv", index=False)
    assert same(as_ratings(tmp_path / "votes.csv"), as_ratings(long))


def test_words_for_missing_in_a_file_are_counted_and_names_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,cluster,x,NA\nNA,c,A,A\nq2,c,NA,B\nq3,,B,None\n")
    ratings = as_ratings(path)
    assert (ratings.items, ratings.cluster_names) == (("NA", "q2", "q3"), ("c", "q3"))
    assert ratings.raters == ("x", "NA")
    assert ratings.codes.tolist() == [[0, 0], [-1, 1], [1, -1]]
    assert ratings.notes[0] == "raters are x, NA"
    assert ratings.notes[1].startswith("WARNING: 2 votes are read as missing: 'NA' (1), 'None' (1); if")
    assert ratings.notes[2:] == (
        "1 item without a cluster, while others have one, forms a cluster of its own",
    )


def test_a_vote_of_one_is_one_vote_however_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,x,y\nq1,1,1.0\nq2,2,\nq3,2,2.0\n")
    assert as_ratings(path).categories == ("1", "2")
    assert as_ratings(path, categories=[1, 2.0, "3.0"]).categories == ("1", "2", "3")


def test_a_question_is_the_cluster_of_its_items_and_never_a_rater() -> None:
    wide = pd.DataFrame({"question": ["p", "p", "q"], "x": list("AAB"), "y": list("ABB")})
    for table in (wide, wide.assign(item=["i", "j", "k"])):
        ratings = as_ratings(table)
        assert (ratings.raters, ratings.cluster.tolist()) == (("x", "y"), [0, 0, 1])
        said = ["clusters are those of the column 'question'"]
        said += ["raters are x, y"] if "item" in table else []
        assert list(ratings.notes) == said
    assert as_ratings(wide.assign(question=list("pqr"))).n_clusters == 3
    assert as_ratings(wide.assign(cluster=list("abb"))).cluster_names == ("a", "b")


def test_a_parquet_table_needs_no_engine_but_the_one_that_is_installed(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "votes[1].parquet"
    duckdb.sql(f"COPY (SELECT * FROM (VALUES ('q1', 'A', 'A'), ('q2', 'B', 'A')) t(item, x, y)) TO '{path}'")
    assert as_ratings(path).codes.tolist() == [[0, 0], [1, 0]]


def test_a_column_whose_values_no_rater_gives_is_no_rater_and_is_named() -> None:
    table = pd.DataFrame({"x": list("AAB"), "y": list("ABB"), "model": ["m"] * 3})
    assert as_ratings(table).raters == ("x", "y")
    assert as_ratings(table).notes == ("raters are x, y; columns that were not read: model",)
    assert as_ratings(table[["x", "y"]]).notes == ()


def test_a_log_and_its_trajectories_give_the_same_votes(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = ["debate,round,agent,vote,label,question"]
    rows += [
        f"d{d},{r},{agent},{'AB'[(d * r + s) % 2]},A,q{d // 2}"
        for d in range(4)
        for r in (1, 2)
        for s, agent in enumerate(("x", "y"))
    ]
    rows[3] = "d0,2,x,,A,q0"
    path.write_text("\n".join(rows) + "\n")
    for round_number in (None, 1, 2):
        read = as_ratings(path, round_number=round_number)
        built = as_ratings(Trajectories.from_log(path), round_number=round_number)
        assert same(read, built)
        assert read.label is not None
        assert read.label.tolist() == [0, 0, 0, 0]
        assert read.cluster_names == ("q0", "q1")
    assert as_ratings(path).codes[0].tolist() == [-1, 1]


def jury_log(path: Path, without: int) -> Path:
    """Four debates of an advocate and two jurors, the last ones without the jurors."""
    lines: list[dict[str, object]] = []
    for d in range(4):
        lines.append({"type": "item", "debate": f"d{d}", "question": f"q{d}", "label": "A"})
        turn: dict[str, object] = {"type": "turn", "debate": f"d{d}", "round": 1}
        lines.append(turn | {"agent": "adv", "role": "advocate", "text": "A it is."})
        jurors = "xy" if d < 4 - without else ""
        lines += [turn | {"agent": juror, "role": "juror", "vote": "A"} for juror in jurors]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


@pytest.mark.parametrize("without", [0, 1, 3])
def test_debates_without_a_rater_are_left_out_and_counted(without: int, tmp_path: Path) -> None:
    path = jury_log(tmp_path / "log.jsonl", without)
    for source in (path, Trajectories.from_log(path)):
        read = as_ratings(source)
        assert read.raters == ("x", "y")
        assert read.items == tuple(f"d{d}" for d in range(4 - without))
        told = [note for note in read.notes if "no rater had a turn" in note]
        counted = f"in {without} debate{'s' * (without > 1)} no rater had a turn"
        assert [note.partition(",")[0] for note in told] == [counted] * bool(without)


def test_right_and_wrong_votes_have_no_decision_to_rate() -> None:
    log = pd.DataFrame({"debate": ["d", "d"], "round": [1, 1], "agent": ["x", "y"], "correct": [0, 1]})
    with pytest.raises(
        ValueError, match="decision needs votes that are answers; got a log of right and wrong"
    ):
        as_ratings(log, raters=["x", "decision"])
    votes = log.drop(columns="correct").assign(vote=["A", "B"])
    assert as_ratings(votes, raters=["x", "decision"]).raters == ("x", "decision")


def test_rows_of_several_tables_count_on(long: pd.DataFrame) -> None:
    """The place of a fault is the row of all tables, one below the other."""
    whole = as_ratings(long)
    assert same(as_ratings([long[:3], long[3:]]), whole)
    with pytest.raises(
        ValueError, match=r"rater must be named; got a missing name at row 5 \(counted from 1\)"
    ):
        as_ratings([long[:3], long[3:].assign(rater=["y", None])])


@pytest.mark.parametrize("name", ["item", None])
def test_items_that_are_the_index_of_several_tables_keep_their_names(name: str | None) -> None:
    """The second of two tables must not be read as items 2 and 3 of nothing."""
    wide = pd.DataFrame(
        {"x": list("ABAB"), "y": list("AABB")}, index=pd.Index(["q4", "q3", "q2", "q1"], name=name)
    )
    read = as_ratings([wide[:2], wide[2:]])
    assert same(read, as_ratings(wide))
    assert read.items == ("q4", "q3", "q2", "q1")
    numbers = wide.reset_index(drop=True)
    assert as_ratings([numbers[:2], numbers[:2]]).items == ("0", "1", "2", "3")
    if name is not None:
        with pytest.raises(ValueError, match=r"tables in a list must have the same columns.*'index item'"):
            as_ratings([wide[:2], wide[2:].rename_axis(index=None)])


def test_debates_that_are_the_index_of_several_tables_are_read_as_of_one() -> None:
    rows = [
        (d, 1, agent, vote, "A")
        for d, votes in (("b", "AA"), ("a", "BA"))
        for agent, vote in zip("xy", votes, strict=True)
    ]
    log = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    whole, parts = log.set_index("debate"), [log[:2].set_index("debate"), log[2:].set_index("debate")]
    assert same(as_ratings(parts), as_ratings(whole))
    assert as_ratings(parts).items == ("a", "b")


def test_by_question_the_runs_become_raters(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "debate,round,agent,vote,label,question,log\n"
        "g/1,1,j,A,A,q1,gpt\ng/2,1,j,B,A,q2,gpt\np/1,1,j,A,A,q1,palm\np/2,1,j,A,A,q2,palm\n"
    )
    ratings = as_ratings(path, by="question")
    assert ratings.items == ("q1", "q2")
    assert ratings.raters == ("gpt: j", "palm: j")
    assert ratings.codes.tolist() == [[0, 0], [1, 0]]
    assert same(ratings, as_ratings(Trajectories.from_log(path), by="question"))


def test_votes_of_right_and_wrong_alone_carry_a_warning() -> None:
    t = Trajectories.from_frame(
        pd.DataFrame({"debate": ["d", "d"], "round": [1, 1], "agent": ["x", "y"], "correct": [0, 0]})
    )
    ratings = as_ratings(replace(t, coding="correctness"))
    assert "assumption" in ratings.notes[0]


def test_a_second_vote_is_refused_or_asked_to_be_another_rater(long: pd.DataFrame) -> None:
    twice = pd.concat([long, long.iloc[:1].assign(vote="B")])
    with pytest.raises(ValueError, match="a rater must judge an item once; got 'x' on 'q1' twice"):
        as_ratings(twice)
    ratings = as_ratings(twice, repeats="separate")
    assert ratings.raters == ("x", "y", "x (2)")
    assert ratings.codes[:, 2].tolist() == [1, -1, -1]
    assert "repeated votes count as votes of other raters" in ratings.notes[0]


def test_the_label_is_a_rater_when_asked_for(long: pd.DataFrame) -> None:
    labelled = long.assign(label=["A", "A", None, None, "B"])
    ratings = as_ratings(labelled)
    assert ratings.label is not None
    assert ratings.label.tolist() == [0, -1, 1]
    assert ratings.of(["y", "label"]).codes.tolist() == [[1, 0], [2, -1], [0, 1]]
    with pytest.raises(ValueError, match="rater must be one of 'x', 'y'; got 'label'"):
        as_ratings(long).of(["x", "label"])


def test_clusters_are_those_given_and_items_without_one_stand_alone(long: pd.DataFrame) -> None:
    ratings = as_ratings(long.assign(cluster=["g", "g", "g", "g", None]))
    assert ratings.cluster_names == ("g", "q3")
    assert ratings.cluster.tolist() == [0, 0, 1]


def test_categories_may_be_given_and_numbers_are_sorted_by_size(long: pd.DataFrame) -> None:
    assert as_ratings(long, categories=["B", "tie", "A", "none"]).codes.tolist() == [[2, 0], [1, 1], [-1, 2]]
    again = as_ratings(as_ratings(long), categories=["B", "tie", "A", "none"])
    assert same(again, as_ratings(long, categories=["B", "tie", "A", "none"]))
    scores = pd.DataFrame({"x": [10, 2.0, None], "y": [9.0, 2, 10]})
    assert as_ratings(scores).categories == ("2", "9", "10")
    assert as_ratings(scores).values().tolist() == [2, 9, 10]
    with pytest.raises(ValueError, match="categories must be numbers to have distances; got 'A'"):
        as_ratings(long).values()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.drop(columns="item"),
            r"a table with a column rater must have item, .* got none named item; say which",
        ),
        (
            lambda t: t.assign(item=[None, *t["item"][1:]]),
            r"item must be named; got a missing name at row 1 \(counted from 1\)",
        ),
        (lambda t: t.iloc[:0], "ratings must have at least one item and one rater; got none"),
        (lambda t: t.assign(label=list("ABAAA")), "label must be one per item; got 'A' and 'B' on item 'q1'"),
        (
            lambda t: t.assign(cluster=list("ABAAA")),
            "cluster must be one per item; got 'A' and 'B' on item 'q1'",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(long: pd.DataFrame, change: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_ratings(change(long))  # type: ignore[operator]


def test_other_bad_questions_are_refused(long: pd.DataFrame) -> None:
    with pytest.raises(
        ValueError, match=r"vote must be one of \['A', 'B'\]; got 'tie' at row 3 \(counted from 1\)"
    ):
        as_ratings(long, categories=["A", "B"])
    with pytest.raises(
        ValueError, match="categories must list all that occur in the data; got none named 'tie'"
    ):
        as_ratings(as_ratings(long), categories=["A", "B"])
    with pytest.raises(ValueError, match="a wide table must have one row per item; got 'a' twice"):
        as_ratings(pd.DataFrame({"x": [1, 2]}, index=["a", "a"]))
    with pytest.raises(
        TypeError, match="ratings must be Ratings, Trajectories, a DebateLog, a DataFrame or a path; got int"
    ):
        as_ratings(3)
    with pytest.raises(ValueError, match="round_number needs"):
        as_ratings(long, round_number=1)
    with pytest.raises(ValueError, match=r"round_number must be one of \[1\]; got 2"):
        as_ratings(long.assign(round=1), round_number=2)


@pytest.mark.parametrize(
    "name", ["mean", "avg", "Mean score", "median", "final", "final_answer", "ensemble", "fold"]
)
def test_a_column_that_is_named_as_computed_from_the_raters_is_no_rater(name: str) -> None:
    wide = pd.DataFrame({"item": list("pqr"), "Anna": [1, 4, 2], "Bernd": [1, 2, 2], name: [1, 3, 2]})
    read = as_ratings(wide)
    assert read.raters == ("Anna", "Bernd")
    assert any(name in note and "Anna, Bernd" in note for note in read.notes)
    assert as_ratings(wide, raters=["Anna", name]).raters == ("Anna", name)
    assert as_ratings(wide.drop(columns="Bernd")).raters == ("Anna", name)


@covering(
    decimals=[0, 2],
    how=["mean", "median", "sum"],
)
def test_a_column_that_equals_a_statistic_of_the_others_is_no_rater(how: str, decimals: int) -> None:
    drawn = np.random.default_rng(3).integers(1, 8, size=(40, 4))
    wide = pd.DataFrame(drawn, columns=["a", "b", "c", "z"], index=[f"q{k}" for k in range(40)])
    assert as_ratings(wide).raters == ("a", "b", "c", "z")
    wide["z"] = wide[["a", "b", "c"]].agg(how, axis=1).round(decimals)
    assert as_ratings(wide).raters == ("a", "b", "c")


def test_raters_who_nearly_always_agree_are_not_taken_for_a_mean() -> None:
    wide = pd.DataFrame({"item": range(40), "a": [k % 5 for k in range(40)]})
    wide["b"] = wide["c"] = wide["a"]
    wide.loc[::4, "b"] += 1
    assert as_ratings(wide).raters == ("a", "b", "c")


@pytest.mark.parametrize("debate", ["qid", "item"])
def test_a_column_per_agent_and_round_is_read_as_the_log_that_it_is(debate: str, tmp_path: Path) -> None:
    drawn = np.random.default_rng(5).choice(list("ABC"), size=(12, 3, 2))
    wide = pd.DataFrame({debate: [f"q{k}" for k in range(12)], "gold": drawn[:, 0, 0]})
    for k in range(3):
        for s, agent in enumerate(["gpt", "llama"]):
            wide[f"{agent}_r{k + 1}"] = drawn[:, k, s]
    path = tmp_path / "wide.csv"
    wide.to_csv(path, index=False)
    built = as_ratings(Trajectories.from_log(path))
    assert built.raters == ("gpt", "llama")
    for source in (wide, path, d3stats.open(path)):
        assert same(as_ratings(source), built)
        assert same(
            as_ratings(source, round_number=2), as_ratings(Trajectories.from_log(path), round_number=2)
        )


@covering(
    ragged=[False, True],
    column=["run", "seed", "Durchgang"],
)
def test_two_runs_in_one_table_are_refused_with_the_columns_that_read_them(
    column: str, ragged: bool, tmp_path: Path
) -> None:
    rows = [
        (run, f"q{k}", number, rater, "AB"[(k * number + len(rater) * run) % 2])
        for run in (1, 2)
        for k in range(12)
        for number in ((1, 2, 3) if run == 2 or not ragged else (1, 2))
        for rater in ("x", "yy", "zzz")
    ]
    table = pd.DataFrame(rows, columns=[column, "qid", "round", "rater", "vote"])
    table = table.assign(confidence=np.arange(len(table)))
    table.to_csv(tmp_path / "runs.csv", index=False)
    for source in (table, tmp_path / "runs.csv"):
        with pytest.raises(
            ValueError, match=f"twice, with different '{column}'.*--columns item=qid\\+{column},cluster=qid"
        ):
            as_ratings(source)
        read = as_ratings(source, columns={"item": ["qid", column], "cluster": "qid"})
        assert (read.n_items, len(read.cluster_names), read.raters) == (24, 12, ("x", "yy", "zzz"))
    twice = pd.concat([table[table[column] == 1]] * 2, ignore_index=True)
    with pytest.raises(ValueError, match=r"--repeats separate"):
        as_ratings(twice.drop(columns=[column, "confidence"]))


@pytest.mark.parametrize("value", [1e308, -1e308, 1e60])
def test_numbers_without_a_square_are_refused(value: float) -> None:
    table = pd.DataFrame({"item": list("pqrs"), "x": [value, 1, 2, 3], "y": [1, 1, 2, 3.0]})
    with pytest.raises(ValueError, match=r"at most 1e\+50 in size"):
        d3stats.inference.percent_agreement(table, weights="quadratic")


@pytest.mark.parametrize("only", ["B", "C", "tie", "Tie", "neither"])
def test_a_rater_of_a_wide_table_may_say_what_no_other_says(only: str) -> None:
    wide = pd.DataFrame(
        {"item": range(6), "gpt": list("AABAAB"), "gemini": list("ABBAAB"), "claude": [only] * 6}
    )
    assert as_ratings(wide).raters == ("gpt", "gemini", "claude")
    assert as_ratings(wide.assign(topic=["math", "law"] * 3)).raters == ("gpt", "gemini", "claude")
