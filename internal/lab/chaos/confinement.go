package chaos

// confinement lists the rows of the scorecard that try to break out of a task or to overfill one: R15 to R17, or out of a
// worker: R21.
func confinement() []Test {
	return []Test{
		//nolint:gosec // G101: what passes, not a password
		{ID: "R15", Fault: "an engine's program is taken over: it reads secrets, connects, forks without end, writes outside, " +
			"follows links", Short: true, Run: confined,
			Passes: "denied and logged; neighbours unharmed"},
		//nolint:gosec // G101: as above
		{ID: "R16", Fault: "inputs that swell: zip bombs, deep JSON, a 2 GB line in a PDB file, the largest legal library",
			Short: true, Run: swelling,
			Passes: "4xx or a typed failure; memory and time caps hold"},
		{ID: "R17", Fault: "server-side request forgery: metadata address, loopback, redirects, file: in a scene", Short: true,
			Run:    forged,
			Passes: "not one packet out"},
		{ID: "R21", Fault: "a worker's credential in wrong hands: forged ends, bills, saves and heartbeats of others' attempts, " +
			"a permit used for other files; a credential of a worker's own is stolen, and another asks under its name", Short: true,
			Run: maliciousWorker,
			Passes: "all dropped and counted; results, attempts and charges are the honest worker's; the object store refuses; " +
				"the stolen credential ends by time and by command, and what its worker held runs elsewhere, charged once"},
	}
}
