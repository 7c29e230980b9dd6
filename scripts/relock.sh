#!/usr/bin/env bash
# Makes a lock of envs/ from its .in file, with hashes and without naming an index.
#   scripts/relock.sh NAME [uv's options]     scripts/relock.sh vllm-0.33.0 --upgrade
# A lock keeps the pins it has, unless uv is told otherwise (--upgrade, --upgrade-package NAME).
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
linux=(--only-binary :all: --python-platform x86_64-manylinux_2_34)

case $name in
    specdock | tests) options=(--universal --python-version 3.11) ;;
    roc-validator) options=("${linux[@]}" --python-version 3.11) ;;
    vllm-*-cpu | train)
        wheels=${PIP_FIND_LINKS:?name the folder or page that has the +cpu wheels of torch}
        options=("${linux[@]}" --python-version 3.11 --find-links "$wheels")
        options+=(--excludes envs/vllm-cpu.excludes)
        ;;
    torch-*-cuda)
        options=("${linux[@]}" --python-version 3.11 --excludes envs/torch-cuda.excludes)
        ;;
    bfcl-*) options=("${linux[@]}" --python-version 3.11 --excludes envs/bfcl.excludes) ;;
    llama-cpp-*)
        options=(--only-binary :all: --python-platform x86_64-manylinux_2_35 --python-version 3.12)
        ;;
    *) options=("${linux[@]}" --python-version 3.12) ;;
esac

uv pip compile --quiet --generate-hashes --no-annotate \
    --custom-compile-command "scripts/relock.sh $name" \
    "${options[@]}" "${@:2}" --output-file "envs/$name.lock" "envs/$name.in"
