"""What acts or hides is written out; what a language or an emoji is spelled with stays."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats._words import HIDDEN, cut, storable, visible

SPELLED = {
    "Persian": "\u0645\u06cc\u200c\u0631\u0648\u0645 \u06a9\u062a\u0627\u0628\u200c\u0647\u0627",
    "Persian plural of a Latin word": "PDF\u200c\u0647\u0627",
    "Hindi": "\u0915\u094d\u200d\u0937 \u0930\u094d\u200d\u092f \u0915\u094d\u200c\u0937",
    "Bengali": "\u09b0\u200d\u09cd\u09af",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "health worker with a skin tone": "\U0001f469\U0001f3fd\u200d\u2695\ufe0f",
    "heart on fire": "\u2764\ufe0f\u200d\U0001f525",
    "rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "black bird": "\U0001f426\u200d\u2b1b",
}

HIDING = {
    "in an ASCII word": "pass\u200cword",
    "between accented letters": "\u00e9\u200d\u00e8",
    "between ideographs": "\u65e5\u200d\u672c",
    "at the beginning": "\u200c\u0645\u06cc",
    "at the end": "\u0645\u06cc\u200c",
    "before a blank": "\u0645\u06cc\u200c \u0631",
    "a run": "\u0645\u200c\u200d\u200c\u0631",
    "beside a turn": "\u0645\u200c\u202e\u0631",
    "beside a comma": "\u0645\u200c\u060c",
    "an emoji and a letter": "\U0001f468\u200da",
    "without width between emoji": "\U0001f468\u200c\U0001f469",
    "before a selector": "\U0001f468\u200d\ufe0f\U0001f469",
}


@pytest.mark.parametrize("name", SPELLED)
def test_joiners_that_spell_stay(name: str) -> None:
    assert visible(SPELLED[name]) == SPELLED[name]


@pytest.mark.parametrize("name", HIDING)
def test_joiners_that_hide_are_written_out(name: str) -> None:
    shown = visible(HIDING[name])
    assert "\u200c" not in shown
    assert "\u200d" not in shown
    assert "\\u200" in shown


@given(
    st.text(
        st.sampled_from("a\u00e9 \u0645\u0915\u094d\u200c\u200d\u202e\u00ad\ufe0f\U0001f468\u65e5\r\n\x1b")
    )
)
def test_what_was_made_visible_is_visible(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    assert not [c for c in shown if HIDDEN.match(c) and c not in "\u200c\u200d"]


@given(st.text(), st.integers(0, 200))
def test_a_text_that_was_cut_shows_no_more_than_was_allowed(text: str, longest: int) -> None:
    kept = cut(text, longest)
    assert len(visible(kept).encode()) <= longest + len(" [cut]")
    if len(visible(text).encode()) <= longest:
        assert kept == text
    else:
        assert kept.endswith(" [cut]")
        assert text.startswith(kept.removesuffix(" [cut]"))


@given(
    st.text(
        st.characters(
            categories=["L", "M", "N", "Z", "P", "S"],
            exclude_characters="".join(map(chr, range(0x2028, 0x202A))),
        )
    )
)
def test_letters_marks_digits_and_signs_stay(text: str) -> None:
    plain = "".join(c for c in text if unicodedata.category(c) != "Cf" and not HIDDEN.match(c))
    assert visible(plain) == plain


def test_one_soft_hyphen_costs_no_tail() -> None:
    text = "Dampf\u00adschiff and the tail of it."
    assert cut(text, len(visible(text))) == text
    assert cut(text, 12) == "Dampf\u00adsch [cut]"


@given(st.text(st.characters()))
def test_what_is_storable_can_be_stored_and_all_else_stays(text: str) -> None:
    kept = storable(text)
    assert kept.encode().decode() == kept
    if not any("\ud800" <= c <= "\udfff" for c in text):
        assert kept == text
