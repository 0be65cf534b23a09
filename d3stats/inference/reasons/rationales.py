"""Three measures of written rationales: do they cite the debate, how alike are they, can dissent be traced to reasons.

The measures are those of D3's section 5.8, each with an interval over clusters (questions), for any log that holds
texts. Two logs, such as one of jurors with personas and one of generic jurors, are compared by the differences.

References
----------
Harrasse, Bandi and Bandi (D3), section 5.8 (the measures) and appendix D.2 (the criteria). Hoeffding (1948), Annals of
Mathematical Statistics 19, 293 (means over pairs). Salton and Buckley (1988), Information Processing and Management 24,
513 (TF-IDF).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, choice, integer, probability
from d3stats._words import counted, percent, points, setting, verb
from d3stats.estimate import Estimate, estimates_frame
from d3stats.inference.comparison.multiplicity import FAMILIES, Family
from d3stats.inference.reasons.dissent import (
    DISSENT,
    REASONS,
    Disputed,
    disputed,
    named_reasons,
    reasons_table,
    traced,
)
from d3stats.inference.reasons.evidence import (
    QUOTE,
    REPEATED_WORDS,
    compiled,
    in_other_letters,
    language_notes,
    phrases_to_ignore,
    references,
    repeats,
)
from d3stats.inference.reasons.similarity import Cosines, Embed, across, cosines, tfidf, unit_rows, vectors_of
from d3stats.inputs.items import mostly_left_out, shared
from d3stats.inputs.questions import contradictions, renamed, warned
from d3stats.inputs.texts import Texts
from d3stats.resampling import (
    FEW_CLUSTERS,
    ONE_CLUSTER,
    Statistic,
    cluster_estimate,
    cluster_t,
    cluster_totals,
    contrast_of_means,
    contrast_of_shares,
    ratios,
)
from d3stats.resampling.contrasts import MOVER
from d3stats.resampling.proportions import EXACT, clustered_share, share_limits
from d3stats.result import ByName, EstimatesResult
from d3stats.sources import Opened, Reading, open, open_all
from d3stats.sources.texts import Order, as_texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "ACROSS",
    "AXIS",
    "AXIS_BEYOND",
    "AXIS_CHANCE",
    "BESIDE",
    "CITES",
    "OWN",
    "OWN_BEYOND",
    "OWN_CHANCE",
    "RATIO",
    "REPEATS",
    "SIMILARITY",
    "TRACED",
    "RationaleComparison",
    "Rationales",
    "compare_rationales",
    "rationale_strata",
    "rationales",
]


CITES = "rationales that cite the debate"
_OF_KIND = {
    "speaker": "that name who spoke before",
    "round": "that name a round",
    "argument": "with a word for arguing",
    "quote": "that quote an earlier turn",
}
REPEATS, BESIDE = "that repeat an earlier turn", "that share words with a turn of the same time"
SIMILARITY = "mean cosine within a debate"
ACROSS = "mean cosine across questions"
RATIO = "within a debate / across questions"
AXIS, AXIS_CHANCE, AXIS_BEYOND = (
    "disagreements with an axis",
    "with an axis, by chance",
    "with an axis, beyond chance",
)
OWN, OWN_CHANCE, OWN_BEYOND = (
    "dissents with a reason of their own",
    "with a reason of their own, by chance",
    "with a reason of their own, beyond chance",
)
TRACED = (AXIS, AXIS_CHANCE, AXIS_BEYOND, OWN, OWN_CHANCE, OWN_BEYOND)
MOST_AGENTS = 50
"""With more agents there is no table of them."""


@dataclass(frozen=True, eq=False)
class _Measure:
    """A mean over rationales, pairs or debates as two sums by cluster, by the cluster's name.

    `shape` says what limits it gets: those of a share, or of any mean, which lies between `bounds`.
    """

    name: str
    clusters: NDArray[np.object_]
    above: Floats
    below: Floats
    shape: Literal["share", "mean", "difference"] = "share"
    bounds: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(
        cls, name: str, clusters: NDArray[np.object_], above: Floats, below: Floats, *more: Any
    ) -> _Measure:
        codes, names = pd.factorize(clusters, sort=True)
        totals = cluster_totals(np.column_stack([above, below]), codes.astype(np.int64))
        used = totals[:, 1] > 0
        return cls(name, np.asarray(names, dtype=object)[used], totals[used, 0], totals[used, 1], *more)

    def estimate(self, level: float) -> Estimate:
        n = round(float(self.below.sum()))
        if self.shape == "share":
            found = share_limits(self.above, self.below, level)
            value = min(float(self.above.sum() / self.below.sum()), 1.0)
            return Estimate(
                name=self.name, value=value, n=n, level=level, n_clusters=len(self.below), **found._asdict()
            )
        totals = np.column_stack([self.above, self.below])
        apart = self.shape == "difference"
        mean: dict[str, Any] = {"bounds": self.bounds, "tested": apart, "symmetric": apart}
        return cluster_estimate(self.name, totals, ratios((0, 1)), n, level=level, **mean)


@dataclass(frozen=True, eq=False, kw_only=True)
class Rationales(ByName, EstimatesResult):
    """Measures of the rationales of a log.

    Attributes
    ----------
    measures : tuple of Estimate
        The estimates, citing first.
    reasons : DataFrame
        One row per reason: ``reason``; the share of dissenting and of majority rationales that name it (``dissent,
        majority``); their ``difference`` within debates with ``low, high``, ``p_value`` and ``p_adjusted``; the
        disputed debates ``n`` and their ``n_clusters``; and a ``note`` where there is no interval.
    agents : DataFrame
        One row per agent: ``agent, rationales``, the share that ``cites`` with ``low, high``, the mean ``cosine`` with
        the others of a debate, ``votes`` (where some answer has more than half) and ``dissents`` among them.
    marks : DataFrame
        One row per rationale: ``debate, question, round, agent, role, vote, text``; a column ``cites_...`` per kind;
        whether it ``repeats`` an earlier turn or ``shares_words`` with one of the same time (missing where there is
        none); its mean ``cosine`` with the others of the debate; ``camp`` ("majority", "dissent" or ""); and the
        ``reasons`` that it names.
    phrases : DataFrame
        One row per phrase that counts as citing: its ``kind``, the ``phrase``, the number of ``rationales`` that have
        it, and of those that have it ``alone``, with no other phrase of the kind. Quotations are not listed.
    level : float
    family : {"holm", "bh", "bonferroni"}
        How ``p_adjusted`` was made.
    notes : tuple of str
    estimates : tuple of Estimate
        Shares that cite the debate, in any way and by kind; the mean cosine within debates, across questions, and
        their ratio; the share of disagreements with an axis and of dissents with a reason of their own, what chance
        gives, and the difference. Estimates that the log does not allow are absent, and a note gives the reason.

    Examples
    --------
    >>> said = {"debate": [1, 1, 2, 2], "round": 1, "agent": ["x", "y"] * 2, "vote": list("ABAA")}
    >>> texts = ["Advocate A has depth.", "B is safer.", "In round 1 A has depth.", "A has depth."]
    >>> found = rationales(pd.DataFrame(said | {"text": texts}), repeated_words=None)
    >>> found.find(CITES).value, found.find("no such measure"), len(found.marks)
    (0.25, None, 4)
    >>> len(found.plot().get_yticklabels()) > 0
    True
    """

    measures: tuple[Estimate, ...]
    reasons: pd.DataFrame
    agents: pd.DataFrame
    marks: pd.DataFrame
    phrases: pd.DataFrame
    level: float
    family: Family
    notes: tuple[str, ...] = ()
    _sums: tuple[_Measure, ...] = ()
    _json: ClassVar[tuple[str, ...]] = ("estimates", "phrases", "reasons", "agents", "notes")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates, citing first."""
        return self.measures

    @property
    def headline(self) -> str:
        """The answer, how many rationales cite the debate."""
        e = self.find(CITES)
        if e is None:
            return super().headline
        return f"{percent(e.value, e.low, e.high)} of {e.n} rationales cite the debate."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {
            "estimates": estimates_frame(self.estimates),
            "phrases": self.phrases,
            "reasons": self.reasons,
            "agents": self.agents,
        }

    def _remarks(self) -> list[str]:
        shown = {"reasons": self.reasons.drop(columns=["n", "n_clusters", "note"]), "agents": self.agents}
        return [
            f"\n{title}\n{table.to_string(index=False, float_format='{:z.3f}'.format, na_rep='')}"
            for title, table in shown.items()
            if len(table)
        ]

    def plot(self, ax: Axes | None = None, *, what: Literal["shares", "reasons"] = "shares") -> Axes:
        """Draw every estimate with its interval, or the differences of the reasons between dissent and majority.

        Parameters
        ----------
        ax : Axes, optional
        what : {"shares", "reasons"}

        Raises
        ------
        ValueError
            When there is no disputed debate, and the reasons are asked for.
        """
        from d3stats.plotting.intervals import plot_forest

        choice("what", what, ("shares", "reasons"))
        if what == "reasons":
            if self.reasons.empty:
                raise ValueError("reasons need a disputed debate with texts on both sides; got none")
            frame = self.reasons.rename(columns={"reason": "label"})
            frame = frame.assign(level=self.level, kind="cluster t")
            return plot_forest(
                frame[["label", "difference", "low", "high", "level", "kind"]],
                xlabel="named in dissent minus in majority, share of rationales",
                ax=ax,
            )
        frame = estimates_frame(e for e in self.estimates if e.name != RATIO)
        frame = frame.rename(columns={"name": "label", "value": "difference"})
        frame["kind"] = "over clusters"
        columns = ["label", "difference", "low", "high", "level", "kind"]
        return plot_forest(frame[columns], xlabel="share, or mean cosine", ax=ax)


def rationales(
    log: Any,
    *,
    role: str | Sequence[str] | None = None,
    round_number: int | None = None,
    order: Order | None = None,
    cites: Mapping[str, str | Sequence[str]] | None = None,
    ignore: str | Sequence[str] | None = None,
    repeated_words: int | None = REPEATED_WORDS,
    embed: Embed | None = None,
    reasons: Mapping[str, str | Sequence[str]] | None = None,
    family: Family = "holm",
    level: float = 0.95,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> Rationales:
    """Measure rationales: how many cite the debate, how alike they are, and which reasons go with dissent.

    Parameters
    ----------
    log : path, list of paths, DataFrame or DebateLog
        Debates with texts: JSON lines whose turns have the field ``text``, or a table with a row per turn and a column
        ``text`` (or ``rationale``, ``explanation`` and the like). A DebateLog is read with ``texts=True``.
    role : str or list of str, optional
        Whose texts are rationales; by default those of every role that votes.
    round_number : int, optional
        The round whose texts are taken; by default each debate's last in which they spoke.
    order : {"turns", "rounds"}, optional
        Order of speaking in a round: one after another in the order of the rows (turns), or all that vote at the same
        time (rounds). By default what the log's protocol says, with its parameters from the
        journal beside the log; where it is not known, "rounds". "turns": one after another, in the order of the log's
        rows. "rounds": those that vote at the same time, after those that never vote.
    cites : mapping of str to str or list of str, optional
        What counts as citing, beside quotations: regular expressions, or lists of words, by name, in place of the kinds
        speaker, round and argument.
    ignore : str or list of str, optional
        Words or phrases that do not count as citing, because the prompt has them. An agent whose prompt has
        "other agents" writes "other agents" whether it has read them or not. What shares a word with them does not
        count either: without "both sides", "both sides argued" is none. Quotations count in any case.
    repeated_words : int or None
        The number of successive words, at least 2, that count as repeated when another turn has them too; None does
        not look for repeated words.
    embed : callable, array or path, optional
        Turns a list of texts into vectors, shape (rationales, length), or is these vectors, in the order of
        :func:`rationale_texts`, or the file that ``numpy.save`` wrote them to; by default TF-IDF, which needs
        scikit-learn.
    reasons : mapping of str to str or list of str, optional
        Regular expressions or lists of words, by the reason that they express; by default
        :data:`~d3stats.inference.reasons.dissent.REASONS`.
    family : {"holm", "bh", "bonferroni"}
        Adjustment of p-values for the number of reasons.
    level : float
        Level of the intervals, in (0, 1).
    rng : Generator, int or None
        Used only in disputed debates with more than 2,000 ways to deal out the dissenting votes.
    **reading : Reading
        How a log is read, see :func:`d3stats.open`.

    Returns
    -------
    Rationales

    Raises
    ------
    ValueError
        When the log holds no texts, or none of this role and round.

    Notes
    -----
    Shares have the cluster Wilson interval. The mean cosine within debates is a ratio of sums over questions with a
    cluster t. The mean cosine across questions is a U-statistic (Hoeffding, 1948) with its jackknife over questions.
    TF-IDF weights come from the same rationales and are taken as given.

    Examples
    --------
    >>> rows = [
    ...     (d, f"juror {k}", vote, text)
    ...     for d in range(6)
    ...     for k, vote, text in [
    ...         (1, "A", "Advocate A argued with more depth."),
    ...         (2, "A", "In round 1 the first answer has depth."),
    ...         (3, "B", "The second answer is safer." if d % 2 else "The second answer has depth."),
    ...     ]
    ... ]
    >>> table = pd.DataFrame(rows, columns=["debate", "agent", "vote", "text"]).assign(round=1)
    >>> found = rationales(table, repeated_words=None)
    >>> round(found[CITES].value, 3), found[AXIS].value
    (0.667, 0.5)
    >>> found.phrases[["kind", "phrase", "rationales", "alone"]].values.tolist()
    [['round', 'round 1', 6, 6], ['argument', 'argued', 6, 6]]
    >>> round(rationales(table, ignore="argued", repeated_words=None)[CITES].value, 3)
    0.333
    """
    said = as_texts(open(log, **reading), role, round_number, order)
    vectors, why = _vectors([said], embed)
    chosen = _Chosen(cites, ignore, repeated_words, reasons, family, level, rng)
    return _measured(said, vectors[0], chosen, why)


_MEASURES = {CITES: None, SIMILARITY: ACROSS, AXIS: AXIS_CHANCE}
"""The three measures of D3, 5.8, each with the estimate that it is read beside."""


def rationale_strata(found: Mapping[str, Rationales | pd.DataFrame]) -> pd.DataFrame:
    """Return the three measures of several logs, rounds or judges, as :func:`~d3stats.plotting.plot_strata` draws them.

    The mean cosine within a debate is read beside that across questions, and the share of disagreements with an axis
    beside its value by chance.

    Parameters
    ----------
    found : mapping of str to Rationales or DataFrame
        Each result, or its table of estimates, by the name of the log, the round or the judge.

    Returns
    -------
    DataFrame
        One row per name and measure: ``stratum, quantity, value, low, high``, ``reference`` (missing for citing) and,
        where the tables have them, ``level, kind``. A measure that a log does not give has no row.

    Raises
    ------
    ValueError
        When no result is given, or none has one of the measures.

    Examples
    --------
    >>> said = {"debate": [1, 1, 2, 2], "agent": ["x", "y"] * 2, "vote": list("ABAA")}
    >>> texts = ["A has depth.", "B is safer.", "A has depth.", "A has depth."]
    >>> again = ["Agent y argued that B is safer.", "B is safer.", "A has depth.", "A has depth."]
    >>> log = pd.concat(pd.DataFrame(said | {"round": r + 1, "text": t}) for r, t in enumerate((texts, again)))
    >>> rounds = {f"round {r}": rationales(log, round_number=r, repeated_words=None) for r in (1, 2)}
    >>> table = rationale_strata(rounds)
    >>> table[table["quantity"] == CITES][["stratum", "value"]].values.tolist()
    [['round 1', 0.0], ['round 2', 0.25]]
    >>> from d3stats.plotting import plot_strata
    >>> plot_strata(table, xlabel="share, or mean cosine").get_xlabel().splitlines()[0]
    'share, or mean cosine'
    """
    rows = []
    for stratum, one in found.items():
        table = one.to_frame() if isinstance(one, Rationales) else one
        told = [name for name in ("level", "kind") if name in table]
        by_name = table.drop_duplicates("name").set_index("name")
        for measure, beside in _MEASURES.items():
            if measure in by_name.index:
                row = by_name.loc[measure, ["value", "low", "high", *told]].to_dict()
                reference = by_name["value"].get(beside, np.nan) if beside else np.nan
                rows.append({"stratum": stratum, "quantity": measure, **row, "reference": reference})
    if not rows:
        raise ValueError(f"found must hold a result with one of {list(_MEASURES)}; got {list(found)}")
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class RationaleComparison(EstimatesResult):
    """Measures of the rationales of two logs, and their differences, the second minus the first.

    Attributes
    ----------
    differences : tuple of Estimate
        One per measure that both logs have, and the ratio of the mean cosines.
    names : (str, str)
    first, second : Rationales
        Names of the debates that are compared.
    notes : tuple of str

    Examples
    --------
    >>> def jury(words):
    ...     rows = [(d, f"juror {k}", "A", f"{word} case {d}") for d in range(8) for k, word in enumerate(words)]
    ...     return pd.DataFrame(rows, columns=["debate", "agent", "vote", "text"]).assign(round=1)
    >>> found = compare_rationales(jury(["good", "fine"]), jury(["good", "good"]), names=("personas", "generic"))
    >>> found.names, len(found.differences) > 0
    (('personas', 'generic'), True)
    >>> len(found.plot().get_yticklabels()) > 0
    True
    """

    differences: tuple[Estimate, ...]
    names: tuple[str, str]
    first: Rationales
    second: Rationales
    notes: tuple[str, ...] = ()
    _json: ClassVar[tuple[str, ...]] = ("names", "estimates", "first", "second", "notes")

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The differences."""
        return self.differences

    @property
    def headline(self) -> str:
        """The answer, in which log more rationales cite the debate."""
        e = next((e for e in self.differences if e.quantity == CITES), None)
        if e is None:
            return super().headline
        first, second = self.names
        number = f"{second} minus {first} {points(e.value, e.low, e.high)}"
        if e.low is None or e.high is None or e.low <= 0 <= e.high:
            return f"No difference is shown in how many rationales cite the debate: {number}."
        return f"{'More' if e.value > 0 else 'Fewer'} rationales cite the debate in {second}: {number}."

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        """Return the differences, and the two logs' own estimates."""
        each = zip(self.names, (self.first, self.second), strict=True)
        own = {name: estimates_frame(one.estimates) for name, one in each}
        return {"differences": estimates_frame(self.differences), **own}

    def _remarks(self) -> list[str]:
        each = zip(self.names, (self.first, self.second), strict=True)
        return [line for name, one in each for line in (f"\n{name}", *map(str, one.estimates))]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the difference of each measure with its interval."""
        from d3stats.plotting.intervals import plot_forest

        frame = estimates_frame(e for e in self.differences if e.of != _over(self.names))
        frame = frame.rename(columns={"name": "label", "value": "difference"})
        columns = ["label", "difference", "low", "high", "level", "kind"]
        return plot_forest(frame[columns], xlabel=f"{self.names[1]} minus {self.names[0]}", ax=ax)


def compare_rationales(
    first: Any,
    second: Any,
    *,
    names: tuple[str, str] | None = None,
    role: str | Sequence[str] | None = None,
    round_number: int | None = None,
    order: Order | None = None,
    cites: Mapping[str, str | Sequence[str]] | None = None,
    ignore: str | Sequence[str] | None = None,
    repeated_words: int | None = REPEATED_WORDS,
    embed: Embed | tuple[Any, Any] | None = None,
    reasons: Mapping[str, str | Sequence[str]] | None = None,
    family: Family = "holm",
    level: float = 0.95,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> RationaleComparison:
    """Compare the rationales of two logs, measure by measure, paired by question where they share questions.

    The weights of TF-IDF come from both logs together, so that both are measured alike. Where some questions are in one
    log only, those that both have are compared, and a warning counts and names the others; where none is shared, the
    logs are independent.

    Parameters
    ----------
    first, second : as `log` of :func:`rationales`
        The first is the reference.
    names : (str, str), optional
        Names of the logs; by default their files' names.
    embed : callable, or pair of arrays or paths, optional
        As for :func:`rationales`; one array per log, with a row for every rationale of the log.
    role, round_number, order, cites, ignore, repeated_words, reasons, family, level, rng
        As for :func:`rationales`.
    **reading : Reading
        How a log is read, see :func:`d3stats.open`.

    Returns
    -------
    RationaleComparison

    Raises
    ------
    ValueError
        As for :func:`rationales`; or when arrays are not two, or the logs share some questions and less than half of
        those of the smaller log.

    Examples
    --------
    >>> def jury(words):
    ...     rows = [(d, f"juror {k}", "A", f"{word} case {d}") for d in range(8) for k, word in enumerate(words)]
    ...     return pd.DataFrame(rows, columns=["debate", "agent", "vote", "text"]).assign(round=1)
    >>> found = compare_rationales(jury(["good", "fine"]), jury(["good", "good"]), names=("personas", "generic"))
    >>> next(e for e in found.differences if e.name.startswith("mean cosine")).name
    'mean cosine within a debate, generic - personas'
    """
    opened = open_all((first, second), **reading)
    both = [as_texts(log, role, round_number, order) for log in opened]
    called = _names(names, *opened)
    apart = warned(contradictions(renamed([each.questions for each in both], called)))
    generator = as_rng(rng)
    if embed is not None and not callable(embed):
        given = embed if isinstance(embed, (tuple, list)) else ()
        if len(given) != 2:
            raise ValueError(
                f"embed must be a callable or two arrays, one per log; got {type(embed).__name__}"
            )
    vectors, why = _vectors(both, embed)
    said, vectors, notes = _on_shared_questions(both, vectors, called)
    chosen = _Chosen(cites, ignore, repeated_words, reasons, family, level, generator)
    one, other = (_measured(each, own, chosen, why) for each, own in zip(said, vectors, strict=True))
    differences = tuple(_differences(one, other, called, chosen.level))
    return RationaleComparison(differences, called, one, other, (*apart, *notes, *_few(differences)))


# ------------------------------------------------------------------------------------------------ the parts


class _Chosen:
    """What is looked for, checked."""

    def __init__(
        self,
        cites: Mapping[str, str | Sequence[str]] | None,
        ignore: str | Sequence[str] | None,
        repeated_words: int | None,
        reasons: Mapping[str, str | Sequence[str]] | None,
        family: Family,
        level: float,
        rng: RngLike,
    ) -> None:
        self.cites = cites
        self.ignore = phrases_to_ignore(ignore)
        self.repeated_words = None if repeated_words is None else integer("repeated_words", repeated_words)
        if self.repeated_words is not None and self.repeated_words < 2:
            raise ValueError(
                "repeated_words must be >= 2, or None to look for none (--repeated-words 0); got "
                f"repeated_words={repeated_words!r}"
            )
        self.own_reasons = reasons is not None
        self.reasons = compiled(REASONS if reasons is None else reasons, "reasons")
        choice("family", family, FAMILIES)
        self.family = family
        self.level = probability("level", level, open_interval=True)
        self.rng = as_rng(rng)


Vectors = tuple[Any, NDArray[np.bool_]] | None


def _vectors(said: Sequence[Texts], embed: Any) -> tuple[list[Vectors], list[str]]:
    """Return the vectors of each log's rationales, or none and why."""
    sizes = [len(each.rationales) for each in said]
    notes: list[str] = []
    if embed is None:
        texts = [text for each in said for text in each.texts]
        _, unspaced = in_other_letters(texts)
        if n := int(unspaced.sum()):
            notes = [
                f"similarity: {counted(n, 'rationale')} {verb(n, 'has', 'have')} no spaces between words and "
                f"{verb(n, 'was', 'were')} left out; give vectors ({setting('embed', 'FILE.npy')})"
            ]
        try:
            together = tfidf(
                ["" if one else text for text, one in zip(texts, unspaced.tolist(), strict=True)]
            )
        except ImportError as error:
            return [None] * len(said), [str(error)]
        except ValueError:
            return [None] * len(said), notes or ["similarity: no rationale has a word of two letters or more"]
        ends = np.cumsum([0, *sizes])
        parts = [together[low:high] for low, high in pairwise(ends)]
    elif callable(embed):
        parts = [embed(each.texts) for each in said]
    else:
        given = list(embed) if len(said) > 1 else [embed]
        parts = [vectors_of(part) if isinstance(part, (str, Path)) else part for part in given]
    found: list[Vectors] = [unit_rows(part, n) for part, n in zip(parts, sizes, strict=True)]
    widths = {each[0].shape[1] for each in found if each is not None}
    if len(widths) > 1:
        raise ValueError(f"embed must give vectors of one length; got lengths {sorted(widths)}")
    return found, notes


def _measured(said: Texts, vectors: Vectors, chosen: _Chosen, why: list[str]) -> Rationales:
    table, clusters = said.table, said.clusters
    notes = [*said.notes, *why]
    kinds, phrases, about = references(said, chosen.cites, chosen.ignore)
    other, unspaced = in_other_letters(said.texts)
    about += language_notes(said.texts, other, cites=chosen.cites is None, reasons=not chosen.own_reasons)
    notes += about
    sums, marks = [], table.copy()
    any_kind = (kinds == 1).any(axis=1).to_numpy().astype(np.float64)
    if chosen.cites is None:
        any_kind[other] = np.nan
    if (there := ~np.isnan(any_kind)).any():
        sums.append(_Measure.of(CITES, clusters[there], any_kind[there], np.ones(there.sum())))
    for name, column in kinds.items():
        values = column.to_numpy()
        there = ~np.isnan(values)
        marks[f"cites_{name}"] = pd.Series(values == 1, dtype="boolean").where(there, pd.NA)
        if there.any():
            known = chosen.cites is None or name == QUOTE
            title = _OF_KIND[str(name)] if known else f"that cite: {name}"
            sums.append(_Measure.of(title, clusters[there], values[there], np.ones(there.sum())))
    if chosen.repeated_words is not None:
        *repeated, about = repeats(said, chosen.repeated_words)
        notes += about
        for title, mark, values in zip((REPEATS, BESIDE), ("repeats", "shares_words"), repeated, strict=True):
            values[unspaced] = np.nan
            there = ~np.isnan(values)
            marks[mark] = pd.Series(values == 1, dtype="boolean").where(there, pd.NA)
            if there.any():
                sums.append(_Measure.of(title, clusters[there], values[there], np.ones(there.sum())))
    estimates = [one.estimate(chosen.level) for one in sums]
    marks["cosine"] = np.nan
    if vectors is not None:
        alike, more, said_of_pairs = _alike(said, vectors)
        marks["cosine"] = alike.with_others
        sums += more
        estimates += [one.estimate(chosen.level) for one in more]
        yardstick, said_of_yardstick = _yardstick(said, alike, vectors[1], chosen.level)
        estimates += yardstick
        notes += [*said_of_pairs, *said_of_yardstick]
    camps = disputed(said)
    notes += camps.notes
    marks["camp"] = camps.camp
    named = named_reasons(said.texts, chosen.reasons)
    names = list(chosen.reasons)
    marks["reasons"] = ["; ".join(name for name, one in zip(names, row, strict=True) if one) for row in named]
    reasons = _NO_REASONS
    if not chosen.own_reasons and other.any():
        camps = camps.without(other)
    if camps.n_debates:
        reasons = reasons_table(camps, named[camps.row], names, chosen.level, chosen.family)
        more, said_of_dissent = _dissent(said, camps, named[camps.row], chosen.rng)
        sums += more
        estimates += [one.estimate(chosen.level) for one in more]
        notes += said_of_dissent
    agents, said_of_agents = _agents(marks, any_kind, clusters, chosen.level)
    notes += [*said_of_agents, *_few(estimates)]
    return Rationales(
        measures=tuple(estimates),
        reasons=reasons,
        agents=agents,
        marks=marks,
        phrases=phrases,
        level=chosen.level,
        family=chosen.family,
        notes=tuple(dict.fromkeys(notes)),
        _sums=tuple(sums),
    )


_NO_REASONS = pd.DataFrame(
    columns=[
        *(
            "reason",
            "dissent",
            "majority",
            "difference",
            "low",
            "high",
            "p_value",
            "p_adjusted",
            "n",
            "n_clusters",
        ),
        "note",
    ]
)


def _alike(said: Texts, vectors: Any) -> tuple[Cosines, list[_Measure], list[str]]:
    """Return the sums of cosines, and the mean within debates where a debate has two rationales."""
    rows, there = vectors
    debate, _ = pd.factorize(said.table["debate"])
    question, _ = pd.factorize(said.clusters)
    found = cosines(rows, there, debate.astype(np.int64), question.astype(np.int64))
    notes = []
    if lost := int((~there).sum()):
        which = f"{counted(lost, 'rationale')} of {len(there):,} {verb(lost, 'has', 'have')}"
        what = "a vector of zeros" if isinstance(rows, np.ndarray) else "no word of two letters"
        left = f"{which} {what} and {verb(lost, 'was', 'were')} left out"
        notes.append(f"similarity: {left}" if there.any() else f"no similarity: {left}, and none remains")
    pairs = found.within[:, 1]
    if not there.any():
        return found, [], notes
    if not pairs.any():
        return (
            found,
            [],
            [*notes, "similarity: no debate has two rationales, so that there is no pair to compare"],
        )
    if alone := int((pairs == 0).sum()):
        notes.append(
            f"similarity: {counted(alone, 'debate')} of {len(pairs):,} with fewer than two rationales have no pair"
        )
    of = pd.Series(said.clusters).groupby(debate).first().to_numpy(dtype=object)
    bounds = (-1.0, 1.0) if isinstance(rows, np.ndarray) else (0.0, 1.0)
    return found, [_Measure.of(SIMILARITY, of, *found.within.T, "mean", bounds)], notes


def _yardstick(
    said: Texts, alike: Cosines, there: NDArray[np.bool_], level: float
) -> tuple[list[Estimate], list[str]]:
    """Return the mean cosine across questions, and the ratio of that within debates to it."""
    if not there.any():
        return [], []
    question, _ = pd.factorize(said.clusters)
    debate, _ = pd.factorize(said.table["debate"])
    of = pd.Series(question).groupby(debate).first().to_numpy()
    totals = np.column_stack([cluster_totals(alike.within, of.astype(np.int64)), alike.questions])
    totals = totals[totals[:, 4] > 0]
    if len(totals) < 2:
        which = "one question" if len(of) == 0 or of.max() == 0 else "vectors in one question only"
        return [], [f"similarity: with {which} there is no pair across questions to compare with"]
    between, n = across(totals[:, 2:], at=2), int(there.sum())
    if len(totals) < 3:
        value = float(between(totals.sum(axis=0)[None])[0, 0])
        note = "two questions: without one of them there is no pair across questions"
        found = Estimate(name=ACROSS, value=value, low=None, high=None, kind="jackknife t", n=n, level=level,
                         n_clusters=len(totals), note=note)  # fmt: skip
        return [found], []
    estimate = cluster_estimate(
        ACROSS, totals, between, n, level=level, bounds=(-1.0, 1.0), error="jackknife", tested=False
    )
    within_pairs = float(totals[:, 1].sum())
    if not within_pairs:
        return [estimate], []

    def ratio(sums: Floats) -> Floats:
        return np.asarray(_log(ratios((0, 1))(sums)) - _log(between(sums)))

    if estimate.value <= 0 or float(totals[:, 0].sum()) <= 0:
        return [estimate], [
            f"similarity: no ratio to a mean cosine of {estimate.value:z.3f} across questions"
        ]
    return [estimate, _ratio(RATIO, totals, ratio, n, level, "jackknife")], []


def _log(values: Floats) -> Floats:
    return np.log(values, out=np.full(values.shape, np.nan), where=values > 0)


def _ratio(
    name: str,
    totals: Floats,
    log_ratio: Statistic,
    n: int,
    level: float,
    error: Literal["linearised", "jackknife"],
) -> Estimate:
    """Return a ratio whose interval is made for its logarithm; the p-value is of 1."""
    if len(totals) < 2:
        value = math.exp(float(np.ravel(log_ratio(totals.sum(axis=0)[None]))[0]))
        return Estimate(name=name, value=value, low=None, high=None, kind="cluster t", n=n, level=level,
                        n_clusters=len(totals), note=ONE_CLUSTER)  # fmt: skip
    return _exponential(cluster_t(totals, log_ratio, level=level, error=error).to_estimate(name, n))


def _exponential(found: Estimate) -> Estimate:
    """Return the ratio whose logarithm was estimated."""
    value = math.exp(found.value)
    low, high = (None if limit is None else math.exp(limit) for limit in (found.low, found.high))
    se = None if found.se is None else value * found.se
    return replace(found, value=value, low=low, high=high, se=se, kind=f"{found.kind} of the logarithm")


def _dissent(
    said: Texts, camps: Disputed, named: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[list[_Measure], list[str]]:
    """Return the share of disagreements that have an axis and of dissents with a reason of their own, and by chance."""
    found = traced(camps, named, rng)
    names = pd.Series(said.clusters[camps.row]).groupby(camps.debate).first().to_numpy(dtype=object)
    ones = np.ones(camps.n_debates)
    measures = []
    for (seen, chance, beyond), value, by_chance, of in (
        ((AXIS, AXIS_CHANCE, AXIS_BEYOND), found.axis, found.axis_by_chance, ones),
        ((OWN, OWN_CHANCE, OWN_BEYOND), found.own, found.own_by_chance, found.dissents),
    ):
        measures += [
            _Measure.of(seen, names, value, of),
            _Measure.of(chance, names, by_chance, of, "mean"),
            _Measure.of(beyond, names, value - by_chance, of, "difference", (-1.0, 1.0)),
        ]
    notes = []
    if found.drawn:
        notes.append(
            f"in {counted(found.drawn, 'debate')} chance is that of drawn deals of the votes, not of all"
        )
    return measures, notes


def _agents(
    marks: pd.DataFrame, cites: Floats, clusters: NDArray[np.object_], level: float
) -> tuple[pd.DataFrame, list[str]]:
    columns = ["agent", "rationales", "cites", "low", "high", "cosine", "votes", "dissents"]
    who = pd.unique(marks["agent"])
    if len(who) > MOST_AGENTS:
        return pd.DataFrame(columns=columns), [
            f"no table of agents, because there are {len(who):,}, more than {MOST_AGENTS}"
        ]
    rows = []
    for agent in who:
        own = (marks["agent"] == agent).to_numpy()
        known = own & ~np.isnan(cites)
        codes, _ = pd.factorize(clusters[known])
        found: tuple[float, float | None, float | None] = (math.nan, None, None)
        if known.any():
            share = clustered_share(cites[known], np.ones(known.sum()), codes.astype(np.int64), level=level)
            found = share.value, share.low, share.high
        camp = marks["camp"][own]
        rows.append(
            (
                *(agent, int(own.sum()), *found, marks["cosine"][own].mean()),
                *(int((camp != "").sum()), int((camp == DISSENT).sum())),
            )
        )
    numbers = dict.fromkeys(columns[2:6], "float64")
    return pd.DataFrame(rows, columns=columns).astype(numbers), []


def _few(estimates: Iterable[Estimate]) -> list[str]:
    """Say once on how few clusters intervals rest, where they do and do not say so themselves."""
    few: dict[int, list[str]] = {}
    for e in estimates:
        if e.low is None or e.kind in (EXACT, MOVER) or not e.n_clusters:
            continue
        if e.n_clusters < FEW_CLUSTERS:
            few.setdefault(e.n_clusters, []).append(e.name)
    return [
        f"only {counted(n, 'cluster')}: limits are rough ({', '.join(names)})" for n, names in few.items()
    ]


# ------------------------------------------------------------------------------------------------ two logs


def _names(given: tuple[str, str] | None, first: Opened, second: Opened) -> tuple[str, str]:
    if given is not None:
        if len(given) != 2 or len(set(given)) < 2:
            raise ValueError(f"names must be two different names; got {given!r}")
        return str(given[0]), str(given[1])
    paths = [Path(one.name).name if len(one.paths) == 1 else "" for one in (first, second)]
    if all(paths) and paths[0] != paths[1]:
        return paths[0], paths[1]
    return "first", "second"


def _on_shared_questions(
    both: Sequence[Texts], vectors: list[Vectors], names: tuple[str, str]
) -> tuple[list[Texts], list[Vectors], list[str]]:
    """Keep the questions that both logs have, where they share some."""
    found = shared({name: each.clusters for name, each in zip(names, both, strict=True)})
    if not found.common:
        return list(both), vectors, ["no question is in both logs, so the logs are compared as independent"]
    found.refuse_few("question", "log", "name the question of each debate alike in both logs, or in none")
    notes, common = found.notes("question", "log"), set(found.common)
    if not found.left_out:
        return list(both), vectors, notes
    kept: list[Texts] = []
    own: list[Vectors] = []
    for each, vector in zip(both, vectors, strict=True):
        of_rationales = np.array([cluster in common for cluster in each.clusters], dtype=np.bool_)
        used = np.flatnonzero(each.turns["cluster"].isin(common))
        kept.append(
            replace(
                each,
                turns=each.turns.iloc[used].reset_index(drop=True),
                panel=np.searchsorted(used, each.panel[np.isin(each.panel, used)]),
                rationales=np.searchsorted(used, each.rationales[of_rationales]),
            )
        )
        own.append(None if vector is None else (vector[0][of_rationales], vector[1][of_rationales]))
    return kept, own, [*notes, *mostly_left_out(len(common), found.total, "question")]


def _differences(
    one: Rationales, other: Rationales, names: tuple[str, str], level: float
) -> Iterable[Estimate]:
    """Yield the difference of each measure, and the ratio of the mean cosines, paired by cluster."""
    of_other = {measure.name: measure for measure in other._sums}
    for measure in one._sums:
        twin = of_other.get(measure.name)
        if twin is None or measure.name in (AXIS_CHANCE, OWN_CHANCE):
            continue
        clusters, place = np.unique(
            np.concatenate([measure.clusters, twin.clusters]).astype(str), return_inverse=True
        )
        totals = np.zeros((len(clusters), 4))
        split = len(measure.clusters)
        totals[place[:split], :2] = np.column_stack([measure.above, measure.below])
        totals[place[split:], 2:] = np.column_stack([twin.above, twin.below])
        n, (low, high) = round(float(totals[:, [1, 3]].sum())), measure.bounds
        shared = bool((totals[:, [1, 3]] > 0).all(axis=1).any())
        sides = (totals[place[split:], 2:], totals[place[:split], :2])
        within: dict[str, Any] = {"level": level, "bounds": (low - high, high - low)}
        if measure.shape == "share":
            apart = contrast_of_shares(measure.name, totals, (-1, 1), n=n, level=level)
        elif shared:
            apart = cluster_estimate(measure.name, totals, _apart, n, **within)
        else:
            apart = contrast_of_means(measure.name, sides, ratios((0, 1)), (1, -1), n, **within)
        yield apart.about(f"{names[1]} - {names[0]}")
        if measure.name == SIMILARITY and (totals[:, [0, 2]].sum(axis=0) > 0).all():
            if shared or len(totals) < 2:
                ratio = _ratio(SIMILARITY, totals, _log_apart, n, level, "linearised")
            else:
                ratio = _exponential(contrast_of_means(SIMILARITY, sides, _log_mean, (1, -1), n, level=level))
            yield ratio.about(_over(names))


def _over(names: tuple[str, str]) -> str:
    """Return what the ratio of the second log's mean to the first log's is about."""
    return f"{names[1]} / {names[0]}"


def _log_mean(sums: Floats) -> Floats:
    return _log(ratios((0, 1))(sums))


def _apart(sums: Floats) -> Floats:
    found = ratios((0, 1), (2, 3))(sums)
    return np.asarray(found[:, 1] - found[:, 0])


def _log_apart(sums: Floats) -> Floats:
    found = _log(ratios((0, 1), (2, 3))(sums))
    return np.asarray(found[:, 1] - found[:, 0])
