"""``d3stats formats``: the file formats that commands read, and the formats to import."""

from __future__ import annotations

from d3stats.cli.lists import print_list
from d3stats.cli.options import Json
from d3stats.cli.output import print_json, say

_READ = {
    "jsonl": "the log that d3stats writes: a header, then items, turns and verdicts, one JSON object a line; or flat "
    "lines, one object per turn; also .ndjson, .jsonl.gz",
    "csv": "one row per turn: debate, round, agent, vote, label, and optional columns; or a wide table, "
    "one column per "
    "agent or per round; separated by commas, semicolons, tabs or |; also .csv.gz",
    "tsv": "the same tables separated by tabs; also .tsv.gz",
    "xlsx": "the same tables on the first sheet of a workbook",
    "parquet": "the same tables as Parquet",
    "json": "a list of such objects, or an object that holds one; or a log of Inspect",
    "eval": "a log of Inspect: epochs are a panel of votes, several scorers are its raters",
}
"""Forms of logs that every command reads without an import."""


def formats(as_json: Json = False) -> None:
    """List the formats that every command reads, and the formats that d3stats import converts."""
    from d3stats.log.importers import available

    imported = {name: module.title for name, module in available().items()}
    if as_json:
        print_json({"read": _READ, "import": imported})
        return
    say("Read by every command:")
    print_list([(f".{name}", text, "") for name, text in _READ.items()])
    say("\nTo be converted first, with d3stats import FORMAT SRC -o LOG.jsonl:")
    print_list([(name, text, "") for name, text in imported.items()])
