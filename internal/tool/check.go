package tool

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// matching returns a check of arguments against a JSON Schema, which is read at
// the first use. Of a schema that can't be used, a foreign one perhaps, it checks
// no more than that the arguments are an object: its server knows what it meant.
func matching(parameters json.RawMessage) func(arguments []byte) error {
	schema := sync.OnceValue(func() *jsonschema.Resolved {
		var s jsonschema.Schema
		if json.Unmarshal(parameters, &s) != nil {
			return resolvedObject()
		}
		r, err := s.Resolve(nil)
		if err != nil {
			return resolvedObject()
		}
		return r
	})
	return func(arguments []byte) error { return match(schema(), arguments) }
}

// resolvedObject is the schema of any object.
func resolvedObject() *jsonschema.Resolved {
	r, err := (&jsonschema.Schema{Type: "object"}).Resolve(nil)
	if err != nil {
		panic(err)
	}
	return r
}

func match(schema *jsonschema.Resolved, arguments []byte) error {
	var loose any
	if err := json.Unmarshal(arguments, &loose); err != nil {
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if err := schema.Validate(loose); err != nil {
		return fmt.Errorf("the arguments do not match the tool's schema: %w", err)
	}
	return nil
}
