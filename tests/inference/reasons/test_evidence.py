"""What counts as citing the debate: the paper's own examples, names, rounds, quotations, and a control for repeats."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rationales import COLUMNS

from d3stats.inference import rationales
from d3stats.inference.reasons.evidence import _Passages, compiled, repeats
from d3stats.sources.texts import as_texts

CLAIM = "Answer B forgets the leap years before the reform."


def trial(*rationale: str, first: str = CLAIM, second: str = "Answer A is dated.") -> pd.DataFrame:
    """Return a debate of two advocates over three rounds, after which jurors write these rationales."""
    rows = [
        ("d1", "q1", r, f"advocate {side} 1", "advocate", None, said)
        for r in (1, 2, 3)
        for side, said in (("A", first), ("B", second))
    ]
    rows += [("d1", "q1", 3, f"juror {k}", "juror", "A", text) for k, text in enumerate(rationale, start=1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def kinds(text: str, **settings: str) -> set[str]:
    """Return the kinds of evidence that one juror's rationale has."""
    marks = rationales(trial(text, **settings)).marks
    seen = {name.removeprefix("cites_"): marks[name].tolist() for name in marks if name.startswith("cites_")}
    return {name for name, values in seen.items() if values == [True]}


def kinds_of_each(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return the kinds of evidence of each text, of which each is the rationale of the only juror of a debate."""
    tables = [trial(text).assign(debate=f"d{k}", question=f"q{k}") for k, text in enumerate(texts)]
    marks = rationales(pd.concat(tables, ignore_index=True)).marks
    names = [name for name in marks if name.startswith("cites_")]
    return {
        row["text"]: {name.removeprefix("cites_") for name in names if row[name]}
        for row in marks.to_dict("records")
    }


def test_both_examples_of_the_paper_cite_the_debate() -> None:
    """D3, section 5.8: "Advocate A argued that...", "In round 3, the rebuttal addressed..."."""
    assert kinds("Advocate A argued that the dates are wrong.") == {"speaker", "argument"}
    assert kinds("In round 3, the rebuttal addressed the dates.") == {"round", "argument"}


READ: list[tuple[str, set[str]]] = [
    ("Answer A is clearer and more complete.", set()),
    ("Both advocates are brief.", {"speaker"}),
    ("I follow ADVOCATE B 1 here.", {"speaker"}),
    ("I follow advocate_b-1 here.", {"speaker"}),
    ("The opening round was decisive.", {"round"}),
    ("The second round was decisive.", {"round"}),
    ("In round two the dates were given.", {"round"}),
    ("In the 3rd round the dates were given.", {"round"}),
    ("In round 4 the dates were given.", set()),
    ("Round 3.75 to one digit.", set()),
    ("I round 2 numbers.", {"round"}),  # a pattern sees words and not their meaning
    ("The ground was covered, all around 3 of them.", set()),
    ("The transcript is short.", {"argument"}),
    ("Both sides have presented valid points.", {"argument"}),
    ("Divide both sides by two.", set()),
    ("Arguably short.", set()),
    ("As juror 1, a juror, I see it so.", set()),
    ("It says “forgets the leap years”.", {"quote"}),
    ('It says "Forgets the LEAP years, before ... reform".', {"quote"}),
    ('It says "forgets the leap days".', set()),
    ('It says "leap years".', set()),
    ("It forgets the leap years before the reform.", set()),
]


@pytest.fixture(scope="module")
def seen() -> dict[str, set[str]]:
    return kinds_of_each(text for text, _ in READ)


@pytest.mark.parametrize(("text", "found"), READ)
def test_a_text_has_the_evidence_that_a_reader_sees(
    text: str, found: set[str], seen: dict[str, set[str]]
) -> None:
    assert seen[text] == found


NAMED = """
The judge gave answer A more points.
I agree with the judge here.
The judge's remarks settle it.
Judge's feedback favours A.
Judge 1 was right about the dates.
According to judge, answer A is better.
The presiding judge was fair.
I side with the other advocate.
I follow advocate A on the dates.
As advocate B put it, dates matter.
Advocate B was more careful.
Both advocates agree on the dates.
All advocates missed the reform.
Advocates argued about the dates.
The advocates' points are close.
Neither advocate gave a source.
Each advocate named a date.
Another advocate raised the reform.
The second advocate named a date.
One of the advocates named a date.
Advocate's point about the dates stands.
I was convinced by advocates on this.
The aggregator joined the points.
I listened to advocate B 1 with care.
This judge has overlooked the reform.
Judge noted that the dates are wrong.
Between advocate and judge there is no gap.
Two advocates named the same date.
The advocate of answer A is brief.
The advocate for answer A is brief.
""".strip().splitlines()
"""Sentences that name an advocate, an aggregator or a judge who has spoken."""
NOT_NAMED = """
I judge answer A to be the better one.
It is hard to judge.
I advocate for answer A.
We judge A better than B.
I would judge it accurate.
I cannot judge the dates.
To judge 2 answers is hard.
Judging by the dates, A is better.
My judgment is that A is better.
It judges nobody.
Answer A advocates patience.
The essay judges nobody fairly.
Do not judge a book by its cover.
One can easily judge the answers.
Let us judge fairly: A.
You should advocate for the weak.
They advocate A.
Those who judge others are wrong.
The criteria that judge the answers are these.
First judge the accuracy, then the depth.
Only judge the content.
I'd judge A to be better.
I don't judge style.
Advocacy is no argument.
The advocates of a lower tax are many.
Answer B clearly advocates a reform.
As a juror I look at the dates.
I must judge and I choose A.
We then judge the depth.
It helps to advocate for patients.
""".strip().splitlines()
"""Sentences that have these words, and name nobody."""


def court(*texts: str) -> pd.DataFrame:
    """Return a debate of advocates, aggregators and a judge, after which jurors write these rationales."""
    spoke = [(f"advocate {side} {k}", "advocate") for side in "AB" for k in (1, 2)]
    spoke += [("aggregator A", "aggregator"), ("aggregator B", "aggregator"), ("judge", "judge")]
    rows = [("d1", "q1", 1, agent, role, None, "Something of its own.") for agent, role in spoke]
    rows += [("d1", "q1", 1, f"juror {k:02}", "juror", "A", text) for k, text in enumerate(texts, start=1)]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_roles_count_where_they_are_nouns_for_somebody() -> None:
    marks = rationales(court(*NAMED, *NOT_NAMED), repeated_words=None).marks
    named = dict(zip(marks["text"], marks["cites_speaker"], strict=True))
    assert len(named) == len(NAMED) + len(NOT_NAMED)
    assert [text for text in NAMED if not named[text]] == []
    assert [text for text in NOT_NAMED if named[text]] == []


def test_of_the_own_role_only_others_are_named_and_only_if_they_have_spoken() -> None:
    texts = [
        "Another juror sees it so.",
        "The other jurors see it so.",
        "As juror 03, a juror, I agree.",
        "Jurors are brief.",
    ]
    assert not rationales(court(*texts), repeated_words=None).marks["cites_speaker"].any()
    twice = pd.concat([court(*texts), court(*texts).query("role == 'juror'").assign(round=2)])
    assert rationales(twice, repeated_words=None).marks["cites_speaker"].tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_the_limits_that_the_documentation_names_are_those_of_the_patterns() -> None:
    wrong = {
        "The judge in the story is kind.": "speaker",
        "Praised by judges, A wins.": "speaker",
        "Socrates argued for peace.": "argument",
        "The essay on taxes argues so.": "argument",
        "A refuted theory is named.": "argument",
        "A court transcript is shown.": "argument",
        "Opponents will not like it.": "argument",
    }
    missed = (
        *("I, like advocates, disagree.", "I follow that judge.", "He argued for A."),
        *("Answer A argued that it is so.", "In debate A was strong."),
    )
    marks = rationales(court(*wrong, *missed), repeated_words=None).marks
    kinds = ("speaker", "round", "argument")
    found = {row["text"]: {k for k in kinds if row[f"cites_{k}"]} for row in marks.to_dict("records")}
    assert found == {text: {kind} for text, kind in wrong.items()} | {text: set() for text in missed}


def test_names_that_are_words_need_more_than_the_word() -> None:
    named = {
        "As Critic put it, the dates are wrong.": True,
        "I agree with General Public on this.": True,
        "Critic said that the dates are wrong.": True,
        "The scientist is right.": True,
        "Critic, however, forgets the reform.": True,
        "Film critics will like answer A.": False,
        "A scientist would choose A.": False,
        "It is of interest for the general reader and public.": False,
        "Critical readers choose A.": False,
    }
    first = ("General Public", "Critic", "Scientist")
    rows = []
    for k, text in enumerate(named):
        rows += [(f"d{k}", f"q{k}", 1, agent, "referee", "A", "So.") for agent in first]
        rows += [(f"d{k}", f"q{k}", 2, "Psychologist", "referee", "A", text)]
    marks = rationales(pd.DataFrame(rows, columns=COLUMNS), repeated_words=None).marks
    assert dict(zip(marks["text"], marks["cites_speaker"], strict=True)) == named


ARGUING = """
Advocate A argued that the dates are wrong.
They argued so.
In the debate, A was stronger.
This debate was short.
The debate on the whole favours A.
The rebuttal was weak.
Answer A wins because the rebuttal was weak.
Answer B's advocate conceded the point.
The point was conceded.
It was argued that the dates are wrong.
Answer A wins; the other side conceded the dates.
The opponent did not reply.
The transcript shows it.
Both sides agreed on the dates.
The debaters were brief.
""".strip().splitlines()
NOT_ARGUING = """
The essay argues that taxes are bad.
He conceded the final round of golf.
This answer opens the debate about taxes.
Answer A argues for patience.
The author clearly argues for reform.
Answer B raises counterarguments.
The essay briefly considers some counterpoints.
It helps with debate class.
The hotly debated law is named.
It is a debated question.
Opponents of the tax are named.
The passage refutes a theory.
She has argued for patience.
Response 2 argues well.
The debate over taxes is named.
""".strip().splitlines()


def test_words_for_arguing_are_not_those_about_a_candidate_or_another_debate() -> None:
    marks = rationales(court(*ARGUING, *NOT_ARGUING), repeated_words=None).marks
    found = dict(zip(marks["text"], marks["cites_argument"], strict=True))
    assert [text for text in ARGUING if not found[text]] == []
    assert [text for text in NOT_ARGUING if found[text]] == []


def test_rounds_of_something_else_are_none_of_the_debate() -> None:
    named = {
        "He conceded the final round of golf.": False,
        "The last round of chemotherapy was hard.": False,
        "Use each round of dough.": False,
        "The first round of the tournament was short.": False,
        "The first round of the debate was short.": True,
        "In the last round of arguments A was stronger.": True,
        "In every one, the final round was short.": True,
        "Each round of questioning helped A.": True,
    }
    assert {text: "round" in found for text, found in kinds_of_each(named).items()} == named


def test_a_quotation_of_the_question_or_a_candidate_is_none_of_the_debate(tmp_path) -> None:
    import json

    records = [{"type": "item", "debate": "d1", "question": "q1", "text": "Why?", "candidates": ["x", CLAIM]}]
    for row in trial(f'It says "{CLAIM}" in all.').to_dict("records"):
        named = {"round", "agent", "role", "vote", "text", "debate"}
        records.append(
            {"type": "turn"} | {k: v for k, v in row.items() if k in named and isinstance(v, str | int)}
        )
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert rationales(path).marks["cites_quote"].tolist() == [False]
    without = [records[0] | {"candidates": None}, *records[1:]]
    path.write_text("".join(json.dumps(record) + "\n" for record in without))
    assert rationales(path).marks["cites_quote"].tolist() == [True]


ECHO = "Based on the solutions of the other agents, the dates are wrong."
"""What agents write whose prompt says "these are the solutions from other agents"."""


def test_a_phrase_to_which_most_hits_are_due_is_named_with_what_to_do() -> None:
    found = rationales(trial(*[ECHO] * 12, "Advocate A argued well.", "Answer A is dated."))
    assert found.phrases.values.tolist() == [
        ["speaker", "advocate", 1, 1],
        ["argument", "other agents", 12, 12],
        ["argument", "argued", 1, 1],
    ]
    (note,) = [note for note in found.notes if "echo the prompt" in note]
    assert note.startswith(
        "12 of 13 rationales with a reference of the kind 'argument' have only the phrase 'other agents'"
    )
    assert note.endswith('ignore="other agents" (--ignore other agents)')


@pytest.mark.parametrize(
    "texts",
    [
        [ECHO] * 5,
        [ECHO] * 6 + ["The rebuttal is short."] * 6,
        [ECHO + " They argued so."] * 7 + ["The rebuttal is short."] * 5,
    ],
    ids=["few", "half", "with other words"],
)
def test_no_phrase_is_named_where_none_has_more_than_half_of_the_hits(texts: list[str]) -> None:
    assert not [note for note in rationales(trial(*texts)).notes if "echo the prompt" in note]


def test_what_is_ignored_counts_as_though_it_were_not_written() -> None:
    """Every kind of a rationale without the phrase is the kind of the rationale with the phrase, ignored."""
    rest = {
        " They argued so.": {"cites_argument"},
        " Advocate A 1 is right.": {"cites_speaker"},
        " In round 2 this was said.": {"cites_round"},
        ' It says "forgets the leap years".': {"cites_quote"},
        "": set(),
    }
    echoes = (ECHO, "OTHER-AGENTS say so.", "The other\nagents agree.")
    table = trial(*[echo + more for more in rest for echo in echoes])
    found = rationales(table, ignore=["other agents", "not there"])
    kinds = [name for name in found.marks if name.startswith("cites_")]
    seen = [{name for name in kinds if row[name]} for row in found.marks[kinds].to_dict("records")]
    by_juror = dict(zip(found.marks["agent"].str.removeprefix("juror ").astype(int), seen, strict=True))
    expected = [cited for cited in rest.values() for _ in echoes]
    assert [by_juror[k] for k in range(1, len(expected) + 1)] == expected
    assert "not taken as a reference: 'other agents', in 15 rationales" in found.notes
    assert "not taken as a reference: 'not there', which is in no rationale" in found.notes
    assert found["rationales that cite the debate"].value == pytest.approx(12 / 15)


def test_ignored_words_take_longer_phrases_with_them_and_no_part_of_another_word() -> None:
    table = trial("Both sides presented points.", "Both sidesteps argued.", "Both advocates are brief.")
    found = rationales(table, ignore=["both sides", "advocate"])
    assert found.phrases["phrase"].tolist() == ["advocates", "argued"]
    own = rationales(table, cites={"points": r"sides.*points", "short": ["brief"]}, ignore="both sides")
    assert own.phrases["phrase"].tolist() == ["brief"]


@pytest.mark.parametrize("ignore", [7, "", " - ", ["debate", 3], {"debate": 1}, [""]])
def test_what_is_no_phrase_cannot_be_ignored(ignore: object) -> None:
    with pytest.raises(TypeError, match="ignore must be words or phrases, or a list of them; got ignore="):
        rationales(trial("A is right."), ignore=ignore)  # type: ignore[arg-type]


def test_a_speaker_counts_only_after_having_spoken() -> None:
    """Who votes at the same time cannot be cited; nor can the author."""
    table = trial("Juror 2 is right.", "Juror 2 thinks so.")
    assert rationales(table).marks["cites_speaker"].tolist() == [False, False]
    again = table.assign(round=table["round"] + 1)
    earlier = table[table["role"] == "juror"].assign(round=1)
    found = rationales(pd.concat([earlier, table[table["role"] != "juror"], again[again["role"] == "juror"]]))
    assert found.marks["cites_speaker"].tolist() == [True, False]


def test_names_of_candidates_are_no_speakers() -> None:
    """Independent judges of two answers have nobody to cite, whatever the answers are called."""
    rows = [("d1", 1, f"judge {k}", "A", "Assistant 1 is better than assistant 2.") for k in (1, 2)]
    found = rationales(pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"]))
    assert found.find("that name who spoke before") is None
    assert found["rationales that cite the debate"].value == 0.0
    assert any("no other agent has a text in the log" in note for note in found.notes)


def test_short_names_and_numbers_need_a_word_before_them() -> None:
    rows = [
        ("d1", r, agent, "A", text)
        for r in (1, 2)
        for agent, text in (("1", "See 2."), ("2", "So says agent 1."))
    ]
    found = rationales(pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"]))
    assert found.marks["cites_speaker"].tolist() == [False, True]


def test_own_patterns_replace_the_words_and_not_the_quotations() -> None:
    found = rationales(
        trial("As counsel said.", 'It says "forgets the leap years".'),
        cites={"counsel": ["counsel", "learned friend"]},
    )
    names = [e.name for e in found.estimates[:3]]
    assert names == ["rationales that cite the debate", "that cite: counsel", "that quote an earlier turn"]
    assert [e.value for e in found.estimates[:3]] == [1.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("patterns", "error", "message"),
    [
        ({"a": "(unclosed"}, ValueError, r"cites\['a'\] must be a regular expression"),
        ({"a": "x*"}, ValueError, r"cites\['a'\] must not fit a text without a word"),
        ({}, ValueError, "at least one pattern"),
        ({"a": []}, TypeError, "regular expressions or lists of words"),
        ({"a": [1]}, TypeError, "regular expressions or lists of words"),
        ({"a": 3}, TypeError, "regular expressions or lists of words"),
        (["a"], TypeError, "must be a mapping"),
        ({"quote": "x"}, ValueError, "must not be called 'quote'"),
    ],
)
def test_patterns_that_cannot_be_are_refused(patterns, error, message) -> None:
    with pytest.raises(error, match=message):
        rationales(trial("x y"), cites=patterns)


def test_a_list_of_words_means_whole_words() -> None:
    pattern = compiled({"cost": ["price", "too expensive"]}, "reasons")["cost"]
    assert [bool(pattern.search(text)) for text in ("Too-expensive!", "PRICE", "priceless")] == [
        True,
        True,
        False,
    ]


# ------------------------------------------------------------------------------------------------ repeated words

SENTENCE = "the leap years before the great reform were simply left out"


def parallel(n: int = 2) -> pd.DataFrame:
    """Return debates of two agents over two rounds; what each writes is given below."""
    rows = []
    for d in range(n):
        own = f"case{d} "
        rows += [
            (f"d{d}", f"q{d}", 1, "x", None, "A", own.join(["", "so i think that all of this is right"])),
            (f"d{d}", f"q{d}", 1, "y", None, "B", f"{own}{SENTENCE} {own}"),
            (
                f"d{d}",
                f"q{d}",
                2,
                "x",
                None,
                "A",
                f"{own}{SENTENCE} {own}" if d == 0 else "i stay with my vote",
            ),
            (f"d{d}", f"q{d}", 2, "y", None, "B", "no change at all"),
        ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_words_of_an_earlier_turn_are_repeated_unless_they_are_a_turn_of_phrase() -> None:
    """The sentence stands in debates of two questions; what stands around it, in one only."""
    one = parallel(1)
    said = as_texts(one)
    assert repeats(said)[0].tolist() == [1.0, 0.0]
    two = parallel(2)
    everywhere = two.assign(text=two["text"].str.replace(r"case\d ", "", regex=True))
    assert repeats(as_texts(everywhere))[0].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert repeats(as_texts(two))[0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_words_of_ones_own_earlier_turn_are_not_repeated_from_others() -> None:
    rows = [("d", r, agent, "A", SENTENCE) for r in (1, 2) for agent in "xy"]
    said = as_texts(pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"]))
    earlier, beside, _ = repeats(said)
    assert earlier.tolist() == [0.0, 0.0]
    assert beside.tolist() == [0.0, 0.0]


def test_words_in_common_with_a_turn_of_the_same_time_are_the_control() -> None:
    rows = [("d", 1, "x", "A", SENTENCE), ("d", 1, "y", "A", f"indeed {SENTENCE}"), ("d", 1, "z", "B", "no")]
    earlier, beside, _ = repeats(
        as_texts(pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "text"]))
    )
    assert np.isnan(earlier).all()
    assert beside.tolist() == [1.0, 1.0, 0.0]


@given(
    st.lists(st.text(alphabet="ab cÄ1_,.“\n", max_size=40), max_size=6),
    st.integers(2, 4),
)
def test_passages_are_those_that_splitting_into_words_gives(texts: list[str], words: int) -> None:
    """Two passages have one number where, and only where, their words are the same."""
    found = _Passages(words)(texts)
    known: dict[int, tuple[str, ...]] = {}
    for text, numbers in zip(texts, found, strict=True):
        split = re.findall(r"\w+", text.lower())
        passages = [tuple(split[k : k + words]) for k in range(len(split) - words + 1)]
        assert len(numbers) == len(passages)
        for number, passage in zip(numbers.tolist(), passages, strict=True):
            assert known.setdefault(number, passage) == passage
    assert len(set(known.values())) == len(known)
