"""Choice of a stopping rule whose expected loss on the next question is limited: conformal risk control.

Angelopoulos, Bates, Fisch, Lei and Schuster (2022), arXiv 2208.02814. The guarantee is a mean over pilots and the next
question, so it is weaker than that of ``risk``, and needs fewer questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
import pandas as pd

from d3stats._check import choice, loss
from d3stats._words import counted, percent, verb
from d3stats.note import warning
from d3stats.planning.cells import Write, amount, cells, rule_cell
from d3stats.planning.costs import Target, absent_note, as_rules, with_turns
from d3stats.planning.risk import losses_of_rules, refuse_what_ended_early
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.stopping import FullDepth, StoppingRule

__all__ = ["ConformalRisk", "conformal_risk_control"]

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class ConformalRisk(Result):
    """A stopping rule whose expected loss on the next question is limited, or full depth where no rule has that.

    Attributes
    ----------
    rule : StoppingRule
        The last rule of the family within the limit; ``FullDepth()`` where the first is beyond it.
    bound : float
        Bound of the expected loss of `rule`; 0 for full depth.
    max_loss_vs_full : float
        The limit.
    target : str
        As asked for.
    n_questions : int
        Questions of the pilot that count.
    notes : tuple of str
        What was left out, and how debates of one question count.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=7), n_debates=200, n_rounds=10, rng=1)
    >>> found = conformal_risk_control(pilot, ["supermajority:1.0", "supermajority:0.85"], max_loss_vs_full=0.1)
    >>> str(found.rule), found.n_questions, round(found.bound, 4)
    ('supermajority:1.0', 200, 0.005)
    >>> found.to_frame()[["rule", "within", "chosen"]].values.tolist()
    [['supermajority:1.0', True, True], ['supermajority:0.85', False, False]]
    """

    rule: StoppingRule
    bound: float
    max_loss_vs_full: float
    target: Target
    n_questions: int
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)

    @property
    def headline(self) -> str:
        """The answer: which rule, and the limit that it keeps."""
        limit = f"{100 * self.max_loss_vs_full:.3g} % of questions"
        if not self._table["chosen"].any():
            return (
                f"No rule is known to lose at most {limit} on average (the bound of the first is "
                f"{percent(self._table['bound'].iloc[0])}), so play every debate to full depth."
            )
        lost = "differs from that of" if self.target == "agreement" else "is wrong where it is right at"
        return (
            f"Run {self.rule}: its verdict {lost} full depth in at most {limit}, on average over pilots and next "
            "questions that are exchangeable."
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"rules": self._table.copy()}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        columns: dict[str, Write] = {
            "rule": rule_cell,
            "rounds": amount("rounds", 2),
            "loss": lambda row: percent(row["risk"], digits=2),
            "bound": lambda row: percent(row["bound"], digits=2),
            "state": lambda row: "chosen" if row["chosen"] else ("within" if row["within"] else "beyond"),
        }
        return {
            "Rules from late to early stopping; loss: of the pilot's questions": cells(self._table, columns)
        }

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per rule, from late to early stopping.

        Parameters
        ----------
        table : str, optional
            Title of the table, "rules".

        Returns
        -------
        DataFrame
            ``rule``; ``rounds``, the mean on the pilot; ``risk``, the mean over questions of the lost share of their
            debates; ``bound``, of the expected loss; ``within`` the limit; ``chosen``; then ``n_questions,
            max_loss_vs_full, target``.
        """
        return super().to_frame(table)


def conformal_risk_control(
    trajectories: LogSource,
    rules: Sequence[StoppingRule | str],
    *,
    max_loss_vs_full: float,
    target: Target = "agreement",
    **reading: Unpack[Reading],
) -> ConformalRisk:
    """Choose the earliest rule of a family whose expected loss is limited, by conformal risk control.

    Parameters
    ----------
    trajectories : Trajectories, or what :func:`d3stats.as_trajectories` takes
        The pilot: debates played to full depth; those without turns are left out.
    rules : sequence of StoppingRule or text
        A family, from late to early stopping, fixed before the pilot is looked at.
    max_loss_vs_full : float
        The limit alpha of the expected loss against full depth, in (0, 1).
    target : {"agreement", "accuracy"}
        The loss of a debate. With "agreement" it is 1 when the verdict at the stop is not that of full depth. With
        "accuracy" it is 1 when only full depth is right (labels are needed). Verdicts that early stopping gains do
        not make up for lost ones here.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    ConformalRisk

    Raises
    ------
    ValueError
        When the limit is outside (0, 1), labels are needed and absent, a rule decides for a batch, or a debate ended
        before the last round of the pilot.

    Notes
    -----
    The loss of question i under rule j is the lost share of its debates, and at least that under every earlier rule of
    the family, L_ij = max over k <= j; so it never falls. The last rule with (sum_i L_ij + 1) / (n + 1) <= alpha is
    chosen, and then E[L_(n+1)] <= alpha (Angelopoulos et al. 2022, theorem 1, B = 1). The expectation is over the n
    questions of the pilot and the next one, which must be exchangeable. A single campaign may lose more;
    :func:`risk_controlled` limits that probability.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=7), n_debates=200, n_rounds=10, rng=1)
    >>> family = ["supermajority:1.0", "supermajority:0.85", "supermajority:0.7"]
    >>> str(conformal_risk_control(pilot, family, max_loss_vs_full=0.15).rule)
    'supermajority:0.85'
    """
    loss("max_loss_vs_full", max_loss_vs_full, positive=True)
    choice("target", target, ("agreement", "accuracy"))
    trajectories, absent = with_turns(as_trajectories(trajectories, **reading))
    every, repeated = as_rules(rules, panel=int(trajectories.panel.max()))
    refuse_what_ended_early(trajectories)
    units = losses_of_rules(trajectories, every, target, "units", gains=False)
    risk = units.sums.mean(axis=0)
    lost = np.maximum.accumulate(units.sums, axis=1).sum(axis=0)
    bound = (lost + 1) / (units.n + 1)
    within = bound <= max_loss_vs_full
    chosen = int(within.sum()) - 1
    table = pd.DataFrame(
        {
            "rule": [str(rule) for rule in every],
            "rounds": units.rounds,
            "risk": risk,
            "bound": bound,
            "within": within,
            "chosen": np.arange(len(every)) == chosen,
            "n_questions": units.n,
            "max_loss_vs_full": max_loss_vs_full,
            "target": target,
        }
    )
    order = _order_note(table)
    least = int(np.ceil(1 / max_loss_vs_full - 1e-9)) - 1
    few = (
        f"A limit of {100 * max_loss_vs_full:.3g} % needs at least {least} questions, also where none is lost; here "
        f"are {units.n}."
    )
    return ConformalRisk(
        rule=every[chosen] if chosen >= 0 else FullDepth(),
        bound=float(bound[chosen]) if chosen >= 0 else 0.0,
        max_loss_vs_full=max_loss_vs_full,
        target=target,
        n_questions=units.n,
        notes=(
            *order,
            *trajectories.remarks(),
            *([few] if units.n < least else []),
            *units.notes,
            *absent_note(absent, trajectories),
            *repeated,
        ),
        _table=table,
    )


def _order_note(table: pd.DataFrame) -> list[str]:
    """Warn of a family that does not go from late to early stopping on the pilot."""
    earlier = np.flatnonzero(np.diff(table["rounds"].to_numpy()) > _ROUNDING)
    if not len(earlier):
        return []
    at = int(earlier[0])
    early, late = table.iloc[at], table.iloc[at + 1]
    text = (
        f"{counted(len(earlier), 'rule')} of the family {verb(len(earlier), 'stops', 'stop')} later than the one before"
        f", such as {late['rule']} ({late['rounds']:z.2f} rounds) after {early['rule']} ({early['rounds']:z.2f}); a "
        "rule counts the losses of all before it, so that the limit holds, but the rule may be later than need be: "
        "give rules from late to early"
    )
    return [warning(text, "order of rules", n=len(earlier), examples=[str(late["rule"])])]
