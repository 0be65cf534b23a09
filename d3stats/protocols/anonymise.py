"""Take the names of systems out of what others will read.

D3 anonymises arguments before they enter the record, so that nobody is swayed by their source (2.1, 2.3). Speakers
have neutral names from the start; what is left is a text that names its author. The question is left as it was
asked.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace

from d3stats.agents.request import Case, Message

__all__ = ["HIDDEN", "anonymise", "anonymous_case", "without_names"]

HIDDEN = "[model]"
"""What stands where a name was."""

_JOINTS = re.compile(r"[\s_\-\u2010-\u2015.]+")
_JOINT = r"[\s_\-\u2010-\u2015.]?"


def without_names(text: str, names: tuple[str, ...]) -> str:
    """Replace the names of systems in a text by ``"[model]"``.

    Names are whole words and any case; the longest that fits is taken. A space, a dash, a dot or nothing may stand
    where the name has one of them. Of ``"host/name:tag"`` the name alone is looked for, too. A name of one
    letter is left alone, because candidates have such names.

    Parameters
    ----------
    text : str
    names : tuple of str

    Examples
    --------
    >>> without_names("As GPT 4, unlike gpt-4-turbo and Egpt-4, I know.", ("gpt-4", "gpt-4-turbo"))
    'As [model], unlike [model] and Egpt-4, I know.'
    """
    pattern = _pattern(names)
    return text if pattern is None else pattern.sub(HIDDEN, text)


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
    spelled = {short for name in names for short in (name.strip(), *_shorter(name))}
    known = sorted(
        (name for name in spelled if sum(map(str.isalnum, name)) > 1), key=lambda name: (-len(name), name)
    )
    if not known:
        return None
    written = (_JOINT.join(re.escape(part) for part in _JOINTS.split(name) if part) for name in known)
    # What is hidden already is matched first and stays, so that hiding twice is hiding once.
    return re.compile(rf"{re.escape(HIDDEN)}|(?<!\w)(?:{'|'.join(written)})(?!\w)", re.IGNORECASE)


def _shorter(name: str) -> tuple[str, ...]:
    """Of "host/name:tag": "name:tag" and "name"."""
    last = name.strip().rpartition("/")[2]
    return last, last.partition(":")[0]
