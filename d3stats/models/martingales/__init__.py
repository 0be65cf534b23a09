"""Increments of a logged share, and what is estimated from them by cluster. `martingale` is its face."""
