"""Text for people: numbers in sentences, and unknown text made safe to show.

Candidates and models write what they like: colour codes that hide a line, marks that turn the reading direction,
letters without a width, tags that only a model reads. None of it is removed; each is shown as its escape.
"""

from __future__ import annotations

import inspect
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Write how many there are of something, in the singular or in the plural.

    Examples
    --------
    >>> counted(1, "debate"), counted(1200, "debate"), counted(2, "entry", "entries")
    ('1 debate', '1,200 debates', '2 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def setting(name: str, value: str, option: str | None = None) -> str:
    """Write how to set an argument: in Python, and as an option of the command line.

    Examples
    --------
    >>> setting("by", "question"), setting("round_number", "...", "round")
    ('by="question" (--by question)', 'round_number=... (--round ...)')
    """
    quoted = value if value == "..." else f'"{value}"'
    return f"{name}={quoted} (--{option or name} {value})"


def line_of(file: str, line: int) -> str:
    """Write the place of a row: the file, and its line, or its row in a Parquet file.

    Examples
    --------
    >>> line_of("a.csv", 3), line_of("a.parquet", 3)
    ('a.csv, line 3', 'a.parquet, row 3')
    """
    return f"{file}, {'row' if file.endswith('.parquet') else 'line'} {line}"


class Advised(str):
    """A message that knows its parts: the requirement, what was got, and what to do.

    Attributes
    ----------
    requirement, got, step : str
        What must be, what is in its place, and what to do about it; "" where the message does not say.

    Examples
    --------
    >>> message = Advised("a column must occur once", "rename one of them", ": ", got="'vote' twice")
    >>> print(message)
    a column must occur once; got 'vote' twice: rename one of them
    >>> message.got, message.step
    ("'vote' twice", 'rename one of them')
    """

    requirement: str
    got: str
    step: str

    def __new__(cls, requirement: str, step: str = "", joint: str = "; ", *, got: str = "") -> Advised:
        """Join the parts; of what was got at most 600 characters are kept, in one line."""
        got = visible(got, one_line=True)
        got = got if len(got) <= 600 else f"{got[:600]} [cut]"
        wrong = f"{requirement}; got {got}" if got else requirement
        return cls._of_parts(f"{wrong}{joint}{step}" if step else wrong, requirement, got, step)

    @classmethod
    def _of_parts(cls, text: str, requirement: str, got: str, step: str) -> Advised:
        """Return a text with its parts."""
        made = super().__new__(cls, text)
        made.requirement, made.got, made.step = requirement, got, step
        return made

    def _after(self, words: str) -> Advised:
        """Return the same message after some words, such as the name of a log."""
        return self._of_parts(f"{words}{self}", f"{words}{self.requirement}", self.got, self.step)

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive copies and the way back from a worker process."""
        return self._of_parts, (str(self), self.requirement, self.got, self.step)


def missing_extra(needs: str, extra: str, error: ImportError) -> Advised:
    """Write in one line what an optional package is needed for, and how to install it from an index or a checkout.

    Double quotes work in every shell, those of Windows among them.

    Examples
    --------
    >>> absent = ModuleNotFoundError("No module named 'distributed'", name="distributed")
    >>> said, command = missing_extra("a cluster needs distributed", "scale", absent).split(": ", 1)
    >>> said
    'a cluster needs distributed; got no distributed'
    >>> print(command)
    pip install "d3stats[scale]" (in a checkout: pip install ".[scale]")
    """
    named = isinstance(error, ModuleNotFoundError) and error.name
    got = f"no {error.name}" if named else " ".join(str(error).split())
    step = f'pip install "d3stats[{extra}]" (in a checkout: pip install ".[{extra}]")'
    return Advised(needs, step, ": ", got=got)


def p_text(p: float) -> str:
    """Write a p-value with three digits after the point, and one that these do not show as below .001.

    Examples
    --------
    >>> p_text(0.3014), p_text(4.92e-05)
    ('0.301', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def said_p(p: float) -> str:
    """Write a p-value in a sentence.

    Examples
    --------
    >>> said_p(0.3014), said_p(4.92e-05)
    ('p = 0.301', 'p < 0.001')
    """
    return f"p = {p_text(p)}".replace("= <", "< ")


def likely(p: float) -> str:
    """Write a probability under a model with two digits; one that these show as 1 is above .99, not certain.

    Examples
    --------
    >>> likely(0.944), likely(0.9994)
    ('0.94', '>0.99')
    """
    shown = f"{p:z.2f}"
    return ">0.99" if shown == "1.00" else shown


def verb(count: int, singular: str, plural: str) -> str:
    """Return the verb that goes with a number.

    Examples
    --------
    >>> verb(1, "has", "have"), verb(0, "has", "have")
    ('has', 'have')
    """
    return singular if count == 1 else plural


HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, all but tab and newline
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # without a width
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, direction, separators
    "\ud800-\udfff"  # halves of a pair
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef"  # tags, and selectors that can spell a text
    "]"
)
"""A character that acts or hides; joiners are among them."""

# Scripts that are spelled with joiners: Hebrew and Arabic to Myanmar, Khmer, Mongolian, and their kin.
_JOINED = re.compile(
    r"[\u0590-\u109f\u1700-\u1cff\ua800-\uabff\ufb1d-\ufdff\ufe70-\ufefe"
    r"\U00010800-\U00011fff\U0001e900-\U0001e95f]"
)
_EMOJI = re.compile(r"[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]")


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return `text` with every character that acts or hides written as its escape; newline and tab stay.

    Escaped are C0 and C1 controls, marks of reading direction, characters without a width, line and paragraph
    separators, tags (U+E0000 to U+E007F) and lone surrogates. With `one_line` newline and tab too, as names
    need it. A text without any comes back unchanged. A carriage return before a newline is part of the line
    end and goes with it. Joiners (U+200C, U+200D) stay where they spell: one alone, inside a word of a script
    that needs them (Persian, Hindi), or U+200D between two emoji.

    Examples
    --------
    >>> print(visible("plain \x1b[2J and \u202eturned\u202c, a b"))
    plain \x1b[2J and \u202eturned\u202c, a b
    >>> visible("naïve 日本語\r\nنعم") == "naïve 日本語\nنعم"
    True
    >>> visible("می\u200cروم") == "می\u200cروم", visible("pass\u200cword")
    (True, 'pass\\u200cword')
    """
    shown = HIDDEN.sub(_escape, text.replace("\r\n", "\n"))
    return shown.replace("\n", "\\n").replace("\t", "\\t") if one_line else shown


def visible_json(text: str) -> str:
    r"""Return a JSON document with every character that acts or hides as JSON spells it; its values stay the same.

    Examples
    --------
    >>> print(visible_json('{"name": "a\u202eb\x9b"}'))
    {"name": "a\u202eb\u009b"}
    """
    return HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f"), text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code in (0x200C, 0x200D) and _spells(match.string, match.start()):
        return match[0]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _spells(text: str, at: int) -> bool:
    """Whether the joiner at this place is part of how a word or an emoji is written."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or not after or HIDDEN.match(before) or HIDDEN.match(after):
        return False
    if text[at] == "\u200d" and _EMOJI.match(before) and _EMOJI.match(after):
        return after != "\ufe0f"
    spelled = all(unicodedata.category(side)[0] in "LMN" for side in (before, after))
    return spelled and any(_JOINED.match(side) for side in (before, after))


def storable(text: str) -> str:
    r"""Put U+FFFD for each half of a surrogate pair, which a server may send and no file in UTF-8 can hold.

    Examples
    --------
    >>> storable("naïve \ud83d") == "naïve \ufffd"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def has_half(text: str) -> bool:
    r"""Whether a text has half of a surrogate pair, which is no character.

    Examples
    --------
    >>> has_half("naïve \ud83d"), has_half("naïve")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


CUT = " [cut]"
"""The end of a text that was cut."""


def cut(text: str, longest: int) -> str:
    r"""Cut a text where it needs more than so many bytes of UTF-8 to be shown, at a whole character, and say so.

    Invisible characters are written out, and their written form counts towards the length, so that no reader
    gets more text.

    Parameters
    ----------
    text : str
        As it was said.
    longest : int
        Bytes that it may need.

    Returns
    -------
    str
    str

    Examples
    --------
    >>> cut("short", 100), cut("much too long", 6)
    ('short', 'much t [cut]')
    >>> cut("soft\u00adhyphen", 14) == "soft\u00adhyphen", cut("soft\u00adhyphen", 10) == "soft\u00adhy [cut]"
    (True, True)
    """
    if _shown_bytes(text) <= longest:
        return text
    kept, too_many = 0, min(len(text), longest) + 1
    while too_many - kept > 1:
        middle = (kept + too_many) // 2
        kept, too_many = (middle, too_many) if _shown_bytes(text[:middle]) <= longest else (kept, middle)
    return text[:kept] + CUT


def _shown_bytes(text: str) -> int:
    return len(visible(text).encode())


_OF_OPTIONS = {
    "rng must be >= 0 when it is a seed; got rng=": "--seed must be >= 0; got ",
    "roles must ": "--role must ",
    "round_number must ": "--round must ",
}


def by_option(message: str) -> str:
    """Begin a refusal with the name of an option, where the argument of Python has another name.

    Examples
    --------
    >>> by_option("roles must occur in the log; got ['nobody']")
    "--role must occur in the log; got ['nobody']"
    """
    for start, written in _OF_OPTIONS.items():
        if message.startswith(start):
            return written + message.removeprefix(start)
    return message


def duration(seconds: float) -> str:
    """Return a time in its largest unit.

    Examples
    --------
    >>> duration(0.4), duration(95), duration(3600 * 2.6)
    ('1 s', '2 min', '2.6 h')
    """
    if seconds < 90:
        return f"{max(seconds, 1):z.0f} s"
    return f"{seconds / 60:z.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:z.1f} h"


def percent(
    share: float,
    low: float | None = None,
    high: float | None = None,
    *,
    sign: bool = False,
    digits: int | None = None,
) -> str:
    """Write a share in percent with its limits, by default with one digit after the point below ten and else none.

    Examples
    --------
    >>> percent(0.424, 0.372, 0.468), percent(0.021), percent(0.5, None, None), percent(0.0012, 0.0, 0.02, sign=True)
    ('42 % [37, 47]', '2.1 %', '50 %', '+0.1 % [+0.0, +2.0]')
    """
    return _in_hundredths(share, low, high, " %", sign, digits)


def points(change: float, low: float | None = None, high: float | None = None, *, sign: bool = True) -> str:
    """Write a change of a share in percentage points with its limits.

    Examples
    --------
    >>> points(-0.001, -0.010, 0.010), points(0.02), points(0.0102, sign=False)
    ('-0.1 points [-1.0, +1.0]', '+2.0 points', '1.0 points')
    """
    return _in_hundredths(change, low, high, " points", sign, 1)


def counted_points(share: float) -> str:
    """Write a limit in percentage points.

    Examples
    --------
    >>> counted_points(0.01), counted_points(0.005)
    ('1 point', '0.5 points')
    """
    return f"{100 * share:.6g} point{'' if abs(100 * share - 1) < 1e-9 else 's'}"


def _in_hundredths(
    value: float, low: float | None, high: float | None, unit: str, sign: bool, digits: int | None
) -> str:
    size = abs(value) or max((abs(x) for x in (low, high) if x is not None and x == x), default=0.0)
    places = digits if digits is not None else int(0 < size < 0.0995)
    form = f"{'+' if sign else ''}z.{places}f"
    limits = ""
    if low is not None and high is not None and low == low and high == high:
        limits = f" [{100 * low:{form}}, {100 * high:{form}}]"
    return f"{100 * value:{form}}{unit}{limits}"


_MARKS = re.compile(r":\w+:`[~.]?([^`]+)`|`+([^`]+)`+|\*\*([^*]+)\*\*")
_SENTENCE = re.compile(r"(.*?\.)(?=\s+[A-Z\"(]|$)", re.DOTALL)


@cache
def parameter_texts(function: Callable[..., Any]) -> Mapping[str, str]:
    """Return the first sentence of each parameter's text in a numpydoc docstring, without markup.

    Examples
    --------
    >>> parameter_texts(cut), parameter_texts(storable)
    ({'text': 'As it was said.', 'longest': 'Bytes that it may need.'}, {})
    """
    lines = (inspect.getdoc(function) or "").splitlines()
    start = next((k for k, line in enumerate(lines) if line == "Parameters"), len(lines)) + 2
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line, after in zip(lines[start:], [*lines[start + 1 :], ""], strict=False):
        if after.startswith("---"):
            break
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.partition(" :")[0].split(",")]
            texts |= {name: [] for name in names}
        else:
            for name in names:
                texts[name].append(line.strip())
    return {name: first_sentence(" ".join(said)) for name, said in texts.items()}


def first_sentence(text: str) -> str:
    """Return the first sentence of a text in plain words.

    Examples
    --------
    >>> first_sentence("The rule, see :func:`d3stats.plan` and ``x``. More follows.")
    'The rule, see d3stats.plan and x.'
    """
    plain = _MARKS.sub(lambda found: next(part for part in found.groups() if part), " ".join(text.split()))
    found = _SENTENCE.match(plain)
    return found[0] if found else plain
