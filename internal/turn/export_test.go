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
