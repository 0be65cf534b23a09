"""Texts that are not English never count as texts without a reference or a reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from layers import sampled

import d3stats
from d3stats.inference.reasons.evidence import LANGUAGE, compiled
from d3stats.note import kind_of

ENGLISH = (
    "As advocate 1 argued in round 1, this is accurate.",
    "The second answer is clearer, because it is short.",
)
OTHERS = {
    "Chinese": ("正如正方辩手在第1轮中指出的那样，这个答案是准确的。", "这个更清楚。"),
    "Japanese": ("肯定側がラウンド1で述べたように正確です。", "こちらの方が明確です。"),
    "Russian": (
        "Как сказал первый адвокат в раунде 1, это точно.",
        "Второй ответ яснее и короче, чем первый.",
    ),
    "Thai": ("ตามที่ผู้เสนอกล่าวในรอบที่ 1 คำตอบนี้ถูกต้อง", "คำตอบนี้ชัดเจนกว่า"),
}
GERMAN = ("Wie Anwalt 1 in Runde 1 sagte, stimmt diese Antwort ganz genau.",
          "Die zweite Antwort nennt klar alle Punkte und wirkt sehr kurz.")  # fmt: skip
_WORDS = (
    "cite the debate",
    "name a round",
    "word for arguing",
    "quote",
    "axis",
    "reason of their own",
    "cosine",
)


def debates(texts: tuple[str, str], n: int = 8, start: int = 0) -> pd.DataFrame:
    rows = []
    for d in range(start, start + n):
        rows.append((f"d{d}", 1, "advocate 1", "advocate", None, "A is right."))
        for k in range(3):
            rows.append((f"d{d}", 2, f"juror {k}", "juror", "AAB"[k], texts[k == 2] + " " * (k == 1)))
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "role", "vote", "text"]).assign(label="A")


@pytest.mark.parametrize("language", OTHERS)
def test_rationales_in_other_letters_have_no_share_instead_of_zero(language: str) -> None:
    found = d3stats.rationales(debates(OTHERS[language]), rng=1)
    assert [note for note in found.notes if kind_of(note) == LANGUAGE and "24 of 24" in note]
    spaced = language == "Russian"
    assert not [e.name for e in found.measures if any(word in e.name for word in _WORDS[: 6 + (not spaced)])]
    assert found.agents["cites"].isna().all()
    assert found.reasons.empty


@sampled("language", OTHERS, slice(0, None, 2))
def test_some_rationales_in_other_letters_change_no_share_of_the_others(language: str) -> None:
    alone = d3stats.rationales(debates(ENGLISH), rng=1)
    mixed = d3stats.rationales(pd.concat([debates(ENGLISH), debates(OTHERS[language], 4, 8)]), rng=1)
    of = {e.name: e for e in mixed.measures}
    for e in alone.measures:
        same_words = "words" in e.name or "cosine" in e.name or "within a debate" in e.name  # of any language
        if not same_words:
            assert (of[e.name].value, of[e.name].n) == (pytest.approx(e.value, nan_ok=True), e.n), e.name
    pd.testing.assert_frame_equal(alone.reasons, mixed.reasons)


def test_own_words_of_a_language_without_spaces_are_found_inside_a_text() -> None:
    words = {"speaker": ["正方辩手"], "round": r"第\d+轮"}
    found = d3stats.rationales(debates(OTHERS["Chinese"]), cites=words, reasons={"clear": ["清楚"]}, rng=1)
    assert found.measures[0].value == pytest.approx(2 / 3)
    assert found.reasons["dissent"].tolist() == [1.0]
    assert not [note for note in found.notes if kind_of(note) == LANGUAGE]
    pattern = compiled({"x": ["juror 1", "juror"]}, "cites")["x"]
    assert [bool(pattern.search(text)) for text in ("juror1", "a juror-1", "jurors", "pejuror")] == [
        0,
        1,
        0,
        0,
    ]


def test_another_language_in_latin_letters_is_warned_of() -> None:
    told = [
        [note for note in d3stats.rationales(debates(texts), rng=1).notes if kind_of(note) == LANGUAGE]
        for texts in (GERMAN, ENGLISH)
    ]
    assert [len(notes) for notes in told] == [1, 0]
    assert told[0][0].severity == "warning"
    assert np.isfinite(told[0][0].n)
