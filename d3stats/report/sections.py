"""The sections of a page: each asks the public functions one question about a log and keeps what they answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats._words import counted, percent, verb, visible
from d3stats.inputs.questions import contradictions, warned
from d3stats.note import warning, with_words
from d3stats.report.figures import svg, with_short_names
from d3stats.report.in_short import differences_in_short, in_short, warnings_of
from d3stats.report.section import Entry, Part, Picture, Section
from d3stats.report.source import Source, rules_of_protocols
from d3stats.report.tables import (
    Table,
    agreement_table,
    audit_table,
    audit_tables,
    comparison_tables,
    score_tables,
    strata_notes,
    strata_of,
    table_of,
)
from d3stats.stopping import Unanimity
from d3stats.stopping.text import short_name
from d3stats.trajectories import MISSING, Missing, Trajectories

if TYPE_CHECKING:
    from d3stats.inference.comparison.strata import Strata
    from d3stats.inputs.labels import ItemStrata
    from d3stats.log.frames import DebateLog
    from d3stats.log.schema import Item, Turn
    from d3stats.log.transcript import Transcript
    from d3stats.planning.plan import Plan
    from d3stats.planning.replay import Replay
    from d3stats.worlds.tokens import PriceTable

__all__ = ["Settings", "make_sections"]

MANY_DEBATES = 20_000
"""From so many debates on the resampling takes fewer draws, so that a page takes seconds."""

PAIRS_SHOWN = 45
"""Pairs of agents in the table of agreement; a larger panel shows the coefficients of the whole panel."""

JUDGES_SHOWN = 12
"""Judges whose bias by position has a table."""

AGENTS_TOLD_APART = 100
"""Agents that the agreement is computed for by name; of more, places in the panel are compared."""

ROUNDS_DRAWN = 8
"""Rounds whose counts are drawn; the table has all."""

TURNS_SHOWN, CHARACTERS_SHOWN = 60, 1200
"""Turns of a transcript, and characters of each text, that a page shows."""


@dataclass(frozen=True)
class Settings:
    """The settings that the user chose; see :func:`d3stats.report.analysis.report`."""

    rules: tuple[str, ...] | None = None
    prices: PriceTable | None = None
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


PROBLEMS = "Problems that the doctor found"
"""Title of the table of problems; a log with such a table is read only when defective records are left out."""


def make_sections(sources: Sequence[Source], settings: Settings) -> tuple[Section, ...]:
    """Return every section, in the order of the page."""
    each: list[tuple[str, str, str, Callable[[Source, Settings], Part]]] = [
        ("read", "What was read", "Files, usable records, and problems in the data.", _read),
        (
            "rounds",
            "Rounds",
            "Right votes in each round, the mixture that describes the counts, and the change from round "
            "to round.",
            _rounds,
        ),
        (
            "rules",
            "Stopping rules",
            "Cost and lost verdicts of stopping earlier. Savings are measured against unanimity.",
            _rules,
        ),
        ("agreement", "Agreement", "Agreement of the agents, beyond chance.", _agreement),
        (
            "bias",
            "Bias of judges",
            "Preference of a judge for a place, and effects of personas on verdicts.",
            _bias,
        ),
    ]
    after: list[tuple[str, str, str, Callable[[Source, Settings], Part]]] = [
        *(
            [("scores", "Scores", "Mean scores of each side, and how far apart they are.", _scores)]
            if any(source.trajectories.scores is not None for source in sources)
            else []
        ),
        ("tokens", "Tokens and dollars", "Tokens and cost of each round.", _tokens),
        (
            "transcripts",
            "Disputed debates",
            "The debates with most disagreement in the last round, and their texts.",
            _disputed,
        ),
    ]
    compared = _comparison(sources, settings)
    comparison = Section(
        "comparison",
        "Comparison of the logs",
        "Differences in accuracy between logs on the same questions.",
        (compared,),
    )
    first, last = ([_section(one, sources, settings) for one in some] for some in (each, after))
    short = [
        in_short(
            source,
            {section.key: section.parts[k] for section in (*first, *last)},
            level=settings.level,
            missing=settings.missing,
        )
        for k, source in enumerate(sources)
    ]
    apart = _contradictions(sources)
    differences = differences_in_short(compared, [*short, *apart])
    return (
        Section(
            "short",
            "In short",
            "The log at a glance, and what to know before using its numbers.",
            (*apart, *short, *([differences] if differences else [])),
        ),
        *map(_without_warnings, first),
        comparison,
        *map(_without_warnings, last),
    )


def _contradictions(sources: Sequence[Source]) -> list[Part]:
    """Return what the logs say otherwise of the same questions, as warnings that stand before all numbers."""
    found = contradictions([source.questions() for source in sources])
    warnings = warnings_of(warned(found, besides=["agents"]))
    return [Part(warnings=warnings)] if warnings else []


def _without_warnings(section: Section) -> Section:
    """Take out what the first section says already."""
    return replace(section, parts=tuple(replace(part, warnings=()) for part in section.parts))


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


def _picture(draw: Callable[[], Any], alt: str, caption: str) -> Picture:
    """Draw a picture; its caption ends with what the intervals are."""
    picture, intervals = svg(draw, caption)
    told = f" {intervals[0].upper()}{intervals[1:]}." if intervals else ""
    return Picture(picture, alt, f"{caption}{told}")


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
    facts |= {} if source.roles is None else {"roles whose turns count": _listed(source.roles)}
    facts |= {
        "debates": f"{t.n_debates:,}",
        "questions (resampling units)": f"{len(t.cluster_names):,}",
        "rounds, at most": f"{t.n_rounds:,}",
        "agents with a vote, at most": f"{len(t.seats):,}",
        "debates with a right answer": f"{labelled:,}",
        "votes say": "which answer" if t.coding == "answers" else "right or wrong only",
        "answers that occur": _listed(t.answers),
        "sides with scores": _listed(t.sides) if t.scores is not None else "none",
        "tokens": "not recorded"
        if t.tokens is None
        else "in total"
        if t.tokens_in is None
        else "prompt and completion separately",
    }
    said = source.log.notes if source.log is not None else t.notes
    rows = [[name, value] for name, value in facts.items()]
    table: Table = ("The log", ["", "value"], rows)
    tables = [(table, "The files, and the data after reading.")]
    frames = {"read": pd.DataFrame(rows, columns=["what", "value"])}
    signs = {
        each.kind: warning(f"{each.message}.", each.kind)
        for each in (*t.findings(), *(() if doctor is None else doctor.findings))
        if each.severity == "warning"
    }
    many_missing = doctor is not None and doctor.missing.said_first
    if many_missing:  # said in other words
        signs.pop("many votes missing", None)
    warnings = list(signs.values())
    lead: list[str] = []
    if source.log is not None:
        shown, frames["columns"] = _columns(source.log)
        tables.append(shown)
    missing, asked = source.missing_votes()
    shares = [
        [
            "votes missing",
            f"{missing:,} of {asked:,} ({percent(missing / asked, digits=1)})" if asked else "none asked for",
        ]
    ]
    if doctor is not None:
        left = sum(cause.left_out for cause in doctor.causes)
        if left:
            defective = (
                f"{counted(left, 'record')} could not be used and {verb(left, 'was', 'were')} left out"
            )
            lead.append(f"{defective}; see the table of problems below.")
            warnings.insert(0, warning(f"{defective}; see what was read.", "defective records", n=left))
        if many_missing:
            warnings = [*doctor.missing.warnings(), *warnings]
        shares += [[f"error: {kind}", counted(n, "turn")] for kind, n in doctor.errors.items()]
        shares += [["turns whose tokens are estimates", f"{doctor.estimated:,}"]] if doctor.estimated else []
    shares += [["debates without a label", f"{t.n_debates - labelled:,}"]] if labelled < t.n_debates else []
    tables.append(
        (
            ("What is missing", ["", "how much"], shares),
            "A missing vote is left out of every number, or counts as wrong with --missing wrong. It is never an "
            "answer.",
        )
    )
    if doctor is None:
        lead.append(
            "The log was given as an object in memory, so the doctor, which checks files, did not run."
        )
    elif doctor.causes:
        problems = [
            [c.kind, f"{c.count:,}", f"{c.left_out:,}", c.meaning, "; ".join(c.places), c.advice]
            for c in doctor.causes
        ]
        heads = ["problem", "places", "records left out", "what it is", "for example", "what to do"]
        tables.append(
            (
                (PROBLEMS, heads, problems),
                "A row is a kind of problem, the first cause first. d3stats doctor tells more of each.",
            )
        )
    else:
        lead.append("The doctor found no defective record.")
    decided = None if source.recorded is None else source.recorded.note()
    return _named(
        source,
        lead=tuple(lead),
        warnings=tuple(warnings),
        tables=tuple(tables),
        shown=next((k for k, (table, _) in enumerate(tables) if table[0] == PROBLEMS), None),
        frames=frames,
        notes=(*[with_words(note, after=".") for note in said], *([decided] if decided else [])),
    )


def _columns(log: DebateLog) -> tuple[tuple[Table, str], pd.DataFrame]:
    """Say which columns of a log hold something, and how many of their cells."""
    tables = {"debate": log.items, "turn": log.turns, "verdict": log.verdicts}
    rows = [
        (name, of, int(frame[name].notna().sum()), len(frame))
        for of, frame in tables.items()
        for name in frame.columns
        if (of == "debate" or name != "debate") and len(frame)
    ]
    found = pd.DataFrame(rows, columns=["column", "of each", "filled", "of"])
    cells = [
        [
            row["column"],
            row["of each"],
            f"{row['filled']:,} of {row['of']:,}",
            percent(row["filled"] / row["of"], digits=1),
        ]
        for row in found[found["filled"] > 0].to_dict("records")
    ]
    table: Table = (
        "The columns, by the names of the log format",
        ["column", "of each", "filled", "share"],
        cells,
    )
    how = (
        "A row is a column of the format that holds a value in some cell. Columns with other names that were read as "
        "these are listed in the notes."
    )
    return (table, how), found


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


# ---------------------------------------------------------------- rounds


_HOW_TO_READ_ROUNDS = (
    "A row is a round. KS is how far the distribution of right votes moved since the round before, between 0 and 1; a "
    "distance below its noise, in brackets, is no evidence of a move.",
    "The spread is the standard deviation between debates of the chance that a vote is right; the KS distance here is "
    "between the fitted distributions of this chance.",
    "A row is a round; a cell is the number of debates with so many right votes.",
)


def _rounds(source: Source, settings: Settings) -> Part:
    from d3stats.planning.describe import fit
    from d3stats.plotting import plot_counts_by_round, plot_ks_series

    t = source.trajectories
    if not _voted(t):
        return _absent(source, _NO_VOTES)
    if not (t.label != MISSING).any():
        return _absent(
            source,
            "The log has no right answers (labels), so it is unknown which votes are right and there are "
            "no counts.",
        )
    n_boot = settings.draws(500, t)
    try:
        found = fit(t, missing=settings.missing, level=settings.level, n_boot=n_boot, rng=settings.seed)
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
        _picture(
            lambda: plot_counts_by_round(shares[shares["round"].isin(drawn)], columns=panels),
            f"Bars: share of debates by number of right votes in rounds {', '.join(map(str, drawn))}. Dots: the "
            "fitted mixture. The tables hold the numbers.",
            "Logged shares of debates by number of right votes (bars), the fitted mixture (dots) and its "
            f"{100 * settings.level:g} % interval (lines).{some}",
        )
    ]
    lead: list[str] = []
    # One vote per debate determines no latent law.
    moved = found.drift.ks() if found.fit.panel > 1 else found.drift.ks(("pmf",))
    if len(moved):
        pictures.append(
            _picture(
                lambda: plot_ks_series(moved[moved["scale"] == "pmf"]),
                "KS distance of each round to the round before, between the counts, with the distance under noise "
                "alone. The first table holds the numbers.",
                "Kolmogorov-Smirnov distance to the round before. A distance below its grey bar is no "
                "evidence of change.",
            )
        )
    elif len(rounds) == 1:
        lead.append("The log has one round with votes, so there is no distance to a round before.")
    return _named(
        source,
        lead=(*found._answer(), f"{found._title()}", *lead),
        tables=tuple(
            zip(itertools.starmap(table_of, found._shown().items()), _HOW_TO_READ_ROUNDS, strict=True)
        ),
        frames={"rounds": found.to_frame(), "counts": found.counts().reset_index(), "ks": moved},
        pictures=tuple(pictures),
        notes=_own(found.notes, t),
    )


# ---------------------------------------------------------------- rules


_HOW_TO_READ_RULES = (
    "Each rule stops the same debates; rounds is how many it plays on average. A flip is a verdict that full depth "
    "would have changed; below 0 % saved, the rule plays more rounds than unanimity."
)

_HOW_TO_READ_STOPS = (
    "The share of debates that a rule stops in each round. A premature stop is on a wrong majority that full depth "
    "turns right. Accuracies of two rules can be over different debates; compare rules by the change."
)

_HOW_TO_READ_COSTS = (
    "Tokens of a debate up to the stop. Tokens per accuracy point are these over the accuracy in percentage points; "
    "the rule with the fewest need not be the most accurate one."
)


def _rules(source: Source, settings: Settings) -> Part:
    from d3stats.planning.replay import replay

    t = source.trajectories
    if not _voted(t):
        return _absent(source, "The log has no votes, so a stopped debate would have no verdict to replay.")
    if t.n_rounds < 2:
        return _absent(source, "The log has one round, so there is nothing to stop earlier.")
    kinds, doubts = _categories(source)
    advice, why = _advice(source, settings)
    rules = list(settings.rules if settings.rules is not None else _usual_rules(source))
    try:
        found = replay(
            t,
            rules if advice is None else list(dict.fromkeys([str(advice.rule), *rules])),
            missing=settings.missing,
            level=settings.level,
            strata=kinds,
        )
    except ValueError as error:
        return _absent(source, _sentence(error))
    stops = found.stops()
    by_category = _shown_strata(found, None if advice is None else str(advice.rule))
    first, where, *costs = itertools.starmap(table_of, found._shown().items())
    return _named(
        source,
        warnings=doubts,
        lead=(f"No rule is recommended: {why.removeprefix('Not computed: ')}",)
        if advice is None
        else tuple(advice._answer()),
        tables=(
            (first, f"{found._title()} {_HOW_TO_READ_RULES}"),
            (where, _HOW_TO_READ_STOPS),
            *((table, _HOW_TO_READ_COSTS) for table in costs),
            *((table, _HOW_TO_READ_STRATA) for table in strata_of(by_category)),
        ),
        frames={"rules": found.to_frame(), "stops": stops}
        | ({} if advice is None else {"plan": advice.to_frame(), "advice": _advised(advice)}),
        pictures=(
            _picture(
                found.plot,
                "One bar per rule, divided by the round in which debates stop. The table has the shares.",
                "Share of debates that each rule stops in each round, and why.",
            ),
        ),
        notes=(
            *dict.fromkeys((*_own(found.notes, t), *_own(() if advice is None else advice.notes, t))),
            *strata_notes(by_category),
        ),
    )


def _advice(source: Source, settings: Settings) -> tuple[Plan | None, str]:
    """Return what ``d3stats plan`` recommends, or why there is no plan; the page has no advice of its own."""
    from d3stats.planning.plan import plan

    try:
        made = plan(
            source.trajectories, level=settings.level, dollars=source.paid, limit=False, rng=settings.seed
        )
    except ValueError as error:
        return None, _sentence(error)
    return made, ""


def _advised(made: Plan) -> pd.DataFrame:
    """Return the recommendation as one row, for the key figures."""
    row = made.to_frame().iloc[0]
    saved = {name: row[name] for name in ("saved", "saved_low", "saved_high")}
    words = {
        "rule": short_name(made.rule),
        "unit": row["total_unit"],
        "words": made.headline,
        "reason": made.reason,
    }
    words["usual"] = isinstance(made.rule, Unanimity)
    return pd.DataFrame([words | saved | {"level": made.level}])


_HOW_TO_READ_STRATA = (
    "One row per category of questions. A raw estimate uses the questions of the category alone; a shrunken one also "
    "uses the others."
)


def _categories(source: Source) -> tuple[ItemStrata | None, tuple[str, ...]]:
    """Return the categories of a log's debates, where there are two and one has several questions.

    Where a question has several, there are none, and a warning.
    """
    from d3stats.sources.strata import item_strata

    if source.log is None:
        return None, ()
    items = source.log.items[source.log.items["category"].notna()]
    owner = items["cluster"].where(items["cluster"].notna(), items["question"])
    sizes = owner.groupby(items["category"]).nunique()
    if len(sizes) < 2 or sizes.max() < 2:
        return None, ()
    found = item_strata(source.log, "category")
    try:
        found.texts(source.trajectories.debates, "debate", "debate")
    except ValueError as error:
        return None, (warning(f"The table by category was not made: {error}.", "no table by category"),)
    return found, ()


def _shown_strata(found: Replay, advised: str | None) -> list[Strata]:
    """Return the accuracy of full depth by category, and accuracy and savings of the recommended rule."""
    from d3stats.planning.replay import ACCURACY, SAVED
    from d3stats.stopping import FullDepth

    full = next(
        name for rule, name in zip(found.rules, found.names, strict=True) if isinstance(rule, FullDepth)
    )
    shown = [f"{ACCURACY}, {full}", *(f"{what}, {advised}" for what in (ACCURACY, SAVED))]
    return [part for part in found.strata if part.quantity in shown]


def _usual_rules(source: Source) -> list[str]:
    """Return the rules that are replayed where none is named; a KS rule counts right votes, so it needs labels."""
    t = source.trajectories
    if source.log is not None and (own := rules_of_protocols(t, source.opened.checked())):
        return own
    fixed = [f"fixed:{n}" for n in (1, 2) if n < t.n_rounds]
    moved = ["ks:0.05,patience=1"] if bool((t.label != MISSING).all()) else []
    return [*fixed, "supermajority:0.8", *moved]


# ---------------------------------------------------------------- scores


_HOW_TO_READ_SCORES = {
    "Mean": "Points are totals over the criteria, averaged over the agents that scored all sides. The gap is the mean "
    "distance of the two sides. A debate that ended is missing from later rounds.",
    "Aspects": "Each aspect is averaged over the agents that scored it in the last round.",
    "Ranks": "Ranks are from each debate's last round with scores. An agent that left out a candidate has no ranking.",
}


def _scores(source: Source, settings: Settings) -> Part:
    from d3stats.planning.scores import ALL, scores

    t = source.trajectories
    if t.scores is None:
        return _absent(source, "The log has no scores.")
    read = t if source.log is None else source.opened
    try:
        found = scores(read, strata=_categories(source)[0], level=settings.level, rng=settings.seed)
    except ValueError as error:
        return _absent(source, _sentence(error))
    tables = _strata_apart(score_tables(found), ALL)
    how = [
        next((text for key, text in _HOW_TO_READ_SCORES.items() if key in table[0]), "") for table in tables
    ]
    picture = _picture(
        found.plot,
        "Mean scores, or their gap, with intervals. The tables hold the numbers.",
        "Mean distance of the two sides by round, with intervals."
        if found.gaps is not None
        else "Mean scores.",
    )
    return _named(
        source,
        lead=(found.headline,),
        tables=tuple(zip(tables, how, strict=True)),
        shown=None,
        frames={"scores": found.means, **({} if found.gaps is None else {"gaps": found.gaps})},
        pictures=(picture,),
        notes=_own(found.notes, t),
    )


def _strata_apart(tables: Sequence[Table], every: str) -> list[Table]:
    """Return tables in which the rows of all strata together and those of each stratum are apart."""
    found: list[Table] = []
    for title, heads, rows in tables:
        whole = [row[1:] for row in rows if row[0] == every]
        if heads[0] != "stratum" or not whole:
            found.append((title, heads, rows))
            continue
        found.append((title, heads[1:], whole))
        found.append((f"By stratum: {title}", heads, [row for row in rows if row[0] != every]))
    return found


# ---------------------------------------------------------------- agreement, bias, comparison


_HOW_TO_READ_AGREEMENT = (
    "A coefficient is 1 where all votes agree and 0 where they agree as often as chance would have it. The share of "
    "agreement is of pairs of votes, without regard to chance."
)


def _agreement(source: Source, settings: Settings) -> Part:
    from d3stats.inference.judges.agreement import MEASURES, agreement
    from d3stats.plotting.intervals import plot_agreement
    from d3stats.sources.ratings import as_ratings

    t = source.trajectories
    if not _voted(t):
        return _absent(source, _NO_VOTES)
    if len(t.seats) < 2:
        return _absent(source, "One agent votes, so agreement cannot be measured.")
    if t.coding == "correctness":
        return _absent(
            source, "The log says only which votes are right, so whether two wrong votes agree is unknown."
        )
    agents = source.voting_agents()
    by_name = source.log is not None and len(agents) <= AGENTS_TOLD_APART
    try:
        ratings = as_ratings(source.log if by_name else t)
        pairs = len(ratings.raters) * (len(ratings.raters) - 1) // 2
        measures = [name for name in MEASURES if name != "cohen" or pairs <= PAIRS_SHOWN]
        found = agreement(ratings, measures=measures, level=settings.level, rng=settings.seed)
    except ValueError as error:
        return _absent(source, _sentence(error))
    notes = [*(f"{name}: {why}" for name, why in found.refused.items()), *_own(found.notes, t)]
    if pairs > PAIRS_SHOWN:
        notes.append(f"{pairs} pairs of agents are not shown here; d3stats agreement lists them.")
    drawn = with_short_names(found.to_frame(), "name")[["name", "value", "low", "high", "level", "kind"]]
    if pairs > 3:
        drawn = drawn[~drawn["name"].str.startswith("Cohen's kappa")]
    picture = _picture(
        lambda: plot_agreement(drawn, label="agreement"),
        "Each coefficient of agreement with its interval. The table holds the numbers.",
        "Agreement of the panel, with intervals.",
    )
    title, heads, rows = agreement_table(found)
    several = len(ratings.raters) > 2
    pairwise = [row for row in rows if several and row[0].startswith("Cohen's kappa")]
    panel = [row for row in rows if row not in pairwise]
    lead = ["Votes of each debate's last round."]
    if not by_name and source.log is not None:
        lead.append(
            f"The log names {len(agents):,} agents; an agent of the table is a place in the panel, in the order of "
            "names."
        )
    elif source.log is None:
        lead.append("An agent is a seat of the panel.")
    return _named(
        source,
        lead=(*found._answer(), *lead),
        tables=(
            (("Agreement", heads, panel), f"{title}. {_HOW_TO_READ_AGREEMENT}"),
            *(
                [
                    (
                        ("Agreement of pairs", heads, pairwise),
                        "A row is a pair of agents and its coefficient, Cohen's kappa.",
                    )
                ]
                if pairwise
                else []
            ),
        ),
        shown=None,  # the picture has the numbers
        frames={"agreement": found.to_frame()},
        pictures=(picture,),
        notes=tuple(notes),
    )


_OTHER_AUDITS = (
    "Length bias and self-preference need the lengths and families of answers, which a debate log does not "
    "have; d3stats bias audits them from a table of verdicts."
)


_HOW_TO_READ_POSITION = (
    "A judge that prefers no place has a first-slot excess of 0. Swap consistency is 1 where both orders always name "
    "the same winner; p is that of no preference."
)
_HOW_TO_READ_PERSONAS = (
    "Where a juror has no persona, the first row is the accuracy with personas minus that without, on the items that "
    "both judged. Agreement is between personas."
)
_HOW_TO_READ_EFFECTS = (
    "A row is a persona. An interval that holds 0 says that there may be no effect; p (Holm) is adjusted for all "
    "personas."
)
_HOW_TO_READ_CHANGES = "A row is a persona; 0 means that no majority changes without it."


def _bias(source: Source, settings: Settings) -> Part:
    from d3stats.inference.bias import as_judgments, each_judge, persona_effect, position_bias, position_frame
    from d3stats.plotting.intervals import plot_position_bias

    t = source.trajectories
    if not _voted(t):
        return _absent(source, _NO_VOTES)
    log = source.log
    recorded = log is not None and bool(log.turns["persona"].notna().any())
    pairs = t.coding != "correctness" and len(t.answers) <= 3
    if not (pairs or recorded):
        return _absent(
            source,
            "Position bias needs votes between two answers, A and B; this log has other votes. "
            + _OTHER_AUDITS,
        )
    personas = recorded or "none" in t.seats
    ordered = pairs and log is not None and bool(log.items["first"].notna().any())
    named = pairs and any(seat.endswith((" first", "1-2)", "2-1)", "1-2", "2-1")) for seat in t.seats)
    if not (ordered or named or personas):
        return _absent(
            source,
            "The log does not say which answer was shown first, records no personas, and no seat is a juror called "
            f"'none', so neither position nor persona can be audited. {_OTHER_AUDITS}",
        )
    tables: list[tuple[Table, str]] = []
    pictures: list[Picture] = []
    notes: list[str] = []
    frames = {}
    refused: list[str] = []
    lead: list[str] = []
    if ordered or named:
        try:
            data = as_judgments(t if log is None else log, decisions=True)
            found = each_judge(position_bias, data, level=settings.level, rng=settings.seed)
            frames["position"] = found.to_frame()
            lead.append(f"{found.headline}.")
            for audit in list(found.values())[:JUDGES_SHOWN]:
                title, heads, rows = audit_table(audit)
                tables.append(((f"Position: {title}", heads, rows), _HOW_TO_READ_POSITION))
                notes += [with_words(note, f"{audit.judge}: ") for note in audit.notes]
            notes += found.notes
            drawn = position_frame(found)
            more = len(found) - JUDGES_SHOWN
            if more > 0:
                drawn = drawn[drawn["judge"].isin(list(found)[:JUDGES_SHOWN])]
                notes.append(
                    f"{counted(more, 'more judge')} of this log: d3stats bias lists {verb(more, 'it', 'them')}."
                )
            pictures.append(
                _picture(
                    lambda: plot_position_bias(with_short_names(drawn, "judge")),
                    "Swap consistency and first-slot preference of each judge with intervals. The tables hold the "
                    "numbers.",
                    "Consistency of each judge when the order is swapped, and its preference for a place.",
                )
            )
        except ValueError as error:
            refused.append(_sentence(error))
    if personas:
        try:
            effect = persona_effect(log if recorded else t, level=settings.level, missing=settings.missing)
            for k, (title, heads, rows) in enumerate(audit_tables(effect)):
                each = _HOW_TO_READ_EFFECTS if "p" in heads else _HOW_TO_READ_CHANGES
                tables.append(((f"Persona: {title}", heads, rows), each if k else _HOW_TO_READ_PERSONAS))
            frames["persona"] = effect.to_frame()
            lead.append(f"{effect.headline.rstrip('.')}.")
            frames["each persona"] = effect.personas
            notes += [*effect.notes, f"{str(effect.heterogeneity)[0].upper()}{str(effect.heterogeneity)[1:]}"]
        except ValueError as error:
            refused.append(_sentence(error))
    if not tables:
        return _absent(source, f"{' '.join(refused)} {_OTHER_AUDITS}")
    notes += refused
    return _named(
        source,
        lead=tuple(lead),
        tables=tuple(tables),
        shown=None,
        frames=frames,
        pictures=tuple(pictures),
        notes=(*_own(notes, t), _OTHER_AUDITS),
    )


_HOW_TO_READ_COMPARISON = (
    "Above 0 the log that is named first is right more often. Gained and lost are questions on which it does better "
    "and worse; p is that of no difference.",
    "The share of right verdicts of each log, over the questions of the comparison.",
    "A small p says that logs that do equally well would hardly differ so much. The tests differ in what they assume.",
)


def _comparison(sources: Sequence[Source], settings: Settings) -> Part:
    from d3stats.inference.comparison.compare import compare
    from d3stats.plotting.intervals import plot_forest

    if len(sources) < 2:
        return Part(absent="One log was given, so there is nothing to compare it with.")
    unlabelled = [s.name for s in sources if not (s.trajectories.label != MISSING).any()]
    if unlabelled:
        return Part(absent=f"Logs without right answers cannot be compared: {', '.join(unlabelled)}.")
    runs: list[Any] = [s.opened for s in sources]
    how: dict[str, Any] = {"names": [s.name for s in sources], "missing": settings.missing}
    how |= {"level": settings.level, "rng": settings.seed}
    try:
        found = compare(*runs, **how)
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
        tables=tuple(zip(map(_filled, comparison_tables(found)), _HOW_TO_READ_COMPARISON, strict=False)),
        frames={"comparison": found.to_frame(), "runs": found.to_frame("runs")},
        pictures=(
            _picture(
                lambda: plot_forest(drawn),
                "Each difference between two logs, with its interval, around zero. The table holds the "
                "numbers.",
                "Differences between logs, second minus first, with intervals.",
            ),
        ),
        notes=found.notes,
    )


def _filled(table: Table) -> Table:
    """Give rows without a name the one above: alone on a narrow screen they would say nothing."""
    title, heads, rows = table
    named: list[list[str]] = []
    for row in rows:
        named.append([row[0] or (named[-1][0] if named else ""), *row[1:]])
    return title, heads, named


# ---------------------------------------------------------------- tokens


def _tokens(source: Source, settings: Settings) -> Part:
    from d3stats.planning.prices import spending

    t = source.trajectories
    if t.tokens is None or not bool((~np.isnan(t.tokens)).any()):
        return _absent(source, f"{_why_no_tokens(source)}, so what the debates cost is unknown.")
    notes: list[str] = []
    warnings: tuple[str, ...] = ()
    if settings.prices is None:
        notes.append("No price table was given, so there are no dollars; --prices FILE adds them.")
    elif source.paid is None:
        notes.append("Dollars need the turns of a log; this log was given as arrays.")
    else:
        notes.append(f"{source.paid.note[0].upper()}{source.paid.note[1:]}.")
        warnings = source.paid.warnings
    frame = spending(t, None if source.paid is None else source.paid.dollars)
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
        notes.append(f"{counted(unknown, 'debate')} with rounds whose tokens were not recorded; the sums "
                     "leave these rounds out.")  # fmt: skip
    lacking, turns, _ = _turns_without_tokens(source)
    if lacking:
        notes.append(
            f"{lacking:,} of {counted(turns, 'turn')} {verb(lacking, 'has', 'have')} no token count, so the total of "
            "their rounds is unknown."
        )
    return _named(
        source,
        warnings=warnings,
        lead=_by_round(frame),
        tables=(
            (
                ("Tokens by round", list(shown.values()), rows),
                "A row is about the debates that played the round; the last row adds up all rounds.",
            ),
        ),
        shown=None,
        frames={"tokens": frame},
        notes=tuple(notes),
    )


def _by_round(frame: pd.DataFrame) -> tuple[str, ...]:
    """Say how many tokens the first and the last round take that some debate played."""
    known = frame.iloc[:-1][frame["tokens_per_debate"].iloc[:-1].notna()].to_dict("records")
    said = [
        f"{row['tokens_per_debate']:z,.0f} in round {row['round']}" for row in (*known[:1], *known[1:][-1:])
    ]
    return (f"Tokens of a debate that plays the round: {', '.join(said)}.",) if said else ()


def _turns_without_tokens(source: Source) -> tuple[int, int, str]:
    """Return how many turns lack tokens, of how many, and in words what they lack; zeros for a log of arrays."""
    if source.log is None:
        return 0, 0, ""
    turns = source.log.turns
    kinds = {"tokens": "tokens", "tokens_in": "prompt tokens", "tokens_out": "completion tokens"}
    # Totals stand alone; of the two kinds both must be there.
    totals = "tokens" in turns and bool(turns["tokens"].notna().any())
    wanted = ["tokens"] if totals else ["tokens_in", "tokens_out"]
    absent = [
        turns[name].isna().to_numpy() if name in turns else np.ones(len(turns), dtype=bool) for name in wanted
    ]
    words = " and ".join(
        f"{kinds[name]} in {int(gone.sum()):,}"
        for name, gone in zip(wanted, absent, strict=True)
        if gone.any()
    )
    return int(np.logical_or.reduce(absent).sum()), len(turns), words


def _why_no_tokens(source: Source) -> str:
    """Say that a log has no tokens, or that so many turns lack them that no round has a total."""
    lacking, turns, words = _turns_without_tokens(source)
    some = source.log is not None and any(
        name in source.log.turns and source.log.turns[name].notna().any()
        for name in ("tokens", "tokens_in", "tokens_out")
    )
    if not lacking or not some:
        return "The log does not record tokens"
    return f"No round has a total of tokens: of {counted(turns, 'turn')}, {words} are not recorded"


def _amount(name: Any, value: Any) -> str:
    if value is pd.NA or value is None or value != value:
        return "all" if name == "round" else "-"
    if str(name).startswith("dollars"):
        return f"{value:z,.2f}" if value >= 1 else f"{value:z.4f}"
    return f"{value:z,.0f}"


# ---------------------------------------------------------------- transcripts


def _disputed(source: Source, settings: Settings) -> Part:
    from d3stats.inference.judges.disputed import disputed_debates
    from d3stats.log.transcript import read_transcripts

    t = source.trajectories
    if not _voted(t):
        return _absent(source, "The log has no votes, so no debate is disputed.")
    if settings.transcripts < 1:
        return _absent(source, "No transcripts were requested.")
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
    debates = tuple((name, _entries(one)) for name, one in texts.items())
    lead = (
        "Shown are at most "
        f"{counted(settings.transcripts, 'debate')}, {TURNS_SHOWN} turns of each, and {CHARACTERS_SHOWN:,} characters "
        "of each text; d3stats show prints a whole debate.",
    )
    return _named(
        source,
        tables=(
            (
                table,
                "Votes of each debate's last round with votes; the plurality is the answer with most of them. The "
                "first debate has the largest share of votes for another answer.",
            ),
        ),
        frames={"disputed": frame},
        lead=lead if debates else ("The log holds no texts of these debates, so they cannot be shown.",),
        debates=debates,
    )


def _has_text(one: Transcript) -> bool:
    return bool(one.item.text or one.item.candidates or any(turn.text for turn in one.turns))


def _entries(one: Transcript) -> tuple[Entry, ...]:
    entries = [_question(one.item)]
    if one.item.candidates is not None and len(one.item.candidates) == 1:
        entries.append(Entry("Response", words=_cut(one.item.candidates[0])))
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
