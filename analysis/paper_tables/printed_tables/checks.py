"""Checks of printed differences, ratios, averages, prices, shares and kappas, by interval arithmetic on the entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from printed_tables.arguments import integer
from printed_tables.printed import Finding, Number, Printed, fits_or_needs, printed

__all__ = [
    "check_average",
    "check_common_size",
    "check_difference",
    "check_extremes",
    "check_grouped_mean",
    "check_kappa_of_labels",
    "check_kappas",
    "check_majority_gain",
    "check_one_price",
    "check_part",
    "check_ratio",
    "check_relative_gain",
    "check_same",
    "check_share",
    "check_within_parts",
    "counts_of_share",
    "held",
    "kappa_of_any_classes",
    "kappa_range",
    "majority_share",
    "possible_sizes",
]


def check_difference(
    new: Number, old: Number, stated: Number, *, place: str, check: str = "a difference"
) -> Finding:
    """Check that a printed number is the difference new - old.

    Parameters
    ----------
    new, old : str, float or Printed
        As printed.
    stated : str, float or Printed
        The number that is checked, as printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_difference("86.1", "82.7", "3.2", place="5.1").implied
    '3.4 (3.3 to 3.5)'
    """
    a, b, said = printed(new), printed(old), printed(stated)
    return held(check, place, said, a.value - b.value, a.low - b.high, a.high - b.low)


def check_ratio(
    above: Number, below: Number, stated: Number, *, place: str, check: str = "a ratio"
) -> Finding:
    """Check that a printed number is the ratio above / below.

    Parameters
    ----------
    above, below : str, float or Printed
        As printed; `below` must be above 0 for every possible rounding.
    stated : str, float or Printed
        The number that is checked, as printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Raises
    ------
    ValueError
        When `below` may be 0.

    Examples
    --------
    >>> check_ratio("4,650", "850", "4.65x", place="5.4").implied
    '5.471 (5.467 to 5.474)'
    """
    a, b, said = printed(above), printed(below), printed(stated)
    return held(check, place, said, *_ratio("below", a, b))


def check_relative_gain(
    new: Number, old: Number, stated: Number, *, place: str, check: str = "a relative gain in percent"
) -> Finding:
    """Check that a printed number is the relative gain 100 (new - old) / old, in percent.

    Parameters
    ----------
    new, old : str, float or Printed
        As printed.
    stated : str, float or Printed
        The number that is checked, as printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_relative_gain("4,650", "3,050", "42", place="5.5").verdict
    'inconsistent'
    """
    a, b, said = printed(new), printed(old), printed(stated)
    value, low, high = _ratio("old", a, b)
    return held(check, place, said, 100 * (value - 1), 100 * (low - 1), 100 * (high - 1))


def check_average(
    parts: Sequence[Number],
    stated: Number,
    *,
    place: str,
    weights: Sequence[float] | None = None,
    check: str = "an average",
) -> Finding:
    """Check that a printed number is the (weighted) mean of the parts.

    Parameters
    ----------
    parts : sequence of str, float or Printed
        As printed.
    stated : str, float or Printed
        The number that is checked, as printed.
    place : str
        Place of the number, for the finding.
    weights : sequence of float, optional
        One per part, at least 0; all equal by default.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_average(["8.5", "9.6", "9.5", "10.5", "10.5", "10.8"], "8.7", place="4.2").implied
    '9.9 (9.85 to 9.95)'
    """
    given = _all("parts", parts)
    shares = [1.0] * len(given) if weights is None else list(weights)
    if len(shares) != len(given) or min(shares) < 0 or sum(shares) <= 0:
        raise ValueError(f"weights must be one number >= 0 per part, not all 0; got {weights}")
    total = sum(shares)
    low, mid, high = (
        sum(w * v for w, v in zip(shares, values, strict=True)) / total
        for values in ([p.low for p in given], [p.value for p in given], [p.high for p in given])
    )
    return held(check, place, printed(stated), mid, low, high)


def held(check: str, place: str, said: Printed, value: float, low: float, high: float) -> Finding:
    """Check that a printed number is what the entries imply: `value` as printed, `low` to `high` as rounded.

    A number that only digits beyond the printed ones can give is consistent, and the finding says so.
    """
    implied = f"{shown(value)} ({shown(low)} to {shown(high)})"
    found = fits_or_needs(
        check, place, str(said), implied, said.covers(low, high), "other entries than the printed ones"
    )
    beyond = found.verdict == "consistent" and not said.covers(value)
    return replace(found, needed="digits beyond the printed ones") if beyond else found


def shown(value: float) -> str:
    """Write a number to four significant digits."""
    return f"{round(value, 10):.4g}" if abs(value) < 1000 else f"{value:z,.0f}"


def _ratio(name: str, above: Printed, below: Printed) -> tuple[float, float, float]:
    """Return the ratio as printed and its least and largest value."""
    if below.low <= 0:
        raise ValueError(f"{name} must be > 0 for every possible rounding; got {below.text!r}")
    corners = [a / b for a in (above.low, above.high) for b in (below.low, below.high)]
    return above.value / below.value, min(corners), max(corners)


def check_one_price(rows: Sequence[tuple[str, Number, Number]], *, place: str, per: float = 1000) -> Finding:
    """Check that one price, shown for `per` tokens, serves all rows (name, tokens, cost).

    Parameters
    ----------
    rows : sequence of (str, str, float or Printed, str, float or Printed)
        Name, tokens and cost of each row.
    place : str
        Place of the number, for the finding.
    per : float
        Tokens that the price in the finding is for.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_one_price([("MORE", "3,050", "$0.31"), ("SAMRE", "4,650", "$0.47")], place="Table 2").implied
    '0.09999 to 0.1022 per 1,000 tokens'
    """
    ranges = {}
    for name, tokens, cost in rows:
        count, paid = printed(tokens), printed(cost)
        if count.low <= 0 or paid.high <= 0:
            raise ValueError(f"tokens and cost must be > 0; got {count.text!r} and {paid.text!r} for {name}")
        ranges[name] = per * max(paid.low, 0.0) / count.high, per * paid.high / count.low
    if not ranges:
        raise ValueError("rows must hold at least one; got none")
    low, high = max(r[0] for r in ranges.values()), min(r[1] for r in ranges.values())
    unit = f"per {per:z,.0f} tokens"
    apart = ", ".join(f"{name} {shown(a)} to {shown(b)}" for name, (a, b) in ranges.items())
    implied = f"{shown(low)} to {shown(high)} {unit}" if low <= high else f"{apart} {unit}"
    needed = "another price for some rows, or tokens with another price"
    stated = f"{len(rows)} rows of tokens and cost"
    return fits_or_needs("one price for all rows", place, stated, implied, low <= high, needed)


def counts_of_share(share: Number, n: int, *, percent: bool = True) -> tuple[int, ...]:
    """Return every whole number of n whose share is printed so.

    Parameters
    ----------
    share : str, float or Printed
        As printed.
    n : int
        Number of items.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    tuple of int
        In ascending order; empty where no whole number fits.

    Examples
    --------
    >>> counts_of_share("73.9", 100), counts_of_share("86.3", 80)
    ((), (69,))
    """
    n = integer("n", n, minimum=1)
    value = _share(share, percent)
    low, high = max(math.floor(value.low * n), 0), min(math.ceil(value.high * n), n)
    return tuple(k for k in range(low, high + 1) if value.covers(k / n))


def _share(number: Number, percent: bool) -> Printed:
    return printed(number).scaled(0.01) if percent else printed(number)


def possible_sizes(share: Number, n_max: int, *, percent: bool = True) -> tuple[int, ...]:
    """Return every n up to `n_max` of which the share can be a share.

    Parameters
    ----------
    share : str, float or Printed
        As printed.
    n_max : int
        Largest n that is tried.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    tuple of int
        In ascending order.

    Examples
    --------
    >>> possible_sizes("73.9", 60)
    (23, 46)
    """
    value = _share(share, percent)
    sizes = np.arange(1, integer("n_max", n_max, minimum=1) + 1)
    # The same slack as Printed.covers.
    slack = 1e-12 + 1e-9 * value.half_unit
    first = np.maximum(np.ceil((value.low - slack) * sizes), 0)
    last = np.minimum(np.floor((value.high + slack) * sizes), sizes)
    return tuple(sizes[first <= last].tolist())


def check_share(share: Number, n: int, *, place: str, percent: bool = True) -> Finding:
    """Check that a printed share is a whole number of n items.

    Parameters
    ----------
    share : str, float or Printed
        As printed.
    n : int
        Number of items.
    place : str
        Place of the number, for the finding.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_share("73.9", 100, place="Table 5").verdict
    'inconsistent'
    """
    given = printed(share)
    counts = counts_of_share(given, n, percent=percent)
    scale = 100 if percent else 1
    value, needed = given.scaled(1 / scale), ""
    if counts:
        said = [f"{k}/{n}{_half(k / n, value)}" for k in counts]
        implied = " or ".join(said) if len(said) < 3 else f"{counts[0]}/{n} to {counts[-1]}/{n}"
    else:
        near = sorted({math.floor(value.value * n), math.ceil(value.value * n)})
        implied = " or ".join(f"{k}/{n} = {scale * k / n:.4g}" for k in near)
        # These are suggestions: a million sizes are enough to look through.
        largest = min(4 * n, max(n, 10**6))
        sizes = [m for m in possible_sizes(given, largest, percent=percent) if m > n // 4]
        close = sorted(sizes, key=lambda m: (abs(m - n), m))[:4]
        listed = ", ".join(map(str, sorted(close)))
        needed = f"another number of items ({listed} are possible), items left out, or fractional credit"
    return fits_or_needs(f"a share of {n} items", place, str(given), implied, bool(counts), needed)


def check_common_size(
    shares: Sequence[Number], *, place: str, n: int, n_max: int | None = None, percent: bool = True
) -> Finding:
    """Check that shares of the same n items can be shares of one n, and say which n up to `n_max` can print them all.

    By default `n_max` is 20 n.

    Parameters
    ----------
    shares : sequence of str, float or Printed
        As printed.
    place : str
        Place of the number, for the finding.
    n : int
        Number of items.
    n_max : int, optional
        Largest n that is tried.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_common_size(["68.3", "73.1", "71.5", "73.9"], place="Table 5", n=100).needed
    '249, 372, 375 or 379 items (the smallest numbers that allow all of them), items left out, or fractional credit'
    """
    n = integer("n", n, minimum=1)
    given = _all("shares", shares)
    largest = 20 * n if n_max is None else integer("n_max", n_max, minimum=n)
    failing = [str(g) for g in given if not counts_of_share(g, n, percent=percent)]
    fitting = set.intersection(*(set(possible_sizes(g, largest, percent=percent)) for g in given))
    first = " or ".join(", ".join(map(str, sorted(fitting)[:4])).rsplit(", ", 1))
    wanted = (
        f"{first} items (the smallest numbers that allow all of them)"
        if fitting
        else f"more than {largest} items"
    )
    implied = ": ".join(
        [f"{len(failing)} of {len(given)} are not a share of {n}", ", ".join(failing)][: 1 + bool(failing)]
    )
    needed = f"{wanted}, items left out, or fractional credit"
    check = f"shares of the same {n} items"
    return fits_or_needs(check, place, ", ".join(map(str, given)), implied, not failing, needed)


def _half(share: float, given: Printed) -> str:
    """Say how a share that lies halfway between two printed numbers was rounded."""
    if given.low <= share - 1e-12 and share + 1e-12 <= given.high:
        return ""
    return " (a half, rounded up)" if share < given.value else " (a half, rounded down)"


def check_within_parts(
    parts: Sequence[Number], whole: Number, *, place: str, check: str = "the total lies between its parts"
) -> Finding:
    """Check that a whole lies between the least and the largest of its parts, as any weighted mean does.

    Parameters
    ----------
    parts : sequence of str, float or Printed
        As printed.
    whole : str, float or Printed
        As printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_within_parts(["80.6", "80.9"], "85.1", place="5.2").verdict
    'inconsistent'
    """
    given, said = _all("parts", parts), printed(whole)
    fits = said.covers(min(p.low for p in given), max(p.high for p in given))
    needed = "items outside all parts, or other items in the parts"
    return fits_or_needs(check, place, str(said), "between {} and {}".format(*_ends(given)), fits, needed)


def check_extremes(
    entries: Sequence[Number],
    least: Number,
    most: Number,
    *,
    place: str,
    check: str = "smallest and largest entry",
) -> Finding:
    """Check that printed entries range from `least` to `most`, the range that a text states.

    Parameters
    ----------
    entries : sequence of str, float or Printed
        As printed.
    least, most : str, float or Printed
        The printed range.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_extremes(["3.7", "3.6", "10.5", "10.8"], "3.7", "10.5", place="4.2").implied
    '3.6 to 10.8'
    """
    given, low, high = _all("entries", entries), printed(least), printed(most)
    fits = low.covers(min(p.low for p in given), min(p.high for p in given)) and high.covers(
        max(p.low for p in given), max(p.high for p in given)
    )
    needed = "a range of only some of the entries"
    return fits_or_needs(check, place, f"{low} to {high}", "{} to {}".format(*_ends(given)), fits, needed)


def check_same(
    numbers: Sequence[tuple[str, Number]], *, place: str, check: str = "the same number in several places"
) -> Finding:
    """Check that one number is printed alike in several places (where, number), rounding allowed for.

    Parameters
    ----------
    numbers : sequence of (str, str, float or Printed)
        Place of each number, and the number as printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_same([("Table 1", "85.1"), ("Table 4", "86.1")], place="MORE").verdict
    'inconsistent'
    """
    given = _all("numbers", [number for _, number in numbers])
    fits = max(p.low for p in given) <= min(p.high for p in given)
    apart = max(p.value for p in given) - min(p.value for p in given)
    said = ", ".join(f"{p} ({where})" for (where, _), p in zip(numbers, given, strict=True))
    implied = "the same" if fits else f"they differ by {shown(apart)}"
    return fits_or_needs(check, place, said, implied, fits, "other items, or another run")


def check_part(
    part: Number, whole: Number, *, place: str, check: str = "a part is at most the total"
) -> Finding:
    """Check that a printed number of items taken from a set is at most the number in the set.

    Parameters
    ----------
    part, whole : str, float or Printed
        Numbers of items, as printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_part("120", "80", place="G.1").verdict
    'inconsistent'
    """
    taken, there = printed(part), printed(whole)
    fits, needed = taken.low <= there.high, "items counted in part or more than once"
    return fits_or_needs(check, place, f"{taken} of {there}", f"at most {there}", fits, needed)


def check_majority_gain(juror: Number, majority: Number, agreement: Number, n: int, *, place: str) -> Finding:
    r"""Check that a majority of jurors can be so much more often right than the mean juror; all in percent.

    There are two answers and an odd number n of jurors, of whom k are right on an item. The majority gains 1 - k/n over
    the mean juror if k > n/2, and loses k/n otherwise; k(n - k) of the n(n - 1)/2 pairs of jurors disagree. So the gain
    is at most (n - 1)/(n + 1) times the share of pairs that disagree, and over all items

    .. math:: \text{majority} - \text{mean juror} \le \frac{n - 1}{n + 1} (1 - \text{agreement}).

    Parameters
    ----------
    juror, majority, agreement : str, float or Printed
        Accuracy of the mean juror and of the majority, and the mean share of pairs of jurors that agree, as printed.
    n : int
        Number of jurors, odd.
    place : str
        Place of the number, for the finding.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Raises
    ------
    ValueError
        When n is even or below 3.

    Examples
    --------
    >>> check_majority_gain("74.8", "85.1", "89.5", 5, place="Table 3").implied
    'a gain of at most 7 (7.03)'
    """
    if n < 3 or n % 2 == 0:
        raise ValueError(f"n must be an odd number of jurors, 3 or more; got {n}")
    one, together, alike = printed(juror), printed(majority), printed(agreement)
    factor = (n - 1) / (n + 1)
    most = factor * (100 - alike.low)
    fits = together.low - one.high <= most + 1e-9
    implied = f"a gain of at most {factor * (100 - alike.value):.3g} ({most:.3g})"
    needed = (
        "another mean juror than the one printed, more than two answers, or a verdict that is no majority"
    )
    return fits_or_needs(
        f"gain of a majority of {n}", place, f"{one} to {together}, agreement {alike}", implied, fits, needed
    )


def check_grouped_mean(
    groups: Sequence[tuple[Number, float, float]],
    stated: Number,
    *,
    place: str,
    check: str = "a mean of groups with known bounds",
) -> Finding:
    """Check that a mean can be that of groups (share in percent, least value, largest value) that make up everything.

    Parameters
    ----------
    groups : sequence of (str, float or Printed, float, float)
        Share in percent, least and largest value of each group.
    stated : str, float or Printed
        The number that is checked, as printed.
    place : str
        Place of the number, for the finding.
    check : str
        What the finding calls this check.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    58 % of debates stop in round 1 or 2, the others in rounds 3 to 5:

    >>> check_grouped_mean([("58", 1, 2), ("42", 3, 5)], "2.71", place="5.4").implied
    '1.83 to 3.275'
    """
    shares = _all("groups", [share for share, _, _ in groups])
    if any(low > high for _, low, high in groups) or sum(p.value for p in shares) <= 0:
        raise ValueError(f"groups must have bounds low <= high and shares above 0; got {list(groups)}")
    least = _extreme([(p.low, p.high, low) for p, (_, low, _) in zip(shares, groups, strict=True)], -1)
    most = _extreme([(p.low, p.high, high) for p, (_, _, high) in zip(shares, groups, strict=True)], 1)
    said, implied = printed(stated), f"{shown(least)} to {shown(most)}"
    return fits_or_needs(
        check, place, str(said), implied, said.covers(least, most), "other shares or other bounds"
    )


def _extreme(groups: list[tuple[float, float, float]], sign: int) -> float:
    """Return the least or largest mean, each share anywhere in its range and all shares adding up to one."""
    ordered = sorted(groups, key=lambda g: -sign * g[2])
    best: float | None = None
    # The mean moves one way with each share, so that an extreme has large shares first and small ones after.
    for cut in range(len(ordered) + 1):
        weights = [g[1] if i < cut else g[0] for i, g in enumerate(ordered)]
        total = sum(weights)
        if total > 0:
            mean = sum(w * g[2] for w, g in zip(weights, ordered, strict=True)) / total
            best = mean if best is None else max(best, mean) if sign > 0 else min(best, mean)
    return ordered[0][2] if best is None else best


def _all(name: str, numbers: Sequence[Number]) -> list[Printed]:
    if not numbers:
        raise ValueError(f"{name} must not be empty; got none")
    return [printed(number) for number in numbers]


def _ends(given: list[Printed]) -> tuple[str, str]:
    return min(given, key=lambda p: p.value).text, max(given, key=lambda p: p.value).text


def kappa_range(right: int, labels: Sequence[int]) -> tuple[float, float]:
    """Return the least and largest Cohen's kappa of a judge who is right on `right` of the labelled items.

    Parameters
    ----------
    right : int
        Items that the judge got right.
    labels : sequence of int
        Number of items with each label; two or more above 0.

    Returns
    -------
    tuple of float
        The least and the largest kappa.

    Examples
    --------
    >>> [round(k, 3) for k in kappa_range(43, [41, 25, 14])]
    [0.061, 0.396]
    """
    counts = np.array([integer("labels", x, minimum=0) for x in labels])
    n = int(counts.sum())
    if np.count_nonzero(counts) < 2:
        raise ValueError(f"labels must hold two classes or more; got {counts.tolist()}")
    right = integer("right", right, minimum=0)
    if right > n:
        raise ValueError(f"right must be at most the {n} labels; got right={right}")
    base = float((counts**2).sum())
    rivals = [np.delete(counts, i) for i in range(len(counts))]
    least = np.repeat([r.min() for r in rivals] - counts, counts)
    most = np.repeat([r.max() for r in rivals] - counts, counts)
    lowest = base + float(np.sort(least)[: n - right].sum())
    highest = base + float(np.sort(most)[::-1][: n - right].sum())
    low, high = (float((right / n - x / n**2) / (1 - x / n**2)) for x in (highest, lowest))
    return low, high


def check_kappa_of_labels(
    accuracy: Number, kappa: Number, labels: Sequence[int], *, place: str, percent: bool = True
) -> Finding:
    """Check that an accuracy and a kappa go together, given how many items have each label.

    Parameters
    ----------
    accuracy, kappa : str, float or Printed
        As printed.
    labels : sequence of int
        Number of items with each label.
    place : str
        Place of the number, for the finding.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_kappa_of_labels("53.8", "0.27", [41, 25, 14], place="Table 1").verdict
    'consistent'
    """
    said, stated = printed(accuracy), printed(kappa)
    n = int(sum(labels))
    ranges = [kappa_range(k, labels) for k in counts_of_share(said, n, percent=percent)]
    low, high = min((r[0] for r in ranges), default=0.0), max((r[1] for r in ranges), default=0.0)
    implied = f"kappa {shown(low)} to {shown(high)}" if ranges else f"no number of {n} items"
    fits, needed = bool(ranges) and stated.covers(low, high), "other labels, other items, or a weighted kappa"
    return fits_or_needs(
        "accuracy and kappa of known labels", place, f"{said} and {stated}", implied, fits, needed
    )


_SLACK = 1e-9
"""What binary floating point may add."""


def majority_share(accuracy: Number, kappa: Number, *, percent: bool = True) -> tuple[float, float] | None:
    """Return the range of the majority class's share (at least .5) that an accuracy and a kappa allow; None if none.

    Parameters
    ----------
    accuracy, kappa : str, float or Printed
        As printed.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    tuple of float or None
        The least and the largest share.

    Examples
    --------
    >>> [round(x, 3) for x in majority_share("85.1", "0.58")]
    [0.7, 0.859]
    """
    return _common([(accuracy, kappa)], percent)


def check_kappas(rows: Sequence[tuple[Number, Number]], *, place: str, percent: bool = True) -> Finding:
    """Check that rows (accuracy, kappa) of judges of the same items allow one share of the human majority class.

    Parameters
    ----------
    rows : sequence of (str, float or Printed, str, float or Printed)
        Accuracy and kappa of each judge, as printed.
    place : str
        Place of the number, for the finding.
    percent : bool
        Whether shares are printed in percent; False for shares of 1.

    Returns
    -------
    Finding
        What is printed, what the other numbers imply, and whether both go together.

    Examples
    --------
    >>> check_kappas([("72.5", "0.45"), ("86.3", "0.60")], place="Table 1").implied
    'majority class 0.715 to 0.784'
    """
    if not rows:
        raise ValueError("rows must hold at least one accuracy and kappa; got none")
    found = _common(rows, percent)
    alone = [found] if len(rows) == 1 else [majority_share(a, k, percent=percent) for a, k in rows]
    said = ", ".join(f"{printed(a)} and {printed(k)}" for a, k in rows)
    if found is not None:
        span = f"{found[0]:z.3f} to {found[1]:z.3f}"
        needed = f"two classes and a human majority class of {span}"
        return Finding("accuracy and kappa", place, said, f"majority class {span}", "conditional", needed)
    needed = "more than two classes, or other items in each row"
    needed += " (one row alone is impossible)" if len(rows) > 1 and None in alone else ""
    return Finding(
        "accuracy and kappa", place, said, "no share of the majority class", "inconsistent", needed
    )


def kappa_of_any_classes(accuracy: Number, kappa: Number, *, percent: bool = True) -> bool:
    """Say whether an accuracy and a Cohen's kappa go together with some number of classes.

    Chance agreement lies between 0 (ever more classes) and (1 + a^2)/2 (two, said half of the time each), so that kappa
    lies between -(1 - a)/(1 + a) and a.

    Examples
    --------
    >>> kappa_of_any_classes("50.0", "0.45"), kappa_of_any_classes("50.0", "0.60")
    (True, False)
    """
    a = _share(accuracy, percent)
    low, high = min(max(a.low, 0.0), 1.0), min(a.high, 1.0)
    return printed(kappa).covers(-(1 - low) / (1 + low), high)


def _common(rows: Sequence[tuple[Number, Number]], percent: bool) -> tuple[float, float] | None:
    ranges = [_range_of_majority(_share(a, percent), printed(kappa)) for a, kappa in rows]
    least, most = max(r[0] for r in ranges), min(r[1] for r in ranges)
    return (least, most) if least <= most else None


def _range_of_majority(a: Printed, k: Printed) -> tuple[float, float]:
    """Return the least and largest h at which some accuracy and kappa print so; the least is larger where none does.

    At a given h kappa grows with accuracy whatever g is, so that its extremes lie at the ends of what is printed. Over
    h the largest kappa rises to h = 1 - a/2 and falls after it, the least one falls to h = (1 + a)/2 and rises after.
    """
    low, high = min(max(a.low, 0.0), 1.0), min(max(a.high, 0.0), 1.0)
    slack = _SLACK + 1e-9 * k.half_unit
    large = _inside(lambda h: _extreme_kappa(high, h, largest=True) - k.low + slack, 1 - high / 2)
    small = _inside(lambda h: k.high + slack - _extreme_kappa(low, h, largest=False), (1 + low) / 2)
    return max(large[0], small[0], 0.5 + _SLACK) - _SLACK, min(large[1], small[1]) + _SLACK


def _extreme_kappa(a: float, h: float, *, largest: bool) -> float:
    """Return the largest or least kappa of a judge with accuracy `a` when the majority class has a share of `h`."""
    g = max(h - (1 - a), 1 - a - h, 0.0) if largest else min(h + (1 - a), 1 + a - h, 1.0)
    apart = h * (1 - g) + g * (1 - h)
    # All right: kappa is 1, also where one class is all that there is.
    return 1 - (1 - a) / apart if a < 1 else 1.0


def _inside(height: Callable[[float], float], peak: float) -> tuple[float, float]:
    """Return where in [.5, 1] a function that rises to its peak and falls after it is at least 0."""
    if height(peak) < 0:
        return 1.0, 0.5
    ends = []
    for end in (0.5, 1.0):
        outside, inside = end, peak
        if height(end) >= 0:
            inside = end
        for _ in range(60 if inside != end else 0):
            middle = (outside + inside) / 2
            outside, inside = (outside, middle) if height(middle) >= 0 else (middle, inside)
        ends.append(inside)
    return ends[0], ends[1]
