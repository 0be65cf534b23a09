"""``d3stats demo``: fit, describe and replay a bundled real log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from d3stats.cli.options import Seed
from d3stats.cli.output import print_result, print_text, save_figure, working

RULES = ("fixed:1", "fixed:2", "unanimity", "ks:0.05,patience=1", "ks:0.15,patience=1")


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder to write the figure to.")] = Path("demo-output"),
    seed: Seed = 0,
) -> None:
    """Fit, describe and replay a real log of 160 debates of seven agents, and draw it."""
    from d3stats import datasets
    from d3stats.planning.describe import fit
    from d3stats.planning.replay import replay

    t = datasets.load_slm7()
    print_text(
        "160 debates of 7 agents and 3 rounds, on 40 GSM8K and MMLU questions: 40 debates by each of 4 models"
    )
    print_text("(the 7 agents of a debate are 7 instances of the same small language model, with 7 personas;")
    print_text("votes of github.com/lferreiraMD/slm_multiagent_debate, MIT; see d3stats/datasets/slm7.md)")
    typer.echo("")
    with working("fitting and resampling (the first run also compiles code, about ten seconds)"):
        report = fit(t, rng=seed)
    print_result(report)
    typer.echo("")
    with working("replaying stopping rules"):
        played = replay(t, list(RULES))
    print_result(played)
    out.mkdir(parents=True, exist_ok=True)
    typer.echo("")
    save_figure(lambda: report.plot(played.stops(), rng=seed), out / "slm7", err=False)
