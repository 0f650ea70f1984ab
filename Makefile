# Everything needs only a Python of at least 3.11 and make: each target first creates .venv from the lock file.

PYTEST_ARGS ?=
BENCH_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The name says what was installed: a changed lock or pyproject installs again, whatever the files' times say.
READY := $(VENV)/.ready-$(shell cat pyproject.toml requirements.lock 2>/dev/null | cksum | tr ' ' '-')

.PHONY: help demo check test slow lint format bench bench-check experiments fuzz faults soak lock dist clean

help:
	@echo 'make demo    run the demo query over bundled web sources on this machine'
	@echo 'make check   the tests to run after every change: those that take little time, and no JVM'
	@echo 'make test    the fast tests'
	@echo 'make slow    the long randomised tests, bounded (20,000 random queries, or FFF_FUZZ_COUNT)'
	@echo 'make lint    ruff, mypy, the import rules, and known holes of what FFF is built on'
	@echo 'make format  let ruff rewrite what it can'
	@echo 'make bench   the benchmarks against references, and the page that shows them'
	@echo 'make bench-check  the same in short; fails where a ratio exceeds its bar'
	@echo 'make experiments  the experiments of the papers, and the page that shows them'
	@echo 'make fuzz    random queries against the oracle (FFF_FUZZ_SEED, FFF_FUZZ_COUNT)'
	@echo 'make faults  sources that answer wrongly against every paginator, and the page that shows what is noticed'
	@echo 'make soak    all of FFF over a simulated network until Ctrl-C, and the page that keeps the tally (FFF_SOAK_SEED, FFF_SOAK_SECONDS)'
	@echo 'make lock    pin all dependencies anew, by their hashes'
	@echo 'make dist    a release in dist/, with what it is built on'

$(READY):
	@sh .ci/venv $(VENV)
	@rm -f $(VENV)/.ready-*
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-build-isolation --no-deps -e .
	@touch $@

demo: $(READY)
	@$(BIN)/fff demo

# What was compiled once is not compiled again, by the next run or by each process that tests start, whatever the
# environment says.
check test slow fuzz soak: export PYTHONDONTWRITEBYTECODE =

check: $(READY)
	sh .ci/tests $(BIN)/python -m 'not slow and not spark and not lengthy' -q --durations=10 $(PYTEST_ARGS)

test: $(READY)
	sh .ci/tests $(BIN)/python -m 'not slow' --durations=10 $(PYTEST_ARGS)

slow: $(READY)
	sh .ci/tests $(BIN)/python -m slow $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	sh .ci/audit $(BIN)/python

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(INSTALL) --require-hashes -r .ci/bench.lock
	$(BIN)/python -m benchmarks

bench-check: $(READY)
	$(BIN)/python -m benchmarks --check $(BENCH_ARGS)

experiments: $(READY)
	$(BIN)/fff experiment --docs docs

fuzz: $(READY)
	$(BIN)/python -m pytest tests/fuzz -m slow -n 2 $(PYTEST_ARGS)

faults: $(READY)
	$(BIN)/python -m tests.faults --write

soak: $(READY)
	@$(BIN)/python -m tests.soak

# What makes a lock and a release is pinned as well, beside what FFF needs.
RELEASE := $(INSTALL) --require-hashes -r .ci/release.lock
# uv finds one set of versions for every supported Python and platform.
PIN := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --system-certs \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command 'make lock'

lock: $(READY)
	$(RELEASE)
	$(PIN) --upgrade --extra build --extra lint --extra test --output-file requirements.lock pyproject.toml
	$(PIN) --upgrade --constraint requirements.lock --group release --output-file .ci/release.lock
	$(PIN) --upgrade --constraint requirements.lock --group bench --output-file .ci/bench.lock

dist: $(READY)
	rm -rf dist
	$(RELEASE)
	$(BIN)/python -m hatchling build
	$(PIN) --constraint requirements.lock --output-file dist/requirements.lock pyproject.toml
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-file dist/fff.cdx.json dist/requirements.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
