package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/receipt"
)

// repetition is a submission as it is run again.
type repetition struct {
	request map[string]any
	keys    map[string]string // of files that it names, by their keys in the receipt
}

// readSubmission reads a submission as it was kept. Errors: errUnverified for one that is not the receipt's.
func readSubmission(text []byte, of receipt.Statement) (map[string]any, error) {
	if sum := sha256Hex(text); sum != of.Predicate.Parameters.Digest.SHA256 {
		return nil, unverified(fmt.Errorf("%s has the SHA-256 %s, and the receipt's submission %s", requestFile, sum,
			of.Predicate.Parameters.Digest.SHA256))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // which keeps the digits
	var request map[string]any
	if err := decoder.Decode(&request); err != nil || request == nil {
		return nil, invalidInput("%s: is not a JSON object", requestFile)
	}
	return request, nil
}

// repeat makes a kept submission one that runs it again, everything anew: without the caller's names for it, and of a docking with
// the drawn ligands alone. parts learn their ligands' ids. request is changed. Errors: errUnverified for poses of a ligand that the
// submission does not have.
func repeat(request map[string]any, of receipt.Statement, parts []part) error {
	delete(request, "dockingRequest")
	request["noReuse"] = true
	if files, ok := request["attachments"].([]any); ok { // those that no task has read are no files of the receipt
		request["attachments"] = slices.DeleteFunc(files, func(file any) bool { return !isInput(of, file) })
	}
	if !isDocked(of) {
		return nil
	}
	request["jobName"] = "sample of " + of.Predicate.Job.ID
	params, _ := request["simulationParams"].(map[string]any)
	if params == nil {
		return invalidInput("%s: simulationParams: is missing; a docking has them", requestFile)
	}
	if execution, ok := params["dockingExecution"].(map[string]any); ok {
		delete(execution, "preparedReceptor") // an account's own; it changes how a receptor is made, and not what comes of it
	}
	report, _ := params["dockingReport"].(map[string]any)
	if report == nil {
		report = map[string]any{}
	}
	report["picture"] = "none" // pictures are not compared
	params["dockingReport"] = report
	return drawLigands(params, parts)
}

// drawLigands leaves the drawn ligands, in the order of parts.
func drawLigands(params map[string]any, parts []part) error {
	library, isLibrary := params["ligandLibrary"].([]any)
	if one, ok := params["ligandIdentity"]; ok && !isLibrary {
		library = []any{one}
	} else if !isLibrary {
		library = []any{map[string]any{"ligandId": nativeName(params)}}
	}
	drawn := make([]any, len(parts))
	for i := range parts {
		if parts[i].place >= len(library) {
			return unverified(fmt.Errorf("%s is of ligand %d, and the submission has %d", parts[i].Name, parts[i].place+1,
				len(library)))
		}
		entry, _ := library[parts[i].place].(map[string]any)
		parts[i].ligand, _ = entry["ligandId"].(string)
		delete(entry, "confirmation") // another service's word on what a name means
		drawn[i] = entry
	}
	if isLibrary {
		params["ligandLibrary"] = drawn
	}
	return nil
}

// nativeName is the id of a structure's own ligand that is docked alone, where the submission names it.
func nativeName(params map[string]any) string {
	validation, _ := params["dockingValidation"].(map[string]any)
	reference, _ := validation["nativeReference"].(map[string]any)
	name, _ := reference["componentId"].(string)
	return first(strings.ToUpper(name), "the structure's own ligand")
}

func isInput(of receipt.Statement, value any) bool {
	key, isText := value.(string)
	return isText && slices.ContainsFunc(of.Predicate.Inputs, func(in receipt.Input) bool { return in.Name == key })
}

// eachText visits every text of a JSON value, at any depth, and puts what change returns in its place.
func eachText(value any, change func(string) string) any {
	switch value := value.(type) {
	case string:
		return change(value)
	case []any:
		for i := range value {
			value[i] = eachText(value[i], change)
		}
	case map[string]any:
		for name := range value {
			value[name] = eachText(value[name], change)
		}
	}
	return value
}

// inputsNamed are the receipt's files that a submission names, in the receipt's order.
func inputsNamed(request map[string]any, of receipt.Statement) []receipt.Input {
	texts := map[string]bool{}
	eachText(request, func(text string) string { texts[text] = true; return text })
	return slices.DeleteFunc(slices.Clone(of.Predicate.Inputs), func(in receipt.Input) bool { return !texts[in.Name] })
}

// readsScene tells whether a submission's tasks read its sceneFile: a docking with a receptor of its own does not.
func readsScene(request map[string]any, of receipt.Statement) bool {
	params, _ := request["simulationParams"].(map[string]any)
	return !isDocked(of) || params["receptorPdbId"] == nil && params["receptorArtifact"] == nil
}
