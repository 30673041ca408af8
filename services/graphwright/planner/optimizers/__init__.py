"""Optimizers: pure, synchronous searchers that propose candidates and learn from trials."""
