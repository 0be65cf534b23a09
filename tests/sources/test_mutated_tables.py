"""Tables as people send them: every number is the true one, or a WARNING stands above it, or one line refuses it.

Each seed draws a table whose statistic is known, spoils it in one or two ways, writes it in some kind of file and reads
it with a public function.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from layers import sampled

import d3stats
from d3stats import inference
from d3stats.note import severity_of
from d3stats.planning.prices import price_turns
from d3stats.worlds import PriceTable

ALL = 1100
QUICK = (
    *(
        0,
        1,
        3,
        4,
        5,
        11,
        13,
        14,
        15,
        19,
        21,
        200,
        205,
        207,
        214,
        221,
        225,
        228,
        300,
        301,
        302,
        309,
        311,
        314,
        320,
    ),
    *(
        322,
        326,
        332,
        338,
        480,
        487,
        494,
        501,
        508,
        515,
        516,
        522,
        528,
        534,
        536,
        539,
        542,
        545,
        548,
        552,
        554,
        560,
    ),
    *(
        566,
        572,
        660,
        669,
        678,
        685,
        687,
        696,
        698,
        703,
        705,
        707,
        708,
        711,
        718,
        726,
        738,
        742,
        746,
        750,
        758,
        766,
    ),
    *(774, 798, 806, 814, 860, 861, 862, 863, 864, 865, 866, 868, 875),
)
"""The seeds of the fast layer: in every block of seeds, each kind of table and each change of it at least once."""
FAILED = ("ERROR", "-1", "[invalid]", "timeout", "refused", "<error>", "Exception: 429", "N/A", "null")
AROUND = (
    "The answer is {}.",
    "({})",
    "{}.",
    "Answer: {}",
    "**{}**",
    "{})",
    " {} ",
    "I choose {}",
    "Option {}",
)
SCRIPTS = {
    "full-width": {"A": "Ａ", "B": "Ｂ"},
    "Cyrillic": {"A": "А", "B": "В"},
    "small": {"A": "a", "B": "b"},
}
EXTRA = {
    "timestamp": lambda rng, n: [f"2025-01-{1 + k % 28:02d}" for k in range(n)],
    "confidence": lambda rng, n: rng.random(n).round(3),
    "comment": lambda rng, n: rng.choice(["fine", "short", "see A"], n),
    "latency_ms": lambda rng, n: rng.integers(1, 999, n),
    "Unnamed: 0": lambda rng, n: range(n),
    "seed": lambda rng, n: rng.integers(0, 3, n),
}
ODD_NAMES = {
    "item": ("question_id", "Nr", "case"),
    "debate": ("dialogue_id", "Sitzung"),
    "rater": ("annotator", "coder", "Wer"),
    "agent": ("speaker", "Wer"),
    "vote": ("verdict", "prediction", "Urteil"),
    "label": ("gold", "Richtig"),
    "score": ("rating_points", "punkte"),
    "correct": ("is_correct", "ok"),
}


@dataclass
class Case:
    """A table, the columns that its reader must be told, what is done to it and the true number."""

    kind: str
    table: pd.DataFrame
    truth: float
    options: dict[str, Any] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    prices: PriceTable | None = None
    write: Callable[[pd.DataFrame, Path], Any] | None = None
    """Writes the file, where what is done to it is done to its bytes."""


def log(rng: np.random.Generator) -> Case:
    n, rows = int(rng.integers(12, 40)), []
    labels = rng.choice(["A", "B"], n)
    for d in range(n):
        for r in (1, 2):
            for agent in ("x", "y", "z"):
                vote = labels[d] if rng.random() < 0.7 else rng.choice(["A", "B"])
                rows.append((f"d{d}", r, agent, vote, labels[d]))
    return Case("log", pd.DataFrame(rows, columns=["debate", "round", "agent", "vote", "label"]), np.nan)


def ratings(rng: np.random.Generator) -> Case:
    n, raters = int(rng.integers(15, 40)), ["x", "y", "z"][: int(rng.integers(2, 4))]
    truth = rng.choice(["A", "B"], n)
    rows = [
        (f"q{k}", rater, truth[k] if rng.random() < 0.75 else rng.choice(["A", "B"]))
        for k in range(n)
        for rater in raters
    ]
    return Case("ratings", pd.DataFrame(rows, columns=["item", "rater", "vote"]), np.nan)


def scores(rng: np.random.Generator) -> Case:
    n = int(rng.integers(15, 40))
    true = rng.normal(5, 2, n)
    rows = [
        (f"q{k}", rater, float(np.clip(true[k] + rng.normal(0, 1), 1, 10).round(1)))
        for k in range(n)
        for rater in ("x", "y")
    ]
    return Case("scores", pd.DataFrame(rows, columns=["item", "rater", "vote"]), np.nan)


def run(rng: np.random.Generator) -> Case:
    n = int(rng.integers(15, 40))
    values = rng.integers(0, 2, n) if rng.random() < 0.5 else rng.random(n).round(2)
    name = "correct" if values.dtype.kind == "i" else "score"
    return Case("run", pd.DataFrame({"item": [f"q{k}" for k in range(n)], name: values}), np.nan)


def answers(rng: np.random.Generator) -> Case:
    n = int(rng.integers(15, 40))
    label = rng.choice(["A", "B"], n)
    vote = [x if rng.random() < 0.7 else rng.choice(["A", "B"]) for x in label]
    return Case(
        "answers", pd.DataFrame({"item": [f"q{k}" for k in range(n)], "vote": vote, "label": label}), np.nan
    )


def verdicts(rng: np.random.Generator) -> Case:
    n, rows = int(rng.integers(15, 40)), []
    for k in range(n):
        long = rng.integers(50, 400, 2)
        for order in ("AB", "BA"):
            pull = 0.8 * np.log2(long[0] / long[1]) + (0.6 if order == "AB" else -0.6)
            rows.append((f"q{k}", order, "AB"[int(rng.random() > 1 / (1 + np.exp(-pull)))], *long))
    return Case(
        "verdicts", pd.DataFrame(rows, columns=["item", "order", "vote", "length_a", "length_b"]), np.nan
    )


def points(rng: np.random.Generator) -> Case:
    """Draw a judge's scores of two sides."""
    n = int(rng.integers(15, 40))
    given = rng.normal([6, 5], 2, (n, 2)).clip(1, 10).round(int(rng.integers(2)))
    table = pd.DataFrame({"debate": [f"d{k}" for k in range(n)], "round": 1, "agent": "judge", "label": "A"})
    return Case("points", table.assign(score_A=given[:, 0], score_B=given[:, 1]), np.nan)


def tokens(rng: np.random.Generator) -> Case:
    case = log(rng)
    spent = rng.integers(200, 3000, len(case.table))
    return Case("tokens", case.table.assign(tokens=spent), np.nan, {"value": "tokens"})


BASES = (log, ratings, scores, run, answers, verdicts)
LATER = (*BASES, points, tokens)
"""The tables of the seeds from 660 on."""


def measured(case: Case, source: Any) -> tuple[float, list[str]]:
    """Return the statistic of a case and all that stands above it."""
    how = case.options
    if case.kind in ("log", "run", "answers"):
        value = "votes" if case.kind == "log" else how.get("value")
        reading = {name: setting for name, setting in how.items() if name != "value"}
        if case.prices is not None:
            opened = d3stats.open(source, **reading)
            priced = price_turns(opened.log().turns, opened.trajectories(), case.prices)
            return float(np.nansum(priced.dollars)), [priced.note]
        read = inference.as_run(source, value=value, **reading)
        notes = list(read.notes)
        if case.kind == "log":
            t = d3stats.as_trajectories(source, **reading)
            notes += [*t.notes, *t.remarks()]
        return float(np.nanmean(read.value)), notes
    if case.kind == "points":
        shown = d3stats.scores(source, **how)
        return float((shown.means["mean"] * [1.0, 3.0]).sum()), list(shown.notes)
    if case.kind == "tokens":
        read = inference.as_run(source, **how)
        return float(np.nanmean(read.value)), list(read.notes)
    if case.kind == "verdicts":
        found = inference.position_bias(source, rng=1, **how)
        long = inference.length_bias(source, use_label=False, **how)
        return found.estimates[0].value + 10 * long.estimates[-1].value, [*found.notes, *long.notes]
    made = inference.percent_agreement(source, weights="quadratic" if case.kind == "scores" else None, **how)
    return made.estimate.value, list(made.notes)


# -------------------------------------------------------------------- what is done to tables


def texts_around(case: Case, rng: np.random.Generator) -> None:
    share, around = rng.choice([0.1, 0.3, 0.6]), str(rng.choice(AROUND))
    _some(case, rng, share, lambda vote: around.format(vote))


def other_script(case: Case, rng: np.random.Generator) -> None:
    letters = SCRIPTS[str(rng.choice(list(SCRIPTS)))]
    _some(case, rng, float(rng.choice([0.1, 0.3, 0.6])), lambda vote: letters.get(vote, vote))


def failures(case: Case, rng: np.random.Generator) -> None:
    word = str(rng.choice(FAILED))
    column = "vote" if "vote" in case.table else case.table.columns[-1]
    rows = _chosen(case, rng, float(rng.choice([0.04, 0.12, 0.3])))
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = None
    case.truth = measured(case, case.table)[0]  # a failure is missing
    case.table.loc[rows, column] = word


def slots(case: Case, rng: np.random.Generator) -> None:
    back, table = case.table["order"] == "BA", case.table
    table["vote"] = table["vote"].where(~back, table["vote"].map({"A": "B", "B": "A"}))
    first = table["length_a"].copy()
    table["length_a"] = first.where(~back, table["length_b"])
    table["length_b"] = table["length_b"].where(~back, first)
    if rng.random() < 0.5:
        case.options["votes"] = "slot"


def swaps(case: Case, rng: np.random.Generator) -> None:
    name = str(rng.choice(["is_swapped", "flipped", "swapped"]))
    case.table = case.table.assign(**{name: case.table["order"] == "BA"}).drop(columns="order")


def filters(case: Case, rng: np.random.Generator) -> None:
    other = case.table.copy()
    other.iloc[:, -1] = 1
    case.table = pd.concat(
        [case.table.assign(filter="strict"), other.assign(filter="loose")], ignore_index=True
    )


def more_columns(case: Case, rng: np.random.Generator) -> None:
    for name in rng.choice(list(EXTRA), int(rng.integers(1, 4)), replace=False):
        case.table.insert(
            int(rng.integers(0, len(case.table.columns))), str(name), EXTRA[str(name)](rng, len(case.table))
        )


def wide(case: Case, rng: np.random.Generator) -> None:
    case.table = case.table.pivot_table(
        index="item", columns="rater", values="vote", aggfunc="first"
    ).reset_index()
    case.table.columns = pd.Index([str(name) for name in case.table.columns])


def commas(case: Case, rng: np.random.Generator) -> None:
    column = case.table.columns[-1]
    case.table[column] = [str(value).replace(".", ",") for value in case.table[column]]


def other_prices(case: Case, rng: np.random.Generator) -> None:
    n = len(case.table)
    case.table = case.table.assign(
        model="small", tokens_in=rng.integers(100, 900, n), tokens_out=rng.integers(10, 90, n)
    )
    case.prices = PriceTable("2025-01-01", {"small": (1.0, 4.0)})
    case.truth = measured(case, case.table)[0]
    case.prices = PriceTable("2025-01-01", {"large": (20.0, 60.0)})


def renamed(case: Case, rng: np.random.Generator) -> None:
    names = {
        old: str(rng.choice(ODD_NAMES[old]))
        for old in case.table.columns
        if old in ODD_NAMES and rng.random() < 0.5
    }
    case.table = case.table.rename(columns=names)


def composite(case: Case, rng: np.random.Generator) -> None:
    numbers = case.table["item"].str[1:].astype(int)
    parts = {"system": "S" + (numbers % 4).astype(str), "topic": "C" + (numbers // 4).astype(str)}
    case.table = case.table.drop(columns="item").assign(**parts)[["rater", "system", "topic", "vote"]]


def turns(case: Case, rng: np.random.Generator) -> None:
    numbers = case.table["item"].str[1:].astype(int)
    case.table = case.table.assign(question_id=numbers // 2, turn=numbers % 2 + 1, model_a="m", model_b="n")
    case.table = case.table.rename(columns={"rater": "judge", "vote": "winner"}).drop(columns="item")
    case.table["winner"] = case.table["winner"].replace({"A": "model_a", "B": "model_b"})


def header_again(case: Case, rng: np.random.Generator) -> None:
    """Two files were put one below the other, the header of the second among the rows."""
    at, table = int(rng.integers(1, len(case.table))), case.table.astype(object)
    header = pd.DataFrame([dict(zip(table.columns, table.columns, strict=True))])
    case.table = pd.concat([table.iloc[:at], header, table.iloc[at:]], ignore_index=True)


def total_row(case: Case, rng: np.random.Generator) -> None:
    """A spreadsheet's last row sums up the numbers and counts the rest."""
    table = case.table.astype(object)
    word = str(rng.choice(["Total", "SUM", "Average", "Summe", "Grand Total"]))
    last = {name: pd.to_numeric(table[name], errors="coerce").sum() or None for name in table.columns}
    last[table.columns[0]] = word
    case.table = pd.concat([table, pd.DataFrame([last])], ignore_index=True)


def names_spelt_otherwise(case: Case, rng: np.random.Generator) -> None:
    """Some rows have a rater, an agent or an item with blanks around it, in capitals, or in another form of Unicode."""
    column = next(name for name in ("agent", "rater", "item") if name in case.table)
    spelt = (str.upper, lambda name: f" {name} ", lambda name: f"{name}\u200b", lambda name: f"\ufeff{name}")
    change = spelt[int(rng.integers(len(spelt)))]
    rows = _chosen(case, rng, float(rng.choice([0.1, 0.3])))
    case.table.loc[rows, column] = [change(str(name)) for name in case.table.loc[rows, column]]


def percent(case: Case, rng: np.random.Generator) -> None:
    """Some values are written as percentages."""
    column = case.table.columns[-1]
    rows = _chosen(case, rng, float(rng.choice([0.3, 1.0])))
    case.table[column] = case.table[column].astype(object)
    signs = len(rows) == len(case.table) or bool(rng.random() < 0.5)  # a whole column may be on another scale
    case.table.loc[rows, column] = [
        f"{round(float(value) * 100, 6):g}%" if signs else round(float(value) * 100, 6)
        for value in case.table.loc[rows, column]
    ]


def rows_twice(case: Case, rng: np.random.Generator) -> None:
    """Some rows were exported twice."""
    rows = _chosen(case, rng, float(rng.choice([0.1, 0.5])))
    case.table = pd.concat([case.table, case.table.iloc[rows]], ignore_index=True)


def rounds_in_words(case: Case, rng: np.random.Generator) -> None:
    """Rounds are called, or count from 0."""
    form = str(rng.choice(["Round {}", "r{}", "{}.0", "zero"]))
    rounds = case.table["round"]
    case.table["round"] = rounds - 1 if form == "zero" else [form.format(number) for number in rounds]


def gold_in_lower_case(case: Case, rng: np.random.Generator) -> None:
    """The right answers come from another file, in lower case or in mixed case."""
    change = (str.lower, lambda text: text.lower() if rng.random() < 0.5 else text)[int(rng.integers(2))]
    keys = "debate" if "debate" in case.table else "item"
    told = {name: change(label) for name, label in zip(case.table[keys], case.table["label"], strict=True)}
    case.table["label"] = [told[name] for name in case.table[keys]]


def unseen_signs(case: Case, rng: np.random.Generator) -> None:
    """Some votes have a sign that nobody sees beside them."""
    sign = str(rng.choice(["\u200b", "\u00a0", "\ufeff", "\u2060", "\u00ad", "\u200e"]))
    before = bool(rng.random() < 0.5)
    _some(
        case,
        rng,
        float(rng.choice([0.1, 0.4, 1.0])),
        lambda vote: f"{sign}{vote}" if before else f"{vote}{sign}",
    )


def options_with_text(case: Case, rng: np.random.Generator) -> None:
    """Some votes are copied with the text of their option."""
    around = str(
        rng.choice(["{}) because it is longer", "{}: the first one", "{}. Paris", "({}) Rome", "{} - 42"])
    )
    _some(case, rng, float(rng.choice([0.1, 0.4, 1.0])), around.format)


def thousands(case: Case, rng: np.random.Generator) -> None:
    """Values are in thousands, with marks between them."""
    column, mark = case.table.columns[-1], str(rng.choice([",", " ", "'", "\u202f"]))
    if column == "correct":
        case.table = case.table.rename(columns={"correct": "score"})
        column = "score"
    case.table[column] = [round(float(value) * 10000 + 1000) for value in case.table[column]]
    case.truth = measured(case, case.table)[0]
    case.table[column] = [f"{value:,}".replace(",", mark) for value in case.table[column]]


def dates_as_names(case: Case, rng: np.random.Generator) -> None:
    """Items and debates are called by a date, some with a time."""
    column = "debate" if "debate" in case.table else "item"
    codes, _ = pd.factorize(case.table[column])
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(codes, unit="D")
    form = str(rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%SZ", "%m/%d/%Y"]))
    case.table[column] = list(days.strftime(form))
    case.truth = measured(case, case.table)[0]  # a test may be drawn otherwise in another order of names


def row_under_the_header(case: Case, rng: np.random.Generator) -> None:
    """A row of units, or a second header in other words, stands under the header."""
    table = case.table.astype(object)
    words = (
        dict.fromkeys(table.columns, "text"),
        {name: f"[{name}]" for name in table.columns},
        {name: name.upper() for name in table.columns},
        {name: "" if k else "(unit)" for k, name in enumerate(table.columns)},
    )
    case.table = pd.concat([pd.DataFrame([words[int(rng.integers(len(words)))]]), table], ignore_index=True)


def footnote(case: Case, rng: np.random.Generator) -> None:
    """A last row says where the table comes from."""
    row: dict[str, Any] = dict.fromkeys(case.table.columns)
    row[case.table.columns[0]] = str(
        rng.choice(["Source: our own runs", "* ties were broken by hand", "n = 40"])
    )
    case.table = pd.concat([case.table.astype(object), pd.DataFrame([row])], ignore_index=True)


def merged_cells(case: Case, rng: np.random.Generator) -> None:
    """Cells that say the same as the cell above are empty, as those of a merged cell are."""
    names = ["round"] if "round" in case.table and rng.random() < 0.5 else []
    for column in [case.table.columns[0], *names]:
        same = case.table[column].eq(case.table[column].shift())
        case.table[column] = case.table[column].astype(object).mask(same, None)


def empty_rows_and_columns(case: Case, rng: np.random.Generator) -> None:
    """Rows and a column without any cell."""
    at, table = int(rng.integers(1, len(case.table))), case.table.astype(object)
    empty = pd.DataFrame([dict.fromkeys(table.columns)])
    case.table = pd.concat([table.iloc[:at], empty, table.iloc[at:]], ignore_index=True)
    case.table.insert(int(rng.integers(0, case.table.shape[1] + 1)), "Unnamed: 9", None)


def truths_in_words(case: Case, rng: np.random.Generator) -> None:
    """Right and wrong are words."""
    column = case.table.columns[-1]
    if column == "correct":
        pairs = [
            ("no", "yes"),
            ("N", "Y"),
            ("fail", "pass"),
            ("I", "C"),
            ("nein", "ja"),
            ("0,0", "1,0"),
            ("x", "ok"),
        ]
        words = pairs[int(rng.integers(len(pairs)))]
        case.table[column] = [words[int(value)] for value in case.table[column]]
    else:
        rows = _chosen(case, rng, 0.2)
        case.table[column] = case.table[column].astype(object)
        case.table.loc[rows, column] = [f"{value}/1" for value in case.table.loc[rows, column]]


def a_column_twice(case: Case, rng: np.random.Generator) -> None:
    """A join left the last column twice, the second with other values."""
    name = case.table.columns[-1]
    other = list(rng.permutation(case.table[name].to_numpy()))
    case.table[f"{name}{rng.choice(['.1', '_y', ' (2)'])}"] = other


# ------------------------------------------------------------- what programs do to tables, and to their files


def byte_order_mark(case: Case, rng: np.random.Generator) -> None:
    """The file begins with a mark of its byte order, in one of its forms, or with two of them."""
    encoding = str(rng.choice(["utf-8-sig", "utf-16", "utf-16-le", "twice"]))

    def write(table: pd.DataFrame, folder: Path) -> Path:
        text = table.to_csv(index=False)
        path = folder / "table.csv"
        if encoding == "twice":
            path.write_bytes(("\ufeff\ufeff" + text).encode())
        elif encoding == "utf-16-le":
            path.write_bytes(("\ufeff" + text).encode(encoding))
        else:
            path.write_bytes(text.encode(encoding))
        return path

    case.write = write


def lines_of_header(case: Case, rng: np.random.Generator) -> None:
    """A title, or a line of merged cells that group columns, stands above the header."""
    form, sheet = int(rng.integers(3)), bool(rng.random() < 0.5)

    def write(table: pd.DataFrame, folder: Path) -> Path:
        n = table.shape[1]
        above = (
            ["Results of our study", *[None] * (n - 1)],
            ["Case", *[None] * (n - 2), "Result"],
            [None] * n,
        )[form]
        rows = [above, list(table.columns), *table.astype(object).values.tolist()]
        whole, path = pd.DataFrame(rows), folder / ("table.xlsx" if sheet else "table.csv")
        if sheet:
            whole.to_excel(path, index=False, header=False)
        else:
            whole.to_csv(path, index=False, header=False)
        return path

    case.write = write


def one_name_twice(case: Case, rng: np.random.Generator) -> None:
    """Two columns have the same name, and the second has other values."""
    name = case.table.columns[-1]
    other, first = list(rng.permutation(case.table[name].to_numpy())), bool(rng.random() < 0.5)
    form = str(rng.choice(["csv", "xlsx", "frame"]))

    def write(table: pd.DataFrame, folder: Path) -> Any:
        double = table.copy()
        double.insert(0 if first else len(table.columns), name, other, allow_duplicates=True)
        path = folder / f"table.{form}"
        if form == "csv":
            double.to_csv(path, index=False)
        elif form == "xlsx":
            double.to_excel(path, index=False)
        return double if form == "frame" else path

    case.write = write


def numbers_of_rows_as_items(case: Case, rng: np.random.Generator) -> None:
    """The number of the row stands where the name of the item was."""
    name = "debate" if "debate" in case.table else "item"
    case.table[name] = range(1, len(case.table) + 1)


def answers_in_two_languages(case: Case, rng: np.random.Generator) -> None:
    """Answers are yes and no, and some rows say it in another language or as truth values."""
    one, other = (
        ("yes", "no"),
        (("ja", "nein"), ("True", "False"), ("1", "0"), ("oui", "non"))[int(rng.integers(4))],
    )
    columns = [name for name in ("vote", "label") if name in case.table]
    which = str(rng.choice(columns))
    rows = (
        set(_chosen(case, rng, float(rng.choice([0.3, 1.0]))).tolist())
        if which == "vote"
        else set(range(10**6))
    )
    for name in columns:
        case.table[name] = [
            (other if name == which and k in rows else one)["AB".index(str(cell))]
            for k, cell in enumerate(case.table[name])
        ]


def two_scales(case: Case, rng: np.random.Generator) -> None:
    """One half of the values is on a scale to 100, the other on that of the table."""
    column, n = case.table.columns[-1], len(case.table)
    if column == "correct":
        case.table = case.table.rename(columns={"correct": "score"})
        column = "score"
    half = np.arange(n) >= n // 2 if rng.random() < 0.5 else np.arange(n) % 2 == 1
    by = 100 if case.kind == "run" else 10
    case.table[column] = np.where(half, case.table[column] * by, case.table[column])


def file_twice(case: Case, rng: np.random.Generator) -> None:
    """The same file is given twice: by its name, as a copy, or by a pattern that finds both."""
    form = str(rng.choice(["name", "copy", "pattern"]))

    def write(table: pd.DataFrame, folder: Path) -> Any:
        one, other = folder / "table.csv", folder / "table (1).csv"
        table.to_csv(one, index=False)
        if form == "name":
            return [one, one]
        table.to_csv(other, index=False)
        return [one, other] if form == "copy" else str(folder / "table*.csv")

    case.write = write


def line_ends(case: Case, rng: np.random.Generator) -> None:
    """Lines end in two ways in one file, or all in the way of an old Macintosh."""
    form = str(rng.choice(["mixed", "old", "doubled"]))

    def write(table: pd.DataFrame, folder: Path) -> Path:
        lines, path = table.to_csv(index=False).splitlines(), folder / "table.csv"
        ends = {"mixed": ("\n", "\r\n"), "old": ("\r", "\r"), "doubled": ("\r\r\n", "\r\r\n")}[form]
        path.write_bytes("".join(line + ends[k % 2] for k, line in enumerate(lines)).encode())
        return path

    case.write = write


def lines_in_texts(case: Case, rng: np.random.Generator) -> None:
    """Texts of several lines, some of which look like rows of the table, stand in quotes."""
    table = case.table
    row = ",".join(map(str, table.iloc[0]))
    texts = rng.choice(
        ["one\ntwo", f"see\n{row},x\nabove", 'he said ""no""\r\nthen, yes', "plain"], len(table)
    )
    table.insert(int(rng.integers(0, table.shape[1])), "text", texts)
    case.write = _as_csv


def commas_in_cells(case: Case, rng: np.random.Generator) -> None:
    """Cells of a workbook hold numbers as text with a decimal comma, all or some of them."""
    column = case.table.columns[-1]
    rows = _chosen(case, rng, float(rng.choice([0.3, 1.0])))
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = [str(value).replace(".", ",") for value in case.table.loc[rows, column]]
    case.write = _as_workbook


def apostrophes(case: Case, rng: np.random.Generator) -> None:
    """Numbers are kept as text by a sign before them."""
    column, sign = case.table.columns[-1], str(rng.choice(["'", "=", "`", "\u2019"]))
    rows = _chosen(case, rng, float(rng.choice([0.2, 1.0])))
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = [
        f'="{value}"' if sign == "=" else f"{sign}{value}" for value in case.table.loc[rows, column]
    ]
    case.write = _as_csv if rng.random() < 0.5 else _as_workbook


def one_label(case: Case, rng: np.random.Generator) -> None:
    """The column of labels was filled down with its first cell."""
    case.table["label"] = case.table["label"].iloc[0]


def cells_moved(case: Case, rng: np.random.Generator) -> None:
    """Some rows lack their first or a middle cell, so that the cells behind it stand one column to the left."""
    at = int(rng.integers(0, case.table.shape[1] - 1))
    rows = set(_chosen(case, rng, float(rng.choice([0.1, 0.3]))).tolist())

    def write(table: pd.DataFrame, folder: Path) -> Path:
        lines = [",".join(map(str, table.columns))]
        for k, cells in enumerate(table.astype(object).values.tolist()):
            told = [str(cell) for j, cell in enumerate(cells) if not (k in rows and j == at)]
            lines.append(",".join(told))
        path = folder / "table.csv"
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    case.write = write


def names_as_numbers(case: Case, rng: np.random.Generator) -> None:
    """Items are numbers, and some rows have them as 7.0, as 007 or with a sign of thousands."""
    name = "debate" if "debate" in case.table else "item"
    numbers = pd.factorize(case.table[name])[0] + 1
    case.table[name] = numbers.astype(str)
    case.truth = measured(case, case.table)[0]
    form = str(rng.choice(["{}.0", "{:03d}", " {}", "#{}"]))
    rows = set(_chosen(case, rng, 0.3).tolist())
    case.table[name] = [
        form.format(int(number)) if k in rows else str(number) for k, number in enumerate(numbers)
    ]
    case.write = _as_csv if rng.random() < 0.5 else _as_workbook


def scores_as_dates(case: Case, rng: np.random.Generator) -> None:
    """A spreadsheet took some numbers for dates."""
    column = case.table.columns[-1]
    rows = _chosen(case, rng, float(rng.choice([0.1, 0.3])))
    form = str(rng.choice(["{:02d}.Feb", "2025-02-{:02d}", "{}. Feb", "2025-02-{:02d} 00:00:00"]))
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = [form.format(int(float(x)) + 1) for x in case.table.loc[rows, column]]


def answers_in_markup(case: Case, rng: np.random.Generator) -> None:
    """Some votes stand in JSON, HTML or LaTeX."""
    around = str(
        rng.choice(['{{"answer": "{}"}}', '["{}"]', "<b>{}</b>", "\\boxed{{{}}}", "&nbsp;{}", "'{}'", "{};"])
    )
    _some(case, rng, float(rng.choice([0.1, 0.4, 1.0])), around.format)


def two_answers_in_a_cell(case: Case, rng: np.random.Generator) -> None:
    """Some cells hold two answers."""
    rows = _chosen(case, rng, float(rng.choice([0.1, 0.3])))
    case.table["vote"] = case.table["vote"].astype(object)
    case.table.loc[rows, "vote"] = None
    case.truth = measured(case, case.table)[0]
    case.table.loc[rows, "vote"] = str(rng.choice(["A;B", "A|B", "A, B", "A/B", "A B", "AB"]))


def codes_of_missing(case: Case, rng: np.random.Generator) -> None:
    """A number out of the scale stands for a missing value."""
    column = case.table.columns[-1]
    rows = _chosen(case, rng, float(rng.choice([0.1, 0.3])))
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = None
    case.truth = measured(case, case.table)[0]
    case.table.loc[rows, column] = rng.choice([-99, 999, -1, 9999, -999])


def other_minus(case: Case, rng: np.random.Generator) -> None:
    """Numbers below 0 have a minus of typography, or stand in parentheses as in accounts."""
    column = case.table.columns[-1]
    if column == "correct":
        case.table = case.table.rename(columns={"correct": "score"})
        column = "score"
    case.table[column] = (case.table[column] - case.table[column].mean()).round(2)
    case.truth = measured(case, case.table)[0]
    form = str(rng.choice(["\u2212{}", "({})", "{}-", "- {}", "\u2013{}"]))
    case.table[column] = [form.format(-x) if x < 0 else str(x) for x in case.table[column]]
    case.write = _as_csv


# ------------------------------------------------------------------- what laboratories and spreadsheets do to cells


def _last(case: Case, rng: np.random.Generator, change: Callable[[float], Any], *shares: float) -> None:
    """Write some numbers of the last column otherwise."""
    column, rows = case.table.columns[-1], _chosen(case, rng, float(rng.choice(shares or (0.2, 1.0))))
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = [change(float(x)) for x in case.table.loc[rows, column]]


def blank_header(case: Case, rng: np.random.Generator) -> None:
    """A column has no name."""
    at = int(rng.integers(case.table.shape[1]))
    case.table.columns = pd.Index(["" if k == at else name for k, name in enumerate(case.table.columns)])
    case.write = _as_csv if rng.random() < 0.5 else _as_workbook


def units(case: Case, rng: np.random.Generator) -> None:
    """Numbers have a unit behind them, or a sign before them."""
    form = str(
        rng.choice(
            ["{:g} tok", "{:g} pts", "{:g}k", "~{:g}", "{:g}*", "$ {:g}", "€{:g}", "{:g} USD", ">{:g}"]
        )
    )
    _last(case, rng, form.format)


def out_of_ten(case: Case, rng: np.random.Generator) -> None:
    """Scores are written with the greatest one."""
    form = str(rng.choice(["{:g}/10", "{:g} / 10", "{:g} of 10", "{:g}-{:g}"]))
    _last(case, rng, lambda x: form.format(x, x + 1))


def dashes_and_words(case: Case, rng: np.random.Generator) -> None:
    """Missing cells say n/a in some rows and have a dash in others."""
    column = "vote" if "vote" in case.table else case.table.columns[-1]
    rows = _chosen(case, rng, 0.2)
    case.table[column] = case.table[column].astype(object)
    case.table.loc[rows, column] = None
    case.truth = measured(case, case.table)[0]
    words = rng.choice(["n/a", "-", "\u2014", "NA", "?", "."], len(rows))
    case.table.loc[rows, column] = words


def serials(case: Case, rng: np.random.Generator) -> None:
    """Items are called by a date, and some cells of the workbook hold its number."""
    column = "debate" if "debate" in case.table else "item"
    codes, _ = pd.factorize(case.table[column])
    days = pd.Timestamp("2025-01-01") + pd.to_timedelta(codes, unit="D")
    case.table[column] = list(days.strftime("%Y-%m-%d"))
    case.truth = measured(case, case.table)[0]
    case.table[column] = case.table[column].astype(object)
    for row in _chosen(case, rng, 0.3):
        case.table.loc[row, column] = 45658 + int(codes[row])
    case.write = _as_workbook


def fractions_as_dates(case: Case, rng: np.random.Generator) -> None:
    """Votes are 1/2 and 2/1, and the spreadsheet made dates of some."""
    letters = {"A": "1/2", "B": "2/1"}
    for name in ("vote", "label"):
        if name in case.table:
            case.table[name] = case.table[name].map(letters)
    dates = {"1/2": "2025-02-01 00:00:00", "2/1": "2025-01-02 00:00:00"}
    rows = _chosen(case, rng, float(rng.choice([0.3, 0.6])))
    case.table.loc[rows, "vote"] = [dates[vote] for vote in case.table.loc[rows, "vote"]]


def booleans(case: Case, rng: np.random.Generator) -> None:
    """Votes are truth values, written in several ways by several programs."""
    forms = [("TRUE", "FALSE"), ("true", "false"), ("1", "0"), ("T", "F"), ("True", "False")]
    one, other = (forms[int(k)] for k in rng.choice(len(forms), 2, replace=False))
    rows = set(_chosen(case, rng, 0.4).tolist())
    for name in ("vote", "label"):
        if name in case.table:
            written = enumerate(case.table[name])
            case.table[name] = [
                (other if k in rows and name == "vote" else one)["AB".index(x)] for k, x in written
            ]


def blanks_and_case(case: Case, rng: np.random.Generator) -> None:
    """Some votes have blanks behind them, or are in lower case."""
    form = (str.lower, "{} ".format, lambda vote: f"{vote.lower()}  ", "\t{}".format)[int(rng.integers(4))]
    _some(case, rng, float(rng.choice([0.1, 0.4])), form)


def points_between_thousands(case: Case, rng: np.random.Generator) -> None:
    """Whole numbers have points between thousands; some are below one thousand."""
    column = case.table.columns[-1]
    if column == "correct":
        case.table = case.table.rename(columns={"correct": "score"})
        column = "score"
    case.table[column] = [round(300 + 700 * float(value)) for value in case.table[column]]
    case.truth = measured(case, case.table)[0]
    case.table[column] = [f"{value:,}".replace(",", ".") for value in case.table[column]]
    case.write = _as_csv


def nested(case: Case, rng: np.random.Generator) -> None:
    """Numbers, or votes, stand in JSON or in the text of a list of Python."""
    form = str(rng.choice(['{{"score": {}}}', "[{}]", "['{}']", '{{"value": {}, "why": "short"}}', "({},)"]))
    if "vote" in case.table and case.kind not in ("scores", "tokens"):
        _some(case, rng, float(rng.choice([0.2, 1.0])), form.format)
    else:
        _last(case, rng, form.format)


def two_headers(case: Case, rng: np.random.Generator) -> None:
    """The names of the columns are in two lines, the groups in the first."""
    path = str(rng.choice(["table.csv", "table.xlsx"]))

    def write(table: pd.DataFrame, folder: Path) -> Path:
        n = table.shape[1]
        above = ["key", *[""] * (n - 2), "values"]
        rows = [above, list(table.columns), *table.astype(object).values.tolist()]
        whole = pd.DataFrame(rows)
        if path.endswith("csv"):
            whole.to_csv(folder / path, index=False, header=False)
        else:
            whole.to_excel(folder / path, index=False, header=False)
        return folder / path

    case.write = write


def seconds_and_milliseconds(case: Case, rng: np.random.Generator) -> None:
    """Durations are in seconds in some rows and in milliseconds in the others."""
    column = case.table.columns[-1]
    name = "score" if column == "correct" else column
    n = len(case.table)
    seconds = rng.lognormal(0.5, 0.6, n).round(2)
    case.table = case.table.rename(columns={column: name}).assign(**{name: seconds})
    case.truth = measured(case, case.table)[0]
    late = np.arange(n) >= n // 2 if rng.random() < 0.5 else rng.random(n) < 0.4
    case.table[name] = np.where(late, seconds * 1000, seconds)


def sums_below(case: Case, rng: np.random.Generator) -> None:
    """Two last rows sum up the numbers."""
    table = case.table.astype(object)
    for word, how in (("Total", "sum"), ("Mean", "mean")):
        numbers = {name: pd.to_numeric(table[name], errors="coerce") for name in table.columns}
        row = {name: None if each.isna().all() else getattr(each, how)() for name, each in numbers.items()}
        row[table.columns[0]] = word
        if "round" in table:
            row |= {"round": 1, "agent": table["agent"].iloc[0]}
        table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
    case.table = table


def copies_under_other_names(case: Case, rng: np.random.Generator) -> None:
    """Some debates or items stand twice, the second time with "(copy)" in the name."""
    column = "debate" if "debate" in case.table else "item"
    names = case.table[column].unique()
    some = set(rng.choice(names, max(1, len(names) // 3), replace=False))
    again = case.table[case.table[column].isin(some)]
    case.table = pd.concat(
        [case.table, again.assign(**{column: again[column] + " (copy)"})], ignore_index=True
    )


# ------------------------------------------------------------- what is in a table and cannot be what it is taken for


def column_as_agent(case: Case, rng: np.random.Generator) -> None:
    """The right answers, or what most said, stand among the agents or raters."""
    who = next(name for name in ("agent", "rater", "judge") if name in case.table)
    keys = [name for name in ("debate", "item", "round", "order") if name in case.table]
    first = case.table.drop_duplicates(keys)
    if "label" in case.table and rng.random() < 0.5:
        name, votes = str(rng.choice(["gold", "label", "truth", "human", "Ground truth"])), first["label"]
    else:
        name = str(rng.choice(["majority", "consensus", "final", "ensemble"]))
        most = case.table.groupby(keys)["vote"].agg(lambda votes: votes.mode().iloc[0])
        votes = [most[tuple(row) if len(keys) > 1 else row[0]] for row in first[keys].to_numpy().tolist()]
    case.table = pd.concat([case.table, first.assign(**{who: name, "vote": votes})], ignore_index=True)


def few_on_another_scale(case: Case, rng: np.random.Generator) -> None:
    """Few whole scores from 1 to 10 are on a scale to 100."""
    column, n = case.table.columns[-1], len(case.table)
    if column == "correct":
        case.table = case.table.rename(columns={"correct": "score"})
        column = "score"
    case.table = pd.concat([case.table] * 5, ignore_index=True)
    for name in ("item", "debate"):
        if name in case.table:
            case.table[name] = case.table[name] + "-" + (np.arange(5 * n) // n).astype(str)
    for name in (column, *(name for name in case.table.columns if name.startswith("score_"))):
        case.table[name] = rng.integers(2, 11, 5 * n)
    case.truth = measured(case, case.table)[0]
    rows = _chosen(case, rng, float(rng.choice([0.04, 0.06, 0.08])))
    case.table.loc[rows, column] *= 10


def contradicted(case: Case, rng: np.random.Generator) -> None:
    """Some votes were overwritten, as a column beside them tells."""
    name = str(rng.choice(["correct", "is_correct", "score"]))
    right = (case.table["vote"] == case.table["label"]).astype(int)
    if name == "correct" and rng.random() < 0.5:
        right = right.map({0: "no", 1: "yes"})
    rows = _chosen(case, rng, float(rng.choice([0.05, 0.2])))
    case.table.loc[rows, "vote"] = case.table.loc[rows, "vote"].map({"A": "B", "B": "A"})
    if case.kind == "answers" and name != "is_correct":  # there it would be what counts
        name = "was_correct"
    case.table[name] = right


def no_answer(case: Case, rng: np.random.Generator) -> None:
    """Some votes are none of the four answers."""
    letters = dict(zip("AB", "CD", strict=True))
    half = set(pd.unique(case.table.iloc[:, 0])[::2])
    for name in ("vote", "label"):
        moved = case.table[name].map(letters)
        case.table[name] = case.table[name].where(case.table.iloc[:, 0].isin(half), moved)
    word = str(rng.choice(["both", "0", "Z", "none of these", "tie", "neither", "unsure"]))
    rows = _chosen(case, rng, float(rng.choice([0.04, 0.12, 0.3])))
    case.table["vote"] = case.table["vote"].astype(object)
    case.table.loc[rows, "vote"] = None
    case.truth = measured(case, case.table)[0]
    case.table.loc[rows, "vote"] = word


def running_totals(case: Case, rng: np.random.Generator) -> None:
    """Tokens are totals up to the turn, of the debate or of the agent, in 36 debates at least."""
    parts = [
        case.table.assign(debate=case.table["debate"] + f"-{k}", tokens=rng.permutation(case.table["tokens"]))
        for k in range(3)
    ]
    case.table = pd.concat(parts, ignore_index=True)
    case.truth = measured(case, case.table)[0]
    keys = ["debate"] if rng.random() < 0.5 else ["debate", "agent"]
    case.table["tokens"] = case.table.groupby(keys)["tokens"].cumsum()


def failed_calls(case: Case, rng: np.random.Generator) -> None:
    """A column says of some rows that the call failed; they have a vote all the same."""
    name = str(rng.choice(["status", "error", "finish_reason"]))
    word = {
        "status": ("error", "failed", "timeout"),
        "error": ("timeout", "RateLimitError", "refused", "HTTP 429"),
        "finish_reason": ("length", "content_filter"),
    }[name][int(rng.integers(2))]
    rows = _chosen(case, rng, float(rng.choice([0.04, 0.15])))
    table = case.table.assign(**{name: {"status": "ok", "error": None, "finish_reason": "stop"}[name]})
    table[name] = table[name].astype(object)
    table.loc[rows, name] = word
    votes = table["vote"].copy()
    table["vote"] = votes.astype(object).where(~table.index.isin(rows), None)
    case.table = table
    case.truth = measured(case, case.table)[0]
    case.table = table.assign(
        vote=np.where(table.index.isin(rows), rng.choice(["A", "B"], len(table)), votes)
    )


def two_models(case: Case, rng: np.random.Generator) -> None:
    """The rows of a second model follow, with the same items."""
    other = case.table.copy()
    if case.kind == "answers":
        other["vote"] = rng.choice(["A", "B"], len(other))
    else:
        other[case.table.columns[-1]] = rng.permutation(other[case.table.columns[-1]]) * 0
    name = str(rng.choice(["model", "model_name"]))
    case.table = pd.concat([case.table.assign(**{name: "m1"}), other.assign(**{name: "m2"})])
    case.table = case.table.reset_index(drop=True)


def _as_csv(table: pd.DataFrame, folder: Path) -> Path:
    table.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def _as_workbook(table: pd.DataFrame, folder: Path) -> Path:
    table.to_excel(folder / "table.xlsx", index=False)
    return folder / "table.xlsx"


Change = Callable[[Case, np.random.Generator], None]
CHANGES: dict[str, tuple[Change, ...]] = {
    "log": (texts_around, other_script, failures, more_columns, other_prices, renamed),
    "ratings": (texts_around, other_script, failures, more_columns, wide, renamed, composite, turns),
    "scores": (failures, more_columns, commas, wide, renamed),
    "run": (failures, more_columns, commas, filters, renamed),
    "answers": (texts_around, other_script, failures, more_columns, renamed),
    "verdicts": (slots, swaps, failures, more_columns, texts_around, other_script),
}
OF_FILES: dict[str, tuple[Change, ...]] = {
    "log": (header_again, total_row, names_spelt_otherwise, rows_twice, rounds_in_words),
    "ratings": (header_again, total_row, names_spelt_otherwise, rows_twice),
    "scores": (header_again, total_row, names_spelt_otherwise, rows_twice),
    "run": (header_again, total_row, names_spelt_otherwise, rows_twice, percent),
    "answers": (header_again, total_row, names_spelt_otherwise, rows_twice),
    "verdicts": (header_again, total_row, names_spelt_otherwise, rows_twice),
}
"""What happens to tables when files are put together, summed up and edited, for the seeds from 200 on."""
_SHEETS = (
    dates_as_names,
    row_under_the_header,
    footnote,
    merged_cells,
    empty_rows_and_columns,
    a_column_twice,
)
OF_HANDS: dict[str, tuple[Change, ...]] = {
    "log": (gold_in_lower_case, unseen_signs, options_with_text, *_SHEETS),
    "ratings": (unseen_signs, options_with_text, *_SHEETS),
    "scores": (thousands, *_SHEETS),
    "run": (thousands, truths_in_words, *_SHEETS),
    "answers": (gold_in_lower_case, unseen_signs, options_with_text, *_SHEETS),
    "verdicts": (unseen_signs, options_with_text, *_SHEETS),
}
"""What people do to tables by hand, for the seeds from 300 on."""
_FILES = (byte_order_mark, lines_of_header, one_name_twice, numbers_of_rows_as_items, file_twice, line_ends,
          lines_in_texts, cells_moved, names_as_numbers)  # fmt: skip
_CELLS = (answers_in_two_languages, answers_in_markup, two_answers_in_a_cell)
_NUMBERS = (commas_in_cells, apostrophes, two_scales, scores_as_dates, codes_of_missing, other_minus)
OF_PROGRAMS: dict[str, tuple[Change, ...]] = {
    "log": (*_FILES, *_CELLS, one_label),
    "ratings": (*_FILES, *_CELLS),
    "scores": (*_FILES, *_NUMBERS, percent),
    "run": (*_FILES, *_NUMBERS),
    "answers": (*_FILES, *_CELLS, one_label),
    "verdicts": (*_FILES, answers_in_markup, two_answers_in_a_cell),
}
"""What programs do to tables and to the bytes of their files, for the seeds from 480 on."""
_ANY = (blank_header, serials, two_headers)
_VOTES = (dashes_and_words, fractions_as_dates, booleans, blanks_and_case, nested)
_WRITTEN = (dashes_and_words, units, out_of_ten, nested, points_between_thousands, commas_in_cells)
OF_LABS: dict[str, tuple[Change, ...]] = {
    "log": (*_ANY, *_VOTES, copies_under_other_names),
    "ratings": (*_ANY, *_VOTES, copies_under_other_names),
    "scores": (*_ANY, *_WRITTEN, seconds_and_milliseconds, sums_below),
    "run": (*_ANY, *_WRITTEN, seconds_and_milliseconds, sums_below),
    "answers": (*_ANY, *_VOTES, copies_under_other_names),
    "verdicts": (*_ANY, copies_under_other_names, dashes_and_words, booleans, blanks_and_case, nested),
    "points": (
        *_ANY,
        *_WRITTEN,
        *_NUMBERS,
        seconds_and_milliseconds,
        sums_below,
        failures,
        percent,
        total_row,
    ),
    "tokens": (*_ANY, dashes_and_words, units, nested, thousands, points_between_thousands, commas_in_cells),
}
"""What laboratories and spreadsheets do to the cells of tables, for the seeds from 660 on."""
OF_NEWCOMERS: dict[str, tuple[Change, ...]] = {
    "log": (column_as_agent, contradicted, no_answer, failed_calls),
    "ratings": (column_as_agent, failed_calls),
    "scores": (few_on_another_scale,),
    "run": (few_on_another_scale, two_models),
    "answers": (contradicted, no_answer, failed_calls, two_models),
    "verdicts": (failed_calls,),
    "points": (few_on_another_scale,),
    "tokens": (running_totals,),
}
"""What stands in a table of a newcomer and cannot be what it is taken for, for the seeds from 860 on."""
LAST = (wide, composite, turns, renamed, other_prices, swaps, more_columns)
"""Changes after which a table may have other columns: no change of votes comes later."""


def _chosen(case: Case, rng: np.random.Generator, share: float) -> Any:
    n = len(case.table)
    return rng.choice(n, max(1, round(share * n)), replace=False)


def _some(case: Case, rng: np.random.Generator, share: float, change: Callable[[str], str]) -> None:
    rows = _chosen(case, rng, share)
    case.table["vote"] = case.table["vote"].astype(object)
    case.table.loc[rows, "vote"] = [
        change(vote) if isinstance(vote, str) else vote for vote in case.table.loc[rows, "vote"]
    ]


def drawn(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    bases = LATER if seed >= 660 else BASES
    case = bases[seed % len(bases)](rng)
    case.truth = measured(case, case.table)[0]
    if seed >= 200:
        changes, start = next(
            (group[case.kind], start)
            for group, start in (
                (OF_NEWCOMERS, 860),
                (OF_LABS, 660),
                (OF_PROGRAMS, 480),
                (OF_HANDS, 300),
                (OF_FILES, 200),
            )
            if seed >= start
        )
        change = changes[(seed - start) // len(bases) % len(changes)]
        change(case, rng)
        case.done.append(change.__name__)
        return case
    changes = list(CHANGES[case.kind])
    picked = [changes[int(k)] for k in rng.choice(len(changes), int(rng.integers(1, 3)), replace=False)]
    if len(set(picked) & {wide, composite, turns, renamed}) > 1:
        picked = picked[:1]
    if {failures, other_prices} <= set(picked) or {turns, filters} & set(picked):
        picked = picked[:1]
    for change in sorted(picked, key=lambda one: (one in LAST, one is not failures, one is not slots)):
        change(case, rng)
        case.done.append(change.__name__)
    return case


def written(table: pd.DataFrame, folder: Path, seed: int) -> Any:
    kind = ("frame", "csv", "xlsx", "jsonl", "csv")[seed // len(BASES) % 5]
    path = folder / f"table.{kind}"
    if kind == "frame":
        return table
    if kind == "csv":
        table.to_csv(path, index=False, sep=";" if seed % 2 else ",")
    elif kind == "xlsx":
        table.to_excel(path, index=False)
    else:
        path.write_text(
            "".join(json.dumps(row, default=str) + "\n" for row in table.to_dict("records")), "utf-8"
        )
    return path


@sampled("seed", range(ALL), QUICK)
def test_a_number_is_true_or_warned_of_or_refused(seed: int, tmp_path: Path) -> None:
    case = drawn(seed)
    try:
        source = case.write(case.table, tmp_path) if case.write else written(case.table, tmp_path, seed)
        value, notes = measured(case, source)
    except (ValueError, TypeError) as refusal:
        said = str(refusal)
    else:
        warned = [note for note in notes if note.startswith("WARNING")]
        right = value == pytest.approx(case.truth, abs=1e-9)
        assert right or warned, (case.kind, case.done, value, case.truth, notes)
        return
    assert said.strip()
    assert "\n" not in said


@pytest.mark.slow
def test_the_generator_makes_every_change_of_every_kind() -> None:
    made = {(case.kind, change) for case in map(drawn, range(ALL)) for change in case.done}
    every = [
        group
        for groups in (CHANGES, OF_FILES, OF_HANDS, OF_PROGRAMS, OF_LABS, OF_NEWCOMERS)
        for group in groups.items()
    ]
    assert made == {(kind, change.__name__) for kind, changes in every for change in changes}


def test_scores_of_sides_on_two_scales_are_warned_of() -> None:
    warned = []
    for seed in range(8):
        rng, n = np.random.default_rng(seed), 40
        sides = rng.normal([6, 5], 1.5, (n, 2)).clip(1, 10).round(1)
        sides[:, 0] += sides[:, 0] == sides[:, 1]
        for by in (1, 10):
            points = np.where(np.arange(n)[:, None] >= n // 2, sides * by, sides)
            table = pd.DataFrame({"debate": range(n), "round": 1, "agent": "judge", "vote": "A"})
            found = d3stats.scores(table.assign(score_a=points[:, 0], score_b=points[:, 1]))
            warned.append([note for note in found.notes if "on two scales" in note])
    assert not any(warned[::2])
    assert all(severity_of(note) == "warning" for (note,) in warned[1::2])


@pytest.mark.parametrize("start", range(0, 24, 8))
def test_a_table_as_it_should_be_warns_of_nothing(start: int) -> None:
    for seed in range(start, start + 8):
        case = LATER[seed % len(LATER)](np.random.default_rng(9000 + seed))
        assert [note for note in measured(case, case.table)[1] if severity_of(note) == "warning"] == []
