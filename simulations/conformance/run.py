"""Does other software give the numbers that d3stats gives, on the same data?

Run: python simulations/conformance/run.py [--only PEER ...], or make conformance. Each peer gets an environment of its
own under ``.venv-peers``; one that cannot be installed is named and has a row with the reason. Packages of R are those
of this machine (on Debian: ``apt install r-cran-NAME`` with the name in small letters).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import checks  # noqa: E402  # beside this script
import page  # noqa: E402
from data import table  # noqa: E402
from there import measured, value  # noqa: E402

ENVIRONMENTS = HERE.parents[1] / ".venv-peers"
RESULTS, EXPLANATIONS = HERE / "results.csv", HERE / "explanations.csv"
PEERS = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((HERE / "rows").glob("*.toml"))
}
ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONPATH": ""}


class NotRun(Exception):
    """A peer cannot be installed or started here; the text is the reason."""


def environment(stem: str) -> tuple[Path, str]:
    """Return the interpreter of a peer and its version; make its environment where there is none yet."""
    peer = PEERS[stem]
    if "r" in peer:
        program = shutil.which("Rscript")
        if program is None:
            raise NotRun("R is not installed")
        code = f'cat(as.character(packageVersion("{peer["r"]}")))'
        said = subprocess.run([program, "-e", code], capture_output=True, text=True, check=False)
        if said.returncode:
            raise NotRun(f"the R package {peer['r']} is not installed")
        return Path(program), said.stdout.strip()
    folder = ENVIRONMENTS / stem
    python = folder / "bin" / "python"
    name = peer["packages"][0].split("==")[0]
    ask = [python, "-c", f"import pandas, importlib.metadata as m; print(m.version({name!r}))"]
    if not python.exists():
        venv.create(folder, with_pip=True)
    said = subprocess.run(ask, capture_output=True, text=True, check=False)
    wanted = peer["packages"][0].split("==")[-1]
    if said.returncode or said.stdout.strip() != wanted:
        install = [python, "-m", "pip", "install", "--quiet", "pandas", *peer["packages"]]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotRun(
                f"{peer['packages'][0]} could not be installed under Python {sys.version.split()[0]}"
            )
        said = subprocess.run(ask, capture_output=True, text=True, check=True)
    return python, said.stdout.strip()


def rows_of(stem: str) -> list[dict[str, Any]]:
    """Return a peer's rows, one for each table."""
    return [
        {**row, "key": f"{number}_{at}", "data": name, "peer": PEERS[stem]["peer"], "stem": stem}
        for number, row in enumerate(PEERS[stem]["rows"])
        for at, name in enumerate(row["data"])
    ]


def theirs(stem: str, program: Path) -> dict[str, dict[str, Any]]:
    """Run a peer's rows in its environment and return what each gave."""
    work = ENVIRONMENTS / "work" / stem
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rows = rows_of(stem)
    for row in rows:
        table(row["data"]).to_csv(work / f"{row['data']}.csv", index=False)
    surroundings = {**os.environ, **ALONE}
    if "r" not in PEERS[stem]:
        job = [{"key": row["key"], "data": row["data"], "code": row["there"].strip()} for row in rows]
        (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [program, HERE / "there.py", work / "job.json", work, work / "out.json"]
        subprocess.run(command, check=True, capture_output=True, env=surroundings)
        found: dict[str, dict[str, Any]] = json.loads((work / "out.json").read_text(encoding="utf-8"))
        return found
    for row in rows:
        (work / f"{row['key']}.R").write_text(f"# {row['data']}\n{row['there'].strip()}\n", encoding="utf-8")
    command = [program, HERE / "there.R", work, work, work / "out.tsv"]
    subprocess.run(command, check=True, capture_output=True, env=surroundings)
    found = {}
    for line in (work / "out.tsv").read_text(encoding="utf-8").splitlines():
        key, seconds, value = line.split("\t")
        if seconds == "failed":
            found[key] = {"failed": value}
        else:
            found[key] = {"seconds": float(seconds), "value": [float(x) for x in value.split()]}
    return found


def written(values: list[float]) -> str:
    """Write numbers into one cell."""
    return " ".join(f"{x:.12g}" for x in values)


def read(cell: str) -> np.ndarray:
    """Read the numbers of a cell."""
    return np.array([float(x) for x in str(cell).split()])


def here(row: dict[str, Any]) -> list[float]:
    """Return the numbers of d3stats for a row."""
    return value(row["here"].strip(), table(row["data"]).copy())


def results(stem: str) -> list[dict[str, Any]]:
    """Return the rows of results of one peer."""
    shared = {"stem": stem, "peer": PEERS[stem]["peer"], "version": "", "note": ""}
    try:
        program, shared["version"] = environment(stem)
    except NotRun as reason:
        print(f"NOT RUN: {shared['peer']}: {reason}", file=sys.stderr)
        return [{**shared, "note": f"not run: {reason}"}]
    given = theirs(stem, program)
    found = []
    for row in rows_of(stem):
        own, seconds = measured(row["here"].strip(), table(row["data"]).copy())
        other = given[row["key"]]
        made = {
            **shared, "feature": row["feature"], "number": row["number"], "data": row["data"], "here": written(own),
            "seconds_here": f"{seconds:.2g}", "lines_here": len(row["here"].strip().splitlines()),
            "lines_there": len(row["there"].strip().splitlines()), "tolerance": row["tolerance"],
            "check": row.get("check", ""),
        }  # fmt: skip
        if "failed" in other:
            made["note"] = f"not run: {other['failed']}"
            print(f"NOT RUN: {shared['peer']}, {row['number']}: {other['failed']}", file=sys.stderr)
        else:
            apart = np.abs(np.array(own) - np.array(other["value"])).max()
            made |= {"there": written(other["value"]), "difference": f"{apart:.2g}"}
            made["seconds_there"] = f"{other['seconds']:.2g}"
        found.append(made)
    return found


def differing(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that differ by more than their tolerance."""
    return frame[frame["difference"].astype(float) > frame["tolerance"].astype(float)]


def explained(frame: pd.DataFrame) -> pd.DataFrame:
    """Run the calculation behind each difference; one row for each."""
    out = []
    for name, rows in differing(frame).groupby("check", sort=False):
        if not name:
            raise ValueError(f"rows without an explanation: {rows[['peer', 'number', 'data']].to_string()}")
        holds, sentence = getattr(checks, str(name))(rows)
        out.append({"check": name, "holds": holds, "sentence": sentence})
    return pd.DataFrame(out, columns=["check", "holds", "sentence"])


def main() -> None:
    """Run the peers and write results, explanations, findings and the page."""
    parser = argparse.ArgumentParser(description="Compare with other software.")
    parser.add_argument("--only", nargs="*", choices=sorted(PEERS), help="renew the rows of these peers")
    parser.add_argument("--no-peers", action="store_true", help="only write explanations and page again")
    given = parser.parse_args()
    wanted = [] if given.no_peers else (given.only or list(PEERS))
    rows = []
    if RESULTS.exists() and (given.only or given.no_peers):
        before = pd.read_csv(RESULTS, dtype=str, keep_default_na=False)
        rows = before[~before["stem"].isin(wanted)].to_dict("records")
    for stem in wanted:
        began = time.monotonic()
        rows += results(stem)
        print(f"{PEERS[stem]['peer']}: {time.monotonic() - began:.0f} s", flush=True)
    frame = pd.DataFrame(rows).fillna("")
    order = frame["stem"].map({stem: at for at, stem in enumerate(PEERS)})
    frame.iloc[np.argsort(order, kind="stable")].to_csv(RESULTS, index=False, lineterminator="\n")
    frame = pd.read_csv(RESULTS, dtype=str, keep_default_na=False)
    frame["difference"] = pd.to_numeric(frame["difference"])
    frame["tolerance"] = pd.to_numeric(frame["tolerance"])
    why = explained(frame)
    why.to_csv(EXPLANATIONS, index=False, lineterminator="\n")
    page.write(frame, why)
    print(frame[["peer", "number", "data", "difference", "check", "note"]].to_string(index=False))
    print(why.to_string(index=False))


if __name__ == "__main__":
    main()
