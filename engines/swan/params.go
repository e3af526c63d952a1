package swan

// Params are the members of simulationParams that a wave model reads. The API embeds the struct, so its tags are the rules of the
// public contract.
type Params struct {
	Decks []string `json:"waveDecks,omitempty" minItems:"1" maxItems:"100" doc:"The decks of a case to run, each a task of its own: names of files within the archive. Default: INPUT where it is there, else every file at the top of the case whose name ends in .swn."`
}
