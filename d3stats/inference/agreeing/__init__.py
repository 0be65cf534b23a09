"""Behind the coefficients of agreement and correlation: tables of ratings, chance agreement, limits."""
