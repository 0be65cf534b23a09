"""An argument of a public function changes the result in every kind of source, or is refused.

An argument that one kind of source takes and another passes over gives numbers that were not asked for, without a word.
`tests/cli/test_no_option_is_ignored.py` holds the same of the options of the terminal.
"""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import dealt

import d3stats
from d3stats import inference, planning
from d3stats.inference import bias
from d3stats.log import count, count_log, doctor, read_log, write_jsonl
from d3stats.log.transcript import read_transcript
from d3stats.run.items import read_items
from d3stats.sources import Reading, open_all
from d3stats.trajectories import Trajectories


def debates(seed: int = 1, n: int = 36) -> pd.DataFrame:
    """Three judges, three rounds, two debates a question, two kinds of question, tokens, scores, a missing vote."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(n):
        truth = "AB"[d // 2 % 2]
        for r in (1, 2, 3):
            for k, agent in enumerate(("x (1-2)", "x (2-1)", "y (1-2)")):
                right = rng.random() < 0.5 + 0.12 * r - 0.1 * (d % 2)
                vote = truth if right else "BA"["AB".index(truth)]
                points = {side: {"merit": float(rng.integers(1, 11))} for side in "AB"}
                rows.append((f"d{d:02d}", f"q{d // 2:02d}", r, agent, ("judge", "judge", "juror")[k],
                             vote, truth, points, 40 + 10 * r + k, ["odd", "even"][d // 2 % 3 > 0]))  # fmt: skip
    names = ["debate", "question", "round", "agent", "role", "vote", "label", "scores", "tokens", "kind"]
    table = pd.DataFrame(rows, columns=names)
    table.loc[[8, 44, 101, 51, 52, 53], "vote"] = None  # the last three are all votes of a round
    return table


def items(seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    right = (rng.random(60) < 0.6).astype(float)
    right[7] = np.nan
    return pd.DataFrame({"item": [f"i{k:02d}" for k in range(60)], "correct": right, "other": rng.random(60),
                         "cluster": [f"c{k // 3:02d}" if k < 30 else f"e{k}" for k in range(60)],
                         "kind": ["odd", "even"] * 30})  # fmt: skip


def ratings(seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(40):
        truth = int(rng.integers(1, 6))
        for rater in range(3):
            vote = truth if rng.random() < 0.6 else int(rng.integers(1, 6))
            rows.append(
                (f"i{item:02d}", f"rater {rater}", vote, f"c{item // 2:02d}", ["odd", "even"][item % 2])
            )
    return pd.DataFrame(rows, columns=["item", "rater", "vote", "cluster", "kind"])


def verdicts(seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(60):
        truth, length = "AB"[int(rng.integers(0, 2))], rng.integers(50, 300, 2)
        for judge, family in (("judge x", "x"), ("judge y", "y"), ("judge z", "z")):
            for order in ("AB", "BA"):
                vote = truth if rng.random() < 0.7 else "BA"["AB".index(truth)]
                vote = order[0] if rng.random() < 0.2 else vote
                rows.append((f"i{item:02d}", judge, order, vote, truth, *map(int, length),
                             *("xy" if item % 2 else "yx"), family, ["odd", "even"][item % 3 > 0]))  # fmt: skip
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
    return pd.DataFrame(rows, columns=[*names, "kind"])


def pairs() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    first = rng.integers(0, 3, 120)
    second = (first + rng.integers(1, 3, 120)) % 3
    lead = 0.8 * (second - first) + 0.5 + rng.logistic(size=120)
    return pd.DataFrame(
        {
            "item": np.arange(120) // 3,
            "judge": np.where(rng.random(120) < 0.5, "x", "z"),
            "first": np.array(list("abc"))[first],
            "second": np.array(list("abc"))[second],
            "winner": np.where(np.abs(lead) < 0.5, "tie", np.where(lead > 0, "first", "second")),
        }
    )


def wide(table: pd.DataFrame) -> pd.DataFrame:
    return table.pivot_table(index="item", columns="rater", values="vote").reset_index()


@cache
def sources() -> dict[str, Any]:
    table, one, verdict = debates(), items(), verdicts()
    rated = ratings()
    return {
        "log": table, "read log": d3stats.open(table).log(), "array view": Trajectories.from_frame(table),
        "opened": d3stats.open(table),
        "items": one, "series": one.set_index("item")["correct"], "list": one["correct"].tolist(),
        "array": one["correct"].to_numpy(), "run": inference.as_run(one),
        "ratings": rated, "wide": wide(rated), "read ratings": inference.as_ratings(rated),
        "verdicts": verdict, "read verdicts": bias.as_judgments(verdict),
        "pairs": pairs(), "read pairs": inference.as_pairwise(pairs()),
    }  # fmt: skip


def _other(kind: str) -> Any:
    """Return a second run of the same kind, with other values."""
    if kind in ("log", "read log", "array view", "opened"):
        table = debates(seed=9)
        return {"log": table, "read log": d3stats.open(table).log(), "array view": Trajectories.from_frame(table),
                "opened": d3stats.open(table)}[kind]  # fmt: skip
    one = items(seed=6)
    return {"items": one, "series": one.set_index("item")["correct"], "list": one["correct"].tolist(),
            "array": one["correct"].to_numpy(), "run": inference.as_run(one)}[kind]  # fmt: skip


SLOW_FROM = ("log", "array view")
"""Kinds that functions of more than 0.1 s are tried with."""
LOGS = ("log", "read log", "array view", "opened")
RUNS = (*LOGS, "items", "series", "list", "array", "run")
RATED = (*LOGS, "ratings", "wide", "read ratings")
JUDGED = (*LOGS[:2], "verdicts", "read verdicts")

Call = Callable[..., Any]
CASES: dict[str, tuple[Call, tuple[str, ...], dict[str, Any], dict[str, Any]]] = {
    "compare": (d3stats.compare, RUNS, {"rng": 1}, {
        "names": ["one", "two"], "value": "votes", "by": "debate", "round_number": 1, "missing": "wrong",
        "weights": "question", "strata": "kind", "margin": 0.2, "level": 0.5, "kind": "basic",
        "test": "McNemar exact", "baseline": "A",
    }),
    "compare with a bootstrap": (d3stats.compare, ("log", "list"), {"kind": "percentile", "rng": 1}, {"n_boot": 50}),
    "as_run": (inference.as_run, RUNS, {}, {
        "name": "mine", "value": "votes", "by": "debate", "round_number": 1, "missing": "wrong",
    }),
    "agreement": (d3stats.agreement, RATED, {"rng": 1}, {
        "measures": ["alpha"], "raters": ["x (1-2)", "y (1-2)"], "weights": "linear",
        "metric": "interval", "round_number": 1, "categories": ["A", "B", "C", *range(7)], "repeats": "separate",
        "by": "question", "kind": "basic", "level": 0.5, "strata": "kind",
    }),
    "as_ratings": (inference.as_ratings, RATED, {}, {
        "round_number": 1, "categories": ["A", "B", "C", *range(7)], "raters": ["x (1-2)", "y (1-2)"],
        "repeats": "separate", "by": "question",
    }),
    "krippendorff_alpha": (inference.krippendorff_alpha, RATED, {"rng": 1}, {
        "metric": "interval", "kind": "basic", "level": 0.5, "categories": ["A", "B", "C", *range(7)],
    }),
    "gwet_ac": (inference.gwet_ac, RATED, {"rng": 1}, {
        "weights": "linear", "kind": "basic", "level": 0.5, "categories": ["A", "B", "C", *range(7)],
    }),
    "as_ratings of questions": (inference.as_ratings, LOGS, {"repeats": "separate"}, {"by": "question"}),
    "jury_curve": (d3stats.jury_curve, SLOW_FROM, {"rng": 1}, {
        "sizes": [1], "tokens": 100.0, "ties": "wrong", "level": 0.5, "round_number": 1, "n_permutations": 99,
    }),
    "glad": (inference.glad, SLOW_FROM, {"prevalence": "estimated"}, {
        "prior": 20.0, "level": 0.5, "round_number": 1,
    }),
    "glad of equal prevalences": (inference.glad, SLOW_FROM, {}, {"prevalence": "estimated"}),
    "dawid_skene": (inference.dawid_skene, SLOW_FROM, {}, {"prior": 2.0, "level": 0.5, "round_number": 1}),
    "rank": (d3stats.rank, ("pairs", "read pairs"), {}, {
        "reference": "c", "without": ["c"], "order": False, "effects": "judge", "penalty": 1.0, "scale": "elo",
        "level": 0.5,
    }),
    "position_bias": (d3stats.position_bias, JUDGED, {"rng": 1}, {
        "judge": "judge z", "votes": "slot", "level": 0.5, "strata": "kind",
    }),
    "bias": (d3stats.bias, JUDGED, {"rng": 1}, {
        "audit": "verbosity", "judges": ["judge z"], "votes": "slot", "level": 0.5, "strata": "kind",
    }),
    "length_bias": (inference.length_bias, JUDGED[2:], {"judge": "judge x"}, {
        "judge": "judge z", "votes": "slot", "use_label": False, "level": 0.5, "strata": "kind",
    }),
    "self_preference": (inference.self_preference, JUDGED[2:], {"judge": "judge x"}, {
        "judge": "judge y", "votes": "slot", "against": "all", "level": 0.5, "strata": "kind",
    }),
    "fit": (d3stats.fit, SLOW_FROM, {"rng": 1, "n_boot": 10}, {
        "n_components": 1, "missing": "wrong", "level": 0.5, "n_boot": 20,
    }),
    "fit_rounds": (d3stats.fit_rounds, LOGS, {}, {"n_components": 1, "n_binomial": 1, "penalty": 1.0}),
    "replay": (d3stats.replay, LOGS, {}, {
        "rules": ["fixed:1"], "missing": "wrong", "level": 0.5, "strata": "kind",
    }),
    "abstain": (d3stats.abstain, LOGS, {"max_error": 0.45, "confidence": 0.5}, {
        "max_error": 0.3, "confidence": 0.9, "rule": "fixed:1", "order": "none", "level": 0.5,
    }),
    "scan": (lambda log, rules=("fixed:1", "fixed:2"), **how: d3stats.scan(log, rules, **how), LOGS, {}, {
        "rules": ["fixed:1"], "missing": "wrong",
    }),
    "plan": (d3stats.plan, SLOW_FROM, {"rng": 1, "n_draws": 20, "max_loss": 0.2, "confidence": 0.5, "limit": False}, {
        "max_loss": 0.4, "confidence": 0.9, "level": 0.5, "debates": 5, "target": "agreement",
        "rules": ["supermajority:0.7"], "limit": True, "n_draws": 30,
    }),
    "martingale_test": (d3stats.martingale_test, LOGS, {}, {
        "missing": "wrong", "level": 0.5, "min_cell_clusters": 2,
    }),
    "gap_posterior": (d3stats.gap_posterior, LOGS, {}, {"a0": 2.0, "b0": 2.0, "first": 0.5}),
    "scores": (d3stats.scores, LOGS, {"rng": 1}, {"strata": "kind", "level": 0.5}),
    "score_gaps": (planning.score_gaps, LOGS[:1], {"strata": "kind"}, {
        "gap": "label", "level": 0.5,
    }),
    "risk_controlled": (
        lambda log, **how: d3stats.risk_controlled(log, ["fixed:1", "fixed:2"], **how),
        SLOW_FROM, {"max_loss_vs_full": 0.45, "delta": 0.2, "rng": 1}, {
        "max_loss_vs_full": 0.3, "delta": 0.05, "target": "accuracy", "method": "hoeffding_bentkus", "order": "split",
        "mean_over": "units",
    }),
    "conformal_risk_control": (
        lambda log, **how: planning.conformal_risk_control(log, ["fixed:2", "fixed:1"], **how),
        SLOW_FROM, {"max_loss_vs_full": 0.45}, {"max_loss_vs_full": 0.1, "target": "accuracy"},
    ),
}  # fmt: skip
"""The function, its kinds of source, settings of every call, and another value of each argument."""

NOTHING_TO_CHANGE: dict[tuple[str, str], tuple[str, ...]] = {
    # A row of a table is an item; the docstring says "in a log".
    **dict.fromkeys([("compare", "by"), ("as_run", "by")], ("items", "series", "list", "array")),
    **dict.fromkeys([("agreement", "by"), ("as_ratings", "by")], ("ratings", "wide")),
    # Each question is one item, or each item its own cluster.
    ("compare", "weights"): (*LOGS, "series", "list", "array"),
    # No rater votes twice on an item.
    **dict.fromkeys([("agreement", "repeats"), ("as_ratings", "repeats")], (*LOGS, "ratings", "wide")),
    # Each question has two debates.
    ("risk_controlled", "mean_over"): LOGS,
}
"""Function and argument to the kinds of source where the value that is tried gives the same, with the reason."""


def said(call: Call, form: str, settings: dict[str, Any]) -> str:
    """Return all that a call says, or its refusal."""
    source = sources()[form]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = (
                call(source, _other(form), **settings)
                if call is d3stats.compare
                else call(source, **settings)
            )
    except (ValueError, TypeError, KeyError) as error:
        return f"refused: {error}"
    if isinstance(found, pd.DataFrame):
        return found.to_csv()
    if hasattr(found, "to_dict"):
        return str(found.to_dict()) + str(getattr(found, "notes", ""))
    return str({name: np.asarray(value).tolist() if isinstance(value, np.ndarray) else repr(value)
                for name, value in vars(found).items()})  # fmt: skip


@cache
def with_other(function: str, kind: str, name: str) -> str:
    """Return what a call with another value of one argument says; the usual call for no name."""
    call, _, settings, others = CASES[function]
    return said(call, kind, {**settings, name: others[name]} if name else settings)


def ignored(function: str, kind: str, names: list[str]) -> tuple[str, list[str]]:
    usual = with_other(function, kind, "")
    return usual, [
        name for name in names
        if with_other(function, kind, name) == usual and kind not in NOTHING_TO_CHANGE.get((function, name), ())
    ]  # fmt: skip


SOON = dealt({function: others for function, (_, _, _, others) in CASES.items()})
"""Arguments of a function that the fast layer tries."""


def tried() -> list[Any]:
    """Return every function with every kind of source and the arguments that are tried.

    In the fast layer the first kind has every second argument, and one more kind, dealt in turn, the others; a function
    of one kind has all. An argument that several functions have is tried with every fourth of them.
    """
    found = []
    for i, (function, (_, kinds, _, _)) in enumerate(CASES.items()):
        for k, kind in enumerate(kinds):
            found.append(pytest.param(function, kind, "all", marks=pytest.mark.slow))
            which = "odd" if k else "even" if len(kinds) > 1 else "each"
            if k in (0, 1 + i % max(len(kinds) - 1, 1)) and names_of(function, which):
                found.append(pytest.param(function, kind, which))
    return found


def names_of(function: str, which: str) -> list[str]:
    names = [name for name in CASES[function][3] if which == "all" or name in SOON[function]]
    return {"even": names[::2], "odd": names[1::2]}.get(which, names)


@pytest.mark.parametrize(("function", "kind", "which"), tried())
def test_every_argument_has_an_effect_or_is_refused(function: str, kind: str, which: str) -> None:
    usual, same = ignored(function, kind, names_of(function, which))
    assert not usual.startswith("refused"), usual
    assert same == []


@pytest.mark.slow
@pytest.mark.parametrize("function", list(CASES))
def test_every_argument_is_tried_with_a_value_that_some_kind_of_source_takes(function: str) -> None:
    _, kinds, _, others = CASES[function]
    taken = {
        name for name in others if any(not with_other(function, kind, name).startswith("refused") for kind in kinds)
    }  # fmt: skip
    assert set(others) - taken == set()


ELSEWHERE = {
    "rng", "n_boot", "threads", "decisions", "personas", "needs", "price", "dollars", "baseline", "use_label",
    "against", "family", "human", "unit", "trials", "cluster", "a", "b", "n_starts", "method", "rules",
    "max_loss_vs_full", "delta",
}  # fmt: skip
"""Arguments without an effect by default, of one function of several kinds, or of the method alone."""


@pytest.mark.parametrize("function", [name for name in CASES if " " not in name])
def test_every_argument_of_these_functions_is_tried(function: str) -> None:
    _, _, settings, others = CASES[function]
    real = (
        getattr(d3stats, function, None) or getattr(inference, function, None) or getattr(planning, function)
    )
    keywords = {p.name for p in inspect.signature(real).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert keywords - set(others) - set(settings) - ELSEWHERE == set()


# ---------------------------------------------------------------------------- settings of reading


def _written(folder: Path, *, spoilt: bool) -> dict[str, Path]:
    """Write debates in every format: votes are sentences, two columns could hold them, roles have different votes."""
    rows = [
        (f"d{d}", 1, agent, role, f"The answer is {'AB'[(d + k) % 2]}.", "AB"[d % 3 > 0], "AB"[d % 2])
        for d in range(6)
        for k, (agent, role) in enumerate((("x", "judge"), ("y", "judge"), ("z", "juror")))
    ]
    names = ["debate", "round", "agent", "role", "vote", "other", "label"]
    table = pd.DataFrame(rows, columns=names)
    table.to_csv(folder / "log.csv", index=False)
    write_jsonl(folder / "log.csv", folder / "records.jsonl")
    if spoilt:
        table = table.astype({"round": object})
        table.loc[4, "round"] = "one"
        lines = (folder / "records.jsonl").read_text(encoding="utf-8")
        (folder / "records.jsonl").write_text(
            lines.replace('"round":1', '"round":"one"', 1), encoding="utf-8"
        )
    table.to_csv(folder / "log.csv", index=False)
    table.to_csv(folder / "log.tsv", index=False, sep="\t")
    rows_ = table.to_dict("records")
    (folder / "log.json").write_text(json.dumps(rows_), encoding="utf-8")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows_), encoding="utf-8")
    table.astype({"round": str} if spoilt else {}).to_parquet(folder / "log.parquet")
    with pd.ExcelWriter(folder / "log.xlsx") as book:
        table.to_excel(book, sheet_name="one", index=False)
        table.assign(vote=table["other"]).to_excel(book, sheet_name="two", index=False)
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Path], dict[str, Path]]:
    sound, spoilt = (
        _written(tmp_path_factory.mktemp(name), spoilt=name == "spoilt") for name in ("sound", "spoilt")
    )
    return sound, spoilt


OTHER_READING: dict[str, Any] = {
    "columns": {"vote": "other"}, "missing_values": ["A", "The answer is A."], "encoding": "utf-16", "sheet": "two",
    "scorer": "mine", "roles": ["judge"], "lenient": True, "strict": False, "read": "answer",
}  # fmt: skip
"""Another value of every setting of reading, which changes what these debates say."""

READERS: dict[str, Callable[..., Any]] = {
    "open": lambda path, **how: d3stats.open(path, **how).trajectories(),
    "read_log": read_log,
    "from_log": Trajectories.from_log,
    "count_log": count_log,
    "count": count,
    "doctor": lambda path, **how: replace(doctor(path, **how), options=()),
    "read_transcript": lambda path, **how: read_transcript(path, "d2", **how),
}
SETTINGS_OF = {
    name: ["missing_values", "encoding", "scorer"] if name == "doctor"
    else list(Reading.__annotations__) if name == "open"
    else ["columns", "encoding", "sheet", "scorer"] if name == "read_transcript"
    else [p for p in inspect.signature(function).parameters if p in OTHER_READING]
    for name, function in READERS.items()
}  # fmt: skip


def outcome(call: Callable[[], Any]) -> str:
    """Return all that a reader gives, or its refusal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except (ValueError, TypeError) as error:
        return f"refused: {error}"
    if isinstance(found, Trajectories):
        return repr((found.votes.tolist(), found.answers, found.seats, found.label.tolist(), found.notes))
    if hasattr(found, "turns") and isinstance(found.turns, pd.DataFrame):
        return found.turns.to_csv() + repr(found.notes)
    if hasattr(found, "rounds") and hasattr(found.rounds, "to_frame"):
        return found.rounds.to_frame().to_csv() + repr(found.notes)
    return repr(found)


@pytest.mark.parametrize("reader", list(READERS))
def test_every_setting_of_reading_has_an_effect_in_every_format_or_is_refused(
    reader: str, written: tuple[dict[str, Path], dict[str, Path]]
) -> None:
    same, read = [], set()
    for setting in SETTINGS_OF[reader]:
        for form, path in written[setting in ("lenient", "strict")].items():
            if reader == "read_transcript" and form == "rows.jsonl":
                continue  # it has no records of debates to show
            usual = outcome(lambda path=path: READERS[reader](path))
            assert usual.startswith("refused") == (setting in ("lenient", "strict")), (form, usual)
            value = OTHER_READING[setting]
            other = outcome(lambda path=path, how={setting: value}: READERS[reader](path, **how))
            if other == usual:
                same.append((setting, form))
            if not other.startswith("refused"):
                read.add(setting)
    assert same == []
    # A workbook of two sheets is read by its sheet; no file here is UTF-16 or a log of Inspect.
    assert set(SETTINGS_OF[reader]) - read <= {"encoding", "scorer"}


def test_a_setting_that_applies_to_one_of_several_files_is_taken(
    written: tuple[dict[str, Path], dict[str, Path]], tmp_path: Path
) -> None:
    records, other = written[0]["records.jsonl"], tmp_path / "other.csv"
    table = pd.DataFrame({"debate": ["é"] * 2, "agent": ["x", "y"], "round": 1, "vote": "A", "label": "A"})
    table.to_csv(other, index=False, encoding="latin-1")
    how: Reading = {"encoding": "latin-1"}
    assert len(d3stats.open([records, other], **how).trajectories()) == 7
    assert [len(one.trajectories()) for one in open_all([records, other], **how)] == [6, 1]
    assert len(read_log(records, other, **how).items) == 7
    assert count(records, other, **how).rounds == count_log(records, other, **how).rounds
    for call in (
        open_all,
        lambda paths, **how: count(*paths, **how),
        lambda paths, **how: read_log(*paths, **how),
    ):
        with pytest.raises(
            ValueError, match="encoding must be left out for files that are no CSV or TSV; got"
        ):
            call([records, written[0]["log.parquet"]], **how)


def test_settings_of_reading_of_what_was_read_are_refused() -> None:
    """Each public function with settings of reading is tried with what was read, alone and in a list."""
    ratings = pd.DataFrame(
        {"item": range(8), "judge": [0, 1] * 4, "label": [0, 1, 1, 0, 1, None, None, None]}
    )
    table = debates()
    view, log = Trajectories.from_frame(table), d3stats.open(table).log()
    opened = d3stats.open(table)
    read = [inference.as_ratings(ratings), bias.as_judgments(verdicts()), inference.as_pairwise(pairs()),
            inference.as_run(items()), view, opened, [view, view], [opened], [log, view]]  # fmt: skip
    refusing = set()
    for place in (d3stats, inference, bias, planning):
        for name in place.__all__:
            function = getattr(place, name)
            if not inspect.isfunction(function) or "reading" not in inspect.signature(function).parameters:
                continue
            needed = [
                p for p in inspect.signature(function).parameters.values()
                if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
            ]  # fmt: skip
            for source in read:
                said = outcome(lambda f=function, s=source, n=needed: f(*[s] * len(n), roles=["judge"]))
                assert said.startswith("refused"), (name, type(source).__name__, said[:80])
                if "must be left out" in said:
                    refusing.add((name, type(source).__name__))
    for known in (("correct", "Ratings"), ("gwet_ac", "Ratings"), ("position_bias", "Judgments"), ("rank", "Pairwise"),
                  ("compare", "Run"), ("open", "list"), ("replay", "Opened"), ("fit", "Trajectories")):  # fmt: skip
        assert known in refusing, known


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same pairs of answers as whatever holds items."""
    folder = tmp_path_factory.mktemp("items")
    pair = {
        "prompt": "Why?",
        "response_a": "So.",
        "response_b": "No.",
        "winner": "model_b",
        "other": "model_a",
    }
    table = pd.DataFrame([pair, {**pair, "prompt": "How?"}])
    table.to_csv(folder / "items.csv", index=False)
    table.to_parquet(folder / "items.parquet")
    table.to_excel(folder / "items.xlsx", index=False)
    table.to_json(folder / "items.json", orient="records")
    table.to_json(folder / "items.jsonl", orient="records", lines=True)
    files: dict[str, Any] = {path.name: path for path in sorted(folder.iterdir())}
    return files | {"a frame": table, "items": read_items(table)}


OTHER_ITEMS = {
    "format": "pandalm",
    "ties": True,
    "limit": 1,
    "columns": {"label": "other"},
    "encoding": "utf-16",
}


def test_every_setting_of_items_has_an_effect_in_every_form_or_is_refused(questions: dict[str, Any]) -> None:
    known = {p.name for p in inspect.signature(read_items).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert known - set(OTHER_ITEMS) == {"identical", "empty"}, (
        "tests/run/test_items.py has items that they refuse"
    )
    for form, source in questions.items():
        usual = outcome(lambda source=source: list(read_items(source)))
        assert not usual.startswith("refused"), (form, usual)
        for name, value in OTHER_ITEMS.items():
            assert outcome(lambda s=source, how={name: value}: list(read_items(s, **how))) != usual, (
                form,
                name,
            )


def test_items_say_why_an_encoding_is_refused(questions: dict[str, Any]) -> None:
    for form, said in (
        ("items.jsonl", "no CSV or TSV; got 'latin-1' for .*; save the file as UTF-8, which JSON is read as"),
        ("items.xlsx", "no CSV or TSV; got 'latin-1'"),
        ("a frame", "a DataFrame, which is a table; got 'latin-1'"),
        ("items", "DebateItems, which are read already; got 'latin-1'"),
    ):
        with pytest.raises(ValueError, match=f"encoding must be left out for .*{said}"):
            read_items(questions[form], encoding="latin-1")
    with pytest.raises(ValueError, match="encoding must be left out for the layout 'truthfulqa'"):
        read_items(questions["items.csv"], format="truthfulqa", encoding="latin-1")
