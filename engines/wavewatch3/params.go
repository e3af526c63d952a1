package wavewatch3

// Params are the members of simulationParams that WAVEWATCH III reads. The API embeds the struct, so its tags are the rules of the
// public contract.
type Params struct {
	Switches *string `json:"waveSwitches,omitempty" pattern:"^[0-9a-f]{12,64}$" doc:"Which build of WAVEWATCH III runs the case: the SHA-256 of its switch file, or the first 12 digits of that or more. Default: the build of the case's own file named switch where it has one, else the only build that the worker has."`
	Start    *string `json:"waveStart,omitempty" enum:"restart,cold" doc:"What WAVEWATCH III begins with: restart goes on from the case's restart.ww3, which must be there; cold begins without it, by ww3_strt.inp where the case has that. Default: restart where the case has restart.ww3, else cold."`
}
