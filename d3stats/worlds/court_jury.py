"""The exact law of the votes of a courtroom's jury, by quadrature: accuracies, agreement, juries drawn from a pool.

Jurors of a :class:`~d3stats.worlds.Courtroom` vote independently of each other, given the category of the question, how
much better the better answer looks to all of them, and whether the label names that answer. So the joint law of their
votes is a mixture of independent votes. All results are computed from it, without drawing a debate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from d3stats._arrays import Floats
from d3stats._check import choice, integer, meant
from d3stats.worlds.courtroom import Courtroom, shown_share

__all__ = ["JuryLaw", "jury_law"]


@dataclass(frozen=True, eq=False, repr=False)
class JuryLaw:
    """Votes of jurors as a mixture of independent votes; made by :func:`jury_law`.

    Attributes
    ----------
    jurors : tuple of str
        The personas' names; "juror 1", "juror 2", ... without personas.
    categories : tuple of str
    weight : ndarray of float, shape (nodes,)
        Probabilities of the mixture; they add up to 1.
    right : ndarray of float, shape (nodes, jurors)
        Probability that each juror votes for the label, given the node.
    category : ndarray of int, shape (nodes,)
        Index into `categories`.

    Examples
    --------
    >>> law = jury_law(Courtroom(protocol="more", advocates=3))
    >>> law.jurors[:2], law.accuracy()[:2].round(3).tolist(), law.agreement()[0, :2].round(3).tolist()
    (('juror 1', 'juror 2'), [0.836, 0.836], [1.0, 0.882])
    >>> round(law.majority(), 3), round(law.majority(law.jurors[:1]), 3), round(law.random_majority(3), 3)
    (0.851, 0.836, 0.848)
    >>> round(float(law.of(law.categories[0]).weight.sum()), 6)
    1.0
    """

    jurors: tuple[str, ...]
    categories: tuple[str, ...]
    weight: Floats
    right: Floats
    category: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"JuryLaw({len(self.jurors)} jurors, {len(self.categories)} categories)"

    def of(self, category: str) -> JuryLaw:
        """Return the law on the questions of one category."""
        at = self.categories.index(choice("category", category, self.categories))
        here = self.category == at
        weight = self.weight[here]
        return JuryLaw(
            self.jurors,
            (category,),
            weight / weight.sum(),
            self.right[here],
            np.zeros(int(here.sum()), np.int64),
        )

    def accuracy(self) -> Floats:
        """Return how often each juror votes for the label, shape (jurors,)."""
        found: Floats = self.weight @ self.right
        return found

    def agreement(self) -> Floats:
        """Return how often two jurors vote alike, shape (jurors, jurors); 1 on the diagonal."""
        wrong = 1 - self.right
        weighted = self.weight[:, None]
        both: Floats = (weighted * self.right).T @ self.right + (weighted * wrong).T @ wrong
        np.fill_diagonal(both, 1.0)
        return both

    def majority(self, jurors: Sequence[str] | None = None) -> float:
        """Return how often more than half of some jurors vote for the label; a tie counts half.

        Parameters
        ----------
        jurors : sequence of str, optional
            By name; by default all.
        """
        right = self.right[:, self._seats(jurors)]
        law = np.zeros((len(right), right.shape[1] + 1))
        law[:, 0] = 1.0
        for p in right.T[:, :, None]:
            grown = law * (1 - p)
            grown[:, 1:] += law[:, :-1] * p
            law = grown
        return float(self.weight @ _won(law, right.shape[1]))

    def random_majority(self, size: int, jurors: Sequence[str] | None = None) -> float:
        """Return the mean of :meth:`majority` over all juries of this size out of some jurors.

        Parameters
        ----------
        size : int
        jurors : sequence of str, optional
            The pool, by name; by default all.
        """
        right = self.right[:, self._seats(jurors)]
        size = integer("size", size, minimum=1, maximum=right.shape[1])
        # Entry (m, s): the sum, over the juries of m of the jurors so far, of the probability of s right votes.
        law = np.zeros((size + 1, size + 1, len(right)))
        law[0, 0] = 1.0
        for p in right.T:
            grown = law.copy()
            grown[1:, 1:] += law[:-1, :-1] * p
            grown[1:] += law[:-1] * (1 - p)
            law = grown
        juries = math.comb(right.shape[1], size)
        return float(self.weight @ _won(law[size].T, size)) / juries

    def _seats(self, jurors: Sequence[str] | None) -> list[int]:
        if jurors is None:
            return list(range(len(self.jurors)))
        unknown = [name for name in jurors if name not in self.jurors]
        if unknown or len(set(jurors)) < len(jurors) or not len(jurors):
            got = f"{unknown[0]!r}{meant(unknown[0], self.jurors)}" if unknown else f"{list(jurors)}"
            raise ValueError(f"jurors must be different jurors of the law, at least one; got {got}")
        return [self.jurors.index(name) for name in jurors]


def _won(law: Floats, size: int) -> Floats:
    """Return the chance of a majority, given the law of the number of right votes in the last axis; a tie is half."""
    right = np.arange(size + 1)
    won: Floats = law @ ((np.sign(2 * right - size) + 1) / 2)
    return won


def jury_law(world: Courtroom, round_number: int = 1) -> JuryLaw:
    r"""Compute the exact joint law of the jurors' votes after a round, by quadrature.

    Toward the better answer all jurors see the same :math:`T = |q|\,\bar s + \Delta + b + \text{shared errors}`, with
    :math:`\bar s` the mean share of the gap that the rounds showed and :math:`\Delta` the mean difference of the
    arguments. A juror votes for the better answer with probability :math:`\Phi((T + e_j) / \sigma)`, independently of
    the others given T, :math:`\sigma` being its own error. Which answer the label names depends on q alone. The
    density of T is integrated over the law of q, the bias, and for several advocates the largest of k normal
    variables.

    Parameters
    ----------
    world : Courtroom
        With ``temperature=0`` where several advocates differ.
    round_number : int
        After which round the jurors vote; 1 where several advocates differ.

    Returns
    -------
    JuryLaw

    Raises
    ------
    ValueError
        When jurors have no error of their own, or the joint strength of several advocates has no law here.

    References
    ----------
    Condorcet (1785) for independent votes; Boland, Proschan and Tong (1989), Journal of Applied Probability 26, 81,
    for dependent ones.

    Examples
    --------
    >>> plain = jury_law(Courtroom(protocol="more", advocates=3, plain_diversity=0.0))
    >>> apart = jury_law(Courtroom(protocol="more", advocates=3, plain_diversity=1.0))
    >>> [round(float(law.accuracy()[0]), 3) for law in (plain, apart)]
    [0.836, 0.836]
    >>> [round(law.majority(), 3) for law in (plain, apart)]
    [0.841, 0.851]
    """
    rounds = integer(
        "round_number", round_number, minimum=1, maximum=None if world.protocol == "samre" else 1
    )
    diversity = world.persona_diversity if world.personas else world.plain_diversity
    own = math.hypot(math.sqrt(diversity) * world.juror_persona, world.juror_noise)
    if own == 0:
        raise ValueError(
            "jurors must have an error of their own (juror_noise, or juror_persona and a diversity above 0); got none"
        )
    apart = world.advocate_sd * math.sqrt(1 - world.advocate_correlation)
    reworded = world.prompt_sd * math.sqrt(1 - world.prompt_alike)
    # What each advocate of the better answer, and of the other, has of its own.
    stronger, weaker = math.hypot(world.upside * apart, reworded), math.hypot(apart, reworded)
    several = world.advocates > 1 and weaker > 0
    if several and (rounds > 1 or world.temperature > 0):
        raise ValueError(
            "several advocates that differ must have temperature=0 and one round for an exact law; got "
            f"advocates={world.advocates}, temperature={world.temperature:g}, round_number={rounds}"
        )
    both = 1 + world.upside**2
    variance = [
        world.advocate_sd**2 * world.advocate_correlation * both,
        0.0 if several else apart**2 * both / rounds + 2 * reworded**2,
        2 * world.prompt_sd**2 * world.prompt_alike,
        (world.verbosity_bias * world.length_sd) ** 2,
        world.juror_shared**2,
        world.juror_persona**2 * (1 - diversity),
    ]
    spread = math.sqrt(sum(variance))
    noise = _Noise(spread, weaker if several else 0.0, world.advocates, stronger / weaker if several else 1.0)
    shown = float(np.mean(shown_share(world, np.arange(rounds))))
    effects, share = world.persona_effects(), np.array([c.share for c in world.categories], dtype=float)
    weights, rights, categories = [], [], []
    for at, category in enumerate(world.categories):
        gap, mass = _sizes(category.gap, category.spread, world.label_noise)
        centre, chance = _biases(world)
        named = _normal_cdf(gap / world.label_noise) if world.label_noise > 0 else np.ones_like(gap)
        middle = (shown * gap[:, None] + centre).ravel()
        for toward, probability in ((True, named), (False, 1 - named)):
            seen, weight = noise.law(middle, ((mass * probability)[:, None] * chance).ravel(), own)
            better = _normal_cdf((seen[:, None] + effects[:, at]) / own)
            weights.append(share[at] / share.sum() * weight)
            rights.append(better if toward else 1 - better)
            categories.append(np.full(len(weight), at))
    weight = np.concatenate(weights)
    names = tuple(p.name for p in world.personas) or tuple(f"juror {j + 1}" for j in range(world.panel))
    return JuryLaw(
        names,
        tuple(c.name for c in world.categories),
        weight / weight.sum(),
        np.concatenate(rights),
        np.concatenate(categories),
    )


def _normal_cdf(x: Any) -> Floats:
    from scipy.special import ndtr

    found: Floats = ndtr(x)
    return found


def _legendre(low: float, high: float, n: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(n)
    return low + (high - low) * (x + 1) / 2, w * (high - low) / 2


_FAR = 8.5
"""Standard deviations beyond which a normal variable is left out; two-sided probability 2e-17."""


def _phi(z: Floats) -> Floats:
    found: Floats = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return found


def _sizes(gap: float, spread: float, label_noise: float) -> tuple[Floats, Floats]:
    """Return points and weights of the law of abs(gap + spread Z)."""
    if spread == 0:
        return np.array([gap]), np.ones(1)
    # The chance that the label names the better answer rises over some label_noise from 0.
    n = 60 if label_noise == 0 else min(60 + math.ceil(20 * spread / label_noise), 1000)
    x, w = _legendre(max(0.0, gap - _FAR * spread), gap + _FAR * spread, n)
    return x, w * (_phi((x - gap) / spread) + _phi((x + gap) / spread)) / spread


def _biases(world: Courtroom) -> tuple[Floats, Floats]:
    """Return the biases toward the better answer that are no normal variable, and their chances."""
    toward_a = np.array([world.position_bias, world.position_bias + world.self_preference])
    chance = np.array([1 - world.own_family, world.own_family])
    return np.concatenate([toward_a, -toward_a]), np.concatenate([chance, chance]) / 2


class _Noise:
    """The law of spread Z + apart (u M - M'), with M and M' each the largest of k standard normal variables."""

    def __init__(self, spread: float, apart: float, k: int, upside: float) -> None:
        self.spread, self.apart, self.k, self.upside = spread, apart, k, upside

    def law(self, middle: Floats, mass: Floats, own: float) -> tuple[Floats, Floats]:
        """Return points and weights of the sum of a discrete variable and this noise, as fine as `own` needs."""
        scales = [scale for scale in (self.spread, self.apart) if scale > 0]
        if not scales:
            return middle, mass
        # A sum over an even grid is as good as the integral of a function that is smooth on this scale.
        step, far = min(*scales, own) / 4, _FAR * self.spread
        if self.spread:
            at = np.arange(middle.min() - far, middle.max() + far + step, step)
            density = _phi((at[:, None] - middle) / self.spread) @ mass / self.spread
        if not self.apart:
            return at, density * step
        reach = _FAR * self.apart * (1 + self.upside)
        if not self.spread:
            at = np.arange(middle.min() - reach, middle.max() + reach + step, step)
            return at, np.array([self._difference(point - middle) @ mass for point in at]) * step
        n = math.ceil(reach / step)
        kernel = self._difference(np.asarray(step * np.arange(-n, n + 1), dtype=np.float64))
        at = at[0] + step * np.arange(-n, len(at) + n)
        return at, np.convolve(density, kernel) * step**2

    def _difference(self, y: Floats) -> Floats:
        """Return the density of apart (u M - M')."""
        x, w = _legendre(-_FAR, _FAR, 120)
        # Given M, that of M' at u M - y / apart.
        density = _largest(self.upside * x - y[:, None] / self.apart, self.k)
        found: Floats = density @ (w * _largest(x, self.k)) / self.apart
        return found


def _largest(x: Floats, k: int) -> Floats:
    """Return the density of the largest of k standard normal variables."""
    found: Floats = k * _phi(x) * _normal_cdf(x) ** (k - 1)
    return found
