package turn

// Tails counts the sessions that this node keeps events of.
func (e *Engine) Tails() int {
	e.hub.mu.Lock()
	defer e.hub.mu.Unlock()
	return len(e.hub.tails)
}

// Relics counts the legs that this node has given up and not closed yet.
func (e *Engine) Relics() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.abandoned)
}

// Kept counts the events of a session that are in memory for followers.
func (e *Engine) Kept(session string) int {
	e.hub.mu.Lock()
	defer e.hub.mu.Unlock()
	t := e.hub.tails[session]
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.events)
}
