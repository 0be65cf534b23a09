"""Reading final answers: what is read, what is missing, and what equal numbers have in common."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from d3stats.log.importers import answers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("18.0", "18"),
        ("18", "18"),
        ("1,000", "1000"),
        ("$1,234.50", "1234.5"),
        (r"\$5", "5"),
        ("−3", "-3"),
        ("-0.0", "0"),
        (".5", "0.5"),
        ("24%", "24"),
        ("007", "7"),
        ("6/3", "2"),
        ("7/3", "7/3"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_equal_numbers_have_one_canonical_form(text: str, number: str) -> None:
    assert answers.canonical_number(text) == number


@pytest.mark.parametrize("text", ["", "five", "3 or 4", "2:00", "nan", "inf", "1/0", "1e999999"])
def test_what_is_not_one_number_has_no_canonical_form(text: str) -> None:
    assert answers.canonical_number(text) is None


@given(st.fractions(min_value=-(10**9), max_value=10**9))
def test_canonical_form_keeps_the_value_and_is_its_own_canonical_form(value: Fraction) -> None:
    written = answers.canonical_number(f"{value.numerator}/{value.denominator}")
    assert written is not None
    assert Fraction(written) == value
    assert answers.canonical_number(written) == written


@given(st.integers(min_value=-(10**30), max_value=10**30))
def test_commas_and_decimal_zeros_do_not_change_a_number(value: int) -> None:
    assert answers.canonical_number(f"{value:,}.00") == answers.canonical_number(str(value)) == str(value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (r"\boxed{3}, no: \boxed{18.0}", "18"),
        (r"so \boxed{1128 \text{ minutes}}", "1128"),
        (r"\boxed{\$1,234}", "1234"),
        (r"\boxed{15000 + 30000 = $45000}", "45000"),
        (r"\boxed{24\%}", "24"),
        (r"\boxed{\frac{7}{3} \text{ minutes}}", "7/3"),
        (r"\boxed{1 \frac{1}{2}}", "1.5"),
        (r"\boxed{-3}", "-3"),
        (r"\boxed{{19.83}}", "19.83"),
        ("He has $50-4 left, that is 46.", "46"),
        ("it stays 17 \\boxed{As One, We Seek}", "17"),
    ],
)
def test_a_number_is_read_from_the_last_box_or_else_the_text(text: str, number: str) -> None:
    assert answers.number(text) == number


@pytest.mark.parametrize(
    "box",
    [
        r"24 \text{ selfies}, 16 \text{ portraits}",
        "14 or 15",
        "11-19 inches",
        r"2:00 \text{ pm}",
        "80 - 6x",
        "120 pieces / 15 pieces/pack",
        "4 × Mother's salary",
        r"0.5 \text{ hours} or 30 \text{ minutes}",
    ],
)
def test_a_box_with_a_list_range_formula_or_time_is_missing_not_a_guess(box: str) -> None:
    text = rf"There were 7 of them. \boxed{{{box}}}"
    assert answers.number(text) is None
    assert answers.number(text, reading="strict") is None


def test_strict_reading_takes_only_explicit_statements() -> None:
    assert answers.number("That makes 7 + 2 = 9.", reading="strict") is None
    assert answers.number("So the answer is $18, not 36.", reading="strict") == "18"
    assert answers.number("… #### 1,016", reading="strict") == "1016"
    assert answers.number("17 then \\boxed{Cannot be determined}", reading="strict") is None


def test_stated_answer_comes_before_the_last_number_when_the_prompt_asked_for_it() -> None:
    text = "So the answer is 180 minutes or 3 hours."
    assert answers.number(text) == "3"
    assert answers.number(text, stated=True) == "180"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("(C)", "C"),
        ("… (X) C", "C"),
        ("(X) C) the disc", "C"),
        (r"Thus \boxed{D}", "D"),
        (r"\boxed{\text{B}}", "B"),
        ("the correct answer is:\n\nD) 45,X", "D"),
        ("(Answer) D) 32i", "D"),
        ("ANSWER: B", "B"),
        ("first (A), then (B)", "B"),
        ("(A) or (B)? It is (A).", "A"),
    ],
)
def test_a_letter_is_read_in_the_forms_that_models_write(text: str, letter: str) -> None:
    assert answers.choice(text) == letter


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(X)",
        "(X) 16 hours",
        "the answer is A testament to reason",
        "E. (E)",
        "either (A) or (C)",
        "C) 69,XYY",
    ],
)
def test_a_text_without_one_letter_is_missing(text: str) -> None:
    assert answers.choice(text) is None


def test_strict_reading_lets_the_last_statement_win() -> None:
    text = "(A) and (D) are dismissed.\n\\boxed{B}"
    assert answers.choice(text) == "D"
    assert answers.choice(text, reading="strict") == "B"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So the answer is no.", "no"),
        ("So the answer is still no.", "no"),
        ("No, this is false. The answer is yes.", "yes"),
        ("I said so. Yes, hamsters are prey.", "yes"),
        ("So the answer is partially yes.", None),
        ("The answer is not a simple yes or no.", None),
        ("The answer is yes or no.", None),
        ("There is no data.", None),
    ],
)
def test_yes_or_no_is_read_and_hedges_are_missing(text: str, answer: str | None) -> None:
    assert answers.yes_no(text) == answer


@given(st.text(max_size=200))
def test_no_text_breaks_a_reader_and_all_answers_are_canonical(text: str) -> None:
    for reading in answers.READINGS:
        number = answers.number(text, reading=reading)
        assert number is None or answers.canonical_number(number) == number
        assert answers.choice(text, reading=reading) in (None, "A", "B", "C", "D")
    assert answers.yes_no(text) in (None, "yes", "no")


def test_an_unknown_reading_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="reading must be one of 'asked', 'strict'; got reading='loose'"):
        answers.number("1", reading="loose")
    with pytest.raises(ValueError, match="reading must be one of"):
        answers.choice("(A)", reading="loose")
