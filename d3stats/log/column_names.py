"""Which column of a table says what: the standard names, the field's other names for them, and a user's own choice.

Names are compared without case, spaces, underscores and hyphens. A standard name has priority over another
name for the same field. If two columns are possible, the error says what to type.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from d3stats.log.problems import Advised
from d3stats.note import Note

if TYPE_CHECKING:
    import pandas as pd


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TABLE_COLUMNS = _words(
    "debate question cluster category log protocol polling label answers first round agent role persona vote correct "
    "scores tokens tokens_in tokens_out tokens_cached tokens_source model temperature confidence confidence_percent "
    "error closed decision stop_round stop_reason"
)
"""Columns of a tidy table, one row per turn; ``answers`` and ``scores`` hold JSON, ``confidence_percent`` per cents."""

Columns = Mapping[str, str | Sequence[str]] | None
"""Field to column; several columns make one name together (debate), or are one vote each (votes)."""


_QUESTION = (
    "question qid question_id task task_id item item_id problem problem_id example example_id instance instance_id "
    "case case_id doc doc_id prompt_id query_id"
)
_AGENT = (
    "agent_id agent_name speaker speaker_id speaker_name participant participant_id debater debater_id player "
    "player_id",
    "judge judge_id judge_name rater rater_id annotator annotator_id voter voter_id evaluator reviewer juror juror_id "
    "coder expert worker worker_id name model model_id model_name llm",
)
_NUMBERED = " ".join(
    f"{word}{end}"
    for word in ("round", "turn", "step", "iteration")
    for end in ("", "_number", "_no", "_nr", "_num", "_id", "_index", "_idx")
)
_OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "debate": (
        "debate_id debate_name dialogue dialogue_id dialog dialog_id conversation conversation_id discussion "
        "discussion_id thread thread_id game game_id match match_id episode episode_id",
        _QUESTION,
        "id idx",
    ),
    "item": (_QUESTION, "id idx"),
    "question": (_QUESTION,),
    "cluster": ("cluster_id cluster_name",),
    "log": ("run run_id run_name experiment condition",),
    "label": (
        "gold target reference ground_truth correct_answer truth true_answer true_label gold_label gold_answer "
        "golden_answer right_answer expected expected_answer reference_answer target_answer answer_key gt solution "
        "correct_label correct_option correct_choice",
    ),
    "round": (f"{_NUMBERED} iter t rnd debate_round",),
    "agent": _AGENT,
    "rater": (f"agent {_AGENT[0]}", _AGENT[1]),
    "judge": (f"agent {_AGENT[0]}", _AGENT[1]),
    "role": ("agent_role speaker_role",),
    "vote": (
        "answer prediction predicted pred choice response verdict rating judgment judgement ballot predicted_answer "
        "predicted_label final_answer parsed_answer extracted_answer agent_answer model_answer selected "
        "selected_answer selection guess preference preferred winner",
    ),
    "correct": ("is_correct correctness was_correct is_right",),
    "tokens": (
        "total_tokens tokens_total n_tokens num_tokens token_count token_usage tokens_used used_tokens",
    ),
    "tokens_in": ("prompt_tokens input_tokens tokens_prompt tokens_input n_prompt_tokens n_input_tokens",),
    "tokens_out": (
        "completion_tokens output_tokens tokens_completion tokens_output generated_tokens n_completion_tokens "
        "n_output_tokens",
    ),
    "tokens_cached": ("cached_tokens cached_prompt_tokens cached_input_tokens",),
    "model": ("model_name model_id llm",),
    "temperature": ("sampling_temperature",),
    "confidence": ("conf stated_confidence vote_confidence answer_confidence",),
    "confidence_percent": ("confidence_pct conf_percent conf_pct",),
    "text": (
        "rationale",
        "reasoning explanation justification argument utterance message content comment comments",
    ),
}

ALIASES = {field: tuple(map(_words, groups)) for field, groups in _OTHER_NAMES.items()}
"""The field's other names for the standard ones, best first; names of one group are equally good."""

_ITEM_IDS = " ".join(name for name in _QUESTION.split() if name.endswith("id"))
_ITEM_NUMBERS = "nr no num number index row " + " ".join(
    f"{word}_{end}" for word in ("question", "item", "task", "row") for end in ("nr", "no", "num", "number")
)
_LABEL = _OTHER_NAMES["label"][0]
_BETTER = (
    "better better_answer better_response preferred_answer preferred_response best_response human_preference "
    "human_label human_choice winner_label"
)
_ITEM_NAMES: dict[str, tuple[str, ...]] = {
    "question": ("question prompt instruction query question_text text input",),
    "id": (f"id question_id item idx {_ITEM_IDS}", _ITEM_NUMBERS),
    "label": (f"label answer {_LABEL}",),
    "preference": ("label winner preference preferred gold", f"{_BETTER} {_LABEL}"),
    "answers": ("answers options choices",),
    "cluster": (f"cluster topic group {' '.join(_OTHER_NAMES['cluster'])}",),
    "category": ("category",),
}
ITEM_NAMES = {role: tuple(map(_words, groups)) for role, groups in _ITEM_NAMES.items()}
"""Names of the columns of items to debate, the standard one first; the best that a table has is read.

``label`` is the right answer to a question, and ``preference`` the label of two candidates. A name of the second group
counts only where the cells suit it.
"""


class _OfField(ValueError):
    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message


class ColumnError(_OfField):
    """The meant column is ambiguous; `field` is what was looked for."""


class MissingColumn(_OfField):
    """The user chose a column that a table lacks; `field` is what it was chosen for."""


def plain(name: Any) -> str:
    """Return a name without case, spaces and signs.

    Examples
    --------
    >>> plain("Tokens In"), plain("stop-round")
    ('tokensin', 'stopround')
    """
    return re.sub(r"[\W_]", "", str(name).casefold())


def parse_columns(text: str | None) -> dict[str, str | list[str]] | None:
    """Read a choice of columns from text, as a command line gives it.

    Examples
    --------
    >>> parse_columns("debate=qid, votes=gpt+claude")
    {'debate': 'qid', 'votes': ['gpt', 'claude']}

    Raises
    ------
    ValueError
        When a part is no ``field=column``.
    """
    if text is None or not text.strip():
        return None
    found: dict[str, str | list[str]] = {}
    for part in text.split(","):
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if not (name and equals and column):
            raise ValueError(f"columns must be written field=column,field=column; got {part.strip()!r}")
        if name in found:
            raise ValueError(f"columns must choose for each field once; got {name!r} twice")
        several = [piece.strip() for piece in column.split("+")]
        found[name] = several if len(several) > 1 else column
    return found


def to_type(**chosen: str | Sequence[str]) -> str:
    """Say what to type to choose columns, in Python and on the command line.

    Examples
    --------
    >>> print(to_type(debate="qid", votes=["gpt", "claude"]))
    columns={'debate': 'qid', 'votes': ['gpt', 'claude']} (--columns debate=qid,votes=gpt+claude)
    """
    lists = {name: c if isinstance(c, str) else list(c) for name, c in chosen.items()}
    typed = as_option(lists)
    if typed is None:
        return f"columns={lists!r} (in Python; for --columns rename what has a comma, + or = in its name)"
    return f"columns={lists!r} (--columns {shlex.quote(typed)})"


def as_option(columns: Columns) -> str | None:
    """Write a choice of columns as ``--columns`` takes it; None where a name has a sign that parts names there.

    Examples
    --------
    >>> as_option({"debate": "qid", "votes": ["gpt", "claude"]}), as_option({"debate": "id, run"})
    ('debate=qid,votes=gpt+claude', None)
    """
    chosen = choice_of(columns)
    text = ",".join(f"{name}={c if isinstance(c, str) else '+'.join(c)}" for name, c in chosen.items())
    try:
        read = parse_columns(text) or {}
    except ValueError:
        return None
    as_lists = [
        {name: [c] if isinstance(c, str) else list(c) for name, c in each.items()} for each in (read, chosen)
    ]
    return text if as_lists[0] == as_lists[1] else None


def to_choose(*fields: str) -> str:
    """Say how to name the columns of fields that were not found: the step of a refusal.

    Examples
    --------
    >>> to_choose("item", "vote")
    "say which they are with columns={'item': 'COLUMN', 'vote': 'COLUMN'} (--columns item=COLUMN,vote=COLUMN)"
    """
    return f"say which they are with {to_type(**dict.fromkeys(fields, 'COLUMN'))}" if fields else ""


def choice_of(columns: Any) -> dict[str, str | list[str]]:
    """Return a choice of columns with names as text; numbers select columns that have numbers as names.

    Raises
    ------
    TypeError
        When it is no mapping; the message says how to write one.

    Examples
    --------
    >>> choice_of({"debate": 0, "votes": [1, 2]})
    {'debate': '0', 'votes': ['1', '2']}
    """
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        needed, such = (
            "columns must be a mapping of field to column",
            "{'debate': 'qid'} (--columns debate=qid)",
        )
        raise TypeError(Advised(needed, f"write it as {such}", got=repr(columns)))
    return {
        str(field): list(map(str, c)) if isinstance(c, (list, tuple)) else str(c)
        for field, c in columns.items()
    }


def reading_options(
    missing_values: Iterable[str] | None = None,
    columns: Columns = None,
    encoding: str | None = None,
    sheet: str | None = None,
    read: str | None = None,
    scorer: str | None = None,
) -> tuple[str, ...]:
    """Return how files are read, as the options of a command that reads them alike.

    Examples
    --------
    >>> reading_options(columns={"debate": "qid"}, encoding="latin-1")
    ('--columns', 'debate=qid', '--encoding', 'latin-1')
    """
    options: list[str] = []
    if missing_values is not None:
        options += ["--missing-values", ",".join(missing_values)]
    if columns and (typed := as_option(columns)) is not None:
        options += ["--columns", typed]
    if encoding is not None:
        options += ["--encoding", encoding]
    if sheet is not None:
        options += ["--sheet", sheet]
    if scorer is not None:
        options += ["--scorer", scorer]
    return (*options, *(["--read", read] if read is not None else []))


def command_on(name: str, *paths: Any, **how: Any) -> str:
    """Return the command that takes files and reads them as :func:`reading_options` says, to be typed in a shell.

    Examples
    --------
    >>> command_on("plan", "my log.csv", columns={"agent": "juror name"})
    "d3stats plan 'my log.csv' --columns 'agent=juror name'"
    """
    return shlex.join(["d3stats", name, *map(str, paths), *reading_options(**how)])


WHO = ("agent", "rater", "judge")
"""Names of the voter in logs, in tables of ratings and in tables of verdicts; a choice of columns takes each."""


def one_role(columns: Columns, called: str) -> dict[str, str | list[str]]:
    """Return a choice of columns in which who votes is called so, whichever of the three names was given.

    Raises
    ------
    ValueError
        When two of the names were given different columns.

    Examples
    --------
    >>> one_role({"agent": "juror", "vote": "finding"}, "rater")
    {'rater': 'juror', 'vote': 'finding'}
    """
    chosen = choice_of(columns)
    given = {name: chosen[name] for name in WHO if name in chosen}
    if len({str(column) for column in given.values()}) > 1:
        needed = "agent, rater and judge in columns must be the same column, because they are one role"
        got = ", ".join(f"{name}={column}" for name, column in given.items())
        raise ValueError(Advised(needed, "give one of them", got=got))
    return {called if name in WHO else name: column for name, column in chosen.items()}


@dataclass(frozen=True)
class Resolved:
    """Which column each field was found in.

    Attributes
    ----------
    columns : mapping of str to tuple of str
        Field to the column, or to the columns that make it together.
    chosen : frozenset of str
        Fields that the user chose.
    unread : tuple of str
        Columns that belong to no field.

    Examples
    --------
    >>> found = resolve(["qid", "gold"], ["debate", "label"])
    >>> found.without("label"), found.renamed("debate", "question").columns["question"]
    (Resolved(columns={'debate': ('qid',)}, chosen=frozenset(), unread=('gold',)), ('qid',))
    """

    columns: Mapping[str, tuple[str, ...]]
    chosen: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()

    def without(self, *fields: str) -> Resolved:
        """Return the same with the columns of some fields not read."""
        left = {field: names for field, names in self.columns.items() if field not in fields}
        more = [name for field in fields for name in self.columns.get(field, ())]
        return replace(self, columns=left, unread=(*self.unread, *more))

    def renamed(self, field: str, other: str) -> Resolved:
        """Return the same with the columns of a field taken for another field."""
        return replace(self, columns={other if f == field else f: names for f, names in self.columns.items()})

    def taken_note(self) -> list[str]:
        """Say which column was taken for what, where a name is not the standard one."""
        said = [
            f"{field} is {' + '.join(map(repr, c))}" for field, c in self.columns.items() if c != (field,)
        ]
        taken = [column for field, c in self.columns.items() if c != (field,) for column in c]
        note = Note(f"columns: {', '.join(said)}", kind="columns taken", n=len(taken), examples=taken)
        return [*([note] if said else []), *self._passed_over()]

    def _passed_over(self) -> list[str]:
        """Name the columns that have the standard name of a field for which the user chose another column."""
        return [
            f"the column {name!r} was not read, because {field} was chosen to be "
            f"{' + '.join(map(repr, self.columns[field]))}"
            for field in sorted(self.chosen)
            for name in self.unread
            if plain(name) == plain(field)
        ]


def resolve(
    names: Iterable[Any],
    wanted: Sequence[str],
    *,
    columns: Columns = None,
    aliases: bool = True,
    what: str = "the table",
) -> Resolved:
    """Find the column of each field.

    Raises
    ------
    ColumnError
        When two columns could be meant.
    ValueError
        When the choice names a field or a column that there is not.

    Examples
    --------
    >>> resolve(["QID", "model", "gold"], ["debate", "agent", "label"]).columns
    {'debate': ('QID',), 'agent': ('model',), 'label': ('gold',)}
    >>> resolve(["model", "question"], ["debate", "question"], columns={"debate": ["model", "question"]}).columns
    {'debate': ('model', 'question'), 'question': ('question',)}
    """
    listed = [str(name) for name in names]
    by_plain: dict[str, list[str]] = {}
    for name in listed:
        by_plain.setdefault(plain(name), []).append(name)
    found: dict[str, tuple[str, ...]] = {}
    for field, column in choice_of(columns).items():
        if field not in wanted:
            raise ValueError(
                f"columns must choose among {', '.join(wanted)}; got {field!r}{_near(field, wanted)}"
            )
        several = [column] if isinstance(column, str) else list(column)
        found[field] = tuple(_existing(name, listed, by_plain, field, what) for name in several)
    chosen = set(found)
    # A part of a key keeps its own meaning: with debate=model+question, model and question are still read.
    parts = {
        name for field, several in found.items() if field != "votes" and len(several) > 1 for name in several
    }
    claimed = {name for several in found.values() for name in several} - parts

    def take(field: str, candidates: list[str]) -> None:
        left = [name for name in candidates if name not in claimed]
        if len(set(left)) < len(left):
            raise ColumnError(
                field,
                Advised(
                    f"a column must occur once in {what}",
                    "rename one of them",
                    ": ",
                    got=f"{left[0]!r} twice",
                ),
            )
        if len(left) > 1:
            advice = f"choose one with {to_type(**{field: left[-1]})}"
            gold, votes = maybe_label(left), [name for name in left if plain(name) != _GOLD_OR_VOTE]
            if field == "vote" and gold is not None and votes and not _has_label(by_plain):
                both = to_type(vote=votes[-1], label=gold)
                advice = f"{advice}, or if {gold!r} holds the right answers with {both}"
            raise ColumnError(
                field,
                Advised(f"{field} must be one column of {what}", advice, got=" and ".join(map(repr, left))),
            )
        if left:
            found[field] = (left[0],)
            claimed.add(left[0])

    for field in wanted:
        if field not in found:
            take(field, by_plain.get(plain(field), []))
    for field in wanted if aliases else ():
        for tier in ALIASES.get(field, ()):
            if field not in found:
                names_of = (by_plain.get(alias, []) for alias in dict.fromkeys(map(plain, tier)))
                take(field, [name for same in names_of for name in same])
    if (
        "round" in found
        and "round" not in chosen
        and plain(found["round"][0]) in TURNS
        and two_models(listed)
    ):
        del found["round"]  # a turn of a conversation between a user and both models
    ordered = {field: found[field] for field in (*wanted, *found) if field in found}
    unread = tuple(name for name in listed if name not in claimed | parts)
    return Resolved(ordered, frozenset(chosen), unread)


_GOLD_OR_VOTE = "answer"
"""A plain name that is as often that of the right answers as that of the votes."""


def maybe_label(names: Iterable[Any]) -> str | None:
    """Return the column that may hold right answers or votes, by its name; None where there is none.

    Examples
    --------
    >>> maybe_label(["id", "Answer", "prediction"]), maybe_label(["id", "vote"])
    ('Answer', None)
    """
    return next((str(name) for name in names if plain(name) == _GOLD_OR_VOTE), None)


def _has_label(names: Iterable[str]) -> bool:
    return bool({"label", *other_names("label")} & {*names})


TURNS = frozenset(f"turn{end}" for end in ("", "number", "no", "nr", "num", "id", "index", "idx"))
"""Plain names of columns of turns; beside two models a turn is a part of the item, not a round of a debate."""


def two_models(names: Iterable[Any]) -> bool:
    """Whether a table compares two models in each row, as tables of verdicts on pairs do.

    Examples
    --------
    >>> two_models(["question_id", "model_a", "model_b", "winner"]), two_models(["model", "vote"])
    (True, False)
    """
    return {"modela", "modelb"} <= set(map(plain, names))


def renamed(
    frame: pd.DataFrame,
    wanted: Sequence[str],
    needed: Sequence[str],
    *,
    columns: Columns = None,
    choosable: Sequence[str] = (),
) -> tuple[pd.DataFrame, list[str]]:
    """Give the columns of a frame their standard names, where all `needed` ones are found, and say so.

    The column that the user chose always gets its name; a column that it hides is dropped. If a needed field
    is not found and the user chose none, the frame stays unchanged.

    Raises
    ------
    ColumnError
        When two columns could be meant, and what is needed is there.

    Examples
    --------
    >>> import pandas as pd
    >>> table, notes = renamed(pd.DataFrame({"qid": [1], "answer": ["A"]}), ["item", "vote"], ["item", "vote"])
    >>> list(table), notes
    (['item', 'vote'], ["columns: item is 'qid', vote is 'answer'"])
    >>> list(renamed(pd.DataFrame({"qid": [1], "x": [2]}), ["item"], ["item"], columns={"item": "x"})[0])
    ['qid', 'item']
    """
    more_fields = [name for name in choosable if name not in wanted]
    columns = choice_of(columns)
    unknown = {name: c for name, c in columns.items() if name not in (*wanted, *more_fields)}
    if unknown:  # refused with the names of all fields
        resolve(frame.columns, [*wanted, *more_fields], columns=unknown)
    fields = [*wanted, *(name for name in more_fields if name in columns)]
    found, doubts = _found(frame.columns, fields, columns)
    if doubts and set(needed) <= {*found.columns, *doubts}:
        raise next(iter(doubts.values()))
    if not set(needed) <= set(found.columns):
        if not columns:
            return frame, []
        found = resolve(frame.columns, list(columns), columns=columns, aliases=False)
    else:  # what has no other names is still found in any case
        taken = {column for several in found.columns.values() for column in several}
        left = [column for column in frame.columns if str(column) not in taken]
        more_fields = [name for name in more_fields if name not in found.columns]
        more_found = resolve(left, more_fields, aliases=False).columns
        found = replace(found, columns={**found.columns, **more_found})
    names: dict[str, str] = {}
    for name, several in found.columns.items():
        if len(several) == 1:
            names.setdefault(several[0], name)
    more = {name: several for name, several in found.columns.items() if name not in names.values()}
    parts = {column for several in more.values() if len(several) > 1 for column in several}
    replaced = {*found.columns, *parts} - set(names)
    hidden = [column for column in frame.columns if str(column) in replaced]
    table = frame.drop(columns=hidden).rename(columns=lambda name: names.get(str(name), name))
    for name, several in more.items():
        table[name] = _joined([frame[column].tolist() for column in several])
    guessed = {name: several for name, several in found.columns.items() if name not in found.chosen}
    return table, Resolved(guessed).taken_note()


def _found(
    names: Iterable[Any], fields: Sequence[str], columns: Columns
) -> tuple[Resolved, dict[str, ColumnError]]:
    """Find the column of each field but those that could be two columns, and the doubts about these."""
    doubts: dict[str, ColumnError] = {}
    while True:
        try:
            left = [name for name in fields if name not in doubts]
            return resolve(names, left, columns=columns), doubts
        except ColumnError as error:
            doubts[error.field] = error


def _joined(cells: Sequence[Sequence[Any]]) -> list[Any]:
    """Make one name of several cells of a row, missing where one of them is."""
    from d3stats.values import name_text  # the command line's help must not wait for pandas

    if len(cells) == 1:
        return list(cells[0])
    rows = ([name_text(cell) for cell in row] for row in zip(*cells, strict=True))
    return [None if None in row else " / ".join(map(str, row)) for row in rows]


def nearest_name(known: Iterable[str], names: Iterable[str]) -> str | None:
    """Return the column whose name is most like one of the known ones, None where none is much like them.

    Examples
    --------
    >>> nearest_name(["prompt", "question"], ["Nr", "Promt"]), nearest_name(["label"], ["Nr"])
    ('Promt', None)
    """
    wanted = list(map(plain, known))
    scored = [
        (max(difflib.SequenceMatcher(None, plain(name), one).ratio() for one in wanted), name)
        for name in names
    ]
    best = max(scored, default=(0.0, ""))
    return best[1] if best[0] >= 0.75 else None


def other_names(field: str) -> tuple[str, ...]:
    """Return all other names of a field, plain, best first."""
    return tuple(dict.fromkeys(plain(name) for tier in ALIASES.get(field, ()) for name in tier))


def _existing(name: str, listed: list[str], by_plain: dict[str, list[str]], field: str, what: str) -> str:
    if name in listed:
        return name
    alike = by_plain.get(plain(name), [])
    if len(alike) == 1:
        return alike[0]
    raise MissingColumn(
        field,
        f"{field} must be a column of {what}; got {name!r}{_near(name, listed)} "
        f"(the columns are {', '.join(listed[:20])})",
    )


def _near(name: str, among: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(among), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
