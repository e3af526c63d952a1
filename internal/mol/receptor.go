package mol

// ReceptorPreparation says how a receptor gets its protons and which of its components stay (doc/contract.md §2.2).
type ReceptorPreparation struct {
	ProtonationPh          *float64                `json:"protonationPh,omitempty" minimum:"0" maximum:"14" default:"7.4" doc:"pH at which the receptor is protonated."`
	AddHydrogens           *bool                   `json:"addHydrogens,omitempty" enum:"true" default:"true" doc:"Add hydrogens; only true is allowed."`
	ProtonationMethod      *string                 `json:"protonationMethod,omitempty" enum:"pdb2pqr-propka,meeko" default:"pdb2pqr-propka" doc:"pdb2pqr-propka predicts each residue's state at the pH; meeko keeps the states that the residue names say."`
	ForceField             *string                 `json:"forceField,omitempty" enum:"AMBER,CHARMM,PARSE" default:"AMBER" doc:"Force field that names and places the hydrogens (pdb2pqr-propka)."`
	FixedProtonationStates []FixedProtonationState `json:"fixedProtonationStates,omitempty" maxItems:"256" doc:"Residues whose state is given instead of predicted. Default: none."`
	RemoveComponents       []string                `json:"removeComponents,omitempty" maxItems:"256" pattern:"^[A-Za-z0-9]{1,8}$" patternDescription:"1 to 8 letters and digits" doc:"Residue names to drop. Default: none; waters are dropped unless retained or structural."`
	RetainComponents       []string                `json:"retainComponents,omitempty" maxItems:"256" pattern:"^[A-Za-z0-9]{1,8}$" patternDescription:"1 to 8 letters and digits" doc:"Residue names that must stay. Default: none."`
	// Waters's default is left out and not written, so that a request that names it is the same job as one that does not.
	Waters *string `json:"waters,omitempty" enum:"none,structural" doc:"Which waters stay beside those that retainComponents names: none, or those that hold at least three polar atoms of what stays together. None when left out."`
}

// FixedProtonationState gives one residue's protonation state.
type FixedProtonationState struct {
	Chain         string  `json:"chain" minLength:"1" maxLength:"16" doc:"Chain of the residue."`
	Residue       int     `json:"residue" minimum:"-9999" maximum:"99999" doc:"Number of the residue."`
	InsertionCode *string `json:"insertionCode,omitempty" maxLength:"4" doc:"Insertion code of the residue."`
	ResidueName   string  `json:"residueName" enum:"ASP,GLU" doc:"Name of the residue."`
	State         string  `json:"state" enum:"anionic,neutral" doc:"The state it gets."`
	Reason        *string `json:"reason,omitempty" minLength:"1" maxLength:"512" doc:"Why, for the record."`
}

// Protonation methods and force fields of a receptor preparation.
const (
	MethodPDB2PQR = "pdb2pqr-propka"
	MethodMeeko   = "meeko"
	ForceAMBER    = "AMBER"
)

// Waters that stay in a receptor.
const (
	WatersNone       = "none"
	WatersStructural = "structural"
)

// Completed returns the preparation with every default filled in; empty lists, and waters that do not stay, are absent. A nil
// receiver means all defaults.
func (p *ReceptorPreparation) Completed() ReceptorPreparation {
	var completed ReceptorPreparation
	if p != nil {
		completed = *p
	}
	completed.ProtonationPh = orDefault(completed.ProtonationPh, DefaultProtonationPh)
	completed.AddHydrogens = orDefault(completed.AddHydrogens, true)
	completed.ProtonationMethod = orDefault(completed.ProtonationMethod, MethodPDB2PQR)
	completed.ForceField = orDefault(completed.ForceField, ForceAMBER)
	if completed.Waters != nil && *completed.Waters == WatersNone {
		completed.Waters = nil
	}
	return completed
}
