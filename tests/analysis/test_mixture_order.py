"""The number of mixture components by round: tests and BIC come again from the counts that are bundled."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln, gammaln, logsumexp

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "analysis" / "mixture_order"


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8"))


def test_the_findings_hold_the_tables_that_the_study_wrote(
    module: dict[str, Any], made: dict[str, pd.DataFrame]
) -> None:
    text = (FOLDER / "findings.md").read_text(encoding="utf-8")
    fill = runpy.run_path(str(ROOT / "simulations" / "findings_tables.py"))["filled"]
    tables = module["shown"](made)
    assert fill(text, tables) == text
    assert text.count("<!-- end -->") == len(tables)


@pytest.mark.slow  # 1 s; the counts come again in the fast layer
def test_statistics_and_criteria_come_again_from_the_bundled_counts(
    module: dict[str, Any], made: dict[str, pd.DataFrame], config: dict[str, Any]
) -> None:
    small = config | {"n_boot": 9, "n_boot_more": 9, "n_starts": 2}
    written = made["orders"].set_index(["log", "round"])
    groups = list(module["grouped"](config))
    assert [(label, played) for label, played, _ in groups] == list(written.index)
    for label, played, counts in groups:
        if label not in ("small models, 7 seats, all", "GSM8K, 4 seats, majority wrong"):
            continue
        again, row = module["ordered"](label, played, counts, small), written.loc[label, played]
        for name in (
            "debates",
            "seats",
            "lrt_1_2",
            "lrt_2_3",
            "lrt_binomial",
            "bic_1",
            "bic_2",
            "bic_3",
            "chosen",
        ):
            assert again[name] == pytest.approx(row[name], rel=1e-4, abs=1e-4), name


def test_bic_is_that_of_a_plain_likelihood(module: dict[str, Any], made: dict[str, pd.DataFrame]) -> None:
    counts = next(c for label, played, c in module["grouped"](
        tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8"))
    ) if label == "small models, 7 seats, GSM8K" and played == 1)  # fmt: skip
    fit = module["fit_beta_binomial_mixture"](counts, n_components=2)
    law, s, n = fit.distribution, counts.keys[:, :1], counts.keys[:, 1:]
    strength = (1 - law.rho) / np.maximum(law.rho, 1e-12)
    a, b = law.mu * strength, (1 - law.mu) * strength
    choose = gammaln(n + 1) - gammaln(s + 1) - gammaln(n - s + 1)
    log = logsumexp(np.log(law.weight) + choose + betaln(a + s, b + n - s) - betaln(a, b), axis=1)
    bic = module["free_parameters"](2) * np.log(counts.n_obs) - 2 * float(counts.weights @ log)
    row = made["orders"].query("log == 'small models, 7 seats, GSM8K' and round == 1")
    assert row["bic_2"].item() == pytest.approx(bic, abs=1e-3)


def test_what_the_findings_say_in_words_follows_from_the_tables(made: dict[str, pd.DataFrame]) -> None:
    table = made["orders"]
    own = table[~table["log"].str.endswith(", all")]
    assert (len(own), (own["p_1_2"] < 0.05).sum(), (own["p_1_2_holm"] < 0.05).sum()) == (44, 11, 1)
    shared = own["debates"] != own["questions"]
    assert shared.equals(own["log"].str.startswith("small models"))
    alone = own.loc[~shared]
    assert (len(alone), (alone["p_1_2"] < 0.05).sum()) == (26, 7)
    assert alone["p_1_2_by_question"].equals(alone["p_1_2"])
    assert (shared.sum(), (own.loc[shared, "p_1_2"] < 0.05).sum()) == (18, 4)
    assert own.loc[shared, "p_1_2_by_question"].min() == pytest.approx(0.15, abs=0.005)
    assert own.loc[shared, "p_1_2"].min() == pytest.approx(0.0025)
    assert table.loc[table["chosen"] != 1, "log"].tolist() == ["Exchange-of-Thought, five of arithmetic"]
    slm7 = table[(table["log"] == "small models, 7 seats, all") & (table["round"] == 1)]
    assert slm7["lrt_1_2"].item() == pytest.approx(7.41, abs=0.005)
    assert slm7["p_1_2"].item() == pytest.approx(0.046)
    assert slm7["p_1_2_by_question"].item() == pytest.approx(0.59, abs=0.005)
    assert (table["p_binomial"] <= 0.002).all()
    power = made["power"].set_index(["seats", "debates"])
    assert power.loc[(7, 160), "power"] == pytest.approx(0.145)
    assert power.loc[(7, 2000), "power"] > 0.9
    assert (power.loc[[(7, 20), (7, 40)], "power"] < 0.1).all()
    size = made["size"]
    assert (size["debates_independent"] > 0.08).all()
    assert (size["questions_independent"] <= 0.05).all()


def test_counts_by_question_add_up_to_the_bundled_counts(
    module: dict[str, Any], config: dict[str, Any]
) -> None:
    for label, played, counts in module["grouped"](config):
        questions = module["shared_questions"](label, played)
        if not label.startswith("small models"):
            assert questions is None
            continue
        cells, n = np.unique([cell for each in questions for cell in each], axis=0, return_counts=True)
        found = {tuple(map(int, cell)): int(k) for cell, k in zip(cells, n, strict=True)}
        told = zip(counts.successes, counts.trials, counts.weights, strict=True)
        assert found == {(int(s), int(t)): int(w) for s, t, w in told}, (label, played)


def test_the_questions_of_seven_seats_are_those_of_the_bundled_log(module: dict[str, Any]) -> None:
    t = module["load_slm7"]()
    right, cast = t.successes_trials()
    for r in range(t.n_rounds):
        told = sorted(
            sorted(each) for each in module["shared_questions"]("small models, 7 seats, all", r + 1)
        )
        own: dict[int, list[tuple[int, int]]] = {}
        for d in np.flatnonzero(cast[:, r] > 0):
            own.setdefault(int(t.cluster[d]), []).append((int(right[d, r]), int(cast[d, r])))
        assert told == sorted(sorted(each) for each in own.values())


@pytest.mark.real_data
def test_the_counts_by_question_come_again_from_the_real_logs(module: dict[str, Any], data_dir: Path) -> None:
    again = module["by_question"](data_dir).to_csv(index=False, lineterminator="\n")
    assert again == (FOLDER / "questions.csv").read_text(encoding="utf-8")


def test_debates_that_repeat_leave_the_p_value_by_question_where_one_debate_has_it(
    module: dict[str, Any],
) -> None:
    rng = np.random.default_rng(4)
    once = [[(int(s), 7)] for s in rng.binomial(7, rng.beta(0.5, 0.2, 60))]
    how = {"n_draws": 5, "n_boot": 199, "n_starts": 4}
    one, each = module["p_by_question"](once, rng=np.random.default_rng(1), **how)
    assert np.ptp(each) == 0  # one debate for each question: all draws are the data
    assert one == pytest.approx(min(1.0, 2 * each[0]))
    four, _ = module["p_by_question"]([q * 4 for q in once], rng=np.random.default_rng(2), **how)
    assert four == pytest.approx(one, abs=0.15)  # 199 simulated data sets each


@pytest.mark.slow
def test_the_test_by_question_keeps_its_size_where_debates_repeat(
    module: dict[str, Any], made: dict[str, pd.DataFrame], config: dict[str, Any]
) -> None:
    small = config | {"size": config["size"] | {"questions": [20], "replicates": 200}}
    again = module["size"](small).set_index("shared")
    error = np.sqrt(0.05 * 0.95 / 200)
    assert (again["questions_independent"] < 0.05 + 3 * error).all()
    assert (again["debates_independent"] > 0.05).all()
    written = made["size"].query("questions == 20").set_index("shared")
    both = np.sqrt(0.25 * (1 / 200 + 1 / 300))
    assert np.allclose(again["debates_independent"], written["debates_independent"], atol=3 * both)


def test_bic_chooses_one_component_in_most_resamples(
    module: dict[str, Any], made: dict[str, pd.DataFrame], config: dict[str, Any]
) -> None:
    assert (made["resampled"]["K=1"] > 0.9).all()
    again = module["resampled"](config | {"n_resamples": 20, "n_starts": 4})
    assert again["questions"].tolist() == [40, 40, 40]
    assert (again["K=1"] > 0.7).all()
