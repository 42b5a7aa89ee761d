# Two commands on a fresh machine: `make run` and `make test`. All other targets are for contributors.
# They need Rust (rustup), a C compiler and a registry for crates. `make test-real` needs Go, Python and root or sudo as well, and fetches the rest.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
CARGO ?= cargo
BINARY := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/debug/switchboard
TOOLS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/switchboard/tools
DENY_VERSION := 0.20.2
# Only the fuzzer needs nightly.
FUZZ_TIME ?= 60
FUZZ_SEEDS ?= 40000
# Duration of the script of the cost study, for each of its three sides.
STUDY_SECONDS ?= 600
# Building the archives costs minutes: alone, the crates have other features, and so other builds, than in the workspace.
PACKAGE_FLAGS ?= --no-verify

# One build of the whole workspace compiles dependencies once; with `-p`, each crate would select other features and build them again.
comma := ,
empty :=
REAL_FEATURES := $(subst $(empty) $(empty),$(comma),$(addprefix switchboard-,$(addsuffix /real,suite template chart integrations sql gitops)))
# Most suites wait for servers most of the time, so two lanes run in parallel. The suite that compares responses byte for byte runs
# alone after them.
REAL_LANE := gitops hosting docs deploy metrics kubectl kernel clientgo gather go goldens
REAL_OTHER_LANE := own_binary console plugs service database contract integrations charts helm own_chart recorded sprig
REAL_ALONE := conformance
REAL_TEST := $(CARGO) test --workspace --features $(REAL_FEATURES) --no-fail-fast
BENCHES := $(addprefix --bench ,store side_by_side cache probe hosted plugs console chart integrations gitops)

.PHONY: help run test test-real record record-charts bench study fuzz fmt lint package deny ci real

help: ## Show these targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: ## Start Switchboard on embedded defaults
	$(CARGO) run --quiet -p switchboard -- up --config examples/switchboard.yaml --example postgres --example gitops --example deployments

# The suites use the binary of their own build, because a separate cargo build would compile most crates again with other features.
test: ## Run every test that needs nothing but this checkout
	SWITCHBOARD_BIN="$(BINARY)" $(CARGO) test --workspace --no-fail-fast

real: ## Build the real components the oracle suites compare with (cached)
	@tests/real/build >/dev/null

test-real: real ## Run the suites against the real kube-apiserver, kubectl, helm, client-go, text/template, PostgreSQL, Argo CD and Chromium
	$(CARGO) test --workspace --no-run --test cli
	$(CARGO) test --workspace --features $(REAL_FEATURES) --no-run $(addprefix --test ,$(REAL_LANE) $(REAL_OTHER_LANE) $(REAL_ALONE)) --lib
	@bin="$$(tests/real/build)"; export PATH="$$bin:$$PATH" SWITCHBOARD_REAL_BIN="$$bin" SWITCHBOARD_BIN="$(BINARY)"; \
	  other=$$(mktemp); $(REAL_TEST) $(addprefix --test ,$(REAL_OTHER_LANE)) >"$$other" 2>&1 & beside=$$!; code=0; \
	  $(REAL_TEST) $(addprefix --test ,$(REAL_LANE)) || code=$$?; \
	  wait $$beside || code=$$?; cat "$$other"; rm "$$other"; \
	  $(REAL_TEST) $(addprefix --test ,$(REAL_ALONE)) || code=$$?; \
	  $(REAL_TEST) --lib schema || code=$$?; exit $$code

record: real ## Record the answers of the real kube-apiserver and of Go's text/template into the cases
	PATH="$$(tests/real/build):$$PATH" SWITCHBOARD_REAL_BIN="$$(tests/real/build)" UPDATE=1 \
	  $(CARGO) test -p switchboard-suite --features real --test conformance
	SWITCHBOARD_REAL_BIN="$$(tests/real/build)" UPDATE=1 $(CARGO) test -p switchboard-template --features real --test go --test sprig

record-charts: real ## Record the answers of the real Helm into helm/chart/tests
	SWITCHBOARD_REAL_BIN="$$(tests/real/build)" UPDATE=1 $(CARGO) test -p switchboard --test cli -- template:: validated:: small::

# One build for program and benches, because separate builds would select different features. If a goal is missed, the target fails
# after all tables are printed.
bench: real ## Measure against the real kube-apiserver and etcd, side by side, and the cache against a reflector; prints tables
	$(CARGO) build --release --workspace --features switchboard-suite/real --bin switchboard $(BENCHES)
	@bin="$$(tests/real/build)"; export PATH="$$bin:$$PATH" SWITCHBOARD_REAL_BIN="$$bin"; code=0; \
	  $(CARGO) bench --workspace --features switchboard-suite/real --no-fail-fast $(BENCHES) || code=$$?; \
	  $(CARGO) bench -p switchboard-template --features real --bench engine || code=$$?; exit $$code

study: real ## Measure ten operators resident and hosted for STUDY_SECONDS each, and write docs/COST.md
	$(CARGO) build --release --workspace --bin switchboard
	$(CARGO) build --workspace --features switchboard-suite/real --example study
	PATH="$$(tests/real/build):$$PATH" SWITCHBOARD_REAL_BIN="$$(tests/real/build)" SWITCHBOARD_BIN="$(CURDIR)/target/release/switchboard" \
	  STUDY_SECONDS=$(STUDY_SECONDS) target/debug/examples/study

fuzz: real ## Fuzz every target for FUZZ_TIME seconds (nightly), and compare FUZZ_SEEDS random templates with Go, and charts with Helm
	@command -v cargo-fuzz >/dev/null || $(CARGO) install --locked cargo-fuzz
	@cd tests/fuzz && for target in $$(cargo +nightly fuzz list); do \
	  echo "== $$target"; mkdir -p corpus-work/$$target && cargo +nightly fuzz run $$target corpus-work/$$target corpus/$$target -- -max_total_time=$(FUZZ_TIME); done
	@first=$$(date +%s)0000; echo "== templates $$first.. against Go's text/template"; \
	  SWITCHBOARD_REAL_BIN="$$(tests/real/build)" SEEDS="$$first..$$((first + $(FUZZ_SEEDS)))" \
	  $(CARGO) test -p switchboard-template --features real --test go random_templates
	@first=$$(date +%s)0000; echo "== charts $$first.. against Helm's engine"; \
	  SWITCHBOARD_REAL_BIN="$$(tests/real/build)" SEEDS="$$first..$$((first + $(FUZZ_SEEDS) / 10))" \
	  $(CARGO) test -p switchboard-chart --features real --test recorded random_charts

fmt: ## Check the format
	$(CARGO) fmt --all --check

lint: ## Clippy, warnings denied
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings

# Together: none of them is in a registry, where they would find each other.
package: ## Make the archives of the crates that are useful alone; with PACKAGE_FLAGS= each is built from its archive
	$(CARGO) package --quiet --allow-dirty $(PACKAGE_FLAGS) $(addprefix -p switchboard-,object cluster template chart)

deny: ## Licences, bans and, where the database can be reached, advisories
	@test -x $(TOOLS)/bin/cargo-deny || $(CARGO) install --locked cargo-deny --version $(DENY_VERSION) --root $(TOOLS)
	$(TOOLS)/bin/cargo-deny --config .config/deny.toml --workspace check licenses bans sources
	@$(TOOLS)/bin/cargo-deny --config .config/deny.toml --workspace check advisories || { code=$$?; \
	  $(TOOLS)/bin/cargo-deny fetch db >/dev/null 2>&1 && exit $$code; \
	  echo "advisories: not checked, the advisory database cannot be reached from here"; }

# A build that runs once needs neither incremental compilation nor line numbers in backtraces; both cost minutes.
ci: export CARGO_INCREMENTAL = 0
ci: export CARGO_PROFILE_DEV_DEBUG = none
# The real components are built in parallel at a lower priority; `test-real` waits for them.
ci: ## Everything above that can fail, with the time of each stage
	@nice -n 19 tests/real/build >/dev/null 2>&1 & \
	total=$$SECONDS; for stage in fmt lint package test test-real; do \
	  begin=$$SECONDS; $(MAKE) --no-print-directory $$stage; \
	  echo "== stage $$stage: $$((SECONDS - begin)) s"; done; \
	echo "== all stages: $$((SECONDS - total)) s"
