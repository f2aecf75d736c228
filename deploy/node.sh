#!/usr/bin/env bash
# What one machine of a training cluster runs; start it on every machine (deploy/slurm, deploy/skypilot do).
#
# One machine: its last TRAIN_GPUS GPUs train, the others generate. Several: the first TRAIN_NODES machines train,
# the others generate. The first machine also runs the job. When the job ends, all of them do.
#
#   MODEL      folder of the policy, the same path on every machine
#   QUESTIONS  file of questions
#   SHARED     folder that every machine sees: adapters, checkpoints, saved runs
#   NODES      names of the machines, the same list on each, separated by spaces (default: this one)
#   NODE       this machine's name in NODES (default: the first)
#   MILLRACE_SERVER_KEY   key of the servers, the same on each machine: openssl rand -hex 24
#
# SIGTERM to any of them, or a file SHARED/.RUN.stop, ends the job in order. DRY_RUN=1 prints the commands and starts
# nothing.
set -euo pipefail

: "${MODEL:?names the folder of the policy}"
: "${QUESTIONS:?names the file of questions}"
: "${SHARED:?names a folder that every machine sees}"
: "${MILLRACE_SERVER_KEY:?is the key of the servers: openssl rand -hex 24}"
JOB=${JOB:-et-agent}
RUN=${RUN:-live}
SETTINGS=${SETTINGS:-}
# kafka://… keeps the records on Kafka. Without it they are in RUNS, which must then be a local disk (docs/platforms.md).
LOG=${LOG:-}
LOCAL=${LOCAL:-${TMPDIR:-/tmp}/millrace-runs}
RUNS=${RUNS:-$([ -n "$LOG" ] && echo "$SHARED/runs" || echo "$LOCAL")}
GPUS=${GPUS:-8}
TRAIN_GPUS=${TRAIN_GPUS:-$((GPUS / 2))}
RANK=${RANK:-32}
CONTEXT=${CONTEXT:-8192}
export MILLRACE_SERVER_KEY MILLRACE_TRAINER_TOKEN=${MILLRACE_TRAINER_TOKEN:-$MILLRACE_SERVER_KEY}
export VLLM_API_KEY=$MILLRACE_SERVER_KEY VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 VLLM_NO_USAGE_STATS=1

# torchrun makes the machine whose name sorts first its rank 0, which serves HTTP: so that one is our first too.
mapfile -t nodes < <(tr ' ' '\n' <<< "${NODES:-$(hostname)}" | grep . | LC_ALL=C sort)
NODE=${NODE:-${nodes[0]}}
TRAIN_NODES=${TRAIN_NODES:-$(((${#nodes[@]} + 1) / 2))}
first=${nodes[0]}
ended=$SHARED/.$RUN.ended
stop=$SHARED/.$RUN.stop
saved=$SHARED/saved/$RUN

# An end that is older than this start is an earlier job's.
begun=$(mktemp)
started=()
# In a process group of its own: a signal for this script does not reach it.
start() {
  if [ -n "${DRY_RUN:-}" ]; then
    printf '%q ' "$@"
    echo
  else
    setsid "$@" &
    started+=($!)
  fi
}

policy() { # GPUs, by number
  local own=$1
  start env CUDA_VISIBLE_DEVICES="$own" vllm serve "$MODEL" --served-model-name policy --port 8000 \
    --max-model-len "$CONTEXT" --data-parallel-size "$(tr ',' '\n' <<< "$own" | wc -l)" --enable-lora --max-loras 4 --max-lora-rank "$RANK" \
    --generation-config vllm
}

trainer() { # GPUs, by number; machines
  local own=$1 machines=$2
  local meeting=(--standalone)
  if [ "$machines" -gt 1 ]; then
    meeting=(--nnodes "$machines" --rdzv-backend c10d --rdzv-endpoint "$first:29500" --rdzv-id "$RUN" --local-addr "$NODE")
  fi
  start env CUDA_VISIBLE_DEVICES="$own" torchrun "${meeting[@]}" --nproc-per-node "$(tr ',' '\n' <<< "$own" | wc -l)" \
    --max-restarts 3 -m millrace_trainer --model "$MODEL" --checkpoints "$SHARED/checkpoints" --host 0.0.0.0 --port 8500
}

job() { # URLs of the servers
  local settings=()
  [ -z "$SETTINGS" ] || settings+=(--settings "$SETTINGS")
  [ -z "$LOG" ] || settings+=(--log "$LOG")
  start millrace run "$JOB" --run "$RUN" --runs "$RUNS" "${settings[@]}" --metrics-port 9464 \
    --set policy="$MODEL" --set questions="$QUESTIONS" \
    --set engine.server=vllm --set engine.urls="$1" --set engine.model=policy --set engine.keyEnv=MILLRACE_SERVER_KEY \
    --set engine.publish=adapter --set engine.share="$SHARED/published" \
    --set trainer.kind=tinker --set trainer.url="http://$first:8500" --set trainer.baseModel="$MODEL" \
    --set trainer.keyEnv=MILLRACE_TRAINER_TOKEN --set trainer.rank="$RANK"
}

numbers() { seq -s , "$1" "$(($2 - 1))"; }

# Where the run is on a local disk, it is carried to the shared one when it ends, and back when it goes on.
is_carried() { [ -z "$LOG" ] && [[ $RUNS != "$SHARED"* ]]; }

carry() { # from, to
  mkdir -p "$(dirname "$2")"
  rm -rf "$2.new"
  cp -a "$1" "$2.new"
  rm -rf "$2"
  mv "$2.new" "$2"
}

if [ -z "${DRY_RUN:-}" ] && [ "$NODE" = "$first" ]; then
  mkdir -p "$SHARED"
  rm -f "$ended" "$stop"
  if is_carried && [ -d "$saved" ] && [ ! -d "$RUNS/$RUN" ]; then carry "$saved" "$RUNS/$RUN"; fi
fi

urls=()
if [ ${#nodes[@]} -eq 1 ]; then
  policy "$(numbers 0 $((GPUS - TRAIN_GPUS)))"
  trainer "$(numbers $((GPUS - TRAIN_GPUS)) "$GPUS")" 1
  urls=("http://$first:8000")
else
  for i in "${!nodes[@]}"; do
    if [ "$i" -ge "$TRAIN_NODES" ]; then urls+=("http://${nodes[$i]}:8000"); fi
    if [ "${nodes[$i]}" != "$NODE" ]; then continue; fi
    if [ "$i" -lt "$TRAIN_NODES" ]; then trainer "$(numbers 0 "$GPUS")" "$TRAIN_NODES"; else policy "$(numbers 0 "$GPUS")"; fi
  done
fi

if [ "$NODE" = "$first" ]; then job "$(IFS=,; echo "${urls[*]}")"; fi
if [ -n "${DRY_RUN:-}" ]; then rm -f "$begun" && exit 0; fi

code=0
if [ "$NODE" = "$first" ]; then
  running=${started[-1]}
  # The job finishes what is in flight, for at most a minute.
  trap 'touch "$stop"' TERM INT
  asked=
  while kill -0 "$running" 2> /dev/null; do
    if [ -e "$stop" ] && [ -z "$asked" ]; then asked=1 && kill -TERM "$running"; fi
    sleep 2 || true
  done
  wait "$running" || code=$?
  if is_carried && [ -d "$RUNS/$RUN" ]; then carry "$RUNS/$RUN" "$saved"; fi
  touch "$ended"
else
  trap 'touch "$stop"' TERM INT
  until [ "$ended" -nt "$begun" ]; do sleep 2 || true; done
fi
for each in "${started[@]}"; do kill -TERM -- "-$each" 2> /dev/null || true; done
rm -f "$begun"
exit "$code"
