# `make demo` and `make test` do all the set-up they need.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# One thread a process: the suite runs two workers, trainings run two ranks. Nothing may reach a model hub.
QUIET := OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 \
         DO_NOT_TRACK=1 VLLM_NO_USAGE_STATS=1 WANDB_MODE=offline
RUN := PATH="$(CURDIR)/$(BIN):$$PATH" $(QUIET)

.DEFAULT_GOAL := help
.PHONY: help install demo test lint clean

help:  ## what there is
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

install: $(STAMP)  ## .venv with everything the tests need (CPU or CUDA, by what the machine has)

$(STAMP): pyproject.toml tools/install.sh
	@PYTHON=$(PYTHON) tools/install.sh
	@touch $@

demo: $(STAMP)  ## the main job on the miniature: before, plain GRPO, certainty-weighted GRPO
	@$(RUN) $(BIN)/askrl run recipes/mini/demo.yaml

test: $(STAMP)  ## the whole suite but what needs a GPU or hours; TESTS="tests/tasks -k parser" narrows it
	@$(RUN) $(BIN)/python -m pytest -n 2 --dist loadfile $(TESTS)

lint: $(STAMP)  ## ruff (rules, format) and strict types
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy

clean:  ## remove caches, keep .venv and runs
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
