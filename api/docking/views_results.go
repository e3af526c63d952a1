package docking

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/api/wire"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/mol"
)

func (r resultRow) view() (contract.DockingResult, error) {
	view := contract.DockingResult{
		ResultID: r.ID, RunID: r.RunID, BatchID: wire.TextOrNil(r.BatchID), LigandIndex: r.LigandIndex, LigandID: r.LigandID,
		Label: r.Label, Source: r.Source, InputSMILES: wire.TextOrNil(r.InputSMILES),
		CanonicalSMILES: wire.TextOrNil(r.CanonicalSMILES),
		DockedSMILES:    wire.TextOrNil(r.DockedSMILES), InChIKey: wire.TextOrNil(r.InChIKey),
		FormalCharge: wire.OrNil(r.FormalCharge),
		HeavyAtoms:   wire.OrNil(r.HeavyAtoms), RotatableBonds: wire.OrNil(r.RotatableBonds), Status: r.Status,
		FailureStage: wire.TextOrNil(r.FailureStage), Error: wire.TextOrNil(r.Error), Rank: wire.OrNil(r.Rank),
		BestScoreKcalMol: wire.OrNil(r.BestScoreKcalMol), CNNScore: wire.OrNil(r.CNNScore),
		CNNAffinityPk:    wire.OrNil(r.CNNAffinityPk),
		LigandEfficiency: wire.OrNil(r.LigandEfficiency), PoseCount: r.PoseCount, PassedChecks: wire.OrNil(r.PassedChecks),
		Interactions: r.Interactions, Notes: []string{}, DockCPUSeconds: wire.OrNil(r.DockCPUSeconds), CreatedAt: r.CreatedAt.UTC(),
		UpdatedAt: r.UpdatedAt.UTC(), UILinks: studio("dockingResult", r.ID),
	}
	if err := json.Unmarshal(r.Notes, &view.Notes); err != nil {
		return view, fmt.Errorf("reading the notes of result %s: %w", r.ID, err)
	}
	if r.Convergence == nil {
		return view, nil
	}
	if err := json.Unmarshal(*r.Convergence, &view.Convergence); err != nil {
		return view, fmt.Errorf("reading the convergence of result %s: %w", r.ID, err)
	}
	return view, nil
}

// view is a pose with those of its files that are known.
func (r poseRow) view(files map[string]artifactRow) (contract.DockingPose, error) {
	view := contract.DockingPose{
		PoseID: r.ID, ResultID: r.ResultID, RunID: r.RunID, LigandID: r.LigandID, Label: r.Label, Rank: r.Rank,
		VinaRank: r.VinaRank, CNNScore: wire.OrNil(r.CNNScore), CNNAffinityPk: wire.OrNil(r.CNNAffinityPk),
		ScoreKcalMol:   r.ScoreKcalMol,
		RMSDLowerBound: r.RMSDLowerBound, RMSDUpperBound: r.RMSDUpperBound,
		Terms:                 contract.DockingTerms{Inter: r.Inter, Intra: r.Intra, Torsional: r.Torsional, Unbound: r.Unbound},
		ReferenceRMSDAngstrom: wire.OrNil(r.ReferenceRMSDAngstrom), Analysed: r.Interactions != nil, CreatedAt: r.CreatedAt.UTC(),
		UILinks: studio("dockingPose", r.ID),
	}
	at := func(id string, record int) *contract.DockingPoseArtifact {
		file, known := files[id]
		if !known {
			return nil
		}
		return &contract.DockingPoseArtifact{DockingArtifact: file.view(), Record: record}
	}
	view.Artifacts = contract.DockingPoseArtifacts{
		SDF: at(r.SDFArtifact.String, r.Rank), PDBQT: at(r.PDBQTArtifact.String, r.VinaRank),
		ComplexPDB: at(r.ComplexArtifact.String, 1),
	}
	if r.Checks == nil {
		return view, nil
	}
	if err := json.Unmarshal(*r.Checks, &view.Checks); err != nil {
		return view, fmt.Errorf("reading the checks of pose %s: %w", r.ID, err)
	}
	return view, nil
}

// files are the ids of the artifacts that poses name.
func filesOf(rows []poseRow) []string {
	var ids []string
	for _, r := range rows {
		for _, id := range []string{r.SDFArtifact.String, r.PDBQTArtifact.String, r.ComplexArtifact.String} {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// analysers are the programs that find interactions, as they call themselves among a run's programs and to people.
var analysers = []struct{ program, title string }{{"prolif", "ProLIF"}, {"plip", "PLIP"}}

// contacts are a pose's interactions; nil before the analysis. Each names what found it, by itself or through the run's programs.
func (r poseRow) contacts() ([]contract.DockingInteraction, error) {
	if r.Interactions == nil {
		return nil, nil
	}
	found := []contract.DockingInteraction{}
	programs := map[string]string{}
	if err := json.Unmarshal(*r.Interactions, &found); err != nil {
		return nil, fmt.Errorf("reading the interactions of pose %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.Programs, &programs); err != nil {
		return nil, fmt.Errorf("reading the programs of pose %s: %w", r.ID, err)
	}
	var method *contract.DockingMethod
	for _, one := range analysers {
		if version := programs[one.program]; version != "" {
			method = &contract.DockingMethod{Tool: one.title, Version: version}
			break
		}
	}
	for i := range found {
		if found[i].Method == nil {
			found[i].Method = method
		}
		if found[i].Ligand.AtomIndices == nil {
			found[i].Ligand.AtomIndices = []int{}
		}
	}
	return found, nil
}

// keyOf is an interaction as results list it and are searched by it.
func keyOf(i contract.DockingInteraction) string {
	r := i.Receptor
	return strings.Join([]string{r.Chain, r.ResidueName, strconv.Itoa(r.Residue) + r.InsertionCode, i.Type}, ":")
}

func (a artifactRow) view() contract.DockingArtifact {
	return contract.DockingArtifact{
		Schema: mol.ArtifactSchema, ArtifactID: a.ID, StorageKey: a.StorageKey, SHA256: a.SHA256, ByteSize: a.ByteSize,
		MediaType: a.MediaType, Format: a.Format, Name: a.Name, Role: a.Role, JobID: a.JobID, Verification: a.verification(),
	}
}

func (a artifactRow) verification() contract.DockingVerification {
	switch {
	case !a.VerifiedAt.Valid:
		return contract.DockingVerification{Status: verificationPending}
	case a.Failed:
		return contract.DockingVerification{Status: verificationFailed, VerifiedAt: wire.TimeOrNil(a.VerifiedAt)}
	}
	return contract.DockingVerification{Status: verificationVerified, VerifiedAt: wire.TimeOrNil(a.VerifiedAt)}
}
