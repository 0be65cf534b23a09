"""Signs that a table is not what it seems are named where they are, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import covering

import d3stats
from d3stats.inference import as_ratings, as_run
from d3stats.inference.bias import as_judgments
from d3stats.log import doctor
from d3stats.note import kind_of, severity_of
from d3stats.planning import score_gaps


def warned(notes: tuple[str, ...]) -> set[str]:
    return {kind_of(note) for note in notes if severity_of(note) == "warning"}


def scores(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"item": [f"q{k}" for k in range(len(values))], "score": values})


@pytest.mark.parametrize("seed", range(5))
def test_shares_beside_percentages_are_two_scales_and_one_scale_is_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.random(40).round(2)
    mixed = np.where(rng.random(40) < 0.4, (shares * 100).round(), shares)
    assert "two scales" in warned(as_run(scores(mixed)).notes)
    for one in (
        shares,
        shares * 100,
        rng.integers(1, 11, 40),
        rng.exponential(5, 40),
        rng.lognormal(0, 1, 40),
    ):
        assert "two scales" not in warned(as_run(scores(one)).notes)


@pytest.mark.parametrize("name", ["Total", "SUM", "Grand total", "average", "Summe"])
def test_a_row_that_sums_up_the_others_is_named_by_runs_ratings_and_verdicts(name: str) -> None:
    n = 12
    items = [*(f"q{k}" for k in range(n)), name]
    run = pd.DataFrame({"item": items, "score": [*[0.5] * n, 6.0]})
    wide = pd.DataFrame({"item": items, "x": [*list("AB" * 6), "A"], "y": [*list("AB" * 6), "B"]})
    verdicts = pd.DataFrame({"item": items, "order": "AB", "vote": [*list("AB" * 6), "A"]})
    for read, table in ((as_run, run), (as_ratings, wide), (as_judgments, verdicts)):
        assert "row of sums" in warned(read(table).notes)
        assert "row of sums" not in warned(read(table.iloc[:-1]).notes)


@pytest.mark.parametrize("header", [["ITEM", "X", "Y"], ["[item]", "[x]", "[y]"], ["item", "x", "y"]])
def test_a_second_header_is_left_out_in_any_case(header: list[str], tmp_path: Any) -> None:
    wide = pd.DataFrame({"item": list("pqrs"), "x": list("AABB"), "y": list("ABBB")})
    table = pd.concat([pd.DataFrame([header], columns=wide.columns), wide], ignore_index=True)
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (table, tmp_path / "table.csv"):
        read = as_ratings(source)
        assert read.items == ("p", "q", "r", "s")
        assert any("1 row that repeats the names of the columns was left out" in note for note in read.notes)


def test_votes_that_are_spelt_like_the_names_of_their_raters_are_no_header(tmp_path: Any) -> None:
    wide = pd.DataFrame({"a": list("AABB"), "b": list("ABBB")})
    assert as_ratings(wide).codes.tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]
    named = wide.assign(item=list("pqrs"))
    named.to_csv(tmp_path / "table.csv", index=False)
    for source in (named, tmp_path / "table.csv"):
        assert as_ratings(source).codes.tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]


def test_a_first_row_of_one_word_is_named_and_a_common_one_is_not(tmp_path: Any) -> None:
    wide = pd.DataFrame({"item": list("pqrs"), "x": list("AABB"), "y": list("ABBB")})
    table = pd.concat([pd.DataFrame([["text"] * 3], columns=wide.columns), wide], ignore_index=True)
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (table, tmp_path / "table.csv"):
        assert "headers" in warned(as_ratings(source).notes)
    assert "headers" not in warned(as_ratings(wide).notes)


@pytest.mark.parametrize("mark", [" ", "'", "\u202f", "\u00a0"])
def test_marks_between_thousands_are_read_and_said(mark: str) -> None:
    numbers = np.random.default_rng(1).integers(500, 90_000, 20)
    written = [f"{number:,}".replace(",", mark) for number in numbers]
    run = as_run(scores(written))
    assert run.value.tolist() == numbers.tolist()
    assert any(kind_of(note) == "marks between thousands" for note in run.notes)


def test_a_comma_before_three_digits_in_every_number_is_a_warning() -> None:
    unclear = as_run(scores([f"{k},{k}00" for k in range(1, 10)]))
    assert "decimal commas" in warned(unclear.notes)
    clear = as_run(scores([f"{k},{k}" for k in range(1, 10)]))
    assert "decimal commas" not in warned(clear.notes)
    assert clear.value[0] == 1.1


def test_a_negative_code_among_words_is_named_whatever_its_share() -> None:
    votes = ["A", "B", "-1"] * 8
    table = pd.DataFrame({"item": [f"q{k // 2}" for k in range(24)], "rater": ["x", "y"] * 12, "vote": votes})
    assert any(note.startswith("WARNING: 8 votes say '-1'") for note in as_ratings(table).notes)
    numbers = table.assign(vote=["1", "2", "-1"] * 8)
    assert any("-1" in note for note in as_ratings(numbers).notes)
    signed = table.assign(vote=["-2", "-1", "1"] * 8)
    assert not warned(as_ratings(signed).notes)


@covering(code=[-1, 99, 999, -999], top=[5, 10, 20])
def test_a_code_out_of_the_scale_is_named_wherever_numbers_are_read(
    code: int, top: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(top)
    values = rng.integers(1, top + 1, (60, 2))
    for odd in (False, True):
        given = np.where(rng.random((60, 2)) < 0.1 * odd, code, values)
        sides = pd.DataFrame({"debate": range(60), "round": 1, "agent": "judge", "label": "A"})
        sides = sides.assign(score_A=given[:, 0], score_B=given[:, 1])
        wide = pd.DataFrame({"item": [f"q{k}" for k in range(60)], "x": given[:, 0], "y": given[:, 1]})
        read = (
            d3stats.scores(sides).notes,
            as_run(scores(given[:, 0])).notes,
            as_ratings(wide).notes,
            score_gaps(sides, dict.fromkeys(map(str, range(60)), "all")).attrs["notes"],
        )
        named = [any(str(code) in note for note in notes if severity_of(note) == "warning") for notes in read]
        assert named == [odd] * 4
        sides.to_csv(tmp_path / "s.csv", index=False)
        assert [each.kind for each in doctor(tmp_path / "s.csv").findings] == ["codes of failures"] * odd


@pytest.mark.parametrize("scale", [(-2, 3), (-1, 2), (0, 1), (0, 101), (1, 11)])
def test_whole_scales_have_no_codes(scale: tuple[int, int]) -> None:
    values = np.random.default_rng(2).integers(*scale, 80) if scale != (0, 1) else np.zeros(80)
    assert scale == (-1, 2) or "codes of failures" not in warned(as_run(scores(values)).notes)


def test_seconds_beside_milliseconds_are_two_scales() -> None:
    rng = np.random.default_rng(4)
    seconds = rng.lognormal(0.5, 0.6, 40).round(2)
    assert "two scales" in warned(
        as_run(scores(np.where(rng.random(40) < 0.4, seconds * 1000, seconds))).notes
    )
    assert "two scales" not in warned(as_run(scores(seconds)).notes)


def test_rules_on_scores_warn_of_two_scales_and_votes_alone_do_not() -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(0.1, 1, (240, 2)).round(2) * np.where(np.arange(240)[:, None] < 120, 1, 100)
    turns = pd.DataFrame(
        {"debate": np.arange(240) // 6, "round": np.arange(240) // 3 % 2 + 1, "agent": [*"xyz"] * 80}
    )
    log = turns.assign(vote=rng.choice([*"AB"], 240), label="A", score_A=points[:, 0], score_B=points[:, 1])
    log["label"] = log.groupby("debate")["vote"].transform("first")
    assert "two scales" in warned(d3stats.replay(log, "sign_agreement:2").notes)
    assert "two scales" in warned(d3stats.scores(log).notes)
    assert "two scales" not in warned(as_run(log).notes)
    assert "two scales" in warned(as_run(log, value="score:A").notes)


@pytest.mark.parametrize("form", ["frame", "csv", "semicolon", "xlsx"])
def test_decimal_commas_are_read_alike_in_scores_and_runs(form: str, tmp_path: Path) -> None:
    values = np.random.default_rng(6).integers(10, 100, (30, 2)) / 10
    written = [[f"{x:.1f}".replace(".", ",") for x in column] for column in values.T]
    sides = pd.DataFrame({"debate": range(30), "round": 1, "agent": "judge", "label": "A"})
    sides = sides.assign(score_A=written[0], score_B=written[1])
    path = tmp_path / ("t.xlsx" if form == "xlsx" else "t.csv")

    def source(table: pd.DataFrame) -> Any:
        if form == "frame":
            return table
        if form == "xlsx":
            table.to_excel(path, index=False)
        else:
            table.to_csv(path, index=False, sep=";" if form == "semicolon" else ",")
        return path

    found = d3stats.scores(source(sides))
    assert found.means["mean"].to_numpy() == pytest.approx(values.mean(axis=0))
    assert sum(kind_of(note) == "decimal commas" for note in found.notes) == 2
    assert as_run(source(scores(written[0]))).value == pytest.approx(values[:, 0])
    tokens = sides.assign(vote="A", tokens=["110,5"] * 30)
    with pytest.raises(ValueError, match=r"got tokens='110,5' \(a count has no decimals: round it\)"):
        d3stats.replay(source(tokens.drop(columns=["score_A", "score_B"])))


def test_copies_are_counted_and_warned_of_where_they_count() -> None:
    rng = np.random.default_rng(7)
    run = scores(rng.integers(0, 2, 30)).rename(columns={"score": "correct"})
    (note,) = [n for n in as_run(pd.concat([run, run[:10]])).notes if kind_of(n) == "repeats"]
    assert note.endswith("10 rows are equal to an earlier one in every column")
    long = pd.DataFrame(
        {"item": np.repeat(run["item"], 2), "rater": [*"xy"] * 30, "vote": rng.choice([*"AB"], 60)}
    )
    twice = pd.concat([long, long], ignore_index=True)
    assert "copies" in warned(as_ratings(twice, repeats="separate").notes)
    other = pd.concat([long, long.assign(vote=rng.choice([*"AB"], 60))], ignore_index=True)
    assert "copies" not in warned(as_ratings(other, repeats="separate").notes)


def test_a_file_that_is_given_twice_is_read_once_and_said(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    scores(range(9)).to_csv(path, index=False)
    assert f"{path} was given 2 times and is read once" in as_run([path, path]).notes
    turns = pd.DataFrame({"debate": range(9), "round": 1, "agent": "x", "vote": "A"})
    turns.to_csv(path, index=False)
    assert f"{path} was given 2 times and is read once" in d3stats.as_trajectories([path, path]).notes


@covering(
    form=["frame", "csv", "xlsx", "rows"],
    names=[("1", "2", "3"), ("01", "02", "03"), ("1.10", "1.20", "1.30"), ("1e3", "2e3", "3e3")],
)
def test_names_that_are_numbers_are_names_in_every_function(
    names: tuple[str, ...], form: str, tmp_path: Path
) -> None:
    """The same debates and ratings, with agents and items called by words and by numbers, give the same numbers."""
    rng = np.random.default_rng(8)
    n, label = 24, np.repeat(rng.choice([*"AB"], 24), 6)
    vote = np.where(rng.random(6 * n) < 0.7, label, rng.choice([*"AB"], 6 * n))
    shown = rng.integers(1, 11, (6 * n, 2))

    def results(agents: tuple[str, ...], prefix: str) -> dict[str, Any]:
        log = pd.DataFrame(
            {"debate": [f"{prefix}{k // 6 + 10}" for k in range(6 * n)], "agent": [*agents] * 2 * n}
        )
        log = log.assign(round=np.arange(6 * n) // 3 % 2 + 1, vote=vote, label=label)
        pairs = log.rename(columns={"debate": "item", "agent": "judge"})[lambda t: t["round"] == 1]
        pairs = pairs.assign(persona=pairs["judge"])
        run = pairs[pairs["judge"] == agents[0]][["item", "vote", "label"]]
        scored = log.drop(columns="vote").assign(score_A=shown[:, 0], score_B=shown[:, 1])

        def given(table: pd.DataFrame) -> Any:
            path = tmp_path / ("t.xlsx" if form == "xlsx" else "t.csv")
            if form in ("csv", "xlsx"):
                (table.to_excel if form == "xlsx" else table.to_csv)(path, index=False)
            return {"frame": table, "rows": table.to_dict("records")}.get(form, path)

        ratings = pairs.rename(columns={"judge": "rater"})[["item", "rater", "vote"]]
        return {
            "replay": d3stats.replay(given(log)).to_frame()["accuracy"].tolist(),
            "fit": sorted(d3stats.as_trajectories(given(log)).successes_trials()[0].ravel().tolist()),
            "agreement": d3stats.agreement(given(ratings)).to_frame()["value"].tolist(),
            "agreement of a log": d3stats.agreement(given(log)).to_frame()["value"].tolist(),
            "bias": [
                e.value
                for e in d3stats.inference.persona_effect(given(pairs.drop(columns="judge"))).estimates
            ],
            "compare": as_run(given(run)).value.tolist(),
            "scores": d3stats.scores(given(scored)).means["mean"].tolist(),
        }

    words, numbers = results(("a", "b", "c"), "d"), results(names, "")
    assert {name: pytest.approx(value) for name, value in words.items()} == numbers


@pytest.mark.parametrize("form", ["frame", "csv", "xlsx"])
def test_debates_without_a_question_beside_others_are_counted(form: str, tmp_path: Path) -> None:
    names = [f"q{k // 3}" if k % 3 == 0 else None for k in range(12)]
    table = pd.DataFrame(
        {"debate": range(12), "question": names, "round": 1, "agent": "x", "vote": "A", "label": "A"}
    )

    def notes(given: pd.DataFrame) -> list[tuple[str, int | None]]:
        path = tmp_path / f"t.{form}"
        if form == "csv":
            given.to_csv(path, index=False)
        elif form == "xlsx":
            given.to_excel(path, index=False)
        read = d3stats.open(given if form == "frame" else path).trajectories().notes
        return [(severity_of(note), getattr(note, "n", None)) for note in read if "no question" in note]

    assert notes(table) == [("warning", 8)]
    assert notes(table.assign(cluster=[f"c{k // 3}" for k in range(12)])) == []
    assert notes(table.assign(question=[f"q{k // 3}" for k in range(12)])) == []
    assert notes(table.drop(columns="question")) == []
