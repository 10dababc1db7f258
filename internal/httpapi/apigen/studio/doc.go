// Package studio holds the types of api/studio.yaml, as the studio door writes
// and reads them. All but this file is generated.
package studio

//go:generate go tool oapi-codegen -config config.yaml ../../../../api/studio.yaml
