package object

import "testing"

func TestIsUpload(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{
		UploadsOf("acct_1") + "upl_2/ligand.sdf":            true,
		UploadsOf("acct_1") + "projects/3/in/receptor.pdb":  true,
		"accounts/acct_1/jobs/job_2/task_3/1/uploads/x.sdf": false,
		"accounts/uploads/x.sdf":                            false,
		"databases/blast/ab/proteome.phr":                   false,
		"public/structures/ab.cif":                          false,
		"uploads/x.sdf":                                     false,
		"":                                                  false,
	} {
		if got := IsUpload(key); got != want {
			t.Errorf("IsUpload(%q) = %v, want %v", key, got, want)
		}
	}
}
