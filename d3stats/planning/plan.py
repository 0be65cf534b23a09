"""From a pilot to a plan: which rule to run, what it will cost and how often it will be right.

The incumbent is unanimity. A plan picks the cheapest *ladder* (votes that the largest camp needs, falling with
the rounds) that loses at most `max_loss` against unanimity with probability `confidence`. That difference is
too small to be counted in a few dozen debates, so it is read off a fitted chain
(:mod:`d3stats.models.chains.panel_chain`), over draws of its parameters; what a rule costs and how often it is right
is counted on the pilot itself, with Student intervals over questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from d3stats._check import RngLike, as_rng, integer, probability
from d3stats._check import loss as allowed_loss
from d3stats._words import counted
from d3stats.models.chains.panel_chain import PanelChainFit, chain_laws, fit_panel_chain
from d3stats.planning._chain_check import check_chain, untold
from d3stats.planning._coding import Target, code_votes
from d3stats.planning._ladders import (
    Evaluated,
    evaluate_ladders,
    evaluate_thresholds,
    rule_of,
    thresholds_of,
)
from d3stats.planning._measures import spent_by_round, with_turns
from d3stats.planning._notes import early_notes
from d3stats.planning._plan_limit import limit_row
from d3stats.planning._plan_table import Pilot, is_capped, pilot_loss_note, plan_table
from d3stats.planning._plan_text import plan_reason, plan_text
from d3stats.planning.prices import Price, dollars_by_round
from d3stats.stopping import (
    FixedRounds,
    FullDepth,
    KSStability,
    NoiseAwareKS,
    Rule,
    StoppingRule,
    Unanimity,
    from_text,
)
from d3stats.trajectories import MISSING, LogSource, Trajectories, as_trajectories

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Plan", "plan"]


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A recommended stopping rule, what it promises, and what it was compared with.

    Attributes
    ----------
    rule : Rule
        The recommendation.
    target : {"accuracy", "agreement"}
        Whether a kept verdict is a right one or full depth's.
    max_loss, confidence : float
        The rule keeps at most `max_loss` fewer verdicts than unanimity, with this probability.
    probability : float
        That probability under the fitted chain.
    level : float
        Of all intervals.
    reason : str
        Why this rule.
    notes : tuple of str
        What limits the plan, and what the pilot cannot tell.
    fit : PanelChainFit
    checks : DataFrame
        Posterior predictive checks of the chain: ``statistic, round, pilot, predicted, low, high, p_value``.
    debates : int
        Planned number of debates, for totals.
    n_candidates : int
        Ladders that were compared.
    """

    rule: Rule
    target: Target
    max_loss: float
    confidence: float
    probability: float
    level: float
    reason: str
    notes: tuple[str, ...]
    fit: PanelChainFit
    checks: pd.DataFrame
    debates: int
    n_candidates: int
    _table: pd.DataFrame = field(repr=False)

    def __repr__(self) -> str:
        return f"Plan({self.rule}, P(loss <= {self.max_loss:g}) = {self.probability:.2f})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per rule, the recommendation first.

        Returns
        -------
        DataFrame
            ``rule, role``; ``undecided``, the debates of the pilot that ended before the rule would have stopped
            (what is counted on the pilot is then missing); for each of ``rounds, tokens, dollars, kept, accuracy,
            saved`` the estimate and its limits ``_low, _high`` (per debate; ``kept`` is the share of verdicts kept
            by the target, ``saved`` one minus the ratio of its cost to unanimity's); ``loss`` against unanimity
            with limits, ``p_within`` (the probability that it is at most ``max_loss``) and ``loss_from`` ("chain"
            or "pilot"); ``total`` with limits: the cost of all planned debates; ``total_unit``: what cost is
            counted in, dollars where there are prices, else tokens where they are recorded, else rounds;
            ``level``. The row with the role "limit" is the exact optimum of the fitted chain: no rule does
            better there.
        """
        return self._table.copy()

    def summary(self) -> str:
        """Return the plan as plain text."""
        return plan_text(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cost of the planned debates, as they are run, under this rule and under unanimity."""
        from d3stats.plotting import plot_plan_fan

        return plot_plan_fan(self.fan(), ax=ax)

    def fan(self, points: int = 40) -> pd.DataFrame:
        """Return how cost grows with the number of debates: ``rule, debates, level, unit, cost, low, high``.

        Limits are for the total of that many new debates: they hold the pilot's error and the debates' own
        spread. Levels are 50 %, 80 % and 95 %.
        """
        from d3stats.planning._plan_table import fan_table

        return fan_table(self._table, self.debates, points)


def plan(
    pilot: LogSource,
    *,
    max_loss: float = 0.01,
    confidence: float = 0.9,
    level: float = 0.9,
    debates: int = 1000,
    target: Target | Literal["auto"] = "auto",
    price: Price | None = None,
    dollars: ArrayLike | None = None,
    compare: Sequence[StoppingRule | str] = (),
    limit: bool = True,
    n_draws: int = 300,
    rng: RngLike = None,
) -> Plan:
    """Plan the next debates from a pilot that was played to full depth.

    Parameters
    ----------
    pilot : Trajectories, or what :func:`d3stats.as_trajectories` takes
        At least two questions and two rounds, with the panel that will be used. Debates without turns are left
        out. Where debates ended early, what a rule that would have gone on costs and decides is missing. Where a
        stopping rule ended them in the last round of the log before unanimity, losses are against unanimity in debates
        of at most so many rounds, which `reason` and `notes` say.
    max_loss : float
        How many verdicts the rule may lose against unanimity, as a share.
    confidence : float
        Probability that it keeps to that, under the fitted chain.
    level : float
        Of the equal-tailed Student intervals in the table.
    debates : int
        How many debates are planned.
    target : {"auto", "accuracy", "agreement"}
        "auto": accuracy when every debate has a label, else agreement with the full-depth verdict.
    price : float or (float, float), optional
        Dollars per million tokens: one price for all, or those of prompt and of completion tokens. Completions are
        a larger share of early rounds than of late ones, so one blended price makes a rule that stops early look
        cheaper than it is.
    dollars : array, shape (debates, rounds), optional
        What each round cost, in place of `price`, where roles have different prices: see
        :func:`d3stats.planning.prices.price_turns`.
    compare : sequence of rules or texts
        More rules for the table, those of the literature for example.
    limit : bool
        Also work out the exact optimum of the fitted chain; with more than two answers there is none to show,
        because the count of right votes is then not all that a policy could look at.
    n_draws : int
        Parameter draws.
    rng : Generator, int or None

    Raises
    ------
    ValueError
        When the pilot has one question, one round, a panel of one, or prices without tokens.

    Examples
    --------
    >>> from d3stats.simulate import simulate
    >>> from d3stats.worlds import Voter
    >>> pilot = simulate(Voter(panel=5, accuracy=0.7), n_debates=50, n_rounds=6, rng=3)
    >>> made = plan(pilot, limit=False, rng=1)
    >>> made.target, made.probability >= 0.9
    ('accuracy', True)
    """
    pilot = as_trajectories(pilot)
    loss = allowed_loss("max_loss", max_loss)
    sure = probability("confidence", confidence, open_interval=True)
    at = probability("level", level, open_interval=True)
    planned = integer("debates", debates, minimum=1)
    generator = as_rng(rng)
    given, played = pilot, pilot.depth > 0
    pilot, absent = with_turns(pilot)
    panel = _refuse_what_cannot_be_planned(pilot)
    paid = _dollars(given, price, dollars)
    paid = None if paid is None else paid[played]

    coded = code_votes(pilot, target)
    fit = fit_panel_chain(coded.votes[coded.used], pilot.cluster[coded.used])
    laws = chain_laws(fit.draws(n_draws, generator), panel, pilot.n_rounds)
    told = Pilot.of(pilot, coded.target, paid)
    cost = told.cost_by_round()
    incumbent = evaluate_thresholds(laws, {"": (panel,)}, cost, coded.target, coded.others)[""]

    gaps = bool(((pilot.votes == MISSING) & pilot.reached()[:, :, None]).any())
    best: tuple[float, Rule, Evaluated] | None = None
    count = 0
    for thresholds, found in evaluate_ladders(laws, cost, coded.target, coded.others):
        count += 1
        if np.mean(incumbent.kept - found.kept <= loss) < sure:
            continue
        if best is None or found.cost.mean() < best[0]:
            best = (float(found.cost.mean()), rule_of(thresholds, gaps), found)
    if best is None or best[0] >= incumbent.cost.mean():
        best = (float(incumbent.cost.mean()), Unanimity(), incumbent)
    rule = best[1]

    rules = _beside(rule, compare)
    known = {str(r): t for r in rules if (t := thresholds_of(r, panel)) is not None}
    chain = evaluate_thresholds(laws, known, cost, coded.target, coded.others)
    differences = {name: incumbent.kept - found.kept for name, found in chain.items()}
    capped = is_capped(pilot)
    table = plan_table(told, rules, differences, level=at, max_loss=loss, debates=planned, capped=capped)
    if limit and len(pilot.answers) <= 2:
        row = limit_row(fit, panel, told, loss) | ({"saved": np.nan} if capped else {})
        table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
    every_debate = int(pilot.depth[coded.used].min())
    checks = check_chain(laws, coded.votes[coded.used, :every_debate], generator)
    went_on = {name: int(n) for name, n in zip(table["rule"], table["undecided"], strict=True) if n > 0}
    kept_probability = float(np.mean(differences[str(rule)] <= loss))
    return Plan(
        rule=rule,
        target=coded.target,
        max_loss=loss,
        confidence=sure,
        probability=kept_probability,
        level=at,
        reason=plan_reason(
            rule, kept_probability, sure, loss, count, coded.target, pilot.n_rounds if capped else None
        ),
        notes=(
            *pilot.remarks(),
            *early_notes(pilot, absent, rules, went_on, str(Unanimity())),
            *_capped_note(capped, pilot.n_rounds),
            *pilot_loss_note(told, rule, loss),
            *coded.notes,
            *told.notes,
            *_blind_spots(rules),
            *untold(fit, checks, loss, sure, coded.target, told.n_questions),
        ),
        fit=fit,
        checks=checks,
        debates=planned,
        n_candidates=count,
        _table=table,
    )


def _dollars(
    pilot: Trajectories, price: Price | None, dollars: ArrayLike | None
) -> NDArray[np.float64] | None:
    """Return what each round of each debate cost, None without prices."""
    if price is not None and dollars is not None:
        raise ValueError("price must not be given together with dollars; got both: give one")
    if price is not None:
        found = dollars_by_round(pilot, price)
    elif dollars is not None:
        found = np.asarray(dollars, dtype=np.float64)
        if found.shape != pilot.votes.shape[:2]:
            raise ValueError(
                f"dollars must have shape (debates, rounds), here {pilot.votes.shape[:2]}; got {found.shape}"
            )
        if (found < 0).any() or np.isinf(found).any():
            raise ValueError(
                "dollars must be finite and >= 0, or NaN where unknown; got another value among them"
            )
    else:
        return None
    if spent_by_round(pilot, found) is None:
        name = "price" if dollars is None else "dollars"
        raise ValueError(
            f"{name} must come with tokens in the pilot; got no debate with tokens in every round"
        )
    return found


def _refuse_what_cannot_be_planned(pilot: Trajectories) -> int:
    """Return the panel's size, or say in one line why there is nothing to plan from."""
    if pilot.n_debates < 2:
        raise ValueError(f"pilot must hold at least 2 debates; got {pilot.n_debates}")
    questions = len(np.unique(pilot.cluster))
    if questions < 2:
        raise ValueError(f"pilot must hold at least 2 questions; got {questions}")
    if pilot.n_rounds < 2:
        raise ValueError(
            f"pilot must be played for at least 2 rounds, or there is nothing to stop; got {pilot.n_rounds}"
        )
    sizes: NDArray[np.int64] = np.unique(pilot.panel)
    if len(sizes) != 1:
        raise ValueError(f"pilot must have one size of panel; got panels of {', '.join(map(str, sizes))}")
    if sizes[0] < 2:
        raise ValueError("pilot must have a panel of at least 2 seats; got a panel of 1")
    return int(sizes[0])


def _capped_note(capped: bool, n_rounds: int) -> list[str]:
    """Say that the chain ends where a stopping rule cut the pilot off."""
    if not capped:
        return []
    return [
        f"losses from the chain are against unanimity in debates of at most {counted(n_rounds, 'round')}, because the "
        "pilot does not show what would have followed: play a pilot without a stopping rule to compare with unanimity "
        "that goes on"
    ]


def _blind_spots(rules: Sequence[StoppingRule]) -> list[str]:
    """Say aloud what KS rules without labels cannot see."""
    camps = {
        part.camp for rule in rules for part in rule.parts() if isinstance(part, KSStability | NoiseAwareKS)
    }
    notes = []
    if "largest" in camps:
        notes.append(
            "a KS rule on the largest camp cannot see verdicts change: a panel that goes from 6 of 7 for A to 6 "
            "of 7 for B has not moved"
        )
    if "first" in camps:
        notes.append(
            "a KS rule on the votes for the first answer cannot see verdicts that change both ways equally often"
        )
    return notes


def _beside(rule: Rule, compare: Sequence[StoppingRule | str]) -> list[StoppingRule]:
    """Return the recommendation, the baselines and the rules asked for, each once."""
    asked = [from_text(r) if isinstance(r, str) else r for r in compare]
    every = [rule, Unanimity(), FixedRounds(1), FixedRounds(2), FullDepth(), *asked]
    return list({str(r): r for r in every}.values())
