"""Non-inferiority and equivalence of two runs, by one-sided tests against a margin.

"No significant difference" is not "no difference". Both questions need a margin, named before the data are
seen: the largest difference that does not matter, in the units of the difference (0.02 is two points of
accuracy).

- Non-inferior: the difference is above -margin. One-sided test at `alpha`; the lower end of the 1 - 2 alpha interval is
  its limit.
- Equivalent: the difference lies between -margin and margin. Two one-sided tests at `alpha` each (Schuirmann, 1987),
  which is to say that the 1 - 2 alpha interval lies inside. No correction for the two is needed.

With few changes, all of them losses, one limit of the comparison's t is too near and the other too far. A claim here
rests on one limit, so the error is not averaged out. With losses alone, in 2 to 9 clusters on average, a one-sided
test at 5 % rejects up to 9 %. Right or wrong items that are their own clusters are therefore decided by Tango's score
test and the t together: each limit is the farther of the two, the p-value the larger. Where all changes are gains or
all are losses, the exact limit of their share is the third. Runs that agree on all of n such items are decided by the
exact chance (1 - margin)^n of that; and with fewer than ten changed clusters a t alone or a bootstrap decides
nothing.

References
----------
Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657. Piaggio et al. (2012), JAMA 308, 2594.
Tango (1998), Statistics in Medicine 17, 891.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import pandas as pd

from d3stats._check import choice, number, probability
from d3stats._latex import booktabs
from d3stats.estimate import Estimate, limits_text
from d3stats.inference.comparison.pair_data import PairData, score_z
from d3stats.resampling.clusters import FEW_CLUSTERS
from d3stats.result import Gate, Result

__all__ = ["Better", "MarginTest", "MarginTests", "equivalence", "noninferiority"]

Better = Literal["higher", "lower"]
"""Whether large values are good (accuracy) or bad (tokens, errors)."""


_OF_A_TEST = ("question", "margin", "alpha", "p_value", "holds", "conclusion")


class Compared(Protocol):
    """The values that a margin test uses of a :class:`~d3stats.inference.PairedDifference`."""

    @property
    def data(self) -> PairData: ...
    @property
    def kind(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, kw_only=True)
class MarginTest(Result):
    """One-sided test, or two, of a difference against a margin, with its interval and conclusion.

    Attributes
    ----------
    question, better, conclusion : str
        "non-inferior" or "equivalent"; "higher" or "lower"; and what was found, in words.
    difference : Estimate
        Second - first, with the two-sided interval of level 1 - 2 alpha that decides.
    margin : float
        Units of the difference, above 0.
    alpha : float
        Alpha of each one-sided test.
    p_value : float or None
        One-sided, or the larger of two; None where the interval is a bootstrap's, which decides alone, or where
        nothing can be decided.
    holds : bool or None
        Whether the claim is shown; None where the data carry no interval or too few clusters changed. False is not
        "the contrary is shown": where that is so, the conclusion says it.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> from d3stats.inference import noninferiority, paired_difference
    >>> old, new = [1, 0, 1, 1] * 100, [1, 0, 1, 1] * 97 + [1, 1, 0, 1] * 3
    >>> found = noninferiority(paired_difference(old, new), 0.02)
    >>> found.holds, found.conclusion
    (True, 'non-inferior: B is not worse than A by 0.02 or more (at most 0.012 worse, at one-sided level 95 %)')
    """

    question: str
    difference: Estimate
    margin: float
    alpha: float
    better: str
    p_value: float | None
    holds: bool | None
    conclusion: str
    notes: tuple[str, ...] = ()

    _json: ClassVar[tuple[str, ...]] = ("difference", *_OF_A_TEST, "better", "notes")

    @property
    def headline(self) -> str:
        """The answer, what the data show, with the limit that decides."""
        return f"{self.conclusion[0].upper()}{self.conclusion[1:]}."

    def summary(self) -> str:
        """Return the difference, the conclusion and the notes."""
        p = "" if self.p_value is None else f" (one-sided p = {self.p_value:.3g})"
        notes = (f"  note: {note}" for note in self.notes)
        return "\n".join([f"{self.difference}\n{self.conclusion}{p}", *notes])

    def _outcome(self, first: str, second: str) -> Gate:
        """Return the claim of non-inferiority with what the interval says of it."""
        low, high = self.difference.low, self.difference.high
        shown: bool | None = None
        if self.holds is None or low is None or high is None:
            shown = self.holds or None  # runs that agree on very many items have no limits
            found = self.conclusion.partition("because ")[2] or self.conclusion
        else:
            worst, least = (-low, -high) if self.better == "higher" else (high, low)
            shown = True if self.holds else False if least >= self.margin else None
            bound = f"at least {least:z.3g} worse" if shown is False else f"may be {worst:z.3g} worse"
            bound = f"at least {-worst:z.3g} better" if worst <= 0 else bound
            found = f"{bound}, one-sided {100 * (1 - self.alpha):.6g} %"
        return Gate(f"{second} is less than {self.margin:g} worse than {first}", shown, found)

    def _latex(self, digits: int) -> str:
        return MarginTests((self,))._latex(digits)

    def _tables(self) -> dict[str, pd.DataFrame]:
        return MarginTests((self,))._tables()


@dataclass(frozen=True)
class MarginTests(Result):
    """One margin test per pair of a comparison, each decided by itself.

    Attributes
    ----------
    results : tuple of MarginTest
        One per pair, in the order of the comparison.

    Examples
    --------
    >>> from d3stats import compare
    >>> found = compare([1, 0, 1, 1] * 100, [1, 0, 1, 1] * 97 + [1, 1, 0, 1] * 3, rng=1).noninferior(0.02)
    >>> found.holds
    True
    >>> found.to_frame()[["margin", "holds"]].values.tolist()
    [[0.02, True]]
    """

    results: tuple[MarginTest, ...]
    _json: ClassVar[tuple[str, ...]] = ("holds", "results")

    def __iter__(self) -> Iterator[MarginTest]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, name: str | int) -> MarginTest:
        if isinstance(name, int):
            return self.results[name]
        found = {result.difference.name: result for result in self.results}
        return found[choice("name", name, tuple(found))]

    @property
    def holds(self) -> bool:
        """Whether the claim is shown of every pair; each at its alpha, which needs no correction for "every"."""
        return all(result.holds is True for result in self.results)

    @property
    def headline(self) -> str:
        """The answer, of how many pairs the claim is shown; of one pair, its conclusion."""
        if len(self) == 1:
            return self.results[0].headline
        return f"The claim is shown for {sum(one.holds is True for one in self)} of {len(self)} pairs."

    def summary(self) -> str:
        """Return every result as text."""
        return "\n".join(str(result) for result in self.results)

    def _tables(self) -> dict[str, pd.DataFrame]:
        rows = []
        for result in self.results:
            effect = result.difference
            names = ("name", "value", "low", "high", "level", "kind")
            row = {name: getattr(effect, name) for name in names}
            rows.append(row | {name: getattr(result, name) for name in _OF_A_TEST})
        numbers = dict.fromkeys(("value", "low", "high", "p_value"), "float64")
        # `holds` is missing where the data carry no interval.
        return {"margin tests": pd.DataFrame(rows).astype(numbers).astype({"holds": "boolean"})}

    def _latex(self, digits: int) -> str:
        """Return difference, interval, margin, p and whether the claim is shown."""
        rows = []
        for result in self.results:
            effect = result.difference
            p = "-" if result.p_value is None else f"{result.p_value:.3g}"
            shown = {True: "shown", False: "not shown", None: "cannot be told"}[result.holds]
            cells = (
                effect.name,
                f"{effect.value:z.{digits}f}",
                limits_text(effect, digits),
                f"{result.margin:g}",
                p,
            )
            rows.append((*cells, f"{result.question}: {shown}"))
        return booktabs("lrlrrl", ("", "difference", "interval", "margin", "p", "claim"), rows)


def _exact_limits(data: PairData, alpha: float) -> tuple[float, float]:
    """Return one-sided limits of the difference of items that all changed alike or not at all, else the difference.

    If no item was gained, the difference is at least minus the exact upper limit of the share lost. If all n were
    gained, a difference of d had at most the chance ((1 + d) / 2)^n of that. Tango's limits are then too near.
    """
    from scipy.special import betaincinv

    n, (gained, lost) = data.n_items, data.gained_lost
    most = [1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha)) for k in (lost, gained)]
    alike = 2 * alpha ** (1 / n) - 1
    value = (gained - lost) / n
    low = alike if gained == n else -most[0] if gained == 0 else value
    high = -alike if lost == n else most[1] if lost == 0 else value
    return low, high


def _exact_p_values(data: PairData, margin: float) -> tuple[float, float]:
    """Return the p-values that go with :func:`_exact_limits`; 0 on a side where those are the difference itself."""
    from scipy.special import bdtr

    n, (gained, lost) = data.n_items, data.gained_lost
    alike = ((1 - margin) / 2) ** n
    above = alike if gained == n else float(bdtr(lost, n, margin)) if gained == 0 else 0.0
    below = alike if lost == n else float(bdtr(gained, n, margin)) if lost == 0 else 0.0
    return above, below


_BOTH, _NO_T = "Tango and cluster t", "Tango and exact"
"""The kinds of limits that are on either side the farther ones of several."""


def noninferiority(
    pair: Compared, margin: float, *, alpha: float = 0.05, better: Better = "higher"
) -> MarginTest:
    """Test, one-sided, whether the second run is worse than the first by less than a margin.

    Parameters
    ----------
    pair : PairedDifference
        Its kind of interval decides: a bootstrap, or the cluster t, together with Tango's score test where items are
        right or wrong and their own clusters.
    margin : float
        Above 0, in the units of the difference.
    alpha : float
        Chance of a wrong claim when the difference is at the margin, below 0.5.
    better : {"higher", "lower"}
        Whether large values are good.

    Returns
    -------
    MarginTest

    Raises
    ------
    ValueError
        When the margin is not above 0 or alpha not between 0 and 0.5.

    Examples
    --------
    >>> from d3stats.inference import paired_difference
    >>> old, new = [1, 0, 1, 1] * 100, [1, 0, 1, 1] * 97 + [1, 1, 0, 1] * 3
    >>> print(noninferiority(paired_difference(old, new), 0.02).conclusion)
    non-inferior: B is not worse than A by 0.02 or more (at most 0.012 worse, at one-sided level 95 %)
    """
    choice("better", better, ("higher", "lower"))
    test = _Test.asked("non-inferior", pair, margin, alpha, better)
    effect, margin = test.effect, test.margin
    if effect.low is None or effect.high is None or test.rests_on_too_few:
        return test.without_limits()
    first, second = pair.data.names
    p_above, p_below = test.one_sided()
    worst, least_bad = (-effect.low, -effect.high) if better == "higher" else (effect.high, effect.low)
    limit = f"at most {worst:z.3f} worse" if worst > 0 else f"at least {-worst:z.3f} better"
    level = f"at one-sided level {100 * (1 - alpha):.6g} %"
    if worst < margin:
        said = f"non-inferior: {second} is not worse than {first} by {margin:g} or more ({limit}, {level})"
    elif least_bad >= margin:
        said = f"inferior: {second} is worse than {first} by more than {margin:g} (at least {least_bad:z.3f}, {level})"
    else:
        said = (
            f"not shown: {second} may be worse than {first} by {margin:g} or more ({limit}, {level}); "
            "this does not show that it is"
        )
    return test.decided(worst < margin, p_above if better == "higher" else p_below, said)


def equivalence(pair: Compared, margin: float, *, alpha: float = 0.05) -> MarginTest:
    """Test whether two runs differ by less than a margin, by two one-sided tests.

    Parameters
    ----------
    pair : PairedDifference
        Its kind of interval decides, as for :func:`noninferiority`.
    margin : float
        Above 0, in the units of the difference.
    alpha : float
        Size of each of the two tests, below 0.5.

    Returns
    -------
    MarginTest
        With the interval of level 1 - 2 `alpha`.

    Raises
    ------
    ValueError
        When the margin is not above 0 or alpha not between 0 and 0.5.

    Examples
    --------
    >>> from d3stats.inference import paired_difference
    >>> old, new = [1, 0, 1, 1] * 100, [1, 0, 1, 1] * 97 + [1, 1, 0, 1] * 3
    >>> equivalence(paired_difference(old, new), 0.02).holds
    True
    """
    test = _Test.asked("equivalent", pair, margin, alpha, "higher")
    effect, margin = test.effect, test.margin
    if effect.low is None or effect.high is None or test.rests_on_too_few:
        return test.without_limits()
    holds = -margin < effect.low and effect.high < margin
    limits = f"[{effect.low:z.3f}, {effect.high:z.3f}] at {100 * effect.level:.6g} %"
    runs = " and ".join(reversed(pair.data.names))
    if holds:
        said = f"equivalent: {runs} differ by less than {margin:g} ({limits})"
    elif effect.low >= margin or effect.high <= -margin:
        said = f"different: {runs} differ by more than {margin:g} ({limits})"
    else:
        said = (
            f"not shown: {runs} may differ by {margin:g} or more ({limits}); this does not show that they do"
        )
    above, below = test.one_sided()
    return test.decided(holds, None if above is None or below is None else max(above, below), said)


def checked_margin(margin: float, binary: bool = False) -> float:
    """Return a margin that is above 0, and below 1 where values are right or wrong."""
    margin = number("margin", margin)
    if margin <= 0:
        raise ValueError(
            f"margin must be > 0, the largest difference that does not matter; got margin={margin!r}"
        )
    if binary and margin >= 1:
        meant = f" (a margin of {margin:g} points is written {margin / 100:g})" if margin <= 100 else ""
        raise ValueError(
            "margin must be < 1 if values are 0 or 1, because runs cannot differ by more; got "
            f"margin={margin:g}{meant}"
        )
    return margin


@dataclass(frozen=True)
class _Test:
    """What is asked, and the interval of level 1 - 2 alpha that decides it."""

    question: str
    pair: Compared
    effect: Estimate
    margin: float
    alpha: float
    better: str

    @classmethod
    def asked(cls, question: str, pair: Compared, margin: float, alpha: float, better: str) -> _Test:
        """Check margin and alpha, and make the interval: of two kinds the farther limits."""
        data = pair.data
        margin, alpha = checked_margin(margin, data.binary), probability("alpha", alpha, open_interval=True)
        if alpha >= 0.5:
            raise ValueError(f"alpha must be < 0.5; got alpha={alpha!r}")
        found = data.interval(pair.kind, 1 - 2 * alpha)
        if pair.kind == "cluster t" and data.binary and data.alone:
            t, found = found, data.interval("Tango", 1 - 2 * alpha)
            if found.low is not None and found.high is not None and not data.agree:
                ends = [(found.low, found.high), _exact_limits(data, alpha)]
                if t.low is not None and t.high is not None:
                    ends.append((t.low, t.high))
                lows, highs = zip(*ends, strict=True)
                kind = _BOTH if len(ends) > 2 else _NO_T
                found = replace(found, kind=kind, low=min(lows), high=max(highs), se=t.se)
        return cls(question, pair, found, margin, alpha, better)

    @property
    def rests_on_too_few(self) -> bool:
        """Whether so few clusters changed that one limit alone misses too often to decide."""
        data = self.pair.data
        if self.effect.kind in ("Tango", _BOTH, _NO_T) or data.changed >= FEW_CLUSTERS:
            return False
        # Scores that change in most clusters are few data, not rare events: the t is made for them.
        return data.binary or 2 * data.changed <= data.n_clusters

    def one_sided(self) -> tuple[float | None, float | None]:
        """Return the p-values of "at most -margin" and of "at least margin"; None of a bootstrap."""
        from scipy.special import ndtr, stdtr

        data, margin = self.pair.data, self.margin
        found: list[tuple[float, float]] = []
        if self.effect.kind in ("Tango", _BOTH, _NO_T):
            gained, lost = data.gained_lost
            if margin > 1:
                return 0.0, 0.0
            above, below = (score_z(gained, lost, data.n_items, at) for at in (-margin, margin))
            found.append((float(ndtr(-above)), float(ndtr(below))))
            if self.effect.kind != "Tango":
                found.append(_exact_p_values(data, margin))
        se = data.interval("cluster t", self.effect.level).se if self.pair.kind == "cluster t" else None
        if se:
            away = (-(self.effect.value + margin) / se, (self.effect.value - margin) / se)
            found.append((float(stdtr(data.df, away[0])), float(stdtr(data.df, away[1]))))
        return (max(p for p, _ in found), max(p for _, p in found)) if found else (None, None)

    def without_limits(self) -> MarginTest:
        """Decide by the exact chance of no change at all, where that is all there is; else say why nothing decides."""
        data, question = self.pair.data, self.question
        if self.effect.low is not None:
            return self.decided(
                None,
                None,
                f"{question}: not decided, because the sums of only {data.changed} of {data.n_clusters} "
                f"clusters changed; with fewer than {FEW_CLUSTERS} a one-sided limit is not reliable",
            )
        if data.agree and data.binary and data.alone:
            chance = (1 - min(self.margin, 1.0)) ** data.n_items
            if chance < self.alpha:
                agree = f"{' and '.join(reversed(data.names))} agree on all {data.n_items} items"
                return self.decided(
                    True, chance, f"{question}: {agree}, too many for a true difference of {self.margin:g}"
                )
        return self.decided(None, None, f"{question}: cannot be told, {self.effect.note}")

    def decided(self, holds: bool | None, p_value: float | None, conclusion: str) -> MarginTest:
        """Return the test with its decision."""
        asked = {name: getattr(self, name) for name in ("question", "margin", "alpha", "better")}
        said: dict[str, Any] = {"conclusion": conclusion, "notes": self.pair.notes}
        return MarginTest(difference=self.effect, p_value=p_value, holds=holds, **asked, **said)
