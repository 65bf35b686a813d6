package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

func reader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

func TestFieldsAreReadWithoutRegardToCase(t *testing.T) {
	f, err := readFields(reader("CONTENT-LENGTH: 12\r\nmcp-session-id:  abc \r\nContent-Type: text/event-stream; x\r\nConnection: Close\r\n\r\nrest"))
	if err != nil || f.length != 12 || f.sessionID != "abc" || !f.events || !f.close || f.chunked {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := readFields(reader("no colon\r\n\r\n")); err == nil {
		t.Fatal("a field without a colon was accepted")
	}
}

func TestChunkedBodyIsJoined(t *testing.T) {
	r := reader("5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\nnext")
	body, err := readBody(r, fields{length: -1, chunked: true}, nil)
	if err != nil || string(body) != "hello world" {
		t.Fatalf("%q, %v", body, err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "next" {
		t.Fatalf("left %q", rest)
	}
}

func TestBodyThatEndsEarlyIsAnError(t *testing.T) {
	for name, f := range map[string]fields{"length": {length: 20}, "chunked": {length: -1, chunked: true}} {
		if _, err := readBody(reader("a\r\nhello"), f, nil); err != io.ErrUnexpectedEOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnlyLoopbackIsAllowed(t *testing.T) {
	for _, bad := range []string{"http://192.0.2.1:80/mcp", "https://127.0.0.1/mcp", "http://example.org/mcp", "127.0.0.1"} {
		if _, err := parseEndpoint(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if e, err := parseEndpoint("http://127.0.0.1:8080/mcp"); err != nil || e.path != "/mcp" || e.address != "127.0.0.1:8080" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	var times []time.Duration
	for i := 1; i <= 200; i++ {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	if p50, p99, top := quantile(times, 0.5), quantile(times, 0.99), quantile(times, 1); p50 != 100 || p99 != 198 || top != 200 {
		t.Fatal(p50, p99, top)
	}
	if one := quantile(times[:1], 0.99); one != 1 {
		t.Fatal(one)
	}
}

func TestCatalogueIsRealisticAndAlwaysTheSame(t *testing.T) {
	first := listResult(fullCatalogue())
	if !bytes.Equal(first, listResult(fullCatalogue())) {
		t.Fatal("it varies")
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(first, &list); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tool := range list.Tools {
		names[tool.Name] = true
		if len(tool.Description) < 80 || len(tool.InputSchema.Properties) < 2 || strings.Contains(tool.Description, "%!") {
			t.Errorf("%s: %q", tool.Name, tool.Description)
		}
	}
	if len(list.Tools) != 204 || len(names) != 204 {
		t.Fatalf("%d tools, %d names", len(list.Tools), len(names))
	}
}

// startServer runs an upstream for as long as the test and gives a short plan against it.
func startServer(t *testing.T) plan {
	t.Helper()
	up := newUpstream()
	listener, err := up.listen()
	if err != nil {
		t.Fatal(err)
	}
	go up.serve(listener)
	t.Cleanup(func() { listener.Close() })
	base := endpoint{address: listener.Addr().String(), path: mountMain}
	return plan{endpoints: []endpoint{base}, scenario: "echo", connections: 4, duration: 5 * time.Second, count: 40, tools: 1, listFirst: true, size: 1 << 20, rate: 1 << 30}
}

func TestEveryScenarioRunsAgainstTheUpstream(t *testing.T) {
	for scenario, path := range map[string]string{"echo": mountMain, "list": mountFull, "large": mountMain, "session": mountMain, "idle": mountMain, "huge": mountHuge} {
		t.Run(scenario, func(t *testing.T) {
			p := startServer(t)
			p.scenario, p.endpoints[0].path = scenario, path
			r, err := p.run()
			if err != nil || r.Errors != 0 || r.Calls != 40 {
				t.Fatalf("%+v, %v", r, err)
			}
		})
	}
	t.Run("events", func(t *testing.T) {
		p := startServer(t)
		p.endpoints[0].path = mountEvents
		if r, err := p.run(); err != nil || r.Errors != 0 || r.Calls != 40 {
			t.Fatalf("%+v, %v", r, err)
		}
	})
}

func TestCallsGoToAllEndpointsInTurn(t *testing.T) {
	p := startServer(t)
	p.endpoints = append(p.endpoints, p.endpoints[0], p.endpoints[0])
	w := newWorker(0, &p)
	defer w.close()
	if err := w.session(); err != nil {
		t.Fatal(err)
	}
	for i, l := range w.links {
		if l.socket == nil {
			t.Errorf("endpoint %d was never used", i)
		}
	}
}

func TestUnknownSessionIsRefused(t *testing.T) {
	p := startServer(t)
	w := newWorker(0, &p)
	defer w.close()
	for id, status := range map[string]int{"": 400, "unknown": 404} {
		w.setSession(id)
		if a, err := w.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); err != nil || a.status != status {
			t.Errorf("%q: %d, %v", id, a.status, err)
		}
	}
}

func TestWrongAnswersAreErrors(t *testing.T) {
	w := &worker{nextID: 7}
	good := `{"jsonrpc":"2.0","id":7,"result":{}}`
	if err := w.check(answer{status: 200, body: []byte(good)}, nil); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]answer{
		"status":      {status: 502, body: []byte(good)},
		"error":       {status: 200, body: []byte(`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`)},
		"tool error":  {status: 200, body: []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":true}}`)},
		"other id":    {status: 200, body: []byte(`{"jsonrpc":"2.0","id":8,"result":{}}`)},
		"broken JSON": {status: 200, body: []byte(`{"jsonrpc":"2.0","id":7,"result":{}`)},
	} {
		if w.check(a, nil) == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestAlteredLongTextIsFound(t *testing.T) {
	result := func(change func([]byte)) io.Reader {
		var text bytes.Buffer
		writeText(&text, 300_000)
		change(text.Bytes())
		return strings.NewReader(`{"id":1,"result":{"content":[{"type":"text","text":"` + text.String() + `"}]}}`)
	}
	if err := checkHuge(result(func([]byte) {}), 300_000); err != nil {
		t.Fatal(err)
	}
	if checkHuge(result(func(b []byte) { b[200_000] ^= 1 }), 300_000) == nil {
		t.Error("a changed byte went unseen")
	}
	if checkHuge(result(func([]byte) {}), 300_001) == nil {
		t.Error("a missing byte went unseen")
	}
}
