package jobs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/tenant"
	"github.com/molfabric/molfabric/scheduler"
)

// withLigand is smallReceptor with a drug-sized ligand, a haem's iron and a glycerol.
var withLigand = smallReceptor + ligandLines("STI", "A", 201, 9, 6) + ligandLines("HEM", "A", 500, 7, 30) + ligandLines("GOL", "A",
	600, 6, 60)

// ligandLines are atoms of a ligand in a row from x on.
func ligandLines(component, chain string, number, atoms int, x float64) string {
	var text strings.Builder
	for i := range atoms {
		fmt.Fprintf(&text, "HETATM%5d  C%-2d %3s %1s%4d    %8.3f%8.3f%8.3f  1.00  0.00           C\n", i+1, i+1, component, chain,
			number, x+1.5*float64(i), 2.0, 3.0)
	}
	return text.String()
}

// upload gives an account a file with this content and returns it as an artifact.
func (d *desk) upload(caller access.Principal, key, content, format string) string {
	d.t.Helper()
	d.put(key, content)
	d.files[caller.AccountID+" "+key] = engines.Object{StorageKey: key, ByteSize: int64(len(content)), SHA256: digestOf(content)}
	return fmt.Sprintf(
		`{"schema":"service.docking.artifact/v1","artifactId":"a","storageKey":%q,"sha256":%q,"byteSize":%d,"mediaType":"text/plain","format":%q}`,
		key, digestOf(content), len(content), format)
}

const ethanol = `"ligandIdentity":{"ligandId":"a","label":"ethanol","source":{"kind":"smiles","smiles":"CCO"}}`

func TestReceptorsAreRead(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	for _, c := range []struct {
		name, content, params string
		code                  fault.Code
		says                  string
	}{
		{"empty", "\n", "", fault.Validation, "sceneFile: the receptor's file is empty"},
		{"no structure", "hello\n", "", fault.Validation, "sceneFile: the receptor's file has no atoms"},
		{"a torn line", smallReceptor + "ATOM      9  N   GLY A   9      1.0\n", "", fault.Validation, "line 7"},
		{"an absent model", smallReceptor, `"receptorModel":3`, fault.Validation,
			"simulationParams.receptorModel: is 3, which the receptor does not have; its models: 1"},
		{"an absent chain", smallReceptor, `"receptorChains":["C"]`, fault.Validation,
			"simulationParams.receptorChains[0]: names chain C"},
		{"an absent ligand", withLigand, `"pocketLigand":"ZZZ"`, fault.Validation,
			"simulationParams.pocketLigand: names ZZZ, which the receptor does not have; beside its chains it has: STI A:201"},
		{"a box away", withLigand, `"boxCenterAngstrom":[100,100,100],"boxSizeAngstrom":20`, fault.Validation,
			"simulationParams.boxCenterAngstrom: puts the box"},
	} {
		d.upload(caller, "r.pdb", c.content, "pdb")
		params := strings.Trim(ethanol+","+c.params, ",")
		_, err := d.Submit(access.With(t.Context(), caller), caller, "key-of-"+c.name,
			request(t, strings.Replace(dock(params), "receptor.pdb", "r.pdb", 1)))
		wantFault(t, c.name, err, c.code, c.says)
	}
	d.upload(caller, "r.pdb", withLigand, "pdb")
	for name, content := range map[string]string{"is empty": " \n", "is a binary file": "\x00\x01",
		"is a zip archive": "PK\x03\x04"} {
		for place, member := range map[string]string{"ligandIdentity": `"ligandIdentity":%s`,
			"ligandLibrary[0]": `"ligandLibrary":[%s]`} {
			ligand := fmt.Sprintf(`{"ligandId":"a","label":"a","source":{"kind":"artifact","artifact":%s}}`,
				d.upload(caller, "ligand.sdf", content, "sdf"))
			_, err := d.Submit(access.With(t.Context(), caller), caller, "",
				request(t, strings.Replace(dock(fmt.Sprintf(member, ligand)), "receptor.pdb", "r.pdb", 1)))
			wantFault(t, "a ligand's file that "+name, err, fault.Validation,
				"simulationParams."+place+".source.artifact: the ligand's file "+name)
		}
	}
	_, err := d.Submit(access.With(t.Context(), caller), caller, "", request(t,
		strings.Replace(dock(strings.Replace(ethanol, "CCO", "C1CO", 1)), "receptor.pdb", "r.pdb", 1)))
	wantFault(t, "a torn SMILES", err, fault.Validation, "simulationParams.ligandIdentity.source.smiles: is no SMILES: at "+
		"character")
	var kept int
	if err := d.db.GetContext(t.Context(), &kept,
		`SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM idempotency_keys)`); err != nil || kept != 0 {
		t.Errorf("%d rows were stored for what was refused (%v)", kept, err)
	}
	d.files[caller.AccountID+" gone.pdb"] = engines.Object{StorageKey: "gone.pdb", ByteSize: 10}
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", request(t,
		strings.Replace(dock(ethanol), "receptor.pdb", "gone.pdb", 1)))
	wantFault(t, "a file that is gone", err, fault.SceneNotFound, "sceneFile")
}

// plannedBox is the box of a job's plan.
func (d *desk) plannedBox(receipt scheduler.Receipt) string {
	d.t.Helper()
	plan, err := d.Service.store.prepareShards(tenant.Everyone(d.t.Context(), "a test reads a plan"), receipt.JobID)
	if err != nil {
		d.t.Fatal(err)
	}
	_, box, _ := strings.Cut(string(plan[0].Params), `"box":`)
	return box
}

func TestTheBoundLigandIsTheBox(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	d.upload(caller, "r.pdb", withLigand, "pdb")
	sdf := "x\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n    2.0000    2.0000    3.0000 C  \n    4.0000    2.0000    3.0000 C " +
		" \nM  END\n"
	around := d.upload(caller, "ligand.sdf", sdf, "sdf")
	for _, c := range []struct{ name, params, box string }{
		{"bound",
			ethanol, `{"source":"pocketLigand","componentId":"STI","chain":"A","residue":201,"notes":["nothing says where to dock`},
		{"pocket", ethanol + `,"boxSource":"fpocket"`, `{"source":"fpocket"}`},
		{"file", ethanol + `,"boxLigandArtifact":` + around,
			`{"source":"ligandFile","centerAngstrom":[3,2,3],"sizeAngstrom":[15,15,15],`},
		{"native alone", `"dockingValidation":{"redockBound":true}`,
			`{"source":"pocketLigand","componentId":"STI","chain":"A","residue":201,`},
	} {
		receipt, err := d.Submit(access.With(t.Context(), caller), caller, "",
			request(t, strings.Replace(dock(c.params), "receptor.pdb", "r.pdb", 1)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if box := d.plannedBox(receipt); !strings.HasPrefix(box, c.box) {
			t.Errorf("%s: got %s, want %s", c.name, box, c.box)
		}
	}
	_, err := d.Submit(access.With(t.Context(), caller), caller, "", request(t,
		dock(ethanol+`,"boxLigandArtifact":`+strings.Replace(around, "ligand.sdf", "none.sdf", 1))))
	d.file(caller, "receptor.pdb", 1000, "")
	wantFault(t, "a ligand's file that nobody has uploaded", err, fault.SceneNotFound, "")
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", request(t,
		dock(ethanol+`,"boxLigandArtifact":`+strings.Replace(around, "ligand.sdf", "none.sdf", 1))))
	wantFault(t, "a ligand's file that nobody has uploaded", err, fault.ArtifactNotFound,
		"simulationParams.boxLigandArtifact.storageKey")
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", request(t,
		dock(ethanol+`,"boxLigandArtifact":`+d.upload(caller, "torn.sdf", "torn\n", "sdf"))))
	wantFault(t, "a torn ligand's file", err, fault.Validation, "simulationParams.boxLigandArtifact: the ligand's file")
}

// TestARepetitionDocksIntoTheSamePlace repeats jobs whose box their requests do not say: one that found its ligand, and one from
// before anybody looked for it.
func TestARepetitionDocksIntoTheSamePlace(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	d.upload(caller, "r.pdb", withLigand, "pdb")
	for name, box := range map[string]string{
		`"dockingValidation":{"redockBound":true}`: `{"source":"pocketLigand","componentId":"STI","chain":"A","residue":201},"nativeReference":{"componentId":"STI","chain":"A","residue":201}`,
		ethanol + `,"boxSource":"fpocket"`:         `{"source":"fpocket"}`,
	} {
		first, err := d.Submit(access.With(t.Context(), caller), caller, "",
			request(t, strings.Replace(dock(name), "receptor.pdb", "r.pdb", 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// as before there was the member
		d.exec(`UPDATE jobs SET request_text = replace(request_text, '"boxSource":"fpocket",', '') WHERE id = $1`, first.JobID)
		again, err := d.Resubmit(access.With(t.Context(), caller), caller, first.JobID, 7, "run_1", "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := d.plannedBox(again); !strings.HasPrefix(got, box) {
			t.Errorf("%s: got %s, want %s", name, got, box)
		}
	}
}

func TestForecast(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	receptor := d.upload(caller, "r.pdb", withLigand, "pdb")
	params := ethanol + `,"receptorArtifact":` + receptor
	want := func(name string, f *contract.Forecast) {
		t.Helper()
		switch {
		case f == nil:
			t.Errorf("%s: there is no forecast", name)
		case f.Box.Source != "pocketLigand" || f.Box.Ligand == nil || f.Box.Ligand.ComponentID != "STI" ||
			f.Box.Ligand.HeavyAtoms != 9 || f.Box.SizeAngstrom == nil ||
			*f.Box.SizeAngstrom != [3]float64{22, 15, 15} || len(f.Notes) == 0:
			t.Errorf("%s: got %+v", name, f)
		case len(f.Components) != 3 || f.Components[0].Component != "HEM" || f.Components[0].Status != "kept" ||
			f.Components[0].Option != "removeComponents" ||
			f.Components[1].Component != "STI" || !strings.Contains(f.Components[1].Why, "docked into") ||
			f.Components[2].Component != "GOL" || f.Components[2].Option != "retainComponents":
			t.Errorf("%s: got %+v", name, f.Components)
		}
	}
	estimate := func(caller access.Principal, params string, scene ...string) (int, string) {
		query := ""
		for _, file := range scene {
			query = "?sceneFile=" + file
		}
		response, text := d.call(caller, http.MethodPost, "/v1/jobs/estimate"+query,
			strings.Replace(dock(params), `"sceneFile":"receptor.pdb",`, "", 1))
		return response.StatusCode, text
	}
	status, text := estimate(caller, params)
	if status != http.StatusOK {
		t.Fatalf("estimate: got %d %s", status, text)
	}
	want("estimate", decoded[struct {
		contract.EstimateResponse
		Schema string `json:"$schema"`
	}](t, text).Receptor)
	if status, text = estimate(caller, `"pocketLigand":"STI"`, "r.pdb"); status != http.StatusOK ||
		!strings.Contains(text, `"receptor"`) {
		t.Errorf("a scene alone: got %d %s", status, text)
	}
	if status, text = estimate(caller, ethanol+`,"pocketLigand":"ZZZ"`, "r.pdb"); status == http.StatusOK ||
		!strings.Contains(text, "pocketLigand: names ZZZ") {
		t.Errorf("a scene without the ligand: got %d %s", status, text)
	}
	response, text := d.call(caller, http.MethodPost, "/v1/jobs/submit", strings.Replace(dock(params), "receptor.pdb", "r.pdb", 1),
		"Idempotency-Key", "key-0001")
	if response.StatusCode != http.StatusOK {
		t.Fatalf("submit: got %d %s", response.StatusCode, text)
	}
	want("submission", decoded[contract.SubmitResponse](t, text).Receptor)
	if _, again := d.call(caller, http.MethodPost, "/v1/jobs/submit", strings.Replace(dock(params), "receptor.pdb", "r.pdb", 1),
		"Idempotency-Key", "key-0001"); decoded[contract.SubmitResponse](t, again).Receptor == nil {
		t.Errorf("a replay forgets the forecast: %s", again)
	}
	if status, text := estimate(caller, params+`,"pocketLigand":"ZZZ"`); status == http.StatusOK ||
		!strings.Contains(text, "pocketLigand: names ZZZ") {
		t.Errorf("an absent ligand: got %d %s", status, text)
	}
	for name, params := range map[string]string{"another account's file": params,
		"a file that is uploaded later": strings.Replace(params, "r.pdb", "later.pdb", 1)} {
		who := caller
		if name == "another account's file" {
			who = d.account()
		}
		if status, text := estimate(who, params); status != http.StatusOK || strings.Contains(text, `"receptor"`) {
			t.Errorf("%s: got %d %s", name, status, text)
		}
	}
}

// TestForecastOfAKeptEntry wants an estimate to look into an entry once a job has fetched it, and to ask nobody for it before.
func TestForecastOfAKeptEntry(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	l.engine.Engine = vina.New()
	caller := l.account()
	params := ethanol + `,"receptorPdbId":"1cbs"`
	body := strings.Replace(dock(params), `"sceneFile":"receptor.pdb",`, "", 1)
	if _, text := l.call(caller, http.MethodPost, "/v1/jobs/estimate", body); strings.Contains(text, `"receptor"`) ||
		l.asked.Load() != 0 {
		t.Errorf("before: got %s after %d requests", text, l.asked.Load())
	}
	l.found(caller, params)
	asked := l.asked.Load()
	if _, text := l.call(caller, http.MethodPost, "/v1/jobs/estimate", body); !strings.Contains(text,
		`"componentId":"REA","chain":"A","residue":200`) || l.asked.Load() != asked {
		t.Errorf("after: got %s after %d requests", text, l.asked.Load()-asked)
	}
}

func TestCompressedReceptor(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(withLigand)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t)
	caller := d.account()
	d.upload(caller, "r.pdb.gz", packed.String(), "pdb")
	_, err := d.Submit(access.With(t.Context(), caller), caller, "", request(t,
		strings.Replace(dock(ethanol), "receptor.pdb", "r.pdb.gz", 1)))
	wantFault(t, "a gzip'd receptor", err, fault.Validation, "sceneFile: is a gzip'd file; unpack it")
}
