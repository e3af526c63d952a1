// Package rocrate describes a folder of research results as an RO-Crate 1.1 (https://w3id.org/ro/crate/1.1): JSON-LD that says what
// each file is, which programs made it from what, and what to cite. It follows the profile Process Run Crate. It knows no
// storage and no science: it turns values into one document.
package rocrate

import (
	"encoding/json"
	"fmt"
	"time"
)

// MetadataFile is the name that the document has in the folder that it describes.
const MetadataFile = "ro-crate-metadata.json"

const (
	context     = "https://w3id.org/ro/crate/1.1/context"
	conformsTo  = "https://w3id.org/ro/crate/1.1"
	processRun  = "https://w3id.org/ro/wfrun/process/0.5"
	completed   = "http://schema.org/CompletedActionStatus"
	failed      = "http://schema.org/FailedActionStatus"
	rootDataset = "./"
	// clock writes times of actions, in UTC, in the one form of ISO 8601 that checkers of the profile take.
	clock = "2006-01-02T15:04:05+00:00"
)

// Crate is a folder and how it came to be. IDs are unique within it.
type Crate struct {
	Name        string
	Description string
	Published   time.Time
	License     string // URL or text; RO-Crate wants one
	Identifier  string // of the thing described, in its service
	Files       []File
	Programs    []Program
	Actions     []Action
	Properties  []Property // parameters and figures of the whole
	Citations   []Citation
}

// File is a file of the folder, or one that lies elsewhere and is known by its digest alone.
type File struct {
	Path        string // within the folder, with slashes; of a file that is not in it, any name
	Elsewhere   bool   // the file is not in the folder
	Name        string // for people; the path when empty
	Description string
	MediaType   string
	SHA256      string // hex
	ByteSize    int64
}

// Program is a piece of software that took part.
type Program struct {
	Name    string
	Version string
	URL     string // home page; "" when there is none
}

// Action is a run of a program. Programs, Inputs and Outputs name others by Program.Name and File.Path.
type Action struct {
	ID          string
	Name        string
	Description string // e.g. the command line
	Program     string
	Inputs      []string
	Outputs     []string
	StartedAt   *time.Time
	EndedAt     *time.Time
	Failed      bool
}

// Property is a named value: a parameter, a seed, a cost.
type Property struct {
	Name  string
	Value any    // a JSON value
	Unit  string // "" when it has none
}

// Citation is a paper. Without a DOI it is named by its text.
type Citation struct {
	Text string
	DOI  string
}

type entity map[string]any

type reference struct {
	ID string `json:"@id"`
}

// Metadata writes the document. One crate gives one text, byte for byte.
func (c Crate) Metadata() ([]byte, error) {
	graph := []entity{
		{"@id": MetadataFile, "@type": "CreativeWork", "about": reference{rootDataset}, "conformsTo": reference{conformsTo}},
		c.root(),
		{"@id": processRun, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
	}
	for _, file := range c.Files {
		graph = append(graph, file.entity())
	}
	for _, program := range c.Programs {
		graph = append(graph, program.entity())
	}
	ids := map[string]string{}
	for _, file := range c.Files {
		ids[file.Path] = file.id()
	}
	for _, action := range c.Actions {
		graph = append(graph, action.entity(ids))
	}
	for i, property := range c.Properties {
		graph = append(graph, property.entity(i))
	}
	for i, citation := range c.Citations {
		graph = append(graph, entity{"@id": citation.id(i), "@type": "ScholarlyArticle", "name": citation.Text})
	}
	text, err := json.MarshalIndent(map[string]any{"@context": context, "@graph": graph}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write crate: %w", err)
	}
	return append(text, '\n'), nil
}

func (c Crate) root() entity {
	root := entity{
		"@id": rootDataset, "@type": "Dataset", "name": c.Name, "description": c.Description, "license": c.License,
		"datePublished": c.Published.UTC().Format(time.RFC3339), "conformsTo": reference{processRun},
	}
	if c.Identifier != "" {
		root["identifier"] = c.Identifier
	}
	parts, mentions, about, cites := []reference{}, []reference{}, []reference{}, []reference{}
	for _, file := range c.Files {
		if file.Elsewhere {
			mentions = append(mentions, reference{file.id()})
		} else {
			parts = append(parts, reference{file.id()})
		}
	}
	for _, action := range c.Actions {
		mentions = append(mentions, reference{actionID(action)})
	}
	for i, property := range c.Properties {
		about = append(about, reference{property.id(i)})
	}
	for i, citation := range c.Citations {
		cites = append(cites, reference{citation.id(i)})
	}
	for name, list := range map[string][]reference{"hasPart": parts, "mentions": mentions, "variableMeasured": about,
		"citation": cites} {
		root.refer(name, list)
	}
	return root
}

// refer adds a member that refers to others. A list of one is written as that one.
func (e entity) refer(name string, list []reference) {
	switch len(list) {
	case 0:
	case 1:
		e[name] = list[0]
	default:
		e[name] = list
	}
}

// id of a file elsewhere is a name of its content, so that no path of the folder is claimed for it.
func (f File) id() string {
	if f.Elsewhere {
		return "urn:sha256:" + f.SHA256 + ":" + f.Path
	}
	return f.Path
}

func (f File) entity() entity {
	e := entity{"@id": f.id(), "@type": "File", "name": f.Path}
	if f.Elsewhere {
		e["@type"] = "CreativeWork" // a File would have to be part of the crate
	}
	if f.Name != "" {
		e["name"] = f.Name
	}
	for name, value := range map[string]string{"description": f.Description, "encodingFormat": f.MediaType, "sha256": f.SHA256} {
		if value != "" {
			e[name] = value
		}
	}
	if f.ByteSize > 0 {
		e["contentSize"] = fmt.Sprint(f.ByteSize)
	}
	return e
}

func (p Program) entity() entity {
	e := entity{"@id": programID(p.Name), "@type": "SoftwareApplication", "name": p.Name, "softwareVersion": p.Version}
	if p.URL != "" {
		e["url"] = p.URL
	}
	return e
}

// entity needs the ids of the crate's files by their paths.
func (a Action) entity(ids map[string]string) entity {
	e := entity{"@id": actionID(a), "@type": "CreateAction", "name": a.Name, "instrument": reference{programID(a.Program)},
		"actionStatus": completed}
	if a.Failed {
		e["actionStatus"] = failed
	}
	if a.Description != "" {
		e["description"] = a.Description
	}
	if a.StartedAt != nil {
		e["startTime"] = a.StartedAt.UTC().Format(clock)
	}
	if a.EndedAt != nil {
		e["endTime"] = a.EndedAt.UTC().Format(clock)
	}
	e.refer("object", references(a.Inputs, ids))
	e.refer("result", references(a.Outputs, ids))
	return e
}

// references are those of the paths that the crate has a file of.
func references(paths []string, ids map[string]string) []reference {
	var out []reference
	for _, path := range paths {
		if id, known := ids[path]; known {
			out = append(out, reference{id})
		}
	}
	return out
}

func (p Property) id(number int) string { return fmt.Sprintf("#property-%d", number+1) }

func (p Property) entity(number int) entity {
	e := entity{"@id": p.id(number), "@type": "PropertyValue", "name": p.Name, "value": p.Value}
	if p.Unit != "" {
		e["unitText"] = p.Unit
	}
	return e
}

func (c Citation) id(number int) string {
	if c.DOI != "" {
		return "https://doi.org/" + c.DOI
	}
	return fmt.Sprintf("#citation-%d", number+1)
}

func programID(name string) string { return "#program-" + name }

func actionID(a Action) string { return "#action-" + a.ID }
