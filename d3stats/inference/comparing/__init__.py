"""Behind `runs`, `paired` and `compare`: reading runs, pairing them, intervals and tests of a paired difference."""
