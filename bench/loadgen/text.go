package main

import (
	"hash/crc32"
	"io"
)

// The long results are runs of this line: plain ASCII without anything that JSON escapes, so that the
// text has the same bytes in every correct serialisation.
const line = "The quick brown fox jumps over the lazy dog while 0123456789 wait. "

const largeBytes = 100_000

// block is a whole number of lines, written and checksummed at a time.
var block = func() []byte {
	b := make([]byte, 0, 1024*len(line))
	for range 1024 {
		b = append(b, line...)
	}
	return b
}()

// writeText writes the first n bytes of the endless text.
func writeText(w io.Writer, n int64) error {
	for n > 0 {
		part := block
		if n < int64(len(part)) {
			part = part[:n]
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		n -= int64(len(part))
	}
	return nil
}

// textSum is the checksum of the first n bytes of the endless text.
func textSum(n int64) uint32 {
	sum := crc32.NewIEEE()
	writeText(sum, n)
	return sum.Sum32()
}
