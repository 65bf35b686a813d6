// Command loadgen is both ends of the benchmark in one program: the MCP server that stands behind the
// measured target (`loadgen upstream`) and the clients in front of it (`loadgen run`).
//
// Both speak HTTP/1.1 over plain sockets, because they share one core and must stay far cheaper than
// any target. Only loopback addresses are accepted.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: loadgen upstream | run [flags]"))
	}
	var err error
	switch os.Args[1] {
	case "upstream":
		err = serveUpstream(os.Args[2:])
	case "run":
		err = runLoad(os.Args[2:])
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func serveUpstream(args []string) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	if err := flags.Parse(args); err != nil {
		return err
	}
	up := newUpstream()
	listener, err := up.listen()
	if err != nil {
		return err
	}
	report(map[string]any{"url": "http://" + listener.Addr().String()})
	go endWithParent()
	return up.serve(listener)
}

// endWithParent ends the program when its standard input closes, which is what happens when the
// harness that holds the other end of the pipe dies.
func endWithParent() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// textList is a repeatable flag.
type textList []string

func (l *textList) String() string     { return strings.Join(*l, ",") }
func (l *textList) Set(s string) error { *l = append(*l, s); return nil }

func runLoad(args []string) error {
	var p plan
	var urls textList
	var watch string
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.Var(&urls, "url", "MCP endpoint; give several to spread each session's calls over them in turn")
	flags.StringVar(&p.scenario, "scenario", "echo", strings.Join(scenarioNames(), " | "))
	flags.IntVar(&p.connections, "c", 1, "workers, each with its own session and one call in flight")
	flags.DurationVar(&p.warmUp, "warm-up", time.Second, "unmeasured time before")
	flags.DurationVar(&p.duration, "time", 4*time.Second, "measured time, or the limit when -count is given")
	flags.Int64Var(&p.count, "count", 0, "measured calls (sessions for idle); 0: as many as fit into -time")
	flags.IntVar(&p.tools, "tools", 1, "least number of tools that a catalogue must hold")
	flags.BoolVar(&p.listFirst, "list", true, "ask for the catalogue once in each new session, as clients do")
	flags.Int64Var(&p.size, "size", 100_000_000, "huge: bytes of text to ask for")
	flags.Int64Var(&p.rate, "rate", 25_000_000, "huge: bytes a second that the client reads")
	flags.StringVar(&p.folder, "folder", os.TempDir(), "write: where the tool writes")
	flags.StringVar(&watch, "watch", "", "process ids whose CPU time is reported, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, text := range urls {
		endpoint, err := parseEndpoint(text)
		if err != nil {
			return err
		}
		p.endpoints = append(p.endpoints, endpoint)
	}
	if len(p.endpoints) == 0 {
		return errors.New("-url is missing")
	}
	for _, text := range strings.FieldsFunc(watch, func(r rune) bool { return r == ',' }) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-watch: %w", err)
		}
		p.watch = append(p.watch, pid)
	}
	go endWithParent()
	result, err := p.run()
	if err != nil {
		return err
	}
	report(result)
	return nil
}

// report prints one line of JSON, the only thing that goes to standard output.
func report(value any) {
	json.NewEncoder(os.Stdout).Encode(value)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "loadgen:", err)
	os.Exit(1)
}
