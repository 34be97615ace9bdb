#!/usr/bin/env bash
# What `./dev run` shows: a daemon with orders, a plan and an approval is killed twice with kill -9,
# and nothing is lost or done twice. Then it stays for you to try, until Ctrl-C.
#
# usage: tools/demo.sh <directory of the programs> [--once]
#
# Without a terminal, or with --once, it ends by itself, with 1 if anything was lost.
set -euo pipefail
bin=$1 once=${2:-}
[[ -t 1 ]] || once=--once
data=$(mktemp -d "${TMPDIR:-/tmp}/tiffany-demo-XXXXXX")
socket=$data/tiffany.sock ledger=$data/ledger daemon='' port=${TIFFANY_DEMO_PORT:-0}
shop() { "$bin/examples/shop" --socket "$socket" "$@"; }
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[[ -t 1 ]] || say() { printf '\n%s\n' "$*"; }

end() {
  [[ -z $daemon ]] || { kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null || true; }
  rm -rf "$data"
}
trap end EXIT
trap 'exit 130' INT TERM

# Starts the daemon and waits until it says that it listens.
serve() {
  local out=$data/said line
  rm -f "$out" && mkfifo "$out"
  "$bin/examples/shop" serve --data "$data" --listen "127.0.0.1:$port" --log error >"$out" 2>&1 &
  daemon=$!
  exec 5<"$out"
  while read -r line <&5; do
    printf '  %s\n' "$line"
    case $line in *http://*) address=${line#*http://} address=${address%%,*} && break ;; esac
  done
  port=${address##*:} # the same after each start
  cat <&5 >/dev/null & # so that it can say more
  disown
}
murder() {
  say "kill -9 $daemon"
  kill -9 "$daemon" && wait "$daemon" 2>/dev/null || true
}

say "A shop: its durable tasks are orders, and it is its own daemon and command line."
serve

say "Five small orders, one that needs an approval, and a plan of shell commands."
ids=()
for n in 1 2 3 4 5; do
  ids+=("$(shop start order "order={\"id\":\"small-$n\",\"amount\":10}")")
done
big=$(shop start order 'order={"id":"big","amount":5000}')
cat >"$data/plan.yaml" <<PLAN
name: demo
steps:
  - {name: fetch, shell: true, run: "sleep 1; echo fetched >> $ledger"}
  - {name: build, needs: [fetch], shell: true, run: "sleep 2; echo built >> $ledger"}
  - {name: publish, needs: [build], class: at_most_once, shell: true,
     run: "sleep 1; echo published >> $ledger"}
PLAN
plan=$(shop run "$data/plan.yaml" --detach)
shop ps

murder
say "Started again: every task goes on, and the running command was never interrupted."
serve
shop ps
sleep 1
murder
say "And once more."
serve
say "Somebody approves the big order."
shop approve "$big" -m 'looks good'
lost=0
for id in "${ids[@]}" "$big" "$plan"; do
  shop result "$id" --wait --timeout 40s >/dev/null || lost=$((lost + 1))
done
shop ps --all | cut -c 1-100

say "What the commands of the plan wrote:"
cat "$ledger"
[[ $(sort "$ledger") == $'built\nfetched\npublished' ]] || lost=$((lost + 1))
if ((lost == 0)); then
  say "Killed twice: nothing was lost, and nothing was done twice."
else
  say "$lost tasks were lost, or done twice. That is a bug: please tell us."
fi
[[ -z $once ]] || exit $((lost > 0))

say "It stays until Ctrl-C. Three things to try, in another terminal:"
cat <<TRY
  1. the dashboard:   http://$address/      (token: $(cat "$data/admin.token"))
  2. an order:        $bin/examples/shop --socket $socket start order --watch \\
                        'order={"id":"mine","amount":2000}'
  3. kill -9 $daemon    and start this again: ./dev run
TRY
wait "$daemon" || true
