"""One table, written in many types and formats, is one table at every door."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import covering

import d3stats
from d3stats import Trajectories
from d3stats.inference import cohen_kappa
from d3stats.inference.bias import as_judgments
from d3stats.log import count_log, read_log
from d3stats.note import MISSING_VALUES, Note, kind_of
from d3stats.sources.ratings import as_ratings
from d3stats.sources.runs import as_run
from d3stats.values import canonical

KEYS = {"debate": st.integers(1, 3)}
WHOLE = st.sampled_from([5, 6, 7])
WAYS: dict[str, Callable[[pd.Series], pd.Series]] = {
    "integers": lambda c: c.astype("Int64"),
    "floats": lambda c: c.astype("float64"),
    "narrow floats": lambda c: c.astype("float32"),
    "strings": lambda c: c.astype("Int64").astype("string"),
    "strings of floats": lambda c: c.astype("float64").astype("string"),
    "categories": lambda c: c.astype("Int64").astype("category"),
    "categories of floats": lambda c: c.astype("float64").astype("category"),
    "objects": lambda c: c.astype("Int64").astype(object),
    "mixed objects": lambda c: pd.Series(
        [None if pd.isna(x) else (int(x), float(x), f" {x:g} ")[i % 3] for i, x in enumerate(c)], dtype=object
    ),
    "words for missing": lambda c: pd.Series(
        [("nan", "NA", "None", " ")[i % 4] if pd.isna(x) else f"{x:g}" for i, x in enumerate(c)], dtype=object
    ),
}


@st.composite
def tables(draw: st.DrawFn, values: st.SearchStrategy[int] = WHOLE) -> pd.DataFrame:
    """Draw a small log in its plainest form: numbers, and missing votes as NaN."""
    rows = []
    for debate in range(1, draw(st.integers(2, 4)) + 1):
        label, question = draw(values), draw(st.integers(1, 2))
        for played in (1, 2):
            for agent in (1, 2, 3):
                vote = draw(st.one_of(values, st.just(np.nan)))
                rows.append((debate, question, label, played, agent, vote))
    table = pd.DataFrame(rows, columns=["debate", "question", "label", "round", "agent", "vote"])
    table.loc[0, "vote"] = table["label"].iloc[0]  # a table without any vote has nothing to compare
    return table


def rewritten(table: pd.DataFrame, votes: str, others: str) -> pd.DataFrame:
    """Write the columns in other types; only a vote is ever missing."""
    columns: dict[str, Any] = {"vote": WAYS[votes](table["vote"])}
    columns |= {
        name: WAYS[others](table[name].astype(float)) for name in ("label", "question", "debate", "agent")
    }
    return table.assign(**columns)


def as_csv(table: pd.DataFrame, folder: Path) -> Trajectories:
    table.to_csv(folder / "log.csv", index=False)
    return Trajectories.from_log(folder / "log.csv")


def as_parquet(table: pd.DataFrame, folder: Path) -> Trajectories:
    plain = table.astype({c: object for c in table if isinstance(table[c].dtype, pd.CategoricalDtype)})
    plain = plain.apply(lambda c: c.astype("string") if c.dtype == object else c)
    with duckdb.connect() as con:
        con.register("plain", plain)
        con.execute(f"COPY plain TO '{folder / 'log.parquet'}' (FORMAT parquet)")
    return Trajectories.from_log(folder / "log.parquet")


def as_lines(table: pd.DataFrame, folder: Path) -> Trajectories:
    lines = []
    for debate, turns in table.groupby(table["debate"].astype(str), sort=False):
        first = turns.iloc[0]
        item = {
            "type": "item",
            "debate": debate,
            "question": str(first["question"]),
            "label": str(first["label"]),
        }
        lines.append(item)
        for row in turns.to_dict("records"):
            turn = {"type": "turn", "debate": debate, "round": int(row["round"]), "agent": str(row["agent"])}
            vote = None if pd.isna(row["vote"]) else str(row["vote"])
            lines.append(turn | {"vote": vote})
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Trajectories.from_log(folder / "log.jsonl")


def as_arrays(table: pd.DataFrame, _: Path) -> Trajectories:
    debates = list(dict.fromkeys(table["debate"]))
    first = table.iloc[[6 * k for k in range(len(debates))]]
    return Trajectories.from_arrays(
        np.array(table["vote"].astype(object)).reshape(len(debates), 2, 3),
        first["label"],
        cluster=first["question"],
        debates=first["debate"],
        seats=list(canonical(table["agent"][:3], names=True).columns[0]),
    )


def split_and_joined(table: pd.DataFrame, folder: Path) -> Trajectories:
    half = 6 * (len(table) // 12)
    return Trajectories.concat(
        Trajectories.from_frame(table.iloc[:half].reset_index(drop=True)), as_csv(table.iloc[half:], folder)
    )


DOORS: dict[str, Callable[[pd.DataFrame, Path], Trajectories]] = {
    "frame": lambda table, _: Trajectories.from_frame(table),
    "csv": as_csv,
    "parquet": as_parquet,
    "lines": as_lines,
    "arrays": as_arrays,
    "split and joined": split_and_joined,
}


def said(t: Trajectories) -> dict[str, Any]:
    """Return all that a table says, answers and clusters by name."""
    names = np.array([*t.answers, None], dtype=object)
    order = np.argsort(t.debates)
    return {
        "debates": [t.debates[k] for k in order],
        "votes": names[t.votes[order]].tolist(),
        "labels": names[t.label[order]].tolist(),
        "clusters": [t.cluster_names[k] for k in t.cluster[order]],
        "seats": t.seats,
        "counts": t.counts().to_frame().to_dict("list"),
        "accuracy": (t.verdicts() == t.label[:, None]).mean(axis=0).tolist(),
    }


@pytest.mark.parametrize("door", DOORS)
@settings(max_examples=4, deadline=None)
@given(tables(), st.sampled_from(sorted(WAYS)), st.sampled_from(sorted(set(WAYS) - {"words for missing"})))
def test_a_log_is_the_same_in_every_type_at_every_door(
    tmp_path_factory: pytest.TempPathFactory, door: str, table: pd.DataFrame, votes: str, others: str
) -> None:
    plain = said(Trajectories.from_frame(table))
    assert said(DOORS[door](rewritten(table, votes, others), tmp_path_factory.mktemp("door"))) == plain


@covering(votes=["bool", "object", "category", "string", "words", "lower words"], door=DOORS)
@settings(max_examples=2, deadline=None)
@given(st.sampled_from(["int", "float", "bool"]), tables(st.sampled_from([0, 1])))
def test_booleans_are_zero_and_one_at_every_door(
    tmp_path_factory: pytest.TempPathFactory, door: str, votes: str, labels: str, table: pd.DataFrame
) -> None:
    words = {"words": ["False", "True"], "lower words": ["false", "true"]}.get(votes, [False, True])
    values = [None if pd.isna(x) else words[int(x)] for x in table["vote"]]
    kind = {"bool": "boolean", "category": "category", "string": "string"}.get(votes, object)
    other = table.assign(vote=pd.Series(values, dtype=kind), label=table["label"].astype(labels))
    t = DOORS[door](other, tmp_path_factory.mktemp("door"))
    assert t.counts() == Trajectories.from_frame(table).counts()


@settings(max_examples=4, deadline=None)
@given(tables(), st.sampled_from(sorted(WAYS)), st.sampled_from(sorted(set(WAYS) - {"words for missing"})))
def test_compare_agreement_and_bias_read_a_table_alike_in_every_type(
    tmp_path_factory: pytest.TempPathFactory, table: pd.DataFrame, votes: str, others: str
) -> None:
    path = tmp_path_factory.mktemp("table") / "table.csv"

    def run(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.rename(columns={"debate": "item"})[["item", "vote", "label", "question"]]

    def long(frame: pd.DataFrame) -> pd.DataFrame:
        named = frame.rename(columns={"debate": "item", "agent": "rater", "question": "cluster"})
        return named[named["round"] == 1][["item", "rater", "vote", "label"]]

    def verdicts(frame: pd.DataFrame) -> pd.DataFrame:
        two = (
            table[["vote", "label"]].where(
                table[["vote", "label"]].isna() | (table[["vote", "label"]] < 7), 6
            )
            - 4
        )
        frame = frame.assign(vote=WAYS[votes](two["vote"]), label=WAYS[others](two["label"].astype(float)))
        return frame.rename(columns={"debate": "item", "agent": "judge"})[["item", "judge", "vote", "label"]]

    other = rewritten(table, votes, others)
    run(other).to_csv(path, index=False)
    for source in (run(other), path):
        a, b = as_run(source), as_run(run(table))
        assert (a.items, a.label, a.cluster) == (b.items, b.label, b.cluster)
        np.testing.assert_array_equal(a.value, b.value)
    long(other).to_csv(path, index=False)
    for source in (long(other), path):
        c, d = as_ratings(source), as_ratings(long(table))
        assert (c.items, c.raters, c.categories, c.codes.tolist()) == (
            d.items,
            d.raters,
            d.categories,
            d.codes.tolist(),
        )
    verdicts(other).to_csv(path, index=False)
    plain = as_judgments(verdicts(table))
    for source in (verdicts(other), path):
        e = as_judgments(source)
        assert (e.items, e.judges, e.vote.tolist(), e.label.tolist()) == (
            plain.items,
            plain.judges,
            plain.vote.tolist(),
            plain.label.tolist(),
        )


@settings(max_examples=8, deadline=None)
@given(tables(), st.sampled_from(sorted(WAYS)), st.sampled_from(sorted(WAYS)))
def test_kappa_does_not_depend_on_the_types_of_its_columns(table: pd.DataFrame, one: str, other: str) -> None:
    a, b = table["vote"][::2].reset_index(drop=True), table["vote"][1::2].reset_index(drop=True)
    both = pd.DataFrame({"a": a, "b": b}).dropna().reset_index(drop=True)
    if len(both) < 3 or both.nunique().min() < 2:
        return
    values = [
        cohen_kappa(x, y, level=0.9).estimate.value
        for x, y in ((both["a"], both["b"]), (WAYS[one](both["a"]), WAYS[other](both["b"])))
    ]
    assert values[0] == pytest.approx(values[1])


WORDS = "debate,round,agent,vote,label\nd,1,a,NA,NA\nd,1,b,B,NA\nd,1,c,unparsed,NA\n"


def test_words_that_mean_missing_can_be_said_at_every_door(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(WORDS)
    frame = pd.read_csv(path, keep_default_na=False)
    given = ["unparsed"]
    for t in (
        Trajectories.from_log(path, missing_values=given),
        Trajectories.from_frame(frame, missing_values=given),
        Trajectories.from_arrays([[["NA", "B", "unparsed"]]], ["NA"], missing_values=given),
    ):
        assert (t.answers, t.votes.tolist(), t.label.tolist()) == (("B", "NA"), [[[1, 0, -1]]], [1])
    assert Trajectories.from_log(path).label.tolist() == [-1]
    assert (
        count_log(path, missing_values=given).rounds
        == Trajectories.from_log(path, missing_values=given).counts()
    )
    assert "1 vote and 1 label are read as missing: 'NA' (2)" in " ".join(read_log(path).notes)


def test_a_declared_answer_is_an_answer_whatever_its_word(tmp_path: Path) -> None:
    item = {"type": "item", "debate": "d", "question": "q", "label": "None", "answers": ["None", "2.0"]}
    votes = ["none", "None", "2", "NA"]
    turns = [
        {"type": "turn", "debate": "d", "round": 1, "agent": str(k), "vote": v}
        for k, v in enumerate(votes)
        if k
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (item, *turns)))
    t = Trajectories.from_log(path)
    assert (t.answers, t.votes.tolist(), t.label.tolist()) == (("2", "None"), [[[1, 0, -1]]], [1])


def test_columns_that_nothing_reads_are_named(tmp_path: Path) -> None:
    table = pd.DataFrame({"item": ["q1", "q2"], "vote": ["A", "B"], "label": ["A", "A"], "topic": [1, 2]})
    said = "columns that were not read: topic"
    assert said in as_run(table).notes
    assert said in as_ratings(table.assign(rater="x")).notes
    assert said in as_judgments(table).notes
    turns = table.rename(columns={"item": "debate"}).assign(round=1, agent="a")
    assert said in Trajectories.from_frame(turns).notes
    assert said not in Trajectories.from_frame(turns.drop(columns="topic")).notes


@pytest.mark.parametrize(
    ("column", "value"),
    [
        # In the fast layer a vote has every value, and every other column one of them, dealt in turn.
        pytest.param(
            column, value, marks=() if column == "vote" or (i + 3 * k) % 7 == 0 else pytest.mark.slow
        )
        for i, column in enumerate(
            ["vote", "label", "question", "cluster", "agent", "role", "log", "decision"]
        )
        for k, value in enumerate([" A", "A  b", "6.0", "NA", "cafe\u0301", "a\u00a0b", "none"])
    ],
)
@pytest.mark.parametrize(
    "kind",
    ["jsonl", pytest.param("csv", marks=pytest.mark.slow), pytest.param("parquet", marks=pytest.mark.slow)],
)
def test_the_fast_reader_is_not_sure_of_a_value_in_another_form(
    tmp_path: Path, column: str, value: str, kind: str
) -> None:
    from d3stats.log import write_csv, write_jsonl, write_parquet

    path = tmp_path / "log.jsonl"
    item = {"type": "item", "debate": "d", "question": "q", "cluster": "c", "label": "A", "log": "run"}
    turn = {"type": "turn", "debate": "d", "round": 1, "agent": "a", "role": "juror", "vote": "A"}
    verdict = {"type": "verdict", "debate": "d", "decision": "A", "round": 1}
    records = [
        {k: value if k == column else v for k, v in record.items()} for record in (item, turn, verdict)
    ]
    for lines in ((item, turn, verdict), records):
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        target = path
        if kind != "jsonl":
            raw = pd.DataFrame([{**lines[0], **lines[1], "decision": lines[2]["decision"], "stop_round": 1}])
            target = tmp_path / f"log.{kind}"
            raw = raw.drop(columns="type")
            if kind == "csv":
                raw.to_csv(target, index=False)
            else:
                with duckdb.connect() as con:
                    con.register("raw", raw.astype({c: "string" for c in raw if raw[c].dtype == object}))
                    con.execute(
                        f"COPY (SELECT * REPLACE (round::INTEGER AS round, stop_round::INTEGER AS stop_round) "
                        f"FROM raw) TO '{target}' (FORMAT parquet)"
                    )
        exact = read_log(target)
    assert read_log(write_csv(target, tmp_path / "copy.csv")) == exact
    assert read_log(write_parquet(target, tmp_path / "copy.parquet")) == exact
    assert read_log(write_jsonl(target, tmp_path / "copy.jsonl")) == exact


def test_a_huge_round_number_and_a_huge_panel_are_refused_without_a_huge_table() -> None:
    row = {"debate": "d", "round": 999_999_999, "agent": "a", "vote": "A", "label": "A"}
    with pytest.raises(ValueError, match="no round 1 in debate 'd'"):
        Trajectories.from_frame(pd.DataFrame([row]))
    many = 30_000
    wide = pd.DataFrame({"debate": "wide", "round": 1, "agent": np.arange(many), "vote": "A", "label": "A"})
    small = wide.assign(debate=np.arange(many), agent="a")
    with pytest.raises(ValueError, match="30,000 agents \\(in debate 'wide'\\)"):
        Trajectories.from_frame(pd.concat([wide, small]))


# ------------------------------------------------------------------ words that were taken for missing are warned of


def _with(word: object) -> pd.DataFrame:
    votes = ["A", "B", word, "A", word, "B", "A", "A"]
    rows = [("d1", 1, f"a{k}", vote, "A") for k, vote in enumerate(votes[:4])]
    rows += [("d2", 1, f"a{k}", vote, "B") for k, vote in enumerate(votes[4:])]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])


def _items(word: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"item": list("abcdef"), "score": ["0.5", word, "0.25", "1", word, "0"]}, dtype=object
    )


def _notes_of(source: Any, kind: str, **reading: Any) -> list[Note]:
    if kind == "runs":
        notes = as_run(source, value="score", **reading).notes
    elif kind == "ratings":
        notes = as_ratings(source, **reading).notes
    else:
        notes = d3stats.open(source, **reading).trajectories().notes
    return [note for note in notes if kind_of(note) == MISSING_VALUES and isinstance(note, Note)]


@pytest.mark.parametrize(
    ("word", "form", "kind"),
    [
        # In the fast layer every two values meet once or twice.
        pytest.param(word, form, kind, marks=() if (w + f) % 3 == k else pytest.mark.slow)
        for w, word in enumerate(["nan", "NaN", "None", "null", "NA"])
        for f, form in enumerate(["frame", "csv", "jsonl"])
        for k, kind in enumerate(["log", "ratings", "runs"])
    ],
)
def test_a_word_that_nobody_named_is_missing_with_a_warning(
    word: str, form: str, kind: str, tmp_path: Path
) -> None:
    def source(cell: object) -> Any:
        table = _items(cell) if kind == "runs" else _with(cell)
        if kind == "ratings":
            table = table.rename(columns={"debate": "item", "agent": "rater"}).drop(columns="round")
        if form == "frame":
            return table
        path = tmp_path / f"t.{form}"
        if form == "csv":
            table.to_csv(path, index=False)
        else:
            table.to_json(path, orient="records", lines=True)
        return path

    warned = _notes_of(source(word), kind)
    assert [(note.severity, note.n, note.examples) for note in warned] == [("warning", 2, (word,))]
    named = _notes_of(source(word), kind, missing_values=[word])
    assert [(note.severity, note.n) for note in named] == [("note", 2)]
    assert not _notes_of(source(None), kind)
    if kind != "runs":
        assert not _notes_of(source(word), kind, missing_values=[])
    else:
        with pytest.raises(TypeError, match="numbers"):
            _notes_of(source(word), kind, missing_values=[])
