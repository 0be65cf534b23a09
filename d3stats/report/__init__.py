"""One page about one or several logs, and tables as people read them.

Floor 6, below the command line. Who may live here: what calls the public functions of the floors below and shows
their results. It computes nothing itself.
"""
