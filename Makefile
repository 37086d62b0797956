# The commands to know are `make demo`, which shows robocle at work, and `make test`, which tests it.
# Each sets up .venv first; this takes no time when nothing has changed.
# Another Python has an environment of its own: `make test PYTHON=python3.13` uses .venv-python3.13.
PYTHON ?= python3
VENV := $(if $(filter python3 python,$(PYTHON)),.venv,.venv-$(notdir $(PYTHON)))
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
READY := $(VENV)/ready
TORCH := $(VENV)/torch

.PHONY: demo serve test test-exhaustive exhaustive environments check lint other-platforms page docs hooks bench bench-quick parity results torch aarch64 ros clean

demo: $(READY)
	$(BIN)/robocle demo

# The teach page, for a first try: opens the browser. What it is taught is in home.robocle.
serve: $(READY)
	$(BIN)/robocle serve

# CI measures coverage, which must be at least 95 %. Without PyTorch, the tests of exported backbones
# are skipped, the last lines say how many, and the floor does not apply.
# From Python 3.12 on, sys.monitoring measures coverage at almost no cost.
FLOOR = $(shell $(BIN)/python -c 'import importlib.util as u; print(95 if u.find_spec("torch") else 0)')
CORE = $(shell $(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")')
COVERAGE = $(if $(CI),--cov --cov-report=term --cov-fail-under=$(FLOOR))
# One process more than a small machine has cores: tests of servers, browsers and cameras mostly wait.
PYTEST = $(BIN)/python -m pytest -n 3 --dist worksteal

# All tests but the exhaustive ones.
test: lint
	COVERAGE_CORE=$(CORE) $(PYTEST) -m "not exhaustive" --durations=15 $(COVERAGE)

# What takes minutes: exports, kills, fuzzing, quick benchmarks, other platforms. Two parts run at a
# time; the exhaustive tests, which are the longest part and often wait, have two processes. There are
# wheels of ROS 2 for Python 3.11 only.
HAS_ROS = $(shell $(PYTHON) -c 'import sys; print("yes" if sys.version_info[:2] == (3, 11) else "")')
test-exhaustive: $(TORCH)
	$(if $(HAS_ROS),,@echo "no wheels of ROS 2 for this Python: the node is not tested")
	$(MAKE) --jobs=2 --output-sync=target $(if $(HAS_ROS),$(ROS)/ready) exhaustive $(if $(HAS_ROS),ros) \
		bench-quick aarch64 other-platforms $(if $(HAS_HOME_ASSISTANT),home-assistant)

# Only the files that have such tests are collected.
exhaustive: $(TORCH)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m exhaustive --durations=15 $$(grep -rlE "exhaustive" tests --include="test_*.py")

# The types, as Windows and macOS see them.
other-platforms: $(READY)
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin src

# For daily work: the quick tests, without coverage.
check: lint
	$(PYTEST) -m "not slow and not exhaustive"

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Lints the scripts of the teach page and checks their format, with Node. `npm run format` mends the format.
page:
	npm install --silent --no-audit --no-fund --no-package-lock
	npm run --silent check

# Compares an emulated aarch64 (Raspberry Pi, Jetson) with this machine, on x86-64 Linux with apt.
# It installs nothing: what it needs is unpacked into ~/.cache/robocle-aarch64.
aarch64: $(READY)
	$(BIN)/python tools/aarch64_check.py

# Tests of the ROS 2 node with real processes, in an environment of their own, into which colcon builds
# the packages in ros/: three minutes to set it up, two to run.
ROS := .venv-ros
ros: $(ROS)/ready
	$(ROS)/bin/python -m pytest -W default tests/ros/live

$(ROS)/ready: pyproject.toml tools/ros_environment.sh $(shell find ros tests/ros/live/vision_msgs -type f)
	tools/ros_environment.sh $(ROS) $(PYTHON)

# Home Assistant's own code checks what `robocle watch` sends it, in an environment of its own.
HOME_ASSISTANT := .venv-home-assistant
PYTHON_HA ?= python3.13
HAS_HOME_ASSISTANT = $(shell $(PYTHON_HA) --version 2>/dev/null)
.PHONY: home-assistant
home-assistant: $(READY) $(HOME_ASSISTANT)/ready
	HOME_ASSISTANT=$(HOME_ASSISTANT)/bin/python $(BIN)/python -m pytest tests/watch/test_home_assistant.py

$(HOME_ASSISTANT)/ready:
	$(PYTHON_HA) -m venv $(HOME_ASSISTANT)
	$(HOME_ASSISTANT)/bin/pip install --quiet homeassistant==2025.1.4 paho-mqtt==1.6.1
	touch $@

# All that CI installs. One pip takes one core, so `make --jobs=2 environments` takes half the time.
environments: $(TORCH) $(if $(HAS_ROS),$(ROS)/ready)

# The documentation as a site in site/. `$(BIN)/mkdocs serve` shows it while you write.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Runs the linters before each commit.
hooks: $(READY)
	$(BIN)/pre-commit install

# PyTorch is needed to export further backbones, by the tests of these exports, and by the
# benchmarks for their references. This takes the build that your package index offers.
torch: $(TORCH)

$(TORCH): $(READY)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --no-deps efficientnet_lite_pytorch==0.1.0
	# With their dependencies, these would bring another build of torch, and nothing that is used.
	# Beside a CPU build of torch, torchvision may lack two operators; the tests declare them.
	$(BIN)/python -m pip install --quiet --no-deps torchvision==0.28.0 timm==1.0.30 \
		onnxscript==0.7.2 onnx_ir==1.1.0
	touch $(TORCH)

# Speed against references. The figures are written to benchmarks/results/<version>.jsonl and
# compared with those of the release before.
bench: $(TORCH)
	$(BIN)/python benchmarks/run_all.py
	$(BIN)/python benchmarks/compare.py

# Small sizes: checks that results agree with the references, not how fast they are.
# The benchmark of the ROS 2 node waits for its environment, if that is being built.
bench-quick: $(TORCH) | $(filter $(ROS)/ready,$(MAKECMDGOALS))
	$(BIN)/python benchmarks/run_all.py --quick

# The table of agreement with the paper's base code in docs/paper-and-code.md.
parity: $(READY)
	$(BIN)/python docs/parity_table.py

# The pages in docs/results, from the data sets in DATA, and the figures in the README.
DATA ?= data
results: $(READY)
	$(BIN)/python docs/results/generate.py $(DATA)
	$(BIN)/python docs/readme_figures.py --measure

$(READY): pyproject.toml sim/pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robocle needs Python 3.11 or newer")'
	@echo 'Setting up $(VENV), once: robocle and some 140 packages for its development. This takes two to ten'
	@echo 'minutes, most of it for the packages that are listed.'
	@rm -f $(READY)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@{ $(BIN)/python -m pip install --progress-bar off --editable '.[dev]' --editable ./sim && touch $(READY); } | sed -n \
		-e 's/^ *Downloading \(.*\)\.whl (\([0-9.]* MB\)).*/  \1, \2/p' \
		-e 's/^ *Using cached \(.*\)\.whl (\([0-9.]* MB\)).*/  \1, \2/p' \
		-e 's/^Installing collected.*/Installing them/p'
	@test -e $(READY)

clean:
	rm -rf .venv .venv-* site
