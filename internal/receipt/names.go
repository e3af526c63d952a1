package receipt

import (
	"fmt"
	"path"
	"strings"
)

// NameOutputs gives each output, of which the annotations are filled in, a name of its own: that of its file, or one below its
// task's folder where several files are called alike. They are the places at which `molfabric outputs -o` lays the files.
func NameOutputs(outputs []Output) {
	alike, taken := map[string]int{}, map[string]bool{}
	for _, o := range outputs {
		alike[fold(o.Annotations.FileName)]++
	}
	for i := range outputs {
		a := outputs[i].Annotations
		name := path.Clean(a.FileName)
		if alike[fold(a.FileName)] > 1 {
			name = fmt.Sprintf("task-%05d/%s", a.TaskIndex, name)
		}
		if taken[fold(name)] { // two files of one task
			name = fmt.Sprintf("task-%05d/%s/%s", a.TaskIndex, a.ArtifactID, path.Clean(a.FileName))
		}
		outputs[i].Name, taken[fold(name)] = name, true
	}
}

// fold is what file systems that know no capitals take a name for.
func fold(name string) string { return strings.ToLower(path.Clean(name)) }

// Places are where an output may lie in a folder: as it is called in the receipt, or as a bundle has it.
func (o Output) Places() []string {
	a := o.Annotations
	return []string{o.Name, path.Join(a.Task, a.FileName), path.Join(a.Task, a.ArtifactID, a.FileName)}
}
