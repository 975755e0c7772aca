# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the scripts beside it: announce a step, keep its output in a log,
# stop at the first failure with its reason. Expects `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs
# shellcheck disable=SC2034 # used by the scripts
python=$root/.venv/bin/python

die() {
  printf 'mlatile: error: %s\n' "$*" >&2
  exit 1
}

seconds_since() {
  # EPOCHREALTIME has a decimal comma in some locales.
  local now=${EPOCHREALTIME/,/.} start=$1
  local us=$(((${now%.*} - ${start%.*}) * 1000000 + 10#${now#*.} - 10#${start#*.}))
  printf '%d.%d' $((us / 1000000)) $((us / 100000 % 10))
}

say() { printf '==> %s\n' "$*"; }

# Copies its input to the log $1 and shows the newest line: in place on a
# terminal, otherwise every 20 seconds.
show_progress() {
  local log=$1 line='' partial='' newest='' status every=20 next width
  [[ -t 1 ]] && every=1
  width=$(($(tput cols 2>/dev/null || echo 80) - 5))
  next=$((SECONDS + every))
  : >"$log"
  while true; do
    status=0
    IFS= read -r -t 1 line || status=$?
    if ((status > 128)); then # a second without a whole line
      partial+=$line
    elif ((status != 0)); then
      [[ -z $partial$line ]] || printf '%s\n' "$partial$line" >>"$log"
      break
    else
      newest=$partial$line partial=''
      printf '%s\n' "$newest" >>"$log"
    fi
    if ((SECONDS >= next)) && [[ -n $newest ]]; then
      if [[ -t 1 ]]; then
        printf '\r\033[K    %s' "${newest:0:width}"
      else
        printf '    %s\n' "${newest:0:width}"
      fi
      next=$((SECONDS + every))
    fi
  done
  if [[ -t 1 ]]; then printf '\r\033[K'; fi
}

# step TITLE LOG COMMAND...: runs the command (no standard input), its output in
# build/logs/LOG.log; prints the time it took.
step() {
  local title=$1 log=$logs/$2.log start=$EPOCHREALTIME status=0
  start=${start/,/.}
  shift 2
  mkdir -p "$logs"
  say "$title"
  "$@" </dev/null 2>&1 | show_progress "$log" || status=$?
  if ((status != 0)); then
    {
      printf 'mlatile: error: "%s" failed (exit status %d, after %s s); the end of %s:\n' \
        "$title" "$status" "$(seconds_since "$start")" "${log#"$root"/}"
      tail -n 40 "$log" | sed 's/^/    | /'
    } >&2
    exit 1
  fi
  printf '    done in %s s\n' "$(seconds_since "$start")"
}

# The first ptxas that knows sm_120a and sm_121a (CUDA 12.9 or later), in the
# order in which the library looks: MLATILE_PTXAS, PATH, CUDA_HOME,
# /usr/local/cuda, then the one in .venv. Prints nothing if there is none.
find_ptxas() {
  local candidate version
  for candidate in "${MLATILE_PTXAS:-}" "$(command -v ptxas || true)" "${CUDA_HOME:+$CUDA_HOME/bin/ptxas}" \
    /usr/local/cuda/bin/ptxas "$root/.venv/bin/ptxas"; do
    [[ -n $candidate && -x $candidate ]] || continue
    version=$("$candidate" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    # shellcheck disable=SC2086 # two words on purpose
    set -- ${version:-0 0}
    if (($1 * 100 + $2 >= 1209)); then
      printf '%s\n' "$candidate"
      return
    fi
  done
}
