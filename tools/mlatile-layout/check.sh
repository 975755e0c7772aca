#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check.sh MLATILE-LAYOUT FILECHECK: what the program prints, case by case.
set -u
program=$1
filecheck=$2
checks=$(mktemp) || exit 1
output=$(mktemp) || exit 1
trap 'rm -f "$checks" "$output"' EXIT
failed=0

# expect STATUS ARGUMENTS...: runs the program and checks its output against
# standard input, line after line.
expect() {
  status=$1
  shift
  cat > "$checks"
  "$program" "$@" > "$output" 2>&1
  got=$?
  if [ "$got" -ne "$status" ]; then
    echo "mlatile-layout $*: expected status $status, got $got"
    failed=1
  fi
  if ! "$filecheck" --match-full-lines --strict-whitespace "$checks" < "$output"; then
    echo "mlatile-layout $*: output differs"
    failed=1
  fi
}

expect 0 accumulator << 'CHECKS'
CHECK:reg = {{\[\[0, 1\], \[8, 0\]\]}}, lane = {{\[\[0, 2\], \[0, 4\], \[1, 0\], \[2, 0\], \[4, 0\]\]}}, warp = [], reps = [1, 1]
CHECK-NEXT:shape: 16 x 8, block 16 x 8, repeated [1, 1]
CHECK-NEXT:registers: 4 a thread, 4 a block; warps: 1
CHECK-NEXT:copies: lane bits none; warp bits none
CHECK-NEXT:dim 0: vectors of 1; a reduction exchanges lane bits 4, 8, 16, warp bits none
CHECK-NEXT:dim 1: vectors of 2; a reduction exchanges lane bits 1, 2, warp bits none
CHECK-EMPTY:
CHECK-NEXT: reg   1  ->  (0, 1)
CHECK-NEXT: reg   2  ->  (8, 0)
CHECK-NEXT:lane   1  ->  (0, 2)
CHECK:warp:lane:reg       0       1       2       3       4       5       6       7
CHECK-NEXT:            0   0:0:0   0:0:1   0:1:0   0:1:1   0:2:0   0:2:1   0:3:0   0:3:1
CHECK:           11  0:12:2  0:12:3  0:13:2  0:13:3  0:14:2  0:14:3  0:15:2  0:15:3
CHECK:lane      r0      r1       r2       r3
CHECK:  13  (3, 2)  (3, 3)  (11, 2)  (11, 3)
CHECKS

expect 0 operand-b --bits=8 --warps=2x2 --shape=64x48 --view=elements << 'CHECKS'
CHECK:shape: 64 x 48, block 32 x 16, repeated [2, 3]
CHECK-NEXT:registers: 48 a thread, 8 a block; warps: 4
CHECK-NEXT:copies: lane bits none; warp bits 2
CHECK:           20  0:1:4 x2  0:5:4 x2 {{ +}}0:9:4 x2  0:13:4 x2  {{.*}}
CHECK-NOT:lane {{.*}}r0
CHECKS

expect 0 accumulator --warps=1x4 --shape=16x448 --slice=1 --view=bases << 'CHECKS'
CHECK:reg = {{\[\[8\]\]}}, lane = {{\[\[0\], \[0\], \[1\], \[2\], \[4\]\]}}, warp = {{\[\[0\], \[0\]\]}}, reps = [1]
CHECK:copies: lane bits 1, 2; warp bits 1, 2
CHECKS

expect 0 'reg = [[0, 1]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [2, 1]' \
  --to='reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [], reps = [1, 1]' \
  --view=bases << 'CHECKS'
CHECK:conversion: registers only, new <- old: 0<-0 1<-1 2<-2 3<-3
CHECKS

expect 0 accumulator --shape=64x64 --warps=4x1 --bytes=4 --stride=256 --view=bases << 'CHECKS'
CHECK:shared: rows = 64, cols = 64, bytes = 4, stride = 256, swizzle = none
CHECK-NEXT:size: 16384 bytes; ldmatrix: 7 extra wavefronts a phase
CHECK-NEXT:access of warp 0: vectors of 8 bytes, 96 extra wavefronts in all
CHECKS

expect 0 accumulator --pack=0x1 --view=threads << 'CHECKS'
CHECK:reg = {{\[\[0, 2\], \[8, 0\], \[0, 1\]\]}}, lane = {{\[\[0, 4\], \[0, 8\], \[1, 0\], \[2, 0\], \[4, 0\]\]}}, warp = [], reps = [1, 1]
CHECK-NEXT:shape: 16 x 16, block 16 x 16, repeated [1, 1]
CHECK:  13   (3, 4)   (3, 6)   (11, 4)   (11, 6)   (3, 5)   (3, 7)   (11, 5)   (11, 7)
CHECKS

expect 0 operand-a --pack=2 --view=bases << 'CHECKS'
CHECK:reg = {{\[\[0, 1\], \[8, 0\], \[0, 2\], \[0, 4\]\]}}, lane = {{\[\[0, 8\], \[0, 16\], .*}}
CHECK-NEXT:shape: 16 x 32, block 16 x 32, repeated [1, 1]
CHECKS

expect 0 accumulator --shape=32x8 --view=bases \
  --to='reg = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [], reps = [2, 1]' << 'CHECKS'
CHECK:conversion: of 16 bits by movmatrix, new <- old pair: 0<-0 1<-1 2<-2 3<-3
CHECKS

expect 1 accumulator --pack=1 << 'CHECKS'
CHECK:mlatile-layout: error: --pack: expected two numbers up to 2, such as 0x1, got '1'
CHECKS

expect 1 operand-b --pack=3 << 'CHECKS'
CHECK:mlatile-layout: error: --pack: expected a number up to 2, got '3'
CHECKS

expect 1 operand-b --pack=1 --bits=8 << 'CHECKS'
CHECK:mlatile-layout: error: --pack: expected an operand of 16 bits, got 8
CHECKS

expect 1 accumulator --shape=24x8 << 'CHECKS'
CHECK:mlatile-layout: error: mma accumulator, dim 0: expected a multiple of 16, got 24
CHECKS

expect 1 'reg = [[0, 1]' << 'CHECKS'
CHECK:mlatile-layout: error: column 14: expected ']', got the end
CHECKS

expect 1 operand-a --bits=0 << 'CHECKS'
CHECK:mlatile-layout: error: operand bits: expected 16, 8 or 4, got 0
CHECKS

expect 1 accumulator --warps=1x3x2 << 'CHECKS'
CHECK:mlatile-layout: error: --warps: expected numbers up to 32 such as 1x4, got '1x3x2'
CHECKS

expect 1 accumulator --warp=1 << 'CHECKS'
CHECK:mlatile-layout: error: --warp: expected a warp below 1, got 1
CHECKS

expect 1 swizzled << 'CHECKS'
CHECK:mlatile-layout: error: expected accumulator, operand-a, operand-b, blocked, rows, replicated or a layout that begins with 'reg', got 'swizzled'
CHECKS

exit $failed
