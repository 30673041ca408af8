# Graphwright: `make demo` sees it work, `make test` checks it, `make help` lists the rest.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := services tests infra proto

.PHONY: help setup demo test lint types format proto pocket bench clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "%-10s %s\n", $$1, $$2}'

setup: .venv/.ready ## make .venv with everything that runs on one machine

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup ## search on real servers with real (very small) models, start to end
	$(BIN)/graphwright demo

test: setup ## all tests but the bench and the longest faults
	$(BIN)/pytest -m "not long" tests/unit tests/contract tests/integration tests/e2e tests/faults

lint: setup types ## ruff, mypy strict, import rules, proto drift
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/lint-imports
	$(BIN)/python proto/generate.py --check

types: setup ## mypy strict
	$(BIN)/mypy

format: setup ## rewrite the sources in the house style
	$(BIN)/ruff check --fix --quiet $(SOURCES) || true
	$(BIN)/ruff format $(SOURCES)

proto: setup ## regenerate the Python code of the contracts
	$(BIN)/python proto/generate.py

bench: setup ## measure our own machinery against baselines
	$(BIN)/pytest tests/bench -s

pocket: setup ## train and measure the pocket models anew (needs torch: the `train` extra)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[train]'
	$(BIN)/python infra/triton/pocket/train.py
	$(BIN)/python infra/triton/pocket/measure.py

clean: ## remove what was built
	rm -rf .venv var build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
