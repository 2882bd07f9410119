#!/bin/sh
# A compiler at work on a small C file: compile.sh [FUNCTIONS]
#
#   nearfar run model:ddr4-2666 -- examples/programs/compile.sh 3
#
# What to look at: gcc is the driver, cc1 the compiler, as the assembler: three processes. cc1 is
# the opposite of a kernel: little data, much code, no loop for long. Its time goes to mispredicted
# branches and to the first touch of everything.
set -eu
functions=${1:-3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
i=0
while [ "$i" -lt "$functions" ]; do
  echo "unsigned f$i(const unsigned* p, unsigned n) {"
  echo "  unsigned s = $i; for (unsigned i = 0; i < n; ++i) s = (s ^ p[i]) * 16777619u; return s; }"
  i=$((i + 1))
done >"$folder/small.c"
gcc -O1 -S -fno-ident -o "$folder/small.s" "$folder/small.c"
gcc -c -o "$folder/small.o" "$folder/small.s"
cd "$folder" && md5sum small.s small.o
