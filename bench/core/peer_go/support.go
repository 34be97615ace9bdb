package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const million = 1_000_000

type options struct {
	quick bool
	runs  int
	only  []string
	child string // internal: run this workload once, in this process
}

func parseOptions(args []string) options {
	parsed := options{runs: 3}
	runsGiven := false
	for i := 0; i < len(args); i++ {
		hasValue := i+1 < len(args)
		switch {
		case args[i] == "--quick":
			parsed.quick = true
		case args[i] == "--runs" && hasValue:
			i++
			runs, err := strconv.Atoi(args[i])
			if err != nil || runs < 1 {
				usage()
			}
			parsed.runs, runsGiven = runs, true
		case args[i] == "--only" && hasValue:
			i++
			parsed.only = strings.Split(args[i], ",")
		case args[i] == "--child" && hasValue:
			i++
			parsed.child = args[i]
		default:
			usage()
		}
	}
	if parsed.quick && !runsGiven {
		parsed.runs = 1
	}
	return parsed
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: peer_go [--quick] [--runs N] [--only name[,name...]]")
	os.Exit(2)
}

func (o options) wants(name string) bool {
	for _, wanted := range o.only {
		if wanted == name {
			return true
		}
	}
	return len(o.only) == 0
}

func bestOf(name string, o options) (float64, error) {
	best := math.Inf(1)
	for run := 0; run < o.runs; run++ {
		value, err := runInChild(name, o.quick)
		if err != nil {
			return 0, err
		}
		best = math.Min(best, value)
	}
	return best, nil
}

func runInChild(name string, quick bool) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	args := []string{"--child", name}
	if quick {
		args = append(args, "--quick")
	}
	child := exec.Command(self, args...)
	child.Stderr = os.Stderr
	output, err := child.Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(bytes.TrimSpace(output)), 64)
}

// Pins this thread to the last core we are allowed on. Children are started from it and inherit
// the mask for all of their threads, those of the garbage collector included.
func pinToOneCore() {
	runtime.LockOSThread()
	var mask [128]uint64
	size, address := unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, size, address)
	if errno != 0 {
		return
	}
	last := len(mask)*64 - 1
	for last > 0 && mask[last/64]&(1<<(last%64)) == 0 {
		last--
	}
	mask = [128]uint64{}
	mask[last/64] = 1 << (last % 64)
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, size, address)
}

// CPU time of the whole process, since Go's own threads are part of the price.
func cpuNs() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil, "getrusage")
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}

func cpuNsOf(work func()) float64 {
	start := cpuNs()
	work()
	return cpuNs() - start
}

func rssBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	check(err == nil, "/proc/self/statm")
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	check(err == nil, "resident pages")
	return float64(pages * os.Getpagesize())
}

func check(ok bool, what string) {
	if !ok {
		panic("check failed: " + what)
	}
}

// yieldClock runs from the moment the last task has started until the first one ends. Whoever
// comes before the last one yields until it is there, because a goroutine can be preempted and
// overtaken; from then on all of them yield `rounds` times before the first one ends.
type yieldClock struct {
	tasks     int
	rounds    int
	unstarted int64
	startNs   float64
	stopNs    float64
}

func newYieldClock(tasks int, quick bool) *yieldClock {
	total, least := 10*million, 16
	if quick {
		total, least = 2*million, 2
	}
	rounds := total / tasks
	if rounds < least {
		rounds = least
	}
	return &yieldClock{tasks: tasks, rounds: rounds, unstarted: int64(tasks)}
}

func (c *yieldClock) waitForAll() {
	if atomic.AddInt64(&c.unstarted, -1) == 0 {
		c.startNs = cpuNs()
		return
	}
	for atomic.LoadInt64(&c.unstarted) > 0 {
		runtime.Gosched()
	}
}

func (c *yieldClock) taskEnded() {
	if c.stopNs == 0 {
		c.stopNs = cpuNs()
	}
}

func (c *yieldClock) nsPerYield() float64 {
	return (c.stopNs - c.startNs) / float64(c.tasks*c.rounds)
}
