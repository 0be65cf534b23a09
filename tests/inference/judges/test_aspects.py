"""Correlations of direct scores with human scores, aspect by aspect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from d3stats.inference import aspect_correlations, correlation, direct_scores
from d3stats.log.files import journal_path
from d3stats.sources.opened import open as open_source
from d3stats.sources.scores import score_ranges

RNG = np.random.default_rng(7)
N = 60
PEOPLE = pd.DataFrame(
    {
        "question": [f"q{i}" for i in range(N)],
        "naturalness": RNG.integers(1, 4, N) / 1.0,
        "groundedness": RNG.integers(0, 2, N) / 1.0,
    }
)
MODEL = PEOPLE.assign(
    naturalness=np.clip(PEOPLE["naturalness"] + RNG.integers(-1, 2, N), 1, 3),
    groundedness=np.where(RNG.random(N) < 0.8, PEOPLE["groundedness"], 1 - PEOPLE["groundedness"]),
)


def test_the_coefficients_are_scipys_for_each_aspect_and_their_mean_is_over_aspects() -> None:
    found = aspect_correlations(MODEL, PEOPLE)
    wanted = {}
    for aspect in ("naturalness", "groundedness"):
        wanted[aspect, "spearman"] = stats.spearmanr(MODEL[aspect], PEOPLE[aspect]).statistic
        wanted[aspect, "kendall"] = stats.kendalltau(MODEL[aspect], PEOPLE[aspect]).statistic
    assert {key: one.value for key, one in found.correlations.items()} == pytest.approx(wanted, abs=1e-12)
    assert found.average["spearman"] == pytest.approx(
        (wanted["naturalness", "spearman"] + wanted["groundedness", "spearman"]) / 2
    )
    assert found.n == N
    assert found.to_frame()["aspect"].tolist() == ["naturalness"] * 2 + ["groundedness"] * 2
    assert "mean over aspects: spearman" in found.summary()
    assert found.to_dict()["n"] == N
    assert "naturalness, Spearman" in found.to_latex()


def test_the_interval_is_that_of_the_correlation_function() -> None:
    one = aspect_correlations(MODEL, PEOPLE, methods=["kendall"], level=0.9).correlations[
        "naturalness", "kendall"
    ]
    two = correlation(MODEL["naturalness"], PEOPLE["naturalness"], method="kendall", level=0.9).estimate
    assert (one.value, one.low, one.high, one.kind) == (two.value, two.low, two.high, two.kind)


def test_responses_to_one_dialogue_are_one_cluster() -> None:
    model = MODEL.assign(cluster=[f"dialogue {i // 6}" for i in range(N)])
    one = aspect_correlations(model, PEOPLE).correlations["naturalness", "spearman"]
    assert (one.kind, one.n_clusters) == ("cluster t", 10)
    assert aspect_correlations(MODEL, PEOPLE).correlations["naturalness", "spearman"].kind == "Fisher z"


def test_the_order_of_rows_and_the_type_of_names_change_nothing() -> None:
    numbered = [frame.assign(question=range(N)) for frame in (MODEL, PEOPLE)]
    shuffled = numbered[1].sample(frac=1, random_state=1).assign(question=lambda f: f["question"].astype(str))
    assert aspect_correlations(numbered[0], shuffled).average == aspect_correlations(MODEL, PEOPLE).average


def test_a_missing_score_is_left_out_and_a_missing_aspect_has_no_correlation() -> None:
    model = MODEL.assign(naturalness=MODEL["naturalness"].where(MODEL.index >= 5)).drop(
        columns="groundedness"
    )
    found = aspect_correlations(model, PEOPLE, aspects=["naturalness", "groundedness"])
    rest = stats.spearmanr(MODEL["naturalness"][5:], PEOPLE["naturalness"][5:]).statistic
    one = found.correlations["naturalness", "spearman"]
    assert (one.value, one.n) == (pytest.approx(rest), N - 5)
    assert found.refused == {"groundedness": "missing in scores"}
    assert found.average["spearman"] == one.value
    assert "naturalness: 5 of 60 pairs left out: a score is missing" in found.notes
    assert "groundedness has no correlation: missing in scores" in found.notes


def test_an_aspect_that_does_not_vary_has_none_and_says_why() -> None:
    found = aspect_correlations(MODEL.assign(groundedness=1.0), PEOPLE)
    assert "x must vary" in found.refused["groundedness"]
    assert set(found.correlations) == {("naturalness", "spearman"), ("naturalness", "kendall")}


def test_each_aspect_may_have_a_scale_of_its_own() -> None:
    scales = {"naturalness": (1, 3), "groundedness": (0, 1)}
    found = aspect_correlations(MODEL, PEOPLE, scale=scales, human_scale=scales)
    assert found.average == aspect_correlations(MODEL, PEOPLE).average


def test_responses_that_one_table_lacks_are_counted() -> None:
    found = aspect_correlations(MODEL[10:], PEOPLE[:40])
    assert found.n == 30
    assert found.notes[:2] == (
        "20 of 50 responses of scores left out: the other table lacks them",
        "10 of 40 responses of human left out: the other table lacks them",
    )


@pytest.mark.parametrize(
    ("model", "people", "given", "message"),
    [
        (
            MODEL[["question", "naturalness"]],
            PEOPLE,
            {"scale": (2, 3)},
            r"scores must lie on the scale from 2 to 3; got 1 for naturalness of 'q",
        ),
        (MODEL, PEOPLE, {"scale": {"groundedness": (1, 2)}}, r"from 1 to 2; got 0 for groundedness of 'q0'"),
        (
            MODEL,
            PEOPLE,
            {"human_scale": (1, 3)},
            r"human must lie on the scale from 1 to 3; got 0 for groundedness",
        ),
        (pd.concat([MODEL, MODEL[:1]]), PEOPLE, {}, "scores must have one row per response; got 'q0' again"),
        (MODEL, PEOPLE.drop(columns="question"), {}, "human must have the column 'question'"),
        (
            MODEL,
            PEOPLE.assign(question="z" + PEOPLE["question"]),
            {},
            "must have responses in common; got none",
        ),
        (MODEL[["question"]], PEOPLE, {}, "must have an aspect in common"),
        (MODEL, PEOPLE, {"aspects": ["wit"]}, r"got none \(wit: missing in scores and human\)"),
        (MODEL, PEOPLE, {"methods": ["pearson"]}, "methods must be one of 'spearman', 'kendall'; got"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(
    model: pd.DataFrame, people: pd.DataFrame, given: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        aspect_correlations(model, people, **given)  # type: ignore[arg-type]


def test_a_shared_column_of_text_is_left_out_with_a_note_and_alone_is_refused() -> None:
    model = pd.DataFrame({"question": list("abcdef"), "coherence": [1, 2, 2, 3, 3, 1]}).assign(
        remark=list("uvwxyz")
    )
    found = aspect_correlations(model, model, scale=None)
    assert any(note.startswith("remark left out because the column holds text") for note in found.notes)
    objects = model.astype({"coherence": object})
    assert aspect_correlations(objects, model).average == found.average
    with pytest.raises(ValueError, match=r"got text in coherence; convert it with pandas\.to_numeric"):
        aspect_correlations(
            model.drop(columns="remark").astype({"coherence": str}), model.drop(columns="remark")
        )


def scored_log(path: Path, first: float = 5.0, missing: bool = False) -> Path:
    """Six responses, each scored by two referees on two aspects; `first` is one single score."""
    lines: list[dict[str, object]] = []
    for d in range(6):
        lines.append({"type": "item", "debate": f"d{d}", "question": f"q{d}"})
        for k, agent in enumerate("xy"):
            scores = {"naturalness": float(1 + (d * 3 + k) % 9), "coherence": float(1 + (d * 5 + k) % 9)}
            if d == 0:
                scores["naturalness"] = first if agent == "x" else 1.0
                if missing and agent == "x":
                    del scores["coherence"]
            turn = {"type": "turn", "debate": f"d{d}", "round": 1, "agent": agent}
            lines.append(turn | {"scores": {"response": scores}})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return path


def of_roles(path: Path, **roles: str) -> Path:
    """Write the log of scored responses with a role for each agent."""
    lines = [json.loads(line) for line in scored_log(path).read_text(encoding="utf-8").splitlines()]
    told = [one | ({"role": roles[one["agent"]]} if "agent" in one else {}) for one in lines]
    path.write_text("\n".join(map(json.dumps, told)) + "\n", encoding="utf-8")
    return path


def test_scores_of_two_roles_of_which_none_decides_are_refused_with_what_to_choose(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with pytest.raises(
        ValueError, match=r"by a role that counts; got none \(agents of several roles \(critic and"
    ):
        direct_scores(of_roles(path, x="critic", y="writer"))
    of_judge = direct_scores(of_roles(path, x="judge", y="writer"))
    assert of_judge["coherence"].tolist() == [float(1 + d * 5 % 9) for d in range(6)]


@pytest.mark.parametrize(
    ("roles", "totals", "criterion"),
    [
        ({"x": "judge", "y": "writer"}, (2, 20), (1, 10)),
        ({"x": "critic", "y": "writer"}, (-10, 20), (-5, 10)),
        ({"x": "guest", "y": "guest"}, (-np.inf, np.inf), (-np.inf, np.inf)),
    ],
)
def test_scores_range_as_the_scales_of_the_roles_that_count(
    roles: dict[str, str], totals: tuple[float, float], criterion: tuple[float, float], tmp_path: Path
) -> None:
    """A total of two aspects has twice the range of one; a role without a scale leaves both open."""
    path = of_roles(tmp_path / "log.jsonl", **roles)
    scales = {"judge": [1, 10], "critic": [0, 10], "writer": [-5, 5]}
    journal_path(path).write_text(json.dumps({"scales": scales}) + "\n", encoding="utf-8")
    assert score_ranges(open_source(path)) == (totals, criterion)


HUMAN = pd.DataFrame(
    {
        "question": [f"q{i}" for i in range(6)],
        "naturalness": [1, 2, 3, 1, 2, 3],
        "coherence": [1, 1, 2, 3, 3, 2],
    }
)


def test_single_scores_of_a_log_are_checked_and_not_only_their_means(tmp_path: Path) -> None:
    """15 and 1 have the mean 8, which would lie on the scale."""
    path = scored_log(tmp_path / "log.jsonl", first=15.0)
    for compute in (
        lambda: direct_scores(path, scale=(1, 10)),
        lambda: aspect_correlations(path, HUMAN, scale=(1, 10)),
        lambda: aspect_correlations(path, HUMAN, scale={"naturalness": (1, 10)}),
    ):
        with pytest.raises(ValueError, match="got 15 for naturalness of 'd0'"):
            compute()
    said = " ".join(aspect_correlations(path, HUMAN).notes)
    assert "no single score was checked, because no scale was given (scale=); they go from 1 to 15" in said
    good = scored_log(tmp_path / "good.jsonl")
    assert "checked" not in " ".join(aspect_correlations(good, HUMAN, scale=(1, 10)).notes)
    with pytest.raises(
        ValueError, match="scale must name aspects that there are; got 'naturalnes'; did you mean"
    ):
        aspect_correlations(good, HUMAN, scale={"naturalnes": (1, 10)})


def test_missing_single_scores_and_aspects_of_one_table_are_said(tmp_path: Path) -> None:
    path = scored_log(tmp_path / "log.jsonl", missing=True)
    found = aspect_correlations(path, HUMAN, scale=(1, 10))
    assert (
        "1 of 24 scores of single agents missing, and the means are those of the others: coherence 1"
        in " ".join(found.notes)
    )
    alone = aspect_correlations(path, HUMAN.drop(columns="coherence"), scale=(1, 10))
    assert {key for key, _ in alone.correlations} == {"naturalness"}
    assert "coherence" in str(alone.refused)


def test_a_table_without_a_scale_tells_its_ranges() -> None:
    notes = aspect_correlations(
        MODEL.assign(naturalness=MODEL["naturalness"].where(MODEL.index > 0, 99)), PEOPLE
    ).notes
    (model, people) = (note for note in notes if "no scale was given" in note)
    assert model.startswith("scores: no scale was given (scale=)")
    assert "naturalness 1 to 99, groundedness 0 to 1" in model
    assert people.endswith("naturalness 1 to 3, groundedness 0 to 1")
    scaled = aspect_correlations(MODEL, PEOPLE, scale=(0, 3), human_scale=(0, 3)).notes
    assert not any("no scale" in note for note in scaled)


@pytest.mark.parametrize("scale", [(10, 1), (3, 3), {"naturalness": (3, 1)}])
def test_a_scale_goes_from_the_least_to_a_greater_score(scale: object) -> None:
    for name in ("scale", "human_scale"):
        with pytest.raises(ValueError, match=f"^{name} must go from the least score to a greater one; got"):
            aspect_correlations(MODEL, PEOPLE, **{name: scale})


@pytest.mark.parametrize("names", [lambda f: f.index.astype(float), lambda f: f.index.astype(str) + ".0"])
def test_names_of_responses_are_compared_in_the_normal_form_of_names(names: Callable[..., object]) -> None:
    left, right = MODEL.assign(question=MODEL.index), PEOPLE.assign(question=names(PEOPLE))
    assert aspect_correlations(left, right).average == aspect_correlations(MODEL, PEOPLE).average


def test_a_response_needs_a_name() -> None:
    with pytest.raises(
        ValueError, match=r"^human must name each response in 'question'; got 1 row without a name"
    ):
        aspect_correlations(MODEL, PEOPLE.assign(question=PEOPLE["question"].where(PEOPLE.index > 0)))
