"""How do judges vote when the right answer is hidden? Models of a panel's votes, fitted to arrays."""
