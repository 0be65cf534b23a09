"""The first section of a page: the key figures of each log and its warnings, taken from the other sections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from d3stats._words import counted, percent
from d3stats.note import sentence_of, severity_of, warning
from d3stats.report.section import KeyFigure, Part
from d3stats.report.source import Source
from d3stats.resampling.proportions import share
from d3stats.stopping import Unanimity
from d3stats.trajectories import MISSING, Missing

if TYPE_CHECKING:
    from d3stats.estimate import Estimate

__all__ = ["differences_in_short", "in_short", "warnings_of"]

DIFFERENCES_SHOWN = 6
"""Differences between logs among the key figures; the section on the comparison has all."""


@dataclass(frozen=True)
class _Known:
    """A key figure with its number, which is missing where it is unknown."""

    figure: KeyFigure
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan


def in_short(source: Source, parts: Mapping[str, Part], *, level: float, missing: Missing) -> Part:
    """Return the key figures of a log and what warns; `parts` are those of its sections, by key."""
    saved = _saved(parts["rules"])
    advised = not np.isnan(saved.value)
    found = [
        saved if advised else None,
        _size(source),
        _right(source, level, missing),
        _unanimous(source, level),
        None if advised else saved,
        _absent(source),
        _spent(parts["tokens"]),
        _doctor(source),
    ]
    rows = [
        (f.figure.label, f.value, f.low, f.high, f"{f.figure.value}: {f.figure.words}") for f in found if f
    ]
    return Part(
        log=source.name,
        figures=tuple(f.figure for f in found if f),
        warnings=_warnings(source, parts),
        frames={"in short": pd.DataFrame(rows, columns=["figure", "value", "low", "high", "in words"])},
    )


def differences_in_short(part: Part, logs: Iterable[Part]) -> Part | None:
    """Return the differences between logs as key figures; None where there are none.

    Warnings that are in `logs` (the key figures of single logs) are left out.
    """
    if part.absent:
        return None
    said = {
        f"{f'{log.log}: ' if log.log else ''}{sentence_of(w)}".rstrip(".")
        for log in logs
        for w in log.warnings
    }
    rows = part.frames["comparison"].to_dict("records")
    figures = [
        KeyFigure(
            f"Right verdicts, {row['name']}",
            f"{100 * row['value']:+z.1f} points",
            f"{_limits(row['low'], row['high'], row['level'], row['kind'], points=True)}; "
            f"{counted(row['n'], 'question')} that all logs have.",
        )
        for row in rows[:DIFFERENCES_SHOWN]
    ]
    if len(rows) > DIFFERENCES_SHOWN:
        more = counted(len(rows) - DIFFERENCES_SHOWN, "more difference")
        figures.append(KeyFigure("Further pairs of logs", more, "See the section on the comparison."))
    warnings = warnings_of(part.notes)
    fresh = tuple(w for w in warnings if sentence_of(w).rstrip(".") not in said)
    return Part(figures=tuple(figures), warnings=fresh)


# ---------------------------------------------------------------- one figure each


def _size(source: Source) -> _Known:
    t = source.trajectories
    voted = " with a vote" if (t.votes != MISSING).any() else ""
    words = (
        f"of {counted(len(np.unique(t.cluster)), 'question')}; up to {counted(t.n_rounds, 'round')} and "
        f"{counted(len(t.seats), 'agent')}{voted}."
    )
    return _Known(KeyFigure("Debates", f"{t.n_debates:,}", words), float(t.n_debates))


def _right(source: Source, level: float, missing: Missing) -> _Known:
    from d3stats.sources.runs import as_run

    t, label = source.trajectories, "Right verdicts"
    if not (t.label != MISSING).any():
        return _Known(KeyFigure(label, "unknown", "The log has no right answers (labels)."))
    recorded = source.recorded
    try:
        run = as_run(source.opened, by="debate", missing=missing)
        known = ~np.isnan(run.value)
        right = run.value[known].astype(np.int64)
        cluster = np.asarray(run.cluster, dtype=object)[known]
        found = share(right, np.ones_like(right), cluster=cluster, level=level, name=label)
    except ValueError as error:
        return _Known(KeyFigure(label, "unknown", f"{error}."))
    what = "recorded decision" if recorded is not None and recorded.usable else "plurality of the last votes"
    return _share(label, found, f"{counted(found.n, 'debate')}; the verdict is the {what}.")


def _unanimous(source: Source, level: float) -> _Known | None:
    t = source.trajectories
    if len(t.seats) < 2 or t.n_rounds < 1:
        return None
    played = t.reached()[:, 0]
    label = "Unanimous in round 1"
    if not (t.votes[:, 0] != MISSING).any():
        return _Known(KeyFigure(label, "unknown", "No agent votes in round 1."))
    agreed = Unanimity().fires(t)[played, 0].astype(np.int64)
    found = share(agreed, np.ones_like(agreed), cluster=t.cluster[played], level=level, name=label)
    alike = " Wrong votes are taken as alike." if t.coding == "correctness" else ""
    words = f"{counted(found.n, 'debate')}; unanimous are two votes or more that are all equal.{alike}"
    return _share(label, found, words)


def _saved(rules: Part) -> _Known:
    """Return what the plan's rule saves; the page and ``d3stats plan`` give one advice."""
    label = "Saved by stopping early"
    if rules.absent or "advice" not in rules.frames:
        return _Known(KeyFigure(label, "unknown", "The section on stopping rules says why."))
    row = rules.frames["advice"].to_dict("records")[0]
    if row["usual"]:
        reason = f"{row['reason'][0].upper()}{row['reason'][1:]}."
        return _Known(KeyFigure(label, "nothing", f"Run unanimity. {reason}"))
    value, low, high = row["saved"], row["saved_low"], row["saved_high"]
    said = f"{row['words']} The probability is one under the model that d3stats plan fits."
    if value != value:
        return _Known(KeyFigure("The plan's rule saves", "unknown", said))
    return _Known(KeyFigure("The plan's rule saves", percent(value, low, high), said), value, low, high)


def _absent(source: Source) -> _Known:
    missing, asked = source.missing_votes()
    if not asked:
        return _Known(KeyFigure("Missing votes", "none", "No agent was asked for a vote."))
    words = f"{missing:,} of {counted(asked, 'vote')} that were asked for."
    return _Known(KeyFigure("Missing votes", percent(missing / asked, digits=1), words), missing / asked)


def _spent(tokens: Part) -> _Known | None:
    if tokens.absent:
        return None
    row = tokens.frames["tokens"].to_dict("records")[-1]
    each = row["tokens_per_debate"]
    paid = row["dollars"] == row["dollars"]
    dollars = f", {row['dollars']:z,.2f} dollars" if paid else "; no prices were given"
    return _Known(
        KeyFigure("Tokens per debate", f"{each:z,.0f}", f"{row['tokens']:z,.0f} in all{dollars}."), each
    )


def _doctor(source: Source) -> _Known:
    doctor = source.doctor
    if doctor is None:
        return _Known(
            KeyFigure("The doctor", "not asked", "The doctor examines files; this log came as an object.")
        )
    wrong, odd = len(doctor.causes), len(doctor.findings)
    if not wrong and not odd:
        said = "Nothing else is wrong" if doctor.warned else "Nothing is wrong"
        return _Known(
            KeyFigure("The doctor", "sound", f"{said} with {counted(doctor.n_records, 'record')}."), 0.0
        )
    value = " and ".join(counted(n, noun) for n, noun in ((wrong, "problem"), (odd, "finding")) if n)
    left = sum(cause.left_out for cause in doctor.causes)
    words = (
        f"{counted(left, 'record')} of {doctor.n_records:,} left out." if wrong else "No record was left out."
    )
    return _Known(KeyFigure("The doctor", value, words), float(wrong + odd))


# ---------------------------------------------------------------- what warns


def _warnings(source: Source, parts: Mapping[str, Part]) -> tuple[str, ...]:
    """Return what warns; agreement and bias look for the signs again that the whole log was searched for."""
    others = [part for key, part in parts.items() if key not in ("agreement", "bias")]
    none = "No debate has a vote, so nothing on this page says how well or how much the agents agree."
    silent = not (source.trajectories.votes != MISSING).any()
    return (
        *([warning(none, "no votes")] if silent else []),
        *(each for part in parts.values() for each in part.warnings),
        *warnings_of(note for part in others for note in part.notes),
    )


def warnings_of(notes: Iterable[str]) -> tuple[str, ...]:
    """Return the warnings among notes once each."""
    return tuple(dict.fromkeys(note for note in notes if severity_of(note) == "warning"))


# ---------------------------------------------------------------- words


def _share(label: str, found: Estimate, words: str) -> _Known:
    limits = (
        f"No interval: {found.note}"
        if found.low is None or found.high is None
        else _limits(found.low, found.high, found.level, found.kind)
    )
    figure = KeyFigure(label, percent(found.value, digits=1), f"{limits}; {words}")
    low, high = (np.nan if limit is None else limit for limit in (found.low, found.high))
    return _Known(figure, found.value, low, high)


def _limits(low: float, high: float, level: float, kind: str, *, points: bool = False) -> str:
    if low is None or low != low:
        return "No interval"
    ends = f"{_signed(100 * low)} to {_signed(100 * high)}" if points else _percents(low, high)
    return f"{100 * level:.6g} % interval {ends} ({kind})"


def _percents(low: float, high: float) -> str:
    return f"{percent(low, digits=1)} to {percent(high, digits=1)}"


def _signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+z.1f}"  # no minus before a zero
