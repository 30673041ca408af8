"""Runs the executor: `python -m graphwright.executor`."""

from graphwright.executor.app import main

main()
