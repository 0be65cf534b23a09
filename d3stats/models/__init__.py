"""What kinds of debate does a log hold, and how far did they move between rounds? Likelihoods and their fits."""
