"""What is debated: a question with two candidate answers, or a question alone.

Items come from JSON lines, JSON, CSV, an Excel sheet, a DataFrame, or one of the public files that the importers know
(see :func:`read_items`). The right answer stays with the item; a :class:`~d3stats.agents.request.Case`, which is what
agents get, does not have it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from d3stats._check import choice, integer
from d3stats._words import storable
from d3stats.agents.request import Case
from d3stats.values import canonical_text, name_text

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.log.schema import Item

__all__ = ["FORMATS", "DebateItem", "Identical", "read_items"]

Identical = Literal["refuse", "keep"]
"""What to do with two candidates of the same text, over which a debate can find nothing; or with an empty one."""

FORMATS = ("table", "log", "pandalm", "llmbar", "eot", "gsm-nested", "critic-actor")
"""Shapes of a source, for ``read_items(..., format=)``."""


@dataclass(frozen=True, slots=True)
class DebateItem:
    """One thing to debate.

    Attributes
    ----------
    question : str
        The item's identifier; made from a hash of the texts when empty.
    text : str
        The question as asked.
    candidates : tuple of str
        The two answers that are judged, named by the first two of `answers`; empty when the question itself is
        to be answered.
    answers : tuple of str or None
        What may be voted for; ``("A", "B")`` by default when there are candidates, else None: free words.
    label : str or None
        The right answer, by name; None when it is not known. It is never shown to an agent.
    cluster : str or None
        What is resampled together; None means the question.
    models : tuple of str
        The systems that wrote the candidates, so that their names can be kept from jurors; empty when unknown.
    allow_empty : bool
        Whether a candidate may be empty: a system that said nothing.

    Raises
    ------
    ValueError
        When the text or a candidate is empty, there is a number of candidates other than none or two, an answer
        occurs twice, or the label is not among the answers.

    Examples
    --------
    >>> item = DebateItem("q1", "Why is the sky blue?", ("Rayleigh scattering.", "It is not."), label="A")
    >>> item.answers, item.case("q1/AB", "A").first
    (('A', 'B'), 'A')
    >>> DebateItem("", "What is 2 + 2?", label="4").question
    'q:38d46ad36188'
    """

    question: str
    text: str
    candidates: tuple[str, ...] = ()
    answers: tuple[str, ...] | None = None
    label: str | None = None
    cluster: str | None = None
    models: tuple[str, ...] = field(default=(), compare=False)
    allow_empty: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("candidates", "models"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.answers is None and self.candidates:
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
        if self.label is not None and self.label.strip():
            object.__setattr__(self, "label", canonical_text(self.label, keep=answers or ()))
        if answers is not None:
            forms = tuple(canonical_text(answer, keep=answers) or answer for answer in answers)
            object.__setattr__(self, "answers", forms)

    def _check_candidates(self) -> None:
        if len(self.candidates) not in (0, 2):
            raise ValueError(
                f"candidates must be two or none; got {len(self.candidates)} for question {self.question!r}"
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
        return len({" ".join(text.split()) for text in self.candidates}) == 1

    def case(self, debate: str, first: str | None = None) -> Case:
        """Return what agents may know of this item.

        Parameters
        ----------
        debate : str
            The debate's identifier.
        first : str, optional
            The candidate that is shown first; the first name by default. Without candidates it must be None.

        Raises
        ------
        ValueError
            When `first` is no candidate's name.
        """
        if not self.candidates:
            if first is not None:
                raise ValueError(f"first must be None without candidates; got first={first!r}")
            return Case(debate, self.question, self.text, self.answers)
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
            text=self.text,
            candidates=self.candidates or None,
            first=self.case(debate, first).first,
        )


def item_id(text: str, candidates: Sequence[str] = ()) -> str:
    """Name an item by its texts, so that the same item has the same name in every file."""
    parts = [" ".join(part.split()) for part in (text, *candidates)]
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", errors="replace")).hexdigest()
    return f"{'pair' if candidates else 'q'}:{digest[:12]}"


def read_items(
    source: str | Path | pd.DataFrame | Iterable[DebateItem],
    *,
    format: str | None = None,
    identical: Identical = "refuse",
    empty: Identical = "refuse",
    ties: bool | None = None,
    limit: int | None = None,
) -> list[DebateItem]:
    r"""Read what is to be debated.

    A table has one row per item (``.csv``, ``.csv.gz``, ``.jsonl``, a ``.json`` list of objects, ``.xlsx``, or a
    DataFrame). Columns are found by name, whatever the case, ``_`` or spaces; others are not read:

    ==========  ==========================================================================================
    what        columns, the first that is there
    ==========  ==========================================================================================
    text        question, prompt, instruction (with input), query, question_text, text, input
    candidates  answer_a & answer_b, response_a & response_b, output_1 & output_2, and the like with
                response, answer, output, candidate, conversation, and _a & _b, 1 & 2, _1 & _2;
                or one column candidates
    label       label, winner, preference, preferred, gold, or a flag per outcome: winner_model_a,
                winner_model_b, winner_tie; model_a_score, model_b_score. Of a question without candidates:
                label, answer, gold, target, correct_answer
    answers     answers, options, choices: what may be voted for, a list or JSON or a|b|c
    id          id, question_id, item, idx, qid
    models      model_a & model_b, model_1 & model_2
    cluster     cluster, category, topic, group
    ==========  ==========================================================================================

    A label of candidates is ``A``, ``B``, ``tie``, ``model_a``, ``response_b``, ``1``, ``2`` and the like, or a
    model's name. An empty cell is no label. Rows of the same texts are judgments of one item: its label is what
    most of them say, None when two are said equally often. Without an id an item is named by a hash of its texts.
    Pairs of one question are not independent: when no cluster is given, a hash of the question is theirs.

    Public files are known by what is in them: PandaLM (label: the majority of three annotators), LLMBar, the
    samples of Exchange-of-Thought, GSM8K debates, and a debate log that kept its texts.

    Parameters
    ----------
    source : path, DataFrame, or iterable of DebateItem
    format : str, optional
        One of :data:`FORMATS`, when the content is not to decide.
    identical : {"refuse", "keep"}
        What to do with an item whose candidates are the same text, white space aside.
    empty : {"refuse", "keep"}
        What to do with an item that has an empty candidate.
    ties : bool, optional
        Whether ``"tie"`` may be voted for. By default when the label of some item is a tie; with False such an
        item has no label.
    limit : int, optional
        Only so many items, the first; what is wrong with others in a table is not looked at.

    Raises
    ------
    ValueError
        When a column is missing, a text or an answer is empty, candidates are identical, a label is not among the
        answers, or one id stands for different contents; names the row and the question.
    FileNotFoundError
        When there is no such file.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"prompt": ["Why?"], "response_a": ["So."], "response_b": ["No."], "winner": ["model_b"]})
    >>> item, = read_items(table)
    >>> item.candidates, item.label
    (('So.', 'No.'), 'B')
    """
    for name, value in (("identical", identical), ("empty", empty)):
        choice(name, value, ("refuse", "keep"))
    if format is not None:
        choice("format", format, FORMATS)
    if limit is not None:
        integer("limit", limit, minimum=1)
    from d3stats.debates._item_files import found_items

    found = found_items(source, format, ties, limit)
    if limit is not None:
        first = set(list(dict.fromkeys(item.question for _, item in found))[:limit])
        found = [(where, item) for where, item in found if item.question in first]
    if empty == "refuse":
        _refuse(found, lambda item: any(not text.strip() for text in item.candidates), _EMPTY)
    if identical == "refuse":
        _refuse(found, lambda item: item.identical, _IDENTICAL)
    items: dict[str, DebateItem] = {}
    for where, item in found:
        known = items.setdefault(item.question, item)
        if known != item:
            names = ("text", "candidates", "answers", "label", "cluster")
            name = next(name for name in names if getattr(known, name) != getattr(item, name))
            raise ValueError(
                f"a question must stand for one content; got {item.question!r} again with other {name} in {where} "
                "(what pairs of one question share is their cluster)"
            )
    if not items:
        raise ValueError("source must hold at least one item; got none")
    return list(items.values())


_EMPTY = 'candidates must not be empty; got an empty one (empty="keep" debates it all the same)'
_IDENTICAL = 'candidates must differ; got the same text twice (identical="keep" debates it all the same)'


def _refuse(found: Sequence[tuple[str, DebateItem]], odd: Callable[[DebateItem], bool], message: str) -> None:
    bad = [(where, item) for where, item in found if odd(item)]
    if bad:
        where, item = bad[0]
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        requirement, _, hint = message.partition(" (")
        raise ValueError(f"{requirement} for question {item.question!r} in {where}{more} ({hint}")
