# Every target sets up what it needs: a virtual environment in .venv with the
# package, compiled bytecode and, but for `make run`, its tools. Nothing is
# installed by hand.

PYTHON ?= python3
BIN := .venv/bin
# For the tests of devices. Pinned, because an index may hold this one as a build for the processor alone, where the
# newest would bring gigabytes of CUDA.
TORCH ?= torch==2.13.0

# numba does not notice when a kernel it inlined into another file changes, so
# machine code is kept per state of the kernels.
export NUMBA_CACHE_DIR := $(CURDIR)/.venv/kernels-$(shell find src/opauc -path '*kernels*' -name "*.py" | sort | xargs cat | cksum | cut -d' ' -f1)

.PHONY: run test test-quick test-in-python test-bounds check format docs docs-quick bench paper paper-quick paper-report clean

run: .venv/package
	@$(BIN)/python examples/files_to_report.py

# A process for each core, so one thread of BLAS to each. Threads of LightGBM that wait for each other in loops would keep
# the cores from the other processes.
SHARED_CORES := test test-quick test-in-python test-bounds docs docs-quick .venv/files
$(SHARED_CORES): export OMP_NUM_THREADS := 1
$(SHARED_CORES): export OPENBLAS_NUM_THREADS := 1
$(SHARED_CORES): export MKL_NUM_THREADS := 1
$(SHARED_CORES): export OMP_WAIT_POLICY := PASSIVE

# Whole files go to a process, in their order: what a file sets up is set up once, and two processes seldom compile the
# same kernel. Java does not optimize what runs for seconds only.
test: export SPARK_SUBMIT_OPTS := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
test test-bounds: export OPAUC_FILES := $(CURDIR)/.venv/files
test: .venv/installed .venv/files
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder
	$(MAKE) --no-print-directory --jobs=2 test-in-python test-bounds

# Kernels as Python runs them.
test-in-python: .venv/installed
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q tests/*/kernels

# Hostile files with kernels that check their indices.
test-bounds: .venv/installed .venv/files
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(NUMBA_CACHE_DIR)-bounds $(BIN)/python -m pytest -q tests/security

# The files that become hostile.
.venv/files: .venv/installed $(shell find src/opauc tests -name "*.py")
	rm -rf $@ $@-unfinished
	$(BIN)/python -m tests.security.files $@-unfinished
	mv $@-unfinished $@

# What a change usually breaks, in about a minute on two cores once kernels are compiled (105 s of CPU time): the laws with
# fewer random examples, kernels, formats, metrics, linear solvers, the basics of additive models, train and predict.
# tests/conftest.py says which tests are slow: clusters, torch, browsers, processes, tree ensembles, fuzzing.
test-quick: .venv/installed
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder -m "not slow" tests

check: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q tests/test_docstrings.py tests/test_words.py

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site in docs/_build/html; a warning, such as a link that leads nowhere, is an error. The quick one leaves out the
# examples of the gallery that take long.
docs-quick: export OPAUC_DOCS := quick
docs docs-quick: .venv/installed
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

bench: .venv/installed
	@$(BIN)/python -m benchmarks

# The paper's evaluation: hours on two cores; goes on where it was stopped. One thread of BLAS to a process.
paper paper-quick: export OMP_NUM_THREADS := 1
paper paper-quick: export OPENBLAS_NUM_THREADS := 1
paper: .venv/installed
	$(BIN)/python -m experiments.paper run --profile paper
	$(BIN)/python -m experiments.paper report --profile paper --figure docs/research/paper-running-time.svg

paper-quick: .venv/installed
	$(BIN)/python -m experiments.paper run --profile quick --store run/paper-quick
	$(BIN)/python -m experiments.paper report --profile quick --store run/paper-quick --report run/paper-quick

paper-report: .venv/installed
	$(BIN)/python -m experiments.paper report --profile paper --figure docs/research/paper-running-time.svg

clean:
	rm -rf docs/_build docs/gallery docs/reference/api .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

# pip compiles bytecode on one core, and that of everybody's tests too; packages may hold files for other Pythons, which fail.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
COMPILE := $(BIN)/python -m compileall -qq -j 0 -x /tests/ src .venv/lib || true

# What a user of the package has.
.venv/package: pyproject.toml
	$(PYTHON) -m venv .venv
	$(INSTALL) --editable .
	$(COMPILE)
	touch $@

.venv/installed: .venv/package
	$(INSTALL) --upgrade 'pip>=25.1'
	$(INSTALL) --editable '.[docs]' --group dev '$(TORCH)'
	$(COMPILE)
	touch $@
