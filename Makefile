# What people run. Every target brings its own set-up: the first `make serve` installs everything,
# the next ones find the stamps of tools/stamp.py unchanged and need no network.
.DEFAULT_GOAL := help
.PHONY: test-gpu compare-devices help serve setup venv frontend check lint contracts tsc stale python-tests node-tests \
        test slow-tests attacks fuzz browser browser-tests types record bench oracle check-torch lock wheel clean

HOST ?= 127.0.0.1
PORT ?= 8000

# The first Python that is new enough. `make PYTHON=/path/to/python setup` chooses another.
ifndef PYTHON
PYTHON := $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
endif

BIN := .venv/bin
RUN := $(BIN)/python

# Many tests are about real processes and clocks, and a machine can stall: what fails is tried once more,
# by itself, after its report. What fails twice has failed; a run that was cut short has failed at once.
define tested
$(BIN)/pytest -q --cache-clear $(1) || { test $$? -eq 1 && $(BIN)/pytest -q $(1) --last-failed --last-failed-no-failures none; }
endef

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: setup ## start the server on HOST (127.0.0.1) and PORT (8000)
	@exec $(BIN)/tensor-anatomy serve --host "$(HOST)" --port "$(PORT)"

setup: venv frontend ## install the locked packages and build the front end; TORCH_INDEX=URL for another torch

venv:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and was not found on PATH." >&2; exit 1; }
	@$(PYTHON) tools/environment.py

frontend: venv
	@$(RUN) tools/frontend.py

check: lint contracts tsc stale python-tests node-tests ## everything fast: style, types, contracts, unit tests

lint: venv
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "run $(BIN)/ruff format ." >&2; exit 1; }
	@$(BIN)/mypy

contracts: venv
	@$(BIN)/lint-imports --no-logo

tsc: frontend
	@$(RUN) tools/node.py node_modules/typescript/bin/tsc --noEmit

stale: frontend
	@$(RUN) tools/generate_types.py --check

python-tests: frontend
	@$(call tested,-p no:playwright -m "not slow" --ignore tests/browser)
	@$(BIN)/pytest -q -p no:playwright --doctest-modules app

node-tests: frontend
	@$(RUN) tools/node.py build.mjs --tests
	@$(RUN) tools/node.py --test --test-reporter=dot build/js-tests/*.test.mjs

test: check slow-tests browser-tests ## everything: check, slow tests, the browser (what CI runs)

slow-tests: frontend
	@$(call tested,-p no:playwright -m slow --ignore tests/browser)

browser: venv ## find a Chromium, or install one
	@mkdir -p build && $(RUN) tools/browser.py > build/browser

browser-tests: frontend browser
	@if test -s build/browser; then export CHROMIUM="$$(cat build/browser)"; $(call tested,tests/browser); \
	else echo "browser tests left out: no Chromium"; fi

attacks: frontend ## run every attack on the sandbox in every configuration this machine offers
	@$(RUN) -m tests.attacks

fuzz: frontend ## run thousands of random programs; COUNT= of each sort, what breaks is in build/fuzz
	@$(RUN) -m tests.fuzzing --count "$(or $(COUNT),1000)"

test-gpu: frontend ## the tests of a real GPU; left out, with the reason, where there is none
	@$(BIN)/pytest -q -rs -p no:playwright -m gpu tests/devices

compare-devices: venv ## every device case on the CPU, the simulated device and a real one; prints what differs
	@$(RUN) -m tests.devices.comparing

types: frontend ## write the JSON Schema and the TypeScript types from the records
	@$(RUN) tools/generate_types.py

record: frontend ## run every lesson program and write its recorded trace
	@$(RUN) -m tensor_anatomy.record

oracle: frontend ## every operator PyTorch tests itself with, in all variants; thousands of random programs
	@$(RUN) -m tests.oracle
	@ORACLE_EXAMPLES=2000 $(BIN)/pytest -q -p no:playwright tests/oracle/test_chains.py

bench: frontend ## run the benchmarks, ours and the peers', and write benchmarks/RESULTS.md
	@$(RUN) -m benchmarks

check-torch: venv ## run the tests with another torch: VERSION=2.14.1 (TESTS= for some of them)
	@$(RUN) tools/check_torch.py "$(VERSION)"

lock: venv ## choose new versions within pyproject.toml and write requirements.lock
	@$(RUN) tools/lock.py

wheel: frontend ## build the wheel, front end included, into dist/
	@$(RUN) -m pip wheel -q --no-build-isolation --no-deps --wheel-dir dist .

clean: ## remove what was built; the installed packages stay
	@rm -rf build dist static/dist ./*.egg-info .mypy_cache .ruff_cache .pytest_cache
