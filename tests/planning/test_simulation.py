"""A simulation's table is the same for any cut and any number of workers, and says what the debates said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from layers import covering
from pandas.testing import assert_frame_equal

from d3stats.log import LogWriter, count_log
from d3stats.log.counting import count
from d3stats.planning import Study, evaluate, read_study, replay, simulate
from d3stats.planning.ledger_policy import LedgerPolicy
from d3stats.planning.study import _dot, sums_of_rules
from d3stats.stopping import FixedRounds, FullDepth, KSStability, Rule, Unanimity, from_text
from d3stats.trajectories import MISSING, Trajectories
from d3stats.worlds import Assembly, Courtroom, Voter, count_process, simulate_debates

STUDY = Path(__file__).with_name("study.toml")


def study(**changes: object) -> Study:
    given = read_study(STUDY)
    settings = {
        "worlds": given.worlds,
        "rules": given.rules,
        "n_rounds": given.n_rounds,
        "debates": given.debates,
        "seeds": given.seeds,
    }
    return Study(**{**settings, **changes})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole() -> pd.DataFrame:
    return simulate(study(chunk=6000)).to_frame("seed")


@covering(workers=[1, 2], chunk=[100, 1024, 5000])
def test_the_table_is_bit_identical_for_any_chunk_and_any_number_of_processes(
    whole: pd.DataFrame, chunk: int, workers: int
) -> None:
    again = simulate(study(chunk=chunk), workers=workers).to_frame("seed")
    assert_frame_equal(whole, again, check_exact=True)


def test_several_worlds_have_a_panel_each_and_need_no_axes_given() -> None:
    found = simulate(
        Study(worlds={"a": Voter(panel=3), "b": Voter(panel=5)}, rules=["fixed:1"], n_rounds=3, debates=64)
    )
    whole = found.plot()
    assert [panel.get_title() for panel in whole.axes] == ["a", "b"]
    with pytest.raises(ValueError, match="ax must be left out for several worlds; got 2 worlds"):
        found.plot(whole.axes[0])
    assert_frame_equal(found.to_frame("rules"), found.to_frame())
    assert list(found.to_frame("recommended")["world"]) == ["a", "b"]


def test_a_large_chunk_is_played_in_pieces_with_the_same_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"rules": ["fixed:2", "ks:0.1"], "debates": 3000, "batch": 300, "chunk": 3000, "seeds": 1}
    at_once = simulate(study(**asked)).to_frame()
    monkeypatch.setattr("d3stats.planning.study.PIECE", 700)
    assert_frame_equal(simulate(study(**asked)).to_frame(), at_once, check_exact=True)


def test_a_rule_for_a_batch_sees_the_same_batches_whatever_the_chunk() -> None:
    asked = {"rules": ["ks:0.1,patience=1", "unanimity | ks:0.1"], "batch": 300, "seeds": 1}
    tables = [simulate(study(chunk=chunk, **asked)).to_frame() for chunk in (100, 1024, 6000)]
    for other in tables[1:]:
        assert_frame_equal(tables[0], other, check_exact=True)
    assert set(tables[0]["decides"]) == {"debate", "batch"}
    t = simulate_debates(Voter(panel=5), 600, 6, rng=0, first=300)
    second = KSStability(0.1, patience=1).stop_rounds(t.select(np.arange(300))).rounds.sum()
    first_two = sums_of_rules(
        simulate_debates(Voter(panel=5), 600, 6, rng=0), [KSStability(0.1, patience=1), Unanimity(), FullDepth()],
        "exclude", 300,
    )[0]  # fmt: skip
    head = (
        KSStability(0.1, patience=1).stop_rounds(simulate_debates(Voter(panel=5), 300, 6, rng=0)).rounds.sum()
    )
    assert (first_two.units, first_two.totals[1]) == (2, head + second)


def test_a_cell_says_what_a_replay_of_its_debates_says(whole: pd.DataFrame) -> None:
    world = read_study(STUDY).worlds["easy"]
    played = replay(simulate_debates(world, 6000, 6, rng=11), list(read_study(STUDY).rules)).to_frame()
    cell = whole.query("world == 'easy' and seed == 11").reset_index(drop=True)
    shares = ("accuracy", "agreement", "flips", "gained", "lost", "premature")
    for name in ("rounds", *shares, "saved_rounds_vs_unanimity"):
        np.testing.assert_allclose(cell[name], played[name], rtol=1e-12, err_msg=name)
        half = (played[f"{name}_high"] - played[f"{name}_low"]) / 2 / 1.96
        # A share of 0 or 1 has limits and no error; where no replicate differs there is neither.
        half = half.where(half.notna() | (cell[f"{name}_se"] > 0), 0.0)
        half = half.where((cell[f"{name}_se"] > 0) | ~played[name].isin([0, 1]), 0.0)
        # Full depth stops nothing early.
        half = half.where(cell[name].notna())
        np.testing.assert_allclose(cell[f"{name}_se"], half, rtol=0.2, atol=1e-4, err_msg=name)
    np.testing.assert_allclose(cell["tokens"], played["tokens"], rtol=1e-6)


def test_seeds_put_together_are_the_mean_of_the_seeds(whole: pd.DataFrame) -> None:
    pooled = simulate(study()).to_frame()
    for name in ("rounds", "accuracy", "tokens"):
        mean = whole.groupby(["world", "rule"], sort=False)[name].mean().to_numpy()
        np.testing.assert_allclose(pooled[name], mean, rtol=1e-12)
    assert set(pooled["n_debates"]) == {12_000}
    ratio = pooled["accuracy_se"].to_numpy() / whole.query("seed == 3")["accuracy_se"].to_numpy()
    np.testing.assert_allclose(ratio, 1 / np.sqrt(2), rtol=0.02)


def test_the_simulation_agrees_with_exact_evaluation_within_four_standard_errors() -> None:
    world = Voter(panel=5)
    done = simulate(Study(worlds=[world], rules=["fixed:1", "unanimity"], n_rounds=5, debates=20_000))
    process = count_process(world, 5)
    for rule, (_, row) in zip(done.study.rules, done.to_frame().iterrows(), strict=True):
        assert isinstance(rule, Rule)
        exact = evaluate(process, rule)
        for name in ("rounds", "accuracy", "agreement", "gained", "lost", "premature"):
            if np.isnan(row[name]) or np.isnan(getattr(exact, name)):
                assert np.isnan(row[name]), name
                assert np.isnan(getattr(exact, name)), name
                continue
            error = abs(row[name] - float(getattr(exact, name)))
            assert error <= 4 * row[f"{name}_se"] + 1e-12, (row["rule"], name)


def test_a_share_of_early_stops_in_one_batch_alone_has_no_standard_error() -> None:
    # At this threshold one of eight batches stops early, so nothing is known of how batches differ.
    found = (
        simulate(
            Study(worlds=[Voter(panel=5)], rules=["ks:0.04"], n_rounds=6, debates=800, batch=100, seeds=[3])
        )
        .to_frame()
        .iloc[0]
    )
    stopped = [
        KSStability(0.04).stop_rounds(simulate_debates(Voter(panel=5), 100, 6, rng=3, first=at)).rounds[0] < 6
        for at in range(0, 800, 100)
    ]
    assert sum(stopped) == 1
    assert 0 <= found["premature"] < 1
    assert np.isnan(found["premature_se"])
    assert found["rounds_se"] > 0


def test_worlds_share_streams_unless_told_otherwise() -> None:
    twins = {"one": Voter(panel=5), "two": Voter(panel=5)}
    shared = simulate(study(worlds=twins, debates=500, seeds=1)).to_frame().set_index(["world", "rule"])
    assert_frame_equal(shared.loc["one"], shared.loc["two"], check_exact=True)
    own = study(worlds=twins, debates=500, seeds=1, common_random_numbers=False)
    apart = simulate(own).to_frame().set_index(["world", "rule"])
    assert (apart.loc["one", "rounds"] != apart.loc["two", "rounds"]).any()


def test_dollars_are_tokens_at_the_price() -> None:
    table = simulate(study(dollars_per_million_tokens=2.5, debates=300, seeds=1)).to_frame()
    np.testing.assert_allclose(table["dollars"], table["tokens"] * 2.5e-6)
    np.testing.assert_allclose(table["dollars_se"], table["tokens_se"] * 2.5e-6)
    assert "dollars" not in simulate(study(debates=300, seeds=1)).to_frame()


def test_stops_count_every_debate_once() -> None:
    stops = simulate(study(debates=700)).stops(by="seed")
    assert (stops.groupby(["world", "seed", "rule"])["n_debates"].sum() == 700).all()
    assert (stops[["wrong", "right", "unscored"]].sum(axis=1) == stops["n_debates"]).all()
    assert stops.query("rule == 'fixed:2' and round != 2")["n_debates"].sum() == 0


def test_sums_of_parts_add_to_the_sums_of_the_whole_and_of_huge_numbers_exactly() -> None:
    t = simulate_debates(Voter(panel=5), 900, 4, rng=2)
    assert t.tokens is not None
    t = replace(t, tokens=t.tokens * 1e7, tokens_in=None, tokens_out=None)
    rules = [FixedRounds(2), Unanimity(), FullDepth()]
    total = sums_of_rules(t, rules, "exclude", None)
    parts = [sums_of_rules(t.select(np.arange(a, b)), rules, "exclude", None) for a, b in ((0, 7), (7, 900))]
    assert tuple(x + y for x, y in zip(*parts, strict=True)) == total
    huge = np.array([2.0**60, 3.0, 2.0**40])
    assert _dot(huge, huge, 2.0**120) == 2**120 + 9 + 2**80
    assert _dot(huge[1:], huge[1:], 2.0**52) == 9 + 2**80


def test_missing_votes_are_left_out_or_wrong_as_the_study_says() -> None:
    votes = [[["A", "B"], ["A", "A"]], [[None, None], ["B", "B"]], [["A", "A"], ["B", "B"]]]
    t = Trajectories.from_arrays(votes, label=["A", "B", None])
    rules = [FixedRounds(1), Unanimity(), FullDepth()]
    left_out, wrong = (sums_of_rules(t, rules, missing, None)[0] for missing in ("exclude", "wrong"))  # type: ignore[arg-type]
    assert (left_out.totals[3], wrong.totals[3]) == (1, 2)
    assert left_out.stops[6:12] == (0, 0, 2, 0, 1, 0)


@dataclass(frozen=True)
class NeedsScores(Rule):
    """A rule that no panel can serve."""

    reason: ClassVar[str] = "never"
    name: ClassVar[str] = "gap"

    def start(self) -> Any:
        raise NotImplementedError

    def fires(self, trajectories: Trajectories) -> Any:
        raise ValueError("scores must be in the log; got none")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_rule_that_a_world_cannot_serve_is_named_with_the_world(workers: int) -> None:
    asked = study(rules=["fixed:1", NeedsScores()], debates=400, chunk=100)
    with pytest.raises(
        ValueError, match=r"^world 'voter:.*': rule gap: scores must be in the log; got none$"
    ):
        simulate(asked, workers=workers).to_frame()


def test_a_price_on_a_world_without_tokens_is_refused_before_anything_is_drawn() -> None:
    silent = Voter(panel=5, lengths=None)
    with pytest.raises(ValueError, match=r"dollars_per_million_tokens must not be given .* world 'mute'"):
        simulate(Study(worlds={"mute": silent}, rules=["fixed:1"], n_rounds=2, debates=10,
                    dollars_per_million_tokens=1.0)).to_frame()  # fmt: skip
    table = simulate(Study(worlds={"mute": silent}, rules=["fixed:1"], n_rounds=2, debates=10)).to_frame()
    assert table["tokens"].isna().all()
    assert table["rounds"].notna().all()


# ---------------------------------------------------------------- the journal


def test_a_killed_run_goes_on_and_gives_the_same_table(tmp_path: Path) -> None:
    journal = tmp_path / "simulated.jsonl"
    code = (
        "from d3stats.planning import Study, read_study, simulate\n"
        f"s = read_study({str(STUDY)!r})\n"
        "big = Study(worlds=s.worlds, rules=s.rules, n_rounds=6, debates=20_000, seeds=s.seeds, chunk=512)\n"
        f"simulate(big, out={str(journal)!r})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        deadline = time.monotonic() + 60
        while not journal.exists() or journal.read_bytes().count(b"\n") < 5:
            assert time.monotonic() < deadline, "no chunk was written in a minute"
            assert process.poll() is None, "the simulation ended before it could be killed"
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    finally:
        process.wait()
    done = journal.read_bytes()
    assert 5 <= done.count(b"\n") < 4 * 40, "killed in the middle"
    # What a power cut leaves: a line that breaks off.
    whole_lines = done[: done.rindex(b"\n") + 1]
    journal.write_bytes(whole_lines + whole_lines.splitlines()[-1][:100])
    big = study(debates=20_000)
    resumed = simulate(big, out=journal, workers=2).to_frame()
    assert_frame_equal(resumed, simulate(big).to_frame(), check_exact=True)
    assert journal.read_bytes().startswith(whole_lines)
    assert all(isinstance(json.loads(line), dict) for line in journal.read_text().splitlines())


def test_a_finished_journal_is_read_and_not_played_again(tmp_path: Path, whole: pd.DataFrame) -> None:
    journal = tmp_path / "j.jsonl"
    first = simulate(study(chunk=700), out=journal).to_frame("seed")
    size = journal.stat().st_size
    again = simulate(study(chunk=5000), out=journal).to_frame("seed")
    assert journal.stat().st_size == size
    assert_frame_equal(first, whole, check_exact=True)
    assert_frame_equal(again, whole, check_exact=True)


def test_a_journal_grows_with_more_debates_and_more_seeds(tmp_path: Path, whole: pd.DataFrame) -> None:
    journal = tmp_path / "j.jsonl"
    simulate(study(debates=1500, seeds=[11]), out=journal).to_frame()
    assert_frame_equal(simulate(study(), out=journal).to_frame("seed"), whole, check_exact=True)


@pytest.mark.parametrize(
    "change",
    [{"rules": ["fixed:3"]}, {"n_rounds": 7}, {"worlds": {"w": Voter(panel=9)}}, {"missing": "wrong"}],
)
def test_a_journal_of_another_study_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    journal = tmp_path / "j.jsonl"
    simulate(study(debates=200), out=journal).to_frame()
    before = journal.read_bytes()
    with pytest.raises(ValueError, match="must be a journal of this study; got the journal of another study"):
        simulate(study(debates=200, **change), out=journal).to_frame()
    assert journal.read_bytes() == before


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    for text in ("debate,round\n1,1\n", "notes without an end", '{"type": "log"}\n', "[1]\n"):
        other = tmp_path / "other.txt"
        other.write_text(text)
        with pytest.raises(ValueError, match=r"other\.txt"):
            simulate(study(debates=100), out=other).to_frame()
        assert other.read_text() == text


def test_a_line_that_is_wrong_or_too_much_is_named(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    simulate(study(debates=200), out=journal).to_frame()
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*lines[:2], "{}\n", *lines[2:]]))
    with pytest.raises(ValueError, match=r"j\.jsonl:3: line must be a chunk of this study"):
        simulate(study(debates=200), out=journal).to_frame()
    journal.write_text("".join([*lines, lines[-1]]))
    with pytest.raises(ValueError, match="each debate once; got debate 1 of world 2, seed 11 twice"):
        simulate(study(debates=200), out=journal).to_frame()
    journal.write_text("".join(lines))
    with pytest.raises(ValueError, match="no more than the study needs"):
        simulate(study(debates=150), out=journal).to_frame()


def test_a_rule_without_a_text_cannot_be_kept_in_a_journal(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"out must be None when a rule has no text form.*; got gap"):
        simulate(study(rules=[NeedsScores()]), out=tmp_path / "j.jsonl").to_frame()
    assert not (tmp_path / "j.jsonl").exists()


@pytest.mark.skipif(os.name != "posix", reason="file locks are of POSIX systems")
def test_two_simulations_cannot_write_one_journal(tmp_path: Path) -> None:
    from d3stats.planning.simulate import Journal

    with (
        Journal(tmp_path / "j.jsonl", study()),
        pytest.raises(ValueError, match="one simulation at a time"),
    ):
        simulate(study(debates=100), out=tmp_path / "j.jsonl").to_frame()


# ---------------------------------------------------------------- logs


def _logs(folder: Path, n: int) -> list[Path]:
    paths = []
    for i in range(n):
        rng = np.random.default_rng(i)
        path = folder / f"part {i}[a].csv"
        rows = [
            f"d{i}-{d},{r},{a},{rng.choice(['A', 'B', ''])},A"
            for d in range(20) for r in (1, 2) for a in range(3)
        ]  # fmt: skip
        path.write_text("debate,round,agent,vote,label\n" + "\n".join(rows) + "\n")
        paths.append(path)
    return paths


@pytest.mark.parametrize("missing", ["exclude", "wrong"])
def test_logs_reduce_to_the_same_counts_file_by_file_and_at_once(tmp_path: Path, missing: str) -> None:
    paths = _logs(tmp_path, 5)
    at_once = count_log(*paths, missing=missing)  # type: ignore[arg-type]
    for workers in (1, 2):
        counts = count(*paths, missing=missing, workers=workers)  # type: ignore[arg-type]
        assert_frame_equal(counts.rounds.to_frame(), at_once.rounds.to_frame(), check_exact=True)
        assert_frame_equal(counts.transitions.to_frame(), at_once.transitions.to_frame(), check_exact=True)
        assert (counts.n_turns, counts.n_debates) == (at_once.n_turns, at_once.n_debates) == (600, 100)


def test_a_defect_comes_back_from_a_worker_with_its_file_and_line(tmp_path: Path) -> None:
    paths = _logs(tmp_path, 3)
    with LogWriter(tmp_path / "bad.jsonl"):
        pass
    with (tmp_path / "bad.jsonl").open("a") as log:
        log.write("not json\n")
    with pytest.raises(ValueError, match=r"bad\.jsonl.*2"):
        count(*paths, tmp_path / "bad.jsonl", workers=2)
    lenient = count(*paths, tmp_path / "bad.jsonl", workers=2, lenient=True)
    assert lenient.n_debates == 60
    assert any("bad.jsonl" in str(problem) for problem in lenient.problems)


def test_a_loss_says_what_it_is_against() -> None:
    worlds = {"end": Courtroom(), "polled": Courtroom(poll="every_round")}
    done = simulate(Study(worlds=worlds, rules=["d3_paper"], n_rounds=3, debates=200))
    assert done.recommend().set_index("world")["loss_vs"].to_dict() == {"end": "full", "polled": "unanimity"}


def test_a_debate_without_a_decision_is_not_right_in_the_loss() -> None:
    """Losses of the simulation are those of the debates themselves, with the convention of risk control."""
    rules = ["fixed:1", "unanimity", "full"]
    world = Assembly(protocol="peer_discussion")
    done = simulate(Study(worlds={"pair": world}, rules=rules, n_rounds=3, debates=400))
    t = simulate_debates(world, 400, 3, rng=done.study.stream(0, 0))
    right: dict[str, float] = {}
    for rule in rules:
        verdict = t.verdicts()[np.arange(400), from_text(rule).stop_rounds(t).rounds - 1]
        right[rule] = (verdict == t.label).mean()
        silent = (verdict == MISSING).mean()
        assert f"{rule} {100 * silent:.1f} %" in done.notes[0]
    table = done.to_frame().set_index("rule")
    for rule in rules:
        assert table.loc[rule, "accuracy_minus_unanimity"] == pytest.approx(right[rule] - right["unanimity"])
    picked = done.recommend().iloc[0]
    assert picked["loss"] == pytest.approx(right["unanimity"] - right[picked["rule"]])
    assert right["fixed:1"] < right["unanimity"] - 0.01
    assert picked["rule"] != "fixed:1"


def test_a_ledger_of_a_study_plays_a_campaign_in_each_batch_for_any_chunk_and_worker(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "worlds": {"voters": Voter(panel=5)},
        "rules": ["fixed:1", "ledger:eps=.05,delta=.1"],
        "n_rounds": 6,
        "debates": 1200,
        "seeds": 2,
        "batch": 200,
    }
    found = simulate(Study(**given, chunk=200))
    assert found.study.names == ("fixed:1", "unanimity", "full", "ledger:eps=.05,delta=.1")
    table = found.to_frame().set_index("rule")
    row = table.loc["ledger:eps=.05,delta=.1"]
    assert (row["decides"], row["allowed"]) == ("batch", 10)
    assert 0 < row["saved_tokens_vs_unanimity"] < 1
    assert 0 < row["lost_verdicts"] <= 12
    assert row["over"] <= 0.1 + 3 * (0.09 / 12) ** 0.5
    assert table.loc["fixed:1", "over"] != table.loc["fixed:1", "over"]
    other = simulate(Study(**given, chunk=1200), workers=2, out=tmp_path / "journal.jsonl")
    assert other.to_frame().equals(found.to_frame())
    assert "under a ledger" in " ".join(found._shown())

    # A campaign by hand: the first batch of the first seed.
    t = simulate_debates(Voter(panel=5), 200, 6, rng=0)
    policy = found.study.rules[-1]
    assert isinstance(policy, LedgerPolicy)
    stops, loss = policy.stops(t, 0, 0)
    ends = policy.ledger.rule.stop_rounds(t).rounds
    rows, verdicts = np.arange(200), t.verdicts()
    assert (loss == (verdicts[rows, stops - 1] != verdicts[rows, ends - 1])).all()
    assert not np.array_equal(stops, policy.stops(t, 0, 1)[0]), "another stream has other coins"


def test_a_ledger_of_a_study_needs_a_batch() -> None:
    with pytest.raises(ValueError, match="batch must be given with a ledger, as the debates of a campaign"):
        Study(worlds=[Voter()], rules=["ledger:eps=.05"], n_rounds=4, debates=100)
