package contract

import (
	"encoding/json"
	"time"
)

// Events that webhooks, and accounts by mail, are told of.
const (
	EventJobEnded  = "job.ended"  // a job has ended; after a retry once more
	EventCreditLow = "credit.low" // what an account has left has fallen below what its webhook says
	// EventKeyNewNetwork is told when an API key is used from a network that it was not used from before.
	EventKeyNewNetwork = "key.new_network"
	// EventWebhookTest is sent when its owner asks for it, whatever the webhook asks for.
	EventWebhookTest = "webhook.test"
)

// WebhookRequest describes a server of the account's own that is told of events. A PUT replaces every member.
type WebhookRequest struct {
	URL            string   `json:"url" minLength:"1" maxLength:"2000" doc:"Where messages are posted: an https address at a public host." example:"https://example.org/molfabric"`
	Description    string   `json:"description,omitempty" maxLength:"200" doc:"For people."`
	Events         []string `json:"events" minItems:"1" maxItems:"10" enum:"job.ended,credit.low,key.new_network" doc:"What is told. job.ended: a job has ended, after a retry once more. credit.low: less is left than lowCreditPence. key.new_network: an API key is used from a network that it was not used from before."`
	LowCreditPence *int64   `json:"lowCreditPence,omitempty" minimum:"1" maximum:"100000000" default:"500" doc:"Below which credit.low is told; once, until there was more."`
	Enabled        *bool    `json:"enabled,omitempty" default:"true" doc:"Whether anything is sent. What happens meanwhile is never told."`
}

// Webhook is a webhook as its account sees it.
type Webhook struct {
	ID             string    `json:"id" doc:"Id of the webhook." example:"whk_019aa63b5d2c7c319a531d8f3a0c4b52"`
	URL            string    `json:"url" doc:"Where messages are posted."`
	Description    string    `json:"description" doc:"For people."`
	Events         []string  `json:"events" doc:"What is told."`
	LowCreditPence int64     `json:"lowCreditPence" doc:"Below which credit.low is told."`
	Enabled        bool      `json:"enabled" doc:"Whether anything is sent."`
	DisabledReason string    `json:"disabledReason,omitempty" doc:"Why the service has stopped sending, where it has."`
	CreatedAt      time.Time `json:"createdAt" doc:"When it was added."`
	Secret         string    `json:"secret,omitempty" doc:"What signs its messages. Shown when it is made, and never again."`
}

// WebhookList is every webhook of an account.
type WebhookList struct {
	Webhooks []Webhook `json:"webhooks" doc:"Newest first."`
}

// WebhookDelivery is a message to a webhook, and what has become of it.
type WebhookDelivery struct {
	ID          string          `json:"id" doc:"The message's id, which it has at every sending (header webhook-id)."`
	Event       string          `json:"event" doc:"What it tells."`
	Subject     string          `json:"subject" doc:"The job or the key that it tells of; empty of others."`
	State       string          `json:"state" enum:"PENDING,DELIVERED,FAILED" doc:"FAILED: given up after two and a half days."`
	Attempts    int             `json:"attempts" doc:"How often it was sent."`
	NextAt      *time.Time      `json:"nextAt" nullable:"true" doc:"When it is sent next, while it is PENDING."`
	LastStatus  int             `json:"lastStatus" doc:"Status of the last answer; 0 where none came."`
	LastError   string          `json:"lastError" doc:"What was wrong with the last sending."`
	CreatedAt   time.Time       `json:"createdAt" doc:"When it was made."`
	DeliveredAt *time.Time      `json:"deliveredAt" nullable:"true" doc:"When a 2xx answer came."`
	Body        json.RawMessage `json:"body" doc:"What is sent."`
}

// WebhookDeliveryList is the newest messages to a webhook.
type WebhookDeliveryList struct {
	Deliveries []WebhookDelivery `json:"deliveries" doc:"Newest first, at most 100."`
}
