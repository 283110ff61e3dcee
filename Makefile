# Every target sets up what it needs: on a fresh machine `make test` is enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
EXTRAS := $(VENV)/.extras
# PyFlink is built for Python 3.9 to 3.12.
PEERS_PYTHON ?= $(PYTHON)
PEERS  := .venv-peers
BROWSER := $(VENV)/.browser
CONSOLE := src/continua/server/console/index.html

.PHONY: setup demo test test-services cluster test-web web lint types contracts unit fuzz fuzz-spark fuzz-rules fuzz-parser crash bench bench-kafka bench-nexmark bench-peers bench-growth bench-history peers check-nexmark soak clean java

setup: $(STAMP) java

$(STAMP): requirements.txt requirements-dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/continua warmup
	touch $(STAMP)

$(EXTRAS): $(STAMP) requirements-services.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-services.txt
	touch $(EXTRAS)

java:
	@$(SHELL) scripts/check-java

demo: $(STAMP)
	@$(BIN)/continua demo

test: setup lint types contracts unit

test-services: $(EXTRAS) java
	@$(SHELL) scripts/check-postgres
	@$(SHELL) scripts/check-go
	$(BIN)/python -m pytest tests/services -n 2

cluster: $(EXTRAS) java
	@$(SHELL) scripts/check-go
	@$(SHELL) scripts/check-namespaces
	$(BIN)/python -m tests.cluster

$(BROWSER): $(STAMP) requirements-web.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-web.txt
	touch $(BROWSER)

# Node makes the console: that of the machine, or else PyPI's.
$(CONSOLE): $(STAMP) web/package.json web/index.html web/vite.config.ts web/tsconfig.json $(shell find web/src -type f)
	@$(SHELL) scripts/with-node $(BIN) npm --prefix web install --no-package-lock --no-audit --no-fund --loglevel error
	@$(SHELL) scripts/with-node $(BIN) npm --prefix web run --silent build

web: $(CONSOLE)

test-web: $(CONSOLE) $(BROWSER) java
	@$(SHELL) scripts/check-chromium
	@$(SHELL) scripts/check-psql
	@$(SHELL) scripts/with-node $(BIN) npm --prefix web run --silent test
	$(BIN)/python -m pytest tests/web -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports --no-cache

unit: $(STAMP)
	$(BIN)/python -m pytest -n 2

fuzz: $(STAMP)
	$(BIN)/python -m tests.square.fuzz --cases 20000
	$(BIN)/python -m tests.sharing.fuzz_matching --pairs 5000
	$(BIN)/python -m tests.sharing.later_queries_at_work --runs 500
	$(BIN)/python -m tests.square.sync_programs --programs 5000
	$(BIN)/python -m tests.migration.fuzz_moves --moves 1000

fuzz-spark: $(STAMP)
	$(BIN)/python -m tests.square.fuzz --spark --cases 1000

fuzz-rules: $(STAMP)
	$(BIN)/python -m tests.square.fuzz --each-rule --cases 2000

fuzz-parser: $(STAMP)
	$(BIN)/python -m tests.fuzz_parser --inputs 100000

crash: $(STAMP)
	$(BIN)/python -m tests.crash.crash --crashes 1000
	$(BIN)/python -m tests.crash.every_byte

bench: $(STAMP)
	$(BIN)/python -m benchmarks.throughput
	$(BIN)/python -m benchmarks.rules
	$(BIN)/python -m benchmarks.sharing
	$(BIN)/python -m benchmarks.many_queries
	$(BIN)/python -m benchmarks.matching
	$(BIN)/python -m benchmarks.transposition
	$(BIN)/python -m benchmarks.predicate_windows
	$(BIN)/python -m benchmarks.moving_plans
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.first_run
	$(BIN)/python -m benchmarks.epochs growth

bench-kafka: $(EXTRAS)
	$(BIN)/python -m benchmarks.kafka

bench-nexmark: $(STAMP)
	$(BIN)/python -m benchmarks.nexmark.compare
	$(BIN)/python -m benchmarks.nexmark.plain_spark

peers: $(PEERS)/.installed

$(PEERS)/.installed: requirements-peers.txt
	@$(PEERS_PYTHON) -c 'import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 12))' \
		|| { echo "PyFlink needs Python 3.9 to 3.12: make bench-peers PEERS_PYTHON=python3.12" >&2; exit 1; }
	test -x $(PEERS)/bin/python || $(PEERS_PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-peers.txt
	touch $(PEERS)/.installed

bench-peers: $(STAMP) $(PEERS)/.installed java
	$(BIN)/python -m benchmarks.peers.compare --write

bench-growth: $(STAMP) java
	$(BIN)/python -m benchmarks.growth --write

bench-history: $(STAMP) java
	$(BIN)/python -m benchmarks.history

check-nexmark: $(STAMP)
	$(BIN)/python -m benchmarks.nexmark.check

soak: $(STAMP)
	$(BIN)/python -m benchmarks.epochs soak
	$(BIN)/python -m benchmarks.many_rows

clean:
	rm -rf $(VENV) $(PEERS) .mypy_cache .ruff_cache .hypothesis build dist web/node_modules web/screenshots src/continua/server/console
