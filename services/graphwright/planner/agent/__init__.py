"""The agent that guides an optimizer: a port and its rule-based adapter."""
