#!/usr/bin/env bash
# An agent fixes a failing test. The daemon is killed five times on the way, and there is one commit
# at the end. Needs git, and nothing of the network: the replies of the model are in fix.json.
#
# usage: examples/agent/run.sh [directory with the program tiffany]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${1:-$here/../../build/release}/tiffany
work=$(mktemp -d)
daemon=
finish() {
  [[ -z $daemon ]] || kill -9 "$daemon" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
say() { printf '== %s\n' "$*"; }
tiffany() { "$program" --socket "$work/data/tiffany.sock" "$@"; }
serve() {
  "$program" serve --data "$work/data" --agents "$here/agents.json" >"$work/serve.log" 2>&1 &
  daemon=$!
  for _ in $(seq 100); do
    tiffany ps >/dev/null 2>&1 && return
    sleep 0.05
  done
  cat "$work/serve.log" && exit 1
}
kill_daemon() {
  kill -9 "$daemon"
  wait "$daemon" 2>/dev/null || true
  say "killed the daemon (kill -9), and started it again"
  serve
}
git_quietly() {
  git -C "$work/repository" -c user.name=You -c user.email=you@example.org "$@"
}

say "a repository whose test fails"
cp -r "$here/repository" "$work/repository"
git_quietly init -q -b main
git_quietly add .
git_quietly commit -q -m "A sum that is wrong"
(cd "$work/repository" && sh ./test.sh) || true

serve
task=$(tiffany agent "Make the tests pass." --repo "$work/repository" --script "$here/fix.json" \
  --detach)
say "an agent works on it: $task"
for _ in 1 2 3 4; do
  sleep 0.1
  kill_daemon
done
for _ in $(seq 200); do
  [[ $(tiffany budget "$task" 2>/dev/null) == *"awaiting approval"* ]] && break
  sleep 0.05
done
say "the patch that waits for an approval"
tiffany diff "$task"
kill_daemon
for _ in $(seq 200); do
  tiffany diff "$task" >/dev/null 2>&1 && break
  sleep 0.05
done
tiffany approve "$task" -m "looks right"
tiffany result --wait "$task" >/dev/null

say "what it did"
tiffany logs "$task"
say "the branch tiffany/$task"
git_quietly log --format='%s' "tiffany/$task"
commits=$(git_quietly rev-list --count "main..tiffany/$task")
[[ $commits == 1 ]] || { echo "$commits commits instead of one" && exit 1; }
git_quietly worktree add -q "$work/fixed" "tiffany/$task"
(cd "$work/fixed" && sh ./test.sh)
git_quietly fsck --no-dangling
