"""Behind `jury`: exact accuracies of panels, their sums over items, what a juror is worth."""
