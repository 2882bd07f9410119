#!/bin/sh
# redis, with redis-benchmark and redis-cli as its clients: redis.sh [KEYS] [REQUESTS]
#
#   nearfar run model:optane-100 -- examples/programs/redis.sh 20000 1000
#
# Sets KEYS keys, then gets REQUESTS of them at random. All of it runs simulated: the server
# is the process with the most instructions.
#
# What to look at: the server's cycles. With more keys than the caches hold, what it does to read a
# key is to follow pointers: hash table, entry, key, value, each in another page. The share of TLB
# and cache misses in its time grows with KEYS, and on Optane-class memory becomes most of it. To see
# what gets alone cost, subtract a run with few REQUESTS from one with many.
set -eu
keys=${1:-2000}
requests=${2:-200}
folder=$(mktemp -d)
socket=$folder/socket
mkfifo "$folder/log"
exec 3<>"$folder/log"
redis-server --port 0 --unixsocket "$socket" --save "" --dir "$folder" --appendonly no \
  --enable-debug-command local --hz 1 --activerehashing no --set-proc-title no \
  --io-threads 1 --logfile "$folder/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
while read -r line <&3; do
  case $line in *"accept connections"*) break ;; esac
done
awk -v keys="$keys" 'BEGIN { for (i = 0; i < keys; ++i)
  printf "*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$100\r\n%0100d\r\n", i, i * i }' |
  redis-cli -s "$socket" --pipe >/dev/null
redis-benchmark -s "$socket" -c 1 -P 16 -r "$keys" -n "$requests" -q -t get >/dev/null
redis-cli -s "$socket" <<END
dbsize
debug digest-value $(printf "key:%012d " 1 2 3 4 5)
shutdown nosave
END
wait "$server"
