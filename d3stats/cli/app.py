"""The ``d3stats`` program: its commands and its error messages."""

from __future__ import annotations

import dis
import inspect
import io
import os
import shlex
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from d3stats._words import visible
from d3stats.cli.completion import choice
from d3stats.cli.derive import Derived
from d3stats.cli.options import choices, read_as

GROUPS = {
    "Analyse": (
        "demo",
        "report",
        "fit",
        "count",
        "replay",
        "compare",
        "agreement",
        "panel",
        "confidence",
        "rank",
        "correct",
        "bias",
        "scores",
    ),
    "Plan": ("plan", "abstain", "power", "simulate", "rules"),
    "Run": ("debate", "protocols"),
    "Check": ("doctor", "show", "import", "formats", "example"),
    "Research": ("paper", "rationales", "escalate", "calibrate", "worlds", "theorems"),
}
"""The commands as the help groups them; each has a module of its name."""


MOST_COMMANDS = 4
"""At most so many commands that take an option are named."""


READ_AS = "d3stats.read_as"
"""Where a context holds the options with which files are read."""


ONE_LOG = "d3stats.one_log"
"""Where a context holds the files that are read as one log."""


class _Program(TyperGroup):
    """Group the commands in the help, and turn what a user can mend into one clear line and exit code 1.

    One that was not foreseen says so, and ``D3STATS_TRACEBACK=1`` keeps its traceback.
    """

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every command with its whole first sentence."""
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name, _first_sentence(self.commands[name])) for name in names])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program; what it writes into a pipe or a file is UTF-8."""
        _write_utf8()
        _outlive_readers()
        return super().main(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            typer.echo(visible(f"d3stats: {_usage(error)}"), err=True)
            raise typer.Exit(2) from None
        except (ValueError, TypeError, KeyError, OSError) as error:
            if os.environ.get(TRACEBACK):
                raise
            name = ctx.invoked_subcommand
            command, given = self.commands.get(name), (ctx.meta.get(READ_AS, ()), ctx.meta.get(ONE_LOG, ()))
            typer.echo(visible(f"d3stats: {_refusal(error, name, command, *given)}"), err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("d3stats: interrupted", err=True)
            raise typer.Exit(130) from None


UsageError: type[Any] = typer.BadParameter.__mro__[1]
"""The error of the parser for a line that no command takes."""

TRACEBACK = "D3STATS_TRACEBACK"
"""The variable of the environment with which errors keep their traceback."""

PACKAGE = Path(__file__).parents[1]

_KINDS = {"valid number": "a number", "valid integer": "a whole number", "valid boolean": "true or false"}


def _usage(error: Any) -> str:
    """Say what is wrong with the words of a command: name, requirement, got, and the help to read."""
    context = error.ctx
    path = "d3stats" if context is None else context.command_path
    said = " ".join(error.format_message().split()).rstrip(".")
    name = getattr(error, "option_name", None)
    given = getattr(error, "param", None)
    if type(error).__name__ == "NoSuchOption":
        near, others = " or ".join(sorted(error.possibilities or ())), _commands_with(name, context)
        meant = f"; {others} it" if others else f"; did you mean {near}?" if near else ""
        text = f"options of {path} must be among those of its help; got {name!r}{meant}"
    elif type(error).__name__ == "MissingParameter" and given is not None:
        text = f"{given.metavar or _shown(given)} must be given; got none"
    elif given is not None:
        kind = next((kind for words, kind in _KINDS.items() if words in said), None)
        got = getattr(error, "got", None)
        text = f"{_shown(given)} must be {kind}; got {got!r}" if kind and got is not None else said
    elif name is not None and "requires" in said:
        text = f"{name} must have a value; got none"
    elif said.startswith("Got unexpected extra argument"):
        more = said.partition("argument")[2].removeprefix("(s)").removeprefix("s").strip(" ()")
        text = f"{path} must have no further words; got {more!r} as well"
    elif said.startswith("No such command"):
        got, _, near = said.removeprefix("No such command ").partition(". ")
        near = f"; {near[:1].lower()}{near[1:]}" if near else ""
        text = f"the command must be one that the help lists; got {got}{near}"
    else:
        text = said
    return f"{text} (see {path} --help)"


def _shown(parameter: Any) -> str:
    option = isinstance(parameter, TyperOption)
    return max(parameter.opts, key=len) if option else str(parameter.name).upper()


def _refusal(
    error: Exception, name: str | None, command: Any, read_as: Sequence[str], together: Sequence[str]
) -> str:
    """Say in one line what is wrong, by the names of options, and what to do next; one log is in files `together`."""
    from d3stats._words import by_option
    from d3stats.log.problems import KINDS, LogError

    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        got = f"{error.strerror}; check the path and its permissions"
        return f"{error.filename}: the file must be usable; got {got}"
    said = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    message = by_option(" ".join(str(said).split()))
    if getattr(error.args[0] if error.args else "", "step", ""):
        return message  # it says what to do
    if isinstance(error, LogError):
        problem = error.problem
        if problem.kind in ("empty file", "not a log") and not problem.step:
            return f"{message}; {_lowered(KINDS[problem.kind].advice).rstrip('.')}"
        if not problem.step:
            lenient = any("--lenient" in each.opts for each in command.params)
            more = (
                ", and --lenient leaves such records out" if lenient and problem.left_out == "record" else ""
            )
            files = together if problem.file in together else (problem.file,)
            return (
                f"{message}; {shlex.join(['d3stats', 'doctor', *files, *read_as])} lists all problems{more}"
            )
        return message
    if _unforeseen(error):
        return f"{message} (not foreseen: {TRACEBACK}=1 d3stats {name} shows where it arose)"
    return f"{message} (see d3stats {name} --help)"


def _unforeseen(error: Exception) -> bool:
    """Whether an error is no refusal: it arose in other code, or without a statement that raises it."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None:
        return False
    code = at.tb_frame.f_code
    raised = dis.opname[code.co_code[at.tb_lasti]] == "RAISE_VARARGS"
    return not (raised and Path(code.co_filename).is_relative_to(PACKAGE))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _write_utf8() -> None:
    """Write UTF-8 where there is no terminal: a code page of Windows has no lines of tables, and fails on names."""
    for stream in (sys.stdout, sys.stderr):
        if (
            isinstance(stream, io.TextIOWrapper)
            and not stream.isatty()
            and "PYTHONIOENCODING" not in os.environ
        ):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _commands_with(option: str | None, context: Any) -> str:
    """Return the everyday commands that take an option, and the verb; nothing where most do."""
    group = None if context is None or context.parent is None else context.parent.command
    found = [
        f"d3stats {name}"
        for heading, names in GROUPS.items()
        for name in names
        if heading != "Research" and group is not None and name in group.commands
        if any(option in each.opts for each in group.commands[name].params)
    ]
    if not 0 < len(found) <= MOST_COMMANDS:
        return ""
    *first, last = found
    return f"{', '.join(first)} and {last} take" if first else f"{last} takes"


class _WhileRead(io.FileIO):
    """A pipe that takes what its reader has no use for any more, as after `head`; the exit code stays the command's."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return memoryview(data).nbytes


def _outlive_readers() -> None:
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.isatty():
        return
    # Without a buffer of its own (PYTHONUNBUFFERED) a stream has the file in its place.
    if isinstance(getattr(out.buffer, "raw", out.buffer), io.FileIO):
        out.flush()
        buffer = io.BufferedWriter(_WhileRead(out.fileno(), "w", closefd=False))
        flush, at_once = out.line_buffering, out.write_through
        sys.stdout = io.TextIOWrapper(buffer, out.encoding, out.errors, None, flush, at_once)


def _first_sentence(command: Any) -> str:
    return " ".join(command.help.split("\n\n")[0].split())


def _named(option: Any) -> str:
    """Return what stands for a value that may be given several times."""
    return str(max(option.opts, key=len)).lstrip("-").upper()


class _Command(TyperCommand):
    """Show and complete choices as choices, and refuse an option that takes one value and is given twice."""

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **extra)
        for option in self.params:
            complete = choice(getattr(option, "metavar", None))
            if complete is not None:
                vars(option)["_custom_shell_complete"] = complete

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the words that the library takes in place of where it lists them."""
        for option in self.get_params(ctx):
            several = option.nargs == -1 or getattr(option, "multiple", False)
            option.metavar = choices(option.metavar) or (_named(option) if several else None)
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and keep how its files are read for the advice of a refusal."""
        ctx.meta[READ_AS] = read_as(ctx)
        several = next((ctx.params[name] for name in ("logs", "pilot", "like") if ctx.params.get(name)), ())
        ctx.meta[ONE_LOG] = () if self.name == "report" else tuple(map(str, several))
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = _pairs_apart(self, ctx, args)
        if ctx.resilient_parsing:  # a shell completes a word of a line that is not finished
            return super().parse_args(ctx, args)
        values, _, given = self.make_parser(ctx).parse_args(list(args))
        seen: set[str] = set()
        for option in given:
            if isinstance(option, TyperOption) and not option.multiple and not option.is_flag:
                name = max(option.opts, key=len)
                if name in seen:
                    raise ValueError(f"{name} takes one value; got it twice: give it once")
                seen.add(name)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:  # the value is not said otherwise
            parameter = getattr(error, "param", None)
            vars(error)["got"] = values.get(parameter.name) if parameter is not None else None
            raise


def _pairs_apart(command: TyperCommand, ctx: Any, args: list[str]) -> list[str]:
    """Take the two values of an option apart that were joined by a comma: ``--pilot a.csv,b.csv``."""
    pairs = {
        name
        for option in command.get_params(ctx)
        if isinstance(option, TyperOption) and option.nargs == 2
        for name in option.opts
    }
    apart: list[str] = []
    for arg in args:
        parts = arg.split(",")
        joined = bool(apart) and apart[-1] in pairs and len(parts) == 2 and all(parts)
        apart += [part.strip() for part in parts] if joined else [arg]
    return apart


class _Late(_Command):
    """A command whose options come from the library, which is imported when they are asked for."""

    def __init__(self, *args: Any, **extra: Any) -> None:
        super(_Command, self).__init__(*args, **extra)
        self._declared: Derived = inspect.unwrap(extra["callback"]).declared

    @cached_property
    def _whole(self) -> Any:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(self.name, cls=_Command)(self._declared.function())
        return get_command(alone)

    @property
    def params(self) -> Any:
        return self._whole.params

    @params.setter
    def params(self, _none: Any) -> None:
        pass

    def invoke(self, ctx: Any) -> Any:
        self.callback = self._whole.callback
        return super().invoke(ctx)


app = typer.Typer(
    name="d3stats",
    cls=_Program,
    help="The statistics of LLM debates.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from d3stats import __version__

        typer.echo(f"d3stats {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


for _name in (name for names in GROUPS.values() for name in names):
    _function = "import_" if _name == "import" else _name.replace("-", "_")
    _module = import_module(f"d3stats.cli.{_function}")
    _command = getattr(_module, _function)
    if isinstance(_command, Derived):
        app.command(_name, cls=_Late)(_command.stub())
    else:
        app.command(_name, cls=_Command)(_command)
