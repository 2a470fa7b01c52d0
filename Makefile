# Every target does its own set-up; a second run sets nothing up again.
# `make demo` trains CartPole in headless browsers; `make test` runs every test; `make check` lints and types.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMPS := .make
TORCH := 2.13.0
# That run tests side by side, a file each.
PROCESSES ?= 3
RUN := $(BIN)/python -m attract
# Images set it. Each worker of pytest would rewrite all test files again, and each process compile Attract.
unexport PYTHONDONTWRITEBYTECODE
ALONE = $$(grep -rl "mark\.alone" tests --include='test_*.py')

.PHONY: setup demo serve build test slowest long soak check docs format mutants planted corpus ray gpu-check wpt release clean
.DEFAULT_GOAL := demo

setup: $(STAMPS)/python $(STAMPS)/node build
	@$(BIN)/python -m attract.browser.install

demo: setup
	$(RUN) train cartpole --headless --workers 2 --until-return 475 --exit

serve: setup
	$(RUN) serve

build: $(STAMPS)/node
	@npm run --silent build

# Vitest runs beside pytest, each test of which waits for a browser or a process now and then; its output follows.
test: setup
	@rm -f build/durations.* && mkdir -p build
	@VITEST_WORKERS=1 npx vitest run --tagsFilter='!long' --reporter=default --reporter=json --outputFile.json=build/durations.vitest.json \
		> build/vitest.log 2>&1 & vitest=$$!; trap "kill $$vitest 2>/dev/null" EXIT INT TERM; \
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -rR -m "not long and not soak and not alone and not ray"; pytest=$$?; \
	wait $$vitest; vitest=$$?; cat build/vitest.log; [ $$pytest = 0 ] && [ $$vitest = 0 ]
	$(BIN)/python -m pytest -rR -m "alone and not long" $(ALONE)

# What took longest in the last `make test`, and all of it in build/durations.json.
slowest:
	@$(BIN)/python tests/durations.py

# What `make test` leaves out to stay short: second ways through what it tests already. Two at a
# time: most of them train, and of three each had too little of two cores.
long: setup
	npx vitest run --tagsFilter=long
	$(BIN)/python -m pytest -p no:rerunfailures -n 2 --dist loadfile -m "long and not soak and not alone"
	$(BIN)/python -m pytest -p no:rerunfailures -m "alone and long" $(ALONE)

# The long proofs of docs/contributing/reliability.md, which `make test` leaves out: hundreds of kills, millions of frames.
soak: setup
	$(BIN)/python -m pytest -m soak

check: $(STAMPS)/python $(STAMPS)/node
	$(BIN)/ruff check backend benchmarks tests shared_schema docs/.vitepress
	$(BIN)/ruff format --check backend benchmarks tests shared_schema docs/.vitepress
	$(BIN)/pyright
	$(BIN)/lint-imports
	npm run --silent types
	npm run --silent lint
	$(BIN)/python shared_schema/generate.py --check
	$(BIN)/python tests/support/check_rules.py

format: $(STAMPS)/python $(STAMPS)/node
	$(BIN)/ruff check --fix-only --quiet backend benchmarks tests shared_schema docs/.vitepress
	$(BIN)/ruff format --quiet backend benchmarks tests shared_schema docs/.vitepress
	npx biome check --write --log-level=error .

# The guide as a site of static files, in docs/.vitepress/dist; its links are checked. No lock file: npm's own lists the
# packages of one platform, and `npm ci` refuses it on another.
docs: setup
	@npm --prefix docs install --silent --prefer-offline --no-package-lock
	$(BIN)/python docs/.vitepress/prepare.py
	@npm --prefix docs run --silent build

# Builds what is shipped from a clean clone, installs it in empty environments and runs its first commands. Publishes nothing.
release:
	PYTHON="$(PYTHON)" TORCH="$(TORCH)" deploy/release.sh

mutants: setup
	$(BIN)/python tests/mutants/run.py

planted: setup
	PYTHONPATH=tests/support $(BIN)/python benchmarks/experiments/planted_failures.py

# A hundred planted faults, clean builds and harmless changes, each played by `attract ci`: hours. It goes on where it was.
corpus: setup
	PYTHONPATH=tests/support $(BIN)/python benchmarks/experiments/planted_faults.py

# Ray is an extra of 590 MB: nothing else needs it. It starts several processes for each node: by itself, one file at a time.
ray: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[ray]'
	$(BIN)/python -m pytest -rs -m ray

gpu-check: setup
	KINETO_LOG_LEVEL=99 PYTHONPATH=tests/support $(BIN)/python benchmarks/experiments/gpu_check.py

# The tests themselves stay outside the tree. Results are kept in test-results/wpt: it goes on where it was cut off.
wpt: setup
	@test -n "$(WPT)" || { echo "give WPT=DIR, a clone: git clone --depth 1 https://github.com/web-platform-tests/wpt DIR"; exit 2; }
	$(BIN)/python tests/web_platform/run.py "$(WPT)"

clean:
	rm -rf $(STAMPS) .venv node_modules web/*/node_modules backend/attract/web benchmarks/built

# torch first: a CPU build, where one is to be had, unless a build is there already. Left to the resolver, Linux
# would fetch gigabytes of CUDA. The CPU index is asked only if the configured ones have no CPU build.
$(STAMPS)/python: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Attract needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -c 'import torch' 2>/dev/null \
		|| $(BIN)/python -m pip install --quiet "torch==$(TORCH)+cpu" 2>/dev/null \
		|| { [ "$$(uname)" = Linux ] && $(BIN)/python -m pip install --quiet "torch==$(TORCH)+cpu" --retries 1 \
		     --extra-index-url https://download.pytorch.org/whl/cpu 2>/dev/null; } \
		|| $(BIN)/python -m pip install --quiet "torch==$(TORCH)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[train]' --group dev
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/node: package-lock.json package.json
	@node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' \
		|| { echo "Attract needs Node 20 or newer to build its pages: https://nodejs.org"; exit 1; }
	npm ci --silent
	@mkdir -p $(STAMPS) && touch $@
