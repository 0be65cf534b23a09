"""A replay's measures: which columns they are ratios of, and their tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats.planning._intervals import BootstrapSettings, Limits, RatioColumns
from d3stats.planning._measures import Outcomes

__all__ = ["measure_columns", "measure_table", "paired_table", "written"]

IntArray = NDArray[np.int64]

_WRITTEN = {
    "rounds": "rounds",
    "tokens": "tokens",
    "accuracy": "accuracy",
    "flips": "flips",
    "gained": "gained",
    "lost": "lost",
    "saved_rounds_vs_unanimity": "saved vs unanimity",
    "saved_rounds_vs_full": "saved vs full",
}
_DIGITS = {"tokens": 0, "rounds": 2}


def measure_columns(
    rounds: Mapping[str, IntArray],
    results: Mapping[str, Outcomes],
    references: Mapping[str, str],
    *,
    labelled: bool,
    undecided: Collection[str] = (),
) -> RatioColumns:
    """Say what every measure of every rule is a ratio of.

    Parameters
    ----------
    rounds, results : mapping
        Rounds played and outcomes by rule.
    references : mapping
        What savings are measured against: a word for the measure's name, and the rule.
    labelled : bool
        Whether any debate has a label; without, nothing is said of accuracy.
    undecided : collection of str
        Rules that would have gone on in a debate that ended: their measures, and savings against them, are
        missing.
    """
    columns = RatioColumns(len(next(iter(rounds.values()))))
    nothing = columns.add("nothing", np.zeros(len(next(iter(rounds.values())))))
    for name, result in results.items():
        if name in undecided:
            for measure in _measures_of(result, labelled):
                columns.measure(name, measure, nothing, nothing)
            continue
        columns.add(f"rounds {name}", rounds[name])
        columns.measure(name, "rounds", f"rounds {name}", columns.debates)
        if result.tokens is not None:
            known = columns.add("token debates", ~np.isnan(result.tokens))
            columns.measure(name, "tokens", columns.add(f"tokens {name}", _zeroed(result.tokens)), known)
        if labelled:
            scored = columns.add(f"scored {name}", result.scored)
            correct = columns.add(f"correct {name}", result.correct & result.scored)
            columns.measure(name, "accuracy", correct, scored, share=True)
        compared = columns.add(f"compared {name}", result.compared)
        agrees = columns.add(f"agrees {name}", result.agrees)
        columns.measure(name, "agreement", agrees, compared, share=True)
        flipped = columns.add(f"flips {name}", result.compared & ~result.agrees)
        columns.measure(name, "flips", flipped, compared, share=True)
        if labelled:
            judged = columns.add(f"judged {name}", result.judged)
            gained, lost = (
                columns.add(f"{word} {name}", getattr(result, word)) for word in ("gained", "lost")
            )
            columns.measure(name, "gained", gained, judged, share=True)
            columns.measure(name, "lost", lost, judged, share=True)
    for name, result in results.items():
        for word, reference in references.items():
            against = results[reference].tokens
            if name in undecided or reference in undecided:
                columns.measure(name, f"saved_rounds_vs_{word}", nothing, nothing)
                if result.tokens is not None:
                    columns.measure(name, f"saved_tokens_vs_{word}", nothing, nothing)
                continue
            saved = columns.add(f"saved rounds {word} {name}", rounds[reference] - rounds[name])
            columns.measure(name, f"saved_rounds_vs_{word}", saved, f"rounds {reference}")
            if result.tokens is not None and against is not None:
                saved = columns.add(f"saved tokens {word} {name}", _zeroed(against - result.tokens))
                columns.measure(name, f"saved_tokens_vs_{word}", saved, f"tokens {reference}")
    return columns


def _measures_of(result: Outcomes, labelled: bool) -> list[str]:
    """Name the measures of one rule, savings aside, in the order of the table."""
    tokens = ["tokens"] if result.tokens is not None else []
    accuracy, changes = (["accuracy"], ["gained", "lost"]) if labelled else ([], [])
    return ["rounds", *tokens, *accuracy, "agreement", "flips", *changes]


def measure_table(
    about: pd.DataFrame, columns: RatioColumns, limits: Limits, settings: BootstrapSettings
) -> pd.DataFrame:
    """Put the measures and their limits beside what is known `about` each rule, then the settings."""
    rows: dict[str, dict[str, float]] = {}
    for i, (name, measure) in enumerate(columns.measures):
        row = rows.setdefault(name, {})
        row[measure] = float(limits.estimate[i])
        row[f"{measure}_low"] = float(limits.low[i])
        row[f"{measure}_high"] = float(limits.high[i])
    measured = pd.DataFrame([rows[name] for name in about["rule"]])
    return _with_settings(pd.concat([about, measured], axis=1), settings)


def paired_table(
    pairs: Sequence[tuple[str, str]],
    rounds: Mapping[str, IntArray],
    results: Mapping[str, Outcomes],
    cluster: IntArray,
    settings: BootstrapSettings,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Return the difference of every pair of rules in every measure that both have."""
    if not pairs:
        names = ["rule", "against", "measure", "difference", "low", "high", "n_debates"]
        return _with_settings(pd.DataFrame(columns=names), settings)
    columns = RatioColumns(len(cluster))
    by_key = {f"{first} / {second}": (first, second) for first, second in pairs}
    for key, (first, second) in by_key.items():
        a, b = results[first], results[second]
        both = a.scored & b.scored
        if both.any():
            scored = columns.add(f"scored {key}", both)
            gain = columns.add(f"accuracy {key}", (a.correct.astype(np.float64) - b.correct) * both)
            columns.measure(key, "accuracy", gain, scored)
        longer = columns.add(f"rounds {key}", rounds[first] - rounds[second])
        columns.measure(key, "rounds", longer, columns.debates)
        if a.tokens is not None and b.tokens is not None:
            known = columns.add("token debates", ~np.isnan(a.tokens))
            more = columns.add(f"tokens {key}", _zeroed(a.tokens - b.tokens))
            columns.measure(key, "tokens", more, known)
    limits = columns.limits(cluster, settings, rng)
    frame = pd.DataFrame(
        [(*by_key[key], measure) for key, measure in columns.measures],
        columns=["rule", "against", "measure"],
    )
    frame = frame.assign(
        difference=limits.estimate, low=limits.low, high=limits.high, n_debates=limits.sizes.astype(np.int64)
    )
    return _with_settings(frame, settings)


def written(table: pd.DataFrame, title: str, notes: Sequence[str]) -> str:
    """Write the table as plain text between its title and its notes."""
    rows = table.to_dict("records")
    cells = {"rule": [str(row["rule"]) for row in rows]}
    for column, heading in _WRITTEN.items():
        if column in table.columns:
            cells[heading] = [_with_limits(row, column) for row in rows]
    widths = {heading: max(map(len, [heading, *texts])) for heading, texts in cells.items()}
    lines = [title, "", "  ".join(heading.ljust(widths[heading]) for heading in cells).rstrip()]
    for i in range(len(rows)):
        lines.append("  ".join(texts[i].ljust(widths[heading]) for heading, texts in cells.items()).rstrip())
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)]).rstrip()


def _with_limits(row: Mapping[Any, Any], column: str) -> str:
    value, low, high = (row[name] for name in (column, f"{column}_low", f"{column}_high"))
    if np.isnan(value):
        return "not defined"
    digits = _DIGITS.get(column, 3)
    return f"{value:.{digits}f}" + ("" if np.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]")


def _with_settings(frame: pd.DataFrame, settings: BootstrapSettings) -> pd.DataFrame:
    return frame.assign(level=settings.level, interval=settings.interval, n_boot=settings.n_boot)


def _zeroed(tokens: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take debates without recorded tokens out of a sum; their share of the denominator is out as well."""
    return np.where(np.isnan(tokens), 0.0, tokens)
