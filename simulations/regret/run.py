"""How far is each stopping rule from the exact optimum, over a grid of worlds? No verdict is drawn at random.

Run: python simulations/regret/run.py [-o FOLDER]

Writes ``regret.csv``: a row for each price and world, a column for each rule. The regret of a rule is
P(wrong verdict) + price x expected cost, minus the same of the best policy on counts, which knows the world.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.models.chains.optimum import solve
from d3stats.models.chains.process import CountProcess
from d3stats.planning.exact import ExactResult, evaluate
from d3stats.planning.plan import plan
from d3stats.stopping import Ladder, LookAhead, StoppingRule, from_text
from d3stats.worlds import PanelWorld, count_process, from_table, simulate_debates
from d3stats.worlds.tokens import round_tokens

HERE = Path(__file__).resolve().parent
PRICED, BEST_LADDER, PLAN = "look_ahead at the price", "best ladder", "plan of 50"


def worlds_of(config: Mapping[str, Any]) -> Iterator[tuple[str, PanelWorld]]:
    """Yield the worlds and their names: those written out, then the grid."""
    for table in config["worlds"]:
        parameters = {key: value for key, value in table.items() if key != "label"}
        yield table["label"], from_table({**parameters, "panel": config["panel"]})
    grid = config["grid"]
    axes = (grid["stubbornness"], grid["conformity"], grid["shared_sd"])
    for (label, difficulties), (stubborn, pull, shared) in product(
        grid["difficulties"].items(), product(*axes)
    ):
        name = f"{label} s{stubborn:g} c{pull:g} e{shared:g}".replace("0.", ".")
        yield (
            name,
            from_table(
                {
                    "name": "conformity",
                    "panel": config["panel"],
                    "difficulties": difficulties,
                    "stubbornness": stubborn,
                    "conformity": pull,
                    "shared_sd": shared,
                    "shared_points": grid["shared_points"] if shared else 1,
                }
            ),
        )


def prices_of(config: Mapping[str, Any], world: PanelWorld) -> dict[str, np.ndarray]:
    """Return the price of each round in wrong verdicts, by the name of the price."""
    n = config["n_rounds"]
    tokens = np.add(*round_tokens(world.lengths, world.panel, n))
    return {
        price["name"]: np.full(n, price["per_round"]) if "per_round" in price else price["per_token"] * tokens
        for price in config["prices"]
    }


def ladders(steps: Sequence[int], n_rounds: int) -> list[StoppingRule]:
    """Return every falling ladder with these steps that ends by the last round."""
    falling = combinations_with_replacement(sorted(steps, reverse=True), n_rounds - 1)
    return [Ladder("-".join(map(str, (*rungs, min(steps))))) for rungs in falling]


def value(result: ExactResult, price: np.ndarray) -> float:
    """Return P(wrong) plus the expected price of the rounds."""
    return float(1 - result.accuracy + (result.stops * np.cumsum(price)).sum())


def planned(config: Mapping[str, Any], world: PanelWorld, process: CountProcess) -> list[ExactResult]:
    """Return what the plans of some pilots would do in their world, exactly."""
    settings = config["plan"]
    results = []
    for i in range(settings["pilots"]):
        pilot = simulate_debates(world, settings["debates"], config["n_rounds"], rng=settings["seed"] + i)
        results.append(evaluate(process, plan(pilot, limit=False, rng=settings["seed"] + i).rule))
    return results


def study(config: Mapping[str, Any], only: Sequence[str] = (), with_plan: bool = True) -> pd.DataFrame:
    """Return one row per price and world.

    Returns
    -------
    DataFrame
        ``price, world, optimum`` (its value), ``gap`` (how much less any policy could still have, 0 where the
        programme is exact), ``rounds`` and ``accuracy`` of the optimum, ``posterior`` (what the optimum would
        gain by committing to the likelier answer and not to the round's plurality), then a column of regret
        for each rule.
    """
    rules = [from_text(text) for text in config["rules"]["texts"]]
    family = ladders(config["rules"]["ladder_steps"], config["n_rounds"])
    rows = []
    for name, world in worlds_of(config):
        if only and name not in only:
            continue
        process = count_process(world, config["n_rounds"])
        played = {text: evaluate(process, r) for text, r in zip(config["rules"]["texts"], rules, strict=True)}
        climbed = [evaluate(process, rule) for rule in family]
        from_pilots = planned(config, world, process) if with_plan else []
        for price_name, price in prices_of(config, world).items():
            best = solve(process, price)
            least = float(best.value)
            row = {
                "price": price_name,
                "world": name,
                "optimum": least,
                "gap": least - float(best.lower),
                "rounds": float(best.rounds),
                "accuracy": 1 - float(best.expected_loss),
                "posterior": least - float(solve(process, price, verdict="posterior").value),
            }
            row |= {text: value(result, price) - least for text, result in played.items()}
            priced = LookAhead(3, p=0.7, cost=float(price[1:].mean()))
            row[PRICED] = value(evaluate(process, priced), price) - least
            row[BEST_LADDER] = min(value(result, price) for result in climbed) - least
            if from_pilots:
                row[PLAN] = float(np.mean([value(result, price) for result in from_pilots])) - least
            rows.append(row)
    return pd.DataFrame(rows)


def rules_in(table: pd.DataFrame) -> list[str]:
    """Return the columns that hold a regret."""
    return list(table.columns[table.columns.get_loc("posterior") + 1 :])


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per rule: its mean regret over the worlds at each price, then its largest at each price."""
    long = table.melt(["price", "world"], rules_in(table), "rule", "regret")
    prices = list(dict.fromkeys(table["price"]))
    means, worst = (
        long.pivot_table("regret", "rule", "price", aggfunc=how, sort=False)[prices]
        for how in ("mean", "max")
    )
    return means.add_prefix("mean, ").join(worst.add_prefix("worst, ")).reset_index()


def markdown(frame: pd.DataFrame) -> str:
    """Return a table for the findings, three decimals each."""
    rows = [list(frame.columns), ["---"] * frame.shape[1]]
    rows += [[row[0], *(f"{value:.3f}" for value in row[1:])] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Write the table and print its summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE)
    folder = parser.parse_args().output
    table = study(tomllib.loads((HERE / "config.toml").read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    # Regrets of rules that are the optimum come out as the last bit of a sum.
    table.round(5).replace(-0.0, 0.0).to_csv(folder / "regret.csv", index=False, float_format="%g")
    print(markdown(summary(table)))


if __name__ == "__main__":
    main()
