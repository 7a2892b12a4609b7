# make repro: everything from raw documents to the results table. make test: all tests. make check: lint and types.
# make bench: every fast path against its plain baseline (a quarter of an hour; BENCH='--device cuda' on a GPU).
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: repro test check bench format deps clean help

help:
	@sed -n 's/^# //p' Makefile | sed 's/\. /\n/g'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

repro: $(STAMP)
	PATH="$(BIN):$$PATH" dvc repro
	@cat reports/results.md

test: $(STAMP)
	PATH="$(BIN):$$PATH" OMP_NUM_THREADS=1 python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

BENCH ?=
bench: $(STAMP)
	$(BIN)/python -W ignore -m benchmarks --out benchmarks/results.json $(BENCH)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

deps: $(STAMP)
	$(BIN)/python -m tools.sync_deps

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
