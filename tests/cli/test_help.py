"""The help of every command: grouped, whole, and with the words that the library takes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import d3stats.cli
from d3stats.cli import app
from d3stats.cli.app import GROUPS

FOLDER = Path(d3stats.cli.__file__).parent
COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]


def help_of(*words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output


def test_every_command_stands_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == COMMANDS
    text = help_of()
    places = [text.index(f"\n{group}:") for group in ("Analyse", "Plan", "Run", "Check")]
    assert places == sorted(places)


def test_descriptions_are_whole_sentences() -> None:
    text = " ".join(help_of().split())
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        sentence = " ".join(command.help.split("\n\n")[0].split())
        assert sentence.endswith("."), name
        assert sentence in text, name


@pytest.mark.parametrize("name", COMMANDS)
def test_choices_are_shown_as_choices(name: str) -> None:
    text = help_of(name)
    assert not re.search(r"d3stats\.[a-z]", text), text
    assert not re.search(r"'\w[\w ]*'(, '\w[\w ]*')* or '", text), text
    assert not re.search(r"^  -.*list\[", text, re.MULTILINE), text


def test_a_choice_in_the_help_is_one_that_the_library_takes() -> None:
    words = {
        ("fit", "--missing"): "[exclude|wrong]",
        ("bias", "--audit"): "[position|verbosity|self|persona]",
        ("plan", "--target"): "[auto|accuracy|agreement]",
        ("agreement", "--weights"): "[identity|linear|quadratic]",
        ("simulate", "--by"): "[world|seed]",
    }
    for (command, option), shown in words.items():
        assert f"{option} {shown}" in help_of(command)


def test_an_agent_is_called_an_agent() -> None:
    """Judge and juror stand where that role is meant: in bias, in juries, and in the names of protocols."""
    for name in set(COMMANDS) - {"bias", "agreement", "panel", "debate"}:
        said = re.findall(r"\b(?:rater|juror)s?\b", help_of(name))
        assert said == [], name


def test_the_package_is_a_program() -> None:
    for module in ("d3stats", "d3stats.cli"):
        done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True)
        assert (done.returncode, done.stdout.split()[0]) == (0, "d3stats"), done.stderr


SHARED = {"derive", "__init__", "__main__", "app", "completion", "lists", "options", "output"}


def test_every_command_has_a_file_of_its_name() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - SHARED
    assert files == {name.replace("-", "_") + ("_" if name == "import" else "") for name in COMMANDS}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.stem)
def test_commands_compute_nothing_and_read_no_messages(path: Path) -> None:
    """No statistics and no regular expressions: numbers and sentences come from the library."""
    allowed = {"example"}  # it draws its small table
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.split(".")[0])
    assert not imported & {"re", "scipy", "statsmodels", "duckdb"}
    assert path.stem in allowed or "numpy" not in imported


def test_interrupts_reach_a_loop_that_takes_no_signal_handlers() -> None:
    """As on Windows, whose event loops raise NotImplementedError."""
    import asyncio
    import os
    import signal

    from d3stats.cli.debate import on_interrupt

    class Bare(asyncio.SelectorEventLoop):
        def add_signal_handler(self, sig: int, callback: object, *args: object) -> None:
            raise NotImplementedError

    async def interrupted() -> bool:
        halt = asyncio.Event()
        with on_interrupt(asyncio.get_running_loop(), halt.set):
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.wait_for(halt.wait(), 5)
        return True

    before = signal.getsignal(signal.SIGINT)
    for loop in (Bare(), asyncio.SelectorEventLoop()):
        try:
            assert loop.run_until_complete(interrupted())
        finally:
            loop.close()
    assert signal.getsignal(signal.SIGINT) == before


def test_every_command_but_demo_takes_json() -> None:
    """The README says so."""
    import typer

    from d3stats.cli import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    without = {
        name for name, command in commands.items() if not any("--json" in p.opts for p in command.params)
    }
    assert without == {"demo"}
