"""Wide tables: a column of votes per agent, per round, or per both, turned into one row per turn."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from d3stats.log.column_names import ColumnError, Columns, Resolved, choice_of, plain, resolve, to_type
from d3stats.log.columns import Coded, together, unified
from d3stats.log.confidences import FIELDS as CONFIDENCES
from d3stats.log.confidences import columns_of_votes
from d3stats.log.problems import Advised
from d3stats.log.sheets import Sheet
from d3stats.values import is_missing_word, name_text

_ROUND_WORD = r"(?:rounds?|rd|rnd|r|turn|t|step|iteration|iter)"
_WIDE = (
    re.compile(rf"(?P<agent>){_ROUND_WORD}[\W_]*(?P<round>[0-9]{{1,9}})", re.IGNORECASE),
    re.compile(rf"(?P<agent>.+?)[\W_]+{_ROUND_WORD}[\W_]*(?P<round>[0-9]{{1,9}})", re.IGNORECASE),
    re.compile(rf"{_ROUND_WORD}[\W_]*(?P<round>[0-9]{{1,9}})[\W_]+(?P<agent>.+)", re.IGNORECASE),
)
NO_VOTES = frozenset(
    word
    for line in (
        "difficulty level seed temperature temp date time timestamp category topic subject domain split",
        "source dataset language lang confidence conf cost price latency duration year grade length score",
        "confidencepercent confidencepct confpercent confpct",
        "accuracy acc notes note comment comments text prompt context explanation rationale reasoning raw",
        "n count weight type subset index id row hash url user version group batch",
    )
    for word in line.split()
)
_DERIVED = frozenset(
    word
    for line in (
        "mean meanscore meanrating meanvote avg avgscore average averagescore averagerating median medianscore mode",
        "final finalanswer finalscore finalvote ensemble fold majority majorityvote plurality consensus aggregate",
        "aggregated std sd stddev variance",
    )
    for word in line.split()
)
_BESIDE = NO_VOTES | frozenset(
    (
        "reason",
        "reasons",
        "probability",
        "prob",
        "logprob",
        "certainty",
        "tokens",
        "thinking",
        "elapsed",
        "seconds",
        "ms",
    )
)
"""Words that beside the name of a column of votes say what a column tells of these votes."""
_NO_VOTE_ENDS = (
    *("tokens", "score", "text", "confidence", "time", "cost", "prob", "logprob", "count", "length"),
    *("confidencepercent", "confidencepct"),
)


def unfolded(sheet: Sheet, found: Resolved, columns: Columns) -> tuple[Sheet, Resolved]:
    """Turn a wide table into one row per turn; a long one comes back as it is.

    Raises
    ------
    ColumnError
        When the columns may be votes and may hold something else.
    """
    said = [(name, c) for name, c in choice_of(columns).items() if name in ("votes", "rounds")]
    if len(said) > 1:
        raise ValueError("columns must choose votes or rounds; got both")
    if said:
        key, chosen = said[0]
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        if (
            key == "votes"
            and "agent" in found.columns
            and not all(_WIDE[0].fullmatch(name) for name in names)
        ):
            found = found.without("agent")
        picked = resolve(found.unread, [key], columns={key: names}, what=sheet.name)
        votes = list(picked.columns[key])
        places = _round_places(votes, found, sheet) if key == "rounds" else _agent_places(votes, found)
        return _melted(sheet, found, votes, places)
    if {"vote", "correct"} & set(found.columns) or "debate" not in found.columns:
        return sheet, found
    votes = _vote_columns(sheet, found)
    return _melted(sheet, found, votes, _agent_places(votes, found)) if votes else (sheet, found)


def without_outcome(sheet: Sheet, found: Resolved, columns: Columns) -> tuple[Sheet, Resolved]:
    """Leave out a vote of no agent, such as a final answer, where other columns hold the votes."""
    if {"votes", "rounds"} & set(choice_of(columns)):
        return sheet, found.without("vote", "correct")
    own = {"vote", "correct"} & set(found.columns)
    if not own or "agent" in found.columns or "debate" not in found.columns or own & found.chosen:
        return sheet, found
    outcome = [name for field in sorted(own) for name in found.columns[field]]
    bare = replace(found.without(*own), unread=found.unread)
    try:
        votes = _vote_columns(sheet, bare)
    except ColumnError:
        return sheet, found
    if not votes:
        return sheet, found
    note = f"not read, because the votes are in columns of their own: {', '.join(outcome)}"
    return replace(sheet, notes=[*sheet.notes, note]), bare


def without_derived(names: Sequence[str]) -> list[str]:
    """Return the names without those of what is computed from votes or tells of them, such as a mean and a confidence.

    A column that tells of the votes in column ``x`` has a name like ``x_confidence``. At least two names are left.
    """
    voted = [name for name in names if plain(str(name)) not in _DERIVED]
    voted = voted if len(voted) > 1 else list(names)
    left = [name for name in voted if not _tells_of_another(name, voted)]
    return left if len(left) > 1 else voted


def _tells_of_another(name: object, names: Sequence[object]) -> bool:
    # A table in memory may have numbers as names.
    parts = re.split(r"[\W_]+", str(name))
    for k in range(1, len(parts)):
        for who, what in ((parts[:k], parts[k:]), (parts[k:], parts[:k])):
            if plain("".join(what)) in _BESIDE and any(
                plain(str(other)) == plain("".join(who)) for other in names if other != name
            ):
                return True
    return False


def is_wide_log(names: Collection[object], columns: Columns = None) -> bool:
    """Whether columns are named by agents and rounds: several of each, and each agent in each round."""
    named = [str(name) for name in names]
    places = [_place(name) for name in named]
    votes = [(who, number) for who, number in places if who and number and not _is_no_vote(who)]
    if len({who for who, _ in votes}) < 2 or len({number for _, number in votes}) < 2 or not _is_grid(votes):
        return False
    try:
        found = resolve(named, ["debate", "vote", "correct"], columns=columns).columns
    except ColumnError:
        return False
    return "debate" in found and not {"vote", "correct"} & set(found)


def _is_no_vote(name: str) -> bool:
    return plain(name) in NO_VOTES or plain(name).endswith(_NO_VOTE_ENDS)


def _place(name: str) -> tuple[str, str]:
    """Return the agent and the round that a column's name says, empty where it does not."""
    match = next((m for pattern in _WIDE if (m := pattern.fullmatch(name))), None)
    return (name, "") if match is None else (match["agent"], match["round"])


def _agent_places(votes: list[str], found: Resolved) -> list[tuple[str, str]]:
    """Return the agent and the round of each column, rounds only where all names say them."""
    places = [_place(name) for name in votes]
    has_agent = "agent" in found.columns or all(agent for agent, _ in places)
    # r1 and r2 without a column for the agent are raters; so are deepseek-r1 and command-r7.
    return places if has_agent and _is_grid(places) else [(name, "") for name in votes]


_NUMBERED = re.compile(r"(?P<agent>.*?)[\W_]*?(?P<round>[0-9]{1,9})\)?")


def _round_places(votes: list[str], found: Resolved, sheet: Sheet) -> list[tuple[str, str]]:
    """Return the agent and the round of each column of which the user says that it holds a round's votes."""
    places = _numbered(votes)
    if "agent" in found.columns:
        numbers = [number for _, number in places or ()]
        in_order = range(1, len(votes) + 1)
        return [
            ("", number) for number in (numbers if len(set(numbers)) == len(votes) else map(str, in_order))
        ]
    if not places or not _is_grid(places):
        raise ColumnError(
            "agent",
            f"rounds must be columns beside a column agent, or one for each agent and round whose names end in the "
            f"round; got {', '.join(votes[:8])} in {sheet.name}",
        )
    return places


def _numbered(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name before the number that ends each column's name, nothing where one has none."""
    read = [
        _place(name) if all(_place(name)) else (m["agent"] or "agent", m["round"]) if m else ("", "")
        for name in names
        for m in [_NUMBERED.fullmatch(name)]
    ]
    return read if all(number for _, number in read) else []


def _is_grid(places: Sequence[tuple[str, str]]) -> bool:
    """Whether each agent has each round, counted from 0 or 1 without a gap."""
    pairs = {(agent, int(number)) for agent, number in places if number}
    agents, rounds = {agent for agent, _ in pairs}, {number for _, number in pairs}
    first = min(rounds, default=2)
    return (
        len(pairs) == len(places) == len(agents) * len(rounds)
        and first in (0, 1)
        and max(rounds) - first + 1 == len(rounds)
    )


def _vote_columns(sheet: Sheet, found: Resolved) -> list[str]:
    """Return the columns that hold votes, none where this is no wide table."""
    left = [
        name
        for name in found.unread
        if name
        and not name.startswith("Unnamed: ")
        and not _is_no_vote(_place(name)[0])
        and (_place(name)[1] or (sheet.get(name).codes >= 0).any())
    ]
    has_agent = "agent" in found.columns
    if has_agent:
        left = [name for name in left if _place(name)[1] and not _place(name)[0]]
    left = without_derived(left)
    known = sheet.get(found.columns["label"][0]) if "label" in found.columns else None
    votes = _alike(
        {name: _texts(sheet.get(name)) for name in left}, set() if known is None else _texts(known)
    )
    if len(votes) < 2 - (has_agent and bool(votes)):
        return []
    places = [_place(name) for name in votes]
    with_round = any(number for _, number in places) and (has_agent or any(agent for agent, _ in places))
    doubtful = [name for name in left if name not in votes]
    if with_round:
        why = "" if _is_grid(places) else "their names do not say one agent and one round each"
    elif doubtful:
        why = f"{', '.join(map(repr, doubtful[:3]))} may hold something else"
    else:
        numbered = _numbered(votes)
        may_be = _is_grid(numbered) and len({agent for agent, _ in numbered}) > 1
        bare = all(_WIDE[0].fullmatch(name) or name.isdigit() for name in votes)
        why = "they may be agents or rounds" if may_be or bare else ""
    if why and doubtful and _is_long(sheet, found):
        return []
    if why:
        raise ColumnError(
            "vote",
            Advised(
                "a table without a column vote must have one column per agent",
                two_ways(votes, found),
                ": ",
                got=f"{', '.join(votes[:8])}, and {why}",
            ),
        )
    return votes


def two_ways(votes: Sequence[str], found: Resolved) -> str:
    """Say what to type where columns hold votes of agents, and what where they hold votes of rounds."""
    by_agent = f"name the columns with one agent's votes each by {to_type(votes=votes)}"
    numbered = _numbered(votes)
    if "agent" in found.columns:
        return f"name the columns with the votes of one round each by {to_type(rounds=votes)}, or {by_agent}"
    if not _is_grid(numbered):
        return by_agent
    one = len({agent for agent, _ in numbered}) == 1
    what = "the votes of a round" if one else "one agent's votes in the round at the end of its name"
    return f"{by_agent}, or with {to_type(rounds=votes)} where each holds {what}"


_FEW = 20
"""So many different numbers may be answers where nothing else says so."""


def is_row_each(sheet: Sheet, found: Resolved) -> bool:
    """Whether a debate, round and agent, as far as they are known, have one row, as in a wide table."""
    return _n_keys(sheet, found) == len(sheet.line)


def _is_long(sheet: Sheet, found: Resolved) -> bool:
    """Whether a debate, round and agent, as far as they are known, have several rows, as in a table of turns."""
    return len(sheet.line) >= 1.5 * _n_keys(sheet, found)


def _n_keys(sheet: Sheet, found: Resolved) -> int:
    keys = [c for name in ("debate", "round", "agent") for c in found.columns.get(name, ())]
    if not keys:
        return 0
    return len(np.unique(np.stack([sheet.get(c).codes for c in keys], axis=1), axis=0))


def alike_columns(sheet: Sheet, found: Resolved) -> list[str]:
    """Return the unread columns whose values are alike, as votes are."""
    known = _texts(sheet.get(found.columns["label"][0])) if "label" in found.columns else set()
    columns = {
        name: texts
        for name in found.unread
        if name and (texts := _texts(sheet.get(name))) and not _counts(name, texts, known)
    }
    return _alike(columns, known)


def _counts(name: str, values: set[str], known: set[str]) -> bool:
    """Whether a column seems to hold measurements, such as tokens, and no answers."""
    if _is_no_vote(name):
        return True
    return not known & values and len(values) > _FEW and all(value.isdecimal() for value in values)


def _texts(column: Coded) -> set[str]:
    """Return the texts that occur in a column, as answers are compared."""
    return {
        text for text in map(name_text, column.occurring()) if text is not None and not is_missing_word(text)
    }


def _alike(columns: Mapping[str, set[str]], known: set[str]) -> list[str]:
    """Return the columns whose values are answers: they share some with the labels or with each other."""

    def is_alike(name: str) -> bool:
        texts = columns[name]
        if not texts:
            return bool(_place(name)[1])  # nobody spoke in this round
        others = known.union(*(each for other, each in columns.items() if other != name))
        letters = all(len(text) == 1 and text.isalpha() for text in texts | others)
        return bool(others) and max(map(len, texts)) <= 80 and (letters or bool(texts & others))

    return [name for name in columns if is_alike(name)]


_TOKENS = ("tokens", "tokens_in", "tokens_out")


def _melted(
    sheet: Sheet, found: Resolved, votes: list[str], places: list[tuple[str, str]]
) -> tuple[Sheet, Resolved]:
    by_round = bool(places[0][1])
    if by_round and "round" in found.columns:
        raise ColumnError(
            "round", f"rounds must be in a column or in the columns' names; got both in {sheet.name}"
        )
    n, k = len(sheet.line), len(votes)
    of_turns = _TOKENS + (
        ("scores", "error", "model", "role", "persona", "temperature")
        if "agent" not in found.columns
        else ("scores", "error")
    )
    told, found = _confidences_beside(found, votes, places)
    of_turns += CONFIDENCES
    of_turns += ("text",)
    of_turns += ("tokens_source",) if by_round else ()
    # What a row says of its turns is said of none of them alone; a round's tokens are counted once.
    shared = [] if by_round else [name for name in _TOKENS if name in found.columns]
    found = found.without(*(name for name in of_turns if name not in shared))
    row = np.repeat(np.arange(n), k)
    codes, values = unified(*(sheet.get(name) for name in votes))
    long = {name: together([sheet.get(c) for c in several])[row] for name, several in found.columns.items()}
    long["vote"] = Coded(np.stack(codes, axis=1).reshape(-1), values)
    for field, columns in told.items():
        parts = [sheet.get(columns[name]) if name in columns else Coded.missing(n) for name in votes]
        own, texts = unified(*parts)
        long[field] = Coded(np.stack(own, axis=1).reshape(-1), texts)
    if "agent" not in long:
        agent = Coded.of([agent for agent, _ in places])
        long["agent"] = Coded(np.tile(agent.codes, n), agent.values)
    notes = []
    for name in shared:
        column = long[name]
        later = np.tile(np.arange(k), n) > 0
        codes_once = np.where(later & (column.codes >= 0), len(column.values), column.codes)
        long[name] = Coded(codes_once.astype(np.int32), [*column.values, "0"])
        notes.append(
            f"{name} of a row holds for all agents of the row; it is counted once, for {votes[0]!r}, and "
            "the others have 0, so tokens of single agents have no meaning"
        )
    kept = np.ones(n * k, dtype=np.bool_)
    if by_round:
        number = np.array([int(number) for _, number in places])
        named = Coded.of([str(int(number)) for _, number in places])
        long["round"] = Coded(np.tile(named.codes, n), named.values)
        # A debate ends with its last round in which somebody voted.
        played, debate = np.tile(number, n), long["debate"].codes
        last = np.full(len(long["debate"].values) + 1, number.min())
        has_vote = long["vote"].codes >= 0
        np.maximum.at(last, debate[has_vote], played[has_vote])
        kept = played <= last[debate]
    names = ", ".join(votes[:6]) + (f" and {len(votes) - 6} more" if len(votes) > 6 else "")
    what = (
        "the votes of one agent each"
        if not by_round
        else "the votes of one round each"
        if "agent" in found.columns
        else "the votes of one agent in one round each"
    )
    melted = Sheet(
        sheet.name,
        list(long),
        [column[kept] for column in long.values()],
        sheet.line[row][kept],
        sheet.problems,
        [
            f"a wide table: the columns {names} hold {what}; an empty cell is a missing vote",
            *notes,
            *sheet.notes,
        ],
        sheet.n_records - n + int(kept.sum()),
        sheet.may_have_commas,
    )
    used = {name for columns in told.values() for name in columns.values()}
    unread = tuple(name for name in found.unread if name not in votes and name not in used)
    of = {
        field: " + ".join(columns[name] for name in votes if name in columns)
        for field, columns in told.items()
    }
    if of:
        sheet_names = [of.get(name, name) for name in melted.names]
        melted = replace(melted, names=sheet_names)
    return melted, Resolved({name: (of.get(name, name),) for name in long}, found.chosen, unread)


def _confidences_beside(
    found: Resolved, votes: Sequence[str], places: Sequence[tuple[str, str]]
) -> tuple[dict[str, dict[str, str]], Resolved]:
    """Return for each field of confidences the column of each column of votes, and the fields without those.

    Raises
    ------
    ColumnError
        When the user chose columns whose names do not say whose votes they tell of.
    """
    chosen = [field for field in CONFIDENCES if field in found.chosen]
    names = [name for field in chosen for name in found.columns[field]] or found.unread
    told = columns_of_votes(votes, places, list(names), {name: _place(name) for name in names})
    if chosen:
        (field,) = chosen
        pairs = {vote: name for columns in told.values() for vote, name in columns.items()}
        if len(pairs) < len(names) and len(names) == len(votes):
            pairs = dict(zip(votes, names, strict=True))
        if len(pairs) < len(names):
            needed = (
                f"{field} must be one column for each column of votes in a wide table, or have their names"
            )
            such = to_type(**{field: [f"{name}_confidence" for name in votes[:3]]})
            raise ColumnError(field, Advised(needed, such, ": ", got=", ".join(names)))
        return {field: pairs}, found.without(field)
    if len(told) > 1:
        names = [name for columns in told.values() for name in columns.values()]
        first = list(told["confidence"].values())
        needed = "the confidences of a wide table must be all shares or all per cents"
        step = f"choose with {to_type(confidence=first)}"
        raise ColumnError("confidence", Advised(needed, step, got=", ".join(names)))
    return told, found
