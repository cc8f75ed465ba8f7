SWIFT_FLAGS ?=
# One after the other: several tests measure the processor time and the promptness of the process they run in.
TEST_TARGETS = FeedCoreTests GatewayAccessTests FuturesFeedTests MicroHTTPTests DemoExchangeTests FuturesGatewayTests CommandTests EndToEndTests
RUN_ARGS ?= --demo
export SWIFT_BACKTRACE ?= enable=no

.PHONY: run test scripts suite prove prove-short browser soak bench bench-ingest lint format simulate defects sanitize contract proxies conformance graphql intrinio fuzz setup
.DEFAULT_GOAL := run

run: setup ## Build and serve the embedded exchange (RUN_ARGS="--venue aster" for a venue)
	swift build -c release --product futures-gateway
	exec "$$(swift build -c release --show-bin-path)/futures-gateway" serve $(RUN_ARGS)

test: setup lint scripts suite prove-short ## Everything CI runs

scripts: ## Whether the table of proofs is as its program writes it, and what that program takes for a proof
	python3 -B -m unittest discover --quiet --start-directory Tests/Soak

suite:
	swift build --build-tests $(SWIFT_FLAGS)
	for target in $(TEST_TARGETS); do swift test --skip-build $(SWIFT_FLAGS) --filter "^$$target\." || exit 1; done
	STREAM_ROUTE=tls swift test --skip-build $(SWIFT_FLAGS) --filter "^FuturesGatewayTests\."

simulate: ## The core, a venue and readers under SEEDS seeds, optimised (SEED=N replays one)
	SEEDS=$(or $(SEEDS),1000) Tests/FeedCoreTests/Simulation/simulate

defects: ## Whether the simulator finds every planted defect
	Tests/FeedCoreTests/Simulation/Defects/run

sanitize: setup ## The whole suite under ThreadSanitizer and AddressSanitizer
	$(MAKE) suite SWIFT_FLAGS="--sanitize=thread -Xswiftc -DTSAN --scratch-path .build-thread"
	ASAN_OPTIONS=detect_leaks=0 $(MAKE) suite SWIFT_FLAGS="--sanitize=address --scratch-path .build-address"

browser: setup ## The page and client.js in headless Chromium (apt: chromium, python3-websockets); skips where they are absent
	@if command -v node > /dev/null; then node --test Tests/Browser; else echo "skipped: node is not installed"; fi
	swift build -c release --product futures-gateway
	python3 Tests/Browser/checks.py "$$(swift build -c release --show-bin-path)/futures-gateway"

soak: setup ## Proofs over real sockets, about three minutes (SOAK_ARGS="kills --kills 1000", or detect, receipts, stalls, "quiet --minutes 60", rotation)
	swift build -c release --product futures-gateway
	Tests/Soak/soak "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(SOAK_ARGS),short)

prove: setup ## Every promise by a command, with its figure and its control: under ninety minutes (PROVE_ARGS="--only kills,detect" for some); writes Tests/Soak/PROOF.md
	swift build -c release --product futures-gateway
	Tests/Soak/prove "$$(swift build -c release --show-bin-path)/futures-gateway" $(PROVE_ARGS)

prove-short: ## The same in about five minutes, by the debug build
	swift build --product futures-gateway
	patch -p1 --dry-run --silent --fuzz=0 -i Tests/Soak/unsafe.patch
	Tests/Soak/prove "$$(swift build --show-bin-path)/futures-gateway" --short

contract: setup ## Every answer against openapi.yaml by schemathesis, read by httplint, and by generated clients (PyPI); skips what is absent
	swift build -c release --product futures-gateway
	Tests/Contract/fuzz "$$(swift build -c release --show-bin-path)/futures-gateway" $(or $(EXAMPLES),50)
	Tests/Contract/lint "$$(swift build -c release --show-bin-path)/futures-gateway"
	Tests/Contract/clients "$$(swift build -c release --show-bin-path)/futures-gateway"

proxies: setup ## The gateway behind nginx and Caddy as ops/ has them (apt: nginx, caddy, curl), about four minutes; skips where they are absent
	swift build -c release --product futures-gateway
	Tests/Proxies/check "$$(swift build -c release --show-bin-path)/futures-gateway"

conformance: ## The Autobahn suite against the WebSocket client; skips where it, or Python 2.7, is absent
	swift build --product conformance-client
	Tests/Conformance/conformance "$$(swift build --show-bin-path)/conformance-client"

graphql: ## The GraphQL dialect against real servers, about ten minutes; skips where they are absent
	swift build --product futures-gateway
	Tests/GraphQL/peers "$$(swift build --show-bin-path)/futures-gateway"

intrinio: ## The simulated Intrinio against the official clients from PyPI; skips where they cannot be installed
	swift build --product futures-gateway
	Tests/Intrinio/clients "$$(swift build --show-bin-path)/futures-gateway"

fuzz: ## Everything that reads bytes from a network by libFuzzer, SECONDS=60 each; skips where the toolchain has none
	SECONDS_EACH=$(or $(SECONDS),60) Tests/Fuzz/run

bench: setup ## Fan-out and snapshot figures of the release executable
	swift build -c release --product futures-gateway
	Benchmarks/run "$$(swift build -c release --show-bin-path)/futures-gateway"

bench-ingest: ## What a frame costs from the venue's text to a reader's log
	swift build -c release --package-path Benchmarks --product ingest
	for what in figures memory growth sweep; do "$$(swift build -c release --package-path Benchmarks --show-bin-path)/ingest" $$what; done
	Benchmarks/instructions "$$(swift build -c release --package-path Benchmarks --show-bin-path)/ingest"

lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

setup:
	@.ci/setup
