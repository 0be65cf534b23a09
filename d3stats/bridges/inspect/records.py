"""Inspect's evaluation logs as debate logs: epochs are votes of a panel, or debates of their own."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal, get_args

from d3stats._check import choice, integer
from d3stats._words import missing_extra
from d3stats.log.importers import ImportSummary, write_records
from d3stats.log.schema import Item, Turn, Verdict

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.scorer import Score

__all__ = [
    "GRADES",
    "READINGS",
    "Canonical",
    "Epochs",
    "Reading",
    "chosen_scorer",
    "grade_of",
    "label_of",
    "letters_of",
    "read_inspect_log",
    "tokens_of",
    "vote_of",
    "write_debate_log",
]

Reading = Literal["accepted", "answer", "grade"]
READINGS = get_args(Reading)
GRADES = ("correct", "incorrect", "partial")
Canonical = Callable[[str], str | None]
"""Gives equal answers one form; None for what is no answer."""

_GRADE_OF = {"C": "correct", "I": "incorrect", "P": "partial"}


def vote_of(
    score: Score,
    *,
    reading: Reading = "accepted",
    label: str | None = None,
    answers: Collection[str] | None = None,
    canonical: Canonical | None = None,
) -> tuple[str | None, str | None]:
    """Return the vote and, where there is none, why.

    Parameters
    ----------
    score : Score
        Score of one sample, by one scorer.
    reading : {"accepted", "answer", "grade"}
        See :func:`~d3stats.bridges.inspect.read_inspect_log`.
    label : str, optional
        The right answer; with "accepted" an answer that the scorer calls correct is written like this.
    answers : collection of str, optional
        The closed set; an answer outside it is no vote.
    canonical : function of str to (str or None), optional
        Gives equal answers one form.

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
    """
    grade = grade_of(score.value)
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
    ValueError
        When it is not known, or there are several and none is named, or there is none.
    """
    listed = ", ".join(repr(name) for name in known) or "none"
    if scorer is None:
        if len(known) != 1:
            raise ValueError(f"scorer must be given unless the log has exactly one; got {listed}")
        return next(iter(known))
    if scorer not in known:
        raise ValueError(f"scorer must be one of the log's ({listed}); got scorer={scorer!r}")
    return scorer


def tokens_of(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return prompt tokens, cached ones included, and completion tokens of all models; None when not recorded."""
    if not usage:
        return None, None
    cached = ("input_tokens_cache_read", "input_tokens_cache_write")
    prompt = sum(one.input_tokens + sum(getattr(one, name) or 0 for name in cached) for one in usage.values())
    return prompt, sum(one.output_tokens for one in usage.values())


def _why(score: Score, otherwise: str) -> str:
    """Return the scorer's own machine-readable reason, if it gave one."""
    return str(getattr(score, "reason", None) or otherwise)


Epochs = Literal["votes", "debates"]
ROLE = "panelist"
_UNREAD = {"messages", "events", "store", "attachments", "timelines"}
"""Parts of a sample that nothing here looks at."""
_SMALL = 100_000
"""Packed bytes per sample up to which reading everything is quicker than leaving parts out."""
_BLOCK = 64
"""Samples that are in memory at a time."""


def read_inspect_log(
    path: str | os.PathLike[str],
    *,
    epochs: Epochs = "votes",
    panel: int | None = 1,
    scorer: str | None = None,
    votes: Reading = "accepted",
    canonical: Canonical | None = None,
    cluster: str | None = None,
    name: str | None = None,
    text: bool = False,
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a debate log from an Inspect log.

    Parameters
    ----------
    path : path
        An Inspect log, ``.eval`` or ``.json``. Read only; of an ``.eval`` file 64 samples are in memory at a time.
    epochs : {"votes", "debates"}
        "votes": a sample is one debate and each of its epochs one vote. "debates": every epoch is a debate of one
        vote, and the sample is the question that they share.
    panel : int or None
        With "votes": how many epochs make a round, in the order of their numbers; None puts all into one round.
    scorer : str, optional
        Whose score is read; it may be left out where there is one scorer.
    votes : {"accepted", "answer", "grade"}
        What a vote is. "accepted": the answer that the scorer read, and the target's own text where the scorer
        calls it correct. A vote then equals the label exactly if the scorer says so. "answer": the unchanged
        answer. "grade": ``"correct"``, ``"incorrect"`` or ``"partial"``, with the label ``"correct"``; for
        scorers that leave no short answer.
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
        When inspect_ai is not installed.
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
    header, samples = _open(Path(path))
    read = chosen_scorer([one.name for one in header.eval.scorers or ()], scorer)
    title = name or f"{header.eval.task}, {header.eval.model}"
    stopped = _early_stops(header)
    planned = header.eval.config.epochs or 1
    ended = header.status == "success"

    def turn(sample: EvalSample, debate: str, item: Item, at: int) -> Turn:
        size = seats or planned
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
            model=sample.output.model or header.eval.model or None,
            text=sample.output.completion if text else None,
            error=None if vote is not None else error or "not_scored",
        )

    found = False
    for _, group in groupby(samples, key=lambda sample: str(sample.id)):
        runs = sorted(group, key=lambda sample: sample.epoch)
        found = True
        for chunk in [runs] if epochs == "votes" else [[run] for run in runs]:
            item = _item(chunk[0], header, title, votes, cluster, text, alone=epochs == "debates")
            yield item
            turns = [turn(sample, item.debate, item, sample.epoch - 1) for sample in chunk]
            yield from turns
            early = stopped.get(str(chunk[0].id))
            if epochs == "debates":
                yield Verdict(debate=item.debate, decision=turns[0].vote, round=1, stop_reason="exhausted")
            elif early is not None or (len(chunk) == planned and (ended or _all_well(chunk))):
                yield Verdict(
                    debate=item.debate,
                    round=max(one.round for one in turns),
                    stop_reason=early or "exhausted",
                )
    if not found:
        raise ValueError(f"path must hold samples; got none in {str(path)!r} (status {header.status!r})")


def _open(path: Path) -> tuple[EvalLog, Iterable[EvalSample]]:
    """Return a log's head and its samples, sample by sample and epoch by epoch."""
    reading = _inspect_log()
    if not path.exists():
        raise FileNotFoundError(f"path must exist; got path={str(path)!r}")
    try:
        if path.suffix == ".eval" and hasattr(reading, "read_eval_log_samples_by_id"):
            header = reading.read_eval_log(str(path), header_only=True)
            runs = sorted(reading.read_eval_log_sample_summaries(str(path)), key=_order(header))
            return header, _in_blocks(reading, path, runs)
        whole = reading.read_eval_log(str(path))
    except Exception as error:
        # Whatever the reader stumbles over (zip, JSON, schema), the user gets one line.
        raise ValueError(
            f"path must be an Inspect log; got path={str(path)!r}, {type(error).__name__}"
        ) from error
    return whole, sorted(whole.samples or [], key=_order(whole))


def _in_blocks(reading: Any, path: Path, runs: Sequence[Any]) -> Iterator[EvalSample]:
    """Yield samples as listed; one at a time would read the file's table of contents for each."""
    small = path.stat().st_size <= _SMALL * len(runs)
    for start in range(0, len(runs), _BLOCK):
        yield from reading.read_eval_log_samples_by_id(
            str(path),
            [(run.id, run.epoch) for run in runs[start : start + _BLOCK]],
            exclude_fields=None if small else _UNREAD,
        )


def _order(log: EvalLog) -> Any:
    places = {str(one): at for at, one in enumerate(log.eval.dataset.sample_ids or ())}
    return lambda sample: (places.get(str(sample.id), len(places)), str(sample.id), sample.epoch)


def _inspect_log() -> Any:
    try:
        import inspect_ai.log
    except ImportError as error:
        raise ImportError(
            missing_extra("reading a log of Inspect needs inspect-ai", "inspect", error)
        ) from error
    return inspect_ai.log


def _early_stops(log: EvalLog) -> dict[str, str]:
    summary = None if log.results is None else getattr(log.results, "early_stopping", None)
    return {} if summary is None else {str(one.id): one.reason or "early_stop" for one in summary.early_stops}


def _all_well(samples: Iterable[EvalSample]) -> bool:
    # A run that broke off logs the samples that it cut off, too.
    return all(sample.error is None for sample in samples)


def _failed(sample: EvalSample) -> str | None:
    if sample.error is not None:
        return "sample_error"
    return None if sample.limit is None else f"limit_{sample.limit.type}"


def _item(
    sample: EvalSample,
    log: EvalLog,
    title: str,
    votes: Reading,
    cluster: str | None,
    text: bool,
    *,
    alone: bool,
) -> Item:
    label = label_of(sample.target)
    answers = letters_of(sample.choices, label)
    if votes == "grade":
        label, answers = "correct", GRADES
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
        protocol=f"inspect {log.eval.task}",
        text=_asked(sample) if text else None,
    )


def _asked(sample: EvalSample) -> str | None:
    asked = sample.input
    said = asked if isinstance(asked, str) else "\n".join(message.text for message in asked)
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
    records = (
        record
        for name, path in named.items()
        for record in read_inspect_log(path, **(options if name is None else {**options, "name": name}))
    )
    return write_records(records, out, source="inspect_ai", overwrite=overwrite)
