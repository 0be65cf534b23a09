"""The tables and figures of the papers, made from a user's own logs: one declarative table of items.

Each number is that of a function of the library; an item says what it needs, which function makes its rows, and the
columns of the paper. ``docs/papers/*.toml`` has what d3stats does with each item.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from d3stats._check import RngLike, as_rng, integer, meant, probability
from d3stats._words import Advised, counted
from d3stats.estimate import Estimate
from d3stats.report import paper_rows as make
from d3stats.report.paper_rows import ACCURACY, EVALUATOR, KAPPA, LOG, Cell, Column, Draw, Made, Task, written
from d3stats.result import Result
from d3stats.sources import Opened, Reading, open, readings
from d3stats.trajectories import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from d3stats.worlds.tokens import PriceTable

__all__ = ["ITEMS", "PAPERS", "Item", "PaperIndex", "PaperItem", "paper"]

PAPERS = {
    "d3": "Debate, Deliberate, Decide (D3)",
    "chateval": "ChatEval",
    "advocates": "the advocates paper",
    "stability": "Multi-Agent Debate for LLM Judges with Adaptive Stability Detection",
    "frameworks": "Settings of four debate frameworks (an appendix without tables and figures)",
}
"""The papers by their short names."""


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and how own logs give it.

    Attributes
    ----------
    name : str
        The paper and the item, as "d3:table-1".
    at : str
        Its label in the paper and in ``docs/papers``.
    shows : str
        What it shows.
    needs : tuple of str
        What every log must have, by the keys of the requirements.
    make : callable or None
        What makes its rows; None where own logs cannot give it.
    logs : tuple of int
        The fewest and the most logs.
    takes : tuple of str
        The settings that it takes beside names, level and random numbers.
    reason : str
        Why there is no command, where there is none.
    """

    name: str
    at: str
    shows: str
    needs: tuple[str, ...] = ()
    make: Callable[[Task], Made] | None = None
    logs: tuple[int, int] = (1, 99)
    takes: tuple[str, ...] = ()
    reason: str = ""

    @property
    def paper(self) -> str:
        """The short name of its paper."""
        return str(self.name).partition(":")[0]

    @property
    def command(self) -> str:
        """The command that makes it; "" where there is none."""
        if self.make is None:
            return ""
        fewest, most = self.logs
        words = ["LOG"] * fewest + ([] if most == fewest else ["[LOG ...]"])
        options = ["--human TABLE"] if "human" in self.takes else []
        return " ".join(["d3stats paper", self.name, *words, *options])


def _verdicts(*columns: Column) -> Callable[[Task], Made]:
    def made(task: Task) -> Made:
        return make.verdicts(task, *columns)

    return made


_KAP = Column("kappa", "Kap.", "share")
_METHOD = Column("log", "Methods")
_EXAMPLE = "a debate as an example: d3stats show LOG --text"
_DIAGRAM = "a diagram of the method, in the gallery of figures"

_ALL = (
    Item("d3:figure-1", "Figure 1", "the court: advocates, judge and jurors", reason=_DIAGRAM),
    Item("d3:figure-2", "Figure 2", "accuracy without and with personas, by kind of task", ("label", "category"),
         make.by_kind, (2, 2), ("strata",)),
    Item("d3:table-1", "Table 1", "accuracy and kappa of frameworks; --strata for benchmarks", ("label",),
         _verdicts(LOG, ACCURACY, KAPPA), takes=("strata",)),
    Item("d3:table-2", "Table 2", "accuracy, tokens, and tokens per accuracy point", ("label", "tokens"), make.costs,
         takes=("prices",)),
    Item("d3:figure-3", "Figure 3", "frontier of tokens and accuracy", ("label", "tokens"), make.costs,
         takes=("prices",)),
    Item("d3:table-3", "Table 3", "ablation: accuracy, swap consistency and kappa", ("label",),
         _verdicts(Column("log", "Configuration"), Column("accuracy", "Accuracy (%)", "percent"),
                   Column("consistency", "Pos. Swap Consist. (%)", "percent"), KAPPA)),
    Item("d3:figure-4", "Figure 4", "rounds at which a rule stops, tokens saved, verdicts changed",
         ("rounds", "scores or --rule"), make.stops, takes=("rules", "baseline")),
    Item("d3:table-4", "Table 4", "random fives of a pool of personas, and other juries", ("label",),
         make.random_fives),
    Item("d3:table-5", "Table 5", "accuracy and gain by evaluator", ("label",),
         _verdicts(LOG, EVALUATOR, Column("accuracy", "Accuracy (%)", "percent"),
                   Column("gain", "Gain (points)", "points")), takes=("baseline",)),
    Item("d3:figure-5", "Figure 5", "gaps of the judge's scores by round and category", ("scores", "category"),
         make.gaps, (1, 1), ("strata",)),
    Item("d3:section-4.3", "4.3", "self-enhancement rate, and the gap that shows a preference",
         ("families",), make.own_family),
    Item("d3:section-5.5", "5.5", "SAMRE against MORE by bands of MORE's gap (LOG of MORE first)",
         ("label", "first scores"), make.gap_bands, (2, 2)),
    Item("d3:section-5.8", "5.8", "citations, diversity and disagreements of rationales", ("texts",), make.reasons),
    Item("d3:appendix-g.3", "G.3", "pairwise agreement of personas", ("personas",), make.personas),
    Item("chateval:figure-1", "Figure 1", "referees who discuss", reason=_DIAGRAM),
    Item("chateval:figure-2", "Figure 2", "the three communication strategies", reason=_DIAGRAM),
    Item("chateval:table-1", "Table 1", "accuracy and kappa of evaluators and methods", ("label",),
         _verdicts(EVALUATOR, _METHOD, ACCURACY, _KAP), takes=("strata",)),
    Item("chateval:table-2", "Table 2", "correlations of scores with people's, by aspect", ("human scores",),
         make.aspects,
         takes=("human",)),
    Item("chateval:table-3", "Table 3", "single agent, the same role, and diverse roles", ("label",),
         _verdicts(EVALUATOR, _METHOD, ACCURACY, _KAP), takes=("strata",)),
    Item("chateval:table-4", "Table 4", "communication strategies", ("label",),
         _verdicts(EVALUATOR, Column("log", "Communication Strategies"), ACCURACY, _KAP), takes=("strata",)),
    Item("chateval:table-5", "Table 5", "a debate as an example", reason=_EXAMPLE),
    Item("chateval:table-6", "Table 6", "the template of a prompt", reason="a text, not a number of debates"),
    Item("chateval:figure-3a", "Figure 3a", "accuracy and kappa by the number of roles, a log each", ("label",),
         make.by_roles, (2, 99)),
    Item("chateval:figure-3b", "Figure 3b", "accuracy and kappa by turns: rounds of a log, or logs", ("label",),
         make.by_turns),
    Item("advocates:figure-1", "Figure 1", "the architectures", reason=_DIAGRAM),
    Item("advocates:table-1", "Table 1", "accuracy by model and architecture (--name MODEL/ARCHITECTURE)", ("label",),
         make.architectures),
    Item("advocates:table-2", "Table 2", "absolute and relative gains over the baseline", ("label",), make.gains,
         (2, 99), ("baseline",)),
    Item("advocates:table-3", "Table 3", "paired t tests against the baseline, and by cluster", ("label",),
         make.t_tests, (2, 99), ("baseline",)),
    Item("stability:table-1", "Table 1", "majority vote in round 1 against debate; --strata for benchmarks",
         ("label", "rounds"), make.against_vote, takes=("strata",)),
    Item("stability:table-2", "Table 2", "rounds and accuracy with the stability stop", ("label", "rounds"),
         make.adaptive, takes=("rules",)),
    Item("stability:rounds", "rounds against accuracy", "accuracy and KS distance by round", ("label", "rounds"),
         make.by_rounds, takes=("n_boot",)),
    Item("stability:ks-threshold", "KS threshold", "rounds and accuracy by KS threshold", ("label", "rounds"),
         make.thresholds),
    Item("stability:ensemble-size", "ensemble size", "accuracy by the number of agents", ("label",), make.by_agents),
)  # fmt: skip

ITEMS: dict[str, Item] = {item.name: item for item in _ALL}
"""Every table and figure of the papers, and the sections whose numbers own logs give, by name."""


@dataclass(frozen=True)
class _Need:
    """What a log must have: how it is found, and what to say where it is absent."""

    there: Callable[[Opened, Task], bool]
    what: str
    step: str


def _labelled(log: Opened, task: Task) -> bool:
    return bool((log.trajectories().label != MISSING).any())


def _with_tokens(log: Opened, task: Task) -> bool:
    tokens = log.trajectories().tokens
    return tokens is not None and not bool(np.isnan(np.asarray(tokens, dtype=np.float64)).all())


def _scored(log: Opened, task: Task) -> bool:
    t = log.trajectories()
    return t.scores is not None and len(t.sides) == 2


def _scored_or_ruled(log: Opened, task: Task) -> bool:
    return bool(task.rules) or _scored(log, task)


def _first_scored(log: Opened, task: Task) -> bool:
    return log is not task.logs[task.names[0]] or _scored(log, task)


def _of_kinds(log: Opened, task: Task) -> bool:
    return task.strata is not None or (log.has_records and bool(log.log().items["category"].notna().any()))


def _with_rounds(log: Opened, task: Task) -> bool:
    return log.trajectories().n_rounds > 1


def _always(log: Opened, task: Task) -> bool:
    """Say yes: the function that makes the item refuses what it cannot read, by the name of the column."""
    return True


def _said(log: Opened, task: Task) -> bool:
    if not log.has_records:
        return False
    turns = log.log(texts=True).turns
    return "text" in turns and bool(turns["text"].notna().any())


_NEEDS = {
    "label": _Need(_labelled, "right answers", "the field label of its debates, or --columns label=OWN"),
    "tokens": _Need(
        _with_tokens, "tokens", "the fields tokens_in and tokens_out of its turns, or --columns tokens=OWN"
    ),
    "scores": _Need(_scored, "scores of two sides", "the field scores of its turns"),
    "scores or --rule": _Need(
        _scored_or_ruled,
        "scores of two sides",
        "a rule that needs none with --rule, or the field scores of its turns",
    ),
    "first scores": _Need(_first_scored, "scores of two sides", "the field scores of its turns"),
    "category": _Need(
        _of_kinds, "kinds of questions", "the field category of its debates, or --strata COLUMN"
    ),
    "rounds": _Need(_with_rounds, "two rounds or more", "a column round, or --columns round=OWN"),
    "families": _Need(
        _always, "verdicts with families", "a table with judge, label, family_a, family_b and judge_family"
    ),
    "personas": _Need(
        _always, "votes of personas", "a table with persona, or jurors with names of their own"
    ),
    "human scores": _Need(_always, "people's scores", "--human TABLE"),
    "texts": _Need(_said, "what was said", "the field text of its turns (JSON lines), or --columns text=OWN"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class PaperItem(Result):
    r"""A table or figure of a paper, made from own logs: the result of :func:`paper`.

    Attributes
    ----------
    item : Item
        What was made.
    columns : tuple of Column
        Its columns, with their heads in the paper.
    rows : tuple of dict
        The cells of each row by the columns' keys: estimates with intervals, numbers and texts.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> found = paper("d3:table-2", "gemma-votes", "gemma-reasons", names=["votes", "reasons"])
    >>> found.to_frame()[["log", "accuracy", "tokens", "per_point"]].round(3).values.tolist()
    [['votes', 0.688, 8314.826, 120.787], ['reasons', 0.592, 12437.858, 209.931]]
    >>> print(found.to_latex().splitlines()[2])
    Framework & Accuracy (\%) & Avg. Tokens & Tokens/Acc. \\
    >>> found.layout()["Tokens/Acc."].tolist()
    ['120.8 [117.4, 124.4]', '209.9 [202.6, 217.9]']
    >>> found.plot().get_ylabel()
    'accuracy'
    """

    item: Item
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]
    level: float
    notes: tuple[str, ...] = ()
    _answered: str = ""
    _draw: Draw | None = None

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self._answered

    def _title(self) -> str:
        kinds = dict.fromkeys(
            e.kind for row in self.rows for e in row.values() if isinstance(e, Estimate) and e.low is not None
        )
        of = f"; {100 * self.level:.6g} % intervals over questions: {'; '.join(kinds)}" if kinds else ""
        name = PAPERS[self.item.paper]
        return f"{name}, {self.item.at}: {self.item.shows}{of}."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the table with numbers: an estimate's column is followed by its limits."""
        rows = []
        for row in self.rows:
            cells: dict[str, Any] = {}
            for column in self.columns:
                value = row.get(column.key)
                if isinstance(value, Estimate):
                    cells |= {
                        column.key: value.value,
                        f"{column.key}_low": value.low,
                        f"{column.key}_high": value.high,
                    }
                else:
                    cells[column.key] = value
            rows.append(cells)
        wanted = [
            name
            for column in self.columns
            for name in (column.key, f"{column.key}_low", f"{column.key}_high")
            if any(name in row for row in rows)
        ]
        return {self.item.name: pd.DataFrame(rows, columns=wanted)}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        return {self.item.name: self.layout()}

    def layout(self) -> pd.DataFrame:
        """Return the table as the paper prints it: its heads, and cells as text with limits in brackets."""
        cells = [[written(row.get(c.key), c.unit) for c in self.columns] for row in self.rows]
        return pd.DataFrame(cells, columns=[c.head for c in self.columns], dtype=object)

    def plot(self, ax: Axes | None = None) -> Axes | Figure:
        """Draw the item; in given axes, its first panel.

        Raises ValueError for a table that has no figure.
        """
        if self._draw is None:
            raise ValueError(f"an item must have a figure to be drawn; got {self.item.name}, a table alone")
        return self._draw(ax)


@dataclass(frozen=True, eq=False, kw_only=True)
class PaperIndex(Result):
    """The tables and figures of a paper, each with its needs and its command: the result of :func:`paper` for a paper.

    Attributes
    ----------
    name : str
        The paper.
    items : tuple of Item
        Its items in order.

    Examples
    --------
    >>> index = paper("stability")
    >>> index.to_frame()["command"].tolist()[0]
    'd3stats paper stability:table-1 LOG [LOG ...]'
    """

    name: str
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The number of items that own logs give."""
        if not self.items:
            return f"{PAPERS[self.name]}, so own logs give none."
        can = sum(item.make is not None for item in self.items)
        return f"{PAPERS[self.name]}: own logs give {can} of {counted(len(self.items), 'item')}."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        rows = [
            {
                "item": item.name,
                "at": item.at,
                "shows": item.shows,
                "needs": ", ".join(_NEEDS[need].what for need in item.needs) or ("-" if item.make else ""),
                "command": item.command or f"none: {item.reason}",
            }
            for item in self.items
        ]
        return {self.name: pd.DataFrame(rows, columns=["item", "at", "shows", "needs", "command"])}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        start = "d3stats paper "
        rows = [
            {
                start.strip(): item.command.removeprefix(start) or item.name,
                "shows": item.shows if item.make else f"{item.shows} (no command: {item.reason})",
                "needs": ", ".join(item.needs) or "-",
            }
            for item in self.items
        ]
        return {self.name: pd.DataFrame(rows)} if rows else {}


def paper(
    item: str,
    *sources: Any,
    names: Sequence[str] | None = None,
    strata: str | None = None,
    baseline: str | None = None,
    rules: Sequence[str] | None = None,
    human: pd.DataFrame | None = None,
    prices: PriceTable | str | Path | None = None,
    model: str | None = None,
    role_models: Mapping[str, str] | None = None,
    output_share: float | None = None,
    n_boot: int | None = None,
    level: float = 0.95,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> PaperItem | PaperIndex:
    """Make a table or figure of a paper from own logs, in the paper's layout, with intervals over questions.

    Parameters
    ----------
    item : str
        The paper and the item, as "d3:table-1"; the name of a paper alone lists its items with what each needs.
    *sources
        The logs, in the order of the rows.
    names : sequence of str, optional
        What each log is called; by default as its file. In the advocates paper's tables "MODEL/ARCHITECTURE".
    strata : str, optional
        The column that names the benchmark or the category, where the item has one.
    baseline : str, optional
        The log that gains are measured against; by default the first. In the advocates paper an architecture.
    rules : sequence of str, optional
        The stopping rules that are replayed; by default the paper's own.
    human : DataFrame, optional
        People's scores of single responses, for correlations with them: a column ``question`` and one per aspect.
    prices : PriceTable or path, optional
        Dollars per million tokens, as ``PriceTable.read`` takes them, for the cost of D3's Table 2.
    model : str, optional
        The model whose prices all turns have; by default the only one of the table, or each turn's as logged.
    role_models : mapping of str to str, optional
        The models whose prices the turns of a role have, in place of `model`.
    output_share : float, optional
        Completion tokens as a share of all, the same in every turn; by default as logged, and .15 where a log holds
        totals only.
    n_boot : int, optional
        Bootstrap replicates of KS distances; by default 200.
    level : float
        Level of the intervals.
    rng : Generator, int or None
        Source of the random numbers; each log has the draws that it would have alone.
    **reading
        How the sources are read, as for ``d3stats.open``.

    Returns
    -------
    PaperItem or PaperIndex

    Raises
    ------
    ValueError
        When the item is unknown or no table of debates, a setting is not one of the item's, or a log lacks what it
        needs; the message names the field or option.

    Examples
    --------
    >>> found = paper("stability:table-1", "gemma-votes")
    >>> found.to_frame()[["benchmark", "vote", "debate"]].round(3).values.tolist()
    [['gemma-votes', 0.792, 0.688]]
    """
    if item in PAPERS:
        if sources:
            raise ValueError(
                f"item must name a table or figure, as {item}:table-1; got the paper {item!r} alone"
            )
        mine = tuple(each for each in ITEMS.values() if each.paper == item)
        return PaperIndex(name=item, items=mine)
    chosen = _item(item)
    level = probability("level", level, open_interval=True)
    given = {
        "strata": strata,
        "baseline": baseline,
        "rules": rules,
        "human": human,
        "n_boot": n_boot,
        "prices": prices,
    }
    for name, value in given.items():
        if value is not None and name not in chosen.takes:
            takers = [each.name for each in ITEMS.values() if name in each.takes]
            raise ValueError(
                f"{name} must be left out of {item}; got it (it is a setting of {', '.join(takers)})"
            )
    alone: dict[str, Any] = {"model": model, "role_models": role_models or None, "output_share": output_share}
    for name, said in alone.items():
        if prices is None and said is not None:
            raise ValueError(f"{name} must come with prices; got {name}={said!r} alone")
    if "human" in chosen.takes and human is None:
        raise ValueError(f"human must be people's scores for {item}; got none (--human TABLE)")
    logs = _opened(chosen, sources, names, reading)
    if strata is not None:
        logs = {name: log.aside(strata) for name, log in logs.items()}
    task = Task(
        item, logs, strata, baseline, tuple(rules or ()), human,
        200 if n_boot is None else integer("n_boot", n_boot, minimum=2), level, as_rng(rng),
    )  # fmt: skip
    known = set(logs) | {name.rpartition("/")[2] for name in logs}
    if baseline is not None and baseline not in known:
        raise ValueError(
            f"baseline must be one of {', '.join(logs)}; got {baseline!r}{meant(baseline, known)}"
        )
    for need in chosen.needs:
        wanted = _NEEDS[need]
        lacking = [name for name, log in logs.items() if not wanted.there(log, task)]
        if lacking:
            raise ValueError(
                Advised(
                    f"{item} must have {wanted.what} in every log",
                    f"give {wanted.step}",
                    got=f"none in {', '.join(lacking)}",
                )
            )
    if prices is not None:
        from d3stats.planning.prices import price_logs
        from d3stats.worlds.tokens import PriceTable

        table = prices if isinstance(prices, PriceTable) else PriceTable.read(prices)
        turns = {name: (log.log(every_role=True).turns, log.trajectories()) for name, log in logs.items()}
        roles = reading.get("roles")
        task = replace(task, dollars=price_logs(turns, table, roles=roles, **alone))
    assert chosen.make is not None
    made = chosen.make(task)
    return PaperItem(
        item=chosen, columns=tuple(made.columns), rows=tuple(made.rows), level=level,
        notes=tuple(dict.fromkeys(made.notes)), _answered=made.answer, _draw=made.draw,
    )  # fmt: skip


def _item(name: str) -> Item:
    if name not in ITEMS:
        near = meant(name, [*ITEMS, *PAPERS])
        raise ValueError(
            f"item must be a paper ({', '.join(PAPERS)}) or one of its items, as d3:table-1; got {name!r}{near}"
        )
    chosen = ITEMS[name]
    if chosen.make is None:
        raise ValueError(f"item must be one that logs give; got {name}: {chosen.reason}")
    return chosen


def _opened(
    item: Item, sources: Sequence[Any], names: Sequence[str] | None, reading: Reading
) -> dict[str, Opened]:
    fewest, most = item.logs
    if not fewest <= len(sources) <= most:
        size = counted(fewest, "log") + ("" if most == fewest else " or more")
        raise ValueError(f"{item.name} must have {size}; got {len(sources)}: {item.command}")
    logs = [open(source, **own) for source, own in zip(sources, readings(sources, reading), strict=True)]
    if names is not None and len(names) != len(logs):
        raise ValueError(f"names must be one per log ({len(logs)}); got {len(names)}")
    stems = [log.stem or f"log {k}" for k, log in enumerate(logs, 1)]
    called = [str(name) for name in names] if names is not None else stems
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"names of logs must differ; got {twice!r} twice: give names (--name, once per log)")
    return dict(zip(called, logs, strict=True))
