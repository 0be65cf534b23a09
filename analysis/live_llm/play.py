"""Play the debates of the study: every arm of an item, then the next item. The same command goes on where it ended.

Run: python analysis/live_llm/play.py --base-url http://127.0.0.1:8099/v1 --raw FOLDER [--limit-seconds 3600]
     python analysis/live_llm/play.py --raw FOLDER --collect

Needs the texts (items.jsonl.gz of the folder of real data) and a server (`serve.py`). The whole logs, with texts, stay
in FOLDER. `--collect` writes what is committed: `items.csv`, a log of each arm without texts in `votes/`,
`debates.csv` (tokens beside their forecast, and calls) and `replies.csv.gz` (measures of the replies). Items are
collected up to the first that is not done, as many of either label, so that any part is balanced.

What is collected is not played again: an item in `items.csv` needs no whole log, and a new FOLDER goes on with the item
after the last one there. `--collect` adds to the collected records those of the items that follow, and changes none.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import io
import json
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from d3stats.protocols import protocol_from_text
from d3stats.protocols.play import DebateProtocol
from d3stats.run.forecast import forecast
from d3stats.run.items import DebateItem, Orders
from d3stats.run.live import LiveAgent
from d3stats.run.run import run_debates

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "simulations"))

from findings_tables import data_folder  # noqa: E402  # studies are no package

CONFIG = tomllib.loads((HERE / "config.toml").read_text(encoding="utf-8"))
PLAY, ARMS = CONFIG["play"], CONFIG["arms"]
SIDES = {"positive": "A", "negative": "B"}
TEXTS = ("text", "candidates", "model", "tokens_cached")
"""Fields of records that are not committed: texts, and what the server had kept of a prompt."""

protocol_of = cache(protocol_from_text)


def drawn(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of the study in the order in which they are played: the labels take turns."""
    rng = np.random.default_rng(PLAY["seed"])
    half = PLAY["items"] // 2
    by_label = [[row for row in rows if row["label"] == label] for label in SIDES]
    chosen = [[part[i] for i in rng.choice(len(part), half, replace=False)] for part in by_label]
    return [row for pair in zip(*chosen, strict=True) for row in pair]


def items() -> list[tuple[DebateItem, str]]:
    """Return the items in the order in which they are played, with the kind of their text."""
    path = data_folder() / "gemma3_270m" / "items.jsonl.gz"
    if not path.is_file():
        sys.exit(f"TEXTS NOT FOUND: no file {path} (set D3STATS_DATA)")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [(item(row), row["kind"]) for row in drawn(rows)]


def item(row: dict[str, Any]) -> DebateItem:
    """Return an item; sentences of one review are a cluster."""
    name = str(row["id"])
    cluster = name.rsplit("_", 1)[0] if row["kind"] == "product" else name
    return DebateItem(name, row["question"], tuple(SIDES), label=SIDES[row["label"]], cluster=cluster)


def agent(base_url: str) -> LiveAgent:
    """Return the model behind a server."""
    return LiveAgent(
        PLAY["model"],
        base_url,
        seed=PLAY["seed"],
        concurrency=PLAY["concurrency"],
        most_words=PLAY["most_words"],
    )


def orders(arm: str) -> Orders:
    """Return the order of candidates of an arm."""
    found: Orders = ARMS[arm].get("orders", "seeded")
    return found


def collected(out: Path, asked: list[tuple[DebateItem, str]]) -> int:
    """Return how many items are collected, which must be the first ones."""
    path = out / "items.csv"
    names = pd.read_csv(path)["item"].tolist() if path.is_file() else []
    if names != [item.question for item, _ in asked[: len(names)]]:
        sys.exit(
            f"COLLECTED ITEMS MUST BE THE FIRST OF THE DRAW: {path} has others; collect into an empty folder (-o)"
        )
    return len(names)


def log_of(raw: Path, arm: str, item: DebateItem) -> Path:
    """Return where the debates of an item are."""
    return raw / arm / f"{item.question}.jsonl"


async def play(raw: Path, out: Path, base_url: str, limit: float, most: int) -> None:
    """Play a few items at a time, all arms of each, until the time is over."""
    asked = items()
    after = asked[collected(out, asked) : most]
    began = time.monotonic()
    left = iter([item for item, _ in after if not (raw / "done" / item.question).exists()])
    (raw / "done").mkdir(parents=True, exist_ok=True)
    async with agent(base_url) as model:
        await model.check(60)

        async def next_items() -> None:
            for item in left:
                if time.monotonic() - began > limit:
                    return
                before = time.monotonic()
                if all(await asyncio.gather(*(one(raw, arm, item, model) for arm in ARMS))):
                    (raw / "done" / item.question).touch()
                print(f"{item.question}: {time.monotonic() - before:.1f} s", flush=True)

        await asyncio.gather(*(next_items() for _ in range(PLAY["items_at_once"])))


async def one(raw: Path, arm: str, item: DebateItem, model: LiveAgent) -> bool:
    """Play the debates of one arm and item; say whether all are closed."""
    path = log_of(raw, arm, item)
    path.parent.mkdir(parents=True, exist_ok=True)
    report = await run_debates(
        protocol_of(ARMS[arm]["protocol"]),
        [item],
        model,
        path,
        seed=PLAY["seed"],
        orders=orders(arm),
        concurrency=PLAY["concurrency"],
        budget_tokens=PLAY["budget_tokens"],
        name=arm,
    )
    return report.closed == report.planned


def with_rounds(protocol: DebateProtocol, rounds: int) -> DebateProtocol:
    """Return a protocol that ends after so many rounds."""
    return protocol if protocol.max_rounds == rounds else replace(protocol, max_rounds=rounds)


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a log."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def words(text: str | None) -> list[str]:
    """Return the words of a text, in small letters."""
    return [] if text is None else "".join(c if c.isalnum() else " " for c in text.lower()).split()


def said(turns: list[dict[str, Any]], item: DebateItem) -> Iterator[dict[str, Any]]:
    """Yield a row per turn about its reply: words, whether it repeats a reply of the debate, and the item's words."""
    source, before = set(words(item.text)), set[tuple[str, ...]]()
    for turn in turns:
        found = words(turn.get("text"))
        yield {
            "words": len(found),
            "repeated": bool(found) and tuple(found) in before,
            "from_item": sum(word in source for word in found) / len(found) if found else None,
        }
        before.add(tuple(found))


def rows_of(arm: str, item: DebateItem, found: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Return a row per debate (tokens beside their forecast, and calls), and a row per reply."""
    protocol = protocol_of(ARMS[arm]["protocol"])
    debates, replies = [], []
    turns = [record for record in found if record["type"] == "turn"]
    for verdict in [record for record in found if record["type"] == "verdict"]:
        mine = [turn for turn in turns if turn["debate"] == verdict["debate"]]
        ahead = forecast(with_rounds(protocol, verdict["round"]), [item], agent("http://127.0.0.1:1/v1")).full
        row = {"arm": arm, "debate": verdict["debate"]}
        debates.append(
            {
                **row,
                "item": item.question,
                "rounds": verdict["round"],
                "stop": verdict["stop_reason"],
                "calls": len(mine),
                "tokens_in": sum(turn["tokens_in"] for turn in mine),
                "tokens_out": sum(turn["tokens_out"] for turn in mine),
                "forecast_in": ahead.tokens_in,
                "forecast_out": ahead.tokens_out,
            }
        )
        replies += [
            {**row, "round": turn["round"], "agent": turn["agent"], **about}
            for turn, about in zip(mine, said(mine, item), strict=True)
        ]
    return debates, replies


def add(path: Path, rows: list[Any], digits: str, by_arm: bool = True) -> int:
    """Write rows after those of their arm in a table, whose own rows stay as they are; return how many it has then."""
    new = pd.read_csv(io.StringIO(pd.DataFrame(rows).to_csv(index=False, float_format=digits)), dtype=str)
    table = pd.concat([pd.read_csv(path, dtype=str), new]) if path.is_file() else new
    if by_arm:
        table = table.sort_values("arm", key=lambda arm: arm.map(list(ARMS).index), kind="stable")
    packed: Any = {"method": "gzip", "mtime": 0} if path.suffix == ".gz" else None
    table.to_csv(path, index=False, lineterminator="\n", compression=packed)
    return len(table)


def collect(raw: Path, out: Path) -> None:
    """Write what is committed, of the items that are done: what is there already, and then the items that follow."""
    asked = items()
    before = collected(out, asked)
    played = list(takewhile(lambda pair: (raw / "done" / pair[0].question).exists(), asked[before:]))
    done = played[: (before + len(played)) // 2 * 2 - before]
    if not done:
        sys.exit(f"NOTHING TO ADD: {before} items are collected, and {raw} has not the two that follow them")
    debates, replies = [], []
    (out / "votes").mkdir(exist_ok=True)
    for arm in ARMS:
        # Without a time in its head, so that the same votes are the same bytes.
        path = out / "votes" / f"{arm}.jsonl.gz"
        text = gzip.decompress(path.read_bytes()).decode() if path.is_file() else ""
        for item, _ in done:
            found = list(records(log_of(raw, arm, item)))
            kept = [{k: v for k, v in r.items() if k not in TEXTS} for r in (found[1:] if text else found)]
            text += "".join(json.dumps(record) + "\n" for record in kept)
            tables = rows_of(arm, item, found)
            debates += tables[0]
            replies += tables[1]
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    n_debates = add(out / "debates.csv", debates, "%.6g")
    n_replies = add(out / "replies.csv.gz", replies, "%.3g")
    names = [
        {"item": item.question, "kind": kind, "cluster": item.cluster, "side": item.label}
        for item, kind in done
    ]
    n = add(out / "items.csv", names, "%.6g", by_arm=False)
    print(f"{n} items ({len(done)} of them new), {n_debates} debates, {n_replies} replies")


def main() -> None:
    """Play, or collect."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--raw", type=Path, required=True, help="folder of the whole logs")
    parser.add_argument("--base-url", default="http://127.0.0.1:8099/v1")
    parser.add_argument("--limit-seconds", type=float, default=1e9, help="begin no item after so long")
    parser.add_argument("--most", type=int, default=PLAY["items"], help="play only so many items")
    parser.add_argument("--collect", action="store_true", help="write the tables that are committed")
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    asked = parser.parse_args()
    if asked.collect:
        collect(asked.raw, asked.out)
    else:
        asyncio.run(play(asked.raw, asked.out, asked.base_url, asked.limit_seconds, asked.most))


if __name__ == "__main__":
    main()
