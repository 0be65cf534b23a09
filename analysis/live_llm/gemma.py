"""Ask Gemma 3 270M, a base model, as the small chat model is asked: can it follow a protocol?

Run: python analysis/live_llm/gemma.py --server-python .venv-live/bin/python --logs FOLDER [--items 10] [--raw FOLDER]

Starts the server of `serve.py` with Gemma's weights and plays the arms of the study on the first texts that have whole
logs in the folder `--raw` (those of `play.py`; without it, the first of the draw): the single judge and the majority on
`--items` texts, the others on two. Writes `gemma.csv`. The logs stay in `--logs`; the same command goes on with them.
The rows of SmolLM2 are the same measures of the whole logs. `tokens_fences` are the tokens of a prompt that its fences
take, by the tokeniser of each server (`--base-url` for SmolLM2); an echo is a reply with a fence in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from play import ARMS, PLAY, items, log_of, orders, protocol_of, records, rows_of  # noqa: E402  # studies are no package
from serve import serving  # noqa: E402

from d3stats.agent import Request, Slot  # noqa: E402
from d3stats.run.items import DebateItem  # noqa: E402
from d3stats.run.live import LiveAgent  # noqa: E402
from d3stats.run.live.prompt import Draft  # noqa: E402
from d3stats.run.run import run_debates  # noqa: E402

ASKED = ("single", "majority", "peer", "stability", "chateval")
MANY, FEW = ASKED[:2], 2


def prompt_of(item: DebateItem) -> tuple[str, str]:
    """Return the text of a juror's prompt on an item, and the word of its fences."""
    case = item.case("d1")
    request = Request(case, 1, "judge 1", "judge", "vote", "Which is right?", Slot(case.answers, words=8))
    prompt = Draft(request).prompt()
    found = re.match(r"<(\w+) question>", prompt.user)
    assert found is not None
    return f"{prompt.system}\n{prompt.user}", found[1]


def tokens(base_url: str, text: str) -> int:
    """Return the tokens of a text, as the server's tokeniser counts them."""
    body = json.dumps({"content": text}).encode()
    request = urllib.request.Request(
        base_url.removesuffix("/v1") + "/tokenize", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return len(json.load(answer)["tokens"])


def fences(base_url: str, asked: list[DebateItem]) -> float:
    """Return the tokens that the fences of a prompt take, the mean of some items."""
    taken = 0
    for item in asked:
        text, word = prompt_of(item)
        bare = re.sub(rf"</?{word}[^>\n]*>\n?", "", text)
        taken += tokens(base_url, text) - tokens(base_url, bare)
    return taken / len(asked)


async def play(url: str, name: str, arm: str, asked: list[DebateItem], log: Path) -> None:
    """Play an arm of the study with a model."""
    settings = {key: PLAY[key] for key in ("seed", "most_words")}
    async with LiveAgent(name, url, concurrency=4, timeout=300.0, **settings) as model:
        await model.check(60)
        await run_debates(
            protocol_of(ARMS[arm]["protocol"]),
            asked,
            model,
            log,
            seed=PLAY["seed"],
            orders=orders(arm),
            concurrency=4,
            budget_tokens=PLAY["budget_tokens"],
        )


def row(model: str, arm: str, asked: list[DebateItem], found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the logs of an arm hold: verdicts, replies, their tokens beside the forecast, and their words."""
    turns = [record for record in found if record["type"] == "turn"]
    item_of = {record["debate"]: record["question"] for record in found if record["type"] == "item"}
    verdicts = [record for record in found if record["type"] == "verdict"]
    decided = [record for record in verdicts if record.get("decision") in ("A", "B")]
    label = {item.question: item.label for item in asked}
    errors = [turn["error"] for turn in turns if "error" in turn]
    debates = pd.DataFrame(
        [
            debate
            for item in asked
            for debate in rows_of(
                arm, item, [one for one in found if item_of[one["debate"]] == item.question]
            )[0]
        ]
    )
    used = (debates["tokens_in"] + debates["tokens_out"]).sum()
    words = [re.findall(r"\w+", turn.get("text") or "") for turn in turns]
    fence = {item.question: re.compile(rf"</?{prompt_of(item)[1]}\b") for item in asked}
    return {
        "model": model,
        "arm": arm,
        "debates": len(item_of),
        "verdicts": len(verdicts),
        "decided": len(decided),
        "right": sum(label[item_of[one["debate"]]] == one["decision"] for one in decided),
        "replies": len(turns),
        "missing": len(errors),
        "cut": errors.count("length"),
        "tokens": used / len(item_of),
        "ratio": used / (debates["forecast_in"] + debates["forecast_out"]).sum(),
        "words": sum(map(len, words)) / len(words),
        "without_words": sum(not each for each in words),
        "echoes": sum(bool(fence[item_of[turn["debate"]]].search(turn.get("text") or "")) for turn in turns),
    }


def whole_log(paths: list[Path]) -> list[dict[str, Any]]:
    """Return the records of logs without their heads."""
    return [record for path in paths for record in records(path) if "debate" in record]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--server-python", required=True, help="the Python that has the server's packages")
    parser.add_argument("--logs", type=Path, required=True, help="folder of Gemma's logs")
    parser.add_argument("--items", type=int, default=10)
    parser.add_argument("--raw", type=Path, help="folder of the whole logs of play.py")
    parser.add_argument("--base-url", default="http://127.0.0.1:8099/v1", help="the server of SmolLM2")
    parser.add_argument("-o", "--out", type=Path, default=HERE)
    given = parser.parse_args()
    every = [item for item, _ in items()]
    whole = [item for item in every if given.raw and (given.raw / "done" / item.question).exists()]
    asked = (whole or every)[: given.items]
    found = []
    if whole:
        taken = fences(given.base_url, asked)
        for arm in ARMS:
            logs = whole_log([log_of(given.raw, arm, item) for item in whole])
            found.append(row("smollm2", arm, whole, logs) | {"tokens_fences": taken})
            print(found[-1], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        gemma = ("--model", "gemma3", "--threads", "1")
        with serving(given.server_python, Path(folder), *gemma) as served:
            taken = fences(served.url, asked)
            for arm in ASKED:
                log, mine = given.logs / f"{arm}.jsonl", asked if arm in MANY else asked[:FEW]
                asyncio.run(play(served.url, "gemma3", arm, mine, log))
                found.append(row("gemma3", arm, mine, whole_log([log])) | {"tokens_fences": taken})
                print(found[-1], flush=True)
    pd.DataFrame(found).to_csv(given.out / "gemma.csv", index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    main()
