"""A world fitted to a pilot: does it find the world that made it, and notice one that did not?"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import examples

from d3stats.planning import Calibration, calibrate
from d3stats.planning.calibration.moments import fit_moments, two_sided
from d3stats.planning.calibration.parameters import Space, default_free, observe
from d3stats.planning.calibration.path_likelihood import Paths
from d3stats.planning.study import read_study
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import (
    Category,
    Conformity,
    Courtroom,
    DirichletCompound,
    LatentConcept,
    MixturePanel,
    Referees,
    Voter,
    count_process,
    from_table,
    simulate_debates,
)
from d3stats.worlds.base import to_toml

WORLDS = [
    Voter(panel=5),
    Conformity(panel=5),
    MixturePanel(panel=5),
    DirichletCompound(panel=5),
    LatentConcept(panel=5),
    Courtroom(),
    Referees(communication="simultaneous_with_summarizer"),
]
every_world = pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)

IMPROVING = LatentConcept(panel=5, prior=0.5, clarity=0.75, evidence="fresh")


def deviations(fit: Calibration, truth: Any) -> pd.Series:
    """Return how many standard errors each estimate is off, on the real line, where intervals are made."""
    space = Space(truth, fit._space.free)
    return pd.Series((fit._x - space.start()) / fit._sd, index=fit.params.index)


def without_labels(log: Trajectories) -> Trajectories:
    return replace(log, label=np.full_like(log.label, MISSING))


def with_missing_votes(log: Trajectories, share: float, seed: int) -> Trajectories:
    gone = np.random.default_rng(seed).random(log.votes.shape) < share
    return replace(log, votes=np.where(gone, MISSING, log.votes).astype(np.int32))


@pytest.fixture(scope="module")
def pilot() -> Trajectories:
    return simulate_debates(Voter(panel=5, accuracy=0.7, precision=3.0), 200, 4, 11)


@pytest.fixture(scope="module")
def fit(pilot: Trajectories) -> Calibration:
    return calibrate(Voter, pilot, n_rep=200, rng=1)


# ---------------------------------------------------------------- parameters


@every_world
def test_a_world_goes_to_the_real_line_and_back(world: Any) -> None:
    space = Space(world, tuple(world.groups()))
    back = space.world(space.start())
    x = space.start() + 0.3
    np.testing.assert_allclose(Space(space.world(x), space.free).start(), x, atol=1e-9)
    inside = (space.given() != space.low) & (space.given() != space.high)
    np.testing.assert_allclose(space.values(space.start())[inside], space.given()[inside], atol=1e-9)
    assert type(back) is type(world)


@every_world
def test_what_is_not_free_stays_as_in_the_template(world: Any) -> None:
    space = Space(world, default_free(world)[:1])
    moved = space.world(space.start() + 0.5)
    group = world.groups()[space.free[0]]
    for name, other in world.groups().items():
        if name != space.free[0]:
            assert other.read(moved) == other.read(world)
    assert group.read(moved) != group.read(world)


def test_a_courtroom_mean_gap_stretches_every_category() -> None:
    world = Courtroom(categories=[Category("a", 1, 4.0, 2.0), Category("b", 3, 8.0, 1.0)])
    space = Space(world, ["mean_gap"])
    wide = space.world(np.log([14.0]))
    np.testing.assert_allclose([(c.gap, c.spread) for c in wide.categories], [(8.0, 4.0), (16.0, 2.0)])


# ---------------------------------------------------------------- likelihood


EXACT = [
    Voter(panel=3, accuracy=0.7),
    Conformity(panel=3),
    LatentConcept(panel=3, prior=0.6, clarity=0.8, evidence="self"),
    MixturePanel(panel=3, persistence=1.0),
]


@pytest.mark.parametrize("world", EXACT, ids=lambda w: w.name)
@pytest.mark.parametrize("labels", [True, False])
def test_the_likelihood_of_a_path_is_that_of_the_count_process(world: Any, labels: bool) -> None:
    log = simulate_debates(world, 30, 3, 5)
    log = log if labels else without_labels(log)
    process = count_process(world, 3)
    paths = Paths(observe(world, log), world.panel)
    got = paths.log_likelihood(process)[paths.index]
    for i in range(log.n_debates):
        right = (log.votes[i] == (log.label[i] if labels else 0)).sum(axis=1)
        weight = process.weights * (2 * process.a_is_right if labels else 1)
        expected = float(weight @ process.path_likelihood(right))
        assert got[i] == pytest.approx(np.log(expected), abs=1e-10)


@pytest.mark.parametrize("world", EXACT, ids=lambda w: w.name)
def test_a_missing_vote_is_summed_over_as_either_vote(world: Any) -> None:
    log = simulate_debates(world, 1, 3, 6)
    gaps = [(0, 1), (2, 0), (2, 2)]
    holed = np.array(log.votes)
    for t, seat in gaps:
        holed[0, t, seat] = MISSING
    paths = Paths(observe(world, replace(log, votes=holed)), world.panel)
    process = count_process(world, 3)
    # Every way to fill the gaps is a path; each path of counts is one of C(n, s) equally likely ways a round.
    from math import comb

    whole = 0.0
    weight = process.weights * 2 * process.a_is_right
    for fill in itertools.product((0, 1), repeat=len(gaps)):
        votes = np.array(log.votes[0])
        for (t, seat), vote in zip(gaps, fill, strict=True):
            votes[t, seat] = vote
        right = (votes == log.label[0]).sum(axis=1)
        ways = [comb(3, int(s)) for s in right]
        whole += float(weight @ process.path_likelihood(right)) / np.prod(ways)
    seen = observe(world, replace(log, votes=holed))
    # What the counts of cast votes say, over the ways in which their seats could have voted so.
    ways = np.prod([comb(int(c), int(o)) for c, o in zip(seen.cast[0], seen.ones[0], strict=True)])
    assert paths.log_likelihood(process)[0] == pytest.approx(np.log(whole * ways), abs=1e-10)


def test_a_debate_that_stopped_early_counts_with_what_it_played() -> None:
    world = Voter(panel=5)
    log = simulate_debates(world, 8, 4, 3)
    votes = np.array(log.votes)
    votes[:, 2:] = MISSING
    short = replace(log, votes=votes, depth=np.full(8, 2))
    paths, cut = (Paths(observe(world, x), 5) for x in (short, simulate_debates(world, 8, 2, 3)))
    process = count_process(world, 4)
    direct = [
        np.log(2 * process.a_is_right * process.weights @ process.path_likelihood(s))
        for s in observe(world, short).ones[:, :2]
    ]
    np.testing.assert_allclose(paths.log_likelihood(process)[paths.index], direct, atol=1e-12)
    assert len(cut.index) == 8


def test_the_likelihood_fit_is_a_maximum(fit: Calibration, pilot: Trajectories) -> None:
    paths = Paths(observe(fit.world, pilot), 5)

    def llf(world: Voter) -> float:
        return float(paths.weight @ paths.log_likelihood(count_process(world, 4)))

    assert fit.method == "likelihood"
    assert fit.converged
    assert llf(fit.world) == pytest.approx(fit.llf, abs=1e-9)
    for name, by in itertools.product(("accuracy", "precision"), (0.99, 1.01)):
        assert llf(replace(fit.world, **{name: by * fit.params[name]})) < fit.llf
    assert fit.aic == pytest.approx(4 - 2 * fit.llf)
    assert fit.bic == pytest.approx(2 * np.log(200) - 2 * fit.llf)


def test_the_standard_error_of_a_share_is_the_binomial_one() -> None:
    # One round decides everything when agents never ask again: a known information matrix.
    world = Conformity(panel=5, difficulties=[(1.0, 0.4)], stubbornness=1.0, shared_sd=0.0)
    fit = calibrate(world, simulate_debates(world, 400, 3, 2), free=["skill"], n_rep=20, rng=0)
    p = 1 / (1 + np.exp(-(0.4 + fit.params["skill"])))
    assert fit.bse["skill"] == pytest.approx(1 / np.sqrt(400 * 5 * p * (1 - p)), rel=1e-3)


def test_copied_debates_of_one_question_add_no_precision(pilot: Trajectories, fit: Calibration) -> None:
    twice = pilot.select(np.repeat(np.arange(200), 2))
    twice = replace(
        twice,
        debates=tuple(map(str, range(400))),
        cluster=np.repeat(np.arange(200), 2),
        cluster_names=pilot.cluster_names,
    )
    clustered = calibrate(Voter, twice, n_rep=40, rng=1)
    np.testing.assert_allclose(clustered.params, fit.params, rtol=1e-3)
    assert (clustered.bse / fit.bse).between(0.8, 1.25).all()
    assert any("400 debates are on 200 questions" in note for note in clustered.untold)


def test_estimates_lie_within_four_errors_of_the_truth() -> None:
    for world in (Voter(panel=5, accuracy=0.7), Conformity(panel=5, shared_sd=0.0, stubbornness=0.3)):
        free = (
            ("accuracy", "precision") if isinstance(world, Voter) else ("skill", "stubbornness", "conformity")
        )
        fit = calibrate(world, simulate_debates(world, 300, 4, 4), free=free, n_starts=1, n_rep=20, rng=0)
        assert deviations(fit, world).abs().max() < 4


def test_without_labels_the_same_world_is_found_and_the_mirror_is_named(pilot: Trajectories) -> None:
    fit = calibrate(Voter(panel=5, accuracy=0.6), without_labels(pilot), n_starts=1, n_rep=20, rng=1)
    assert deviations(fit, Voter(panel=5, accuracy=0.7, precision=3.0)).abs().max() < 4
    assert any("right and wrong exchanged fits as well" in note for note in fit.untold)


def test_missing_votes_cost_precision_and_do_not_move_the_estimate(
    pilot: Trajectories, fit: Calibration
) -> None:
    holed = calibrate(Voter, with_missing_votes(pilot, 0.2, 3), n_starts=1, n_rep=20, rng=1)
    assert ((holed.params - fit.params).abs() < 2 * fit.bse).all()
    assert (holed.bse > 0.95 * fit.bse).all()
    assert any("votes are missing" in note for note in holed.untold)


# ---------------------------------------------------------------- what it returns


def test_a_seed_gives_the_same_calibration(pilot: Trajectories, fit: Calibration) -> None:
    again = calibrate(Voter, pilot, n_rep=200, rng=1)
    pd.testing.assert_series_equal(fit.params, again.params, check_exact=True)
    pd.testing.assert_frame_equal(fit.checks, again.checks, check_exact=True)


def test_intervals_are_inside_the_range_and_grow_with_the_level(fit: Calibration) -> None:
    wide, narrow = fit.conf_int(0.99), fit.conf_int(0.8)
    assert (wide["low"] < narrow["low"]).all()
    assert (wide["high"] > narrow["high"]).all()
    assert 0 < wide.loc["accuracy", "low"] < wide.loc["accuracy", "high"] < 1
    frame = fit.to_frame()
    assert list(frame["parameter"]) == ["accuracy", "precision"]
    assert frame["template"].tolist() == [0.65, 4.0]


def test_a_world_reproduces_its_own_pilot(fit: Calibration) -> None:
    assert fit.checks["p_value"].min() > 0.01
    assert (fit.checks["low"] <= fit.checks["high"]).all()
    assert not any("does not reproduce" in note for note in fit.untold)
    assert not fit.checks.isna().any().any()


def test_a_wrong_world_is_noticed() -> None:
    fit = calibrate(Voter, simulate_debates(IMPROVING, 150, 4, 8), n_sim=500, rng=1)
    assert fit.method == "simulated_moments"
    assert fit.j_test is not None
    assert fit.j_test.p_value < 1e-3
    assert fit.checks["p_value"].min() < 0.01
    assert "debates make a move that Voter never makes" in fit.untold[0]
    assert any("do not plan with it" in note for note in fit.untold)


def test_a_wrong_world_with_the_right_support_is_noticed_by_the_checks() -> None:
    still = Conformity(panel=5, difficulties=[(1.0, 0.0)], conformity=0.0, shared_sd=0.0)
    rising = simulate_debates(IMPROVING, 150, 4, 8)
    fit = calibrate(still, rising, free=["skill", "stubbornness"], n_starts=1, rng=1)
    assert fit.method == "likelihood"
    assert fit.checks["p_value"].min() < 0.01


@pytest.mark.parametrize(("n_rep", "may_fail"), [(20, False), (196, False), (197, True), (200, True)])
def test_checks_that_cannot_fail_are_named(n_rep: int, may_fail: bool) -> None:
    """Every vote flips in every round: as far from a still world as a pilot can be."""
    votes = np.zeros((40, 4, 5), dtype=int)
    votes[:, 1::2] = 1
    votes[:20] = 1 - votes[:20]
    pilot = Trajectories.from_arrays(votes, [0] * 40, answers=["A", "B"])
    still = Conformity(panel=5, difficulties=[(1.0, 0.0)], conformity=0.0, shared_sd=0.0, stubbornness=0.9)
    fit = calibrate(still, pilot, free=["skill"], n_starts=1, n_rep=n_rep, rng=1)
    assert fit.checks["p_value"].min() == pytest.approx(2 / (4 * -(-n_rep // 4) + 1))
    assert any("do not plan with it" in note for note in fit.untold) == may_fail
    assert any("so no check can fail (p < 0.01); take n_rep=197 or more" in n for n in fit.untold) != may_fail


def test_the_summary_says_method_estimates_checks_and_what_is_untold(fit: Calibration) -> None:
    text = fit.summary()
    for piece in (
        "maximum likelihood",
        "accuracy",
        "left unanimity",
        "does not determine",
        "AIC",
    ):
        assert piece in text


def test_the_figure_has_a_row_for_each_check(fit: Calibration) -> None:
    ax = fit.plot()
    assert len(ax.get_yticks()) == len(fit.checks)


def test_the_p_value_of_a_middling_value_is_one() -> None:
    assert two_sided(np.arange(100.0), 49.5) == pytest.approx(1.0, abs=0.02)
    assert two_sided(np.zeros(100), 0.0) == 1.0


# ---------------------------------------------------------------- what it cannot tell


def test_skill_and_easiness_are_said_to_be_one_number() -> None:
    world = Conformity(panel=5, difficulties=[(1.0, 0.4)], shared_sd=0.0)
    fit = calibrate(
        world, simulate_debates(world, 100, 3, 1), free=["skill", "easiness"], n_starts=1, n_rep=20, rng=0
    )
    assert np.isinf(fit.bse).all()
    assert any("the pilot does not determine skill, easiness" in note for note in fit.untold)
    assert (fit.conf_int()["high"] == np.inf).all()


def test_a_parameter_on_its_bound_is_named_and_has_no_error() -> None:
    world = Conformity(panel=5, difficulties=[(1.0, 0.4)], stubbornness=1.0, shared_sd=0.0)
    fit = calibrate(
        world, simulate_debates(world, 60, 3, 1), free=["skill", "stubbornness"], n_starts=1, n_rep=20, rng=0
    )
    assert fit.boundary == ("stubbornness",)
    assert np.isinf(fit.bse["stubbornness"])
    assert np.isfinite(fit.bse["skill"])
    assert fit.conf_int().loc["stubbornness"].tolist() == [0.0, 1.0]


def test_a_small_pilot_is_told_so() -> None:
    world = Conformity(panel=5)
    fit = calibrate(world, simulate_debates(world, 12, 2, 1), n_starts=1, n_rep=20, rng=0)
    assert any("12 questions are few" in note for note in fit.untold)
    assert any(
        "says little about" in note or "the pilot does not determine" in note or "bound" in note
        for note in fit.untold
    )


# ---------------------------------------------------------------- refusals


def test_bad_input_gets_one_clear_line(pilot: Trajectories) -> None:
    three = simulate_debates(Voter(panel=3), 10, 2, 1)
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (
            Voter,
            pilot,
            {"free": ["skill"]},
            "free must be names out of accuracy, precision for Voter; got 'skill'",
        ),
        (Voter, pilot, {"free": "accuracy"}, "free must be names"),
        (Voter, pilot, {"free": []}, "free must be names"),
        (Voter, pilot, {"free": ["accuracy", "accuracy"]}, "each parameter once"),
        (Voter, simulate_debates(Voter(panel=3), 10, 1, 1), {}, "at least two rounds; got 1"),
        (Voter, pilot.select([0]), {}, "at least two questions; got 1"),
        (Voter(panel=5), three, {}, "world's panel of 5; got panels of 3"),
        (Courtroom(panel=3), three, {}, "pilot must have scores, which Courtroom is fitted to; got none"),
        (Referees(panel=3), three, {}, "pilot must have scores"),
        (Voter, pilot, {"method": "guess"}, "method must be one of"),
        (Voter, pilot, {"n_sim": 1}, "n_sim must be >= 100"),
        (DirichletCompound(panel=5), pilot, {"method": "likelihood"}, "method must be 'simulated_moments'"),
        (
            Voter,
            simulate_debates(IMPROVING, 40, 3, 1),
            {"method": "likelihood"},
            "pilot must be possible in the world",
        ),
    ]
    for world, log, options, message in cases:
        with pytest.raises(ValueError, match=message) as caught:
            calibrate(world, log, rng=1, **options)
        assert "\n" not in str(caught.value)


def test_what_is_no_world_or_no_pilot_is_refused(pilot: Trajectories) -> None:
    with pytest.raises(TypeError, match="world must be a World"):
        calibrate("voter", pilot)  # type: ignore[arg-type]  # that is what is refused
    with pytest.raises(TypeError, match=r"a log must be Trajectories, .*; got int"):
        calibrate(Voter, 3)  # type: ignore[arg-type]  # that is what is refused


def test_scores_on_another_scale_are_refused() -> None:
    log = simulate_debates(Courtroom(), 20, 3, 1)
    with pytest.raises(ValueError, match="raw points from 6 to 120"):
        calibrate(Courtroom, replace(log, scores=log.scores / 120))


def test_more_answers_than_the_world_knows_need_labels() -> None:
    log = simulate_debates(DirichletCompound(panel=3, n_answers=4), 60, 3, 1)
    with pytest.raises(ValueError, match="at most the 2 answers that Voter knows"):
        calibrate(Voter, without_labels(log))


def test_moments_of_a_pilot_that_was_stopped_early_are_refused() -> None:
    log = simulate_debates(DirichletCompound(panel=3), 10, 3, 1)
    votes, depth = np.array(log.votes), np.array(log.depth)
    votes[0, 2], depth[0] = MISSING, 2
    with pytest.raises(ValueError, match="have one depth"):
        calibrate(DirichletCompound, replace(log, votes=votes, depth=depth))


def test_aic_of_moments_is_an_error() -> None:
    log = simulate_debates(Voter(panel=3), 40, 2, 1)
    fit = calibrate(Voter, log, method="simulated_moments", free=["accuracy"], n_sim=500, n_rep=20, rng=1)
    with pytest.raises(ValueError, match="method must be 'likelihood' for aic"):
        _ = fit.aic


# ---------------------------------------------------------------- simulated moments


def test_moments_and_likelihood_find_the_same_world() -> None:
    world = Conformity(panel=5, difficulties=[(1.0, 0.6)], shared_sd=0.0)
    log = simulate_debates(world, 300, 4, 9)
    free = ["skill", "stubbornness", "conformity"]
    exact = calibrate(world, log, free=free, n_starts=1, n_rep=20, rng=0)
    moments = calibrate(world, log, free=free, method="simulated_moments", n_sim=1000, n_rep=20, rng=0)
    assert moments.method == "simulated_moments"
    assert ((moments.params - exact.params).abs() < 2 * moments.bse).all()
    assert (moments.bse > 0.8 * exact.bse).all()
    assert moments.j_test is not None
    assert moments.j_test.p_value > 0.001


@pytest.mark.slow
@every_world
def test_every_world_is_recovered_and_reproduces_its_pilot(world: Any) -> None:
    truth = world
    fit = calibrate(world, simulate_debates(truth, 400, 4, 21), rng=3)
    known = np.isfinite(fit.bse)
    assert known.sum() >= len(known) - 1
    assert deviations(fit, truth)[known].abs().max() < 4
    assert (fit.checks["p_value"] < 0.01).mean() <= 0.1
    if fit.j_test is not None:
        assert fit.j_test.p_value > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "free"),
    [
        (Voter(panel=7, accuracy=0.7, precision=3.0), ("accuracy", "precision")),
        (Conformity(panel=7), ("skill", "stubbornness", "conformity")),
    ],
    ids=["voter", "conformity"],
)
def test_intervals_of_95_percent_hold_the_truth(world: Any, free: tuple[str, ...]) -> None:
    runs, hits = 200, np.zeros(len(free))
    truth = Space(world, free).given()
    for run in range(runs):
        log = simulate_debates(world, 100, 4, 7, first=100 * run)
        limits = calibrate(world, log, free=free, n_starts=1, n_rep=20, rng=run).conf_int()
        hits += (limits["low"].to_numpy() <= truth) & (truth <= limits["high"].to_numpy())
    # Four standard errors of a share of 200.
    assert (np.abs(hits / runs - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs)).all(), dict(
        zip(free, hits / runs, strict=True)
    )


def test_a_pilot_without_a_single_vote_is_refused_in_one_line() -> None:
    silent = Trajectories.from_arrays(np.full((5, 3, 4), -1), [0] * 5, answers=["A", "B"])
    with pytest.raises(ValueError, match=r"^pilot must hold at least one vote; got none$"):
        calibrate(Voter(panel=4), silent, rng=1)


DIRICHLET = DirichletCompound(panel=5)


@examples(5, 40, "runs")
def test_standard_errors_of_moments_are_the_spread_of_the_estimates(runs: int) -> None:
    """Few simulated debates on purpose: then the noise of slopes and weights would show most."""
    space = Space(DIRICHLET, ["accuracy"])
    off = []
    for run in range(runs):
        log = simulate_debates(DIRICHLET, 40, 2, 7, first=40 * run)
        found = fit_moments(space, log, observe(DIRICHLET, log), 400, np.random.default_rng(run))
        off.append((found.x[0] - space.start()[0]) / np.sqrt(found.covariance[0, 0]))
    # Three standard errors of a mean and of a standard deviation of as many standard normal numbers.
    assert abs(np.mean(off)) < 3 / np.sqrt(runs)
    assert abs(np.std(off, ddof=1) - 1) < 3 / np.sqrt(2 * runs)


def test_copied_debates_of_one_question_add_no_precision_to_moments() -> None:
    log = simulate_debates(DIRICHLET, 100, 3, 3)
    twice = replace(
        log.select(np.repeat(np.arange(100), 2)),
        debates=tuple(map(str, range(200))),
        cluster=np.repeat(np.arange(100), 2),
        cluster_names=log.cluster_names,
    )
    once, copied = (
        calibrate(DIRICHLET, x, free=["accuracy", "precision"], n_sim=600, n_rep=20, rng=1)
        for x in (log, twice)
    )
    assert ((copied.params - once.params).abs() < 0.5 * once.bse).all()
    assert (copied.bse / once.bse).between(0.75, 1.33).all()
    assert once.j_test is not None
    assert copied.j_test is not None
    assert min(once.j_test.p_value, copied.j_test.p_value) > 0.01


@pytest.mark.slow
def test_intervals_of_moments_hold_the_truth_as_often_as_they_say() -> None:
    free = default_free(DIRICHLET)
    runs, hits = 200, np.zeros(len(free))
    truth = Space(DIRICHLET, free).given()
    for run in range(runs):
        log = simulate_debates(DIRICHLET, 100, 4, 7, first=100 * run)
        limits = calibrate(DIRICHLET, log, free=free, n_rep=20, rng=run).conf_int()
        hits += (limits["low"].to_numpy() <= truth) & (truth <= limits["high"].to_numpy())
    # Three standard errors of a share of 200.
    assert (np.abs(hits / runs - 0.95) < 3 * np.sqrt(0.95 * 0.05 / runs)).all(), dict(
        zip(free, hits / runs, strict=True)
    )


# ---------------------------------------------------------------- what goes on from it


def test_the_table_says_whether_the_pilot_or_the_template_decided(fit: Calibration) -> None:
    assert fit.to_frame()["decided_by"].tolist() == ["pilot", "pilot"]
    world = Conformity(panel=5, difficulties=[(1.0, 0.4)], stubbornness=1.0, shared_sd=0.0)
    log = simulate_debates(world, 60, 3, 1)
    for free, said in (
        (["skill", "stubbornness"], ["pilot", "bound"]),
        (["skill", "easiness"], ["template", "template"]),
    ):
        table = calibrate(world, log, free=free, n_starts=1, n_rep=20, rng=0).to_frame()
        assert table["decided_by"].tolist() == said


@every_world
def test_a_world_is_written_as_a_table_and_read_back(world: Any) -> None:
    moved = Space(world, default_free(world)).world(Space(world, default_free(world)).start() + 0.1)
    for one in (world, moved):
        assert from_table(tomllib.loads(to_toml(one))) == one
    if hasattr(world, "lengths"):
        silent = replace(world, lengths=None)
        assert from_table(tomllib.loads(to_toml(silent))) == silent


def test_the_file_of_a_calibration_is_a_study_of_its_world(fit: Calibration, tmp_path: Any) -> None:
    path = tmp_path / "world.toml"
    path.write_text(fit.to_toml(), encoding="utf-8")
    study = read_study(path)
    assert list(study.worlds.values()) == [replace(fit.world, lengths=None)]
    assert (study.names, study.n_rounds) == (fit.study().names, 4)
    assert [line[2:] for line in path.read_text().splitlines() if line.startswith("#")][1:] == list(
        fit.untold
    )


def test_a_calibration_shows_itself_as_every_result(fit: Calibration) -> None:
    document = fit.to_dict()
    assert list(document["tables"]) == ["parameters", "checks"]
    assert [note["text"] for note in document["notes"]] == list(fit.untold)
    pd.testing.assert_frame_equal(fit.to_frame("checks"), fit.checks)
    assert fit.to_frame(level=0.8)["low"].tolist() == fit.conf_int(0.8)["low"].tolist()
