"""The same models with priors: what to believe after a log, and not which value fits best.

Who may live here: one Bayesian model per file, `result` (what a fit returns) and `_stack`, the one module that
knows PyMC, PyTensor and ArviZ. They come with the extra ``bayes`` (``pip install 'd3stats[bayes]'``), in either
generation: PyMC 5 with ArviZ 0.23, PyMC 6 with ArviZ 1.
"""
