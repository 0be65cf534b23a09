"""Ratings, items by raters, read from tables, debate logs and trajectories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import choice
from d3stats._words import Advised, counted, setting
from d3stats.inputs.items import ItemIs
from d3stats.inputs.labels import ItemStrata, StrataOf
from d3stats.inputs.lines import place_of
from d3stats.inputs.ratings import LABEL, Ratings
from d3stats.log.column_names import TABLE_COLUMNS, choice_of, other_names, plain, resolve, to_choose, to_type
from d3stats.log.wide import NO_VOTES, without_derived
from d3stats.note import warning
from d3stats.plausibility import NO_SIDE, judged, name_signs, several_labels, two_scales, warnings_of
from d3stats.sources.item_tables import (
    Fields,
    beside_items,
    blank_clusters,
    question_clusters,
    unread_note,
    with_parts,
)
from d3stats.sources.opened import Opened, Reading, is_cube, open
from d3stats.sources.strata import item_strata
from d3stats.trajectories import MISSING, Trajectories
from d3stats.values import canonical, numbers_of, shared_spelling

if TYPE_CHECKING:
    from d3stats.inputs.recorded import RecordedLog
    from d3stats.log.frames import DebateLog

__all__ = ["CORRECTNESS", "DECISION", "FIELDS", "as_ratings", "ratings_with_strata"]

Codes = NDArray[np.int64]

Repeats = Literal["refuse", "separate"]

_LONG = ("item", "rater", "vote")
FIELDS = Fields((*_LONG, "label", "cluster", "round"), _LONG, ("question",))
_OF_ITEMS = ("label", "cluster")
_MAY_BE_RATERS = {"agent", "model", "vote", "first"}
_NO_RATERS = frozenset(
    name
    for field in ("item", *(name for name in TABLE_COLUMNS if name not in _MAY_BE_RATERS))
    for name in (plain(field), *other_names(field))
) | {*NO_VOTES, "majority", "plurality", "consensus", "agree", "agreement"}
"""Names of columns that no rater has, plain: they say something of an item or of a turn."""
CORRECTNESS = (
    "votes are only right or wrong here, so two wrong votes count as agreement, which is an assumption"
)


DECISION = "decision"
"""Name of the decisions of debates when they are put beside the raters."""


def as_ratings(
    source: Any,
    *,
    round_number: int | None = None,
    categories: Sequence[Any] | None = None,
    raters: Sequence[str] | None = None,
    repeats: Repeats = "refuse",
    by: ItemIs = "debate",
    **reading: Unpack[Reading],
) -> Ratings:
    """Read ratings, one category per item and rater, from a table, a log or trajectories.

    Parameters
    ----------
    source : Ratings, or what :func:`d3stats.open` takes
        A long table has the columns ``item, rater, vote`` and optionally ``label, cluster, round``. Any other
        DataFrame is wide: a row per item (named by a column ``item``, else by the index), a column per rater,
        and optionally ``label`` and ``cluster``. Without ``cluster``, items that share a ``question`` form a
        cluster. A DataFrame with a column ``debate`` and no ``item`` is a log. A path is a debate log or either
        table as CSV or Parquet, and then with a column ``item``; empty cells and words such as NA are missing. In a
        log the agents are the raters, in ``Trajectories`` the seats.
    round_number : int, optional
        The round whose votes are taken; by default each debate's last.
    categories : sequence, optional
        Every category that could have been chosen, in order; by default those that occur. Gwet's coefficients and
        the order of words depend on categories that no rater chose only if they are named here.
    raters : sequence of str, optional
        Keep these, in this order; "label" means the right answers. "decision" means the recorded decision of each
        debate of a log. In a log that records none it is the plurality of the votes of the last round, and where a
        round is chosen, of that round. In a table of items it is the column of this name.
    repeats : {"refuse", "separate"}
        What a second vote of a rater on an item is: an error, or the vote of another rater, "NAME (2)".
    by : {"debate", "question"}
        What an item is in a log. By "question", votes of several runs meet: a rater is then "RUN: AGENT" where
        there are several runs.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Ratings

    Raises
    ------
    ValueError
        When a column is absent, a vote is outside `categories`, a rater votes twice on an item, or an item
        changes its label or cluster.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> votes = pd.DataFrame({"item": ["q1", "q1", "q2"], "rater": ["x", "y", "x"], "vote": ["A", "B", "A"]})
    >>> as_ratings(votes)
    Ratings(2 items in 2 clusters x 2 raters, 2 categories, 1 missing)
    """
    choice("repeats", repeats, ("refuse", "separate"))
    choice("by", by, ("debate", "question"))
    if isinstance(source, Ratings):
        if round_number is not None:
            raise ValueError(f"round_number must be left out for ratings; got {round_number}")
        for setting_of, value, usual in (("repeats", repeats, "refuse"), ("by", by, "debate")):
            if value != usual:
                raise ValueError(
                    f"{setting_of} must be left out for ratings, because as_ratings read them; got {value!r}"
                )
        open(source, **reading)  # refuses settings of reading, because these ratings were read already
        ratings = source if categories is None else _recoded(source, categories)
    else:
        table = _long_table(
            open(source, **reading), round_number, repeats, by, () if raters is None else raters
        )
        ratings = _from_table(*table, categories)
    if raters is not None and LABEL in raters and ratings.label is None and LABEL not in ratings.raters:
        raise ValueError(
            Advised(
                f"{LABEL} must be given to be compared",
                f"add a column {LABEL!r}, or choose another rater of {', '.join(map(repr, ratings.raters[:12]))}",
                got=f"no right answer in {counted(ratings.n_items, 'item')}",
            )
        )
    return ratings if raters is None else ratings.of(raters)


def ratings_with_strata(
    source: Any,
    strata: StrataOf,
    *,
    round_number: int | None = None,
    categories: Sequence[Any] | None = None,
    raters: Sequence[str] | None = None,
    repeats: Repeats = "refuse",
    by: ItemIs = "debate",
    **reading: Unpack[Reading],
) -> tuple[Ratings, ItemStrata | None]:
    """Return ratings, as :func:`as_ratings` reads them, and the strata of their items where these are asked for."""
    if not isinstance(source, Ratings):
        source, reading = open(source, **reading), Reading()
    kinds = None if strata is None else item_strata(source, strata, FIELDS)
    ratings = as_ratings(
        source if isinstance(source, Ratings) else source.aside(strata),
        round_number=round_number,
        categories=categories,
        raters=raters,
        repeats=repeats,
        by=by,
        **reading,
    )
    return ratings, kinds


def _from_table(table: pd.DataFrame, notes: tuple[str, ...], categories: Sequence[Any] | None) -> Ratings:
    item, items = pd.factorize(table["item"])
    rater, raters = pd.factorize(table["rater"])
    labelled = "label" in table.columns and bool(table["label"].notna().any())
    names = _ordered(table["vote"], table["label"] if labelled else None, categories)
    codes = np.full((len(items), len(raters)), MISSING, dtype=np.int64)
    codes[item, rater] = _coded("vote", table, names)
    label = np.full(len(items), MISSING, dtype=np.int64)
    if labelled:
        label[item] = _coded("label", table, names)
    cluster = np.zeros(len(items), dtype=np.int64)
    cluster[item], clusters = pd.factorize(table["cluster"])
    judged, who, together = (tuple(map(str, each)) for each in (items, raters, clusters))
    notes = (*notes, *_strangers(codes, label, who))
    return Ratings(judged, who, names, codes, label if labelled else None, cluster, together, notes,
                   declared=categories is not None)  # fmt: skip


def _strangers(codes: Codes, label: Codes, raters: tuple[str, ...]) -> list[str]:
    """Name raters none of whose votes is ever another's: their columns may be no votes."""
    used = [set(column[column != MISSING].tolist()) for column in codes.T]
    right = set(label[label != MISSING].tolist())
    times = Counter(code for said in used for code in said)
    alone = [
        repr(name)
        for name, said in zip(raters, used, strict=True)
        if said and not said & right and all(times[code] == 1 for code in said)
    ]
    if not alone or len(raters) < 2:
        return []
    more = f" and {len(alone) - 5} more" if len(alone) > 5 else ""
    return [
        f"no vote of {', '.join(alone[:5])}{more} is ever given by another rater; check that these "
        "columns are votes"
    ]


def _ordered(said: pd.Series, label: pd.Series | None, given: Sequence[Any] | None) -> tuple[str, ...]:
    seen = set(said.dropna()) | (set() if label is None else set(label.dropna()))
    if given is not None:
        names = _categories(given, seen)
        if not names:
            raise ValueError("categories must be at least one; got none")
        return names
    try:
        return tuple(sorted(seen, key=lambda text: (float(text), text)))
    except ValueError:
        return tuple(sorted(seen))


def _categories(given: Sequence[Any], seen: set[str]) -> tuple[str, ...]:
    """Return given categories as those that occur are written."""
    forms = canonical(given, missing_values=()).columns[0]
    spelling = shared_spelling([*seen, *(form for form in forms if form)])
    return tuple(spelling.get(str(form), str(form)) for form in forms)


def _coded(name: str, table: pd.DataFrame, categories: tuple[str, ...]) -> Codes:
    column = table[name]
    at = {text: code for code, text in enumerate(categories)}
    strange = column.notna() & ~column.isin(list(at))
    if strange.any():
        row = int(np.argmax(strange.to_numpy()))
        of = f", rater {table['rater'].iloc[row]!r}" if name == "vote" else ""
        raise ValueError(
            f"{name} must be one of {list(categories)}; "
            f"got {column.iloc[row]!r} {place_of(table, table.index[row])}{of}"
        )
    return np.asarray(column.map(at).fillna(MISSING), dtype=np.int64)


def _recoded(source: Ratings, categories: Sequence[Any]) -> Ratings:
    names = _categories(categories, set(source.categories))
    used = set(np.unique(source.codes)) | (set() if source.label is None else set(np.unique(source.label)))
    gone = [source.categories[c] for c in sorted(used - {MISSING}) if source.categories[c] not in names]
    if gone:
        raise ValueError(f"categories must list all that occur in the data; got none named {gone[0]!r}")
    move = np.array([*(names.index(c) if c in names else MISSING for c in source.categories), MISSING])
    label = None if source.label is None else move[source.label]
    return replace(source, categories=names, codes=move[source.codes], label=label, declared=True)


def _long_table(
    opened: Opened, round_number: int | None, repeats: Repeats, by: str, asked: Sequence[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return texts in the columns item, rater, vote, cluster (and label), one row per item and rater.

    Where the decision is `asked` for, it is a rater too, and the only one if no other is.
    """
    decided, alone = DECISION in asked, DECISION in asked and {*asked} <= {LABEL, DECISION}
    missing_values: Iterable[str] | None = ()  # words that are left in a log are answers
    attrs: Mapping[Any, Any] = {}
    if not opened.is_log(FIELDS):
        read_items, missing_values = with_parts(opened.items(FIELDS)), opened.reading.get("missing_values")
        attrs, named = read_items.frame.attrs, opened.name if opened.paths else "a table of ratings"
        if repeats == "refuse":
            _refuse_repeats(opened, read_items.frame)
        table, said = _of_frame(read_items.frame, round_number, named, decided, asked)
        notes = [*read_items.notes, *said]
        if alone and DECISION in set(table["rater"]):
            table = table[table["rater"] == DECISION]
    elif opened.has_records and not decided:
        log = opened.log()
        table, said = _of_log(log, round_number, by)
        notes = [*log.notes, *said]
    elif opened.kind != "values" or is_cube(opened.value):
        recorded = opened.recorded()
        t, notes = recorded.trajectories, [*recorded.trajectories.notes]
        decided, alone = (flag and DECISION not in t.seats for flag in (decided, alone))
        parts = [_of_decisions(recorded, round_number, by)] if decided else []
        if not alone:
            parts.insert(0, _of_trajectories(t, round_number, by))
        table = pd.concat([rows for rows, _ in parts])
        notes += [note for _, said in parts for note in said]
    else:
        kinds = "Ratings, Trajectories, a DebateLog, a DataFrame or a path"
        raise TypeError(f"ratings must be {kinds}; got {opened.name}")
    if table.empty:
        raise ValueError("ratings must have at least one item and one rater; got none")
    read_from = table.index
    table = table.reset_index(drop=True)
    names = {}
    for column in ("item", "rater"):
        read = canonical(table[column], missing_values=(), names=True)
        (names[column],) = read.columns
        absent = pd.isna(names[column])
        if absent.any():
            table.attrs = attrs
            where = place_of(table, read_from[int(np.argmax(absent))])
            raise ValueError(f"{column} must be named; got a missing name {where}")
        notes += read.notes(f"{column}s")
    label = table["label"] if "label" in table.columns else table["vote"][:0]
    read = canonical(table["vote"], label, missing_values=missing_values)
    vote, right = read.columns
    # The label stands on every row of its item: it is counted once.
    once = label[~pd.Series(names["item"]).duplicated()] if len(label) else label
    if read.missing or read.merged:
        notes += canonical(table["vote"], once, missing_values=missing_values).notes(
            "votes", "labels", answers=True
        )
    result = pd.DataFrame(names | {"vote": vote} | ({"label": right} if len(label) else {}), dtype=object)
    result["cluster"] = pd.Series([None] * len(table), dtype=object)
    if "cluster" in table.columns:
        grouped = canonical(table["cluster"], missing_values=missing_values, names=True)
        result["cluster"] = grouped.columns[0]
        notes += grouped.notes("clusters")
    item, items = pd.factorize(result["item"])
    for column in ("cluster", "label"):
        if column in result.columns:
            result[column] = _one_per_item(result, column, item, len(items))
    bare = len(np.unique(item[result["cluster"].isna().to_numpy()]))
    if 0 < bare < len(items):
        notes.append(blank_clusters(bare))
    result["cluster"] = result["cluster"].where(result["cluster"].notna(), result["item"])
    known = result["label"] if "label" in result.columns else None
    seen = judged(result["item"], result["rater"], result["vote"], known, cluster=result["cluster"])
    numbers = pd.to_numeric(result["vote"], errors="coerce")
    scales = two_scales(numbers.dropna()) if numbers.notna().equals(result["vote"].notna()) else ""
    doubts = [*warnings_of(name_signs(items)), *warnings_of(seen)]
    doubts += [warning(scales, "two scales")] if scales else []
    result.index, result.attrs = read_from, attrs
    result, said = _without_repeats(result, item, repeats)
    return result, (*doubts, *notes, *said)


def _of_log(log: DebateLog, round_number: int | None, by: str) -> tuple[pd.DataFrame, list[str]]:
    from d3stats.log.frames import seated

    notes: list[str] = []
    vote = "vote" if log.coding == "answers" else "correct"
    if log.coding != "answers":
        notes.append(CORRECTNESS)
    # Who never votes (advocates, a judge beside a jury) is no rater with votes missing.
    rating = seated(log.turns)
    turns, silent = log.turns, 0
    if not rating.all():
        turns = turns[rating]
        silent = log.turns["debate"].nunique() - turns["debate"].nunique()
    if silent:
        notes.append(f"in {counted(silent, 'debate')} no rater had a turn, so they are left out")
    turns = turns[["debate", "round", "agent", vote]].rename(columns={vote: "vote", "agent": "rater"})
    items = log.items.set_index("debate")[["question", "cluster", "label", "log"]]
    if log.coding == "answers" and (doubt := several_labels(list(items["question"]), items["label"])):
        notes.append(warning(doubt, "questions with several labels"))
    n_rounds = turns["round"].nunique()
    turns = _in_round(turns, "debate", round_number)
    notes += _which_round(round_number, n_rounds, turns["round"])
    about = items.loc[turns["debate"]]
    question, run = (about[column].to_numpy(dtype=object) for column in ("question", "log"))
    turns["cluster"] = about["cluster"].where(about["cluster"].notna(), about["question"]).to_numpy()
    turns["item"] = turns["debate"] if by == "debate" else question
    turns["label"] = about["label"].to_numpy() if log.coding == "answers" else 1
    if by == "question" and len(set(about["log"].dropna())) > 1:
        turns["rater"] = [f"{x}: {rater}" for x, rater in zip(run, turns["rater"], strict=True)]
    return turns.set_axis(about.index, axis=0), notes


def _decisions(log: RecordedLog, round_number: int | None, by: str) -> tuple[NDArray[np.object_], str]:
    """Return the decision of each debate, None where there is none, and what it was taken from."""
    t = log.trajectories
    if t.coding == "correctness":
        raise ValueError(
            Advised(
                f"{DECISION} needs votes that are answers",
                "d3stats compare and d3stats replay show their accuracy",
                got="a log of right and wrong votes",
            )
        )
    if by != "debate":
        needed = f"{DECISION} needs votes by debate, because a question has no decision"
        raise ValueError(Advised(needed, f"use {setting('by', 'debate')}", got=repr(by)))
    n = int((t.depth > 0).sum())
    if round_number is None and log.usable:
        known, other = int(log.known.sum()), int(log.differs.sum())
        said = f"{DECISION} is the recorded decision of {known} of {n} debates"
        said += "; debates without one are left out" if known < n else ""
        said += f"; in {other} it is not the plurality of the last votes" if other else ""
        return log.decision, said
    at = np.maximum(t.depth if round_number is None else np.minimum(round_number, t.depth), 1) - 1
    verdict = t.verdicts()[np.arange(len(t)), at]
    cast = verdict != MISSING
    if not cast.any():
        raise ValueError(
            f"{DECISION} must be known in some debate; got no decision and no vote in {n} debates"
        )
    tied = int(t.tied()[np.arange(len(t)), at].sum())
    which = "the last round" if round_number is None else f"round {round_number}"
    said = f"{DECISION} is the plurality of the votes of {which} in {int(cast.sum())} of {n} debates"
    said += "" if log.usable else ", because no decision is recorded"
    said += f"; a tie, of which there are {tied}, {t.tie_rule()}" if tied else ""
    said += f"; {n - int(cast.sum())} debates without a decision are left out" if cast.sum() < n else ""
    words: NDArray[np.object_] = np.array([*t.answers, None], dtype=object)
    return np.asarray(words[verdict], dtype=object), said


def _of_decisions(log: RecordedLog, round_number: int | None, by: str) -> tuple[pd.DataFrame, list[str]]:
    decision, said = _decisions(log, round_number, by)
    t = log.trajectories
    row = np.flatnonzero(t.depth > 0)
    names, cluster, label = (
        np.asarray(x, dtype=object) for x in (t.debates, t.cluster_names, [*t.answers, None])
    )
    columns = {"item": names[row], "rater": DECISION, "vote": decision[row]}
    columns |= {"cluster": cluster[t.cluster[row]], "label": label[t.label[row]]}
    return pd.DataFrame(columns, index=names[row]), [said]


def _of_trajectories(t: Trajectories, round_number: int | None, by: str) -> tuple[pd.DataFrame, list[str]]:
    notes: list[str] = []
    if t.coding == "correctness":
        notes.append(CORRECTNESS)
    if round_number is not None and not 1 <= round_number <= t.n_rounds:
        raise ValueError(f"round_number must lie between 1 and {t.n_rounds}; got {round_number}")
    notes += warnings_of(found for found in t.findings() if found.kind == "questions with several labels")
    spoke = t.had_turns()
    someone: NDArray[np.bool_] = np.asarray(spoke.any(axis=2), dtype=np.bool_)
    # The last round in which a rater had a turn: advocates may go on after the jury.
    last = someone.shape[1] - 1 - np.argmax(someone[:, ::-1], axis=1)
    at = last if round_number is None else np.full(t.n_debates, round_number - 1)
    silent = int(((t.depth > 0) & ~someone.any(axis=1)).sum())
    if silent:
        notes.append(f"in {counted(silent, 'debate')} no rater had a turn, so they are left out")
    played = np.flatnonzero(someone[np.arange(t.n_debates), at])
    notes += _which_round(round_number, int(someone.any(axis=0).sum()), at[played] + 1)
    cube = t.votes[played, at[played]]
    debate, seat = np.nonzero(spoke[played, at[played]])
    row = played[debate]
    answers = np.array([*t.answers, None], dtype=object)
    cluster = np.asarray(t.cluster_names, dtype=object)[t.cluster[row]]
    rater = np.asarray(t.seats, dtype=object)[seat]
    if by == "question" and len(set(t.groups)) > 1:
        run = np.asarray(t.groups, dtype=object)[row]
        rater = np.array([f"{x}: {name}" for x, name in zip(run, rater, strict=True)], dtype=object)
    debates = np.asarray(t.debates, dtype=object)[row]
    columns = {
        "item": debates if by == "debate" else cluster,
        "rater": rater,
        "vote": answers[cube[debate, seat]],
    }
    columns |= {"cluster": cluster, "label": answers[t.label[row]]}  # MISSING, -1, is the last: None
    return pd.DataFrame(columns, index=debates), notes


def _of_frame(
    frame: pd.DataFrame,
    round_number: int | None,
    named: str,
    decided: bool = False,
    asked: Collection[str] = (),
) -> tuple[pd.DataFrame, list[str]]:
    notes: list[str] = []
    given = set(map(str, frame.columns))
    if question_clusters(frame) == "question":
        notes.append("clusters are those of the column 'question'")
        frame = frame.rename(columns={"question": "cluster"})
        given = given - {"question"} | {"cluster"}
    if given >= set(_LONG):
        kept = [name for name in (*_LONG, "label", "cluster", "round") if name in given]
        notes += [*beside_items(frame, kept), *unread_note(frame, {*kept, "question"})]
        long = frame[kept].reset_index(drop=True)
        if "round" in kept:
            n_rounds = long["round"].nunique()
            long = _in_round(long.assign(round=numbers_of("round", long["round"])), "item", round_number)
            notes += _which_round(round_number, n_rounds, long["round"])
        elif round_number is not None:
            raise ValueError(f"round_number needs a column 'round'; got {list(frame.columns)}")
        if decided and DECISION in given and DECISION not in set(long["rater"]):
            item, items = pd.factorize(long["item"])
            said = frame[[DECISION]].reset_index(drop=True).loc[long.index].assign(item=long["item"])
            one = _one_per_item(said, DECISION, item, len(items))
            first = ~pd.Series(item, index=long.index).duplicated()
            long = pd.concat([long, long.assign(rater=DECISION, vote=one)[first]])
        return long.drop(columns="round", errors="ignore"), notes
    if {"rater", "vote"} & given:
        absent = [name for name in _LONG if name not in given]
        needed = (
            f"a table with a column {'rater' if 'rater' in given else 'vote'} must have item, rater and vote"
        )
        step = f"{to_choose(*absent)}, or choose no column for it where each rater has a column of votes"
        raise ValueError(Advised(needed, step, got=f"none named {', '.join(absent)}"))
    if round_number is not None:
        raise ValueError("round_number needs a log or a long table with a column 'round'; got a wide table")
    wide, keys, with_items, taken = _named_keys(frame)
    notes += taken
    if wide["item"].duplicated().any():
        twice = wide["item"][wide["item"].duplicated()].iloc[0]
        raise ValueError(f"a wide table must have one row per item; got {twice!r} twice")
    others = [name for name in wide.columns if name not in (*keys, "question")]
    # What is said of an item is no rater's vote.
    raters = [name for name in others if plain(name) not in _NO_RATERS or (decided and name == DECISION)]
    voted = {text for name in raters for text in _texts(wide[name])}
    raters = [name for name in others if name in raters or _is_a_voter(name, wide[name], voted)]
    raters = _not_derived(wide, raters, asked)
    if not raters:
        raise ValueError(f"a wide table must have a column per rater; got {list(frame.columns)}")
    if not with_items:
        strange = [name for name in raters if _is_name(wide, name, raters)]
        if strange and len(raters) > 1:
            kinds = "a column 'item' (and 'rater' and 'vote', or a column per rater), or be a debate log"
            step = f"choose one with {to_type(item=str(strange[0]))}"
            raise ValueError(Advised(f"{named} must have {kinds}", step, got=str(list(frame.columns))))
    _refuse_strangers(frame, wide, raters)
    raters = _alike_raters(wide, raters)
    in_column = len(wide.columns) == frame.shape[1]  # the names of items are no index
    if len(raters) < len(others) or (in_column and not asked):
        listed = ", ".join(map(str, raters[:8])) + (f" and {len(raters) - 8} more" if len(raters) > 8 else "")
        notes.append("; ".join([f"raters are {listed}", *unread_note(wide[others], raters)]))
    wide = wide.astype(object).reset_index(drop=True)
    return wide.melt(keys, raters, var_name="rater", value_name="vote", ignore_index=False), notes


_EVIDENCE = 8
"""In so many items whose raters differ a column must equal their mean, median or sum to be taken for it."""


def _not_derived(wide: pd.DataFrame, names: list[str], asked: Collection[str]) -> list[str]:
    """Return the columns without those that are computed from the others, unless they are asked for."""
    kept = set(without_derived(names)) | {name for name in names if name in asked}
    names = [name for name in names if name in kept]
    if len(names) < 3:
        return names
    columns = [pd.to_numeric(wide[name], errors="coerce").to_numpy(dtype=np.float64) for name in names]
    numbers: NDArray[np.float64] = np.stack(columns, axis=1)
    derived = [
        name for k, name in enumerate(names)
        if name not in asked and _is_derived(numbers[:, k], numbers[:, np.arange(len(names)) != k])
    ]  # fmt: skip
    return [name for name in names if name not in derived] if len(derived) == 1 else names


def _is_derived(column: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether a column is the mean, median or sum of the others in every row, rounded as the column is."""
    rows = np.isfinite(column) & np.isfinite(others).all(axis=1)
    column, others = column[rows], others[rows]
    decimals = next((d for d in range(7) if np.allclose(column, np.round(column, d), rtol=0, atol=1e-9)), 7)
    unit = 10.0**-decimals
    apart = np.ptp(others, axis=1) > 1.5 * unit
    if np.count_nonzero(apart) < _EVIDENCE:
        return False
    computed = (others.mean(axis=1), np.median(others, axis=1), others.sum(axis=1))
    return any(bool((np.abs(column - each) <= unit / 2 + 1e-9).all()) for each in computed)


def _refuse_strangers(frame: pd.DataFrame, wide: pd.DataFrame, names: list[str]) -> None:
    """Refuse columns of which no two share a rating; they are rather the key and the votes of a long table."""
    said = [{form for form in canonical(wide[name]).columns[0] if form is not None} for name in names]
    said = [each for each in said if each]
    times = Counter(form for each in said for form in each)
    if len(said) < 3 or max(times.values()) > 1 or _in_steps(said):
        return
    choice = _composite(frame)
    advice = (
        to_choose("item", "rater", "vote")
        if choice is None
        else f"a long table is read by {to_type(**choice)}"
    )
    got = f"{', '.join(map(repr, names[:6]))}, of which no two share a rating"
    raise ValueError(Advised("a wide table must have a column of ratings per rater", advice, got=got))


def _in_steps(said: list[set[str]]) -> bool:
    """Whether all values are numbers, as of raters of a fine scale."""
    try:
        _ = [float(form) for each in said for form in each]
    except ValueError:
        return False
    return True


_MOST_KEYS = 3
"""So many columns may make the name of an item together."""


def _composite(frame: pd.DataFrame) -> dict[str, str | list[str]] | None:
    """Return columns of items, rater and vote by which each rater has one vote per item; None where none fit best.

    The rater is a column with a usual name; of several choices the one that fills most of the items by raters.
    """
    names = [str(name) for name in frame.columns if plain(name) and not plain(name).startswith("unnamed")]
    raters = [name for name in names if plain(name) in {"rater", *other_names("rater")}]
    if len(raters) != 1 or len(names) > 8:
        return None
    left = [name for name in names if name not in raters]
    found: list[tuple[float, int, bool, dict[str, str | list[str]]]] = []
    for vote in left:
        for size in range(1, _MOST_KEYS + 1):
            for key in combinations([name for name in left if name != vote], size):
                if frame.duplicated([*key, *raters]).any():
                    continue
                n_items = len(frame.drop_duplicates(list(key)))
                filled = len(frame) / (n_items * frame[raters[0]].nunique())
                called = plain(vote) in {"vote", *other_names("vote")}
                if n_items < len(frame):
                    choice: dict[str, str | list[str]] = {"item": list(key), "rater": raters[0], "vote": vote}
                    found.append((filled, -size, called, choice))
    if not found:
        return None
    best = max(one[:3] for one in found)
    choices = [one[3] for one in found if one[:3] == best]
    return choices[0] if len(choices) == 1 else None


def _alike_raters(wide: pd.DataFrame, names: list[str]) -> list[str]:
    """Return the columns whose values look like the same ratings: the largest group; refused where two are as large."""
    said = {name: {form for form in canonical(wide[name]).columns[0] if form is not None} for name in names}
    right = (
        {form for form in canonical(wide["label"]).columns[0] if form} if "label" in wide.columns else set()
    )
    groups: list[list[str]] = []
    for name in names:
        near = [
            group
            for group in groups
            if any(
                _are_alike(said[name], said[other]) or (said[name] | said[other]) <= right for other in group
            )
        ]
        groups = [group for group in groups if group not in near] + [[*(x for g in near for x in g), name]]
    groups = sorted((sorted(group, key=names.index) for group in groups), key=len, reverse=True)
    if len(groups) < 2 or len(groups[0]) == 1:
        return names
    if len(groups[0]) == len(groups[1]):
        asked = " or ".join(to_type(votes=group) for group in groups[:2])
        both = " and ".join(
            f"{', '.join(group[:4])} (such as {min(said[group[0]], default='')!r})" for group in groups[:2]
        )
        needed = "a wide table must have one kind of ratings"
        raise ValueError(Advised(needed, f"choose the raters with {asked}", got=both))
    return groups[0]


def _are_alike(one: set[str], other: set[str]) -> bool:
    """Whether two columns share half of the values of the one with fewer, or are numbers of overlapping ranges."""
    if not one or not other:
        return True  # a rater who never rated
    letters = {form for form in one | other if len(form) == 1}
    if all(map(_is_verdict, one | other)) and len({form.isupper() for form in letters}) < 2:
        return True  # a rater may name a side that no other names
    if 2 * len(one & other) >= min(len(one), len(other)):
        return True
    try:
        ranges = [(min(numbers), max(numbers)) for numbers in ([*map(float, one)], [*map(float, other)])]
    except ValueError:
        return False
    shared = min(high for _, high in ranges) - max(low for low, _ in ranges)
    return shared >= 0.5 * max(high - low for low, high in ranges) and min(len(one), len(other)) > 2


def _is_verdict(form: str) -> bool:
    """Whether a text is the letter of an answer, or says that no side is better."""
    return (len(form) == 1 and form.isalpha()) or form.lower() in NO_SIDE


def _is_name(wide: pd.DataFrame, name: str, raters: list[str]) -> bool:
    """Whether no value of a column stands twice, in it or in another one: as names of items do."""
    said = set(wide[name].dropna())
    return len(said) == len(wide) > 1 and not any(wide[x].isin(said).any() for x in raters if x != name)


def _texts(column: pd.Series) -> set[str]:
    return {str(text) for text in column.dropna().unique()}


def _is_a_voter(name: Any, column: pd.Series, said: Collection[str]) -> bool:
    """Whether a column with a short name of the round, such as ``t``, holds what others voted and no number."""
    if plain(name) not in other_names("round"):
        return False
    texts = _texts(column)
    return bool(texts & set(said)) and bool(pd.to_numeric(column, errors="coerce").isna().all())


def _named_keys(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str], bool, list[str]]:
    """Give what a wide table says of an item its standard name; return the keys, whether items have names, and notes.

    Names are in a column, or the index where that is more than a count of rows.
    """
    numbered = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
    wanted = ["item", *_OF_ITEMS] if numbered or "item" in frame.columns else _OF_ITEMS
    # A question of several items does not name them.
    names_items = [n for n in frame.columns if n != "question" or frame[n].is_unique]
    found = resolve(names_items, wanted)
    names = {column: field for field, (column,) in found.columns.items()}
    wide = frame.rename(columns=lambda name: names.get(str(name), name))
    if "item" not in wide.columns:
        wide = wide.rename_axis(index="item").reset_index()
    keys = ["item", *(name for name in _OF_ITEMS if name in wide.columns)]
    return wide, keys, not numbered or "item" in found.columns, found.taken_note()


def _which_round(round_number: int | None, n_rounds: int, taken: Any) -> list[str]:
    """Say that the last round was taken, where there are several and nobody chose, and which that is."""
    if round_number is not None or n_rounds < 2:
        return []
    rounds = np.unique(np.asarray(taken, dtype=np.int64)).tolist()
    which = f"round {rounds[0]}" if len(rounds) == 1 else f"rounds {rounds[0]} to {rounds[-1]}, by item"
    note = f"votes are from the last round in which raters had a turn ({which}); for another, ask with "
    return [note + setting("round_number", "...", "round")]


def _in_round(table: pd.DataFrame, item: str, round_number: int | None) -> pd.DataFrame:
    if round_number is not None:
        known = sorted({int(x) for x in table["round"].unique()})
        if round_number not in known:
            raise ValueError(f"round_number must be one of {known}; got {round_number}")
    last = table.groupby(item)["round"].transform("max") if round_number is None else round_number
    return table[table["round"] == last].copy()


def _one_per_item(table: pd.DataFrame, column: str, item: NDArray[np.int64], n_items: int) -> pd.Series:
    """Return what each item's rows say, where some row says it; two different values are refused."""
    codes, values = pd.factorize(table[column])
    given = np.flatnonzero(codes >= 0)
    first = np.full(n_items, -1, dtype=np.int64)
    first[item[given][::-1]] = codes[given][::-1]
    differs = given[codes[given] != first[item[given]]]
    if len(differs):
        row = int(differs[0])
        one, other = values[first[item[row]]], values[codes[row]]
        raise ValueError(
            f"{column} must be one per item; got {one!r} and {other!r} on item {table['item'].iloc[row]!r}"
        )
    return pd.Series(np.array([*values, None], dtype=object)[first[item]], index=table.index, dtype=object)


def _refuse_repeats(opened: Opened, frame: pd.DataFrame) -> None:
    """Refuse a second vote of a rater on an item, in its round; say which column tells the votes apart, if one does."""
    key = [name for name in ("item", "rater", "round") if name in frame.columns]
    if not {*_LONG} <= set(frame.columns) or not (again := frame.duplicated(key)).any():
        return
    item, rater = frame.loc[again, ["item", "rater"]].astype(object).iloc[0]
    known = {*_LONG, "label", "cluster", "round"}
    times = int(frame.groupby(key, dropna=False).size().max())
    runs = {"log", *other_names("log")}
    apart = [
        c
        for c in frame.columns
        if c not in known
        and (plain(str(c)) in runs or frame[c].nunique() <= 2 * times)
        and not frame.duplicated([*key, c]).any()
    ]
    names = opened.frame.columns if opened.frame is not None else opened.tables[0].names
    try:
        found = resolve(
            names, ["item"], columns={k: c for k, c in choice_of(opened.columns).items() if k == "item"}
        )
    except ValueError:
        return
    if "item" not in found.columns or not apart:
        return
    own = found.columns["item"]
    first = min(apart, key=lambda c: (plain(str(c)) not in runs, frame[c].nunique()))
    chosen = choice_of(opened.columns) | {"item": [*own, str(first)]}
    if not {"cluster", "question"} & set(frame.columns):
        chosen["cluster"] = own[0] if len(own) == 1 else list(own)
    got = f"{rater!r} on {item!r} twice, with different {str(first)!r}"
    step = f"make it a part of the item with {to_type(**chosen)}, or keep the rows of one {str(first)!r}"
    raise ValueError(Advised("a rater must judge an item once", step, got=got))


_MANY_REPEATS = 8
"""So many repeated votes are not all equal to the first by chance."""


def _without_repeats(
    table: pd.DataFrame, item: NDArray[np.int64], repeats: Repeats
) -> tuple[pd.DataFrame, list[str]]:
    rater, raters = pd.factorize(table["rater"])
    pair = pd.Series(item * len(raters) + rater)
    if pair.is_unique:
        return table, []
    again = pair.groupby(pair, sort=False).cumcount().to_numpy()
    if repeats == "refuse":
        item, rater = table[["item", "rater"]][again > 0].iloc[0]
        step = f"To count repeats as other raters, use {setting('repeats', 'separate')}."
        raise ValueError(
            Advised("a rater must judge an item once", step, ". ", got=f"{rater!r} on {item!r} twice")
        )
    n = int((again > 0).sum())
    said = f"repeated votes count as votes of other raters: {n} of {len(table)}"
    alike = table["vote"].groupby(pair.to_numpy()).nunique().le(1).all()
    if alike and n >= _MANY_REPEATS:
        text = f"{said}; all of them are equal to the first, and copies make raters agree, so remove them if they are"
        said = warning(text, "copies", n=n)
    name = [r if k == 0 else f"{r} ({k + 1})" for r, k in zip(table["rater"], again, strict=True)]
    return table.assign(rater=name), [said]
