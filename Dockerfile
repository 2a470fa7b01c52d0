# The wheel is built with Node; what runs carries Python and a Chromium, no Node.
FROM python:3.11-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends curl ca-certificates make \
    && curl -fsSL https://deb.nodesource.com/setup_20.x | bash - && apt-get install -y --no-install-recommends nodejs
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY web/schema/package.json web/schema/
COPY web/sdk/package.json web/sdk/
COPY web/worker/package.json web/worker/
COPY web/games/package.json web/games/
COPY web/dashboard/package.json web/dashboard/
RUN npm ci
COPY . .
RUN pip install --no-cache-dir build && python -m build --wheel

FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends chromium fonts-liberation \
    && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
COPY --from=build /src/dist/*.whl /tmp/
RUN pip install --no-cache-dir /tmp/*.whl && rm /tmp/*.whl
ENV ATTRACT_RUNS_DIR=/runs
# Loopback names count on loopback alone, and a published port comes over the container's network.
ENV ATTRACT_ALLOWED_HOSTS=localhost,127.0.0.1
VOLUME /runs
EXPOSE 8000
CMD ["attract", "serve", "--lan"]
