"""The `graphwright` command."""
