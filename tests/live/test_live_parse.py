"""A reply is exactly what the slot asks for, or it is unreadable; nothing is coerced, looked for or filled in."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from asking import ARGUE, BOTH, CASE, EXPERTS, JUDGE, MODERATE, OPEN, VOTE
from hypothesis import given
from hypothesis import strategies as st

from d3stats.agents import Request, Rubric, Slot
from d3stats.agents.live.parse import Unreadable, read_reply
from d3stats.agents.live.slots import Wire

SCORES = {"answer_1": {"relevance": 3, "depth": 4}, "answer_2": {"relevance": 17.5, "depth": 18}}
GOOD: dict[str, tuple[Request, dict[str, Any]]] = {
    "vote": (VOTE, {"text": "Because.", "vote": "1"}),
    "scores": (JUDGE, {"text": "Because.", "scores": SCORES}),
    "both": (BOTH, {"text": "Because.", "scores": SCORES, "vote": "tie"}),
    "text": (ARGUE, {"text": "Because."}),
    "open": (OPEN, {"text": "Because.", "vote": "forty two"}),
    "list": (EXPERTS, {"list": ["one", "two", "three"]}),
    "pass": (MODERATE, {"text": "", "vote": None}),
}


def read(request: Request, value: Any, nonce: str | None = None) -> Any:
    content = value if isinstance(value, str) else json.dumps(value)
    return read_reply(content, Wire(request), nonce)


@pytest.mark.parametrize("name", GOOD)
def test_what_was_asked_for_is_read_and_fits_the_schema(name: str) -> None:
    request, value = GOOD[name]
    jsonschema.validate(value, Wire(request).schema)
    assert read(request, value) == read(request, f"Prose.\nabc {json.dumps(value)}\n", "abc")


def test_votes_and_scores_come_back_by_name_whatever_was_shown_first() -> None:
    value = {"text": "", "scores": SCORES, "vote": "1"}
    for first, other in (("A", "B"), ("B", "A")):
        got = read(replace(BOTH, first=first), value)
        assert got.vote == first
        assert got.scores == {first: SCORES["answer_1"], other: SCORES["answer_2"]}
        assert list(got.scores) == ["A", "B"]


def test_the_place_in_a_call_overrides_the_place_in_the_case() -> None:
    assert read(VOTE, {"text": "", "vote": "1"}).vote == CASE.first == "B"
    assert read(replace(VOTE, first="A"), {"text": "", "vote": "1"}).vote == "A"


@pytest.mark.parametrize(
    "vote",
    ["A", "B", "answer 1", "1.", " 1", "1 ", "Tie", "TIE", "", "3", 1, 1.0, True, None, ["1"], {"vote": "1"}],
)
def test_a_vote_is_one_of_the_words_letter_for_letter(vote: Any) -> None:
    with pytest.raises(Unreadable, match=r"^vote must be"):
        read(VOTE, {"text": "", "vote": vote})


@pytest.mark.parametrize(
    "points",
    [0, 21, 20.0001, -1, True, False, "15", None, [15], {"points": 15}, pytest.param(10**400, id="huge")],
)
def test_a_score_is_a_number_in_range(points: Any) -> None:
    scores = {**SCORES, "answer_1": {"relevance": points, "depth": 4}}
    with pytest.raises(Unreadable, match=r"scores\.answer_1\.relevance must be a number from 1 to 20"):
        read(JUDGE, {"text": "", "scores": scores})


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "0x10", "015", "1_0", "+5", "5."])
def test_a_score_is_a_number_of_json(word: str) -> None:
    text = json.dumps({"text": "", "scores": SCORES}).replace("17.5", word)
    with pytest.raises(Unreadable):
        read(JUDGE, text)


@pytest.mark.parametrize(
    "value",
    [
        {"text": ""},
        {"vote": "1"},
        {"text": "", "vote": "1", "confidence": 0.9},
        {"text": "", "Vote": "1"},
        {"text": None, "vote": "1"},
        {"text": ["a"], "vote": "1"},
        {"text": {"a": "b"}, "vote": "1"},
        [],
        [{"text": "", "vote": "1"}],
        "1",
        1,
        None,
    ],
)
def test_an_object_has_the_fields_that_were_asked_for_and_no_others(value: Any) -> None:
    with pytest.raises(Unreadable):
        read(VOTE, json.dumps(value))


@pytest.mark.parametrize(
    "scores",
    [
        {},
        {"answer_1": SCORES["answer_1"]},
        {**SCORES, "answer_3": SCORES["answer_1"]},
        {"A": SCORES["answer_1"], "B": SCORES["answer_2"]},
        {**SCORES, "answer_2": {"relevance": 3}},
        {**SCORES, "answer_2": {"relevance": 3, "depth": 3, "style": 3}},
        {**SCORES, "answer_2": 12},
        [10, 3],
        "(10, 3)",
        None,
    ],
)
def test_scores_are_complete_or_absent(scores: Any) -> None:
    with pytest.raises(Unreadable, match=r"^scores"):
        read(JUDGE, {"text": "", "scores": scores})


GOOD_LINE = json.dumps(GOOD["vote"][1])


@pytest.mark.parametrize(
    "content",
    [
        f"```json\n{GOOD_LINE}\n```",
        f"Sure! {GOOD_LINE}",
        f"{GOOD_LINE} Thanks.",
        f"{GOOD_LINE}{GOOD_LINE}",
        f"{GOOD_LINE}\n{GOOD_LINE}",
        GOOD_LINE[:-1],
        GOOD_LINE.replace('"', "'"),
        GOOD_LINE.replace("}", ",}"),
        '{"text": "", "vote": "2", "vote": "1"}',
        '{"text": "", "text": "", "vote": "1"}',
        "\ufeff" + GOOD_LINE,
        "",
        " ",
        "[" * 100_000,
        '{"a":' * 100_000,
        " " * 2_000_000 + GOOD_LINE,
    ],
    ids=range(16),
)
def test_the_whole_content_is_one_object(content: str) -> None:
    with pytest.raises(Unreadable):
        read(VOTE, content)


@pytest.mark.parametrize(
    "content",
    [
        GOOD_LINE,
        f"abd {GOOD_LINE}",
        f"abc{GOOD_LINE}",
        f"ABC {GOOD_LINE}",
        f"> abc {GOOD_LINE}",
        f"`abc {GOOD_LINE}`",
        f"abc {GOOD_LINE}\nThat is my vote.",
        f"abc {GOOD_LINE}\n```",
        f"abc\n{GOOD_LINE}",
        f"abc {GOOD_LINE} abc {GOOD_LINE}",
        "abc",
        "",
    ],
    ids=range(12),
)
def test_in_text_only_the_last_line_with_its_word_counts(content: str) -> None:
    with pytest.raises(Unreadable):
        read(VOTE, content, "abc")


def test_in_text_earlier_lines_do_not_count() -> None:
    earlier = 'abc {"text": "", "vote": "2"}'
    assert read(VOTE, f"{earlier}\n{earlier}\nabc {GOOD_LINE}  \n\n", "abc").vote == "B"


def test_an_answer_in_free_words_is_kept_but_for_blanks() -> None:
    assert read(OPEN, {"text": "", "vote": " 4 000\n km "}).vote == "4 000 km"
    assert read(OPEN, {"text": "", "vote": "Paris"}).vote == "Paris"
    for bad in ("", "  ", "x" * 201, 42, None):
        with pytest.raises(Unreadable, match=r"^vote"):
            read(OPEN, {"text": "", "vote": bad})


@pytest.mark.parametrize(
    "entries",
    [["a", "b"], ["a", "b", "c", "d"], ["a", "b", ""], ["a", "b", 3], "a\nb\nc", ["a", "b", "x" * 301]],
)
def test_a_list_has_as_many_entries_as_asked_for(entries: Any) -> None:
    with pytest.raises(Unreadable, match=r"^list must"):
        read(EXPERTS, {"list": entries})


def test_half_a_surrogate_pair_is_replaced_so_that_the_text_can_be_stored() -> None:
    got = read(VOTE, '{"text": "a\\ud800b \\ud83d\\ude00", "vote": "1"}')
    assert got.text == "a\ufffdb 😀"
    assert read(OPEN, '{"text": "", "vote": "\\udc00"}').vote == "\ufffd"


def test_what_was_wrong_is_said_in_our_words() -> None:
    for value in ({"text": "", "vote": "EVIL"}, {"text": "", "vote": "1", "EVIL": 1}, ["EVIL"]):
        with pytest.raises(Unreadable) as caught:
            read(VOTE, value)
        assert "EVIL" not in str(caught.value)


def test_answers_that_look_like_places_are_refused() -> None:
    request = replace(VOTE, slot=Slot(("A", "B", "1")))
    with pytest.raises(ValueError, match=r"^answers must differ from the numbers 1 and 2"):
        _ = Wire(request).votes


def test_a_rubric_over_other_sides_keeps_their_names() -> None:
    request = replace(OPEN, slot=Slot(rubric=Rubric(("solution",), ("depth",), 1, 10)))
    got = read(request, {"text": "", "scores": {"solution": {"depth": 7}}})
    assert got.scores == {"solution": {"depth": 7.0}}


LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text()
NAMES = st.sampled_from(["text", "vote", "scores", "answer_1", "answer_2", "relevance", "depth"]) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner))


@given(VALUES)
def test_whatever_is_not_valid_by_the_schema_is_unreadable(value: Any) -> None:
    text = json.dumps(value)
    for request in (VOTE, BOTH):
        try:
            got = read(request, text)
        except Unreadable:
            continue
        jsonschema.validate(json.loads(text), Wire(request).schema)
        assert got.vote in CASE.answers


@given(st.text(max_size=60))
def test_free_text_never_moves_the_vote(text: str) -> None:
    content = json.dumps({"text": text, "vote": "2"})
    assert read(VOTE, content).vote == "A"
    assert read(VOTE, f"{text}\nabc {content}", "abc").vote == "A"
