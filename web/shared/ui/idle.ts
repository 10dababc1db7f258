/** Runs something when the page has nothing better to do. */
export function whenIdle(run: () => void) {
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run)
  else setTimeout(run, 500)
}
