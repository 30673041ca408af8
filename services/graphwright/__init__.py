"""Graphwright: searches for compute-optimal collaboration graphs of language models."""
