"""Named streams of random numbers: what a stream gives depends on its name alone."""

from __future__ import annotations

import hashlib
import struct
from statistics import NormalDist

import numpy as np

from d3stats._check import integer

__all__ = ["LARGEST_NORMAL", "Stream", "Streams"]

_EIGHT = struct.Struct("<8Q")
_STEP = 2.0**-52
_normal = NormalDist().inv_cdf

LARGEST_NORMAL = _normal(1 - 2.0**-53)
"""No stream gives a normal variable beyond this, 8.2: what makes the longest message finite."""


class Stream:
    """Random numbers that depend on a name alone: blake2b in counter mode.

    Examples
    --------
    >>> a, b = Streams(7).of("d1", "vote", "juror 1", 2), Streams(7).of("d1", "vote", "juror 1", 2)
    >>> a.uniform() == b.uniform(), 0 < a.uniform() < 1
    (True, True)
    """

    __slots__ = ("_block", "_hash", "_left")

    def __init__(self, named: hashlib.blake2b) -> None:
        self._hash, self._block, self._left = named, 0, list[float]()

    def uniform(self) -> float:
        """Return one number strictly between 0 and 1."""
        if not self._left:
            block = self._hash.copy()
            block.update(self._block.to_bytes(8, "little"))
            self._block += 1
            self._left = [((x >> 12) + 0.5) * _STEP for x in _EIGHT.unpack(block.digest())]
        return self._left.pop()

    def normal(self) -> float:
        """Return one standard normal number."""
        return _normal(self.uniform())

    def normals(self, n: int) -> list[float]:
        """Return n standard normal numbers."""
        return [_normal(self.uniform()) for _ in range(n)]

    def rounded(self, value: float) -> int:
        """Round up or down at random, so that the mean is kept."""
        return int(value + self.uniform())


class Streams:
    """The streams of a seed; a stream is opened by its name, so no order of calls can matter.

    Parameters
    ----------
    seed : int
        At least 0.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = integer("seed", seed, minimum=0)
        self._hash = hashlib.blake2b(str(self.seed).encode(), person=b"d3stats")

    def of(self, *names: str | int) -> Stream:
        """Open the stream of this name."""
        named = self._hash.copy()
        named.update(repr(names).encode("utf-8", "surrogatepass"))
        return Stream(named)

    def generator(self, *names: str | int) -> np.random.Generator:
        """Open the same kind of stream as a numpy generator, for the simulators' own code; ten times slower."""
        named = self._hash.copy()
        named.update(repr(("numpy", *names)).encode("utf-8", "surrogatepass"))
        words = np.frombuffer(named.digest(), dtype=np.uint32)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))
