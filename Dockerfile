# The same steps as `make serve`: locked npm packages, front-end build, locked Python packages, server.
#
#   docker build -t tensor-anatomy .
#   docker run --rm -p 127.0.0.1:8000:8000 tensor-anatomy
#
# A smaller image on a machine without a GPU: --build-arg TORCH_INDEX=<the PyTorch project's CPU index>

FROM node:22-slim AS frontend
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY build.mjs tsconfig.json ./
COPY app/messages app/messages
COPY static static
RUN node build.mjs

FROM python:3.11-slim
# libseccomp2: the filter that confines the programs readers send
RUN apt-get update \
    && apt-get install -y --no-install-recommends libseccomp2 \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
ARG TORCH_INDEX=""
COPY requirements.lock pyproject.toml setup.py README.md LICENSE ./
COPY app app
COPY templates templates
COPY --from=frontend /src/static/dist static/dist
COPY static/img static/img
# The lock as a constraint: its versions, but only the packages that the server needs.
RUN pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} --constraint requirements.lock .

RUN useradd --create-home --shell /usr/sbin/nologin anatomy
USER anatomy
WORKDIR /home/anatomy

ENV HOST=0.0.0.0 PORT=8000 PYTHONUNBUFFERED=1
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD python -c "import os, urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=4)"

# Without a sandbox that holds, a container that is open to others must not start: exit status 4.
CMD ["sh", "-c", "exec tensor-anatomy serve --require-sandbox --host \"$HOST\" --port \"$PORT\""]
