"""A simulation's memory does not grow with the number of debates."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from d3stats.planning import Study, simulate
from d3stats.worlds import Voter
study = Study(
    worlds={"null": Voter(panel=5)},
    rules=["unanimity", "fixed:2"],
    n_rounds=6,
    debates=int(sys.argv[1]),
    chunk=8192,
)
simulate(study).to_frame()
# ru_maxrss would start from the peak of the process that started this one.
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")))
"""


def peak(debates: int) -> float:
    """Peak resident memory in MB of a process that simulates so many debates."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(debates)], capture_output=True, text=True, check=True, timeout=300
    )
    return int(done.stdout.split()[-1]) / 1024


@pytest.mark.slow
def test_eight_times_the_debates_take_no_more_memory() -> None:
    small, large = peak(32_768), peak(262_144)
    assert large < small + 20
