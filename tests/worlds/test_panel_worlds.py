"""Each world's law is the one that its docstring states."""

from __future__ import annotations

import numpy as np
import pytest
from layers import covering
from panel_cases import PANEL_WORLDS, right_votes, worst_z

from d3stats.worlds import (
    Conformity,
    DirichletCompound,
    LatentConcept,
    Lengths,
    MixturePanel,
    Voter,
    belief_after,
    from_table,
    mixtures_by_round,
    simulate_debates,
)

N_DEBATES = 20_000


@covering(
    persistence=[0.0, 0.5, 1.0],
    given=[
        {},
        {"weight_drift": (0.2, 0.0), "mean_drift": (0.3, -0.3), "precision_drift": (-0.4, 0.1)},
        {"weights": [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], "means": [0.9, 0.5, 0.1], "precisions": [20, 0.5, 3]},
        {"weights": [0.0, 1.0]},
    ],
)
def test_every_round_of_a_mixture_panel_has_exactly_the_stated_mixture(
    given: dict[str, object], persistence: float
) -> None:
    world = MixturePanel(panel=6, persistence=persistence, **given)  # type: ignore[arg-type]
    laws = mixtures_by_round(world, 4).pmf(6)
    right = right_votes(simulate_debates(world, N_DEBATES, 4, 2))
    for t in range(4):
        assert worst_z(np.bincount(right[:, t], minlength=7), laws[t]) < 4


def test_persistence_ties_the_rounds_of_a_debate_together() -> None:
    def tied(persistence: float) -> float:
        right = right_votes(simulate_debates(MixturePanel(persistence=persistence), 10_000, 2, 4))
        return float(np.corrcoef(right.T)[0, 1])

    none, half, full = map(tied, (0.0, 0.5, 1.0))
    assert abs(none) < 0.04
    assert none + 0.2 < half < full - 0.2
    law = mixtures_by_round(MixturePanel(), 1)
    n, p, spread = 7, float(law.mean[0]), float(law.spread[0])
    of_ability = n**2 * spread**2
    assert full == pytest.approx(of_ability / (of_ability + n * (p * (1 - p) - spread**2)), abs=0.03)


def test_rows_stand_for_rounds_and_the_last_one_for_all_later() -> None:
    world = MixturePanel(weights=[1], means=[[0.2], [0.6]], precisions=[3])
    assert mixtures_by_round(world, 4).mean.round(12).tolist() == [0.2, 0.6, 0.6, 0.6]


@pytest.mark.parametrize("given", [{}, {"n_answers": 5}, {"degree": 2}, {"degree": 0}, {"strength": 0.5}])
def test_the_mean_probability_of_a_dirichlet_agent_does_not_move(given: dict[str, float]) -> None:
    world = DirichletCompound(panel=4, accuracy=0.6, **given)  # type: ignore[arg-type]
    share = right_votes(simulate_debates(world, N_DEBATES, 5, 3)) / 4
    se = share.std(axis=0) / np.sqrt(N_DEBATES)
    assert (np.abs(share.mean(axis=0) - 0.6) < 4 * se).all()


def test_a_dirichlet_agent_adds_what_it_hears_to_its_counts() -> None:
    # debates as good as alike: ability .6 and a first opinion worth 2 answers, so after n right votes heard
    # of 2, P(right) = (2 * .6 + n) / 4
    world = DirichletCompound(panel=3, accuracy=0.6, precision=1e7, strength=2)
    t = simulate_debates(world, N_DEBATES, 2, 5)
    right = t.votes == t.label[:, None, None]
    for heard in range(3):
        rows = right[:, 0, 1:].sum(axis=1) == heard
        p = (1.2 + heard) / 4
        assert abs(right[rows, 1, 0].mean() - p) < 4 * np.sqrt(p * (1 - p) / rows.sum())


def test_a_dirichlet_agent_hears_its_neighbours_alone() -> None:
    world = DirichletCompound(panel=4, accuracy=0.5, precision=1e7, strength=0.2, degree=1)
    t = simulate_debates(world, N_DEBATES, 2, 6)
    right = (t.votes == t.label[:, None, None]).astype(float)
    hears = np.array(
        [[np.corrcoef(right[:, 0, j], right[:, 1, i])[0, 1] for j in range(4)] for i in range(4)]
    )
    assert (np.abs(hears - np.diag([1.0] * 4)[[1, 2, 3, 0]] * hears) < 4 / np.sqrt(N_DEBATES)).all()
    assert (hears[np.arange(4), [1, 2, 3, 0]] > 0.5).all()


@pytest.mark.parametrize(("evidence", "belief"), [("fresh", 0.68), ("self", 0.5)])
def test_one_response_moves_a_belief_of_a_half_to_68_when_fresh_and_not_at_all_when_own(
    evidence: str, belief: float
) -> None:
    t = simulate_debates(LatentConcept(panel=1, prior=0.5, clarity=0.8, evidence=evidence), 60_000, 2, 7)
    p = belief * 0.8 + (1 - belief) * 0.2
    assert abs((t.votes[:, 1, 0] == t.label).mean() - p) < 4 * np.sqrt(p * (1 - p) / 60_000)


@pytest.mark.parametrize("n_concepts", [2, 4])
def test_self_made_evidence_makes_agents_sure_and_not_right(n_concepts: int) -> None:
    world = LatentConcept(panel=3, prior=0.4, clarity=0.9, n_concepts=n_concepts, evidence="self")
    t = simulate_debates(world, 20_000, 8, 8)
    share = right_votes(t) / 3
    p = 0.4 * 0.9 + 0.6 * 0.1 / (n_concepts - 1)
    assert (np.abs(share.mean(axis=0) - p) < 4 * share.std(axis=0) / np.sqrt(20_000)).all()
    settled_right = (share.mean(axis=1) > 0.5).mean()  # 24 votes at clarity .9 leave no doubt
    assert abs(settled_right - 0.4) < 4 * np.sqrt(0.4 * 0.6 / 20_000)


def test_fresh_evidence_leads_to_the_clarity_of_the_truth() -> None:
    share = (
        right_votes(simulate_debates(LatentConcept(panel=5, clarity=0.8, n_concepts=3), 5_000, 8, 9)).mean(
            axis=0
        )
        / 5
    )
    assert share[0] < share[2] <= share[-1] + 0.01
    assert share[-1] == pytest.approx(0.8, abs=0.015)


def test_bayes_rule_matches_published_arithmetic() -> None:
    strong = belief_after([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [0, 1, 1, 1, 1, 1, 1])
    assert strong[0] == pytest.approx(1.69348e-5, rel=1e-5)
    table = np.array([[0.8, 0.2], [0.2, 0.8]])
    fresh = sum(table[0, z] * belief_after([0.5, 0.5], table, [z])[0] for z in range(2))
    own = sum(0.5 * belief_after([0.5, 0.5], table, [z])[0] for z in range(2))
    assert (fresh, own) == (pytest.approx(0.68), pytest.approx(0.5))


def test_no_response_leaves_a_belief_alone_and_bad_ones_are_refused() -> None:
    assert belief_after([0.3, 0.7], [[0.5, 0.5], [0.1, 0.9]], []).tolist() == pytest.approx([0.3, 0.7])
    with pytest.raises(ValueError, match="responses must be below 2"):
        belief_after([0.5, 0.5], [[0.5, 0.5], [0.1, 0.9]], [2])
    with pytest.raises(ValueError, match="prior must be 2 weights"):
        belief_after([0.5, 0.4], [[0.5, 0.5], [0.1, 0.9]], [0])
    with pytest.raises(ValueError, match="likelihoods must"):
        belief_after([0.5, 0.5], [[1.0, 0.0], [0.1, 0.9]], [0])


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (MixturePanel, {"weights": [0.5, 0.4]}, "sum to 1"),
        (MixturePanel, {"means": [0.5, 1.0]}, "strictly between 0 and 1"),
        (MixturePanel, {"precisions": [1.0, 0.0]}, "precisions must be > 0"),
        (MixturePanel, {"means": [0.5]}, "one length"),
        (MixturePanel, {"means": [[0.5, 0.6], [0.5]]}, "means must be K numbers"),
        (MixturePanel, {"means": [0.5, float("nan")]}, "finite"),
        (MixturePanel, {"mean_drift": [0.5]}, "one number per component"),
        (MixturePanel, {"persistence": 1.5}, "persistence must lie"),
        (DirichletCompound, {"accuracy": 1.0}, "strictly between"),
        (DirichletCompound, {"strength": 0}, "strength must be > 0"),
        (DirichletCompound, {"degree": 7}, "degree must be below panel=7"),
        (DirichletCompound, {"n_answers": 1}, "n_answers must be >= 2"),
        (LatentConcept, {"prior": 0}, "strictly between"),
        (LatentConcept, {"n_concepts": 27}, "n_concepts must be <= 26"),
        (LatentConcept, {"evidence": "hearsay"}, "'fresh', 'self'"),
        (Voter, {"precision": -1}, "precision must be > 0"),
    ],
)
def test_bad_parameters_are_named(kind: type, given: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        kind(**given)


def test_a_table_of_a_study_file_is_a_world() -> None:
    table = {
        "name": "conformity",
        "panel": 3,
        "difficulties": [[0.5, 1], [0.5, -1]],
        "lengths": {"spread": 0.2},
    }
    expected = Conformity(panel=3, difficulties=((0.5, 1.0), (0.5, -1.0)), lengths=Lengths(spread=0.2))
    assert from_table(table) == expected
    assert hash(from_table(table)) == hash(expected)
    for name in {world.name for world in PANEL_WORLDS.values()}:
        assert from_table({"name": name}).name == name


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"name": "tavern"},
            "world must be one of .*'conformity'.*; got world='tavern'",
        ),
        ({"panel": 3}, "world must have a name"),
        ({"name": "voter", "colour": 1}, "world 'voter' must have keys among 'panel'.*; got 'colour'"),
        (
            {"name": "voter", "lengths": {"pages": 1}},
            "world 'voter', lengths must have keys among .*; got 'pages'",
        ),
        ({"name": "voter", "panel": "three"}, "panel must be an integer"),
        ({"name": "voter", "accuracy": 2}, "accuracy must lie"),
        ({"name": ["voter"]}, "must be one of"),
        ("voter", "world must be a table"),
    ],
)
def test_a_bad_table_gets_one_clear_line(table: object, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as error:
        from_table(table)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
