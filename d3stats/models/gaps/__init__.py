"""What the posteriors of gaps and wins share. `gap`, `signed_gap` and `wins` are its faces."""
