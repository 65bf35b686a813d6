package main

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// upstream is a Streamable HTTP MCP server that does as little as the protocol allows.
type upstream struct {
	catalogues map[string][]byte // mount → result of tools/list, with the brace that ends the message
	large      []byte            // result of big_text, likewise
	sessions   sync.Map          // id → struct{}
}

const (
	mountMain    = "/mcp"
	mountFull    = "/mcp200"
	mountEvents  = "/mcp-sse"
	mountHuge    = "/mcp-huge"
	jsonType     = "application/json"
	eventType    = "text/event-stream"
	maxHugeBytes = 1 << 31
)

func newUpstream() *upstream {
	small, full := append(listResult(smallCatalogue()), '}'), append(listResult(fullCatalogue()), '}')
	var sample strings.Builder
	writeText(&sample, largeBytes)
	return &upstream{
		catalogues: map[string][]byte{mountMain: small, mountEvents: small, mountHuge: small, mountFull: full},
		large:      []byte(`{"content":[{"type":"text","text":"` + sample.String() + `"}],"isError":false}}`),
	}
}

func (u *upstream) listen() (net.Listener, error) {
	debug.SetGCPercent(400) // it allocates little and shares its core: collect seldom
	return net.Listen("tcp", "127.0.0.1:0")
}

func (u *upstream) serve(listener net.Listener) error {
	for {
		socket, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer socket.Close()
			u.serveSocket(socket)
		}()
	}
}

// serveSocket answers the requests of one connection in turn until the client leaves or misbehaves.
func (u *upstream) serveSocket(socket net.Conn) {
	in := bufio.NewReaderSize(socket, 16<<10)
	var body, out []byte
	for {
		raw, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		method, rest, _ := strings.Cut(string(trimEnd(raw)), " ")
		path, _, found := strings.Cut(rest, " ")
		if !found {
			return
		}
		f, err := readFields(in)
		if err != nil {
			return
		}
		if body, err = readBody(in, f, body[:0]); err != nil {
			return
		}
		a := u.answer(method, path, f.sessionID, body)
		out = a.append(out[:0])
		if _, err := socket.Write(out); err != nil {
			return
		}
		if a.stream != nil && a.stream(socket) != nil {
			return
		}
		if a.hold { // an event stream on which nothing ever happens
			io.Copy(io.Discard, in)
			return
		}
		if f.close {
			return
		}
	}
}

// reply is an HTTP response. With stream or hold the body is chunked and follows the head.
type reply struct {
	status      string
	contentType string
	sessionID   string
	body        []byte
	tail        []byte // follows body; saves copying long results
	stream      func(w io.Writer) error
	hold        bool
}

func (r reply) append(out []byte) []byte {
	out = append(append(out, "HTTP/1.1 "...), r.status...)
	if r.contentType != "" {
		out = append(append(out, "\r\nContent-Type: "...), r.contentType...)
	}
	if r.sessionID != "" {
		out = append(append(out, "\r\nMcp-Session-Id: "...), r.sessionID...)
	}
	if r.stream != nil || r.hold {
		return append(out, "\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"...)
	}
	length := len(r.body) + len(r.tail)
	if r.contentType == eventType {
		const before, after = "event: message\ndata: ", "\n\n"
		out = append(out, "\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"...)
		out = append(strconv.AppendInt(out, int64(len(before)+length+len(after)), 16), "\r\n"+before...)
		out = append(append(out, r.body...), r.tail...)
		return append(out, after+"\r\n0\r\n\r\n"...)
	}
	out = strconv.AppendInt(append(out, "\r\nContent-Length: "...), int64(length), 10)
	out = append(out, "\r\n\r\n"...)
	return append(append(out, r.body...), r.tail...)
}

// request is as much of a JSON-RPC message as the tools need.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Name            string `json:"name"`
		Arguments       struct {
			Message string `json:"message"`
			Path    string `json:"path"`
			Bytes   int64  `json:"bytes"`
		} `json:"arguments"`
	} `json:"params"`
}

func (u *upstream) answer(method, path, sessionID string, body []byte) reply {
	if path == "/healthz" {
		return reply{status: "200 OK", contentType: jsonType, body: []byte(`{"status":"ok"}`)}
	}
	if u.catalogues[path] == nil {
		return reply{status: "404 Not Found"}
	}
	_, open := u.sessions.Load(sessionID)
	switch {
	case method == "GET" && open:
		return reply{status: "200 OK", contentType: eventType, sessionID: sessionID, hold: true}
	case method == "DELETE" && open:
		u.sessions.Delete(sessionID)
		return reply{status: "200 OK"}
	case method == "GET" || method == "DELETE":
		return noSession(sessionID)
	case method != "POST":
		return reply{status: "405 Method Not Allowed"}
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return reply{status: "400 Bad Request"}
	}
	if r.Method == "initialize" {
		id := make([]byte, 16)
		rand.Read(id)
		sessionID = hex.EncodeToString(id)
		u.sessions.Store(sessionID, struct{}{})
	} else if !open {
		return noSession(sessionID)
	}
	if len(r.ID) == 0 || r.Method == "" { // a notification, or an answer to a request that we never make
		return reply{status: "202 Accepted", sessionID: sessionID}
	}
	if r.Method == "tools/call" && r.Params.Name == "huge_text" && path == mountHuge {
		return u.huge(r, sessionID)
	}
	a := reply{status: "200 OK", contentType: jsonType, sessionID: sessionID}
	if path == mountEvents {
		a.contentType = eventType
	}
	a.body = append(append(make([]byte, 0, 256), `{"jsonrpc":"2.0","id":`...), r.ID...)
	result, err := u.result(r, path)
	if err != nil {
		a.body = fmt.Appendf(a.body, `,"error":{"code":-32602,"message":%q}}`, err)
		return a
	}
	a.body, a.tail = append(a.body, `,"result":`...), result
	return a
}

// noSession is what the protocol asks for: 400 without a session id, 404 with one that is not known.
func noSession(id string) reply {
	const body = `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`
	if id == "" {
		return reply{status: "400 Bad Request", contentType: jsonType, body: []byte(body)}
	}
	return reply{status: "404 Not Found", contentType: jsonType, body: []byte(body)}
}

// result is the value of `result` and the brace that ends the message, so that long ones are never copied.
func (u *upstream) result(r request, path string) ([]byte, error) {
	switch r.Method {
	case "initialize":
		version := r.Params.ProtocolVersion
		if version != "2024-11-05" && version != "2025-03-26" && version != "2025-11-25" {
			version = protocolVersion
		}
		return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"bench-upstream","version":"1.0.0"}}}`, version), nil
	case "tools/list":
		return u.catalogues[path], nil
	case "ping":
		return []byte(`{}}`), nil
	case "tools/call":
		switch r.Params.Name {
		case "echo":
			return textResult(r.Params.Arguments.Message)
		case "big_text":
			return u.large, nil
		case "write_file":
			if path := r.Params.Arguments.Path; filepath.IsAbs(path) {
				if err := os.WriteFile(path, u.large[:largeBytes], 0o660); err != nil {
					return nil, err
				}
			}
			return textResult(r.Params.Arguments.Path)
		case "read_file":
			return textResult(r.Params.Arguments.Path)
		}
		return nil, errors.New("unknown tool")
	}
	return nil, errors.New("unknown method")
}

func textResult(text string) ([]byte, error) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 64+len(quoted)), `{"content":[{"type":"text","text":`...)
	return append(append(b, quoted...), `}],"isError":false}}`...), nil
}

// huge streams a JSON answer whose text is as long as asked for, chunk by chunk as the socket takes it.
func (u *upstream) huge(r request, sessionID string) reply {
	length := min(r.Params.Arguments.Bytes, maxHugeBytes)
	return reply{status: "200 OK", contentType: jsonType, sessionID: sessionID, stream: func(w io.Writer) error {
		out := chunkWriter{w}
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID); err != nil {
			return err
		}
		if err := writeText(out, length); err != nil {
			return err
		}
		if _, err := io.WriteString(out, `"}],"isError":false}}`); err != nil {
			return err
		}
		_, err := io.WriteString(w, "0\r\n\r\n")
		return err
	}}
}

// chunkWriter writes everything it is given as one chunk.
type chunkWriter struct{ w io.Writer }

func (c chunkWriter) Write(p []byte) (int, error) {
	framed := append(strconv.AppendInt(make([]byte, 0, len(p)+12), int64(len(p)), 16), "\r\n"...)
	framed = append(append(framed, p...), "\r\n"...)
	if _, err := c.w.Write(framed); err != nil {
		return 0, err
	}
	return len(p), nil
}
