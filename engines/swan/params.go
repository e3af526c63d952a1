package swan

// Params are the members of simulationParams that a wave model reads. The API embeds the struct, so its tags are the rules of the
// public contract.
type Params struct {
	Decks []string `json:"waveDecks,omitempty" minItems:"1" maxItems:"100" doc:"The decks of a case to run, each a task of its own: names of files within the archive. Default: INPUT where it is there, else every file at the top of the case whose name ends in .swn."`

	Scenarios string `json:"waveScenarios,omitempty" minLength:"1" maxLength:"200" doc:"A table of scenarios, by its name within the archive: CSV whose first column is name. Each row is a run of the one deck, with the row's cells in place of {column}, and a task of its own; at most 1,000."`
}
