// Package access says who calls, and keeps secrets.
//
// An API token is 256 random bits; what is stored of it is its SHA-256, which a
// search by hash finds in one step and from which nobody can get back. No error
// of this package holds a token, a key or a secret, nor a part of one: errors
// are logged and shown.
package access
