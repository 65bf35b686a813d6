# One image, three programs: mcp-operator, mcp-adapter, otel-api-scraper. Any base with glibc and its C++ library does:
#   docker build -t mcp-adapter:0.1.0 .
#   docker build -t mcp-adapter:0.1.0 --build-arg BASE=debian:bookworm-slim .      with a shell
ARG NODE=node:24-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12:nonroot

FROM ${NODE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# Without scripts: none of the packages in the image has one.
RUN npm ci --ignore-scripts --no-audit --no-fund
RUN apt-get update && apt-get install -y --no-install-recommends libjemalloc2 && rm -rf /var/lib/apt/lists/* \
    && install -D /usr/lib/*/libjemalloc.so.2 /image/usr/local/lib/libjemalloc.so.2
COPY tsconfig.json LICENSE ./
COPY scripts scripts
COPY lib lib
COPY crds crds
COPY operator operator
COPY adapter adapter
COPY scraper scraper
COPY bin bin
COPY examples/quickstart examples/quickstart
RUN node scripts/image/assemble.ts /image/app \
    && mkdir -p /image/usr/local/bin \
    && cp "$(command -v node)" /image/usr/local/bin/node \
    && chmod 0755 /image/app/bin/* \
    && for program in /image/app/bin/*; do ln -s "${program#/image}" /image/usr/local/bin/; done

FROM ${BASE}
COPY --from=build /image /
ENV PATH=/usr/local/bin:/usr/bin:/bin NODE_ENV=production
# Small blocks that live keep whole megabytes between them in glibc's heap for ever; jemalloc gives pages back a second after
# they are free. Without it (LD_PRELOAD=), glibc does the same at least for buffers from 64 KiB on.
ENV LD_PRELOAD=/usr/local/lib/libjemalloc.so.2 MALLOC_CONF=background_thread:true,narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0
ENV MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536 MALLOC_TRIM_THRESHOLD_=131072
# Nothing is written but to volumes and /tmp: the root file system can be read-only.
USER 65532:65532
WORKDIR /app
EXPOSE 8932 8080
CMD ["mcp-adapter", "--help"]
