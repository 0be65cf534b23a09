"""d3stats: the statistics of LLM debates."""
