"""Tables of results as people read them: a title, heads, and cells as text. The terminal and the page show the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from d3stats._words import visible

if TYPE_CHECKING:
    import pandas as pd

    from d3stats.estimate import Estimate
    from d3stats.inference import AgreementTable, Comparison, JuryCurve
    from d3stats.inference.bias import Audit
    from d3stats.inference.comparison.strata import Strata
    from d3stats.inference.reasons import RationaleComparison, Rationales
    from d3stats.planning.scores import ScoreReport

__all__ = [
    "Table",
    "agreement_table",
    "audit_table",
    "audit_tables",
    "comparison_tables",
    "estimate",
    "rationale_comparison_tables",
    "rationale_tables",
    "score_tables",
    "sized",
    "strata_notes",
    "strata_of",
    "table_of",
    "without_formulas",
]

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, heads and cells."""
MOST_PHRASES = 3
"""So many phrases of each kind of reference are shown."""


def table_of(title: str, frame: pd.DataFrame) -> Table:
    """Return a table of text as it is printed."""
    return (
        title,
        [str(name) for name in frame.columns],
        [list(map(str, row)) for row in frame.itertuples(index=False)],
    )


def estimate(value: float, lower: float, upper: float, digits: int = 3) -> str:
    """Write an estimate with its interval where it has one; a dash means that it could not be estimated."""
    if value != value:  # NaN: nothing could be estimated
        return "-"
    bare = f"{value:z,.{digits}f}"
    return bare if lower != lower else f"{bare} [{lower:z,.{digits}f}, {upper:z,.{digits}f}]"


SIDES_ABREAST = 3
"""Sides whose mean scores are in one row; more have a row each."""


def score_tables(found: ScoreReport) -> list[Table]:
    """Return mean scores and gaps by round, aspects, correlations with people, and ranks, where there are any."""
    tables = [_score_means(found)]
    if found.aspects is not None:
        several = len(found.aspects["stratum"].unique()) > 1
        rows = [
            [*([row["stratum"]] if several else []), row["aspect"], _mean(row), f"{row['n']:,}"]
            for row in found.aspects.to_dict("records")
        ]
        heads = [*(["stratum"] if several else []), "aspect", "mean", "responses"]
        tables.append((f"Aspects of single responses ({_kind_of(found.aspects)})", heads, rows))
    if found.correlations is not None:
        frame = found.correlations.to_frame()
        rows = [
            [row["aspect"], row["method"], estimate(row["value"], row["low"], row["high"]), f"{row['n']:,}"]
            for row in frame.to_dict("records")
        ]
        title = f"Rank correlations with human scores ({_kind_of(frame)})"
        tables.append((title, ["aspect", "method", "correlation", "responses"], rows))
    if found.ranks is not None:
        rows = [
            [
                row["candidate"],
                f"{row['debates']:,}",
                *(f"{row[name]:z.2f}" for name in ("borda", "firsts", "mean")),
                f"{row['wins']:,}",
            ]
            for row in found.ranks.to_dict("records")
        ]
        heads = ["candidate", "debates", "Borda points", "first places", "mean score", "debates won"]
        tables.append(("Ranks of the candidates, means over debates (won: most Borda points)", heads, rows))
    return tables


def _score_means(found: ScoreReport) -> Table:
    means, gaps = found.means, found.gaps
    sides, several = list(dict.fromkeys(means["side"])), len(means["stratum"].unique()) > 1
    title = f"Mean scores by round ({_kind_of(means)}; {found.n_debates:,} debates with scores)"
    heads = [*(["stratum"] if several else []), "round"]
    rows = []
    if len(sides) > SIDES_ABREAST:
        for row in means.to_dict("records"):
            cells = [row["stratum"]] if several else []
            rows.append([*cells, str(row["round"]), row["side"], _mean(row), f"{row['n']:,}"])
        return title, [*heads, "side", "mean score", "debates"], rows
    at = {} if gaps is None else {(g["category"], g["round"]): g for g in gaps.to_dict("records")}
    for (stratum, number), part in means.groupby(["stratum", "round"], sort=False):
        of = {row["side"]: row for row in part.to_dict("records")}
        cells = [*([str(stratum)] if several else []), str(number)]
        cells += [_mean(of[side]) if side in of else "-" for side in sides]
        if gaps is not None:
            gap = at.get((stratum, number))
            cells.append("-" if gap is None else estimate(gap["gap"], gap["low"], gap["high"], 2))
        rows.append([*cells, f"{max(row['n'] for row in of.values()):,}"])
    return title, [*heads, *sides, *([] if gaps is None else ["gap"]), "debates"], rows


def _mean(row: Mapping[Any, Any]) -> str:
    return estimate(row["mean"], row["low"], row["high"], 2)


def _kind_of(frame: Any) -> str:
    """Name the level and the kinds of the intervals of a frame."""
    known = frame[frame["low"].notna()]
    kinds = " or ".join(dict.fromkeys(known["kind"]))
    return f"{100 * known['level'].iloc[0]:.6g} % {kinds}" if kinds else "no interval"


def sized(found: AgreementTable | JuryCurve) -> str:
    """Write how many items in how many clusters a result is about."""
    from d3stats._words import counted

    return f"{counted(found.n_items, 'item')} in {counted(found.n_clusters, 'cluster')}"


def agreement_table(found: AgreementTable) -> Table:
    """Return the panel's coefficients and those of every pair, each with its interval."""
    from d3stats._words import counted

    kinds = [e.kind for e in found.estimates if e.low is not None]
    usual = kinds[0] if kinds else ""
    rows = [
        (
            one.estimate.name if one.estimate.kind in (usual, "none") else _with_kind(one.estimate),
            one.estimate._text()
            if one.estimate.low is not None
            else f"{one.estimate.value:z.3f}, no interval",
            f"{one.share.value:z.3f}",
            "-" if one.chance is None else f"{one.chance:z.3f}",
            f"{one.estimate.n:,}",
        )
        for one in found.coefficients
    ]
    level = f"{100 * found.estimates[0].level:.6g} % {usual}" if kinds else "no intervals"
    size = (
        f"{sized(found)}, {counted(len(found.raters), 'agent')}, {counted(found.n_missing, 'vote')} missing"
    )
    return f"{size}; {level}", ("", "estimate", "agreement", "chance", "items"), rows


def _with_kind(e: Estimate) -> str:
    return f"{e.name} ({e.kind.removeprefix('cluster ')})"


def comparison_tables(found: Comparison) -> list[Table]:
    """Return the differences, the runs, and the tests that the runs do equally well."""
    from d3stats._words import counted
    from d3stats.estimate import interval_kind
    from d3stats.inference.comparison.pair_data import said_p

    first = found.differences[0].difference
    level = f"{100 * first.level:.6g} % {first.kind}"
    size = f"{counted(found.n_items, 'item')} in {counted(found.n_clusters, 'cluster')}"
    several = len(found) > 1
    differences = (
        f"Differences, second run minus first ({level}; {size})",
        ["difference", "estimate", "gained / lost", "p", *([f"p, {found.family}"] if several else [])],
        [
            [d.name, _signed(d.difference), f"{d.gained} / {d.lost}", said_p(d.p_value).removeprefix("p = ")]
            + ([said_p(p).removeprefix("p = ")] if several else [])
            for d, p in zip(found.differences, found.adjusted, strict=True)
        ],
    )
    runs = (
        "The runs",
        ["run", "mean", "interval"],
        [[run.name, run._text(), "-" if run.low is None else interval_kind(run)] for run in found.runs],
    )
    rows = [
        [d.name if k == 0 else "", test.name, said_p(test.p_value), test.detail or test.note]
        for d in found.differences
        for k, test in enumerate(test for test in d.tests if test.p_value is not None)
    ]
    tests = ("Tests of no difference between the runs", ["difference", "test", "p", "how"], rows)
    return [differences, runs, *([tests] if rows else [])]


def strata_of(parts: Sequence[Strata]) -> list[Table]:
    """Return a table per quantity: a row per stratum with its raw and its shrunken estimate, and the whole below."""
    tables: list[Table] = []
    for part in parts:
        shrunk = any(e is not None for e in part.shrunken)
        rows = []
        for e, pulled, p, holm, bh in zip(
            part.raw, part.shrunken, part.p_values, part.p_holm, part.p_bh, strict=True
        ):
            size = str(e.n if e.n_clusters is None else e.n_clusters)
            beside = [] if not shrunk else ["" if pulled is None else pulled._text()]
            rows.append([e.name, size, e._text(), *beside, *(_tested(x) for x in (p, holm, bh))])
        whole = part.overall
        size = str(whole.n if whole.n_clusters is None else whole.n_clusters)
        centre = [] if not shrunk else ["" if part.mean is None else f"mean {part.mean._text()}"]
        rows.append(["all", size, whole._text(), *centre, "", "", ""])
        kinds = " or ".join(dict.fromkeys(e.kind for e in part.raw if e.low is not None)) or whole.kind
        title = f"{part.quantity}, by {part.column} ({100 * whole.level:.6g} % {kinds}; p tests {part.null})"
        heads = [
            part.column,
            "questions",
            "raw",
            *(["shrunken"] if shrunk else []),
            "p",
            "p (Holm)",
            "p (BH)",
        ]
        tables.append((title, heads, rows))
    return tables


def strata_notes(parts: Sequence[Strata]) -> list[str]:
    """Return the test of equality of each quantity, and the notes of all, each once."""
    tests = [f"{part.quantity}: {part.equality}" for part in parts if len(part) > 1]
    return [*tests, *dict.fromkeys(note for part in parts for note in part.notes)]


def _tested(p: float | None) -> str:
    return "" if p is None else "< .001" if p < 0.0005 else f"{p:z.3f}"


def _signed(effect: Estimate) -> str:
    limits = "no interval" if effect.low is None else f"[{effect.low:+z.3f}, {effect.high:+z.3f}]"
    return f"{effect.value:+z.3f} {limits}"


def audit_table(result: Audit) -> Table:
    """Return the estimates of an audit of one judge."""
    rows = [_audit_row(e) for e in result.estimates]
    kinds = list(
        dict.fromkeys(f"{100 * e.level:.6g} % {e.kind}" for e in result.estimates if e.low is not None)
    )
    of = "" if not kinds else f" ({', '.join(kinds)})"
    return f"{result.judge}{of}", ("", "estimate", "n", "clusters", "p"), rows


_OF_PERSONAS = {
    "main effect": "Main effects: accuracy minus that of the other personas",
    "leave one out": "Leave one out: accuracy of the majority, with minus without the persona",
    "majority changes": "Share of items whose majority changes without the persona",
}


def audit_tables(result: Audit) -> list[Table]:
    """Return the estimates of an audit, and of personas what each of them does, a table per measure."""
    from d3stats._words import p_text

    tables, personas = [audit_table(result)], getattr(result, "personas", None)
    if personas is None:
        return tables
    for measure, title in _OF_PERSONAS.items():
        found = personas[personas["measure"] == measure]
        rows = []
        for row in found.itertuples(index=False):
            limits = "-" if _absent(row.low) else f"[{row.low:z.3f}, {row.high:z.3f}]"
            tested = ["" if _absent(p) else p_text(p) for p in (row.p_value, row.p_holm)]
            rows.append((row.persona, f"{row.value:z.3f}", limits, f"{row.n}", *tested))
        with_limits = found[found["low"].notna()]
        if len(with_limits):
            title += f" ({100 * with_limits['level'].iloc[0]:.6g} % {with_limits['kind'].iloc[0]})"
        heads = ["persona", "estimate", "interval", "n", "p", "p (Holm)"]
        if measure == "majority changes":
            heads, rows = heads[:4], [row[:4] for row in rows]
        if rows:
            tables.append((title, heads, rows))
    return tables


def _absent(value: float | None) -> bool:
    return value is None or value != value


def _audit_row(e: Estimate) -> tuple[str, ...]:
    from d3stats._words import p_text

    bare = f"{e.value:z.3f} ({'reference' if e.kind == 'reference' else 'no interval'})"
    clusters = "" if e.n_clusters is None else f"{e.n_clusters}"
    tested = "" if e.p_value is None else p_text(e.p_value)
    return e.name, bare if e.low is None else e._text(), f"{e.n}", clusters, tested


def rationale_tables(found: Rationales) -> list[Table]:
    """Return what rationales cite, how alike they are, how far disagreement is traced, reasons, and agents."""
    from d3stats._words import counted, cut
    from d3stats.estimate import interval_kind
    from d3stats.inference.reasons.rationales import ACROSS, RATIO, SIMILARITY, TRACED

    parts = (
        (f"References to the debate in {counted(len(found.marks), 'rationale')}", "citing"),
        ("Similarity of rationales", "alike"),
        ("Disagreements traced to reasons", "traced"),
    )
    of = dict.fromkeys((SIMILARITY, ACROSS, RATIO), "alike") | dict.fromkeys(TRACED, "traced")
    tables: list[Table] = []
    for title, part in parts:
        rows = [
            (e.name, e._text(), f"{e.n:,}", "-" if e.low is None else interval_kind(e))
            for e in found.estimates
            if of.get(e.name, "citing") == part
        ]
        tables += [(title, ("", "estimate", "n", "interval"), rows)] if rows else []
    if len(found.phrases):
        most = found.phrases.groupby("kind", sort=False).head(MOST_PHRASES)
        phrases = [
            (row["kind"], cut(row["phrase"], 60), f"{row['rationales']:,}", f"{row['alone']:,}")
            for row in most.to_dict("records")
        ]
        title = f"Phrases that count as a reference (of each kind, the {MOST_PHRASES} most frequent)"
        tables.insert(1, (title, ("kind", "phrase", "rationales with it", "with it alone"), phrases))
    if len(found.reasons):
        first = found.reasons.iloc[0]
        size = (
            f"{counted(int(first['n']), 'disputed debate')} of {counted(int(first['n_clusters']), 'cluster')}"
        )
        tables.append(
            (
                f"Reasons named in dissent and in the majority ({100 * found.level:.6g} % cluster t; {size})",
                ("reason", "dissent", "majority", "difference", "p", f"p, {found.family}"),
                [_reason_row(row) for row in found.reasons.to_dict("records")],
            )
        )
    if len(found.agents):
        agents: list[Sequence[str]] = []
        for row in found.agents.to_dict("records"):
            cites = estimate(row["cites"], row["low"], row["high"])
            cosine = "-" if row["cosine"] != row["cosine"] else f"{row['cosine']:z.3f}"
            dissents = f"{row['dissents']:,} of {row['votes']:,}"
            agents.append((str(row["agent"]), f"{row['rationales']:,}", cites, cosine, dissents))
        heads = ("agent", "rationales", "cites the debate", "cosine with others", "dissents")
        tables.append((f"Agents ({100 * found.level:.6g} % cluster Wilson)", heads, agents))
    return tables


def _reason_row(row: Mapping[Any, Any]) -> tuple[str, ...]:
    from d3stats.inference.comparison.pair_data import said_p

    bare = row["low"] != row["low"]
    limits = "" if bare else f" [{row['low']:+z.3f}, {row['high']:+z.3f}]"
    tested = ["-" if p != p else said_p(p).removeprefix("p = ") for p in (row["p_value"], row["p_adjusted"])]
    shares = (f"{row['dissent']:z.3f}", f"{row['majority']:z.3f}", f"{row['difference']:+z.3f}{limits}")
    return (str(row["reason"]), *shares, *tested)


def rationale_comparison_tables(found: RationaleComparison) -> list[Table]:
    """Return the differences between two logs, each beside the two estimates."""
    from d3stats.estimate import interval_kind
    from d3stats.inference.comparison.pair_data import said_p

    rows = []
    for e in found.differences:
        name, ratio = e.quantity, e.of == f"{found.names[1]} / {found.names[0]}"
        own = [one.find(name) for one in (found.first, found.second)]
        shown = e._text() if ratio else _signed(e)
        values = ["" if ratio or one is None else f"{one.value:z.3f}" for one in own]
        tested = "-" if e.p_value is None else said_p(e.p_value).removeprefix("p = ")
        kind = "-" if e.low is None else interval_kind(e)
        rows.append((f"{name}, ratio" if ratio else name, *values, shown, tested, kind))
    heads = ("", *found.names, "difference", "p", "interval")
    return [(f"{found.names[1]} minus {found.names[0]}", heads, rows)]


_FORMULA = re.compile(r"[=+@\t-]")
_PLAIN_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?( ?%)?( \[[-+\d., %]+\])?$")


def without_formulas(table: pd.DataFrame) -> tuple[str, int]:
    """Return a table as CSV, and how many texts got an apostrophe because a spreadsheet would compute them.

    Numbers, and numbers with their interval, stay as they are; characters that act or hide become their escapes.

    Examples
    --------
    >>> import pandas as pd
    >>> print(*without_formulas(pd.DataFrame({"judge": ["=1+1", "b"], "gain": ["-0.1 [-0.2, 0.1]", "+1 %"]})))
    judge,gain
    '=1+1,"-0.1 [-0.2, 0.1]"
    b,+1 %
     1
    """
    changed = 0

    def plain(cell: object) -> object:
        nonlocal changed
        if not isinstance(cell, str):
            return cell
        cell = visible(cell)
        if not _FORMULA.match(cell) or _PLAIN_NUMBER.match(cell):
            return cell
        changed += 1
        return f"'{cell}"

    return table.rename(columns=plain).map(plain).to_csv(index=False), changed
