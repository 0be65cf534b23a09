"""Who is better, from judgments of two at a time? Models of paired comparisons, fitted to arrays."""
