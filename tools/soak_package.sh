#!/usr/bin/env bash
# soak_package.sh DEBS: installs the packages in a bare Debian 12, starts the daemon there, uses it,
# compiles a program with the library, and purges everything. Needs root, debootstrap and a mirror.
set -euo pipefail
debs=$(realpath "$1")
# A machine has one of the two files, or other sources than Debian's besides.
sources() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [[ ! -f $file ]] || sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?(http[^ ]+).*/\2/p' "$file"
  done
}
mirror=${TIFFANY_MIRROR:-$(sources | sed -n '/\/debian\/\?$/{p;q}')}
root=$(mktemp -d /var/tmp/tiffany-debian-XXXXXX)
daemon=
finish() {
  [[ -z $daemon ]] || kill "$daemon" 2>/dev/null || true
  wait 2>/dev/null || true
  local at
  for at in dev/pts dev proc; do
    if mountpoint -q "$root/$at"; then umount "$root/$at"; fi
  done
  rm -rf --one-file-system "$root" # what could not be unmounted is the machine's
}
trap finish EXIT
say() { printf '== %s\n' "$*"; }
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
  LC_ALL=C.UTF-8 "$@"; }

say "a bare Debian 12 from ${mirror:-the usual mirror}"
debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log" && exit 1; }
rm -f "$root.log"
chmod 755 "$root" # apt fetches as a user of its own
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts"
mount -t proc proc "$root/proc"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$debs"/*.deb "$root/tmp"

say "installed"
inside apt-get update -qq
inside sh -c 'apt-get install -qq -y --no-install-recommends /tmp/tiffany_*.deb >/dev/null'
inside tiffany version --client
inside getent passwd tiffany
[[ $(stat -c '%a' "$root/var/lib/tiffany") == 700 ]]

say "started, and used"
data=(--data /var/lib/tiffany --socket /tmp/t.sock)
inside tiffany serve "${data[@]}" >"$root/tmp/serve.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do [[ -S $root/tmp/t.sock ]] && break; sleep 0.1; done
cat >"$root/tmp/plan.yaml" <<'END'
steps:
  - {name: one, run: [touch, /tmp/one-was-here]}
  - {name: two, needs: [one], run: [rm, /tmp/one-was-here]}
END
inside tiffany --socket /tmp/t.sock run /tmp/plan.yaml
inside tiffany --socket /tmp/t.sock ps -a
inside tiffany --socket /tmp/t.sock backup /tmp/backup
inside tiffany --socket /tmp/t.sock shutdown
wait "$daemon" && daemon=
inside tiffany restore /tmp/backup /tmp/restored
inside tiffany wal verify /var/lib/tiffany/wal

say "a program with the library"
inside sh -c 'apt-get install -qq -y --no-install-recommends g++ pkg-config cmake make \
  /tmp/libtiffany-dev_*.deb >/dev/null'
cat >"$root/tmp/hello.cpp" <<'END'
#include <cstdio>
#include <tiffany/tiffany.hpp>
tiffany::Task<void> hello() {
  std::puts("hello");
  co_return;
}
int main() { return tiffany::run(hello()); }
END
cat >"$root/tmp/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(hello CXX)
find_package(tiffany REQUIRED)
add_executable(hello_cmake hello.cpp)
target_link_libraries(hello_cmake PRIVATE tiffany::tiffany)
END
inside sh -c 'cd /tmp && g++ -std=c++20 hello.cpp $(pkg-config --cflags --libs tiffany) -o hello &&
  ./hello && cmake -S . -B build >/dev/null && cmake --build build >/dev/null && build/hello_cmake'

say "purged"
inside sh -c 'apt-get purge -qq -y tiffany libtiffany-dev >/dev/null'
! inside getent passwd tiffany
for left in /var/lib/tiffany /usr/bin/tiffany /etc/default/tiffany /usr/include/tiffany; do
  [[ ! -e $root$left ]] || { echo "$left is left over" && exit 1; }
done
say "nothing is left over"
