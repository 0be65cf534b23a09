"""The parts of :func:`d3stats.calibrate`: parameters, likelihood, simulated moments, checks, words."""
