"""The evaluator service: grades answers against references."""
