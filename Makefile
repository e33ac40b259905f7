# make demo: trace to picture on a fresh machine.  make test: the daily suite.
# Both make .venv and build the kernels first; PYTHON may name another interpreter (>= 3.11).
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
KERNELS := $(wildcard recnmp/kernels/*.pyx recnmp/kernels/*.pxd)

.PHONY: help build test tree clean

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST)

$(VENV)/.deps: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("recnmp needs Python >= 3.11, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "setuptools>=75" "cython>=3.1,<4" "numpy>=2,<3"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[dev]"
	@touch $@

$(VENV)/.built: $(VENV)/.deps setup.py $(KERNELS)
	$(BIN)/python setup.py --quiet build_ext --inplace --parallel 2
	@touch $@

build: $(VENV)/.built  ## make .venv and compile the kernels in place

test: build  ## the daily test suite
	$(BIN)/python -m pytest -q -m "not slow"

# Type and layer checkers do not follow the folder mapping of an editable install: they see this tree.
tree: build
	@mkdir -p build/tree
	@rm -rf build/tree/recnmp && mkdir build/tree/recnmp
	@for f in recnmp/*; do ln -s "$$PWD/$$f" build/tree/recnmp/; done
	@for d in traces rtl analysis; do ln -s "$$PWD/$$d" build/tree/recnmp/$$d; done

clean:  ## remove everything that is built
	rm -rf build dist .venv *.egg-info recnmp/kernels/*.so
