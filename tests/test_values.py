"""Answers and names in one written form."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from d3stats.values import MISSING_WORDS, canonical, canonical_text, shared_spelling


def one(column, **settings):
    return canonical(column, **settings).columns[0].tolist()


@pytest.mark.parametrize(
    "column",
    [
        [6, 7, 6],
        [6.0, 7.0, 6.0],
        ["6", "7", "6"],
        ["6.0", "7.", " 6 "],
        np.array([6, 7, 6], dtype=np.int8),
        np.array([6, 7, 6], dtype=np.float32),
        pd.Series([6, 7, 6], dtype="Int64"),
        pd.Series([6, 7, 6], dtype="Float64"),
        pd.Series(["6", "7", "6"], dtype="string"),
        pd.Series(["6.0", "7.0", "6.0"], dtype="category"),
        pd.Series([6, 7, 6], dtype="category"),
        [6, "7.0", 6.0],
        ("6", "7", "6"),
    ],
    ids=lambda c: f"{type(c).__name__}-{getattr(c, 'dtype', type(c[0]).__name__)}",
)
def test_an_integer_column_is_the_same_text_in_every_dtype(column):
    assert one(column) == ["6", "7", "6"]


@pytest.mark.parametrize(
    "word", sorted(MISSING_WORDS | {"NaN", "None", "NULL", "N/A", "NA", "NaT", " nan ", "<NA>"})
)
def test_words_for_missing_are_missing_and_counted(word):
    found = canonical([word, "A", None, np.nan, pd.NA, pd.NaT])
    assert found.columns[0].tolist() == [None, "A", None, None, None, None]
    assert sum(found.missing.values()) == bool(word.strip())
    assert bool(found.notes("votes")) == bool(word.strip())


def test_a_word_for_missing_is_kept_where_it_is_a_real_answer():
    assert one(["NA", "B", ""], missing_values=["unparsed"]) == ["NA", "B", None]
    assert one(["NA", "UNPARSED"], missing_values=["unparsed"]) == ["NA", None]
    assert one(["NA", "none"], keep=["NA"]) == ["NA", None]
    with pytest.raises(TypeError, match="list of words"):
        canonical(["A"], missing_values="None")


def test_booleans_agree_with_zero_and_one():
    for votes, labels in (
        [[True, False], [1, 0]],
        [["TRUE", "false"], [1.0, 0.0]],
        [[1, 0], ["true", "False"]],
    ):
        assert [c.tolist() for c in canonical(votes, labels).columns] == [["True", "False"]] * 2
    assert one([1, 0]) == ["1", "0"]
    assert [c.tolist() for c in canonical([True, False], [1, 2]).columns] == [["True", "False"], ["1", "2"]]
    assert shared_spelling(["0", "1", "True"]) == {"0": "False", "1": "True", "True": "True"}


def test_numbers_are_one_where_all_values_are_numbers_and_text_where_some_are_not():
    assert one(["2.50", "2.5", "+3", "1e2", "-0.0"]) == ["2.5", "2.5", "3", "100", "0"]
    assert one(["2.50", "2.5", "6.0", "A"]) == ["2.50", "2.5", "6", "A"]
    assert one(["007", "7"]) == ["007", "7"]
    assert one(["12345678901234567890.0"]) == ["12345678901234567890"]
    assert one(["1.10", "1.1", 3.0], names=True) == ["1.10", "1.1", "3"]


def test_spaces_and_unicode_forms_are_one():
    assert one(["caf\u00e9", "cafe\u0301", " a\u00a0 b", "a b"]) == ["caf\u00e9", "caf\u00e9", "a b", "a b"]


def test_what_was_written_in_several_ways_is_said():
    said = canonical(["6.0", "6"]).notes("votes")
    assert said == ["votes written in several ways are read as one: '6.0', '6' as '6'"]
    assert canonical(["6", "6"]).notes("votes") == []


_CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-50, 50), st.floats(-5, 5, width=16), st.text(max_size=6),
    st.sampled_from(["A", "b", "nan", "6.0", "2.50", "TRUE", "007", "1e3", " x ", "é", "e\u0301"]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_CELLS, max_size=12))
def test_the_canonical_form_is_its_own_canonical_form(cells):
    once = one(cells)
    assert one(once) == once
    assert all(text is None or (isinstance(text, str) and text) for text in once)


@settings(max_examples=150, deadline=None)
@given(st.lists(_CELLS, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(cells, random):
    order = list(range(len(cells)))
    random.shuffle(order)
    assert one([cells[i] for i in order]) == [one(cells)[i] for i in order]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.integers(-99, 99), st.floats(-9, 9)), min_size=1, max_size=8))
def test_values_read_one_by_one_have_the_form_of_a_column_of_numbers(cells):
    assert [canonical_text(x) for x in cells] == one(cells)
