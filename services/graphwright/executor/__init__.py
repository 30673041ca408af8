"""The graph-executor service: runs batches of collaboration graphs on served models."""
