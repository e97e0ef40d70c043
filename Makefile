# Each command does its own set-up: a fresh clone needs Python 3.11, make, and nothing else.
PYTHON ?= python3
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN = $(VENV)/Scripts
else
BIN = $(VENV)/bin
endif
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=:all:

.PHONY: demo test coverage reproduce docs fuzz lint lowest audit notebooks wheel wheel-check clean clean-cache

demo: $(VENV)/.warm-demo
	$(BIN)/coterie demo

test: $(VENV)/.installed-dev $(VENV)/.warm
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# The same, with the lines that no test runs; takes almost twice as long.
coverage: $(VENV)/.installed-dev $(VENV)/.warm
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered

# Every table and figure of the paper, in OUT/index.html: `make reproduce QUICK=1 OUT=results`.
OUT ?= reproduction
QUICK ?= 0
reproduce: $(VENV)/.installed
	$(BIN)/python -m benchmarks.reproduce all --out '$(OUT)' $(if $(filter-out 0,$(QUICK)),--quick)

# The documentation site, to be opened as site/index.html. The variable silences a notice about the
# end of life of Material for MkDocs in May 2027; docs/explanation/decisions.md says what then.
docs: $(VENV)/.installed-docs
	$(BIN)/python tools/command_line_reference.py --check
	$(BIN)/python tools/format_table.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html"

# The property tests with new random cases (`make test` repeats fixed ones), then thousands of damaged
# files. Kernels with bounds checks need a cache of their own: Numba's does not tell them apart.
FUZZ_FILES ?= 5000
fuzz: $(VENV)/.installed-dev
	COTERIE_HYPOTHESIS=fuzz $(BIN)/python -m pytest -q -m hypothesis
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(abspath $(VENV))/numba-bounds \
	    $(BIN)/python tools/fuzz_files.py --count $(FUZZ_FILES) --seed $$(date +%j)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_docstrings.py
	$(BIN)/python benchmarks/tables.py --check
	$(BIN)/python tools/count_lines.py

# The test suite with every direct dependency at the lower bound that pyproject.toml promises.
lowest: $(VENV)/.installed-dev
	$(PIP) uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/lowest
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python \
	    --resolution lowest-direct --only-binary :all: --no-binary coterie --editable '.[dev]'
	NUMBA_CACHE_DIR=$(abspath $(VENV))/lowest/numba \
	    $(VENV)/lowest/bin/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

# The dependencies, compared with the known vulnerabilities of the Python Package Index.
audit: $(VENV)/.installed-dev
	$(PIP) pip-audit
	$(BIN)/python -m pip_audit --progress-spinner off --skip-editable

# The tutorials as notebooks; `make test` checks that they are current.
notebooks: $(VENV)/.installed-dev
	$(BIN)/python tools/tutorial_notebooks.py

# A wheel for this platform that carries its compiled kernels, in dist/. Takes some minutes.
wheel: $(VENV)/.installed
	$(PIP) hatchling wheel
	$(BIN)/python tools/build_wheel.py --out dist

# The same, then installed into a new environment, where no command may compile anything.
wheel-check: $(VENV)/.installed
	$(PIP) hatchling wheel
	$(BIN)/python tools/build_wheel.py --out dist --check

clean-cache:
	find src -name '*.nbi' -delete -o -name '*.nbc' -delete

clean: clean-cache
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing coterie into $(VENV) (about 640 MB, once) …"
	$(PIP) --editable .
	touch $@

# Compile the numerical code once, on all cores; without it, commands would do so while they run.
KERNELS = $(shell find src/coterie/kernels -name '*.py')
$(VENV)/.warm: $(KERNELS) | $(VENV)/.installed
	$(BIN)/coterie warmup
	touch $@ $(VENV)/.warm-demo

$(VENV)/.warm-demo: $(KERNELS) | $(VENV)/.installed
	$(BIN)/coterie warmup --only demo
	touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing coterie and what its tests need into $(VENV) …"
	$(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing coterie and what its documentation needs into $(VENV) …"
	$(PIP) --editable '.[docs]'
	touch $@ $(VENV)/.installed
