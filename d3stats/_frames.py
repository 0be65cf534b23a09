"""Tidy tables into the array view, for :meth:`d3stats.trajectories.Trajectories.from_frame`.

Floor 2, the other half of ``trajectories.py``: everything that knows pandas' ways of saying "missing".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import whole_numbers
from d3stats._codes import MISSING, encode_texts, seat_names
from d3stats.log.frames import TABLE_COLUMNS, seated, stopped_by_rule
from d3stats.values import canonical

WRONG, RIGHT = "wrong", "right"
"""The two answers of a log that records only correctness."""

_CORRECT = {"0": 0, "false": 0, "1": 1, "true": 1}

_LARGEST = 200_000_000
"""Cells (debates x rounds x seats) up to which any table is unfolded; larger ones only where it is full."""


def arrays_from_tables(
    turns: pd.DataFrame,
    items: pd.DataFrame | None,
    roles: Iterable[str] | None = None,
    *,
    missing_values: Iterable[str] | None = None,
    is_canonical: bool = False,
) -> dict[str, Any]:
    """Return the fields of a Trajectories, made from one row per turn and, optionally, one row per debate.

    With `roles` only their turns count. Without, all turns count, and seats are for the roles that vote. Tables of
    :func:`d3stats.log.read_log` are in canonical form already.
    """
    _need(turns, "turns", ["debate", "round", "agent"])
    if "vote" not in turns.columns and "correct" not in turns.columns:
        raise ValueError(f"turns must have a column vote or correct; got {list(turns.columns)}")
    if items is not None:
        _need(items, "items", ["debate"])
    notes: list[str] = []
    if not is_canonical:
        notes += _unread(turns, items)
        turns, items, said = _canonical_tables(turns, items, missing_values)
        notes += said
    if turns[["debate", "round", "agent"]].isna().to_numpy().any():
        raise ValueError("turns must name a debate, a round and an agent in every row; got missing values")
    if items is None:
        items = turns[["debate"]].drop_duplicates()
    if items["debate"].isna().any():
        raise ValueError("items must name a debate in every row; got missing values")

    names = items["debate"].astype(str).to_numpy(dtype=object)
    index = pd.Index(names)
    if index.has_duplicates:
        raise ValueError(f"items must list each debate once; got {index[index.duplicated()][0]!r} twice")
    row = index.get_indexer(pd.Index(turns["debate"].astype(str)))
    if (row < 0).any():
        raise ValueError(
            f"debate must be listed in items; got {turns['debate'].iloc[int(np.argmax(row < 0))]!r}"
        )
    played = whole_numbers("round", np.asarray(turns["round"]), minimum=1) - 1
    _refuse_duplicates(turns, row, played)
    _refuse_gaps(names, row, played)
    by_rule = _stopped_by_rule(turns, items, _depth(len(names), row, played))
    if roles is not None:
        # A round in which only others spoke is a round without votes.
        kept = _of_roles(turns, roles)
        turns, row, played = turns[kept], row[kept], played[kept]
    has_seat = np.ones(len(turns), dtype=np.bool_) if roles is not None else seated(turns)
    at = row[has_seat], played[has_seat]
    seat, panel, seat_names, speakers = _seats(row, turns["agent"].astype(str), has_seat, len(names))
    n_rounds = int(played.max()) + 1 if len(played) else 0
    shape = (len(names), n_rounds, len(seat_names))
    _refuse_sparse(shape, names, panel, len(turns))

    votes, label, answers, coding = _votes_and_labels(turns[has_seat], items)
    cube = np.full(shape, MISSING, dtype=np.int32)
    cube[(*at, seat)] = votes
    depth = _depth(len(names), row, played)
    spoke = np.zeros(shape, dtype=np.bool_)
    spoke[(*at, seat)] = True
    cluster_codes, cluster_names, said = _clusters(items)
    scores, sides = _scores(turns, row, played, shape)
    return {
        "votes": cube,
        "label": label,
        "depth": depth,
        "spoke": None if int((depth * panel).sum()) == len(at[0]) else spoke,
        "panel": panel,
        "cluster": cluster_codes,
        "answers": answers,
        "debates": tuple(names),
        "seats": seat_names,
        "cluster_names": cluster_names,
        "scores": scores,
        "sides": sides,
        **_tokens(turns, row, played, shape, depth),
        "speakers": speakers,
        "groups": tuple(items["log"].fillna("").astype(str)) if "log" in items.columns else (),
        "coding": coding,
        "notes": (*notes, *said),
        "stopped_by_rule": by_rule,
    }


def _depth(n_debates: int, row: NDArray[np.int64], played: NDArray[np.int64]) -> NDArray[np.int64]:
    depth = np.zeros(n_debates, dtype=np.int64)
    np.maximum.at(depth, row, played + 1)
    return depth


def _stopped_by_rule(
    turns: pd.DataFrame, items: pd.DataFrame, depth: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Return which debates a stopping rule ended, None where no debate has a reason for its end."""
    known = {}
    for column in ("stop_reason", "protocol", "log"):
        if column in items.columns:
            known[column] = items[column].reset_index(drop=True)
        elif column in turns.columns:
            by_debate = turns.groupby(turns["debate"].astype(str), sort=False)[column]
            different = by_debate.nunique()
            if column == "stop_reason" and different.max() > 1:
                name = different.idxmax()
                raise ValueError(
                    f"stop_reason must be one per debate; got {different.max()} in debate {name!r}"
                )
            known[column] = items["debate"].astype(str).reset_index(drop=True).map(by_debate.first())
    if "stop_reason" not in known or not known["stop_reason"].notna().any():
        return None
    return stopped_by_rule(pd.DataFrame(known), depth)


def _of_roles(turns: pd.DataFrame, roles: Iterable[str]) -> NDArray[np.bool_]:
    wanted = set(roles)
    kept = np.zeros(len(turns), dtype=np.bool_)
    if "role" in turns.columns:
        kept = turns["role"].isin(wanted).to_numpy(dtype=np.bool_)
    if not kept.any():
        raise ValueError(f"roles must occur in the log; got {sorted(wanted)}")
    return kept


def _need(frame: pd.DataFrame, name: str, columns: list[str]) -> None:
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise ValueError(f"{name} must have the columns {columns}; got none named {absent}")


def _unread(turns: pd.DataFrame, items: pd.DataFrame | None) -> list[str]:
    """Name the columns that nothing here reads: perhaps one of them was meant as a cluster, or a vote."""
    columns = dict.fromkeys([*turns.columns, *(() if items is None else items.columns)])
    unread = [str(c) for c in columns if c not in TABLE_COLUMNS]
    if "vote" in turns.columns and "correct" in turns.columns:
        unread.append("correct")
    if not unread:
        return []
    listed = ", ".join(unread[:8]) + (f" and {len(unread) - 8} more" if len(unread) > 8 else "")
    return [f"columns that were not read: {listed}"]


_OF_ITEMS = ("label", "question", "cluster", "log")


def _canonical_tables(
    turns: pd.DataFrame, items: pd.DataFrame | None, missing_values: Iterable[str] | None
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Write answers and names in one form, and collect what a table of turns says of each debate."""
    tidy = None if items is None else items["debate"]
    named = canonical(turns["debate"], *([] if tidy is None else [tidy]), missing_values=(), names=True)
    agent = canonical(turns["agent"], missing_values=(), names=True)
    turns = turns.assign(debate=named.columns[0], agent=agent.columns[0])
    notes = [*named.notes("debates"), *agent.notes("agents")]
    if "role" in turns.columns:
        role = canonical(turns["role"], missing_values=missing_values, names=True)
        turns = turns.assign(role=role.columns[0])
        notes += role.notes("roles")
    if items is None:
        columns = [c for c in _OF_ITEMS if c in turns.columns]
        opened = turns[["debate", *columns]].drop_duplicates(ignore_index=True)
    else:
        opened = items.assign(debate=named.columns[1])
    for column in ("question", "cluster", "log"):
        if column in opened.columns:
            name = canonical(opened[column], missing_values=missing_values, names=True)
            opened = opened.assign(**{column: name.columns[0]})
            notes += name.notes(f"{column}s")
    if "vote" in turns.columns:
        keep = {
            str(a) for given in opened.get("answers", ()) if isinstance(given, (tuple, list)) for a in given
        }
        label = opened["label"] if "label" in opened.columns else pd.Series(dtype=object)
        read = canonical(turns["vote"], label, missing_values=missing_values, keep=keep)
        turns = turns.assign(vote=read.columns[0])
        if "label" in opened.columns:
            opened = opened.assign(label=read.columns[1])
        notes += read.notes("votes", "labels")
    return turns, opened if items is not None else _once(opened), notes


def _once(opened: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per debate, refusing a label that changes on the way."""
    grouped = opened.groupby("debate", sort=False)
    columns = [c for c in opened.columns if c != "debate"]
    for column in columns:
        values = grouped[column].nunique()
        if (values > 1).any():
            raise ValueError(
                f"{column} must be one per debate; got {values.max()} in debate {values.idxmax()!r}"
            )
    return grouped[columns].first().reset_index() if columns else opened[["debate"]].drop_duplicates()


def _seats(
    row: NDArray[np.int64], agent: pd.Series, has_seat: NDArray[np.bool_], n_debates: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...], NDArray[np.int8] | None]:
    """Seat agents in the order of their names within each debate; names vary between runs, seats do not.

    Returns the seats of the turns that have one, the panels, the names of the seats, and who of those who spoke has a
    seat (:attr:`Trajectories.speakers <d3stats.trajectories.Trajectories>`).
    """
    pairs = pd.DataFrame({"row": row, "agent": agent.to_numpy(), "seated": has_seat})
    known = pairs.drop_duplicates().sort_values("seated", kind="stable")
    known = known.drop_duplicates(["row", "agent"], keep="last")
    stems, numbers = zip(*map(_natural, known["agent"]), strict=True) if len(known) else ((), ())
    known = known.assign(stem=list(stems), number=list(numbers)).sort_values(["row", "stem", "number"])
    speakers = None
    if not has_seat.all():
        place = known.groupby("row").cumcount().to_numpy()
        speakers = np.full((n_debates, int(place.max()) + 1), -1, dtype=np.int8)
        speakers[known["row"], place] = known["seated"]
        known, pairs = known[known["seated"]], pairs[has_seat]
    known = known.assign(seat=known.groupby("row").cumcount())
    seat = pairs.merge(known, on=["row", "agent"], how="left")["seat"].to_numpy(dtype=np.int64)
    panel = np.bincount(known["row"].to_numpy(dtype=np.int64), minlength=n_debates).astype(np.int64)
    n_seats = int(panel.max(initial=0))
    by_seat = known.groupby("seat")["agent"].agg(["first", "nunique"])
    consistent = len(by_seat) == n_seats and (by_seat["nunique"] == 1).all()
    return seat, panel, tuple(by_seat["first"]) if consistent else seat_names(n_seats), speakers


def _natural(name: str) -> tuple[str, int]:
    """Sort "agent 10" after "agent 9"."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if digits else -1


def _votes_and_labels(
    turns: pd.DataFrame, items: pd.DataFrame
) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[str, ...], Literal["answers", "correctness"]]:
    if "vote" in turns.columns:
        label = items["label"] if "label" in items.columns else pd.Series([None] * len(items), dtype=object)
        codes, label_codes, answers = encode_texts(
            turns["vote"].to_numpy(dtype=object), label.to_numpy(dtype=object)
        )
        return codes, label_codes, answers, "answers"
    (correct,) = canonical(turns["correct"]).columns
    known = [MISSING if text is None else _CORRECT.get(text.casefold(), 2) for text in correct]
    codes = np.array(known, dtype=np.int32)
    if (codes == 2).any():
        at = int(np.argmax(codes == 2))
        raise ValueError(f"correct must be 0, 1 or missing; got {correct[at]} at row {at}")
    return codes, np.ones(len(items), dtype=np.int32), (WRONG, RIGHT), "correctness"


def _clusters(items: pd.DataFrame) -> tuple[NDArray[np.int64], tuple[str, ...], list[str]]:
    """Return the cluster of each debate, their names, and a word on the column that decided where two differ."""
    cluster: pd.Series = pd.Series([None] * len(items), dtype=object)
    for column in ("cluster", "question", "debate"):
        if column in items.columns:
            values = items[column].astype(object).reset_index(drop=True)
            cluster = cluster.where(cluster.notna(), values)
    codes, names = pd.factorize(cluster.astype(str).to_numpy(dtype=object))
    notes = []
    if "cluster" in items.columns and "question" in items.columns:
        question = items["question"].nunique()
        if items["cluster"].notna().any() and question != len(names):
            notes.append(
                f"the column cluster decides what is resampled together: {len(names):,} clusters, "
                f"{question:,} questions"
            )
    return codes.astype(np.int64), tuple(map(str, names)), notes


def _tokens(
    turns: pd.DataFrame,
    row: NDArray[np.int64],
    played: NDArray[np.int64],
    shape: tuple[int, int, int],
    depth: NDArray[np.int64],
) -> dict[str, NDArray[np.float64] | None]:
    """Sum tokens over a round, all together and by kind; a round with any unrecorded turn has an unrecorded total.

    A round in which nobody who is counted spoke cost nothing.
    """
    kinds = [
        c
        for c in ("tokens", "tokens_in", "tokens_out")
        if c in turns.columns and turns[c].notna().to_numpy().any()
    ]
    if "tokens" in kinds and len(kinds) > 1:
        raise ValueError(
            "turns must have the column tokens or the columns tokens_in and tokens_out, so that no token is counted "
            f"twice; got {', '.join(kinds)}: drop one of them"
        )
    found: dict[str, NDArray[np.float64] | None] = dict.fromkeys(("tokens", "tokens_in", "tokens_out"))
    for kind in kinds:
        total = np.full(shape[:2], np.nan)
        total[np.arange(shape[1]) < depth[:, None]] = 0.0
        np.add.at(
            total, (row, played), pd.to_numeric(turns[kind]).to_numpy(dtype=np.float64, na_value=np.nan)
        )
        found[kind] = total
    sent, written = found["tokens_in"], found["tokens_out"]
    if sent is not None and written is not None:
        found["tokens"] = sent + written
    else:
        # One kind alone is neither a total nor a split.
        found["tokens_in"] = found["tokens_out"] = None
    return found


def _scores(
    turns: pd.DataFrame, row: NDArray[np.int64], played: NDArray[np.int64], shape: tuple[int, int, int]
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Total a side's criteria within a turn, then average over the agents that scored it in the round.

    A side without any criterion was to be scored: its points are missing, and the log still has that side.
    """
    if "scores" not in turns.columns:
        return None, ()
    asked = [
        (i, side, criteria)
        for i, scores in enumerate(turns["scores"])
        if isinstance(scores, dict)
        for side, criteria in scores.items()
    ]
    if not asked:
        return None, ()
    sides = np.array(sorted({side for _, side, _ in asked}), dtype=object)
    given = [(i, side, float(sum(criteria.values()))) for i, side, criteria in asked if criteria]
    at = np.array([i for i, _, _ in given], dtype=np.int64)
    side_codes = np.searchsorted(sides, np.array([side for _, side, _ in given], dtype=object))
    total = np.zeros((*shape[:2], len(sides)))
    scorers = np.zeros_like(total)
    where: tuple[Any, ...] = (row[at], played[at], side_codes)
    np.add.at(total, where, np.array([points for _, _, points in given]))
    np.add.at(scorers, where, 1.0)
    return np.where(scorers > 0, total / np.maximum(scorers, 1.0), np.nan), tuple(map(str, sides))


def _refuse_duplicates(turns: pd.DataFrame, row: NDArray[np.int64], played: NDArray[np.int64]) -> None:
    # Codes in place of names: a table of numbers is searched faster than one of texts.
    agent = pd.factorize(turns["agent"].astype(str))[0]
    repeated = pd.DataFrame({"row": row, "played": played, "agent": agent}).duplicated().to_numpy()
    if repeated.any():
        turn = turns.iloc[int(np.argmax(repeated))]
        raise ValueError(
            "an agent must speak once per round; "
            f"got debate={turn['debate']!r}, round={turn['round']}, agent={turn['agent']!r} twice"
        )


def _refuse_gaps(names: NDArray[Any], row: NDArray[np.int64], played: NDArray[np.int64]) -> None:
    depth = _depth(len(names), row, played)
    # Pairs that occur, not a table of all: a round number may be as large as it likes.
    pairs = pd.DataFrame({"row": row, "played": played}).drop_duplicates()
    short = np.bincount(pairs["row"], minlength=len(names)) < depth
    if short.any():
        debate = int(np.argmax(short))
        seen = np.sort(pairs["played"][pairs["row"] == debate].to_numpy())
        at = np.flatnonzero(seen != np.arange(len(seen)))
        skipped = int(at[0] if len(at) else len(seen)) + 1
        raise ValueError(
            f"rounds must follow one another; got no round {skipped} in debate {names[debate]!r}"
        )


def _refuse_sparse(
    shape: tuple[int, int, int], names: NDArray[Any], panel: NDArray[np.int64], n_turns: int
) -> None:
    """Refuse a table that one debate blows up: every debate gets the seats of the largest panel."""
    size = shape[0] * shape[1] * shape[2]
    if size > _LARGEST and size > 20 * n_turns:
        raise ValueError(
            f"debates must be of similar size to be put side by side; got {shape[0]:,} debates of up to "
            f"{shape[1]:,} rounds and {shape[2]:,} agents (in debate {names[int(panel.argmax())]!r}) "
            f"from {n_turns:,} turns: check the columns round and agent"
        )
