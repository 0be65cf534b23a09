"""Every claim of the catalogue is complete, readable and refers to claims that exist."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from layers import for_each

import d3stats.theory
import d3stats.theory.claims.d3
from d3stats.theory import Claim, claim, claims, contents, page, verify
from d3stats.theory.claim import (
    ADVOCATES,
    D3,
    DEBATE_OR_VOTE,
    HERE,
    STABILITY,
    _catalogue,
    position_of_work,
)
from d3stats.theory.instances.votes import Judge

ALL = list(claims().values())
every_claim = for_each("entry", ALL, lambda entry: entry.name)
failing = pytest.mark.parametrize(
    "entry", [c for c in ALL if c.status != "holds"], ids=lambda entry: entry.name
)

NEW = """
from dataclasses import replace
from d3stats.theory.claims.proved_here import CLAIMS as THOSE
CLAIMS = (replace(THOSE[-2], name={name!r}),)
"""


@every_claim
def test_a_claim_says_what_who_where_and_why(entry: Claim) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.name)
    assert len(entry.name) <= 32
    for text in (
        entry.title,
        entry.source.work,
        entry.source.place,
        entry.statement,
        entry.latex,
        entry.proof,
    ):
        assert text.strip()
    assert len(entry.title) <= 80
    assert all(assumption.words.strip() for assumption in entry.assumptions + entry.missing)


@every_claim
def test_a_formula_is_latex_without_dollar_signs(entry: Claim) -> None:
    assert "$" not in entry.latex
    bare = re.sub(r"\\[{}]", "", entry.latex)
    assert bare.count("{") == bare.count("}")
    assert entry.latex.count(r"\left") - entry.latex.count(r"\leftarrow") == entry.latex.count(r"\right") - (
        entry.latex.count(r"\rightarrow")
    )


@every_claim
def test_what_is_false_says_what_is_true_instead(entry: Claim) -> None:
    assert set(entry.correction) <= set(claims())
    assert entry.name not in entry.correction
    assert bool(entry.corrected.strip()) or entry.status == "holds"
    for name in entry.correction:
        assert claims()[name].status != "refuted"


@every_claim
def test_a_claim_holds_under_what_is_missing_only_when_something_is(entry: Claim) -> None:
    assert bool(entry.missing) == (entry.status == "holds under")


@failing
def test_a_named_counterexample_is_admitted_fails_and_is_short(entry: Claim) -> None:
    assert entry.admits(entry.counterexample)
    assert entry.fails_on(entry.counterexample)
    assert len(str(entry.counterexample)) <= 110
    assert "<" not in str(entry.counterexample).replace("<=", "")  # no <object at 0x...>


@failing
def test_the_numbers_of_a_counterexample_are_numbers(entry: Claim) -> None:
    numbers = entry.quantities(entry.counterexample)
    assert len(numbers) >= 2
    for name, value in numbers.items():
        assert name.strip()
        assert math.isfinite(float(value)), name


def test_the_works_come_in_their_order() -> None:
    places = [position_of_work(entry.source.work) for entry in ALL]
    assert places == sorted(places)
    assert [
        position_of_work(work) for work in (D3, ADVOCATES, STABILITY, DEBATE_OR_VOTE, HERE, "folklore")
    ] == list(range(6))


def test_the_claims_of_the_papers_are_there() -> None:
    wanted = {
        *(
            "d3-theorem-1",
            "d3-concentration-bound",
            "d3-variance-cap",
            "d3-variance-decreases",
            "d3-theorem-2",
        ),
        *("d3-theorem-3-absolute", "d3-theorem-3-signed", "d3-gap-posterior-reading", "advocates-theorem-1"),
        *("advocates-theorem-2", "advocates-theorem-3", "advocates-aggregation", "stability-theorem-a"),
        *(
            "stability-theorem-b",
            "debate-or-vote-theorem-1",
            "debate-or-vote-theorem-2",
            "theorem-a",
            "theorem-b",
        ),
        *("theorem-c", "theorem-d", "sign-agreement", "ks-lemma", "cantelli-bound", "sub-gaussian-bound"),
    }
    assert wanted <= set(claims())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second folder of claims, for files that are not there yet."""
    package = sys.modules["d3stats.theory.claims"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    _catalogue.cache_clear()
    yield tmp_path
    _catalogue.cache_clear()


def test_a_new_file_of_claims_needs_no_other_edit(folder: Path) -> None:
    (folder / "new_file_of_claims.py").write_text(NEW.format(name="a-new-claim"))
    assert claim("a-new-claim").status == "holds"
    assert len(claims()) == len(ALL) + 1
    assert verify("a-new-claim", n_examples=20).verdicts[0].verdict == "survived 20"
    assert "a-new-claim" in [row[0] for row in contents().rows]
    assert page("a-new-claim").to_text().startswith("a-new-claim: ")


def test_the_folder_of_claims_does_not_hide_the_function_of_that_name() -> None:
    assert sys.modules["d3stats.theory.claims.d3"].CLAIMS[0] is d3stats.theory.claims()["d3-theorem-1"]


def test_two_claims_of_one_name_are_refused(folder: Path) -> None:
    (folder / "claims_again.py").write_text(NEW.format(name="sign-agreement"))
    with pytest.raises(ValueError, match="name must be one claim's alone; got name='sign-agreement' twice"):
        claims()


def test_the_table_of_claims_cannot_be_changed_from_outside() -> None:
    claims().clear()
    assert claims()


@pytest.mark.parametrize("name", ["sign-agrement", "Sign agreements", "sign_agremeent", "agreement"])
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(name: str) -> None:
    with pytest.raises(KeyError, match="did you mean sign-agreement"):
        claim(name)


@pytest.mark.parametrize("name", ["", "zzzzzz"])
def test_a_name_that_is_nothing_like_a_claim_is_answered_with_all(name: str) -> None:
    with pytest.raises(KeyError, match=r"there are .*sign-agreement"):
        claim(name)


@pytest.mark.parametrize(
    ("tenths", "right", "rounds"),
    [(6, 0.66316, 2.947), (7, 0.80633, 2.7975), (8, 0.91429, 2.571), (9, 0.97912, 2.297)],
)
def test_the_sign_agreement_formulas_are_those_of_all_histories(
    tenths: int, right: float, rounds: float
) -> None:
    numbers = claim("sign-agreement").quantities(Judge(Fraction(tenths, 10)))
    for kind in ("formula", "all histories"):
        assert numbers[f"P(correct), {kind}"] == pytest.approx(right, abs=5e-6)
        assert numbers[f"E[T], {kind}"] == pytest.approx(rounds, abs=6e-4)


def test_the_sign_agreement_stop_is_right_oftener_than_three_rounds() -> None:
    numbers = claim("sign-agreement-beats-three").quantities(Judge(Fraction(7, 10)))
    assert numbers["P(correct), majority of three"] == pytest.approx(0.784, abs=1e-12)
    assert numbers["P(correct), sign agreement"] == pytest.approx(0.8063291139240506, rel=1e-14)


def test_another_formula_for_the_sign_agreement_stop_would_be_found_wrong() -> None:
    """The margin is the distance of the formula from the histories: p alone is not the accuracy."""

    class Wrong(Judge):
        @property
        def accuracy(self) -> Fraction:
            return self.p

    assert claim("sign-agreement").margin(Wrong(Fraction(7, 10))) < -0.1
