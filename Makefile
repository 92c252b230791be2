# `make demo` builds a knowledge base from the sample sources; `make test` runs everything CI runs.

PYTHON ?= python3
BIN := .venv/bin
export LIGHTRAG_HOME ?= demo
export LIGHTRAG_SOURCES ?= examples/sources

.PHONY: setup demo ui test test-long docs format clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
		|| { echo "Python 3.11, 3.12 or 3.13 is needed; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup
	$(BIN)/lightrag-dagster demo

ui: setup
	@mkdir -p "$(abspath $(LIGHTRAG_HOME))/dagster"
	DAGSTER_HOME="$(abspath $(LIGHTRAG_HOME))/dagster" $(BIN)/dg dev

test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	env -u LIGHTRAG_HOME -u LIGHTRAG_SOURCES $(BIN)/pytest -n 2 -m 'not long'

test-long: setup
	env -u LIGHTRAG_HOME -u LIGHTRAG_SOURCES $(BIN)/pytest -m long

docs: setup
	$(BIN)/python -m lightrag_dagster.cli.settings_page > docs/settings.md.new
	mv docs/settings.md.new docs/settings.md

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv demo build *.egg-info
