"""How fast and in how much memory a million turns come down to counts.

The targets are for two free cores. Elsewhere, or beside other work, D3STATS_BENCH_SLACK says how many times
longer a run may take; without it, five times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from d3stats.log import count_log, write_parquet
from d3stats.trajectories import Trajectories

DEBATES, ROUNDS, AGENTS = 47_620, 3, 7
SLACK = float(os.environ.get("D3STATS_BENCH_SLACK", "5"))

pytestmark = pytest.mark.slow


def write_turns(path: Path, seed: int = 0, debates: int = DEBATES) -> Path:
    """Write a log without texts, about 160 bytes a turn."""
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 4, size=(debates, ROUNDS, AGENTS))
    silent = rng.random(votes.shape) < 0.02
    tokens = rng.integers(50, 2000, size=(*votes.shape, 2))
    with path.open("w", encoding="utf-8") as log:
        log.write('{"type":"log","schema_version":1,"writer":"d3stats"}\n')
        for d in range(debates):
            name = f"debate-{seed}-{d:06d}"
            log.write(
                f'{{"type":"item","debate":"{name}","question":"q-{d // 4}","label":"{"ABCD"[d % 4]}",'
                f'"answers":["A","B","C","D"],"log":"run-{d % 4}"}}\n'
            )
            log.writelines(
                f'{{"type":"turn","debate":"{name}","round":{r + 1},"agent":"agent {a + 1}","role":"juror",'
                + ("" if silent[d, r, a] else f'"vote":"{"ABCD"[votes[d, r, a]]}",')
                + f'"tokens_in":{tokens[d, r, a, 0]},"tokens_out":{tokens[d, r, a, 1]},"model":"model-2024-07-18"}}\n'
                for r in range(ROUNDS)
                for a in range(AGENTS)
            )
    return path


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("million")
    path = write_turns(folder / "million.jsonl")
    return {"jsonl": path, "parquet": write_parquet(path, folder / "million.parquet")}


@pytest.mark.parametrize(("kind", "target"), [("jsonl", 1.0), ("parquet", 0.1)])
def test_a_million_turns_come_to_counts_within_the_target(
    million: dict[str, Path], benchmark: Callable[..., Any], kind: str, target: float
) -> None:
    counts = benchmark.pedantic(count_log, args=(million[kind],), rounds=5, warmup_rounds=1)  # type: ignore[attr-defined]
    assert counts.n_turns == DEBATES * ROUNDS * AGENTS
    assert counts.n_debates == DEBATES
    best = benchmark.stats.stats.min  # type: ignore[attr-defined]
    assert best <= target * SLACK, f"{best:.2f} s, target {target} s, slack {SLACK}"


def test_a_million_turns_count_alike_in_both_formats_and_as_arrays(million: dict[str, Path]) -> None:
    lines, table = count_log(million["jsonl"]), count_log(million["parquet"])
    assert lines == table
    array = Trajectories.from_log(million["parquet"])
    assert lines.rounds == array.counts()
    assert lines.transitions == array.transitions()


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    program = (
        "import json, sys; from d3stats.log import count_log; c = count_log(*sys.argv[1:]);"
        # ru_maxrss would start from the peak of the process that started this one.
        "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM:')][0];"
        "print(json.dumps([c.n_turns, int(peak.split()[1])]))"
    )
    paths = [str(write_turns(tmp_path / f"{seed}.jsonl", seed, 20_000)) for seed in range(4)]
    peak = {}
    for n in (1, 4):
        done = subprocess.run(
            [sys.executable, "-c", program, *paths[:n]],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )
        turns, kilobytes = json.loads(done.stdout)
        assert turns == n * 20_000 * ROUNDS * AGENTS
        peak[n] = kilobytes / 1024
    # Debates leave a row each (a sixtieth of the log's bytes); turns leave nothing.
    grown = peak[4] - peak[1]
    size = sum(Path(path).stat().st_size for path in paths[1:]) / 2**20
    assert grown < 0.6 * size, f"{peak} MB for {size:.0f} MB more log"
