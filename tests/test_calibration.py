"""Every public interval and test is in the calibration table, and the table says what its methods do."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multinomial

from d3stats.inference import exact_coverage, paired_difference

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "simulations" / "calibration"

SIGNS = {"conf_int", "p_value", "low", "high", "interval", "intervals", "estimates"}
CHANCES = {"level", "delta", "confidence", "alpha"}
SHOWN = {"find", "plot", "to_frame", "to_dict", "summary"}


@functools.cache
def study() -> dict[str, ModuleType]:
    """Import the study's modules; studies are no package."""
    sys.path[:0] = [str(STUDY.parent), str(STUDY)]
    try:
        return {name: importlib.import_module(name) for name in ("cells", "estimators", "page", "run")}
    finally:
        del sys.path[:2]


@functools.cache
def table() -> pd.DataFrame:
    return pd.read_csv(STUDY / "calibration.csv").fillna({"kind": "", "note": "", "quantity": ""})


@functools.cache
def public() -> dict[Any, tuple[str, ...]]:
    """Return the public functions and classes, each with all its public names."""
    found: dict[Any, list[str]] = {}
    for line in (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").split():
        module, _, name = line.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        if inspect.isfunction(value) or inspect.isclass(value):
            found.setdefault(value, []).append(line)
    return {value: tuple(names) for value, names in found.items()}


def has_an_interval(cls: type) -> bool:
    """Say whether instances hold limits, a p-value or an Estimate."""
    fields = {
        name: str(kind) for each in cls.__mro__ for name, kind in getattr(each, "__annotations__", {}).items()
    }
    return bool((set(dir(cls)) | set(fields)) & SIGNS) or any("Estimate" in kind for kind in fields.values())


def is_estimator(function: Any) -> bool:
    """Say whether a function takes a level, or returns something with limits, a p-value or an Estimate."""
    returned = str(function.__annotations__.get("return", ""))
    home = inspect.getmodule(function)
    classes = [getattr(home, word, None) for word in re.findall(r"\b[A-Z]\w+", returned)]
    return bool(CHANCES & set(inspect.signature(function).parameters)) or any(
        inspect.isclass(cls) and has_an_interval(cls) for cls in classes
    )


def estimators() -> Iterator[tuple[str, ...]]:
    """Yield the names of each public function, and of each method with a level of its own, that gives an interval."""
    for value, names in public().items():
        if value.__module__.startswith("d3stats.worlds"):
            continue  # worlds draw data; the limits there are those of parameters
        if inspect.isfunction(value):
            if is_estimator(value):
                yield names
            continue
        for name, method in list(vars(value).items()):
            if (
                inspect.isfunction(method)
                and not name.startswith("_")
                and name not in SHOWN
                and is_estimator(method)
            ):
                yield tuple(f"{each}.{name}" for each in names)


def identity(name: str) -> Any:
    """Return the function or class behind a public name; a method is the pair of its class and its name."""
    module, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), last)
    except ModuleNotFoundError:
        return identity(module), last


def accounts(name: str) -> set[Any]:
    """Return what accounts for a public name: itself, and for a method its class."""
    itself = identity(name)
    return {itself, itself[0]} if isinstance(itself, tuple) else {itself}


def test_every_public_interval_and_test_has_rows_or_a_reason() -> None:
    made = study()["estimators"]
    covered = {identity(name) for estimator in made.ESTIMATORS for name in estimator.covers}
    excepted = {identity(name) for name in made.EXCEPTIONS}
    missing = [names[0] for names in estimators() if not accounts(names[0]) & (covered | excepted)]
    assert missing == [], "not in simulations/calibration/estimators.py"


def test_the_list_of_estimators_names_nothing_else() -> None:
    made = study()["estimators"]
    known = {identity(name) for names in estimators() for name in names} | set(public())
    named = [name for estimator in made.ESTIMATORS for name in estimator.covers] + list(made.EXCEPTIONS)
    # A name without a level of its own stands there because a row measures its promise.
    assert [name for name in named if identity(name) not in known] == []
    both = {n for e in made.ESTIMATORS for n in e.covers} & set(made.EXCEPTIONS)
    assert both == set()
    assert all(len(reason) > 20 for reason in made.EXCEPTIONS.values())


def test_an_estimator_that_is_missing_is_found() -> None:
    names = {name for names in estimators() for name in names}
    wanted = (
        "share compare fleiss_kappa kendall position_bias jury_curve correct_counts stratify noninferiority"
    )
    assert {f"d3stats.inference.{name}" for name in wanted.split()} <= names
    assert {"d3stats.planning.plan", "d3stats.martingale_test", "d3stats.resampling.sign_flip_p"} <= names
    assert not names & {"d3stats.inference.condorcet", "d3stats.as_trajectories", "d3stats.worlds.simulate"}


def test_the_table_has_a_row_for_every_estimator_and_cell() -> None:
    rows = table()
    done = set(zip(rows["estimator"], rows["family"], rows["cell"], strict=True))
    wanted = {(e.name, c.family, c.name) for e, c in study()["run"].pairs()}
    assert wanted - done == set(), "measure them: make calibration"
    assert done - wanted == set(), "of cells or estimators that are gone: make calibration"


def test_every_quantity_is_measured_somewhere() -> None:
    """A call that always fails would look like a method that never prints an interval."""
    rows = table()
    rows = rows[rows["quantity"] != ""]
    known = rows.assign(known=rows["coverage"].notna() | rows["size"].notna())
    per = known.groupby(["estimator", "quantity"])["known"].any()
    assert per[~per].index.tolist() == []
    measured = set(known.loc[known["known"], "estimator"])
    assert {e.name for e in study()["estimators"].ESTIMATORS} - measured == set()


def test_every_family_has_sixteen_cells_and_cells_differ() -> None:
    cells = study()["cells"].CELLS
    count = pd.Series([cell.family for cell in cells]).value_counts()
    assert (count >= 16).all(), count.to_dict()
    assert len({(cell.family, cell.name) for cell in cells}) == len(cells)
    sizes = [cell.setting["sizes"] for cell in cells if "sizes" in cell.setting]
    assert [1, 2, 4, 8, 200] * 5 in sizes
    assert [50, 50, *[2] * 18] in sizes


def test_differences_have_cells_of_few_large_questions_whose_changes_go_one_way() -> None:
    """There the limits of a difference miss most; the page on resampling quotes the table."""
    cells = study()["cells"]
    hostile = [cell for cell in cells.CELLS if cell.family == "paired" and cell.setting.get("alike")]
    assert len(hostile) == 2
    covers = table().query("estimator == 'paired difference' and quantity == 'difference'").set_index("cell")
    text = (ROOT / "docs" / "methods" / "resampling.md").read_text(encoding="utf-8")
    for cell in hostile:
        drawn = [cells.draw(cell, np.random.default_rng(k)) for k in range(40)]
        changes = np.concatenate([data.b - data.a for data in drawn])
        assert (changes > 0).sum() >= 0.9 * (changes != 0).sum()
        assert (changes != 0).mean() < 0.1
        sizes = np.asarray(cell.setting["sizes"])
        assert sizes.sum() ** 2 / (sizes**2).sum() < len(sizes) / 2
        assert f"cover {100 * covers.loc[cell.name, 'coverage']:.1f} %" in text


def test_every_exception_is_on_the_page_with_its_reason() -> None:
    made, page = study()["estimators"], study()["page"].PAGE.read_text(encoding="utf-8")
    for name, reason in made.EXCEPTIONS.items():
        assert f"`{name.removeprefix('d3stats.')}`" in page
        assert reason in page


def test_rows_of_few_data_sets_below_the_bound_are_listed_or_miss() -> None:
    page, rows = study()["page"], table()
    below = rows["coverage"] < rows["level"] - 0.02
    few = below & (rows["replicates"] <= 200) & (rows["printed"] * rows["replicates"] >= 20)
    unshown, missed = page.unshown(rows).index, page.missed(rows).index
    assert set(unshown) | (set(missed) & set(rows.index[few])) == set(rows.index[few])
    assert len(unshown) > 0
    assert not set(unshown) & set(missed)


def test_the_misses_of_skewed_means_by_side_are_those_of_the_table() -> None:
    text = (ROOT / "docs" / "methods" / "resampling.md").read_text(encoding="utf-8")
    rows = table()[lambda t: (t["estimator"] == "cluster t") & (t["quantity"] == "linearised")].set_index(
        "cell"
    )
    for shown, cell in {
        "10 x 3, ICC .3": "10 x 3, law lognormal, icc 0.3",
        "20 x 1": "20 x 1, law lognormal",
        "40 x 5, ICC .3": "40 x 5, law lognormal, icc 0.3",
        "200 x 1": "200 x 1, law lognormal",
    }.items():
        above, below = (f"{rows.loc[cell, side]:.4f}"[1:] for side in ("above", "below"))
        assert f"| {shown} | {above} | {below} |" in text


def test_the_page_is_what_the_table_gives() -> None:
    page = study()["page"]
    assert page.PAGE.read_text(encoding="utf-8") == page.text(table()), (
        "python simulations/calibration/page.py"
    )


@pytest.mark.parametrize(
    "kind", ["Wilson", "Clopper-Pearson", "Jeffreys", "Agresti-Coull", "Bayes uniform", "Wald"]
)
def test_the_table_agrees_with_coverage_by_enumeration(kind: str) -> None:
    """Shares of independent items: the Binomial added up is a second way to every number of these rows."""
    cells = {c.name: c.setting for c in study()["cells"].CELLS if c.family == "share"}
    rows = table().query("estimator == 'share, independent' and quantity == @kind")
    assert len(rows) >= 6
    for row in rows.itertuples():
        n, p = len(cells[row.cell]["sizes"]), cells[row.cell]["p"]
        exact = float(exact_coverage(n, [p], kind)[0])
        error = np.sqrt(max(exact * (1 - exact), 1 / row.replicates) / row.replicates)
        assert abs(row.coverage - exact) < 4.5 * error, row.cell


@pytest.mark.parametrize(("n", "gained", "lost"), [(12, 0.3, 0.3), (12, 0.1, 0.1), (15, 0.4, 0.1)])
def test_a_difference_of_two_runs_holds_by_enumeration(n: int, gained: float, lost: float) -> None:
    """Every outcome of n independent items, weighted by its chance: no simulation, no error."""
    printed = covered = rejected = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            weight = multinomial.pmf([b, c, n - b - c], n, [gained, lost, 1 - gained - lost])
            first, second = np.zeros(n), np.zeros(n)
            second[:b], first[b : b + c] = 1, 1
            found = paired_difference(first, second)
            e = found.difference
            if e.low is not None and e.high is not None:
                printed += weight
                covered += weight * (e.low - 1e-9 <= gained - lost <= e.high + 1e-9)
            rejected += weight * (found.p_value is not None and found.p_value <= 0.05)
    assert covered / printed >= 0.93
    assert gained != lost or rejected <= 0.065


def test_a_row_is_the_same_from_any_order_of_work() -> None:
    run = study()["run"]
    estimator, cell = next((e, c) for e, c in run.pairs(["position"]) if c.name.startswith("30 x 1"))
    first, again = (run.measure(estimator, cell, 5).drop(columns="seconds") for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


def test_a_stopped_run_goes_on_and_gives_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = study()["run"]
    pairs = [(e, c) for e, c in run.pairs(["cluster t"])][:3]
    monkeypatch.setattr(run, "pairs", lambda only=(): pairs)
    monkeypatch.setattr(run, "TABLE", tmp_path / "calibration.csv")
    assert len(run.fill((), 1, 0.0, False, False, 4)) == 0
    whole = run.fill((), 1, np.inf, False, False, 4)
    kept = whole[whole["cell"] != pairs[1][1].name]
    kept.to_csv(run.TABLE, index=False, float_format="%.6g")
    resumed = run.fill((), 1, np.inf, False, False, 4)
    # The row that was lost is measured again; a row with fewer data sets than asked for is too.
    pd.testing.assert_frame_equal(resumed.drop(columns="seconds"), whole.drop(columns="seconds"))
    assert (run.fill((), 1, np.inf, False, False, 6)["replicates"] == 6).all()


def test_a_method_that_cannot_hold_is_found_by_random_cells() -> None:
    """Wald's interval misses near 0 and 1, so random cells have to show it, and Clopper and Pearson's never misses."""
    run, made = study()["run"], study()["cells"]
    estimator = next(e for e in study()["estimators"].ESTIMATORS if e.name == "share, independent")
    cell = made.Cell("share", "random", {"sizes": [1] * 40, "p": 0.97, "icc": 0.0})
    rows = run.measure(estimator, cell, 300)
    assert study()["page"].missed(rows)["quantity"].tolist() == ["Wald"]
    drawn = [made.random_cell("share", k, 1).setting for k in range(20)]
    assert len({str(setting) for setting in drawn}) == 20


def test_drawn_shares_have_the_mean_and_the_correlation_of_their_cell() -> None:
    made = study()["cells"]
    cell = made.Cell("share", "", {"sizes": [5] * 2000, "p": 0.7, "icc": 0.3})
    right = made.draw(cell, np.random.default_rng(1)).right.reshape(-1, 5)
    assert abs(right.mean() - 0.7) < 0.03
    pairs = (right.sum(axis=1) ** 2 - right.sum(axis=1)).mean() / 20
    assert abs((pairs - right.mean() ** 2) / (right.mean() * (1 - right.mean())) - 0.3) < 0.05


def test_the_truth_of_correlations_is_that_of_scipy_on_a_large_sample() -> None:
    from scipy.stats import kendalltau, spearmanr

    made = study()["cells"]
    for levels, skew in ((0, 1.0), (2, 0.25), (5, 0.5)):
        setting = {"sizes": [1] * 40_000, "rho": 0.6, "levels": levels, "skew": skew, "icc": 0.0}
        data = made.draw(made.Cell("scores", "", setting), np.random.default_rng(2))
        assert abs(kendalltau(data.x, data.y).statistic - data.truth["kendall"]) < 0.015
        assert abs(spearmanr(data.x, data.y).statistic - data.truth["spearman"]) < 0.015


def test_the_truth_of_agreement_and_juries_is_that_of_a_large_sample() -> None:
    made = study()["cells"]
    setting = {"sizes": [1] * 60_000, "shares": [0.6, 0.3, 0.1], "raters": 2, "reliability": 0.6, "icc": 0.0}
    data = made.draw(made.Cell("ratings", "", setting), np.random.default_rng(3))
    a, b = data.ratings.T.astype(int)
    both = np.bincount(3 * a + b, minlength=9).reshape(3, 3) / len(a)
    chance = both.sum(axis=1) @ both.sum(axis=0)
    assert abs((np.trace(both) - chance) / (1 - chance) - data.truth["kappa"]) < 0.02
    independent = {"sizes": [1] * 10, "accuracies": [0.7] * 5, "shared": 0.0, "icc": 0.0}
    truth = made.draw(made.Cell("jury", "", independent), np.random.default_rng(4)).truth
    assert abs(truth["accuracy"] - binom.sf(2, 5, 0.7)) < 0.004
    assert abs(truth["kish"] - 5) < 0.05
    assert abs(truth["subset"] - binom.sf(1, 3, 0.7)) < 0.004


def test_the_truth_of_debates_with_missing_votes_is_what_a_large_log_shows() -> None:
    from d3stats.planning import replay

    made = study()
    setting = {"accuracy": 0.7, "precision": 4.0, "copying": 0.5, "seats": 5, "rounds": 4, "missing": 0.1}
    cell = made["cells"].Cell("rounds", "", setting | {"sizes": [1] * 20_000})
    data = made["cells"].draw(cell, np.random.default_rng(5))
    log = made["estimators"]._trajectories(data)
    found = replay(log, ["unanimity", "fixed:1"]).to_frame().set_index("rule")
    for rule, column, name in (
        ("unanimity", "accuracy", "accuracy"),
        ("unanimity", "agreement", "agreement"),
        ("unanimity", "lost", "lost"),
        ("unanimity", "rounds", "rounds"),
        ("fixed:1", "accuracy", "first"),
        ("fixed:1", "agreement", "first agreement"),
    ):
        assert abs(found.loc[rule, column] - data.truth[name]) < 0.012, (rule, column)
