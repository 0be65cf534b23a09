"""The commands of the guides run, in order, and print what the page shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import matplotlib.pyplot as plt
import numpy as np
import pytest
from layers import sampled
from loaded import Loaded, as_words
from test_readme import ELSEWHERE, PAGES, ROOT, SHOWN_OR_NOT, blocks, disagreement, files_shown, shown

from d3stats import read_log

MADE = {ROOT / "docs" / name for name in ("_build", "api", "made")}
DOCS = [p for p in PAGES if p.is_relative_to(ROOT / "docs") and not MADE & set(p.parents)]
WITH_COMMANDS = [
    page for page in (ROOT / "README.md", *DOCS) if any(not c.startswith(ELSEWHERE) for c, _ in shown(page))
]
WITH_LONG_PYTHON = [page for page in DOCS if any(">>>" not in body for body in blocks(page, "python"))]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    with Loaded(environment(tmp_path_factory.mktemp("home"))) as process:
        yield process


def environment(home: Path) -> dict[str, str]:
    """A reader's shell: the environment that holds d3stats is active, so `python` is this one."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {
        "MPLBACKEND": "Agg", "COLUMNS": "80", "PYTHONPATH": str(ROOT), "HOME": str(home), "PYTHONUTF8": "1",
        "PATH": path,
    }  # fmt: skip


def in_a_shell(command: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f'd3stats() {{ "{sys.executable}" -m d3stats.cli "$@"; }}\n{command}'],
        cwd=folder, env=environment(home), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


LONG = {"plan_before_spending", "figures", "report", "fit_a_log", "quick_start", "scale"}
"""Pages of 5 to 50 s of processor time; commands of their kinds run on other pages and on README.md."""
LATER = ("d3stats report slm7 -o slm7.html", "d3stats simulate --like", "d3stats paper d3:table-2 gemma")
"""Commands of 1 to 5 s on the other pages, which run with the slow tests; no page reads a file of theirs."""


def has_later(page: Path) -> bool:
    return any(command.startswith(LATER) for command, _ in shown(page))


@pytest.mark.parametrize(
    ("page", "whole"),
    [
        pytest.param(
            page, whole, id=page.stem + " whole" * whole,
            marks=pytest.mark.slow if whole or page.stem in LONG else (),
        )
        for page in WITH_COMMANDS
        for whole in ((False, True) if has_later(page) and page.stem not in LONG else (page.stem in LONG,))
    ],
)  # fmt: skip
def test_the_commands_of_a_page_print_what_it_shows(
    page: Path, whole: bool, tmp_path: Path, loaded: Loaded
) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    for name, body in files_shown(page).items():
        (folder / name).write_text(body, encoding="utf-8")
    for command, said in shown(page):
        if command.startswith(ELSEWHERE) or (not whole and command.startswith(LATER)):
            continue
        typed = loaded.type(command, folder, tmp_path / "said", wide=page.name == "README.md")
        done = typed or in_a_shell(command, folder, tmp_path)
        assert done.returncode in SHOWN_OR_NOT, f"$ {command}\n{done.stdout}{done.stderr}"
        if said:
            assert (other := disagreement("\n".join(said), done.stdout)) is None, f"$ {command}\n{other}"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("d3stats fit 'a log.csv' --round 2  # a comment", ["fit", "a log.csv", "--round", "2"]),
        (
            "d3stats replay log.csv \\\n  -r 'unanimity|fixed:2'",
            ["replay", "log.csv", "-r", "unanimity|fixed:2"],
        ),
        ("d3stats doctor log.csv | head -3", None),
        ("d3stats fit log.csv > fit.txt", None),
        ("cat log.csv", None),
    ],
)
def test_only_a_call_of_d3stats_alone_runs_without_a_shell(command: str, words: list[str] | None) -> None:
    assert as_words(command) == words


@sampled(
    "command",
    [
        "d3stats rules | head -n 3  # the first three",
        "d3stats doctor nothing.csv | tail -n 1",
        "d3stats doctor nothing.csv > said.txt",
    ],
    [1],
)
def test_what_needs_no_shell_does_as_in_a_shell(command: str, tmp_path: Path, loaded: Loaded) -> None:
    """The same output, the same status and the same files."""
    made = []
    for kind in ("typed", "shell"):
        folder = tmp_path / kind
        folder.mkdir()
        if kind == "typed":
            done = loaded.type(command, folder, tmp_path / "said")
            assert done is not None
        else:
            done = in_a_shell(command, folder, tmp_path)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        made.append((done.stdout, done.stderr, done.returncode, files))
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_LONG_PYTHON, ids=lambda page: page.stem)
def test_the_python_without_a_prompt_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks without ``>>>`` show no output: they take long, or need an extra."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    module = ModuleType("a_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where a dataclass looks up its annotations
    for body in blocks(page, "python"):
        if ">>>" not in body:
            exec(compile(body, page.name, "exec"), module.__dict__)


def test_code_fits_beside_both_sidebars() -> None:
    """100 columns are what a page shows on a screen of 1280 pixels."""
    languages = ("console", "python", "sh", "text", "toml")
    wide = [
        (page.relative_to(ROOT).as_posix(), line)
        for page in DOCS
        for name in languages
        for body in blocks(page, name)
        for line in body.splitlines()
        if len(line) > 100
    ]
    assert wide == []


METHODS = sorted(set((ROOT / "docs" / "methods").glob("*.md")) - {ROOT / "docs" / "methods" / "index.md"})


def test_a_method_has_its_question_assumptions_equation_limitations_and_tests() -> None:
    """A noun phrase, then the question in bold, and the parts in order."""
    parts = ["## Assumptions", "## Limitations", "## How this is tested"]
    texts = {page.stem: page.read_text(encoding="utf-8") for page in METHODS}
    begun = re.compile(r"# [^\n?]+\n\n\*\*[^*]+\?\*\* ")
    assert [name for name, text in texts.items() if not begun.match(text)] == []
    found = {name: [line for line in text.splitlines() if line in parts] for name, text in texts.items()}
    assert {name: lines for name, lines in found.items() if lines != parts} == {}
    assert [name for name, text in texts.items() if "## Equation" not in text and "$$" not in text] == []


def test_the_tests_and_studies_that_a_page_names_exist() -> None:
    absent = [
        (page.relative_to(ROOT).as_posix(), name)
        for page in DOCS
        for name in re.findall(
            r"`((?:tests|simulations|analysis|notebooks)/[\w./]+)`", page.read_text(encoding="utf-8")
        )
        if not (ROOT / name).exists()
    ]
    assert absent == []


def test_the_methods_stand_in_five_groups_with_a_sentence_each() -> None:
    text = (ROOT / "docs" / "methods" / "index.md").read_text(encoding="utf-8")
    groups = re.findall(r"^## (.+)$", text, re.MULTILINE)
    trees = re.findall(r":caption: (.+)\n\n((?:\w+\n)+)", text)
    assert [caption for caption, _ in trees] == groups
    assert len(groups) == 5
    listed = [name for _, names in trees for name in names.split()]
    assert sorted(listed) == [page.stem for page in METHODS]
    assert re.findall(r"^- \[.+?\]\((\w+)\.md\): .+\.$", text, re.MULTILINE) == listed


def test_the_logs_on_the_page_of_the_format_are_read(tmp_path: Path) -> None:
    shown_logs = blocks(ROOT / "docs" / "log_format.md", "json")
    assert len(shown_logs) == 2
    for body in shown_logs:
        records, rest = [], body.strip()
        while rest:  # a record may be broken over lines there
            record, end = json.JSONDecoder().raw_decode(rest)
            records.append(json.dumps(record))
            rest = rest[end:].strip()
        path = tmp_path / "log.jsonl"
        path.write_text("\n".join(records), encoding="utf-8")
        assert len(read_log(path).turns) == sum('"turn"' in record for record in records) > 0


def test_the_protocol_that_a_guide_advises_has_the_threshold_that_its_command_prints() -> None:
    text = (ROOT / "docs" / "guides" / "plan_before_spending.md").read_text(encoding="utf-8")
    printed = re.findall(
        r"^Play the second protocol where the gap is below ([\d.]+) points", text, re.MULTILINE
    )
    advised = re.findall(r"d3:threshold=([\d.]*\d)", text)
    assert len(printed) == 1
    assert advised == printed


FOREIGN = {"model_comparator.py"}
"""Files of other projects."""


FINDINGS = [
    page for folder in ("analysis", "simulations") for page in sorted((ROOT / folder).glob("*/findings.md"))
]


def test_the_python_files_that_a_page_names_exist() -> None:
    """A file may be named by the end of its path."""
    named = {
        (page.relative_to(ROOT).as_posix(), n.removeprefix("./"))
        for page in [*PAGES, *FINDINGS]
        for n in re.findall(r"`([\w./]+\.py)(?:::\w+)?`", page.read_text(encoding="utf-8"))
        if n not in FOREIGN
    }
    files = [
        f"/{path.relative_to(ROOT).as_posix()}" for folder in PYTHON for path in (ROOT / folder).rglob("*.py")
    ]
    assert {(page, n) for page, n in named if not any(path.endswith(f"/{n}") for path in files)} == set()


BESIDE = {
    "compare_and_audit.md": {".684", ".316", ".795"},
    "bias.md": {"95.1", "92.8", "2.8", ".895"},
    "correction.md": {"65", ".325", "12"},
    "latent.md": {".680", ".644"},
    "optimum.md": {".140"},
    "power.md": {".98", ".43", ".73", ".86", "84"},
    "proportion.md": {".3", "81", "90"},
    "quick_start.md": {"56"},
    "rationales.md": {".746", ".963"},
    "stopping.md": {"1.01", "81.1", "41.5", "25.5"},
}
"""Numbers after an output that are of another source, which the paragraph names: a study, a paper, or a sum."""


def strangers(text: str) -> list[str]:
    """Return the shares and decimals in the paragraphs after a shown output that no output of the page shows.

    A share may be in per cent or not, and may be what is missing to 1; the last digit may be rounded.
    """
    fence = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
    parts = fence.split(text)
    written = re.findall(r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d*\.?\d+)", "\n".join(parts[1::2]))
    shown_numbers = {float(x.replace(",", "")) for x in written}
    known = {y for x in shown_numbers for y in (x, 100 * x, x / 100, 1 - x, 100 - x, 100 - 100 * x)}
    found = []
    for code, prose in zip(parts[1::2], parts[2::2], strict=True):
        paragraph = prose.strip().split("\n\n")[0]
        if re.search(r"^(?:>>> |\$ )", code, re.MULTILINE) and not paragraph.startswith(("#", "|")):
            words = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "", paragraph)
            for number in re.findall(r"(?<![\w.,])(\d*\.\d+|\d+(?= (?:%|points)))", words):
                error = 0.5001 * 10.0 ** -len(number.partition(".")[2])
                if not any(abs(x - float(number)) <= error for x in known):
                    found.append(number)
    return found


def test_the_numbers_in_the_text_after_an_output_are_in_an_output() -> None:
    pages = [ROOT / "README.md", *DOCS]
    found = {page.name: set(strangers(page.read_text(encoding="utf-8"))) for page in pages}
    assert {name: numbers for name, numbers in found.items() if numbers} == BESIDE


def test_a_number_that_an_output_no_longer_shows_is_found() -> None:
    page = (
        "```console\n$ d3stats plan pilot.csv\nsaves 11 % and keeps .720\n```\n\nThe rule saves {} of 72 %.\n"
    )
    assert strangers(page.format("11 %")) == strangers(page.format("89 %")) == []
    assert strangers(page.format("59 %")) == ["59"]


def test_a_page_says_which_numbers_are_of_an_earlier_version() -> None:
    """A study whose tables are of an earlier version of a method is named as that wherever its numbers are quoted."""
    old = [f.parent.name for f in FINDINGS if "were made before" in f.read_text(encoding="utf-8")]
    assert old
    assert [
        (page.relative_to(ROOT).as_posix(), x)
        for page in PAGES
        for x in re.split(r"\n\n|\n- ", page.read_text(encoding="utf-8"))
        if any(f"/{name}" in x and "made/" not in x for name in old) and "earlier" not in x
    ] == []


PYTHON = ("d3stats", "tests", "docs", "analysis", "simulations", "figures", "notebooks")
"""Folders with files of this project."""


OVERVIEW = ROOT / "figures" / "slm7_overview.png"
NUMBER = re.compile(r"-?\d+\.\d+%?")


def shape(text: str) -> list[str]:
    """Lines with decimals as signs and spaces as one: what has to be the same word for word."""
    lines = [re.sub(r"[ ─]+", " ", NUMBER.sub("#", line)).strip() for line in text.splitlines()]
    return [line for line in lines if line]


@pytest.mark.slow
def test_the_readme_shows_the_demo_as_it_prints(tmp_path: Path, loaded: Loaded) -> None:
    """Word for word, with dots for what it leaves out; decimals may differ in the places that builds of numpy round."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    screen = readme.split("$ make demo\n")[1].split("```")[0].split("$ make test")[0]
    words = ["demo", "--out", str(tmp_path / "demo-output")]
    done = loaded.run(words, tmp_path, tmp_path / "said", wide=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "demo-output" / "slm7.pdf").read_bytes().startswith(b"%PDF")
    printed = [line for line in done.stdout.replace(str(tmp_path) + "/", "").splitlines() if shape(line)]
    parts = [block for block in re.split(r"^\.\.\.$", screen, flags=re.MULTILINE) if shape(block)]
    assert len(parts) >= 3
    at = 0
    for block in parts:
        wanted = shape(block)
        places = [
            i
            for i in range(at, len(printed))
            if [shape(x)[0] for x in printed[i : i + len(wanted)]] == wanted
        ]
        assert places, f"the demo does not print:\n{block}"
        at = places[0] + len(wanted)
        now_text = "\n".join(printed[places[0] : at])
        for said, now in zip(NUMBER.findall(block), NUMBER.findall(now_text), strict=True):
            slack = 1.0 if said.endswith("%") else 0.01
            assert abs(float(said.rstrip("%")) - float(now.rstrip("%"))) <= slack, (said, now)

    made, drawn = (plt.imread(path) for path in (tmp_path / "demo-output" / "slm7.png", OVERVIEW))
    assert made.shape == drawn.shape
    other = np.abs(made - drawn).max(axis=2) > 0.1
    assert other.mean() < 0.005, "the figure that README shows is not that of the demo; run `make figures`"
