"""Human labels of FairEval: ChatGPT against Vicuna-13B on the 80 Vicuna questions, one word per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from d3stats.log.importers._source import files, shape, text_of
from d3stats.log.schema import Item, Turn, Verdict

NAME = "faireval"
TITLE = "80 human labels: ChatGPT against Vicuna-13B"
SOURCE = "i-Eval/FairEval @453c117a; licence: none stated"
NOTES = (
    "the human decision is a vote of role 'human', not a label, so no item has a label",
    "line i is the i-th of the 80 Vicuna questions, named as by the importer 'prd'",
)

_WORDS = {"CHATGPT": "chatgpt", "VICUNA13B": "vicuna-13b", "TIE": "tie"}


def records(source: Path) -> Iterator[Item | Turn | Verdict]:
    """Yield the records of the label file or of the folder that holds it; the file holds no texts."""
    for name, content in files(source, "*human*.txt"):
        for index, line in enumerate(text_of(name, content).rstrip().split("\n"), start=1):
            word, debate = line.strip(), f"faireval/{index}"
            shape(f"{name}, line {index}", f"one of {', '.join(_WORDS)}", word in _WORDS, word)
            answers = tuple(_WORDS.values())
            yield Item(debate, f"vicuna80:{index}", answers=answers, log="faireval", protocol="pairwise")
            yield Turn(debate, 1, "human consensus", role="human", vote=_WORDS[word])
