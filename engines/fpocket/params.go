// Package fpocket holds the parameters of the simulator fpocket, which finds pockets of a protein. It runs nothing.
package fpocket

// ID is the canonical simulator id of specification §1.
const ID = "fpocket"

// DefaultMaxPockets is how many pockets a request gets that does not say (specification §2.2).
const DefaultMaxPockets = 10

// Params are the members of simulationParams that fpocket reads (specification §2.2). The API embeds the struct, so its tags
// are the rules of the public contract.
type Params struct {
	MaxPockets *int `json:"maxPockets,omitempty" minimum:"1" maximum:"20" default:"10" doc:"Most pockets returned, best first."`
}
