# The training service: SkyRL's Tinker server on JAX, which trains adapters. EXTRAS: `tinker,jax,gpu` includes CUDA but
# also works on a CPU; `tinker,jax` is 3 GB smaller and never uses a GPU. SkyRL's FSDP and Megatron backends need
# packages that are not on the Python registry: run them from SkyRL's own sources (docs/tinker.md).
ARG PYTHON_IMAGE=python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
FROM ${PYTHON_IMAGE}
ARG EXTRAS=tinker,jax,gpu
ARG SKYRL=0.3.0
# For packages that SkyRL does not pin, the newest at the time of writing.
ARG UNTIL=2026-11-22
RUN pip install --no-cache-dir uv==0.13.9 \
  && python -m venv /env \
  && VIRTUAL_ENV=/env uv pip install --no-cache --exclude-newer "${UNTIL}" "skyrl[${EXTRAS}]==${SKYRL}" \
  && useradd --create-home --uid 1000 skyrl \
  && mkdir /state \
  && chown 1000:1000 /state
ENV VIRTUAL_ENV=/env UV_OFFLINE=1 HF_HUB_OFFLINE=1
USER 1000:1000
WORKDIR /state
VOLUME /state
EXPOSE 8200
# Its API starts its engine with `uv run`, so it must be started that way itself.
ENTRYPOINT ["uv", "run", "--no-project", "--active", "-m", "skyrl.tinker.api"]
