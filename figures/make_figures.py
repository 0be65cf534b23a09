"""Make the figures of this folder: those whose data or code have changed, or all with `--all`.

The same data give the same bytes, so a figure that changes in version control has changed in what it shows.
`manifest.toml` keeps the name, caption, data and hashes of each; `gallery.py` makes a page of it.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from d3stats import plotting
from d3stats.datasets import load_slm7
from d3stats.inference.bias import position_table
from d3stats.models.bayes.mixture import fit_mixture
from d3stats.models.chains import optimum
from d3stats.models.gaps.beta import contraction_table
from d3stats.models.separation.best_of_k import phase_table
from d3stats.models.separation.excess import excess_wealth_table, gain_table
from d3stats.models.separation.laws import beta, exponential, uniform
from d3stats.planning.describe import describe_rounds
from d3stats.planning.exact import evaluate
from d3stats.planning.plan import plan
from d3stats.planning.replay import replay
from d3stats.plotting import TWO_COLUMNS
from d3stats.stopping import from_text
from d3stats.worlds import Conformity, count_process, round_tokens, simulate

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "figures"
SLM7 = ("d3stats/datasets/slm7.csv", "d3stats/datasets/slm7_questions.csv")


class Entry(NamedTuple):
    """A figure: how it is drawn, its caption, the files of its data, and the folders of code that it hangs on."""

    draw: Callable[[], Figure]
    caption: str
    data: tuple[str, ...]
    code: tuple[str, ...]


FIGURES: dict[str, Entry] = {}


def figure(
    caption: str, *data: str, code: str = "d3stats"
) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Enter the function's figure, under the function's name, into the list of figures.

    Parameters
    ----------
    caption : str
        What is shown, of which data, and how to read it.
    *data : str
        Files that it is drawn from, relative to the root.
    code : str
        Folder of the code that it hangs on besides; a figure of a finished table hangs on the drawings alone.
    """

    def enter(draw: Callable[[], Figure]) -> Callable[[], Figure]:
        FIGURES[draw.__name__] = Entry(draw, caption, data, (code,))
        return draw

    return enter


TABLE = "d3stats/plotting"


@cache
def demo() -> tuple[Any, Any]:
    """Return the report and the replay of `d3stats demo`: a test holds its figure to the one drawn here."""
    log, rules = load_slm7(), ["fixed:1", "fixed:2", "unanimity", "ks:0.05,patience=1", "ks:0.15,patience=1"]
    return describe_rounds(log, rng=0), replay(log, rules, rng=0)


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
    "What `d3stats demo` draws of its log, 160 debates of 7 small language models over 3 rounds: how many "
    "debates had 0 to 7 correct votes, observed (bars), fitted (dots), and where 95 % of samples of the "
    "fitted model fall (lines). Below, how far each round moved from the one before, and where each rule "
    "stops; missing votes are left out.",
    *SLM7,
)
def slm7_overview() -> Figure:
    report, played = demo()
    return report.plot(played.stops(), rng=0)


@figure(
    "Correct votes per debate in each round of the demo's log, without missing votes. The fit misses only "
    "where a grey bar ends outside of the blue line, which holds 95 % of samples of the fitted model.",
    *SLM7,
)
def slm7_counts_by_round() -> Figure:
    report, _ = demo()
    return plotting.plot_counts_by_round(report.fit.count_shares(rng=0))[0].figure


@figure(
    "Kolmogorov-Smirnov distance of each round of the demo's log from the round before, between the counts and "
    "between the fitted mixtures. A distance below its grey bar, the 95 % quantile if nothing drifts, is no "
    "evidence of change.",
    *SLM7,
)
def slm7_ks_series() -> Figure:
    return plotting.plot_ks_series(demo()[0].drift.ks()).figure


@figure(
    "Where each rule would have stopped the debates of the demo's log. The length of a piece is the share of "
    "debates, its number and colour the round, its hatch the reason.",
    *SLM7,
)
def slm7_stop_rounds() -> Figure:
    return plotting.plot_stop_rounds(demo()[1].stops()).figure


@figure(
    "A Bayesian mixture of two Beta-Binomials, fitted to round 1 of the demo's log. Black: posterior mean and "
    "95 % band of the share of debates with 0 to 7 right votes, beside the observed shares; on top: the mean of"
    " each component.",
    *SLM7,
)
def mixture_posterior() -> Figure:
    return fit_mixture(load_slm7().counts()[1], draws=1500, rng=20251).plot().figure


@figure(
    "Accuracy and tokens of stopping rules in a conformity world with 7 agents and up to 6 rounds, and the "
    "limit that no rule passes. All values are exact, so there are no intervals; rules far below the line waste"
    " tokens or verdicts.",
    code="d3stats",
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
    "Regret of stopping rules in 15 synthetic worlds at .01 of a verdict per round: how much worse, in wrong "
    "verdicts and rounds together, each rule does than the best that knows the world. Values are exact to "
    ".001, those of the plan a mean over 5 pilots; light is good.",
    "simulations/regret/regret.csv",
    code=TABLE,
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
    # At this price two columns are those of another rule.
    same = {"betting:0.05": "e_process:0.05", "look_ahead at the price": "look_ahead:3,p=0.7,cost=0.01"}
    assert all(rows[one].equals(rows[other]) for one, other in same.items())
    names = {
        "full": "all 6 rounds",
        "look_ahead:3,p=0.7,cost=0.01": "look_ahead:3 (p = 0.7)",
        "best ladder": "best thresholds, told the world",
        "plan of 50": "d3stats plan, pilot of 50",
    }
    rows = rows[[rule for rule in rules if rule not in same]].rename(columns=names)
    frame = rows.reset_index().melt("world", var_name="rule", value_name="regret")
    return plotting.plot_regret_map(frame, label="regret, share of a verdict").figure


@figure(
    "What up to 1,000 new debates will cost under the rule that `plan` recommends from a simulated pilot of "
    "50 debates, and under unanimity. The bands hold the total with 50, 80 and 95 % probability; where they "
    "lie apart, the saving is larger than chance.",
)
def plan_fan() -> Figure:
    pilot = simulate(Conformity(), n_debates=50, n_rounds=8, rng=7)
    return plotting.plot_plan_fan(plan(pilot, price=1.0, limit=False, rng=1).fan()).figure


@figure(
    "What five advocates a side change over one, for two families of score laws with a ceiling; computed, not"
    " simulated. Green: the expected gap and the chance of the right ranking both grow; red: both fall.",
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
    "Accuracy gained over a single judge against cost in two synthetic worlds (2,000 and 1,000 items); a debate"
    " without a decision counts as half right, and of protocols with the same cost and verdicts the first is "
    "drawn. Bars are 95 % cluster intervals of the paired difference; filled points are not beaten by any "
    "cheaper protocol.",
    "simulations/protocol_comparison/frontier.csv",
    "simulations/protocol_comparison/measures.csv",
    code=TABLE,
)
def protocol_frontier() -> Figure:
    table, measures = (
        read(f"simulations/protocol_comparison/{name}.csv") for name in ("frontier", "measures")
    )
    gains = measures[measures["measure"] == "gain_half"].set_index(["world", "protocol"])[
        ["estimate", "low", "high"]
    ]
    worlds = {"a fifth hidden": "2,000", "half hidden, arguments mislead little": "1,000"}
    fig, axes = plt.subplots(len(worlds), 1, figsize=(TWO_COLUMNS, 7.4), layout="constrained", sharex=True)
    money = ["cost", "cost_low", "cost_high"]
    for ax, (world, items) in zip(axes, worlds.items(), strict=True):
        rows = table[(table["world"] == world) & (table["counted"] == "half")]
        rows = rows.drop_duplicates(["cost", "accuracy"]).set_index("protocol", drop=False).rename_axis(None)
        # The judge itself has no difference, so no interval.
        found = gains.loc[world].reindex(rows.index)
        rows = rows.assign(accuracy=found["estimate"].fillna(0.0), low=found["low"], high=found["high"])
        rows = rows.assign(label=rows["protocol"], level=0.95, kind="cluster t of paired differences")
        rows = rows.assign(**{name: 1000 * rows[name] for name in money})
        ax.set_title(f"{world} ({items} items)", pad=16)
        cost = "dollars per 1,000 debates, made-up prices"
        plotting.plot_protocol_frontier(
            rows, cost_label=cost, reference="a single judge", names="frontier", ax=ax
        )
        # The panels share an axis that the later one may widen.
        steps = next(line for line in ax.lines if line.get_label() == "efficient frontier")
        steps.set_xdata([*steps.get_xdata()[:-1], 1e3])
    axes[0].set_xlabel("")
    return fig


@figure(
    "Excess wealth of three pairs of score laws, computed exactly, where the first dominates the second. More "
    "advocates widen the mean gap for every k where the first curve is above, for no k where it is below, and "
    "for some where they cross.",
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
    "Mean change of the share of correct votes by the next round, by the share before it, in seven real logs."
    " Points on the zero line are what a martingale would do; bars are 95 % cluster t intervals, a bare point"
    " has none, as nobody moved there.",
    "analysis/martingale/conditional.csv",
    code=TABLE,
)
def martingale_drift() -> Figure:
    frame = (
        read("analysis/martingale/conditional.csv")
        .rename(columns={"log": "group"})
        .assign(level=0.95, kind="cluster t")
    )
    picked = frame["group"].str.contains("majority wrong|critic")
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.4), layout="constrained", sharey=True)
    titles = ((~picked, "questions not picked"), (picked, "questions picked for a wrong majority"))
    for ax, (which, title) in zip(axes, titles, strict=True):
        plotting.plot_martingale_drift(frame[which], ax=ax)
        ax.set_title(title)
    axes[0].set_ylim(-0.42, 0.42)
    axes[1].set_ylabel("")
    return fig


@figure(
    "How often 95 % intervals of clustered data hold the truth, in 2,000 simulated sets of 80 clusters for "
    "each point; bars are two Monte Carlo standard errors either way. Good methods stay in the grey band at "
    "every intraclass correlation (ICC); arrows are values below .90.",
    "simulations/interval_coverage/coverage.csv",
    code=TABLE,
)
def interval_coverage() -> Figure:
    found = read("simulations/interval_coverage/coverage.csv")
    found = found[found["clusters"] == found["clusters"].max()]
    fig, axes = plt.subplots(1, 4, figsize=(TWO_COLUMNS, 3.0), layout="constrained", sharex=True, sharey=True)
    for ax, (name, part) in zip(axes, found.groupby("statistic", sort=False), strict=True):
        plotting.plot_interval_coverage(part, zoom=(0.9, 0.98), ax=ax)
        ax.set_title(str(name))
        ax.set_xticks([0.9, 0.94, 0.98])
        ax.set_xlabel("coverage")
    one_legend(fig, axes)
    return fig


@figure(
    "Agreement of judges with the label, the majority or the humans, and of humans with each other, on three "
    "sets of judgments, as kappa with 95 % cluster t intervals. The broken line is what chance alone gives; 1"
    " is perfect agreement.",
    "analysis/judges/kappas.csv",
    code=TABLE,
)
def judge_agreement() -> Figure:
    found = read("analysis/judges/kappas.csv")
    of_humans = found["group"] == "PandaLM, two humans"
    found["name"] = found["name"].where(~of_humans, "humans " + found["name"])
    found["level"], found["kind"] = 0.95, "cluster t"
    ax = plotting.plot_agreement(found[["name", "value", "low", "high", "group", "level", "kind"]])
    ax.figure.set_size_inches(TWO_COLUMNS * 0.75, 0.8 + 0.19 * len(found))
    return ax.figure


@figure(
    "Accuracy of the plurality of k jurors in three real juries, with 95 % intervals (blue), beside independent"
    " jurors of the same accuracies (orange) and the limit of a large panel (green). The distance between blue "
    "and orange is what shared errors cost.",
    "analysis/juries/curves.csv",
    code=TABLE,
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
    "What debate gains over a vote in seven real logs: accuracy of the last round's vote less that of the "
    "first. Bars are 95 % cluster t intervals; differences inside the grey margin of .05 are too small to "
    "matter.",
    "analysis/debate_or_vote/debate_or_vote.csv",
    code=TABLE,
)
def forest_debate_or_vote() -> Figure:
    found = read("analysis/debate_or_vote/debate_or_vote.csv")
    frame = found.rename(columns={"log": "label", "gain": "difference"})
    frame["group"] = np.where(frame["picked"] == "yes", "picked for a wrong majority", "questions not picked")
    frame["level"], frame["kind"] = 0.95, "cluster t"
    fig, ax = plt.subplots(figsize=(TWO_COLUMNS, 2.6), layout="constrained")
    plotting.plot_forest(frame, margin=0.05, xlabel="accuracy of the last vote less that of the first", ax=ax)
    return fig


@figure(
    "Position bias of judges in LLMBar (a plain prompt) and of reviewers in PRD, with 95 % intervals. Blue: "
    "share of pairs with the same winner in both orders, beside what chance alone would give (grey); orange: "
    "share of verdicts for the first slot, one half without bias.",
    "analysis/judge_bias/position.csv",
    code=TABLE,
)
def position_bias() -> Figure:
    found = read("analysis/judge_bias/position.csv").assign(level=0.95)
    found = found[found["judge"].str.endswith(", Vanilla") | (found["source"] == "PRD")]
    found = found.assign(judge=found["judge"].str.removesuffix(", Vanilla"))
    parts = {"LLMBar": 6, "PRD": 5}
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.8), layout="constrained", sharex=True)
    for ax, source in zip(axes, parts, strict=True):
        plotting.plot_position_bias(position_table(found[found["source"] == source]), ax=ax)
        ax.set_title(source)
    one_legend(fig, axes)
    return fig


@figure(
    "Where D3's budgeted rule stops 10,000 simulated debates of a courtroom that is calibrated to D3's figures:"
    " the share that stops in each round (bars) and so far (line).",
    "simulations/d3_headline/stop_histogram.csv",
    code=TABLE,
)
def d3_stop_histogram() -> Figure:
    return plotting.plot_stop_histogram(read("simulations/d3_headline/stop_histogram.csv")).figure


@figure(
    "Mean gap between the judge's scores of the better and the worse answer over the rounds, by kind of "
    "question, in the same simulated courtroom. Diamonds mark the median stop, the thin lines what going on "
    "would have shown; bands are 95 % intervals of the mean.",
    "simulations/d3_headline/gap_trajectories.csv",
    code=TABLE,
)
def d3_gap_trajectories() -> Figure:
    frame = read("simulations/d3_headline/gap_trajectories.csv").assign(
        level=0.95, kind="normal, of the mean"
    )
    return plotting.plot_gap_trajectories(frame).figure


def data_hash(entry: Entry) -> str:
    """Return the hash of the files that a figure is drawn from."""
    return digest(ROOT / name for name in entry.data)


def code_hash(entry: Entry) -> str:
    """Return the hash of a figure's function, of what it calls here, and of the code that it hangs on."""
    called = (globals().get(name) for name in entry.draw.__code__.co_names)
    here = [
        inspect.unwrap(f) for f in called if callable(f) and inspect.getmodule(f) is sys.modules[__name__]
    ]
    sources = "".join(inspect.getsource(f) for f in (entry.draw, *here) if isinstance(f, FunctionType))
    files = (path for folder in entry.code for path in sorted((ROOT / folder).rglob("*")))
    return digest((path for path in files if path.suffix in {".py", ".mplstyle"}), sources)


def digest(paths: Iterable[Path], text: str = "") -> str:
    """Return the SHA-256 of files, and of a text, in hexadecimal digits."""
    found = hashlib.sha256(text.encode())
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()


def make(names: Iterable[str] = (), *, everything: bool = False, folder: Path = HERE) -> list[str]:
    """Draw the figures with these names, or all, or what has changed; return the names of those drawn.

    The manifest of the folder is written anew: name, caption, data and hashes of each figure.
    """
    manifest = folder / "manifest.toml"
    rows = tomllib.loads(manifest.read_text(encoding="utf-8"))["figure"] if manifest.exists() else []
    before = {row["name"]: row for row in rows}
    drawn, wanted = [], list(names)
    for name, entry in FIGURES.items():
        row: dict[str, Any] = {"name": name, "caption": entry.caption, "data": list(entry.data)}
        row |= {"data_sha256": data_hash(entry), "code_sha256": code_hash(entry)}
        stale = before.get(name) != row or not all(
            (folder / f"{name}.{kind}").exists() for kind in ("pdf", "png")
        )
        if everything or name in wanted or (stale and not wanted):
            with plotting.use_style():
                plotting.save(entry.draw(), folder / name)
            plt.close("all")
            before[name] = row
            drawn.append(name)
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
    print("\n".join(make(given.names, everything=given.all)) or "nothing has changed")
