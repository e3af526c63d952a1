// Package kubetest starts a Kubernetes for a test, on loopback and below one directory: the real etcd, API server, controllers and
// scheduler in one program, `make bin/tools/kube`, and pretended nodes whose pods are processes of this machine. What the cluster
// lacks is a network of its own: services are looked up and forwarded by the test, and network policies bind nobody. It needs
// root, and holds no test.
package kubetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	poll = 100 * time.Millisecond
	// token is the administrator's, of a cluster that lives as long as its test.
	token = "administrator-of-a-test"
)

// Cluster is a running Kubernetes.
type Cluster struct {
	serverstest.Daemons
	kube     string // the program of the control plane
	helm     string
	program  string // what every image runs
	readable []string
	server   string // the API server's address
	client   *http.Client
	ctx      context.Context // ends with the test, before the control plane does
	nodes    sync.WaitGroup
	pods     atomic.Int64 // that have ever run
}

// Start starts a cluster of so many nodes. kube is the control plane's program, and program is what the containers of every image
// run, with their arguments. readable are folders that they can read whoever they are: what an image would hold. The test's end
// stops the cluster.
func Start(t testing.TB, kube, program string, nodes int, readable ...string) *Cluster {
	t.Helper()
	if _, err := os.Stat(kube); err != nil {
		serverstest.Check(t, &servers.MissingError{Program: "kube", Install: "make bin/tools/kube"})
	}
	helm := filepath.Join(os.Getenv("MOLFABRIC_HOME"), "kubernetes", "bin", "helm")
	if _, err := os.Stat(helm); err != nil {
		serverstest.Check(t, &servers.MissingError{Program: "helm", Install: "deploy/setup.sh --tests"})
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: the nodes of a test start pods as other users, for which they must be root")
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Cluster{Daemons: serverstest.Daemons{T: t, Dir: serverstest.Dir(t)}, ctx: ctx, kube: kube,
		helm: helm, program: program, readable: readable}
	t.Cleanup(func() {
		cancel()
		c.nodes.Wait()
		c.Stop()
	})
	c.startControl()
	for i := range nodes {
		c.startNode(fmt.Sprintf("n%d", i+1))
	}
	return c
}

// startControl starts the control plane and waits until it answers.
func (c *Cluster) startControl() {
	c.T.Helper()
	ports := serverstest.FreePorts(c.T, 5)
	etcd, peers := loopback(ports[0]), loopback(ports[1])
	c.Daemons.Start("etcd", c.kube, "etcd", "--data-dir", filepath.Join(c.Dir, "etcd"), "--listen-client-urls", etcd,
		"--advertise-client-urls", etcd, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "default="+peers, "--unsafe-no-fsync")

	key := c.accountKey()
	c.write("tokens.csv", token+`,admin,admin,"system:masters"`+"\n")
	certificates := filepath.Join(c.Dir, "certificates")
	c.Daemons.Start("apiserver", c.kube, "apiserver", "--etcd-servers", etcd, "--bind-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--secure-port", strconv.Itoa(ports[2]), "--cert-dir", certificates,
		"--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", key,
		"--service-account-signing-key-file", key, "--service-cluster-ip-range=10.96.0.0/16",
		"--token-auth-file", filepath.Join(c.Dir, "tokens.csv"))
	c.server = "https://127.0.0.1:" + strconv.Itoa(ports[2])
	authority := filepath.Join(certificates, "apiserver.crt")
	c.Eventually("the API server answers", func() bool {
		text, err := os.ReadFile(authority)
		if err != nil {
			return false
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(text)
		c.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
			MinVersion: tls.VersionTLS12}}}
		return c.Do(http.MethodGet, "/readyz", nil, nil) == nil
	})
	c.T.Cleanup(c.client.CloseIdleConnections)

	c.write("config", fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": [{"name": "test", "cluster": {"server": %q, "certificate-authority": %q}}],
		"users": [{"name": "admin", "user": {"token": %q}}],
		"contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}]}`, c.server, authority, token))
	for i, name := range []string{"controllers", "scheduler"} {
		arguments := []string{"--kubeconfig", c.config(), "--authentication-kubeconfig", c.config(), "--authorization-kubeconfig",
			c.config(), "--bind-address=127.0.0.1", "--secure-port", strconv.Itoa(ports[3+i]), "--leader-elect=false"}
		if name == "controllers" {
			arguments = append(arguments, "--service-account-private-key-file", key)
		}
		c.Daemons.Start(name, c.kube, append([]string{name}, arguments...)...)
	}
}

func loopback(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// config is the kubeconfig of the administrator.
func (c *Cluster) config() string { return filepath.Join(c.Dir, "config") }

// accountKey makes the key that the cluster signs its service accounts' tokens with.
func (c *Cluster) accountKey() (path string) {
	c.T.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		c.T.Fatal(err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	c.write("accounts.key", string(pem.EncodeToMemory(block)))
	return filepath.Join(c.Dir, "accounts.key")
}

func (c *Cluster) write(name, text string) {
	c.T.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
		c.T.Fatal(err)
	}
}

// StatusError is an answer of the API server that refuses something.
type StatusError struct {
	Code int
	Text string
}

func (e *StatusError) Error() string { return fmt.Sprintf("%d: %.600s", e.Code, e.Text) }

// The forms in which an object is sent: whole, or what is to change of it.
const (
	whole = "application/json"
	merge = "application/merge-patch+json"
)

// Do asks the API server, and decodes its answer unless into is nil. Errors: *StatusError.
func (c *Cluster) Do(method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	form := whole
	if method == http.MethodPatch {
		form = merge
	}
	return c.send(method, path, form, text, into)
}

// Apply makes an object of a YAML text.
func (c *Cluster) Apply(path string, text []byte) error {
	return c.send(http.MethodPost, path, "application/yaml", text, nil)
}

func (c *Cluster) send(method, path, form string, text []byte, into any) error {
	request, err := http.NewRequestWithContext(context.Background(), method, c.server+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", form)
	request.Header.Set("Accept", "application/json")
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return &StatusError{answer.StatusCode, string(said)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(said, into)
}

// Helm runs Helm as the administrator, and returns what it prints on both ways.
func (c *Cluster) Helm(arguments ...string) (string, error) {
	cmd := exec.CommandContext(c.ctx, c.helm, append(arguments, "--kubeconfig", c.config())...)
	home := filepath.Join(c.Dir, "helm")
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// Pods are the names of the pods with a label that have not ended and are not being ended.
func (c *Cluster) Pods(namespace, label string) ([]string, error) {
	var all struct{ Items []pod }
	if err := c.Do(http.MethodGet, "/api/v1/namespaces/"+namespace+"/pods?labelSelector="+label, nil, &all); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range all.Items {
		if p.Metadata.DeletionTimestamp == nil && p.Status.Phase != "Succeeded" && p.Status.Phase != "Failed" {
			names = append(names, p.Metadata.Name)
		}
	}
	return names, nil
}

// Evict ends a pod as the draining of its node does. Errors: *StatusError, also when a disruption budget forbids it.
func (c *Cluster) Evict(namespace, name string) error {
	return c.Do(http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods/"+name+"/eviction", map[string]any{
		"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": name, "namespace": namespace}}, nil)
}

// Endpoints are the addresses of the pods behind a service's port that are ready, as host:port.
func (c *Cluster) Endpoints(namespace, service string) ([]string, error) {
	var slices struct {
		Items []struct {
			Ports     []struct{ Port int }
			Endpoints []struct {
				Addresses  []string
				Conditions struct{ Ready *bool }
			}
		}
	}
	path := "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices?labelSelector=kubernetes.io/service-name=" +
		service
	if err := c.Do(http.MethodGet, path, nil, &slices); err != nil {
		return nil, err
	}
	var ready []string
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if len(slice.Ports) == 1 && endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				ready = append(ready, net.JoinHostPort(here(endpoint.Addresses[0]), strconv.Itoa(slice.Ports[0].Port)))
			}
		}
	}
	return ready, nil
}

// Forward is a port of loopback that leads to the pods of a service, as the cluster's network would: a new connection goes to one
// that is ready.
func (c *Cluster) Forward(namespace, service string) (address string) {
	c.T.Helper()
	listener, err := (&net.ListenConfig{}).Listen(c.ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { _ = listener.Close() })
	go func() {
		for turn := 0; ; turn++ {
			from, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			go c.forward(from, namespace, service, turn)
		}
	}()
	return listener.Addr().String()
}

func (c *Cluster) forward(from net.Conn, namespace, service string, turn int) {
	defer func() { _ = from.Close() }()
	ready, err := c.Endpoints(namespace, service)
	if err != nil || len(ready) == 0 {
		return
	}
	to, err := (&net.Dialer{}).DialContext(c.ctx, "tcp4", ready[turn%len(ready)])
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	ended := make(chan struct{}, 2)
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		ended <- struct{}{}
	}
	go pass(to, from)
	go pass(from, to)
	<-ended
}

// refused tells whether the API server has refused something with a status.
func refused(err error, code int) bool {
	status := (*StatusError)(nil)
	return errors.As(err, &status) && status.Code == code
}
