package scheduler_test

import (
	"github.com/jmoiron/sqlx"
	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/id"
)

// houdini is a priced software of the price book, as a job may write it.
const houdini = `{"software":"HOUDINI"}`

// houdiniFee is its price of a core-hour.
var houdiniFee = billing.FromPence(12)

// seating is what a licence server says of its seats.
type seating struct {
	seats       int
	enforcement string
	enabled     bool
}

// serves tells whether jobs run on the server's licence.
func (s seating) serves() bool { return s.enabled && s.enforcement != "DISABLED" }

// server gives an account a licence server for Houdini and returns its id.
func (f *fabric) server(accountID string, s seating) string {
	f.t.Helper()
	serverID := id.New("lic_")
	addServer(f.db, serverID, accountID, s)
	return serverID
}

func addServer(db *sqlx.DB, serverID, accountID string, s seating) {
	db.MustExec(`INSERT INTO license_servers (id, account_id, name, vendor, product, license_key, protocol, host, port, seats,
		enforcement, enabled, status, created_at)
		VALUES ($1, $2, 'mine', 'Side FX', 'houdini engine', $3, 'sesi', 'licences.example.org', 1715, $4, $5, $6, 'UNVERIFIED',
		now())`,
		serverID, accountID, billing.LicenseKey("Side FX", "houdini engine"), s.seats, s.enforcement, s.enabled)
}

func (f *fabric) reseat(serverID string, s seating) {
	f.db.MustExec(`UPDATE license_servers SET seats = $2, enforcement = $3, enabled = $4 WHERE id = $1`, serverID, s.seats,
		s.enforcement, s.enabled)
}

// inUse counts the tasks that hold a licence of the account.
func (f *fabric) inUse(accountID string) int {
	f.t.Helper()
	return f.count(`SELECT count(*) FROM tasks WHERE account_id = $1 AND license_key IS NOT NULL AND status IN ('QUEUED',
		'RUNNING')`, accountID)
}

// openSeats gives the first account a licence server.
func (w *world) openSeats() {
	w.seats = seating{seats: 2, enforcement: "ENFORCED", enabled: true}
	addServer(w.f.db, w.accounts[0].id+"-lic", w.accounts[0].id, w.seats)
}

// reseat changes the server while tasks wait and run.
func (w *world) reseat() {
	w.seat(seating{seats: rapid.IntRange(1, 3).Draw(w.t, "seats"), enabled: rapid.IntRange(0, 3).Draw(w.t, "enabled") > 0,
		enforcement: rapid.SampledFrom([]string{"ENFORCED", "ENFORCED", "ENFORCED", "ADVISORY", "DISABLED"}).Draw(w.t,
			"enforcement")})
}

func (w *world) seat(s seating) {
	w.seats = s
	w.seated = w.f.inUse(w.accounts[0].id)
	w.f.reseat(w.accounts[0].id+"-lic", s)
}

// nameSoftware makes some jobs name licensed software.
func (w *world) nameSoftware(j *submitted) {
	if rapid.IntRange(0, 2).Draw(w.t, "software") > 0 {
		return
	}
	j.metadata = houdini
	if j.account != w.accounts[0].id || !w.seats.serves() {
		j.fee = houdiniFee
	}
}

// checkSeats holds the dispatch to its promise: tasks that held a seat keep it when seats are taken away, and none starts
// beyond what there is.
func (w *world) checkSeats() {
	inUse, seats := w.f.inUse(w.accounts[0].id), w.seats.seats
	switch {
	case !w.seats.serves():
		seats = 0
	case w.seats.enforcement == "ADVISORY":
		seats = inUse
	}
	if inUse > max(seats, w.seated) {
		w.t.Fatalf("%d tasks hold a licence, %d did before, and there are %d seats", inUse, w.seated, seats)
	}
	w.seated = inUse
}
