# `make demo` and `make test` need nothing but Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo demo-dask test lint types format docs figures bench bench-full bench-rivals bench-paper soak conformance clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: $(VENV)/.report  ## fit the estimators on data that ships with scikit-learn, print a table, write a report
	$(BIN)/python examples/demo.py

demo-dask: $(VENV)/.dask  ## fit on the workers of a local Dask cluster, one of which is killed on the way
	$(BIN)/python examples/demo_dask.py

test: $(VENV)/.test  ## the whole test suite (SPARSEBAYES_DATA names the folder of the paper's data sets)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto  # the processes share the cores

lint: $(VENV)/.dev  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## types
	$(BIN)/mypy

format: $(VENV)/.dev  ## rewrite in house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs  ## the documentation with its gallery, in docs/_build/html; links within it are checked
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

figures: $(VENV)/.dev  ## the figures and the tables of rivals in the guide and the README, from committed results
	$(BIN)/python -m docs.figures
	$(BIN)/python -m benchmarks.rivals.tables

bench: $(VENV)/.dev  ## the benchmarks at quick settings: the gate of continuous integration
	$(BIN)/python -m benchmarks.passes --quick
	$(BIN)/python -m benchmarks.reading --quick
	$(BIN)/python -m benchmarks.growth --quick
	$(BIN)/python -m benchmarks.kernels --quick
	$(BIN)/python -m benchmarks gate

bench-full: $(VENV)/.dev  ## the benchmarks at full size, with the rivals; writes benchmarks/results
	$(BIN)/python -m benchmarks.passes
	$(BIN)/python -m benchmarks.reading
	$(BIN)/python -m benchmarks.growth
	$(BIN)/python -m benchmarks.kernels
	$(BIN)/python -m benchmarks.checkpoints
	$(BIN)/python -m benchmarks.out_of_core
	$(BIN)/python -m benchmarks.cluster
	$(MAKE) bench-rivals
	$(MAKE) bench-paper

# A part that misses a limit does not keep the others from running.
bench-rivals: $(VENV)/.rivals  ## our solvers against rivals, hours from nothing; cells with a record are not run again
	@status=0; for part in wide figure timing small_kernels large_kernels rvm_packages; do \
	  $(BIN)/python -m benchmarks.rivals.$$part || status=1; \
	done; exit $$status

PLANS := $(addprefix paper/,$(addsuffix .yaml,table2 table5 table5b table6 figure5 experiments))

bench-paper: $(VENV)/.dev  ## the paper's tables and figures, and docs/reproduction.md; a day from nothing, cells with a record are not run again
	$(BIN)/python -m benchmarks run $(PLANS) --n-jobs 2
	$(BIN)/python -m benchmarks tables
	$(BIN)/python -m benchmarks page

# A part that misses a limit does not keep the others from running.
soak: $(VENV)/.dev  ## faults in numbers, 50 of each and 20 workers killed at random moments, and 2000 fits in one process; writes benchmarks/results
	@status=0; for part in checkpoints workers faults process; do \
	  $(BIN)/python -m benchmarks.soak_$$part || status=1; \
	done; exit $$status

conformance: $(VENV)/.dev  ## the rows of the conformance suite, ours and rivals', and docs/reliability.md
	$(BIN)/python -m benchmarks.conformance

clean:  ## remove what the other targets made
	rm -rf $(VENV) docs/_build docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "sparsebayes needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@
