"""d3stats."""
