"""The ``d3stats`` program: its commands and how it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from d3stats.cli import (
    agreement,
    audit_table,
    bias,
    compare,
    debate,
    demo,
    doctor,
    example,
    fit,
    import_,
    lists,
    plan,
    power,
    replay,
    show,
    simulate,
    theorems,
)


class _OneLineErrors(TyperGroup):
    """Turn what a user can mend into one clear line and exit code 1; anything else keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader has seen enough, as `head` does; what is still buffered goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (ValueError, TypeError, KeyError, OSError) as error:
            message = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
            typer.echo(f"d3stats: {' '.join(str(message).split())}", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("d3stats: interrupted", err=True)
            raise typer.Exit(130) from None


class _EachOptionOnce(TyperCommand):
    """Refuse an option that takes one value and is given twice: the first value would be lost without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = _pairs_apart(self, ctx, args)
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        seen: set[str] = set()
        for option in given:
            if isinstance(option, TyperOption) and not option.multiple and not option.is_flag:
                name = max(option.opts, key=len)
                if name in seen:
                    raise ValueError(f"{name} takes one value; got it twice: give it once")
                seen.add(name)
        return super().parse_args(ctx, args)


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


app = typer.Typer(
    name="d3stats",
    cls=_OneLineErrors,
    help="The statistics of LLM debates.",
    no_args_is_help=True,
    add_completion=False,
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


_COMMANDS: dict[str, Callable[..., Any]] = {
    "demo": demo.demo,
    "debate": debate.debate,
    "fit": fit.fit,
    "replay": replay.replay,
    "simulate": simulate.simulate,
    "plan": plan.plan,
    "power": power.power,
    "compare": compare.compare,
    "agreement": agreement.agreement,
    "bias": bias.bias,
    "audit-table": audit_table.audit_table,
    "theorems": theorems.theorems,
    "doctor": doctor.doctor,
    "show": show.show,
    "import": import_.import_,
    "example": example.example,
    "rules": lists.rules,
    "worlds": lists.worlds,
    "protocols": lists.protocols,
    "formats": lists.formats,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=_EachOptionOnce)(_command)
