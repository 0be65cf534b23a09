"""Advice on columns is typed as it is printed: the table is then read as it was meant, or there is no advice."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from layers import sampled

from d3stats.log import read_log
from d3stats.log.column_names import parse_columns
from d3stats.log.doctor import doctor

NAMES = {
    "case": ("Case", "problem", "item no", "wc", "Question text", "k"),
    "session": ("Session", "thread", "hearing", "ws", "Trial", "h"),
    "round": ("Phase", "iter", "Stage", "wr", "turn", "m"),
    "agent": ("Juror name", "bot", "panelist", "wa", "speaker", "g"),
    "vote": ("Finding", "reply", "Verdict given", "wv", "answer", "f"),
    "label": ("Truth", "expected", "gold label", "wl", "p"),
    "topic": ("Topic", "subject", "wt", "kind of crime", "q"),
    "sent": ("prompt tokens", "in_tok", "wi", "tokens read"),
    "written": ("completion tokens", "out_tok", "wo", "n"),
    "side": ("Side", "wx", "bench"),
    "majority": ("Majority", "wm", "outcome"),
    "shown": ("Shown first", "wf"),
    "sure": ("Confidence", "wz"),
    "before": ("Previous finding", "wb"),
}
"""What a column holds, and what it may be called: words for it, known other names, and names that say nothing."""

ROLES = ("case", "session", "round", "agent", "vote", "label")
TYPED = re.compile(r"\(--columns (.*?)\)(?=$|[,; ]| has)")


def invented(seed: int) -> tuple[pd.DataFrame, dict[str, str], bool]:
    """Return a table with what its columns hold as names, their own names, and whether the session needs the case."""
    rng = np.random.default_rng(seed)
    n_cases, n_sessions = int(rng.integers(4, 13)), int(rng.integers(1, 4))
    n_rounds, n_agents = int(rng.integers(1, 5)), int(rng.integers(1 + (rng.random() < 0.9), 6))
    kinds = ["guilty", "not guilty", "hung"][: int(rng.integers(2, 4))]
    number = rng.random() < 0.2
    nested, of_case = rng.random() < 0.5, rng.random() < 0.3
    holes, early = rng.random() < 0.3, rng.random() < 0.3
    rows = []
    for case in range(n_cases):
        truth = kinds[rng.integers(len(kinds))]
        for session in range(n_sessions):
            last = int(rng.integers(1, n_rounds + 1)) if early else n_rounds
            before: dict[int, str] = {}
            shown = kinds[rng.integers(len(kinds))]
            debate = []
            for played in range(1, last + 1):
                for agent in range(n_agents):
                    vote = truth if rng.random() < 0.6 else kinds[rng.integers(len(kinds))]
                    who = f"case {case} juror {agent}" if of_case else f"juror {agent}"
                    debate.append(
                        {
                            "case": case + 1 if number else f"case {case + 1:02d}",
                            "session": (
                                (session + 1 if number else f"session {session + 1}")
                                if nested
                                else f"s{case * n_sessions + session:03d}"
                            ),
                            "round": played,
                            "agent": agent + 1 if number and not of_case else who,
                            "vote": None if holes and rng.random() < 0.05 else vote,
                            "label": truth,
                            "topic": ["theft", "fraud", "arson"][case % 3],
                            "sent": int(rng.integers(100, 900)),
                            "written": int(rng.integers(10, 90)),
                            "side": "left" if agent < n_agents / 2 else "right",
                            "shown": shown,
                            "sure": ["low", "high"][rng.integers(2)],
                            "before": before.get(agent, vote),
                        }
                    )
                    before[agent] = vote
            final = [row["vote"] for row in debate[-n_agents:] if row["vote"]]
            most = max(kinds, key=final.count)
            rows += [row | {"majority": most} for row in debate]
    table = pd.DataFrame(rows)
    if n_rounds == 1 and rng.random() < 0.7:
        table = table.drop(columns="round")
    if n_sessions == 1 and rng.random() < 0.7:
        table = table.drop(columns="session")
    elif not nested and rng.random() < 0.2:
        table = table.drop(columns="case")
    more = [name for name in table if name not in ROLES]
    table = table.drop(columns=[name for name in more if rng.random() < 0.6])
    if rng.random() < 0.3:
        table = table.drop(columns="label")
    table = table[list(rng.permutation(table.columns))]
    if rng.random() < 0.5:
        table = table.sample(frac=1, random_state=int(rng.integers(1000)))
    kind = rng.random()
    own = {}
    for name in table:
        free = [n for n in NAMES[name] if n not in own.values()]
        own[name] = free[0] if kind < 0.3 else free[int(rng.integers(len(free)))]
    return table.reset_index(drop=True), own, nested


def meant(table: pd.DataFrame, nested: bool) -> pd.DataFrame:
    """Return the table under the standard names."""
    keys = [name for name in ("session", "case") if name in table and (name == "session" or nested)] or [
        "case"
    ]
    out = pd.DataFrame({"debate": table[keys].astype(str).agg(" / ".join, axis=1)})
    out["question"] = table["case"] if "case" in table else out["debate"]
    out["round"] = table.get("round", 1)
    return out.assign(**{name: table[name] for name in ("agent", "vote", "label") if name in table})


def turns_of(source: Any, table: pd.DataFrame, nested: bool, **how: Any) -> list[tuple[Any, ...]]:
    """Return the turns of a log; a debate is known by the rows of the table that have all parts of its name."""
    log = read_log(source, **how)
    cells = [set(map(str, row)) for row in table.itertuples(index=False)]
    of_row = meant(table, nested)["debate"].tolist()
    rows = {
        name: frozenset(d for d, row in zip(of_row, cells, strict=True) if set(name.split(" / ")) <= row)
        for name in log.items["debate"]
    }
    items = log.items.set_index("debate")
    asked = items.groupby("question").groups
    return sorted(
        (
            sorted(rows[turn.debate]),
            sorted(sorted(rows[name]) for name in asked[items.loc[turn.debate, "question"]]),
            str(items.loc[turn.debate, "label"]),
            int(turn.round),
            turn.agent,
            str(turn.vote),
        )
        for turn in log.turns.itertuples()
    )


def typed(report: Any) -> list[str]:
    """Return the choices that a report says to type, without those that leave a column open."""
    found = [said for problem in report.problems for said in TYPED.findall(problem.message)]
    return [shlex.split(said)[0] for said in found if "COLUMN" not in said]


GIVEN = [0, 0]
"""Tables that got advice, and tables that were refused."""


def check(seed: int, folder: Path, roles: tuple[str, ...]) -> None:
    table, own, nested = invented(seed)
    path = folder / "own.csv"
    table.rename(columns=own).to_csv(path, index=False)
    told = {"agent": "agent", "vote": "vote", "round": "round", "label": "label"}
    chosen = {told[name]: own[name] for name in roles if name in own}
    report = doctor(path, columns=chosen)
    GIVEN[1] += bool(report.problems)
    for said in typed(report):
        GIVEN[0] += 1
        how = parse_columns(said)
        assert chosen.items() <= how.items(), "a choice of the user is repeated"
        meant(table, nested).to_csv(folder / "meant.csv", index=False)
        expected = turns_of(folder / "meant.csv", table, nested)
        read = turns_of(path, table, nested, columns=how)
        assert read == expected, (said, own)


@sampled("start, n", [(0, 9), (9, 51), *((1000 * part, 60) for part in (1, 2, 3))], (0,))
def test_advice_on_columns_reads_an_invented_table_as_it_was_meant_or_is_not_given(
    start: int, n: int, tmp_path: Path
) -> None:
    some = [
        (),
        ("agent", "vote"),
        ("agent",),
        ("vote", "round"),
        ("round", "label"),
        ("agent", "vote", "label"),
    ]
    GIVEN[:] = [0, 0]
    for seed in range(n):
        check(start + seed, tmp_path, some[seed % len(some)])
    assert GIVEN[0] > n // 12, "advice is given at all"
