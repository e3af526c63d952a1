package deploy

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/molfabric/molfabric/api/system"
	"github.com/molfabric/molfabric/internal/config"
)

const (
	chartValues = "testdata/chart-values.yaml"
)

// helm runs Helm, and returns what it prints on both ways.
func helm(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	program := filepath.Join(os.Getenv("MOLFABRIC_HOME"), "kubernetes", "bin", "helm")
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("MOLFABRIC_TEST_REQUIRE") != "" {
			t.Fatal("helm is missing: deploy/setup.sh --tests")
		}
		t.Skip("SKIPPED: helm is missing: deploy/setup.sh --tests")
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	output, err := command.CombinedOutput()
	return string(output), err
}

// manifest is an object of Kubernetes as it was rendered.
type manifest map[string]any

func (m manifest) members() map[string]any { return m }
func (m manifest) kind() string            { return fmt.Sprint(m["kind"]) }
func (m manifest) name() string            { return fmt.Sprint(at(m, "metadata", "name")) }

func list(of any) []any {
	found, _ := of.([]any)
	return found
}

// rendered is what the chart makes of the tests' values.
func rendered(t *testing.T, arguments ...string) []manifest {
	t.Helper()
	text, err := helm(t, append([]string{"template", "molfabric", "chart", "--namespace", "science", "--values", chartValues},
		arguments...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var found []manifest
	for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(text, -1) {
		var m manifest
		if err := yaml.Unmarshal([]byte(document), &m); err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		if len(m) > 0 {
			found = append(found, m)
		}
	}
	return found
}

// podOf is the pod that an object makes; nil where it makes none.
func (m manifest) podOf() map[string]any {
	place := map[string][]string{"Deployment": {"spec", "template"}, "Job": {"spec", "template"},
		"ScaledJob": {"spec", "jobTargetRef", "template"}}[m.kind()]
	if place == nil {
		return nil
	}
	pod, _ := at(m, place...).(map[string]any)
	return pod
}

// TestChartIsSound is Helm's own opinion.
func TestChartIsSound(t *testing.T) {
	t.Parallel()
	if text, err := helm(t, "lint", "--strict", "chart", "--values", chartValues); err != nil {
		t.Errorf("%v: %s", err, text)
	}
	kinds := map[string]int{}
	for _, m := range rendered(t) {
		kinds[m.kind()]++
	}
	want := map[string]int{"ServiceAccount": 1, "Service": 2, "Deployment": 3, "Job": 1, "ScaledJob": 2, "PodDisruptionBudget": 3,
		"NetworkPolicy": 7, "Ingress": 1, "ServiceMonitor": 2}
	if !maps.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}

// TestChartRefusesValues wants what cannot work to be refused before anything is changed, with the name of the value.
func TestChartRefusesValues(t *testing.T) {
	t.Parallel()
	for set, named := range map[string]string{
		"image=registry.example.org/molfabric:latest": "image",
		"imagee=x": "imagee",
		"fleets.docking.image=registry.example.org/docking:latest": "fleets.docking.image",
		"fleets.docking.scaling=hpa":                               "fleets.docking.scaling",
		"fleets.docking.max=3":                                     "fleets.docking",
		"fleets.docking.devices=1":                                 "fleets.docking",
		"fleets.sequences.max=null":                                "max",
		"fleets.sequences.targetSeconds=60":                        "targetSeconds",
		"fleets.Big.class=cpu":                                     "Big",
		"worker.sandbox=none":                                      "worker.sandbox",
		"worker.env.S3_BUCKET=x":                                   "S3_BUCKET",
		"worker.secretEnv.DATABASE_URL.secret=x":                   "DATABASE_URL",
		"worker.secretEnv.REDIS_URL=null":                          "secretEnv",
		"worker.env.MOLFABRIC_WORKER_TOKEN=mfw_x":                  "MOLFABRIC_WORKER_TOKEN",
		"env.STRIPE_SECRET_KEY=sk_1":                               "STRIPE_SECRET_KEY",
		"env.DATABASE_URL=postgres://x":                            "DATABASE_URL",
		"secretEnv.DATABASE_URL.value=postgres://x":                "secretEnv.DATABASE_URL",
		"network.redis.peers=null":                                 "redis",
		"ingress.host=":                                            "ingress.host",
		"api.replicas=0":                                           "api.replicas",
	} {
		arguments := []string{"template", "molfabric", "chart", "--values", chartValues, "--set", set}
		text, err := helm(t, arguments...)
		if err == nil || !strings.Contains(text, named) {
			t.Errorf("%s: got %v, %.300s; want a refusal that names %s", set, err, text, named)
		}
	}
	if text, err := helm(t, "template", "molfabric", "chart"); err == nil || !strings.Contains(text, "image") {
		t.Errorf("without values: got %v, %.300s", err, text)
	}
}

// TestChartPodsAreConfined holds every container to what a stranger who got into it could do.
func TestChartPodsAreConfined(t *testing.T) {
	t.Parallel()
	pods := 0
	for _, m := range rendered(t) {
		pod := m.podOf()
		if pod == nil {
			continue
		}
		pods++
		spec, _ := pod["spec"].(map[string]any)
		for _, shared := range []string{"hostNetwork", "hostPID", "hostIPC"} {
			if spec[shared] != nil {
				t.Errorf("%s has %s", m.name(), shared)
			}
		}
		if spec["automountServiceAccountToken"] != false {
			t.Errorf("%s is given a token of the cluster", m.name())
		}
		for _, volume := range list(spec["volumes"]) {
			if at(volume, "hostPath") != nil {
				t.Errorf("%s sees the machine's files: %v", m.name(), volume)
			}
		}
		for _, container := range list(spec["containers"]) {
			confinedContainer(t, m, spec, container)
		}
	}
	if pods != 6 {
		t.Errorf("looked at %d pods", pods)
	}
}

func confinedContainer(t *testing.T, m manifest, spec map[string]any, container any) {
	t.Helper()
	for key, want := range map[string]any{"privileged": false, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"runAsNonRoot": true} {
		if got := at(container, "securityContext", key); got != want {
			t.Errorf("%s: %s is %v", m.name(), key, got)
		}
	}
	if got := fmt.Sprint(at(container, "securityContext", "capabilities", "drop")); got != "[ALL]" {
		t.Errorf("%s drops the capabilities %s", m.name(), got)
	}
	image := fmt.Sprint(at(container, "image"))
	if !regexp.MustCompile(`@sha256:[0-9a-f]{64}$`).MatchString(image) {
		t.Errorf("%s runs %s, which is not named by what it holds", m.name(), image)
	}
	if at(container, "resources", "requests", "cpu") == nil || at(container, "resources", "limits", "memory") == nil {
		t.Errorf("%s states no resources: %v", m.name(), at(container, "resources"))
	}
	// bubblewrap needs the runtime's covers off, and gets a user namespace for them; everybody else keeps them.
	bubblewrap := strings.Contains(fmt.Sprint(at(container, "env")), "value:bubblewrap")
	covers := fmt.Sprintf("%v %v %v", at(spec, "securityContext", "seccompProfile", "type"),
		at(container, "securityContext", "procMount"), spec["hostUsers"])
	if want := map[bool]string{true: "Unconfined Unmasked false", false: "RuntimeDefault <nil> <nil>"}[bubblewrap]; covers != want {
		t.Errorf("%s: got %s, want %s", m.name(), covers, want)
	}
}

// TestChartConfiguresTheProgram has the program itself read the environment of every container.
func TestChartConfiguresTheProgram(t *testing.T) {
	known, err := config.Variables()
	if err != nil {
		t.Fatal(err)
	}
	commands := subcommands(t)
	for _, m := range rendered(t) {
		for _, container := range list(at(m.podOf(), "spec", "containers")) {
			for _, name := range known {
				t.Setenv(name, "")
			}
			arguments := list(at(container, "args"))
			if len(arguments) == 0 || !slices.Contains(commands, fmt.Sprint(arguments[0])) {
				t.Errorf("%s runs molfabric %v", m.name(), arguments)
			}
			seen := map[string]bool{}
			for _, variable := range list(at(container, "env")) {
				name := fmt.Sprint(at(variable, "name"))
				if !slices.Contains(known, name) || seen[name] {
					t.Errorf("%s sets %s, which the configuration does not know, or twice", m.name(), name)
				}
				seen[name] = true
				value := "given"
				if text := at(variable, "value"); text != nil {
					value = fmt.Sprint(text)
				}
				t.Setenv(name, value)
			}
			if _, err := config.Load(nil); err != nil {
				t.Errorf("%s: %v", m.name(), err)
			}
			if fmt.Sprint(arguments[0]) == "worker" {
				givenToWorker(t, m, seen, at(m.podOf(), "spec"))
			}
		}
	}
}

// givenToWorker wants no secret but Redis in a worker, and the time that its drain takes.
func givenToWorker(t *testing.T, m manifest, given map[string]bool, spec any) {
	t.Helper()
	for _, secret := range []string{"DATABASE_URL", "MIGRATION_DATABASE_URL", "MOLFABRIC_KEY_SECRET", "S3_ACCESS_KEY",
		"S3_SECRET_KEY", "S3_ENDPOINT"} {
		if given[secret] {
			t.Errorf("the worker %s is given %s", m.name(), secret)
		}
	}
	drain, err := time.ParseDuration(os.Getenv("MOLFABRIC_DRAIN_GRACE"))
	grace, parseErr := strconv.Atoi(fmt.Sprint(at(spec, "terminationGracePeriodSeconds")))
	if err != nil || parseErr != nil || time.Duration(grace)*time.Second < drain+40*time.Second {
		t.Errorf("%s is killed after %d s, and its drain takes %s and 40 s more", m.name(), grace, drain)
	}
}

// TestChartProbesAskWhatAnswers holds probes, services and monitors to ports and paths that there are.
func TestChartProbesAskWhatAnswers(t *testing.T) {
	t.Parallel()
	ports := map[string]string{} // component/port name → number
	for _, m := range rendered(t) {
		component := fmt.Sprint(at(m, "metadata", "labels", "app.kubernetes.io/component"))
		for _, container := range list(at(m.podOf(), "spec", "containers")) {
			for _, port := range list(at(container, "ports")) {
				name := fmt.Sprint(at(port, "name"))
				ports[component+"/"+name] = fmt.Sprint(at(port, "containerPort"))
				if listens := fmt.Sprint(at(container, "env")); !strings.Contains(listens, "0.0.0.0:"+ports[component+"/"+name]) {
					t.Errorf("%s announces port %v, and listens at none such: %s", m.name(), port, listens)
				}
			}
			for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
				get := at(container, probe, "httpGet")
				if m.kind() == "Deployment" && get == nil && !strings.HasPrefix(component, "worker-") {
					t.Errorf("%s has no %s", m.name(), probe)
				}
				if path := at(get, "path"); get != nil && (!slices.Contains(system.Paths, fmt.Sprint(path)) ||
					ports[component+"/"+fmt.Sprint(at(get, "port"))] == "" || component == "scheduler" && path != "/healthz") {
					t.Errorf("%s asks %v, which does not answer", m.name(), get)
				}
			}
		}
	}
	for _, m := range rendered(t) {
		component := fmt.Sprint(at(m, "metadata", "labels", "app.kubernetes.io/component"))
		for _, port := range list(at(m, "spec", "ports")) {
			if ports[component+"/"+fmt.Sprint(at(port, "targetPort"))] == "" {
				t.Errorf("the service %s leads to %v, which is no port of its pods", m.name(), port)
			}
		}
	}
}

// TestChartNetworkPolicies wants a worker to reach Redis, the store and their names, and nobody else, and no pod without a policy.
func TestChartNetworkPolicies(t *testing.T) {
	t.Parallel()
	all := rendered(t)
	allowed := map[string]string{} // component → whom it calls
	for _, m := range all {
		if m.kind() != "NetworkPolicy" {
			continue
		}
		component := fmt.Sprint(at(m, "spec", "podSelector", "matchLabels", "app.kubernetes.io/component"))
		if got := fmt.Sprint(at(m, "spec", "policyTypes")); got != "[Ingress Egress]" {
			t.Errorf("%s covers %s alone", m.name(), got)
		}
		var called []string
		for _, rule := range list(at(m, "spec", "egress")) {
			peers, targets := list(at(rule, "to")), list(at(rule, "ports"))
			if len(peers) == 0 || len(targets) == 0 {
				t.Errorf("%s lets everybody, or every port, be called: %v", m.name(), rule)
			}
			for _, peer := range peers {
				for _, target := range targets {
					where := at(peer, "ipBlock", "cidr")
					if where == nil {
						where = at(peer, "podSelector", "matchLabels", "k8s-app")
					}
					called = append(called, fmt.Sprintf("%v:%v", where, at(target, "port")))
				}
			}
		}
		allowed[component] = strings.Join(called, " ")
		for _, rule := range list(at(m, "spec", "ingress")) {
			called := component == "api" || component == "scheduler"
			if len(list(at(rule, "from"))) == 0 || len(list(at(rule, "ports"))) == 0 || !called {
				t.Errorf("%s lets itself be called by %v", m.name(), rule)
			}
		}
	}
	const names, redis, store, postgres = "kube-dns:53 kube-dns:53", " 10.1.0.6/32:6380", " 10.1.0.7/32:443", " 10.1.0.5/32:5432"
	want := map[string]string{"<nil>": "", "migration": names + postgres, "scheduler": names + postgres + redis + store,
		"api": names + postgres + redis + store + " 0.0.0.0/0:443", "worker-sequences": names + redis + store,
		"worker-dynamics": names + redis + store, "worker-docking": names + redis + store}
	if !maps.Equal(allowed, want) {
		t.Errorf("got %v\nwant %v", allowed, want)
	}
	for _, m := range all {
		component := at(m.podOf(), "metadata", "labels", "app.kubernetes.io/component")
		if _, has := want[fmt.Sprint(component)]; m.podOf() != nil && !has {
			t.Errorf("no policy is for the pods of %s", m.name())
		}
	}
}

// TestChartGivesTokens wants workers with a token to have no address of Redis, and to reach the API that they are told, both ways.
// Of the control plane the API alone knows who makes their users.
func TestChartGivesTokens(t *testing.T) {
	t.Parallel()
	const set = "worker.secretEnv.REDIS_URL=null,worker.secretEnv.MOLFABRIC_WORKER_TOKEN.secret=enrolment," +
		"worker.secretEnv.MOLFABRIC_WORKER_TOKEN.key=token,secretEnv.MOLFABRIC_ISSUER_REDIS_URL.secret=issuer," +
		"secretEnv.MOLFABRIC_ISSUER_REDIS_URL.key=redisUrl"
	workers, calls, called := 0, 0, 0
	for _, m := range rendered(t, "--set", set) {
		for _, container := range list(at(m.podOf(), "spec", "containers")) {
			knows := strings.Contains(fmt.Sprint(at(container, "env")), "MOLFABRIC_ISSUER_REDIS_URL")
			if wants := m.name() == "molfabric-api"; knows != wants {
				t.Errorf("whether %s knows who makes users: got %t, want %t", m.name(), knows, wants)
			}
			if at(container, "name") != "worker" {
				continue
			}
			workers++
			if given := fmt.Sprint(at(container, "env")); strings.Contains(given, "REDIS_URL") ||
				!strings.Contains(given, "MOLFABRIC_WORKER_API value:http://molfabric-api.science.svc") {
				t.Errorf("%s is given %s", m.name(), given)
			}
		}
		if m.kind() != "NetworkPolicy" {
			continue
		}
		component := fmt.Sprint(at(m, "spec", "podSelector", "matchLabels", "app.kubernetes.io/component"))
		calls += strings.Count(fmt.Sprint(at(m, "spec", "egress")), "component:api")
		if component == "api" {
			called = strings.Count(fmt.Sprint(at(m, "spec", "ingress")), "component:worker-")
		}
	}
	if workers != 3 || calls != workers || called != workers {
		t.Errorf("of %d workers %d may call the API, and the API lets %d", workers, calls, called)
	}
}

// TestChartScales reads what KEDA would ask the scheduler.
func TestChartScales(t *testing.T) {
	t.Parallel()
	asked := map[string]url.Values{}
	for _, m := range rendered(t) {
		if m.kind() != "ScaledJob" {
			continue
		}
		trigger := list(at(m, "spec", "triggers"))[0]
		address, err := url.Parse(fmt.Sprint(at(trigger, "metadata", "url")))
		if err != nil || address.Host != "molfabric-scheduler.science.svc:9090" || address.Path != "/fleet/demand" {
			t.Fatalf("%s asks %v: %v", m.name(), address, err)
		}
		asked[m.name()] = address.Query()
		// "Wanted in all" and this strategy add what is missing, and end nothing.
		if at(trigger, "type") != "metrics-api" || at(trigger, "metadata", "valueLocation") != "wanted" ||
			at(trigger, "metadata", "targetValue") != "1" || at(m, "spec", "scalingStrategy", "strategy") != "default" ||
			at(m, "spec", "rollout", "strategy") != "gradual" || fmt.Sprint(at(m, "spec", "minReplicaCount")) != "0" {
			t.Errorf("%s: got %v", m.name(), m["spec"])
		}
		if limit := address.Query().Get("max"); fmt.Sprint(at(m, "spec", "maxReplicaCount")) != limit {
			t.Errorf("%s may run %v, and asks for at most %s", m.name(), at(m, "spec", "maxReplicaCount"), limit)
		}
	}
	want := map[string]url.Values{
		"molfabric-sequences": {"slots": {"8"}, "min": {"0"}, "max": {"20"}, "target": {"600"}, "walltime": {"86400"},
			"class": {"cpu.blastp", "cpu.blastn"}},
		"molfabric-dynamics": {"slots": {"8"}, "min": {"0"}, "max": {"4"}, "target": {"3600"}, "devices": {"6"},
			"class": {"gpu.openmm"}},
	}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", asked, want)
	}
}
