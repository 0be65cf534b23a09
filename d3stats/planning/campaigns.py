"""What does a ledger save, and which early rule should its next debates use?

The guarantee of a ledger (:mod:`d3stats.planning.ledger`) holds for any early rule chosen from the past. The controller
here chooses among ladders by what each is expected to save until the campaign ends. Its chain of votes may be wrong;
then the campaign saves less, and the guarantee still holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any, Protocol, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from d3stats._arrays import Floats, Ints
from d3stats._check import RngLike, as_rng, integer
from d3stats._words import counted, percent
from d3stats.models.chains.panel_chain import ChainLaws, chain_laws, fit_panel_chain
from d3stats.note import Note, warning
from d3stats.planning.cells import Write, cells
from d3stats.planning.costs import bill, can_run, undecided, with_turns
from d3stats.planning.ladders import code_votes, evaluate_ladders, rule_of, thresholds_of
from d3stats.planning.ledger import Campaign, Certificate, Design, Ledger, audit_shares
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.stopping import Rule
from d3stats.trajectories import MISSING, Trajectories, tally_rounds

__all__ = [
    "DESIGNS",
    "Controller",
    "Known",
    "LadderController",
    "LedgerReplay",
    "Logged",
    "honoured_shares",
    "played_campaign",
    "replay_ledger",
    "stops_of",
]


BLOCK = 25
"""Debates between two choices of the early rule."""

DESIGNS = tuple(product((1, 2, 3, 5, 8, 12), (1.0, 0.8, 0.6)))
"""Stages and rise among which a campaign chooses at the end of its warm-up."""

_DRAWS = 32
_PRIOR = 100.0
"""The chain's loss of a ladder counts as much as so many debates."""


@dataclass(frozen=True, eq=False)
class Known:
    """A debate whose verdict under the reference rule is known.

    Attributes
    ----------
    votes : ndarray of int32, shape (rounds, seats)
        Answer codes up to the reference rule's stop, ``MISSING`` after it.
    rounds : int
        Rounds to the reference rule's stop.
    verdicts : ndarray of int64, shape (rounds,)
        The verdict after each round up to the reference rule's stop.
    spent : ndarray of float, shape (rounds + 1,)
        Cost of the debate up to the end of each round, 0 before the first.
    weight : float
        One over the chance that it became known: 1, or one over the audit share.
    label : int
        Code of the right answer, ``MISSING`` when unknown.
    """

    votes: NDArray[np.int32]
    rounds: int
    verdicts: Ints
    spent: Floats
    weight: float = 1.0
    label: int = MISSING


class Controller(Protocol):
    """A chooser of the early rule, from debates whose verdicts are known; it has no part in the guarantee."""

    def design(self, known: Sequence[Known], left: int) -> tuple[int, float]:
        """Choose the stages and the rise of the audit share, at the end of the warm-up with so many debates left."""
        ...

    def choose(self, known: Sequence[Known], stage: int, left: int) -> Rule | None:
        """Choose the rule of the next debates from what is known by now; None plays them by the reference rule."""
        ...

    def start(self, design: Design, left: int) -> None:
        """Take the design that the campaign has."""
        ...


def horizon(ledger: Ledger, serial: int) -> int:
    """Return how many debates from the start the early rule of this one may use: a function of its number alone."""
    warm_up = ledger.warm_up or 0
    if serial <= warm_up:
        return 0
    return warm_up + max(0, (serial - 1 - ledger.lag - warm_up) // BLOCK) * BLOCK


@lru_cache(maxsize=64)
def honoured_shares(shares: tuple[float, ...], most: int) -> Floats:
    """Return the share of the remaining early stops that is honoured, by stage and number of losses to come.

    With x losses at even distances, ``F_i(x)`` is the mean over t = 0..x of ``E[1 - q]`` after t losses, which moves
    from stage i to the next with chance q_i at each loss. Shape (stages, most + 1).
    """
    from scipy.signal import lfilter

    later = np.zeros(most + 1)
    found = np.empty((len(shares), most + 1))
    for i in range(len(shares) - 1, -1, -1):
        q = shares[i]
        later = lfilter([0.0, q], [1.0, q - 1.0], later, zi=[1.0 - q])[0]
        found[i] = later
    shared = np.asarray(np.cumsum(found, axis=1) / np.arange(1, most + 2))
    shared.flags.writeable = False
    return shared


@dataclass
class _Ladders:
    """A family of ladders, and what they do on known debates."""

    thresholds: NDArray[np.int64]  # (ladders, rounds)
    predicted: Floats  # (ladders,): loss under the chain


def stops_of(thresholds: Ints, top: Ints, ends: Ints) -> Ints:
    """Return the stop of each ladder in each debate, at most the reference rule's; shape (ladders, debates)."""
    found = np.zeros((len(thresholds), len(top)), dtype=np.int64)
    for r in range(top.shape[1]):
        fires = (top[:, r] >= thresholds[:, r, None]) & (found == 0)
        found[fires] = r + 1
    return np.where(found == 0, ends, np.minimum(found, ends))


class LadderController:
    """Choose the ladder that is expected to save most until the campaign ends, given a chain of the warm-up's votes.

    The loss of a ladder is the chain's, which counts as 100 debates, and that seen in known debates, weighted by one
    over the chance that they became known. Its expected saving is the saving of the ladder on known debates, times the
    share of its stops that is honoured before the stages are used up.

    Parameters
    ----------
    ledger : Ledger
    panel, n_rounds : int
        Seats, and rounds of a debate at most.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> log = simulate_debates(Voter(panel=5), 300, 6, rng=1)
    >>> ledger = Ledger(n=300, eps=0.1, warm_up=20, lag=64)
    >>> certificate = played_campaign(ledger, Logged.of(ledger, log), np.arange(300), bytes(32)).certificate
    >>> certificate.delivered, certificate.allowed
    (300, 30)
    """

    def __init__(self, ledger: Ledger, panel: int, n_rounds: int) -> None:
        self.ledger, self.panel, self.n_rounds = ledger, panel, n_rounds
        self.notes: list[str] = []
        self._ladders: _Ladders | None = None
        self._shares: tuple[float, ...] = ()
        self._honoured: Floats | None = None
        self._seen = 0
        # By ladder, weighted: losses, differing verdicts, cost; and the reference rule's cost and the weights.
        self._losses = self._differ = self._cost = np.zeros(0)
        self._full = self._weight = 0.0

    def design(self, known: Sequence[Known], left: int) -> tuple[int, float]:
        """Choose the stages at which the best ladder saves most."""
        self._learn(known)
        best, found = (1, 1.0), -np.inf
        for stages, rise in DESIGNS:
            if self.ledger.losses == "net" and rise != 1.0:
                continue
            shares = self._shares_of(stages, rise)
            value = self._values(honoured_shares(shares, left), 1, left).max(initial=-np.inf)
            if value > found:
                best, found = (stages, rise), value
        return best

    def _shares_of(self, stages: int, rise: float) -> tuple[float, ...]:
        if self.ledger.losses == "net":
            return self.ledger._design(stages, rise).shares * stages
        return audit_shares(self.ledger.allowed, self.ledger.delta, stages, rise)

    def start(self, design: Design, left: int) -> None:
        """Take the design that the campaign has."""
        self._shares = design.shares if design.theta is None else design.shares * design.stages
        self._honoured = honoured_shares(self._shares, left)

    def choose(self, known: Sequence[Known], stage: int, left: int) -> Rule | None:
        """Choose the ladder of the next debates."""
        index = self.best(known, stage, left)
        return None if index is None else self.rule(index)

    def best(self, known: Sequence[Known], stage: int, left: int) -> int | None:
        """Return the number of the best ladder; None where none saves anything."""
        self._learn(known)
        if self._honoured is None or stage > len(self._shares):
            return None
        values = self._values(self._honoured, stage, left)
        return int(values.argmax()) if len(values) and values.max() > 0 else None

    def rule(self, index: int) -> Rule:
        """Return a ladder of the family as a rule."""
        assert self._ladders is not None
        steps = tuple(self._ladders.thresholds[index].tolist())
        end = steps.index(1) + 1 if 1 in steps else len(steps)
        return rule_of(steps[:end])

    @property
    def ladders(self) -> _Ladders:
        """The family, known at the end of the warm-up."""
        assert self._ladders is not None
        return self._ladders

    def _values(self, honoured: Floats, stage: int, left: int) -> Floats:
        if self._ladders is None or self._full <= 0:
            return np.zeros(0)
        # What differs and is no loss under the labels seen counts for the chain's part, too.
        share = 1.0
        if self.ledger.losses != "differs":
            share = max(0.05, (self._losses.sum() + 1.0) / (self._differ.sum() + 1.0))
        rate = (_PRIOR * share * self._ladders.predicted + self._losses) / (_PRIOR + self._weight)
        rate = np.clip(rate, 0.0, 1.0)
        saved = 1.0 - self._cost / self._full
        row, at = honoured[stage - 1], np.arange(honoured.shape[1])
        kept = np.mean([np.interp(factor * rate * left, at, row) for factor in (0.5, 1.0, 2.0)], axis=0)
        return np.asarray(saved * kept)

    def _learn(self, known: Sequence[Known]) -> None:
        """Take up the debates that became known since the last time."""
        if self._ladders is None and known:
            self._ladders = self._fitted(known)
            self._losses, self._differ, self._cost = (
                np.zeros(len(self._ladders.thresholds)) for _ in range(3)
            )
        fresh = known[self._seen :]
        if self._ladders is None or not fresh:
            return
        self._seen = len(known)
        top = _largest_camps(np.stack([one.votes for one in fresh]))
        ends = np.array([one.rounds for one in fresh], dtype=np.int64)
        stops = stops_of(self._ladders.thresholds, top, ends)
        rows = np.arange(len(fresh))
        verdicts = np.stack([one.verdicts for one in fresh])
        spent = np.stack([one.spent for one in fresh])
        weight = np.array([one.weight for one in fresh])
        label = np.array([one.label for one in fresh])
        at_stop, at_end = verdicts[rows, stops - 1], verdicts[rows, ends - 1]
        differ = at_stop != at_end
        self._differ = self._differ + differ @ weight
        self._losses = self._losses + losses_of(self.ledger, at_stop, at_end, label) @ weight
        self._cost = self._cost + spent[rows, stops] @ weight
        self._full += float(spent[rows, ends] @ weight)
        self._weight += float(weight.sum())

    def _fitted(self, known: Sequence[Known]) -> _Ladders:
        """Return the ladders with their losses under a chain fitted to the warm-up."""
        votes = np.stack([one.votes for one in known])
        depth = np.array([one.rounds for one in known])
        n_answers = max(2, int(votes.max()) + 1)
        pilot = Trajectories.from_arrays(
            votes,
            answers=[str(code) for code in range(n_answers)],
            depth=depth,
            panel=np.full(len(known), self.panel),
        )
        try:
            coded = code_votes(pilot, "agreement")
            fit = fit_panel_chain(coded.votes)
            draws = np.vstack([fit.params.to_numpy()[None], fit.draws(_DRAWS - 1, rng=0)])
            others = coded.others
        except ValueError:
            self.notes.append(
                f"No chain could be fitted to the {counted(len(known), 'debate')} of the warm-up; the ladders are "
                "ordered by a chain of average parameters."
            )
            draws, others = np.zeros((1, 12)), None
        laws = self._ended(chain_laws(draws, self.panel, self.n_rounds))
        found = list(evaluate_ladders(laws, np.ones(self.n_rounds), "agreement", others))
        thresholds = np.array(
            [(*path, *[1] * (self.n_rounds - len(path))) for path, _ in found], dtype=np.int64
        ).reshape(len(found), self.n_rounds)
        lost = np.array([1.0 - one.kept for _, one in found])
        return _Ladders(thresholds, np.exp(np.log(np.maximum(lost, 1e-6)).mean(axis=1)))

    def _ended(self, laws: ChainLaws) -> ChainLaws:
        """Return the chain with the counts at which the reference rule stops kept, so that its end has its verdict."""
        needed = thresholds_of(self.ledger.rule, self.panel)
        if needed is None:
            return laws
        steps = laws.steps.copy()
        lead = np.maximum(np.arange(self.panel + 1), self.panel - np.arange(self.panel + 1))
        for r in range(steps.shape[1]):
            over = lead >= needed[min(r, len(needed) - 1)]
            steps[:, r, :, over] = np.eye(self.panel + 1)[over][:, None, None, :]
        return ChainLaws(laws.weight, laws.initial, steps)


def losses_of(
    ledger: Ledger, stop: NDArray[Any], incumbent: NDArray[Any], label: NDArray[Any]
) -> NDArray[np.int64]:
    """Return :meth:`Ledger.loss` for arrays of codes."""
    differ = np.asarray(stop != incumbent, dtype=np.int64)
    if ledger.losses == "differs":
        return differ
    change = (incumbent == label).astype(np.int64) - (stop == label)
    change = np.maximum(change, 0) if ledger.losses == "gross" else change
    return np.asarray(np.where(label == MISSING, differ, change * differ), dtype=np.int64)


def _largest_camps(votes: NDArray[np.int32]) -> Ints:
    """Return how many votes the leading answer has, shape (debates, rounds)."""
    n_answers = max(1, int(votes.max(initial=0)) + 1)
    sizes = tally_rounds(np.ascontiguousarray(votes, dtype=np.int32), n_answers)[2]
    return np.asarray(sizes, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Logged:
    """A log as a ledger needs it.

    Attributes
    ----------
    votes : ndarray of int32, shape (debates, rounds, seats)
        Votes up to the reference rule's stop.
    ends : ndarray of int64, shape (debates,)
        Rounds to the reference rule's stop.
    verdicts : ndarray of int64, shape (debates, rounds)
    spent : ndarray of float, shape (debates, rounds + 1)
    label : ndarray of int64, shape (debates,)
    top : ndarray of int64, shape (debates, rounds)
        Votes of the largest camp.
    unit : {"tokens", "rounds"}
    panel : int
    notes : tuple of str
    """

    votes: NDArray[np.int32]
    ends: Ints
    verdicts: Ints
    spent: Floats
    label: Ints
    top: Ints
    unit: str
    panel: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, ledger: Ledger, log: Trajectories) -> Logged:
        """Stop every debate by the reference rule."""
        t, absent = with_turns(log)
        if not can_run(t, ledger.rule):
            raise ValueError(
                "log must have votes after every round, because early stops read them; got a log without, for "
                f"{ledger.rule}"
            )
        stops = ledger.rule.stop_rounds(t)
        if n := int(undecided(t, stops).sum()):
            raise ValueError(
                f"log must have debates that were played until {ledger.rule} stops; got {counted(n, 'debate')} of "
                f"{len(t):,} that ended before"
            )
        if ledger.losses != "differs" and (t.label == MISSING).any():
            raise ValueError(
                f"log must have the label of every debate for losses={ledger.losses!r}; got "
                f"{int((t.label == MISSING).sum())} of {len(t):,} without"
            )
        notes = [] if not absent else [f"{counted(absent, 'debate')} without turns are left out."]
        cost = bill(t, ledger.rule)
        unit = "tokens"
        if cost is None or np.isnan(cost).any():
            if cost is not None:
                gone = int(np.isnan(cost).any(axis=1).sum())
                notes.append(
                    f"Savings are in rounds, because the tokens of {counted(gone, 'debate')} are not recorded."
                )
            unit, cost = "rounds", np.broadcast_to(np.arange(t.n_rounds + 1.0), (len(t), t.n_rounds + 1))
        played = np.arange(t.n_rounds)[None, :] < stops.rounds[:, None]
        votes = np.where(played[:, :, None], t.votes, MISSING).astype(np.int32)
        return cls(
            votes=votes,
            ends=stops.rounds.astype(np.int64),
            verdicts=t.verdicts().astype(np.int64),
            spent=np.ascontiguousarray(cost, dtype=np.float64),
            label=t.label.astype(np.int64),
            top=_largest_camps(votes),
            unit=unit,
            panel=int(t.panel.max()),
            notes=tuple(notes),
        )

    def __len__(self) -> int:
        return len(self.ends)

    def known(self, row: int, weight: float) -> Known:
        """Return a debate whose verdict under the reference rule is known."""
        return Known(
            self.votes[row],
            int(self.ends[row]),
            self.verdicts[row],
            self.spent[row],
            weight,
            int(self.label[row]),
        )


@dataclass(frozen=True, eq=False)
class Played:
    """One campaign over a log.

    Attributes
    ----------
    stops : ndarray of int64, shape (n,)
        Rounds played of each debate, in the order of the campaign.
    did : ndarray of str, shape (n,)
        "deliver", "honour" or "audit".
    loss : ndarray of int64, shape (n,)
        Loss of each delivered verdict.
    certificate : Certificate
    """

    stops: Ints
    did: NDArray[np.str_]
    loss: Ints
    certificate: Certificate
    notes: tuple[str, ...] = ()


def played_campaign(
    ledger: Ledger, log: Logged, rows: Ints, secret: bytes, controller: LadderController | None = None
) -> Played:
    """Play a campaign over these debates of a log, in this order, one at a time."""
    campaign = Campaign(ledger, secret)
    chooser = controller or LadderController(ledger, log.panel, log.votes.shape[1])
    n, warm_up = ledger.n, ledger.warm_up or 0
    stops, loss = log.ends[rows].copy(), np.zeros(n, dtype=np.int64)
    did = np.full(n, "deliver", dtype="<U7")
    known: list[Known] = []
    upto = np.zeros(n + 1, dtype=np.int64)  # how many are known of the first d debates
    stage_at = np.ones(n + 1, dtype=np.int64)
    begun, first = False, 0
    while first < n:
        used = horizon(ledger, first + 1)
        if not used:
            last = min(warm_up, n) if first < warm_up else n
            early = stops[first:last]
        else:
            last = first + 1
            while last < n and horizon(ledger, last + 1) == used:
                last += 1
            past = known[: upto[used]]
            if not begun:
                begun = True
                if ledger.stages is None:
                    campaign.design(*chooser.design(past, n - used))
                chooser.start(campaign.audit_design, n)
            index = chooser.best(past, int(stage_at[used]), n - first)
            here = rows[first:last]
            early = (
                stops[first:last]
                if index is None
                else stops_of(chooser.ladders.thresholds[[index]], log.top[here], log.ends[here])[0]
            )
        for d, row, stop in zip(range(first, last), rows[first:last].tolist(), early.tolist(), strict=True):
            sooner = stop < stops[d]
            weight = 1.0
            if sooner:
                weight = 1.0 / campaign.share
                found = int(
                    losses_of(
                        ledger, log.verdicts[row, stop - 1], log.verdicts[row, stops[d] - 1], log.label[row]
                    )
                )
            what = campaign.decide(sooner)
            did[d] = what
            if what == "audit":
                campaign.audited(found)
            elif what == "honour":
                stops[d], loss[d] = stop, found
            if what != "honour":
                known.append(log.known(row, weight))
            upto[d + 1], stage_at[d + 1] = len(known), campaign.stage
        first = last
    return Played(stops, did, loss, campaign.certificate(), tuple(chooser.notes))


@dataclass(frozen=True, eq=False, kw_only=True)
class LedgerReplay(Result):
    """The savings and losses of a ledger over the debates of a log, campaign by campaign.

    Attributes
    ----------
    ledger : Ledger
    allowed : int
        The number of lost verdicts that is guaranteed.
    saved : float
        Mean share of the reference rule's cost that a campaign saves; the warm-up and the audits are paid.
    lost : float
        Mean number of lost verdicts of a campaign.
    over : int
        Campaigns that lost more verdicts than allowed.
    unit : {"tokens", "rounds"}
        What is saved.
    last : Played
        The last campaign, debate by debate.
    notes : tuple of str

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> log = simulate_debates(Voter(panel=5), 400, 6, rng=1)
    >>> found = Ledger(n=400, eps=0.05).replay(log, campaigns=5, rng=1)
    >>> found.allowed, found.unit, found.over
    (20, 'tokens', 0)
    >>> found.last.certificate.complete
    True
    """

    ledger: Ledger
    unit: str
    last: Played = field(repr=False)
    notes: tuple[str, ...] = ()
    _table: pd.DataFrame = field(repr=False)

    @property
    def allowed(self) -> int:
        """The number of lost verdicts that is guaranteed."""
        return self.ledger.allowed

    @property
    def saved(self) -> float:
        """Mean share of the reference rule's cost that a campaign saves."""
        return float(self._table["saved"].mean())

    @property
    def lost(self) -> float:
        """Mean number of lost verdicts of a campaign."""
        return float(self._table["lost"].mean())

    @property
    def over(self) -> int:
        """Campaigns that lost more verdicts than allowed."""
        return int(self._table["over"].sum())

    @property
    def headline(self) -> str:
        """The saving and the losses of a campaign, with their range over campaigns."""
        table, n = self._table, len(self._table)
        low, high = np.quantile(table["saved"], (0.05, 0.95))
        lost = np.quantile(table["lost"], (0.05, 0.95), method="inverted_cdf")
        return (
            f"A campaign of {counted(self.ledger.n, 'debate')} saves {percent(self.saved, low, high)} of the "
            f"{self.unit} of "
            f"{self.ledger.incumbent} and loses {self.lost:z.1f} [{lost[0]:z.0f}, {lost[1]:z.0f}] of {self.allowed:,} "
            f"verdicts allowed; {self.over} of {counted(n, 'campaign')} lost more."
        )

    def _title(self) -> str:
        return "In brackets: the range of the middle 90 % of the campaigns"

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"campaigns": self._table.copy()}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        columns: dict[str, Write] = {
            "campaign": lambda row: f"{row['campaign']}",
            "saved": lambda row: percent(row["saved"]),
            "lost": lambda row: f"{row['lost']:,}",
            "honoured": lambda row: f"{row['honoured']:,}",
            "audited": lambda row: f"{row['audited']:,}",
        }
        return {"Campaigns": cells(self._table, columns)}


def replay_ledger(
    ledger: Ledger, log: LogSource, *, campaigns: int, rng: RngLike, **reading: Unpack[Reading]
) -> LedgerReplay:
    """Play campaigns over a log; see :meth:`Ledger.replay <d3stats.planning.ledger.Ledger.replay>`."""
    integer("campaigns", campaigns, minimum=1)
    random = as_rng(rng)
    logged = Logged.of(ledger, as_trajectories(log, **reading))
    notes: list[str] = list(logged.notes)
    if len(logged) < ledger.n:
        notes.append(
            f"The {counted(len(logged), 'debate')} of the log are drawn with replacement for campaigns of {ledger.n:,}."
        )
    rows = []
    for number in range(1, campaigns + 1):
        order = (
            random.permutation(len(logged))[: ledger.n]
            if len(logged) >= ledger.n
            else random.integers(len(logged), size=ledger.n)
        )
        played = played_campaign(ledger, logged, order, random.bytes(32))
        full = float(logged.spent[order, logged.ends[order]].sum())
        paid = float(logged.spent[order, played.stops].sum())
        lost = int(played.loss.sum())
        rows.append(
            {
                "campaign": number,
                "saved": 1.0 - paid / full,
                "lost": lost,
                "over": lost > ledger.allowed,
                "early": int((played.did != "deliver").sum()),
                "honoured": played.certificate.honoured,
                "audited": played.certificate.audited,
                "audits_with_loss": played.certificate.lost,
                "lost_estimate": played.certificate.lost_estimate,
            }
        )
    notes += dict.fromkeys(played.notes)
    if ledger.allowed == 0:
        notes.append(
            warning(
                f"eps={ledger.eps:g} allows no lost verdict in {counted(ledger.n, 'debate')}, so nearly every early "
                "stop is audited",
                "no loss allowed",
            )
        )
    elif ledger.allowed < 5:
        notes.append(
            Note(
                f"With {counted(ledger.allowed, 'lost verdict')} allowed, most early stops are audited and little is "
                "saved.",
                kind="few losses allowed",
            )
        )
    return LedgerReplay(
        ledger=ledger, unit=logged.unit, last=played, notes=tuple(notes), _table=pd.DataFrame(rows)
    )
