"""What does a small file that holds much cost until it is refused?

    python simulations/fuzz/read_bombs.py

Each file of ``bombs.py`` is read in a process of its own. Writes ``bombs.csv``: size, content, CPU seconds, memory.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bombs import PACKED, PLAIN  # noqa: E402  # studies are no package

PROGRAM = """
import json, sys, time
from d3stats.log import read_log
start = time.process_time()
try:
    read_log(sys.argv[1])
    said = "read"
except ValueError as error:
    said = type(error).__name__
spent = time.process_time() - start
with open("/proc/self/status") as status:
    most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024
print(json.dumps([said, spent, most]))
"""


def content(path: Path) -> float:
    """Return the megabytes that a file holds when it is unpacked."""
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return sum(len(part) for part in iter(lambda: file.read(1 << 24), b"")) / 1e6
    if path.suffix in (".xlsx", ".eval"):
        with zipfile.ZipFile(path) as parts:
            return sum(part.file_size for part in parts.infolist()) / 1e6
    return path.stat().st_size / 1e6


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for file in [*PACKED, *PLAIN]:
            path = Path(name) / file
            if file in PACKED:
                PACKED[file](path)
            else:
                path.write_bytes(PLAIN[file])
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
            )
            said, spent, most = json.loads(done.stdout)
            size = path.stat().st_size / 1e6
            rows.append(
                {
                    "file": file,
                    "MB": round(size, 2),
                    "MB unpacked": round(content(path), 1),
                    "outcome": said,
                    "CPU s": round(spent, 2),
                    "MB of memory": round(most),
                }
            )
            print(rows[-1], flush=True)
            path.unlink()
    pd.DataFrame(rows).to_csv(HERE / "bombs.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
