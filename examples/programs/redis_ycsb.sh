#!/bin/sh
# redis under YCSB's workloads: redis_ycsb.sh CLIENT [WORKLOAD [RECORDS [OPERATIONS [SEED]]]]
#
#   gcc -O2 -o redis_ycsb examples/programs/redis_ycsb.c -lm
#   nearfar run model:optane-100 -- examples/programs/redis_ycsb.sh ./redis_ycsb A 2000 2000
#
# CLIENT is redis_ycsb.c, compiled; it loads RECORDS of a kilobyte, then makes OPERATIONS of the
# workload, A to F. Server and client run simulated, so the server's time passes for the client.
#
# What to look at: cycles an instruction of the server's loads against the rest.
set -eu
client=$1
folder=$(mktemp -d)
socket=$folder/socket
mkfifo "$folder/log"
exec 3<>"$folder/log"
redis-server --port 0 --unixsocket "$socket" --save "" --dir "$folder" --appendonly no \
  --hz 1 --activerehashing no --set-proc-title no --io-threads 1 --logfile "$folder/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
while read -r line <&3; do
  case $line in *"accept connections"*) break ;; esac
done
"$client" "$socket" "${2:-A}" "${3:-2000}" "${4:-2000}" "${5:-1}"
redis-cli -s "$socket" shutdown nosave
wait "$server"
