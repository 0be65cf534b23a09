"""The attempts of one call: what is set aside for them, and whether another one may be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from d3stats.agents.request import Reply

if TYPE_CHECKING:
    from d3stats.debates.budget import Hold
    from d3stats.debates.calls import Calls

__all__ = ["Attempts"]


class Attempts:
    """What one call holds, on disk before it is spent.

    Parameters
    ----------
    calls : Calls
        Whose journal, prices and end these are.
    key : tuple of (str, int, str)
        Debate, round and agent.
    model : str or None
    hold : Hold
        The bound of one attempt.
    longest : Reply
        An imagined reply with the tokens of that bound.

    Attributes
    ----------
    held : tuple of int
        Tokens that are set aside, of prompt and completion.
    stopped : bool
        Whether another attempt was forbidden because the run is being ended.
    """

    def __init__(
        self, calls: Calls, key: tuple[str, int, str], model: str | None, hold: Hold, longest: Reply
    ) -> None:
        self._calls, self._key, self._model, self._hold = calls, key, model, hold
        self._bound = (int(longest.tokens_in or 0), int(longest.tokens_out or 0))
        self.held = self._bound
        self.stopped = False

    def more(self, tokens: int, spent: int | None = None, /) -> bool:
        """Say whether a further attempt may be made, and set its bound aside.

        Parameters
        ----------
        tokens : int
            The most that it can cost.
        spent : int, optional
            What the attempts so far have or may have cost; without it all that was set aside for them.
        """
        calls = self._calls
        if calls.halted:
            self.stopped = True
            return False
        tariff = calls.reserve.tariff
        so_far = self.held if spent is None else tariff.dearest(self._model, spent)
        # No attempt costs more than the bound, on either side.
        following = tariff.dearest(self._model, tokens, self._bound)
        held = (so_far[0] + following[0], so_far[1] + following[1])
        if not self._hold.change(tariff.cost(self._model, *held)):
            return False
        self.held = held
        calls.journal.write({"more": self._key, "held": held})
        return True

    def settle(self, tokens_in: int | None, tokens_out: int | None) -> tuple[int, int]:
        """End the call at these tokens, or at all that it holds when they are not known; return them."""
        if tokens_in is None or tokens_out is None:
            tokens_in, tokens_out = self.held
        charged = (tokens_in, tokens_out)
        self._hold.settle(self._calls.reserve.tariff.cost(self._model, *charged))
        return charged
