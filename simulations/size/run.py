"""How long and how much memory do counts, fits, replays and agreement take, in one process, two, and on a cluster?

    python simulations/size/run.py                # 10^8 turns of Parquet, 10^7 of JSON lines: about 15 minutes
    python simulations/size/run.py --scale 0.01   # the same with a hundredth of the turns
    python simulations/size/run.py --only counts  # some of the rows

The data are made first, in a temporary folder (`--data` names one that is kept). Each row is a process of its own. CPU
seconds are of all processes of the row together, from the call to the result, so that other work disturbs them little.
They include the start of two processes, but a cluster is started before. The peak is the sum of the largest resident
memory of each process, the scheduler of a cluster included. The bits of a result are the first digits of its SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent))
PER_FILE = 1_000_000
ANSWERS = ("A", "B")
SIZES = ("turns", "turns_jsonl", "turns_arrays", "turns_one", "debates")


# ------------------------------------------------------------------------------------------------ data


def votes_of(config: Mapping[str, Any], seed: int, turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels (debates,) and votes (debates, rounds, agents), both 0 or 1; each debate has its own chance."""
    rng = np.random.default_rng([config["seed"], seed])
    shape = config["rounds"], config["agents"]
    n = -(-turns // (shape[0] * shape[1]))
    label = rng.integers(0, 2, n)
    right = rng.random((n, *shape)) < rng.beta(*config["accuracy"], n)[:, None, None]
    return label, np.where(right, label[:, None, None], 1 - label[:, None, None])


def write_parquet(config: Mapping[str, Any], seed: int, turns: int, path: Path) -> None:
    """Write a file of Parquet with a row per turn; texts are dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    label, votes = votes_of(config, seed, turns)
    n, rounds, agents = votes.shape
    each = rounds * agents

    def coded(codes: np.ndarray, values: Iterable[str]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(list(values)))

    columns = {
        "debate": coded(np.repeat(np.arange(n), each), (f"f{seed:04d}-d{i:05d}" for i in range(n))),
        "round": pa.array(np.tile(np.repeat(np.arange(1, rounds + 1), agents), n), pa.int32()),
        "agent": coded(np.tile(np.arange(agents), n * rounds), (f"juror {k + 1}" for k in range(agents))),
        "vote": coded(votes.ravel(), ANSWERS),
        "label": coded(np.repeat(label, each), ANSWERS),
    }
    pq.write_table(pa.table(columns), path)


def write_jsonl(config: Mapping[str, Any], seed: int, turns: int, path: Path) -> None:
    """Write a log of JSON lines: a line per debate, and a line per turn."""
    label, votes = votes_of(config, seed, turns)
    seats = [(r + 1, k + 1) for r in range(votes.shape[1]) for k in range(votes.shape[2])]
    with path.open("w") as out:
        for i, (right, cast) in enumerate(
            zip(label.tolist(), votes.reshape(len(label), -1).tolist(), strict=True)
        ):
            name = f"f{seed:04d}-d{i:05d}"
            out.write(f'{{"type":"item","debate":"{name}","question":"{name}","label":"{ANSWERS[right]}"}}\n')
            out.writelines(
                f'{{"type":"turn","debate":"{name}","round":{r},"agent":"juror {k}","vote":"{ANSWERS[vote]}"}}\n'
                for (r, k), vote in zip(seats, cast, strict=True)
            )


WRITERS: dict[str, Callable[..., None]] = {"parquet": write_parquet, "jsonl": write_jsonl}


def make(config: Mapping[str, Any], data: Path) -> None:
    """Write all files that are not there."""
    for form, turns in (("parquet", config["turns"]), ("jsonl", config["turns_jsonl"])):
        n_files = max(1, turns // PER_FILE)
        for k in range(n_files):
            path = data / f"{k:04d}.{form}"
            if not path.exists():
                WRITERS[form](config, k, min(turns, PER_FILE), path.with_suffix(".part"))
                path.with_suffix(".part").rename(path)


# ------------------------------------------------------------------------------------------------ work


def replayed(path: str, rules: Sequence[str]) -> np.ndarray:
    """Count the debates of one file by rule, stop round and verdict (right, wrong, none); whole numbers."""
    import d3stats
    from d3stats.planning.scan import StopFinder
    from d3stats.stopping import from_text

    t = d3stats.open(path).trajectories()
    known = [from_text(text) for text in rules]
    finder, decided = StopFinder(t, known), t.verdicts()
    found = np.zeros((len(rules), t.n_rounds, 3), dtype=np.int64)
    for rule, table in zip(known, found, strict=True):
        stop = finder.rounds(rule).astype(np.int64) - 1
        verdict = decided[np.arange(len(t)), stop]
        outcome = np.where(verdict < 0, 2, np.where(verdict == t.label, 0, 1))
        np.add.at(table, (stop, outcome), 1)
    return found


def agreed(path: str, n_agents: int) -> np.ndarray:
    """Return sums over the debates of one file in their last round, by the number of votes: whole numbers.

    Columns: debates, ordered pairs of votes that agree, and votes for each answer in the order of their names.
    """
    import d3stats

    t = d3stats.open(path).trajectories()
    last = t.votes[np.arange(len(t)), t.depth - 1]
    order = np.argsort([str(answer) for answer in t.answers])
    counts = np.stack([(last == code).sum(axis=1) for code in order], axis=1)
    found = np.zeros((n_agents + 1, 2 + len(order)), dtype=np.int64)
    rows = np.column_stack([np.ones(len(t), np.int64), (counts * (counts - 1)).sum(axis=1), counts])
    np.add.at(found, counts.sum(axis=1), rows)
    return found


def alpha_of(sums: np.ndarray) -> float:
    """Return Krippendorff's alpha for nominal data (2011, section 2.E) from the sums of :func:`agreed`."""
    sizes = np.arange(len(sums))
    paired = sizes > 1
    within = sizes[paired] - 1
    votes = sums[paired, 2:].sum(axis=0)
    n = votes.sum()
    observed = n - (sums[paired, 1] / within).sum()
    expected = (n * n - (votes**2).sum()) / (n - 1)
    return float(1 - observed / expected)


def work(job: str, files: Sequence[str], config: Mapping[str, Any], how: Mapping[str, Any]) -> Any:
    """Do one job; the result has the same bits wherever it runs."""
    import d3stats

    if job == "counts":
        return d3stats.count(*files, **how)
    function, more = (replayed, config["rules"]) if job == "replay" else (agreed, config["agents"])
    if "scheduler" in how:
        from distributed import Client

        with Client(how["scheduler"]) as client:
            parts = client.gather(client.map(function, files, [more] * len(files), pure=False))
    else:
        from joblib import Parallel, delayed

        parts = Parallel(n_jobs=how["workers"], return_as="generator")(
            delayed(function)(f, more) for f in files
        )
    return sum(parts)


def bits(result: Any) -> str:
    """Return the first digits of the hash of a result."""
    if isinstance(result, np.ndarray):
        data = result.astype("<i8").tobytes()
    else:
        cells = result.to_frame("cells").fillna(-1).to_numpy(dtype=np.float64)
        data = cells.astype("<f8").tobytes() + f"{result.n_turns} {result.n_debates}".encode()
    return hashlib.sha256(data).hexdigest()[:12]


# ------------------------------------------------------------------------------------------------ measures


def used(pids: Iterable[int]) -> tuple[float, float]:
    """Return CPU seconds so far and the sum of peaks in MB of these processes."""
    tick, cpu, peak = os.sysconf("SC_CLK_TCK"), 0.0, 0.0
    for pid in pids:
        try:
            after = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue  # it has ended
        cpu += (int(after[11]) + int(after[12])) / tick
        peak += next((int(x.split()[1]) / 1024 for x in status.splitlines() if x.startswith("VmHWM")), 0.0)
    return cpu, peak


def family() -> list[int]:
    """Return this process and those below it."""
    import psutil

    me = psutil.Process()
    return [me.pid, *(child.pid for child in me.children(recursive=True))]


@contextmanager
def place(where: str) -> Any:
    """Give the arguments of one process, two processes, or a cluster of two workers over TCP that is ready."""
    if where != "cluster":
        yield {"workers": 1 if where == "one process" else 2}
        return
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", protocol="tcp://",
        dashboard_address=None, silence_logs=50,
    ) as cluster:  # fmt: skip
        cluster.wait_for_workers(2, timeout=120)
        yield {"scheduler": cluster.scheduler_address}


def spread_row(
    job: str, form: str, where: str, config: Mapping[str, Any], data: Path, *, kept: bool = True
) -> dict[str, Any]:
    """Measure one job over all files of a form."""
    import d3stats  # noqa: F401  # the package is loaded before the clock starts

    files = files_of(form, data, config["turns"] if job == "counts" else config["turns_arrays"])
    with place(where) as how:
        before, start = used(family())[0], time.perf_counter()
        result = work(job, files, config, how)
        wall = time.perf_counter() - start
        cpu, peak = used(family())
        row = {"wall_s": wall, "cpu_s": cpu - before, "peak_mb": peak, "bits": bits(result)}
        if where == "one process" and kept:
            keep(job, form, result, data)
    return {"job": job, "source": form, "turns": turns_of(config, form, len(files)), "where": where, **row}


def files_of(form: str, data: Path, turns: int) -> list[str]:
    """Return the first files of a form, one for each million turns."""
    return sorted(map(str, data.glob(f"*.{form}")))[: max(1, turns // PER_FILE)]


def turns_of(config: Mapping[str, Any], form: str, n_files: int) -> int:
    """Return the turns of so many files, whose debates are whole."""
    turns = config["turns" if form == "parquet" else "turns_jsonl"]
    each = config["rounds"] * config["agents"]
    return n_files * -(-min(turns, PER_FILE) // each) * each


def keep(job: str, form: str, result: Any, data: Path) -> None:
    """Keep what later rows read."""
    if job == "counts":
        from d3stats.log import write_counts

        folder = data / "kept"
        folder.mkdir(exist_ok=True)
        write_counts(result, folder / f"{form}.parquet")


def counts_row(config: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Measure the fit of all rounds and the series of KS distances, from the file of counts."""
    import d3stats  # noqa: F401
    from d3stats.models.mixtures import fit_rounds

    before, start = used(family())[0], time.perf_counter()
    fit = fit_rounds(data / "kept" / "parquet.parquet", rng=0)
    series = fit.ks()
    wall = time.perf_counter() - start
    cpu, peak = used(family())
    made = hashlib.sha256(np.append([f.mean for f in fit.fits], series).astype("<f8").tobytes()).hexdigest()[
        :12
    ]
    n_files = len(files_of("parquet", data, config["turns"]))
    row = {"wall_s": wall, "cpu_s": cpu - before, "peak_mb": peak, "bits": made}
    return {"job": "fit and KS of counts", "source": "counts", "turns": turns_of(config, "parquet", n_files),
            "where": "one process", **row}  # fmt: skip


def command_row(command: str, form: str, config: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Measure a whole command on one machine, its start included."""
    files = files_of(form, data, config["turns_one"])
    words = ["-m", "d3stats", command, *files]
    words += [word for rule in config["rules"] for word in ("-r", rule)] if command == "replay" else []
    wall, cpu, peak, printed = spawned(words)
    made = hashlib.sha256(printed).hexdigest()[:12]
    turns = turns_of(config, form, len(files))
    row = {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "bits": made}
    return {"job": f"d3stats {command}", "source": form, "turns": turns, "where": "one process", **row}


def one_file_row(config: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Measure the counts of one file, which tell whether memory grows with the files."""
    one = {**config, "turns": min(config["turns"], PER_FILE)}
    row = spread_row("counts", "parquet", "one process", one, data, kept=False)
    return row | {"job": "counts of one file"}


def drawn_row(name: str, config: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Measure debates of a simulated panel, or as many uniform numbers of numpy."""
    from d3stats.worlds import Voter, simulate_debates

    n, rounds, agents = config["debates"], config["rounds"], config["agents"]
    simulate_debates(Voter(panel=agents), 1024, rounds, rng=config["seed"])
    before, start = used(family())[0], time.perf_counter()
    if name == "simulate(Voter)":
        made: Any = simulate_debates(Voter(panel=agents), n, rounds, rng=config["seed"]).votes
    else:
        made = np.random.default_rng(config["seed"]).random((n, rounds, agents))
    wall = time.perf_counter() - start
    cpu, peak = used(family())
    row = {"wall_s": wall, "cpu_s": cpu - before, "peak_mb": peak}
    row |= {"bits": hashlib.sha256(np.ascontiguousarray(made).tobytes()).hexdigest()[:12]}
    return {"job": name, "source": "none", "turns": n * rounds * agents, "where": "one process", **row}


def spawned(words: Sequence[str]) -> tuple[float, float, float, bytes]:
    """Run a program; return its seconds by the clock, CPU seconds, peak in MB and what it printed."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        to = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
        pid = os.posix_spawn(sys.executable, [sys.executable, *words], os.environ, file_actions=to)
        _, status, spent = os.wait4(pid, 0)
        wall = time.perf_counter() - start
        out.seek(0)
        printed = out.read()
    if status:
        raise RuntimeError(f"{' '.join(words)} must succeed; got status {status}")
    return wall, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024, printed


def per_task(tasks: int = 2000) -> float:
    """Return CPU milliseconds of this process for a task that does nothing; it holds the scheduler and the client."""
    import distributed

    with place("cluster") as how, distributed.Client(how["scheduler"], set_as_default=False) as client:
        client.gather(client.map(abs, range(10), pure=False))
        start = time.process_time()
        client.gather(client.map(abs, range(tasks), pure=False))
        return 1e3 * (time.process_time() - start) / tasks


def constants_row(config: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Measure what does not depend on the turns: a start, a file, a result, adding it, and a task."""
    import d3stats

    parts = [d3stats.count(str(path)) for path in sorted(data.glob("*.parquet"))[:2]]
    tiny = data / "kept" / "tiny.parquet"
    write_parquet(config, 0, 1, tiny)
    d3stats.count(tiny)
    repeats = 50
    start = time.process_time()
    for _ in range(repeats):
        d3stats.count(tiny)
    per_file = (time.process_time() - start) / repeats
    start = time.process_time()
    for _ in range(repeats):
        sum(parts)
    per_add = (time.process_time() - start) / repeats / len(parts)
    at_end = "print(next(x.split()[1] for x in open('/proc/self/status') if x.startswith('VmHWM')))"
    _, begun, _, told = spawned(["-c", f"import d3stats; d3stats.count({str(tiny)!r}); {at_end}"])
    results = {
        "counts": parts[0],
        "replay": replayed(str(tiny), config["rules"]),
        "agreement": agreed(str(tiny), config["agents"]),
    }
    sizes = {f"bytes of a result, {name}": len(pickle.dumps(result)) for name, result in results.items()}
    files = list(data.glob("*.parquet"))
    stored = sum(file.stat().st_size for file in files) / turns_of(config, "parquet", len(files))
    return {
        "CPU s of a start": begun,
        "MB of a start": int(told) / 1024,
        "CPU ms of a file": 1e3 * per_file,
        "CPU ms of adding a result": 1e3 * per_add,
        "CPU ms of a task in the scheduler and the client": per_task(),
        **sizes,
        "MB stored per million turns": stored,
    }


PLACES = ("one process", "two processes", "cluster")
ROWS: dict[str, Callable[..., dict[str, Any]]] = {}


def enter(job: str, form: str, places: Sequence[str] = PLACES) -> None:
    """Enter a job over all files of a form, once for each place."""
    for where in places:
        ROWS[f"{job} {form} {where}"] = lambda c, d, w=where: spread_row(job, form, w, c, d)


ROWS["one file"] = one_file_row
enter("counts", "parquet")
enter("counts", "jsonl", PLACES[:2])
ROWS["fit and KS of counts"] = counts_row
for _command, _form in (("fit", "parquet"), ("fit", "jsonl"), ("replay", "parquet"), ("replay", "jsonl")):
    ROWS[f"{_command} command {_form}"] = lambda c, d, m=_command, f=_form: command_row(m, f, c, d)
enter("replay", "parquet")
enter("agreement", "parquet")
for _name in ("uniforms of numpy", "simulate(Voter)"):
    ROWS[_name] = lambda c, d, n=_name: drawn_row(n, c, d)
ROWS["constants"] = constants_row


def measured(row: str, scale: float, data: Path) -> dict[str, Any]:
    """Measure a row in a process of its own, so that no row sees the memory of another."""
    words = [sys.executable, __file__, "--row", row, "--scale", str(scale), "--data", str(data)]
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(words, env=os.environ | one, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def scaled(config: dict[str, Any], scale: float) -> dict[str, Any]:
    """Shorten the sizes."""
    return config | {name: round(config[name] * scale) for name in SIZES}


def shown(made: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables as people read them."""
    size = made["size"]
    per = 1e6 / size["turns"]
    table = pd.DataFrame(
        {
            "job": size["job"] + ", " + size["source"],
            "turns": [f"{n:.3g}" for n in size["turns"]],
            "where": size["where"],
            "CPU s": [f"{x:.1f}" for x in size["cpu_s"]],
            "wall s": [f"{x:.1f}" for x in size["wall_s"]],
            "CPU s per million": [f"{x:.2f}" for x in size["cpu_s"] * per],
            "peak MB": [f"{x:,.0f}" for x in size["peak_mb"]],
            "bits": size["bits"],
        }
    )
    gains = []
    for (job, source), rows in size.groupby(["job", "source"], sort=False):
        by = rows.set_index("where")
        for where in PLACES[1:]:
            if where in by.index:
                wall, cpu = (
                    by.loc["one process", name] / by.loc[where, name] for name in ("wall_s", "cpu_s")
                )
                same = "equal" if by.loc[where, "bits"] == by.loc["one process", "bits"] else "other"
                gains.append((f"{job}, {source}", where, f"{wall / 2:.2f}", f"{cpu:.2f}", same))
    heads = ["job", "where", "efficiency by the clock", "efficiency by CPU", "bits"]
    return {"size": table, "gains": pd.DataFrame(gains, columns=heads)}


PAGE = FOLDER.parents[1] / "docs" / "reference" / "scale.md"
FAR = 10_000_000_000
SHARED = ((1_000, 1_000_000), (1_000, 10_000_000), (100, 1_000_000), (100, 10_000_000))
"""Workers, and turns in a file, for which the time of `FAR` turns is worked out."""


def extrapolated(made: Mapping[str, pd.DataFrame], job: str = "counts") -> pd.DataFrame:
    """Work out what `FAR` turns take, part by part, from the measured constants; seconds."""
    size, told = made["size"], made["constants"].set_index("constant")["value"]
    alone = size[
        (size["job"] == job) & (size["source"] == "parquet") & (size["where"] == "one process")
    ].iloc[0]
    per_turn = alone["cpu_s"] / alone["turns"]
    rows = []
    for workers, turns in SHARED:
        files = FAR // turns
        back = files * told[f"bytes of a result, {job}"]
        rows.append(
            {
                "workers": workers,
                "turns_in_file": turns,
                "work": -(-files // workers) * turns * per_turn,
                "scheduler": files * told["CPU ms of a task in the scheduler and the client"] / 1000,
                "client": files * told["CPU ms of adding a result"] / 1000,
                "results_mb": back / 1e6,
                "storage_mb": told["MB stored per million turns"] * FAR / 1e6,
            }
        )
    return pd.DataFrame(rows)


def for_page(made: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables of the page on sweeps and sizes."""
    size = made["size"]
    rows = [
        (
            f"{row.job}, {row.source}",
            f"{row.turns / 1e6:,.0f}",
            row.where,
            f"{row.cpu_s / row.turns * 1e6:.2f}",
            f"{row.peak_mb:,.0f}",
        )
        for row in size.itertuples()
    ]
    heads = ["job", "million turns", "where", "CPU s per million", "peak MB"]
    far = extrapolated(made)
    parts = [
        (
            f"{row.workers:,}",
            f"{row.turns_in_file:,}",
            f"{row.work:.1f}",
            f"{row.scheduler:.1f}",
            f"{row.client:.1f}",
            f"{row.results_mb:,.0f}",
        )
        for row in far.itertuples()
    ]
    names = ["workers", "turns in a file", "work, s", "scheduler, s", "client, s", "results, MB"]
    constants = made["constants"]
    return {
        "size": pd.DataFrame(rows, columns=heads),
        "constants": constants.assign(
            value=[f"{x:,.3g}" if x < 1000 else f"{x:,.0f}" for x in constants["value"]]
        ),
        "far": pd.DataFrame(parts, columns=names),
    }


def main() -> None:
    from findings_tables import filled, write

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", help="rows whose name begins so; nothing is written")
    parser.add_argument("--row", choices=list(ROWS), help=argparse.SUPPRESS)
    parser.add_argument("-o", "--out", type=Path, default=FOLDER, help="folder for the CSV files")
    given = parser.parse_args()
    config = scaled(tomllib.loads((FOLDER / "config.toml").read_text()), given.scale)
    if given.row:
        print(json.dumps(ROWS[given.row](config, given.data)))
        return
    data = given.data or Path(tempfile.mkdtemp(prefix="d3stats-size-"))
    data.mkdir(parents=True, exist_ok=True)
    try:
        make(config, data)
        rows = {}
        for name in ROWS:
            if name.startswith(given.only or ""):
                rows[name] = measured(name, given.scale, data)
                print(name, rows[name], flush=True)
        if given.only is None:
            constants = rows.pop("constants")
            found = {
                "size": pd.DataFrame(list(rows.values())),
                "constants": pd.DataFrame({"constant": list(constants), "value": list(constants.values())}),
            }
            write(FOLDER, given.out, found, shown)
            if given.out == FOLDER:
                made = {stem: pd.read_csv(FOLDER / f"{stem}.csv") for stem in found}
                PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), for_page(made)), encoding="utf-8")
    finally:
        if given.data is None:
            shutil.rmtree(data)


if __name__ == "__main__":
    main()
