// Package arch holds the architecture's import rules as a test, and no code. Doors open in one direction:
//
//	main → all · api → scheduler, billing, engines · scheduler → billing, engines · worker → engines ·
//	everybody → internal · nothing points back
package arch

// room is a folder with everything below it, and the folders of this module that its code may import beside its own. The longest
// folder that a package lies in decides; main, the folder ".", is the package in it alone. Tests may import what they need.
type room struct {
	folder string
	may    []string
}

var rooms = []room{
	{".", []string{"api", "scheduler", "worker", "engines", "billing", "internal"}},

	{"api", []string{"scheduler", "billing", "engines", "internal"}},
	{"scheduler", []string{"billing", "engines", "internal"}},
	{"worker", []string{"engines", "internal"}},
	{"billing", []string{"internal"}},
	{"engines", []string{"internal"}},

	{"internal", []string{"internal"}},
	{"internal/roles", []string{"api", "scheduler", "worker", "engines", "billing", "internal"}}, // wires the processes for main
	{"internal/operator", []string{"api", "billing", "internal"}},                                // commands for who runs a deployment
	{"internal/queue", []string{"engines", "internal"}},                                          // carries shards and their results
	{"internal/plans", []string{"engines", "internal"}},                                          // keeps shards
	{"internal/bench", []string{"worker", "engines", "billing", "internal"}},                     // plans like the fabric, pays its jobs, and is its fleet
	{"internal/sim", []string{"scheduler", "engines", "billing", "internal"}},                    // lets the scheduler live in memory
	{"internal/chaos", []string{"worker", "engines", "billing", "internal"}},                     // computes what jobs should have cost, and attacks from within a task
	{"internal/cli", []string{
		"internal/abl1", "internal/client", "internal/fault", "internal/frames", "internal/job", "internal/mol", "internal/smiles",
	}},
	{"internal/client", []string{"internal/fault", "internal/job", "internal/mol"}},
	{"internal/job", []string{}},
	{"internal/fault", []string{}},
	{"internal/e2e", []string{}}, // tests alone
}

// strangers are folders whose children do not import each other, but for the shared ones; what lies directly in the folder may
// import them all.
type strangers struct {
	folder string
	shared []string
}

var separate = []strangers{
	{"api", []string{"api/access", "api/export", "api/page", "api/strictjson", "api/throttle"}},
	{"engines", []string{"engines/program"}},
}

// gatherings are packages that exist to bring strangers together.
var gatherings = []string{"engines/all"}

// only says which folders alone may import a package or anything below it.
type only struct {
	imported string
	folders  []string
	why      string
}

var exclusive = []only{
	{module + "/internal/roles", []string{".", "internal/operator"}, "only commands import the wiring of the processes"},
	{module + "/internal/postgres", databaseRooms, noDatabase},
	{"github.com/jmoiron/sqlx", databaseRooms, noDatabase},
	{"github.com/lib/pq", databaseRooms, noDatabase},
	{"database/sql", databaseRooms, noDatabase},
	{"github.com/pressly/goose", []string{"internal/postgres"}, "one place migrates"},
	// The benchmarks run molfabric as others do, and its peers; the chaos suite its processes, to kill them. A sequence database is built where its FASTA lies.
	{"os/exec", []string{"worker", "internal/proc", "internal/servers", "internal/roles", "internal/bench", "internal/chaos", "internal/sequences"}, "engines describe processes; the worker runs them, `molfabric up` its servers"},
	{"github.com/gofiber", []string{"api"}, webFramework},
	{"github.com/danielgtaylor/huma/v2/adapters", []string{"api"}, webFramework},
	{"github.com/valyala/fasthttp", []string{"api"}, webFramework},
	{"github.com/hibiken/asynq", []string{"internal/queue", "internal/bench"}, "the rest sees the queue's own small face; the benchmarks run it bare"},
	{"github.com/stripe", []string{"api/credits"}, "the rest knows tiers and a ledger, no payment provider"},
	{"github.com/versity", []string{"internal/object"}, "the rest sees an S3 endpoint"},
	{"github.com/aws", []string{"internal/object"}, "the rest sees our object store"},
	{"github.com/spf13/cobra", []string{".", "internal/cli", "internal/operator"}, "commands are the outermost layer"},
	{"github.com/vbauerster/mpb", []string{"internal/cli"}, "only the client draws on terminals"},
	{"testing", testRooms, "helpers of tests stay out of the product"},
}

const (
	noDatabase   = "a worker, a client and an engine hold no database credentials"
	webFramework = "only the front door knows its web framework"
)

var (
	databaseRooms = []string{"api", "scheduler", "billing", "internal/audit", "internal/auditlog", "internal/bench", "internal/chaos", "internal/idempotency", "internal/outage", "internal/plans", "internal/sequences", "internal/structures", "internal/postgres", "internal/roles", "internal/servers"}
	testRooms     = []string{"api/apitest", "engines/enginestest", "internal/object/objecttest", "internal/postgres/pgtest", "internal/redistest", "internal/servers/serverstest"}
)

// purity keeps a folder to values and functions over them, by what it must never import.
type purity struct {
	folder string
	never  []string
}

var pure = []purity{
	{"internal/job", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/fault", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/frames", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/mol", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/cif", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/coordinates", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/smiles", []string{"os", "net", "io/fs", "syscall"}},
	{"internal/molviewspec", []string{"os", "net/http", "syscall"}}, // reads addresses
	{"internal/id", []string{"os", "net", "io/fs", "syscall"}},
	{"engines", []string{"net", "syscall"}}, // Collect reads files
}

// sqlPlaces are where SQL may stand beside files named store*.go and tests.
var sqlPlaces = []string{
	"internal/postgres",
	"internal/servers/postgres.go", // asks a new server whether its database is there
	"scheduler/election.go",        // takes the advisory lock of the leader; no table is named
}
