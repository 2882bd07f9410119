#!/bin/sh
# The system's own sort, over LINES made-up lines: sort.sh [LINES]
#
#   nearfar run model:optane-100 -- examples/programs/sort.sh 2000
#
# What to look at: every program of the pipeline is a process of its own in the report. sort's
# time goes to branches (comparisons are a coin's toss) before it goes to memory, until the lines no
# longer fit the caches.
set -eu
lines=${1:-2000}
export LC_ALL=C
awk -v n="$lines" 'BEGIN { for (i = 1; i <= n; ++i) { x = (x * 1103 + 12345) % 65536; print x, i } }' |
  sort --parallel=2 -k1,1n -k2,2r | md5sum
