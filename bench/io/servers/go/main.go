// Go in the server rows: a goroutine per connection, GOMAXPROCS=1. See ../servers/server.hpp.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"runtime"
)

const hello = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"

func serve(client net.Conn, mode string) {
	defer client.Close()
	size := 128
	if mode == "tcp-large" {
		size = 16384
	} else if mode == "http" {
		size = 2048
	}
	room := make([]byte, size)
	for {
		n, err := client.Read(room)
		if err != nil {
			return
		}
		if mode != "http" {
			if _, err := client.Write(room[:n]); err != nil {
				return
			}
			continue
		}
		for left := bytes.Count(room[:n], []byte("\r\n\r\n")); left > 0; left-- {
			if _, err := client.Write([]byte(hello)); err != nil {
				return
			}
		}
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	mode := "tcp"
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	var listener net.Listener
	var err error
	if mode == "unix" {
		name := fmt.Sprintf("@tiffany-bench-go-%d", os.Getpid())
		listener, err = net.Listen("unix", name)
		fmt.Println(name)
	} else {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
		fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(client, mode)
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
