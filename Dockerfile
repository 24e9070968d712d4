# Both are pinned by digest, so that a build repeats. Move them for fixes of Node.js and Debian; docs/deploy.md has the commands.
# Node 20, 22 and 24 are tested (npm run test:nodes). Node 24 gets fixes until April 2028.
ARG NODE_IMAGE=node:24.20.0-bookworm-slim@sha256:ba849c60be29959425b8734d57b8b4b7d56f98edd9504c9af091d5281095a71e
# The C library, certificates and time zones, without shell or package manager. Any image of Debian 12 that has libstdc++6 will do.
ARG RUNTIME=gcr.io/distroless/cc-debian12:latest@sha256:e5d81ddde149641e2a9ba55be4545bc125c67de07508b03ba4c22e6eb0ded5aa

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# By themselves first: as long as they stay the same, the installation comes from the cache.
COPY package.json package-lock.json .npmrc LICENSE ./
# No package needs its install scripts: what is compiled comes prebuilt.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY tools ./tools
COPY src ./src
COPY schemas ./schemas
RUN npm run build && npm prune --omit=dev --ignore-scripts
# What no process reads (licences stay), and libraries for another C library.
RUN find dist node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -iname 'changelog*' -o -iname 'readme*' \) -delete \
  && find node_modules -type d \( -name test -o -name tests -o -name __tests__ \) -prune -exec rm -r {} + \
  && rm -rf node_modules/*/*-musl \
  && mkdir -p bin highwater/data \
  && printf '%s\n' '#!/usr/local/bin/node' "require('/app/dist/cli/main.js');" > bin/highwater \
  && chmod 755 bin/highwater \
  && chmod 770 highwater/data

FROM ${RUNTIME}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="highwater" \
      org.opencontainers.image.description="Turns polled REST endpoints into exactly-once change feeds" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="MIT"
# The C library then returns freed buffers to the system at once, not only those at the end of its heap (docs/sizing.md).
ENV NODE_ENV=production MALLOC_MMAP_THRESHOLD_=131072
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app/package.json /app/LICENSE /app/
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/schemas /app/schemas
COPY --from=build /app/dist /app/dist
COPY --from=build /app/bin/highwater /usr/local/bin/highwater
# Here lies highwater.yaml, if there is one, and the embedded log, in ./data, where no brokers are set: all that is ever written to.
# Of group 0, to which users belong that a platform chose at random.
COPY --from=build --chown=65532:0 /app/highwater /highwater
WORKDIR /highwater
# By number: Kubernetes cannot tell from a name that it is not root.
USER 65532:65532
# Within the container alone, until HIGHWATER_HTTP_HOST and a token say otherwise.
ENV HIGHWATER_HTTP_PORT=9464
EXPOSE 9464
# Not whether all is up to date: platforms start again what is unhealthy, which helps against a process that hangs and nothing else.
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["highwater", "healthcheck", "--live"]
# Without a shell between: SIGTERM reaches the program, which ends in order.
ENTRYPOINT ["highwater"]
CMD ["run"]
