"""A result shows the same tables in every form, and nothing is lost on the way."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from d3stats.estimate import Estimate
from d3stats.inference.bias import each_judge, position_bias
from d3stats.inference.comparison import noninferiority, paired_difference
from d3stats.result import EstimatesResult, Result, json_value

ODD = "<b>50 % & more_{x}</b>"


@dataclass(frozen=True)
class Shown(Result):
    frames: tuple[pd.DataFrame, ...]
    notes: tuple[str, ...] = (ODD,)

    @property
    def headline(self) -> str:
        return "Some tables."

    def _tables(self) -> dict[str, pd.DataFrame]:
        return {f"table {k}": frame for k, frame in enumerate(self.frames)}


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    main = pd.DataFrame({"name": ["a", ODD, "c"], "value": [0.5, np.nan, 1e-7], "n": [1, 2, 3]})
    named = pd.DataFrame({"estimate": [1.5, np.inf]}, index=pd.Index(["mean", "spread"], name="of"))
    return main, named


def test_the_main_table_comes_first_and_the_others_by_title() -> None:
    shown = Shown(tables())
    pd.testing.assert_frame_equal(shown.to_frame(), tables()[0])
    pd.testing.assert_frame_equal(shown.to_frame("table 1"), tables()[1])
    with pytest.raises(ValueError, match=r"table must be one of 'table 0', 'table 1'; got 'other'"):
        shown.to_frame("other")


def test_text_holds_every_row_of_every_table_and_every_note() -> None:
    long = pd.DataFrame({"k": range(200), "value": np.linspace(0, 1, 200)})
    text = Shown((long, *tables())).summary()
    body = [line.split() for line in text.splitlines()]
    assert [int(cells[0]) for cells in body if len(cells) == 2 and cells[0].isdigit()] == list(range(200))
    for name in ("mean", "spread", "1e-07"):
        assert name in text
    assert text.endswith(f"note: {ODD}")
    assert str(Shown(tables())) == Shown(tables()).summary()


def test_a_dictionary_survives_json_and_missing_is_none() -> None:
    told = Shown(tables()).to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert [row["value"] for row in told["tables"]["table 0"]] == [0.5, None, 1e-7]
    assert told["tables"]["table 1"][0] == {"of": "mean", "estimate": 1.5}
    assert told["notes"] == [{"text": ODD, "severity": "note"}]


def test_html_and_latex_escape_what_users_wrote() -> None:
    shown = Shown(tables())
    page = shown._repr_html_()
    assert ODD not in page
    assert page.count("&lt;b&gt;50 % &amp; more_{x}&lt;/b&gt;") == 2
    latex = shown.to_latex()
    assert r"50 \% \& more\_\{x\}" in latex
    assert latex.startswith("\\begin{tabular}{lrr}")
    assert "of" in shown.to_latex("table 1").splitlines()[2]


def test_latex_of_a_title_is_that_table() -> None:
    votes = {"item": [i // 2 for i in range(80)], "order": ["AB", "BA"] * 40, "vote": [*"AAAB"] * 20}
    table = pd.DataFrame(votes | {"category": ["maths"] * 40 + ["law"] * 40, "judge": "J"})
    margin = noninferiority(paired_difference([0, 1, 1, 0, 1] * 8, [1, 1, 0, 0, 1] * 8), 0.2)
    audits = (position_bias(table, strata="category"), each_judge(position_bias, table, strata="category"))
    for result in (*audits, margin):
        main, *others = result._tables()
        assert result.to_latex(main) == result.to_latex()
        for title in others:
            assert result.to_latex(title).count(r"\\") == len(result.to_frame(title)) + 1
            assert result.to_latex(title) != result.to_latex()
        with pytest.raises(ValueError, match="table must be one of"):
            result.to_latex("no such table")


def test_values_of_every_kind_reach_json() -> None:
    odd = {
        "a": np.int64(3),
        "b": (np.float32(0.5), pd.NA, pd.NaT),
        "c": np.array([[1, 2]]),
        "d": pd.Timestamp(0),
    }
    assert json_value(odd) == {"a": 3, "b": [0.5, None, None], "c": [[1, 2]], "d": "1970-01-01 00:00:00"}


def test_a_list_of_estimates_is_shown_line_by_line() -> None:
    @dataclass(frozen=True)
    class Shares(EstimatesResult):
        estimates: tuple[Estimate, ...] = (
            Estimate(name="s", value=0.5, low=0.4, high=0.6, kind="wilson", n=9),
        )
        notes: tuple[str, ...] = ("few",)

    assert Shares().summary().splitlines() == ["s: 0.500 [0.400, 0.600] (95 % wilson, n = 9)", "note: few"]
    assert Shares().to_dict()["estimates"][0]["low"] == 0.4
    assert r"95 \% wilson" in Shares().to_latex()
    assert Shares().to_frame()["value"].tolist() == [0.5]
