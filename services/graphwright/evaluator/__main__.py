"""Runs the evaluator: `python -m graphwright.evaluator`."""

from graphwright.evaluator.app import main

main()
