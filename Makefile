# Everything here makes what it needs by itself: Python >= 3.11, make and a package index are enough.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

# PYTHON=python3.13 decides which Python the virtual environment is made from.
PYTHON ?=
# ARGS="..." is passed on to run, test, lock and bench.
ARGS ?=

BIN := .venv/bin
MEMBERS := $(sort $(dir $(wildcard libs/*/pyproject.toml services/*/pyproject.toml)))
RUN_MEMBERS := $(filter-out libs/brain_testing/,$(MEMBERS))
CODE := libs services tests bench tools
UV_INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
editable = $(foreach member,$(1),--editable ./$(member))

# What a shell may have set for other projects must not decide what is installed, or where.
unexport VIRTUAL_ENV PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX PIP_REQUIRE_VIRTUALENV
unexport UV_PYTHON UV_SYSTEM_PYTHON UV_TARGET UV_PREFIX UV_REQUIRE_HASHES UV_NO_BUILD UV_CONSTRAINT
# uv trusts the certificates that the machine trusts, as pip does.
UV_SYSTEM_CERTS ?= 1
export UV_SYSTEM_CERTS
# The checks below say what matters; these would only say that newer versions exist.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: install
install: .venv/dev.ready ## Make .venv with every command of the project in it

.PHONY: run
run: .venv/run.ready ## Start Brain on this machine, with keys and a config made at the first start
	@exec $(BIN)/brain up $(ARGS)

.PHONY: test
test: .venv/dev.ready ## Run the tests (ARGS="tests/unit -k name" runs some of them)
	@$(BIN)/pytest --numprocesses=auto --dist=loadgroup $(ARGS)

.PHONY: test-mock-llm
test-mock-llm: .venv/dev.ready tools/mock-llm/node_modules/.ready ## Test against a mock server of models that others wrote (needs npm)
	@BRAIN_TEST_MOCK_LLM=1 $(BIN)/pytest --numprocesses=0 tests/acceptance/mock_servers $(ARGS)

.PHONY: test-mcp
test-mcp: .venv/dev.ready tools/mcp-servers/node_modules/.ready ## Test against MCP servers and the conformance suite that others wrote (needs npm)
	@$(BIN)/pytest --numprocesses=0 tests/mcp_servers $(ARGS)

.PHONY: test-client-js
test-client-js: .venv/dev.ready libs/brain-client-js/node_modules/.ready ## Build and test the TypeScript client (needs npm)
	@cd libs/brain-client-js && npm run --silent build && npm test --silent

.PHONY: test-browser
test-browser: .venv/dev.ready ## Run the tests of the operators' page in Chromium (installed if need be)
	@tools/chromium.sh
	@$(BIN)/pytest --numprocesses=auto --dist=loadgroup tests/browser $(ARGS)

# SECONDS=600 is how long, SEED=7 makes the same choices again, STORE=postgres has two engines.
SECONDS ?= 60
SEED ?=
STORE ?= sqlite

.PHONY: chaos
chaos: .venv/dev.ready ## Kill processes at random for SECONDS, then check that no promise was broken
	@$(BIN)/python -m brain_testing.chaos --store $(STORE) --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: docs
docs: .venv/dev.ready ## Build the documentation as a site, in .site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "Read it: .site/index.html"

.PHONY: lint
lint: lint-format lint-code lint-types lint-layers lint-size lint-imports lint-lock lint-leaks lint-stubs lint-client lint-proto ## Run every check but the tests

.PHONY: lint-format
lint-format: .venv/dev.ready ## Check: the formatter would change nothing
	@$(BIN)/ruff format --check --quiet $(CODE) || { echo "Not formatted; make format does it:"; $(BIN)/ruff format --check $(CODE); }

.PHONY: lint-code
lint-code: .venv/dev.ready ## Check: ruff's rules
	@$(BIN)/ruff check --quiet $(CODE)

.PHONY: lint-types
lint-types: .venv/dev.ready ## Check: types, strictly
	@$(BIN)/pyright

.PHONY: lint-layers
lint-layers: .venv/dev.ready ## Check: which module may import which
	@report=$$($(BIN)/lint-imports 2>&1) || { echo "$$report"; exit 1; }

.PHONY: lint-size
lint-size: .venv/dev.ready ## Check: no module over 400 lines, no function over 40
	@$(BIN)/python tools/check_size.py

.PHONY: lint-imports
lint-imports: .venv/dev.ready ## Check: each package declares what it imports
	@$(BIN)/python tools/check_imports.py

.PHONY: lint-lock
lint-lock: .venv/dev.ready ## Check: the lock files hold what the projects ask for
	@$(BIN)/python tools/check_lock.py

.PHONY: lint-leaks
lint-leaks: .venv/dev.ready ## Check: no index address, machine path or secret in a tracked file
	@$(BIN)/python tools/check_leaks.py

.PHONY: lint-stubs
lint-stubs: .venv/dev.ready ## Check: the gRPC stubs are those of proto/
	@tools/check_stubs.sh

.PHONY: lint-client
lint-client: .venv/dev.ready ## Check: the synchronous client is what the asynchronous one makes
	@$(BIN)/python tools/sync_client.py --check

.PHONY: lint-proto
lint-proto: tools/buf/node_modules/.ready ## Check: buf's rules for proto/ (needs npm)
	@tools/buf/node_modules/.bin/buf lint

.PHONY: format
format: .venv/dev.ready ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --quiet --fix-only $(CODE)
	@$(BIN)/ruff format $(CODE)

.PHONY: proto
proto: .venv/dev.ready ## Generate the gRPC stubs from proto/
	@tools/protogen.sh libs/brainapi/src

.PHONY: sync-client
sync-client: .venv/dev.ready ## Make the synchronous client out of the asynchronous one
	@$(BIN)/python tools/sync_client.py

.PHONY: lock
lock: $(BIN)/uv ## Pin the dependencies anew (ARGS=--upgrade takes newer ones)
	@requirements/lock.sh $(ARGS)

.PHONY: bench
bench: .venv/dev.ready ## Measure Brain beside its floors, in under a minute
	@$(BIN)/python -m bench $(ARGS)

.PHONY: bench-hostile
bench-hostile: .venv/dev.ready ## Measure a session beside 200 calls to hostile services
	@$(BIN)/python -m bench.hostile $(ARGS)

.PHONY: bench-readers
bench-readers: .venv/dev.ready ## Measure 1,000 readers of a session, of as many sessions, and some that read nothing
	@$(BIN)/python -m bench.readers $(ARGS)

.PHONY: bench-idle
bench-idle: .venv/dev.ready ## Measure the memory of idle sessions, and of a log of a million events
	@$(BIN)/python -m bench.idle $(ARGS)

.PHONY: bench-models
bench-models: .venv/dev.ready ## Measure reading a model's stream beside the official SDKs
	@$(BIN)/python -m bench.model_stream $(ARGS)

.PHONY: clean
clean: ## Remove what the targets above made; .brain/, which holds your data, stays
	@rm -rf .venv tools/buf/node_modules tools/mcp-servers/node_modules tools/mock-llm/node_modules libs/brain-client-js/node_modules libs/brain-client-js/dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find libs services tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say that .venv holds what the lock files and the members ask for.

.venv/run.ready: $(BIN)/uv requirements/run.txt $(addsuffix pyproject.toml,$(RUN_MEMBERS))
	@echo "Installing what Brain needs into .venv ..."
	@$(UV_INSTALL) --require-hashes --requirement requirements/run.txt
	@$(UV_INSTALL) --no-deps --no-build-isolation $(call editable,$(RUN_MEMBERS))
	@touch $@

.venv/dev.ready: $(BIN)/uv requirements/dev.txt $(addsuffix pyproject.toml,$(MEMBERS))
	@echo "Installing everything for development into .venv ..."
	@$(UV_INSTALL) --require-hashes --requirement requirements/dev.txt
	@$(UV_INSTALL) --no-deps --no-build-isolation $(call editable,$(MEMBERS))
	@touch .venv/run.ready $@

$(BIN)/uv: requirements/uv.txt | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/uv.txt
	@touch $@

# A .venv that was moved or copied with its folder points to where it was, and one may outlive its
# Python: such a .venv is made anew.
ifneq ($(shell test -x $(BIN)/python && cat .venv/made-in 2>/dev/null),$(CURDIR))
.PHONY: $(BIN)/python $(BIN)/uv
endif
$(BIN)/python:
	@python=$$(tools/find_python.sh $(PYTHON)) && rm -rf .venv && "$$python" -m venv .venv
	@echo "$(CURDIR)" >.venv/made-in

tools/buf/node_modules/.ready: tools/buf/package-lock.json
	@command -v npm >/dev/null || { echo "make lint checks proto/ with buf, which npm installs: install Node.js with npm, or leave this check out."; exit 1; }
	@cd tools/buf && npm ci --silent --no-audit --no-fund
	@touch $@

tools/mock-llm/node_modules/.ready: tools/mock-llm/package-lock.json
	@command -v npm >/dev/null || { echo "make test-mock-llm needs npm: install Node.js with npm."; exit 1; }
	@cd tools/mock-llm && npm ci --silent --no-audit --no-fund
	@touch $@

tools/mcp-servers/node_modules/.ready: tools/mcp-servers/package-lock.json
	@command -v npm >/dev/null || { echo "make test-mcp needs npm: install Node.js with npm."; exit 1; }
	@cd tools/mcp-servers && npm ci --silent --no-audit --no-fund
	@touch $@

libs/brain-client-js/node_modules/.ready: libs/brain-client-js/package-lock.json
	@command -v npm >/dev/null || { echo "make test-client-js needs npm: install Node.js with npm."; exit 1; }
	@cd libs/brain-client-js && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@
