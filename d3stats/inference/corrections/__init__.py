"""Behind `correction` and `prediction_powered`: limits of corrected rates, sums of judged and labelled items."""
