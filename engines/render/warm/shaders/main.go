// Command shaders lays out the task that compiles what Mesa needs to draw the usual scenes: a folder in which set-up runs
// program/stay.py. It runs nothing.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/molfabric/molfabric/engines/render/warm"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shaders FOLDER")
		os.Exit(2)
	}
	if err := layOut(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func layOut(folder string) error {
	task, err := warm.Compile()
	if err != nil {
		return err
	}
	for name, content := range task.Files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
