package api_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// TestOperatorsSeeHowTheDeploymentDoes: whose address is configured and proved, in a browser; nobody else learns that there is
// something to see.
func TestOperatorsSeeHowTheDeploymentDoes(t *testing.T) {
	t.Parallel()
	operators := []string{"somebody@example.org"}
	d := open(t, func(deps *api.Deps) {
		apitest.Unhurried(deps)
		deps.Config.Operators = operators
		deps.Groups = append(deps.Groups, productGroups(deps)...)
	})
	browser, other := d.SignUp(), d.SignUp()
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := d.DB.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{"/api/v1/operator/fleet", "/api/v1/operator/queues", "/api/v1/operator/alerts"}
	seen := func(c *apitest.Caller, want bool) {
		t.Helper()
		session := c.Send("GET", "/api/v1/auth/session", "")
		if got := strings.Contains(session.Text, `"operator":true`); got != want {
			t.Errorf("the session says %s, want operator %v", session.Text, want)
		}
		for _, path := range paths {
			got := c.Send("GET", path, "")
			if want && got.StatusCode != 200 {
				t.Errorf("%s: got %d %s", path, got.StatusCode, got.Text)
			}
			if !want {
				wantFailure(t, got, 404, fault.NotFound, "")
			}
		}
	}
	exec(`UPDATE accounts SET email = 'Somebody@example.org', email_verified_at = NULL WHERE id = $1`, browser.AccountID)
	seen(browser, false) // anybody could have stated it
	exec(`UPDATE accounts SET email_verified_at = now()`)
	seen(browser, true)
	seen(other, false)
	_, key := browser.Key("live", contract.Scopes...)
	for _, path := range paths {
		wantFailure(t, d.WithKey(key).Send("GET", path, ""), 403, fault.SessionRequired, "")
	}

	exec(`INSERT INTO jobs (id, account_id, job_type, job_name, scene_file, request, status, stage_count, task_count, estimated_pence,
			held_pence, error_code, finished_at, created_at, updated_at)
		VALUES ('job_failed', $1, 'molecular', '', '', '{}', 'FAILED', 1, 1, 0, 0, 'TIMEOUT', now(), now(), now()),
		('job_waits', $1, 'molecular', 'secret name', '', '{}', 'QUEUED', 2, 3, 0, 0, NULL, NULL, now() - interval '1 hour', now())`,
		other.AccountID)
	exec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready, status)
		VALUES ('task_1', 'job_waits', $1, 0, 'dock', 0, 'secret name', true, 1, 'cpu.autodock-vina', true, 'PENDING'),
		('task_2', 'job_waits', $1, 1, 'dock', 0, 'another', true, 1, 'cpu.autodock-vina', true, 'RUNNING'),
		('task_3', 'job_waits', $1, 2, 'sum', 1, 'later', true, 1, 'cpu.autodock-vina', false, 'PENDING')`, other.AccountID)
	queues := browser.Send("GET", paths[1], "").Text
	for _, want := range []string{`"class":"cpu.autodock-vina","waiting":1,"running":1,"workers":0,"oldestWaitsSince":"`} {
		if !strings.Contains(queues, want) {
			t.Errorf("the queues lack %s: %s", want, queues)
		}
	}
	alerts := browser.Send("GET", paths[2], "").Text
	for _, want := range []string{`"name":"NoSchedulerLeads"`, `"name":"NoWorkers","subject":"cpu.autodock-vina","count":1`,
		`"name":"JobsFail","subject":"TIMEOUT","count":1`} {
		if !strings.Contains(alerts, want) {
			t.Errorf("the alerts lack %s: %s", want, alerts)
		}
	}
	if strings.Contains(queues+alerts, "secret") || strings.Contains(queues+alerts, other.AccountID) {
		t.Errorf("an operator sees what an account has: %s %s", queues, alerts)
	}

	// The lock that a leading scheduler holds.
	conn, err := d.DB.Connx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `SELECT pg_advisory_lock(hashtext('molfabric scheduler ' || current_schema()))`); err != nil {
		t.Fatal(err)
	}
	if got := browser.Send("GET", paths[2], ""); got.StatusCode != 200 || strings.Contains(got.Text, "NoSchedulerLeads") {
		t.Errorf("while one leads: %d %s", got.StatusCode, got.Text)
	}
}
