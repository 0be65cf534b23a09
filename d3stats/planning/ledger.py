"""How many verdicts can early stops change in this campaign, with a guarantee that needs no model of the debates?

A ledger stops debates early and plays a random share of the stopped ones on to the rule in force, the reference rule.
With chance at least ``1 - delta``, at most ``eps n`` of the n delivered verdicts differ from the reference rule's. Only
its own coins are random, so the guarantee needs no independent debates, no pilot and no fixed early rule. The number of
lost verdicts between two audits that find one is geometric, and the audit share rises after each such audit.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import pandas as pd
import scipy

from d3stats._check import RngLike, choice, integer, loss, nearest, number, probability
from d3stats._words import counted, percent
from d3stats.note import Note, warning
from d3stats.planning.cells import Write, cells
from d3stats.result import Result
from d3stats.stopping import Rule, StoppingRule, from_text

if TYPE_CHECKING:
    from d3stats.planning.campaigns import LedgerReplay
    from d3stats.sources import LogSource, Reading

__all__ = ["Campaign", "Certificate", "Did", "Ledger", "Losses", "audit_shares", "net_design", "over_budget"]

Losses = Literal["differs", "gross", "net"]
Did = Literal["deliver", "honour", "audit"]

_SHORTEST_SECRET = 16
_WARM_UP, _SHORT_WARM_UP, _LONG = 50, 20, 1000
_TOLERANCE = 1e-9


def over_budget(shares: Sequence[float], allowed: int) -> float:
    """Compute the chance that more than `allowed` lost verdicts are honoured, by convolution of geometric laws.

    If every early stop loses its verdict, the number honoured in stage i is geometric,
    ``P(G = g) = q_i (1 - q_i)^g``, and the chance is ``P(G_1 + ... + G_K > allowed)``. For any other debates it
    is at most that.

    Parameters
    ----------
    shares : sequence of float
        The audit share q of each stage, in (0, 1]; after the last stage every early stop is audited.
    allowed : int
        The number of lost verdicts that are allowed, at least 0.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When there is no share, or one is outside (0, 1].

    Examples
    --------
    >>> round(over_budget([0.319], 5), 3), round(over_budget([0.5, 0.7], 5), 4)
    (0.1, 0.0268)
    """
    integer("allowed", allowed, minimum=0)
    if not len(shares):
        raise ValueError("shares must hold the audit share of at least one stage; got none")
    for share in shares:
        if not 0.0 < number("shares", share) <= 1.0:
            raise ValueError(f"shares must lie above 0 and at most at 1; got {share!r}")
    from scipy.signal import lfilter

    # T_i(g) = P(G_1 + ... + G_i > g) = (1 - q_i) T_i(g - 1) + q_i T_(i-1)(g): sums of positive terms alone.
    tail = np.zeros(allowed + 1)
    for share in shares:
        tail = lfilter([share], [1.0, share - 1.0], tail, zi=[1.0 - share])[0]
    return float(tail[allowed])


def audit_shares(allowed: int, delta: float, stages: int, rise: float = 1.0) -> tuple[float, ...]:
    """Compute the audit share of each stage so that the guarantee holds with chance ``1 - delta``, by bisection.

    The odds of honouring, ``(1 - q_i) / q_i = c rise^(i-1)``, fall from stage to stage; c solves
    ``P(G_1 + ... + G_K > allowed) = delta`` (:func:`over_budget`). With one share for all stages that is
    ``P(Bin(allowed + K, q) <= K - 1) = delta``.

    Parameters
    ----------
    allowed : int
        The number of lost verdicts that are allowed, at least 0.
    delta : float
        The chance that the guarantee may be broken, in (0, 1).
    stages : int
        Number of stages K, at least 1: the K-th audit that differs ends early stopping.
    rise : float
        Factor of the odds from one stage to the next, in (0, 1].

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> [round(share, 3) for share in audit_shares(5, 0.1, 3)]
    [0.538, 0.538, 0.538]
    >>> [round(share, 3) for share in audit_shares(5, 0.1, 3, rise=0.5)]
    [0.412, 0.583, 0.737]
    """
    integer("allowed", allowed, minimum=0)
    integer("stages", stages, minimum=1)
    probability("delta", delta, open_interval=True)
    if not 0.0 < number("rise", rise) <= 1.0:
        raise ValueError(f"rise must lie above 0 and at most at 1; got rise={rise!r}")
    if rise == 1.0:
        # P(Bin(m + K, q) <= K - 1) is the regularised incomplete beta function I_(1-q)(m + 1, K).
        return (float(1.0 - scipy.special.betaincinv(allowed + 1, stages, delta)),) * stages
    return _rising_shares(allowed, float(delta), stages, float(rise))


@lru_cache(maxsize=256)
def _rising_shares(allowed: int, delta: float, stages: int, rise: float) -> tuple[float, ...]:
    """Return the shares of :func:`audit_shares` by bisection; every campaign compares the same few designs."""
    low, high = -60.0, 60.0
    factors = rise ** np.arange(stages)
    while True:
        middle = (low + high) / 2
        shares = (1.0 / (1.0 + math.exp(middle) * factors)).tolist()
        if middle in (low, high) or high - low < 1e-14 * abs(middle):
            # The lower end: never above delta.
            return tuple(float(q) for q in 1.0 / (1.0 + math.exp(low) * factors))
        low, high = (middle, high) if over_budget(shares, allowed) <= delta else (low, middle)


def net_design(allowed: int, delta: float, stages: int) -> tuple[float, float]:
    """Compute the smallest audit share for net losses that ends early stopping after `stages` audited losses.

    With S the net loss of all honoured stops, ``exp(theta S) g(1)^a g(-1)^b``,
    ``g(y) = (1 - (1 - q) exp(theta y)) / q``, is a martingale over debates, a and b being the audited losses and gains.
    So ``S <= (log(1 / delta) + a |log g(1)| - b log g(-1)) / theta`` at all times, with chance at least ``1 - delta``
    (Ville's inequality). Stops are honoured while the right side is below ``allowed + 1``.

    Parameters
    ----------
    allowed : int
        The net loss that is allowed, at least 0.
    delta : float
        The chance that the guarantee may be broken, in (0, 1).
    stages : int
        Audited losses, without any audited gain, that end early stopping.

    Returns
    -------
    (float, float)
        The audit share q, and theta.

    Examples
    --------
    >>> [round(value, 3) for value in net_design(20, 0.1, 3)]
    [0.312, 0.24]
    """
    integer("allowed", allowed, minimum=0)
    integer("stages", stages, minimum=1)
    probability("delta", delta, open_interval=True)
    from scipy.optimize import minimize_scalar

    need = -math.log(delta) / (allowed + 1)

    def share(log_excess: float) -> float:
        theta = need + math.exp(log_excess)
        least = math.exp(-math.exp(log_excess) * (allowed + 1) / stages)
        return -math.expm1(-theta) / (1.0 - least * math.exp(-theta))

    # The best excess is about 1 / (allowed + 1) where much is allowed, and about 1 where little is.
    grid = np.linspace(-max(9.0, 4.0 + math.log(allowed + 1)), 4.0, 131)
    best = int(np.argmin([share(at) for at in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(share, bounds=bounds, method="bounded", options={"xatol": 1e-12})
    return float(found.fun), float(need + math.exp(found.x))


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The guarantee of a campaign: at most ``eps n`` of n delivered verdicts differ from those of a rule in force.

    :meth:`start` opens a campaign, which says of every early stop whether it is honoured or audited.
    :meth:`replay` plays campaigns over a log, also a simulated one. ``d3stats debate --ledger`` runs one with a model.

    Parameters
    ----------
    n : int
        Debates of the campaign, announced before it starts.
    eps : float
        The share of delivered verdicts that may be lost, in [0, 1).
    delta : float
        The chance that more are lost, in (0, 1).
    incumbent : StoppingRule or text
        The rule whose verdict is delivered without a ledger; it must decide each debate by itself.
    losses : {"differs", "gross", "net"}
        A lost verdict: one that differs from the reference rule's; one that is wrong where the reference rule's is
        right; or, in the sum over the campaign, right verdicts lost less right verdicts gained. The last two need the
        label of every audited debate whose verdicts differ.
    stages : int, optional
        Audits with a loss after which no stop is honoured. By default it is chosen at the end of the warm-up.
    rise : float
        Factor of the odds of honouring from one stage to the next, in (0, 1]; used with `stages`.
    warm_up : int, optional
        Debates at the start that are played by the reference rule; by default 50, and 20 where n is below 1,000.
    lag : int
        The early rule of debate d may use audits of debates before d - lag alone. The default, 1, is for debates that
        are played one at a time. A run of many at a time needs a larger one, because it cannot wait for each audit.

    Attributes
    ----------
    allowed : int
        The number of lost verdicts that are allowed, ``floor(eps n)``.

    Raises
    ------
    ValueError
        When a value is out of range, or the reference rule decides for a whole batch or reads labels.

    Notes
    -----
    An audited debate delivers the reference rule's verdict. Each lost verdict is audited with the chance q of its
    stage. So the number honoured in stage i is at most geometric, for any debates and any early rule chosen from the
    past. This needs a fresh coin for each delivered debate, independent of all that decides its verdicts. The
    continuation of a debate must not depend on when it is played. Sources: Dodge (1943), a sampling inspection plan
    for continuous production; Derman, Johns and Lieberman (1959), continuous sampling without control.

    Examples
    --------
    >>> ledger = Ledger(n=500, eps=0.01, delta=0.1, stages=1)
    >>> ledger.allowed, [round(share, 3) for share in ledger.shares]
    (5, [0.319])
    >>> campaign = ledger.start(secret=bytes(32))
    >>> [campaign.decide(early=True) for _ in range(2)]
    ['honour', 'audit']
    >>> campaign.audited(loss=1)
    >>> campaign.share
    1.0
    >>> print(campaign.certificate().headline)
    No certificate yet: 2 of 500 debates are delivered. So far 1 early stop was audited and 1 differed.
    >>> Ledger.from_text("eps=.02,delta=.1", n=500).allowed
    10
    """

    n: int
    eps: float
    delta: float = 0.1
    incumbent: StoppingRule | str = "unanimity"
    losses: Losses = "differs"
    stages: int | None = None
    rise: float = 1.0
    warm_up: int | None = None
    lag: int = 1

    def __post_init__(self) -> None:
        integer("n", self.n, minimum=1)
        loss("eps", self.eps)
        probability("delta", self.delta, open_interval=True)
        choice("losses", self.losses, ("differs", "gross", "net"))
        integer("lag", self.lag, minimum=1)
        if self.stages is not None:
            integer("stages", self.stages, minimum=1)
        if not 0.0 < number("rise", self.rise) <= 1.0:
            raise ValueError(f"rise must lie above 0 and at most at 1; got rise={self.rise!r}")
        if self.rise != 1.0 and (self.stages is None or self.losses == "net"):
            raise ValueError(
                f"rise must be 1 where stages are chosen by the campaign and for net losses; got rise={self.rise!r}"
            )
        if self.warm_up is None:
            short = _SHORT_WARM_UP if self.n < _LONG else _WARM_UP
            object.__setattr__(self, "warm_up", min(short, self.n))
        integer("warm_up", self.warm_up, minimum=1, maximum=self.n)  # type: ignore[arg-type]  # set above
        rule = from_text(self.incumbent) if isinstance(self.incumbent, str) else self.incumbent
        object.__setattr__(self, "incumbent", rule)
        if not isinstance(rule, Rule):
            raise ValueError(
                "incumbent must be a rule that decides each debate by itself, because a debate is played on alone; "
                f"got {rule}, which decides for a whole batch"
            )
        if rule.needs_labels:
            raise ValueError(f"incumbent must not read labels; got {rule}")

    @property
    def allowed(self) -> int:
        """The number of lost verdicts that are allowed, ``floor(eps n)``."""
        # 0.29 * 100 is 28.999999999999996 in binary.
        return math.floor(self.eps * self.n + _TOLERANCE)

    @property
    def rule(self) -> Rule:
        """The reference rule."""
        assert isinstance(self.incumbent, Rule)
        return self.incumbent

    @property
    def shares(self) -> tuple[float, ...]:
        """The audit share of each stage.

        Raises
        ------
        ValueError
            When the campaign chooses the stages.
        """
        if self.stages is None:
            raise ValueError(
                "stages must be given to know the audit shares; got None (the campaign chooses them)"
            )
        return self._design(self.stages, self.rise).shares

    def _design(self, stages: int, rise: float) -> Design:
        if self.losses == "net":
            share, theta = net_design(self.allowed, self.delta, stages)
            return Design((share,), theta, stages)
        return Design(audit_shares(self.allowed, self.delta, stages, rise), None, stages)

    @classmethod
    def from_text(
        cls, text: str, *, n: int, incumbent: StoppingRule | str = "unanimity", lag: int = 1
    ) -> Ledger:
        """Read the settings of a ledger, written ``eps=.01,delta=.1``.

        Parameters
        ----------
        text : str
            Settings by name, joined by commas: eps, delta, losses, stages, rise, warm_up, lag.
        n : int
            Debates of the campaign.
        incumbent : StoppingRule or text
            The rule in force.
        lag : int
            The lag where the text has none.

        Raises
        ------
        ValueError
            When a setting is not one of them, is given twice, or eps is not given.
        """
        readers: dict[str, Any] = {
            "eps": float, "delta": float, "losses": str, "stages": int, "rise": float, "warm_up": int, "lag": int,
        }  # fmt: skip
        given: dict[str, Any] = {}
        for part in text.split(","):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in readers or name in given:
                near = nearest(name, readers)
                hint = f" (did you mean {near!r}?)" if near and near != name else ""
                raise ValueError(
                    f"ledger must be written name=value, each name once of {', '.join(readers)}, as in "
                    f"'eps=.01,delta=.1'; got {part.strip()!r}{hint}"
                )
            try:
                given[name] = readers[name](value)
            except ValueError:
                kind = "a whole number" if readers[name] is int else "a number"
                raise ValueError(f"ledger must have {kind} for {name}; got {value!r}") from None
        if "eps" not in given:
            raise ValueError(f"ledger must give eps, the share of verdicts that may be lost; got {text!r}")
        return cls(n=n, incumbent=incumbent, **{"lag": lag} | given)

    def __str__(self) -> str:
        return ",".join(f"{one.name}={getattr(self, one.name)}" for one in fields(self))

    def loss(self, stop: object, incumbent: object, label: object = None) -> int:
        """Return the loss of a verdict at an early stop against the reference rule's: 1, 0, or -1 for a gain.

        Parameters
        ----------
        stop, incumbent : object
            Both verdicts; None where there is none.
        label : object, optional
            The right answer. Without it, verdicts that differ count as a loss.

        Returns
        -------
        int

        Examples
        --------
        >>> ledger = Ledger(n=100, eps=0.05, losses="net")
        >>> ledger.loss("B", "A", label="A"), ledger.loss("A", "B", label="A"), ledger.loss("C", "B", label="A")
        (1, -1, 0)
        """
        if stop == incumbent:
            return 0
        if self.losses == "differs" or label is None:
            return 1
        change = int(incumbent == label) - int(stop == label)
        return max(change, 0) if self.losses == "gross" else change

    def start(self, secret: bytes | None = None) -> Campaign:
        """Open a campaign.

        Parameters
        ----------
        secret : bytes, optional
            At least 16 bytes that decide the coins, drawn from the system by default. Give it to resume a campaign and
            for nothing else: a second campaign under the same secret, after its audits were seen, has no guarantee.

        Returns
        -------
        Campaign
        """
        return Campaign(self, secret)

    def replay(
        self, log: LogSource, *, campaigns: int = 20, rng: RngLike = None, **reading: Unpack[Reading]
    ) -> LedgerReplay:
        """Play campaigns over the debates of a log: what the ledger saves, and how many verdicts it loses.

        Parameters
        ----------
        log : Trajectories, or what :func:`d3stats.as_trajectories` takes
            Debates played at least to the reference rule's stop.
        campaigns : int
            Number of campaigns, each on n debates of the log in a new order: without repeats where the log has as many,
            else drawn with replacement.
        rng : Generator, int or None
            Draws the debates and the secret of each campaign.
        **reading : Reading
            How the source is read, see :func:`d3stats.open`.

        Returns
        -------
        LedgerReplay

        Raises
        ------
        ValueError
            When debates ended before the reference rule stops, or labels are needed and absent.

        Examples
        --------
        >>> from d3stats.worlds import Voter, simulate_debates
        >>> log = simulate_debates(Voter(panel=5), 400, 6, rng=1)
        >>> found = Ledger(n=400, eps=0.05).replay(log, campaigns=5, rng=1)
        >>> found.to_frame().shape[0], found.allowed
        (5, 20)
        """
        from d3stats.planning.campaigns import replay_ledger

        return replay_ledger(self, log, campaigns=campaigns, rng=rng, **reading)


@dataclass(frozen=True)
class Design:
    """The audit shares of a campaign, and theta where losses are net."""

    shares: tuple[float, ...]
    theta: float | None
    stages: int


@dataclass(frozen=True)
class _Tally:
    """Counts of one stage."""

    share: float
    honoured: int = 0
    audited: int = 0
    lost: int = 0
    gained: int = 0
    failed: int = 0

    @property
    def lost_estimate(self) -> float:
        """Each audited loss stands for those of the honoured stops beside it (Horvitz and Thompson)."""
        return (self.lost - self.gained) * (1.0 - self.share) / self.share


class Campaign:
    """The state of a ledger's campaign: for each debate, in order, whether its early stop is honoured or audited.

    Parameters
    ----------
    ledger : Ledger
        The guarantee.
    secret : bytes, optional
        See :meth:`Ledger.start`.

    Attributes
    ----------
    secret : bytes
        The key of all coins. It tells which stops will be audited, so the agents must not know it.
    delivered : int
        Debates that were decided so far, an audit that is open included.
    stage : int
        The present stage, from 1; one more than the number of stages when no stop is honoured any more.

    Examples
    --------
    >>> campaign = Ledger(n=3, eps=0.5, stages=1).start(secret=bytes(32))
    >>> campaign.decide(early=False), campaign.decide(early=True)
    ('deliver', 'audit')
    >>> campaign.audited(loss=0)
    >>> campaign.decide(early=True), campaign.stage
    ('audit', 1)
    >>> campaign.audited(loss=None)
    >>> found = campaign.certificate()
    >>> print(found.headline.split(": ")[0])
    With chance at least 90 %, at most 1 of 2 delivered verdicts differs from unanimity's
    >>> print(found.headline.split(": ")[1])
    2 of 2 early stops were audited and 0 differed.

    The stages may be chosen at the end of the warm-up, and a coin is known from the start:

    >>> later = Ledger(n=500, eps=0.02).start(secret=bytes(32))
    >>> later.design(stages=3)
    >>> round(later.share, 3), round(later.coin(2), 3), later.covers(2)
    (0.36, 0.276, True)
    """

    def __init__(self, ledger: Ledger, secret: bytes | None = None) -> None:
        self.ledger = ledger
        self.secret = secrets.token_bytes(32) if secret is None else bytes(secret)
        if not _SHORTEST_SECRET <= len(self.secret) <= 64:
            raise ValueError(
                f"secret must have {_SHORTEST_SECRET} to 64 bytes; got {counted(len(self.secret), 'byte')}"
            )
        self.delivered = 0
        self.stage = 1
        self._open = False
        self._design: Design | None = None
        self._tallies: list[_Tally] = []
        self._lost = self._gained = 0
        if ledger.stages is not None:
            self.design(ledger.stages, ledger.rise)

    def design(self, stages: int, rise: float = 1.0) -> None:
        """Choose the stages, from the past, before the first early stop is decided.

        Parameters
        ----------
        stages, rise
            As for :class:`Ledger`.

        Raises
        ------
        ValueError
            When they are known already.
        """
        if self._design is not None:
            raise ValueError("stages must be chosen once, before the first early stop; got a second choice")
        self._design = self.ledger._design(stages, rise)
        self._tallies = [_Tally(share) for share in (*self._design.shares, 1.0)]

    def coin(self, serial: int) -> float:
        """Return the coin of a debate, uniform on [0, 1): a keyed hash of its serial number in the campaign, from 1."""
        data = blake2b(
            serial.to_bytes(8, "big"), key=self.secret, digest_size=8, person=b"d3stats ledger"
        ).digest()
        return (int.from_bytes(data, "big") >> 11) * 2.0**-53

    @property
    def bound(self) -> float:
        """The bound of the net loss so far, for ``losses="net"``; see :func:`net_design`."""
        design = self._known()
        assert design.theta is not None
        share, theta = design.shares[0], design.theta
        loss_factor = (1.0 - (1.0 - share) * math.exp(theta)) / share
        gain_factor = (1.0 - (1.0 - share) * math.exp(-theta)) / share
        paid = self._lost * -math.log(loss_factor) - self._gained * math.log(gain_factor)
        return (paid - math.log(self.ledger.delta)) / theta

    @property
    def share(self) -> float:
        """The audit share at present."""
        design = self._known()
        if design.theta is not None:
            open_ = self.bound < self.ledger.allowed + 1 - _TOLERANCE
            return design.shares[0] if open_ else 1.0
        return design.shares[self.stage - 1] if self.stage <= design.stages else 1.0

    @property
    def audit_design(self) -> Design:
        """The audit shares of the stages; see :meth:`design`."""
        return self._known()

    def _known(self) -> Design:
        if self._design is None:
            raise ValueError("stages must be chosen before an early stop is decided; got none (see design)")
        return self._design

    @property
    def audit_open(self) -> bool:
        """Whether the last decision was an audit whose loss is not known yet."""
        return self._open

    def covers(self, serial: int) -> bool:
        """Say whether a debate that stopped early, of this serial number or a later one, is audited for certain.

        The audit share never falls, so it can be played on before the earlier debates are decided.
        """
        if self._design is None:
            return False
        share = self._design.shares[0] if self._design.theta is not None else self.share
        return self.coin(serial) < share

    def decide(self, early: bool) -> Did:
        """Decide the next debate, in order.

        Parameters
        ----------
        early : bool
            Whether the early rule stopped it before the reference rule did.

        Returns
        -------
        {"deliver", "honour", "audit"}
            "deliver": the verdict of the reference rule, which decided it. "honour": the verdict at the early stop.
            "audit": play on, deliver the reference rule's verdict, and say the loss with :meth:`audited`.

        Raises
        ------
        ValueError
            When all n debates are decided, an audit is open, or the stages are not known.
        """
        if self._open:
            raise ValueError(
                f"the audit of debate {self.delivered} must be closed first; got a further debate"
            )
        if self.delivered == self.ledger.n:
            raise ValueError(f"a campaign of n={self.ledger.n} must have no more debates; got a further one")
        if not early:
            self.delivered += 1
            return "deliver"
        share = self.share
        self.delivered += 1
        if self.coin(self.delivered) < share:
            self._open = True
            return "audit"
        self._count(honoured=1)
        return "honour"

    def _count(self, **more: int) -> None:
        at = self.stage - 1 if self._known().theta is None else int(self.share >= 1.0)
        tally = self._tallies[at]
        self._tallies[at] = replace(tally, **{name: getattr(tally, name) + n for name, n in more.items()})

    def audited(self, loss: int | None) -> None:
        """Close the open audit.

        Parameters
        ----------
        loss : int or None
            :meth:`Ledger.loss` of the verdict at the stop; None where the audit failed after its last try. A failed
            audit counts as a loss, and its debate as undelivered.

        Raises
        ------
        ValueError
            When no audit is open, or the loss is not 1, 0 or (for net losses) -1.
        """
        if not self._open:
            raise ValueError("an audit must be open to be closed; got none")
        allowed = (1, 0, -1) if self.ledger.losses == "net" else (1, 0)
        if loss is not None and loss not in allowed:
            raise ValueError(f"loss must be one of {', '.join(map(str, allowed))} or None; got loss={loss!r}")
        counts = self.share < 1.0
        self._count(audited=1, failed=int(loss is None), lost=int(loss == 1), gained=int(loss == -1))
        self._open = False
        if self._known().theta is not None:
            # With every stop audited an audit says nothing of what is honoured.
            self._lost += counts and loss in (1, None)
            self._gained += counts and loss == -1
        elif loss != 0:
            self.stage = min(self.stage + 1, self._known().stages + 1)

    def certificate(self) -> Certificate:
        """Return what the campaign guarantees, and what its audits found."""
        return Certificate(
            ledger=self.ledger,
            delivered=self.delivered - self._open,
            tallies=tuple(self._tallies),
            open=self._open,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate(Result):
    """The guarantee of a ledger's campaign, at most so many lost verdicts, and the audits that it rests on.

    Attributes
    ----------
    ledger : Ledger
    delivered : int
        Debates that were decided.
    tallies : tuple
        The counts of each stage, which the table shows.
    open : bool
        Whether an audit is open.
    allowed : int
        The number of lost verdicts that is guaranteed.
    honoured, audited, lost, gained, failed : int
        Early stops that were honoured and audited; audits that found a loss or a gain, and that failed.
    lost_estimate : float
        Unbiased estimate of the lost verdicts among those honoured: (1 - q) / q for each loss that an audit found in
        a stage with audit share q. Failed audits are not in it.
    notes : tuple of str
        The conditions of the guarantee, and what it does not say.

    Examples
    --------
    >>> campaign = Ledger(n=40, eps=0.1, stages=2).start(secret=bytes(32))
    >>> for _ in range(40):
    ...     if campaign.decide(early=True) == "audit":
    ...         campaign.audited(loss=0)
    >>> found = campaign.certificate()
    >>> found.allowed, found.honoured + found.audited, found.lost
    (4, 40, 0)
    """

    ledger: Ledger
    delivered: int
    tallies: tuple[_Tally, ...] = field(repr=False)
    open: bool = False

    def _sum(self, name: str) -> int:
        return sum(getattr(tally, name) for tally in self.tallies)

    @property
    def allowed(self) -> int:
        """The number of lost verdicts that is guaranteed."""
        return self.ledger.allowed

    @property
    def honoured(self) -> int:
        """Early stops that were honoured."""
        return self._sum("honoured")

    @property
    def audited(self) -> int:
        """Early stops that were audited."""
        return self._sum("audited")

    @property
    def lost(self) -> int:
        """Audits that found a loss."""
        return self._sum("lost")

    @property
    def gained(self) -> int:
        """Audits that found a gain."""
        return self._sum("gained")

    @property
    def failed(self) -> int:
        """Audits that failed, whose debates are undelivered."""
        return self._sum("failed")

    @property
    def lost_estimate(self) -> float:
        """Unbiased estimate of the lost verdicts among those honoured."""
        return sum(tally.lost_estimate for tally in self.tallies)

    @property
    def complete(self) -> bool:
        """Whether all debates of the campaign are decided."""
        return self.delivered == self.ledger.n

    @property
    def headline(self) -> str:
        """The guarantee with its chance, and the audits behind it."""
        ledger, m = self.ledger, self.allowed
        stops = self.honoured + self.audited
        found = f"{self.audited} of {counted(stops, 'early stop')} {'was' if stops == 1 else 'were'} audited"
        what = "differed" if ledger.losses == "differs" else "lost a right verdict"
        if not self.complete:
            audits = f"{counted(self.audited, 'early stop')} {'was' if self.audited == 1 else 'were'} audited"
            return (
                f"No certificate yet: {self.delivered:,} of {counted(ledger.n, 'debate')} are delivered. "
                f"So far {audits} and {self.lost} {what}."
            )
        whose = f"{ledger.incumbent}'s"
        verdicts = counted(ledger.n - self.failed, "delivered verdict")
        kept = 1.0 - ledger.delta
        # A guarantee is not rounded up.
        digits = next(k for k in range(16) if abs(round(100 * kept, k) - 100 * kept) < _TOLERANCE)
        chance = f"With chance at least {percent(kept, digits=digits)}"
        if ledger.losses == "differs":
            said = f"at most {m:,} of {verdicts} {'differs' if m == 1 else 'differ'} from {whose}"
        elif ledger.losses == "gross":
            be = "is" if m == 1 else "are"
            said = f"at most {m:,} of {verdicts} {be} wrong where {whose} {be} right"
        else:
            said = f"{verdicts} have at most {m:,} right ones fewer than {whose}"
        return f"{chance}, {said}: {found} and {self.lost} {what}."

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # of the counts, not stored
        """The conditions of the guarantee, and what it does not say."""
        notes: list[str] = []
        if self.failed:
            notes.append(
                warning(
                    f"{counted(self.failed, 'audit')} failed; each counts as a lost verdict, and its debate is "
                    "undelivered",
                    "failed audits",
                    n=self.failed,
                )
            )
        if self.ledger.lag > 1:
            notes.append(
                Note(
                    f"The early rule of each debate rests on debates more than {self.ledger.lag:,} before it, so "
                    "that many can be played at a time.",
                    kind="lag",
                )
            )
        notes.append(
            Note(
                "The guarantee is about this campaign, and says nothing of the early rule in the next one.",
                kind="scope",
            )
        )
        notes.append(
            Note(
                "The guarantee assumes that a debate played on after a wait ends as if it had been played on at once.",
                kind="condition",
            )
        )
        return tuple(notes)

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        last = len(self.tallies)
        begun = {i: t for i, t in enumerate(self.tallies, start=1) if i < last or t.honoured + t.audited}
        columns: dict[str, list[float]] = {
            "stage": list(begun),
            "audit_share": [tally.share for tally in begun.values()],
            "honoured": [tally.honoured for tally in begun.values()],
            "audited": [tally.audited for tally in begun.values()],
            "lost": [tally.lost for tally in begun.values()],
            "gained": [tally.gained for tally in begun.values()],
            "failed": [tally.failed for tally in begun.values()],
            "lost_estimate": [tally.lost_estimate for tally in begun.values()],
        }
        return {"stages": pd.DataFrame(columns)}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        columns: dict[str, Write] = {
            "stage": lambda row: f"{row['stage']}",
            "audit share": lambda row: percent(row["audit_share"], digits=1),
            "honoured": lambda row: f"{row['honoured']:,}",
            "audited": lambda row: f"{row['audited']:,}",
            "with a loss": lambda row: f"{row['lost']:,}",
        }
        return {"Early stops by stage": cells(self.to_frame(), columns)}
