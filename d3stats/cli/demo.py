"""``d3stats demo``: fit, describe and replay a bundled real log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from d3stats.cli.options import Seed
from d3stats.cli.output import print_result, print_text, save_figure, say, working

if TYPE_CHECKING:
    import pandas as pd

RULES = ("fixed:1", "fixed:2", "unanimity", "ks:0.05,patience=1", "ks:0.15,patience=1")
GEMMA_RULES = ("supermajority:0.7", "sprt:0.7")


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder to write the figure to.")] = Path("demo-output"),
    seed: Seed = 0,
) -> None:
    """Fit, describe and replay a real log of 160 debates of seven agents, and draw it; then debates that did harm."""
    from d3stats import datasets
    from d3stats.planning.describe import fit
    from d3stats.planning.replay import replay
    from d3stats.plotting import plot_debate_paths

    t = datasets.load_slm7()
    print_text("slm7: 160 debates of 7 agents about 40 GSM8K and MMLU questions, 3 rounds.")
    say()
    with working("fitting and resampling (the first run also compiles code, about ten seconds)"):
        report = fit(t, rng=seed)
    print_result(report)
    say()
    with working("replaying stopping rules"):
        played = replay(t, list(RULES))
    print_result(played)
    out.mkdir(parents=True, exist_ok=True)
    say()
    save_figure(lambda: report.plot(played.stops(), rng=seed), out / "slm7", err=False)
    say()
    with working("replaying 2,179 debates of Gemma 3 270M, three times"):
        lines, stops = _paths()
    print_text("gemma: 2,179 debates of 7 agents of Gemma 3 270M about short texts, 6 rounds.")
    say()
    for group, rows in lines.groupby("group", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        print_text(
            f"{group}: {100 * first['accuracy']:z.1f} % right verdicts in round 1, "
            f"{100 * last['accuracy']:z.1f} % in round {last['round']}, for {last['tokens']:z,.0f} tokens a debate"
        )
    say()
    save_figure(lambda: plot_debate_paths(lines, stops), out / "gemma", err=False)
    print_text("Sources and licences of the logs: d3stats/datasets/slm7.md, d3stats/datasets/gemma.md")


def _paths() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return accuracy and tokens after each round of the three logs, and where rules stop the one with reasons."""
    import pandas as pd

    from d3stats import datasets
    from d3stats.planning.replay import replay

    lines, stops = [], []
    for heard, group in (("reasons", "read reasons"), ("votes", "read votes"), ("alone", "alone")):
        t = datasets.load_gemma(heard)
        last = t.n_rounds
        rules = [f"fixed:{r}" for r in range(1, last)]
        found = replay(t, [*rules, *(GEMMA_RULES if heard == "reasons" else ())]).to_frame().set_index("rule")
        depth = found.loc[[*rules, "full"], ["tokens", "accuracy"]].reset_index(drop=True)
        lines.append(depth.assign(round=range(1, last + 1), group=group))
        if heard == "reasons":
            stops.append(found.loc[["fixed:1", *GEMMA_RULES, "unanimity", "full"]].reset_index())
    return pd.concat(lines, ignore_index=True), pd.concat(stops, ignore_index=True)
