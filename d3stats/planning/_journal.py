"""The journal of a sweep: finished chunks, a line each, so that a killed sweep goes on where it was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from d3stats.planning._work import COLUMNS, PAIRS, Chunk, Sums
from d3stats.planning.study import Study
from d3stats.stopping import StoppingRule, from_text

__all__ = ["Journal"]

FORMAT = "d3stats sweep 1"

SYNC_SECONDS = 1.0
"""Every line goes to the system at once and survives a killed process; to the disk at least this often."""


class Journal:
    """An append-only file of one study's chunks; use it as a context.

    The first line names the study by its key; then one line per chunk. A last line that breaks off is
    dropped. While a sweep writes, no other may.
    """

    def __init__(self, path: str | Path, study: Study) -> None:
        self.path = Path(path)
        self.study = study
        for rule in study.rules:
            if not _is_its_text(rule):
                raise ValueError(
                    f"out must be None when a rule cannot be written as text, because a journal could not tell "
                    f"it from another; got {rule}"
                )
        self.done: list[Chunk] = []
        self._file: Any = None
        self._synced = 0.0

    def __enter__(self) -> Journal:
        self._file = self.path.open("a+b")
        try:
            self._lock()
            self._load()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def add(self, chunk: Chunk) -> None:
        """Append a finished chunk."""
        self._write(
            {
                "world": chunk.world,
                "seed": chunk.seed,
                "first": chunk.first,
                "n": chunk.n_debates,
                "rules": [[s.units, s.totals, s.products, s.stops] for s in chunk.sums],
            }
        )

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        now = time.monotonic()
        if now - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = now

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # a system without it trusts its user to run one sweep at a time
            return
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{self.path} must be written by one sweep at a time; another has it open"
            ) from None

    def _load(self) -> None:
        key = self.study.key()
        whole, seen = 0, False
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            record = self._read(number, line)
            if number == 1:
                if record.get("journal") != FORMAT:
                    raise ValueError(f"{self.path} must be the journal of a sweep; got another kind of file")
                if record.get("study") != key:
                    raise ValueError(
                        f"{self.path} must be a journal of this study; got one of another study, or made by "
                        f"other code of samplers and rules (key {record.get('study')}, this study has {key}): "
                        f"name another file, or delete it"
                    )
                seen = True
            else:
                self.done.append(self._chunk(number, record))
            whole += len(line)
        if not seen and self._file.seek(0, os.SEEK_END) > 0 and not self._torn_header():
            raise ValueError(f"{self.path} must be the journal of a sweep; got another kind of file")
        self._file.truncate(whole)
        self._file.seek(0, os.SEEK_END)
        if not seen:
            self._write({"journal": FORMAT, "study": key, "columns": COLUMNS, "products": PAIRS})

    def _torn_header(self) -> bool:
        self._file.seek(0)
        start = json.dumps({"journal": FORMAT}, separators=(",", ":")).encode()[:-1]
        text = self._file.read()
        return bool(text.startswith(start) or start.startswith(text))

    def _read(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ValueError(f"{self.path}:{number}: line must be a JSON object; got {line[:40]!r}")
        return record

    def _chunk(self, number: int, record: dict[str, Any]) -> Chunk:
        study = self.study
        try:
            sums = tuple(
                Sums(units, tuple(totals), tuple(products), tuple(stops))
                for units, totals, products, stops in record["rules"]
            )
            chunk = Chunk(record["world"], record["seed"], record["first"], record["n"], sums)
            sound = len(sums) == len(study.rules) and all(
                (len(s.totals), len(s.products), len(s.stops))
                == (len(COLUMNS), len(PAIRS), 6 * (study.n_rounds + 1))
                and s.totals[0] == sum(s.stops) == chunk.n_debates > 0
                for s in sums
            )
        except (KeyError, TypeError, ValueError):
            sound = False
        if not sound:
            raise ValueError(f"{self.path}:{number}: line must be a chunk of this study; got another record")
        if chunk.seed not in study.seeds or chunk.first + chunk.n_debates > study.debates:
            raise ValueError(
                f"{self.path}:{number}: journal must hold no more than the study asks for; got seed "
                f"{chunk.seed}, debates {chunk.first + 1} to {chunk.first + chunk.n_debates}"
            )
        return chunk


def _is_its_text(rule: StoppingRule) -> bool:
    try:
        return from_text(str(rule)) == rule
    except ValueError:
        return False


def gaps(done: list[Chunk], debates: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges (first, end) of a cell that its finished chunks leave open."""
    at = 0
    for chunk in sorted(done, key=lambda chunk: chunk.first):
        if chunk.first < at:
            raise ValueError(
                f"journal must hold each debate once; got debate {chunk.first + 1} of world {chunk.world + 1}, "
                f"seed {chunk.seed} twice"
            )
        if chunk.first > at:
            yield at, chunk.first
        at = chunk.first + chunk.n_debates
    if at < debates:
        yield at, debates
