"""Scores of single responses on several aspects, and how they correlate with what people say.

ChatEval (Chan et al., 2023, section 3.5) scores dialogue responses on naturalness, coherence, engagingness and
groundedness and prints, for each aspect, Spearman's and Kendall's correlation with human scores over all responses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from d3stats._check import RngLike, as_rng, choice, meant
from d3stats._words import counted
from d3stats.agent import RESPONSE
from d3stats.estimate import Estimate, estimates_frame
from d3stats.inference.judges.correlation import CorrelationKind, Method, correlation
from d3stats.inputs.scores import SingleScores
from d3stats.note import with_words
from d3stats.result import EstimatesResult
from d3stats.sources import LogSource, Reading, open
from d3stats.sources.scores import single_scores
from d3stats.values import canonical

__all__ = ["AspectCorrelations", "aspect_correlations", "direct_scores"]

METHODS: tuple[Method, ...] = ("spearman", "kendall")
Scale = tuple[float, float] | Mapping[str, tuple[float, float]]
"""The least and the greatest score that there can be, of all aspects or of each."""

_ABOUT = ("debate", "question", "cluster")


def direct_scores(
    log: Any,
    *,
    round: int | None = None,
    scale: Scale | None = None,
    side: str = RESPONSE,
    **reading: Unpack[Reading],
) -> pd.DataFrame:
    """Average the scores that single responses were given, aspect by aspect, over the agents of one round.

    Parameters
    ----------
    log : what :func:`d3stats.open` takes
        A log in which responses were scored, as ``chateval`` writes it for items with one candidate.
    round : int, optional
        From 1; by default the last round of each debate in which the response was to be scored.
    scale : tuple of two floats, or mapping of str to such, optional
        The least and the greatest score that there can be, of all aspects or by aspect. By default the scale that the
        agents were given, where the journal beside the log's file tells it.
    side : str
        What was scored, by its name in the log's scores.
    **reading : Reading
        How the log is read, see :func:`d3stats.open`.

    Returns
    -------
    DataFrame
        One row per debate: ``debate, question, cluster, agents`` (how many were asked for scores) and a column per
        aspect, the mean over the agents who scored it (ChatEval, section 2). NaN where none did: missing, not 0.
        ``attrs["notes"]`` says how many debates and single scores are missing, which roles' scores were left out, and
        the range of the scores where no scale is known.

    Raises
    ------
    ValueError
        When nothing was scored, a score does not lie on the scale, or a scale is given for an aspect that there is not.

    Examples
    --------
    >>> import asyncio, pathlib, tempfile
    >>> from d3stats.protocols import protocol_from_text
    >>> from d3stats.run import DebateItem, run_debates
    >>> from d3stats.worlds import Responses, synthetic_agent
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> items = [DebateItem(str(i), "Hello!", ("Hi.",)) for i in (1, 2)]
    >>> protocol = protocol_from_text("chateval:aspects=coherence+naturalness")
    >>> _ = asyncio.run(run_debates(protocol, items, synthetic_agent(Responses(), 1), path))
    >>> direct_scores(path).columns.tolist()
    ['debate', 'question', 'cluster', 'agents', 'coherence', 'naturalness']
    """
    single = single_scores(open(log, **reading), side, round)
    return _averaged(single, checked=_checked(single, scale))


def _checked(single: SingleScores, scale: Scale | None) -> bool:
    """Refuse a score that does not lie on the scale: the given one, or each role's own where it is known.

    Returns whether all scores were checked.
    """
    if scale is not None:
        _on_scale("scores", single.scores, scale, single.debate)
        return True
    for role in single.role.dropna().unique():
        if role in single.scales:
            of_role = single.role == role
            _on_scale("scores", single.scores[of_role], single.scales[role], single.debate[of_role])
    return bool(single.role.isin(list(single.scales)).all())


def _averaged(single: SingleScores, *, checked: bool) -> pd.DataFrame:
    """Return the mean over agents by debate, with notes on what is missing and on what was not checked."""
    rows, every = single.scores, single.debates
    found = rows.groupby(single.debate).mean()
    found.insert(0, "agents", single.debate.groupby(single.debate).size())
    table = every.set_index("debate").join(found, how="inner").rename_axis("debate").reset_index()
    table["cluster"] = table["cluster"].fillna(table["question"])
    notes = list(single.notes)
    if lost := len(every) - len(table):
        notes.append(f"{lost} of {counted(len(every), 'debate')} left out: no scores of {single.side!r}")
    absent = {name: n for name, n in rows.isna().sum().items() if n}
    if absent:
        notes.append(
            f"{sum(absent.values())} of {counted(rows.size, 'score')} of single agents missing, and the means are "
            f"those of the others: {', '.join(f'{name} {n}' for name, n in absent.items())}"
        )
    if not checked and rows.notna().to_numpy().any():
        low, high = (float(edge(rows.to_numpy())) for edge in (np.nanmin, np.nanmax))
        notes.append(
            "no single score was checked, because no scale was given (scale=); they go from "
            f"{low:g} to {high:g}"
        )
    table.attrs["notes"] = tuple(notes)
    return table


@dataclass(frozen=True, kw_only=True)
class AspectCorrelations(EstimatesResult):
    """Rank correlations of scores with human scores, aspect by aspect.

    Attributes
    ----------
    correlations : dict of tuple to Estimate
        By aspect and method ("spearman", "kendall"); each p-value tests 0.
    refused : dict of str to str
        Aspects without a correlation, and why.
    average : dict of str to float
        By method, the mean over the aspects that have a correlation; no interval is made for it.
    n : int
        Responses that both tables have.

    Examples
    --------
    >>> model = pd.DataFrame({"question": list("abcdef"), "coherence": [1, 2, 2, 3, 3, 3]})
    >>> people = pd.DataFrame({"question": list("abcdef"), "coherence": [1, 1, 2, 2, 3, 3]})
    >>> found = aspect_correlations(model, people)
    >>> list(found.correlations), round(found.average["spearman"], 3)
    ([('coherence', 'spearman'), ('coherence', 'kendall')], 0.839)
    """

    correlations: Mapping[tuple[str, str], Estimate]
    refused: Mapping[str, str] = field(default_factory=dict)
    average: Mapping[str, float]
    n: int
    notes: tuple[str, ...] = ()
    _json = ("n", "average", "refused", "notes", "estimates")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The correlations, aspect by aspect."""
        return tuple(self.correlations.values())

    def _title(self) -> str:
        return f"rank correlations with human scores, {counted(self.n, 'response')}"

    def _remarks(self) -> list[str]:
        means = (f"{name} {value:z.3f}" for name, value in self.average.items())
        return [f"mean over aspects: {', '.join(means)}"]

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return one row per aspect and method: ``aspect, method`` and the estimate; and the means over aspects."""
        frame = estimates_frame(self.estimates)
        frame.insert(0, "aspect", [aspect for aspect, _ in self.correlations])
        frame.insert(1, "method", [method for _, method in self.correlations])
        means = pd.DataFrame({"method": list(self.average), "mean": list(self.average.values())})
        return {"correlations": frame, "mean over aspects": means}


def _responses(name: str, column: pd.Series) -> list[Any]:
    """Return the names of the responses in the written form of all logs; each must have one row."""
    names = canonical(column, names=True, missing_values=()).columns[0]
    if any(missing := [each is None for each in names]):
        raise ValueError(
            f"{name} must name each response in {column.name!r}; got {counted(sum(missing), 'row')} without a name"
        )
    twice = pd.Index(names)[pd.Index(names).duplicated()]
    if len(twice):
        raise ValueError(
            f"{name} must have one row per response; got {twice[0]!r} again; average its rows, or choose another "
            "column with on="
        )
    return list(names)


def _shared_aspects(
    table: pd.DataFrame, human: pd.DataFrame, on: str
) -> tuple[list[str], list[str], list[str]]:
    """Return the columns of numbers in both tables, those that hold text in one, and those that one table lacks."""
    shared = [n for n in table.columns if n in human.columns and n not in (*_ABOUT, "agents", on)]
    aspects = [name for name in shared if all(_numeric(frame[name]) for frame in (table, human))]
    texts = [str(name) for name in shared if name not in aspects]
    alone = [
        name
        for frame, other in ((table, human), (human, table))
        for name in frame.columns.difference([*other.columns, *_ABOUT, "agents", on], sort=False)
        if _numeric(frame[name])
    ]
    if texts and not aspects:
        raise ValueError(
            f"an aspect must be a column of numbers in both tables; got text in {', '.join(texts)}; convert it with "
            "pandas.to_numeric"
        )
    return aspects, texts, alone


def aspect_correlations(
    scores: pd.DataFrame | LogSource,
    human: pd.DataFrame,
    *,
    aspects: Sequence[str] | None = None,
    on: str = "question",
    scale: Scale | None = None,
    human_scale: Scale | None = None,
    methods: Sequence[Literal["spearman", "kendall"]] = METHODS,
    kind: CorrelationKind | None = None,
    level: float = 0.95,
    n_boot: int = 10_000,
    rng: RngLike = None,
) -> AspectCorrelations:
    """Compute Spearman's and Kendall's correlation of scores with human scores, aspect by aspect.

    Over all responses, which ChatEval and Zhong et al. (2022) call turn-level. Where responses share a cluster (their
    dialogue), intervals are over clusters.

    Parameters
    ----------
    scores : DataFrame, or what :func:`d3stats.open` takes
        A table as :func:`direct_scores` returns it, or a log of which it is made.
    human : DataFrame
        One row per response: the column `on` and a column per aspect, the mean of the people's scores.
    aspects : sequence of str, optional
        By default every column of numbers. One that a table lacks has no correlation, and ``refused`` says so: missing
        scores are never taken as 0.
    on : str
        The column that names a response in both tables.
    scale, human_scale : tuple of two floats, or mapping of str to such, optional
        The least and the greatest score that there can be in either table, of all aspects or by aspect: people scored
        the groundedness of Topical-Chat from 0 to 1 and its naturalness from 1 to 3. A log's scores
        are checked agent by agent. A table is checked as it is: a mean may hide a score that cannot be.
    methods : sequence of {"spearman", "kendall"}
        The coefficients to compute.
    kind, level, n_boot, rng
        As in :func:`correlation`, for each correlation.

    Returns
    -------
    AspectCorrelations

    Raises
    ------
    ValueError
        When a table has a response twice, no response is in both, or no aspect has a correlation. When a score does not
        lie on its scale, or a scale is given for an aspect that there is not.

    Examples
    --------
    >>> model = pd.DataFrame({"question": list("abcdef"), "coherence": [1, 2, 2, 3, 3, 9]})
    >>> people = pd.DataFrame({"question": list("abcdef"), "coherence": [1, 1, 2, 2, 3, 3]})
    >>> aspect_correlations(model, people, scale=(1, 3))
    Traceback (most recent call last):
    ...
    ValueError: scores must lie on the scale from 1 to 3; got 9 for coherence of 'f'
    """
    single: SingleScores | None = None
    if isinstance(scores, pd.DataFrame):
        table = scores
    else:
        single = single_scores(open(scores), RESPONSE)
        table = _averaged(single, checked=_checked(single, scale) if scale is None else True)
    of_table = tuple(table.attrs.get("notes", ()))
    wanted: list[Method] = list(methods)
    for method in wanted:
        choice("methods", method, METHODS)
    for name, frame in (("scores", table), ("human", human)):
        if on not in frame.columns:
            raise ValueError(f"{name} must have the column {on!r}; got {', '.join(map(str, frame.columns))}")
    named = [_responses("scores", table[on]), _responses("human", human[on])]
    table, human = (
        frame.astype(dict.fromkeys(frame.columns.drop(on), object)).infer_objects()
        for frame in (table, human)
    )
    texts: list[str] = []
    alone: list[str] = []
    if aspects is None:
        aspects, texts, alone = _shared_aspects(table, human, on)
    if not aspects:
        raise ValueError(
            "scores and human must have an aspect in common; got "
            f"{', '.join(map(str, table.columns))} and {', '.join(map(str, human.columns))}"
        )
    for name, frame, given, of in (
        *(() if single is None else (("scores", single.scores, scale, single.debate),)),
        ("scores", table, scale, table[on]),
        ("human", human, human_scale, human[on]),
    ):
        if given is not None:
            _on_scale(name, frame[[a for a in aspects if a in frame.columns]], given, of, [*aspects, *frame])
    unchecked = [
        _ranges(name, frame, aspects)
        for name, frame, given in (("scores", table, scale), ("human", human, human_scale))
        if given is None and not (name == "scores" and single is not None)
    ]
    aspects = [*aspects, *alone]
    # A table of numbers and a log of texts mean the same response.
    left, right = (
        frame.assign(**{on: names}).set_index(on) for frame, names in zip((table, human), named, strict=True)
    )
    both = left.index.intersection(right.index, sort=False)
    if both.empty:
        raise ValueError(f"scores and human must have responses in common; got none by {on!r}")
    notes = [
        f"{len(frame) - len(both)} of {counted(len(frame), 'response')} of {name} left out: the other table lacks them"
        for name, frame in (("scores", left), ("human", right))
        if len(frame) > len(both)
    ]
    notes += [with_words(note, "scores: ") for note in of_table]
    notes += [note for note in unchecked if note]
    notes += [
        f"{name} left out because the column holds text; convert it with pandas.to_numeric" for name in texts
    ]
    left, right = left.loc[both], right.loc[both]
    cluster = None
    if "cluster" in left.columns and left["cluster"].nunique() < len(left):
        cluster = left["cluster"].tolist()
    found: dict[tuple[str, str], Estimate] = {}
    refused: dict[str, str] = {}
    generator = as_rng(rng)
    for aspect in aspects:
        lacking = [n for n, f in (("scores", left), ("human", right)) if aspect not in f.columns]
        if lacking:
            refused[aspect] = f"missing in {' and '.join(lacking)}"
            continue
        x, y = (frame[aspect].to_numpy(dtype=float, na_value=np.nan) for frame in (left, right))
        try:
            made = [
                correlation(
                    x, y, method=method, cluster=cluster, kind=kind, level=level, n_boot=n_boot, rng=generator
                )
                for method in wanted
            ]
        except ValueError as error:
            refused[aspect] = str(error)
            continue
        for method, one in zip(wanted, made, strict=True):
            found[aspect, method] = replace(one.estimate, name=f"{aspect}, {one.estimate.name}")
        notes += [with_words(note, f"{aspect}: ") for note in made[0].notes]
    if not found:
        reasons = "; ".join(f"{aspect}: {why}" for aspect, why in refused.items())
        raise ValueError(f"an aspect must have scores of both kinds that vary; got none ({reasons})")
    notes += [f"{aspect} has no correlation: {why}" for aspect, why in refused.items()]
    average: dict[str, float] = {
        method: fmean(one.value for (_, of), one in found.items() if of == method) for method in wanted
    }
    return AspectCorrelations(
        correlations=found, refused=refused, average=average, n=len(both), notes=tuple(notes)
    )


def _ranges(name: str, frame: pd.DataFrame, aspects: Sequence[str]) -> str:
    """Say the range of each aspect of a table that was not checked; empty where there is no number."""
    there = [aspect for aspect in aspects if aspect in frame.columns and frame[aspect].notna().any()]
    ranges = ", ".join(f"{aspect} {frame[aspect].min():g} to {frame[aspect].max():g}" for aspect in there)
    given = "scale" if name == "scores" else "human_scale"
    return (
        ranges
        and f"{name}: no scale was given ({given}=), so no score was compared with it; ranges: {ranges}"
    )


def _numeric(column: pd.Series[Any]) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column))


def _on_scale(
    name: str, frame: pd.DataFrame, scale: Scale, rows: pd.Series[Any], known: Sequence[str] | None = None
) -> None:
    """Refuse a score that does not lie on its scale, by its place, and a scale of an aspect that is not `known`."""
    known = list(frame.columns) if known is None else known
    strange = [aspect for aspect in scale if aspect not in known] if isinstance(scale, Mapping) else []
    if strange:
        raise ValueError(
            f"{'human_scale' if name == 'human' else 'scale'} must name aspects that there are; got {strange[0]!r}"
            f"{meant(strange[0], map(str, known))}"
        )
    for aspect in frame.columns:
        given = scale.get(aspect) if isinstance(scale, Mapping) else scale
        if given is None:
            continue
        low, high = given
        if not low < high:
            raise ValueError(
                f"{'human_scale' if name == 'human' else 'scale'} must go from the least score to a greater one; got "
                f"({low:g}, {high:g})"
            )
        values = frame[aspect].to_numpy(dtype=float, na_value=np.nan)
        bad = ~(np.isnan(values) | ((values >= low) & (values <= high)))
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(
                f"{name} must lie on the scale from {low:g} to {high:g}; got {values[at]:g} for {aspect} of "
                f"{rows.iloc[at]!r}"
            )
