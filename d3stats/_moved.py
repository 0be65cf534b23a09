"""Where modules of version 0.1 stand now: their old paths still work for one version, with a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED", "watch"]

MOVED = {
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
    "d3stats.inference.ratings": "d3stats.inference.judges.ratings",
    "d3stats.inference.runs": "d3stats.inference.comparison.runs",
    "d3stats.inference.share_correction": "d3stats.inference.judges.correction",
    "d3stats.inference.table_audit": "d3stats.inference.printed_tables",
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
}
"""Old path of each documented module, and its new path."""


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
            f"{name} is now {MOVED[name]}; the old path goes with the next version",
            DeprecationWarning,
            stacklevel=2,
        )
        new = import_module(MOVED[name])
        module.__doc__ = new.__doc__
        module.__getattr__ = lambda each: getattr(new, each)  # type: ignore[method-assign]


def watch() -> None:
    """Let old paths be found, also where an empty folder of the old name was left behind."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Moved())
