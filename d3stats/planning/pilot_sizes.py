"""How large should a pilot be, when its own bill belongs to the campaign?

A larger pilot gives surer plans, but its debates save nothing. One pilot tells by its chain what pilots of other sizes
would find, without any new debate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Unpack

import numpy as np
import pandas as pd

from d3stats._arrays import Floats
from d3stats._check import RngLike, as_rng, integer, probability
from d3stats._check import loss as allowed_loss
from d3stats._words import counted, percent
from d3stats.models.chains.panel_chain import chain_laws, fit_panel_chains
from d3stats.planning.cells import Write, amount, cells, share_cell
from d3stats.planning.costs import Target, refuse_votes_at_the_end, tokens_by_round, with_turns
from d3stats.planning.ladders import code_votes, evaluate_ladders, evaluate_thresholds
from d3stats.planning.misfit import misfit_sd
from d3stats.result import Result
from d3stats.sources import LogSource, Reading, as_trajectories
from d3stats.trajectories import Trajectories

__all__ = ["SIZES", "PilotSizes", "net_by_size", "pilot_sizes"]


SIZES = (25, 50, 100, 200, 400)
"""The sizes of pilots that are compared where none is named."""

_DRAWS = 0
"""The seed of the parameter draws, as in a plan."""
_LEVEL = 0.8


@dataclass(frozen=True, eq=False, kw_only=True)
class PilotSizes(Result):
    """The saving that is left of a campaign after the bill of its pilot, by size of the pilot.

    Attributes
    ----------
    campaign : int
        Debates of the campaign, those of the pilot among them.
    best : int
        Size with the largest expected net saving; 0 where none is above 0.
    max_loss, confidence : float
        What a plan from each pilot must keep to.
    unit : {"tokens", "rounds"}
        What is saved.
    n_debates : int
        Debates of the pilot from which this is computed.
    notes : tuple of str
        What this rests on.

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=5, accuracy=0.7), n_debates=50, n_rounds=5, rng=3)
    >>> found = pilot_sizes(pilot, campaign=1000, sizes=(25, 100), n_draws=100)
    >>> found.to_frame()["size"].tolist(), found.unit
    ([25, 100], 'tokens')
    >>> bool((found.to_frame()["net"] > found.to_frame()["net_to_the_end"]).all())
    True
    """

    campaign: int
    best: int
    max_loss: float
    confidence: float
    unit: Literal["tokens", "rounds"]
    n_debates: int
    notes: tuple[str, ...]
    _table: pd.DataFrame = field(repr=False)

    @property
    def headline(self) -> str:
        """The answer, which size of pilot leaves most, and how much."""
        of = f"a campaign of {counted(self.campaign, 'debate')}"
        row = self._table.sort_values("net", ascending=False, kind="stable").to_dict("records")[0]
        net = percent(row["net"], row["net_low"], row["net_high"])
        if self.best == 0:
            return f"No pilot pays for {of}: the best of these sizes leaves {net} of unanimity's {self.unit}."
        return (
            f"For {of}, a pilot of {self.best} that is stopped at unanimity is expected to leave a net saving of "
            f"{net} of unanimity's {self.unit}."
        )

    def _title(self) -> str:
        return (
            f"Net: saving of pilot and campaign together against unanimity; in brackets where {100 * _LEVEL:g} % of "
            f"pilots lie. Computed from {counted(self.n_debates, 'debate')}."
        )

    def _tables(self) -> Mapping[str, pd.DataFrame]:
        return {"sizes": self._table.copy()}

    def _shown(self) -> Mapping[str, pd.DataFrame]:
        columns: dict[str, Write] = {
            "pilot": amount("size", 0),
            "net saving": share_cell("net", None),
            "if played to the end": share_cell("net_to_the_end", None),
            "a rule is found": share_cell("found", None),
            "it loses more": share_cell("beyond", None),
        }
        return {"Net saving by size of the pilot": cells(self._table, columns)}

    def to_frame(self, table: str | None = None) -> pd.DataFrame:
        """Return one row per size of the pilot.

        Parameters
        ----------
        table : str, optional
            Title of the table, "sizes".

        Returns
        -------
        DataFrame
            ``size``; ``net``, the expected net saving of pilot and campaign where the pilot is stopped at unanimity,
            with ``net_low, net_high`` (80 % of pilots); ``net_to_the_end``, the same where it is played to full depth;
            ``saved``, what the rule saves after the pilot; ``found``, the share of pilots in which a rule cheaper than
            unanimity keeps to the loss with the confidence; ``beyond``, the share of pilots whose rule loses more than
            `max_loss`.
        """
        return super().to_frame(table)


def pilot_sizes(
    pilot: LogSource,
    *,
    campaign: int = 1000,
    sizes: Sequence[int] = SIZES,
    max_loss: float = 0.01,
    confidence: float = 0.9,
    target: Literal["auto"] | Target = "auto",
    n_draws: int = 1000,
    rng: RngLike = 0,
    **reading: Unpack[Reading],
) -> PilotSizes:
    """Compute the net saving of a campaign by the size of its pilot, from the chain that is fitted to a first pilot.

    Parameters
    ----------
    pilot : Trajectories, or what :func:`d3stats.as_trajectories` takes
        A pilot, as for :func:`~d3stats.planning.plan`, played to full depth.
    campaign : int
        Debates of the campaign, those of the pilot among them.
    sizes : sequence of int
        Sizes of pilots to compare; those beyond the campaign are left out.
    max_loss, confidence, target
        As for :func:`~d3stats.planning.plan`.
    n_draws : int
        Parameters drawn from the fitted chain; each is once what the debates truly are.
    rng : Generator, int or None
        Pairs the draws; the same numbers for all sizes.
    **reading : Reading
        How the source is read, see :func:`d3stats.open`.

    Returns
    -------
    PilotSizes

    Raises
    ------
    ValueError
        When the pilot cannot be planned from, its debates ended early, or no size is within the campaign.

    Notes
    -----
    Let l be the loss of a ladder in one draw of the chain, of which the pilot at hand has m debates, and d the
    deviation of another draw from the mean of all. A pilot of n is taken to see l + sqrt(m / n) d. It is unsure by
    sqrt(m / n) times such deviations, and by what the chain misses (``d3stats.planning.misfit``), of which its own
    count of lost verdicts tells a part. It finds the cheapest ladder whose loss is within `max_loss` with the
    confidence. This is cautious: plans of small pilots also have a prior, and save more.

    Let S be the saving of that ladder in the first draw, and b the pilot's cost per debate over unanimity's, which is
    1 where the pilot is stopped at unanimity. The net saving of N debates is (1 - n / N) S + (n / N) (1 - b).

    Examples
    --------
    >>> from d3stats.worlds import Voter, simulate_debates
    >>> pilot = simulate_debates(Voter(panel=5, accuracy=0.7), n_debates=50, n_rounds=5, rng=3)
    >>> pilot_sizes(pilot, campaign=1000, n_draws=100).best in (25, 50, 100, 200, 400)
    True
    """
    most = integer("campaign", campaign, minimum=2)
    within = [integer("sizes", size, minimum=2) for size in sizes]
    within = [size for size in within if size <= most]
    if not within:
        raise ValueError(
            f"campaign must be at least {min(sizes)}, the smallest size of a pilot that is tried (sizes=...); "
            f"got {most}"
        )
    limit = allowed_loss("max_loss", max_loss)
    sure = probability("confidence", confidence, open_interval=True)
    integer("n_draws", n_draws, minimum=2)
    log, _ = with_turns(as_trajectories(pilot, **reading))
    _refuse(log)
    coded = code_votes(log, target)
    chains = fit_panel_chains(coded.votes[coded.used], log.cluster[coded.used])
    panel = int(log.panel.max())
    laws = chain_laws(chains.draws(n_draws, _DRAWS), panel, log.n_rounds)
    spent = tokens_by_round(log)
    known = None if spent is None else spent[~np.isnan(spent).any(axis=1)]
    cost = np.ones(log.n_rounds) if known is None else np.diff(known, axis=1).mean(axis=0)
    usual = evaluate_thresholds(laws, {"": (panel,)}, cost, coded.target, coded.others)[""]
    each = [found for _, found in evaluate_ladders(laws, cost, coded.target, coded.others)]
    differ = np.array([float(one.differ.mean()) for one in each])
    table = net_by_size(
        losses=np.stack([usual.kept - one.kept for one in each], axis=1),
        misfit=misfit_sd(differ),
        differ=differ,
        costs=np.stack([one.cost for one in each], axis=1),
        unanimity=usual.cost,
        whole=float(cost.sum()),
        n_debates=len(np.unique(log.cluster)),
        sizes=within,
        campaign=most,
        max_loss=limit,
        confidence=sure,
        rng=rng,
    )
    best = table.to_dict("records")[int(table["net"].to_numpy().argmax())]
    return PilotSizes(
        campaign=most,
        best=int(best["size"]) if best["net"] > 0 else 0,
        max_loss=limit,
        confidence=sure,
        unit="rounds" if known is None else "tokens",
        n_debates=len(log),
        notes=(
            *log.remarks(),
            "The savings of other sizes are computed from the chain of this pilot; a chain that does not describe the "
            "debates gives other savings.",
        ),
        _table=table,
    )


def net_by_size(
    *,
    losses: Floats,
    misfit: Floats,
    differ: Floats,
    costs: Floats,
    unanimity: Floats,
    whole: float,
    n_debates: int,
    sizes: Sequence[int],
    campaign: int,
    max_loss: float,
    confidence: float,
    rng: RngLike,
) -> pd.DataFrame:
    """Return one row per size of the pilot, as :meth:`PilotSizes.to_frame` has it.

    Parameters
    ----------
    losses, costs : ndarray of float, shape (draws, ladders)
        Loss against unanimity and cost of each ladder under each draw.
    misfit : ndarray of float, shape (ladders,)
        Standard deviation of what the chain misses of the loss.
    differ : ndarray of float, shape (ladders,)
        Share of verdicts that differ from unanimity's: the variance of a pilot's count of lost verdicts, times its
        size.
    unanimity : ndarray of float, shape (draws,)
        Cost of unanimity.
    whole : float
        Cost of a debate that is played to full depth.
    n_debates : int
        Independent questions behind the draws.
    """
    random = as_rng(rng)
    draws = len(losses)
    other = random.permutation(draws)
    noise, luck = random.standard_normal((2, draws, 1))
    away = losses - losses.mean(axis=0)
    true = losses + noise * misfit
    row = np.arange(draws)
    rows = []
    for size in sizes:
        narrow = float(np.sqrt(n_debates / size))
        # The pilot's own count tells of what the chain misses.
        known = misfit**2 / np.maximum(misfit**2 + differ / size, 1e-300)
        counted = noise * misfit + luck * np.sqrt(differ / size)
        seen = losses + narrow * away[other] + known * counted
        # The quantile of what a pilot of this size leaves open, by draws and misfit together.
        left = np.sqrt(1 - known) * misfit
        unsure = np.quantile(narrow * away + noise[other] * left, confidence, axis=0)
        price = costs + narrow * (costs - costs.mean(axis=0))[other]
        allowed = (seen + unsure <= max_loss) & (price < unanimity[:, None])
        chosen = np.where(allowed, price, np.inf).argmin(axis=1)
        found = allowed.any(axis=1)
        saved = np.where(found, 1 - costs[row, chosen] / unanimity, 0.0)
        share = size / campaign
        net, to_the_end = (
            (1 - share) * saved + share * (1 - bill) for bill in (np.ones(draws), whole / unanimity)
        )
        low, high = np.quantile(net, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        rows.append(
            {
                "size": size,
                "net": net.mean(),
                "net_low": low,
                "net_high": high,
                "net_to_the_end": to_the_end.mean(),
                "saved": saved.mean(),
                "found": found.mean(),
                "beyond": (found & (true[row, chosen] > max_loss)).mean(),
            }
        )
    return pd.DataFrame(rows)


def _refuse(log: Trajectories) -> None:
    """Refuse a pilot from which the savings of other sizes cannot be computed."""
    refuse_votes_at_the_end(log)
    panels = np.unique(log.panel)
    if len(panels) != 1 or panels[0] < 2:
        raise ValueError(
            f"pilot must have one size of panel, of at least 2 seats; got panels of {', '.join(map(str, panels))}"
        )
    if len(np.unique(log.cluster)) < 2 or log.n_rounds < 2:
        raise ValueError(
            "pilot must hold at least 2 questions and 2 rounds; got "
            f"{len(np.unique(log.cluster))} and {log.n_rounds}; play more"
        )
    if log.ended_early().any():
        raise ValueError(
            f"pilot must be played to full depth; got {int(log.ended_early().sum())} of {len(log)} debates that ended "
            "early; a first pilot without a stopping rule tells what larger ones would find"
        )
