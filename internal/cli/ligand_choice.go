package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// resultID finds the ligand that a user means: by the id of its result, or in a docking by its name or its id in either case, or by
// the beginning of them. A docking of one ligand needs no name.
func (inv *invocation) resultID(ctx context.Context, args []string) (string, error) {
	if len(args) == 1 && strings.HasPrefix(args[0], resultPrefix) {
		return args[0], nil
	}
	runID, err := inv.runID(ctx, args[0])
	if err != nil {
		return "", err
	}
	if len(args) == 1 {
		return inv.onlyLigand(ctx, runID)
	}
	found, err := inv.ligandsLike(ctx, runID, args[1])
	if err != nil {
		return "", err
	}
	return chooseLigand(args[1], found)
}

// onlyLigand is the ligand of a docking that has one.
func (inv *invocation) onlyLigand(ctx context.Context, runID string) (string, error) {
	page, err := inv.api.DockingResults(ctx, runID, client.ResultFilter{Page: client.Page{Limit: maxChoices + 1}})
	if err != nil {
		return "", runAdvice(err)
	}
	if len(page.Body.Results) == 1 {
		return page.Body.Results[0].ResultID, nil
	}
	return "", usage("the docking has several ligands; name one behind it:%s", listed(ligandChoices(page.Body.Results)))
}

// ligandsLike are a docking's ligands whose name or id holds a text. One whose id it is, is found alone.
func (inv *invocation) ligandsLike(ctx context.Context, runID, named string) ([]contract.DockingResult, error) {
	if named == "" {
		return nil, usage("LIGAND is empty; write the ligand's name or id")
	}
	exact, err := inv.api.DockingResults(ctx, runID, client.ResultFilter{Page: client.Page{Limit: 1}, LigandID: named})
	if err != nil {
		return nil, runAdvice(err)
	}
	if len(exact.Body.Results) == 1 {
		return exact.Body.Results, nil
	}
	var found []contract.DockingResult
	filter := client.ResultFilter{Page: client.Page{Limit: contract.MaxPage}, Text: named, Sort: "index"}
	for {
		page, err := inv.api.DockingResults(ctx, runID, filter)
		if err != nil {
			return nil, err
		}
		found = append(found, page.Body.Results...)
		if page.Body.NextCursor == nil || len(found) >= maxLigands {
			return found, nil
		}
		filter.Cursor = *page.Body.NextCursor
	}
}

// chooseLigand takes the only ligand that is called so, or else the only one whose name or id begins so.
func chooseLigand(named string, like []contract.DockingResult) (string, error) {
	matching := func(fits func(text string) bool) []contract.DockingResult {
		return slices.DeleteFunc(slices.Clone(like), func(r contract.DockingResult) bool {
			return !fits(r.Label) && !fits(r.LigandID)
		})
	}
	found := matching(func(text string) bool { return strings.EqualFold(text, named) })
	if len(found) == 0 {
		lower := strings.ToLower(named)
		found = matching(func(text string) bool { return strings.HasPrefix(strings.ToLower(text), lower) })
	}
	switch {
	case len(found) == 1:
		return found[0].ResultID, nil
	case len(found) > 1:
		return "", usage("%q may be %d ligands; write more of the name, or the id:%s", named, len(found),
			listed(ligandChoices(found)))
	case len(like) > 0:
		return "", usage("no ligand is called %q; these have it within their names:%s", named, listed(ligandChoices(like)))
	}
	return "", nothing(fmt.Sprintf("the docking has no ligand called %q", named),
		"`molfabric results` lists the ligands of a docking")
}

func ligandChoices(results []contract.DockingResult) []choice {
	choices := make([]choice, len(results))
	for i, r := range results {
		choices[i] = choice{labelOf(r.LigandID), labelOf(r.Label)}
	}
	return choices
}

// poseID is the pose of this rank of the ligand that resultID finds.
func (inv *invocation) poseID(ctx context.Context, args []string, rank int) (string, error) {
	resultID, err := inv.resultID(ctx, args)
	if err != nil {
		return "", err
	}
	page, err := inv.api.DockingPoses(ctx, resultID, client.Page{Limit: contract.MaxPage})
	if err != nil {
		return "", posesAdvice(err)
	}
	for _, pose := range page.Body.Poses {
		if pose.Rank == rank {
			return pose.PoseID, nil
		}
	}
	if len(page.Body.Poses) == 0 {
		return "", nothing("the ligand has no poses: it failed, or is not docked yet", "`molfabric results` tells which")
	}
	return "", usage("--rank %d: the ligand has %d poses", rank, len(page.Body.Poses))
}
