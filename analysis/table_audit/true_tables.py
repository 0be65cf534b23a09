"""Random tables of results whose every number is true: drawn answers, tested and printed as papers print them.

Nothing here uses the package: tests, kappas and rounding are a second implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

__all__ = ["ROUNDINGS", "TESTS", "UNITS", "Style", "answers", "draw_style", "printed_as", "true_table"]

ROUNDINGS = ("half up", "half even", "binary", "cut off")
UNITS = ("percent", "percent sign", "share")
COUNTED = ("counts", "percent", "share")
AVERAGES = ("none", "plain", "weighted", "weighted, n not printed", "overall")
COLUMNS = (
    "baseline",
    "gain",
    "relative_gain",
    "gained_lost",
    "n",
    "kappa",
    "t",
    "p",
    "tokens",
    "tokens_per_point",
    "cost",
    "cost_per_point",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One row's truth: of n items, how many both runs, only the new, only the old, or none got right."""

    n: int
    both: int
    gained: int
    lost: int
    kappa: float
    tokens: int
    price: float

    @property
    def new(self) -> Fraction:
        """Accuracy."""
        return Fraction(self.both + self.gained, self.n)

    @property
    def old(self) -> Fraction:
        """Accuracy of the baseline."""
        return Fraction(self.both + self.lost, self.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a table is printed: its columns, units, digits, rounding, tests and the row that sums it up."""

    columns: tuple[str, ...] = COLUMNS
    rounding: str = "half even"
    unit: str = "percent"
    gain_unit: str = "percent"
    relative_unit: str = "percent"
    counted: str = "counts"
    digits: int = 1
    kappa_digits: int = 2
    t_digits: int = 2
    p_digits: int = 3
    p_form: str = "<"
    test: str = "paired t"
    sides: int = 2
    from_printed: bool = False
    whole: str = "none"
    numbers: bool = False


# Tests of two accuracies on the same items: statistic, then two-sided p


def _exact(a: Answers) -> float:
    return stats.binomtest(a.gained, a.gained + a.lost).pvalue if a.gained + a.lost else math.nan


def _mid_p(a: Answers) -> float:
    m, k = a.gained + a.lost, min(a.gained, a.lost)
    if not m:
        return math.nan
    tail = stats.binom.cdf(k - 1, m, 0.5) + 0.5 * stats.binom.pmf(k, m, 0.5)
    return float(min(2 * tail, 1.0))


def _mcnemar_z(a: Answers) -> float:
    m = a.gained + a.lost
    return (a.gained - a.lost) / math.sqrt(m) if m else math.nan


def _corrected(a: Answers) -> float:
    m = a.gained + a.lost
    return float(stats.chi2.sf(max(abs(a.gained - a.lost) - 1, 0) ** 2 / m, 1)) if m else math.nan


def _paired(a: Answers, ddof: int) -> float:
    d = (a.gained - a.lost) / a.n
    spread = (a.gained + a.lost) / a.n - d * d
    return d * math.sqrt((a.n - ddof) / spread) if spread > 1e-15 else math.nan


def _apart(a: Answers, pooled: bool, ddof: int = 0) -> float:
    x, y = float(a.old), float(a.new)
    mean = (x + y) / 2
    spread = 2 * mean * (1 - mean) if pooled else x * (1 - x) + y * (1 - y)
    return (y - x) * math.sqrt((a.n - ddof) / spread) if spread > 1e-15 else math.nan


def _normal(z: float) -> float:
    return float(2 * special.ndtr(-abs(z)))


def _student(t: float, df: int) -> float:
    return float(2 * special.stdtr(df, -abs(t)))


def _cross(a: Answers) -> list[list[int]]:
    i, j = a.both + a.lost, a.both + a.gained
    return [[j, a.n - j], [i, a.n - i]]


def _yates(a: Answers) -> float:
    (j, not_j), (i, not_i) = _cross(a)
    right, wrong = i + j, not_i + not_j
    if not right or not wrong:
        return math.nan
    gap = max(abs(j * not_i - i * not_j) - a.n, 0)
    return float(stats.chi2.sf(2 * a.n * gap**2 / (a.n * a.n * right * wrong), 1))


TESTS: dict[str, tuple[Callable[[Answers], float] | None, Callable[[Answers], float]]] = {
    "McNemar exact": (None, _exact),
    "sign test": (None, _exact),
    "McNemar mid-p": (None, _mid_p),
    "McNemar asymptotic": (_mcnemar_z, lambda a: _normal(_mcnemar_z(a))),
    "McNemar corrected": (None, _corrected),
    "paired t": (lambda a: _paired(a, 1), lambda a: _student(_paired(a, 1), a.n - 1)),
    "paired z": (lambda a: _paired(a, 0), lambda a: _normal(_paired(a, 0))),
    "two-sample z, pooled": (lambda a: _apart(a, True), lambda a: _normal(_apart(a, True))),
    "two-sample z": (lambda a: _apart(a, False), lambda a: _normal(_apart(a, False))),
    "two-sample t": (
        lambda a: _apart(a, False, 1),
        lambda a: _student(_apart(a, False, 1), 2 * a.n - 2),
    ),
    "chi-square, corrected": (None, _yates),
    "Fisher exact": (None, lambda a: float(stats.fisher_exact(_cross(a)).pvalue)),
}
"""Tests by name: the statistic that a column t may print (or None), and the two-sided p."""


def one_sided(a: Answers, p: float) -> float:
    """Return the p of the alternative that the new run is better."""
    return p / 2 if a.gained >= a.lost else 1 - p / 2


# Printing


def printed_as(value: float | Fraction, digits: int, rounding: str) -> str:
    """Return a number with so many decimals, exactly rounded in the named way."""
    if rounding == "binary":
        return f"{float(value):.{digits}f}"
    scaled = Fraction(value) * 10**digits
    whole, rest = divmod(abs(scaled), 1)
    up = {
        "cut off": False,
        "half up": rest >= Fraction(1, 2),
        "half even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
    }[rounding]
    units = int(whole) + up
    text = f"{units // 10**digits}.{units % 10**digits:0{digits}d}" if digits else str(units)
    return f"-{text}" if scaled < 0 and units else text


def _p(value: float, style: Style) -> str:
    digits = style.p_digits
    if math.isnan(value):
        return "-"
    if style.p_form == "scientific" and value < 0.01:
        mantissa, _, power = f"{value:.{digits}e}".partition("e")
        if style.rounding == "cut off":
            mantissa = printed_as(Fraction(value) * Fraction(10) ** -int(power), digits, "cut off")
        return f"{mantissa}e{power}"
    if style.p_form == "<" and value < 10.0**-digits:
        return f"<{10.0**-digits:.{digits}f}"
    text = printed_as(value, digits, style.rounding)
    return text.removeprefix("0") if style.p_form == "no zero" and text.startswith("0.") else text


def draw_style(rng: np.random.Generator, rounding: str | None = None) -> Style:
    """Draw how a table is printed."""

    def one(options: Sequence[Any]) -> Any:
        return options[rng.integers(len(options))]

    unit = one(UNITS)
    kept = {c for c in COLUMNS if rng.random() < 0.6}
    if not kept & {"baseline", "gain"}:
        kept.discard("gained_lost")
    counted = one(COUNTED)
    if "n" not in kept and rng.random() < 0.5:
        counted = one(COUNTED[1:])
    tests = [name for name, (statistic, _) in TESTS.items() if "t" not in kept or statistic is not None]
    share = unit == "share"
    return Style(
        columns=tuple(c for c in COLUMNS if c in kept),
        rounding=rounding or one(ROUNDINGS[:3]),
        unit=unit,
        gain_unit=unit if rng.random() < 0.7 else one(UNITS),
        relative_unit=one(("percent", "percent sign", "share")),
        counted=counted,
        digits=int(rng.integers(1 if not share else 2, 5)),
        kappa_digits=int(rng.integers(1, 5)),
        t_digits=int(rng.integers(1, 5)),
        p_digits=int(rng.integers(1, 5)),
        p_form=one(("<", "plain", "no zero", "scientific")),
        test=one(tests),
        sides=1 if rng.random() < 0.1 else 2,
        from_printed=rng.random() < 0.3,
        whole=one(AVERAGES),
        numbers=rng.random() < 0.1,
    )


# Truth


def answers(rng: np.random.Generator, rows: int, n: int | None = None) -> list[Answers]:
    """Draw the truth of a table: rows over the same items or other ones, near 0, near 1, or between."""
    sizes = np.full(rows, n or round(math.exp(rng.uniform(math.log(5), math.log(5000)))))
    if n is None and rng.random() < 0.3:
        sizes = np.array([round(math.exp(rng.uniform(math.log(5), math.log(2000)))) for _ in range(rows)])
    kind = rng.choice(["between", "low", "high"], p=[0.7, 0.1, 0.2]) if n is None else "between"
    middle = {"between": rng.uniform(0.3, 0.9), "low": 0.004, "high": 0.997}[kind]
    classes = int(rng.choice([2, 2, 3, 5]))
    balance = rng.dirichlet(np.full(classes, 3.0))
    same_baseline = rng.random() < 0.5
    one_price = rng.random() < 0.6
    prices = np.exp(rng.uniform(math.log(1e-6), math.log(1e-3), rows))
    out: list[Answers] = []
    for r in range(rows):
        size = int(sizes[r])
        lift = rng.normal(0, 0.3 if kind == "between" else 0.8)
        old = middle if same_baseline else float(special.expit(special.logit(middle) + rng.normal(0, 0.4)))
        new = float(special.expit(special.logit(old) + lift))
        most = min(old, 1 - new)
        lose = most * rng.random() ** 2
        gain = lose + new - old
        if gain < 0:
            gain, lose = 0.0, old - new
        cells = rng.multinomial(size, np.clip([old - lose, gain, lose, 1 - old - gain], 0, 1).tolist())
        both, gained, lost = map(int, cells[:3])
        if same_baseline and r and sizes[0] == size:
            # The baseline is one number for all rows.
            right = out[0].both + out[0].lost
            lost = int(rng.binomial(right, min(lose / old, 1.0)))
            gained = int(rng.binomial(size - right, min(gain / (1 - old), 1.0)))
            both = right - lost
        truth = _kappa(rng, size, both + gained, balance)
        tokens = int(np.exp(rng.uniform(math.log(50), math.log(50_000))))
        price = prices[0] if one_price else prices[r]
        out.append(
            Answers(n=size, both=both, gained=gained, lost=lost, kappa=truth, tokens=tokens, price=price)
        )
    return out


def _kappa(rng: np.random.Generator, n: int, right: int, balance: np.ndarray) -> float:
    """Return Cohen's kappa of drawn labels, with so many items right; wrong ones say another class."""
    labels = rng.choice(len(balance), size=n, p=balance)
    said = labels.copy()
    wrong = rng.permutation(n)[right:]
    said[wrong] = (labels[wrong] + rng.integers(1, len(balance), size=wrong.size)) % len(balance)
    k = len(balance)
    chance = float(np.bincount(labels, minlength=k) @ np.bincount(said, minlength=k)) / n**2
    return (right / n - chance) / (1 - chance) if chance < 1 else math.nan


# Tables


def true_table(truth: Sequence[Answers], style: Style) -> tuple[pd.DataFrame, int | None]:
    """Return a table as printed, and the number of items when all rows share one and no column prints it."""
    rows = [{"system": f"S{k + 1}", **_row(a, style)} for k, a in enumerate(truth)]
    one_n = len({a.n for a in truth}) == 1
    if style.whole != "none" and len(truth) > 1:
        rows.append(_whole(truth, style, rows))
    frame = pd.DataFrame(rows).fillna("")
    if style.numbers:
        # A data frame of numbers, where no cell needs text.
        for column in frame.columns[1:]:
            numbers = pd.to_numeric(frame[column].replace(["", "-"], np.nan), errors="coerce")
            if numbers.notna().equals(~frame[column].isin(["", "-"])):
                frame[column] = numbers
    return frame, truth[0].n if one_n and "n" not in style.columns else None


def _in(value: float | Fraction, unit: str, digits: int, style: Style) -> str:
    if unit == "share":
        return printed_as(value, max(digits, 2), style.rounding)
    text = printed_as(100 * Fraction(value), digits, style.rounding)
    return f"{text}%" if unit == "percent sign" else text


def _read(text: str, unit: str) -> Fraction:
    return Fraction(text.rstrip("%")) / (1 if unit == "share" else 100)


def _row(a: Answers, style: Style) -> dict[str, str]:
    unit, digits = style.unit, style.digits
    row = {"accuracy": _in(a.new, unit, digits, style)}
    old, new = a.old, a.new
    base = _in(old, unit, digits, style)
    if style.from_printed:
        old, new = _read(base, unit), _read(row["accuracy"], unit)
    statistic, test = TESTS[style.test]
    values: dict[str, Callable[[], str]] = {
        "baseline": lambda: base,
        "gain": lambda: _in(new - old, style.gain_unit, digits, style),
        "relative_gain": lambda: _in(new / old - 1, style.relative_unit, digits, style) if old else "-",
        "n": lambda: str(a.n),
        "kappa": lambda: (
            "-" if math.isnan(a.kappa) else printed_as(a.kappa, style.kappa_digits, style.rounding)
        ),
        "p": lambda: _p(test(a) if style.sides == 2 else one_sided(a, test(a)), style),
        "tokens": lambda: f"{a.tokens:,}",
        "tokens_per_point": lambda: (
            printed_as(a.tokens / (100 * new), digits, style.rounding) if new else "-"
        ),
        "cost": lambda: f"${printed_as(a.tokens * a.price, 4, style.rounding)}",
        "cost_per_point": lambda: (
            printed_as(Fraction(a.tokens * a.price) / (100 * new), 6, style.rounding) if new else "-"
        ),
    }
    for column in style.columns:
        if column == "gained_lost":
            for name, count in (("gained", a.gained), ("lost", a.lost)):
                counted = str(count) if style.counted == "counts" else ""
                row[name] = counted or _in(Fraction(count, a.n), style.counted, digits, style)
        elif column == "t":
            value = math.nan if statistic is None else statistic(a)
            row["t"] = "-" if math.isnan(value) else printed_as(value, style.t_digits, style.rounding)
        else:
            row[column] = values[column]()
    return row


def _whole(truth: Sequence[Answers], style: Style, rows: Sequence[dict[str, str]]) -> dict[str, str]:
    """Return the row that sums the others up: their mean, or that of all items."""
    total = sum(a.n for a in truth)
    plain = style.whole == "plain"
    weights = [Fraction(1, len(truth)) if plain else Fraction(a.n, total) for a in truth]

    def mean(values: Sequence[float | Fraction]) -> Fraction:
        return sum((w * Fraction(v) for w, v in zip(weights, values, strict=True)), Fraction(0))

    new, old = mean([a.new for a in truth]), mean([a.old for a in truth])
    row = {
        "system": "Overall" if style.whole == "overall" else "Average",
        "accuracy": _in(new, style.unit, style.digits, style),
    }
    if "baseline" in style.columns:
        row["baseline"] = _in(old, style.unit, style.digits, style)
    if "gain" in style.columns:
        row["gain"] = _in(new - old, style.gain_unit, style.digits, style)
    if "relative_gain" in style.columns and old:
        row["relative_gain"] = _in(new / old - 1, style.relative_unit, style.digits, style)
    if "n" in style.columns and style.whole != "weighted, n not printed":
        row["n"] = str(total)
    if "kappa" in style.columns and not any(math.isnan(a.kappa) for a in truth):
        row["kappa"] = printed_as(mean([a.kappa for a in truth]), style.kappa_digits, style.rounding)
    if "tokens" in style.columns and style.whole != "overall":
        row["tokens"] = printed_as(mean([a.tokens for a in truth]), 0, style.rounding)
    if "cost" in style.columns and style.whole != "overall":
        row["cost"] = printed_as(mean([Fraction(a.tokens * a.price) for a in truth]), 4, style.rounding)
    if style.whole == "weighted, n not printed":
        # The sizes of the rows stand in the text, not in the table.
        for other in rows:
            other.pop("n", None)
    return row
