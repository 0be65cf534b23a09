"""Tables of the papers on real debates: every cell follows from the logs, and the findings hold the tables."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from study_tables import same

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "papers"
QUICK = ["d3:table-2", "d3:section-5.5", "chateval:figure-3a", "advocates:table-2", "stability:table-1"]


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables) == len(module["CONFIG"]["items"])


@pytest.mark.parametrize("item", QUICK)
def test_the_cells_of_an_item_follow_from_its_logs(
    item: str, module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    of_item = made["cells"][made["cells"]["item"] == item].reset_index(drop=True)
    same(module["cells"](module["CONFIG"], item), of_item)


@pytest.mark.slow
def test_all_cells_follow_from_the_logs(module: dict[str, Any], made: dict[str, pd.DataFrame]) -> None:
    same(module["study"](module["CONFIG"])["cells"], made["cells"])


def test_what_the_findings_say_is_in_the_cells(made: dict[str, pd.DataFrame]) -> None:
    cells = made["cells"].set_index("item")
    first = cells.loc["d3:table-1"]
    accuracy, kappa = (first[first["column"] == name] for name in ("Acc. (%)", "Kappa"))
    assert ((accuracy["low"] < 0.5) & (accuracy["high"] > 0.5)).all()
    assert ((kappa["low"] < 0) & (kappa["high"] > 0)).all()
    point = cells.loc["d3:table-2"].query("column == 'Tokens/Acc.'")["value"].tolist()
    assert 6 < point[4] / point[0] < point[5] / point[0] < 8.5
    gains = cells.loc["advocates:table-2"].query("column != 'Model'")
    assert ((gains["low"] < 0) & (gains["high"] > 0)).all()
    turns = cells.loc["chateval:figure-3b"].query("column == 'Acc. (%)'")["value"].tolist()
    assert max(turns) == turns[0]
    debate = cells.loc["stability:table-1"].query("column == 'Gain (points)'")
    assert (debate["low"].isna() | (debate["low"] < 0)).all()
    saved = cells.loc["stability:table-2"].query("column == 'Saved vs unanimity (%)' and row in [1, 4, 7]")[
        "value"
    ]
    assert (saved < 0).all()


def test_the_findings_show_every_picture_and_a_picture_is_drawn_again_alike(
    module: dict[str, Any], tmp_path: Path
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\((.+?)\)", text)
    assert len(shown) == len(module["CONFIG"]["pictures"])
    assert {(FOLDER / path).resolve() for path in shown} == set((FOLDER / "figures").resolve().glob("*.png"))
    drawn = module["picture"](module["CONFIG"], "advocates:table-2", tmp_path)
    np.testing.assert_allclose(plt.imread(drawn), plt.imread(FOLDER / "figures" / drawn.name), atol=1 / 255)
