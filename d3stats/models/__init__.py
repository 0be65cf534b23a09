"""Likelihoods and their fits: what kinds of debate a log holds, and how far they moved between rounds.

Who may live here: one likelihood or distance per file, as functions of arrays and counts. Nothing here reads a
log or decides when to stop. Modules with a leading underscore are the machinery of the fits.
"""
