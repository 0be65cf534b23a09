"""A live LLM as an agent: any server that speaks the OpenAI chat protocol.

``agent`` asks, ``prompt`` writes and bounds a request, ``reply`` reads a slot, ``responses`` says what came back,
``dialect`` what the server takes, ``limits`` how fast, ``access`` where and with which key. Nothing is imported from
``openai``, ``tenacity`` and ``aiolimiter`` before the first call.
"""

from d3stats.run.live.agent import LiveAgent

__all__ = ["LiveAgent"]
