// A stream of one page.
import type { Link } from './client.ts'
import { Hub } from './hub.ts'
import type { Source } from './source.ts'

// So many pages of a browser hold streams of their own at once: the rest of its
// six connections are for Stop and all else.
const slots = 3

/**
 * A stream of this page alone, for pages that can't share one. It is given up while
 * nobody sees the page, or when pages that are used need it; what was missed is
 * caught up when the page is used again.
 */
export function pageLink(source: Source): Link {
  return (hear) => {
    const hub = new Hub(source)
    const slot = new Slot((mine) => hub.pause(!mine))
    for (const used of ['focus', 'pointerdown', 'keydown']) addEventListener(used, () => slot.take(), { capture: true })
    document.addEventListener('visibilitychange', () => (document.hidden ? slot.give() : slot.take()))
    hub.pause(true)
    const tab = hub.join(hear)
    if (!document.hidden) slot.take()
    return tab
  }
}

// One of the browser's places for a stream, as a lock: taken from another page
// where none is free.
class Slot {
  private release: (() => void) | undefined
  private asking = false

  constructor(private readonly changed: (mine: boolean) => void) {}

  take() {
    if (this.release || this.asking) return
    if (!navigator.locks) {
      this.release = () => undefined
      this.changed(true)
      return
    }
    this.asking = true
    void this.ask()
  }

  give() {
    this.release?.()
    this.release = undefined
    this.changed(false)
  }

  private async ask() {
    const names = Array.from({ length: slots }, (_, i) => `belay-stream-${i}`)
    for (const name of names) if (await this.hold(name, { ifAvailable: true })) return
    await this.hold(names[Math.floor(Math.random() * slots)] ?? 'belay-stream-0', { steal: true })
  }

  // Resolves when it is known whether the lock is held; it is held until released or stolen.
  private hold(name: string, how: LockOptions): Promise<boolean> {
    return new Promise((known) => {
      navigator.locks
        .request(name, how, (lock) => {
          if (!lock) {
            known(false)
            return
          }
          this.asking = false
          const held = new Promise<void>((release) => {
            this.release = release
          })
          this.changed(true)
          known(true)
          return held
        })
        .catch(() => {
          this.asking = false
          this.release = undefined
          this.changed(false)
          known(true)
        })
    })
  }
}
