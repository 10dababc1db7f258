package postgres

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// vault is a place that keeps sealed secrets. Its rows are told apart by two
// texts; an update writes only where the secret is still the one that was read.
type vault struct {
	kind    string // of what a secret belongs to
	list    string
	update  string
	context func(a, b string) string
}

// vaults are all places that keep sealed secrets: one that is missing here keeps
// its secrets under an old key, and loses them when that is dropped.
var vaults = []vault{
	{"model", listModelSecrets, updateModelSecret, modelContext},
	{"tool", listToolSecrets, updateToolSecret, toolContext},
	{"portal", listPortalSecrets, updatePortalSecret, func(_, slug string) string { return portalContext(slug) }},
	{"callback", listCallbackSecrets, updateCallbackSecret, secretOfCallback},
	{"headers of callback", listCallbackHeaders, updateCallbackHeaders, headersOfCallback},
	{"agent", listDraftSecrets, updateDraftSecret, callbackContext},
	{"version of agent", listVersionSecrets, updateVersionSecret, callbackContext},
}

const listModelSecrets = `
SELECT project_id, key, api_key FROM models WHERE api_key IS NOT NULL`

const updateModelSecret = `
UPDATE models SET api_key = @new::bytea
WHERE project_id = @a::text AND key = @b::text AND api_key = @old::bytea`

const listToolSecrets = `
SELECT project_id, key, secret FROM tools WHERE secret IS NOT NULL`

const updateToolSecret = `
UPDATE tools SET secret = @new::bytea
WHERE project_id = @a::text AND key = @b::text AND secret = @old::bytea`

const listPortalSecrets = `
SELECT project_id, slug, secret FROM portals WHERE secret IS NOT NULL`

const updatePortalSecret = `
UPDATE portals SET secret = @new::bytea
WHERE project_id = @a::text AND slug = @b::text AND secret = @old::bytea`

const listCallbackSecrets = `
SELECT turn_id, kind || '/' || name, secret FROM callbacks WHERE secret IS NOT NULL`

const updateCallbackSecret = `
UPDATE callbacks SET secret = @new::bytea
WHERE turn_id = @a::text AND kind || '/' || name = @b::text AND secret = @old::bytea`

const listCallbackHeaders = `
SELECT turn_id, kind || '/' || name, headers FROM callbacks WHERE headers IS NOT NULL`

const updateCallbackHeaders = `
UPDATE callbacks SET headers = @new::bytea
WHERE turn_id = @a::text AND kind || '/' || name = @b::text AND headers = @old::bytea`

// Secrets within JSON are text; what a person wrote can't be taken for one: its
// quotes are escaped.
const sealedInJSON = `decode(rpad(s.sealed, (length(s.sealed) + 3) / 4 * 4, '='), 'base64')`

const listDraftSecrets = `
SELECT project_id, key, ` + sealedInJSON + ` FROM agents
CROSS JOIN LATERAL substring(draft::text from '"callback_secret": ?"sealed:([A-Za-z0-9+/]+)"') s(sealed)
WHERE s.sealed IS NOT NULL`

const updateDraftSecret = `
UPDATE agents SET draft = replace(draft::text, @oldText::text, @newText::text)::json
WHERE project_id = @a::text AND key = @b::text AND strpos(draft::text, @oldText::text) > 0`

const listVersionSecrets = `
SELECT project_id, agent_key, ` + sealedInJSON + ` FROM agent_versions
CROSS JOIN LATERAL substring(config::text from '"callback_secret": ?"sealed:([A-Za-z0-9+/]+)"') s(sealed)
WHERE s.sealed IS NOT NULL`

const updateVersionSecret = `
UPDATE agent_versions SET config = replace(config::text, @oldText::text, @newText::text)::json
WHERE project_id = @a::text AND agent_key = @b::text AND strpos(config::text, @oldText::text) > 0`

// SecretCount says how the secrets of one kind of thing are sealed.
type SecretCount struct {
	Kind       string
	Current    int     // with the first key
	Old        int     // with another one that is there
	Resealed   int     // that were Old, and by Reseal are Current
	Unreadable []error // those that no key opens, by name
}

// sealedRow is a stored secret.
type sealedRow struct {
	a, b   string
	sealed []byte
}

// Secrets counts the stored secrets, of all projects, and tries to open each.
func (s *Store) Secrets(ctx context.Context) ([]SecretCount, error) {
	out := make([]SecretCount, len(vaults))
	for i, v := range vaults {
		c, _, err := s.countSecrets(ctx, v)
		if err != nil {
			return nil, wrap("count secrets", err)
		}
		out[i] = c
	}
	return out, nil
}

// resealTries is how often Reseal looks at a place again where others wrote
// while it did.
const resealTries = 5

// Reseal seals all stored secrets, of all projects, with the first key. It may
// run beside nodes and beside itself, and be repeated: a secret that somebody
// replaces meanwhile is left to them. Only when every node seals with that key
// does no Old one come after it.
func (s *Store) Reseal(ctx context.Context) ([]SecretCount, error) {
	if s.sealer == nil {
		return nil, wrap("seal anew", ErrNoSecretKey)
	}
	out := make([]SecretCount, len(vaults))
	for i, v := range vaults {
		c, err := s.reseal(ctx, v)
		if err != nil {
			return nil, wrap("seal anew", err)
		}
		out[i] = c
	}
	return out, nil
}

func (s *Store) reseal(ctx context.Context, v vault) (SecretCount, error) {
	resealed := 0
	for try := 1; ; try++ {
		c, old, err := s.countSecrets(ctx, v)
		if err != nil || len(old) == 0 || try == resealTries {
			c.Resealed = resealed
			return c, err
		}
		for _, r := range old {
			n, err := s.resealRow(ctx, v, r)
			if err != nil {
				return c, err
			}
			resealed += n
		}
	}
}

// countSecrets also returns the rows that another key than the first one opens.
func (s *Store) countSecrets(ctx context.Context, v vault) (c SecretCount, old []sealedRow, err error) {
	c.Kind = v.kind
	rows, err := all(ctx, s.pool, v.list, pgx.StrictNamedArgs{}, func(row pgx.CollectableRow) (r sealedRow, err error) {
		err = row.Scan(&r.a, &r.b, &r.sealed)
		return r, err
	})
	if err != nil {
		return c, nil, err
	}
	for _, r := range rows {
		if _, err := s.unseal(r.sealed, v.context(r.a, r.b)); err != nil {
			c.Unreadable = append(c.Unreadable, fmt.Errorf("%s %s/%s: %w", v.kind, r.a, r.b, err))
		} else if s.sealer.Current(r.sealed, v.context(r.a, r.b)) {
			c.Current++
		} else {
			c.Old++
			old = append(old, r)
		}
	}
	return c, old, nil
}

// resealRow returns how many rows had the secret.
func (s *Store) resealRow(ctx context.Context, v vault, r sealedRow) (int, error) {
	plain, err := s.unseal(r.sealed, v.context(r.a, r.b))
	if err != nil {
		return 0, err
	}
	sealed, err := s.seal(plain, v.context(r.a, r.b))
	if err != nil {
		return 0, err
	}
	tag, err := s.pool.Exec(ctx, v.update, pgx.NamedArgs{
		"a": r.a, "b": r.b, "old": r.sealed, "new": sealed, "oldText": sealedText(r.sealed), "newText": sealedText(sealed),
	})
	return int(tag.RowsAffected()), err
}

// sealedText is a sealed secret as JSON documents keep it.
func sealedText(sealed []byte) string {
	return sealedMark + base64.RawStdEncoding.EncodeToString(sealed)
}
