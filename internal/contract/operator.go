package contract

import "time"

// Fleet is the workers of a deployment.
type Fleet struct {
	Workers []FleetWorker `json:"workers" doc:"Workers that are alive, by name of their machine: each was heard within the last minute."`
}

// FleetWorker is one worker, as its last heartbeat says.
type FleetWorker struct {
	WorkerID    string    `json:"workerId" doc:"Id of the worker; a restart makes another."`
	Host        string    `json:"host" doc:"Name of its machine."`
	Version     string    `json:"version" doc:"Version of its program."`
	Classes     []string  `json:"classes" doc:"The classes of work that it takes: hardware and engine, such as cpu.autodock-vina."`
	Slots       int       `json:"slots" doc:"Processor cores that engines may keep busy."`
	Running     int       `json:"running" doc:"Tasks that it answers for now."`
	Devices     int       `json:"devices" doc:"GPUs that it has."`
	DevicesFree int       `json:"devicesFree" doc:"GPUs that no task uses."`
	Draining    bool      `json:"draining" doc:"It finishes what it has, takes nothing more and ends."`
	Sandbox     string    `json:"sandbox" doc:"What its engines are locked into."`
	StartedAt   time.Time `json:"startedAt" doc:"When it was started, by its own clock."`
}

// WorkQueues is what waits and runs in a deployment.
type WorkQueues struct {
	Queues []WorkQueue `json:"queues" doc:"Every class of work in which something waits or runs, or that a worker takes."`
}

// WorkQueue is what waits and runs of one class of work.
type WorkQueue struct {
	Class            string     `json:"class" doc:"Hardware and engine, such as cpu.autodock-vina."`
	Waiting          int        `json:"waiting" doc:"Tasks that could start if a worker were free."`
	Running          int        `json:"running" doc:"Tasks that run."`
	Workers          int        `json:"workers" doc:"Living workers that take this class and are not about to end."`
	OldestWaitsSince *time.Time `json:"oldestWaitsSince,omitempty" doc:"When the job of the task that was made first among those that wait was submitted; left out when none waits."`
}

// Alerts is what an operator should look at.
type Alerts struct {
	Alerts []Alert `json:"alerts" doc:"Empty when nothing is wrong that can be told from here. The rules in deploy/alerts.yaml know more."`
}

// The names of alerts.
const (
	AlertNoScheduler = "NoSchedulerLeads"
	AlertNoWorkers   = "NoWorkers"
	AlertWorkWaits   = "WorkWaits"
	AlertJobsFail    = "JobsFail"
)

// Alert is one thing that an operator should look at.
type Alert struct {
	Name    string `json:"name" enum:"NoSchedulerLeads,NoWorkers,WorkWaits,JobsFail" doc:"What is the matter."`
	Subject string `json:"subject" doc:"The class of work, or the code with which jobs fail; empty where it is the whole service."`
	Count   int    `json:"count" doc:"How many tasks wait or jobs failed; 0 where nothing is counted."`
	Message string `json:"message" doc:"What is the matter and what to do, for people."`
}
