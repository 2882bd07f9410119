# Every target does all of its own set-up; `make help` lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
JOBS ?= $(shell nproc)
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
CMAKE ?= $(BIN)/cmake
CTEST ?= $(BIN)/ctest

cpp_sources := $(shell find core cmake CMakeLists.txt -name '*.cpp' -o -name '*.c' -o -name '*.h' -o -name '*.hpp' -o -name '*.cmake' -o -name CMakeLists.txt)
demo_page := nearfar-demo.html

# Configures and builds one preset (or some targets of it), showing only the compiler's own messages.
build = echo "Building build/$(1)"; $(CMAKE) --preset $(1) >/dev/null; \
  MAKEFLAGS=--no-print-directory $(CMAKE) --build --preset $(1) -j$(JOBS) $(if $(2),--target $(2)) | { grep -vE '^\[ *[0-9]+%\]' || true; }

# Runs one preset's tests (or those chosen by further options), showing failures and the closing
# lines.
run-tests = $(CTEST) --preset $(1) -j$(JOBS) $(2) | \
  { grep -vE '^ *(Start +[0-9]+:|[0-9]+/[0-9]+ Test .* Passed )' || true; }

# Calls pip so that it builds the package where the tests are built and with the generator they
# use: the core is compiled once.
as_installed = CMAKE_GENERATOR='Unix Makefiles' CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) \
  $(BIN)/python -m pip $(1) -q --disable-pip-version-check --no-build-isolation \
  --config-settings=build-dir=build/release

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | \
	  awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: demo
demo: install ## probe the Optane model and this machine, validate the model; writes nearfar-demo.html
	@scripts/demo $(demo_page)
	@echo "Open $(CURDIR)/$(demo_page) in a browser; it needs no network."

.PHONY: install
install: $(STAMPS)/package ## build everything and leave the command at .venv/bin/nearfar

.PHONY: test
test: test-cpp test-python ## run all tests, C++ and Python

.PHONY: test-cpp
test-cpp: $(STAMPS)/build ## run the C++ tests, optimised
	@scripts/need gtest
	@$(call build,release,nearfar_tests)
	@$(call run-tests,release)

# One more than processors, because tests also wait.
.PHONY: test-python
test-python: install $(STAMPS)/test ## run the Python, whole-program and validation tests
	@scripts/need gtest chromium? zsh? fish? redis? pmdk? sqlite? fio? gdb? systemc? slurm? munge? machine? busybox? linux-headers? virsh?
	@$(call build,release,check_trace)
	@$(BIN)/pytest --numprocesses $$(($(JOBS) + 1)) --dist loadfile --no-loadscope-reorder

.PHONY: sanitize
sanitize: test-asan test-tsan ## run the C++ tests under the address, undefined-behaviour and thread sanitizers

.PHONY: test-asan
test-asan: $(STAMPS)/build
	@scripts/need gtest
	@$(call build,asan)
	@$(call run-tests,asan)

# A machine is one thread by design. The kernels that measure real memory use several, the front end
# has the threads of its program, and the pager has threads of its own. What writes the lists only names
# types that hold atomics.
threaded = core/probe|core/frontend|core/tier|core/bindings/lists
threads_elsewhere = $(shell grep -rlE '^.include <(thread|mutex|atomic|future|condition_variable|pthread\.h)>' core | grep -vE '^($(threaded))/')

.PHONY: test-tsan
test-tsan: $(STAMPS)/build
	@scripts/need gtest
	@[[ -z "$(threads_elsewhere)" ]] || { echo "Makefile: $(threads_elsewhere): threads outside $(threaded), which test-tsan does not run"; exit 1; }
	@$(call build,tsan,probe_tests gate_tests tier_tests)
	@$(call run-tests,tsan,--tests-regex '^(probe|gate|tier)_')

.PHONY: coverage
coverage: $(STAMPS)/build $(STAMPS)/coverage ## branches of the tier's parts that its C++ tests have taken
	@scripts/need gtest
	@$(call build,coverage,tier_tests)
	@$(BIN)/python scripts/coverage core/tier/pager core/tier/far core/tier/service core/tier/tree

.PHONY: test-package
test-package: install ## check that the wheel works without the checkout
	@rm -rf build/installed build/wheel && $(PYTHON) -m venv build/installed
	@$(call as_installed,wheel) --no-deps --wheel-dir build/wheel .
	@build/installed/bin/pip install -q --disable-pip-version-check build/wheel/nearfar-*.whl
	@cd build/installed && bin/nearfar --version && bin/nearfar model check optane-100 && \
	  bin/nearfar measure model:optane-100 chase --region 4KiB --quiet && \
	  bin/python -P -c 'from nearfar.resources import folder; \
	    assert all("site-packages" in str(folder(name)) for name in ("models", "reference", "examples/programs/set", "examples/programs/kit", "studies"))'

.PHONY: dist
dist: install $(STAMPS)/dist ## build sdist and wheel into dist/, and check that both install by themselves
	@scripts/dist

.PHONY: bench
bench: install ## print host instructions and time of a request, simulated bandwidth and latency
	@scripts/need valgrind
	@$(call build,release)
	@$(BIN)/python bench/run.py

.PHONY: bench-pager
bench-pager: install ## count instructions of the pager a fault, on a fake kernel
	@scripts/need valgrind
	@$(call build,release,bench_pager)
	@$(BIN)/python bench/pager.py

.PHONY: bench-commands
bench-commands: install ## count host instructions of a request through the commands that users type
	@scripts/need valgrind
	@$(BIN)/python bench/commands.py

.PHONY: bench-sampling
bench-sampling: install ## compare sampled runs of long programs with full simulations: error, intervals, slow-down
	@$(BIN)/python bench/sampling.py

.PHONY: bench-energy
bench-energy: install ## compare the energy of DRAM in simple patterns with its data sheet
	@$(call build,release)
	@$(BIN)/python bench/energy.py

.PHONY: bench-loaded
bench-loaded: install ## compare the latency of a CXL device under load with Little's law
	@$(BIN)/python bench/loaded.py

.PHONY: bench-host
bench-host: install ## compare nearfar's figures of this machine with lmbench and plain loops
	@$(call build,release)
	@$(BIN)/python bench/honesty.py

.PHONY: bench-policies
bench-policies: install ## compare the misses of every replacement policy with the best choice
	@$(BIN)/python bench/tier_policies.py

studied := ycsb tpcc mapped_io redis_ycsb pmem_map pmem_list

.PHONY: programs
programs: install ## compile the programs that studies/lazy-cache*.toml run, into build/programs
	@scripts/need pmdk
	@mkdir -p build/programs
	@for name in $(studied); do \
	  cc -O2 -I"$$($(BIN)/nearfar run --include)" -o build/programs/$$name \
	    examples/programs/$$name.c -pthread -lpmemobj -lpmem -lm; done

.PHONY: bench-sweep
bench-sweep: install ## print what a sweep costs beside its work, and what a second worker brings
	@$(BIN)/python bench/sweep.py

.PHONY: bench-vm
bench-vm: install ## time a Linux guest with 25, 10 and 5 % of its memory near: make bench-vm KERNEL=vmlinuz
	@$(BIN)/python bench/vm.py --kernel $(KERNEL)

.PHONY: bench-tier
bench-tier: install ## compare programs on two tiers with kernel swap, plain memory and an older design
	@scripts/need mimalloc
	@$(BIN)/python bench/tier.py

.PHONY: bench-ycsb
bench-ycsb: install ## compare redis on two tiers with kernel swap, under a client like YCSB
	@scripts/need redis
	@$(BIN)/python bench/ycsb.py

.PHONY: bench-flat
bench-flat: install ## processor time of exchanging pages between two tiers and of finding those in use
	@scripts/need mimalloc
	@$(BIN)/python bench/tier_flat.py
	@$(BIN)/python bench/tier_attach.py

.PHONY: bench-kernel
bench-kernel: install $(STAMPS)/test ## compare pages promoted by tier attach and run --flat with Linux's own tiering, in a guest with a slow node
	@$(BIN)/python bench/tier_kernel.py

.PHONY: stress
stress: install $(STAMPS)/test ## stress two tiers for 30 minutes, then run real programs with a twentieth near
	@scripts/need redis?
	@NEARFAR_NIGHTLY=1 NEARFAR_STRESS_SECONDS=1800 $(BIN)/pytest --timeout 3600 \
	  tests/python/tier/test_tier_stress.py tests/python/tier/test_tier_hazards.py tests/python/tier/test_tier_programs.py

fuzzed = text bytes convert settings
corpus = $(if $(filter convert,$(1)),tests/fuzz/corpus/text tests/fuzz/corpus/bytes,tests/fuzz/corpus/$(1))

.PHONY: fuzz
fuzz: install ## an hour: a million inputs for each reader in C++, 100,000 for each in Python, that may not break it
	@$(call build,fuzz,nearfar_fuzz)
	@$(foreach name,$(fuzzed),build/fuzz/tests/fuzz/fuzz_$(name) -runs=1000000 $(call corpus,$(name)) && ) \
	  $(BIN)/python tests/fuzz/readers.py --runs 100000

.PHONY: kernels
kernels: install $(STAMPS)/test ## test two tiers on four processors under older and newer kernels
	@scripts/kernels

.PHONY: lint
lint: install $(STAMPS)/lint ## check format, types, style, English and the subjects of new commits
	@scripts/need gtest
	@scripts/lint

.PHONY: lint-deep
lint-deep: install $(STAMPS)/lint ## lint with clang's static analyser at its full depth
	@scripts/need gtest
	@scripts/lint --deep

.PHONY: format
format: $(STAMPS)/lint ## rewrite C++ and Python in the project's format
	@git ls-files '*.h' '*.hpp' '*.cpp' | xargs $(BIN)/clang-format -i
	@$(BIN)/ruff format -q python tests bench
	@$(BIN)/ruff check -q --fix python tests bench

.PHONY: docs
docs: install $(STAMPS)/docs ## build the documentation into site/
	@$(BIN)/nearfar model schema --markdown >docs/parameters.md
	@$(BIN)/python scripts/commands-page >docs/commands.md
	@$(BIN)/mkdocs build --strict --quiet --site-dir site
	@echo "Open $(CURDIR)/site/index.html"

.PHONY: clean
clean: ## remove everything that was built, and the virtual environment
	rm -rf build site dist docs/commands.md docs/parameters.md $(VENV) $(demo_page)

$(STAMPS)/venv:
	@scripts/need compiler venv headers
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nearfar needs Python 3.11 or newer; choose one: make PYTHON=python3.12 ...")'
	@echo "Setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check pip==25.3
	@mkdir -p $(STAMPS) && touch $@

# One stamp a group of tools in pyproject.toml.
$(STAMPS)/build $(STAMPS)/test $(STAMPS)/lint $(STAMPS)/docs $(STAMPS)/coverage $(STAMPS)/dist: $(STAMPS)/%: pyproject.toml $(STAMPS)/venv
	@echo "Installing the pinned $* tools"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --group $*
	@touch $@

# Editable: Python runs from the checkout, so only a change of C++ makes this run again.
$(STAMPS)/package: $(cpp_sources) pyproject.toml python/nearfar/version.py $(STAMPS)/build
	@scripts/need zydis? qemu? mimalloc? lz4? zstd?
	@echo "Building nearfar (C++ core and command)"
	@$(call as_installed,install) --editable .
	@touch $@
