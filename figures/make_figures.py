"""Make the figures of this folder: those whose data or code have changed, or all with `--all`.

The same data give the same bytes, so a figure that changes in version control has changed in what it shows.
`manifest.toml` keeps name, caption, source, data and hashes of each; `gallery.py` makes a page of it. A figure's code
is its function here, what that calls here, and the modules of d3stats that these use, with all that they import. Words
for people are no part of it: comments, docstrings, captions and the texts of errors change without another drawing.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import json
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from d3stats import plotting
from d3stats.datasets import load_slm7
from d3stats.inference.bias import position_table
from d3stats.inference.comparison import compare, strata_tables
from d3stats.inference.judges.bradley_terry import rank
from d3stats.inference.judges.confidence import confidence
from d3stats.inference.reasons import rationale_strata
from d3stats.models.bayes.mixture import fit_mixture
from d3stats.models.chains import optimum
from d3stats.models.gaps.beta import contraction_table
from d3stats.models.separation.best_of_k import phase_table
from d3stats.models.separation.excess import excess_wealth_table, gain_table
from d3stats.models.separation.laws import beta, exponential, uniform
from d3stats.planning.abstain import abstain
from d3stats.planning.describe import fit
from d3stats.planning.escalation import escalate
from d3stats.planning.exact import evaluate
from d3stats.planning.plan import plan
from d3stats.planning.replay import replay
from d3stats.plotting import TWO_COLUMNS
from d3stats.protocols import schematic
from d3stats.stopping import from_text
from d3stats.worlds import (
    Conformity,
    Courtroom,
    JurorPersona,
    count_process,
    courtroom_items,
    round_tokens,
    simulate_debates,
)

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "figures"
SLM7 = ("d3stats/datasets/slm7.csv", "d3stats/datasets/slm7_questions.csv")


class Entry(NamedTuple):
    """A figure: how it is drawn, its caption, where what it shows is from, and the files of its data."""

    draw: Callable[[], Figure]
    caption: str
    source: str
    data: tuple[str, ...]


FIGURES: dict[str, Entry] = {}


def figure(caption: str, *data: str, source: str) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Enter the function's figure, under the function's name, into the list of figures.

    Parameters
    ----------
    caption : str
        What is shown, of which data, and how to read it.
    *data : str
        Files that it is drawn from, relative to the root.
    source : str
        Where the data are from, or what is computed, and the published figure that this one goes with.
    """

    def enter(draw: Callable[[], Figure]) -> Callable[[], Figure]:
        FIGURES[draw.__name__] = Entry(draw, caption, source, data)
        return draw

    return enter


@cache
def demo() -> tuple[Any, Any]:
    """Return the report and the replay of `d3stats demo`: a test holds its figure to the one drawn here."""
    log, rules = load_slm7(), ["fixed:1", "fixed:2", "unanimity", "ks:0.05,patience=1", "ks:0.15,patience=1"]
    return fit(log, rng=0), replay(log, rules)


def read(path: str) -> pd.DataFrame:
    """Return a table of a study."""
    return pd.read_csv(ROOT / path)


def one_legend(fig: Figure, axes: Iterable[Any]) -> None:
    """Put what all axes explain into one legend below them."""
    named: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
        ax.get_legend().remove()
    fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=3)


@figure(
    "The figure of `d3stats demo` for its log, 160 debates of 7 agents over 3 rounds: how many "
    "debates had 0 to 7 correct votes, observed (bars), fitted (dots), and where 95 % of samples of the "
    "fitted model fall (lines). Below, how far the counts of each round moved from the round before (lines: 95 % "
    "percentile intervals, questions resampled), and where each rule stops; missing votes are left out.",
    *SLM7,
    source="the bundled log slm7 (d3stats/datasets/slm7.md); what `d3stats demo` computes",
)
def slm7_overview() -> Figure:
    report, played = demo()
    return report.plot(played.stops(), rng=0)


@figure(
    "Correct votes per debate in each round of the demo's log (160 debates), without missing votes. The fit misses "
    "only where a grey bar ends outside of the blue line, which holds 95 % of samples of the fitted model.",
    *SLM7,
    source="the bundled log slm7 (d3stats/datasets/slm7.md); the mixtures of Hu et al. (2025), arXiv 2510.12697",
)
def slm7_counts_by_round() -> Figure:
    report, _ = demo()
    return plotting.plot_counts_by_round(report.fit.count_shares(rng=0))[0].figure


@figure(
    "Kolmogorov-Smirnov distance of each round of the demo's log (160 debates) from the round before, between the "
    "counts and between the fitted mixtures. Lines are 95 % percentile intervals, questions resampled. A distance "
    "below its grey bar, the 95 % quantile if nothing drifts, is no evidence of change.",
    *SLM7,
    source="the bundled log slm7 (d3stats/datasets/slm7.md); the statistic of Hu et al. (2025), arXiv 2510.12697",
)
def slm7_ks_series() -> Figure:
    return plotting.plot_ks_series(demo()[0].drift.ks()).figure


@figure(
    "Where each rule would have stopped the 160 debates of the demo's log. The length of a piece is the share of "
    "debates, its number and colour the round, its hatch the reason.",
    *SLM7,
    source="the bundled log slm7 (d3stats/datasets/slm7.md); what `d3stats replay` computes",
)
def slm7_stop_rounds() -> Figure:
    return plotting.plot_stop_rounds(demo()[1].stops()).figure


@figure(
    "A Bayesian mixture of two Beta-Binomials, fitted to round 1 of the demo's log (160 debates; missing votes are "
    "left out). Black: posterior mean and equal-tailed 95 % limits of the share of debates with 0 to 7 right votes, "
    "beside the observed shares (grey); on top, on the same axis, the mean of each component with its limits.",
    *SLM7,
    source="the bundled log slm7 (d3stats/datasets/slm7.md); a PyMC model, sampled with a fixed seed",
)
def mixture_posterior() -> Figure:
    return fit_mixture(load_slm7().counts()[1], draws=1500, rng=20251).plot().figure


@figure(
    "Accuracy and tokens of stopping rules in a conformity world with 7 agents and up to 6 rounds, and the "
    "limit that no rule passes. All values are exact, so there are no intervals; rules far below the line waste"
    " tokens or verdicts.",
    source="computed from the exact law of a synthetic world",
)
def frontier() -> Figure:
    world, rounds = Conformity(conformity=1.0, stubbornness=0.3), 6
    names = ["fixed:1", "fixed:2", "supermajority:0.7", "sprt:0.7", "supermajority:0.85"]
    names += ["adaptive_consistency:0.95", "unanimity"]
    process, tokens = count_process(world, rounds), np.add(*round_tokens(world.lengths, world.panel, rounds))
    results = [evaluate(process, from_text(name)) for name in names]
    spent = np.cumsum(tokens) / 1000
    cost = [float(result.stops.astype(float) @ spent) for result in results]
    points = pd.DataFrame(
        {"rule": names, "cost": cost, "kept": [float(result.accuracy) for result in results]}
    )
    corners = optimum.frontier(process, [0.0, *np.geomspace(1e-9, 1e-4, 30)], tokens=tokens)
    limit = pd.DataFrame({"cost": corners["tokens"] / 1000, "kept": 1 - corners["loss"]}).drop_duplicates()
    # Beyond the most accurate policy nothing is gained, at any price.
    flat = pd.DataFrame({"cost": [points["cost"].max()], "kept": [limit["kept"].max()]})
    limit = pd.concat([limit, flat], ignore_index=True)
    return plotting.plot_frontier(points, limit, cost_label="thousand tokens per debate").figure


@figure(
    "Regret of stopping rules in 15 synthetic worlds at .01 of a verdict per round, in thousandths of a verdict: "
    "how much worse each rule does than the best that knows the world. Values are exact to one thousandth and "
    "have no intervals; those of the plan are a mean over 5 pilots of 50 debates. Light is good.",
    "simulations/regret/regret.csv",
    source="study simulations/regret",
)
def regret_map() -> Figure:
    table = read("simulations/regret/regret.csv")
    worlds = {
        "voter .65": "nobody learns",
        "echo .65": "all hear only themselves",
        "fresh votes": "fresh votes",
    }
    kinds, agents = ("easy", "mixed", "hard"), {".2": "yielding", ".8": "stubborn"}
    for kind in kinds:
        for s, agent in agents.items():
            worlds |= {
                f"{kind} s{s} c{c} e1": f"{kind}, {agent}, {said}"
                for c, said in ((0, "free"), (3, "conform"))
            }
    rows = table[table["price"] == "round .01"].set_index("world").loc[list(worlds)].rename(index=worlds)
    rules = list(rows.columns[rows.columns.get_loc("posterior") + 1 :])
    # At this price three columns are those of another rule.
    same = {
        "betting:0.05": "e_process:0.05",
        "look_ahead at the price": "look_ahead:3,p=0.7,cost=0.01",
        "commit_walls:2": "fixed:2",
    }
    assert all(rows[one].equals(rows[other]) for one, other in same.items())
    names = {
        "full": "all 6 rounds",
        "look_ahead:3,p=0.7,cost=0.01": "look_ahead:3 (p = 0.7)",
        "best ladder": "best thresholds, told the world",
        "plan of 50": "d3stats plan, pilot of 50",
    }
    rows = rows[[rule for rule in rules if rule not in same]].rename(columns=names)
    frame = rows.reset_index().melt("world", var_name="rule", value_name="regret")
    return plotting.plot_regret_map(frame).figure


@figure(
    "The rules of `d3stats plan slm7`: rounds saved and change in accuracy, both against unanimity and counted on the "
    "160 debates (40 questions). The ring marks the recommended rule, lines are 95 % Student intervals over questions. "
    "Every rule's interval reaches into the shaded region, so these debates alone exclude no loss of over 1 point.",
    *SLM7,
    source="the bundled log slm7 (d3stats/datasets/slm7.md); what `d3stats plan` computes",
)
def slm7_plan() -> Figure:
    return plan(load_slm7(), rng=0).plot().figure


GEMMA = tuple(f"analysis/gemma_debates/{name}.csv" for name in ("rounds", "added", "rules"))


@figure(
    "Right verdicts of seven copies of Gemma 3 270M about 2,179 short texts, against the tokens of a debate of six "
    "rounds. Agents who read the others' reasons lose a quarter of the right verdicts; agents who vote alone lose "
    "none, and the answer with the most of all their votes is right more often. The marks are where rules stop the "
    "debates with reasons.",
    *GEMMA,
    source="study analysis/gemma_debates, of the bundled logs gemma-reasons, gemma-votes and gemma-alone",
)
def gemma_paths() -> Figure:
    by_round, added, rules = (pd.read_csv(ROOT / name) for name in GEMMA)
    names = {"reasons": "read reasons", "votes": "read votes", "alone": "alone"}
    lines = by_round.assign(group=by_round["log"].map(names), tokens=by_round["cumulative"])
    alone = added[added["log"] == "alone"].assign(group="alone, all votes\nadded up")
    shown = {
        "fixed:1": "after round 1",
        "supermajority:0.7": "five votes of seven",
        "ks:0.05,patience=1,camp=largest": "KS, without labels",
        "unanimity": "unanimity",
        "hu2025": "Hu et al. (2025)",
    }
    here = rules[(rules["log"] == "reasons") & rules["rule"].isin(list(shown))]
    here = here.assign(rule=here["rule"].map(shown))
    kept = ["group", "round", "tokens", "accuracy"]
    ax = plotting.plot_debate_paths(pd.concat([lines[kept], alone[kept]]), here)
    ax.get_legend().set_title("where rules stop the debates with reasons")
    return ax.figure


@figure(
    "Right verdicts of SmolLM2 with 135 million parameters about short texts, against the tokens of a debate; a debate "
    "without a decision counts as half right, and chance is .5. One vote is the first judge of the majority. Bars are "
    "95 % cluster t intervals.",
    "analysis/live_llm/arms.csv",
    source="study analysis/live_llm",
)
def live_llm() -> Figure:
    table = read("analysis/live_llm/arms.csv").rename(
        columns={"arm": "rule", "tokens": "cost", "value": "kept"}
    )
    table = table.rename(columns={f"value_{end}": f"kept_{end}" for end in ("low", "high")})
    return plotting.plot_frontier(table, kept_label="right verdicts").figure


@figure(
    "Which verdicts to withhold: the share of wrong verdicts among those kept, against the share kept, for 2,179 "
    "debates of seven agents of a small model that vote alone (log gemma-alone). A point is a threshold on the votes, "
    "with 95 % limits over questions. Line: the limit of .2; ring: the lowest threshold whose error is "
    "below it with 90 % confidence; right: the tokens of all debates for one kept verdict.",
    source="the bundled log gemma-alone; what `d3stats abstain` computes",
)
def risk_coverage() -> Figure:
    return abstain("gemma-alone", max_error=0.2).plot().figure


@figure(
    "The cost of up to 1,000 new debates under the rule that `plan` recommends from a simulated pilot of "
    "50 debates, and under unanimity. The bands hold the total with 50, 80 and 95 % probability; where they "
    "lie apart, the saving is larger than chance.",
    source="a pilot of a synthetic world, drawn with a fixed seed",
)
def plan_fan() -> Figure:
    pilot = simulate_debates(Conformity(), n_debates=50, n_rounds=8, rng=7)
    return plotting.plot_plan_fan(plan(pilot, price=1.0, limit=False, rng=1).fan()).figure


@figure(
    "The change from one advocate a side to five, for two families of score laws with a ceiling; computed, not"
    " simulated. Green: the expected gap and the chance of the right ranking both grow; red: both fall.",
    source="computed from the exact laws of scores; the claims are D3's Theorems 2 and 3",
)
def separation_phase_map() -> Figure:
    floors, ceilings = np.linspace(0.0125, 0.9875, 40), np.linspace(0, 1, 41)
    shapes = np.linspace(0.5, 10, 39)
    maps = {
        "U(c, 1) against U(0, 1 + s), k = 5": phase_table(
            lambda c, s: (uniform(c, 1), uniform(0, 1 + s)),
            {"floor c": floors, "extra ceiling s": ceilings},
            5,
        ),
        "Beta(a, b) against Beta(2, 2), k = 5": phase_table(
            lambda a, b: (beta(a, b), beta(2, 2)), {"a": shapes, "b": shapes}, 5
        ),
    }
    fig, axes = plt.subplots(1, len(maps), figsize=(TWO_COLUMNS, 3.2), layout="constrained")
    for ax, (title, table) in zip(axes, maps.items(), strict=True):
        plotting.plot_phase_map(table, title=title, ax=ax)
    return fig


@figure(
    "Accuracy gained over a single judge in two synthetic worlds, protocols from the cheapest to the dearest; a debate "
    "without a decision counts as half right. In the second world half of the quality gap is hidden in round 1, and "
    "arguments mislead little. Bars are 95 % cluster t intervals of the paired difference; on the right is the cost of "
    "1,000 debates in dollars, at made-up prices.",
    "simulations/protocol_comparison/frontier.csv",
    "simulations/protocol_comparison/measures.csv",
    source="study simulations/protocol_comparison; goes with D3, figure 3",
)
def protocol_frontier() -> Figure:
    table, measures = (
        read(f"simulations/protocol_comparison/{name}.csv") for name in ("frontier", "measures")
    )
    gains = measures[measures["measure"] == "gain_half"].set_index(["world", "protocol"])
    costs = table[table["counted"] == "half"].set_index(["world", "protocol"])["cost"]
    worlds = {"a fifth hidden": "a fifth hidden (2,000 items)"}
    worlds["half hidden, arguments mislead little"] = "half hidden (1,000 items)"
    order = costs.loc[next(iter(worlds))].sort_values().index
    # The panels share their rows; the judge itself has no difference.
    names = [name for name in order if all((world, name) in gains.index for world in worlds)]
    fig, axes = plt.subplots(1, len(worlds), figsize=(TWO_COLUMNS, 4.4), layout="constrained", sharey=True)
    for ax, (world, title) in zip(axes, worlds.items(), strict=True):
        rows = gains.loc[world].loc[names].rename_axis("label").reset_index()
        rows = rows.rename(columns={"estimate": "difference"})[["label", "difference", "low", "high"]]
        rows = rows.assign(level=0.95, kind="cluster t of paired differences")
        plotting.plot_forest(rows, xlabel="accuracy minus that of a single judge", numbers=False, ax=ax)
        ax.set_title(title)
        place = {"xycoords": ax.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": "small"}
        for row, name in enumerate(names):
            ax.annotate(f"${1000 * costs[world, name]:.1f}", (1.12, row), annotation_clip=False, **place)
    return fig


@figure(
    "Mean rounds against accuracy over the thresholds of the KS rule (.01 to .2), in synthetic worlds (12,400 "
    "debates each, errors near .005) and on real logs (50 to 200 debates each). In the middle is the world where "
    "patience matters. Real values are means over resamples of questions, and their 95 % intervals, near .08 on "
    "either side, are in the findings.",
    "simulations/stability_sensitivity/thresholds.csv",
    "analysis/stability_logs/settings.csv",
    source="studies simulations/stability_sensitivity and analysis/stability_logs; goes with arXiv 2510.12697, whose "
    "summary asks for rounds against accuracy over the threshold",
)
def stability_thresholds() -> Figure:
    table, logs = (
        read(name)
        for name in (
            "simulations/stability_sensitivity/thresholds.csv",
            "analysis/stability_logs/settings.csv",
        )
    )
    rules = table[table["threshold"].notna()]
    late = rules[rules["world"] == "turns late"]
    logs = logs[logs["patience"] == 1]
    logs = logs.assign(rounds=logs["mean_rounds"], accuracy=logs["mean_accuracy"])
    panels = {
        "four worlds, patience 2": rules[rules["patience"] == 2].assign(group=lambda rows: rows["world"]),
        "the world that turns late": late.assign(
            group="patience " + late["patience"].astype(int).astype(str)
        ),
        "seven real logs, patience 1": logs.assign(group=logs["log"].str.removesuffix(", two runs")),
    }
    fig, axes = plt.subplots(1, 3, figsize=(TWO_COLUMNS, 3.9), layout="constrained")
    for ax, (title, rows) in zip(axes, panels.items(), strict=True):
        ax.set_ylim(*((0.25, 0.95) if "logs" in title else (0.5, 0.8)))
        plotting.plot_threshold_path(rows[["threshold", "rounds", "accuracy", "group"]], ax=ax)
        plotting.style.legend_below(ax, 1)
        ax.set_title(title)
    for ax in axes[1:]:
        ax.set_ylabel("")
    return fig


@figure(
    "Excess wealth of three pairs of score laws, computed exactly, where the first dominates the second. More "
    "advocates widen the mean gap for every k where the first curve is above, for no k where it is below, and "
    "for some where they cross.",
    source="computed from the exact laws of scores",
)
def excess_wealth() -> Figure:
    pairs = [
        ("Exp mean 3", exponential(3), "Exp mean 1", exponential(1)),
        ("Beta(1, 2)", beta(1, 2), "Beta(½, 2)", beta(0.5, 2)),
        ("U(½, 1)", uniform(0.5, 1), "U(0, 1)", uniform()),
    ]
    fig, axes = plt.subplots(1, 3, figsize=(TWO_COLUMNS, 2.5), layout="constrained")
    for ax, (one, first, two, second) in zip(axes, pairs, strict=True):
        table, gains = excess_wealth_table(first, second), gain_table(first, second, range(2, 101))
        plotting.plot_excess_wealth(table, gains, first_label=one, second_label=two, ax=ax)
    for ax in axes[1:]:
        ax.set_ylabel("")
    return fig


@figure(
    "The chance that a gap has come within .4 of 1: exact, as D3 bounds it, and two bounds that hold. Left "
    "the gap grows in every round, right in every second one, where the claimed bound lies above the truth "
    "(crosses).",
    source="computed from the exact posterior; the bound is that of D3, section 3",
)
def gap_contraction() -> Figure:
    rounds = np.arange(1, 61)
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.8), layout="constrained", sharey=True)
    cases = {"the gap grows in every round": rounds, "the gap grows in every second round": rounds // 2}
    for ax, (title, successes) in zip(axes, cases.items(), strict=True):
        plotting.plot_gap_contraction(contraction_table(successes, rounds, 0.4), ax=ax)
        ax.set_title(title)
    one_legend(fig, axes)
    axes[1].set_ylabel("")
    return fig


@figure(
    "Mean change of the share of correct votes by the next round, by the share before it, in seven real logs of "
    "49 to 198 debates (lower row: questions picked for a wrong majority). Points on the zero line are what a "
    "martingale would do, and grey is out of reach. Bars are 95 % cluster t intervals; a bare point has none, as "
    "no share changed there.",
    "analysis/martingale/conditional.csv",
    source="study analysis/martingale, of seven published logs that its findings name",
)
def martingale_drift() -> Figure:
    frame = read("analysis/martingale/conditional.csv").assign(level=0.95, kind="cluster t")
    names = pd.Series(frame["log"].unique())
    picked = names.str.contains("majority wrong|critic")
    fig, axes = plt.subplots(2, 4, figsize=(TWO_COLUMNS, 3.7), layout="constrained", sharex=True, sharey=True)
    for row, logs in zip(axes, (names[~picked], names[picked]), strict=True):
        for ax, name in zip(row, logs, strict=False):
            plotting.plot_martingale_drift(frame[frame["log"] == name], ax=ax)
            for note in ax.texts:
                note.remove()
            title = str(name).removesuffix(", two runs").removesuffix(", majority wrong")
            ax.set_title(title, fontsize="medium")
            ax.set_xlabel("")
            ax.set_ylabel("")
        for ax in row[len(logs) :]:
            ax.set_axis_off()
    # Above the panel that is missing there.
    axes[0, 3].tick_params(labelbottom=True)
    axes[0, 0].set_ylim(-0.42, 0.42)
    fig.supxlabel("share of correct votes before", fontsize="medium")
    fig.supylabel("mean change in the next round", fontsize="medium")
    return fig


@figure(
    "Coverage of 95 % intervals on clustered data, in 2,000 simulated sets of 80 clusters for "
    "each point; bars are two Monte Carlo standard errors either way. Good methods stay in the grey band at "
    "every intraclass correlation (ICC); arrows are values below .90.",
    "simulations/interval_coverage/coverage.csv",
    source="study simulations/interval_coverage",
)
def interval_coverage() -> Figure:
    found = read("simulations/interval_coverage/coverage.csv")
    found = found[found["clusters"] == found["clusters"].max()]
    fig, axes = plt.subplots(1, 4, figsize=(TWO_COLUMNS, 3.6), layout="constrained", sharex=True, sharey=True)
    for ax, (name, part) in zip(axes, found.groupby("statistic", sort=False), strict=True):
        plotting.plot_interval_coverage(part, zoom=(0.9, 0.98), ax=ax)
        ax.set_title(str(name))
        ax.set_xticks([0.92, 0.94, 0.96])
        ax.set_xlabel("coverage")
    one_legend(fig, axes)
    return fig


@figure(
    "Kappa with 95 % cluster t intervals, sorted within each task, on LLMBar (415 to 419 items), PandaLM (974 to "
    "999) and PRD (704 to 744 of 80 questions). Judges are compared with the label, the majority or the humans, "
    "and humans with each other. The broken line is what chance alone gives; 1 is perfect agreement.",
    "analysis/judges/kappas.csv",
    source="study analysis/judges, of published judgments that its findings name",
)
def judge_agreement() -> Figure:
    found = read("analysis/judges/kappas.csv").assign(level=0.95, kind="cluster t")
    of_humans = found["group"] == "PandaLM, two humans"
    found["name"] = found["name"].where(~of_humans, "humans " + found["name"])
    found = found.sort_values("value", ascending=False)
    tasks = ["LLMBar, against the label", "PandaLM, against the majority", "PandaLM, two humans"]
    tasks += ["PRD, against the humans"]
    rows = [found[found["group"] == task] for task in tasks]
    fig, axes = plt.subplots(
        len(tasks),
        1,
        figsize=(TWO_COLUMNS, 1.4 + 0.21 * len(found)),
        height_ratios=[len(part) for part in rows],
        layout="constrained",
        sharex=True,
    )
    for ax, task, part in zip(axes, tasks, rows, strict=True):
        plotting.plot_agreement(part[["name", "value", "low", "high", "level", "kind"]], ax=ax)
        ax.set_title(task)
        ax.set_xlabel("kappa" if ax is axes[-1] else "")
    axes[0].set_xlim(-0.3, 1.05)
    return fig


@figure(
    "Accuracy of the plurality of k jurors in three real juries (744, 159 and 419 items), with 95 % cluster Wilson "
    "intervals (blue). Beside it are independent jurors of the same accuracies (orange) and the limit of a large "
    "panel with its 95 % interval (green). The distance between blue and orange is what shared errors cost.",
    "analysis/juries/curves.csv",
    source="study analysis/juries, of published judgments (PRD, LLMBar) and the bundled log slm7",
)
def jury_curve() -> Figure:
    frame = read("analysis/juries/curves.csv").assign(level=0.95)
    juries = {
        "PRD, ten reviews": "PRD, ten votes",
        "seven agents before they talk": "slm7, round 1",
        "LLMBar, ten prompts of GPT-4": "LLMBar, GPT-4's prompts",
    }
    fig, axes = plt.subplots(1, 3, figsize=(TWO_COLUMNS, 2.7), layout="constrained", sharey=True)
    for ax, (title, jury) in zip(axes, juries.items(), strict=True):
        plotting.plot_jury_curve(frame[frame["jury"] == jury], ax=ax)
        ax.set_title(title)
    one_legend(fig, axes)
    for ax in axes[1:]:
        ax.set_ylabel("")
    return fig


@figure(
    "Gain of debate over a vote in seven real logs of 49 to 198 debates: accuracy of the last round's vote minus that "
    "of the first. Bars are 95 % cluster t intervals; differences inside the grey margin of .05 are too small to "
    "matter.",
    "analysis/debate_or_vote/debate_or_vote.csv",
    source="study analysis/debate_or_vote, of seven published logs that its findings name",
)
def forest_debate_or_vote() -> Figure:
    found = read("analysis/debate_or_vote/debate_or_vote.csv")
    frame = found.rename(columns={"log": "label", "gain": "difference"})
    frame["group"] = np.where(frame["picked"] == "yes", "picked for a wrong majority", "questions not picked")
    frame["level"], frame["kind"] = 0.95, "cluster t"
    fig, ax = plt.subplots(figsize=(TWO_COLUMNS, 2.6), layout="constrained")
    plotting.plot_forest(
        frame, margin=0.05, xlabel="accuracy of the last vote minus that of the first", ax=ax
    )
    return fig


@figure(
    "Lost verdicts of campaigns under a ledger, as a share of the number allowed, by debates of a campaign, where 1 % "
    "and 5 % of the verdicts may be lost: means, and the middle 80 % of campaigns as bars. At most a tenth of the "
    "campaigns may lie above the broken line. Real debates are those of Gemma 3 270M and of four small models; the "
    "worlds are of twelve families.",
    "simulations/ledger/savings.csv",
    source="study simulations/ledger",
)
def ledger_losses() -> Figure:
    table = read("simulations/ledger/savings.csv")
    real = table["source"].str.startswith("gemma") | (table["source"] == "slm7")
    table = table.assign(group=np.where(real, "real debates", "simulated worlds"))
    table["spent"] = table["lost"] / table["allowed"]
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.8), layout="constrained", sharey=True)
    for ax, (eps, part) in zip(axes, table.groupby("eps"), strict=True):
        found = part.groupby(["group", "debates"])["spent"]
        frame = found.agg(
            value="mean", low=lambda lost: lost.quantile(0.1), high=lambda lost: lost.quantile(0.9)
        )
        frame = frame.reset_index()
        sizes = sorted(frame["debates"].unique())
        # One step for each size, since they are far apart.
        frame["x"] = frame["debates"].map({size: float(step) for step, size in enumerate(sizes)})
        plotting.plot_series(frame, xlabel="debates of a campaign", ylabel="lost / allowed", ax=ax)
        ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
        ax.axhline(1.0, color="0.4", linestyle="--", linewidth=0.8, zorder=0)
        ax.set_title(f"{100 * eps:.0f} % may be lost")
    one_legend(fig, axes)
    return fig


@figure(
    "Mean size of the difference between the judge's scores of two answers, by round of SAMRE, in four simulated "
    "worlds of 2,000 questions, with 95 % t intervals. MORE with three advocates has one round; the broken line "
    "carries its level on.",
    "simulations/advocates_hypotheses/by_round.csv",
    source="simulations/advocates_hypotheses; hypotheses 1 and 2 of the advocates paper, appendix A.5",
)
def advocates_rounds() -> Figure:
    frame = read("simulations/advocates_hypotheses/by_round.csv").assign(level=0.95, kind="t")
    worlds = {
        "default": "both answers give equally much to find",
        "independent, three times as much to find": "the better answer gives more to find",
        "half hidden": "round 1 hides half",
        "scores near the ceiling": "scores near the ceiling",
    }
    fig, axes = plt.subplots(2, 2, figsize=(TWO_COLUMNS, 4.9), layout="constrained", sharex=True, sharey=True)
    for ax, (world, title) in zip(axes.flat, worlds.items(), strict=True):
        rows = frame[frame["world"] == world]
        parts = []
        for name, group in (
            ("samre", "SAMRE, one advocate a side"),
            ("more", "MORE, three advocates a side"),
        ):
            ends = {name: "value", f"{name}_low": "low", f"{name}_high": "high", "round": "x"}
            part = rows[[*ends, "level", "kind"]].rename(columns=ends).assign(group=group)
            parts.append(part if name == "samre" else part.head(1))
        both = pd.concat(parts, ignore_index=True)
        plotting.plot_series(both, xlabel="round", ylabel="difference, points", ax=ax)
        (bars,) = (
            h for h, label in zip(*ax.get_legend_handles_labels(), strict=True) if label.startswith("MORE")
        )
        ax.axhline(
            parts[1]["value"].iloc[0], color=bars[0].get_color(), linestyle="--", linewidth=0.8, zorder=0
        )
        ax.set_title(title)
    one_legend(fig, axes.flat)
    for ax in axes[0]:
        ax.set_xlabel("")
    for ax in axes[:, 1]:
        ax.set_ylabel("")
    return fig


@figure(
    "Accuracy of ChatEval in a simulated world by the number of referees (left) and by turns of three referees "
    "(right), by how a verdict is extracted; 20,000 items, with 95 % Wilson intervals. Grey: where accuracies of 80 "
    "items fall for the majority of diverse roles; diamonds: what the paper prints for ChatGPT, with the error of its "
    "80 items.",
    "simulations/chateval_sweeps/sweeps.csv",
    source="simulations/chateval_sweeps; goes with ChatEval, figures 3a and 3b",
)
def chateval_sweeps() -> Figure:
    frame = read("simulations/chateval_sweeps/sweeps.csv").assign(level=0.95, kind="Wilson")
    frame = frame[frame["world"] == "errors by role"].rename(columns={"accuracy": "value"})
    single = frame.loc[frame["sweep"] == "single agent", "value"].iloc[0]
    groups = {
        ("diverse", "mean"): "diverse roles, mean score",
        ("diverse", "majority"): "diverse roles, majority",
        ("same", "majority"): "one role, majority",
    }
    frame["group"] = [groups.get(key) for key in zip(frame["roles"], frame["extraction"], strict=True)]
    frame = frame.dropna(subset="group")
    # Table 1 and section 4.3: two, three and four referees; two turns of three (table 4).
    printed = {"referees": {2: 0.600, 3: 0.625, 4: 0.625}, "turns": {2: 0.600}}
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.1), layout="constrained", sharey=True)
    for ax, sweep in zip(axes, printed, strict=True):
        rows = frame[frame["sweep"] == sweep]
        if sweep == "turns":
            rows = rows[rows["referees"] == 3]
        rows = rows.assign(x=rows[sweep], order=rows["group"].map(list(groups.values()).index))
        rows = rows.sort_values(["order", "x"])
        plotting.plot_series(rows.drop(columns="order"), xlabel=sweep, ylabel="accuracy", ax=ax)
        band = rows[rows["group"] == groups["diverse", "majority"]]
        ax.fill_between(
            band["x"],
            band["batch_low"],
            band["batch_high"],
            color="0.9",
            zorder=0,
            label="diverse roles, majority: 95 % of batches of 80 items",
        )
        ax.axhline(single, color="0.35", linestyle="--", linewidth=0.8, zorder=1, label="single agent")
        x, y = np.array(list(printed[sweep])), np.array(list(printed[sweep].values()))
        ax.errorbar(
            x + 0.3,
            y,
            1.96 * np.sqrt(y * (1 - y) / 80),
            fmt="D",
            color="0.15",
            markersize=4,
            linewidth=0.9,
            label="printed, with the error of 80 items",
        )
        ax.set_xticks(sorted(rows["x"].unique()))
        ax.legend()
    axes[0].set_title("two turns")
    axes[1].set_title("three referees")
    one_legend(fig, axes)
    axes[1].set_ylabel("")
    return fig


@figure(
    "Accuracy of the majority of 1, 3, 5 and 7 jurors in 6,000 simulated debates, by what jurors have of a persona: an "
    "effect toward the better answer (lifts the curve), and an error of their own (bends it upward). Means over all "
    "juries of a size out of fifty personas, with 95 % cluster t intervals; crosses are exact, which SAMRE has not.",
    "simulations/persona_study/sizes.csv",
    source="simulations/persona_study; the shape of D3, section 5.6 and Table 3",
)
def persona_juries() -> Figure:
    frame = read("simulations/persona_study/sizes.csv").rename(columns={"k": "x", "accuracy": "value"})
    arms = {
        "plain": "no persona, seeing alike",
        "effects": "effects, seeing alike",
        "diversity": "no effects, seeing differently",
        "personas": "effects, seeing differently",
    }
    frame = frame.assign(group=frame["arm"].map(arms), level=0.95, kind="cluster t")
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.3), layout="constrained", sharey=True)
    for ax, (protocol, rows) in zip(axes, frame.groupby("protocol", sort=False), strict=True):
        # SAMRE has no exact law, as its stop depends on the judge's marks.
        rows = rows if rows["exact"].notna().any() else rows.drop(columns="exact")
        plotting.plot_series(rows, xlabel="jurors", ylabel="accuracy of the majority", ax=ax)
        ax.set_title(protocol)
    one_legend(fig, axes)
    axes[1].set_ylabel("")
    return fig


@figure(
    "Position bias of judges in LLMBar (a plain prompt, 415 to 419 pairs) and of reviewers in PRD (800 to 880 pairs "
    "of 80 questions). Left is the share of pairs with the same winner in both orders, with 95 % cluster Wilson "
    "intervals, beside what chance alone would give. Right is the share of verdicts for the first slot, with 95 % "
    "cluster t intervals; without bias it is one half.",
    "analysis/judge_bias/position.csv",
    source="study analysis/judge_bias, of published judgments (LLMBar, PRD)",
)
def position_bias() -> Figure:
    found = read("analysis/judge_bias/position.csv").assign(level=0.95)
    found = found[found["judge"].str.endswith(", Vanilla") | (found["source"] == "PRD")]
    found = found.assign(judge=found["judge"].str.removesuffix(", Vanilla"))
    parts = {"LLMBar": 6, "PRD": 5}
    fig, axes = plt.subplots(
        2,
        2,
        figsize=(TWO_COLUMNS, 3.6),
        height_ratios=list(parts.values()),
        layout="constrained",
        sharex=True,
    )
    for row, source in zip(axes, parts, strict=True):
        plotting.plot_position_bias(position_table(found[found["source"] == source]), axes=row)
        row[1].set_title(source, loc="right")
    axes[1, 0].get_legend().remove()
    for ax in axes[0]:
        ax.set_xlabel("")
    return fig


@figure(
    "Ratings of five simulated models from 1,200 judgments of pairs on 60 questions, in log-odds, with 95 % cluster t "
    "intervals against the mean of all. At the right edge are the ranks that simultaneous intervals of all "
    "differences leave open.",
    source="a simulation with a fixed seed; what `d3stats rank` computes",
)
def ranking() -> Figure:
    rng = np.random.default_rng(3)
    names = np.array(["model A", "model B", "model C", "model D", "model E"])
    rating, question = np.array([0.8, 0.6, 0.0, -0.5, -0.9]), np.repeat(np.arange(60), 20)
    own = rating + 0.5 * rng.standard_normal((60, 5))
    first = rng.integers(0, 5, 1200)
    second = (first + rng.integers(1, 5, 1200)) % 5
    lead = own[question, first] - own[question, second] + 0.4 + rng.logistic(size=1200)
    winner = np.where(np.abs(lead) < 0.5, "tie", np.where(lead > 0, "first", "second"))
    columns = {"item": question, "first": names[first], "second": names[second], "winner": winner}
    return rank(pd.DataFrame(columns)).plot().figure


@figure(
    "Share of right votes against the stated confidence, of 2,000 simulated votes on 400 questions that are "
    "overconfident. Bars: where each of ten bins would lie if its votes were calibrated, at 95 %, from the variation "
    "between questions. Lines: what isotonic and Beta recalibration make of a confidence.",
    source="a simulation with a fixed seed; what `d3stats confidence` computes",
)
def reliability() -> Figure:
    rng = np.random.default_rng(1)
    chance = rng.beta(3, 2, size=(400, 5))
    said = pd.DataFrame({"item": np.repeat(range(400), 5), "judge": list("abcde") * 400, "label": "A"})
    said["vote"] = np.where(rng.random(2000) < chance.ravel(), "A", "B")
    said["confidence"] = (0.5 + 0.5 * chance.ravel()).round(2)
    return confidence(said, rng=1).plot().figure


@figure(
    "Where D3's budgeted rule stops 10,000 simulated debates of a courtroom that is calibrated to D3's figures: the "
    "share that stops in each round, and below the round the share that has stopped by its end. The errors are at most "
    ".005, so no intervals are drawn.",
    "simulations/d3_headline/stop_histogram.csv",
    source="study simulations/d3_headline; goes with D3, figure 4",
)
def d3_stop_histogram() -> Figure:
    return plotting.plot_stop_histogram(read("simulations/d3_headline/stop_histogram.csv")).figure


@figure(
    "Mean gap between the judge's scores of the better and the worse answer over the rounds, by kind of "
    "question, in 10,000 simulated debates of the same courtroom. Diamonds mark the median stop, the thin lines what "
    "further rounds would have shown; bands are 95 % normal intervals of the mean.",
    "simulations/d3_headline/gap_trajectories.csv",
    source="study simulations/d3_headline; goes with D3, figure 5",
)
def d3_gap_trajectories() -> Figure:
    frame = read("simulations/d3_headline/gap_trajectories.csv").assign(
        level=0.95, kind="normal, of the mean"
    )
    return plotting.plot_gap_trajectories(frame).figure


@figure(
    "Accuracy of juries with and without personas by kind of question, in a simulated courtroom of 480 questions whose "
    "personas help on four kinds and not on coding and math. Left is the difference, raw with 95 % cluster t intervals "
    "and shrunken with equal-tailed posterior ones; right are the accuracies with 95 % cluster Wilson intervals, or "
    "Clopper-Pearson ones where few verdicts are wrong.",
    source="computed from a synthetic world with a fixed seed; goes with D3, figure 2",
)
def persona_strata() -> Figure:
    kinds, n, seed = [category.name for category in Courtroom().categories], 480, 11
    lift = tuple(0.0 if kind in ("coding", "math") else 1.5 for kind in kinds)
    jurors = tuple(JurorPersona(f"persona {k}", by_category=lift) for k in range(1, 6))
    worlds = {"without personas": Courtroom(plain_diversity=0.0), "with personas": Courtroom(personas=jurors)}
    plain, persona = (simulate_debates(world, n, 5, rng=seed) for world in worlds.values())
    of_debate = courtroom_items(worlds["without personas"], n, seed).set_index("debate")["category"]
    found = compare(plain, persona, names=list(worlds), strata=of_debate, rng=0)
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.1), layout="constrained", sharey=True)
    table = strata_tables(found.strata)["strata"]
    of_runs = table["quantity"].isin(worlds)
    plotting.plot_strata(table[~of_runs], xlabel="accuracy gained with personas", ax=axes[0])
    plotting.plot_strata(table[of_runs], xlabel="accuracy", ax=axes[1])
    axes[1].set_xticks([0.6, 0.7, 0.8, 0.9, 1.0])
    # Otherwise the last number of one axis touches the first of the other.
    fig.get_layout_engine().set(wspace=0.06)
    return fig


@figure(
    "Tokens and accuracy of a choice between two protocols by the judge's gap, planned on 500 debates of a simulated "
    "courtroom to lose at most .02 of accuracy; numbers are thresholds in points, bars 95 % intervals over questions. "
    "The ring is what to play; the broken line, and as its star the cheapest threshold that loses at most .02, are "
    "those of 100,000 debates of that world, up to .001.",
    source="computed from a synthetic world with a fixed seed, whose first round shows half of the difference; goes "
    "with D3, section 5.5",
)
def protocol_choice() -> Figure:
    thresholds, max_loss = [30, 15, 10, 8, 6, 5, 4, 3, 2, 1, 0], 0.02

    def planned(n: int, seed: int) -> Any:
        more = simulate_debates(Courtroom(protocol="more", hidden=0.5), n_debates=n, n_rounds=1, rng=seed)
        samre = simulate_debates(Courtroom(run=1, hidden=0.5), n_debates=n, n_rounds=4, rng=seed)
        return escalate(more, samre, max_loss_vs_second=max_loss, thresholds=thresholds)

    truth = planned(100_000, 1).table
    best = truth.loc[truth["loss"] <= max_loss, "threshold"].min()
    truth = truth[["threshold", "tokens", "accuracy"]].assign(chosen=truth["threshold"] == best)
    return planned(500, 7).plot(truth=truth).figure


@figure(
    "D3's three measures of rationales in five public logs (200 to 8,142 rationales on 40 to 200 questions), with 95 % "
    "intervals over questions: who cites the debate, how alike its rationales are, and how many disagreements have an "
    "axis. A short line is the cosine across questions, or the share with an axis by chance. Most citations of the "
    'GSM8K agents and of the small models are a phrase of the prompt ("other agents").',
    "analysis/rationales/measures.csv",
    source="study analysis/rationales; goes with D3, section 5.8",
)
def rationale_measures() -> Figure:
    table = read("analysis/rationales/measures.csv").assign(level=0.95, kind="over questions")
    # Words that are joined by a space without a break stay in one line.
    when = {number: f"round\N{NO-BREAK SPACE}{number}" for number in table["round"]}
    when["last"] = "last\N{NO-BREAK SPACE}round"
    parts = table.groupby(["log", "round"], sort=False)
    frame = rationale_strata({f"{log}, {when[number]}": part for (log, number), part in parts})
    beside = "across questions, by chance"
    return plotting.plot_strata(frame, xlabel="share, or mean cosine", reference=beside).figure


def draw_protocols(panels: dict[str, str], heights: Iterable[int]) -> Figure:
    """Draw the schematics of protocols, two in a row, with one legend; heights are lines per row."""
    rows = list(heights)
    fig, axes = plt.subplots(
        len(rows),
        2,
        figsize=(TWO_COLUMNS, 0.5 + sum(0.55 + 0.21 * lines for lines in rows)),
        height_ratios=rows,
        layout="constrained",
        squeeze=False,
    )
    for ax, (title, text) in zip(axes.flat, panels.items(), strict=True):
        schematic(text).plot(ax=ax).set_title(title, pad=14)
    one_legend(fig, axes.flat)
    return fig


@figure(
    "Order of speakers (left to right) and readers of each message in D3's two protocols, found by playing them. "
    "An arrow runs from a message to its reader, and from those who decide to the verdict; five jurors share a line.",
    source="the protocols of d3stats, played with a synthetic agent; goes with D3, figure 1",
)
def protocols_d3() -> Figure:
    return draw_protocols({"MORE, one round": "more", "SAMRE, 2 of at most 5 rounds": "samre"}, [10])


@figure(
    "Order of speakers (left to right) and readers of each message in the advocates paper, found by playing its "
    "protocols. In SAMRE the judge's feedback goes back to both advocates, who read it before they speak again; in "
    "MORE no advocate does.",
    source="the protocols of d3stats, played with a synthetic agent; goes with the advocates paper, figure 1",
)
def protocols_advocates() -> Figure:
    panels = {"MORE, one round": "more_advocates", "SAMRE, 2 of at most 4 rounds": "samre_advocates"}
    return draw_protocols(panels, [7])


@figure(
    "A single judge, and who reads whom in ChatEval's three orders of communication, with three referees and two "
    "rounds. A grey arrow is a message that its reader has read before.",
    source="the protocols of d3stats, played with a synthetic agent; goes with ChatEval, figures 1 and 2",
)
def protocols_chateval() -> Figure:
    panels = {
        "a single judge": "single_judge",
        "one by one": "chateval",
        "simultaneous": "chateval:communication=simultaneous",
        "simultaneous with summarizer": "chateval:communication=simultaneous_with_summarizer",
    }
    return draw_protocols(panels, [3, 4])


@figure(
    "Readers of each message in the four networks of Exchange-of-Thought, two of at most six rounds: each solver reads "
    "its own solution and those of its neighbours. The plurality of the last round decides.",
    source="the protocols of d3stats, played with a synthetic agent; the networks are those of Yin et al. (2023)",
)
def protocols_eot() -> Figure:
    panels = {
        "memory (bus)": "memory",
        "report (star)": "report",
        "relay (ring)": "relay",
        "debate (tree)": "debate",
    }
    return draw_protocols(
        {title: f"eot_network:communication={how}" for title, how in panels.items()}, [3, 3]
    )


@figure(
    "Four more debates, two rounds each: an angel, a devil and a moderator; two leaves and a synthesizer; recruited "
    "experts; and a panel of seven judges. A broken arrow marks the answer that counts if the deciding one is missing.",
    source="the protocols of d3stats, played with a synthetic agent; the works are named by each protocol's citation",
)
def protocols_debates() -> Figure:
    panels = {
        "Multi-Persona": "multi_persona",
        "Exchange-of-Thought with a synthesizer": "eot",
        "AgentVerse": "agentverse",
        "stability debate": "stability",
    }
    return draw_protocols(panels, [3, 7])


@figure(
    "Protocols of few words: a majority of five, ChatEval on questions, and the two protocols of PRD. In ChatEval on "
    "questions the marks of round 2 choose among the answers of round 1, so both lead to the verdict.",
    source="the protocols of d3stats, played with a synthetic agent; the works are named by each protocol's citation",
)
def protocols_reviews() -> Figure:
    panels = {
        "majority of five": "majority",
        "ChatEval on questions": "chateval_open",
        "peer rank": "peer_rank",
        "peer discussion": "peer_discussion",
    }
    return draw_protocols(panels, [3, 2])


def data_hash(entry: Entry) -> str:
    """Return the hash of the files that a figure is drawn from."""
    return digest(ROOT / name for name in entry.data)


def code_hash(entry: Entry) -> str:
    """Return the hash of a figure's code: functions of this file, and files of the package."""
    functions, modules = called(entry.draw)
    own = "\n".join(map(body, functions))
    files = code_files(modules)
    beside = [path for path in files if path.suffix in BESIDE]
    code = [without_words(path.read_text(encoding="utf-8")) for path in files if path.suffix not in BESIDE]
    return digest(beside, "\n".join([own, *code]))


def body(function: FunctionType) -> str:
    """Return the code of a function of this file without its decorator, which holds the caption."""
    tree = ast.parse(inspect.getsource(function))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    return written(Plain().visit(tree))


@cache
def without_words(source: str) -> str:
    r"""Return code in one form, without comments, docstrings, the texts of errors, and what only type checkers read.

    The form is the same under every version of Python.

    Examples
    --------
    >>> without_words("2 * x  # twice\\n")
    "Module(body=[Expr(value=BinOp(left=Constant(value=2),op=Mult(),right=Name(ctx=Load(),id='x')))])"
    """
    return written(Plain().visit(ast.parse(source)))


def written(node: Any) -> str:
    """Return a syntax tree as text that does not depend on the version of Python.

    `ast.unparse` and `ast.dump` do: newer versions quote formatted strings otherwise, know more fields, and leave out
    those that are empty. Here empty fields are always left out, and neighbouring texts of a formatted string are one.
    """
    if isinstance(node, ast.Constant):
        # Which letters `repr` shows as they are depends on the version of Unicode.
        return f"Constant(value={node.value!a})"
    if isinstance(node, ast.AST):
        fields = {name: getattr(node, name, None) for name in sorted(node._fields) if name != "type_comment"}
        if isinstance(node, ast.JoinedStr):
            fields["values"] = joined(node.values)
        shown = [f"{name}={written(value)}" for name, value in fields.items() if value not in (None, [])]
        return f"{type(node).__name__}({','.join(shown)})"
    if isinstance(node, list):
        return f"[{','.join(map(written, node))}]"
    return ascii(node)


def joined(values: list[ast.expr]) -> list[ast.expr]:
    """Return the parts of a formatted string with neighbouring texts put together and empty ones left out."""
    found: list[ast.expr] = []
    for value in values:
        before = found[-1] if found else None
        if isinstance(value, ast.Constant) and isinstance(before, ast.Constant):
            found[-1] = ast.Constant(f"{before.value}{value.value}")
        elif not (isinstance(value, ast.Constant) and value.value == ""):
            found.append(value)
    return found


class Plain(ast.NodeTransformer):
    """Take out of code what people or type checkers read and no figure shows."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        # A text that stands alone is a docstring.
        alone = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if alone else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        return ast.Raise()

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        checked = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return [self.visit(each) for each in node.orelse] if checked else self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        # A body that held a docstring alone.
        if getattr(node, "body", None) == [] and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node


def called(draw: Callable[..., Any]) -> tuple[list[FunctionType], set[str]]:
    """Return a function with the functions of this file that it calls, and the modules of d3stats that these name."""
    waiting, functions, modules = [inspect.unwrap(draw)], list[FunctionType](), set[str]()
    while waiting:
        function = waiting.pop()
        if not isinstance(function, FunctionType) or function in functions:
            continue
        functions.append(function)
        for name in names_in(function.__code__):
            value = globals().get(name)
            home = (
                value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
            )
            if home == function.__module__:
                waiting.append(inspect.unwrap(value))
            elif home.split(".")[0] == "d3stats":
                modules.add(home)
    # Names come in any order.
    return sorted(functions, key=lambda one: one.__name__), modules


def names_in(code: CodeType) -> set[str]:
    """Return the names in a function, in what is defined within it too."""
    inner = (names_in(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


BESIDE = {".toml", ".mplstyle"}


def code_files(modules: Iterable[str]) -> list[Path]:
    """Return the files of modules and of all that they import, with the tables and styles beside them."""
    waiting, found = list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imported(name)
    paths = {package()[name] for name in found}
    folders = {path.parent for path in paths}
    return sorted(paths | {path for folder in folders for path in folder.iterdir() if path.suffix in BESIDE})


@cache
def package() -> dict[str, Path]:
    """Return the file of every module of d3stats."""
    paths = {}
    for path in sorted((ROOT / "d3stats").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@cache
def imported(name: str) -> frozenset[str]:
    """Return the modules of d3stats that a module imports, or finds by their folder's name."""
    # The package's own list of names leads to everything, so it says nothing of what a module uses.
    if name == "d3stats":
        return frozenset()
    paths, found = package(), set[str]()
    # What only type checkers import never runs.
    for node in ast.walk(Plain().visit(ast.parse(paths[name].read_text(encoding="utf-8")))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            deep = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {one if one in paths else node.module for one in deep}
        elif isinstance(node, ast.Constant) and node.value in paths and node.value != "d3stats":
            # A folder whose modules are found by their names: all of them.
            found |= {one for one in paths if one.startswith(f"{node.value}.")}
    return frozenset(found & set(paths))


def digest(paths: Iterable[Path], text: str = "") -> str:
    """Return the SHA-256 of files, and of a text, in hexadecimal digits."""
    found = hashlib.sha256(text.encode())
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()


def make(names: Iterable[str] = (), *, everything: bool = False, folder: Path = HERE) -> list[str]:
    """Draw the figures with these names, or all, or what has changed; return the names of those drawn.

    The manifest of the folder is written again: name, caption, data and hashes of each figure. A caption alone changes
    there without a new drawing. A line says which figure is being drawn.
    """
    manifest = folder / "manifest.toml"
    rows = tomllib.loads(manifest.read_text(encoding="utf-8"))["figure"] if manifest.exists() else []
    before = {row["name"]: row for row in rows}
    drawn, wanted = [], list(names)
    for name, entry in FIGURES.items():
        row: dict[str, Any] = {"name": name, "caption": entry.caption, "source": entry.source}
        row["data"] = list(entry.data)
        row |= {"data_sha256": data_hash(entry), "code_sha256": code_hash(entry)}
        known = before.get(name, {})
        stale = any(known.get(key) != row[key] for key in ("data", "data_sha256", "code_sha256"))
        stale = stale or not all((folder / f"{name}.{kind}").exists() for kind in ("pdf", "png"))
        if everything or name in wanted or (stale and not wanted):
            print(f"drawing {name} ...", file=sys.stderr, flush=True)
            with plotting.use_style():
                plotting.save(entry.draw(), folder / name)
            plt.close("all")
            drawn.append(name)
        if name in drawn or not (stale or wanted):
            before[name] = row
    parts = ["# Made by make_figures.py.\n"]
    for name in (name for name in FIGURES if name in before):
        # Strings and lists of JSON are those of TOML.
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in before[name].items()]
        parts.append("\n[[figure]]\n" + "".join(lines))
    manifest.write_text("".join(parts), encoding="utf-8")
    return drawn


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="figures to make; by default those that have changed")
    parser.add_argument("--all", action="store_true", help="make every figure")
    given = parser.parse_args()
    mpl.use("agg")
    drawn = make(given.names, everything=given.all)
    print(f"{len(drawn)} of {len(FIGURES)} figures drawn" if drawn else "nothing has changed")
