"""An error names the line of the cell that is wrong, in every kind of file and with every function."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import covering

import d3stats
from d3stats import inference
from d3stats.inference.bias import as_judgments

WRONG: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {
    "correct": ("correct", "perhaps", lambda path: d3stats.compare(path, path, names=["a", "b"])),
    "correct, a number": ("correct", 3, lambda path: d3stats.compare(path, path, names=["a", "b"])),
    "score": ("score", "perhaps", lambda path: inference.as_run(path, value="score")),
    "vote": ("vote", "perhaps", d3stats.position_bias),
    "order": ("order", "perhaps", d3stats.position_bias),
    "label": ("label", "perhaps", d3stats.position_bias),
    "length": ("length_a", -3, lambda path: as_judgments(path).numbers("length_a")),
    "category": ("vote", "perhaps", lambda path: inference.as_ratings(path, categories=["A", "B"])),
}


def items(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Items with verdicts, values and a text that goes over several lines here and there."""
    return pd.DataFrame(
        {
            "item": [f"q{k // 2}" for k in range(n)],
            "rater": ["x", "y"] * (n // 2),
            "text": ["one\ntwo\nthree" if rng.random() < 0.3 else "one" for _ in range(n)],
            "correct": rng.integers(0, 2, n).astype(object),
            "score": rng.random(n).round(3).astype(object),
            "vote": rng.choice(["A", "B"], n).astype(object),
            "order": ["AB", "BA"] * (n // 2),
            "label": np.repeat(rng.choice(["A", "B"], n // 2), 2).astype(object),
            "length_a": rng.integers(50, 90, n).astype(object),
            "length_b": rng.integers(50, 90, n).astype(object),
        }
    )


def written(table: pd.DataFrame, path: Path) -> list[int]:
    """Write a table and return the line, or row of the sheet, at which each of its rows begins."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_dict("records")))
        return list(range(1, len(table) + 1))
    if path.suffix == ".xlsx":
        table.to_excel(path, index=False)
        return list(range(2, len(table) + 2))
    table.to_csv(path, index=False)
    more = table["text"].str.count("\n").to_numpy()
    return [2 + k + int(more[:k].sum()) for k in range(len(table))]


@covering(ending=["csv", "xlsx", "jsonl"], what=WRONG)
def test_an_error_names_the_line_of_the_wrong_cell(what: str, ending: str, tmp_path: Path) -> None:
    column, cell, function = WRONG[what]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = items(rng, 12)
        row = int(rng.integers(len(table)))
        table.loc[row, column] = cell
        path = tmp_path / f"t{seed}.{ending}"
        lines = written(table, path)
        with pytest.raises((ValueError, TypeError)) as refused:
            function(path)
        said = str(refused.value)
        assert re.search(r"(?:line|row) (\d+)", said), said
        assert int(re.findall(r"(?:line|row) (\d+)", said)[0]) == lines[row], said
        assert str(cell) in said
