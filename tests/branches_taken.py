"""Which share of the branches of d3stats did the last measured run of the tests take? (`make coverage`)

Run: python tests/branches_taken.py [--least PERCENT] [--data FILE] [--of FILES]; it ends in an error below PERCENT.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 15


def main() -> int:
    """Print the shares, and the files with the most branches that no test took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--least", type=float, default=0.0, metavar="PERCENT")
    parser.add_argument("--data", type=Path, default=ROOT / ".coverage", metavar="FILE")
    parser.add_argument("--of", metavar="FILES", help="files that count, as */stopping/*; all without it")
    options = parser.parse_args()
    measured = coverage.Coverage(data_file=options.data, config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "coverage.json"
        measured.json_report(outfile=str(out), include=options.of and [options.of], ignore_errors=True)
        found = json.loads(out.read_text(encoding="utf-8"))
    totals = found["totals"]
    taken, branches = totals["covered_branches"], totals["num_branches"]
    share = 100 * taken / branches if branches else 0.0
    lines = 100 * totals["covered_lines"] / max(totals["num_statements"], 1)
    missed = sorted(
        ((file["summary"]["num_branches"] - file["summary"]["covered_branches"], name)
         for name, file in found["files"].items()),
        reverse=True,
    )  # fmt: skip
    for count, name in missed[:SHOWN]:
        print(f"{count:6,} not taken  {name}")
    print(f"Branches: {taken:,} of {branches:,} taken ({share:.1f} %). Statements: {lines:.1f} % executed.")
    if share < options.least:
        print(f"Fewer than {options.least:g} % of the branches were taken.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
