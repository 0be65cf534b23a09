"""The conformity panel: agents who are right or wrong together, and follow the crowd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from d3stats._check import integer, number, probability
from d3stats.worlds.base import PanelWorld

__all__ = ["Conformity"]


@dataclass(frozen=True, kw_only=True)
class Conformity(PanelWorld):
    """A panel whose agents hold an opinion, keep it by habit, and lean towards the majority.

    An item i has easiness theta_i, from a finite list of difficulty classes; an agent j has skill a_j; all
    agents of one LLM share an error u_i on the item. Two answers, one of them right. In log-odds:

    - round 1: agent j is right with probability ``expit(a_j + theta_i + u_i)``;
    - round t + 1: with probability s (`stubbornness`) it repeats its vote; otherwise it decides again and is
      right with probability ``expit(a_j + theta_i + u_i + c (2 S_t / n - 1))``, where S_t of n votes were
      right in round t, its own included, and c is the `conformity`.

    u_i is Normal(0, `shared_sd`) put on the points of a Gauss-Hermite rule, which keeps the Normal's first
    ``2 shared_points - 1`` moments. So an item's class is finite, and with equal skills and one LLM the number
    of right votes is exactly a Markov chain within a class:
    S_{t+1} = Binomial(S_t, s + (1 - s) q) + Binomial(n - S_t, (1 - s) q), with q the chance above.

    Parameters
    ----------
    difficulties : sequence of (weight, easiness)
        Share of each class among items, summing to 1, and its easiness in log-odds.
    skill : float or sequence of float
        Skill in log-odds, one for all or one per seat.
    stubbornness : float
        Chance that an agent repeats its vote unasked, in [0, 1].
    conformity : float
        Pull of a unanimous panel in log-odds; negative for contrarians.
    shared_sd : float
        Standard deviation of the shared error in log-odds.
    shared_points : int
        Points of the shared error's rule, at most 31.
    llms : sequence of str
        Which LLM sits in each seat; empty when one LLM takes all seats.

    Notes
    -----
    Item response theory (Rasch, 1960) with a logistic pull by the share of the panel, as in the logit dynamics
    of Brock and Durlauf (2001), equation 6, where choices respond to the mean choice.

    Examples
    --------
    >>> Conformity(panel=5, difficulties=[(0.7, 1.5), (0.3, -0.5)], conformity=2.0).skills
    (0.0, 0.0, 0.0, 0.0, 0.0)
    """

    difficulties: tuple[tuple[float, float], ...] = ((0.5, 1.6), (0.3, 0.3), (0.2, -1.0))
    skill: float | tuple[float, ...] = 0.0
    stubbornness: float = 0.5
    conformity: float = 1.5
    shared_sd: float = 0.5
    shared_points: int = 5
    llms: tuple[str, ...] = ()

    name: ClassVar[str] = "conformity"
    citation: ClassVar[str] = (
        "Rasch (1960), Probabilistic Models; Brock and Durlauf (2001), Review of Economic Studies 68"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "difficulties", _classes(self.difficulties))
        if np.ndim(self.skill) == 1:
            values = tuple(number("skill", a) for a in np.asarray(self.skill).tolist())
            if len(values) != self.panel:
                raise ValueError(
                    f"skill must be one number or one per seat ({self.panel}); got {len(values)}"
                )
            object.__setattr__(self, "skill", values)
        else:
            object.__setattr__(self, "skill", number("skill", self.skill))  # type: ignore[arg-type]  # a scalar here
        object.__setattr__(self, "stubbornness", probability("stubbornness", self.stubbornness))
        object.__setattr__(self, "conformity", number("conformity", self.conformity))
        object.__setattr__(self, "shared_sd", number("shared_sd", self.shared_sd, minimum=0.0))
        points = integer("shared_points", self.shared_points, minimum=1)
        if points > 31:
            raise ValueError(f"shared_points must be <= 31; got shared_points={points}")
        object.__setattr__(self, "shared_points", points)
        given: Any = self.llms
        if isinstance(given, str) or len(given) not in (0, self.panel):
            raise ValueError(f"llms must be empty or one name per seat ({self.panel}); got {self.llms!r}")
        object.__setattr__(self, "llms", tuple(map(str, self.llms)))

    @property
    def skills(self) -> tuple[float, ...]:
        """Skill of each seat, in log-odds."""
        return self.skill if isinstance(self.skill, tuple) else (self.skill,) * self.panel


def _classes(given: Any) -> tuple[tuple[float, float], ...]:
    try:
        pairs = tuple(
            (number("difficulties' weight", w), number("difficulties' easiness", e)) for w, e in given
        )
    except (TypeError, ValueError) as error:
        if "difficulties'" in str(error):
            raise
        raise ValueError(f"difficulties must be pairs (weight, easiness); got {given!r}") from None
    total = sum(weight for weight, _ in pairs)
    if not pairs or min(weight for weight, _ in pairs) < 0 or abs(total - 1) > 1e-9:
        raise ValueError(f"difficulties' weights must be >= 0 and sum to 1; got {[w for w, _ in pairs]}")
    return pairs
