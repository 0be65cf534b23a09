"""How do I read the debate log of another project?

:func:`available` lists the formats that are known, and :func:`import_log` writes such a log as a debate log. An
importer never guesses: a vote that it cannot read is missing, and a file of the wrong shape is a ValueError that names
what was required and what was got. A format of your own is a module in this folder with the constants ``NAME``,
``TITLE``, ``SOURCE`` and ``NOTES`` and a function ``records(source, ...)`` that yields the records of
:mod:`d3stats.log.schema`; it is found by its ``NAME``. A second parameter ``said`` is a list to which it adds a
sentence on each kind of record that it left out.

A source is a file, a folder that is searched for files of the format, or a tar archive of them. Every format
has the option ``text`` (keep the texts of questions, candidates and turns; default False). Some have ``reading``
("asked" or "strict", how an answer is read from a text, see :mod:`d3stats.log.importers.answers`),
``pattern`` (which files of a folder are read) or ``agents`` (only panels of this size).

Examples
--------
>>> "gsm-nested" in available()
True
>>> load("pandalm").title
'Pairwise judgments of 999 response pairs by three humans and two judges'
"""

from __future__ import annotations

import inspect
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from d3stats._check import meant
from d3stats.log.files import no_file
from d3stats.log.schema import Item, Turn, Verdict

__all__ = ["ImportSummary", "Importer", "available", "import_log", "load", "write_records"]

_HELPERS = {"answers"}


@dataclass(frozen=True)
class Importer:
    """One foreign format.

    Attributes
    ----------
    name, title : str
        What the format is called on the command line, and what the log holds, in one line.
    source : str
        Repository @commit and licence of the log that the importer was written against.
    notes : tuple of str
        The conventions that a reader of the imported log must know.
    options : mapping of str to object
        Keyword options of ``records`` and their defaults.
    records : callable
        ``records(source, **options)`` yields items, turns and verdicts. With ``said=[]`` it adds sentences to that
        list on the records that it left out, once all were read.

    Examples
    --------
    >>> importer = load("pandalm")
    >>> importer.name, importer.options["text"]
    ('pandalm', False)
    """

    name: str
    title: str
    source: str
    notes: tuple[str, ...]
    options: Mapping[str, Any]
    records: Callable[..., Iterator[Item | Turn | Verdict]]


@dataclass(frozen=True)
class ImportSummary:
    r"""The result of an import.

    Attributes
    ----------
    n_items, n_turns, n_missing_votes, n_debates : int
        Item records, turn records, turns whose vote is missing, and distinct debates.
    n_verdicts : int
        Verdict records.
    notes : tuple of str
        The importer's conventions, and what it left out.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "human.txt").write_text("CHATGPT\nTIE\n")
    >>> summary = import_log("faireval", folder / "human.txt", folder / "log.jsonl")
    >>> summary.n_items, summary.n_missing_votes, summary.n_verdicts
    (2, 0, 0)
    """

    n_items: int
    n_turns: int
    n_missing_votes: int
    n_debates: int
    notes: tuple[str, ...] = ()
    n_verdicts: int = 0


def available() -> dict[str, Importer]:
    """Return every importer by name, in alphabetical order.

    Returns
    -------
    dict of str to Importer

    Examples
    --------
    >>> list(available())[:3]
    ['alignbench', 'alpaca-eval', 'arena-hard']
    """
    found = (
        _importer(module.name)
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_") and module.name not in _HELPERS
    )
    return {importer.name: importer for importer in sorted(found, key=lambda importer: importer.name)}


def load(name: str) -> Importer:
    """Return the importer called `name`.

    Parameters
    ----------
    name : str
        As listed by :func:`available`.

    Returns
    -------
    Importer

    Raises
    ------
    ValueError
        When there is none of that name; the message lists those there are.

    Examples
    --------
    >>> load("eot").name
    'eot'
    """
    known = available()
    if name not in known:
        listed = ", ".join(repr(other) for other in known)
        raise ValueError(f"name must be a known format ({listed}); got name={name!r}{meant(name, known)}")
    return known[name]


def import_log(
    name: str,
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> ImportSummary:
    r"""Read a foreign log and write it as a debate log.

    The log is written beside `destination` and moved there when it is complete, so that a failed import leaves no
    partial log.

    Parameters
    ----------
    name : str
        A format of :func:`available`.
    source, destination : path
        The file or folder to read, and the log to write.
    overwrite : bool
        Replace `destination` when it exists.
    **options
        Options of the importer, such as ``text=True`` to keep the texts of the turns.

    Returns
    -------
    ImportSummary

    Raises
    ------
    ValueError
        When the format or an option is unknown, or the source does not have the format's shape.
    FileNotFoundError
        When `source` does not exist.
    FileExistsError
        When `destination` exists and `overwrite` is false.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "human.txt").write_text("CHATGPT\nTIE\n")
    >>> summary = import_log("faireval", folder / "human.txt", folder / "log.jsonl")
    >>> summary.n_debates, summary.n_turns
    (2, 2)
    """
    importer = load(name)
    for option in options:
        if option not in importer.options:
            listed = ", ".join(importer.options) or "none"
            raise ValueError(
                f"options of {name} must be among: {listed}; got {option}={options[option]!r}"
                f"{meant(option, importer.options)}"
            )
    origin = Path(source)
    if not origin.exists():
        raise no_file(origin, "source")
    said: list[str] = []
    return write_records(
        importer.records(origin, said=said, **options),
        destination,
        source=importer.source,
        notes=chain(importer.notes, said),
        overwrite=overwrite,
    )


def write_records(
    records: Iterable[Item | Turn | Verdict],
    destination: str | os.PathLike[str],
    *,
    source: str,
    notes: Iterable[str] = (),
    overwrite: bool = False,
) -> ImportSummary:
    """Write records of another tool as a debate log, beside `destination`, and move it there when it is complete.

    No record makes no log: that is refused.

    Parameters
    ----------
    records : iterable of Item, Turn or Verdict
        What is written, in this order.
    destination : path
        The file that is written.
    source : str
        Where the records are from, for the header of the log.
    notes : iterable of str
        For the summary; read when all records are written.
    overwrite : bool
        Replace `destination` when it exists.

    Returns
    -------
    ImportSummary

    Raises
    ------
    ValueError
        When there is no record.
    FileExistsError
        When `destination` exists and `overwrite` is false.

    Examples
    --------
    >>> import tempfile
    >>> records = [Item(debate="d", question="q"), Turn(debate="d", round=1, agent="x", vote="A")]
    >>> write_records(records, Path(tempfile.mkdtemp()) / "log.jsonl", source="example").n_turns
    1
    """
    from d3stats.log.writer import LogWriter, replacing

    target = Path(destination)
    if target.exists() and not overwrite:
        raise FileExistsError(f"destination must not exist; got destination={str(target)!r}")
    if target.suffix.lower() not in (".jsonl", ".ndjson"):
        raise ValueError(f"destination must end in .jsonl or .ndjson; got destination={str(target)!r}")
    items = turns = missing = verdicts = 0
    debates: set[str] = set()
    with replacing(target) as partial, LogWriter(partial, source=source, fsync="close") as writer:
        for record in records:
            writer.write(record)
            debates.add(record.debate)
            if isinstance(record, Item):
                items += 1
            elif isinstance(record, Turn):
                turns += 1
                missing += record.vote is None
            else:
                verdicts += 1
        if not debates:
            raise ValueError(
                "source must hold a debate or more; got none; check that it is the right file and not cut off"
            )
    return ImportSummary(items, turns, missing, len(debates), tuple(notes), verdicts)


def _importer(module_name: str) -> Importer:
    module = import_module(f"{__name__}.{module_name}")
    takes = inspect.signature(module.records).parameters
    own = [parameter for parameter in list(takes.values())[1:] if parameter.name != "said"]

    def records(
        source: Path, *, text: bool = False, said: list[str] | None = None, **options: Any
    ) -> Iterator[Item | Turn | Verdict]:
        if "said" in takes:
            options["said"] = [] if said is None else said
        found = module.records(source, **options)
        return found if text else map(_without_text, found)

    return Importer(
        name=module.NAME,
        title=module.TITLE,
        source=module.SOURCE,
        notes=tuple(module.NOTES),
        options={"text": False} | {parameter.name: parameter.default for parameter in own},
        records=records,
    )


def _without_text(record: Item | Turn | Verdict) -> Item | Turn | Verdict:
    if isinstance(record, Item):
        return msgspec.structs.replace(record, text=None, candidates=None)
    return msgspec.structs.replace(record, text=None) if isinstance(record, Turn) else record
