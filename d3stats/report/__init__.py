"""What does the package say about my logs, on one page?

:func:`d3stats.report` calls the public functions of the package and shows their results.
"""
