"""Make every figure of this folder from the data that d3stats ships: `make figures`.

The same data give the same bytes, so a figure that changes in version control has changed in what it shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import d3stats
from d3stats.datasets import load_slm7
from d3stats.inference.bias import position_table
from d3stats.models.bayes.mixture import fit_mixture
from d3stats.models.chains.optimum import frontier
from d3stats.models.gaps.beta import contraction_table
from d3stats.models.mixtures.rounds import rounds_drift
from d3stats.models.separation.best_of_k import phase_table
from d3stats.models.separation.excess import excess_wealth_table, gain_table
from d3stats.models.separation.laws import beta, exponential, uniform
from d3stats.planning.exact import evaluate
from d3stats.planning.plan import plan
from d3stats.plotting import (
    TWO_COLUMNS,
    draw_overview,
    plot_agreement,
    plot_counts_by_round,
    plot_excess_wealth,
    plot_forest,
    plot_frontier,
    plot_gap_contraction,
    plot_gap_trajectories,
    plot_interval_coverage,
    plot_jury_curve,
    plot_ks_series,
    plot_martingale_drift,
    plot_phase_map,
    plot_plan_fan,
    plot_position_bias,
    plot_protocol_frontier,
    plot_regret_map,
    plot_stop_histogram,
    plot_stop_rounds,
    save,
    use_style,
)
from d3stats.stopping import from_text
from d3stats.worlds import Conformity, count_process, round_tokens, simulate

HERE = Path(__file__).resolve().parent
SEED = 20251
WORLD = Conformity(conformity=1.0, stubbornness=0.3)
ROUNDS = 6


def frontier_tables(n_debates: int = 50_000) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rules by thousand tokens and accuracy, and the limit of the world, all exact.

    The intervals are where 95 % of samples of `n_debates` debates lie.
    """
    names = ["fixed:1", "fixed:2", "supermajority:0.7", "sprt:0.7", "supermajority:0.85"]
    names += ["adaptive_consistency:0.95", "unanimity"]
    process, tokens = count_process(WORLD, ROUNDS), np.add(*round_tokens(WORLD.lengths, WORLD.panel, ROUNDS))
    spent = np.cumsum(tokens) / 1000
    rows = []
    for name in names:
        result = evaluate(process, from_text(name))
        stops, right = result.stops.astype(float), float(result.accuracy)
        cost = float(stops @ spent)
        row: dict[str, object] = {"rule": name}
        spreads = {"cost": (cost, stops @ (spent - cost) ** 2), "kept": (right, right * (1 - right))}
        for measure, (mean, variance) in spreads.items():
            half = 1.96 * np.sqrt(variance / n_debates)
            row |= {measure: mean, f"{measure}_low": mean - half, f"{measure}_high": mean + half}
        rows.append(row)
    points = pd.DataFrame(rows)
    corners = frontier(process, [0.0, *np.geomspace(1e-9, 1e-4, 30)], tokens=tokens)
    limit = pd.DataFrame({"cost": corners["tokens"] / 1000, "kept": 1 - corners["loss"]}).drop_duplicates()
    # Beyond the most accurate policy nothing is gained, at any price.
    flat = pd.DataFrame({"cost": [points["cost"].max()], "kept": [limit["kept"].max()]})
    return points, pd.concat([limit, flat], ignore_index=True)


def regret_table(price: str = "round .01") -> pd.DataFrame:
    """Return regrets of the study `simulations/regret`: the worlds apart from the grid, and a part of the grid."""
    table = pd.read_csv(HERE.parent / "simulations" / "regret" / "regret.csv")
    grid = [
        f"{kind} s{s} c{c} e1" for kind in ("easy", "mixed", "hard") for s in (".2", ".8") for c in (0, 3)
    ]
    rows = (
        table[table["price"] == price].set_index("world").loc[["voter .65", "echo .65", "fresh votes", *grid]]
    )
    rules = [name for name in rows.columns[rows.columns.get_loc("posterior") + 1 :] if name != "betting:0.05"]
    return rows[rules].reset_index().melt("world", var_name="rule", value_name="regret")


def draw_protocol_frontier() -> Figure:
    """Draw what protocols cost and how often they are right, from the study `simulations/protocol_comparison`.

    Two of its worlds, which differ in how much bare answers hide and how far arguments mislead. A debate without a
    decision counts half; of protocols with the same cost and the same verdicts the first is drawn.
    """
    folder = HERE.parent / "simulations" / "protocol_comparison"
    table = pd.read_csv(folder / "frontier.csv")
    worlds = {"a fifth hidden": "2,000", "half hidden, arguments mislead little": "1,000"}
    fig, axes = plt.subplots(len(worlds), 1, figsize=(TWO_COLUMNS, 7.6), layout="constrained", sharex=True)
    money = ["cost", "cost_low", "cost_high"]
    for ax, (world, items) in zip(axes, worlds.items(), strict=True):
        rows = table[(table["world"] == world) & (table["counted"] == "half")]
        rows = rows.drop_duplicates(["cost", "accuracy"])
        rows = rows.assign(label=rows["protocol"], **{name: 1000 * rows[name] for name in money})
        rows = rows.assign(level=0.95, kind="cluster intervals")
        ax.set_title(f"{world} ({items} items)")
        plot_protocol_frontier(rows, cost_label="dollars per 1,000 debates, made-up prices", ax=ax)
        ax.set_ylabel("right verdicts, no decision as half")
        # The panels share an axis that the later one may widen.
        steps = next(line for line in ax.lines if line.get_label() == "efficient frontier")
        steps.set_xdata([*steps.get_xdata()[:-1], 1e3])
    axes[0].set_xlabel("")
    return fig


def draw_excess_wealth() -> Figure:
    """Draw three pairs of which the first dominates: more advocates widen the mean gap for every, some and no k."""
    pairs = [
        ("Exp mean 3", exponential(3), "Exp mean 1", exponential(1)),
        ("Beta(1, 2)", beta(1, 2), "Beta(½, 2)", beta(0.5, 2)),
        ("U(½, 1)", uniform(0.5, 1), "U(0, 1)", uniform()),
    ]
    fig, axes = plt.subplots(1, 3, figsize=(TWO_COLUMNS, 2.3), layout="constrained")
    for ax, (one, first, two, second) in zip(axes, pairs, strict=True):
        gains = gain_table(first, second, range(2, 101))
        plot_excess_wealth(
            excess_wealth_table(first, second), gains, first_label=one, second_label=two, ax=ax
        )
    for ax in axes[1:]:
        ax.set_ylabel("")
    return fig


def draw_separation_phases(k: int = 5) -> Figure:
    """Draw what `k` advocates a side change over one, for two families with scores that have a ceiling."""
    floors, ceilings, shapes = (
        np.linspace(0.0125, 0.9875, 40),
        np.linspace(0, 1, 41),
        np.linspace(0.5, 10, 39),
    )
    maps = {
        f"U(c, 1) against U(0, 1 + s), k = {k}": phase_table(
            lambda c, s: (uniform(c, 1), uniform(0, 1 + s)),
            {"floor c": floors, "extra ceiling s": ceilings},
            k,
        ),
        f"Beta(a, b) against Beta(2, 2), k = {k}": phase_table(
            lambda a, b: (beta(a, b), beta(2, 2)), {"a": shapes, "b": shapes}, k
        ),
    }
    fig, axes = plt.subplots(1, len(maps), figsize=(TWO_COLUMNS, 3.2), layout="constrained")
    for ax, (title, table) in zip(axes, maps.items(), strict=True):
        plot_phase_map(table, title=title, ax=ax)
    return fig


def draw_gap_contraction(eps: float = 0.4) -> Figure:
    """Draw D3's bound beside the truth: a gap that always grows, and one that grows in half of the rounds."""
    rounds = np.arange(1, 61)
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 2.8), layout="constrained", sharey=True)
    cases = {"the gap grows in every round": rounds, "the gap grows in every second round": rounds // 2}
    named: dict[str, Any] = {}
    for ax, (title, successes) in zip(axes, cases.items(), strict=True):
        plot_gap_contraction(contraction_table(successes, rounds, eps), ax=ax)
        ax.set_title(title)
        handles, labels = ax.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
        ax.get_legend().remove()
    axes[1].set_ylabel("")
    fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=3)
    return fig


def draw_martingale_drift() -> Figure:
    """Draw the drift of real logs by where the panel stands, from the tables of `analysis/martingale`."""
    found = pd.read_csv(HERE.parent / "analysis" / "martingale" / "conditional.csv")
    frame = found.rename(columns={"log": "group"})
    picked = frame["group"].str.contains("majority wrong|critic")
    fig, axes = plt.subplots(1, 2, figsize=(TWO_COLUMNS, 3.2), layout="constrained", sharey=True)
    for ax, which, title in (
        (axes[0], ~picked, "questions not picked"),
        (axes[1], picked, "questions picked for a wrong majority"),
    ):
        plot_martingale_drift(frame[which], ax=ax)
        ax.set_title(title)
    axes[0].set_ylim(-0.42, 0.42)
    axes[1].set_ylabel("")
    return fig


def draw_position_bias() -> Figure:
    """Draw LLMBar's judges with a plain prompt and PRD's reviewers, from the tables of `analysis/judge_bias`."""
    found = pd.read_csv(HERE.parent / "analysis" / "judge_bias" / "position.csv")
    plain = found["judge"].str.endswith(", Vanilla") | (found["source"] == "PRD")
    rows = found[plain].assign(judge=lambda d: d["source"] + ": " + d["judge"].str.removesuffix(", Vanilla"))
    return plot_position_bias(position_table(rows.assign(level=0.95))).figure


def draw_forest_debate_or_vote() -> Figure:
    """Draw what the last vote gains over the first in real logs, from the table of `analysis/debate_or_vote`."""
    found = pd.read_csv(HERE.parent / "analysis" / "debate_or_vote" / "debate_or_vote.csv")
    frame = found.rename(columns={"log": "label", "gain": "difference"})
    frame["group"] = np.where(frame["picked"] == "yes", "picked for a wrong majority", "questions not picked")
    frame["level"], frame["kind"] = 0.95, "cluster t"
    fig, ax = plt.subplots(figsize=(TWO_COLUMNS, 2.6), layout="constrained")
    plot_forest(frame, margin=0.05, xlabel="accuracy of the last vote less that of the first", ax=ax)
    return fig


def draw_jury_curve() -> Figure:
    """Draw three juries beside independent jurors and the limit, from the tables of `analysis/juries`."""
    found = pd.read_csv(HERE.parent / "analysis" / "juries" / "curves.csv")
    frame = found.assign(level=0.95)
    juries = {
        "PRD, ten reviews": "PRD, ten votes",
        "seven agents before they talk": "slm7, round 1",
        "LLMBar, ten prompts of GPT-4": "LLMBar, GPT-4's prompts",
    }
    fig, axes = plt.subplots(1, 3, figsize=(TWO_COLUMNS, 2.7), layout="constrained", sharey=True)
    for ax, (title, jury) in zip(axes, juries.items(), strict=True):
        plot_jury_curve(frame[frame["jury"] == jury], ax=ax)
        ax.set_title(title)
        handles, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
    for ax in axes[1:]:
        ax.set_ylabel("")
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    return fig


def draw_judge_agreement() -> Figure:
    """Draw the kappas of judges and of humans on three sets of judgments, from the tables of `analysis/judges`."""
    found = pd.read_csv(HERE.parent / "analysis" / "judges" / "kappas.csv")
    of_humans = found["group"] == "PandaLM, two humans"
    found["name"] = found["name"].where(~of_humans, "humans " + found["name"])
    found["level"], found["kind"] = 0.95, "cluster t"
    ax = plot_agreement(found[["name", "value", "low", "high", "group", "level", "kind"]])
    ax.figure.set_size_inches(TWO_COLUMNS * 0.75, 0.8 + 0.19 * len(found))
    return ax.figure


def draw_interval_coverage() -> Figure:
    """Draw how often 95 % intervals of clustered data cover, from the tables of `simulations/interval_coverage`."""
    found = pd.read_csv(HERE.parent / "simulations" / "interval_coverage" / "coverage.csv")
    found = found[found["clusters"] == found["clusters"].max()]
    fig, axes = plt.subplots(1, 4, figsize=(TWO_COLUMNS, 2.5), layout="constrained", sharex=True, sharey=True)
    for ax, (name, part) in zip(axes, found.groupby("statistic", sort=False), strict=True):
        plot_interval_coverage(part, ax=ax)
        ax.set_title(str(name))
        ax.set_xlabel("coverage")
        handles, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)
    return fig


def main() -> None:
    """Draw and save."""
    mpl.use("agg")
    debates = load_slm7()
    # Unread votes count as not correct here, as in the published counts; then every debate has seven votes.
    fit = d3stats.fit_rounds(debates.counts("wrong"))
    shares = fit.count_shares(rng=SEED)
    drift = rounds_drift(*debates.successes_trials("wrong"), debates.cluster, fit=fit, rng=SEED)
    distances = drift.ks()
    stops = d3stats.replay(
        debates, ["fixed:1", "fixed:2", "unanimity", "ks:0.05"], n_boot=2, rng=SEED
    ).stops()
    pilot = simulate(Conformity(), n_debates=50, n_rounds=8, rng=7)
    fan = plan(pilot, price=1.0, limit=False, rng=1).fan()
    points, limit = frontier_tables()
    with use_style():
        save(plot_frontier(points, limit, cost_label="thousand tokens per debate").figure, HERE / "frontier")
        save(plot_regret_map(regret_table()).figure, HERE / "regret_map")
        save(plot_plan_fan(fan).figure, HERE / "plan_fan")
        save(draw_separation_phases(), HERE / "separation_phase_map")
        save(draw_protocol_frontier(), HERE / "protocol_frontier")
        save(draw_excess_wealth(), HERE / "excess_wealth")
        save(draw_gap_contraction(), HERE / "gap_contraction")
        save(draw_martingale_drift(), HERE / "martingale_drift")
        save(draw_interval_coverage(), HERE / "interval_coverage")
        save(draw_judge_agreement(), HERE / "judge_agreement")
        save(draw_jury_curve(), HERE / "jury_curve")
        save(draw_forest_debate_or_vote(), HERE / "forest_debate_or_vote")
        save(draw_position_bias(), HERE / "position_bias")
        headline = HERE.parent / "simulations" / "d3_headline"
        stopped, gaps = (pd.read_csv(headline / f"{x}.csv") for x in ("stop_histogram", "gap_trajectories"))
        save(plot_stop_histogram(stopped).figure, HERE / "d3_stop_histogram")
        save(plot_gap_trajectories(gaps).figure, HERE / "d3_gap_trajectories")
        save(plot_counts_by_round(shares)[0].figure, HERE / "slm7_counts_by_round")
        save(plot_ks_series(distances).figure, HERE / "slm7_ks_series")
        save(plot_stop_rounds(stops).figure, HERE / "slm7_stop_rounds")
        save(
            fit_mixture(debates.counts("wrong")[1], draws=1500, rng=SEED).plot().figure,
            HERE / "mixture_posterior",
        )
        save(draw_overview(shares, distances, stops), HERE / "slm7_overview")
        plt.close("all")
    for made in sorted(HERE.glob("*.p[dn][fg]")):
        print(made.name)


if __name__ == "__main__":
    main()
