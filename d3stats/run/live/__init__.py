"""A live LLM as an agent: any server that speaks the OpenAI chat protocol.

Who may live here: how a request becomes messages, how a reply is read, the call with its retries, the rate limit.
Nothing is imported from ``openai`` before the first call. The key comes from the environment and goes nowhere else.
"""

from d3stats.run.live.agent import LiveAgent

__all__ = ["LiveAgent"]
