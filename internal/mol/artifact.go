// Package mol holds the molecular shapes that several rooms share: artifact references, ligands, receptor preparation and the
// docking box, exactly as doc/contract.md §2.2 writes them. The struct tags are the rules; huma turns them into the OpenAPI
// document and checks requests with it. Members that have a default are pointers, because huma cannot otherwise tell an
// explicit false or 0 from an absent member; Completed fills what was left out. The package reads no file and runs nothing.
package mol

// ArtifactSchema is the constant that marks an artifact reference.
const ArtifactSchema = "service.docking.artifact/v1"

// ArtifactReference points to a stored file and says what the file must be found to be (doc/contract.md §2.2).
type ArtifactReference struct {
	ArtifactID string `json:"artifactId" minLength:"1" maxLength:"128" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]*$" doc:"The caller's name for the artifact."`
	ByteSize   int64  `json:"byteSize" minimum:"0" doc:"Size of the file in bytes."`
	Format     string `json:"format" enum:"pdb,mmcif,pdbqt,sdf,mol2,json,log" doc:"File format."`
	MediaType  string `json:"mediaType" minLength:"1" maxLength:"255" doc:"Media type of the file, e.g. chemical/x-pdb."`
	Schema     string `json:"schema" const:"service.docking.artifact/v1" doc:"Always service.docking.artifact/v1."`
	SHA256     string `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"SHA-256 of the file, 64 lower-case hexadecimal digits."`
	StorageKey string `json:"storageKey" minLength:"1" maxLength:"2048" doc:"Key of the stored file, as the upload gave it."`
}

// The formats of an artifact reference.
const (
	FormatPDB   = "pdb"
	FormatMMCIF = "mmcif"
	FormatPDBQT = "pdbqt"
	FormatSDF   = "sdf"
	FormatMOL2  = "mol2"
)
