"""Tables of probable mistakes: each gets one sentence, from the doctor and from the array view."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import examples

from d3stats.log import doctor
from d3stats.note import kind_of, sentence_of
from d3stats.plausibility import FINDINGS, _codes, _different, findings
from d3stats.trajectories import Trajectories

ANSWERS = np.array(list("ABCD"))


def sound(
    n: int = 40, rounds: int = 3, agents: int = 3, accuracy: float = 0.7, seed: int = 5
) -> pd.DataFrame:
    """Return a table as it should be: three agents debate forty questions with four answers."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, n)
    rows = []
    for d in range(n):
        for r in range(1, rounds + 1):
            for a in range(agents):
                right = rng.random() < accuracy
                vote = label[d] if right else (label[d] + rng.integers(1, 4)) % 4
                rows.append((f"d{d}", f"q{d}", r, f"agent {a + 1}", ANSWERS[vote], ANSWERS[label[d]]))
    return pd.DataFrame(rows, columns=["debate", "question", "round", "agent", "vote", "label"])


def changed(**columns: Callable[[pd.DataFrame], object]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda t: t.assign(**columns)


def _numbers(t: pd.DataFrame) -> pd.DataFrame:
    return t.assign(label=t["label"].map(dict(zip("ABCD", range(4), strict=True))))


def _runs(copy: bool) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def make(t: pd.DataFrame) -> pd.DataFrame:
        rng = np.random.default_rng(6)
        drawn = np.where(rng.random(len(t)) < 0.7, t["label"], rng.choice(list(ANSWERS), len(t)))
        other = t if copy else t.assign(vote=drawn)
        both = [t.assign(log="run 1"), other.assign(log="run 2", debate="x" + other["debate"])]
        return pd.concat(both, ignore_index=True)

    return make


def _with_empty_debates(t: pd.DataFrame) -> pd.DataFrame:
    bare = pd.DataFrame({"debate": ["e1", "e2"], "question": ["e1", "e2"], "label": ["A", "B"]})
    return pd.concat([t, bare], ignore_index=True)


def _without(rows: Callable[[pd.DataFrame], pd.Series]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda t: t.assign(vote=t["vote"].where(~rows(t)))


def _repeats(separator: str, cluster: bool = False) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def make(t: pd.DataFrame) -> pd.DataFrame:
        number = t["debate"].str[1:].astype(int)
        question = "item " + (number // 4).astype(str) + " x"
        label = t.groupby(question)["label"].transform("first")
        named = t.assign(debate=question + separator + (number % 4).astype(str), label=label)
        return named.assign(question=question) if cluster else named.drop(columns="question")

    return make


def _majorities(t: pd.DataFrame, agent: str) -> pd.DataFrame:
    votes = t.groupby(["debate", "round"])["vote"].transform(lambda each: each.mode().iloc[0])
    return t.assign(vote=votes, agent=agent).drop_duplicates(["debate", "round"])


def _scored(t: pd.DataFrame) -> pd.DataFrame:
    points = np.random.default_rng(8).uniform(1, 10, (len(t), 2)).round(1)
    sides = t.assign(label=t["label"].map(dict(zip("ABCD", "ABAB", strict=True))), vote=None)
    return sides.assign(score_A=points[:, 0], score_B=points[:, 1])


def _rates(n: int, share: float) -> Callable[[pd.DataFrame], pd.Series]:
    return lambda t: pd.Series(np.random.default_rng(n).random(len(t)) < share)


IMPLAUSIBLE: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str, str]] = {
    "a debate of totals": (
        changed(debate=lambda t: t["debate"].replace(t["debate"].iloc[-1], "Total")), "row of sums", "'Total'"),
    "a debate copied": (
        lambda t: pd.concat([t, t[t["debate"] == "d3"].assign(debate="d3 (copy)")], ignore_index=True),
        "names of copies", r"1 debate has the name of a copy of another \('d3 \(copy\)'\)"),
    "debates called by dates and their numbers": (
        changed(debate=lambda t: [f"2025-01-{n + 1:02d}" if n < 25 else str(45658 + n)
                                  for n in t["debate"].str[1:].astype(int)]),
        "dates as numbers", "25 debates are called by a date, 15 by a number such as '45683'"),
    "fractions as dates": (changed(vote=lambda t: t["vote"].where(_rates(3, 0.7)(t), "2025-02-01 00:00:00")),
                           "votes that are dates", r"\d+ votes are dates \('2025-02-01 00:00:00'\)"),
    # no vote is a label
    "labels in lower case": (changed(label=lambda t: t["label"].str.lower()), "no vote is a label",
                             "no vote ever equals its label .* differ only in case"),
    "labels in brackets": (changed(label=lambda t: "(" + t["label"] + ")"), "no vote is a label", "or punctuation"),
    "labels with a full stop": (changed(label=lambda t: t["label"] + "."), "no vote is a label", "or punctuation"),
    "labels as positions": (_numbers, "no vote is a label", "labels are numbers and votes are not"),
    "votes as positions": (changed(vote=lambda t: t["vote"].map(dict(zip("ABCD", range(4), strict=True)))),
                           "no vote is a label", "votes are numbers and labels are not"),
    "labels of other words": (changed(label="gold"), "no vote is a label", "write both in the same way, or "
                                                                           "name the columns"),
    "labels and questions exchanged": (changed(label=lambda t: t["question"]), "no vote is a label", "labels 'q0'"),
    "votes and agents exchanged": (changed(vote=lambda t: t["agent"]), "no vote is a label", "votes 'agent 1'"),
    "votes of other letters": (changed(vote=lambda t: t["vote"].map(dict(zip("ABCD", "EFGH", strict=True)))),
                                     "no vote is a label", "votes 'E', 'F', 'G'"),
    "a word that is no label": (lambda t: t.assign(vote=t["vote"].where(_rates(4, 0.8)(t), "keine Angabe")),
                               "votes that are no label", r"votes say 'keine Angabe' \(\d+\), which is the label"),
    # debates of one question that contradict each other
    "two labels of a question": (
        lambda t: t.assign(question="q" + (t["debate"].str[1:].astype(int) // 2).astype(str)),
        "questions with several labels", r"\d+ questions of 20 have several labels \('q\d+' has '[A-D]' and '[A-D]'"),
    "two categories of a question": (
        lambda t: t.assign(question="q" + (t["debate"].str[1:].astype(int) // 2).astype(str), label="A",
                           category=lambda s: np.where(s["debate"] == "d1", "math", "law")),
        "questions with several categories", "1 question of 20 has several categories .'q0' has 'law' and 'math'"),
    # labels without a vote, spellings
    "a label outside the answers": (changed(label=lambda t: t["label"].replace("D", "E")), "labels without a vote",
                                    "have a label that no agent votes for .'E'"),
    "half the labels in lower case": (changed(label=lambda t: t["label"].replace({"A": "a", "B": "b"})),
                                      "answers in several spellings", "'A', 'a' and 1 more such answers"),
    "some votes in brackets": (changed(vote=lambda t: t["vote"].where(_rates(1, 0.5)(t), "(" + t["vote"] + ")")),
                               "answers in several spellings", "'.A.', 'A'"),
    "half the votes in sentences": (changed(
        vote=lambda t: t["vote"].where(_rates(1, 0.5)(t), "The answer is " + t["vote"] + ".")),
        "votes that state an answer", r"state one \('The answer is .\.' says '.'"),
    "a debate in capitals": (lambda t: pd.concat([t, t[t["debate"] == "d5"].assign(debate="D3")], ignore_index=True),
                             "names in several spellings", "names of debates differ only .* case: 'D3', 'd3'"),
    "votes that are dashes": (changed(vote=lambda t: t["vote"].where(_rates(5, 0.9)(t), "-")),
                              "votes like missing values", "votes say '-', which looks like a missing value"),
    "votes that are errors": (changed(vote=lambda t: t["vote"].where(_rates(6, 0.9)(t), "ERROR: 503")),
                              "votes like missing values", "'ERROR: 503'"),
    # wrong, right, constant
    "every debate wrong": (changed(label=lambda t: t["debate"].map(
        t[t["round"] == 3].groupby("debate")["vote"].agg(lambda v: next(a for a in "ABCD" if a not in set(v))))),
        "every debate wrong", "every one of 40 labelled debates ends with a wrong verdict"),
    "labels copied from the votes": (changed(vote=lambda t: t["label"]), "every vote right", "a copy of the vote"),
    "one vote everywhere": (changed(vote="A"), "one answer only", "every vote is 'A' although labels differ"),
    "labels filled with one cell": (changed(label="A"), "one label only", "every one of 40 labels is 'A', and only"),
    "votes with two answers": (lambda t: t.assign(vote=t["vote"].where(_rates(7, 0.9)(t), "A; C")),
                               "votes with several answers", r"votes name several answers \('A; C'\) and count as"),
    "yes in two languages": (lambda t: t.assign(
        label=t["label"].map({"A": "yes", "B": "no", "C": "yes", "D": "no"}),
        vote=lambda s: np.where(_rates(8, 0.5)(s), np.where(t["vote"] < "C", "yes", "no"),
                                np.where(t["vote"] < "C", "ja", "nein"))),
        "answers in several ways", "answers have several spellings .*ja"),
    "votes that are texts": (changed(vote=lambda t: [f"I think {i}" for i in range(len(t))], label=None),
                             "votes are texts", "360 of 360 votes are all different"),
    "votes that are row numbers": (changed(vote=lambda t: np.arange(len(t)), label=None), "votes are texts",
                                   "texts or identifiers"),
    # missing votes
    "a debate without votes": (_without(lambda t: t["debate"] == "d3"), "debates without a vote",
                               "in 1 debate of 40 every vote is missing .'d3'"),
    "an agent without votes": (_without(lambda t: t["agent"] == "agent 2"), "agents without a vote",
                               "every vote of 1 agent is missing .'agent 2'"),
    "a round without votes": (_without(lambda t: t["round"] == 2), "rounds without a vote",
                              "every vote of round 2 is missing"),
    "a last round without votes": (_without(lambda t: t["round"] == 3), "rounds without a vote", "round 3"),
    "a quarter of the votes missing": (_without(_rates(2, 0.25)), "many votes missing",
                                       r"of 360 votes are missing \(2\d%"),
    "98 % of the votes missing": (_without(_rates(3, 0.98)), "many votes missing", r"\(9[789]%"),
    "all votes missing": (changed(vote=None), "many votes missing", r"360 of 360 votes are missing"),
    "reasons beside missing votes": (lambda t: _without(_rates(4, 0.4))(t).assign(
        error=lambda s: s["vote"].isna().map({True: "timeout", False: None})), "many votes missing",
        "recorded reasons: timeout 1"),
    # structure
    "debates without turns": (_with_empty_debates, "debates without turns", "2 debates of 42 have no turns"),
    "one agent in every row": (lambda t: t[t["agent"] == "agent 1"], "one agent", "'agent 1', has every turn"),
    "rounds named as agents": (lambda t: t[t["agent"] == "agent 1"].assign(agent="gpt"), "one agent", "'gpt'"),
    "rows named as debates": (changed(debate=lambda t: [f"row{i}" for i in range(len(t))], round=1),
                              "one turn per debate", "each of 360 debates has a single turn;"),
    "one debate of a hundred rounds": (lambda t: sound(n=1, rounds=100), "one long debate", "one debate of 100 rounds"),
    "a panel that changes": (lambda t: t[(t["agent"] != "agent 3") | (t["debate"] < "d2")], "panel changes",
                             "panels of different sizes .2, 3 agents"),
    "identical runs": (_runs(copy=True), "identical runs", "runs 'run 1' and 'run 2' have identical votes"),
    "identical debates": (lambda t: pd.concat([t[t["debate"] == "d1"].assign(debate=f"d{k}", question=f"q{k}")
                                               for k in range(20)], ignore_index=True),
                          "identical debates", "all 20 debates have identical votes"),
    "identical repeats": (lambda t: pd.concat([t.assign(debate=t["debate"] + f"-{k}") for k in range(3)]),
                          "identical repeats",
                          "debates of each of 40 repeated questions have identical votes"),
    "labels of other questions": (changed(vote=lambda t: t["label"].map(dict(zip("ABCD", "BCDA", strict=True)))),
                                  "no vote is a label", "never together"),
    "repeats by number": (_repeats("#"), "repeated questions", "repeats of 10 questions"),
    "repeats by run": (_repeats("_run"), "repeated questions", "repeats of 10 questions"),
    "repeats by seed": (_repeats("/seed="[:-1]), "repeated questions", "add a column question"),
    "a question in two clusters": (changed(question=lambda t: "q" + (t["debate"].str[1:].astype(int) // 2).astype(str),
                                           cluster=lambda t: t["debate"], label="A"),
                                   "repeated questions", "20 questions lie in several clusters"),
    "tokens all zero": (changed(tokens_in=0, tokens_out=0), "tokens all zero", "every token count is 0"),
    "tokens of a debate in each turn": (changed(tokens=lambda t: 1000 + 7 * t["debate"].str[1:].astype(int)),
                                        "tokens of debates", "are the same in all its (turns|rounds)"),
    "total tokens all zero": (changed(tokens=0), "tokens all zero", "every token count is 0"),
    "labels as numbers from 1": (lambda t: _numbers(t).assign(label=lambda s: s["label"] + 1), "no vote is a label",
                                 "not its position"),
    "labels from another sheet": (changed(label=lambda t: t["label"].map(
        dict(zip("ABCD", ["yes", "no", "maybe", "other"], strict=True)))), "no vote is a label", "'maybe'"),
    "a code among the scores": (lambda t: _scored(t).assign(
        score_A=lambda s: s["score_A"].where(_rates(9, 0.9)(s), -1)), "codes of failures", r"\d+ of 720 scores are -1"),
    "scores on two scales": (lambda t: _scored(t).assign(
        score_A=lambda s: s["score_A"] * np.where(s["debate"] < "d3", 10, 1),
        score_B=lambda s: s["score_B"] * np.where(s["debate"] < "d3", 10, 1)),
                             "two scales", r"\d+ of 720 scores lie from 1 to 10 and the others up to 100"),
    "a column of labels among the agents": (
        lambda t: pd.concat([t, t[t["agent"] == "agent 1"].assign(agent="gold", vote=lambda s: s["label"])]),
        "votes of no agent", "agent 'gold' votes as the label in all 40 debates"),
    "a column of majorities among the agents": (
        lambda t: pd.concat([t, _majorities(t, "consensus")]), "votes of no agent",
        r"agent 'consensus' votes as the majority of the others all \d+ times"),
    "scores of one side alone": (lambda t: t.assign(scores=[
        '{"A": {"c": 5}, "B": {}}' if i % 5 == 0 else '{"A": {"c": 5}, "B": {"c": 6}}' for i in range(len(t))]),
                                 "scores in part", "72 of 360 turns with scores have only a part of them"),
}  # fmt: skip

NOT_IN_A_FRAME = {"debates without turns", "two categories of a question", "scores of one side alone"}
"""What arrays cannot show: a debate without turns, the category of a question, and a turn that a mean left out.

The last is in the notes of the arrays.
"""

BY_A_JOURNAL = {"scores off the scale"}
"""What shows only where the journal of a run says what was asked; see the tests of scales in ``test_scores.py``."""


@pytest.mark.parametrize("name", IMPLAUSIBLE)
def test_the_doctor_finds_what_can_hardly_be_meant(name: str, tmp_path: Path) -> None:
    make, kind, sentence = IMPLAUSIBLE[name]
    path = tmp_path / "table.csv"
    make(sound()).to_csv(path, index=False)
    report = doctor(path)
    assert report.exit_code == 2
    if kind == "panel changes":  # told by role, as a problem of the log
        assert {p.kind for p in report.problems} == {"mixed panel"}
        return
    said = {each.kind: each.message for each in report.findings}
    assert kind in said, f"found {said}"
    assert re.search(sentence, said[kind]), said[kind]
    assert said[kind] in report.to_text().replace("\n", " ")


@pytest.mark.parametrize("name", sorted(set(IMPLAUSIBLE) - NOT_IN_A_FRAME))
def test_the_array_view_finds_the_same(name: str) -> None:
    make, kind, sentence = IMPLAUSIBLE[name]
    t = Trajectories.from_frame(make(sound()))
    said = {
        kind_of(note): sentence_of(note) for note in t.remarks()
    }  # each score is looked at when a log is read
    assert kind in said, f"found {said}"
    wanted = sentence.replace("recorded reasons: timeout 1", "votes are missing")
    assert re.search(wanted, said[kind]), said[kind]


def test_every_sign_has_a_table_that_shows_it() -> None:
    assert {kind for _, kind, _ in IMPLAUSIBLE.values()} | BY_A_JOURNAL == set(FINDINGS)
    assert len(IMPLAUSIBLE) >= 40


PLAUSIBLE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as it should be": lambda t: t,
    "one round": lambda t: t[t["round"] == 1],
    "two agents": lambda t: t[t["agent"] != "agent 3"],
    "no labels": lambda t: t.drop(columns="label"),
    "a tenth of the votes missing": _without(_rates(7, 0.1)),
    "different runs": _runs(copy=False),
    "repeats with a question": _repeats("#", cluster=True),
    "numbers as answers": lambda t: _numbers(t).assign(vote=t["vote"].map(dict(zip("ABCD", range(4), strict=True)))),
    "accurate agents": lambda t: sound(accuracy=0.95),
    "poor agents": lambda t: sound(accuracy=0.2),
    "two debates": lambda t: sound(n=2),
    "a hundred debates of five": lambda t: sound(n=100, agents=5),
    "right or wrong": lambda t: t.assign(correct=(t["vote"] == t["label"]).astype(int)).drop(columns=["vote", "label"]),
    "scores alone": changed(vote=None, label=None, scores='{"pro": {"logic": 3.0}, "con": {"logic": 2.0}}'),
    "numbered debates": lambda t: t.assign(debate=t["debate"].str[1:].astype(int)),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_nothing_is_found_in_a_table_that_is_as_it_should_be(name: str, tmp_path: Path) -> None:
    table = PLAUSIBLE[name](sound())
    table.to_csv(tmp_path / "table.csv", index=False)
    report = doctor(tmp_path / "table.csv")
    assert report.exit_code == 0, report.to_text()
    assert Trajectories.from_frame(table).findings() == ()


@examples(8, 30)
def test_nothing_is_found_in_simulated_debates_of_any_accuracy(n_examples: int) -> None:
    for seed in range(n_examples):
        for accuracy in (0.3, 0.6, 0.9):
            table = Trajectories.from_frame(sound(n=30, accuracy=accuracy, seed=seed))
            assert findings(table._vote_table()) == ()


@given(st.lists(st.integers(-1, 12) | st.integers(-(2**40), 2**40), max_size=12))
def test_different_codes_are_found_whatever_their_size(codes: list[int]) -> None:
    assert _different(np.array(codes, dtype=np.int64)).tolist() == sorted(set(codes))


@given(st.lists(st.sampled_from(["a", "b", "1", 1, 1.5, True, None, float("nan")]), max_size=8))
def test_judgments_are_coded_by_their_texts(values: list[Any]) -> None:
    codes, names = _codes(values)
    said = [None if x is None or x != x else str(x) for x in values]
    assert [None if k < 0 else names[k] for k in codes] == said
    assert names == list(dict.fromkeys(text for text in said if text is not None))


def _of_case(column: str) -> pd.DataFrame:
    """Verdicts of three jurors with personas; in every other row `column` is written in capitals."""
    rng = np.random.default_rng(1)
    rows = [
        (
            f"q{k}",
            who,
            who,
            "fam",
            "fam",
            "kin",
            ["law", "math"][k // 2 % 2],
            rng.choice(["A", "B"]),
            "A",
            order,
        )
        for k in range(40)
        for who in ("none", "ethics", "business")
        for order in ("AB", "BA")
    ]
    names = [
        "item",
        "judge",
        "persona",
        "family_a",
        "judge_family",
        "family_b",
        "category",
        "vote",
        "label",
        "order",
    ]
    table = pd.DataFrame(rows, columns=names)
    upper = table["item"].isin([f"q{k}" for k in range(0, 40, 4)])
    return table.assign(**{column: table[column].where(~upper, table[column].str.title())})


@pytest.mark.parametrize("column", ["judge", "persona", "family_a"])
def test_names_that_differ_only_in_case_are_a_warning_of_every_audit(column: str) -> None:
    from d3stats import inference

    plain = inference.persona_effect(_of_case("label").assign(judge="J"))
    assert not any("differ only in upper and lower case" in note for note in plain.notes)
    table = _of_case(column)
    kind = {"judge": "judges", "persona": "personas"}.get(column, "families")
    if column == "persona":
        notes = inference.persona_effect(table.assign(judge="J")).notes
    elif column == "judge":
        notes = inference.as_ratings(
            table[table["order"] == "AB"].rename(columns={"judge": "rater"})[["item", "rater", "vote"]]
        ).notes
        assert any(f"WARNING: names of {kind} differ only in upper and lower case" in note for note in notes)
        notes = inference.bias.as_judgments(table).notes
    else:
        notes = inference.self_preference(table, judge="none").notes
    assert any(f"WARNING: names of {kind} differ only in upper and lower case" in note for note in notes)


def test_strata_that_differ_only_in_case_are_a_warning() -> None:
    from d3stats import compare

    table = _of_case("category")[lambda t: (t["order"] == "AB") & (t["judge"] == "none")]
    runs = [
        table.assign(correct=(table["vote"] == w).astype(int))[["item", "correct", "category"]] for w in "AB"
    ]
    found = compare(*runs, names=("a", "b"), strata="category")
    notes = [note for one in found.strata for note in one.notes]
    said = "WARNING: names of categories differ only in upper and lower case: 'Law', 'law'; they"
    assert any(said in note for note in notes)
    sound = [run.assign(category=run["category"].str.lower()) for run in runs]
    found = compare(*sound, names=("a", "b"), strata="category")
    assert not any("differ only" in note for one in found.strata for note in one.notes)


@pytest.mark.parametrize("name", ["Total", "Summe", "average"])
def test_a_debate_that_sums_up_the_others_is_named(name: str) -> None:
    votes = [[["A", "B", "A"]]] * 12
    named = Trajectories.from_arrays(votes, label=["A", "B"] * 6, debates=[*map(str, range(11)), name])
    assert [f.kind for f in named.findings()].count("row of sums") == 1
    plain = Trajectories.from_arrays(votes, label=["A", "B"] * 6)
    assert "row of sums" not in [f.kind for f in plain.findings()]
