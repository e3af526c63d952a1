package kubetest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// scaledJob is what KEDA reads of one of its objects.
type scaledJob struct {
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		JobTargetRef    json.RawMessage
		MaxReplicaCount int
		Triggers        []struct {
			Type     string
			Metadata map[string]string
		}
	}
}

// Job is what a test reads of a job.
type Job struct {
	Metadata struct{ Name string }
	Status   struct {
		Conditions []struct{ Type, Status string }
	}
}

// Ended tells how a job has ended: "Complete", "Failed", or "" while it has not.
func (j Job) Ended() string {
	for _, condition := range j.Status.Conditions {
		if condition.Status == "True" && slices.Contains([]string{"Complete", "Failed"}, condition.Type) {
			return condition.Type
		}
	}
	return ""
}

// scaledBy is the label of the jobs that a ScaledJob has made.
const scaledBy = "scaledjob.keda.sh/name"

// Jobs are the jobs that a ScaledJob has made and that are still listed.
func (c *Cluster) Jobs(namespace, scaled string) ([]Job, error) {
	var all struct{ Items []Job }
	err := c.Do(http.MethodGet, "/apis/batch/v1/namespaces/"+namespace+"/jobs?labelSelector="+scaledBy+"="+scaled, nil, &all)
	return all.Items, err
}

// PlayKEDA does once what KEDA's operator does at each poll, for triggers of the kind metrics-api and the strategy default: it asks
// how many jobs are wanted in all, and makes those that are missing. What does not answer changes nothing.
func (c *Cluster) PlayKEDA(namespace string) error {
	var all struct{ Items []scaledJob }
	if err := c.Do(http.MethodGet, "/apis/keda.sh/v1alpha1/namespaces/"+namespace+"/scaledjobs", nil, &all); err != nil {
		return err
	}
	for _, scaled := range all.Items {
		wanted, known := c.wanted(scaled)
		if !known {
			continue
		}
		jobs, err := c.Jobs(namespace, scaled.Metadata.Name)
		if err != nil {
			return err
		}
		unfinished := 0
		for _, j := range jobs {
			if j.Ended() == "" {
				unfinished++
			}
		}
		for range min(wanted, scaled.Spec.MaxReplicaCount) - unfinished {
			if err := c.Do(http.MethodPost, "/apis/batch/v1/namespaces/"+namespace+"/jobs", map[string]any{
				"apiVersion": "batch/v1", "kind": "Job", "spec": scaled.Spec.JobTargetRef,
				"metadata": map[string]any{"generateName": scaled.Metadata.Name + "-",
					"labels": map[string]string{scaledBy: scaled.Metadata.Name}}}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// wanted asks a ScaledJob's trigger through the service that it names.
func (c *Cluster) wanted(scaled scaledJob) (n int, known bool) {
	trigger := scaled.Spec.Triggers[0].Metadata
	address, err := url.Parse(trigger["url"])
	if err != nil {
		return 0, false
	}
	host := strings.Split(address.Hostname(), ".") // service, namespace, svc
	if len(host) != 3 || host[1] != scaled.Metadata.Namespace {
		return 0, false
	}
	ready, err := c.Endpoints(host[1], host[0])
	if err != nil {
		return 0, false
	}
	for _, endpoint := range ready { // the one that does not lead answers 503
		address.Host = endpoint
		client := http.Client{Timeout: 5 * time.Second}
		answer, err := client.Get(address.String()) //nolint:noctx // has a timeout
		if err != nil {
			continue
		}
		var values map[string]any
		err = json.NewDecoder(answer.Body).Decode(&values)
		_ = answer.Body.Close()
		value, isNumber := values[trigger["valueLocation"]].(float64)
		if answer.StatusCode == http.StatusOK && err == nil && isNumber {
			return int(value), true
		}
	}
	return 0, false
}
