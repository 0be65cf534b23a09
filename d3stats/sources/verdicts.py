"""Verdicts of judges on pairs of answers, read from tables, debate logs and trajectories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Ints
from d3stats._check import choice, shown
from d3stats._words import Advised, setting
from d3stats.inputs.labels import ItemStrata, StrataOf
from d3stats.inputs.lines import place_of
from d3stats.inputs.verdicts import ONE_JUDGE, PAIR, TIE, Judgments, Votes
from d3stats.log.column_names import to_choose, to_type
from d3stats.note import MISSING_VALUES, SPELLINGS, kind_of, warning, without_column
from d3stats.plausibility import NO_SIDE, judged, name_signs, names_alike, several_labels, warnings_of
from d3stats.sources.item_tables import Fields, beside_items, unread_note, with_parts
from d3stats.sources.opened import Reading, is_cube, open
from d3stats.sources.places import (
    as_of_answers,
    meaning_of_votes,
    order_of_swaps,
    votes_as_places,
    votes_for_models,
    votes_of_scores,
)
from d3stats.sources.strata import item_strata
from d3stats.trajectories import MISSING, Trajectories
from d3stats.values import RIGHT, WRONG, canonical

if TYPE_CHECKING:
    from d3stats.log.frames import DebateLog

__all__ = ["DECISION", "FIELDS", "as_judgments", "judge_and_order", "judgments_with_strata"]


DECISION = "decision"
"""Name of the protocol as a judge; its verdicts are the decisions of its debates."""

_ORDER_OF = {"A": "AB", "B": "BA", "1": "AB", "2": "BA", "MODEL_A": "AB", "MODEL_B": "BA"}
_FIRST_IN_NAME = re.compile(r"^(?P<judge>.*), (?P<side>[AB12]) first$")
_ORDER_IN_NAME = re.compile(r"^(?P<judge>.*?)\s*\(?(?:order )?(?P<order>1-2|2-1)\)?(?P<again> again)*$")


_ANSWERS = {"A": 0, "1": 0, "MODEL_A": 0, "B": 1, "2": 1, "MODEL_B": 1, "TIE": TIE, "TIE (BOTHBAD)": TIE}
_ORDERS = {"AB": 0, "12": 0, "1-2": 0, "BA": 1, "21": 1, "2-1": 1}
_TEXTS = ("family_a", "family_b", "judge_family", "persona")
_COLUMNS = ("item", "judge", "cluster", "debate", "vote", "label", "order", "length_a", "length_b", *_TEXTS)
FIELDS = Fields(
    ("item", "vote", "label", "cluster", "judge"),
    ("item", "vote"),
    tuple(name for name in _COLUMNS if name != "debate"),
)


def as_judgments(
    source: Any,
    *,
    votes: Votes | None = None,
    decisions: bool = False,
    personas: bool = False,
    needs: Sequence[str] = (),
    **reading: Unpack[Reading],
) -> Judgments:
    """Read verdicts on pairs of answers, or any votes of personas, from a table, a log or trajectories.

    Parameters
    ----------
    source : Judgments, or what :func:`d3stats.open` takes
        A table of verdicts has ``item`` and ``vote`` (A, B, tie, or missing; 1 and 2 are read as A and B). Without
        votes the side with the higher of ``score_a`` and ``score_b`` is the vote. As an audit needs them, there are
        ``judge``, ``order`` (AB or BA: which was shown first), ``label`` (A, B or tie), ``cluster`` (the question; by
        default each item is its own), ``length_a, length_b``, ``family_a, family_b, judge_family`` and ``persona``.
        A debate log is read by its last votes:
        a judge is an agent that votes; the order is the one that its name ends in, (1-2) or (2-1), or else which
        candidate the debate showed first. Where debates say that an item is their question, else it is the debate.
    votes : {"answer", "slot"}, optional
        Whether a vote names the answer, or the place where it was shown (A the first). By default the answer; votes
        that could be either are refused: first and second, or 1 and 2 beside the orders AB and BA. Where an item
        has the models in ``model_a`` and ``model_b`` in either order, these tell the order, and votes name the column.
    decisions : bool
        Whether what the debates of a log decided is a judge too, called "decision", where the log has decisions and
        says what was shown first.
    personas : bool
        Whether personas are compared: votes may then be for any answers, of one coding with the labels, and the jurors
        of a log that records personas go by these (a juror without one has none).
    needs : sequence of str
        Columns that there must be besides, such as the lengths of the answers.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    Judgments

    Raises
    ------
    ValueError
        When a column is absent, a value cannot be read, or an item changes its label or cluster.
    TypeError
        When the source is of another kind.

    Examples
    --------
    >>> as_judgments(pd.DataFrame({"item": [1, 1], "order": ["AB", "BA"], "vote": ["A", "B"]}), votes="slot").vote
    array([0, 0])
    """
    if votes is not None:
        choice("votes", votes, ("answer", "slot"))
    if isinstance(source, Judgments):
        if not personas and source.answers != PAIR:
            raise ValueError(
                f"votes must be for A, B or tie in an audit of pairs; got votes for {list(source.answers[:5])}"
            )
        open(source, **reading)  # refuses settings of reading, because these verdicts were read already
        if votes not in (None, source.votes):
            raise ValueError(
                f"votes must be left out for verdicts, because as_judgments read them as {source.votes!r}; "
                f"got {votes!r}"
            )
        return _with(source, needs)
    opened = open(source, **reading)
    missing_values = opened.reading.get("missing_values")
    of_a_log = opened.is_log(FIELDS)
    if not of_a_log:
        read = with_parts(opened.items(FIELDS), either_order=True)
        table, taken = read.frame.reset_index(drop=True), list(read.notes)
        table, scored = votes_of_scores(table)
        table, swaps = order_of_swaps(table, opened.columns)
        table, votes, models = votes_for_models(table, votes)
        taken += [*scored, *swaps, *models]
        if opened.paths and not {"item", "vote"} & set(table.columns):
            needed = f"{opened.name} must have the columns item and vote, or those of a log"
            got = ", ".join(map(str, table.columns[:20]))
            raise ValueError(Advised(needed, to_choose("item", "vote"), got=got))
    elif opened.has_records:
        log = opened.log()
        asked = (list(log.items["question"]), log.items["label"])
        doubt = several_labels(*asked) if log.coding == "answers" else ""
        taken = [*([warning(doubt, "questions with several labels")] if doubt else []), *log.notes]
        table = _from_log(log, decisions=decisions, personas=personas)
    elif opened.kind == "arrays" or is_cube(opened.value):
        t = opened.trajectories()
        several = [f for f in t.findings() if f.kind == "questions with several labels"]
        taken = [*warnings_of(several), *t.notes]
        table = _from_trajectories(t, personas=personas)
    else:
        raise TypeError(f"source must be a DataFrame, Trajectories or a path; got {opened.name}")
    if of_a_log and votes is None:
        votes = "answer"
    return _with(_coded(table, votes, missing_values, taken, personas), needs)


def judgments_with_strata(
    source: Any,
    strata: StrataOf,
    *,
    votes: Votes | None = None,
    decisions: bool = False,
    personas: bool = False,
    needs: Sequence[str] = (),
    **reading: Unpack[Reading],
) -> tuple[Judgments, ItemStrata | None]:
    """Return verdicts, as :func:`as_judgments` reads them, and the strata of their items where these are asked for."""
    kinds = None
    if strata is not None and isinstance(source, Judgments):
        kinds = _strata_of_verdicts(source, strata)
        source = replace(source, notes=tuple(without_column(source.notes, kinds.column)))
    elif strata is not None:
        source, reading = open(source, **reading), Reading()
        kinds, source = item_strata(source, strata, FIELDS), source.aside(strata)
    data = as_judgments(source, votes=votes, decisions=decisions, personas=personas, needs=needs, **reading)
    return data, kinds


def _strata_of_verdicts(data: Judgments, strata: StrataOf) -> ItemStrata:
    """Return the strata of verdicts that were read: they are in the table."""
    if isinstance(strata, str) and strata not in data.table.columns:
        raise ValueError(
            f"strata must be a column of the verdicts ({', '.join(map(str, data.table.columns))}), or a mapping of "
            f"item to stratum; got {strata!r}"
        )
    return item_strata(data.table, strata, FIELDS)


def _with(data: Judgments, needs: Sequence[str]) -> Judgments:
    """Refuse verdicts without these columns."""
    absent = [name for name in needs if name not in data.table.columns]
    if absent:
        needed = f"verdicts must have the columns {list(needs)} for this audit"
        debates = to_type(item="debate", judge="agent")
        step = f"{to_choose(*absent)}; a table of debates in one round is read as verdicts with {debates}"
        raise ValueError(Advised(needed, step, got=f"none of {absent}"))
    return data


def _coded(
    table: pd.DataFrame,
    votes: Votes | None,
    missing_values: Iterable[str] | None,
    taken: Sequence[str] = (),
    personas: bool = False,
) -> Judgments:
    absent = [name for name in ("item", "vote") if name not in table.columns]
    if absent:
        needed = f"a table of verdicts must have the columns item and vote; it lacks {absent}"
        raise ValueError(Advised(needed, to_choose(*absent)))
    if table.empty:
        raise ValueError("a table of verdicts must have rows; got none")
    table, notes, answers = _canonical(table, missing_values, personas)
    item, items = _names(table, "item")
    judge, judges = _names(table, "judge") if "judge" in table else (np.zeros_like(item), (ONE_JUDGE,))
    cluster, clusters = _names(table, "cluster") if "cluster" in table else (item, items)
    known = _ANSWERS if answers == PAIR else {answer: code for code, answer in enumerate(answers)}
    order = _codes(table, "order", _ORDERS)
    if answers == PAIR:
        table, votes, meant = meaning_of_votes(table, order, votes)
        taken = [*taken, *meant]
    votes = votes or "answer"
    vote, label = (_codes(table, name, known) for name in ("vote", "label"))
    if votes == "slot":
        if answers != PAIR:
            needed = f"{setting('votes', 'slot')} must come with votes for A, B or tie"
            raise ValueError(Advised(needed, got=f"votes for {list(answers[:5])}"))
        unknown = (order == MISSING) & (vote != MISSING)
        if unknown.any():
            needed = f"{setting('votes', 'slot')} needs the order of every verdict"
            raise ValueError(Advised(needed, got=f"none {_first(table, unknown)}"))
        vote = np.where(np.isin(vote, (0, 1)), vote ^ np.maximum(order, 0), vote)
    elif answers == PAIR and (contrary := votes_as_places(vote, order, label, item, judge)):
        taken = [warning(contrary, "meaning of votes"), *taken]
    table, label, places = as_of_answers(table, item, order, label, items, votes)
    notes = (*places, *notes)
    for name, codes in (("cluster", cluster), ("label", label)):
        _constant(name, codes, item, items)
    doubts = warnings_of(
        judged(
            np.array(items, dtype=object)[item],
            np.array(judges, dtype=object)[judge],
            vote,
            label,
            answers=answers,
        )
    )
    doubts += warnings_of(name_signs(items))
    families = [table[name] for name in ("family_a", "family_b", "judge_family") if name in table]
    alike = names_alike(
        persona=table.get("persona", ()), family=[name for column in families for name in column.unique()]
    )
    doubts += [warning(alike, "names in several spellings")] if alike else []
    if "judge" not in table:
        alone = f"there is no column judge, so all verdicts belong to one judge, called {ONE_JUDGE!r}"
        taken = [*taken, alone]
    notes = (*doubts, *taken, *notes)
    names = (items, judges, clusters)
    return Judgments(item, judge, cluster, vote, order, label, *names, table, votes, notes, answers)


def _canonical(
    table: pd.DataFrame, missing_values: Iterable[str] | None, personas: bool = False
) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """Write names and answers in one form; say what was done, which columns nothing reads, and what the answers are."""
    forms: dict[str, Any] = {}
    notes: list[str] = []
    coded = ("vote", "label", "order")
    for name in (name for name in ("item", "judge", "cluster", *_TEXTS, *coded) if name in table):
        words = () if name in ("item", "judge") else missing_values
        read = canonical(table[name], missing_values=words, names=True)
        (forms[name],) = read.columns
        plain = name == "persona" and {word.casefold() for word in read.missing} <= {
            "none"
        }  # it says so itself
        what = f"{name}s" if name in coded else f"values of {name}"
        said = [] if plain else read.notes(what, answers=name in coded)
        notes += [note for note in said if name not in coded or kind_of(note) == MISSING_VALUES]
    answers = PAIR
    if personas and "vote" in table and not _of_pairs(forms):
        given = [name for name in ("vote", "label") if name in table]
        read = canonical(*(table[name] for name in given), missing_values=missing_values)
        forms |= dict(zip(given, read.columns, strict=True))
        answers = tuple(dict.fromkeys(x for column in read.columns for x in column if x is not None))
        if read.merged:
            notes += [note for note in read.notes("votes", "labels") if kind_of(note) == SPELLINGS]
    notes += [*beside_items(table, _COLUMNS), *unread_note(table, _COLUMNS)]
    return table.assign(**forms), tuple(notes), answers


def _of_pairs(forms: Mapping[str, Any]) -> bool:
    """Whether all votes and labels are for A, B or a tie."""
    said = {x for name in ("vote", "label") for x in forms.get(name, ()) if x is not None}
    return all(str(x).upper() in _ANSWERS for x in said)


def _names(table: pd.DataFrame, name: str) -> tuple[Ints, tuple[str, ...]]:
    missing = table[name].isna().to_numpy()
    if missing.any():
        raise ValueError(f"{name} must be named; got a missing name {_first(table, missing)}")
    codes, names = pd.factorize(table[name].astype(str))
    return codes.astype(np.int64), tuple(map(str, names))


def _codes(table: pd.DataFrame, name: str, meaning: dict[str, int]) -> Ints:
    if name not in table:
        return np.full(len(table), MISSING, dtype=np.int64)
    column = table[name]
    absent = column.isna()
    written = column.astype(str)
    codes = (written.str.upper() if meaning in (_ANSWERS, _ORDERS) else written).map(meaning)
    bad = (codes.isna() & ~absent).to_numpy()
    if bad.any():
        wanted: Sequence[str] = ("A", "B", "tie") if meaning is _ANSWERS else ("AB", "BA")
        raise ValueError(
            f"{name} must be one of {', '.join(wanted)} or missing; "
            f"got {shown(column[bad].iloc[0])} {_first(table, bad)}{_ADVICE.get(name, '')}"
        )
    return np.asarray(codes.where(~absent).fillna(MISSING), dtype=np.int64)


_ADVICE = {
    "vote": "; a vote may also name a model, where columns model_a and model_b do",
    "order": "; write AB where A was shown first, BA where B was",
}


def _first(table: pd.DataFrame, bad: NDArray[np.bool_]) -> str:
    """Say where the first of the bad rows stands in what was read; some rows may have been left out since."""
    return place_of(table, table.index[int(np.argmax(bad))])


def _constant(name: str, codes: Ints, item: Ints, items: Sequence[str]) -> None:
    known = codes != MISSING
    first = np.full(len(items), MISSING, dtype=np.int64)
    rows = np.flatnonzero(known)[::-1]
    first[item[rows]] = codes[rows]
    bad = known & (codes != first[item])
    if bad.any():
        where = items[item[int(np.argmax(bad))]]
        raise ValueError(f"{name} must be the same in all rows of an item; it changes in {where!r}")


def _from_log(log: DebateLog, *, decisions: bool, personas: bool = False) -> pd.DataFrame:
    """Return a row per debate and voting agent; with `decisions` also one for what each debate decided.

    With `personas` any votes are taken, and where personas are recorded the rows are those of the roles that have some.
    The order is what an agent's name tells, or else which candidate the debate showed first. Where debates say that, an
    item is the question, so that its debates in either order meet; else it is the debate.
    """
    from d3stats.log.frames import seated

    turns, verdicts = log.turns[seated(log.turns)], log.verdicts
    items = log.items.set_index("debate")
    if not personas:
        options = _options(items) if log.coding == "answers" else {}
        if options:
            turns, verdicts = _as_pairs(turns, "vote", options), _as_pairs(verdicts, "decision", options)
            items = _as_pairs(_as_pairs(items.reset_index(), "label", options), "first", options).set_index(
                "debate"
            )
        _refuse(set(map(str, turns["vote"].dropna())) if log.coding == "answers" else {"right or wrong"})
    elif log.coding == "correctness":
        turns = turns.assign(vote=turns["correct"].map({0: WRONG, 1: RIGHT}).astype(object))
        items = items.assign(label=RIGHT)
    recorded = personas and "persona" in turns and bool(turns["persona"].notna().any())
    if recorded:
        role = turns["role"].fillna("")
        turns = turns[role.isin(set(role[turns["persona"].notna()]))]
    last = turns.sort_values("round", kind="stable").drop_duplicates(["debate", "agent"], keep="last")
    parts = [judge_and_order(str(agent)) for agent in last["agent"]]
    seats = last[["debate", "vote"]].reset_index(drop=True)
    seats["judge"] = [name for name, _ in parts]
    seats["order"] = pd.Series([order for _, order in parts], dtype=object)
    known = bool(items["first"].notna().any())
    if decisions and known and verdicts["decision"].notna().any():
        decided = verdicts[["debate", "decision"]].rename(columns={"decision": "vote"})
        # First, because it is what the protocol stands for; a judge who decides alone stands for himself.
        own = seats[["debate", "vote"]].dropna()
        alone = not seats["debate"].duplicated().any() and set(own.itertuples(index=False, name=None)) == set(
            decided.dropna().itertuples(index=False, name=None)
        )
        if not alone:
            seats = pd.concat([decided.assign(judge=DECISION, order=None), seats], ignore_index=True)
    if recorded:
        seats["judge"] = ONE_JUDGE
        table = _about(seats, items.reindex(seats["debate"]).assign(log=None), known)
        return table.assign(persona=last["persona"].to_numpy(dtype=object))
    return _about(seats, items.reindex(seats["debate"]), known)


def _options(items: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Return which two options of a question are its A and B, by debate, where debates show options in several orders.

    They are the two options that its debates showed first; of a question with two options, besides a tie, these.
    """
    found: dict[str, dict[str, str]] = {}
    given = items[items["answers"].notna()]
    tied = [any(str(answer).casefold() in NO_SIDE for answer in answers) for answers in given["answers"]]
    ordered = given[given["first"].notna() | pd.Series(tied, index=given.index, dtype=bool)]
    for _, debates in ordered.groupby("question", sort=False):
        answers = tuple(map(str, debates["answers"].iloc[0]))
        two = tuple(answer for answer in answers if answer.casefold() not in NO_SIDE)
        firsts = tuple(answer for answer in answers if answer in set(debates["first"]))
        pair = two if len(two) == 2 else firsts
        meant = [_ANSWERS.get(answer.upper()) for answer in pair]
        clear = {answer.upper() for answer in answers} <= set(_ANSWERS) and len(set(meant)) == len(meant)
        if len(pair) == 2 and not clear:
            found |= {str(debate): dict(zip(pair, "AB", strict=True)) for debate in debates.index}
    return found


def _as_pairs(table: pd.DataFrame, column: str, options: dict[str, dict[str, str]]) -> pd.DataFrame:
    """Write the two options that are audited as A and B, and a tie as such; another option is none."""
    cells = zip(table["debate"], table[column], strict=True)
    named = [
        options[debate].get(cell, "tie" if str(cell).casefold() in NO_SIDE else None)
        if debate in options
        else cell
        for debate, cell in cells
    ]
    return table.assign(**{column: pd.Series(named, dtype=object, index=table.index)})


def _about(seats: pd.DataFrame, items: pd.DataFrame, known: bool) -> pd.DataFrame:
    """Add to every verdict what its debate says; `known` is whether debates say what was shown first."""
    run = items["log"].to_numpy(dtype=object)
    several = known and len(set(items["log"].dropna())) > 1
    runs = list(zip(seats["judge"], run, strict=True))
    judge = [name or (str(of) if pd.notna(of) else "judge") for name, of in runs]
    shown = np.array([_ORDER_OF.get(str(first).upper()) for first in items["first"]], dtype=object)
    told = seats["order"].to_numpy(dtype=object)
    debate = seats["debate"].to_numpy(dtype=object)
    asked = np.where(items["first"].notna().to_numpy(), items["question"].to_numpy(dtype=object), debate)
    group = next((items[c] for c in ("cluster", "question") if items[c].notna().all()), None)
    return pd.DataFrame(
        {
            "item": asked,
            "debate": debate,
            "judge": [f"{of}: {name}" for name, of in zip(judge, run, strict=True)] if several else judge,
            "order": np.where(pd.notna(told), told, shown),
            "vote": seats["vote"].to_numpy(),
            "label": items["label"].to_numpy(),
            "cluster": debate if group is None else group.to_numpy(),
        },
        index=debate,
    )


def _from_trajectories(t: Trajectories, *, personas: bool = False) -> pd.DataFrame:
    """Return a row per debate and taken seat, named as the seats are; with `personas` votes may be any."""
    if not personas:
        _refuse(set(t.answers) if t.coding == "answers" else {"right or wrong"})
    names, debates = np.array([*t.answers, None], dtype=object), np.asarray(t.debates, dtype=object)
    spoke = t.had_turns()
    # The last turn of each seat by itself, as of a file: a jury may have voted before the debate's last round.
    at = spoke.shape[1] - 1 - np.argmax(spoke[:, ::-1], axis=1)
    last = np.take_along_axis(t.votes, at[:, None], axis=1)[:, 0]
    debate, seat = np.nonzero(spoke.any(axis=1))
    parts = [judge_and_order(name) for name in t.seats]
    judge = np.array([name or "judge" for name, _ in parts], dtype=object)
    order = np.array([order for _, order in parts], dtype=object)
    return pd.DataFrame(
        {
            "item": debates[debate],
            "judge": judge[seat],
            "order": order[seat],
            "vote": names[last[debate, seat]],  # MISSING, -1, is the last name: None
            "label": names[t.label[debate]],
            "cluster": np.asarray(t.cluster_names, dtype=object)[t.cluster[debate]],
        },
        index=debates[debate],
    )


def judge_and_order(agent: str) -> tuple[str, str | None]:
    """Return the judge ("" where the name is all order) and the order that an agent's name tells."""
    side = _FIRST_IN_NAME.match(agent)
    if side is not None:
        return side["judge"].strip(), _ORDER_OF[side["side"]]
    found = _ORDER_IN_NAME.match(agent)
    return (agent, None) if found is None else (found["judge"].strip(), found["order"])


def _refuse(voted: set[str]) -> None:
    strange = sorted(vote for vote in voted if vote.upper() not in _ANSWERS)
    if strange:
        shown = [vote[:60] for vote in strange[:5]]
        raise ValueError(f"a log must hold votes for A, B or tie (or 1, 2, tie); got votes for {shown}")
