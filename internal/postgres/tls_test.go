package postgres_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// TestVerifiedServer: with sslmode=verify-full a server is taken whose certificate the authority has signed for its name, and no
// other: none without TLS, none of another name, none of another authority.
func TestVerifiedServer(t *testing.T) {
	t.Parallel()
	dir := serverstest.Dir(t)
	certificate(t, dir, "server")
	certificate(t, dir, "stranger")
	running := func(name string, settings ...string) *servers.Postgres {
		started, err := servers.StartPostgres(t.Context(), servers.PostgresOptions{Dir: filepath.Join(dir, name),
			Settings: settings, Log: slog.New(slog.DiscardHandler)})
		serverstest.Check(t, err)
		t.Cleanup(func() { _ = started.Stop(context.Background()) })
		return started
	}
	secure := running("secure", "ssl=on", "ssl_cert_file="+filepath.Join(dir, "server.crt"),
		"ssl_key_file="+filepath.Join(dir, "server.key"))
	plain := running("plain")
	for _, one := range []struct {
		name, address, host, mode, root string
		taken                           bool
	}{
		{"verified", secure.ServedURL(), "localhost", "verify-full", "server", true},
		{"another name", secure.ServedURL(), "127.0.0.1", "verify-full", "server", false},
		{"another name, which verify-ca does not see", secure.ServedURL(), "127.0.0.1", "verify-ca", "server", true},
		{"another authority", secure.ServedURL(), "localhost", "verify-full", "stranger", false},
		{"no TLS", plain.ServedURL(), "localhost", "verify-full", "server", false},
	} {
		address, err := url.Parse(one.address)
		if err != nil {
			t.Fatal(err)
		}
		address.Host = one.host + ":" + address.Port()
		address.RawQuery = url.Values{"sslmode": {one.mode}, "sslrootcert": {filepath.Join(dir, one.root+".crt")}}.Encode()
		db, err := postgres.OpenServed(t.Context(), address.String())
		if (err == nil) != one.taken {
			t.Errorf("%s: %v", one.name, err)
		}
		if password, _ := address.User.Password(); err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: the error repeats the password", one.name)
		}
		if err == nil {
			_ = db.Close()
		}
	}
}

// certificate writes a self-signed certificate for localhost with its key, for the server's user to read.
func certificate(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: signed},
		name + ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		path = filepath.Join(dir, path)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		giveToServer(t, path)
	}
}

// giveToServer lets the server's user own a file where that is another one.
func giveToServer(t *testing.T, path string) {
	t.Helper()
	found, err := user.Lookup("postgres")
	if os.Geteuid() != 0 || err != nil {
		return
	}
	uid, _ := strconv.Atoi(found.Uid)
	gid, _ := strconv.Atoi(found.Gid)
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// TestExposed: only a database elsewhere whose certificate is not checked is told of.
func TestExposed(t *testing.T) {
	for _, name := range []string{"PGSSLMODE", "PGHOST", "PGSSLROOTCERT"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]string{
		"": "", "postgres://u:hunter2@127.0.0.1/db?sslmode=disable": "", "postgres://u:hunter2@localhost:5432/db": "",
		"postgres://u:hunter2@[::1]/db":                                    "",
		"host=/var/run/postgresql user=u":                                  "",
		"postgres://u:hunter2@db.example.org/db?sslmode=verify-full":       "",
		"postgres://u:hunter2@db.example.org/db?sslmode=verify-ca":         "the same authority",
		"postgres://u:hunter2@db.example.org/db?sslmode=require":           "can pose as the database",
		"postgres://u:hunter2@db.example.org/db?sslmode=disable":           "plain text",
		"postgres://u:hunter2@db.example.org/db?sslmode=prefer":            "plain text",
		"postgres://u:hunter2@db.example.org/db":                           "db.example.org: sslmode=",
		"postgres://u:hunter2@localhost,db.example.org/db?sslmode=disable": "db.example.org: sslmode=disable",
		"postgres://u:hunter2@192.0.2.7/db?sslmode=disable":                "192.0.2.7: sslmode=disable",
		"host=db.example.org user=u password=hunter2 sslmode=disable":      "plain text",
	} {
		got := postgres.Exposed(address)
		if (got == "") != (want == "") || !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
