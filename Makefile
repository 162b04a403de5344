# Each target sets up what it needs first; that is quick when it is done already.
.PHONY: site pictures recordings demo test test-kernels check bench readme docs setup snapshots fuzz torture manuals words benchmark
PYTHON = .venv/bin/python
# Each `iowhy` that a test starts would compile its modules again: half a second of CPU.
unexport PYTHONDONTWRITEBYTECODE

demo: setup
	@tools/demo

test:
	@tools/setup test
	cargo test --release --workspace --quiet
	# In the order of their names the last files are many and short (tests/whys); by number of tests they would be few and long,
	# and one core idle.
	$(PYTHON) -m pytest --ignore tests/live --ignore tests/release --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 20
	# Live tests mostly wait, each for what it started itself; the rest need the machine for themselves.
	$(PYTHON) -m pytest tests/live -m "not alone" --numprocesses 4 --dist loadfile --durations 20
	$(PYTHON) -m pytest tests/live -m alone

# Boots other kernels, emulated; fetches them as Debian's packages. KERNELS=bullseye: only that suite's.
test-kernels:
	@tools/setup test-kernels
	PYTHONPATH=. $(PYTHON) -m tests.kernels $(KERNELS)

check:
	@tools/setup test
	cargo fmt --all --check
	rustfmt --check recorder/src/rows/*.rs  # modules that build/sources.rs adds
	.venv/bin/clang-format --dry-run --Werror recorder/bpf/*.[ch] agent/bpf/*.[ch]
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	.venv/bin/ruff format --check --quiet python tests benchmarks benchmark
	.venv/bin/ruff check --quiet python tests benchmarks benchmark
	.venv/bin/mypy python/iowhy

bench:
	@tools/setup test
	$(PYTHON) -m benchmarks

# The labelled set (benchmark/): makes its data on a quiet machine, as root, in minutes; scores iowhy and a baseline; packs it for a release.
LABELLED = target/benchmark
benchmark:
	@tools/setup test
	$(PYTHON) -m benchmark.make $(LABELLED)/data
	$(PYTHON) -m benchmark.answers iowhy $(LABELLED)/data > $(LABELLED)/iowhy.jsonl
	$(PYTHON) -m benchmark.answers use $(LABELLED)/data > $(LABELLED)/use.jsonl
	$(PYTHON) -m benchmark.page $(LABELLED)
	cp benchmark/index.json benchmark/score.py $(LABELLED)
	tar -C $(LABELLED) --owner 0 --group 0 -czf $(LABELLED)/iowhy-benchmark.tar.gz index.json score.py data

# What commands print, as tests/snapshots holds it; look at the difference before it is committed.
snapshots: setup
	UPDATE_SNAPSHOTS=1 $(PYTHON) -m pytest tests/snapshots tests/docs

# Every sentence that a user can see, with its id and example values.
words:
	@tools/setup test
	@PYTHONPATH=. $(PYTHON) -m tests.words

# Damaged outputs of other tools through every reader in Python, then each parser in Rust guided by what it reaches; so many
# seconds for the first and for each of the others (SECONDS=3600 for a night).
SECONDS = 600
fuzz: setup
	$(PYTHON) -m tests.sources.fuzz $(SECONDS)
	tools/fuzz $(SECONDS)

# Properties with many examples; damaged recordings, texts and logs, full disks, and kills at random moments (as root, alone on the machine).
# MINUTES=300 for a night; SEED=… repeats a run, `python -m tests.torture PART --seed N --most 1` one failure.
MINUTES = 10
torture:
	@tools/setup test
	EXAMPLES=300 $(PYTHON) -m pytest -m "hypothesis or more" --ignore tests/live --ignore tests/release
	$(PYTHON) -m tests.torture --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# Pages that are made from the code; those that are written by hand are filled to one width.
docs: setup
	$(PYTHON) -m iowhy.recordings.document > docs/recording.md
	$(PYTHON) -m iowhy.reports.document > docs/reports.md
	$(PYTHON) -m iowhy.whys.cause_pages
	$(PYTHON) -m iowhy.whys.program_pages
	$(PYTHON) -m tests.docs.wrapping

# The site of docs/, searched without a network too. Its generator has an environment of its own, which is fetched once.
site: target/site-venv/whole
	target/site-venv/bin/sphinx-build -q -E -W --keep-going -b html -d target/site-read -c docs/site . target/site
	@echo open target/site/index.html

target/site-venv/whole: docs/site/requirements.lock
	python3 -m venv --clear target/site-venv
	target/site-venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r $<
	touch $@

# The pictures of README and docs, in a browser without a screen (as root: it records what it shows).
pictures:
	@tools/setup test
	$(PYTHON) -m tests.page.pictures
	$(PYTHON) -m tests.docs.report_pictures

# The recordings that pages of causes and tutorials open, on a quiet machine, as root: minutes.
recordings:
	@tools/setup test
	$(PYTHON) -m tests.docs.recordings

# Man pages and completion of shells, which the wheel carries; tools/setup makes them before it builds.
manuals:
	PYTHONPATH=python $(PYTHON) -m iowhy.cli.documents wheel/data

# All that a release consists of in dist/, of what is committed; then tries it.
release:
	@tools/setup release
	tools/release
	DIST=dist $(PYTHON) -m pytest tests/release -p no:cacheprovider

setup:
	@tools/setup build

readme: setup
	tools/readme
