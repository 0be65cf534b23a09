"""What does the package say about my logs? Everything, as tables, as text and as one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pandas as pd

from d3stats._check import choice, integer, probability
from d3stats._words import counted
from d3stats.log.writer import replacing
from d3stats.note import sentence_of, with_words
from d3stats.report.page import to_page
from d3stats.report.section import Section
from d3stats.report.sections import Settings, make_sections
from d3stats.report.source import read_sources, with_dollars
from d3stats.result import Gate, Result
from d3stats.sources import LogSource, Reading
from d3stats.trajectories import Missing

if TYPE_CHECKING:
    from d3stats.worlds.tokens import PriceTable

__all__ = ["Analysis", "report"]


@dataclass(frozen=True, eq=False, repr=False)
class Analysis(Result):
    """The results of the package for one or several logs.

    Attributes
    ----------
    sections : tuple of Section
        In the order of the page; a section that the data do not carry says why in its parts.
    logs : tuple of str
        What the logs are called.
    command : str
        How to make the same page again.
    seed : int
    left_out : int
        Defective records that were left out.
    notes : tuple of str
        Sections that are missing, with the reason.

    Examples
    --------
    >>> found = report([[["A", "B"], ["A", "A"]], [["B", "B"], ["B", "B"]]], names=["mine"])
    >>> found.logs, len(found.sections) > 3
    (('mine',), True)
    >>> "mine" in found.to_html()
    True
    """

    sections: tuple[Section, ...]
    logs: tuple[str, ...]
    command: str
    seed: int
    left_out: int = 0

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # of the sections, not stored
        """The warnings, then which sections are missing, and why."""
        several = len(self.logs) > 1
        absent = (
            f"{section.title}{f', {part.log}' if several and part.log else ''}: {part.absent}"
            for section in self.sections
            for part in section.parts
            if part.absent
        )
        return (*self._warned(), *absent)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings to read before the numbers are used, which the page lists first."""
        return tuple(map(sentence_of, self._warned()))

    def _warned(self) -> tuple[str, ...]:
        several = len(self.logs) > 1
        return tuple(
            with_words(warning, f"{part.log}: " if several and part.log else "")
            for section in self.sections
            for part in section.parts
            for warning in part.warnings
        )

    @property
    def headline(self) -> str:
        """The rule to run for each log, as :func:`d3stats.plan` recommends it, or why there is none."""
        return self._answer()[0]

    def _answer(self) -> Sequence[str]:
        """Return the lines of the plan; with several logs the first line of each, then what the comparison shows."""
        told = {
            part.log or self.logs[0]: part.lead
            if not part.absent
            else (f"No rule is recommended: {part.absent}",)
            for section in self.sections
            if section.key == "rules"
            for part in section.parts
        }
        if len(self.logs) == 1:
            return next(iter(told.values()))
        return tuple(f"{name}: {lines[0]}" for name, lines in told.items())

    def gate(self, *, at_least: float | None = None, at_most: float | None = None) -> Gate:
        """Say whether every record was read and the page has no warning.

        Parameters
        ----------
        at_least, at_most : float, optional
            Refused: a page has no single estimate.

        Returns
        -------
        Gate
            Shown, or refuted with the number of warnings and of records that were left out.
        """
        if at_least is not None or at_most is not None:
            raise ValueError("a gate of a page must come without limits; got one: ask a single result")
        left = self.left_out
        found = f"{counted(len(self.warnings), 'warning')}, {counted(left, 'record')} left out"
        return Gate("every record was read, and nothing warns", not self.warnings and not left, found)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return every table by its name: in short, read, rounds, counts, ks, rules, agreement and so on.

        With several logs, each name begins with the name of the log.
        """
        several = len(self.logs) > 1
        return {
            f"{part.log}: {name}" if several and part.log else name: frame
            for section in self.sections
            for part in section.parts
            for name, frame in part.frames.items()
        }

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the page, and write it to a file where a path is given.

        The page is one file without scripts that asks for nothing from outside; everything from the data is escaped.
        The same logs, settings and seed give the same bytes.
        """
        page = to_page(self.sections, self.logs, self.command, self.seed)
        if path is not None:
            with replacing(path) as partial:
                partial.write_bytes(page.encode("utf-8"))
        return page


def report(
    log: LogSource,
    *more: LogSource,
    names: Sequence[str] | None = None,
    rules: Sequence[str] | None = None,
    prices: PriceTable | str | Path | None = None,
    model: str | None = None,
    role_models: Mapping[str, str] | None = None,
    output_share: float | None = None,
    missing: Missing = "exclude",
    level: float = 0.95,
    n_boot: int | None = None,
    transcripts: int = 5,
    rng: int = 0,
    command: str | None = None,
    **reading: Unpack[Reading],
) -> Analysis:
    """Describe one or several logs: rounds, stopping rules, agreement, bias, comparison, costs, disputed debates.

    Parameters
    ----------
    log, *more : path, DebateLog, DataFrame, Trajectories, or what :func:`d3stats.as_trajectories` takes
        Each is a log of its own; several are also compared, the first as the reference. A path or glob is read
        leniently: defective records are left out and listed.
    names : sequence of str, optional
        Names of the logs; by default their files' names.
    rules : sequence of str, optional
        Stopping rules, such as ``"fixed:2"``; by default fixed depths, a supermajority, and a KS rule where all debates
        have a label.
    prices : PriceTable or path, optional
        Dollars per million tokens, as ``PriceTable.read`` takes them.
    model : str, optional
        The model whose prices all turns have; by default the only one of the table, or each turn's as logged.
    role_models : mapping of str to str, optional
        The models whose prices the turns of a role have, in place of `model`.
    output_share : float, optional
        Completion tokens as a share of all, the same in every turn; by default as logged, and .15 where a log holds
        totals only. The page says which.
    missing : {"exclude", "wrong"}
        What a missing vote counts as.
    level : float
        Level of all intervals.
    n_boot : int, optional
        Bootstrap draws for rounds; by default 500, and 200 from 20,000 debates on.
    transcripts : int
        How many of the most disputed debates are shown; 0 for none.
    rng : int
        The seed. Every method starts with it, as in the single commands, so that the numbers are the same.
    **reading : Reading
        As in :func:`d3stats.read_log`.
    command : str, optional
        The command that made the page; the page shows it at its end.

    Returns
    -------
    Analysis
        Its ``to_html`` is the page, ``to_frame("rules")`` a table, ``summary`` all tables as text.

    Raises
    ------
    ValueError
        When a log holds no debate, a setting is unknown, or turns have no price.
    FileNotFoundError
        When a text is no file, no glob and no bundled log.

    Examples
    --------
    >>> found = report([[["A", "B"], ["A", "A"]], [["B", "B"], ["B", "B"]]], names=["mine"])
    >>> found.to_frame("rules")[["rule", "rounds"]].values.tolist()
    [['unanimity', 1.5], ['fixed:1', 1.0], ['supermajority:0.8', 1.5], ['full', 2.0]]
    >>> found.to_html().startswith("<!DOCTYPE html>")
    True
    """
    choice("missing", missing, ("exclude", "wrong"))
    probability("level", level, open_interval=True)
    integer("transcripts", transcripts, minimum=0, maximum=50)
    seed = integer("rng", rng, minimum=0)
    if n_boot is not None:
        integer("n_boot", n_boot, minimum=1)
    from d3stats.stopping import from_text
    from d3stats.worlds.tokens import PriceTable

    if isinstance(rules, str):
        raise TypeError(f"rules must be a sequence of texts; got the one text {rules!r}")
    for rule in rules or ():
        from_text(rule)
    table = PriceTable.read(prices) if isinstance(prices, (str, Path)) else prices
    if table is None:
        alone = {"model": model, "role_models": role_models or None, "output_share": output_share}
        for name, value in alone.items():
            if value is not None:
                raise ValueError(f"{name} must come with prices; got {name}={value!r} alone")
    settings = Settings(
        rules=None if rules is None else tuple(rules),
        prices=table,
        missing=missing,
        level=level,
        n_boot=n_boot,
        seed=seed,
        transcripts=transcripts,
    )
    roles = reading.pop("roles", None)
    wanted = None if roles is None else tuple(roles)
    sources = read_sources([log, *more], names=names, roles=wanted, reading=reading)
    if table is not None:
        sources = with_dollars(
            sources, table, model=model, role_models=role_models or {}, output_share=output_share
        )
    given = ", ".join(repr(s.given) if s.path is not None else f"<{s.given}>" for s in sources)
    called = f"d3stats.report({given}, rng={seed})" if command is None else command
    gone = sum(cause.left_out for s in sources if s.doctor is not None for cause in s.doctor.causes)
    return Analysis(make_sections(sources, settings), tuple(s.name for s in sources), called, seed, gone)
