package vina

import (
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// TestFewLigandsUseFreeCores plans tasks that may use the cores that nobody wants, unless the request says how many; what a task is
// granted reaches its command.
func TestFewLigandsUseFreeCores(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		ligands int
		threads *int
		more    int
	}{
		{"one ligand", 1, nil, 7}, {"two", 2, nil, 3}, {"seven", 7, nil, 1}, {"eight", 8, nil, 0}, {"a library", 100, nil,
			0}, {"threads given", 1, ptr(2), 0},
	} {
		request := requestFor(params(func(p *Params) {
			library(manyLigands(test.ligands, "CCO")...)(p)
			p.CPUThreads, p.Exhaustiveness = test.threads, nil
		}))
		shard := shardOf(t, request, stageDock)
		if shard.Needs.CPUs != valueOr(test.threads, 1) || shard.Needs.MoreCPUs != test.more ||
			shard.Needs.Processes < 32+2*(shard.Needs.CPUs+test.more) {
			t.Errorf("%s: got %d CPUs and %d more, %d processes; want %d more", test.name, shard.Needs.CPUs, shard.Needs.MoreCPUs,
				shard.Needs.Processes, test.more)
		}
		shard.Needs.CPUs += test.more
		command, err := New().Command(shard, engines.Dir(t.TempDir()))
		if want := []string{"1", "2", "3", "4", "5", "6", "7", "8"}[shard.Needs.CPUs-1]; err != nil ||
			command.Env["OMP_NUM_THREADS"] != want {
			t.Errorf("%s: the command has %s threads, %v; want %s", test.name, command.Env["OMP_NUM_THREADS"], err, want)
		}
	}
}

// TestGrantedCoresChangeNoPose docks with one core and with the three that a worker had free: the files are the same to the byte.
func TestGrantedCoresChangeNoPose(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{
		"receptor.pdbqt": readText(t, "testdata/rank-receptor.pdbqt"), "ligands.json": readText(t,
			"testdata/rank-ligands.json"), "box.json": peptideBox,
	}
	const ethanol = 6
	search := searchRequest(1)
	search["exhaustiveness"] = 4
	for name, search := range map[string]map[string]any{"fixed": search, "auto": autoSearchRequest(1, 42, 4, 8)} {
		poses := map[int]string{}
		for _, cores := range []int{1, 3} {
			dir, _, failure := runTaskOn(t, cores, "dock.py", map[string]any{"program": "dock.py", "indices": []int{ethanol},
				"search": search}, inputs)
			if failure != nil {
				t.Fatalf("got the failure %+v", failure)
			}
			poses[cores] = readText(t, filepath.Join(dir, "out/poses/00007.pdbqt"))
		}
		if poses[1] != poses[3] {
			t.Errorf("%s: the poses depend on the cores", name)
		}
	}
}
