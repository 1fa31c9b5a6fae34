// Reads Kubernetes manifests strictly, by Kubernetes' own types: a key that no type has, one given twice and a value of
// the wrong kind are errors. A module of its own, so that boxer does not depend on Kubernetes. Prints what it read as
// JSON, a line for each document.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func main() {
	if err := read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(in io.Reader, out io.Writer) error {
	for documents := yaml.NewYAMLReader(bufio.NewReader(in)); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		object, err := typed(document)
		if err == nil {
			err = strict.UnmarshalStrict(document, object)
		}
		if err == nil {
			err = json.NewEncoder(out).Encode(object)
		}
		if err != nil {
			return err
		}
	}
}

// typed is an empty value of the document's kind.
func typed(document []byte) (any, error) {
	var t meta.TypeMeta
	if err := strict.Unmarshal(document, &t); err != nil {
		return nil, err
	}
	switch t.APIVersion + " " + t.Kind {
	case "batch/v1 Job":
		return new(batch.Job), nil
	case "v1 PersistentVolumeClaim":
		return new(core.PersistentVolumeClaim), nil
	}
	return nil, fmt.Errorf("no kind that is known here: %s %s", t.APIVersion, t.Kind)
}
