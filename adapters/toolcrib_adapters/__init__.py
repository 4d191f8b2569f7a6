"""Technology: sources, stores, search, surfaces, and the composition root that puts them together."""
