"""What does this log say, round by round? One table: counts, the fitted law, accuracy, and how far it moved.

Joins what the models say of the counts with what a replay says of the verdicts; every interval resamples
questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._check import RngLike, as_rng, choice, probability
from d3stats._words import counted, percent, said_p, verb
from d3stats.counts import Counts
from d3stats.models.mixtures.fit import LikelihoodRatioTest, likelihood_ratio_test
from d3stats.models.mixtures.rounds import SAME_DEBATES, Drift, RoundsFit, Scale, fit_rounds, rounds_drift
from d3stats.note import INSPECT, MISSING_VALUES, UNREAD_LABEL, Note, kind_of, sentence_of
from d3stats.planning.cells import Write, amount, cells, share_cell
from d3stats.planning.costs import RatioColumns, absent_note, with_turns
from d3stats.result import Result, TablesOnDemand
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.trajectories import MISSING, Missing, Trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from d3stats.models.bayes.result import SamplingOptions
    from d3stats.models.bayes.rounds import RoundsPosterior

__all__ = ["RoundsReport", "fit"]


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundsReport(Result):
    """The per-round table of a log and what it was made from.

    Attributes
    ----------
    trajectories : Trajectories
        The debates with turns.
    fit : RoundsFit
    drift : Drift
    missing : {"exclude", "wrong"}
        What a missing vote counted as in the fits and in accuracy.
    without_turns : int
        Debates without turns, which were left out.
    kinds : LikelihoodRatioTest or None
        Whether a second kind of debates is supported in the first round, see :func:`fit`; None where every
        debate has one vote.
    notes : tuple of str
        The limits of the table; :meth:`notes_of` has those of the fit of one round.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> report = fit(simulate_debates(Voter(panel=5), 60, 3, rng=1), n_components=1, n_boot=20, rng=1)
    >>> report.counts().sum(axis=1).tolist(), report.to_frame().columns.tolist()[:3]
    ([60, 60, 60], ['round', 'debates', 'missing_votes'])
    >>> len(report.plot(n_boot=20, rng=1).axes) > 1, report.notes[0], len(report.notes_of(2))
    (True, 'No intervals of the fits and of KS: limits at 95 % need at least 39 bootstrap replicates; there are 20.', 2)
    """

    trajectories: Trajectories
    fit: RoundsFit
    drift: Drift
    missing: Missing
    without_turns: int
    kinds: LikelihoodRatioTest | None = None
    _accuracy: pd.DataFrame

    @property
    def headline(self) -> str:
        """The chance of a right vote in the first and in the last round, with limits."""
        table = self._rounds(()).to_dict("records")
        said = [
            f"{percent(row['mean'], row['mean_low'], row['mean_high'])} in round {row['round']}"
            for row in (table if len(table) == 1 else (table[0], table[-1]))
        ]
        reached = [row["debates"] for row in (table[0], table[-1])]
        if reached[1] >= SAME_DEBATES * reached[0]:
            return f"Votes are right {' and '.join(said)}."
        return (
            f"Votes are right {said[0]}, and {said[1]}, in which only {reached[1]:g} of {reached[0]:g} debates have "
            "votes: the two do not compare the same debates."
        )

    def _answer(self) -> Sequence[str]:
        lines = [self.headline]
        if len(self.fit.rounds) > 1:
            lines.append(self.drift.moves())
        if self.kinds is not None:
            found = self.kinds
            shown = "is supported" if found.p_value <= 0.05 else "is not supported"
            lines.append(
                f"A second kind of debates {shown} in round {self.fit.rounds[0]} (likelihood ratio "
                f"{found.statistic:z.1f}, {said_p(found.p_value)}, {counted(int(found.null.n_obs), 'question')})."
            )
        return lines

    def _title(self) -> str:
        settings = self.fit.fits[0].settings
        how = "" if self.drift.too_few else f" ({self.drift.kind})"
        return (
            f"{100 * self.drift.level:.6g} % intervals over questions{how}; votes right: mean of "
            f"the fitted mixture, K={settings.n_components}; verdicts right: plurality; KS: to the round before, its "
            "noise in brackets."
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return TablesOnDemand({"rounds": lambda: self._round_table, "counts": self.counts})

    def _document(self) -> dict[str, Any]:
        return {
            "rounds": self._listed()["rounds"],
            "counts": {str(r): row for r, row in self.counts().T.to_dict("list").items()},
            "kinds": None if self.kinds is None else self.kinds.to_dict(),
            "notes": self.notes,
        }

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        narrow, counts = self._rounds(("pmf",)), self.counts()
        asked = self.trajectories.counts("wrong").to_frame()
        votes = (asked["trials"] * asked["weight"]).groupby(asked["round"]).sum()

        def moved(scale: str) -> Write:
            def write(row: Mapping[Any, Any]) -> str:
                distance, noise = row[f"ks_{scale}"], row[f"ks_{scale}_noise"]
                beside = "" if noise != noise else f" ({noise:z.3f})"
                return "-" if distance != distance else f"{distance:z.3f}{beside}"

            return write

        def whole(name: str) -> Write:
            return lambda row: "-" if pd.isna(row[name]) else f"{row[name]:g}"

        main: dict[str, Write] = {
            "round": whole("round"),
            "debates": whole("debates"),
            "votes right": share_cell("mean"),
            "verdicts right": share_cell("accuracy"),
            "KS": moved("pmf"),
        }
        wide: dict[str, Write] = {
            "round": whole("round"),
            "spread between debates": amount("spread", 3),
            "right majority": share_cell("prob_majority"),
            "KS of the chance of a right vote": moved("latent"),
            "debates in both": whole("ks_debates"),
        }
        seen: dict[str, list[str]] = {"round": [str(r) for r in counts.index]}
        seen |= {str(number): [f"{n}" for n in counts[number]] for number in counts}
        seen["missing votes"] = [
            f"{n:,} of {int(votes[r]):,}"
            for r, n in zip(narrow["round"], narrow["missing_votes"], strict=True)
        ]
        numbers = "Debates with 0, 1, 2, ... right votes (a missing vote is not right)"
        return TablesOnDemand(
            {
                "Rounds": lambda: cells(narrow, main),
                "Spread between debates, and latent distances": lambda: cells(self._round_table, wide),
                numbers: lambda: pd.DataFrame(seen, dtype=object),
            }
        )

    def counts(self) -> pd.DataFrame:
        """Debates by number of correct votes: one row per round in which there are votes, one column per number.

        A missing vote is shown as not correct here, so that every row adds up to the labelled debates.
        """
        frame = self.trajectories.counts("wrong").to_frame()
        table = frame.pivot_table(
            index="round", columns="successes", values="weight", aggfunc="sum", fill_value=0.0
        )
        table = table.reindex(columns=range(int(frame["trials"].max()) + 1), fill_value=0.0)
        return table.loc[list(self.fit.rounds)].astype(int)

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per round, or the table with this title ("rounds", "counts").

        Parameters
        ----------
        table : str, optional
            Title of a table.

        Returns
        -------
        DataFrame
            ``round, debates, missing_votes, mean, mean_low, mean_high, spread, spread_low,
            spread_high, prob_majority, ..., scored, accuracy, accuracy_low, accuracy_high, ks_debates,
            ks_pmf, ks_pmf_noise, ks_pmf_low, ks_pmf_high, ks_latent, ..., level``. A row is about the
            debates that played the round: ``debates`` have a vote, ``scored`` count in the accuracy. Distances
            are to the round before, over the ``ks_debates`` that have votes in both; they are missing in the first and
            where no debate has votes in both.
            Means and accuracies are shares, the spread is the standard deviation between debates of the chance
            that a vote is correct. With one vote per debate the spread is unknown and missing, and so are latent
            distances.
        """
        return super().to_frame(table)

    @property
    def _round_table(self) -> pd.DataFrame:
        return self._rounds(("pmf", "latent"))

    def _rounds(self, scales: tuple[Scale, ...]) -> pd.DataFrame:
        """Return the table of rounds, with the distances on these scales: latent ones take seconds."""
        t = self.trajectories
        absent = t.panel[:, None] * t.had_turns().any(axis=2) - (t.votes != MISSING).sum(axis=2)
        frame = pd.DataFrame(
            {
                "round": self.fit.rounds,
                "debates": [f.n_obs for f in self.fit.fits],
                "missing_votes": absent.sum(axis=0)[np.array(self.fit.rounds) - 1],
            }
        ).set_index("round")
        names = {"mean": "mean", "spread": "spread", "P(S > n/2)": "prob_majority"}
        table = self.drift.functionals().set_index("round")
        for functional, name in names.items():
            here = table[table["functional"] == functional]
            frame[name] = here["estimate"]
            frame[f"{name}_low"], frame[f"{name}_high"] = here["low"], here["high"]
        frame = frame.join(self._accuracy)
        moved = self.drift.ks(scales)
        if "pmf" in scales:
            frame["ks_debates"] = moved[moved["scale"] == "pmf"].set_index("round")["debates"].astype("Int64")
        for scale in scales:
            here = moved[moved["scale"] == scale].set_index("round")
            frame[f"ks_{scale}"] = here["ks"]
            for column in ("noise", "low", "high"):
                frame[f"ks_{scale}_{column}"] = here[column]
        if self.fit.panel < 2:
            hidden = [name for name in frame.columns if name.startswith(("spread", "ks_latent"))]
            frame[hidden] = np.nan
        return frame.assign(level=self.drift.level).reset_index()

    def plot(self, stops: pd.DataFrame | None = None, *, n_boot: int = 1000, rng: RngLike = None) -> Figure:
        """Draw the counts of each round with their fits, and how far the rounds moved.

        Parameters
        ----------
        stops : DataFrame, optional
            Where rules stopped, as :meth:`d3stats.planning.Replay.stops` gives it: drawn beside the distances.
        n_boot : int
            Draws of the bands around the fitted shares.
        rng : Generator, int or None
        """
        from d3stats.plotting import draw_overview, use_style

        shares = self.fit.count_shares(level=self.drift.level, n_boot=n_boot, rng=rng)
        with use_style():
            return draw_overview(shares, self.drift.ks(), stops)

    def notes_of(self, round_number: int) -> list[str]:
        """Return the limits of the fit of one round.

        Parameters
        ----------
        round_number : int

        Returns
        -------
        list of str
        """
        t = self.trajectories
        notes = [*t.remarks(), *self.fit[round_number].notes, *self._too_few_draws()]
        why = self.drift.without_limits[self.fit.rounds.index(round_number)]
        notes += [f"No intervals, because {why}."] if why else []
        if ended := int((t.depth < round_number).sum()):
            notes.append(
                f"{ended} of {t.n_debates} debates ended before round {round_number}; the fit describes the others."
            )
        return [*notes, *absent_note(self.without_turns, t), *self._left_out()]

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # of the rounds, not stored
        """The limits of the table."""
        t = self.trajectories
        notes: list[str] = list(t.remarks())
        if self.fit.panel < 2:
            notes.append(
                "With one vote per debate nothing is known of the spread between debates, nor of latent distances."
            )
        ended = int((t.depth < t.n_rounds).sum())
        if ended:
            notes.append(
                f"{ended} of {t.n_debates} debates ended before round {t.n_rounds}. Each row describes the "
                "debates with that round, so different rows describe different debates."
                + " KS to the round before uses the debates with votes in both rounds."
                * any(self.drift.pairs)
            )
        notes += [*self._apart(), *absent_note(self.without_turns, t)]
        silent = [str(r) for r in t.rounds if r not in self.fit.rounds]
        if silent:
            notes.append(f"No vote could be read in round {', '.join(silent)}, so it is skipped.")
        notes += self._too_few_draws()
        bare = {r: why for r, why in zip(self.fit.rounds, self.drift.without_limits, strict=True) if why}
        if bare:
            which = ", ".join(map(str, bare))
            notes.append(
                f"Round {which}: no intervals of the mean, the spread, the chance of a right majority and KS, because "
                f"{next(iter(bare.values()))}."
            )
        few = [str(r) for r in self.drift.few_changed]
        if few and not self.drift.too_few:
            notes.append(
                f"Round {', '.join(few)}: fewer than ten questions' worth of debates changed since the last round. KS "
                "is limited by the share that changed; the latent KS has no limits."
            )
        edge = [f"round {r}" for r, f in zip(self.fit.rounds, self.fit.fits, strict=True) if f.boundary]
        if edge:
            valid = "Means, spreads" if self.fit.panel > 1 else "Means"
            notes.append(
                f"Best fit at the edge of the model in {', '.join(edge)}, so single components have no reliable "
                f"errors. {valid} and pmf distances remain valid."
            )
        failed = [str(r) for r, f in zip(self.fit.rounds, self.fit.fits, strict=True) if not f.converged]
        if failed:
            notes.append(f"Fits that did not converge: rounds {', '.join(failed)}; see fit[round].summary().")
        asked = t.had_turns()
        gone = int((asked & (t.votes == MISSING)).sum())
        if self.missing == "exclude" and gone:
            text = (
                f"{gone:,} of {int(asked.sum()):,} votes are missing; the fits leave them out, the counts show them as "
                "not correct."
            )
            notes.append(Note(text, kind=MISSING_VALUES, n=gone))
        return (*notes, *self._left_out())

    def _too_few_draws(self) -> list[str]:
        """Say that fits have no limits because there are too few replicates."""
        return [f"No intervals of the fits and of KS: {self.drift.too_few}."] if self.drift.too_few else []

    def _apart(self) -> list[str]:
        """Name the successive rounds that no debate shares."""
        rounds = self.fit.rounds
        apart = [
            f"{before} and {after}"
            for before, after, pair in zip(rounds, rounds[1:], self.drift.pairs, strict=False)
            if pair is None
        ]
        if not apart:
            return []
        return [
            f"No debate has votes in both rounds {'; '.join(apart)}, so these rounds describe different debates and "
            "have no distance."
        ]

    def bayes(self, *, rng: RngLike = None, **options: Unpack[SamplingOptions]) -> RoundsPosterior:
        """Fit the same mixtures with priors, all rounds together: the posterior by the No-U-Turn sampler.

        Parameters
        ----------
        rng : Generator, int or None
            The same seed gives the same draws.
        **options
            Fields of :class:`~d3stats.models.bayes.result.Sampling`: ``draws, tune, chains, target_accept``.

        Returns
        -------
        RoundsPosterior
            See :func:`d3stats.models.bayes.rounds.fit_rounds`, which takes debates as independent.

        Raises
        ------
        ImportError
            Without the extra ``bayes``.

        Examples
        --------
        >>> from d3stats.worlds import Voter, simulate_debates
        >>> report = fit(simulate_debates(Voter(panel=5), 40, 2, rng=1), n_components=1, n_boot=0)
        >>> report.bayes(rng=1, draws=100, tune=100, chains=1).rounds
        (1, 2)
        """
        from d3stats.models.bayes.rounds import fit_rounds as fit_bayes

        counts = self.trajectories.counts(self.missing)
        return fit_bayes(
            counts, n_components=self.fit[self.fit.rounds[0]].settings.n_components, rng=rng, **options
        )

    def _left_out(self) -> list[str]:
        unlabelled = int((self.trajectories.label == MISSING).sum())
        return (
            [
                f"{counted(unlabelled, 'debate')} without a right answer {verb(unlabelled, 'is', 'are')} left out."
            ]
            if unlabelled
            else []
        )


def fit(
    trajectories: LogSource,
    *,
    n_components: int = 2,
    missing: Missing = "exclude",
    level: float = 0.95,
    n_boot: int = 500,
    rng: RngLike = None,
    **reading: Unpack[Reading],
) -> RoundsReport:
    """Fit the mixture in each round and say how accurate each round's verdict is and how far it moved.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        Debates with right answers; those without turns are left out.
    n_components : int
        Number of components of the mixture.
    missing : {"exclude", "wrong"}
        A missing vote, and a debate without a verdict, is left out or counts as wrong.
    level : float
        Level of the intervals, in (0, 1).
    n_boot : int
        Bootstrap replicates; 0 for estimates without limits. Each is refitted. With fewer than 2 / (1 - level) - 1 (39
        at 95 %), or 0, fits and distances have no limits; accuracy keeps its own.
    rng : Generator, int or None
        Source of the random draws; one seed gives one result.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    RoundsReport
        Its `kinds` tests by a likelihood ratio whether the first round needs a second kind of debates. The law of the
        ratio is simulated under one kind, on the first debate of each question, since debates of a question are alike.

    Raises
    ------
    ValueError
        When no debate has a label and a vote, or there are fewer than two questions.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> report = fit(simulate_debates(Voter(panel=5), 60, 3, rng=1), n_components=1, n_boot=20, rng=1)
    >>> report.to_frame()[["round", "debates", "accuracy"]].round(2).values.tolist()
    [[1.0, 60.0, 0.77], [2.0, 60.0, 0.8], [3.0, 60.0, 0.78]]
    """
    choice("missing", missing, ("exclude", "wrong"))
    level = probability("level", level, open_interval=True)
    generator = as_rng(rng)
    trajectories, absent = with_turns(as_trajectories(trajectories, **reading))
    if len(np.unique(trajectories.cluster)) < 2:
        raise ValueError(
            "trajectories must hold at least 2 questions, because intervals resample questions; got "
            f"{len(np.unique(trajectories.cluster))}"
        )
    counts = trajectories.counts(missing)
    if not len(counts):
        hints = (note for note in trajectories.notes if kind_of(note) in (UNREAD_LABEL, INSPECT))
        hint = next(map(sentence_of, hints), None)
        advice = ". Stopping rules can be replayed and planned without right answers: see replay and plan"
        raise ValueError(
            "trajectories must hold a debate with a right answer (label) and a vote; got none"
            + (f"; {hint}" if hint else advice)
        )
    fit = fit_rounds(counts, n_components=n_components)
    successes, trials = trajectories.successes_trials(missing)
    voted = np.array(fit.rounds) - 1
    drift = rounds_drift(
        successes[:, voted],
        trials[:, voted],
        trajectories.cluster,
        fit=fit,
        level=level,
        n_boot=n_boot,
        rng=generator,
    )
    accuracy = _accuracy_by_round(trajectories, missing, level)
    return RoundsReport(
        trajectories=trajectories,
        fit=drift.fit,
        drift=drift,
        missing=missing,
        without_turns=absent,
        kinds=_kinds(successes[:, voted[0]], trials[:, voted[0]], trajectories.cluster),
        _accuracy=accuracy,
    )


def _kinds(
    successes: NDArray[np.int64], trials: NDArray[np.int64], cluster: NDArray[np.int64]
) -> LikelihoodRatioTest | None:
    """Test one kind of debates against two, on one debate of each question.

    Debates of a question are alike, and the null of the test takes them as independent: with four debates of each of 40
    questions it rejected 14 % at level 5 %, with one debate of each 5 %.
    """
    rows = np.flatnonzero(trials > 0)
    rows = rows[np.unique(cluster[rows], return_index=True)[1]]
    if len(rows) < 2 or trials[rows].max() < 2:
        return None
    counts = Counts.from_columns(successes[rows], trials[rows])
    return likelihood_ratio_test(counts, n_boot=_KIND_DRAWS, n_starts=4, rng=0)


_KIND_DRAWS = 499
"""Simulated data sets of the test of a second kind; they are the same in every call."""


def _accuracy_by_round(t: Trajectories, missing: Missing, level: float) -> pd.DataFrame:
    """Score the majority verdict of every round over the labelled debates that played it."""
    columns = RatioColumns()
    verdicts = t.verdicts()
    scored = t.reached() & (t.label != MISSING)[:, None]
    if missing == "exclude":
        scored &= verdicts != MISSING
    correct = scored & (verdicts == t.label[:, None])
    for at, r in enumerate(t.rounds):
        below = columns.add(f"scored {r}", scored[:, at])
        hits = columns.add(f"correct {r}", correct[:, at])
        columns.measure(f"round {r}", "accuracy", hits, below, share=True)
    found = columns.limits(t.cluster, level)
    return pd.DataFrame(
        {
            "scored": scored.sum(axis=0),
            "accuracy": found.estimate,
            "accuracy_low": found.low,
            "accuracy_high": found.high,
        },
        index=pd.Index(t.rounds, name="round"),
    )
