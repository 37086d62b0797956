# Two commands: `make demo` shows robocle at work, `make test` runs every check.
# Each sets up .venv by itself; the second time that takes no time.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test check lint bench bench-quick results torch clean

demo: $(READY)
	$(BIN)/robocle demo

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The export of further backbones, and the reference implementations that some tests and all
# benchmarks compare with, need PyTorch.
# Choose the build that suits your machine; this takes whatever your package index gives.
torch: $(READY)
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --no-deps efficientnet_lite_pytorch==0.1.0
	# With what they depend on, these would bring another build of torch; what is used needs none of it.
	# Beside a CPU build of torch, torchvision may lack two operators; the tests declare them.
	$(BIN)/python -m pip install --quiet --no-deps torchvision==0.28.0 timm==1.0.30 \
		onnxscript==0.7.2 onnx_ir==1.1.0

bench: torch
	$(BIN)/python benchmarks/bench_slda.py
	$(BIN)/python benchmarks/bench_corruptions.py
	$(BIN)/python benchmarks/bench_pooling.py
	$(BIN)/python benchmarks/bench_classifiers.py
	$(BIN)/python benchmarks/bench_memory.py
	$(BIN)/python benchmarks/bench_store.py
	$(BIN)/python benchmarks/bench_embedding.py
	$(BIN)/python benchmarks/bench_recognition.py
	$(BIN)/python benchmarks/bench_pipeline.py
	$(BIN)/python benchmarks/bench_int8.py
	$(BIN)/python benchmarks/bench_backbones.py

# Small sizes: that the results agree, not how fast they come.
bench-quick: torch
	$(BIN)/python benchmarks/bench_slda.py --quick
	$(BIN)/python benchmarks/bench_embedding.py --quick
	$(BIN)/python benchmarks/bench_recognition.py --quick
	$(BIN)/python benchmarks/bench_pipeline.py --quick
	$(BIN)/python benchmarks/bench_int8.py --quick
	$(BIN)/python benchmarks/bench_corruptions.py --quick
	$(BIN)/python benchmarks/bench_pooling.py --quick
	$(BIN)/python benchmarks/bench_classifiers.py --quick
	$(BIN)/python benchmarks/bench_memory.py --quick
	$(BIN)/python benchmarks/bench_store.py --quick
	$(BIN)/python benchmarks/bench_backbones.py --quick

# The pages in docs/results, from the data sets in DATA.
DATA ?= data
results: $(READY)
	$(BIN)/python docs/results/generate.py $(DATA)

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robocle needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf .venv
