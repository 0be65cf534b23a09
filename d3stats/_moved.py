"""New paths of the modules of version 0.1. Old paths still work for one version, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "watch"]

MOVED = {
    "d3stats.agents": "d3stats.agent",
    "d3stats.agents.live": "d3stats.run.live",
    "d3stats.agents.live.agent": "d3stats.run.live.agent",
    "d3stats.agents.live.bounds": "d3stats.run.live.prompt",
    "d3stats.agents.live.client": "d3stats.run.live.agent",
    "d3stats.agents.live.dialect": "d3stats.run.live.server",
    "d3stats.agents.live.limits": "d3stats.run.live.limits",
    "d3stats.agents.live.pace": "d3stats.run.live.limits",
    "d3stats.agents.live.parse": "d3stats.run.live.reply",
    "d3stats.agents.live.prompt": "d3stats.run.live.prompt",
    "d3stats.agents.live.render": "d3stats.run.live.prompt",
    "d3stats.agents.live.reply": "d3stats.run.live.reply",
    "d3stats.agents.live.slots": "d3stats.run.live.prompt",
    "d3stats.agents.live.transport": "d3stats.run.live.server",
    "d3stats.agents.replay": "d3stats.protocols.recorded",
    "d3stats.agents.request": "d3stats.agent",
    "d3stats.agents.synthetic": "d3stats.worlds.streams",
    "d3stats.agents.synthetic.assembly": "d3stats.worlds.assembly",
    "d3stats.agents.synthetic.base": "d3stats.worlds.streams",
    "d3stats.agents.synthetic.courtroom": "d3stats.worlds.courtroom",
    "d3stats.agents.synthetic.followers": "d3stats.worlds.conformity",
    "d3stats.agents.synthetic.hearing": "d3stats.worlds.courtroom",
    "d3stats.agents.synthetic.listeners": "d3stats.worlds.latent_concept",
    "d3stats.agents.synthetic.mixture": "d3stats.worlds.mixture_panel",
    "d3stats.agents.synthetic.panel": "d3stats.worlds.panel",
    "d3stats.agents.synthetic.referees": "d3stats.worlds.referees",
    "d3stats.agents.synthetic.streams": "d3stats.worlds.streams",
    "d3stats.agents.synthetic.texts": "d3stats.worlds.streams",
    "d3stats.bridges.inspect.votes": "d3stats.log.importers.inspect_logs",
    "d3stats.bridges.inspect.write": "d3stats.log.importers.inspect_logs",
    "d3stats.debates": "d3stats.run",
    "d3stats.debates.ahead": "d3stats.run.forecast",
    "d3stats.debates.asked": "d3stats.run.forecast",
    "d3stats.debates.attempts": "d3stats.run.run",
    "d3stats.debates.batch": "d3stats.run.run",
    "d3stats.debates.budget": "d3stats.run.budget",
    "d3stats.debates.calls": "d3stats.run.run",
    "d3stats.debates.cost": "d3stats.run.budget",
    "d3stats.debates.forecast": "d3stats.run.forecast",
    "d3stats.debates.items": "d3stats.run.items",
    "d3stats.debates.journal": "d3stats.run.record",
    "d3stats.debates.past": "d3stats.run.record",
    "d3stats.debates.placement": "d3stats.run.items",
    "d3stats.debates.report": "d3stats.run.report",
    "d3stats.debates.reserve": "d3stats.run.forecast",
    "d3stats.debates.run": "d3stats.run.run",
    "d3stats.debates.stage": "d3stats.run.run",
    "d3stats.inference.agreement": "d3stats.inference.judges.agreement",
    "d3stats.inference.compare": "d3stats.inference.comparison.compare",
    "d3stats.inference.correction": "d3stats.inference.judges.correction",
    "d3stats.inference.correlation": "d3stats.inference.judges.correlation",
    "d3stats.inference.fleiss": "d3stats.inference.judges.coefficients",
    "d3stats.inference.gwet": "d3stats.inference.judges.coefficients",
    "d3stats.inference.jury": "d3stats.inference.judges.jury",
    "d3stats.inference.kappa": "d3stats.inference.judges.coefficients",
    "d3stats.inference.krippendorff": "d3stats.inference.judges.coefficients",
    "d3stats.inference.margins": "d3stats.inference.comparison.margins",
    "d3stats.inference.mcnemar": "d3stats.inference.comparison.mcnemar",
    "d3stats.inference.multiplicity": "d3stats.inference.comparison.multiplicity",
    "d3stats.inference.paired": "d3stats.inference.comparison.paired",
    "d3stats.inference.power": "d3stats.inference.comparison.power",
    "d3stats.inference.prediction_powered": "d3stats.inference.judges.prediction_powered",
    "d3stats.inference.proportion": "d3stats.resampling.proportions",
    "d3stats.inference.ratings": "d3stats.sources.ratings",
    "d3stats.inference.runs": "d3stats.sources.runs",
    "d3stats.inference.share_correction": "d3stats.inference.judges.correction",
    "d3stats.inference.table_audit": "d3stats.inference.printed_tables",
    "d3stats.log.causes": "d3stats.log.problems",
    "d3stats.log.convert": "d3stats.log.writer",
    "d3stats.log.fix": "d3stats.log.doctor",
    "d3stats.log.frames": "d3stats.log.reader",
    "d3stats.log.missing": "d3stats.log.doctor",
    "d3stats.log.read": "d3stats.log.reader",
    "d3stats.models.advocates": "d3stats.models.separation",
    "d3stats.models.betabinom": "d3stats.models.mixtures.law",
    "d3stats.models.bootstrap": "d3stats.models.mixtures.result",
    "d3stats.models.controller": "d3stats.models.chains.process",
    "d3stats.models.drift": "d3stats.models.mixtures.rounds",
    "d3stats.models.excess": "d3stats.models.separation.excess",
    "d3stats.models.frontier": "d3stats.models.chains.optimum",
    "d3stats.models.gap": "d3stats.models.gaps.beta",
    "d3stats.models.gap_growth": "d3stats.models.separation.orders",
    "d3stats.models.ks": "d3stats.models.mixtures.ks",
    "d3stats.models.latent": "d3stats.models.beliefs.latent",
    "d3stats.models.logged_separation": "d3stats.models.separation.logged",
    "d3stats.models.losses": "d3stats.models.chains.process",
    "d3stats.models.lrt": "d3stats.models.mixtures.fit",
    "d3stats.models.martingale": "d3stats.models.beliefs.martingale",
    "d3stats.models.mixture": "d3stats.models.mixtures.fit",
    "d3stats.models.optimum": "d3stats.models.chains.optimum",
    "d3stats.models.orders": "d3stats.models.separation.orders",
    "d3stats.models.panel_chain": "d3stats.models.chains.panel_chain",
    "d3stats.models.phases": "d3stats.models.separation.best_of_k",
    "d3stats.models.process": "d3stats.models.chains.process",
    "d3stats.models.result": "d3stats.models.mixtures.result",
    "d3stats.models.rounds": "d3stats.models.mixtures.rounds",
    "d3stats.models.scores": "d3stats.models.separation",
    "d3stats.models.signed_gap": "d3stats.models.gaps.signed",
    "d3stats.models.softmax": "d3stats.models.separation.softmax",
    "d3stats.models.votes": "d3stats.models.chains.votes",
    "d3stats.models.wins": "d3stats.models.gaps.wins",
    "d3stats.planning.calibrate": "d3stats.planning.calibration.calibrate",
    "d3stats.planning.calibration.observed": "d3stats.planning.calibration.parameters",
    "d3stats.planning.calibration.pilot_check": "d3stats.planning.calibration.calibrate",
    "d3stats.planning.calibration.predictive": "d3stats.planning.calibration.moments",
    "d3stats.planning.calibration.result": "d3stats.planning.calibration.calibrate",
    "d3stats.planning.calibration.simulated": "d3stats.planning.calibration.moments",
    "d3stats.planning.calibration.space": "d3stats.planning.calibration.parameters",
    "d3stats.planning.calibration.untold": "d3stats.planning.calibration.calibrate",
    "d3stats.planning.calibration.words": "d3stats.planning.calibration.calibrate",
    "d3stats.plotting.counts_by_round": "d3stats.plotting.rounds",
    "d3stats.plotting.excess_wealth": "d3stats.plotting.fits",
    "d3stats.plotting.forest": "d3stats.plotting.intervals",
    "d3stats.plotting.frontier": "d3stats.plotting.costs",
    "d3stats.plotting.gap_contraction": "d3stats.plotting.fits",
    "d3stats.plotting.gap_trajectories": "d3stats.plotting.rounds",
    "d3stats.plotting.interval_coverage": "d3stats.plotting.intervals",
    "d3stats.plotting.jury_curve": "d3stats.plotting.intervals",
    "d3stats.plotting.kappa_forest": "d3stats.plotting.intervals",
    "d3stats.plotting.ks_series": "d3stats.plotting.rounds",
    "d3stats.plotting.martingale_drift": "d3stats.plotting.intervals",
    "d3stats.plotting.mixture_posterior": "d3stats.plotting.fits",
    "d3stats.plotting.overview": "d3stats.plotting.rounds",
    "d3stats.plotting.phase_map": "d3stats.plotting.fits",
    "d3stats.plotting.plan_fan": "d3stats.plotting.costs",
    "d3stats.plotting.position_bias": "d3stats.plotting.intervals",
    "d3stats.plotting.predictive_check": "d3stats.plotting.fits",
    "d3stats.plotting.protocol_frontier": "d3stats.plotting.costs",
    "d3stats.plotting.regret": "d3stats.plotting.costs",
    "d3stats.plotting.stop_histogram": "d3stats.plotting.rounds",
    "d3stats.plotting.stop_rounds": "d3stats.plotting.rounds",
    "d3stats.protocols.anonymise": "d3stats.protocols.play",
    "d3stats.protocols.catalogue": "d3stats.protocols",
    "d3stats.protocols.chateval_open": "d3stats.protocols.chateval",
    "d3stats.protocols.criteria": "d3stats.protocols.jury",
    "d3stats.protocols.engine": "d3stats.protocols.play",
    "d3stats.protocols.majority": "d3stats.protocols.baselines",
    "d3stats.protocols.more": "d3stats.protocols.d3",
    "d3stats.protocols.more_advocates": "d3stats.protocols.d3",
    "d3stats.protocols.peer_discussion": "d3stats.protocols.prd",
    "d3stats.protocols.peer_rank": "d3stats.protocols.prd",
    "d3stats.protocols.peer_weights": "d3stats.protocols.prd",
    "d3stats.protocols.personas": "d3stats.protocols.jury",
    "d3stats.protocols.protocol": "d3stats.protocols.play",
    "d3stats.protocols.rules": "d3stats.protocols.play",
    "d3stats.protocols.samre": "d3stats.protocols.d3",
    "d3stats.protocols.samre_advocates": "d3stats.protocols.d3",
    "d3stats.protocols.single_judge": "d3stats.protocols.baselines",
    "d3stats.simulate": "d3stats.worlds",
    "d3stats.simulate.binomial": "d3stats.worlds.draw",
    "d3stats.simulate.conformity": "d3stats.worlds.conformity",
    "d3stats.simulate.courtroom": "d3stats.worlds.courtroom",
    "d3stats.simulate.dirichlet": "d3stats.worlds.voter",
    "d3stats.simulate.draw": "d3stats.worlds.draw",
    "d3stats.simulate.latent_concept": "d3stats.worlds.latent_concept",
    "d3stats.simulate.mixture_panel": "d3stats.worlds.mixture_panel",
    "d3stats.simulate.referees": "d3stats.worlds.referees",
    "d3stats.simulate.tokens": "d3stats.worlds.tokens",
    "d3stats.simulate.voter": "d3stats.worlds.voter",
    "d3stats.stopping.adaptive_consistency": "d3stats.stopping.sequential",
    "d3stats.stopping.batch": "d3stats.stopping.rule",
    "d3stats.stopping.betting": "d3stats.stopping.sequential",
    "d3stats.stopping.budgeted": "d3stats.stopping.scores",
    "d3stats.stopping.chateval": "d3stats.stopping.votes",
    "d3stats.stopping.combine": "d3stats.stopping.rule",
    "d3stats.stopping.declaration": "d3stats.stopping.scores",
    "d3stats.stopping.e_process": "d3stats.stopping.sequential",
    "d3stats.stopping.esc": "d3stats.stopping.votes",
    "d3stats.stopping.exchange_of_thought": "d3stats.stopping.words",
    "d3stats.stopping.fixed": "d3stats.stopping.votes",
    "d3stats.stopping.gap_posterior": "d3stats.stopping.scores",
    "d3stats.stopping.ks_bound": "d3stats.stopping.ks",
    "d3stats.stopping.ladder": "d3stats.stopping.votes",
    "d3stats.stopping.look_ahead": "d3stats.stopping.sequential",
    "d3stats.stopping.parse": "d3stats.stopping.text",
    "d3stats.stopping.sign_agreement": "d3stats.stopping.scores",
    "d3stats.stopping.sprt": "d3stats.stopping.sequential",
    "d3stats.stopping.supermajority": "d3stats.stopping.votes",
    "d3stats.stopping.token_budget": "d3stats.stopping.tokens",
    "d3stats.stopping.unanimity": "d3stats.stopping.votes",
    "d3stats.worlds.dirichlet": "d3stats.worlds.voter",
}
"""Old path of each documented module, and its new path."""

_SPLIT = {
    "d3stats.agents": {
        "ReplayAgent": "d3stats.protocols",
        "SyntheticItem": "d3stats.worlds",
        "synthetic_agent": "d3stats.worlds",
        "synthetic_items": "d3stats.worlds",
    }
}
"""Names of an old module that moved elsewhere than the rest of it."""


class _Old(ModuleType):
    """An old module; where a function of its name exists, as ``d3stats.simulate``, calling it calls that."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **settings)


class _Moved(MetaPathFinder, Loader):
    """Import an old path as a module that hands on the names of the new one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        warnings.warn(
            f"{name} is now {MOVED[name]}; the next version removes the old path",
            DeprecationWarning,
            stacklevel=2,
        )
        new = import_module(MOVED[name])
        module.__doc__ = new.__doc__
        module.__path__ = []  # an old folder: its modules are looked for here too
        module.__class__ = _Old
        others = _SPLIT.get(name, {})
        find = lambda each: getattr(import_module(others[each]) if each in others else new, each)  # noqa: E731
        module.__getattr__ = find  # type: ignore[method-assign]


def watch() -> None:
    """Let old paths be found, also where an empty folder of the old name was left behind."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())
