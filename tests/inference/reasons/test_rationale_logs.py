"""Which texts are rationales, in logs of every kind; what is missing is said and never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from made_rationales import COLUMNS, cited_log, disputed_log

import d3stats
from d3stats import as_trajectories, read_log
from d3stats.inference import compare_rationales, rationale_strata, rationale_texts, rationales
from d3stats.inference.reasons.rationales import ACROSS, AXIS, AXIS_CHANCE, CITES, RATIO, SIMILARITY


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return cited_log(np.random.default_rng(7), 20)


@pytest.fixture(scope="module")
def of_table(table: pd.DataFrame) -> Any:
    """The rationales of the table, which tests only look at."""
    return rationales(table)


def as_records(table: pd.DataFrame, path: Path) -> Path:
    lines = []
    for debate, turns in table.groupby("debate", sort=False):
        lines.append({"type": "item", "debate": debate, "question": turns["question"].iloc[0]})
        for row in turns.drop(columns="question").to_dict("records"):
            lines.append({"type": "turn"} | {k: v for k, v in row.items() if isinstance(v, str | int)})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_every_form_of_a_log_gives_the_same(tmp_path: Path) -> None:
    table = cited_log(np.random.default_rng(7), 5)
    lines = as_records(table, tmp_path / "log.jsonl")
    csv = tmp_path / "log.csv"
    table.rename(columns={"text": "rationale"}).to_csv(csv, index=False)
    shuffled = table.sample(frac=1, random_state=3)
    forms = [
        lines,
        str(lines),
        [lines],
        csv,
        shuffled,
        pl.DataFrame(table.astype(object).where(table.notna(), None).to_dict("list")),
        read_log(lines, texts=True),
    ]
    expected = rationales(table).to_dict()["estimates"]
    for form in forms:
        assert rationales(form).to_dict()["estimates"] == expected


def test_known_rates_are_recovered(table: pd.DataFrame) -> None:
    found = rationales(cited_log(np.random.default_rng(3), 400, share=0.94, sd=0.05), repeated_words=None)
    assert abs(found[CITES].value - 0.94) < 4 * found[CITES].se
    assert abs(found["that name a round"].value - 0.94 / 3) < 4 * found["that name a round"].se
    assert (found[CITES].n, found[CITES].n_clusters) == (4000, 400)


def test_a_share_of_five_hundred_rationales_is_the_papers() -> None:
    """D3, section 5.8: 94 % of 500 juror rationales, 470."""
    rows = []
    for d in range(100):
        rows += [(f"d{d}", 1, f"advocate {s}", "advocate", None, "So it is.") for s in "AB"]
        for j in range(5):
            text = "Advocate A argued that it is so." if 5 * d + j < 470 else "Answer B is better."
            rows.append((f"d{d}", 1, f"juror {j}", "juror", "A", text))
    found = rationales(pd.DataFrame(rows, columns=["debate", "round", "agent", "role", "vote", "text"]))
    assert (found[CITES].value, found[CITES].n) == (0.94, 500)


def test_rationales_are_the_texts_of_the_roles_that_vote(table: pd.DataFrame, of_table: Any) -> None:
    found = of_table
    assert set(found.marks["role"]) == {"juror"}
    said = (
        "rationales are the texts of juror, the role that votes; for another, ask with role=... (--role ...)"
    )
    assert said in found.notes
    chosen = rationales(table, role="advocate")
    assert set(chosen.marks["role"]) == {"advocate"}
    assert not any("the role that votes" in note for note in chosen.notes)
    both = rationales(table, role=["advocate", "juror"], round_number=2)
    assert set(both.marks["role"]) == {"juror"}
    with pytest.raises(
        ValueError, match=r"role must be one of the log's \('advocate', 'juror'\); got role='jurors'; did"
    ):
        rationales(table, role="jurors")
    with pytest.raises(ValueError, match="the turns have no roles"):
        rationales(table.drop(columns="role"), role="juror")


def test_the_last_round_is_taken_and_said(table: pd.DataFrame) -> None:
    rows = [
        (debate, r, agent, "A", f"In debate {debate} round {r}.")
        for debate, last in (("d1", 2), ("d2", 3))
        for r in range(1, last + 1)
        for agent in "xy"
    ]
    log = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"])
    found = rationales(log)
    assert found.marks["round"].tolist() == [2, 2, 3, 3]
    assert any("each debate's last round (rounds 2 to 3, by debate)" in note for note in found.notes)
    first = rationales(log, round_number=1)
    assert first.marks["round"].tolist() == [1, 1, 1, 1]
    assert not any("last round" in note for note in first.notes)
    with pytest.raises(
        ValueError, match=r"round_number must be a round in which they spoke \(1, 2, 3\); got 4"
    ):
        rationales(log, round_number=4)
    with pytest.raises(TypeError, match="round_number must be an integer"):
        rationales(log, round_number="last")


def test_missing_texts_are_left_out_and_counted(table: pd.DataFrame) -> None:
    some = table.copy()
    jurors = np.flatnonzero(some["role"] == "juror")
    some.loc[jurors[:4], "text"] = [None, "  ", "N/A", np.nan]
    found = rationales(some)
    assert len(found.marks) == len(jurors) - 4
    assert "4 of 200 turns have no text: left out, not taken as empty" in found.notes
    kept = rationales(some, missing_values=["-"])
    assert len(kept.marks) == len(jurors) - 3


def test_a_log_without_texts_is_refused_with_what_to_do(table: pd.DataFrame) -> None:
    for log in (table.drop(columns="text"), table.assign(text=None), table.assign(text=" ")):
        with pytest.raises(
            ValueError, match=r"got 280 turns of the table without any.*columns=\{'text': 'COLUMN'\}"
        ):
            rationales(log)
    with pytest.raises(ValueError, match="of slm7 without any"):
        rationales("slm7")
    with pytest.raises(ValueError, match=r"read it with read_log\(\.\.\., texts=True\)"):
        rationales(read_log(d3stats.log.files.as_path("slm7")))
    with pytest.raises(TypeError, match="got Trajectories, which hold votes alone"):
        rationales(as_trajectories(table))
    with pytest.raises(TypeError, match="log must be a path"):
        rationales([["A", "B"]])
    silent = table.assign(text=table["text"].where(table["role"] == "advocate"))
    with pytest.raises(
        ValueError, match="none in the 200 turns chosen; the log has texts: 80 of advocate in round 1"
    ):
        rationales(silent)


def test_a_log_of_correctness_says_what_it_assumes(table: pd.DataFrame) -> None:
    votes = table.assign(correct=np.where(table["role"] == "juror", 1, np.nan)).drop(columns="vote")
    found = rationales(votes)
    assert any("two wrong ones count as agreement" in note for note in found.notes)


def log_of(rows: list[tuple[str, str, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(
        [(d, 1, *more) for d, *more in rows], columns=["debate", "round", "agent", "vote", "text"]
    )


def test_one_debate_has_numbers_and_no_intervals() -> None:
    found = rationales(
        log_of([("d", "x", "A", "clear words"), ("d", "y", "B", "deep words"), ("d", "z", "A", "clear")])
    )
    assert {e.name for e in found.estimates} >= {CITES, SIMILARITY}
    assert all(e.low is None and "a single cluster" in e.note for e in found.estimates)
    assert found.reasons[["low", "high", "p_value"]].isna().all(axis=None)
    assert set(found.reasons["note"]) == {"a single cluster, so the variation between clusters is unknown"}


def test_one_question_has_no_yardstick() -> None:
    rows = [(f"d{d}", agent, "A", f"clear words {d}") for d in range(4) for agent in "xy"]
    found = rationales(log_of(rows).assign(question="q"))
    assert found.find(ACROSS) is None
    assert "similarity: with one question there is no pair across questions to compare with" in found.notes
    two = rationales(log_of(rows[:4]))
    assert two[ACROSS].low is None
    assert "two questions" in two[ACROSS].note


def test_one_agent_has_nobody_to_be_like() -> None:
    found = rationales(log_of([(f"d{d}", "x", "A", f"clear words {d}") for d in range(6)]))
    assert found.find(SIMILARITY) is None
    assert found.find(RATIO) is None
    assert found[ACROSS].n == 6
    assert "similarity: no debate has two rationales, so that there is no pair to compare" in found.notes
    assert "6 debates: 6 unanimous" in found.notes
    assert found.reasons.empty
    with pytest.raises(ValueError, match="reasons need a disputed debate"):
        found.plot(what="reasons")


def test_equal_texts_have_no_interval_and_a_reason() -> None:
    found = rationales(log_of([(f"d{d}", agent, "A", "the same") for d in range(12) for agent in "xy"]))
    assert found[SIMILARITY].value == pytest.approx(1.0)
    assert found[SIMILARITY].low is None
    assert "every cluster gives the same" in found[SIMILARITY].note


def test_texts_without_words_have_no_similarity() -> None:
    found = rationales(log_of([(f"d{d}", agent, "A", "5") for d in range(4) for agent in "xy"]))
    assert found.find(SIMILARITY) is None
    assert "similarity: no rationale has a word of two letters or more" in found.notes


def test_vectors_of_zeros_are_said_and_not_called_one_question() -> None:
    rows = [(f"d{d:02}", agent, "A", f"clear words {d}") for d in range(20) for agent in "xy"]
    table, vectors = log_of(rows), np.zeros((40, 3))
    none = rationales(table, embed=vectors)
    assert none.find(SIMILARITY) is None
    notes = [note for note in none.notes if "similarity" in note]
    assert notes == [
        "no similarity: 40 rationales of 40 have a vector of zeros and were left out, and none remains"
    ]
    vectors[:2] = 1.0
    notes = [note for note in rationales(table, embed=vectors).notes if "similarity" in note]
    assert (
        "similarity: with vectors in one question only there is no pair across questions to compare with"
        in notes
    )
    assert not any("with one question" in note for note in notes)


def test_nobody_votes() -> None:
    found = rationales(log_of([(f"d{d}", agent, None, "words") for d in range(4) for agent in "xy"]))
    assert "no agent voted, so there is no dissent to trace" in found.notes
    assert found.reasons.empty


def test_few_questions_are_said() -> None:
    found = rationales(cited_log(np.random.default_rng(1), 6))
    assert any(note.startswith("only 6 clusters: limits are rough (") for note in found.notes)


def test_debates_of_one_question_are_one_cluster(table: pd.DataFrame, of_table: Any) -> None:
    assert of_table[CITES].n_clusters == 20
    assert rationales(table.drop(columns="question"))[CITES].n_clusters == 40
    assert rationales(table.assign(cluster=table["question"].str[:3]))[CITES].n_clusters == 1


def test_agents_have_a_row_each_unless_they_are_many(table: pd.DataFrame, of_table: Any) -> None:
    found = of_table
    assert found.agents["agent"].tolist() == [f"juror {k}" for k in range(1, 6)]
    assert found.agents["rationales"].tolist() == [40] * 5
    mean = (found.agents["cites"] * found.agents["rationales"]).sum() / 200
    assert mean == pytest.approx(found[CITES].value)
    alone = table.assign(agent=table["agent"] + table["debate"])
    alone = alone[alone["debate"].isin(alone["debate"].unique()[:12])]
    many = rationales(alone)
    assert many.agents.empty
    assert "no table of agents, because there are 60, more than 50" in many.notes


def test_a_result_shows_itself_in_every_form(table: pd.DataFrame) -> None:
    found = rationales(table)
    assert found.to_frame("estimates")["name"].iloc[0] == CITES
    assert "agents" in found.summary()
    assert set(found.to_dict()) == {"headline", "estimates", "phrases", "reasons", "agents", "notes"}
    assert "juror 1" in found.to_latex("agents")
    assert found.to_latex().count(r"\\") == len(found.estimates) + 1
    assert "<table" in found._repr_html_()
    labels = [tick.get_text().replace("\n", " ") for tick in found.plot().get_yticklabels()]
    assert labels[0] == CITES
    with pytest.raises(KeyError, match="no estimate 'share'"):
        found["share"]
    both = compare_rationales(table, table, names=("one", "two"))
    assert both.to_frame()["name"].iloc[0] == f"{CITES}, two - one"
    assert list(both.to_dict()) == ["headline", "names", "estimates", "first", "second", "notes"]
    assert both.to_frame("two")["name"].iloc[0] == CITES
    assert len(both.plot().get_yticklabels()) == len([e for e in both.differences if " / " not in e.name])


def test_names_of_two_logs(tmp_path: Path) -> None:
    table = cited_log(np.random.default_rng(7), 5)
    paths = [as_records(table, tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
    assert compare_rationales(*paths).names == ("a.jsonl", "b.jsonl")
    assert compare_rationales(table, paths[0]).names == ("first", "second")
    with pytest.raises(ValueError, match="names must be two different names"):
        compare_rationales(table, table, names=("x", "x"))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"level": 95}, ValueError, "level must lie strictly between 0 and 1"),
        ({"repeated_words": 1}, ValueError, "repeated_words must be >= 2"),
        (
            {"repeated_words": -1},
            ValueError,
            r"must be >= 2, or None to look for none \(--repeated-words 0\); got .*=-1",
        ),
        ({"rng": -1}, ValueError, "rng must be >= 0"),
        ({"reasons": {}}, ValueError, "reasons must name at least one pattern"),
        ({"encoding": "latin-1"}, ValueError, "encoding must be left out for a DataFrame"),
    ],
)
def test_settings_that_cannot_be_are_refused(table, settings, error, message) -> None:
    with pytest.raises(error, match=message):
        rationales(table, **settings)


def test_texts_of_a_log_are_listed_with_their_votes(table: pd.DataFrame) -> None:
    listed = rationale_texts(table)
    assert list(listed) == COLUMNS
    jurors = table[table["role"] == "juror"].sort_values(["debate", "agent"])
    assert listed["text"].tolist() == jurors["text"].tolist()
    assert listed["vote"].tolist() == jurors["vote"].tolist()


def test_the_three_measures_by_log_are_those_of_each_log_with_what_they_are_read_beside() -> None:
    logs = {
        "cited": cited_log(np.random.default_rng(3), 20),
        "disputed": disputed_log(np.random.default_rng(4), 20),
    }
    found = {name: rationales(log) for name, log in logs.items()}
    table = rationale_strata(found).set_index(["stratum", "quantity"])
    assert not table.index.has_duplicates
    for name, one in found.items():
        for measure, beside in ((CITES, None), (SIMILARITY, ACROSS), (AXIS, AXIS_CHANCE)):
            whole = one.find(measure)
            assert ((name, measure) in table.index) == (whole is not None)
            if whole is None:
                continue
            row = table.loc[(name, measure)]
            assert (row["value"], row["level"], row["kind"]) == (whole.value, whole.level, whole.kind)
            assert row[["low", "high"]].tolist() == pytest.approx([whole.low, whole.high], nan_ok=True)
            reference = one.find(beside).value if beside else np.nan
            assert row["reference"] == pytest.approx(reference, nan_ok=True)
    assert ("disputed", AXIS) in table.index
    # A table of the estimates says the same as the result.
    again = rationale_strata({name: one.to_frame() for name, one in found.items()})
    pd.testing.assert_frame_equal(again, rationale_strata(found))


def test_measures_of_nothing_are_refused() -> None:
    for bad in (
        {},
        {"one": pd.DataFrame({"name": ["another"], "value": [1.0], "low": [0.0], "high": [1.0]})},
    ):
        with pytest.raises(ValueError, match="found must hold a result with one of"):
            rationale_strata(bad)
