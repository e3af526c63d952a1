package roles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/object/gateway"
	"github.com/molfabric/molfabric/internal/servers"
)

// The object store of `molfabric up` has two addresses. Its own, on loopback, is what the deployment's processes use. Users' URLs
// are signed for S3_PUBLIC_ENDPOINT, else for MOLFABRIC_PUBLIC_URL, where the API passes them on; else for the store's own address.

// startObjects starts the object store and returns how it is reached.
func startObjects(ctx context.Context, cfg config.Config, log *slog.Logger) (config.S3, *gateway.Gateway, error) {
	public, err := publicEndpoint(cfg)
	if err != nil {
		return config.S3{}, nil, err
	}
	g, err := gateway.Start(ctx, gateway.Options{Dir: filepath.Join(cfg.Home, "objects"), Port: cfg.StorePort, Log: log})
	if taken := (*servers.PortTakenError)(nil); errors.As(err, &taken) {
		return config.S3{}, nil, fmt.Errorf("object store: %w: end that program, or set MOLFABRIC_STORE_PORT (storePort) to a "+
			"free port, "+
			"which ends the URLs that were signed for the old one", err)
	}
	if err != nil {
		return config.S3{}, nil, err
	}
	s := g.Config()
	return config.S3{Endpoint: s.Endpoint, PublicEndpoint: public, Region: s.Region, Bucket: s.Bucket, AccessKey: s.AccessKey,
		SecretKey: s.SecretKey}, g, nil
}

// publicEndpoint is the address that users' URLs are signed for; "" for the store's own. A default port is left out, as clients
// leave it out of the Host header that the signature covers.
func publicEndpoint(cfg config.Config) (string, error) {
	text, name := cfg.S3.PublicEndpoint, "S3_PUBLIC_ENDPOINT (s3: publicEndpoint)"
	if text == "" {
		text, name = cfg.PublicURL, "MOLFABRIC_PUBLIC_URL (publicUrl)"
	}
	if text == "" {
		return "", nil
	}
	address, err := url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Hostname() == "" || address.Path != "" ||
		address.RawQuery != "" {
		return "", fmt.Errorf("%s: %q; want the form https://app.example.org, without a path", name, text)
	}
	host := strings.ToLower(address.Host)
	if port := address.Port(); port == map[string]string{"https": "443", "http": "80"}[address.Scheme] {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return address.Scheme + "://" + host, nil
}

// passedOn is the store for whose users' URLs the API stands in; none where they lead to the store itself.
func passedOn(s config.S3) api.FileStore {
	if s.PublicEndpoint == "" {
		return api.FileStore{}
	}
	_, host, _ := strings.Cut(s.PublicEndpoint, "://")
	return api.FileStore{Endpoint: s.Endpoint, Bucket: s.Bucket, Host: host}
}

// passedOnAt is passedOn of a configured store: the API stands in for one whose users' address is the service's own, so that a
// store needs no way to the world of its own.
func passedOnAt(cfg config.Config) (api.FileStore, error) {
	if cfg.PublicURL == "" || cfg.S3.PublicEndpoint == "" {
		return api.FileStore{}, nil
	}
	files, err := publicEndpoint(cfg)
	if err != nil {
		return api.FileStore{}, err
	}
	service, err := publicEndpoint(config.Config{PublicURL: cfg.PublicURL})
	if err != nil || service != files {
		return api.FileStore{}, nil //nolint:nilerr // the service's address may be what no store's could be
	}
	return passedOn(config.S3{Endpoint: cfg.S3.Endpoint, PublicEndpoint: files, Bucket: cfg.S3.Bucket}), nil
}

// fileOrigin is where users' signed URLs lead to, as browsers name it; "" when that cannot be read, which opening the store
// refuses.
func fileOrigin(s config.S3) string {
	address, err := url.Parse(cmp.Or(s.PublicEndpoint, s.Endpoint))
	if err != nil || address.Scheme == "" || address.Host == "" {
		return ""
	}
	return address.Scheme + "://" + address.Host
}

// allowPages lets pages of the configured origins, and of the service's own, use the store's URLs from browsers.
func (c *control) allowPages(ctx context.Context, publicURL string) error {
	origins := append(slices.Clone(c.cfg.Origins), publicURL)
	slices.Sort(origins)
	if err := c.objects.AllowOrigins(ctx, slices.Compact(origins)); err != nil {
		return fmt.Errorf("object store: %w", err)
	}
	return nil
}

// noteReach says once what nobody would notice before the first upload from elsewhere fails.
func noteReach(cfg config.Config, ln net.Listener, log *slog.Logger) {
	address, ok := ln.Addr().(*net.TCPAddr)
	if ok && !address.IP.IsLoopback() && cfg.S3.PublicEndpoint == "" {
		log.Warn("other machines reach this service and not its files: signed URLs lead to "+cfg.S3.Endpoint,
			"set", "MOLFABRIC_PUBLIC_URL, e.g. http://<name of this machine>:"+fmt.Sprint(address.Port))
	}
}
