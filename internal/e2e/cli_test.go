package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// shell runs the program as a user who has signed in to a system.
type shell struct {
	*system
	program, dir string
}

// signIn opens an account on a running system.
func (s *system) signIn() *shell {
	s.t.Helper()
	program, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	sh := &shell{system: s, program: program, dir: s.t.TempDir()}
	sh.want(0, "a long enough password\n", "login", "--server", s.url, "--sign-up", "--email", "chemist@example.org",
		"--password-stdin")
	return sh
}

// command is the program with arguments, and the configuration of this user alone.
func (sh *shell) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(sh.t.Context(), sh.program, args...)
	cmd.Dir = sh.dir
	cmd.Env = append(os.Environ(), "MOLFABRIC_CONFIG="+filepath.Join(sh.dir, "config.json"), "NO_COLOR=1")
	return cmd
}

// want runs a command and expects its exit code. It returns standard output, and what stands on both.
func (sh *shell) want(code int, stdin string, args ...string) (out, all string) {
	sh.t.Helper()
	cmd := sh.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout bytes.Buffer
	var both syncBuffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&stdout, &both), &both
	got := exitCode(cmd.Run())
	sh.t.Logf("$ molfabric %s → %d\n%s", strings.Join(args, " "), got, both.String())
	if got != code {
		sh.t.Fatalf("molfabric %s ended with %d, want %d", strings.Join(args, " "), got, code)
	}
	return strings.TrimSpace(stdout.String()), both.String()
}

// contains expects texts in what a command printed.
func (sh *shell) contains(printed string, texts ...string) {
	sh.t.Helper()
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			sh.t.Errorf("%q is missing in:\n%s", text, printed)
		}
	}
}

// api is a client with the credential that the login has kept.
func (sh *shell) api() *client.Client {
	sh.t.Helper()
	var kept struct{ APIKey string }
	text, err := os.ReadFile(filepath.Join(sh.dir, "config.json"))
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		sh.t.Fatal(err)
	}
	return sh.client(client.Options{Server: sh.url, APIKey: kept.APIKey, NoReuse: true})
}

// TestRetryWithTheCommandLine cancels a job in its middle, looks at what it did, and has the rest run.
func TestRetryWithTheCommandLine(t *testing.T) {
	t.Parallel()
	sh := start(t).signIn()
	c := sh.api()
	scene, _ := sh.want(0, "", "upload", receptor(t))
	request := filepath.Join(sh.dir, "request.json")
	if err := os.WriteFile(request, docking(scene, 4, "aspirin", "ibuprofen", "nicotine", "caffeine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var receipt struct{ JobID string }
	out, _ := sh.want(0, "", "submit", request, "--json")
	if err := json.Unmarshal([]byte(out), &receipt); err != nil {
		t.Fatal(err)
	}
	id := receipt.JobID
	sh.eventually("a ligand is docked", func() bool { return sh.docked(c, id) >= 1 })
	_, refused := sh.want(5, "", "retry", id)
	sh.contains(refused, "JOB_NOT_RETRYABLE", "molfabric tasks")
	sh.want(0, "", "cancel", id, "--reason", "lunch")
	_, ended := sh.want(9, "", "watch", id)
	sh.contains(ended, "was cancelled", "molfabric retry "+id)
	before := sh.tasks(c, id, "cancelled")
	if len(before) == 0 {
		t.Fatal("nothing was left to cancel: the docking is too short for this test")
	}
	table, _ := sh.want(0, "", "tasks", id, "--status", "cancelled", "--stage", "dock")
	sh.contains(table, "CPU time", "CANCELLED", before[0].Name)

	_, watched := sh.want(0, "", "retry", id, "--watch")
	sh.contains(watched, fmt.Sprintf("runs again: run 2, %d of its tasks", len(before)), "ibuprofen", "Bill")
	if left := sh.tasks(c, id, "cancelled"); len(left) != 0 {
		t.Errorf("after the retry %d tasks are still cancelled", len(left))
	}
	events, _ := sh.want(0, "", "watch", id, "--json")
	sh.contains(events, `"CANCELLED"`, `"COMPLETED"`)

	logs, _ := sh.want(0, "", "logs", id)
	sh.contains(logs, "==> task 0, ", "(dock, SUCCEEDED, ")
	last, _ := sh.want(0, "", "logs", id, "--task", fmt.Sprint(before[0].Index), "--limit", "1")
	sh.contains(last, before[0].Name)
	record, _ := sh.want(0, "", "provenance", id)
	sh.contains(record, "run 2", "AutoDock Vina", "doi")
	sh.want(0, "", "provenance", id, "-o", "provenance.json")
	var document struct{ Schema string }
	text, err := os.ReadFile(filepath.Join(sh.dir, "provenance.json"))
	if err != nil || json.Unmarshal(text, &document) != nil || document.Schema != "molfabric.provenance/v1" {
		t.Errorf("the record: %q, %v", document.Schema, err)
	}
}

func (sh *shell) tasks(c *client.Client, jobID, status string) []contract.Task {
	sh.t.Helper()
	tasks, err := c.Tasks(sh.t.Context(), jobID, client.TaskFilter{Status: []string{strings.ToUpper(status)}})
	if err != nil {
		sh.t.Fatal(err)
	}
	return tasks.Body.Tasks
}

// largeBytes is large enough for parts, and for a look at an upload while it runs.
const largeBytes = 200<<20 + 12345

// large writes a file that no two parts of are alike.
func (sh *shell) large(name string) (path, digest string) {
	sh.t.Helper()
	path = filepath.Join(sh.dir, name)
	file, err := os.Create(path)
	if err != nil {
		sh.t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyN(file, rand.NewChaCha8([32]byte{1}), largeBytes); err != nil {
		sh.t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		sh.t.Fatal(err)
	}
	if digest, err = client.Digest(file); err != nil {
		sh.t.Fatal(err)
	}
	return path, digest
}

var uploadID = regexp.MustCompile(`upl_[0-9a-f]+`)

// TestUploadResumesAfterAKill kills an upload in its middle, interrupts the next try, and has the third go on with the rest. The
// server compares the SHA-256 of the whole file, which it reads back.
func TestUploadResumesAfterAKill(t *testing.T) {
	t.Parallel()
	sh := start(t).signIn()
	c := sh.api()
	path, digest := sh.large("my trajectory.dcd")

	id := sh.breakOff(c, syscall.SIGKILL, "", "upload", path)
	arrived := sh.received(c, id)
	sh.breakOff(c, syscall.SIGINT, id, "upload", path, "--resume", id)
	if now := sh.received(c, id); len(now) < len(arrived) {
		t.Errorf("%d parts were there, and %d after the next try", len(arrived), len(now))
	}
	if err := os.WriteFile(filepath.Join(sh.dir, "other.dcd"), []byte("another file"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, refused := sh.want(5, "", "upload", "other.dcd", "--resume", id)
	sh.contains(refused, "not the file that the upload was begun with")

	var uploaded client.Uploaded
	out, _ := sh.want(0, "", "upload", path, "--resume", id, "--json")
	if err := json.Unmarshal([]byte(out), &uploaded); err != nil || uploaded.SHA256 != digest || uploaded.ByteSize != largeBytes {
		t.Errorf("uploaded %+v, %v; want %d bytes with SHA-256 %s", uploaded, err, largeBytes, digest)
	}
	if again, _ := sh.want(0, "", "upload", path, "--resume", id); again != uploaded.StorageKey {
		t.Errorf("resumed once more: got %s, want %s", again, uploaded.StorageKey)
	}
	gone := sh.breakOff(c, syscall.SIGINT, "", "upload", path, "--abort")
	_, over := sh.want(4, "", "upload", path, "--resume", gone)
	sh.contains(over, "without --resume")
}

// breakOff runs an upload and ends it by a signal when a part more has arrived and parts are missing. It lets the process run for
// moments only, so that there is time to look.
func (sh *shell) breakOff(c *client.Client, signal syscall.Signal, id string, args ...string) string {
	sh.t.Helper()
	cmd := sh.command(args...)
	var said syncBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		sh.t.Fatal(err)
	}
	send := func(signal syscall.Signal) {
		if err := cmd.Process.Signal(signal); err != nil {
			sh.t.Fatalf("%s ended too soon: %v\n%s", strings.Join(args, " "), err, said.String())
		}
	}
	// Until it speaks, a part that arrives may be one that the process before it had sent off.
	sh.eventually("the upload has begun", func() bool {
		if id == "" {
			id = uploadID.FindString(said.String())
		}
		return id != "" && said.String() != ""
	})
	send(syscall.SIGSTOP)
	before := len(sh.received(c, id))
	sh.eventually("a part has arrived", func() bool {
		if len(sh.received(c, id)) > before {
			return true
		}
		send(syscall.SIGCONT)
		<-time.After(2 * time.Millisecond) // how long it runs
		send(syscall.SIGSTOP)
		return false
	})
	send(signal)
	send(syscall.SIGCONT)
	if code := exitCode(cmd.Wait()); signal == syscall.SIGINT && code != 130 {
		sh.t.Errorf("interrupted, it ended with %d", code)
	}
	sh.t.Logf("$ molfabric %s (ended by %s)\n%s", strings.Join(args, " "), signal, said.String())
	if signal == syscall.SIGINT && !slices.Contains(args, "--abort") {
		sh.contains(said.String(), "Interrupted", "--resume "+id)
	}
	return id
}

// received are the parts of an upload that have arrived; one that is complete was not broken off.
func (sh *shell) received(c *client.Client, id string) []contract.UploadPartReceived {
	sh.t.Helper()
	status, err := c.UploadStatus(sh.t.Context(), id)
	if err != nil {
		sh.t.Fatal(err)
	}
	if status.Body.Complete || len(status.Body.Missing) == 0 {
		sh.t.Fatalf("upload %s has all parts already: it was too fast to be broken off", id)
	}
	return status.Body.Received
}

// webhooks adds a webhook that nothing can reach, and looks at what becomes of a message to it.
func (sh *shell) webhooks() {
	sh.t.Helper()
	_, private := sh.want(5, "", "webhooks", "add", "https://127.0.0.1/hook")
	sh.contains(private, "url")
	_, plain := sh.want(5, "", "webhooks", "add", "http://hooks.invalid/")
	sh.contains(plain, "only https is taken")
	added, _ := sh.want(0, "", "webhooks", "add", "https://hooks.invalid/", "--event", "credit.low", "--below", "1", "--json")
	var webhook contract.Webhook
	if err := json.Unmarshal([]byte(added), &webhook); err != nil || !strings.HasPrefix(webhook.Secret, "whsec_") {
		sh.t.Fatalf("got %s, %v; want the secret", added, err)
	}
	sh.want(0, "", "webhooks", "test", webhook.ID)
	sh.eventually("a message is sent in vain", func() bool {
		sent, _ := sh.want(0, "", "webhooks", "deliveries", webhook.ID)
		return strings.Contains(sent, "cannot be resolved")
	})
	sh.want(0, "", "webhooks", "rotate-secret", webhook.ID)
	sh.want(0, "", "webhooks", "enable", webhook.ID)
	listed, _ := sh.want(0, "", "webhooks", "list")
	sh.contains(listed, "https://hooks.invalid/", "enabled")
	sh.want(0, "", "webhooks", "remove", webhook.ID)
	_, gone := sh.want(4, "", "webhooks", "test", webhook.ID)
	sh.contains(gone, "molfabric webhooks list")
}

// notices turns mails on and off.
func (sh *shell) notices() {
	sh.t.Helper()
	usual, _ := sh.want(0, "", "notices")
	sh.contains(usual, "credit.low", "key.new_network")
	changed, _ := sh.want(0, "", "notices", "--on", "job.ended", "--off", "credit.low")
	sh.contains(changed, "job.ended, key.new_network")
	_, unknown := sh.want(5, "", "notices", "--on", "job.began")
	sh.contains(unknown, "events")
}

// TestAccountWithTheCommandLine walks through what is no job: projects, keys that end, licence servers, webhooks, credit, the
// service.
func TestAccountWithTheCommandLine(t *testing.T) {
	t.Parallel()
	sh := start(t).signIn()
	scene := filepath.Join(sh.dir, "scene.json")
	save := func(text string) {
		if err := os.WriteFile(scene, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(`{"structures":[{"pdbId":"1IEP"}]}`)
	var project contract.Project
	made, _ := sh.want(0, "", "projects", "save", scene, "--name", "ABL1", "--tag", "kinase", "--json")
	if err := json.Unmarshal([]byte(made), &project); err != nil {
		t.Fatal(err)
	}
	id := project.ProjectID
	save(`{"structures":[]}`)
	saved, _ := sh.want(0, "", "projects", "save", scene, "--project", id)
	sh.contains(saved, "saved as version 2")
	_, conflict := sh.want(5, "", "projects", "save", scene, "--project", id, "--expect", "1")
	sh.contains(conflict, "nothing was changed", "version 2 by now", "--expect 2")
	sh.want(0, "", "projects", "restore", id, "1")
	history, _ := sh.want(0, "", "projects", "history", id)
	sh.contains(history, "version 1")
	if content, _ := sh.want(0, "", "projects", "show", id, "-o", "-"); !strings.Contains(content, "1IEP") {
		t.Errorf("the restored content is %s", content)
	}
	if content, _ := sh.want(0, "", "projects", "show", id, "--version", "2", "-o", "-"); strings.Contains(content, "1IEP") {
		t.Errorf("version 2 is %s", content)
	}
	link, _ := sh.want(0, "", "projects", "share", id)
	shown, _ := sh.want(0, "", "projects", "show", id)
	sh.contains(shown, "ABL1", "kinase", "version 3 at "+link)
	list, _ := sh.want(0, "", "projects", "list")
	sh.contains(list, id, "version 3")
	sh.want(0, "", "projects", "revoke", id)
	sh.want(0, "", "projects", "delete", id, "--yes")
	_, gone := sh.want(4, "", "projects", "show", id)
	sh.contains(gone, "molfabric projects list")

	_, key := sh.want(0, "", "keys", "create", "course", "--expires", "90d")
	sh.contains(key, "stops by itself on")
	sh.want(5, "", "keys", "create", "course", "--expires", "3000d")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	added, _ := sh.want(0, "", "licenses", "add", "Render licences", "--vendor", "SideFX", "--product", "Houdini Engine",
		"--protocol", "sesi", "--address", listener.Addr().String(), "--seats", "4", "--json")
	var server contract.LicenseServer
	if err := json.Unmarshal([]byte(added), &server); err != nil {
		t.Fatal(err)
	}
	// The service does not connect to its own network on a user's word.
	_, tested := sh.want(1, "", "licenses", "test", server.ID)
	sh.contains(tested, "NOT_READY")
	sh.want(0, "", "licenses", "remove", server.ID)
	none, _ := sh.want(0, "", "licenses", "list")
	sh.contains(none, "No licence servers")
	sh.webhooks()
	sh.notices()

	tiers, _ := sh.want(0, "", "topup")
	sh.contains(tiers, "£")
	_, unknown := sh.want(5, "", "topup", "no-such-tier")
	sh.contains(unknown, "UNKNOWN_TIER")
	c := sh.api()
	sh.eventually("a worker is there", func() bool {
		status, err := c.ServiceStatus(t.Context())
		return err == nil && status.Body.Status == "operational"
	})
	service, _ := sh.want(0, "", "service")
	sh.contains(service, "operational", "autodock-vina")
}
