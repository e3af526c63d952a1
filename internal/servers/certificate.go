package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"
)

// certificateFile and keyFile lie in the directory of a server that speaks TLS.
const certificateFile, keyFile = "server.crt", "server.key"

// certificateLife is longer than any server runs: it gets a new certificate at each start.
const certificateLife = 10 * 365 * 24 * time.Hour

// makeCertificate writes a key and a certificate of 127.0.0.1 that it has signed itself, and returns the certificate's file.
// Whoever believes that file alone speaks with this server and with nobody else.
func (h *home) makeCertificate() (path string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make the server's key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "molfabric"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), // a clock may be set back
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", fmt.Errorf("make the server's certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("write down the server's key: %w", err)
	}
	path = filepath.Join(h.path, certificateFile)
	write := func(path, kind string, body []byte) error {
		return h.writeFile(path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: body})))
	}
	return path, errors.Join(write(filepath.Join(h.path, keyFile), "PRIVATE KEY", private), write(path, "CERTIFICATE", certificate))
}
