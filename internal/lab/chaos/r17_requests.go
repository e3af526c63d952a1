package chaos

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
)

// metadata are the addresses where clouds tell a machine its secrets.
var metadata = []string{"169.254.169.254", "fd00:ec2::254"}

// forged is R17. Everything in a request that might be fetched names what must never be reached: two servers on loopback that count
// who connects, the metadata addresses, and a name under which nothing may be asked for. A wire is listened to for all of them.
func forged(ctx context.Context, w *World, rng *rand.Rand) error {
	bait, err := listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer bait.close()
	name := strings.TrimPrefix(id.New("bait_"), "bait_") + ".invalid"
	wire, err := tap(bait.address(), name)
	if err != nil {
		return err
	}
	defer wire.close()
	var redirected atomic.Int64
	led := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		target := "http://" + bait.address()
		if redirected.Add(1)%2 == 0 {
			target = "http://" + metadata[0]
		}
		http.Redirect(answer, request, target+"/latest/meta-data/", http.StatusFound)
	}))
	defer led.Close()
	if _, err := w.StartAPI(ctx, "MOLFABRIC_STRUCTURES="+led.URL); err != nil {
		return err
	}
	if _, err := w.StartScheduler(ctx); err != nil {
		return err
	}
	addresses := forgedAddresses(bait.address(), name)
	if w.Short {
		rng.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
		addresses = addresses[:shortAddresses]
	}
	err = w.forge(ctx, bait, addresses)
	if redirected.Load() == 0 {
		err = errors.Join(err, errors.New("the source of structures was never asked, so that it could not redirect"))
	}
	if n := bait.visits.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d connections were made to a server on loopback", n))
	}
	return errors.Join(err, wire.silent(ctx, w, bait))
}

// forge sends every forged request.
func (w *World) forge(ctx context.Context, bait *bait, addresses []string) error {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	failures := []error{w.forgeKeys(ctx, account, addresses), w.forgeScenes(ctx, account, addresses),
		w.forgeLicenses(ctx, account, bait)}
	for range 4 { // the source of structures leads elsewhere each time
		if found, err := account.Client.ResolveLigand(ctx, "ZZ"+strings.ToUpper(id.New("x_")[5:6])); err == nil &&
			len(found.Body.Candidates) > 0 {
			failures = append(failures, fmt.Errorf("a redirect was followed: %+v", found.Body.Candidates))
		}
	}
	return errors.Join(failures...)
}

// forgedAddresses are spellings of what must not be reached.
func forgedAddresses(bait, name string) []string {
	_, port, _ := net.SplitHostPort(bait) // it was listened on
	list := []string{"file:///etc/passwd", "file:/etc/passwd", "file://localhost/etc/passwd", "FILE:///etc/passwd",
		"//" + bait + "/x.pdb", "/etc/passwd",
		"../../../etc/passwd", "ftp://" + bait + "/x.pdb", "gopher://" + bait + "/x", "dict://" + bait, "http://" + name + "/x.pdb",
		"http://user@" + name + ":" + port + "/x.pdb",
		"jar:http://" + bait + "!/x.pdb", "blob:http://" + bait + "/x", "view-source:http://" + bait + "/x",
		"http://" + bait + "#" + name}
	for _, host := range []string{"127.0.0.1", "localhost", "127.1", "0", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]",
		"[::ffff:127.0.0.1]", "[::]"} {
		list = append(list, "http://"+host+":"+port+"/x.pdb")
	}
	for _, host := range metadata {
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		list = append(list, "http://"+host+"/latest/meta-data/", "https://"+host+"/x.pdb")
	}
	return list
}

// forgeKeys names an address where the key of a stored file belongs.
func (w *World) forgeKeys(ctx context.Context, a *Account, addresses []string) error {
	var failures []error
	for _, address := range addresses {
		for _, request := range []map[string]any{
			{"jobType": "simulation", "simulator": "fpocket", "sceneFile": address},
			{"jobType": "molecular", "sceneFile": address, "frameStart": 1, "frameEnd": 1},
			{"jobType": "simulation", "simulator": "fpocket", "sceneFile": a.Scene(), "attachments": []string{address}},
			{"jobType": "simulation", "simulator": "ncbi-blastp", "sceneFile": a.Scene(),
				"simulationParams": map[string]any{"blastDatabasePath": address}},
		} {
			failures = append(failures, a.refused(ctx, w.APIs()[0], request))
		}
	}
	return someOf(failures)
}

// refused expects that a submission is refused as the caller's fault.
func (a *Account) refused(ctx context.Context, api *Process, request map[string]any) error {
	answer, err := a.Send(ctx, api, http.MethodPost, "/v1/jobs/submit", encode(request), "Idempotency-Key", id.New("k_"))
	if err != nil {
		return err
	}
	if answer.Status < 400 || answer.Status >= 500 {
		return fmt.Errorf("%.300s was answered %s, want a 4xx", encode(request), answer)
	}
	return nil
}

// forgeScenes refers to an address in every place of a scene that a renderer fetches, in a document and in an archive.
func (w *World) forgeScenes(ctx context.Context, a *Account, addresses []string) error {
	var failures []error
	for i, address := range addresses {
		document := forgedScene(i, address)
		archive, err := packed(document)
		if err != nil {
			return err
		}
		for name, content := range map[string][]byte{"scene.mvsj": document, "scene.mvsx": archive} {
			uploaded, err := a.Client.Upload(ctx, name, bytes.NewReader(content), int64(len(content)))
			if err != nil {
				return err
			}
			failures = append(failures, a.refused(ctx, w.APIs()[0], map[string]any{"jobType": "molecular",
				"sceneFile": uploaded.StorageKey, "frameStart": 1, "frameEnd": 1,
				"metadata": map[string]any{"resolution": "64x64", "renderEngine": []string{"molstar", "cycles"}[i%2]}}))
		}
	}
	return someOf(failures)
}

// forgedScene is a scene that refers to an address in one of four places.
func forgedScene(place int, address string) []byte {
	node := func(kind string, params map[string]any, children ...any) map[string]any {
		return map[string]any{"kind": kind, "params": params, "children": children}
	}
	download := node("download", map[string]any{"url": address})
	root := node("root", map[string]any{}, download)
	switch place % 4 {
	case 1:
		root = node("root", map[string]any{}, node("download", map[string]any{"url": address},
			node("parse", map[string]any{"format": "pdb"}, node("structure", map[string]any{"type": "model"},
				node("color_from_uri", map[string]any{"uri": address, "format": "json", "schema": "all_atomic"})))))
	case 2:
		canvas := node("canvas", map[string]any{"background_color": "black"})
		canvas["custom"] = map[string]any{"molstar_postprocessing": map[string]any{
			"background": map[string]any{"name": "image", "params": map[string]any{
				"source": map[string]any{"name": "url", "params": address}}}}}
		root = node("root", map[string]any{}, canvas, download)
	case 3:
		root = node("root", map[string]any{}, node("download", map[string]any{"url": address},
			node("parse", map[string]any{"format": "pdb"}, node("structure", map[string]any{"type": "model"},
				node("component_from_uri", map[string]any{"uri": address, "format": "cif", "schema": "all_atomic"})))))
	}
	return encode(map[string]any{"metadata": map[string]any{"version": "1", "timestamp": "2026-01-01T00:00:00Z"}, "root": root})
}

// packed is an archive with a scene.
func packed(document []byte) ([]byte, error) {
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	index, err := writer.Create("index.mvsj")
	if err != nil {
		return nil, err
	}
	if _, err := index.Write(document); err != nil {
		return nil, err
	}
	err = writer.Close()
	return archive.Bytes(), err
}

// forgeLicenses lets the API test licence servers where none may be.
func (w *World) forgeLicenses(ctx context.Context, a *Account, bait *bait) error {
	visitor, err := a.browser(ctx, w.APIs()[0])
	if err != nil {
		return err
	}
	defer visitor.Close()
	_, port, _ := net.SplitHostPort(bait.address()) // it was listened on
	var number int
	if _, err := fmt.Sscan(port, &number); err != nil {
		return err
	}
	var failures []error
	for i, host := range slices.Concat([]string{"127.0.0.1", "localhost", "::1", "::", "0.0.0.0", "::ffff:127.0.0.1", "2130706433",
		"0x7f.1", "127.1", "fe80::1"}, metadata) {
		added, err := visitor.AddLicenseServer(ctx, contract.LicenseServerRequest{Name: fmt.Sprintf("server %d", i), Vendor: "none",
			Product: "none", Protocol: "custom", Host: host, Port: number, Seats: 1})
		if err != nil {
			if !clientsFault(err) {
				failures = append(failures, fmt.Errorf("licence server %s: %w", host, err))
			}
			continue
		}
		tested, err := visitor.TestLicenseServer(ctx, added.Body.ID)
		if err == nil && tested.Body.Status != "NOT_READY" || err != nil && !clientsFault(err) {
			failures = append(failures, fmt.Errorf("licence server %s: %s, %w, want NOT_READY", host, tested.Body.Status, err))
		}
	}
	return errors.Join(failures...)
}

// clientsFault tells whether an API refused a request as the caller's fault.
func clientsFault(err error) bool {
	var failure *client.Error
	return errors.As(err, &failure) && failure.Status >= 400 && failure.Status < 500
}

// shortAddresses is how many of the addresses the short form tries in every place.
const shortAddresses = 12

// settle is how long a wire is listened to after the last request: what was to be sent has been sent.
const settle = 500 * time.Millisecond
