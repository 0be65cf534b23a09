"""Text of strangers made safe to show: what would act on a terminal, or hide from a reader, is written out.

Candidates and models write what they like: colour codes that hide a line, marks that turn the reading direction,
letters without a width, tags that only a model reads. None of it is removed; each is shown as its escape.
"""

from __future__ import annotations

import re

__all__ = ["storable", "visible"]

_HIDDEN = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, all but tab and newline
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # without a width
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, direction, separators
    "\ud800-\udfff"  # halves of a pair
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef"  # tags, and selectors that can spell a text
    "]"
)


def visible(text: str, *, one_line: bool = False) -> str:
    r"""Return `text` with every character that acts or hides written as its escape; newline and tab stay.

    Escaped are C0 and C1 controls, marks of reading direction, characters without a width, line and paragraph
    separators, tags (U+E0000 to U+E007F) and lone surrogates; with `one_line` newline and tab too, as names need it.
    A text without any comes back unchanged. A carriage return before a newline is part of the line end and goes
    with it.

    Examples
    --------
    >>> print(visible("plain \x1b[2J and \u202eturned\u202c, a b"))
    plain \x1b[2J and \u202eturned\u202c, a b
    >>> visible("naïve 日本語\r\nنعم") == "naïve 日本語\nنعم"
    True
    """
    shown = _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))
    return shown.replace("\n", "\\n").replace("\t", "\\t") if one_line else shown


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def storable(text: str) -> str:
    r"""Put U+FFFD for each half of a surrogate pair, which a server may send and no file in UTF-8 can hold.

    Examples
    --------
    >>> storable("naïve \ud83d") == "naïve \ufffd"
    True
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
