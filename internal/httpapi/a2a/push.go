package a2a

import (
	"context"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

const (
	maxPushes = 16              // of one task
	checkTime = 2 * time.Second // to look a name up; one that takes longer passes
)

// The headers that a client has its notifications sent with.
const (
	authorization = "Authorization"
	pushToken     = "X-A2A-Notification-Token"
)

type wireAuth struct {
	Schemes     []string `json:"schemes,omitempty"` // 0.3
	Scheme      string   `json:"scheme,omitempty"`  // 1.0
	Credentials string   `json:"credentials,omitempty"`
}

type pushConfig struct {
	TaskID         string    `json:"taskId,omitempty"` // 1.0
	ID             string    `json:"id"`
	URL            string    `json:"url"`
	Token          string    `json:"token,omitempty"`
	Authentication *wireAuth `json:"authentication,omitempty"`
}

type taskPushConfig struct {
	TaskID string     `json:"taskId"`
	Config pushConfig `json:"pushNotificationConfig"`
}

// push returns a callback in the words of a version.
func (b binding) push(t *agent.Turn, k agent.Callback) any {
	out := pushConfig{ID: k.Name, URL: k.URL, Token: k.Headers[pushToken]}
	if scheme, credentials, ok := strings.Cut(k.Headers[authorization], " "); ok {
		out.Authentication = &wireAuth{Credentials: credentials}
		if b == v10 {
			out.Authentication.Scheme = scheme
		} else {
			out.Authentication.Schemes = []string{scheme}
		}
	}
	if b == v10 {
		out.TaskID = taskID(t)
		return out
	}
	return taskPushConfig{TaskID: taskID(t), Config: out}
}

// defaultPush is the name of a callback that was given none in 0.3, whose clients
// ask for it so.
const defaultPush = "default"

// callback reads the configuration of a callback; it gets a name where it has none.
func (c *call) callback(o object) (agent.Callback, error) {
	k := agent.Callback{Kind: agent.CallbackA2A, Dialect: c.v.String(), Headers: map[string]string{}}
	var err error
	if k.URL, err = o.need("url"); err != nil {
		return k, err
	}
	if k.Name, err = o.text("id"); err != nil {
		return k, err
	}
	token, err := o.text("token")
	if err != nil {
		return k, err
	}
	auth, err := o.object("authentication")
	if err != nil {
		return k, err
	}
	proof, err := c.authentication(auth)
	switch {
	case err != nil:
		return k, err
	case len(k.Name) > 128:
		return k, o.wrong("id", "must be 128 bytes or less")
	case !headerSafe(token):
		return k, o.wrong("token", "must be what a header may hold")
	case k.Name == "" && c.v == v03:
		k.Name = defaultPush
	case k.Name == "":
		k.Name = agent.NewID()
	}
	for name, v := range map[string]string{authorization: proof, pushToken: token} {
		if v != "" {
			k.Headers[name] = v
		}
	}
	return k, nil
}

// authentication reads what proves to the receiver who calls. Of the schemes that
// 0.3 offers the first is taken.
func (c *call) authentication(o object) (string, error) {
	credentials, err := o.text("credentials")
	if err != nil || credentials == "" {
		return "", err
	}
	scheme := ""
	if c.v == v10 {
		scheme, err = o.text("scheme")
	} else {
		var list []string
		if list, err = o.texts("schemes"); len(list) > 0 {
			scheme = list[0]
		}
	}
	switch {
	case err != nil:
		return "", err
	case scheme == "" || strings.Contains(scheme, " ") || !headerSafe(scheme):
		return "", o.wrong(map[binding]string{v03: "schemes", v10: "scheme"}[c.v], "must name the scheme of the credentials, as Bearer")
	case !headerSafe(credentials):
		return "", o.wrong("credentials", "must be what a header may hold")
	}
	return scheme + " " + credentials, nil
}

func headerSafe(s string) bool {
	for _, b := range []byte(s) {
		if b < ' ' || b == 0x7f {
			return false
		}
	}
	return len(s) <= 4096
}

// setPush keeps who is to be told of a task, from its next state on.
func (d *door) setPush(c *call) (any, error) {
	if err := c.needsToken(); err != nil {
		return nil, err
	}
	o := c.params
	if c.v == v03 {
		var err error
		if o, err = c.params.object("pushNotificationConfig"); err != nil {
			return nil, err
		}
	}
	id, err := c.params.need("taskId")
	if err != nil {
		return nil, err
	}
	ctx := c.r.Context()
	t, err := d.find(ctx, c, id, agent.Principal.MayAct)
	if err != nil {
		return nil, err
	}
	k, err := c.callback(o)
	if err == nil {
		err = d.mayCall(ctx, o.path, k)
	}
	if err != nil {
		return nil, err
	}
	had, err := d.store.Callbacks(ctx, t.ID, agent.CallbackA2A)
	if err == nil && len(had) >= maxPushes {
		err = o.wrong("id", "is one too many: a task may have 16")
	}
	if err == nil {
		err = d.store.PutCallback(ctx, t.ID, k)
	}
	return c.v.push(&t, k), err
}

// mayCall says whether a callback may be called, as far as that can be told now:
// each call is checked again.
func (d *door) mayCall(ctx context.Context, path string, k agent.Callback) error {
	if err := k.Check(); err != nil {
		return invalid(path+"url", "must be an http or https URL of 2048 bytes or less, without a password")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	if err := d.checkURL(ctx, k.URL); err != nil && ctx.Err() == nil {
		return invalid(path+"url", "%v", err)
	}
	return nil
}

// pushOf finds the task, and the name of the callback, that the params mean.
func (d *door) pushOf(c *call) (agent.Turn, string, error) {
	if err := c.needsToken(); err != nil {
		return agent.Turn{}, "", err
	}
	task, name := "id", "pushNotificationConfigId"
	if c.v == v10 {
		task, name = "taskId", "id"
	}
	id, err := c.params.need(task)
	if err != nil {
		return agent.Turn{}, "", err
	}
	hook, err := c.params.text(name)
	if err != nil {
		return agent.Turn{}, "", err
	}
	t, err := d.find(c.r.Context(), c, id, agent.Principal.MayAct)
	return t, hook, err
}

// getPush answers with a callback; 0.3 asks without a name for the first.
func (d *door) getPush(c *call) (any, error) {
	t, name, err := d.pushOf(c)
	if err == nil && name == "" && c.v == v10 {
		err = invalid("id", "is required")
	}
	if err != nil {
		return nil, err
	}
	list, err := d.store.Callbacks(c.r.Context(), t.ID, agent.CallbackA2A)
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		if name == "" || name == k.Name {
			return c.v.push(&t, k), nil
		}
	}
	return nil, &fault{code: taskNotFound, message: "The task has no such push notification config: it is not found."}
}

func (d *door) listPushes(c *call) (any, error) {
	t, _, err := d.pushOf(c)
	if err != nil {
		return nil, err
	}
	list, err := d.store.Callbacks(c.r.Context(), t.ID, agent.CallbackA2A)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	for i, k := range list {
		out[i] = c.v.push(&t, k)
	}
	if c.v == v10 {
		return map[string]any{"configs": out, "nextPageToken": ""}, nil
	}
	return out, nil
}

// deletePush deletes a callback; one that is not there is as good.
func (d *door) deletePush(c *call) (any, error) {
	t, name, err := d.pushOf(c)
	if err == nil && name == "" {
		err = invalid(map[binding]string{v03: "pushNotificationConfigId", v10: "id"}[c.v], "is required")
	}
	if err == nil {
		err = d.store.DeleteCallback(c.r.Context(), t.ID, agent.CallbackA2A, name)
	}
	if err != nil || c.v == v03 {
		return nil, err
	}
	return struct{}{}, nil
}

// Told is what Notification reads; postgres.Store is one.
type Told interface {
	Turns
	Journal
	Receipts
}

// Notification makes the body of a delivery to a callback of a task: the task as
// it was then, in the version that the callback was asked for in.
func Notification(ctx context.Context, store Told, d agent.Delivery) ([]byte, error) {
	t, _, err := store.Turn(ctx, d.Turn)
	if err != nil {
		return nil, err
	}
	v, err := loadTo(ctx, store, d.AsOf(t), d.Seq)
	if err != nil {
		return nil, err
	}
	if v.receipts, err = store.Receipts(ctx, t.ID); err != nil {
		return nil, err
	}
	b := v03
	if d.Callback.Dialect == v10.String() {
		b = v10
	}
	return httpapi.AppendJSON(nil, b.sent(v, whole))
}
