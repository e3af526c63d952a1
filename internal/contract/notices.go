package contract

// NoticeRequest says what an account is told by mail. A PUT replaces every member.
type NoticeRequest struct {
	Events         []string `json:"events" maxItems:"10" enum:"job.ended,credit.low,key.new_network" doc:"What is mailed; empty for nothing. job.ended: jobs have ended. credit.low: less is left than lowCreditPence. key.new_network: an API key is used from a network that it was not used from before." example:"[\"credit.low\",\"key.new_network\"]"`
	LowCreditPence *int64   `json:"lowCreditPence,omitempty" minimum:"1" maximum:"100000000" default:"100" doc:"Below which credit.low is mailed; once, until there was more."`
}

// NoticeSettings is what an account is told by mail, and whether mails reach it.
type NoticeSettings struct {
	Events         []string `json:"events" doc:"What is mailed."`
	LowCreditPence int64    `json:"lowCreditPence" doc:"Below which credit.low is mailed."`
	Email          string   `json:"email" doc:"Where mails go: the address of the account."`
	EmailVerified  bool     `json:"emailVerified" doc:"Whether the address was proved. Before, nothing is mailed."`
	SendsMail      bool     `json:"sendsMail" doc:"Whether the deployment has a mail server. Without one nothing is mailed."`
}
