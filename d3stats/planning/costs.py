"""What a rule's stops mean, debate by debate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice, integer, probability
from d3stats._words import counted, setting
from d3stats.resampling import FEW_CLUSTERS, cluster_totals, ratios, resampled_totals
from d3stats.resampling.bootstrap import bca_ends, percentile_ends
from d3stats.resampling.proportions import share_limits
from d3stats.stopping import FixedRounds
from d3stats.stopping.rule import Rule, StoppingRule, StopReason, Stops
from d3stats.trajectories import MISSING, Missing, Trajectories

__all__ = [
    "BootstrapSettings",
    "Interval",
    "Limits",
    "Outcomes",
    "RatioColumns",
    "absent_note",
    "early_notes",
    "measure_columns",
    "measure_table",
    "notes_on",
    "outcomes",
    "paired_table",
    "spent_by_round",
    "tokens_by_round",
    "undecided",
    "verdicts_at",
    "with_turns",
    "written",
]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What one rule's stops gave, one value per debate.

    Attributes
    ----------
    verdict : ndarray of int32
        Plurality answer at the stop, ``MISSING`` without one.
    tied : ndarray of bool
        Whether two answers led at the stop.
    scored, correct : ndarray of bool
        Whether the debate counts in the accuracy, and whether its verdict is right.
    compared, agrees : ndarray of bool
        Whether the debate counts in the agreement with full depth, and whether the verdicts are the same. None
        counts when some debate ended early: its verdict at full depth is unknown.
    judged, gained, lost : ndarray of bool
        Whether the debate is labelled and compared; right at the stop and not at full depth; the reverse.
    tokens : ndarray of float or None
        Tokens up to the stop, NaN where some round's tokens are not recorded.
    """

    verdict: NDArray[np.int32]
    tied: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    correct: NDArray[np.bool_]
    compared: NDArray[np.bool_]
    agrees: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    gained: NDArray[np.bool_]
    lost: NDArray[np.bool_]
    tokens: FloatArray | None


def with_turns(trajectories: Trajectories) -> tuple[Trajectories, int]:
    """Leave out debates without turns; return the others and how many were left out.

    Raises
    ------
    ValueError
        When no debate has turns.
    """
    n = trajectories.n_debates
    if n == 0:
        raise ValueError("trajectories must hold at least one debate; got none")
    played = trajectories.depth > 0
    if not played.any():
        raise ValueError(f"trajectories must hold at least one debate with turns; got {n} without any turn")
    return (trajectories if played.all() else trajectories.select(played)), int((~played).sum())


def undecided(trajectories: Trajectories, stops: Stops) -> NDArray[np.bool_]:
    """Return which debates ended early, before the rule would have stopped them.

    What the rule would have cost and decided in these debates is unknown; see :meth:`Trajectories.ended_early`.
    """
    went_on = stops.reasons == str(StopReason.EXHAUSTED)
    return np.asarray(went_on & trajectories.ended_early())


def verdicts_at(
    trajectories: Trajectories, rounds: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the verdict after so many rounds of each debate, and whether it was a tie."""
    played = rounds > 0
    if trajectories.n_rounds == 0:
        return np.full(len(rounds), MISSING, np.int32), np.zeros(len(rounds), dtype=bool)
    row, column = np.arange(len(rounds)), np.maximum(rounds - 1, 0)
    verdict = np.where(played, trajectories.verdicts()[row, column], MISSING).astype(np.int32)
    return verdict, trajectories.tied()[row, column] & played


def tokens_by_round(trajectories: Trajectories) -> FloatArray | None:
    """Return tokens spent by the end of each round, a first column of 0 before it; None when none is known.

    A debate with any unrecorded round is NaN throughout, so that every rule is charged on the same debates.
    """
    return None if trajectories.tokens is None else spent_by_round(trajectories, trajectories.tokens)


def spent_by_round(trajectories: Trajectories, cost: FloatArray) -> FloatArray | None:
    """Return what was spent by the end of each round, as :func:`tokens_by_round` does, for any cost of a round."""
    spent = np.where(trajectories.reached(), cost, 0.0)
    known = ~np.isnan(spent).any(axis=1)
    if not known.any():
        return None
    total = np.zeros((len(spent), trajectories.n_rounds + 1))
    total[known, 1:] = np.cumsum(spent[known], axis=1)
    total[~known] = np.nan
    return total


def outcomes(
    trajectories: Trajectories, stops: Stops, missing: Missing, spent: FloatArray | None
) -> Outcomes:
    """Compare the verdicts at the stops with the labels and with the verdicts at full depth."""
    verdict, tied = verdicts_at(trajectories, stops.rounds)
    final, _ = verdicts_at(trajectories, trajectories.depth)
    label = trajectories.label
    labelled = label != MISSING
    correct = (verdict == label) & labelled
    final_correct = (final == label) & labelled
    whole = not trajectories.ended_early().any()
    if missing == "exclude":
        scored = labelled & (verdict != MISSING)
        compared = (verdict != MISSING) & (final != MISSING) & whole
    else:
        scored = labelled
        compared = np.full(len(label), whole)
    judged = labelled & compared
    row = np.arange(len(label))
    return Outcomes(
        verdict=verdict,
        tied=tied,
        scored=scored,
        correct=correct,
        compared=compared,
        agrees=compared & (verdict == final),
        judged=judged,
        gained=judged & correct & ~final_correct,
        lost=judged & ~correct & final_correct,
        tokens=None if spent is None else spent[row, stops.rounds],
    )


Interval = Literal["percentile", "bca"]


@dataclass(frozen=True)
class BootstrapSettings:
    """How intervals are made.

    Attributes
    ----------
    level : float
        Coverage aimed at, in (0, 1); equal-tailed.
    interval : {"percentile", "bca"}
        Efron (1979) percentile limits, or bias-corrected and accelerated ones (Efron 1987) with the
        acceleration from leaving out one cluster at a time.
    n_boot : int
        Replicates.
    """

    level: float
    interval: Interval
    n_boot: int

    def __post_init__(self) -> None:
        probability("level", self.level, open_interval=True)
        choice("interval", self.interval, ("percentile", "bca"))
        integer("n_boot", self.n_boot, minimum=2)


@dataclass(frozen=True, eq=False)
class Limits:
    """Estimates and limits, one per ratio; NaN where the denominator is 0 in the data themselves.

    Limits are NaN too where every replicate gives the same value, as the rounds of a rule that always stops in one.

    Attributes
    ----------
    estimate, low, high : ndarray of float, shape (ratios,)
    sizes : ndarray of float, shape (ratios,)
        The denominators in the data.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    sizes: FloatArray


class RatioColumns:
    """Named columns over debates, and the measures that are ratios of the sums of two of them."""

    def __init__(self, n_debates: int) -> None:
        self._index: dict[str, int] = {}
        self._columns: list[FloatArray] = []
        self.measures: list[tuple[str, str]] = []
        self._ratios: list[tuple[int, int]] = []
        self._shares: list[bool] = []
        self.debates = self.add("debates", np.ones(n_debates))

    def add(self, key: str, values: NDArray[np.float64] | NDArray[np.bool_] | NDArray[np.int64]) -> str:
        """Add a column under a key and return the key; a key that is there already is kept as it is."""
        if key not in self._index:
            self._index[key] = len(self._columns)
            self._columns.append(np.asarray(values, dtype=np.float64))
        return key

    def measure(self, of: str, name: str, above: str, below: str, *, share: bool = False) -> None:
        """Say that a measure is the sum of one column over the sum of another; of a share the first is a part of it."""
        self._shares.append(share)
        self.measures.append((of, name))
        self._ratios.append((self._index[above], self._index[below]))

    def limits(
        self, cluster: NDArray[np.int64], settings: BootstrapSettings, rng: np.random.Generator
    ) -> Limits:
        """Resample clusters, all measures on the same draws, and return every measure with its limits.

        A replicate that leaves a measure's denominator at 0 (no scored debate was drawn) says nothing about
        that measure and is left out of its quantiles.
        """
        totals = cluster_totals(np.column_stack(self._columns), cluster)
        measures = ratios(*self._ratios)
        whole = totals.sum(axis=0)
        drawn = measures(resampled_totals(totals, settings.n_boot, rng))
        left_out = measures(whole - totals)
        once = np.ones(len(totals), dtype=np.int64)
        estimate, low, high, sizes = np.full((4, len(self._ratios)), np.nan)
        for i, (above, below) in enumerate(self._ratios):
            sizes[i] = whole[below]
            replicates = drawn[:, i]
            replicates = replicates[~np.isnan(replicates)]
            if whole[below] <= 0 or len(replicates) == 0:
                continue
            estimate[i] = whole[above] / whole[below]
            if self._shares[i]:
                found = share_limits(totals[:, above], totals[:, below], settings.level)
                low[i], high[i] = (np.nan if x is None else x for x in (found.low, found.high))
                continue
            if settings.interval == "bca":
                ends = bca_ends(estimate[i], replicates, left_out[:, i], once, settings.level)
            else:
                ends = percentile_ends(replicates, settings.level)
            if ends.high > ends.low:  # replicates that are all alike say nothing of how clusters vary
                low[i], high[i] = ends.low, ends.high
        return Limits(estimate, low, high, sizes)


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


def absent_note(without: int, trajectories: Trajectories) -> list[str]:
    """Say how many debates without turns were left out of the debates that are analysed."""
    if not without:
        return []
    return [f"{without} of {without + trajectories.n_debates} debates have no turns and are left out."]


def early_notes(
    trajectories: Trajectories,
    without: int,
    rules: Sequence[StoppingRule],
    undecided: Mapping[str, int],
    baseline: str,
) -> list[str]:
    """Say what a log whose debates ended early cannot tell.

    Parameters
    ----------
    trajectories : Trajectories
        The debates with turns.
    without : int
        Debates without turns, which were left out.
    rules : sequence of StoppingRule
    undecided : mapping of str to int
        Rules that would have gone on after the end of a debate, and in how many debates.
    baseline : str
        The rule that savings are measured against.
    """
    notes = absent_note(without, trajectories)
    n, last = trajectories.n_debates, trajectories.n_rounds
    short = trajectories.depth < last
    stopped = int((trajectories.ended_early() & ~short).sum())
    if short.any() or stopped:
        before = f"{int(short.sum())} of {n} debates ended before round {last}, the last round of the log"
        at = f"a stopping rule ended {stopped} of {n} debates in round {last}, the last round of the log"
        said = (
            before
            if not stopped
            else at
            if not short.any()
            else f"{before}; a stopping rule ended {stopped} in it"
        )
        notes.append(
            f"{said[0].upper()}{said[1:]}: what full depth would have decided in them is unknown, so agreement, flips, "
            "gained, lost and savings against full depth are left out. To compare with full depth, play the debates "
            "without a stopping rule."
        )
    if undecided:
        listed = "; ".join(f"{name} ({counted(count, 'debate')})" for name, count in undecided.items())
        notes.append(
            f"Rules without numbers, because debates ended before the rule would have stopped: {listed}."
        )
    if baseline in undecided:
        notes.append(
            f"Savings against {baseline} are left out, because {counted(undecided[baseline], 'debate')} ended before "
            "it would have stopped."
        )
    longer = [
        str(rule)
        for rule in rules
        if isinstance(rule, FixedRounds) and rule.n > last and str(rule) not in undecided
    ]
    if longer:
        notes.append(
            f"Asks for more rounds than the log has and is cut at round {last}: {'; '.join(longer)}."
        )
    return notes


def _votes_at_the_end(trajectories: Trajectories) -> bool:
    """Whether votes come in the last round of debates of several rounds and never before."""
    t = trajectories
    voted = (t.votes != MISSING).any(axis=2)
    last = np.arange(t.n_rounds) == t.depth[:, None] - 1
    several = (t.depth > 1)[:, None]
    return bool((voted & last & several).any() and not (voted & ~last).any())


def notes_on(
    trajectories: Trajectories,
    rules: Sequence[StoppingRule],
    names: Sequence[str],
    results: Mapping[str, Outcomes],
    missing: Missing,
    shortened: Collection[str],
    level: float,
    undecided: Collection[str] = (),
) -> tuple[str, ...]:
    """Write one sentence for each thing in the data or the rules that limits what the table says.

    `results` are the outcomes by rule; `shortened` names the rules that stopped any debate short of its depth,
    `undecided` those without numbers, of which nothing is said.
    """
    n = trajectories.n_debates
    decided = [name for name in names if name not in undecided]
    notes = [*trajectories.notes]
    n_clusters = len(np.unique(trajectories.cluster))
    if n_clusters < FEW_CLUSTERS:
        few = f"bootstrap intervals are too short with fewer than {FEW_CLUSTERS}"
        notes.append(f"Only {n_clusters} questions: {few}.")
    if trajectories.coding == "correctness":
        notes.append(
            'Votes are coded right or wrong (coding="correctness"): two wrong votes look equal, so wrong '
            "unanimity and wrong pluralities are assumptions, not observations."
        )
    unlabelled = int((trajectories.label == MISSING).sum())
    if unlabelled:
        notes.append(f"{unlabelled} of {n} debates have no label: accuracy, gained and lost leave them out.")
    silent = {name: int((results[name].verdict == MISSING).sum()) for name in decided}
    if any(silent.values()):
        treatment = "left out of accuracy and agreement" if missing == "exclude" else "counted as not correct"
        worst = max(silent, key=lambda name: silent[name])
        notes.append(
            f"Debates without any vote at their stop are {treatment}, {setting('missing', missing)}; "
            f"most under {worst}: {silent[worst]} of {n}."
        )
    tied = {name: int(results[name].tied.sum()) for name in decided}
    if any(tied.values()):
        worst = max(tied, key=lambda name: tied[name])
        notes.append(
            "A tied plurality goes to the tied answer in the lowest seat; "
            f"most ties under {worst}: {tied[worst]} of {n} debates."
        )
    remarks = (part.remarks(trajectories) for rule in rules for part in rule.parts())
    notes += dict.fromkeys(remark for each in remarks for remark in each)
    tokens = results[names[0]].tokens
    short = [name for name in decided if name in shortened]
    if short and tokens is not None and _votes_at_the_end(trajectories):
        notes.append(
            f"No debate has a vote before its last round, so what stops earlier has no verdict ({'; '.join(short)}); "
            "where the voters were asked only then, its tokens leave out what asking them costs."
        )
    if tokens is not None and np.isnan(tokens).any():
        notes.append(f"Tokens leave out {int(np.isnan(tokens).sum())} of {n} debates with unrecorded tokens.")
    steady = [
        name
        for name in decided
        if 0 < results[name].compared.sum() == results[name].agrees.sum() and name in shortened
    ]
    if steady:
        unseen = 1.0 - (1.0 - level) ** (1.0 / n_clusters)
        notes.append(
            f"No verdict flipped under {'; '.join(steady)}: up to "
            f"{unseen:.1%} of questions could flip unseen among {n_clusters} ({level:.0%} bound)."
        )
    batch = [str(name) for rule, name in zip(rules, names, strict=True) if not isinstance(rule, Rule)]
    if batch:
        notes.append(
            f"Decided for the whole batch: {'; '.join(batch)}. The batch's stop is held where it was, so the "
            "intervals leave out that another batch might have stopped in another round."
        )
    peeking = [
        name
        for rule, name in zip(rules, names, strict=True)
        if any(part.needs_labels for part in rule.parts())
    ]
    if peeking:
        notes.append(
            f"Looks at the right answers, which a running debate does not have: {'; '.join(peeking)}."
        )
    return tuple(notes)
