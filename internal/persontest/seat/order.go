//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// order is a command to run in the terminal.
type order struct {
	program, dir string
	args, env    []string
}

// write writes the order: its length, and its strings separated by NUL, which none of them can contain.
func (o *order) write(w io.Writer) error {
	all := append([]string{o.program, o.dir, strconv.Itoa(len(o.args))}, o.args...)
	text := strings.Join(append(all, o.env...), "\x00")
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func readOrder(r io.Reader) (*order, error) {
	length := make([]byte, 4)
	if _, err := io.ReadFull(r, length); err != nil {
		return nil, err
	}
	text := make([]byte, binary.BigEndian.Uint32(length))
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	all := strings.Split(string(text), "\x00")
	if len(all) < 3 {
		return nil, errors.New("a short order")
	}
	n, err := strconv.Atoi(all[2])
	if err != nil || n > len(all)-3 {
		return nil, errors.New("an order without its arguments")
	}
	return &order{program: all[0], dir: all[1], args: all[3 : 3+n], env: all[3+n:]}, nil
}
