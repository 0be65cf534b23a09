"""A process that has loaded d3stats runs each command in a fork of itself: the imports are paid for once."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["Loaded", "as_words"]

SERVER = """
import contextlib, functools, gc, json, os, sys, traceback
import typer.main
import matplotlib.pyplot, numpy, pandas, scipy.optimize, scipy.stats
import d3stats, d3stats.inference, d3stats.log, d3stats.models.mixtures, d3stats.planning, d3stats.plotting
import d3stats.protocols, d3stats.report, d3stats.stopping, d3stats.worlds
from d3stats.cli import app

# Compiled code, the program's options and modules that are imported late: once here, not in every fork.
typer.main.get_command = functools.cache(typer.main.get_command)
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    for words in (["rules"], ["doctor", "slm7"], ["plan", "slm7", "--n-draws", "2"], ["debate", "--help"]):
        with contextlib.suppress(SystemExit):
            app(words, prog_name="d3stats")
gc.freeze()
gc.disable()

for line in sys.stdin:
    words, folder, out, err, wide = json.loads(line)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.chdir(folder)
            if wide:
                os.environ.pop("COLUMNS", None)
            for name, number in ((os.devnull, 0), (out, 1), (err, 2)):
                os.dup2(os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.argv = ["d3stats", *words]
            app(prog_name="d3stats")
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


AFTER = re.compile(r"\s+(?:\|\s*(?P<end>head|tail) -n (?P<lines>[0-9]+)|>\s*(?P<file>[\w./-]+))\s*(?:#.*)?$")
"""What may follow a call and needs no shell: its first or last lines, or a file for its output."""


def as_words(command: str) -> list[str] | None:
    """Return the words of a call of d3stats that needs no shell, or None."""
    line = command.replace("\\\n", " ")
    signs = list(shlex.shlex(line, posix=True, punctuation_chars=True))
    if any(set(one) <= set("();<>|&") for one in signs) or set(line) & set("$*~`"):
        return None
    words = shlex.split(line, comments=True)
    return words[1:] if words[:1] == ["d3stats"] else None


class Loaded:
    """Runs commands as ``python -m d3stats.cli`` would, each in a process of its own."""

    def __init__(self, env: dict[str, str]) -> None:
        words = [sys.executable, "-c", SERVER]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def run(
        self, words: list[str], folder: Path, said: Path, wide: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder; what it writes passes through two files that begin with the path `said`.

        A wide one is as into a pipe, whose width no terminal limits.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out, err = (said.with_name(f"{said.name}.{end}") for end in ("out", "err"))
        self._process.stdin.write(json.dumps([words, str(folder), str(out), str(err), wide]) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        texts = [path.read_text(encoding="utf-8") for path in (out, err)]
        return subprocess.CompletedProcess(words, code, *texts)

    def type(
        self, command: str, folder: Path, said: Path, wide: bool = False
    ) -> subprocess.CompletedProcess[str] | None:
        """Run a command as it is typed, with what `AFTER` lets follow it; None where it needs a shell."""
        after = AFTER.search(command)
        words = as_words(command if after is None else command[: after.start()])
        if words is None:
            return None
        done = self.run(words, folder, said, wide)
        if after is None:
            return done
        if after["file"]:
            if after["file"] != "/dev/null":
                (folder / after["file"]).write_text(done.stdout, encoding="utf-8")
            shown = ""
        else:
            lines, number = done.stdout.splitlines(keepends=True), int(after["lines"])
            shown = "".join(
                lines[:number] if after["end"] == "head" else lines[max(0, len(lines) - number) :]
            )
            done.returncode = 0  # a shell returns that of the last command
        return subprocess.CompletedProcess(words, done.returncode, shown, done.stderr)
