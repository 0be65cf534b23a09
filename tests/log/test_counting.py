"""Counts in pieces are the counts of the whole, whatever the pieces and however debates lie in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import covering, examples
from log_worlds import clean_logs, item, panel, turn, write_lines, write_log

from d3stats.log import LogError, count, count_log, counting, write_parquet
from d3stats.log.counting import LogCounts, _count_in_pieces
from d3stats.log.files import find_files
from d3stats.log.problems import TOLERATED
from d3stats.trajectories import Trajectories
from d3stats.values import MISSING_WORDS

VOTES = ["A", "B", "1", "0", "true", "True", "2.5", "2.50", "NA", " A", None]


def in_pieces(
    paths: Iterable[Path], size: int, missing: str = "exclude", workers: int = 1
) -> LogCounts | None:
    return _count_in_pieces(find_files(paths), missing, MISSING_WORDS, workers=workers, size=size)  # type: ignore[arg-type]


def counted(t: Trajectories, missing: Any) -> tuple[Any, ...]:
    return t.counts(missing), t.transitions(missing)


@st.composite
def any_logs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw debates of two runs with votes in many spellings, one after another, in turns, or split apart."""
    votes = VOTES[: draw(st.sampled_from([2, 4, 6, 8, 11]))]
    roles = st.sampled_from(["juror", "judge"])
    debates = []
    for d in range(draw(st.integers(1, 8))):
        name = f"d{d}"
        run = draw(st.sampled_from(["one", "two"]))
        agents = "abc" if draw(st.integers(0, 19)) else "ab"
        own = [item(name, label=draw(st.sampled_from(votes)), log=run, answers=None)]
        for played in range(1, 1 + draw(st.integers(0, 3))):
            own += [
                turn(name, played, agent, vote=draw(st.sampled_from(votes)), role=role)
                for agent, role in zip(agents, ("juror", "juror", draw(roles)), strict=False)
            ]
        if draw(st.booleans()):
            own.append({"type": "verdict", "debate": name, "decision": draw(st.sampled_from(votes))})
        debates.append(own)
    order = draw(st.sampled_from(["one by one", "items first", "in turns", "any"]))
    lines = [line for own in debates for line in own]
    if order == "items first":
        lines.sort(key=lambda line: line["type"] != "item")
    elif order == "in turns":
        lines.sort(key=lambda line: (line["type"] == "verdict", line.get("round", 0)))
    elif order == "any":
        lines = draw(st.permutations(lines))
    return lines


def test_pieces_add_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    _pieces_add_up(tmp_path_factory, 60)


@pytest.mark.slow
def test_pieces_add_up_in_many_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    _pieces_add_up(tmp_path_factory, 2_000)


def _pieces_add_up(tmp_path_factory: pytest.TempPathFactory, examples: int) -> None:
    sure = []

    @settings(max_examples=examples, deadline=None)
    @given(any_logs(), st.integers(100, 3000), st.sampled_from(["exclude", "wrong"]), st.integers(0, 30))
    def check(lines: list[dict[str, Any]], size: int, missing: Any, cut: int) -> None:
        folder = tmp_path_factory.mktemp("pieces")
        paths = [write_lines(folder / "a.jsonl", lines[:cut]), write_lines(folder / "b.jsonl", lines[cut:])]
        paths = [path for path in paths if path.stat().st_size]
        pieces = in_pieces(paths, size, missing)
        sure.append(pieces is not None)
        if pieces is not None:
            assert pieces == count_log(*paths, missing=missing)
            assert (pieces.rounds, pieces.transitions) == counted(Trajectories.from_log(*paths), missing)

    check()
    assert any(sure)


@examples(6, 60)
def test_a_sound_log_counts_alike_in_pieces_and_as_arrays(
    tmp_path_factory: pytest.TempPathFactory, n_examples: int
) -> None:
    @settings(max_examples=n_examples, deadline=None)
    @given(clean_logs(max_debates=8), st.integers(50, 2000))
    def holds(records: list[Any], size: int) -> None:
        pieces_are_arrays(tmp_path_factory, records, size)

    holds()


def pieces_are_arrays(tmp_path_factory: pytest.TempPathFactory, records: list[Any], size: int) -> None:
    path = write_log(tmp_path_factory.mktemp("sound") / "log.jsonl", records)
    array = Trajectories.from_log(path)
    for missing in ("exclude", "wrong"):
        pieces = in_pieces([path], size, missing)
        assert pieces is None or (pieces.rounds, pieces.transitions) == counted(array, missing)
        assert pieces is None or pieces.n_turns == sum(record.type == "turn" for record in records)
        assert pieces is None or pieces.n_debates == len(array)


def many(n: int = 40, **fields: Any) -> list[dict[str, Any]]:
    return [
        line
        for d in range(n)
        for line in (
            item(f"d{d}"),
            *(
                turn(f"d{d}", r, a, vote="AB"[(d + r) % 2], role="juror", **fields)
                for r in (1, 2)
                for a in "abc"
            ),
        )
    ]


@covering(
    workers=[1, 2, 3],
    size=[200, 1000, 10_000],
)
def test_a_plain_log_is_counted_in_pieces_on_any_number_of_processes(
    tmp_path: Path, size: int, workers: int
) -> None:
    path = write_lines(tmp_path / "log.jsonl", many())
    pieces = in_pieces([path], size, workers=workers)
    assert pieces is not None
    assert pieces == count_log(path)


def test_files_are_counted_apart_and_together(tmp_path: Path) -> None:
    lines = many()
    paths = [write_lines(tmp_path / f"{k}.jsonl", lines[7 * 10 * k : 7 * 10 * (k + 1)]) for k in range(4)]
    assert in_pieces(paths, 500) == count_log(*paths) == count(*paths)
    torn = [write_lines(tmp_path / "x.jsonl", lines[:101]), write_lines(tmp_path / "y.jsonl", lines[101:])]
    assert in_pieces(torn, 500) == count_log(*paths)


@pytest.mark.parametrize(
    ("defect", "kind"),
    [
        (turn("d1", 1, "a", vote="A", role="juror"), "duplicate turn"),
        (turn("d99", 1, "a", vote="A", role="juror"), "unknown debate"),
        (item("d1", label="C"), "conflicting item"),
        (turn("d39", 4, "a", vote="A", role="juror"), "round gap"),
        ("{", "malformed line"),
    ],
)
def test_a_defect_that_lies_pieces_away_is_found(
    tmp_path: Path, defect: Any, kind: str, monkeypatch: Any
) -> None:
    path = write_lines(tmp_path / "log.jsonl", [*many(), defect, item("last"), *panel("last", role="juror")])
    assert in_pieces([path], 500) is None
    monkeypatch.setattr(counting, "SIZE", 500)
    if kind in TOLERATED:
        assert count_log(path).problems[0].kind == kind
    else:
        with pytest.raises(LogError) as caught:
            count_log(path)
        assert caught.value.problem.kind == kind
    left = count_log(path, strict=False)
    assert left.problems
    assert left.rounds == Trajectories.from_log(path, strict=False).counts()


def test_a_panel_that_varies_pieces_away_is_counted_as_a_whole_log_is(
    tmp_path: Path, monkeypatch: Any
) -> None:
    lines = [*many(), turn("d39", 3, "a", vote="A", role="juror"), item("last"), *panel("last", role="juror")]
    path = write_lines(tmp_path / "log.jsonl", lines)
    assert in_pieces([path], 500) is None
    monkeypatch.setattr(counting, "SIZE", 500)
    counts = count_log(path)
    assert counts.rounds == Trajectories.from_log(path).counts()
    assert count_log(path, strict=False).rounds == counts.rounds
    assert {p.kind for p in count_log(path, strict=False).problems} == {"mixed panel"}


def test_a_spelling_that_only_another_piece_explains_is_read_with_it(tmp_path: Path) -> None:
    """1 and true are one answer where all answers are such; a single other answer keeps them apart."""
    lines = [
        item("d0", label="true"),
        *(turn("d0", 1, a, vote=v) for a, v in zip("abc", ("1", "true", "0"), strict=True)),
    ]
    other = [item("d1", label="no"), *(turn("d1", 1, a, vote="no") for a in "abc")]
    path = write_lines(tmp_path / "log.jsonl", [*lines, *other])
    whole = count_log(path)
    assert whole.rounds.keys.tolist() == [[1, 1, 3], [1, 3, 3]]
    assert in_pieces([path], 100) in (None, whole)


def test_a_role_that_votes_in_another_piece_has_seats_everywhere(tmp_path: Path) -> None:
    lines = many(10)
    for number, line in enumerate(lines):
        if line["type"] == "turn" and line["agent"] == "c":
            line |= {"role": "judge", "vote": "A" if number > 60 else None}
    path = write_lines(tmp_path / "log.jsonl", lines)
    whole = count_log(path, missing="wrong")
    assert set(whole.rounds.keys[:, 2].tolist()) == {3}
    assert in_pieces([path], 300, "wrong") in (None, whole)


def test_a_panel_that_was_cut_short_in_one_piece_is_held_to_the_panels_of_the_others(tmp_path: Path) -> None:
    """Alone, a debate under way whose role has just begun says nothing of its panel."""
    begun = [item("a"), turn("a", 1, "a", vote="A", role="juror")]
    closed = [item("b"), turn("b", 1, "x", vote="A", role="juror"), turn("b", 1, "y", vote="A", role="juror")]
    verdict = {"type": "verdict", "debate": "b", "decision": "A"}
    other = [item("c"), *(turn("c", 1, agent, vote="A", role="juror") for agent in "pqr")]
    path = write_lines(tmp_path / "log.jsonl", [*begun, *closed, verdict, *other, item("d"), *panel("d")])
    for size in (100, 300, 500, 10_000):
        assert in_pieces([path], size) is None
    assert count_log(path).problems


def test_memory_does_not_hold_the_log(tmp_path: Path) -> None:
    import tracemalloc

    peak = []
    for n in (300, 1500):
        path = tmp_path / f"{n}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in many(n)))
        tracemalloc.start()
        assert in_pieces([path], 50_000) is not None
        peak.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peak[1] < 1.5 * peak[0]


@pytest.mark.slow  # the fast layer measures lines
def test_memory_does_not_hold_a_parquet_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    monkeypatch.setattr(counting, "ROWS", 1_000)
    peak = []
    for n in (1000, 4000):
        path = tmp_path / f"{n}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in many(n)))
        table = write_parquet(path, tmp_path / f"{n}.parquet")
        assert in_pieces([table], 50_000) == in_pieces([path], 50_000)
        tracemalloc.start()
        assert in_pieces([table], 50_000) is not None
        peak.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peak[1] < 1.5 * peak[0]


def test_counting_file_by_file_reads_own_columns_words_and_encodings_as_counting_at_once_does(
    tmp_path: Path,
) -> None:
    for name in "ab":
        text = (
            f"qid,turn,speaker,says,key\n{name},1,é,A,A\n{name},1,y,pass,A\n{name},2,é,B,A\n{name},2,y,A,A\n"
        )
        (tmp_path / f"{name}.csv").write_bytes(text.encode("latin-1"))
    options: dict[str, Any] = {
        "columns": {"debate": "qid", "vote": "says", "label": "key"},
        "missing_values": ["pass"],
        "encoding": "latin-1",
    }
    whole = count_log(tmp_path / "*.csv", **options)
    assert whole.rounds.to_frame().to_numpy().tolist() == [[1, 1, 1, 2], [2, 1, 2, 2]]
    for workers in (1, 2):
        apart = count(tmp_path / "*.csv", workers=workers, **options)
        assert (apart.rounds, apart.transitions) == (whole.rounds, whole.transitions)


@covering(
    form=["csv", "parquet", "jsonl"],
    word=["The answer is B.", "ERROR", "-1", "[invalid]", "answer: a"],
)
def test_a_vote_that_is_no_answer_but_a_word_is_warned_of(word: str, form: str, tmp_path: Path) -> None:
    rows = [
        (f"d{d}", r, agent, "AB"[d % 2], "AB"[d % 2]) for d in range(20) for r in (1, 2) for agent in "xyz"
    ]
    frame = pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"])
    path = tmp_path / f"log.{form}"
    write = {
        "csv": lambda: frame.to_csv(path, index=False),
        "parquet": lambda: frame.to_parquet(path),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
    }[form]
    write()
    assert not any(note.startswith("WARNING") for note in count(path).notes)
    frame.loc[7, "vote"] = word
    write()
    (told,) = [note for note in count(path).notes if note.startswith("WARNING")]
    assert repr(word) in told


def test_a_sheet_is_refused_where_no_file_is_a_workbook(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("debate,round,agent,vote,label\nd,1,x,A,A\n")
    with pytest.raises(ValueError, match="sheet must be left out for files that are no workbooks; got 'one'"):
        count(tmp_path / "a.csv", sheet="one")
