"""Names of people, rules and logs may hold any character, and no table or figure takes them apart."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from d3stats.estimate import COLUMNS, Estimate
from d3stats.inference import compare_rationales, persona_effect
from d3stats.inference.comparison.strata import families, stratify
from d3stats.report.tables import rationale_comparison_tables

PACKAGE = Path(__file__).resolve().parents[2] / "d3stats"
ODD = ["law, tax", "a: b", "x - y", "k=v", "p / q", "one, two, three"]


def test_every_persona_keeps_its_name_in_tables_and_figures() -> None:
    rng = np.random.default_rng(0)
    rows = [(i, who, rng.choice(list("AB")), "A") for who in ODD for i in range(12)]
    found = persona_effect(pd.DataFrame(rows, columns=["item", "persona", "vote", "label"]))
    table = found.personas
    assert sorted(set(table["persona"])) == sorted(ODD)
    assert table.groupby("measure")["persona"].apply(list).tolist() == [ODD] * 3
    labels = [text.get_text() for text in found.plot().get_yticklabels()]
    assert set(ODD) <= set(labels)
    for e in found.main_effects:
        assert found.find(f"{e.quantity}, {e.of}") is e


@pytest.mark.parametrize(
    "names", [("run 1, hot.csv", "run 2, cold.csv"), ("a / b", "c - d"), ("k=v", "x: y, z")]
)
def test_two_logs_keep_their_names_and_values_in_tables_and_figures(names: tuple[str, str]) -> None:
    def jury(words: list[str]) -> pd.DataFrame:
        rows = [(d, f"juror {k}", "A", f"{word} case {d}") for d in range(8) for k, word in enumerate(words)]
        return pd.DataFrame(rows, columns=["debate", "agent", "vote", "text"]).assign(round=1)

    found = compare_rationales(jury(["good", "fine"]), jury(["good", "good"]), names=names)
    (_, heads, rows), *_ = rationale_comparison_tables(found)
    assert tuple(heads[1:3]) == names
    known = {e.name for e in found.first.estimates}
    for row in rows:
        if row[0].endswith(", ratio"):
            continue
        assert row[0] in known
        assert all(row[1:3]), row
    assert sum(row[0].endswith(", ratio") for row in rows) == 1
    labels = [text.get_text() for text in found.plot().get_yticklabels()]
    assert sum(label != "" for label in labels) >= len(rows) - 1


def test_quantities_by_stratum_keep_their_names() -> None:
    one = stratify([0, 1, 1, 0], list("aabb"), name="rate")
    parts = [replace(one, quantity=f"rate, {of}", overall=one.overall.about(of)) for of in ODD]
    assert {what: [part.quantity for part in of] for what, of in families(parts).items()} == {"rate": ODD}
    alone = stratify([0, 1, 1, 0], list("aabb"), name="rate, of all")
    assert list(families([alone])) == ["rate, of all"]


@pytest.mark.parametrize("of", ODD)
def test_an_estimate_says_what_it_is_about(of: str) -> None:
    rate = Estimate(name="rate, raw", value=0.5, low=0.4, high=0.6, kind="Wilson", n=9).about(of)
    assert (rate.quantity, rate.of, rate.name) == ("rate, raw", of, f"rate, raw, {of}")
    assert rate.about("K").name == "rate, raw, K"
    assert rate.to_dict()["of"] == of
    assert COLUMNS[-1] == "of"


def test_no_code_takes_the_name_or_the_note_of_an_estimate_apart() -> None:
    taken = []
    for path in [
        *PACKAGE.glob("inference/**/*.py"),
        *PACKAGE.glob("report/*.py"),
        *PACKAGE.glob("plotting/*.py"),
    ]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            of = node.func.value
            cut = node.func.attr in ("split", "rsplit", "partition", "rpartition", "endswith", "startswith")
            if cut and isinstance(of, ast.Attribute) and of.attr in ("name", "quantity", "note"):
                # Path.name is a file's.
                taken.append(f"{path.name}:{node.lineno} {ast.unparse(node)}")
    assert [one for one in taken if "Path(" not in one] == []
