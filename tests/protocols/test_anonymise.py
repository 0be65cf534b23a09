"""Nobody reads a system's name in another's message."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest
from golden import Played, ScriptedAgent, fitting, pair, plays
from hypothesis import given
from hypothesis import strategies as st

from d3stats.agent import Case, Message, Reply, Request
from d3stats.protocols import protocols
from d3stats.protocols.d3 import More, Samre
from d3stats.protocols.play import anonymise, anonymous_case, said, without_names
from d3stats.run.items import DebateItem
from d3stats.run.run import debate
from d3stats.stopping import FixedRounds

NAMES = ("gpt-4", "gpt-4-turbo", "Claude", "meta-llama/Llama-3.1-8B-Instruct", "llama3:8b", "vicuna-13b-v1.2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am GPT-4.", "I am [model]."),
        ("gpt-4-turbo", "[model]"),
        ("GPT 4 Turbo, gpt4turbo, GPT\u20114", "[model], [model], [model]"),
        ("As an answer by CLAUDE's maker", "As an answer by [model]'s maker"),
        ("Claudette and preclaude", "Claudette and preclaude"),
        ("Llama-3.1-8B-Instruct wrote it", "[model] wrote it"),
        ("meta-llama/Llama-3.1-8B-Instruct wrote it", "[model] wrote it"),
        ("llama3 or llama3:8b", "[model] or [model]"),
        ("vicuna 13b v1 2", "[model]"),
        ("vicuna*13b", "vicuna*13b"),
        ("gpt-45", "gpt-45"),
        ("GPT\u200b-4-turbo", "[model]"),
        ("G\u00adPT-4 and C\u200dlau\u200cde", "[model] and [model]"),
        ("\uff27\uff30\uff34\uff0d\uff14 said", "[model] said"),
        ("_claude_ and **claude** and x_claude", "_[model]_ and **[model]** and x_[model]"),
        ("gpt--4-turbo, gpt - 4, gpt__4, gpt\u22124", "[model], [model], [model], [model]"),
        ("claude\ufe0f, (claude)", "[model]\ufe0f, ([model])"),
        ("llama-3, llama 3, Llama.3", "[model], [model], [model]"),
        ("Claud\u0065\u0301", "Claud\u0065\u0301"),
        ("", ""),
    ],
)
def test_names_are_whole_words_in_any_case_and_the_longest_is_taken(text: str, expected: str) -> None:
    assert without_names(text, NAMES) == expected


def test_a_number_may_be_joined_to_its_name_in_any_way_and_a_sentence_ends_a_name() -> None:
    names = ("claude-3", "o1")
    assert without_names("claude3, Claude 3, claude_3, claude.3", names) == ", ".join(["[model]"] * 4)
    said = "It is not for me to praise Claude. 3 reasons follow.\n\nClaude\n\n3. See Claude 35, o 1, o-1."
    assert without_names(said, names) == said


def test_letters_with_marks_are_one_letter_however_they_are_written() -> None:
    assert (
        without_names("Am\u0065\u0301lie and Am\u00e9lie and Amelie", ("am\u00e9lie",))
        == "[model] and [model] and Amelie"
    )
    assert without_names("resum\u0065\u0301", ("resume",)) == "resum\u0065\u0301"


WORDS = st.text(
    st.characters(exclude_characters="gG\uff27\uff47\u0261", exclude_categories=["Cs"]), max_size=80
)


@given(WORDS)
def test_a_text_without_the_name_is_unchanged(text: str) -> None:
    # Every name begins with a letter that the text lacks, in any of its forms.
    if "g" not in unicodedata.normalize("NFKC", text).lower():
        assert without_names(text, ("gpt-4", "gemma:2b", "ga")) == text


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.lists(st.sampled_from("\u200b\u00ad\u2060\u200d\ufe0f"), max_size=5),
)
def test_a_name_between_blanks_is_hidden_whatever_is_hidden_in_it_and_the_rest_stays(
    before: str, after: str, unseen: list[str]
) -> None:
    letters = "gpt-4o"
    name = letters[0] + "".join(
        f"{mark}{letter}" for mark, letter in zip_longest(unseen, letters[1:], fillvalue="")
    )
    assert without_names(f"{before} | {name} | {after}", ("gpt-4o",)) == (
        f"{without_names(before, ('gpt-4o',))} | [model] | {without_names(after, ('gpt-4o',))}"
    )


def test_a_name_is_a_text_and_no_pattern() -> None:
    assert without_names("a.b.c and (x)+ and abc", ("(x)+y*",)) == "a.b.c and (x)+ and abc"
    assert without_names("use c++v2 here", ("c++v2",)) == "use [model] here"


def test_one_letter_is_no_name() -> None:
    assert without_names("A beats B", ("A", "B", "", " ", "-")) == "A beats B"


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=8), max_size=4).map(tuple))
def test_any_text_and_any_names_are_taken_and_once_is_enough(text: str, names: tuple[str, ...]) -> None:
    once = without_names(text, names)
    assert without_names(once, names) == once


def test_hiding_twice_is_hiding_once_even_for_a_name_that_stands_in_the_mark() -> None:
    assert without_names("a model and [model]", ("model",)) == "a [model] and [model]"
    assert without_names("a [model] and [model]", ("model",)) == "a [model] and [model]"


def test_a_message_does_not_outgrow_what_was_asked_for_by_hiding_short_names() -> None:
    request = plays(More(), pair(names=("o1",))).request("advocate A 1")
    (message,) = said(request, Reply("o1 " * 100_000), "advocate")
    assert len(message.text.encode()) <= request.slot.longest + len(" [cut]")
    assert "o1" not in message.text


def test_a_long_text_is_searched_at_once() -> None:
    text = "gpt -" * 20_000 + "gpt-4"
    assert without_names(text, NAMES).endswith("gpt -[model]")


def test_messages_keep_everything_but_the_name() -> None:
    message = Message("advocate of gpt-4", 2, "gpt-4 is right", "A", "A", {"A": {"depth": 3.0}})
    assert anonymise([message], NAMES) == (
        replace(message, speaker="advocate of [model]", text="[model] is right"),
    )
    assert anonymise([message], ()) == (message,)


def test_jurors_read_candidates_without_names_and_the_question_as_asked() -> None:
    case = Case("d", "q", "What is gpt-4?", ("A", "B"), ("gpt-4 is me", "ask Claude"), "A", NAMES)
    assert anonymous_case(case).candidates == ("[model] is me", "ask [model]")
    assert anonymous_case(case).text == case.text
    assert anonymous_case(case).names == case.names


def boasts(request: Request) -> Reply:
    """Everybody names every model, its own role and its persona."""
    return replace(fitting(request), text=" and ".join(NAMES))


def everything_seen(played: Played) -> str:
    return "\n".join(f"{m.speaker}: {m.text}" for request in played.requests for m in request.seen).lower()


@pytest.mark.parametrize("name", sorted(protocols()))
def test_no_protocol_passes_on_the_name_of_a_model(name: str) -> None:
    kind = protocols()[name]
    case = replace(pair(names=NAMES), candidates=("By gpt-4.", "By Claude."))
    if kind.candidates is False:
        case = replace(case, candidates=(), answers=("2", "3"), first=None)
    played = plays(kind(), case, boasts, FixedRounds(kind().max_rounds))
    seen = everything_seen(played)
    for spelled in ("gpt", "claude", "llama", "vicuna"):
        assert spelled not in seen


@pytest.mark.parametrize("protocol", [More(), Samre(), Samre(poll="every_round")], ids=str)
def test_a_juror_never_sees_a_model_name_nor_another_jurors_vote_or_persona(protocol: More | Samre) -> None:
    case = replace(pair(names=NAMES), candidates=("By gpt-4.", "By Claude."))
    played = plays(protocol, case, boasts)
    jurors = [request for request in played.requests if request.role == "juror"]
    assert jurors
    for request in jurors:
        assert request.case.candidates == ("By [model].", "By [model].")
        assert {m.speaker for m in request.seen} == {"advocate", "judge"}
        assert all(m.vote is None for m in request.seen)
    # Those who argue and judge read the answers as they were given.
    assert played.request("judge").case.candidates == ("By gpt-4.", "By Claude.")


def test_in_a_run_nobody_reads_the_names_of_the_models_that_take_part_or_wrote_the_answers(
    tmp_path: Path,
) -> None:
    class Boaster(ScriptedAgent):
        model = "host/boast-7b:latest"

    def boast(request: Request) -> Reply:
        return replace(fitting(request), text="I am Boast 7B and this is by scribe-1.")

    agent = Boaster(boast)
    item = DebateItem("q1", "Which?", ("By Scribe-1.", "By boast-7b."), models=("scribe-1", "scribe-2"))
    debate(Samre(jurors=3), [item], agent, tmp_path / "log.jsonl")
    read = [message.text for request in agent.heard for message in request.seen]
    assert read
    assert set(read) == {"I am [model] and this is by [model]."}
    assert {r.case.candidates for r in agent.heard if r.role == "juror"} == {("By [model].", "By [model].")}
    # What was said is in the log as it was said.
    assert "I am Boast 7B" in (tmp_path / "log.jsonl").read_text()
