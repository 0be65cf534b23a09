"""Tables of ratings, verdicts and runs are read under the field's other names for their columns, and say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from layers import covering, examples, sampled

from d3stats import as_trajectories, compare
from d3stats.inference.bias import as_judgments
from d3stats.log.column_names import ALIASES
from d3stats.log.wide import NO_VOTES
from d3stats.sources.ratings import as_ratings
from d3stats.sources.runs import as_run, as_runs

RATINGS = pd.DataFrame(
    {"item": [1, 1, 2, 2], "rater": list("abab"), "vote": list("ABAA"), "label": list("AAAA")}
)


@covering(
    item=["qid", "Question ID", "task_id"],
    rater=["judge", "annotator", "model"],
    vote=["answer", "rating", "verdict"],
)
def test_ratings_runs_and_verdicts_are_read_under_other_names(item: str, rater: str, vote: str) -> None:
    names = {"item": item, "rater": rater, "vote": vote, "label": "gold"}
    ratings = as_ratings(RATINGS.rename(columns=names))
    assert ratings.codes.tolist() == as_ratings(RATINGS).codes.tolist()
    assert any(note.startswith(f"columns: item is {item!r}, rater is {rater!r}") for note in ratings.notes)
    one = RATINGS[RATINGS["rater"] == "a"].drop(columns="rater")
    renamed = one.rename(columns=names)
    assert as_run(renamed).value.tolist() == as_run(one).value.tolist()
    read = as_judgments(renamed)
    assert read.vote.tolist() == as_judgments(one).vote.tolist()
    assert read.notes[0].startswith(f"columns: item is {item!r}")


LOG = pd.DataFrame(
    {
        "debate": np.repeat([f"d{k}" for k in range(6)], 4),
        "round": np.tile([1, 1, 2, 2], 6),
        "agent": np.tile(["x", "y"], 12),
        "vote": list("ABAABBBAAAABBABBABABBBAA"),
        "label": np.repeat(list("ABAABB"), 4),
    }
)
TABLE = pd.DataFrame(
    {
        "item": [1, 1, 2, 2, 3, 3],
        "rater": list("ababab"),
        "vote": list("ABAABB"),
        "label": list("AAAABB"),
        "cluster": list("ppqqqq"),
    }
)

DOORS: dict[str, Callable[..., Any]] = {
    "agreement": lambda s, **how: as_ratings(s, **how).codes.tolist(),
    "runs": lambda s, **how: as_run(s, **how).value.tolist(),
    "comparison": lambda s, **how: (
        compare(s, s, names=["p", "q"], n_boot=20, rng=1, **how).to_frame().to_csv()
    ),
    "bias": lambda s, **how: as_judgments(s, **how).vote.tolist(),
}

NAMES: dict[str, tuple[dict[str, str], bool]] = {
    "other names": ({"debate": "dialogue_id", "round": "turn", "agent": "speaker", "vote": "answer", "label": "gold",
                     "item": "qid", "rater": "annotator", "cluster": "cluster_id"}, False),
    "own names": ({"debate": "wd", "round": "wr", "agent": "wa", "vote": "wv", "label": "wl", "item": "wi",
                   "rater": "wx", "cluster": "wc"}, True),
}  # fmt: skip


def _sources(table: pd.DataFrame, folder: Path, *, few: bool = False) -> dict[str, Any]:
    """Return a table in every form, or as a frame and a file alone."""
    for end, sep in ((".csv", ","), (".tsv", "\t")):
        table.to_csv(folder / f"t{end}", sep=sep, index=False)
    if few:
        return {"pandas": table, "csv": folder / "t.csv"}
    with duckdb.connect() as con:
        con.register("t", table)
        con.execute(f"COPY t TO '{folder / 't.parquet'}' (FORMAT parquet)")
    frames = {
        "pandas": table,
        "polars": pl.DataFrame(table.astype(object).where(table.notna(), None).to_dict("list")),
    }
    (folder / "t.jsonl").write_text(table.to_json(orient="records", lines=True))
    return frames | {end: folder / f"t.{end}" for end in ("csv", "tsv", "parquet", "jsonl")}


# Every function reads every form in the fast layer by the next test; the others have a frame and a file there.
IN_FORMS = pytest.mark.parametrize("few", [True, pytest.param(False, marks=pytest.mark.slow)])


@covering(how=NAMES, table=["log", "table"], door=DOORS)
def test_every_door_knows_a_column_under_another_name_in_frames_and_in_files(
    door: str, table: str, how: str, tmp_path: Path
) -> None:
    """One source under its standard names says what is expected of it under all others, in memory and on disk."""
    standard = LOG if table == "log" else TABLE
    if (door, table) in (("runs", "table"), ("comparison", "table")):
        standard = standard[standard["rater"] == "a"].drop(columns="rater")
    if (door, table) == ("bias", "table"):
        standard = standard.drop(columns="rater")
    names, chosen = NAMES[how]
    names = {name: own for name, own in names.items() if name in standard}
    expected = DOORS[door](standard)
    for form, source in _sources(standard.rename(columns=names), tmp_path).items():
        assert DOORS[door](source, **({"columns": names} if chosen else {})) == expected, form


@pytest.mark.parametrize("door", DOORS)
def test_a_choice_of_a_column_that_is_not_there_names_the_nearest(door: str, tmp_path: Path) -> None:
    own = TABLE.rename(columns={"item": "my_key"})
    for form, source in _sources(own, tmp_path).items():
        with pytest.raises(ValueError, match=r"got 'mykay'; did you mean 'my_key'\?"):
            DOORS[door](source, columns={"item": "mykay"})
        with pytest.raises(ValueError, match=r"columns must choose among .*got 'itme'"):
            DOORS[door](source, columns={"item": "my_key", "itme": "vote"})
        assert form


def test_a_chosen_column_goes_before_one_of_that_name_and_several_make_one_name() -> None:
    hidden = TABLE.assign(mine=TABLE["item"] + 10, item="never read")
    assert as_ratings(hidden, columns={"item": "mine"}).items == ("11", "12", "13")
    pairs = TABLE.assign(run=["r", "r", "r", "r", "s", "s"])
    read = as_ratings(pairs, columns={"item": ["run", "item"]})
    assert read.items == ("r / 1", "r / 2", "s / 3")
    assert read.codes.tolist() == as_ratings(TABLE).codes.tolist()


def test_rounds_of_a_question_are_never_averaged_as_if_they_were_tries(tmp_path: Path) -> None:
    """A question, rounds and agents are a log: a run takes its last round, in a frame and in a file."""
    own = LOG.rename(columns={"debate": "qid", "vote": "answer", "label": "gold"})
    expected = as_run(LOG).value.tolist()
    for form, source in _sources(own, tmp_path).items():
        assert as_run(source).value.tolist() == expected, form


def test_a_column_that_stands_twice_and_a_second_sheet_are_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("item,correct,correct\n1,1,0\n2,0,1\n")
    with pytest.raises(ValueError, match=r"run\.csv must name each column once; got 'correct' twice"):
        as_run(path)
    with pd.ExcelWriter(tmp_path / "run.xlsx") as book:
        pd.DataFrame({"item": [1, 2], "correct": [1, 0]}).to_excel(book, sheet_name="runs", index=False)
        pd.DataFrame({"item": [1, 2], "correct": [0, 0]}).to_excel(book, sheet_name="others", index=False)
    assert any("others" in note for note in as_run(tmp_path / "run.xlsx").notes)


@pytest.mark.parametrize("judge", ["Model", "annotator", "judge_id"])
@IN_FORMS
def test_judges_under_another_name_are_never_pooled(judge: str, tmp_path: Path, few: bool) -> None:
    table = pd.DataFrame({"item": [1, 1, 2, 2], "judge": list("xyxy"), "vote": list("ABBA")})
    for form, source in _sources(table.rename(columns={"judge": judge}), tmp_path, few=few).items():
        read = as_judgments(source)
        assert read.judges == ("x", "y"), form
        assert any(f"judge is {judge!r}" in note for note in read.notes)


WIDE = pd.DataFrame({"item": list("pqrs"), "x": list("ABAA"), "y": list("ABBA"), "model": list("BBAA")})
"""One of the raters may be called model."""


@covering(
    item=["item", "qid", "ID", "Task_Id"], field=["label", "cluster", "log", "tokens", "round", "protocol"]
)
@examples(2, 6, "names")
def test_what_a_wide_table_says_of_an_item_is_no_raters_vote(
    item: str, field: str, names: int, tmp_path: Path
) -> None:
    """Under every name that the field has; nor is what never is a vote, such as a date or a comment."""
    named = [field, *(name for tier in ALIASES.get(field, ()) for name in tier)]
    for k, name in enumerate(named[:: max(1, len(named) // names)]):
        # Words under a name of the round are votes of a judge with a short name.
        told_of = [1, 2, 1, 1] if field == "round" else list("ABAA")
        more = {name: told_of, sorted(NO_VOTES)[7 * k % len(NO_VOTES)]: list("BBBA")}
        told = WIDE.assign(**more).rename(columns={"item": item})
        path = tmp_path / "told.csv"
        told.to_csv(path, index=False)
        forms: dict[str, Any] = {
            "frame": told,
            "file": path,
            "polars": pl.DataFrame(told.to_dict("list")),
        }
        # In the fast layer the field's own name in every form, and another name of it in one.
        for form in forms if k == 0 or names > 2 else ["frame"]:
            read = as_ratings(forms[form])
            assert (read.raters, read.items) == (("x", "y", "model"), tuple("pqrs")), (form, name)
            assert read.codes.tolist() == as_ratings(WIDE).codes.tolist(), (form, name)
            assert all(any(each in note for note in read.notes) for each in more if each != field), (
                form,
                name,
            )


def test_a_wide_table_without_items_is_read_alike_in_a_frame_and_in_a_file(tmp_path: Path) -> None:
    bare, named = WIDE.drop(columns="item"), WIDE.rename(columns={"item": "my key"})
    for k, table in enumerate((bare, named)):
        table.to_csv(tmp_path / f"{k}.csv", index=False)
    for source in (bare, tmp_path / "0.csv"):
        assert as_ratings(source).raters == ("x", "y", "model")
    for source in (named, tmp_path / "1.csv"):
        with pytest.raises(ValueError, match=r"must have a column 'item' .*columns=\{'item': 'my key'\}"):
            as_ratings(source)
        assert as_ratings(source, columns={"item": "my key"}).items == tuple("pqrs")


@covering(door=DOORS, item=["item", "qid", "wi"])
@IN_FORMS
def test_columns_of_votes_are_chosen_in_every_table(door: str, item: str, tmp_path: Path, few: bool) -> None:
    """The chosen columns are the raters, whatever else stands beside them and whatever the item is called."""
    table = WIDE.rename(columns={"item": item}).assign(label=list("ABAA"), z=list("BBBB"), run="r")
    expected = DOORS[door](table[[item, "x", "y", "label"]], columns={"item": item, "votes": ["x", "y"]})
    for form, source in _sources(table, tmp_path, few=few).items():
        assert DOORS[door](source, columns={"item": item, "votes": ["x", "y"]}) == expected, form
        if item != "wi":
            assert DOORS[door](source, columns={"votes": ["x", "y"]}) == expected, form
    if door == "agreement":
        assert as_ratings(table, columns={"item": item, "votes": ["x", "y"]}).raters == ("x", "y")


@sampled("others", [("model", "annotator"), ("agent_id", "speaker"), ("rater_id", "coder")], (0,))
@IN_FORMS
def test_two_columns_that_may_be_judges_are_asked_about_and_none_is_said(
    others: tuple[str, str], tmp_path: Path, few: bool
) -> None:
    table = pd.DataFrame({"item": [1, 1, 2, 2], "vote": list("ABBA")})
    two = table.assign(**{others[0]: list("xyxy"), others[1]: list("uuvv")})
    for form, source in _sources(two, tmp_path, few=few).items():
        for read in (as_judgments, as_ratings):
            with pytest.raises(
                ValueError, match=r"(judge|rater) must be one column .*; choose one with columns="
            ):
                read(source)
        assert as_judgments(source, columns={"judge": others[0]}).judges == ("x", "y"), form
    for form, source in _sources(table, tmp_path, few=few).items():
        assert any("no column judge" in note for note in as_judgments(source).notes), form
    for form, source in _sources(table.assign(agent=list("xyxy"), model="m"), tmp_path, few=few).items():
        assert as_judgments(source).judges == as_ratings(source).raters == ("x", "y"), form


def test_what_a_log_reader_did_is_said_of_verdicts_too() -> None:
    log = LOG.rename(columns={"agent": "speaker"})
    assert any("agent is 'speaker'" in note for note in as_judgments(log).notes)


@pytest.mark.parametrize("end", ["csv", "tsv", "xlsx", "parquet"])
def test_a_column_is_chosen_where_one_of_the_runs_has_it(end: str, tmp_path: Path) -> None:
    """The other run keeps its usual names; a column that no run has is refused."""
    mine = pd.DataFrame({"mykey": range(9), "correct": [1, 0, 1] * 3})
    theirs = mine.rename(columns={"mykey": "qid"}).assign(correct=[1, 1, 0] * 3)
    expected = compare(mine, theirs, columns={"item": "mykey"}, n_boot=20, rng=1).difference.value
    assert expected == pytest.approx(theirs["correct"].mean() - mine["correct"].mean())
    paths = [_written(table, tmp_path / f"{k}.{end}") for k, table in enumerate((mine, theirs))]
    assert compare(*paths, columns={"item": "mykey"}, n_boot=20, rng=1).difference.value == expected
    assert compare(*paths[::-1], columns={"item": "mykey"}, n_boot=20, rng=1).difference.value == -expected
    for order in (paths, paths[::-1]):
        for run in (compare, lambda *s, **how: as_runs(s, **how)):
            with pytest.raises(ValueError, match="item must be a column of the table; got 'nokey'"):
                run(*order, columns={"item": "nokey"})


def _written(table: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".xlsx":
        table.to_excel(path, index=False)
    elif path.suffix == ".parquet":
        with duckdb.connect() as con:
            con.register("t", table)
            con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    else:
        table.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)
    return path


READERS: dict[str, Callable[..., Any]] = DOORS | {
    "trajectories": lambda s, **how: as_trajectories(s, **how).votes.tolist()
}


@pytest.mark.parametrize("door", READERS)
def test_a_choice_of_columns_is_a_mapping_and_may_name_numbers(door: str, tmp_path: Path) -> None:
    numbered = LOG.set_axis(range(len(LOG.columns)), axis=1)
    choice = {name: k for k, name in enumerate(LOG.columns)}
    path = _written(LOG, tmp_path / "log.csv")
    assert READERS[door](numbered, columns=choice) == READERS[door](LOG)
    for wrong in ("debate=debate", ["debate"], 3, {"debate"}):
        for source in (LOG, path):
            with pytest.raises(TypeError, match=r"columns must be a mapping .*--columns debate=qid"):
                READERS[door](source, columns=wrong)


@pytest.mark.parametrize("door", DOORS)
def test_a_column_that_stands_twice_is_to_be_renamed(door: str) -> None:
    for table in (LOG, TABLE.drop(columns=["rater", "cluster"] if door != "agreement" else "cluster")):
        twice = pd.concat([table, table[["vote"]]], axis=1)
        with pytest.raises(ValueError, match=r"got 'vote' twice[:;] rename one of them"):
            DOORS[door](twice)


@sampled(
    "words", ["yes no", "Y N", "WAHR FALSCH", "True False", "right wrong", "TRUE false", "1 0"], (0, 2, 5, 6)
)
@IN_FORMS
def test_a_run_reads_words_for_right_and_wrong_as_a_log_does(words: str, tmp_path: Path, few: bool) -> None:
    """And refuses a column with a word that says neither, in every form."""
    right, wrong = words.split()
    run = pd.DataFrame({"item": range(4), "correct": [right, wrong, right, None]})
    log = run.rename(columns={"item": "debate"}).assign(round=1, agent="x")
    votes = as_trajectories(log.dropna()).votes.ravel().tolist()
    for form, source in _sources(run, tmp_path, few=few).items():
        read = as_run(source)
        assert read.value[:3].tolist() == votes == [1, 0, 1], form
        assert np.isnan(read.value[3]), form
        assert any("words in the column correct" in note for note in read.notes) == (
            words.lower() not in ("1 0", "true false")
        ), form
    for form, source in _sources(run.fillna("perhaps"), tmp_path, few=few).items():
        with pytest.raises((ValueError, TypeError), match=r"must be 0, 1|must be numbers"):
            as_run(source)
        assert form


@pytest.mark.parametrize("spelt", [str.upper, str.title, lambda name: name.replace("_", " ")])
def test_columns_without_other_names_are_found_in_any_case(spelt: Callable[[str], str]) -> None:
    verdicts = pd.DataFrame(
        {"item": [1, 1, 2], "vote": list("ABA"), "order": ["AB", "BA", "AB"], "length_a": [3.0, 3.0, 4.0]}
    )
    read = as_judgments(verdicts.rename(columns=spelt))
    assert read.order.tolist() == as_judgments(verdicts).order.tolist()
    assert read.numbers("length_a").tolist() == [3.0, 3.0, 4.0]
    scores = pd.DataFrame({"item": [1, 2, 3], "score": [0.5, 2.5, 1.0], "question": ["p", "p", "q"]})
    run, other = as_run(scores), as_run(scores.rename(columns=spelt))
    assert other.value.tolist() == run.value.tolist()
    assert list(other.cluster) == list(run.cluster) == ["p", "p", "q"]


@covering(key=["agent", "rater", "judge"], table=["items", "log"])
@IN_FORMS
def test_who_votes_is_chosen_by_the_name_of_a_log_of_ratings_and_of_verdicts(
    key: str, table: str, tmp_path: Path, few: bool
) -> None:
    """One choice of columns serves all readers; two different columns for the one role are refused."""
    standard = LOG if table == "log" else TABLE.drop(columns="cluster").rename(columns={"rater": "agent"})
    own = standard.rename(columns={"agent": "seat no", "vote": "said"})
    chosen = {key: "seat no", "vote": "said"}
    for door in ("agreement", "bias"):
        expected = DOORS[door](standard)
        for form, source in _sources(own, tmp_path, few=few).items():
            assert DOORS[door](source, columns=chosen) == expected, (door, form)
            other = "rater" if key != "rater" else "judge"
            with pytest.raises(ValueError, match="they are one role"):
                DOORS[door](source, columns=chosen | {other: "label"})
