package turn_test

import (
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func TestAnAgentsRuleByAToolsNameGoesBeforeItsSource(t *testing.T) {
	open, guarded, asking := turntest.InstantTool("open", "done"), turntest.InstantTool("guarded", "done"), turntest.InstantTool("asking", "")
	guarded.Asks, asking.Asks = agent.ActionApproval, agent.ActionQuestion
	rules := func(a *agent.Config) {
		a.Approvals = map[string]string{"open": agent.ApprovalAlways, "guarded": agent.ApprovalNever, "asking": agent.ApprovalNever}
	}
	run(t, 1, func(t *testing.T, c *cluster) {
		c.model.Reply(turntest.Call("c0", "open", `{}`), turntest.Call("c1", "guarded", `{}`), turntest.Call("c2", "asking", `{}`), turntest.Finish(agent.FinishCalls))
		ev := c.end(0, c.tool(0))
		if open.Started() != 0 || guarded.Started() != 1 {
			t.Errorf("%d and %d starts", open.Started(), guarded.Started())
		}
		asked := bodies[agent.ActionRequested](ev)
		if len(asked) != 2 || asked[0].Name != "open" || asked[0].Type != agent.ActionApproval || asked[1].Type != agent.ActionQuestion {
			t.Errorf("asked %+v", asked)
		}
	}, withTools(open, guarded, asking), withAgent(rules))
}

func TestASubAgentIsAskedOnlyWithApprovalWhereARuleSaysSo(t *testing.T) {
	boss(t, 1, func(t *testing.T, c *family) {
		c.asks(1)
		tn := c.boss(0)
		ev := c.end(0, tn)
		if asked := bodies[agent.ActionRequested](ev); len(asked) != 1 || asked[0].Name != "ask_kid" || len(c.children(tn, 0)) != 0 {
			t.Errorf("asked %+v", asked)
		}
	}, change("boss", func(a *agent.Config) { a.Approvals = map[string]string{"ask_kid": agent.ApprovalAlways} }))
}

func TestARuleAboutAToolThatIsNotThereFailsTheTurn(t *testing.T) {
	tool := turntest.InstantTool("t", "done")
	run(t, 1, func(t *testing.T, c *cluster) {
		tn := c.tool(0)
		c.end(0, tn)
		if e := c.ended(tn); e.Status != agent.StatusFailed || len(c.model.Calls()) != 0 || tool.Started() != 0 {
			t.Errorf("ended %+v", e)
		}
	}, withTools(tool), withAgent(func(a *agent.Config) { a.Approvals = map[string]string{"tt": agent.ApprovalAlways} }))
}
