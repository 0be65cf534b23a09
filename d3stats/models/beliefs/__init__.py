"""Beliefs over latent concepts: their laws after responses, on average, and at consensus. `latent` is its face."""
