"""Take the names of systems out of what others will read.

D3 anonymises arguments before they enter the record, so that nobody is swayed by their source (2.1, 2.3). Speakers
have neutral names from the start; what is left is a text that names its author. The question is left as it was
asked.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace

from d3stats._words import HIDDEN as UNSEEN
from d3stats.agents.request import Case, Message

__all__ = ["HIDDEN", "anonymise", "anonymous_case", "without_names"]

HIDDEN = "[model]"
"""What stands where a name was."""

_DASH = r"_\-\u2010-\u2015\u2043\u2212"
_JOINTS = re.compile(rf"[\s.{_DASH}]+")
# A dot with a blank ends a sentence, and an empty line a paragraph: neither is inside of a name.
_JOINT = rf"(?:\.|\s?[{_DASH}]{{1,4}}\s?|\s)?"
_NUMBERED = re.compile(r"(?<=[^\W\d_]{3})(?=\d)")
_UNSEEN = re.compile(rf"{UNSEEN.pattern}|[\ufe00-\ufe0f]")


def without_names(text: str, names: tuple[str, ...]) -> str:
    r"""Replace the names of systems in a text by ``"[model]"``.

    Names are whole words and any case; the longest that fits is taken. A space, a dash or some, an underscore, a dot
    or nothing may stand where the name has one of them, and before a number. Letters of another width or form count
    as the plain ones, and what cannot be seen as nothing. Of ``"host/name:tag"`` the name alone is looked for, too. A
    name of one letter is left alone, because candidates have such names.

    Parameters
    ----------
    text : str
    names : tuple of str

    Examples
    --------
    >>> without_names("As GPT 4, unlike gpt-4-turbo and Egpt-4, I know.", ("gpt-4", "gpt-4-turbo"))
    'As [model], unlike [model] and Egpt-4, I know.'
    >>> without_names("G\u00adPT\u200b--4 and _claude3_", ("gpt-4", "claude-3"))
    '[model] and _[model]_'
    """
    pattern = _pattern(names)
    if pattern is None:
        return text
    plain, starts = _plain(text)
    kept, done = [], 0
    for match in pattern.finditer(plain):
        if match[0] == HIDDEN:
            # Hidden already, and matched first: hiding twice is hiding once.
            continue
        start, end = (
            (match.start(), match.end())
            if starts is None
            else (starts[match.start()][0], starts[match.end() - 1][1])
        )
        kept += [text[done:start], HIDDEN]
        done = end
    return "".join([*kept, text[done:]])


def anonymise(messages: Iterable[Message], names: tuple[str, ...]) -> tuple[Message, ...]:
    """Return the messages with neutral speakers and without the names of systems.

    Examples
    --------
    >>> said = Message("advocate", 1, "Claude is right.", side="A")
    >>> anonymise([said], ("claude",))[0].text
    '[model] is right.'
    """
    return tuple(
        replace(
            message, speaker=without_names(message.speaker, names), text=without_names(message.text, names)
        )
        for message in messages
    )


def anonymous_case(case: Case) -> Case:
    """Return the case as jurors read it: candidates without the names of systems, the question as asked.

    Examples
    --------
    >>> case = Case("1", "q", "What is Claude?", ("A", "B"), ("I am Claude.", "A model."), "A", ("claude",))
    >>> anonymous_case(case).candidates, anonymous_case(case).text
    (('I am [model].', 'A model.'), 'What is Claude?')
    """
    return replace(case, candidates=tuple(without_names(text, case.names) for text in case.candidates))


@functools.lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    plain = [_plain(name)[0].strip() for name in names]
    spelled = {short for name in plain for short in (name, *_shorter(name))}
    known = sorted(
        (name for name in spelled if sum(map(str.isalnum, name)) > 1), key=lambda name: (-len(name), name)
    )
    if not known:
        return None
    written = (
        _JOINT.join(
            re.escape(part) for joined in _JOINTS.split(name) for part in _NUMBERED.split(joined) if part
        )
        for name in known
    )
    return re.compile(rf"{re.escape(HIDDEN)}|(?<![^\W_])(?:{'|'.join(written)})(?![^\W_])", re.IGNORECASE)


def _shorter(name: str) -> tuple[str, ...]:
    """Of "host/name:tag": "name:tag" and "name"."""
    last = name.rpartition("/")[2]
    return last, last.partition(":")[0]


def _plain(text: str) -> tuple[str, list[tuple[int, int]] | None]:
    """Return a text in plain letters (NFKC) without what is not seen, and the place of each of them in the original.

    The places are None where the text is plain as it is.
    """
    if unicodedata.is_normalized("NFKC", text) and not _UNSEEN.search(text):
        return text, None
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for start, end, cluster in _clusters(text):
        plain = unicodedata.normalize("NFKC", cluster)
        letters.append(plain)
        places += [(start, end)] * len(plain)
    return "".join(letters), places


def _clusters(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield what is seen: a character with the marks on it, and where it begins and ends."""
    start, end, cluster = 0, 0, ""
    for at, character in enumerate(text):
        if _UNSEEN.match(character):
            continue
        if cluster and unicodedata.combining(character):
            cluster, end = cluster + character, at + 1
            continue
        if cluster:
            yield start, end, cluster
        start, end, cluster = at, at + 1, character
    if cluster:
        yield start, end, cluster
