"""What does Wald's test on a judge's score do where its two Beta laws are known, fitted from few items, or wrong?

Run: python simulations/judge_sprt/run.py [-o FOLDER]

Writes ``curves.csv`` (errors and rounds over a grid of laws), ``published.csv`` (which divergence gives the published
figures), ``fitted.csv`` (laws fitted from 40 items), ``dependent.csv`` (rounds that depend on each other),
``checked.csv`` (the exact numbers against simulation) and ``ends.csv`` (scores at an end of the scale). Nothing but the
laws of ``fitted.csv`` and the debates of ``dependent.csv`` and ``checked.csv`` is drawn.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.signal import fftconvolve
from scipy.special import ndtr
from scipy.stats import beta

from d3stats import Trajectories
from d3stats.stopping import JudgeSPRT

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # the studies' shared helper lies beside their folders

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
EDGES = 1 / (1 + np.exp(-np.linspace(np.log(1e-3 / 0.999), np.log(0.999 / 1e-3), 6001)))
"""Ends of small cells of the score; the test counts scores nearer than .001 to an end of the scale as one value."""

Law = tuple[float, float]


def of_mean(mean: float, size: float) -> Law:
    """Return the parameters of the Beta law with this mean and a + b."""
    return mean * size, (1 - mean) * size


@dataclass(frozen=True)
class Played:
    """How often the test has ended after each round, and why."""

    converged: np.ndarray
    rejected: np.ndarray

    @property
    def left(self) -> float:
        """P(undecided after the last round)."""
        return max(1 - float(self.converged.sum() + self.rejected.sum()), 0.0)

    @property
    def rounds(self) -> float:
        """Mean rounds; a debate that is undecided after the last round counts with that round."""
        n = len(self.converged)
        return float((self.converged + self.rejected) @ np.arange(1, n + 1) + self.left * n)


def played(
    rule: JudgeSPRT, law: Law, rounds: int, cells: int, enough: float = 1e-9, densities: bool = False
) -> Played:
    """Return the law of the stop of independent scores, by convolution of the law of one log-likelihood ratio.

    The sum has values at the middles of `cells` equal cells between the bounds, and each ratio is split between the
    two nearest multiples of a cell, so that its mean is kept. The error is of the order of the squared width. With
    `densities` a score at an end of the scale counts by the densities there, which the rule does not do.
    """
    lower, upper = rule.bounds
    width = (upper - lower) / cells
    inner = np.sqrt(EDGES[1:] * EDGES[:-1])
    score = np.concatenate([EDGES[:1], inner, EDGES[-1:]])
    mass = np.concatenate(
        [[beta.cdf(EDGES[0], *law)], np.diff(beta.cdf(EDGES, *law)), [beta.sf(EDGES[-1], *law)]]
    )
    useful, other = (beta(*one) for one in laws(rule))
    ratio = useful.logpdf(score) - other.logpdf(score)
    if not densities:
        ratio[0] = useful.logcdf(EDGES[0]) - other.logcdf(EDGES[0])
        ratio[-1] = useful.logsf(EDGES[-1]) - other.logsf(EDGES[-1])
    # A jump of all cells leaves from everywhere, so that longer ones need no cells of their own.
    steps = np.clip(ratio / width, -cells, cells)
    whole = np.floor(steps).astype(np.int64)
    part = steps - whole
    jumps = np.bincount(whole + cells, mass * (1 - part), 2 * cells + 2)
    jumps += np.bincount(whole + cells + 1, mass * part, 2 * cells + 2)
    place = -lower / width - 0.5
    here = np.zeros(cells)
    here[int(place)] += 1 - place % 1
    here[int(place) + 1] += place % 1
    ends = np.zeros((2, rounds))
    for t in range(rounds):
        moved = np.maximum(fftconvolve(here, jumps), 0.0)
        ends[:, t] = moved[2 * cells :].sum(), moved[:cells].sum()
        here = moved[cells : 2 * cells]
        if here.sum() < enough:
            break
    return Played(*ends)


def pairs(config: Mapping[str, Any]) -> Iterator[tuple[str, str, JudgeSPRT]]:
    """Yield the families, their other law as text, and the test of both laws."""
    for family in config["families"]:
        mean, size = family["useful"]
        others = [(m, size) for m in family.get("means", [])] + [(mean, s) for s in family.get("sizes", [])]
        for other in others:
            rule = JudgeSPRT(
                *of_mean(mean, size),
                *of_mean(*other),
                alpha=config["alpha"],
                beta=config["beta"],
                max_rounds=config["cap"],
            )
            yield family["name"], f"{other[0]:g}, {other[1]:g}", rule


def laws(rule: JudgeSPRT) -> tuple[Law, Law]:
    """Return the useful and the other law."""
    return (rule.useful_a, rule.useful_b), (rule.other_a, rule.other_b)


def backwards(rule: JudgeSPRT) -> float:
    """Return the divergence the other way round."""
    useful, other = laws(rule)
    return JudgeSPRT(*other, *useful).divergence


def curves(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return errors, rounds and capped shares over the grid, without a cap and with it."""
    rows = []
    for family, other_law, rule in pairs(config):
        useful, other = laws(rule)
        free = [played(rule, law, config["longest"], config["cells"]) for law in (useful, other)]
        short = [played(rule, law, config["cap"], config["cells"]) for law in (useful, other)]
        expected = rule.expected_rounds
        rows.append(
            {
                "family": family,
                "other": other_law,
                "divergence": rule.divergence,
                "backwards": backwards(rule),
                "false_converged": free[1].converged.sum(),
                "false_rejected": free[0].rejected.sum(),
                "bound": rule.alpha / (1 - rule.beta),
                "rounds_useful": free[0].rounds,
                "wald_useful": expected[0],
                "rounds_other": free[1].rounds,
                "wald_other": expected[1],
                "left": max(one.left for one in free),
                "capped_useful": short[0].left,
                "capped_other": short[1].left,
                "rounds_capped_useful": short[0].rounds,
                "rounds_capped_other": short[1].rounds,
                "false_converged_capped": short[1].converged.sum(),
                "false_rejected_capped": short[0].rejected.sum(),
            }
        )
    return pd.DataFrame(rows)


def published(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return the divergence at which the cap ends nearly all debates, and at which one round nearly always decides.

    Half of the debates are of each kind. The other law's mean is moved until the figure is met.
    """
    settings = config["published"]
    mean, rows = settings["useful_mean"], []
    for error in settings["errors"]:
        for size in settings["sizes"]:

            def test(other: float, size: float = size, error: float = error) -> JudgeSPRT:
                return JudgeSPRT(
                    *of_mean(mean, size),
                    *of_mean(other, size),
                    alpha=error,
                    beta=error,
                    max_rounds=config["cap"],
                )

            def missed(other: float, test: Any = test) -> tuple[float, float]:
                found = [
                    played(test(other), law, config["cap"], config["cells"]) for law in laws(test(other))
                ]
                capped = float(np.mean([one.left for one in found]))
                rounds = float(np.mean([one.rounds for one in found]))
                return capped - settings["capped"], rounds - settings["rounds"]

            for place, figure in enumerate(("capped", "rounds")):
                ends = (0.02, mean - 1e-3)
                at = [missed(end)[place] for end in ends]
                row = {"figure": figure, "value": settings[figure], "error": error, "size": size}
                if at[0] * at[1] < 0:
                    other = brentq(lambda m, place=place: missed(m)[place], *ends, xtol=1e-5)
                    row |= {
                        "other_mean": other,
                        "divergence": test(other).divergence,
                        "backwards": backwards(test(other)),
                    }
                rows.append(row)
    return pd.DataFrame(rows)


def calibrations(config: Mapping[str, Any]) -> Iterator[tuple[JudgeSPRT, int, JudgeSPRT]]:
    """Yield the true test, the number of a calibration, and the test fitted in it."""
    settings = config["fitted"]
    mean, size = settings["useful"]
    for place, other in enumerate(settings["other_means"]):
        true = JudgeSPRT(
            *of_mean(mean, size), *of_mean(other, size), alpha=config["alpha"], beta=config["beta"]
        )
        for number in range(settings["calibrations"]):
            rng = np.random.default_rng([config["seed"], place, number])
            scores = [rng.beta(*law, size=settings["items"] // 2) for law in laws(true)]
            yield true, number, JudgeSPRT.calibrated(*scores, alpha=config["alpha"], beta=config["beta"])


def one_fit(true: JudgeSPRT, fit: JudgeSPRT, config: Mapping[str, Any]) -> dict[str, float]:
    """Return the errors and rounds of a fitted test under the true laws."""
    settings = config["fitted"]
    useful, other = (played(fit, law, settings["longest"], settings["cells"], 1e-4) for law in laws(true))
    return {
        "divergence": true.divergence,
        "said": fit.divergence,
        "false_converged": float(other.converged.sum()),
        "false_rejected": float(useful.rejected.sum()),
        "left": max(useful.left, other.left),
        "rounds_useful": useful.rounds,
        "rounds_other": other.rounds,
    }


def fitted(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row per calibration: what its test does under the true laws."""
    return pd.DataFrame(
        {"other_mean": true.other_a / (true.other_a + true.other_b), "calibration": number}
        | one_fit(true, fit, config)
        for true, number, fit in calibrations(config)
    )


def drawn(law: Law, correlation: float, debates: int, rounds: int, rng: np.random.Generator) -> Trajectories:
    """Return debates whose scores have a Beta law and share a part of their normal scores."""
    shared = rng.standard_normal((debates, 1))
    own = rng.standard_normal((debates, rounds))
    chance = ndtr(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    # The quantile function by a fine table.
    ends = np.concatenate([[0.0], EDGES, [1.0]])
    scores = np.interp(chance, beta.cdf(ends, *law), ends)
    votes = np.zeros((debates, rounds, 1), dtype=np.int8)
    return Trajectories.from_arrays(votes, scores=scores[:, :, None], sides=("judge",))


def simulated(rule: JudgeSPRT, correlation: float, debates: int, seed: list[int]) -> dict[str, float]:
    """Return the errors and rounds of a test on drawn debates, with their standard errors."""
    row: dict[str, float] = {}
    for place, (kind, wrong) in enumerate((("useful", "sprt_rejected"), ("other", "sprt_converged"))):
        rng = np.random.default_rng([*seed, place])
        stops = rule.stop_rounds(drawn(laws(rule)[place], correlation, debates, rule.max_rounds, rng))
        share = float((stops.reasons == wrong).mean())
        name = "false_rejected" if kind == "useful" else "false_converged"
        row |= {
            name: share,
            f"{name}_se": float(np.sqrt(share * (1 - share) / debates)),
            f"capped_{kind}": float((stops.reasons == "round_cap").mean()),
            f"rounds_{kind}": float(stops.rounds.mean()),
            f"rounds_{kind}_se": float(stops.rounds.std() / np.sqrt(debates)),
        }
    return row


def dependent(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return errors and rounds where the scores of a debate are correlated."""
    settings = config["dependent"]
    mean, size = settings["useful"]
    rows = []
    for place, other in enumerate(settings["other_means"]):
        rule = JudgeSPRT(
            *of_mean(mean, size),
            *of_mean(other, size),
            alpha=config["alpha"],
            beta=config["beta"],
            max_rounds=settings["longest"],
        )
        for number, correlation in enumerate(settings["correlations"]):
            found = simulated(rule, correlation, settings["debates"], [config["seed"], 1000 + place, number])
            rows.append(
                {"other_mean": other, "divergence": rule.divergence, "correlation": correlation} | found
            )
    return pd.DataFrame(rows)


def checked(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return exact numbers beside those of the library's rule on drawn debates, and on a grid half as fine."""
    rows = []
    for number, (family, other_law, rule) in enumerate(pairs(config)):
        if number % 4:
            continue
        found = simulated(rule, 0.0, config["dependent"]["debates"], [config["seed"], 2000, number])
        useful, other = (played(rule, law, config["cap"], config["cells"]) for law in laws(rule))
        coarse = [played(rule, law, config["cap"], config["cells"] // 2) for law in laws(rule)]
        for measure, exact, rough in (
            ("false_converged", other.converged.sum(), coarse[1].converged.sum()),
            ("false_rejected", useful.rejected.sum(), coarse[0].rejected.sum()),
            ("rounds_useful", useful.rounds, coarse[0].rounds),
            ("rounds_other", other.rounds, coarse[1].rounds),
        ):
            rows.append(
                {
                    "family": family,
                    "other": other_law,
                    "measure": measure,
                    "exact": exact,
                    "half_as_fine": rough,
                    "simulated": found[measure],
                    "se": found[f"{measure}_se"],
                }
            )
    return pd.DataFrame(rows)


def ends(config: Mapping[str, Any]) -> pd.DataFrame:
    """Return the errors where scores at an end of the scale count by chances, as in the rule, and by densities."""
    rows = []
    for family, _, rule in pairs(config):
        if family != config["ends"]["family"]:
            continue
        useful, other = laws(rule)
        row = {"divergence": rule.divergence, "at_the_upper_end": float(beta.sf(EDGES[-1], *useful))}
        for name, by_density in (("chances", False), ("densities", True)):
            found = [
                played(rule, law, config["longest"], config["cells"], 1e-9, by_density)
                for law in (useful, other)
            ]
            row[f"false_rejected_{name}"] = found[0].rejected.sum()
            row[f"false_converged_{name}"] = found[1].converged.sum()
        rows.append(row)
    return pd.DataFrame(rows)


def study(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Return all tables."""
    return {
        "curves": curves(config),
        "published": published(config),
        "fitted": fitted(config),
        "dependent": dependent(config),
        "checked": checked(config),
        "ends": ends(config),
    }


def summarise(fits: pd.DataFrame, bound: float) -> pd.DataFrame:
    """Return what tests fitted from few items do on average, by the true laws."""
    rows = []
    for other, group in fits.groupby("other_mean", sort=False):
        error = group["false_converged"]
        rows.append(
            {
                "other_mean": other,
                "divergence": group["divergence"].iloc[0],
                "false_converged": error.mean(),
                "se": error.std() / np.sqrt(len(group)),
                "upper_tenth": error.quantile(0.9),
                "above_bound": (error > bound).mean(),
                "false_rejected": group["false_rejected"].mean(),
                "rejected_upper_tenth": group["false_rejected"].quantile(0.9),
                "said_low": group["said"].quantile(0.1),
                "said_high": group["said"].quantile(0.9),
            }
        )
    return pd.DataFrame(rows)


def shown(made: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the findings."""
    c = made["curves"]
    reached = c["left"] < 1e-3
    curve = pd.DataFrame(
        {
            "laws": c["family"],
            "other law": "(" + c["other"] + ")",
            "divergence": [f"{x:.3g}" for x in c["divergence"]],
            "false converged": [f"{x:.4f}" for x in c["false_converged"]],
            "false rejected": [f"{x:.4f}" for x in c["false_rejected"]],
            "rounds, useful (Wald)": [
                f"{x:.2f} ({w:.2f})" for x, w in zip(c["rounds_useful"], c["wald_useful"], strict=True)
            ],
            "rounds, other (Wald)": [
                f"{x:.2f} ({w:.2f})" for x, w in zip(c["rounds_other"], c["wald_other"], strict=True)
            ],
            "capped at 8, useful": [f"{x:.3f}" for x in c["capped_useful"]],
            "capped at 8, other": [f"{x:.3f}" for x in c["capped_other"]],
        }
    )
    curve.loc[~reached, ["false converged", "false rejected"]] += " (not all decided)"
    p = made["published"].copy()
    p["figure"] = p["figure"].map({"capped": "99.5 % capped", "rounds": "1.01 rounds"})
    p["cell"] = [
        "not reached" if pd.isna(d) else f"{d:.3g} / {b:.3g}"
        for d, b in zip(p["divergence"], p["backwards"], strict=True)
    ]
    wide = p.pivot_table("cell", ["figure", "error"], "size", aggfunc="first", sort=False).reset_index()
    wide.columns = ["figure", "alpha = beta", *(f"size {size:g}" for size in wide.columns[2:])]
    f = summarise(made["fitted"], CONFIG["alpha"] / (1 - CONFIG["beta"]))
    fit = pd.DataFrame(
        {
            "other mean": f["other_mean"],
            "divergence": [f"{x:.3g}" for x in f["divergence"]],
            "fitted divergence, middle 80 %": [
                f"{a:.3g} to {b:.3g}" for a, b in zip(f["said_low"], f["said_high"], strict=True)
            ],
            "false converged (SE)": [
                f"{x:.3f} ({s:.3f})" for x, s in zip(f["false_converged"], f["se"], strict=True)
            ],
            "worst tenth": [f"{x:.3f}" for x in f["upper_tenth"]],
            "fits above the bound": [f"{x:.2f}" for x in f["above_bound"]],
            "false rejected": [f"{x:.3f}" for x in f["false_rejected"]],
            "its worst tenth": [f"{x:.3f}" for x in f["rejected_upper_tenth"]],
        }
    )
    d = made["dependent"]
    tied = pd.DataFrame(
        {
            "divergence": [f"{x:.3g}" for x in d["divergence"]],
            "correlation": d["correlation"],
            "false converged (SE)": [
                f"{x:.3f} ({s:.3f})"
                for x, s in zip(d["false_converged"], d["false_converged_se"], strict=True)
            ],
            "false rejected (SE)": [
                f"{x:.3f} ({s:.3f})" for x, s in zip(d["false_rejected"], d["false_rejected_se"], strict=True)
            ],
            "rounds, useful": [f"{x:.2f}" for x in d["rounds_useful"]],
            "rounds, other": [f"{x:.2f}" for x in d["rounds_other"]],
            "undecided after 60": [f"{x:.3f}" for x in d[["capped_useful", "capped_other"]].max(axis=1)],
        }
    )
    return {"curves": curve, "published": wide, "fitted": fit, "dependent": tied}


def main() -> None:
    """Write the tables and print those of the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE)
    out = parser.parse_args().output
    out.mkdir(parents=True, exist_ok=True)
    for name, table in write(HERE, out.resolve(), study(CONFIG), shown).items():
        print(f"\n== {name}\n{table.to_string(index=False)}")


if __name__ == "__main__":
    main()
