package studio_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// who asks, from the one who may least: what a later one does is then not undone
// by an earlier one.
var who = []string{"nobody", "stranger", "viewer", "builder", "operator", "owner"}

// cell is how a route is asked, and what it answers to each of who. {s} is a
// session of the owner, {r} its turn, {a} an approval that waits in another of
// his sessions, {w} that session, {m} a member, {t} a token, {n} is another
// number each time.
type cell struct {
	path, body string
	want       string
}

var matrix = map[string]cell{
	"getSignInHint":    {"/auth/hint", "", "404 404 404 404 404 404"},
	"signIn":           {"/auth/sign-in", `{"email":"x@test.example","password":"no"}`, "401 401 401 401 401 401"},
	"getMe":            {"/auth/me", "", "401 200 200 200 200 200"},
	"selectProject":    {"/auth/project", `{"projectId":"000000000000000000000000"}`, "401 404 200 200 200 200"},
	"changePassword":   {"/auth/password", `{"current":"wrong","new":"a longer password"}`, "401 401 401 401 401 401"},
	"listActors":       {"/actors?ids=user:x", "", "401 200 200 200 200 200"},
	"stream":           {"/stream?follow=x", "", "401 400 400 400 400 400"}, // that it streams is another test
	"listAgents":       {"/agents", "", "401 200 200 200 200 200"},
	"createAgent":      {"/agents", `{"id":"new-{n}","config":{"model":"m"}}`, "401 201 403 201 403 201"},
	"validateNewAgent": {"/agents/validate", `{"id":"x","config":{"model":"m"}}`, "401 200 200 200 200 200"},
	"getAgent":         {"/agents/draft", "", "401 404 200 200 200 200"},
	"updateAgent":      {"/agents/draft", `{"name":"Draft"}`, "401 404 403 200 403 200"},
	"validateAgent":    {"/agents/draft/validate", `{"config":{"model":"m"}}`, "401 404 200 200 200 200"},
	"publishAgent":     {"/agents/draft/publish", "", "401 404 403 200 403 200"},
	"listVersions":     {"/agents/helper/versions", "", "401 200 200 200 200 200"},
	"getVersion":       {"/agents/draft/versions/1", "", "401 404 200 200 200 200"},
	"deleteAgent":      {"/agents/doomed", "", "401 204 403 204 403 204"},

	"listSessions":      {"/sessions", "", "401 200 200 200 200 200"},
	"listAgentSessions": {"/agents/helper/sessions", "", "401 200 200 200 200 200"},
	"createSession":     {"/agents/helper/sessions", "", "401 201 403 201 201 201"},
	"getSession":        {"{s}", "", "401 404 200 200 200 200"},
	"sendMessage":       {"{s}/messages", `{"content":"{n}"}`, "401 404 403 403 202/409 202/409"},
	"getTranscript":     {"{s}/transcript", "", "401 404 200 200 200 200"},
	"followSession":     {"{s}/events", "", "401 404 200 200 200 200"},
	"listSessionRuns":   {"{s}/runs", "", "401 404 200 200 200 200"},
	"cancelSession":     {"{s}/cancel", "", "401 404 403 403 200 200"},
	"listRuns":          {"/runs", "", "401 200 200 200 200 200"},
	"listAgentRuns":     {"/agents/helper/runs", "", "401 200 200 200 200 200"},
	"getRun":            {"/runs/{r}", "", "401 404 200 200 200 200"},
	"cancelRun":         {"/runs/{r}/cancel", "", "401 404 403 403 200 200"},
	"redeliverRun":      {"/runs/{r}/redeliver", "", "401 404 403 403 409 409"},
	"deleteSession":     {"{d}", "", "401 204 403 403 204 204"}, // what is not there is no error, to a stranger neither

	"listActions":  {"/actions", "", "401 200 200 200 200 200"},
	"getAction":    {"/actions/{a}", "", "401 404 200 200 200 200"},
	"decideAction": {"/actions/{a}/decision", `{"decision":"reject"}`, "401 404 403 403 200 409"},

	"listTokens":    {"/tokens", "", "401 200 403 200 403 200"},
	"createToken":   {"/tokens", `{"name":"t{n}","permissions":["agent.view"]}`, "401 201 403 201 403 201"},
	"revokeToken":   {"/tokens/{t}", "", "401 204 403 204 403 204"},
	"listMembers":   {"/members", "", "401 200 403 403 403 200"},
	"addMember":     {"/members", `{"email":"new{n}@test.example","role":"viewer","password":"a long password"}`, "401 201 403 403 403 201"},
	"updateMember":  {"/members/{m}", `{"role":"viewer"}`, "401 404 403 403 403 200"},
	"resetPassword": {"/members/{m}/password", "", "401 404 403 403 403 200"},
	"removeMember":  {"/members/{m}", "", "401 204 403 403 403 204"},

	"listModels":   {"/models", "", "401 200 200 200 200 200"},
	"createModel":  {"/models", `{"key":"k{n}","config":{"base_url":"http://x.test","model":"m"}}`, "401 201 403 201 403 201"},
	"getModel":     {"/models/spare", "", "401 404 200 200 200 200"},
	"replaceModel": {"/models/spare", `{"config":{"base_url":"http://x.test","model":"m"}}`, "401 404 403 200 403 200"},
	"deleteModel":  {"/models/spare", "", "401 204 403 204 403 204"},
	"listTools":    {"/tools", "", "401 200 200 200 200 200"},
	"createTool":   {"/tools", `{"key":"k{n}","config":{"source":"mcp","mcp":{"url":"http://x.test"}}}`, "401 201 403 201 403 201"},
	"getTool":      {"/tools/spare", "", "401 404 200 200 200 200"},
	"replaceTool":  {"/tools/spare", `{"config":{"source":"mcp","mcp":{"url":"http://x.test"}}}`, "401 404 403 200 403 200"},
	"checkTool":    {"/tools/spare/check", "", "401 404 403 200 403 200"},
	"deleteTool":   {"/tools/spare", "", "401 204 403 204 403 204"},

	"listPortals":   {"/portals", "", "401 200 200 200 200 200"},
	"createPortal":  {"/portals", `{"slug":"p{n}","config":{"agent":"helper"}}`, "401 201 403 201 403 201"},
	"getPortal":     {"/portals/spare", "", "401 404 200 200 200 200"},
	"replacePortal": {"/portals/spare", `{"config":{"agent":"helper","paused":true}}`, "401 404 403 200 403 200"},
	"deletePortal":  {"/portals/spare", "", "401 204 403 204 403 204"},

	"listAudit":      {"/audit", "", "401 200 403 403 200 200"},
	"getUsage":       {"/usage", "", "401 200 200 200 200 200"},
	"getOutcomes":    {"/usage/outcomes", "", "401 200 200 200 200 200"},
	"getOperations":  {"/operations", "", "401 200 403 403 200 200"},
	"getStopLatency": {"/operations/stop-latency", "", "401 200 403 403 200 200"},

	"signOut": {"/auth/sign-out", "", "204 204 204 204 204 204"},
}

// last are operations after which others would answer otherwise.
var last = []string{"deleteModel", "deleteTool", "deletePortal", "removeMember", "signOut"}

// 112: every route of the document, asked by everybody.
func TestEveryRouteAsksWhoCalls(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	things := b.things()
	operations := map[string]string{} // method by id
	needs := map[string]string{}
	for path, item := range httpapitest.Studio(t).Spec.Paths.Map() {
		for method, op := range item.Operations() {
			operations[op.OperationID] = method
			needs[op.OperationID], _ = op.Extensions["x-permission"].(string)
			if _, ok := matrix[op.OperationID]; !ok {
				t.Errorf("%s %s: who may call %s is not in the matrix", method, path, op.OperationID)
			}
		}
	}
	order := slices.DeleteFunc(slices.Sorted(maps.Keys(matrix)), func(id string) bool { return slices.Contains(last, id) })
	n := 0
	for _, id := range append(order, last...) {
		if operations[id] == "" {
			t.Errorf("%s is not in the document", id)
			continue
		}
		want := strings.Fields(matrix[id].want)
		for i, name := range who {
			n++
			fill := strings.NewReplacer(append(things, "{n}", fmt.Sprint(n))...)
			a := b.do(name, operations[id], fill.Replace(matrix[id].path), fill.Replace(matrix[id].body))
			if !slices.Contains(strings.Split(want[i], "/"), fmt.Sprint(a.status)) {
				t.Errorf("%s by %s: %d, want %s: %.300s", id, name, a.status, want[i], a.body)
			}
			checkNeed(t, id, name, needs[id], a)
		}
	}
}

// checkNeed holds an answer to what the document says of who may call.
func checkNeed(t *testing.T, id, name, need string, a answer) {
	t.Helper()
	signedOut := a.status == 401 && a.field(t, "error.code") == "not_signed_in"
	if signedOut != (name == "nobody" && need != "public") {
		t.Errorf("%s by %s: %d, but it needs %q", id, name, a.status, need)
	}
	role := agent.MemberRole(name)
	if !slices.Contains(agent.MemberRoles, role) {
		return
	}
	switch need {
	case "public", "signed-in":
		if a.status == 403 {
			t.Errorf("%s by %s: 403, but it needs %q", id, name, need)
		}
	case "session":
	default:
		denied := a.status == 403 && a.field(t, "error.code") == "permission_denied"
		if may := slices.Contains(role.Permissions(), agent.Permission(need)); may == denied {
			t.Errorf("%s by %s: %d, but it needs %q: %s", id, name, a.status, need, a.body)
		}
		if denied && a.field(t, "error.permission") != need {
			t.Errorf("%s by %s: %s", id, name, a.body)
		}
	}
}

// things makes what the matrix is about.
func (b *bed) things() []string {
	waits, action := b.waiting("owner")
	b.model.Always(turntest.Text("hi"))
	b.must("owner", "POST", "/agents", `{"id":"draft","config":{"model":"m"}}`)
	b.must("owner", "POST", "/agents/draft/publish", "")
	b.must("owner", "POST", "/agents", `{"id":"doomed","config":{"model":"m"}}`)
	b.must("owner", "POST", "/models", `{"key":"spare","config":{"base_url":"http://x.test","model":"m"}}`)
	b.must("owner", "POST", "/tools", `{"key":"spare","config":{"source":"mcp","mcp":{"url":"http://x.test"}}}`)
	b.must("owner", "POST", "/portals", `{"slug":"spare","config":{"agent":"helper"}}`)
	session := b.session("owner", "helper")
	run := b.say("owner", session, "hello")
	b.state(session, "idle")
	member := b.must("owner", "POST", "/members", `{"email":"extra@test.example","role":"viewer"}`)
	token := b.must("owner", "POST", "/tokens", `{"name":"t","permissions":["agent.view"]}`)
	return []string{
		"{s}", session, "{r}", run, "{a}", action, "{w}", waits, "{d}", b.session("owner", "helper"),
		"{m}", member.field(b.t, "member.userId").(string), "{t}", token.field(b.t, "token.id").(string),
	}
}
