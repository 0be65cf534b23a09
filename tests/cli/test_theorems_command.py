"""``d3stats theorems``: the table, a page, the live check, and how it refuses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.theory import claims
from d3stats.theory.claim import _catalogue

FALSE_AND_MARKED_TRUE = """
from dataclasses import replace
from d3stats.theory.claims.proved_here import CLAIMS as THOSE
CLAIMS = (replace(THOSE[-1], name="always-right", margin=lambda judge: float(judge.accuracy) - 0.75),)
"""


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["theorems", *arguments])
    return result.exit_code, result.output


@pytest.fixture
def surprise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more file of claims, with one that is false and marked true."""
    (tmp_path / "a_surprise.py").write_text(FALSE_AND_MARKED_TRUE)
    package = sys.modules["d3stats.theory.claims"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    _catalogue.cache_clear()
    yield
    _catalogue.cache_clear()


def test_the_table_names_every_claim_with_its_verdict_on_one_line_of_a_pipe() -> None:
    code, text = run()
    assert code == 0, text
    for name, entry in claims().items():
        assert any(line.split()[:1] == [name] and entry.status in line for line in text.splitlines()), name
    assert "fails on" in text
    assert "recorded" in text or "examples survived" in text


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_fits_its_terminal_and_still_says_all(width: int) -> None:
    result = CliRunner().invoke(app, ["theorems"], env={"COLUMNS": str(width)})
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= width
    words = " ".join(result.output.split())
    for name, entry in claims().items():
        assert words.index(name) < words.index(entry.status, words.index(name)), name
    assert "fails on" in words


def test_a_page_holds_the_claim_and_its_counterexample() -> None:
    entry = next(c for c in claims().values() if c.status == "refuted")
    code, text = run(entry.name)
    assert code == 0, text
    assert text.startswith(f"{entry.name}: {entry.title}")
    for head in ("Verdict", "Source", "Claim", "Formula", "Counterexample", "Its numbers", "Instead"):
        assert f"\n{head}\n" in text


def test_json_is_one_document_of_the_table_of_a_page_and_of_a_check() -> None:
    code, text = run("--json")
    assert code == 0, text
    assert [row["name"] for row in json.loads(text)["claims"]] == list(claims())
    code, text = run("sign-agreement", "--json")
    assert (code, json.loads(text)["status"]) == (0, "holds")
    code, text = run("sign-agreement", "--verify", "--examples", "20", "--seed", "3", "--json")
    document = json.loads(text)
    assert (code, document["agrees"], document["n_examples"], document["seed"]) == (0, True, 20, 3)
    assert document["claims"][0]["n_survived"] == 20


def test_latex_comes_for_the_table_for_a_page_and_for_a_check() -> None:
    for arguments in ((), ("sign-agreement",), ("sign-agreement", "--verify", "--examples", "5")):
        code, text = run(*arguments, "--latex")
        assert code == 0, text
        assert r"\toprule" in text or r"\paragraph{Formula}" in text
        assert "sign-agreement" in text


def test_a_live_check_of_one_claim_says_what_it_found() -> None:
    code, text = run("sign-agreement-beats-three", "--verify", "--examples", "30")
    assert code == 0, text
    assert "survived 30" in text
    assert "1 of 1 claims are as stated (1 holds); 30 examples each, seed 0" in text


@pytest.mark.usefixtures("surprise")
def test_a_claim_that_is_not_as_stated_makes_the_check_fail() -> None:
    code, text = run("always-right", "--verify", "--examples", "100")
    assert code == 1, text
    assert "0 of 1 claims are as stated" in text
    assert (
        "always-right: stated 'holds', but always-right must hold on every instance; got margin -0.25 on p = 1/2"
        in (" ".join(text.split()))
    )
    code, text = run("always-right", "--verify", "--json")
    assert (code, json.loads(text)["agrees"]) == (1, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("sign-agrement",),
            "d3stats: name must be a claim's; got name='sign-agrement': did you mean sign-agreement",
        ),
        (("nothing", "--verify"), "d3stats: name must be a claim's; got name='nothing'"),
        (("--json", "--latex"), "d3stats: only one of --json and --latex may be given; got both"),
        (("--examples", "10"), "d3stats: --examples must come with --verify; got --examples 10 alone"),
        (("--seed", "3"), "d3stats: --seed must come with --verify; got --seed 3 alone"),
        (("--workers", "2"), "d3stats: --workers must come with --verify; got --workers 2 alone"),
        (
            ("sign-agreement", "--verify", "--examples", "0"),
            "d3stats: n_examples must be >= 1; got n_examples=0",
        ),
        (("sign-agreement", "--verify", "--workers", "0"), "d3stats: workers must be >= 1; got workers=0"),
        (
            ("sign-agreement", "--verify", "--seed", "-1"),
            "d3stats: --seed must be >= 0; got -1",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    code, text = run(*arguments)
    assert code == 1
    assert text.startswith(said)
    assert len(text.splitlines()) == 1


@pytest.mark.slow
def test_the_whole_catalogue_is_as_stated() -> None:
    code, text = run("--verify", "--workers", "2")
    assert code == 0, text
    assert f"{len(claims())} of {len(claims())} claims are as stated" in text
