"""Runs the planner: `python -m graphwright.planner`."""

from graphwright.planner.app import main

main()
