SWIFT_FLAGS ?=
RUN_ARGS ?= --demo
export SWIFT_BACKTRACE ?= enable=no

.PHONY: run test bench lint format build sanitize setup
.DEFAULT_GOAL := run

run: setup ## Build and serve the embedded exchange (RUN_ARGS="--venue aster" for a venue)
	swift build -c release --product futures-gateway
	exec "$$(swift build -c release --show-bin-path)/futures-gateway" serve $(RUN_ARGS)

test: setup lint ## Everything CI runs
	swift build --build-tests $(SWIFT_FLAGS)
	swift test --skip-build $(SWIFT_FLAGS)

sanitize: setup ## The whole suite under ThreadSanitizer and AddressSanitizer
	swift test --sanitize=thread -Xswiftc -DTSAN --scratch-path .build-thread
	swift test --sanitize=address --scratch-path .build-address

bench: setup ## Fan-out and snapshot figures of the release executable
	swift build -c release --product futures-gateway
	Benchmarks/run "$$(swift build -c release --show-bin-path)/futures-gateway"

lint:
	swift format lint --strict --recursive --parallel Package.swift Sources Tests

format:
	swift format --in-place --recursive --parallel Package.swift Sources Tests

setup:
	@.ci/setup
