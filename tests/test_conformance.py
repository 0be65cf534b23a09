"""The page of numbers of other software: own numbers again, explanations again, and the page from the tables."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "simulations" / "conformance"


@pytest.fixture(scope="module")
def study() -> Iterator[Any]:
    before = list(sys.path), set(sys.modules)
    module = runpy.run_path(str(STUDY / "run.py"))
    yield module
    sys.path[:] = before[0]
    for name in {"checks", "page", "data", "there", "findings_tables"} - before[1]:
        sys.modules.pop(name, None)


def stored() -> pd.DataFrame:
    frame = pd.read_csv(STUDY / "results.csv", dtype=str, keep_default_na=False)
    return frame.assign(**{name: pd.to_numeric(frame[name]) for name in ("difference", "tolerance")})


def why() -> pd.DataFrame:
    return pd.read_csv(STUDY / "explanations.csv")


SLOW = {"dog", "face"}
"""Tables on which a row takes more than some seconds."""


SLOW_STEMS = {"lme4", "crowd_kit"}
"""Packages whose rows take more than two seconds together."""


@pytest.mark.parametrize(
    "stem",
    [
        pytest.param(stem, marks=pytest.mark.slow if stem in SLOW_STEMS else ())
        for stem in sorted(path.stem for path in (STUDY / "rows").glob("*.toml"))
    ],
)
def test_the_numbers_here_are_those_of_the_table(study: Any, stem: str) -> None:
    frame = stored().query("stem == @stem").set_index(["number", "data"])
    for row in study["rows_of"](stem):
        written = frame.loc[(row["number"], row["data"])]
        if row["data"] in SLOW:
            continue
        np.testing.assert_allclose(study["here"](row), study["read"](written["here"]), rtol=1e-6, atol=1e-9)
        assert int(written["lines_here"]) == len(row["here"].strip().splitlines())


@pytest.mark.slow
def test_the_numbers_of_the_large_tables_are_those_of_the_table(study: Any) -> None:
    frame = stored().set_index(["stem", "number", "data"])
    for stem in study["PEERS"]:
        for row in study["rows_of"](stem):
            if row["data"] in SLOW:
                written = frame.loc[(stem, row["number"], row["data"]), "here"]
                np.testing.assert_allclose(study["here"](row), study["read"](written), rtol=1e-6, atol=1e-9)


def test_differences_follow_from_both_numbers_and_each_above_its_tolerance_is_explained(study: Any) -> None:
    frame, reasons = stored(), why()
    run = frame[frame["there"] != ""]
    assert len(run) > 30
    for row in run.itertuples():
        apart = np.abs(study["read"](row.here) - study["read"](row.there)).max()
        assert apart == pytest.approx(row.difference, rel=0.06, abs=1e-10)
    assert set(study["differing"](frame)["check"]) == set(reasons["check"])
    assert reasons["holds"].all()
    assert frame.loc[frame["there"] == "", "note"].str.startswith("not run: ").all()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name == "three_changed_questions" else ())  # two seconds
        for name in why()["check"]
    ],
)
def test_the_calculation_behind_a_difference_gives_its_sentence_again(study: Any, name: str) -> None:
    rows = study["differing"](stored()).query("check == @name")
    holds, sentence = getattr(study["checks"], name)(rows)
    assert holds
    assert sentence == why().set_index("check").loc[name, "sentence"]


LONG = {
    "three_changed_questions", "normal_quantile", "bets_of_a_hedged_bettor", "small_sample_error",
    "two_verdicts_of_a_pair", "difficulties_of_items",
}  # fmt: skip
"""Calculations of half a second and more; the test above has them in the fast layer, with the right numbers."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in why()["check"]]
)
def test_a_wrong_number_is_not_explained(study: Any, name: str) -> None:
    """The calculations can fail: with the number of the other side changed by a hundredth they do."""
    change = 0.3 if name in ("ties_of_the_majority", "prior_of_dawid_skene") else 0.01
    rows = study["differing"](stored()).query("check == @name").copy()
    for side, sign in (("here", -1), ("there", 1)):
        rows[side] = [
            " ".join(str(float(x) + sign * change * (1 + abs(float(x)))) for x in cell.split())
            for cell in rows[side]
        ]
    assert not getattr(study["checks"], name)(rows)[0]


def test_the_page_and_the_findings_hold_the_tables(study: Any) -> None:
    frame, page = stored(), study["page"]
    assert page.text(frame, why()) == page.PAGE.read_text(encoding="utf-8")
    findings = page.FINDINGS.read_text(encoding="utf-8")
    assert page.filled(findings, {"peers": page.summary(frame)}) == findings
