"""Sources of logs: paths, globs, names of bundled tables and data frames; and the kind of each file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Literal

from d3stats._words import counted, verb

Format = Literal["jsonl", "json", "csv", "tsv", "xlsx", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson.gz": "jsonl",
    ".json": "json",
    ".json.gz": "json",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".eval": "jsonl",
}
"""A log of Inspect is read as the lines of records that it is converted to."""

_MEANT = {".xls": ".xlsx", ".tab": ".tsv", ".pq": ".parquet"}
"""Endings that are near a known one in what they say."""

STARTS = {
    b"PAR1": "Parquet, whose name ends in .parquet",
    b"PK\x03\x04": "a ZIP archive or a workbook, whose name ends in .xlsx",
    b"\x1f\x8b": "gzipped data, whose name ends in .gz",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF document",
    b"SQLite": "an SQLite database",
}
"""Other kinds of files by their first bytes."""


@dataclass(frozen=True)
class LogFile:
    """One file of a log."""

    path: Path
    format: Format
    inspect: bool = False
    """Whether it is a log of Inspect."""
    sheet: str | None = None
    """The sheet that is read of a workbook; None is the first."""
    scorer: str | None = None
    """The scorer that is read of a log of Inspect; None is the only one, or all as raters."""
    times: int = 1
    """The number of times that the file was given; it is read once."""
    beside: tuple[str, ...] = ()
    """Journals of calls that the glob matched too, for the first file of a glob."""

    @property
    def name(self) -> str:
        """The path as given, for messages."""
        return str(self.path)

    @property
    def compressed(self) -> bool:
        """Whether the text is packed, so that no place in the file is one in the text."""
        return self.inspect or self.path.suffix == ".gz"


def find_files(
    paths: Iterable[str | Path], sheet: str | None = None, scorer: str | None = None
) -> tuple[LogFile, ...]:
    """Resolve paths and globs (``**`` allowed), in the order given, globs sorted, each file once.

    `sheet` is the one that is read of every workbook, by default the first, and `scorer` that of logs of Inspect.

    Raises
    ------
    FileNotFoundError
        When a path does not exist or a glob matches nothing.
    ValueError
        When no path is given, a path is a folder, or a name does not say its format.
    """
    found: dict[Path, LogFile] = {}
    given = list(paths)
    if not given:
        raise ValueError("paths must name at least one file or glob; got none")
    for path in given:
        if not isinstance(path, (str, Path)):
            raise TypeError(
                f"paths must be names of files or globs; got {type(path).__name__}; as_trajectories reads "
                "data frames and lists of files"
            )
        matches, beside = _matches(path)
        for match in matches:
            inspect = _is_inspect(match)
            form: Format = "jsonl" if inspect else _format(match)
            known = found.setdefault(match.resolve(), LogFile(match, form, inspect, sheet, scorer, 0))
            found[match.resolve()] = replace(known, times=known.times + 1, beside=known.beside + beside)
            beside = ()
    if scorer is not None and not any(file.inspect for file in found.values()):
        raise ValueError(f"scorer must be left out for files that are no logs of Inspect; got {scorer!r}")
    return tuple(found.values())


def files_note(files: Iterable[LogFile]) -> list[str]:
    """Say which files were given several times and are read once, and which journals a glob matched.

    Examples
    --------
    >>> log = LogFile(Path("b.jsonl"), "jsonl", beside=("b.calls.jsonl",))
    >>> files_note([LogFile(Path("a.csv"), "csv", times=2), log])
    ['a.csv was given 2 times and is read once', '1 journal of calls is no log and was not read: b.calls.jsonl']
    """
    listed = list(files)
    notes = [
        f"{file.name} was given {file.times} times and is read once" for file in listed if file.times > 1
    ]
    if journals := list(dict.fromkeys(name for file in listed for name in file.beside)):
        n = len(journals)
        notes.append(
            f"{counted(n, 'journal')} of calls {verb(n, 'is no log', 'are no logs')} and {verb(n, 'was', 'were')} not "
            f"read: {', '.join(journals[:3])}{', ...' * (n > 3)}"
        )
    return notes


_JOURNAL = ".calls.jsonl"
_LONGEST = 4000
"""Characters that a path may have, fewer than any system's limit for a path is."""


def _inside(folder: Path) -> str:
    """Say what to type for the files of a folder: the commonest of the known formats."""
    names = [each.name.lower() for each in folder.iterdir() if each.is_file()]
    n_of = {end: sum(name.endswith(end) for name in names) for end in _SUFFIXES}
    best = max(n_of, key=lambda end: n_of[end])
    return (
        f" (try {folder}/*{best})" if n_of[best] else " (choose another file, because this one is not a log)"
    )


def _matches(path: str | Path) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files of a path or glob, and the journals of calls that a glob matched among other files."""
    text = str(path)
    if max(map(len, text.splitlines() or [""])) > _LONGEST or "\n" in text:
        raise FileNotFoundError(f"paths must name files or globs; got a text that starts {text[:40]!r}")
    here = Path(text)
    if here.is_file():
        return [here], ()
    if here.is_dir():
        raise ValueError(f"paths must name files or globs; got the folder {text!r}{_inside(here)}")
    if not has_magic(text):
        return [Path(as_path(text))], ()
    matches = [Path(match) for match in sorted(glob(text, recursive=True)) if Path(match).is_file()]
    if not matches:
        raise FileNotFoundError(f"paths must match at least one file; got {text!r}, which matches none")
    journals = [each for each in matches if each.name.endswith(_JOURNAL)]
    if len(journals) == len(matches):
        return matches, ()
    return [each for each in matches if each not in journals], tuple(map(str, journals))


def _format(path: Path) -> Format:
    name = path.name.lower()
    for suffix, fmt in _SUFFIXES.items():
        if name.endswith(suffix):
            return fmt
    ending = "".join(path.suffixes[-2:] if name.endswith(".gz") else path.suffixes[-1:]).lower()
    near = _MEANT.get(ending) or next(iter(get_close_matches(ending, _SUFFIXES, n=1)), None)
    advice = f" (the nearest is {near})" if near else ""
    raise ValueError(f"file names must end in {', '.join(_SUFFIXES)}; got {str(path)!r}{advice}")


_INSPECT_KEYS = (b'"version"', b'"status"', b'"eval"', b'"task"')
"""With which a JSON log of Inspect begins."""


def _is_inspect(path: Path) -> bool:
    if path.suffix.lower() != ".json":
        return path.suffix.lower() == ".eval"
    try:
        with path.open("rb") as handle:
            start = handle.read(4096)
    except OSError:
        return False
    return all(key in start for key in _INSPECT_KEYS)


def seems(head: bytes) -> str:
    """Say in words what bytes are that begin so."""
    known = STARTS | dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "text in UTF-16")
    what = next((kind for start, kind in known.items() if head.startswith(start)), None)
    return what or f"{'binary data' if bytes(1) in head else 'data'} starting with {head[:8]!r}"


BUNDLED = {
    "slm7": "slm7.csv",
    **{name: f"{name}.parquet" for name in ("gemma-reasons", "gemma-votes", "gemma-alone")},
}
"""Logs that come with the package, with their files; all sources know them by these names."""


def as_path(name: str | Path) -> str:
    """Return a file or glob as it was given, or the file of a bundled log.

    Raises
    ------
    FileNotFoundError
        When the name is none of these; the message names the nearest file of that folder, or bundled log.
    """
    text = str(name)
    if text in BUNDLED:
        return str(Path(__file__).parents[1] / "datasets" / BUNDLED[text])
    if Path(text).exists() or has_magic(text):
        return text
    raise no_file(text, bundled=True)


def no_file(path: str | Path, name: str = "paths", *, bundled: bool = False) -> FileNotFoundError:
    """Return the error of a path that does not exist, with the nearest name, or with what its folder holds."""
    text, folder = str(path), Path(path).parent
    if not folder.is_dir():
        return FileNotFoundError(
            f"{name} must exist; got {text!r}, and there is no folder {str(folder)!r}; check the folder's name"
        )
    there = sorted(each.name for each in folder.iterdir())
    stems = {Path(each).stem.casefold(): each for each in reversed([*(BUNDLED if bundled else ()), *there])}
    alike = get_close_matches(Path(text).stem.casefold(), stems, n=1, cutoff=0.75)
    near = stems[alike[0]] if alike else None
    if near is not None:
        found = near if bundled and near in BUNDLED else str(folder / near)
        return FileNotFoundError(f"{name} must exist; got {text!r}; did you mean {found!r}?")
    ending = Path(text).suffix.lower()
    alike = [str(folder / each) for each in there if ending and each.lower().endswith(ending)]
    more = f" and {len(alike) - 3} more" if len(alike) > 3 else ""
    hint = (
        f"files there that end in {ending}: {', '.join(alike[:3])}{more}"
        if alike
        else "check the name, and the folder in which the command runs"
    )
    return FileNotFoundError(f"{name} must exist; got {text!r}; {hint}")


def read_toml(path: str | Path, name: str, example: str) -> dict[str, Any]:
    """Read a TOML file; every refusal is in one line and ends with what such a file looks like.

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        When it is no TOML in UTF-8.
    """
    if not Path(path).exists():
        raise no_file(path, name)
    wanted = f"{path}: {name} must be TOML"
    if Path(path).is_dir():
        raise ValueError(f"{wanted}; got a folder; {example}")
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        with Path(path).open("rb") as handle:
            raise ValueError(f"{wanted}; got {seems(handle.read(16))}; {example}") from None
    except RecursionError:
        raise ValueError(f"{wanted}; got lists that are nested too deeply; {example}") from None
    except tomllib.TOMLDecodeError as error:
        log = next((end for end in _SUFFIXES if Path(path).name.lower().endswith(end)), None)
        got = f"a name that ends in {log}" if log else str(error)
        raise ValueError(f"{wanted}; got {got}; {example}") from None


def journal_path(log: str | Path) -> Path:
    """Return where the journal of a log lies: ``runs/a.jsonl`` has ``runs/a.calls.jsonl``."""
    path = Path(log)
    return path.with_name(f"{path.stem}{_JOURNAL}")
