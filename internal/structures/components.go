package structures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/cif"
)

// maxDefinitionBytes bounds what is kept of a component: it travels with tasks. The longest of the dictionary has about 5 kB.
const maxDefinitionBytes = 32 << 10

// Known finds which of the components the deployment's own dictionary has, by id in upper case. It asks nobody.
func (l *Library) Known(ids []string) map[string]Component {
	known := map[string]Component{}
	for _, id := range ids {
		if c, ok := l.dictionary.Lookup(id); ok {
			known[c.ID] = c
		}
	}
	return known
}

// Components finds components by their ids, in either case: in the dictionary, among what was fetched before, and of the rest,
// at most MaxRemote, at the server, a few at once. What nobody knows stays out of the answer, whose keys are in upper case.
//
// Errors: *TooManyError; fault.ProviderUnavailable, beside which the answer holds what could be found.
func (l *Library) Components(ctx context.Context, ids []string) (map[string]Component, error) {
	found := l.Known(ids)
	var rest []string
	for _, text := range ids {
		id, ok := componentID(text)
		if _, known := found[id]; ok && !known {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	rest = slices.Compact(rest)
	if len(rest) == 0 {
		return found, nil
	}
	kept, err := l.store.components(ctx, rest)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, id := range rest {
		one, isKept := kept[id]
		if isKept {
			found[id] = one.Component
		}
		if l.server != nil && !l.unknown.has(id) && (!isKept || !l.now().Before(one.CheckAfter)) {
			wanted = append(wanted, id)
		}
	}
	if len(wanted) > MaxRemote {
		return nil, &TooManyError{Count: len(wanted)}
	}
	fetched, err := l.fetchComponents(ctx, wanted, kept)
	maps.Copy(found, fetched)
	return found, err
}

// fetchComponents asks the server for components. One that is kept stays as it is when there is no newer one.
func (l *Library) fetchComponents(ctx context.Context, ids []string, kept map[string]keptComponent) (map[string]Component, error) {
	var mu sync.Mutex
	fetched := map[string]Component{}
	var group errgroup.Group // without its context: one failure spoils nobody's answer
	group.SetLimit(maxFetches)
	for _, id := range ids {
		group.Go(func() error {
			c, err := once(ctx, l, "component "+id, func(ctx context.Context) (Component, error) {
				return l.fetchComponent(ctx, id)
			})
			_, isKept := kept[id]
			switch {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				fetched[id] = c
				return nil
			case isKept:
				l.log.WarnContext(ctx, "component not refreshed, the kept one serves", "component", id, "error", err)
				return l.store.postponeComponent(ctx, id, l.now().UTC().Add(askAgain))
			case errors.Is(err, ErrNotFound):
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	return fetched, err
}

// fetchComponent asks the server for a component and keeps the answer. Errors: ErrNotFound, fault.ProviderUnavailable.
func (l *Library) fetchComponent(ctx context.Context, id string) (Component, error) {
	giveBack, err := l.slot(ctx)
	if err != nil {
		return Component{}, err
	}
	defer giveBack()
	var c Component
	origin, err := l.server.component(ctx, id, func(body io.Reader) error {
		text, err := io.ReadAll(body)
		if err == nil {
			c, err = readComponent(string(text), id)
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		l.unknown.add(id)
		return Component{}, err
	}
	if err != nil {
		return Component{}, unavailable(fmt.Errorf("fetch component %s: %w", id, err))
	}
	now := l.now().UTC().Truncate(time.Microsecond)
	return c, l.store.keepComponent(ctx, c, origin, now, now.Add(freshFor))
}

// readComponent reads the definition of a component as the Chemical Component Dictionary writes it.
func readComponent(text, id string) (Component, error) {
	b := cif.ReadBlock(text)
	if found := b.First("_chem_comp.id"); !strings.EqualFold(found, id) || strings.ContainsRune(text, 0) {
		return Component{}, fmt.Errorf("the file is not the definition of component %s: its _chem_comp.id is %.20q", id, found)
	}
	c := Component{
		ID: id, Name: b.First("_chem_comp.name"), Formula: b.First("_chem_comp.formula"),
		Type: strings.ToUpper(b.First("_chem_comp.type")), Synonyms: []string{},
		SMILES: descriptor(b, "SMILES_CANONICAL", "OpenEye", "CACTVS", ""), InChIKey: descriptor(b, "InChIKey", ""),
	}
	if c.SMILES == "" {
		c.SMILES = descriptor(b, "SMILES", "")
	}
	listed := append(strings.Split(b.First("_chem_comp.pdbx_synonyms"), ";"), b.Items["_pdbx_chem_comp_synonyms.name"]...)
	for _, synonym := range listed {
		if synonym = strings.TrimSpace(synonym); synonym != "" && !slices.Contains(c.Synonyms, synonym) {
			c.Synonyms = append(c.Synonyms, synonym)
		}
	}
	if size := len(c.Name) + len(c.SMILES) + len(strings.Join(c.Synonyms, "")); size > maxDefinitionBytes {
		return Component{}, fmt.Errorf("the definition of component %s has %d bytes of names and SMILES, more than the %d that "+
			"are kept", id, size, maxDefinitionBytes)
	}
	return c, nil
}

// descriptor finds a component's descriptor of a kind, as the first of the programs wrote it that has written one; "" is any.
func descriptor(b cif.Block, kind string, programs ...string) string {
	kinds, writers, texts := b.Items["_pdbx_chem_comp_descriptor.type"], b.Items["_pdbx_chem_comp_descriptor.program"],
		b.Items["_pdbx_chem_comp_descriptor.descriptor"]
	for _, program := range programs {
		for i := range min(len(kinds), len(writers), len(texts)) {
			if kinds[i] == kind && strings.HasPrefix(writers[i], program) && texts[i] != "" {
				return texts[i]
			}
		}
	}
	return ""
}

// Search finds up to limit components that a name, synonym or id fits, as Dictionary.Search does. An id that the dictionary does
// not have is looked up as Components does.
//
// Errors: fault.ProviderUnavailable, when the dictionary has nothing that fits either.
func (l *Library) Search(ctx context.Context, query string, limit int) ([]Component, error) {
	hits := l.dictionary.search(query)
	var found []Component
	id, isID := componentID(strings.TrimSpace(query))
	if isID && couldExist(id) && (len(hits) == 0 || hits[0].fit > byName) {
		one, err := l.Components(ctx, []string{id})
		if err != nil && len(hits) == 0 {
			return nil, err
		}
		if err != nil {
			l.log.WarnContext(ctx, "component not looked up, the dictionary alone answers", "component", id, "error", err)
		}
		if c, ok := one[id]; ok {
			found = append(found, c)
		}
	}
	for _, one := range hits {
		if len(found) >= limit {
			break
		}
		found = append(found, l.dictionary.component(one.entry))
	}
	return found, nil
}

// couldExist tells whether a component of the wwPDB's can have this id: they have three characters or fewer, or five. Most words
// that people search for have another length, and need not be asked for.
func couldExist(id string) bool { return len(id) <= 3 || len(id) == 5 }

const (
	// absentFor is how long the server is not asked again for what it did not have. New components appear once a week.
	absentFor = time.Hour
	// maxAbsences bounds what is remembered of it.
	maxAbsences = 10_000
)

// absences remembers ids that the server does not have: names of ligands in people's own files are asked for again and again.
type absences struct {
	now   func() time.Time
	mu    sync.Mutex
	until map[string]time.Time
}

func (a *absences) has(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now().Before(a.until[id])
}

func (a *absences) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil || len(a.until) >= maxAbsences {
		a.until = map[string]time.Time{}
	}
	a.until[id] = a.now().Add(absentFor)
}
