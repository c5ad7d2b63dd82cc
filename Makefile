# Every target sets up what it needs: a virtual environment in .venv with the
# package, its tools and compiled bytecode. Nothing is installed by hand.

PYTHON ?= python3
BIN := .venv/bin

# numba does not notice when a kernel it inlined into another file changes, so
# machine code is kept per state of the kernels.
export NUMBA_CACHE_DIR := $(CURDIR)/.venv/kernels-$(shell find src/opauc/kernels -name "*.py" | sort | xargs cat | cksum | cut -d' ' -f1)

.PHONY: run test check format bench clean

run: .venv/installed
	@$(BIN)/python examples/files_to_report.py

test: .venv/installed
	$(BIN)/python -m pytest -q -n auto
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n auto tests/kernels

check: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: .venv/installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/installed
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m compileall -q -j 0 src
	touch $@
