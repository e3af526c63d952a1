package queue_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
)

// tlsFront speaks TLS before a server that does not, with a certificate of its own, and returns its address.
func tlsFront(t *testing.T, behind string) string {
	t.Helper()
	unstarted := httptest.NewUnstartedServer(nil) // for its certificate
	unstarted.StartTLS()
	certificates := unstarted.TLS.Certificates
	unstarted.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { pass(client, behind) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// pass copies between a client and a server until one of them ends.
func pass(client net.Conn, behind string) {
	defer client.Close()
	server, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer server.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	_, _ = io.Copy(server, client)
	_ = server.Close()
	back.Wait()
}
