#!/bin/sh
# fio on a mapped file: fio.sh [SIZE] [FOLDER]
#
#   mkdir -p pmem
#   nearfar run model:optane-100 --pmem pmem -- examples/programs/fio.sh 1M pmem
#
# Writes the file through a mapping in 256-byte blocks in random order, each holding its offset,
# then reads it back and verifies every block. Before that fio calibrates itself to the processor's
# cycle counter for 65 ms, millions of looks at the clock, which is most of the run.
#
# What to look at: with --pmem the file's pages are far memory, where random writes of less than the
# DIMM's 256-byte line would each read and write a whole one; the report's write amplification is
# that of the media.
set -eu
size=${1:-1M}
folder=${2:-$(mktemp -d)}
file=$folder/nearfar-fio
trap 'rm -f "$file"' EXIT
fio --name=mapped --filename="$file" --size="$size" --bs=256 --ioengine=mmap --rw=randwrite \
  --verify=pattern --verify_pattern=%o --do_verify=1 --thread --randseed=1 --fallocate=none \
  --verify_state_save=0 --eta=never --output-format=terse --output=/dev/null
md5sum <"$file"
