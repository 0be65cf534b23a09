"""Do several advocates separate two answers better than several rounds, and are they steadier? (Advocates paper, A.5.)

Run: python simulations/advocates_hypotheses/run.py [-o FOLDER]

Draws the same questions under MORE (parallel advocates, one round) and SAMRE (one advocate a side, rounds) in worlds
that differ in a number or two, and measures what each hypothesis of the paper is about. Plays the four columns of the
paper's Table 1. Writes a CSV per table and, into this folder only, the tables of ``findings.md``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats import compare
from d3stats.estimate import Estimate
from d3stats.inference.comparison.multiplicity import adjust
from d3stats.resampling.clusters import anova_sums, mean_squares
from d3stats.resampling.proportions import share
from d3stats.stopping import from_text
from d3stats.worlds import Courtroom, simulate_debates

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "protocol_comparison")]

from findings_tables import write  # noqa: E402  # studies are no package
from play_all import play_all  # noqa: E402

Config = dict[str, Any]
Floats = NDArray[np.float64]

HYPOTHESES = {
    "separation": ("1", "MORE separates the two answers further", +1),
    "separation of the right answer": ("1", "MORE puts the right answer further ahead", +1),
    "separation in round 1": ("2", "MORE separates further than SAMRE's first round", +1),
    "agreement": ("3", "parallel advocates agree more often than rounds", +1),
    "sensitivity of the difference": ("3", "the difference of scores varies less with the wording", -1),
    "sensitivity of a score": ("3", "the score of an answer varies less with the wording", -1),
    "variation between calls": ("3", "the difference of scores varies less from call to call", -1),
}
"""By measure: the hypothesis of the paper, in words, and the sign that MORE less SAMRE has if it holds."""


def courts(config: Config, change: Mapping[str, Any]) -> tuple[Courtroom, Courtroom]:
    """Return the worlds of MORE and of SAMRE."""
    court = dict(change.get("court", {}))
    more = Courtroom(protocol="more", advocates=change.get("advocates", config["advocates"]), **court)
    return more, Courtroom(protocol="samre", **court)


def drawn(config: Config, world: Courtroom, wording: int, repeat: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the judge's scores, shape (questions, rounds, sides), and the labels."""
    rounds = 1 if world.protocol == "more" else config["rounds"]
    world = replace(world, wording=wording, run=wording * config["repeats"] + repeat)
    t = simulate_debates(world, config["questions"], rounds, config["seed"])
    return np.asarray(t.scores), t.label.astype(int)


def final_scores(config: Config, world: Courtroom, wording: int, repeat: int) -> Floats:
    """Return the scores that decide, (questions, sides): of MORE's round; the mean up to SAMRE's stop."""
    scores, _ = drawn(config, world, wording, repeat)
    if scores.shape[1] == 1:
        return scores[:, 0]
    t = simulate_debates(
        replace(world, wording=wording, run=wording * config["repeats"] + repeat),
        config["questions"],
        config["rounds"],
        config["seed"],
    )
    stop = from_text(config["rule"]).stop_rounds(t).rounds
    counted = np.arange(scores.shape[1]) < stop[:, None]
    found: Floats = (scores * counted[:, :, None]).sum(axis=1) / stop[:, None]
    return found


def gap(scores: Floats) -> Floats:
    """Return A's points less B's."""
    return np.asarray(scores[..., 0] - scores[..., 1])


def alone(world: Courtroom) -> Courtroom:
    """Return the world in which the rounds of one advocate a side are parallel advocates of MORE, judged one by one.

    No round hears feedback or shows more of the gap than the first.
    """
    return replace(world, protocol="samre", advocates=1, improvement=0.0, decay=1 - 1e-12)


def agreeing(gaps: Floats) -> Floats:
    """Return for each question the share of pairs of columns that name the same winner; equal points name none."""
    winner = np.sign(gaps)
    pairs = [winner[:, i] * winner[:, j] > 0 for i, j in combinations(range(gaps.shape[1]), 2)]
    return np.asarray(np.mean(pairs, axis=0))


def wording_variance(values: Floats) -> Floats:
    """Return for each question an unbiased estimate of the variance that the wording adds.

    Parameters
    ----------
    values : ndarray of float, shape (questions, wordings, repeats)
        One-way analysis of variance within each question: (MSB - MSW) / repeats. It may be below 0.
    """
    n, wordings, repeats = values.shape
    group = np.tile(np.repeat(np.arange(wordings), repeats), n)
    sums = np.stack([anova_sums(row.ravel(), group[: wordings * repeats]).sum(axis=0) for row in values])
    between, within, size = mean_squares(sums)
    return np.asarray((between - within) / size)


def scatter(values: Floats) -> Floats:
    """Return for each question the variance over its wordings, one call each: what one call a paraphrase would show."""
    return np.asarray(values[:, :, 0].var(axis=1, ddof=1))


def measured(config: Config, change: Mapping[str, Any]) -> dict[str, tuple[Floats, Floats]]:
    """Return each measure question by question, for MORE and for SAMRE."""
    more, samre = courts(config, change)
    _, label = drawn(config, more, 0, 0)
    right = np.where(label == 0, 1.0, -1.0)
    values = {}
    for name, world in (("more", more), ("samre", samre)):
        values[name] = np.stack(
            [
                np.stack([final_scores(config, world, w, r) for r in range(config["repeats"])], axis=1)
                for w in range(config["wordings"])
            ],
            axis=1,
        )
    rounds, _ = drawn(config, samre, 0, 0)
    parallel, _ = drawn(config, alone(more), 0, 0)
    k = more.advocates if more.advocates < config["rounds"] else config["rounds"]
    first = {name: gap(v[:, 0, 0]) for name, v in values.items()}
    return {
        "separation": (np.abs(first["more"]), np.abs(first["samre"])),
        "separation of the right answer": (right * first["more"], right * first["samre"]),
        "separation in round 1": (np.abs(first["more"]), np.abs(gap(rounds[:, 0]))),
        "agreement": (agreeing(gap(parallel[:, :k])), agreeing(gap(rounds[:, :k]))),
        "sensitivity of the difference": (
            wording_variance(gap(values["more"])),
            wording_variance(gap(values["samre"])),
        ),
        "sensitivity of a score": (
            wording_variance(values["more"][..., 0]),
            wording_variance(values["samre"][..., 0]),
        ),
        "variation between calls": (scatter(gap(values["more"])), scatter(gap(values["samre"]))),
    }


def run_of(values: Floats) -> pd.DataFrame:
    """Return what :func:`d3stats.compare` reads: a score per question."""
    return pd.DataFrame({"item": np.arange(len(values)).astype(str), "score": values})


def hypotheses(config: Config) -> pd.DataFrame:
    """Return every measure in every world: MORE, SAMRE, their difference, and whether the hypothesis holds."""
    rows = []
    for change in config["worlds"]:
        for name, (more, samre) in measured(config, change).items():
            pair = [run_of(values) for values in (samre, more)]
            e = compare(*pair, names=["SAMRE", "MORE"], level=config["level"], rng=0).difference
            rows.append((change["label"], name, more.mean(), samre.mean(), e.value, *_limits(e), e.p_value))
    columns = ["world", "measure", "more", "samre", "difference", "low", "high", "p"]
    table = pd.DataFrame(rows, columns=columns)
    table["p_holm"] = np.nan
    for name in HYPOTHESES:
        # Without a difference in any question there is no test.
        here = table.index[(table["measure"] == name) & table["p"].notna()]
        table.loc[here, "p_holm"] = adjust(table.loc[here, "p"])
    table["outcome"] = [_outcome(row) for row in table.itertuples(index=False)]
    return table


def _limits(e: Estimate) -> tuple[float, float]:
    return (np.nan if e.low is None else e.low), (np.nan if e.high is None else e.high)


def _outcome(row: Any) -> str:
    if not row.p_holm < 0.05:
        return "undecided"
    return "holds" if row.difference * HYPOTHESES[row.measure][2] > 0 else "fails"


def by_round(config: Config) -> pd.DataFrame:
    """Return the mean separation by round of SAMRE beside MORE's, and their difference."""
    rows = []
    for change in config["worlds"]:
        more, samre = courts(config, change)
        scores, _ = drawn(config, samre, 0, 0)
        level = np.abs(gap(final_scores(config, more, 0, 0)))
        for r in range(config["rounds"]):
            separation = np.abs(gap(scores[:, r]))
            e = compare(run_of(level), run_of(separation), names=["MORE", "SAMRE"], rng=0).difference
            own = [_mean(values, config["level"]) for values in (separation, level)]
            rows.append((change["label"], r + 1, *own[0], *own[1], e.value, *_limits(e)))
    columns = ["world", "round", "samre", "samre_low", "samre_high", "more", "more_low", "more_high"]
    return pd.DataFrame(rows, columns=[*columns, "samre_less_more", "low", "high"])


def _mean(values: Floats, level: float) -> tuple[float, float, float]:
    from scipy.stats import t

    half = t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def played(config: Config) -> pd.DataFrame:
    """Return the accuracy of the four columns of Table 1, played in both orders, and the gain on the single judge."""
    asked, rows = config["played"], []
    how = {"names": ["a", "b"], "level": config["level"], "rng": 0}
    for row in asked["worlds"]:
        world = {"name": "courtroom"} | row["court"]
        tables = dict(play_all(world, asked["protocols"], asked["items"], config["seed"]))
        runs = {name: _run(table) for name, table in tables.items()}
        base = runs[asked["baseline"]]
        others = [name for name in runs if name != asked["baseline"]]
        gains = [compare(base, runs[name], **how).difference for name in others]
        adjusted = adjust([1.0 if e.p_value is None else e.p_value for e in gains])
        found = {name: (e.value, *_limits(e), p) for name, e, p in zip(others, gains, adjusted, strict=True)}
        for name, table in tables.items():
            known = table["verdict"].notna().to_numpy()
            right = (table["verdict"] == table["label"]).to_numpy(dtype=int)[known]
            cluster = table["item"].to_numpy()[known]
            own = share(right, np.ones(len(right), int), cluster=cluster, level=config["level"])
            spent = table["rounds"].mean(), table["calls"].mean(), (table["input"] + table["output"]).mean()
            gain = found.get(name, (np.nan,) * 4)
            rows.append((row["label"], name, own.value, own.low, own.high, 1 - known.mean(), *gain, *spent))
        e = compare(runs["SAMRE"], runs["SAMRE without juries"], **how).difference
        last = "SAMRE without juries less SAMRE"
        rows.append((row["label"], last, *[np.nan] * 4, e.value, *_limits(e), e.p_value, *[np.nan] * 3))
    columns = "world protocol accuracy low high undecided gain gain_low gain_high p_holm rounds calls tokens"
    return pd.DataFrame(rows, columns=columns.split())


def _run(table: pd.DataFrame) -> pd.DataFrame:
    """Return right and wrong, and one half where nothing was decided."""
    score = (table["verdict"] == table["label"]).astype(float).where(table["verdict"].notna(), 0.5)
    return pd.DataFrame({"item": table["debate"], "score": score, "cluster": table["item"]})


def study(config: Config) -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file."""
    return {"hypotheses": hypotheses(config), "by_round": by_round(config), "played": played(config)}


# ---------------------------------------------------------------- in words


def _said(
    value: float, low: float = np.nan, high: float = np.nan, digits: int = 2, sign: bool = False
) -> str:
    form = f"{{:{'+' if sign else ''}.{digits}f}}"
    text = form.format(round(value, digits) + 0.0)
    return text if np.isnan(low) else f"{text} [{form.format(low)}, {form.format(high)}]"


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables by the name of their place in the findings."""
    table, found = tables["hypotheses"], {}
    outcomes = table.pivot_table(
        index="world", columns="measure", values="outcome", aggfunc="first", sort=False
    )
    found["outcomes"] = outcomes[list(HYPOTHESES)].rename_axis(None, axis=1).reset_index()
    for name in HYPOTHESES:
        rows = table[table["measure"] == name]
        digits = 3 if name == "agreement" else 2
        found[name] = pd.DataFrame(
            {
                "world": rows["world"],
                "MORE": rows["more"].map(lambda x, d=digits: _said(x, digits=d)),
                "SAMRE": rows["samre"].map(lambda x, d=digits: _said(x, digits=d)),
                "MORE less SAMRE": [
                    _said(*x, digits=digits, sign=True)
                    for x in rows[["difference", "low", "high"]].to_numpy()
                ],
                "p (Holm)": rows["p_holm"].map(
                    lambda p: "" if np.isnan(p) else "< .001" if p < 0.0005 else f"{p:.3f}"
                ),
                "outcome": rows["outcome"],
            }
        )
    found["rounds"] = _rounds_in_words(tables["by_round"])
    found["table 1"] = _played_in_words(tables["played"])
    return found


def _rounds_in_words(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for world, part in table.groupby("world", sort=False):
        reached = part.loc[part["samre_less_more"] >= 0, "round"]
        row = {"world": world, "MORE": _said(part["more"].iloc[0])}
        row |= {f"SAMRE, round {e.round}": _said(e.samre) for e in part.itertuples(index=False)}
        row["SAMRE reaches MORE in round"] = str(reached.min()) if len(reached) else "none of four"
        rows.append(row)
    return pd.DataFrame(rows)


def _played_in_words(table: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for e in table.itertuples(index=False):
        gain = "" if np.isnan(e.gain) else _said(e.gain, e.gain_low, e.gain_high, 3, True)
        p = "" if np.isnan(e.p_holm) else "< .001" if e.p_holm < 0.0005 else f"{e.p_holm:.3f}"
        own = ("",) * 5
        if not np.isnan(e.accuracy):
            spent = (f"{e.rounds:.2f}", f"{e.calls:.1f}", f"{e.tokens:.0f}")
            own = (_said(e.accuracy, e.low, e.high, 3), f"{e.undecided:.3f}", *spent)
        rows.append((e.world, e.protocol, *own[:2], gain, p, *own[2:]))
    heads = ["world", "protocol", "accuracy", "no decision", "gain, no decision as half", "p"]
    return pd.DataFrame(rows, columns=[*heads, "rounds", "calls", "tokens"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    settings = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
    tables = write(HERE, out.resolve(), study(settings), shown)
    print(*(f"== {name}\n{frame.to_string(index=False)}\n" for name, frame in tables.items()), sep="\n")
