package postgres

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/lib/pq"
)

// Exposed says what somebody on the way to the database at url could do, because its sslmode does not have the server checked; ""
// for nothing, as on this machine, and for an address that cannot be read. It connects to nothing and repeats no password.
func Exposed(url string) string {
	if url == "" {
		return ""
	}
	cfg, err := pq.NewConfig(url)
	if err != nil {
		return ""
	}
	hosts := []string{cfg.Host}
	for _, one := range cfg.Multi {
		hosts = append(hosts, one.Host)
	}
	for _, host := range hosts {
		if IsHere(host) {
			continue
		}
		mode := cfg.SSLMode
		if mode == pq.SSLModeRequire && cfg.SSLRootCert != "" {
			mode = pq.SSLModeVerifyCA // as libpq has it too
		}
		switch mode {
		case pq.SSLModeVerifyFull:
		case pq.SSLModeVerifyCA:
			return fmt.Sprintf("%s: its sslmode takes the certificate of any server that the same authority has signed; "+
				"sslmode=verify-full "+
				"checks the name as well", host)
		case pq.SSLModeRequire, "": // the driver's default
			return fmt.Sprintf("%s: sslmode=require encrypts and checks no certificate, so that somebody on the way can pose as "+
				"the database; "+
				"set sslmode=verify-full, and sslrootcert to your authority's certificate", host)
		default:
			return fmt.Sprintf("%s: sslmode=%s lets the password and all data travel in plain text; set sslmode=verify-full, and "+
				"sslrootcert to "+
				"your authority's certificate", host, cfg.SSLMode)
		}
	}
	return ""
}

// IsHere reports whether a host is this machine: a socket's directory, or loopback.
func IsHere(host string) bool {
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return address.IsLoopback()
	}
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@")
}
