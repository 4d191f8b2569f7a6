"""Technology: sources, stores, search, surfaces, and the composition root over them."""
