package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// plan is one run: what each worker does over and over, and for how long.
type plan struct {
	endpoints   []endpoint
	scenario    string
	connections int
	warmUp      time.Duration
	duration    time.Duration
	count       int64
	tools       int
	listFirst   bool
	size        int64
	folder      string
	rate        int64
	watch       []int

	largeSum uint32
}

// result is what a run reports. Times are milliseconds unless the name says otherwise.
type result struct {
	Calls      int                `json:"calls"`
	Errors     int                `json:"errors"`
	FirstError string             `json:"firstError,omitempty"`
	Seconds    float64            `json:"seconds"`
	PerSecond  float64            `json:"perSecond"`
	P50        float64            `json:"p50"`
	P99        float64            `json:"p99"`
	Max        float64            `json:"max"`
	From       int64              `json:"from"` // Unix time of the first measured moment
	To         int64              `json:"to"`
	CPU        map[string]float64 `json:"cpu"` // seconds, by process id
	OwnCPU     float64            `json:"ownCpu"`
	Machine    machineTime        `json:"machine"`
}

// scenarios are the steps that a worker repeats. `idle` and `huge` are runs of their own.
var scenarios = map[string]func(*worker) error{
	"echo":    (*worker).echo,
	"list":    (*worker).list,
	"large":   (*worker).large,
	"session": (*worker).session,
	"idle":    (*worker).idle,
	"huge":    (*worker).huge,
	"write":   (*worker).write,
}

func scenarioNames() []string { return slices.Sorted(maps.Keys(scenarios)) }

// opensSessions tells whether the step itself opens the session it uses.
func (p *plan) opensSessions() bool { return p.scenario == "session" || p.scenario == "idle" }

// tally is what one worker counts; workers share nothing while they run.
type tally struct {
	times  []time.Duration
	errors int
	first  error
}

// giveUpAfter is how many errors end a worker: enough to see that the target is broken.
const giveUpAfter = 20

func (p *plan) run() (*result, error) {
	step, known := scenarios[p.scenario]
	if !known {
		return nil, fmt.Errorf("unknown scenario %q (%s)", p.scenario, strings.Join(scenarioNames(), ", "))
	}
	p.largeSum = textSum(largeBytes)
	workers := make([]*worker, p.connections)
	for i := range workers {
		workers[i] = newWorker(i, p)
		defer workers[i].close()
		if p.opensSessions() {
			continue
		}
		if err := workers[i].open(); err != nil {
			return nil, err
		}
		if p.listFirst {
			if err := workers[i].list(); err != nil {
				return nil, err
			}
		}
	}
	if p.warmUp > 0 {
		p.repeat(workers, step, p.warmUp, 0)
	}
	before, started := readUsage(p.watch), time.Now()
	tallies := p.repeat(workers, step, p.duration, p.count)
	ended, after := time.Now(), readUsage(p.watch)

	r := summarise(tallies, ended.Sub(started))
	r.From, r.To = started.UnixMilli(), ended.UnixMilli()
	r.CPU, r.OwnCPU, r.Machine = after.since(before)
	return r, nil
}

// repeat lets all workers run the step until the time is up or count calls were begun.
func (p *plan) repeat(workers []*worker, step func(*worker) error, limit time.Duration, count int64) []tally {
	deadline := time.Now().Add(limit)
	tallies := make([]tally, len(workers))
	var begun atomic.Int64
	var running sync.WaitGroup
	for i, w := range workers {
		running.Go(func() {
			mine := tally{times: make([]time.Duration, 0, 1<<12)}
			for now := time.Now(); now.Before(deadline) && mine.errors < giveUpAfter; {
				if count > 0 && begun.Add(1) > count {
					break
				}
				err := step(w)
				end := time.Now()
				if err == nil {
					mine.times = append(mine.times, end.Sub(now))
				} else {
					if mine.first == nil {
						mine.first = err
					}
					mine.errors++
				}
				now = end
			}
			tallies[i] = mine
		})
	}
	running.Wait()
	return tallies
}

func summarise(tallies []tally, elapsed time.Duration) *result {
	r := &result{Seconds: elapsed.Seconds()}
	var all []time.Duration
	for _, t := range tallies {
		all = append(all, t.times...)
		r.Errors += t.errors
		if t.first != nil && r.FirstError == "" {
			r.FirstError = t.first.Error()
		}
	}
	r.Calls = len(all)
	if r.Calls == 0 {
		return r
	}
	r.PerSecond = float64(r.Calls) / r.Seconds
	slices.Sort(all)
	r.P50, r.P99, r.Max = quantile(all, 0.5), quantile(all, 0.99), quantile(all, 1)
	return r
}

// quantile is the nearest-rank quantile of sorted times, in milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	rank := int(q*float64(len(sorted))+0.999999) - 1
	return float64(sorted[min(max(rank, 0), len(sorted)-1)]) / float64(time.Millisecond)
}
