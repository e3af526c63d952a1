package contract

import "time"

// Pricing is the price book for people who think about an account.
type Pricing struct {
	Currency               string          `json:"currency" doc:"ISO 4217 code of every amount." example:"GBP"`
	Plans                  []PricedPlan    `json:"plans" doc:"By rising monthly credit."`
	Hardware               []HardwareRate  `json:"hardware" doc:"Worker classes."`
	Simulators             []SimulatorRate `json:"simulators" doc:"Engines of this deployment."`
	Software               []SoftwareRate  `json:"software" doc:"Licensed programs that metadata.software may name."`
	Tiers                  []TopUpTier     `json:"tiers" doc:"What can be bought, by rising price."`
	StoragePencePerGBMonth float64         `json:"storagePencePerGBMonth" doc:"Price of keeping a result, in pence per GB and month; billed once, for storageRetentionMonths."`
	StorageRetentionMonths int64           `json:"storageRetentionMonths" doc:"Months that a stored result is paid for."`
	EgressPencePerGB       float64         `json:"egressPencePerGB" doc:"Price of a result's first download, in pence per GB."`
	MinimumChargePence     int64           `json:"minimumChargePence" doc:"Least charge of a job that used anything, in pence."`
	HoldFactor             int64           `json:"holdFactor" doc:"A submission sets this many times its estimate aside; a job never costs more."`
}

// PricedPlan is what an account's plan gives.
type PricedPlan struct {
	Name                string `json:"name" doc:"Name of the plan."`
	MonthlyCreditsPence int64  `json:"monthlyCreditsPence" doc:"Credit granted on the first day of each month, in pence."`
	QueuePriority       int    `json:"queuePriority" doc:"Of two waiting tasks the one with the higher priority starts first."`
}

// HardwareRate is the price of a worker class.
type HardwareRate struct {
	Class              string   `json:"class" doc:"Worker class." example:"cpu"`
	PencePerCoreHour   float64  `json:"pencePerCoreHour" doc:"Price of one core kept busy for an hour, in pence."`
	PencePerDeviceHour *float64 `json:"pencePerDeviceHour,omitempty" doc:"Price of one GPU kept for an hour, in pence, beside the processor time; left out for a class without them. Of a GPU that N small tasks may share each pays the N-th part."`
}

// SimulatorRate is what a simulator costs beside its hardware.
type SimulatorRate struct {
	ID                       string  `json:"id" doc:"Canonical id." example:"autodock-vina"`
	StartFeePence            float64 `json:"startFeePence" doc:"Added once to a job of which anything ran, in pence."`
	SoftwarePencePerCoreHour float64 `json:"softwarePencePerCoreHour" doc:"Licence fee of the program, in pence per core-hour."`
}

// SoftwareRate is what a licensed program costs an account that has no licence of its own.
type SoftwareRate struct {
	Name             string  `json:"name" doc:"What metadata.software says." example:"houdini"`
	LicenseName      string  `json:"licenseName" doc:"The licence that the fee is for."`
	Vendor           string  `json:"vendor" doc:"Vendor that a licence server of one's own must name."`
	Product          string  `json:"product" doc:"Product that a licence server of one's own must name."`
	PencePerCoreHour float64 `json:"pencePerCoreHour" doc:"Fee in pence per core-hour."`
}

// TopUpTier is an amount of credit that can be bought.
type TopUpTier struct {
	ID         string `json:"id" doc:"The tierId of a top-up." example:"topup-50"`
	PricePence int64  `json:"pricePence" doc:"What is paid and credited, in pence."`
	BonusPence int64  `json:"bonusPence" doc:"What is credited beside it, in pence."`
}

// SimulatorList is every simulator of the service.
type SimulatorList struct {
	Simulators []PublicSimulator `json:"simulators" doc:"In the order of the contract."`
}

// PublicSimulator is a simulator and whether it can be used here.
type PublicSimulator struct {
	ID        string           `json:"id" doc:"Canonical id." example:"autodock-vina"`
	Title     string           `json:"title" doc:"Name for people."`
	Aliases   []string         `json:"aliases" doc:"Other names that requests may use; case, spaces, - and _ do not matter."`
	Accepted  bool             `json:"accepted" doc:"Whether this deployment takes jobs of it."`
	Available bool             `json:"available" doc:"Whether a live worker offers it now; a job that is accepted meanwhile waits."`
	Hardware  string           `json:"hardware,omitempty" doc:"Worker class that runs it."`
	Classes   []SimulatorClass `json:"classes" doc:"Worker classes on which this deployment takes its tasks: the one above, and gpu where tasks may ask for one."`
	Citations []PublicCitation `json:"citations" doc:"Papers to cite for its results."`
}

// SimulatorClass is a worker class that tasks of a simulator may need.
type SimulatorClass struct {
	Class     string `json:"class" doc:"Worker class." example:"cpu"`
	Available bool   `json:"available" doc:"Whether a live worker of the class offers the simulator now; a job that is accepted meanwhile waits."`
}

// PublicCitation is a paper or program to cite.
type PublicCitation struct {
	Text string `json:"text" doc:"The reference."`
	DOI  string `json:"doi,omitempty" doc:"DOI of the paper, where there is one."`
}

// ServiceStatus is how the service is doing.
type ServiceStatus struct {
	Status    string        `json:"status" enum:"operational,degraded" doc:"degraded: a part does not answer, or accepted work has no worker."`
	Version   string        `json:"version" doc:"Version of the service."`
	Parts     []ServicePart `json:"parts" doc:"Parts of the service."`
	Workers   []WorkerCount `json:"workers" doc:"Live workers by simulator."`
	CheckedAt time.Time     `json:"checkedAt" doc:"When the parts were asked."`
}

// ServicePart is one part of the service.
type ServicePart struct {
	Name        string `json:"name" doc:"The part." example:"jobs"`
	Operational bool   `json:"operational" doc:"Whether it answers."`
}

// WorkerCount is how many workers offer a simulator.
type WorkerCount struct {
	Simulator string `json:"simulator" doc:"Canonical id."`
	Workers   int    `json:"workers" doc:"Workers that were heard of within the last seconds."`
	Slots     int    `json:"slots" doc:"Cores that they have for engines."`
}

// RepeatReport is how often running a task again made the same.
type RepeatReport struct {
	Chance     float64            `json:"chance" minimum:"0" maximum:"1" doc:"Chance with which a task is run again that has ended well and makes the same files each time; 0 where none is." example:"0.01"`
	Open       int                `json:"open" doc:"Tasks that were chosen and have not been compared yet: they wait until nobody's work does."`
	AllTime    RepeatTally        `json:"allTime" doc:"Of all simulators, since the first."`
	Recent     RepeatTally        `json:"last90Days" doc:"Of all simulators, those that ended within the last 90 days."`
	Simulators []SimulatorRepeats `json:"simulators" doc:"By canonical id; simulators of which nothing was chosen are left out."`
	CountedAt  time.Time          `json:"countedAt" doc:"When this was counted, at most 10 seconds ago."`
}

// SimulatorRepeats is a simulator's part of a RepeatReport.
type SimulatorRepeats struct {
	Simulator string      `json:"simulator" doc:"Canonical id." example:"autodock-vina"`
	Open      int         `json:"open" doc:"Tasks that were chosen and have not been compared yet."`
	AllTime   RepeatTally `json:"allTime" doc:"Since the first."`
	Recent    RepeatTally `json:"last90Days" doc:"Those that ended within the last 90 days."`
}

// RepeatTally counts tasks that were run again.
type RepeatTally struct {
	Repeated      int      `json:"repeated" doc:"Tasks that were chosen and have ended: the sum of the next three."`
	Same          int      `json:"same" doc:"All files that were compared have the same bytes."`
	Different     int      `json:"different" doc:"The same programs made other bytes."`
	NotComparable int      `json:"notComparable" doc:"There was nothing to compare: files had been deleted, the programs of the first run are gone, or the second run failed or was lost."`
	SameRate      *float64 `json:"sameRate,omitempty" minimum:"0" maximum:"1" doc:"same / (same + different); left out where nothing was compared."`
}
