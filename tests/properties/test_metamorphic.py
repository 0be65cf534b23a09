"""What must not change a result: other names, another order of rows, another dtype, the same log in two parts.

Every public function that takes data has a case below; one that has none, and is not listed as taking no data, fails
:func:`test_every_public_function_has_a_case_or_takes_no_data`.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from d3stats import (
    agreement,
    calibrate,
    cohen_kappa,
    compare,
    count_log,
    fit,
    fit_beta_binomial,
    fit_beta_binomial_mixture,
    fit_beta_binomial_mixture_batch,
    fit_rounds,
    gap_posterior,
    inference,
    jury_curve,
    likelihood_ratio_test,
    martingale_test,
    plan,
    plan_comparison,
    position_bias,
    prediction_powered_mean,
    rationales,
    read_log,
    replay,
    resampling,
    risk_controlled,
    rounds_drift,
    scan,
    signed_gap_posterior,
)
from d3stats.counts import ConfusionCounts
from d3stats.inference import bias
from d3stats.log import (
    count,
    doctor,
    fix_log,
    read_counts,
    write_counts,
    write_csv,
    write_jsonl,
    write_parquet,
)
from d3stats.planning import (
    abstain,
    conformal_risk_control,
    escalate,
    join_protocols,
    label_value,
    score_gaps,
    scores,
)
from d3stats.run.items import read_items
from d3stats.stopping import batch_rounds, rounds_of
from d3stats.trajectories import Trajectories
from d3stats.worlds import Voter

Numbers = dict[str, float]


# -------------------------------------------------------------------- the tables


def turns_table(answers: tuple[Any, ...] = (3, 5, 8), seed: int = 1, debates: int = 24) -> pd.DataFrame:
    """Three agents, three rounds, two debates a question; no round is tied, so that no seat decides."""
    rng = np.random.default_rng(seed)
    k = len(answers)
    rows = []
    for d in range(debates):
        truth = (d // 2) % k
        for r in (1, 2, 3):
            lead, odd = (truth if rng.random() < 0.55 + 0.1 * r else (truth + 1) % k), int(rng.integers(0, k))
            split = rng.random() < 0.5
            votes = [lead, lead, odd if split else lead]
            rng.shuffle(votes)
            for a in range(3):
                rows.append(
                    (
                        f"d{d:02d}",
                        f"q{d // 2:02d}",
                        r,
                        f"ag{a}",
                        answers[votes[a]],
                        answers[truth],
                        50 + r * 10 + a,
                    )
                )
    columns = ["debate", "question", "round", "agent", "vote", "label", "tokens"]
    stated = np.random.default_rng([seed, 1]).integers(50, 101, len(rows)) / 100
    return pd.DataFrame(rows, columns=columns).assign(confidence=stated)


def ratings_table(seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(40):
        truth = int(rng.integers(0, 2))
        for rater in range(3):
            vote = truth if rng.random() < 0.8 else 1 - truth
            rows.append((f"i{item:02d}", f"rater {rater}", vote, truth, f"c{item // 2:02d}"))
    return pd.DataFrame(rows, columns=["item", "rater", "vote", "label", "cluster"])


def verdicts_table(seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(60):
        truth = "AB"[int(rng.integers(0, 2))]
        length = rng.integers(50, 300, 2)
        for judge, family in (("judge x", "x"), ("judge z", "z")):
            for order in ("AB", "BA"):
                right = rng.random() < 0.75
                vote = truth if right else "BA"["AB".index(truth)]
                vote = order[0] if rng.random() < 0.1 else vote
                rows.append(
                    (
                        f"i{item:02d}",
                        judge,
                        order,
                        vote,
                        truth,
                        *map(int, length),
                        *("xy" if item % 2 else "yx"),
                        family,
                    )
                )
    names = [
        "item",
        "judge",
        "order",
        "vote",
        "label",
        "length_a",
        "length_b",
        "family_a",
        "family_b",
        "judge_family",
    ]
    return pd.DataFrame(rows, columns=names)


def personas_table(seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(50):
        truth = "AB"[int(rng.integers(0, 2))]
        for persona, accuracy in (("none", 0.6), ("critic", 0.75), ("optimist", 0.65)):
            vote = truth if rng.random() < accuracy else "BA"["AB".index(truth)]
            rows.append((f"i{item:02d}", persona, vote, truth, f"c{item // 2}"))
    return pd.DataFrame(rows, columns=["item", "persona", "vote", "label", "cluster"])


def runs_table(seed: int = 5) -> pd.DataFrame:
    """Two runs over the same items, side by side."""
    rng = np.random.default_rng(seed)
    first = rng.random(60) < 0.6
    second = np.where(rng.random(60) < 0.25, ~first, first) | (rng.random(60) < 0.1)
    items = [f"i{k:02d}" for k in range(60)]
    return pd.DataFrame({"item": items, "first": first.astype(int), "second": second.astype(int),
                         "cluster": [f"c{k // 3:02d}" for k in range(60)]})  # fmt: skip


def pairs_table(seed: int = 9) -> pd.DataFrame:
    """Two judges compare four contestants on thirty items."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(30):
        for judge in ("judge x", "judge z"):
            first, second = rng.choice(4, 2, replace=False)
            lead = 0.4 * (second - first) + 0.3 + rng.logistic()
            winner = "tie" if abs(lead) < 0.3 else "first" if lead > 0 else "second"
            rows.append((f"i{item:02d}", judge, "abcd"[first], "abcd"[second], winner, f"c{item // 2:02d}"))
    return pd.DataFrame(rows, columns=["item", "judge", "first", "second", "winner", "cluster"])


def scores_table(seed: int = 6) -> pd.DataFrame:
    """One judge scores two sides over four rounds."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(12):
        for r in (1, 2, 3, 4):
            scores = {side: {"merit": float(rng.integers(1, 11))} for side in ("A", "B")}
            rows.append((f"d{d:02d}", r, "judge", "AB"[d % 2], "A", scores))
    return pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label", "scores"])


def said_table(seed: int = 7) -> pd.DataFrame:
    """Three jurors vote once and say why, in two debates a question."""
    rng = np.random.default_rng(seed)
    why = (
        "Advocate A argued with more depth.",
        "The second answer is safer.",
        "It is clearer and more accurate.",
    )
    rows = []
    for d in range(20):
        votes = rng.permutation(["A", "A", "B"] if d % 2 else ["A", "B", "B"])
        for a in range(3):
            text = f"{why[int(rng.integers(0, 3))]} Point {d % 4} matters."
            rows.append((f"d{d:02d}", f"q{d // 2:02d}", 1, f"ag{a}", votes[a], "A", text))
    return pd.DataFrame(rows, columns=["debate", "question", "round", "agent", "vote", "label", "text"])


def courts_table(seed: int = 8) -> pd.DataFrame:
    """Two protocols, named by `run`, judge the same items: one round of one judge, who scores both sides."""
    rng = np.random.default_rng(seed)
    rows = []
    for run, chance in (("cheap", 0.7), ("costly", 0.9)):
        for d in range(40):
            truth = "AB"[d % 2]
            vote = truth if rng.random() < chance else "BA"["AB".index(truth)]
            lead = float(rng.integers(1, 40))
            scores = {side: {"merit": 60.0 + lead * (side == vote)} for side in ("A", "B")}
            rows.append((run, f"d{d:02d}", f"q{d // 2:02d}", 1, "judge", vote, truth, 100, scores))
    columns = ["run", "debate", "question", "round", "agent", "vote", "label", "tokens", "scores"]
    return pd.DataFrame(rows, columns=columns)


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "said": said_table,
    "courts": courts_table,
    "turns": turns_table,
    "ratings": ratings_table,
    "verdicts": verdicts_table,
    "personas": personas_table,
    "runs": runs_table,
    "scores": scores_table,
    "pairs": pairs_table,
}


# -------------------------------------------------------------------- the cases


def numbers(frame: pd.DataFrame, keys: list[str], skip: tuple[str, ...] = ()) -> Numbers:
    """Return every number of a table, named by its row's keys."""
    out: Numbers = {}
    for row in frame.to_dict("records"):
        name = "/".join(str(row[key]) for key in keys)
        for column, value in row.items():
            if (
                column not in (*keys, *skip)
                and isinstance(value, (int, float, np.number))
                and not isinstance(value, bool)
            ):
                out[f"{name}/{column}"] = float(value)
    return out


def estimates(*found: Any) -> Numbers:
    out: Numbers = {}
    for k, e in enumerate(found):
        out |= {f"{k}/value": e.value, f"{k}/low": e.low, f"{k}/high": e.high}
    return out


def t_of(table: pd.DataFrame) -> Trajectories:
    return Trajectories.from_frame(table)


def _array_view(table: pd.DataFrame) -> Numbers:
    t = t_of(table)
    right, trials = t.successes_trials()
    return {
        "debates": t.n_debates, "answers": len(t.answers), "clusters": len(t.cluster_names), "right": right.sum(),
        "trials": trials.sum(), "unanimous": t.unanimous().sum(), "tied": t.tied().sum(), "lead": t.camps()[0].sum(),
        "verdicts right": (t.verdicts() == t.label[:, None]).sum(), "tokens": np.nansum(t.tokens),
    }  # fmt: skip


def _from_arrays(table: pd.DataFrame) -> Numbers:
    wide = table.astype({"vote": object, "label": object})
    wide = wide.sort_values(["debate", "round", "agent"])
    votes = [
        [each["vote"].tolist() for _, each in d.groupby("round")]
        for _, d in wide.groupby("debate", sort=True)
    ]
    label = [d["label"].iloc[0] for _, d in wide.groupby("debate", sort=True)]
    t = Trajectories.from_arrays(votes, label)
    return {
        "right": t.successes_trials()[0].sum(),
        "unanimous": t.unanimous().sum(),
        "answers": len(t.answers),
    }


def _file(table: pd.DataFrame, write: Callable[..., Any], name: str, folder: Path) -> Path:
    plain = folder / "plain.csv"
    split = table.assign(tokens_in=table["tokens"] - 40, tokens_out=40).drop(columns="tokens")
    split.to_csv(plain, index=False)
    return Path(write(plain, folder / name))


def _log_numbers(path: Path) -> Numbers:
    log, counted, reduced, report = read_log(path), count_log(path), count(path), doctor(path)
    assert counted.rounds == reduced.rounds == Trajectories.from_log(path).counts()
    assert read_counts(write_counts(reduced, path.with_name("counts.parquet"))) == reduced
    return {
        "turns": len(log.turns), "debates": len(log.items), "answers": log.turns["vote"].nunique(),
        "counted": counted.n_turns, "exit": report.exit_code, "findings": len(report.findings),
    } | numbers(counted.rounds.to_frame(), ["round", "successes", "trials"])  # fmt: skip


def _files(table: pd.DataFrame, folder: Path) -> Numbers:
    results = [
        _log_numbers(_file(table, write, name, folder))
        for write, name in (
            (write_csv, "log.csv"),
            (write_jsonl, "log.jsonl"),
            (write_parquet, "log.parquet"),
        )
    ]
    assert results[0] == results[1] == results[2]
    return results[0]


def _clean_copy(table: pd.DataFrame, folder: Path) -> Numbers:
    return _log_numbers(_file(table, lambda plain, copy: fix_log(plain, copy).dest, "copy.jsonl", folder))


def _pair_arrays(table: pd.DataFrame) -> tuple[Any, Any, Any]:
    return table["first"], table["second"], table["cluster"]


def _rationales(table: pd.DataFrame) -> Numbers:
    found = rationales(table, rng=1)
    return numbers(found.to_frame(), ["name"]) | estimates(*found.estimates)


def _compare_rationales(table: pd.DataFrame) -> Numbers:
    shorter = table["text"].where(~table["text"].str.contains("safer"), "Depth decides.")
    found = inference.compare_rationales(table, table.assign(text=shorter), rng=1)
    return {k: v for k, v in estimates(*found.estimates).items() if v is not None}


def _rationale_texts(table: pd.DataFrame) -> Numbers:
    found = inference.rationale_texts(table)
    return {"rows": len(found), "words": found["text"].str.split().str.len().sum()}


def _score_gaps(table: pd.DataFrame) -> Numbers:
    names = sorted(table["debate"].unique())
    kinds = {name: "odd" if k % 2 else "even" for k, name in enumerate(names)}
    return numbers(score_gaps(t_of(table), kinds), ["category", "round"])


def _described_scores(table: pd.DataFrame) -> Numbers:
    found = scores(t_of(table))
    # Sides may be renamed, so their means are put together.
    return {"means": (found.means["mean"] ** 2).sum(), **numbers(found.gaps, ["category", "round"])}


def _strata(table: pd.DataFrame) -> Numbers:
    kinds = ["odd" if str(name).endswith(tuple("13579")) else "even" for name in table["cluster"]]
    found = inference.stratify(
        table["first"], kinds, cluster=table["cluster"], name="accuracy", column="kind"
    )
    return estimates(*sorted(found.raw, key=lambda e: e.name))


def _aspects(table: pd.DataFrame) -> Numbers:
    human = table[["item"]].assign(first=table["second"])
    return estimates(*inference.aspect_correlations(table[["item", "first"]], human, on="item").estimates)


def _borda(table: pd.DataFrame) -> Numbers:
    rows = [
        table[["item"]].assign(agent="judge", candidate=name, score=table[name])
        for name in ("first", "second")
    ]
    found = inference.borda_count(pd.concat(rows, ignore_index=True)).points
    return {"points": float((found["borda"] ** 2).sum()), "rows": len(found)}


def _both_protocols(table: pd.DataFrame) -> list[Trajectories]:
    return [t_of(table[table["run"] == run].drop(columns="run")) for run in ("cheap", "costly")]


def _joined(table: pd.DataFrame) -> Numbers:
    t = join_protocols(*_both_protocols(table))
    return {"debates": t.n_debates, "tokens": np.nansum(t.tokens), "right": t.successes_trials()[0].sum()}


def _escalation(table: pd.DataFrame) -> Numbers:
    found = escalate(*_both_protocols(table), thresholds=(5, 15, 25), max_loss_vs_second=0.3)
    return numbers(found.to_frame(), ["threshold"])


def _two_runs(table: pd.DataFrame) -> list[pd.DataFrame]:
    return [table[["item", "cluster"]].assign(correct=table[name]) for name in ("first", "second")]


def _compare(table: pd.DataFrame) -> Numbers:
    found = compare(*_two_runs(table), names=["first", "second"], margin=0.2)
    return (
        numbers(found.to_frame(), ["name"], skip=("n_boot",))
        if "name" in found.to_frame()
        else _flat(found.to_dict())
    )


def _flat(content: Any, name: str = "") -> Numbers:
    if isinstance(content, Mapping):
        return {k: v for key, value in content.items() for k, v in _flat(value, f"{name}/{key}").items()}
    if isinstance(content, (list, tuple)):
        return {k: v for i, value in enumerate(content) for k, v in _flat(value, f"{name}/{i}").items()}
    if isinstance(content, (int, float, np.number)) and not isinstance(content, bool):
        return {name: float(content)}
    return {}


def _counts_by_round(table: pd.DataFrame) -> Any:
    return t_of(table).counts()


def _first_round(table: pd.DataFrame) -> Any:
    return _counts_by_round(table)[1]


def _fit(fit: Any) -> Numbers:
    return {
        "llf": fit.llf,
        "aic": fit.aic,
        "mean": float(np.dot(fit.components["weight"], fit.components["mean"])),
    }


def _batch(table: pd.DataFrame) -> Numbers:
    right = t_of(table).successes_trials()[0]
    weights = np.stack([np.bincount(right[:, r], minlength=4) for r in range(3)]).astype(float)
    fits = fit_beta_binomial_mixture_batch(np.arange(4), np.full(4, 3), weights, n_components=1)
    return {f"llf {r}": float(llf) for r, llf in enumerate(np.atleast_1d(fits.llf))}


def _drift(table: pd.DataFrame) -> Numbers:
    t = t_of(table)
    found = rounds_drift(*t.successes_trials(), t.cluster, n_boot=20, rng=1).ks()
    return {k: v for k, v in numbers(found, ["round", "scale"]).items() if k.endswith("pmf/ks")}


def _martingale(table: pd.DataFrame) -> Numbers:
    return _flat(vars(martingale_test(t_of(table))))


_RANDOM = ("_low", "_high", "_se", "_lower", "_upper", "noise")


def _replay(table: pd.DataFrame) -> Numbers:
    found = replay(
        t_of(table),
        ["fixed:1", "fixed:2", "unanimity", "supermajority:0.6", "ks:0.3,patience=1"],
    )
    return {k: v for k, v in numbers(found.to_frame(), ["rule"]).items() if not k.endswith(_RANDOM)}


def _scan(table: pd.DataFrame) -> Numbers:
    return numbers(scan(t_of(table), ["fixed:1", "fixed:2", "unanimity"]), ["rule"])


def _risk(table: pd.DataFrame) -> Numbers:
    found = risk_controlled(
        t_of(table), ["fixed:2", "fixed:3", "unanimity"], max_loss_vs_full=0.45, delta=0.2
    )
    return numbers(found.to_frame(), ["rule"])


def _conformal(table: pd.DataFrame) -> Numbers:
    found = conformal_risk_control(t_of(table), ["unanimity", "fixed:3", "fixed:2"], max_loss_vs_full=0.45)
    return numbers(found.to_frame(), ["rule"])


def _abstained(table: pd.DataFrame) -> Numbers:
    found = abstain(t_of(table), max_error=0.45, confidence=0.6)
    return numbers(found.to_frame(), ["votes"])


def _label_value(table: pd.DataFrame) -> Numbers:
    return numbers(label_value(t_of(table), "fixed:1").to_frame(), ["labels", "chosen"])


def _describe(table: pd.DataFrame) -> Numbers:
    found = fit(t_of(table), n_components=1, n_boot=10, rng=1).to_frame()
    return {k: v for k, v in numbers(found, ["round"]).items() if not k.endswith(_RANDOM)}


def _plan(table: pd.DataFrame) -> Numbers:
    found = plan(t_of(table), max_loss=0.2, confidence=0.5, rng=1).to_frame()
    counted = [c for c in found.columns if c.startswith(("rounds", "tokens", "kept", "accuracy", "saved"))]
    return numbers(found[["rule", *counted]], ["rule"])


def _calibrate(table: pd.DataFrame) -> Numbers:
    # A panel of independent voters has a likelihood of counts, which no order of debates enters.
    found = calibrate(Voter, t_of(table), n_rep=20, rng=1).to_frame()
    return (
        numbers(found, [str(found.columns[0])])
        if found.index.name is None
        else numbers(found.reset_index(), [str(found.index.name)])
    )


def _rounds(table: pd.DataFrame) -> Numbers:
    t = t_of(table)
    played = [r for d in range(t.n_debates) for r in rounds_of(t, d)]
    return {"rounds": len(played), "batches": len(list(batch_rounds(t)))}


def _gap(table: pd.DataFrame) -> Numbers:
    mean = np.sort(np.asarray(gap_posterior(t_of(table)).mean), axis=0)
    return {f"{i}": float(x) for i, x in enumerate(mean.ravel())}


def _signed_gap(table: pd.DataFrame) -> Numbers:
    mean = np.sort(np.abs(np.asarray(signed_gap_posterior(t_of(table), scale=10).mean_points)), axis=0)
    return {f"{i}": float(x) for i, x in enumerate(mean.ravel())}


def _position(table: pd.DataFrame) -> Numbers:
    return _of_judges(bias.each_judge(position_bias, table))


def _of_judges(audits: Any) -> Numbers:
    return {
        f"{judge}/{k}": v
        for judge, audit in audits.items()
        for k, v in numbers(audit.to_frame(), ["name"], skip=("n",)).items()
    }


def _audit(audit: Any) -> Numbers:
    return numbers(audit.to_frame(), ["name"])


def _ratings(table: pd.DataFrame) -> Numbers:
    r = inference.as_ratings(table)
    return {"items": len(r.items), "raters": len(r.raters), "categories": len(r.categories)}


def _effective_jurors(table: pd.DataFrame) -> Numbers:
    found = numbers(inference.effective_jurors(table, rng=1).to_frame(), ["name"])
    return {k: v for k, v in found.items() if not k.endswith("p_value")}


def _abilities(table: pd.DataFrame) -> Numbers:
    """The search ends within a slope, so digits behind the fifth differ."""
    found = inference.glad(table)
    return {e.name: e.value for e in found.estimates} | {
        "accuracies": round(float(found.judges["accuracy"].sum()), 4)
    }


def _without_labels(table: pd.DataFrame) -> Numbers:
    found = inference.dawid_skene(table)
    return {
        **{e.name: e.value for e in found.estimates},
        "accuracies": float((found.judges["accuracy"] ** 2).sum()),
        "shares": float((found.confusion["share"] ** 2).sum()),
    }


def _panel(table: pd.DataFrame) -> Numbers:
    found = inference.panel(table, rng=1)
    return {
        "worth": found.worth.value,
        "right": found.accuracy.value,
        "adds": float((found.judges["adds"] ** 2).sum()),
    }


def _confidence(table: pd.DataFrame) -> Numbers:
    found = inference.confidence(t_of(table), rng=1)
    means = (found.stated, found.accuracy, found.overconfidence, found.brier, found.calibration_error)
    parts = {
        name: getattr(found, name)
        for name in ("plain_error", "miscalibration", "discrimination", "uncertainty")
    }
    return {e.name: e.value for e in means} | parts | {"bins": float((found.bins["right"] ** 2).sum())}


def _jury(table: pd.DataFrame) -> Numbers:
    found = numbers(jury_curve(table, rng=1).to_frame(), ["name"])
    return {k: v for k, v in found.items() if not k.endswith(("low", "high", "se", "p_value"))}


def _cohen(table: pd.DataFrame) -> Numbers:
    wide = table.astype({"vote": object}).pivot_table(
        index="item", columns="rater", values="vote", aggfunc="first"
    )
    first, second = (wide[rater].tolist() for rater in sorted(wide.columns)[:2])
    return {"kappa": estimate_of(cohen_kappa(first, second)).value}


def estimate_of(found: Any) -> Any:
    return getattr(found, "estimate", getattr(found, "kappa", found))


def _floats(column: pd.Series) -> np.ndarray:
    return np.array([float(x) for x in column])


def _labels(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    one = table[table["rater"] == table["rater"].min()].sort_values("item")
    return _floats(one["vote"]), _floats(one["label"])


def _powered(table: pd.DataFrame) -> Numbers:
    judge, label = _labels(table)
    known = np.where(np.arange(len(label)) % 2 == 0, label, np.nan)
    return estimates(prediction_powered_mean(judge, known).mean)


def _powered_difference(table: pd.DataFrame) -> Numbers:
    known = np.where(table["item"].rank().astype(int) % 2 == 0, 1.0, np.nan)
    first, second = _floats(table["first"]), _floats(table["second"])
    return estimates(
        inference.prediction_powered_difference(first, first * known, second, second * known).mean
    )


def _correct(table: pd.DataFrame) -> Numbers:
    judge, label = _labels(table)
    return estimates(inference.correct_rate(judge, judge, label).rate)


def _confusion(table: pd.DataFrame) -> Numbers:
    counts = ConfusionCounts.from_pairs(table["label"], table["vote"])
    return {"answers": len(counts.labels), "right": counts.matrix.trace(), "all": counts.matrix.sum()}


def _items(table: pd.DataFrame) -> Numbers:
    one = table.drop_duplicates("debate")
    found = read_items(
        pd.DataFrame(
            {"id": one["debate"], "question": "What is " + one["debate"] + "?", "label": one["label"]}
        )
    )
    return {
        "items": len(found),
        "labels": len({item.label for item in found}),
        "clusters": len({item.cluster for item in found}),
    }


def _margin(test: Callable[..., Any]) -> Callable[[pd.DataFrame], Numbers]:
    return lambda t: _flat(vars(test(inference.paired_difference(*_pair_arrays(t)), 0.2)))


def _pair(table: pd.DataFrame) -> Any:
    first, second = _two_runs(table)
    return inference.pair([inference.as_run(first, name="a"), inference.as_run(second, name="b")])


def _paired(table: pd.DataFrame) -> Numbers:
    found = vars(inference.paired_difference(*_pair_arrays(table)))
    return _flat({k: v for k, v in found.items() if not isinstance(v, np.ndarray)})


def _judgments(table: pd.DataFrame) -> Numbers:
    found = bias.as_judgments(table)
    return {"votes": float(found.vote.sum()), "right": float((found.vote == found.label).sum())}


def _pairwise(table: pd.DataFrame) -> Numbers:
    found = inference.as_pairwise(table)
    return {"won": float(found.outcome.sum()), "contestants": len(found.contestants), "items": found.n_items}


def _ranked(table: pd.DataFrame) -> Numbers:
    return numbers(inference.rank(table).pairs, ["first", "second"])


def _sign_flip(table: pd.DataFrame) -> Numbers:
    return {"p": resampling.sign_flip_p(_floats(table["first"]) - _floats(table["second"])).p_value}


def _cluster_t(table: pd.DataFrame) -> Numbers:
    return {"se": float(np.ravel(resampling.cluster_t(_totals(table), resampling.ratios((0, 1))).se)[0])}


def _jackknife(table: pd.DataFrame) -> Numbers:
    return {"sum": float(np.sum(resampling.jackknife(_totals(table), resampling.ratios((0, 1)))))}


def _lrt(table: pd.DataFrame) -> Numbers:
    return {"statistic": likelihood_ratio_test(_first_round(table), n_boot=9, rng=1).statistic}


def _rank(measure: Callable[..., Any]) -> Callable[[pd.DataFrame], Numbers]:
    return lambda t: estimates(measure(_floats(t["first"]), _floats(t["second"])).estimate)


def _agreement(table: pd.DataFrame) -> Numbers:
    # Raters stand in the order of their first row; a pair is the same in either order.
    found = agreement(table).to_frame()
    found["name"] = [" ".join(sorted(name.replace(",", " ").split())) for name in found["name"]]
    return numbers(found, ["name"])


def _agreed(measure: Callable[..., Any]) -> Callable[[pd.DataFrame], Numbers]:
    return lambda t: estimates(estimate_of(measure(t)))


def _totals(table: pd.DataFrame) -> np.ndarray:
    codes = pd.factorize(table["cluster"], sort=True)[0]
    return resampling.cluster_totals(np.stack([_floats(table["first"]), np.ones(len(table))], axis=1), codes)


def _codes(table: pd.DataFrame) -> np.ndarray:
    return resampling.cluster_codes(table["cluster"], len(table))


def _both_totals(table: pd.DataFrame) -> np.ndarray:
    """Return sums by cluster of the difference and of the first value, about their means, neither constant."""
    first, second = _floats(table["first"]), _floats(table["second"])
    return resampling.cluster_totals(np.stack([first - second, first - 0.4], axis=1), _codes(table))


def _mean_squares(table: pd.DataFrame) -> tuple[np.ndarray, ...]:
    sums = resampling.anova_sums(_floats(table["first"]), _codes(table))
    return resampling.mean_squares(sums.sum(axis=0, keepdims=True))


def _cluster_estimate(table: pd.DataFrame) -> Numbers:
    return estimates(
        resampling.cluster_estimate("mean", _totals(table), resampling.ratios((0, 1)), len(table))
    )


def _item_ratio(table: pd.DataFrame) -> Numbers:
    parts = (_floats(table["first"]), np.ones(len(table)), _codes(table))
    return estimates(resampling.item_ratio("mean", *parts)) | {"error": resampling.item_ratio_error(*parts)}


def _clustered_share(table: pd.DataFrame) -> Numbers:
    first = _floats(table["first"])
    ones = np.ones(len(first))
    return estimates(resampling.clustered_share(first, ones, _codes(table)))


def _share_limits(table: pd.DataFrame) -> Numbers:
    found = resampling.share_limits(*_totals(table).T, 0.95)
    return {"low": float(found.low), "high": float(found.high)}


def _sizes(table: pd.DataFrame) -> np.ndarray:
    return np.bincount(_codes(table)).astype(float)


def _two_errors(table: pd.DataFrame) -> Numbers:
    first, sizes = _totals(table).T
    value = first.sum() / sizes.sum()
    away = first - value * sizes
    return {
        "left out": resampling.left_out_error(away / sizes.sum(), sizes),
        "items": resampling.item_error(away, sizes, float(value * (1 - value))),
    }


def _sides(table: pd.DataFrame) -> list[np.ndarray]:
    """Return the sums of the first and of the second values by cluster, as two sides."""
    columns = [np.stack([_floats(table[name]), np.ones(len(table))], axis=1) for name in ("first", "second")]
    return [resampling.cluster_totals(each, _codes(table)) for each in columns]


def _contrast_of_means(table: pd.DataFrame) -> Numbers:
    mean = resampling.ratios((0, 1))
    return estimates(resampling.contrast_of_means("d", _sides(table), mean, (1.0, -1.0), 2 * len(table)))


def _share(table: pd.DataFrame) -> Numbers:
    totals = _totals(table)
    return estimates(inference.share(totals[:, 0], totals[:, 1]))


CASES: dict[str, tuple[str, Callable[..., Numbers]]] = {
    "d3stats.Trajectories.from_frame": ("turns", _array_view),
    "d3stats.Trajectories.from_arrays": ("turns", _from_arrays),
    "d3stats.read_log": ("turns", _files),
    "d3stats.count_log": ("turns", _files),
    "d3stats.count": ("turns", _files),
    "d3stats.log.write_counts": ("turns", _files),
    "d3stats.log.read_counts": ("turns", _files),
    "d3stats.doctor": ("turns", _files),
    "d3stats.log.fix_log": ("turns", _clean_copy),
    "d3stats.log.write_csv": ("turns", _files),
    "d3stats.log.write_jsonl": ("turns", _files),
    "d3stats.log.write_parquet": ("turns", _files),
    "d3stats.counts.ConfusionCounts": ("ratings", _confusion),
    "d3stats.run.read_items": ("turns", _items),
    "d3stats.fit_rounds": ("turns", lambda t: _fit(fit_rounds(_counts_by_round(t), n_components=1)[1])),
    "d3stats.fit_beta_binomial": ("turns", lambda t: _fit(fit_beta_binomial(_first_round(t)))),
    "d3stats.fit_beta_binomial_mixture": (
        "turns",
        lambda t: _fit(fit_beta_binomial_mixture(_first_round(t), n_components=2, rng=1)),
    ),
    "d3stats.fit_beta_binomial_mixture_batch": ("turns", _batch),
    "d3stats.likelihood_ratio_test": ("turns", _lrt),
    "d3stats.rounds_drift": ("turns", _drift),
    "d3stats.martingale_test": ("turns", _martingale),
    "d3stats.fit": ("turns", _describe),
    "d3stats.replay": ("turns", _replay),
    "d3stats.scan": ("turns", _scan),
    "d3stats.risk_controlled": ("turns", _risk),
    "d3stats.planning.conformal_risk_control": ("turns", _conformal),
    "d3stats.abstain": ("turns", _abstained),
    "d3stats.planning.label_value": ("turns", _label_value),
    "d3stats.plan": ("turns", _plan),
    "d3stats.calibrate": ("turns", _calibrate),
    "d3stats.stopping.rounds_of": ("turns", _rounds),
    "d3stats.stopping.batch_rounds": ("turns", _rounds),
    "d3stats.gap_posterior": ("scores", _gap),
    "d3stats.signed_gap_posterior": ("scores", _signed_gap),
    "d3stats.agreement": ("ratings", _agreement),
    "d3stats.cohen_kappa": ("ratings", _cohen),
    "d3stats.inference.as_ratings": ("ratings", _ratings),
    "d3stats.inference.fleiss_kappa": ("ratings", _agreed(inference.fleiss_kappa)),
    "d3stats.inference.gwet_ac": ("ratings", _agreed(inference.gwet_ac)),
    "d3stats.inference.krippendorff_alpha": ("ratings", _agreed(inference.krippendorff_alpha)),
    "d3stats.inference.percent_agreement": ("ratings", _agreed(inference.percent_agreement)),
    "d3stats.jury_curve": ("ratings", _jury),
    "d3stats.prediction_powered_mean": ("ratings", _powered),
    "d3stats.inference.prediction_powered_difference": ("runs", _powered_difference),
    "d3stats.inference.correct_rate": ("ratings", _correct),
    "d3stats.compare": ("runs", _compare),
    "d3stats.inference.as_run": ("runs", lambda t: {"mean": inference.as_run(_two_runs(t)[0]).value.mean()}),
    "d3stats.inference.pair": ("runs", lambda t: {"sum": _pair(t).values.sum()}),
    "d3stats.inference.paired_difference": ("runs", _paired),
    "d3stats.inference.discordant_pairs": (
        "runs",
        lambda t: dict(zip("bc", inference.discordant_pairs(t["first"], t["second"]), strict=True)),
    ),
    "d3stats.inference.noninferiority": ("runs", _margin(inference.noninferiority)),
    "d3stats.inference.equivalence": ("runs", _margin(inference.equivalence)),
    "d3stats.plan_comparison": ("runs", lambda t: _flat(plan_comparison(_pair(t), 0.1).to_dict())),
    "d3stats.inference.correlation": ("runs", _rank(inference.correlation)),
    "d3stats.inference.spearman": ("runs", _rank(inference.spearman)),
    "d3stats.inference.kendall": ("runs", _rank(inference.kendall)),
    "d3stats.inference.share": ("runs", _share),
    "d3stats.position_bias": ("verdicts", _position),
    "d3stats.bias": ("verdicts", lambda t: _of_judges(bias.bias(t))),
    "d3stats.inference.bias.each_judge": ("verdicts", _position),
    "d3stats.inference.bias.as_judgments": ("verdicts", _judgments),
    "d3stats.inference.as_pairwise": ("pairs", _pairwise),
    "d3stats.rank": ("pairs", _ranked),
    "d3stats.inference.length_bias": (
        "verdicts",
        lambda t: _audit(inference.length_bias(t, judge="judge x")),
    ),
    "d3stats.inference.self_preference": (
        "verdicts",
        lambda t: _audit(inference.self_preference(t, judge="judge x")),
    ),
    "d3stats.rationales": ("said", _rationales),
    "d3stats.inference.rationale_texts": ("said", _rationale_texts),
    "d3stats.inference.compare_rationales": ("said", _compare_rationales),
    "d3stats.planning.join_protocols": ("courts", _joined),
    "d3stats.escalate": ("courts", _escalation),
    "d3stats.planning.score_gaps": ("scores", _score_gaps),
    "d3stats.scores": ("scores", _described_scores),
    "d3stats.inference.stratify": ("runs", _strata),
    "d3stats.inference.aspect_correlations": ("runs", _aspects),
    "d3stats.inference.borda_count": ("runs", _borda),
    "d3stats.inference.persona_effect": ("personas", lambda t: _audit(inference.persona_effect(t))),
    "d3stats.resampling.cluster_totals": ("runs", lambda t: {"sum": (_totals(t) ** 2).sum()}),
    "d3stats.resampling.cluster_t": ("runs", _cluster_t),
    "d3stats.resampling.jackknife": ("runs", _jackknife),
    "d3stats.resampling.sign_flip_p": ("runs", _sign_flip),
    "d3stats.resampling.cluster_codes": (
        "runs",
        lambda t: {"sizes": float((np.bincount(_codes(t)) ** 2).sum())},
    ),
    "d3stats.resampling.hotelling": ("runs", lambda t: {"f": resampling.hotelling(_both_totals(t)).f}),
    "d3stats.resampling.anova_sums": (
        "runs",
        lambda t: {"squares": (resampling.anova_sums(_floats(t["first"]), _codes(t)) ** 2).sum()},
    ),
    "d3stats.resampling.mean_squares": (
        "runs",
        lambda t: {str(k): float(x[0]) for k, x in enumerate(_mean_squares(t))},
    ),
    "d3stats.resampling.intraclass": (
        "runs",
        lambda t: {"icc": float(resampling.intraclass(*_mean_squares(t))[0])},
    ),
    "d3stats.resampling.cluster_estimate": ("runs", _cluster_estimate),
    "d3stats.resampling.effective_clusters": (
        "runs",
        lambda t: {"k": resampling.effective_clusters(_sizes(t))},
    ),
    "d3stats.resampling.degrees_of_freedom": (
        "runs",
        lambda t: {"df": resampling.degrees_of_freedom(_sizes(t))},
    ),
    "d3stats.resampling.item_ratio": ("runs", _item_ratio),
    "d3stats.resampling.item_ratio_error": ("runs", _item_ratio),
    "d3stats.resampling.left_out_error": ("runs", _two_errors),
    "d3stats.resampling.item_error": ("runs", _two_errors),
    "d3stats.resampling.contrast_of_shares": (
        "runs",
        lambda t: estimates(resampling.contrast_of_shares("d", np.hstack(_sides(t)), (1.0, -1.0))),
    ),
    "d3stats.resampling.contrast_of_means": ("runs", _contrast_of_means),
    "d3stats.inference.effective_jurors": ("ratings", _effective_jurors),
    "d3stats.panel": ("ratings", _panel),
    "d3stats.confidence": ("turns", _confidence),
    "d3stats.inference.dawid_skene": ("ratings", _without_labels),
    "d3stats.inference.glad": ("ratings", _abilities),
    "d3stats.resampling.clustered_share": ("runs", _clustered_share),
    "d3stats.resampling.share_limits": ("runs", _share_limits),
}
"""Each public function of data: the table that it is tried on, and what of its result must not change."""

NO_CASE = {
    "d3stats.evaluate": "a process, not data",
    "d3stats.correct": "calls functions that have cases, category by category",
    "d3stats.inference.rationale_strata": "results of rationales(), which has a case; it puts them in rows",
    "d3stats.sample_size": "numbers of a design",
    "d3stats.power": "numbers of a design",
    "d3stats.separation": "laws, not data",
    "d3stats.read_study": "a study of synthetic worlds",
    "d3stats.planning.needed_debates": "numbers of a design",
    "d3stats.planning.audit_shares": "numbers of a design",
    "d3stats.planning.net_design": "numbers of a design",
    "d3stats.planning.over_budget": "numbers of a design",
    "d3stats.inference.conditional_independence": "takes four judges; the fit is that of dawid_skene, which has a case",
    "d3stats.planning.pilot_sizes": "the chain of a plan, which has a case, and draws of pilots",
    "d3stats.import_log": "one foreign format each, held against an own parse in tests/log/importers",
    "d3stats.log.causes_of": "problems, which the tables do not have; tried in tests/log/test_causes.py",
    "d3stats.log.iter_records": "records as they stand in the file",
    "d3stats.datasets.load_round_counts": "a bundled table",
    "d3stats.datasets.load_gemma": "a bundled table",
    "d3stats.datasets.load_slm7": "a bundled table",
    "d3stats.as_trajectories": "one door to the others; each form is tried in tests/test_one_door.py",
    "d3stats.open": "one door to the others; each form is tried in tests/test_one_door.py",
    "d3stats.paper": "arranges results of functions that have cases; tests/report/test_paper.py compares the numbers",
    "d3stats.inference.agreement_by_log": "calls agreement for each log",
    "d3stats.resampling.too_unequal": "a reason in words, of the number that effective_clusters gives",
    "d3stats.datasets.path": "a bundled table",
    "d3stats.agent.always": "a decision on one call",
    "d3stats.agent.cut": "one text",
    "d3stats.report": "calls the functions that have a case; its numbers equal theirs in tests/report/test_page.py",
    "d3stats.debate": "runs debates; live and replayed debates are compared in tests/run",
    "d3stats.run.run_debates": "runs debates; live and replayed debates are compared in tests/run",
    "d3stats.run.forecast": "runs debates; live and replayed debates are compared in tests/run",
    "d3stats.protocols.drive": "plays one debate",
    "d3stats.protocols.play_sync": "plays one debate",
    "d3stats.protocols.protocol_from_text": "text of a protocol",
    "d3stats.protocols.protocols": "a list of names",
    "d3stats.stopping.from_text": "text of a rule",
    "d3stats.stopping.stop_round_of_series": "one series of distances",
    "d3stats.simulate": "a study of synthetic worlds",
    "d3stats.inference.adjust": "p-values",
    "d3stats.inference.condorcet": "numbers of a design",
    "d3stats.inference.correct_counts": "counts",
    "d3stats.inference.correct_shares": "counts",
    "d3stats.inference.estimates_frame": "estimates",
    "d3stats.inference.estimates_latex": "estimates",
    "d3stats.inference.exact_coverage": "numbers of a design",
    "d3stats.inference.minimum_detectable_effect": "numbers of a design",
    "d3stats.inference.proportion_interval": "counts",
    "d3stats.inference.bias.audits_frame": "audits",
    "d3stats.inference.bias.position_frame": "audits",
    "d3stats.inference.bias.position_table": "estimates",
    "d3stats.inference.bias.subset_accuracy": "draws subsets of columns",
    "d3stats.protocols.schematic": "plays a protocol",
    "d3stats.inference.direct_scores": "reads logs of one response, which the log's readers show",
    "d3stats.resampling.bootstrap": "draws clusters by their order",
    "d3stats.resampling.bootstrap_limits": "draws clusters by their order",
    "d3stats.resampling.ratios": "a statistic",
    "d3stats.resampling.bca_ends": "replicates",
    "d3stats.resampling.percentile_ends": "replicates",
    "d3stats.resampling.resampled_counts": "draws clusters by their order",
    "d3stats.resampling.resampled_totals": "draws clusters by their order",
    "d3stats.resampling.student_limits": "sums of clusters",
    "d3stats.resampling.swapped_totals": "draws clusters by their order",
    "d3stats.models.bayes.fit_mixture": "reads Counts, whose invariance the frequentist fits show",
    "d3stats.models.bayes.fit_rounds": "reads RoundCounts, whose invariance the frequentist fits show",
    "d3stats.models.bayes.fit_paired": "sampled; relabelling is tried in tests/models/bayes",
    "d3stats.models.bayes.fit_accuracy": "sampled; relabelling is tried in tests/models/bayes",
    "d3stats.models.bayes.mixture_model": "builds the model of fit_mixture",
    "d3stats.models.bayes.rounds_model": "builds the model of fit_rounds",
    "d3stats.models.bayes.paired_model": "builds the model of fit_paired",
    "d3stats.models.bayes.panel_model": "builds a model; nothing is fitted",
    "d3stats.models.bayes.accuracy_model": "builds the model of fit_accuracy",
}
"""Public functions without a case, and why."""

ROOMS = (
    "d3stats", "d3stats.agent", "d3stats.datasets", "d3stats.run", "d3stats.inference", "d3stats.planning",
    "d3stats.protocols", "d3stats.stopping", "d3stats.theory", "d3stats.worlds", "d3stats.log",
    "d3stats.resampling", "d3stats.inference.bias", "d3stats.models.bayes",
)  # fmt: skip
NO_DATA_ROOMS = ("d3stats.theory", "d3stats.worlds", "d3stats.plotting")
"""Rooms whose functions take claims, worlds or finished tables."""


def public_functions() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if (
                inspect.isfunction(value)
                and value.__module__.startswith("d3stats")
                and room not in NO_DATA_ROOMS
            ):
                found.setdefault(value, f"{room}.{name}")
    return found


def test_every_public_function_has_a_case_or_takes_no_data() -> None:
    known = set(public_functions().values())
    assert known - set(CASES) - set(NO_CASE) == set(), "give each a case, or say why it has none"
    assert set(NO_CASE) - known == set()
    assert not set(CASES) & set(NO_CASE)
    assert set(CASES) - known <= {
        "d3stats.Trajectories.from_frame",
        "d3stats.Trajectories.from_arrays",
        "d3stats.counts.ConfusionCounts",
    }


# -------------------------------------------------------------------- the changes


def _renamed(column: str, change: Callable[[Any], Any]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda t: t.assign(**{column: [change(x) for x in t[column]]}) if column in t else t


def _answers(change: Callable[[Any], Any]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def apply(t: pd.DataFrame) -> pd.DataFrame:
        return t.assign(**{c: [change(x) for x in t[c]] for c in ("vote", "label") if c in t})

    return apply


def _dtype(kind: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def apply(t: pd.DataFrame) -> pd.DataFrame:
        columns = [c for c in ("vote", "label", "first", "second") if c in t]
        return t.assign(**{c: _cast(t[c], kind) for c in columns})

    return apply


def _cast(column: pd.Series, kind: str) -> pd.Series:
    if kind == "text":
        return column.astype(str)
    if kind == "text of floats":
        return column.astype(float).astype(str) if pd.api.types.is_numeric_dtype(column) else column
    if kind == "padded text":
        return " " + column.astype(str) + " "
    if kind == "category":
        return column.astype("category")
    if kind == "object":
        return column.astype(object)
    if kind == "string":
        return column.astype("string")
    if kind == "bool":
        return column.astype(bool) if set(column.unique()) <= {0, 1} else column
    if not pd.api.types.is_numeric_dtype(column):
        return column
    return column.astype(kind)


def _shuffled(t: pd.DataFrame) -> pd.DataFrame:
    return t.sample(frac=1.0, random_state=3).reset_index(drop=True)


CHANGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "answers renamed": _answers(lambda x: f"answer {x}"),
    "answers renamed in reverse order": _answers(lambda x: {3: "z", 5: "y", 8: "x", 0: "z", 1: "y"}.get(x, x)),
    "agents renamed": _renamed("agent", lambda x: f"model {x}"),
    "seats in reverse order": _renamed("agent", lambda x: {"ag0": "ag2", "ag1": "ag1", "ag2": "ag0"}.get(x, x)),
    "debates renamed": _renamed("debate", lambda x: f"debate {x}"),
    "questions renamed": _renamed("question", lambda x: f"question {x}"),
    "clusters renamed": _renamed("cluster", lambda x: f"cluster {x}"),
    "items renamed": _renamed("item", lambda x: f"item {x}"),
    "rows reordered": _shuffled,
    **{f"dtype {kind}": _dtype(kind) for kind in
       ("text", "text of floats", "padded text", "category", "object", "string", "float64", "Int64", "Float64", "int8",
        "bool")},
    "columns reordered": lambda t: t[t.columns[::-1]],
    "an index of its own": lambda t: t.set_index(np.arange(len(t)) * 7 + 3),
}  # fmt: skip

ONLY_TWO_ANSWERS = {"courts", "pairs", "scores", "verdicts", "personas"}
"""Tables whose answers are A and B by their meaning, so that they cannot be renamed."""
_RIGHT_OR_WRONG = {"d3stats.prediction_powered_mean", "d3stats.inference.correct_rate"}
"""Functions of numbers: an answer cannot be renamed."""

_SLOW = {
    "d3stats.fit", "d3stats.rounds_drift", "d3stats.plan", "d3stats.calibrate", "d3stats.jury_curve",
    "d3stats.likelihood_ratio_test", "d3stats.fit_beta_binomial_mixture", "d3stats.rationales",
    "d3stats.inference.borda_count", "d3stats.inference.compare_rationales", "d3stats.inference.effective_jurors",
    "d3stats.escalate",
}  # fmt: skip
"""Functions that take long."""
_LATER = {"d3stats.calibrate"}
"""A fit of counts by round: that these do not change is tried with the array view and with the other fits."""
_DOORS = {"d3stats.Trajectories.from_frame", "d3stats.Trajectories.from_arrays"}
"""What a table enters by."""
_OF_EACH_KIND = (
    "answers renamed in reverse order",
    "seats in reverse order",
    "rows reordered",
    "dtype text of floats",
)

_TEXTS = {"dtype text", "dtype text of floats", "dtype padded text", "dtype string"}

_known: dict[str, Numbers] = {}


def _result(name: str, table: pd.DataFrame, folder: Path) -> Numbers:
    case = CASES[name][1]
    result = case(table, folder) if case in (_files, _clean_copy) else case(table)
    return {key: float(value) for key, value in result.items()}


@cache
def _told_apart(kind: str) -> tuple[list[str], list[str]]:
    """Return the changes that make another table of a kind, and those that make another file of it."""
    table = TABLES[kind]()
    written = table.to_csv(index=False)
    tables, files = [], []
    for change, apply in CHANGES.items():
        changed = apply(table)
        same = list(changed.columns) == list(table.columns) and changed.index.equals(table.index)
        if not same or any(
            changed[c].dtype != table[c].dtype or changed[c].tolist() != table[c].tolist() for c in table
        ):
            tables.append(change)
            if changed.to_csv(index=False) != written:  # a file has no dtype
                files.append(change)
    return tables, files


def _changes_that_say_something(name: str) -> list[str]:
    kind, case = CASES[name]
    tables, files = _told_apart(kind)
    fixed = kind in ONLY_TWO_ANSWERS or kind == "runs" or name in _RIGHT_OR_WRONG
    return [
        change
        for change in (files if case in (_files, _clean_copy) else tables)
        if not (fixed and change.startswith("answers renamed"))
    ]


def _tried() -> list[Any]:
    """Return every change of every function.

    How a table is read does not depend on the function behind it, but a function may still sort or compare by itself.
    So one function of each table sees every change in the fast layer, and the reader of files two kinds; the others see
    one change, dealt in turn, and all the rest when slow tests run.
    """
    out, seen = [], set()
    first: dict[str, str] = {}
    for name, (kind, _) in CASES.items():
        if kind != "turns" and name not in _SLOW:
            first.setdefault(kind, name)
    whole = _DOORS | set(first.values())
    for name, (_, case) in CASES.items():
        if case in seen:  # one case for several functions
            continue
        seen.add(case)
        changes = _changes_that_say_something(name)
        kinds = [change for change in _OF_EACH_KIND if change in changes]
        soon = set(kinds[::3]) if case is _files else {kinds[len(seen) % len(kinds)]}
        for change in changes:
            late = (name not in whole and change not in soon) or name in _LATER
            out.append(pytest.param(name, change, marks=[pytest.mark.slow] if late else []))
    return out


@pytest.mark.parametrize(("name", "change"), _tried())
def test_a_result_is_the_same_after(name: str, change: str, tmp_path: Path) -> None:
    table = TABLES[CASES[name][0]]()
    if name not in _known:
        (tmp_path / "first").mkdir()
        _known[name] = _result(name, table, tmp_path / "first")
        assert _known[name], "a case must return numbers"
        assert not any(map(math.isinf, _known[name].values()))
    (tmp_path / "second").mkdir()
    changed = CHANGES[change](table)
    if CASES[name][0] == "runs" and change in _TEXTS:  # a function of numbers may refuse text, in words
        try:
            found = _result(name, changed, tmp_path / "second")
        except (TypeError, ValueError) as refusal:
            found = _known[name] if "must be" in str(refusal) else {}
    else:
        found = _result(name, changed, tmp_path / "second")
    assert found == pytest.approx(_known[name], rel=1e-7, abs=1e-9, nan_ok=True)


LOG_CASES = [
    n
    for n, (kind, case) in CASES.items()
    if kind == "turns" and case not in (_files, _clean_copy, _from_arrays, _items)
]


def _slow_if_long(names: list[str]) -> list[Any]:
    return [pytest.param(n, marks=[pytest.mark.slow] if n in _SLOW else []) for n in names]


@pytest.mark.parametrize("name", _slow_if_long(LOG_CASES))
def test_a_log_split_in_two_and_joined_again_gives_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = turns_table()
    half = table["debate"] < "d12"
    whole = _result(name, table, tmp_path)

    def joined(turns: pd.DataFrame) -> Trajectories:
        # The halves differ in how they write the same answers, as files of two programs do.
        parts = turns[half.to_numpy()], turns[~half.to_numpy()].assign(vote=lambda t: t["vote"].astype(float))
        return Trajectories.concat(*(Trajectories.from_frame(part) for part in parts))

    monkeypatch.setitem(globals(), "t_of", joined)
    assert _result(name, table, tmp_path) == pytest.approx(whole, rel=1e-7, abs=1e-9, nan_ok=True)


NOT_A_RATE = {
    "d3stats.abstain",
    "d3stats.planning.conformal_risk_control",
    "d3stats.planning.label_value",
    "d3stats.risk_controlled",
    "d3stats.plan",
    "d3stats.calibrate",
}
"""Results that a larger log changes: p-values, and parameters fitted with a prior."""


@pytest.mark.parametrize("name", _slow_if_long([n for n in LOG_CASES if n not in NOT_A_RATE]))
def test_a_log_written_twice_under_other_names_gives_the_same_rates(name: str, tmp_path: Path) -> None:
    table = turns_table()
    twice = pd.concat([table, table.assign(debate="copy of " + table["debate"])], ignore_index=True)
    one, two = _result(name, table, tmp_path), _result(name, twice, tmp_path)
    assert set(one) == set(two)
    for key, value in one.items():
        per_debate = two[key] / value if value else 1.0
        assert two[key] == pytest.approx(
            value, rel=1e-6, abs=1e-9, nan_ok=True
        ) or per_debate == pytest.approx(2.0, abs=0.2), (
            f"{key} is {value} once and {two[key]} twice: neither the same nor doubled"
        )
