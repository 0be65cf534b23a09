"""The rows of the tables and figures of papers, made of logs by functions of the library; nothing is computed here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from d3stats._words import Advised, counted, percent, points
from d3stats.estimate import Estimate, named_notes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from d3stats.inference import Comparison
    from d3stats.inference.comparison.paired import PairedDifference
    from d3stats.planning.prices import RoundDollars
    from d3stats.sources import Opened

__all__ = ["Cell", "Column", "Made", "Task", "written"]

Cell = Estimate | str | int | float | None
Draw = Callable[["Axes | None"], "Axes | Figure"]

SIZE = 5
"""Jurors of a random subset in D3's table 4."""
FEW = 5
"""With fewer questions a band of D3's figure 5 is not drawn."""
THRESHOLDS = (0.01, 0.05, 0.1, 0.2)
"""KS thresholds that the summary of the stability paper asks for."""


@dataclass(frozen=True)
class Column:
    """A column: its name in frames, its head in the paper, and the unit of its cells."""

    key: str
    head: str
    unit: str = "text"


@dataclass(frozen=True)
class Made:
    """The answer of a maker, its rows and columns, notes, and a function that draws them."""

    answer: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()
    draw: Draw | None = None


@dataclass(frozen=True)
class Task:
    """The name of an item, the logs by their names, and the settings."""

    item: str
    logs: Mapping[str, Opened]
    strata: str | None = None
    baseline: str | None = None
    rules: Sequence[str] = ()
    human: Any = None
    n_boot: int = 200
    level: float = 0.95
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    dollars: Mapping[str, RoundDollars] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The names of the logs."""
        return list(self.logs)

    @property
    def first(self) -> str:
        """The log that others are compared with."""
        return self.names[0] if self.baseline is None else self.baseline

    def each(self, call: Callable[[Opened], Any]) -> dict[str, Any]:
        """Return what a function finds in each log, with the draws that it would have alone; an error names the log."""
        found = {}
        for name, log in self.logs.items():
            try:
                found[name] = call(log)
            except ValueError as error:
                said = error.args[0] if error.args else ""
                whole = said._after(f"{name}: ") if isinstance(said, Advised) else f"{name}: {error}"
                raise ValueError(whole) from None
        return found

    def paid(self, log: Opened) -> RoundDollars | None:
        """Return what the rounds of a log cost, None without prices."""
        return next((self.dollars[name] for name in self.dollars if self.logs[name] is log), None)

    def draws(self) -> np.random.Generator:
        """Return the generator as it was given."""
        return deepcopy(self.rng)

    def debates(self, name: str) -> frozenset[str]:
        """Return the names of a log's debates."""
        return frozenset(map(str, self.logs[name].trajectories().debates))

    def compared(self, names: Sequence[str] | None = None, **settings: Any) -> Comparison:
        """Compare logs, all by default, with the first of them."""
        from d3stats.inference import compare

        names = [self.first, *(n for n in self.names if n != self.first)] if names is None else names
        debates = [self.debates(name) for name in names]
        settings.setdefault("by", "debate" if all(each == debates[0] for each in debates) else "question")
        how: dict[str, Any] = {"names": list(names), "level": self.level, "rng": self.draws()} | settings
        if len(names) > 2:
            how["baseline"] = names[0]
        return compare(*(self.logs[name] for name in names), **how)


# ------------------------------------------------------------------------------------------ cells


def written(value: Cell, unit: str) -> str:
    """Write a cell as a paper does: the estimate in the column's unit, with limits in brackets.

    Examples
    --------
    >>> written(Estimate(name="share", value=0.5, low=0.4, high=0.6, kind="Wilson", n=96), "percent")
    '50.0 [40.0, 60.0]'
    >>> written(None, "percent"), written(3, "count"), written(1234.5, "tokens")
    ('-', '3', '1,234')
    """
    if value is None or (isinstance(value, float) and value != value):
        return "-"
    if isinstance(value, str):
        return value
    scale, form = _FORMS[unit]
    if not isinstance(value, Estimate):
        return f"{scale * value:{form}}"
    text = f"{scale * value.value:{form}}"
    if value.low is None or value.high is None:
        return text
    return f"{text} [{scale * value.low:{form}}, {scale * value.high:{form}}]"


_FORMS = {
    "percent": (100.0, "z.1f"),
    "points": (100.0, "+z.1f"),
    "share": (1.0, "z.2f"),
    "tokens": (1.0, ",.0f"),
    "number": (1.0, "z.1f"),
    "dollars": (1000.0, ",.2f"),
    "rounds": (1.0, "z.2f"),
    "count": (1, ",d"),
    "p": (1.0, "z.3f"),
    "text": (1.0, "g"),
}
"""Scale and format of each unit."""

LOG = Column("log", "Framework")
ACCURACY = Column("accuracy", "Acc. (%)", "percent")
KAPPA = Column("kappa", "Kappa", "share")
EVALUATOR = Column("evaluator", "Evaluator")


def _estimate(
    name: str, row: Mapping[Any, Any], key: str, kind: str, n: int, level: float
) -> Estimate | None:
    """Return an estimate of a frame's columns ``key, key_low, key_high``; None where it has no value."""
    value, low, high = (float(row[f"{key}{end}"]) for end in ("", "_low", "_high"))
    if value != value:
        return None
    ends = (None, None) if low != low or high != high else (low, high)
    return Estimate(name=name, value=value, low=ends[0], high=ends[1], kind=kind, n=n, level=level)


def _models(log: Opened) -> str | None:
    """Return the models of a log's turns, None where it names none."""
    if not log.has_records:
        return None
    models = log.log().turns["model"].dropna().astype(str).unique()
    return ", ".join(sorted(models)) or None


def _best(what: str, found: Mapping[str, Cell]) -> str:
    """Say which log has the highest value, with its interval, and that it is not compared with the others."""
    known = {name: e for name, e in found.items() if isinstance(e, Estimate)}
    name = max(known, key=lambda each: known[each].value)
    e = known[name]
    if len(known) == 1:
        return f"{name}: {what} {percent(e.value, e.low, e.high)}."
    return f"{name} has the highest {what}, {percent(e.value, e.low, e.high)}; d3stats compare tests differences."


def _without_empty(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Cell]], why: Mapping[str, str]
) -> tuple[list[Column], list[str]]:
    """Leave out the columns that no log gives, and say why."""
    empty = [c for c in columns if all(row.get(c.key) is None for row in rows)]
    notes = [f"column {c.head!r} left out: {why.get(c.key, 'these logs do not give it')}" for c in empty]
    return [c for c in columns if c not in empty], notes


def _notes(found: Mapping[str, Any]) -> list[str]:
    """Return the notes of what was found in each log, under its name."""
    return named_notes([(name, one.notes) for name, one in found.items()], "logs")


def _right(task: Task, log: Opened, *measures: str, **settings: Any) -> Any:
    """Return the agreement of a log's verdicts with its labels: the share of right ones, and other measures."""
    from d3stats.inference import agreement

    how: dict[str, Any] = {
        "a": "label",
        "b": "decision",
        "measures": (*measures, "share"),
        "level": task.level,
    }
    return agreement(log, rng=task.draws(), **how | settings)


def _columns(*each: str) -> list[Column]:
    """Return columns from texts "key=head" or "key=head:unit"."""
    parts = [(key, *rest.split(":")) for key, _, rest in (text.partition("=") for text in each)]
    return [Column(*part) for part in parts]


def _intervals(rows: Iterable[tuple[str, Any]], value: str, label: str) -> pd.DataFrame:
    """Return named estimates as the frame of a figure."""
    frame = pd.DataFrame([e.to_dict() | {label: name} for name, e in rows]).rename(columns={"value": value})
    return frame[[label, value, "low", "high", "level", "kind"]]


NO_MODEL = "no turn names its model (field model)"
NO_ORDERS = "no log has items in both orders of the answers (field first, or --orders both of a run)"


# ------------------------------------------------------------------------------------------ verdicts


def verdicts(task: Task, *columns: Column) -> Made:
    """Accuracy and Cohen's kappa of the verdicts, log by log, and what else the columns ask for."""
    found = task.each(lambda log: _right(task, log, "cohen", strata=task.strata))
    asked = {c.key for c in columns}
    rows: list[dict[str, Cell]] = []
    notes = named_notes([(name, [*one.refused.values(), *one.notes]) for name, one in found.items()], "logs")
    for name, one in found.items():
        row: dict[str, Cell] = {"log": name, "accuracy": one.panel[0].estimate}
        row["kappa"] = one.pairs[0].estimate if one.pairs else None
        for part in one.strata:
            kind = "accuracy" if part.quantity == one.panel[0].estimate.name else "kappa"
            row |= {f"{kind} {e.name}": e for e in part.raw}
        if "evaluator" in asked:
            row["evaluator"] = _models(task.logs[name])
        if "consistency" in asked:
            row["consistency"], why = _consistency(task, name)
            notes += [f"{name}: no swap consistency, because {why}"] if why else []
        rows.append(row)
    heads: list[Column] = list(columns)
    if task.strata is not None:
        kinds = list(dict.fromkeys(e.name for one in found.values() for part in one.strata for e in part.raw))
        measured = [c for c in columns if c.key in ("accuracy", "kappa")]
        at = heads.index(measured[0])
        wide = [Column(f"{c.key} {kind}", f"{kind} {c.head}", c.unit) for kind in kinds for c in measured]
        heads = [c for c in heads if c not in measured]
        heads[at:at] = wide
    if "gain" in asked:
        base = task.first
        gains = task.compared() if len(rows) > 1 else None
        by_name = {} if gains is None else {d.second.name: d.difference for d in gains.differences}
        for row in rows:
            row["gain"] = "baseline" if row["log"] == base else by_name.get(str(row["log"]))
        notes += [] if gains is None else [n for n in gains.notes if n not in notes]
    kept, left = _without_empty(heads, rows, {"evaluator": NO_MODEL, "consistency": NO_ORDERS})
    answer = _best("accuracy", {str(row["log"]): row["accuracy"] for row in rows})

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting.intervals import plot_agreement

        frame = _intervals([(str(row["log"]), row["accuracy"]) for row in rows], "value", "name")
        return plot_agreement(frame, ax=ax, label="accuracy of the verdicts")

    return Made(answer, kept, rows, [*notes, *left], draw)


def _consistency(task: Task, name: str) -> tuple[Estimate | None, str]:
    """Return the swap consistency of a log's verdicts, or why there is none."""
    from d3stats.inference.bias.audit import Audits
    from d3stats.inference.bias.position import CONSISTENCY, position_bias

    try:
        found = position_bias(task.logs[name], level=task.level, rng=task.draws())
    except ValueError as error:
        return None, str(error)
    if isinstance(found, Audits):
        if "decision" not in found:
            return None, f"there are several judges and no decisions: {', '.join(found)}"
        found = found["decision"]
    e = found.find(CONSISTENCY)
    return e, "" if e is not None else "no item was judged in both orders"


# ------------------------------------------------------------------------------------------ costs


COSTS = (
    *(LOG, Column("accuracy", "Accuracy (%)", "percent"), Column("tokens", "Avg. Tokens", "tokens")),
    *(Column("dollars", "Cost ($/1,000)", "dollars"), Column("per_point", "Tokens/Acc.", "number")),
)


def costs(task: Task) -> Made:
    """Accuracy, mean tokens, and tokens per accuracy point, log by log."""
    from d3stats.planning.log_cost import log_cost

    found = task.each(lambda log: log_cost(log, dollars=task.paid(log), level=task.level))
    rows = [{"log": n, **{c.key: getattr(one, c.key) for c in COSTS[1:]}} for n, one in found.items()]
    notes = _notes(found)
    if task.dollars:
        notes.append("the cost is that of 1,000 debates in dollars, at these prices")
    columns, left = _without_empty(COSTS, rows, {"dollars": "give prices (--prices TABLE)"})
    known = {name: one.per_point for name, one in found.items() if one.per_point is not None}
    answer = "No verdict is right, so no tokens per accuracy point."
    if known:
        name = min(known, key=lambda each: known[each].value)
        e = known[name]
        limits = "" if e.low is None else f" [{e.low:z.1f}, {e.high:z.1f}]"
        answer = f"{name} spends the fewest tokens per accuracy point: {e.value:z.1f}{limits}."

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_frontier

        each = [(name, one.tokens, one.accuracy) for name, one in found.items()]
        return plot_frontier(_costs_kept(each, task.level), ax=ax)

    return Made(answer, columns, rows, [*notes, *left], draw)


def _ends(name: str, e: Estimate | None) -> dict[str, Any]:
    """Return an estimate as the columns that figures take."""
    nan = float("nan")
    if e is None:
        return {name: nan, f"{name}_low": nan, f"{name}_high": nan}
    low, high = (nan, nan) if e.low is None or e.high is None else (e.low, e.high)
    return {name: e.value, f"{name}_low": low, f"{name}_high": high}


def _costs_kept(each: Iterable[tuple[Any, Any, Any]], level: float) -> pd.DataFrame:
    """Return names with their costs and accuracies as the frame of a frontier."""
    kind = {"level": level, "kind": "cluster t and cluster Wilson"}
    rows = [{"rule": name} | _ends("cost", x) | _ends("kept", y) | kind for name, x, y in each]
    return pd.DataFrame(rows)


# ------------------------------------------------------------------------------------------ gains


def _cells_of(task: Task) -> dict[str, dict[str, str]]:
    """Return the logs by model and architecture: a name "MODEL/ARCHITECTURE", or the log's model and its name."""
    table: dict[str, dict[str, str]] = {}
    for name in task.names:
        model, found, architecture = name.partition("/")
        if not found:
            model, architecture = _models(task.logs[name]) or "all logs", name
        if architecture in table.setdefault(model, {}):
            raise ValueError(
                f"names must give each MODEL/ARCHITECTURE once; got {model}/{architecture} twice"
            )
        table[model][architecture] = name
    return table


def architectures(task: Task) -> Made:
    """Accuracy, models as rows and architectures as columns."""
    found = task.each(lambda log: _right(task, log))
    cells = {name: one.panel[0].estimate for name, one in found.items()}
    table = _cells_of(task)
    kinds = list(dict.fromkeys(kind for row in table.values() for kind in row))
    columns = [Column("model", "Model"), *(Column(kind, kind, "share") for kind in kinds)]
    rows = [
        {"model": model, **{kind: cells[row[kind]] if kind in row else None for kind in kinds}}
        for model, row in table.items()
    ]
    notes = _notes(found)
    return Made(_best("accuracy", cells), columns, rows, notes)


def _pairs(task: Task) -> list[tuple[str, str, PairedDifference]]:
    """Return model, architecture and its difference from the baseline, where the model has a baseline."""
    table = _cells_of(task)
    first = next(iter(next(iter(table.values()))))
    base = first if task.baseline is None else task.baseline.rpartition("/")[2]
    found = []
    for model, row in table.items():
        if base not in row:
            raise ValueError(f"every model must have a log of the baseline {base!r}; got none of {model!r}")
        for kind, name in row.items():
            if kind != base:
                pair = task.compared([row[base], name])
                found.append((model, kind, pair.only))
    if not found:
        raise ValueError(f"{task.item} must have a log of another architecture than {base!r}; got none")
    return found


def gains(task: Task) -> Made:
    """Absolute and relative gains in accuracy over the baseline, models as rows."""
    found = _pairs(task)
    kinds = list(dict.fromkeys(kind for _, kind, _ in found))
    columns = [Column("model", "Model")]
    for kind in kinds:
        columns += [Column(kind, kind, "share"), Column(f"{kind} relative", f"{kind} (%)", "percent")]
    rows: dict[str, dict[str, Cell]] = {}
    for model, kind, pair in found:
        row = rows.setdefault(model, {"model": model})
        row[kind], row[f"{kind} relative"] = pair.difference, pair.relative()
    model, kind, pair = max(found, key=lambda each: each[2].difference.value)
    notes = named_notes([(f"{m}, {k}", p.notes) for m, k, p in found], "gains")
    what = "The largest gain is that of"
    if pair.difference.value <= 0:
        what = "None is above its baseline; the nearest is"
    answer = f"{what} {kind} ({model}): {pair._in_units()}."
    return Made(answer, columns, list(rows.values()), notes, _forest(found))


def _forest(found: Sequence[tuple[str, str, PairedDifference]]) -> Draw:
    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting.intervals import plot_forest

        named = [(f"{kind}, {model}", p.difference) for model, kind, p in found]
        return plot_forest(_intervals(named, "difference", "label"), ax=ax)

    return draw


def t_tests(task: Task) -> Made:
    """Paired t tests over items as the paper makes them, and the test by cluster beside each."""
    found = _pairs(task)
    columns = _columns(
        "model=Model", "architecture=Architecture", "t=t-statistic", "p=p-value:p",
        "p_cluster=p by cluster:p",
    )  # fmt: skip
    rows: list[dict[str, Cell]] = []
    for model, kind, pair in found:
        theirs = next(test for test in pair.tests if test.name == "paired t")
        row: dict[str, Cell] = {
            "model": model,
            "architecture": kind,
            "t": theirs.detail.partition(",")[0] or None,
            "p": theirs.p_value,
        }
        rows.append(row | {"p_cluster": pair.p_value})
    notes = named_notes([(f"{m}, {k}", p.notes) for m, k, p in found], "tests")
    notes.append(
        "the paper's paired t takes every item as independent; p by cluster is the test that d3stats compare reports"
    )
    model, kind, pair = min(found, key=lambda each: 1.0 if each[2].p_value is None else each[2].p_value)
    return Made(f"{kind} ({model}): {pair.headline}", columns, rows, notes, _forest(found))


# ------------------------------------------------------------------------------------------ D3


def by_kind(task: Task) -> Made:
    """Accuracy of two logs and its gain, by kind of question."""
    found = task.compared(strata=task.strata or "category")
    gain, runs = found.strata[0], found.strata[1:]
    first, second = (str(part.quantity) for part in runs)
    columns = [
        *(Column("kind", "Task type"), Column("first", f"{first} (%)", "percent")),
        *(Column("second", f"{second} (%)", "percent"), Column("gain", "Gain (points)", "points")),
    ]
    names = [e.name for e in gain.raw]
    by = [{e.name: e for e in part.raw} for part in (*runs, gain)]
    rows = [{"kind": n, "first": by[0].get(n), "second": by[1].get(n), "gain": by[2].get(n)} for n in names]
    notes = [*found.notes, *gain.notes, *(note for part in runs for note in part.notes)]

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_strata

        frame = pd.concat([part.to_frame() for part in runs])
        kept = ["quantity", "stratum", "value", "low", "high", "level", "kind"]
        return plot_strata(frame[kept].reset_index(drop=True), xlabel="accuracy", zero=False, ax=ax)

    return Made(f"{gain.headline}", columns, rows, list(dict.fromkeys(notes)), draw)


def random_fives(task: Task) -> Made:
    """Accuracy of random fives of a pool of personas, and of juries as they are."""
    from d3stats.inference.bias import subset_accuracy
    from d3stats.sources.ratings import as_ratings
    from d3stats.trajectories import MISSING

    columns = _columns(
        "configuration=Configuration", "accuracy=Accuracy (%):percent", "sd=SD of subsets:percent",
    )  # fmt: skip
    notes: list[str] = []
    rows: list[dict[str, Cell]] = []
    votes = task.each(as_ratings)
    for name, ratings in votes.items():
        if ratings.n_raters <= SIZE:
            whole = _right(task, task.logs[name])
            notes += named_notes([(name, whole.notes)], "logs")
            rows.append({"configuration": name, "accuracy": whole.panel[0].estimate, "sd": None})
            continue
        assert ratings.label is not None
        usable = (ratings.codes != MISSING).all(axis=1) & (ratings.label != MISSING)
        if not usable.any():
            raise ValueError(
                f"{name}: some debate must have a vote of each of {ratings.n_raters} jurors; got none"
            )
        if lost := int((~usable).sum()):
            notes.append(
                f"{name}: {lost} of {counted(len(usable), 'debate')} left out: a vote or the label is missing"
            )
        right = (ratings.codes == ratings.label[:, None])[usable].astype(np.float64)
        found = subset_accuracy(
            right, SIZE, cluster=ratings.cluster[usable], level=task.level, rng=task.draws()
        )
        label = f"{name}: random {SIZE} of {found.n_personas}"
        rows.append({"configuration": label, "accuracy": found.accuracy, "sd": found.sd_between})
        notes.append(
            f"{name}: the exact mean over all subsets, where the paper draws ten; last votes alone, without the rest "
            "of the debate that a smaller jury would have had"
        )
    kept, left = _without_empty(columns, rows, {"sd": f"no log has more than {SIZE} jurors"})
    answer = _best("accuracy", {str(row["configuration"]): row["accuracy"] for row in rows})
    return Made(answer, kept, rows, [*notes, *left])


def stops(task: Task) -> Made:
    """Where a rule stops debates, and what it saves and changes against full depth."""
    from d3stats.planning.replay import replay

    rules = list(task.rules) or ["d3_paper"]
    found = task.each(lambda log: replay(log, rules, level=task.level))
    columns = _columns(
        "log=Framework", "rule=Rule", "by_two=By round 2 (%):percent", "accuracy=Accuracy (%):percent",
        "full=Full depth (%):percent", "saved=Tokens saved (%):percent", "rounds=Rounds:rounds",
        "flips=Changed (%):percent",
    )  # fmt: skip
    rows: list[dict[str, Cell]] = []
    notes = _notes(found)
    shares: dict[str, pd.DataFrame] = {}
    for name, one in found.items():
        frame = one.to_frame().set_index("rule")
        full = frame.loc["full"]
        for rule in one.names[: len(rules)]:
            if rule in ("unanimity", "full") and rule not in rules:
                continue
            row = frame.loc[rule]
            if row["undecided"]:
                notes.append(
                    f"{name}: {rule} continues after the end of {row['undecided']} debates, so it has no numbers"
                )
            stopped = one.stops()
            mine = stopped[stopped["rule"] == rule]
            shares.setdefault(name, mine.groupby("round", as_index=False)["share"].sum())
            n = int(row["n_debates"])
            keys = {
                "accuracy": "accuracy",
                "saved": "saved_tokens_vs_full",
                "rounds": "rounds",
                "flips": "flips",
            }
            cells = _replayed(row, keys, n, task.level) | _replayed(full, {"full": "accuracy"}, n, task.level)
            early = float(mine.loc[mine["round"] <= 2, "share"].sum()) if not row["undecided"] else None
            rows.append({"log": name, "rule": _short(rule), "by_two": early, **cells})
    shallow = (
        "it takes votes after every round up to full depth (--protocol samre:poll=every_round --stop full)"
    )
    why = dict.fromkeys(("accuracy", "full", "saved", "flips"), shallow)
    if all(log.trajectories().tokens is None for log in task.logs.values()):
        why["saved"] = "no turn has tokens (fields tokens_in and tokens_out)"
    if not any((log.trajectories().label >= 0).any() for log in task.logs.values()):
        why |= dict.fromkeys(("accuracy", "full"), "no right answers (field label)")
    kept, left = _without_empty(columns, rows, why)
    first = rows[0]
    e = first.get("saved") or first.get("rounds")
    says = f"saves {written(e, 'percent')} % of full depth's tokens" if first.get("saved") else ""
    says = says or f"takes {written(e, 'rounds')} rounds"
    answer = f"{first['log']}: {first['rule']} {says}."

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_stop_histogram

        return plot_stop_histogram(shares[task.first], ax=ax)

    return Made(answer, kept, rows, [*notes, *left], draw)


def _replayed(
    row: Mapping[Any, Any], keys: Mapping[str, str], n: int, level: float
) -> dict[str, Estimate | None]:
    """Return measures of a row of a replay as estimates, those that it has."""
    kinds = {"saved_rounds_vs_unanimity": "cluster t, log scale"}
    kinds |= dict.fromkeys(("accuracy", "flips"), "cluster Wilson")
    return {
        key: _estimate(key, row, column, kinds.get(column, "cluster t"), n, level)
        for key, column in keys.items()
        if column in row
    }


def _short(rule: str) -> str:
    from d3stats.stopping.text import short_name

    return short_name(rule)


def gaps(task: Task) -> Made:
    """Mean gap of the judge's scores by kind of question and round."""
    from d3stats.planning import score_gaps

    found = task.each(lambda log: score_gaps(log, task.strata or "category", level=task.level))
    frame = found[task.first]
    rounds = sorted(frame["round"].unique())
    columns = [
        Column("category", "Category"),
        *(Column(f"round {r}", f"Round {r}", "number") for r in rounds),
    ]
    columns.append(Column("verdict", "Verdict", "count"))
    rows: list[dict[str, Cell]] = []
    for name, part in frame.groupby("category", sort=False):
        row: dict[str, Cell] = {"category": str(name)}
        for at in part.to_dict("records"):
            e = _estimate(
                "gap",
                {"gap": at["gap"], "gap_low": at["low"], "gap_high": at["high"]},
                "gap",
                at["kind"],
                int(at["n"]),
                task.level,
            )
            row[f"round {at['round']}"] = e
            if at["verdict"]:
                row["verdict"] = int(at["round"])
        rows.append(row)
    last = {str(row["category"]): row[f"round {rounds[0]}"] for row in rows}
    sizes = {name: e.value for name, e in last.items() if isinstance(e, Estimate)}
    widest = max(sizes, key=sizes.__getitem__)
    answer = f"In round {rounds[0]} the gap is widest in {widest}: {written(last[widest], 'number')} points."

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_gap_trajectories

        few = frame["n_clusters"].fillna(0) < FEW
        return plot_gap_trajectories(
            frame.assign(low=frame["low"].mask(few), high=frame["high"].mask(few)), ax=ax
        )

    thin = f"the figure has no bands where fewer than {FEW} questions are left, as they would hide the others"
    return Made(answer, columns, rows, [*frame.attrs["notes"], thin], draw)


def own_family(task: Task) -> Made:
    """Self-enhancement rates and the gap between errors for and against the own family, judge by judge."""
    from d3stats.inference.bias.audit import Audits
    from d3stats.inference.bias.self_preference import GAP, OF_ALL, OTHER, OWN, self_preference

    found = task.each(lambda log: self_preference(log, level=task.level))
    columns = _columns(
        "judge=Evaluator", "rate=Self-enhancement (%):percent", "own=Own, wrongly (%):percent",
        "other=Other, wrongly (%):percent", "gap=Gap (points):points",
    )  # fmt: skip
    rows: list[dict[str, Cell]] = []
    noted = []
    for name, one in found.items():
        audits = dict(one) if isinstance(one, Audits) else {one.judge: one}
        noted.append((name, one.notes))
        for judge, audit in audits.items():
            who = judge if len(found) == 1 else f"{name}: {judge}"
            keys = {"rate": OF_ALL, "own": OWN, "other": OTHER, "gap": GAP}
            rows.append({"judge": who, **{key: audit.find(what) for key, what in keys.items()}})
    kept, left = _without_empty(columns, rows, {})
    gap = {str(row["judge"]): e for row in rows if isinstance(e := row["gap"], Estimate)}
    answer = (
        "No judge has labels that point both ways, so there is no gap, and a rate alone shows no preference."
    )
    if gap:
        name = max(gap, key=lambda each: abs(gap[each].value))
        e, own, other = gap[name], "its own family", "the other"
        effect = points(e.value, e.low, e.high)
        if e.value < 0:
            own, other = "the other family", "its own"
            effect = points(-e.value, None if e.high is None else -e.high, None if e.low is None else -e.low)
        answer = f"{name} wrongly prefers {own} more often than {other}: {effect}."
    return Made(answer, kept, rows, [*named_notes(noted, "logs"), *left])


def gap_bands(task: Task) -> Made:
    """Accuracy of a first and a second protocol by bands of the first judge's gap."""
    first, second = task.names
    t = task.logs[first].trajectories()
    assert t.scores is not None
    gap = np.abs(t.scores[:, :, 0] - t.scores[:, :, 1])
    known = ~np.isnan(gap)
    last = np.where(known.any(axis=1), known.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1), 0)
    each = pd.Series(gap[np.arange(len(gap)), last], index=list(map(str, t.debates)))
    alike = task.debates(first) == task.debates(second)
    if not alike:  # runs with other names of debates share the questions
        items = task.logs[first].log().items.set_index("debate")["question"]
        each = each.groupby(items.reindex(each.index).astype(str).to_numpy()).mean()
    edges = _edges(each.dropna().to_numpy())
    names = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges)]
    band = pd.cut(each, edges, labels=names, include_lowest=True, right=False).astype(object)
    band[each == edges[-1]] = names[-1]
    kinds = {str(debate): str(kind) for debate, kind in band.items() if isinstance(kind, str)}
    found = task.compared([first, second], strata=kinds)
    gain, runs = found.strata[0], found.strata[1:]
    by = [{e.name: e for e in part.raw} for part in (*runs, gain)]
    columns = [
        *(
            Column("band", "Gap (points)"),
            Column("n", "n", "count"),
            Column("first", f"{first} (%)", "percent"),
        ),
        *(Column("second", f"{second} (%)", "percent"), Column("gain", "Gain (points)", "points")),
    ]
    rows = [
        {"band": n, "n": by[2][n].n, "first": by[0].get(n), "second": by[1].get(n), "gain": by[2][n]}
        for n in names
        if n in by[2]
    ]
    pair = found.only
    size = pair.gained + pair.lost + pair.unchanged
    answer = (
        f"{second} is right where {first} is wrong in {percent(pair.gained / size)} of {size} items, and the reverse "
        f"in {percent(pair.lost / size)}."
    )
    notes = [
        *found.notes,
        *gain.notes,
        "a band has gaps from its first number to below its second; d3stats escalate plans a threshold",
    ]

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_strata

        frame = gain.to_frame()[["stratum", "value", "low", "high", "n_clusters", "level", "kind"]]
        order = {name: k for k, name in enumerate(names)}
        return plot_strata(
            frame.sort_values("stratum", key=lambda s: s.map(order)).reset_index(drop=True),
            xlabel=f"{second} - {first}, by gap of the scores", ax=ax,
        )  # fmt: skip

    return Made(answer, columns, rows, notes, draw)


def _edges(values: np.ndarray[Any, Any]) -> list[float]:
    """Return edges of at most four bands of about equal size, on 1, 2 or 5 times a power of ten."""
    top = float(values.max())
    if not top > 0:
        return [0.0, 1.0]
    step = 10.0 ** np.floor(np.log10(top / 8))
    step = next(step * m for m in (1, 2, 5, 10) if step * m >= top / 20)
    inner = {float(np.round(q / step) * step) for q in np.quantile(values, (0.25, 0.5, 0.75))}
    last = float(np.ceil(top / step) * step)
    return sorted({0.0, last} | {edge for edge in inner if 0 < edge < last})


def reasons(task: Task) -> Made:
    """Evidence citation, diversity of rationales, and disagreements with an axis, logs as columns."""
    from d3stats.inference import rationales

    found = task.each(lambda log: rationales(log, level=task.level, rng=task.draws()))
    names = list(dict.fromkeys(e.name for one in found.values() for e in one.estimates))
    columns = [Column("measure", "Measure"), *(Column(name, name, "share") for name in found)]
    rows = [{"measure": n, **{name: one.find(n) for name, one in found.items()}} for n in names]
    notes = _notes(found)
    return Made(found[task.first].headline, columns, rows, notes, lambda ax: found[task.first].plot(ax))


def personas(task: Task) -> Made:
    """Pairwise agreement of personas, log by log."""
    from d3stats.inference.bias.persona import AGREEMENT, HIGHEST, LOWEST, persona_effect

    found = task.each(lambda log: persona_effect(log, level=task.level))
    columns = _columns(
        "log=Framework", "mean=Agreement (%):percent", "low=Lowest pair (%):percent",
        "high=Highest pair (%):percent",
    )  # fmt: skip
    keys = {"mean": AGREEMENT, "low": LOWEST, "high": HIGHEST}
    rows = [
        {"log": name, **{key: one.find(what) for key, what in keys.items()}} for name, one in found.items()
    ]
    kept, left = _without_empty(columns, rows, {})
    notes = _notes(found)
    return Made(
        _best("agreement of its personas", {str(r["log"]): r["mean"] for r in rows}),
        kept,
        rows,
        [*notes, *left],
    )


# ------------------------------------------------------------------------------------------ ChatEval


def aspects(task: Task) -> Made:
    """Spearman's and Kendall's correlations of scores with people's, aspect by aspect, log by log."""
    from d3stats.inference import aspect_correlations

    how: dict[str, Any] = {"level": task.level, "rng": task.draws()}
    found = task.each(lambda log: aspect_correlations(log, task.human, **how))
    every = list(dict.fromkeys(aspect for one in found.values() for aspect, _ in one.correlations))
    signs = {"spearman": "rho", "kendall": "tau"}
    columns = [Column("log", "Metrics")]
    columns += [Column(f"{a} {m}", f"{a} {s}", "share") for a in every for m, s in signs.items()]
    columns += [Column(f"average {m}", f"Average {s}", "share") for m, s in signs.items()]
    rows: list[dict[str, Cell]] = []
    for name, one in found.items():
        row: dict[str, Cell] = {"log": name}
        row |= {f"{aspect} {method}": e for (aspect, method), e in one.correlations.items()}
        rows.append(row | {f"average {method}": value for method, value in one.average.items()})
    noted = [
        (name, [*(f"{a}: {why}" for a, why in one.refused.items()), *one.notes])
        for name, one in found.items()
    ]
    name = max(found, key=lambda each: found[each].average.get("spearman", -1.0))
    mean = found[name].average.get("spearman")
    answer = f"{name}: mean Spearman's rho over aspects {written(mean, 'share')}."

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting.intervals import plot_agreement

        frame = pd.DataFrame(
            [
                e.to_dict() | {"name": f"{log}, {aspect}" if len(found) > 1 else aspect}
                for log, one in found.items()
                for (aspect, method), e in one.correlations.items()
                if method == "spearman"
            ]
        )
        return plot_agreement(
            frame[["name", "value", "low", "high", "level", "kind"]], ax=ax, label="Spearman's rho"
        )

    return Made(answer, columns, rows, named_notes(noted, "logs"), draw)


def _series(task: Task, head: str, at: Sequence[tuple[int, str, int | None]]) -> Made:
    """Accuracy and kappa of the verdicts by a number of roles or turns: ``(number, log, round)`` each."""
    rows: list[dict[str, Cell]] = []
    noted: list[tuple[str, Sequence[str]]] = []
    for number, name, turn in sorted(at):
        one = _right(task, task.logs[name], "cohen", round_number=turn)
        kappa = one.pairs[0].estimate if one.pairs else None
        rows.append({"number": number, "log": name, "accuracy": one.panel[0].estimate, "kappa": kappa})
        said = [*one.refused.values(), *one.notes]
        noted.append((name if turn is None else f"{name}, round {turn}", said))
    columns = [Column("number", head, "count"), LOG, ACCURACY, Column("kappa", "Kap.", "share")]
    first, last = rows[0], rows[-1]
    answer = (
        f"Accuracy {written(first['accuracy'], 'percent')} % with {first['number']}, "
        f"{written(last['accuracy'], 'percent')} % with {last['number']} ({head.lower()})."
    )

    def draw(ax: Axes | None) -> Axes | Figure:
        from d3stats.plotting.intervals import plot_series
        from d3stats.plotting.style import ONE_COLUMN

        measures = {"accuracy": "accuracy", "kappa": "Cohen's kappa"}
        frames = {
            label: pd.DataFrame(
                [
                    {"x": row["number"], "level": task.level, "kind": e.kind} | _ends("value", e)
                    for row in rows
                    if isinstance(e := row[key], Estimate)
                ]
            ).rename(columns={"value_low": "low", "value_high": "high"})
            for key, label in measures.items()
        }
        if ax is not None:
            return plot_series(frames["accuracy"], xlabel=head.lower(), ylabel="accuracy", ax=ax)

        def panel(label: str, frame: pd.DataFrame) -> Callable[[Axes], Axes]:
            return lambda each: plot_series(frame, xlabel=head.lower(), ylabel=label, ax=each)

        return _panels([panel(*each) for each in frames.items() if len(each[1])], ONE_COLUMN)

    return Made(answer, columns, rows, named_notes(noted, "rows"), draw)


def _panels(draws: Iterable[Callable[[Axes], Axes]], width: float) -> Figure:
    """Draw panels one below the other."""
    from matplotlib import pyplot as plt

    each = list(draws)
    figure, axes = plt.subplots(
        len(each), 1, figsize=(width, 2.3 * len(each)), squeeze=False, layout="constrained"
    )
    for one, ax in zip(each, axes[:, 0], strict=True):
        one(ax)
    return figure


def _refuse_equal(numbers: Mapping[str, int], what: str) -> None:
    """Refuse logs with the same number of agents or rounds."""
    same = [name for name, n in numbers.items() if list(numbers.values()).count(n) > 1]
    if same:
        raise ValueError(
            f"logs must have different numbers of {what}; got {', '.join(same)} with the same number"
        )


def by_roles(task: Task) -> Made:
    """Accuracy and kappa by the number of voting agents, one log each."""
    numbers = {name: int(log.trajectories().panel.max()) for name, log in task.logs.items()}
    _refuse_equal(numbers, "agents")
    return _series(task, "Role numbers", [(n, name, None) for name, n in numbers.items()])


def by_turns(task: Task) -> Made:
    """Accuracy and kappa by the number of turns: the rounds of one log, or logs that were run with each number."""
    if len(task.logs) == 1:
        name = task.first
        rounds = task.logs[name].trajectories().n_rounds
        made = _series(task, "Discussion turns", [(r, name, r) for r in range(1, rounds + 1)])
        why = "each number of turns is the same debate cut after that turn: votes of that turn, by plurality"
        return replace(made, notes=[*made.notes, why])
    numbers = {name: log.trajectories().n_rounds for name, log in task.logs.items()}
    _refuse_equal(numbers, "rounds")
    return _series(task, "Discussion turns", [(n, name, None) for name, n in numbers.items()])


# ------------------------------------------------------------------------------------------ stability


def against_vote(task: Task) -> Made:
    """Accuracy of the plurality in the first round and after the debate, by log or by stratum."""
    from d3stats.inference import compare

    names = ("majority vote", "debate")
    how: dict[str, Any] = {
        "names": names,
        "round_number": (1, None),
        "value": "plurality",
        "by": "debate",
        "level": task.level,
        "strata": task.strata,
    }
    found = task.each(lambda log: compare(log, log, rng=task.draws(), **how))
    columns = _columns(
        "benchmark=Benchmark", "vote=Majority Vote (%):percent", "debate=Debate (%):percent",
        "gain=Gain (points):points",
    )  # fmt: skip
    rows: list[dict[str, Cell]] = []
    for name, one in found.items():
        if task.strata is None:
            pair = one.only
            rows.append(
                {"benchmark": name, "vote": pair.first, "debate": pair.second, "gain": pair.difference}
            )
            continue
        gain, vote, debate = ({e.name: e for e in part.raw} for part in one.strata)
        for kind in gain:
            label = kind if len(found) == 1 else f"{name}: {kind}"
            rows.append({"benchmark": label, "vote": vote[kind], "debate": debate[kind], "gain": gain[kind]})
    notes = named_notes(
        [(n, [*one.notes, *(x for p in one.strata for x in p.notes)]) for n, one in found.items()], "logs"
    )
    answer = "; ".join(
        one.headline.rstrip(".") if len(found) == 1 else f"{n}: {one.only._in_units()}"
        for n, one in found.items()
    )

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting.intervals import plot_forest

        frame = _intervals([(str(row["benchmark"]), row["gain"]) for row in rows], "difference", "label")
        return plot_forest(frame, xlabel="debate - majority vote", ax=ax)

    return Made(f"{answer}.", columns, rows, notes, draw)


def adaptive(task: Task) -> Made:
    """Rounds and accuracy with the paper's stop against full depth and unanimity, log by log."""
    return _rules(task, list(task.rules) or ["hu2025"], full=True)


def thresholds(task: Task) -> Made:
    """Rounds and accuracy of the paper's stop by KS threshold."""
    from d3stats.stopping import from_text

    rule = from_text("hu2025")
    rules = [str(replace(rule, threshold=x)) for x in THRESHOLDS]  # type: ignore[type-var]  # every rule is a dataclass
    made = _rules(task, rules, full=False)
    rows = [{**row, "threshold": x} for row, x in zip(made.rows, THRESHOLDS * len(task.logs), strict=True)]
    columns = [Column("threshold", "KS threshold", "share") if c.key == "rule" else c for c in made.columns]

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_threshold_path

        frame = pd.DataFrame(
            [
                {
                    "threshold": row["threshold"],
                    "group": row["log"],
                    "level": task.level,
                    "kind": "cluster Wilson",
                }
                | {k.removeprefix("accuracy_"): v for k, v in _ends("accuracy", _of(row["accuracy"])).items()}
                | _ends("rounds", _of(row["rounds"]))
                for row in rows
                if _of(row["accuracy"]) is not None and _of(row["rounds"]) is not None
            ]
        )
        return plot_threshold_path(frame if len(task.logs) > 1 else frame.drop(columns="group"), ax=ax)

    top = rows[0]
    answer = f"{top['log']}: KS threshold {THRESHOLDS[0]:g} takes {written(top['rounds'], 'rounds')} rounds"
    answer += f" and is right {written(top['accuracy'], 'percent')} %."
    return replace(made, answer=answer, columns=columns, rows=rows, draw=draw)


def _of(cell: Cell) -> Estimate | None:
    return cell if isinstance(cell, Estimate) else None


def _rules(task: Task, rules: Sequence[str], *, full: bool) -> Made:
    from d3stats.planning.replay import replay

    found = task.each(lambda log: replay(log, list(rules), level=task.level))
    columns = _columns(
        "log=Benchmark", "rule=Rule", "rounds=Rounds:rounds", "accuracy=Accuracy (%):percent",
        "saved=Saved vs unanimity (%):percent",
    )  # fmt: skip
    rows: list[dict[str, Cell]] = []
    notes = _notes(found)
    for name, one in found.items():
        shown = [*one.names] if full else [r for r in one.names if r in rules]
        table = one.to_frame().set_index("rule")
        for rule in shown:
            at = table.loc[rule]
            keys = {"rounds": "rounds", "accuracy": "accuracy", "saved": "saved_rounds_vs_unanimity"}
            cells = _replayed(at, keys, int(at["n_debates"]), task.level)
            rows.append({"log": name, "rule": _short(rule), **cells})
    kept, left = _without_empty(
        columns, rows, {"accuracy": "no right answers", "saved": "unanimity cannot be replayed"}
    )
    first = rows[0]
    answer = f"{first['log']}: {first['rule']} takes {written(first.get('rounds'), 'rounds')} rounds"
    answer += (
        f" and is right {written(first['accuracy'], 'percent')} %." if _of(first.get("accuracy")) else "."
    )

    def draw(ax: Axes | None) -> Axes:
        from d3stats.plotting import plot_frontier

        each = [
            (
                row["rule"] if len(found) == 1 else f"{row['log']}, {row['rule']}",
                row["rounds"],
                row["accuracy"],
            )
            for row in rows
            if _of(row.get("accuracy")) is not None
        ]
        return plot_frontier(_costs_kept(each, task.level), cost_label="rounds of a debate", ax=ax)

    return Made(answer, kept, rows, [*notes, *left], draw)


def by_agents(task: Task) -> Made:
    """Accuracy of the plurality of 1, 2, ... agents, by log."""
    from d3stats.inference import jury_curve

    found = task.each(lambda log: jury_curve(log, level=task.level, rng=task.draws()))
    columns = [Column("k", "Agents", "count")]
    columns += [Column(name, f"{name} (%)", "percent") for name in found]
    curves = {name: one.curve.set_index("k") for name, one in found.items()}
    sizes = sorted({int(k) for curve in curves.values() for k in curve.index})
    rows: list[dict[str, Cell]] = []
    for k in sizes:
        row: dict[str, Cell] = {"k": k}
        for name, curve in curves.items():
            if k in curve.index:
                at = curve.loc[k].rename({"low": "accuracy_low", "high": "accuracy_high"})
                row[name] = _estimate(
                    "accuracy", at, "accuracy", "cluster Wilson", found[name].n_items, task.level
                )
        rows.append(row)
    notes = _notes(found)
    notes.append("smaller panels are parts of the panel that debated, not debates of fewer agents")
    return Made(found[task.first].headline, columns, rows, notes, lambda ax: found[task.first].plot(ax))


def by_rounds(task: Task) -> Made:
    """Accuracy by round with the KS distance to the round before, and its noise."""
    from d3stats.planning.describe import fit

    found = task.each(lambda log: fit(log, level=task.level, n_boot=task.n_boot, rng=task.draws()))
    columns = _columns(
        "log=Framework", "round=Round:count", "accuracy=Accuracy (%):percent", "ks=KS distance:p",
        "noise=KS noise:p",
    )  # fmt: skip
    rows: list[dict[str, Cell]] = []
    for name, one in found.items():
        for at in one.to_frame().to_dict("records"):
            row: dict[str, Cell] = {"log": name, "round": int(at["round"])}
            row["accuracy"] = _estimate(
                "accuracy", at, "accuracy", "cluster Wilson", int(at["scored"]), task.level
            )
            ks = _estimate(
                "KS",
                {f"ks{e}": at[f"ks_pmf{e}"] for e in ("", "_low", "_high")},
                "ks",
                one.drift.kind,
                int(at["debates"]),
                task.level,
            )
            noise = float(at["ks_pmf_noise"])
            rows.append(row | {"ks": ks, "noise": None if noise != noise else noise})
    kept, left = _without_empty(columns, rows, {"noise": "too few questions or replicates (n_boot)"})
    notes = _notes(found)
    answer = " ".join(
        [
            found[task.first].headline,
            *([found[task.first].drift.moves()] if len(found[task.first].fit.rounds) > 1 else []),
        ]
    )

    def draw(ax: Axes | None) -> Axes | Figure:
        from d3stats.plotting import plot_ks_series
        from d3stats.plotting.intervals import plot_series
        from d3stats.plotting.style import ONE_COLUMN

        several = len(found) > 1
        right = pd.DataFrame(
            [
                {"x": row["round"], "group": row["log"], "level": task.level, "kind": "cluster Wilson"}
                | _ends("value", _of(row["accuracy"]))
                for row in rows
            ]
        ).rename(columns={"value_low": "low", "value_high": "high"})
        right = right if several else right.drop(columns="group")
        table = found[task.first].to_frame()
        series = pd.DataFrame(
            {
                "round": table["round"],
                "scale": "pmf",
                "level": task.level,
                "kind": found[task.first].drift.kind,
            }
            | {
                to: table[f"ks_pmf{end}"]
                for to, end in (("ks", ""), ("noise", "_noise"), ("low", "_low"), ("high", "_high"))
            }
        ).dropna(subset=["ks"])

        def above(each: Axes) -> Axes:
            return plot_series(right, xlabel="round", ylabel="right verdicts", ax=each)

        if ax is not None or series.empty:
            from d3stats.plotting.style import one_axes

            return above(one_axes(ax, width=ONE_COLUMN, height=2.4))
        return _panels([above, lambda each: plot_ks_series(series, ax=each)], ONE_COLUMN)

    return Made(answer, kept, rows, [*notes, *left], draw)
