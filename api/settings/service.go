// Package settings is the API group of an account's own configuration: its licence servers, which it adds, changes, removes
// and tests. What a licence server means for prices and for starting tasks is billing's and the scheduler's knowledge; they
// read what is stored here.
package settings

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/reach"
	"github.com/molfabric/molfabric/internal/secret"
)

// MaxServers bounds an account's licence servers, and with them the answer of List.
const MaxServers = 100

// Deps is what a Service needs. Dial and Resolve are the machine's own when they are nil, everything else is required.
type Deps struct {
	DB *sqlx.DB
	// KeySecrets are the deployment's; what was sealed under another is unreadable.
	KeySecrets secret.Ring
	// Networks are the private networks (CIDR) in which licence servers may be tested. None is the safe choice of a service for
	// strangers, who would otherwise look around in its network.
	Networks []string
	Dial     reach.Dial
	Resolve  reach.Resolve
	Log      *slog.Logger
	Now      func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	db     *sqlx.DB
	sealer secret.Sealer
	guard  reach.Guard
	log    *slog.Logger
	clock  func() time.Time
}

// New returns a Service. An error says which of Deps.Networks is no private network.
func New(deps Deps) (*Service, error) {
	guard, err := reach.New(deps.Networks, deps.Dial, deps.Resolve)
	if err != nil {
		return nil, fmt.Errorf("licence networks: %w", err)
	}
	seal, err := secret.NewSealer(deps.KeySecrets, secret.LicenceServers)
	if err != nil {
		return nil, err
	}
	return &Service{db: deps.DB, sealer: seal, guard: guard, log: deps.Log,
		clock: deps.Now}, nil
}

// List returns the account's licence servers, newest first.
func (s *Service) List(ctx context.Context, accountID string) ([]contract.LicenseServer, error) {
	return selectAll(ctx, s.db, accountID, MaxServers)
}

// Create adds a licence server. Errors: fault.Validation, also when the account has MaxServers.
func (s *Service) Create(ctx context.Context, accountID string, in contract.LicenseServerRequest) (contract.LicenseServer, error) {
	given, err := s.rowOf(id.New("lic_"), accountID, in)
	if err != nil {
		return contract.LicenseServer{}, err
	}
	given.CreatedAt = s.now()
	var created contract.LicenseServer
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		n, err := countServers(ctx, tx, accountID)
		if err != nil {
			return err
		}
		if n >= MaxServers {
			return fault.New(fault.Validation, "the account has %d licence servers: remove one first", MaxServers)
		}
		created, err = insert(ctx, tx, given)
		return err
	})
	if err != nil {
		return contract.LicenseServer{}, err
	}
	s.log.InfoContext(ctx, "licence server added", "license_server", created.ID, "account", accountID, "request",
		access.RequestID(ctx))
	return created, nil
}

// Get reads a licence server. Errors: fault.NotFound, also for another account's.
func (s *Service) Get(ctx context.Context, accountID, serverID string) (contract.LicenseServer, error) {
	found, err := selectOne(ctx, s.db, accountID, serverID)
	return found, asNotFound(err)
}

// Replace changes a licence server. Errors: fault.Validation, fault.NotFound.
func (s *Service) Replace(
	ctx context.Context, accountID, serverID string, in contract.LicenseServerRequest,
) (contract.LicenseServer, error) {
	given, err := s.rowOf(serverID, accountID, in)
	if err != nil {
		return contract.LicenseServer{}, err
	}
	changed, err := update(ctx, s.db, given)
	if err != nil {
		return contract.LicenseServer{}, asNotFound(err)
	}
	s.log.InfoContext(ctx, "licence server changed", "license_server", serverID, "account", accountID, "request",
		access.RequestID(ctx))
	return changed, nil
}

// Delete removes a licence server. Errors: fault.NotFound.
func (s *Service) Delete(ctx context.Context, accountID, serverID string) error {
	if err := remove(ctx, s.db, accountID, serverID); err != nil {
		return asNotFound(err)
	}
	s.log.InfoContext(ctx, "licence server removed", "license_server", serverID, "account", accountID, "request",
		access.RequestID(ctx))
	return nil
}

// Test looks whether a licence server can be reached, and stores what it found unless host, port or protocol have changed
// meanwhile. Errors: fault.NotFound.
func (s *Service) Test(ctx context.Context, accountID, serverID string) (contract.LicenseServer, error) {
	server, err := s.Get(ctx, accountID, serverID)
	if err != nil {
		return contract.LicenseServer{}, err
	}
	problem := s.guard.Probe(ctx, server.Host, server.Port)
	if ctx.Err() != nil {
		return contract.LicenseServer{}, ctx.Err()
	}
	err = storeTest(ctx, s.db, accountID, server, problem, s.now())
	if err != nil {
		return contract.LicenseServer{}, err
	}
	return s.Get(ctx, accountID, serverID)
}

// rowOf checks what the schema cannot state and completes the defaults. Errors: fault.Validation.
func (s *Service) rowOf(serverID, accountID string, in contract.LicenseServerRequest) (row, error) {
	r := row{LicenseServer: contract.LicenseServer{
		ID: serverID, Name: in.Name, Vendor: in.Vendor, Product: in.Product, Protocol: in.Protocol, Host: in.Host, Port: in.Port,
		Seats: in.Seats, Enforcement: defaultEnforcement, Enabled: true, Status: contract.LicenseUnverified,
	}, AccountID: accountID, Key: billing.LicenseKey(in.Vendor, in.Product), KeepSecret: in.Secret == nil}
	if in.Enforcement != nil {
		r.Enforcement = *in.Enforcement
	}
	if in.Enabled != nil {
		r.Enabled = *in.Enabled
	}
	switch {
	case r.Key == "":
		return row{}, fault.New(fault.Validation, "vendor, product: each needs a letter or a digit")
	case !isHost(in.Host):
		return row{}, fault.New(fault.Validation, "host: a DNS name or an IP address, without a port")
	}
	if in.Secret != nil && *in.Secret != "" {
		sealedUnder := s.sealer.ID()
		r.Sealed, r.SecretID = s.sealer.Seal(serverID, *in.Secret), &sealedUnder
	}
	return r, nil
}

// dnsName matches host names of RFC 1123.
var dnsName = regexp.MustCompile(`^(?i:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.(?i:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?))*$`)

// isHost takes no name whose last label is a number: resolvers read some of those as addresses.
func isHost(text string) bool {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Zone() == ""
	}
	last := text[strings.LastIndexByte(text, '.')+1:]
	return dnsName.MatchString(text) && strings.Trim(last, "0123456789") != ""
}

func asNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "no such licence server")
	}
	if err != nil {
		return fmt.Errorf("licence server: %w", err)
	}
	return nil
}

// now is the time as Postgres keeps it.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }
