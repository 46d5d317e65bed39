# Everything a person needs is `make run` and `make test`; both prepare what they need first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
SNAPSHOTS ?=
# What llama.cpp is compiled for: auto, cuda, rocm, vulkan, metal, off. The last choice stays until another is made.
GPU ?= $(or $(patsubst $(VENV)/.gpu-%,%,$(firstword $(wildcard $(VENV)/.gpu-*))),auto)
# How many tests run at a time; 0 is one after another, in one process.
JOBS ?= 2

# Tests start the program hundreds of times: Python must keep what it has compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run demo tour test check translations bench soak lock format deb deb-test bundle bundle-test wheel clean

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 10

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)

# What is built from source is built with these tools and no others: pip would fetch the newest, unchecked.
$(VENV)/.building: requirements-build.lock | $(VENV)/bin/python
	$(PIP) install --quiet --require-hashes --only-binary=:all: -r requirements-build.lock
	@touch $@

# The file's name is the choice: another choice compiles again.
$(VENV)/.gpu-$(GPU): requirements.lock packaging/graphics.py $(VENV)/.building
	@$(BIN)/python packaging/graphics.py $(GPU) requirements.lock \
		$(if $(filter-out $@,$(wildcard $(VENV)/.gpu-*)),--again)
	@rm -f $(VENV)/.gpu-*
	@touch $@

$(VENV)/.installed: requirements.lock pyproject.toml $(VENV)/.building $(VENV)/.gpu-$(GPU)
	@echo "Installing what Atlas needs."
	$(PIP) install --quiet --require-hashes --no-build-isolation -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.developed: requirements-dev.lock $(VENV)/.installed
	$(PIP) install --quiet --require-hashes --no-build-isolation -r requirements-dev.lock
	@touch $@

setup: $(VENV)/.installed ## environment, locked dependencies, default models (asks nothing)
	@$(BIN)/atlas models pull --defaults

run: setup ## the program; GPU=cuda|rocm|vulkan|metal|off says what llama.cpp is compiled for
	@$(BIN)/atlas

demo: setup ## the program in a throw-away home with sample conversations
	@$(BIN)/atlas demo

tour: setup $(VENV)/.developed ## the pictures of the docs, in a real terminal (needs tmux)
	@$(BIN)/python docs/pictures.py

test: setup $(VENV)/.developed ## the whole suite
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not soak and not alone"
	$(BIN)/python -m pytest -m "alone and not soak"

check: $(VENV)/.developed ## style, types, direction of imports, docs against code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest tests/unit/test_docs.py

translations: $(VENV)/.developed ## brings the catalogues up to date with the texts of the program
	$(BIN)/python -m docs.translations

bench: setup $(VENV)/.developed ## the figures in the README
	$(BIN)/python -m benchmarks

soak: setup $(VENV)/.developed ## long runs: many crashes, many cases
	$(BIN)/python -m pytest -m soak --timeout 7200

format: $(VENV)/.developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## new versions of the dependencies (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
		pyproject.toml -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
		--group dev pyproject.toml -o requirements-dev.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -q \
		--group build --constraint requirements-dev.lock -o requirements-build.lock

wheel: $(VENV)/.building ## one wheel with the three packages
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

deb: wheel ## a Debian package that installs into its own prefix
	packaging/deb/build.sh dist

deb-test: ## installs the package in a clean chroot, uses it, removes it (root)
	packaging/test.sh dist/atlas-desktop_*.deb

bundle: wheel ## one executable file for systems that have Python
	packaging/bundle/build.sh dist

bundle-test: ## uses the bundle in a clean chroot (root)
	packaging/test.sh dist/atlas-*.pex

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
