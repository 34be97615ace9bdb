package main

import (
	"math/rand"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func yieldOften(clock *yieldClock) {
	clock.waitForAll()
	for round := clock.rounds; round > 0; round-- {
		runtime.Gosched()
	}
	clock.taskEnded()
}

// A gate lets all who wait through at once, in the order in which they came.
type gate struct {
	waiting int64
	open    chan struct{}
}

func (g *gate) wait() {
	atomic.AddInt64(&g.waiting, 1)
	<-g.open
}

func (g *gate) openFor(tasks int) {
	for atomic.LoadInt64(&g.waiting) < int64(tasks) {
		runtime.Gosched()
	}
	close(g.open)
}

func yieldInOrder(tasks int, quick bool) float64 {
	clock := newYieldClock(tasks, quick)
	start := gate{open: make(chan struct{})}
	var group sync.WaitGroup
	group.Add(tasks)
	for i := 0; i < tasks; i++ {
		go func() {
			start.wait()
			yieldOften(clock)
			group.Done()
		}()
	}
	start.openFor(tasks)
	group.Wait()
	return clock.nsPerYield()
}

// The goroutines are made in order and woken in random order, in which they come to the gate.
func yieldShuffled(tasks int, quick bool) float64 {
	clock := newYieldClock(tasks, quick)
	start := gate{open: make(chan struct{})}
	turns := make([]chan struct{}, tasks)
	var group sync.WaitGroup
	group.Add(tasks)
	for i := range turns {
		turn := make(chan struct{})
		turns[i] = turn
		go func() {
			<-turn
			start.wait()
			yieldOften(clock)
			group.Done()
		}()
	}
	runtime.Gosched()
	for _, task := range rand.New(rand.NewSource(42)).Perm(tasks) {
		close(turns[task])
	}
	start.openFor(tasks)
	group.Wait()
	return clock.nsPerYield()
}

func spawnAndJoinEach(count int) {
	done := make(chan struct{})
	for i := 0; i < count; i++ {
		go func() { done <- struct{}{} }()
		<-done
	}
}

func spawnJoin(count int) float64 {
	spawnAndJoinEach(1000)
	return cpuNsOf(func() { spawnAndJoinEach(count) }) / float64(count)
}

func fanout(count int) float64 {
	ns := cpuNsOf(func() {
		var group sync.WaitGroup
		group.Add(count)
		for i := 0; i < count; i++ {
			go func() { group.Done() }()
		}
		group.Wait()
	})
	return ns / float64(count)
}

func gatherOnce(width int) int {
	results := make([]int, width)
	var group sync.WaitGroup
	group.Add(width)
	for i := range results {
		go func(i int) {
			results[i] = 1
			group.Done()
		}(i)
	}
	group.Wait()
	sum := 0
	for _, result := range results {
		sum += result
	}
	return sum
}

func gather(times, width int) float64 {
	gatherOnce(width)
	sum := 0
	ns := cpuNsOf(func() {
		for i := 0; i < times; i++ {
			sum += gatherOnce(width)
		}
	})
	check(sum == times*width, "gathered all")
	return ns / float64(times)
}

func pingPong(rounds int) float64 {
	ping, pong := make(chan int), make(chan int)
	go func() {
		for ball := range ping {
			pong <- ball
		}
	}()
	ns := cpuNsOf(func() {
		for i := 0; i < rounds; i++ {
			ping <- i
			<-pong
		}
	})
	close(ping)
	return ns / float64(rounds)
}

// Delays of timers, uniform over one microsecond per timer.
func randomDelays(count int) []time.Duration {
	random := rand.New(rand.NewSource(7))
	delays := make([]time.Duration, count)
	for i := range delays {
		delays[i] = time.Duration(random.Int63n(int64(count) * 1000))
	}
	return delays
}

// The first deadline is far enough ahead for all the goroutines to be asleep by then.
func timers(count int) float64 {
	const lead = 8 * time.Second
	delays := randomDelays(count)
	ns := cpuNsOf(func() {
		var group sync.WaitGroup
		group.Add(count)
		base := time.Now().Add(lead)
		for _, delay := range delays {
			go func(deadline time.Time) {
				time.Sleep(time.Until(deadline))
				group.Done()
			}(base.Add(delay))
		}
		runtime.Gosched()
		if time.Now().After(base) {
			os.Stderr.WriteString("bench: timers_1m: fired while inserting\n")
		}
		group.Wait()
	})
	return ns / float64(count)
}

func armCancelMany(count int) float64 {
	delays := randomDelays(count)
	timers := make([]*time.Timer, count)
	ns := cpuNsOf(func() {
		for i := range timers {
			timers[i] = time.NewTimer(time.Hour + delays[i])
		}
		for _, timer := range timers {
			timer.Stop()
		}
	})
	return ns / float64(count)
}

func armCancelHot(count int) float64 {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	ns := cpuNsOf(func() {
		for i := 0; i < count; i++ {
			timer.Reset(time.Hour)
			timer.Stop()
		}
	})
	return ns / float64(count)
}

func skynetNode(result chan<- int, first, leaves int) {
	if leaves == 1 {
		result <- first
		return
	}
	children := make(chan int)
	for i := 0; i < 10; i++ {
		go skynetNode(children, first+i*(leaves/10), leaves/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	result <- sum
}

func skynetMs(leaves int) float64 {
	sum := 0
	ns := cpuNsOf(func() {
		result := make(chan int)
		go skynetNode(result, 0, leaves)
		sum = <-result
	})
	check(sum == leaves*(leaves-1)/2, "skynet's sum")
	return ns / 1e6
}

func rssPerTask(count int) float64 {
	event := make(chan struct{})
	var group sync.WaitGroup
	group.Add(count)
	before := rssBytes()
	for i := 0; i < count; i++ {
		go func() {
			<-event
			group.Done()
		}()
	}
	runtime.Gosched()
	after := rssBytes()
	close(event)
	group.Wait()
	return (after - before) / float64(count)
}
