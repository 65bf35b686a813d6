package main

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// exchangeLimit bounds one exchange, so that a stuck target ends a run instead of hanging it.
const exchangeLimit = 30 * time.Second

// endpoint is where an MCP server is mounted.
type endpoint struct {
	address string // host:port
	path    string
}

func parseEndpoint(text string) (endpoint, error) {
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, err
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || ip == nil || !ip.IsLoopback() {
		return endpoint{}, fmt.Errorf("%s: only http on a loopback address is allowed", text)
	}
	return endpoint{address: u.Host, path: u.EscapedPath()}, nil
}

// requestHead is everything of a POST up to the value of Content-Length, which comes last.
func (e endpoint) requestHead(sessionID string) []byte {
	head := "POST " + e.path + " HTTP/1.1\r\nHost: " + e.address +
		"\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if sessionID != "" {
		head += "Mcp-Session-Id: " + sessionID + "\r\nMCP-Protocol-Version: " + protocolVersion + "\r\n"
	}
	return []byte(head + "Content-Length: ")
}

// link is one keep-alive connection with at most one exchange at a time. It never re-sends: a request
// that the target drops is an error of the target.
type link struct {
	endpoint endpoint
	socket   net.Conn
	in       *bufio.Reader
	out      []byte
	body     []byte // of the last answer; overwritten by the next exchange
}

type answer struct {
	status int
	fields fields
	body   []byte
}

func (l *link) close() {
	if l.socket != nil {
		l.socket.Close()
		l.socket = nil
	}
}

// send dials if need be and writes one request; readHead must follow.
func (l *link) send(head, body []byte, limit time.Duration) error {
	if l.socket == nil {
		socket, err := net.DialTimeout("tcp", l.endpoint.address, 5*time.Second)
		if err != nil {
			return err
		}
		l.socket = socket
		if l.in == nil {
			l.in = bufio.NewReaderSize(socket, 32<<10)
		} else {
			l.in.Reset(socket)
		}
	}
	l.socket.SetDeadline(time.Now().Add(limit))
	l.out = append(l.out[:0], head...)
	l.out = strconv.AppendInt(l.out, int64(len(body)), 10)
	l.out = append(l.out, "\r\n\r\n"...)
	l.out = append(l.out, body...)
	_, err := l.socket.Write(l.out)
	return err
}

func (l *link) readHead() (answer, error) {
	raw, err := l.in.ReadSlice('\n')
	if err != nil {
		return answer{}, fmt.Errorf("no answer: %w", noEOF(err))
	}
	if len(raw) < len("HTTP/1.1 200") {
		return answer{}, fmt.Errorf("malformed status line %q", raw)
	}
	a := answer{}
	if a.status, err = strconv.Atoi(string(raw[9:12])); err != nil {
		return a, fmt.Errorf("malformed status line %q", raw)
	}
	a.fields, err = readFields(l.in)
	return a, noEOF(err)
}

// exchange sends one request and reads the whole answer. After an error the connection is closed.
func (l *link) exchange(head, body []byte) (answer, error) {
	a, err := l.tryExchange(head, body)
	if err != nil || a.fields.close {
		l.close()
	}
	return a, err
}

func (l *link) tryExchange(head, body []byte) (answer, error) {
	if err := l.send(head, body, exchangeLimit); err != nil {
		return answer{}, err
	}
	a, err := l.readHead()
	if err != nil {
		return a, err
	}
	if !a.fields.chunked && a.fields.length < 0 && a.status != 204 {
		return a, fmt.Errorf("status %d: neither Content-Length nor chunked", a.status)
	}
	l.body, err = readBody(l.in, a.fields, l.body[:0])
	a.body = l.body
	return a, err
}
