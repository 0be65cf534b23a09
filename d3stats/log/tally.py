"""From cells to counts: the rules between records, and the sufficient statistics, in SQL.

Works on two tables that ``lines.py`` or ``tables.py`` fill:

``cells``
    One row per debate, round and role: ``n`` turns, ``votes`` cast, ``rights`` among them, ``mask`` of the
    agents that spoke (one bit per seat).
``debates``
    One row per debate: its ``label`` (NULL when unknown) and ``log``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from d3stats.counts import RoundCounts, TransitionCounts

if TYPE_CHECKING:
    import duckdb

__all__ = ["count_cells", "is_consistent"]


def is_consistent(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether no turn is there twice, no round is skipped and no panel changes within a run."""
    # A round in which one role speaks, as in most logs, is one cell already.
    alone = con.execute(
        "SELECT min(role) IS NOT DISTINCT FROM max(role) AND count(role) IN (0, count(*)) FROM cells"
    )
    if alone.fetchone() == (True,):
        con.execute("CREATE OR REPLACE TEMP VIEW rounds AS SELECT * FROM cells")
    else:
        con.execute(
            """CREATE OR REPLACE TEMP VIEW rounds AS
            SELECT debate, round, sum(n)::BIGINT AS n, sum(votes)::BIGINT AS votes,
                sum(rights)::BIGINT AS rights, bit_or(mask) AS mask
            FROM cells GROUP BY debate, round"""
        )
    sound = con.execute(
        """SELECT count(*) > 0, bool_and(whole), bool_and(low = 1 AND high = k) FROM (
            SELECT min(round) AS low, max(round) AS high, count(*) AS k, bool_and(bit_count(mask) = n) AS whole
            FROM rounds GROUP BY debate
        )"""
    ).fetchone()
    if sound != (True, True, True):
        return False
    mixed = con.execute(
        """SELECT count(*) FROM (
            SELECT bool_and(steady) AS steady, min(size) AS low, max(size) AS high FROM (
                SELECT debate, role, bit_and(mask) = bit_or(mask) AS steady, bit_count(bit_or(mask)) AS size
                FROM cells GROUP BY debate, role
            ) JOIN debates USING (debate) GROUP BY log, role
        ) WHERE NOT steady OR low <> high"""
    ).fetchone()
    return mixed == (0,)


def count_cells(
    con: duckdb.DuckDBPyConnection, *, missing: str, all_known: bool
) -> tuple[RoundCounts, TransitionCounts, int, int]:
    """Count rounds and transitions; returns them with the number of turns and of debates.

    `all_known` says that every vote is known to be right or wrong, label or not (a log of correctness).
    """
    trials = "votes" if missing == "exclude" else "panel"
    # Roles that never vote have no seats, unless nobody would have one; see ``frames.seated``.
    con.execute(
        """CREATE OR REPLACE TEMP VIEW panels AS
        WITH roles AS (SELECT role, role IS NULL OR sum(votes) > 0 AS seated FROM cells GROUP BY role),
        sitting AS (SELECT role FROM roles WHERE seated OR NOT (SELECT bool_or(seated) FROM roles))
        SELECT debate, bit_count(coalesce(bit_or(mask) FILTER (sitting), 0)) AS panel FROM (
            SELECT debate, mask,
                EXISTS (FROM sitting s WHERE s.role IS NOT DISTINCT FROM cells.role) AS sitting
            FROM cells
        ) GROUP BY debate"""
    )
    panels = "" if missing == "exclude" else "JOIN panels USING (debate)"
    known = "true" if all_known else "label IS NOT NULL"
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE tried AS
        SELECT debate, round, rights, {trials} AS trials FROM rounds JOIN debates USING (debate) {panels}
        WHERE {known}"""
    )
    per_round = con.execute(
        "SELECT round, rights, trials, count(*)::DOUBLE AS weight FROM tried WHERE trials > 0 GROUP BY ALL"
    ).fetchnumpy()
    per_step = con.execute(
        """SELECT a.round AS round, a.rights AS rights, a.trials AS trials, b.rights AS next_rights,
            b.trials AS next_trials, count(*)::DOUBLE AS weight
        FROM tried a JOIN tried b ON a.debate = b.debate AND b.round = a.round + 1
        WHERE a.trials > 0 AND b.trials > 0 GROUP BY ALL"""
    ).fetchnumpy()
    totals = con.execute(
        "SELECT (SELECT sum(n)::BIGINT FROM cells), (SELECT count(*) FROM debates)"
    ).fetchone()
    assert totals is not None
    rounds = RoundCounts.from_columns(
        *(np.asarray(per_round[c]) for c in ("round", "rights", "trials")), weights=per_round["weight"]
    )
    names = ("round", "rights", "trials", "next_rights", "next_trials")
    transitions = TransitionCounts.from_columns(
        *(np.asarray(per_step[c]) for c in names), weights=per_step["weight"]
    )
    return rounds, transitions, int(totals[0]), int(totals[1])
