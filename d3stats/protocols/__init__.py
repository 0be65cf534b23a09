"""Every debate system of the literature, one small state machine per file, on one engine.

Who may live here: protocols (who speaks when, what each agent sees, what is extracted, when it ends), what they share,
and the engine that plays one debate. They know nothing of files, money or time; many debates are run by
``d3stats.run``. What an agent is, is in ``d3stats.agent``; when to stop, in ``d3stats.stopping``.
"""

from d3stats.protocols.catalogue import protocol_from_text, protocols
from d3stats.protocols.play import DebateProtocol, Outcome, RoundOver, Speak, drive, play_sync
from d3stats.protocols.recorded import ReplayAgent

__all__ = [
    "DebateProtocol",
    "Outcome",
    "ReplayAgent",
    "RoundOver",
    "Speak",
    "drive",
    "play_sync",
    "protocol_from_text",
    "protocols",
]
