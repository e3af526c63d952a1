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
	// commands for who runs a deployment
	{"internal/operator", []string{"api", "billing", "internal"}},
	{"internal/queue", []string{"engines", "internal"}}, // carries shards and their results
	{"internal/plans", []string{"engines", "internal"}}, // keeps shards
	// tries the product from outside and within
	{"internal/lab", []string{"scheduler", "worker", "engines", "billing", "internal"}},
	{"internal/cli", []string{
		"internal/abl1", "internal/casefile", "internal/client", "internal/contract", "internal/fasta", "internal/fault",
		"internal/frames", "internal/job", "internal/mol", "internal/receipt", "internal/smiles",
	}},
	{"internal/receipt", []string{"internal/secret"}},
	{"internal/client", []string{"internal/contract", "internal/fault", "internal/job", "internal/mol"}},
	{"internal/contract", []string{"internal/job", "internal/mol"}},
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
	{"api", []string{"api/access", "api/list", "api/news", "api/stream", "api/strictjson", "api/throttle", "api/wire"}},
	{"engines", []string{"engines/fold", "engines/pockets", "engines/python", "engines/render", "engines/waves"}},
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
	{module + "/internal/roles", []string{".", "internal/roles", "internal/operator", "internal/lab"},
		"only commands import the wiring of the processes"},
	{module + "/internal/postgres", databaseRooms, noDatabase},
	{"github.com/jmoiron/sqlx", databaseRooms, noDatabase},
	{"github.com/lib/pq", databaseRooms, noDatabase},
	{"database/sql", databaseRooms, noDatabase},
	{"github.com/pressly/goose", []string{"internal/postgres"}, "one place migrates"},
	// The benchmarks run molfabric as others do, and its peers; the chaos suite its processes, to kill them. A sequence database is
	// built where its FASTA lies.
	{"os/exec", []string{"worker", "internal/proc", "internal/servers", "internal/roles", "internal/lab", "internal/sequences",
		"internal/fleet"}, "engines describe processes; the worker runs them, `molfabric up` its servers"},
	{"github.com/gofiber", []string{"api"}, webFramework},
	{"github.com/danielgtaylor/huma/v2/adapters", []string{"api"}, webFramework},
	{"github.com/valyala/fasthttp", []string{"api"}, webFramework},
	{"github.com/hibiken/asynq", []string{"internal/queue", "internal/lab/bench"},
		"the rest sees the queue's own small face; the benchmarks run it bare"},
	{"github.com/stripe", []string{"api/credits"}, "the rest knows tiers and a ledger, no payment provider"},
	{"github.com/sashabaranov/go-openai", []string{"internal/director/model"}, "the rest sees operations, whoever understood them"},
	{"github.com/versity", []string{"internal/object/versity"}, "the rest sees an S3 endpoint"},
	{module + "/internal/object/versity", []string{"internal/object/molfabric-store"}, noServer},
	{"github.com/aws", []string{"internal/object"}, "the rest sees our object store"},
	{"github.com/spf13/cobra", []string{".", "internal/cli", "internal/operator", "internal/lab"},
		"commands are the outermost layer"},
	{"github.com/vbauerster/mpb", []string{"internal/cli"}, "only the client draws on terminals"},
	{module + "/internal/lab", []string{"internal/lab"}, "the product holds nothing of what it is tried with"},
	{"testing", testRooms, "helpers of tests stay out of the product"},
}

const (
	noServer     = "the embedded S3 server is a program of its own, so that a worker's program has nothing of what it is made of"
	noDatabase   = "a worker, a client and an engine hold no database credentials"
	webFramework = "only the front door knows its web framework"
)

var (
	databaseRooms = []string{"api", "scheduler", "billing", "internal/audit", "internal/auditlog", "internal/lab",
		"internal/idempotency", "internal/outage", "internal/plans", "internal/sequences", "internal/structures",
		"internal/postgres", "internal/roles", "internal/secret/resting", "internal/servers", "internal/weights"}
	testRooms = []string{"api/apitest", "engines/enginestest", "engines/fold/foldtest", "internal/object/objecttest",
		"internal/casefile/casetest", "internal/fleet/kubetest", "internal/fleet/slurmtest", "internal/mail/mailtest",
		"internal/postgres/pgtest", "internal/redistest", "internal/servers/serverstest"}
)

// purity keeps a folder to values and functions over them, by what it must never import. The folders in but are not kept to it.
type purity struct {
	folder string
	never  []string
	but    []string
}

var pure = []purity{
	{"internal/job", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/contract", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/fault", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/fasta", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/frames", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/mol", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/cif", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/director", []string{"os", "net", "io/fs", "syscall"}, []string{"internal/director/model"}},
	{"internal/coordinates", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/smiles", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/molviewspec", []string{"os", "net/http", "syscall"}, nil}, // reads addresses
	{"internal/scene", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"internal/id", []string{"os", "net", "io/fs", "syscall"}, nil},
	{"engines", []string{"net", "syscall"}, nil}, // Collect reads files
}

// sqlPlaces are where SQL may stand beside files named store*.go and tests.
var sqlPlaces = []string{
	"internal/postgres",
	"internal/servers/postgres.go", // asks a new server whether its database is there
	"scheduler/election.go",        // takes the advisory lock of the leader; no table is named
}
