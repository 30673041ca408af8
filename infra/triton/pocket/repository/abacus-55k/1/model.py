"""Serves this model with the pocket backend three folders up."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from model import TritonPythonModel

__all__ = ["TritonPythonModel"]
