// Package apigen holds the types of api/client.yaml, as the client and
// responses doors write and read them. All but this file is generated.
//
// What the document has as a union is a json.RawMessage here, or a type of the
// door that renders it; tests validate those against the document.
package apigen

//go:generate go tool oapi-codegen -config config.yaml ../../../api/client.yaml
