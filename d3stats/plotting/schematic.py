"""The figure of a protocol: who speaks when, and who reads whom."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats.plotting.style import ONE_COLUMN, PALETTE, Look, check_frame, column, one_axes, refuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_schematic"]

_MARKS: dict[str, Look] = {
    "text": {"marker": "o"},
    "vote": {"marker": "s"},
    "may vote": {"marker": "s", "markerfacecolor": "white"},
    "scores": {"marker": "D"},
    "vote and scores": {"marker": "p", "markersize": 6.5},
}
_SAID = {
    "text": "speaks",
    "vote": "votes",
    "may vote": "may vote",
    "scores": "scores",
    "vote and scores": "votes and scores",
}
_INK, _PALE = "0.25", "0.72"
_ROW = 0.21
"""Inches of a line."""
_MERGED = 4
"""From so many agents on, those who do the same stand on one line."""
_MANY = 12
"""From so many arrows on, one arrow between two stages says that all read all."""
_NUMBER = re.compile(r"\d+")
_BETWEEN = 0.2
"""Columns between two rounds, besides one."""
_LETTER = 0.055
"""Inches of a letter."""
_BENDS = (0.0, -0.12, 0.12, -0.2, 0.2, -0.3, 0.3, -0.42, 0.42, -0.55, 0.55)
_CLEAR = 0.15
"""How far an arrow should stay from the marks that it passes, in columns."""


def plot_schematic(
    turns: pd.DataFrame, readings: pd.DataFrame, *, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw one line per agent, one column per stage and one arrow per turn that another one reads.

    Four or more agents share a line if their names differ by a number only, they speak at the same time, read the same
    turns and are read by the same agents.
    An arrow is pale where its reader has read the same message before. Where all of a stage, a dozen arrows or more,
    are read by all of another one, one arrow says so. The form is that of D3, figure 1, and of ChatEval, figure 2, with
    time from left to right.

    Parameters
    ----------
    turns : DataFrame
        One row per turn: ``turn`` (a number of its own), ``stage`` (turns of a stage are at the same time), ``round``,
        ``closing`` (true for a turn after the end of its round), ``agent``, ``role``, ``gives`` ("text", "vote", "may
        vote", "scores", "vote and scores") and ``decides`` ("verdict", "fallback" or empty).
    readings : DataFrame
        One row per turn that another one reads: ``turn`` of the reader, ``reads``, the turn that is read.
    title : str, optional
        Above the axes.
    ax : Axes, optional
        Where to draw; by default a new figure of one column.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        When a column is absent, a turn comes twice, a reading names a turn that is none or that was not over, or
        ``gives`` or ``decides`` is another word.

    Examples
    --------
    >>> turns = pd.DataFrame({"turn": [1, 2], "stage": [1, 2], "round": 1, "closing": False, "agent": ["one", "other"],
    ...     "role": "debater", "gives": ["text", "vote"], "decides": ["", "verdict"]})
    >>> ax = plot_schematic(turns, pd.DataFrame({"turn": [2], "reads": [1]}))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['one', 'other']
    """
    turns, readings = _checked(turns, readings)
    line = _lines(turns, readings)
    names = _line_names(line)
    x = _columns(turns)
    kind = turns["role"].str.replace(r"\s+\d+$", "", regex=True)
    shades = {one: PALETTE[i % len(PALETTE)] for i, one in enumerate(dict.fromkeys(kind))}
    dots = turns.assign(x=turns["stage"].map(x), line=turns["agent"].map(line), colour=kind.map(shades))
    place = {turn: (at, y) for turn, at, y in zip(dots["turn"], dots["x"], dots["line"], strict=True)}
    given = ax is not None
    ax = one_axes(ax, width=ONE_COLUMN, height=1.0 + _ROW * len(names))
    end = max(x.values()) + 1
    _draw_ground(ax, dots, end)
    # What is not known before the figure is laid out: the height of a line in widths of a column, about.
    room = ax.figure.get_figure(root=True).get_size_inches() * ax.get_position().size
    row = room[1] / len(names) if given else _ROW
    flat = row * (end + 1) / max(room[0] - _LETTER * max(map(len, names)), 0.2)
    colours = dict(zip(dots["turn"], dots["colour"], strict=True))
    arrows = _arrows(turns, readings, place)
    blocks = _blocks(arrows, place)
    for stages in blocks.values():
        _draw_block(ax, stages, "0.35")
    for source, reader, again in arrows:
        if (place[source][0], place[reader][0]) in blocks:
            continue
        ink = _PALE if again else colours[source]
        _draw_arrow(ax, place, place[source], place[reader], ink, flat, again=again)
    deciding = dots[dots["decides"] != ""].drop_duplicates(["x", "line", "decides"])
    if not deciding.empty:
        verdicts = deciding.loc[deciding["decides"] == "verdict", "line"]
        goal = (end, float(verdicts.mean()) if len(verdicts) else 0.0)
        for decides, at, y in zip(deciding["decides"], deciding["x"], deciding["line"], strict=True):
            _draw_arrow(ax, place, (at, y), goal, "black", flat, dashed=decides == "fallback")
        ax.plot(*goal, marker="*", markersize=9, color="black", linestyle="none", zorder=4)
    for _, rows in dots.drop_duplicates(["x", "line"]).groupby(["gives", "colour"], sort=False):
        look: Look = {"markersize": 5, "linestyle": "none", "color": rows["colour"].iloc[0], "zorder": 4}
        ax.plot(rows["x"], rows["line"], **(look | _MARKS[rows["gives"].iloc[0]]))
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(min(x.values()) - 0.45, end + 0.35)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    _name_marks(ax, turns, {again for *_, again in arrows})
    # Below the whole figure, where a legend may be wider than the axes.
    legend: Look = {"ncols": 3, "columnspacing": 1.0, "handletextpad": 0.5}
    if given:
        ax.legend(loc="upper left", bbox_to_anchor=(0, 0), **legend)
        # Above the names of the rounds.
        ax.set_title(title or "", pad=14)
    else:
        ax.figure.legend(loc="outside lower center", **legend)
        ax.figure.suptitle(title or "", x=0.01, ha="left", fontsize="medium")
    return ax


def _checked(turns: pd.DataFrame, readings: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = ("turn", "stage", "round", "closing", "agent", "role", "gives", "decides")
    turns = check_frame(turns, names, ("turn", "stage", "round", "closing"), once=("turn",))
    words = {name: turns[name].astype(str) for name in ("agent", "role", "gives", "decides")}
    turns = turns.assign(**words).sort_values(["stage", "turn"], kind="stable", ignore_index=True)
    for name, known in (("gives", tuple(_MARKS)), ("decides", ("verdict", "fallback", ""))):
        refuse(
            f"{name} must be one of {', '.join(map(repr, known))}",
            ~turns[name].isin(known).to_numpy(),
            turns,
            name,
        )
    if readings.empty:
        return turns, pd.DataFrame({"turn": [], "reads": []})
    readings = check_frame(readings, ("turn", "reads"), ("turn", "reads"), once=("turn", "reads"))
    stage = dict(zip(turns["turn"], turns["stage"], strict=True))
    reader, source = (readings[name].map(stage) for name in ("turn", "reads"))
    refuse(
        "a reading must be of a turn of an earlier stage, and both must be among the turns",
        ~(column(source) < column(reader)),
        readings,
        "turn",
        "reads",
    )
    return turns, readings.sort_values(["turn", "reads"], ignore_index=True)


def _lines(turns: pd.DataFrame, readings: pd.DataFrame) -> dict[str, int]:
    """Return the line of each agent; those who do the same, with another number in the name, share one from four on."""
    pairs = (("turn", "reads"), ("reads", "turn"))
    reads, read_by = (readings.groupby(one)[other].agg(frozenset).to_dict() for one, other in pairs)
    kind = {turn: _NUMBER.sub("", agent) for turn, agent in zip(turns["turn"], turns["agent"], strict=True)}
    doing: dict[tuple[Any, ...], list[str]] = {}
    for name, rows in turns.groupby("agent", sort=False):
        agent = str(name)
        did = [
            (stage, gives, decides, reads.get(turn), read_by.get(turn))
            for turn, stage, gives, decides in rows[["turn", "stage", "gives", "decides"]].to_numpy()
        ]
        own = kind[rows["turn"].iloc[0]]
        # Those who read each other are drawn apart, so that it is seen.
        talks = any(kind[other] == own for turn in rows["turn"] for other in reads.get(turn, ()))
        doing.setdefault((agent if talks else own, *did), []).append(agent)
    shared = {agent: group[0] for group in doing.values() if len(group) >= _MERGED for agent in group}
    firsts: dict[str, int] = {}
    agents = turns["agent"].unique()
    return {agent: firsts.setdefault(shared.get(agent, agent), len(firsts)) for agent in agents}


def _line_names(line: dict[str, int]) -> list[str]:
    """Return the name of each line: "juror 1 to 5" where agents share it."""
    on: dict[int, list[str]] = {}
    for agent, y in line.items():
        on.setdefault(y, []).append(agent)
    return [
        agents[0]
        if len(agents) == 1
        else _NUMBER.sub(f"\\g<0> to {_NUMBER.findall(agents[-1])[0]}", agents[0])
        for agents in on.values()
    ]


def _columns(turns: pd.DataFrame) -> dict[float, float]:
    """Return where each stage stands: one column each, with room between rounds and before what follows them."""
    found: dict[float, float] = {}
    x, before = 0.0, None
    firsts = turns.drop_duplicates("stage")
    for stage, *part in zip(firsts["stage"], firsts["round"], firsts["closing"], strict=True):
        x += 1.0 if part == before or before is None else 1.0 + _BETWEEN
        found[stage], before = x, part
    return found


def _draw_ground(ax: Axes, dots: pd.DataFrame, end: float) -> None:
    """Draw a grey ground with a name below each round, and a thin line for each agent."""
    for (number, closing), rows in dots.groupby(["round", "closing"]):
        left, right = rows["x"].min() - 0.45, rows["x"].max() + 0.45
        ax.axvspan(left, right, facecolor="0.95", edgecolor="none", zorder=0)
        at: Look = {"xytext": (0, 2), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        name = "end" if closing else f"round {number:g}"
        ax.annotate(
            name, ((left + right) / 2, 1), xycoords=("data", "axes fraction"), fontsize=7, color=_INK, **at
        )
    for y in dots["line"].unique():
        ax.plot([dots["x"].min() - 0.45, end - 0.45], [y, y], color="0.85", linewidth=0.5, zorder=0.5)


def _arrows(
    turns: pd.DataFrame, readings: pd.DataFrame, place: dict[float, tuple[float, int]]
) -> list[tuple[float, float, bool]]:
    """Return what is read, by whom, and whether its reader read it before; once for agents that share a line."""
    agent = dict(zip(turns["turn"], turns["agent"], strict=True))
    before: set[tuple[str, float]] = set()
    found: dict[tuple[Any, ...], tuple[float, float, bool]] = {}
    order = {turn: i for i, turn in enumerate(turns["turn"])}
    for _, row in (
        readings.assign(order=readings["turn"].map(order)).sort_values("order", kind="stable").iterrows()
    ):
        key = (agent[row["turn"]], row["reads"])
        found.setdefault(
            (place[row["reads"]], place[row["turn"]]), (row["reads"], row["turn"], key in before)
        )
        before.add(key)
    return list(found.values())


def _blocks(
    arrows: list[tuple[float, float, bool]], place: dict[float, tuple[float, int]]
) -> dict[tuple[float, float], tuple[list[tuple[float, int]], list[tuple[float, int]]]]:
    """Return the marks of both columns, by the columns' places, where all of one are read by all of the other."""
    found: dict[tuple[float, float], set[tuple[tuple[float, int], tuple[float, int]]]] = {}
    for source, reader, again in arrows:
        if not again:
            ends = (place[source], place[reader])
            found.setdefault((ends[0][0], ends[1][0]), set()).add(ends)
    blocks = {}
    for columns, ends_of in found.items():
        sides = [sorted({ends[side] for ends in ends_of}) for side in (0, 1)]
        if len(ends_of) >= _MANY and len(ends_of) == len(sides[0]) * len(sides[1]):
            blocks[columns] = (sides[0], sides[1])
    return blocks


def _draw_block(
    ax: Axes, sides: tuple[list[tuple[float, int]], list[tuple[float, int]]], colour: str
) -> None:
    """Draw a bracket at each side and one arrow between them, with what it says."""
    from matplotlib.patches import FancyArrowPatch

    ends = []
    for marks, away in zip(sides, (0.2, -0.2), strict=True):
        lines = [line for _, line in marks]
        x, tip = marks[0][0] + away, marks[0][0] + 0.6 * away
        low, high = min(lines) - 0.2, max(lines) + 0.2
        ax.plot([tip, x, x, tip], [low, low, high, high], color=colour, linewidth=0.8, zorder=2)
        ends.append((x, (low + high) / 2))
    look: Look = {"arrowstyle": "-|>,head_length=5,head_width=2.5", "mutation_scale": 1, "linewidth": 1.6}
    ax.add_patch(FancyArrowPatch(*ends, shrinkA=0, shrinkB=2, color=colour, zorder=2, **look))
    middle = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
    words: Look = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "va": "bottom"}
    ax.annotate("all read all", middle, fontsize=7, color=_INK, **words)


def _draw_arrow(
    ax: Axes,
    place: dict[float, tuple[float, int]],
    start: tuple[float, float],
    stop: tuple[float, float],
    colour: str,
    flat: float,
    *,
    again: bool = False,
    dashed: bool = False,
) -> None:
    """Draw an arrow that is bent as little as keeps it off the marks that it passes."""
    from matplotlib.patches import FancyArrowPatch

    others = [mark for mark in set(place.values()) if mark not in (start, stop)]
    bend = max(
        _BENDS, key=lambda bend: (min(_clearance(start, stop, bend, others, flat), _CLEAR), -abs(bend))
    )
    ax.add_patch(
        FancyArrowPatch(
            start,
            stop,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>,head_length=2.6,head_width=1.3",
            mutation_scale=1,
            shrinkA=3.2,
            shrinkB=3.6 if stop in place.values() else 5,
            color=colour,
            linewidth=0.6 if again else 0.8,
            linestyle=(0, (3, 2)) if dashed else "-",
            zorder=1 if again else 2,
        )
    )


def _clearance(
    start: tuple[float, float],
    stop: tuple[float, float],
    bend: float,
    others: list[tuple[float, int]],
    flat: float,
) -> float:
    """Return how far, in columns, a bent arrow stays from the marks of others."""
    if not others:
        return np.inf
    # As on paper: upward, in widths of a column.
    a, b, marks = (np.atleast_2d(np.asarray(p, dtype=float)) * (1, -flat) for p in (start, stop, others))
    across = (b - a) @ np.array([[0.0, -1.0], [1.0, 0.0]])
    t = np.linspace(0.05, 0.95, 37)[:, None]
    curve = (1 - t) ** 2 * a + 2 * t * (1 - t) * ((a + b) / 2 + bend * across) + t**2 * b
    return float(np.min(np.linalg.norm(curve[:, None] - marks[None], axis=2)))


def _name_marks(ax: Axes, turns: pd.DataFrame, again: set[bool]) -> None:
    """Give the axes what a legend needs: marks and lines without a place, each with its name."""
    plain: Look = {"color": _INK, "linestyle": "none", "markersize": 5}
    for word, look in _MARKS.items():
        if (turns["gives"] == word).any():
            ax.plot([], [], label=_SAID[word], **(plain | look))
    for old, ink, name in ((False, _INK, "is read by"), (True, _PALE, "is read again")):
        if old in again:
            ax.plot([], [], color=ink, linewidth=0.8, label=name)
    if (turns["decides"] == "verdict").any():
        ax.plot([], [], color="black", linestyle="none", marker="*", markersize=8, label="verdict")
    if (turns["decides"] == "fallback").any():
        ax.plot([], [], color="black", linewidth=0.8, linestyle=(0, (3, 2)), label="if tied or missing")
