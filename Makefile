# Everything runs from .venv, which `make setup` makes by itself: nothing has to be activated.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv takes a third of pip's time; pip goes where only its own configuration knows an index.
PINNED := --constraint constraints.txt --editable '.[dev,docs,duckdb,index,kafka,lineage,processor,spark,wait]'
PACKAGES := $(wildcard singerlake target_singerlake tap_singerlake)

.DEFAULT_GOAL := help
.PHONY: help setup demo packages test test-quick faults fuzz audit check format docs bench lock clean

help: ## Show this help
	@echo "Singerlake: the raw data lake for Singer"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "New here? Try 'make demo', then read CONTRIBUTING.md."
	@echo "The first target you run sets up $(VENV) (a minute or two); PYTHON=python3.12 picks another Python."

setup: $(VENV)/.ready ## Create .venv with the pinned dependencies (other targets do it for you)

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --upgrade --constraint constraints.txt pip uv
	@$(BIN)/uv pip install -q --python $(BIN)/python $(PINNED) || $(BIN)/python -m pip install -qq $(PINNED)
	@touch $@

demo: setup ## See it work: land a sample in build/demo, look at it, replay it, load it in Spark
	@rm -rf build/demo
	@PATH="$(abspath $(BIN)):$$PATH" sample/demo.sh build/demo

packages: setup ## Find a browser, PostgreSQL, Redis and strace for the tests, or install them
	@$(BIN)/python -m tests.site.browser
	@$(BIN)/python -m tests.plugins.postgres
	@$(BIN)/python -m tests.processor.servers
	@$(BIN)/python -m tests.faults.strace

test: setup packages ## Run all tests, on four workers: they wait as often as they work
	@$(BIN)/pytest -q -n 4 --max-worker-restart 2

test-quick: setup ## Run the tests that take less than a few seconds each
	@$(BIN)/pytest -q -n 2 -m 'not slow'

faults: setup ## Run the fault suites whole, and keep what they counted in docs/reliability.md
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable '.[fuzz]'
	@rm -f build/faults/*.whole.json
	@SINGERLAKE_FAULTS=whole SINGERLAKE_FAULTS_RUN=$$(date -u +%Y%m%dT%H%MZ)-$$(git rev-parse --short HEAD) \
		$(BIN)/pytest -q -n 4 tests/airflow tests/cli/test_find_both.py tests/faults tests/files \
		tests/index tests/lineage/buffer/test_damage.py tests/runs tests/spark/test_cluster.py \
		tests/spark/test_table_parts.py
	@$(BIN)/python -m tests.faults.report --write

fuzz: setup ## Give all that is read hostile input, guided by coverage: SECONDS=60 for each kind
	@$(BIN)/python -m pip install -qq --constraint constraints.txt --editable '.[fuzz]'
	@$(BIN)/python -m tests.faults.hostile_atheris build/fuzz $(or $(SECONDS),60)

audit: ## Look for known vulnerabilities in what is pinned (ADVISORIES=FOLDER: see docs/security.md)
ifdef ADVISORIES
	@$(MAKE) --no-print-directory setup
	@$(BIN)/python .ci/audit.py $(ADVISORIES)
else
	@test -x $(VENV)-audit/bin/python || $(PYTHON) -m venv $(VENV)-audit
	@$(VENV)-audit/bin/python -m pip install -qq --upgrade pip pip-audit
	@$(VENV)-audit/bin/pip-audit --requirement constraints.txt --disable-pip --no-deps --strict
endif

check: setup ## Lint, formatting, types, and the rules of who may import whom
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "Run 'make format'."; exit 1; }
	@$(BIN)/mypy --no-error-summary $(PACKAGES)
	@$(BIN)/lint-imports --no-logo

format: setup ## Format the code and mend what the linter can mend
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

docs: export NO_MKDOCS_2_WARNING = 1
docs: setup ## Build the docs as a site, in build/docs
	@$(BIN)/mkdocs build --quiet --strict
	@echo "The site is in build/docs. To search in it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs"

bench: setup ## Measure: requests and time per commit, records per second
	@$(BIN)/python -m benchmarks

lock: ## Pin every dependency anew in constraints.txt, for all supported Pythons
	@test -x $(VENV)-lock/bin/python || $(PYTHON) -m venv $(VENV)-lock
	@$(VENV)-lock/bin/python -m pip install -qq --upgrade pip uv
	@$(VENV)-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.10 --all-extras \
		--no-annotate --no-emit-index-url --custom-compile-command 'make lock' \
		--output-file constraints.txt pyproject.toml

clean: ## Remove .venv, caches, build products and the demo's lake
	@rm -rf $(VENV) $(VENV)-audit $(VENV)-lock demo-lake build dist *.egg-info
	@rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
