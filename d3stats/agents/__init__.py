"""Who takes part in a debate: what an agent is asked, what it says, and the agents themselves.

Who may live here: the interface (``request``), synthetic agents that have the law of a world, agents that answer
from a log, and the thin adapter to a live LLM. An agent knows nothing of protocols, logs or stopping rules: it
gets a request and gives a reply.
"""

from d3stats.agents.request import Agent, Case, Message, Refused, Reply, Request, Rubric, Slot

__all__ = ["Agent", "Case", "Message", "Refused", "Reply", "Request", "Rubric", "Slot"]
