"""The sections of a page: each asks the public functions one question about a log and keeps what they answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats._words import counted, visible
from d3stats.report.figures import png, with_short_names
from d3stats.report.section import Entry, Part, Picture, Section
from d3stats.report.source import Source
from d3stats.report.tables import (
    Table,
    agreement_table,
    audit_table,
    comparison_tables,
    replay_table,
    round_tables,
)
from d3stats.trajectories import MISSING, Missing, Trajectories

if TYPE_CHECKING:
    from d3stats.log.schema import Item, Turn
    from d3stats.log.transcript import Transcript
    from d3stats.worlds.tokens import PriceTable

__all__ = ["Settings", "make_sections"]

MANY_DEBATES = 20_000
"""From so many debates on the resampling takes fewer draws, so that a page takes seconds."""

PAIRS_SHOWN = 45
"""Pairs of agents in the table of agreement; a larger panel shows the coefficients of the whole panel."""

ROUNDS_DRAWN = 8
"""Rounds whose counts are drawn; the table has all."""

TURNS_SHOWN, CHARACTERS_SHOWN = 60, 1200
"""Turns of a transcript, and characters of each text, that a page shows."""


@dataclass(frozen=True)
class Settings:
    """What the user chose; see :func:`d3stats.report.analysis.analyse`."""

    rules: tuple[str, ...] | None = None
    prices: PriceTable | None = None
    model: str | None = None
    missing: Missing = "exclude"
    level: float = 0.95
    n_boot: int | None = None
    seed: int = 0
    transcripts: int = 5

    def draws(self, usual: int, t: Trajectories) -> int:
        """Return the bootstrap replicates for a log."""
        if self.n_boot is not None:
            return self.n_boot
        return usual if t.n_debates < MANY_DEBATES else 200


def make_sections(sources: Sequence[Source], settings: Settings) -> tuple[Section, ...]:
    """Return every section, in the order of the page."""
    each: list[tuple[str, str, str, Callable[[Source, Settings], Part]]] = [
        ("read", "What was read", "Which files, how much of them could be used, and is anything odd?", _read),
        (
            "rounds",
            "Rounds",
            "How many votes are right in each round, which mixture describes the counts, and how far did a round move "
            "from the one before?",
            _rounds,
        ),
        (
            "rules",
            "Stopping rules",
            "What would stopping earlier have cost and lost? Savings are measured against unanimity.",
            _rules,
        ),
        ("agreement", "Agreement", "Do the agents agree more than chance would make them?", _agreement),
        ("bias", "Bias of judges", "Does a judge prefer a place, or a persona change its verdicts?", _bias),
    ]
    after: list[tuple[str, str, str, Callable[[Source, Settings], Part]]] = [
        ("tokens", "Tokens and dollars", "What did the rounds cost?", _tokens),
        (
            "transcripts",
            "Disputed debates",
            "Which debates do the voters disagree on most at the end, and what was said in them?",
            _disputed,
        ),
    ]
    comparison = Section(
        "comparison",
        "Comparison of the logs",
        "Is one log more often right than another on the same questions?",
        (_comparison(sources, settings),),
    )
    return (
        *(_section(one, sources, settings) for one in each),
        comparison,
        *(_section(one, sources, settings) for one in after),
    )


def _section(
    what: tuple[str, str, str, Callable[[Source, Settings], Part]],
    sources: Sequence[Source],
    settings: Settings,
) -> Section:
    key, title, question, make = what
    return Section(key, title, question, tuple(make(source, settings) for source in sources))


def _named(source: Source, **content: Any) -> Part:
    return Part(log=source.name, **content)


def _absent(source: Source, why: str) -> Part:
    return Part(log=source.name, absent=why)


def _sentence(error: Exception) -> str:
    """Return the library's message as a sentence."""
    text = str(error).strip()
    return f"Not computed: {text}" + ("" if text.endswith((".", "!", "?")) else ".")


def _own(notes: Sequence[str], t: Trajectories) -> tuple[str, ...]:
    """Return the notes that the first section does not have already."""
    return tuple(note for note in notes if note not in t.remarks())


def _voted(t: Trajectories) -> bool:
    return bool((t.votes != MISSING).any())


_NO_VOTES = "The log has no votes, so this section cannot be made."


# ---------------------------------------------------------------- what was read


def _read(source: Source, settings: Settings) -> Part:
    t, doctor = source.trajectories, source.doctor
    labelled = int((t.label != MISSING).sum())
    facts: dict[str, str] = {"given": source.given}
    if doctor is not None:
        facts |= {
            "files": f"{doctor.n_files:,}",
            "records read": f"{doctor.n_records:,}",
            "turns": f"{doctor.n_turns:,}",
            "verdicts recorded": f"{doctor.n_verdicts:,}",
        }
    facts |= {
        "debates": f"{t.n_debates:,}",
        "questions (what is resampled)": f"{len(t.cluster_names):,}",
        "rounds, at most": f"{t.n_rounds:,}",
        "seats, at most": f"{len(t.seats):,}",
        "debates with a right answer": f"{labelled:,}",
        "votes say": "answers" if t.coding == "answers" else "right or wrong only",
        "answers that occur": _listed(t.answers),
        "scores": _listed(t.sides) if t.scores is not None else "none",
        "tokens": "none"
        if t.tokens is None
        else "total"
        if t.tokens_in is None
        else "prompt and completion apart",
    }
    said = source.log.notes if source.log is not None else t.notes
    rows = [[name, value] for name, value in facts.items()]
    table: Table = ("The log", ["", "value"], rows)
    tables, warnings = [table], [f"{each.message}." for each in t.findings()]
    lead: list[str] = []
    if doctor is not None:
        left = sum(cause.left_out for cause in doctor.causes)
        if left:
            warnings.insert(
                0, f"{counted(left, 'record')} could not be used and were left out; see the table below."
            )
        warnings += [f"{each.message}." for each in doctor.findings if f"{each.message}." not in warnings]
        if doctor.missing.said_first:
            warnings = [*doctor.missing.sentences(), *warnings]
        shares = [
            ["votes missing", "none" if not doctor.missing_votes else f"{doctor.missing_votes:.1%} of turns"]
        ]
        shares += [[f"error: {kind}", counted(n, "turn")] for kind, n in doctor.errors.items()]
        shares += [["debates without a label", f"{doctor.unlabelled:,}"]] if doctor.unlabelled else []
        shares += [["turns whose tokens are estimates", f"{doctor.estimated:,}"]] if doctor.estimated else []
        tables.append(("What is missing", ["", "how much"], shares))
        if doctor.causes:
            problems = [
                [c.kind, f"{c.count:,}", f"{c.left_out:,}", c.meaning, "; ".join(c.places), c.advice]
                for c in doctor.causes
            ]
            heads = ["problem", "places", "records left out", "what it is", "for example", "what to do"]
            tables.append(("Problems that the doctor found", heads, problems))
        else:
            lead.append("The doctor found no defective record.")
    else:
        lead.append(
            "The log was given as an object in memory, so the doctor, who examines files, was not asked."
        )
    decided = None if source.recorded is None else source.recorded.note()
    frame = pd.DataFrame(rows, columns=["what", "value"])
    return _named(
        source,
        lead=tuple(lead),
        warnings=tuple(warnings),
        tables=tuple(tables),
        frames={"read": frame},
        notes=(*[f"{note}." for note in said], *([decided] if decided else [])),
    )


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


# ---------------------------------------------------------------- rounds


def _rounds(source: Source, settings: Settings) -> Part:
    from d3stats.planning.describe import describe_rounds
    from d3stats.plotting import plot_counts_by_round, plot_ks_series

    t = source.trajectories
    if not _voted(t):
        return _absent(source, _NO_VOTES)
    if not (t.label != MISSING).any():
        return _absent(
            source,
            "The log has no right answers (labels), so it is unknown which votes are right and no counts are made.",
        )
    n_boot = settings.draws(500, t)
    try:
        found = describe_rounds(
            t, missing=settings.missing, level=settings.level, n_boot=n_boot, rng=settings.seed
        )
    except ValueError as error:
        return _absent(source, _sentence(error))
    shares = found.fit.count_shares(level=settings.level, n_boot=n_boot, rng=settings.seed)
    rounds = list(dict.fromkeys(shares["round"]))
    drawn = rounds
    if len(rounds) > ROUNDS_DRAWN:
        drawn = [rounds[k] for k in np.linspace(0, len(rounds) - 1, ROUNDS_DRAWN).round().astype(int)]
    some = "" if drawn == rounds else f" Rounds {', '.join(map(str, drawn))} of {len(rounds)} are drawn."
    panels = min(2, len(drawn))
    pictures = [
        Picture(
            png(lambda: plot_counts_by_round(shares[shares["round"].isin(drawn)], columns=panels)),
            f"Bars: share of debates by number of right votes in rounds {', '.join(map(str, drawn))}. Dots: the "
            "fitted mixture. The tables hold the numbers.",
            "Logged shares of debates by number of right votes (bars), the fitted mixture (dots) and its "
            f"{settings.level:.0%} interval (lines).{some}",
        )
    ]
    lead: list[str] = []
    moved = found.drift.ks()
    if len(rounds) > 1:
        pictures.append(
            Picture(
                png(lambda: plot_ks_series(moved)),
                "KS distance of each round to the round before, on counts and on the fitted densities, with the "
                "distance that noise alone would give. The second table holds the numbers.",
                "Kolmogorov-Smirnov distance to the round before. Below a grey bar the distance is no evidence that "
                "anything moved.",
            )
        )
    else:
        lead.append("The log has one round with votes, so there is no distance to a round before.")
    return _named(
        source,
        lead=tuple(lead),
        tables=tuple(round_tables(found)),
        frames={"rounds": found.to_frame(), "counts": found.counts().reset_index(), "ks": moved},
        pictures=tuple(pictures),
        notes=_own(found.notes(), t),
    )


# ---------------------------------------------------------------- rules


def _rules(source: Source, settings: Settings) -> Part:
    from d3stats.planning.replay import replay

    t = source.trajectories
    if not _voted(t):
        return _absent(source, "The log has no votes, so a stopped debate would have no verdict to replay.")
    if t.n_rounds < 2:
        return _absent(source, "The log has one round, so there is nothing to stop earlier.")
    n_boot = settings.draws(2000, t)
    try:
        found = replay(
            t,
            list(settings.rules if settings.rules is not None else _usual_rules(t)),
            missing=settings.missing,
            level=settings.level,
            n_boot=n_boot,
            rng=settings.seed,
        )
    except ValueError as error:
        return _absent(source, _sentence(error))
    stops = found.stops()
    return _named(
        source,
        tables=(replay_table(found),),
        frames={"rules": found.to_frame(), "stops": stops},
        pictures=(
            Picture(
                png(found.plot),
                "For each rule a bar that is cut by the round in which debates stop. The table holds the shares.",
                "Share of debates that each rule stops in each round, and why.",
            ),
        ),
        notes=(*_own(found.notes, t), f"{n_boot:,} bootstrap draws."),
    )


def _usual_rules(t: Trajectories) -> list[str]:
    """Return the rules that are replayed where none is named; a KS rule counts right votes, so it needs labels."""
    fixed = [f"fixed:{n}" for n in (1, 2) if n < t.n_rounds]
    moved = ["ks:0.05,patience=1"] if bool((t.label != MISSING).all()) else []
    return [*fixed, "supermajority:0.8", *moved]


# ---------------------------------------------------------------- agreement, bias, comparison


def _agreement(source: Source, settings: Settings) -> Part:
    from d3stats.inference.judges.agreement import MEASURES, agreement
    from d3stats.plotting.intervals import plot_agreement

    t = source.trajectories
    if not _voted(t):
        return _absent(source, _NO_VOTES)
    if len(t.seats) < 2:
        return _absent(source, "One agent votes, so there is nobody to agree with.")
    if t.coding == "correctness":
        return _absent(
            source, "The log says only which votes are right, so whether two wrong votes agree is unknown."
        )
    pairs = len(t.seats) * (len(t.seats) - 1) // 2
    measures = [name for name in MEASURES if name != "cohen" or pairs <= PAIRS_SHOWN]
    try:
        found = agreement(t, measures=measures, level=settings.level, rng=settings.seed)
    except ValueError as error:
        return _absent(source, _sentence(error))
    notes = [*(f"{name}: {why}" for name, why in found.refused.items()), *_own(found.notes, t)]
    if pairs > PAIRS_SHOWN:
        notes.append(f"{pairs} pairs of agents are not shown one by one; d3stats agreement lists them.")
    drawn = with_short_names(found.to_frame(), "name")[["name", "value", "low", "high", "level", "kind"]]
    picture = Picture(
        png(lambda: plot_agreement(drawn, label="agreement")),
        "Each coefficient of agreement with its interval. The table holds the numbers.",
        "Agreement of the panel and of every pair, with intervals."
        if pairs <= PAIRS_SHOWN
        else "Agreement of the panel, with intervals.",
    )
    return _named(
        source,
        lead=("Votes of each debate's last round; an agent is a seat.",),
        tables=(agreement_table(found),),
        frames={"agreement": found.to_frame()},
        pictures=(picture,),
        notes=tuple(notes),
    )


_OTHER_AUDITS = (
    "Length and self-preference need the answers' lengths and families, which a debate log does not hold; "
    "d3stats bias audits them from a table of verdicts."
)


def _bias(source: Source, settings: Settings) -> Part:
    from d3stats.inference.bias import as_judgments, each_judge, persona_effect, position_bias, position_frame
    from d3stats.plotting.intervals import plot_position_bias

    t = source.trajectories
    if not _voted(t):
        return _absent(source, _NO_VOTES)
    if t.coding == "correctness" or len(t.answers) > 3:
        return _absent(
            source,
            "Position bias is about votes between two answers, A and B; this log has other votes. "
            + _OTHER_AUDITS,
        )
    personas = [seat for seat in t.seats if seat == "none"]
    ordered = source.log is not None and bool(source.log.items["first"].notna().any())
    named = any(seat.endswith((" first", "1-2)", "2-1)", "1-2", "2-1")) for seat in t.seats)
    if not (ordered or named or personas):
        return _absent(
            source,
            "The log does not say which answer was shown first, and no seat is a juror without a persona called "
            f"'none', so neither position nor persona can be audited. {_OTHER_AUDITS}",
        )
    tables: list[Table] = []
    pictures: list[Picture] = []
    notes: list[str] = []
    frames = {}
    try:
        data = as_judgments(source.log if source.log is not None else t, decisions=True)
        if ordered or named:
            found = each_judge(position_bias, data, level=settings.level, rng=settings.seed)
            frames["position"] = found.to_frame()
            for audit in found.values():
                title, heads, rows = audit_table(audit)
                tables.append((f"Position: {title}", heads, rows))
                notes += [f"{audit.judge}: {note}" for note in audit.notes]
            notes += found.notes
            pictures.append(
                Picture(
                    png(lambda: plot_position_bias(with_short_names(position_frame(found), "judge"))),
                    "Swap consistency and first-slot preference of each judge with intervals. The tables hold the "
                    "numbers.",
                    "Consistency of each judge when the order is swapped, and its preference for a place.",
                )
            )
        if personas:
            effect = persona_effect(data, level=settings.level, missing=settings.missing)
            title, heads, rows = audit_table(effect)
            tables.append((f"Persona: {title}", heads, rows))
            frames["persona"] = effect.to_frame()
            notes += effect.notes
    except ValueError as error:
        if not tables:
            return _absent(source, f"{_sentence(error)} {_OTHER_AUDITS}")
        notes.append(_sentence(error))
    return _named(
        source,
        tables=tuple(tables),
        frames=frames,
        pictures=tuple(pictures),
        notes=(*_own(notes, t), _OTHER_AUDITS),
    )


def _comparison(sources: Sequence[Source], settings: Settings) -> Part:
    from d3stats.inference.comparison.compare import compare
    from d3stats.inference.comparison.runs import ItemMismatch
    from d3stats.plotting.intervals import plot_forest

    if len(sources) < 2:
        return Part(absent="One log was given, so there is nothing to compare it with.")
    unlabelled = [s.name for s in sources if not (s.trajectories.label != MISSING).any()]
    if unlabelled:
        return Part(absent=f"Logs without right answers cannot be compared: {', '.join(unlabelled)}.")
    runs: list[Any] = [s.log if s.log is not None else s.trajectories for s in sources]
    how: dict[str, Any] = {"names": [s.name for s in sources], "missing": settings.missing}
    how |= {"level": settings.level, "rng": settings.seed}
    try:
        try:
            found = compare(*runs, **how)
        except ItemMismatch:
            found = compare(*runs, items="intersection", **how)
    except ValueError as error:
        return Part(absent=_sentence(error))
    drawn = with_short_names(found.to_frame(), "name").rename(
        columns={"name": "label", "value": "difference"}
    )
    drawn = drawn[["label", "difference", "low", "high", "level", "kind"]]
    return Part(
        lead=(
            f"{counted(found.n_items, 'question')} that all logs have; {sources[0].name} is the reference.",
        ),
        tables=tuple(comparison_tables(found)),
        frames={"comparison": found.to_frame(), "runs": found.to_frame("runs")},
        pictures=(
            Picture(
                png(lambda: plot_forest(drawn)),
                "Each difference between two logs with its interval, about zero. The table holds the numbers.",
                "Differences between logs, second less first, with intervals.",
            ),
        ),
        notes=found.notes,
    )


# ---------------------------------------------------------------- tokens


def _tokens(source: Source, settings: Settings) -> Part:
    from d3stats.planning.prices import price_turns, spending

    t = source.trajectories
    if t.tokens is None or not bool((~np.isnan(t.tokens)).any()):
        return _absent(source, "The log does not record tokens, so what the debates cost is unknown.")
    notes: list[str] = []
    paid = None
    if settings.prices is None:
        notes.append("No price table was given, so there are no dollars: --prices FILE adds them.")
    elif source.log is None:
        notes.append("Dollars need the turns of a log; this log was given as arrays.")
    else:
        try:
            priced = price_turns(source.log.turns, t, settings.prices, model=settings.model)
            paid = priced.dollars
            notes.append(f"{priced.note[0].upper()}{priced.note[1:]}.")
        except ValueError as error:
            notes.append(_sentence(error))
    frame = spending(t, paid)
    heads = {
        "round": "round",
        "debates": "debates",
        "tokens_in": "prompt tokens",
        "tokens_out": "completion tokens",
    }
    heads |= {"tokens": "tokens", "tokens_per_debate": "tokens per debate"}
    heads |= {"dollars": "dollars", "dollars_per_debate": "dollars per debate"}
    shown = {name: head for name, head in heads.items() if frame[name].notna().any()}
    rows = [
        [_amount(name, value) for name, value in row.items() if name in shown]
        for row in frame.to_dict("records")
    ]
    unknown = int(frame["unrecorded"].iloc[-1])
    if unknown:
        notes.append(f"{counted(unknown, 'debate')} with rounds whose tokens were not recorded: those rounds are left "
                     "out of the sums.")  # fmt: skip
    return _named(
        source,
        tables=(("Tokens by round", list(shown.values()), rows),),
        frames={"tokens": frame},
        notes=tuple(notes),
    )


def _amount(name: Any, value: Any) -> str:
    if value is pd.NA or value is None or value != value:
        return "all" if name == "round" else "-"
    if str(name).startswith("dollars"):
        return f"{value:,.2f}" if value >= 1 else f"{value:.4f}"
    return f"{value:,.0f}"


# ---------------------------------------------------------------- transcripts


def _disputed(source: Source, settings: Settings) -> Part:
    from d3stats.inference.judges.disputed import disputed_debates
    from d3stats.log.transcript import read_transcripts

    t = source.trajectories
    if not _voted(t):
        return _absent(source, "The log has no votes, so no debate is disputed.")
    if settings.transcripts < 1:
        return _absent(source, "No transcripts were asked for.")
    frame = disputed_debates(t, settings.transcripts)
    if frame.empty:
        return _absent(source, "In every debate all votes of the last round agree.")
    rows = [
        [
            str(row["debate"]),
            str(row["question"]),
            str(row["round"]),
            f"{row['largest']} of {row['votes']}",
            row["verdict"] or "-",
            row["label"] or "unknown",
        ]
        for row in frame.to_dict("records")
    ]
    heads = [
        "debate",
        "question",
        "round of the last vote",
        "votes for the plurality",
        "plurality",
        "right answer",
    ]
    table: Table = (
        f"The {counted(len(frame), 'debate')} with the most votes against the plurality",
        heads,
        rows,
    )
    found: dict[str, Transcript] = {}
    if source.path is not None:
        found = read_transcripts(source.path, debates=frame["debate"].tolist())
    texts = {name: one for name, one in found.items() if _has_text(one)}
    debates = tuple((f"Debate: {name}", _entries(one)) for name, one in texts.items())
    lead = (
        "Shown are at most "
        f"{counted(settings.transcripts, 'debate')}, {TURNS_SHOWN} turns of each, and {CHARACTERS_SHOWN:,} characters "
        "of each text; d3stats show prints a debate whole.",
    )
    return _named(
        source,
        tables=(table,),
        frames={"disputed": frame},
        lead=lead
        if debates
        else ("The log holds no texts of these debates, so what was said cannot be shown.",),
        debates=debates,
    )


def _has_text(one: Transcript) -> bool:
    return bool(one.item.text or one.item.candidates or any(turn.text for turn in one.turns))


def _entries(one: Transcript) -> tuple[Entry, ...]:
    entries = [_question(one.item)]
    for name, candidate in zip(one.item.answers or (), one.item.candidates or (), strict=False):
        entries.append(Entry(f"Answer {name}", words=_cut(candidate)))
    entries += [_turn(turn) for turn in one.turns[:TURNS_SHOWN]]
    if len(one.turns) > TURNS_SHOWN:
        entries.append(Entry(f"{len(one.turns) - TURNS_SHOWN:,} more turns are not shown"))
    if one.verdict is not None:
        said = one.verdict.decision or "none"
        entries.append(
            Entry("Verdict", (f"decision: {said}", f"reason: {one.verdict.stop_reason or 'not recorded'}"))
        )
    return tuple(entries)


def _question(item: Item) -> Entry:
    facts = [f"right answer: {item.label}" if item.label is not None else "right answer: unknown"]
    facts += [f"shown first: {item.first}"] if item.first else []
    return Entry(f"Question: {item.question}", tuple(facts), _cut(item.text))


def _turn(turn: Turn) -> Entry:
    facts = [f"votes {turn.vote}"] if turn.vote is not None else []
    for side, criteria in (turn.scores or {}).items():
        facts.append(f"{side}: {sum(criteria.values()):g} points" if criteria else f"{side}: no points")
    facts += [f"error: {turn.error}"] if turn.error else []
    role = f" ({turn.role})" if turn.role and turn.role != turn.agent else ""
    return Entry(f"{turn.agent}{role}", tuple(facts), _cut(turn.text), turn.round)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= CHARACTERS_SHOWN:
        return text
    left = len(text) - CHARACTERS_SHOWN
    return f"{visible(text[:CHARACTERS_SHOWN])} [{left:,} more characters]"
