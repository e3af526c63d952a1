package settings

import (
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"licences.example.org": true, "LIC-01": true, "3com.example.org": true, "a.1-b": true, "192.168.0.1": true, "::1": true,
		"fd00::1":               true,
		"xn--bcher-kva.example": true,
		"":                      false, "a b": false, "-a.example": false, "a-.example": false, "a..b": false, "a.example.": false,
		"127.1": false, "2130706433": false,
		"1.2.3.4.5": false, "fe80::1%eth0": false, "[::1]": false, "host:27000": false, "http://host": false, "user@host": false,
		"host/": false, "a_b.example": false, "ex\nample": false, strings.Repeat("a", 64) + ".example": false,
	} {
		if got := isHost(host); got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}
