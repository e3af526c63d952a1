package studio

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/studio"
)

// ligandName is the residue name of the docked ligand in a complex.
const ligandName = "LIG"

// pose is a docked pose with its receptor as one structure, and its contacts. A docking keeps such a complex of each ligand's best
// pose; another pose of the ligand takes its coordinates from the ligand's file of poses.
func (l *library) pose(ctx context.Context, kind, name string) (stored, error) {
	poses := l.service.deps.Poses
	if kind == "run" {
		best, err := poses.Best(ctx, l.accountID, name)
		if err != nil {
			return stored{}, err
		}
		name = best
	}
	pose, err := poses.Pose(ctx, l.accountID, name)
	if err != nil {
		return stored{}, err
	}
	interactions, err := poses.Contacts(ctx, l.accountID, name)
	if err != nil {
		return stored{}, err
	}
	complexOf, err := l.complex(ctx, pose)
	if err != nil {
		return stored{}, err
	}
	found := madeOf(complexOf, name+".pdb")
	found.contacts = contactsOf(complexOf, interactions)
	return found, nil
}

// complex puts a pose and its receptor together. Errors: *studio.UnfoundError.
func (l *library) complex(ctx context.Context, pose contract.DockingPose) ([]byte, error) {
	if pose.Artifacts.ComplexPDB != nil {
		return l.artifact(ctx, pose.Artifacts.ComplexPDB)
	}
	siblings, err := l.service.deps.Poses.Siblings(ctx, l.accountID, pose.ResultID)
	if err != nil {
		return nil, err
	}
	unfound := &studio.UnfoundError{Source: "pose:" + pose.PoseID,
		Reason: "the docking has kept no complex of this ligand with its receptor: only of its best ligands"}
	for _, sibling := range siblings {
		if sibling.Artifacts.ComplexPDB == nil || pose.Artifacts.SDF == nil {
			continue
		}
		whole, err := l.artifact(ctx, sibling.Artifacts.ComplexPDB)
		if err != nil {
			return nil, err
		}
		records, err := l.artifact(ctx, pose.Artifacts.SDF)
		if err != nil {
			return nil, err
		}
		if moved, ok := moveLigand(whole, records, pose.Artifacts.SDF.Record); ok {
			return moved, nil
		}
	}
	return nil, unfound
}

func (l *library) artifact(ctx context.Context, a *contract.DockingPoseArtifact) ([]byte, error) {
	found, err := fromOutput(l.service.store.artifact(ctx, l.accountID, a.ArtifactID))
	if err != nil {
		return nil, err
	}
	return l.content(ctx, "artifact:"+a.ArtifactID, found)
}

// moveLigand gives the ligand of a complex the coordinates of the record-th pose, counted from 1, of an SDF file of the same
// molecule. Hydrogens that the complex has beside those of the record are left out. False where the two do not fit.
func moveLigand(complexPDB, sdf []byte, record int) ([]byte, bool) {
	records := strings.Split(string(sdf), "$$$$\n")
	if record < 1 || record > len(records) {
		return nil, false
	}
	position, ok := coordinatesOf(records[record-1])
	if !ok {
		return nil, false
	}
	var out bytes.Buffer
	atom := 0
	for line := range strings.Lines(string(complexPDB)) {
		switch {
		case strings.HasPrefix(line, "CONECT"):
			continue // of atoms that may have gone
		case !isLigand(line):
			out.WriteString(line)
			continue
		}
		if atom < len(position) {
			p := position[atom]
			fmt.Fprintf(&out, "%s%8.3f%8.3f%8.3f%s", line[:30], p[0], p[1], p[2], line[54:])
		}
		atom++
	}
	return out.Bytes(), atom >= len(position)
}

func isLigand(line string) bool {
	return len(line) > 54 && strings.HasPrefix(line, "HETATM") && strings.TrimSpace(line[17:20]) == ligandName
}

// coordinatesOf are the positions of an SDF record of the form V2000, in Å.
func coordinatesOf(record string) ([][3]float64, bool) {
	lines := strings.Split(record, "\n")
	const countsLine, fieldWidth = 3, 10
	if len(lines) <= countsLine || len(lines[countsLine]) < 3 {
		return nil, false
	}
	atoms, err := strconv.Atoi(strings.TrimSpace(lines[countsLine][:3]))
	if err != nil || atoms < 1 || len(lines) < countsLine+1+atoms {
		return nil, false
	}
	positions := make([][3]float64, atoms)
	for i := range positions {
		line := lines[countsLine+1+i]
		if len(line) < 3*fieldWidth {
			return nil, false
		}
		for axis := range positions[i] {
			field := strings.TrimSpace(line[axis*fieldWidth : (axis+1)*fieldWidth])
			if positions[i][axis], err = strconv.ParseFloat(field, 64); err != nil || math.IsInf(positions[i][axis], 0) {
				return nil, false
			}
		}
	}
	return positions, true
}

// contactsOf are the interactions of a pose as the scene draws them, from atoms of the ligand to one of the receptor. Those whose
// atoms are not in the complex stay out.
func contactsOf(complexPDB []byte, interactions []contract.DockingInteraction) []scene.Contact {
	structure, err := scene.ReadStructure(complexPDB)
	if err != nil {
		return nil
	}
	table := structure.Table(0)
	var ligand []scene.Atom
	at := map[string]scene.Atom{}
	for _, atom := range table.Atoms {
		residue := table.Residues[atom.Residue]
		if residue.Name == ligandName {
			ligand = append(ligand, atom)
		}
		at[key(residue.Chain, residue.Number, residue.InsertionCode, atom.Name)] = atom
	}
	contacts := []scene.Contact{}
	for _, one := range interactions {
		to, ok := at[key(one.Receptor.Chain, one.Receptor.Residue, one.Receptor.InsertionCode, one.Receptor.AtomName)]
		if !ok || len(one.Ligand.AtomIndices) == 0 {
			continue
		}
		from, middle, ok := middleOf(ligand, one.Ligand.AtomIndices)
		if !ok {
			continue
		}
		contacts = append(contacts, scene.Contact{
			Type: one.Type, From: table.Residues[from.Residue].Place, To: table.Residues[to.Residue].Place, FromAtom: from.Name,
			ToAtom: to.Name, Ends: [2][3]float64{middle, to.Position}, DistanceAngstrom: one.DistanceAngstrom,
		})
	}
	return contacts
}

func key(chain string, residue int, insertion, atom string) string {
	return fmt.Sprintf("%s/%d%s/%s", chain, residue, insertion, atom)
}

// middleOf is the middle of a ligand's atoms, and the first of them.
func middleOf(ligand []scene.Atom, indices []int) (first scene.Atom, middle [3]float64, ok bool) {
	for _, index := range indices {
		if index < 0 || index >= len(ligand) {
			return first, middle, false
		}
		for axis := range middle {
			middle[axis] += ligand[index].Position[axis] / float64(len(indices))
		}
	}
	return ligand[indices[0]], middle, true
}

// checkPose refuses what cannot be a pose's id. Errors: fault.Validation.
func checkPose(id string) error {
	if !strings.HasPrefix(id, "pose_") || strings.ContainsAny(id, " \n\x00") {
		return fault.New(fault.Validation, "poseId: expected the id of a pose, pose_…; GET /v1/molecular/docking/poses lists them")
	}
	return nil
}
