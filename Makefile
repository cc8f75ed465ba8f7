SWIFT_FLAGS ?=
SCRATCH ?= .build
BIN = $(CURDIR)/$(SCRATCH)/debug
# Starting the tests this way takes less time than `swift test`, and fails if the filter matches no test.
TESTS = "$(BIN)/FuturesGatewayPackageTests.xctest" --testing-library swift-testing --filter
# One process each: several tests measure the processor time of the process that they run in. The slowest come first.
UNIT_TARGETS = FuturesGateway MicroHTTP FeedCore FeedDialects Replication Tape DemoExchange FuturesFeed Rings GatewayAccess WebSockets NATS Command \
	FuturesGatewayClient
UNIT_STEPS = $(UNIT_TARGETS:%=tests-%) samples
SUITE_STEPS = tests-EndToEnd route-tls route-threads
# Steps run side by side, JOBS at a time, and each prints its output when it ends. More steps than processors delay the tests that wait for clocks.
JOBS ?= 2
STEPS = @$(MAKE) --no-print-directory --jobs=$(JOBS) --output-sync=target IS_BUILT=1
# The tests in which the way of a stream's bytes makes a difference.
STREAM_SUITES = (Event|Format|Resume|Exact|SlowReader|Compression|Pace|ConnectionControl|Replay|Stress|ServingHere|Restart|Outage|Snapshot|Socket|SocketLimit|Timing|Memory)Tests
# The promises that every merge proves small.
GATE = kills,detect,receipts,resume,exact,restarts,access,drain,selftest
RUN_ARGS ?= --demo
export WITH_TOOLS ?= 1
export SWIFT_BACKTRACE ?= enable=no

# What the program says that it was built of. Only these targets say it: with every new commit the program is linked anew.
run deb tarball: export BUILD_COMMIT := $(shell git describe --always --abbrev=12 --dirty --exclude '*' 2> /dev/null)

.PHONY: run help check test built program samples unit suite suite-whole suite-edge lint format scripts simulate simulate-log defects prove prove-short prove-gate soak sanitize fuzz contract extremes-short proxies browser suspensions \
	conformance graphql agents intrinio bots bots-short sockets sockets-short venues venues-short replay replay-short cluster cluster-check prove-scale bench bench-ingest instructions deb tarball deb-check release release-check site docs setup
.DEFAULT_GOAL := run

run: setup ## Build the gateway and serve the embedded exchange (RUN_ARGS="--venue aster" serves a venue)
	swift build -c release --product futures-gateway
	exec "$$(swift build -c release --show-bin-path)/futures-gateway" serve $(RUN_ARGS)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: setup ## Check what differs from main: format, build, unit tests, in under two minutes (LIMIT=100 seconds of tests, DRY=1 only prints)
	@Tests/check

test: setup lint built ## Run everything that has to pass before a merge, in at most a quarter of an hour with the first build (JOBS=2 steps at a time)
	$(STEPS) prove-gate scripts $(UNIT_STEPS) bots-short sockets-short $(SUITE_STEPS) extremes-short

built: ## Build everything, tests included, with warnings as errors
	$(if $(IS_BUILT),,swift build --build-tests $(SWIFT_FLAGS))

# The program alone, for steps that run it.
program:
	$(if $(IS_BUILT),,swift build --product futures-gateway $(SWIFT_FLAGS))

unit: built ## Build with warnings as errors and run the unit tests of every target
	$(STEPS) $(UNIT_STEPS)

suite: built ## Run the unit tests, the end-to-end tests, and the tests of streams once more over TLS and by several fan-out threads
	$(STEPS) $(UNIT_STEPS) $(SUITE_STEPS)

suite-whole: built ## Run all unit tests, and all of the gateway's once more over TLS and by several fan-out threads
	$(STEPS) $(UNIT_STEPS) route-tls route-threads STREAM_SUITES=

suite-edge: unit ## Run the gateway's tests at an edge of a cluster; some fail if the machine is busy
	STREAM_ROUTE=edge $(TESTS) "^FuturesGatewayTests\."

# These only compute, so they must not delay the tests beside them that wait for sockets and clocks.
tests-FeedCore tests-FeedDialects tests-Replication tests-Rings tests-GatewayAccess tests-WebSockets tests-Tape: NICE = nice

# Each of these tests runs an exchange, most of them a gateway too. With more at a time, tests time out on two processors, and the run takes as long.
tests-FuturesGateway tests-FuturesFeed tests-DemoExchange tests-EndToEnd route-tls route-threads suite-edge: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 4

tests-%:
	$(NICE) $(TESTS) "^$*Tests\."

route-%:
	STREAM_ROUTE=$* $(TESTS) "^FuturesGatewayTests\.$(STREAM_SUITES)"

samples:
	for corpus in Tests/Fuzz/Corpus/*; do "$(BIN)/fuzz" "$$(basename "$$corpus")" "$$corpus"/* || exit 1; done
	for kind in markPrice bookTicker depth markPrices; do "$(BIN)/ingest" round $$kind whole 0 > /dev/null || exit 1; done

lint: ## Check the format of every Swift file
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks Examples

format: ## Format every Swift file
	swift format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks Examples

scripts: ## Run the unit tests of the Python scripts; some check that each PROOF.md is as its program writes it
	for folder in $(wildcard Tests/Faults Tests/Soak Tests/Scale Tests/Bots Tests/Sockets Tests/Venues Tests/Replay Tests/Clients Tests/Docs Tests/Package Tests/Benchmarks); do python3 -B -m unittest discover --quiet --start-directory $$folder || exit 1; done

simulate: ## Run the core against a simulated venue and readers, and a thousand faults of one of several lines (SEEDS=1000; SEED=N replays one, TRACE=1 prints all of it)
	SEEDS=$(or $(SEEDS),1000) $(if $(SEED),,FILTER="Simulation|LinesTests") Tests/FeedCoreTests/Simulation/simulate

simulate-log: ## Run ingests and edges against a simulated engine that loses, repeats, stalls and forks (SEEDS=1000; SEED=N replays one, TRACE=1 prints all of it)
	SEEDS=$(or $(SEEDS),1000) Tests/ReplicationTests/Simulation/simulate

defects: ## Plant each known fault of the core and of the replication, and check that the simulators find it (SEEDS=5000 at most for each)
	Tests/Faults/defects

prove: setup ## Prove every promise and its control, in under ninety minutes; write PROOF.md (PROVE_ARGS="--only kills,detect")
	swift build -c release --product futures-gateway
	Tests/Soak/prove "$$(swift build -c release --show-bin-path)/futures-gateway" $(PROVE_ARGS)

prove-short: program ## Prove the promises small, with the debug build, in about six minutes; leave PROOF.md alone
	Tests/Soak/prove "$(BIN)/futures-gateway" --short

prove-gate: program ## Prove those of them that every merge must keep, in about two minutes
	Tests/Soak/prove "$(BIN)/futures-gateway" --short --only $(GATE)

soak: setup ## Run one proof over real sockets, by default all of them short (SOAK_ARGS="kills --kills 1000")
	swift build -c release --product futures-gateway
	Tests/Soak/soak "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(SOAK_ARGS),short)

sanitize: setup ## Run the suite under ThreadSanitizer and under AddressSanitizer
	$(MAKE) suite JOBS=1 SCRATCH=.build-thread SWIFT_FLAGS="--sanitize=thread -Xswiftc -DTSAN --scratch-path .build-thread"
	ASAN_OPTIONS=detect_leaks=0 $(MAKE) suite JOBS=1 SCRATCH=.build-address SWIFT_FLAGS="--sanitize=address --scratch-path .build-address"

fuzz: ## Fuzz everything that reads bytes from a network, if the toolchain has libFuzzer (SECONDS=60 for each)
	SECONDS_EACH=$(or $(SECONDS),60) Tests/Fuzz/run

contract: setup ## Hold every answer against openapi.yaml, by extreme requests, and by tools and generated clients from PyPI if they are there (EXAMPLES=50)
	swift build -c release --product futures-gateway
	Tests/Contract/fuzz "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(EXAMPLES),50)
	Tests/Contract/extremes "$$(swift build -c release --show-bin-path)/futures-gateway" 50000
	Tests/Contract/lint "$$(swift build -c release --show-bin-path)/futures-gateway"
	Tests/Contract/clients "$$(swift build -c release --show-bin-path)/futures-gateway"

extremes-short: program ## Ask every route for extreme numbers and times with the debug build, in under 20 seconds
	Tests/Contract/extremes "$(BIN)/futures-gateway" 2000

proxies: setup ## Run the gateway behind nginx, Caddy and HAProxy as ops/ configures them, if they are there; about five minutes
	swift build -c release --product futures-gateway
	Tests/Proxies/check "$$(swift build -c release --show-bin-path)/futures-gateway"

browser: setup ## Test the page and client.js with Node and in headless Chromium, if they are there
	@if command -v node > /dev/null; then node --test Tests/Browser; else echo "skipped: node is not installed"; fi
	swift build -c release --product futures-gateway
	python3 Tests/Browser/checks.py "$$(swift build -c release --show-bin-path)/futures-gateway"

suspensions: setup ## Suspend apps of the Swift, Python and browser clients a hundred times behind a proxy that freezes (SUSPENSIONS_ARGS="20 --control")
	swift build -c release --product futures-gateway
	swift build -c release --product suspended-reader
	Tests/Suspension/suspensions "$$(swift build -c release --show-bin-path)/futures-gateway" "$$(swift build -c release --show-bin-path)/suspended-reader" $(SUSPENSIONS_ARGS)

conformance: ## Run the Autobahn suite against the WebSocket client and server, if the suite and Python 2.7 are there
	swift build --product conformance-client
	swift build --product conformance-server
	Tests/Conformance/conformance "$$(swift build --show-bin-path)/conformance-client" "$$(swift build --show-bin-path)/conformance-server"

graphql: program ## Run the GraphQL dialect against real servers, if they are there; about ten minutes
	Tests/GraphQL/peers "$(BIN)/futures-gateway"

agents: program ## Run clients of the Model Context Protocol from PyPI against the gateway, if they can be installed
	Tests/Agents/agents "$(BIN)/futures-gateway"

intrinio: program ## Run Intrinio's own clients from PyPI against the simulated Intrinio, if they can be installed
	Tests/Intrinio/clients "$(BIN)/futures-gateway"

hyperliquid: setup program ## Run Hyperliquid's own client from PyPI and the gateway side by side, if it can be installed
	Tests/Hyperliquid/clients "$(BIN)/futures-gateway"

bots: setup ## Run trading bots and their libraries from PyPI against the gateway, if they can be had; over an hour (BOTS_ARGS="compare --calls 1000")
	swift build -c release --product futures-gateway
	Tests/Bots/bots "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(BOTS_ARGS),all)

bots-short: program ## Run a little of the same with the debug build, in about a minute
	Tests/Bots/bots "$(BIN)/futures-gateway" short

sockets: setup ## Run clients of the venue's sockets from PyPI, cuts and hostile clients against the gateway (SOCKETS_ARGS="raw --seed 1")
	swift build -c release --product futures-gateway
	Tests/Sockets/sockets "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(SOCKETS_ARGS),all)

sockets-short: program ## Run a little of the same with the debug build, in about a minute
	Tests/Sockets/sockets "$(BIN)/futures-gateway" short --seed 1

venues: setup ## Show that a fault of one venue changes nothing for the others, and that /markets and bots below /binance have the venues' values (VENUES_ARGS="isolation --minutes 2")
	swift build -c release --product futures-gateway
	Tests/Venues/venues "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(VENUES_ARGS),all)

venues-short: program ## Run a little of the same with the debug build, in about four minutes
	Tests/Venues/venues "$(BIN)/futures-gateway" short --seed 1

replay: setup ## Record a tape with outages, and replay it as a venue for unmodified clients (REPLAY_ARGS="record FOLDER --minutes 60")
	swift build -c release --product futures-gateway
	Tests/Replay/replay "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(REPLAY_ARGS),all)

replay-short: program ## Do a little of the same with the debug build, in about a minute and a half
	Tests/Replay/replay "$(BIN)/futures-gateway" short --seed 1

cluster: setup ## Run three servers of the log, an exchange, two ingests and two edges on this machine, and print their addresses
	swift build -c release --product futures-gateway
	Tests/Scale/cluster "$$(swift build -c release --show-bin-path)/futures-gateway"

cluster-check: program ## Resume at another edge, and kill the ingest, with one server and three, passwords, NKEYs and TLS (Tests/Scale/servers fetches servers)
	Tests/Scale/cluster "$(BIN)/futures-gateway" --check

prove-scale: setup ## Prove what a cluster promises, in about two hours; write Tests/Scale/PROOF.md (PROVE_ARGS="--only kills")
	swift build -c release --product futures-gateway
	Tests/Scale/prove "$$(swift build -c release --show-bin-path)/futures-gateway" $(PROVE_ARGS)

bench: setup ## Measure every figure beside its limit or peer, in about twenty minutes; write Benchmarks/RESULTS.md (ROWS="hops tls" measures those)
	for product in futures-gateway crowd ingest; do swift build -c release --product $$product || exit 1; done
	Benchmarks/bench/bench "$$(swift build -c release --show-bin-path)" $(ROWS)

bench-ingest: ## Show what a frame costs, step by step, from the venue's text to a reader's ring
	swift build -c release --product ingest
	for what in figures memory growth sweep; do "$$(swift build -c release --show-bin-path)/ingest" $$what; done
	Benchmarks/instructions "$$(swift build -c release --show-bin-path)/ingest"
	Benchmarks/simdjson/compare "$$(swift build -c release --show-bin-path)/ingest"

instructions: ## Count the instructions that a frame costs; fail if one costs more than 5 % more than Benchmarks/instructions.txt says
	@command -v valgrind >/dev/null || { echo "valgrind is not installed; instructions are not counted"; exit 0; }; \
	swift build -c release --product ingest && Benchmarks/instructions "$$(swift build -c release --show-bin-path)/ingest" check

deb: setup ## Make a Debian package of the release build, Swift linked in, in .build/packages
	swift build -c release --scratch-path .build-package --static-swift-stdlib --product futures-gateway
	ops/package/deb .build-package/release/futures-gateway .build/packages

deb-check: deb ## Install it in a clean Debian 12 and ask for a price within a minute, if debootstrap is there
	Tests/Package/install "$$(ls -t .build/packages/*.deb | head -1)"

site: ## Make one static site of the documents in .build/site, if mkdocs-material is there (pip install mkdocs-material)
	@if python3 -c "import material, mkdocs" 2> /dev/null; then ops/site/build .build/site; else echo "skipped: mkdocs-material is not installed"; fi

docs: ## Make the documentation of the Swift libraries in .build/docs; a warning is an error
	env -u WITH_TOOLS WITH_DOCS=1 swift package --allow-writing-to-directory .build/docs generate-documentation \
		$(foreach target,FeedCore FeedDialects FeedObserving FuturesFeed FuturesGatewayClient,--target $(target)) \
		--enable-experimental-combined-documentation --warnings-as-errors --output-path .build/docs

tarball: setup ## Make an archive of the release build, Swift, libmicrohttpd, zlib, zstd and libstdc++ linked in, in .build/packages
	ops/package/static-libraries .build-static/archives
	PKG_CONFIG_PATH="$(CURDIR)/.build-static/archives" swift build -c release --scratch-path .build-static --static-swift-stdlib \
		-Xlinker -L"$(CURDIR)/.build-static/archives" --product futures-gateway
	SCRATCH=.build-static ops/package/tarball .build-static/release/futures-gateway .build/packages .build-static/archives/*.a

release: deb tarball ## Make everything that a release publishes, with checksums, notes and the commands to publish it, in .build/release-files
	ops/package/release .build/release-files "$$(ls -t .build/packages/*.deb | head -1)" "$$(ls -t .build/packages/*.tar.gz | head -1)"

release-check: ## Install and run each of these files in a clean Debian 12, and ask for a live price within ten seconds, if debootstrap is there
	Tests/Package/release .build/release-files

setup: ## Install what a fresh Debian 12 with Swift 6.3 lacks
	@.ci/setup
