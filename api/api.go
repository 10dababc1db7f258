// Package api holds the contracts of the HTTP APIs, written before the code
// that serves them. Server and web types are generated from them.
package api

import _ "embed"

// Client is client.yaml: the OpenAPI document of the client API.
//
//go:embed client.yaml
var Client []byte

// Portal is portal.yaml: the OpenAPI document of the portal API.
//
//go:embed portal.yaml
var Portal []byte

// Studio is studio.yaml: the OpenAPI document of Studio's API. It refers to client.yaml.
//
//go:embed studio.yaml
var Studio []byte
