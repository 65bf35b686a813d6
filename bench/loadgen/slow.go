package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"
)

// idle opens a session on connections of its own, makes one call and leaves: what remains of it in the
// target is the price of an idle session.
func (w *worker) idle() error {
	defer w.close()
	if err := w.open(); err != nil {
		return err
	}
	if w.plan.listFirst {
		if err := w.list(); err != nil {
			return err
		}
	}
	return w.echo()
}

// huge asks for one very long result and reads it slowly, so that a target that buffers instead of
// waiting for its client must grow.
func (w *worker) huge() error {
	err := w.readHuge()
	w.close()
	return err
}

func (w *worker) readHuge() error {
	l, head := w.links[0], w.heads[0]
	w.nextID++
	w.request = fmt.Appendf(w.request[:0], `{"jsonrpc":"2.0","id":%d,"method":"tools/call",`+
		`"params":{"name":"huge_text","arguments":{"bytes":%d}}}`, w.nextID, w.plan.size)
	limit := exchangeLimit + time.Duration(w.plan.size/w.plan.rate)*time.Second
	if err := l.send(head, w.request, limit); err != nil {
		return err
	}
	// A small window on our side, so that the kernel does not hold what the target should hold back.
	if socket, ok := l.socket.(*net.TCPConn); ok {
		socket.SetReadBuffer(128 << 10)
	}
	a, err := l.readHead()
	if err != nil {
		return err
	}
	var body io.Reader = &chunks{r: l.in}
	if !a.fields.chunked {
		body = io.LimitReader(l.in, a.fields.length)
	}
	if a.status != 200 {
		start, _ := io.ReadAll(io.LimitReader(body, 200))
		return fmt.Errorf("status %d: %s", a.status, start)
	}
	return checkHuge(&throttled{r: body, rate: w.plan.rate, start: time.Now()}, w.plan.size)
}

// checkHuge reads a result to its end and compares the text.
func checkHuge(body io.Reader, size int64) error {
	start := make([]byte, 0, 1024)
	for {
		if at := bytes.Index(start, textStart); at >= 0 {
			start = start[at+len(textStart):]
			break
		}
		if len(start) == cap(start) {
			return fmt.Errorf("no text in %q", start)
		}
		n, err := body.Read(start[len(start):cap(start)])
		start = start[:len(start)+n]
		if err != nil {
			return fmt.Errorf("%w after %.200q", noEOF(err), start)
		}
	}
	all := io.MultiReader(bytes.NewReader(start), body)
	sum := crc32.NewIEEE()
	if n, err := io.Copy(sum, io.LimitReader(all, size)); err != nil || n < size {
		return fmt.Errorf("the text ended after %d of %d bytes (%v)", n, size, err)
	}
	if sum.Sum32() != textSum(size) {
		return fmt.Errorf("the text is not the one that was sent")
	}
	rest, err := io.ReadAll(io.LimitReader(all, 4096))
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(rest, []byte(`"}`)) || bytes.Contains(rest, toolFailed) {
		return fmt.Errorf("unexpected end of the result: %.200q", rest)
	}
	return nil
}

// throttled reads at most `rate` bytes a second, in small pieces.
type throttled struct {
	r     io.Reader
	rate  int64
	start time.Time
	total int64
}

func (t *throttled) Read(p []byte) (int, error) {
	due := t.start.Add(time.Duration(float64(t.total) / float64(t.rate) * float64(time.Second)))
	if wait := time.Until(due); wait > time.Millisecond {
		time.Sleep(wait)
	}
	n, err := t.r.Read(p[:min(len(p), 64<<10)])
	t.total += int64(n)
	return n, err
}
