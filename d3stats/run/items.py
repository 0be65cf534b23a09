"""The items that are debated: a question with two candidate answers, or a question alone.

Items come from a table (any file that a log can be in, JSON, or a data frame) or from one of the public files that
the importers know (see :func:`read_items`). The right answer stays with the item; a :class:`~d3stats.agent.Case`,
which is what agents get, does not have it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from d3stats._check import choice, integer
from d3stats._words import Advised, cut, has_half, storable, visible
from d3stats.agent import Case
from d3stats.log.column_names import ITEM_NAMES, nearest_name, plain, resolve, to_type
from d3stats.log.files import find_files, no_file
from d3stats.log.importers import load
from d3stats.log.importers._source import flat_text, json_of
from d3stats.log.json_rows import flat_sheet, json_sheet
from d3stats.log.opening import open_bytes, unusable
from d3stats.log.problems import shortened
from d3stats.log.reader import iter_records, refuse_unread
from d3stats.log.sheets import Sheet
from d3stats.note import unread, warning
from d3stats.sources import open
from d3stats.sources.item_tables import sound
from d3stats.values import canonical_text, name_text

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.log.column_names import Columns
    from d3stats.log.schema import AnyRecord, Item

__all__ = [
    "FORMATS",
    "ORDERS",
    "ROLES",
    "DebateItem",
    "Identical",
    "Items",
    "Orders",
    "Planned",
    "placements",
    "read_items",
]

Identical = Literal["refuse", "keep"]
"""The treatment of two candidates of the same text, between which a debate cannot decide, or of an empty one."""

FORMATS = (
    *("table", "log", "pandalm", "llmbar", "eot", "gsm-nested", "critic-actor"),
    *("alignbench", "auto-j", "judgebench", "truthfulqa"),
)
"""Shapes of a source, for ``read_items(..., format=)``."""

ROLES = (
    *("question", "answer_a", "answer_b", "candidates", "response", "label", "answers", "id", "cluster"),
    *("category", "model_a", "model_b"),
)
"""Roles of the columns of a table of items, for ``read_items(..., columns=)``."""


@dataclass(frozen=True, slots=True)
class DebateItem:
    """An item to debate: a question, and two answers to judge if there are candidates.

    Attributes
    ----------
    question : str
        The item's identifier; made from a hash of the texts when empty.
    text : str
        The question as asked.
    candidates : tuple of str
        The two answers that are judged, named by the first two of `answers`; one response, which is scored by
        itself; empty when the question itself is to be answered.
    answers : tuple of str or None
        What may be voted for; ``("A", "B")`` by default when there are two candidates, else None: free words.
    label : str or None
        The right answer, by name; None when it is not known. It is never shown to an agent. A single response has
        none.
    cluster : str or None
        What is resampled together; None means the question.
    models : tuple of str
        The systems that wrote the candidates, so that their names can be kept from jurors; empty when unknown.
    allow_empty : bool
        Whether a candidate may be empty: a system that said nothing.
    category : str or None
        The kind of question, such as ``"coding"``; it goes into the log and changes nothing else.

    Raises
    ------
    ValueError
        When the text or a candidate is empty, there are more than two candidates, an answer occurs twice, the label
        is not among the answers, or a single response has answers or a label.

    Examples
    --------
    >>> item = DebateItem("q1", "Why is the sky blue?", ("Rayleigh scattering.", "It is not."), label="A")
    >>> item.answers, item.case("q1/AB", "A").first
    (('A', 'B'), 'A')
    >>> DebateItem("", "What is 2 + 2?", label="4").question
    'q:38d46ad36188'
    >>> record = item.item("q1/AB", "A", protocol="samre")
    >>> record.debate, record.label, record.first
    ('q1/AB', 'A', 'A')
    """

    question: str
    text: str
    candidates: tuple[str, ...] = ()
    answers: tuple[str, ...] | None = None
    label: str | None = None
    cluster: str | None = None
    models: tuple[str, ...] = field(default=(), compare=False)
    allow_empty: bool = field(default=False, compare=False, repr=False)
    category: str | None = None

    def __post_init__(self) -> None:
        for name in ("candidates", "models"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.answers is None and len(self.candidates) == 2:
            object.__setattr__(self, "answers", ("A", "B"))
        elif self.answers is not None:
            object.__setattr__(self, "answers", tuple(self.answers))
        object.__setattr__(self, "text", storable(self.text))
        object.__setattr__(self, "candidates", tuple(map(storable, self.candidates)))
        if not self.text.strip():
            raise ValueError(f"text must not be empty; got text={self.text!r} for question {self.question!r}")
        if not self.question:
            object.__setattr__(self, "question", item_id(self.text, self.candidates))
        self._check_candidates()
        self._write_in_one_form()
        self._check_answers()

    def _write_in_one_form(self) -> None:
        """Give names and answers the form in which a log is read, so that live and read votes meet alike."""
        answers = self.answers
        object.__setattr__(self, "question", name_text(self.question) or self.question)
        object.__setattr__(self, "cluster", name_text(self.cluster))
        object.__setattr__(self, "category", name_text(self.category))
        if self.label is not None and self.label.strip():
            object.__setattr__(self, "label", canonical_text(self.label, keep=answers or ()))
        if answers is not None:
            forms = tuple(canonical_text(answer, keep=answers) or answer for answer in answers)
            object.__setattr__(self, "answers", forms)

    def _check_candidates(self) -> None:
        if len(self.candidates) > 2:
            raise ValueError(
                "candidates must be two, one response or none; "
                f"got {len(self.candidates)} for question {self.question!r}"
            )
        if len(self.candidates) == 1 and not (self.answers is None and self.label is None):
            raise ValueError(
                "answers and label must be None for one response, which is scored and not voted for; got "
                f"answers={self.answers!r}, label={self.label!r} for question {self.question!r}"
            )
        for i, text in enumerate(self.candidates):
            if not text.strip() and not self.allow_empty:
                raise ValueError(
                    f"a candidate must not be empty; got {text!r} as the "
                    f"{('first', 'second')[i]} one of question {self.question!r}"
                )
        if self.models and len(self.models) != len(self.candidates):
            raise ValueError(
                f"models must be one per candidate ({len(self.candidates)}); got models={self.models!r} "
                f"for question {self.question!r}"
            )

    def _check_answers(self) -> None:
        answers = self.answers
        if answers is None:
            if self.label is not None and not self.label.strip():
                raise ValueError(
                    f"label must not be empty; got label={self.label!r} for question {self.question!r}"
                )
            return
        if len(set(answers)) < len(answers) or len(answers) < 2 or not all(a.strip() for a in answers):
            raise ValueError(
                f"answers must be two or more different names; got answers={answers!r} "
                f"for question {self.question!r}"
            )
        if self.label is not None and self.label not in answers:
            raise ValueError(
                f"label must be one of {', '.join(map(repr, answers))}; got label={self.label!r} "
                f"for question {self.question!r}"
            )

    @property
    def identical(self) -> bool:
        """Whether the two candidates are the same text, white space aside."""
        return len(self.candidates) == 2 and len({" ".join(text.split()) for text in self.candidates}) == 1

    @property
    def size(self) -> int:
        """The bytes of the question and its candidates."""
        return sum(len(text.encode(errors="replace")) for text in (self.text, *self.candidates))

    def case(self, debate: str, first: str | None = None) -> Case:
        """Return what agents may know of this item.

        Parameters
        ----------
        debate : str
            The debate's identifier.
        first : str, optional
            The candidate, or the option of a question without candidates, that is shown first; the first name by
            default. Without either it must be None.

        Raises
        ------
        ValueError
            When `first` is no name of a candidate or an option.
        """
        if not self.candidates:
            if first is not None and self.answers is None:
                raise ValueError(f"first must be None without candidates and options; got first={first!r}")
            return Case(debate, self.question, self.text, self.answers, first=first)
        if len(self.candidates) == 1:
            if first is not None:
                raise ValueError(f"first must be None for one response; got first={first!r}")
            return Case(debate, self.question, self.text, None, self.candidates, None, self.models)
        assert self.answers is not None
        shown = self.answers[0] if first is None else first
        return Case(debate, self.question, self.text, self.answers, self.candidates, shown, self.models)

    def item(
        self,
        debate: str,
        first: str | None = None,
        *,
        log: str | None = None,
        protocol: str | None = None,
        polling: str | None = None,
    ) -> Item:
        """Return the record that opens a debate of this item in a log."""
        from d3stats.log.schema import Item

        return Item(
            debate=debate,
            question=self.question,
            cluster=self.cluster,
            label=self.label,
            answers=self.answers,
            log=log,
            protocol=protocol,
            polling=polling,
            text=self.text,
            candidates=self.candidates or None,
            first=self.case(debate, first).first,
            category=self.category,
        )


def item_id(text: str, candidates: Sequence[str] = ()) -> str:
    """Name an item by its texts, so that the same item has the same name in every file."""
    parts = [" ".join(part.split()) for part in (text, *candidates)]
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", errors="replace")).hexdigest()
    return f"{('q', 'response', 'pair')[len(candidates)]}:{digest[:12]}"


class Items(list[DebateItem]):
    """Items as they were read: a list with notes on how.

    Parameters
    ----------
    items : iterable of DebateItem
    read : sequence of str
        Notes of the reader.
    unread : sequence of str
        Columns that were not read.

    Examples
    --------
    >>> items = Items([DebateItem("q1", "Why?", ("So.", "No."))])
    >>> items.notes
    ['WARNING: no item has a label, so accuracy cannot be measured']
    """

    def __init__(
        self, items: Iterable[DebateItem] = (), read: Sequence[str] = (), unread: Sequence[str] = ()
    ) -> None:
        super().__init__(items)
        self.read, self.unread = tuple(read), tuple(unread)

    @property
    def notes(self) -> list[str]:
        """Which column was taken for what, which were not read, and how many items have no label."""
        return [*self.read, *unread(self.unread), *_label_notes(self, self.unread)]


def notes_of(items: Iterable[DebateItem]) -> list[str]:
    """Return what must be known of items before they are debated, whether they were read from a file or made."""
    return items.notes if isinstance(items, Items) else _label_notes(list(items), ())


def _label_notes(items: Sequence[DebateItem], unread: Sequence[str]) -> list[str]:
    """Count the items without a label; a single response, which is scored, cannot have one."""
    judged = [item for item in items if len(item.candidates) != 1]
    without = sum(item.label is None for item in judged)
    if not without:
        return []
    if without < len(judged):
        return [
            f"items without a label: {without} of {len(judged)}; accuracy is measured on the other items only"
        ]
    text = "no item has a label, so accuracy cannot be measured"
    named = [name for name in unread if name]
    if named:
        known = (name for names in ITEM_NAMES["preference"] for name in names)
        column = nearest_name(known, named) or "COLUMN"
        text += f"; if a column holds the labels, say which it is with {to_type(label=column)}"
    return [warning(text, "no labels", n=without)]


def read_items(
    source: str | Path | pd.DataFrame | Iterable[DebateItem],
    *,
    format: str | None = None,
    identical: Identical = "refuse",
    empty: Identical = "refuse",
    ties: bool | None = None,
    limit: int | None = None,
    columns: Columns = None,
    encoding: str | None = None,
) -> Items:
    r"""Read the items that are to be debated.

    A table has one row per item: CSV (also with ``;``), TSV, JSON lines, a ``.json`` list of objects, XLSX, Parquet,
    each as a log is read, or a data frame. Columns are found by name, in upper or lower case, with ``_`` or spaces;
    notes name those that are not read:

    ==========  ==========================================================================================
    what        columns, the first that is there
    ==========  ==========================================================================================
    text        question, prompt, instruction (with input), query, question_text, text, input
    candidates  answer_a & answer_b, response_a & response_b, output_1 & output_2, and the like with
                response, answer, output, candidate, conversation, and _a & _b, 1 & 2, _1 & _2;
                or one column candidates: a list of texts, or an object of two, by A and B or by their systems
    response    response, in a table without these, label or answers: a single response, to be scored
    label       of candidates: label, winner, preference, preferred, gold; better, answer_key,
                correct_answer and the like, if the cells are labels; or a flag per outcome:
                winner_model_a, winner_model_b, winner_tie; model_a_score, model_b_score. For a question
                without candidates label, answer, gold, target, correct_answer and the like
    answers     answers, options, choices: what may be voted for, a list or JSON or a|b|c
    id          id, question_id, item, idx, qid; nr, no, number, index, if each item has its own number
    models      model_a & model_b, model_1 & model_2
    cluster     cluster, topic, group
    category    category
    ==========  ==========================================================================================

    A label of candidates is ``A``, ``B``, ``tie``, ``model_a``, ``response_b``, ``1``, ``2`` and the like, a model's
    name or a candidate's text. A label that could mean both candidates is refused. An empty cell is no label. Rows of
    the same texts are judgments of one item. Its label is the most frequent one, and None when two are equally
    frequent. Without an id an item is named by a hash of its texts. Pairs of one question are not independent; when no
    cluster is given, the cluster is a hash of the question.

    Public files are recognised by their content: PandaLM (label: the majority of three annotators), LLMBar,
    JudgeBench, AUTO-J's pairs, AlignBench, the samples of Exchange-of-Thought, GSM8K debates, and a debate log that
    kept its texts. TruthfulQA's CSV is a table of questions; ``format="truthfulqa"`` reads pairs of a right and a
    wrong answer.

    Parameters
    ----------
    source : path, DataFrame, or iterable of DebateItem
        Where the items are.
    format : str, optional
        Layout of the items; by default it is recognised by the content. One of ``d3stats.run.items.FORMATS``.
    identical : {"refuse", "keep"}
        What to do with an item whose candidates are the same text, white space aside.
    empty : {"refuse", "keep"}
        What to do with an item that has an empty candidate.
    ties : bool, optional
        Whether ``"tie"`` may be voted for. By default when the label of some item is a tie; with False such an
        item has no label.
    limit : int, optional
        Read only so many items, the first ones; later rows of a table are not checked.
    columns : mapping of str to str, optional
        Own names of a table's columns, by what they are, one of ``d3stats.run.items.ROLES``, such as
        ``{"question": "Prompt text", "label": "Better"}``.
    encoding : str, optional
        Encoding of a text file; UTF-8, and UTF-16 with its mark, need none.

    Returns
    -------
    Items
        A list of :class:`DebateItem`. Its ``notes`` say which columns were taken for what, which were not read, and
        how many items have no label.

    Raises
    ------
    ValueError
        When a column is missing, a text or an answer is empty, candidates are identical, a label is not among the
        answers, or one id has different contents. The error names the row and the question. Also when `columns` is
        given for a source that is no table.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"prompt": ["Why?"], "response_a": ["So."], "response_b": ["No."], "winner": ["model_b"]})
    >>> item, = read_items(table)
    >>> item.candidates, item.label
    (('So.', 'No.'), 'B')
    >>> print(*read_items(table.assign(source="web")).notes, sep="\n")
    columns: question is 'prompt', answer_a is 'response_a', answer_b is 'response_b', label is 'winner'
    columns that were not read: source
    """
    for name, value in (("identical", identical), ("empty", empty)):
        choice(name, value, ("refuse", "keep"))
    if format is not None:
        choice("format", format, FORMATS)
    if limit is not None:
        integer("limit", limit, minimum=1)

    try:
        found, read, unread = _found(source, format, ties, limit, columns, encoding)
    except ValueError as error:
        said = visible(shortened(str(error)), one_line=True)
        if said == str(error):
            raise
        raise ValueError(said) from None
    if limit is not None:
        first = set(list(dict.fromkeys(item.question for _, item in found))[:limit])
        found = [(where, item) for where, item in found if item.question in first]
    if empty == "refuse":
        _refuse(found, lambda item: any(not text.strip() for text in item.candidates), *_EMPTY)
    if identical == "refuse":
        _refuse(found, lambda item: item.identical, *_IDENTICAL)
    items: dict[str, DebateItem] = {}
    for where, item in found:
        known = items.setdefault(item.question, item)
        if known != item:
            names = ("text", "candidates", "answers", "label", "cluster", "category")
            name = next(name for name in names if getattr(known, name) != getattr(item, name))
            raise ValueError(
                f"a question must have one content; got {item.question!r} again with other {name} in {where} "
                "(use the column cluster to group pairs of one question)"
            )
    if not items:
        raise ValueError("source must hold at least one item; got none")
    return Items(items.values(), read, unread)


_EMPTY = ("candidates must not be empty; got an empty one", 'empty="keep", --empty keep, debates it anyway')
_IDENTICAL = (
    "candidates must differ; got the same text twice",
    'identical="keep", --identical keep, debates it all the same',
)
"""What is wrong, and what to type."""


def _refuse(
    found: Sequence[tuple[str, DebateItem]], odd: Callable[[DebateItem], bool], wrong: str, step: str
) -> None:
    bad = [(where, item) for where, item in found if odd(item)]
    if bad:
        where, item = bad[0]
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise ValueError(f"{wrong} for question {item.question!r} in {where}{more} ({step})")


Orders = Literal["seeded", "both", "first"]
ORDERS = ("seeded", "both", "first")


@dataclass(frozen=True, slots=True)
class Planned:
    """One debate that is to be played: its name in the log, its item, and the candidate shown first.

    `names` are those of the LLMs that take part, which are removed from the messages that an agent reads.
    """

    debate: str
    item: DebateItem
    first: str | None
    names: tuple[str, ...] = ()

    @property
    def case(self) -> Case:
        """The case that the agents get."""
        case = self.item.case(self.debate, self.first)
        return replace(case, names=case.names + self.names) if self.names else case


def placements(
    items: Iterable[DebateItem],
    orders: Orders = "seeded",
    seed: int = 0,
    repeats: int = 1,
    names: tuple[str, ...] = (),
) -> Iterator[Planned]:
    """Yield the debates of some items, in order.

    A debate is called as its question; with ``orders="both"`` ``"q/AB"`` and ``"q/BA"`` (the candidate shown first
    comes first in the name); with several repeats a number is added, ``"q/AB/2"``. The options of a question without
    candidates are shown in the item's order from one of them on. With ``orders="both"`` that is once the first and once
    the one in the middle: ``"q/o1"`` and ``"q/o3"`` of four.

    Parameters
    ----------
    items : iterable of DebateItem
    orders : {"seeded", "both", "first"}
        Which candidate or option is shown first: a coin of the seed and the question, each once, or always A or the
        first option. Repeats of a question change places in turn, so that the coin decides the first one only.
    seed : int
    repeats : int
        How often each item is debated in each order.
    names : tuple of str
        Names of the LLMs that take part.

    Examples
    --------
    >>> item = DebateItem("q1", "Why?", ("So.", "No."))
    >>> [(d.debate, d.first) for d in placements([item], "both")]
    [('q1/AB', 'A'), ('q1/BA', 'B')]
    >>> [d.first for d in placements([item], "seeded", repeats=4)]
    ['A', 'B', 'A', 'B']
    """
    choice("orders", orders, ORDERS)
    integer("seed", seed, minimum=0)
    integer("repeats", repeats, minimum=1)
    for item in items:
        if orders == "both" and item.answers is None:
            raise ValueError(
                f"orders must be 'seeded' for questions without two candidates or options; got orders='both' "
                f"and question {item.question!r}"
            )
        for number in range(1, repeats + 1):
            tail = f"/{number}" if repeats > 1 else ""
            for place, first in _shown_first(item, orders, seed, number):
                yield Planned(f"{item.question}{place}{tail}", item, first, names)


def _shown_first(
    item: DebateItem, orders: Orders, seed: int, number: int
) -> Iterator[tuple[str, str | None]]:
    if item.answers is None:
        yield "", None
        return
    names = item.answers[:2] if item.candidates else item.answers
    if orders == "both":
        for place in (0, len(names) // 2):
            first = names[place]
            yield (f"/{first}{names[1 - place]}" if item.candidates else f"/o{place + 1}"), first
    elif orders == "first":
        yield "", names[0]
    else:
        text = f"{seed}\x1f{item.question}".encode(errors="replace")
        coin = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        yield "", names[(coin + number - 1) % len(names)]


Row = Mapping[str, str | None]
Found = list[tuple[str, DebateItem]]
"""Items, each with its place in the source, in words."""

Read = tuple[Found, list[str], list[str]]
"""Items, notes on how they were read, and the columns that were not."""

_WORDS = ("response", "answer", "output", "candidate", "conversation")
_PAIRS = [(f"{word}{one}", f"{word}{two}") for word in _WORDS for one, two in (("a", "b"), ("1", "2"))]
_MODELS = (("modela", "modelb"), ("model1", "model2"))
_FLAGS = ("winnermodela", "winnermodelb", "winnertie")
_SCORES = ("modelascore", "modelbscore")

_SIDE = re.compile(r"(?:model|response|answer|output|candidate|assistant|conversation)?(?:(a|1)|(b|2))")
_TIES = ("tie", "draw", "equal", "same", "both", "tiebothbad", "bothbad", "bothgood")


def _of_sheet(
    sheet: Sheet, source: str, where: str, ties: bool | None, limit: int | None, chosen: Columns
) -> Read:
    """Return one item per content of a table; rows after the first `limit` items may hold anything."""
    if not len(sheet.line):
        raise ValueError(f"{source} must hold at least one item; got none")
    cells = zip(*(column.to_array() for column in sheet.columns), strict=True)
    rows = [
        {name: cell if cell and cell.strip() else None for name, cell in zip(sheet.names, row, strict=True)}
        for row in cells
    ]
    columns = _Columns(sheet.names, rows, source, chosen)
    items: dict[tuple[str, ...], tuple[str, DebateItem]] = {}
    judged: dict[tuple[str, ...], Counter[str]] = {}
    for line, row in zip(sheet.line.tolist(), rows, strict=True):
        try:
            item, outcome = columns.item(row)
        except ValueError as error:
            if limit is not None and len(items) >= limit:
                continue
            raise ValueError(f"{error} ({where} {line})") from None
        # Of a question without candidates each row is an item by itself: two right answers are a conflict.
        key = (item.question, item.text, *(item.candidates or (str(item.label), str(item.answers))))
        items.setdefault(key, (f"{where} {line}", item))
        if item.candidates:
            judged.setdefault(key, Counter()).update([] if outcome is None else [outcome])
    shared = Counter(item.text for _, item in items.values() if item.candidates)
    found = [
        (place, _clustered(item, shared[item.text]), _plurality(judged.get(key)))
        for key, (place, item) in items.items()
    ]
    return _with_ties(found, ties), [*sheet.notes, *columns.notes()], columns.unread


def _clustered(item: DebateItem, pairs: int) -> DebateItem:
    """Give pairs of one question, which are not independent, a common cluster when they were given none."""
    return replace(item, cluster=item_id(item.text)) if pairs > 1 and item.cluster is None else item


def _with_ties(found: Iterable[tuple[str, DebateItem, str | None]], ties: bool | None) -> Found:
    """Give items with candidates their label, and all of them one set of answers: with a tie or without."""
    listed = list(found)
    allow = any(outcome == "tie" for _, _, outcome in listed) if ties is None else ties
    result = []
    for where, item, outcome in listed:
        if not item.candidates or item.answers != ("A", "B"):
            result.append((where, item))
            continue
        answers = ("A", "B", "tie") if allow else ("A", "B")
        label = outcome if outcome in answers else None
        result.append((where, replace(item, answers=answers, label=label)))
    return result


def _plurality(votes: Counter[str] | None) -> str | None:
    ranked = votes.most_common(2) if votes else []
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


class _Columns:
    """Which column of a table says what."""

    def __init__(self, given: Sequence[str], rows: Sequence[Row], source: str, columns: Columns) -> None:
        known: dict[str, str] = {}
        for name in filter(plain, given):
            if plain(name) in known:
                other = known[plain(name)]
                raise ValueError(f"columns of {source} must have different names; got {other!r} and {name!r}")
            known[plain(name)] = name
        self.rows, self.doubts = rows, list[str]()
        chosen = self.chosen = _chosen(given, columns, source)
        # What was chosen for one purpose is not found for another.
        names = self.names = {low: name for low, name in known.items() if name not in chosen.values()}
        # As this package writes items, "question" is the identifier and "text" asks.
        own = {"text", "question", "candidates"} <= set(names) and not {"question", "id"} & set(chosen)
        if {"text", "question"} <= set(names) and not own and "question" not in chosen:
            raise ValueError(
                f"{source} must have one column with the question; got both question and text (name "
                f"identifiers id, or choose with {to_type(question=names['text'])})"
            )
        self.text = names["text"] if own else self._first("question")
        self.pair, self.listed = self._of_candidates(source)
        has_pair = self.pair is not None or self.listed is not None
        if not has_pair and "response" not in chosen:
            half = next((pair for pair in _PAIRS if (pair[0] in names) != (pair[1] in names)), None)
        else:
            half = None
        if self.text is None or half is not None:
            need = "question (or prompt, instruction, text)"
            if half is not None:
                need += f" and both {half[0][:-1]}_{half[0][-1]} and {half[1][:-1]}_{half[1][-1]}"
            raise ValueError(
                f"{source} must have the columns {need}; got {', '.join(filter(None, given)) or 'none'}"
                + self._to_type(half)
            )
        self.models = self._of_models()
        self.response = chosen.get("response")
        self.turns: set[str] = set()
        self.turns = {
            name
            for name in (self.text, *(self.pair or ()), self.response or names.get("response"))
            if name is not None and all(row[name] is None or _is_turns(row[name]) for row in rows)
        }
        self.label = self.options = None
        if self.response is None:
            self.options = self._first("answers")
            self.label = self._first("preference" if has_pair else "label", self._suits_label)
            scored = not has_pair and self.label is None and self.options is None
            self.response = names.get("response") if scored else None
        self.id = names["question"] if own else self._first("id", self._numbers_items)
        self.cluster, self.category = self._first("cluster"), self._first("category")
        outcomes = [name for name in (*_FLAGS, *_SCORES) if name in names]
        self.outcomes = outcomes if has_pair and self.label is None else []
        read = self.roles()
        taken = {name for several in read.values() for name in several}
        self.unread = [name for name in given if name not in taken]

    def _first(self, role: str, suits: Callable[[str], bool] | None = None) -> str | None:
        """Return the column of a role; one of the second group of names only where its cells suit it."""
        standard = "label" if role == "preference" else role
        if standard in self.chosen:
            return self.chosen[standard]
        certain, *doubtful = ITEM_NAMES[role]
        for name in map(plain, certain):
            if name in self.names:
                return self.names[name]
        for name in (plain(each) for names in doubtful for each in names):
            if name in self.names and (suits is None or suits(self.names[name])):
                return self.names[name]
        return None

    def _of_candidates(self, source: str) -> tuple[tuple[str, str] | None, str | None]:
        """Return the two columns of the candidates, or the one that lists them."""
        chosen, names = self.chosen, self.names
        sides = {side: chosen.get(side) or names.get(plain(side)) for side in ("answer_a", "answer_b")}
        if {"answer_a", "answer_b"} & set(chosen):
            for side, column in sides.items():
                if column is None:
                    raise ValueError(
                        f"answer_a and answer_b of {source} must be chosen together; got no {side}; say which it "
                        f"is with {to_type(**{s: c or 'COLUMN' for s, c in sides.items()})}"
                    )
            return (str(sides["answer_a"]), str(sides["answer_b"])), None
        if "candidates" in chosen:
            return None, chosen["candidates"]
        if "response" in chosen:
            return None, None
        pair = next(((names[a], names[b]) for a, b in _PAIRS if a in names and b in names), None)
        return pair, None if pair else names.get("candidates")

    def _of_models(self) -> tuple[str, str] | None:
        """Return the columns with the systems that wrote the two candidates."""
        names = self.names
        if {"model_a", "model_b"} & set(self.chosen):
            sides = [self.chosen.get(side) or names.get(plain(side)) for side in ("model_a", "model_b")]
            if None in sides:
                raise ValueError(
                    "model_a and model_b must be chosen together; got one of them; choose both with "
                    f"{to_type(**{s: c or 'COLUMN' for s, c in zip(('model_a', 'model_b'), sides, strict=True)})}"
                )
            return str(sides[0]), str(sides[1])
        return next(((names[a], names[b]) for a, b in _MODELS if a in names and b in names), None)

    def _to_type(self, half: tuple[str, str] | None) -> str:
        """Say how to name the columns that were not found."""
        left, wanted = list(self.names.values()), dict[str, str]()
        if self.text is None:
            wanted["question"] = nearest_name(ITEM_NAMES["question"][0], left) or "COLUMN"
        if half is not None:
            there = [self.names.get(side) for side in half]
            left = [name for name in left if name not in (*there, *wanted.values())]
            for side, name, column in zip(("answer_a", "answer_b"), half, there, strict=True):
                wanted[side] = column or nearest_name([name], left) or "COLUMN"
        return f"; say which they are with {to_type(**wanted)}"

    def _suits_label(self, column: str) -> bool:
        """Whether most cells of a column are labels of candidates, and not the text of an answer, say."""
        if self.pair is None and self.listed is None:
            return True
        filled = [row for row in self.rows if row[column]]
        suits = 2 * sum(self._is_label(row, column) for row in filled) >= len(filled)
        if not suits:
            self.doubts.append(
                f"the column {column!r} was not taken for the label, because most of its cells are not A, B, tie, 1, "
                "2, a model's name or a candidate's text"
            )
        return suits and bool(filled)

    def _is_label(self, row: Row, column: str) -> bool:
        cell = self._cell(row, column) or ""
        options = self._options(row)
        if options is not None and cell in options:
            return True
        try:
            _winner(cell, self._models(row), self._candidates(row))
        except ValueError:
            return False
        return True

    def _numbers_items(self, column: str) -> bool:
        """Whether each item has one number of its own: not the rows, of which several may judge one item."""
        assert self.text is not None
        pairs = {
            (self._cell(row, column), self._said(row, self.text), self._candidates(row)) for row in self.rows
        }
        sizes = {len(pairs), len({number for number, *_ in pairs}), len({tuple(rest) for _, *rest in pairs})}
        suits = len(sizes) == 1 and all(number for number, *_ in pairs)
        if not suits:
            self.doubts.append(
                f"the column {column!r} was not taken for the id, because not every item has one number of its own"
            )
        return suits

    def roles(self) -> dict[str, list[str]]:
        """Return what the columns were taken for."""
        assert self.text is not None
        has_pair = self.pair is not None or self.listed is not None
        found: dict[str, list[str | None]] = {"question": [self.text]}
        if plain(self.text) == "instruction" and "input" in self.names:
            found["question"].append(self.names["input"])
        found |= {"id": [self.id]}
        if self.pair is not None:
            found |= {"answer_a": [self.pair[0]], "answer_b": [self.pair[1]]}
        found |= {"candidates": [self.listed], "response": [self.response]}
        found |= {"label": [self.label, *(self.names[name] for name in self.outcomes)]}
        found |= {"answers": [self.options], "cluster": [self.cluster], "category": [self.category]}
        if self.response is not None:
            found |= {"model": [self.names.get("model")]}
        elif has_pair and self.models is not None:
            found |= {"model_a": [self.models[0]], "model_b": [self.models[1]]}
        elif has_pair:
            found |= {"models": [self.names.get("models")]}
        return {role: list(filter(None, several)) for role, several in found.items() if any(several)}

    def notes(self) -> list[str]:
        """Say which column was taken for what, where a name is not the standard one, and what was not taken."""
        said = [
            f"{role} is {' + '.join(map(repr, several))}"
            for role, several in self.roles().items()
            if several != [role]
        ]
        return [*([f"columns: {', '.join(said)}"] if said else []), *self.doubts]

    def item(self, row: Row) -> tuple[DebateItem, str | None]:
        """Return a row's item, without the label of candidates, and the outcome that the row reports."""
        assert self.text is not None
        text = self._said(row, self.text)
        if plain(self.text) == "instruction" and "input" in self.names:
            text = f"{text}\n{self._said(row, self.names['input'])}".rstrip("\n")
        candidates, models = self._candidates(row), self._models(row)
        name, cluster, label, category = (
            self._cell(row, column) for column in (self.id, self.cluster, self.label, self.category)
        )
        name, answers = name or "", self._options(row)
        if not candidates:
            return DebateItem(name, text, (), answers, label, cluster, category=category), None
        if cluster is None and not name:
            cluster = item_id(text)
        if answers is not None and answers[:2] != ("A", "B"):
            return DebateItem(name, text, candidates, answers, label, cluster, models, True, category), None
        item = DebateItem(name, text, candidates, None, None, cluster, models, True, category)
        return item, None if len(candidates) == 1 else self._outcome(row, label, models, candidates)

    def _options(self, row: Row) -> tuple[str, ...] | None:
        options = self._cell(row, self.options)
        return None if options is None else _list(options) or _split(options)

    def _cell(self, row: Row, column: str | None) -> str | None:
        value = None if column is None else row[column]
        return None if value is None else value.strip()

    def _said(self, row: Row, column: str) -> str:
        return flat_text(row[column], decode=column in self.turns)

    def _candidates(self, row: Row) -> tuple[str, ...]:
        if self.pair is not None:
            return tuple(self._said(row, column) for column in self.pair)
        if self.response is not None:
            return (self._said(row, self.response),)
        cell = self._cell(row, self.listed)
        given = _json(cell)
        if isinstance(given, dict):
            return tuple(text for _, text in _named_pair(given))
        if cell is not None and not isinstance(given, list):
            raise ValueError(
                'candidates must be a list of texts, ["...", "..."], or an object with two, {"A": "...", "B": "..."}; '
                f"got {cut(cell, 60)!r}"
            )
        return tuple(map(flat_text, given or ()))

    def _models(self, row: Row) -> tuple[str, ...]:
        if self.response is not None:
            system = self._cell(row, self.names.get("model"))
            return () if system is None else (system,)
        if self.models is None:
            given = _json(self._cell(row, self.listed))
            named = [name for name, _ in _named_pair(given)] if isinstance(given, dict) else []
            systems = () if named == ["A", "B"] else tuple(named)
            return systems or _list(self._cell(row, self.names.get("models")))
        names = [self._cell(row, column) for column in self.models]
        return tuple(name for name in names if name) if all(names) else ()

    def _outcome(
        self, row: Row, label: str | None, models: tuple[str, ...], candidates: tuple[str, ...]
    ) -> str | None:
        if self.label is not None:
            return None if label is None else _winner(label, models, candidates)
        for columns, read in ((_FLAGS, _of_flags), (_SCORES, _of_scores)):
            given = [self._cell(row, self.names.get(column)) for column in columns]
            if any(given):
                return read(given)
        return None


def _winner(label: str, models: tuple[str, ...], candidates: tuple[str, ...]) -> str:
    """Read a label of two candidates: a side, a tie, a model's name or a candidate's text; refuse what may be both."""
    word = plain(name_text(label) or label)
    side = _SIDE.fullmatch(word)
    found = None
    if label in models and len(set(models)) == 2:
        found = "AB"[models.index(label)]
    elif side is not None:
        found = "A" if side[1] else "B"
    elif word in _TIES:
        found = "tie"
    same = [letter for letter, text in zip("AB", candidates, strict=False) if text.strip() == label]
    if len(same) == 1:
        if found not in (None, same[0]):
            raise ValueError(
                f"label must mean one candidate; got label={label!r}, which means {found} and is the text of "
                f"{same[0]} (write answer_a or answer_b)"
            )
        found = same[0]
    if found is None:
        raise ValueError(
            f"label must be A, B, tie, 1, 2, model_a or the like, or a candidate's text; got label={label!r}"
        )
    return found


def _chosen(given: Sequence[str], columns: Columns, source: str) -> dict[str, str]:
    """Return the columns that the user chose, by what they are."""
    if columns is None:
        return {}
    found = resolve(given, ROLES, columns=columns, aliases=False, what=source)
    chosen: dict[str, str] = {}
    for role in sorted(found.chosen, key=ROLES.index):
        several = found.columns[role]
        if len(several) > 1:
            raise ValueError(
                f"columns must choose one column for {role}; got {' and '.join(map(repr, several))}"
            )
        chosen[role] = several[0]
    forms = [
        " and ".join(form)
        for form in (("answer_a", "answer_b"), ("candidates",), ("response",))
        if set(form) & set(chosen)
    ]
    if len(forms) > 1:
        raise ValueError(
            "columns must choose only one of answer_a and answer_b, candidates, or response; got "
            f"{', '.join(forms)}"
        )
    if "response" in chosen and {"label", "answers"} & set(chosen):
        raise ValueError(
            "columns must not choose label or answers beside response, which is scored and not voted for"
        )
    return chosen


def _of_flags(given: list[str | None]) -> str:
    flags = [(flag or "0").lower().removesuffix(".0") for flag in given]
    won = [flag in ("1", "true") for flag in flags]
    if sum(won) != 1 or not {"0", "1", "false", "true"}.issuperset(flags):
        raise ValueError(f"winner flags must be 0 or 1, one of them 1; got {given}")
    return ("A", "B", "tie")[won.index(True)]


def _of_scores(given: list[str | None]) -> str | None:
    try:
        first, second = (None if value is None else float(value) for value in given)
    except ValueError:
        raise ValueError(f"scores must be numbers; got {given}") from None
    if first is None or second is None:
        return None
    return "tie" if first == second else "A" if first > second else "B"


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


def _list(text: str | None) -> tuple[str, ...]:
    """Return the elements of a JSON list as texts; none of anything else."""
    return tuple(str(each).strip() for each in _parsed(text) or ())


def _parsed(text: str | None) -> list[Any] | None:
    """Return the JSON list that a cell holds, if it holds one."""
    found = _json(text)
    return found if isinstance(found, list) else None


def _json(text: str | None) -> Any:
    """Return the JSON list or object that a cell holds, if it holds one."""
    if text is None or not text.lstrip().startswith(("[", "{")):
        return None
    try:
        found = json.loads(text)
        spelled = json.dumps(found, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    # JSON in a cell can spell what the file itself cannot hold.
    return json.loads(storable(spelled)) if has_half(spelled) else found


def _named_pair(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return two candidates of an object with their names: A and B in this order, or systems as they are written."""
    sides = [_SIDE.fullmatch(plain(name)) for name in given]
    if len(given) != 2 or any(sides) != all(sides):
        raise ValueError(
            f"candidates must be two, named A and B or by their systems; got {', '.join(map(repr, given)) or 'none'}"
        )
    if not all(sides):
        return [(name, flat_text(text)) for name, text in given.items()]
    found = {
        "A" if side and side[1] else "B": flat_text(given[name])
        for name, side in zip(given, sides, strict=True)
    }
    if len(found) < 2:
        raise ValueError(f"candidates must be A and B; got {' and '.join(map(repr, given))}")
    return sorted(found.items())


def _is_turns(text: str | None) -> bool:
    """Whether a cell is the JSON of a list of texts or messages, as chat logs write a conversation."""
    parsed = _parsed(text)
    return parsed is not None and all(
        part is None or isinstance(part, str) or (isinstance(part, dict) and "content" in part)
        for part in parsed
    )


_FOLDERS = {"pandalm": "*testset-v1.json", "llmbar": "*__*__*.json", "eot": "Sample_*_EoT_*.jsonl"}
"""Public folders, by the names of their files."""


def _found(
    source: str | Path | pd.DataFrame | Iterable[DebateItem],
    format: str | None,
    ties: bool | None,
    limit: int | None,
    columns: Columns,
    encoding: str | None,
) -> Read:
    """Return items with the place where each stands; see :func:`d3stats.run.items.read_items`."""
    if hasattr(source, "columns"):
        _refuse_unused(
            "a DataFrame, which is a table", format=None if format == "table" else format, encoding=encoding
        )
        sheet = open(source).sheet()
        sheet = replace(sheet, line=sheet.line - 1)
        return _of_sheet(sheet, "the table", "row", ties, limit, columns)
    if not isinstance(source, (str, Path)):
        items = [(f"item {i}", _known(item)) for i, item in enumerate(source, start=1)]
        _refuse_columns(columns, "items")
        _refuse_unused("DebateItems, which are read already", format=format, ties=ties, encoding=encoding)
        return items, [], []
    path = Path(source)
    if not path.exists():
        raise no_file(path, "source")
    if path.is_dir():
        _refuse_columns(columns, "a folder")
        _refuse_unused("a folder, whose files are in UTF-8", encoding=encoding)
        return _of_importer(format or _folder(path), path, ties), [], []
    if format is None or format == "table":
        table, unit, known = _sheet(path, encoding)
        format = format or known
        if format == "table" and table is not None:
            return _of_sheet(table, path.name, unit, ties, limit, columns)
    _refuse_columns(columns, f"the layout {format!r}; --format table reads the file as a table")
    _refuse_unused(f"the layout {format!r}, whose file is in UTF-8", encoding=encoding)
    if format == "log":
        return _of_records(iter_records(path), str(path), ties), [], []
    return _of_importer(format, path, ties), [], []


def _refuse_columns(columns: Columns, what: str) -> None:
    """Refuse own names of columns for what has no columns, or columns of its own."""
    if columns:
        raise ValueError(f"columns must be of a table; got columns={dict(columns)!r} for {what}")


def _refuse_unused(what: str, **given: Any) -> None:
    """Refuse settings that do not apply to what is read."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(Advised(f"{name} must be left out for {what}", "remove it", got=repr(value)))


def _known(item: Any) -> DebateItem:
    if not isinstance(item, DebateItem):
        raise TypeError(f"source must be a path, a DataFrame or DebateItems; got {type(item).__name__}")
    return item


def _folder(path: Path) -> str:
    for name, pattern in _FOLDERS.items():
        if any(path.rglob(pattern)):
            return name
    raise ValueError(
        f"source must be a file, or a folder of {', '.join(_FOLDERS)}; got the folder {str(path)!r} "
        "(name one of its files)"
    )


def _sheet(path: Path, encoding: str | None) -> tuple[Sheet | None, str, str]:
    """Return the cells of a file, what its rows are called, and its format; no cells where it is no table."""
    try:
        (file,) = find_files([path])
    except ValueError as error:
        raise ValueError(f"source must end in .json or as a log does: {error}") from None
    refuse_unread([file], encoding=encoding)
    if file.format == "json":
        _ = sound(unusable(file) or json_sheet(file)) if path.name.endswith(".gz") else None
        with open_bytes(file) as handle:
            data = json_of(path.name, handle.read())
        if isinstance(data, dict):
            first = next(iter(data.values()), None)
            return None, "", "critic-actor" if isinstance(first, dict) else "gsm-nested"
    if file.format == "jsonl":
        # Lines with one key, which are no log, are items all the same.
        sheet = sound(unusable(file) or flat_sheet(file))
        return sheet, "record", _shape_of(sheet)
    sheet = open(path, encoding=encoding).sheet()
    if file.format == "json":
        return sheet, "row", _shape_of(sheet)
    return sheet, "line" if file.format in ("csv", "tsv") else "row", "table"


def _shape_of(sheet: Sheet) -> str:
    """Tell a format by the keys of the first object."""
    first = {
        name: column.values[column.codes[0]]
        for name, column in zip(sheet.names, sheet.columns, strict=True)
        if len(sheet.line) and column.codes[0] >= 0
    }
    for name, needed in (
        ("log", {"type"}),
        ("pandalm", {"annotator1", "response1"}),
        ("llmbar", {"output_1", "results"}),
        ("eot", {"question", "response_list"}),
        ("alignbench", {"question_id", "subcategory", "reference"}),
        ("judgebench", {"pair_id", "response_A", "response_B"}),
        ("auto-j", {"scenario", "response 1", "response 2"}),
    ):
        if needed <= set(first) and (name != "log" or first["type"] in ("log", "item")):
            return name
    return "table"


def _of_importer(name: str, path: Path, ties: bool | None) -> Found:
    if name in ("table", "log"):
        raise ValueError(f"format={name!r} must be a file; got the folder {str(path)!r}")
    records = load(name).records(path, text=True)
    # Some of PandaLM's pairs are alike in every word and were judged more than once.
    return _of_records(records, str(path), ties, by_debate=name == "pandalm")


def _of_records(
    records: Iterable[AnyRecord], source: str, ties: bool | None, *, by_debate: bool = False
) -> Found:
    """Return the items of debates, one per content or per debate; answers are A and B whatever the log says."""
    from d3stats.log.schema import Item

    found: dict[str, tuple[str, DebateItem, str | None]] = {}
    named: dict[str, str] = {}
    for record in records:
        if not isinstance(record, Item):
            continue
        where = f"debate {record.debate!r}"
        if record.text is None or (record.candidates is None and record.protocol == "pairwise"):
            raise ValueError(f"{source} must hold the texts of questions and candidates; got none in {where}")
        item, outcome = _of_item(record, by_debate=by_debate)
        known = found.setdefault(item.question, (where, item, outcome))
        if known[1:] != (item, outcome):
            raise ValueError(
                f"an item must have one label, cluster and category; got others for {item.question!r} in {where}, "
                f"first in {known[0]}"
            )
        named.setdefault(item.question, record.question)
    # Where each question is one item the log's own names stay; else the question is what its pairs share.
    own = len(set(named.values())) == len(named)
    kept = (
        (where, _about(item, named[name]) if own else item, outcome)
        for name, (where, item, outcome) in found.items()
    )
    return _with_ties(kept, ties)


def _about(item: DebateItem, question: str) -> DebateItem:
    return replace(item, question=question, cluster=None if item.cluster == question else item.cluster)


def _of_item(record: Item, *, by_debate: bool) -> tuple[DebateItem, str | None]:
    assert record.text is not None
    if not record.candidates:
        item = DebateItem(
            "", record.text, (), record.answers, record.label, record.cluster, category=record.category
        )
        return item, None
    names = dict(zip(record.answers or (), ("A", "B", "tie"), strict=False))
    pair = DebateItem(
        record.debate if by_debate else "",
        record.text,
        record.candidates,
        cluster=record.cluster or record.question,
        allow_empty=True,
        category=record.category,
    )
    return pair, None if record.label is None else names.get(record.label)
