"""Self-preference of a judge: how much more often it errs for answers of its own family than against them.

- The *gap*: how often the judge wrongly prefers its own minus how often it wrongly prefers the other; 0 for an unbiased
  judge that errs both ways alike.
- The *difference in differences*: this gap minus the same gap of judges of neither family, on the same items.
- The raw rate of preferring the own answer against the label (the self-enhancement rate of D3, section 4.3), for
  comparison with published ones. Alone it cannot separate bias from error.

References
----------
Panickssery, Bowman and Feng (2024), arXiv 2404.13076. Zheng et al. (2023), arXiv 2306.05685 (self-enhancement).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Bools
from d3stats._check import choice, probability
from d3stats._words import counted, verb
from d3stats.estimate import Estimate
from d3stats.inference.bias.audit import (
    Audit,
    Audits,
    Side,
    audited,
    clustered_rate,
    contrast_of_rates,
    unlabelled_note,
)
from d3stats.inputs.labels import StrataOf
from d3stats.inputs.verdicts import TIE, Judgments, Votes, one_judge
from d3stats.sources import Reading
from d3stats.sources.verdicts import judgments_with_strata
from d3stats.trajectories import MISSING

__all__ = [
    "DID",
    "GAP",
    "OF_ALL",
    "OTHER",
    "OWN",
    "SelfPreference",
    "self_preference",
]


GAP = "own preferred wrongly minus other preferred wrongly"
DID = "the same, minus the value of the other judges"
OWN, OTHER = "own preferred although the label says other", "other preferred although the label says own"
OF_ALL = "self-enhancement rate (of all pairs with an own answer)"
RAW_ALONE = (
    "the raw rate alone cannot separate preference from error; use the gap and the difference to other judges"
)

Against = Literal["disinterested", "all"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SelfPreference(Audit):
    """A judge's preference for its own family; the first estimate is the gap, where labels point both ways.

    Attributes
    ----------
    against : tuple of str
        The other judges.
    n_pairs : int
        Verdicts of this judge on pairs with exactly one answer of its family and a label for one of them.
    judge, family : str
        Whose verdicts were audited, and its family.

    Examples
    --------
    >>> import pandas as pd
    >>> from d3stats.inference import self_preference
    >>> columns = {"item": range(8), "judge": "J", "judge_family": "x", "family_a": "x", "family_b": "y"}
    >>> table = pd.DataFrame(columns | {"vote": list("AAAABBBA"), "label": list("BBBBBAAA")})
    >>> found = self_preference(table, judge="J")
    >>> found.family, found.n_pairs, round(found.effect.value, 3)
    ('x', 8, 0.133)
    """

    family: str
    against: tuple[str, ...]
    n_pairs: int
    _json = ("judge", "estimates", "notes", "family", "against", "n_pairs")


def self_preference(
    source: Any,
    *,
    judge: str | None = None,
    votes: Votes | None = None,
    against: Against = "disinterested",
    level: float = 0.95,
    strata: StrataOf = None,
    **reading: Unpack[Reading],
) -> SelfPreference | Audits[SelfPreference]:
    """Estimate a judge's preference for answers of its own family, by its errors for and against them.

    Parameters
    ----------
    source : Judgments, DataFrame, str or Path
        Verdicts with ``judge``, ``label``, ``family_a``, ``family_b`` and ``judge_family``.
    judge : str, optional
        Which judge; by default each of them.
    votes : {"answer", "slot"}, optional
        Whether a vote names the answer, or the place where it was shown (A the first).
    against : {"disinterested", "all"}
        Which other judges are the baseline: those whose family is neither of the pair's, or all.
    level : float
        Level of the intervals, in (0, 1).
    strata : str, mapping or Series, optional
        The column that says an item's kind (category, task), or the kind of each item by its name: every estimate is
        then also made by stratum, raw and shrunken; see :mod:`d3stats.inference.comparison.strata`.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    SelfPreference
        For several judges an :class:`Audits` with one result each.

    Raises
    ------
    ValueError
        When a column is absent, the judge has no or several families, or no pair holds exactly one own answer
        and a label that decides.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = {"item": range(8), "judge": "J", "judge_family": "x", "family_a": "x", "family_b": "y"}
    >>> table = pd.DataFrame(columns | {"vote": list("AAAABBBA"), "label": list("BBBBBAAA")})
    >>> audit = self_preference(table, judge="J")
    >>> round(audit[OWN].value, 3), round(audit[OTHER].value, 3), round(audit[GAP].value, 3)
    (0.8, 0.667, 0.133)
    """
    level = probability("level", level, open_interval=True)
    choice("against", against, ("disinterested", "all"))
    families = ("family_a", "family_b", "judge_family")
    found: SelfPreference | Audits[SelfPreference] = audited(
        _of_judge,
        *judgments_with_strata(source, strata, votes=votes, needs=families, **reading),
        judge,
        against=against,
        level=level,
    )
    return found


def _of_judge(data: Judgments, *, judge: str | None, against: Against, level: float) -> SelfPreference:
    """Audit the verdicts of one judge."""
    judge, mine = one_judge(data, judge)
    families = sorted(set(mine.texts("judge_family")) - {""})
    if len(families) != 1:
        raise ValueError(f"judge_family must be one name for a judge; got {families} for {judge!r}")
    family = families[0]
    own = _own(mine, family)
    voted = mine.vote != MISSING
    held = voted & (own != MISSING)
    usable = held & ((mine.label == 0) | (mine.label == 1))
    if not usable.any():
        raise ValueError(
            "pairs must hold exactly one answer of the judge's family and a label for one of them; "
            f"got none for {judge!r}"
        )
    notes = [*mine.doubts(), *mine.notes, RAW_ALONE]
    if (held & ~usable).any():
        notes.append(unlabelled_note(int((held & ~usable).sum())))
    if missing := int(((own != MISSING) & ~voted).sum()):
        notes.append(f"{counted(missing, 'missing vote')} {verb(missing, 'was', 'were')} left out")
    if ties := int((usable & (mine.vote == TIE)).sum()):
        notes.append(
            f"{ties} of {int(usable.sum())} verdicts are ties; they count as wrong, but for neither side"
        )
    wrong_own, wrong_other = _wrong(mine, own, usable)
    found = [_gap(wrong_own, wrong_other, level)]
    if found[0] is None:
        side = "other" if len(wrong_own[0]) else "own"
        notes.append(
            f"labels always prefer the {side} answer, so errors in the other direction cannot happen and "
            "there is no gap"
        )
    others, names = _others(data, mine.item[usable], family, judge, against)
    if others is None:
        notes.append(
            "no other judge voted on these pairs, so the common preference of all judges cannot be subtracted"
        )
    else:
        sides = (wrong_own, wrong_other, *others)
        if all(len(values) for values, _ in sides):
            found.append(contrast_of_rates(DID, sides, (1, -1, -1, 1), level))
            found.append(_gap(*others, level, name=f"the same, {counted(len(names), 'other judge')}"))
    for name, (values, cluster) in ((OWN, wrong_own), (OTHER, wrong_other)):
        if len(values):
            found.append(clustered_rate(name, values, cluster, level))
    wrongly = usable & (mine.vote == own) & (mine.label != own)
    hits = wrongly[usable].astype(float)
    found.append(clustered_rate(OF_ALL, hits, mine.cluster[usable], level, note=RAW_ALONE))
    estimates = tuple(e for e in found if e is not None)
    return SelfPreference(judge=judge, estimates=estimates, notes=tuple(notes), family=family, against=names,
                          n_pairs=int(usable.sum()))  # fmt: skip


def _own(data: Judgments, family: str) -> NDArray[np.int64]:
    """Return which answer is of the family, -1 where both are or none is."""
    a, b = data.texts("family_a") == family, data.texts("family_b") == family
    return np.select([a & ~b, b & ~a], [0, 1], MISSING).astype(np.int64)


def _wrong(data: Judgments, own: NDArray[np.int64], usable: Bools) -> tuple[Side, Side]:
    """Return whether own was preferred where the label says other, and the other way round, with clusters."""
    for_own = usable & (data.label == own)
    against = usable & ~for_own
    first = ((data.vote == own)[against].astype(float), data.cluster[against])
    return first, ((data.vote == 1 - own)[for_own].astype(float), data.cluster[for_own])


def _gap(one: Side, other: Side, level: float, name: str = GAP) -> Estimate | None:
    if len(one[0]) == 0 or len(other[0]) == 0:
        return None
    return contrast_of_rates(name, (one, other), (1, -1), level)


def _others(
    data: Judgments, items: NDArray[np.int64], family: str, judge: str, against: str
) -> tuple[tuple[Side, Side] | None, tuple[str, ...]]:
    rows = np.isin(data.item, items) & (data.judge != data.judges.index(judge)) & (data.vote != MISSING)
    theirs = data.texts("judge_family")
    rows &= theirs != family
    if against == "disinterested":
        rows &= (theirs != data.texts("family_a")) & (theirs != data.texts("family_b"))
    if not rows.any():
        return None, ()
    rest = data.rows(rows)
    own = _own(rest, family)
    usable = (own != MISSING) & ((rest.label == 0) | (rest.label == 1))
    names = tuple(data.judges[code] for code in np.unique(rest.judge))
    return _wrong(rest, own, usable), names
