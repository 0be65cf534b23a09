"""Debates of small language models with personas, GSM8K and MMLU.

The archive holds one file per benchmark, model and panel,
``gsm_Qwen3-14B_persona_enigma+zen+deep-sea_agents3_rounds3.json``, in the nested layout of
:mod:`~d3stats.log.importers.gsm_nested`. The same 40 items recur in every file: the question is the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from d3stats.log.importers import answers
from d3stats.log.importers._source import files, json_of, stem
from d3stats.log.importers.gsm_nested import nested_debates
from d3stats.log.schema import Item, Turn, Verdict

NAME = "slm-multiagent"
TITLE = "Small language models with personas debate GSM8K and MMLU items: 25 logs, 3, 5 or 7 agents, 3 rounds"
SOURCE = "lferreiraMD/slm_multiagent_debate @f535f16a; licence: MIT by its README"
NOTES = (
    "log is the file's name: benchmark, model, personas, number of agents",
    "the question's name is a digest of its wording, the same in every log",
    "many MMLU answers cannot be read and are missing votes",
    "reading='asked' gives the published counts; it misreads some MMLU texts that dismiss '(D)' and then box "
    "another letter; reading='strict' takes the last statement",
)

LETTERS = ("A", "B", "C", "D")
_FILE = re.compile(
    r"(?P<benchmark>gsm|mmlu)_(?P<model>.+)_persona_(?P<personas>.+)_agents(?P<agents>[0-9]+)_rounds[0-9]+"
)


def parts(log: str) -> dict[str, str]:
    """Split a log's name into benchmark, model, personas and agents.

    Raises
    ------
    ValueError
        When the name does not follow the archive's scheme.

    Examples
    --------
    >>> parts("gsm_Qwen3-14B_persona_enigma+zen_agents2_rounds3")["model"]
    'Qwen3-14B'
    """
    match = _FILE.fullmatch(log)
    if match is None:
        raise ValueError(f"file name must be BENCHMARK_MODEL_persona_..._agentsN_roundsN; got {log!r}")
    return match.groupdict()


def records(
    source: Path, *, reading: str = "asked", agents: int | None = None
) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the archive, of a folder of its files, or of one file; only of panels of `agents`."""
    for name, content in files(source, "*.json"):
        run = parts(stem(name))
        if agents is not None and int(run["agents"]) != int(agents):
            continue
        data, model = json_of(name, content), run["model"]
        if run["benchmark"] == "gsm":
            vote = partial(answers.number, reading=reading)
            yield from nested_debates(name, data, "gsm8k", answers.gold_number, vote, model=model)
        else:
            vote = partial(answers.choice, reading=reading)
            yield from nested_debates(name, data, "mmlu", _letter, vote, LETTERS, model)


def _letter(gold: str) -> str | None:
    return gold if gold in LETTERS else None
