"""Reading a final answer out of a model's text, and the canonical form of a number.

Two readings, because a text does not always say one thing:

``"asked"``
    The form that the prompt asked for comes first, then other forms, then (numbers only) the last number of
    the text. This is how the published counts of these logs were made.
``"strict"``
    Only an explicit statement counts, and the last one wins: a box, ``####``, "the answer is", a bracketed
    letter in the last line. A box without a number says that there is no answer.

A text that neither can read gives None, which is missing, not wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice

from d3stats._check import choice as _choice

__all__ = ["READINGS", "boxed", "canonical_number", "choice", "gold_number", "number", "yes_no"]

SHARED = 200
"""Characters before a letter in which another one may be offered with it."""

READINGS = ("asked", "strict")
"""The ways to read an answer from a text: in the form that the prompt asked for, or from an explicit statement only."""

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
# A hyphen is a sign only where no operand stands before it: "50-4" holds 50 and 4.
_NUMBER = re.compile(rf"(?:(?<![\w).-])-)?(?:{_DIGITS})")
_FRACTION = re.compile(r"(-?)(?:(?<![0-9])([0-9]+)\s*+)?\\[dt]?frac\{([0-9]+)\}\{([0-9]+)\}")
_PLAIN_FRACTION = re.compile(r"\s*(-?)([0-9]+)\s*/\s*([0-9]+)\s*")
# What is left in a box beside a number and its unit when the box holds a formula, a range or a time of day.
_FORMULA = re.compile(r"[*+×÷^]|\\times|\\cdot|\\frac|[0-9]\s*:\s*[0-9]|\b[0-9.]{0,40}[xX]\b")
_STATED = re.compile(r"(answer)\s*+(?:is|:)|(?i:answer)\s*+(?:is|:)")
_YES_NO = re.compile(
    r"\banswer(?:\s+to\s+(?:the|this)[^.]{0,100}?)?\s+(?:is|would be)(?:\s*+:)?\s++(?:still\s++)?(yes|no)\b(?!\s+or\b)"
    r"|(?:^|[.!?]\s+)(yes|no),",
    re.IGNORECASE,
)


def canonical_number(text: str) -> str | None:
    """Write a number in the one form that equal numbers share; None when `text` is not one number.

    Parameters
    ----------
    text : str
        One number, or something else.

    Returns
    -------
    str or None

    Examples
    --------
    >>> [canonical_number(x) for x in ("18.0", "1,000", "$5", "-0", "007", "3/6", "7/3", "five")]
    ['18', '1000', '5', '0', '7', '0.5', '7/3', None]
    """
    cleaned = _plain(text).strip().rstrip(".").replace(",", "").removesuffix("%").strip()
    fraction = _PLAIN_FRACTION.fullmatch(cleaned)
    if fraction:
        sign, top, bottom = fraction.groups()
        return _write_fraction(sign, "0", top, bottom)
    try:
        value = Decimal(cleaned)
    except InvalidOperation:
        return None
    if not value.is_finite() or abs(value.adjusted()) > 100:
        return None
    written = format(value, "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written in ("-0", "") else written


def boxed(text: str) -> list[str]:
    r"""Return the content of each ``\boxed{...}`` of a text, in order; braces may nest.

    Parameters
    ----------
    text : str
        What a model wrote.

    Returns
    -------
    list of str

    Examples
    --------
    >>> boxed(r"so \boxed{12}, or rather \boxed{\text{13}}")
    ['12', '\\text{13}']
    """
    found: dict[int, str] = {}
    open_at: list[int | None] = []
    for mark in re.finditer(r"\\boxed\s*+\{|[{}]", text):
        if mark[0] != "}":
            open_at.append(None if mark[0] == "{" else mark.end())
        elif open_at and (start := open_at.pop()) is not None:
            found[start] = text[start : mark.start()]
    return [found[start] for start in sorted(found)]


def number(text: str, *, reading: str = "asked", stated: bool = False) -> str | None:
    r"""Read a numeric answer; None when there is none to be read.

    The last box decides. It must hold one number, with or without a unit, or a chain of equations whose last
    side is one number: a formula, a range, a list or a time of day is no number.

    Without a number in a box, ``reading="asked"`` takes the last number of the text; "strict" takes the one that
    follows ``####`` or "the answer is", and nothing when the last box holds no digit. `stated` says that the prompt
    asked for "the answer is ...": the first number after the last such phrase comes before the last of the text.

    Parameters
    ----------
    text : str
        What a model wrote.
    reading : {"asked", "strict"}
        What counts as a statement, see above.
    stated : bool
        Whether the prompt asked for "the answer is ...".

    Returns
    -------
    str or None

    Examples
    --------
    >>> number(r"It costs 4 * 5, so \boxed{\$20.00}.")
    '20'
    >>> number(r"\boxed{24 \text{ selfies}, 16 \text{ portraits}}") is None
    True
    >>> number("That makes 7 + 2 = 9."), number("That makes 7 + 2 = 9.", reading="strict")
    ('9', None)
    """
    _choice("reading", reading, READINGS)
    boxes = boxed(text)
    if boxes and (reading == "strict" or re.search(r"[0-9]", boxes[-1])):
        return _in_box(boxes[-1])
    if reading == "strict" or stated:
        after = text.rpartition("####")[2] if "####" in text else _after_statement(text)
        first = next(_numbers(after), None)
        if first is not None:
            return first
    return None if reading == "strict" else next(_numbers(text, last=True), None)


def gold_number(text: str) -> str | None:
    r"""Read the right answer of a GSM8K solution: what follows ``####``, or the text itself.

    Parameters
    ----------
    text : str
        The solution of the data set.

    Returns
    -------
    str or None

    Examples
    --------
    >>> gold_number("52 - 36 = 16 miles\n#### 1,016")
    '1016'
    """
    return canonical_number(text.rpartition("####")[2])


def choice(text: str, letters: str = "ABCD", *, reading: str = "asked") -> str | None:
    r"""Read the letter of a closed question; None when there is none to be read.

    Models that were asked for "the form (X)" write ``(C)``, ``(X) C``, a box, or "the answer is C". Two
    letters offered together, "(A) or (C)", are no answer.

    ``reading="asked"`` takes the last bracketed letter, then the last box, then the last "answer is C". It misreads a
    text that dismisses "(D)" in passing and then boxes another letter; "strict" takes the last statement,
    and a bracketed letter only in the last line.

    Parameters
    ----------
    text : str
        What a model wrote.
    letters : str
        The letters of the options.
    reading : {"asked", "strict"}
        What counts as a statement, see above.

    Returns
    -------
    str or None

    Examples
    --------
    >>> choice("Options (A) and (B) fail, so (X) C"), choice("the answer is either (A) or (C)")
    ('C', None)
    >>> dismissed = r"(D) does not fit. \boxed{B}"
    >>> choice(dismissed), choice(dismissed, reading="strict")
    ('D', 'B')
    """
    _choice("reading", reading, READINGS)
    bracket, box, statement = _choice_patterns(letters)
    if reading == "asked":
        for pattern in (bracket, box, statement):
            found = list(pattern.finditer(text))
            if found:
                return _unless_shared(text, found[-1], letters)
        return None
    last_line = len(text.rstrip()) - len(text.rstrip().rpartition("\n")[2])
    stated = [
        match
        for pattern in (bracket, box, statement)
        for match in pattern.finditer(text)
        if pattern is not bracket or match.start() >= last_line or match[0].startswith("(X")
    ]
    last = max(stated, key=lambda match: match.end(1), default=None)
    return None if last is None else _unless_shared(text, last, letters)


def yes_no(text: str) -> str | None:
    """Read "yes" or "no": the last "the answer is yes" or sentence that opens with "Yes,"; None otherwise.

    A hedge ("partially yes", "not a simple yes or no") is no answer.

    Parameters
    ----------
    text : str
        What a model wrote.

    Returns
    -------
    str or None

    Examples
    --------
    >>> yes_no("So the answer is no."), yes_no("Yes, it floats."), yes_no("So the answer is partially yes.")
    ('no', 'yes', None)
    """
    found = list(_YES_NO.finditer(text))
    return (found[-1][1] or found[-1][2]).lower() if found else None


def _plain(text: str) -> str:
    for mark in ("\\$", "$", "\\!", "\\,", "\\;", "€", "£"):
        text = text.replace(mark, "")
    return text.replace("{,}", ",").replace("\\%", "%").replace("−", "-")


def _numbers(text: str, *, last: bool = False) -> Iterator[str]:
    """Yield the numbers of a text, from the first to the last or the other way round."""
    found = _NUMBER.findall(_plain(text))
    written = map(canonical_number, reversed(found) if last else found)
    return (value for value in written if value is not None)


def _after_statement(text: str) -> str:
    found = list(_STATED.finditer(text))
    # The last that is written small, else the first.
    match = next((match for match in reversed(found) if match[1]), found[0] if found else None)
    return text[match.end() :] if match else ""


def _in_box(content: str) -> str | None:
    plain = _plain(content)
    if "=" in plain:
        plain = plain.rpartition("=")[2]
    fraction = _FRACTION.search(plain)
    if fraction:
        sign, whole, top, bottom = fraction.groups(default="")
        rest = plain[: fraction.start()] + plain[fraction.end() :]
        if any(_numbers(rest)) or _FORMULA.search(rest):
            return None
        return _write_fraction(sign, whole or "0", top, bottom)
    if _PLAIN_FRACTION.fullmatch(plain):
        return canonical_number(plain)
    numbers = list(islice(_numbers(plain), 2))
    return numbers[0] if len(numbers) == 1 and not _FORMULA.search(plain) else None


def _write_fraction(sign: str, whole: str, top: str, bottom: str) -> str | None:
    if int(bottom) == 0:
        return None
    value = int(whole) + Fraction(int(top), int(bottom))
    value = -value if sign else value
    places = 0
    while 10**places % value.denominator and places <= value.denominator.bit_length():
        places += 1
    if 10**places % value.denominator:
        return f"{value.numerator}/{value.denominator}"
    return canonical_number(f"{value.numerator * (10**places // value.denominator)}E-{places}")


def _choice_patterns(letters: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    some = f"[{re.escape(letters)}]"
    # "A" alone may be the article; the other letters are no English words.
    letter = rf"(?:A(?!\s++[a-z])|(?!A){some})"
    bracket = re.compile(rf"(?:\(X\)\s*\(?(?={some}\b)|\((?={some}\)))({some})")
    box = re.compile(rf"\\boxed\s*+\{{\s*+(?:\\text(?:bf)?\s*+\{{)?\s*+\(?({some})\b")
    statement = re.compile(rf"(?i:answer)\s*+[):]?\s*+(?:(?i:is|:))?\s*+:?\s*+\**\(?({letter})\b")
    return bracket, box, statement


def _unless_shared(text: str, match: re.Match[str], letters: str) -> str | None:
    other = rf"\(([{re.escape(letters)}])\)[^().\n]{{0,40}}\b(?:or|and/or)\s+\(?$"
    before = re.search(other, text[max(0, match.start(1) - SHARED) : match.start(1)])
    return None if before and before[1] != match[1] else match[1]
