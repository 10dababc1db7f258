package agent

// Declared is what a project's owner wants it to have. What it does not name
// stays.
type Declared struct {
	Models  []Model
	Tools   []SharedTool
	Agents  []Agent
	Portals []Portal
}

// Empty reports whether there is nothing in it.
func (d Declared) Empty() bool { return len(d.Models)+len(d.Tools)+len(d.Agents)+len(d.Portals) == 0 }
