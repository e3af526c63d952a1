package scheduler

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
)

// Metrics are the scheduler's Prometheus metrics.
type Metrics struct {
	leader      prometheus.Gauge
	submitted   *prometheus.CounterVec
	dispatched  *prometheus.CounterVec
	finished    *prometheus.CounterVec
	retried     *prometheus.CounterVec
	retriedJobs *prometheus.CounterVec
	fenced      prometheus.Counter
	forged      *prometheus.CounterVec
	doubted     prometheus.Counter
	lostWorkers prometheus.Counter
	lostTasks   prometheus.Counter
	live        *prometheus.GaugeVec
	slots       *prometheus.GaugeVec
	devices     *prometheus.GaugeVec
	pickup      *prometheus.HistogramVec
	run         *prometheus.HistogramVec
	cpuSeconds  *prometheus.CounterVec
	gpuSeconds  *prometheus.CounterVec
	captures    *prometheus.CounterVec
	pence       prometheus.Counter
	overSeats   prometheus.Counter
	spread      *prometheus.GaugeVec
	checkpoints *prometheus.CounterVec
	keptWork    *prometheus.CounterVec
	givenBack   *prometheus.CounterVec
	keptOff     *prometheus.CounterVec
	renewed     prometheus.Counter
	leftBehind  prometheus.Counter
	reused      *prometheus.CounterVec
	repeats     *prometheus.CounterVec
	repeatCPU   *prometheus.CounterVec
}

// What proved no claim, for the metric.
const (
	forgedReport = "report"
	forgedHold   = "heartbeat"
)

// NewMetrics registers the scheduler's metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: "molfabric_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: "molfabric_" + name, Help: help}, labels)
	}
	m := &Metrics{
		leader:      f.NewGauge(prometheus.GaugeOpts{Name: "molfabric_scheduler_leader", Help: "1 while this instance leads."}),
		submitted:   counter("jobs_submitted_total", "Jobs accepted, by engine.", "engine"),
		dispatched:  counter("tasks_dispatched_total", "Attempts handed to a queue.", "queue"),
		finished:    counter("attempts_finished_total", "Attempts reported by workers.", "engine", "outcome"),
		retried:     counter("task_retries_total", "Attempts started again after a failure, by its class.", "queue", "class"),
		retriedJobs: counter("jobs_retried_total", "Jobs that their owners ran again, by engine and scope.", "engine", "scope"),
		fenced: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_reports_fenced_total",
			Help: "Reports dropped because a later attempt runs or the task has ended."}),
		forged: counter("reports_unproven_total", "Reports, and attempts in heartbeats, dropped because they do not prove the "+
			"attempt's claim.", "kind"),
		doubted: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_use_cut_total",
			Help: "Attempts that were said to use more than they can have used: running ones since they were " +
				"started, and those in reports since they were handed out."}),
		lostWorkers: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_workers_lost_total", Help: "Workers declared lost."}),
		lostTasks: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_tasks_lost_total",
			Help: "Attempts taken back because nobody answered for them."}),
		live:    gauge("workers_live", "Living workers, by queue.", "queue"),
		slots:   gauge("worker_slots", "Tasks that living workers can run at once, by queue.", "queue"),
		devices: gauge("worker_devices", "GPUs of living workers, by whether a task uses them.", "state"),
		pickup: f.NewHistogramVec(prometheus.HistogramOpts{Name: "molfabric_task_pickup_seconds",
			Help: "From dispatch to the start of the engine.", Buckets: prometheus.ExponentialBuckets(0.005, 2, 16)},
			[]string{"engine"}),
		run: f.NewHistogramVec(prometheus.HistogramOpts{Name: "molfabric_attempt_run_seconds",
			Help: "Wall time of engine processes.", Buckets: prometheus.ExponentialBuckets(0.1, 2, 18)},
			[]string{"engine", "outcome"}),
		cpuSeconds: counter("engine_cpu_seconds_total", "Processor time of engine processes.", "engine", "outcome"),
		gpuSeconds: counter("engine_gpu_seconds_total", "Device time that was metered for engine processes.", "engine", "outcome"),
		captures:   counter("ledger_captures_total", "Bills settled, by the job's last status.", "status"),
		overSeats: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_license_seats_exceeded_total",
			Help: "Attempts started beyond the seats of an advisory licence."}),
		spread: gauge("expected_cpu_ratio", "Processor time used, and device time where devices were, as a multiple of what the "+
			"engine had expected, by quantile. A high one above the hold factor means that jobs reach their holds.", "engine",
			"hardware", "quantile"),
		checkpoints: counter("checkpoints_total", "Files of finished work that running attempts saved (stored or refused), and "+
			"that later attempts were given (resumed).",
			"engine", "outcome"),
		keptWork: counter("kept_work_pence_total", "Price of the work of failed and lost attempts that later ones went on from, "+
			"by engine.", "engine"),
		reused: counter("tasks_reused_total", "Tasks whose outputs their account had already, so that nothing was run, by "+
			"engine.", "engine"),
		repeats: counter("repeats_total", "Tasks that were run again by chance, by engine and by whether they made the same.",
			"engine", "verdict"),
		repeatCPU: counter("repeat_cpu_seconds_total", "Processor time of running tasks again by chance, which nobody pays for.",
			"engine"),
		givenBack: counter("tasks_given_back_total", "Attempts that workers gave back unstarted, by the reason.", "queue", "code"),
		keptOff: counter("workers_kept_off_total", "Times that a worker was kept off a job after failing it too often, by queue.",
			"queue"),
		renewed: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_permits_renewed_total",
			Help: "New permits for attempts whose old ones were about to expire, or were refused."}),
		leftBehind: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_objects_left_behind_total",
			Help: "Old checkpoints that stay in the object store: it refuses to remove them, or was away for too long."}),
		pence: f.NewCounter(prometheus.CounterOpts{Name: "molfabric_ledger_captured_pence_total", Help: "Pence charged."}),
	}
	for _, kind := range []string{forgedReport, forgedHold} {
		m.forged.WithLabelValues(kind) // else the first of a kind would be no increase
	}
	return m
}

// expect shows a zero for what may be counted of these engines: Prometheus sees no increase in the first of a kind, and a failure
// that nobody has seen before would be on no board.
func (m *Metrics) expect(engineIDs []string) {
	for _, engineID := range engineIDs {
		m.submitted.WithLabelValues(engineID)
		m.reused.WithLabelValues(engineID)
		m.keptWork.WithLabelValues(engineID)
		for _, outcome := range []queue.EventKind{queue.Succeeded, queue.Failed, queue.Cancelled} {
			m.finished.WithLabelValues(engineID, string(outcome))
			m.cpuSeconds.WithLabelValues(engineID, string(outcome))
			m.gpuSeconds.WithLabelValues(engineID, string(outcome))
		}
		for _, scope := range RetryScopes {
			m.retriedJobs.WithLabelValues(engineID, string(scope))
		}
		for _, verdict := range repeatVerdicts {
			m.repeats.WithLabelValues(engineID, verdict.label())
		}
	}
	for _, status := range job.Statuses {
		if status.Terminal() {
			m.captures.WithLabelValues(string(status))
		}
	}
}

// fleet shows the living workers.
func (m *Metrics) fleet(living []queue.Heartbeat) {
	m.live.Reset()
	m.slots.Reset()
	var devices queue.Devices
	for _, hb := range living {
		for _, name := range hb.Queues {
			m.live.WithLabelValues(name).Inc()
			m.slots.WithLabelValues(name).Add(float64(hb.SlotsOf(name)))
		}
		devices.Total, devices.Free = devices.Total+hb.Devices.Total, devices.Free+hb.Devices.Free
	}
	m.devices.WithLabelValues("free").Set(float64(devices.Free))
	m.devices.WithLabelValues("used").Set(float64(devices.Total - devices.Free))
}

// observe counts a report that has been committed.
func (m *Metrics) observe(event queue.Event) {
	switch event.Kind {
	case queue.Started:
		m.pickup.WithLabelValues(event.Engine).Observe(event.Pickup.Seconds())
		return
	case queue.Checkpointed: // counted by its files
		return
	}
	if event.GivenBack {
		return // it has done nothing
	}
	outcome := string(event.Kind)
	m.finished.WithLabelValues(event.Engine, outcome).Inc()
	m.run.WithLabelValues(event.Engine, outcome).Observe(float64(event.Usage.WallMs) / 1e3)
	m.cpuSeconds.WithLabelValues(event.Engine, outcome).Add(float64(event.Usage.CPUMicroseconds) / 1e6)
	m.gpuSeconds.WithLabelValues(event.Engine, outcome).Add(float64(event.Usage.GPUMicroseconds) / 1e6)
}

// measured shows how well an engine's expectations are met on a worker class.
func (m *Metrics) measured(class engines.WorkerClass, spread *billing.Spread) {
	if spread == nil {
		return
	}
	m.spread.WithLabelValues(class.Engine, class.Hardware, "0.1").Set(spread.Low)
	m.spread.WithLabelValues(class.Engine, class.Hardware, "0.5").Set(spread.Likely)
	m.spread.WithLabelValues(class.Engine, class.Hardware, "0.9").Set(spread.High)
}

// captured counts a settled bill.
func (m *Metrics) captured(status job.Status, pence int64) {
	m.captures.WithLabelValues(string(status)).Inc()
	m.pence.Add(float64(pence))
}

// scrapeTimeout bounds what one scrape may ask of the stores.
const scrapeTimeout = 2 * time.Second

var (
	tasksDesc = prometheus.NewDesc("molfabric_tasks", "Tasks that may be dispatched, are queued or run, by queue and state.",
		[]string{"queue", "status"}, nil)
	depthDesc = prometheus.NewDesc("molfabric_queue_depth", "Attempts waiting in Redis, by queue.", []string{"queue"}, nil)
	ageDesc   = prometheus.NewDesc("molfabric_queue_age_seconds", "Age of the oldest attempt waiting in Redis, by queue.",
		[]string{"queue"}, nil)
	backlogTasksDesc = prometheus.NewDesc("molfabric_backlog_tasks", "Tasks that wait for a worker, in the store or in Redis, by "+
		"the queue of their class.", []string{"queue"}, nil)
	backlogSecondsDesc = prometheus.NewDesc("molfabric_backlog_cpu_seconds", "Processor time that the waiting tasks are expected "+
		"to take, as the newest tasks of their class have.", []string{"queue"}, nil)
	backlogOldestDesc = prometheus.NewDesc("molfabric_backlog_oldest_seconds", "How long the stage has been open that has waited "+
		"longest of those with a waiting task; 0 when none waits.", []string{"queue"}, nil)
)

// Describe and Collect make the Scheduler a prometheus.Collector of what only the stores know: tasks by state, what waits, and the
// depth and age of each queue. A store that is away leaves its figures out.
func (s *Scheduler) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		tasksDesc, depthDesc, ageDesc, backlogTasksDesc, backlogSecondsDesc, backlogOldestDesc,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (s *Scheduler) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(tenant.Everyone(context.Background(), "the operator counts the tasks of all accounts"),
		scrapeTimeout)
	defer cancel()
	counts, err := s.store.CountOpenTasks(ctx)
	if err != nil {
		s.Log.Warn("tasks not counted for the scrape", "error", err)
	}
	for _, c := range counts {
		ch <- prometheus.MustNewConstMetric(tasksDesc, prometheus.GaugeValue, float64(c.N), c.Queue, string(c.Status))
	}
	s.collectBacklogs(ctx, ch)
	for _, name := range s.queueNames() {
		depth, err := s.Queue.Depth(name)
		if err != nil {
			s.Log.Warn("queue not inspected for the scrape", "queue", name, "error", err)
			continue
		}
		ch <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(depth.Pending), name)
		ch <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, depth.OldestAge.Seconds(), name)
	}
}

// collectBacklogs shows a zero for what has no work: who sizes a fleet must tell that from no answer.
func (s *Scheduler) collectBacklogs(ctx context.Context, ch chan<- prometheus.Metric) {
	backlogs, err := s.backlogs(ctx, 0)
	if err != nil {
		s.Log.Warn("backlog not summed up for the scrape", "error", err)
	}
	for _, b := range backlogs {
		ch <- prometheus.MustNewConstMetric(backlogTasksDesc, prometheus.GaugeValue, float64(b.Waiting), b.Class)
		ch <- prometheus.MustNewConstMetric(backlogSecondsDesc, prometheus.GaugeValue, b.CPUSeconds, b.Class)
		ch <- prometheus.MustNewConstMetric(backlogOldestDesc, prometheus.GaugeValue, b.OldestSeconds, b.Class)
	}
}
