"""Synthetic agents: one agent of a world at a time, with the law of the world's vectorised sampler.

Who may live here: one file per family of worlds. What an agent says is drawn from a stream named by the seed, the
debate, the agent and the round, so it does not depend on who was asked first.
"""
