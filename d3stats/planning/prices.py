"""What did the rounds of a log cost in dollars? Every turn at the price of its model, its role and its kind of token.

Completions are a large share of a first round and a small one of a late round, where prompts hold the transcript.
One blended price for all rounds makes early rounds too cheap and late rounds too expensive, so rounds are
priced one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import meant, nonnegative, number, probability
from d3stats._words import percent
from d3stats.note import warning
from d3stats.polling import OF_PROTOCOL
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.trajectories import Trajectories
from d3stats.worlds.tokens import PER_MILLION, PriceTable

__all__ = [
    "Price",
    "RoundDollars",
    "check_models",
    "dollars_by_round",
    "price_logs",
    "price_turns",
    "spending",
]


Price = float | tuple[float, float]
"""Dollars per million tokens: one price, or the prices of prompt and of completion tokens."""

ASSUMED_OUTPUT_SHARE = 0.15
"""Completion tokens as a share of all, where neither the log nor the user says it."""


def dollars_by_round(log: LogSource, price: Price, **reading: Unpack[Reading]) -> Floats:
    """Price the tokens of every round of every debate.

    Returns
    -------
    ndarray of float, shape (debates, rounds)
        NaN where the tokens that are priced were not recorded.

    Raises
    ------
    ValueError
        When the log has no tokens, or two prices meet a log that does not record both kinds apart.

    Examples
    --------
    >>> log = Trajectories.from_arrays([[["A"], ["A"]]], tokens_in=[[100, 900]], tokens_out=[[50, 50]])
    >>> dollars_by_round(log, (1.0, 10.0)).tolist()
    [[0.0006, 0.0014]]
    """
    log = as_trajectories(log, **reading)
    if isinstance(price, (tuple, list, np.ndarray)):
        asked, answered = nonnegative("price", price, size=2)
        if log.tokens_in is None or log.tokens_out is None:
            raise ValueError(
                "price must be one number when the log does not record prompt and completion tokens "
                "separately; got two prices; blend them, or record tokens_in and tokens_out"
            )
        return np.asarray((log.tokens_in * asked + log.tokens_out * answered) / PER_MILLION)
    blended = number("price", price, minimum=0.0)
    if log.tokens is None:
        raise ValueError("price must come with tokens in the pilot; got no debate with tokens in every round")
    return np.asarray(log.tokens * blended / PER_MILLION)


@dataclass(frozen=True, eq=False)
class RoundDollars:
    """Cost by round.

    Attributes
    ----------
    dollars : ndarray of float, shape (debates, rounds)
        Dollars of all turns of the round; NaN where one of them has no tokens recorded.
    note : str
        At which prices.
    polls : ndarray of float, shape (debates, rounds), or None
        The part of `dollars` that was paid for votes alone, NaN in a round without a poll; see ``d3stats.polling``.
    warnings : tuple of str
        That turns have the prices of another model than the log names.
    """

    dollars: Floats
    note: str
    polls: Floats | None = None
    warnings: tuple[str, ...] = ()


def price_turns(
    turns: pd.DataFrame,
    log: Trajectories,
    prices: PriceTable,
    *,
    model: str | None = None,
    role_models: Mapping[str, str] | None = None,
    roles: Iterable[str] | None = None,
    output_share: float | None = None,
) -> RoundDollars:
    """Price every turn by its model and its kinds of tokens, and sum over the turns of a round.

    A turn has the prices of its role's model in `role_models`; else those of `model`; else those of the model that
    the log names, which must be in the table. A turn of which the log names no model has those of the only model there.

    Parameters
    ----------
    turns : DataFrame
        As :func:`d3stats.log.read_log` gives them.
    log : Trajectories
        Made of these turns, with the same `roles`; the dollars have its debates and rounds.
    prices : PriceTable
    model : str, optional
        Whose prices all turns have that `role_models` does not name.
    role_models : mapping of str to str, optional
        Models by role.
    roles : iterable of str, optional
        Only the turns of these roles.
    output_share : float, optional
        Completion tokens as a share of all, the same in every turn; by default as logged, and .15 where the log
        holds totals only.

    Examples
    --------
    >>> turns = pd.DataFrame({"debate": ["1", "1"], "round": [1, 2], "agent": ["a", "a"], "vote": ["A", "A"],
    ...     "tokens_in": [100, 900], "tokens_out": [50, 50]})
    >>> log = Trajectories.from_frame(turns)
    >>> price_turns(turns, log, PriceTable("2025-01-01", {"mine": (1.0, 10.0)})).dollars.tolist()
    [[0.0006, 0.0014]]
    """
    if roles is not None and "role" in turns.columns:
        turns = turns[turns["role"].isin(set(roles))]
    names = _models(turns, prices, model, role_models or {})
    codes, used = pd.factorize(names, sort=True)
    asked, answered = (
        np.array([prices.models[name] for name in used], dtype=np.float64).reshape(-1, 2)[codes].T
    )
    sent, written = _numbers(turns, "tokens_in"), _numbers(turns, "tokens_out")
    split = bool((~np.isnan(sent + written)).any())
    if output_share is not None:
        share, source = probability("output_share", output_share), "as given"
    else:
        share, source = ASSUMED_OUTPUT_SHARE, "assumed, because the log does not record both kinds separately"
    if output_share is None and split:
        cached = np.nan_to_num(_numbers(turns, "tokens_cached"))
        if (cached > sent).any():
            at = int(np.flatnonzero(cached > sent)[0])
            raise ValueError(
                f"tokens_cached must be at most tokens_in; got {cached[at]:g} of {sent[at]:g} in debate "
                f"{turns['debate'].iloc[at]!r}, round {turns['round'].iloc[at]}"
            )
        kept = np.array([prices.cached.get(name, prices.models[name][0]) for name in used], dtype=np.float64)[
            codes
        ]
        paid = sent * asked + written * answered - cached * (asked - kept)
        how = "prompt and completion tokens of every turn as logged"
        dear = (cached > 0) & np.array([name not in prices.cached for name in names], dtype=bool)
        if dear.any():
            how += (
                f"; {int(cached[dear].sum()):,} cached prompt tokens have the full price, because the table has no "
                f"cached price of {', '.join(sorted(map(str, set(names[dear]))))}"
            )
    else:
        total = sent + written if split else _numbers(turns, "tokens")
        paid = total * ((1 - share) * asked + share * answered)
        how = f"{percent(share, digits=0)} of all tokens counted as completion tokens ({source})"
    if bool(np.isnan(paid).all()):
        raise ValueError("prices must come with tokens in the log; got no turn with tokens")
    dollars = np.where(log.reached(), 0.0, np.nan)
    row = pd.Index(log.debates).get_indexer(pd.Index(turns["debate"].astype(str)))
    played = turns["round"].to_numpy(dtype=np.int64) - 1
    if (row < 0).any() or (played >= log.n_rounds).any():
        raise ValueError("turns must belong to the log; got a debate or a round that the log does not have")
    np.add.at(dollars, (row, played), paid / PER_MILLION)
    said = ", ".join(
        f"{name} ({_per(prices.models[name])}"
        + (f", cached {prices.cached[name]:g}" if name in prices.cached else "")
        + ")"
        for name in used
    )
    logged = _texts(turns, "model")
    other = sorted(
        {f"{own} as {name}" for own, name in zip(logged, names, strict=True) if own not in (None, name)}
    )
    warned: tuple[str, ...] = ()
    if other:
        text = f"turns are priced as chosen, not as logged: {', '.join(other[:3])}"
        warned = (warning(text, "prices of another model", n=len(other), examples=other),)
    note = f"dollars are at the prices of {said} per million prompt and completion tokens on {prices.date}; {how}"
    if log.polled is None:
        return RoundDollars(dollars, note, None, warned)
    voters = {polling.voters for polling in OF_PROTOCOL.values() if polling.voters}
    only_votes = pd.Series(_texts(turns, "role")).isin(voters).to_numpy()
    polls = np.where(log.polled, 0.0, np.nan)
    np.add.at(polls, (row[only_votes], played[only_votes]), paid[only_votes] / PER_MILLION)
    if log.poll_tokens is not None:
        polls[log.poll_tokens == 0] = 0.0  # asked under every rule
    return RoundDollars(dollars, note, polls, warned)


def price_logs(
    logs: Mapping[str, tuple[pd.DataFrame, Trajectories]],
    prices: PriceTable,
    *,
    model: str | None = None,
    role_models: Mapping[str, str] | None = None,
    roles: Iterable[str] | None = None,
    output_share: float | None = None,
) -> dict[str, RoundDollars]:
    """Price the turns of several logs at one table, log by log; see :func:`price_turns`.

    A role of `role_models` may be absent from some logs, not from all.

    Parameters
    ----------
    logs : mapping of str to (DataFrame, Trajectories)
        Turns and arrays of each log, by its name.
    prices, model, role_models, roles, output_share
        As for :func:`price_turns`.

    Returns
    -------
    dict of str to RoundDollars

    Raises
    ------
    ValueError
        When a model has no prices, or a role speaks in no log; of several logs, the message names one.

    Examples
    --------
    >>> turns = pd.DataFrame({"debate": ["1"], "round": [1], "agent": ["a"], "vote": ["A"], "tokens": [1000]})
    >>> log, prices = Trajectories.from_frame(turns), PriceTable("2025-01-01", {"m": (1.0, 2.0)})
    >>> round(float(price_logs({"mine": (turns, log)}, prices)["mine"].dollars[0, 0]), 6)
    0.00115
    """
    given = role_models or {}
    check_models(prices, model, given)
    heard = {
        name: set(turns["role"].dropna()) if "role" in turns.columns else set()
        for name, (turns, _) in logs.items()
    }
    everywhere: set[str] = set().union(*heard.values())
    found = {}
    for name, (turns, t) in logs.items():
        own = {role: m for role, m in given.items() if role in heard[name] or role not in everywhere}
        try:
            found[name] = price_turns(
                turns, t, prices, model=model, role_models=own, roles=roles, output_share=output_share
            )
        except ValueError as error:
            raise ValueError(f"{error} (log {name})" if len(logs) > 1 else str(error)) from None
    return found


def spending(log: LogSource, dollars: Floats | None = None, **reading: Unpack[Reading]) -> pd.DataFrame:
    """Add up what the rounds of a log cost.

    Parameters
    ----------
    log : Trajectories, or what :func:`d3stats.as_trajectories` takes
    dollars : ndarray of float, shape (debates, rounds), optional
        As :func:`price_turns` or :func:`dollars_by_round` gives them.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    DataFrame
        A row per round, and a last one of all rounds, whose ``round`` is missing. The columns are ``debates`` that
        played it; ``unrecorded``, those of them whose tokens are unknown and left out of the sums; ``tokens_in,
        tokens_out`` (where recorded separately); ``tokens, tokens_per_debate``; and ``dollars, dollars_per_debate``,
        which are missing without prices.

    Raises
    ------
    ValueError
        When the log has no tokens.

    Examples
    --------
    >>> log = Trajectories.from_arrays([[["A"], ["A"]]], tokens_in=[[100, 900]], tokens_out=[[50, 50]])
    >>> spending(log)[["round", "tokens_in", "tokens"]].values.tolist()
    [[1, 100.0, 150.0], [2, 900.0, 950.0], [<NA>, 1000.0, 1100.0]]
    """
    log = as_trajectories(log, **reading)
    if log.tokens is None:
        raise ValueError("log must have tokens to compute its cost; got none")
    amounts = {
        "tokens_in": log.tokens_in,
        "tokens_out": log.tokens_out,
        "tokens": log.tokens,
        "dollars": dollars,
    }
    played = log.reached()
    rows = []
    for at in (*log.rounds, None):
        of = np.ones(log.n_rounds, dtype=bool) if at is None else np.arange(log.n_rounds) == at - 1
        here = played[:, of]
        known = (here & ~np.isnan(log.tokens[:, of])).any(axis=1)
        row: dict[str, object] = {
            "round": at,
            "debates": int(here.any(axis=1).sum()),
            "unrecorded": int((here & np.isnan(log.tokens[:, of])).any(axis=1).sum()),
        }
        for name, amount in amounts.items():
            row[name] = np.nan if amount is None else float(np.nansum(np.where(here, amount[:, of], 0.0)))
            if name in ("tokens", "dollars"):
                row[f"{name}_per_debate"] = row[name] / known.sum() if known.any() else np.nan
        rows.append(row)
    return pd.DataFrame(rows).astype({"round": "Int64"})


def _per(pair: tuple[float, float]) -> str:
    return " and ".join(f"{price:g}" for price in pair)


def _numbers(turns: pd.DataFrame, column: str) -> Floats:
    if column not in turns.columns:
        return np.full(len(turns), np.nan)
    return np.asarray(pd.to_numeric(turns[column]).to_numpy(dtype=np.float64, na_value=np.nan))


def check_models(prices: PriceTable, model: str | None, role_models: Mapping[str, str]) -> None:
    """Refuse a model that has no prices."""
    for name in (*role_models.values(), *([] if model is None else [model])):
        if name not in prices.models:
            raise ValueError(
                f"model must be one of {_priced(prices)}; got model={name!r}{meant(name, prices.models)}"
            )


def _priced(prices: PriceTable) -> str:
    return ", ".join(repr(name) for name in sorted(prices.models))


def _models(
    turns: pd.DataFrame, prices: PriceTable, model: str | None, role_models: Mapping[str, str]
) -> NDArray[np.object_]:
    """Return the model whose prices each turn has."""
    check_models(prices, model, role_models)
    role = _texts(turns, "role")
    for name in role_models:
        if name not in set(role):
            raise ValueError(
                f"role_models must name roles of the turns, here {_listed(role)}; got the role {name!r}"
                f"{meant(name, {str(known) for known in role if known is not None})}"
            )
    if model is not None:
        names = np.full(len(turns), model, dtype=object)
    else:
        names = _texts(turns, "model")
        if len(prices.models) == 1:
            names[names == None] = next(iter(prices.models))  # noqa: E711  # elementwise
    for name, other in role_models.items():
        names[role == name] = other
    unknown = [name for name in pd.unique(names) if name not in prices.models]
    if unknown:
        got = "none" if unknown == [None] else f"turns of {_listed(np.array(unknown, dtype=object))}"
        raise ValueError(
            f"model must be one of {_priced(prices)}; got {got}; add their prices to the table, or choose whose "
            "prices they have with model= (--model)"
        )
    return names


def _texts(turns: pd.DataFrame, column: str) -> NDArray[np.object_]:
    if column not in turns.columns:
        return np.full(len(turns), None, dtype=object)
    text = turns[column].astype(object)
    return np.asarray(text.where(text.notna(), None).to_numpy(dtype=object).copy())


def _listed(names: NDArray[np.object_]) -> str:
    return ", ".join(sorted({"no name" if name is None else repr(str(name)) for name in names}))
