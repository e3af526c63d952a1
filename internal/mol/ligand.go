package mol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// DefaultProtonationPh is the pH at which ligands and receptors are protonated unless the request says otherwise.
const DefaultProtonationPh = 7.4

// LigandEntry is one ligand of a docking request (doc/contract.md §2.2). Its members, and those below it, are declared
// in the order of their names in JSON: canonical requests have them sorted, and a library is too long to be sorted each time.
type LigandEntry struct {
	Confirmation *LigandConfirmation `json:"confirmation,omitempty" doc:"Token of a ligand look-up that the caller has confirmed."`
	Label        string              `json:"label" minLength:"1" maxLength:"512" doc:"Name for people."`
	LigandID     string              `json:"ligandId" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]*$" doc:"The caller's id of the ligand; unique in the library."`
	Preparation  *LigandPreparation  `json:"preparation,omitempty" doc:"How to prepare the ligand. Default: pH 7.4, with hydrogens and generated coordinates."`
	Source       LigandSource        `json:"source" doc:"What the ligand is."`
}

// Completed returns the entry with every default filled in; the receiver is unchanged.
func (e LigandEntry) Completed() LigandEntry {
	preparation := e.Preparation.Completed()
	e.Preparation = &preparation
	return e
}

// LigandConfirmation carries what a ligand look-up answered.
type LigandConfirmation struct {
	Query    string `json:"query" minLength:"1" maxLength:"512" doc:"What was looked up."`
	SourceID string `json:"sourceId" minLength:"1" maxLength:"128" doc:"Id of the candidate in its source."`
	Token    string `json:"token" minLength:"32" maxLength:"8192" doc:"Token of the confirmed candidate."`
}

// LigandPreparation says how a ligand gets its protons and coordinates.
type LigandPreparation struct {
	AddHydrogens  *bool    `json:"addHydrogens,omitempty" enum:"true" default:"true" doc:"Add hydrogens; only true is allowed."`
	Generate3D    *bool    `json:"generate3d,omitempty" enum:"true" default:"true" doc:"Generate coordinates; only true is allowed."`
	ProtonationPh *float64 `json:"protonationPh,omitempty" minimum:"0" maximum:"14" default:"7.4" doc:"pH at which the ligand is protonated."`
}

// Completed returns the preparation with every default filled in. A nil receiver means all of them.
func (p *LigandPreparation) Completed() LigandPreparation {
	var completed LigandPreparation
	if p != nil {
		completed = *p
	}
	completed.ProtonationPh = orDefault(completed.ProtonationPh, DefaultProtonationPh)
	completed.AddHydrogens = orDefault(completed.AddHydrogens, true)
	completed.Generate3D = orDefault(completed.Generate3D, true)
	return completed
}

// The kinds of a ligand source.
const (
	SourceCCD      = "ccd"
	SourceSMILES   = "smiles"
	SourceArtifact = "artifact"
)

// LigandSource says what a ligand is. Exactly one member is set; in JSON it is that member's object, told apart by "kind".
type LigandSource struct {
	CCD      *CCDSource
	SMILES   *SMILESSource
	Artifact *ArtifactSource
}

// CCDSource names a component of the wwPDB Chemical Component Dictionary.
type CCDSource struct {
	ComponentID string `json:"componentId" pattern:"^[A-Za-z0-9]{1,8}$" patternDescription:"1 to 8 letters and digits" doc:"Id of a component of the Chemical Component Dictionary, e.g. STI."`
	Kind        string `json:"kind" const:"ccd" doc:"Always ccd."`
}

// SMILESSource is a molecule as a SMILES string.
type SMILESSource struct {
	Kind   string `json:"kind" const:"smiles" doc:"Always smiles."`
	SMILES string `json:"smiles" minLength:"1" maxLength:"4096" doc:"The molecule as SMILES."`
}

// ArtifactSource is a molecule in an uploaded file.
type ArtifactSource struct {
	Artifact ArtifactReference `json:"artifact" doc:"The file that holds the molecule."`
	Kind     string            `json:"kind" const:"artifact" doc:"Always artifact."`
}

// Kind returns SourceCCD, SourceSMILES or SourceArtifact, or "" when no member is set.
func (s LigandSource) Kind() string {
	switch {
	case s.CCD != nil:
		return SourceCCD
	case s.SMILES != nil:
		return SourceSMILES
	case s.Artifact != nil:
		return SourceArtifact
	}
	return ""
}

// Schema describes the union.
func (LigandSource) Schema(r huma.Registry) *huma.Schema {
	return UnionSchema(r,
		Variant{SourceCCD, reflect.TypeFor[CCDSource]()},
		Variant{SourceSMILES, reflect.TypeFor[SMILESSource]()},
		Variant{SourceArtifact, reflect.TypeFor[ArtifactSource]()},
	)
}

// UnmarshalJSON reads the member that "kind" names and refuses members that this kind does not have.
func (s *LigandSource) UnmarshalJSON(text []byte) error {
	// All kinds at once and not through ReadVariant, which reads an object twice: a request has thousands of these.
	var all struct {
		Kind        string             `json:"kind"`
		ComponentID *string            `json:"componentId"`
		SMILES      *string            `json:"smiles"`
		Artifact    *ArtifactReference `json:"artifact"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	*s = LigandSource{}
	var foreign bool
	switch all.Kind {
	case SourceCCD:
		s.CCD = &CCDSource{Kind: SourceCCD, ComponentID: orZero(all.ComponentID)}
		foreign = all.SMILES != nil || all.Artifact != nil
	case SourceSMILES:
		s.SMILES = &SMILESSource{Kind: SourceSMILES, SMILES: orZero(all.SMILES)}
		foreign = all.ComponentID != nil || all.Artifact != nil
	case SourceArtifact:
		s.Artifact = &ArtifactSource{Kind: SourceArtifact, Artifact: orZero(all.Artifact)}
		foreign = all.ComponentID != nil || all.SMILES != nil
	default:
		return fmt.Errorf("source.kind: expected one of %s, %s, %s", SourceArtifact, SourceCCD, SourceSMILES)
	}
	if foreign {
		return fmt.Errorf("source: has a member that no source of the kind %s has", all.Kind)
	}
	return nil
}

// MarshalJSON writes the member that is set. A source without one is a programming error.
func (s LigandSource) MarshalJSON() ([]byte, error) {
	switch s.Kind() {
	case SourceCCD:
		return json.Marshal(CCDSource{Kind: SourceCCD, ComponentID: s.CCD.ComponentID})
	case SourceSMILES:
		return json.Marshal(SMILESSource{Kind: SourceSMILES, SMILES: s.SMILES.SMILES})
	case SourceArtifact:
		return json.Marshal(ArtifactSource{Kind: SourceArtifact, Artifact: s.Artifact.Artifact})
	}
	return nil, fmt.Errorf("mol: a ligand source without a kind")
}

func orZero[T any](value *T) T {
	var zero T
	return *orDefault(value, zero)
}

func orDefault[T any](value *T, fallback T) *T {
	if value == nil {
		return &fallback
	}
	return value
}
