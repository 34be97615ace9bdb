#!/usr/bin/env python3
"""The one door: no object file outside of src/world refers to the operating system.

    tools/check_world.py build/debug            # the objects of the library in a build tree
    tools/check_world.py --objects a.o b.o      # these, none of which may refer to it

Reads the undefined symbols of each object with nm. What comes from outside (clocks, entropy, files,
sockets, pipes, processes, signals, threads) enters through World (include/tiffany/core/world.hpp),
whose implementation for the operating system is src/world. The one exception is what CLI11 could do
and is not asked to (LIBRARIES below). See docs/decisions/0022-world.md.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# By what they reach. The variants that glibc adds (64, _chk, __isoc99_) are cut off before.
DOOR = {
    "files": """
        open openat creat close read pread readv preadv preadv2 write pwrite writev pwritev
        pwritev2 fsync fdatasync syncfs sync sync_file_range ftruncate truncate fallocate
        posix_fallocate rename renameat renameat2 link linkat symlink readlink realpath unlink
        unlinkat remove mkdir mkdirat rmdir stat lstat fstat fstatat statx access faccessat opendir
        readdir closedir scandir flock lockf fcntl ioctl fopen freopen fdopen tmpfile mkstemp
        mkdtemp sendfile copy_file_range splice chmod fchmod inotify_init1 inotify_add_watch
        inotify_rm_watch posix_openpt grantpt unlockpt ptsname_r""",
    "sockets": """
        socket socketpair bind listen connect accept accept4 setsockopt getsockopt getsockname
        getpeername shutdown send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg
        getaddrinfo getnameinfo gethostbyname if_nametoindex if_indextoname getifaddrs""",
    "pipes and waiting": """
        pipe pipe2 dup dup2 dup3 eventfd poll ppoll select pselect epoll_create epoll_create1
        epoll_ctl epoll_wait epoll_pwait epoll_pwait2 timerfd_create signalfd""",
    "clocks": """
        clock_gettime clock_getres gettimeofday time times clock nanosleep clock_nanosleep usleep
        sleep sched_yield""",
    "entropy": "getrandom getentropy rand rand_r random srand srandom arc4random",
    "processes": """
        fork vfork posix_spawn posix_spawnp execv execve execvp execl waitpid waitid wait wait3
        wait4 kill killpg getpid getppid gettid getuid geteuid uname gethostname system popen
        setpgid setsid syscall""",
    "signals": """
        signal sigaction sigprocmask pthread_sigmask pthread_kill raise sigwait sigwaitinfo
        sigtimedwait sigsuspend""",
    "threads": "pthread_create",
}
PATTERNS = [
    r"io_uring_\w+",
    r"_ZNSt6chrono3_V21[23](system|steady)_clock3nowEv",
    r"_ZNSt13random_device\w+",
    r"_ZNSt6thread15_M_start_thread\w+",
    # Of std::filesystem everything but the arithmetic of paths.
    r"_ZNSt10filesystem(?!7__cxx114path)\w+",
    r"_ZNSt1[34]basic_(if|of|f)stream\w+",
]
# Headers of others that bring functions along which nothing here calls: files with options, and
# checks that a path exists. Each by source and by what it may refer to.
LIBRARIES = {"app/cli_parse.cpp": re.compile(r"std::(basic_ifstream|filesystem::).*")}
NAMES = {name for group in DOOR.values() for name in group.split()}
DOOR_PATTERN = re.compile("|".join(f"(?:{p})" for p in PATTERNS))


def undefined(path):
    out = subprocess.run(["nm", "-u", str(path)], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        name = line.split()[-1].split("@")[0]
        name = re.sub(r"^__(?:isoc\d+_)?(\w+?)_chk$", r"\1", name)  # a fortified call
        yield re.sub(r"^(?!_Z)(\w+?)64(v2)?$", r"\1\2", name)  # with 64-bit offsets


def reached_by(names):
    """What is on the list, in words that a reader knows."""
    found = set()
    for name in names:
        if name in NAMES:
            found.add(name)
        elif DOOR_PATTERN.fullmatch(name):
            shown = subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip()
            found.add(re.sub(r"<.*>|\(.*", "", shown).replace("std::chrono::_V2::", ""))
    return found


def objects_below(tree):
    """(module/source, path) of each object of the library; (module/unity, path) with unity."""
    root = pathlib.Path(tree) / "CMakeFiles" / "tiffany.dir"
    unity = sorted((root / "Unity").glob("unity_src_*_cxx.cxx.o"))
    if unity:
        modules = [path.name[len("unity_src_"):-len("_cxx.cxx.o")] for path in unity]
        return [(f"{module}/unity", path) for module, path in zip(modules, unity)]
    source = pathlib.Path(__file__).resolve().parent.parent / "src"
    found = []
    for path in sorted((root / "src").rglob("*.cpp.o")):
        name = str(path.relative_to(root / "src"))[: -len(".o")]
        if (source / name).exists():  # a build tree keeps the objects of sources that were moved
            found.append((name, path))
    if not found:
        sys.exit(f"No object file below {root}: build the library there first.")
    return found


def may_refer(source):
    """The operating system does; the world in memory, beside it, does not."""
    return source.startswith("world/") and not source.startswith("world/memory/")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", nargs="?", help="a build tree")
    parser.add_argument("--objects", nargs="+", help="object files")
    options = parser.parse_args()
    if (options.tree is None) == (options.objects is None):
        parser.error("give a build tree, or --objects")
    objects = [(o, o) for o in options.objects] if options.objects else objects_below(options.tree)
    complaints = [
        f"{source} refers to {name}: that belongs behind World, in src/world."
        for source, path in objects
        if not may_refer(source)
        for name in sorted(reached_by(undefined(path)))
        if not (source in LIBRARIES and LIBRARIES[source].fullmatch(name))
    ]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        sys.exit(1)
    print(f"{len(objects)} objects, and none outside of src/world goes past the door.")


if __name__ == "__main__":
    main()
