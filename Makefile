# make demo: set up and show what kinetree does.   make test: run the tests.
# make test-slow: run those that take long; .ci/run runs both.   make test-all: these and more cases of the same.
PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
TESTS  := $(VENV)/.installed-for-tests

unexport PYTHONDONTWRITEBYTECODE  # where it is set, each of some hundred processes would compile kinetree anew

.PHONY: demo test test-slow test-all measure-tests fuzz arm64 lint types docs wheel pictures film bench clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet --editable ".[view,plot]"
	touch $(STAMP)

# what only tests and developers need (MuJoCo, Pinocchio, JAX, CasADi, ...) is four times as much
$(TESTS): $(STAMP) pyproject.toml
	$(RUN) -m pip install --quiet --editable ".[test,dev,docs,mjcf,symbolic]"
	touch $(TESTS)

demo: $(STAMP)
	$(RUN) examples/demo.py

test: $(TESTS)
	$(RUN) -m pytest -n auto --dist loadgroup -m "not slow and not thorough"

test-slow: $(TESTS)
	$(RUN) -m pytest -n auto --dist loadgroup -m "slow and not thorough"

# before a release: also the costly cases of tests of which cheaper cases are in CI, some minutes more
test-all: $(TESTS)
	$(RUN) -m pytest -n auto --dist loadgroup

# find out which tests are slow: all of them on a quiet machine, a quarter of an hour
measure-tests: $(TESTS)
	PYTHONPATH=tools $(RUN) -m pytest -n auto --dist loadgroup -p measure_tests

# damaged files of every kind: make fuzz CASES=10000 SEED=7 TARGETS="urdf mjcf"
CASES   ?= 5000
SEED    ?= 1
TARGETS ?=
fuzz: $(TESTS)
	cd tests && KINETREE_BACKEND=reference $(abspath $(RUN)) -m fuzz --cases $(CASES) --seed $(SEED) --keep ../fuzz-faults $(TARGETS)

# what must hold on every processor, on an emulated ARM: some two minutes, and half a minute more the first time
arm64:
	tools/on_arm64

lint: $(TESTS)
	$(RUN) -m ruff check src gallery programs studio learning optimize design sweeps tests benchmarks examples tools
	$(RUN) -m ruff format --check src gallery programs studio learning optimize design sweeps tests benchmarks examples tools
	$(VENV)/bin/lint-imports

types: $(TESTS)
	$(RUN) -m mypy

docs: $(TESTS)
	$(RUN) -m mkdocs build --strict --quiet

# dist/ holds it; checked in an environment where nothing else is
wheel: $(STAMP)
	$(RUN) tools/check_wheel.py

# the pages of the studies with their pictures, the notebooks with their outputs, some minutes; docs/ holds the result
pictures: $(TESTS)
	$(RUN) -m pip install --quiet --editable ".[plot]"
	$(RUN) docs/studies.py
	$(RUN) docs/design_pictures.py
	$(RUN) docs/notebooks.py

# the moving picture of the home page, pictures of the viewer and thumbnails of the gallery: need Chromium, some minutes
film: $(STAMP)
	$(RUN) docs/moving_picture.py
	$(RUN) docs/viewer_pictures.py
	$(RUN) docs/thumbnails.py

# make bench CPU=x86-64-v3 PARTS="batch matrix": code for another processor, some parts only
bench: $(TESTS)
	$(RUN) -m pip install --quiet --editable ".[bench]"
	KINETREE_CPU=$(CPU) $(RUN) -m benchmarks $(PARTS)

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
