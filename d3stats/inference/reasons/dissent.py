"""Which stated reasons go with a dissenting vote, and can a disagreement be traced to its reasons.

A debate is *disputed* where one answer has more than half of the votes cast (the majority) and another answer has a
vote (the dissent). A reason is named where its pattern occurs. A disagreement *has an axis* where each side names a
reason that the other side does not, as in D3's examples (section 5.8): accuracy against comprehensiveness, safety
against helpfulness. Jurors who name reasons at random have axes too. The share is therefore compared with the one that
is expected when the dissenting votes are dealt out at random among the rationales of the same debate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Bools, Floats, Ints
from d3stats._words import counted
from d3stats.inference.comparison.multiplicity import Family, adjust
from d3stats.inputs.texts import Texts
from d3stats.resampling import ONE_CLUSTER, cluster_t, cluster_totals, ratios

__all__ = ["DISSENT", "MAJORITY", "REASONS", "Disputed", "disputed", "named_reasons", "reasons_table"]

MAJORITY, DISSENT = "majority", "dissent"

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "relevance": r"\b(?:ir)?relevan(?:t|ce|tly)\b|\b(?:on|off)[- ]topic\b",
        "accuracy": r"\b(?:in)?accura(?:te|tely|cy|cies)\b|\bcredib(?:le|ility)\b|\bfactual(?:ly)? (?:errors?|mistakes?"
        r"|(?:in)?correct\w*|accura\w+)\b",
        "depth": r"\bdepths?\b|\bin-depth\b|\bdeep(?:er|ly)?\b|\bthorough(?:ly|ness)?\b|\b(?:in)?complete(?:ly|ness)?\b"
        r"|\bcomprehensive(?:ly|ness)?\b|\bsuperficial(?:ly)?\b",
        "clarity": r"\bclarity\b|\b(?:un)?clear(?:er|est|ly)?\b|\b(?:in)?coheren(?:t|ce|tly)\b|\blogical flow\b"
        r"|\bwell[- ](?:organi[sz]ed|structured)\b",
        "reasoning": r"\breasoning\b|\b(?:well|poorly)[- ]reasoned\b|\b(?:il)?logical(?:ly)?\b(?! flow)|\bevidence\b"
        r"|\bfactual support\b|\b(?:un|well[- ])supported\b",
        "addressing the opponent": r"\bopponents?\b|\bopposing (?:side|argument|point)s?\b|\brebut(?:s|ted|tals?)?\b"
        r"|\bcounter-?(?:argument|point)s?\b",
        "safety": r"\b(?:un)?safe(?:r|st|ly|ty)?\b|\bharm(?:s|ful|less|lessness)?\b",
        "helpfulness": r"\b(?:un)?helpful(?:ly|ness)?\b|\buseful(?:ly|ness)?\b",
    }
)
"""Patterns of the six criteria that D3's judge scores (appendix D.2) and of two that its section 5.8 names besides."""

MOST_DEALS = 2_000
"""Up to so many ways to deal out the dissenting votes of a debate all are counted; beyond it, so many drawn ones."""


@dataclass(frozen=True, eq=False)
class Disputed:
    """The camps of the debates.

    Attributes
    ----------
    camp : ndarray of object, shape (rationales,)
        "majority", "dissent", or "" where the vote is missing or nothing has more than half of the votes.
    row : ndarray of int
        The rationales of disputed debates in which both camps have one.
    debate, cluster : ndarray of int
        Debate and cluster of these rationales, codes 0, 1, ...
    dissents : ndarray of bool
        Dissents of these rationales.
    notes : tuple of str
    """

    camp: NDArray[np.object_]
    row: Ints
    debate: Ints
    cluster: Ints
    dissents: Bools
    notes: tuple[str, ...]

    @property
    def n_debates(self) -> int:
        """The number of disputed debates."""
        return int(self.debate.max(initial=-1)) + 1

    def without(self, left_out: Bools) -> Disputed:
        """Leave out the debates in which one of these rationales has a camp."""
        keep = ~np.isin(self.debate, self.debate[left_out[self.row]])
        debate, cluster = (
            pd.factorize(codes[keep])[0].astype(np.int64) for codes in (self.debate, self.cluster)
        )
        return replace(self, row=self.row[keep], debate=debate, cluster=cluster, dissents=self.dissents[keep])


def disputed(said: Texts) -> Disputed:
    """Tell majority and dissent in each debate, by all votes that were cast in the round of the rationales."""
    panel = said.turns.iloc[said.panel][["debate", "vote"]]
    debates = pd.unique(said.turns["debate"])
    votes = panel[panel["vote"].notna()]
    if votes.empty:
        none = np.zeros(0, dtype=np.int64)
        camp = np.full(len(said.rationales), "", dtype=object)
        why = "no agent voted, so there is no dissent to trace"
        return Disputed(camp, none, none, none, none.astype(np.bool_), (why,))
    cast = votes.groupby(["debate", "vote"], sort=False).size().rename("n").reset_index()
    total = cast.groupby("debate")["n"].sum()
    lead = cast.loc[cast.groupby("debate")["n"].idxmax()].set_index("debate")
    strict = 2 * lead["n"] > total
    unanimous = lead["n"] == total
    of = said.turns.iloc[said.rationales]
    answer, has_lead = (s.reindex(of["debate"]).to_numpy() for s in (lead["vote"], strict.astype(object)))
    known = of["vote"].notna().to_numpy(dtype=np.bool_) & (has_lead == True)  # noqa: E712  # missing is no lead
    camp = np.where(known, np.where(of["vote"].to_numpy() == answer, MAJORITY, DISSENT), "").astype(object)
    both = pd.DataFrame({"debate": of["debate"].to_numpy(), "camp": camp})
    sides = both[both["camp"] != ""].groupby("debate")["camp"].nunique()
    usable = set(sides.index[sides == 2])
    row = np.flatnonzero(both["debate"].isin(usable) & (camp != ""))
    counts = {
        "voted": len(total),
        "tied": int((~strict).sum()),
        "unanimous": int(unanimous.sum()),
        "used": len(usable),
        "silent": len(debates) - len(total),
    }
    debate, _ = pd.factorize(both["debate"].iloc[row])
    cluster, _ = pd.factorize(of["cluster"].iloc[row])
    return Disputed(
        camp, row, debate.astype(np.int64), cluster.astype(np.int64), camp[row] == DISSENT, _said(counts)
    )


def _said(n: Mapping[str, int]) -> tuple[str, ...]:
    open_ = n["voted"] - n["tied"] - n["unanimous"]
    parts = {
        "unanimous": n["unanimous"],
        "with a majority and a dissent": open_,
        "left out because no answer has more than half of the votes": n["tied"],
        "without a vote": n["silent"],
    }
    listed = ", ".join(f"{k:,} {what}" for what, k in parts.items() if k)
    notes = [f"{counted(n['voted'] + n['silent'], 'debate')}: {listed}"]
    if lost := open_ - n["used"]:
        notes.append(f"{counted(lost, 'disputed debate')} left out of the reasons: one side has no text")
    return tuple(notes)


def named_reasons(texts: list[str], patterns: Mapping[str, re.Pattern[str]]) -> Bools:
    """Return which texts name which reasons, shape (texts, reasons)."""
    found = np.zeros((len(texts), len(patterns)), dtype=np.bool_)
    for k, pattern in enumerate(patterns.values()):
        found[:, k] = [pattern.search(text) is not None for text in texts]
    return found


def reasons_table(
    found: Disputed, named: Bools, names: list[str], level: float, family: Family
) -> pd.DataFrame:
    """Return how often each side names each reason, and the difference within debates with its interval and p-value.

    Every disputed debate counts once. Its difference is the share of its dissenting rationales that name the reason
    minus that share among the majority's. A question on which all rationales name a reason adds a difference of 0.

    Parameters
    ----------
    found : Disputed
    named : ndarray of bool, shape (rationales of disputed debates, reasons)
    names : list of str
    level : float
    family : {"holm", "bh", "bonferroni"}
        How p-values are adjusted over the reasons that occur in a rationale.

    Returns
    -------
    DataFrame
        ``reason, dissent, majority, difference, low, high, p_value, p_adjusted, n, n_clusters, note``.
    """
    n = found.n_debates
    side = [_shares(named[rows], found.debate[rows], n) for rows in (found.dissents, ~found.dissents)]
    apart = side[0] - side[1]
    cluster = np.zeros(n, dtype=np.int64)
    cluster[found.debate] = found.cluster
    totals = cluster_totals(np.column_stack([apart, np.ones(n)]), cluster)
    table = pd.DataFrame({"reason": names, "dissent": side[0].mean(axis=0), "majority": side[1].mean(axis=0)})
    table["difference"] = apart.mean(axis=0)
    limits = np.full((4, len(names)), np.nan)
    why = np.array([ONE_CLUSTER] * len(names), dtype=object)
    if len(totals) > 1:
        shares = ratios(*((k, len(names)) for k in range(len(names))))
        fit = cluster_t(totals, shares, level=level, symmetric=True)
        limits[:3] = np.clip(fit.low, -1, 1), np.clip(fit.high, -1, 1), fit.p_value
        never = ~named.any(axis=0)
        why = np.where(never, "no rationale names it", np.array(fit.reasons, dtype=object))
        tested = np.array([not reason for reason in why])
        limits[:3, ~tested] = np.nan
        if tested.any():
            limits[3, tested] = adjust(limits[2, tested], family)
    for name, row in zip(("low", "high", "p_value", "p_adjusted"), limits, strict=True):
        table[name] = row
    table["n"], table["n_clusters"], table["note"] = n, len(totals), why
    return table


def _shares(named: Bools, debate: Ints, n: int) -> Floats:
    """Return the share of rationales of each debate that name each reason, shape (debates, reasons)."""
    total = np.zeros((n, named.shape[1]))
    np.add.at(total, debate, named)
    return total / np.bincount(debate, minlength=n)[:, None]


@dataclass(frozen=True, eq=False)
class Traced:
    """Counts by debate of the disagreements that can be traced to reasons.

    Attributes
    ----------
    axis, axis_by_chance : ndarray of float, shape (debates,)
        Whether each side names a reason that the other does not; the share of deals of the dissenting votes in which it
        would.
    own, own_by_chance : ndarray of float, shape (debates,)
        How many dissenting rationales name a reason that no rationale of the majority names; the mean over deals.
    dissents : ndarray of float, shape (debates,)
        How many dissenting rationales there are.
    cluster : ndarray of int, shape (debates,)
    drawn : int
        In how many debates deals were drawn, not counted.
    """

    axis: Floats
    axis_by_chance: Floats
    own: Floats
    own_by_chance: Floats
    dissents: Floats
    cluster: Ints
    drawn: int


def traced(found: Disputed, named: Bools, rng: np.random.Generator) -> Traced:
    """Trace each disputed debate; `named` as for :func:`reasons_table`."""
    n = found.n_debates
    order = np.argsort(found.debate, kind="stable")
    # A rationale's reasons as the bits of one number.
    masks = [int("".join("1" if one else "0" for one in row) or "0", 2) for row in named[order].tolist()]
    dissents = found.dissents[order].tolist()
    ends = np.cumsum(np.bincount(found.debate, minlength=n))
    columns = np.zeros((5, n))
    drawn = 0
    counted_before = cache(_by_chance)
    for debate, (low, high) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        said, apart = masks[low:high], dissents[low:high]
        against = [mask for mask, one in zip(said, apart, strict=True) if one]
        with_most = [mask for mask, one in zip(said, apart, strict=True) if not one]
        has_axis, own = _look(against, with_most)
        if math.comb(len(said), len(against)) <= MOST_DEALS:
            chance = counted_before(tuple(sorted(said)), len(against))
        else:
            drawn += 1
            chance = _drawn(said, len(against), rng)
        columns[:, debate] = has_axis, chance[0], own, chance[1], len(against)
    cluster = np.zeros(n, dtype=np.int64)
    cluster[found.debate] = found.cluster
    axis, axis_by_chance, own_one, own_by_chance, n_dissents = columns
    return Traced(axis, axis_by_chance, own_one, own_by_chance, n_dissents, cluster, drawn)


def _look(against: list[int], with_most: list[int]) -> tuple[bool, int]:
    """Return whether the two sides have an axis, and how many on the first name a reason that the second does not."""
    ours = theirs = 0
    for mask in against:
        ours |= mask
    for mask in with_most:
        theirs |= mask
    return bool(ours & ~theirs) and bool(theirs & ~ours), sum(bool(mask & ~theirs) for mask in against)


def _by_chance(said: tuple[int, ...], k: int) -> tuple[float, float]:
    """Return the mean of :func:`_look` over all ways to choose the k rationales that dissent."""
    axes = own = ways = 0
    for chosen in combinations(range(len(said)), k):
        found = _look([said[i] for i in chosen], [mask for i, mask in enumerate(said) if i not in chosen])
        axes, own, ways = axes + found[0], own + found[1], ways + 1
    return axes / ways, own / ways


def _drawn(said: list[int], k: int, rng: np.random.Generator) -> tuple[float, float]:
    axes = own = 0
    for _ in range(MOST_DEALS):
        order = rng.permutation(len(said)).tolist()
        found = _look([said[i] for i in order[:k]], [said[i] for i in order[k:]])
        axes, own = axes + found[0], own + found[1]
    return axes / MOST_DEALS, own / MOST_DEALS
