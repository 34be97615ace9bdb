// The workloads of bench/core in Go with GOMAXPROCS=1, standard library only. See ../README.md for
// the definitions.
//
// Left out: nested_call (a plain function call) and skynet_depth_first.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

type workload struct {
	name string
	unit string
	run  func(quick bool) float64
}

var workloads = []workload{
	{"yield_2", "ns", func(quick bool) float64 { return yieldInOrder(2, quick) }},
	{"yield_1k", "ns", func(quick bool) float64 { return yieldInOrder(1000, quick) }},
	{"yield_100k", "ns", func(quick bool) float64 { return yieldInOrder(100_000, quick) }},
	{"yield_1m", "ns", func(quick bool) float64 { return yieldInOrder(million, quick) }},
	{"yield_1m_shuffled", "ns", func(quick bool) float64 { return yieldShuffled(million, quick) }},
	{"spawn_join", "ns", func(bool) float64 { return spawnJoin(million) }},
	{"fanout_1m", "ns", func(bool) float64 { return fanout(million) }},
	{"ping_pong", "ns", func(bool) float64 { return pingPong(million) }},
	{"timers_1m", "ns", func(bool) float64 { return timers(million) }},
	{"arm_cancel_1m", "ns", func(bool) float64 { return armCancelMany(million) }},
	{"arm_cancel_hot", "ns", func(bool) float64 { return armCancelHot(million) }},
	{"skynet", "ms", func(bool) float64 { return skynetMs(million) }},
	{"rss_task_1m", "B", func(bool) float64 { return rssPerTask(million) }},
	{"gather_1k", "ns", func(bool) float64 { return gather(1000, 1000) }},
}

func main() {
	runtime.GOMAXPROCS(1)
	options := parseOptions(os.Args[1:])
	if options.child != "" {
		runAsChild(options)
		return
	}
	pinToOneCore()
	for _, work := range workloads {
		if options.wants(work.name) {
			report(work, options)
		}
	}
}

// Each run happens in a process of its own, so that none finds the heap, the stacks or the pending
// garbage collection of another.
func runAsChild(options options) {
	for _, work := range workloads {
		if work.name == options.child {
			debug.FreeOSMemory()
			fmt.Println(work.run(options.quick))
		}
	}
}

func report(work workload, options options) {
	best, err := bestOf(work.name, options)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s died and is left out: %v\n", work.name, err)
		return
	}
	fmt.Printf("{\"name\":\"%s\",\"unit\":\"%s\",\"value\":%.2f}\n", work.name, work.unit, best)
}
