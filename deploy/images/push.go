package images

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Push copies an image of a layout, its signature and its list of contents into a registry, under tag as well as by its digest.
func Push(from *Layout, to Registry, image, digest, tag string) error {
	content, err := Checked(from, image, digest)
	if err != nil {
		return err
	}
	if err := to.Put(image, tag, content); err != nil {
		return err
	}
	list, err := from.Get(image, besides(digest, "sbom"))
	if err == nil {
		err = pushBeside(from, to, image, besides(digest, "sbom"), list)
	}
	if err != nil && !errors.Is(err, ErrMissing) {
		return err
	}
	signature, err := from.Get(image, besides(digest, "sig"))
	if err != nil {
		return err
	}
	return to.Put(image, besides(digest, "sig"), signature)
}

// pushBeside copies a list of contents with its signature.
func pushBeside(from *Layout, to Registry, image, tag string, list v1.Image) error {
	digest, err := digestOf(list)
	if err != nil {
		return err
	}
	if err := to.Put(image, tag, list); err != nil {
		return err
	}
	signature, err := from.Get(image, besides(digest, "sig"))
	if err != nil {
		return err
	}
	return to.Put(image, besides(digest, "sig"), signature)
}

// Digests are those of the images in a layout, by name.
func Digests(layout *Layout) (map[string]string, error) {
	digests := map[string]string{}
	for _, recipe := range Recipes {
		found, err := layout.Get(recipe.Name, "")
		if errors.Is(err, ErrMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if digests[recipe.Name], err = digestOf(found); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// ChartValues writes what the chart's values.yaml is told of the images, where they lie in repository.
func ChartValues(w io.Writer, repository string, digests map[string]string) {
	if digest, ok := digests[Control]; ok {
		fmt.Fprintf(w, "image: %s/%s@%s\n", repository, Control, digest)
	}
	fmt.Fprintln(w, "fleets:")
	for _, recipe := range Recipes {
		if digest, ok := digests[recipe.Name]; ok && recipe.Name != Control {
			fmt.Fprintf(w, "  %s:\n    image: %s/%s@%s\n    engines: [%s]\n", recipe.Name, repository, recipe.Name, digest,
				strings.Join(recipe.Engines, ", "))
		}
	}
}

// ComposeVariables writes what deploy/.env is told of the images.
func ComposeVariables(w io.Writer, repository string, digests map[string]string) {
	var engines, fleets []string
	for _, recipe := range Recipes {
		digest, ok := digests[recipe.Name]
		if !ok {
			continue
		}
		fmt.Fprintf(w, "MOLFABRIC_%s_IMAGE=%s/%s@%s\n", strings.ToUpper(recipe.Name), repository, recipe.Name, digest)
		if recipe.Name != Control {
			engines, fleets = slices.Concat(engines, recipe.Engines), append(fleets, recipe.Name)
		}
	}
	fmt.Fprintf(w, "COMPOSE_PROFILES=%s\nMOLFABRIC_SIMULATORS=%s\n", strings.Join(fleets, ","), strings.Join(engines, ","))
}
