"""Every figure of the repository has a caption, is made of the data it names, and only when something changed."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "figures"
QUICK = "d3_stop_histogram"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FIGURES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("make_figures")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, object]]:
    return tomllib.loads((FIGURES / "manifest.toml").read_text(encoding="utf-8"))["figure"]


def test_the_manifest_the_script_and_the_folder_hold_the_same_figures(
    script: ModuleType, rows: list[dict[str, object]]
) -> None:
    names = [row["name"] for row in rows]
    assert names == list(script.FIGURES)
    for kind in ("pdf", "png"):
        assert {path.stem for path in FIGURES.glob(f"*.{kind}")} == set(names)


def test_every_figure_is_of_the_data_that_lie_in_the_repository(
    script: ModuleType, rows: list[dict[str, object]]
) -> None:
    stale = [
        row["name"] for row in rows if row["data_sha256"] != script.data_hash(script.FIGURES[row["name"]])
    ]
    assert stale == [], "run `make figures`"


def test_every_caption_is_one_or_two_sentences(rows: list[dict[str, object]]) -> None:
    for row in rows:
        caption = str(row["caption"])
        assert caption.endswith("."), row["name"]
        assert len(re.split(r"\.\s+(?=[A-Z])", caption)) <= 2, caption
        assert 80 < len(caption) < 400, caption


def test_the_gallery_shows_every_figure_with_its_caption(rows: list[dict[str, object]]) -> None:
    page = load("gallery").gallery()
    for row in rows:
        assert f"../figures/{row['name']}.png" in page
        assert str(row["caption"]) in page


def test_a_figure_is_made_anew_only_when_its_data_code_or_files_change(
    script: ModuleType, tmp_path: Path
) -> None:
    whole = dict(script.FIGURES)
    try:
        script.FIGURES.clear()
        script.FIGURES[QUICK] = entry = whole[QUICK]
        assert script.make(folder=tmp_path) == [QUICK]
        first = [(tmp_path / f"{QUICK}.{kind}").read_bytes() for kind in ("pdf", "png")]
        assert script.make(folder=tmp_path) == []
        assert script.make(folder=tmp_path, everything=True) == [QUICK]
        assert first == [(tmp_path / f"{QUICK}.{kind}").read_bytes() for kind in ("pdf", "png")]
        (tmp_path / f"{QUICK}.png").unlink()
        assert script.make(folder=tmp_path) == [QUICK]
        script.FIGURES[QUICK] = entry._replace(data=("simulations/d3_headline/gap_trajectories.csv",))
        assert script.make(folder=tmp_path) == [QUICK]
        script.FIGURES[QUICK] = entry._replace(code=("d3stats/log",))
        assert script.make(folder=tmp_path) == [QUICK]
    finally:
        script.FIGURES.clear()
        script.FIGURES.update(whole)


def test_no_drawing_names_a_colour_that_is_looked_up_later() -> None:
    """Names like C0 take their colour when a figure is shown, when its style is gone."""
    late = [
        f"{path.name}: {found.group()}"
        for path in sorted((ROOT / "d3stats" / "plotting").glob("*.py"))
        for found in re.finditer(r"[=(\[] ?f?[\"']C[0-9{]", path.read_text(encoding="utf-8"))
    ]
    assert late == []
