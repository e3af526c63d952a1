package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// guidePaths are where the guide for language models is served (llmstxt.org), and where some look for it.
var guidePaths = []string{"/llms.txt", "/.well-known/llms.txt"}

// guide is all of it but the list of operations. {{title}}, {{about}}, {{document}} and {{prefix}} stand for what the OpenAPI
// document says.
const guide = `# {{title}}

> {{about}}

Work is submitted as jobs, runs on the service's workers, and is paid from a credit balance in GBP.

- [API reference](/docs): every operation, to read and to try
- [OpenAPI 3.1 document]({{document}}): the contract, also at /.well-known/openapi.json
- [Model Context Protocol](/mcp): the same operations as tools, streamable HTTP, with the same API keys

## Authenticate

Send ` + "`Authorization: Bearer <API key>`" + ` with every request. A signed-in user creates keys (POST {{prefix}}/v1/keys), each with the scopes it needs:
jobs:read, jobs:write, credits:read, projects:read, projects:write, convert, molecular:chat. A key ` + "`svc_live_…`" + ` spends credit; ` + "`svc_test_…`" + ` is never
billed and cannot submit jobs.

## Rules

- Bodies are JSON. Unknown members are refused, and null stands only where the document allows it.
- Every failure is ` + "`{\"error\": message, \"code\": CODE}`" + `: the message names the wrong member. After 429 and 503 wait for Retry-After seconds.
- Lists take limit (1 to 100) and cursor, and answer nextCursor, null on the last page.
- Give every submission an idempotencyKey (8 to 255 characters): repeating it with the same request never starts a second job.
- Ask for an estimate and have it agreed before submitting: a submission holds its price at once. A job is never charged above
  its hold.

## Dock a ligand

1. POST {{prefix}}/v1/jobs/upload-url ` + "`{\"filename\": \"receptor.pdb\", \"contentType\": \"chemical/x-pdb\", \"size\": 123456}`" + `
   answers uploadUrl, headers and s3Key. PUT the file to uploadUrl with exactly these headers.
2. POST {{prefix}}/v1/jobs/estimate with the body of step 3 without jobName and idempotencyKey answers estimatedCost, and in
   knownTasks how many of its tasks the account has run before: these cost nothing.
3. POST {{prefix}}/v1/jobs/submit

` + "```json" + `
{
  "jobType": "simulation", "simulator": "autodock-vina", "jobName": "aspirin in ABL1", "idempotencyKey": "aspirin-abl1-1",
  "sceneFile": "<s3Key of step 1>",
  "simulationParams": {
    "boxCenterAngstrom": [15.85, 14.65, 3.90], "boxSizeAngstrom": 20, "exhaustiveness": 8, "seed": 42,
    "ligandIdentity": {"ligandId": "aspirin", "label": "Aspirin", "source": {"kind": "smiles", "smiles": "CC(=O)Oc1ccccc1C(=O)O"}}
  }
}
` + "```" + `

4. GET {{prefix}}/v1/jobs/{jobId}/status every Retry-After seconds until terminal is true. Many ligands go into ligandLibrary in
   place of ligandIdentity.
5. GET {{prefix}}/v1/jobs/{jobId}/outputs lists the files: results.json and results.csv rank the ligands (kcal/mol, lower is
   better), best.sdf and poses/ hold the poses. "exhaustiveness": "auto" searches each ligand until independent searches agree;
   a result's convergence says whether they do. The addresses are short-lived: ask again rather than store them.

## Draw a molecule

1. POST {{prefix}}/v1/molecular/studio/sessions ` + "`{\"source\": \"pdb:1CBS\"}`" + ` answers sessionId; a source may also be pose:ID, run:ID,
   frame:JOB/N, artifact:ID or upload:KEY.
2. POST {{prefix}}/v1/molecular/studio/sessions/{sessionId}/messages ` + "`{\"message\": \"show the ligand as sticks and its pocket\"}`" + `
   answers what was done, counted on the coordinates. A question is answered by the next message; what was not understood changed
   nothing.
3. POST {{prefix}}/v1/molecular/studio/renders/preview ` + "`{\"sessionId\": \"…\"}`" + ` answers with a small PNG at once;
   POST {{prefix}}/v1/molecular/studio/renders orders a picture as a job.
`

// described is what the guide needs of the OpenAPI document.
type described struct {
	Info    struct{ Title, Description string }
	Servers []struct{ URL string }
	Paths   map[string]map[string]struct {
		Tags       []string
		Summary    string
		Deprecated bool
	}
}

// MountGuide adds the guide for language models, made from the OpenAPI document, which is served at documentPath. An error
// means that the document cannot be read.
func MountGuide(app *fiber.App, document []byte, documentPath string) error {
	var d described
	if err := json.Unmarshal(document, &d); err != nil {
		return fmt.Errorf("read the OpenAPI document: %w", err)
	}
	text := []byte(d.guide(documentPath))
	for _, path := range guidePaths {
		app.Get(path, func(c *fiber.Ctx) error { return send(c, "llms.txt", text) })
	}
	return nil
}

func (d described) guide(documentPath string) string {
	words := strings.NewReplacer("{{title}}", d.Info.Title, "{{about}}", d.Info.Description, "{{document}}", documentPath,
		"{{prefix}}", d.prefix())
	return words.Replace(guide) + d.list()
}

func (d described) prefix() string {
	if len(d.Servers) == 0 {
		return ""
	}
	return d.Servers[0].URL
}

// list names every operation that is not deprecated, by the first of its tags.
func (d described) list() string {
	lines := map[string][]string{}
	for path, methods := range d.Paths {
		for method, operation := range methods {
			if operation.Deprecated {
				continue
			}
			tag := "Other"
			if len(operation.Tags) > 0 {
				tag = operation.Tags[0]
			}
			lines[tag] = append(lines[tag], fmt.Sprintf("- %s %s: %s\n", strings.ToUpper(method), d.prefix()+path,
				operation.Summary))
		}
	}
	var text strings.Builder
	text.WriteString("## Operations\n")
	for _, tag := range slices.Sorted(maps.Keys(lines)) {
		slices.SortFunc(lines[tag], byPath)
		fmt.Fprintf(&text, "\n### %s\n\n%s", tag, strings.Join(lines[tag], ""))
	}
	return text.String()
}

// byPath orders lines "- GET /api/v1/jobs: …" by what follows the method.
func byPath(a, b string) int {
	return strings.Compare(strings.Join(strings.Fields(a)[2:], " "), strings.Join(strings.Fields(b)[2:], " "))
}
