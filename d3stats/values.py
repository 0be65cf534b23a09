"""When are two written answers or names the same? One written form for each, wherever data enter.

A table may hold the same answer as ``6``, ``6.0``, ``" 6"`` or a float, and a missing one as an empty cell, NaN or
the word "None". Comparisons of text would take these for different answers. Files, data frames, arrays, importers,
items, runs, ratings and verdicts all pass their values through this module first.

The rules, in this order:

1. Text is put in Unicode's composed form (NFC), trimmed, and runs of white space become one space.
2. None, NaN, NaT and the words of :data:`MISSING_WORDS` (in any case) are missing.
3. An integer written as a float is that integer: ``6.0`` is ``6``. ``007`` stays text.
4. Where all values of the columns that are compared are numbers, equal numbers get one form: ``2.50`` is ``2.5``.
5. Where all of them are ``true``, ``false`` (in any case), 0 or 1 and a word is among them, they are ``True`` and
   ``False``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import LARGEST
from d3stats.note import MISSING_VALUES, SPELLINGS, Note, Severity

__all__ = [
    "MISSING_WORDS",
    "RIGHT",
    "WRONG",
    "Canonical",
    "canonical",
    "canonical_text",
    "canonical_texts",
    "is_missing_word",
    "missing_words",
    "name_text",
    "numbers_of",
    "shared_spelling",
    "stated_answer",
]

MISSING_WORDS = frozenset(
    {"", "nan", "none", "null", "n/a", "na", "nat", "<na>"}
    | {
        "#n/a",
        "#n/a n/a",
        "#na",
        "-nan",
        "-1.#ind",
        "-1.#qnan",
        "1.#ind",
        "1.#qnan",
    }  # other programs' tables
)
"""Texts that mean a missing value, in lower case; ``missing_values=`` replaces all of them but the empty one."""

RIGHT = "right"
"""The answer of a right vote in a log that records only correctness."""
WRONG = "wrong"
"""The answer of a wrong vote in a log that records only correctness."""

_SPACES = re.compile(r"\s+")
_CONTROL = re.compile(r"[\t\r\x0b\x0c\x1c-\x1f]")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)\.0*")
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_BOOLEAN = {"true": "True", "false": "False", "1": "True", "0": "False"}


@dataclass(frozen=True)
class Canonical:
    """Columns in canonical form, and what was done to get there.

    Attributes
    ----------
    columns : tuple of ndarray of object
        One per column given, of the same length: text, or None where the value is missing.
    forms : dict of str to (str or None)
        Each text as it was written to its canonical form.
    missing : dict of str to int
        Words that were taken as missing, as they were written, with how often each occurred; empty cells, None and
        NaN are not listed.
    missing_by_column : tuple of int
        How many such words each column has.
    merged : dict of str to tuple of str
        Canonical form to the different ways in which it was written, where there were several.
    presumed : bool
        Whether the words that mean missing are the usual ones, and not those that a user named.

    Examples
    --------
    >>> votes = canonical(["6.0", "6", "n/a"])
    >>> votes.columns[0].tolist(), votes.forms, votes.missing
    (['6', '6', None], {'6.0': '6', '6': '6', 'n/a': None}, {'n/a': 1})
    >>> votes.notes("votes")[1]
    "votes written in several ways are read as one: '6.0', '6' as '6'"
    """

    columns: tuple[NDArray[np.object_], ...]
    forms: dict[str, str | None]
    missing: dict[str, int] = field(default_factory=dict)
    missing_by_column: tuple[int, ...] = ()
    merged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    presumed: bool = True

    def notes(self, *what: str, answers: bool = False) -> list[str]:
        """Say in words what was taken as missing and what as one value; `what` names the columns, in the plural.

        Where `missing_values` named no words, missing answers are a warning, as they may be real.
        """
        found: list[str] = []
        together = " and ".join(dict.fromkeys(what[:2]))
        if self.missing:
            words = ", ".join(f"{word!r} ({n:,})" for word, n in list(self.missing.items())[:4])
            total = Counter[str]()
            for name, n in zip(what, self.missing_by_column, strict=False):
                total[name] += n
            counted = " and ".join(
                f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in total.items() if n
            )
            text = (
                f"{counted} {'is' if sum(total.values()) == 1 else 'are'} read as missing: {words}; "
                "if one is an answer, list the words that mean missing in missing_values= (--missing-values)"
            )
            severity: Severity = "warning" if answers and self.presumed else "note"
            found.append(
                Note(
                    text, kind=MISSING_VALUES, severity=severity, n=sum(total.values()), examples=self.missing
                )
            )
        if self.merged:
            name, ways = next(iter(self.merged.items()))
            more = f" and {len(self.merged) - 1:,} more" if len(self.merged) > 1 else ""
            written = ", ".join(map(repr, ways[:3]))
            text = f"{together} written in several ways are read as one: {written} as {name!r}{more}"
            found.append(Note(text, kind=SPELLINGS, n=len(self.merged), examples=self.merged))
        return found


def canonical(
    *columns: Any,
    missing_values: Iterable[str] | None = None,
    keep: Collection[str] = (),
    names: bool = False,
) -> Canonical:
    """Write the values of columns that are compared with each other in one form.

    Parameters
    ----------
    *columns : Series, array or sequence
        Votes and labels, say; any dtype: text, integers, floats, booleans, categories, objects.
    missing_values : iterable of str, optional
        The words that mean missing, in any case, in place of :data:`MISSING_WORDS`; empty text, None and NaN always
        do. ``()`` keeps every word as an answer.
    keep : collection of str
        Words that are real answers although they look missing (a declared answer "NA").
    names : bool
        The values are names (of questions, clusters, agents): numbers among them are not put in one form, except
        integers written as floats.

    Returns
    -------
    Canonical

    Raises
    ------
    TypeError
        When `missing_values` is one text in place of a list of texts.

    Examples
    --------
    >>> votes, labels = canonical([6.0, None, 7.0], ["6", "6", "n/a"]).columns
    >>> votes.tolist(), labels.tolist()
    (['6', None, '7'], ['6', '6', None])
    >>> canonical([True, False], [1, 0]).columns[1].tolist()
    ['True', 'False']
    """
    coded = [_factorized(column) for column in columns]
    counted = [
        dict(zip(texts, np.bincount(codes[codes >= 0], minlength=len(texts)).tolist(), strict=True))
        for codes, texts in coded
    ]
    read = canonical_texts(*counted, missing_values=missing_values, keep=keep, names=names)
    out = [
        np.array([*map(read.forms.__getitem__, texts), None], dtype=object)[codes] for codes, texts in coded
    ]
    return replace(read, columns=tuple(out))


def canonical_texts(
    *columns: Mapping[str, int],
    missing_values: Iterable[str] | None = None,
    keep: Collection[str] = (),
    names: bool = False,
) -> Canonical:
    """Return the forms of texts, each column given as its different texts and how often each occurs.

    Like :func:`canonical`, for texts that are coded already; ``columns`` of the result is empty.

    Parameters
    ----------
    *columns : mapping of str to int
        The different texts of each column and how often each occurs.
    missing_values : iterable of str, optional
        The words that mean missing, in place of :data:`MISSING_WORDS`.
    keep : collection of str
        Words that are answers, although they look missing.
    names : bool
        Whether the texts are names, which have no form of a number.

    Returns
    -------
    Canonical

    Examples
    --------
    >>> canonical_texts({"6.0": 3, "6": 1, "n/a": 2}).forms
    {'6.0': '6', '6': '6', 'n/a': None}
    """
    written = list(dict.fromkeys(chain.from_iterable(columns)))
    words = missing_words(missing_values)
    forms = _forms(written, words, keep)
    _agree(forms, names)
    missing, by_column = Counter[str](), []
    absent: set[str] = set()
    if None in forms.values():
        absent = {text for text, form in forms.items() if form is None and text.strip()}
    for column in columns:
        words_here = {text: n for text, n in column.items() if text in absent} if absent else {}
        missing.update(words_here)
        by_column.append(sum(words_here.values()))
    merged: dict[str, tuple[str, ...]] = {}
    if len(set(forms.values())) < len(forms):
        ways: dict[str, list[str]] = {}
        for text, form in forms.items():
            if form is not None:
                ways.setdefault(form, []).append(text)
        merged = {form: tuple(each) for form, each in ways.items() if len(each) > 1}
    return Canonical((), forms, dict(missing), tuple(by_column), merged, words is MISSING_WORDS)


def _forms(texts: list[str], words: Collection[str], keep: Collection[str]) -> dict[str, str | None]:
    """Return the form of each text by itself."""
    if _are_plain(texts, words):
        return dict(zip(texts, texts, strict=True))
    kept = {_tidy(word).casefold() for word in keep}
    forms: dict[str, str | None] = {}
    for text in texts:
        tidy = _tidy(text)
        forms[text] = None if tidy.casefold() in words and tidy.casefold() not in kept else _whole(tidy)
    return forms


def _are_plain(texts: list[str], words: Collection[str]) -> bool:
    """Whether all texts are surely in their own form, looked at together: that is many times faster than one by one."""
    together = "\n" + "\n".join(texts) + "\n"
    odd = ("  ", " \n", "\n ", ".0", ".\n")
    return (
        together.isascii()
        and together.count("\n") == len(texts) + 1
        and not any(each in together for each in odd)
        and not _CONTROL.search(together)
        and frozenset(words).isdisjoint(together.casefold().split("\n")[1:-1])
    )


def missing_words(missing_values: Iterable[str] | None) -> frozenset[str]:
    """Return the words that mean missing, tidied and in lower case: the default ones, or those given.

    Parameters
    ----------
    missing_values : iterable of str, or None
        None for the default ones.

    Returns
    -------
    frozenset of str

    Raises
    ------
    TypeError
        When `missing_values` is one text in place of a list of texts.

    Examples
    --------
    >>> sorted(missing_words(["Unreadable", "?"])), missing_words(None) == MISSING_WORDS
    (['', '?', 'unreadable'], True)
    """
    if missing_values is None or missing_values is MISSING_WORDS:
        return MISSING_WORDS
    if isinstance(missing_values, str):
        raise TypeError(f"missing_values must be a list of words; got the text {missing_values!r}")
    return frozenset({_tidy(str(word)).casefold() for word in missing_values} | {""})


def canonical_text(value: Any, keep: Collection[str] = ()) -> str | None:
    """Write one value by itself in its canonical form; None where it is missing or a word for that.

    For values that arrive one by one, such as a model's replies: a number, ``true`` and ``false`` get the form that a
    column of such values would give them. Words in `keep` are answers.

    Parameters
    ----------
    value : object
        As it arrives.
    keep : collection of str
        Words that are answers, although they look missing.

    Returns
    -------
    str or None

    Examples
    --------
    >>> [canonical_text(x) for x in (6.0, "2.50", " N/A ", "007", "a  b", "true")]
    ['6', '2.5', None, '007', 'a b', 'True']
    """
    text = name_text(value)
    if text is None or (text.casefold() in MISSING_WORDS and text not in keep):
        return None
    if text.casefold() in ("true", "false"):
        return text.capitalize()
    return _number(text) if _NUMBER.fullmatch(text) else text


def name_text(value: Any) -> str | None:
    """Write one name by itself in its canonical form; None where it is missing or empty.

    Parameters
    ----------
    value : object
        As it arrives.

    Returns
    -------
    str or None

    Examples
    --------
    >>> name_text(" judge  1"), name_text(7.0), name_text(None)
    ('judge 1', '7', None)
    """
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    return _whole(_tidy(str(value))) or None


def numbers_of(name: str, cells: pd.Series[Any]) -> NDArray[np.float64]:
    """Return a column as floats, NaN where a cell is missing; text and infinite numbers are refused with their row.

    Parameters
    ----------
    name : str
        What the column is called in the refusal.
    cells : Series
        The cells of a column.

    Returns
    -------
    ndarray of float, shape (rows,)

    Raises
    ------
    ValueError
        When a cell holds text that is no number, or an infinite number.

    Examples
    --------
    >>> numbers_of("score", pd.Series(["1.5", None, 2]))
    array([1.5, nan, 2. ])
    >>> numbers_of("score", pd.Series([1, "high"]))
    Traceback (most recent call last):
    ...
    ValueError: score must be a finite number or missing; got score='high' at row 2 (counted from 1)
    """
    values = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    given = cells.notna().to_numpy()
    bad = (np.isnan(values) & given) | np.isinf(values) | (np.abs(values) > LARGEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be a finite number or missing; got {name}={cells.iloc[row]!r} at row {row + 1} "
            "(counted from 1)"
        )
    return np.asarray(values)


def is_missing_word(text: str, words: Collection[str] = MISSING_WORDS) -> bool:
    """Say whether a text is empty or a word for a missing value.

    Parameters
    ----------
    text : str
        As written.
    words : collection of str
        The words for a missing value, in lower case.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_missing_word("N/A"), is_missing_word(" "), is_missing_word("no")
    (True, True, False)
    """
    return _tidy(text).casefold() in words


def shared_spelling(answers: Iterable[str]) -> dict[str, str]:
    """Return the one spelling of each answer where answers in canonical form of several logs meet.

    Each log was put in its form by itself: one may hold only 0 and 1 where another holds True and False.

    Parameters
    ----------
    answers : iterable of str
        Answers of all logs together.

    Returns
    -------
    dict of str to str
        Each answer to its one spelling.

    Examples
    --------
    >>> shared_spelling(["True", "False", "1", "0"])
    {'True': 'True', 'False': 'False', '1': 'True', '0': 'False'}
    """
    forms: dict[str, str | None] = {answer: answer for answer in answers}
    _agree(forms, names=False)
    return {answer: form for answer, form in forms.items() if form is not None}


def _agree(forms: dict[str, str | None], names: bool) -> None:
    """Rewrite forms by the rules that look at all values together."""
    present = set() if names else {form for form in forms.values() if form is not None}
    if not present:
        return
    if all(_NUMBER.fullmatch(form) for form in present):
        change = {form: _number(form) for form in present}
    elif all(form.casefold() in _BOOLEAN for form in present):
        change = {form: _BOOLEAN[form.casefold()] for form in present}
    else:
        return
    for text, form in forms.items():
        forms[text] = None if form is None else change[form]


def _factorized(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Return a code per value, -1 where it is missing, and the texts that the codes stand for."""
    series = column if isinstance(column, pd.Series) else pd.Series(_list(column), dtype=_dtype(column))
    codes: NDArray[Any]
    found: Any
    if series.dtype == object:
        values = series.to_numpy(dtype=object)
        absent = pd.isna(values)
        if pd.api.types.infer_dtype(values[~absent], skipna=False) != "string":
            # Text first: True and 1 would be one key.
            values = np.array(
                [None if gone else _text(x) for x, gone in zip(values, absent, strict=True)], object
            )
        codes, found = pd.factorize(values)
    else:
        codes, found = pd.factorize(series)
    texts = [_text(value) for value in np.asarray(found)]  # 32 bits wide, a float stays short
    return codes.astype(np.int64), texts


def _text(value: Any) -> str:
    """Write a value as text; a float that is an integer was no text in another spelling, so nothing is said of it."""
    return _whole(str(value)) if isinstance(value, (float, np.floating)) else str(value)


def _list(column: Any) -> Any:
    return (
        column if isinstance(column, (np.ndarray, list, pd.api.extensions.ExtensionArray)) else list(column)
    )


def _dtype(column: Any) -> Any:
    return None if hasattr(column, "dtype") else object


def _tidy(text: str) -> str:
    if text.isascii():
        return _SPACES.sub(" ", text).strip() if not text.isalnum() else text
    return _SPACES.sub(" ", unicodedata.normalize("NFC", text.translate(_INVISIBLE))).strip()


_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff\u00ad"))
"""Signs without a width that change no word: spaces of no width, marks of direction and of the order of bytes."""


def _whole(text: str) -> str:
    if not _WHOLE.fullmatch(text):
        return text
    whole = text.split(".")[0]
    return "0" if whole == "-0" else whole


def _number(text: str) -> str:
    plain = format(Decimal(text), "f")
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain in ("-0", "") else plain


# ------------------------------------------------------------------------------------------------ answers in sentences


_LOOK_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХасеорѕіјхуΑΒΕΖΗΙΚΜΝΟΡΤΥΧοα",
    "ABESIJKMHOPCTYXaceopsijxyABEZHIKMNOPTYXoa",
)
"""Cyrillic and Greek letters in the place of the Latin ones that they look like."""
_NEXT = r"(?=[^\w]*(?P<said>\w[\w.,/%-]*))"
_NOUN = r"(?:answer|choice|option|verdict|vote|winner|pick)"
_STATED = re.compile(rf"\b{_NOUN}\b(?P<strong>[^\w]*(?:is|was|:|=|would be)|){_NEXT}", re.IGNORECASE)
_OWN = re.compile(
    r"\b(?:(?:I|we)(?:\s*['’]\s*(?:d|ll|m)|\s+(?:would|will|am|must|shall|do|still|now|therefore|also|thus|finally|instead))*\s+"
    r"(?:choose|pick|select|vote|go|going|answer|say|think|believe|prefer|keep|stick|stay|stand|maintain|settle|conclude)\b"
    rf"(?:\s+(?:for|with|to|by|on|that|it|it's|is|the|my|should|be|{_NOUN})\b)*"
    r"|(?:I|we)\b[^.!?;\n]{0,20}\b(?:change|switch|revise|update)\b[^.!?;\n]{0,30}?\bto"
    rf"(?:\s+(?:the|{_NOUN})\b)*"
    rf"|(?:my|our)\s+(?:(?:own|final|new|current|revised)\s+)*{_NOUN}\b\s*"
    rf"(?:is|stays|remains|goes to|would be|:|=)){_NEXT}",
    re.IGNORECASE,
)
"""What the writer says of the own answer: "I choose", "I'd go with", "my answer is"."""
_FINAL = re.compile(rf"\bfinal\s+{_NOUN}\b[^\w]*(?:is|:|=|would be|){_NEXT}", re.IGNORECASE)
_FORMAL = re.compile(r"\[\[[ \t]?(?P<said>\w{1,40})[ \t]?\]\]|\\boxed\{[ \t]?(?P<box>\w{1,40})[ \t]?\}")
"""The forms that prompts ask for, which nobody uses by chance: ``[[A]]`` and a box."""
_OTHERS = re.compile(
    r"\b(?:agent|judge|debater|advocate|panelist|player|expert|participant|juror|reviewer|rater)s?[ _#-]*[0-9]+"
    r"|\b[a-z]{1,8}[_-]?[0-9]+\b"
    r"|\b(?:others?|another|peers?|colleagues?|opponents?|everyone|somebody|someone|majority|they|their|he|she|his|her|you|your"
    r"|whose|according to)\b"
    rf"|\w['’]s?\s+(?:\w+\s+)?{_NOUN}\b"
    r"|(?<!\bI )\b(?:says|said|saying|claims|claimed|argues|argued|thinks|thought|believes|believed|suggests|suggested"
    r"|states|stated|writes|wrote|answers|answered|insists|votes|voted|chose|chooses|picks|picked)\b",
    re.IGNORECASE,
)
"""Words after which an answer is that of another agent, up to the end of the part of the sentence."""
_AGREEMENT = re.compile(
    r"\bI\s+(?:\w+\s+){0,2}(?:agree|concur)\b|\b(?:is|are)\s+(?:right|correct)\b|\b(?:convinced|persuaded)\b",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"[.!?;](?=\s|$)|\n|\b(?:but|however|therefore|hence|thus|nevertheless|so|although|though|while|whereas|because|since)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“][^\"“”]*\s[^\"“”]*[\"”]|(?<!\w)['‘][^'‘’]*\s[^'‘’]*['’](?!\w)")
_SPEAKER = re.compile(
    r"^\W*(?:agent|judge|debater|panelist|player|juror)[ _#-]*\w{1,12}\s*:\s*", re.IGNORECASE
)
_DENIAL = re.compile(
    r"\b(?:not|neither|nor|isn|aren|wasn|disagree\w*|wrong|incorrect|reject\w*|rather than|instead of"
    r"|if|whether|unless)\b|n['’]t",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"\W{0,3}\s*(?:is|are|was|looks|seems)(?:n['’]t|\s+(?:\w+\s+)?(?:not|wrong|incorrect|false))\b",
    re.IGNORECASE,
)
_WORDS = {
    word: str(number)
    for number, word in enumerate(
        (
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
        )
    )
}
_NEGATIVE = re.compile(r"\s*[-−]\s*[0-9.,]+\s*")
_LONGEST_STATEMENT = 200
"""Longer texts are reasons, out of which no answer is taken."""


def stated_answer(text: str, answers: Collection[str], *, anywhere: bool = True) -> str | None:
    """Return the one of `answers` that a text states in other words; None where it states none, or several.

    A text may write the answer in full-width, Cyrillic or Greek letters, in lower case, in brackets, or as a number in
    words. It may also be a sentence. The answer then follows "I choose", "my answer is" or "the answer is", or it is
    the only one among the words. An answer that the text gives to another agent is never taken, and two different
    answers are none, unless one is called final.

    Parameters
    ----------
    text : str
        What was recorded as a vote.
    answers : collection of str
        The answers that there are.
    anywhere : bool
        Whether an answer may be anywhere in a sentence; without, only in a statement or alone.

    Returns
    -------
    str or None

    Examples
    --------
    >>> [stated_answer(text, ("A", "B", "C")) for text in ("c", "(C)", "The answer is B.", "Ａ", "either A or B")]
    ['C', 'C', 'B', 'A', None]
    >>> stated_answer("I'd go with A, although agent 2 says the answer is B.", ("A", "B"))
    'A'
    >>> stated_answer("forty", ("4", "7")), stated_answer("four", ("4", "7"))
    (None, '4')
    """
    return answer_said(text, answers, anywhere=anywhere)[0]


def answer_said(
    text: str, answers: Collection[str], *, anywhere: bool = True
) -> tuple[str | None, frozenset[str]]:
    """Return the answer that a text states, see :func:`stated_answer`, and all answers that it names."""
    if text in answers:
        return text, frozenset({text})
    known: dict[str, str | None] = {}
    for answer in answers:
        form = _form_of(answer)
        known[form] = None if form in known else answer  # two answers of one form are told apart by nothing
    formal = {known.get(_form_of(found["said"] or found["box"])) for found in _FORMAL.finditer(text)} - {None}
    if len(formal) == 1:
        return formal.copy().pop(), frozenset(filter(None, formal))
    if len(text) > _LONGEST_STATEMENT or _NEGATIVE.fullmatch(text):
        return None, frozenset()
    plain_text = unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKE)
    whole = _form_of(plain_text)
    whole = whole if whole in known else _WORDS.get(whole, whole)
    if whole in known:
        return known[whole], frozenset(filter(None, [known[whole]]))
    plain_text = _QUOTED.sub(" ", _SPEAKER.sub("", plain_text.strip("\"'“”‘’ ")))
    said = _Statements.of(plain_text, known)
    named = said.named | said.others | _among_words(plain_text, known)
    for several in (said.final, said.firm, said.loose):
        if several:
            return (next(iter(several)) if len(several) == 1 else None), frozenset(named)
    if not anywhere or len(named) != 1 or said.others or _DENIAL.search(plain_text):
        return None, frozenset(named)
    return next(iter(named)), frozenset(named)


@dataclass(frozen=True)
class _Statements:
    """The answers in the statements of a text, by how firmly they are the writer's, and those of others."""

    final: set[str]
    firm: set[str]
    loose: set[str]
    others: set[str]

    @property
    def named(self) -> set[str]:
        return self.final | self.firm | self.loose

    @classmethod
    def of(cls, text: str, known: Mapping[str, str | None]) -> _Statements:
        """Read a text of at most :data:`_LONGEST_STATEMENT` characters, part of a sentence by part."""
        read = cls(set(), set(), set(), set())
        begin = 0
        for end in (*(found.start() for found in _PARTS.finditer(text) if found.start()), len(text)):
            read._part(text[begin:end], known)
            begin = end
        return read

    def _part(self, part: str, known: Mapping[str, str | None]) -> None:
        agrees = _AGREEMENT.search(part) and not _DENIAL.search(part)
        other = None if agrees else _OTHERS.search(part)
        first = other.start() if other else len(part)
        if other:
            self.others.update(_among_words(part[first:], known, capitals=False))
        for pattern in (_FINAL, _OWN, _STATED):
            for found in pattern.finditer(part):
                answer = _answer_after(found, known)
                if answer is None:
                    continue
                own = pattern is _OWN and not part[first : found.start()].rstrip().endswith(":")
                denied = _DENIAL.search(part[: found.start()].rpartition(",")[2])
                denied = denied or _DENIED_AFTER.match(part, found.end("said"))
                if denied or (found.start() > first and not own):
                    self.others.add(answer)
                elif pattern is _FINAL:
                    self.final.add(answer)
                elif own or found["strong"]:
                    self.firm.add(answer)
                else:
                    self.loose.add(answer)
        self.others.difference_update(self.named)


def _answer_after(found: re.Match[str], known: Mapping[str, str | None]) -> str | None:
    """Return the answer that directly follows a statement, so that "the answer is not B" says nothing."""
    word = found["said"]
    if word == "a" and re.match(r"\s+[a-z]", found.string[found.end("said") :]):
        return None  # an article
    return known.get(_form_of(word))


def _among_words(text: str, known: Mapping[str, str | None], *, capitals: bool = True) -> set[str]:
    """Return the answers among the words of a text."""
    said = {form for form in map(_form_of, re.findall(r"\w[\w./%-]*", text)) if form in known}
    # A letter is an answer in capitals or brackets. "I", and "A" where a sentence begins, may be a word or an answer.
    letters = set(map(_form_of, re.findall(r"\b[B-HJ-Z]\b|\(\w\)|\[\w\]|\*\*\w\*\*", text)))
    maybe = set(map(_form_of, re.findall(r"\b[AI]\b", text)))
    begins = set(map(_form_of, re.findall(r"(?:^|[.!?]\s+)(A|I)\b", text))) if capitals else set()
    said = {form for form in said if len(form) > 1 or form.isdigit() or form in letters | maybe}
    if said <= begins or said <= {"i"}:
        return set()
    return {answer for form in said if (answer := known[form]) is not None}


def statement_in(text: str, width: int = 90) -> str:
    """Return the part of a text that tells its answer, for an example: all of a short text."""
    if len(text) <= width:
        return text
    found = next((m for p in (_FORMAL, _FINAL, _OWN, _STATED) if (m := p.search(text))), None)
    begin = 0 if found is None else max(0, min(found.start() - width // 3, len(text) - width))
    return text[begin : begin + width].strip()


def _form_of(text: str) -> str:
    """Return a text without signs around it, in lower case, in Latin letters."""
    plain_text = unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKE)
    return re.sub(r"^\W+|[^\w%]+$", "", plain_text).casefold()
