"""What a shell offers when a word is completed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from layers import for_each
from typer.main import get_command
from typer.testing import CliRunner

from d3stats._named import stated
from d3stats.cli import app
from d3stats.cli.options import choices
from d3stats.log.files import BUNDLED
from d3stats.protocols import protocols
from d3stats.run.items import FORMATS
from d3stats.stopping.text import rule_names
from d3stats.worlds.base import world_types

GROUP: Any = get_command(app)


@cache
def made(command: str) -> tuple[Any, Any]:
    """Return a command and its context of completion: made once, as it takes half a second."""
    found = GROUP.commands[command]
    return found, found.make_context(command, [], resilient_parsing=True)


def offered(command: str, word: str, incomplete: str = "") -> list[str]:
    """Return what is offered for an option, or for an argument by the name of its parameter."""
    found, context = made(command)
    (parameter,) = [each for each in found.params if word in (each.name, *each.opts)]
    return [item.value for item in parameter.shell_complete(context, incomplete)]


@pytest.mark.parametrize(
    ("folder", "known"),
    [("stopping", rule_names()), ("worlds", world_types()), ("protocols", protocols())],
    ids=["rules", "worlds", "protocols"],
)
def test_the_names_in_the_source_are_the_names_of_the_objects(folder: str, known: Any) -> None:
    assert stated(f"d3stats.{folder}") == tuple(sorted(known))


@pytest.mark.parametrize(
    ("command", "word", "known"),
    [
        *((command, "--rule", rule_names()) for command in ("replay", "report", "plan", "simulate")),
        ("debate", "--stop", rule_names()),
        ("debate", "--protocol", protocols()),
        ("debate", "--format", FORMATS),
        *((command, "--world", world_types()) for command in ("calibrate", "simulate")),
        ("rules", "name", rule_names()),
        ("worlds", "name", world_types()),
        ("protocols", "name", protocols()),
    ],
)
def test_every_name_is_offered_where_it_is_taken(command: str, word: str, known: Any) -> None:
    assert offered(command, word) == sorted(known)
    first = min(known)
    assert offered(command, word, first) == [name for name in sorted(known) if name.startswith(first)]
    assert offered(command, word, "no such name") == []


def options_with_choices() -> list[tuple[str, str, set[str]]]:
    """Return each option whose help lists its words, ``[one|other]``, with those that can be typed as they stand."""
    found = []
    for command, parsed in GROUP.commands.items():
        for option in parsed.params:
            metavar = choices(option.metavar) or ""
            if metavar.startswith("["):
                words = {
                    word for word in metavar.strip("[]").split("|") if not word.isupper() and ":S" not in word
                }
                found.append((command, option.opts[0], words))
    return found


@for_each("option", options_with_choices)
def test_every_choice_is_offered(option: tuple[str, str, set[str]]) -> None:
    command, word, known = option
    assert known
    assert offered(command, word) == sorted(known)
    first = min(known)
    assert offered(command, word, first) == sorted(each for each in known if each.startswith(first))
    assert offered(command, word, "no such choice") == []


def test_the_options_with_choices_are_those_that_refuse_other_words() -> None:
    """An option of text is one of choices, or is listed here as free text; a new one has to be either."""
    free = {
        *(
            "--name",
            "--model",
            "--role-model",
            "--role",
            "--missing-values",
            "--columns",
            "--encoding",
            "--sheet",
            "--strata",
        ),
        *(
            "--baseline",
            "--a",
            "--b",
            "--categories",
            "--chance",
            "--price",
            "--judge",
            "--free",
            "--scheduler",
            "--base-url",
            "--key-env",
        ),
        *("--pilot", "--value", "--ignore", "--rater", "--scorer", "--ledger"),
        *("--filter", "--metric", "--reference", "--without", "--name", "--human"),
    }
    with_choices = {(command, word) for command, word, _ in options_with_choices()}
    for command, parsed in GROUP.commands.items():
        for option in parsed.params:
            if option.param_type_name == "option" and "str" in str(option.type_descriptor.annotation):
                name = max(option.opts, key=len)
                assert (
                    name in free or (command, option.opts[0]) in with_choices or option._custom_shell_complete
                ), (command, name)


@pytest.mark.parametrize(
    ("command", "word", "some"),
    [
        ("import", "format_name", "pandalm"),
        ("theorems", "name", "d3-theorem-1"),
        ("debate", "--format", "table"),
    ],
)
def test_names_of_formats_and_claims_are_offered(command: str, word: str, some: str) -> None:
    assert some in offered(command, word)
    assert offered(command, word, some)[0] == some


LOGS = [
    *((command, "logs") for command in ("fit", "count", "replay", "report", "doctor", "scores", "abstain")),
    *((command, "pilot") for command in ("plan", "calibrate")),
    ("simulate", "--like"),
    ("compare", "runs"),
    ("agreement", "files"),
    ("panel", "votes"),
    ("confidence", "votes"),
    ("rank", "judgments"),
    ("correct", "file"),
    ("show", "log"),
]


@pytest.mark.parametrize(("command", "word"), LOGS)
def test_bundled_logs_are_offered_with_the_files_beside_them(
    command: str, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("slim.csv", "own.csv", ".slow", "sl ow.csv"):
        (tmp_path / name).touch()
    (tmp_path / "slots").mkdir()
    assert offered(command, word, "sl") == ["slm7", "slim.csv", "slots/"]
    assert offered(command, word) == [*sorted(BUNDLED), "own.csv", "slim.csv", "slots/"]
    # The shell lists files where nothing is offered.
    assert offered(command, word, "o") == []


def test_a_line_that_is_not_finished_is_no_error() -> None:
    """An option that takes one value and stands twice is refused when the command runs, not while it is typed."""
    env = {
        "_D3STATS_COMPLETE": "complete_bash",
        "COMP_WORDS": "d3stats replay --level 0.9 --level 0.8 -r hu",
        "COMP_CWORD": "7",
    }
    done = CliRunner().invoke(app, [], env=env, prog_name="d3stats")
    assert (done.exit_code, done.output.split()) == (0, ["hu2025"])


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_a_rule(tmp_path: Path) -> None:
    """The script that is printed runs in the shell that it is for."""
    program = tmp_path / "d3stats"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m d3stats "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    lines = [
        'eval "$(_D3STATS_COMPLETE=source_bash d3stats)"',
        "COMP_WORDS=(d3stats replay slm7 --rule una); COMP_CWORD=4",
        "_d3stats_completion d3stats",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["unanimity"], done.stderr
