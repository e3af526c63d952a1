package studio

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/studio"
)

// Outcomes of a message, as the metric has them.
const (
	outcomeDone          = "done"
	outcomeAsked         = "asked"
	outcomeRefused       = "refused"
	outcomeNotUnderstood = "not_understood"
)

// Who understood a message, as the metric has it. A model's name is an operator's own text and no label.
const byModel = "model"

// metrics are what the studio tells Prometheus.
type metrics struct{ messages *prometheus.CounterVec }

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{messages: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "molfabric_studio_messages_total", Help: "Messages of studio sessions by who understood them and what came of them.",
	}, []string{"understood_by", "outcome"})}
	if registry != nil {
		registry.MustRegister(m.messages)
	}
	return m
}

// count notes an answered message.
func (m *metrics) count(turn studio.Turn) {
	by := turn.Understood
	if by != studio.ByGrammar && by != studio.ByOperations {
		by = byModel
	}
	outcome := outcomeDone
	for _, operation := range turn.Operations {
		switch operation.Op {
		case "ask":
			outcome = outcomeAsked
		case "refuse":
			outcome = outcomeRefused
		}
	}
	if len(turn.NotUnderstood) > 0 {
		outcome = outcomeNotUnderstood
	}
	m.messages.WithLabelValues(by, outcome).Inc()
}
