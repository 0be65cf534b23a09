"""Behind `proportion` and `mcnemar`: limits of a share and binomial tails."""
