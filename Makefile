# make demo: set up and show what kinetree does.   make test: run every test.
PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin/python
STAMP  := $(VENV)/.installed

.PHONY: demo test lint types docs pictures bench clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet --editable ".[test,dev,docs,mjcf,symbolic]"
	touch $(STAMP)

demo: $(STAMP)
	$(RUN) examples/demo.py

test: $(STAMP)
	$(RUN) -m pytest -n auto

lint: $(STAMP)
	$(RUN) -m ruff check src tests benchmarks examples
	$(RUN) -m ruff format --check src tests benchmarks examples

types: $(STAMP)
	$(RUN) -m mypy

docs: $(STAMP)
	$(RUN) -m mkdocs build --strict --quiet

# the pages of the studies with their pictures, some minutes; docs/ holds the result
pictures: $(STAMP)
	$(RUN) -m pip install --quiet --editable ".[plot]"
	$(RUN) docs/studies.py

bench: $(STAMP)
	$(RUN) -m pip install --quiet --editable ".[bench]"
	$(RUN) -m benchmarks

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
