package roles

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/internal/config"
)

// TestPublicEndpoint: users' URLs are signed for the address that was made known, as its Host header is written.
func TestPublicEndpoint(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		public, endpoint string
		want, refusal    string
	}{
		{"", "", "", ""},
		{"https://app.example.org", "", "https://app.example.org", ""},
		{"https://App.example.org:443/", "", "https://app.example.org", ""},
		{"http://app.example.org:80", "", "http://app.example.org", ""},
		{"http://app.example.org:443", "", "http://app.example.org:443", ""},
		{"http://192.0.2.7:8080", "", "http://192.0.2.7:8080", ""},
		{"http://[2001:db8::7]:8080", "", "http://[2001:db8::7]:8080", ""},
		{"https://app.example.org", "https://files.example.org", "https://files.example.org", ""},
		{"https://app.example.org/molfabric", "", "", "MOLFABRIC_PUBLIC_URL"},
		{"app.example.org", "", "", "MOLFABRIC_PUBLIC_URL"},
		{"", "ftp://files.example.org", "", "S3_PUBLIC_ENDPOINT"},
	} {
		got, err := publicEndpoint(config.Config{PublicURL: one.public, S3: config.S3{PublicEndpoint: one.endpoint}})
		if one.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), one.refusal) {
				t.Errorf("%+v: got %v, want an error with %s", one, err, one.refusal)
			}
			continue
		}
		if err != nil || got != one.want {
			t.Errorf("%+v: got %q, %v", one, got, err)
		}
	}
	own := config.S3{Endpoint: "http://127.0.0.1:20000", Bucket: "molfabric"}
	if got := passedOn(own); got != (api.FileStore{}) {
		t.Errorf("URLs that lead to the store itself are passed on: %+v", got)
	}
	own.PublicEndpoint = "https://app.example.org"
	if got, want := passedOn(own), (api.FileStore{Endpoint: own.Endpoint, Bucket: "molfabric",
		Host: "app.example.org"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTheAPIStandsInForAStoreAtItsOwnAddress, and for no other.
func TestTheAPIStandsInForAStoreAtItsOwnAddress(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		service, files, want string
	}{
		{"https://app.example.org", "https://app.example.org", "app.example.org"},
		{"https://app.example.org", "https://App.example.org:443/", "app.example.org"},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1:8080"},
		{"https://app.example.org", "https://files.example.org", ""},
		{"https://app.example.org/molfabric", "https://app.example.org", ""},
		{"https://app.example.org", "", ""},
		{"", "https://app.example.org", ""},
	} {
		got, err := passedOnAt(config.Config{PublicURL: one.service, S3: config.S3{Endpoint: "http://store:9000",
			PublicEndpoint: one.files, Bucket: "molfabric"}})
		want := api.FileStore{}
		if one.want != "" {
			want = api.FileStore{Endpoint: "http://store:9000", Bucket: "molfabric", Host: one.want}
		}
		if err != nil || got != want {
			t.Errorf("%+v: got %+v, %v", one, got, err)
		}
	}
	wrong := config.Config{PublicURL: "https://a.example.org", S3: config.S3{PublicEndpoint: "a.example.org"}}
	if _, err := passedOnAt(wrong); err == nil {
		t.Error("a store's address that is none was accepted")
	}
}
