"""Every figure of the repository has a caption, is made of the data it names, and only when something changed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
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


@pytest.mark.slow  # a change of almost any module is one of some figure's code until `make figures` has run
def test_every_figure_is_of_the_code_that_draws_it_now(
    script: ModuleType, rows: list[dict[str, object]]
) -> None:
    stale = [
        row["name"] for row in rows if row["code_sha256"] != script.code_hash(script.FIGURES[row["name"]])
    ]
    assert stale == [], "run `make figures`"


@pytest.mark.slow
def test_where_nothing_has_changed_nothing_is_drawn(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(*_: object) -> None:
        raise AssertionError("a figure is drawn although nothing has changed")

    monkeypatch.setattr(script.plotting, "save", save)
    folder = shutil.copytree(FIGURES, tmp_path / "figures", ignore=shutil.ignore_patterns("__pycache__"))
    assert script.make(folder=folder) == []
    for path in sorted(FIGURES.glob("*.*")):
        assert (folder / path.name).read_bytes() == path.read_bytes(), path.name


def test_every_caption_is_one_to_three_sentences(rows: list[dict[str, object]]) -> None:
    for row in rows:
        caption = str(row["caption"])
        assert caption.endswith("."), row["name"]
        assert len(re.split(r"\.\s+(?=[A-Z])", caption)) <= 3, caption
        assert 80 < len(caption) < 480, caption


def test_the_gallery_shows_every_figure_with_its_caption(rows: list[dict[str, object]]) -> None:
    page = load("gallery").gallery()
    for row in rows:
        assert f"../figures/{row['name']}.png" in page
        assert str(row["caption"]) in page


def test_a_figure_is_made_anew_only_when_its_data_code_or_files_change(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def empty(figure: object, path: Path) -> None:
        for kind in ("pdf", "png"):
            path.with_suffix(f".{kind}").write_bytes(b"")

    whole = dict(script.FIGURES)
    try:
        script.FIGURES.clear()
        script.FIGURES[QUICK] = entry = whole[QUICK]
        assert script.make(folder=tmp_path) == [QUICK]
        first = [(tmp_path / f"{QUICK}.{kind}").read_bytes() for kind in ("pdf", "png")]
        assert script.make(folder=tmp_path) == []
        assert script.make(folder=tmp_path, everything=True) == [QUICK]
        assert first == [(tmp_path / f"{QUICK}.{kind}").read_bytes() for kind in ("pdf", "png")]
        monkeypatch.setattr(script.plotting, "save", empty)  # from here on only what is drawn is looked at
        (tmp_path / f"{QUICK}.png").unlink()
        assert script.make(folder=tmp_path) == [QUICK]
        script.FIGURES[QUICK] = entry._replace(data=("simulations/d3_headline/gap_trajectories.csv",))
        assert script.make(folder=tmp_path) == [QUICK]
        script.FIGURES[QUICK] = entry._replace(draw=whole["d3_gap_trajectories"].draw)
        assert script.make(folder=tmp_path) == [QUICK]
    finally:
        script.FIGURES.clear()
        script.FIGURES.update(whole)


@pytest.mark.slow
def test_a_figure_hangs_on_the_code_that_it_uses_and_on_no_other(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(
        ROOT / "d3stats", tmp_path / "d3stats", ignore=shutil.ignore_patterns("*.csv", "__pycache__")
    )
    monkeypatch.setattr(script, "ROOT", tmp_path)
    script.package.cache_clear()

    def changed(file: str) -> set[str]:
        """Return the figures whose code is another when a line is added to a file."""
        path, hashes = tmp_path / "d3stats" / file, []
        for more in ("", "\nMORE = 1\n"):
            path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
            hashes.append({name: script.code_hash(entry) for name, entry in script.FIGURES.items()})
        return {name for name in hashes[0] if hashes[0][name] != hashes[1][name]}

    try:
        assert (
            changed("cli/show.py")
            == changed("report/page.py")
            == changed("inference/bias/persona.py")
            == set()
        )
        assert changed("plotting/d3stats.mplstyle") == changed("plotting/style.py") == set(script.FIGURES)
        # The table of a finished study is put in order by the audit's own function.
        assert "position_bias" in changed("inference/bias/position.py")
        # A rule is found by its name, so nothing imports its file.
        assert {"frontier", "slm7_stop_rounds"} <= changed("stopping/sequential.py")
        assert changed("models/separation/laws.py") == {"separation_phase_map", "excess_wealth"}
        talks = {name for name in script.FIGURES if name.startswith("protocols_")}
        assert changed("protocols/chateval.py") == talks
    finally:
        script.package.cache_clear()
        script.imported.cache_clear()


def test_words_that_no_figure_shows_are_no_part_of_its_code(script: ModuleType) -> None:
    """Comments, docstrings, the texts of errors, captions and what only type checkers import change no hash."""
    code = """
def drawn(x: float) -> float:
    if x < 0:
        raise ValueError(f"x must be at least 0; got {x}")
    return 2 * x
"""
    other = """
'A module.'
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The double.
def drawn(x: float) -> float:
    '''Return the double.

    It is used by no one.
    '''
    if x < 0:  # no share
        raise TypeError("a number of at least 0 is wanted")
    return 2*x
"""
    plain = [script.without_words(text) for text in (code, other)]
    imported = script.without_words("from typing import TYPE_CHECKING")
    assert plain[1] == imported.removesuffix("])") + "," + plain[0].removeprefix("Module(body=[")
    assert script.without_words(code.replace("2", "3")) != plain[0]
    assert script.without_words(code.replace("< 0", "<= 0")) != plain[0]
    assert script.without_words('NAMES = ["a"]') != script.without_words('NAMES = ["b"]')
    entry = script.FIGURES[QUICK]
    assert "body=[Return(value=Attribute(attr='figure'" in script.body(entry.draw)
    assert entry.caption[:20] not in script.body(entry.draw)


ALONE = """
import ast, hashlib, json, sys
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

source = Path(sys.argv[1]).read_text(encoding="utf-8")
tree = ast.parse(source)
wanted = {"without_words", "written", "joined", "Plain", "names_in"}
tree.body = [node for node in tree.body if getattr(node, "name", "") in wanted]
assert {node.name for node in tree.body} == wanted
exec(compile(tree, "alone", "exec"))
texts = {name: Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]}
forms = {name: hashlib.sha256(without_words(text).encode()).hexdigest() for name, text in texts.items()}
codes = [code for code in compile(source, "figures", "exec").co_consts if isinstance(code, CodeType)]
# A class has names of the interpreter's own.
names = {code.co_name: sorted(name for name in names_in(code) if name[:2] != "__") for code in codes}
print(json.dumps([forms, names]))
"""
"""A program that prints the hash of the form of each file, and the names in each function of the first file. It takes
the functions that find them out of the script, because another Python may lack the packages that the script imports."""

HARD = r"""
def f(x, *, y=None, **rest):
    text = f'{x!r:>{y}} "a" ' "b" f'{3} {x=} {"e":}' f"" f"{x:{y}.{y}}" f"{{}} {[z for z in x]}"
    return text, {**rest, "\u200b": "\U0001fae8", "Å": 1e300, 1j: b"\0"}, lambda *, a, b=[]: (a, ...)
"""
"""Code whose tree or text differs between versions of Python."""


def other_pythons() -> list[str]:
    """Return the Pythons of this machine that are newer than the oldest supported one, one of each version."""
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for minor in range(11, 20):
        there = [*sorted(homes.glob(f"3.{minor}.*/bin/python")), shutil.which(f"python3.{minor}")]
        found[minor] = next((str(path) for path in there if path), None)
    return [path for minor, path in found.items() if path and minor != sys.version_info.minor]


@pytest.mark.slow
def test_the_form_of_code_is_the_same_under_every_python(script: ModuleType, tmp_path: Path) -> None:
    """If it hangs on the version of Python, every figure is drawn again under another one."""
    program, hard = tmp_path / "alone.py", tmp_path / "hard.py"
    program.write_text(ALONE, encoding="utf-8")
    hard.write_text(HARD, encoding="utf-8")
    files = [FIGURES / "make_figures.py", hard, *script.package().values()]

    def said(python: str) -> object:
        command = [python, "-I", str(program), *map(str, files)]
        return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=300).stdout)

    if not (others := other_pythons()):
        pytest.skip("this machine has no other Python")
    here = said(sys.executable)
    for python in others:
        assert said(python) == here, python


def test_a_figure_is_named_while_it_is_drawn(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "FIGURES", {QUICK: script.FIGURES[QUICK]})
    script.make(folder=tmp_path)
    assert capsys.readouterr().err == f"drawing {QUICK} ...\n"
    script.make(folder=tmp_path)
    assert capsys.readouterr().err == ""


def test_another_caption_is_written_without_another_drawing(script: ModuleType, tmp_path: Path) -> None:
    whole = dict(script.FIGURES)
    try:
        script.FIGURES.clear()
        script.FIGURES[QUICK] = whole[QUICK]
        assert script.make(folder=tmp_path) == [QUICK]
        script.FIGURES[QUICK] = whole[QUICK]._replace(caption="Another caption.")
        assert script.make(folder=tmp_path) == []
        assert 'caption = "Another caption."' in (tmp_path / "manifest.toml").read_text(encoding="utf-8")
    finally:
        script.FIGURES.clear()
        script.FIGURES.update(whole)


@pytest.mark.slow
def test_the_hash_of_code_does_not_hang_on_the_order_of_names(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names come out of a set, so in another order in each process."""
    found, names_in = [], script.names_in
    for backward in (False, True):
        monkeypatch.setattr(script, "names_in", lambda code: sorted(names_in(code), reverse=backward))  # noqa: B023
        found.append({name: script.code_hash(entry) for name, entry in script.FIGURES.items()})
    assert found[0] == found[1]


def test_the_gallery_has_source_data_and_code_of_every_figure(rows: list[dict[str, object]]) -> None:
    sections = re.split(r"^## ", load("gallery").gallery(), flags=re.MULTILINE)[1:]
    for row, section in zip(rows, sections, strict=True):
        assert f"Source: {row['source']}." in section
        assert all(f"`{name}`" in section for name in row["data"])  # type: ignore[attr-defined]
        assert f"```python\ndef {row['name']}() -> Figure:" in section


def test_a_page_shows_figures_in_one_scale_so_that_they_lead_to_their_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sphinx links a picture that has a width to its file; a telephone's reader enlarges the file."""
    pytest.importorskip("numpydoc")
    nodes = pytest.importorskip("docutils.nodes")
    monkeypatch.syspath_prepend(ROOT / "docs")
    spec = importlib.util.spec_from_file_location("docs_conf", ROOT / "docs" / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    names = [path.stem for path in sorted(FIGURES.glob("*.png"))]
    page = nodes.section()
    for name in names:
        page += nodes.image(uri=f"../figures/{name}.png")
    page += [nodes.image(uri=f"../figures/{QUICK}.png", width="10px"), nodes.image(uri="report.png")]
    conf._size_figures(None, page, "page")
    *shown, own, other = page.children
    gallery = load("gallery")
    assert [node["width"] for node in shown] == [f"{gallery.width(name)}px" for name in names]
    assert {gallery.width("slm7_overview"), gallery.width("plan_fan")} == {910, 435}
    assert own["width"] == "10px"
    assert "width" not in other
    assert "a:has(> img)::after" in (ROOT / "docs" / "_static" / "d3stats.css").read_text(encoding="utf-8")


def test_every_protocol_is_drawn(script: ModuleType) -> None:
    code = (FIGURES / "make_figures.py").read_text(encoding="utf-8")
    from d3stats.protocols import protocols

    assert {name for name in protocols() if f'"{name}' not in code} == set()


def test_no_drawing_names_a_colour_that_is_looked_up_later() -> None:
    """Names like C0 take their colour when a figure is shown, when its style is gone."""
    late = [
        f"{path.name}: {found.group()}"
        for path in sorted((ROOT / "d3stats" / "plotting").glob("*.py"))
        for found in re.finditer(r"[=(\[] ?f?[\"']C[0-9{]", path.read_text(encoding="utf-8"))
    ]
    assert late == []
