"""The claims, one file per source; :func:`d3stats.theory.claims` finds every module here that has ``CLAIMS``.

Who may live here: claims, each in the file of the work that makes it, and what is stated and proved in this package in
`proved_here`. A claim computes with `models` and never with random numbers; its instances come from `instances`.
"""
