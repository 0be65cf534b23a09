"""A real cluster of two worker processes over TCP gives the same bits as one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal
from typer.testing import CliRunner

from d3stats.cli import app
from d3stats.log import count_log, read_counts
from d3stats.log.counting import count
from d3stats.planning import Study, read_study, simulate

STUDY = Path(__file__).with_name("study.toml")


# Its processes import all of the package: seconds, so that what needs them is slow.
@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        cluster.wait_for_workers(2, timeout=60)
        yield cluster.scheduler_address


@pytest.mark.slow
def test_a_cluster_of_two_workers_gives_the_bits_of_one_process(scheduler: str, tmp_path: Path) -> None:
    assert scheduler.startswith("tcp://127.0.0.1:")
    given = read_study(STUDY)
    alone = simulate(given).to_frame("seed")
    for chunk in (1000, 1024, 6000):
        asked = Study(
            worlds=given.worlds,
            rules=given.rules,
            n_rounds=given.n_rounds,
            debates=given.debates,
            seeds=given.seeds,
            chunk=chunk,
        )
        journal = tmp_path / f"{chunk}.jsonl"
        spread = simulate(asked, scheduler=scheduler, out=journal).to_frame("seed")
        assert_frame_equal(alone, spread, check_exact=True)
        assert_frame_equal(alone, simulate(given, out=journal).to_frame("seed"), check_exact=True)


@pytest.mark.slow
def test_a_rule_for_a_batch_gives_the_same_on_a_cluster(scheduler: str) -> None:
    given = read_study(STUDY)
    asked = Study(worlds=given.worlds, rules=["ks:0.1"], n_rounds=5, debates=2000, batch=250, chunk=500)
    assert_frame_equal(
        simulate(asked).to_frame(), simulate(asked, scheduler=scheduler).to_frame(), check_exact=True
    )


@pytest.mark.slow
def test_logs_reduce_to_the_same_counts_on_a_cluster(scheduler: str, tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"{i}.csv").write_text(
            "debate,round,agent,vote,label\n" + "".join(f"d{i},{r},a{a},{'AB'[(i + r * a) % 2]},A\n"
                                                       for r in (1, 2, 3) for a in range(5))
        )  # fmt: skip
    counts = count(tmp_path / "*.csv", scheduler=scheduler)
    at_once = count_log(tmp_path / "*.csv")
    assert_frame_equal(counts.rounds.to_frame(), at_once.rounds.to_frame(), check_exact=True)
    assert_frame_equal(counts.transitions.to_frame(), at_once.transitions.to_frame(), check_exact=True)


@pytest.mark.slow
def test_the_command_keeps_the_same_counts_on_a_cluster_and_in_two_processes(
    scheduler: str, tmp_path: Path
) -> None:
    for i in range(6):
        rows = [
            f"d{i}-{d},{r},a{a},{'AB'[(d * r + a) % 3 % 2]},A"
            for d in range(40)
            for r in (1, 2)
            for a in range(5)
        ]
        (tmp_path / f"{i}.csv").write_text("\n".join(["debate,round,agent,vote,label", *rows]) + "\n")
    kept = {}
    for name, where in (("one", []), ("two", ["-w", "2"]), ("cluster", ["--scheduler", scheduler])):
        words = ["count", str(tmp_path / "*.csv"), "-o", str(tmp_path / f"{name}.parquet"), *where]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        kept[name] = read_counts(tmp_path / f"{name}.parquet")
    assert kept["one"].n_turns == 6 * 40 * 2 * 5
    for name in ("two", "cluster"):
        assert kept[name] == kept["one"]
        assert_frame_equal(kept[name].to_frame("cells"), kept["one"].to_frame("cells"), check_exact=True)


@pytest.mark.slow
def test_the_error_of_a_worker_of_the_cluster_is_its_own_line(scheduler: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("debate,round,agent,vote,label\nd,one,a,A,A\n")
    with pytest.raises(ValueError, match=r"bad\.csv"):
        count(tmp_path / "bad.csv", scheduler=scheduler)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scheduler must be an address such as tcp://host:8786; got"):
        simulate(STUDY, scheduler="localhost:8786").to_frame()


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("d3stats._parallel.CONNECT_SECONDS", 0.5)
    with pytest.raises(OSError, match=r"scheduler must answer within 0.5 s; got no answer from tcp://127"):
        simulate(STUDY, scheduler="tcp://127.0.0.1:9").to_frame()


def test_a_scheduler_without_workers_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("d3stats._parallel.CONNECT_SECONDS", 2)
    with distributed.LocalCluster(
        n_workers=0, host="127.0.0.1", protocol="tcp://", dashboard_address=None, silence_logs=50
    ) as empty:
        line = f"scheduler must have a worker within 2 s; got none at {empty.scheduler_address}"
        with pytest.raises(OSError, match=line):
            simulate(STUDY, scheduler=empty.scheduler_address).to_frame()
