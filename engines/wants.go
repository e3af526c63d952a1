package engines

import (
	"github.com/molfabric/molfabric/internal/casefile"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/fasta"
)

// Wanter is an Engine whose requests name what only the deployment can find: entries of the Protein Data Bank, chemical
// components, sequence databases, what stored files hold, work that may be used again.
type Wanter interface {
	// Wants lists what a request names that is to be found, as far as that can be told from what has been found so far
	// (Request.Found); what is there already may be listed again. The front door finds one kind of it at a time, in the
	// order of the fields of Wants, adds it to Request.Found and asks again, until nothing new is wanted. Of a submission
	// everything is found or the request is refused; of an estimate much is never found, and Plan has to do without. It is
	// pure. Errors: *InvalidError.
	Wants(Request) (Wants, error)
}

// Wants is what an engine wants found for a request. Paths are those of InvalidError.Field; sentences are the engine's
// own words on what a caller can do, and stand behind those of the front door.
type Wants struct {
	Confirmations []WantedConfirmation
	Entries       []WantedEntry      // into Found.Structures
	Contents      []WantedContent    // into Found.Contents
	Components    []WantedComponent  // into Found.Components
	Preparation   *WantedPreparation // into Found.Prepared
	Database      *WantedDatabase    // into Found.Database
	Weights       *WantedWeights     // into Found.Weights
	Alignment     *WantedAlignment   // into Found.Alignment
	Scene         bool               // what the scene file of a molecular job shows, into Found.Scene
	RenderCost    bool               // how frames of the scene file were rendered, into Found.Rendered and RenderShards
}

// WantedConfirmation is a ligand that was looked up before, with the token that the look-up gave. It is held against the
// look-up, and finds nothing.
type WantedConfirmation struct {
	Path                   string // of the ligand
	Token, Query, SourceID string
	ComponentID, SMILES    string // what the request says the ligand is; "" for what it does not say
}

// WantedEntry is an entry of the Protein Data Bank.
type WantedEntry struct {
	Path     string
	ID       string // in either case
	Use      string // what the entry is to be: "a receptor"
	NoSource string // what to do where the deployment has no source of entries
	TooLarge string // what to do about an entry that is too large
}

// Reading is how a stored file is read.
type Reading int

// Readings of a file.
const (
	ReadStructure Reading = iota // a protein or nucleic acid with what is bound to it
	ReadMolecule                 // the place of a small molecule
	ReadNothing                  // only whether there is something in it to read
	ReadSequences                // sequences as FASTA
	ReadCase                     // the folder of a case as .zip or .tar.gz
)

// WantedContent is what a stored file holds.
type WantedContent struct {
	Path      string // of the file; the key in Found.Contents
	File      Object
	As        Reading
	Model     int    // of a structure; 0 for the first
	ModelPath string // of the member that says which
	Whose     string // in messages: "the receptor"
	IfEmpty   string // what to give in place of a structure's file of no bytes
}

// WantedComponent is a component of the Chemical Component Dictionary.
type WantedComponent struct {
	Path string
	ID   string // in either case
	// Needed is nil where the request can do without the component.
	Needed *ComponentAdvice
}

// ComponentAdvice says what a caller can do about a component that is needed and not there.
type ComponentAdvice struct {
	Unknown     string // the deployment does not know it
	NoStructure string // the dictionary has no structure of it
	TooMany     string // the request names more than can be asked for
}

// WantedPreparation is an earlier preparation of a receptor: the one that a request names, or else the newest of the
// account whose Identity and How are equal as JSON.
type WantedPreparation struct {
	Named         *NamedPreparation
	Identity, How []byte
	Files         []string // what it must have left, by Artifact.Name
	MainFile      string   // the one of them that a request may state
}

// NamedPreparation is a preparation as a request names it, with the digests that it must have (lower-case hex SHA-256).
type NamedPreparation struct {
	Path                   string
	CacheKey               string
	ReceptorIdentitySHA256 string
	PreparationSHA256      string
	ToolchainSHA256        string
	WorkerImageDigest      string
	File                   *Object // what MainFile must be; nil when the request does not say
}

// WantedDatabase is a selection among the deployment's sequence databases, each with the path of the member that it comes
// from. What is empty selects nothing; the newest that fits is found.
type WantedDatabase struct {
	Type                                       string // "prot" or "nucl"
	Place, Name, Version, ReleasedOn, Checksum Selected
}

// WantedWeights is the weights of a model of the deployment, the newest that are in use.
type WantedWeights struct {
	Path  string // of the member that a refusal names
	Model string // e.g. "esmfold"
}

// WantedAlignment is the deployment's database that proteins are aligned to, where it has one.
type WantedAlignment struct{ Path string } // of the member that a refusal names

// Selected is a value that a request selects by.
type Selected struct{ Path, Value string }

// Contents is what a file was read as; the other members are nil.
type Contents struct {
	Structure *coordinates.Structure
	Molecule  *coordinates.Molecule
	Sequences []fasta.Record
	Case      *casefile.Case
}
