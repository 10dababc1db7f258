// Package migrations holds the schema of Belay's database as numbered steps,
// each applied once and in order: NNNN_name.sql, with a -- +goose Up section
// and no way down. One step is not ours and not a file: River.
package migrations

import "embed"

// FS holds the .sql files at its root.
//
//go:embed *.sql
var FS embed.FS
