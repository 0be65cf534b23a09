"""Spoilt inputs of every kind are read or refused, and the page on reliability follows from its tables."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from layers import examples

from d3stats.log import DebateLog

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "simulations" / "fuzz"
CONFIG = tomllib.loads((STUDY / "config.toml").read_text(encoding="utf-8"))
NAMES = ("bombs", "foreign", "kinds", "mutate", "page", "run")
QUICK = ("study", "prices", "world", "rule", "reply of a model", "body of a server", "log, one debate")
"""Kinds of which a block of the study takes a part of a second."""


@pytest.fixture(scope="module")
def study() -> dict[str, ModuleType]:
    """Import the modules of the study, under their own names only while they are imported."""
    before = {name: sys.modules.pop(name, None) for name in NAMES}
    sys.path[:0] = [str(STUDY), str(STUDY.parent)]
    try:
        return {name: importlib.import_module(name) for name in NAMES}
    finally:
        del sys.path[:2]
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.read_csv(STUDY / "rows.csv")


@examples(7, 100)
def test_new_inputs_of_every_kind_are_read_or_refused(
    study: dict[str, ModuleType], n_examples: int, tmp_path: Path
) -> None:
    """Seeds that the study does not have: in the fast layer 7 of each of 24 kinds."""
    run, found = study["run"], Counter[str]()
    for kind in study["kinds"].KINDS:
        for number in range(n_examples):
            folder = tmp_path / f"{kind} {number}"
            folder.mkdir()
            outcome = run.tried(kind, number, folder, seed=2)
            assert (outcome.why, outcome.lost, outcome.doubled) == ("", 0, 0), (kind, number)
            found[outcome.what] += 1
    assert found.total() >= 160
    assert min(found["read"], found["told"], found["refused"]) > 0.15 * found.total(), found


@pytest.mark.parametrize(
    ("kind", "number"),
    [*(("log, packed by gzip", number) for number in (1058, 1135, 1353, 1999)), ("log, CSV or TSV", 262)],
)
def test_rows_that_a_file_does_not_hold_or_that_the_reader_tells_about_are_not_lost_or_doubled(
    study: dict[str, ModuleType], tmp_path: Path, kind: str, number: int
) -> None:
    """A header and a blank row longer than the names, in JSON; a carriage return and a row of spaces in CSV."""
    outcome = study["run"].tried(kind, number, tmp_path)
    assert (outcome.why, outcome.lost, outcome.doubled) == ("", 0, 0)


@pytest.mark.parametrize("number", [1058, 1135, 1353, 1999])
@pytest.mark.parametrize("spoiled", ["a turn less", "a turn twice", "a note less"])
def test_the_study_counts_what_a_reader_would_lose_or_double(
    study: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, spoiled: str
) -> None:
    kinds, true = study["kinds"], study["kinds"].read_log

    def read(path: Path, *, strict: bool = True) -> DebateLog:
        log = true(path, strict=strict)
        if spoiled == "a note less":
            return replace(log, notes=())
        turns = log.turns.iloc[1:] if spoiled == "a turn less" else pd.concat([log.turns, log.turns.iloc[:1]])
        return replace(log, turns=turns, n_records=log.n_records + len(turns) - len(log.turns))

    monkeypatch.setattr(kinds, "read_log", read)
    outcome = study["run"].tried("log, packed by gzip", number, tmp_path)
    if spoiled == "a note less" and number in (1135, 1353):
        assert (outcome.lost, outcome.doubled) == (0, 0), "no row of these was left out with a note"
    else:
        assert (outcome.lost > 0, outcome.doubled > 0) == (
            spoiled != "a turn twice",
            spoiled == "a turn twice",
        )


@pytest.mark.parametrize("kind", QUICK)
def test_a_block_of_the_study_comes_out_again(
    study: dict[str, ModuleType], rows: pd.DataFrame, kind: str
) -> None:
    written = rows[(rows["kind"] == kind) & (rows["block"] == 0)]
    again = study["run"].block(kind, range(CONFIG["block"]), CONFIG)
    sums = study["run"].SUMS
    assert written[sums].values.tolist() == [[again[name] for name in sums]]


def test_the_tables_show_no_other_error_and_nothing_lost_or_doubled(
    study: dict[str, ModuleType], rows: pd.DataFrame
) -> None:
    assert set(rows["kind"]) == set(CONFIG["tries"]) == set(study["kinds"].KINDS)
    assert rows[["other", "lost", "doubled"]].to_numpy().sum() == 0
    assert (rows["tries"] == rows["read"] + rows["told"] + rows["refused"] + rows["other"]).all()
    assert not rows.duplicated(["kind", "block"]).any()
    assert rows["megabytes"].max() < CONFIG["megabytes"]
    assert rows["slowest"].max() < CONFIG["cpu_seconds"]
    bombs = pd.read_csv(STUDY / "bombs.csv")
    assert set(bombs["file"]) == {*study["bombs"].PACKED, *study["bombs"].PLAIN}
    assert set(bombs["outcome"]) == {"TooLarge", "LogError"}
    assert bombs["MB"].max() <= 2.1
    assert bombs["MB of memory"].max() < 1000


def test_the_page_is_what_the_tables_give(study: dict[str, ModuleType], rows: pd.DataFrame) -> None:
    page, faults = study["page"], pd.read_csv(study["page"].FAULTS)
    shown = study["run"].shown({"rows": rows})["rows"]
    text = page.text(faults, rows, pd.read_csv(STUDY / "bombs.csv"), shown, CONFIG["cpu_seconds"])
    assert page.PAGE.read_text(encoding="utf-8") == text, "python simulations/fuzz/page.py"
    of_runs = page.faults(faults).set_index("kind")
    assert of_runs.loc["all", "tries"] == faults["tries"].sum(), "a kind of fault is on no row of the page"
    assert of_runs[["lost", "doubled"]].to_numpy().sum() == 0


def test_the_findings_hold_the_table_of_kinds(study: dict[str, ModuleType], rows: pd.DataFrame) -> None:
    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    findings = sys.modules[study["run"].write.__module__]
    assert findings.filled(text, study["run"].shown({"rows": rows})) == text


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        ("int('x')", False),
        ("d3stats.stopping.from_text('no such rule')", True),
        ("{}['x']", False),
        ("open('/no/such/file')", False),
        ("d3stats.read_log('/no/such/file.csv')", True),
        ("json.loads('[')", False),
    ],
)
def test_only_errors_that_a_statement_of_this_package_raises_are_refusals(
    study: dict[str, ModuleType], raised: str, ours: bool
) -> None:
    import json

    import d3stats
    import d3stats.stopping

    with pytest.raises(Exception) as caught:  # errors of many kinds
        eval(raised, {"d3stats": d3stats, "json": json})
    assert study["run"].is_ours(caught.value) is ours
