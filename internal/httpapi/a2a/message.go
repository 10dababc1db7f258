package a2a

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"slices"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

// What agents read and write.
var (
	inputModes  = []string{"text/plain", "application/json"}
	outputModes = []string{"text/plain"}
)

// message is what a client sends.
type message struct {
	id, context, task string
	text              string
	decision, action  string // its word on a request, from the metadata
	wait              bool   // for the task to end or to need somebody
	history           *int
	push              *agent.Callback // who is to be told of the task's states
}

// message reads the params of a message and its configuration.
func (c *call) message() (message, error) {
	var m message
	if !c.params.has("message") {
		return m, invalid("message", "is required")
	}
	o, err := c.params.object("message")
	if err != nil {
		return m, err
	}
	for name, dst := range map[string]*string{"contextId": &m.context, "taskId": &m.task} {
		if *dst, err = o.text(name); err != nil {
			return m, err
		}
	}
	if m.text, err = c.readParts(o); err != nil {
		return m, err
	}
	if m.id, err = o.need("messageId"); err != nil {
		return m, err
	}
	if len(m.id) > 256 {
		return m, invalid("message.messageId", "must be 256 bytes or less")
	}
	role, err := o.need("role")
	if err == nil && role != c.v.userRole() {
		err = o.wrong("role", "must be "+c.v.userRole())
	}
	if err == nil {
		m.decision, m.action, err = c.decision(o)
	}
	if err == nil {
		err = c.configure(&m)
	}
	return m, err
}

// decision reads a word on a request: of the message's metadata, else of that of
// the params.
func (c *call) decision(o object) (decision, action string, err error) {
	for _, in := range []object{o, c.params} {
		meta, err := in.object("metadata")
		if err != nil {
			return "", "", err
		}
		if decision, err = meta.text("decision"); err != nil {
			return "", "", err
		}
		if action, err = meta.text(c.v.name("decision_id")); err != nil {
			return "", "", err
		}
		if decision != "" && decision != "approve" && decision != "reject" {
			return "", "", meta.wrong("decision", "must be approve or reject")
		}
		if decision != "" || action != "" {
			break
		}
	}
	return decision, action, nil
}

// configure reads the configuration. 1.0 waits unless asked not to; 0.3 waits
// where it is asked to.
func (c *call) configure(m *message) error {
	o, err := c.params.object("configuration")
	if err != nil {
		return err
	}
	name := "blocking"
	if c.v == v10 {
		name = "returnImmediately"
	}
	flag, err := o.flag(name)
	if err != nil {
		return err
	}
	m.wait = flag != (c.v == v10)
	if m.history, err = o.count("historyLength", 0, math.MaxInt32); err != nil {
		return err
	}
	modes, err := o.texts("acceptedOutputModes")
	if err != nil {
		return err
	}
	if len(modes) > 0 && !slices.ContainsFunc(modes, acceptsText) {
		return &fault{code: contentNotSupported, message: "Incompatible content types: the agent writes text/plain, and an answer in " + clip(strings.Join(modes, ", ")) + " is not supported."}
	}
	return c.inlinePush(o, m)
}

func (c *call) inlinePush(o object, m *message) error {
	name := c.v.inline()
	if !o.has(name) {
		return nil
	}
	config, err := o.object(name)
	if err != nil {
		return err
	}
	k, err := c.callback(config)
	m.push = &k
	return err
}

// inline is where the configuration of a message says who is to be told.
func (b binding) inline() string {
	if b == v10 {
		return "taskPushNotificationConfig"
	}
	return "pushNotificationConfig"
}

func acceptsText(mode string) bool {
	kind, _, err := mime.ParseMediaType(mode)
	return err == nil && slices.Contains([]string{"text/plain", "text/*", "*/*", "text"}, kind)
}

// readParts reads what the message says, in the order it says it: text, data as
// its JSON, and files that are text.
func (c *call) readParts(o object) (string, error) {
	list, err := o.list("parts")
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", o.wrong("parts", "is required: a list of one part or more")
	}
	texts := make([]string, len(list))
	for i, p := range list {
		if c.v == v03 {
			texts[i], err = p.part03()
		} else {
			texts[i], err = p.part10()
		}
		if err != nil {
			return "", err
		}
	}
	text := strings.Join(texts, "\n\n")
	if strings.TrimSpace(text) == "" {
		return "", o.wrong("parts", "must not be empty of text")
	}
	return text, nil
}

func (o object) part03() (string, error) {
	kind, err := o.need("kind")
	if err != nil {
		return "", err
	}
	switch kind {
	case "text":
		if !o.has("text") {
			return "", o.wrong("text", "is required")
		}
		return o.text("text")
	case "data":
		return o.data()
	case "file":
		f, err := o.object("file")
		if err != nil {
			return "", err
		}
		return f.file("bytes", "mimeType", "uri")
	}
	return "", o.wrong("kind", "must be text, data or file")
}

func (o object) part10() (string, error) {
	var is []string
	for _, name := range []string{"text", "data", "raw", "url"} {
		if o.has(name) {
			is = append(is, name)
		}
	}
	if len(is) != 1 {
		return "", invalid(strings.TrimSuffix(o.path, "."), "must have one of text, data, raw and url")
	}
	switch is[0] {
	case "text":
		return o.text("text")
	case "data":
		return o.data()
	}
	return o.file("raw", "mediaType", "url")
}

func (o object) data() (string, error) {
	v := o.get("data")
	if v == nil {
		return "", o.wrong("data", "is required")
	}
	return string(v), nil
}

// file returns the text of a file that came with the message. One that is
// somewhere else is not fetched.
func (o object) file(content, kind, link string) (string, error) {
	is, err := o.text(kind)
	if err != nil {
		return "", err
	}
	if o.has(link) || !o.has(content) {
		return "", noContent(o.path+link, "a file by its address")
	}
	media, _, err := mime.ParseMediaType(is)
	if err != nil || !slices.Contains(inputModes, media) {
		return "", noContent(o.path+content, fmt.Sprintf("a file of type %q", clip(is)))
	}
	encoded, err := o.text(content)
	if err != nil {
		return "", err
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", o.wrong(content, "must be base64")
	}
	if media == "application/json" && !json.Valid(b) {
		return "", o.wrong(content, "must be JSON, as its type says")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

func noContent(param, what string) error {
	return &fault{code: contentNotSupported, data: map[string]any{"param": param},
		message: "Incompatible content types: " + what + " is not supported; send text/plain or application/json."}
}
