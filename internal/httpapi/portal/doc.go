// Package portal is the door of visitors: the hosted chat page and the chat that
// other sites embed. A visitor has its own conversations with one published
// agent, within the portal's limits, and learns nothing of what is behind it.
//
// Its wire types are generated from api/portal.yaml.
package portal

//go:generate go tool oapi-codegen -config config.yaml ../../../api/portal.yaml
