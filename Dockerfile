# The version that the tests run on; later ones do as well (package.json, engines).
ARG NODE_VERSION=20

FROM node:${NODE_VERSION}-slim AS build
WORKDIR /app
# By themselves first: as long as they stay the same, the installation comes from the cache.
COPY package.json package-lock.json .npmrc ./
# No package needs its install scripts: what is compiled comes prebuilt.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY schemas ./schemas
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production
COPY --from=build /app/package.json /app/
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/schemas /app/schemas
COPY --from=build /app/dist /app/dist
RUN chmod +x /app/dist/cli/main.js \
  && ln -s /app/dist/cli/main.js /usr/local/bin/highwater \
  && install -d -o node -g node /highwater /highwater/data
# Here lies highwater.yaml, if there is one, and the embedded log, in ./data, where no brokers are set.
WORKDIR /highwater
USER node
# Without a shell between: SIGTERM reaches the program, which ends in order.
ENTRYPOINT ["highwater"]
CMD ["run"]
