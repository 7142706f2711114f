# Two targets do everything: `make verify` runs the main job, `make test` passes the tests. Each makes the environment it needs, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: verify test lint workflows docs links bench bench-kafka clients recorders others tlc hostile kills week fuzz-histories fuzz-tables trial hunt agreement convictions seeds proofs counterexamples mutants changed-mutants sbom image requirements clean

verify: $(READY)
	$(BIN)/urteil verify

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(BIN)/lint-imports

# The workflows below .github, checked by actionlint. Needs Go, and a network once.
workflows:
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# The site, in build/docs; a link that leads nowhere fails.
docs: $(READY)
	$(BIN)/python -m tools.reference docs/reference
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky docs build/docs

# Links of the site to other sites; a link that is broken fails. Needs a network.
links: docs
	$(BIN)/sphinx-build --quiet --builder linkcheck docs build/links

bench: $(READY)
	$(BIN)/python -m benchmarks

# Apache Kafka itself under faults: needs Maven, a network once, and ten minutes.
bench-kafka: $(READY)
	$(BIN)/python -m benchmarks.apache_kafka --out runs/apache-kafka-$$(date +%Y-%m-%dT%H%M%S)

# TLC on the export of every version and bug, beside our own explorer: for a night. It takes an hour of one core.
# Needs Java, and Maven with a network once.
tlc: $(READY)
	$(BIN)/python -m tools.tlc

# Real clients against the served broker: writes benchmarks/results/clients.json and docs/clients.md. Needs Maven, Java,
# Go, npm, Cargo and kcat, a network once, and a quarter of an hour.
clients: $(READY)
	$(BIN)/python -m tools.clients

# The recorders for Java and Go, built and tried on the served broker. Needs Maven, Java and Go, a network once, and a minute.
recorders: $(READY)
	$(BIN)/python -m tools.recorders

# Suites of other projects against the served broker: benchmarks/results/others.json and docs/others-suites.md. Needs Go, a
# network once, and a quarter of an hour; the tests of confluent-kafka also a checkout: make others CHECKOUT=FOLDER.
others: $(READY)
	$(BIN)/python -m tools.others_suites $(if $(CHECKOUT),--checkout $(CHECKOUT))

# The served broker under hostile frames: a million beside a healthy client, then an hour of atheris. Two to three hours.
hostile: $(READY)
	$(BIN)/python -m benchmarks.hostile_frames
	$(BIN)/python -m pip install --quiet atheris==3.0.0
	$(BIN)/python -m tools.fuzz frames --seconds 3600

# A thousand kills of served brokers under load, and a week of records: an hour and a half. Both write benchmarks/results.
kills: $(READY)
	$(BIN)/python -m benchmarks.kills --kills 1000 --minutes 90
week: $(READY)
	$(BIN)/python -m benchmarks.week

# The readers of histories, and the analysis, on the bytes of a fuzzer: an hour.
fuzz-histories: $(READY)
	$(BIN)/python -m pip install --quiet atheris==3.0.0
	$(BIN)/python -m tools.fuzz histories --seconds 3600

# The readers of Avro, of Delta logs and of Iceberg tables on the bytes of a fuzzer: an hour each.
fuzz-tables: $(READY)
	$(BIN)/python -m pip install --quiet atheris==3.0.0
	for target in avro delta iceberg; do $(BIN)/python -m tools.fuzz $$target --seconds 3600 || exit 1; done

# Real systems on trial: every reproduction, suite and 10,000 pairs of answers. Needs Maven, a network once, and hours.
# A reproduction exits with 1 where it shows its defect; a suite with 1 where a claim is broken that has a finding, else
# with 3, because some claims need other settings.
KAFKA := apache-kafka:4.3.0
trial: $(READY)
	$(BIN)/urteil reproduce | while read -r name _; do $(BIN)/urteil reproduce $$name </dev/null || [ $$? -eq 1 ] || exit 1; done
	$(BIN)/urteil test --on $(KAFKA) --proxied --runs 30 || case $$? in 1|3) ;; *) exit 1;; esac
	$(BIN)/urteil test --on $(KAFKA) --proxied --outside --runs 30 || case $$? in 1|3) ;; *) exit 1;; esac
	$(BIN)/urteil conform --on $(KAFKA) --pairs 10000

# Drawn runs on several versions of Kafka, each recorded in docs/hunt.md: for a night, or so many seconds.
HUNT_SECONDS := 28800
hunt: $(READY)
	$(BIN)/python -m tools.hunt --seconds $(HUNT_SECONDS)

# Histories with planted faults or seeded bugs, for false positives of analyze: docs/convictions.md. It goes on where it ended.
CONVICTIONS_SECONDS := 3600
convictions: $(READY)
	$(BIN)/python -m tools.convictions --seconds $(CONVICTIONS_SECONDS)

# The searches of all suites on ten seeds, inside and outside their conditions: docs/seeds.md. It goes on where it ended, or with SEEDS_OPTIONS=--again repeats all.
SEEDS_SECONDS := 3600
seeds: $(READY)
	$(BIN)/python -m tools.seeds --seconds $(SEEDS_SECONDS) $(SEEDS_OPTIONS)

# Every proved version on ten seeds of Z3, and on one with cvc5: docs/proofs.md. It goes on where it ended, or with PROOFS_OPTIONS=--again repeats all.
PROOFS_SECONDS := 3600
proofs: $(READY)
	$(BIN)/python -m tools.proofs --seconds $(PROOFS_SECONDS) $(PROOFS_OPTIONS)

# Generated histories on which kernels must equal the literal definitions. It goes on where it ended.
AGREEMENT_SECONDS := 3600
agreement: $(READY)
	$(BIN)/python -m benchmarks.analyze.agreement --histories 1000000 --seconds $(AGREEMENT_SECONDS)

# Single-point mutants of the product, and the tests that kill them: docs/mutants.md. It goes on where it ended.
MUTANTS_SECONDS := 3600
mutants: $(READY)
	$(BIN)/python -m tools.mutants --seconds $(MUTANTS_SECONDS)

# Mutants of the lines that differ from BASE, as many as the time permits: fails if one survives.
BASE := main
changed-mutants: $(READY)
	$(BIN)/python -m tools.mutants --changed --base $(BASE) --seconds $(MUTANTS_SECONDS)

# What ships with Urteil, with licences, as a CycloneDX document.
sbom: $(READY)
	mkdir -p build
	$(BIN)/python -m tools.sbom >build/sbom.cdx.json

# The container image; IMAGE_BUILD=docker build --file Containerfile builds it with Docker. It needs the network.
IMAGE_BUILD := podman build
image:
	$(IMAGE_BUILD) --tag urteil .

# Every recorded counterexample of the specs, step by step: a minute.
counterexamples: $(READY)
	$(BIN)/python -m tools.counterexamples --replay

# Hashes are checked for every package but our own; the build backend is one of them, so nothing is fetched unpinned.
$(READY): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Urteil needs Python 3.11 or later; say which with make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $(READY)

# Newest pins: universal, hashed, naming no index. Those of the image are the same versions.
requirements:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-header --upgrade -o requirements.txt
	uv pip compile pyproject.toml --extra image --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --no-header --constraints requirements.txt -o requirements-image.txt

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache .hypothesis
