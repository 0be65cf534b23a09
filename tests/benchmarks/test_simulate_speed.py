"""How fast is a million debates of the conformity panel, against drawing as many uniforms?

The target is for two free cores: 0.25 s for 10^6 debates x 10 rounds x 7 agents after compilation.
Elsewhere, or beside other work, D3STATS_BENCH_SLACK says how many times longer a run may take.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from d3stats.worlds import BLOCK, Conformity, count_process, simulate_debates
from d3stats.worlds.conformity import fill_votes, reference_conformity, threads_for
from d3stats.worlds.draw import sample_range

SHAPE = N_DEBATES, N_ROUNDS, PANEL = 1_000_000, 10, 7
WORLD = Conformity(panel=PANEL)
TARGET = 0.25
SLACK = float(os.environ.get("D3STATS_BENCH_SLACK", "5"))


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile once, outside every measurement."""
    simulate_debates(WORLD, 2 * BLOCK, 2, 1)
    fill_votes(WORLD, np.ones((1, 4), np.uint64), np.empty((BLOCK, 2, PANEL), np.int8))


def seconds(work: Callable[[], Any], repeats: int) -> tuple[list[float], float]:
    """Return wall-clock seconds of each repeat, and the least processor seconds."""
    walls, processor = [], []
    for _ in range(repeats):
        begin, used = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - begin)
        processor.append(time.process_time() - used)
    return walls, min(processor)


def test_a_million_debates_of_the_conformity_panel(benchmark: Any) -> None:
    n_blocks = -(-N_DEBATES // BLOCK)
    threads = threads_for(n_blocks)
    states = np.random.default_rng(1).integers(0, 2**64, size=(n_blocks, 4), dtype=np.uint64)

    def drawn() -> Any:
        return sample_range(WORLD, N_DEBATES, N_ROUNDS, 1, 0).votes

    def filled(dtype: type) -> Any:
        return fill_votes(WORLD, states, np.empty(SHAPE, dtype), threads=threads)

    benchmark.pedantic(drawn, rounds=5, warmup_rounds=1)
    walls, processor = seconds(drawn, 7)
    small, small_processor = seconds(lambda: filled(np.int8), 7)
    uniforms, uniforms_processor = seconds(lambda: np.random.default_rng(1).random(np.prod(SHAPE)), 3)
    whole, _ = seconds(lambda: simulate_debates(WORLD, N_DEBATES, N_ROUNDS, 1), 3)
    print(
        f"\n  10^6 x 10 x 7, int32, {threads} threads, memory and seeds included: least {min(walls):.3f} s, "
        f"median {np.median(walls):.3f} s, processor {processor:.3f} s (target {TARGET} s)"
        f"\n  the same as int8: least {min(small):.3f} s, processor {small_processor:.3f} s"
        f"\n  7e7 uniforms by numpy, 1 thread: least {min(uniforms):.3f} s, processor {uniforms_processor:.3f} s;"
        f" ratio {min(walls) / min(uniforms):.2f} by the clock, {processor / uniforms_processor:.2f} by processor"
        f"\n  the whole of simulate_debates(), checked Trajectories with names: least {min(whole):.2f} s"
    )
    assert min(walls) < TARGET * SLACK
    assert processor < 2 * TARGET * max(1.0, SLACK / 2)


def test_the_compiled_sampler_is_worth_its_compiler(benchmark: Any) -> None:
    n = 50 * BLOCK
    benchmark.pedantic(sample_range, args=(WORLD, n, N_ROUNDS, 1, 0), rounds=5, warmup_rounds=1)
    _, fast = seconds(lambda: sample_range(WORLD, n, N_ROUNDS, 1, 0), 5)
    _, plain = seconds(lambda: reference_conformity(WORLD, n, N_ROUNDS, np.random.default_rng(1)), 3)
    print(
        f"\n  {n} debates: compiled {1e3 * fast:.0f} ms, numpy {1e3 * plain:.0f} ms, ratio {plain / fast:.0f}"
    )
    assert plain > 3 * fast


def test_an_exact_process_is_built_in_milliseconds(benchmark: Any) -> None:
    benchmark.pedantic(count_process, args=(WORLD, N_ROUNDS), rounds=15, warmup_rounds=1)
    walls, _ = seconds(lambda: count_process(WORLD, N_ROUNDS), 15)
    print(f"\n  exact count process, 30 classes: {1e3 * min(walls):.2f} ms")
    assert min(walls) < 0.005 * SLACK
