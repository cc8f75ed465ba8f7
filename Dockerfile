# By digests, if you have them: --build-arg BUILD_IMAGE=swift@sha256:… --build-arg RUN_IMAGE=debian@sha256:…
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim
FROM $BUILD_IMAGE AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libmicrohttpd-dev libzstd-dev pkg-config python3 zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
# A release gives --only-use-versions-from-resolved-file: the versions in the Package.resolved of its tag, or none.
ARG SWIFT_FLAGS=
# The commit, which the program names in --version and its metrics: --build-arg REVISION="$(git rev-parse --short=12 HEAD)"
ARG REVISION=unknown
WORKDIR /src
COPY Package.* ./
RUN swift package resolve
COPY . .
RUN export BUILD_COMMIT="$REVISION" && swift build -c release --static-swift-stdlib $SWIFT_FLAGS --product futures-gateway \
    && install -s "$(swift build -c release --static-swift-stdlib --show-bin-path)/futures-gateway" /futures-gateway \
    && swift package show-dependencies --format json | python3 ops/package/sbom.py /futures-gateway > /sbom.cdx.json

FROM $RUN_IMAGE
ARG RUN_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="FuturesGateway" \
      org.opencontainers.image.description="Market data of a futures venue for any number of readers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE" \
      org.opencontainers.image.base.name="docker.io/library/$RUN_IMAGE"
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libmicrohttpd12 libstdc++6 libzstd1 zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /futures-gateway /usr/local/bin/futures-gateway
COPY LICENSE /usr/share/doc/futures-gateway/LICENSE
COPY --from=build /sbom.cdx.json /usr/share/doc/futures-gateway/sbom.cdx.json
# Inside the container only. docker run's -p decides what is published.
ENV FUTURES_GATEWAY_HOST=0.0.0.0
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["futures-gateway", "health"]
ENTRYPOINT ["futures-gateway"]
CMD ["serve"]
