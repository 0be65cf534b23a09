"""Every debate system of the literature, one small state machine per file, on one engine.

Who may live here: protocols (who speaks when, what each agent sees, what is extracted, when it ends), the engine that
plays one debate, the run that plays many within a budget and goes on after a crash, and the forecast of what it will
cost. What an agent is, is in ``d3stats.agents``; when to stop, in ``d3stats.stopping``.
"""

from d3stats.protocols.catalogue import protocol_from_text, protocols
from d3stats.protocols.engine import drive, play_sync
from d3stats.protocols.items import DebateItem, read_items
from d3stats.protocols.play import Outcome, RoundOver, Speak
from d3stats.protocols.protocol import DebateProtocol

__all__ = [
    "DebateItem",
    "DebateProtocol",
    "Outcome",
    "RoundOver",
    "Speak",
    "drive",
    "play_sync",
    "protocol_from_text",
    "protocols",
    "read_items",
]
