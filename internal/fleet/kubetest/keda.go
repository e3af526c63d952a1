package kubetest

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// scaledJob is what KEDA reads of one of its objects.
type scaledJob struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		JobTargetRef    json.RawMessage
		MaxReplicaCount int
		Triggers        []struct {
			Type     string
			Metadata map[string]string
		}
	}
}

// Job is what a test reads of a job.
type Job struct {
	Metadata struct{ Name string }
	Status   struct {
		Conditions []struct{ Type, Status string }
	}
}

// Ended tells how a job has ended: "Complete", "Failed", or "" while it has not.
func (j Job) Ended() string {
	for _, condition := range j.Status.Conditions {
		if condition.Status == "True" && slices.Contains([]string{"Complete", "Failed"}, condition.Type) {
			return condition.Type
		}
	}
	return ""
}

// scaledBy is the label of the jobs that a ScaledJob has made.
const scaledBy = "scaledjob.keda.sh/name"

// Jobs are the jobs that a ScaledJob has made and that are still listed.
func (c *Cluster) Jobs(namespace, scaled string) ([]Job, error) {
	var all struct{ Items []Job }
	err := c.Do(http.MethodGet, "/apis/batch/v1/namespaces/"+namespace+"/jobs?labelSelector="+scaledBy+"="+scaled, nil, &all)
	return all.Items, err
}

// PlayKEDA does once what KEDA's operator does at each poll, for triggers of the kind metrics-api and the strategy default: it asks
// how many jobs are wanted in all, and makes those that are missing. What does not answer changes nothing.
func (c *Cluster) PlayKEDA(namespace string) error {
	var all struct{ Items []scaledJob }
	if err := c.Do(http.MethodGet, "/apis/keda.sh/v1alpha1/namespaces/"+namespace+"/scaledjobs", nil, &all); err != nil {
		return err
	}
	for _, scaled := range all.Items {
		wanted, known := c.wanted(scaled)
		if !known {
			continue
		}
		jobs, err := c.Jobs(namespace, scaled.Metadata.Name)
		if err != nil {
			return err
		}
		unfinished := 0
		for _, j := range jobs {
			if j.Ended() == "" {
				unfinished++
			}
		}
		for range min(wanted, scaled.Spec.MaxReplicaCount) - unfinished {
			if err := c.Do(http.MethodPost, "/apis/batch/v1/namespaces/"+namespace+"/jobs", map[string]any{
				"apiVersion": "batch/v1", "kind": "Job", "spec": scaled.Spec.JobTargetRef,
				"metadata": map[string]any{"generateName": scaled.Metadata.Name + "-",
					"labels": map[string]string{scaledBy: scaled.Metadata.Name}}}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted asks a ScaledJob's trigger through the service that it names.
func (c *Cluster) wanted(scaled scaledJob) (n int, known bool) {
	trigger := scaled.Spec.Triggers[0].Metadata
	address, err := url.Parse(trigger["url"])
	if err != nil {
		return 0, false
	}
	ready, err := c.behind(address.Hostname())
	if err != nil {
		return 0, false
	}
	for _, endpoint := range ready { // those that do not know it answer 503
		address.Host = endpoint
		client := http.Client{Timeout: 5 * time.Second}
		answer, err := client.Get(address.String()) //nolint:noctx // has a timeout
		if err != nil {
			continue
		}
		var values map[string]any
		err = json.NewDecoder(answer.Body).Decode(&values)
		_ = answer.Body.Close()
		value, isNumber := values[trigger["valueLocation"]].(float64)
		if answer.StatusCode == http.StatusOK && err == nil && isNumber {
			return int(value), true
		}
	}
	return 0, false
}

// behind are the addresses of the ready pods of a service, by the name that the pods of the cluster know it by; none for other
// names.
func (c *Cluster) behind(host string) ([]string, error) {
	parts := strings.Split(host, ".") // service, namespace, svc
	if len(parts) != 3 || parts[2] != "svc" {
		return nil, nil
	}
	return c.Endpoints(parts[1], parts[0])
}

// StartKEDA starts KEDA's own operator from a folder that `.ci/kubernetes/keda operator` has filled, and returns it once it is
// ready. The cluster must know what a ScaledJob is.
func (c *Cluster) StartKEDA(dir string) *serverstest.Daemon {
	c.T.Helper()
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		c.T.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = c.Apply(definitions, text)
		}
		if err != nil && !refused(err, http.StatusConflict) {
			c.T.Fatal(err)
		}
	}
	// Its service for the metrics server of the cluster, which is not asked here, wants a certificate: the API server's will do.
	const certificates = "keda"
	if err := os.Mkdir(filepath.Join(c.Dir, certificates), 0o700); err != nil {
		c.T.Fatal(err)
	}
	for to, from := range map[string]string{"ca.crt": "apiserver.crt", "tls.crt": "apiserver.crt", "tls.key": "apiserver.key"} {
		text, err := os.ReadFile(filepath.Join(c.Dir, "certificates", from))
		if err != nil {
			c.T.Fatal(err)
		}
		c.write(filepath.Join(certificates, to), string(text))
	}
	ports := serverstest.FreePorts(c.T, 3)
	at := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	operator := c.Daemons.Start("keda", "env", "KUBECONFIG="+c.config(), "HTTP_PROXY=http://"+c.proxy(), "WATCH_NAMESPACE=",
		"KEDA_CLUSTER_OBJECT_NAMESPACE=default", filepath.Join(dir, "operator"), "--metrics-bind-address", at(0),
		"--health-probe-bind-address", at(1), "--metrics-service-bind-address", at(2), "--cert-dir",
		filepath.Join(c.Dir, certificates), "--zap-log-level=info")
	c.Eventually("KEDA's operator is ready", func() bool {
		answer, err := http.Get("http://" + at(1) + "/readyz") //nolint:noctx // a test ends it
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return operator
}

// proxy is the address of a proxy that leads each request to one of the ready pods of the service that it names, by turns.
func (c *Cluster) proxy() (address string) {
	c.T.Helper()
	var turn atomic.Uint64
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(r *httputil.ProxyRequest) {
			ready, err := c.behind(r.In.URL.Hostname())
			r.Out.URL.Host = "" // answered with 502
			if err == nil && len(ready) > 0 {
				r.Out.URL.Host = ready[turn.Add(1)%uint64(len(ready))]
			}
		}}}
	listener, err := (&net.ListenConfig{}).Listen(c.ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		c.T.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	c.T.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}
