#!/usr/bin/env bash
# Debian packages of a build whose prefix is /usr: package.sh BUILD_DIRECTORY INTO
#
#   tiffany          the programs, a systemd unit, a user, and a directory for the data
#   libtiffany-dev   the static library, headers, packages for CMake and pkg-config
#
# The version is that of the CMake project.
set -euo pipefail
built=$(realpath "$1") into=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(sed -nE 's/^project\(tiffany VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
arch=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-The Tiffany authors} <${DEBEMAIL:-tiffany@example.org}>"
mkdir -p "$into"
into=$(realpath "$into")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 022

say_man() { # program or file, to
  mkdir -p "$(dirname "$2")"
  gzip -9n <"$1" >"$2"
}

# doc_of PACKAGE: what each package has to say of itself.
doc_of() {
  local doc=$stage/$1/usr/share/doc/$1 when
  when=$(git log -1 --format=%cD 2>/dev/null || date -R)
  mkdir -p "$doc"
  cp packaging/copyright "$doc/copyright"
  gzip -9n >"$doc/changelog.gz" <<END
tiffany ($version) unstable; urgency=medium

  * See CHANGELOG.md in the sources.

 -- $maintainer  $when
END
}

# libraries_of PACKAGE PROGRAM...: the packages whose libraries these programs load.
libraries_of() {
  local work=$stage/shlibs
  mkdir -p "$work/debian"
  printf 'Source: tiffany\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
  shift
  (cd "$work" && dpkg-shlibdeps -O "$@" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

# pack PACKAGE SECTION DEPENDS SUMMARY TEXT
pack() {
  local root=$stage/$1
  mkdir -p "$root/DEBIAN"
  cat >"$root/DEBIAN/control" <<END
Package: $1
Source: tiffany
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $3
Section: $2
Priority: optional
Description: $4
$5
END
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z |
    xargs -0 md5sum >DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz --build "$root" "$into/$1_${version}_$arch.deb"
}

# ---- tiffany ----

root=$stage/tiffany
DESTDIR=$root cmake --install "$built" --prefix /usr --component tools >/dev/null
strip --strip-unneeded -R .comment -R .note "$root"/usr/bin/*
install -D -m 644 packaging/tiffany.service "$root/lib/systemd/system/tiffany.service"
install -D -m 644 packaging/default "$root/etc/default/tiffany"
"$root/usr/bin/tiffany" man >"$stage/tiffany.1"
say_man "$stage/tiffany.1" "$root/usr/share/man/man1/tiffany.1.gz"
say_man packaging/tiffany-run.8 "$root/usr/share/man/man8/tiffany-run.8.gz"
for shell in bash:usr/share/bash-completion/completions/tiffany \
  zsh:usr/share/zsh/vendor-completions/_tiffany \
  fish:usr/share/fish/vendor_completions.d/tiffany.fish; do
  mkdir -p "$(dirname "$root/${shell#*:}")"
  "$root/usr/bin/tiffany" completion "${shell%%:*}" >"$root/${shell#*:}"
done
doc_of tiffany
mkdir -p "$root/DEBIAN"
install -m 755 packaging/postinst packaging/prerm packaging/postrm "$root/DEBIAN"
echo /etc/default/tiffany >"$root/DEBIAN/conffiles"
pack tiffany admin \
  "$(libraries_of tiffany "$root/usr/bin/tiffany" "$root/usr/bin/tiffany-run"), adduser" \
  "durable tasks and plans: the daemon and its command line" \
  " A daemon that runs durable workflows: commands and approvals in YAML, whose
 state is in a write-ahead log, so that a crash loses nothing and does nothing
 twice. Commands go on while the daemon is down. With a dashboard, an HTTP API
 and metrics."

# ---- libtiffany-dev ----

root=$stage/libtiffany-dev
DESTDIR=$root cmake --install "$built" --prefix /usr --component library >/dev/null
find "$root" -name '*.a' -exec strip --strip-debug -R .comment -R .note {} +
rm -rf "$root/usr/share/doc"
say_man packaging/libtiffany.7 "$root/usr/share/man/man7/libtiffany.7.gz"
doc_of libtiffany-dev
pack libtiffany-dev libdevel \
  "libstdc++-12-dev, liburing-dev, libssl-dev, libyaml-cpp-dev, libncurses-dev, \
libgit2-dev, libsqlite3-dev" \
  "deterministic, durable, observable tasks for C++20: development files" \
  " A static library and its headers, with packages for CMake and pkg-config:
 structured concurrency on coroutines and fibers, durable tasks on a
 write-ahead log, a daemon in every program, and a scheduler for tests in which
 time is virtual."
