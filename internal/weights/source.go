package weights

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/object"
)

// Source says which folder holds the weights and how they are described.
type Source struct {
	Folder        string // with config.json and safetensors, or of alphafold with the .npz of its parameters
	Model         string // one of Models
	Title         string // "" is the model's name
	Licence       string // as people write it: "MIT"
	CommercialUse bool
	Untrained     bool // random values; a folder may say so itself
}

const (
	configFile = "config.json"
	indexFile  = "model.safetensors.index.json"
	// maxConfigBytes bounds config.json and the index; maxHeaderBytes a safetensors header, as the format does.
	maxConfigBytes = 16 << 20
	maxHeaderBytes = 100 << 20
)

// tensorsFile is what files of tensors are called: model.safetensors, or model-00001-of-00004.safetensors.
var tensorsFile = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.safetensors$`)

// parametersFile is what AlphaFold's files of parameters are called.
var parametersFile = regexp.MustCompile(`^params_model_[1-5]_(ptm|multimer_v3)\.npz$`)

// isTensors tells whether a file holds parameters of the model.
func (s Source) isTensors(name string) bool {
	if s.Model == alphafold {
		return parametersFile.MatchString(name)
	}
	return tensorsFile.MatchString(name)
}

// checkParameters wants the five files of AlphaFold's single chains: the program opens all of them, and fetches none.
func checkParameters(folder string, names []string) error {
	for number := 1; number <= 5; number++ {
		if name := fmt.Sprintf("params_model_%d_ptm.npz", number); !slices.Contains(names, name) {
			return fmt.Errorf("%s has no %s; unpack alphafold_params_2021-07-14.tar, and for complexes "+
				"alphafold_params_colab_2022-12-06.tar as well", folder, name)
		}
	}
	return nil
}

// checked completes a description and refuses what is wrong with it.
func (s Source) checked() (Source, error) {
	if s.Title == "" {
		s.Title = s.Model
	}
	wrong := func(text string) bool {
		return text == "" || len(text) > maxTextBytes ||
			strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	}
	switch {
	case !slices.Contains(Models, s.Model):
		return s, fmt.Errorf("model: %q; there are %s", s.Model, strings.Join(Models, ", "))
	case wrong(s.Licence):
		return s, fmt.Errorf("licence: say it in at most %d characters, as in MIT", maxTextBytes)
	case wrong(s.Title):
		return s, fmt.Errorf("title: at most %d characters without line breaks", maxTextBytes)
	}
	return s, nil
}

// read finds the files of a folder with their digests. It refuses what a task could not open, and pickled tensors, which are
// programs.
func (s Source) read(ctx context.Context, report Progress) (Weights, error) {
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return Weights{}, err
	}
	var names []string
	pickled := ""
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case name == configFile || name == indexFile || s.isTensors(name):
			names = append(names, name)
		case strings.HasSuffix(name, ".bin") || strings.HasSuffix(name, ".pt"):
			pickled = name
		}
	}
	if s.Model == alphafold {
		if err := checkParameters(s.Folder, names); err != nil {
			return Weights{}, err
		}
	} else if !slices.ContainsFunc(names, tensorsFile.MatchString) {
		if pickled != "" {
			return Weights{}, fmt.Errorf("%s has %s and no safetensors; write them with engines/esmfold/tools/convert_weights.py",
				s.Folder, pickled)
		}
		return Weights{}, fmt.Errorf("%s has no safetensors file", s.Folder)
	}
	if len(names) > maxFiles {
		return Weights{}, fmt.Errorf("%s has %d files; a model may have %d", s.Folder, len(names), maxFiles)
	}
	config, err := s.readConfig()
	if err != nil {
		return Weights{}, err
	}
	w := Weights{Model: s.Model, Title: s.Title, Licence: s.Licence, CommercialUse: s.CommercialUse,
		Trained: !s.Untrained && !config.Untrained}
	slices.Sort(names)
	for _, name := range names {
		file, err := measured(ctx, filepath.Join(s.Folder, name))
		if err != nil {
			return Weights{}, err
		}
		w.Files = append(w.Files, file)
		w.Bytes += file.ByteSize
		report.tell("reading "+name, w.Bytes, w.Bytes)
	}
	w.Digest = digestOf(w.Files)
	return w, nil
}

// config is what is read of config.json.
type config struct {
	ModelType string          `json:"model_type"`
	IsFolding bool            `json:"is_folding_model"`
	Fold      json.RawMessage `json:"esmfold_config"`
	Untrained bool            `json:"molfabric_untrained"` // as tools/random_weights.py writes
}

func (s Source) readConfig() (config, error) {
	content, err := readBounded(filepath.Join(s.Folder, configFile), maxConfigBytes)
	if err != nil {
		return config{}, err
	}
	var c config
	if err := json.Unmarshal(content, &c); err != nil {
		return config{}, fmt.Errorf("%s: %w", configFile, err)
	}
	if s.Model == alphafold {
		if c.ModelType != "alphafold2" {
			return config{}, fmt.Errorf(`%s is of no AlphaFold 2 model (model_type %q); write {"model_type":"alphafold2"} into it`,
				configFile, c.ModelType)
		}
		return c, nil
	}
	if c.ModelType != "esm" || !c.IsFolding || len(c.Fold) == 0 {
		return config{}, fmt.Errorf("%s is of no ESMFold model (model_type %q)", configFile, c.ModelType)
	}
	return c, nil
}

// measured reads a file whole, and of tensors looks whether the header is one.
func measured(ctx context.Context, path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	name := filepath.Base(path)
	if !info.Mode().IsRegular() || info.Size() < 1 {
		return File{}, fmt.Errorf("%s is empty or no file", name)
	}
	if info.Size() > object.MaxObjectBytes {
		return File{}, fmt.Errorf("%s has %d bytes, and one file may have %d; write it in parts with "+
			"engines/esmfold/tools/convert_weights.py", name, info.Size(), int64(object.MaxObjectBytes))
	}
	if parametersFile.MatchString(name) {
		if _, err := zip.NewReader(file, info.Size()); err != nil {
			return File{}, fmt.Errorf("%s: %w; it is damaged", name, err)
		}
	}
	if tensorsFile.MatchString(name) {
		if err := checkHeader(file, info.Size()); err != nil {
			return File{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &cancellable{ctx, file}); err != nil {
		return File{}, err
	}
	return File{Name: name, SHA256: hex.EncodeToString(sum.Sum(nil)), ByteSize: info.Size()}, nil
}

// checkHeader wants the header of a safetensors file, whose tensors end where the file does. It leaves the file at its start.
func checkHeader(file io.ReadSeeker, size int64) error {
	var length uint64
	if err := binary.Read(file, binary.LittleEndian, &length); err != nil || length > maxHeaderBytes || int64(length)+8 > size {
		return errors.New("is no safetensors file")
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(file, header); err != nil {
		return errors.New("is cut short")
	}
	var tensors map[string]json.RawMessage
	if err := json.Unmarshal(header, &tensors); err != nil {
		return errors.New("is no safetensors file")
	}
	last := int64(0)
	for name, text := range tensors {
		var tensor struct {
			Offsets []int64 `json:"data_offsets"`
		}
		if name == "__metadata__" {
			continue
		}
		if err := json.Unmarshal(text, &tensor); err != nil || len(tensor.Offsets) != 2 {
			return fmt.Errorf("its tensor %.80s has no place", name)
		}
		last = max(last, tensor.Offsets[1])
	}
	if last+8+int64(length) != size {
		return fmt.Errorf("has %d bytes, and its tensors need %d; it is damaged", size, last+8+int64(length))
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// cancellable ends with its context.
type cancellable struct {
	ctx  context.Context
	from io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}

func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s has more than %d bytes", filepath.Base(path), most)
	}
	return content, err
}
