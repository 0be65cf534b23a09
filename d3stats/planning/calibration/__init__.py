"""The parts of :func:`d3stats.calibrate`: parameters, likelihood, simulated moments, checks, words.

Who may live here: what only a calibration needs. Its public face is ``d3stats.planning.calibration.calibrate``.
"""
