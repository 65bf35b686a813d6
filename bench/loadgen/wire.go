package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// What both ends share of HTTP/1.1: reading header fields and message bodies off a buffered socket.

// fields are the header fields that either end looks at.
type fields struct {
	length    int64 // -1: not given
	chunked   bool
	close     bool
	events    bool // Content-Type: text/event-stream
	sessionID string
}

var errHeader = errors.New("malformed header field")

// readFields reads header fields up to and including the blank line (RFC 9112, section 5).
func readFields(r *bufio.Reader) (fields, error) {
	f := fields{length: -1}
	for {
		raw, err := r.ReadSlice('\n')
		if err != nil {
			return f, err
		}
		raw = trimEnd(raw)
		if len(raw) == 0 {
			return f, nil
		}
		name, value, found := bytes.Cut(raw, colon)
		if !found {
			return f, errHeader
		}
		// The length of the name rules out almost everything before any comparison.
		switch len(name) {
		case len("Connection"):
			if isName(name, "connection") {
				f.close = isName(bytes.TrimSpace(value), "close")
			}
		case len("Content-Type"):
			if isName(name, "content-type") {
				f.events = bytes.HasPrefix(bytes.TrimSpace(value), eventStream)
			}
		case len("Content-Length"): // and Mcp-Session-Id
			if isName(name, "content-length") {
				if f.length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
					return f, errHeader
				}
			} else if isName(name, "mcp-session-id") {
				f.sessionID = string(bytes.TrimSpace(value))
			}
		case len("Transfer-Encoding"):
			if isName(name, "transfer-encoding") {
				f.chunked = isName(bytes.TrimSpace(value), "chunked")
			}
		}
	}
}

var (
	colon       = []byte{':'}
	eventStream = []byte("text/event-stream")
)

// isName compares without regard to case; lower must be in lower case.
func isName(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func trimEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

// chunks reads a chunked body as a plain stream (RFC 9112, section 7.1). It ends with io.EOF after the
// last chunk and its blank line; trailers are not expected.
type chunks struct {
	r    *bufio.Reader
	left int64
	done bool
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.done {
		return 0, io.EOF
	}
	if c.left == 0 {
		raw, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, noEOF(err)
		}
		size, _, _ := bytes.Cut(trimEnd(raw), []byte{';'})
		if c.left, err = strconv.ParseInt(string(size), 16, 64); err != nil {
			return 0, fmt.Errorf("malformed chunk size %q", size)
		}
		if c.left == 0 {
			c.done = true
			if _, err := c.r.Discard(2); err != nil {
				return 0, noEOF(err)
			}
			return 0, io.EOF
		}
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if c.left == 0 && err == nil {
		_, err = c.r.Discard(2)
	}
	return n, noEOF(err)
}

// noEOF turns the end of the socket inside a body into the error that it is.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readBody appends the whole body to buf.
func readBody(r *bufio.Reader, f fields, buf []byte) ([]byte, error) {
	switch {
	case f.chunked:
		body := chunks{r: r}
		for {
			if len(buf) == cap(buf) {
				buf = append(buf, 0)[:len(buf)]
			}
			n, err := body.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			if err == io.EOF {
				return buf, nil
			}
			if err != nil {
				return buf, err
			}
		}
	case f.length > 0:
		at := len(buf)
		if need := at + int(f.length); cap(buf) < need {
			buf = append(make([]byte, 0, need), buf...)
		}
		buf = buf[:at+int(f.length)]
		_, err := io.ReadFull(r, buf[at:])
		return buf, noEOF(err)
	}
	return buf, nil
}
