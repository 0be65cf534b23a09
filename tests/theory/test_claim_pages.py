"""A page says all that is known of a claim, in every form, and its numbers are computed and not copied."""

from __future__ import annotations

import html
import json
import re
import runpy
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from layers import for_each

from d3stats._latex import booktabs, escaped
from d3stats.theory import (
    Claim,
    check,
    claim,
    claims,
    contents,
    find_counterexample,
    page,
    recorded,
    survive,
    verify,
)
from d3stats.theory.claim import HERE, short_name
from d3stats.theory.show import evidence

STUDY = Path(__file__).resolve().parents[2] / "simulations" / "theorem_audit"
ALL = list(claims().values())
every_claim = for_each("entry", ALL, lambda entry: entry.name)


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@every_claim
def test_plain_text_holds_everything_and_fits_its_width(entry: Claim) -> None:
    text = page(entry).to_text(80)
    for part in (entry.title, str(entry.source), entry.statement, entry.latex, entry.corrected, entry.proof):
        assert words(part).strip() in words(text)
    for assumption in entry.assumptions + entry.missing:
        assert words(assumption.words) in words(text)
    formula = f"  {entry.latex}"
    too_wide = [line for line in text.splitlines() if len(line) > 80 and line not in formula.splitlines()]
    assert not [line for line in too_wide if len(line.split()) > 1]


@every_claim
def test_data_is_json_with_the_numbers_of_the_counterexample(entry: Claim) -> None:
    document = json.loads(json.dumps(page(entry).to_dict(), allow_nan=False))
    assert document["name"] == entry.name
    if entry.status == "holds":
        assert document["counterexample"] is None
        assert document["quantities"] == {}
    else:
        assert document["margin"] == entry.margin(entry.counterexample) < 0
        assert document["quantities"] == dict(entry.quantities(entry.counterexample))


@every_claim
def test_latex_has_the_formula_as_it_is_and_all_else_escaped(entry: Claim) -> None:
    text = page(entry).to_latex()
    assert entry.latex in text
    outside = text.replace(entry.latex, "")
    assert not re.search(r"(?<!\\)[#$%^~]", outside)
    assert text.count(r"\begin{") == text.count(r"\end{")
    plain = re.sub(r"\\[{}]", "", outside)
    assert plain.count("{") == plain.count("}")


@every_claim
def test_markdown_reads_the_same_once_it_is_rendered(entry: Claim) -> None:
    """A star, an underscore or a bar of a formula is not taken for mark-up."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=100, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(Markdown(page(entry).to_markdown()))
    shown = "".join(capture.get().split())
    for part in (entry.title, str(entry.source), entry.statement, entry.corrected, entry.proof):
        assert "".join(part.split()) in shown


def test_the_numbers_are_computed_from_the_counterexample() -> None:
    entry = next(c for c in ALL if c.status == "refuted")
    moved = replace(entry, quantities=lambda _: {"a number": 2.5}, margin=lambda _: -0.125)
    found = page(moved)
    assert (found.quantities, found.margin) == ({"a number": 2.5}, -0.125)
    assert re.search(r"a number +2\.5\n *margin \(claimed >= 0\) +-0\.125", found.to_text())


def test_a_correction_and_what_it_replaces_point_at_each_other() -> None:
    for entry in ALL:
        for name in entry.correction:
            assert entry.name in page(name).replaces
            assert f"{name}: {claim(name).title}" in words(page(entry).to_text())
            assert f"{entry.name}: {entry.title}" in words(page(name).to_text())


def test_a_claim_that_is_not_on_record_says_so() -> None:
    entry = replace(claim("sign-agreement"), name="nobody-recorded-this")
    assert evidence(entry) == "not yet recorded"
    assert "holds; not yet recorded" in page(entry).to_text()
    assert page(entry).to_dict()["record"] is None


def test_a_claim_on_record_tells_how_many_examples_it_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "record.csv").write_text(
        "claim,examples,distinct,exhausted,least_margin,seed\nsign-agreement,100000,98765,False,-1e-22,7\n"
    )
    monkeypatch.setattr(check, "RECORD_FILE", tmp_path / "record.csv")
    check._record.cache_clear()
    try:
        assert evidence(claim("sign-agreement")) == "100,000 examples survived"
        kept = {"examples": 100000, "distinct": 98765, "least_margin": -1e-22, "seed": 7}
        assert page("sign-agreement").to_dict()["record"] == kept
    finally:
        check._record.cache_clear()


def test_the_record_is_of_claims_that_hold_and_of_nothing_else() -> None:
    for name, row in check._record().items():
        assert claims()[name].status != "refuted"
        assert row.examples >= row.distinct > 0
        assert row.least_margin >= -claims()[name].slack
    assert recorded("nothing-of-the-kind") is None


@every_claim
def test_html_holds_everything_escaped(entry: Claim) -> None:
    text = page(entry)._repr_html_()
    for part in (entry.title, str(entry.source), entry.statement, entry.latex, entry.corrected, entry.proof):
        assert html.escape(part) in text
    assert text.count("<ul>") == text.count("</ul>")


def test_the_numbers_of_a_page_are_a_table() -> None:
    shown = page("d3-theorem-2")
    numbers = shown.to_frame().set_index("quantity")["value"]
    assert numbers["margin (claimed >= 0)"] == shown.margin
    assert dict(numbers.iloc[:-1]) == shown.quantities
    assert page("theorem-a").to_frame().empty
    assert str(shown) == shown.summary() == shown.to_text(100)
    assert shown.to_latex("numbers").startswith(r"\begin{tabular}{lr}")


def test_results_of_a_search_show_themselves_in_every_form() -> None:
    true, false = "sign-agreement-beats-three", "d3-concentration-bound"
    found = find_counterexample(false)
    assert found.summary().startswith(f"{found!s}\n")
    assert found.to_dict()["tables"]["numbers"][-1]["value"] == found.margin
    survival = survive(true, 20)
    assert survival.to_frame().loc[0, ["n", "least_margin"]].tolist() == [20, survival.least_margin]
    audit = verify([true, false], n_examples=20)
    assert [text in audit._repr_html_() for text in (true, false, "2 of 2 claims are as stated")] == [
        True
    ] * 3
    assert str(audit) == audit.summary()
    for result in (found, survival, audit, contents()):
        json.dumps(result.to_dict(), allow_nan=False)
        assert r"\toprule" in result.to_latex()
        assert "<table" in result._repr_html_()
        with pytest.raises(ValueError, match="table must be one of"):
            result.to_latex("no such table")


def test_the_contents_have_a_row_for_each_claim() -> None:
    rows = contents().rows
    assert [row[0] for row in rows] == list(claims())
    assert {row[2] for row in rows} <= {"holds", "holds under", "refuted"}
    assert contents().to_frame()["source"][0] == "D3"
    for row in rows:
        assert (row[2] == "holds") != row[3].startswith("fails on ")
    assert contents().to_latex().count(r"\\") == len(rows) + 1


def test_works_have_short_names() -> None:
    assert short_name(HERE) == "d3stats"
    assert short_name("Marchal and Arbel (2017), Theorem 1") == "Marchal and Arbel (2017)"


def test_nothing_in_a_text_is_a_command_of_latex() -> None:
    assert escaped(r"50% of $x_1^2 & #{a}~\b") == (
        r"50\% of \$x\_1\textasciicircum{}2 \& \#\{a\}\textasciitilde{}\textbackslash{}b"
    )
    assert booktabs("ll", ("a", "b"), [("1 & 2", "3")]).splitlines()[4] == r"1 \& 2 & 3 \\"


def test_the_findings_of_the_long_run_hold_the_tables_that_it_wrote() -> None:
    module = runpy.run_path(str(STUDY / "run.py"))
    tables = [
        module["read"](path, module[columns])
        for path, columns in ((check.RECORD_FILE, "RECORD"), (STUDY / "refuted.csv", "REFUTED"))
    ]
    text = (STUDY / "findings.md").read_text(encoding="utf-8")
    assert module["filled"](text, module["shown"](*tables)) == text


def test_the_long_run_writes_claim_by_claim_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = runpy.run_path(str(STUDY / "run.py"))
    config = {"examples": 40, "seed": 3, "searched": 500}
    names = ["sign-agreement-beats-three", "d3-concentration-bound"]
    for name in reversed(names):
        module["study"]([name], config, tmp_path, 1, False)
    written = (tmp_path / "record.csv").read_text()
    row = pd.read_csv(tmp_path / "record.csv").iloc[0]
    found = survive(claim(names[0]), 40, rng=3)
    assert (row["claim"], row["examples"], row["distinct"]) == (names[0], 40, found.n_distinct)
    assert pd.read_csv(tmp_path / "refuted.csv")["claim"].tolist() == [names[1]]
    assert module["on_record"](pd.read_csv(tmp_path / "record.csv"), names[0], config)
    assert not module["on_record"](pd.read_csv(tmp_path / "record.csv"), names[0], config | {"examples": 41})
    module["study"](names, config | {"seed": 4}, tmp_path, 1, False)
    again = pd.read_csv(tmp_path / "record.csv")
    assert (again["claim"].tolist(), again["seed"].tolist()) == ([names[0]], [4])
    assert (tmp_path / "record.csv").read_text() != written
    assert capsys.readouterr().out.count(" s\n") == 4
