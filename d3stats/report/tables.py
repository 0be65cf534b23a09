"""Tables of results as people read them: a title, heads, and cells as text. The terminal and the page show the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from d3stats.estimate import Estimate
    from d3stats.inference import AgreementTable, Comparison, JuryCurve
    from d3stats.inference.bias import Audit
    from d3stats.planning.describe import RoundsReport
    from d3stats.planning.replay import Replay

__all__ = [
    "Table",
    "agreement_table",
    "audit_table",
    "comparison_tables",
    "estimate",
    "replay_table",
    "round_tables",
    "sized",
]

Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, heads and cells."""


def estimate(value: float, lower: float, upper: float, digits: int = 3) -> str:
    """Write an estimate with its interval where it has one; a dash stands for what could not be estimated."""
    if value != value:  # NaN: nothing could be estimated
        return "-"
    bare = f"{value:.{digits}f}"
    return bare if lower != lower else f"{bare} [{lower:.{digits}f}, {upper:.{digits}f}]"


def round_tables(report: RoundsReport) -> list[Table]:
    """Return the counts and the per-round table."""
    t = report.trajectories
    counts = report.counts()
    correct = (
        f"Correct votes per debate: {t.n_debates} debates of {len(t.cluster_names)} questions",
        ["round", *[str(c) for c in counts.columns], "missing votes"],
        [
            [str(r), *[str(v) for v in row], str(missing)]
            for (r, row), missing in zip(
                counts.T.to_dict("list").items(), report.to_frame()["missing_votes"], strict=True
            )
        ],
    )
    rows = []
    table = report.to_frame()
    # The same debates on both sides: shown where they are not all debates of the row.
    shared = bool((table["ks_debates"].notna() & (table["ks_debates"] != table["debates"])).any())
    for row in table.to_dict("records"):
        first = row["ks_pmf"] != row["ks_pmf"]  # NaN: the first round has no round before it
        rows.append(
            [
                str(row["round"]),
                f"{row['debates']:g}",
                estimate(row["mean"], row["mean_low"], row["mean_high"]),
                estimate(row["spread"], row["spread_low"], row["spread_high"]),
                estimate(row["accuracy"], row["accuracy_low"], row["accuracy_high"]),
                "" if first else f"{row['ks_pmf']:.3f} ({row['ks_pmf_noise']:.3f})",
                "" if first else f"{row['ks_latent']:.3f} ({row['ks_latent_noise']:.3f})",
                *([] if not shared else [""] if first else [f"{row['ks_debates']:g}"]),
            ]
        )
    fitted = (
        f"Fitted mixture, K={report.fit.fits[0].settings.n_components}, and majority verdict, by round "
        f"({report.drift.level:.0%} intervals; KS to the round before, its noise in brackets)",
        [
            "round",
            "debates",
            "mean p(correct)",
            "spread between debates",
            "majority accuracy",
            "KS pmf",
            "KS latent",
            *(["debates in both"] if shared else []),
        ],
        rows,
    )
    return [correct, fitted]


def replay_table(result: Replay) -> Table:
    """Return where each rule stopped, how accurate it was, and what it saved."""
    table = result.to_frame()
    stops = result.stops()
    n_rounds = result.trajectories.n_rounds
    labelled = "accuracy" in table.columns
    rows = []
    for row in table.to_dict("records"):
        of_rule = stops[stops["rule"] == row["rule"]]
        here = of_rule.groupby("round")["share"].sum()
        where = "/".join(f"{100 * here.get(r, 0.0):.0f}" for r in range(1, n_rounds + 1))
        unknown = of_rule.loc[of_rule["round"].isna(), "share"].sum()
        cells = [str(row["rule"]), f"{where}, {100 * unknown:.0f} unknown" if unknown else where]
        for measure in ("rounds", *(["accuracy"] if labelled else [])):
            digits = 2 if measure == "rounds" else 3
            value, low, high = (row[measure + end] for end in ("", "_low", "_high"))
            cells.append("-" if value != value else estimate(value, low, high, digits))
        cells.append("-" if row["flips"] != row["flips"] else f"{row['flips']:.1%}")
        saved = "saved_rounds_vs_unanimity"
        low, high = row[f"{saved}_low"], row[f"{saved}_high"]
        limits = "" if low != low else f" [{low:.1%}, {high:.1%}]"
        cells.append("-" if row[saved] != row[saved] else f"{row[saved]:.1%}{limits}")
        against_full = row["saved_rounds_vs_full"]
        cells.append("-" if against_full != against_full else f"{against_full:.1%}")
        rows.append(cells)
    s = result.settings
    return (
        f"Stopping rules replayed: {s.level:.0%} {s.interval} bootstrap intervals, questions resampled; "
        "shares: cluster Wilson",
        [
            "rule",
            "% stopped in round " + "/".join(str(r) for r in range(1, n_rounds + 1)),
            "rounds",
            *(["accuracy"] if labelled else []),
            "flips",
            "saved vs unanimity",
            "vs full",
        ],
        rows,
    )


def sized(found: AgreementTable | JuryCurve) -> str:
    """Write how many items in how many clusters a result is about."""
    from d3stats._words import counted

    return f"{counted(found.n_items, 'item')} in {counted(found.n_clusters, 'cluster')}"


def agreement_table(found: AgreementTable) -> Table:
    """Return the panel's coefficients and those of every pair, each with its interval."""
    from d3stats._words import counted

    kinds = [e.kind for e in found.estimates if e.low is not None]
    several = len(set(kinds)) > 1
    rows = []
    for one in found.coefficients:
        e = one.estimate
        rows.append(
            (
                e.name,
                f"{e.value:.3f}",
                "-" if e.low is None else f"[{e.low:.3f}, {e.high:.3f}]",
                f"{one.share.value:.3f}",
                "-" if one.chance is None else f"{one.chance:.3f}",
                str(e.n),
                *([("-" if e.low is None else e.kind)] if several else []),
            )
        )
    first = found.estimates[0]
    title = (
        f"{sized(found)}, {counted(len(found.raters), 'agent')}, {counted(found.n_missing, 'vote')} missing"
    )
    limits = f"{100 * first.level:.6g} % {'interval' if several or not kinds else kinds[0]}"
    head = ("", "estimate", limits, "share of agreement", "by chance", "items")
    return title, (*head, "kind of interval") if several else head, rows


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
        f"Differences, second run less first ({level}; {size})",
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
        [[run.name, _plain(run), "-" if run.low is None else interval_kind(run)] for run in found.runs],
    )
    rows = [
        [d.name if k == 0 else "", test.name, said_p(test.p_value), test.detail or test.note]
        for d in found.differences
        for k, test in enumerate(test for test in d.tests if test.p_value is not None)
    ]
    tests = ("Tests that the runs do equally well", ["difference", "test", "p", "how"], rows)
    return [differences, runs, *([tests] if rows else [])]


def _signed(effect: Estimate) -> str:
    limits = "no interval" if effect.low is None else f"[{effect.low:+.3f}, {effect.high:+.3f}]"
    return f"{effect.value:+.3f} {limits}"


def _plain(run: Estimate) -> str:
    return f"{run.value:.3f}" + ("" if run.low is None else f" [{run.low:.3f}, {run.high:.3f}]")


def audit_table(result: Audit) -> Table:
    """Return the estimates of an audit of one judge."""
    rows = [_audit_row(e) for e in result.estimates]
    return result.judge, ("", "estimate", "interval", "kind", "n", "clusters", "p"), rows


def _audit_row(e: Estimate) -> tuple[str, ...]:
    limits = "-" if e.low is None else f"[{e.low:.3f}, {e.high:.3f}]"
    kind = ("-" if e.kind != "reference" else e.kind) if e.low is None else f"{100 * e.level:.6g} % {e.kind}"
    clusters = "" if e.n_clusters is None else f"{e.n_clusters}"
    tested = "" if e.p_value is None else f"{e.p_value:.3g}"
    return e.name, f"{e.value:.3f}", limits, kind, f"{e.n}", clusters, tested
