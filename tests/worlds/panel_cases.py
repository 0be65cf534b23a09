"""Small panel worlds that the tests of simulation share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from d3stats.trajectories import Trajectories
from d3stats.worlds import (
    Conformity,
    DirichletCompound,
    LatentConcept,
    Lengths,
    MixturePanel,
    PanelWorld,
    Voter,
)

PANEL_WORLDS: dict[str, PanelWorld] = {
    "voter": Voter(panel=5),
    "mixture_panel": MixturePanel(panel=4, persistence=0.6, mean_drift=(0.1, -0.1)),
    "dirichlet_compound": DirichletCompound(panel=5, n_answers=4, degree=2),
    "latent_concept": LatentConcept(panel=3, n_concepts=3, evidence="self"),
    "conformity": Conformity(panel=6),
    "mixed conformity": Conformity(
        panel=5, skill=(0, 0.5, 1, 1, -0.5), llms=("x", "x", "y", "z", "z"), shared_points=3
    ),
    "noisy tokens": Voter(panel=3, lengths=Lengths(spread=0.4)),
}

MARKOV_WORLDS: dict[str, PanelWorld] = {
    "voter": Voter(panel=5, accuracy=0.6, precision=3),
    "conformity": Conformity(panel=7),
    "contrarians": Conformity(panel=4, conformity=-2.0, stubbornness=0.2, shared_sd=1.0, shared_points=4),
    "independent LLMs": Conformity(panel=3, shared_sd=0.0, llms=("x", "y", "z"), stubbornness=0.9),
    "an impossible class": Conformity(panel=3, difficulties=((1.0, 0.4), (0.0, 9.0)), shared_sd=0.0),
    "forgetful mixture": MixturePanel(
        panel=5, persistence=0, mean_drift=(0.2, -0.1), weight_drift=(0.0, 0.3)
    ),
    "faithful mixture": MixturePanel(panel=5, persistence=1),
    "talking to themselves": LatentConcept(panel=5, prior=0.6, clarity=0.8, evidence="self"),
}


def right_votes(t: Trajectories) -> NDArray[np.int64]:
    """Number of right votes by debate and round."""
    return (t.votes == t.label[:, None, None]).sum(axis=2)


def worst_z(observed: NDArray[np.int64], law: NDArray[np.float64]) -> float:
    """Largest distance, in standard errors, of a table of counts from its law; rare cells are pooled."""
    n, seen, p = observed.sum(), observed.ravel(), law.ravel()
    rare = n * p < 10
    seen, p = np.append(seen[~rare], seen[rare].sum()), np.append(p[~rare], p[rare].sum())
    assert not (seen[p == 0] > 0).any()
    room = (p > 0) & (p < 1 - 1e-12)
    return float(np.abs((seen - n * p)[room] / np.sqrt(n * p * (1 - p))[room]).max(initial=0.0))
