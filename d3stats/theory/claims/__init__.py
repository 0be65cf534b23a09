"""The claims, one file per source; :func:`d3stats.theory.claims` finds every module here that has ``CLAIMS``."""
