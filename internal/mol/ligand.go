package mol

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// DefaultProtonationPh is the pH at which ligands and receptors are protonated unless the request says otherwise.
const DefaultProtonationPh = 7.4

// LigandEntry is one ligand of a docking request (specification §2.2).
type LigandEntry struct {
	LigandID     string              `json:"ligandId" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]*$" doc:"The caller's id of the ligand; unique in the library."`
	Label        string              `json:"label" minLength:"1" maxLength:"512" doc:"Name for people."`
	Source       LigandSource        `json:"source" doc:"What the ligand is."`
	Confirmation *LigandConfirmation `json:"confirmation,omitempty" doc:"Token of a ligand look-up that the caller has confirmed."`
	Preparation  *LigandPreparation  `json:"preparation,omitempty" doc:"How to prepare the ligand. Default: pH 7.4, with hydrogens and generated coordinates."`
}

// Completed returns the entry with every default filled in; the receiver is unchanged.
func (e LigandEntry) Completed() LigandEntry {
	preparation := e.Preparation.Completed()
	e.Preparation = &preparation
	return e
}

// LigandConfirmation carries what a ligand look-up answered.
type LigandConfirmation struct {
	Token    string `json:"token" minLength:"32" maxLength:"8192" doc:"Token of the confirmed candidate."`
	Query    string `json:"query" minLength:"1" maxLength:"512" doc:"What was looked up."`
	SourceID string `json:"sourceId" minLength:"1" maxLength:"128" doc:"Id of the candidate in its source."`
}

// LigandPreparation says how a ligand gets its protons and coordinates.
type LigandPreparation struct {
	ProtonationPh *float64 `json:"protonationPh,omitempty" minimum:"0" maximum:"14" default:"7.4" doc:"pH at which the ligand is protonated."`
	AddHydrogens  *bool    `json:"addHydrogens,omitempty" enum:"true" default:"true" doc:"Add hydrogens; only true is allowed."`
	Generate3D    *bool    `json:"generate3d,omitempty" enum:"true" default:"true" doc:"Generate coordinates; only true is allowed."`
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
	Kind        string `json:"kind" const:"ccd" doc:"Always ccd."`
	ComponentID string `json:"componentId" pattern:"^[A-Za-z0-9]{1,8}$" patternDescription:"1 to 8 letters and digits" doc:"Id of a component of the Chemical Component Dictionary, e.g. STI."`
}

// SMILESSource is a molecule as a SMILES string.
type SMILESSource struct {
	Kind   string `json:"kind" const:"smiles" doc:"Always smiles."`
	SMILES string `json:"smiles" minLength:"1" maxLength:"4096" doc:"The molecule as SMILES."`
}

// ArtifactSource is a molecule in an uploaded file.
type ArtifactSource struct {
	Kind     string            `json:"kind" const:"artifact" doc:"Always artifact."`
	Artifact ArtifactReference `json:"artifact" doc:"The file that holds the molecule."`
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
	ccd, smiles, artifact := CCDSource{}, SMILESSource{}, ArtifactSource{}
	err := ReadVariant("source", text, map[string]any{SourceCCD: &ccd, SourceSMILES: &smiles, SourceArtifact: &artifact})
	if err != nil {
		return err
	}
	*s = LigandSource{}
	switch { // exactly one was read; its kind is not empty
	case ccd.Kind != "":
		s.CCD = &ccd
	case smiles.Kind != "":
		s.SMILES = &smiles
	default:
		s.Artifact = &artifact
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

func orDefault[T any](value *T, fallback T) *T {
	if value == nil {
		return &fallback
	}
	return value
}
