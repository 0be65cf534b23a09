"""The checks that a user's table is put to: which columns each needs, and what it does with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from d3stats.inference.table_audit.arithmetic import (
    check_average,
    check_difference,
    check_ratio,
    check_relative_gain,
)
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.kappa_share import check_kappas, kappa_of_any_classes
from d3stats.inference.table_audit.paired_binary import check_gains_and_losses, check_paired_t, t_range
from d3stats.inference.table_audit.price import check_one_price
from d3stats.inference.table_audit.printed import Printed
from d3stats.inference.table_audit.shares import check_share, counts_of_share
from d3stats.inference.table_audit.significance import check_p_values, check_significance
from d3stats.inference.table_audit.student import check_common_df, check_t_and_p, implied_df
from d3stats.inference.table_audit.user_table import Row, UserTable
from d3stats.inference.table_audit.wholes import check_within_parts

__all__ = ["CHECKS", "Check"]

_SUMMED = ("accuracy", "baseline", "kappa", "gain", "relative_gain", "tokens", "cost")
"""Columns of which a row of averages may print the average."""
_PAIRS = 400
"""Above so many pairs of counts that print both accuracies, tables of counts are not enumerated."""
_SLACK = 1e-9
_OTHER_ITEMS = "another number of items, clusters of items, or scores that are not 0 or 1"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a user's table.

    Attributes
    ----------
    name : str
    needs : tuple of str
        Columns that some row must have together.
    asks : str
        The question, for people.
    run : callable
        Takes the table, yields findings.
    """

    name: str
    needs: tuple[str, ...]
    asks: str
    run: Callable[[UserTable], Iterator[Finding]]


def _shares(table: UserTable) -> Iterator[Finding]:
    for row in _of_items(table, "accuracy", "n"):
        yield check_share(row.cells["accuracy"], _n(row.n), place=row.name, percent=table.percent)


def _gains(table: UserTable) -> Iterator[Finding]:
    unit = table.units["gain"]
    for row in table.with_columns("accuracy", "baseline", "gain"):
        new, old = (table.cell(row, column, unit) for column in ("accuracy", "baseline"))
        yield check_difference(new, old, row.cells["gain"], place=row.name, check="gain")


def _relative_gains(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("accuracy", "baseline", "relative_gain"):
        new, old = (table.cell(row, column, "share") for column in ("accuracy", "baseline"))
        if old.low <= 0:  # nothing is relative to 0
            continue
        said = table.cell(row, "relative_gain", "percent")
        if table.units["relative_gain"] == "share":
            said = replace(said, text=f"{said.text} = {said.value:.6g}%")
        yield check_relative_gain(new, old, said, place=row.name, check="relative gain in percent")


def _gained_and_lost(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("gained", "lost"):
        unit = table.units["gain"] if "gain" in row.cells else table.units["accuracy"]
        if table.units["gained"] == "count" and row.n is None:
            continue
        if "gain" in row.cells:
            said = _from_entries(table, row, "gain")
        elif row.has(("accuracy", "baseline")):
            new, old = (table.cell(row, column, unit) for column in ("accuracy", "baseline"))
            difference, error = new.value - old.value, new.half_unit + old.half_unit
            said = Printed(f"{new} - {old}", difference, error)
        else:
            continue
        up, down = (table.cell(row, column, unit) for column in ("gained", "lost"))
        found = check_gains_and_losses(up, down, said, place=row.name)
        needed = found.needed and "other numbers gained and lost, or numbers of other items"
        yield replace(found, needed=needed)


def _from_entries(table: UserTable, row: Row, column: str) -> Printed:
    """Return a gain, granting that it was taken from the accuracies as printed and is off by their rounding."""
    said = row.cells[column]
    if column not in ("gain", "relative_gain") or "accuracy" not in row.cells:
        return said
    unit = table.units[column]
    new = table.cell(row, "accuracy", unit)
    # A baseline that is not printed has as many digits as the accuracy.
    error = table.cell(row, "baseline", unit).half_unit if "baseline" in row.cells else new.half_unit
    if column == "gain":
        return replace(said, half_unit=said.half_unit + new.half_unit + error)
    whole = 1.0 if unit == "share" else 100.0
    ratio = 1 + said.value / whole
    old = table.cell(row, "baseline", unit) if "baseline" in row.cells else new.scaled(1 / max(ratio, 1e-9))
    if old.value <= error:
        return replace(said, half_unit=math.inf)
    slip = whole * (new.half_unit + abs(ratio) * error) / (old.value - error)
    return replace(said, half_unit=said.half_unit + slip)


def _t_and_p(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("t", "p"):
        t, p = row.cells["t"], row.cells["p"]
        found = check_t_and_p(t, p, place=row.name, df=None if row.n is None else row.n - 1)
        other = "" if found.verdict != "inconsistent" else _other_t_test(t, p, row.n)
        yield replace(found, verdict="conditional", needed=other) if other else found


def _other_t_test(t: Printed, p: Printed, n: int | None) -> str:
    """Name the test other than a two-sided paired t test of n items that has this t and p; "" where there is none."""
    if (other := _test_of_items(implied_df(t, p), n)) != "":
        return other
    # One-sided: half the two-sided p, or the rest of it when the new run is the worse one.
    halves = [p.scaled(2)]
    if t.low <= 0:
        halves.append(Printed(p.text, 2 - 2 * p.value, 2 * p.half_unit + 1e-15))
    for half in halves:
        found = implied_df(t, half) if half.low <= 1 else None
        if found is not None and (n is None or _holds(found, n - 1) or _test_of_items(found, n)):
            return "a one-sided test"
    return ""


def _test_of_items(found: tuple[int, int | None] | None, n: int | None) -> str:
    """Name the test of n items, other than the paired t, that has degrees of freedom in this range; "" if none has."""
    if found is None or n is None or _holds(found, n - 1):
        return ""
    least, most = found
    if most is None:
        return "a p of the normal distribution, or more items"
    if most >= n and least <= 2 * n - 2:
        return "a test of two independent samples"
    return f"{least + 1} to {most + 1} pairs or clusters" if most < n - 1 else ""


def _holds(found: tuple[int, int | None], df: int) -> bool:
    return found[0] <= df and (found[1] is None or df <= found[1])


def _one_df(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("t", "p")
    # Rows of other numbers of items have other degrees of freedom.
    if len(rows) > 1 and len({r.n for r in rows}) == 1:
        found = check_common_df([(r.name, r.cells["t"], r.cells["p"]) for r in rows], place="all rows")
        yield _only_if(found, "another number of pairs for each row, or other tests in some rows")


def _paired_t(table: UserTable) -> Iterator[Finding]:
    for row in _of_items(table, "accuracy", "baseline", "t", "n"):
        old, new = (table.cell(row, column, "share") for column in ("baseline", "accuracy"))
        n, t = _n(row.n), row.cells["t"]
        if n < 2:
            continue
        least, most = t_range(old, new, n)
        stated = sorted((abs(t.low), abs(t.high)))
        reached = stated[1] >= least - _SLACK and (stated[0] <= most + _SLACK or t.low <= 0 <= t.high)
        if len(counts_of_share(old, n, percent=False)) * len(counts_of_share(new, n, percent=False)) > _PAIRS:
            # Too many tables to count them: between the extremes every t is nearly reached.
            yield Finding(
                check=f"paired t of {n} right-or-wrong answers",
                place=row.name,
                printed=f"{old} -> {new}, t = {t}",
                implied=f"t from {least:.2f} to {most:.2f}",
                verdict="conditional" if reached else "inconsistent",
                needed="few enough items lost" if reached else _OTHER_ITEMS,
            )
            continue
        found = check_paired_t(old, new, t, n, place=row.name)
        if found.verdict == "inconsistent":
            found = replace(found, needed=_OTHER_ITEMS)
        yield _only_if(found, "a z test, or a test of two independent samples") if reached else found


def _differences(table: UserTable) -> Iterator[Finding]:
    for row in _of_items(table, "accuracy", "baseline", "p", "n"):
        old, new = (table.cell(row, column, "share") for column in ("baseline", "accuracy"))
        yield check_significance(old, new, row.cells["p"], _n(row.n), place=row.name, percent=False)


def _family(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("p")
    if len(rows) > 1:
        yield check_p_values([(r.name, r.cells["p"]) for r in rows], place="all rows")


def _kappas(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("accuracy", "kappa")
    for r in rows:
        a, k = r.cells["accuracy"], r.cells["kappa"]
        found = check_kappas([(a, k)], place=r.name, percent=table.percent)
        if kappa_of_any_classes(a, k, percent=table.percent):
            yield _only_if(found, "more than two classes")
        else:
            yield replace(found, needed="a weighted kappa, or one of other items")
    if len(rows) > 1:
        cells = [(r.cells["accuracy"], r.cells["kappa"]) for r in rows]
        found = check_kappas(cells, place="all rows", percent=table.percent)
        yield _only_if(found, "more than two classes, or other items in each row")


def _ratio(above: str) -> Callable[[UserTable], Iterator[Finding]]:
    def run(table: UserTable) -> Iterator[Finding]:
        for row in table.with_columns(above, "accuracy", f"{above}_per_point"):
            points = table.cell(row, "accuracy", "percent")
            if points.low <= 0:
                continue
            yield check_ratio(
                row.cells[above],
                points,
                row.cells[f"{above}_per_point"],
                place=row.name,
                check=f"{above} for a point of accuracy",
            )

    return run


def _price(table: UserTable) -> Iterator[Finding]:
    rows = [
        row
        for row in table.with_columns("tokens", "cost")
        if row.cells["tokens"].low > 0 and row.cells["cost"].high > 0
    ]
    if len(rows) > 1:
        found = check_one_price(
            [(r.name, r.cells["tokens"], r.cells["cost"]) for r in rows], place="all rows"
        )
        yield _only_if(found, "another price for some rows")


def _averages(table: UserTable) -> Iterator[Finding]:
    rows = table.rows
    sizes = [float(_n(r.n)) for r in rows] if all("n" in r.cells for r in rows) else None
    for whole in table.averages:
        # A column with a gap may be averaged over other rows than those that print it.
        columns = [c for c in _SUMMED if c in whole.cells and all(c in r.cells for r in rows)]
        if len(rows) < 2:
            continue
        unclear = []
        for column in columns:
            parts, said = [_from_entries(table, r, column) for r in rows], _from_entries(table, whole, column)
            if not all(math.isfinite(p.half_unit) for p in (*parts, said)):
                continue
            made = [
                check_average(parts, said, place=whole.name, weights=w, check=f"average {column}")
                for w in (None, sizes)
                if w is None or sizes is not None
            ]
            plain, weighted = made[0], made[-1]
            if plain.verdict == "consistent":
                yield plain
            elif weighted.verdict == "consistent":
                yield replace(weighted, needed="rows weighted by their n")
            elif column == "relative_gain" and _of_averages(table, whole):
                yield replace(_only_if(plain, "a relative gain of the averages"))
            elif sizes is None or column == "relative_gain":
                unclear.append((column, plain))
            else:
                yield plain
        linear = [c for c in columns if c in ("accuracy", "baseline", "gain") or c in dict(unclear)]
        linear = [c for c in linear if c != "relative_gain"]
        weights = _weights_exist(
            [([_from_entries(table, r, c) for r in rows], _from_entries(table, whole, c)) for c in linear]
            if sizes is None
            else []
        )
        for column, plain in unclear:
            parts = [_from_entries(table, r, column) for r in rows]
            among = (
                check_within_parts(parts, _from_entries(table, whole, column), place="").verdict
                == "consistent"
            )
            fits = weights and among
            yield _only_if(plain, "rows weighted by numbers that are not printed") if fits else plain


def _of_averages(table: UserTable, whole: Row) -> bool:
    """Say whether a row's relative gain is that of its own accuracy and baseline."""
    if not whole.has(("accuracy", "baseline")):
        return False
    new, old = (table.cell(whole, column, "share") for column in ("accuracy", "baseline"))
    said = table.cell(whole, "relative_gain", "percent")
    return old.low > 0 and check_relative_gain(new, old, said, place="").verdict == "consistent"


def _weights_exist(columns: Sequence[tuple[Sequence[Printed], Printed]]) -> bool:
    """Say whether one weighting of the rows gives every column's average at once, rounding allowed for."""
    if not columns:
        return True
    from scipy.optimize import linprog

    rows, limits = [], []
    for parts, said in columns:
        scale = max(max(abs(p.high) for p in parts), abs(said.high), 1e-12)
        rows += [[p.low / scale for p in parts], [-p.high / scale for p in parts]]
        limits += [said.high / scale + 1e-9, -said.low / scale + 1e-9]
    n = len(columns[0][0])
    found = linprog([0.0] * n, A_ub=rows, b_ub=limits, A_eq=[[1.0] * n], b_eq=[1.0], bounds=(0, 1))
    return bool(found.status == 0)


def _wholes(table: UserTable) -> Iterator[Finding]:
    for whole in table.wholes:
        parts = table.with_columns("accuracy")
        if "accuracy" not in whole.cells or len(parts) < max(2, len(table.rows)):
            continue
        cells = [r.cells["accuracy"] for r in parts]
        sizes = [r.n for r in parts if "n" in r.cells]
        if len(sizes) == len(parts) and whole.n == sum(map(_n, sizes)):
            # The parts make up the whole, so that their sizes are its weights.
            found = check_average(
                cells,
                whole.cells["accuracy"],
                place=whole.name,
                weights=[float(_n(x)) for x in sizes],
                check="accuracy over all items",
            )
            plain = check_average(cells, whole.cells["accuracy"], place=whole.name)
            if found.verdict == "inconsistent" and plain.verdict == "consistent":
                found = replace(found, needed="a mean of the rows, each of which counts alike")
            yield found
        else:
            yield check_within_parts(cells, whole.cells["accuracy"], place=whole.name)


def _of_items(table: UserTable, *columns: str) -> list[Row]:
    """Return the rows that print these and whose accuracies are those of one run over n items."""
    return [
        row
        for row in table.with_columns(*columns)
        if not any(row.cells[c].several_runs for c in columns if c in ("accuracy", "baseline"))
    ]


def _only_if(found: Finding, needed: str) -> Finding:
    """Return an inconsistent finding as a conditional one: the table does not say that it is not so."""
    return found if found.verdict != "inconsistent" else replace(found, verdict="conditional", needed=needed)


def _n(n: int | None) -> int:
    if n is None:
        raise ValueError("n must be printed or given; got none")
    return n


CHECKS = {
    c.name: c
    for c in (
        Check("share", ("accuracy", "n"), "Is each accuracy a whole number of n items?", _shares),
        Check("gain", ("accuracy", "baseline", "gain"), "Is the gain the difference?", _gains),
        Check(
            "relative-gain",
            ("accuracy", "baseline", "relative_gain"),
            "Is the relative gain that of the entries?",
            _relative_gains,
        ),
        Check("gained-lost", ("gained", "lost"), "Is gained minus lost the gain?", _gained_and_lost),
        Check("kappa", ("accuracy", "kappa"), "Which share of the majority class do they need?", _kappas),
        Check("t-and-p", ("t", "p"), "Which degrees of freedom do t and p share?", _t_and_p),
        Check("one-df", ("t", "p"), "Does one number of degrees of freedom serve all rows?", _one_df),
        Check(
            "paired-t",
            ("accuracy", "baseline", "t", "n"),
            "Can t come from n right-or-wrong answers?",
            _paired_t,
        ),
        Check(
            "difference-p",
            ("accuracy", "baseline", "p", "n"),
            "Can the difference have this p at n?",
            _differences,
        ),
        Check("holm", ("p",), "Which tests stand when all are counted?", _family),
        Check(
            "tokens-per-point",
            ("tokens", "accuracy", "tokens_per_point"),
            "Is it tokens over accuracy?",
            _ratio("tokens"),
        ),
        Check(
            "cost-per-point",
            ("cost", "accuracy", "cost_per_point"),
            "Is it cost over accuracy?",
            _ratio("cost"),
        ),
        Check("one-price", ("tokens", "cost"), "Does one price serve all rows?", _price),
        Check("average", (), "Is a row called average or mean the mean of the others?", _averages),
        Check("overall", ("accuracy",), "Does a row called overall lie among the others?", _wholes),
    )
}
"""Every check of a user's table by name, in the order of the report."""
