package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/fleet/kubetest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// namespace is where the chart is installed, at the strictest level of Pod Security.
	namespace = "science"
	// scaledJob is the tests' only fleet, by the name that the chart gives it.
	scaledJob = "molfabric-probes"
	imageOf   = "registry.example.org/molfabric/%s@sha256:%s"
)

// kubernetes is a World whose processes are pods of a Kubernetes, installed with Helm.
type kubernetes struct {
	*World
	t       *testing.T
	cluster *kubetest.Cluster
	values  string
}

// TestKubernetes installs the chart into a real control plane and works there: a fleet goes from zero to as many workers as are
// wanted and back, a worker that is evicted at its work and a scheduler that is deleted cost no result and no penny, and an
// upgrade and a rollback interrupt nobody.
func TestKubernetes(t *testing.T) { //nolint:paralleltest // a whole cluster; what runs beside it would be too slow
	if os.Getenv("MOLFABRIC_TEST_KUBERNETES") != "1" {
		t.Skip("SKIPPED: it takes a control plane of Kubernetes; make test-kubernetes builds one")
	}
	k := openKubernetes(t)
	k.refusesWhatIsMisspelt()
	k.helm("install", "molfabric", chart, "--wait", "--timeout=3m")
	k.entrance = "http://" + k.cluster.Forward(namespace, "molfabric-api")
	k.awaitAPIs()
	account, err := k.Account(t.Context(), plentyPence)
	k.check(err)
	if pods := k.pods("worker-probes"); len(pods) > 0 {
		t.Errorf("without work the fleet has %d workers", len(pods))
	}
	stopKEDA := k.startKEDA()

	first, err := account.Submit(t.Context(), Probe{Tasks: 30, Seconds: 0.2, OutputBytes: 1000}, "")
	k.check(err)
	k.check(k.AwaitCompleted(t.Context(), first))
	k.fleetLeaves(0)

	// What runs is taken away: a worker by an eviction, as when its node is drained, and the scheduler that leads.
	second, err := account.Submit(t.Context(), Probe{Tasks: 6, Seconds: 9, OutputBytes: 1000}, "")
	k.check(err)
	k.check(k.cluster.Evict(namespace, k.busy()))
	k.delete(k.pods("scheduler")[0])
	k.check(k.AwaitCompleted(t.Context(), second))
	k.fleetLeaves(1)

	// An upgrade and the way back, while somebody asks all the time.
	failures := k.askWhile(func() {
		k.helm("upgrade", "molfabric", chart, "--wait", "--timeout=3m", "--set", "image="+fmt.Sprintf(imageOf, "control",
			strings.Repeat("b", 64)))
		third, err := account.Submit(t.Context(), Probe{Tasks: 4, Seconds: 0.2}, "")
		k.check(err)
		k.check(k.AwaitCompleted(t.Context(), third))
		said, err := k.cluster.Helm("rollback", "molfabric", "1", "--namespace", namespace, "--wait", "--timeout=3m")
		k.check(errors.Join(err, errorOf(err, said)))
	})
	if len(failures) > 0 {
		t.Errorf("%d requests failed during an upgrade and a rollback, the first with %v", len(failures), failures[0])
	}
	k.guardsTheLast()
	stopKEDA()
	k.check(k.Judge(t.Context()))
}

// chart is where the chart lies.
const chart = "../../../deploy/chart"

func openKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	o := options(t)
	w, err := OpenWorld(t.Context(), WorldOptions{Program: o.Program, Python: o.Python, Home: o.Home, Short: true,
		Patience: o.Patience, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	places, err := exec.CommandContext(t.Context(), o.Python, "-I", "-c", "import sys; print(sys.prefix, sys.base_prefix)").Output()
	if err != nil {
		t.Fatal(err)
	}
	k := &kubernetes{World: w, t: t, values: filepath.Join(o.Home, "values.yaml"),
		cluster: kubetest.Start(t, "../../../bin/tools/kube", o.Program, 2, strings.Fields(string(places))...)}
	definition, err := os.ReadFile("../../../bin/tools/keda-scaledjobs.yaml")
	k.check(err)
	k.check(k.cluster.Apply("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition))
	k.check(k.cluster.Do(http.MethodPost, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": namespace,
		"labels": map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}, nil))
	k.writeValues()
	k.cluster.Eventually("the cluster knows KEDA's objects, and gives the namespace its account", func() bool {
		return k.cluster.Do(http.MethodGet, "/apis/keda.sh/v1alpha1/scaledjobs", nil, nil) == nil &&
			k.cluster.Do(http.MethodGet, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", nil, nil) == nil
	})
	return k
}

// writeValues writes the chart's values, and makes the secrets that they name.
func (k *kubernetes) writeValues() {
	k.t.Helper()
	stores := map[string]string{}
	for _, variable := range k.stores {
		name, value, _ := strings.Cut(variable, "=")
		stores[name] = value
	}
	for name, held := range map[string]map[string]string{
		"molfabric-control": {"databaseUrl": stores["DATABASE_URL"], "migrationDatabaseUrl": stores["DATABASE_URL"],
			"redisUrl": stores["REDIS_URL"], "s3AccessKey": stores["S3_ACCESS_KEY"], "s3SecretKey": stores["S3_SECRET_KEY"],
			"keySecret": k.secret},
		"molfabric-worker": {"redisUrl": k.workerRedisURL},
	} {
		k.check(k.cluster.Do(http.MethodPost, "/api/v1/namespaces/"+namespace+"/secrets", map[string]any{"stringData": held,
			"metadata": map[string]any{"name": name}}, nil))
	}
	anywhere := map[string]any{"port": 1024, "peers": []any{map[string]any{"ipBlock": map[string]any{"cidr": "127.0.0.0/8"}}}}
	small := map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}, "limits": map[string]any{"memory": "1Gi"}}
	text, err := yaml.Marshal(map[string]any{
		"image": fmt.Sprintf(imageOf, "control", strings.Repeat("a", 64)),
		"env": map[string]any{"S3_ENDPOINT": stores["S3_ENDPOINT"], "S3_REGION": stores["S3_REGION"],
			"S3_BUCKET": stores["S3_BUCKET"], "MOLFABRIC_SIMULATORS": listed(), "MOLFABRIC_STRUCTURES": "off",
			"MOLFABRIC_PREVIEWS": 0, "MOLFABRIC_GPUS": "off",
			"MOLFABRIC_SIGNUP_NETWORKS": "127.0.0.0/8", "MOLFABRIC_PUBLIC_URL": "http://molfabric.example.org"},
		"api": map[string]any{"replicas": 2, "resources": small}, "scheduler": map[string]any{"replicas": 2, "resources": small},
		"worker": map[string]any{"sandbox": "direct", "drainGraceSeconds": 5,
			"env": map[string]any{"MOLFABRIC_PYTHON": k.python, "MOLFABRIC_HARDWARE": "cpu"}},
		"fleets": map[string]any{"probes": map[string]any{"image": fmt.Sprintf(imageOf, "probes", strings.Repeat("c", 64)),
			"engines": []string{probe.ID}, "class": "cpu", "cores": 2, "memory": "1Gi", "disk": "1Gi", "scaling": "keda", "max": 2,
			"idleExitSeconds": 60}},
		"keda":    map[string]any{"pollingSeconds": 5},
		"network": map[string]any{"postgres": anywhere, "redis": anywhere, "store": anywhere},
	})
	k.check(err)
	k.check(os.WriteFile(k.values, text, 0o600))
}

// helm runs Helm with the tests' values. It must succeed.
func (k *kubernetes) helm(arguments ...string) {
	k.t.Helper()
	began := time.Now()
	said, err := k.cluster.Helm(append(arguments, "--namespace", namespace, "--values", k.values)...)
	k.check(errorOf(err, said))
	k.t.Logf("helm %s took %.1f s", arguments[0], time.Since(began).Seconds())
}

func errorOf(err error, said string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, said)
}

// check ends the test with all that may tell why.
func (k *kubernetes) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatalf("%v\n%s", err, k.cluster.Logs())
	}
}

// refusesWhatIsMisspelt holds the server to what it is here for: it knows the objects and their members.
func (k *kubernetes) refusesWhatIsMisspelt() {
	k.t.Helper()
	const path = "/apis/keda.sh/v1alpha1/namespaces/" + namespace + "/scaledjobs?fieldValidation=Strict&dryRun=All"
	job := func(limit string) map[string]any {
		return map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": map[string]any{"name": "one"},
			"spec": map[string]any{limit: 3, "jobTargetRef": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []any{}}}}, "triggers": []any{map[string]any{"type": "cpu", "metadata": map[string]any{}}}}}
	}
	if err := k.cluster.Do(http.MethodPost, path, job("maxReplicaCont"), nil); err == nil ||
		!strings.Contains(err.Error(), "maxReplicaCont") {
		k.t.Errorf("a misspelt member: got %v", err)
	}
	k.check(k.cluster.Do(http.MethodPost, path, job("maxReplicaCount"), nil))
}

// startKEDA runs KEDA's own operator until it is stopped, where the test is told of one, and plays its part elsewhere.
func (k *kubernetes) startKEDA() (stop func()) {
	k.t.Helper()
	dir := os.Getenv("MOLFABRIC_TEST_KEDA")
	if dir == "" {
		return k.playKEDA()
	}
	operator := k.cluster.StartKEDA(dir)
	k.t.Log("KEDA's own operator runs")
	k.cluster.Eventually("KEDA's operator has read what the fleet asks, and found nothing to do", func() bool {
		var scaled struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
		k.check(k.cluster.Do(http.MethodGet, "/apis/keda.sh/v1alpha1/namespaces/"+namespace+"/scaledjobs/"+scaledJob, nil, &scaled))
		conditions := map[string]string{}
		for _, one := range scaled.Status.Conditions {
			conditions[one.Type] = one.Status
		}
		return conditions["Ready"] == "True" && conditions["Active"] == "False"
	})
	return func() { k.check(operator.Stop()) }
}

// playKEDA plays KEDA's part until it is stopped.
func (k *kubernetes) playKEDA() (stop func()) {
	k.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var playing sync.WaitGroup
	playing.Go(func() {
		for ; ctx.Err() == nil; <-time.After(time.Second) {
			if err := k.cluster.PlayKEDA(namespace); err != nil {
				k.t.Errorf("KEDA's part: %v", err)
			}
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		playing.Wait()
	})
	k.t.Cleanup(stop)
	return stop
}

// pods are the names of the pods of a part that are not being ended.
func (k *kubernetes) pods(component string) []string {
	k.t.Helper()
	found, err := k.cluster.Pods(namespace, "app.kubernetes.io/component="+component)
	k.check(err)
	return found
}

// fleetLeaves waits until no worker is left. Of the jobs that they were, at most so many have failed: those that were evicted.
func (k *kubernetes) fleetLeaves(evicted int) {
	k.t.Helper()
	var ended map[string]int
	k.cluster.Eventually("the fleet has left", func() bool {
		jobs, err := k.cluster.Jobs(namespace, scaledJob)
		ended = map[string]int{}
		for _, j := range jobs {
			ended[j.Ended()]++
		}
		return err == nil && ended[""] == 0 && len(k.pods("worker-probes")) == 0
	})
	if ended["Complete"] == 0 || ended["Failed"] > evicted {
		k.t.Errorf("the jobs of workers have ended as %v, want at most %d failed", ended, evicted)
	}
}

// busy waits until a worker runs tasks, and returns its pod.
func (k *kubernetes) busy() (pod string) {
	k.t.Helper()
	k.check(k.Eventually(k.t.Context(), "a worker runs tasks", k.Bound(patience), func(ctx context.Context) (bool, error) {
		workers, err := k.queue.Workers(ctx)
		for _, w := range workers {
			if len(w.Held) > 0 {
				pod = w.Name
			}
		}
		return pod != "", err
	}))
	return pod
}

// delete deletes a pod at once, as when its machine has died.
func (k *kubernetes) delete(pod string) {
	k.t.Helper()
	k.check(k.cluster.Do(http.MethodDelete, "/api/v1/namespaces/"+namespace+"/pods/"+pod+"?gracePeriodSeconds=1", nil, nil))
}

// askWhile asks the API ten times a second while something happens, and returns the requests that failed.
func (k *kubernetes) askWhile(happens func()) (failures []error) {
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asked := 0
	asking.Go(func() {
		for ; ctx.Err() == nil; <-time.After(poll * 5) {
			request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, k.entrance+
				"/api/v1/receipts/keys", http.NoBody)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			answer, err := send(request)
			if err == nil && answer.Status != http.StatusOK {
				err = fmt.Errorf("%d %s", answer.Status, answer.Body)
			}
			if err != nil {
				failures = append(failures, err)
			}
			asked++
		}
	})
	happens()
	cancel()
	asking.Wait()
	k.t.Logf("asked %d times", asked)
	return failures
}

// awaitAPIs waits until the service leads to both APIs.
func (k *kubernetes) awaitAPIs() {
	k.t.Helper()
	k.cluster.Eventually("two APIs are ready", func() bool {
		ready, err := k.cluster.Endpoints(namespace, "molfabric-api")
		return err == nil && len(ready) == 2
	})
}

// guardsTheLast evicts both APIs at once: the disruption budget lets one go.
func (k *kubernetes) guardsTheLast() {
	k.t.Helper()
	k.awaitAPIs()
	k.cluster.Eventually("the budget is known", func() bool {
		var budget struct {
			Status struct{ DisruptionsAllowed int }
		}
		const path = "/apis/policy/v1/namespaces/" + namespace + "/poddisruptionbudgets/molfabric-api"
		err := k.cluster.Do(http.MethodGet, path, nil, &budget)
		return err == nil && budget.Status.DisruptionsAllowed == 1
	})
	apis := k.pods("api")
	if err := k.cluster.Evict(namespace, apis[0]); err != nil {
		k.t.Errorf("the first API: %v", err)
	}
	if err := k.cluster.Evict(namespace, apis[1]); err == nil || !strings.Contains(err.Error(), "disruption budget") {
		k.t.Errorf("the second API: got %v, want a refusal", err)
	}
}
