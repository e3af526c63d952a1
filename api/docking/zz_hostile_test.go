package docking_test

import (
	"testing"
	"time"
)

func TestHostileTimes(t *testing.T) {
	l := open(t)
	c := l.account()
	for i := range 40 {
		d := l.dock(c.AccountID, "COMPLETED", true, noon.Add(time.Duration(i)*time.Hour))
		l.exec(`INSERT INTO docking_results (id, account_id, run_id, ligand_index, ligand_id, label, source, prepare_task, dock_task, status, best_score_kcal_mol, ligand_efficiency, pose_count, interactions, created_at, updated_at)
			SELECT 'result_' || md5($1 || g::text), $2, $1, g, 'l' || g, 'ligand ' || g, 'smiles', 'p', 'd', 'COMPLETED', -random()*10, random(), 9,
			(SELECT array_agg('A:ASP:' || (g+k)%400 || ':hydrogen_bond') FROM generate_series(1,12) k), $3, $3 FROM generate_series(0, 9999) g`, d.run, c.AccountID, noon.Add(time.Duration(i)*time.Hour))
	}
	l.exec(`ANALYZE`)
	for _, p := range []string{"/runs?limit=100", "/batches?limit=100", "/results?limit=100", "/results?limit=100&sort=score", "/results?limit=100&sort=label&interaction=A:*:381:*&interaction=*:ASP:*:*&interaction=*:*:12:hydrogen_bond&interaction=*:*:*:metal_complex",
		"/results?limit=100&q=zzzz", "/results?limit=100&interaction=*:*:*:metal_complex&interaction=*:*:1:*&interaction=*:X:*:*"} {
		begin := time.Now()
		got := c.Send("GET", base+p, "")
		t.Logf("%s: %d %d bytes in %s", p, got.StatusCode, len(got.Text), time.Since(begin).Round(time.Millisecond))
	}
	begin := time.Now()
	got := c.Send("GET", base+"/results?sort=score", "", "Accept", "text/csv")
	t.Logf("csv: %d %d bytes in %s", got.StatusCode, len(got.Text), time.Since(begin).Round(time.Millisecond))
}
