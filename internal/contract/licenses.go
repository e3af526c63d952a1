package contract

import "time"

// What a licence server was found to be when it was last tested.
const (
	LicenseUnverified = "UNVERIFIED"
	LicenseReady      = "READY"
	LicenseNotReady   = "NOT_READY"
)

// LicenseServerRequest describes a licence server of the account's own. A PUT replaces every member but the secret, which stays
// when it is left out.
type LicenseServerRequest struct {
	Name        string  `json:"name" minLength:"1" maxLength:"100" doc:"Name for people." example:"Render licences"`
	Vendor      string  `json:"vendor" minLength:"1" maxLength:"100" pattern:"^[^/\\x00-\\x1f\\x7f]+$" patternDescription:"text without a slash" doc:"Who makes the software. Case, spaces, \"_\" and \"-\" do not count when it is matched." example:"SideFX"`
	Product     string  `json:"product" minLength:"1" maxLength:"100" pattern:"^[^/\\x00-\\x1f\\x7f]+$" patternDescription:"text without a slash" doc:"The licensed software, matched as the vendor is." example:"Houdini Engine"`
	Protocol    string  `json:"protocol" enum:"flexlm,rlm,sesi,custom" doc:"What the server speaks." example:"sesi"`
	Host        string  `json:"host" minLength:"1" maxLength:"253" doc:"DNS name or IP address." example:"licences.example.org"`
	Port        int     `json:"port" minimum:"1" maximum:"65535" doc:"TCP port." example:"1715"`
	Seats       int     `json:"seats" minimum:"1" maximum:"100000" doc:"How many licences the server can give out at once." example:"4"`
	Enforcement *string `json:"enforcement,omitempty" enum:"ENFORCED,ADVISORY,DISABLED" default:"ENFORCED" doc:"ENFORCED: no more tasks of the software run at once than there are seats. ADVISORY: more may run, with a warning. DISABLED: the server counts for nothing."`
	Enabled     *bool   `json:"enabled,omitempty" default:"true" doc:"Whether the server counts. While it does not, jobs that rely on it wait."`
	Secret      *string `json:"secret,omitempty" maxLength:"4096" writeOnly:"true" doc:"Credential of the server. It is stored encrypted and never shown. Left out it stays; empty it is removed."`
}

// LicenseServer is a licence server as its account sees it.
type LicenseServer struct {
	ID            string     `json:"id" doc:"Id of the licence server." example:"lic_019aa63b5d2c7c319a531d8f3a0c4b52"`
	Name          string     `json:"name" doc:"Name for people." example:"Render licences"`
	Vendor        string     `json:"vendor" doc:"Who makes the software." example:"SideFX"`
	Product       string     `json:"product" doc:"The licensed software." example:"Houdini Engine"`
	Protocol      string     `json:"protocol" enum:"flexlm,rlm,sesi,custom" doc:"What the server speaks."`
	Host          string     `json:"host" doc:"DNS name or IP address." example:"licences.example.org"`
	Port          int        `json:"port" doc:"TCP port." example:"1715"`
	Seats         int        `json:"seats" doc:"How many licences the server can give out at once." example:"4"`
	Enforcement   string     `json:"enforcement" enum:"ENFORCED,ADVISORY,DISABLED" doc:"What the seats mean for the account's tasks."`
	Enabled       bool       `json:"enabled" doc:"Whether the server counts."`
	Status        string     `json:"status" enum:"UNVERIFIED,READY,NOT_READY" doc:"READY: its port took a connection when it was last tested, which does not prove that it gives out licences. UNVERIFIED: not tested since host, port or protocol changed."`
	LastCheckedAt *time.Time `json:"lastCheckedAt" doc:"When it was last tested." nullable:"true"`
	LastError     *string    `json:"lastError" doc:"What the last test found wrong." nullable:"true"`
	SeatsInUse    int        `json:"seatsInUse" doc:"Tasks of the account that are queued or run with this licence, over all of its servers." example:"2"`
}

// LicenseServerList is every licence server of an account.
type LicenseServerList struct {
	LicenseServers []LicenseServer `json:"licenseServers" doc:"Newest first."`
}
