package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ticks is USER_HZ, in which /proc counts CPU time.
const ticks = 100

// machineTime is CPU seconds of all cores together.
type machineTime struct {
	Busy  float64 `json:"busy"`  // user, system and interrupts, without niced work
	Niced float64 `json:"niced"` // work that gives way to ours
	Steal float64 `json:"steal"` // what the hypervisor gave to others
}

type usage struct {
	machine machineTime
	cpu     map[int]float64
	own     float64
}

// readUsage takes the counters of the machine, of the watched processes and of this one.
func readUsage(watch []int) usage {
	u := usage{machine: readMachine(), cpu: map[int]float64{}}
	for _, pid := range watch {
		u.cpu[pid] = readProcess(pid)
	}
	var self syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &self) == nil {
		u.own = seconds(self.Utime) + seconds(self.Stime)
	}
	return u
}

func (u usage) since(before usage) (map[string]float64, float64, machineTime) {
	cpu := map[string]float64{}
	for pid, value := range u.cpu {
		cpu[strconv.Itoa(pid)] = value - before.cpu[pid]
	}
	return cpu, u.own - before.own, machineTime{
		Busy:  u.machine.Busy - before.machine.Busy,
		Niced: u.machine.Niced - before.machine.Niced,
		Steal: u.machine.Steal - before.machine.Steal,
	}
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// readMachine reads the first line of /proc/stat (proc_stat(5)).
func readMachine() machineTime {
	text, _ := os.ReadFile("/proc/stat")
	first, _, _ := bytes.Cut(text, []byte("\n"))
	column := strings.Fields(string(first))
	at := func(i int) float64 {
		if i >= len(column) {
			return 0
		}
		n, _ := strconv.ParseFloat(column[i], 64)
		return n / ticks
	}
	return machineTime{Busy: at(1) + at(3) + at(6) + at(7), Niced: at(2), Steal: at(8)}
}

// readProcess is the CPU time of all threads of a process (proc_pid_stat(5)); 0 when it is gone.
func readProcess(pid int) float64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name in parentheses may hold anything, so count from its end.
	column := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(column) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(column[11], 64)
	system, _ := strconv.ParseFloat(column[12], 64)
	return (user + system) / ticks
}
