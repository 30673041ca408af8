"""Pools of language models: model cards and the pool files that list them."""
