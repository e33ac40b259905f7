# Each target does its own set-up: a virtual environment in .venv, the compiled kernels, what it needs.
# PYTHON names another interpreter (>= 3.11); RECNMP_DEBUG=1 builds the kernels with bounds checks.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
KERNELS := $(wildcard recnmp/kernels/*.pyx recnmp/kernels/*.pxd)
# The stamp names the kind of build, since a change of flags alone makes nothing out of date.
BUILT  := $(VENV)/.built$(if $(filter 1,$(RECNMP_DEBUG)),-debug)
STALE  := $(filter-out $(BUILT),$(VENV)/.built $(VENV)/.built-debug)

.PHONY: help build demo test test-all debug-test lint format types layers tree bench clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

$(VENV)/.deps: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "recnmp needs Python >= 3.11; PYTHON=... names one, '$(PYTHON)' is none" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "recnmp needs Python >= 3.11, $(PYTHON) is %d.%d; PYTHON=... names another" % v[:2])'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv: install it (Debian: python3-venv)" >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig as s; h = os.path.join(s.get_path("include"), "Python.h"); sys.exit(not os.path.exists(h) and "no " + h + ": install the headers of Python (Debian: python3-dev)")'
	@command -v $${CC:-cc} >/dev/null || { echo "no C compiler '$${CC:-cc}': install one (Debian: gcc), or name it in CC" >&2; exit 1; }
	@echo "setting up $(VENV) (once, some 100 MB)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $(VENV)/build-requires.txt
	@$(PIP) install -r $(VENV)/build-requires.txt
	@$(PIP) install --no-build-isolation -e .
	@touch $@

# What tests and checks need beside the package; a demo does without.
$(VENV)/.dev: $(VENV)/.deps
	@$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*(need for extra in extras.values() for need in extra if not need.startswith("recnmp[")), sep="\n")' > $(VENV)/dev-requires.txt
	@$(PIP) install -r $(VENV)/dev-requires.txt
	@touch $@

$(BUILT): $(VENV)/.deps setup.py $(KERNELS)
	@echo "compiling the kernels$(if $(filter 1,$(RECNMP_DEBUG)), with bounds checks)"
	@$(BIN)/python setup.py --quiet build_ext --inplace $(if $(wildcard $(STALE)),--force) > $(VENV)/build.log 2>&1 \
	  || { cat $(VENV)/build.log; exit 1; }
	@rm -f $(STALE)
	@touch $@

build: $(BUILT)  ## make .venv and compile the kernels in place

# 2 batches of 256 samples in 8 tables of a million rows, 80 lookups a pooling, rows of 256 bytes.
demo: build  ## from a trace to the picture: a production-like trace, then an imported log
	@mkdir -p out/demo
	$(BIN)/recnmp trace generate 2021-x16 --dim 64 --batches 2 --seed 1 -o out/demo/production.parquet
	$(BIN)/recnmp simulate out/demo/production.parquet --system recnmp-base recnmp-cache recnmp-sched --out out/demo/production
	@echo
	@echo "And a log of one's own: who was shown what, when (1,500 records of the Open Bandit Dataset)."
	$(BIN)/recnmp trace import tests/data/openbandit-excerpt.csv --time timestamp --item item_id \
	  --user user_feature_0,user_feature_1,user_feature_2,user_feature_3 --dim 64 -o out/demo/log.parquet
	$(BIN)/recnmp trace info out/demo/log.parquet
	$(BIN)/recnmp simulate out/demo/log.parquet --out out/demo/log

test: build $(VENV)/.dev  ## the daily test suite
	$(BIN)/python -m pytest -q -m "not slow"

test-all: build $(VENV)/.dev  ## the daily suite and the slow tests
	$(BIN)/python -m pytest -q

# In a copy with an environment of its own, so that the optimised build stays as it is.
DEBUG_COPY := build/debug
debug-test:  ## the whole suite on kernels with bounds checks
	@mkdir -p $(DEBUG_COPY)
	@find $(DEBUG_COPY) -mindepth 1 -maxdepth 1 ! -name .venv ! -name build -exec rm -rf {} +
	@tar -cf - --exclude=./.git --exclude=./.venv --exclude=./build --exclude=./out --exclude='*.so' --exclude='*.egg-info' . | tar -xf - -C $(DEBUG_COPY)
	@RECNMP_SHARED="$${RECNMP_SHARED:-$(CURDIR)/../shared}" $(MAKE) --no-print-directory -C $(DEBUG_COPY) VENV=.venv RECNMP_DEBUG=1 test-all

lint: build $(VENV)/.dev  ## ruff, its formatter and cython-lint
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	PATH="$$(cd $(BIN) && pwd):$$PATH" cython-lint recnmp/kernels

format: build $(VENV)/.dev  ## let ruff sort imports and lay out the code
	$(BIN)/python -m ruff check --fix-only .
	$(BIN)/python -m ruff format .

# Type and layer checkers do not follow the folder mapping of an editable install: they see this tree.
tree: build $(VENV)/.dev
	@$(BIN)/python tests/checked_tree.py build/tree >/dev/null

types: tree  ## mypy --strict
	$(BIN)/python -m mypy -p recnmp

layers: tree  ## what may import what (import-linter)
	cd build/tree && PYTHONPATH="$(CURDIR)/tests" "$(abspath $(BIN))/lint-imports" --no-logo --no-cache "$(CURDIR)/pyproject.toml"

bench: build  ## measure the kernels and write the table of docs/performance.md
	$(BIN)/python benchmarks/run.py

clean:  ## remove everything that is built
	rm -rf build dist out $(VENV) *.egg-info recnmp/kernels/*.so .pytest_cache .hypothesis .ruff_cache
