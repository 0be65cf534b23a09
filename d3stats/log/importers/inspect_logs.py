"""Evaluation logs of Inspect (``.eval`` and ``.json``): epochs are votes of a panel, several scorers are its raters."""

from __future__ import annotations

import json
import math
import os
import shlex
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any, Literal, get_args

import msgspec

from d3stats._check import choice, integer, meant
from d3stats._words import Advised, counted, missing_extra, setting, verb
from d3stats.log.column_names import plain
from d3stats.log.files import no_file
from d3stats.log.importers import ImportSummary, write_records
from d3stats.log.packed import TooLarge, refuse_larger
from d3stats.log.problems import WrongChoice
from d3stats.log.schema import Item, Turn, Verdict
from d3stats.note import INSPECT, Note, warning

__all__ = [
    "GRADES",
    "READINGS",
    "Canonical",
    "Epochs",
    "InspectLog",
    "VoteReading",
    "chosen_scorer",
    "grade_of",
    "label_of",
    "letters_of",
    "load_inspect",
    "read_inspect_log",
    "tokens_of",
    "vote_of",
    "write_debate_log",
]

NAME = "inspect"
TITLE = "Evaluation logs of Inspect: epochs as rounds of one vote, or several scorers as a panel"
SOURCE = "UKGovernmentBEIS/inspect_ai, written against 0.3.285; licence: MIT"
NOTES = (
    "one scorer: each epoch of a sample is a round of one vote; several scorers: each is a rater of every epoch",
    "a vote is the answer that the scorer accepted, or its grade where it left no short answer, or its points",
)

VoteReading = Literal["accepted", "answer", "grade", "points"]
READINGS = get_args(VoteReading)
GRADES = ("correct", "incorrect", "partial")
Canonical = Callable[[str], str | None]
"""Gives equal answers one form; None for what is no answer."""

_GRADE_OF = {"C": "correct", "I": "incorrect", "P": "partial"}
_POINTS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What Inspect counts a letter as; N is no answer."""

_LONGEST = 100
"""Characters of an answer that may be compared with others; a longer one is a whole reply."""


# ------------------------------------------------------------------------------------------------ votes


def vote_of(
    score: Any,
    *,
    reading: VoteReading = "accepted",
    label: str | None = None,
    answers: Collection[str] | None = None,
    canonical: Canonical | None = None,
) -> tuple[str | None, str | None]:
    """Return the vote and, where there is none, why.

    Returns
    -------
    vote, error : str or None
        One of them is None.

    Examples
    --------
    >>> from types import SimpleNamespace as score
    >>> vote_of(score(value="C", answer="$18.00", reason=None), label="18")
    ('18', None)
    >>> vote_of(score(value="I", answer=None, reason=None), label="18")
    (None, 'no_answer')
    >>> [vote_of(score(value=value, reason=None), reading="points")[0] for value in (4, 0.5, "C", float("nan"))]
    ['4', '0.5', 'correct', None]
    """
    grade = grade_of(score.value)
    if reading == "points":
        said = _points_text(score.value)
        return (said, None) if said is not None else (None, _why(score, "no_grade"))
    if reading == "grade":
        return (grade, None) if grade is not None else (None, _why(score, "no_grade"))
    answer = None if score.answer is None else score.answer.strip()
    if answer and canonical is not None:
        answer = canonical(answer)
    if not answer:
        return None, _why(score, "no_answer")
    if reading == "accepted" and label is not None:
        if grade == "correct":
            return label, None
        if isinstance(score.value, float) and math.isnan(score.value):
            return None, _why(score, "no_grade")
        if answer == label:
            # The text says right and the scorer does not: a guess either way.
            return None, "contradiction"
    if answers is not None and answer not in answers:
        return None, "not_a_choice"
    return answer, None


def grade_of(value: Any) -> str | None:
    """Return "correct", "incorrect" or "partial"; None for any other value of a score.

    Examples
    --------
    >>> [grade_of(value) for value in ("C", "I", "P", "N", True, 0, 1.0, 0.5, float("nan"), [1])]
    ['correct', 'incorrect', 'partial', None, 'correct', 'incorrect', 'correct', None, None, None]
    """
    if isinstance(value, str):
        return _GRADE_OF.get(value)
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return "correct" if value else "incorrect"
    return None


def _points_text(value: Any) -> str | None:
    """Return the value of a score as a vote: a grade's word, a number, or a text of the scorer's own."""
    if isinstance(value, bool):
        return "correct" if value else "incorrect"
    if isinstance(value, str):
        return None if value == "N" else _GRADE_OF.get(value, value.strip() or None)
    if isinstance(value, (int, float)) and abs(value) < 1e308:
        return str(value).removesuffix(".0")
    return None


def _number(value: Any) -> float | None:
    """Return the value of a score as Inspect counts it, None where it is no number."""
    if isinstance(value, str):
        return _POINTS.get(value)
    return float(value) if isinstance(value, (bool, int, float)) and abs(value) < 1e308 else None


def label_of(target: str | list[str]) -> str | None:
    """Return the right answer as one text: several targets are joined, no target is None.

    Examples
    --------
    >>> label_of("18"), label_of(["A", "C"]), label_of("")
    ('18', 'A, C', None)
    """
    wanted = [target] if isinstance(target, str) else target
    return ", ".join(text.strip() for text in wanted if text.strip()) or None


def letters_of(choices: list[str] | None, label: str | None) -> tuple[str, ...] | None:
    """Return the letters of a multiple-choice sample when its target is one of them; else None.

    Examples
    --------
    >>> letters_of(["red", "blue"], "B"), letters_of(["red", "blue"], "blue"), letters_of(None, "B")
    (('A', 'B'), None, None)
    """
    if not choices or len(choices) > len(ascii_uppercase):
        return None
    letters = tuple(ascii_uppercase[: len(choices)])
    return letters if label in letters else None


def chosen_scorer(known: Collection[str], scorer: str | None) -> str:
    """Return the scorer that is read: the one that is named, or the only one.

    Raises
    ------
    WrongChoice
        When it is not known, or there are several and none is named, or there is none.
    """
    listed = ", ".join(repr(name) for name in known) or "none"
    if scorer is None:
        if len(known) != 1:
            needed, step = (
                "scorer must be given unless the log has exactly one",
                "choose one with scorer= (--scorer NAME)",
            )
            raise WrongChoice(Advised(needed, step, got=listed))
        return next(iter(known))
    if scorer not in known:
        raise WrongChoice(
            f"scorer must be one of the log's ({listed}); got scorer={scorer!r}{meant(scorer, known)}"
        )
    return scorer


def tokens_of(usage: Mapping[str, Any] | None) -> tuple[int | None, int | None]:
    """Return prompt tokens, cached ones included, and completion tokens of all models; None when not recorded."""
    if not usage:
        return None, None
    cached = ("input_tokens_cache_read", "input_tokens_cache_write")
    prompt = sum(one.input_tokens + sum(getattr(one, name) or 0 for name in cached) for one in usage.values())
    return prompt, sum(one.output_tokens for one in usage.values())


def _why(score: Any, otherwise: str) -> str:
    """Return the scorer's own machine-readable reason, if it gave one."""
    return str(getattr(score, "reason", None) or otherwise)


# ------------------------------------------------------------------------------------------------ files


class _Score(msgspec.Struct):
    value: Any = None
    answer: str | None = None
    explanation: str | None = None
    reason: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None


class _Message(msgspec.Struct):
    content: Any = None


class _Reply(msgspec.Struct):
    message: _Message


class _Output(msgspec.Struct):
    model: str | None = None
    choices: list[_Reply] = []


class _Limit(msgspec.Struct):
    type: str


class _Sample(msgspec.Struct):
    """What is read of a sample; its messages, events and store are passed over."""

    id: int | str
    epoch: int = 1
    input: str | list[dict[str, Any]] | None = None
    target: str | list[str] = ""
    choices: list[str] | None = None
    scores: dict[str, _Score] | None = None
    score: _Score | None = None
    metadata: dict[str, Any] | None = None
    model_usage: dict[str, _Usage] | None = None
    output: _Output | None = None
    error: Any = None
    limit: _Limit | None = None


class _Scorer(msgspec.Struct):
    name: str
    options: dict[str, Any] | None = None

    def inside(self) -> str | None:
        """Say which scorers a reduced score is made of; None for a plain scorer."""
        options = self.options or {}
        parts, reducer = options.get("scorers"), options.get("reducer")
        if not isinstance(parts, list) or not parts:
            return None
        names = [str(part.get("name", "?")) if isinstance(part, dict) else str(part) for part in parts]
        how = reducer.get("name") if isinstance(reducer, dict) else reducer
        text = f"{self.name!r} reduces {counted(len(names), 'scorer')} ({', '.join(names[:6])}) to one score"
        text += f" by {how!r}" if how else ""
        return f"{text}; the log does not hold theirs, so for a panel list them in the task"


class _Dataset(msgspec.Struct):
    sample_ids: list[int | str] | None = None


class _Config(msgspec.Struct):
    epochs: int | None = None


class _Spec(msgspec.Struct):
    task: str
    model: str
    scorers: list[_Scorer] | None = None
    dataset: _Dataset = msgspec.field(default_factory=_Dataset)
    config: _Config = msgspec.field(default_factory=_Config)


class _EarlyStop(msgspec.Struct):
    id: int | str
    reason: str | None = None


class _EarlyStops(msgspec.Struct):
    early_stops: list[_EarlyStop] = []


class _Results(msgspec.Struct):
    early_stopping: _EarlyStops | None = None


class _Head(msgspec.Struct):
    eval: _Spec
    status: str = "started"
    results: _Results | None = None
    samples: list[_Sample] | None = None


@dataclass(frozen=True)
class InspectLog:
    """An evaluation log: its head, and its samples in the order of the data set and of the epochs.

    Attributes
    ----------
    task, model, status : str
    scorers : tuple of str
        A scorer that gives several values is listed once for each, as ``"scorer.key"``.
    samples : tuple of samples
    epochs : int
        How many were planned.
    stopped : dict of str to str
        Why the epochs of a sample were stopped early, by the sample's id.
    reduced : dict of str to str
        A sentence on each scorer that reduces others to one score, by its name.
    """

    task: str
    model: str
    status: str
    scorers: tuple[str, ...]
    samples: tuple[_Sample, ...]
    epochs: int
    stopped: Mapping[str, str]
    reduced: Mapping[str, str]

    @property
    def title(self) -> str:
        """The name of the log: task and model."""
        return f"{self.task}, {self.model}"

    def values(self, scorer: str) -> list[Any]:
        """Return what a scorer gave, without what it left out."""
        given = ((sample.scores or {}).get(scorer) for sample in self.samples)
        return [score.value for score in given if score is not None and score.value is not None]

    def reading(self, scorer: str) -> VoteReading:
        """Return what the votes of the log's only scorer are: answers where it left short ones, grades, or points.

        Votes are grades, too, where the scorer did not accept an answer with the text of the target.
        """
        values = self.values(scorer)
        if not all(value == "N" or grade_of(value) or value != value for value in values):
            return "points"
        given = [(sample.scores or {}).get(scorer) for sample in self.samples]
        answers = [score.answer for score in given if score is not None and score.answer]
        short = all(len(text) <= _LONGEST and "\n" not in text.strip() for text in answers)
        return "accepted" if answers and short and not self.not_accepted(scorer) else "grade"

    def not_accepted(self, scorer: str) -> list[_Sample]:
        """Return the samples whose answer is the text of the target and whose grade is not correct."""
        return [
            sample
            for sample in self.samples
            if (score := (sample.scores or {}).get(scorer)) is not None
            and grade_of(score.value) in ("incorrect", "partial")
            and (score.answer or "").strip()
            and (score.answer or "").strip() == label_of(sample.target)
        ]


def load_inspect(path: str | os.PathLike[str]) -> InspectLog:
    """Read an Inspect log; messages, events and the store of its samples are passed over.

    Raises
    ------
    ImportError
        When the file is packed with Zstandard, and the package for it is absent.
    FileNotFoundError
        When there is no such file.
    ValueError
        When the file is no Inspect log or holds no samples.
    """
    file = Path(path)
    if not file.exists():
        raise no_file(file, "path")
    try:
        if file.suffix.lower() == ".json":
            head = _decoded(_HEAD, file.read_bytes())
            samples = head.samples or []
        else:
            head, samples = _unzipped(file)
    except TooLarge:
        raise
    except (ValueError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        reason = "no zip archive" if isinstance(error, zipfile.BadZipFile) else type(error).__name__
        raise ValueError(f"path must be an Inspect log; got path={str(path)!r}, {reason}") from error
    if not samples:
        raise ValueError(f"path must hold samples; got none in {str(path)!r} (status {head.status!r})")
    ids = {str(one): at for at, one in enumerate(head.eval.dataset.sample_ids or ())}
    samples.sort(key=lambda one: (ids.get(str(one.id), len(ids)), str(one.id), one.epoch))
    named = [one.name for one in head.eval.scorers or ()]
    for sample in samples:
        if sample.scores is None and sample.score is not None:
            sample.scores = {named[0] if named else "scorer": sample.score}
        sample.scores = _one_value_each(sample.scores or {})
    found = dict.fromkeys(name for sample in samples for name in sample.scores or ())
    first = [name for name in named if name in found or not found]
    stops = head.results.early_stopping if head.results else None
    return InspectLog(
        task=head.eval.task,
        model=head.eval.model,
        status=head.status,
        scorers=tuple(dict.fromkeys([*first, *found])),
        samples=tuple(samples),
        epochs=head.eval.config.epochs or 1,
        stopped={str(one.id): one.reason or "early_stop" for one in (stops.early_stops if stops else ())},
        reduced={one.name: said for one in head.eval.scorers or () if (said := one.inside()) is not None},
    )


_HEAD = msgspec.json.Decoder(_Head)
_SAMPLE = msgspec.json.Decoder(_Sample)


def _decoded(decoder: msgspec.json.Decoder[Any], content: bytes) -> Any:
    try:
        return decoder.decode(content)
    except msgspec.DecodeError:
        # NaN, which Inspect writes for a score that is no number, is no JSON for a strict reader.
        return msgspec.convert(json.loads(content), decoder.type)


def _unzipped(path: Path) -> tuple[_Head, list[_Sample]]:
    """Read an archive; a run that broke off has a journal in place of the head."""
    with path.open("rb") as handle, zipfile.ZipFile(handle) as archive:
        # A member that was written twice counts as it was written last.
        members = {info.filename: info for info in archive.infolist()}
        sizes = (info.file_size for info in members.values())
        refuse_larger(path.name, path.stat().st_size, sizes, step="write it as JSON with inspect log convert")
        head = members.get("header.json") or members["_journal/start.json"]
        samples = [
            _decoded(_SAMPLE, _content(handle, info))
            for name, info in members.items()
            if name.startswith("samples/") and name.endswith(".json")
        ]
        return _decoded(_HEAD, _content(handle, head)), samples


_ZSTANDARD = 93
"""How the zip format numbers it; zipfile does not unpack it."""


def _content(handle: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    handle.seek(info.header_offset + 26)
    name, extra = (int.from_bytes(handle.read(2), "little") for _ in range(2))
    handle.seek(info.header_offset + 30 + name + extra)
    packed = handle.read(info.compress_size)
    if info.compress_type == _ZSTANDARD:
        return _from_zstandard(packed, info.file_size)
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, info.file_size)
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"compression must be Zstandard or Deflate; got number {info.compress_type}")
    return packed


def _from_zstandard(packed: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise ImportError(
            missing_extra("reading a log of Inspect needs Zstandard", "inspect", error)
        ) from error
    try:
        return bytes(zstandard.ZstdDecompressor().decompress(packed, max_output_size=size))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def _one_value_each(scores: Mapping[str, _Score]) -> dict[str, _Score]:
    """Give each value of a scorer that gave several a name of its own."""
    apart: dict[str, _Score] = {}
    for name, score in scores.items():
        if isinstance(score.value, dict):
            apart |= {
                f"{name}.{key}": msgspec.structs.replace(score, value=value)
                for key, value in score.value.items()
            }
        else:
            apart[name] = score
    return apart


# ------------------------------------------------------------------------------------------------ records


Epochs = Literal["votes", "debates"]
ROLE, RATER = "panelist", "scorer"


def read_inspect_log(
    path: str | os.PathLike[str],
    *,
    epochs: Epochs = "votes",
    panel: int | None = 1,
    scorer: str | None = None,
    votes: VoteReading = "accepted",
    canonical: Canonical | None = None,
    cluster: str | None = None,
    name: str | None = None,
    text: bool = False,
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a debate log from an Inspect log, by one scorer.

    :func:`d3stats.open`, and so every command, reads an Inspect log too: with all epochs in one round, or with several
    scorers as the raters of a panel.

    Parameters
    ----------
    path : path
        An Inspect log, ``.eval`` or ``.json``. Read only.
    epochs : {"votes", "debates"}
        "votes": a sample is one debate and each of its epochs one vote. "debates": every epoch is a debate of one
        vote, and the sample is the question that they share.
    panel : int or None
        With "votes": how many epochs make a round, in the order of their numbers; None puts all into one round.
    scorer : str, optional
        Whose score is read; it may be left out where there is one scorer. A scorer that gives several values counts as
        several, ``"scorer.key"``.
    votes : {"accepted", "answer", "grade", "points"}
        What a vote is. "accepted": the answer that the scorer read, and the target's own text where the scorer
        calls it correct. A vote then equals the label exactly if the scorer says so. "answer": the unchanged
        answer. "grade": ``"correct"``, ``"incorrect"`` or ``"partial"``, with the label ``"correct"``; for
        scorers that leave no short answer. "points": the scorer's value, without a label.
    canonical : function of str to (str or None), optional
        Gives equal answers one form before they are compared, such as
        :func:`d3stats.log.importers.answers.canonical_number`; None for what is no answer.
    cluster : str, optional
        A key of the samples' metadata: what is resampled together. By default the question.
    name : str, optional
        Names the log, and begins every debate's identifier; by default task and model.
    text : bool
        Keep the question and what was answered.

    Yields
    ------
    Item, Turn or Verdict
        A vote that cannot be read is missing, with an error: ``"sample_error"``, ``"limit_..."``,
        ``"not_scored"``, ``"no_answer"``, ``"not_a_choice"``, ``"no_grade"``, ``"contradiction"`` (the answer is
        the target's text and the scorer calls it wrong), or the scorer's own reason. Tokens are those of the
        sample, all models together, a grader's included. A verdict says why a sample stopped and decides nothing;
        a sample that was cut off with the run has none.

    Raises
    ------
    ImportError
        When the file is packed with Zstandard, as newer versions of Inspect do, and the package for it is absent.
    FileNotFoundError
        When there is no such file.
    ValueError
        When the file is no Inspect log, holds no samples, or the scorer is not clear.

    Examples
    --------
    Two of three epochs agree::

        from d3stats.bridges.inspect import read_inspect_log
        votes = [record.vote for record in read_inspect_log("logs/gsm8k.eval") if record.type == "turn"]
        # ['18', '20', '18']
    """
    choice("epochs", epochs, get_args(Epochs))
    choice("votes", votes, READINGS)
    seats = None if panel is None else integer("panel", panel, minimum=1)
    log = load_inspect(path)
    read = chosen_scorer(log.scorers, scorer)
    title = name or log.title

    def turn(sample: _Sample, debate: str, item: Item, at: int) -> Turn:
        size = seats or max(log.epochs, at + 1)
        place = (1, 1) if epochs == "debates" else (at // size + 1, at % size + 1)
        score = (sample.scores or {}).get(read)
        vote, error = None, _failed(sample)
        if score is not None:
            vote, why = vote_of(
                score, reading=votes, label=item.label, answers=item.answers, canonical=canonical
            )
            error = None if vote is not None else error or why
        tokens_in, tokens_out = tokens_of(sample.model_usage)
        return Turn(
            debate=debate,
            round=place[0],
            agent=f"seat {place[1]}",
            role=ROLE,
            vote=vote,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            model=_model(sample, log),
            text=_said(sample) if text else None,
            error=None if vote is not None else error or "not_scored",
        )

    for _, group in groupby(log.samples, key=lambda sample: str(sample.id)):
        runs = list(group)
        for chunk in [runs] if epochs == "votes" else [[run] for run in runs]:
            item = _item(chunk[0], log, title, votes, cluster, text, alone=epochs == "debates")
            yield item
            turns = [turn(sample, item.debate, item, sample.epoch - 1) for sample in chunk]
            yield from turns
            early = log.stopped.get(str(chunk[0].id))
            if epochs == "debates":
                yield Verdict(debate=item.debate, decision=turns[0].vote, round=1, stop_reason="exhausted")
            elif early is not None or (
                len(chunk) == log.epochs and (log.status == "success" or _all_well(chunk))
            ):
                yield Verdict(
                    debate=item.debate,
                    round=max(one.round for one in turns),
                    stop_reason=early or "exhausted",
                )


def records(
    source: Path,
    said: list[str] | None = None,
    *,
    panel: int | None = 1,
    scorer: str | None = None,
    cluster: str | None = None,
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a log, or of all in a folder: one scorer's votes by epoch, or several scorers as raters."""
    if source.is_dir():
        found = sorted(source.rglob("*.eval"))
        if not found:
            raise ValueError(f"source must hold files named '*.eval'; got none in {str(source)!r}")
        for each in found:
            yield from records(each, said, panel=panel, scorer=scorer, cluster=cluster)
        return
    if not source.exists():
        raise no_file(source, "source")
    log = load_inspect(source)
    if scorer is None and len(log.scorers) > 1:
        yield from _ratings(log, cluster)
        return
    read = chosen_scorer(log.scorers, scorer)
    if said is not None:
        said += _notes_on_grades(log, read)
    yield from read_inspect_log(
        source, panel=panel, scorer=read, votes=log.reading(read), cluster=cluster, text=True
    )


def _ratings(log: InspectLog, cluster: str | None) -> Iterator[Item | Turn | Verdict]:
    """Yield each epoch of a sample as a debate of one round in which every scorer is a rater."""
    for sample in log.samples:
        item = _item(sample, log, log.title, "points", cluster, True, alone=log.epochs > 1)
        yield item
        for name in log.scorers:
            score = (sample.scores or {}).get(name)
            vote, error = (None, None) if score is None else vote_of(score, reading="points")
            yield Turn(
                debate=item.debate,
                round=1,
                agent=name,
                role=RATER,
                vote=vote,
                text=None if score is None else score.explanation or None,
                error=None if vote is not None else _failed(sample) or error or "not_scored",
            )


def notes_on(path: Path, scorer: str | None = None) -> list[Note]:
    """Say what of a log was taken for what by :func:`records` with all epochs in one round."""
    log = load_inspect(path)
    samples = counted(len({str(sample.id) for sample in log.samples}), "sample")
    if scorer is None and len(log.scorers) > 1:
        return [_note_on_raters(log, samples)]
    read = chosen_scorer(log.scorers, scorer)
    vote = {
        "accepted": "the answer that the scorer read, or the target where it was accepted",
        "grade": "the scorer's grade",
        "points": "the scorer's value",
    }[log.reading(read)]
    others = [name for name in log.scorers if name != read]
    left = f"; {counted(len(others), 'other scorer')} not read ({', '.join(others[:6])})" if others else ""
    panel = f"its {log.epochs} epochs are the seats of one round, and " if log.epochs > 1 else ""
    rounds = (
        "; for stopping rules over epochs as rounds: d3stats import inspect LOG -o FILE"
        if log.epochs > 1
        else ""
    )
    chosen = f", of {read!r}" if others else ""
    left += f"; {log.reduced[read]}" if read in log.reduced else ""
    text = f"a log of Inspect with {samples}: {panel}a vote is {vote}{chosen}{left}{rounds}"
    return [Note(text, kind=INSPECT), *_notes_on_grades(log, read)]


def _notes_on_grades(log: InspectLog, scorer: str) -> list[Note]:
    """Say how partial grades and missing answers count, and which refused answers are the target."""
    notes = []
    reading, values = log.reading(scorer), log.values(scorer)
    partial = sum(value == "P" for value in values)
    if partial and reading != "points":
        text = (
            f"{counted(partial, 'partial score')} (P) {verb(partial, 'counts', 'count')} as wrong; Inspect's own "
            f"accuracy counts {verb(partial, 'it', 'them')} one half"
        )
        notes.append(warning(text, "partial scores", about=scorer, n=partial))
    none = sum(value == "N" for value in values)
    if none and reading != "points":
        text = (
            f"{counted(none, 'score')} without an answer (N) {verb(none, 'is a missing vote', 'are missing votes')}; "
            f"Inspect's own accuracy counts {verb(none, 'it', 'them')} as wrong, and so does a table of items"
        )
        notes.append(warning(text, "no answer", about=scorer, n=none))
    refused = log.not_accepted(scorer)
    if refused and reading == "grade":
        first = refused[0]
        value = (first.scores or {})[scorer].value
        text = (
            f"{len(refused):,} of {counted(len(values), 'score')} of {scorer!r} {verb(len(refused), 'is', 'are')} not "
            f"correct although the answer is the target's text, such as {value!r} of sample {str(first.id)!r}; the "
            "scorer decides, so a vote is its grade"
        )
        notes.append(Note(text, kind="not accepted", about=scorer, n=len(refused), examples=[str(first.id)]))
    return notes


def _note_on_raters(log: InspectLog, samples: str) -> Note:
    shown = ", ".join(log.scorers[:6]) + (" and others" if len(log.scorers) > 6 else "")
    each = " in each epoch" if log.epochs > 1 else ""
    text = (
        f"a log of Inspect with {samples}: its {len(log.scorers)} scorers ({shown}) are the raters{each}, and "
        f"their votes are the values that they gave; for the votes and right answers of one scorer: "
        f"scorer={log.scorers[0]!r} (--scorer {shlex.quote(log.scorers[0])})"
    )
    used = {name: set(map(_points_text, log.values(name))) - {None} for name in log.scorers}
    apart = [
        (one, other)
        for one, other in combinations(used, 2)
        if used[one] and used[other] and not used[one] & used[other]
    ]
    odd, n_odd, n_graded = _no_grades(log)
    if odd:
        word = next(iter(odd))
        text += (
            f"; {n_odd} of {counted(n_odd + n_graded, 'score')} are neither C, P, I nor a number, such as {word!r} of "
            f"{odd[word]!r}, and count as answers of their own; to leave them out: "
            f"missing_values={list(odd)!r} (--missing-values {shlex.quote(','.join(odd))})"
        )
    if apart:
        one, other = apart[0]
        text += (
            f"; {one!r} and {other!r} have no value in common, so they may have different scales: choose scorers "
            "that rate alike (agreement --a NAME --b NAME)"
        )
        return warning(text, INSPECT, about=one, examples=log.scorers)
    if odd:
        return warning(text, INSPECT, about=odd[word], n=n_odd, examples=list(odd))
    return Note(text, kind=INSPECT, examples=log.scorers)


def _no_grades(log: InspectLog) -> tuple[dict[str, str], int, int]:
    """Return words beside grades or numbers, each with its scorer, and the counts of both; none where all are words."""
    odd: dict[str, str] = {}
    n_odd = n_graded = 0
    for name in log.scorers:
        for value in log.values(name):
            if isinstance(value, str) and value not in _POINTS and _points_text(value) is not None:
                odd.setdefault(value.strip(), name)
                n_odd += 1
            else:
                n_graded += _number(value) is not None
    return (odd, n_odd, n_graded) if n_graded else ({}, 0, 0)


def item_rows(
    path: Path, value: str | None, scorer: str | None = None
) -> tuple[list[dict[str, Any]], list[Note]]:
    """Return a row per epoch of a sample as a table of items: right or wrong, or points; and what to say of them.

    Raises
    ------
    ValueError
        When there are several scorers, and neither `value` nor `scorer` names one.
    """
    log = load_inspect(path)
    if scorer is None and value not in log.scorers and len(log.scorers) != 1:
        listed = ", ".join(map(repr, log.scorers)) or "none"
        needed = f"scorer must name one of the scorers of {str(path)!r}"
        raise ValueError(Advised(needed, f"choose one with scorer= (--scorer): {listed}", got=repr(value)))
    read = value if value in log.scorers and scorer is None else chosen_scorer(log.scorers, scorer)
    if value is not None and value != read and value in log.scorers:
        raise ValueError(f"value must be left out, or be {read!r} as scorer is; got value={value!r}")
    given = [((sample.scores or {}).get(read), sample) for sample in log.samples]
    numbers = [None if score is None else _number(score.value) for score, _ in given]
    name = read if read == value else "correct" if set(numbers) <= {0, 1, None} else "score"
    rows = [
        {**_about(sample, {"item", name}), "item": str(sample.id), name: number}
        for (_, sample), number in zip(given, numbers, strict=True)
    ]
    silent = [score is not None and number == 0 and not (score.answer or "").strip()
              for (score, _), number in zip(given, numbers, strict=True)]  # fmt: skip
    if log.reading(read) != "accepted" or not any(silent):
        return rows, []
    text = f"{sum(silent)} of {counted(len(rows), 'value')} are 0 because the scorer read no answer; "
    text += f"such votes are missing, and left out, with {setting('value', 'votes')} and in fit and agreement"
    return rows, [Note(text, kind="no answer", n=sum(silent))]


def _about(sample: _Sample, taken: Collection[str]) -> dict[str, Any]:
    """Return what the metadata of a sample says in single values, for strata and clusters."""
    kept = {*taken, "correct", "score", "vote", "label"}
    return {
        name: value
        for name, value in (sample.metadata or {}).items()
        if isinstance(value, (str, int, float, bool)) and plain(name) not in kept
    }


def _all_well(samples: Iterable[_Sample]) -> bool:
    # A run that broke off logs the samples that it cut off, too.
    return all(sample.error is None for sample in samples)


def _failed(sample: _Sample) -> str | None:
    if sample.error is not None:
        return "sample_error"
    return None if sample.limit is None else f"limit_{sample.limit.type}"


def _model(sample: _Sample, log: InspectLog) -> str | None:
    return (sample.output.model if sample.output else None) or log.model or None


def _content_text(content: Any) -> str:
    """Return the text of a message, whose content is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def _said(sample: _Sample) -> str | None:
    replies = sample.output.choices if sample.output else []
    return _content_text(replies[0].message.content) if replies else None


def _item(
    sample: _Sample,
    log: InspectLog,
    title: str,
    votes: VoteReading,
    cluster: str | None,
    text: bool,
    *,
    alone: bool,
) -> Item:
    label = label_of(sample.target)
    answers = letters_of(sample.choices, label)
    if votes == "grade":
        label, answers = "correct", GRADES
    elif votes == "points":
        label, answers = None, None
    together = None if cluster is None else (sample.metadata or {}).get(cluster)
    if cluster is not None and together is None:
        raise ValueError(
            f"cluster must be a key of every sample's metadata; got cluster={cluster!r}, sample {sample.id!r}"
        )
    debate = f"{title}: {sample.id}"
    return Item(
        debate=f"{debate}, epoch {sample.epoch}" if alone else debate,
        question=str(sample.id),
        cluster=None if together is None else str(together),
        label=label,
        answers=answers,
        log=title,
        protocol=f"inspect {log.task}",
        text=_asked(sample) if text else None,
    )


def _asked(sample: _Sample) -> str | None:
    asked = sample.input
    said = (
        asked
        if isinstance(asked, str)
        else "\n".join(_content_text(one.get("content")) for one in asked or ())
    )
    for letter, option in zip(ascii_uppercase, sample.choices or (), strict=False):
        said += f"\n{letter}) {option}"
    return said or None


def write_debate_log(
    inspect_log: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> ImportSummary:
    """Write Inspect logs as one debate log.

    The log is written beside `out` and moved there when it is complete.

    Parameters
    ----------
    inspect_log : path, or mapping of str to path
        One log, or several with a name each (the ``name`` of :func:`read_inspect_log`).
    out : path
        The debate log, ``.jsonl``.
    overwrite : bool
        Replace `out` when it exists.
    **options
        Options of :func:`read_inspect_log`.

    Returns
    -------
    ImportSummary

    Raises
    ------
    FileExistsError
        When `out` exists and `overwrite` is false.
    """
    named: Mapping[Any, Any] = inspect_log if isinstance(inspect_log, Mapping) else {None: inspect_log}
    found = (
        record
        for name, path in named.items()
        for record in read_inspect_log(path, **(options if name is None else {**options, "name": name}))
    )
    return write_records(found, out, source="inspect_ai", overwrite=overwrite)
