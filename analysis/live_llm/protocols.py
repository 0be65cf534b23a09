"""Play every protocol on a small language model, and hold its log to what the server counted and to the forecast.

Run: python analysis/live_llm/protocols.py --server-python .venv-live/bin/python [--items 5] [-o FOLDER]

Starts the server of `serve.py` with a Python that has its packages (`make test-live` makes one) and writes
`protocols.csv`. The questions are sums; agents answer in a few words.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from d3stats.protocols import protocol_from_text
from d3stats.run.forecast import forecast
from d3stats.run.items import DebateItem
from d3stats.run.live import LiveAgent
from d3stats.run.report import RunReport
from d3stats.run.run import run_debates
from d3stats.stopping import FullDepth

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from serve import Served, serving  # noqa: E402  # studies are no package

MOST_WORDS = 8
SMALL = {
    "agentverse": "agentverse:max_rounds=1,critics=2",
    "chateval": "chateval:max_rounds=1",
    "chateval_open": "chateval_open:max_rounds=2",
    "d3": "d3:max_rounds=2,advocates=1,jurors=1",
    "eot": "eot:max_rounds=2",
    "eot_network": "eot_network:max_rounds=2",
    "majority": "majority:judges=3",
    "more": "more:advocates=2,jurors=1",
    "more_advocates": "more_advocates:advocates=2",
    "multi_persona": "multi_persona:max_rounds=2",
    "peer_discussion": "peer_discussion:max_rounds=2",
    "peer_rank": "peer_rank:reviewers=2",
    "samre": "samre:max_rounds=2,jurors=1",
    "samre_advocates": "samre_advocates:max_rounds=2,jurors=1",
    "single_judge": "single_judge",
    "stability": "stability:max_rounds=2,panel=3,camp=none",
}
"""Every protocol, with few agents and rounds."""


def items(judged: bool, n: int) -> list[DebateItem]:
    """Return sums, with two candidates or with options."""
    found = []
    for i in range(n):
        question, right, wrong = f"What is {i + 2} + {i + 3}?", str(2 * i + 5), str(2 * i + 7)
        if judged:
            found.append(DebateItem(f"q{i}", question, (right, wrong), label="A"))
        else:
            found.append(DebateItem(f"q{i}", question, answers=(right, wrong), label=right))
    return found


async def play(served: Served, name: str, asked: list[DebateItem], log: Path) -> RunReport:
    """Play a protocol to its last round; no rule stops it."""
    async with LiveAgent("smollm2", served.url, seed=1, concurrency=4, most_words=MOST_WORDS) as agent:
        await agent.check(60)
        protocol = protocol_from_text(SMALL[name])
        return await run_debates(protocol, asked, agent, log, rule=FullDepth(), concurrency=4)


def row(served: Served, name: str, n: int, log: Path) -> dict[str, Any]:
    """Return what a protocol came to: verdicts, votes, tokens by log, server and forecast, replies that were cut."""
    protocol = protocol_from_text(SMALL[name])
    asked = items(protocol.candidates is not False, n)
    before = served.tokens()
    report = asyncio.run(play(served, name, asked, log))
    counted = served.tokens() - before
    unasked = LiveAgent("smollm2", "http://127.0.0.1:1/v1", most_words=MOST_WORDS)
    ahead = forecast(protocol, asked, unasked, rule=FullDepth()).full
    replies = [record for record in map(json.loads, log.open(encoding="utf-8")) if record["type"] == "turn"]
    errors = Counter(reply["error"] for reply in replies if "error" in reply)
    tokens = report.tokens_in + report.tokens_out
    return {
        "protocol": SMALL[name],
        "debates": report.planned,
        "verdicts": report.closed,
        "votes": report.votes,
        "votes_missing": report.votes_missing.total(),
        "reasons": ", ".join(f"{count} {error}" for error, count in sorted(report.votes_missing.items())),
        "replies": len(replies),
        "cut": errors["length"],
        "tokens_log": tokens,
        "tokens_server": counted,
        "tokens_forecast": ahead.tokens,
        "ratio": tokens / ahead.tokens,
        "ratio_in": report.tokens_in / ahead.tokens_in,
        "ratio_out": report.tokens_out / ahead.tokens_out,
        "rounds": report.rounds / max(report.closed, 1),
    }


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--server-python", required=True, help="the Python that has the server's packages")
    parser.add_argument("--items", type=int, default=5)
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        with serving(asked.server_python, here) as served:
            found = []
            for name in sorted(SMALL):
                found.append(row(served, name, asked.items, here / f"{name}.jsonl"))
                print(found[-1], flush=True)
    pd.DataFrame(found).to_csv(
        asked.out / "protocols.csv", index=False, float_format="%.4g", lineterminator="\n"
    )


if __name__ == "__main__":
    main()
