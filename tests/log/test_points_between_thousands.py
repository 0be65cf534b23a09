"""Columns of numbers whose point may part thousands: what is read is told."""

import pandas as pd

from d3stats import inference
from d3stats.note import severity_of


def test_numbers_with_three_decimals_each_are_told() -> None:
    items = [f"q{k}" for k in range(30)]
    thousands = [f"{1000 + 37 * k:,}".replace(",", ".") for k in range(30)]
    found = [
        n
        for n in inference.as_run(pd.DataFrame({"item": items, "score": thousands})).notes
        if "thousands" in n
    ]
    assert list(map(severity_of, found)) == ["note"]
    some = [*thousands[:15], *map(str, range(300, 315))]
    found = [
        n for n in inference.as_run(pd.DataFrame({"item": items, "score": some})).notes if "thousands" in n
    ]
    assert list(map(severity_of, found)) == ["warning"]
    shares = [f"{k / 31:.3f}" for k in range(30)]
    assert not [
        n for n in inference.as_run(pd.DataFrame({"item": items, "score": shares})).notes if "thousands" in n
    ]
