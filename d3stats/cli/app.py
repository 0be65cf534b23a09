"""The ``d3stats`` program: its commands and how it fails."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from d3stats.cli import (
    agreement,
    audit_table,
    bias,
    compare,
    debate,
    demo,
    doctor,
    fit,
    import_,
    plan,
    power,
    replay,
    show,
    simulate,
    theorems,
)
from d3stats.cli.output import spoken


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
            typer.echo(f"d3stats: {' '.join(spoken(str(message)).split())}", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("d3stats: interrupted", err=True)
            raise typer.Exit(130) from None


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


app.command("demo")(demo.demo)
app.command("debate")(debate.debate)
app.command("fit")(fit.fit)
app.command("replay")(replay.replay)
app.command("simulate")(simulate.simulate)
app.command("plan")(plan.plan)
app.command("power")(power.power)
app.command("compare")(compare.compare)
app.command("agreement")(agreement.agreement)
app.command("bias")(bias.bias)
app.command("audit-table")(audit_table.audit_table)
app.command("theorems")(theorems.theorems)
app.command("doctor")(doctor.doctor)
app.command("show")(show.show)
app.command("import")(import_.import_)
