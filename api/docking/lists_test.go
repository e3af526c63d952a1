package docking_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// walk reads a list of results page by page and returns the ligands in the order that they came.
func (c chemist) walk(path, query string, limit int) []string {
	c.t.Helper()
	var names []string
	cursor := ""
	for range 100 {
		page := get[contract.DockingResultList](c, fmt.Sprintf("%s?limit=%d&cursor=%s%s", path, limit, cursor, query))
		for _, r := range page.Results {
			names = append(names, r.LigandID)
		}
		if page.NextCursor == nil {
			return names
		}
		if len(page.Results) != limit {
			c.t.Fatalf("%s %s: a page of %d with a next one", path, query, len(page.Results))
		}
		cursor = url.QueryEscape(*page.NextCursor)
	}
	c.t.Fatal("the list has no end")
	return nil
}

// Every order is stable over pages of any length, and what has no figure comes last.
func TestResultsArePagedUnderEverySort(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	l.dock(l.account().AccountID, "COMPLETED", true, noon, screen()...)
	first := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	l.dock(c.AccountID, "COMPLETED", false, noon.Add(time.Hour), ligand{name: "solo", score: -7, efficiency: 0.5, poses: 1,
		noSDF: true})
	l.exec(`UPDATE docking_results SET label = repeat($2, 512) WHERE id = $1`, first.results[3], "𝔘")
	for sort, wanted := range map[string]string{
		"":                  "solo",
		"score":             "imatinib nilotinib solo pdbqt-only ethanol broken waiting now",
		"-score":            "ethanol pdbqt-only solo imatinib nilotinib broken waiting now",
		"ligandEfficiency":  "ethanol solo imatinib nilotinib broken waiting now pdbqt-only",
		"-ligandEfficiency": "nilotinib imatinib solo ethanol broken waiting now pdbqt-only",
		"label":             "nilotinib imatinib ethanol now pdbqt-only solo waiting broken",
		"createdAt":         "imatinib nilotinib ethanol broken waiting now pdbqt-only solo",
		"-createdAt":        "solo",
		"index":             "",
	} {
		query := ""
		if sort != "" {
			query = "&sort=" + sort
		}
		whole := c.walk("/results", query, 100)
		if got := strings.Join(whole, " "); len(whole) != 8 || !strings.HasPrefix(got, wanted) {
			t.Errorf("sort %q: got %s, want %s", sort, got, wanted)
		}
		for limit := 1; limit <= 4; limit++ {
			if got := c.walk("/results", query, limit); !slices.Equal(got, whole) {
				t.Errorf("sort %q in pages of %d: got %v, want %v", sort, limit, got, whole)
			}
		}
	}
	for _, path := range []string{"/runs/" + first.run + "/results", "/batches/" + first.batch + "/results"} {
		if got := strings.Join(c.walk(path, "", 2), " "); got != "imatinib nilotinib pdbqt-only ethanol broken waiting now" {
			t.Errorf("%s: got %s", path, got)
		}
		if got := strings.Join(c.walk(path, "&sort=index", 3), " "); got != "imatinib nilotinib ethanol broken waiting now "+
			"pdbqt-only" {
			t.Errorf("%s by index: got %s", path, got)
		}
	}
}

func TestOtherListsArePaged(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	var made []docked
	for i := range 5 {
		made = append(made, l.dock(c.AccountID, "COMPLETED", true, noon.Add(time.Duration(i/2)*time.Second),
			ligand{name: "a", score: -1, poses: 4, noSDF: true}))
	}
	for _, list := range []struct {
		name string
		of   func(docked) string
		page func(path string) ([]string, *string)
	}{
		{"experiments", func(d docked) string { return d.experiment }, func(path string) (ids []string, next *string) {
			page := get[contract.DockingExperimentList](c, path)
			for _, one := range page.Experiments {
				ids = append(ids, one.ExperimentID)
			}
			return ids, page.NextCursor
		}},
		{"batches", func(d docked) string { return d.batch }, func(path string) (ids []string, next *string) {
			page := get[contract.DockingBatchList](c, path)
			for _, one := range page.Batches {
				ids = append(ids, one.BatchID)
			}
			return ids, page.NextCursor
		}},
		{"runs", func(d docked) string { return d.run }, func(path string) (ids []string, next *string) {
			page := get[contract.DockingRunList](c, path)
			for _, one := range page.Runs {
				ids = append(ids, one.RunID)
			}
			return ids, page.NextCursor
		}},
	} {
		var wanted, got []string
		for _, i := range []int{4, 3, 2, 1, 0} {
			wanted = append(wanted, list.of(made[i]))
		}
		path := "/" + list.name + "?limit=2"
		for next := new(string); next != nil; {
			var ids []string
			ids, next = list.page(path + "&cursor=" + *next)
			got = append(got, ids...)
			if next == nil {
				break
			}
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: got %v, want %v", list.name, got, wanted)
		}
	}
	poses := get[contract.DockingPoseList](c, "/results/"+made[0].results[0]+"/poses?limit=3")
	rest := get[contract.DockingPoseList](c, "/results/"+made[0].results[0]+"/poses?limit=3&cursor="+*poses.NextCursor)
	for i, pose := range append(poses.Poses, rest.Poses...) {
		if pose.Rank != i+1 || pose.PoseID != made[0].poses[0][i] {
			t.Errorf("pose %d: %+v", i, pose)
		}
	}
	if len(rest.Poses) != 1 || rest.NextCursor != nil {
		t.Errorf("the last page: %+v", rest)
	}
	if all := get[contract.DockingPoseList](c, "/poses?limit=100"); len(all.Poses) != 20 ||
		all.Poses[0].ResultID != made[4].results[0] {
		t.Errorf("%d poses", len(all.Poses))
	}
	if good := get[contract.DockingPoseList](c, "/poses?maxScore=-0.5&resultId="+made[1].results[0]); len(good.Poses) != 2 {
		t.Errorf("%d poses of -0.5 and better, want 2", len(good.Poses))
	}
}

// A cursor goes with the list, the filters and the sort that it came from.
func TestCursorsAreBound(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	next := *get[contract.DockingResultList](c, "/runs/"+d.run+"/results?limit=1&status=COMPLETED").NextCursor
	if got := c.Send("GET", base+"/runs/"+d.run+"/results?limit=2&status=COMPLETED&sort=score&cursor="+next,
		""); got.StatusCode != 200 {
		t.Errorf("another limit: %d %s", got.StatusCode, got.Text)
	}
	forged := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for name, path := range map[string]string{
		"another sort":   "/runs/" + d.run + "/results?status=COMPLETED&sort=-score&cursor=" + next,
		"another filter": "/runs/" + d.run + "/results?status=FAILED&cursor=" + next,
		"no filter":      "/runs/" + d.run + "/results?cursor=" + next,
		"another list":   "/batches/" + d.batch + "/results?status=COMPLETED&cursor=" + next,
		"all results":    "/results?status=COMPLETED&sort=score&cursor=" + next,
		"runs":           "/runs?cursor=" + next,
		"poses":          "/poses?cursor=" + next,
		"no base64":      "/results?cursor=%21",
		"no JSON":        "/results?cursor=" + forged("x"),
		"no time":        "/results?cursor=" + forged(`{"b":"x","k":"-infinity","i":"y"}`),
		"no number":      "/results?sort=score&cursor=" + forged(`{"b":"x","k":"NaN","i":"y"}`),
		"a NUL":          "/results?sort=label&cursor=" + forged(`{"b":"x","k":"\u0000","i":"y"}`),
		"a huge tie":     "/results?sort=score&cursor=" + forged(`{"b":"x","k":"1","t":9999999999,"i":"y"}`),
	} {
		want(t, name, c.Send("GET", base+path, ""), 400, fault.InvalidCursor, "cursor")
		want(t, name+" as CSV", c.Send("GET", base+strings.Replace(path, "/runs?", "/results?", 1), "", "Accept", "text/csv"), 400,
			fault.InvalidCursor, "cursor")
	}
}

func TestResultsAreFiltered(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	for query, wanted := range map[string]string{
		"":                                             "imatinib nilotinib pdbqt-only ethanol broken waiting now",
		"&status=FAILED":                               "broken",
		"&status=PENDING&status=DOCKING":               "waiting now",
		"&failureStage=parse":                          "broken",
		"&failureStage=embed":                          "",
		"&maxScore=-5":                                 "imatinib nilotinib pdbqt-only",
		"&maxScore=0":                                  "imatinib nilotinib pdbqt-only ethanol",
		"&minLigandEfficiency=0.358":                   "imatinib ethanol",
		"&ligandId=now":                                "now",
		"&ligandId=no":                                 "",
		"&q=ETHANOL":                                   "ethanol",
		"&q=nib":                                       "imatinib nilotinib",
		"&q=%25":                                       "ethanol",
		"&inchiKey=KTUFNOKKBVMGRW-UHFFFAOYSA-N":        "imatinib",
		"&inchiKey=HHZIURLSWUIHRB":                     "nilotinib",
		"&passedChecks=true":                           "imatinib",
		"&passedChecks=false":                          "nilotinib",
		"&interaction=A:ASP:381:hydrogen_bond":         "imatinib",
		"&interaction=*:ASP:381:*":                     "imatinib nilotinib",
		"&interaction=A:*:52A:*":                       "imatinib",
		"&interaction=*:*:52:*":                        "",
		"&interaction=*:*:*:*":                         "imatinib nilotinib",
		"&interaction=*:*:*:salt_bridge":               "nilotinib",
		"&interaction=A:*:*:*&interaction=*:LEU:*:*":   "imatinib",
		"&interaction=A:*:*:*&interaction=B:*:*:*":     "",
		"&interaction=a:ASP:381:hydrogen_bond":         "",
		"&status=COMPLETED&maxScore=-3&q=o&sort=label": "nilotinib pdbqt-only",
	} {
		if got := strings.Join(c.walk("/runs/"+d.run+"/results", query, 100), " "); got != wanted {
			t.Errorf("%s: got %q, want %q", query, got, wanted)
		}
	}
	for query, named := range map[string]string{
		"interaction=ASP:381": "chain:residueName:residue:type", "interaction=A:ASP:381:hug": "hydrogen_bond",
		"interaction=A:ASP:x:*": "interaction", "interaction=A:ASP:38%271:*": "interaction",
		"interaction=A:%25:381:*": "interaction", "interaction=": "interaction", "status=DONE": "status", "sort=colour": "sort",
		"sort=": "sort", "maxScore=low": "maxScore", "maxScore=NaN": "maxScore", "limit=0": "limit", "limit=101": "limit",
		"limit=10001": "limit", "inchiKey=XYZ": "inchiKey", "failureStage=birth": "failureStage",
		"passedChecks=maybe": "passedChecks", "colour=red": "colour", "minLigandEfficiency=Inf": "minLigandEfficiency",
	} {
		want(t, query, c.Send("GET", base+"/results?"+query, ""), 400, fault.Validation, named)
	}
	if first := get[contract.DockingResult](c, "/results/"+d.results[6]); first.Rank == nil || *first.Rank != 3 {
		t.Errorf("a filter changes the rank: %+v", first)
	}
}
