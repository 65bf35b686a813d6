package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

const protocolVersion = "2025-06-18"

// worker is one MCP client: a session, and a connection to every endpoint. Requests go to the endpoints
// in turn, so with several of them each session is used on all replicas.
type worker struct {
	number  int
	plan    *plan
	links   []*link
	heads   [][]byte
	turn    int
	nextID  int
	request []byte
}

func newWorker(number int, p *plan) *worker {
	w := &worker{number: number, plan: p, turn: number % len(p.endpoints)}
	for _, e := range p.endpoints {
		w.links = append(w.links, &link{endpoint: e})
	}
	return w
}

func (w *worker) close() {
	for _, l := range w.links {
		l.close()
	}
}

// post sends one message to the endpoint whose turn it is.
func (w *worker) post(message []byte) (answer, error) {
	i := w.turn
	if w.turn++; w.turn == len(w.links) {
		w.turn = 0
	}
	return w.links[i].exchange(w.heads[i], message)
}

func (w *worker) setSession(id string) {
	w.heads = w.heads[:0]
	for _, e := range w.plan.endpoints {
		w.heads = append(w.heads, e.requestHead(id))
	}
}

// open starts a new session: initialize and the initialized notification.
func (w *worker) open() error {
	w.setSession("")
	w.nextID++
	w.request = fmt.Appendf(w.request[:0], `{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{},"clientInfo":{"name":"loadgen","version":"1.0.0"}}}`, w.nextID, protocolVersion)
	a, err := w.post(w.request)
	if err := w.check(a, err); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if a.fields.sessionID == "" {
		return errors.New("initialize: no Mcp-Session-Id")
	}
	if !bytes.Contains(a.body, []byte(protocolVersion)) {
		return fmt.Errorf("initialize: not protocol %s: %.200s", protocolVersion, a.body)
	}
	w.setSession(a.fields.sessionID)
	a, err = w.post([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err == nil && a.status != 202 {
		err = fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	if err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}

// list asks for the catalogue and counts its tools.
func (w *worker) list() error {
	w.nextID++
	w.request = fmt.Appendf(w.request[:0], `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, w.nextID)
	a, err := w.post(w.request)
	if err := w.check(a, err); err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	if n := bytes.Count(a.body, []byte(`"inputSchema"`)); n < w.plan.tools {
		return fmt.Errorf("tools/list: %d tools instead of %d", n, w.plan.tools)
	}
	return nil
}

// callTool calls a tool with a message that no other call carries and returns that message.
func (w *worker) callTool(tool string) (answer, []byte, error) {
	w.nextID++
	b := append(w.request[:0], `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, int64(w.nextID), 10)
	b = append(b, `,"method":"tools/call","params":{"name":"`...)
	b = append(b, tool...)
	b = append(b, `","arguments":{"message":"`...)
	from := len(b)
	b = append(b, "worker "...)
	b = strconv.AppendInt(b, int64(w.number), 10)
	b = append(b, " call "...)
	b = strconv.AppendInt(b, int64(w.nextID), 10)
	b = append(b, '.')
	to := len(b)
	w.request = append(b, `"}}}`...)
	a, err := w.post(w.request)
	return a, w.request[from:to], w.check(a, err)
}

// echo makes one small call; the answer must hold its own message.
func (w *worker) echo() error {
	a, message, err := w.callTool("echo")
	if err == nil && !bytes.Contains(a.body, message) {
		err = fmt.Errorf("not my answer (%s): %.200s", message, a.body)
	}
	return err
}

var textStart = []byte(`"text":"`)

// large makes one call with a result of 100 KB, whose text is checked byte by byte.
func (w *worker) large() error {
	a, _, err := w.callTool("big_text")
	if err != nil {
		return err
	}
	at := bytes.Index(a.body, textStart)
	if at < 0 || len(a.body) < at+len(textStart)+largeBytes {
		return fmt.Errorf("only %d bytes: %.200s", len(a.body), a.body)
	}
	at += len(textStart)
	if crc32.ChecksumIEEE(a.body[at:at+largeBytes]) != w.plan.largeSum {
		return errors.New("the text is not the one that was sent")
	}
	return nil
}

// write calls a tool that writes a file of 100 KB, to a path of this worker unless somebody changes it on the way.
func (w *worker) write() error {
	w.nextID++
	w.request = fmt.Appendf(w.request[:0], `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file",`+
		`"arguments":{"path":%q}}}`, w.nextID, fmt.Sprintf("%s/%d-%d.txt", w.plan.folder, w.number, w.nextID))
	a, err := w.post(w.request)
	return w.check(a, err)
}

// session does what a client does when it connects.
func (w *worker) session() error {
	if err := w.open(); err != nil {
		return err
	}
	return w.list()
}

var (
	resultMember = []byte(`"result"`)
	toolFailed   = []byte(`"isError":true`)
)

// check accepts an answer only when it is the good result of the request just sent. An answer that a
// worker has not seen the like of is also parsed, so that malformed JSON cannot pass.
func (w *worker) check(a answer, err error) error {
	if err != nil {
		return err
	}
	if a.status != 200 {
		return fmt.Errorf("status %d: %.200s", a.status, a.body)
	}
	if !bytes.Contains(a.body, resultMember) || bytes.Contains(a.body, toolFailed) {
		return fmt.Errorf("not a result: %.200s", a.body)
	}
	if w.nextID <= parsedAnswers {
		return w.parse(a)
	}
	return nil
}

// parsedAnswers is how many answers of each worker are parsed in full: all kinds come up among them.
const parsedAnswers = 20

func (w *worker) parse(a answer) error {
	body := a.body
	if a.fields.events {
		_, data, found := bytes.Cut(body, []byte("data:"))
		if !found {
			return fmt.Errorf("an event stream without data: %.200s", body)
		}
		body, _, _ = bytes.Cut(data, []byte("\n"))
	}
	var message struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return fmt.Errorf("%w: %.200s", err, body)
	}
	if message.ID != w.nextID || len(message.Result) == 0 {
		return fmt.Errorf("not the answer to request %d: %.200s", w.nextID, body)
	}
	return nil
}
