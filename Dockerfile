# syntax=docker/dockerfile:1
# Two images of one wheel: `trainer` trains and serves, `fleet` lends browsers by `attract join` and has no extra.
# docker build --target trainer .     docker build --target fleet .
# With an NVIDIA GPU: --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu128, and `docker run --gpus all`.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm
ARG NODE_IMAGE=node:20-bookworm-slim

FROM ${NODE_IMAGE} AS node

# What the web side depends on, before what it is: changed code fetches nothing again.
FROM ${PYTHON_IMAGE} AS build
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY web/schema/package.json web/schema/
COPY web/sdk/package.json web/sdk/
COPY web/play/package.json web/play/
COPY web/worker/package.json web/worker/
COPY web/games/package.json web/games/
COPY web/dashboard/package.json web/dashboard/
RUN npm ci
COPY constraints.txt ./
RUN pip install --no-cache-dir -c constraints.txt build
COPY . .
RUN python -m build --wheel

# What both images have: a browser, what the Node that Playwright brings is linked against (libatomic), and a user who is
# not root.
FROM ${PYTHON_IMAGE} AS base
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium fonts-liberation libatomic1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home attract \
    && install -d -o attract -g attract /runs
# Docker's seccomp profile forbids the user namespaces that Chromium's sandbox is made of. With a profile that allows
# them (docs/contributing/reliability.md) set this to `on`; without, the container is the only wall around a game.
ENV ATTRACT_CHROMIUM_SANDBOX=off \
    PYTHONUNBUFFERED=1
WORKDIR /home/attract
COPY pyproject.toml constraints.txt /tmp/
RUN python -c "import tomllib; p = tomllib.load(open('/tmp/pyproject.toml', 'rb'))['project']; print(*p['dependencies'], sep='\n')" > /tmp/base.txt \
    && python -c "import tomllib; p = tomllib.load(open('/tmp/pyproject.toml', 'rb'))['project']; print(*p['optional-dependencies']['train'], sep='\n')" > /tmp/train.txt \
    && pip install --no-cache-dir -c /tmp/constraints.txt -r /tmp/base.txt

FROM base AS fleet
COPY --from=build /src/dist/*.whl /tmp/
RUN pip install --no-cache-dir --no-deps /tmp/*.whl
USER 1000
CMD ["attract", "join", "--help"]

FROM base AS trainer
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir -c /tmp/constraints.txt --extra-index-url "${TORCH_INDEX}" -r /tmp/train.txt
COPY --from=build /src/dist/*.whl /tmp/
RUN pip install --no-cache-dir --no-deps /tmp/*.whl
USER 1000
ENV ATTRACT_RUNS_DIR=/runs
# Loopback names count on loopback alone, and a published port comes over the container's network.
ENV ATTRACT_ALLOWED_HOSTS=localhost,127.0.0.1
VOLUME /runs
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
CMD ["attract", "serve", "--lan"]
