"""What the services tell their operators: metrics, logs, health, and how they stop."""
