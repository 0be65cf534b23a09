"""How fast and in how much memory a thousand rules are replayed over a hundred thousand debates.

The target, 10 s below 1 GB, is for two free cores. Elsewhere, or beside other work, D3STATS_BENCH_SLACK says how
many times longer a run may take; without it, five times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from d3stats.stopping import FixedRounds, Rule, Supermajority, Unanimity

SLACK = float(os.environ.get("D3STATS_BENCH_SLACK", "5"))

pytestmark = pytest.mark.slow

PROGRAM = """
import json, resource, sys, time
import numpy as np
from d3stats.planning.scan import scan
from d3stats.simulate import simulate
from d3stats.worlds import Voter
log = simulate(Voter(), 100_000, 10, 1)
scan(log.select(np.arange(1000)), "fixed:2")  # compiled once, then kept on disk
rules = json.load(sys.stdin)
began = time.perf_counter()
table = scan(log, rules)
seconds = time.perf_counter() - began
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([len(table), log.tokens is not None, seconds, megabytes]))
"""


def combined() -> list[Rule]:
    """Shares, patience, first round and cap, as a user's grid would have them; unanimity in two forms."""
    shares = [votes / 7 for votes in range(4, 8)]
    camps: list[Rule] = [Supermajority(share, patience) for share in shares for patience in (1, 2, 3)]
    camps += [Unanimity(), Unanimity(missing="block")]
    capped: list[Rule] = [
        camp.after(k) | FixedRounds(cap) for camp in camps for k in range(1, 8) for cap in range(2, 10)
    ]
    slow: list[Rule] = [camp & FixedRounds(k) for camp in camps for k in range(1, 10)]
    pairs: list[Rule] = [a | (b & FixedRounds(k)) for a in camps[:8] for b in camps[8:] for k in (2, 3)]
    return [*capped, *slow, *pairs][:1000]


def distinct() -> list[Rule]:
    """A thousand rules without a common part."""
    shares = np.linspace(0.5, 1.0, 250)
    return [Supermajority(float(share), patience) for share in shares for patience in (1, 2, 3, 4)]


@pytest.mark.parametrize("family", [combined, distinct])
def test_a_thousand_rules_are_replayed_within_the_target(family: object) -> None:
    rules = [str(rule) for rule in family()]  # type: ignore[operator]
    assert len(set(rules)) == 1000
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(rules),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    rows, tokens, seconds, megabytes = json.loads(done.stdout)
    print(f"{rows} rules ({family.__name__}, tokens: {tokens}): {seconds:.1f} s, {megabytes:.0f} MB")  # type: ignore[attr-defined]
    assert rows == 1000
    assert tokens
    assert seconds <= 10 * SLACK
    assert megabytes < 1024
