"""The checks that a user's table is put to: which columns each needs, and what it does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from d3stats.inference.table_audit.arithmetic import (
    check_average,
    check_difference,
    check_ratio,
    check_relative_gain,
)
from d3stats.inference.table_audit.finding import Finding
from d3stats.inference.table_audit.kappa_share import check_kappas
from d3stats.inference.table_audit.paired_binary import check_gains_and_losses, check_paired_t
from d3stats.inference.table_audit.price import check_one_price
from d3stats.inference.table_audit.shares import check_share
from d3stats.inference.table_audit.significance import check_p_values, check_significance
from d3stats.inference.table_audit.student import check_common_df, check_t_and_p
from d3stats.inference.table_audit.user_table import UserTable
from d3stats.inference.table_audit.wholes import check_within_parts

__all__ = ["CHECKS", "Check"]

_SUMMED = ("accuracy", "kappa", "gain", "relative_gain", "tokens", "cost")
"""Columns of which a row of averages may print the average."""


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
    for row in table.with_columns("accuracy", "n"):
        yield check_share(row.cells["accuracy"], _n(row.n), place=row.name, percent=table.percent)


def _gains(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("accuracy", "baseline", "gain"):
        yield check_difference(
            row.cells["accuracy"], row.cells["baseline"], row.cells["gain"], place=row.name, check="gain"
        )


def _relative_gains(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("accuracy", "baseline", "relative_gain"):
        if row.cells["baseline"].low <= 0:  # nothing is relative to 0
            continue
        yield check_relative_gain(
            row.cells["accuracy"],
            row.cells["baseline"],
            row.cells["relative_gain"],
            place=row.name,
            check="relative gain in percent",
        )


def _gained_and_lost(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("gained", "lost"):
        if "gain" in row.cells:
            yield check_gains_and_losses(
                row.cells["gained"], row.cells["lost"], row.cells["gain"], place=row.name
            )


def _t_and_p(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("t", "p"):
        df = None if row.n is None else row.n - 1
        yield check_t_and_p(row.cells["t"], row.cells["p"], place=row.name, df=df)


def _one_df(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("t", "p")
    if len(rows) > 1:
        yield check_common_df([(r.name, r.cells["t"], r.cells["p"]) for r in rows], place="all rows")


def _paired_t(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("accuracy", "baseline", "t", "n"):
        scale = 0.01 if table.percent else 1.0
        yield check_paired_t(
            row.cells["baseline"].scaled(scale),
            row.cells["accuracy"].scaled(scale),
            row.cells["t"],
            _n(row.n),
            place=row.name,
        )


def _differences(table: UserTable) -> Iterator[Finding]:
    for row in table.with_columns("accuracy", "baseline", "p", "n"):
        yield check_significance(
            row.cells["baseline"],
            row.cells["accuracy"],
            row.cells["p"],
            _n(row.n),
            place=row.name,
            percent=table.percent,
        )


def _family(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("p")
    if len(rows) > 1:
        yield check_p_values([(r.name, r.cells["p"]) for r in rows], place="all rows")


def _kappas(table: UserTable) -> Iterator[Finding]:
    rows = table.with_columns("accuracy", "kappa")
    found = [
        check_kappas([(r.cells["accuracy"], r.cells["kappa"])], place=r.name, percent=table.percent)
        for r in rows
    ]
    yield from found
    if len(rows) > 1:
        cells = [(r.cells["accuracy"], r.cells["kappa"]) for r in rows]
        yield check_kappas(cells, place="all rows", percent=table.percent)


def _ratio(above: str) -> Callable[[UserTable], Iterator[Finding]]:
    def run(table: UserTable) -> Iterator[Finding]:
        for row in table.with_columns(above, "accuracy", f"{above}_per_point"):
            if row.cells["accuracy"].low <= 0:
                continue
            points = row.cells["accuracy"].scaled(1.0 if table.percent else 100.0)
            yield check_ratio(
                row.cells[above],
                points,
                row.cells[f"{above}_per_point"],
                place=row.name,
                check=f"{above} for a point of accuracy",
            )

    return run


def _price(table: UserTable) -> Iterator[Finding]:
    rows = [row for row in table.with_columns("tokens", "cost") if row.cells["tokens"].low > 0]
    if len(rows) > 1:
        yield check_one_price([(r.name, r.cells["tokens"], r.cells["cost"]) for r in rows], place="all rows")


def _averages(table: UserTable) -> Iterator[Finding]:
    for whole in table.averages:
        for column in _SUMMED:
            parts = table.with_columns(column)
            if column in whole.cells and len(parts) > 1:
                yield check_average(
                    [r.cells[column] for r in parts],
                    whole.cells[column],
                    place=whole.name,
                    check=f"average {column}",
                )


def _wholes(table: UserTable) -> Iterator[Finding]:
    for whole in table.wholes:
        parts = table.with_columns("accuracy")
        if "accuracy" not in whole.cells or len(parts) < 2:
            continue
        cells = [r.cells["accuracy"] for r in parts]
        sizes = [r.n for r in parts if "n" in r.cells]
        if len(sizes) == len(parts) and whole.n == sum(map(_n, sizes)):
            # The parts make up the whole, so that their sizes are its weights.
            yield check_average(
                cells,
                whole.cells["accuracy"],
                place=whole.name,
                weights=[float(_n(x)) for x in sizes],
                check="accuracy over all items",
            )
        else:
            yield check_within_parts(cells, whole.cells["accuracy"], place=whole.name)


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
        Check("gained-lost", ("gained", "lost", "gain"), "Is gained minus lost the gain?", _gained_and_lost),
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
