# The training service: `docker build -f docker/trainer.Dockerfile -t millrace-trainer trainer` from the repository's root.
#
# PyTorch from PyPI brings CUDA; it works on a CPU too. INDEX names another index for it, such as PyTorch's own with
# wheels for the CPU alone, which are 4 GB smaller.
ARG PYTHON_IMAGE=python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
FROM ${PYTHON_IMAGE}
ARG TORCH=2.13.0
ARG TRANSFORMERS=5.19.0
ARG PEFT=0.21.2
ARG INDEX=
COPY . /build
RUN python -m venv /env \
  && /env/bin/pip install --no-cache-dir ${INDEX:+--index-url "${INDEX}"} "torch==${TORCH}" \
  && /env/bin/pip install --no-cache-dir "transformers==${TRANSFORMERS}" "peft==${PEFT}" /build \
  && useradd --create-home --uid 1000 trainer \
  && mkdir /state \
  && chown 1000:1000 /state
ENV PATH=/env/bin:$PATH HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /state
VOLUME /state
EXPOSE 8500
ENTRYPOINT ["torchrun"]
