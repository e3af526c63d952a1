package roles

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/molfabric/molfabric/internal/config"
)

const (
	// askPatience bounds a question to a process of this machine: /readyz gives its own parts 2 s.
	askPatience = 5 * time.Second
	// maxReason is what is shown of an answer that is a no.
	maxReason = 1 << 10
)

// Ready asks a process whether it can serve, for whoever looks after it from within its container, where no other program is. An
// empty address means /readyz of the API that this configuration describes. An error says why not.
func Ready(ctx context.Context, cfg config.Config, address string) error {
	if address == "" {
		var err error
		if address, err = ownReadyz(cfg.Listen); err != nil {
			return err
		}
	}
	asked, err := url.Parse(address)
	if err != nil || asked.Scheme != "http" && asked.Scheme != "https" || asked.Host == "" {
		return fmt.Errorf("address %q: give the address of a health check, such as http://127.0.0.1:9090/healthz", address)
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("nothing answers: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	reason, err := io.ReadAll(io.LimitReader(response.Body, maxReason))
	if err != nil {
		return fmt.Errorf("%s answers %s: %w", address, response.Status, err)
	}
	return fmt.Errorf("%s answers %s: %s", address, response.Status, bytes.TrimSpace(reason))
}

// ownReadyz is how a process reaches an API of its own machine that listens at an address, on all networks or on one.
func ownReadyz(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("MOLFABRIC_LISTEN (listen): %q; want the form 127.0.0.1:8080", listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/readyz", nil
}
