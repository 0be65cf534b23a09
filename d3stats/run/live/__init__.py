"""How does an LLM take part in a debate? Any server that speaks the OpenAI chat protocol can be asked.

Needs the extra ``live`` (``pip install "d3stats[live]"``). Nothing is imported from ``openai`` and ``aiolimiter``
before the first call.
"""

from d3stats.run.live.agent import LiveAgent

__all__ = ["LiveAgent"]
