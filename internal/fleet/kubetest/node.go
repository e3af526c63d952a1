package kubetest

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

const (
	// heartbeat is how often a node says that it is well.
	heartbeat = 5 * time.Second
	// usualGrace is what a pod gets to end that says nothing of it.
	usualGrace = 30 * time.Second
	// restartPause is how long a container that has ended waits to be started again.
	restartPause = time.Second
	// user is whom a container runs as that states nobody, an ordinary user.
	user = 65534
)

// pod is what a node reads of a pod.
type pod struct {
	Metadata struct {
		Name, Namespace, UID       string
		Labels                     map[string]string
		DeletionTimestamp          *time.Time
		DeletionGracePeriodSeconds *int64
	}
	Spec struct {
		NodeName      string
		RestartPolicy string
		Containers    []container
		Volumes       []struct {
			Name     string
			EmptyDir *struct{}
		}
	}
	Status struct{ Phase string }
}

type container struct {
	Name, Image string
	Args        []string
	Env         []struct {
		Name, Value string
		ValueFrom   *struct {
			SecretKeyRef *struct{ Name, Key string }
			FieldRef     *struct{ FieldPath string }
		}
	}
	Ports          []struct{ Name, ContainerPort any }
	ReadinessProbe *probe
	Lifecycle      struct {
		PreStop struct{ Sleep struct{ Seconds int64 } }
	}
	VolumeMounts    []struct{ Name, MountPath string }
	SecurityContext struct{ RunAsUser int }
}

type probe struct {
	HTTPGet struct {
		Path string
		Port any
	}
}

func (p *pod) path() string {
	return "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name
}

// startNode adds a node and runs what the scheduler gives it until the test ends.
func (c *Cluster) startNode(name string) {
	c.T.Helper()
	room := map[string]string{"cpu": "64", "memory": "64Gi", "ephemeral-storage": "500Gi", "pods": "110"}
	state := func() map[string]any {
		now := time.Now().UTC().Format(time.RFC3339)
		return map[string]any{"capacity": room, "allocatable": room, "conditions": []map[string]string{{"type": "Ready",
			"status": "True", "reason": "Ready", "lastHeartbeatTime": now, "lastTransitionTime": now}}}
	}
	err := c.Do(http.MethodPost, "/api/v1/nodes", map[string]any{"apiVersion": "v1", "kind": "Node", "status": state(),
		"metadata": map[string]any{"name": name, "labels": map[string]string{"kubernetes.io/hostname": name}}}, nil)
	if err != nil {
		c.T.Fatal(err)
	}
	c.nodes.Go(func() {
		for beat := time.Now(); c.ctx.Err() == nil; <-time.After(poll) {
			if time.Since(beat) > heartbeat {
				beat = time.Now()
				_ = c.Do(http.MethodPatch, "/api/v1/nodes/"+name+"/status", map[string]any{"status": state()}, nil)
			}
		}
	})
	c.nodes.Go(func() { c.runPods(name) })
}

// runPods starts the node's pods and ends those that are deleted.
func (c *Cluster) runPods(node string) {
	ends := map[string]func(){} // by the pods' uids: tells one that it is deleted
	for ; c.ctx.Err() == nil; <-time.After(poll) {
		var all struct{ Items []*pod }
		if err := c.Do(http.MethodGet, "/api/v1/pods?fieldSelector=spec.nodeName="+node, nil, &all); err != nil {
			continue
		}
		for _, p := range all.Items {
			end, known := ends[p.Metadata.UID]
			switch {
			case !known && p.Metadata.DeletionTimestamp == nil && (p.Status.Phase == "Pending" || p.Status.Phase == ""):
				ctx, cancel := context.WithCancel(c.ctx)
				ends[p.Metadata.UID] = cancel
				c.nodes.Go(func() { c.runPod(ctx, p) })
			case known && p.Metadata.DeletionTimestamp != nil:
				end()
			case !known && p.Metadata.DeletionTimestamp != nil:
				_ = c.Do(http.MethodDelete, p.path()+"?gracePeriodSeconds=0", nil, nil)
			}
		}
	}
}

// runPod runs a pod until its container has ended for good, or the pod is deleted, which ctx's end says.
func (c *Cluster) runPod(ctx context.Context, p *pod) {
	n := c.pods.Add(1)
	ip := fmt.Sprintf("%s%d.%d", podNetwork, n/250, n%250+1)
	var code, restarts int
	for {
		ended, err := c.launch(p, ip)
		if err != nil {
			c.T.Errorf("pod %s: %v", p.Metadata.Name, err)
			return
		}
		code = c.follow(ctx, p, ip, restarts, ended)
		if ctx.Err() != nil || p.Spec.RestartPolicy == "Never" || p.Spec.RestartPolicy == "OnFailure" && code == 0 {
			break
		}
		restarts++
		c.T.Logf("pod %s: its container has ended with %d and is started again", p.Metadata.Name, code)
		select {
		case <-ctx.Done():
		case <-time.After(restartPause):
		}
	}
	c.tell(p, ip, restarts, false, map[bool]string{true: "Succeeded", false: "Failed"}[code == 0], map[string]any{
		"terminated": map[string]any{"exitCode": code}})
	if c.ctx.Err() == nil && ctx.Err() != nil {
		_ = c.Do(http.MethodDelete, p.path()+"?gracePeriodSeconds=0", nil, nil)
	}
}

// The pods' network, and where this machine listens instead: the API server takes no address of loopback for a pod's.
const podNetwork, ownNetwork = "10.244.", "127.1."

// here is where a pod listens on this machine.
func here(ip string) string { return strings.Replace(ip, podNetwork, ownNetwork, 1) }

// process is a running container.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// launch starts a pod's only container: the program of the test as the user that the container names, on the machine's files
// read-only, with the pod's volumes where they are mounted and a log of its own. It listens at one address where it would
// at all.
func (c *Cluster) launch(p *pod, ip string) (*process, error) {
	if len(p.Spec.Containers) != 1 {
		return nil, fmt.Errorf("has %d containers, and the nodes of a test run one", len(p.Spec.Containers))
	}
	of := p.Spec.Containers[0]
	script := []string{"set -e", "mount --make-rprivate /", "mount -t tmpfs none /mnt", "touch /mnt/program",
		"mount --bind " + c.program + " /mnt/program"}
	script = append(script, uncover(c.readable)...)
	volumes, err := c.volumes(p)
	if err != nil {
		return nil, err
	}
	for i, mount := range of.VolumeMounts {
		place := "/mnt/volume" + strconv.Itoa(i)
		script = append(script, "mkdir "+place, "mount --bind "+volumes[mount.Name]+" "+place)
	}
	for _, covered := range []string{"/var/lib", "/tmp"} { // where volumes are, and what no container would see
		script = append(script, "mount -t tmpfs none "+covered)
	}
	for i, mount := range of.VolumeMounts {
		script = append(script, "mkdir -p "+mount.MountPath, "mount --bind /mnt/volume"+strconv.Itoa(i)+" "+mount.MountPath)
	}
	id := strconv.Itoa(cmp.Or(of.SecurityContext.RunAsUser, user))
	script = append(script, "mount -o remount,bind,ro /", "cd /",
		"exec setpriv --reuid="+id+" --regid="+id+" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all "+
			`/mnt/program "$@"`)
	log, err := os.OpenFile(filepath.Join(c.Dir, p.Metadata.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	run := &process{done: make(chan struct{})}
	arguments := append([]string{"--mount", "sh", "-c", strings.Join(script, "\n"), "sh"}, of.Args...)
	run.cmd = exec.Command("unshare", arguments...) //nolint:noctx // ended by follow
	if run.cmd.Env, err = c.environment(p, of, ip); err != nil {
		return nil, err
	}
	run.cmd.Stdout, run.cmd.Stderr = log, log
	if err := proc.Start(run.cmd); err != nil {
		return nil, err
	}
	go func() {
		_ = run.cmd.Wait()
		close(run.done)
	}()
	return run, nil
}

// uncover are commands after which everybody can read some folders, also those below a folder that nobody else may enter, as
// root's home is.
func uncover(folders []string) (script []string) {
	var covers, back []string
	for i, folder := range folders {
		cover := ""
		for above := folder; above != "/"; above = filepath.Dir(above) {
			if info, err := os.Stat(above); err == nil && info.Mode()&0o001 == 0 {
				cover = above
			}
		}
		if cover == "" {
			continue
		}
		place := "/mnt/readable" + strconv.Itoa(i)
		script = append(script, "mkdir "+place, "mount --bind "+folder+" "+place)
		if !slices.Contains(covers, cover) {
			covers = append(covers, cover)
		}
		back = append(back, "mkdir -p "+folder, "mount --bind "+place+" "+folder)
	}
	for _, cover := range covers {
		script = append(script, "mount -t tmpfs -o mode=755 none "+cover)
	}
	return append(script, back...)
}

// volumes are the directories of a pod's volumes, by their names.
func (c *Cluster) volumes(p *pod) (map[string]string, error) {
	dirs := map[string]string{}
	for _, volume := range p.Spec.Volumes {
		if volume.EmptyDir == nil {
			return nil, fmt.Errorf("the nodes of a test know empty directories alone, and %s is none", volume.Name)
		}
		dir := filepath.Join(c.Dir, "volumes", p.Metadata.UID, volume.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, user, user); err != nil {
			return nil, err
		}
		dirs[volume.Name] = dir
	}
	return dirs, nil
}

func (c *Cluster) secret(namespace, name string) (map[string][]byte, error) {
	var found struct{ Data map[string]string }
	if err := c.Do(http.MethodGet, "/api/v1/namespaces/"+namespace+"/secrets/"+name, nil, &found); err != nil {
		return nil, err
	}
	held := map[string][]byte{}
	for key, value := range found.Data {
		text, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, err
		}
		held[key] = text
	}
	return held, nil
}

// environment is what a container finds in its environment: its own variables, and where programs lie.
func (c *Cluster) environment(p *pod, of container, ip string) ([]string, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/"}
	for _, variable := range of.Env {
		value := variable.Value
		switch from := variable.ValueFrom; {
		case from == nil:
		case from.SecretKeyRef != nil:
			held, err := c.secret(p.Metadata.Namespace, from.SecretKeyRef.Name)
			if err != nil {
				return nil, err
			}
			text, there := held[from.SecretKeyRef.Key]
			if !there {
				return nil, fmt.Errorf("the secret %s has no %s; it has %v", from.SecretKeyRef.Name, from.SecretKeyRef.Key,
					slices.Sorted(maps.Keys(held)))
			}
			value = string(text)
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
			value = p.Metadata.Name
		default:
			return nil, fmt.Errorf("the nodes of a test do not know where %s comes from", variable.Name)
		}
		env = append(env, variable.Name+"="+strings.Replace(value, "0.0.0.0:", here(ip)+":", 1))
	}
	return env, nil
}

// follow says how a container is until it has ended, and ends it when ctx does. code is its exit status, 137 when it was killed.
func (c *Cluster) follow(ctx context.Context, p *pod, ip string, restarts int, run *process) (code int) {
	of, told, deleted := p.Spec.Containers[0], false, ctx.Done()
	running := map[string]any{"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}}
	c.tell(p, ip, restarts, false, "Running", running)
	look := time.NewTicker(2 * poll)
	defer look.Stop()
	for {
		select {
		case <-run.done:
			if code = run.cmd.ProcessState.ExitCode(); code < 0 {
				code = 128 + int(syscall.SIGKILL)
			}
			return code
		case <-deleted:
			deleted = nil
			c.nodes.Go(func() { c.end(p, of, run) })
		case <-look.C:
			if ready := deleted != nil && of.answers(ip); ready != told {
				told = ready
				c.tell(p, ip, restarts, ready, "Running", running)
			}
		}
	}
}

// end ends a container as a node does: after its pause it gets SIGTERM, and SIGKILL when its grace is over.
func (c *Cluster) end(p *pod, of container, run *process) {
	grace := usualGrace
	var now pod
	if err := c.Do(http.MethodGet, p.path(), nil, &now); err == nil && now.Metadata.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*now.Metadata.DeletionGracePeriodSeconds) * time.Second
	}
	if c.ctx.Err() != nil {
		grace = 0 // the test has ended
	}
	if pause := min(grace, time.Duration(of.Lifecycle.PreStop.Sleep.Seconds)*time.Second); pause > 0 {
		grace -= pause
		select {
		case <-run.done:
		case <-time.After(pause):
		}
	}
	_ = proc.Stop(context.Background(), run.cmd.Process.Pid, run.done, syscall.SIGTERM, max(grace, time.Second))
}

// answers tells whether a container is ready; one without a probe is when it runs.
func (of container) answers(ip string) bool {
	if of.ReadinessProbe == nil {
		return true
	}
	port := fmt.Sprint(of.ReadinessProbe.HTTPGet.Port)
	for _, named := range of.Ports {
		if fmt.Sprint(named.Name) == port {
			port = fmt.Sprint(named.ContainerPort)
		}
	}
	client := http.Client{Timeout: 5 * time.Second}
	address := "http://" + net.JoinHostPort(here(ip), port) + of.ReadinessProbe.HTTPGet.Path
	answer, err := client.Get(address) //nolint:noctx // has a timeout
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// tell says in the pod's status how it is.
func (c *Cluster) tell(p *pod, ip string, restarts int, ready bool, phase string, state map[string]any) {
	if c.ctx.Err() != nil {
		return
	}
	of := p.Spec.Containers[0]
	is := map[bool]string{true: "True", false: "False"}
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []map[string]string
	for _, kind := range []string{"PodScheduled", "Initialized", "ContainersReady", "Ready"} {
		conditions = append(conditions, map[string]string{"type": kind, "lastTransitionTime": now,
			"status": is[ready || kind == "PodScheduled" || kind == "Initialized"]})
	}
	err := c.Do(http.MethodPatch, p.path()+"/status", map[string]any{"status": map[string]any{
		"phase": phase, "podIP": ip, "podIPs": []map[string]string{{"ip": ip}}, "hostIP": "127.0.0.1", "startTime": now,
		"hostIPs": []map[string]string{{"ip": "127.0.0.1"}}, "conditions": conditions,
		"containerStatuses": []map[string]any{{"name": of.Name, "image": of.Image, "imageID": of.Image, "ready": ready,
			"started": phase == "Running", "restartCount": restarts, "state": state}}}}, nil)
	if err != nil && !refused(err, http.StatusNotFound) {
		c.T.Logf("pod %s: its state could not be told: %v", p.Metadata.Name, err)
	}
}
