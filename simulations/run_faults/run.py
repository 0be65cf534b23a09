"""What does a fault cost a run of debates: verdicts that are lost, and calls that are paid twice?

    python simulations/run_faults/run.py [-o FOLDER] [--tries N]

Each try plays debates (SAMRE with three jurors, four calls at once, in a process of its own) until a fault, and then
runs the same command again until it ends. The agent writes every reply to a file of its own as it gives it, so what
was paid is known whatever happens to the log. Writes ``faults.csv``: a row for each kind of fault.
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
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pandas as pd

from d3stats.agent import More, Refused, Reply, Request, Size, always
from d3stats.log import iter_records
from d3stats.log.doctor import doctor
from d3stats.protocols import protocol_from_text
from d3stats.run import DebateItem, debate

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


def play(folder: Path, size: int | None = None) -> tuple[int, int]:
    """Play in a process of its own; return its number and the end of a pipe that gets what it said."""
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
        items = [DebateItem(f"q{i}", f"question {i}?", (f"a {i}", f"b {i}")) for i in range(DEBATES)]
        protocol = protocol_from_text(PROTOCOL)
        log = folder / "log.jsonl"
        report = debate(protocol, items, agent, log, concurrency=CONCURRENCY, name="run", budget_tokens=10**8)
        said = "; ".join(note for note in report.notes if "log" in note) or "nothing"
    except (Refused, ValueError) as error:
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

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []

    def row(self, kind: str, tries: int, one: Callable[[Path, random.Random], str]) -> None:
        """Try a kind of fault in folders of their own."""
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
    options = parser.parse_args()
    table, tries = Table(), options.tries
    table.row("killed (SIGKILL)", 20 * tries, killed)
    for name, fault in UNDER.items():
        for which, part in (("log", slice(0, 1)), ("journal", slice(1, 2))):
            table.row(f"{which} {name} under the run", tries, under(fault, part))
    for name in ("deleted", "replaced"):
        table.row(f"both {name} under the run", tries, under(UNDER[name], slice(None)))
    table.row("full disk", 2 * tries, full)
    for name, fault in BETWEEN.items():
        for number, which in enumerate(("log", "journal")):
            table.row(f"{which} between runs: {name}", tries, between(fault, number))
    options.o.mkdir(parents=True, exist_ok=True)
    write(HERE, options.o, {"faults": pd.DataFrame(table.rows)}, shown)


def shown(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {"faults": tables["faults"].drop(columns="said")}


if __name__ == "__main__":
    sys.exit(main())
