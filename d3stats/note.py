"""Notes on how a source was read or a number computed: a sentence for people, with values for code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

__all__ = [
    "FIRST_SHEET",
    "INSPECT",
    "MISSING_VALUES",
    "SPELLINGS",
    "UNREAD_CONFIDENCE",
    "UNREAD_LABEL",
    "UNREAD_SCORES",
    "Note",
    "Severity",
    "above_and_below",
    "around",
    "kind_of",
    "note_values",
    "sentence_of",
    "severity_of",
    "unread",
    "warning",
    "with_words",
    "without_column",
    "worst_first",
]

Severity = Literal["note", "warning"]


class Note(str):
    """A sentence that carries what it is about, so that no code has to read the sentence.

    Parameters
    ----------
    text : str
        The sentence; that of a warning begins with ``WARNING:`` when it is printed.
    kind : str
        What kind of thing was noticed, "unread columns" and so on.
    severity : {"note", "warning"}
        Whether numbers above may be wrong.
    about : str
        The log, column, rule or persona; "" for all.
    n : int, optional
        How many records or values.
    examples : iterable of str
        Some of them.

    Examples
    --------
    >>> note = Note("3 of 20 votes equal no answer", kind="strange votes", severity="warning", n=3)
    >>> print(note)
    WARNING: 3 of 20 votes equal no answer
    >>> note.kind, note.n
    ('strange votes', 3)
    """

    kind: str
    severity: Severity
    about: str
    n: int | None
    examples: tuple[str, ...]
    sentence: str
    """The text without the word of its severity."""

    def __new__(
        cls,
        text: str,
        *,
        kind: str = "",
        severity: Severity = "note",
        about: str = "",
        n: int | None = None,
        examples: Iterable[str] = (),
    ) -> Note:
        self = super().__new__(cls, f"WARNING: {text}" if severity == "warning" else text)
        self.kind, self.severity, self.about = kind, severity, about
        self.n, self.examples, self.sentence = n, tuple(examples), text
        return self

    def __getnewargs__(self) -> tuple[str]:
        return (str(self),)  # the attributes follow as the state of the object


def warning(
    text: str, kind: str, *, about: str = "", n: int | None = None, examples: Iterable[str] = ()
) -> Note:
    """Return a note with the severity "warning".

    Examples
    --------
    >>> warning("no vote equals any label", "no vote is a label")
    'WARNING: no vote equals any label'
    """
    return Note(text, kind=kind, severity="warning", about=about, n=n, examples=examples)


def severity_of(note: str) -> Severity:
    """Return the severity of a note; that of a plain text is "note".

    Examples
    --------
    >>> severity_of(Note("no vote equals any label", severity="warning")), severity_of("few clusters")
    ('warning', 'note')
    """
    return note.severity if isinstance(note, Note) else "note"


def kind_of(note: str) -> str:
    """Return what kind of thing a note tells; "" of a plain text.

    Examples
    --------
    >>> kind_of(Note("3 of 20 votes are missing", kind="missing values")), kind_of("few clusters")
    ('missing values', '')
    """
    return note.kind if isinstance(note, Note) else ""


def sentence_of(note: str) -> str:
    """Return a note without the word of its severity.

    Examples
    --------
    >>> sentence_of(warning("no vote equals any label", "no vote is a label"))
    'no vote equals any label'
    """
    return note.sentence if isinstance(note, Note) else note


def with_words(note: str, before: str = "", after: str = "") -> str:
    """Return a note with words before or after it, which is still of its kind and severity.

    Examples
    --------
    >>> note = with_words(warning("no vote equals any label", "no vote is a label"), "run b: ", ".")
    >>> print(note)
    run b: WARNING: no vote equals any label.
    >>> severity_of(note), sentence_of(note)
    ('warning', 'run b: no vote equals any label.')
    """
    text = f"{before}{note}{after}"
    if not isinstance(note, Note):
        return text
    told = str.__new__(Note, text)
    told.__dict__.update(note.__dict__, sentence=f"{before}{note.sentence}{after}")
    return told


def worst_first(notes: Iterable[str]) -> list[str]:
    """Return notes with the warnings before the others, each in the order in which it was made.

    Parameters
    ----------
    notes : iterable of str
        Plain sentences are no warnings.

    Returns
    -------
    list of str

    Examples
    --------
    >>> worst_first(["few clusters", warning("no vote equals a label", "no vote is a label")])
    ['WARNING: no vote equals a label', 'few clusters']
    """
    return sorted(notes, key=lambda note: severity_of(note) != "warning")


def around(lines: Sequence[str], notes: Iterable[str], answer: int = 1) -> list[str]:
    """Return the lines of a text with the warnings after its first lines, the answer, and the other notes at its end.

    Examples
    --------
    >>> around(["A wins.", "0.7"], ["few clusters", warning("no vote equals a label", "no vote is a label")])
    ['A wins.', 'WARNING: no vote equals a label', '0.7', 'note: few clusters']
    """
    warned, others = above_and_below(notes)
    return [*lines[:answer], *warned, *lines[answer:], *others]


def above_and_below(notes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the lines above the tables, the warnings, and those below them."""
    told = list(notes)
    warned = [note for note in told if severity_of(note) == "warning"]
    return warned, [f"note: {note}" for note in told if severity_of(note) != "warning"]


def note_values(notes: Iterable[str]) -> list[dict[str, Any]]:
    """Return notes as JSON has them: each once, the warnings first; a field without a value is left out.

    Examples
    --------
    >>> note_values(["few clusters", warning("3 votes are odd", "odd votes", n=3, examples=["x"])])[0]
    {'text': '3 votes are odd', 'severity': 'warning', 'kind': 'odd votes', 'count': 3, 'examples': ['x']}
    >>> note_values(["few clusters"])
    [{'text': 'few clusters', 'severity': 'note'}]
    """
    return [_value(note) for note in worst_first(dict.fromkeys(notes))]


def _value(note: str) -> dict[str, Any]:
    value: dict[str, Any] = {"text": sentence_of(note), "severity": severity_of(note)}
    if isinstance(note, Note):
        more = {"kind": note.kind, "about": note.about, "count": note.n, "examples": list(note.examples)}
        value |= {name: each for name, each in more.items() if each not in ("", None, [])}
    return value


FIRST_SHEET = "first sheet"
INSPECT = "a log of Inspect"
MISSING_VALUES = "missing values"
SPELLINGS = "spellings"
UNREAD = "unread columns"
UNREAD_LABEL = "a column that may be the label"
UNREAD_SCORES = "unread scores"
UNREAD_CONFIDENCE = "unread confidence"
_SHOWN = 8


def unread(columns: Iterable[str]) -> list[Note]:
    """Return a note that names the columns that were not read, since one of them may be the cluster.

    Examples
    --------
    >>> print(*unread(["task", "seed"]))
    columns that were not read: task, seed
    >>> unread([])
    []
    """
    names = [name or "(unnamed)" for name in columns]
    if not names:
        return []
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    text = f"columns that were not read: {', '.join(names[:_SHOWN])}{more}"
    return [Note(text, kind=UNREAD, n=len(names), examples=names)]


def without_column(notes: Iterable[str], column: str) -> list[str]:
    """Return notes without a column among those that were not read, because it was read after all.

    Examples
    --------
    >>> without_column([*unread(["task", "seed"]), "few clusters"], "task")
    ['columns that were not read: seed', 'few clusters']
    """
    kept: list[str] = []
    for note in notes:
        if isinstance(note, Note) and note.kind == UNREAD:
            kept += unread(name for name in note.examples if name != column)
        else:
            kept.append(note)
    return kept
