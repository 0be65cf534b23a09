"""The page, the terminal and Python recommend one rule, and no seed changes it without a word."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from d3stats import plan, report
from d3stats.planning.frontier import Candidate
from d3stats.planning.plan import CLOSE, cheapest_kept, close_calls
from d3stats.stopping.text import short_name
from d3stats.trajectories import Trajectories
from d3stats.worlds import Voter, simulate_debates

MODULE = importlib.import_module("d3stats.planning.plan")


def pilot(seed: int, debates: int = 24) -> Trajectories:
    """A small log; its size, panel and law follow from the seed."""
    rng = np.random.default_rng(seed)
    world = Voter(panel=int(rng.choice([3, 5, 7])), accuracy=float(rng.uniform(0.55, 0.9)))
    return simulate_debates(world, n_debates=debates, n_rounds=int(rng.integers(2, 6)), rng=seed)


def agree(seed: int) -> None:
    log = pilot(seed)
    page, made = report(log, names=["log"], n_boot=20, transcripts=0), plan(log)
    advised = page.to_frame("advice").iloc[0]
    assert advised["rule"] == short_name(made.rule)
    assert advised["saved"] == pytest.approx(made.to_frame()["saved"].iloc[0], nan_ok=True)
    (short,) = (section for section in page.sections if section.key == "short")
    labels = {figure.label: figure for part in short.parts for figure in part.figures}
    if str(made.rule) == "unanimity":
        assert labels["Saved by stopping early"].value == "nothing"
    else:
        assert made.headline in labels["The plan's rule saves"].words
    assert str(made.rule) in page.to_frame("rules")["rule"].tolist()


@pytest.mark.usefixtures("without_pictures", "few_draws_of_plans")
@pytest.mark.parametrize("seed", [0])
def test_page_and_plan_recommend_the_same_rule(seed: int) -> None:
    agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 210))
def test_page_and_plan_recommend_the_same_rule_on_200_logs(seed: int) -> None:
    agree(seed)


def test_the_recommendation_does_not_depend_on_the_seed() -> None:
    for log in map(pilot, range(2)):
        found = [plan(log, limit=False, n_draws=100, rng=seed) for seed in (0, 1)]
        assert len({(str(made.rule), made.probability) for made in found}) == 1


@pytest.mark.slow
def test_20_seeds_on_20_pilots_give_one_recommendation() -> None:
    for log in map(pilot, range(20)):
        assert len({str(plan(log, limit=False, rng=seed).rule) for seed in range(20)}) == 1


def changed_without_a_word(
    pilots: int, draws: int, n_draws: int, monkeypatch: pytest.MonkeyPatch
) -> list[bool]:
    """For every pilot and other sequence of parameter draws: another rule, and no sentence that it may be another."""
    found = []
    for log in (pilot(seed, debates=40) for seed in range(100, 100 + pilots)):
        monkeypatch.setattr(MODULE, "_DRAWS", 0)
        usual = plan(log, limit=False, n_draws=n_draws)
        told = any(getattr(note, "kind", "") == CLOSE for note in usual.notes)
        for sequence in range(1, draws + 1):
            monkeypatch.setattr(MODULE, "_DRAWS", sequence)
            other = plan(log, limit=False, n_draws=n_draws)
            told_too = any(getattr(note, "kind", "") == CLOSE for note in other.notes)
            found.append(other.rule != usual.rule and not (told or told_too))
    return found


def test_other_draws_give_the_same_rule_or_a_note_says_that_they_may_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Two standard errors leave a few per cent: of two, none.
    assert not any(changed_without_a_word(2, 1, 100, monkeypatch))


@pytest.mark.slow
def test_20_other_draws_give_the_same_rule_or_a_note_on_20_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.mean(changed_without_a_word(20, 20, 1000, monkeypatch)) <= 0.05


def test_two_rules_are_close_where_a_share_of_draws_is_near_the_confidence() -> None:
    far = [Candidate(1.0, 0.5, (1,)), Candidate(2.0, 0.99, (2, 1)), Candidate(3.0, 1.0, (3, 1))]
    assert cheapest_kept(far, 0.9, usual=4.0) == far[1]
    assert close_calls(far, 0.9, 4.0, n_draws=1000) == []
    near = [far[0]._replace(kept=0.89), *far[1:]]
    assert close_calls(near, 0.9, 4.0, n_draws=1000) == [near[0]]
    assert close_calls(near, 0.9, 4.0, n_draws=100_000) == []
    alone = [Candidate(1.0, 0.905, (1,))]
    assert close_calls(alone, 0.9, 4.0, n_draws=1000) == [None]  # unanimity
