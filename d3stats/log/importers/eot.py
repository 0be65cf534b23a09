"""Samples of Exchange-of-Thought: three first answers to each of 50 items of eight benchmarks.

One JSON line per item: ``{"question": ..., "answer": ..., "response_list": [three texts]}``: one round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from d3stats._check import choice
from d3stats.log.importers import answers
from d3stats.log.importers._source import files, json_lines, mapping, question_id, shape, string
from d3stats.log.schema import Item, Turn, Verdict

NAME = "eot"
TITLE = "Exchange-of-Thought samples: 8 benchmarks x 50 items, 3 first answers"
SOURCE = "yinzhangyue/EoT @8f6a146f; licence: Apache-2.0"
NOTES = (
    "one round, with the answers before any exchange",
    "a hedge ('partially yes', 'either (A) or (C)') is a missing vote",
)

_FILE = re.compile(r"Sample_(?P<benchmark>[A-Za-z0-9]+)_EoT_(?P<model>.+)\.jsonl")
_LETTERS = ("A", "B", "C", "D", "E")
_CLOSED = {"AQuA": _LETTERS, "CSQA": _LETTERS, "StrategyQA": ("yes", "no")}


def records(source: Path, *, reading: str = "asked") -> Iterator[Item | Turn | Verdict]:
    """Yield the records of a folder of ``Sample_BENCHMARK_EoT_MODEL.jsonl`` files, or of one of them."""
    choice("reading", reading, answers.READINGS)
    for name, content in files(source, "Sample_*_EoT_*.jsonl"):
        match = _FILE.fullmatch(name.rpartition("/")[2])
        if match is None:
            raise ValueError(f"file name must be Sample_BENCHMARK_EoT_MODEL.jsonl; got {name!r}")
        benchmark, model = match["benchmark"], match["model"]
        closed = _CLOSED.get(benchmark)
        vote: Callable[[str], str | None] = answers.yes_no
        if closed is None:
            vote = partial(answers.number, stated=True, reading=reading)
        elif closed is _LETTERS:
            vote = partial(answers.choice, letters="".join(_LETTERS), reading=reading)
        for index, row in enumerate(json_lines(name, content), start=1):
            where = f"{name}, line {index}"
            entry = mapping(where, row, ("question", "answer", "response_list"))
            responses = entry["response_list"]
            texts = isinstance(responses, list) and all(isinstance(said, str) for said in responses)
            shape(f"{where}, response_list", "a list of texts", texts, responses)
            asked = string(f"{where}, question", entry["question"])
            gold = str(entry["answer"])
            label = gold if closed else answers.canonical_number(gold)
            readable = label is not None and (closed is None or label in closed)
            shape(f"{where}, answer", "a readable answer", readable, gold)
            debate, question = f"{benchmark}/{index}", question_id(benchmark.lower(), asked)
            yield Item(
                debate, question, label=label, answers=closed, log=benchmark, protocol="eot", text=asked
            )
            for agent, said in enumerate(responses, start=1):
                yield Turn(
                    debate, 1, f"agent {agent}", role="debater", vote=vote(said), model=model, text=said
                )
