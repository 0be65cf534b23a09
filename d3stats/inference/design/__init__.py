"""Behind `power`: the laws of the tests, what a design implies for their error, and what a pilot can tell."""
