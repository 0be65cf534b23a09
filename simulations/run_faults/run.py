"""What does a fault cost a run of debates: verdicts that are lost, and calls that are paid twice?

    python simulations/run_faults/run.py [-o FOLDER] [--tries N] [--kind TEXT]

Each try plays debates (SAMRE with three jurors, four calls at once, in a process of its own) until a fault, and then
runs the same command again until it ends. The agent writes every reply to a file of its own as it gives it, so what
was paid is known whatever happens to the log. Writes ``faults.csv``: a row for each kind of fault. With
``--kind`` only the kinds with this text are tried, and the other rows stay as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pandas as pd
import psutil

from d3stats.agent import More, Refused, Reply, Request, Size, always
from d3stats.log import iter_records
from d3stats.log.doctor import doctor
from d3stats.planning import Study, simulate
from d3stats.protocols import protocol_from_text
from d3stats.run import DebateItem, debate
from d3stats.worlds import Voter

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from findings_tables import write  # noqa: E402  # studies are no package

PROTOCOL = "samre:jurors=3,max_rounds=3"
DEBATES = 8
CONCURRENCY = 4
Key = tuple[str, int, str]


class Paid:
    """An agent whose replies depend on the place in the debate alone; it keeps its own account of them."""

    model = "paid"

    def __init__(self, account: Path) -> None:
        self._account = os.open(account, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)

    async def act(self, request: Request, /, more: More = always) -> Reply:
        key = f"{request.case.debate}\t{request.round}\t{request.agent}\n"
        rng = random.Random(key)
        await asyncio.sleep(0.004 * random.random())
        slot = request.slot
        vote = rng.choice(slot.answers) if slot.wants_vote else None
        scores = None
        if slot.rubric is not None:
            rubric = slot.rubric
            scores = {
                side: {name: float(rng.randint(rubric.low, rubric.high)) for name in rubric.criteria}
                for side in rubric.sides
            }
        os.write(self._account, key.encode())
        return Reply(f"{rng.random()}", vote, scores, 50, 5, model="paid")

    def imagine(self, request: Request, size: Size, /) -> Reply:
        return Reply("x" * 25, tokens_in=100, tokens_out=10)


def play(
    folder: Path, size: int | None = None, before: Callable[[], object] = lambda: None
) -> tuple[int, int]:
    """Play in a process of its own; return its number and the end of a pipe that gets what it said.

    `size` limits the files that it writes, in bytes; `before` is called in the process before it plays.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    said = "nothing"
    try:
        if size is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        agent = Paid(folder / "account")
        before()
        items = [DebateItem(f"q{i}", f"question {i}?", (f"a {i}", f"b {i}")) for i in range(DEBATES)]
        protocol = protocol_from_text(PROTOCOL)
        log = folder / "log.jsonl"
        report = debate(protocol, items, agent, log, concurrency=CONCURRENCY, name="run", budget_tokens=10**8)
        said = "; ".join(note for note in report.notes if "log" in note) or "nothing"
    except (Refused, ValueError, PermissionError) as error:
        said = f"error: {error}"
    except BaseException as error:
        said = f"TRACEBACK {error!r}"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.write(writing, said.encode())
        os._exit(0)


def end(pid: int, reading: int) -> str:
    os.waitpid(pid, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def files(folder: Path) -> tuple[Path, Path]:
    return folder / "log.jsonl", folder / "log.calls.jsonl"


def paid(folder: Path, name: str = "account") -> Counter[Key]:
    """Return how often each call was answered."""
    account = folder / name
    rows = account.read_text().splitlines() if account.exists() else []
    return Counter((d, int(r), a) for d, r, a in (row.split("\t") for row in rows))


def note_flying(folder: Path, both: bool = False) -> None:
    """Write down the calls that a fault caught between the reply and its records: at most as many as run at once."""
    logged, kept, _ = recorded(folder)
    flying = sorted(paid(folder).keys() - (logged & kept if both else logged | kept))
    assert len(flying) <= CONCURRENCY, flying
    (folder / "flying").write_text("".join(f"{d}\t{r}\t{a}\n" for d, r, a in flying))


def recorded(folder: Path) -> tuple[set[Key], set[Key], dict[str, str]]:
    """Return the turns that are in the log, those that are in the journal, and the verdicts."""
    log, journal = files(folder)
    logged, kept, verdicts = set(), set(), {}
    for line in journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ():
        with suppress(ValueError, KeyError):
            turn = json.loads(line)["turn"]
            kept.add((turn["debate"], turn["round"], turn["agent"]))
    for record in iter_records(log, strict=False) if log.exists() else ():
        if record.type == "turn":
            logged.add((record.debate, record.round, record.agent))
        elif record.type == "verdict":
            verdicts[record.debate] = str(record.decision)
    return logged, kept, verdicts


def until(folder: Path, pid: int, calls: int) -> None:
    """Wait until the agent has replied so often, or the process has ended."""
    account = folder / "account"
    while not account.exists() or account.read_bytes().count(b"\n") < calls:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.001)


def lines(change: Callable[[list[bytes], int], list[bytes]]) -> Callable[[Path, random.Random], None]:
    def changed(path: Path, rng: random.Random) -> None:
        kept = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(change(kept, rng.randrange(1, max(2, len(kept) - 1)))))

    return changed


def garbled(all: list[bytes], at: int) -> list[bytes]:
    return [line if k != at else line[:9] + b"}{" + line[20:] for k, line in enumerate(all)]


def cut(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(1, max(2, path.stat().st_size)))


def replaced(path: Path, rng: random.Random) -> None:
    other = path.with_name("other")
    other.write_bytes(b"{}\n")
    os.replace(other, path)


UNDER: dict[str, Callable[[Path, random.Random], None]] = {
    "deleted": lambda path, rng: path.unlink(missing_ok=True),
    "replaced": replaced,
    "cut": cut,
}
BETWEEN: dict[str, Callable[[Path, random.Random], None]] = {
    "deleted": lambda path, rng: path.unlink(),
    "emptied": lambda path, rng: path.write_bytes(b"") and None,
    "cut anywhere": cut,
    "cut to its first line": lines(lambda all, at: all[:1]),
    "without its first line": lines(lambda all, at: all[1:]),
    "without lines in the middle": lines(lambda all, at: all[:at] + all[at + 5 :]),
    "a NUL in a line": lambda path, rng: (
        path.write_bytes(path.read_bytes().replace(b":", b"\x00", 40)) and None
    ),
    "a garbled first line": lines(lambda all, at: garbled(all, 0)),
    "a garbled line": lines(garbled),
    "a garbled last line": lines(lambda all, at: garbled(all, len(all) - 1)),
    "a line twice": lines(lambda all, at: [*all[:at], all[at - 1], *all[at:]]),
    "two lines in the other order": lines(
        lambda all, at: [*all[: at - 1], *all[at - 1 : at + 1][::-1], *all[at + 1 :]]
    ),
    "zeros at its end": lambda path, rng: path.write_bytes(path.read_bytes() + bytes(64)) and None,
}


class Table:
    """The rows of ``faults.csv``."""

    def __init__(self, before: Sequence[dict[str, object]] = (), only: str = "") -> None:
        self.rows: list[dict[str, object]] = []
        self.before, self.only = {row["kind"]: row for row in before}, only

    def stays(self, kind: str) -> bool:
        """Whether the row of a kind was measured before and is not asked for again; it is then taken over."""
        stays = self.only not in kind and kind in self.before
        self.rows += [self.before[kind]] if stays else []
        return stays

    def row(self, kind: str, tries: int, one: Callable[[Path, random.Random], str]) -> None:
        """Try a kind of fault in folders of their own."""
        if self.stays(kind):
            return
        lost = in_flight = twice = 0
        said: Counter[str] = Counter()
        for number in range(tries):
            rng = random.Random(f"{kind} {number}")
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                words = one(folder, rng)
                verdicts = recorded(folder)[2]
                resumed = end(*play(folder))
                said[sentence(words if words != "nothing" else resumed, folder)] += 1
                after = recorded(folder)[2]
                lost += sum(after.get(name) != decision for name, decision in verdicts.items())
                lost += DEBATES - len(after) + len(doctor(folder / "log.jsonl").problems)
                flying = paid(folder, "flying")
                again = {key: times - 1 for key, times in paid(folder).items() if times > 1}
                flown = sum(key in flying for key in again)
                in_flight += flown
                twice += sum(again.values()) - flown
        self.rows.append(
            {
                "kind": kind,
                "tries": tries,
                "verdicts lost": lost,
                "calls paid twice": twice,
                "in flight and made again": in_flight,
                "said": said.most_common(1)[0][0],
            }
        )
        print(*self.rows[-1].values(), sep=" | ", flush=True)


SWEEP = Study(worlds={"voter": Voter()}, rules=["fixed:2"], n_rounds=4, debates=40_960, chunk=1024, seeds=1)


WORKER = "a worker of a sweep killed"


def swept(folder: Path, workers: int) -> tuple[int, int]:
    """Run a sweep in a process of its own, which starts workers; return as `play` does."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    said = "nothing"
    try:
        simulate(SWEEP, workers=workers, out=folder / "sweep.jsonl")
    except (OSError, ValueError) as error:
        said = f"error: {error}"
    except BaseException as error:
        said = f"TRACEBACK {error!r}"
    finally:
        os.write(writing, said.encode())
        os._exit(0)


def chunks(folder: Path) -> Counter[int]:
    """Return how often each chunk of a sweep is in its journal."""
    path = folder / "sweep.jsonl"
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return Counter(json.loads(line)["first"] for line in lines)


def worker_lost(tries: int) -> dict[str, object]:
    """Kill a worker of a sweep, and run the same command again: chunks that are lost, and played twice."""
    lost = twice = 0
    said: Counter[str] = Counter()
    for number in range(tries):
        rng = random.Random(f"worker {number}")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            pid, reading = swept(folder, workers=2)
            due = rng.randrange(1, 20)
            while chunks(folder).total() < due:
                time.sleep(0.01)
            workers = [one for one in psutil.Process(pid).children(True) if "loky" in " ".join(one.cmdline())]
            if workers:
                rng.choice(workers).kill()
            said[sentence(end(pid, reading), folder)] += 1
            kept = set(chunks(folder))
            end(*swept(folder, workers=1))
            after = chunks(folder)
            lost += len(kept - set(after)) + SWEEP.debates // 1024 - len(after)
            twice += after.total() - len(after)
    return {
        "kind": WORKER,
        "tries": tries,
        "verdicts lost": lost,
        "calls paid twice": twice,
        "in flight and made again": 0,
        "said": said.most_common(1)[0][0],
    }


def sentence(words: str, folder: Path) -> str:
    return words.replace(f"{folder}/", "").replace("\n", " / ")


def killed(folder: Path, rng: random.Random) -> str:
    pid, reading = play(folder)
    until(folder, pid, sum(paid(folder).values()) + rng.randrange(1, 25))
    time.sleep(0.004 * rng.random())
    os.kill(pid, signal.SIGKILL)
    end(pid, reading)
    note_flying(folder)
    return "nothing"


def under(fault: Callable[[Path, random.Random], None], which: slice) -> Callable[[Path, random.Random], str]:
    def one(folder: Path, rng: random.Random) -> str:
        pid, reading = play(folder)
        until(folder, pid, rng.randrange(3, 60))
        for path in files(folder)[which]:
            fault(path, rng)
        return end(pid, reading)

    return one


def full(folder: Path, rng: random.Random) -> str:
    said = end(*play(folder, rng.randrange(200, 20_000)))
    note_flying(folder)
    return said


def clock(rng: random.Random) -> Callable[[], object]:
    """Return what makes the clocks of a process jump: that of the day both ways, the other one forward."""

    def jump() -> None:
        day, steady, slept = time.time, time.monotonic, [0.0]

        def later() -> float:
            slept[0] += 3600 * rng.random() * (rng.random() < 0.02)
            return steady() + slept[0]

        time.time = lambda: day() + rng.choice((-86400, 0, 86400))
        time.monotonic = later

    return jump


def jumps(folder: Path, rng: random.Random) -> str:
    return end(*play(folder, before=clock(rng)))


def two_runs(folder: Path, rng: random.Random) -> str:
    """Begin two runs, the second a little later; one of them writes the log."""
    first = play(folder)
    time.sleep(0.03 * rng.random())
    second = play(folder)
    said = sorted((end(*first), end(*second)))
    return next((words for words in said if words != "nothing"), "nothing")


def read_only(folder: Path, rng: random.Random) -> str:
    """Begin, where a coin says so, and go on in a folder in which nothing may be written."""
    if rng.random() < 0.5:
        killed(folder, rng)
    (folder / "account").touch(0o666)
    (folder / "account").chmod(0o666)
    for path in files(folder):
        if path.exists():
            path.chmod(0o444)
    folder.chmod(0o555)

    def unprivileged() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)

    said = end(*play(folder, before=unprivileged))
    folder.chmod(0o755)
    for path in files(folder):
        if path.exists():
            path.chmod(0o644)
    return said


def between(fault: Callable[[Path, random.Random], None], which: int) -> Callable[[Path, random.Random], str]:
    def one(folder: Path, rng: random.Random) -> str:
        if rng.random() < 0.5:
            killed(folder, rng)
            # What only one of the files had is lost with it.
            note_flying(folder, both=True)
        else:
            end(*play(folder))
        fault(files(folder)[which], rng)
        return "nothing"

    return one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", type=Path, default=HERE)
    parser.add_argument(
        "--tries", type=int, default=10, help="of each kind of damage; kills are 20 times as many"
    )
    parser.add_argument("--kind", default="", help="only kinds with this text; the other rows stay")
    options = parser.parse_args()
    made = options.o / "faults.csv"
    before = pd.read_csv(made).to_dict("records") if options.kind and made.exists() else []
    table, tries = Table(before, options.kind), options.tries
    table.row("killed (SIGKILL)", 20 * tries, killed)
    for name, fault in UNDER.items():
        for which, part in (("log", slice(0, 1)), ("journal", slice(1, 2))):
            table.row(f"{which} {name} under the run", tries, under(fault, part))
    for name in ("deleted", "replaced"):
        table.row(f"both {name} under the run", tries, under(UNDER[name], slice(None)))
    table.row("full disk", 2 * tries, full)
    table.row("folder that may not be written", tries, read_only)
    table.row("clocks that jump", tries, jumps)
    table.row("two runs of one log at once", tries, two_runs)
    if not table.stays(WORKER):
        table.rows.append(worker_lost(max(1, tries // 2)))
        print(*table.rows[-1].values(), sep=" | ", flush=True)
    for name, fault in BETWEEN.items():
        for number, which in enumerate(("log", "journal")):
            table.row(f"{which} between runs: {name}", tries, between(fault, number))
    options.o.mkdir(parents=True, exist_ok=True)
    write(HERE, options.o, {"faults": pd.DataFrame(table.rows)}, shown)


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {"faults": tables["faults"].drop(columns="said")}


if __name__ == "__main__":
    sys.exit(main())
