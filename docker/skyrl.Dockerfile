# The training service: SkyRL's Tinker server. EXTRAS: `tinker,jax` (LoRA; CPU and GPU), or `tinker,fsdp` and `tinker,megatron`
# on CUDA machines.
FROM python:3.12-slim-bookworm
ARG EXTRAS=tinker,jax
ARG SKYRL=0.3.0
RUN pip install --no-cache-dir uv \
  && python -m venv /env \
  && VIRTUAL_ENV=/env uv pip install --no-cache "skyrl[${EXTRAS}]==${SKYRL}" \
  && useradd --create-home --uid 1000 skyrl \
  && mkdir /state \
  && chown 1000:1000 /state
ENV VIRTUAL_ENV=/env UV_OFFLINE=1 HF_HUB_OFFLINE=1
USER 1000:1000
WORKDIR /state
VOLUME /state
EXPOSE 8200
# Its API starts its engine by `uv run`, so it has to be started that way itself.
ENTRYPOINT ["uv", "run", "--no-project", "--active", "-m", "skyrl.tinker.api"]
