// Command promql reads queries of Prometheus, a JSON list of strings, and prints what each asks for: which metrics, by which labels
// they are chosen, and by which they are grouped. The tests of the dashboards hold that against what molfabric shows.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Query is what one query asks for.
type Query struct {
	Problem string   `json:"problem,omitempty"` // why it is no query
	Metrics []Metric `json:"metrics"`
}

// Metric is one selector: its labels are those that choose and those that it is grouped by.
type Metric struct {
	Name   string   `json:"name"`
	Labels []string `json:"labels"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	found := make([]Query, len(texts))
	for i, text := range texts {
		found[i] = read(text)
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func read(text string) Query {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return Query{Problem: err.Error()}
	}
	var found Query
	parser.Inspect(expression, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		metric := Metric{Name: selector.Name, Labels: []string{}}
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName {
				metric.Labels = append(metric.Labels, matcher.Name)
			}
		}
		for _, parent := range path {
			if aggregate, ok := parent.(*parser.AggregateExpr); ok && !aggregate.Without {
				metric.Labels = append(metric.Labels, aggregate.Grouping...)
			}
		}
		found.Metrics = append(found.Metrics, metric)
		return nil
	})
	return found
}
