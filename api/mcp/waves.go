package mcp

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/molfabric/molfabric/internal/fault"
)

// wavesTool submits a case of the wave model with the few things that it can be told; submit_job takes the rest.
func wavesTool() *sdk.Tool {
	t := tool{
		name: "run_waves", title: "Run a case of the wave models SWAN and WAVEWATCH III", hints: adds(),
		description: "Submits a case of SWAN, the model of waves near the shore, or of WAVEWATCH III, that of oceans and seas, " +
			"and SPENDS CREDIT, as submit_job does: call estimate_job first (jobType simulation, simulator swan or wavewatch3) " +
			"and " +
			"have the price agreed. sceneFile is the s3Key of the " +
			"case, a .zip or .tar.gz with the decks and every file that they name. A deck is read before anything is charged, " +
			"and the first thing wrong with it is named with its line. get_job_outputs lists what the decks wrote, maps, " +
			"fields.nc, results.json and report.html. A job whose run did not converge ends as COMPLETED_WITH_FAILURES and says " +
			"how far it came: do not report its numbers as results. Needs a live key with the scope jobs:write.",
	}
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	return t.described(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"sceneFile"},
		"properties": map[string]any{
			"sceneFile": text("The s3Key of the case, from create_upload_url."),
			"decks": map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "minItems": 1, "maxItems": 100,
				"description": "Decks to run, by their names in the case. Default: INPUT, else every .swn file at its top."},
			"scenarios": text("A table of scenarios of swan, by its name in the case: CSV whose first column is name. Each row " +
				"is a run of the one deck, with the row's cells in place of {column}; scenarios.csv gathers the results."),
			"model": map[string]any{"type": "string", "enum": []string{"swan", "wavewatch3"}, "default": "swan",
				"description": "The model that the case is of: wavewatch3 where it has ww3_grid.nml."},
			"switches": text("Of wavewatch3 the build to use: the SHA-256 of its switch file, or at least its first 12 digits. " +
				"Default: that of the case's file named switch, else the only build there is."),
			"start": map[string]any{"type": "string", "enum": []string{"restart", "cold"},
				"description": "Of wavewatch3 what it begins with. Default: restart where the case has restart.ww3, else cold."},
			"resumable": map[string]any{"type": "boolean", "default": false,
				"description": "Save a run over time on the way, so that it goes on when its worker is lost."},
			"jobName":        text("Name of the job, for people."),
			"idempotencyKey": text("8 to 255 characters: the same call with the same key makes no second job."),
		},
	})
}

// waveMembers are the members of simulationParams by the names of arguments.
var waveMembers = map[string]string{"decks": "waveDecks", "switches": "waveSwitches", "start": "waveStart",
	"scenarios": "waveScenarios"}

// wavesArguments are those of submit-job that a run of the wave model makes of its own.
func wavesArguments(arguments json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, fault.New(fault.Validation, "arguments: must be an object with the member sceneFile")
	}
	params := map[string]any{}
	request := map[string]any{"jobType": "simulation", "simulator": "swan", "simulationParams": params}
	for _, name := range sortedNames(members) {
		switch name {
		case "sceneFile", "jobName", "idempotencyKey":
			request[name] = members[name]
		case "model":
			request["simulator"] = members[name]
		case "decks", "switches", "start", "scenarios":
			params[waveMembers[name]] = members[name]
		case "resumable":
			var resumable bool
			if err := json.Unmarshal(members[name], &resumable); err != nil {
				return nil, fault.New(fault.Validation, "resumable: must be true or false")
			}
			if resumable {
				request["recovery"] = map[string]any{"mode": "resumable"}
			}
		default:
			return nil, fault.New(fault.Validation, "%s: is no argument of this tool", name)
		}
	}
	return json.Marshal(request)
}
