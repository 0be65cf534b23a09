"""The arrays of :class:`d3stats.trajectories.Trajectories`, from the columns of a log or from a user's own arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._arrays import Ints
from d3stats._check import whole_numbers
from d3stats.log.columns import Coded, occurring, unified
from d3stats.log.consistency import Checked
from d3stats.log.scores import side_scores
from d3stats.polling import OF_PROTOCOL, Polling
from d3stats.values import RIGHT, WRONG, canonical

MISSING = -1
"""The code of a vote that was not cast or could not be read, of an unknown label, and of no verdict."""

BY_A_RULE = frozenset(
    (
        *("fixed_rounds", "unanimity", "ks_stable", "ks_equivalent", "supermajority", "ladder", "sprt"),
        *("e_process", "betting", "gap_posterior", "look_ahead", "adaptive_consistency", "esc_window"),
        *("gap_stable", "optimal", "token_budget", "tokens_unknown", "sign_agreement", "consensus"),
        *("declaration", "score_declaration", "chateval_turns", "wide_gap", "budget"),
        "stated_confidence",
        *("agreement_routing", "sprt_converged", "sprt_rejected", "wall_consensus", "wall_no_consensus"),
    )
)
"""Reasons of debates that a stopping rule, or a run's budget of tokens, ended before their last round."""

_OWN_ENDS = {"declaration": ("multi_persona",), "chateval_turns": ("chateval", "chateval_open")}
"""Reasons that are not a rule's in these protocols, which end by themselves for them."""

_ROUNDS_SPENT = ("exhausted", "round_cap", "negative_stands", "affirmative_stands", "no_conclusion")
"""Reasons of debates that played all rounds that their run allowed."""

_LARGEST = 200_000_000
"""Cells (debates x rounds x seats) up to which any table is unfolded; larger ones only where it is full."""


def arrays_of(
    checked: Checked, roles: Iterable[str] | None = None, *, by_name: bool = True
) -> dict[str, Any]:
    """Return the fields of a Trajectories."""
    items, turns = checked.items, checked.turns
    debates: list[str] = items.coded("debate").values
    row: Ints = turns.coded("debate").codes.astype(np.int64)
    by_rule = stopped_by_rule(checked)
    if by_name:
        order = np.array(sorted(range(len(debates)), key=debates.__getitem__), dtype=np.int64)
        if (order[1:] < order[:-1]).any():
            items, place = items[order], np.empty_like(order)
            place[order] = np.arange(len(order))
            debates, row = [debates[i] for i in order], place[row]
            by_rule = None if by_rule is None else by_rule[order]
    n = len(debates)
    if roles is not None:
        # A round in which only others spoke is a round without votes.
        kept = _of_roles(turns.coded("role"), roles)
        turns, row = turns[kept], row[kept]
    played = turns.numbers("round").astype(np.int64) - 1
    n_rounds = int(played.max(initial=-1)) + 1
    depth = np.zeros(n, dtype=np.int64)
    np.maximum.at(depth, row, played + 1)

    role = turns.coded("role")
    voted = turns.coded("vote").codes >= 0 if checked.coding == "answers" else turns.numbers("correct") >= 0
    voting = voting_roles(role, voted)
    has_seat = None if roles is not None or voting.all() else voting[role.codes]
    seat, panel, seats, speakers = _seats(row, turns.coded("agent"), has_seat, n)
    shape = (n, n_rounds, len(seats))
    _refuse_sparse(shape, debates, panel, len(turns))

    by_round = row * n_rounds + played
    label = items.coded("label")
    seated = slice(None) if has_seat is None else has_seat
    at, votes, correct = by_round[seated], turns.coded("vote")[seated], turns.numbers("correct")[seated]
    if checked.coding == "answers":
        codes, label_codes, answers = _answers(votes, label)
    else:
        codes = np.where(np.isnan(correct), MISSING, correct).astype(np.int32)
        label_codes, answers = np.ones(n, dtype=np.int32), (WRONG, RIGHT)
    cell = at * len(seats) + seat
    cube = np.full(shape, MISSING, dtype=np.int32)
    cube.reshape(-1)[cell] = codes
    given, confidence = turns.numbers("confidence")[seated], None
    if not np.isnan(given).all():
        confidence = np.full(shape, np.nan)
        confidence.reshape(-1)[cell] = given
    spoke = None
    if int((depth * panel).sum()) != len(cell):
        spoke = np.zeros(shape, dtype=np.bool_)
        spoke.reshape(-1)[cell] = True
    cluster, cluster_names, notes = _clusters(items)
    scores, sides, left_out = side_scores(items, turns, row, played, (n, n_rounds))
    log, question = items.coded("log"), items.coded("question")
    ties = _may_tie(items, voted="tie" in answers)
    polls, unread = _polls(
        checked, items, turns, row, played, depth, n_rounds, ties, chosen=roles is not None
    )
    known = polls.get("pollings", ())
    if "tie" not in answers and any(one.tie for one in known):
        # That two sides are tied is then an answer, for which no agent need have voted.
        counted = all(one.decides == "plurality" for one in known)
        if not counted or tally_rounds(cube, len(answers))[1].any():
            answers = (*answers, "tie")
    return {
        "votes": cube,
        "label": label_codes,
        "depth": depth,
        "spoke": spoke,
        "confidence": confidence,
        "panel": panel,
        "cluster": cluster,
        "answers": answers,
        "debates": tuple(debates),
        "seats": seats,
        "cluster_names": cluster_names,
        "scores": scores,
        "sides": sides,
        **_tokens(checked, turns, by_round, depth, n_rounds),
        "speakers": speakers,
        "groups": tuple(np.array([*log.values, ""], dtype=object)[log.codes])
        if (log.codes >= 0).any()
        else (),
        "questions": tuple(np.array([*question.values, ""], dtype=object)[question.codes])
        if (question.codes >= 0).any()
        else (),
        "coding": checked.coding,
        "stopped_by_rule": by_rule,
        **polls,
        "notes": (*checked.notes, *notes, *unread, *left_out),
    }


def _polls(
    checked: Checked,
    items: Any,
    turns: Any,
    row: Ints,
    played: Ints,
    depth: Ints,
    n_rounds: int,
    ties: NDArray[np.bool_],
    *,
    chosen: bool,
) -> tuple[dict[str, Any], list[str]]:
    """Return the rounds in which somebody was asked only for a vote, at which cost, how rounds are decided, and notes.

    A debate's record says so, or the protocol that it names with its usual settings. In other logs all who vote are
    taken to be heard.
    """
    stated, protocol = items.coded("polling"), items.coded("protocol")
    read = [_polling(text) for text in stated.values]
    own, notes = [polling for polling, _ in read], [note for _, note in read if note]
    usual = [OF_PROTOCOL.get(name) for name in protocol.values]
    if chosen:
        # Whose votes count is chosen, so their number decides.
        own, usual = ([one and replace(one, decides="plurality") for one in ones] for ones in (own, usual))
    every = tuple(dict.fromkeys(one for one in (*own, *usual) if one is not None))
    place: dict[Polling | None, int] = {one: i for i, one in enumerate(every)}
    by_protocol, by_record = (
        np.array([*(place.get(one, -1) for one in ones), -1], dtype=np.int16)[codes]
        for ones, codes in ((usual, protocol.codes), (own, stated.codes))
    )
    which = np.where(by_record >= 0, by_record, by_protocol)
    # Each protocol comes twice, with and without a tie among the answers.
    which = np.where(which >= 0, 2 * which + ties, which)
    used = np.unique(which[which >= 0])
    if not len(used):
        return {}, notes
    codes = np.full(2 * len(every) + 1, -1, dtype=np.int16)
    codes[used] = np.arange(len(used))
    which = codes[which]
    known = tuple(replace(every[i // 2], tie=bool(i % 2)) for i in used.tolist())
    found: dict[str, Any] = {
        "polling": which,
        "pollings": known,
        "ended_itself": _ended_itself(checked, items, which, known),
    }
    role = turns.coded("role")
    polls = np.zeros(len(row), dtype=np.bool_)
    for code, polling in enumerate(known):
        if polling.voters:
            only_votes = np.array([*(name == polling.voters for name in role.values), False])[role.codes]
            of_it = which[row] == code
            polls |= of_it & only_votes & ~np.isin(played + 1, polling.always)
    if not polls.any():
        return found, notes
    shape = (len(depth), n_rounds)
    asked = np.zeros(shape, dtype=np.bool_)
    asked[row[polls], played[polls]] = True
    # Other protocols, and rounds in which all are always asked, have nothing that another run would leave out.
    rounds = np.arange(1, n_rounds + 1)
    always = np.array(
        [np.isin(rounds, one.always if one and one.voters else rounds) for one in (*known, None)]
    )
    without = always[which] & (rounds <= depth[:, None])
    asked |= without
    costs = _tokens(checked, turns[polls], (row * n_rounds + played)[polls], depth, n_rounds)
    for kind, cost in costs.items():
        if cost is not None:
            cost[~asked] = np.nan
            cost[without] = 0.0
        found[f"poll_{kind}"] = cost
    return found | {"polled": asked}, notes


def _may_tie(items: Any, *, voted: bool) -> NDArray[np.bool_]:
    """Return the debates that list "tie" among their answers; those that list none take it where it occurs."""
    listed = items.coded("answers")
    found: NDArray[np.bool_] = np.array([*("tie" in one for one in listed.values), voted])[listed.codes]
    return found


def _polling(text: str) -> tuple[Polling | None, str]:
    """Return what a record says of its polling, or a note that it is not read."""
    try:
        return Polling.from_text(text), ""
    except (ValueError, TypeError) as error:
        return None, f"polling {text!r} is not read, because {error}"


def _ended_itself(
    checked: Checked, items: Any, which: NDArray[np.int16], known: tuple[Polling, ...]
) -> NDArray[np.bool_] | None:
    """Return the debates that their protocol ended, as it does under any stopping rule; None where none may."""
    if not any(one.ends for one in known):
        return None
    given = checked.verdicts.coded("stop_reason")
    names = items.coded("debate")
    row = np.full(len(names.values) + 1, -1, dtype=np.int64)
    row[names.codes] = np.arange(len(items))
    reason = np.full(len(items), -1, dtype=np.int32)
    at = row[checked.verdicts.coded("debate").codes]
    reason[at[at >= 0]] = given.codes[at >= 0]
    found = np.zeros(len(items), dtype=np.bool_)
    for code, polling in enumerate(known):
        own = np.array([*(str(word).strip() in polling.ends for word in given.values), False])[reason]
        found |= own & (which == code)
    return found


def stopped_by_rule(checked: Checked) -> NDArray[np.bool_] | None:
    """Return the debates that a stopping rule ended although their run allowed more rounds.

    None where no debate has a reason for its end. A rule that fires in the last round that is allowed cuts nothing off.
    Which round that is shows in debates of the same run that ended for want of rounds; where none did, or runs have no
    name, a debate is taken as cut.
    """
    items, turns, given = checked.items, checked.turns, checked.verdicts.coded("stop_reason")
    if not (given.codes >= 0).any():
        return None
    reason = np.full(len(items), -1, dtype=np.int32)
    reason[checked.verdicts.coded("debate").codes] = given.codes
    words = [str(word).strip() for word in given.values]

    def ended(names: Iterable[str]) -> NDArray[np.bool_]:
        return np.array([*(word in names for word in words), False])[reason]

    protocol, run = items.coded("protocol"), items.coded("log")
    stopped = ended(BY_A_RULE)
    for own, names in _OWN_ENDS.items():
        stopped &= ~(
            ended([own]) & np.array([*(each in names for each in protocol.values), False])[protocol.codes]
        )
    depth = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(depth, turns.coded("debate").codes, turns.numbers("round").astype(np.int64))
    width = len(protocol.values) + 1
    group = np.unique((run.codes + 1).astype(np.int64) * width + protocol.codes, return_inverse=True)[1]
    last = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(last, group, depth)
    deepest = depth == last[group]
    seen = np.zeros(len(items), dtype=np.bool_)
    seen[group[ended(_ROUNDS_SPENT) & deepest]] = True
    cut: NDArray[np.bool_] = stopped & ~((run.codes >= 0) & seen[group] & deepest)
    return cut


def seat_names(n: int) -> tuple[str, ...]:
    """Return names for seats that different agents share."""
    return tuple(f"agent {i + 1}" for i in range(n))


def voting_roles(role: Coded, voted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which roles, by code, have seats: all but those that never vote in the whole log.

    Advocates, aggregators, summarizers and a judge beside a jury speak and are paid for, but have no vote that could
    be missing. Turns without a role, at the end, have seats; if no agent votes, all agents have seats.
    """
    n = len(role.values)
    if not n:
        return np.ones(1, dtype=np.bool_)
    votes = np.append(occurring([role.codes[voted]], n), True)
    occurs = np.append(occurring([role.codes], n), (role.codes < 0).any())
    silent = occurs & ~votes
    return ~silent if (occurs & votes).any() else np.ones_like(votes)


def _of_roles(role: Coded, roles: Iterable[str]) -> NDArray[np.bool_]:
    wanted = set(roles)
    kept = np.array([*(value in wanted for value in role.values), False], dtype=np.bool_)[role.codes]
    if not kept.any():
        known = ", ".join(sorted(map(str, role.occurring()))) or "none"
        raise ValueError(
            f"roles must occur in the log; got {sorted(wanted)}; the roles of the log are: {known}"
        )
    return kept


def _seats(
    row: Ints, agent: Coded, has_seat: NDArray[np.bool_] | None, n: int
) -> tuple[Ints, Ints, tuple[str, ...], NDArray[np.int8] | None]:
    """Seat agents in the order of their names within each debate; names vary between runs, seats do not.

    Returns the seats of the turns that have one, the panels, the names of the seats, and who of those who spoke has a
    seat (:attr:`Trajectories.speakers <d3stats.trajectories.Trajectories>`).
    """
    names = sorted(range(len(agent.values)), key=lambda code: _natural(agent.values[code]))
    rank = np.zeros(len(names) + 1, dtype=np.int64)
    rank[names] = np.arange(len(names))
    pair = row * len(names) + rank[agent.codes]
    seated = pair if has_seat is None else pair[has_seat]
    known, at = distinct(seated, n * len(names))
    of, who = known // max(len(names), 1), known % max(len(names), 1)
    panel = np.bincount(of, minlength=n).astype(np.int64)
    opens = np.cumsum(panel) - panel
    place = np.arange(len(known)) - opens[of]
    n_seats = int(panel.max(initial=0))
    speakers = None
    if has_seat is not None:
        everyone, _ = distinct(pair, n * len(names))
        spoke = np.bincount(everyone // len(names), minlength=n)
        speakers = np.full((n, int(spoke.max())), -1, dtype=np.int8)
        within = np.arange(len(everyone)) - (np.cumsum(spoke) - spoke)[everyone // len(names)]
        speakers[everyone // len(names), within] = np.isin(everyone, known)
    first = np.full(n_seats, -1, dtype=np.int64)
    first[place[::-1]] = who[::-1]
    alike = bool((who == first[place]).all())
    seats = tuple(agent.values[names[code]] for code in first) if alike else seat_names(n_seats)
    return place[at], panel, seats, speakers


def _natural(name: str) -> tuple[str, int, str]:
    """Sort "agent 10" after "agent 9"."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, int(digits) if digits else -1, name


def distinct(codes: Ints, n: int) -> tuple[Ints, Ints]:
    """Return the different codes of 0 to n - 1, sorted, and where each entry is among them."""
    if n > 4 * len(codes) + 1_000_000:
        known, at = np.unique(codes, return_inverse=True)
        return known, at
    occurs = np.zeros(n, dtype=np.bool_)
    occurs[codes] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def _answers(votes: Coded, label: Coded) -> tuple[NDArray[np.int32], NDArray[np.int32], tuple[str, ...]]:
    """Give each answer that occurs a code, in sorted order."""
    (cast, right), values = unified(votes, label)
    occurs = np.zeros(len(values) + 1, dtype=np.bool_)
    occurs[cast] = True
    occurs[right] = True
    order = sorted(np.flatnonzero(occurs[:-1]), key=values.__getitem__)
    code = np.full(len(values) + 1, MISSING, dtype=np.int32)
    code[order] = np.arange(len(order), dtype=np.int32)
    return code[cast], code[right], tuple(values[i] for i in order)


def _clusters(items: Any) -> tuple[Ints, tuple[str, ...], list[str]]:
    """Return the cluster of each debate, their names, and a word on the column that decided where two differ."""
    cluster, question = items.coded("cluster"), items.coded("question")
    (own, asked, named), values = unified(cluster, question, items.coded("debate"))
    codes, used = pd.factorize(np.where(own >= 0, own, np.where(asked >= 0, asked, named)))
    notes = []
    questions = len(np.unique(asked[asked >= 0]))
    if (own >= 0).any() and "question" in items.columns and questions != len(used):
        notes.append(
            f"the column cluster defines the resampling units: {len(used):,} clusters, "
            f"{questions:,} questions"
        )
    return codes.astype(np.int64), tuple(values[code] for code in used), notes


def _tokens(
    checked: Checked, turns: Any, by_round: Ints, depth: Ints, n_rounds: int
) -> dict[str, NDArray[np.float64] | None]:
    """Sum tokens over a round, all together and by kind; a round with any unrecorded turn has an unrecorded total.

    A round in which nobody who is counted spoke cost nothing.
    """
    found: dict[str, NDArray[np.float64] | None] = dict.fromkeys(("tokens", "tokens_in", "tokens_out"))
    for kind in ("tokens",) if checked.totals else ("tokens_in", "tokens_out"):
        given = turns.numbers(kind)
        if kind in turns.columns and not np.isnan(given).all():
            total = np.bincount(by_round, given, minlength=len(depth) * n_rounds).astype(np.float64)
            total[(np.arange(n_rounds) >= depth[:, None]).ravel()] = np.nan
            found[kind] = total.reshape(len(depth), n_rounds)
    sent, written = found["tokens_in"], found["tokens_out"]
    if sent is not None and written is not None:
        found["tokens"] = sent + written
    else:
        # One kind alone is neither a total nor a split.
        found["tokens_in"] = found["tokens_out"] = None
    return found


def _refuse_sparse(shape: tuple[int, int, int], names: list[str], panel: Ints, n_turns: int) -> None:
    """Refuse a table that one debate blows up: every debate gets the seats of the largest panel."""
    size = shape[0] * shape[1] * shape[2]
    if size > _LARGEST and size > 20 * n_turns:
        raise ValueError(
            f"debates must have similar sizes to form one array; got {shape[0]:,} debates of up to "
            f"{shape[1]:,} rounds and {shape[2]:,} agents (in debate {names[int(panel.argmax())]!r}) "
            f"from {n_turns:,} turns: check the columns round and agent"
        )


# -------------------------------------------------------------------- arrays of one's own

_LEAST = np.iinfo(np.int32).min


def refuse_repeats(name: str, names: Sequence[str]) -> None:
    """Raise when a name occurs twice."""
    if len(set(names)) < len(names):
        index = pd.Index(names)
        raise ValueError(f"{name} must have different names; got {index[index.duplicated()][0]!r} twice")


def _refuse_codes(name: str, values: NDArray[Any]) -> None:
    """Refuse arrays of whole numbers from -1 on: -1 is the code of a missing vote, and would be taken for an answer."""
    if values.dtype.kind == "i" and values.size and values.min() == MISSING and (values >= 0).any():
        raise ValueError(
            f"{name} must be answers if answers= is not given; got -1, the code of a missing vote, in an "
            "array of integers (give answers= for codes, None for a missing vote, or the text '-1' for "
            "that answer)"
        )


def fields_from_arrays(
    votes: ArrayLike,
    label: ArrayLike | None,
    cluster: Sequence[Any] | None,
    answers: Sequence[str] | None,
    tokens: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    debates: Sequence[str] | None,
    groups: Sequence[str],
    missing_values: Iterable[str] | None,
) -> dict[str, Any]:
    """Return codes and names in canonical form; `tokens` are all, prompt and completion."""
    # A list of values of several types would become text; the type of an array says more than its values.
    typed = answers is not None or hasattr(votes, "dtype")
    array = np.asarray(votes, dtype=None if typed else object)
    if array.ndim != 3:
        raise ValueError(f"votes must have shape (debates, rounds, seats); got shape {array.shape}")
    n = len(array)
    truth: Any = label
    if not hasattr(label, "dtype"):
        truth = np.full(n, None, dtype=object) if label is None else np.asarray(label, dtype=object)
    if truth.shape != (n,):
        raise ValueError(f"label must have one value per debate ({n}); got shape {truth.shape}")
    notes: list[str] = []
    if answers is None:
        _refuse_codes("votes", array)
        _refuse_codes("label", truth)
        read = canonical(array.ravel(), truth, missing_values=missing_values)
        factorized, texts = pd.factorize(np.concatenate(read.columns), sort=True)
        codes, label_codes = np.split(factorized.astype(np.int32), [array.size])
        names, notes = tuple(map(str, texts)), read.notes("votes", "labels", answers=True)
    else:
        names = _names("answers", list(answers))
        codes = whole_numbers("votes", array.ravel(), minimum=_LEAST).astype(np.int32)
        known = [MISSING if pd.isna(x) else x for x in truth]
        label_codes = whole_numbers("label", np.array(known), minimum=_LEAST).astype(np.int32)
    of_debates = _names("debates", range(1, n + 1) if debates is None else debates, names=True)
    refuse_repeats("debates", of_debates)
    clusters: NDArray[np.object_] = np.full(n, None, dtype=object)
    if cluster is not None:
        grouped = canonical(cluster, missing_values=missing_values, names=True)
        (clusters,) = grouped.columns
        notes += grouped.notes("clusters")
    if len(clusters) != n:
        raise ValueError(f"cluster must have one value per debate ({n}); got {len(clusters)}")
    # A debate whose cluster is unknown is alone in its own.
    alone = [f"debate {d}" if c is None else c for c, d in zip(clusters, of_debates, strict=False)]
    cluster_codes, cluster_names = pd.factorize(np.array(alone, dtype=object))
    (runs,) = canonical(groups, missing_values=missing_values, names=True).columns
    total, sent, written = (None if x is None else np.array(x, dtype=np.float64) for x in tokens)
    if total is None and sent is not None and written is not None and sent.shape == written.shape:
        total = sent + written
    return {
        "votes": codes.reshape(array.shape).astype(np.int32, copy=False),
        "label": label_codes,
        "cluster": cluster_codes.astype(np.int64),
        "answers": names,
        "debates": of_debates,
        "cluster_names": tuple(map(str, cluster_names)),
        "tokens": total,
        "tokens_in": sent,
        "tokens_out": written,
        "groups": tuple("" if run is None else run for run in runs),
        "notes": tuple(notes),
    }


def _names(what: str, given: Any, *, names: bool = False) -> tuple[str, ...]:
    (named,) = canonical(given, missing_values=(), names=names).columns
    if any(name is None for name in named):
        raise ValueError(f"{what} must have one name each; got {list(given)[:8]}")
    return tuple(named)


# -------------------------------------------------------------------- camps

_FEW = 4
"""Up to so many answers are counted one by one; more are compared seat with seat."""


def tally_rounds(votes: NDArray[np.int32], n_answers: int) -> tuple[NDArray[Any], ...]:
    """Count camps in every round.

    Parameters
    ----------
    votes : ndarray of int32, shape (debates, rounds, seats)
        Codes of answers, ``MISSING`` where there is no vote.
    n_answers : int
        How many answers there are; the codes are 0 to ``n_answers - 1``.

    Returns
    -------
    winner : ndarray of int32, shape (debates, rounds)
        Answer of the largest camp, ``MISSING`` without a vote; on a tie the one in the lowest seat.
    tied : ndarray of bool
    lead, second, cast : ndarray of int32
        The largest camp, the second largest, and all votes.

    Examples
    --------
    >>> winner, tied, lead, second, cast = tally_rounds(np.array([[[0, 1, 1], [0, 1, -1]]], dtype=np.int32), 2)
    >>> winner.tolist(), tied.tolist(), lead.tolist(), second.tolist(), cast.tolist()
    ([[1, 0]], [[False, True]], [[2, 1]], [[1, 1]], [[3, 2]])
    """
    n_debates, n_rounds, n_seats = votes.shape
    shape = (n_debates, n_rounds)
    # Seat by seat on contiguous arrays: a short last axis is several times slower.
    seats = [np.ascontiguousarray(votes[:, :, s]) for s in range(n_seats)]
    cast = np.zeros(shape, dtype=np.int32)
    for seat in seats:
        cast += seat != MISSING
    sizes = _by_answer(seats, n_answers, shape) if n_answers <= _FEW else _by_seat(seats)
    lead = np.zeros(shape, dtype=np.int32)
    for size in sizes:
        np.maximum(lead, size, out=lead)
    winner = np.full(shape, MISSING, dtype=np.int32)
    for seat, size in zip(reversed(seats), reversed(sizes), strict=True):
        np.copyto(winner, seat, where=(size == lead) & (seat != MISSING))
    second = np.zeros(shape, dtype=np.int32)
    for seat, size in zip(seats, sizes, strict=True):
        np.maximum(second, size * (seat != winner), out=second)
    return winner, (second == lead) & (lead > 0), lead, second, cast


def _by_answer(
    seats: list[NDArray[np.int32]], n_answers: int, shape: tuple[int, int]
) -> list[NDArray[np.int32]]:
    """Return the size of each seat's camp, answers counted one by one."""
    sizes = [np.zeros(shape, dtype=np.int32) for _ in seats]
    for answer in range(n_answers):
        mine = [seat == answer for seat in seats]
        total = np.zeros(shape, dtype=np.int32)
        for one in mine:
            total += one
        for one, size in zip(mine, sizes, strict=True):
            np.copyto(size, total, where=one)
    return sizes


def _by_seat(seats: list[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
    """Return the size of each seat's camp, seats compared two by two."""
    sizes = [(seat != MISSING).astype(np.int32) for seat in seats]
    for i, seat in enumerate(seats):
        for j in range(i + 1, len(seats)):
            same = (seat == seats[j]) & (seat != MISSING)
            sizes[i] += same
            sizes[j] += same
    return sizes
