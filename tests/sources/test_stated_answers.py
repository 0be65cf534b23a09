"""Votes that state an answer in other words are named above every result, and are read as that answer on request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from layers import covering, sampled

import d3stats
from d3stats.inference import as_ratings, as_run
from d3stats.inference.bias import as_judgments
from d3stats.values import stated_answer

LETTERS = ("A", "B", "C", "D")

FORMS: dict[str, Callable[[str], str]] = {
    "sentence": "The answer is {}.".format,
    "statement": "Answer: ({})".format,
    "brackets": "({})".format,
    "point": "{}.".format,
    "bold": "**{}**".format,
    "lower case": str.lower,
    "option": "Option {} because it is better".format,
    "full width": lambda letter: chr(ord(letter) + 0xFEE0),
    "Cyrillic": lambda letter: letter.translate(str.maketrans("ABC", "АВС")),
}


def debates(n: int = 80, agents: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    rows = [
        (
            f"d{d}",
            r,
            f"a{a}",
            LETTERS[d % 4] if rng.random() < 0.7 else LETTERS[rng.integers(4)],
            LETTERS[d % 4],
        )
        for d in range(n)
        for r in (1, 2)
        for a in range(agents)
    ]
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])


def mutated(table: pd.DataFrame, form: Callable[[str], str], share: float, seed: int) -> pd.DataFrame:
    changed = np.random.default_rng(seed).random(len(table)) < share
    return table.assign(vote=[form(v) if c else v for v, c in zip(table["vote"], changed, strict=True)])


@pytest.mark.parametrize("form", FORMS)
def test_a_vote_in_another_form_is_the_answer_that_it_states(form: str) -> None:
    for letter in LETTERS:
        assert stated_answer(FORMS[form](letter), LETTERS) == letter


@given(st.text(max_size=40), st.sets(st.sampled_from(["A", "B", "C", "yes", "no", "12", "tie"]), min_size=1))
def test_what_is_stated_is_one_of_the_answers_or_nothing(text: str, answers: set[str]) -> None:
    found = stated_answer(text, answers)
    assert found is None or found in answers


@pytest.mark.parametrize(
    "text",
    [
        "either A or B",
        "not B",
        "The answer is not B",
        "neither",
        "",
        "E",
        "A and B are both right",
        "a long way",
        "I agree",
    ],
)
def test_a_text_that_states_no_answer_or_several_is_left_alone(text: str) -> None:
    assert stated_answer(text, LETTERS) is None


@covering(
    form=[name for name in FORMS if name not in ("point", "brackets", "lower case", "bold")],
    share=[0.05, 0.45],
)
def test_accuracy_agreement_and_runs_warn_of_votes_in_another_form(form: str, share: float) -> None:
    spoilt = mutated(debates(), FORMS[form], share, seed=3)
    items = (
        spoilt[spoilt["round"] == 2]
        .rename(columns={"debate": "item", "agent": "rater"})
        .drop(columns="round")
    )
    said: dict[str, Any] = {
        "trajectories": d3stats.as_trajectories(spoilt).remarks(),
        "agreement": d3stats.agreement(items, measures=["alpha"]).notes,
        "replay": d3stats.replay(spoilt, ["fixed:1"]).notes,
        "run": as_run(spoilt).notes,
        "personas": as_judgments(items.rename(columns={"rater": "judge"}), personas=True).notes,
    }
    for what, notes in said.items():
        assert any("WARNING" in note and "state" in note for note in notes), what


@sampled("form", FORMS, slice(0, None, 4))
def test_reading_what_is_stated_gives_the_numbers_of_the_table_without_it(form: str, tmp_path: Path) -> None:
    table = debates()
    spoilt = mutated(table, FORMS[form], 0.45, seed=5)
    spoilt.to_csv(tmp_path / "log.csv", index=False)
    d3stats.log.write_jsonl(d3stats.read_log(tmp_path / "log.csv"), tmp_path / "log.jsonl")
    whole = d3stats.as_trajectories(table)
    for source in (spoilt, spoilt.to_dict("records"), tmp_path / "log.csv", tmp_path / "log.jsonl"):
        read = d3stats.as_trajectories(source, read="answer")
        assert (read.votes == whole.votes).all()
        assert any("state" in note for note in read.notes)
    items = spoilt.assign(item=spoilt["debate"] + "/" + spoilt["round"].astype(str), rater=spoilt["agent"])
    items = items.drop(columns=["debate", "round", "agent"])
    true = items.assign(vote=table["vote"])
    assert (as_ratings(items, read="answer").codes == as_ratings(true).codes).all()
    assert d3stats.compare(items, items, names=["a", "b"], read="answer").runs[0].value == pytest.approx(
        d3stats.compare(true, true, names=["a", "b"]).runs[0].value
    )


def test_answers_cannot_be_read_without_any_answer_to_read() -> None:
    with pytest.raises(ValueError, match="needs the answers that there are; got no label"):
        d3stats.as_trajectories(debates().drop(columns="label"), read="answer")


def numbers_in(found: Any) -> Iterator[float]:
    """Return every number of a document but those of notes, in order."""
    if isinstance(found, dict):
        found = [each for name, each in found.items() if name != "notes"]
    if isinstance(found, list):
        for each in found:
            yield from numbers_in(each)
    elif isinstance(found, (int, float)):
        yield found


@pytest.mark.parametrize("words", ["replay -r fixed:1", "agreement --measure alpha", "fit --n-boot 5"])
def test_the_commands_read_what_is_stated_and_warn_without(words: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from d3stats.cli import app

    spoilt = mutated(debates(), FORMS["sentence"], 0.3, seed=2)
    paths = [tmp_path / "spoilt.csv", tmp_path / "true.csv"]
    spoilt.to_csv(paths[0], index=False)
    debates().to_csv(paths[1], index=False)
    command, *options = words.split()

    def shown(path: Path, *more: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, [command, str(path), *options, *more, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    read, true = shown(paths[0], "--read", "answer"), shown(paths[1])
    assert list(numbers_in(read)) == list(numbers_in(true)) != []
    assert "warning" in [note["severity"] for note in shown(paths[0])["notes"]]
    assert CliRunner().invoke(app, [command, str(paths[0]), "--read", "letter"]).exit_code != 0


def test_a_negative_code_among_letters_is_named_above_the_results_of_a_log() -> None:
    spoilt = mutated(debates(), lambda _: "-1", 0.2, seed=4)
    assert any("'-1'" in note and "WARNING" in note for note in d3stats.as_trajectories(spoilt).remarks())


def test_a_sentence_that_states_an_answer_which_is_never_right_is_warned_of() -> None:
    rows = [
        {"debate": f"d{d}", "round": 1, "agent": f"a{a}", "vote": "AB"[(d + a) % 3 > 1], "label": "A"}
        for d in range(30)
        for a in range(5)
    ]
    for row in rows[::6]:
        row["vote"] = "The answer is B."
    notes = d3stats.fit(pd.DataFrame(rows), n_boot=0).notes
    assert any("'The answer is B.' says 'B'" in note for note in notes)


OWN = ["I choose {a}", "I'd go with {a}", "My answer is {a}", "I still vote for {a}", "I stick with ({a})"]
PEER = [
    "agent 2 says the answer is {b}",
    "agent 2, whose answer is {b}",
    "the answer of my peer is {b}",
    "Alice thinks {b}",
    "j2's answer is {b}",
    'agent 3 said "my answer is {b}"',
]


@covering(
    form=["{own}, although {peer}.", "{Peer}. {own}.", "I disagree with {peer}. {own}."],
    peer=PEER,
    own=OWN,
)
def test_the_own_answer_is_read_and_never_that_of_another_agent(own: str, peer: str, form: str) -> None:
    for a in LETTERS:
        for b in LETTERS:
            said, told = own.format(a=a), peer.format(b=b)
            text = form.format(own=said, peer=told, Peer=told[:1].upper() + told[1:])
            assert stated_answer(text, LETTERS) in ({a} if "of my peer" not in peer else {a, None}), text


@pytest.mark.parametrize(
    "text",
    [
        "Agent 2 says the answer is B.",
        "According to agent 2, the answer is B",
        "I am not convinced by agent 2, whose answer is B",
        "I don't think the answer is B",
        "I think A is wrong",
        "My answer is A. The answer is B.",
        "Alice's answer is B, mine is C",
        "-1",
    ],
)
def test_answers_that_are_not_clearly_the_own_are_not_read(text: str) -> None:
    assert stated_answer(text, LETTERS) is None
    assert stated_answer(text, ("1", "2")) is None


def test_what_a_prompt_asks_for_is_read_at_any_length() -> None:
    assert stated_answer("Both are long. " * 60 + "[[B]]", ("A", "B")) == "B"
    assert stated_answer("[[A]] or [[B]]", ("A", "B")) is None
    assert stated_answer("Agent 2 is right: the answer is B.", LETTERS) == "B"
    assert stated_answer("The answer is A. My final answer is B.", LETTERS) == "B"


def test_votes_that_quote_others_give_the_numbers_of_plain_votes_and_unclear_ones_are_missing() -> None:
    table = debates()
    other = dict(zip(LETTERS, "BCDA", strict=True))
    quoting = mutated(
        table, lambda v: f"I'd go with {v}, although agent 2 says the answer is {other[v]}.", 0.3, 1
    )
    read = d3stats.as_trajectories(quoting, read="answer")
    assert (read.votes == d3stats.as_trajectories(table).votes).all()
    unclear = mutated(table, lambda v: f"Agent 2 says the answer is {v}.", 0.3, 1)
    many = int((unclear["vote"] != table["vote"]).sum())
    t = d3stats.as_trajectories(unclear, read="answer")
    assert int((t.votes < 0).sum()) == many
    (warning,) = [note for note in t.notes if getattr(note, "kind", "") == "unclear answers"]
    assert (warning.severity, warning.n) == ("warning", many)
    assert "says the answer is" in warning
