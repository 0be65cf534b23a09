"""Every protocol on a small language model, served on this machine: `make test-live` installs it and runs this."""

from __future__ import annotations

import os
import runpy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from d3stats.protocols import protocols

pytestmark = pytest.mark.real_model

STUDY = runpy.run_path(str(Path(__file__).resolve().parents[2] / "analysis" / "live_llm" / "protocols.py"))
ITEMS = int(os.environ.get("D3STATS_REAL_ITEMS", "1"))
"""Debates of each protocol: 85 calls of all together take some five minutes of one core."""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Play half of the protocols on each of two servers at the same time."""
    names = sorted(STUDY["SMALL"])
    folders = [tmp_path_factory.mktemp("server") for _ in range(2)]

    def half(k: int) -> list[dict[str, Any]]:
        with STUDY["serving"](os.environ["D3STATS_SMALL_MODEL"], folders[k], "--threads", "1") as served:
            return [STUDY["row"](served, name, ITEMS, folders[k] / f"{name}.jsonl") for name in names[k::2]]

    with ThreadPoolExecutor(2) as pool:
        found = [row for part in pool.map(half, range(2)) for row in part]
    return {row["protocol"].partition(":")[0]: row for row in found}


@pytest.mark.parametrize("name", sorted(STUDY["SMALL"]))
def test_a_protocol_ends_with_verdicts_and_counts_what_the_server_counts(
    rows: dict[str, dict[str, Any]], name: str
) -> None:
    row = rows[name]
    print(row)
    assert row["verdicts"] == row["debates"] >= ITEMS
    assert row["tokens_log"] == row["tokens_server"] > 0
    # Of one debate; the table of the study holds five of each protocol to a factor of 1.5.
    assert 1 / 2 <= row["ratio"] <= 2
    # Each missing vote has a reason.
    assert sum(int(part.split()[0]) for part in row["reasons"].split(", ") if part) == row["votes_missing"]


def test_all_protocols_together_cost_what_was_forecast_and_few_replies_are_lost(
    rows: dict[str, dict[str, Any]],
) -> None:
    names = ("tokens_log", "tokens_forecast", "votes", "votes_missing", "replies", "cut")
    spent, ahead, votes, missing, replies, cut = (sum(row[name] for row in rows.values()) for name in names)
    assert 1 / 1.5 <= spent / ahead <= 1.5
    assert missing <= 0.1 * votes
    assert cut <= 0.05 * replies


def test_every_protocol_of_the_catalogue_is_asked() -> None:
    assert sorted(STUDY["SMALL"]) == sorted(protocols())
